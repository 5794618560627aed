"""The journal of upkeep: its runs, and the bytes from before."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.core import StoreError
from memory.store import journal
from memory.store.journal import JournalStep


def test_a_run_that_was_cut_short_goes_on_under_its_name(place, now):
    """And is the last one until it is taken back."""
    run = journal.begin(place, now)
    journal.log_step(place, run, JournalStep("archive", "c-1", "p/checkpoints/x.md"), now)
    assert journal.find_interrupted_run(place) == run == journal.begin(place, now + 60)
    journal.log_step(
        place, run, JournalStep("change", "l-1", "p/learnings/y.md", "", "0" * 64, "1" * 64), now
    )
    journal.log_state(place, run, "done", now)
    found = journal.find_last_run(place)
    assert journal.find_interrupted_run(place) == "" and [step.do for step in found.steps] == [
        "archive",
        "change",
    ]
    assert journal.begin(place, now + 60) != run
    journal.log_state(place, run, "undone", now)
    assert journal.find_last_run(place) is None


def test_foreign_lines_count_as_none_and_newer_ones_stop(place, now):
    """What a newer version did cannot be told, so nothing is taken back over it."""
    run = journal.begin(place, now)
    journal.log_step(place, run, JournalStep("archive", "c-1", "p/checkpoints/x.md"), now)
    with Path(journal.path(place)).open("a") as file:
        file.write('{"v":1,"run":7,"do":"archive"}\n[1]\n{"v":1,\n')
    assert [len(one.steps) for one in journal.read_runs(place)] == [1]
    with Path(journal.path(place)).open("a") as file:
        file.write('{"v":2,"run":"x","do":"merge"}\n')
    with pytest.raises(StoreError, match="a newer dayleaf"):
        journal.read_runs(place)


def test_the_bytes_from_before_are_believed_by_their_hash_alone(place):
    """Changed, gone, or under a name that leads elsewhere, they are none."""
    sha256 = journal.save_bytes(place, b"as it was")
    assert journal.read_saved_bytes(place, sha256) == b"as it was"
    path = Path(place.private, "archive/before", sha256 + ".md")
    path.write_bytes(b"something else")
    assert (
        journal.read_saved_bytes(place, sha256) is None
        and journal.save_bytes(place, b"as it was") == sha256
    )
    assert journal.read_saved_bytes(place, sha256) == b"as it was"
    assert (
        journal.read_saved_bytes(place, "../" * 21 + "x") is None
        and journal.read_saved_bytes(place, "0" * 64) is None
    )
