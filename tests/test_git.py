"""Reading `.git` without git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memory import git, paths


def _git(folder, *words, env):
    done = subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repo(project, env):
    """A repository with one commit on the branch `work`."""
    _git(project, "checkout", "-q", "-b", "work", env=env)
    _git(project, "commit", "-q", "--allow-empty", "-m", "init", env=env)
    return project


def _seen(folder, env):
    head = git.head(paths.locate(env, str(folder)).git)
    return head.branch, head.commit


def test_head_agrees_with_git_on_a_branch(repo, env):
    """Branch and the first ten digits of the commit are those git itself names."""
    assert _seen(repo, env) == ("work", _git(repo, "rev-parse", "HEAD", env=env)[:10])


def test_head_before_the_first_commit_knows_the_branch_alone(project, env):
    """A repository without commits has a branch and no commit."""
    _git(project, "checkout", "-q", "-b", "fresh", env=env)
    assert _seen(project, env) == ("fresh", "")


def test_head_reads_packed_refs(repo, env):
    """After `git pack-refs` the loose file is gone and the packed line counts."""
    _git(repo, "branch", "other/work", env=env)
    _git(repo, "pack-refs", "--all", env=env)
    assert not Path(repo, ".git/refs/heads/work").exists()
    assert _seen(repo, env) == ("work", _git(repo, "rev-parse", "HEAD", env=env)[:10])


def test_head_of_a_detached_checkout_has_no_branch(repo, env):
    """A detached HEAD is a commit alone."""
    _git(repo, "checkout", "-q", "--detach", env=env)
    assert _seen(repo, env) == ("", _git(repo, "rev-parse", "HEAD", env=env)[:10])


def test_head_of_a_worktree_is_its_own(repo, env, tmp_path):
    """A worktree has its own branch, whose ref stands in the common directory."""
    _git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"), env=env)
    _git(str(tmp_path / "tree"), "commit", "-q", "--allow-empty", "-m", "more", env=env)
    assert _seen(tmp_path / "tree", env) == ("side", _git(str(tmp_path / "tree"), "rev-parse", "HEAD", env=env)[:10])
    assert _seen(repo, env)[0] == "work"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "ref: ../../../etc/passwd\n",
        "ref: refs/heads/../../../../etc/passwd\n",
        "nonsense",
        "ref: refs/heads/\x1b[31m\n",
    ],
)
def test_a_hostile_head_says_nothing(tmp_path, content):
    """A HEAD that points out of the git directory, or at nothing, gives empty values."""
    (tmp_path / "HEAD").write_text(content)
    head = git.head(str(tmp_path))
    assert (head.branch, head.commit) == ("", "")


def test_no_git_directory_is_no_head():
    """Outside git there is neither branch nor commit."""
    assert (git.head("").branch, git.head("/nonexistent").commit) == ("", "")


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ('git commit -m "Fix add"', "[main 1a2b3c4] Fix add\n 1 file changed", [("1a2b3c4", "Fix add")]),
        ("git commit -m x", "[main (root-commit) 1a2b3c4] x", [("1a2b3c4", "x")]),
        (
            'git add -A && git commit -qm "Fix add" && git log --oneline | head -3',
            "b6fd487 Fix add\nd245b09 init",
            [("b6fd487", "Fix add")],
        ),
        ("git commit -qam 'Say \"hi\"'", "", [("", 'Say "hi"')]),
        ("git commit -m \"$(cat <<'EOF'\nSubject here\n\nBody\nEOF\n)\"", "", [("", "Subject here")]),
        ("git log --oneline", "b6fd487 Fix add", []),
        ("git revert HEAD", '[main 9f8e7d6] Revert "Fix add"', [("9f8e7d6", 'Revert "Fix add"')]),
        ("echo commit", "commit", []),
    ],
)
def test_commits_come_from_what_git_printed(command, output, expected):
    """Hash and subject of commits made; a mere log makes none."""
    assert git.commits(command, output) == expected
