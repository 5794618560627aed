"""What git tracks, and where HEAD was: read from files as git wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.project import gitindex


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_index_is_read_in_every_version(version, history, git):
    """Paths and hashes are those of ls-files."""
    if version == 3:
        Path(history, "later.py").write_text("x\n")
        git("add", "-N", "later.py")
    git("update-index", "--index-version", str(version))
    rows = [line.split("\t") for line in git("ls-files", "-s", "-z").strip("\0").split("\0")]
    found = gitindex.read(history + "/.git")
    assert Path(history, ".git/index").read_bytes()[7] == version
    assert found.hashes == {path: meta.split()[1] for meta, path in rows} and found.whole


def test_an_index_that_does_not_hold_everything_says_so(history, git):
    """A split index and a sparse checkout are not whole; a damaged one is empty."""
    git("update-index", "--split-index")
    assert not gitindex.read(history + "/.git").whole
    git("update-index", "--no-split-index")
    git("sparse-checkout", "set", "--cone", "한글")
    found = gitindex.read(history + "/.git")
    assert not found.whole and "src/m0.py" in found.away
    index = Path(history, ".git/index")
    index.write_bytes(index.read_bytes()[:200])
    assert gitindex.read(history + "/.git") == gitindex.NOTHING


def test_where_head_was_is_read_from_its_log(history, git):
    """The commit before an instant and the one after it; nothing before the log begins."""
    log = gitindex.read_head_moves(history + "/.git")
    hashes = git("log", "--reverse", "--format=%H").split()
    assert log[1] == hashes
    last = log[0][-1]
    assert gitindex.find_commits_around(log, last + 5) == hashes[-1:]
    assert gitindex.find_commits_around(log, log[0][0] - 1) == []
    assert gitindex.find_commits_around(([1.0, 5.0], ["a", "b"]), 3.0) == ["a", "b"]
