"""Backups: the home in one file, and the reading of one that distrusts all of it.

Format, version 1: a gzipped tar of regular files, `home/<path below the home>` and `shared/<path below .dayleaf>`, in order of
their names, then `manifest.json`, one line:

    {"v":1,"dayleaf":"0.1.0","made":"2026-11-21T14:30:52Z","workspace":"" or a key,
     "folders":[["home/global",mode,mtime ns]],"files":[["home/trust.jsonl",size,mode,mtime ns,"<SHA-256>"]],
     "left":[["home/x","a link"]]}

Left out are what is derived or of this machine (`cache`, `runtime`, `spawn`), locks, temporary files, and links, which stand in
`left`.  A file is read whole, as its writers replace it whole; of a ledger that others append to, all whole lines.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import IO, Any, BinaryIO, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple, cast

from memory import __version__, clock, files, jsonio
from memory.errors import StoreError
from memory.paths import Place

VERSION, MANIFEST = 1, "manifest.json"
HOME, SHARED = "home", "shared"
NOT_KEPT = ("cache", "runtime", "spawn")  # folders of the home
WALKS = 5  # what is moved while a backup runs is looked for again
PIECE = 1 << 20
MOST_BYTES, MOST_FILES = 16 << 30, 1_000_000
FREE_BYTES, RATIO = 256 << 20, 200  # a file may grow to FREE_BYTES, or to RATIO times its size
BROKEN = (OSError, EOFError, ValueError, KeyError, TypeError, IndexError, tarfile.TarError, zlib.error)


class Kept(NamedTuple):
    """A file of a backup: its name there, bytes, permission bits, mtime in ns, SHA-256."""

    name: str
    size: int
    mode: int
    mtime_ns: int
    sha256: str


class Backup(NamedTuple):
    """What a backup holds.  made: ISO 8601.  workspace: "" for all.  folders: (name, mode, mtime in ns).  left: (name, why).

    vanished: files that went while it was made.
    """

    made: str
    workspace: str
    folders: List[Tuple[str, int, int]]
    files: List[Kept]
    left: List[Tuple[str, str]]
    vanished: int = 0


Told = Callable[[int, int], None]


def write(place: Place, target: str, now: float, workspace: str = "", shared: bool = False,
          told: Told = lambda done, of: None) -> Backup:
    """Write a backup to a file that is not there yet, read it back, and return what it holds.

    workspace: the key of one, with its receipts, and nothing else; "" for the home.  shared: the repository's tier too.  told:
    of (files done, files).  Raises StoreError where the file is there, cannot be written, or does not read back.
    """
    if os.path.lexists(target):
        raise StoreError("%s is there already; a backup never overwrites, name another FILE" % target)
    folder = os.path.dirname(target)
    if any(files.inside(folder, root) for root in (place.home, place.shared) if root):
        raise StoreError("%s lies in what is backed up; name a FILE elsewhere" % target)
    temp = "%s/%s%d-backup" % (folder, files.TEMP, os.getpid())
    try:
        with files.Lock(place.home + "/cache/store.lock", wait=True):  # no record moves meanwhile
            made = _written(temp, list(_roots(place, workspace, shared)), now, workspace, told)
        if inspect(temp) != made._replace(vanished=0):
            raise StoreError("%s does not read back as it was written; check the disk" % target)
        files.land(temp, target)
        files.sync(folder)
    except FileExistsError:
        raise StoreError("%s is there already; a backup never overwrites, name another FILE" % target) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise StoreError("%s: not written, %s; name a FILE elsewhere" % (target, why)) from None
    finally:
        files.remove(temp)
    return made


def _roots(place: Place, workspace: str, shared: bool) -> Iterator[Tuple[str, str]]:
    """Yield (name in the backup, directory) of what is to be kept."""
    if workspace:
        for part in ("workspaces/", "log/receipts/"):
            yield "%s/%s%s" % (HOME, part, workspace), "%s/%s%s" % (place.home, part, workspace)
    else:
        yield HOME, place.home
    if shared and place.shared and files.is_folder(place.shared) and files.inside(place.shared, place.root):
        yield SHARED, place.shared


def _written(temp: str, roots: List[Tuple[str, str]], now: float, workspace: str, told: Told) -> Backup:
    """Write the file and bring it to the disk; raises OSError."""
    fd = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, files.FILE_MODE)
    with os.fdopen(fd, "wb") as raw:
        with gzip.GzipFile("", "wb", 6, raw, 0) as packed, tarfile.open(
                fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            made = _filled(tar, roots, Backup(clock.iso(now), workspace, [], [], []), told)
            line = jsonio.dump({"v": VERSION, "dayleaf": __version__, "made": made.made, "workspace": workspace,
                                "folders": list(map(list, made.folders)), "files": list(map(list, made.files)),
                                "left": list(map(list, made.left))}).encode("ascii")
            _add(tar, Kept(MANIFEST, len(line), files.FILE_MODE, int(now) * 10**9, ""), line)
        raw.flush()
        os.fsync(raw.fileno())
    return made


def _filled(tar: tarfile.TarFile, roots: List[Tuple[str, str]], made: Backup, told: Told) -> Backup:
    done: Dict[str, Kept] = {}
    gone = set()
    for _ in range(WALKS):
        folders, found, left = _listed(roots)
        new = [(name, path) for name, path in found if name not in done and name not in gone]
        for number, (name, path) in enumerate(new):
            told(number, len(new))
            kept = _read(name, path)
            if kept is None:
                gone.add(name)
                continue
            done[name] = kept[0]
            _add(tar, *kept)
        if not new:
            break
    ordered = [done[name] for name in sorted(done)]
    return made._replace(folders=folders, files=ordered, left=left, vanished=len(gone))


def _listed(roots: List[Tuple[str, str]]) -> Tuple[List[Tuple[str, int, int]], List[Tuple[str, str]], List[Tuple[str, str]]]:
    """Return folders, (name, path) of files, and (name, why) of what is left out, each in order of their names."""
    folders: List[Tuple[str, int, int]] = []
    found: List[Tuple[str, str]] = []
    left: List[Tuple[str, str]] = []
    waiting = list(roots)
    while waiting:
        name, path = waiting.pop()
        try:
            stat = os.stat(path)
            entries = list(os.scandir(path))
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                left.append((name, (error.strerror or "unreadable").lower()))
            continue
        folders.append((name, stat.st_mode & 0o777, stat.st_mtime_ns))
        for entry in entries:
            inner = name + "/" + entry.name
            if (name == HOME and entry.name in NOT_KEPT) or entry.name.startswith(files.TEMP) or entry.name.endswith(".lock"):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append((inner, entry.path))
            elif entry.is_file(follow_symlinks=False):
                found.append((inner, entry.path))
            else:
                left.append((inner, "a link" if entry.is_symlink() else "no regular file"))
    return sorted(folders), sorted(found), sorted(left)


def _read(name: str, path: str) -> Optional[Tuple[Kept, bytes]]:
    """Read a file as it goes into a backup, None where it is gone by now; raises another OSError."""
    try:
        fd = files.open_read(path, follow=False)
    except FileNotFoundError:
        return None
    try:
        stat = os.fstat(fd)
        data = files.read_fd(fd)
    finally:
        os.close(fd)
    if name.endswith(".jsonl"):  # another process may be in the middle of a line
        data = data[:data.rfind(b"\n") + 1]
    return Kept(name, len(data), stat.st_mode & 0o777, stat.st_mtime_ns, files.sha256(data)), data


def _add(tar: tarfile.TarFile, kept: Kept, data: bytes) -> None:
    info = tarfile.TarInfo(kept.name)
    info.size, info.mode, info.mtime = kept.size, kept.mode, kept.mtime_ns // 10**9
    tar.addfile(info, BytesIO(data))


# ---- reading one

class _Bounded:
    """A stream that ends with an error where more is read than a backup of its size may hold, or more at once than a header
    takes."""

    def __init__(self, raw: BinaryIO, most: int):
        self.raw, self.most = raw, most

    def read(self, size: int) -> bytes:
        if size > PIECE or self.raw.tell() + size > self.most + PIECE:
            raise ValueError("it would unpack to more than %s" % _room(self.most))
        return self.raw.read(size)

    def seek(self, at: int) -> int:
        if at > self.most + PIECE:
            raise ValueError("it would unpack to more than %s" % _room(self.most))
        return self.raw.seek(at)

    def tell(self) -> int:
        return self.raw.tell()


def _room(size: int) -> str:
    return "%d MiB" % (size >> 20)


def inspect(path: str) -> Backup:
    """Read a backup as a whole and return what it holds; nothing is written.

    Raises StoreError where it is none, of a newer version, cut short, not what its manifest says, or would unpack to something
    else than files below the home and the repository's tier.
    """
    seen: Dict[str, Tuple[int, str]] = {}
    said = b""
    for name, size, pieces in members(path):
        if name == MANIFEST:
            said = b"".join(pieces)
        else:
            seen[name] = size, files.sha256(b"", *pieces)
    if not said:
        raise _refused(path, "it has no manifest: it is cut short, or no backup of dayleaf")
    with _refusing(path):
        found = _manifest(jsonio.parse(said))
        told = {kept.name: (kept.size, kept.sha256) for kept in found.files}
        wrong = sorted(name for name in seen.keys() | told.keys() if seen.get(name) != told.get(name))
        if wrong or len(told) != len(found.files):
            raise ValueError("%s is not what the manifest says" % shown((wrong or sorted(told))[0]))
    return found


def members(path: str) -> Iterator[Tuple[str, int, Iterator[bytes]]]:
    """Yield (name, size, its bytes in pieces) of each file of a backup, the manifest among them; raises StoreError."""
    with _refusing(path), open(path, "rb") as raw, gzip.GzipFile(fileobj=raw) as packed:
        most = min(MOST_BYTES, max(FREE_BYTES, RATIO * os.fstat(raw.fileno()).st_size))
        bounded = _Bounded(cast(BinaryIO, packed), most)
        with tarfile.open(fileobj=cast(Any, bounded), mode="r:") as tar:
            seen: Set[str] = set()
            for info in tar:
                _allow(info, seen)
                yield info.name, info.size, _pieces(path, tar, info)
        while bounded.read(PIECE):  # gzip's checksum stands at the end
            pass


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    """Turn whatever is wrong with a backup into a StoreError of one line."""
    try:
        yield
    except BROKEN as error:
        known = (error.strerror or "").lower() if isinstance(error, OSError) else ""
        raise _refused(path, known or str(error) or type(error).__name__) from None


def _allow(info: tarfile.TarInfo, seen: Set[str]) -> None:
    """Take a member in; raises ValueError for one that no backup has."""
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.issparse():
        raise ValueError("%s is no regular file" % shown(info.name))
    if not (info.name == MANIFEST or is_safe(info.name)):
        raise ValueError("the name %s leads elsewhere" % shown(info.name))
    if info.name in seen or len(seen) >= MOST_FILES:
        raise ValueError("%s stands there twice" % shown(info.name) if info.name in seen else "it holds too many files")
    seen.add(info.name)


def _pieces(path: str, tar: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[bytes]:
    with _refusing(path):
        stream = cast(IO[bytes], tar.extractfile(info))
        left = info.size
        while left:
            piece = stream.read(min(left, PIECE))
            if not piece:
                raise EOFError("it is cut short")
            left -= len(piece)
            yield piece


def is_safe(name: str) -> bool:
    """Tell whether a name leads to a file below the home (what is derived or of a machine apart) or the repository's tier."""
    parts = name.split("/")
    return (len(name) <= 1024 and len(parts) > 1 and parts[0] in (HOME, SHARED)
            and not any(part in ("", ".", "..") for part in parts)
            and not (parts[0] == HOME and parts[1] in NOT_KEPT) and "\\" not in name and "\0" not in name
            and not (os.name == "nt" and ":" in name))


