"""What a note teaches waits for a person; what two notes teach counts."""

from __future__ import annotations

import pytest
from harness import noted, vault
from harness.session import Ending

from memory.store.store import Store


@pytest.fixture
def session(env, project, now):
    return Ending(env, project, now)


def learnings(session):
    return list(Store(session.place, vault.settings(), session.now).each(("learning",)))


def test_a_lesson_becomes_a_candidate_with_its_quote(session, tmp_path):
    noted.allow(session, noted.model(tmp_path))
    noted.spoken(session).end()
    (lesson,) = learnings(session)
    assert not lesson.accepted and lesson.body.startswith(noted.ANSWER["lessons"][0]["text"])
    assert "> the worker loses it with each restart" in lesson.body and lesson.derived_from


def test_what_another_sessions_note_says_too_is_accepted(session, tmp_path):
    """By dayleaf, which says so."""
    noted.allow(session, noted.model(tmp_path))
    noted.spoken(session).end()
    noted.spoken(Ending(session.env, session.project, session.now + 90, "sess-2")).end()
    (lesson,) = learnings(session)
    assert lesson.accepted and str(lesson.meta["accepted_by"]).startswith("dayleaf")


def test_what_was_rejected_does_not_come_back(session, tmp_path, ok):
    noted.allow(session, noted.model(tmp_path))
    noted.spoken(session).end()
    (lesson,) = learnings(session)
    ok("forget", lesson.id)
    noted.spoken(Ending(session.env, session.project, session.now + 90, "sess-2")).end()
    assert learnings(session) == []
