"""What comes next is what the host kept open and what was listed last, without what was done
since.
"""

from __future__ import annotations

import pytest

from memory.capture import turns
from memory.capture.next_steps import MOST, find_next_steps
from memory.capture.turns import Piece, Turn


def turn(request, *pieces) -> Turn:
    return Turn("2026-01-20T10:00:00.000Z", request, "", list(pieces))


def said(text) -> Piece:
    return Piece(turns.SAID, text)


LIST = (
    "The key is fixed.\n\n## %s\n\n- move the retries into the queue\n"
    "- delete the old table\n\nThat is all."
)


def test_open_tasks_come_first_and_finished_ones_do_not_come():
    todos = [
        ["write the migration", "in_progress", "1"],
        ["fix the key", "completed", "2"],
        ["drop it", "deleted", "3"],
    ]
    assert find_next_steps([turn("x", said(LIST % "Next steps"))], todos) == [
        "write the migration",
        "move the retries into the queue",
        "delete the old table",
    ]


@pytest.mark.parametrize(
    "heading",
    [
        "Next steps",
        "What's next:",
        "Remaining",
        "다음 단계",
        "次のステップ",
        "下一步",
        "Nächste Schritte",
        "Следующие шаги",
    ],
)
def test_a_list_under_a_heading_of_next_steps_counts(heading):
    """In the languages that people write in; a list under any other heading does not."""
    assert len(find_next_steps([turn("x", said(LIST % heading))], [])) == 2
    assert find_next_steps([turn("x", said(LIST % "What was changed"))], []) == []


def test_a_side_question_does_not_hide_it_and_a_later_turn_takes_away_what_it_did():
    held = [
        turn("x", said(LIST % "Next steps")),
        turn("what does the flag do?", said("It switches the cache off.")),
    ]
    assert len(find_next_steps(held, [])) == 2
    did = turn(
        "move the retries into the queue now",
        Piece(turns.FILE, "queue.go", turns.EDITED),
        said("Moved."),
    )
    assert find_next_steps([*held, did], []) == ["delete the old table"]
    commit = turn("go on", Piece(turns.COMMIT, "Delete the old table", "1a2b3c4"))
    assert find_next_steps([*held, did, commit], []) == []


def test_open_steps_of_an_approved_plan_count():
    plan = Piece(
        turns.USER,
        "# Move it\n\n- [x] read the code\n- [ ] write the queue worker\n- [ ] remove the cron job",
        turns.APPROVED,
    )
    did = turn("write the queue worker", Piece(turns.FILE, "w.go", turns.CREATED), said("Done."))
    assert find_next_steps([turn("plan it", plan), did], []) == ["remove the cron job"]


def test_there_is_a_bound():
    todos = [["step %d" % number, "pending", str(number)] for number in range(MOST + 4)]
    assert len(find_next_steps([], todos)) == MOST


PLAN = "# Move\n\n## Steps\n\n%s keep the worker till march\n%s add the table\n%s write docs for it"


@pytest.mark.parametrize("marks", ["1. 2. 3.", "1) 2) 3)", "###~Step~1: ###~Step~2: ###~Step~3:"])
def test_the_numbered_steps_of_an_approved_plan_are_next(marks):
    """But what the model then told of, and where a list of the client says how far it came; and not
    of several lists, which may hold risks or alternatives.
    """
    text = PLAN % tuple(mark.replace("~", " ") for mark in marks.split())
    plan = Piece(turns.USER, text, turns.APPROVED)
    steps = ["keep the worker till march", "add the table", "write docs for it"]
    held = [turn("plan it", said("I will add the table and write docs."), plan)]
    assert find_next_steps(held, []) == steps
    assert find_next_steps(held, [["keep the worker", "completed", "1"]]) == []
    held[0].pieces.append(said("The worker is kept till march and the table is added."))
    assert find_next_steps(held, []) == steps[2:]
    sections = "# Move\n\n1. port it\n2. try it\n\n## Risks\n\n1. a loss\n2. a slow start\n"
    assert find_next_steps([turn("plan it", Piece(turns.USER, sections, turns.APPROVED))], []) == []
    lone = Piece(turns.USER, "# Move\n\n1. only this", turns.APPROVED)
    assert find_next_steps([turn("plan it", lone)], []) == []
