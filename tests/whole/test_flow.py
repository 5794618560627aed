"""The way of a session's end: which of our modules the hook and its worker load."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness.session import DATA

from memory.index import builder

ROOT = Path(__file__).resolve().parents[2]
# modules of ours that a capture with nothing special about it loads; a new one costs every session
MOST = 63
SESSION = "65c898d6-9c7f-43b3-bd4f-84eb9dfc1980"
# The hook as it is, in one process: its fork returns as the child, without an alarm, and its end
# prints what was entered.
PROFILED = """
import _signal, posix, sys
root, hook = sys.argv[1:]
entered, leave, out = set(), posix._exit, posix.dup(1)
def note(frame, event, arg):
    name = frame.f_code.co_filename
    if event == "call" and name.startswith(root + "/memory/"):
        entered.add(name[len(root) + 1:])
def end(status):
    sys.setprofile(None)
    posix.write(out, "\\n".join(sorted(entered)).encode())
    leave(status)
posix.fork = posix.setsid = lambda: _signal.alarm(0) * 0
posix._exit = end
sys.setprofile(note)
exec(compile(open(hook).read(), hook, "exec"), {"__file__": hook, "__name__": "__main__"})
"""


@pytest.fixture
def ended(env, project, place, now):
    """End a session of a project whose index stands; give the modules that were entered:
    ended(transcript's lines).
    """

    def call(lines):
        for name in ("calc.py", "test_calc.py"):
            Path(project, name).write_text("def add(a, b):\n    return a + b\n")
        subprocess.run(
            "git add . && git commit -qm calc", shell=True, cwd=project, env=env, check=True
        )
        builder.build(place, now)
        path = Path(env["HOME"], ".claude", "projects", "p", SESSION + ".jsonl")
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\n".join(lines) + b"\n")
        event = {
            "session_id": SESSION,
            "transcript_path": str(path),
            "hook_event_name": "SessionEnd",
            "reason": "other",
        }
        hook = str(ROOT / "hooks" / "session_end.py")
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", PROFILED, str(ROOT), hook],
            input=json.dumps(event).encode(),
            env={**env, "CLAUDE_PROJECT_DIR": project},
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert len(list(Path(place.private, "checkpoints").glob("*/*.md"))) == 1
        assert not Path(place.home, "log", "errors.jsonl").exists()
        return {
            name[:-3].replace("/", ".")
            for name in done.stdout.decode().split("\n")
            if not name.endswith("__init__.py")
        }

    return call


def real(leave=rb"$^"):
    """The lines of a real transcript, without those that match."""
    data = (DATA / "tools-interactive.jsonl").read_bytes()
    return [line for line in data.splitlines() if not re.search(leave, line)]


def test_a_sessions_end_loads_no_more_than_it_needs(ended):
    """A real session: prompts, edits, commands, a commit; a checkpoint, its index and its marks."""
    loaded = ended(real(b"AssertionError"))
    assert len(loaded) <= MOST, "\n".join(sorted(loaded))
    assert {
        "memory.capture.stretches",
        "memory.store.store",
        "memory.index.builder",
        "memory.project.claims",
    } <= loaded


def test_what_has_nothing_to_do_loads_nothing(ended):
    """No plan, no receipts, no vectors, no remote: none of what serves them."""
    loaded = ended(real(b"AssertionError"))
    assert not {
        name
        for name in loaded
        if name.split(".")[1] in ("distill", "knowledge", "recall", "terminal", "cli")
    }
    assert not loaded & {
        "memory.store.activeplan",
        "memory.store.archive",
        "memory.store.ledger",
        "memory.project.adoption",
        "memory.index.assembly",
        "memory.doors.vectors.vectorfile",
        "memory.doors.vectors.embedder",
        "memory.project.manifests",
    }


def test_every_step_of_the_worker_stands_in_the_docs():
    """docs/hooks.md has a table row for each."""
    from memory.health import worker

    text = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    for title, steps in (
        ("SessionEnd", worker.AFTER_WORK),
        ("SessionStart", worker.AFTER_START),
        ("UserPromptSubmit", worker.AFTER_PROMPT),
    ):
        part = text.partition("## After " + title)[2].partition("\n## ")[0]
        assert re.findall(r"^\| `([a-z ]+)` \|", part, re.M) == [name for name, _ in steps]
