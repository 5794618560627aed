"""Writes the home into one backup file, and reads such a file without trusting its contents.

Format, version 1: a gzipped tar of regular files, `home/<path below the home>` and `shared/<path
below .dayleaf>`, in order of their names, then `manifest.json`, one line:

    {"v":1,"dayleaf":"0.1.0","made":"2026-11-21T14:30:52Z","workspace":"" or a key,
     "folders":[["home/global",mode,mtime ns]],"files":[["home/trust.jsonl",size,mode,mtime
     ns,"<SHA-256>"]], "left":[["home/x","a link"]],
     "known":[["<workspace>","<a commit of it>","<its name by its remote>"]]}

Left out are derived files and those of this machine (`cache`, `runtime`, `spawn`, `sync`), locks,
temporary files, and links, which `left` lists.  A file is read whole, as its writers replace it
whole; of a ledger, all complete lines.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Callable, NamedTuple

from memory import __version__
from memory.core import StoreError, clock, fastjson, files, layout, walk
from memory.core.layout import PLACES, Place
from memory.project import adoption

VERSION, MANIFEST, HOME, SHARED = 1, "manifest.json", "home", "shared"
# of the home; a backup holds no paths of this machine
EXCLUDED = ("cache", "runtime", "spawn", "sync", PLACES[1:])
MOST_WALKS = 5  # searches for files that move while a backup runs
PIECE, MOST_BYTES, MOST_FILES = 1 << 20, 16 << 30, 1_000_000
FREE_BYTES, RATIO = 256 << 20, 200  # a file may grow to FREE_BYTES, or to RATIO times its size
# a backup may hold FREE_FILES files, and one more for each FILE_BYTES of its size
FREE_FILES, FILE_BYTES = 10_000, 32
# a file that is read whole may have FREE_PIECE bytes, or PIECE_RATIO times the backup's size
FREE_PIECE, PIECE_RATIO = 24 << 20, 50
HEADER_BYTES, FREE_MANIFEST, ROW_BYTES = 1 << 16, 1 << 20, 1 << 9
_EXISTS = "%s exists already, and a backup overwrites nothing; name another FILE"
LAST_TIME = (1 << 63) - 1  # ns since 1970; tmpfs keeps later times, which no other file system does
BROKEN = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    ArithmeticError,
    RecursionError,
    tarfile.TarError,
    zlib.error,
)


class BackupFile(NamedTuple):
    """A file's row in the manifest."""

    name: str
    size: int
    mode: int
    mtime_ns: int
    sha256: str


class Backup(NamedTuple):
    """The contents of a backup.

    made: ISO 8601. workspace: "" for all. folders: (name, mode, mtime in ns). left: (name, why) of
    files left out. vanished: number of files deleted meanwhile. known: (workspace, commit, name by
    its remote), by which repositories are recognised elsewhere.
    """

    made: str
    workspace: str
    folders: list[tuple[str, int, int]]
    files: list[BackupFile]
    left: list[tuple[str, str]]
    vanished: int = 0
    known: tuple[tuple[str, str, str], ...] = ()


Progress = Callable[[int, int], None]


def _check_target(place: Place, target: str) -> None:
    """Raise StoreError for a path where no backup may be written."""
    if os.path.lexists(target):
        raise StoreError(_EXISTS % target)
    folder = os.path.dirname(target)
    if any(files.is_inside(folder, root) for root in (place.home, place.shared) if root):
        raise StoreError("%s lies inside what is backed up; name a FILE elsewhere" % target)


