"""`dayleaf store check`: what is wrong in record files, at which line, and with which status."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from harness import vault

from memory.health import recordfaults
from memory.hook import fence
from memory.store.store import Store

KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
FORGE = "\x1b[2J"


@pytest.fixture
def look(place, now):
    """Write files by name, check everything, and return (name, line, error, what) of each fault."""

    def call(**texts):
        for name, text in texts.items():
            path = Path(place.path("s/" + name.replace("__", "/") + ".md"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        _, faults = recordfaults.check_all(Store(place, vault.settings(), now))
        assert all(fault.remedy for fault in faults)
        return [
            (fault.place[len(place.shared) + 1 : -3], fault.line, fault.is_error, fault.what)
            for fault in faults
        ]

    return call


def only(found):
    """Return the one fault's (line, error, what)."""
    assert len(found) == 1, found
    return found[0][1:]


def test_good_records_have_no_fault(look, run, place):
    """By hand, with and without frontmatter, in any script; and what the commands write."""
    assert (
        look(
            learnings__bare="Just a note.\n",
            learnings__한글="---\ntitle: 값\ntags: [a]\n---\n\n가\u200d나 👩\u200d💻\n",
            rules__r="---\nrationale: why\nlinks:\n  - related_to: bare\n---\n\nDo. See [[값]].\n",
            plans__done="---\nstatus: done\n---\n# Done\n",
            plans__now="# Now\n- [ ] a\n",
        )
        == []
    )
    run("learn", "x is y")
    run("checkpoint", "did it")
    done = run("check")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "7 files checked: 0 errors, 0 warnings\n",
        "",
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "learnings__a",
            "---\ntitle: x\nkind: lesson\n---\n",
            (3, True, "the kind 'lesson' is not one of"),
        ),
        (
            "rules__a",
            "---\nrationale: y\nmore:\n  deep:\n    er: 1\n---\nx\n",
            (5, False, "can be read in two ways"),
        ),
        ("learnings__a", "---\n# own\ntitle: x\nid: a b\n---\n", (4, True, "the id is not usable")),
        (
            "learnings__a",
            "---\r\ntitle: x\r\n\r\nupdated: soon\r\n---\r\n",
            (4, True, "updated 'soon' is not a date"),
        ),
        ("learnings__a", "\n---\ntitle: x\nconfidence: 0.9\n---\n", (4, True, "confidence '0.9'")),
        ("learnings__a", "---\ntitle: x\nsource: me\n---\n", (3, True, "source 'me'")),
        ("plans__a", "---\ntitle: x\nstatus: later\n---\n", (3, True, "status 'later'")),
        ("rules__a", "---\ntitle: x\n---\n", (1, True, "a rule needs a rationale")),
        ("rules__a", "---\ntitle: x\nrationale:\n---\n", (3, True, "a rule needs a rationale")),
        (
            "learnings__a",
            "---\ntitle: x\ntags: a\ntitle: y\n---\n",
            (4, True, "the key 'title' occurs twice"),
        ),
        ("learnings__a", "---\ntitle: x\n", (1, True, "the frontmatter is not closed")),
        ("learnings__a", "---\ntitle: x\ntags: [a, b\n---\n", (4, True, "")),
        ("learnings__a", b"\xff\xfea\0b\0", (1, True, "not UTF-8 text")),
        ("learnings__a", b"ok\n\xe9t\xe9\n", (2, True, "bytes that are not UTF-8")),
        (
            "rules__a",
            "---\nrationale: y\napproved: true\n---\n",
            (3, False, "`approved` in a file means nothing"),
        ),
        (
            "learnings__a",
            "---\ntitle: x\naccepted: true\n---\n",
            (3, False, "`accepted` means nothing for a learning by a human"),
        ),
        (
            "learnings__a",
            "---\nlinks:\n  - related_to: a\n  - proves: nothing\n---\n",
            (4, False, "it links to 'nothing'"),
        ),
        (
            "learnings__a",
            "---\nlinks:\n  - likes: a\n---\n",
            (3, True, "the relation 'likes' is not one of"),
        ),
        ("learnings__a", "One.\n\nSee [[gone]].\n", (3, False, "it links to 'gone'")),
        ("resources__a", "---\ntype: script\n---\n", (1, True, "a resource needs a path")),
        (
            "resources__a",
            "---\ntype: script\npath: bin/x\n---\n",
            (3, True, "its path 'bin/x' is gone"),
        ),
        ("resources__a", "---\ntype: tool\npath: .git\n---\n", (2, True, "type 'tool' is unknown")),
        (
            "learnings__a",
            "a\nb " + FORGE + "\n",
            (2, True, "a hidden character, U+001B, which starts an escape"),
        ),
        ("learnings__a", "a \u202e b \u2066\n", (1, True, "2 hidden characters, the first U+202E")),
        ("learnings__a", "a\n\nkey " + KEY + "\n", (3, True, "a secret (")),
        ("learnings__a", "a\n<private>b</private>\n", (2, True, "a <private> part")),
        ("learnings__a", "a " * 9000, (1, False, "its body has 1")),
        (
            "rules__a",
            "---\nrationale: y\n---\n\n" + "a " * fence.ITEM_UNITS,
            (5, False, "a prompt gets about"),
        ),
        ("learnings__a", "a\n" * (600 << 10), (524289, True, "only the first 1 MiB")),
    ],
)
def test_what_is_wrong_is_named_at_its_line(look, name, text, expected):
    """One fault, at the line where it stands, an error or a warning."""
    line, error, what = only(look(**{name: text}))
    assert (line, error) == expected[:2] and what.startswith(expected[2])


