"""A turn's pieces, and what they say of themselves."""

from __future__ import annotations

from memory.capture.turns import RUN, SAID, Piece, Turn, find_told
from memory.session import shell


def test_a_run_tells_how_it_ended_and_why():
    """The outcome stands before the telling line; what was refused did not fail."""
    failed = Piece(RUN, "go test ./...", "", "exit 1: a.go:3: boom: twice")
    assert (failed.failed, failed.outcome, failed.telling) == (
        True,
        "exit 1",
        "a.go:3: boom: twice",
    )
    assert Piece(RUN, "x", "", "failed").failed and Piece(RUN, "x", "", shell.TIMED_OUT).failed
    assert (
        not Piece(RUN, "x", "", shell.OK).failed and not Piece(RUN, "x", "", shell.DECLINED).failed
    )


def test_what_the_model_said_is_told_in_order():
    """Other pieces are left out."""
    assert Turn(
        "", "x", "", [Piece(SAID, "a"), Piece(RUN, "b"), Piece(SAID, "c")]
    ).statements() == [
        "a",
        "c",
    ]


def test_a_cut_input_tells_what_is_left():
    """A cut or redacted end is no reason to tell nothing; another text is told as it is."""
    assert find_told('{"a": "b c …') == ("", "b c …")
    assert find_told('{"a": "b", "c": …') == ("a", "b")
    assert find_told('{"a": 1') == ("", "") and find_told("plain") == ("", "plain")
