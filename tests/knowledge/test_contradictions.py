"""Contradictions: pairs of records that cannot both hold."""

from __future__ import annotations

import json

import pytest
from harness import talks, vault
from harness.command import on_terminal
from harness.pairs import texts

from memory.knowledge import contradictions, walls
from memory.store.store import Store


@pytest.fixture
def store(place, now) -> Store:
    """The records of the project."""
    return Store(place, vault.settings(), now)


def learning(place, name: str, body: str, **keys: str) -> None:
    """Write a learning without a title of its own."""
    vault.put(place, "p/learnings/%s.md" % name, body, body, **keys)


@pytest.mark.parametrize(("one", "other", "why"), [
    ("Use Redis for sessions, because it is fast", "Do not use Redis for sessions; it loses data", "one says no"),
    ("Avoid floats for prices", "Use floats for prices", "one says no"),
    ("The upload cache is enabled in staging", "The upload cache is disabled in staging", "one says no"),
    ("Run the migration before the deploy", "Run the migration after the deploy", "one says no"),
    ("The upload timeout of nginx is 30 s", "The upload timeout of nginx is 5 min", "another number"),
    ("Prefer ruff over flake8 here", "Prefer flake8 over ruff here", "one puts first"),
    ("세션에는 Redis를 사용한다", "세션에는 Redis를 사용하지 않는다", "one says no"),
])
def test_a_contradiction_is_found(store, place, one, other, why):
    """Two that cannot both hold are a pair, whoever stands first."""
    learning(place, "a", one, created="2026-10-01")
    learning(place, "b", other, created="2026-10-02")
    (pair,) = contradictions.pairs(store.each())
    assert (pair.older.record.id, pair.newer.record.id) == ("a", "b") and pair.why.startswith(why)


@pytest.mark.parametrize(("one", "other"), [
    ("The upload timeout of nginx is 30 s", "The upload timeout of nginx is 30000 ms"),
    ("The upload timeout of nginx is 30 s", "The download timeout of nginx is 60 s"),
    ("Use Redis for sessions", "Do not use Redis for the job queue of billing"),
    ("Step 1 of the release is the changelog", "Step 2 of the release is the changelog"),
    ("The bug is fixed in v2.1.0", "The bug is fixed in v2.2.0"),
    ("Use Redis for sessions", "Use Redis for sessions, never for locks"),
    ("Read src/auth/jwt.py first", "Do not read src/auth/keys.py first"),
    ("Don't use floats for prices", "Never use floats for prices"),
])
def test_two_that_both_hold_are_no_pair(store, place, one, other):
    """Another subject, the same said in another unit, an addition."""
    learning(place, "a", one)
    learning(place, "b", other)
    assert contradictions.pairs(store.each()) == []


def test_versions_and_links_settle_a_contradiction(store, place):
    """Versions without a common one hold side by side; a link says that somebody has decided."""
    learning(place, "a", "Use Redis for sessions", versions="v1")
    learning(place, "b", "Do not use Redis for sessions", versions="v2")
    assert contradictions.pairs(store.each()) == []
    learning(place, "b", "Do not use Redis for sessions")
    assert len(contradictions.pairs(store.each())) == 1
    learning(place, "b", "Do not use Redis for sessions", links="[{relation: related_to, target: a}]")
    assert contradictions.pairs(store.each()) == []


def test_contradictions_are_listed_with_the_ways_to_decide(place, ok, run):
    """Side by side, commands beside them, and nothing is changed."""
    learning(place, "a", "Use Redis for sessions")
    learning(place, "b", "Do not use Redis for sessions")
    before = texts(place)
    said = ok("upkeep", "--contradictions")
    assert "`dayleaf forget a` or `dayleaf forget b`" in said and "1 pair to decide on" in said
    assert {side["id"] for side in json.loads(ok("upkeep", "--contradictions", "--json"))["pairs"][0]["sides"]} == {"a", "b"}
    assert run("upkeep", "--contradictions", "--apply").returncode == 2 and texts(place) == before


# ---- what was decided otherwise since

ANSWERED = """## 14:03 where do the shadow branches get cleaned up?

The command `entire clean` deletes shadow branches that an earlier session left behind.

"""


def later(said: str) -> str:
    """Write a turn of the next day that says something."""
    return "## 09:10 work on the clean up of shadow branches\n\n%s\n\n" % said


def answer(ok, place, said: str) -> dict:
    """Ask again for what one conversation answered after another one said something; return the hit of the first."""
    talks.put(place, (ANSWERED,), id="c-aaaa0001", session="s-1")
    talks.put(place, (later(said),), id="c-bbbb0002", session="s-2", created="2026-01-24T09:10:00Z")
    hits = json.loads(ok("recall", "which command cleans up the shadow branches", "--json"))["hits"]
    return next(hit for hit in hits if hit["id"] == "c-aaaa0001")


@pytest.mark.parametrize("said", [
    "We renamed `entire clean` to `entire session cleanup`, since shadow branches belong to sessions.",
    "Removed the command `entire clean`: shadow branches of a session are cleaned up at its commit.",
    "The command `entire clean` is no longer there: shadow branches are deleted with their session."])
