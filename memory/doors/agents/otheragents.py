"""Sessions of other agents, converted to the client's transcript format.

Each agent needs only a reader: it lists the session files and parses one into rows, in the shape of
a transcript's lines (entries.py).  All later steps are the same for every agent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from memory.core import clock, files, layout
from memory.project import backfill
from memory.session import transcript
from memory.session.entries import COMPACT, Entry, parse_entries
from memory.session.transcript import StretchEnd

READ_LIMIT = 256 << 20  # bytes of a session's file
REFUSED = "The user doesn't want to proceed with this tool use."  # in the client's words


class AgentSession(NamedTuple):
    """A session of another agent.

    directory: where it was started.  rows: in the client's format.
    """

    id: str
    directory: str
    rows: list[dict[str, Any]]


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
    """Iterates over the entries of rows from an offset on."""

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
        """Read entries from a row on, from the start if it is gone."""
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
        """Return no subagents, which other agents do not record apart."""
        return []


class SessionFile(NamedTuple):
    """An agent's file, with its session or why it is skipped."""

    path: str
    session: AgentSession | None
    began: float = 0.0
    ended: float = 0.0
    why: str = ""


def read_sessions(agent: Agent, env: dict[str, str]) -> Iterator[SessionFile]:
    """Read an agent's sessions, each from its last file by name."""
    told: dict[str, SessionFile] = {}
    for path in agent.paths(env):
        one = _read_session(agent, path, env)
        if one.session is None:
            yield one
        else:
            told[one.session.id] = one
    yield from told.values()


def _is_own(path: str) -> bool:
    return not hasattr(os, "getuid") or os.stat(path).st_uid == os.getuid()


def _is_absolute(directory: str) -> bool:
    return directory.startswith("/") or directory[1:2] == ":"


def _read_session(agent: Agent, path: str, env: dict[str, str]) -> SessionFile:
    real = files.real_path(path)
    try:
        if not _is_own(real):
            return SessionFile(path, None, why="not a file of your own")
        data = files.read(real, READ_LIMIT, follow=False)
    except OSError as error:
        return SessionFile(path, None, why=(error.strerror or "unreadable").lower())
    try:
        session = agent.parse_session(real, data, env)
    except RecursionError:
        session = None
    if session is None or not layout.valid_id(session.id) or not session.rows:
        return SessionFile(path, None, why="no session in it")
    if not _is_absolute(session.directory):
        return SessionFile(path, None, why=backfill.NO_DIRECTORY)
    stamps = [clock.parse(str(row["timestamp"])) or 0.0 for row in session.rows]
    return SessionFile(real, session, min(stamps), max(stamps))


def as_object(value: object) -> dict[str, Any]:
    """Return a JSON object, {} for another value."""
    return value if isinstance(value, dict) else {}


def parse_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object, {} for a torn line."""
    try:
        return as_object(json.loads(data.decode("utf-8", "replace")))
    except ValueError:
        return {}


# ---- rows in the client's format


class RowBuilder:
    """Builds a session's rows in the client's format.

    at, cwd, branch: of the rows that follow.  headless: a program asks.
    """

    def __init__(self, session: str, cwd: str = ""):
        self.session, self.cwd, self.branch, self.at = session, cwd, "", ""
        self.headless = False
        self.rows: list[dict[str, Any]] = []
        self._same: dict[str, int] = {}

    def _add_row(self, kind: str, key: str, content: Any, **more: Any) -> None:
        # the id does not depend on the row's number: agents may remove rows
        said = "%s\n%s\n%s\n%s" % (self.session, self.at, kind, key)
        self._same[said] = number = self._same.get(said, 0) + 1
        digest = files.sha256(("%s\n%d" % (said, number)).encode("utf-8", "replace"))
        uuid = "%s-%s-4000-8000-%s" % (digest[:8], digest[8:12], digest[12:24])
        self.rows.append(
            {
                "type": kind,
                "uuid": uuid,
                "timestamp": self.at,
                "cwd": self.cwd,
                "gitBranch": self.branch,
                "sessionId": self.session,
                "message": {"role": kind, "content": content},
                **more,
            }
        )

    def add_request(self, text: str) -> None:
        """Add a message of the user, or of the program that asks."""
        person = {"promptSource": "typed", "origin": {"kind": "human"}}
        self._add_row("user", text, text, **({"promptSource": "sdk"} if self.headless else person))

    def add_reply(self, text: str) -> None:
        """Add a model's message."""
        self._add_row("assistant", text, [{"type": "text", "text": text}])

    def add_call(self, call: str, tool: str, given: dict[str, Any]) -> None:
        """Add a tool call, with the client's names of tool and arguments."""
        self._add_row(
            "assistant", call, [{"type": "tool_use", "id": call, "name": tool, "input": given}]
        )

    def add_result(
        self, call: str, text: str, failed: bool = False, data: Any = None, refused: bool = False
    ) -> None:
        """Add a tool call's result.

        data: the client's structured result.  refused: the user rejected the call.
        """
        self._add_row(
            "user",
            call,
            [
                {
                    "type": "tool_result",
                    "tool_use_id": call,
                    "content": REFUSED if refused else text,
                    "is_error": failed or refused,
                }
            ],
            **({} if data is None else {"toolUseResult": data}),
            **({"toolDenialKind": "user-rejected"} if refused else {}),
        )

    def add_command_result(self, call: str, output: str, status: int | None) -> None:
        """Add a command's result; status: exit status, None if unknown."""
        self.add_result(call, ("Exit code %d\n" % status if status else "") + output, bool(status))


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
    """Return a message's text; content: one text, or a list of parts."""
    if isinstance(content, list):
        said = [
            part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else ""
            for part in content
        ]
        return "\n".join(part for part in said if isinstance(part, str) and part)
    return content if isinstance(content, str) else ""
