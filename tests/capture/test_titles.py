"""Work is called by its plan, the client's title, its greatest commit, or its first request that
says something.
"""

from __future__ import annotations

from memory.capture import titles, turns
from memory.capture.turns import Piece, Turn


def turn(request, *pieces, asked="") -> Turn:
    return Turn("2026-01-20T10:05:00.000Z", request, asked, list(pieces))


PLAN = Piece(turns.USER, "# Plan: Move the cache\n", turns.APPROVED)


def test_the_best_name_stands_first():
    held = [turn("ok"), turn("fix the cache key", PLAN)]
    assert titles.list_titles(held, "Cache keys", ["Fix the key", "Add a test"]) == [
        "Move the cache",
        "Cache keys",
        "Fix the key",
        "Add a test",
        "fix the cache key",
    ]
    assert titles.list_titles([turn("ok")], "", []) == []


def test_what_nobody_typed_names_nothing():
    """Neither a summary nor a message of the team."""
    held = [
        turn("(teammate lead) fix the cache key", asked=turns.TEAM),
        turn("", asked=turns.SUMMARY),
    ]
    assert titles.list_titles(held, "", []) == [] and titles.find_first_request(held) == ""


def test_only_the_first_requests_are_looked_at():
    held = [turn("request number %d about the cache" % number) for number in range(40)]
    assert len(titles.list_titles(held, "", [])) == titles.MOST_REQUESTS


def test_a_request_that_was_only_acknowledged_comes_last():
    """Such as a wish; one that brought work or an answer names the session."""
    wish = turn("from now on always run the linter", Piece(turns.SAID, "Understood.", turns.ENDED))
    work = turn("lock the pay button", Piece(turns.FILE, "src/pay.ts"))
    asked = turn("why is the cache slow", Piece(turns.SAID, "It reads each key. " * 9, turns.ENDED))
    assert titles.find_first_request([wish, work, asked]) == "lock the pay button"
    assert titles.find_first_request([wish, asked]) == "why is the cache slow"
    assert titles.find_first_request([wish]) == "from now on always run the linter"
