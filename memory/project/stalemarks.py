"""Marks: which records the worker found stale, for the hooks, which may not parse a record or look
through a repository.

Schema, version 1, of `<cache>/<scope>.stale`, derived behind a session's start and after a capture;
deleted, nothing is marked until then:

    {"v":1,"records":{"<first 16 hex digits of a record's checksum>":[[reason, path, stamp, name],
     ...]}}

A mark holds for exactly the bytes that were checked, and while its cause stands: `path`, relative
to the checkout, is a file that was missing (`stamp` "") or one that was read (`stamp` its mtime in
ns and its size); "" where there is no such file.  `name` is the claim's.  index.py reads it.

Schema, version 1, of `<cache>/<scope>.checked`, derived: {"v":1, "git": stamps of HEAD, its log and
the index, "records": {name: [mtime in ns, size, checksum, {path: stamp}, marks]}}.  A record is
checked again where it, a file that decides a claim of it, or git's state has changed.  A symbol
that is said to be in no file waits for git's state: to look through all files costs too much.
"""

from __future__ import annotations

import json
from typing import Any

from memory.core import fastjson, files, records, walk
from memory.core.layout import GLOBAL, Place
from memory.core.records import Record
from memory.hook import indexview
from memory.project import claims

CHECKPOINTS, OTHERS = 50, 2000  # newest records that are checked
REASONS = 3  # of one record
VERSION = 1  # of the checks; raise it where a claim is judged in another way
MOST_BYTES = 16 << 20  # of what was checked before

Listed = tuple[str, int, int]  # name, mtime in ns, size
Checked = list[Any]  # mtime in ns, size, checksum, {path: stamp}, marks


def write(place: Place) -> None:
    """Check the records that hooks may show.  Write the stale marks; raises OSError."""
    found: dict[str, Checked] = {}
    if place.git:
        git = _git_state(place)
        before = _checked_before(place, git)
        with claims.Checkout(place.root, place.git, claims.WIDE) as checkout:
            for listed in _listed(place):
                known = before.get(listed[0])
                if known is None or not _stands(place, known, listed):
                    known = _checked(place, checkout, listed)
                if known is not None:
                    found[listed[0]] = known
        if found != before:
            data = json.dumps({"v": VERSION, "git": git, "records": found}, separators=(",", ":"))
            files.replace(checked_path(place), data.encode("ascii"), synced=False)
    stale = {known[2]: known[4] for known in found.values() if known[4]}
    path = indexview.marks_path(place)
    if not stale:
        files.remove(path)
        return
    files.update(path, fastjson.dump({"v": 1, "records": stale}).encode("ascii"))


def checked_path(place: Place) -> str:
    return place.cache + "/" + place.scope + ".checked"


def _git_state(place: Place) -> list[str]:
    return [indexview.stamp(place.git + "/" + name) for name in ("HEAD", "logs/HEAD", "index")]


def _checked_before(place: Place, git: list[str]) -> dict[str, Checked]:
    try:
        value = json.loads(files.read(checked_path(place), MOST_BYTES))
        if value["v"] == VERSION and value["git"] == git:
            return dict(value["records"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {}


def _stands(place: Place, known: Checked, listed: Listed) -> bool:
    return tuple(known[:2]) == listed[1:] and all(
        indexview.stamp(place.root + "/" + path) == stamp for path, stamp in known[3].items()
    )


def _checked(place: Place, checkout: claims.Checkout, listed: Listed) -> Checked | None:
    record = _record(place, listed)
    if record is None:
        return None
    found = checkout.check(record)
    paths = {claim.path: _stamp(place, claim) for claim in found.claims if claim.path}
    rows = [_row(place, claim) for claim in found.gone[:REASONS]]
    return [*listed[1:], record.checksum[:16], paths, rows]


def _stamp(place: Place, claim: claims.Claim) -> str:
    return indexview.stamp(place.root + "/" + claim.path) if claim.path else ""


def _row(place: Place, claim: claims.Claim) -> list[str]:
    return [claim.reason[:200], claim.path, _stamp(place, claim), claim.name]


def _listed(place: Place) -> list[Listed]:
    """List the records to check: this workspace's newest files."""
    listed = sorted(walk.walk(place)[0], key=lambda row: (-walk.written_at(row), row[0]))
    listed = [row for row in listed if row[0][0] != GLOBAL and row[0][1:15] != "/conversations"]
    notes = [row for row in listed if row[0][1:13] == "/checkpoints"][:CHECKPOINTS]
    others = [row for row in listed if row[0][1:13] != "/checkpoints"][:OTHERS]
    return [(name, mtime_ns, size) for name, _, mtime_ns, size in [*others, *notes]]


def _record(place: Place, listed: Listed) -> Record | None:
    name, mtime_ns, size = listed
    try:
        data = place.read(name, min(size, records.READ_LIMIT))[0]
    except OSError:
        return None
    return records.from_bytes(name, data, mtime_ns / 1e9)
