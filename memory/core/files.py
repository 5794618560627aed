"""Files: atomic replace, exclusive create, append of one line, kernel locks, and reads that follow
no link.

Everything made here is 0600 (directories 0700) whatever the umask.  Only `posix` (`nt` on Windows)
and `fcntl` are imported: both are built in, and `os` costs 0.6 ms on the blocking path.
"""

from __future__ import annotations

try:
    import posix as posix
except ImportError:  # Windows
    import nt as posix  # type: ignore[no-redef]

try:
    import fcntl
except ImportError:  # Windows locks through msvcrt
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE_MODE, FOLDER_MODE = 0o600, 0o700
_BINARY: int = getattr(posix, "O_BINARY", 0)
_CLOEXEC: int = getattr(posix, "O_CLOEXEC", 0)
_NOFOLLOW: int = getattr(posix, "O_NOFOLLOW", 0)
_NONBLOCK: int = getattr(posix, "O_NONBLOCK", 0)  # a FIFO in the way must not hang a hook
_READ = posix.O_RDONLY | _BINARY | _CLOEXEC | _NONBLOCK
_REGULAR, _FOLDER, _TYPE = 0o100000, 0o040000, 0o170000
# EIO, EACCES, ENOSPC, EROFS, EDQUOT: a link that is refused for these could not be a file either
_DENIED = (5, 13, 28, 30, 122)
TEMP = ".dayleaf-"  # the start of every temporary file's name
TEMP_AGE = 3600.0  # seconds after which one that a process elsewhere wrote is a leftover


def environ() -> dict[str, str]:
    """Return the process's environment as text (undecodable bytes become surrogate escapes)."""
    return {_text(k): _text(v) for k, v in posix.environ.items()}


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")


def open_read(path: str, follow: bool = True) -> int:
    """Open a regular file for reading and return its descriptor; raises OSError for anything
    else.
    """
    fd = posix.open(path, _READ | (0 if follow else _NOFOLLOW))
    if posix.fstat(fd).st_mode & _TYPE != _REGULAR:
        posix.close(fd)
        raise OSError(22, "not a regular file", path)
    return fd


def read(path: str, limit: int = 1 << 20, follow: bool = True) -> bytes:
    """Read a regular file, at most `limit` bytes; raises OSError."""
    fd = open_read(path, follow)
    try:
        # Asking for the size first: a buffer of the limit is mapped, shrunk and unmapped again, 15
        # us a file.
        size = min(posix.fstat(fd).st_size + 1, limit)
        data = posix.read(fd, size)
        return data if len(data) < size else data + read_fd(fd, limit - len(data))
    finally:
        posix.close(fd)


def read_fd(fd: int, limit: int = 1 << 62) -> bytes:
    """Read a descriptor to its end, at most `limit` bytes."""
    parts, left = [], limit
    while left > 0:
        piece = posix.read(fd, min(left, 1 << 16))
        if not piece:
            break
        parts.append(piece)
        left -= len(piece)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """Read `size` bytes at an offset of an open file (fewer at its end)."""
    if hasattr(posix, "pread"):
        return posix.pread(fd, size, offset)
    posix.lseek(fd, offset, 0)
    return posix.read(fd, size)


def exists(path: str) -> bool:
    """Tell whether something stands at a path (a broken link counts as nothing)."""
    try:
        posix.stat(path)
    except (OSError, ValueError):
        return False
    return True


def is_folder(path: str) -> bool:
    """Tell whether a path is a directory (links are followed)."""
    try:
        return posix.stat(path).st_mode & _TYPE == _FOLDER
    except (OSError, ValueError):
        return False


def make_folder(path: str) -> str:
    """Make a directory and its missing parents, 0700 each, and return its path; raises OSError."""
    if is_folder(path):
        return path
    parent = path.rstrip("/").rpartition("/")[0]
    if parent and parent != path:
        make_folder(parent)
    try:
        posix.mkdir(path, FOLDER_MODE)
    except FileExistsError:
        return path
    posix.chmod(path, FOLDER_MODE)
    return path


def _write_all(fd: int, data: bytes) -> None:
    """Write every byte: write(2) may write short (a full disk, RLIMIT_FSIZE) without an error."""
    view = memoryview(data)
    while view:
        view = view[posix.write(fd, view) :]


def temp_name(folder: str, what: object) -> str:
    """Return the path of a temporary file: it names this process and where that runs.  what: of the
    process's own.
    """
    return "%s/%s%d-%s-%s" % (folder, TEMP, posix.getpid(), what, _host())


