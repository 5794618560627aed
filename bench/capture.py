#!/usr/bin/env python3
"""Time of the capture worker as a process of its own: a usual transcript (200 KB) and long ones (50
MB).

    bench/capture.py [--runs 7]

The transcripts are generated; `mixed` holds what real ones hold (prompt snapshots and request
copies are most of the bytes), `dense` nothing but short turns.  The worker is run in the
foreground, Python's start included.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from memory.core import clock, files\n"
    "from memory.health import worker\n"
    "worker.work({'hook_event_name': 'SessionEnd', 'session_id': 's', 'transcript_path': "
    "sys.argv[2]}, files.read_environ(), clock.now())"
)


# Real records carry ids, usage, model and version: 1.1 KB a line in the bundled transcripts.
PADDING = {f"key_{i}": f"value-{i:08d}" for i in range(28)}


def turn(number: int) -> list[dict]:
    """Return the lines of one turn: one prompt, one edit, one failing and one passing command."""

    def line(kind: str, content: object, **keys: object) -> dict:
        return {
            "type": kind,
            "uuid": f"u{number}-{kind}-{keys.get('n', 0)}",
            "timestamp": "2026-11-21T10:00:00Z",
            "sessionId": "s",
            "cwd": "/src",
            "message": {"role": kind, "content": content},
            "extra": PADDING,
            **keys,
        }

    def call(n: int, name: str, given: dict) -> dict:
        return line(
            "assistant",
            [{"type": "tool_use", "id": f"t{number}-{n}", "name": name, "input": given}],
            n=n,
        )

    def result(n: int, text: str, failed: bool) -> dict:
        return line(
            "user",
            [
                {
                    "type": "tool_result",
                    "tool_use_id": f"t{number}-{n}",
                    "content": text,
                    "is_error": failed,
                }
            ],
            n=10 + n,
        )

    return [
        line(
            "user",
            f"fix case {number} of the parser",
            promptSource="typed",
            origin={"kind": "human"},
        ),
        call(1, "Bash", {"command": f"pytest tests/test_{number % 50}.py"}),
        result(1, "Exit code 1\nAssertionError", True),
        call(
            2,
            "Edit",
            {"file_path": f"/src/parser{number % 50}.py", "old_string": "a", "new_string": "b"},
        ),
        result(2, "updated", False),
        call(3, "Bash", {"command": f"pytest tests/test_{number % 50}.py"}),
        result(3, "1 passed", False),
        line(
            "assistant",
            [{"type": "text", "text": f"Case {number} failed because the token was dropped."}],
            n=9,
        ),
    ]


def transcript(path: Path, size: int, dense: bool) -> None:
    snapshot = json.dumps(
        {"type": "attachment", "attachment": {"type": "prompt_snapshot", "tools": "x" * 20000}}
    )
    with path.open("w") as file:
        number = 0
        while file.tell() < size:
            for row in turn(number):
                file.write(json.dumps(row) + "\n")
            if not dense:
                file.write(snapshot + "\n")
            number += 1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        home = Path(tmp) / "home"
        folder = home / ".claude" / "projects" / "x"
        folder.mkdir(parents=True)
        for name, size, dense in (
            ("usual", 200_000, False),
            ("mixed", 50_000_000, False),
            ("dense", 50_000_000, True),
        ):
            path = folder / f"{name}.jsonl"
            transcript(path, size, dense)
            times = []
            for _ in range(args.runs):
                shutil.rmtree(home / ".dayleaf", ignore_errors=True)
                start = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-I", "-S", "-c", WORKER, str(ROOT), str(path)],
                    cwd=tmp,
                    check=True,
                    env={"HOME": str(home), "PATH": os.defpath, "CLAUDE_PROJECT_DIR": tmp},
                )
                times.append(time.perf_counter() - start)
            assert list(home.glob(".dayleaf/workspaces/*/checkpoints/*/*.md")), (
                "no checkpoint was written"
            )
            print(
                f"{name:6} {path.stat().st_size / 1e6:6.1f} MB  median "
                f"{1000 * statistics.median(times):6.0f} ms  max {1000 * max(times):6.0f} ms"
            )


if __name__ == "__main__":
    main()
