"""A prompt turned into the block that goes before the model, and what the other hooks share with
it.

This is the blocking path: it opens the index without a lock, re-reads every file it shows, and
writes one receipt.

UserPromptExpansion brings dayleaf's slash commands, answered by the command line in a child.  What
is for the user alone (SHOWN) blocks the expansion: its text reaches the user, and no model is
asked.  What the model is to work with (GIVEN) becomes context beside the command's own text.  The
arguments go to the child's stdin as they were typed, through no shell.
"""

from __future__ import annotations

import sys
from zlib import crc32

from memory.core import IndexFault, boundary, clock, config, files, layout, tokeniser
from memory.hook import (
    WISH_CHARS,
    handles,
    indexview,
    is_asking,
    is_inquiring,
    is_ticket,
    receipts,
    segment,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.hook import loader
    from memory.hook.indexview import Index

    Event = Dict[str, Any]
    Chosen = List[List[Any]]

FILES_READ = 50  # files ranked where there is no index
# characters of a prompt's start and of its end that choose: all of a pasted log cost 0.7 s a
# megabyte
READ_CHARS = 8000
SHOWN = ("keep", "status", "why", "standup", "harvest", "plan", "feedback", "on", "off")
GIVEN = ("recall", "distill", "learn", "checkpoint", "handoff")
WITH_SESSION = ("on", "off", "learn", "checkpoint", "handoff")
COMMAND_TIMEOUT = 105  # seconds for the child; the host ends this hook after 120
MET_CHARS, MET_WORDS = 2000, 60  # of a prompt that are remembered as hashes
# words of a prompt that changes the subject, and how many of them are new
LEAST_WORDS, NEW_SHARE = 6, 0.85
PROMPT_UNITS = 2500  # UTF-16 units that a prompt's block may hold
AGENT_UNITS = 1200  # UTF-16 units that a subagent's prompt may gain
# how a line of an error begins
_ERRORS = ("error", "fatal", "panic", "failed", "e", "exception", "err")
# how the host begins its words
_HOSTS = ("<task-notification", "<command-", "<local-command", "Operation stopped by hook: ")
COMMAND_UNITS = 9500  # UTF-16 units; the host cuts above 10,000


def on_prompt(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer UserPromptSubmit with the relevant learnings and rules.

    Most prompts get nothing.
    """
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or event.get("agent_id") or is_machine(prompt):
        return None, False
    place, settings, path, state = opened_session(event, env)
    if not settings["load.enabled"] or not settings["load.prompt"] or state.off:
        return None, False
    found, block = _answered(event, env, now, "prompt", prompt, (place, settings, path, state))
    event[boundary.STALE] = found.stale or scan_due(place, now)
    wish = settings["capture.enabled"] and settings["capture.wishes"] and len(prompt) <= WISH_CHARS
    return output("UserPromptSubmit", block, ""), event[boundary.STALE] or wish


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
    from memory.hook import loader  # a session's start does without

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
                **(
                    {"sigs": [mark for wall in choice.walls for mark in wall.marks][:16]}
                    if choice.walls and block
                    else {}
                ),
                **({"words": named} if named else {}),
                **({"met": "".join(words)} if words else {}),
                **({"below": choice.below} if choice.below else {}),
                **({"unfit": unfit} if unfit else {}),
                **({"stale": True} if found.stale else {}),
                **({"unread": found.unread} if found.unread else {}),
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
    base = found.segment
    # there is more than learnings
    told = found.delta.docs or (base is not None and base.docs > base.pushable)
    if told and (wanted or turned and settings["load.push"] != "off"):
        from memory.hook import passages  # most prompts ask nothing, and each would pay for it

        choice.passages, below = passages.choose(
            found,
            prompt,
            settings["load.push"],
            state.shown,
            "" if state.forgot else own,
            turned and not wanted,
        )
        choice.below = [[below[0], round(below[1], 3)]] if below else []
    if settings["load.walls"] and _holds_error(prompt):
        from memory.hook import at_failure

        choice.walls = at_failure.look_up(found.place, own or "-", state.walls, "Bash", "", prompt)
    return choice


def _holds_error(prompt: str) -> bool:
    """Tell whether a prompt may hold a pasted error.

    Such a line begins with a place in a file, or with a word for an error.
    """
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
    try:
        head = files.read(indexview.segment_path(place), segment.HEADER_SIZE)
    except OSError:
        return not files.exists(indexview.segment_path(place))
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
    picks = [(found.doc(p.number), p.relevance, p.reason) for p in choice.picks]
    picked = [
        (record, relevance, reason, found.mark(record))
        for doc, relevance, reason in picks
        for record in indexview.reread(found, [doc])
        if record.accepted and record.kind == "learning"
    ]
    picked.sort(key=lambda row: bool(row[3]))  # what is stale stands below what is not
    asked, of_place = _rules_for_prompt(found, prompt, mode, state, {row[0].id for row in picked})
    if not picked and not asked and not of_place and not choice.passages and not choice.walls:
        return "", []
    from memory.hook import fence  # most prompts get nothing

    budget = fence.Budget((units or PROMPT_UNITS) - fence.overhead("prompt"))
    chosen: Chosen = []
    fence.add_rules(asked, budget, chosen, found.mark)
    for record, relevance, reason, mark in picked:
        if budget.left < fence.LEAST_UNITS:
            break
        if budget.take(
            fence.item(
                record,
                min(fence.ITEM_UNITS, budget.left - 1),
                prompt,
                record.id in choice.misled,
                mark,
            )
        ):
            chosen.append([record.id, round(relevance, 3), reason + (", stale" if mark else "")])
    lines = ["- " + line for line in fence.walls(found.place, choice.walls)] if choice.walls else []
    if lines and budget.take("\n".join(lines)):
        chosen += [wall.row() for wall in choice.walls]
    said = len(chosen)
    for passage in choice.passages:
        if budget.take(fence.passage_item(passage)):
            chosen.append(
                [
                    passage.doc.id,
                    round(passage.score, 3),
                    passage.reason + (", stale" if passage.mark else ""),
                ]
            )
    if len(chosen) > said:
        budget.take(fence.SAMPLE)
    fence.add_rules(of_place, budget, chosen)
    return (fence.block("prompt", budget.lines, budget.rules), chosen) if chosen else ("", [])


def _rules_for_prompt(
    found: Index, prompt: str, mode: str, state: receipts.Session, shown: set[str]
) -> Tuple[Sequence[Tuple[Any, str]], Sequence[Tuple[Any, str]]]:
    """Return (rules of the prompt or its records, rules of the place).

    Each rule with its reason.  shown: ids of the records to be shown.
    """
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


# ---- slash commands


def on_expansion(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Answer one of dayleaf's slash commands; any other expansion gets nothing."""
    name = event.get("command_name")
    verb = name[len("dayleaf:") :] if isinstance(name, str) and name.startswith("dayleaf:") else ""
    if verb not in SHOWN + GIVEN or env.get(boundary.NESTED):
        return None, False
    raw = event.get("command_args")
    from memory.hook import fence

    said, failed = _run(verb, raw if isinstance(raw, str) else "", event, env)
    if verb in SHOWN:
        return _shown(
            failed
            or "dayleaf %s, answered without the model:\n%s" % (verb, said or "nothing to show")
        ), False
    if failed:
        said = fence.block(
            verb,
            [
                "The command failed and did nothing: "
                + fence.clip(fence.clean(failed), COMMAND_UNITS - 400)
            ],
        )
    return output("UserPromptExpansion", fence.clip(said, COMMAND_UNITS), ""), False


def _shown(text: str) -> Event:
    """Return a hook's answer that only the user sees.

    The client adds a line above it on a hook that blocks; the command is not repeated.
    """
    from memory.hook import fence

    shown = {"hookEventName": "UserPromptExpansion", "suppressOriginalPrompt": True}
    return {
        "decision": "block",
        "reason": fence.clip(text, COMMAND_UNITS),
        "hookSpecificOutput": shown,
    }


def _run(verb: str, raw: str, event: Event, env: dict[str, str]) -> tuple[str, str]:
    """Run the command line; return (output, "" or error line)."""
    import subprocess

    _extend()
    argv = ["-I", layout.plugin() + "/memory", verb, "--args-from-stdin", *_options(verb, event)]
    folder = boundary.project_dir(event, env)
    running = layout.safe_id(event.get("session_id"))
    session = {"CLAUDE_CODE_SESSION_ID": running} if running else {}
    # authority.py: a person's words, as this child alone may say
    session[boundary.TYPED] = str(files.posix.getpid())
    for python in _pythons(layout.home(env)):
        try:
            done = subprocess.run(
                [python, *argv],
                input=raw.encode("utf-8", "replace"),
                capture_output=True,
                cwd=folder,
                env={**env, "NO_COLOR": "1", **session},
                timeout=COMMAND_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            return "", "dayleaf: %s took longer than %d s and was stopped; try it in a terminal" % (
                verb,
                COMMAND_TIMEOUT,
            )
        except OSError as error:
            failed = "dayleaf: %s could not be started (%s); run `dayleaf doctor` in a terminal" % (
                verb,
                error.strerror,
            )
            continue
        told = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        if done.returncode:
            return "", told or "dayleaf: %s failed (%d); run `dayleaf doctor` in a terminal" % (
                verb,
                done.returncode,
            )
        return done.stdout.decode("utf-8", "replace").strip("\n"), ""
    return "", failed


def _pythons(home: str) -> list[str]:
    """Return the Python interpreters to try, in order."""
    runtime = home + "/runtime/bin/python"
    return ([runtime] if files.exists(runtime) else []) + [sys.executable]


def _options(verb: str, event: Event) -> list[str]:
    session = layout.safe_id(event.get("session_id"))
    options = ["--hook"] if verb in GIVEN else []
    options += ["--session", session] if session and verb in WITH_SESSION else []
    if verb == "learn":
        # the user typed it, although the client's environment says agent
        options += ["--source", "human"]
    transcript = event.get("transcript_path")
    if verb in ("checkpoint", "handoff") and isinstance(transcript, str) and transcript:
        options.append("--transcript=" + transcript)
    return options


def _extend() -> None:
    """Extend the hook's deadline, so that a model can answer."""
    try:
        from _signal import alarm  # type: ignore[import-not-found]
    except ImportError:
        return
    alarm(COMMAND_TIMEOUT + 8)
