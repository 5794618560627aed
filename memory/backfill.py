"""Checkpoints of sessions that ended before dayleaf was there, from the transcripts that the host still has.

Each session goes through the capture of the hooks, in order of time: a checkpoint for each stretch up to a compaction, under
the name and with the time that a live capture would have given.  What a session's state or its checkpoints tell already is
not told again, so a run that was killed goes on where it was.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Callable, NamedTuple

from memory import adoption, clock, config, files, paths, recovery, transcript
from memory.capture import Capture, names
from memory.errors import DayleafError
from memory.sources import Skip

EDGE = 1 << 18  # bytes at a transcript's start and end that are searched for its directory and times
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_AT = re.compile(rb'"timestamp"\s*:\s*"([0-9T:.+Z-]{10,32})"')


class Session(NamedTuple):
    """A session of before: its id, transcript and bytes, the directory it was started in, its first and last instant."""

    id: str
    path: str
    size: int
    directory: str
    began: float
    ended: float


class Told(NamedTuple):
    """What became of a session: the names of its new checkpoints, or why it was skipped; neither where it was told before."""

    session: Session
    place: paths.Place | None
    written: tuple[str, ...] = ()
    before: bool = False
    skip: Skip | None = None


def host(env: dict[str, str]) -> str:
    """Return the host's directory: CLAUDE_CONFIG_DIR, else `.claude` in HOME; "" where neither is known."""
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    said = env.get("CLAUDE_CONFIG_DIR", "") or (user + "/.claude" if user else "")
    return files.real(said.replace("\\", "/").rstrip("/")) if said else ""


def sessions(env: dict[str, str]) -> Iterator[Session | Skip]:
    """Yield the sessions whose transcripts the host has, and those that cannot be read; subagents belong to theirs."""
    root = host(env) + "/projects"
    for folder in names(root):
        for name in names(root + "/" + folder):
            if name.endswith(".jsonl") and not name.startswith("agent-"):
                path = transcript.trusted(root + "/" + folder + "/" + name, env)
                yield _session(path) if path else Skip(folder + "/" + name, "not a file of your own", "mend its owner")


def _session(path: str) -> Session | Skip:
    id = paths.safe_id(path.rpartition("/")[2][:-len(".jsonl")])
    try:
        fd = files.open_read(path, follow=False)
        try:
            stat = os.fstat(fd)
            head = files.read_at(fd, EDGE, 0)
            tail = files.read_at(fd, EDGE, max(0, stat.st_size - EDGE))
        finally:
            os.close(fd)
    except OSError as error:
        return Skip(path, (error.strerror or "unreadable").lower(), "mend its permissions")
    first, last = _AT.search(head), list(_AT.finditer(tail))
    began = clock.parse(first[1].decode("ascii")) if first else None
    ended = clock.parse(last[-1][1].decode("ascii")) if last else None
    directory = _directory(head)
    if not id or not directory:
        return Skip(path, "no session in it", "nothing is to be done")
    return Session(id, path, stat.st_size, directory, stat.st_mtime if began is None else began,
                   stat.st_mtime if ended is None else ended)


def _directory(head: bytes) -> str:
    """Return the directory that the first entry names: the one the session was started in."""
    for found in _CWD.finditer(head):
        try:
            said = json.loads(found[1])
        except ValueError:
            continue
        if isinstance(said, str) and said.startswith("/") or str(said)[1:2] == ":":
            return str(said)
    return ""


def chosen(found: list[Session], place: paths.Place | None, env: dict[str, str], since: float) -> list[Session]:
    """Return the sessions to be told, in order of time.

    place: only those of its workspace; None for all.  since: only those that ended at that instant or later.
    """
    keys: dict[str, str] = {}
    for session in found:
        if session.directory not in keys:
            keys[session.directory] = paths.locate(env, session.directory).key if place else ""
    wanted = [s for s in found if s.ended >= since and (place is None or keys[s.directory] == place.key)]
    return sorted(wanted, key=lambda s: (s.began, s.ended, s.id))


def tell(wanted: list[Session], env: dict[str, str], now: float, dry: bool = False,
         done: Callable[[int], None] | None = None) -> Iterator[Told]:
    """Write the checkpoints of sessions, one after the other, and yield what became of each.

    now: seconds since the epoch.  dry: write nothing.  done: told the bytes dealt with.
    """
    places: dict[str, tuple[paths.Place, config.Config]] = {}
    total = 0
    for session in wanted:
        yield _told(session, places, env, now, dry)
        total += session.size
        if done:
            done(total)


def _told(session: Session, places: dict[str, tuple[paths.Place, config.Config]], env: dict[str, str], now: float,
          dry: bool) -> Told:
    if not files.is_folder(session.directory):
        return _skipped(session, None, "its directory %s is gone" % session.directory, "make it again, even empty")
    if session.directory not in places:
        place = paths.locate(env, session.directory)
        place = place if dry else adoption.adopt(place, now)
        places[session.directory] = place, config.load(place.home, place.root, env)
    place, settings = places[session.directory]
    if recovery.told(place, session.id, session.size):
        return Told(session, place, before=True)
    if not settings["capture.enabled"]:
        return _skipped(session, place, "capture is off there", "`dayleaf config set capture.enabled true`")
    try:
        if session.id == env.get("CLAUDE_CODE_SESSION_ID") or now - os.stat(session.path).st_mtime < recovery.QUIET:
            return _skipped(session, place, "the session is running", "its own end writes it down")
        return Told(session, place, () if dry else tuple(write(place, settings, env, now, session)))
    except (OSError, DayleafError) as error:
        return _skipped(session, place, str(error).partition("; ")[0], "import again once that is mended")


def _skipped(session: Session, place: paths.Place | None, reason: str, remedy: str) -> Told:
    return Told(session, place, skip=Skip(session.id, reason, remedy))


def write(place: paths.Place, settings: config.Config, env: dict[str, str], now: float, session: Session) -> list[str]:
    """Write the checkpoints of one session, a stretch each, and return their names; raises OSError, StoreError."""
    written: list[str] = []
    with files.Lock(place.cache + "/sessions/" + session.id + ".lock", wait=True):
        for stop in (*transcript.compactions(session.path), None):
            capture = Capture(place, settings, env, now, session.id, session.path, stop=stop)
            if stop is None or stop.offset > capture.state.spans.get("", [0])[0]:
                written.append(capture.run("recovery"))
    return [name for name in written if name]
