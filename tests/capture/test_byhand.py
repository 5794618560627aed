"""Checkpoints that a person asks for: a note, and a handoff made of a session."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import vault
from harness.standup import captured, talk

from memory.capture import byhand, conversationfile
from memory.core import UsageError, config, frontmatter
from memory.store import store


def test_a_note_by_hand(place, env, now, project):
    """It is the person's: source human, trigger manual, title of its first clause, branch and
    commit filled.
    """
    run = {"env": env, "check": True, "cwd": project, "capture_output": True}
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "init"], **run)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], text=True, **run).stdout[:10]
    keeper = store.Store(place, config.load(place.home, project, env), now)
    record = byhand.write_note(
        keeper,
        place,
        "Switched to mTLS. The proxy <private>at 10.0.0.1</private> wants it.",
        ["auth"],
        "s-1",
        now,
    )
    page = frontmatter.parse(Path(place.path(record.name)).read_bytes())
    assert (page.meta["title"], page.meta["source"], page.meta["trigger"]) == (
        "Switched to mTLS",
        "human",
        "manual",
    )
    assert (page.meta["commit"], page.meta["tags"], page.meta["session"]) == (
        commit,
        ["auth"],
        "s-1",
    )
    assert "10.0.0.1" not in page.body and "wants it" in page.body
    with pytest.raises(UsageError):
        byhand.write_note(keeper, place, " <private>x</private> ", [], "", now)


# ---- a handoff made of a session

PAGE = """\
## Outcome

- The worker now retries twice.

## Next

- the metrics
- [x] the docs

## Open

- `pytest tests/slow` failed at the end: timeout

## Turns

- 09:00 make the worker retry → see Outcome

## Decisions

- the user chose: two retries
- the user refused Edit `pool.py`: don't touch the pool

## Done

- commit aaaaaaa: Retry once
"""
TALK = """\
## 09:00 make the worker retry

- edited `worker.py`
- commit bbbbbbb: Retry twice

The worker now retries a job twice before it gives up on it.

## 09:30 and the pool of workers?

- edited `src/pool.py`
- edited `queue.py`
- pull request https://h/o/r/pull/7

The pool of workers waits for each job now.

## 10:00 what does the queue flag do?

