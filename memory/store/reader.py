"""The reading side of the store: finds and reads records, in the tiers and in their archives.

Names are checked, and files are opened part by part beneath their tier without following links.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from memory.core import StoreError, files, frontmatter, records
from memory.core.layout import ADDED, DATED, FOLDERS, SHARED, Place, endings, is_allowed
from memory.core.records import KINDS, READ_LIMIT, Record
from memory.core.walk import PRIVATE_ONLY, Listing
from memory.store import writer

if TYPE_CHECKING:
    from memory.store.archive import Move

WHOLE_LIMIT = 64 << 20  # bytes of a file that may be rewritten


class _HasId(Protocol):
    @property
    def id(self) -> str:
        """The record's id."""


Named = TypeVar("Named", bound=_HasId)


class Skipped(NamedTuple):
    """A file without a readable record.  line: of the fault, 0 for the whole file."""

    name: str
    line: int
    reason: str
    remedy: str


class Unreadable(StoreError):
    """A record that could not be read, with its `Skipped`."""

    def __init__(self, skipped: Skipped):
        super().__init__("%s: %s; %s" % (skipped.name, skipped.reason, skipped.remedy))
        self.skipped = skipped


class _Namesakes(NamedTuple):
    """Records by how a text names them.

    exact, stems, starts: by id or name, by file name, by an id's prefix, each with its time. known:
    the names of the others and of `starts`, by id.  called: how well it names the others.
    """

    exact: list[tuple[bool, float, str]]
    stems: list[tuple[float, str]]
    starts: list[tuple[float, str]]
    known: dict[str, str]
    called: list[tuple[int, str, str]]


def calls(record: Record, text: str) -> int:
    """Return how well a text names a record.

    3 by its title, 2 by a resource's path or its end, 1 by its file's name, else 0.
    """
    key = " ".join(text.lower().split())
    if not key:
        return 0
    path = record.meta.get("path") if record.kind == "resource" else None
    if any(key == " ".join(said.lower().split()) for said in (record.title, *record.aliases)):
        return 3
    if isinstance(path, str) and ("/" + path).endswith("/" + text.removeprefix("./").lstrip("/")):
        return 2
    return int(
        writer.bare_stem(record.name.rpartition("/")[2])
        == (text[:-3] if text.endswith(".md") else text)
    )


def _stays_below(name: str) -> bool:
    """Tell whether a name leads to a visible file below its root."""
    if "\0" in name or "\\" in name or (os.name == "nt" and ":" in name):
        return False
    return all(part and part[0] != "." for part in name.split("/"))


def _best(called: list[tuple[int, str, str]]) -> dict[str, str]:
    """Return the records that a text names best, id -> name."""
    best = max((how for how, _, _ in called), default=0)
    return {id: name for how, id, name in called if how == best > 0}


