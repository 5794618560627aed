"""How a record's file is written: its name and bytes when it is new, and the proof that what was
written stands on the disk.

`Store` (store.py) writes the records of one workspace by their names.  `Tiers` writes whole files
anywhere below a home: for a backup that is restored, a text that is erased.  Both hold one lock,
write nothing through a link that leads out, read back what they wrote, and tell the index.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from memory.core import StoreError, UsageError, clock, files, frontmatter, layout, records
from memory.core.layout import DATED, FOLDERS, SHARED, Place
from memory.core.plaintext import one_line
from memory.hook import announcements

TITLE_LIMIT = 200
WHOLE = 1 << 40  # bytes of a file that is rewritten: all of it


class New(NamedTuple):
    """A record not written yet.  stem: its path below a tier without the digits of digest."""

    stem: str
    digest: str
    id: str
    data: bytes


def composed(
    kind: str,
    title: str,
    body: str,
    cleaned: Callable[[Any], Any],
    now: float,
    *,
    tags: Sequence[str] = (),
    source: str = "human",
    session: str = "",
    extra: Mapping[str, Any] | None = None,
    mark: str = "",
) -> New:
    """Compose a record without its secrets and private parts; raises UsageError.

    cleaned: takes them out of a structure of texts.  now: its creation time where `extra` names
    none, seconds since the epoch.  mark: what the id follows from; its own text and time where it
    is "".  The rest is as for `Store.add`.
    """
    _refuse_unknown(kind, source)
    more = _free(extra or {})
    title, body, given = cleaned(
        [title, body, {"session": session, **more, "tags": list(tags) or more.get("tags")}]
    )
    title = title_line(title)
    if not title and not body.strip():
        raise UsageError("nothing is left to keep: all of it is marked private")
    created = _instant(given.pop("created", None), now)
    if mark:
        told = files.sha256(mark.encode("utf-8", "replace"))
    else:
        told = digest(kind, title, body, created)
    if kind == "conversation":
        given["written"] = body_mark(body)
    identity = records.letter(kind) + "-" + told[:8]
    meta = {
        "id": identity,
        "kind": kind,
        "title": title or None,
        "created": clock.iso(created),
        "tags": given.pop("tags") or None,
        "source": source,
        "session": given.pop("session") or None,
        **given,
    }
    return New(
        FOLDERS[kind] + "/" + stem(kind, title, body, created),
        told,
        identity,
        frontmatter.compose(meta, body),
    )


def _free(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that a caller may give a record's head."""
    own = ("id", "kind", "title", "source")
    return {key: value for key, value in extra.items() if key not in own}


def _refuse_unknown(kind: str, source: str) -> None:
    if kind not in FOLDERS:
        raise UsageError("no kind '%s'; use one of %s" % (kind, ", ".join(records.KINDS)))
    if source not in records.SOURCES:
        raise UsageError("no source '%s'; use one of %s" % (source, ", ".join(records.SOURCES)))


def slug(kind: str, title: str, body: str) -> str:
    """Return a title's form in a file's name, never empty."""
    return layout.file_slug(title or body[:80]) or kind


def slugs(kind: str, title: str, body: str) -> tuple[str, ...]:
    """Return a title's file names, now and in ASCII."""
    named = slug(kind, title, body)
    return (named,) if named.isascii() else (named, layout.slug(title or body[:80]) or kind)


def stem(kind: str, title: str, body: str, created: float) -> str:
    """Return the prefix of a record's file name, dated or not."""
    named = slug(kind, title, body)
    return (
        named
        if kind not in DATED
        else "%s/%s-%s" % (clock.day(created), clock.iso(created)[11:19].replace(":", ""), named)
    )


def body_mark(body: str) -> str:
    """Return the mark `written` of a conversation's text: 12 hex digits of its SHA-256."""
    return files.sha256(body.strip().encode("utf-8", "surrogateescape"))[:12]


def bare_stem(file: str) -> str:
    """Return `prices` of `prices-8fc4.md`."""
    stem = file[:-3] if file.endswith(".md") else file
    head, _, tail = stem.rpartition("-")
    return head if head and len(tail) == 4 and set(tail) <= set("0123456789abcdef") else stem


