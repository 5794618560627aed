"""Checkpoints that a person asks for: a note, and a handoff made of a session."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import vault
from harness.standup import captured, talk

from memory.capture import byhand, conversationfile, conversationpage
from memory.core import UsageError, config, frontmatter, records
from memory.store import store


def test_a_note_by_hand(place, env, now, project):
    """It is the person's: source human, trigger manual, title of its first clause, branch and commit filled."""
    run = {"env": env, "check": True, "cwd": project, "capture_output": True}
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "init"], **run)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], text=True, **run).stdout[:10]
    keeper = store.Store(place, config.load(place.home, project, env), now)
    record = byhand.note(
        keeper, place, "Switched to mTLS. The proxy <private>at 10.0.0.1</private> wants it.", ["auth"], "s-1", now
    )
    page = frontmatter.parse(Path(place.path(record.name)).read_bytes())
    assert (page.meta["title"], page.meta["source"], page.meta["trigger"]) == ("Switched to mTLS", "human", "manual")
    assert (page.meta["commit"], page.meta["tags"], page.meta["session"]) == (commit, ["auth"], "s-1")
    assert "10.0.0.1" not in page.body and "wants it" in page.body
    with pytest.raises(UsageError):
        byhand.note(keeper, place, " <private>x</private> ", [], "", now)


# ---- a handoff made of a session

def test_a_handoff_says_where_it_stands_what_is_next_and_what_not_to_try_again(place, now):
    """As a colleague would: without praise, refusals with their reason, what was taken back, the command that works."""
    keeper = store.Store(place, vault.settings(), now)
    talk(place, "## 09:00 make the worker retry\n\n- edited `worker.py`\n\nI've reverted the thread pool since it made the tests hang.\n\n"
         "## 09:30 go on\n\n- edited `worker.py`\n\nAll tests pass. The worker now retries twice.\n")
    captured(place, "a", "\n".join([
        "## Outcome", "", "- All tests pass and lint is clean. Here's a summary: The worker now retries twice.", "", "## Next", "", "- the metrics", "",
        "## Open", "", "- `pytest tests/slow` still fails: timeout", "", "## Turns", "", "- 09:00 make the worker retry → see Outcome", "- 09:30 ok", "",
        "## Decisions", "", "- the user refused Edit `pool.py`: don't touch the pool", "- the user chose: two retries", "- the user refused Edit `a.py`: why?",
        "", "## Commands", "", "- ✗ `pytest -k slow` → exit 5: no tests ran; then ✓ `pytest tests/slow`", ""]),
        "2026-11-21T10:30:00Z", session="s-1", branch="retries", files="[worker.py]", conversation=next(keeper.each(("conversation",))).id)
    checkpoint = next(keeper.each(("checkpoint",)))
    said = byhand.draft([checkpoint], None, conversationfile.turns_of(keeper, checkpoint)).body
    assert said.split("From [")[0] == "\n".join([
        "## Where it stands", "", "- The worker now retries twice.", "- No check ran since the last edit; edited, no commit seen: worker.py", "",
        "## Next", "", "- the metrics", "", "## Open", "",
        "- `pytest tests/slow` still fails: timeout", "", "## Do not try again", "", "- Reverted the thread pool since it made the tests hang.",
        "- the user refused Edit `pool.py`: don't touch the pool", "- `pytest -k slow` fails; `pytest tests/slow` works", "", "## Decisions", "",
        "- the user chose: two retries", "", ""])


def test_turns_are_those_of_the_conversation_that_a_checkpoint_names(place, now):
    """None where it is gone, or none is named, or what is named is no conversation; private parts are left out."""
    keeper = store.Store(place, vault.settings(), now)
    talk(place, "## 09:00 a <private>secret</private> plan\n\nDone.\n")
    talking = next(keeper.each(("conversation",)))
    for named, requests in ((talking.id, 1), ("c-0000", 0), ("", 0)):
        captured(place, "a", "x", "2026-11-21T10:30:00Z", session="s-1", conversation=named)
        held = conversationfile.turns_of(keeper, next(keeper.each(("checkpoint",))))
        assert len(held) == requests and "secret" not in "".join(turn.request for turn in held)


