"""Files of others: what is read below a directory, and what is not."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest


def counts(found):
    return (found["new"], found["unchanged"], found["changed"], len(found["skipped"]))


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_a_file_that_may_not_be_read_is_skipped(tree, took):
    """And a directory."""
    tree("docs/v1/a.md").chmod(0)
    assert "permission denied" in took("tree", tree.root)["skipped"][0]["reason"]


def test_links_to_directories_outside_are_not_followed(tree, ok, took, project, tmp_path):
    """Neither as another tool's store nor as part of a tree; each is said, the rest is taken."""
    outside = tmp_path / "diary"
    outside.mkdir()
    (outside / "d.md").write_text("# Diary\n\nThe launch is on Friday.\n", encoding="utf-8")
    Path(project, ".memories").symlink_to(outside)
    assert counts(took("dir", ".")) == (0, 0, 0, 1)
    tree("t/docs/v1/a.md")
    for name in ("scripts", "shared"):
        (tree.root / "t" / name).symlink_to(outside)
    found = took("tree", tree.root / "t")
    assert counts(found) == (1, 0, 0, 2) and {skip["path"] for skip in found["skipped"]} == {
        "scripts",
        "shared",
    }
    assert (
        "not followed" in found["skipped"][0]["reason"]
        and not json.loads(ok("recall", "launch", "--json"))["hits"]
    )


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 there")
def test_a_name_that_is_not_utf_8_is_known_again(tree, took):
    """It is neither gone nor new the second time, and two such names stay two."""
    for name in (b"\xff.md", b"\xfe.md"):
        with open(os.fsencode(tree("x/y.md").parent) + b"/" + name, "wb") as file:
            file.write(b"Text of " + name.hex().encode() + b".\n")
    assert counts(took("dir", tree.root)) == (3, 0, 0, 0)
    found = took("dir", tree.root)
    assert counts(found) == (0, 3, 0, 0) and found["gone"] == []
