"""Read the part of a transcript that a checkpoint or a conversation's turn was made of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from memory.capture import progress
from memory.core import StoreError, UsageError, clock, layout, plaintext
from memory.core.layout import DATED_KINDS
from memory.core.records import Record
from memory.hook import fence
from memory.recall import lookup
from memory.recall.hit import Turn
from memory.session import entries, transcript, whereabouts
from memory.session.entries import (
    BANG,
    BANG_OUTPUT,
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

TURN_STARTS = (PROMPT, SLASH, BANG, TEAM)
SAID_BY = {
    **dict.fromkeys((PROMPT, SLASH, BANG, STEER), "you"),
    **dict.fromkeys((TEXT, USE, PLAN), "Claude"),
    **dict.fromkeys((RESULT, BANG_OUTPUT, REPORT), "result"),
}
LIMIT = 64 << 10  # characters of one entry
# keys of a tool's input, the most telling first
INPUT_KEYS = ("command", "file_path", "pattern", "url", "description", "prompt")


class Utterance(NamedTuple):
    """An entry of a transcript.

    at: the instant as the host wrote it. who: `you`, `Claude`, `result` or `host`.
    """

    at: str
    who: str
    text: str


def find_conversation(store: Store, record: Record) -> Record | None:
    """Return the conversation of a record's session (maybe itself), or None."""
    if record.kind == "conversation":
        return record
    session, named = fence.field(record, "session"), fence.field(record, "conversation")
    if record.kind != "checkpoint" or not session:
        return None
    if named:
        with suppress(StoreError):
            return lookup.find_record(store.place, store.config, named)
        return None
    found = conversations.find_by_session(store, session)
    return next((other for other in found if other.kind == "conversation"), None)


def find_turn(record: Record, turns: Sequence[Turn], said: str) -> Turn:
    """Find a conversation's turn by its number or time; raises UsageError.

    said: `3`, or `14:03` (with or without its day) for the turn then under way.
    """
    if said.isdigit():
        found = next((turn for turn in turns if turn.number == int(said)), None)
    else:
        found = _find_turn_at(record, turns, said)
    if found:
        return found
    raise UsageError(
        "conversation %s has %s and no #%s%s"
        % (
            record.id,
            plaintext.format_count(len(turns), "turn"),
            said,
            ": `dayleaf show %s --outline` lists them" % record.id if turns else "",
        )
    )


def _find_turn_at(record: Record, turns: Sequence[Turn], said: str) -> Turn | None:
    """Find the turn begun at a time, else the one under way.

    said: `2026-11-21T14:03`, or `14:03` alone.  None for a time after the end.
    """
    begun = next((turn for turn in turns if turn.at.endswith(said)), None)
    day, minute = said[:-6], said[-5:]  # day: "" where none is said
    before = [turn for turn in turns if turn.at.startswith(day) and turn.at[11:] <= minute]
    if begun or not before or minute > "23:59":
        return begun
    last = [turn for turn in before if turn.at[:10] == before[0].at[:10]][-1]
    ended = str(record.meta.get("until") or last.at[:11] + "23:59")[:16]
    return last if last.at[:11] + minute <= max(last.at, ended) else None


def read_excerpt(
    store: Store, record: Record, env: dict[str, str], turns: Sequence[Turn] = (), number: int = 0
) -> list[Utterance]:
    """Read the part of a transcript that a checkpoint or turn covers.

    Oldest first, secrets redacted, subagents' entries included. The period begins after the
    session's checkpoint before and ends at this checkpoint's `until` (without one, when it was
    written); a conversation's is the whole session, or its turn `number`. Raises StoreError where
    there is no transcript.
    """
    session = layout.valid_id(record.meta.get("session"))
    if record.kind not in DATED_KINDS or not session:
        raise StoreError(
            "%s is neither a session's checkpoint nor a conversation; `dayleaf show "
            "%s` prints all there is" % (record.id, record.id)
        )
    path = find_transcript(store.place, session, env)
    if not path:
        raise StoreError(
            "the transcript of session %s is gone (Claude Code keeps them for some weeks); "
            "`dayleaf show %s%s` prints what the %s kept"
            % (session, record.id, "#%d" % number if number else "", record.kind)
        )
    if number:
        requests = [entry for entry in transcript.read(path) if entry.kind in TURN_STARTS]
        asked = [_to_sort_key(entry.at) for entry in requests]
        start = _find_turn_start(turns, number, asked)
        end = _find_turn_start(turns, number + 1, asked)
    else:
        start, end = _find_period(store, record, session)
    found = [
        entry
        for source in (path, *transcript.agents(path, env))
        for entry in transcript.read(source)
        if start <= _to_sort_key(entry.at) < end
    ]
    said = [
        Utterance(entry.at, SAID_BY.get(entry.kind, "host"), _format_entry(entry))
        for entry in sorted(found, key=lambda entry: entry.at)
    ]
    texts = redactor.clean([each.text for each in said], store.config, store.place.key)
    return [each._replace(text=text) for each, text in zip(said, texts) if text.strip()]


def find_transcript(place: layout.Place, session: str, env: dict[str, str]) -> str:
    """Return the path of a session's transcript, "" if it is gone."""
    path = whereabouts.find_transcript(env, session)
    return path or progress.find_told_transcript(place, session, env)


def _find_turn_start(turns: Sequence[Turn], number: int, asked: Sequence[str]) -> str:
    """Return the instant of a turn's request as sortable text."""
    if number > len(turns):
        return "~"  # after every instant
    minute = turns[number - 1].at
    in_minute = [instant for instant in asked if instant[:16] == minute]
    place = sum(turn.at == minute for turn in turns[: number - 1])
    return in_minute[place] if place < len(in_minute) else minute


def _find_period(store: Store, record: Record, session: str) -> tuple[str, str]:
    """Return (start or "", end) of a record's period as sortable text."""
    end, start = _find_end(record), ""
    if record.kind == "checkpoint":
        own = (each for each in store.each(("checkpoint",)) if each.meta.get("session") == session)
        start = max((other + "~" for other in map(_find_end, own) if other < end), default="")
    return start, end + "~"  # `~`: just after that instant


def _find_end(record: Record) -> str:
    """Return the end of a record's period as sortable text."""
    until = record.meta.get("until")
    return _to_sort_key(until if isinstance(until, str) else clock.iso(record.created))


def _to_sort_key(instant: str) -> str:
    """Return an ISO instant with milliseconds, as sortable text."""
    return instant[:19] + (instant[19:] if instant[19:20] == "." else ".000Z")


def _format_entry(entry: Entry) -> str:
    if entry.kind == COMPACT:
        return "(the context was compacted here)"
    if entry.kind == USE:
        return "%s %s" % (entry.name, _format_tool_input(entry.data))
    return ("! " if entry.kind == BANG else "") + entries.clean(entry.text[:LIMIT])


def _format_tool_input(given: Any) -> str:
    """Format a tool's main input, else all inputs by name."""
    for key in INPUT_KEYS:
        if isinstance(given.get(key), str) and given[key].strip():
            return str(given[key][:LIMIT])
    return ", ".join("%s=%s" % (key, str(value)[:200]) for key, value in given.items())
