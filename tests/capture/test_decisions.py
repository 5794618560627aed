"""A decision stands only where somebody made it: what the host noted, quoted."""

from __future__ import annotations

import pytest

from memory.capture import turns
from memory.capture.decisions import list_decisions
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
            Piece(turns.USER, "", "refused the plan `Use Redis`"),
            Piece(turns.USER, "not now", "refused the plan `Use Kafka`"),
        )
    ]
    assert list_decisions(held) == [
        "10:05 answered: Which store? → SQLite",
        "10:05 approved the plan: Use SQLite",
        '10:05 refused Bash `rm -rf db`: "not the whole table"',
        "10:05 refused the plan `Use Redis`",
        '10:05 refused the plan `Use Kafka`: "not now"',
    ]


def test_a_no_typed_while_the_model_works_answers_what_it_said_last():
    said = Piece(turns.SAID, "I will poll the table every minute.")
    held = [turn("go", said, Piece(turns.USER, "no, use the queue", turns.WORKING))]
    assert list_decisions(held) == [
        '10:05 "no, use the queue" to: I will poll the table every minute.'
    ]
    assert list_decisions([turn("go", Piece(turns.USER, "also the docs", turns.WORKING))]) == []


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
    [line] = list_decisions(held)
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
    assert list_decisions([turn("x", Piece(turns.SAID, text)), turn(text)]) == []
