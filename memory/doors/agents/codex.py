"""Sessions of Codex CLI: rollouts below CODEX_HOME, or `.codex` in HOME.

`sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, appended to; the last line may be torn.  A line is
{timestamp, type, payload}:

    session_meta     id (older: session_id), cwd, git.branch
    response_item    role user | assistant with content; developer's and the client's own are left
                     out function_call: exec_command, shell and their like (arguments: JSON with cmd
                     or command), update_plan function_call_output: output, the exit status within
                     custom_tool_call: apply_patch (input: the patch); custom_tool_call_output
    event_msg        user_message, agent_message: the same again; older rollouts have only these.
                     item_completed: a command or a change of files, also of a script's calls in
                     code mode, which no response_item holds.  thread_rolled_back: turns taken back
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Collection, Iterator
from typing import Any

from memory.doors.agents.otheragents import Maker, Spoken, instant, text_of

SHELLS = ("exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec")
ARGUMENTS = 1 << 20  # characters of a call's arguments that are parsed
_OWN = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|skill"
    r"|INSTRUCTIONS|collaboration_mode|user_shell_command)\b|# AGENTS\.md instructions)"
)
_STATUS = re.compile(r"(?:Process exited with code|[Ee]xit code:?|exit_code\"?:) *(-?\d{1,5})")
_OUTPUT = re.compile(r"\A.{0,2000}?^(?:Final )?[Oo]utput:\n", re.S | re.M)
_UNKNOWN_TOOL = re.compile(r"unsupported (?:custom tool )?call: ")  # as the client says it
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)(?:\n\*\*\* Move to: (.+))?$", re.M)


class Codex:
    """A reader of Codex CLI's rollouts."""

    name = "codex"

    def paths(self, env: dict[str, str]) -> Iterator[str]:
        """Yield the rollouts by name, oldest first."""
        home = env.get("CODEX_HOME") or (env["HOME"] + "/.codex" if env.get("HOME") else "")
        for folder, folders, names in os.walk(home + "/sessions") if home else ():
            folders.sort()
            yield from (
                folder + "/" + name
                for name in sorted(names)
                if name.startswith("rollout-") and name.endswith(".jsonl")
            )

    def spoken(self, path: str, data: bytes, env: dict[str, str]) -> Spoken | None:
        """Return the session in a rollout."""
        lines = list(filter(None, map(_line, data.split(b"\n"))))
        meta = next(iter(_payloads(lines, "session_meta")), {})
        id, cwd = meta.get("id") or meta.get("session_id"), meta.get("cwd")
        if not isinstance(id, str) or not isinstance(cwd, str) or _is_subagent(meta):
            return None
        made = Maker(id, cwd)
        made.branch = _branch(meta)
        items = _payloads(lines, "response_item")
        roles = {item.get("role") for item in items}
        calls = {item.get("call_id") for item in items}
        is_older = not roles & {"user", "assistant"}
        for line in lines:
            made.at = instant(line.get("timestamp")) or made.at
            if line.get("type") == "response_item":
                _item(made, _payload(line))
            elif line.get("type") == "event_msg":
                _event(made, _payload(line), calls, is_older)
        return Spoken(id, cwd, [row for row in made.rows if row["timestamp"]])


def _line(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw.decode("utf-8", "replace")) if raw.strip() else {}
    except ValueError:  # torn
        return {}
    return found if isinstance(found, dict) else {}


def _payload(line: dict[str, Any]) -> dict[str, Any]:
    found = line.get("payload")
    return found if isinstance(found, dict) else {}


