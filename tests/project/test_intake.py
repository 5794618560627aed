"""`dayleaf store import`: trees, directories and the client's own memory become records, once,
marked with their origin.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.importing import kept

from memory.core import frontmatter
from memory.project import intake, otherfiles
from memory.store import store
from memory.terminal import screen

ROOT = Path(__file__).parents[2]
TOKEN = "gh" + "p_" + "x9Kd83jfLq02mZvB7tYw5RnC1sHa4UeGpXoI"


def counts(found):
    return (found["new"], found["unchanged"], found["changed"], len(found["skipped"]))


def everything(place):
    return {str(path): path.read_bytes() for path in Path(place.home).rglob("*.md")}


# --- trees


def test_a_second_import_changes_nothing(tree, took, place):
    """Not one byte of one record."""
    for number in range(30):
        tree(f"docs/v{number % 3}/p{number}.md", f"# Page {number}\n\nThe same words.\n")
    assert counts(took("tree", tree.root)) == (30, 0, 0, 0)
    before = everything(place)
    assert (
        counts(took("tree", tree.root)) == (0, 30, 0, 0)
        and everything(place) == before
        and len(before) == 30
    )


def test_a_changed_source_changes_its_record_in_place(tree, took, place):
    """Id, name and keys of a person's own stay, a title too that is a person's own."""
    first = tree("docs/v1/a.md", "# Old\n\nOld words.\n")
    second = tree("docs/v1/b.md", "# Second\n\nOld words too.\n")
    took("tree", tree.root)
    for path in Path(place.private, "resources").glob("*.md"):
        path.write_text(
            path.read_text()
            .replace("kind:", "pinned: true  # mine\nkind:")
            .replace("title: Second", "title: Mine")
        )
    names = sorted(os.listdir(place.private + "/resources"))
    ids = {page.meta["id"] for page in kept(place).values()}
    first.write_text("# New\n\nNew words.\n")
    second.write_text("# Other\n\nNew words too.\n")
    assert counts(took("tree", tree.root)) == (0, 0, 2, 0)
    found = kept(place)
    assert (
        sorted(os.listdir(place.private + "/resources")) == names
        and {page.meta["id"] for page in found.values()} == ids
    )
    assert (
        found["New"].body == "# New\n\nNew words.\n"
        and found["Mine"].body == "# Other\n\nNew words too.\n"
    )
    assert all("pinned: true  # mine" in text.decode() for text in everything(place).values())
    assert counts(took("tree", tree.root)) == (0, 2, 0, 0)


def test_what_a_person_edited_is_never_overwritten(tree, took, place):
    """The source changed as well: it is skipped, and the way out keeps their words."""
    source = tree("docs/v1/a.md")
    took("tree", tree.root)
    path = next(Path(place.private, "resources").glob("*.md"))
    path.write_text(path.read_text() + "My words.\n")
    assert counts(took("tree", tree.root)) == (0, 1, 0, 0)
    source.write_text("# A page\n\nIt says more.\n")
    found = took("tree", tree.root)
    assert (
        counts(found) == (0, 0, 0, 1)
        and "by hand" in found["skipped"][0]["reason"]
        and "--hard" not in found["skipped"][0]["remedy"]
        and "My words." in path.read_text()
    )


def test_a_vanished_source_is_reported_and_its_record_stays(tree, ok, took, place):
    """Only what stood below the directory that was imported."""
    gone = tree("docs/v1/a.md", "# Gone\n")
    tree("docs/v1/b.md", "# Stays\n")
    took("tree", tree.root)
    gone.unlink()
    before = everything(place)
    said = ok("import", "tree", str(tree.root))
    assert (
        "1 file: 0 new, 1 unchanged, 0 changed, 0 skipped" in said
        and "gone: my ref/docs/v1/a.md" in said
    )
    assert everything(place) == before
    other = tree.root.parent / "my reference"
    (other / "docs" / "v1").mkdir(parents=True)
    (other / "docs" / "v1" / "x.md").write_text("# X\n")
    assert took("tree", other)["gone"] == []


def test_what_was_forgotten_does_not_come_back(tree, ok, took, place):
    """Not even where its source has changed; `restore` does."""
    source = tree("docs/v1/a.md")
    took("tree", tree.root)
    id = kept(place)["A page"].meta["id"]
    ok("forget", id)
    source.write_text("# A page\n\nIt says more.\n")
    found = took("tree", tree.root)
    assert (
        counts(found) == (0, 0, 0, 1)
        and f"dayleaf store restore {id}" in found["skipped"][0]["remedy"]
        and not kept(place)
    )
    ok("restore", id)
    assert counts(took("tree", tree.root)) == (0, 0, 1, 0)


def test_a_new_version_of_the_tree_reaches_what_is_shared(tree, took, place):
    """Although the shared file itself is as it was."""
    tree("docs/v1/a.md")
    tree("docs/shared/both.md", "# Both\n")
    took("tree", tree.root)
    tree("docs/v2/a.md", "# Two\n")
    assert counts(took("tree", tree.root)) == (1, 1, 1, 0) and kept(place)["Both"].meta[
        "versions"
    ] == ["v1", "v2"]
    assert counts(took("tree", tree.root)) == (0, 3, 0, 0)


def test_a_dry_run_writes_nothing(tree, ok, took, place):
    """It counts, and says so."""
    tree("docs/v1/a.md")
    assert (
        "1 file: 1 new, 0 unchanged, 0 changed, 0 skipped; nothing was written (--dry-run)"
        in ok("import", "tree", str(tree.root), "--dry-run")
    )
    assert not everything(place) and counts(took("tree", tree.root)) == (1, 0, 0, 0)


def test_secrets_are_taken_out_and_paths_that_name_one_stay_in_step(tree, took, place):
    """A token in the text goes; a checksum beside a path such as `api-key.md` is none."""
    tree("docs/v1/api-key.md", f"# Key\n\nUse {TOKEN} here.\n")
    tree("scripts/v1/secret_token.sh", f"#!/bin/sh\nexport GITHUB_TOKEN={TOKEN}\n")
    assert counts(took("tree", tree.root)) == (2, 0, 0, 0)
    text = str(everything(place))
    assert TOKEN not in text and text.count("[redacted:") == 2
    assert counts(took("tree", tree.root)) == (0, 2, 0, 0)


def test_what_is_left_out_is_said(tree, ok):
    """Of a secret and of a private part, and only the first time."""
    tree("key.md", "The token is %s.\n" % TOKEN)
    tree("head.md", "---\nauth:\n  password: 4tBujKqZF6bC8FC11\n---\nA text.\n")
    tree("own.md", "Mine. <private>Not this.</private> Yours.\n")
    tree("plain.md", "Nothing to hide.\n")
    said = ok("import", "dir", str(tree.root))
    assert "left out:\n  head.md\n  key.md\n  own.md\n" in said and "plain.md" not in said
    assert "left out" not in ok("import", "dir", str(tree.root))


def test_shared_and_global_records_stand_in_their_tiers(tree, took, place):
    """A global record names its source by the absolute path: no repository says what it is relative
    to.
    """
    tree("docs/v1/a.md", "# A\n")
    assert counts(took("tree", tree.root, "--shared")) == (1, 0, 0, 0)
    assert kept(place, tier="shared")["A"].meta["path"] == "my ref/docs/v1/a.md"
    other = tree.root.parent / "other"
    (other / "docs/v1").mkdir(parents=True)
    (other / "docs/v1/g.md").write_text("# G\n")
    took("tree", other, "--global")
    assert kept(place, tier="everyone")["G"].meta["path"] == str(other / "docs/v1/g.md")


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "docs/v1/a.md",
            ["# One\n", "---\ntags: [x]\n---\n\n# Two\n\nNew.\n", "# Three\n\nNewer.\n"],
        ),
        ("docs/v1/crlf.md", ["# One\r\n\r\nOld.\r\n", "# Two\r\n\r\nNew.\r\n", "# Three\r\n"]),
        (
            "scripts/v1/a b.sh",
            [
                "#!/bin/sh\n# One.\necho 1\n",
                "#!/bin/sh\r\n# Two.\r\necho 2\r\n",
                "#!/bin/sh\n# Three.\necho 3\n",
            ],
        ),
    ],
)
def test_import_and_refresh_keep_one_record_in_step(tree, took, ok, place, name, texts):
    """Either reads the file as the other does: what one wrote, the other finds unchanged, and goes
    on from there.
    """
    source = tree(name, texts[0])
    took("tree", tree.root)
    path = next(Path(place.private, "resources").glob("*.md"))
    id = frontmatter.parse(path.read_bytes()).meta["id"]
    assert "unchanged " + id in ok("resource", "refresh", id)
    source.write_bytes(texts[1].encode())
    assert "refreshed " + id in ok("resource", "refresh", id)
    page = frontmatter.parse(path.read_bytes())
    assert (
        page.meta["origin"]["checksum"]
        == page.meta["checksum"]
        == otherfiles.files.sha256(texts[1].encode())
    )
    assert (
        page.meta["origin"]["written"][:16] == page.meta["snapshot"]
        and "Two" in page.body
        and "tags: [x]" not in page.body
    )
    before = path.read_bytes()
    assert counts(took("tree", tree.root)) == (0, 1, 0, 0) and path.read_bytes() == before
    source.write_bytes(texts[2].encode())
    assert counts(took("tree", tree.root)) == (0, 0, 1, 0) and "Three" in path.read_text()
    assert "unchanged " + id in ok("resource", "refresh", id)


def test_what_a_person_wrote_above_a_script_stays_theirs_after_a_refresh(tree, took, ok, place):
    """The import that follows leaves it alone, and says so once the file has changed again."""
    source = tree("scripts/v1/a.sh", "#!/bin/sh\n# One.\necho 1\n")
    took("tree", tree.root)
    path = next(Path(place.private, "resources").glob("*.md"))
    path.write_text(path.read_text().replace("\nOne.\n", "\nMine.\n"))
    source.write_text("#!/bin/sh\n# Two.\necho 2\n")
    ok("resource", "refresh")
    assert "\nMine.\n" in path.read_text() and "echo 2" in path.read_text()
    assert counts(took("tree", tree.root)) == (0, 1, 0, 0)
    source.write_text("#!/bin/sh\n# Three.\necho 3\n")
    assert counts(took("tree", tree.root)) == (0, 0, 0, 1) and "\nMine.\n" in path.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_import_that_was_killed_goes_on(tree, took, env, project, place):
    """What is there is whole and stays; the second run adds the rest, and nothing twice."""
    for number in range(1500):
        tree(f"docs/v1/p{number}.md", f"# Page {number}\n\n" + "words and more words\n" * 40)
    process = subprocess.Popen(
        [sys.executable, "-m", "memory", "import", "tree", str(tree.root)],
        cwd=project,
        env={**env, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    folder, end = Path(place.private, "resources"), time.monotonic() + 30
    while time.monotonic() < end and not (folder.is_dir() and any(folder.glob("*.md"))):
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    there = list(folder.glob("*.md"))
    assert 0 < len(there) < 1500, "it was over before the kill"
    assert all(
        path.read_bytes().startswith(b"---\n") and b"words and more" in path.read_bytes()
        for path in there
    )
    found = took("tree", tree.root)
    assert found["new"] + found["unchanged"] == 1500 and found["unchanged"] == len(there)
    assert (
        len({page.meta["id"] for page in kept(place).values()})
        == len(list(folder.glob("*.md")))
        == 1500
    )


def test_two_imports_at_once_are_one_after_the_other(tree, run, place):
    """The second one says so, and writes nothing."""
    tree("docs/v1/a.md")
    with intake.files.Lock(place.cache + "/import.lock") as held:
        done = run("import", "tree", str(tree.root))
        assert (
            held
            and done.returncode == 1
            and "another import into this workspace is running" in done.stderr
        )
    assert not everything(place)


def test_a_record_has_its_name_only_once_its_bytes_are_on_the_disk(place, now, monkeypatch):
    """All of a batch are synced before the first of them is named, the directory after the last."""
    from harness import vault

    steps = []
    monkeypatch.setattr(store.files, "sync", lambda path: steps.append(("sync", path)))
    keeper = store.Store(place, vault.settings(), now, lambda name: steps.append(("named", name)))
    writing = store.BatchWriter(keeper)
    for word in ("one", "two", "three"):
        writing.add(
            "p", intake.writer.compose_record("learning", word, word + "\n", keeper.cleaned, now)
        )
    assert not steps
    writing.flush()
    assert [step for step, _ in steps] == ["sync"] * 3 + ["named"] * 3 + ["sync"]
    assert (
        steps[-1][1] == place.private + "/learnings"
        and len(list(Path(steps[-1][1]).iterdir())) == 3
    )


def test_a_model_that_imports_is_no_human(tree, run, place):
    """Inside the client's shell the source is the agent, whatever a file says of itself."""
    tree("docs/v1/a.md", "# A\n")
    claims = "source: human\npinned: true\nconfidence: high\naccepted: true"
    tree("notes/n.md", "---\n%s\n---\n\n# N\n\nText.\n" % claims)
    for words in (("tree", str(tree.root)), ("dir", str(tree.root / "notes"))):
        assert run("import", *words, CLAUDECODE="1").returncode == 0
    assert (
        kept(place)["A"].meta["source"] == kept(place, "learnings")["N"].meta["source"] == "agent"
    )
    learnt = kept(place, "learnings")["N"].meta
    assert (learnt["accepted"], learnt.get("pinned"), learnt.get("confidence")) == (
        "false",
        None,
        None,
    )


