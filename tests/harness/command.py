"""The command line started as a person starts it: a process of its own, nobody at its stdin."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
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
