"""Imports past sessions from the transcripts that the host still has.

Each session goes through the hooks' own capture, the newest first: a checkpoint for each stretch up
to a compaction or to work on another branch, with the name and time of a live capture.  What a
session's state or checkpoints hold is not written again, so a killed run continues where it was.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Callable, NamedTuple

from memory.capture import progress, recovery
from memory.capture.checkpointpage import is_worth_checkpoint
from memory.capture.stretches import Capture
from memory.core import DayleafError, config, files, layout
from memory.project import adoption
from memory.project.otherfiles import Skip, skip_unreadable
from memory.session import transcript, whereabouts
from memory.session.transcript import StretchEnd

SECONDS_PER_RECORD = 0.006  # seconds that a record takes to be written and indexed; bench/README.md
BYTES_PER_SECOND = 6e6  # bytes of transcripts that are imported in a second; bench/README.md
_BRANCH = re.compile(rb'"gitBranch"\s*:\s*"([\x21-\x7e]+?)"')
NO_DIRECTORY, NO_SESSION = "no directory is known of it", "no session in it"


class Session(NamedTuple):
    """A session from before dayleaf; began, ended: its first and last instant."""

    id: str
    path: str
    size: int
    directory: str
    began: float
    ended: float
    source: transcript.TranscriptReader = transcript


class Plan(NamedTuple):
    """How much a session's import is expected to write."""

    checkpoints: int = 0
    conversations: int = 0


class ImportedSession(NamedTuple):
    """The result of a session's import.

    written: names of records.  before: captured already.  old: captured already, and went on since.
    plan: of a dry run.  gone: its directory no longer exists.
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
    """A workspace that gets imported sessions.

    seen: the entries that a dry run has read, by the keys of `_history_keys`.
    """

    def __init__(self, place: layout.Place, settings: config.Config):
        self.place, self.settings, self.heads = place, settings, progress.RecordHeads(place)
        self.seen: dict[str, set[str]] = {}


def find_sessions(env: dict[str, str]) -> Iterator[Session | Skip]:
    """Yield the sessions of the host, and unreadable ones as Skip.

    Links are followed to files of this user, once each.
    """
    root, seen = transcript.find_host_folder(env) + "/projects", set()
    for folder in files.list_visible(root):
        whole = root + "/" + folder
        if files.is_link(whole) and not transcript.is_own_folder(whole):
            yield Skip(folder, "a link, and not to a folder of your own", "mend or remove the link")
            continue
        for name in files.list_visible(whole):
            if name.endswith(".jsonl") and not name.startswith("agent-"):
                path = transcript.validate_listed_path(whole + "/" + name)
                if not path:
                    yield Skip(folder + "/" + name, "not a file of your own", "mend its owner")
                elif path not in seen:
                    seen.add(path)
                    yield from _read_session(path, name[: -len(".jsonl")])


def _read_session(path: str, name: str) -> Iterator[Session | Skip]:
    id = layout.valid_id(name)
    try:
        ends = whereabouts.read_ends(path)
    except OSError as error:
        yield skip_unreadable(path, error)
        return
    if id and ends.damaged:
        yield Skip(path, *recovery.DAMAGED)
    elif not id or not ends.directory:
        yield Skip(path, NO_SESSION, "nothing to do")
    if id and ends.directory:
        began = ends.changed / 1e9 if ends.began is None else ends.began
        yield Session(id, path, ends.size, ends.directory, began, ends.last)


def select_sessions(
    found: list[Session], place: layout.Place | None, env: dict[str, str], since: float
) -> list[Session]:
    """Return the sessions to import, newest first, originals before their forks.

    place: only sessions of its workspace, None for all.  since: the earliest end.
    """
    found = [session for session in found if session.ended >= since]
    if place:
        keys = _find_workspaces(found, env)
        found = [session for session in found if keys[session.directory] == place.key]
    found.sort(key=lambda s: (s.began, s.ended, s.id != progress.extract_uuid(s.id), s.id))
    groups = sorted(group_related(found), key=lambda group: -max(s.ended for s in group))
    return [session for group in groups for session in group]


def _find_workspaces(sessions: list[Session], env: dict[str, str]) -> dict[str, str]:
    """Return the workspace of each session's directory, "" if unknown."""
    keys: dict[str, str] = {}
    for session in sessions:
        if not keys.get(session.directory):
            place = locate_session(session, env)
            keys[session.directory] = place.key if place else ""
    return keys


