"""What was decided: by the user first, then by the model where it states a choice with its reason."""

from __future__ import annotations

import pytest

from memory.capture import choices
from memory.capture.turns import APPROVED, CREATED, EDITED, FILE, GOES_ON, SAID, SUMMARY, USER, WORKING, Piece, Turn


def turn(request, *said, pieces=()):
    """A turn with what the model said in it."""
    return Turn("2026-11-21T10:00:00.000Z", request, "", [*(Piece(SAID, text) for text in said), *pieces])


@pytest.mark.parametrize("said", [
    "We keep SQLite because the queue needs no server.", "I decided against a lock, for readers may never wait.",
    "The file is left out on purpose.", "Used a deque rather than a list so that the oldest goes first."])
def test_a_choice_with_its_reason_is_a_decision(said):
    """And so is one that says that it is one."""
    assert choices.decisions([turn("x", "It works now.\n\n" + said)]) == [said]


@pytest.mark.parametrize("said", [
    "Updated all references to use `b` instead of `a`.", "Should we keep SQLite because it needs no server?",
    "Let me use a deque instead, because it is faster.", "If you prefer a lock, tell me.", "The decision:", "Now it returns a list instead of a tuple.",
    "You could use a lock instead because readers wait."])
def test_a_change_a_question_or_an_offer_is_no_decision(said):
    """What was changed stands among the files, what is open among the questions."""
    assert choices.decisions([turn("x", "It works now.\n\n" + said)]) == []


def test_what_the_user_decides_comes_first():
    """Corrections, answers, refusals with their reason, plans; questions and orders are none."""
    held = [turn("build the export", "We chose CSV because Excel reads it."),
            turn("no, JSON lines please, one object a line", "Now JSON lines.", pieces=[
                Piece(USER, "Which name? → export.jsonl", "answer"), Piece(USER, "don't touch the reader", "refused Edit `reader.py`"),
                Piece(USER, "what does this do?", "refused Bash `rm x`"), Piece(USER, "# Plan: Two steps\n\n1. a", APPROVED),
                Piece(USER, "use the old header for the first release", WORKING), Piece(USER, "how far are you?", WORKING)]),
            turn("can you run the tests?", "They pass.")]
    assert choices.decisions(held) == [
        "the user: no, JSON lines please, one object a line", "the user chose: Which name? → export.jsonl",
        "the user refused Edit `reader.py`: don't touch the reader", "the user refused Bash `rm x`: what does this do?", "the user approved the plan: Two steps",
        "the user: use the old header for the first release", "We chose CSV because Excel reads it."]


def test_what_the_client_sums_up_is_nobodys_decision():
    """It tells again what the turns before it told."""
    assert choices.decisions([Turn("", "", SUMMARY, [Piece(SAID, "We chose CSV because Excel reads it.")])]) == []


@pytest.mark.parametrize(("asked", "told"), [
    ("let's implement option 2", "the user chose: let's implement option 2 (Write a file beside it)"),
    ("2", "the user chose: 2 (Write a file beside it)"), ("leave this for a later release", "the user chose: leave this for a later release"),
    ("what does 2 cost?", ""), ("go on", "")])
def test_what_the_user_picks_is_told_with_what_it_was(asked, told):
    """The option stands in the answer before."""
    held = [turn("how?", "Two ways:\n\n1. **Keep it** in memory\n2. **Write a file** beside it\n\nWhich one?"), turn(asked, "Right.")]
    assert choices.decisions(held) == [told] * bool(told)


def test_an_option_is_told_by_the_line_that_lists_it():
    """Not by a later one that weighs it."""
    held = [turn("how?", "**Option 1**: Keep it\n\n**Option 2**: Write a file\n\nOption 2 is cleanest, but larger."), turn("option 2", "Right.")]
    assert choices.decisions(held) == ["the user chose: option 2 (Write a file)"]


@pytest.mark.parametrize("said", [
    "I'd recommend option 1 because it is simpler.", "We could keep it so that nothing breaks.", "The decision logic uses a map to avoid a loop.",
    "It changes the loop to a map instead of a list because maps are faster."])
