"""What later work makes of lessons: they go, or say what is no longer so."""

from __future__ import annotations

import json

import pytest
from harness import conversations, vault

from memory.capture import turns
from memory.capture.turns import Piece, Turn
from memory.knowledge import outlived, walls
from memory.store.store import Store


def turn(request, said="", *pieces):
    """A turn with what the model said last in it."""
    return Turn("2026-11-21T10:00:00.000Z", request, "", [*pieces, Piece(turns.SAID, said)])


def edit(request, said, path):
    return turn(request, said, Piece(turns.FILE, path, turns.EDITED))


def test_what_came_of_a_users_word_is_told_unless_it_was_done_over():
    """By a later turn that was asked about the same and changed something."""
    wish = "we never count the retries of a closed queue of the worker"
    held = [edit(wish, "All good. Retries of a closed queue are no longer counted by the worker.", "worker.py")]
    assert outlived.came_of(wish, held, 0) == "Retries of a closed queue are no longer counted by the worker."
    asked = "count the retries of a closed queue, but only once"
    assert outlived.came_of(wish, [*held, turn(asked, "They are counted never.")], 0) != ""
    assert outlived.came_of(wish, [*held, edit(asked, "Done, each one counts once.", "worker.py")], 0) == ""
    assert outlived.came_of("draw a logo for the front page", held, 0) == ""


def test_what_came_of_a_word_is_told_by_the_turn_that_did_it():
    """Where the user agreed to what its own came to; by more words of its request, or by an approved plan."""
    asked = "we never stop the person who exports. but shall we write a log, or prompt and continue?"
    held = [turn(asked, "So: write it to the log, do not prompt, continue with the rows that are whole."), turn("hm, what is a log?", "A file.")]
    said = "we never stop the person who exports"
    assert outlived.came_of(said, held, 0) == ""
    assert outlived.came_of(said, [held[0], edit("yes please", "Done.", "log.py")], 0).startswith("Write it to the log, do not prompt")
    plan = Piece(turns.USER, "# Plan\n\n## Goal\n\nPublish the export to the bucket by a token of the organisation.", turns.APPROVED)
    said = "the token belongs to the organisation and not to me"
    assert outlived.came_of(said, [turn(said), turn("implement the following plan: export", "", plan)], 0) == (
        "Publish the export to the bucket by a token of the organisation.")


def test_of_a_word_that_is_all_a_request_says_the_deed_tells_what_came():
    """Where both share a word, and it says more than the word itself."""
    said = "a resumed session comes from another device"
    deed = "Changed behavior: `resume` always overwrites the local logs of each session now."
    assert outlived.came_of(said, [edit(said, deed, "resume.py")], 0) == deed
    assert outlived.came_of(said, [edit(said, "Changed behavior: `reopen` always overwrites local logs now.", "resume.py")], 0) == ""
    assert outlived.came_of(said, [edit("something else was asked here in many more words than the user said of it", "Changed behavior: "
                                        "`resume` always overwrites local logs now.", "resume.py")], 0) == ""


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


@pytest.mark.parametrize(("reported", "stays"), [
    ("we added openRetryPool with poolStatusOfTry and keepEveryLastTry, but it still loses the status", False),
    ("we added openRetryPool, but it still loses the status", True)])
def test_a_lesson_goes_where_its_remedy_itself_was_found_wrong(place, now, reported, stays):
    """A report that names three of the things that the remedy brought speaks of the remedy, one that names one perhaps of its use."""
    store = Store(place, vault.settings(), now)
    body = ("The client lost the status of the last try.\n\nWhat mended it:\n\n- Added `openRetryPool` with `poolStatusOfTry` and "
            "`keepEveryLastTry`\n\nNamed by the model on 2026-11-18.\n")
    store.add("learning", "The client lost the status of the last try", body, source="auto", session="s-1",
              extra={"created": "2026-11-18T09:00:00Z"})
    conversations.held(place, "s-2", "2026-11-20", "## 09:00 %s\n\nLet me look.\n" % reported)
    outlived.look_back(place, vault.settings(), now, walls.write(place, vault.settings(), now))
    assert len(list(store.each(("learning",)))) == stays


