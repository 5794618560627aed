"""Signs of life: what the user hears once at a session's start."""

from __future__ import annotations

import json
import subprocess

import pytest
from harness import vault
from harness.hook import ROOT

from memory.core import boundary, config
from memory.hook import receipts, signs

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


# ---- the status line

def line(env, given) -> str:
    """Return what the status line's hook prints for the host's JSON."""
    said = given if isinstance(given, str) else json.dumps(given)
    done = subprocess.run([str(ROOT / "hooks" / "run"), "statusline"], env=env, input=said, capture_output=True, text=True, timeout=30,
                          check=True)
    return done.stdout


def test_the_status_line_counts_the_notes_and_what_the_session_was_given(place, env, project, now):
    """By the project that the host names, wherever the model has gone; what is stale is counted too."""
    vault.learnings(place, 3)
    vault.built(place, now).close()
    host = {"session_id": "s1", "cwd": "/", "workspace": {"current_dir": "/", "project_dir": project}}
    assert line(env, host) == "dayleaf: 3 notes\n"
    receipts.write(place.receipts("s1"), {"v": 1, "event": "prompt", "chosen": [["l-1", 1.0, "x"], ["l-2", 1.0, "x"]]})
    assert line(env, host) == "dayleaf: 3 notes, 2 given\n"
    assert line(env, {**host, "session_id": "another"}) == "dayleaf: 3 notes\n"


@pytest.mark.parametrize("given", ["", "{}", "[]", "\0", '{"workspace": 3, "cwd": 4, "session_id": []}', "{" * 5000])
def test_a_status_line_never_fails(env, given):
    """Whatever the host gives."""
    assert line(env, given) == "dayleaf: no notes yet\n"
