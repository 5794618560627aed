"""The conversation of a session: one file, rewritten from the present stretch on as it goes on.

The text before the stretch stays byte for byte.  A file that a person edited (its text has another
hash than `written`) is left alone from then on, and a deleted file stays deleted; a moved one goes
on where it stands.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from memory.capture import checkpointpage, conversationpage
from memory.capture.progress import CaptureState
from memory.capture.turns import GOES_ON, Turn
from memory.core import StoreError, UsageError, clock, config, files, frontmatter, tokeniser
from memory.core.layout import TRUNKS, Place
from memory.core.records import Record, meta_text
from memory.store import writer
from memory.store.redactor import strip_private_record
from memory.store.store import Store

KIND, GONE, NEXT = "conversation", "-", "+"
UNATTENDED = "unattended"  # key of what programs asked for
MOST = 300_000  # characters of a file; later turns go into another


def update_file(
    keeper: Store, settings: config.Config, state: CaptureState, session: str, named: str
) -> str:
    """Update the session's conversation and return its id, or "".

    named: the conversation's id in the session's checkpoints, or "".
    Raises OSError, StoreError.
    """
    if not settings["capture.conversations"]:
        return ""
    lost = named and not state.talk
    if lost or state.talk[:2] == "p/" and not files.exists(keeper.place.path(state.talk)):
        _follow_file(keeper, state, session, named)
    if state.talk == GONE:
        return ""
    text = conversationpage.render(state.facts.all_turns, state.day).strip("\n")
    if not text and not state.retold:
        return named
    if state.talk in ("", NEXT):
        return _start_file(keeper, state, session, text)
    return _continue_file(keeper, state, text)


def is_unedited(place: Place, talk: str) -> bool:
    """Tell whether a conversation is as dayleaf wrote it.  talk: its name."""
    try:
        is_name = talk.startswith("p/")  # not GONE or NEXT
        page = frontmatter.parse(files.read(place.path(talk), 64 << 20) if is_name else b"")
    except OSError:
        return False
    return page.meta.get("written") == writer.body_checksum(page.body.strip("\n"))


def end_stretch(state: CaptureState) -> None:
    """End the present stretch; its turns stay in the file."""
    state.base += state.grown
    state.grown = 0
    state.day = next((turn.at[:10] for turn in reversed(state.facts.all_turns)), state.day)
    if state.length > MOST:
        state.talk, state.base, state.length, state.day = NEXT, 0, 0, ""


def resume_newest(place: Place, state: CaptureState, names: Sequence[str]) -> None:
    """Go on with a session's newest conversation after its state was lost."""
    if names:
        state.talk = names[-1]
        if state.since:  # else all of it is told again
            state.base = len([*conversationpage.split_sections(_read_body(place, state.talk))])


def _follow_file(keeper: Store, state: CaptureState, session: str, named: str) -> None:
    """Go on where a person moved the file to, nowhere if they deleted it."""
    from memory.store import conversations

    own = [each for each in conversations.find_by_session(keeper, session) if each.kind == KIND]
    alike = [record for record in own if len(record.body.strip("\n")) == state.length]
    found = [record.name for record in own if record.id == named]
    found = found or [record.name for record in alike if len(alike) == 1]
    if found and not state.talk:
        resume_newest(keeper.place, state, found)
    else:
        state.talk = found[0] if found else GONE


def _read_body(place: Place, name: str) -> str:
    return frontmatter.parse(files.read(place.path(name), 64 << 20)).body.strip("\n")


def _make_frontmatter(state: CaptureState, text: str) -> dict[str, Any]:
    facts = state.facts
    return {
        "branch": facts.branch or None,
        "until": facts.until or None,
        UNATTENDED: facts.is_unattended or None,
        "imported": state.imported or None,
        "files": list(dict.fromkeys(edit.path for edit in facts.edits))[:40] or None,
        "written": writer.body_checksum(text),
    }


def _start_file(keeper: Store, state: CaptureState, session: str, text: str) -> str:
    facts = state.facts
    began = next((turn.at for turn in facts.all_turns if turn.at), facts.until)
    title, aliases = checkpointpage.choose_title(facts)
    extra = {"created": began, **_make_frontmatter(state, text)}
    record = keeper.add(
        KIND,
        # the title tells of the work so far, but a conversation goes on
        next(iter(aliases), title),
        text + "\n",
        tags=checkpointpage.list_tags(facts),
        source="auto",
        session=session,
        extra={key: value for key, value in extra.items() if value},
    )
    state.talk, state.base, state.grown = record.name, 0, len(facts.all_turns)
    state.length = len(_read_body(keeper.place, record.name))
    return record.id


