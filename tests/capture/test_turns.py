"""A turn's pieces, and what they say of themselves."""

from __future__ import annotations

import pytest

from memory.capture.turns import (
    ADDS,
    AGREES,
    GOES_ON,
    OBJECTS,
    RUN,
    SAID,
    SUMMARY,
    Link,
    Piece,
    Turn,
    chooses,
    follow,
    later,
)
from memory.session import shell


def test_a_run_tells_how_it_ended_and_why():
    """The outcome stands before the telling line; what was refused did not fail."""
    failed = Piece(RUN, "go test ./...", "", "exit 1: a.go:3: boom: twice")
    assert (failed.failed, failed.outcome, failed.telling) == (True, "exit 1", "a.go:3: boom: twice")
    assert Piece(RUN, "x", "", "failed").failed and Piece(RUN, "x", "", shell.TIMED_OUT).failed
    assert not Piece(RUN, "x", "", shell.OK).failed and not Piece(RUN, "x", "", shell.DECLINED).failed


def test_what_the_model_said_is_told_in_order():
    """Other pieces are left out."""
    assert Turn("", "x", "", [Piece(SAID, "a"), Piece(RUN, "b"), Piece(SAID, "c")]).said() == ["a", "c"]


def said(request: str, reply: str = "", asked: str = "") -> Turn:
    return Turn("", request, asked, [Piece(SAID, reply)] if reply else [])


def test_a_turn_goes_on_with_the_one_that_it_agrees_or_objects_to():
    """Such a request has no word of its own."""
    first = said("why does the upload stop?", "The nginx buffer is full. Shall I raise `client_max_body_size`?")
    for request, how in (("yes", AGREES), ("yes, let's add this", AGREES), ("ok, do option 2", AGREES), ("can you do the fix?", AGREES),
                         ("no, revert this", OBJECTS), ("hmm but it is the same on main", OBJECTS), ("this is a bug", OBJECTS),
                         ("I also meant the download", OBJECTS), ("are you sure?", OBJECTS), ("sorry I messed up, can you do it again", OBJECTS),
                         ("hmm, I looked and there is no buffer at all", OBJECTS), ("sorry, go on", AGREES), ("set it to 1", ADDS),
                         ("and for the download?", ADDS)):
        assert follow([first, said(request, "Done.")])[1] == Link(0, how), request
    for request in ("draw a logo for the front page", "now write the changelog of the release", "node 22 is out, please bump the image"):
        assert follow([first, said(request, "Done.")])[1].to == -1, request


def test_a_brief_request_after_a_question_goes_on_with_it():
    """An offer may be passed over; who was asked which one answers."""
    asks = said("how can a test type into the prompt?", "By a pipe or by a terminal of its own. Which do you prefer?")
    assert follow([asks, said("reading and writing would be great", "Done.")])[1] == Link(0, ADDS)
    assert follow([asks, said("reading and writing would be great " * 6, "Done.")])[1].to == -1
    offers = said("how can a test type into the prompt?", "By a pipe. Would you like me to add one?")
    assert follow([offers, said("reading and writing would be great", "Done.")])[1].to == -1


def test_a_reply_that_concedes_makes_its_request_an_objection():
    """The user only asked."""
    held = [said("why does the upload stop?", "The nginx buffer is full."),
            said("could the proxy's timeout stop the upload as well?", "You're right, it is the timeout.")]
    assert follow(held)[1] == Link(0, OBJECTS)


def test_who_asks_the_same_anew_objects():
    """The first answer was not it."""
    asked = "let `queue status --long` print the worker, its host and its queue in one line"
    held = [said(asked, "It prints the worker and its host."), said(asked + ", the worker first", "Done.")]
    assert follow(held)[1] == Link(0, OBJECTS)


def test_a_request_goes_on_with_the_turn_that_holds_what_it_names():
    """Not with the one just before it; and a compaction in between breaks nothing."""
    held = [said("add a retry to the upload queue", "Added `RetryQueue`."), said("draw a logo", "Drew it."),
            said("", "1. Primary Request", SUMMARY), said("rename RetryQueue", "Renamed it."),
            said("rename RetryQueue", "All of it.", GOES_ON)]
    assert [link.to for link in follow(held)] == [-1, -1, -1, 0, 3]
    assert later(follow(held), 0) == [3, 4]
    assert later(follow(held), 1) == []


@pytest.mark.parametrize(("request_", "chosen"), [
    ("yes", True), ("fix it", True), ("can you fix all 5", True), ("let's do 2", True), ("and #2 too", True), ("let's fix 3", False),
    ("let the loader skip the header row", True), ("let the writer skip the footer row", False), ("see rates.py:2", False)])
def test_a_request_chooses_an_item_by_its_number_in_its_words_or_with_all(request_, chosen):
    """Where it gives a number, that one alone; a line of a file is no number of an item."""
    assert chooses(request_, "2", "The loader takes the header for a row; it should skip it.") is chosen
