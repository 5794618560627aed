"""The worker: its steps run in order, and none stops another."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from harness import conversations
from harness.hook import ROOT, fire, payload
from harness.lab import commit
from harness.session import Session

from memory.capture import stretches
from memory.core import config, files
from memory.health import worker
from memory.hook import indexview, signs

EVENTS = {
    "session_end": worker.AFTER_WORK,
    "session_start": worker.AFTER_START,
    "prompt": worker.AFTER_PROMPT,
}
STEPS = [(event, name) for event, steps in EVENTS.items() for name, _ in steps]

EVENT = {"session_id": "sess-1", "source": "startup"}


def at(env, project):
    return {**env, "CLAUDE_PROJECT_DIR": project, "DAYLEAF_RUNTIME_AUTO": "0"}


def broken(todo):
    raise OSError(28, "No space left on device")


@pytest.fixture
def todo(env, project, now):
    """What the steps of a session's end are given."""
    session = Session(env, project, now).copy("tools-interactive")
    event = {
        "hook_event_name": "SessionEnd",
        "session_id": session.name,
        "transcript_path": str(session.path),
    }
    return worker.make_job(event, {**session.env, "DAYLEAF_RUNTIME_AUTO": "0"}, now)


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
    assert [
        (row["where"], row["error"]) for row in signs.read_unreported_failures(todo.place.home)
    ] == [(event + " " + failing, "OSError")]


def test_a_session_without_a_checkpoint_is_still_indexed_and_counted(todo, monkeypatch):
    """The capture fails, and what the steps after it would do with no checkpoint is done without a
    second failure.
    """
    monkeypatch.setattr("memory.capture.stretches.capture", broken)
    worker.work(todo.event, todo.env, todo.now)
    assert [row["where"] for row in signs.read_unreported_failures(todo.place.home)] == [
        "session_end capture"
    ] and todo.written == []


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
        monkeypatch.setattr(
            name, lambda *given, real=real, name=name: seen.append(name) or real(*given)
        )
    worker.work(todo.event, todo.env, todo.now)
    assert seen == ["memory.core.layout.locate", "memory.core.config.load"]
    assert list(Path(todo.place.private, "checkpoints").glob("*/*.md"))


def test_a_folder_that_was_renamed_stays_off_from_its_first_event(env, project, now, ok):
    """Its commit tells what it was; nobody need have said yes, and an emptied cache changes
    nothing.
    """
    Path(project, "a.py").touch()
    commit(Path(project), "first")
    worker.after_start({**EVENT, "hook_event_name": "SessionStart"}, at(env, project), now)
    ok("off", "--mine")
    moved = project + "-after"
    os.rename(project, moved)
    for event in ("UserPromptSubmit", "SessionEnd"):
        job = worker.make_job({**EVENT, "hook_event_name": event}, at(env, moved), now)
        assert not job.settings["capture.enabled"] and not os.path.exists(job.place.private)
        shutil.rmtree(job.place.cache)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_sessions_end_makes_candidates_of_walls_and_indexes_them(todo, ok, now, wanted):
    """Unless the user wants no capture; a start only reads the records."""
    for day, session in enumerate(("one", "two"), 16):
        conversations.held(
            todo.place,
            session,
            "2026-11-%d" % day,
            "## 09:00 go on\n\n- ✗ `acme issue list --open` → exit 2: "
            "unknown flag: --open\n- ✓ `acme issue list --state open`\n\nDone.\n",
        )
    ok("config", "set", "capture.enabled", str(wanted).lower())
    worker.after_start({**todo.event, "hook_event_name": "SessionStart"}, todo.env, now)
    assert not list(Path(todo.place.private).glob("learnings/*.md"))
    worker.work(todo.event, todo.env, now)
    with closing(indexview.open_index(todo.place)) as index:
        held = [
            doc.name for doc in map(index.doc, range(index.documents)) if doc.kind == "learning"
        ]
    assert [name.startswith("p/learnings/acme-issue-list-open-fails") for name in held] == [
        True
    ] * wanted


# --- the deadline

SLOW = """
import sys
sys.path.insert(0, sys.argv[1])
from memory.core import boundary, files
from memory.health import worker
worker.DEADLINE, worker.AGAIN = 1.0, 0.5

def spin(todo):
    files.replace(todo.place.home + "/whole", b"before")
    try:
        while True:
            sum(range(1000))
    except Exception:
        pass

def after(todo):
    files.replace(todo.place.home + "/after", b"")

worker.AFTER_WORK = (*worker.AFTER_WORK[:2], ("slow", spin), ("after", after))
boundary.run("session_end", "", "memory.health.worker:work")
"""


