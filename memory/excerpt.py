"""The part of a transcript behind a checkpoint: what was asked, said and run in the stretch that it tells of."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple

from memory import capture, cleaning, clock, paths, recovery, transcript
from memory.errors import StoreError
from memory.records import Record
from memory.store import Store
from memory.transcript import BANG, BANGED, COMPACT, RESULT, TEXT, USE, Entry

SAID_BY = {TEXT: "Claude", USE: "Claude", RESULT: "result", BANG: "you", BANGED: "result", COMPACT: "host"}
LIMIT = 64 << 10  # characters of one entry
CALLS = ("command", "file_path", "pattern", "url", "description", "prompt")  # of a tool's input, the first one tells most


class Said(NamedTuple):
    """One entry: its instant as the host wrote it, who (`you`, `Claude`, `result`, `host`), what."""

    at: str
    who: str
    text: str


def excerpt(store: Store, record: Record, env: Dict[str, str]) -> List[Said]:
    """Return what a session's transcript holds of the stretch that a checkpoint tells of, oldest first, without secrets.

    The stretch ends at the checkpoint's `until` (one by hand: when it was written) and begins after the session's checkpoint
    before.  Subagents' entries stand among the others.  Raises StoreError where there is no transcript.
    """
    session = paths.safe_id(record.meta.get("session"))
    if record.kind != "checkpoint" or not session:
        raise StoreError("%s is no checkpoint of a session: `dayleaf show %s` prints all there is" % (record.id, record.id))
    path = transcript_of(store.place, session, env)
    if not path:
        raise StoreError("the transcript of session %s is gone (Claude Code keeps them for some weeks); `dayleaf show %s` "
                         "prints what the checkpoint kept" % (session, record.id))
    end = _end(record)
    start = max((other for other in map(_end, _of_session(store, session)) if other < end), default="")
    found = [entry for source in (path, *transcript.agents(path, env)) for entry in transcript.read(source)
             if start < _instant(entry.at) <= end]
    said = [Said(entry.at, SAID_BY.get(entry.kind, "you"), _text(entry)) for entry in sorted(found, key=lambda one: one.at)]
    texts = cleaning.clean([one.text for one in said], store.config, store.place.key)
    return [one._replace(text=text) for one, text in zip(said, texts) if text.strip()]


def transcript_of(place: paths.Place, session: str, env: Dict[str, str]) -> str:
    """Return the path of a session's transcript: the one that its receipts name, else one of its name; "" where it is gone."""
    named = transcript.trusted(recovery.transcript_of(place.receipts(session)), env)
    if named:
        return named
    for root in transcript.roots(env):
        for folder in capture.names(root):
            path = transcript.trusted("%s/%s/%s.jsonl" % (root, folder, session), env)
            if path:
                return path
    return ""


def _of_session(store: Store, session: str) -> Iterable[Record]:
    return (record for record in store.each(("checkpoint",)) if record.meta.get("session") == session)


def _end(record: Record) -> str:
    """Return the instant at which a checkpoint's stretch ends, comparable as text."""
    until = record.meta.get("until")
    return _instant(until if isinstance(until, str) else clock.iso(record.created))


def _instant(said: str) -> str:
    """Return an instant as text that sorts: whole seconds end in `.000Z` as the host writes them."""
    return said[:19] + (said[19:] if said[19:20] == "." else ".000Z")


def _text(entry: Entry) -> str:
    if entry.kind == COMPACT:
        return "(the context was compacted here)"
    if entry.kind == USE:
        return "%s %s" % (entry.name, _input(entry.data))
    return ("! " if entry.kind == BANG else "") + transcript.clean(entry.text[:LIMIT])


def _input(given: Any) -> str:
    """Return what tells most of a tool's input, else all of it by name."""
    for key in CALLS:
        if isinstance(given.get(key), str) and given[key].strip():
            return str(given[key][:LIMIT])
    return ", ".join("%s=%s" % (key, str(value)[:200]) for key, value in given.items())