def test_what_is_only_weighed_or_described_is_no_decision(said):
    """Neither an option nor how something works."""
    assert choices.decisions([turn("x", "It works now.\n\n" + said)]) == []


def edit(request, said, *files, made=False):
    """A turn that edits files and ends with a statement."""
    files = [Piece(FILE, name, CREATED if made else EDITED) for name in files]
    return Turn("2026-11-21T10:00:00.000Z", request, "", [*files, Piece(SAID, said)])


def test_work_that_was_objected_to_and_done_anew_does_not_stand():
    """Nor what a later statement says was taken back; a new file stays though what is in it changes."""
    first = edit("hide the start command", "Hidden now: the start command is not in the help.", "start.py")
    anew = edit("thinking again: remove the start command", "The start command is gone from the help and the root.", "root.py")
    assert choices.standing([first, anew]) == [anew]
    assert choices.standing([first, edit("also name the pool", "Named the pool of workers.", "start.py")])[0] is first
    kept = edit("let the start command keep its log", "The start command keeps its log.", "start.py")
    asked = turn("but why is a log kept?", "You raise a good point, it is not needed.")
    dropped = edit("ok", "The start command keeps no log any more.", "start.py")
    assert choices.standing([kept, asked, dropped]) == [asked, dropped]
    made = edit("write a script that checks the log", "Created the script that checks the log.", "check.sh", made=True)
    assert choices.standing([made, edit("no, the script must check the log twice", "The script checks the log twice.", "check.sh")])[0] is made
    removed = edit("yes", "Removed the dead `stage()` function.", "git.py")
    back = turn("was that right?", "It was not needed.\n\n- Reverted just now: the removal of `stage()`")
    assert choices.standing([removed, back]) == [back]
    assert choices.standing([removed, turn("and now?", "If you like I can have `stage()` reverted.")])[0] is removed


def test_work_that_the_next_edit_of_its_file_reverts_does_not_stand():
    """Who asks for it may only agree: "yes, this should stay as it was"."""
    held = [edit("show steps in the list", "Updated the list to show steps instead of checkpoints.", "list.py"),
            turn("which strings are checkpoints?", "All of them are the commit's."),
            edit("yes, this should still be checkpoints", "Reverted. All tests pass.", "list.py")]
    assert held[0] not in choices.standing(held) and held[0] in choices.standing(held[:2])


def test_options_are_those_that_a_statement_lists():
    assert choices.options("Two ways:\n\n**Option 1:** keep the pool\n### Option 2 - drop it\n\nWhich one?") == [
        "Option 1: keep the pool", "Option 2 - drop it"]


def test_what_became_of_a_turn_is_what_was_done_first_and_changed_last():
    """A yes and an objection share no word with it; what only adds to it must speak of the same."""
    held = [turn("how many retries does the worker make?", "The worker makes `5` retries of each job; `3` would do."),
            edit("yes", "Changed the number to `3` for every queue.", "worker.py"),
            turn("hm, but is it not too few?", "You're right. Three retries are over within a second."),
            edit("draw a logo for the front page", "Added a green border to the picture.", "logo.svg"),
            edit("now give each job of the worker 4 retries", "Changed the retries of the worker to `4` of each job.", "worker.py")]
    said = ["Changed the number to `3` for every queue.", "Three retries are over within a second.",
            "Changed the retries of the worker to `4` of each job."]
    assert [one.line for one in choices.became(held[:2], 0)] == said[:1]
    assert [one.line for one in choices.became(held[:3], 0)] == said[:2]
    assert [(one.turn, one.line) for one in choices.became(held, 0)] == list(zip((1, 2, 4), said))
    assert [one.line for one in choices.became(held, 1)] == said[1:2]
    again = edit("now give each job of the worker 6 retries", "Changed the number of retries to `6` of each job.", "worker.py")
    assert [one.turn for one in choices.became([*held, again], 0)] == [1, 2, 5]
    assert choices.became(held, 3) == [] and choices.became(held[:1], 0) == []
    listed = edit("yes", "Done. Cut the tests of the queue down to four:\n\n- `retries`\n- `limits`\n", "test_queue.py")
    assert [one.line for one in choices.became([held[0], listed], 0)] == ["Cut the tests of the queue down to four"]