It names the queue.
"""


def drafted(place, now, said, page, plan=None, **keys):
    """Return the handoff of a session of which the conversation and the checkpoint are given."""
    keeper = store.Store(place, vault.settings(), now)
    talk(place, said)
    captured(
        place,
        "a",
        page,
        "2026-11-21T10:30:00Z",
        session="s-1",
        conversation=next(keeper.each(("conversation",))).id,
        **keys,
    )
    checkpoint = next(keeper.each(("checkpoint",)))
    held = conversationfile.read_turns(keeper, checkpoint)
    changed = ("src/pool.py", "queue.py", "worker.py")
    return byhand.draft_handoff([checkpoint], plan, held, uncommitted=changed)


def sections(*given, **keys):
    """Return the sections of a handoff."""
    body = drafted(*given, **keys).body
    parts = [part.split("\n\n", 1) for part in body.split("From [")[0].split("## ")[1:]]
    return {name: lines.strip().split("\n") for name, lines in parts}


def test_a_handoff_says_where_it_stands_what_was_done_and_what_is_next(place, now):
    """In the words of the checkpoint and the conversation."""
    made = drafted(place, now, TALK, PAGE, branch="retries", title="Retries of the worker")
    assert made.title == "Handoff (retries): Retries of the worker" and len(made.sources) == 1
    assert made.body.split("From [")[0] == "\n".join(
        [
            "## Where it stands",
            "",
            "- The worker now retries twice.",
            "",
            "## Work",
            "",
            "- last commit bbbbbbb: Retry twice",
            "- pull request https://h/o/r/pull/7",
            "- edited since, not committed: pool.py, queue.py",
            "",
            "## Next",
            "",
            "- the metrics",
            "",
            "## Open",
            "",
            "- `pytest tests/slow` failed at the end: timeout",
            "",
            "## Decisions",
            "",
            "- the user refused Edit `pool.py`: don't touch the pool",
            "- the user chose: two retries",
            "",
            "## Last requests",
            "",
            "- what does the queue flag do?",
            "- and the pool of workers?",
            "- make the worker retry",
            "",
            "",
        ]
    )


def test_a_session_left_in_the_middle_is_told_as_that(place, now):
    """By the checkpoint, and by its last request."""
    left = "## 09:00 make the worker retry\n\n- edited `worker.py`\n"
    told = sections(
        place,
        now,
        left,
        "## Outcome\n\n- in progress at the end: make the worker retry\n"
        "- done last: edited `worker.py`",
    )
    assert told["Where it stands"] == [
        "- in progress at the end: make the worker retry",
        "- done last: edited `worker.py`",
    ]
    assert told["Work"] == ["- edited since, not committed: worker.py"] and told[
        "Last requests"
    ] == ["- make the worker retry"]


def test_a_last_change_is_not_told_beside_the_outcome_that_tells_it(place, now):
    """Where the session ended with it."""
    told = sections(place, now, TALK[: TALK.index("## 10:00")], PAGE)
    assert told["Where it stands"] == ["- The worker now retries twice."]


def test_where_no_conversation_is_kept_the_checkpoint_tells_the_last_commit(place, now):
    """And what was asked."""
    told = sections(place, now, "", PAGE)
    assert (told["Work"], told["Last requests"]) == (
        ["- last commit aaaaaaa: Retry once"],
        ["- make the worker retry"],
    )


def test_the_last_requests_are_each_told_once(place, now):
    """Three of them; what goes on after a compaction, and the client's summary, are none."""
    said = "".join("## 09:0%d request %d\n\nDone.\n\n" % (at, at) for at in (1, 2, 3, 4, 4))
    said += (
        "## 09:10 (summary by the client)\n\nThe user asked.\n\n"
        "## 09:20 (goes on) request 4 and so on\n\nDone.\n"
    )
    assert sections(place, now, said, PAGE)["Last requests"] == [
        "- request 4",
        "- request 3",
        "- request 2",
    ]


def test_the_open_steps_of_the_active_plan_are_next(place, now):
    """After what the checkpoint names."""
    vault.put(
        place,
        "p/plans/ship.md",
        "Ship it",
        "- [x] parse\n- [ ] retry\n- [ ] jitter",
        status="active",
    )
    plan = next(store.Store(place, vault.settings(), now).each(("plan",)))
    assert sections(place, now, TALK, PAGE, plan)["Next"] == [
        "- the metrics",
        "- plan [ship] Ship it: retry; jitter",
    ]


def test_a_note_stands_for_itself(place, now):
    assert sections(place, now, "", "Moved the store. Next: the table.")["Notes"] == [
        "- Moved the store. Next: the table."
    ]


def test_turns_are_those_of_the_conversation_that_a_checkpoint_names(place, now):
    """None where it is gone, or none is named, or what is named is no conversation; private parts
    are left out.
    """
    keeper = store.Store(place, vault.settings(), now)
    talk(place, "## 09:00 a <private>secret</private> plan\n\nDone.\n")
    talking = next(keeper.each(("conversation",)))
    for named, requests in ((talking.id, 1), ("c-0000", 0), ("", 0)):
        captured(place, "a", "x", "2026-11-21T10:30:00Z", session="s-1", conversation=named)
        held = conversationfile.read_turns(keeper, next(keeper.each(("checkpoint",))))
        assert len(held) == requests and "secret" not in "".join(turn.request for turn in held)


# ---- killed and run again


def test_the_same_note_again_is_one_checkpoint(place, now):
    """As after a command that was killed before it could answer; another note, or one of later, is
    another.
    """

    def noted(words, later):
        return byhand.write_note(
            store.Store(place, vault.settings(), now + later), place, words, (), "", now + later
        ).id

    first = noted("The retries are half moved.", 0.0)
    assert noted("The retries are half moved.", store.AGAIN) == first
    assert noted("The retries are moved.", 1.0) != first
    assert noted("The retries are half moved.", store.AGAIN + 1) != first