def test_a_resource_that_a_person_wrote_stays_theirs(tree, took, place):
    """It names the same path, and says something of its own."""
    tree("docs/v1/a.md")
    path = Path(place.private, "resources", "mine.md")
    path.parent.mkdir(parents=True)
    path.write_text(
        "---\nid: mine\ntype: doc\npath: my ref/docs/v1/a.md\n---\n\nMy own words on it.\n"
    )
    before = everything(place)
    found = took("tree", tree.root)
    assert (
        counts(found) == (0, 0, 0, 1)
        and "mine already describes it" in found["skipped"][0]["reason"]
    )
    assert everything(place) == before


def test_a_head_that_cannot_be_edited_is_skipped_and_the_rest_goes_on(tree, took, place):
    """One record that a person broke does not stop an import."""
    for name in ("a", "b"):
        tree(f"docs/v1/{name}.md", f"# {name}\n")
    took("tree", tree.root)
    broken = next(
        path
        for path in Path(place.private, "resources").glob("*.md")
        if "title: a\n" in path.read_text()
    )
    broken.write_text(broken.read_text().replace("refreshed: ", "refreshed: &x "))
    for name in ("a", "b"):
        tree(f"docs/v1/{name}.md", f"# {name}\n\nMore.\n")
    found = took("tree", tree.root)
    assert found["changed"] >= 1 and found["changed"] + len(found["skipped"]) == 2


