"""A text in the person's own editor: a copy, what it saves, and what is left where something goes
wrong.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from harness.command import on_terminal, one_line_error

TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."


def test_an_edit_goes_through_the_editor(ok, home, tmp_path):
    """The editor gets a copy; what it saves is the record, at once in the index."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    editor = tmp_path / "my editor"
    editor.write_text("#!/bin/sh\nprintf 'zebra appended\\n' >> \"$1\"\n")
    editor.chmod(0o755)
    assert id in ok("edit", id, EDITOR="'%s'" % editor)
    assert [hit["id"] for hit in json.loads(ok("recall", "zebra", "--json"))["hits"]] == [id]
    assert "unchanged" in ok("edit", id, EDITOR="true")


def test_no_editor_starts_where_nobody_sees_it(run, ok):
    """Without a terminal and without EDITOR there is nothing to type into: one line says so."""
    id = json.loads(ok("learn", "Prices are cents.", "--json"))["id"]
    done = run("edit", id)
    assert done.returncode == 2 and done.stderr == (
        "dayleaf: there is no terminal to edit in; run this in a terminal, or set EDITOR to a "
        "program that needs none\n"
    )


def test_an_editor_that_does_not_start_is_named(ok, run):
    """The record stays as it was, and no copy is left."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    before = ok("show", id)
    assert "the editor 'no-such-editor' did not start" in one_line_error(
        run("edit", id, EDITOR="no-such-editor --wait"), 2
    )
    assert ok("show", id) == before


def test_a_text_is_kept_where_the_record_changed_meanwhile(ok, run, place, tmp_path):
    """Neither text is lost: the file has the other one, the copy that is named has what was
    typed.
    """
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    (path,) = Path(place.private, "learnings").glob("*.md")
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho typed >> \"$1\"\necho other >> '%s'\n" % path)
    editor.chmod(0o755)
    said = one_line_error(run("edit", id, EDITOR=str(editor)), 1)
    copy = Path(said.split("(your text is still in ")[1].rstrip(")\n"))
    assert (
        copy.read_text().endswith("typed\n")
        and path.read_text().endswith("other\n")
        and "typed" not in path.read_text()
    )


def test_a_kept_text_outlives_the_cache_and_the_next_edit(ok, run, place, tmp_path):
    """It lies outside of the cache; the next edit has a copy of its own and names the first."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    (path,) = Path(place.private, "learnings").glob("*.md")
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho typed >> \"$1\"\necho other >> '%s'\n" % path)
    editor.chmod(0o755)
    said = one_line_error(run("edit", id, EDITOR=str(editor)), 1)
    copy = Path(said.split("(your text is still in ")[1].rstrip(")\n"))
    shutil.rmtree(Path(place.home, "cache"))
    assert str(copy) in run("edit", id, EDITOR="true").stderr
    assert copy.read_text().endswith("typed\n") and [*copy.parent.iterdir()] == [copy]


def test_a_text_is_kept_where_the_editor_reports_a_failure(ok, run, tmp_path):
    """What it had saved by then is not thrown away."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho typed >> "$1"\nexit 1\n')
    editor.chmod(0o755)
    said = one_line_error(run("edit", id, EDITOR=str(editor)), 1)
    copy = Path(said.split("(your text is still in ")[1].rstrip(")\n"))
    assert copy.read_text().endswith("typed\n") and "typed" not in ok("show", id)


def test_an_edit_with_a_fault_is_saved_only_where_the_person_says_so(
    ok, run, env, project, tmp_path
):
    """The fault is named first, and the text can be mended in the editor."""
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/^title: .*/title: Bad: colon [x/' \"$1\"\n")
    editor.chmod(0o755)
    refused = run("edit", id, EDITOR=str(editor))
    assert refused.returncode == 1 and "line 4: " in refused.stderr
    assert "was not changed (your text is still in " in refused.stderr
    status, shown = on_terminal(["edit", id], {**env, "EDITOR": str(editor)}, project, ["e", "s"])
    assert status == 0 and shown.count("line 4: ") == 2 and "changed " + id in shown


def test_an_edit_that_changes_the_id_is_asked_about(ok, run, tmp_path):
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/^id: .*/id: l-other/' \"$1\"\n")
    editor.chmod(0o755)
    refused = run("edit", id, EDITOR=str(editor))
    assert refused.returncode == 1 and "its id is now l-other" in refused.stderr
    assert ok("show", id)
