"""FRESH, STALE, UNKNOWN: what a record names against the working tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory import claims, records


def note(body, meta=""):
    """A record with a body and lines of frontmatter."""
    return records.from_bytes("p/learnings/x.md", ("---\ntitle: t\n%s---\n\n%s\n" % (meta, body)).encode(), 0.0)


@pytest.fixture
def tree(project):
    """A project with two files."""
    for name in ("src/auth/jwt.py", "README.md"):
        path = Path(project, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n", encoding="utf-8")
    return project


@pytest.mark.parametrize(("body", "meta", "state"), [
    ("see `src/auth/jwt.py`", "", "FRESH"), ("see src/auth/jwt.py:42.", "", "FRESH"), ("`README.md` says so", "", "FRESH"),
    ("see `src/auth/gone.py`", "", "STALE"), ("see `src/auth/jwt.py` and src/gone.ts", "", "STALE"),
    ("nothing named", "", "UNKNOWN"), ("`jwt.py` alone", "", "UNKNOWN"), ("auth/jwt.py, shortened", "", "UNKNOWN"),
    ("v2.1.0, e.g. `user.name` and `foo.bar()`", "", "UNKNOWN"), ("https://example.com/src/auth/gone.py", "", "UNKNOWN"),
    ("/etc/gone.conf and ~/x/gone.py", "", "UNKNOWN"), ("../outside/gone.py", "", "UNKNOWN"),
    ("x", "files: [src/auth/jwt.py]\n", "FRESH"), ("x", "files: [lost.py]\n", "STALE"),
    ("x", "files: src/auth/jwt.py, lost.py\n", "STALE"),
])
def test_named_files_are_checked(tree, body, meta, state):
    """Missing files make a record stale, present ones fresh; what cannot be told says nothing."""
    assert claims.check(note(body, meta), tree, tree + "/.git").state == state


def test_deleting_a_named_file_makes_the_record_stale(tree):
    """The working tree is looked at each time."""
    one = note("see `src/auth/jwt.py`")
    assert claims.check(one, tree, "").state == "FRESH"
    Path(tree, "src/auth/jwt.py").unlink()
    found = claims.check(one, tree, "")
    assert found.state == "STALE" and [c.reason for c in found.gone] == ["src/auth/jwt.py is gone"]


def test_without_a_tree_nothing_is_known():
    """A record of another workspace has nothing to be checked against."""
    assert claims.check(note("see `src/auth/jwt.py`"), "", "").state == "UNKNOWN"


@pytest.mark.parametrize(("path", "body", "meta", "named"), [
    ("jwt.py", "x", "files: [src/auth/jwt.py]\n", True), ("auth/jwt.py", "x", "files: src/auth/jwt.py\n", True),
    ("wt.py", "x", "files: [src/auth/jwt.py]\n", False), ("src/auth/jwt.py", "in `src/auth/jwt.py`:", "", True),
    ("jwt.py", "in src/auth/jwt.py.", "", True), ("jwt.py", "myjwt.py", "", False), ("jwt.py", "jwt.pyc", "", False),
    ("", "anything", "", False)])
def test_a_file_is_mentioned_by_the_end_of_its_path(path, body, meta, named):
    """Whole path parts count."""
    assert claims.mentions(note(body, meta), path) is named
