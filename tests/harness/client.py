"""The real client for tests: installed once from npm into a cache, or named by the environment."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

VERSION = "2.1.329"
# Read at import, before a test points HOME elsewhere: the cache outlives the run.
CACHE = Path(os.environ.get("DAYLEAF_TEST_CACHE") or Path(
    os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "dayleaf-tests"))
GIVEN = os.environ.get("DAYLEAF_TEST_CLAUDE", "")
ENV = {key: value for key, value in os.environ.items() if not key.startswith(("DAYLEAF_", "CLAUDE"))}


@pytest.fixture(scope="session")
def claude_bin() -> str:
    """Path of the client; the test is skipped where it can be had from nowhere."""
    path, why = find()
    if not path:
        pytest.skip(why)
    return path


def find() -> tuple[str, str]:
    """Return (path of the client, "") or ("", the reason why there is none)."""
    if GIVEN:
        return os.path.realpath(GIVEN), ""
    program = CACHE / f"claude-{VERSION}" / "node_modules" / ".bin" / "claude"
    if program.exists():
        return os.path.realpath(program), ""
    if not shutil.which("npm"):
        return "", "no npm to install the client with; set DAYLEAF_TEST_CLAUDE to a client's path"
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(program.parents[2]),
         f"@anthropic-ai/claude-code@{VERSION}"], env=ENV, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode or not program.exists():
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        return "", f"npm could not install the client ({lines[-1]}); set DAYLEAF_TEST_CLAUDE to a client's path"
    return os.path.realpath(program), ""
