"""What a rewind took back of a session: the transcript is a tree, and its lines name the one that
each hangs on.

A rewind deletes nothing: the next prompt hangs on the line before what was taken back.  So a prompt
takes back every prompt that stands in the file between the line it hangs on and itself.  Only what
begins a turn is looked at: several results hang on one call, and lines of hooks and queues arrive
late.  After a compaction the chain begins anew, without a parent.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from memory.core import files
from memory.session.entries import PROMPT, SLASH, entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from memory.session.entries import Entry

BLOCK = 1 << 20
LONGEST = 8 << 20  # bytes of a line of before that is parsed
_EDGE = 2048  # bytes at a line's start and end that hold its id
_UUID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,80})"')
_PARENT = re.compile(rb'"parentUuid"\s*:\s*"')
_COMPACTED = (b'"compact_boundary"', b'"isCompactSummary"')
# bytes before a reading in which the line is sought that its first prompt hangs on: mostly the last
_LAST = (1 << 14, 1 << 18)


class Span(NamedTuple):
    """A stretch of time withdrawn by a rewind.

    since: the first withdrawn prompt.  until: the prompt that followed.
    """

    since: str
    until: str

    def holds(self, at: str) -> bool:
        """Tell whether an instant lies in the span."""
        return self.since <= at < self.until


class Lines:
    """Lines in the order of their file.

    prompts: the instants of prompts.
    linked: some line names its parent.
    compacted: the chain began anew.
    """

    __slots__ = ("_before", "compacted", "linked", "prompts")

    def __init__(self) -> None:
        # by the hash of its id: how many prompts stand up to a line
        self._before: dict[int, int] = {}
        self.prompts: list[str] = []
        self.linked = self.compacted = False

    def passed(self, line: bytes) -> None:
        """Add a line that is not read, by its id alone."""
        ends = line if len(line) <= 2 * _EDGE else line[:_EDGE] + b" " + line[-_EDGE:]
        for found in _UUID.finditer(ends):
            self._before[hash(found[1].decode("utf-8", "replace"))] = len(self.prompts)

    def row(self, record: dict[str, Any], told: list[Entry]) -> None:
        """Add a line with its entries."""
        if told and told[0].kind in (PROMPT, SLASH) and told[0].at:
            self.prompts.append(told[0].at)
        self.linked = self.linked or isinstance(record.get("parentUuid"), str)
        self.compacted = (
            self.compacted
            or record.get("subtype") == "compact_boundary"
            or bool(record.get("isCompactSummary"))
        )
        if isinstance(record.get("uuid"), str):
            self._before[hash(record["uuid"])] = len(self.prompts)

    def after(self, uuid: str) -> list[str] | None:
        """Return [instant of the first prompt after a line].

        [] for no prompt; None where the line is not among these.
        """
        at = self._before.get(hash(uuid))
        return None if at is None else self.prompts[at : at + 1]


class Tree:
    """The tree of a transcript's prompts.

    start: the reading's offset; earlier lines are read on demand.
    """

    def __init__(self, fd: int, start: int):
        self._fd, self._start, self._own = fd, start, Lines()
        self._read_from: dict[int, Lines] = {}

    def passed(self, line: bytes) -> None:
        """Add a line without entries; other lines may refer back."""
        self._own.passed(line)

    def taken(self, record: dict[str, Any], told: list[Entry]) -> str:
        """Add a line; return the instant of its rewind, or "".

        All since that instant is withdrawn.
        """
        since = "".join(self._next(record["parentUuid"])[:1]) if _begins(record) else ""
        self._own.row(record, told)
        return since

    def _next(self, parent: object) -> list[str]:
        """Return the instants of the prompts after a parent line."""
        if isinstance(parent, str):
            found = self._own.after(parent)
            for before in self._before() if found is None else ():
                earlier = before.after(parent)
                if earlier is not None:
                    return earlier + self._own.prompts[:1]
            return found or []
        every = [*([self._lines(0)] if self._start else ()), self._own]
        if (
            parent is not None
            or any(lines.compacted for lines in every)
            or not any(lines.linked for lines in every)
        ):
            return []
        return [at for lines in every for at in lines.prompts[:1]]

    def _before(self) -> Iterator[Lines]:
        """Yield the lines before the reading, in growing portions."""
        for size in (*_LAST, self._start) if self._start else ():
            yield self._lines(max(0, self._start - size))

    def _lines(self, at: int) -> Lines:
        if at not in self._read_from:
            self._read_from[at] = self._read(at)
        return self._read_from[at]

    def _read(self, at: int) -> Lines:
        """Read the lines from an offset up to the reading's start."""
        found, tail = Lines(), b""
        while at < self._start:
            block = files.read_at(self._fd, min(BLOCK, self._start - at), at)
            if not block:
                break
            at += len(block)
            *lines, tail = (tail + block).split(b"\n")
            for line in lines:
                _note(found, line)
            if len(tail) > LONGEST:
                tail = tail[:_EDGE] + tail[-_EDGE:]  # its id is all that counts of it
        return found


def _note(found: Lines, line: bytes) -> None:
    head = line[:_EDGE]
    asks = b'"user"' in line and b'"tool_result"' not in line and len(line) <= LONGEST
    if not asks and not any(mark in line for mark in _COMPACTED):
        found.linked = found.linked or bool(_PARENT.search(head))
        return found.passed(line)
    try:
        record = json.loads(line.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    return found.row(record, entries(record)) if isinstance(record, dict) else None


def _begins(record: dict[str, Any]) -> bool:
    """Tell whether a line begins a turn."""
    if (
        record.get("type") != "user"
        or "parentUuid" not in record
        or any(record.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary"))
    ):
        return False
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return (
        isinstance(content, str)
        or isinstance(content, list)
        and not any(
            isinstance(block, dict) and block.get("type") == "tool_result" for block in content
        )
    )
