"""The real clients for tests: installed once from npm into a cache, or named by the environment.

Of Claude Code four versions: NEWEST, the OLDEST that takes the plugin (the last in plain
JavaScript, before its young events), and two between them, which are tried only where
DAYLEAF_TEST_CLIENTS is `all`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

NEWEST, OLDEST, BETWEEN = "2.1.332", "2.1.112", ("2.1.178", "2.1.240")
CLAUDE = ("claude", "@anthropic-ai/claude-code@" + NEWEST, "DAYLEAF_TEST_CLAUDE")
GEMINI = ("gemini", "@google/gemini-cli@0.61.0", "DAYLEAF_TEST_GEMINI")
CODEX = ("codex", "@openai/codex@0.169.0", "DAYLEAF_TEST_CODEX")
OPENCODE = ("opencode", "opencode-ai@1.18.33", "DAYLEAF_TEST_OPENCODE")
# Read at import, before a test points HOME elsewhere: the cache outlives the run.
CACHE = Path(
    os.environ.get("DAYLEAF_TEST_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "dayleaf-tests")
)
ENV = {
    key: value for key, value in os.environ.items() if not key.startswith(("DAYLEAF_", "CLAUDE"))
}
GIVEN = {
    variable: os.environ.get(variable, "") for _, _, variable in (CLAUDE, GEMINI, CODEX, OPENCODE)
}
ALL = os.environ.get("DAYLEAF_TEST_CLIENTS") == "all"


@pytest.fixture(scope="session")
def claude_bin() -> str:
    """Return the path of Claude Code; skip the test if it cannot be installed."""
    return _found(*CLAUDE)


@pytest.fixture(
    scope="session",
    params=[
        NEWEST,
        OLDEST,
        *(
            pytest.param(
                each,
                marks=pytest.mark.skipif(not ALL, reason="DAYLEAF_TEST_CLIENTS=all asks for it"),
            )
            for each in BETWEEN
        ),
    ],
)
def claude_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str]:
    """Return (version, path) of each of the four versions of Claude Code."""
    if request.param == NEWEST:
        return NEWEST, _found(*CLAUDE)
    script = _found("claude", "@anthropic-ai/claude-code@" + request.param, "")
    if not script.endswith(".js"):
        return request.param, script
    node = shutil.which("node")
    if not node:
        pytest.skip(f"no node to run Claude Code {request.param} with")
    program = tmp_path_factory.mktemp("client") / "claude"
    # a client's own PATH may lack it
    program.write_text('#!/bin/sh\nexec "%s" "%s" "$@"\n' % (node, script))
    program.chmod(0o755)
    return request.param, str(program)


@pytest.fixture(scope="session")
def gemini_bin() -> str:
    """Return the path of gemini; skip the test if it cannot be installed."""
    return _found(*GEMINI)


@pytest.fixture(scope="session")
def codex_bin() -> str:
    """Return the path of codex; skip the test if it cannot be installed."""
    return _found(*CODEX)


@pytest.fixture(scope="session")
def opencode_bin() -> str:
    """Return the path of opencode; skip the test if it cannot be installed."""
    return _found(*OPENCODE)


def _found(name: str, package: str, variable: str) -> str:
    if GIVEN.get(variable):
        return os.path.realpath(GIVEN[variable])
    program = CACHE / package.rpartition("/")[2].replace("@", "-") / "node_modules" / ".bin" / name
    CACHE.mkdir(parents=True, exist_ok=True)
    # two processes of one run want it at the same time
    with open(CACHE / (name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _install(name, package, variable, program)
    return os.path.realpath(program)


def _install(name: str, package: str, variable: str, program: Path) -> None:
    instead = f"; set {variable} to its path" if variable else ""
    if not shutil.which("npm"):
        pytest.skip(f"no npm to install {package} with{instead}")
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(program.parents[2]), package],
        env=ENV,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode or not program.exists():
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        pytest.skip(f"npm could not install {package} ({lines[-1]}){instead}")
