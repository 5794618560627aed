"""A later session on the same subject stands before an earlier one."""

from __future__ import annotations

import json

import pytest
from harness import talks, vault

from memory.recall import updates

FIRST = """The key is the lowercased email and the calendar day in merge_records.  Where two records
collide, the newer record is kept: duplicates of contacts after a sync are gone."""
AMENDED = """After a sync contacts had lost phone numbers, since the nightly feed sends stubs.
The key in merge_records stays: email and calendar day.  Of two records the fuller one is kept."""
OTHER = "Avatars: the cache keyed them by name, so duplicates of contacts had one picture."
QUESTION = "why are there duplicates of contacts after a sync"


def put(place, name, day, said, time="10:00"):
    talks.put(
        place,
        [f"## {day} {time} {name}\n\n{said}\n"],
        id="k-" + name,
        title=name,
        created=f"{day}T{time}:00Z",
        session=name,
        until=f"{day}T{time}:59Z",
    )


def recall(ok):
    return json.loads(ok("recall", QUESTION, "--explain", "--json"))["hits"]


def ids(ok):
    return [hit["id"] for hit in recall(ok)]


@pytest.fixture
def contacts(shop):
    put(shop, "first", "2026-10-01", FIRST)
    put(shop, "other", "2026-10-05", OTHER)
    return shop


def test_a_later_session_on_the_subject_stands_first_and_says_so(ok, contacts):
    """Another subject's session does not, though it is later too."""
    assert ids(ok)[:2] == ["k-first", "k-other"]
    put(contacts, "amended", "2026-10-20", AMENDED)
    hits = recall(ok)
    assert [hit["id"] for hit in hits][:3] == ["k-amended", "k-first", "k-other"]
    said = "newer than what was said on 2026-10-01 on the same subject"
    assert said + " (k-first)" in hits[0]["why"] and said in ok("recall", QUESTION)
    assert said in ok("recall", QUESTION, "--hook").partition("## [k-first]")[0]
    assert hits[0]["score"] > hits[1]["score"]


@pytest.mark.parametrize(("shared", "first"), [(0.5, "k-amended"), (0.95, "k-first")])
def test_sessions_less_alike_are_on_one_subject_where_both_hold_half_the_question(
    ok, contacts, monkeypatch, shared, first
):
    monkeypatch.setattr(updates, "ALIKE", 0.9)
    monkeypatch.setattr(updates, "SHARED", shared)
    put(contacts, "amended", "2026-10-20", AMENDED)
    assert ids(ok)[0] == first


@pytest.mark.parametrize(
    ("day", "time", "first"),
    [
        ("2026-09-01", "10:00", "k-evening"),
        ("2026-10-02", "01:59", "k-evening"),
        ("2026-10-02", "02:00", "k-amended"),
    ],
)
def test_a_session_that_began_less_than_six_hours_later_stays_behind(ok, shop, day, time, first):
    put(shop, "evening", "2026-10-01", FIRST, "20:00")
    put(shop, "other", "2026-10-05", OTHER)
    put(shop, "amended", day, AMENDED, time)
    assert ids(ok)[0] == first


def test_one_that_hardly_answers_stays_behind(ok, contacts, monkeypatch):
    put(contacts, "amended", "2026-10-20", AMENDED)
    monkeypatch.setattr(updates, "LEAST", 0.99)
    assert ids(ok)[0] == "k-first"


def test_a_person_s_learning_does_not_yield_to_a_session(ok, contacts):
    vault.put(
        contacts, "p/learnings/dedupe.md", "Contacts after a sync", FIRST, created="2026-09-01"
    )
    assert not ids(ok)[0].startswith("k-")
    put(contacts, "amended", "2026-10-20", AMENDED)
    assert not ids(ok)[0].startswith("k-")


def test_a_question_about_a_day_gets_what_was_said_then(ok, contacts):
    put(contacts, "amended", "2026-10-20", AMENDED)
    found = json.loads(ok("recall", QUESTION + " on 2026-10-01", "--json"))["hits"]
    assert found[0]["id"] == "k-first"


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("release 1.2.0 of the agent", "k-cut12"),
        ("what went into release 1.3.0", "k-cut13"),
        ("customer Acme database", "k-acme"),
        ("customer Globex database", "k-globex"),
    ],
)
def test_of_a_chore_done_twice_the_one_that_is_asked_for_stands_first(ok, shop, question, first):
    cut = "Release %s of the agent is tagged and pushed; the changelog lists %d entries."
    moved = "The database of customer %s runs on Postgres 16; the dump took %d minutes."
    put(shop, "cut12", "2026-10-01", cut % ("1.2.0", 14))
    put(shop, "cut13", "2026-10-20", cut % ("1.3.0", 9))
    put(shop, "acme", "2026-10-02", moved % ("Acme", 40))
    put(shop, "globex", "2026-10-21", moved % ("Globex", 10))
    assert json.loads(ok("recall", question, "--json"))["hits"][0]["id"] == first


def test_a_number_that_the_earlier_session_alone_holds_asks_for_that_one(ok, contacts):
    put(contacts, "amended", "2026-10-20", AMENDED)
    put(contacts, "first", "2026-10-01", FIRST + "  Ticket CRM-77.")
    found = json.loads(ok("recall", QUESTION + " CRM-77", "--json"))["hits"]
    assert found[0]["id"] == "k-first"
