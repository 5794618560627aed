"""The conversation of a session: one file of what was said, written on as the session goes on.

Each writing replaces what the present stretch had in the file; what stands before it stays byte for
byte.  A file that a person edited (its text is another than `written` says) is left alone from then
on, and one that a person deleted stays deleted.
"""

from __future__ import annotations

from bisect import bisect_right

from memory.capture import checkpointpage, conversationpage
from memory.capture.progress import State
from memory.capture.turns import GOES_ON, Turn
from memory.core import StoreError, UsageError, clock, config, files, frontmatter, tokeniser
from memory.core.layout import TRUNKS, Place
from memory.core.records import Record
from memory.store import writer
from memory.store.redactor import without_private
from memory.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

KIND, GONE, NEXT = "conversation", "-", "+"
MOST = 300_000  # characters of a file; what comes after goes into another


def keep(keeper: Store, settings: config.Config, state: State, session: str, named: str) -> str:
    """Update the session's conversation and return its id, or "".

    named: the conversation's id in the session's checkpoints, or "".
    Raises OSError, StoreError.
    """
    if not settings["capture.conversations"] or state.talk == GONE:
        return ""
    if named and not state.talk:
        state.talk = GONE
        return ""
    told = conversationpage.render(state.facts.all_turns, state.day).strip("\n")
    if not told and not state.retold:
        return named
    return (
        _continue_file(keeper, state, told)
        if state.talk not in ("", NEXT)
        else _start_file(keeper, state, session, told)
    )


def is_forgotten(place: Place, state: State, session: str) -> bool:
    """Tell whether a person forgot a session.

    Then nothing of it is written again.
    """
    known = state.talk.startswith("p/") and files.exists(place.path(state.talk))
    if known or not files.is_folder(place.private + "/archive"):
        return False
    from memory.store import conversations

    return conversations.was_forgotten(place, session)


def is_removed(place: Place, state: State, session: str) -> bool:
    """Tell whether a person forgot a session for good.

    Then nothing of it is kept for a later writing either.
    """
    if not is_forgotten(place, state, session):
        return False
    from memory.store import conversations

    return conversations.was_removed(place, session)


def close(state: State) -> None:
    """End the stretch: the file's present text stays."""
    state.base += state.grown
    state.grown = 0
    state.day = next((turn.at[:10] for turn in reversed(state.facts.all_turns)), state.day)
    if state.length > MOST:
        state.talk, state.base, state.length, state.day = NEXT, 0, 0, ""


def find(place: Place, state: State, names: Sequence[str]) -> None:
    """Take the newest of a session's conversations where its state was lost."""
    if names:
        state.talk = names[-1]
        if state.since:  # else all of it is told again
            state.base = len([*conversationpage.sections(_body(place, state.talk))])


def _body(place: Place, name: str) -> str:
    """Return the whole text of a conversation."""
    return frontmatter.parse(files.read(place.path(name), 64 << 20)).body.strip("\n")


def _meta(state: State, told: str) -> dict[str, Any]:
    facts = state.facts
    return {
        "branch": facts.branch or None,
        "until": facts.until or None,
        "files": list(dict.fromkeys(edit.path for edit in facts.edits))[:40] or None,
        "written": writer.body_mark(told),
    }


def _start_file(keeper: Store, state: State, session: str, told: str) -> str:
    facts = state.facts
    began = next((turn.at for turn in facts.all_turns if turn.at), facts.until)
    extra = {"created": began, **_meta(state, told)}
    title, asked = checkpointpage.title_and_request(facts)
    # what came out so far names a checkpoint, but a conversation goes on
    title = next(iter(asked), title)
    record = keeper.add(
        KIND,
        title,
        told + "\n",
        tags=checkpointpage.tags(facts),
        source="auto",
        session=session,
        extra={key: value for key, value in extra.items() if value},
    )
    state.talk, state.base, state.grown = record.name, 0, len(state.facts.all_turns)
    state.length = len(_body(keeper.place, record.name))
    return record.id


