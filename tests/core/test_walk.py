"""The files of a place: none that a link leads to from elsewhere."""

from __future__ import annotations

import os

import pytest

from memory.core import files, walk
from memory.hook import indexview, loader
from memory.index import builder


@pytest.mark.parametrize("link", [".dayleaf", ".dayleaf/learnings"])
def test_a_shared_tier_that_leads_elsewhere_is_never_read(place, now, tmp_path, link):
    """A cloned repository could pass off any directory of markdown as shared: not built, not
    watched, not by an old index.
    """
    builder.build(place, now)
    secret = tmp_path / "elsewhere"
    (secret / "learnings").mkdir(parents=True)
    (secret / "learnings" / "x.md").write_text("# Secret\n\nkafka secret\n")
    target = os.path.join(place.root, link)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.symlink(secret if link == ".dayleaf" else secret / "learnings", target)
    for again in (False, True):
        if again:
            builder.build(place, now)
        opened = indexview.open_index(place)
        assert opened.records == 0 and not loader.search(opened, [("kafka", 1.0)], 5)
        opened.close()
    with pytest.raises(OSError):
        place.open("s/learnings/x.md")


def test_any_directory_is_walked_in_one_way(tmp_path):
    """In the order of names, a folder before what it holds; a link, a loop and a pipe are named and
    not followed.
    """
    root = tmp_path / "walked"
    (root / "b" / "deep").mkdir(parents=True)
    (root / "b" / "deep" / "x").write_text("x")
    (root / "a").write_text("a")
    (root / "passed").mkdir()
    (root / "passed" / "y").write_text("y")
    os.symlink("..", root / "b" / "up")
    os.symlink("loop", root / "loop")
    os.mkfifo(root / "pipe")
    found = list(walk.walk_entries(str(root), lambda name: name != "passed"))
    assert [name for name, _, _ in found] == [
        "",
        "a",
        "b",
        "b/deep",
        "b/deep/x",
        "b/up",
        "loop",
        "passed",
        "pipe",
    ]
    assert [name for name, path, stat in found if walk.is_regular(stat)] == ["a", "b/deep/x"]
    assert [name for name, path, stat in found if walk.is_folder(stat)] == [
        "",
        "b",
        "b/deep",
        "passed",
    ]
    assert [path for _, path, _ in found[:2]] == [str(root), str(root / "a")]


def test_a_directory_that_is_not_one_gives_its_error(tmp_path):
    """Gone, or a file: one row that says so."""
    (tmp_path / "file").write_text("x")
    for name in ("file", "gone"):
        [(inner, _, error)] = walk.walk_entries(str(tmp_path / name))
        assert (
            inner == ""
            and isinstance(error, OSError)
            and not walk.is_regular(error)
            and not walk.is_folder(error)
        )


def test_a_folder_that_may_not_be_read_is_an_error_among_the_rest(tmp_path, monkeypatch):
    """As is one that vanishes after it was listed."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").write_text("b")
    listdir = files.posix.listdir

    def broken(path):
        if path.endswith("/a"):
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    monkeypatch.setattr(files.posix, "listdir", broken)
    found = {name: stat for name, _, stat in walk.walk_entries(str(tmp_path))}
    assert isinstance(found["a"], PermissionError) and walk.is_regular(found["b"])
