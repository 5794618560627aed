"""Checkpoints of sessions that ended before dayleaf was there, from the transcripts that the host
still has.

Each session goes through the capture of the hooks, the newest first: a checkpoint for each stretch
up to a compaction or to work on another branch, under the name and with the time that a live
capture would have given.  What a session's state or its checkpoints tell already is not told again,
so a run that was killed goes on where it was.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Callable, NamedTuple

from memory.capture import progress, recovery
from memory.capture.checkpointpage import is_worth_checkpoint
from memory.capture.stretches import Capture
from memory.core import DayleafError, config, files, layout
from memory.project import adoption
from memory.project.otherfiles import Skip
from memory.session import transcript, whereabouts
from memory.session.transcript import Stop

RECORD = 0.006  # seconds that a record takes to be written and indexed; bench/README.md
PACE = 6e6  # bytes of transcripts that are imported in a second; bench/README.md
_BRANCH = re.compile(rb'"gitBranch"\s*:\s*"([\x21-\x7e]+?)"')
NO_DIRECTORY = "no directory is known of it"  # why a session is passed over


class Session(NamedTuple):
    """A session from before dayleaf; began, ended: its first and last instant."""

    id: str
    path: str
    size: int
    directory: str
    began: float
    ended: float
    source: transcript.Source = transcript


class Plan(NamedTuple):
    """The expected checkpoints and conversations of a session's import."""

    checkpoints: int = 0
    conversations: int = 0


class ImportedSession(NamedTuple):
    """The result of a session's import.

    written: names of records.  before: it was captured already.  old: it was captured, and went on
    since.  plan: of a dry run.  gone: its directory no longer exists.
    """

    session: Session
    place: layout.Place | None
    written: tuple[str, ...] = ()
    before: bool = False
    old: bool = False
    plan: Plan = Plan()
    skip: Skip | None = None
    gone: bool = False


class Workspace:
    """A workspace that receives sessions, and the entries that a dry run has read."""

    def __init__(self, place: layout.Place, settings: config.Config):
        self.place, self.settings, self.heads = place, settings, progress.Heads(place)
        self.read: dict[str, set[str]] = {}


def sessions(env: dict[str, str]) -> Iterator[Session | Skip]:
    """Yield the sessions of the host, and unreadable ones as Skip.

    Links are followed to files of this user, once each.
    """
    root, seen = transcript.host(env) + "/projects", set()
    for folder in files.visible_names(root):
        at = root + "/" + folder
        if files.is_link(at) and not transcript.is_own_folder(at):
            yield Skip(folder, "a link, and not to a folder of your own", "mend or remove the link")
            continue
        for name in files.visible_names(at):
            if name.endswith(".jsonl") and not name.startswith("agent-"):
                path = transcript.own_transcript(at + "/" + name)
                if not path:
                    yield Skip(folder + "/" + name, "not a file of your own", "mend its owner")
                elif path not in seen:
                    seen.add(path)
                    yield _session(path, name[: -len(".jsonl")])


def _session(path: str, name: str) -> Session | Skip:
    id = layout.safe_id(name)
    try:
        seen = whereabouts.ends(path)
    except OSError as error:
        return Skip(path, (error.strerror or "unreadable").lower(), "mend its permissions")
    if not id or not seen.directory:
        return Skip(path, "no session in it", "nothing to do")
    began = seen.changed / 1e9 if seen.began is None else seen.began
    return Session(id, path, seen.size, seen.directory, began, seen.last)


def chosen(
    found: list[Session], place: layout.Place | None, env: dict[str, str], since: float
) -> list[Session]:
    """Return the sessions to import, the newest first, forks and copies after their originals.

    place: only sessions of its workspace; None for all.  since: only sessions that ended then or
    later.
    """
    found = [session for session in found if session.ended >= since]
    keys: dict[str, str] = {}
    for session in found if place else []:
        if not keys.get(session.directory):
            home = place_of(session, env)
            keys[session.directory] = home.key if home else ""
    wanted = [s for s in found if place is None or keys[s.directory] == place.key]
    wanted.sort(key=lambda s: (s.began, s.ended, s.id != progress.identity(s.id), s.id))
    groups = sorted(families(wanted), key=lambda group: -max(s.ended for s in group))
    return [session for group in groups for session in group]


