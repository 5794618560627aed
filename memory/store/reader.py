"""The reading side of the store: finds and reads records, in the tiers and in their archives.

Names are checked, and files are opened part by part beneath their tier without following links.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from os.path import splitext
from typing import NamedTuple, Protocol, TypeVar

from memory.core import StoreError, files, frontmatter, records
from memory.core.layout import (
    ADDED,
    DATED_KINDS,
    FOLDERS,
    SHARED,
    Place,
    is_kind_allowed,
    is_record,
    record_suffixes,
)
from memory.core.records import KINDS, READ_LIMIT, Record
from memory.core.tokeniser import compose
from memory.core.walk import NOTE_ENDS, PRIVATE_ONLY, Listing, walk_entries
from memory.store import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.walk import Skip
    from memory.store.archive import Move

WHOLE_LIMIT = 64 << 20  # bytes of a file that may be rewritten
MISPLACED = ("not in a folder of records", "move it to one, such as `learnings`")


class _HasId(Protocol):
    @property
    def id(self) -> str:
        """The record's id."""


Named = TypeVar("Named", bound=_HasId)


class SkippedFile(NamedTuple):
    """A file without a readable record.  line: of the fault, 0 for the whole file."""

    name: str
    line: int
    reason: str
    remedy: str


class Unreadable(StoreError):
    """A record that could not be read."""

    def __init__(self, name: str, line: int, reason: str, remedy: str):
        super().__init__("%s: %s; %s" % (name, reason, remedy))
        self.skipped = SkippedFile(name, line, reason, remedy)


class _NameMatches(NamedTuple):
    """Records grouped by how a text names them.

    exact, stems, starts: by id or name, by file name, by an id's prefix, each with its time.
    known: names of the others and of `starts`, by id.  called: (score, id, name) of the others.
    """

    exact: list[tuple[bool, float, str]]
    stems: list[tuple[float, str]]
    starts: list[tuple[float, str]]
    known: dict[str, str]
    called: list[tuple[int, str, str]]


def score_name(record: Record, text: str) -> int:
    """Score how well a text names a record.

    3 for its title, 2 for a resource's path or its end, 1 for its file's name, else 0.
    """
    text = compose(text)
    key = " ".join(text.lower().split())
    if not key:
        return 0
    titles = (record.title, *record.aliases)
    if any(key == " ".join(compose(title).lower().split()) for title in titles):
        return 3
    path, end = "/" + compose(record.path), "/" + text.removeprefix("./").lstrip("/")
    if record.kind == "resource" and end in (path[-len(end) :], splitext(path)[0][-len(end) :]):
        return 2
    file = writer.bare_stem(compose(record.name.rpartition("/")[2]))
    return int(file.lower() == key.removesuffix(".md"))


def _is_path_below(name: str) -> bool:
    """Tell whether a name stays below its root, without hidden parts."""
    if "\0" in name or "\\" in name or (os.name == "nt" and ":" in name):
        return False
    return all(part and part[0] != "." for part in name.split("/"))


def _best_matches(called: list[tuple[int, str, str]]) -> dict[str, str]:
    """Return the names of the best matches above 0, by id."""
    best = max((score for score, _, _ in called), default=0)
    return {id: name for score, id, name in called if score == best > 0}


