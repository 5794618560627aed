"""The host's record of a session, read incrementally: JSON lines in, typed entries out.

One JSON object a line; `entries` parses it.  Most lines hold no entry, and are dropped by a look at
their bytes.

A file is one session's, whatever `sessionId` its lines have: after a plan that was approved with a
clear context the first request still has the id of the session before.  A fork has its own id in
all lines, and the `uuid`s of the lines it copied.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

from memory.core import files
from memory.session.entries import (
    LINK,
    PLAN,
    PROMPT,
    REPORT,
    RESULT,
    REWIND,
    STEER,
    TASK,
    TODOS,
    USE,
    Entry,
    clean,
    find_pull_url,
    join_text,
    parse_entries,
    parse_line,
    parse_queued,
)
from memory.session.rewinds import PromptTree

BLOCK = 1 << 20
TIMESTAMP = re.compile(rb'"timestamp"\s*:\s*"([0-9T:.+Z-]{10,32})"')
# bytes of a line that is parsed as it is; a longer one loses its pictures first
LONGEST = 8 << 20
READ_LIMIT = 512 << 20  # bytes of one reading; the rest comes with the next

SHORT = 4096  # bytes of a line that is parsed sooner than searched
_QUEUED = b'"queued_command"'  # the one attachment that counts
# a line is parsed if it has one of these types,
_KEPT_TYPES = (
    *b'"user" "assistant" "system" "queue-operation"'.split(),
    *b'"summary" "custom-title" "ai-title" "pr-link"'.split(),
)
_KEPT_WORDS = tuple(  # or holds one of these words,
    b'"user" "assistant" "compact_boundary" "turn_duration" "stop_hook_summary"'.split()
)
_KEPT_HEADS = (_QUEUED, b'"queue-operation"')  # or one of these near its start
# entries that only the results of these tools give: another tool's output may say anything
_TOOLS_BY_KIND = {
    STEER: ("AskUserQuestion", "ExitPlanMode"),
    PLAN: ("ExitPlanMode",),
    TODOS: ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"),
    REPORT: ("Task", "Agent", "TaskOutput", "AgentOutputTool"),
    TASK: ("TaskOutput", "AgentOutputTool"),
}
_COMPACTED = b'"compact_boundary"'
_PENDING = 256  # calls without a result that are remembered
_ANYWHERE = ("refused", "while working")  # what the user may say of any call


class Reading:
    """Reads a transcript's entries from an offset on, once.

    offset: afterwards the start of the next reading, behind the last whole line.
    """

    __slots__ = ("_calls", "_ended", "_fd", "_queue", "_stop", "_tree", "offset")

    def __init__(self, fd: int, offset: int, limit: int, ended: bool = False):
        self._fd, self.offset, self._stop = fd, offset, offset + limit
        self._ended = ended
        self._queue: _Queue | None = None
        self._calls: dict[str, Entry] = {}  # without a result yet
        self._tree = PromptTree(fd, offset)

    def __iter__(self) -> Iterator[Entry]:
        # the C scanner: two frames less for each line
        scan: Any = vars(json.JSONDecoder(strict=False))["scan_once"]
        start = self.offset
        try:
            for line in self._read_lines():
                try:
                    record, _ = scan(line.decode("utf-8", "replace"), 0)
                except (ValueError, StopIteration, RecursionError):
                    continue
                if not isinstance(record, dict):
                    continue
                entries = parse_entries(record)
                since = self._tree.find_rewind(record, entries)
                if since:
                    yield Entry(REWIND, record, since)
                if record.get("type") in ("queue-operation", "attachment"):
                    yield from self._read_queue_line(record, start)
                    continue
                for entry in entries:
                    if entry.kind == USE:
                        self._await_result(entry)
                    elif entry.kind == PROMPT and self._queue:
                        self._queue.take_prompt(entry.text)
                    elif entry.kind in _TOOLS_BY_KIND and not self._may_tell(entry):
                        continue
                    yield entry
                yield from self._take_results(entries)
        finally:
            self.close()

    def _read_queue_line(self, record: dict[str, Any], start: int) -> list[Entry]:
        if self._queue is None:
            self._queue = _read_queue_state(self._fd, start)
        return self._queue.process_line(record)

    def _await_result(self, call: Entry) -> None:
        self._calls[call.id] = call
        if len(self._calls) > _PENDING:
            del self._calls[next(iter(self._calls))]

    def _may_tell(self, entry: Entry) -> bool:
        """Tell whether the tool that was called can give such an entry."""
        call = self._calls.get(entry.id) if entry.id else None
        if call is None or entry.name in _ANYWHERE:
            return True
        if entry.kind == REPORT and not entry.name:
            entry.name = clean(str(call.data.get("description") or ""))
        return call.name in _TOOLS_BY_KIND[entry.kind]

    def _take_results(self, entries: list[Entry]) -> Iterator[Entry]:
        """Forget answered calls; yield the pull requests that they opened."""
        for entry in entries:
            call = self._calls.pop(entry.id, None) if entry.kind == RESULT else None
            command = str(call.data.get("command") or "") if call else ""
            url = find_pull_url(entry.text) if "gh pr create" in command else ""
            if url and not entry.failed:
                yield entry.sibling_entry(LINK, url)

    def close(self) -> None:
        """Close the file, as the iteration's end does."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read_lines(self) -> Iterator[bytes]:
        start = at = self.offset
        tail = b""
        while at < self._stop or self.offset == start:  # one line at least
            block = self._read_block(at)
            if not block:
                if self._ended and tail and parse_line(tail):
                    self.offset = at
                    yield tail
                return
            at += len(block)
            lines = (tail + block).split(b"\n")
            tail = lines.pop()
            yield from filter(None, map(self._filter_line, lines))
            self.offset = at - len(tail)
            if len(tail) > LONGEST:
                line, at = self._read_long_line(tail, at)
                if at < 0:
                    return
                self.offset, tail = at, b""
                if line:
                    yield line

    def _read_block(self, at: int) -> bytes:
        left = self._stop - at
        return files.read_at(self._fd, min(BLOCK, left) if left > 0 else BLOCK, at)

    def _filter_line(self, line: bytes) -> bytes:
        """Return the line, b"" where it holds no entry."""
        line = line.lstrip(b"\0")  # a file may be padded with these
        if not _may_hold_entries(line):
            self._tree.add_unparsed(line)
            return b""
        return line if len(line) <= LONGEST else self._shorten([line])

    def _shorten(self, pieces: Iterable[bytes]) -> bytes:
        from memory.session.longlines import LineShortener  # most transcripts have no such line

        short = LineShortener()
        for piece in pieces:
            short.feed(piece)
        return short.finish()

    def _read_long_line(self, head: bytes, at: int) -> tuple[bytes, int]:
        """Return (shortened line, offset after it), (b"", -1) without an end."""
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

        line = self._shorten(pieces())
        if end < 0:
            return b"", -1
        return self._filter_line(line) if len(line) <= LONGEST else line, end


