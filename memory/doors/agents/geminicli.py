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
import re
from collections.abc import Iterable, Iterator
from typing import Any

from memory.core import fastjson, files
from memory.doors.agents.otheragents import AgentSession, as_object, join_text, parse_object

ROOT_BYTES = 1 << 16  # of a file that names a directory
# a message that the client itself adds; a command's exit status; the lines around a result; a
# command's printed output
_CLIENT_MESSAGE = re.compile(r"\s*<(?:session_context|system-reminder|loaded_context)\b")
_EXIT_STATUS = re.compile(r"^Exit Code: (-?\d{1,5})$", re.M)
_FRAME = re.compile(r"\A<untrusted_context>\n|\n</untrusted_context>\Z")
_PRINTED_OUTPUT = re.compile(
    r"\AOutput: (.*?)(?:\n(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): .*)?\Z",
    re.S,
)
_TOOLS = {
    "run_shell_command": ("Bash", "command"),
    "write_file": ("Write", "file_path"),
    "replace": ("Edit", "file_path"),
    "read_file": ("Read", "file_path"),
}


class GeminiCli:
    """A reader of Gemini CLI's chats.

    known: directories in which chats may have been started, for chats that hold only a hash.
    """

    name = "gemini"

    def __init__(self, known: Iterable[str] = ()):
        self._known = {_hash_directory(directory): directory for directory in known}

    def paths(self, env: dict[str, str]) -> Iterator[str]:
        """Yield the paths of the chats.

        Of a session's two files the replayable file comes last, and so counts.
        """
        root = _find_home(env) + "/tmp"
        for project in files.list_folder(root):
            folder = "%s/%s/chats/" % (root, project)
            names = [
                name for name in files.list_folder(folder) if name.endswith((".json", ".jsonl"))
            ]
            names.sort(key=lambda name: (name.endswith(".jsonl"), name))
            yield from (folder + name for name in names)

    def parse_session(self, path: str, data: bytes, env: dict[str, str]) -> AgentSession | None:
        """Parse a chat, None for a subagent's or an invalid one."""
        chat = _replay_lines(data) if path.endswith(".jsonl") else parse_object(data)
        id, messages = chat.get("sessionId"), chat.get("messages")
        is_subagent = chat.get("kind") == "subagent"
        if not isinstance(id, str) or not isinstance(messages, list) or is_subagent:
            return None
        project_hash = str(chat.get("projectHash") or "")
        session = AgentSession(id, _find_directory(path, project_hash, env, self._known))
        session.set_time(chat.get("startTime"))
        for message in filter(None, map(as_object, messages)):
            session.set_time(message.get("timestamp"))
            _add_message(session, message)
        return session


def _find_home(env: dict[str, str]) -> str:
    return (env.get("GEMINI_CLI_HOME") or env.get("HOME") or "/nonexistent") + "/.gemini"


def _replay_lines(data: bytes) -> dict[str, Any]:
    """Return the session of a `.jsonl` chat, with all its changes applied."""
    session: dict[str, Any] = {}
    messages: list[Any] = []
    for line in fastjson.parse_rows(data):
        change = line.get("$set")
        if isinstance(change, dict):
            session.update(change)
            messages = _read_messages(change, messages)
        elif "$rewindTo" in line:
            ids = [as_object(message).get("id") for message in messages]
            if line["$rewindTo"] in ids:
                del messages[ids.index(line["$rewindTo"]) :]
        elif "sessionId" in line and "type" not in line:
            session.update(line)
            messages = _read_messages(line, messages)
        elif line.get("type"):
            at = len(messages)
            for number, message in enumerate(messages):
                if as_object(message).get("id") == line.get("id"):
                    at = number
            messages[at : at + 1] = [line]
    return {**session, "messages": messages}


def _read_messages(line: dict[str, Any], before: list[Any]) -> list[Any]:
    found = line.get("messages")
    return found if isinstance(found, list) else before


def _hash_directory(directory: str) -> str:
    return hashlib.sha256(directory.encode("utf-8", "replace")).hexdigest()


def _find_directory(path: str, hashed: str, env: dict[str, str], known: dict[str, str]) -> str:
    """Return the directory in which a chat was started, "" if unknown.

    hashed: its hash in the chat.  known: directories by hash.
    """
    project = path.rpartition("/chats/")[0]
    root = _read_text(project + "/.project_root").strip()
    if root:
        return root
    listed = parse_object(_read_text(_find_home(env) + "/projects.json").encode())
    folder = project.rpartition("/")[2]
    for directory, name in as_object(listed.get("projects")).items():
        if name == folder or hashed == _hash_directory(directory):
            return directory
    return known.get(hashed) or known.get(folder, "")


def _read_text(path: str) -> str:
    try:
        return str(files.read(path, ROOT_BYTES).decode("utf-8", "replace"))
    except OSError:
        return ""


def _add_message(session: AgentSession, message: dict[str, Any]) -> None:
    text, kind = join_text(message.get("content")), message.get("type")
    if kind == "user" and not _CLIENT_MESSAGE.match(text):
        session.add_message("user", text)
    if kind not in ("gemini", "model"):
        return
    session.add_message("assistant", text)
    calls = message.get("toolCalls")
    for call in filter(None, map(as_object, calls if isinstance(calls, list) else ())):
        session.set_time(call.get("timestamp"))
        _add_call(session, call)


def _add_call(session: AgentSession, call: dict[str, Any]) -> None:
    given = as_object(call.get("args"))
    id, name = str(call.get("id") or ""), str(call.get("name"))
    if name == "write_todos" and isinstance(given.get("todos"), list):
        todos = session.add_todos(id, given["todos"], "description")
        session.add_result(id, "", False, {"newTodos": todos})
        return
    tool, key = _TOOLS.get(name, ("", ""))
    value = given.get(key)
    if not tool or not isinstance(value, str):
        return
    session.add_call(id, tool, {key: value if tool == "Bash" else session.full_path(value)})
    _add_result(session, id, tool, call)


def _add_result(session: AgentSession, id: str, tool: str, call: dict[str, Any]) -> None:
    output, status = _FRAME.sub("", _join_results(call)), call.get("status")
    failed = status == "error"
    if status == "cancelled":
        session.add_result(id, output, refused=True)
    elif tool == "Bash":
        _add_command_result(session, id, output, failed)
    elif tool == "Write":
        new = as_object(call.get("resultDisplay")).get("isNewFile") is True
        session.add_result(id, output, failed, {"type": "create" if new else "update"})
    else:
        session.add_result(id, output, failed)


def _add_command_result(session: AgentSession, id: str, output: str, failed: bool) -> None:
    found = _EXIT_STATUS.search(output)
    printed = _PRINTED_OUTPUT.match(output)
    code = int(found[1]) if found else int(failed)
    session.add_command_result(id, printed[1].replace("(empty)", "") if printed else output, code)


def _join_results(call: dict[str, Any]) -> str:
    found = []
    for part in call["result"] if isinstance(call.get("result"), list) else ():
        response = as_object(as_object(part).get("functionResponse")).get("response")
        text = as_object(response).get("output") or as_object(response).get("error")
        if isinstance(text, str):
            found.append(text)
    return "\n".join(found)
