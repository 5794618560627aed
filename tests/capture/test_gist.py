"""What turns come to: outcomes, steps, questions, names."""

from __future__ import annotations

import pytest

from memory.capture import gist
from memory.capture.turns import APPROVED, BANG, EDITED, FILE, RUN, SAID, USER, Piece, Turn

LONG = "The cache kept the old key, because the salt was read once at import. It is read at each call now, and a test says so."


def turn(request, *said, pieces=()):
    """A turn with what the model said in it."""
    return Turn("2026-11-21T10:00:00.000Z", request, "", [*(Piece(SAID, text) for text in said), *pieces])


@pytest.mark.parametrize("said", [
    "Now let me run the tests:", "Let me check the parser.", "I'll look at `resume.go` first.", "Good. Now I'll add the test.",
    "Perfect! Let me fix that:", "Now I need to update the callers.", "The tests are next:", ""])
def test_what_is_said_on_the_way_is_no_outcome(said):
    """The last statement of substance before it is, where there was one."""
    assert gist.is_on_the_way(said) and gist.outcome(turn("x", said)) == ""
    assert gist.outcome(turn("x", LONG, said)) == LONG


@pytest.mark.parametrize("said", [LONG, "Done. All tests pass.", "The field is `agent_type`.", "## Summary\n\n- one", "Use this:\n\n```\nx = 1\n```"])
def test_a_final_statement_is_the_outcome(said):
    """However short it is, and whatever it ends with."""
    assert gist.outcome(turn("x", "Let me look.", said)) == said


def test_a_statement_is_told_on_one_line_without_its_decoration():
    """Headings that say nothing, marks of lists and blocks of code are left out; what introduces a list keeps it."""
    said = "Great! ## no\n\n## Summary\n\n**Root cause:** a lock.\n\n## What is left\n- one\n- two\n\n```\ncode()\n```\n| a | b |\n|---|---|\n"
    assert gist.plain(said) == "## no Root cause: a lock. What is left: one; two a | b"
    assert gist.plain("The name is:\n\n```go\nconst A = 1\n```\nand that is all.") == "The name is: `const A = 1` and that is all."
    assert gist.plain("The command runs, and the command ends.") == "The command runs, and the command ends."


def test_code_that_a_sentence_introduces_is_quoted_and_what_is_left_out_is_marked():
    """Six short lines, or fewer long ones: a list cut short without a mark reads as if it were whole."""
    def told(lines):
        return gist.plain("It prints:\n```\n%s\n```" % "\n".join(lines))

    assert told("abcdef") == "It prints: `a ⏎ b ⏎ c ⏎ d ⏎ e ⏎ f`"
    assert told("abcdefgh") == "It prints: `a ⏎ b ⏎ c ⏎ d ⏎ e ⏎ f ⏎ …`"
    assert told(["x" * 60] * 4) == "It prints: `%s ⏎ …`" % " ⏎ ".join(["x" * 60] * 3)


def test_an_offer_at_the_end_goes_once_something_was_said_next():
    """A statement that is nothing but a question stays."""
    assert gist.unasked("The cap is 5. Want me to raise it?\n\nOr both?\n") == "The cap is 5."
    assert gist.unasked("Which of them?") == "Which of them?" and gist.unasked("Done.") == "Done."


def test_where_there_is_little_room_no_item_of_a_list_is_left_out():
    """Each is shortened before the last one goes."""
    said = "Done:\n" + "".join("- item %d says %s\n" % (n, "much " * 30) for n in range(4))
    told = gist.plain(said, 240)
    assert len(told) <= 240 and all("item %d" % n in told for n in range(4))


def test_a_turn_that_was_left_in_the_middle_says_what_it_was_about_to_do():
    """And no statement of before is told as its end."""
    left = turn("move the cache to disk", "The cache lives in memory.")
    left.pieces += [Piece("file", "cache.py", "edited"), Piece(SAID, "Now let me write the file:")]
    assert not gist.is_finished(left) and gist.is_finished(turn("x", LONG))
    assert gist.ahead([left], []) == ["about to: write the file"]
    assert gist.closing([left, turn("thanks", "Gladly.")]) is left