@pytest.mark.parametrize(
    "head",
    [
        "origin: tree",
        "origin: {from: tree, path: [a], checksum: {x: 1}}",
        "origin: {from: tree}",
        'id: "x; rm -rf /"\norigin: {from: tree, path: my ref/docs/v1/a.md, written: [1]}',
    ],
)
def test_an_origin_that_somebody_made_up_does_no_harm(tree, run, place, head):
    """A cloned repository may say what it likes of its records."""
    tree("docs/v1/a.md")
    path = Path(place.shared, "resources", "theirs.md")
    path.parent.mkdir(parents=True)
    path.write_text(f"---\ntype: doc\n{head}\n---\n\nTheirs.\n")
    before = path.read_bytes()
    done = run("import", "tree", str(tree.root))
    assert (
        (done.returncode, done.stderr) == (0, "")
        and "rm -rf" not in done.stdout
        and path.read_bytes() == before
    )


def test_progress_is_told_up_to_the_last_piece(place, now):
    """And a bar is never longer than its twenty cells."""
    from harness import vault

    pieces = [
        intake.Piece(
            (f"f{n}", ""),
            f"f{n}",
            str(n),
            lambda n=n: intake.Draft("learning", f"T{n}", f"words {n}\n"),
        )
        for n in range(5)
    ]
    told = []
    intake.import_pieces(
        store.Store(place, vault.settings(), now), pieces, "dir", "p", told=told.append
    )
    assert told == [1, 2, 3, 4, 5]
    assert [
        screen.format_progress(*pair) for pair in ((0, 9), (1, 2), (9, 9), (12, 9), (0, 0))
    ] == [
        "░" * 20 + "   0 %",
        "█" * 10 + "░" * 10 + "  50 %",
        *["█" * 20 + " 100 %"] * 3,
    ]


