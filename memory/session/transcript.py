"""The host's record of a session, read incrementally: JSON lines in, typed entries out.

One JSON object a line, appended; what a line says, by version, is told in `entries`.  Lines that
say nothing (attachments, which hold dayleaf's own output; copies of requests; snapshots) are
dropped by a look at their bytes, without parsing them: those are most of a transcript.

A file is one session's, whatever `sessionId` its lines bear: after a plan that was approved with a
clear context the first request still bears the id of the session before.  A fork bears its own id
in all lines, and the `uuid`s of what it copied.
"""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import NamedTuple, Protocol

from memory.core import files
from memory.session.entries import (
    LINK,
    PLAN,
    REPORT,
    RESULT,
    REWIND,
    STEER,
    TODOS,
    USE,
    Entry,
    entries,
    joined,
    pull,
    queued,
)
from memory.session.rewinds import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

BLOCK = 1 << 20
AT = re.compile(rb'"timestamp"\s*:\s*"([0-9T:.+Z-]{10,32})"')
# bytes of a line that is parsed as it is; a longer one loses its pictures and documents first
LONGEST = 8 << 20
MOST = 512 << 20  # bytes of one reading; the rest comes with the next

SHORT = 4096  # bytes of a line that is parsed sooner than searched
_QUEUED = b'"queued_command"'  # the one attachment that counts
# the types that count
_WANTED = (
    *b'"user" "assistant" "system" "queue-operation"'.split(),
    *b'"summary" "custom-title" "ai-title" "pr-link"'.split(),
)
_WORDS = (  # or one of them stands in it
    b'"user"',
    b'"assistant"',
    b'"compact_boundary"',
    b'"turn_duration"',
    b'"stop_hook_summary"',
)
_HEADS = (_QUEUED, b'"queue-operation"')  # or one of these near its start
_TOOLS = {  # what only these tools may tell by their result: another's output may say anything
    STEER: ("AskUserQuestion", "ExitPlanMode"),
    PLAN: ("ExitPlanMode",),
    TODOS: ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"),
    REPORT: ("Task", "Agent", "TaskOutput", "AgentOutputTool"),
}
_COMPACTED = b'"compact_boundary"'
_PENDING = 256  # calls without a result that are remembered
_ANYWHERE = ("refused", "while working")  # what the user may say of any call


