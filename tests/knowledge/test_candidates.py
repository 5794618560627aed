"""Candidates out of walls: what says the same as a learning that is there becomes no second one."""

from __future__ import annotations

import pytest
from harness import conversations, vault

from memory.health import worker
from memory.knowledge import candidates, walls
from memory.store.store import Store

OPEN = "- ✗ `acme issue list --open` → exit 2: unknown flag: --open\n"
STATE = "- ✓ `acme issue list --state open`\n"


@pytest.fixture
def settle(place, now):
    """Make candidates of what stands on record; gives the learnings by title: settle() -> {title:
    record}.
    """

    def call():
        settings = vault.settings()
        store = Store(place, settings, now)
        candidates.update_candidates(store, walls.update_walls(place, settings, now))
        return {record.title: record for record in store.each(("learning",))}

    return call


def held(place, session: str, day: str, *lines: str) -> None:
    conversations.held(
        place,
        session,
        day,
        "## 09:00 go on\n\n" + "".join(line.rstrip("\n") + "\n" for line in lines) + "\nDone.\n",
    )


def test_a_wall_of_two_sessions_becomes_a_candidate_with_what_then_worked(place, settle):
    held(place, "one", "2026-11-16", OPEN, STATE)
    assert settle() == {}
    held(place, "two", "2026-11-17", OPEN, STATE)
    ((title, record),) = settle().items()
    assert title == (
        "`acme issue list --open` fails: unknown flag: --open. What worked: `acme issue list "
        "--state open`"
    )
    assert (
        "    unknown flag: --open\n" in record.body
        and "- `acme issue list --state open` in place of" in record.body
    )
    assert (
        "(2026-11-17, k-two#1)" in record.body
        and "(2026-11-16, k-one#1)" in record.body
        and "failed in 2 sessions" in record.body
    )
    assert (
        record.source,
        record.accepted,
        str(record.meta["wall"]),
        list(record.derived_from),
    ) == ("auto", False, "2", ["k-two", "k-one"])
    assert list(settle().values()) == [record], "the same again changes nothing"


def test_a_further_session_is_counted_and_a_wall_that_no_record_tells_takes_its_candidate_along(
    place, now, settle
):
    for day, session in enumerate(("one", "two", "three"), 16):
        held(place, session, "2026-11-%d" % day, OPEN, STATE)
        settle()
    (record,) = settle().values()
    assert str(record.meta["wall"]) == "3"
    store = Store(place, vault.settings(), now)
    for session in ("one", "two", "three"):
        store.archive(store.find("k-" + session).name, "forgotten")
    assert settle() == {}


@pytest.mark.parametrize("decide", ["accept", "reject"])
def test_what_a_person_decided_stays(place, now, settle, decide):
    for day, session in enumerate(("one", "two"), 16):
        held(place, session, "2026-11-%d" % day, OPEN, STATE)
    (record,) = settle().values()
    store = Store(place, vault.settings(), now)
    if decide == "accept":
        store.edit(record.name, {"accepted": True})
        for session in ("one", "two"):
            store.archive(store.find("k-" + session).name, "forgotten")
    else:
        store.archive(record.name, "rejected")
    assert [one.id for one in settle().values()] == [record.id] * (decide == "accept")


def test_a_learning_of_the_same_failure_is_enough(place, settle):
    vault.put(
        place,
        "p/learnings/there.md",
        "Acme has no flag for open issues",
        "`acme` failed:\n\n    unknown flag: --open\n",
    )
    for day, session in enumerate(("one", "two"), 16):
        held(place, session, "2026-11-%d" % day, OPEN, STATE)
    assert list(settle()) == ["Acme has no flag for open issues"]


@pytest.mark.parametrize(
    ("fails", "then"),
    [
        (OPEN, ""),
        (OPEN, "- ✓ `acme issue list --open --all`"),
        ("- ✗ `acme run view 12` → exit 1: run not found", "- ✓ `acme run view 13`"),
        (
            "- ✗ `make test` → exit 1: cart_test.c:9: the total of the cart is missing",
            "- edited `cart.c`\n- ✓ `make test`",
        ),
        (
            "- ✗ `make test` → exit 1: cart_test.c:9: the total of the cart is missing",
            "- ✓ `make test ONLY=cart`",
        ),
        (
            "- ✗ `git merge main` → exit 1: CONFLICT (content): Merge conflict in cart.c",
            "- ✓ `git merge --abort`",
        ),
        ("- ✗ Read `src/parts/view.c` → failed: File does not exist.", "- edited `lib/other.c`"),
        (
            "- ✗ Read `src/parts/view_test.go` → failed: File does not exist.",
            "- edited `src/parts/view.go`",
        ),
        (
            "- ✗ Read `src/parts/src/parts/view.go` → failed: File does not exist.",
            "- edited `src/parts/view.go`",
        ),
        (
            "- ✗ `acme test ./view` → exit 1: ./view: directory not found",
            "- ✓ `cd /srv && make test`",
        ),
    ],
    ids=str,
)
def test_a_wall_without_a_remedy_and_work_in_progress_teach_nothing(place, settle, fails, then):
    for day, session in enumerate(("one", "two"), 16):
        held(place, session, "2026-11-%d" % day, fails, then)
    assert settle() == {}


def test_a_remedy_of_the_first_session_alone_is_not_enough(place, settle):
    held(place, "one", "2026-11-16", OPEN, STATE)
    held(place, "two", "2026-11-17", OPEN)
    assert settle() == {}


def test_a_call_that_failed_where_the_shell_stood_is_told_with_the_one_that_worked(place, settle):
    for day, session in enumerate(("one", "two"), 16):
        held(
            place,
            session,
            "2026-11-%d" % day,
            "- edited `src/parts/view.c`",
            "- ✗ `cd src/parts && make test` → exit 1: cd: no such file or directory: src/parts",
            "- ✓ `make test`",
        )
    ((title, record),) = settle().items()
    assert title == (
        "`cd src/parts && make test` fails: cd: no such file or directory: src/parts. "
        "What worked: `make test`"
    )
    assert "- `make test` in place of `cd src/parts && make test`" in record.body


def test_a_sessions_end_makes_candidates_only_where_a_record_gave_something_new(
    env, place, now, monkeypatch
):
    """The look-up says that they were made, until a record changes."""
    settings, made = vault.settings(), []
    monkeypatch.setattr(candidates, "update_candidates", lambda store, rows: made.append(len(rows)))
    end = {"hook_event_name": "SessionEnd", "session_id": "s", "cwd": place.project}

    def ends():
        todo = worker.make_job(end, env, now)
        dict(worker.AFTER_WORK)["walls"](todo)
        return made

    held(place, "one", "2026-11-16", OPEN, STATE)
    walls.update_walls(place, settings, now)
    assert ends() == [1] and ends() == [1]
    walls.update_walls(place, settings, now)
    assert ends() == [1]
    held(place, "two", "2026-11-17", OPEN, STATE)
    walls.update_walls(place, settings, now)
    assert ends() == [1, 2]
    assert len(walls.read_cached_failures(place)) == 2