def test_work_stands_where_the_last_work_left_it(place, now):
    """A question after it is told as one; options stand with the question that leaves the choice, and a go that is asked for does not."""
    keeper = store.Store(place, vault.settings(), now)
    work = "## 09:00 make the worker retry\n\n- edited `worker.py`\n\nAll tests pass. The worker now retries a job twice before it gives up on it.\n\n"
    talk(place, work + "## 09:30 what does the queue flag do?\n\nIt names the queue.\n\nOption 1: keep it\n\nOption 2: drop it\n\nWhich option do you prefer?\n")
    captured(place, "a", "## Outcome\n\n- It names the queue.\n\n## Open\n\n- Which option do you prefer?\n- Ready to implement?", "2026-11-21T10:30:00Z",
             session="s-1", branch="retries", files="[worker.py, /root/plan.md]", conversation=next(keeper.each(("conversation",))).id)
    checkpoint = next(keeper.each(("checkpoint",)))
    assert byhand.draft([checkpoint], None, conversationfile.turns_of(keeper, checkpoint)).body.split("From [")[0] == "\n".join([
        "## The work", "", "- asked: “make the worker retry”", "", "## Where it stands", "",
        "- The worker now retries a job twice before it gives up on it.",
        "- asked since: what does the queue flag do → It names the queue.",
        "- No check ran since the last edit; edited, no commit seen: worker.py", "", "## Open", "",
        "- Which option do you prefer? Option 1: keep it; Option 2: drop it", "", ""])


def drafted(place, now, said, page, before=(), **keys):
    """Return the handoff of a session of which the conversation and the checkpoint are given."""
    keeper = store.Store(place, vault.settings(), now)
    talk(place, said)
    captured(place, "a", page, "2026-11-21T10:30:00Z", session="s-1", conversation=next(keeper.each(("conversation",))).id, **keys)
    checkpoint = next(keeper.each(("checkpoint",)))
    return byhand.draft([checkpoint], None, conversationfile.turns_of(keeper, checkpoint), before)


def handoff(*given, **keys):
    """Return its sections."""
    body = drafted(*given, **keys).body
    parts = [part.split("\n\n", 1) for part in body.split("From [")[0].split("## ")[1:]]
    return {name: lines.strip().split("\n") for name, lines in parts}


@pytest.mark.parametrize(("said", "question", "told"), [
    ("One could drop the pool.\n\nWant me to make that change?", "Want me to make that change?", ["- Want me to make that change? (One could drop the pool.)"]),
    ("The worker now retries.\n\nReady to commit?", "Ready to commit?", ["- Ready to commit?"]),
    ("- keep the pool\n- name the queue\n\nWhich do you prefer?", "Which do you prefer?", ["- Which do you prefer? (keep the pool; name the queue)"])])
def test_an_offer_at_the_end_is_open_with_what_it_is_about(place, now, said, question, told):
    """One to keep the work says that nobody has yet."""
    assert handoff(place, now, "## 09:00 look at the pool\n\n%s\n" % said, "## Outcome\n\n- x\n\n## Open\n\n- " + question)["Open"] == told


def test_a_request_that_says_nothing_by_itself_is_not_told(place, now):
    """Nor any, where the turns tell what came of it; nor a next step that a later turn was asked for."""
    page = "## Outcome\n\n- Done.\n\n## Next\n\n- test the pool's retries\n- the metrics\n\n## Turns\n\n- 09:00 make the worker retry jobs twice\n- 09:40 3"
    said = ("## 09:00 make the worker retry jobs twice\n\n- edited `a.py`\n\nThe worker retries jobs twice now.\n\n"
            "## 09:30 test the retries of the pool\n\n- ✓ `pytest`\n\nTests of the retries pass.\n\n## 09:40 3\n\n- edited `a.py`\n\nDone.\n")
    assert handoff(place, now, "", page)["Request"] == ["- make the worker retry jobs twice"]
    told = handoff(place, now, said, page)
    assert told["Next"] == ["- the metrics"] and "Request" not in told


def test_where_it_stands_is_no_table_code_or_answer(place, now):
    """A session that edited something and then only showed something stands at its work."""
    page = "## Outcome\n\n- All rows were updated: Row | State 1 | done 2 | done 3 | open"
    assert handoff(place, now, "", page)["Where it stands"] == ["- All rows were updated"]
    left = "## 09:00 name the pool\n\n- edited `a.py`\n\nLet me run the tests:\n\n## 09:30 try the search\n\nResults for pool: `a.py`, `b.py` and more.\n"
    assert handoff(place, now, left, "## Outcome\n\n- Results for pool", title="Names for the pools of workers")["Where it stands"] == [
        "- worked on: Names for the pools of workers", "- asked since: try the search → Results for pool: `a.py`, `b.py` and more.",
        "- No check ran since the last edit; edited, no commit seen: a.py"]