class Reader:
    """The records of one place, to be read.

    skipped: what the latest walk left out.  duplicates: names by the ids that stand twice in the
    latest `each`.
    """

    def __init__(self, place: Place):
        """Find the tiers of a place."""
        self.place = place
        self.skipped: list[Skipped] = []
        self.duplicates: dict[str, list[str]] = {}
        self.roots = {letter: files.real_path(root) for letter, root in place.tiers()}
        # A cloned repository whose .dayleaf points elsewhere would pass off other files as shared.
        if SHARED in self.roots and not files.inside(place.shared, place.root):
            del self.roots[SHARED]

    def names(
        self, kinds: Sequence[str] | None = None, walked: Listing | None = None
    ) -> Iterator[str]:
        """Yield the names of all record files, sorted.

        kinds: limits them to the folders of some kinds.  walked: all files of the place, where they
        were just listed.  Links out of the tier are noted in `skipped`.
        """
        walked = walked or Listing(self.place, KINDS if kinds is None else kinds)
        self.skipped = [Skipped(name, 0, reason, remedy) for name, reason, remedy in walked.left]
        yield from sorted(name for name, _, _, _ in walked.found)

    def each(self, kinds: Sequence[str] | None = None) -> Iterator[Record]:
        """Yield every readable record of some kinds in the order of names.

        The rest is noted in `skipped`.  A folder of DATED is only read for its own kind.
        """
        folders = (
            None
            if kinds is None
            else [kind for kind in KINDS if kind not in DATED or kind in kinds]
        )
        return self.each_by(
            self.read, self.names(folders), lambda record: kinds is None or record.kind in kinds
        )

    def each_by(
        self,
        read: Callable[[str], Named],
        names: Iterable[str],
        wanted: Callable[[Named], bool] = lambda one: True,
    ) -> Iterator[Named]:
        """Yield the result of `read` for each wanted name.

        What raises Unreadable is noted in `skipped`, ids that stand twice in `duplicates`.
        """
        self.duplicates = {}
        first: dict[str, str] = {}
        for name in names:
            try:
                one = read(name)
            except Unreadable as error:
                self.skipped.append(error.skipped)
                continue
            if not wanted(one):
                continue
            if one.id in first:
                self.duplicates.setdefault(one.id, [first[one.id]]).append(name)
            first.setdefault(one.id, name)
            yield one

    def read(self, name: str) -> Record:
        """Read a record, at most the first 1 MiB of its file.  Raises Unreadable."""
        return self.read_both(name)[0]

    def read_both(self, name: str) -> tuple[Record, bytes]:
        """Return (record, its bytes), as `read` does."""
        data, stat = self._bytes(name, READ_LIMIT)
        if frontmatter.undecodable(data):
            raise Unreadable(Skipped(name, 1, "not UTF-8 text", "save it as UTF-8"))
        record = records.from_bytes(name, data, stat.st_mtime)
        if not is_allowed(record.kind, record.tier):
            raise Unreadable(Skipped(name, 1, *PRIVATE_ONLY))
        if stat.st_size <= len(data):
            return record, data
        problem = "line %d: only the first 1 MiB of %.1f is read; split the file" % (
            data.count(b"\n"),
            stat.st_size / READ_LIMIT,
        )
        return record.replaced(size=stat.st_size, problems=(*record.problems, problem)), data

    def raw(self, name: str) -> bytes:
        """Return the whole file of a record, at most 64 MiB; raises Unreadable."""
        data, stat = self._bytes(name, WHOLE_LIMIT)
        if stat.st_size > len(data):
            raise Unreadable(Skipped(name, 0, "above 64 MiB", "split the file"))
        return data

    def find(self, text: str) -> Record:
        """Find a record by id, its prefix, name, file name or title.

        Else the only record that is called so counts, see `calls`.  Of several files with one id
        one's own counts, then the newest.  Raises StoreError.
        """
        text = text.strip()
        exact, stems, starts, known, called = self._namesakes(text)
        if exact:
            return self.read(max(exact)[2])
        if len(stems) == 1:
            return self.read(stems[0][1])
        found = begun(text, known)
        if not stems and len(found) == 1:
            return self.read(max(starts)[1])
        if not stems and not found:
            named = _best(called)
            if len(named) == 1:
                return self.read(max(named.values()))
            found = list(named)
        error = self._unfound(text, found, [name for _, name in sorted(stems)], known)
        raise error if found or stems else StoreError(str(error) + self._alike(text))

    def _namesakes(self, text: str) -> _Namesakes:
        """Sort the records by how a text names them."""
        like = _Namesakes([], [], [], {}, [])
        for record in self.each():
            entry = (record.updated, record.name)
            file = record.name.rpartition("/")[2]
            if record.id == text or record.name == text:
                like.exact.append((record.tier != SHARED, *entry))
            elif text in (file, file[:-3]):
                like.stems.append(entry)
            elif text and record.id.startswith(text):
                like.starts.append(entry)
                like.known[record.id] = record.name
            else:
                like.known.setdefault(record.id, record.name)
                like.called.append((calls(record, text), record.id, record.name))
        return like

    def _alike(self, text: str) -> str:
        """Name the records whose titles are like a text, or ""."""
        from difflib import get_close_matches

        titles = {one.title.lower(): one for one in self.each()} if " " in text else {}
        near = [titles[title] for title in get_close_matches(text.lower(), titles, 3)]
        return "".join("\nnearest: %s %s" % (one.id, one.title[:80]) for one in near)

    def _unfound(
        self, text: str, named: list[str], stems: list[str], known: dict[str, str]
    ) -> StoreError:
        """Return the error for a text that names no single record."""
        away = [] if named else begun(text, self.away())
        if len(away) != 1:
            return StoreError(no_such_record("record", text, named or stems, known, LISTED))
        kept = self.successors().get(away[0])
        if kept:
            return StoreError(
                "'%s' was merged into %s; use that, or `dayleaf store restore %s`"
                % (text[:80], kept, away[0])
            )
        return StoreError(
            "'%s' is archived; `dayleaf store restore %s` brings it back" % (text[:80], away[0])
        )

    def find_archived(self, text: str) -> Record:
        """Find an archived record by its id, a prefix, or its title.  Raises StoreError."""
        letter, move = self._find_move(text.strip())
        return self.read(letter + "/" + move.away)

    def archived(self, kind: str, title: str = "") -> Iterator[Record]:
        """Yield the readable archived records of a kind, by their names in the archive.

        title: only records first written under this title; "" for all.
        """
        dated = {FOLDERS[name] for name in DATED}
        wanted = (
            {FOLDERS[kind]}
            if kind in DATED
            else {folder for folder in FOLDERS.values() if folder not in dated}
        )
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
        """Return (tier, latest move) of each record in the archives, by id."""
        from memory.store import archive

        return {
            id: (letter, move)
            for letter, root in reversed(list(self.roots.items()))
            for id, move in archive.archived_moves(root).items()
        }

    def left(self) -> dict[str, str]:
        """Return the original path below its tier of each archived record, by id."""
        return {id: move.home for id, (_, move) in self.away().items()}

    def _find_move(self, text: str) -> tuple[str, Move]:
        away = self.away()
        found = begun(text, away) or list(self._called_away(text, away))
        if len(found) == 1:
            return away[found[0]]
        if not found and text and any(record.id.startswith(text) for record in self.each()):
            raise StoreError("'%s' is not archived: it is in the store" % text[:80])
        logs = ["%s/archive/log.jsonl" % root for root in self.roots.values()]
        raise StoreError(
            no_such_record(
                "archived record",
                text,
                found,
                away,
                "what is archived: " + ", ".join(filter(files.exists, logs))
                if away
                else "nothing is archived yet",
            )
        )

    def _called_away(self, text: str, away: dict[str, tuple[str, Move]]) -> dict[str, str]:
        """Return the archived records that a text names best, by id."""
        called: list[tuple[int, str, str]] = []
        for id, (letter, move) in away.items() if text else ():
            with contextlib.suppress(StoreError):
                record = self.read(letter + "/" + move.away)
                called.append((calls(record, text), id, record.name))
        return _best(called)

    # ---- files

    def _parts(self, name: str) -> tuple[str, list[str]]:
        """Return (root of its tier, path parts) of a record's name.  Raises Unreadable."""
        parts = name.split("/") if len(name) <= 1024 else []
        added = parts[:2] == [ADDED, self.place.scope]
        if (
            len(parts) < 3
            or parts[0] not in self.roots
            or not (added or _is_folder(parts[1]))
            or not name.endswith(endings(name))
            or not _stays_below(name)
        ):
            raise Unreadable(
                Skipped(
                    name[:200].replace("\0", "?"),
                    0,
                    "not the name of a record",
                    "name it as `recall` does",
                )
            )
        return self.roots[parts[0]], parts[1 + added :]

    def _bytes(self, name: str, limit: int) -> tuple[bytes, os.stat_result]:
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
            raise Unreadable(
                Skipped(name, 0, "no such record", "`dayleaf recall` lists the records")
            ) from None
        except OSError as error:
            reason = (error.strerror or "cannot be read").lower()
            raise Unreadable(
                Skipped(name, 0, reason, "mend its permissions or move it out of the store")
            ) from None