class Reading:
    """The entries of a transcript from an offset on.

    Iterate once, then ask.
    offset: where the next reading starts, just after the last whole line.
    """

    __slots__ = ("_calls", "_ended", "_fd", "_queue", "_stop", "_tree", "offset")

    def __init__(self, fd: int, offset: int, limit: int, ended: bool = False):
        self._fd, self.offset, self._stop = fd, offset, offset + limit
        self._ended = ended
        self._queue: _Queue | None = None
        self._calls: dict[str, Entry] = {}  # without a result yet
        self._tree = Tree(fd, offset)

    def __iter__(self) -> Iterator[Entry]:
        # the C scanner: two frames less for each line
        scan: Any = vars(json.JSONDecoder(strict=False))["scan_once"]
        start = self.offset
        try:
            for line in self._lines():
                try:
                    record, _ = scan(line.decode("utf-8", "replace"), 0)
                except (ValueError, StopIteration, RecursionError):
                    continue
                if not isinstance(record, dict):
                    continue
                told = entries(record)
                since = self._tree.taken(record, told)
                if since:
                    yield Entry(REWIND, record, since)
                if record.get("type") in ("queue-operation", "attachment"):
                    yield from self._queued(record, start)
                    continue
                for entry in told:
                    if entry.kind == USE:
                        self._await_result(entry)
                    elif entry.kind in _TOOLS and not self._may_tell(entry):
                        continue
                    yield entry
                yield from self._answered(told)
        finally:
            self.close()

    def _queued(self, record: dict[str, Any], start: int) -> list[Entry]:
        """Return the user's words in a line about the queue."""
        if self._queue is None:
            self._queue = _queue_before(self._fd, start)
        return self._queue.turn(record)

    def _await_result(self, call: Entry) -> None:
        self._calls[call.id] = call
        if len(self._calls) > _PENDING:
            del self._calls[next(iter(self._calls))]

    def _may_tell(self, entry: Entry) -> bool:
        """Tell whether an entry beside a result fits the call's tool."""
        call = self._calls.get(entry.id) if entry.id else None
        return call is None or entry.name in _ANYWHERE or call.name in _TOOLS[entry.kind]

    def _answered(self, told: list[Entry]) -> Iterator[Entry]:
        """Drop the answered calls and yield a pull request opened thereby."""
        for entry in told:
            call = self._calls.pop(entry.id, None) if entry.kind == RESULT else None
            if (
                call is not None
                and not entry.failed
                and "gh pr create" in str(call.data.get("command") or "")
            ):
                url = pull(entry.text)
                if url:
                    yield entry.sibling_entry(LINK, url)

    def close(self) -> None:
        """Close the file; done by the iteration's end too."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines that may hold entries."""
        start = at = self.offset
        tail = b""
        while at < self._stop or self.offset == start:
            block = self._block(at)
            if not block:
                if self._ended and tail and parse_line(tail):
                    self.offset = at
                    yield tail
                return
            at += len(block)
            lines = (tail + block).split(b"\n")
            tail = lines.pop()
            yield from filter(None, map(self._readable, lines))
            self.offset = at - len(tail)
            if len(tail) > LONGEST:
                line, at = self._long_line(tail, at)
                if at < 0:
                    return
                self.offset, tail = at, b""
                if line:
                    yield line

    def _block(self, at: int) -> bytes:
        """Return the bytes at an offset, none of them behind the limit.

        An offset behind it is in a line that began before.
        """
        left = self._stop - at
        return files.read_at(self._fd, min(BLOCK, left) if left > 0 else BLOCK, at)

    def _readable(self, line: bytes) -> bytes:
        """Return a line that may hold entries, else b""."""
        line = line.lstrip(b"\0")  # a file may be padded with these
        if line.startswith(b'{"type":'):
            if not line[8:32].lstrip().startswith(_WANTED) and _QUEUED not in line[:SHORT]:
                return self._passed(line)
        elif (
            len(line) > SHORT
            and not any(word in line for word in _WORDS)
            and not any(word in line[:SHORT] for word in _HEADS)
        ):
            return self._passed(line)
        return line if len(line) <= LONGEST else self._shortened([line])

    def _passed(self, line: bytes) -> bytes:
        self._tree.passed(line)
        return b""

    def _shortened(self, pieces: Iterable[bytes]) -> bytes:
        from memory.session.longlines import Shortened  # most transcripts have no such line

        short = Shortened()
        for piece in pieces:
            short.feed(piece)
        return short.line()

    def _long_line(self, head: bytes, at: int) -> tuple[bytes, int]:
        """Return (shortened long line, offset after it)."""
        end = at

        def pieces() -> Iterator[bytes]:
            nonlocal end
            yield head
            while block := files.read_at(self._fd, BLOCK, end):
                piece, feed, _ = block.partition(b"\n")
                end += len(piece) + len(feed)
                yield piece
                if feed:
                    return
            end = end if self._ended else -1

        line = self._shortened(pieces())
        return (
            (self._readable(line) if len(line) <= LONGEST else line, end) if end >= 0 else (b"", -1)
        )


