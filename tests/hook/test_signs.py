"""Signs of life: what the user hears once at a session's start."""

from __future__ import annotations

from harness import vault

from memory.core import boundary, config
from memory.hook import signs

QUIET = {"DAYLEAF_RUNTIME_AUTO": "0"}


def heard(place, env, now, event=None):
    """Return the lines of a start's notices."""
    settings = config.load(place.home, place.root, {**env, **QUIET})
    return signs.notices(place, settings, event if event is not None else {}, now).splitlines()


def test_a_start_after_which_nothing_failed_says_nothing(place, env, now):
    assert heard(place, env, now) == []


def test_a_failure_is_said_with_its_place_and_the_remedy(place, env, now):
    """The newest of them is named, all are counted."""
    boundary.note(env, "prompt", ValueError("no text of the user's"))
    boundary.note(env, "stop", OSError(28, "No space left on device"))
    (line,) = heard(place, env, now)
    assert line == ("dayleaf: 2 failures since the last session (stop: OSError No space left on device); "
                    "`dayleaf doctor` tells more")


def test_a_repository_that_brings_records_is_announced(place, env, now):
    """Until a worker has marked it as said."""
    vault.put(place, "s/learnings/a.md", "A note", "Of others.")
    event = {}
    assert heard(place, env, now, event) == ["dayleaf: 1 record by others: notes to check, none of them waits for review"]
    assert event == {signs.ANNOUNCED: True}
