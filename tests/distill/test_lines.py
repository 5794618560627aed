"""Records and turns as lines that make sense alone."""

from __future__ import annotations

from harness.sources import source

from memory.distill import lines


def found(body: str) -> list[tuple[str, str, str]]:
    return [(line.kind, line.label, line.text) for line in lines.lines(0, source(body))]


def test_short_items_share_a_line_and_long_ones_stand_alone():
    """A list of words is one sentence; its lead stands before it and is no line of its own."""
    long = "the worker that " + "reads and " * 14 + "stops"
    assert found("It removes:\n\n- locks\n- branches\n- %s\n" % long) == [
        ("item", "It removes:", "locks · branches"), ("item", "It removes:", long)]


def test_what_tools_ran_is_of_a_kind_of_its_own():
    """Runs, edits and commits are told apart from lists that somebody wrote."""
    body = "- ✓ `go test ./...`\n- edited `a.go`\n- commit 1a2b3c4d5e: Fix it\n\n- edited by hand\n"
    assert [(kind, text) for kind, _, text in found(body)] == [
        ("run", "✓ `go test ./...` · edited `a.go` · commit 1a2b3c4d5e: Fix it"), ("item", "edited by hand")]


def test_the_outcome_begins_behind_the_last_run():
    """What was said before it is on the way; where a run ends the turn, all that was said counts."""
    starts = [line.start for line in lines.lines(0, source("Looking.\n\n- ✓ `make`\n\nIt builds now. All is well.\n"))]
    assert starts == [-1, -1, 0, 14]
    assert [line.start for line in lines.lines(0, source("It builds.\n\n- ✓ `make`\n"))] == [0, -1]