def _payloads(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [_payload(line) for line in lines if line.get("type") == kind]


def _branch(meta: dict[str, Any]) -> str:
    git = meta.get("git")
    return str(git.get("branch") or "") if isinstance(git, dict) else ""


def _is_subagent(meta: dict[str, Any]) -> bool:
    source = meta.get("source")
    return isinstance(source, dict) and "subagent" in source


def _take_back(made: Maker, turns: object) -> None:
    """Remove the rows of the last turns, which the user rolled back."""
    asked = [at for at, row in enumerate(made.rows) if "promptSource" in row]
    if isinstance(turns, int) and turns > 0:
        del made.rows[(asked[-turns:] or [0])[0] :]


def _add_completed(made: Maker, item: object, calls: Collection[object]) -> None:
    """Add a finished command or change that no response item tells."""
    item = item if isinstance(item, dict) else {}
    call, kind = str(item.get("id") or ""), item.get("type")
    if not call or call in calls:
        return
    if kind == "CommandExecution":
        command, status = _command(item.get("command")), item.get("exit_code")
        if command:
            made.used(call, "Bash", {"command": command})
            output = text_of(item.get("aggregated_output"))
            made.ran(call, output, status if isinstance(status, int) else None)
    elif kind == "FileChange" and item.get("status") == "completed":
        _change(made, call, _changes(item.get("changes")))
        _end_changes(made, _open(made, call), text_of(item.get("stdout")), False)


def _changes(changes: object) -> list[tuple[str, str]]:
    """Return (what, path) of each change."""
    done: list[tuple[str, str]] = []
    for path, change in changes.items() if isinstance(changes, dict) else ():
        change = change if isinstance(change, dict) else {}
        what = {"add": "Add", "delete": "Delete"}.get(str(change.get("type")), "Update")
        done += _steps(what, path, str(change.get("move_path") or ""))
    return done


def _steps(what: str, path: str, moved: str) -> list[tuple[str, str]]:
    """Return (what, path) of a change; a move removes the old path."""
    return [("Delete", path), (what, moved)] if moved else [(what, path)]


def _add_message(made: Maker, role: str, text: str) -> None:
    if role == "user" and text.strip() and not _OWN.match(text):
        made.asked(text)
    elif role == "assistant" and text.strip():
        made.answered(text)


def _event(made: Maker, payload: dict[str, Any], calls: Collection[object], is_older: bool) -> None:
    """Take an event; a message of an older rollout stands in events alone."""
    kind = payload.get("type")
    if kind == "thread_rolled_back":
        _take_back(made, payload.get("num_turns"))
    elif kind == "item_completed":
        _add_completed(made, payload.get("item"), calls)
    elif is_older:
        role = {"user_message": "user", "agent_message": "assistant"}.get(str(kind), "")
        _add_message(made, role, text_of(payload.get("message")))


def _item(made: Maker, payload: dict[str, Any]) -> None:
    kind, call = payload.get("type"), str(payload.get("call_id") or "")
    if payload.get("role"):
        if not _is_harness(payload):
            _add_message(made, str(payload["role"]), text_of(payload.get("content")))
    elif kind == "function_call":
        _called(
            made,
            call,
            str(payload.get("name")),
            _line(str(payload.get("arguments") or "")[:ARGUMENTS].encode()),
        )
    elif kind == "custom_tool_call" and payload.get("name") == "apply_patch":
        _patched(made, call, str(payload.get("input") or ""))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        _end(made, call, *_output(payload.get("output")))


def _end(made: Maker, call: str, output: str, status: int | None) -> None:
    """Add a call's output to its uses."""
    for use in _open(made, call):
        if use["name"] == "Bash":
            made.ran(use["id"], output, status)
        elif use["name"] == "TodoWrite":
            made.returned(use["id"], "", False, {"newTodos": use["input"]["todos"]})
        else:
            failed = not output.startswith("Success") if status is None else bool(status)
            _end_changes(made, [use], output, failed)


def _is_harness(payload: dict[str, Any]) -> bool:
    """Return whether the client says that no person wrote a message."""
    held = payload.get("internal_chat_message_metadata_passthrough")
    parts = held.get("content_item_metadata") if isinstance(held, dict) else None
    sources = (
        [part.get("provenance") for part in parts if isinstance(part, dict)]
        if isinstance(parts, list)
        else []
    )
    kinds = {source.get("type") for source in sources if isinstance(source, dict)}
    return "harness" in kinds and "user" not in kinds


def _end_changes(made: Maker, uses: list[dict[str, Any]], output: str, failed: bool) -> None:
    for use in uses:
        created = "create" if use["name"] == "Write" else ""
        what = "delete" if use["input"].get("removed") else created
        made.returned(use["id"], output, failed, {"type": what} if what else None)


def _called(made: Maker, call: str, name: str, given: dict[str, Any]) -> None:
    if name == "update_plan" and isinstance(given.get("plan"), list):
        steps = [step for step in given["plan"] if isinstance(step, dict)]
        todos = [
            {"content": str(step.get("step") or ""), "status": step.get("status")} for step in steps
        ]
        made.used(call, "TodoWrite", {"todos": todos})
    elif name == "apply_patch":
        _patched(made, call, str(given.get("input") or given.get("patch") or ""))
    elif name in SHELLS:
        _in_shell(made, call, given.get("cmd") or given.get("command"))


def _in_shell(made: Maker, call: str, said: object) -> None:
    words = [str(word) for word in said] if isinstance(said, list) else []
    if words[:1] == ["apply_patch"] and len(words) == 2:
        _patched(made, call, words[1])
        return
    command = _command(said)
    if command:
        made.used(call, "Bash", {"command": command})


def _command(said: object) -> str:
    """Return the shell's command; a list may call the shell itself."""
    if not isinstance(said, list):
        return said if isinstance(said, str) else ""
    words = [str(word) for word in said]
    wrapped = len(words) == 3 and words[1] in ("-lc", "-c")
    return words[2] if wrapped else shlex.join(words)


def _patched(made: Maker, call: str, patch: str) -> None:
    """Add a patch as one edit for each file."""
    done: list[tuple[str, str]] = []
    for what, path, moved in _PATCHED.findall(patch):
        done += _steps(what, path, moved)
    _change(made, call, done)


def _change(made: Maker, call: str, changes: list[tuple[str, str]]) -> None:
    """Add an edit for each (what, path)."""
    for number, (what, path) in enumerate(changes):
        given: dict[str, Any] = {
            "file_path": os.path.normpath(os.path.join(made.cwd, path.strip()))
        }
        made.used(
            "%s#%d" % (call, number),
            "Write" if what == "Add" else "Edit",
            {**given, "removed": True} if what == "Delete" else given,
        )


def _open(made: Maker, call: str) -> list[dict[str, Any]]:
    """Return the tool uses recorded for a call."""
    found = []
    for row in reversed(made.rows[-256:]):
        block = row["message"]["content"][0] if isinstance(row["message"]["content"], list) else {}
        if block.get("type") == "tool_use" and block["id"].split("#")[0] == call:
            found.append(block)
    return found[::-1]


def _output(said: object) -> tuple[str, int | None]:
    """Return (output, exit status or None) of a call."""
    text = text_of(said)
    held = _line(text.encode("utf-8", "replace")) if text.startswith("{") else {}
    if isinstance(held.get("output"), str):
        meta = held.get("metadata")
        code = meta.get("exit_code") if isinstance(meta, dict) else None
        return held["output"], code if isinstance(code, int) else None
    status = _STATUS.search(text[:2000])
    if status is None:
        return text, 1 if _UNKNOWN_TOOL.match(text) else None
    return _OUTPUT.sub("", text, count=1), int(status[1])
