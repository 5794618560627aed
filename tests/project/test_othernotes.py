"""Directories of markdown that people and other tools keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import talks
from harness.command import one_line_error
from harness.importing import kept


def counts(found):
    return (found["new"], found["unchanged"], found["changed"], len(found["skipped"]))


def test_a_directory_of_markdown_becomes_learnings(tree, took, place):
    """Frontmatter is kept, with what nests in it; kinds by frontmatter, then --kind, then learning;
    `.txt` by its name.
    """
    tree(
        "a.md",
        "---\nid: mine/1\ntags: a, b\ncustom: {x: 1}\ncreated: 2025-03-04\napproved: true\n"
        "accepted: true\n---\n\nAbc is so.\n",
    )
    tree("deep/한글 메모.md", "# 메모\n\n버튼을 누른다.\n")
    tree("my_note.txt", "plain words\n")
    tree("r.md", "---\nkind: rule\nrationale: because\n---\n\n# Rule\n\nDo it.\n")
    tree("bad.md", "---\nkind: rule\n---\n\nNo reason.\n")
    tree("CLAUDE.md", "# Mine\n\nText.\n")
    tree("only.md", "---\ntitle: Only a head\n---\n")
    tree("image.png", b"\x89PNG")
    found = took("dir", tree.root)
    assert counts(found) == (4, 0, 0, 3)
    page = kept(place, "learnings")["Abc is so."]
    assert (
        page.meta["custom"] == {"x": "1"}
        and page.meta["tags"] == ["a", "b"]
        and page.meta["created"].startswith("2025-03-04")
    )
    assert page.meta["origin"]["id"] == "mine/1" and page.meta["id"].startswith("l-")
    assert not {"approved", "accepted"} & set(page.meta)
    assert {"메모", "my note"} < set(kept(place, "learnings")) and set(kept(place, "rules")) == {
        "Rule"
    }
    assert counts(took("dir", tree.root)) == (0, 4, 0, 3)


def test_what_is_read_and_left_out_is_named_by_its_ending(tree, ok, took, place):
    """Rules of an editor are notes too; a picture is none, and hidden files are nobody's
    business.
    """
    tree("a.mdc", "---\ndescription: d\n---\nUse gibbon imports.\n")
    tree("b.markdown", "Use gibbon exports.\n")
    tree("image.PNG", b"\x89PNG")
    tree("deep/Makefile", "all:\n")
    tree("deep/x.png", b"\x89PNG")
    tree(".hidden.csv", "1,2\n")
    said = ok("import", "dir", str(tree.root))
    assert (
        "read .markdown (1), .mdc (1)\n" in said
        and "left out 3 files by their endings: .png (2), Makefile (1)\n" in said
    )
    found = took("dir", tree.root)
    assert counts(found) == (0, 2, 0, 0) and found["endings"] == {".png": 2, "Makefile": 1}


def test_a_note_is_called_as_its_file_is(tree, ok, took, place):
    """Where it has no title of its own; beside its heading the file's name is another one, and
    names that say nothing are none.
    """
    tree("Walrus ingress timeout.md", "Raise proxy-read-timeout to 120 seconds.\n")
    tree("heron-deploy.md", "## Steps\n\n- run the script\n")
    tree("sub/버튼.md", "누른다.\n")
    tree("Gibbon.md", "# Another title\n\nText.\n")
    tree("2026-01-03.md", "Plain words of a day.\n")
    tree("README.md", "Read this first.\n")
    took("dir", tree.root)
    pages = kept(place, "learnings")
    assert set(pages) == {
        "Walrus ingress timeout",
        "heron deploy",
        "버튼",
        "Another title",
        "Plain words of a day.",
        "Read this first.",
    }
    assert (
        pages["Another title"].meta["aliases"] == ["Gibbon"]
        and "aliases" not in pages["heron deploy"].meta
    )
    assert "Another title" in ok("recall", "gibbon")


def test_the_heads_of_sites_and_of_cursor_are_read(tree, took, ok, place):
    """Categories are tags, a rule's description is found, and its patterns are no fault."""
    tree("post.md", "---\ntitle: Post\ntags: [a]\ncategories:\n- web\n- a\n---\n\nIt is so.\n")
    rule = "---\ndescription: For okapi pages\nglobs: %s\n---\n\n# %s\n\nBe brief.\n"
    globs = {"One": "*.ts, *'s.tsx", "Two": "{a,b}/*.ts", "Three": "src/*.ts"}
    for name, glob in globs.items():
        tree(name + ".mdc", rule % (glob, name))
    found = took("dir", tree.root)
    assert counts(found) == (4, 0, 0, 0) and not found["troubled"]
    pages = kept(place, "learnings")
    assert {name: pages[name].meta["globs"] for name in globs} == globs
    assert json.loads(ok("show", "post", "--json"))["tags"] == ["a", "web"]
    assert len(json.loads(ok("recall", "okapi", "--json"))["hits"]) == 3


