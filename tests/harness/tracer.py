"""A child under ptrace: which system calls change its files, and what becomes of them when one is
killed, refused or cut.

Counted are the calls below one directory, in their order, whatever made them: our own code, sqlite,
the interpreter.  Linux on x86-64 alone: elsewhere AVAILABLE is False.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pickle
import platform
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

AVAILABLE = sys.platform == "linux" and platform.machine() == "x86_64"

_TRACEME, _POKEUSER, _SYSCALL, _SETOPTIONS, _GET_INFO = 0, 6, 24, 0x4200, 0x420E
_SYSGOOD, _CLONE, _EXITKILL = 1, 8, 0x100000
_WALL = 0x40000000  # of waitpid: threads too
_STOP = signal.SIGTRAP | 0x80
_ENTRY = 1
_NUMBER, _RESULT, _THIRD = 15 * 8, 10 * 8, 12 * 8  # offsets of orig_rax, rax and rdx in struct user
_CREAT, _TRUNC, _APPEND = 0o100, 0o1000, 0o2000

# Number of the call: its name, where its paths stand, where its descriptor stands (-1: none).
_CALLS = {
    1: ("write", (), 0),
    18: ("pwrite64", (), 0),
    20: ("writev", (), 0),
    2: ("open", (0,), -1),
    257: ("openat", (1,), -1),
    74: ("fsync", (), 0),
    75: ("fdatasync", (), 0),
    77: ("ftruncate", (), 0),
    76: ("truncate", (0,), -1),
    82: ("rename", (0, 1), -1),
    264: ("renameat", (1, 3), -1),
    316: ("renameat2", (1, 3), -1),
    86: ("link", (0, 1), -1),
    265: ("linkat", (1, 3), -1),
    88: ("symlink", (1,), -1),
    266: ("symlinkat", (2,), -1),
    87: ("unlink", (0,), -1),
    263: ("unlinkat", (1,), -1),
    83: ("mkdir", (0,), -1),
    258: ("mkdirat", (1,), -1),
    84: ("rmdir", (0,), -1),
    85: ("creat", (0,), -1),
    90: ("chmod", (0,), -1),
    91: ("fchmod", (), 0),
    268: ("fchmodat", (1,), -1),
    280: ("utimensat", (1,), -1),
    235: ("utimes", (0,), -1),
    285: ("fallocate", (), 0),
    326: ("copy_file_range", (), 2),
    40: ("sendfile", (), 0),
}
_FLAGS = {"open": 1, "openat": 2}
WRITES = ("write", "pwrite64", "writev")


class _Info(ctypes.Structure):
    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("ip", ctypes.c_uint64),
        ("sp", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("given", ctypes.c_uint64 * 6),
        ("more", ctypes.c_uint64 * 2),
    )


class Step(NamedTuple):
    """One call that changes a file: its name, its paths (a descriptor's own), the bytes and offset
    of a write, its flags or size.
    """

    name: str
    paths: tuple[str, ...]
    data: bytes = b""
    offset: int = 0
    flags: int = 0


class Fault(NamedTuple):
    """What happens at the calls from `first` on, counted from 1.

    what: "kill" (before the call), "cut" (half of a write, then the kill), "short" (half of a write
    and on), or the name of an errno.  names: the calls that count, all that change a file where
    empty; "opens" counts every opening for reading too.  again: every call from there on, not that
    one alone.
    """

    what: str
    first: int
    names: tuple[str, ...] = ()
    again: bool = False


class Run(NamedTuple):
    """How a child ended: its status (a negative signal where it was killed), what `work` returned,
    its steps, the faults it met.
    """

    status: int
    value: Any
    steps: list[Step]
    hits: int


def run(work: Callable[[], Any], root: str, fault: Fault | None = None) -> Run:
    """Run a function in a child of this process, under a fault or none, and tell how it ended.

    work: returns what can be pickled.  root: only calls below this directory count.
    """
    with tempfile.TemporaryFile() as answer:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            _child(work, answer.fileno())
        tracer = _Tracer(pid, root, fault)
        status = tracer.follow()
        answer.seek(0)
        said = answer.read()
    return Run(status, pickle.loads(said) if said else None, tracer.steps, tracer.hits)


def _child(work: Callable[[], Any], answer: int) -> None:
    status = 70
    try:
        _ptrace(_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.pwrite(answer, pickle.dumps(work()), 0)
        status = 0
    except BaseException as error:
        os.pwrite(answer, pickle.dumps(repr(error)), 0)
    finally:
        os._exit(status)


_LIBC = ctypes.CDLL(None, use_errno=True) if AVAILABLE else None


def _ptrace(request: int, pid: int, address: int = 0, data: Any = 0) -> int:
    call = _LIBC.ptrace
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    done = call(request, pid, address, data)
    if done < 0:
        raise OSError(ctypes.get_errno(), "ptrace %d" % request)
    return int(done)


class _Tracer:
    """One child and its threads: where they are in their calls, and the fault still to be met.

    thread: the one that stopped last.
    """

    def __init__(self, pid: int, root: str, fault: Fault | None):
        self.pid, self.root, self.fault = pid, os.path.realpath(root) + "/", fault
        self.thread = pid
        self.steps: list[Step] = []
        self.hits = self.counted = 0
        self.info = _Info()

    def follow(self) -> int:
        """Lead the child to its end and return its status."""
        os.waitpid(self.pid, 0)
        _ptrace(_SETOPTIONS, self.pid, 0, _SYSGOOD | _CLONE | _EXITKILL)
        # thread: whether it is in a call, and what must be done at the call's end
        calls: dict[int, tuple[bool, str | None]] = {self.pid: (False, None)}
        given: int | None = 0
        while True:
            if given is not None:
                with contextlib.suppress(ProcessLookupError):
                    _ptrace(_SYSCALL, self.thread, 0, given)
            self.thread, status = os.waitpid(-1, _WALL)
            given = 0
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                if self.thread == self.pid:
                    return os.waitstatus_to_exitcode(status)
                given = None
            elif self.thread not in calls:  # a new thread begins with a stop of its own
                calls[self.thread] = (False, None)
            elif os.WSTOPSIG(status) == _STOP:
                calls[self.thread] = self._next(*calls[self.thread])
            elif not status >> 16:  # no event of ptrace, such as a thread's start
                given = os.WSTOPSIG(status)

    def _next(self, inside: bool, after: str | None) -> tuple[bool, str | None]:
        """Note that a thread's call begins or ends."""
        if not inside:
            return True, self._entry()
        if after:
            self._exit(after)
        return False, None

    def _entry(self) -> str | None:
        """Note a call that begins; returns what must be done at its end."""
        info = self.info
        _ptrace(_GET_INFO, self.thread, ctypes.sizeof(info), ctypes.addressof(info))
        known = _CALLS.get(info.number) if info.op == _ENTRY else None
        if known is None:
            return None
        step = self._step(*known)
        opens = self.fault is not None and "opens" in self.fault.names
        if step is None or not any(path.startswith(self.root) for path in step.paths):
            return None
        changes = step.name not in _FLAGS or step.flags & (_CREAT | _TRUNC)
        if changes:
            self.steps.append(step)
        if self.fault is None or not (step.name in _FLAGS if opens else changes):
            return None
        if self.fault.names and not opens and step.name not in self.fault.names:
            return None
        if self.fault.what in ("cut", "short") and (
            step.name not in ("write", "pwrite64") or info.given[2] < 2
        ):
            return None
        self.counted += 1
        due = (
            self.counted >= self.fault.first
            if self.fault.again
            else self.counted == self.fault.first
        )
        return self._strike(step) if due else None

    def _strike(self, step: Step) -> str | None:
        what, size = self.fault.what, self.info.given[2]
        if what in ("cut", "short"):
            _ptrace(_POKEUSER, self.thread, _THIRD, size // 2)
        self.hits += 1
        if what == "kill":
            os.kill(self.pid, signal.SIGKILL)
            return None
        if what not in ("cut", "short"):
            _ptrace(_POKEUSER, self.thread, _NUMBER, (1 << 64) - 1)
        return what

    def _exit(self, what: str) -> None:
        if what == "cut":
            os.kill(self.pid, signal.SIGKILL)
        elif what == "short":
            _ptrace(_POKEUSER, self.thread, _THIRD, self.info.given[2])
        else:
            _ptrace(_POKEUSER, self.thread, _RESULT, (1 << 64) - getattr(errno, what))

    def _step(self, name: str, paths: tuple[int, ...], fd: int) -> Step | None:
        given = self.info.given
        if fd >= 0:
            try:
                path = os.readlink("/proc/%d/fd/%d" % (self.pid, given[fd]))
            except OSError:
                return None
            if not path.startswith(self.root):
                return None
            if name in ("write", "pwrite64"):
                offset = given[3] if name == "pwrite64" else self._offset(given[fd], path)
                return Step(name, (path,), self._memory(given[1], given[2]), offset)
            return Step(name, (path,), b"", 0, given[1])
        flags = given[_FLAGS[name]] if name in _FLAGS else 0
        return Step(name, tuple(self._path(given[at]) for at in paths), b"", 0, flags)

    def _offset(self, fd: int, path: str) -> int:
        """Return where a write of a descriptor begins."""
        with open("/proc/%d/fdinfo/%d" % (self.pid, fd), encoding="ascii") as file:
            told = dict(line.split(":\t", 1) for line in file if ":\t" in line)
        return os.stat(path).st_size if int(told["flags"], 8) & _APPEND else int(told["pos"])

    def _memory(self, address: int, size: int) -> bytes:
        with open("/proc/%d/mem" % self.pid, "rb", 0) as memory:
            memory.seek(address)
            return memory.read(size)

    def _path(self, address: int) -> str:
        """Read a path of the child: up to the end of its page first, which is always there."""
        found = b""
        with open("/proc/%d/mem" % self.pid, "rb", 0) as memory:
            while b"\0" not in found and len(found) < 8192:
                memory.seek(address + len(found))
                found += memory.read(4096 - (address + len(found)) % 4096)
        path = os.fsdecode(found.partition(b"\0")[0])
        return (
            path
            if path.startswith("/")
            else os.path.normpath(os.path.join(os.readlink("/proc/%d/cwd" % self.pid), path))
        )