def write_backup(
    place: Place,
    target: str,
    now: float,
    workspace: str = "",
    shared: bool = False,
    progress: Progress = lambda done, of: None,
    seal: Callable[[str, str], None] | None = None,
) -> Backup:
    """Write and verify a backup in a new file; return its contents.

    workspace: the key of the only one, with its receipts; "" for the whole home. shared: the
    repository's tier too. progress: called with (files done, files). seal: encrypts a file into
    another one. Raises StoreError.
    """
    _check_target(place, target)
    folder = os.path.dirname(target)
    temp = files.temp_path(folder, "backup")
    plain = files.temp_path(files.make_folder(place.home + "/cache"), "plain") if seal else temp
    try:
        with _lock_store(place.home):
            known = adoption.read_known_workspaces(place.home)
            known = [row for row in known if workspace in ("", row[0])]
            made = Backup(clock.iso(now), workspace, [], [], [], known=tuple(known))
            roots = list(_list_roots(place, workspace, shared))
            made = _write_archive(plain, roots, made, now, progress)
        if read_backup(plain) != made._replace(vanished=0):
            raise StoreError("%s cannot be read back as written; check the disk" % target)
        if seal:
            seal(plain, temp)
        files.move_without_replacing(temp, target)
        files.sync(folder)
    except FileExistsError:
        raise StoreError(_EXISTS % target) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise StoreError(
            "%s could not be written: %s; name a FILE elsewhere" % (target, why)
        ) from None
    finally:
        for path in {temp, plain}:
            files.remove(path)
    return made


@contextmanager
def _lock_store(home: str) -> Iterator[None]:
    """Lock the store against moves of records, unless the home is read-only."""
    lock = files.Lock(home + "/cache/store.lock", wait=True)
    try:
        lock.__enter__()
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES):
            raise
    try:
        yield
    finally:
        lock.__exit__()


def _list_roots(place: Place, workspace: str, shared: bool) -> Iterator[tuple[str, str]]:
    """Yield (name in the backup, folder) for each folder to back up."""
    if workspace:
        for part in ("workspaces/", "log/receipts/"):
            yield "%s/%s%s" % (HOME, part, workspace), "%s/%s%s" % (place.home, part, workspace)
    else:
        yield HOME, place.home
    tier = place.shared if shared else ""
    if tier and files.is_folder(tier) and files.is_inside(tier, place.root):
        yield SHARED, tier


