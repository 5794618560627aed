"""Files: atomic replace, exclusive create, append of one line, kernel locks, and reads that follow
no link.  What writes raises OSError.

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
TEMP_PREFIX = ".dayleaf-"  # the start of every temporary file's name
TEMP_AGE = 3600.0  # seconds after which one that a process elsewhere wrote is a leftover


def read_environ() -> dict[str, str]:
    """Return the environment as text, undecodable bytes as surrogates."""
    return {_text(k): _text(v) for k, v in posix.environ.items()}


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")


def open_read(path: str, follow: bool = True) -> int:
    """Open a regular file for reading and return its descriptor.

    Raises OSError, also for anything but a regular file.
    """
    fd = posix.open(path, _READ | (0 if follow else _NOFOLLOW))
    if posix.fstat(fd).st_mode & _TYPE != _REGULAR:
        posix.close(fd)
        raise OSError(22, "not a regular file", path)
    return fd


def list_folder(folder: str) -> list[str]:
    """Return the sorted names in a folder, [] if unreadable."""
    try:
        return sorted(posix.listdir(folder))
    except OSError:
        return []


def list_visible(folder: str) -> list[str]:
    """Return the sorted names in a folder without hidden ones."""
    return [name for name in list_folder(folder) if name[0] != "."]


def read(path: str, limit: int = 1 << 20, follow: bool = True) -> bytes:
    """Return a regular file's bytes, at most `limit`; raises OSError."""
    fd = open_read(path, follow)
    try:
        # by its size: a buffer of the limit costs 15 us a file
        size = min(posix.fstat(fd).st_size + 1, limit)
        data = posix.read(fd, size)
        return data if len(data) < size else data + read_fd(fd, limit - len(data))
    finally:
        posix.close(fd)


def read_checked(path: str, checksum: str, limit: int = 1 << 20) -> bytes | None:
    """Return a file's bytes, None where gone or of another SHA-256."""
    try:
        data = read(path, limit, follow=False)
    except OSError:
        return None
    return data if sha256(data) == checksum else None


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
    """Return `size` bytes at an offset, fewer at the file's end."""
    if hasattr(posix, "pread"):
        return posix.pread(fd, size, offset)
    posix.lseek(fd, offset, 0)
    return posix.read(fd, size)


def exists(path: str) -> bool:
    """Tell whether a path exists; a broken link does not."""
    try:
        posix.stat(path)
    except (OSError, ValueError):
        return False
    return True


def is_folder(path: str) -> bool:
    try:
        return posix.stat(path).st_mode & _TYPE == _FOLDER
    except (OSError, ValueError):
        return False


def make_folder(path: str) -> str:
    """Make a directory and its parents, 0700, and return its path."""
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
    # write(2) may write short (a full disk, RLIMIT_FSIZE) without an error.
    view = memoryview(data)
    while view:
        view = view[posix.write(fd, view) :]


def temp_path(folder: str, what: object) -> str:
    """Return the path of a temporary file of this process and machine.

    what: distinguishes the files of one process.
    """
    return "%s/%s%d-%s-%s" % (folder, TEMP_PREFIX, posix.getpid(), what, _machine_name())


def _machine_name() -> str:
    """Return the name of this machine and its Linux container."""
    # Process numbers are unique within it. "" where the system does not say.
    try:
        name = "".join(c for c in posix.uname().nodename if c.isalnum())[:32]
        return name + "." + posix.readlink("/proc/self/ns/pid")[5:-1]
    except (OSError, AttributeError):
        return ""


def _write_temp(path: str, data: bytes, mode: int, first: int = 0, synced: bool = True) -> str:
    folder = path.rpartition("/")[0] or "."
    make_folder(folder)
    for attempt in range(first, first + 100):
        name = temp_path(folder, attempt)
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
    except BaseException as error:
        posix.close(fd)
        posix.unlink(name)
        if isinstance(error, OSError):
            error.filename = error.filename or path  # a write names none
        raise
    posix.close(fd)
    return name


def replace(path: str, data: bytes, mode: int = FILE_MODE, synced: bool = True) -> None:
    """Write a file atomically: temporary file, fsync, rename.

    synced: False skips fsync, for derived files: after a power cut the file may be torn.
    """
    temp = _write_temp(path, data, mode, synced=synced)
    try:
        posix.replace(temp, path)
    except OSError:
        posix.unlink(temp)
        raise
    if synced:
        _sync_folder(path)


def replace_if_changed(path: str, data: bytes) -> None:
    """Write a file as `replace` does, unless its bytes are the same."""
    try:
        if read(path, len(data) + 1) == data:
            return
    except OSError:
        pass
    replace(path, data)


def create(path: str, data: bytes, mode: int = FILE_MODE) -> None:
    """Write a new file, complete or not at all.

    Raises FileExistsError where the path exists.
    """
    temp = _write_temp(path, data, mode)
    try:
        move_without_replacing(temp, path)
    except BaseException:
        posix.unlink(temp)
        raise
    _sync_folder(path)


