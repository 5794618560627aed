"""Reading `.git` without git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memory.core import layout
from memory.session import git


def _git(folder, *words, env):
    done = subprocess.run(
        ["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repo(project, env):
    """A repository with one commit on the branch `work`."""
    _git(project, "checkout", "-q", "-b", "work", env=env)
    _git(project, "commit", "-q", "--allow-empty", "-m", "init", env=env)
    return project


def _seen(folder, env):
    head = git.read_head(layout.locate(env, str(folder)).git)
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
    assert _seen(tmp_path / "tree", env) == (
        "side",
        _git(str(tmp_path / "tree"), "rev-parse", "HEAD", env=env)[:10],
    )
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
    head = git.read_head(str(tmp_path))
    assert (head.branch, head.commit) == ("", "")


def test_no_git_directory_is_no_head():
    """Outside git there is neither branch nor commit."""
    assert (git.read_head("").branch, git.read_head("/nonexistent").commit) == ("", "")


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        (
            'git commit -m "Fix add"',
            "[main 1a2b3c4] Fix add\n 1 file changed",
            [("1a2b3c4", "Fix add")],
        ),
        ("git commit -m x", "[main (root-commit) 1a2b3c4] x", [("1a2b3c4", "x")]),
        (
            'git add -A && git commit -qm "Fix add" && git log --oneline | head -3',
            "b6fd487 Fix add\nd245b09 init",
            [("b6fd487", "Fix add")],
        ),
        ("git commit -qam 'Say \"hi\"'", "", [("", 'Say "hi"')]),
        (
            "git commit -m \"$(cat <<'EOF'\nSubject here\n\nBody\nEOF\n)\"",
            "",
            [("", "Subject here")],
        ),
        ("git log --oneline", "b6fd487 Fix add", []),
        ("git revert HEAD", '[main 9f8e7d6] Revert "Fix add"', [("9f8e7d6", 'Revert "Fix add"')]),
        ("echo commit", "commit", []),
    ],
)
def test_commits_come_from_what_git_printed(command, output, expected):
    """Hash and subject of commits made; a mere log makes none."""
    assert git.parse_commits(command, output) == expected


HOME = "/home/dev/shop"


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("cd /tmp/x && git init && git add . && git commit -m init", HOME),
        ("git -C /tmp/x commit -m init", HOME),
        ('D=$(mktemp -d) && cd "$D" && git init && git commit --allow-empty -m a', HOME),
        ("cd $(mktemp -d) && git init -q && git commit -m a", HOME),
        ("git commit -m a", "/home/dev/other"),
        ("cd ../other && git commit -am a", HOME),
        ("git clone ../up.git copy && cd copy && git commit -m a", HOME),
        ("mkdir -p build/demo && cd build/demo && git init && git commit -m a", HOME),
        ("(cd /var/folders/ab/T && git commit -m a)", HOME),
        ('git -C "$TMPDIR/repo" commit -m a', HOME),
    ],
)
def test_a_commit_of_another_repository_is_none_of_this_one(command, cwd):
    """A scratch folder, one that the command itself makes, another project."""
    assert git.is_in_other_repository(command, cwd, (HOME,))
    assert git.parse_commits(command, "[main 1a2b3c4] a", cwd, (HOME,)) == []


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("git commit -m a", HOME),
        ("cd web && git commit -m a", HOME),
        ("cd /home/dev/shop && git commit -m a", "/tmp"),
        ("git commit -m a", ""),
        ("cd /tmp && ls; cd - && git commit -m a", HOME),
        ("git -C web commit -m a", HOME),
        ("git init && git commit -m a", HOME),
        ("cd /tmp/x && make && cd /home/dev/shop && git commit -m a", HOME),
        ("cd $(git rev-parse --show-toplevel) && git commit -m a", HOME + "/web"),
        ("git commit -m a", "/home/dev/shop/.worktrees/fix"),
    ],
)
def test_a_commit_of_this_repository_counts(command, cwd):
    """In its root, below it, from elsewhere back in it, and where nothing is known."""
    assert not git.is_in_other_repository(command, cwd, (HOME,))
    assert git.parse_commits(command, "[main 1a2b3c4] a", cwd, (HOME,)) == [("1a2b3c4", "a")]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (
            "cat > t.sh <<'EOF'\ngit commit -m init\nEOF\nbash t.sh",
            "[main (root-commit) 1a2b3c4] init",
        ),
        (
            "bash <<'EOF'\ncd $(mktemp -d)\ngit init\ngit commit -m init\nEOF",
            "[main (root-commit) 1a2b3c4] init",
        ),
        ("./scripts/e2e.sh --keep", "[main 1a2b3c4] Add files"),
        ("go test -v ./...", "[master 1a2b3c4] init"),
        ("gh api repos/o/r/pulls/1/comments", "[2734651353] a.go:3 by somebody"),
        ("git log", "[main 1a2b3c4] not mine"),
        ("git commit -m 'Fix it'", "On branch main\nnothing to commit, working tree clean"),
    ],
)
def test_what_a_script_prints_of_its_own_repositories_is_no_commit(command, output):
    """Only a git command of the line itself makes one; and one that had nothing to do made none."""
    assert git.parse_commits(command, output) == []


@pytest.mark.parametrize(
    "command, output, expected",
    [
        (
            "git log --oneline -3",
            "1a2b3c4 Merge pull request #5 from o/fix/x\n2b3c4d5 Add y\n",
            [("fix/x", "5")],
        ),
        (
            "git log --oneline",
            "1a2b3c4 Merge branch 'a'\n2b3c4d5 Merge branch 'b' into 'main'\n",
            [("a", ""), ("b", "")],
        ),
        (
            "git log",
            (
                "Merge branch 'main' into fix/x\nMerge branch 'a' into fix/x\n"
                "Merge branch 'b' of host:o/r\n"
            ),
            [],
        ),
        ("git merge fix/x", "Already up to date.\n", []),
        ("git merge origin/main", "Merge made by the 'ort' strategy.\n", []),
        ("gh pr view 5", "Merge pull request #5 from o/fix/x\n", []),
        ("git log", 'Revert "Merge pull request #5 from o/fix/x"\n', []),
        ("git log", "docs: explain Merge pull request #5 from o/fix/x\n", []),
        (
            "git log",
            "commit 1a2b3c4\n\n    Merge pull request #5 from o/fix/x\n",
            [("fix/x", "5")],
        ),
        (
            "git log --graph --oneline",
            "*   1a2b3c4 (HEAD -> main) Merge pull request #5 from o/fix/x\n",
            [("fix/x", "5")],
        ),
        ("cat notes.txt", "Merge pull request #5 from o/fix/x\n", []),
        ("git -C /tmp/other log", "1a2b3c4 Merge pull request #5 from o/fix/x\n", []),
    ],
)
def test_what_was_merged_is_told_by_its_branch(command, output, expected):
    """Seen merged in a log; a trunk merged into a branch and another repository are none."""
    assert git.parse_merges(command, output, "/home/p", ("/home/p",)) == expected


@pytest.mark.parametrize(
    ("command", "output", "branch", "name"),
    [
        ("gh pr merge --squash", "", "fix/x", "fix/x"),
        ("gh pr merge 12 --squash", "", "fix/x", "#12"),
        ("gh pr merge fix/y -d", "", "main", "fix/y"),
        ("gh pr merge 12 --auto --squash", "", "fix/x", ""),
        ("gh pr merge 12 2>&1 | tail", "X Pull request is not mergeable", "fix/x", ""),
        ("gh pr merge 7 --help", "usage", "fix/x", ""),
        ("gh pr merge 12 || echo failed", "GraphQL: not mergeable", "fix/x", ""),
        ("gh pr merge 12", "X not mergeable", "fix/x", ""),
        ("gh pr merge 12 --repo o/other", "", "fix/x", ""),
        ("gh pr merge --squash --subject 'Add x'", "", "fix/x", ""),
        ("gh pr merge --squash", "", "", ""),
        ("gh pr view 12", "", "fix/x", ""),
    ],
)
def test_a_merge_by_the_host_is_told_by_branch_or_number(command, output, branch, name):
    """A squash leaves no merge in a log; what is only begun or in doubt is none."""
    assert git.parse_merged_pull(command, output, branch) == name


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("git checkout -- src/a.py b.py", ("src/a.py", "b.py")),
        ("git checkout HEAD -- a.go && go build ./...", ("a.go",)),
        ("cd web && git checkout a_test.go 2>/dev/null || echo none", ("web/a_test.go",)),
        ("git checkout .", ("*",)),
        ("git checkout main", ()),
        ("git checkout -b fix/a.b", ()),
        ("git checkout origin/main", ()),
        ("git restore src/a.py", ("src/a.py",)),
        ("git restore --staged a.py", ()),
        ("git restore --staged --worktree a.py", ("a.py",)),
        ("git reset --hard", ("*",)),
        ("git fetch && git reset --hard origin/main", ("*",)),
        ("git reset HEAD a.py", ()),
        ("git reset --soft HEAD~1", ()),
        ("git stash", ()),
        ("grep 'git reset --hard' notes.md", ()),
        ("git revert HEAD", ()),
    ],
)
def test_what_a_command_throws_away_is_told(command, paths):
    """Files, or all uncommitted work; a branch is none, nor is the index."""
    assert git.find_discarded_paths(command) == paths


@pytest.mark.parametrize(
    ("command", "anew"),
    [
        ("git add a.py && git commit --amend --no-edit", True),
        ("git commit -m 'tell --amend apart'", False),
        ("git log --amend", False),
    ],
)
def test_a_commit_that_is_made_anew_is_known(command, anew):
    """By the option, not by what a message says."""
    assert git.is_amend(command) is anew