def _write_archive(
    temp: str, roots: list[tuple[str, str]], made: Backup, now: float, progress: Progress
) -> Backup:
    fd = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, files.FILE_MODE)
    with os.fdopen(fd, "wb") as raw:
        with (
            gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            made = _add_files(tar, roots, made, progress)
            line = fastjson.dump(
                {
                    "v": VERSION,
                    "dayleaf": __version__,
                    "made": made.made,
                    "workspace": made.workspace,
                    "folders": made.folders,
                    "files": made.files,
                    "left": made.left,
                    "known": made.known,
                }
            ).encode("ascii")
            manifest = BackupFile(MANIFEST, len(line), files.FILE_MODE, int(now) * 10**9, "")
            _add_member(tar, manifest, line)
        raw.flush()
        os.fsync(raw.fileno())
    return made


def _add_files(
    tar: tarfile.TarFile, roots: list[tuple[str, str]], made: Backup, progress: Progress
) -> Backup:
    done: dict[str, BackupFile] = {}
    vanished, unread = set[str](), dict[str, str]()
    for _ in range(MOST_WALKS):
        folders, found, left = _list_files(roots)
        known = {*done, *vanished, *unread}
        new = [(name, path) for name, path in found if name not in known]
        for number, (name, path) in enumerate(new):
            progress(number, len(new))
            try:
                done[name], data = _read_file(name, path)
                _add_member(tar, done[name], data)
            except FileNotFoundError:
                vanished.add(name)
            except OSError as error:
                unread[name] = (error.strerror or "unreadable").lower()
        if not new:
            break
    spelled = sorted(
        (name.encode("utf-8", "replace").decode("utf-8"), why)
        for name, why in (*left, *unread.items())
    )
    ordered = [done[name] for name in sorted(done)]
    return made._replace(folders=folders, files=ordered, left=spelled, vanished=len(vanished))


def _list_files(
    roots: list[tuple[str, str]],
) -> tuple[list[tuple[str, int, int]], list[tuple[str, str]], list[tuple[str, str]]]:
    """Return (folders, files, what is left out and why), each sorted."""
    folders: list[tuple[str, int, int]] = []
    found: list[tuple[str, str]] = []
    left: list[tuple[str, str]] = []
    for top, root in roots:
        for inner, path, stat in walk.walk_entries(
            root, lambda name: _find_exclusion(top, name) is None
        ):
            name = top + "/" + inner if inner else top
            why = _find_exclusion(top, inner)
            if why is None:
                why = _find_hindrance(path, stat)
            if why is None and walk.is_folder(stat):
                folders.append((name, stat.st_mode & 0o777, _clip_time(stat)))
            elif why is None:
                found.append((name, path))
            elif why:
                left.append((name, why))
    return sorted(folders), sorted(found), sorted(left)


def _clip_time(stat: os.stat_result) -> int:
    return max(-LAST_TIME, min(stat.st_mtime_ns, LAST_TIME))


def _find_hindrance(path: str, stat: Any) -> str | None:
    """Return why an entry cannot be kept, "" if deleted, None if it can."""
    if isinstance(stat, FileNotFoundError):
        return ""
    if isinstance(stat, OSError):
        return (stat.strerror or "unreadable").lower()
    if walk.is_folder(stat) or walk.is_regular(stat):
        return None
    return "a link" if files.is_link(path) else "not a regular file"


def _find_exclusion(top: str, inner: str) -> str | None:
    """Return why a name is left out, "" if by rule, None if kept."""
    is_temporary = inner.rpartition("/")[2].startswith(files.TEMP_PREFIX) or inner.endswith(".lock")
    if is_temporary or (top == HOME and inner in EXCLUDED):
        return ""
    is_utf8 = inner.isascii() or inner.encode("utf-8", "replace") == os.fsencode(inner)
    return None if is_utf8 else "a name that is not UTF-8; rename it"


def _read_file(name: str, path: str) -> tuple[BackupFile, bytes]:
    """Return (the file's row, its bytes) for a backup; raises OSError."""
    fd = files.open_read(path, follow=False)
    try:
        stat = os.fstat(fd)
        data = files.read_fd(fd)
    finally:
        os.close(fd)
    if name.endswith(".jsonl"):  # another process may be in the middle of a line
        data = data[: data.rfind(b"\n") + 1]
    mode, time = stat.st_mode & 0o777, _clip_time(stat)
    return BackupFile(name, len(data), mode, time, files.sha256(data)), data


def _add_member(tar: tarfile.TarFile, kept: BackupFile, data: bytes) -> None:
    info = tarfile.TarInfo(kept.name)
    info.size, info.mode, info.mtime = kept.size, kept.mode, kept.mtime_ns // 10**9
    tar.addfile(info, BytesIO(data))


# ---- reading one


class _TarReader:
    """Reads a packed tar of `size` bytes once, from front to end.

    Raises ValueError for more unpacked bytes than `size` allows. `tarfile` would keep every member
    that it has seen, and read headers of any size whole.
    """

    def __init__(self, packed: gzip.GzipFile, size: int):
        self.packed, self.left = packed, min(MOST_BYTES, max(FREE_BYTES, RATIO * size))
        self.room, self.most_files = self.left, min(MOST_FILES, FREE_FILES + size // FILE_BYTES)
        self.most_piece = max(FREE_PIECE, PIECE_RATIO * size)

    def read(self, size: int) -> bytes:
        """Read exactly `size` bytes; raises EOFError for fewer."""
        self.left -= size
        if self.left < 0:
            raise self._refuse_size(self.room)
        data = self.packed.read(size)
        if len(data) < size:
            raise EOFError("it is cut short")
        return data

    def read_pieces(self, size: int) -> Iterator[bytes]:
        """Yield a member's bytes in pieces; skip its padding."""
        if size > min(self.most_piece, self.left):
            raise self._refuse_size(min(self.most_piece, self.room))
        for at in range(0, size, PIECE):
            yield self.read(min(size - at, PIECE))
        self.read(-size % tarfile.BLOCKSIZE)

    def read_header(self) -> tuple[str, int] | None:
        """Return (name, size) of the next member, None at the end."""
        more: dict[str, str] = {}
        while True:
            block = self.read(tarfile.BLOCKSIZE)
            if not block.strip(b"\0"):
                return None
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            if info.type != tarfile.XHDTYPE:
                break
            if more or info.size > HEADER_BYTES:
                raise ValueError("one of its headers is too large")
            more = _parse_extended_header(b"".join(self.read_pieces(info.size)))
        return _check_member(info, more)

    def read_rest(self) -> None:
        """Read the rest, so that gzip checks its checksum."""
        while self.packed.read(PIECE):
            self.left -= PIECE
            if self.left < -PIECE:
                raise self._refuse_size(self.room)

    def _refuse_size(self, room: int) -> ValueError:
        return ValueError("it would take more than %d MiB unpacked" % (room >> 20))


def _parse_extended_header(data: bytes) -> dict[str, str]:
    """Parse a pax header: lines of `<their length> <key>=<value>`."""
    found: dict[str, str] = {}
    while data:
        size = int(data[: data.index(b" ")])
        key, equals, value = data[data.index(b" ") + 1 : size - 1].decode("utf-8").partition("=")
        if size <= 0 or not equals or data[size - 1 : size] != b"\n":
            raise ValueError("one of its headers is broken")
        found[key] = value
        data = data[size:]
    return found


def read_backup(path: str) -> Backup:
    """Read and check a whole backup; return its contents; write nothing.

    Raises StoreError for a faulty, newer or unsafe one.
    """
    seen: dict[str, tuple[int, str]] = {}
    manifest = b""
    for name, size, pieces in read_members(path):
        if name == MANIFEST:
            if size > FREE_MANIFEST + ROW_BYTES * len(seen):
                raise _make_refusal(path, "its manifest is too large")
            manifest = b"".join(pieces)
        else:
            seen[name] = size, _hash_pieces(pieces)
    if not manifest:
        raise _make_refusal(path, "it has no manifest: it is cut short, or not a dayleaf backup")
    with _raise_store_errors(path):
        found = _parse_manifest(fastjson.parse(manifest))
        listed = {kept.name: (kept.size, kept.sha256) for kept in found.files}
        wrong = sorted(name for name, _ in seen.items() ^ listed.items())
        if wrong or len(listed) != len(found.files):
            name = (wrong or sorted(listed))[0]
            raise ValueError("%s is not as its manifest says" % quote_name(name))
    return found


def _hash_pieces(pieces: Iterator[bytes]) -> str:
    state = hashlib.sha256()
    for piece in pieces:
        state.update(piece)
    return state.hexdigest()


def read_members(path: str) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    """Yield (name, size, pieces of bytes) of each file, the manifest too."""
    with _raise_store_errors(path), open(path, "rb") as raw, gzip.GzipFile(fileobj=raw) as packed:
        unpacked, seen = _TarReader(packed, os.fstat(raw.fileno()).st_size), set[str]()
        for name, size in iter(unpacked.read_header, None):
            if name in seen:
                raise ValueError("%s is in it twice" % quote_name(name))
            if len(seen) >= unpacked.most_files:
                raise ValueError("it holds too many files")
            seen.add(name)
            pieces = _read_pieces(path, unpacked, size)
            yield name, size, pieces
            for _ in pieces:  # skip bytes that the caller did not read
                pass
        unpacked.read_rest()


@contextmanager
def _raise_store_errors(path: str) -> Iterator[None]:
    """Turn any fault of a backup into a StoreError."""
    try:
        yield
    except BROKEN as error:
        why = (error.strerror or "").lower() if isinstance(error, OSError) else ""
        raise _make_refusal(path, why or str(error) or type(error).__name__) from None


def _read_pieces(path: str, unpacked: _TarReader, size: int) -> Iterator[bytes]:
    with _raise_store_errors(path):
        yield from unpacked.read_pieces(size)


def is_safe_name(name: str) -> bool:
    """Tell whether a name in a backup stays inside the home or `.dayleaf`."""
    parts = name.split("/")
    return (
        len(name) <= 1024
        and len(parts) > 1
        and parts[0] in (HOME, SHARED)
        and not any(part in ("", ".", "..") for part in parts)
        and not (parts[0] == HOME and parts[1].casefold() in EXCLUDED)
        and "\\" not in name
        and "\0" not in name
        and not (os.name == "nt" and ":" in name)
    )


def _check_member(info: tarfile.TarInfo, more: dict[str, str]) -> tuple[str, int]:
    """Return (name, size) of a tar's member; raises ValueError for an unsafe one.

    more: the fields of its extended header.
    """
    name = more.get("path", info.name)
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or any(
        key.startswith("GNU.sparse") for key in more
    ):
        raise ValueError("%s is not a regular file" % quote_name(name))
    if not (name == MANIFEST or is_safe_name(name)):
        raise ValueError("the name %s leads outside" % quote_name(name))
    size = int(more.get("size", info.size))
    if size < 0:
        raise ValueError("%s has no size" % quote_name(name))
    return name, size


def _parse_manifest(value: Any) -> Backup:
    if isinstance(value["v"], int) and value["v"] > VERSION:
        raise ValueError(
            "it was made by a newer dayleaf (%s); restore it with that version"
            % quote_name(str(value["dayleaf"]))
        )
    if value["v"] != VERSION:
        raise ValueError("its manifest has an unknown version")
    found = Backup(
        str(value["made"]),
        str(value["workspace"]),
        [(str(name), int(mode) & 0o777, int(time)) for name, mode, time in value["folders"]],
        [
            BackupFile(str(name), int(size), int(mode) & 0o777, int(time), str(sha256))
            for name, size, mode, time, sha256 in value["files"]
        ],
        [(str(name), str(why)) for name, why in value["left"]],
        known=tuple((str(a), str(b), str(c)) for a, b, c in value.get("known", ())),
    )
    _check_manifest(found)
    return found


def _check_manifest(found: Backup) -> None:
    """Raise ValueError for an impossible value in a manifest."""
    times = [(name, time) for name, _, time in found.folders]
    for name, time in [*times, *((kept.name, kept.mtime_ns) for kept in found.files)]:
        if not -LAST_TIME <= time <= LAST_TIME:
            raise ValueError("%s has an impossible time" % quote_name(name))
    for key, commit, named in found.known:
        if layout.slug(key, 60) != key or layout.slug(commit + named, 120) != commit + named:
            raise ValueError("%s names no workspace" % quote_name(key))
    for name, _, _ in found.folders:
        if name not in (HOME, SHARED) and not is_safe_name(name):
            raise ValueError("the folder %s leads outside" % quote_name(name))


def quote_name(name: str) -> str:
    """Return an untrusted name quoted in ASCII."""
    return "'%s'" % name[:80].encode("ascii", "backslashreplace").decode("ascii")


def _make_refusal(path: str, why: str) -> StoreError:
    return StoreError("%s: %s; nothing was written" % (path, why))


def read_files(path: str, wanted: dict[str, BackupFile]) -> Iterator[tuple[BackupFile, bytes]]:
    """Yield (manifest's row, bytes) of wanted files, checked; raises StoreError."""
    for name, _, pieces in read_members(path):
        if name in wanted:
            data = b"".join(pieces)
            if files.sha256(data) != wanted[name].sha256:
                raise _make_refusal(path, "%s changed while it was read" % quote_name(name))
            yield wanted[name], data
