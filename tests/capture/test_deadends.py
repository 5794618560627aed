"""What not to try again: taken back, objected to, refused, or said not to have worked."""

from __future__ import annotations

import pytest

from memory.capture import deadends
from memory.capture.facts import Facts
from memory.capture.turns import CREATED, EDITED, FILE, RUN, SAID, SUMMARY, USER, Piece, Turn


def turn(request, *said, pieces=()):
    """A turn with what the model said in it."""
    return Turn("2026-11-21T10:00:00.000Z", request, "", [*(Piece(SAID, text) for text in said), *pieces])


def edit(request, said, *files, made=False):
    """A turn that edits files and ends with a statement."""
    files = [Piece(FILE, name, CREATED if made else EDITED) for name in files]
    return Turn("2026-11-21T10:00:00.000Z", request, "", [*files, Piece(SAID, said)])


@pytest.mark.parametrize(("statement", "told"), [
    ("I've reverted the thread pool since it made the tests hang.", "Reverted the thread pool since it made the tests hang."),
    ("Removed the retry field because the runner does not know it.", "Removed the retry field because the runner does not know it."),
    ("Setting the limit in the worker didn't help, it is read earlier.", "Setting the limit in the worker didn't help, it is read earlier."),
    ("My first attempt with a queue broke the order of the jobs.", "My first attempt with a queue broke the order of the jobs."),
    ("Removed the second call since the first one has the id.", ""), ("A pool is not needed on systems where it is unsupported.", ""),
    ("## Why the pool did not help\n\nIt waits.", ""), ("**Cons:**\n- The last pool did not help the workers at all", ""),
    ("The changes of the session were reverted before it ended.", ""), ('"the pool did not work for us" is what they wrote.', "")])
def test_a_dead_end_is_what_was_tried_and_left(statement, told):
    """No choice with its reason, no argument, nothing quoted; and only in a turn that did something."""
    assert deadends.dead_ends([turn("mend it", statement, pieces=[Piece(FILE, "worker.py", EDITED)])]) == [told] * bool(told)
    did = deadends.dead_ends([turn("mend it", statement)])
    assert did == [told] * statement.startswith("My first"), "who only answers tells at most what was tried earlier"


@pytest.mark.parametrize(("request_", "reply", "told"), [
    ("why a thread for each job and not rather a pool?", "You're right. A thread for each job exhausts the machine.",
     "Added a thread for each of the jobs — the user: why a thread for each job and not rather a pool? → A thread for each job exhausts "
     "the machine."),
    ("ok, revert that again. it is slower now", "Put it back.",
     "the change of a.py — taken back, the user: ok, revert that again. it is slower now"),
    ("no, undo the thread for each of the jobs", "Undone.",
     "Added a thread for each of the jobs — taken back, the user: no, undo the thread for each of the jobs"),
    ("we can go back and clean up later", "Named the pool.", ""),
    ("no, it still hangs at the start", "You're right. The start takes the lock of the pool.", ""),
    ("why a thread for each job and not rather a pool?", "A pool blocks the slow jobs, and a thread does not.", ""),
    ("no, it should rather be a pool", "A pool blocks the slow jobs, and a thread does not.", ""),
    ("> revert that\n\nwhat is this?", "The log of the pool says so.", ""), ("also name the pool", "Named the pool of the workers.", "")])
def test_a_way_that_the_user_objected_to_is_a_dead_end(request_, reply, told):
    """Where the reply agrees, with its reason, or where they ordered it back; a fault that they report is none."""
    held = [edit("speed it up", "Added a thread for each of the jobs.", "a.py"), Turn("", request_, "", [Piece(SAID, reply), Piece(FILE, "a.py", EDITED)])]
    assert deadends.dead_ends(held) == [told] * bool(told) and list(deadends.taken_back(held)) == [0] * bool(told)
    assert deadends.dead_ends(held[1:]) == [], "of nothing that was done"


@pytest.mark.parametrize(("reply", "told"), [
    ("A pool of workers has room for slow jobs.", False), ("It should start from a pool instead of a thread for each.", True),
    ("A thread for each did not scale.", True)])
def test_an_objection_that_names_no_way_to_leave_is_no_dead_end(reply, told):
    """What was proposed and then built is not to be avoided; the reply says what it was built in place of, or nobody knows."""
    held = [edit("speed it up", "The jobs are fast now.", "a.py"),
            Turn("", "hmm, looking at this again: couldn't it rather be a pool?", "", [
                Piece(SAID, "You're right! " + reply), Piece(FILE, "a.py", EDITED), Piece(SAID, "The pool is in place now.")])]
    said = deadends.dead_ends(held)
    assert bool(said) is told and all(reply in one for one in said) and 0 in deadends.taken_back(held)


