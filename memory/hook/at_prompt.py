"""Turn a prompt into the block that goes before the model; helpers that the other hooks share.

This is the blocking path: it opens the index without a lock, re-reads every file it shows, and
writes one receipt.
"""

from __future__ import annotations

from zlib import crc32

from memory.core import IndexFault, boundary, clock, config, files, layout, tokeniser
from memory.hook import WISH_CHARS, indexview, receipts, segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.hook import fence, loader
    from memory.hook.indexview import Index

    Event = dict[str, Any]
    Chosen = list[list[Any]]

FILES_READ = 50  # files ranked where there is no index
# characters of a prompt's start and of its end that choose: all of a pasted log takes too long
READ_CHARS = 8000
MET_CHARS, MET_WORDS = 2000, 60  # of a prompt that are remembered as hashes
# words of a prompt that changes the subject, and how many of them are new
LEAST_WORDS, NEW_SHARE = 6, 0.85
PROMPT_UNITS = 2500  # UTF-16 units that a prompt's block may hold
AGENT_UNITS = 1200  # UTF-16 units that a subagent's prompt may gain
# how a line of an error begins: pytest's mark, or a word that ends so
_ERRORS = ("e", "error", "fatal", "panic", "failed", "exception", "err")
# how the host begins its words
_HOSTS = ("<task-notification", "<command-", "<local-command", "Operation stopped by hook: ")


