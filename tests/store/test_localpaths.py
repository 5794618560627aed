"""What tells of one machine: no command writes it into the repository, and `check` names it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.command import one_line_error
from harness.vault import put

from memory.store import localpaths


@pytest.mark.parametrize(
    "words",
    [
        ("learn", "Run /home/ana/bin/x first", "--shared"),
        ("rule", "suggest", "Run /home/ana/bin/x", "--rationale", "why", "--shared"),
        ("plan", "Run /home/ana/bin/x first", "--shared"),
    ],
)
def test_every_verb_that_writes_a_shared_record_refuses_it(run, place, words):
    """As `share` does: nothing is written, and the line says what."""
    said = one_line_error(run(*words), 1)
    assert "a path of this machine (/home/ana/bin/x) is not for the repository" in said
    assert not [*Path(place.shared).rglob("*.md")]


def test_a_shared_record_takes_none_by_an_edit_and_check_names_what_a_hand_wrote(
    ok, run, place, tmp_path
):
    put(place, "s/learnings/x.md", "Alpha", "See the script.", id="l-x")
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho 'see /home/ana/y' >> \"$1\"\n")
    editor.chmod(0o755)
    assert "(/home/ana/y) is not for the repository" in one_line_error(
        run("edit", "l-x", EDITOR=str(editor)), 1
    )
    put(place, "s/learnings/y.md", "Beta", "See /home/ana/z.", id="l-y")
    assert "a path of this machine (/home/ana/z)" in ok("check")


@pytest.fixture
def vault(tmp_path):
    """A note in a directory of a person's own."""
    (tmp_path / "vault").mkdir()
    note = tmp_path / "vault/Refund flow.md"
    note.write_text("Refunds go through the queue.\n")
    return note


def test_an_imported_note_is_shared_without_its_path_and_still_known(ok, place, vault):
    """The bookkeeping of an import keeps no note back, and tells nobody where it came from."""
    ok("import", "dir", str(vault.parent))
    ok("share", "Refund flow")
    [shared] = Path(place.shared, "learnings").glob("*.md")
    assert str(vault.parent) not in shared.read_text() and "origin:" in shared.read_text()
    assert json.loads(ok("import", "dir", str(vault.parent), "--json"))["unchanged"] == 1
    vault.write_text("Refunds go through the outbox.\n")
    assert json.loads(ok("import", "dir", str(vault.parent), "--json"))["changed"] == 1
    assert "outbox" in shared.read_text() and str(vault.parent) not in shared.read_text()


def test_an_import_into_the_repository_tells_of_no_home(ok, place, vault):
    """Neither by the origin nor by a note's words; what is left out is named."""
    vault.with_name("other.md").write_text("The script is /home/ana/bin/x.\n")
    found = json.loads(ok("import", "dir", str(vault.parent), "--shared", "--json"))
    assert (found["new"], len(found["skipped"])) == (1, 1)
    assert "a path of this machine" in found["skipped"][0]["reason"]
    [shared] = Path(place.shared, "learnings").glob("*.md")
    assert str(vault.parent) not in shared.read_text()
    assert (
        json.loads(ok("import", "dir", str(vault.parent), "--shared", "--json"))["unchanged"] == 1
    )


def test_a_path_of_the_repository_is_said_relative_to_it(place):
    [(line, _, remedy)] = localpaths.find("\nsee %s/src/a.py" % place.root, place)
    assert (line, remedy) == (2, "write it relative to the repository: src/a.py")
