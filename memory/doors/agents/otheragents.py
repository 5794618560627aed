"""Sessions of other agents, read as if the host had written them: each reader turns its agent's
lines into the host's.

A reader is all that an agent needs: where its sessions are, and what one of them says, as rows in
the shape of a transcript's lines (entries.py says which).  Everything behind it, from the turns to
the record, is the same for all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from memory.core import clock, files, layout
from memory.project import backfill
from memory.session.entries import COMPACT, Entry, entries
from memory.session.transcript import MOST, Stop

LIMIT = 256 << 20  # bytes of a session's file that are read
REFUSED = "The user doesn't want to proceed with this tool use."  # as the host says it


class Spoken(NamedTuple):
    """The content of another agent's session file.

    directory: where the session was started.  rows: in the host's shape.
    """

    id: str
    directory: str
    rows: list[dict[str, Any]]


class Agent(Protocol):
    """A reader of another agent's sessions.

    codex.py and geminicli.py hold the two existing readers.
    """

    @property
    def name(self) -> str:
        """The agent's name on the command line."""
        ...

    def paths(self, env: dict[str, str]) -> Iterator[str]:
        """Yield the files of the agent's sessions."""
        ...

    def spoken(self, path: str, data: bytes, env: dict[str, str]) -> Spoken | None:
        """Return the session in a file, or None."""
        ...


class Reading:
    """The entries of rows, starting from a given row."""

    def __init__(self, rows: list[dict[str, Any]], offset: int, limit: int):
        self._rows = rows[offset : offset + limit]
        self.offset = offset + len(self._rows)

    def __iter__(self) -> Iterator[Entry]:
        return (entry for row in self._rows for entry in entries(row))

    def close(self) -> None:
        """Do nothing: no file is open."""


class Rows:
    """A session read whole; its offsets count rows."""

    def __init__(self, rows: list[dict[str, Any]]):
        self.rows = rows

    def read(self, path: str, offset: int = 0, limit: int = MOST, ended: bool = False) -> Reading:
        """Open the session for one pass from a row on.

        From the start where the row is past the end: the agent took rows back.
        """
        return Reading(self.rows, offset if 0 <= offset <= len(self.rows) else 0, limit)

    def compactions(self, path: str) -> list[Stop]:
        """Return the rows that end a context."""
        return [
            Stop(at, str(row.get("timestamp")))
            for at, row in enumerate(self.rows)
            for entry in entries(row)
            if entry.kind == COMPACT
        ]

    def began(self, path: str) -> str:
        """Return the instant of the first row."""
        return next((str(row["timestamp"]) for row in self.rows), "")

    def agents(self, path: str, env: dict[str, str]) -> list[str]:
        """Return no subagents: other agents do not distinguish them."""
        return []


class Found(NamedTuple):
    """A file of another agent, with its session or a reason.

    why: the reason for passing the file over.
    """

    path: str
    spoken: Spoken | None
    began: float = 0.0
    ended: float = 0.0
    why: str = ""


def found(agent: Agent, env: dict[str, str]) -> Iterator[Found]:
    """Yield an agent's sessions.

    Of a session's two files the later named, which a newer version wrote.
    """
    told: dict[str, Found] = {}
    for path in agent.paths(env):
        one = _read(agent, path, env)
        if one.spoken is None:
            yield one
        else:
            told[one.spoken.id] = one
    yield from told.values()


def _is_own(path: str) -> bool:
    return not hasattr(os, "getuid") or os.stat(path).st_uid == os.getuid()


def _is_absolute(directory: str) -> bool:
    return directory.startswith("/") or directory[1:2] == ":"


def _read(agent: Agent, path: str, env: dict[str, str]) -> Found:
    real = files.real_path(path)
    try:
        if not _is_own(real):
            return Found(path, None, why="not a file of your own")
        data = files.read(real, LIMIT, follow=False)
    except OSError as error:
        return Found(path, None, why=(error.strerror or "unreadable").lower())
    try:
        spoken = agent.spoken(real, data, env)
    except RecursionError:
        spoken = None
    if spoken is None or not layout.safe_id(spoken.id) or not spoken.rows:
        return Found(path, None, why="no session in it")
    if not _is_absolute(spoken.directory):
        return Found(path, None, why=backfill.NO_DIRECTORY)
    stamps = [clock.parse(str(row["timestamp"])) or 0.0 for row in spoken.rows]
    return Found(real, spoken, min(stamps), max(stamps))


# ---- rows in the host's shape


class Maker:
    """Makes the rows of one session.

    at, cwd, branch: hold for the rows that follow.
    """

    def __init__(self, session: str, cwd: str = ""):
        self.session, self.cwd, self.branch, self.at = session, cwd, "", ""
        self.rows: list[dict[str, Any]] = []
        self._same: dict[str, int] = {}

    def _row(self, kind: str, key: str, content: Any, **more: Any) -> None:
        # not from the row's number: an agent may remove rows that it wrote
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

    def asked(self, text: str) -> None:
        """Add a message of the user."""
        self._row("user", text, text, promptSource="typed", origin={"kind": "human"})

    def answered(self, text: str) -> None:
        """Add a message of the model."""
        self._row("assistant", text, [{"type": "text", "text": text}])

    def used(self, call: str, tool: str, given: dict[str, Any]) -> None:
        """Add a tool call, with the host's name and arguments."""
        self._row(
            "assistant", call, [{"type": "tool_use", "id": call, "name": tool, "input": given}]
        )

    def returned(
        self, call: str, text: str, failed: bool = False, data: Any = None, refused: bool = False
    ) -> None:
        """Add the result of a tool call.

        data: the host's structured result.  refused: the user would not have it.
        """
        denial = {"toolDenialKind": "user-rejected"} if refused else {}
        said = REFUSED if refused else text
        self._row(
            "user",
            call,
            [
                {
                    "type": "tool_result",
                    "tool_use_id": call,
                    "content": said,
                    "is_error": failed or refused,
                }
            ],
            **({} if data is None else {"toolUseResult": data}),
            **denial,
        )

    def ran(self, call: str, output: str, status: int | None) -> None:
        """Add the result of a command.

        status: its exit status, None where unknown.
        """
        failed = bool(status)
        self.returned(call, ("Exit code %d\n" % (status or 0) if failed else "") + output, failed)


def instant(said: object) -> str:
    """Return a time as the host writes it, "" for none.

    said: RFC 3339, or seconds or milliseconds since the epoch.
    """
    if isinstance(said, bool):
        return ""
    if isinstance(said, (int, float)) and 0 < said < 1e14:
        seconds = said / 1000 if said > 1e11 else said
        return "%s.%03dZ" % (clock.iso(int(seconds))[:19], int(seconds * 1000) % 1000)
    return said if isinstance(said, str) and clock.parse(said) is not None else ""


def text_of(content: object) -> str:
    """Return the text of a message.

    said: one text, or parts with `text`.
    """
    if isinstance(content, list):
        said = [
            part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else ""
            for part in content
        ]
        return "\n".join(part for part in said if isinstance(part, str) and part)
    return content if isinstance(content, str) else ""