def stage(path: str, data: bytes, mode: int, number: int) -> str:
    """Write a temporary file beside a path and return its path.

    number: how many files this process has staged already.  The bytes are on the disk only after
    `sync`.
    """
    return _write_temp(path, data, mode, first=number, synced=False)


def move_without_replacing(temp: str, path: str) -> None:
    """Move a temporary file to a path that is still free.

    Raises FileExistsError or another OSError; then the temporary file stays.
    """
    try:
        posix.link(temp, path)
    except FileExistsError:
        raise
    except (OSError, AttributeError) as error:
        if getattr(error, "errno", 0) in _DENIED:
            raise
        # no hard links (exFAT, some FUSE mounts): claim the name, then move the file over it
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
    """Write a file or directory through to the disk, if possible."""
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


def _open_or_create(path: str, flags: int) -> int:
    """Open a file; create it and its folder where absent."""
    flags |= posix.O_CREAT | _CLOEXEC
    try:
        return posix.open(path, flags, FILE_MODE)
    except FileNotFoundError:
        make_folder(path.rpartition("/")[0])
        return posix.open(path, flags, FILE_MODE)


def append(path: str, data: bytes) -> None:
    """Append bytes in one write, unmixed with other processes' lines."""
    fd = _open_or_create(path, posix.O_WRONLY | posix.O_APPEND | _BINARY)
    try:
        if posix.write(fd, data) != len(data):
            raise OSError(28, "short write", path)
    except OSError as error:
        error.filename = error.filename or path  # a write names none
        raise
    finally:
        posix.close(fd)


def append_line(path: str, line: str) -> None:
    """Append a line of ASCII to a ledger by a single write.

    A torn last line, left by a killed writer, is ended first.
    """
    torn = is_torn(path)
    if torn:  # or another writer is in the middle of its line, which takes it microseconds
        from time import sleep

        sleep(0.001)
        torn = is_torn(path)
    append(path, (("\n" if torn else "") + line + "\n").encode("ascii"))


def is_torn(path: str) -> bool:
    """Tell whether a file's last line lacks its line end."""
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


def real_path(path: str) -> str:
    """Return a path with every link resolved, as `os.path.realpath`.

    `os` is imported only where the path holds a link.
    """
    if not path.startswith("/"):
        from os.path import realpath

        return realpath(path).replace("\\", "/")
    unclean = "/./" in path or "/../" in path or "//" in path or path.endswith(("/.", "/..", "/"))
    if unclean or _has_link(path):
        from os.path import realpath

        return realpath(path)
    return path


def _has_link(path: str) -> bool:
    at = 0
    readlink = posix.readlink
    while at >= 0:
        at = path.find("/", at + 1)
        try:
            readlink(path if at < 0 else path[:at])
        except OSError:
            continue
        return True
    return False


def is_link(path: str) -> bool:
    try:
        posix.readlink(path)
    except OSError:
        return False
    return True


def is_inside(path: str, root: str) -> bool:
    """Tell whether a path, links resolved, lies in a directory.

    The separator counts: `root-evil` is not in `root`.
    """
    return (real_path(path) + "/").startswith(real_path(root).rstrip("/") + "/")


class Lock:
    """A kernel lock on a file, released when its process ends.

    with Lock(path) as held: `held` is False where another process has the lock (`wait=True` waits
        instead).  Where the file system has no locks (some NFS mounts) `held` is True: the atomic
        writes alone keep every file whole.
    """

    def __init__(self, path: str, wait: bool = False):
        self.path, self.wait, self.fd = path, wait, -1

    def __enter__(self) -> bool:
        self.fd = _open_or_create(self.path, posix.O_RDWR)
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
            pass
        return True

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self.fd >= 0:
            posix.close(self.fd)
            self.fd = -1


def delete_leftovers(folder: str, now: float) -> int:
    """Delete the temporary files of killed writers; return their number."""
    gone = 0
    try:
        entries = [e for e in posix.scandir(folder) if e.name.startswith(TEMP_PREFIX)]
    except OSError:
        return 0
    for entry in entries:
        try:
            if is_leftover(entry.name, entry.stat(follow_symlinks=False).st_mtime, now):
                posix.unlink(entry.path)
                gone += 1
        except OSError:
            continue
    return gone


def is_leftover(name: str, changed: float, now: float) -> bool:
    """Tell whether a file is a temporary file of a dead writer.

    changed, now: its mtime and the present, in seconds.
    """
    pid, _, rest = name[len(TEMP_PREFIX) :].partition("-")
    if not name.startswith(TEMP_PREFIX) or (pid.isdigit() and is_running(int(pid))):
        return False
    if now - changed > TEMP_AGE:
        return True
    machine = rest.partition("-")[2]
    return pid.isdigit() and machine != "" and machine == _machine_name()


def is_running(pid: int) -> bool:
    """Tell whether a process with this number runs."""
    try:
        posix.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def sha256(*parts: bytes | bytearray) -> str:
    """Return the SHA-256 of concatenated bytes, 64 hexadecimal digits.

    Avoids `hashlib`, whose import costs 0.4 of a bare start.
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