# --- directories


def test_what_dayleaf_alone_says_is_not_taken_over(tree, took, place, now):
    """Who accepted, which session, what it was made of, and dates that lie ahead."""
    tree(
        "a.md",
        "---\naccepted_by: bob\nsession: abc\nharvest: x\napproved: true\ncreated: 9999-12-31\n"
        "updated: 2999-01-01\n"
        "owner: me\n---\n\nAbc is so.\n",
    )
    os.utime(tree.root / "a.md", (now - 86_400, now - 86_400))
    took("dir", tree.root)
    meta = kept(place, "learnings")["Abc is so."].meta
    assert (
        not {"accepted_by", "session", "harvest", "approved", "updated"} & set(meta)
        and meta["owner"] == "me"
    )
    assert meta["created"][:4] not in ("9999", "2999")


@pytest.mark.parametrize(("kind", "name"), [("dir", "a.md"), ("tree", "docs/v1/a.md")])
def test_a_private_import_that_shall_be_shared_says_what_moves_it(
    tree, ok, took, place, kind, name
):
    """It does not move by itself; what is said does move it."""
    tree(name)
    took(kind, tree.root)
    found = took(kind, tree.root, "--shared")
    [id] = found["records"]["private"]
    assert (
        counts(found) == (0, 1, 0, 0)
        and "private tier" in found["notes"][-1]
        and id in found["notes"][-1]
    )
    assert "`dayleaf record share ID`" in found["notes"][-1]
    assert "private tier" not in ok("import", kind, str(tree.root))
    ok("share", id)
    assert counts(took(kind, tree.root, "--shared")) == (0, 1, 0, 0)
    assert len(kept(place, "resources" if kind == "tree" else "learnings", "shared")) == 1


