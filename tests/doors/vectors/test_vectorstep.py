"""Vectors made behind the hooks: the worker finds NumPy, and what it makes has a bound."""

from __future__ import annotations

import json
import shutil
import venv
from pathlib import Path

import pytest
from harness import stubs, vault
from harness.embedded import contents
from harness.hook import fire, harmless
from harness.session import DATA

from memory.core import layout

pytest.importorskip("numpy")
SESSION = "65c898d6-9c7f-43b3-bd4f-84eb9dfc1980"


@pytest.fixture
def armed(world, place, tmp_path, ok):
    """The environment of a hook in a project whose only record has its vectors."""
    provider = stubs.provider(tmp_path)
    ok("config", "set", "embeddings.provider.command", provider.command)
    ok("config", "set", "embeddings.provider.args", json.dumps(provider.args))
    vault.put(place, "p/learnings/oil.md", "Oil", "The car needs oil.")
    ok("index", "build", "--embeddings")
    assert list(contents(place)) == ["p/learnings/oil.md"]
    return world


def end(world) -> None:
    """End a real session."""
    path = Path(world["HOME"], ".claude", "projects", "p", SESSION + ".jsonl")
    path.parent.mkdir(parents=True)
    shutil.copy(DATA / "tools-interactive.jsonl", path)
    event = {"hook_event_name": "SessionEnd", "session_id": SESSION, "reason": "other"}
    assert harmless(fire("session_end", {**event, "transcript_path": str(path)}, world)).settled


def failures(world) -> str:
    """Return the log of failures, "" where there is none."""
    log = Path(world["HOME"], ".dayleaf", "log", "errors.jsonl")
    return log.read_text() if log.exists() else ""


def test_a_sessions_end_makes_the_vectors_of_its_records(armed, place):
    """The conversation and the checkpoint have theirs, and no failure is noted."""
    end(armed)
    assert failures(armed) == ""
    assert {name.split("/")[1] for name in contents(place)} == {
        "learnings",
        "conversations",
        "checkpoints",
    }


def test_a_start_makes_the_vectors_of_a_record_written_by_hand(armed, place):
    """What a person wrote between two sessions is found by its meaning too."""
    vault.put(place, "p/learnings/salt.md", "Salt", "Bread wants salt.")
    event = {"hook_event_name": "SessionStart", "session_id": SESSION, "source": "startup"}
    assert harmless(fire("session_start", event, armed)).settled
    assert failures(armed) == "" and "p/learnings/salt.md" in contents(place)


def test_without_numpy_no_vectors_are_made_and_nothing_is_noted(armed, place, tmp_path):
    """Another runtime has none: words go on ranking, and no start says that something failed."""
    venv.create(tmp_path / "bare", symlinks=True)
    runtime = Path(layout.find_home(armed), "runtime")
    runtime.unlink()
    runtime.symlink_to(tmp_path / "bare")
    end(armed)
    assert failures(armed) == ""
    assert list(contents(place)) == ["p/learnings/oil.md"]