def _may_hold_entries(line: bytes) -> bool:
    if line.startswith(b'{"type":'):
        return line[8:32].lstrip().startswith(_KEPT_TYPES) or _QUEUED in line[:SHORT]
    if len(line) <= SHORT or any(word in line[:SHORT] for word in _KEPT_HEADS):
        return True
    return any(word in line for word in _KEPT_WORDS)


class _Queue:
    """The user's queued words that the model has not got yet.

    Older hosts note only what enters the queue and how it leaves: `remove`, given to the model as
    it works; `dequeue`, as a prompt of its own; `popAll`, taken back to be edited.  Newer hosts add
    an attachment with the words given to the model, so the same words come twice, in either order.
    """

    __slots__ = ("_attached", "_dequeued", "_removed", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[tuple[dict[str, Any], str]] = []
        self._dequeued: tuple[dict[str, Any], str] | None = None
        self._attached: list[str] = []  # by an attachment, not yet by a `remove`
        self._removed: list[str] = []  # the other way round

    def process_line(self, record: dict[str, Any]) -> list[Entry]:
        if record.get("type") == "attachment":
            return [
                entry
                for entry in parse_entries(record)
                if entry.kind in (REPORT, TASK)
                or self._record_if_new(entry.text, self._removed, self._attached)
            ]
        operation, content = record.get("operation"), join_text(record.get("content"))
        if operation == "enqueue":
            self._waiting.append((record, content))
        elif operation in ("remove", "dequeue", "popAll") and self._waiting:
            return self._take_from_queue(record, content)
        return []

    def _take_from_queue(self, record: dict[str, Any], content: str) -> list[Entry]:
        operation = record.get("operation")
        known = [i for i, (_, words) in enumerate(self._waiting) if words == content]
        if operation == "popAll" and not known:
            self._waiting.clear()
            return []
        enqueued, words = self._waiting.pop(known[0] if known else 0)
        self._dequeued = (enqueued, words) if operation == "dequeue" else None
        if operation != "remove" or record.get("reason") not in (None, "absorbed_mid_turn"):
            return []
        return [
            entry
            for entry in parse_queued(enqueued, words)
            if self._record_if_new(entry.text, self._attached, self._removed)
        ]

    def take_prompt(self, prompt: str) -> None:
        """Take a prompt out in place of the older notice taken for it."""
        for at, (_, words) in enumerate(self._waiting):
            if self._dequeued and clean(words) == prompt:
                self._waiting[at], self._dequeued = self._dequeued, None

    @staticmethod
    def _record_if_new(words: str, other: list[str], own: list[str]) -> bool:
        """Add words to `own` unless `other` has them; tell whether added."""
        if words in other:
            other.remove(words)
            return False
        own.append(words)
        del own[:-64]
        return True


def _read_queue_state(fd: int, offset: int) -> _Queue:
    queue = _Queue()
    start = max(0, offset - BLOCK)
    for line in files.read_at(fd, offset - start, start).split(b"\n"):
        if b'"queue-operation"' in line or b'"queued_command"' in line:
            queue.process_line(parse_line(line))
    return queue


def validate_path(path: object, env: dict[str, str]) -> str:
    """Return the real path of a transcript, "" for any other path.

    path: from a hook's stdin, so anybody's.  It must be a regular file of this user, no link, under
    `projects/` of the host's directory (CLAUDE_CONFIG_DIR, or `.claude` in HOME).  That folder
    itself may be a link.
    """
    return _validate_below(path, list_roots(env))


def _validate_below(path: object, below: list[str]) -> str:
    if not isinstance(path, str) or "\0" in path or len(path) > 4096 or not path.endswith(".jsonl"):
        return ""
    path = path.replace("\\", "/")
    if not (path.startswith("/") or path[1:2] == ":"):
        return ""
    try:
        if not any(files.is_inside(path, root) for root in below):
            return ""
        os.close(_open(path))
    except (OSError, ValueError):
        return ""
    return files.real_path(path)


def is_own_folder(path: str) -> bool:
    """Tell whether a path, links followed, is a directory of this user."""
    try:
        is_own = not hasattr(os, "getuid") or os.stat(path).st_uid == os.getuid()
        return is_own and files.is_folder(path)
    except OSError:
        return False


def validate_listed_path(path: str) -> str:
    """Return the real path of this user's listed transcript, or "".

    path: listed in the host's folder, never given from outside.  Links are followed: who puts one
    there may write there.
    """
    path = files.real_path(path)
    try:
        os.close(_open(path))
    except OSError:
        return ""
    return path if path.endswith(".jsonl") else ""


def find_host_folder(env: dict[str, str]) -> str:
    """Return the host's directory (CLAUDE_CONFIG_DIR, else ~/.claude), or ""."""
    roots = list_roots(env)
    return files.real_path(roots[0].removesuffix("/projects")) if roots else ""


def list_roots(env: dict[str, str]) -> list[str]:
    """Return the host's `projects` folders."""
    user = env.get("HOME") or env.get("USERPROFILE") or ""
    hosts = [env.get("CLAUDE_CONFIG_DIR", ""), user + "/.claude" if user else ""]
    return [host.replace("\\", "/").rstrip("/") + "/projects" for host in hosts if host]


def _open(path: str) -> int:
    fd = files.open_read(path, follow=False)
    if hasattr(os, "getuid") and os.fstat(fd).st_uid != os.getuid():
        os.close(fd)
        raise OSError(1, "belongs to somebody else", path)
    return fd


def read(path: str, offset: int = 0, limit: int = READ_LIMIT, ended: bool = False) -> Reading:
    """Open a transcript for one pass over its new entries.

    path: from `validate_path`.  offset: bytes already read; past the file's end (it was
    rewritten) means from the start.  limit: bytes to read, but at least one line.
    ended: nobody writes it any more: a whole last line counts without a line feed.  Raises OSError.
    """
    fd = _open(path)
    return Reading(fd, offset if 0 <= offset <= os.fstat(fd).st_size else 0, limit, ended)


class StretchEnd(NamedTuple):
    """The end of a part (stretch) of a session.

    offset: of the last line.
    switch: whether another branch is checked out there.
    """

    offset: int
    at: str
    switch: bool = False


def read_lines(path: str, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line); a line over LONGEST comes in parts.  Raises OSError."""
    with os.fdopen(_open(path), "rb", BLOCK) as file:
        file.seek(offset)
        for line in iter(partial(file.readline, LONGEST + 1), b""):
            yield offset, line
            offset += len(line)


def compactions(path: str) -> list[StretchEnd]:
    """Return the compactions of a session's context, in order.  Raises OSError."""
    found: list[StretchEnd] = []
    for offset, line in read_lines(path):
        record = parse_line(line) if _COMPACTED in line and len(line) <= LONGEST else {}
        if (record.get("type"), record.get("subtype")) == ("system", "compact_boundary"):
            found.append(StretchEnd(offset, str(record.get("timestamp") or "")))
    return found


def began(path: str) -> str:
    """Return the instant of a transcript's first entry, or ""."""
    try:
        found = TIMESTAMP.search(files.read(path, BLOCK, follow=False))
    except OSError:
        found = None
    return found[1].decode("ascii") if found else ""


def agents(path: str, env: dict[str, str]) -> list[str]:
    """Return the paths of a session's subagents' transcripts, by name.

    They lie beside the session's own.
    """
    folder = path[: -len(".jsonl")] + "/subagents"
    below = [*list_roots(env), path.rpartition("/")[0]]
    names = [name for name in files.list_folder(folder) if name.startswith("agent-")]
    paths = [_validate_below(folder + "/" + name, below) for name in names]
    return [path for path in paths if path and not _is_warmup(path)]


def _is_warmup(path: str) -> bool:
    """Tell whether a subagent's transcript only fills the client's cache."""
    return b'"content":"Warmup"' in files.read(path, 4 << 10, follow=False).partition(b"\n")[0]


# ---- what another agent's reader offers too


class EntryStream(Protocol):
    """One pass over the new entries of a session.  offset: of the next."""

    offset: int

    def __iter__(self) -> Iterator[Entry]: ...

    def close(self) -> None: ...


class TranscriptReader(Protocol):
    """A reader of session transcripts: this module or another agent's."""

    def read(
        self, path: str, offset: int = 0, limit: int = READ_LIMIT, ended: bool = False
    ) -> EntryStream:
        """Open a session for one pass over its entries."""
        ...

    def compactions(self, path: str) -> list[StretchEnd]: ...

    def began(self, path: str) -> str: ...

    def agents(self, path: str, env: dict[str, str]) -> list[str]: ...