LIMIT = edit("how large may an upload be?", "An upload may have `5` MB: `upload.py` refuses a larger one before it is read.", "upload.py")
LOGO = edit("draw a logo for the front page", "Added a green border to the picture.", "logo.svg")


def lines(*held):
    """The sentences that say what became of the first turn."""
    return [one.line for one in choices.became(held, 0)]


def test_a_turn_that_edits_the_same_file_overtakes_one_that_it_shares_no_request_with():
    """In other words, turns later; not where it says nothing of the same, nor of a file that the first one neither edited nor named."""
    asked = "customers of the large plan complain about 413"
    said = "An upload of a customer may have `9` MB now before `upload.py` refuses it."
    assert lines(LIMIT, LOGO, LOGO, edit(asked, said, "upload.py")) == [said]
    told = turn("how large may an upload be?", LIMIT.said()[0])
    assert lines(told, LOGO, LOGO, edit(asked, said, "src/upload.py")) == [said], "named alone"
    assert lines(told, LOGO, LOGO, edit(asked, said, "plan.py")) == []
    assert lines(LIMIT, LOGO, LOGO, turn(asked, said)) == [], "nothing was changed"
    for other in ("Sorted the imports of the module.", "`upload.py` refuses an upload of `6` MB before it is read."):
        assert lines(LIMIT, LOGO, LOGO, edit(asked, other, "upload.py")) == [], "no change of the same"


def test_a_turn_that_only_repeats_what_was_done_made_nothing_of_it():
    """What was proposed alone is done by the turn that does it."""
    said = "An upload may have `9` MB now, and `upload.py` names the limit in its answer."
    raised = edit("raise it", said, "upload.py")
    again = edit("commit it", "All is committed.\n\n- " + said + "\n- An upload is refused before it is read.", "upload.py")
    assert [one.turn for one in choices.became([LIMIT, raised, again], 0)] == [1]
    proposed = turn("how large may an upload be?", "An upload may have `5` MB. I would raise the limit of an upload to `9` MB.")
    done = edit("yes", "Raised the limit of an upload to `9` MB.", "upload.py")
    assert lines(proposed, done) == ["Raised the limit of an upload to `9` MB."]


def test_the_sentence_that_changes_what_was_said_tells_it():
    """Not the first one, not the fault, not an item of what one may choose from."""
    first = "The proxy was slow to answer."
    changed = "`upload.py`: Raised the limit of an upload to `9` MB"
    reply = "%s\n\nProblem: `upload.py` refuses an upload of `7` MB before it is read.\n\n- %s\n- Named the module" % (first, changed)
    assert lines(LIMIT, edit("customers complain about the limit of an upload", reply, "upload.py")) == [changed]
    choice = "You're right, the limit of `upload.py` is too low for a video. Which one?\n\n1. Larger - `upload.py` refuses an upload of more than 50 MB before it is read"
    assert lines(LIMIT, turn("but a video has more", choice)) == ["The limit of `upload.py` is too low for a video."]


def test_a_reply_that_goes_by_what_the_user_said_settles_what_was_left_open():
    """Though it edits nothing; one that only confirms does not."""
    asks = turn("how large may an upload be?", "An upload may have `5` or `9` MB. Which limit do you want for an upload?")
    said = "Makes sense. The limit of an upload follows the plan of its customer."
    assert lines(asks, turn("I think it should follow the plan", said)) == ["The limit of an upload follows the plan of its customer."]
    assert lines(asks, turn("I think it should follow the plan", said.replace("Makes sense", "It does"))) == []


