"""The reading side of the store: records by name, one after the other, by the start of an id, and those in the archives.

Names are checked, and files are opened part by part beneath their tier without following links.
"""

from __future__ import annotations

import contextlib
import os
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from memory import archive, composing, files, frontmatter, ids, records
from memory.archive import Move
from memory.errors import StoreError
from memory.paths import FOLDERS, SHARED, Place
from memory.records import KINDS, READ_LIMIT, Record
from memory.walk import is_record

WHOLE_LIMIT = 64 << 20  # bytes of a file that may be rewritten
DEPTH_LIMIT = 8  # folders below a kind's folder


class Skipped(NamedTuple):
    """A file that gave no record: its name, the line of the fault (0 for the whole file), why, and what mends it."""

    name: str
    line: int
    reason: str
    remedy: str


class Unreadable(StoreError):
    """A record that could not be read, with the `Skipped` that says so."""

    def __init__(self, skipped: Skipped):
        super().__init__("%s: %s; %s" % (skipped.name, skipped.reason, skipped.remedy))
        self.skipped = skipped


def calls(record: Record, text: str) -> int:
    """Say how a text names a record that it is no id of: 3 by its title, 2 by a resource's path or the end of that, 1 by its
    file's name without the digits at its end, 0 not at all; titles in any case."""
    key = " ".join(text.lower().split())
    if not key:
        return 0
    path = record.meta.get("path") if record.kind == "resource" else None
    if key == " ".join(record.title.lower().split()):
        return 3
    if isinstance(path, str) and ("/" + path).endswith("/" + text.removeprefix("./").lstrip("/")):
        return 2
    return int(composing.bare_stem(record.name.rpartition("/")[2]) == (text[:-3] if text.endswith(".md") else text))


def _best(called: List[Tuple[int, str, str]]) -> Dict[str, str]:
    """Return of (how a text names a record, its id, its name) those that it names best, name by id."""
    best = max((how for how, _, _ in called), default=0)
    return {id: name for how, id, name in called if how == best > 0}


