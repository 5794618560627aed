"""Sessions of Codex CLI: rollouts below CODEX_HOME, or `.codex` in HOME.

`sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, appended to; the last line may be torn.  A line is
{timestamp, type, payload}:

    session_meta     id (older: session_id), cwd, git.branch; source, originator: what started it
    response_item    role user | assistant with content; developer's and the client's own are left
                     out function_call: exec_command, shell and their like (arguments: JSON with cmd
                     or command), update_plan function_call_output: output, the exit status within
                     custom_tool_call: apply_patch (input: the patch); custom_tool_call_output
    event_msg        user_message, agent_message: the same again; older rollouts have only these.
                     item_completed: a command or a change of files, also of a script's calls in
                     code mode, which no response_item holds.  thread_rolled_back: turns taken back
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from memory.core import fastjson
from memory.doors.agents.otheragents import AgentSession, as_object, join_text, parse_object

SHELLS = ("exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec")
ARGUMENTS_LIMIT = 1 << 20  # characters of a call's arguments
# a message that the client itself adds
_CLIENT_MESSAGE = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|skill"
    r"|INSTRUCTIONS|collaboration_mode|user_shell_command)\b|# AGENTS\.md instructions)"
)
_EXIT_STATUS = re.compile(r"(?:Process exited with code|[Ee]xit code:?|exit_code\"?:) *(-?\d{1,5})")
# all before the output of a command
_OUTPUT_HEADER = re.compile(r"\A.{0,2000}?^(?:Final )?[Oo]utput:\n", re.S | re.M)
_UNKNOWN_TOOL = re.compile(r"unsupported (?:custom tool )?call: ")  # in the client's words
# (Add, Update or Delete; path; new path or "") of a file in a patch
_PATCHED_FILE = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (.+)(?:\n\*\*\* Move to: (.+))?$", re.M
)


class Codex:
    """A reader of Codex CLI's rollouts."""

    name = "codex"

    def paths(self, env: dict[str, str]) -> Iterator[str]:
        """Yield the paths of the rollouts, oldest first."""
        home = env.get("CODEX_HOME") or (env["HOME"] + "/.codex" if env.get("HOME") else "")
        for folder, folders, names in os.walk(home + "/sessions") if home else ():
            folders.sort()
            yield from (
                folder + "/" + name
                for name in sorted(names)
                if name.startswith("rollout-") and name.endswith(".jsonl")
            )

    def parse_session(self, path: str, data: bytes, env: dict[str, str]) -> AgentSession | None:
        """Parse a rollout, None for a subagent's or an invalid one."""
        lines = fastjson.parse_rows(data)
        meta = next(iter(_list_payloads(lines, "session_meta")), {})
        id, cwd = meta.get("id") or meta.get("session_id"), meta.get("cwd")
        is_subagent = "subagent" in as_object(meta.get("source"))
        if not isinstance(id, str) or not isinstance(cwd, str) or is_subagent:
            return None
        session = AgentSession(id, cwd)
        session.branch = str(as_object(meta.get("git")).get("branch") or "")
        session.headless = _is_unattended(meta)
        items = _list_payloads(lines, "response_item")
        roles = {item.get("role") for item in items}
        calls = {item.get("call_id") for item in items}
        is_older = not roles & {"user", "assistant"}
        for line in lines:
            session.set_time(line.get("timestamp"))
            payload = as_object(line.get("payload"))
            if line.get("type") == "response_item":
                _add_item(session, payload)
            elif line.get("type") == "event_msg":
                _add_event(session, payload, calls, is_older)
        return session


