"""How a record's file is written: the name and bytes of a new one, and reading it back.

`Store` (store.py) writes the records of one workspace by their names, `TierWriter` whole files
anywhere below a home, to restore a backup or erase a text.  Both hold one lock, follow no link that
leads out, read back each file, and report to the index.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence
from zlib import crc32

from memory.core import StoreError, UsageError, clock, files, frontmatter, layout, records
from memory.core.layout import DATED_KINDS, FOLDERS, SHARED, Place
from memory.core.plaintext import one_line

TITLE_LIMIT = 200
WHOLE = 1 << 40  # bytes of a file that is rewritten: all of it
# key of a captured record: the checksum of its name, head and text as they were cleaned
CLEANED = "cleaned"


class NewRecord(NamedTuple):
    """A record not written yet.  stem: its path below a tier, up to the digits of `digest`."""

    stem: str
    digest: str
    id: str
    data: bytes


def compose_record(
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
    config: Any = None,
) -> NewRecord:
    """Compose a record without its secrets and private parts; raises UsageError.

    cleaned: removes secrets from a nested value of texts.  now: its creation if `extra` has none.
    mark: the seed of the id, "" for the text and time.  config: the settings of `cleaned`, None for
    the defaults.  The rest is as for `Store.add`.
    """
    more = _drop_own_keys(extra or {})
    title, body, given = cleaned(
        [title, body, {"session": session, **more, "tags": list(tags) or more.get("tags")}]
    )
    title = title_line(title)
    if not title and not body.strip():
        raise UsageError("nothing is left to keep: all of it is marked private")
    created = _parse_instant(given.pop("created", None), now)
    if mark:
        seed = files.sha256(mark.encode("utf-8", "replace"))
    else:
        seed = digest(kind, title, body, created)
    if kind == "conversation":
        given["written"] = body_checksum(body)
    id = records.id_letter(kind) + "-" + seed[:8]
    meta = {
        "id": id,
        "kind": kind,
        "title": title or None,
        "created": clock.iso(created),
        "tags": given.pop("tags") or None,
        "source": source,
        "session": given.pop("session") or None,
        **given,
    }
    name = FOLDERS[kind] + "/" + stem(kind, title, body, created)
    is_sealed = source == "auto" and (config is None or _is_all_clean(meta, body, config))
    return NewRecord(name, seed, id, _format_new(name, meta, body, is_sealed))


def _format_new(name: str, meta: Mapping[str, Any], body: str, is_sealed: bool) -> bytes:
    if not is_sealed:
        return frontmatter.format_file(meta, body)
    data = frontmatter.format_file({**meta, CLEANED: "crc-00000000"}, body)
    return _seal(name + "-0000.md", data, frontmatter.parse(data))


def _drop_own_keys(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that a caller may set in a record's frontmatter."""
    own = ("id", "kind", "title", "source", CLEANED)
    return {key: value for key, value in extra.items() if key not in own}


def slug(kind: str, title: str, body: str) -> str:
    """Return a title as part of a file's name, never empty."""
    return layout.file_slug(title or body[:80]) or kind


def slugs(kind: str, title: str, body: str) -> tuple[str, ...]:
    """Return a title's slug, and its former ASCII slug if different."""
    name = slug(kind, title, body)
    return (name,) if name.isascii() else (name, layout.slug(title or body[:80]) or kind)


def stem(kind: str, title: str, body: str, created: float) -> str:
    """Return a record's path below its folder, without the hex digits."""
    name = slug(kind, title, body)
    if kind not in DATED_KINDS:
        return name
    return "%s/%s-%s" % (clock.day(created), clock.iso(created)[11:19].replace(":", ""), name)


def body_checksum(body: str) -> str:
    """Return 12 hex digits of a text's SHA-256, as `written` holds them."""
    return files.sha256(body.strip().encode("utf-8", "surrogateescape"))[:12]


def is_sealed(name: str, meta: Mapping[str, Any], body: str) -> bool:
    """Tell whether a record is as dayleaf cleaned and wrote it."""
    return CLEANED in meta and meta[CLEANED] == _sum_clean(name, meta, body)


def _sum_clean(name: str, meta: Mapping[str, Any], body: str) -> str:
    # a CRC is twenty times as fast as a SHA-256, and notices an edit
    """Return the checksum of a cleaned record's name, head and text."""
    head = dict(meta)
    for key in (CLEANED, "imported"):  # two imports give the same bytes, but for the instant
        head.pop(key, None)
    head_crc = crc32((bare_stem(name.rpartition("/")[2]) + str(head)).encode("utf-8", "replace"))
    return "crc-%08x" % crc32(body.encode("utf-8", "surrogateescape"), head_crc)


