"""Taking a text out of everything that dayleaf keeps, and proving that it is gone.

A record, and what is kept of it for a way back, gets a mark in the text's place, with the permissions and time that it had; the
journal of upkeep follows to the new hashes, so that an undo still works.  A log that others append to is covered in place, byte
for byte.  What is derived of the text goes as a whole: index, vectors, digests, past queries, of every workspace that the record
counts in; and the copy of an approved content.  Settings are the user's own, other programs' files are theirs: both are named.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Callable, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Set, Tuple

from memory import archive, files, traces, transcript, trust
from memory.errors import StoreError
from memory.paths import FOLDERS, Place
from memory.traces import Finder, Trace

RECORD, OTHER, ARCHIVE, BEFORE, MOVES, LOG, STATE, COPY, DERIVED, TEMP, SETTINGS, FOREIGN = (
    "record", "other record", "archive", "before an upkeep", "log of moves", "log", "state", "approved copy", "derived",
    "temporary", "settings", "not ours")
LEFT = (SETTINGS, FOREIGN)
_DERIVED = (".seg", ".log", ".scan", ".stale", ".vec", ".veclog", ".damaged", ".tags", ".review")
_KINDS = frozenset(FOLDERS.values())
_FORMAT = (
    "id kind title created updated tags topics versions links relation target source confidence pinned accepted human agent auto "
    "session trigger branch commit files rationale type path source_ref checksum refreshed status active done dropped workspace "
    "decision approve reject sha256 event archive learnings checkpoints resources plans rules global markdown strategy "
    "candidates chosen transcript prompt startup resume medium before after redacted provider record").split()


class Holder(NamedTuple):
    """A file that holds a text, and what it is: a word of the list above."""

    trace: Trace
    role: str


class Erased(NamedTuple):
    """What was done.  changed: files.  pending: ids of rules and scripts whose approval no longer holds.  problems: one line
    each.  searched, held: files that the proof read, and those in which a text still stands."""

    changed: int
    pending: List[str]
    problems: List[str]
    searched: int
    held: List[Holder]


def refusal(found: Finder, place: Place) -> str:
    """Say why a text cannot be taken out, "" where it can: what the formats themselves are made of."""
    if found.count(b""):
        return "it matches the empty text"
    for name in (*_FORMAT, "2026-11-21T14:30:52Z"):
        if found.count(name.encode("ascii")):
            return "it is part of a word that stands in dayleaf's own files"
    if found.count(place.private.encode("utf-8", "surrogateescape")):
        return "it is part of the workspace's own path"
    return ""


def search(place: Place, found: Finder, own: FrozenSet[str], told: Callable[[int], None] = lambda done: None) -> Tuple[
        int, List[Holder]]:
    """Return (files searched, those that hold a text) of the home and the repository's tier, the runtime apart.

    own: paths of the record that the text is taken out of.  told: of the files searched so far.
    """
    roots = [place.home, *([place.shared] if place.shared and files.inside(place.shared, place.root) else [])]
    number, held = traces.search(found, traces.listed(roots, [place.home + "/runtime"]), told)
    return number, [Holder(trace, RECORD if trace.path in own else _role(trace.path, place)) for trace in held]


def _role(path: str, place: Place) -> str:
    ours = path.startswith(place.home + "/")
    parts = path[len(place.home) + 1:].split("/") if ours else ["", *path[len(place.shared) + 1:].split("/")]
    file = parts[-1]
    if file.startswith(files.TEMP):
        return TEMP
    if file == "config.json" and len(parts) <= 2:
        return SETTINGS
    if parts[0] == "cache":
        state = "sessions" in parts or file.startswith(("edit-", "new-")) or file == "handoff.json"
        return STATE if state else DERIVED
    if parts[0] == trust.KEPT:
        return COPY
    inner = parts[2:] if parts[0] == "workspaces" else parts[1:]
    if inner[:1] == [archive.FOLDER]:
        return BEFORE if inner[1:2] == ["before"] else MOVES if file == archive.LOG else ARCHIVE
    if file == "journal.jsonl":
        return MOVES
    if parts[0] == "log" or file.endswith(".jsonl"):
        return LOG
    return OTHER if inner[:1] and inner[0] in _KINDS and file.endswith(".md") else FOREIGN


def reached(held: Iterable[Holder], everywhere: bool) -> List[Holder]:
    """Return the holders that `apply` takes the text out of.  everywhere: other records too."""
    return [one for one in held if one.role not in LEFT and (everywhere or one.role != OTHER)]


def apply(place: Place, found: Finder, held: List[Holder], own: FrozenSet[str], everywhere: bool, now: float,
          told: Callable[[int], None] = lambda done: None) -> Erased:
    """Take the texts out of what `reached` gives, remove what was derived of them, and search everything again.

    Raises OSError where a lock cannot be had.
    """
    todo, problems, changed = reached(held, everywhere), list[str](), 0
    hashes: Dict[bytes, bytes] = {}
    renamed = set(own)
    with files.Lock(place.home + "/cache/store.lock", wait=True), files.Lock(place.home + "/cache/upkeep.lock", wait=True):
        for one in sorted(todo, key=lambda one: one.role == MOVES):  # these follow the hashes of all others
            try:
                renamed.add(_treat(one, found, hashes, now))
                changed += 1
            except (OSError, StoreError) as error:
                problems.append("%s: %s" % (one.trace.path, getattr(error, "strerror", None) or error))
        _follow(place, hashes)
        for path in _derived(place, todo):
            with suppress(OSError):
                files.remove(path)
    searched, left = search(place, found, frozenset(renamed), told)
    return Erased(changed, _pending(place, todo, hashes), problems, searched, left)


def _treat(one: Holder, found: Finder, hashes: Dict[bytes, bytes], now: float) -> str:
    """Take the texts out of one file and return its path then; raises OSError, StoreError."""
    path = one.trace.path
    if one.role in (DERIVED, COPY):
        files.remove(path)
    elif one.role == TEMP:
        _drop_temp(path, now)
    elif one.role == LOG:
        _cover(path, found)
        return _rename(path, found)
    elif one.role == BEFORE:
        _rewrite(path, found, hashes, path.rpartition("/")[0])
    else:
        _rewrite(path, found, hashes)
        return _rename(path, found)
    return path


def _rewrite(path: str, found: Finder, hashes: Dict[bytes, bytes], by_hash: str = "") -> None:
    """Replace a file by itself without the texts, and note its old and new hash; raises OSError.

    by_hash: the folder in which it is named after its hash, "" for any other file.
    """
    stat = os.stat(path)
    data = files.read(path, traces.MOST, follow=False)
    clean = found.cleaned(data)
    old, new = files.sha256(data), files.sha256(clean)
    target = "%s/%s.md" % (by_hash, new) if by_hash else path
    temp = files.stage(target, clean, stat.st_mode & 0o777, 0)
    files.sync(temp)
    os.utime(temp, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    os.replace(temp, target)
    files.sync(target.rpartition("/")[0])
    if by_hash and target != path:
        files.remove(path)
    hashes[old.encode("ascii")] = new.encode("ascii")


def _cover(path: str, found: Finder) -> None:
    """Write over the texts in a file to which other processes append meanwhile; raises OSError."""
    fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(fd, "r+b", buffering=0) as log:
        data = log.read()
        for hit in found.expression.finditer(data):
            log.seek(hit.start())
            log.write(found.covered(hit[0]))
        os.fsync(log.fileno())


def _drop_temp(path: str, now: float) -> None:
    """Remove the temporary file of a process that is gone; raises StoreError for one that is being written."""
    pid = path.rpartition("/")[2][len(files.TEMP):].partition("-")[0]
    if pid.isdigit() and files.alive(int(pid)) and now - os.stat(path).st_mtime < 3600:
        raise StoreError("process %s is writing it; run this again" % pid)
    files.remove(path)


def _rename(path: str, found: Finder) -> str:
    """Take the texts out of a file's name and return its path then; raises StoreError where that name is taken."""
    folder, _, name = path.rpartition("/")
    clean = found.cleaned(name.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    if clean == name:
        return path
    target = folder + "/" + clean
    if os.path.lexists(target):
        raise StoreError("its name holds the text, and %s is taken; rename it by hand" % target)
    os.rename(path, target)
    return target


def _follow(place: Place, hashes: Dict[bytes, bytes]) -> None:
    """Let the journals of upkeep name the new hashes of what was rewritten; raises OSError."""
    changed = {old: new for old, new in hashes.items() if old != new}
    folder = place.home + "/workspaces"
    for key in sorted(os.listdir(folder)) if changed and files.is_folder(folder) else ():
        path = "%s/%s/journal.jsonl" % (folder, key)
        with suppress(FileNotFoundError, NotADirectoryError):
            before = data = files.read(path, traces.MOST, follow=False)
            for old, new in changed.items():
                data = data.replace(old, new)
            if data != before:
                files.replace(path, data)


def _derived(place: Place, todo: Iterable[Holder]) -> Iterator[str]:
    """Yield the paths of all that is derived of records in the workspaces that the changed files count in."""
    keys: Set[str] = {place.key}
    cache = place.home + "/cache"
    for one in todo:
        parts = one.trace.path[len(place.home) + 1:].split("/") if one.trace.path.startswith(place.home + "/") else []
        if parts[:1] == ["global"]:
            keys.update(_names(cache))
        elif parts[:1] in (["workspaces"], ["cache"]) and len(parts) > 2:
            keys.add(parts[1])
    for key in sorted(keys):
        folder = "%s/%s" % (cache, key)
        yield from ("%s/%s" % (folder, name) for name in _names(folder) if name.endswith(_DERIVED))
        yield from ("%s/digests/%s" % (folder, name) for name in _names(folder + "/digests"))
    yield cache + "/queries.db"


def _names(folder: str) -> List[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _pending(place: Place, todo: Iterable[Holder], hashes: Dict[bytes, bytes]) -> List[str]:
    """Return the ids whose approved content was changed by what was done."""
    gone = {old.decode("ascii") for old, new in hashes.items() if old != new}
    gone.update(one.trace.path.rpartition("/")[2] for one in todo if one.role == COPY)
    return sorted({id for _, id, sha256 in trust.approved(place.home) if sha256 in gone})


def transcripts(found: Finder, env: Dict[str, str], folders: Iterable[str]) -> List[str]:
    """Return the paths of the host's transcripts that hold a text; they are the host's, and only read.

    folders: those to look into, of its `projects`.
    """
    roots = [root + "/" + folder for root in transcript.roots(env) for folder in folders]
    return [trace.path for trace in traces.search(found, traces.listed(roots))[1]]
