"""A workspace that got its remote after its first notes moves under the name which that remote gives it."""

from __future__ import annotations

from memory import files, paths, trust
from memory.errors import DayleafError
from memory.paths import Place


def adopt(place: Place, now: float) -> Place:
    """Move a workspace, its receipts, approvals and derived files to the name that is due to it; returns the place as it is then.

    now: seconds since the epoch.  Not on the blocking path, which writes nothing: there the older name is read.  Where another
    process was first, or nothing can be moved, the place stays as it is.
    """
    if not place.due:
        return place
    new = Place(place.home, place.due, place.project, place.root, place.git, place.shared)
    try:
        files.posix.rename(place.private, new.private)
    except OSError:
        return place
    for old, target in ((place.cache, new.cache), (place.receipts_folder, new.receipts_folder)):
        try:
            files.posix.rename(old, target)
        except OSError:
            continue  # derived, or a log: the memories themselves have moved
    try:
        renamed = {place.key: new.key, trust.SCRIPT + place.key: trust.SCRIPT + new.key}
        for key, id_, sha256 in sorted(trust.approved(place.home)):
            if key in renamed:
                by = "dayleaf: %s is now %s" % (place.key, new.key)
                trust.decide(place.home, renamed[key], id_, sha256, "approve", by, now)
    except (OSError, DayleafError):
        return new  # its rules wait for their approval again, which `dayleaf rule list` shows
    return new


def at(env: dict[str, str], directory: str, now: float) -> Place:
    """Find the workspace of a directory as `paths.locate` does, adopted."""
    return adopt(paths.locate(env, directory), now)
