"""`dayleaf import`: trees, directories and the client's own memory become records, once, marked with their origin."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory import bulk, claudememory, frontmatter, imports, sources, store, terminal

ROOT = Path(__file__).parents[1]
TOKEN = "gh" + "p_" + "x9Kd83jfLq02mZvB7tYw5RnC1sHa4UeGpXoI"


@pytest.fixture
def tree(project):
    """A tree of reference material in the project, in a directory with a space: put(path, text) writes a file of it."""
    root = Path(project, "my ref")

    def put(name, text="# A page\n\nIt says something.\n"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    put.root = root
    return put


@pytest.fixture
def took(ok):
    """Import and return what --json says: took(*words)."""
    return lambda *words: json.loads(ok("import", *map(str, words), "--json"))


def counts(found):
    return (found["new"], found["unchanged"], found["changed"], len(found["skipped"]))


def kept(place, folder="resources", tier="private"):
    """Every record file of a folder by its title: (frontmatter, body)."""
    pages = [frontmatter.parse(path.read_bytes(), full=True) for path in Path(getattr(place, tier), folder).rglob("*.md")]
    return {page.meta.get("title"): page for page in pages}


def everything(place):
    return {str(path): path.read_bytes() for path in Path(place.home).rglob("*.md")}


# --- trees


def test_a_tree_becomes_resources_with_their_versions(tree, took, place, project, env):
    """By the directory: its name, `unversioned`, for `shared` every version; type, path, checksum and commit besides."""
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
    assert {title: (page.meta["type"], page.meta.get("versions")) for title, page in found.items()} == {
        "Jira API": ("doc", ["v2"]), "버튼": ("doc", ["v3"]), "both.txt": ("doc", ["v2", "v3"]), "Loose": ("doc", None),
        "A page": ("doc", ["unversioned"]), "update.sh: Updates the flow": ("script", ["v2"]), "tool.py: Counts": ("script", ["v2", "v3"]),
        "Notes": ("doc", ["unversioned"])}
    page = found["버튼"]
    data = (tree.root / "docs/v3/한글/문서 1.md").read_bytes()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, env=env, capture_output=True, text=True).stdout
    assert page.meta["path"] == page.meta["origin"]["path"] == "my ref/docs/v3/한글/문서 1.md" and page.meta["tags"] == ["a"]
    assert page.meta["checksum"] == page.meta["origin"]["checksum"] == sources.files.sha256(data)
    assert page.meta["origin"]["from"] == "tree" and head.startswith(page.meta["source_ref"]) and page.meta["refreshed"]
    assert page.body == "# 버튼\n\n버튼을 누른다.\n"
    script = (tree.root / "scripts/v2/update.sh").read_text()
    assert found["update.sh: Updates the flow"].body == f"Updates the flow.\nTwice.\n\n## Script\n\n````sh\n{script}````\n"
    assert found["tool.py: Counts"].body.startswith("Counts.\n\nMore.\n\n## Script\n\n```python\n")


def test_a_second_import_changes_nothing(tree, took, place):
    """Not one byte of one record."""
    for number in range(30):
        tree(f"docs/v{number % 3}/p{number}.md", f"# Page {number}\n\nThe same words.\n")
    assert counts(took("tree", tree.root)) == (30, 0, 0, 0)
    before = everything(place)
    assert counts(took("tree", tree.root)) == (0, 30, 0, 0) and everything(place) == before and len(before) == 30


def test_equal_files_of_two_versions_are_two_resources(tree, took, place):
    """Same text, same instant, another path: neither stands for the other."""
    for version in ("v1", "v2"):
        tree(f"docs/{version}/a.md")
    assert counts(took("tree", tree.root)) == (2, 0, 0, 0)
    assert len(list(Path(place.private, "resources").glob("*.md"))) == 2


def test_a_changed_source_changes_its_record_in_place(tree, took, place):
    """Id, name and keys of a person's own stay, a title too that is a person's own."""
    first = tree("docs/v1/a.md", "# Old\n\nOld words.\n")
    second = tree("docs/v1/b.md", "# Second\n\nOld words too.\n")
    took("tree", tree.root)
    for path in Path(place.private, "resources").glob("*.md"):
        path.write_text(path.read_text().replace("kind:", "pinned: true  # mine\nkind:").replace("title: Second", "title: Mine"))
    names = sorted(os.listdir(place.private + "/resources"))
    ids = {page.meta["id"] for page in kept(place).values()}
    first.write_text("# New\n\nNew words.\n")
    second.write_text("# Other\n\nNew words too.\n")
    assert counts(took("tree", tree.root)) == (0, 0, 2, 0)
    found = kept(place)
    assert sorted(os.listdir(place.private + "/resources")) == names and {page.meta["id"] for page in found.values()} == ids
    assert found["New"].body == "# New\n\nNew words.\n" and found["Mine"].body == "# Other\n\nNew words too.\n"
    assert all("pinned: true  # mine" in text.decode() for text in everything(place).values())
    assert counts(took("tree", tree.root)) == (0, 2, 0, 0)


def test_what_a_person_edited_is_never_overwritten(tree, took, place):
    """The source changed as well: it is skipped, and both ways out are named."""
    source = tree("docs/v1/a.md")
    took("tree", tree.root)
    path = next(Path(place.private, "resources").glob("*.md"))
    path.write_text(path.read_text() + "My words.\n")
    assert counts(took("tree", tree.root)) == (0, 1, 0, 0)
    source.write_text("# A page\n\nIt says more.\n")
    found = took("tree", tree.root)
    assert counts(found) == (0, 0, 0, 1) and "by hand" in found["skipped"][0]["reason"] and "My words." in path.read_text()


def test_a_vanished_source_is_reported_and_its_record_stays(tree, ok, took, place):
    """Only what stood below the directory that was imported."""
    gone = tree("docs/v1/a.md", "# Gone\n")
    tree("docs/v1/b.md", "# Stays\n")
    took("tree", tree.root)
    gone.unlink()
    before = everything(place)
    said = ok("import", "tree", str(tree.root))
    assert "1 file: 0 new, 1 unchanged, 0 changed, 0 skipped" in said and "gone: my ref/docs/v1/a.md" in said
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
    assert counts(found) == (0, 0, 0, 1) and f"dayleaf restore {id}" in found["skipped"][0]["remedy"] and not kept(place)
    ok("restore", id)
    assert counts(took("tree", tree.root)) == (0, 0, 1, 0)


def test_a_new_version_of_the_tree_reaches_what_is_shared(tree, took, place):
    """Although the shared file itself is as it was."""
    tree("docs/v1/a.md")
    tree("docs/shared/both.md", "# Both\n")
    took("tree", tree.root)
    tree("docs/v2/a.md", "# Two\n")
    assert counts(took("tree", tree.root)) == (1, 1, 1, 0) and kept(place)["Both"].meta["versions"] == ["v1", "v2"]
    assert counts(took("tree", tree.root)) == (0, 3, 0, 0)


def test_what_cannot_be_taken_is_named_with_a_remedy(tree, ok, took, place):
    """Binary, large, not UTF-8, empty, links out of the tree, versions with spaces; the rest is taken."""
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
        "bin.md": "no text", "big.md": "above 5 MB", "latin.md": "line 2: bytes that are not UTF-8", "empty.md": "empty",
        "v 2": "a version has no spaces, commas or '#'", "link.md": "a link out of the directory",
        "folder": "a link to a directory is not followed"}
    assert all(skip["remedy"] for skip in found["skipped"]) and "root:" not in str(everything(place))
    assert "  skipped docs/v 2: a version has no spaces, commas or '#'; rename it to v-2\n" in ok("import", "tree", str(tree.root))


def test_what_a_tree_leaves_out_is_counted(tree, ok, took):
    """Files beside the four directories; hidden ones are nobody's, and a tree with nothing beside it says nothing."""
    tree("docs/v1/a.md")
    assert took("tree", tree.root)["left_out"] == 0 and "left out" not in ok("import", "tree", str(tree.root))
    for name in ("README.md", "other/deep/b.md", ".git/config"):
        tree(name)
    assert "left out 2 files beside docs/, scripts/, shared/ and unversioned/\n" in ok("import", "tree", str(tree.root))
    inner = took("tree", tree.root.parent)
    assert inner["left_out"] == 2 and inner["unchanged"] == 1


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_trouble_in_the_frontmatter_of_a_source_is_told_line_by_line(ok, project, dry):
    """With the number of files; what is unchanged is not told again, what changed is."""
    notes = Path(project, "my notes")
    notes.mkdir()
    (notes / "a.md").write_text("---\ntitle: Fence\n\nkafka has no closing line\n")
    (notes / "b.md").write_text("---\nconfidence: huge\ncreated: soonish\n---\n\nredis\n")
    (notes / "c.md").write_text("---\ntitle: Fine\n---\n\nnginx\n")
    said = ok("import", "dir", str(notes), *dry)
    assert "2 files have trouble in the frontmatter:\n  a.md: line 1: the frontmatter is not closed" in said
    assert "  b.md: line 1: confidence 'huge'" in said and "  b.md: line 1: created 'soonish' is no date" in said and "c.md" not in said
    if not dry:
        assert "trouble" not in ok("import", "dir", str(notes))
        (notes / "b.md").write_text("---\nconfidence: huge\n---\n\nredis again\n")
        assert "1 file has trouble in the frontmatter:\n  b.md" in ok("import", "dir", str(notes))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_skipped(tree, took):
    """And a directory."""
    tree("docs/v1/a.md").chmod(0)
    assert "permission denied" in took("tree", tree.root)["skipped"][0]["reason"]


