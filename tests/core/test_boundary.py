"""Where a hook meets its host: it ends in time, and what failed is noted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from harness import vault
from harness.hook import ROOT, fire, harmless, payload
from harness.lab import until

from memory.core import layout
from memory.hook import at_start


def errors(place):
    """Return the failures that were noted."""
    path = Path(place.home, "log", "errors.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_hook_that_hung_is_said_at_the_next_start(tmp_path, world):
    """It ends itself, and leaves word of it; the next prompt is served."""
    plugin = tmp_path / "plugin copy"
    for folder in ("hooks", "memory"):
        shutil.copytree(
            ROOT / folder, plugin / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    source = plugin / "memory" / "core" / "boundary.py"
    source.write_text(source.read_text().replace("DEADLINE = 10", "DEADLINE = 1"))
    with (plugin / "memory" / "hook" / "loader.py").open("a") as file:
        file.write("\ndef choose_learnings(*_):\n    import time\n    time.sleep(60)\n")
    place = layout.locate(world, world["CLAUDE_PROJECT_DIR"])
    vault.put(place, "p/learnings/a.md", "The kafka rebalance trap", "x")
    answer = harmless(
        fire(
            "prompt",
            payload("UserPromptSubmit", prompt="why the kafka rebalance?"),
            world,
            plugin=plugin,
        )
    )
    assert answer.out == b"" and answer.seconds < 6
    until(lambda: bool(errors(place)))
    message = harmless(fire("session_start", payload("SessionStart", "startup"), world)).message
    assert "no answer within" in message and "nothing reached the model" in message


def test_failures_are_said_once(env, project, place):
    """The start after a failure tells the user; the worker marks it; the next start is silent."""
    from memory.core import boundary
    from memory.health import worker

    boundary.log_failure(env, "stop worker", ValueError("x"))
    payload = {"session_id": "s1", "cwd": project, "source": "startup"}
    quiet = {**env, "DAYLEAF_RUNTIME_AUTO": "0"}
    output, _ = at_start.on_session_start(payload, quiet, 1.0)
    assert "1 failure" in output["systemMessage"] and "ValueError" in output["systemMessage"]
    worker.after_start(payload, quiet, 1.0)
    output, _ = at_start.on_session_start(payload, quiet, 2.0)
    assert not output or "systemMessage" not in output
