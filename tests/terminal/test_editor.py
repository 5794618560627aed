"""A text in the person's own editor: a copy, what it saves, and what is left where something goes
wrong.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from harness.command import on_terminal, one_line_error

TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."


@pytest.fixture
def editor(tmp_path):
    """Make an editor of shell commands; its path has a blank."""

    def call(commands):
        path = tmp_path / "my editor"
        path.write_text("#!/bin/sh\n%s\n" % commands)
        path.chmod(0o755)
        return "'%s'" % path

    return call


@pytest.fixture
def learnt(ok):
    """The id of the learning that is edited."""
    return json.loads(ok("learn", TEXT, "--json"))["id"]


@pytest.fixture
def kept_copy(run, learnt, place, editor):
    """The copy of an edit whose record changed while the editor was open, and the record's path."""
    (path,) = Path(place.private, "learnings").glob("*.md")
    program = editor("echo typed >> \"$1\"\necho other >> '%s'" % path)
    return _kept(run("edit", learnt, EDITOR=program)), path


def _kept(done):
    """The copy that a failed edit names."""
    return Path(one_line_error(done, 1).split("(your text is still in ")[1].rstrip(")\n"))


def test_an_edit_goes_through_the_editor(ok, learnt, editor):
    """The editor gets a copy; what it saves is the record, at once in the index."""
    assert learnt in ok("edit", learnt, EDITOR=editor("printf 'zebra appended\\n' >> \"$1\""))
    assert [hit["id"] for hit in json.loads(ok("recall", "zebra", "--json"))["hits"]] == [learnt]
    assert "unchanged" in ok("edit", learnt, EDITOR="true")


def test_no_editor_starts_where_nobody_sees_it(run, ok):
    """Without a terminal and without EDITOR there is nothing to type into: one line says so."""
    id = json.loads(ok("learn", "Prices are cents.", "--json"))["id"]
    done = run("edit", id)
    assert done.returncode == 2 and done.stderr == (
        "dayleaf: there is no terminal to edit in; run this in a terminal, or set EDITOR to a "
        "program that needs none\n"
    )


def test_an_editor_that_does_not_start_is_named(ok, run, learnt):
    """The record stays as it was, and no copy is left."""
    before = ok("show", learnt)
    assert "the editor 'no-such-editor' did not start" in one_line_error(
        run("edit", learnt, EDITOR="no-such-editor --wait"), 2
    )
    assert ok("show", learnt) == before


def test_a_text_is_kept_where_the_record_changed_meanwhile(kept_copy):
    """Neither text is lost: the file has the other one, the copy that is named has what was
    typed.
    """
    copy, path = kept_copy
    assert (
        copy.read_text().endswith("typed\n")
        and path.read_text().endswith("other\n")
        and "typed" not in path.read_text()
    )


def test_a_kept_text_outlives_the_cache_and_the_next_edit(run, learnt, place, kept_copy):
    """It lies outside of the cache; the next edit has a copy of its own and names the first."""
    copy, _ = kept_copy
    shutil.rmtree(Path(place.home, "cache"))
    assert str(copy) in run("edit", learnt, EDITOR="true").stderr
    assert copy.read_text().endswith("typed\n") and [*copy.parent.iterdir()] == [copy]


def test_a_text_is_kept_where_the_editor_reports_a_failure(ok, run, learnt, editor):
    """What it had saved by then is not thrown away."""
    copy = _kept(run("edit", learnt, EDITOR=editor('echo typed >> "$1"\nexit 1')))
    assert copy.read_text().endswith("typed\n") and "typed" not in ok("show", learnt)


def test_an_edit_with_a_fault_is_saved_only_where_the_person_says_so(
    run, env, project, learnt, editor
):
    """The fault is named first, and the text can be mended in the editor."""
    program = editor("sed -i 's/^title: .*/title: Bad: colon [x/' \"$1\"")
    refused = run("edit", learnt, EDITOR=program)
    assert refused.returncode == 1 and "line 4: " in refused.stderr
    assert "was not changed (your text is still in " in refused.stderr
    status, shown = on_terminal(["edit", learnt], {**env, "EDITOR": program}, project, ["e", "s"])
    assert status == 0 and shown.count("line 4: ") == 2 and "changed " + learnt in shown


def test_an_edit_that_changes_the_id_is_asked_about(ok, run, learnt, editor):
    refused = run("edit", learnt, EDITOR=editor("sed -i 's/^id: .*/id: l-other/' \"$1\""))
    assert refused.returncode == 1 and "its id is now l-other" in refused.stderr
    assert ok("show", learnt)
