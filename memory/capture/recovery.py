"""Recovery: the capture of sessions that ended without one.

A session whose start a hook saw has a receipt, and its transcript is found by name in any folder of
the host's; other sessions are found in the folders of this project.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from memory.capture import leftout, progress
from memory.core import boundary, clock, config, files, layout
from memory.session import transcript, whereabouts
from memory.session.whereabouts import TranscriptEnds, TranscriptFolders

QUIET = 30.0  # seconds without a change after which a session counts as dead
KEEP = 40 * clock.DAY  # the host deletes transcripts after 30 days
# a session that was open when dayleaf was set up counts too
GRACE = clock.DAY


# of a transcript: what is wrong, and the remedy
DAMAGED = (
    "it cannot be read whole",
    "put a copy of it from a backup there, then `dayleaf store import transcripts`",
)


class UncapturedSessions(NamedTuple):
    """The sessions that were not captured.

    sessions: (session, path of its transcript) to be captured.
    before: sessions that ended before dayleaf was set up, for an import.
    gone: sessions that started here, without a transcript.
    """

    sessions: list[tuple[str, str]]
    before: list[str]
    gone: list[str]


def recover(
    place: layout.Place, settings: config.Config, env: dict[str, str], now: float, current: str
) -> int:
    """Capture and close interrupted sessions; return the number of checkpoints.

    Interrupted: not `current`, at rest for 30 seconds, not captured whole.
    """
    if not settings["capture.enabled"]:
        return 0
    _prune_states(place, now)
    found = find_uncaptured(place, env, now, current)
    if not found.sessions:
        return 0
    from memory.capture.stretches import capture

    names = [
        capture(place, settings, env, now, session, path, "recovery")
        for session, path in found.sessions
    ]
    for _, path in found.sessions:
        ends = _read_ends(path)
        if ends and ends.damaged:  # once: it is captured now
            boundary.log_failure(env, "transcript", OSError(errno.EIO, DAMAGED[0], path))
    return len([*filter(None, names)])


def _is_interrupted(place: layout.Place, session: str, path: str, now: float) -> bool:
    if _is_captured(place, session, path):
        return False
    ends = _read_ends(path)
    return ends is not None and ends.rests(now, QUIET) and now - ends.last < KEEP


def find_uncaptured(
    place: layout.Place, env: dict[str, str], now: float, current: str
) -> UncapturedSessions:
    """Return the sessions that were not captured; see `recover`."""
    folders = TranscriptFolders(env)
    found, started = UncapturedSessions([], [], []), set(_list_started(place))
    for session in sorted(started):
        path = folders.find(session) or progress.find_told_transcript(place, session, env)
        if path:
            if session != current and _is_interrupted(place, session, path, now):
                found.sessions.append((session, path))
        elif not progress.read_head(place.cache + "/sessions/" + session + ".json"):
            found.gone.append(session)
    since = _read_first_receipt_time(place, now) - GRACE
    for session, path, ends in _find_unseen(place, env, folders, {*started, current}):
        if not ends.rests(now, QUIET):
            continue
        if ends.last < since:
            found.before.append(session)
        elif now - ends.last < KEEP:
            found.sessions.append((session, path))
    return found


def find_damaged(place: layout.Place, env: dict[str, str]) -> list[str]:
    """Return the transcripts of this project that cannot be read whole."""
    listed = TranscriptFolders(env).list_in(_list_folder_prefixes(place, env, []))
    ends = ((path, _read_ends(transcript.validate_listed_path(path))) for _, path in listed)
    return [path for path, found in ends if found is None or found.damaged]


def _read_ends(path: str) -> TranscriptEnds | None:
    try:
        return whereabouts.read_ends(path)
    except OSError:
        return None


def capture_running(
    place: layout.Place, settings: config.Config, env: dict[str, str], now: float
) -> None:
    """Capture the sessions that started here, and close their checkpoints."""
    if not settings["capture.enabled"]:
        return
    from memory.capture.stretches import capture

    folders = TranscriptFolders(env)
    for session in _list_started(place):
        path = folders.find(session)
        if path and not _is_captured(place, session, path):
            capture(place, settings, env, now, session, path, "manual")


def _list_started(place: layout.Place) -> list[str]:
    names = whereabouts.list_stems(place.receipts_folder, ".jsonl")
    return [*filter(None, map(layout.valid_id, names))]


def _is_other_project(place: layout.Place, key: str) -> bool:
    return key not in ("", place.key) and files.is_folder(place.home + "/workspaces/" + key)


def _find_uncaptured_path(place: layout.Place, session: str, listed: str) -> str:
    path = transcript.validate_listed_path(listed)
    if not path or layout.valid_id(session) != session or _is_captured(place, session, path):
        return ""
    return path


def _list_folder_prefixes(place: layout.Place, env: dict[str, str], past: list[str]) -> set[str]:
    """Return how the host names the folders of this project's sessions."""
    paths = (
        place.root,
        place.project,
        place.anchor,
        # as the user's shell names it, through a link
        *filter(None, map(env.get, ("CLAUDE_PROJECT_DIR", "PWD"))),
        *past,
        *whereabouts.list_worktrees(place.git),
    )
    return {whereabouts.make_folder_prefix(path) for path in paths if path.strip("/")}


def _find_unseen(
    place: layout.Place, env: dict[str, str], folders: TranscriptFolders, known: set[str]
) -> Iterator[tuple[str, str, TranscriptEnds]]:
    """Yield (session, path, ends) of uncaptured transcripts, but for `known` sessions."""
    past_folders = [path for path in layout.list_known_paths(place) if not files.exists(path)]
    rows = layout.read_place_rows(place.home)
    keys: dict[str, str] = {}
    for session, listed in folders.list_in(_list_folder_prefixes(place, env, past_folders)):
        path = "" if session in known else _find_uncaptured_path(place, session, listed)
        ends = _read_ends(path)
        if ends is None or not ends.directory:
            continue
        owner = layout.find_workspace_at(rows, place.anchor, clock.iso(ends.began or ends.last))
        if _is_other_project(place, owner):
            continue  # the directory was another project's then
        moved = (ends.directory + "/").startswith(tuple(folder + "/" for folder in past_folders))
        if moved or _find_workspace(ends, env, keys) == place.key:
            yield session, path, ends


def _find_workspace(ends: TranscriptEnds, env: dict[str, str], keys: dict[str, str]) -> str:
    if ends.directory not in keys:
        keys[ends.directory] = layout.locate(env, ends.directory).key
    return keys[ends.directory]


def _is_captured(place: layout.Place, session: str, path: str) -> bool:
    """Tell whether a transcript is captured to its end, paused or unreadable."""
    if leftout.load(place, session).open:
        return True
    try:
        size, read = os.stat(path).st_size, progress.read_captured_size(place, session)
        return read == size or (0 <= read < size and whereabouts.is_torn(path, read))
    except OSError:
        return True


def _read_first_receipt_time(place: layout.Place, now: float) -> float:
    receipts = place.home + "/log/receipts/"
    first = now
    for key in files.list_visible(receipts):
        for name in files.list_visible(receipts + key):
            with suppress(OSError):
                first = min(first, os.stat("%s%s/%s" % (receipts, key, name)).st_mtime)
    return first


def _prune_states(place: layout.Place, now: float) -> None:
    folder = place.cache + "/sessions/"
    for name in files.list_visible(folder):
        with suppress(OSError):
            if now - os.stat(folder + name).st_mtime > KEEP:
                files.remove(folder + name)