def _is_all_clean(meta: Mapping[str, Any], body: str, config: Any) -> bool:
    """Tell whether redaction was on and let no allowed text through."""
    text = "\n".join((body, *map(str, meta.values())))
    lets_through = any(each and each in text for each in config["redact.allow"])
    return bool(config["redact.enabled"]) and not lets_through


def _seal(name: str, data: bytes, page: frontmatter.Page) -> bytes:
    """Return a record's bytes with their checksum in `cleaned`.  page: `data`, parsed."""
    old, new = page.meta.get(CLEANED), _sum_clean(name, page.meta, page.body)
    line = "\n%s: %%s\n" % CLEANED
    return data.replace((line % old).encode("utf-8", "replace"), (line % new).encode(), 1)


def keep_sealed(name: str, before: bytes, after: bytes, config: Any = None) -> bytes:
    """Return a record's new bytes, sealed again if the old ones were.

    config: the settings by which `after` was cleaned, None where it adds nothing.
    """
    if CLEANED.encode() not in before:
        return after
    page = frontmatter.parse(before)
    if not is_sealed(name, page.meta, page.body):
        return after
    new = frontmatter.parse(after)
    if config is not None and not _is_all_clean(new.meta, new.body, config):
        return after
    return _seal(name, after, new)


def bare_stem(file: str) -> str:
    """Return `prices` of `prices-8fc4.md`."""
    stem = file[:-3] if file.endswith(".md") else file
    head, _, tail = stem.rpartition("-")
    return head if head and len(tail) == 4 and set(tail) <= set("0123456789abcdef") else stem


def digest(kind: str, title: str, body: str, created: float) -> str:
    """Return the SHA-256 of a record's text and creation time."""
    text = "\0".join((kind, title, body, clock.iso(created)))
    return files.sha256(text.encode("utf-8", "replace"))


def title_line(title: str) -> str:
    """Return a title as one plain line of at most TITLE_LIMIT characters."""
    return one_line(title)[:TITLE_LIMIT]


def _parse_instant(value: Any, now: float) -> float:
    instant = clock.parse(value) if isinstance(value, str) else value
    if isinstance(instant, (int, float)) and not isinstance(instant, bool):
        return float(instant)
    return now


# ---- the steps of a write


def lock(home: str) -> files.Lock:
    """Return the lock for changes of records.  Entering it waits; raises OSError."""
    return files.Lock(home + "/cache/store.lock", wait=True)


def file_mode(tier: str) -> int:
    """Return a new file's permissions: all may read the shared tier."""
    return 0o644 if tier == SHARED else files.FILE_MODE


def verify_written(name: str, path: str, data: bytes) -> None:
    """Read a file back from the disk; raise StoreError if it differs, OSError."""
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


def _replace_synced(temp: str, path: str) -> None:
    os.replace(temp, path)
    files.sync(path.rpartition("/")[0])


