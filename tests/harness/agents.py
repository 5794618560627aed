"""Sessions of other agents, written in their shapes: rollouts of Codex CLI, chats of Gemini CLI."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

ID = "019a2b3c-0000-7000-8000-00000000c0de"
DAY = "2026-11-20T09:%02d:%02d.000Z"


def stamp(number: int) -> str:
    return DAY % divmod(number, 60)


def write(path: Path, text: str) -> Path:
    """Write a file dated an hour back, so that its session counts as ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (path.stat().st_mtime - 7200,) * 2)
    return path


def jsonl(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# ---- Codex CLI


def item(**payload: Any) -> tuple[str, dict[str, Any]]:
    return "response_item", payload


def said(role: str, text: str) -> tuple[str, dict[str, Any]]:
    return item(
        type="message",
        role=role,
        content=[{"type": "input_text" if role == "user" else "output_text", "text": text}],
    )


def called(call: str, name: str, **given: Any) -> tuple[str, dict[str, Any]]:
    return item(type="function_call", name=name, arguments=json.dumps(given), call_id=call)


def returned(
    call: str, output: Any, kind: str = "function_call_output"
) -> tuple[str, dict[str, Any]]:
    return item(type=kind, call_id=call, output=output)


def completed(kind: str, id: str, **item: Any) -> tuple[str, dict[str, Any]]:
    """Return the event of a command or a change, as version 0.171.0 writes it."""
    return "event_msg", {"type": "item_completed", "item": {"type": kind, "id": id, **item}}


def script(call: str, text: str, output: str) -> list[tuple[str, dict[str, Any]]]:
    """Return a script of code mode and its output."""
    parts = [{"type": "input_text", "text": text} for text in ("Script completed\n", output)]
    return [
        item(type="custom_tool_call", name="exec", call_id=call, input=text),
        returned(call, parts, "custom_tool_call_output"),
    ]


PATCH = (
    "*** Begin Patch\n*** Add File: parse/bom.py\n+x\n*** Update File: parse/main.py\n@@\n"
    "-a\n+b\n*** End Patch\n"
)


def codex_rows(project: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of a session that finds and mends a bug."""
    return [
        ("session_meta", {"id": ID, "cwd": project, "git": {"branch": "fix/bom"}}),
        said("developer", "You are a coding agent."),
        said("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        said("user", "why does the parser fail on files from Windows?"),
        (
            "event_msg",
            {"type": "user_message", "message": "why does the parser fail on files from Windows?"},
        ),
        called("c1", "exec_command", cmd="pytest tests/test_parse.py"),
        returned(
            "c1",
            "Chunk ID: 1a\nWall time: 0.5 seconds\nProcess exited with code 1\nOutput:\n"
            "tests/test_parse.py:7: AssertionError: unexpected U+FEFF\n1 failed in 0.10s",
        ),
        item(type="custom_tool_call", name="apply_patch", call_id="c2", input=PATCH),
        returned(
            "c2",
            json.dumps({"output": "Success. Updated files", "metadata": {"exit_code": 0}}),
            "custom_tool_call_output",
        ),
        called("c3", "shell", command=["bash", "-lc", "pytest tests/test_parse.py"]),
        returned("c3", json.dumps({"output": "1 passed in 0.10s", "metadata": {"exit_code": 0}})),
        called(
            "c4",
            "update_plan",
            plan=[
                {"step": "Strip the BOM", "status": "completed"},
                {"step": "Document it", "status": "pending"},
            ],
        ),
        returned("c4", "Plan updated"),
        said(
            "assistant",
            "The parser failed because a byte order mark stood before the first line; "
            "parse/bom.py strips it.",
        ),
        ("event_msg", {"type": "agent_message", "message": "The parser failed because …"}),
    ]


def codex(
    home: str, rows: list[tuple[str, dict[str, Any]]], id: str = ID, torn: bool = True
) -> Path:
    """Write a session file (rollout) of Codex and return its path."""
    lines = [
        {"timestamp": stamp(at), "type": kind, "payload": payload}
        for at, (kind, payload) in enumerate(rows)
    ]
    text = jsonl(lines) + ('{"timestamp": "2026-11-20T09:5' if torn else "")
    return write(
        Path(home, ".codex/sessions/2026/11/20/rollout-2026-11-20T09-00-00-%s.jsonl" % id), text
    )


# ---- Gemini CLI


def message(id: str, at: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": stamp(at), "type": kind, "content": content, **more}


def tool_call(
    id: str,
    at: int,
    name: str,
    args: dict[str, Any],
    output: str,
    status: str = "success",
    **more: Any,
) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "args": args,
        "status": status,
        "timestamp": stamp(at),
        **more,
        "result": [{"functionResponse": {"id": id, "name": name, "response": {"output": output}}}],
    }


def gemini_messages() -> list[dict[str, Any]]:
    """Return the messages of the session in `codex_rows`, as Gemini keeps them."""
    run = (
        "<untrusted_context>\nOutput: %s\nExit Code: %d\nProcess Group PGID: 7\n"
        "</untrusted_context>"
    )
    passed = run.replace("Exit Code: %d\n", "") % "1 passed in 0.10s"
    return [
        message(
            "m0",
            0,
            "user",
            [{"text": "<session_context>\nThis is the Gemini CLI.\n</session_context>"}],
        ),
        message("m1", 1, "user", [{"text": "why does the parser fail on files from Windows?"}]),
        message(
            "m2",
            2,
            "gemini",
            "I will run the tests.",
            toolCalls=[
                tool_call(
                    "t1",
                    3,
                    "run_shell_command",
                    {"command": "pytest tests/test_parse.py"},
                    run
                    % (
                        (
                            "tests/test_parse.py:7: AssertionError: unexpected "
                            "U+FEFF\n1 failed in 0.10s"
                        ),
                        1,
                    ),
                )
            ],
        ),
        message(
            "m3",
            4,
            "user",
            [
                {
                    "functionResponse": {
                        "id": "t1",
                        "name": "run_shell_command",
                        "response": {"output": "…"},
                    }
                }
            ],
        ),
        message(
            "m4",
            5,
            "gemini",
            "",
            toolCalls=[
                tool_call(
                    "t2",
                    6,
                    "write_file",
                    {"file_path": "parse/bom.py", "content": "x"},
                    "Successfully created",
                    resultDisplay={"isNewFile": True},
                ),
                tool_call(
                    "t3",
                    7,
                    "replace",
                    {"file_path": "parse/main.py", "old_string": "a", "new_string": "b"},
                    "Successfully modified",
                ),
                tool_call(
                    "t4", 8, "run_shell_command", {"command": "pytest tests/test_parse.py"}, passed
                ),
                tool_call("t5", 9, "run_shell_command", {"command": "git push"}, "", "cancelled"),
            ],
        ),
        message("m5", 10, "info", "a notice"),
        message(
            "m6",
            11,
            "gemini",
            [
                {
                    "text": (
                        "The parser failed because a byte order mark stood before the first line; "
                        "parse/bom.py strips it."
                    )
                }
            ],
        ),
    ]


def gemini(
    home: str,
    project: str,
    messages: list[dict[str, Any]],
    id: str = ID,
    old: bool = False,
    lines: list[Any] | None = None,
) -> Path:
    """Write a session file (chat) of Gemini and return its path.

    old: as one whole file.  lines: those after the first line of a file to replay, by default the
    messages.
    """
    head = {"sessionId": id, "startTime": stamp(0), "lastUpdated": stamp(30), "kind": "main"}
    folder = Path(home, ".gemini/tmp/shop")
    write(folder / ".project_root", project)
    if old:
        return write(
            folder / "chats" / ("session-a-%s.json" % id[:8]),
            json.dumps({**head, "messages": messages}),
        )
    rows = lines if lines is not None else messages
    return write(folder / "chats" / ("session-b-%s.jsonl" % id[:8]), jsonl([head, *rows]))