def test_what_goes_on_after_a_compaction_is_meant_as_the_turn_that_it_cut():
    """Which said yes and came to nothing."""
    rest = edit("yes", "Nine of them are let through for the large plan.", "plan.py")
    rest.asked = GOES_ON
    asks = turn(LIMIT.request, LIMIT.said()[0] + " Shall I raise the limit?")
    assert lines(asks, turn("yes"), Turn("", "", SUMMARY), rest) == ["Nine of them are let through for the large plan."]


def test_a_reply_that_finds_a_fault_overtakes_the_one_it_looks_into():
    """The user only asked on; a turn in between that adds something keeps it from what stood before."""
    held = [turn("do two jobs of one queue get two workers?", "Yes, each job of a queue gets its own worker."),
            turn("how would that look in the log?", "I found an issue. The second worker overwrites the log of the first one."),
            turn("and in the metrics?", "The metrics name both workers.")]
    assert [(one.turn, one.line) for one in choices.became(held, 0)] == [(1, "The second worker overwrites the log of the first one.")]
    assert choices.became([held[0], held[2], held[1]], 0) == []


@pytest.mark.parametrize("reply", [
    "All tests pass.", "The fix is complete and all tests pass.", "<thinking>", "Shall I commit it?", "Let me look at it."])
def test_a_reply_that_says_nothing_by_itself_tells_nothing_of_a_turn(reply):
    """Nor does one that changed nothing and conceded nothing."""
    held = [turn("how many retries does the worker make?", "The worker makes `5` retries."), edit("yes", reply, "worker.py")]
    assert choices.became(held, 0) == []
    assert choices.became([held[0], turn("no, why?", "The worker makes `5` retries since the queue is slow.")], 0) == []


@pytest.mark.parametrize(("said", "left"), [
    ("Done. The limit could stand in the settings. Or it could stand with each customer. Which approach would you prefer?",
     "The limit could stand in the settings, or it could stand with each customer."),
    ("The limit could stand in the settings. Or with each customer. Or with each queue of theirs. Which approach do you prefer?",
     "The limit could stand in the settings, or with each customer, or with each queue of theirs."),
    ("Shall I keep the limit of five for each customer, or take it out of the settings?",
     "Shall I keep the limit of five for each customer, or take it out of the settings?"),
    ("### Option 1: One queue for all\n\n### Option 2: A queue for each customer\n\nShould I go with Option 1, or do you want Option 2?",
     "how are jobs of customers kept apart: One queue for all; or A queue for each customer"),
    ("Would you like me to:\n1. Take the limit out\n2. Keep looking for the slow job?", "Take the limit out; or Keep looking for the slow job?"),
    ("Would you like me to add a limit?", ""), ("Ready to commit, or is there more?", ""), ("It is done.", "")])
def test_a_choice_that_nobody_made_is_left_with_what_there_is_to_choose_from(said, left):
    """A question for a go is none."""
    assert choices.undecided([turn("how are jobs of customers kept apart?", said)]) == [left] * bool(left)


def test_what_is_left_for_later_is_named_by_the_request_that_stands_by_itself():
    """The one just before may lean on others too."""
    held = [turn("how long may the list of uploads get?", "It is cut at some point."), turn("but that hides it, no?", "Yes."),
            turn("let's do that in another change.", "Fine.")]
    assert choices.put_off(held) == [
        "left for later: let's do that in another change. (how long may the list of uploads get)"]


def test_work_that_an_objection_changed_is_gone_by_the_line_that_tells_it():
    """A turn may come to several lines; what somebody said of other work changes nothing."""
    edited = [Piece(FILE, "seed.sh", EDITED)]
    first = turn("yes", pieces=[*edited, Piece(SAID, "Done! I've:\n\n1. **Cleaned up** the earlier trials in `~/trials/`\n"
                                                     "2. **Updated the seed script** to name customers by day and number")])
    anew = turn("hmm, none of the real customers has a day in front", pieces=[
        *edited, Piece(SAID, "Done. The seed script now names customers by number alone, as the real ones are.")])
    assert choices.standing([first, anew]) == [anew]