def locate_session(session: Session, env: dict[str, str]) -> layout.Place | None:
    """Return a session's place, None where its directory is gone and unknown.

    A removed worktree belongs to the repository around it, or noted with it, or to the only one
    beside it that has the session's branch.
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
    branch = layout.parse_ref("ref: refs/heads/" + found[1].decode()) if found else ""
    around = session.directory.rpartition("/")[0]
    if branch[len("refs/heads/") :] in layout.TRUNKS:
        return ""
    beside = [
        around + "/" + name
        for name in files.list_visible(around)
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


def group_related(wanted: list[Session]) -> list[list[Session]]:
    """Return groups of sessions that may share history, in their order."""
    by_key: dict[str, list[Session]] = {}
    groups: list[list[Session]] = []
    for session in wanted:
        keys = _history_keys(session)
        known = [by_key[key] for key in keys if key in by_key]
        group = known[0] if known else []
        if not known:
            groups.append(group)
        group.append(session)
        by_key.update(dict.fromkeys(keys, group))
    return groups


def _history_keys(session: Session) -> tuple[str, str]:
    """Return two keys that a session shares with its forks and copies."""
    try:
        first = _read_first_uuid(session)
    except OSError:
        first = session.path
    return progress.extract_uuid(session.id), "first " + first


def preview_import(wanted: list[Session], env: dict[str, str], now: float) -> list[ImportedSession]:
    """Return the expected result of each session without reading it."""
    spaces: dict[str, Workspace] = {}
    return [
        _skip_if_unimportable(session, spaces, env, now, dry=True)
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

    done: called with (bytes done, bytes read).
    """
    places: dict[str, Workspace] = {}
    total = read = 0
    for session in wanted:
        result = _import_session(session, places, env, now, dry)
        yield result
        total += session.size
        read += 0 if result.before or result.skip else session.size
        if done:
            done(total, read)


def _import_session(
    session: Session, places: dict[str, Workspace], env: dict[str, str], now: float, dry: bool
) -> ImportedSession:
    skipped = _skip_if_unimportable(session, places, env, now, dry)
    if skipped:
        return skipped
    space = places[session.directory]
    try:
        return (simulate_capture if dry else capture_session)(space, env, now, session)
    except (OSError, DayleafError) as error:
        return _skip_for_error(session, space.place, error)


def _find_workspace(
    place: layout.Place, places: dict[str, Workspace], env: dict[str, str]
) -> Workspace:
    for space in places.values():
        if (space.place.key, space.place.root) == (place.key, place.root):
            return space
    return Workspace(place, config.load_for_place(place, env))


def _skip_if_unimportable(
    session: Session, places: dict[str, Workspace], env: dict[str, str], now: float, dry: bool
) -> ImportedSession | None:
    """Return why a session is not imported, or None; note its workspace."""
    if session.directory not in places:
        found = locate_session(session, env)
        if found is None:
            why = ("its directory is gone", "make it again, even empty")
            return _make_skipped(session, None, *why)._replace(gone=True)
        if (found.due or found.claimed) and not dry:
            found = adoption.adopt(found, now)
        places[session.directory] = _find_workspace(found, places, env)
    space = places[session.directory]
    place = space.place
    if progress.read_captured_size(place, session.id) == session.size:
        return ImportedSession(session, place, before=True)
    if not space.settings["capture.enabled"]:
        remedy = "`dayleaf config get capture.enabled` there says by what"
        if space.settings.sources["capture.enabled"] in (config.WORKSPACE, "capture.projects"):
            remedy = "`dayleaf push on mine` in it"
        return _make_skipped(session, place, "capture is off there", remedy)
    try:
        quiet = now - min(session.ended, os.stat(session.path).st_mtime)
    except OSError as error:
        return _skip_for_error(session, place, error)
    if session.id == env.get("CLAUDE_CODE_SESSION_ID") or quiet < recovery.QUIET:
        why = ("the session is running", "it is captured when it ends")
        return _make_skipped(session, place, *why)
    return None