def test_who_is_told_to_revert_and_does_not_took_nothing_back():
    """The order alone changes nothing; a command that throws the work away does."""
    first = edit("speed it up", "Added a thread for each of the jobs.", "a.py")
    assert deadends.dead_ends([first, turn("revert that", "I will not, it is committed.")]) == []
    thrown = turn("revert that", "Gone.", pieces=[Piece(RUN, "git checkout -- a.py", "", "passed")])
    assert deadends.dead_ends([first, thrown]) == ["the change of a.py — taken back, the user: revert that"]
    assert deadends.dead_ends([first, edit("revert that", "Gone.", "b.py")]) == [], "of other files"


def test_an_objection_to_what_was_only_proposed_is_about_no_work():
    """One that goes on from a question about the work is told with that question."""
    first = edit("speed it up", "The worker has threads.", "a.py")
    asked = turn("why do threads of the worker return nothing?", "All it knew of the failed job has no place there.")
    objects = edit("but all it knew of the failed job is lost now, right?", "You're right. The message named the failed job.", "a.py")
    objects.pieces.insert(0, Piece(SAID, "You're right. The message named the failed job."))
    told = "asked: why do threads of the worker return nothing — the user: but all it knew of the failed job is lost now, right? → "
    assert deadends.dead_ends([first, asked, objects]) == [told + "The message named the failed job."]
    other = edit("name the queue", "Named the queue of jobs.", "q.py")
    assert deadends.dead_ends([asked, other, objects]) == []


@pytest.mark.parametrize(("name", "said", "reply", "told"), [
    ("refused Edit `pool.py`", "can't we use a list instead?", "", "an edit of `pool.py` — refused, the user: can't we use a list instead?"),
    ("refused Edit `pool.py`", "don't touch the pool", "", "an edit of `pool.py` — refused, the user: don't touch the pool"),
    ("refused Write `LICENSE`", "Acme Inc.", "", ""), ("refused Edit `pool.py`", "is the list sorted?", "", ""),
    ("refused a tool", "there is no such key, why do you make this up?", "You're right. The key does not exist in version 2.",
     "what was proposed — refused, the user: there is no such key, why do you make this up? → The key does not exist in version 2."),
    ("refused Bash `make push`", "no, not yet", "", "")])
def test_an_edit_that_was_refused_for_another_way_is_none_to_make_again(name, said, reply, told):
    """With the user's reason, and the model's where it agrees; a wish or a question refuses no way, a command is told elsewhere."""
    held = [turn("mend the pool", pieces=[Piece(USER, said, name), *[Piece(SAID, reply)] * bool(reply)])]
    assert deadends.dead_ends(held) == [told] * bool(told)


def test_what_a_turn_reverts_by_itself_is_told_with_why():
    """After an edit and with a reason; and what it ran into in the end."""
    back = [Piece(FILE, "a.py", EDITED), Piece(SAID, "The name is taken, both are needed since the package is the same. Let me revert."),
            Piece(FILE, "a.py", EDITED), Piece(SAID, "Done, the names stay.")]
    told = ["asked: drop the prefix of the names — reverted: The name is taken, both are needed since the package is the same."]
    assert deadends.dead_ends([Turn("", "drop the prefix of the names", "", back)]) == told
    assert deadends.dead_ends([Turn("", "drop the prefix of the names", "", back[1:])]) == [], "nothing was edited before"
    silent = [back[0], Piece(SAID, "Tests pass by now. Let me revert."), *back[2:]]
    assert deadends.dead_ends([Turn("", "drop the prefix of the names", "", silent)]) == [], "nobody says why"
    hit = edit("move the ids to the store", "I've hit a circular import:\n\n1. leave them", "a.py")
    assert deadends.dead_ends([hit]) == ["asked: move the ids to the store — I've hit a circular import"]


def test_what_a_user_has_removed_since_it_is_of_no_use_is_not_to_come_back():
    """In their own words; what only does not work is to be mended."""
    assert deadends.dead_ends([turn("two things:\n- remove the coloured lines, they do not help\n- name the pool", "Done.")]) == [
        "the user: Remove the coloured lines, they do not help"]
    assert deadends.dead_ends([turn("the coloured lines do not work", "Done.")]) == []