class TierWriter:
    """The files of a home and of a repository's tier, written whole.

    Paths are absolute, below one of the two.  on_change: called with the name of each changed
    record.  Every method raises OSError, and StoreError where a link leads out or the file does
    not read back as written.
    """

    def __init__(self, place: Place, on_change: Callable[[str], None] | None = None):
        self.place, self.on_change = place, on_change
        self._lock = lock(place.home)

    def __enter__(self) -> TierWriter:
        self._lock.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.__exit__(*error)

    def create(self, path: str, data: bytes, access: int, mtime_ns: int) -> None:
        """Write a new file with permissions and time; raises FileExistsError as well."""
        self._refuse_outside(path)
        self._put(path, data, access, mtime_ns, files.move_without_replacing)

    def replace(self, path: str, data: bytes, mtime_ns: int) -> None:
        """Replace a file's bytes and time in one step.  Its permissions stay."""
        self._refuse_outside(path)
        self._put(path, data, os.stat(path).st_mode & 0o777, mtime_ns, _replace_synced)

    def _put(
        self, path: str, data: bytes, access: int, mtime_ns: int, land: Callable[[str, str], object]
    ) -> None:
        """Write a temporary file and let `land` move it to its path."""
        temp = files.stage(path, data, access, 0)
        try:
            files.sync(temp)
            os.utime(temp, ns=(mtime_ns, mtime_ns))
            land(temp, path)
        except OSError:
            files.remove(temp)
            raise
        verify_written(path, path, data)
        self._report_change(path)

    def rewrite(
        self, path: str, change: Callable[[bytes], bytes], by_hash: bool = False
    ) -> tuple[str, str]:
        """Change a file's bytes, not its time; return the old and new SHA-256.

        by_hash: the file is named after its SHA-256, and renamed.
        """
        self._refuse_outside(path)
        stat = os.stat(path)
        before = files.read(path, WHOLE, follow=False)
        data = change(before)
        old, new = files.sha256(before), files.sha256(data)
        if new == old:
            return old, new
        target = "%s/%s.md" % (path.rpartition("/")[0], new) if by_hash else path
        self._put(target, data, stat.st_mode & 0o777, stat.st_mtime_ns, _replace_synced)
        if target != path:
            files.remove(path)
        return old, new

    def overwrite(self, path: str, pieces: Callable[[bytes], Iterable[tuple[int, bytes]]]) -> None:
        """Overwrite parts of a log while other processes append to it.

        pieces: yields the (offset, bytes) to write, given the file's bytes.
        """
        self._refuse_outside(path)
        fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(fd, "r+b", buffering=0) as log:
            for offset, piece in pieces(log.read()):
                log.seek(offset)
                log.write(piece)
            os.fsync(log.fileno())

    def append(self, path: str, data: bytes) -> None:
        """Add lines to a log in one write."""
        self._refuse_outside(path)
        files.append(path, data)

    def rename(self, path: str, file: str) -> str:
        """Rename a file within its folder and return its new path.  Raises FileExistsError."""
        self._refuse_outside(path)
        target = path.rpartition("/")[0] + "/" + file
        if os.path.lexists(target):
            raise FileExistsError(17, "taken", target)
        os.rename(path, target)
        self._report_change(path)
        self._report_change(target)
        return target

    def remove(self, path: str) -> None:
        """Delete a file, if it is there."""
        self._refuse_outside(path)
        files.remove(path)
        self._report_change(path)

    def set_aside(self, path: str, reason: str, now: float) -> None:
        """Move a record to the archive, any other file to `<name>.before`."""
        from memory.store import archive

        self._refuse_outside(path)
        root, home = self._split_record_path(path)
        if not root:
            number, aside = 1, path + ".before"
            while os.path.lexists(aside):
                number, aside = number + 1, "%s.before%d" % (path, number)
            archive.move_file(path, aside, files.FILE_MODE)
            return
        data = files.read(path, WHOLE, follow=False)
        away = archive.find_free_path(root, home, files.sha256(data))
        access = file_mode(SHARED if root == self.place.shared else "")
        files.make_folder((root + "/" + away).rpartition("/")[0])
        if not frontmatter.is_binary(data):
            record = records.from_bytes("p/" + home, data[: records.READ_LIMIT], 0.0)
            archive.log(root, archive.Move(record.id, home, away), reason, now, access)
        archive.move_file(path, root + "/" + away, access)
        self._report_change(path)

    def _refuse_outside(self, path: str) -> None:
        """Raise StoreError for a path that leads outside through a link."""
        shared = self.place.shared
        root = shared if shared and path.startswith(shared + "/") else self.place.home
        if not files.is_inside(path.rpartition("/")[0], root):
            raise StoreError("a link leads out of %s; make it a directory" % root)

    def _split_record_path(self, path: str) -> tuple[str, str]:
        """Return (tier's directory, path below it) of a record, ("", "") otherwise."""
        workspaces = self.place.home + "/workspaces/"
        own = workspaces + path[len(workspaces) :].partition("/")[0]
        for root in (self.place.shared, self.place.everyone, own):
            home = path[len(root) + 1 :]
            is_record = home.endswith(".md") and home.partition("/")[0] in FOLDERS.values()
            if is_record and root and path.startswith(root + "/"):
                return root, home
        return "", ""

    def _report_change(self, path: str) -> None:
        root, home = self._split_record_path(path)
        letter = next((letter for letter, tier in self.place.tiers() if tier == root), "")
        if letter == SHARED:
            from memory.hook import announcements

            with contextlib.suppress(OSError):
                announcements.add_known_file(self.place, path)
        if letter and self.on_change is not None:
            self.on_change(letter + "/" + home)


def rename_workspace(place: Place, new: Place) -> None:
    """Rename a workspace's records, derived files and receipts."""
    with lock(place.home):
        files.posix.rename(place.private, new.private)
        for old, target in ((place.cache, new.cache), (place.receipts_folder, new.receipts_folder)):
            # derived, or a log: the memories themselves have moved
            with contextlib.suppress(OSError):
                files.posix.rename(old, target)


def join_workspace(place: Place, new: Place) -> None:
    """Move a workspace's records, receipts and session states into another.

    A file whose name is taken there stays; lines of a log are appended.
    """
    with lock(place.home):
        for old, target in (
            (place.private, new.private),
            (place.receipts_folder, new.receipts_folder),
            (place.cache + "/sessions", new.cache + "/sessions"),
        ):
            _merge_folders(old, target)


def _merge_folders(old: str, target: str) -> None:
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
