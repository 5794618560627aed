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
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from memory.core import files
from memory.doors.agents.otheragents import Maker, Spoken, instant, text_of

ROOT_BYTES = 1 << 16  # of a file that names a directory
_OWN = re.compile(r"\s*<(?:session_context|system-reminder|loaded_context)\b")
_STATUS = re.compile(r"^Exit Code: (-?\d{1,5})$", re.M)
_AROUND = re.compile(r"\A<untrusted_context>\n|\n</untrusted_context>\Z")
_PRINTED = re.compile(
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
        self._known = {_hash(directory): directory for directory in known}

    def paths(self, env: dict[str, str]) -> Iterator[str]:
        """Yield the chats.

        Of a session's two files the replayable file comes last, and so counts.
        """
        root = _home(env) + "/tmp"
        for project in files.list_folder(root):
            folder = "%s/%s/chats/" % (root, project)
            names = [
                name for name in files.list_folder(folder) if name.endswith((".json", ".jsonl"))
            ]
            yield from (
                folder + name
                for name in sorted(names, key=lambda name: (name.endswith(".jsonl"), name))
            )

    def spoken(self, path: str, data: bytes, env: dict[str, str]) -> Spoken | None:
        """Return the session in a chat."""
        session = _replayed(data) if path.endswith(".jsonl") else _object(data)
        id, messages = session.get("sessionId"), session.get("messages")
        if (
            not isinstance(id, str)
            or not isinstance(messages, list)
            or session.get("kind") == "subagent"
        ):
            return None
        directory = _directory(path, str(session.get("projectHash") or ""), env, self._known)
        made = Maker(id, directory)
        made.at = instant(session.get("startTime"))
        for message in messages:
            if isinstance(message, dict):
                made.at = instant(message.get("timestamp")) or made.at
                _message(made, message)
        return Spoken(id, directory, [row for row in made.rows if row["timestamp"]])


def _home(env: dict[str, str]) -> str:
    return (env.get("GEMINI_CLI_HOME") or env.get("HOME") or "/nonexistent") + "/.gemini"


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data.decode("utf-8", "replace"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _replayed(data: bytes) -> dict[str, Any]:
    """Return the session resulting from the lines of a chat."""
    session: dict[str, Any] = {}
    messages: list[Any] = []
    for line in map(_object, data.split(b"\n")):
        change = line.get("$set")
        if isinstance(change, dict):
            session.update(change)
            messages = _messages(change, messages)
        elif "$rewindTo" in line:
            at = next(
                (n for n, one in enumerate(messages) if _id(one) == line["$rewindTo"]),
                len(messages),
            )
            messages = messages[:at]
        elif "sessionId" in line and "type" not in line:
            session.update(line)
            messages = _messages(line, messages)
        elif line.get("type"):
            at = next(
                (n for n in range(len(messages) - 1, -1, -1) if _id(messages[n]) == line.get("id")),
                len(messages),
            )
            messages[at : at + 1] = [line]
    return {**session, "messages": messages}


def _messages(line: dict[str, Any], before: list[Any]) -> list[Any]:
    """Return a line's messages, else the earlier ones."""
    found = line.get("messages")
    return found if isinstance(found, list) else before


def _id(message: Any) -> Any:
    return message.get("id") if isinstance(message, dict) else None


def _hash(directory: str) -> str:
    return hashlib.sha256(directory.encode("utf-8", "replace")).hexdigest()


def _directory(path: str, hashed: str, env: dict[str, str], hashes: dict[str, str]) -> str:
    """Return the directory in which a chat was started, or ""."""
    project = path.rpartition("/chats/")[0]
    said = _text(project + "/.project_root").strip()
    known = _object(_text(_home(env) + "/projects.json").encode()).get("projects")
    names = known if isinstance(known, dict) else {}
    folder = project.rpartition("/")[2]
    named = next(
        (
            directory
            for directory, name in names.items()
            if name == folder or hashed == _hash(directory)
        ),
        "",
    )
    return said or named or hashes.get(hashed) or hashes.get(folder, "")


def _text(path: str) -> str:
    try:
        return str(files.read(path, ROOT_BYTES).decode("utf-8", "replace"))
    except OSError:
        return ""


def _message(made: Maker, message: dict[str, Any]) -> None:
    text, kind = text_of(message.get("content")), message.get("type")
    if kind == "user" and text.strip() and not _OWN.match(text):
        made.asked(text)
    if kind not in ("gemini", "model"):
        return
    if text.strip():
        made.answered(text)
    calls = message.get("toolCalls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            made.at = instant(call.get("timestamp")) or made.at
            _called(made, call)


def _called(made: Maker, call: dict[str, Any]) -> None:
    given = call.get("args")
    id, name = str(call.get("id") or ""), str(call.get("name"))
    given = given if isinstance(given, dict) else {}
    if name == "write_todos" and isinstance(given.get("todos"), list):
        _add_todos(made, id, given["todos"])
        return
    tool, key, theirs = _TOOLS.get(name, ("", "", ""))
    if not tool or not isinstance(given.get(theirs), str):
        return
    said = (
        given[theirs] if tool == "Bash" else os.path.normpath(os.path.join(made.cwd, given[theirs]))
    )
    made.used(id, tool, {key: said})
    _add_result(made, id, tool, call)


def _add_result(made: Maker, id: str, tool: str, call: dict[str, Any]) -> None:
    output, status = _AROUND.sub("", _result(call)), str(call.get("status"))
    failed = status == "error"
    if status == "cancelled":
        made.returned(id, output, refused=True)
    elif tool == "Bash":
        _ran(made, id, output, failed)
    elif tool == "Write":
        display = call.get("resultDisplay")
        new = isinstance(display, dict) and display.get("isNewFile") is True
        made.returned(id, output, failed, {"type": "create" if new else "update"})
    else:
        made.returned(id, output, failed)


def _add_todos(made: Maker, id: str, given: list[Any]) -> None:
    todos = [
        {"content": str(one.get("description") or ""), "status": one.get("status")}
        for one in given
        if isinstance(one, dict)
    ]
    made.used(id, "TodoWrite", {"todos": todos})
    made.returned(id, "", False, {"newTodos": todos})


def _ran(made: Maker, id: str, output: str, failed: bool) -> None:
    """Add a command's output and exit status."""
    found = _STATUS.search(output)
    printed = _PRINTED.match(output)
    code = int(found[1]) if found else int(failed)
    made.ran(id, printed[1].replace("(empty)", "") if printed else output, code)


def _result(call: dict[str, Any]) -> str:
    """Return the text of a call's result."""
    found = []
    for part in call["result"] if isinstance(call.get("result"), list) else ():
        held = part.get("functionResponse") if isinstance(part, dict) else None
        answer = held.get("response") if isinstance(held, dict) else None
        said = (answer.get("output") or answer.get("error")) if isinstance(answer, dict) else None
        found += [said] if isinstance(said, str) else []
    return "\n".join(found)
