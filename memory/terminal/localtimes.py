"""Records' times in the reader's zone; files and JSON keep UTC."""

from __future__ import annotations

import re

from memory.core import clock, tokeniser
from memory.core.layout import DATED_KINDS
from memory.core.records import Record
from memory.hook import fence
from memory.recall.hit import Quote

# a line that begins with a time, in a heading or a list too
_LEADING_TIME = re.compile(r"((?:#+ |- )?)(\d\d:\d\d)(?= )")
_TIMED_SECTIONS = ("turns", "taken back")  # sections of a checkpoint whose lines begin with a time


def format_heading(quote: Quote) -> str:
    """Return a turn's local time and request, "" without a turn."""
    # a head begins with its UTC minute
    return to_local(quote.at) + quote.head[16:] if quote.turn else ""


def to_local(at: str) -> str:
    """Convert a UTC minute, such as `2026-01-23T14:03`, to local time."""
    instant = clock.parse(at)
    return at.replace("T", " ") if instant is None else clock.format_local(instant)


def localize_line(kind: str, line: str, created: float) -> str:
    """Convert a line's leading UTC time to local time."""
    match = _LEADING_TIME.match(line) if kind in DATED_KINDS else None
    if match is None:
        return line
    instant = "%sT%s" % (clock.day(created), match[2])
    return match[1] + to_local(instant)[11:] + line[match.end() :]


def localize_body(record: Record, text: str) -> str:
    """Convert the times of a record's turns to local time."""
    if record.kind == "conversation":
        return _localize_conversation(text, clock.day(record.created))
    if record.kind == "checkpoint" and record.source == "auto":
        return _localize_checkpoint(text, record.created)
    return text


def _localize_conversation(text: str, day: str) -> str:
    from memory.capture import conversationpage

    lines, shown = text.split("\n"), ""
    for number, (line, inside) in enumerate(tokeniser.mark_code(list(lines))):
        head = None if inside or not line.startswith("## ") else conversationpage.HEAD.match(line)
        if not head:
            continue
        day = head[1] or day
        local = to_local("%sT%s" % (day, head[2]))
        # a heading has a date where the day differs from that of the heading before
        before = shown or ("" if head[1] else day)
        time = local if local[:10] != before else local[11:]
        lines[number] = ("## %s %s" % (time, head[3])).rstrip()
        shown = local[:10]
    return "\n".join(lines)


def _localize_checkpoint(text: str, created: float) -> str:
    lines, timed = text.split("\n"), False
    for number, line in enumerate(lines):
        if line.startswith("## "):
            timed = line[3:].strip().lower() in _TIMED_SECTIONS
        if timed:
            (lines[number],) = fence.localize_times([line], created)
    return "\n".join(lines)
