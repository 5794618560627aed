"""Hooks started as the client starts them: a bare environment, a payload on stdin, detached work
waited for.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAYLOADS = ROOT / "tests" / "data" / "payloads"
# The client's events and the hooks that answer them.
HOOKS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "UserPromptExpansion": "expansion",
    "PreToolUse": "agent",
    "PostToolUseFailure": "failure",
    "PostToolUse": "masked",
    "PreCompact": "pre_compact",
    "Stop": "stop",
    "SessionEnd": "session_end",
}
CAP = 10_000  # UTF-16 units of a hook's text; above, the client shows a preview of 2,000


@dataclass
class Answer:
    """What a hook gave the client, and whether its detached work came to an end."""

    rc: int
    out: bytes
    err: str
    seconds: float
    settled: bool

    @property
    def json(self) -> dict[str, Any]:
        """Return the object that the hook printed, {} for none."""
        return json.loads(self.out) if self.out else {}

    @property
    def context(self) -> str:
        """Return the text that the model is given."""
        return self.json.get("hookSpecificOutput", {}).get("additionalContext", "")

    @property
    def message(self) -> str:
        """Return the text that the user sees."""
        return self.json.get("systemMessage", "")


def payload(event: str, variant: str = "", **changes: Any) -> dict[str, Any]:
    """Return a payload that the real client sent, with some fields changed."""
    name = f"{event}.{variant}.json" if variant else f"{event}.json"
    return {**json.loads((PAYLOADS / name).read_text()), **changes}


def fire(
    hook: str,
    event: dict[str, Any] | bytes,
    env: dict[str, str],
    *,
    plugin: Path = ROOT,
    cwd: str | Path = "/",
    prefix: tuple[str, ...] = (),
    settle: float = 30.0,
    **popen: Any,
) -> Answer:
    """Run one hook process.

    hook: its word, "" for none: a client below 2.1.139 drops it.  event: the payload, or raw bytes
    for stdin.  env: the whole environment.  prefix: words before the command, such as setpriv's.
    settle: seconds to wait for the detached work: it holds a pipe of ours, whose end tells that it
    is over.
    """
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    read, write = os.pipe()
    start = time.monotonic()
    process = subprocess.Popen(
        [*prefix, str(plugin / "hooks" / "run"), *filter(None, [hook])],
        env=env,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(write,),
        **popen,
    )
    os.close(write)
    try:
        out, err = process.communicate(data, timeout=60)
        seconds = time.monotonic() - start
        settled = bool(select.select([read], [], [], settle)[0])
    finally:
        os.close(read)
    return Answer(process.returncode, out, err.decode("utf-8", "replace"), seconds, settled)


def harmless(answer: Answer) -> Answer:
    """Check what every hook owes the client, whatever happened to it."""
    assert answer.rc == 0, answer
    assert answer.err == "", answer
    if answer.out:
        value = json.loads(answer.out)
        assert isinstance(value, dict), answer
        assert "decision" not in value and value.get("continue", True), answer
        for text in (answer.context, answer.message):
            assert len(text.encode("utf-16-le", "surrogatepass")) // 2 <= CAP, (
                "the client would cut this"
            )
    return answer


def push(
    env: dict[str, str], project: str, name: str, session: str, **fields: Any
) -> dict[str, Any]:
    """Run the hook of an event in a project; return its answer, {} for none.

    fields: more of the event.
    """
    event = {"hook_event_name": name, "session_id": session, "cwd": project, **fields}
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ROOT / "hooks" / (HOOKS[name] + ".py"))],
        input=json.dumps(event),
        capture_output=True,
        cwd=project,
        encoding="utf-8",
        env={**env, "CLAUDE_PROJECT_DIR": project, "DAYLEAF_RUNTIME_AUTO": "0"},
    )
    return json.loads(done.stdout) if done.stdout else {}