def test_the_stores_of_other_tools_are_recognised(project, ok, took, place):
    """In a project's root, or named themselves; checkpoints keep their instants."""
    for name, text in (
        (
            ".memories/2026-01-02/143052_9fa8.md",
            (
                "---\nid: 2026-01-02/143052_9fa8\ntype: checkpoint\ntags: [a]\ngit:\n"
                "  branch: main\n---\n\n# Fixed\n\nIt.\n"
            ),
        ),
        (".memories/2026-01-03/080000_aaaa.md", "Plain words.\n"),
        (".memories/plans/pg.md", "---\ntitle: Move\nstatus: done\n---\n\n- [x] a\n"),
        (".prompts/learnings/build.md", "# Build\n\nUse the lockfile.\n"),
        (".prompts/learnings/learnings-index.json", "{}"),
    ):
        path = Path(project, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    said = ok("import", "dir", ".")
    assert (
        ".memories: a store of another tool, 3 files" in said
        and ".prompts/learnings: a store of another tool, 1 file" in said
    )
    fixed = kept(place, "checkpoints")["Fixed"].meta
    assert (fixed["created"], fixed["source"], fixed["branch"]) == (
        "2026-01-02T14:30:52Z",
        "agent",
        "main",
    )
    assert kept(place, "checkpoints")["Plain words."].meta["created"] == "2026-01-03T08:00:00Z"
    assert set(kept(place, "plans")) == {"Move"} and set(kept(place, "learnings")) == {"Build"}
    assert counts(took("dir", ".memories")) == (0, 3, 0, 0) and counts(
        took("dir", ".prompts/learnings")
    ) == (0, 1, 0, 0)


def test_an_active_plan_is_not_pushed_aside(project, ok, took, place):
    """Another one that is active is skipped, with the way out."""
    ok("plan", "Mine first")
    path = Path(project, "notes/p.md")
    path.parent.mkdir()
    path.write_text("---\nkind: plan\n---\n\n# Theirs\n")
    found = took("dir", path.parent)
    assert (
        counts(found) == (0, 0, 0, 1) and "another plan is active" in found["skipped"][0]["reason"]
    )


def test_only_one_plan_of_a_directory_is_active(tree, took, ok, place):
    """The first one that is brought in counts for the rest, also the next time, and may change."""
    first = tree("a.md", "---\nkind: plan\n---\n\n# One\n\n- [ ] a\n")
    tree("b.md", "---\nkind: plan\nstatus: active\n---\n\n# Two\n\n- [ ] b\n")
    found = took("dir", tree.root)
    assert (
        counts(found) == (1, 0, 0, 1)
        and found["skipped"][0]["reason"] == "another plan is active, a.md"
    )
    assert set(kept(place, "plans")) == {"One"} and counts(took("dir", tree.root)) == (0, 1, 0, 1)
    first.write_text("---\nkind: plan\n---\n\n# One\n\n- [ ] a\n- [ ] c\n", encoding="utf-8")
    assert counts(took("dir", tree.root)) == (0, 0, 1, 1)


@pytest.mark.parametrize("tier", [(), ("--shared",)])
def test_a_resource_of_a_directory_is_taken_once(tree, took, ok, place, tier):
    """Its path is below the repository in every key, so that a second import and a refresh know
    it.
    """
    path = tree("r.md", "---\nkind: resource\ntitle: R\n---\n\nSome text.\n")
    tree("l.md", "---\npath: elsewhere/x.md\n---\n\nA learning that has a path.\n")
    assert counts(took("dir", tree.root, *tier)) == (2, 0, 0, 0)
    meta = kept(place, tier="shared" if tier else "private")["R"].meta
    assert meta["path"] == meta["origin"]["path"] == "my ref/r.md"
    assert counts(took("dir", tree.root, *tier)) == (0, 2, 0, 0)
    path.write_text("---\nkind: resource\ntitle: R\n---\n\nOther text.\n", encoding="utf-8")
    assert counts(took("dir", tree.root, *tier)) == (0, 1, 1, 0)
    assert [one["state"] for one in json.loads(ok("resource", "list", "--json"))] == ["fresh"]


def test_a_conversation_is_not_imported(tree, took, run):
    """Only its session tells it: a file that says it is one is named and left, and no option makes
    one.
    """
    tree("talk.md", talks.page().decode())
    tree("note.md", "# Note\n\nworth keeping\n")
    found = took("dir", tree.root)
    assert counts(found) == (1, 0, 0, 1) and "only its own session writes" in json.dumps(found)
    assert "conversation" in one_line_error(
        run("import", "dir", str(tree.root), "--kind", "conversation"), 2
    )


def test_a_note_has_the_day_that_it_says_itself(tree, took, place):
    """In its head, however written, else by its file's name."""
    for name, head in (
        ("dotted.md", "date: 2.3.2017"),
        ("words.md", "date: 15 May 2018"),
        ("month.md", "date: 2018-05"),
        ("2016-05-05.md", ""),
        ("2016-05-06 Friday.md", ""),
        ("20160508.md", ""),
        ("202005171230.md", ""),
    ):
        text = "# Of %s\n\nWords of %s.\n" % (name, name)
        tree(name, "---\n%s\n---\n\n%s" % (head, text) if head else text)
    took("dir", tree.root)
    days = {
        title[3:]: page.meta["created"][:16] for title, page in kept(place, "learnings").items()
    }
    assert days == {
        "dotted.md": "2017-03-02T00:00",
        "words.md": "2018-05-15T00:00",
        "month.md": "2018-05-01T00:00",
        "2016-05-05.md": "2016-05-05T00:00",
        "2016-05-06 Friday.md": "2016-05-06T00:00",
        "20160508.md": "2016-05-08T00:00",
        "202005171230.md": "2020-05-17T12:30",
    }


def test_a_note_without_a_date_has_that_of_its_first_commit(tree, took, place, git):
    """A clone's files were all changed today."""
    tree("Parcels.md", "# Parcels\n\nThey need an invoice.\n")
    git("add", "-A")
    git(
        "-c",
        "user.name=Kim",
        "-c",
        "user.email=kim@example.invalid",
        "commit",
        "-qm",
        "x",
        "--date",
        "2019-04-05T06:07:08Z",
    )
    took("dir", tree.root)
    assert kept(place, "learnings")["Parcels"].meta["created"] == "2019-04-05T06:07:08Z"


def test_a_date_that_cannot_be_read_is_kept_and_named(tree, took, place):
    tree("a.md", "---\ndate: 2024-02-30\n---\n\n# A\n\nWords.\n")
    found = took("dir", tree.root)
    assert "the date '2024-02-30' cannot be read" in found["troubled"][0]["problem"]
    assert kept(place, "learnings")["A"].meta["date"] == "2024-02-30"


def test_a_link_to_a_note_that_is_named_after_a_day_or_number_is_followed(tree, took, ok):
    tree("202005171230.md", "# Slip\n\nOne thought.\n")
    tree("2016-05-04.md", "# A Wednesday\n\nIt rained.\n")
    tree("b.md", "# Both\n\nSee [[202005171230]] and [[2016-05-04]].\n")
    took("dir", tree.root)
    links = json.loads(ok("link", "Both", "--json"))["links"]
    assert len(links) == 2 and all(link["to"] for link in links)
