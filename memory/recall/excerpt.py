"""Read the part of a transcript behind a checkpoint or a turn of a conversation: what was asked,
said and run there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence

from memory.capture import progress
from memory.core import StoreError, UsageError, clock, layout, plaintext
from memory.core.layout import DATED
from memory.core.records import Record
from memory.recall import lookup
from memory.recall.hit import Turn
from memory.session import transcript, whereabouts
from memory.session.transcript import BANG, BANGED, COMPACT, PROMPT, RESULT, SLASH, TEXT, USE, Entry
from memory.store import conversations, redactor
from memory.store.store import Store

ASKED = (PROMPT, SLASH, BANG)  # what begins a turn
SAID_BY = {
    TEXT: "Claude",
    USE: "Claude",
    RESULT: "result",
    BANG: "you",
    BANGED: "result",
    COMPACT: "host",
}
LIMIT = 64 << 10  # characters of one entry
# of a tool's input, the first one tells most
CALLS = ("command", "file_path", "pattern", "url", "description", "prompt")


class Said(NamedTuple):
    """One entry: its instant as the host wrote it, who (`you`, `Claude`, `result`, `host`),
    what.
    """

    at: str
    who: str
    text: str


def conversation(store: Store, record: Record) -> Optional[Record]:
    """Return the conversation of a checkpoint's session, or the one given; None where none is kept,
    or is no longer.
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


def turn(record: Record, turns: Sequence[Turn], said: str) -> Turn:
    """Return the turn of a conversation that a number or a time means: `3`, or `14:03` for what was
    dealt with then.

    record: the conversation, turns: all of it.  said: a time may have its day before it.  Raises
    UsageError where there is none.
    """
    if said.isdigit():
        found = turns[int(said) - 1 : int(said)] if int(said) else turns[:0]
    else:
        day, time_ = said[:-6], said[-5:]
        found = [one for one in turns if one.at.endswith(said)]
        going = [one for one in turns if one.at.startswith(day) and one.at[11:] <= time_]
        found = found or [one for one in going if one.at[:10] == going[0].at[:10]][-1:]
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


def excerpt(
    store: Store, record: Record, env: Dict[str, str], turns: Sequence[Turn] = (), number: int = 0
) -> List[Said]:
    """Return the entries of a transcript that a checkpoint or a turn tells of, oldest first,
    without secrets.

    The stretch ends at the checkpoint's `until` (one by hand: when it was written) and begins after
    the session's checkpoint before; a conversation's is all that it tells of.  turns, number: of
    the conversation, where one turn is wanted.  Subagents' entries stand among the others.  Raises
    StoreError where there is no transcript.
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
        start, end = _opens(turns, number, asked), _opens(turns, number + 1, asked)
    else:
        end = _end(record)
        before = map(_end, _of_session(store, session)) if record.kind == "checkpoint" else ()
        start = max((other for other in before if other < end), default="")
        start, end = start + "~" * bool(start), end + "~"  # after the one, up to and with the other
    found = [
        entry
        for source in (path, *transcript.agents(path, env))
        for entry in transcript.read(source)
        if start <= _instant(entry.at) < end
    ]
    said = [
        Said(entry.at, SAID_BY.get(entry.kind, "you"), _text(entry))
        for entry in sorted(found, key=lambda one: one.at)
    ]
    texts = redactor.clean([one.text for one in said], store.config, store.place.key)
    return [one._replace(text=text) for one, text in zip(said, texts) if text.strip()]


def transcript_of(place: layout.Place, session: str, env: Dict[str, str]) -> str:
    """Return the path of a session's transcript: one of its name, else the one that its receipts
    name; "" where it is gone.
    """
    return whereabouts.find(env, session) or transcript.trusted(
        progress.transcript_of(place.receipts(session)), env
    )


def _opens(turns: Sequence[Turn], number: int, asked: Sequence[str]) -> str:
    """Return the instant at which a turn begins: that of its request, of which the turn itself
    tells only the minute.
    """
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


def _end(record: Record) -> str:
    """Return the instant at which a checkpoint's stretch ends, comparable as text."""
    until = record.meta.get("until")
    return _instant(until if isinstance(until, str) else clock.iso(record.created))


def _instant(said: str) -> str:
    """Return an instant as text that sorts: whole seconds end in `.000Z` as the host writes
    them.
    """
    return said[:19] + (said[19:] if said[19:20] == "." else ".000Z")


def _text(entry: Entry) -> str:
    if entry.kind == COMPACT:
        return "(the context was compacted here)"
    if entry.kind == USE:
        return "%s %s" % (entry.name, _input(entry.data))
    return ("! " if entry.kind == BANG else "") + transcript.clean(entry.text[:LIMIT])


def _input(given: Any) -> str:
    """Return the most telling part of a tool's input, else all of it by name."""
    for key in CALLS:
        if isinstance(given.get(key), str) and given[key].strip():
            return str(given[key][:LIMIT])
    return ", ".join("%s=%s" % (key, str(value)[:200]) for key, value in given.items())
