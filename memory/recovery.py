"""Sessions that died with work nobody wrote down."""

from __future__ import annotations

import os

from memory import clock, config, files, jsonio, paths, progress, transcript
from memory.capture import capture, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    OnChange = Callable[[str], None] | None

QUIET = 30.0  # seconds a transcript must rest before recovery takes its session for dead
KEEP = 40 * clock.DAY  # the host deletes transcripts after 30 days; their state is of no use then


def recover(place: paths.Place, settings: config.Config, env: dict[str, str], now: float, current: str,
            on_change: OnChange = None) -> int:
    """Capture and close sessions that died with work nobody wrote down.

    A session counts where its receipts show that it started here, it is not `current`, and its transcript rests for 30
    seconds and holds more than was read, or what was read is not written.  Returns how many checkpoints were written.
    """
    if not settings["capture.enabled"]:
        return 0
    _prune(place, now)
    return sum(bool(capture(place, settings, env, now, session, path, "recovery", on_change=on_change))
               for session, path in lost(place, env, now, current))


def lost(place: paths.Place, env: dict[str, str], now: float, current: str) -> Iterator[tuple[str, str]]:
    """Yield (session, path of its transcript) of the sessions that died with work nobody wrote down; see `recover`."""
    for name in names(place.receipts_folder):
        session = paths.safe_id(name[:-len(".jsonl")]) if name.endswith(".jsonl") else ""
        if not session or session == current:
            continue
        path = transcript.trusted(transcript_of(place.receipts(session)), env)
        if path and _left(place, session, path, now):
            yield session, path


def _left(place: paths.Place, session: str, path: str, now: float) -> bool:
    stat = os.stat(path)
    if not QUIET < now - stat.st_mtime < KEEP:
        return False
    return not told(place, session, stat.st_size)


def told(place: paths.Place, session: str, size: int) -> bool:
    """Tell whether a transcript was read to its end, `size` bytes, and all of it is written down and closed."""
    head = progress.head(place.cache + "/sessions/" + session + ".json")
    return bool(head) and head.get("size") == size and not (head.get("units") or head.get("name"))


def transcript_of(receipts: str) -> object:
    """Return the transcript that the last start in a session's receipts names, unproved; "" where none does.

    receipts: path of the session's receipts.
    """
    path: object = ""
    try:
        data = files.read(receipts, 4 << 20)
    except OSError:
        return path
    for line in data.split(b"\n"):
        if b'"start"' in line:
            try:
                row = jsonio.parse(line)
            except ValueError:
                continue
            if isinstance(row, dict) and row.get("event") == "start":
                path = row.get("transcript") or path
    return path


def _prune(place: paths.Place, now: float) -> None:
    """Delete the states of sessions whose transcripts the host has deleted by now."""
    folder = place.cache + "/sessions/"
    for name in names(folder):
        try:
            if now - os.stat(folder + name).st_mtime > KEEP:
                files.remove(folder + name)
        except OSError:
            continue
