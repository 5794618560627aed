"""Sessions of Gemini CLI: chats below `.gemini` in GEMINI_CLI_HOME, else in HOME.

`tmp/<project>/chats/session-*`, of two generations: whole sessions `.json` {sessionId, startTime,
lastUpdated, messages}, and `.jsonl` to be replayed: the first line holds the session's fields, then
come messages (one with the id of an earlier one stands in its place) and {"$set": {…}}, which
patches the session, its messages too, and {"$rewindTo": id}, which takes that message and all after
it back.  A message: id, timestamp, type (user; gemini or model; others are notices), content (text
or parts), toolCalls [{id, name, args, result, status}].  The directory stands in `.project_root`
beside `chats`, else in `projects.json`, which maps directories to projects, else only as a hash
(SHA-256), in the session or as the project's folder: it is believed of a directory that hashes to
it.  Chats of subagents lie in folders below, and are left out.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from memory.core import files
from memory.doors.agents.otheragents import (
    AgentSession,
    RowBuilder,
    as_object,
    format_timestamp,
    join_text,
    parse_object,
)

ROOT_BYTES = 1 << 16  # of a file that names a directory
# a message that the client itself adds; the lines around a result; a command's printed output
_CLIENT_MESSAGE = re.compile(r"\s*<(?:session_context|system-reminder|loaded_context)\b")
_EXIT_STATUS = re.compile(r"^Exit Code: (-?\d{1,5})$", re.M)
_FRAME = re.compile(r"\A<untrusted_context>\n|\n</untrusted_context>\Z")
_PRINTED_OUTPUT = re.compile(
    r"\AOutput: (.*?)(?:\n(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): .*)?\Z",
    re.S,
)
_TOOLS = {
    "run_shell_command": ("Bash", "command", "command"),
    "write_file": ("Write", "file_path", "file_path"),
    "replace": ("Edit", "file_path", "file_path"),
    "read_file": ("Read", "file_path", "file_path"),
}


class GeminiCli:
    """A reader of Gemini CLI's chats.

    known: directories in which chats may have been started, for chats that hold only a hash.
    """

    name = "gemini"

    def __init__(self, known: Iterable[str] = ()):
        self._known = {_hash_directory(directory): directory for directory in known}

    def paths(self, env: dict[str, str]) -> Iterator[str]:
        """Yield the chats.

        Of a session's two files the replayable file comes last, and so counts.
        """
        root = _find_home(env) + "/tmp"
        for project in files.list_folder(root):
            folder = "%s/%s/chats/" % (root, project)
            names = [
                name for name in files.list_folder(folder) if name.endswith((".json", ".jsonl"))
            ]
            yield from (
                folder + name
                for name in sorted(names, key=lambda name: (name.endswith(".jsonl"), name))
            )

    def parse_session(self, path: str, data: bytes, env: dict[str, str]) -> AgentSession | None:
        """Return the session in a chat."""
        session = _replay_lines(data) if path.endswith(".jsonl") else parse_object(data)
        id, messages = session.get("sessionId"), session.get("messages")
        if (
            not isinstance(id, str)
            or not isinstance(messages, list)
            or session.get("kind") == "subagent"
        ):
            return None
        directory = _find_directory(path, str(session.get("projectHash") or ""), env, self._known)
        builder = RowBuilder(id, directory)
        builder.at = format_timestamp(session.get("startTime"))
        for message in messages:
            if isinstance(message, dict):
                builder.at = format_timestamp(message.get("timestamp")) or builder.at
                _add_message(builder, message)
        return AgentSession(id, directory, [row for row in builder.rows if row["timestamp"]])


def _find_home(env: dict[str, str]) -> str:
    return (env.get("GEMINI_CLI_HOME") or env.get("HOME") or "/nonexistent") + "/.gemini"


def _replay_lines(data: bytes) -> dict[str, Any]:
    """Replay the lines of a chat, and return the resulting session."""
    session: dict[str, Any] = {}
    messages: list[Any] = []
    for line in map(parse_object, data.split(b"\n")):
        change = line.get("$set")
        if isinstance(change, dict):
            session.update(change)
            messages = _read_messages(change, messages)
        elif "$rewindTo" in line:
            at = next(
                (n for n, one in enumerate(messages) if _read_id(one) == line["$rewindTo"]),
                len(messages),
            )
            messages = messages[:at]
        elif "sessionId" in line and "type" not in line:
            session.update(line)
            messages = _read_messages(line, messages)
        elif line.get("type"):
            at = next(
                (
                    n
                    for n in range(len(messages) - 1, -1, -1)
                    if _read_id(messages[n]) == line.get("id")
                ),
                len(messages),
            )
            messages[at : at + 1] = [line]
    return {**session, "messages": messages}


def _read_messages(line: dict[str, Any], before: list[Any]) -> list[Any]:
    found = line.get("messages")
    return found if isinstance(found, list) else before


def _read_id(message: Any) -> Any:
    return as_object(message).get("id")


def _hash_directory(directory: str) -> str:
    return hashlib.sha256(directory.encode("utf-8", "replace")).hexdigest()


def _find_directory(path: str, hashed: str, env: dict[str, str], hashes: dict[str, str]) -> str:
    """Return the directory in which a chat was started, "" if unknown."""
    project = path.rpartition("/chats/")[0]
    said = _read_text(project + "/.project_root").strip()
    known = parse_object(_read_text(_find_home(env) + "/projects.json").encode())
    names = as_object(known.get("projects"))
    folder = project.rpartition("/")[2]
    named = next(
        (
            directory
            for directory, name in names.items()
            if name == folder or hashed == _hash_directory(directory)
        ),
        "",
    )
    return said or named or hashes.get(hashed) or hashes.get(folder, "")


def _read_text(path: str) -> str:
    try:
        return str(files.read(path, ROOT_BYTES).decode("utf-8", "replace"))
    except OSError:
        return ""


def _add_message(builder: RowBuilder, message: dict[str, Any]) -> None:
    text, kind = join_text(message.get("content")), message.get("type")
    if kind == "user" and text.strip() and not _CLIENT_MESSAGE.match(text):
        builder.add_request(text)
    if kind not in ("gemini", "model"):
        return
    if text.strip():
        builder.add_reply(text)
    calls = message.get("toolCalls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            builder.at = format_timestamp(call.get("timestamp")) or builder.at
            _add_call(builder, call)


def _add_call(builder: RowBuilder, call: dict[str, Any]) -> None:
    given = as_object(call.get("args"))
    id, name = str(call.get("id") or ""), str(call.get("name"))
    if name == "write_todos" and isinstance(given.get("todos"), list):
        _add_todos(builder, id, given["todos"])
        return
    tool, key, theirs = _TOOLS.get(name, ("", "", ""))
    if not tool or not isinstance(given.get(theirs), str):
        return
    said = (
        given[theirs]
        if tool == "Bash"
        else os.path.normpath(os.path.join(builder.cwd, given[theirs]))
    )
    builder.add_call(id, tool, {key: said})
    _add_result(builder, id, tool, call)


def _add_result(builder: RowBuilder, id: str, tool: str, call: dict[str, Any]) -> None:
    output, status = _FRAME.sub("", _join_results(call)), str(call.get("status"))
    failed = status == "error"
    if status == "cancelled":
        builder.add_result(id, output, refused=True)
    elif tool == "Bash":
        _add_command_result(builder, id, output, failed)
    elif tool == "Write":
        display = call.get("resultDisplay")
        new = isinstance(display, dict) and display.get("isNewFile") is True
        builder.add_result(id, output, failed, {"type": "create" if new else "update"})
    else:
        builder.add_result(id, output, failed)


def _add_todos(builder: RowBuilder, id: str, given: list[Any]) -> None:
    todos = [
        {"content": str(one.get("description") or ""), "status": one.get("status")}
        for one in given
        if isinstance(one, dict)
    ]
    builder.add_call(id, "TodoWrite", {"todos": todos})
    builder.add_result(id, "", False, {"newTodos": todos})


def _add_command_result(builder: RowBuilder, id: str, output: str, failed: bool) -> None:
    found = _EXIT_STATUS.search(output)
    printed = _PRINTED_OUTPUT.match(output)
    code = int(found[1]) if found else int(failed)
    builder.add_command_result(id, printed[1].replace("(empty)", "") if printed else output, code)


def _join_results(call: dict[str, Any]) -> str:
    found = []
    for part in call["result"] if isinstance(call.get("result"), list) else ():
        response = as_object(as_object(part).get("functionResponse")).get("response")
        said = as_object(response).get("output") or as_object(response).get("error")
        found += [said] if isinstance(said, str) else []
    return "\n".join(found)
