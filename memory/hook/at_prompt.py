"""A prompt turned into the block that goes before the model, and what the other hooks share with
it.

This is the blocking path: it opens the index without a lock, re-reads every file it shows, and
writes one receipt.
"""

from __future__ import annotations

from zlib import crc32

from memory.core import IndexFault, boundary, clock, config, files, layout, tokeniser
from memory.hook import WISH_CHARS, indexview, receipts, segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.hook import fence, loader
    from memory.hook.indexview import Index

    Event = Dict[str, Any]
    Chosen = List[List[Any]]

FILES_READ = 50  # files ranked where there is no index
# characters of a prompt's start and of its end that choose: all of a pasted log cost 0.7 s a
# megabyte
READ_CHARS = 8000
MET_CHARS, MET_WORDS = 2000, 60  # of a prompt that are remembered as hashes
# words of a prompt that changes the subject, and how many of them are new
LEAST_WORDS, NEW_SHARE = 6, 0.85
PROMPT_UNITS = 2500  # UTF-16 units that a prompt's block may hold
AGENT_UNITS = 1200  # UTF-16 units that a subagent's prompt may gain
# how a line of an error begins
_ERRORS = ("error", "fatal", "panic", "failed", "e", "exception", "err")
# how the host begins its words
_HOSTS = ("<task-notification", "<command-", "<local-command", "Operation stopped by hook: ")


