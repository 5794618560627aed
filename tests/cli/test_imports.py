"""`dayleaf store import`: what it takes, what it says of the sources, and words that are off."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.importing import took, tree

from memory.cli import imports
from memory.terminal import screen


@pytest.fixture(name="tree")
def _tree(project):
    """A tree of reference material in the project: put(path, text) writes a file of it."""
    return tree(project)


@pytest.fixture(name="took")
def _took(ok):
    """Import and return what --json says: took(*words)."""
    return took(ok)


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_trouble_in_the_frontmatter_of_a_source_is_told_line_by_line(ok, project, dry):
    """With the number of files; what is unchanged is not told again, what changed is."""
    notes = Path(project, "my notes")
    notes.mkdir()
    (notes / "a.md").write_text("---\ntitle: Fence\n\nkafka has no closing line\n")
    (notes / "b.md").write_text("---\nconfidence: huge\ncreated: soonish\n---\n\nredis\n")
    (notes / "c.md").write_text("---\ntitle: Fine\n---\n\nnginx\n")
    said = ok("import", "dir", str(notes), *dry)
    assert (
        "2 files have trouble in the frontmatter:\n  a.md: line 1: the frontmatter is not closed"
        in said
    )
    assert (
        "  b.md: line 1: confidence 'huge'" in said
        and "  b.md: line 1: created 'soonish' is not a date" in said
        and "c.md" not in said
    )
    if not dry:
        assert "trouble" not in ok("import", "dir", str(notes))
        (notes / "b.md").write_text("---\nconfidence: huge\n---\n\nredis again\n")
        assert "1 file has trouble in the frontmatter:\n  b.md" in ok("import", "dir", str(notes))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [],
            "store import needs to know what to import: one of tree, dir, claude-memory, "
            "transcripts",
        ),
        (["treee"], "did you mean 'tree'?"),
        (["tree"], "import tree takes one directory, not 0"),
        (["tree", "nowhere"], "nowhere: no such directory; give the one that holds the files"),
        (["tree", "file.md"], "file.md: not a directory; give the one that holds it"),
        (
            ["tree", "empty"],
            "no docs/, scripts/, shared/ or unversioned/ in it; give the directory that holds",
        ),
        (
            ["tree", ".dayleaf"],
            ".dayleaf is part of the memory already; give a directory outside it",
        ),
        (["tree", "empty", "--since", "3d"], "--since is for import transcripts"),
        (["transcripts", "--ask"], "--ask goes with --all"),
        (["transcripts", "--shared"], "--shared is for import tree and dir"),
        (["claude-memory", "x"], "import claude-memory takes no more words; leave 'x' out"),
        (["dir", "empty", "--kind", "lesson"], "unknown value 'lesson'"),
        (
            ["tree", "empty", "--shared", "--global"],
            "--global and --shared exclude each other; use one",
        ),
    ],
)
def test_words_that_are_off_are_answered_in_one_line(run, project, words, said):
    """With the remedy, status 2, and nothing written."""
    Path(project, "file.md").write_text("x")
    for name in ("empty", ".dayleaf"):
        Path(project, name).mkdir()
    done = run("import", *words)
    assert (
        done.returncode == 2
        and said in done.stderr
        and done.stderr.count("\n") == 1
        and not done.stdout
    )


def test_the_records_are_found_at_once(tree, ok, took):
    """The index knows them, and they are as a build would have them."""
    for number in range(40):
        tree(f"docs/v1/p{number}.md", f"# Page {number}\n\nquokka{number} lives here.\n")
    took("tree", tree.root)
    assert "Page 7" in ok(
        "recall", "quokka7", "--kind", "resource"
    ) and "the index is correct" in ok("index", "verify")


@pytest.mark.parametrize("kind", ["dir", "tree"])
def test_shared_records_of_a_directory_elsewhere_are_said_to_hold_here_alone(took, tmp_path, kind):
    """Their origin can only be a path of this machine."""
    path = tmp_path / "elsewhere/docs/v1/a.md"
    path.parent.mkdir(parents=True)
    path.write_text("# A\n\nText.\n", encoding="utf-8")
    assert any(
        "outside the repository" in note
        for note in took(kind, tmp_path / "elsewhere", "--shared")["notes"]
    )
    assert not any(
        "outside the repository" in note for note in took(kind, tmp_path / "elsewhere")["notes"]
    )


def test_without_transcripts_it_says_where_it_looked(ok):
    """Status 0, and the option for the rest."""
    assert "holds no session of this workspace" in ok("import", "transcripts")


def test_the_reading_of_transcripts_says_how_far_it_is_and_how_long_it_takes(capsys):
    """By what was read, not by what was told already; nothing before the first second, nor at the
    end.  Where no spinner turns, a line after each ten seconds.
    """
    clock = iter([0.0, 0.5, 4.0, 10.0, 12.0])
    spinner = screen.Spinner("", False)
    pace = imports.ReadingProgress(spinner, 371 << 20, lambda: next(clock), 10.0)
    said = []
    for size, read in ((10, 10), (120, 60), (200, 120), (371, 200)):
        pace.done(size << 20, read << 20)
        said.append(spinner.step)
    assert said == [
        "reading transcripts %s %d of 371 MB%s" % (screen.format_progress(at, 371), at, left)
        for at, left in (
            (10, ""),
            (120, ", about 17 s left"),
            (200, ", about 14 s left"),
            (371, ""),
        )
    ]
    assert capsys.readouterr().err == "dayleaf: %s\n" % " ".join(said[2].split())
    assert [imports.format_duration(seconds) for seconds in (0, 1.4, 89, 90, 600)] == [
        "1 s",
        "1 s",
        "89 s",
        "2 min",
        "10 min",
    ]