def test_where_it_stands_begins_with_what_somebody_else_gets(place, now):
    """Not with a detail of the last turn, where the work came to more; what leads up to a list is left out."""
    told = handoff(place, now, "## 09:00 mend the retries\n\n- edited `a.py`\n\nThe fix adds a limit for retries of slow jobs.\n\n"
                   "## 09:30 the method should use a helper\n\n- edited `a.py`\n\nThe method now uses `limit_of()` of the pool.\n",
                   "## Outcome\n\n- The method now uses `limit_of()` of the pool.")
    assert told["Where it stands"][:2] == ["- The fix adds a limit for retries of slow jobs.", "- last: The method now uses `limit_of()` of the pool."]
    page = "## Outcome\n\n- Here's a summary of the changes made to `src/a.py`: Added a limit for **retries** of slow jobs."
    assert handoff(place, now, "", page)["Where it stands"] == ["- Added a limit for retries of slow jobs."]


WORK = "## 09:00 make the worker retry\n\n- edited `worker.py`\n%s\nThe worker now retries a job twice before it gives up on it.\n"


@pytest.mark.parametrize(("ran", "state"), [
    ("- ✓ `pytest -q`\n- ✗ `ruff check .` → exit 1: E501\n", "Tests passed last; lint failed last; edited, no commit seen: worker.py"),
    ("- ✓ `pytest -q`\n- commit 1a2b3c4: Retry\n", "Tests passed last; committed as 1a2b3c4, no push seen"),
    ("- commit 1a2b3c4: Retry\n- ✓ `git push`\n- edited `pool.py`\n", "No check ran since the last edit; committed as 1a2b3c4 and pushed; edited since, no commit seen: pool.py")])
def test_it_says_how_the_checks_went_and_what_is_committed(place, now, ran, state):
    """By what ran, and not by what was said of it; a file outside the project is none."""
    told = handoff(place, now, WORK % (ran + "- edited `/tmp/x.py`\n"), "## Outcome\n\n- x")
    assert told["Where it stands"] == ["- The worker now retries a job twice before it gives up on it.", "- " + state]


def test_sentences_are_told_whole_or_not_at_all(place, now):
    """The verdict on all of it counts, a list goes with what leads it in, and what would not fit is left out."""
    said = "All 4 comments on the pool are addressed.\n\nChanged the pool:\n- named its workers\n- " + "closed every idle worker at once " * 5 + "\n\n" + (
        "The limit now holds for workers of %s." % ", ".join("kind%d" % at for at in range(60)))
    told = handoff(place, now, "## 09:00 address the comments\n\n- edited `a.md`\n\n%s\n" % said, "## Outcome\n\n- x")
    assert told["Where it stands"][0] == "- All 4 comments on the pool are addressed. Changed the pool: named its workers."


@pytest.mark.parametrize(("branch", "title", "told"), [
    ("dev/retry-slow-jobs", "Retry of slow jobs in the pool", "Retry of slow jobs in the pool"),
    ("dev/retry-slow-jobs", "Name the workers", "retry slow jobs; last: Name the workers"),
    ("dev/abc-12-retry-slow-jobs", "does it retry", "retry slow jobs"), ("main", "Name the workers", "Name the workers"), ("main", "does it retry", "does it retry")])
def test_the_title_names_the_subject_of_the_branch(place, now, branch, title, told):
    """By the name that is nearest to the branch's, else by the branch; a trunk has no subject."""
    assert drafted(place, now, "", "## Outcome\n\n- x", branch=branch, title=title).title == "Handoff (%s): %s" % (branch, told)


MOST = "## 09:00 add a hidden command printing the queue\n\n- edited `a.py`, edited `b.py`\n\nThe queue of jobs is now printed by a hidden command.\n\n"
LATE = "## 10:00 name the flag\n\n- edited `a.py`\n\nLooking at the flags, the tool only supports names.\n"


@pytest.mark.parametrize(("said", "told"), [
    (MOST + LATE, "add a hidden command printing the queue"),
    (MOST.replace("The queue", "- commit 1a2b3c4: Print the queue for support\n\nThe queue") + LATE, "Print the queue for support"),
    (MOST.replace("add a hidden", "x = y()").replace("command printing the queue", "") + LATE, "The queue of jobs is now printed by a hidden command"),
    (MOST.replace("add a", "can it be that we lack a") + LATE, "The queue of jobs is now printed by a hidden command"),
    (MOST + LATE.replace("name the flag", "/pr").replace("Looking at the flags, the tool only supports names.",
                                                         "```\nTitle: Print the queue in a hidden command\n```"),
     "Print the queue in a hidden command")])
