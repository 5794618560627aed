"""Which sessions ended before they were written down, and their capture.

What the receipts say is compared with what the host has: a session that started here is found by
its name in whatever folder its transcript stands by now, and one whose start no hook saw in the
folders of this project.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from memory.capture import leftout, progress
from memory.core import clock, config, files, layout
from memory.session import transcript, whereabouts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.session.whereabouts import Ends

    OnChange = Callable[[str], None] | None

QUIET = 30.0  # seconds a transcript must rest before recovery takes its session for dead
KEEP = 40 * clock.DAY  # the host deletes transcripts after 30 days; their state is of no use then
# a session that was open when dayleaf was set up, a day before its first start, counts too
GRACE = clock.DAY


class Lost(NamedTuple):
    """The sessions on the host without a capture.

    sessions: [session, path of its transcript] to be captured.
    before: sessions that ended before dayleaf was there, for an import.
    gone: sessions that started here and whose transcript is nowhere.
    """

    sessions: list[tuple[str, str]]
    before: list[str]
    gone: list[str]


def recover(
    place: layout.Place,
    settings: config.Config,
    env: dict[str, str],
    now: float,
    current: str,
) -> int:
    """Capture and close interrupted sessions; return the number of checkpoints.

    A session counts where it is not `current`, and its transcript rests for 30 seconds and holds
    more than was read, or what was read is not written.
    """
    if not settings["capture.enabled"]:
        return 0
    _prune(place, now)
    found = lost(place, env, now, current)
    if not found.sessions:
        return 0
    from memory.capture.stretches import capture

    return sum(
        bool(capture(place, settings, env, now, session, path, "recovery"))
        for session, path in found.sessions
    )


def _is_interrupted(place: layout.Place, session: str, path: str, now: float) -> bool:
    if _is_told(place, session, path):
        return False
    seen = _ends(path)
    return seen is not None and seen.rests(now, QUIET) and now - seen.last < KEEP


def _transcript_of(
    place: layout.Place, session: str, folders: whereabouts.Folders, env: dict[str, str]
) -> str:
    return folders.find(session) or transcript.trusted(
        progress.transcript_of(place.receipts(session)), env
    )


def lost(place: layout.Place, env: dict[str, str], now: float, current: str) -> Lost:
    """Return the interrupted sessions without a capture; see `recover`."""
    folders = whereabouts.Folders(env)
    found, here = Lost([], [], []), set(_started(place))
    for session in sorted(here):
        path = _transcript_of(place, session, folders, env)
        if path:
            if session != current and _is_interrupted(place, session, path, now):
                found.sessions.append((session, path))
        elif not progress.head(place.cache + "/sessions/" + session + ".json"):
            found.gone.append(session)
    since = min(_since(place, now), now) - GRACE
    for session, path, seen in _unseen(place, env, folders, {*here, current}):
        if not seen.rests(now, QUIET):
            continue
        if seen.last < since:
            found.before.append(session)
        elif now - seen.last < KEEP:
            found.sessions.append((session, path))
    return found


def _ends(path: str) -> Ends | None:
    """Return the ends of a transcript, None where unreadable."""
    try:
        return whereabouts.ends(path)
    except OSError:
        return None


def capture_open(
    place: layout.Place, settings: config.Config, env: dict[str, str], now: float
) -> int:
    """Capture and close sessions that go on; return the number of checkpoints.

    What they said so far is read then, and no later capture comes back to it.
    """
    if not settings["capture.enabled"]:
        return 0
    from memory.capture.stretches import capture

    folders, made = whereabouts.Folders(env), 0
    for session in _started(place):
        path = folders.find(session)
        if path and not _is_told(place, session, path):
            made += bool(capture(place, settings, env, now, session, path, "manual"))
    return made


def _started(place: layout.Place) -> list[str]:
    """Return the sessions whose start a hook saw."""
    found = [
        layout.safe_id(name[: -len(".jsonl")])
        for name in files.visible_names(place.receipts_folder)
        if name.endswith(".jsonl")
    ]
    return [session for session in found if session]


def _is_other_project(place: layout.Place, key: str) -> bool:
    return key not in ("", place.key) and files.is_folder(place.home + "/workspaces/" + key)


def _uncaptured_transcript(place: layout.Place, session: str, listed: str) -> str:
    """Return the path of an uncaptured transcript, or ""."""
    path = transcript.own_transcript(listed)
    if not path or layout.safe_id(session) != session or _is_told(place, session, path):
        return ""
    return path


def _nearby_folders(place: layout.Place, env: dict[str, str], past: list[str]) -> set[str]:
    """Return the client's folders of this project's directories."""
    return {
        whereabouts.folder(path)
        for path in (
            place.root,
            place.project,
            place.anchor,
            # as the user's shell names it, through a link
            *filter(None, map(env.get, ("CLAUDE_PROJECT_DIR", "PWD"))),
            *past,
            *whereabouts.worktrees(place.git),
        )
        if path.strip("/")
    }


def _unseen(
    place: layout.Place, env: dict[str, str], folders: whereabouts.Folders, known: set[str]
) -> Iterator[tuple[str, str, Ends]]:
    """Yield (session, path, ends) of this workspace's uncaptured transcripts.

    known: the sessions to leave out.
    """
    past = [path for path in layout.paths_of(place) if not files.exists(path)]
    rows = layout.place_rows(place.home)
    keys: dict[str, str] = {}
    for session, listed in folders.below(_nearby_folders(place, env, past)):
        path = "" if session in known else _uncaptured_transcript(place, session, listed)
        seen = _ends(path)
        if seen is None or not seen.directory:
            continue
        owner = layout.owner_at(rows, place.anchor, clock.iso(seen.began or seen.last))
        if _is_other_project(place, owner):
            continue  # it was said in another project, whose directory this was then
        moved = (seen.directory + "/").startswith(tuple(one + "/" for one in past))
        if moved or _key_of(seen, env, keys) == place.key:
            yield session, path, seen


def _key_of(seen: Ends, env: dict[str, str], keys: dict[str, str]) -> str:
    """Return the workspace of a transcript."""
    if seen.directory not in keys:
        keys[seen.directory] = layout.locate(env, seen.directory).key
    return keys[seen.directory]


def _is_told(place: layout.Place, session: str, path: str) -> bool:
    """Tell whether a transcript is captured up to its last readable line.

    Or to be left out from there on.
    """
    if leftout.load(place, session).open:
        return True
    try:
        size, read = os.stat(path).st_size, progress.captured_size(place, session)
        return read == size or 0 <= read < size and whereabouts.is_torn(path, read)
    except OSError:
        return True


def _since(place: layout.Place, now: float) -> float:
    """Return the instant of dayleaf's first receipt, at most `now`."""
    receipts = place.home + "/log/receipts/"
    return min(
        (
            _changed(receipts + key + "/" + name, now)
            for key in files.visible_names(receipts)
            for name in files.visible_names(receipts + key)
        ),
        default=now,
    )


def _changed(path: str, now: float) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return now


def _prune(place: layout.Place, now: float) -> None:
    """Delete the old states of sessions."""
    folder = place.cache + "/sessions/"
    for name in files.visible_names(folder):
        try:
            if now - os.stat(folder + name).st_mtime > KEEP:
                files.remove(folder + name)
        except OSError:
            continue
