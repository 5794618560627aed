"""`dayleaf resource`: what is taken, and what is refused in one line."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from harness import vault
from harness.resources import GUIDE, guide, resource


@pytest.fixture
def ok(run):
    """Run `dayleaf resource … --json`, which must succeed, and return its value."""
    return resource(run)


@pytest.fixture(name="guide")
def _guide(project) -> Path:
    """A document in the project."""
    return guide(project)


def refused(kind: str, project: str, tmp_path: Path) -> str:
    """Make something that is no readable file of the project, and return the path that a person would type."""
    path = Path(project, "x")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(project)  # a socket's path is short
        socket.socket(socket.AF_UNIX).bind("x")
        os.chdir(here)
    elif kind == "binary":
        path.write_bytes(b"\x7fELF\0\1\xff")
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate((64 << 20) + 1)
    elif kind in ("link out", "folder link out"):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "s.md").write_text("secret\n")
        path.symlink_to(tmp_path / "out" / ("s.md" if kind == "link out" else ""))
    return {"gone": "x", "folder": ".", "device": "/dev/zero", "git": ".git/config", "folder link out": "x/s.md", "up": "../none.md",
            "below a file": "docs/billing guide.md/x", "blank": " ", "long": "x" * 5000}.get(kind, "x")


def test_a_long_document_is_kept_whole_and_says_what_is_found(run, project):
    """The first 1 MiB."""
    Path(project, "long.md").write_text("# Long\n\n" + "word word word\n" * 80_000 + "end\n")
    done = run("resource", "add", "long.md")
    assert done.returncode == 0 and "only its first 1 MiB" in done.stderr
    assert Path(done.stdout.splitlines()[1].strip()).read_text().endswith("word\nend\n")


@pytest.mark.parametrize(("kind", "said"), [
    ("gone", "is not there"), ("folder", "is a directory"), ("device", "is a device"), ("fifo", "is a fifo"), ("socket", "is a socket"),
    ("binary", "is not UTF-8 text"), ("large", "larger than 63 MiB"), ("link out", "lies outside"), ("folder link out", "lies outside"),
    ("git", "is git's own"), ("up", "is not there"), ("below a file", "is not there"), ("blank", "is not there"), ("long", "cannot be read")])
def test_what_is_no_readable_file_is_refused_in_one_line(run, ok, guide, project, tmp_path, kind, said):
    """With what mends it, and nothing is written."""
    done = run("resource", "add", "--path", refused(kind, project, tmp_path))
    assert done.returncode in (1, 2) and done.stderr.count("\n") == 1 and said in done.stderr and "; " in done.stderr, done.stderr
    assert ok("list") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(run, guide):
    """It names the permissions."""
    guide.chmod(0)
    assert "mend its permissions" in run("resource", "add", str(guide)).stderr


def test_a_shared_resource_lies_in_its_repository(run, tmp_path):
    """Whoever clones it has no other file."""
    path = tmp_path / "x.md"
    path.write_text("x\n")
    done = run("resource", "add", str(path), "--shared")
    assert done.returncode == 1 and "lies outside" in done.stderr


@pytest.mark.parametrize(("words", "said"), [
    (["add"], "wants --path"), (["add", "a", "b"], "wants one path"), (["add", "a", "--path", "b"], "wants one path"),
    (["add", "docs/billing guide.md", "--version", "v 1"], "holds a blank"), (["add", "docs/billing guide.md", "--version", ""], "empty version"),
    (["add", "docs/billing guide.md", "--version", "unversioned", "--version", "v1"], "excludes other versions"),
    (["add", "x", "--shared", "--global"], "exclude one another"), (["add", "x", "--type", "dco"], "did you mean 'doc'?"),
    (["add", "x", "--stale"], "takes no --stale: that is for `resource list`"), (["list", "x"], "takes no more words"),
    (["list", "--since", "3d"], "takes no --since: that is for `resource search`"), (["refresh"], "wants an ID or --all"),
    (["refresh", "x", "--all"], "wants an ID or --all"), (["update", "r-1"], "names the resources"), (["show"], "wants one ID"),
    (["run"], "wants an ID"), (["delete"], "wants one ID"), (["approve"], "wants an ID"), (["aprove", "x"], "did you mean 'approve'?"),
    (["run", "r-1", "--timeout", "0"], "no number above 0"), (["run", "r-1", "--timeout", "100000"], "at most 86400"),
    (["show", "nothing"], "`dayleaf resource list` names the resources")])
def test_words_that_are_off_are_said_in_one_line(run, guide, words, said):
    """Nothing is written."""
    done = run("resource", *words)
    assert done.returncode in (1, 2) and done.stderr.count("\n") == 1 and said in done.stderr, done.stderr


def test_another_kind_of_record_is_no_resource(run, ok, place):
    """Neither shown by mistake nor deleted."""
    vault.put(place, "p/learnings/l1.md", "A learning", "x")
    for word in ("delete", "refresh", "approve", "run", "update"):
        assert "is a learning, not a resource" in run("resource", word, "l1").stderr
    done = run("resource", "run", "r-1")
    assert done.returncode == 1 and "names the resources" in done.stderr


def test_a_path_is_named_once(ok, run, guide, project):
    """However it is written; it says so, and what changes it."""
    first = ok("add", "docs/billing guide.md")["id"]
    Path(project, "link.md").symlink_to(guide)
    for path, cwd in (("../docs/billing guide.md", f"{project}/docs"), (str(guide), project), ("docs/../docs/billing guide.md", project),
                      ("link.md", project)):
        assert ok("add", "--path", path, cwd=cwd)["id"] == first
    guide.write_text(GUIDE + "More.\n")
    done = run("resource", "add", str(guide))
    assert done.returncode == 0 and f"already there {first}" in done.stdout and f"resource refresh {first}" in done.stdout
    assert len(ok("list")) == 1