def test_on_a_trunk_the_title_is_what_most_was_changed_for(place, now, said, told):
    """Not the last small request, nor a sentence of the model; commits first, and what others were told."""
    assert drafted(place, now, said, "## Outcome\n\n- x", branch="main", title="Looking at the flags, the tool only supports").title == (
        "Handoff (main): " + told)


def test_what_was_offered_or_left_for_later_is_next(place, now):
    """In the words of who said it, with what it was about where they point at something; a question is open and not next."""
    said = ("## 09:00 what about jobs that never end?\n\nThey could be killed.\n\n## 09:10 let's leave this for a future task. name the pool\n\n- edited `a.py`\n\n"
            "Named the pool of workers.\n\nReady to commit if you want it in this branch. Should I?\n")
    assert handoff(place, now, said, "## Outcome\n\n- x")["Next"] == [
        "- offered: Ready to commit if you want it in this branch.", "- left for later: let's leave this for a future task. (what about jobs that never end)"]


def test_ways_that_were_given_up_stand_in_it_also_those_of_earlier_sessions(place, now):
    """And what was objected to is no result."""
    said = ("## 09:00 speed the pool up\n\n- edited `pool.py`\n\nAdded a thread for each of the jobs in the pool.\n\n## 09:10 why not rather limit the threads?\n\n"
            "You're right. A thread for each job exhausts the machine.\n\n- edited `pool.py`\n\nLimited the pool to eight threads.\n")
    past = byhand.Past(records.Record("p/checkpoints/old.md", "c-old", "checkpoint", "x", "", 0.0, 0.0, meta={}), tuple(conversationpage.parse(
        "## 08:00 speed the pool up\n\n- edited `pool.py`\n\nReverted the process pool since it broke the tests.\n", "2026-11-20")))
    told = handoff(place, now, said, "## Outcome\n\n- x", [past])
    assert told["Do not try again"] == ["- Added a thread for each of the jobs in the pool — the user: why not rather limit the threads? → A thread for each job exhausts "
                                        "the machine.",
                                        "- Reverted the process pool since it broke the tests."]
    assert told["Where it stands"][0] == "- Limited the pool to eight threads." and "Done" not in told


@pytest.mark.parametrize(("said", "page", "section", "told"), [
    ("It waits.\n\nWould you like me to:\n1. Revert the **third** limit\n2. Keep all of them?", "## Open\n\n- Keep all of them?", "Open",
     ["- Would you like me to: Revert the third limit; or Keep all of them?"]),
    ("The plan covers:\n- the queue of jobs\n- the pool of workers\n\nReady to start?", "## Open\n\n- Ready to start?", "Open",
     ["- Ready to start? (The plan covers: the queue of jobs; the pool of workers)"]),
    ("Done.", "## Next\n\n- Set the secrets:\n- `APP_ID` - the number\n- `APP_KEY` - the key\n- Install the app", "Next",
     ["- Set the secrets: `APP_ID` - the number; `APP_KEY` - the key", "- Install the app"]),
    ("Here it is:\n\n- [x] tests pass\n- [ ] the queue is drained at the end", "", "Next", ["- unticked: the queue is drained at the end"]),
    ("Raised the version.\n\nYou may want to run `mise install` once.", "", "Next", ["- offered: You may want to run `mise install` once."]),
    ("I read it.\n\n**Next Steps**\n\n1. **Merge** it\n2. Drain the queue:\n\n---\n\nThat is all of the review.", "", "Next",
     ["- Merge it", "- Drain the queue"]),
    ("- edited `a.py`\n\nNow a job is told as active if:\n1. its worker runs\n2. its lock is held\n", "", "Where it stands",
     ["- Now a job is told as active if: its worker runs; its lock is held.", "- No check ran since the last edit; edited, no commit seen: a.py"])])
def test_what_is_left_is_what_was_said_to_be(place, now, said, page, section, told):
    """A list of choices is one question, a list below a step is one step; where nobody said anything, that is said."""
    assert handoff(place, now, "## 09:00 look at the pool\n\n%s\n" % said, "## Outcome\n\n- x\n\n" + page)[section] == told