class Reader:
    """The records of one place, to be read.

    skipped: what the latest walk left out.  duplicates: ids of the latest `each` that stand in several files, with
    their names.
    """

    def __init__(self, place: Place):
        """Find the tiers of a place."""
        self.place = place
        self.skipped: List[Skipped] = []
        self.duplicates: Dict[str, List[str]] = {}
        self.roots = {letter: files.real(root) for letter, root in place.tiers()}
        self._foreign = SHARED in self.roots and not files.inside(place.shared, place.root)
        if self._foreign:  # a cloned repository whose .dayleaf points elsewhere would pass off other files as shared
            del self.roots[SHARED]

    def names(self, kinds: Optional[Sequence[str]] = None) -> Iterator[str]:
        """Yield the names of all record files, sorted; `kinds` limits them to the folders of some kinds.

        Directory links are not followed, links out of the tier are skipped and noted in `skipped`.
        """
        self.skipped = []
        if self._foreign:
            self._skip("s", "the shared tier is a link out of the repository", "make .dayleaf a directory")
        found: List[str] = []
        for letter, root in self.roots.items():
            for kind in KINDS if kinds is None else kinds:
                self._walk(letter, root, FOLDERS[kind], found, 0)
        found.sort()
        yield from found

    def each(self, kinds: Optional[Sequence[str]] = None) -> Iterator[Record]:
        """Yield every readable record in the order of names; the rest is noted in `skipped`.

        kinds: the kinds wanted, whatever folder they stand in (the checkpoints' folder is only read for checkpoints).
        """
        self.duplicates = {}
        first: Dict[str, str] = {}
        folders = None if kinds is None or "checkpoint" in kinds else [kind for kind in KINDS if kind != "checkpoint"]
        for name in self.names(folders):
            try:
                record = self.read(name)
            except Unreadable as error:
                self.skipped.append(error.skipped)
                continue
            if kinds is not None and record.kind not in kinds:
                continue
            if record.id in first:
                self.duplicates.setdefault(record.id, [first[record.id]]).append(name)
            first.setdefault(record.id, name)
            yield record

    def read(self, name: str) -> Record:
        """Read one record; of a file above 1 MiB the first 1 MiB, which `problems` then says.

        Raises Unreadable (a StoreError).
        """
        data, stat = self._bytes(name, READ_LIMIT)
        if frontmatter.undecodable(data):
            raise Unreadable(Skipped(name, 1, "not UTF-8 text", "save it as UTF-8"))
        record = records.from_bytes(name, data, stat.st_mtime)
        if stat.st_size <= len(data):
            return record
        problem = "line %d: only the first 1 MiB of %.1f is read; split the file" % (
            data.count(b"\n"), stat.st_size / READ_LIMIT)
        return record.replaced(size=stat.st_size, problems=(*record.problems, problem))

    def raw(self, name: str) -> bytes:
        """Return the whole file of a record, at most 64 MiB; raises Unreadable."""
        data, stat = self._bytes(name, WHOLE_LIMIT)
        if stat.st_size > len(data):
            raise Unreadable(Skipped(name, 0, "above 64 MiB", "split the file"))
        return data

    def find(self, text: str) -> Record:
        """Find a record by id, by the start of its id, by name, or by its file's name with or without `.md`.

        Else the only one that is called so counts: by its title, a resource by its path or the end of it, or by its file's
        name without the digits at its end.  Of several files with one id the newest counts.  Raises StoreError, which names
        up to three ids.
        """
        text = text.strip()
        exact: List[Tuple[float, str]] = []
        stems: List[Tuple[float, str]] = []
        starts: List[Tuple[float, str]] = []
        known: Dict[str, str] = {}
        called: List[Tuple[int, str, str]] = []
        for record in self.each():
            entry = (record.updated, record.name)
            file = record.name.rpartition("/")[2]
            if record.id == text or record.name == text:
                exact.append(entry)
            elif text in (file, file[:-3]):
                stems.append(entry)
            elif text and record.id.startswith(text):
                starts.append(entry)
                known[record.id] = record.name
            else:
                known.setdefault(record.id, record.name)
                called.append((calls(record, text), record.id, record.name))
        if exact:
            return self.read(max(exact)[1])
        if len(stems) == 1:
            return self.read(stems[0][1])
        begun = ids.begun(text, known)
        if not stems and len(begun) == 1:
            return self.read(max(starts)[1])
        if not stems and not begun:
            named = _best(called)
            if len(named) == 1:
                return self.read(max(named.values()))
            begun = list(named)
        raise self._unfound(text, begun, [name for _, name in sorted(stems)], known)

    def _unfound(self, text: str, begun: List[str], stems: List[str], known: Dict[str, str]) -> StoreError:
        """Return the error for a word that means no record, or several: where it went, or what is near.

        begun: the ids that it begins or calls.  stems: names of the files that are called so.  known: every id, with a name.
        """
        away = [] if begun else ids.begun(text, self.away())
        if len(away) != 1:
            return StoreError(ids.unknown("record", text, begun or stems, known, "`dayleaf recall` lists them"))
        kept = self.successors().get(away[0])
        if kept:
            return StoreError("'%s' was merged into %s; use that, or `dayleaf restore %s`" % (text[:80], kept, away[0]))
        return StoreError("'%s' is archived; `dayleaf restore %s` brings it back" % (text[:80], away[0]))

    def find_archived(self, text: str) -> Record:
        """Find a record in the archives by its id or the start of it; its name is the one it has there.

        Raises StoreError, which says so where the record is in the store.
        """
        letter, move = self._find_move(text.strip())
        return self.read(letter + "/" + move.away)

    def archived(self, kind: str, title: str = "") -> Iterator[Record]:
        """Yield the readable records of a kind that stand in the archives; their names are those they have there.

        title: only those that were written under it (a file keeps the name that its first title gave it); "" for all.
        """
        stem = FOLDERS[kind] + "/" + composing.slug(kind, composing.one_line(title), "") + "-" if title else ""
        for letter, move in self.away().values():
            if not move.home.startswith(stem):
                continue
            with contextlib.suppress(StoreError):
                record = self.read(letter + "/" + move.away)
                if record.kind == kind:
                    yield record

    # ---- the archives

    def successors(self) -> Dict[str, str]:
        """Return by id of a merged record the id of the one that stands for it, of those in the archives."""
        return archive.successors(self.roots.items())

    def away(self) -> Dict[str, Tuple[str, Move]]:
        """Return by id (tier, latest move) of what stands in the archives now."""
        return {id: (letter, move) for letter, root in reversed(list(self.roots.items()))
                for id, move in archive.standing(root).items()}

    def left(self) -> Dict[str, str]:
        """Return by id the path below its tier that each record in the archives left."""
        return {id: move.home for id, (_, move) in self.away().items()}

    def _find_move(self, text: str) -> Tuple[str, Move]:
        away = self.away()
        begun = ids.begun(text, away)
        if len(begun) == 1:
            return away[begun[0]]
        if not begun and text and any(record.id.startswith(text) for record in self.each()):
            raise StoreError("'%s' is not archived: it is in the store" % text[:80])
        raise StoreError(ids.unknown("archived record", text, begun, away,
                                     "archive/log.jsonl of each tier names what went there"))

    # ---- files

    def _parts(self, name: str) -> Tuple[str, List[str]]:
        """Return (root of the tier, parts of the path below it) of a record's name; raises Unreadable."""
        parts = name.split("/") if len(name) <= 1024 else []
        folders = (*FOLDERS.values(), archive.FOLDER)
        if (len(parts) < 3 or parts[0] not in self.roots or parts[1] not in folders or not name.endswith(".md")
                or any(not part or part[0] == "." for part in parts) or "\0" in name or "\\" in name
                or (os.name == "nt" and ":" in name)):
            raise Unreadable(Skipped(name[:200].replace("\0", "?"), 0, "not the name of a record",
                                     "name it as `recall` does"))
        return self.roots[parts[0]], parts[1:]

    def _bytes(self, name: str, limit: int) -> Tuple[bytes, os.stat_result]:
        """Read a record's file; raises Unreadable."""
        root, parts = self._parts(name)
        try:
            fd = open_beneath(root, parts)
            try:
                stat = os.fstat(fd)
                if stat.st_nlink > 1 and hasattr(os, "geteuid") and stat.st_uid != os.geteuid():
                    raise OSError(1, "a hard link to another user's file")
                return files.read_fd(fd, limit), stat
            finally:
                os.close(fd)
        except FileNotFoundError:
            raise Unreadable(Skipped(name, 0, "no such record", "`dayleaf recall` lists what is there")) from None
        except OSError as error:
            reason = (error.strerror or "cannot be read").lower()
            raise Unreadable(Skipped(name, 0, reason, "mend its permissions or move it out of the store")) from None

    def _walk(self, letter: str, root: str, folder: str, found: List[str], depth: int) -> None:
        try:
            if os.path.islink(root + "/" + folder):
                return self._skip(letter + "/" + folder, "a link to a directory is not followed",
                                  "move the directory here")
            with os.scandir(root + "/" + folder) as entries:
                listed = list(entries)
        except FileNotFoundError:
            return None
        except OSError as error:
            return self._skip(letter + "/" + folder, (error.strerror or "unreadable").lower(), "mend its permissions")
        for entry in listed:
            name = letter + "/" + folder + "/" + entry.name
            if entry.name[0] == ".":
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < DEPTH_LIMIT:
                    self._walk(letter, root, folder + "/" + entry.name, found, depth + 1)
                else:
                    self._skip(name, "nested more than 8 folders deep", "move it up")
            elif entry.is_symlink() and entry.is_dir():
                self._skip(name, "a link to a directory is not followed", "move the directory here")
            elif is_record(entry.name):
                if entry.is_symlink() and not files.inside(entry.path, root):
                    self._skip(name, "a link out of the store", "replace the link by the file itself")
                else:
                    found.append(name)
            elif entry.name.endswith(".md") and entry.name[0] != "#":
                self._skip(name, "a copy that a synchroniser left", "merge it into the record by hand, then delete it")
        return None

    def _skip(self, name: str, reason: str, remedy: str) -> None:
        self.skipped.append(Skipped(name, 0, reason, remedy))


def open_beneath(root: str, parts: List[str]) -> int:
    """Open a regular file below a directory, following no link on the way except one that ends inside; raises OSError.

    root: a real path.  parts: of the path below it.  Each part is opened relative to the one before: a path that was
    checked and then opened could be swapped in between.
    """
    if os.open not in os.supports_dir_fd:
        path = root + "/" + "/".join(parts)
        if not files.inside(path, root):
            raise OSError(1, "a link out of the store")
        return files.open_read(path)
    path = root + "/" + "/".join(parts)
    if os.path.islink(path):
        target = files.real(path)
        if not files.inside(target, root):
            raise OSError(1, "a link out of the store")
        parts = target[len(root) + 1:].split("/")
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = inner
        fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)
    if os.fstat(fd).st_mode & 0o170000 != 0o100000:
        os.close(fd)
        raise OSError(22, "not a regular file")
    return fd