def on_prompt(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Answer a prompt with the relevant learnings, passages and rules, if any."""
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or event.get("agent_id") or is_machine_prompt(prompt):
        return None, False
    session = OpenSession(event, env)
    needs_worker = _is_paused(session) or _may_wish(prompt, session.settings)
    if not _loads_something(session):
        event[boundary.STALE] = False
        return None, needs_worker
    index, block = _answer_prompt(event, env, now, "prompt", prompt, session)
    event[boundary.STALE] = index.stale or indexview.is_scan_due(session.place, now)
    needs_worker = needs_worker or event[boundary.STALE]
    return build_output("UserPromptSubmit", block, ""), needs_worker


def _loads_something(session: OpenSession) -> bool:
    settings = session.settings
    return bool(settings["load.enabled"] and settings["load.prompt"] and not session.state.off)


def _is_paused(session: OpenSession) -> bool:
    """Tell whether capture of a session is or was paused."""
    if not session.path:
        return False
    enabled = session.settings["capture.enabled"]
    return not enabled or files.exists(receipts.pauses_path(session.path))


def _may_wish(prompt: str, settings: Config) -> bool:
    """Tell whether the worker searches a prompt for standing wishes."""
    if not settings["capture.enabled"] or not settings["capture.wishes"]:
        return False
    return len(prompt) <= WISH_CHARS


def on_agent(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Extend a subagent's prompt by the block that a person's prompt would get.

    The answer decides no permission.
    """
    given = event.get("tool_input")
    arguments: Event = given if isinstance(given, dict) else {}
    prompt = arguments.get("prompt")
    if not isinstance(prompt, str) or env.get(boundary.NESTED) or is_machine_prompt(prompt):
        return None, False
    session = OpenSession(event, env)
    settings, state = session.settings, session.state
    if not settings["load.enabled"] or not settings["load.subagents"] or state.off:
        return None, False
    state.shown.clear()
    state.forgot = False
    index, block = _answer_prompt(event, env, now, "agent", prompt, session)
    if not block:
        return None, index.stale
    changed = {**arguments, "prompt": prompt + "\n\n" + block}
    output = {"hookEventName": "PreToolUse", "updatedInput": changed}
    return {"hookSpecificOutput": output}, index.stale


def _answer_prompt(
    event: Event, env: dict[str, str], now: float, name: str, prompt: str, session: OpenSession
) -> tuple[Index, str]:
    """Return (index, block for a prompt) and write the receipt."""
    from memory.hook import loader

    text = loader.extract_user_text(clip_middle(loader.remove_blocks(prompt)))
    words = hash_words(text) if name == "prompt" else []
    index, (choice, block, shown) = _consult_for_prompt(event, env, name, text, words, session)
    unfit = _list_unfit(choice, shown)
    # whoever wrote the prompt has given the block on
    if block and 'tag="%s"' % receipts.parse_block_tag(block) in prompt:
        block, shown = "", []
    if session.path:
        row = {
            **receipts.build_row(name, now, block, shown),
            "prompt": layout.valid_id(event.get("prompt_id")),
            "query": receipts.hash_text(prompt),
            "strategy": choice.strategy.name,
            "tag": receipts.parse_block_tag(block),
            "candidates": choice.candidates,
        }
        row["saved"] = max(0, index.learning_tokens - row["tokens"]) if block else 0
        rare = {
            **_list_block_fields(choice, block, shown),
            "met": "".join(words),
            "below": choice.below,
            "unfit": unfit,
            "stale": index.stale,
            "unread": index.unread,
        }
        row.update((key, value) for key, value in rare.items() if value)
        receipts.write_or_log(env, session.path, row)
    return index, block


def _consult_for_prompt(
    event: Event,
    env: dict[str, str],
    name: str,
    text: str,
    words: Sequence[str],
    session: OpenSession,
) -> tuple[Index, tuple[loader.Choice, str, Chosen]]:
    """Return (index, (choice, block, shown items)) for a prompt's text.

    words: from `hash_words`, [] for a subagent's prompt.
    """
    from memory.hook.handles import extract_ids

    state, settings = session.state, session.settings
    mode, own = event.get("permission_mode"), layout.valid_id(event.get("session_id"))
    mode = mode if isinstance(mode, str) else ""
    is_agent = name == "agent"
    # this prompt mostly goes on with the session's work: of seven blocks none was of use
    is_after_compaction = state.compacted and not state.prompts
    is_other = is_after_compaction or is_new_subject(words, state) or bool(extract_ids(text))
    changes_subject = not is_agent and is_other
    wanted = wants_passages(text, settings, state)
    units = AGENT_UNITS if is_agent else PROMPT_UNITS

    def work(index: Index) -> tuple[loader.Choice, str, Chosen]:
        choice = choose_for_prompt(index, text, mode, settings, state, wanted, own, changes_subject)
        return (choice, *build_block(index, choice, text, state, mode, units))

    most = indexview.CONVERSATION_BYTES if changes_subject or wanted else 0
    return consult_index(session.place, event, env, name + " index", work, text, most)


def _list_unfit(choice: loader.Choice, shown: Chosen) -> list[str]:
    """Return the ids of the chosen learnings that found no room."""
    fitted = {row[0] for row in shown}
    return [pick.doc.id for pick in choice.picks if pick.doc.id not in fitted]


def _list_block_fields(choice: loader.Choice, block: str, shown: Chosen) -> dict[str, Any]:
    """Return a prompt's receipt fields on shown walls and passages."""
    fitted = [row[:2] for row in shown]
    words: dict[str, list[str]] = {}
    turns: dict[str, list[str]] = {}
    for passage in choice.passages:
        doc = passage.doc
        if [doc.id, round(passage.score, 3)] in fitted:
            words.setdefault(doc.id, []).extend(map(receipts.hash_text, passage.names))
            if doc.kind == "conversation":
                turns.setdefault(doc.id, []).append(receipts.hash_text(doc.section))
    return {
        "sigs": [mark for wall in choice.walls for mark in wall.marks][:16] if block else [],
        "turns": turns,
        "words": words,
    }


def choose_for_prompt(
    index: Index,
    prompt: str,
    mode: str,
    settings: Config,
    state: receipts.SessionState,
    wanted: bool,
    own: str = "",
    changes_subject: bool = False,
) -> loader.Choice:
    """Return the learnings, passages and walls chosen for a prompt.

    prompt: from `loader.extract_user_text`.  wanted: from `wants_passages`.  own: the session's id.
    """
    from memory.hook import loader

    choice = loader.choose_learnings(index, prompt, mode, settings, state.shown)
    if choice.strategy.whole and not choice.picks:
        choice.picks = _find_new_learnings(index, prompt, settings, state)
    push = settings["load.push"]
    if (wanted or (changes_subject and push != "off")) and _holds_more_than_learnings(index):
        from memory.hook import passages

        asker = "" if state.forgot else own
        choice.passages, choice.below = passages.choose_passages(
            index, prompt, push, state.shown, asker, not wanted
        )
    if settings["load.walls"] and _holds_error(prompt):
        from memory.hook import at_failure

        choice.walls = at_failure.find_walls(index.place, own, state.walls, "Bash", "", prompt)
    return choice


def _find_new_learnings(
    index: Index, prompt: str, settings: Config, state: receipts.SessionState
) -> list[loader.Pick]:
    """Return learnings about a prompt that were written since the session's start."""
    from memory.hook import loader

    since = clock.parse(state.since)
    if since is None:
        return []
    return loader.find_written_since(index, prompt, since, state.shown)[: settings["load.top"]]


def _holds_more_than_learnings(index: Index) -> bool:
    base = index.segment
    return bool(index.delta.docs) or (base is not None and base.docs > base.pushable)


def _holds_error(prompt: str) -> bool:
    """Tell whether a line begins as an error does: `TypeError:`, `npm error`, `a.py:3:`."""
    for line in prompt.split("\n"):
        words = line.lower().split(None, 4)[:4] if ":" in line else ()
        if words and (words[0] in _ERRORS or words[0].rstrip(":").rpartition(":")[2].isdigit()):
            return True
        if len(words) > 1 and words[1].rstrip("!") in _ERRORS[1:]:
            return True
        if any(word[-1] == ":" and word.rstrip(":").endswith(_ERRORS[1:]) for word in words):
            return True
    return False


def wants_passages(prompt: str, settings: Config, state: receipts.SessionState) -> bool:
    """Tell whether a prompt may get passages.

    The session's first prompt, a question, an error, or a prompt that names a ticket may.
    """
    if settings["load.push"] == "off":
        return False
    from memory.hook import handles, intent

    is_first = not state.prompts and not state.compacted
    asks = is_first or intent.asks_past(prompt) or intent.asks_how(prompt) or _holds_error(prompt)
    return asks or any(map(handles.is_ticket, handles.extract_handles(prompt)))


def hash_words(prompt: str) -> list[str]:
    """Return short hashes of a prompt's first distinct words."""
    terms = list(dict.fromkeys(term for term, _ in tokeniser.query_terms(prompt[:MET_CHARS])))
    return ["%04x" % (crc32(t.encode("utf-8", "replace")) & 0xFFFF) for t in terms[:MET_WORDS]]


def is_new_subject(words: Sequence[str], state: receipts.SessionState) -> bool:
    """Tell whether nearly all of a prompt's words are new to the session."""
    if not state.met or len(words) < LEAST_WORDS:
        return False
    return sum(word not in state.met for word in words) >= NEW_SHARE * len(words)


def is_machine_prompt(prompt: str) -> bool:
    """Tell whether a program wrote a prompt, or the prompt is a slash command.

    Programs: the host, our distiller.  `/srv/jobs/x.py` is a path and no command.
    """
    start = prompt.lstrip()[:256]
    if start[:1] == "/":
        name = start.split(None, 1)[0][1:]
        return name.replace("-", "").replace("_", "").replace(":", "").isalnum()
    return start.startswith(_HOSTS) or "dayleaf-distill-prompt" in start[:64]


def clip_middle(prompt: str) -> str:
    """Return a long prompt without its middle, since people ask at the ends."""
    if len(prompt) <= 2 * READ_CHARS:
        return prompt
    return prompt[:READ_CHARS] + "\n" + prompt[-READ_CHARS:]


def open_or_build_index(place: Place, prompt: str = "") -> Index:
    """Open a place's index, or build one in memory from some files."""
    try:
        return indexview.open_index(place)
    except Exception:
        return indexview.build_from_files(place, FILES_READ, prompt, conversations=False)


def consult_index(
    place: Place,
    event: Event,
    env: dict[str, str],
    where: str,
    work: Callable[[Index], Any],
    prompt: str = "",
    conversation_bytes: int = 0,
) -> tuple[Index, Any]:
    """Return (index, result of `work`); read the files if the index fails.

    The returned index is closed.  A flipped bit can pass every check of the reader and surface as
    any error.  Then the failure is logged under `where`, and the event tells the detached refresh
    to build anew.  An error that the files give too is raised.
    """
    index: Index | None = None
    try:
        index = indexview.open_index(place, conversation_bytes=conversation_bytes)
        return index, work(index)
    except Exception as error:
        fault = error
        damaged = index is not None or not _is_index_absent(place, error)
    finally:
        if index is not None:
            index.close()
    index = indexview.build_from_files(place, FILES_READ, prompt, conversations=False)
    result = work(index)
    if damaged:
        event[indexview.DAMAGED] = True
        boundary.log_failure(env, where, fault)
    return index, result


def _is_index_absent(place: Place, error: Exception) -> bool:
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
    is_whole = len(head) == segment.HEADER_SIZE
    return is_whole and segment.HEADER.unpack_from(head)[3] != tokeniser.VERSION


def build_block(
    index: Index,
    choice: loader.Choice,
    prompt: str,
    state: receipts.SessionState,
    mode: str = "",
    units: int = PROMPT_UNITS,
) -> tuple[str, Chosen]:
    """Return (block for a prompt, its receipt's rows), ("", []) if nothing is relevant.

    mode: the host's permission mode.  units: UTF-16 units of the block.
    """
    picked = _read_picked_records(index, choice)
    asked, of_place, wishes = _find_rules(index, prompt, mode, state, {row[0].id for row in picked})
    if not any((picked, asked, of_place, wishes, choice.passages, choice.walls)):
        return "", []
    from memory.hook import fence

    budget = fence.Budget(units - fence.overhead("prompt"))
    fence.add_rules(asked, budget, index.mark)
    _add_wishes(index, budget, wishes)
    _take_records(budget, picked, prompt, choice.misled)
    if choice.walls:
        lines = ["- " + line for line in fence.format_walls(index.place, choice.walls)]
        if budget.take("\n".join(lines)):
            budget.chosen += [wall.receipt_row() for wall in choice.walls]
    passages = [p for p in choice.passages if budget.take(fence.format_passage(p))]
    if passages:
        budget.chosen += [_format_receipt_row(p.doc, p.score, p.reason, p.mark) for p in passages]
        budget.take(fence.SAMPLE)
    fence.add_rules(of_place, budget)
    if not budget.chosen:
        return "", []
    return fence.format_block("prompt", budget.lines, budget.rules), budget.chosen


def _read_picked_records(index: Index, choice: loader.Choice) -> list[tuple[Any, float, str, str]]:
    """Return (record, relevance, reason, staleness) of chosen learnings still accepted."""
    picked = [
        (record, pick.relevance, pick.reason, index.mark(record))
        for pick in choice.picks
        for record in indexview.reread(index, [pick.doc])
        if record.accepted and record.kind == "learning"
    ]
    picked.sort(key=lambda row: bool(row[3]))  # what is stale stands below what is not
    return picked


def _take_records(
    budget: fence.Budget,
    picked: list[tuple[Any, float, str, str]],
    prompt: str,
    misled: frozenset[str],
) -> None:
    """Add the picked records to a block while there is room."""
    from memory.hook import fence

    for record, relevance, reason, mark in picked:
        if budget.left < fence.LEAST_UNITS:
            break
        units = min(fence.ITEM_UNITS, budget.left - 1)
        if budget.take(fence.format_record(record, units, prompt, record.id in misled, mark)):
            budget.chosen.append(_format_receipt_row(record, relevance, reason, mark))


def _format_receipt_row(item: Any, score: float, reason: str, mark: str) -> list[Any]:
    return [item.id, round(score, 3), reason + (", stale" if mark else "")]


def _find_rules(
    index: Index, prompt: str, mode: str, state: receipts.SessionState, shown: set[str]
) -> tuple[Sequence[tuple[Any, str]], Sequence[tuple[Any, str]], Sequence[Any]]:
    """Return (rules that apply by prompt or records, rules that apply by place, wishes)."""
    if not index.has_rules:
        return (), (), ()
    from memory.hook import context

    ruled, wishes = context.find_prompt_rules(index, prompt, mode, state.shown, shown)
    of_place = [pair for pair in ruled if context.applies_by_place(pair[1])]
    return [pair for pair in ruled if pair not in of_place], of_place, wishes


def _add_wishes(index: Index, budget: fence.Budget, wishes: Sequence[Any]) -> None:
    if not wishes:
        return
    from memory.hook import context

    for wish in wishes:
        context.add_wish(wish, index, budget)


class OpenSession:
    """The session that a hook answers: its place, settings and state.

    path: of its receipts, "" without a session's id.
    """

    def __init__(self, event: Event, env: dict[str, str]):
        self.place = layout.locate(env, boundary.project_dir(event, env))
        layout.refuse_lost(self.place.private)
        self.settings = config.load_for_place(self.place, env)
        session = layout.valid_id(event.get("session_id"))
        self.path = self.place.receipts(session) if session else ""
        self.state = receipts.read_session(self.path) if session else receipts.SessionState()


def build_output(name: str, block: str, message: str) -> Event | None:
    output: Event = {}
    if block:
        output["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": block}
    if message:
        output["systemMessage"] = message
    return output or None
