"""Checkpoints that a person asks for: a note, and a handoff made of a session."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import vault
from harness.standup import captured, talk

from memory.capture import byhand
from memory.core import UsageError, config, frontmatter
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
    said = byhand.draft([checkpoint], None, byhand.turns_of(keeper, checkpoint)).body
    assert said.split("From [")[0] == "\n".join([
        "## Where it stands", "", "- The worker now retries twice.", "", "## Next", "", "- the metrics", "", "## Open", "",
        "- `pytest tests/slow` still fails: timeout", "", "## Do not try again", "", "- the user refused Edit `pool.py`: don't touch the pool",
        "- Reverted the thread pool since it made the tests hang.", "- `pytest -k slow` fails; `pytest tests/slow` works", "", "## Decisions", "",
        "- the user chose: two retries", "", "## Done", "", "- files: worker.py", "", "## Request", "", "- make the worker retry", "", ""])


def test_turns_are_those_of_the_conversation_that_a_checkpoint_names(place, now):
    """None where it is gone, or none is named, or what is named is no conversation; private parts are left out."""
    keeper = store.Store(place, vault.settings(), now)
    talk(place, "## 09:00 a <private>secret</private> plan\n\nDone.\n")
    talking = next(keeper.each(("conversation",)))
    for named, requests in ((talking.id, 1), ("c-0000", 0), ("", 0)):
        captured(place, "a", "x", "2026-11-21T10:30:00Z", session="s-1", conversation=named)
        held = byhand.turns_of(keeper, next(keeper.each(("checkpoint",))))
        assert len(held) == requests and "secret" not in "".join(turn.request for turn in held)


def test_work_stands_where_the_last_work_left_it(place, now):
    """A question after it is told as one; options stand with the question that leaves the choice, and a go that is asked for does not."""
    keeper = store.Store(place, vault.settings(), now)
    work = "## 09:00 make the worker retry\n\n- edited `worker.py`\n\nAll tests pass. The worker now retries a job twice before it gives up on it.\n\n"
    talk(place, work + "## 09:30 what does the queue flag do?\n\nIt names the queue.\n\nOption 1: keep it\n\nOption 2: drop it\n\nWhich option do you prefer?\n")
    captured(place, "a", "## Outcome\n\n- It names the queue.\n\n## Open\n\n- Which option do you prefer?\n- Ready to implement?", "2026-11-21T10:30:00Z",
             session="s-1", branch="retries", files="[worker.py, /root/plan.md]", conversation=next(keeper.each(("conversation",))).id)
    checkpoint = next(keeper.each(("checkpoint",)))
    assert byhand.draft([checkpoint], None, byhand.turns_of(keeper, checkpoint)).body.split("From [")[0] == "\n".join([
        "## Where it stands", "", "- The worker now retries a job twice before it gives up on it.",
        "- asked since: what does the queue flag do? → It names the queue. Option 1: keep it Option 2: drop it", "", "## Open", "",
        "- Which option do you prefer? Option 1: keep it; Option 2: drop it", "", "## Done", "", "- files: worker.py", "", ""])


def handoff(place, now, said, page, **keys):
    """Return the sections of the handoff of a session of which the conversation and the checkpoint are given."""
    keeper = store.Store(place, vault.settings(), now)
    talk(place, said)
    captured(place, "a", page, "2026-11-21T10:30:00Z", session="s-1", conversation=next(keeper.each(("conversation",))).id, **keys)
    checkpoint = next(keeper.each(("checkpoint",)))
    body = byhand.draft([checkpoint], None, byhand.turns_of(keeper, checkpoint)).body
    parts = [part.split("\n\n", 1) for part in body.split("From [")[0].split("## ")[1:]]
    return {name: lines.strip().split("\n") for name, lines in parts}


@pytest.mark.parametrize(("said", "question", "told"), [
    ("One could drop the pool.\n\nWant me to make that change?", "Want me to make that change?", ["- Want me to make that change? (One could drop the pool.)"]),
    ("The worker now retries.\n\nReady to commit?", "Ready to commit?", ["- Ready to commit?"]),
    ("- keep the pool\n- name the queue\n\nWhich do you prefer?", "Which do you prefer?", ["- Which do you prefer? (keep the pool name the queue)"])])
def test_an_offer_at_the_end_is_open_with_what_it_is_about(place, now, said, question, told):
    """One to keep the work says that nobody has yet."""
    assert handoff(place, now, "## 09:00 look at the pool\n\n%s\n" % said, "## Outcome\n\n- x\n\n## Open\n\n- " + question)["Open"] == told


def test_a_request_that_says_nothing_by_itself_is_not_told(place, now):
    """Nor a next step that a later turn was asked for."""
    told = handoff(place, now, "## 09:00 make the worker retry jobs twice\n\n- edited `a.py`\n\nThe worker retries jobs twice now.\n\n"
                   "## 09:30 test the retries of the pool\n\n- ✓ `pytest`\n\nTests of the retries pass.\n\n## 09:40 3\n\n- edited `a.py`\n\nDone.\n",
                   "## Outcome\n\n- Done.\n\n## Next\n\n- test the pool's retries\n- the metrics\n\n## Turns\n\n"
                   "- 09:00 make the worker retry jobs twice\n- 09:40 3")
    assert told["Request"] == ["- make the worker retry jobs twice"] and told["Next"] == ["- the metrics"]


def test_where_it_stands_is_no_table_code_or_answer(place, now):
    """A session that edited something and then only showed something stands at its work."""
    page = "## Outcome\n\n- All rows were updated: Row | State 1 | done 2 | done 3 | open"
    assert handoff(place, now, "", page)["Where it stands"] == ["- All rows were updated"]
    left = "## 09:00 name the pool\n\n- edited `a.py`\n\nLet me run the tests:\n\n## 09:30 try the search\n\nResults for pool: `a.py`, `b.py` and more.\n"
    assert handoff(place, now, left, "## Outcome\n\n- Results for pool", title="Names for the pools of workers")["Where it stands"] == [
        "- worked on: Names for the pools of workers", "- asked since: try the search → Results for pool: `a.py`, `b.py` and more."]


def test_where_it_stands_begins_with_what_somebody_else_gets(place, now):
    """Not with a detail of the last turn, where the work came to more; what leads up to a list is left out."""
    told = handoff(place, now, "## 09:00 mend the retries\n\n- edited `a.py`\n\nThe fix adds a limit for retries of slow jobs.\n\n"
                   "## 09:30 the method should use a helper\n\n- edited `a.py`\n\nThe method now uses `limit_of()` of the pool.\n",
                   "## Outcome\n\n- The method now uses `limit_of()` of the pool.")
    assert told["Where it stands"] == ["- The fix adds a limit for retries of slow jobs.", "- The method now uses `limit_of()` of the pool."]
    page = "## Outcome\n\n- Here's a summary of the changes made to `src/a.py`: Added a limit for **retries** of slow jobs."
    assert handoff(place, now, "", page)["Where it stands"] == ["- Added a limit for retries of slow jobs."]