class _Queue:
    """The user's queued words that have not reached the model.

    Older hosts note only what enters the queue and how it leaves: `remove`, given to the model as
    it works; `dequeue`, as a prompt of its own; `popAll`, taken back to be edited.  Newer hosts add
    an attachment with the words given to the model.
    """

    __slots__ = ("_given", "_told", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[tuple[dict[str, Any], str]] = []
        self._given: list[str] = []  # told by an attachment, not yet by a line about the queue
        self._told: list[str] = []  # the other way round

    def turn(self, record: dict[str, Any]) -> list[Entry]:
        """Process a line and return the user's words in it."""
        if record.get("type") == "attachment":
            return [
                e
                for e in entries(record)
                if e.kind == REPORT or self._first(e.text, self._told, self._given)
            ]
        operation, content = record.get("operation"), joined(record.get("content"))
        if operation == "enqueue":
            self._waiting.append((record, content))
        elif operation in ("remove", "dequeue", "popAll") and self._waiting:
            return self._left(record, content)
        return []

    def _left(self, record: dict[str, Any], content: str) -> list[Entry]:
        """Return the words that left the queue for the model."""
        operation = record.get("operation")
        known = [i for i, (_, words) in enumerate(self._waiting) if words == content]
        if operation == "popAll" and not known:
            self._waiting.clear()
            return []
        before, words = self._waiting.pop(known[0] if known else 0)
        if operation != "remove" or record.get("reason") not in (None, "absorbed_mid_turn"):
            return []
        return [e for e in queued(before, words) if self._first(e.text, self._given, self._told)]

    @staticmethod
    def _first(words: str, other: list[str], own: list[str]) -> bool:
        """Tell whether words are new, and record them."""
        if words in other:
            other.remove(words)
            return False
        own.append(words)
        del own[:-64]
        return True


def _queue_before(fd: int, offset: int) -> _Queue:
    """Return the queue's state at an offset."""
    queue = _Queue()
    start = max(0, offset - BLOCK)
    for line in files.read_at(fd, offset - start, start).split(b"\n") if offset else ():
        if b'"queue-operation"' in line or b'"queued_command"' in line:
            record = parse_line(line)
            if record:
                queue.turn(record)
    return queue


def parse_line(line: bytes) -> dict[str, Any]:
    """Return a line's JSON object, {} where torn or invalid."""
    try:
        record = json.loads(line.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def trusted(path: object, env: dict[str, str]) -> str:
    """Return the real path of a transcript, "" for any other path.

    path: as it came on a hook's stdin, so anybody's.
    It must be a regular file of this user, reached through no link itself, that lies under
    `projects/` of the host's directory (CLAUDE_CONFIG_DIR, or `.claude` in HOME); that folder
    itself may be a link.  Transcripts that dayleaf lists by itself go through `own_transcript`.
    """
    return _trusted(path, roots(env))


def _trusted(path: object, below: list[str]) -> str:
    if not isinstance(path, str) or "\0" in path or len(path) > 4096 or not path.endswith(".jsonl"):
        return ""
    path = path.replace("\\", "/")
    if not (path.startswith("/") or path[1:2] == ":"):
        return ""
    try:
        if not any(files.inside(path, root) for root in below):
            return ""
        os.close(_open(path))
    except (OSError, ValueError):
        return ""
    return files.real_path(path)


def is_own_folder(path: str) -> bool:
    """Tell whether a path, links followed, is a directory of this user."""
    try:
        return files.is_folder(path) and (
            not hasattr(os, "getuid") or os.stat(path).st_uid == os.getuid()
        )
    except OSError:
        return False


def own_transcript(path: str) -> str:
    """Return the real path of a listed transcript, or "".

    "" where it is no file of this user.
    path: listed in the host's folder, never given from outside: whoever put a link there may write
        there, so the link is followed, to a project's folder on another disk as to a single
        transcript.
    """
    path = files.real_path(path)
    try:
        os.close(_open(path))
    except OSError:
        return ""
    return path if path.endswith(".jsonl") else ""


def host(env: dict[str, str]) -> str:
    """Return the host's directory, or "".

    CLAUDE_CONFIG_DIR, else `.claude` in HOME.
    """
    found = roots(env)
    return files.real_path(found[0].removesuffix("/projects")) if found else ""


def roots(env: dict[str, str]) -> list[str]:
    """Return the host's folders of transcripts.

    They hold one folder for each project.
    """
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    hosts = [env.get("CLAUDE_CONFIG_DIR", ""), user + "/.claude" if user else ""]
    return [host.replace("\\", "/").rstrip("/") + "/projects" for host in hosts if host]


def _open(path: str) -> int:
    fd = files.open_read(path, follow=False)
    if hasattr(os, "getuid") and os.fstat(fd).st_uid != os.getuid():
        os.close(fd)
        raise OSError(1, "belongs to somebody else", path)
    return fd


def read(path: str, offset: int = 0, limit: int = MOST, ended: bool = False) -> Reading:
    """Open a transcript for one pass over its new entries.

    path: what `trusted` returned.  offset: bytes already read; past the file's end (it was
    rewritten) means from the start.  limit: bytes to read at most, up to the end of the first line.
    ended: nobody writes it any more, so a last line without a line feed counts where it is whole.
    Raises OSError.
    """
    fd = _open(path)
    return Reading(fd, offset if 0 <= offset <= os.fstat(fd).st_size else 0, limit, ended)


class Stop(NamedTuple):
    """The end of a stretch.

    offset: of the line that ends it.
    at: its instant.
    switch: whether another branch is checked out.
    """

    offset: int
    at: str
    switch: bool = False


def lines(path: str, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line) of each line, of one too long its parts.

    Raises OSError.
    """
    with os.fdopen(_open(path), "rb", BLOCK) as file:
        file.seek(offset)
        for line in iter(partial(file.readline, LONGEST + 1), b""):
            yield offset, line
            offset += len(line)


def compactions(path: str) -> list[Stop]:
    """Return the compactions of a session's context, in order.

    Raises OSError.
    """
    found: list[Stop] = []
    for offset, line in lines(path):
        record = parse_line(line) if _COMPACTED in line and len(line) <= LONGEST else {}
        if (record.get("type"), record.get("subtype")) == ("system", "compact_boundary"):
            found.append(Stop(offset, str(record.get("timestamp") or "")))
    return found


def began(path: str) -> str:
    """Return the instant of a transcript's first entry, or ""."""
    try:
        found = AT.search(files.read(path, BLOCK, follow=False))
    except OSError:
        found = None
    return found[1].decode("ascii") if found else ""


def agents(path: str, env: dict[str, str]) -> list[str]:
    """Return the transcripts of a session's subagents, by name.

    They lie beside its own.
    """
    folder = path[: -len(".jsonl")] + "/subagents"
    below = [*roots(env), path.rpartition("/")[0]]
    names = [name for name in files.list_folder(folder) if name.startswith("agent-")]
    names = [name for name in names if name.endswith(".jsonl")]
    return [
        found
        for found in (_trusted(folder + "/" + name, below) for name in names)
        if found and not _warms_up(found)
    ]


def _warms_up(path: str) -> bool:
    """Tell whether a subagent only fills the client's cache."""
    return b'"content":"Warmup"' in files.read(path, 4 << 10, follow=False).partition(b"\n")[0]


# ---- its shape, for what stands in its place


class Entries(Protocol):
    """One pass over the new entries of a session.

    offset: where the next pass begins.
    """

    offset: int

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Source(Protocol):
    """A reader of sessions: this module, or another agent's."""

    def read(self, path: str, offset: int = 0, limit: int = MOST, ended: bool = False) -> Entries:
        """Open a session for one pass over its entries.

        offset: where the pass begins.
        """
        ...

    def compactions(self, path: str) -> list[Stop]:
        """Return where a session's context was compacted."""
        ...

    def began(self, path: str) -> str:
        """Return the instant of its first entry, or ""."""
        ...

    def agents(self, path: str, env: dict[str, str]) -> list[str]:
        """Return the paths of its subagents' sessions."""
        ...