def test_a_lesson_that_a_person_brought_back_stays(place, now):
    """The report that took it away is still there at the next start."""
    store = Store(place, vault.settings(), now)
    body = ("The client lost the status of the last try.\n\nWhat mended it:\n\n- Added `openRetryPool` with `poolStatusOfTry` and "
            "`keepEveryLastTry`\n\nNamed by the model on 2026-11-18.\n")
    found = store.add("learning", "The client lost the status of the last try", body, source="auto", session="s-1",
                      extra={"created": "2026-11-18T09:00:00Z"})
    conversations.held(place, "s-2", "2026-11-20", "## 09:00 we added openRetryPool with poolStatusOfTry and keepEveryLastTry, but it "
                       "still loses the status\n\nLet me look.\n")
    rows = walls.write(place, vault.settings(), now)
    outlived.look_back(place, vault.settings(), now, rows)
    assert not list(store.each(("learning",)))
    store.restore(found.id)
    outlived.look_back(place, vault.settings(), now, rows)
    assert len(list(store.each(("learning",)))) == 1


def test_what_is_called_otherwise_again_is_said_once(place, now):
    """The last name counts, and none where the old one is back."""
    store = Store(place, vault.settings(), now)
    body = "`taskMapper()` drops the first row.\n\nWhat mended it:\n\n- edited `src/map.py`\n\nNamed by the model on 2026-11-18.\n"
    store.add("learning", "The first row is dropped", body, source="auto", session="s-1", extra={"created": "2026-11-18T09:00:00Z"})
    for day, old, new, told in (("19", "taskMapper", "mapperOfTask", "Since 2026-11-19: `taskMapper` is called `mapperOfTask`."),
                                ("20", "taskMapper", "mapperTask", "Since 2026-11-20: `taskMapper` is called `mapperTask`."),
                                ("21", "mapperTask", "taskMapper", "")):
        outlived.told(store, "s-2", {"renamed": {old: [new, "2026-11-%sT09:00:00Z" % day]}})
        (record,) = store.each(("learning",))
        assert [line for line in record.body.split("\n") if line.startswith("Since ")] == [told] * bool(told)


@pytest.mark.parametrize(("session", "name", "day", "stays"), [
    ("s-2", "metadataFolder", 20, False), ("s-1", "metadataFolder", 20, True), ("s-2", "metadataFolder", 17, True),
    ("s-2", "otherFolder", 20, True)])
def test_a_lesson_goes_where_what_it_replaced_was_removed_for_good(place, now, session, name, day, stays):
    """Nobody can make that mistake again; its own session may have removed it as the remedy."""
    store = Store(place, vault.settings(), now)
    body = ("The path bears the wrong day.\n\nWhat mended it:\n\n- edited `src/hooks.py`: `path = metadataFolder(id)` → "
            "`path = folderOf(id)`\n\nNamed by the model on 2026-11-18.\n")
    store.add("learning", "The path bears the wrong day", body, source="auto", session="s-1", extra={"created": "2026-11-18T09:00:00Z"})
    outlived.told(store, session, {"gone": {name: "2026-11-%dT09:05:00Z" % day}})
    assert len(list(store.each(("learning",)))) == stays


@pytest.mark.parametrize(("title", "told"), [
    ("Publish weights of parcels at the depot's front desk", ["Context: Publish weights of parcels at the depot's front desk", ""]),
    ("added weights of parcels at the front desk", []), ("why do parcels stand at the front desk?", []), ("draw a logo for the page", []),
    ("weigh a parcel twice", [])])
def test_the_name_of_the_work_says_where_a_word_applies(title, told):
    """Not a deed, a question, other work, or what says no more."""
    assert outlived.scope(title, (), "we never weigh a parcel twice", "") == told


@pytest.mark.parametrize(("later", "earlier", "told"), [
    ("Removed `retry: 1`, which the tool does not know.", "Added `retry: 1` to the release.", True),
    ("Reverted the jitter of the delays.", "Added the jitter of the delays.", True), ("Removed the cache.", "Added `retry: 1` to it.", False),
    ("Added `retry: 1` again.", "Removed `retry: 1`.", False)])
def test_what_was_taken_out_again_is_known_by_its_name(later, earlier, told):
    assert outlived.undoes(later, earlier) is told


def test_a_trunk_is_given_up_by_nobody():
    """Whatever is said on it of another branch."""
    held = [turn("fix the cache", "Fixed the cache."), turn("ok, now discard this PR", "Done.")]
    assert outlived.abandoned("cache-fix", held, ()) == "abandoned: Fixed the cache." and outlived.abandoned("main", held, ()) is None