def open_beneath(root: str, parts: list[str]) -> int:
    """Open a regular file below a directory (a real path), following no outward link.

    Each part is opened relative to the part before: a path that was checked and then opened could
    be swapped in between.  Raises OSError.
    """
    if os.open not in os.supports_dir_fd:
        path = root + "/" + "/".join(parts)
        if not files.inside(path, root):
            raise OSError(1, "a link out of the store")
        return files.open_read(path)
    path = root + "/" + "/".join(parts)
    if os.path.islink(path):
        target = files.real_path(path)
        if not files.inside(target, root):
            raise OSError(1, "a link out of the store")
        parts = target[len(root) + 1 :].split("/")
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(
                part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at
            )
            os.close(at)
            at = inner
        fd = os.open(
            parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at
        )
    finally:
        os.close(at)
    if os.fstat(fd).st_mode & 0o170000 != 0o100000:
        os.close(fd)
        raise OSError(22, "not a regular file")
    return fd


def _is_folder(name: str) -> bool:
    if name in FOLDERS.values():
        return True
    from memory.store import archive

    return name == archive.FOLDER


SHORTEST = 4  # characters of an id in which a slip is told from another id


def begun(text: str, ids: Iterable[str]) -> list[str]:
    """Return the ids that a text may abbreviate, sorted."""
    known = sorted(set(ids))
    return [text] if text in known else [id for id in known if text and id.startswith(text)]


LISTED = "`dayleaf recall` lists the records"


def no_such_record(
    what: str, text: str, started: Sequence[str], ids: Iterable[str], otherwise: str
) -> str:
    """Return the message for a text that names no record.

    what: the noun, such as "record".  started: the ids that start with the text.  ids: all ids;
    those one typing slip away are suggested.  otherwise: the advice where none is near.
    """
    if len(started) > 1:
        more = " and %d more" % (len(started) - 3) if len(started) > 3 else ""
        return "'%s' could be %s%s; give more of it" % (text[:80], ", ".join(started[:3]), more)
    near = [id for id in ids if is_slip(text, id)][:3]
    return "no %s '%s'; %s" % (
        what,
        text[:80],
        "did you mean %s?" % ", ".join(near) if near else otherwise,
    )


def is_slip(typed: str, id: str) -> bool:
    """Tell whether one typing slip separates a text from an id.

    Ids of less than SHORTEST characters are never near: every other id would be.
    """
    if min(len(typed), len(id)) < SHORTEST or abs(len(typed) - len(id)) > 1:
        return False
    start = next(
        (at for at, (a, b) in enumerate(zip(typed, id)) if a != b), min(len(typed), len(id))
    )
    one, two = typed[start:], id[start:]
    return (
        one[1:] == two[1:]
        or one[1:] == two
        or one == two[1:]
        or (one[1:2] + one[:1] + one[2:] == two)
    )
