"""Pushes: receipts as hooks write them, and hooks run as the client does."""

from __future__ import annotations

import json
import subprocess
import sys

from harness.hook import ROOT
from memory.core import clock
from memory.hook import receipts


def push(place, session, at, *ids, event="prompt", prompt="p1", ms=10, tokens=None, chars=400):
    """Write one receipt of a push."""
    row = {
        "v": 1,
        "t": clock.iso(at),
        "event": event,
        "chosen": [[id, 1.0, "why"] for id in ids],
        "chars": chars,
        "ms": ms,
        "saved": 7,
    }
    receipts.write(
        place.receipts(session),
        {
            **row,
            **({"prompt": prompt} if event == "prompt" else {"source": "startup"}),
            **({} if tokens is None else {"tokens": tokens}),
        },
    )


def hooked(env, project, name, session, **fields):
    """Run a hook as the client does."""
    script = {
        "SessionStart": "session_start",
        "UserPromptSubmit": "prompt",
        "PostToolUseFailure": "failure",
    }[name]
    event = {"hook_event_name": name, "session_id": session, "cwd": project, **fields}
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ROOT / "hooks" / (script + ".py"))],
        input=json.dumps(event),
        capture_output=True,
        cwd=project,
        encoding="utf-8",
        env={**env, "CLAUDE_PROJECT_DIR": project, "DAYLEAF_RUNTIME_AUTO": "0"},
    )
    return json.loads(done.stdout) if done.stdout else {}