def test_a_way_that_a_user_rules_out_with_a_reason_is_one():
    """With what the option was; a fault that they report is none."""
    held = [turn("how can it find the job?", "Option 1: Search by the name\n\nOption 2: Keep an id"),
            turn("Option 1 doesn't work since the name can change, so do the second", "Done.")]
    assert deadends.dead_ends(held) == [
        "the user: Option 1 doesn't work since the name can change, so do the second (Search by the name)"]
    assert deadends.dead_ends([turn("the search doesn't work", "Fixed.")]) == []


def test_the_clients_summary_tells_what_was_tried_first():
    """As it is."""
    said = "4. Errors and fixes:\n   - Pool too slow: Initially added threads, later removed them\n"
    assert deadends.dead_ends([Turn("", "", SUMMARY, [Piece(SAID, said)])]) == ["Pool too slow: Initially added threads, later removed them"]


@pytest.mark.parametrize(("line", "told"), [
    ("the user refused Bash `rm -rf cache`: keep the old one until friday", True), ("the user refused Bash `make push`: what does it do?", False),
    ("the user refused Edit `pool.py`: don't touch the pool", True), ("the user refused Edit `pool.py`: a list is better. We don't want a pool", True),
    ("the user refused Edit `pool.py`: it should check the size too", False), ("the user refused Write `LICENSE`: Acme Inc.", False),
    ("the user refused a tool: call it queue instead", False), ("the user: no, we dropped the pool on purpose", True),
    ("the user: no wait, so this adds a pool?", False), ("the user: we don't have a pool any more, remove it", False),
    ("the user chose: no pool", False), ("Kept the pool, not the list", False)])
def test_a_no_is_a_refused_command_or_a_sentence_that_begins_with_it(line, told):
    """Who refuses an edit and says how it is to be wants it otherwise."""
    assert deadends.forbids(line) is told


def test_an_objection_that_was_only_carried_out_leaves_the_result():
    """The way is not to be taken again, with what came of it; what the work came to stands where the reply names no fault."""
    first = edit("hooks fail without a repository", "All hooks of the worker now skip silently without a repository.", "a.py")
    again = Turn("", "hmm, this check is repeated in all hooks of the worker, is there a better place for it?", "", [
        Piece(SAID, "You're right - let me move the check to the registry."), Piece(FILE, "a.py", EDITED),
        Piece(SAID, "Removed all six duplicate checks from the hooks.")])
    (back,) = deadends.taken_back([first, again]).values()
    assert not back.gone and back.line.endswith("better place for it? → Removed all six duplicate checks from the hooks.")


def test_work_that_a_user_thinks_again_of_is_not_to_be_done_again():
    """Though nothing was wrong with it; and an objection that only was carried out names no way where none is told."""
    first = edit("hide the start command of the worker", "The start command of the worker is now hidden.", "a.py")
    again = edit("thinking again: let's remove the start command", "Removed the start command.", "a.py")
    assert deadends.dead_ends([first, again]) == [
        "The start command of the worker is now hidden — the user: thinking again: let's remove the start command"]
    other = edit("speed it up", "The jobs run side by side.", "a.py")
    typed = Turn("", "we should use the strong types instead of text", "", [
        Piece(SAID, "You're right!"), Piece(FILE, "a.py", EDITED), Piece(SAID, "Updated the code for strong types.")])
    assert deadends.dead_ends([other, typed]) == []


def test_a_refused_command_that_is_to_go_elsewhere_forbids_nothing():
    """An address says where to, not what not to do."""
    assert not deadends.forbids("the user refused Bash `gh pr comment 7`: reply to https://x.org/pull/7#r1")


@pytest.mark.parametrize("between", [[], [Turn("2026-11-21T10:20:00Z", "", SUMMARY)]])
def test_a_remedy_that_the_user_says_not_to_work_is_taken_back(between):
    """By what they say next: a summary of the client's that stands between is nobody's answer."""
    held = [Turn("2026-11-21T10:10:00Z", "it lists them twice"), *between, Turn("2026-11-21T10:30:00Z", "This is still not working")]
    cause = "`find_all` walks every branch, main included"
    assert deadends.is_taken_back(Facts(turns=held), 0, cause, [], "2026-11-21T10:15:00Z")
    assert not deadends.is_taken_back(Facts(turns=held[:-1]), 0, cause, [], "2026-11-21T10:15:00Z")
