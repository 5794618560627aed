"""Sessions that died with work nobody wrote down."""

from __future__ import annotations

import os

from memory.capture import progress
from memory.capture.progress import names
from memory.capture.stretches import capture
from memory.core import clock, config, fastjson, files, layout
from memory.session import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    OnChange = Callable[[str], None] | None

QUIET = 30.0  # seconds a transcript must rest before recovery takes its session for dead
KEEP = 40 * clock.DAY  # the host deletes transcripts after 30 days; their state is of no use then


def recover(place: layout.Place, settings: config.Config, env: dict[str, str], now: float, current: str,
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


def lost(place: layout.Place, env: dict[str, str], now: float, current: str) -> Iterator[tuple[str, str]]:
    """Yield (session, path of its transcript) of the sessions that died with work nobody wrote down; see `recover`."""
    for name in names(place.receipts_folder):
        session = layout.safe_id(name[:-len(".jsonl")]) if name.endswith(".jsonl") else ""
        if not session or session == current:
            continue
        path = transcript.trusted(transcript_of(place.receipts(session)), env)
        if path and _left(place, session, path, now):
            yield session, path


def _left(place: layout.Place, session: str, path: str, now: float) -> bool:
    stat = os.stat(path)
    if not QUIET < now - stat.st_mtime < KEEP:
        return False
    return not told(place, session, stat.st_size)


def told(place: layout.Place, session: str, size: int) -> bool:
    """Tell whether a transcript of `size` bytes was read to its end, and all of it is written down and closed.

    What an earlier version told so is told: only an import brings that up to date, since it takes longer than a start may.
    """
    path = place.cache + "/sessions/" + session + ".json"
    head = progress.head(path) or progress.head(path, before=True)
    return bool(head) and head.get("size") == size and not (head.get("units") or head.get("name"))


def transcript_of(receipts: str) -> object:
    """Return the transcript that a session's receipts name at its last start, not yet trusted; "" where they name none.

    receipts: path of the session's receipts.
    """
    try:
        lines = files.read(receipts, 4 << 20).split(b"\n")
    except OSError:
        return ""
    starts = fastjson.rows(b"\n".join(line for line in lines if b'"start"' in line))
    named = [row["transcript"] for row in starts if row.get("event") == "start" and row.get("transcript")]
    return named[-1] if named else ""


def _prune(place: layout.Place, now: float) -> None:
    """Delete the states of sessions whose transcripts the host has deleted by now."""
    folder = place.cache + "/sessions/"
    for name in names(folder):
        try:
            if now - os.stat(folder + name).st_mtime > KEEP:
                files.remove(folder + name)
        except OSError:
            continue
