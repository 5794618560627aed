"""Marks of stale records, written by the worker for the hooks, which may neither parse a record nor
search a repository.

Schema, version 1, of `<cache>/<scope>.stale`, derived behind a session's start and after a capture;
deleted, nothing is marked until then:

    {"v":1,"records":{"<first 16 hex digits of a record's checksum>":[[reason, path, stamp, name],
     ...]}}

A mark is valid for the checked bytes, while its cause stands: `path`, relative to the checkout, is
a file that was missing (`stamp` "") or was read (`stamp` its mtime in ns and size), or "" for none.
`name` is the claim's.  hook/indexview.py reads it.

Schema, version 1, of `<cache>/<scope>.checked`, derived: {"v":1, "git": stamps of HEAD, its log and
the index, "records": {name: [mtime in ns, size, checksum, {path: stamp}, marks]}}.  A record is
checked again where its file, a file of its claims, or git's state has changed.  A symbol without a
file waits for git's state: searching all files costs too much.
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
    """Check the records that hooks may show, mark the stale; raises OSError."""
    found = _check_records(place) if place.git else {}
    stale = {checked[2]: checked[4] for checked in found.values() if checked[4]}
    path = indexview.marks_path(place)
    if not stale:
        files.remove(path)
        return
    files.replace_if_changed(path, fastjson.dump({"v": 1, "records": stale}).encode("ascii"))


def _check_records(place: Place) -> dict[str, Checked]:
    """Check the records that changed; write and return all checks."""
    git = _read_git_state(place)
    before = _read_checked(place, git)
    found: dict[str, Checked] = {}
    with claims.Checkout(place.root, place.git, claims.WIDE) as checkout:
        for listed in _list_files(place):
            checked = before.get(listed[0])
            if checked is None or not _is_current(place, checked, listed):
                checked = _check_listed(place, checkout, listed)
            if checked is not None:
                found[listed[0]] = checked
    if found != before:
        data = json.dumps({"v": VERSION, "git": git, "records": found}, separators=(",", ":"))
        files.replace(checked_path(place), data.encode("ascii"), synced=False)
    return found


def checked_path(place: Place) -> str:
    return place.cache + "/" + place.scope + ".checked"


def _read_git_state(place: Place) -> list[str]:
    paths = (place.git + name for name in ("/HEAD", "/logs/HEAD", "/index"))
    return [*map(indexview.read_file_stamp, paths)]


def _read_checked(place: Place, git: list[str]) -> dict[str, Checked]:
    try:
        value = json.loads(files.read(checked_path(place), MOST_BYTES))
        if value["v"] == VERSION and value["git"] == git:
            return dict(value["records"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {}


def _is_current(place: Place, checked: Checked, listed: Listed) -> bool:
    if tuple(checked[:2]) != listed[1:]:
        return False
    root, read_stamp = place.root + "/", indexview.read_file_stamp
    return all(read_stamp(root + path) == stamp for path, stamp in checked[3].items())


def _check_listed(place: Place, checkout: claims.Checkout, listed: Listed) -> Checked | None:
    record = _read_record(place, listed)
    if record is None:
        return None
    found = checkout.check(record)
    paths = {claim.path: _stamp_claim(place, claim) for claim in found.claims if claim.path}
    rows = [_make_mark(place, claim) for claim in found.gone[:REASONS]]
    return [*listed[1:], record.checksum[:16], paths, rows]


def _stamp_claim(place: Place, claim: claims.Claim) -> str:
    return indexview.read_file_stamp(place.root + "/" + claim.path) if claim.path else ""


def _make_mark(place: Place, claim: claims.Claim) -> list[str]:
    return [claim.reason[:200], claim.path, _stamp_claim(place, claim), claim.name]


def _list_files(place: Place) -> list[Listed]:
    listed = sorted(walk.walk(place)[0], key=lambda row: (-walk.written_at(row), row[0]))
    notes: list[Listed] = []
    others: list[Listed] = []
    for name, _, mtime_ns, size in listed:
        tier, folder, *_ = name.split("/")
        kept = notes if folder == "checkpoints" else others
        if tier != GLOBAL and folder != "conversations":
            kept.append((name, mtime_ns, size))
    return [*others[:OTHERS], *notes[:CHECKPOINTS]]


def _read_record(place: Place, listed: Listed) -> Record | None:
    name, mtime_ns, size = listed
    try:
        data = place.read(name, min(size, records.READ_LIMIT))[0]
    except OSError:
        return None
    return records.from_bytes(name, data, mtime_ns / 1e9)
