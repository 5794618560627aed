"""A text in the person's own editor: a copy, what it saves, and what is left where something goes
wrong.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.command import one_line_error

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