def _make_skipped(
    session: Session, place: layout.Place | None, reason: str, remedy: str
) -> ImportedSession:
    return ImportedSession(session, place, skip=Skip(session.id, reason, remedy))


def _skip_for_error(session: Session, place: layout.Place, error: Exception) -> ImportedSession:
    reason = str(error).partition("; ")[0]
    return _make_skipped(session, place, reason, "mend that, then import again")


def capture_session(
    space: Workspace, env: dict[str, str], now: float, session: Session
) -> ImportedSession:
    """Write the checkpoints of a session; raises OSError, StoreError."""
    place, known = space.place, False
    open_capture = _prepare_capture(space, env, now, session)
    written: dict[str, None] = {}
    with files.Lock(place.cache + "/sessions/" + session.id + ".lock", wait=True):
        for number, stop in enumerate((*_find_stops(session), None)):
            capture = open_capture(
                on_change=written.setdefault, stop=stop, imported=True, shared_heads=space.heads
            )
            known = known or bool(capture.state.since or (not number and capture.state.spans))
            if stop is None or stop.offset >= capture.state.offset:
                capture.run("recovery")
    return ImportedSession(
        session, place, tuple(written), before=known and not written, old=known and bool(written)
    )


def _prepare_capture(
    space: Workspace, env: dict[str, str], now: float, session: Session
) -> Callable[..., Capture]:
    ids, source = (session.id, session.path), session.source
    return partial(Capture, space.place, space.settings, env, now, *ids, ended=True, source=source)


def _find_stops(session: Session) -> list[StretchEnd]:
    stops = session.source.compactions(session.path)
    if session.source is transcript:
        stops = sorted([*stops, *progress.find_branch_switches(session.path)])
    return stops


def _count_checkpoints(capture: Capture, session: Session) -> tuple[int, bool]:
    """Return (number of checkpoints, whether any work is worth one)."""
    checkpoints, any_worth = 0, False
    done = capture.state.offset
    for stop in (*(stop for stop in _find_stops(session) if stop.offset > done), None):
        capture.stop = stop
        capture.read()
        worth = is_worth_checkpoint(capture.state.facts)
        any_worth = any_worth or worth
        if capture.ends():
            checkpoints += 1 if worth else 0
            capture.close()
    return checkpoints, any_worth


def simulate_capture(
    space: Workspace, env: dict[str, str], now: float, session: Session
) -> ImportedSession:
    """Return what `capture_session` would, without writing; raises OSError."""
    capture = _prepare_capture(space, env, now, session)()
    fresh = not capture.state.spans
    known = bool(capture.state.since) or not fresh
    keys = {progress.extract_uuid(session.id), "first " + _read_first_uuid(session)}
    capture.foreign.update(*(space.seen.get(key, ()) for key in keys))
    checkpoints, worth = _count_checkpoints(capture, session)
    spoken = worth and bool(space.settings["capture.conversations"])
    for key in keys:
        space.seen.setdefault(key, set()).update(capture.state.seen)
    is_new = bool(checkpoints or spoken)
    return ImportedSession(
        session,
        space.place,
        before=known and not is_new,
        old=known and is_new,
        plan=Plan(checkpoints, int(spoken and fresh)),
    )


def _read_first_uuid(session: Session) -> str:
    reading = session.source.read(session.path, 0, ended=True)
    first = next(iter(reading), None)
    reading.close()
    return first.uuid if first else session.path
