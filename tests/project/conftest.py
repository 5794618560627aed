"""What the tests of a project stand on: a tree of files to import, a repository with a history."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.importing import took, tree
from harness.repository import JWT, Repository


@pytest.fixture(name="tree")
def _tree(project):
    """A tree of reference material in the project: put(path, text) writes a file of it."""
    return tree(project)


@pytest.fixture(name="took")
def _took(ok):
    """Import and return what --json says: took(*words)."""
    return took(ok)


@pytest.fixture
def git(project, env):
    """Run git in the project (or `cwd=`) and return what it printed."""

    def call(*words, cwd=project, stdin=None):
        done = subprocess.run(
            ["git", *words],
            cwd=cwd,
            env={**env, "GIT_CONFIG_NOSYSTEM": "1"},
            check=True,
            capture_output=True,
            input=stdin,
        )
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    return call


@pytest.fixture(scope="session")
def written(tmp_path_factory, new_repository) -> Path:
    """Forty commits on files that grow and change, made once: those who ask for a history change a
    copy.
    """
    root = tmp_path_factory.mktemp("history") / "project"
    shutil.copytree(new_repository, root / ".git")
    env = {
        "HOME": str(root.parent),
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    rng = random.Random(5)
    for turn in range(40):
        for name in ("src/a b/x.py", f"src/m{turn % 7}.py", "한글/파일.txt"):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = (
                path.read_text(encoding="utf-8").splitlines()
                if path.exists()
                else [f"line {n}" for n in range(300)]
            )
            lines[rng.randrange(len(lines)) : 0] = [f"turn {turn} {rng.random()}"]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        for words in (["add", "-A"], ["commit", "-q", "-m", f"turn {turn}"]):
            subprocess.run(["git", *words], cwd=root, env=env, check=True)
    return root


@pytest.fixture
def history(project, written, git) -> str:
    """The project, with forty commits."""
    shutil.copytree(written, project, dirs_exist_ok=True)
    git("update-index", "-q", "--refresh")  # git looks at inodes too
    return project


@pytest.fixture
def repository(project, env, now):
    """A repository of two files and a commit."""
    made = Repository(project, env, now)
    made.write(src__auth__jwt=JWT, src__app="from auth.jwt import verify_token\nverify_token(1)\n")
    return made