def digest(kind: str, title: str, body: str, created: float) -> str:
    """Return the SHA-256 of a record's text and instant."""
    return files.sha256(
        "\0".join((kind, title, body, clock.iso(created))).encode("utf-8", "replace")
    )


def title_line(title: str) -> str:
    """Return a title as one plain line of at most TITLE_LIMIT characters."""
    return one_line(title)[:TITLE_LIMIT]


def _instant(value: Any, now: float) -> float:
    found = clock.parse(value) if isinstance(value, str) else value
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else now


# ---- the steps of a write


def lock(home: str) -> files.Lock:
    """Return the lock for changes of records.  Entering it waits, and raises OSError."""
    return files.Lock(home + "/cache/store.lock", wait=True)


def mode(tier: str) -> int:
    """Return the permissions of a new file; the shared tier is committed."""
    return 0o644 if tier == SHARED else files.FILE_MODE


def prove(name: str, path: str, data: bytes) -> None:
    """Read a written file back, past the system's cache.  Raises StoreError, OSError."""
    fd = files.open_read(path)
    try:
        if hasattr(os, "posix_fadvise"):
            with contextlib.suppress(OSError):
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        same = files.read_fd(fd, len(data) + 1) == data
    finally:
        os.close(fd)
    if not same:
        raise StoreError(
            "%s cannot be read back as written; check the disk, then write it again" % name
        )


# ---- whole files of a home


def _swap(temp: str, path: str) -> None:
    os.replace(temp, path)
    files.sync(path.rpartition("/")[0])