@pytest.mark.parametrize(("words", "said"), [
    ([], "import wants to know what: one of tree, dir, claude-memory, transcripts"),
    (["treee"], "did you mean 'tree'?"),
    (["tree"], "import tree wants one directory, not 0"),
    (["tree", "nowhere"], "nowhere: no such directory; give the one that holds the files"),
    (["tree", "file.md"], "file.md: not a directory; give the one that holds it"),
    (["tree", "empty"], "no docs/, scripts/, shared/ or unversioned/ in it; give the directory that holds"),
    (["tree", ".dayleaf"], ".dayleaf: belongs to the memory already; give a directory outside it"),
    (["tree", "empty", "--since", "3d"], "--since is for import transcripts"),
    (["transcripts", "--shared"], "--shared is for import tree and dir"),
    (["claude-memory", "x"], "import claude-memory wants no more words; not 'x'"),
    (["claude-memory", "--all", "--project"], "--all and --project exclude one another; use one"),
    (["dir", "empty", "--kind", "lesson"], "unknown value 'lesson'"),
    (["tree", "empty", "--shared", "--global"], "--global and --shared exclude one another; use one"),
])
def test_words_that_are_off_are_answered_in_one_line(run, project, words, said):
    """With the remedy, status 2, and nothing written."""
    Path(project, "file.md").write_text("x")
    for name in ("empty", ".dayleaf"):
        Path(project, name).mkdir()
    done = run("import", *words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_a_dry_run_writes_nothing(tree, ok, took, place):
    """It counts, and says so."""
    tree("docs/v1/a.md")
    assert "1 file: 1 new, 0 unchanged, 0 changed, 0 skipped; nothing was written (--dry-run)" in ok(
        "import", "tree", str(tree.root), "--dry-run")
    assert not everything(place) and counts(took("tree", tree.root)) == (1, 0, 0, 0)


def test_secrets_are_taken_out_and_paths_that_name_one_stay_in_step(tree, took, place):
    """A token in the text goes; a checksum beside a path such as `api-key.md` is none."""
    tree("docs/v1/api-key.md", f"# Key\n\nUse {TOKEN} here.\n")
    tree("scripts/v1/secret_token.sh", f"#!/bin/sh\nexport GITHUB_TOKEN={TOKEN}\n")
    assert counts(took("tree", tree.root)) == (2, 0, 0, 0)
    text = str(everything(place))
    assert TOKEN not in text and text.count("[redacted:") == 2
    assert counts(took("tree", tree.root)) == (0, 2, 0, 0)


def test_trees_side_by_side_are_taken_together(tree, took):
    """One directory a project, as people keep them."""
    tree("jira/docs/v1/a.md", "# A\n")
    tree("utils/scripts/unversioned/b.sh", "echo\n")
    tree("notes/c.md", "# C\n")
    assert counts(took("tree", tree.root)) == (2, 0, 0, 0)


def test_shared_and_global_records_stand_in_their_tiers(tree, took, place):
    """A global record names its source by the absolute path: no repository says what it is relative to."""
    tree("docs/v1/a.md", "# A\n")
    assert counts(took("tree", tree.root, "--shared")) == (1, 0, 0, 0)
    assert kept(place, tier="shared")["A"].meta["path"] == "my ref/docs/v1/a.md"
    other = tree.root.parent / "other"
    (other / "docs/v1").mkdir(parents=True)
    (other / "docs/v1/g.md").write_text("# G\n")
    took("tree", other, "--global")
    assert kept(place, tier="everyone")["G"].meta["path"] == str(other / "docs/v1/g.md")


@pytest.mark.parametrize(("name", "texts"), [
    ("docs/v1/a.md", ["# One\n", "---\ntags: [x]\n---\n\n# Two\n\nNew.\n", "# Three\n\nNewer.\n"]),
    ("docs/v1/crlf.md", ["# One\r\n\r\nOld.\r\n", "# Two\r\n\r\nNew.\r\n", "# Three\r\n"]),
    ("scripts/v1/a b.sh", ["#!/bin/sh\n# One.\necho 1\n", "#!/bin/sh\r\n# Two.\r\necho 2\r\n", "#!/bin/sh\n# Three.\necho 3\n"]),
])
def test_import_and_refresh_keep_one_record_in_step(tree, took, ok, place, name, texts):
    """Either reads the file as the other does: what one wrote, the other finds unchanged, and goes on from there."""
    source = tree(name, texts[0])
    took("tree", tree.root)
    path = next(Path(place.private, "resources").glob("*.md"))
    id = frontmatter.parse(path.read_bytes(), full=True).meta["id"]
    assert "unchanged " + id in ok("resource", "refresh", id)
    source.write_bytes(texts[1].encode())
    assert "refreshed " + id in ok("resource", "refresh", id)
    page = frontmatter.parse(path.read_bytes(), full=True)
    assert page.meta["origin"]["checksum"] == page.meta["checksum"] == sources.files.sha256(texts[1].encode())
    assert page.meta["origin"]["written"][:16] == page.meta["snapshot"] and "Two" in page.body and "tags: [x]" not in page.body
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
    ok("resource", "refresh", "--all")
    assert "\nMine.\n" in path.read_text() and "echo 2" in path.read_text()
    assert counts(took("tree", tree.root)) == (0, 1, 0, 0)
    source.write_text("#!/bin/sh\n# Three.\necho 3\n")
    assert counts(took("tree", tree.root)) == (0, 0, 0, 1) and "\nMine.\n" in path.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_import_that_was_killed_goes_on(tree, took, env, project, place):
    """What is there is whole and stays; the second run adds the rest, and nothing twice."""
    for number in range(1500):
        tree(f"docs/v1/p{number}.md", f"# Page {number}\n\n" + "words and more words\n" * 40)
    process = subprocess.Popen([sys.executable, "-m", "memory", "import", "tree", str(tree.root)], cwd=project,
                               env={**env, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder, end = Path(place.private, "resources"), time.monotonic() + 30
    while time.monotonic() < end and not (folder.is_dir() and any(folder.glob("*.md"))):
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    there = list(folder.glob("*.md"))
    assert 0 < len(there) < 1500, "it was over before the kill"
    assert all(path.read_bytes().startswith(b"---\n") and b"words and more" in path.read_bytes() for path in there)
    found = took("tree", tree.root)
    assert found["new"] + found["unchanged"] == 1500 and found["unchanged"] == len(there)
    assert len({page.meta["id"] for page in kept(place).values()}) == len(list(folder.glob("*.md"))) == 1500


def test_two_imports_at_once_are_one_after_the_other(tree, run, place):
    """The second one says so, and writes nothing."""
    tree("docs/v1/a.md")
    with imports.files.Lock(place.cache + "/import.lock") as held:
        done = run("import", "tree", str(tree.root))
        assert held and done.returncode == 1 and "another import into this workspace is running" in done.stderr
    assert not everything(place)


def test_a_record_has_its_name_only_once_its_bytes_are_on_the_disk(place, now, monkeypatch):
    """All of a batch are synced before the first of them is named, the directory after the last."""
    import vault

    steps = []
    monkeypatch.setattr(bulk.files, "sync", lambda path: steps.append(("sync", path)))
    keeper = store.Store(place, vault.settings(), now, lambda name: steps.append(("named", name)))
    writing = bulk.Bulk(keeper)
    for word in ("one", "two", "three"):
        writing.add("p", imports.composing.composed("learning", word, word + "\n", keeper.cleaned, now))
    assert not steps
    writing.flush()
    assert [step for step, _ in steps] == ["sync"] * 3 + ["named"] * 3 + ["sync"]
    assert steps[-1][1] == place.private + "/learnings" and len(list(Path(steps[-1][1]).iterdir())) == 3


def test_the_records_are_found_at_once(tree, ok, took):
    """The index knows them, and they are as a build would have them."""
    for number in range(40):
        tree(f"docs/v1/p{number}.md", f"# Page {number}\n\nquokka{number} lives here.\n")
    took("tree", tree.root)
    assert "Page 7" in ok("recall", "quokka7", "--kind", "resource") and "byte for byte" in ok("index", "verify")


def test_a_model_that_imports_is_no_human(tree, run, place):
    """Inside the client's shell the source is the agent, whatever a file says of itself."""
    tree("docs/v1/a.md", "# A\n")
    tree("notes/n.md", "---\nsource: human\n---\n\n# N\n\nText.\n")
    for words in (("tree", str(tree.root)), ("dir", str(tree.root / "notes"))):
        assert run("import", *words, CLAUDECODE="1").returncode == 0
    assert kept(place)["A"].meta["source"] == kept(place, "learnings")["N"].meta["source"] == "agent"


def test_a_resource_that_a_person_wrote_stays_theirs(tree, took, place):
    """It names the same path, and says something of its own."""
    tree("docs/v1/a.md")
    path = Path(place.private, "resources", "mine.md")
    path.parent.mkdir(parents=True)
    path.write_text("---\nid: mine\ntype: doc\npath: my ref/docs/v1/a.md\n---\n\nMy own words on it.\n")
    before = everything(place)
    found = took("tree", tree.root)
    assert counts(found) == (0, 0, 0, 1) and "mine stands for it" in found["skipped"][0]["reason"]
    assert everything(place) == before


def test_a_head_that_cannot_be_edited_is_skipped_and_the_rest_goes_on(tree, took, place):
    """One record that a person broke does not stop an import."""
    for name in ("a", "b"):
        tree(f"docs/v1/{name}.md", f"# {name}\n")
    took("tree", tree.root)
    broken = next(path for path in Path(place.private, "resources").glob("*.md") if "title: a\n" in path.read_text())
    broken.write_text(broken.read_text().replace("refreshed: ", "refreshed: &x "))
    for name in ("a", "b"):
        tree(f"docs/v1/{name}.md", f"# {name}\n\nMore.\n")
    found = took("tree", tree.root)
    assert found["changed"] >= 1 and found["changed"] + len(found["skipped"]) == 2


@pytest.mark.parametrize("head", ["origin: tree", "origin: {from: tree, path: [a], checksum: {x: 1}}", "origin: {from: tree}",
                                  "id: \"x; rm -rf /\"\norigin: {from: tree, path: my ref/docs/v1/a.md, written: [1]}"])
def test_an_origin_that_somebody_made_up_does_no_harm(tree, run, place, head):
    """A cloned repository may say what it likes of its records."""
    tree("docs/v1/a.md")
    path = Path(place.shared, "resources", "theirs.md")
    path.parent.mkdir(parents=True)
    path.write_text(f"---\ntype: doc\n{head}\n---\n\nTheirs.\n")
    before = path.read_bytes()
    done = run("import", "tree", str(tree.root))
    assert (done.returncode, done.stderr) == (0, "") and "rm -rf" not in done.stdout and path.read_bytes() == before


def test_progress_is_told_up_to_the_last_piece(place, now):
    """And a bar is never longer than its twenty cells."""
    import vault

    pieces = [imports.Piece((f"f{n}", ""), f"f{n}", str(n), lambda n=n: imports.Draft("learning", f"T{n}", f"words {n}\n"))
              for n in range(5)]
    told = []
    imports.bring(store.Store(place, vault.settings(), now), pieces, "dir", "p", told=told.append)
    assert told == [1, 2, 3, 4, 5]
    assert [terminal.bar(*pair) for pair in ((0, 9), (1, 2), (9, 9), (12, 9), (0, 0))] == [
        "░" * 20 + "   0 %", "█" * 10 + "░" * 10 + "  50 %", *["█" * 20 + " 100 %"] * 3]


# --- directories


def test_a_directory_of_markdown_becomes_learnings(tree, took, place):
    """Frontmatter is kept, with what nests in it; kinds by frontmatter, then --kind, then learning; `.txt` by its name."""
    tree("a.md", "---\nid: mine/1\ntags: a, b\ncustom: {x: 1}\ncreated: 2025-03-04\napproved: true\naccepted: true\n---\n\nAbc is so.\n")
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
    assert page.meta["custom"] == {"x": "1"} and page.meta["tags"] == ["a", "b"] and page.meta["created"].startswith("2025-03-04")
    assert page.meta["origin"]["id"] == "mine/1" and page.meta["id"].startswith("l-")
    assert not {"approved", "accepted"} & set(page.meta)
    assert {"메모", "my note"} < set(kept(place, "learnings")) and set(kept(place, "rules")) == {"Rule"}
    assert counts(took("dir", tree.root)) == (0, 4, 0, 3)


def test_the_stores_of_other_tools_are_recognised(project, ok, took, place):
    """In a project's root, or named themselves; checkpoints keep their instants."""
    for name, text in ((".memories/2026-01-02/143052_9fa8.md",
                        "---\nid: 2026-01-02/143052_9fa8\ntype: checkpoint\ntags: [a]\ngit:\n  branch: main\n---\n\n# Fixed\n\nIt.\n"),
                       (".memories/2026-01-03/080000_aaaa.md", "Plain words.\n"),
                       (".memories/plans/pg.md", "---\ntitle: Move\nstatus: done\n---\n\n- [x] a\n"),
                       (".prompts/learnings/build.md", "# Build\n\nUse the lockfile.\n"),
                       (".prompts/learnings/learnings-index.json", "{}")):
        path = Path(project, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    said = ok("import", "dir", ".")
    assert ".memories: a store of another tool, 3 files" in said and ".prompts/learnings: a store of another tool, 1 file" in said
    fixed = kept(place, "checkpoints")["Fixed"].meta
    assert (fixed["created"], fixed["source"], fixed["git"]) == ("2026-01-02T14:30:52Z", "agent", {"branch": "main"})
    assert kept(place, "checkpoints")["Plain words."].meta["created"] == "2026-01-03T08:00:00Z"
    assert set(kept(place, "plans")) == {"Move"} and set(kept(place, "learnings")) == {"Build"}
    assert counts(took("dir", ".memories")) == (0, 3, 0, 0) and counts(took("dir", ".prompts/learnings")) == (0, 1, 0, 0)


def test_an_active_plan_is_not_pushed_aside(project, ok, took, place):
    """Another one that is active is skipped, with the way out."""
    ok("plan", "Mine first")
    path = Path(project, "notes/p.md")
    path.parent.mkdir()
    path.write_text("---\nkind: plan\n---\n\n# Theirs\n")
    found = took("dir", path.parent)
    assert counts(found) == (0, 0, 0, 1) and "another plan is active" in found["skipped"][0]["reason"]


def test_only_one_plan_of_a_directory_is_active(tree, took, ok, place):
    """The first one that is brought in counts for the rest, also the next time, and may change."""
    first = tree("a.md", "---\nkind: plan\n---\n\n# One\n\n- [ ] a\n")
    tree("b.md", "---\nkind: plan\nstatus: active\n---\n\n# Two\n\n- [ ] b\n")
    found = took("dir", tree.root)
    assert counts(found) == (1, 0, 0, 1) and found["skipped"][0]["reason"] == "another plan is active, a.md"
    assert set(kept(place, "plans")) == {"One"} and counts(took("dir", tree.root)) == (0, 1, 0, 1)
    first.write_text("---\nkind: plan\n---\n\n# One\n\n- [ ] a\n- [ ] c\n", encoding="utf-8")
    assert counts(took("dir", tree.root)) == (0, 0, 1, 1)


@pytest.mark.parametrize("tier", [(), ("--shared",)])
def test_a_resource_of_a_directory_is_taken_once(tree, took, ok, place, tier):
    """Its path is below the repository in every key, so that a second import and a refresh know it."""
    path = tree("r.md", "---\nkind: resource\ntitle: R\n---\n\nSome text.\n")
    tree("l.md", "---\npath: elsewhere/x.md\n---\n\nA learning that has a path.\n")
    assert counts(took("dir", tree.root, *tier)) == (2, 0, 0, 0)
    meta = kept(place, tier="shared" if tier else "private")["R"].meta
    assert meta["path"] == meta["origin"]["path"] == "my ref/r.md"
    assert counts(took("dir", tree.root, *tier)) == (0, 2, 0, 0)
    path.write_text("---\nkind: resource\ntitle: R\n---\n\nOther text.\n", encoding="utf-8")
    assert counts(took("dir", tree.root, *tier)) == (0, 1, 1, 0)
    assert [one["state"] for one in json.loads(ok("resource", "list", "--json"))] == ["fresh"]


@pytest.mark.parametrize("kind", ["dir", "tree"])
def test_shared_records_of_a_directory_elsewhere_are_said_to_hold_here_alone(took, tmp_path, kind):
    """Their origin can only be a path of this machine."""
    path = tmp_path / "elsewhere/docs/v1/a.md"
    path.parent.mkdir(parents=True)
    path.write_text("# A\n\nText.\n", encoding="utf-8")
    assert any("outside the repository" in note for note in took(kind, tmp_path / "elsewhere", "--shared")["notes"])
    assert not any("outside the repository" in note for note in took(kind, tmp_path / "elsewhere")["notes"])


def test_what_dayleaf_alone_says_is_not_taken_over(tree, took, place, now):
    """Who accepted, which session, what it was made of, and dates that lie ahead."""
    tree("a.md", "---\naccepted_by: bob\nsession: abc\nharvest: x\napproved: true\ncreated: 9999-12-31\nupdated: 2999-01-01\n"
                 "owner: me\n---\n\nAbc is so.\n")
    os.utime(tree.root / "a.md", (now - 86_400, now - 86_400))
    took("dir", tree.root)
    meta = kept(place, "learnings")["Abc is so."].meta
    assert not {"accepted_by", "session", "harvest", "approved", "updated"} & set(meta) and meta["owner"] == "me"
    assert meta["created"][:4] not in ("9999", "2999")


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
    assert counts(found) == (1, 0, 0, 2) and {skip["path"] for skip in found["skipped"]} == {"scripts", "shared"}
    assert "not followed" in found["skipped"][0]["reason"] and not json.loads(ok("recall", "launch", "--json"))["hits"]


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 there")
def test_a_name_that_is_not_utf_8_is_known_again(tree, took):
    """It is neither gone nor new the second time, and two such names stay two."""
    for name in (b"\xff.md", b"\xfe.md"):
        with open(os.fsencode(tree("x/y.md").parent) + b"/" + name, "wb") as file:
            file.write(b"Text of " + name.hex().encode() + b".\n")
    assert counts(took("dir", tree.root)) == (3, 0, 0, 0)
    found = took("dir", tree.root)
    assert counts(found) == (0, 3, 0, 0) and found["gone"] == []


@pytest.mark.parametrize(("kind", "name"), [("dir", "a.md"), ("tree", "docs/v1/a.md")])
def test_a_private_import_that_shall_be_shared_says_what_moves_it(tree, ok, took, place, kind, name):
    """It does not move by itself; what is said does move it."""
    tree(name)
    took(kind, tree.root)
    found = took(kind, tree.root, "--shared")
    [id] = found["records"]["private"]
    assert counts(found) == (0, 1, 0, 0) and "private tier" in found["notes"][-1] and id in found["notes"][-1]
    assert "private tier" not in ok("import", kind, str(tree.root))
    ok("forget", "--hard", id, "--yes")
    assert counts(took(kind, tree.root, "--shared")) == (1, 0, 0, 0)
    assert len(kept(place, "resources" if kind == "tree" else "learnings", "shared")) == 1


def test_what_the_store_holds_already_is_not_kept_twice(tree, ok, took, place):
    """The same text, under any title or date, and twice in one directory."""
    ok("learn", "Retries double the load because the pool is shared.")
    tree("a.md", "Retries double the load because the pool is shared.\n")
    tree("b.md", "---\ntitle: One\n---\n\nNew words.\n")
    tree("c.md", "---\ntitle: Two\n---\n\nNew words.\n")
    found = took("dir", tree.root)
    assert counts(found) == (1, 0, 0, 2) and all("the same text stands in" in skip["reason"] for skip in found["skipped"])


# --- the client's memory


@pytest.fixture
def claude(project, place, env):
    """The client's directory: put(path, text) writes below it, put.memory below this project's auto memory."""
    root = Path(env["HOME"], ".claude")

    def put(name, text):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    put.memory = lambda name, text: put(str(Path(claudememory.memory_folder(place, env), name).relative_to(root)), text)
    return put


FACT = "---\nname: user-role\ndescription: The user prefers tables\nmetadata:\n  type: user\n---\n\nTables, not prose.\n"
PROJECT = ("# Project\n\nThis is the server of the orders; it talks to Postgres over a pool of ten.\n\n## Build\n\n- run `make`\n"
           "- never `npm install`, use `pnpm i --frozen-lockfile` because a lockfile is patched\n\n### Style\n\nTabs.\n\n"
           "See @docs/git.md, not `@docs/code.md`, nor me@example.com, nor @nowhere.md, nor @../outside.md.\n")


def test_auto_memory_and_claude_md_become_candidates(claude, project, took, ok, place, tmp_path):
    """Read only; a fact a file, a section a record, imports followed inside the project; recall finds them, a prompt gets none."""
    claude.memory("user_role.md", FACT)
    claude.memory("MEMORY.md", "- [Role](user_role.md) — tables\n- Deploys happen on Tuesday through the staging lane\n")
    claude("CLAUDE.md", "# Me\n\nAnswer in Korean, keep commit subjects below sixty characters, please.\n")
    for name, text in (("CLAUDE.md", PROJECT), ("docs/git.md", "# Git\n\nRebase onto main before each pull request, and squash.\n"),
                       ("docs/code.md", "# Code\n\nNever read, since it is only named in code.\n"),
                       ("api/CLAUDE.md", "# API\n\nEvery endpoint validates its body with the schema beside it.\n")):
        Path(project, name).parent.mkdir(exist_ok=True)
        Path(project, name).write_text(text)
    (tmp_path / "outside.md").write_text("# Outside\n\nA key of the user's own stands in this file.\n")
    before = {path: path.read_bytes() for path in [*Path(project).rglob("*.md"), *(tmp_path / "home/.claude").rglob("*")]
              if path.is_file()}
    found = took("claude-memory")
    assert (found["new"], [skip["path"] for skip in found["skipped"]]) == (8, ["@../outside.md"])
    mine = kept(place, "learnings")
    assert set(mine) == {"The user prefers tables", "Deploys happen on Tuesday through the staging lane", "Project", "Build", "Git",
                         "Build: Style", "API"}
    assert set(kept(place, "learnings", "everyone")) == {"Me"}
    assert "- run `make`\n- never `npm install`" in mine["Build"].body
    facts = {title: (page.meta["source"], page.meta["origin"]["from"], page.meta["accepted"]) for title, page in mine.items()}
    assert facts["Build"] == ("human", "claude-md", "false")
    assert facts["The user prefers tables"] == ("agent", "claude-memory", "false")
    assert mine["The user prefers tables"].meta["tags"] == ["user"]
    assert all(path.read_bytes() == data for path, data in before.items())
    assert "Build" in ok("recall", "frozen lockfile patched") and "0 learnings" in ok("load", "pnpm frozen lockfile patched")
    again = took("claude-memory")
    assert (again["new"], again["unchanged"], again["gone"]) == (0, 8, [])


def test_without_the_users_own_file_and_with_every_project(claude, env, project, took, tmp_path):
    """--project leaves the user's out; --all takes the projects that the client's transcripts name."""
    claude("CLAUDE.md", "# Me\n\nAnswer in Korean, keep commit subjects below sixty characters, please.\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "CLAUDE.md").write_text("# Other\n\nThe other project's rules are written down in this file.\n")
    claude("projects/-x/s1.jsonl", json.dumps({"cwd": str(other), "timestamp": "2026-11-20T10:00:00Z"}) + "\n")
    assert took("claude-memory", "--project")["new"] == 0
    assert took("claude-memory")["new"] == 1
    assert took("claude-memory", "--all")["new"] == 1


def test_a_section_that_changed_and_one_that_went(claude, project, took, place):
    """The one is changed in place, the other reported."""
    path = Path(project, "CLAUDE.md")
    text = "# One\n\n%s\n\n# Two\n\nThe second section stands here, and it is long enough to stand alone.\n"
    path.write_text(text % "The first section stands here, and it is long enough to stand alone.")
    assert took("claude-memory")["new"] == 2
    path.write_text((text % "The first section says more now, and it is long enough to stand alone.").partition("# Two")[0])
    found = took("claude-memory")
    assert counts(found) == (0, 0, 1, 0) and [one["path"] for one in found["gone"]] == ["CLAUDE.md § Two"]
    assert "says more now" in kept(place, "learnings")["One"].body


def test_an_accepted_candidate_is_pushed(claude, project, ok, took, place):
    """A person's word counts, and a later import keeps it."""
    path = Path(project, "CLAUDE.md")
    path.write_text("# Lockfile\n\nThe patched lockfile wants `pnpm i --frozen-lockfile`, always and everywhere.\n")
    took("claude-memory")
    record = next(Path(place.private, "learnings").glob("*.md"))
    record.write_text(record.read_text().replace("accepted: false", "accepted: true"))
    ok("index", "refresh")
    assert "1 learning" in ok("load", "frozen lockfile") and "0 warnings" in ok("check")
    path.write_text(path.read_text().replace("always", "ever"))
    assert counts(took("claude-memory")) == (0, 0, 1, 0) and "accepted: true" in record.read_text()


@pytest.mark.parametrize(("body", "expected"), [
    ("no heading at all\n", [((), "no heading at all\n")]),
    ("# A\n\n## B\n\n" + "b" * 80 + "\n", [(("A", "B"), "## B\n\n" + "b" * 80 + "\n")]),
    ("# A\n\n" + "a" * 80 + "\n\n## B\n\nshort\n", [(("A",), "# A\n\n" + "a" * 80 + "\n\n## B\n\nshort\n")]),
    ("```\n# no heading\n```\n", [((), "```\n# no heading\n```\n")]),
    ("# A\n", []),
])
def test_sections_stand_on_their_own(body, expected):
    """What is too short stays with what is above; a heading in code is none."""
    assert claudememory.sections(body) == expected
