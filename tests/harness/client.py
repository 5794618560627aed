"""The real clients for tests: installed once from npm into a cache, or named by the environment."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CLAUDE = ("claude", "@anthropic-ai/claude-code@2.1.329", "DAYLEAF_TEST_CLAUDE")
GEMINI = ("gemini", "@google/gemini-cli@0.61.0", "DAYLEAF_TEST_GEMINI")
# Read at import, before a test points HOME elsewhere: the cache outlives the run.
CACHE = Path(os.environ.get("DAYLEAF_TEST_CACHE") or Path(
    os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "dayleaf-tests"))
ENV = {key: value for key, value in os.environ.items() if not key.startswith(("DAYLEAF_", "CLAUDE"))}
GIVEN = {variable: os.environ.get(variable, "") for _, _, variable in (CLAUDE, GEMINI)}


@pytest.fixture(scope="session")
def claude_bin() -> str:
    """Path of Claude Code; the test is skipped where it can be had from nowhere."""
    return _found(*CLAUDE)


@pytest.fixture(scope="session")
def gemini_bin() -> str:
    """Path of gemini; the test is skipped where it can be had from nowhere."""
    return _found(*GEMINI)


def _found(name: str, package: str, variable: str) -> str:
    if GIVEN[variable]:
        return os.path.realpath(GIVEN[variable])
    program = CACHE / package.rpartition("/")[2].replace("@", "-") / "node_modules" / ".bin" / name
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / (name + ".lock"), "w") as lock:  # two processes of one run want it at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _install(name, package, variable, program)
    return os.path.realpath(program)


def _install(name: str, package: str, variable: str, program: Path) -> None:
    if not shutil.which("npm"):
        pytest.skip(f"no npm to install {name} with; set {variable} to its path")
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(program.parents[2]), package],
                          env=ENV, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode or not program.exists():
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        pytest.skip(f"npm could not install {name} ({lines[-1]}); set {variable} to its path")