def _manifest(value: Any) -> Backup:
    """Read a manifest; raises ValueError and others of BROKEN."""
    if isinstance(value["v"], int) and value["v"] > VERSION:
        raise ValueError("a newer dayleaf made it (%s); restore it with that one" % shown(str(value["dayleaf"])))
    if value["v"] != VERSION:
        raise ValueError("its manifest has no version that is known")
    found = Backup(str(value["made"]), str(value["workspace"]),
                   [(str(name), int(mode) & 0o777, int(time)) for name, mode, time in value["folders"]],
                   [Kept(str(row[0]), int(row[1]), int(row[2]) & 0o777, int(row[3]), str(row[4])) for row in value["files"]],
                   [(str(name), str(why)) for name, why in value["left"]])
    for name in [name for name, _, _ in found.folders if name not in (HOME, SHARED)]:
        if not is_safe(name):
            raise ValueError("the folder %s leads elsewhere" % shown(name))
    return found


def shown(name: str) -> str:
    """Write a name that nobody vouches for."""
    return "'%s'" % name[:80].encode("ascii", "backslashreplace").decode("ascii")


def _refused(path: str, why: str) -> StoreError:
    return StoreError("%s: %s; nothing was written" % (path, why))


def content(path: str, wanted: Dict[str, Kept]) -> Iterator[Tuple[Kept, bytes]]:
    """Yield some files of a backup with their bytes, proven once more by their SHA-256; raises StoreError."""
    for name, _, pieces in members(path):
        if name in wanted:
            data = b"".join(pieces)
            if files.sha256(data) != wanted[name].sha256:
                raise _refused(path, "%s changed while it was read" % shown(name))
            yield wanted[name], data


def free_name(folder: str, now: float) -> str:
    """Return the path of a new backup in a directory: `dayleaf-2026-11-21.tar.gz`, or with a number behind the day."""
    stem = "%s/dayleaf-%s" % (folder.rstrip("/"), clock.day(now))
    number, path = 1, stem + ".tar.gz"
    while os.path.lexists(path):
        number += 1
        path = "%s-%d.tar.gz" % (stem, number)
    return path


def is_backup(word: str) -> bool:
    """Tell whether a word of the command line means the file of a backup rather than a record's id."""
    with suppress(OSError, ValueError):
        return "/" in word or word.endswith((".gz", ".tar", ".tgz")) or os.path.isfile(word)
    return False