def place_of(session: Session, env: dict[str, str]) -> layout.Place | None:
    """Return a session's place, None where its directory is gone and unknown.

    A removed worktree is of the repository that it lay in, was seen with, or lay beside: the only
    one there with the session's branch.
    """
    directory = session.directory
    place = layout.locate(env, directory)
    if not files.is_folder(directory):
        inside = place.git and "worktrees/" in directory[len(place.root) :]
        if not inside and (place.git or not files.is_folder(place.private)):
            place = layout.locate(env, _checkout_beside(session) or directory)
            if not place.git or directory.startswith(place.root + "/"):
                return None
        place.root = directory
    return place


def _checkout_beside(session: Session) -> str:
    """Return the only checkout beside a session's directory with its branch, or ""."""
    try:
        found = _BRANCH.search(files.read(session.path, whereabouts.EDGE))
    except OSError:
        found = None
    branch = layout.ref_of("ref: refs/heads/" + found[1].decode()) if found else ""
    around = session.directory.rpartition("/")[0]
    if branch[len("refs/heads/") :] in layout.TRUNKS:
        return ""
    beside = [
        around + "/" + name
        for name in files.visible_names(around)
        if _has_branch(around + "/" + name + "/.git", branch)
    ]
    return beside[0] if len(beside) == 1 else ""


def _has_branch(git: str, branch: str) -> bool:
    if files.exists(git + "/" + branch):
        return True
    try:
        packed = files.read(git + "/packed-refs", 1 << 24)
    except OSError:
        return False
    return (" %s\n" % branch).encode() in packed


def families(wanted: list[Session]) -> list[list[Session]]:
    """Return groups of sessions that may share history, in their order."""
    of: dict[str, list[Session]] = {}
    groups: list[list[Session]] = []
    for session in wanted:
        kin = _kin(session)
        known = [of[key] for key in kin if key in of]
        group = known[0] if known else []
        if not known:
            groups.append(group)
        group.append(session)
        of.update(dict.fromkeys(kin, group))
    return groups


def _kin(session: Session) -> tuple[str, str]:
    """Return what a session shares with its forks and copies."""
    try:
        first = _first(session)
    except OSError:
        first = session.path
    return progress.identity(session.id), "first " + first


def untold(wanted: list[Session], env: dict[str, str], now: float) -> list[ImportedSession]:
    """Return what an import would do with sessions, without reading any."""
    spaces: dict[str, Workspace] = {}
    return [
        _passed_over(session, spaces, env, now, dry=True)
        or ImportedSession(session, spaces[session.directory].place)
        for session in wanted
    ]


def import_sessions(
    wanted: list[Session],
    env: dict[str, str],
    now: float,
    dry: bool = False,
    done: Callable[[int, int], None] | None = None,
) -> Iterator[ImportedSession]:
    """Write the checkpoints of sessions; yield the result of each.

    dry: write nothing.  done: called with the bytes dealt with, and the bytes read of these.
    """
    places: dict[str, Workspace] = {}
    total = read = 0
    for session in wanted:
        told = _import_session(session, places, env, now, dry)
        yield told
        total += session.size
        read += 0 if told.before or told.skip else session.size
        if done:
            done(total, read)


def _import_session(
    session: Session, places: dict[str, Workspace], env: dict[str, str], now: float, dry: bool
) -> ImportedSession:
    passed = _passed_over(session, places, env, now, dry)
    if passed:
        return passed
    space = places[session.directory]
    try:
        return (rehearse if dry else write)(space, env, now, session)
    except (OSError, DayleafError) as error:
        return _skipped(
            session, space.place, str(error).partition("; ")[0], "mend that, then import again"
        )


def _workspace_at(
    place: layout.Place, places: dict[str, Workspace], env: dict[str, str]
) -> Workspace:
    return next(
        (w for w in places.values() if w.place.key == place.key and w.place.root == place.root),
        Workspace(place, config.for_place(place, env)),
    )


