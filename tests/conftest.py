"""What every test stands on: a home of its own, a fixed instant, a project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory import paths

NOW = 1795271452.0  # 2026-11-21T14:30:52Z


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    """Point every way to a home directory of this process, and of its children, into the test's own directory."""
    mine = tmp_path / "home"
    mine.mkdir()
    for key in [key for key in os.environ if key.startswith(("DAYLEAF_", "CLAUDE_", "GIT_"))]:
        monkeypatch.delenv(key)
    for key in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(key, str(mine))
    for key in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(key, str(mine / key.lower()))
    monkeypatch.setenv("DAYLEAF_HOME", str(mine / ".dayleaf"))
    if sys.platform != "win32":
        import pwd

        entry = list(pwd.getpwuid(os.getuid()))
        entry[5] = str(mine)
        monkeypatch.setattr(pwd, "getpwuid", lambda uid: pwd.struct_passwd(entry))


@pytest.fixture
def home(tmp_path) -> str:
    """The HOME of the test, as text."""
    return str(tmp_path / "home")


@pytest.fixture
def env(home) -> dict:
    """The environment of a hook or a command: HOME, PATH, LANG."""
    return {"HOME": home, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}


@pytest.fixture
def now() -> float:
    """A fixed instant: 2026-11-21T14:30:52Z."""
    return NOW


@pytest.fixture
def project(tmp_path, env) -> str:
    """A git repository without a remote."""
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], env=env, check=True)
    with (root / ".git" / "config").open("a") as config:
        config.write("[user]\n\tname = Test\n\temail = test@example.invalid\n")
    return str(root)


@pytest.fixture
def place(env, project) -> paths.Place:
    """The workspace of `project`."""
    return paths.locate(env, project)
