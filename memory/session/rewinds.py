"""The turns that a rewind withdrew: a transcript is a tree, in which each line names its parent.

A rewind deletes nothing, but a prompt withdraws every prompt that stands in the file between its
parent and itself.  Only lines that begin a turn count: several results have one call as parent, and
lines of hooks and queues arrive late.  After a compaction the first line has no parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from memory.core import files
from memory.session.entries import PROMPT, SLASH, Entry, parse_entries, parse_line

BLOCK = 1 << 20
LONGEST = 8 << 20  # bytes of a line of before that is parsed
_EDGE = 2048  # bytes at a line's start and end that hold its id
_UUID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,80})"')
_PARENT = re.compile(rb'"parentUuid"\s*:\s*"')
_COMPACTED = (b'"compact_boundary"', b'"isCompactSummary"')
# bytes before a reading that are searched for the parent of its first prompt
_LAST = (1 << 14, 1 << 18)


class WithdrawnSpan(NamedTuple):
    """A period that a rewind withdrew.

    since: the first withdrawn prompt.  until: the prompt that followed.
    """

    since: str
    until: str

    def contains(self, at: str) -> bool:
        return self.since <= at < self.until


class LineIndex:
    """The ids of transcript lines, with the prompts between them.

    prompts: the instants of prompts.
    linked: some line names its parent.
    compacted: the chain began anew.
    """

    __slots__ = ("_counts", "compacted", "linked", "prompts")

    def __init__(self) -> None:
        # by the hash of its id: how many prompts stand up to a line
        self._counts: dict[int, int] = {}
        self.prompts: list[str] = []
        self.linked = self.compacted = False

    def add_unparsed(self, line: bytes) -> None:
        """Add a line by its id alone, without parsing it."""
        ends = line if len(line) <= 2 * _EDGE else line[:_EDGE] + b" " + line[-_EDGE:]
        for match in _UUID.finditer(ends):
            self._counts[hash(match[1].decode("utf-8", "replace"))] = len(self.prompts)

    def add_line(self, record: dict[str, Any], entries: list[Entry]) -> None:
        """Add a parsed line with its entries."""
        if entries and entries[0].kind in (PROMPT, SLASH) and entries[0].at:
            self.prompts.append(entries[0].at)
        self.linked |= isinstance(record.get("parentUuid"), str)
        self.compacted |= record.get("subtype") == "compact_boundary"
        self.compacted |= bool(record.get("isCompactSummary"))
        if isinstance(record.get("uuid"), str):
            self._counts[hash(record["uuid"])] = len(self.prompts)

    def find_next_prompt(self, uuid: str) -> list[str] | None:
        """Return [instant of the first prompt after the line with an id].

        [] for no prompt; None where the index lacks the line.
        """
        count = self._counts.get(hash(uuid))
        return None if count is None else self.prompts[count : count + 1]


class PromptTree:
    """Finds the prompts that rewinds withdrew.

    start: the reading's offset; earlier lines are read on demand.
    """

    def __init__(self, fd: int, start: int):
        self._fd, self._start, self._own = fd, start, LineIndex()
        self._indexes: dict[int, LineIndex] = {}

    def add_unparsed(self, line: bytes) -> None:
        """Add a line without entries, to which others may refer."""
        self._own.add_unparsed(line)

    def find_rewind(self, record: dict[str, Any], entries: list[Entry]) -> str:
        """Add a line; return since when it withdraws all prompts, or ""."""
        since = self._find_next_prompt(record["parentUuid"]) if _begins_turn(record) else []
        self._own.add_line(record, entries)
        return "".join(since)

    def _find_next_prompt(self, parent: object) -> list[str]:
        """Return [instant of the first prompt after a parent line], or []."""
        if not isinstance(parent, str):
            return self._find_first_prompt() if parent is None else []
        prompts = self._own.find_next_prompt(parent)
        if prompts is not None:
            return prompts
        for index in self._read_earlier():
            prompts = index.find_next_prompt(parent)
            if prompts is not None:
                return (prompts + self._own.prompts)[:1]
        return []

    def _find_first_prompt(self) -> list[str]:
        """Return [instant of the first prompt], [] without links or if compacted."""
        earlier, own = self._index_from(0), self._own
        if earlier.compacted or own.compacted or not (earlier.linked or own.linked):
            return []
        return (earlier.prompts or own.prompts)[:1]

    def _read_earlier(self) -> Iterator[LineIndex]:
        """Yield indexes of the lines before the reading, in growing portions."""
        for size in (*_LAST, self._start):
            yield self._index_from(max(0, self._start - size))

    def _index_from(self, at: int) -> LineIndex:
        if at not in self._indexes:
            self._indexes[at] = self._read_index(at)
        return self._indexes[at]

    def _read_index(self, at: int) -> LineIndex:
        index, tail = LineIndex(), b""
        while at < self._start:
            block = files.read_at(self._fd, min(BLOCK, self._start - at), at)
            if not block:
                break
            at += len(block)
            *lines, tail = (tail + block).split(b"\n")
            for line in lines:
                _add_raw_line(index, line)
            if len(tail) > LONGEST:
                tail = tail[:_EDGE] + tail[-_EDGE:]  # its id is all that counts of it
        return index


def _add_raw_line(index: LineIndex, line: bytes) -> None:
    asks = b'"user"' in line and b'"tool_result"' not in line and len(line) <= LONGEST
    if not asks and not any(mark in line for mark in _COMPACTED):
        index.linked |= bool(_PARENT.search(line[:_EDGE]))
        index.add_unparsed(line)
        return
    record = parse_line(line)
    index.add_line(record, parse_entries(record))


def _begins_turn(record: dict[str, Any]) -> bool:
    by_host = any(record.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary"))
    if by_host or record.get("type") != "user" or "parentUuid" not in record:
        return False
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return isinstance(content, str)
    blocks = (block for block in content if isinstance(block, dict))
    return all(block.get("type") != "tool_result" for block in blocks)
