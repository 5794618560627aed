"""Sessions of other agents, converted to the client's transcript format.

Each agent needs only a reader: it lists the session files and parses one into rows, in the shape of
a transcript's lines (entries.py).  All later steps are the same for every agent.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import Any, Protocol

from memory.capture import recovery
from memory.core import clock, fastjson, files, layout
from memory.project import backfill
from memory.project.otherfiles import Skip, skip_unreadable
from memory.session import transcript, whereabouts
from memory.session.entries import COMPACT, Entry, parse_entries
from memory.session.transcript import StretchEnd

READ_LIMIT = 256 << 20  # bytes of a session's file
DAMAGED = (recovery.DAMAGED[0], "put a copy of it from a backup there, then import again")
REFUSED = "The user doesn't want to proceed with this tool use."  # in the client's words


class Agent(Protocol):
    """A reader of another agent's sessions, as in codex.py and geminicli.py."""

    @property
    def name(self) -> str:
        """The agent's name on the command line."""
        ...

    def paths(self, env: dict[str, str]) -> Iterator[str]:
        """Yield the paths of the agent's session files."""
        ...

    def parse_session(self, path: str, data: bytes, env: dict[str, str]) -> AgentSession | None:
        """Parse a session file, None if it holds no session."""
        ...


class RowEntries:
    """Iterates over a session's entries, from a row on."""

    def __init__(self, rows: list[dict[str, Any]], offset: int, limit: int):
        self._rows = rows[offset : offset + limit]
        self.offset = offset + len(self._rows)

    def __iter__(self) -> Iterator[Entry]:
        return (entry for row in self._rows for entry in parse_entries(row))

    def close(self) -> None:
        """Do nothing: no file is open."""


class RowReader:
    """Reads a converted session as a transcript; offsets count rows."""

    def __init__(self, rows: list[dict[str, Any]]):
        self.rows = rows

    def read(
        self, path: str, offset: int = 0, limit: int = transcript.READ_LIMIT, ended: bool = False
    ) -> RowEntries:
        """Read entries from a row on, from the start if there is no such row."""
        return RowEntries(self.rows, offset if 0 <= offset <= len(self.rows) else 0, limit)

    def compactions(self, path: str) -> list[StretchEnd]:
        """List the rows that end a context."""
        return [
            StretchEnd(at, str(row.get("timestamp")))
            for at, row in enumerate(self.rows)
            for entry in parse_entries(row)
            if entry.kind == COMPACT
        ]

    def began(self, path: str) -> str:
        """Return the timestamp of the first row."""
        return next((str(row["timestamp"]) for row in self.rows), "")

    def agents(self, path: str, env: dict[str, str]) -> list[str]:
        """Return nothing: other agents keep no files of subagents."""
        return []


def read_sessions(agent: Agent, env: dict[str, str]) -> Iterator[backfill.Session | Skip]:
    """Read an agent's sessions, each from its last file by name."""
    found: dict[str, backfill.Session] = {}
    for path in agent.paths(env):
        for session in _read_session(agent, path, env):
            if isinstance(session, Skip):
                yield session
            else:
                found[session.id] = session
    yield from found.values()


def _is_own(path: str) -> bool:
    return not hasattr(os, "getuid") or os.stat(path).st_uid == os.getuid()


def _read_session(
    agent: Agent, path: str, env: dict[str, str]
) -> Iterator[backfill.Session | Skip]:
    real = files.real_path(path)
    try:
        if not _is_own(real):
            raise OSError(errno.EPERM, "not a file of your own")
        data = files.read(real, READ_LIMIT, follow=False)
    except OSError as error:
        yield skip_unreadable(path, error)
        return
    is_damaged = whereabouts.is_damaged(data) if path.endswith("l") else not parse_object(data)
    if is_damaged:
        yield Skip(path, *DAMAGED)
    found = _parse_session(agent, real, data, env)
    if isinstance(found, backfill.Session):
        yield found
    elif not is_damaged:
        yield Skip(path, *found)


def _parse_session(
    agent: Agent, path: str, data: bytes, env: dict[str, str]
) -> backfill.Session | tuple[str, str]:
    """Return the session in a file, else (reason, remedy)."""
    session = agent.parse_session(path, data, env)
    rows = [row for row in session.rows if row["timestamp"]] if session else []
    if not (session and layout.valid_id(session.id) and rows):
        return backfill.NO_SESSION, "nothing to do"
    directory = session.directory
    if not (directory.startswith("/") or directory[1:2] == ":"):
        return backfill.NO_DIRECTORY, "import it in the directory where it was started"
    times = [clock.parse(row["timestamp"]) or 0.0 for row in rows]
    size, began, ended = len(rows), min(times), max(times)
    return backfill.Session(session.id, path, size, directory, began, ended, RowReader(rows))


