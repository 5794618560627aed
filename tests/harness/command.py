"""The command line started as a person starts it: a process of its own, nobody at its stdin."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from harness.hook import ROOT


def dayleaf(env: dict[str, str], project: str, timeout: float = 60) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs `dayleaf`: run(*words, stdin=..., cwd=..., VARIABLE=...) -> CompletedProcess with text.

    env: the whole environment, to which a call may add.  project: where it stands if a call names no other place.
    """
    def run(*words: str, stdin: str = "", cwd: str = project, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-I", str(ROOT / "memory"), *words], input=stdin, capture_output=True,
                              cwd=cwd, env={**env, **more}, encoding="utf-8", timeout=timeout)
    return run


def on_terminal(words: Sequence[str], env: dict[str, str], cwd: str,
                answers: Iterable[str | Callable[[], str]] = ()) -> tuple[int, str]:
    """Run `dayleaf` on a terminal of its own, answer its questions in turn, and return (status, what it showed).

    env: the whole environment; a terminal without colours where it names none.  answers: a function gives its answer when it
    is asked.
    """
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(sys.executable, [sys.executable, "-I", str(ROOT / "memory"), *words], {"TERM": "dumb", **env})
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


def gone(pid: int) -> bool:
    """Tell whether a process ends within two seconds (a zombie that nobody reaps counts as ended)."""
    for _ in range(100):
        try:
            if "\nState:\tZ" in Path("/proc/%d/status" % pid).read_text():
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False
