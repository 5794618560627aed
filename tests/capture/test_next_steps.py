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


def test_a_task_that_was_asked_for_by_its_number_and_told_as_done_does_not_come():
    """The client's list was not ticked; a number alone, or the words alone, tick nothing."""
    task = [["Refactor summarize code into separate package", "pending", "10"]]
    commit = Piece(turns.COMMIT, "refactor(summarise): extract to dedicated package", "d1ccd8b")
    moved = said("Task #10: refactored summarise code into a dedicated package.")
    assert find_next_steps([turn("merge it, then let's tackle #10", commit, moved)], task) == []
    for history in (
        [turn("merge it, then go on", commit, moved)],
        [turn("merge it, then let's tackle #10", moved)],
        [turn("merge pull request #10", commit, said("Merged: the key is fixed."))],
    ):
        assert find_next_steps(history, task) == [task[0][0]]


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


def approve(*steps, text="") -> Piece:
    text = text or "# Move\n\n" + "\n".join("%d. %s" % row for row in enumerate(steps, 1))
    return Piece(turns.USER, text, turns.APPROVED)


def edited(*paths) -> list[Piece]:
    return [Piece(turns.FILE, path, turns.EDITED) for path in paths]


@pytest.mark.parametrize("marks", ["1. 2. 3.", "1) 2) 3)", "###~Step~1: ###~Step~2: ###~Step~3:"])
def test_the_numbered_steps_of_an_approved_plan_are_next(marks):
    """But what the model then told of, and where a list of the client says how far it came."""
    text = PLAN % tuple(mark.replace("~", " ") for mark in marks.split())
    steps = ["keep the worker till march", "add the table", "write docs for it"]
    held = [turn("plan it", said("I will add the table and write docs."), approve(text=text))]
    assert find_next_steps(held, []) == steps
    assert find_next_steps(held, [["keep the worker", "completed", "1"]]) == []
    held[0].pieces.append(said("The worker is kept till march and the table is added."))
    assert find_next_steps(held, []) == steps[2:]
    assert find_next_steps([turn("plan it", approve("only this"))], []) == []


STEPS = "Add the store in store.py", "Port the retries in retries.py", "Drop the redis client"
TICKED = "# Move\n\n" + "\n".join("- [ ] " + step for step in STEPS)


@pytest.mark.parametrize("plan", [approve(*STEPS), approve(text=TICKED)], ids=["numbers", "ticks"])
@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("All three steps are done: the store is there, redis is gone.", 0),
        ("The plan is implemented, tests pass.", 0),
        ("모든 작업을 마쳤습니다.", 0),
        ("", 3),
    ],
)
def test_a_plans_steps_leave_next_when_its_work_has_ended(plan, end, left):
    """Without an end the work was cut short."""
    held = [turn("plan it", plan, *edited("store.py"), *([said(end)] if end else []))]
    assert find_next_steps(held, []) == [*STEPS[3 - left :]]
    asked = turn("what is the time?", said("Noon."))
    assert find_next_steps([*held, asked], []) == [*STEPS[3 - left :]]


def test_a_plan_that_was_left_for_other_work_or_done_by_a_subagent_is_not_next():
    started = turn("plan it", approve(*STEPS), *edited("store.py"), said("The store is in."))
    other = turn("forget the plan, fix the typo", *edited("guide.py"), said("It is fixed."))
    assert find_next_steps([started, other], []) == []
    reported = Piece(turns.REPORT, "I did it.", "carry it out")
    assert find_next_steps([turn("plan it", approve(*STEPS), reported, said("Done."))], []) == []


def test_of_several_numbered_lists_none_is_next():
    """They may hold risks or alternatives."""
    text = "# Move\n\n1. port it\n2. try it\n\n## Risks\n\n1. a loss\n2. a slow start\n"
    assert find_next_steps([turn("plan it", approve(text=text))], []) == []