def test_an_answer_says_what_was_decided_otherwise_since(place, ok, said):
    """With its day, and where that stands."""
    hit = answer(ok, place, said)
    assert hit["otherwise"].startswith("decided otherwise on 2026-01-24 (c-bbbb0002#1): ") and said[:20] in hit["otherwise"]
    assert hit["passage"].startswith("2026-01-23 14:03, ")
    assert "decided otherwise on 2026-01-24" in ok("recall", "which command cleans up the shadow branches")


def test_a_session_that_the_question_does_not_find_is_heard_too(place, ok, now):
    """By what was derived of all sessions; a passage that says so itself is left alone."""
    said = "Renamed `entire clean` to `entire tidy`: the deletes of an earlier session are no longer its work."
    talks.put(place, (later(said).replace("clean up of shadow branches", "the words of the help"),), id="c-bbbb0002", session="s-2",
              created="2026-01-24T09:10:00Z")
    walls.write(place, vault.settings(), now)
    talks.put(place, (ANSWERED,), id="c-aaaa0001", session="s-1")
    ask = ("recall", "which command cleans up the shadow branches", "--json", "--limit", "1")
    (hit,) = json.loads(ok(*ask))["hits"]
    assert hit["otherwise"].startswith("decided otherwise on 2026-01-24 (c-bbbb0002#1): Renamed")
    talks.put(place, (ANSWERED.replace("deletes", "was removed: `entire clean` was removed; it deletes"),), id="c-aaaa0001", session="s-1")
    (hit,) = json.loads(ok(*ask))["hits"]
    assert (hit["id"], hit["otherwise"]) == ("c-aaaa0001", "")


def test_what_its_own_session_took_back_later_is_said_too(place, ok, now):
    """The answer of a turn, and what a later turn says."""
    talks.put(place, (ANSWERED, "## 15:20 do we need it?\n\nNo. Removed the command `entire clean` that deletes what an earlier session "
                                "left.\n\n"), id="c-aaaa0001", session="s-1")
    walls.write(place, vault.settings(), now)
    hits = json.loads(ok("recall", "which command cleans up the shadow branches", "--json"))["hits"]
    assert [hit["otherwise"][:44] for hit in hits if hit["turn"] == 1] == ["decided otherwise on 2026-01-23 (c-aaaa0001#"]


@pytest.mark.parametrize("said", [
    "Removed from `entire clean`: the shadow branches of an earlier session and their help.",
    "Removed the unused `entire clean` import that deletes shadow branches of a session.",
    "Deletes shadow branches of an earlier session by name instead of `entire clean`.",
    "We could rename `entire clean` to `entire session cleanup` for the shadow branches of a session.",
    "Removed the option `--force` of the command that deletes shadow branches.",
    "The command `entire clean` deletes shadow branches of detached heads as well now.",
    "Should `entire clean` be removed, since shadow branches are deleted with a session?"])
def test_what_is_only_weighed_or_of_another_thing_takes_no_answers_place(place, ok, said):
    """Nothing is said then."""
    assert answer(ok, place, said)["otherwise"] == ""


def test_a_review_shows_what_stands_against_a_candidate(store, place, env, project, now):
    """Before a person decides on it; nothing is changed by itself."""
    learning(place, "a", "Use Redis for sessions", source="human", accepted="true", created="2026-10-01")
    learning(place, "b", "Do not use Redis for sessions", source="auto", accepted="false", created="2026-10-02")
    shown = on_terminal(["review"], env, project, ["s"])[1]
    assert "against a of 2026-10-01 (one says no): Use Redis for sessions" in shown, shown


def test_a_review_says_which_accepted_learnings_may_no_longer_hold(place, env, project, now, store):
    """By another learning, or by what a session told since; it decides nothing."""
    learning(place, "a", "Use Redis for sessions", source="human", accepted="true", created="2026-10-01")
    learning(place, "b", "Do not use Redis for sessions", source="human", accepted="true", created="2026-10-02")
    learning(place, "c", "`entire clean` deletes the shadow branches of an earlier session", source="human", created="2026-01-20")
    learning(place, "d", "`entire status` lists the shadow branches of an earlier session", source="human", created="2026-01-20")
    talks.put(place, (later("Renamed `entire clean` to `entire tidy`: it deletes shadow branches of every session."),),
              id="c-bbbb0002", session="s-2", created="2026-01-24T09:10:00Z")
    walls.write(place, vault.settings(), now)
    before = texts(place)
    shown = on_terminal(["review"], env, project, [])[1].replace("\r", "")
    assert "2 learnings may no longer hold; correct it with `dayleaf edit ID`, or archive it with `dayleaf forget ID`\n" in shown, shown
    assert "decided otherwise on 2026-10-02 (b): Do not use Redis" in shown
    assert "c  `entire clean` deletes" in shown and "decided otherwise on 2026-01-24 (c-bbbb0002#1): Renamed" in shown
    assert "d  `entire" not in shown and texts(place) == before
