"""What a turn came to is told as it was said, and nothing judges its words."""

from __future__ import annotations

import pytest

from memory.capture import openings, turns
from memory.capture.turns import Piece, Turn


def turn(*pieces, request="x", end="") -> Turn:
    return Turn(
        "2026-01-20T10:00:00.000Z", request, "", [Piece(kind, text) for kind, text in pieces], end
    )


SAID, RUN, COMMIT = (
    (turns.SAID, "It was the cache."),
    (turns.RUN, "go test ./..."),
    (turns.COMMIT, "Fix it"),
)


@pytest.mark.parametrize(
    ("told", "finished"),
    [
        (turn(RUN, SAID), True),
        (turn(SAID, RUN), False),
        (turn(RUN, SAID, COMMIT), True),
        (turn(), False),
        (turn(SAID, RUN, end=turns.ENDED), True),
        (turn(RUN, SAID, end=turns.INTERRUPTED), False),
    ],
)
def test_a_turn_has_ended_where_the_host_or_its_last_word_says_so(told, finished):
    """What the host noted comes first."""
    assert openings.is_finished(told) is finished


def test_the_outcome_is_the_last_statement_or_the_last_long_one():
    """Of a turn that goes on, a short line is none."""
    long = (
        "The cache held the old path, since the key did not contain the branch "
        "that was checked out."
    )
    assert openings.find_outcome(turn(RUN, SAID)) == "It was the cache."
    assert (
        openings.find_outcome(turn((turns.SAID, long), (turns.SAID, "Now the tests:"), RUN)) == long
    )
    assert openings.find_outcome(turn(SAID, RUN)) == ""


def test_the_questions_at_the_end_are_open():
    """And are left out of the opening."""
    said = "The cache is fixed.\n\nShould I also clear the old entries?"
    assert openings.find_questions([turn(RUN, (turns.SAID, said))]) == [
        "Should I also clear the old entries?"
    ]
    assert openings.remove_questions(said).strip() == "The cache is fixed."
    assert openings.find_questions([turn((turns.SAID, said), RUN)]) == []


def test_markdown_becomes_one_line_without_code():
    """Headings lead on with a colon, items are joined, long ones shortened before any is left
    out.
    """
    text = (
        "## Result\n\n**Fixed** two things:\n\n- the key\n- the path\n\n```go\n"
        "x := 1\n```\n\nAll pass."
    )
    assert (
        openings.format_plain_line(text) == "Result: Fixed two things: the key; the path All pass."
    )
    items = "\n".join("- item %d %s" % (number, "word " * 30) for number in range(3))
    line = openings.format_plain_line(items, 260)
    assert len(line) <= 260 and all("item %d" % number in line for number in range(3))


def test_code_that_a_line_leads_on_to_stands_after_it():
    """Otherwise the line would end in the air, and what was shown would be lost."""
    text = "There is one:\n\n```go\nfunc Get() Agent\n```\n\nIt names the agent:\n\n```\nx\n```"
    assert (
        openings.format_plain_line(text)
        == "There is one: `func Get() Agent` It names the agent: `x`"
    )
    long = openings.format_plain_line("So:\n\n```\n" + "word " * 40 + "\n```\n\nDone.")
    assert len(long) < 100 and long.endswith(" Done.")


def test_code_comes_out_as_it_was_written():
    """In titles, openings, lists and headings alike."""
    code = "`**kwargs` of `__init__`"
    assert openings.format_plain_line("**Done**: " + code) == "Done: " + code
    assert (
        openings.strip_marks("- " + code)
        == openings.cut_clause(code)
        == openings.find_topic(code)
        == code
    )
    assert openings.find_heading("# Plan: drop " + code) == "drop " + code
    long = "move the retry of `the, worker, that, waits` into a queue"
    assert openings.cut_clause(long, 34) == "move the retry of"
    subject = "fix(api): address six findings (H-01, H-06, H-07, M-01) of the review"
    assert openings.cut_clause(subject, 48) == "fix(api): address six findings"
    asked = "in the store we have a feature that asks the user if he wants to start over"
    assert openings.cut_clause(asked, 48) == "in the store we have a feature that asks"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ok", ""),
        ("fix the cache key", "fix the cache key"),
        ("> quoted\nmove the retries into the queue", "move the retries into the queue"),
        ("결제 버튼을 고쳐 주세요", "결제 버튼을 고쳐 주세요"),
        (
            "# Move the cache, so that two branches never share an entry of it again and again",
            "Move the cache, so that two branches never share an entry",
        ),
    ],
)
def test_a_request_is_named_by_its_first_line_that_says_something(text, said):
    assert openings.find_topic(text) == said


def test_a_plan_is_named_by_its_heading():
    assert openings.find_heading("intro\n\n# Plan: Move the cache\n\n## Step") == "Move the cache"
    assert openings.find_heading("only a line") == "only a line" and openings.find_heading("") == ""


STATEMENT = """\
All tests pass and lint is clean. Done!

Shall I go on with the queue? Here is the summary of the queue:

- the queue waits for the worker

The worker of the queue waits now. The other one doubles its delays. The queue of the worker is \
behind the first three.
"""


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ("why does the worker not wait?", "The worker of the queue waits now."),
        ("the delays", "The other one doubles its delays."),
        ("", "All tests pass and lint is clean."),
        ("customers", "All tests pass and lint is clean."),
        ("what stands behind the queue of a worker", "The worker of the queue waits now."),
    ],
)
def test_an_opening_is_the_sentence_that_shares_most_with_what_was_asked(about, told):
    """Of the first three; the first where none does, or where several share as much."""
    assert openings.find_opening([STATEMENT], 100, about) == told


def test_an_earlier_statement_opens_where_the_last_speaks_of_something_else():
    """Where none speaks of what was asked, the last does."""
    said = ["Everything is committed and pushed.", "The worker of the queue waits now."]
    assert (
        openings.find_opening(said, 100, "the worker") == said[1]
        and openings.find_opening(said, 100, "metrics") == said[0]
    )
    assert (
        openings.find_opening([], 100)
        == openings.find_opening(["", "Done.", "Shall I go on with it?"], 100)
        == ""
    )


def test_an_opening_is_cut_at_a_word():
    assert openings.find_opening(["The worker of the queue waits now."], 20) == "The worker of the…"


def test_where_there_is_no_prose_a_list_opens():
    """Behind the sentence that leads it in; below a heading by itself; a heading opens where
    nothing else is there.
    """
    assert (
        openings.find_opening(
            ["Done. It has two parts:\n- the queue\n- a worker\n\n## More\n\n- x"], 100
        )
        == "It has two parts: the queue; a worker"
    )
    assert (
        openings.find_opening(["## Summary\n\n- the queue waits now\n- a worker"], 100)
        == "the queue waits now; a worker"
    )
    assert openings.find_opening(["## The queue waits for it\n"], 100) == "The queue waits for it"
