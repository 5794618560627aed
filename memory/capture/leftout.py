"""The parts of transcripts that were written while capture was off, and are never read.

Schema, version 1, of `log/receipts/<workspace>/<session>.left`, one JSON object without any text,
written by the hooks of a session whose project is paused:

    {"v":1, "open": capture was off at the session's latest hook, "first": uuid of the transcript's
     first entry, "spans": {file: [[offset, offset]]} as in the session's state, "ids": 12 hex
     digits of each entry's uuid in them, run together: a fork has the entries too}

The last span of each file goes on to the file's end while `open`.  The file is not derived: without
it a transcript would be read as a dead session's.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from memory.capture import progress
from memory.core import fastjson, files, layout
from memory.hook import receipts
from memory.session import transcript
from memory.session.whereabouts import list_stems, read_size

_END = 1 << 62  # after every offset


@dataclass
class Pauses:
    """The parts of a session's transcripts that capture leaves out."""

    open: bool = False
    first: str = ""
    spans: dict[str, list[list[int]]] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)

    def next_readable(self, key: str, at: int) -> int:
        """Return the first offset from `at` on that no pause covers."""
        for start, end in self._list_spans(key):
            if start <= at < end:
                at = end
        return at

    def next_pause(self, key: str, at: int) -> int:
        """Return the offset at which the next pause begins, from `at` on."""
        return min((start for start, _ in self._list_spans(key) if start >= at), default=_END)

    def follows_pause(self, key: str, at: int) -> bool:
        """Tell whether a pause began before an offset."""
        return any(start <= at for start, _ in self.spans.get(key, ()))

    def _list_spans(self, key: str) -> list[list[int]]:
        spans = self.spans.get(key, [])
        last = [[start, _END] for start, _ in spans[-1:]] if self.open else spans[-1:]
        return [span for span in [*spans[:-1], *last] if span[0] < span[1]]


def load(place: layout.Place, session: str) -> Pauses:
    """Read a session's pauses; where they are unreadable, all is paused."""
    try:
        value = fastjson.parse(files.read(receipts.pauses_path(place.receipts(session)), 16 << 20))
        return Pauses(
            bool(value["open"]),
            str(value["first"]),
            {key: [[int(a), int(b)] for a, b in spans] for key, spans in value["spans"].items()},
            progress.split_ids(value["ids"]),
        )
    except FileNotFoundError:
        return Pauses()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Pauses(True, "", {"": [[0, 0]]})


def list_paused_sessions(place: layout.Place) -> list[str]:
    """Return the sessions that were paused here."""
    return list_stems(place.receipts_folder, ".left")


def begin_pause(
    place: layout.Place, env: dict[str, str], session: str, path: str, starts: bool = False
) -> None:
    """Leave a session's transcript out from here on.

    path: of its transcript, "" while there is none.
    starts: a session starts here; the transcript so far is older.
    Raises OSError.
    """
    pauses = load(place, session)
    if not pauses.open:
        state = None if starts else progress.load("%s/sessions/%s.json" % (place.cache, session))
        read = state.spans if state else {}
        for key, file in _list_transcripts(path, env):
            at = read_size(file) if starts else read.get(key, [0])[0]
            pauses.spans.setdefault(key, []).append([at, at])
        pauses.open = True
    _extend_spans(pauses, path, env, "")
    _save(place, session, pauses)


def end_pause(
    place: layout.Place, env: dict[str, str], session: str, path: str, prompt: str = ""
) -> bool:
    """End a session's pause; tell whether it was paused.

    prompt: the host's id of the first prompt to be read.  Raises OSError.
    """
    pauses = load(place, session)
    if pauses.open:
        _extend_spans(pauses, path, env, prompt)
        _save(place, session, replace(pauses, open=False))
    return pauses.open


def _list_transcripts(path: str, env: dict[str, str]) -> list[tuple[str, str]]:
    """Return (key in `spans`, path) of a session's transcript and its subagents'."""
    agents = transcript.agents(path, env) if path else ()
    return [("", path), *((agent.rpartition("/")[2], agent) for agent in agents)]


def _extend_spans(pauses: Pauses, path: str, env: dict[str, str], prompt: str) -> None:
    """Move the last spans' ends to the files' ends, or to a prompt."""
    for key, file in _list_transcripts(path, env):
        span = pauses.spans.setdefault(key, [[0, 0]])[-1]
        stop = read_size(file)
        if prompt and not key:
            stop = _find_prompt_line(file, span[1], prompt, stop)
        if stop > span[1]:
            reading = transcript.read(file, span[1], stop - span[1])
            pauses.ids |= {progress.shorten_id(entry.uuid) for entry in reading if entry.uuid}
            span[1] = stop
    if not pauses.first and read_size(path):
        reading = transcript.read(path)
        pauses.first = next((entry.uuid for entry in reading if entry.uuid), "")
        reading.close()


def _find_prompt_line(path: str, start: int, prompt: str, end: int) -> int:
    """Return the offset of the line of a prompt, else `end`."""
    if not end:
        return end
    fd = files.open_read(path, follow=False)
    try:
        data = files.read_at(fd, min(end - start, transcript.READ_LIMIT), start)
    finally:
        os.close(fd)
    at = data.find(b'"%s"' % prompt.encode("utf-8", "replace"))
    return end if at < 0 else start + data.rfind(b"\n", 0, at) + 1


def _save(place: layout.Place, session: str, pauses: Pauses) -> None:
    value = {"v": 1, **vars(pauses), "ids": "".join(sorted(pauses.ids))}
    data = (fastjson.dump(value) + "\n").encode("ascii", "replace")
    files.replace(receipts.pauses_path(place.receipts(session)), data)