class Tiers:
    """The files of a home and of a repository's tier, written whole.

    Paths are absolute and stand below one of the two.  Every method raises OSError, and StoreError
    where a link leads out or the file does not read back as it was written.
    """

    def __init__(self, place: Place, on_change: Callable[[str], None] | None = None):
        """Prepare to write.  on_change: told the name of each record written or moved away."""
        self.place, self.on_change = place, on_change
        self._lock = lock(place.home)

    def __enter__(self) -> Tiers:
        self._lock.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.__exit__(*error)

    def create(self, path: str, data: bytes, access: int, mtime_ns: int) -> None:
        """Write a new file with permissions and time; raises FileExistsError as well."""
        self._beneath(path)
        self._put(path, data, access, mtime_ns, files.move_without_replacing)

    def replace(self, path: str, data: bytes, mtime_ns: int) -> None:
        """Replace a file's bytes and time in one step.  Its permissions stay."""
        self._beneath(path)
        self._put(path, data, os.stat(path).st_mode & 0o777, mtime_ns, _swap)

    def _put(
        self, path: str, data: bytes, access: int, mtime_ns: int, land: Callable[[str, str], object]
    ) -> None:
        temp = files.stage(path, data, access, 0)
        try:
            files.sync(temp)
            os.utime(temp, ns=(mtime_ns, mtime_ns))
            land(temp, path)
        except OSError:
            files.remove(temp)
            raise
        prove(path, path, data)
        self._tell(path)

    def rewrite(
        self, path: str, change: Callable[[bytes], bytes], by_hash: bool = False
    ) -> tuple[str, str]:
        """Change a file's bytes alone.  Return its old and new SHA-256.

        by_hash: the file is named after its SHA-256, and gets its new name.
        """
        self._beneath(path)
        stat = os.stat(path)
        before = files.read(path, WHOLE, follow=False)
        data = change(before)
        old, new = files.sha256(before), files.sha256(data)
        if new == old:
            return old, new
        folder = path.rpartition("/")[0]
        target = "%s/%s.md" % (folder, new) if by_hash else path
        temp = files.stage(target, data, stat.st_mode & 0o777, 0)
        files.sync(temp)
        os.utime(temp, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        os.replace(temp, target)
        files.sync(folder)
        prove(target, target, data)
        if target != path:
            files.remove(path)
        self._tell(path)
        return old, new

    def overwrite(self, path: str, pieces: Callable[[bytes], Iterable[tuple[int, bytes]]]) -> None:
        """Overwrite parts of a log to which other processes append, keeping its size.

        pieces: returns for the file's bytes the (offset, bytes) to be written.
        """
        self._beneath(path)
        fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(fd, "r+b", buffering=0) as log:
            for offset, piece in pieces(log.read()):
                log.seek(offset)
                log.write(piece)
            os.fsync(log.fileno())

    def append(self, path: str, data: bytes) -> None:
        """Add lines to a log in one write."""
        self._beneath(path)
        files.append(path, data)

    def rename(self, path: str, file: str) -> str:
        """Rename a file within its folder and return its new path.  Raises FileExistsError."""
        self._beneath(path)
        target = path.rpartition("/")[0] + "/" + file
        if os.path.lexists(target):
            raise FileExistsError(17, "taken", target)
        os.rename(path, target)
        self._tell(path)
        self._tell(target)
        return target

    def remove(self, path: str) -> None:
        """Delete a file, if it is there."""
        self._beneath(path)
        files.remove(path)
        self._tell(path)

    def set_aside(self, path: str, reason: str, now: float) -> None:
        """Move a record to the archive, another file to `<name>.before`.

        reason: for the archive's log.  now: seconds since the epoch, UTC.
        """
        from memory.store import archive

        self._beneath(path)
        root, home = self._record(path)
        if not root:
            number, aside = 1, path + ".before"
            while os.path.lexists(aside):
                number, aside = number + 1, "%s.before%d" % (path, number)
            archive.move_file(path, aside, files.FILE_MODE)
            return
        data = files.read(path, WHOLE, follow=False)
        away, access = (
            archive.free_place(root, home, files.sha256(data)),
            mode(SHARED if root == self.place.shared else ""),
        )
        files.make_folder((root + "/" + away).rpartition("/")[0])
        if not frontmatter.undecodable(data):
            record = records.from_bytes("p/" + home, data[: records.READ_LIMIT], 0.0)
            archive.log(root, archive.Move(record.id, home, away), reason, now, access)
        archive.move_file(path, root + "/" + away, access)
        self._tell(path)

    def _beneath(self, path: str) -> None:
        """Raise StoreError for a path leading outside through a link."""
        root = (
            self.place.shared
            if self.place.shared and path.startswith(self.place.shared + "/")
            else self.place.home
        )
        if not files.inside(path.rpartition("/")[0], root):
            raise StoreError("a link leads out of %s; make it a directory" % root)

    def _record(self, path: str) -> tuple[str, str]:
        """Return (tier's directory, path below) of a record's file."""
        workspaces = self.place.home + "/workspaces/"
        own = workspaces + path[len(workspaces) :].partition("/")[0]
        for root in (self.place.shared, self.place.everyone, own):
            home = path[len(root) + 1 :]
            if (
                root
                and path.startswith(root + "/")
                and home.partition("/")[0] in FOLDERS.values()
                and home.endswith(".md")
            ):
                return root, home
        return "", ""

    def _tell(self, path: str) -> None:
        root, home = self._record(path)
        letter = next((letter for letter, tier in self.place.tiers() if tier == root), "")
        if letter == SHARED:
            with contextlib.suppress(OSError):
                announcements.remember_file(self.place, path)
        if letter and self.on_change is not None:
            self.on_change(letter + "/" + home)


def rename_workspace(place: Place, new: Place) -> None:
    """Rename a workspace's records, derived files and receipts.  Raises OSError for none."""
    with lock(place.home):
        files.posix.rename(place.private, new.private)
        for old, target in ((place.cache, new.cache), (place.receipts_folder, new.receipts_folder)):
            # derived, or a log: the memories themselves have moved
            with contextlib.suppress(OSError):
                files.posix.rename(old, target)


def join_workspace(place: Place, new: Place) -> None:
    """Move a workspace's records, receipts and session states into another.

    Of two files of one name the other's stays, and this one stays where it is; lines of a log come
    after the other's.  Raises OSError.
    """
    with lock(place.home):
        for old, target in (
            (place.private, new.private),
            (place.receipts_folder, new.receipts_folder),
            (place.cache + "/sessions", new.cache + "/sessions"),
        ):
            _join(old, target)


def _join(old: str, target: str) -> None:
    for folder, _, names in os.walk(old, topdown=False):
        there = target + folder[len(old) :]
        for name in names:
            path, wanted = folder + "/" + name, files.make_folder(there) + "/" + name
            if not os.path.lexists(wanted):
                files.posix.rename(path, wanted)
            elif name.endswith(".jsonl"):
                files.append(wanted, files.read(path))
                files.remove(path)
        with contextlib.suppress(OSError):  # what is left in it stays
            os.rmdir(folder)
