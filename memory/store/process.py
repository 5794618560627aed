"""Child processes: local commands with a deadline and a limit on their output.

A child has a session of its own; when it has ended, missed its deadline or printed too much, its
whole process group is killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from typing import IO, Any, Callable, Mapping, NamedTuple, Sequence

ERRORS = 1 << 16  # bytes kept of stderr
_GROUP = 0 if os.name == "posix" else 0x00000200  # a process group of its own, on Windows
GRACE = 2.0  # seconds between asking a group to end and killing it


class ProcessResult(NamedTuple):
    """The result of a child process.

    rc: its status, negative for a signal.  out, err: up to the caps.  full: stdout passed its cap.
    in_time: it ended by itself before the deadline.
    """

    rc: int
    out: bytes
    err: bytes
    full: bool
    in_time: bool


def keep_absolute(path: str) -> str:
    """Return the absolute entries of a PATH.  Others depend on the working directory."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))


def which(program: str, env: Mapping[str, str]) -> str:
    """Return the absolute path of a program, or ""."""
    if os.path.dirname(program):
        can_run = os.path.isabs(program) and os.access(program, os.X_OK)
        return program if can_run and os.path.isfile(program) else ""
    found = shutil.which(program, path=keep_absolute(env.get("PATH", "")) or os.devnull)
    return found if found and os.path.isabs(found) else ""


def run(
    argv: Sequence[str],
    stdin: bytes,
    seconds: float,
    env: Mapping[str, str],
    folder: str,
    limit: int,
    stop: threading.Event | None = None,
) -> ProcessResult:
    """Run a command and return its result; raises OSError, ValueError.

    argv: argv[0] absolute.  seconds: its deadline.  folder: its working directory; "" for an empty
    one, removed afterwards.  limit: bytes of stdout, at which it is ended.  stop: ends it, set by
    another thread.
    """
    scratch = "" if folder else tempfile.mkdtemp(prefix="dayleaf-")
    printed = {1: bytearray(), 2: bytearray()}
    full = threading.Event()

    def collect(number: int, piece: bytes) -> bool:
        most = limit if number == 1 else ERRORS
        over = len(printed[number]) + len(piece) > most
        printed[number].extend(piece[: most - len(printed[number])])
        if over and number == 1:
            full.set()
        return full.is_set()

    folder = folder or scratch
    try:
        pipe = subprocess.PIPE
        done = stream(argv, pipe, seconds, env, folder, collect, stop, data=stdin, grace=0.0)
        return done._replace(out=bytes(printed[1]), err=bytes(printed[2]), full=full.is_set())
    finally:
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)


def stream(
    argv: Sequence[str],
    stdin: int,
    seconds: float,
    env: Mapping[str, str],
    folder: str,
    tell: Callable[[int, bytes], bool | None],
    stop: threading.Event | None = None,
    data: bytes = b"",
    grace: float = GRACE,
) -> ProcessResult:
    """Run a command and pass its output to `tell`; raises OSError, ValueError.

    stdin: a descriptor, or subprocess.DEVNULL; subprocess.PIPE for `data`.  seconds: its deadline,
    when the group is asked to end; it is killed `grace` seconds later.  tell: gets 1 (stdout) or 2
    (stderr) and bytes; True ends the command.  stop: ends it as the deadline does.
    """
    process = subprocess.Popen(
        list(argv),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(env),
        start_new_session=True,
        creationflags=_GROUP,
    )
    ended, lock, in_time = threading.Event(), threading.Lock(), False
    try:
        assert process.stdout and process.stderr
        readers = [
            _start_thread(_forward_output, pipe, number, tell, lock, ended)
            for number, pipe in ((1, process.stdout), (2, process.stderr))
        ]
        _start_thread(_await_exit, process, ended)
        if process.stdin:
            _start_thread(_write_stdin, process.stdin, data)
        in_time = _wait_in_time(ended, seconds, stop)
        if not in_time and grace:
            _request_end(process)
            ended.wait(grace)
    finally:
        _kill_group(process)
    for thread in readers:
        # a child that left the group may keep the pipe open: what has come by now is all
        thread.join(2.0)
    return ProcessResult(process.returncode, b"", b"", False, in_time)


def _start_thread(work: Callable[..., None], *given: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=given, daemon=True)
    thread.start()
    return thread


def _forward_output(
    pipe: IO[bytes],
    number: int,
    tell: Callable[[int, bytes], bool | None],
    lock: threading.Lock,
    ended: threading.Event,
) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        while True:
            piece = os.read(pipe.fileno(), 1 << 16)
            if not piece:
                return
            with lock:
                if tell(number, piece):
                    return ended.set()


def _request_end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGTERM)


def _wait_in_time(ended: threading.Event, seconds: float, stop: threading.Event | None) -> bool:
    if stop is None:
        return ended.wait(seconds)
    end = time.monotonic() + seconds
    while not stop.is_set() and time.monotonic() < end:
        if ended.wait(min(0.2, max(end - time.monotonic(), 0.0))):
            return True
    return ended.is_set()


def _write_stdin(stream: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):
        stream.write(data)
        stream.flush()
    with contextlib.suppress(OSError, ValueError):
        stream.close()


def _await_exit(process: subprocess.Popen[bytes], ended: threading.Event) -> None:
    process.wait()
    ended.set()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False
            )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5.0)