def slowly(session) -> bool:
    """Fire a hook whose worker has a step that never ends; tell whether the worker came to an end
    by itself.
    """
    read, write = os.pipe()
    payload = {
        "hook_event_name": "SessionEnd",
        "session_id": session.name,
        "transcript_path": str(session.path),
        "cwd": session.project,
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", SLOW, str(ROOT)],
        env={**session.env, "DAYLEAF_RUNTIME_AUTO": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(write,),
    )
    os.close(write)
    out, _ = process.communicate(json.dumps(payload).encode(), timeout=30)
    assert process.returncode == 0 and not out
    try:
        return bool(select.select([read], [], [], 60)[0])
    finally:
        os.close(read)


def test_a_step_that_never_ends_is_ended_said_once_and_the_next_capture_goes_on(
    env, project, now, ok
):
    """A real hook and its detached worker: what was written before the step stands whole, and
    nothing half-written is left.
    """
    session = (
        Session(env, project, now)
        .ask("look at the queue")
        .edit("a.py")
        .bash("pytest -q", "1 passed")
        .say("The queue holds nine.")
    )
    assert slowly(session)
    assert len(session.where()) == 1 and Path(session.place.home, "whole").read_bytes() == b"before"
    assert not Path(session.place.home, "after").exists(), (
        "what comes after waits for the next start"
    )
    assert [
        (row["where"], row["error"]) for row in signs.read_unreported_failures(session.place.home)
    ] == [("session_end slow", "Spent")]
    assert not [
        path
        for path in Path(session.place.home).rglob("*")
        if path.name.startswith(files.TEMP_PREFIX)
    ]
    assert "session_end slow Spent" in ok("doctor")
    start = payload("SessionStart", "startup", session_id="s-next", cwd=project)
    first, second = (
        fire("session_start", start, {**session.env, "DAYLEAF_RUNTIME_AUTO": "0"}) for _ in range(2)
    )
    assert "CPU" in first.message and "CPU" not in second.message
    session.ask("and the worker?").edit("b.py").bash("pytest -q", "2 passed").say(
        "The worker sleeps."
    )
    session.fire("SessionEnd")
    assert (
        "The worker sleeps." in session.talk()
        and session.talk().count("The queue holds nine.") == 1
    )


def test_a_transcript_that_takes_too_long_is_written_in_part_and_read_on(
    env, project, now, monkeypatch
):
    """The capture stops between two portions, and the next one takes up every line after them,
    once.
    """
    session = Session(env, project, now)
    for number in range(30):
        session.ask("step %d of the plan" % number).edit("src/f%d.py" % number).say(
            "Step %d is done." % number
        )
    monkeypatch.setattr("memory.capture.stretches.PORTION", 4000)
    asked = iter([False, False, False])
    settings = config.load(session.place.home, session.place.root, session.env)

    def captured(pause):
        return stretches.capture(
            session.place,
            settings,
            session.env,
            now,
            session.name,
            str(session.path),
            "session_end",
            pause=pause,
        )

    assert captured(lambda: next(asked, True))
    part = session.talk()
    assert "Step 0 is done." in part and "Step 29 is done." not in part
    captured(lambda: False)
    assert [session.talk().count("Step %d is done." % number) for number in range(30)] == [1] * 30


def test_a_line_that_is_longer_than_a_portion_stops_no_reading(env, project, now, monkeypatch):
    session = Session(env, project, now).ask("read " + "x " * 4000).edit("a.py").say("It is long.")
    monkeypatch.setattr("memory.capture.stretches.PORTION", 1000)
    session.capture("SessionEnd")
    settings = config.load(session.place.home, session.place.root, session.env)
    stretches.capture(
        session.place,
        settings,
        session.env,
        now,
        session.name,
        str(session.path),
        "session_end",
        pause=lambda: False,
    )
    assert "It is long." in session.talk()


def test_the_work_of_a_thread_has_no_timer(todo):
    """A signal belongs to the main thread: elsewhere the steps run without a limit."""
    done = []
    thread = threading.Thread(
        target=worker.run, args=("prompt", (("one", lambda todo: done.append(1)),), todo)
    )
    thread.start()
    thread.join()
    assert done == [1]
