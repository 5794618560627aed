"""Trees of reference material: resources by version."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.importing import kept

from memory.project import otherfiles


def counts(found):
    return (found["new"], found["unchanged"], found["changed"], len(found["skipped"]))


def everything(place):
    return {str(path): path.read_bytes() for path in Path(place.home).rglob("*.md")}


def test_a_tree_becomes_resources_with_their_versions(tree, took, place, project, env):
    """By the directory: its name, `unversioned`, for `shared` every version; type, path, checksum
    and commit besides.
    """
    tree("docs/v2/api.md", "# Jira API\n\nToken first.\n")
    tree("docs/v3/한글/문서 1.md", "---\ntags: [a]\n---\n\n# 버튼\n\n버튼을 누른다.\n")
    tree("docs/shared/both.txt", "No heading here.\n")
    tree("docs/unversioned/any.md")
    tree("docs/loose.md", "# Loose\n")
    tree("scripts/v2/update.sh", "#!/bin/sh\n# Updates the flow.\n# Twice.\n\necho '```'\n")
    tree("shared/tool.py", '"""Counts.\n\nMore."""\nprint(1)\n')
    tree("unversioned/notes.md", "# Notes\n")
    for words in (["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=project, env=env, check=True)
    assert counts(took("tree", tree.root)) == (8, 0, 0, 0)
    found = kept(place)
    assert {
        title: (page.meta["type"], page.meta.get("versions")) for title, page in found.items()
    } == {
        "Jira API": ("doc", ["v2"]),
        "버튼": ("doc", ["v3"]),
        "both.txt": ("doc", ["v2", "v3"]),
        "Loose": ("doc", None),
        "A page": ("doc", ["unversioned"]),
        "update.sh: Updates the flow": ("script", ["v2"]),
        "tool.py: Counts": ("script", ["v2", "v3"]),
        "Notes": ("doc", ["unversioned"]),
    }
    page = found["버튼"]
    data = (tree.root / "docs/v3/한글/문서 1.md").read_bytes()
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project, env=env, capture_output=True, text=True
    ).stdout
    assert page.meta["path"] == page.meta["origin"][
        "path"
    ] == "my ref/docs/v3/한글/문서 1.md" and page.meta["tags"] == ["a"]
    assert page.meta["checksum"] == page.meta["origin"]["checksum"] == otherfiles.files.sha256(data)
    assert (
        page.meta["origin"]["from"] == "tree"
        and head.startswith(page.meta["source_ref"])
        and page.meta["refreshed"]
    )
    assert page.body == "# 버튼\n\n버튼을 누른다.\n"
    script = (tree.root / "scripts/v2/update.sh").read_text()
    assert (
        found["update.sh: Updates the flow"].body
        == f"Updates the flow.\nTwice.\n\n## Script\n\n````sh\n{script}````\n"
    )
    assert found["tool.py: Counts"].body.startswith("Counts.\n\nMore.\n\n## Script\n\n```python\n")


def test_equal_files_of_two_versions_are_two_resources(tree, took, place):
    """Same text, same instant, another path: neither stands for the other."""
    for version in ("v1", "v2"):
        tree(f"docs/{version}/a.md")
    assert counts(took("tree", tree.root)) == (2, 0, 0, 0)
    assert len(list(Path(place.private, "resources").glob("*.md"))) == 2


def test_what_cannot_be_taken_is_named_with_a_remedy(tree, ok, took, place):
    """Binary, large, not UTF-8, empty, links out of the tree, versions with spaces; the rest is
    taken.
    """
    tree("docs/v1/good.md")
    tree("docs/v1/bin.md", b"\0\1\2" * 100)
    tree("docs/v1/big.md", b"a" * (5 << 20) + b"b")
    tree("docs/v1/latin.md", b"ok\ncaf\xe9\n")
    tree("docs/v1/empty.md", b" \n")
    tree("docs/v 2/a.md")
    tree("docs/v 2/b.md")
    (tree.root / "docs/v1/link.md").symlink_to("/etc/passwd")
    (tree.root / "docs/v1/folder").symlink_to("/etc")
    found = took("tree", tree.root)
    assert counts(found) == (1, 0, 0, 7)
    assert {skip["path"].rpartition("/")[2]: skip["reason"] for skip in found["skipped"]} == {
        "bin.md": "no text",
        "big.md": "above 5 MB",
        "latin.md": "line 2: bytes that are not UTF-8",
        "empty.md": "empty",
        "v 2": "a version's folder may have no space, comma or '#' in its name",
        "link.md": "a link out of the directory",
        "folder": "a link to a directory is not followed",
    }
    assert all(skip["remedy"] for skip in found["skipped"]) and "root:" not in str(
        everything(place)
    )
    assert "; rename it to v-2\n" in ok("import", "tree", str(tree.root))


def test_what_a_tree_leaves_out_is_counted(tree, ok, took):
    """Files beside the four directories; hidden ones are nobody's, and a tree with nothing beside
    it says nothing.
    """
    tree("docs/v1/a.md")
    assert took("tree", tree.root)["left_out"] == 0 and "left out" not in ok(
        "import", "tree", str(tree.root)
    )
    for name in ("README.md", "other/deep/b.md", ".git/config"):
        tree(name)
    assert "left out 2 files that are not in docs/, scripts/, shared/ or unversioned/\n" in ok(
        "import", "tree", str(tree.root)
    )
    inner = took("tree", tree.root.parent)
    assert inner["left_out"] == 2 and inner["unchanged"] == 1


def test_trees_side_by_side_are_taken_together(tree, took):
    """One directory a project, as people keep them."""
    tree("jira/docs/v1/a.md", "# A\n")
    tree("utils/scripts/unversioned/b.sh", "echo\n")
    tree("notes/c.md", "# C\n")
    assert counts(took("tree", tree.root)) == (2, 0, 0, 0)


def test_projects_stand_beside_what_they_share(tree, ok, took, place):
    """What all share is of every version; that it comes later makes nothing of theirs gone."""
    tree("jira/docs/v1/a.md", "# A\n")
    tree("utils/scripts/v2/b.sh", "echo\n")
    assert counts(took("tree", tree.root)) == (2, 0, 0, 0)
    tree("shared/c.md", "# C\n")
    tree("shared/docs/d.md", "# D\n")
    tree("unversioned/e.md", "# E\n")
    found = took("tree", tree.root)
    assert counts(found) == (3, 2, 0, 0) and (found["gone"], found["left_out"]) == ([], 0)
    pages = kept(place)
    assert pages["C"].meta["versions"] == ["v1", "v2"] and not pages["C"].meta.get("tags")
    assert pages["A"].meta["tags"] == ["jira"] and pages["E"].meta["versions"] == ["unversioned"]


def test_the_project_of_several_trees_is_a_tag(tree, took, place):
    """A search narrows by it; one tree alone has no project."""
    tree("shop api/docs/v1/a.md", "---\ntags: [x]\n---\n\n# Orders\n")
    tree("billing/scripts/v1/b.sh", "#!/bin/sh\n# Bills.\n")
    assert counts(took("tree", tree.root)) == (2, 0, 0, 0)
    assert {title: page.meta["tags"] for title, page in kept(place).items()} == {
        "Orders": ["x", "shop-api"],
        "b.sh: Bills": ["billing"],
    }
    assert counts(took("tree", tree.root)) == (0, 2, 0, 0)
