"""What `doctor --fix` does: only what loses nothing, whoever is mistaken.

Derived files are made anew or deleted, private files are closed to others, a torn last line gets its end.  The text of a record
is never touched.  A ledger of approvals that others could write stays as it is: closing it would make count what they wrote.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

from memory import checkup, files, incidents, indexer, paths, status, terminal
from memory.errors import DayleafError

BITS = 0o077  # what others may do


def mend(place: paths.Place, now: float) -> list[str]:
    """Mend what is safe to mend and return one line for each thing done or that could not be done (these begin with `not `).

    now: seconds since the epoch.  A second run finds nothing.
    """
    steps: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: _close(place), lambda: _end_lines(place), lambda: _sweep(place, now), lambda: _index(place, now))
    done: list[str] = []
    for step in steps:
        try:
            done += step()
        except (OSError, DayleafError) as error:
            said = "%s: %s" % (error.filename, error.strerror) if isinstance(error, OSError) else str(error)
            done.append("not mended: %s" % said)
    return done


def _close(place: paths.Place) -> Iterator[str]:
    """Close the home and what is in it to others, where it is the user's own."""
    if os.name == "nt" or not files.is_folder(place.home):
        return
    mode = os.stat(place.home).st_mode
    found = [*checkup.open_to_others(place), *checkup.writable_by_others(place)]  # before the home hides them
    if mode & BITS and os.stat(place.home).st_uid == os.geteuid():
        os.chmod(place.home, mode & 0o700)
        yield "closed %s to others (%04o, it was %04o)" % (place.home, mode & 0o700, mode & 0o777)
    trust = place.home + "/trust.jsonl"
    closed = 0
    for path in sorted(set(found)):
        stat = os.lstat(path)
        if stat.st_uid != os.geteuid() or (path == trust and stat.st_mode & 0o022):
            continue
        os.chmod(path, stat.st_mode & 0o700)
        closed += 1
    if closed:
        yield "closed %s in %s to others" % (terminal.count(closed, "file"), place.home)


def _end_lines(place: paths.Place) -> Iterator[str]:
    """Give a torn last line its end, so that the next one stands alone; what is torn is passed over by every reader."""
    for path in list(incidents.ends(place)):
        files.append(path, b"\n")
        yield "ended the torn last line of %s" % path


def _sweep(place: paths.Place, now: float) -> Iterator[str]:
    """Delete leftovers and caches of nothing."""
    left = list(incidents.leftovers(place, now))
    gone = sum(files.remove(path) for path in left)
    if gone:
        yield "deleted %s of killed writers, such as %s" % (terminal.count(gone, "leftover"), left[0])
    for folder in list(incidents.orphans(place, now)):
        shutil.rmtree(folder)
        yield "deleted %s, the cache of a workspace that is gone" % folder


def _index(place: paths.Place, now: float) -> Iterator[str]:
    """Bring the index up to date, or build it anew where it is missing or damaged."""
    found = status.index_state(place)
    damaged = found["state"] == "damaged" or not found.get("whole", True)
    if found["state"] == "missing" and not any(files.is_folder(root) for _, root in place.tiers()):
        return
    if not damaged and found["state"] == "fresh":
        return
    if damaged:
        indexer.set_aside(place)
    done = indexer.build(place, now) if damaged or found["state"] == "missing" else indexer.refresh(place, now)
    if done.busy:
        yield "not mended: another process is building the index"
    else:
        yield "%s the index: %s" % ("built" if done.built or damaged else "refreshed", terminal.count(done.records, "record"))