class Reader:
    """The records of one place, to be read.

    skipped: files that the latest walk left out.  duplicates: names by ids that occurred twice in
    the latest `each`.
    """

    def __init__(self, place: Place):
        self.place = place
        self.skipped: list[SkippedFile] = []
        self.duplicates: dict[str, list[str]] = {}
        self.roots = {letter: files.real_path(root) for letter, root in place.tiers()}
        # a clone whose .dayleaf points elsewhere would pass off other files as shared
        if SHARED in self.roots and not files.is_inside(place.shared, place.root):
            del self.roots[SHARED]

    def names(
        self, kinds: Sequence[str] | None = None, walked: Listing | None = None
    ) -> Iterator[str]:
        """Yield the names of all record files, sorted; fills `skipped`.

        kinds: only those in the folders of some kinds.  walked: a fresh listing of the place.
        """
        walked = walked or Listing(self.place, KINDS if kinds is None else kinds)
        left = (*walked.left, *self._list_misplaced())
        self.skipped = [SkippedFile(name, 0, *why) for name, *why in left]
        yield from sorted(name for name, *_ in walked.found)

    def _list_misplaced(self) -> Iterator[Skip]:
        """Yield notes, and folders with some, beside the folders of records."""
        known = {*FOLDERS.values(), "archive", "README.md"}
        for letter, root in self.roots.items():
            for name in sorted({*files.list_visible(root)} - known) if letter != ADDED else ():
                names = name, *files.list_visible(root + "/" + name)
                if any(one.lower().endswith(NOTE_ENDS) for one in names):
                    yield "%s/%s" % (letter, name), *MISPLACED

    def each(self, kinds: Sequence[str] | None = None) -> Iterator[Record]:
        """Yield all readable records of some kinds in the order of names."""
        if kinds is None:
            return self.each_by(self.read, self.names())
        folders = [kind for kind in KINDS if kind not in DATED_KINDS or kind in kinds]
        return self.each_by(self.read, self.names(folders), lambda record: record.kind in kinds)

    def each_by(
        self,
        read: Callable[[str], Named],
        names: Iterable[str],
        wanted: Callable[[Named], bool] = lambda record: True,
    ) -> Iterator[Named]:
        """Yield the wanted results of `read` in the order of names.

        Unreadable files are noted in `skipped`, repeated ids in `duplicates`.
        """
        self.duplicates = {}
        first: dict[str, str] = {}
        for name in names:
            try:
                record = read(name)
            except Unreadable as error:
                self.skipped.append(error.skipped)
                continue
            if not wanted(record):
                continue
            if record.id in first:
                self.duplicates.setdefault(record.id, [first[record.id]]).append(name)
            first.setdefault(record.id, name)
            yield record

    def read(self, name: str) -> Record:
        """Read a record, at most the first 1 MiB of its file.  Raises Unreadable."""
        return self.read_both(name)[0]

    def read_both(self, name: str) -> tuple[Record, bytes]:
        """Read a record and its bytes, at most 1 MiB.  Raises Unreadable."""
        data, stat = self._read_bytes(name, READ_LIMIT)
        if frontmatter.is_binary(data):
            raise Unreadable(name, 1, "not UTF-8 text", "save it as UTF-8")
        record = records.from_bytes(name, data, stat.st_mtime)
        if not is_kind_allowed(record.kind, record.tier):
            raise Unreadable(name, 1, *PRIVATE_ONLY)
        if stat.st_size <= len(data):
            return record, data
        problem = "line %d: only the first 1 MiB of %.1f is read; split the file" % (
            data.count(b"\n"),
            stat.st_size / READ_LIMIT,
        )
        return record.replaced(size=stat.st_size, problems=(*record.problems, problem)), data

    def raw(self, name: str) -> bytes:
        """Read a record's whole file, at most 64 MiB; raises Unreadable."""
        data, stat = self._read_bytes(name, WHOLE_LIMIT)
        if stat.st_size > len(data):
            raise Unreadable(name, 0, "above 64 MiB", "split the file")
        return data

    def find(self, text: str) -> Record:
        """Find a record by id, its prefix, name, file name or title.

        Else by the best `score_name`, if unique.  Of files with one id the user's own counts, then
        the newest.  Raises StoreError.
        """
        text = compose(text.strip())
        exact, stems, starts, known, called = self._match_names(text)
        if exact:
            return self.read(max(exact)[2])
        if len(stems) == 1:
            return self.read(stems[0][1])
        ids = match_ids(text, known)
        if not stems and len(ids) == 1:
            return self.read(max(starts)[1])
        if not stems and not ids:
            named = _best_matches(called)
            if len(named) == 1:
                return self.read(max(named.values()))
            ids = list(named)
        error = self._not_found_error(text, ids, [name for _, name in sorted(stems)], known)
        raise error if ids or stems else StoreError(str(error) + self._suggest_similar(text))

    def _match_names(self, text: str) -> _NameMatches:
        matches = _NameMatches([], [], [], {}, [])
        for record in self.each():
            entry = (record.updated, record.name)
            name, file = compose(record.name), compose(record.name.rpartition("/")[2])
            if text in (record.id, name):
                matches.exact.append((record.tier != SHARED, *entry))
            elif text in (file, file[:-3]):
                matches.stems.append(entry)
            elif text and record.id.startswith(text):
                matches.starts.append(entry)
                matches.known[record.id] = record.name
            else:
                matches.known.setdefault(record.id, record.name)
                matches.called.append((score_name(record, text), record.id, record.name))
        return matches

    def _suggest_similar(self, text: str) -> str:
        from difflib import get_close_matches

        if " " not in text:
            return ""
        titles = {compose(record.title).lower(): record for record in self.each()}
        near = [titles[title] for title in get_close_matches(text.lower(), titles, 3)]
        return "".join("\nnearest: %s %s" % (record.id, record.title[:80]) for record in near)

    def _not_found_error(
        self, text: str, named: list[str], stems: list[str], known: dict[str, str]
    ) -> StoreError:
        archived = [] if named else match_ids(text, self.away())
        if len(archived) != 1:
            return StoreError(format_not_found("record", text, named or stems, known, LISTED))
        id, shown = archived[0], text[:80]
        kept = self.successors().get(id)
        if kept:
            merged = "'%s' was merged into %s; use that, or `dayleaf store restore %s`"
            return StoreError(merged % (shown, kept, id))
        away = "'%s' is archived; `dayleaf store restore %s` brings it back"
        return StoreError(away % (shown, id))

    def find_archived(self, text: str) -> Record:
        """Find an archived record by its id, a prefix, or its title.  Raises StoreError."""
        letter, move = self._find_move(text.strip())
        return self.read(letter + "/" + move.away)

    def archived(self, kind: str, title: str = "") -> Iterator[Record]:
        """Yield a kind's readable archived records, named as in the archive.

        title: only records first written under this title; "" for all.
        """
        kinds = (kind,) if kind in DATED_KINDS else set(FOLDERS).difference(DATED_KINDS)
        wanted = {FOLDERS[name] for name in kinds}
        slugs = writer.slugs(kind, writer.title_line(title), "") if title else ()
        stems = tuple("%s/%s-" % (FOLDERS[kind], slug) for slug in slugs) or ("",)
        for letter, move in self.away().values():
            if not move.home.startswith(stems) or move.home.partition("/")[0] not in wanted:
                continue
            with contextlib.suppress(StoreError):
                record = self.read(letter + "/" + move.away)
                if record.kind == kind:
                    yield record

    # ---- the archives

    def successors(self) -> dict[str, str]:
        """Return the present successor of each merged archived record, by id."""
        from memory.store import archive

        return archive.successors(self.roots.items())

    def away(self) -> dict[str, tuple[str, Move]]:
        """Return (tier, latest move) of each archived record, by id.

        A file that the log does not know belongs where it lies below the archive.
        """
        from memory.store import archive

        found: dict[str, tuple[str, Move]] = {}
        for letter, root in reversed(list(self.roots.items())):
            found.update((id, (letter, m)) for id, m in archive.read_archived(root).items())
            known = {text for move, *_ in archive.read_log(root) for text in move}
            for name, *_ in walk_entries(root + "/archive") if letter != ADDED else ():
                away = "archive/" + name
                if away not in known and name.endswith(".md"):
                    with contextlib.suppress(StoreError):
                        record = self.read(letter + "/" + away)
                        if record.id not in known and (move := _place_unlogged(record, name)):
                            found[record.id] = letter, move
        return found

    def _find_move(self, text: str) -> tuple[str, Move]:
        away = self.away()
        found = match_ids(text, away) or list(self._match_archived_names(text, away))
        if len(found) == 1:
            return away[found[0]]
        if not found and text and any(record.id.startswith(text) for record in self.each()):
            raise StoreError("'%s' is not archived: it is in the store" % text[:80])
        logs = filter(files.exists, (root + "/archive/log.jsonl" for root in self.roots.values()))
        advice = "what is archived: " + ", ".join(logs) if away else "nothing is archived yet"
        raise StoreError(format_not_found("archived record", text, found, away, advice))

    def _match_archived_names(self, text: str, away: dict[str, tuple[str, Move]]) -> dict[str, str]:
        called: list[tuple[int, str, str]] = []
        for id, (letter, move) in away.items() if text else ():
            with contextlib.suppress(StoreError):
                record = self.read(letter + "/" + move.away)
                called.append((score_name(record, text), id, record.name))
        return _best_matches(called)

    # ---- files

    def _split_name(self, name: str) -> tuple[str, list[str]]:
        """Split a record's name into its tier's root and path parts.  Raises Unreadable."""
        parts = name.split("/") if len(name) <= 1024 else []
        added = parts[:2] == [ADDED, self.place.scope]
        if (
            len(parts) < 3
            or parts[0] not in self.roots
            or not (added or parts[1] in (*FOLDERS.values(), "archive"))
            or not name.endswith(record_suffixes(name))
            or not _is_path_below(name)
        ):
            shown = name[:200].replace("\0", "?")
            raise Unreadable(shown, 0, "not the name of a record", "name it as `recall` does")
        return self.roots[parts[0]], parts[2 if added else 1 :]

    def _read_bytes(self, name: str, limit: int) -> tuple[bytes, os.stat_result]:
        root, parts = self._split_name(name)
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
            raise Unreadable(name, 0, "no such record", LISTED) from None
        except OSError as error:
            reason = (error.strerror or "cannot be read").lower()
            remedy = "mend its permissions or move it out of the store"
            raise Unreadable(name, 0, reason, remedy) from None


