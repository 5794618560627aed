"""Git answers without a repository's configuration, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from harness.repository import received

from memory.store import safegit


def test_git_answers_as_it_would_with_the_configuration(project, env):
    """In a worktree, with packed references, a split index and lines that end as on Windows."""

    def git(*words: str, at: str = project) -> str:
        return subprocess.run(
            ["git", *words], cwd=at, env=env, check=True, capture_output=True, text=True
        ).stdout

    Path(project, "a.txt").write_bytes(b"one\r\n")
    git("config", "core.autocrlf", "input")
    received(project, env)
    git("update-index", "--split-index")
    git("pack-refs", "--all")
    git("gc", "-q")
    tree = project + "-tree"
    git("worktree", "add", "-q", tree, "-b", "side")
    Path(tree, "b.txt").write_text("two\n")
    git("add", "b.txt", at=tree)
    for at in (project, tree):
        for words in (
            ("log", "--format=%H %an", "HEAD"),
            ("status", "--porcelain", "-uall"),
            ("diff", "--cached", "--raw"),
            ("rev-list", "--count", "HEAD"),
            ("log", "-g", "--format=%H %gs", "HEAD"),
        ):
            assert safegit.read(at, env, *words).out.decode() == git(*words, at=at), words


@pytest.mark.parametrize(
    "name",
    [
        ".gitattributes",
        ".gitignore",
        ".dayleaf/rules/.gitattributes",
        ".git/packed-refs",
        ".git/index",
        ".git/HEAD",
        ".git/config",
        ".git/shallow",
        ".git/refs/heads/side/one",
        ".git/objects/info/alternates",
        ".git/info/exclude",
    ],
)
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
def test_git_is_not_asked_where_it_would_read_for_ever(project, env, name, make):
    """A pipe or a device in place of a file that git reads: the answer is its name, at once."""
    path = Path(project, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    make(path)
    begun = time.monotonic()
    safegit.read_user_email(project, env)
    done = safegit.read(project, env, "status", "--porcelain", "--", ".dayleaf")
    assert done.rc == 127 and str(path).encode() in done.err
    assert time.monotonic() - begun < safegit.SECONDS / 2


def test_git_is_not_asked_where_a_file_is_huge(project, env):
    """A sparse file costs nothing to make and minutes to read."""
    with open(project + "/.gitignore", "wb") as file:
        file.truncate(3 << 30)
    assert b".gitignore" in safegit.read(project, env, "status", "--porcelain").err


def test_a_folder_outside_of_git_says_so(tmp_path, env):
    """And nothing is left of the directory that git would have been given."""
    done = safegit.read(str(tmp_path), env, "log")
    assert (done.rc, done.err.decode()) == (
        127,
        "git does not run here: this is not a git repository",
    )


def test_nothing_is_left_of_the_directory_that_git_is_given(project, env, tmp_path, monkeypatch):
    """Nor of one whose git was ended at its deadline."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    safegit.read(project, env, "log", seconds=0.0)
    safegit.read(project, env, "status")
    assert [name for name in os.listdir(tmp_path) if name.startswith("dayleaf-git-")] == []