def test_no_secret_and_no_escape_reaches_the_terminal(run, project):
    """What is said of a file is plain text."""
    path = Path(project, ".dayleaf", "learnings", "x.md")
    path.parent.mkdir(parents=True)
    path.write_text("---\nkind: %s\nlinks: %s\n---\n%s\n" % (FORGE, FORGE + "x", KEY))
    for words in (["check"], ["check", "--json"]):
        done = run(*words)
        assert done.returncode == 1 and "\x1b" not in done.stdout and KEY not in done.stdout


def test_ids_that_stand_twice_are_named_in_both_files(look):
    """Each with the other one's path."""
    found = look(learnings__a="---\nid: x\n---\na\n", learnings__b="---\ntitle: y\nid: x\n---\nb\n")
    assert [(name, line, error) for name, line, error, _ in found] == [
        ("learnings/a", 2, True),
        ("learnings/b", 3, True),
    ]
    assert "learnings/b.md too" in found[0][3] and "learnings/a.md too" in found[1][3]


def test_a_second_active_plan_is_a_warning(look):
    """At the older one; the newest counts."""
    found = look(
        plans__a="---\ncreated: 2026-11-01\n---\n# A\n",
        plans__b="---\nid: new\ncreated: 2026-11-02\n---\n# B\n",
    )
    assert [row[:3] for row in found] == [("plans/a", 1, False)]
    assert "plan 'new' is newer" in found[0][3]


def test_a_link_to_an_archived_record_says_how_to_bring_it_back(run, place):
    """It is no error."""
    id = json.loads(run("learn", "x is y", "--json").stdout)["id"]
    vault.put(place, "p/learnings/a.md", "A", links="{related_to: %s}" % id)
    assert run("check").stdout.startswith("2 files checked: 0 errors, 0 warnings")
    run("forget", id)
    done = run("check")
    assert (
        done.returncode == 0 and "which is archived; `dayleaf store restore %s`" % id in done.stdout
    )


def test_files_are_checked_by_their_paths_also_outside_the_store(run, project, tmp_path):
    """Its folder says the kind; links are looked up in the store; a file that is none is
    refused.
    """
    path = tmp_path / "rules" / "draft.md"
    path.parent.mkdir()
    path.write_text("---\ntitle: x\n---\nDo.\n")
    done = run("check", str(path))
    assert done.returncode == 1 and done.stdout.startswith(
        str(path) + ":1: error: a rule needs a rationale; add a line"
    )
    missing = run("check", str(tmp_path / "none.md"))
    assert (missing.returncode, missing.stdout) == (
        2,
        "",
    ) and "none.md: no such file" in missing.stderr
    value = json.loads(run("check", str(path), "--json").stdout)
    assert (value["checked"], value["errors"], value["faults"][0]["line"]) == (1, 1, 1)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links")
def test_what_is_skipped_is_an_error(look, place, tmp_path):
    """A link out of the store is not read, and said."""
    (tmp_path / "out.md").write_text("x")
    Path(place.shared, "learnings").mkdir(parents=True)
    Path(place.shared, "learnings", "out.md").symlink_to(tmp_path / "out.md")
    assert only(look()) == (1, True, "a link out of the store")


# ---- text that speaks to the model
