"""What a note teaches waits for a person; what two notes teach counts."""

from __future__ import annotations

import pytest
from harness import noted, vault
from harness.session import Ending

from memory.core import approvals, clock
from memory.knowledge import lessons
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


def rules(session):
    return list(Store(session.place, vault.settings(), session.now).each(("rule",)))


def test_a_wish_that_another_sessions_note_says_too_is_counted(session, tmp_path):
    """Once a session; the note of the session that said it first counts nothing."""
    noted.allow(session, noted.model(tmp_path))
    noted.spoken(session).end()
    (first,) = rules(session)
    other = noted.spoken(Ending(session.env, session.project, session.now + 90, "sess-2"))
    other.end()
    other.ask("And now?").say("Done.").ask("Well?").say("Yes.").ask("So?").say("So.").end()
    (rule,) = rules(session)
    assert "times" not in first.meta and rule.meta["times"] == "2"


def test_a_wish_said_after_a_rule_was_kept_is_told_as_its_contrary(session, handled, ok):
    """One said before goes to the archive; the mark goes with the rule."""
    place = session.place
    session.ask("Always use mocks in these tests.").say("Understood.").end()
    store = Store(place, vault.settings(), session.now)
    kept = store.add("rule", "Never use mocks in these tests.", "", extra={"rationale": "So."})
    key = approvals.approval_workspace(kept.name, place.key)
    approvals.approve(place.home, key, kept.id, store.raw(kept.name), "me", session.now)
    assert lessons.archive_contradicted_wishes(store) and len(rules(session)) == 1
    later = Ending(session.env, session.project, session.now + 2 * clock.DAY, "sess-2")
    later.ask("From now on always use mocks in these tests.").say("Understood.").end()
    told = handled("start", session_id="sess-3")[1]["hookSpecificOutput"]["additionalContext"]
    assert "(not confirmed, contrary to %s: " % kept.id in told
    ok("forget", kept.id)
    told = handled("start", session_id="sess-4")[1]["hookSpecificOutput"]["additionalContext"]
    assert "always use mocks" in told and "contrary to" not in told
