"""The command line as a person starts it, nobody at its stdin or on a terminal; and within this
process.
"""

from __future__ import annotations

import contextlib
import os
import posix
import pty
import re
import select
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from harness.hook import ROOT

sys.path.insert(0, str(ROOT))

from memory.cli import main
from memory.core import spellings

# read here: the fixtures give every test an environment of its own
PROCESSES = os.environ.get("DAYLEAF_TEST_PROCESSES")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def spelled(words: Sequence[str]) -> list[str]:
    """Return a call as a person types it; tests name a verb by the key of its row."""
    if not words or words[0] not in (*spellings.MOVED, *spellings.OPTIONS):
        return list(words)
    return [
        *spellings.spell_verb(words[0]).split(),
        *spellings.replace_old_option(words[0], words[1:])[0],
    ]


def process(env: dict[str, str], project: str, timeout: float = 60) -> Run:
    """Return a function that runs `dayleaf` as a process.

    run(*words, stdin=..., cwd=..., VARIABLE=...) -> CompletedProcess.

    env: the whole environment, to which a call may add.  project: where it stands if a call names
    no other place.
    """

    def run(
        *words: str, stdin: str = "", cwd: str = project, **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", str(ROOT / "memory"), *spelled(words)],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env={**env, **more},
            encoding="utf-8",
            timeout=timeout,
        )

    return run


def dayleaf(env: dict[str, str], project: str, timeout: float = 60) -> Run:
    """Return a function that runs `dayleaf` within this process, in a tenth of the time.

    It is called like that of `process`.

    Environment, directory and the three streams, down to their descriptors, are those that a
    process of its own would have. DAYLEAF_TEST_PROCESSES=1 starts processes after all, which
    timeout is for.
    """

    def run(
        *words: str, stdin: str = "", cwd: str = project, **more: str
    ) -> subprocess.CompletedProcess[str]:
        with contextlib.ExitStack() as after:
            ends = [after.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            ends[0].write(stdin.encode("utf-8"))
            ends[0].seek(0)
            after.enter_context(_standing({**env, **more}, cwd))
            after.enter_context(_speaking([end.fileno() for end in ends]))
            try:
                status = main.main(spelled(words))
            except SystemExit as ended:
                status = int(ended.code or 0)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for end in ends:
                end.seek(0)
            out, err = (end.read().decode("utf-8").replace("\r\n", "\n") for end in ends[1:])
        return subprocess.CompletedProcess(words, status, out, err)

    return process(env, project, timeout) if PROCESSES else run


_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\\\]*\"""")
_SHELL = re.compile(r"[|<>;&$`*?\[\]~{}#!\\\\\"'=(]")


def typed(env: dict[str, str], project: str, line: str) -> tuple[int, str]:
    """Run a line as a person types it and return (status, output with errors): within this process
    where it is one command of ours, by `sh` where it is more.

    env: its PATH leads to `dayleaf` for lines of the second kind.
    """
    if PROCESSES or not line.startswith("dayleaf ") or _SHELL.search(_QUOTED.sub("", line)):
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=project,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            timeout=60,
        )
        return done.returncode, done.stdout
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as nothing,
        _standing(env, project),
        _speaking([nothing.fileno(), out.fileno(), out.fileno()]),
    ):
        try:
            status = main.main(shlex.split(line)[1:])
        except SystemExit as ended:
            status = int(ended.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        out.seek(0)
        return status, out.read().decode("utf-8")


@contextlib.contextmanager
def _standing(env: dict[str, str], cwd: str) -> Iterator[None]:
    """Give this process an environment and a directory for a while.

    `posix` keeps the environment that the process was started with.
    """
    here, before, raw = os.getcwd(), dict(os.environ), dict(posix.environ)
    try:
        os.chdir(cwd)
        _environ(env, {os.fsencode(key): os.fsencode(value) for key, value in env.items()})
        yield
    finally:
        os.chdir(here)
        _environ(before, raw)


def _environ(env: dict[str, str], raw: dict[bytes, bytes]) -> None:
    for there, wanted in ((os.environ, env), (posix.environ, raw)):
        there.clear()
        there.update(wanted)
    time.tzset()


@contextlib.contextmanager
def _speaking(ends: Sequence[int]) -> Iterator[None]:
    """Lead the standard streams to other descriptors for a while.

    A child process sees them too.
    """
    before, kept = (sys.stdin, sys.stdout, sys.stderr), [os.dup(number) for number in range(3)]
    for stream in before[1:]:
        stream.flush()
    try:
        for number, end in enumerate(ends):
            os.dup2(end, number)
        sys.stdin, sys.stdout, sys.stderr = (
            open(n, mode, encoding="utf-8", closefd=False) for n, mode in enumerate("rww")
        )
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for number, end in enumerate(kept):
            os.dup2(end, number)
            os.close(end)


def on_terminal(
    words: Sequence[str],
    env: dict[str, str],
    cwd: str,
    answers: Iterable[str | Callable[[], str]] = (),
) -> tuple[int, str]:
    """Run `dayleaf` on a terminal of its own, answer its questions in turn, and return (status,
    what it showed).

    env: the whole environment; a terminal without colours where it names none.  answers: a function
    gives its answer when it is asked.
    """
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(
            sys.executable,
            [sys.executable, "-I", str(ROOT / "memory"), *spelled(words)],
            {"TERM": "dumb", **env},
        )
    shown, end, left, seen = b"", time.monotonic() + 30, list(answers), 0
    while time.monotonic() < end:
        if not select.select([fd], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        asked = shown.count(b"[q]uit: ") + shown.count(b"type yes: ")
        if left and asked > seen:
            seen = asked
            answer = left.pop(0)
            os.write(fd, (answer() if callable(answer) else answer).encode() + b"\n")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return status, shown.decode("utf-8").replace("\r\n", "\n")


def one_line_error(done: subprocess.CompletedProcess[str], status: int) -> str:
    """Return the only line on stderr of a command that must fail with a status."""
    assert done.returncode == status, (done.returncode, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("dayleaf: "), done.stderr
    return lines[0]


def gone(pid: int) -> bool:
    """Tell whether a process ends within two seconds.

    A zombie that nobody reaps counts as ended.
    """
    for _ in range(100):
        try:
            if "\nState:\tZ" in Path("/proc/%d/status" % pid).read_text():
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False
