"""What later work makes of lessons: they go, or say what is no longer so."""

from __future__ import annotations

import json

import pytest
from harness import conversations, vault

from memory.knowledge import outlived, walls
from memory.store.store import Store


@pytest.mark.parametrize(("said", "accepted", "day", "stays"), [
    ("We removed the `RetryPool` wrapper, since the client retries by itself.", False, 20, False),
    ("We removed the `RetryPool` wrapper, since the client retries by itself.", True, 20, True),
    ("We removed the `RetryPool` wrapper, since the client retries by itself.", False, 16, True),
    ("We removed the `RetryPool` call from the loop.", False, 20, True),
    ("Removed `RetryPool` from `main.py`.", False, 20, True)])
def test_a_lesson_goes_where_what_it_speaks_of_was_removed_later(place, now, said, accepted, day, stays):
    """What a person accepted stays, and what was said before, or of a use of it, takes nothing away."""
    store = Store(place, vault.settings(), now)
    store.add("learning", "`RetryPool` swallows the status of the last try", "`RetryPool` swallows the status of the last try.\n",
              source="auto", session="s-1", extra={"created": "2026-11-18T09:00:00Z", **({"accepted": True} if accepted else {})})
    conversations.held(place, "later", "2026-11-%d" % day, "## 09:00 go on\n\n%s\n" % said)
    outlived.look_back(place, vault.settings(), now, walls.write(place, vault.settings(), now))
    assert len(list(store.each(("learning",)))) == stays


@pytest.mark.parametrize(("session", "stays"), [("s-1", True), ("s-2", False)])
def test_a_lesson_goes_where_what_its_remedy_made_was_removed_by_another_session(place, now, session, stays):
    """Its own one may only have moved it; a sentence before a list counts as well."""
    store = Store(place, vault.settings(), now)
    body = "The client lost the status of the last try.\n\nWhat mended it:\n\n- Added `RetryPool` beside the client\n\nNamed by the model.\n"
    store.add("learning", "The client lost the status of the last try", body, source="auto", session="s-1",
              extra={"created": "2026-11-18T09:00:00Z"})
    conversations.held(place, session, "2026-11-20", "## 09:00 what is new?\n\nMuch. The removed `RetryPool` class kept the status. "
                       "Here's what happens now:\n\n**Scenario:**\n- one more\n")
    outlived.look_back(place, vault.settings(), now, walls.write(place, vault.settings(), now))
    assert len(list(store.each(("learning",)))) == stays


@pytest.mark.parametrize(("request_", "session", "noted"), [
    ("we added openRetryPool, but it still loses the status", "s-2", True), ("we added openRetryPool, but it still loses it", "s-1", False),
    ("add a test of openRetryPool", "s-2", False), ("oldRetryWrapper is broken", "s-2", False), ("retry_pool_test.py fails", "s-2", False)])
def test_a_lesson_says_what_was_reported_since_of_what_its_remedy_brought(place, now, ok, request_, session, noted):
    """In another session, and by a name of code; what went is no matter of it."""
    store = Store(place, vault.settings(), now)
    body = ("The client lost the status of the last try.\n\nWhat mended it:\n\n- Added a pool\n- edited `tests/retry_pool_test.py`\n"
            "- edited `src/client.py`: `oldRetryWrapper()` → `openRetryPool()`\n\nNamed by the model on 2026-11-18.\n")
    store.add("learning", "The client lost the status of the last try", body, source="auto", session="s-1",
              extra={"created": "2026-11-18T09:00:00Z"})
    conversations.held(place, session, "2026-11-20", "## 09:00 %s\n\nLet me look.\n" % request_)
    for _ in range(2):
        outlived.look_back(place, vault.settings(), now, walls.write(place, vault.settings(), now))
    (record,) = store.each(("learning",))
    assert record.meta.get("reported_since") == ("2026-11-20: " + request_ if noted else None)
    hits = json.loads(ok("recall", "why did the client lose the status", "--json"))["hits"]
    assert [hit["otherwise"] for hit in hits if hit["id"] == record.id] == ["reported since, on 2026-11-20: " + request_ if noted else ""]