def _list_payloads(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [as_object(line.get("payload")) for line in lines if line.get("type") == kind]


def _is_unattended(meta: dict[str, Any]) -> bool:
    """Tell whether nobody types into a session, such as `codex exec`."""
    program = str(meta.get("originator"))
    return meta.get("source") in ("exec", "mcp") or program.startswith(("codex_exec", "codex_sdk"))


def _remove_turns(session: AgentSession, number: object) -> None:
    """Remove the last turns, which the user took back."""
    requests = [at for at, row in enumerate(session.rows) if "promptSource" in row]
    if isinstance(number, int) and number > 0:
        del session.rows[next(iter(requests[-number:]), 0) :]


def _add_completed(session: AgentSession, item: dict[str, Any], calls: Collection[object]) -> None:
    """Add a finished command or file change that no response item holds."""
    call, kind = str(item.get("id") or ""), item.get("type")
    if not call or call in calls:
        return
    if kind == "CommandExecution":
        command, status = _format_command(item.get("command")), item.get("exit_code")
        if command:
            session.add_call(call, "Bash", {"command": command})
            output = join_text(item.get("aggregated_output"))
            session.add_command_result(call, output, status if isinstance(status, int) else None)
    elif kind == "FileChange" and item.get("status") == "completed":
        _add_changes(session, call, _list_changes(item.get("changes")))
        for use in _find_tool_uses(session, call):
            _add_change_result(session, use, join_text(item.get("stdout")), False)


def _list_changes(changes: object) -> Iterator[tuple[str, str, str]]:
    """Yield (action, path, new path or "") of the changed files."""
    for path, change in as_object(changes).items():
        change = as_object(change)
        action = {"add": "Add", "delete": "Delete"}.get(str(change.get("type")), "Update")
        yield action, path, str(change.get("move_path") or "")


def _add_message(session: AgentSession, role: str, text: str) -> None:
    if not (role == "user" and _CLIENT_MESSAGE.match(text)):
        session.add_message(role, text)


def _add_event(
    session: AgentSession, payload: dict[str, Any], calls: Collection[object], is_older: bool
) -> None:
    """Add an event's rows; only older rollouts have their messages in events."""
    kind = payload.get("type")
    if kind == "thread_rolled_back":
        _remove_turns(session, payload.get("num_turns"))
    elif kind == "item_completed":
        _add_completed(session, as_object(payload.get("item")), calls)
    elif is_older:
        role = {"user_message": "user", "agent_message": "assistant"}.get(str(kind), "")
        _add_message(session, role, join_text(payload.get("message")))


def _add_item(session: AgentSession, payload: dict[str, Any]) -> None:
    kind, call = payload.get("type"), str(payload.get("call_id") or "")
    if payload.get("role"):
        if not _is_harness(payload):
            _add_message(session, str(payload["role"]), join_text(payload.get("content")))
    elif kind == "function_call":
        arguments = str(payload.get("arguments") or "")[:ARGUMENTS_LIMIT]
        _add_call(session, call, str(payload.get("name")), parse_object(arguments.encode()))
    elif kind == "custom_tool_call" and payload.get("name") == "apply_patch":
        _add_patch(session, call, str(payload.get("input") or ""))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        _add_output(session, call, *_parse_output(payload.get("output")))


def _add_output(session: AgentSession, call: str, output: str, status: int | None) -> None:
    for use in _find_tool_uses(session, call):
        if use["name"] == "Bash":
            session.add_command_result(use["id"], output, status)
        elif use["name"] == "TodoWrite":
            session.add_result(use["id"], "", False, {"newTodos": use["input"]["todos"]})
        else:
            failed = not output.startswith("Success") if status is None else bool(status)
            _add_change_result(session, use, output, failed)


def _is_harness(payload: dict[str, Any]) -> bool:
    """Tell whether the client marks a message as its own."""
    metadata = payload.get("internal_chat_message_metadata_passthrough")
    parts = as_object(metadata).get("content_item_metadata")
    kinds = {
        as_object(as_object(part).get("provenance")).get("type")
        for part in (parts if isinstance(parts, list) else ())
    }
    return "harness" in kinds and "user" not in kinds


def _add_change_result(
    session: AgentSession, use: dict[str, Any], output: str, failed: bool
) -> None:
    created = "create" if use["name"] == "Write" else ""
    what = "delete" if use["input"].get("removed") else created
    session.add_result(use["id"], output, failed, {"type": what} if what else None)


def _add_call(session: AgentSession, call: str, name: str, given: dict[str, Any]) -> None:
    if name == "update_plan" and isinstance(given.get("plan"), list):
        session.add_todos(call, given["plan"], "step")
    elif name == "apply_patch":
        _add_patch(session, call, str(given.get("input") or given.get("patch") or ""))
    elif name in SHELLS:
        _add_shell_call(session, call, given.get("cmd") or given.get("command"))


def _add_shell_call(session: AgentSession, call: str, command_line: object) -> None:
    words = [str(word) for word in command_line] if isinstance(command_line, list) else []
    if words[:1] == ["apply_patch"] and len(words) == 2:
        _add_patch(session, call, words[1])
        return
    command = _format_command(command_line)
    if command:
        session.add_call(call, "Bash", {"command": command})


def _format_command(command: object) -> str:
    """Return a call's shell command; unwrap `sh -c COMMAND`."""
    if not isinstance(command, list):
        return command if isinstance(command, str) else ""
    words = [str(word) for word in command]
    wrapped = len(words) == 3 and words[1] in ("-lc", "-c")
    return words[2] if wrapped else shlex.join(words)


def _add_patch(session: AgentSession, call: str, patch: str) -> None:
    _add_changes(session, call, _PATCHED_FILE.findall(patch))


def _add_changes(session: AgentSession, call: str, changes: Iterable[tuple[str, str, str]]) -> None:
    """Add a call for each changed file.

    changes: (Add, Update or Delete; path; new path or ""); a move deletes the old path.
    """
    edits: list[tuple[str, str]] = []
    for action, path, moved in changes:
        edits += [("Delete", path), (action, moved)] if moved else [(action, path)]
    for number, (action, path) in enumerate(edits):
        given: dict[str, Any] = {"file_path": session.full_path(path.strip())}
        if action == "Delete":
            given["removed"] = True
        tool = "Write" if action == "Add" else "Edit"
        session.add_call("%s#%d" % (call, number), tool, given)


def _find_tool_uses(session: AgentSession, call: str) -> list[dict[str, Any]]:
    contents = [row["message"]["content"] for row in session.rows[-256:]]
    blocks = [content[0] for content in contents if isinstance(content, list)]
    uses = [block for block in blocks if block["type"] == "tool_use"]
    return [use for use in uses if use["id"].split("#")[0] == call]  # CALL#NUMBER


def _parse_output(result: object) -> tuple[str, int | None]:
    """Parse a call's result into (output, exit status or None)."""
    text = join_text(result)
    fields = parse_object(text.encode("utf-8", "replace")) if text.startswith("{") else {}
    if isinstance(fields.get("output"), str):
        code = as_object(fields.get("metadata")).get("exit_code")
        return fields["output"], code if isinstance(code, int) else None
    status = _EXIT_STATUS.search(text[:2000])
    if status is None:
        return text, 1 if _UNKNOWN_TOOL.match(text) else None
    return _OUTPUT_HEADER.sub("", text, count=1), int(status[1])