def _place_unlogged(record: Record, name: str) -> Move | None:
    """Return the move of an archived file that no log knows, None for no record's.

    name: below the archive.
    """
    from memory.store import archive

    folder, _, file = name.rpartition("/")
    is_placed = folder.partition("/")[0] in FOLDERS.values()
    if not is_record(file) or not (is_placed or "id" in record.meta):
        return None
    home = name if is_placed else FOLDERS[record.kind] + "/" + file
    return archive.Move(record.id, home, "archive/" + name)


def open_beneath(root: str, parts: list[str]) -> int:
    """Open a regular file below a real directory, following no outward link.

    Each part is opened relative to the one before: a checked path could be swapped meanwhile.
    Raises OSError.
    """
    path = root + "/" + "/".join(parts)
    is_safe = os.open in os.supports_dir_fd
    if not is_safe or os.path.islink(path):
        target = files.real_path(path)
        if not files.is_inside(target, root):
            raise OSError(1, "a link out of the store")
        parts = target[len(root) + 1 :].split("/")
    if not is_safe:
        return files.open_read(path)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(part, flags | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = inner
        fd = os.open(parts[-1], flags | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(22, "not a regular file")
    return fd


SHORTEST = 4  # characters of an id in which a typo differs from another id


def match_ids(text: str, ids: Iterable[str]) -> list[str]:
    """Return the ids that a text may abbreviate, sorted."""
    known = sorted(set(ids))
    return [text] if text in known else [id for id in known if text and id.startswith(text)]


LISTED = "`dayleaf recall` lists the records"


def format_not_found(
    what: str, text: str, started: Sequence[str], ids: Iterable[str], otherwise: str
) -> str:
    """Return the message for a text that names no record.

    what: the noun, such as "record".  started: ids that start with the text.  ids: all; those one
    typo away are suggested.  otherwise: the advice where none is near.
    """
    if len(started) > 1:
        more = " and %d more" % (len(started) - 3) if len(started) > 3 else ""
        return "'%s' could be %s%s; give more of it" % (text[:80], ", ".join(started[:3]), more)
    near = [id for id in ids if is_typo(text, id)][:3]
    advice = "did you mean %s?" % ", ".join(near) if near else otherwise
    return "no %s '%s'; %s" % (what, text[:80], advice)


def is_typo(typed: str, id: str) -> bool:
    """Tell whether a text is a long enough id with one typo."""
    shorter = min(len(typed), len(id))
    if shorter < SHORTEST or abs(len(typed) - len(id)) > 1:
        return False
    start = next((at for at in range(shorter) if typed[at] != id[at]), shorter)
    rest, wanted = typed[start:], id[start:]
    return (
        rest[1:] == wanted[1:]  # a wrong letter
        or rest[1:] == wanted  # one too many
        or rest == wanted[1:]  # one missing
        or rest[1:2] + rest[:1] + rest[2:] == wanted  # two swapped
    )