def _host() -> str:
    """Name where a process's number means this process: the machine, and on Linux the container."""
    try:
        name = "".join(c for c in posix.uname().nodename if c.isalnum())[:32]
        return name + "." + posix.readlink("/proc/self/ns/pid")[5:-1]
    except (OSError, AttributeError):
        return ""


def _temp(path: str, data: bytes, mode: int, first: int = 0, synced: bool = True) -> str:
    folder = path.rpartition("/")[0] or "."
    make_folder(folder)
    for attempt in range(first, first + 100):
        name = temp_name(folder, attempt)
        try:
            fd = posix.open(
                name, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | _BINARY | _CLOEXEC, FILE_MODE
            )
            break
        except FileExistsError:
            continue
    else:
        raise OSError(17, "no free temporary name", folder)
    try:
        if hasattr(posix, "fchmod"):
            posix.fchmod(fd, mode)
        _write_all(fd, data)
        if synced:
            posix.fsync(fd)
        if posix.fstat(fd).st_size != len(data):
            raise OSError(28, "short write", path)
    except BaseException:
        posix.close(fd)
        posix.unlink(name)
        raise
    posix.close(fd)
    return name


def replace(path: str, data: bytes, mode: int = FILE_MODE, synced: bool = True) -> None:
    """Write a file so that a reader sees the old bytes or the new ones: temp, fsync, rename; raises
    OSError.

    synced: False leaves the disk to the system, for what is derived: after a power cut it may be
    torn.
    """
    temp = _temp(path, data, mode, 0, synced)
    try:
        posix.replace(temp, path)
    except OSError:
        posix.unlink(temp)
        raise
    if synced:
        _sync_folder(path)


def update(path: str, data: bytes) -> None:
    """Write a file as `replace` does, where it does not hold these bytes already; raises
    OSError.
    """
    try:
        if read(path, len(data) + 1) == data:
            return
    except OSError:
        pass
    replace(path, data)


def create(path: str, data: bytes, mode: int = FILE_MODE) -> None:
    """Write a file that must not exist yet, complete or not at all; raises FileExistsError or
    another OSError.
    """
    temp = _temp(path, data, mode)
    try:
        land(temp, path)
    except BaseException:
        posix.unlink(temp)
        raise
    _sync_folder(path)


def stage(path: str, data: bytes, mode: int, number: int) -> str:
    """Write a temporary file beside a path and return its own; it is on the disk only after `sync`.

    number: how many this process has staged already.  Raises OSError.
    """
    return _temp(path, data, mode, number, False)


def land(temp: str, path: str) -> None:
    """Give a temporary file a path where nothing stands yet; raises FileExistsError or another
    OSError, and it stays.
    """
    try:
        posix.link(temp, path)
    except FileExistsError:
        raise
    except (OSError, AttributeError) as error:
        if getattr(error, "errno", 0) in _DENIED:
            raise
        # exFAT and some FUSE mounts have no hard links: claim the name, then move the finished file
        # over it.
        posix.close(
            posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | _BINARY, FILE_MODE)
        )
        try:
            posix.replace(temp, path)
        except OSError:
            posix.unlink(path)
            raise
    else:
        posix.unlink(temp)


def _sync_folder(path: str) -> None:
    sync(path.rpartition("/")[0] or ".")


def sync(path: str) -> None:
    """Bring a file's bytes, or a directory's names, to the disk, where the system can."""
    try:
        fd = posix.open(path, posix.O_RDONLY)
    except OSError:
        return
    try:
        posix.fsync(fd)
    except OSError:
        pass
    finally:
        posix.close(fd)


def append(path: str, data: bytes) -> None:
    """Add bytes to a file's end in one write, so that lines of several processes do not mix; raises
    OSError.
    """
    flags = posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | _BINARY | _CLOEXEC
    try:
        fd = posix.open(path, flags, FILE_MODE)
    except FileNotFoundError:
        make_folder(path.rpartition("/")[0])
        fd = posix.open(path, flags, FILE_MODE)
    try:
        if posix.write(fd, data) != len(data):
            raise OSError(28, "short write", path)
    finally:
        posix.close(fd)


def append_line(path: str, line: str) -> None:
    """Add one line of ASCII to a ledger in one write, below what a killed writer left without its
    end; raises OSError.
    """
    torn = is_torn(path)
    if torn:  # or another writer is in the middle of its line, which takes it microseconds
        from time import sleep

        sleep(0.001)
        torn = is_torn(path)
    append(path, (("\n" if torn else "") + line + "\n").encode("ascii"))