def turns_of(keeper: Store, record: Record, every: Sequence[Record] = ()) -> tuple[Turn, ...]:
    """Return the turns of a checkpoint's conversation, without private parts.

    every: the checkpoints of its session; by them turns of another branch, no trunk, are left out.
    Empty where there is no conversation.
    """
    named = record.meta.get("conversation")
    try:
        found = without_private(keeper.find(named.strip() if isinstance(named, str) else ""))
    except (StoreError, UsageError):
        return ()
    held = (
        conversationpage.parse(found.body, clock.day(found.created)) if found.kind == KIND else ()
    )
    order = sorted(
        (clock.parse(str(one.meta.get("until"))) or one.created, str(one.meta.get("branch") or ""))
        for one in every
    )
    own = str(record.meta.get("branch") or "")
    parts = zip(
        portions(held, [until for until, _ in order]), [*(branch for _, branch in order), own]
    )
    return tuple(turn for part, branch in parts if branch in (own, *TRUNKS) for turn in part)


def portions(held: Sequence[Turn], ends: Sequence[float]) -> list[tuple[Turn, ...]]:
    """Share a session's turns out among its checkpoints.

    Returns the turns of each, and last the turns after them.
    ends: the instants up to which the checkpoints tell, in their order.
    Turns know the minute alone: a turn that goes on in the last minute goes on after it.
    """
    begun = [(clock.parse(turn.at) or 0.0) + 60 * (turn.asked == GOES_ON) for turn in held]
    cuts = [bisect_right(begun, until) for until in ends]
    return [tuple(held[start:end]) for start, end in zip([0, *cuts], [*cuts, len(held)])]


def first_turns(body: str, number: int) -> str:
    """Return a page up to the end of a turn.

    number: of turns, 0 for the text above the first.
    """
    lines = body.split("\n")
    heads = [
        at
        for at, (line, inside) in enumerate(tokeniser.coded(lines))
        if not inside and conversationpage.HEAD.match(line)
    ]
    return "\n".join(lines[: heads[number]] if number < len(heads) else lines).rstrip("\n")


def _continue_file(keeper: Store, state: State, told: str) -> str:
    path = keeper.place.path(state.talk)
    try:
        old = files.read(path, 64 << 20)
    except FileNotFoundError:
        state.talk = GONE
        return ""
    except OSError:  # what stands in its place is not ours; the checkpoint is written all the same
        return ""
    page = frontmatter.parse(old)
    body = page.body.strip("\n")
    id = str(page.meta.get("id") or "")
    if page.meta.get("written") != writer.body_mark(body):
        return id
    before = _before(state, body)
    whole = "\n\n".join(filter(None, (before, told)))
    if whole == body:
        state.grown = len(state.facts.all_turns)
        return id
    changes = {key: value for key, value in _meta(state, whole).items() if value}
    data = frontmatter.edit(old, {"updated": clock.iso(keeper.now), **changes})
    data = data[: frontmatter.split(data)[1]] + b"\n" + whole.encode("utf-8") + b"\n"
    record = keeper.replace(state.talk, data, files.sha256(old))
    kept = _body(keeper.place, state.talk)
    # the store took a secret out that only the whole gave away
    if writer.body_mark(kept) != record.meta.get("written"):
        keeper.edit(state.talk, {"written": writer.body_mark(kept)})
    state.grown, state.length, state.retold = len(state.facts.all_turns), len(kept), []
    return id


def _before(state: State, body: str) -> str:
    """Return the conversation before this stretch."""
    kept = first_turns(body, state.base - len(state.retold))
    if not state.retold:
        return kept
    day = next((row.day for row in state.closed if row.until >= state.retold[0].at), "")
    return "\n\n".join(filter(None, (kept, conversationpage.render(state.retold, day).strip("\n"))))
