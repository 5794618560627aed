"""What expires: old automatic checkpoints that nobody holds."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from harness import talks, vault
from harness.expiring import checkpoint, planned, recent

from memory.core import clock
from memory.knowledge import housekeeping
from memory.store.store import Store

DAY = clock.DAY


@pytest.fixture
def store(place, now) -> Store:
    """The records of the project."""
    return Store(place, vault.settings(), now)


def test_old_automatic_checkpoints_expire(store, place, now):
    """Over 90 days and automatic; 90 days, a human's, what says no author, and learnings stay."""
    recent(place, now)
    for days, name in ((91, "old"), (89.9, "young"), (90, "edge")):
        checkpoint(place, now, days, name)
    vault.put(
        place,
        "p/checkpoints/2026-01-01/mine.md",
        "Mine",
        "By hand",
        created="2026-01-01",
        source="human",
    )
    vault.put(place, "p/checkpoints/2026-01-01/bare.md", "Bare", "By hand", created="2026-01-01")
    vault.put(
        place, "p/learnings/l.md", "Old learning", "Stays", created="2020-01-01", source="auto"
    )
    assert planned(store) == [("old", "")]
    store.config.values["upkeep.expireDays"] = 30
    assert {id for id, _ in planned(store)} == {"old", "young", "edge"}


def test_what_came_by_an_import_expires_that_long_after_the_import(store, place, now):
    """A session of last year is new to whoever imports it; what says no instant counts by its own
    time.
    """
    recent(place, now)
    for days, name in ((89, "lately"), (91, "once")):
        checkpoint(place, now, 400, name, imported=clock.iso(now - days * DAY))
    checkpoint(place, now, 400, "odd", imported="soon")
    assert sorted(id for id, _ in planned(store)) == ["odd", "once"]


@pytest.mark.parametrize(
    "how",
    [
        "pinned",
        "link by id",
        "link by file",
        "wiki",
        "plan",
        "session",
        "handoff",
        "shared",
        "restored",
    ],
)
def test_what_is_held_does_not_expire(store, place, now, how):
    """A pin, any link, the active plan's sessions, the handoff, the shared tier, a person's
    restore.
    """
    recent(place, now)
    name = checkpoint(
        place,
        now,
        200,
        "held",
        **{
            "pinned": {"pinned": "true"},
            "plan": {"plan": "plan1"},
            "session": {"session": "s1"},
        }.get(how, {}),
    )
    if how.startswith("link"):
        target = "held" if how == "link by id" else "held.md"
        vault.put(
            place,
            "p/learnings/l.md",
            "L",
            "x",
            links="[{relation: derived_from, target: %s}]" % target,
        )
    elif how == "wiki":
        vault.put(
            place, "p/checkpoints/mine.md", "Linking", "As in [[Checkpoint held]].", source="human"
        )
    elif how in ("plan", "session"):
        vault.put(place, "p/plans/plan1.md", "The plan", "- [ ] x")
        checkpoint(place, now, 1, "serving", "Served it.", session="s1", plan="plan1")
    elif how == "handoff":
        os.rename(place.path(name), place.path("p/checkpoints/handoff.md"))
    elif how == "shared":
        Path(place.path("s/checkpoints")).mkdir(parents=True)
        os.rename(place.path(name), place.path("s/checkpoints/held.md"))
    elif how == "restored":
        assert planned(store) == [("held", "")]
        store.archive(name, "expired")
        store.restore("held")
    assert planned(store) == []


def test_what_an_expired_one_links_to_stays(store, place, now, ok):
    """A second run finds nothing more: links count from the archive too."""
    recent(place, now)
    checkpoint(place, now, 200, "linking", links="[linked]")
    checkpoint(place, now, 200, "linked")
    housekeeping.apply(store, {})
    assert [
        row["id"]
        for row in json.loads(ok("recall", "--json", "--kind", "checkpoint", "--limit", "50"))[
            "hits"
        ]
    ].count("linked") == 1
    assert planned(store) == []