def as_object(value: object) -> dict[str, Any]:
    """Return a JSON object, {} for another value."""
    return value if isinstance(value, dict) else {}


def parse_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object, {} for a torn one."""
    try:
        return as_object(fastjson.parse(data))
    except ValueError:
        return {}


# ---- rows in the client's format


class AgentSession:
    """A session of another agent, with its rows in the client's format.

    directory: where it was started, "" if unknown.  branch: of the rows that follow, as their time.
    headless: a program asks.
    """

    def __init__(self, id: str, directory: str):
        self.id, self.directory, self.branch = id, directory, ""
        self.headless = False
        self.rows: list[dict[str, Any]] = []
        self._time = ""
        self._repeats: dict[str, int] = {}

    def set_time(self, value: object) -> None:
        """Set the time of the next rows, if it is a valid one."""
        self._time = format_timestamp(value) or self._time

    def _add_row(self, kind: str, key: str, content: Any, **more: Any) -> None:
        # the id does not depend on the row's number: agents may remove rows
        name = "%s\n%s\n%s\n%s" % (self.id, self._time, kind, key)
        self._repeats[name] = number = self._repeats.get(name, 0) + 1
        digest = files.sha256(("%s\n%d" % (name, number)).encode("utf-8", "replace"))
        uuid = "%s-%s-4000-8000-%s" % (digest[:8], digest[8:12], digest[12:24])
        self.rows.append(
            {
                "type": kind,
                "uuid": uuid,
                "timestamp": self._time,
                "cwd": self.directory,
                "gitBranch": self.branch,
                "sessionId": self.id,
                "message": {"role": kind, "content": content},
                **more,
            }
        )

    def add_message(self, role: str, text: str) -> None:
        """Add a message of `user` or `assistant`, unless it is empty."""
        if not text.strip():
            return
        if role == "user":
            person = {"promptSource": "typed", "origin": {"kind": "human"}}
            asker = {"promptSource": "sdk"} if self.headless else person
            self._add_row("user", text, text, **asker)
        elif role == "assistant":
            self._add_row("assistant", text, [{"type": "text", "text": text}])

    def add_call(self, call: str, tool: str, given: dict[str, Any]) -> None:
        """Add a tool call, with the client's names of tool and arguments."""
        block = {"type": "tool_use", "id": call, "name": tool, "input": given}
        self._add_row("assistant", call, [block])

    def add_todos(self, call: str, steps: list[Any], key: str) -> list[dict[str, Any]]:
        """Add a call that writes tasks; return them.  `key` leads to a task's text."""
        todos = [
            {"content": str(step.get(key) or ""), "status": step.get("status")}
            for step in steps
            if isinstance(step, dict)
        ]
        self.add_call(call, "TodoWrite", {"todos": todos})
        return todos

    def add_result(
        self, call: str, text: str, failed: bool = False, data: Any = None, refused: bool = False
    ) -> None:
        """Add a tool call's result.

        data: the client's structured result.  refused: the user rejected the call.
        """
        block = {
            "type": "tool_result",
            "tool_use_id": call,
            "content": REFUSED if refused else text,
            "is_error": failed or refused,
        }
        more = {} if data is None else {"toolUseResult": data}
        if refused:
            more["toolDenialKind"] = "user-rejected"
        self._add_row("user", call, [block], **more)

    def add_command_result(self, call: str, output: str, status: int | None) -> None:
        """Add a command's result; its exit `status` is None if unknown."""
        self.add_result(call, ("Exit code %d\n" % status if status else "") + output, bool(status))

    def full_path(self, path: str) -> str:
        """Return the absolute path of a file named in the session."""
        return os.path.normpath(os.path.join(self.directory, path))


def format_timestamp(value: object) -> str:
    """Return a timestamp in the client's format, "" for an invalid one.

    value: RFC 3339, or seconds or milliseconds since the epoch.
    """
    if isinstance(value, bool):
        return ""
    if isinstance(value, (int, float)) and 0 < value < 1e14:
        seconds = value / 1000 if value > 1e11 else value
        return "%s.%03dZ" % (clock.iso(int(seconds))[:19], int(seconds * 1000) % 1000)
    return value if isinstance(value, str) and clock.parse(value) is not None else ""


def join_text(content: object) -> str:
    """Return a message's text, made of one text or a list of parts."""
    if isinstance(content, list):
        texts = [part if isinstance(part, str) else as_object(part).get("text") for part in content]
        return "\n".join(text for text in texts if isinstance(text, str) and text)
    return content if isinstance(content, str) else ""