def read_turns(
    keeper: Store, record: Record, checkpoints: Sequence[Record] = ()
) -> tuple[Turn, ...]:
    """Return the turns of a checkpoint's conversation, () for none.

    checkpoints: of its session; by them turns of another branch, no trunk, are left out, and those
    of a program where the checkpoint is a person's.
    """
    try:
        page = strip_private_record(keeper.find(meta_text(record, "conversation")))
    except (StoreError, UsageError):
        return ()
    if page.kind != KIND:
        return ()
    history = conversationpage.parse(page.body, clock.day(page.created))
    ends = sorted(
        (
            clock.parse(meta_text(each, "until")) or each.created,
            meta_text(each, "branch"),
            meta_text(each, UNATTENDED) == "true" and meta_text(record, UNATTENDED) != "true",
        )
        for each in checkpoints
    )
    own_branch = meta_text(record, "branch")
    parts = split_by_checkpoint(history, [until for until, *_ in ends])
    marks = [*((branch, foreign) for _, branch, foreign in ends), (own_branch, False)]
    kept: list[Turn] = []
    for part, (branch, foreign) in zip(parts, marks):
        if branch in (own_branch, *TRUNKS) and not foreign:
            kept += part
    return tuple(kept)


def split_by_checkpoint(history: Sequence[Turn], ends: Sequence[float]) -> list[tuple[Turn, ...]]:
    """Split a session's turns where checkpoints end; the rest is the last part.

    ends: the checkpoints' instants, in order.
    Turns know only their minute: one that goes on in the last minute goes on after it.
    """
    begun = [
        (clock.parse(turn.at) or 0.0) + (60 if turn.asked == GOES_ON else 0) for turn in history
    ]
    cuts = [bisect_right(begun, until) for until in ends]
    return [tuple(history[start:end]) for start, end in zip([0, *cuts], [*cuts, len(history)])]


def take_first_turns(body: str, number: int) -> str:
    """Return a page's text up to the end of its first turns.

    number: of turns, 0 for the text above the first.
    """
    lines = body.split("\n")
    heads = [
        at
        for at, (line, is_code) in enumerate(tokeniser.mark_code(lines))
        if not is_code and conversationpage.HEAD.match(line)
    ]
    return "\n".join(lines[: heads[number]] if number < len(heads) else lines).rstrip("\n")


def _continue_file(keeper: Store, state: CaptureState, text: str) -> str:
    try:
        old = files.read(keeper.place.path(state.talk), 64 << 20)
    except OSError:  # no file of ours; the checkpoint is written all the same
        return ""
    page = frontmatter.parse(old)
    body = page.body.strip("\n")
    id = str(page.meta.get("id") or "")
    if page.meta.get("written") != writer.body_checksum(body):
        return id
    before = _render_before(state, body)
    new_body = "\n\n".join(filter(None, (before, text)))
    if new_body == body:
        state.grown = len(state.facts.all_turns)
        return id
    head = _make_frontmatter(state, new_body)
    changes = {key: head[key] for key in head if head[key] or key == UNATTENDED}
    data = frontmatter.edit(old, {"updated": clock.iso(keeper.now), **changes})
    data = data[: frontmatter.split_head(data)[1]] + b"\n" + new_body.encode("utf-8") + b"\n"
    record = keeper.replace(state.talk, data, files.sha256(old))
    kept = _read_body(keeper.place, state.talk)
    # the store removed a secret that only the whole text gave away
    if writer.body_checksum(kept) != record.meta.get("written"):
        keeper.edit(state.talk, {"written": writer.body_checksum(kept)})
    state.grown, state.length, state.retold = len(state.facts.all_turns), len(kept), []
    return id


def _render_before(state: CaptureState, body: str) -> str:
    """Return the file's text before this stretch."""
    kept = take_first_turns(body, state.base - len(state.retold))
    if not state.retold:
        return kept
    day = next((row.day for row in state.closed if row.until >= state.retold[0].at), "")
    return "\n\n".join(filter(None, (kept, conversationpage.render(state.retold, day).strip("\n"))))