def _passed_over(
    session: Session, places: dict[str, Workspace], env: dict[str, str], now: float, dry: bool
) -> ImportedSession | None:
    if session.directory not in places:
        found = place_of(session, env)
        if found is None:
            return _skipped(
                session, None, "its directory is gone", "make it again, even empty"
            )._replace(gone=True)
        found = found if dry else adoption.adopt(found, now)
        places[session.directory] = _workspace_at(found, places, env)
    space = places[session.directory]
    place = space.place
    if progress.captured_size(place, session.id) == session.size:
        return ImportedSession(session, place, before=True)
    if not space.settings["capture.enabled"]:
        own = space.settings.sources["capture.enabled"] in (config.WORKSPACE, "capture.projects")
        remedy = (
            "`dayleaf push on mine` in it"
            if own
            else "`dayleaf config get capture.enabled` there says by what"
        )
        return _skipped(session, place, "capture is off there", remedy)
    try:
        fresh = now - min(session.ended, os.stat(session.path).st_mtime) < recovery.QUIET
    except OSError as error:
        return _skipped(
            session, place, str(error).partition("; ")[0], "mend that, then import again"
        )
    if session.id == env.get("CLAUDE_CODE_SESSION_ID") or fresh:
        return _skipped(session, place, "the session is running", "it is captured when it ends")
    return None


def _skipped(
    session: Session, place: layout.Place | None, reason: str, remedy: str
) -> ImportedSession:
    return ImportedSession(session, place, skip=Skip(session.id, reason, remedy))


def write(space: Workspace, env: dict[str, str], now: float, session: Session) -> ImportedSession:
    """Write the checkpoints of a session, one for each stretch.  Raises OSError, StoreError."""
    place, known = space.place, False
    written: dict[str, None] = {}
    with files.Lock(place.cache + "/sessions/" + session.id + ".lock", wait=True):
        for number, stop in enumerate((*_seams(session), None)):
            capture = Capture(
                place,
                space.settings,
                env,
                now,
                session.id,
                session.path,
                written.setdefault,
                stop,
                ended=True,
                imported=True,
                source=session.source,
                heads=space.heads,
            )
            known = known or bool(capture.state.since or (not number and capture.state.spans))
            if stop is None or stop.offset >= capture.state.spans.get("", [0])[0]:
                capture.run("recovery")
    return ImportedSession(
        session, place, tuple(written), before=known and not written, old=known and bool(written)
    )


def _seams(session: Session) -> list[Stop]:
    stops = session.source.compactions(session.path)
    return (
        sorted([*stops, *progress.switches(session.path)])
        if session.source is transcript
        else stops
    )


def _count_checkpoints(capture: Capture, session: Session) -> tuple[int, bool]:
    """Return (checkpoints that a capture would write, whether anything is worth one)."""
    checkpoints, any_worth = 0, False
    done = capture.state.spans.get("", [0])[0]
    for stop in (*(stop for stop in _seams(session) if stop.offset > done), None):
        capture.stop = stop
        capture.read()
        worth = is_worth_checkpoint(capture.state.facts)
        any_worth = any_worth or worth
        if capture.ends():
            checkpoints += worth
            capture.close()
    return checkpoints, any_worth


def rehearse(
    space: Workspace, env: dict[str, str], now: float, session: Session
) -> ImportedSession:
    """Return the result of `write` without writing; raises OSError."""
    capture = Capture(
        space.place,
        space.settings,
        env,
        now,
        session.id,
        session.path,
        ended=True,
        source=session.source,
    )
    fresh = not capture.state.spans
    known = bool(capture.state.since) or not fresh
    kin = {progress.identity(session.id), "first " + _first(session)}
    capture.foreign.update(*(space.read.get(key, ()) for key in kin))
    checkpoints, worth = _count_checkpoints(capture, session)
    spoken = worth and bool(space.settings["capture.conversations"])
    for key in kin:
        space.read.setdefault(key, set()).update(capture.state.seen)
    nothing = not (checkpoints or spoken)
    return ImportedSession(
        session,
        space.place,
        before=known and nothing,
        old=known and not nothing,
        plan=Plan(checkpoints, int(spoken and fresh)),
    )


def _first(session: Session) -> str:
    reading = session.source.read(session.path, 0, ended=True)
    first = next(iter(reading), None)
    reading.close()
    return first.uuid if first else session.path
