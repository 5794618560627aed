"""A decision stands only where somebody made it: what the host noted, quoted."""

from __future__ import annotations

import pytest

from memory.capture import turns
from memory.capture.decisions import decisions
from memory.capture.turns import Piece, Turn


def turn(request, *pieces, asked="") -> Turn:
    return Turn("2026-01-20T10:05:00.000Z", request, asked, list(pieces))


def test_answers_approvals_and_refusals_are_told_with_their_instant():
    held = [
        turn(
            "x",
            Piece(turns.USER, "Which store? → SQLite", turns.ANSWER),
            Piece(turns.USER, "# Plan: Use SQLite\n\n- step", turns.APPROVED),
            Piece(turns.USER, "not the whole table", "refused Bash `rm -rf db`"),
            Piece(turns.USER, "", "refused Edit `a.go`"),
        )
    ]
    assert decisions(held) == [
        "10:05 answered: Which store? → SQLite",
        "10:05 approved the plan: Use SQLite",
        '10:05 refused Bash `rm -rf db`: "not the whole table"',
    ]


@pytest.mark.parametrize(
    "word",
    [
        "no, use the queue",
        "Nope. The queue.",
        "nein, die Queue",
        "아니, 큐를 써",
        "いや、キューで",
        "不，用队列",
        "нет, очередь",
    ],
)
def test_a_no_right_after_a_proposal_is_one(word):
    held = [turn("how?", Piece(turns.SAID, "I would poll the table every minute.")), turn(word)]
    [line] = decisions(held)
    assert word.split(",")[0][:2] in line and "poll the table" in line


@pytest.mark.parametrize(
    "text",
    [
        "We chose SQLite because it needs no server.",
        "now let me check",
        "notes on the queue",
        "northern region first",
    ],
)
def test_words_alone_decide_nothing(text):
    """Neither the model's, nor a request that only begins like a no."""
    assert decisions([turn("x", Piece(turns.SAID, text)), turn(text)]) == []
