"""Read the part of a transcript behind a checkpoint or a turn of a conversation: what was asked,
said and run there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from memory.capture import progress
from memory.core import StoreError, UsageError, clock, layout, plaintext
from memory.core.layout import DATED
from memory.core.records import Record
from memory.recall import lookup
from memory.recall.hit import Turn
from memory.session import entries, transcript, whereabouts
from memory.session.entries import (
    BANG,
    BANGED,
    COMPACT,
    PLAN,
    PROMPT,
    REPORT,
    RESULT,
    SLASH,
    STEER,
    TEAM,
    TEXT,
    USE,
    Entry,
)
from memory.store import conversations, redactor
from memory.store.store import Store

ASKED = (PROMPT, SLASH, BANG, TEAM)  # what begins a turn
SAID_BY = {
    **dict.fromkeys((PROMPT, SLASH, BANG, STEER), "you"),
    **dict.fromkeys((TEXT, USE, PLAN), "Claude"),
    **dict.fromkeys((RESULT, BANGED, REPORT), "result"),
}
LIMIT = 64 << 10  # characters of one entry
# of a tool's input, the first one tells most
CALLS = ("command", "file_path", "pattern", "url", "description", "prompt")


class Utterance(NamedTuple):
    """An entry of a transcript.

    at: the instant as the host wrote it. who: `you`, `Claude`, `result` or `host`.
    """

    at: str
    who: str
    text: str


def conversation(store: Store, record: Record) -> Optional[Record]:
    """Return the conversation of a record's session.

    A conversation returns itself; None where none is kept.
    """
    if record.kind == "conversation":
        return record
    session = record.meta.get("session")
    if record.kind != "checkpoint" or not isinstance(session, str):
        return None
    named = record.meta.get("conversation")
    if isinstance(named, str) and named:
        with suppress(StoreError):
            return lookup.find_one(store.place, store.config, named)
        return None
    return next(
        (
            other
            for other in conversations.of_session(store, session)
            if other.kind == "conversation"
        ),
        None,
    )


def find_turn(record: Record, turns: Sequence[Turn], said: str) -> Turn:
    """Find a conversation's turn by its number or time.

    said: `3`, or `14:03` (with or without its day) for the turn going on then. turns: all turns of
        the record. Raises UsageError where there is none.
    """
    if said.isdigit():
        found = turns[int(said) - 1 : int(said)] if int(said) else turns[:0]
    else:
        found = _turns_at(record, turns, said)
    if found:
        return found[0]
    raise UsageError(
        "conversation %s has %s and no #%s%s"
        % (
            record.id,
            plaintext.count(len(turns), "turn"),
            said,
            ": `dayleaf show %s --outline` lists them" % record.id if turns else "",
        )
    )


def _turns_at(record: Record, turns: Sequence[Turn], said: str) -> Sequence[Turn]:
    """Return the turns begun at a time, else the one going on then."""
    day, time_ = said[:-6], said[-5:]
    found = [one for one in turns if one.at.endswith(said)]
    going = [one for one in turns if one.at.startswith(day) and one.at[11:] <= time_]
    found = found or [one for one in going if one.at[:10] == going[0].at[:10]][-1:]
    for one in found:
        ended = str(record.meta.get("until") or one.at[:11] + "23:59")[:16]
        if time_ > "23:59" or one.at[:11] + time_ > max(one.at, ended):
            return []
    return found


def excerpt(
    store: Store, record: Record, env: Dict[str, str], turns: Sequence[Turn] = (), number: int = 0
) -> List[Utterance]:
    """Return the transcript's entries behind a checkpoint or a turn.

    Oldest first, secrets redacted, subagents' entries among the others. The stretch begins after
    the session's checkpoint before and ends at this checkpoint's `until` (without one, when it was
    written); a conversation's is the whole session. turns, number: the conversation's turns and the
    wanted turn. Raises StoreError where there is no transcript.
    """
    session = layout.safe_id(record.meta.get("session"))
    if record.kind not in DATED or not session:
        raise StoreError(
            "%s is neither a session's checkpoint nor a conversation; `dayleaf show "
            "%s` prints all there is" % (record.id, record.id)
        )
    path = transcript_of(store.place, session, env)
    if not path:
        raise StoreError(
            "the transcript of session %s is gone (Claude Code keeps them for some weeks); "
            "`dayleaf show %s%s` prints what the %s kept"
            % (session, record.id, "#%d" % number if number else "", record.kind)
        )
    if number:
        asked = [_instant(entry.at) for entry in transcript.read(path) if entry.kind in ASKED]
        start, end = _turn_start(turns, number, asked), _turn_start(turns, number + 1, asked)
    else:
        start, end = _stretch(store, record, session)
    found = [
        entry
        for source in (path, *transcript.agents(path, env))
        for entry in transcript.read(source)
        if start <= _instant(entry.at) < end
    ]
    said = [
        Utterance(entry.at, SAID_BY.get(entry.kind, "host"), _text(entry))
        for entry in sorted(found, key=lambda one: one.at)
    ]
    texts = redactor.clean([one.text for one in said], store.config, store.place.key)
    return [one._replace(text=text) for one, text in zip(said, texts) if text.strip()]


def transcript_of(place: layout.Place, session: str, env: Dict[str, str]) -> str:
    """Return the path of a session's transcript, or "".

    Found by the session's id, else by the session's receipts.
    """
    return whereabouts.find(env, session) or transcript.trusted(
        progress.transcript_of(place.receipts(session)), env
    )


def _turn_start(turns: Sequence[Turn], number: int, asked: Sequence[str]) -> str:
    """Return the instant of the request that begins a turn."""
    if number > len(turns):
        return "~"
    minute = turns[number - 1].at
    then = [instant for instant in asked if instant[:16] == minute]
    place = sum(one.at == minute for one in turns[: number - 1])
    return then[place] if place < len(then) else minute


def _of_session(store: Store, session: str) -> Iterable[Record]:
    return (
        record for record in store.each(("checkpoint",)) if record.meta.get("session") == session
    )


def _stretch(store: Store, record: Record, session: str) -> Tuple[str, str]:
    """Return what comes just after the checkpoint before, and just after the record's own end."""
    end, start = _stretch_end(record), ""
    if record.kind == "checkpoint":
        before = map(_stretch_end, _of_session(store, session))
        start = max((other for other in before if other < end), default="")
    if start:
        start += "~"
    return start, end + "~"


def _stretch_end(record: Record) -> str:
    """Return the end of a checkpoint's stretch as sortable text."""
    until = record.meta.get("until")
    return _instant(until if isinstance(until, str) else clock.iso(record.created))


def _instant(said: str) -> str:
    """Return an instant as text that sorts."""
    return said[:19] + (said[19:] if said[19:20] == "." else ".000Z")


def _text(entry: Entry) -> str:
    if entry.kind == COMPACT:
        return "(the context was compacted here)"
    if entry.kind == USE:
        return "%s %s" % (entry.name, _tool_input(entry.data))
    return ("! " if entry.kind == BANG else "") + entries.clean(entry.text[:LIMIT])


def _tool_input(given: Any) -> str:
    """Return a tool's main input, else all inputs by name."""
    for key in CALLS:
        if isinstance(given.get(key), str) and given[key].strip():
            return str(given[key][:LIMIT])
    return ", ".join("%s=%s" % (key, str(value)[:200]) for key, value in given.items())