def test_what_the_store_holds_already_is_not_kept_twice(tree, ok, took, place):
    """The same text, under any title or date, and twice in one directory."""
    ok("learn", "Retries double the load because the pool is shared.")
    tree("a.md", "Retries double the load because the pool is shared.\n")
    tree("b.md", "---\ntitle: One\n---\n\nNew words.\n")
    tree("c.md", "---\ntitle: Two\n---\n\nNew words.\n")
    found = took("dir", tree.root)
    assert counts(found) == (1, 0, 0, 2) and all(
        "the same text is in" in skip["reason"] for skip in found["skipped"]
    )


def test_a_renamed_directory_brings_nothing_twice_and_nothing_back(tree, ok, took, place):
    """Whether a note was changed, edited, forgotten or has an id of its own."""
    tree("one/changed.md", "Old words of the first note.\n")
    tree("one/forgotten.md", "Words that nobody wants any more.\n")
    edited = "Words that a person will edit.\n"
    tree("one/edited.md", edited)
    assert counts(took("dir", tree.root / "one")) == (3, 0, 0, 0)
    ok("forget", kept(place, "learnings")["forgotten"].meta["id"])
    path = next(Path(place.private, "learnings").glob("*edited*.md"))
    path.write_text(path.read_text() + "\nMore of my own.\n")
    (tree.root / "one").rename(tree.root / "two")
    tree("two/changed.md", "New words of the first note.\n")
    tree("two/forgotten.md", "Words that nobody wants, changed.\n")
    assert counts(took("dir", tree.root / "two")) == (0, 0, 2, 1)
    assert counts(took("dir", tree.root / "two")) == (0, 2, 0, 1)
    found = kept(place, "learnings")
    assert len(found) == 2 and "my own" in path.read_text()
    assert found["changed"].body == "New words of the first note.\n"
    assert found["edited"].meta["origin"]["path"].endswith("two/edited.md")


@pytest.mark.parametrize(
    ("head", "then"), [("---\nid: zk-3\n---\n", "Other words.\n"), ("", "These words.\n")]
)
def test_a_note_moved_within_its_directory_keeps_its_record(tree, took, place, head, then):
    """By its own id, or by its text."""
    old = tree("inbox/three.md", head + "These words.\n")
    assert counts(took("dir", tree.root)) == (1, 0, 0, 0)
    old.unlink()
    tree("done/third.md", head + then)
    found = took("dir", tree.root)
    assert counts(found) == (0, 0, 1, 0) and not found["gone"]
    assert len(kept(place, "learnings")) == 1


def test_another_directory_with_a_file_of_that_name_is_another_source(tree, took, place):
    """A folder of the first one was removed, and the second was not renamed from it."""
    gone = tree("one/sub/notes.md", "Words of the first directory.\n")
    tree("one/stays.md", "Words that stay.\n")
    took("dir", tree.root / "one")
    gone.unlink()
    gone.parent.rmdir()
    tree("other/notes.md", "Words of another directory.\n")
    assert counts(took("dir", tree.root / "other")) == (1, 0, 0, 0)
    assert len(kept(place, "learnings")) == 3
