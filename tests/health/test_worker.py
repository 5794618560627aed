"""The worker: its steps run in order, and none stops another."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from harness import conversations
from harness.session import Session

from memory.health import worker
from memory.hook import indexview, signs

EVENTS = {"session_end": worker.AFTER_WORK, "session_start": worker.AFTER_START, "prompt": worker.AFTER_PROMPT}
STEPS = [(event, name) for event, steps in EVENTS.items() for name, _ in steps]


def broken(todo):
    raise OSError(28, "No space left on device")


@pytest.fixture
def todo(env, project, now):
    """What the steps of a session's end are given."""
    session = Session(env, project, now).copy("tools-interactive")
    event = {"hook_event_name": "SessionEnd", "session_id": session.name, "transcript_path": str(session.path)}
    return worker.job(event, {**session.env, "DAYLEAF_RUNTIME_AUTO": "0"}, now)


@pytest.mark.parametrize(("event", "failing"), STEPS)
def test_a_step_that_fails_is_noted_by_its_name_and_the_others_run(event, failing, todo):
    """Each step in turn."""
    done = []

    def watched(name, step):
        def call(given):
            step(given)
            done.append(name)
        return name, broken if name == failing else call

    worker.run(event, tuple(watched(*row) for row in EVENTS[event]), todo)
    assert done == [name for name, _ in EVENTS[event] if name != failing]
    assert [(row["where"], row["error"]) for row in signs.unsaid(todo.place.home)] == [(event + " " + failing, "OSError")]


def test_a_session_without_a_checkpoint_is_still_indexed_and_counted(todo, monkeypatch):
    """The capture fails, and what the steps after it would do with no checkpoint is done without a second failure."""
    monkeypatch.setattr("memory.capture.stretches.capture", broken)
    worker.work(todo.event, todo.env, todo.now)
    assert [row["where"] for row in signs.unsaid(todo.place.home)] == ["session_end capture"] and todo.written == []


def test_the_steps_of_an_event_are_named_once():
    """A name in the log says which step it was."""
    for steps in EVENTS.values():
        assert len({name for name, _ in steps}) == len(steps)


def test_one_event_has_one_place_and_one_settings(todo, monkeypatch):
    """No step looks for the workspace, or reads the settings, again."""
    seen = []
    for name in ("memory.core.layout.locate", "memory.core.config.load"):
        module, _, function = name.rpartition(".")
        real = getattr(__import__(module, fromlist=[function]), function)
        monkeypatch.setattr(name, lambda *given, real=real, name=name: seen.append(name) or real(*given))
    worker.work(todo.event, todo.env, todo.now)
    assert seen == ["memory.core.layout.locate", "memory.core.config.load"]
    assert list(Path(todo.place.private, "checkpoints").glob("*/*.md"))


@pytest.mark.parametrize("wanted", [True, False])
def test_a_sessions_end_makes_candidates_of_walls_and_indexes_them(todo, ok, now, wanted):
    """Unless the user wants no candidates; a start only reads the records."""
    for day, session in enumerate(("one", "two"), 16):
        conversations.held(todo.place, session, "2026-11-%d" % day, "## 09:00 go on\n\n- ✗ `acme issue list --open` → exit 2: "
                           "unknown flag: --open\n- ✓ `acme issue list --state open`\n\nDone.\n")
    ok("config", "set", "capture.lessons", str(wanted).lower())
    worker.after_start({**todo.event, "hook_event_name": "SessionStart"}, todo.env, now)
    assert not list(Path(todo.place.private).glob("learnings/*.md"))
    worker.work(todo.event, todo.env, now)
    with closing(indexview.open_index(todo.place)) as index:
        held = [doc.name for doc in map(index.doc, range(index.documents)) if doc.kind == "learning"]
    assert [name.startswith("p/learnings/acme-issue-list-open-fails") for name in held] == [True] * wanted
