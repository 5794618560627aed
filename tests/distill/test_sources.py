"""Sources taken apart into passages."""

from __future__ import annotations

import dataclasses

from harness.sources import source

from memory.core import clock
from memory.distill import sources
from memory.distill.digests import Source

TURNS = (
    "## 14:03 why does it fail on a fresh clone of the repo…\n> why does it fail on a fresh clone\n"
    "> of the repository?\n\nThe ledger is locked.\n",
    "## 2026-11-23 09:10 yes\n\n> (while working) also check windows\n\nDone there.\n",
)
TALK = Source("c-1a2b3c4d", "conversation", "A session", 1795271452.0, TURNS[1], "p", turns=TURNS)


def test_a_conversation_is_its_turns_with_requests_days_and_answers():
    """The request is the quoted one where there is one; what came later is of the answer."""
    first, second = sources.split_sources([TALK])
    assert (first.request, first.day) == (
        "why does it fail on a fresh clone of the repository?",
        "2026-11-21",
    )
    assert first.passage.text == "The ledger is locked.\n"
    assert (second.request, second.day) == ("yes", "2026-11-23")
    assert second.passage.text.startswith("> (while working) also check windows")
    assert {first.passage.session, second.passage.session} == {"c-1a2b3c4d"}


def test_a_conversation_that_two_hits_lead_to_is_read_once():
    """Whichever turn each of them found."""
    other = dataclasses.replace(TALK, body=TURNS[0])
    assert len(sources.split_sources([TALK, other])) == 2


def test_a_checkpoint_is_left_out_where_its_conversation_is_there():
    """Else it stands for its session."""
    told = dataclasses.replace(source("The ledger was locked."), retold="c-1a2b3c4d")
    assert [one.source.kind for one in sources.split_sources([told, TALK])] == [
        "conversation",
        "conversation",
    ]
    assert [one.passage.session for one in sources.split_sources([told])] == ["c-1a2b3c4d"]


def test_any_other_record_is_one_passage_under_its_title():
    """Without a request."""
    (one,) = sources.split_sources([source("The queue is in `jobs.py`.", "a1b2", "Queue")])
    assert (one.passage.head, one.passage.text, one.request) == (
        "Queue",
        "The queue is in `jobs.py`.",
        "",
    )


def test_days_are_the_users_own(monkeypatch):
    """Of a turn's heading, which is UTC, and of a record."""
    monkeypatch.setattr(clock, "local_offset", lambda instant: -8 * 3600.0)
    text = "## 2026-11-20 04:20 why\n\nThe port was taken.\n"
    talk = dataclasses.replace(source(text), kind="conversation", turns=(text,))
    note = dataclasses.replace(source("A port."), created=clock.parse("2026-11-20T04:20:00Z"))
    days = [each.day for each in sources.split_sources([talk, note])]
    assert days == ["2026-11-19", "2026-11-19"]