def test_what_the_last_request_puts_off_is_left(place, now):
    """Though it is the last one that was asked for."""
    said = "## 09:00 only add the queue now, the pool of workers we do in a separate task\n\n- edited `a.py`\n\nAdded the queue.\n"
    assert handoff(place, now, said, "## Outcome\n\n- x")["Next"] == [
        "- left for later: only add the queue now, the pool of workers we do in a separate task"]


def test_words_for_others_that_were_asked_for_since_are_told_as_written(place, now):
    """And of an answer no sentence that hangs on another."""
    work = "## 09:00 make the worker retry\n\n- edited `a.py`\n\nAll tests pass. The worker now retries a job twice before it gives up on it.\n\n"
    asked = work + "## 09:30 give me a commit message for the retries\n\nHere's a commit message:\n\n```\nfeat(worker): retry jobs twice\n```\n"
    assert handoff(place, now, asked, "## Outcome\n\n- x")["Where it stands"][1] == (
        "- asked since: give me a commit message for the retries → wrote “feat(worker): retry jobs twice”")
    answer = work + "## 09:30 how does the queue look today?\n\nIt looks like this:\n\nOr it can be a list of workers in the end.\n"
    assert not any("asked since" in line for line in handoff(place, now, answer, "## Outcome\n\n- x")["Where it stands"])


def test_where_one_word_is_the_branch_the_work_names_it(place, now):
    """No path and no order to look at something; and what was done otherwise since is told as it ended."""
    assert drafted(place, now, MOST, "## Outcome\n\n- x", branch="me/queue", title="look at /home/me/notes.md").title == (
        "Handoff (me/queue): add a hidden command printing the queue")
    again = "## 10:00 thinking again: let's remove the hidden command\n\n- edited `b.py`, edited `a.py`\n\nRemoved the hidden command.\n"
    said = MOST.replace("The queue of jobs is now printed by a hidden command.", "The hidden command is there.") + again
    made = drafted(place, now, said, "## Outcome\n\n- x", branch="main", title="add a hidden command")
    assert made.title == "Handoff (main): remove the hidden command" and "add a hidden command" not in made.body.split("## Do not")[0]


@pytest.mark.parametrize(("said", "told"), [
    ("## 09:00 name the queue of each customer in the log\n\nIt is in the pool.\n\n## 09:20 yes, do it\n\n- edited `a.py`\n\n"
     "The log now says more.\n\n## 09:40 and a test\n\n- edited `b.py`, edited `a.py`\n\nAdded a test.\n",
     ["- asked: “name the queue of each customer in the log”"]),
    ("## 09:00 where is it named?\n\nIn the pool.\n\n> (approved the plan) **Names of queues**\n>\n> Nobody sees whose job waits.\n\n"
     "- edited `a.py`\n\nThe log now says more.\n", ["- the approved plan: Names of queues: nobody sees whose job waits"]),
    ("## 09:00 can you explain this logic?\n\nIt waits.\n\n## 09:10 but why does the worker wait for customers of other pools?\n\n- edited `a.py`\n\n"
     "The pool now looks at its own.\n", ["- asked: “but why does the worker wait for customers of other pools?”"]),
    ("## 09:00 mend the list of jobs:…\n\n> mend the list of jobs:\n> 1. show the customer of each\n> 2. sort them by the hour\n\n- edited `a.py`\n\n"
     "The page now says more.\n", ["- asked: “mend the list of jobs: show the customer of each; sort them by the hour”"]),
    ("## 09:00 add a limit for slow uploads\n\n- edited `a.py`\n\nAdded a limit for slow uploads.\n", None),
    ("## 09:00 where is the queue named?\n\nThe queue is named in the pool.\n", None)])
def test_the_work_is_what_most_was_changed_for(place, now, said, told):
    """The plan, else what was asked first on the way to it; not what the results say anyway, nor where nothing was changed."""
    assert handoff(place, now, said, "## Outcome\n\n- x").get("The work") == told


def test_nothing_of_the_last_work_is_told_that_says_no_change(place, now):
    """Beside what most came of it; nor tests alone, which are no result."""
    work = "## 09:00 add a limit for slow uploads\n\n- edited `a.py`\n\nAdded a limit for slow uploads, so that customers wait no more.\n\n"
    for last in ("The pool has a gap of its own, since it knows no limit at all.", "Updated the tests of the worker for the limit that each of the customers has now."):
        told = handoff(place, now, work + "## 09:30 go on\n\n- edited `b.py`\n\n%s\n" % last, "## Outcome\n\n- x")
        assert [line[:9] for line in told["Where it stands"]] == ["- Added a", "- No chec"] and "Next" not in told