def is_torn(path: str) -> bool:
    """Tell whether a killed writer left a last line without its end; raises OSError where it cannot
    be read.
    """
    try:
        fd = open_read(path)
    except FileNotFoundError:
        return False
    try:
        size = posix.fstat(fd).st_size
        return size > 0 and read_at(fd, 1, size - 1) != b"\n"
    finally:
        posix.close(fd)


def remove(path: str) -> bool:
    """Delete a file and tell whether it was there."""
    try:
        posix.unlink(path)
    except FileNotFoundError:
        return False
    return True


def real(path: str) -> str:
    """Resolve every link of a path, as `os.path.realpath` (imported only where a link is met on the
    way).
    """
    if not path.startswith("/"):
        from os.path import realpath

        return realpath(path).replace("\\", "/")
    at = 0
    readlink = posix.readlink
    while True:
        at = path.find("/", at + 1)
        part = path if at < 0 else path[:at]
        if part:
            try:
                readlink(part)
            except OSError:
                pass
            else:
                from os.path import realpath

                return realpath(path)
        if at < 0:
            break
    if "/./" in path or "/../" in path or "//" in path or path.endswith(("/.", "/..", "/")):
        from os.path import realpath

        return realpath(path)
    return path


def is_link(path: str) -> bool:
    """Tell whether a path itself is a symbolic link."""
    try:
        posix.readlink(path)
    except OSError:
        return False
    return True


def inside(path: str, root: str) -> bool:
    """Tell whether a path, all links resolved, lies in a directory (the separator counts:
    `root-evil` is not in `root`).
    """
    return (real(path) + "/").startswith(real(root).rstrip("/") + "/")


class Lock:
    """A kernel lock on a file: it goes with its process, so none is ever stale.

    with Lock(path) as held: `held` is False where another process has it (`wait=True` waits
    instead).  Where the file system has no locks (some NFS mounts) `held` is True: the atomic
    writes alone keep every file whole.
    """

    def __init__(self, path: str, wait: bool = False):
        self.path, self.wait, self.fd = path, wait, -1

    def __enter__(self) -> bool:
        flags = posix.O_RDWR | posix.O_CREAT | _CLOEXEC
        try:
            self.fd = posix.open(self.path, flags, FILE_MODE)
        except FileNotFoundError:
            make_folder(self.path.rpartition("/")[0])
            self.fd = posix.open(self.path, flags, FILE_MODE)
        try:
            if fcntl is not None:
                fcntl.flock(self.fd, fcntl.LOCK_EX | (0 if self.wait else fcntl.LOCK_NB))
            else:
                import msvcrt

                windows: Any = msvcrt
                windows.locking(self.fd, windows.LK_LOCK if self.wait else windows.LK_NBLCK, 1)
        except (BlockingIOError, PermissionError):
            self._close()
            return False
        except OSError:
            return True
        return True

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self.fd >= 0:
            posix.close(self.fd)
            self.fd = -1


def collect_temps(folder: str, now: float) -> int:
    """Delete temporary files that killed writers left in a directory, and return how many.  now:
    seconds since the epoch.
    """
    gone = 0
    try:
        entries = [e for e in posix.scandir(folder) if e.name.startswith(TEMP)]
    except OSError:
        return 0
    for entry in entries:
        try:
            if is_left(entry.name, entry.stat(follow_symlinks=False).st_mtime, now):
                posix.unlink(entry.path)
                gone += 1
        except OSError:
            continue
    return gone


def is_left(name: str, changed: float, now: float) -> bool:
    """Tell whether a file is a temporary one whose writer is gone: at once where it ran here,
    elsewhere after an hour.

    changed: when it last was; now: the same clock, in seconds.
    """
    pid, _, rest = name[len(TEMP) :].partition("-")
    if not name.startswith(TEMP) or (pid.isdigit() and alive(int(pid))):
        return False
    return now - changed > TEMP_AGE or (
        pid.isdigit() and rest.partition("-")[2] == (_host() or None)
    )


def alive(pid: int) -> bool:
    """Tell whether a process with this number runs."""
    try:
        posix.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def sha256(*parts: bytes | bytearray) -> str:
    """Return the SHA-256 of bytes, one after the other, as 64 hexadecimal digits (`hashlib` costs
    0.4 of a bare start).
    """
    try:
        from _sha256 import sha256 as digest  # type: ignore[import-not-found]
    except ImportError:
        try:
            from _sha2 import sha256 as digest  # type: ignore[import-not-found]
        except ImportError:
            from hashlib import sha256 as digest
    state = digest(parts[0])
    for part in parts[1:]:
        state.update(part)
    result: str = state.hexdigest()
    return result
