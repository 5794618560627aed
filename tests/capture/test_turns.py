"""A turn's pieces, and what they say of themselves."""

from __future__ import annotations

import pytest

from memory.capture import turns
from memory.capture.turns import (
    ADDS,
    AGREES,
    COMMIT,
    CREATED,
    EDITED,
    FILE,
    GOES_ON,
    OBJECTS,
    RUN,
    SAID,
    SUMMARY,
    Link,
    Piece,
    Turn,
    chooses,
    course,
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


@pytest.mark.parametrize(("request_", "agreed"), [
    ("a", True), ("a and c", True), ("b", True), ("a.", True), ("2", True), ("a pool of workers", False), ("a second queue, then", False)])
def test_a_letter_chooses_and_an_article_does_not(request_, agreed):
    """`a` may be an option, and mostly begins what somebody wants."""
    assert turns.agrees(request_) is agreed


def test_a_turn_goes_on_with_the_one_that_it_agrees_or_objects_to():
    """Such a request has no word of its own."""
    first = said("why does the upload stop?", "The nginx buffer is full. Shall I raise `client_max_body_size`?")
    for request, how in (("yes", AGREES), ("yes, let's add this", AGREES), ("ok, do option 2", AGREES), ("can you do the fix?", AGREES),
                         ("no, revert this", OBJECTS), ("hmm but it is the same on main", OBJECTS), ("this is a bug", OBJECTS),
                         ("I also meant the download", OBJECTS), ("are you sure?", OBJECTS), ("sorry I messed up, can you do it again", OBJECTS),
                         ("hmm, I looked and there is no buffer at all", OBJECTS), ("this is still not working well", OBJECTS), ("can we fix this?", AGREES), ("sorry, go on", AGREES), ("set it to 1", ADDS),
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


def test_words_are_news_where_a_quarter_of_them_or_a_number_is():
    """What was only spoken of is new in a turn that did something; what every turn says is worth least."""
    asked, spoken = said("x", "worker queue retries limit"), said("y", "worker queue backlog")
    done = Turn("", "z", "", [Piece(FILE, "a.py", EDITED), Piece(SAID, "worker backlog")])
    held = [asked, spoken, done, done]
    way = course(held, [turn.said()[-1] for turn in held], str)
    for text, before, at, is_news in (
            ("worker queue retries", 0, 1, False), ("worker queue 5", 0, 1, True), ("worker queue pool", 0, 1, True), ("", 0, 1, False),
            ("worker backlog", 0, 2, True), ("worker backlog", 0, 3, False)):
        assert way.is_news(turns.words(text), before, at) is is_news, (text, at)
    rare, common, unknown = map(turns.words, ("retries", "worker", "pool"))
    assert way.shared(rare, rare) > way.shared(common, common) > way.shared(unknown, unknown) == 0


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


def test_what_goes_on_after_a_compaction_is_of_the_turn_that_it_cut():
    """The summary in between stays a turn of its own; what goes on with nothing that is known does too."""
    held = [said("x", "rest", GOES_ON), said("name the pool", "Named it."), said("", "1. Request", SUMMARY), said("name the…", "All of it.", GOES_ON)]
    assert [(one.request, one.said()) for one in turns.joined(held)] == [
        ("x", ["rest"]), ("name the pool", ["Named it.", "All of it."]), ("", ["1. Request"])]
    assert held[1].said() == ["Named it."], "what was given stays as it is"


def ran(command, outcome=shell.OK):
    return Piece(RUN, command, "", outcome)


@pytest.mark.parametrize(("pieces", "told"), [
    ([], []), ([ran("pytest")], []),
    ([Piece(FILE, "src/a.py", EDITED), ran("make build && pytest", "exit 2: E1"), ran("ruff check . && pytest")],
     ["Lint and tests passed last; edited, no commit seen: a.py"]),
    ([Piece(FILE, "a.py", EDITED), ran("make build"), ran("ruff check . && pytest", "exit 1: E1")],
     ["Build passed last; lint or tests failed last; edited, no commit seen: a.py"]),
    ([Piece(FILE, "docs/a.md", EDITED)], ["Edited, no commit seen: a.md"]),
    ([Piece(FILE, "docs/a.md", EDITED), Piece(FILE, "docs/b.md", CREATED), ran("cd x && rm -f /srv/x/docs/b.md")],
     ["Edited, no commit seen: a.md"]),
    ([Piece(FILE, "docs/a.md", EDITED), ran("rm -f docs/b.md"), Piece(FILE, "docs/b.md", CREATED), ran("rm docs/b.md", "exit 1")],
     ["Edited, no commit seen: a.md, b.md"]),
    ([ran("pytest"), Piece(FILE, "a.py", EDITED), ran("pytest | tail", shell.UNKNOWN)], ["Edited, no commit seen: a.py"]),
    ([ran("pytest"), Piece(FILE, "a.py", EDITED)], ["No check ran since the last edit; edited, no commit seen: a.py"]),
    ([Piece(FILE, "a.py", EDITED), ran("pytest"), Piece(COMMIT, "Name it", "1a2b3c4"), ran("cd x && git -C . push -q")], ["Tests passed last; committed as 1a2b3c4 and pushed"]),
    ([Piece(FILE, "a.py", EDITED), ran("pytest"), ran("git push"), Piece(COMMIT, "Name it", "1a2b3c4"), ran("git push", "exit 1: no")],
     ["Tests passed last; committed as 1a2b3c4, no push seen"])])
def test_the_state_of_work_is_how_checks_went_last_and_what_git_did(pieces, told):
    """What is not known is not told, and a file outside the project is none of it."""
    found = turns.state([Turn("", "name it", "", [*pieces, Piece(FILE, "/tmp/a.py", EDITED)] if pieces else [])], [])
    assert found == told


def test_the_pull_request_of_the_work_is_named():
    """The one that was made, else the one that it begins with."""
    held = [Turn("", "look at https://x.org/o/r/pull/7, please", "", [Piece(FILE, "a.md", EDITED)])]
    assert turns.state(held, []) == ["Edited, no commit seen: a.md; pull request https://x.org/o/r/pull/7"]
    held[0].pieces += [Piece(turns.LINK, "https://x.org/o/r/pull/9")]
    assert turns.state(held, []) == ["Edited, no commit seen: a.md; pull request https://x.org/o/r/pull/9"]


def test_a_file_that_was_put_back_is_not_told_as_edited():
    """Where that was what was asked for, unless it is known to differ."""
    held = [Turn("", "name it", "", [Piece(FILE, "a.md", EDITED)]), Turn("", "no, revert that", "", [Piece(FILE, "a.md", EDITED), Piece(FILE, "b.md", EDITED)])]
    assert turns.state(held, []) == [] and turns.state(held, ["b.md"]) == ["Edited, no commit seen: b.md"]


def test_files_are_named_as_far_as_there_is_room():
    """One at least."""
    assert turns.named("x: ", ["aaaa", "bbbb", "cccc"], 10) == "x: aaaa, bbbb and 1 more" and turns.named("x: ", ["a" * 20], 10) == "x: " + "a" * 20


@pytest.mark.parametrize(("request_", "items"), [
    ("fix all of them", "1234"), ("fix both", "12"), ("fix both 3 and 4", "34"), ("fix 1 and leave the rest", "1"), ("fix 1 and 3", "13"),
    ("skip 2, 3 and do the rest", "14"), ("fix them all except items 2 and 3", "14"), ("do all, skip 1-3", "4"),
    ("don't skip 3, fix all of them", "1234"), ("fix the REST client first", ""), ("go ahead but skip 3", "124")])
def test_a_request_chooses_items_of_a_list(request_, items):
    """By their numbers, all, the first two, or all but some."""
    assert "".join(item for item in "1234" if turns.chooses(request_, item, "")) == items
