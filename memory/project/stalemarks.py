"""Marks: which records the worker found stale, for the hooks, which may not parse a record or look
through a repository.

Schema, version 1, of `<cache>/<scope>.stale`, derived behind a session's start and after a capture;
deleted, nothing is marked until then:

    {"v":1,"records":{"<first 16 hex digits of a record's checksum>":[[reason, path, stamp, name],
     ...]}}

A mark holds for exactly the bytes that were checked, and while its cause stands: `path`, relative
to the checkout, is a file that was missing (`stamp` "") or one that was read (`stamp` its mtime in
ns and its size); "" where there is no such file.  `name` is the claim's.  index.py reads it.
"""

from __future__ import annotations

from typing import Dict, List

from memory.core import fastjson, files, records, walk
from memory.core.layout import GLOBAL, Place
from memory.core.records import Record
from memory.hook import indexview
from memory.project import claims

CHECKPOINTS, OTHERS = 50, 2000  # newest records that are checked
REASONS = 3  # of one record


def write(place: Place) -> None:
    """Check the records that a hook may show, and write down which are stale; raises OSError where
    that cannot be written.
    """
    found: Dict[str, List[List[str]]] = {}
    if place.git:
        with claims.Checkout(place.root, place.git, claims.WIDE) as checkout:
            for record in _records(place):
                gone = checkout.check(record).gone
                if gone:
                    found[record.checksum[:16]] = [_row(place, claim) for claim in gone[:REASONS]]
    path = indexview.marks_path(place)
    if not found:
        files.remove(path)
        return
    files.update(path, fastjson.dump({"v": 1, "records": found}).encode("ascii"))


def _row(place: Place, claim: claims.Claim) -> List[str]:
    stamp = indexview.stamp(place.root + "/" + claim.path) if claim.path else ""
    return [claim.reason[:200], claim.path, stamp, claim.name]


def _records(place: Place) -> List[Record]:
    """Read the records that are checked: the newest files of this workspace and its shared tier."""
    listed = sorted(walk.walk(place)[0], key=lambda row: (-row[2], row[0]))
    listed = [row for row in listed if row[0][0] != GLOBAL and row[0][1:15] != "/conversations"]
    notes = [row for row in listed if row[0][1:13] == "/checkpoints"]
    found = []
    for name, _, mtime_ns, size in [row for row in listed if row[0][1:13] != "/checkpoints"][
        :OTHERS
    ] + notes[:CHECKPOINTS]:
        try:
            fd = place.open(name)
        except OSError:
            continue
        try:
            data = files.read_fd(fd, min(size, records.READ_LIMIT))
        finally:
            files.posix.close(fd)
        found.append(records.from_bytes(name, data, mtime_ns / 1e9))
    return found