@pytest.mark.parametrize("jump", [3650, -30])
def test_a_clock_that_jumped_expires_nothing(place, now, run, jump):
    """Ten years ahead, a month back: one line says so, and --clock-is-right overrides."""
    recent(place, now)
    checkpoint(place, now, 50, "old")
    found = housekeeping.plan_upkeep(Store(place, vault.settings(), now + jump * DAY), {})
    assert not found.changes and found.doubt.startswith("the clock says ")
    forced = housekeeping.plan_upkeep(
        Store(place, vault.settings(), now + jump * DAY), {}, clock_is_right=True
    )
    assert len(forced.changes) == (13 if jump > 0 else 0)


@pytest.mark.parametrize("keys", [{}, {"updated": "2024-05-01"}])
def test_old_notes_say_nothing_of_the_clock(store, place, now, keys):
    """What was imported today is of today, whatever it is dated; old checkpoints expire all the
    same.
    """
    for number in range(40):
        name = vault.put(
            place,
            "p/learnings/n%d.md" % number,
            "Note %d" % number,
            "about zephyr%d" % number,
            created="2024-03-01",
            **keys,
        )
        os.utime(name, (now, now))
    checkpoint(place, now, 200, "old")
    assert planned(store) == [("old", "")] and not housekeeping.plan_upkeep(store, {}).doubt


@pytest.mark.parametrize("keys", [{}, {"created": "2024-03-01"}])
def test_copies_that_keep_old_times_say_nothing_of_the_clock(place, keys):
    """An archive's, `cp -p`'s: dated or not, they came today; a jump after that still shows."""
    now = time.time()
    for number in range(40):
        name = vault.put(
            place, "p/learnings/n%d.md" % number, "Note %d" % number, "zephyr%d" % number, **keys
        )
        vault.touch(name, now - 1825 * DAY)
    checkpoint(place, now, 200, "old")
    assert planned(Store(place, vault.settings(), now)) == [("old", "")]
    assert planned(Store(place, vault.settings(), now + 3650 * DAY)) == []


def test_notes_of_later_say_nothing_of_the_clock(store, place, now):
    """A note may be about a day to come; files that were written then are another thing."""
    for number in range(40):
        name = vault.put(
            place,
            "p/learnings/n%d.md" % number,
            "Note %d" % number,
            "zephyr%d" % number,
            created="2035-01-01",
        )
        os.utime(name, (now, now))
    assert not housekeeping.plan_upkeep(store, {}).doubt
    assert (
        "the newest records were written on "
        in housekeeping.plan_upkeep(Store(place, vault.settings(), now - 30 * DAY), {}).doubt
    )


def test_what_was_written_while_the_clock_was_wrong_hides_no_jump(place, now):
    """A few records of 2036 beside many of today: neither in 2036 nor back today does anything
    expire.
    """
    recent(place, now)
    for number in range(3):
        checkpoint(place, now + 3650 * DAY, number, "future%d" % number)
    for instant in (now, now + 3650 * DAY):
        assert planned(Store(place, vault.settings(), instant)) == []


def conversation(place, now, days: float, id: str, **keys: str) -> str:
    """Write a conversation of some days ago and return its name."""
    return talks.put(
        place, id=id, created=clock.iso(now - days * DAY), **{"session": "s-" + id, **keys}
    )


def test_old_conversations_expire_by_their_own_number_of_days(store, place, now):
    """365 by default, none with 0; those that are younger, pinned, linked or written by hand
    stay.
    """
    recent(place, now)
    conversation(place, now, 364, "young")
    conversation(place, now, 366, "old")
    conversation(place, now, 400, "pinned", pinned="true")
    conversation(place, now, 400, "by-hand", written=False)
    conversation(place, now, 400, "linked")
    vault.put(place, "p/learnings/l.md", "A learning", "See [[linked]].")
    assert planned(store) == [("old", "")]
    store.config.values["upkeep.conversationDays"] = 100
    assert sorted(id for id, _ in planned(store)) == ["old", "young"]
    store.config.values["upkeep.conversationDays"] = 0
    assert planned(store) == []


def test_two_conversations_that_say_the_same_are_not_merged(store, place, now):
    """Each is what was said in its session; a learning's twin goes."""
    for number in range(2):
        conversation(place, now, 3 + number, "talk%d" % number, session="s-1")
        vault.put(place, "p/learnings/twin%d.md" % number, "Markers", "".join(talks.TURNS))
    assert len(planned(store)) == 1 and planned(store)[0][0].startswith("twin")