def test_a_verdict_is_of_the_code_as_it_was(place, now):
    """One that something was changed after is told no more."""
    review = "## 09:00 review the branch\n\nI read it.\n\nLGTM - the queue keeps its order.\n\n"
    work = "## 10:00 name the queue\n\n- edited `a.py`\n\nThe queue of jobs is now named by its worker in the log.\n\n"
    assert any("LGTM" in line for line in handoff(place, now, work + review, "## Outcome\n\n- x")["Where it stands"])
    assert not any("LGTM" in line for line in handoff(place, now, review + work, "## Outcome\n\n- x")["Where it stands"])


def test_what_the_turns_of_a_long_session_came_to_is_done(place, now):
    """Also those whose line is weak beside the others; what points at something unnamed is left out."""
    said = ("## 09:00 let's rename slots\n\n- edited `a.py`\n- edited `b.py`\n- edited `c.py`\n\n"
            "Done! Here's a summary of the rename from `slots_count` → `seats_count`:\n\nWhat: field\n\n"
            "## 09:20 does it show?\n\n- edited `d.py`\n\nGood - it's showing the seats of the upload now.\n\n"
            "## 09:30 is it still used?\n\n- edited `f.py`\n\nBut it's no longer used to cut the names of uploads that customers see.\n\n"
            "## 09:40 add a limit for the uploads of each customer\n\n- edited `e.py`\n\n"
            "Added a limit of five uploads for each customer of the shop.\n")
    found = handoff(place, now, said, "## Outcome\n\n- Added a limit.", branch="queue", files="[a.py]")
    assert found["Where it stands"][0] == "- Added a limit of five uploads for each customer of the shop."
    assert found["Done"] == ["- Renamed `slots_count` → `seats_count`"]


def test_what_a_review_found_and_nobody_had_mended_is_open(place, now):
    """Where the user picked some of it."""
    review = ("## 09:00 can you review the branch?\n\n**Issues Found**\n\n**1. Missing limit for slow uploads**\n\nThere is none.\n\n"
              "**2. Customers are counted twice**\n\nIn the page.\n\n**3. Unclear name of the pool**\n\nIt says nothing.\n\n")
    pick = "## 09:30 fix 2 first\n\n- edited `a.py`\n\nFixed: customers of the page are counted once, wherever they come from.\n"
    found = handoff(place, now, review + pick, "## Outcome\n\n- Fixed.", branch="queue", files="[a.py]")
    assert found["Open"] == ["- found, not mended: Missing limit for slow uploads; Unclear name of the pool"]
    listed = ("## 09:00 show me the P2 items\n\n**P2 Findings**\n\n**From the page:**\n1. **Missing limit for uploads** - of one customer\n"
              "2. **Customers are counted twice** - in the page\n\n**From the worker:**\n3. **Unclear name of the pool** - it says nothing\n\n")
    parts = handoff(place, now, listed + pick, "## Outcome\n\n- Fixed.", branch="queue", files="[a.py]")
    assert parts["Open"] == ["- found, not mended: Missing limit for uploads; Unclear name of the pool"]
    both = handoff(place, now, review + pick.replace("fix 2 first", "fix all of them"), "## Outcome\n\n- Fixed.", branch="queue", files="[a.py]")
    assert "Open" not in both


def test_a_lead_to_code_goes_with_it(place, now):
    page = "## Outcome\n\n- A job of the queue looks like this: `{ ⏎ \"id\": 1 ⏎ }` So each job has a name of its own already.\n"
    assert handoff(place, now, "", page, branch="queue")["Where it stands"] == ["- So each job has a name of its own already."]


# ---- killed and run again

def test_the_same_note_again_is_one_checkpoint(place, now):
    """As after a command that was killed before it could answer; another note, or one of later, is another."""
    def noted(words, later):
        return byhand.note(store.Store(place, vault.settings(), now + later), place, words, (), "", now + later).id

    first = noted("The retries are half moved.", 0.0)
    assert noted("The retries are half moved.", store.AGAIN) == first
    assert noted("The retries are moved.", 1.0) != first
    assert noted("The retries are half moved.", store.AGAIN + 1) != first
