"""Contradictions: pairs of records that cannot both hold."""

from __future__ import annotations

import pytest
from harness import vault
from harness.command import on_terminal
from harness.pairs import texts

from memory.knowledge import contradictions
from memory.store.store import Store


@pytest.fixture
def store(place, now) -> Store:
    """The records of the project."""
    return Store(place, vault.settings(), now)


def learning(place, name: str, body: str, **keys: str) -> None:
    """Write a learning without a title of its own."""
    vault.put(place, "p/learnings/%s.md" % name, body, body, **keys)


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("Use Redis for sessions", "Do not use Redis for sessions", "one says no"),
        ("Always use floats for prices", "Never use floats for prices", "one says no"),
        ("Mit Redis für Sitzungen arbeiten", "Nie mit Redis für Sitzungen arbeiten", "one says no"),
        ("Использовать Redis для сессий", "Не использовать Redis для сессий", "one says no"),
        (
            "The upload timeout of nginx is 30 s",
            "The upload timeout of nginx is 60 s",
            "another number",
        ),
        (
            "The uploader makes 5 retries of an upload",
            "The uploader makes 3 retries of an upload",
            "another number",
        ),
        ("세션에는 Redis를 사용한다", "세션에는 Redis를 사용하지 않는다", "one says no"),
    ],
)
def test_a_contradiction_is_found(store, place, one, other, why):
    """Two that cannot both hold are a pair, whoever stands first."""
    learning(place, "a", one, created="2026-10-01")
    learning(place, "b", other, created="2026-10-02")
    (pair,) = contradictions.find_contradictions(store.each())
    assert (pair.older.record.id, pair.newer.record.id) == ("a", "b") and pair.why.startswith(why)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The upload timeout of nginx is 30 s", "The upload timeout of nginx is 30000 ms"),
        ("The upload timeout of nginx is 30 s", "The download timeout of nginx is 60 s"),
        ("Use Redis for sessions", "Do not use Redis for the job queue of billing"),
        ("Step 1 of the release is the changelog", "Step 2 of the release is the changelog"),
        ("The bug is fixed in v2.1.0", "The bug is fixed in v2.2.0"),
        ("Use Redis for sessions", "Use Redis for sessions, never for locks"),
        ("Read src/auth/jwt.py first", "Do not read src/auth/keys.py first"),
        ("Don't use floats for prices", "Never use floats for prices"),
        ("The upload cache is enabled in staging", "The upload cache is disabled in staging"),
        ("Prefer ruff over flake8 here", "Prefer flake8 over ruff here"),
        (
            "Use Redis for sessions, because it is fast",
            "Do not use Redis for sessions; it loses data",
        ),
    ],
)
def test_two_that_both_hold_are_no_pair(store, place, one, other):
    """Another subject, the same said in another unit, an addition; opposites, orders and reasons
    are not guessed at.
    """
    learning(place, "a", one)
    learning(place, "b", other)
    assert contradictions.find_contradictions(store.each()) == []


def test_versions_and_links_settle_a_contradiction(store, place):
    """Versions without a common one hold side by side; a link says that somebody has decided."""
    learning(place, "a", "Use Redis for sessions", versions="v1")
    learning(place, "b", "Do not use Redis for sessions", versions="v2")
    assert contradictions.find_contradictions(store.each()) == []
    learning(place, "b", "Do not use Redis for sessions")
    assert len(contradictions.find_contradictions(store.each())) == 1
    learning(
        place, "b", "Do not use Redis for sessions", links="[{relation: related_to, target: a}]"
    )
    assert contradictions.find_contradictions(store.each()) == []


def test_contradictions_are_listed_with_the_ways_to_decide(place, ok, run):
    """Side by side, commands beside them, and nothing is changed."""
    learning(place, "a", "Use Redis for sessions")
    learning(place, "b", "Do not use Redis for sessions")
    before = texts(place)
    said = ok("audit", "contradictions")
    assert "contradicts a: one says no; that one says 'Use Redis for sessions'" in said
    assert "`dayleaf record link b a` if both are true" in said
    assert texts(place) == before


def test_a_review_shows_what_stands_against_a_candidate(store, place, env, project, now):
    """Before a person decides on it; nothing is changed by itself."""
    learning(
        place, "a", "Use Redis for sessions", source="human", accepted="true", created="2026-10-01"
    )
    learning(
        place,
        "b",
        "Do not use Redis for sessions",
        source="auto",
        accepted="false",
        created="2026-10-02",
    )
    shown = on_terminal(["review"], env, project, ["s"])[1]
    assert "against a of 2026-10-01 (one says no): Use Redis for sessions" in shown, shown