def on_prompt(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer UserPromptSubmit with the relevant learnings and rules.

    Most prompts get nothing.
    """
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or event.get("agent_id") or is_machine(prompt):
        return None, False
    place, settings, path, state = opened_session(event, env)
    paused = _is_paused(path, settings)
    if not settings["load.enabled"] or not settings["load.prompt"] or state.off:
        event[boundary.STALE] = False
        return None, paused
    found, block = _answered(event, env, now, "prompt", prompt, (place, settings, path, state))
    event[boundary.STALE] = found.stale or scan_due(place, now)
    paused = paused or _may_wish(prompt, settings)
    return output("UserPromptSubmit", block, ""), event[boundary.STALE] or paused


def _is_paused(path: str, settings: Config) -> bool:
    """Tell whether a session is paused, or was and goes on."""
    if not path:
        return False
    return not settings["capture.enabled"] or files.exists(receipts.pauses_path(path))


def _may_wish(prompt: str, settings: Config) -> bool:
    """Tell whether a prompt is to be looked through for wishes."""
    if not settings["capture.enabled"] or not settings["capture.wishes"]:
        return False
    return len(prompt) <= WISH_CHARS


def on_agent(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer PreToolUse of a subagent's start with its prompt extended.

    The prompt gets the block that a person's prompt of the same words would get.  The answer
    decides no permission.  A subagent has seen nothing yet, and its prompt holds what its session
    knows.
    """
    given = event.get("tool_input")
    prompt = given.get("prompt") if isinstance(given, dict) else None
    if (
        not isinstance(given, dict)
        or not isinstance(prompt, str)
        or env.get(boundary.NESTED)
        or is_machine(prompt)
    ):
        return None, False
    place, settings, path, state = opened_session(event, env)
    if not settings["load.enabled"] or not settings["load.subagents"] or state.off:
        return None, False
    state.shown.clear()
    state.forgot = False
    found, block = _answered(event, env, now, "agent", prompt, (place, settings, path, state))
    if not block:
        return None, found.stale
    changed = {**given, "prompt": prompt + "\n\n" + block}
    return {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": changed}
    }, found.stale


def _answered(
    event: Event,
    env: Dict[str, str],
    now: float,
    name: str,
    prompt: str,
    session: Tuple[Place, Config, str, receipts.Session],
) -> Tuple[Index, str]:
    """Return (index, block for a prompt) and write the receipt."""
    from memory.hook import loader  # a session's start need not load it

    place, settings, path, state = session
    said = loader.user_text(start_and_end(loader.without_blocks(prompt)))
    mode, own = event.get("permission_mode"), layout.safe_id(event.get("session_id"))
    mode = mode if isinstance(mode, str) else ""
    words = hashed(said) if name == "prompt" else []
    # Of seven blocks with the first prompt after a compaction none was of use: it mostly goes on
    # with its session's work.
    turned = name == "prompt" and (
        is_new_subject(words, state) or state.compacted and not state.prompts
    )
    wanted = wants_passages(said, settings, state)

    def work(found: Index) -> Tuple[loader.Choice, str, Chosen, List[str]]:
        choice = choose(found, said, mode, settings, state, wanted, own, turned)
        units = PROMPT_UNITS if name == "prompt" else AGENT_UNITS
        block, shown = with_prompt(found, choice, said, state, mode, units)
        fitted = {item[0] for item in shown}
        return (
            choice,
            block,
            shown,
            [id for id in (found.doc(pick.number).id for pick in choice.picks) if id not in fitted],
        )

    found, (choice, block, shown, unfit) = consult(
        place, event, env, name + " index", work, said, indexview.TALKS if turned or wanted else 0
    )
    # whoever wrote the prompt has given the block on
    if block and 'tag="%s"' % receipts.tag_in(block) in prompt:
        block, shown = "", []
    tokens = tokeniser.count_tokens(block)
    fitted = {item[0] for item in shown}
    named = {
        one.doc.id: [files.sha256(name.encode("utf-8", "replace"))[:8] for name in one.names]
        for one in choice.passages
        if one.doc.id in fitted
    }
    rare = {
        "sigs": [mark for wall in choice.walls for mark in wall.marks][:16] if block else [],
        "words": named,
        "met": "".join(words),
        "below": choice.below,
        "unfit": unfit,
        "stale": found.stale,
        "unread": found.unread,
    }
    if path:
        receipts.write_or_log(
            env,
            path,
            {
                "v": 1,
                "t": clock.iso(now),
                "event": name,
                "prompt": layout.safe_id(event.get("prompt_id")),
                "query": files.sha256(prompt.encode("utf-8", "replace"))[:8],
                "strategy": choice.strategy.name,
                "tag": receipts.tag_in(block),
                "candidates": choice.candidates,
                "chosen": shown,
                "chars": tokeniser.utf16(block),
                "tokens": tokens,
                "ms": clock.elapsed_ms(now),
                "saved": max(0, found.learning_tokens - tokens) if block else 0,
                **{key: value for key, value in rare.items() if value},
            },
        )
    return found, block


def choose(
    found: Index,
    prompt: str,
    mode: str,
    settings: Config,
    state: receipts.Session,
    wanted: bool,
    own: str = "",
    turned: bool = False,
) -> loader.Choice:
    """Return the learnings and the passages chosen for a prompt.

    prompt: what `loader.user_text` returned.  mode: the host's permission mode.
    wanted: from `wants_passages`.  own: the session's id.
    turned: whether the prompt changes the session's subject.
    """
    from memory.hook import loader

    choice = loader.choose(found, prompt, mode, settings, state.shown)
    if choice.strategy.whole and not choice.picks:
        choice.picks = _new_learnings(found, prompt, settings, state)
    asks = wanted or (turned and settings["load.push"] != "off")
    if asks and _holds_more_than_learnings(found):
        _add_passages(choice, found, prompt, settings, state, own, not wanted)
    if settings["load.walls"] and _holds_error(prompt):
        from memory.hook import at_failure

        choice.walls = at_failure.look_up(found.place, own or "-", state.walls, "Bash", "", prompt)
    return choice


def _add_passages(
    choice: loader.Choice,
    found: Index,
    prompt: str,
    settings: Config,
    state: receipts.Session,
    own: str,
    turned: bool,
) -> None:
    from memory.hook import passages  # most prompts ask nothing, and each would pay for it

    choice.passages, below = passages.choose(
        found, prompt, settings["load.push"], state.shown, "" if state.forgot else own, turned
    )
    if below:
        choice.below = [[below[0], round(below[1], 3)]]


def _new_learnings(
    found: Index, prompt: str, settings: Config, state: receipts.Session
) -> List[loader.Pick]:
    """Return the learnings written since a session began."""
    from memory.hook import loader

    since = clock.parse(state.since)
    if since is None:
        return []
    return loader.written_since(found, prompt, since, state.shown)[: settings["load.top"]]


def _holds_more_than_learnings(found: Index) -> bool:
    base = found.segment
    return bool(found.delta.docs) or (base is not None and base.docs > base.pushable)


def _holds_error(prompt: str) -> bool:
    """Tell whether a prompt may hold a pasted error."""
    for line in prompt.split("\n"):
        first = line.split(None, 1)[0] if ":" in line and not line.isspace() else ""
        if first and (
            first.rstrip(":").rpartition(":")[2].isdigit() or first.rstrip(":").lower() in _ERRORS
        ):
            return True
    return False


def _is_first(state: receipts.Session) -> bool:
    """Tell whether a prompt is the first of a session."""
    return not state.prompts and not state.compacted


def wants_passages(prompt: str, settings: Config, state: receipts.Session) -> bool:
    """Tell whether a prompt may get passages.

    The session's first prompt, a question, or a prompt that names a ticket may.
    """
    return settings["load.push"] != "off" and bool(
        _is_first(state)
        or is_asking(prompt)
        or is_inquiring(prompt)
        or any(map(is_ticket, handles(prompt)))
    )


def hashed(prompt: str) -> List[str]:
    """Return short hashes of a prompt's first distinct words."""
    terms = dict.fromkeys(term for term, _ in tokeniser.terms(prompt[:MET_CHARS]))
    return [
        "%04x" % (crc32(term.encode("utf-8", "replace")) & 0xFFFF)
        for term in list(terms)[:MET_WORDS]
    ]


def is_new_subject(words: Sequence[str], state: receipts.Session) -> bool:
    """Tell whether nearly all words of a prompt are new.

    words: from `hashed`.
    """
    if not state.met or len(words) < LEAST_WORDS:
        return False
    return sum(word not in state.met for word in words) >= NEW_SHARE * len(words)


def scan_due(place: Place, now: float) -> bool:
    """Tell whether the worker should compare all files again.

    now: seconds since the epoch; due SCAN_EVERY seconds after the last scan.
    """
    try:
        return (
            not 0
            <= now - files.posix.stat(indexview.scan_path(place)).st_mtime
            < indexview.SCAN_EVERY
        )
    except OSError:
        return True


def is_machine(prompt: str) -> bool:
    """Tell whether a prompt is not a person's request.

    But the host's notification, a slash command, or our own distiller's.  A command is `/name` of
    letters, digits, `-`, `_` and `:`, alone or before a blank; `/srv/jobs/x.py` is a path.
    """
    start = prompt.lstrip()[:256]
    if start[:1] == "/":
        return (
            start.split(None, 1)[0][1:].replace("-", "").replace("_", "").replace(":", "").isalnum()
        )
    return start.startswith(_HOSTS) or "dayleaf-distill-prompt" in start[:64]


def start_and_end(prompt: str) -> str:
    """Return the start and the end of a long prompt.

    People say there what they want.  A short prompt is returned whole.
    """
    return (
        prompt
        if len(prompt) <= 2 * READ_CHARS
        else prompt[:READ_CHARS] + "\n" + prompt[-READ_CHARS:]
    )


def open_or_build_index(place: Place, prompt: str = "") -> Index:
    """Open the index of a place, or a small index in memory.

    The latter where the index is missing or damaged; its files are chosen for `prompt`.
    """
    try:
        return indexview.open_index(place)
    except Exception:
        return indexview.from_files(place, FILES_READ, prompt, talks=False)


def consult(
    place: Place,
    event: Event,
    env: Dict[str, str],
    where: str,
    work: Callable[[Index], Any],
    prompt: str = "",
    talks: int = 0,
) -> Tuple[Index, Any]:
    """Return (index, result of `work`), falling back to the files.

    The index is closed then.  A flipped bit can pass every check of the reader and surface as any
    error at all.  Then the failure goes to the log under `where`, and the event tells the detached
    refresh to build anew.  An error that the files give too is raised.
    prompt: the files are chosen for it.
    talks: see `indexview.open_index`.
    """
    found: Optional[Index] = None
    try:
        found = indexview.open_index(place, talks=talks)
        return found, work(found)
    except Exception as error:
        fault = error
        damaged = found is not None or not _is_absent(place, error)
    finally:
        if found is not None:
            found.close()
    found = indexview.from_files(place, FILES_READ, prompt, talks=False)
    result = work(found)
    if damaged:
        event[indexview.DAMAGED] = True
        boundary.note(env, where, fault)
    return found, result


def _is_absent(place: Place, error: Exception) -> bool:
    """Tell whether an index is missing or of another version."""
    if not isinstance(error, IndexFault):
        return False
    if isinstance(error.__context__, FileNotFoundError):
        return True  # though it may have been built since
    try:
        head = files.read(indexview.segment_path(place), segment.HEADER_SIZE)
    except OSError:
        return False
    if head[:8] != segment.MAGIC:
        return head[:5] == segment.MAGIC[:5]
    return (
        len(head) == segment.HEADER_SIZE
        and segment.HEADER.unpack_from(head)[3] != tokeniser.VERSION
    )


def with_prompt(
    found: Index,
    choice: loader.Choice,
    prompt: str,
    state: receipts.Session,
    mode: str = "",
    units: int = 0,
) -> Tuple[str, Chosen]:
    """Return (block for a prompt, shown items).

    mode: the host's permission mode.
    units: UTF-16 units of the block, 0 for `load.promptChars`.
    ("", []) where nothing reaches the threshold.
    """
    picked = _picked_records(found, choice)
    asked, of_place = _rules_for_prompt(found, prompt, mode, state, {row[0].id for row in picked})
    if not any((picked, asked, of_place, choice.passages, choice.walls)):
        return "", []
    from memory.hook import fence  # most prompts get nothing

    budget = fence.Budget((units or PROMPT_UNITS) - fence.overhead("prompt"))
    chosen: Chosen = []
    fence.add_rules(asked, budget, chosen, found.mark)
    chosen += _take_records(budget, picked, prompt, choice.misled)
    if choice.walls:
        lines = ["- " + line for line in fence.walls(found.place, choice.walls)]
        if budget.take("\n".join(lines)):
            chosen += [wall.row() for wall in choice.walls]
    passages = [one for one in choice.passages if budget.take(fence.passage_item(one))]
    if passages:
        chosen += [_chosen_row(one.doc, one.score, one.reason, one.mark) for one in passages]
        budget.take(fence.SAMPLE)
    fence.add_rules(of_place, budget, chosen)
    return (fence.block("prompt", budget.lines, budget.rules), chosen) if chosen else ("", [])


def _picked_records(found: Index, choice: loader.Choice) -> List[Tuple[Any, float, str, str]]:
    """Return (record, relevance, reason, mark) of the picks that stand."""
    picks = [(found.doc(p.number), p.relevance, p.reason) for p in choice.picks]
    picked = [
        (record, relevance, reason, found.mark(record))
        for doc, relevance, reason in picks
        for record in indexview.reread(found, [doc])
        if record.accepted and record.kind == "learning"
    ]
    picked.sort(key=lambda row: bool(row[3]))  # what is stale stands below what is not
    return picked


def _take_records(
    budget: fence.Budget,
    picked: List[Tuple[Any, float, str, str]],
    prompt: str,
    misled: FrozenSet[str],
) -> Chosen:
    """Put as many records as fit in a block; return what is shown."""
    from memory.hook import fence

    chosen: Chosen = []
    for record, relevance, reason, mark in picked:
        if budget.left < fence.LEAST_UNITS:
            break
        units = min(fence.ITEM_UNITS, budget.left - 1)
        if budget.take(fence.item(record, units, prompt, record.id in misled, mark)):
            chosen.append(_chosen_row(record, relevance, reason, mark))
    return chosen


def _chosen_row(item: Any, score: float, reason: str, mark: str) -> List[Any]:
    """Return what the receipt holds of a shown record or passage."""
    return [item.id, round(score, 3), reason + (", stale" if mark else "")]


def _rules_for_prompt(
    found: Index, prompt: str, mode: str, state: receipts.Session, shown: set[str]
) -> Tuple[Sequence[Tuple[Any, str]], Sequence[Tuple[Any, str]]]:
    """Return (rules of the prompt or its records, rules of the place)."""
    if not found.has_rules:
        return (), ()
    from memory.hook import context

    ruled = context.with_prompt(found, prompt, mode, state.shown, shown)
    of_place = [pair for pair in ruled if context.is_of_place(pair[1])]
    return [pair for pair in ruled if pair not in of_place], of_place


def opened_session(
    event: Event, env: Dict[str, str]
) -> Tuple[Place, Config, str, receipts.Session]:
    place = layout.locate(env, boundary.project_dir(event, env))
    settings = config.for_place(place, env)
    session = layout.safe_id(event.get("session_id"))
    path = place.receipts(session) if session else ""
    return place, settings, path, receipts.session(path) if path else receipts.Session()


def output(name: str, block: str, message: str) -> Optional[Event]:
    output: Event = {}
    if block:
        output["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": block}
    if message:
        output["systemMessage"] = message
    return output or None


# ---- whether a prompt asks the memory

# What people say who were told before, whatever the subject; lower case.  A verb of _SAYING counts
# with "again" after it.
_ASKING = tuple(
    "remind me|what was the |what were the |what did we |did we not|didn't we|did we already|"
    "have we already|haven't we|why did we|how did we|where did we|when did we|last time|"
    "do you remember|have we seen|had this before|seen this before|as usual|used to work|"
    "worked before|no longer work|happened before|happens again|same error as|same problem as|"
    "same issue as|the second time|the third time|2nd time|3rd time|second error|third error|"
    "2nd error|3rd error|second bug|third bug|2nd bug|3rd bug|erinner mich|erinnere mich|wie hieß|"
    "wie war das|beim letzten mal|letztes mal|haben wir nicht|hatten wir nicht|warum haben wir|"
    "wieso haben wir|was war der grund|was hatten wir|wie hatten wir|wie üblich|früher ging|"
    "schon einmal|zum zweiten mal|zum dritten mal|다시 알려|다시 설명|다시 말해|기억나|뭐였지|"
    "뭐였더라|무엇이었|지난번|저번에|전에 왜|왜 그렇게 했|이미 하지 않았|예전에는|벌써 세 번째|"
    "もう一度教え|もう一度説明|思い出|だっけ|でしたっけ|前回|この前|以前に|以前は|なぜ変えた|"
    "再告诉我|再解释|再说一遍|提醒我|来着|上次|之前为什么|以前为什么|我们不是已经|"
    "是不是已经|以前可以|第三次|напомни|в прошлый раз|разве мы |почему мы |"
    "как обычно|раньше работал|уже было|во второй раз|в третий раз|как называл".split("|")
)
_SAYING = ("tell", "explain", "understand", "show me how", "sag", "erklär", "скажи", "объясни")
_AGAIN = (" again", " once more", " nochmal", " noch mal", " noch einmal", " wieder", " ещё раз")
_ASKED_CHARS = 300  # of a prompt's start, where people ask
# How a sentence begins, or what it holds, that wants to know how something is and wants nothing
# done.
_INQUIRES = tuple(
    "how does |how do we |how do the |how is |how are |how did |how come |why |what is |what's |"
    "what are |what does |what do |what happens |what was |where is |where are |where does |"
    "where do |when is |when does |when do |is there |are there |does |do we |explain |describe |"
    "what the |whether |find where |find out |find how |figure out why |figure out how |"
    "investigate |understand how |understand why |trace how |wie funktioniert|wie wird |"
    "wie werden |wie läuft |warum |wieso |weshalb |was ist |was sind |was macht |was passiert |"
    "wo ist |wo wird |wo steht |wo liegt |wann |welche|gibt es |erklär|почему |зачем |как работа|"
    "как устроен|что такое |что делает |что значит |где |какой |какая |какое |какие |"
    "есть ли |объясни".split("|")
)
_POLITE = tuple(
    "can you |could you |please |and |so |but |hmm |ok |okay |q: |question: |tell me |me |"
    "kannst du |bitte |mir |and also |also |now |пожалуйста |а |и |но |можешь |скажи ".split("|")
)
_INQUIRING = tuple(
    "the difference between|differ from|unterschied zwischen|summary for the cases|"
    "왜 |어떻게 동작|어떻게 작동|어디에 |어디서 |무엇인|뭐야|뭔가요|차이|설명해|"
    "なぜ|どうして|どのように|どこで|どこに|何ですか|とは|違い|説明して|"
    "为什么|怎么工作|如何工作|在哪里|在哪|是什么|区别|解释".split("|")
)


def is_asking(prompt: str) -> bool:
    """Tell whether a prompt asks about earlier words or work."""
    start = _start(prompt)
    if any(said in start for said in _ASKING):
        return True
    asked = start.partition("?")[0].partition(". ")[0]
    at = min((asked.find(verb) for verb in _SAYING if verb in asked), default=-1)
    return at >= 0 and any(word in asked[at : at + 40] for word in _AGAIN)


def is_inquiring(prompt: str) -> bool:
    """Tell whether a prompt only asks how or why something is.

    Such a prompt wants nothing done.
    """
    start = _start(prompt)
    if any(said in start for said in _INQUIRING):
        return True
    for mark in (". ", "! ", "? ", ", ", " - ", ": "):
        start = start.replace(mark, "\0")
    return any(_bare(clause).startswith(_INQUIRES) for clause in start.split("\0"))


def _start(prompt: str) -> str:
    """Return the start of a prompt in lower case, blanks single."""
    return " ".join(prompt[:_ASKED_CHARS].lower().replace("\u2019", "'").split())


def _bare(clause: str) -> str:
    """Return a clause without its opening words of courtesy."""
    while clause.startswith(_POLITE):
        clause = clause.partition(" ")[2]
    return clause


# ---- what a prompt names

_EDGES = "\"'`.,:;!?()[]{}<>*|=…"
_HEX = frozenset("0123456789abcdef")
_NUMBERED = ("pr", "prs", "pull", "issue")  # words before a number that make it a handle
_TRACKERS = ("linear", "jira", "ticket", "issue", "story")  # words before a ticket in small letters
# No tickets: the names of standards.
_STANDARDS = (
    "utf",
    "sha",
    "iso",
    "rfc",
    "gpt",
    "aes",
    "rsa",
    "md",
    "cp",
    "utc",
    "gmt",
    "tls",
    "http",
    "ip",
    "us",
    "ascii",
)
_DOMAINS = ("com", "io", "org", "net", "dev")


def handles(text: str) -> List[str]:
    """Return the handles in a text, in lower case, each once."""
    found: Dict[str, None] = {}
    before = ""
    for raw in text.split():
        word = raw.strip(_EDGES)
        found.update((name.lower(), None) for name in _handles(word, before))
        before = word.lower()
    return list(found)


def is_ticket(name: str) -> bool:
    """Tell whether a handle names a ticket, issue or pull request."""
    head, _, number = name.partition("-")
    return name[:1] == "#" or (number.isdigit() and head.isalpha())


def _handles(word: str, before: str) -> Sequence[str]:
    """Return the handles in a word."""
    if "://" in word:
        return _numbers_in_url(word)
    if word[:3].lower() == "pr#":
        word, before = word[2:].partition("'")[0], "pr"
    if word[:2] == "--":
        return [word.partition("=")[0]] if len(word) > 5 else ()
    if _is_hash(word):
        return [word]
    key = _number(word, before) or _ticket(word, before)
    if key:
        return [key]
    return _names(word.partition("(")[0].partition(":")[0].partition("=")[0])


def _numbers_in_url(url: str) -> List[str]:
    """Return the number of the issue or of the pull request in a URL."""
    parts = url.split("/")
    return [
        "#" + number
        for part, number in zip(parts, parts[1:])
        if part in ("pull", "issues") and number.isdigit()
    ]


def _number(word: str, before: str) -> str:
    """Return `#12` where a word or the one before makes it a handle."""
    number = word.lstrip("#")
    if not number.isdigit():
        return ""
    is_handle = before in _NUMBERED or (word[0] == "#" and len(number) > 2)
    return "#" + number if is_handle else ""


def _is_hash(word: str) -> bool:
    """Tell whether a word is a commit's hash, whole or short."""
    if word.isdigit() or word.isalpha():
        return False
    return 7 <= len(word) <= 40 and _HEX.issuperset(word)


def _ticket(word: str, before: str) -> str:
    """Return the key of a ticket, such as `ABC-12`, in a word, or ""."""
    branch = word.count("/") == 1 and word.count("-") > 1
    head, dash, number = word.rpartition("/")[2].partition("-")
    number = number.partition("-")[0] if branch else number
    if not number.isdigit() or not head.isalpha():
        return ""
    if not 2 <= len(head) <= 8 or head.lower() in _STANDARDS:
        return ""
    is_key = head.isupper() or branch or before in _TRACKERS
    return head + dash + number if is_key else ""


def _names(word: str) -> Sequence[str]:
    """Return the file name in a word, else its identifiers."""
    file = word.rpartition("/")[2]
    stem, _, end = file.rpartition(".")
    if len(stem) > 1 and _is_extension(end):
        return [file]
    return [
        piece
        for piece in word.replace("/", ".").split(".")
        if len(piece) >= 6
        and piece.isascii()
        and piece.replace("_", "").isalnum()
        and ("_" in piece.strip("_") or _is_camel(piece))
    ]


def _is_extension(text: str) -> bool:
    """Tell whether a text ends a file's name, and no domain's."""
    if not text.isalpha() or not text.islower():
        return False
    return 1 < len(text) <= 5 and text not in _DOMAINS


def _is_camel(word: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in zip(word, word[1:]))