def test_open_todos_come_next_then_what_was_stated():
    """What is done is no step."""
    held = [turn("x", LONG + "\n\nNext steps:\n1. migrate the table\n2. drop the column")]
    todos = [["write the test", "completed"], ["update the docs", "in_progress"], ["tag it", "pending", "3"]]
    assert gist.ahead(held, todos) == ["update the docs", "tag it", "migrate the table", "drop the column"]
    assert gist.ahead([turn("x", "All done.")], []) == []


def test_a_request_without_an_answer_and_a_plan_not_begun_come_next():
    """The session ended before the model did anything about them."""
    assert gist.ahead([turn("move the cache to disk")], []) == ["asked and not answered: move the cache to disk"]
    plan = turn("plan it", "Here it is.", pieces=[Piece(USER, "# Plan: Cache on disk\n\n1. a", APPROVED)])
    assert gist.ahead([plan], []) == ["carry out the approved plan: Cache on disk"]


@pytest.mark.parametrize(("last", "waits"), [
    (turn("why is the cache lost?", "Let me look at the cache first."), True), (turn("why is the cache lost?"), True),
    (turn("why is the cache lost?", "It is lost since nobody writes it to the disk at the end of a day."), False),
    (turn("move the cache", "Let me begin.", pieces=[Piece(FILE, "cache.py", EDITED)]), False), (turn("go on"), False),
    (turn("ok let's keep going", "Let me begin."), False), (turn("run the tests", pieces=[Piece(RUN, "make test", "", "ok")]), False),
    (turn("why is the cache lost?", "It is lost since nobody writes it to the disk at the end of a day. I'll fix that next."), False),
    (Turn("", "ls -la", BANG), False)])
def test_what_was_asked_is_not_answered_where_nothing_was_said_or_changed(last, waits):
    """What the model was about to look at is no answer."""
    assert gist.is_unanswered(last) is waits
    assert any(line.startswith(gist.UNANSWERED) for line in gist.ahead([last], [])) is waits


def test_the_questions_at_the_very_end_are_open():
    """Those before them were passed over."""
    held = [turn("x", "Is it this one?\n\nI looked at both of them, and they differ.\n\nShall I **commit** it? Or wait?")]
    assert gist.questions(held) == ["Shall I commit it?", "Or wait?"] and gist.questions([]) == []


@pytest.mark.parametrize(("request_", "name"), [
    ("can you please fix the login form, it fails", "fix the login form, it fails"),
    ("hey, could you look at how the retries are counted in the uploader and tell me why there are five of them",
     "how the retries are counted in the uploader"), ("> quoted\nwhy is the build slow", "why is the build slow"), ("/review https://x.y/pull/2", "review https://x.y/pull/2")])
def test_a_request_is_named_by_its_clauses(request_, name):
    """Politeness is left out, and nothing is cut in the middle."""
    told = gist.topic(request_)
    assert told.endswith(name) or told.startswith(name[:20]) and len(told) <= gist.TITLE and not told.endswith("…")


def test_code_is_not_cut_where_a_clause_ends_before_it():
    """Half a name says nothing."""
    line = "Fixed the comparison: Changed `job.lastNumber != firstNumberOfTheQueue` to `job.lastNumber.equals(first)`"
    assert gist.clause(line) == "Fixed the comparison"


def test_what_remains_is_a_next_step_only_where_it_is_work():
    """`The remaining 20 ms` are none."""
    assert gist.next_steps("All green. The remaining 20 ms are spent in the machine id call.") == []
    assert gist.next_steps("The remaining work is the dead letter queue.") == ["The remaining work is the dead letter queue."]
    assert gist.next_steps("## Required setup (manual)\n\n1. Create the app\n2. Add its key") == ["Create the app", "Add its key"]
    assert gist.next_steps("**Manual testing:**\n\n- start it") == []
    assert gist.next_steps("**Remaining:**\n\n- the metrics\n- the docs") == ["the metrics", "the docs"]


def test_what_stands_before_the_beginning_of_a_list_is_said_too():
    """In the same line; the beginning itself says nothing."""
    assert list(gist.leading("**Yes.** The pool is gone. What happens now:\n- one\n\nMore: less")) == ["Yes.", "The pool is gone."]


def test_a_bold_line_heads_what_comes_next():
    """As a heading does; one that tells what was made heads none."""
    said = "**Created todo files**\n\n- `a.md`\n\n**Next Steps**\n\n1. **Merge** it\n2. Install the app\n"
    assert gist.next_steps(said) == ["Merge it", "Install the app"]
