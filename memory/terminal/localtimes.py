"""Times for people: what records tell in UTC, in the zone of whoever reads it.  The files keep UTC,
and so does JSON.
"""

from __future__ import annotations

import re

from memory.core import clock, tokeniser
from memory.core.layout import DATED
from memory.core.records import Record
from memory.recall.hit import Quote

_LINE = re.compile(r"(- )(\d\d:\d\d)(?= )")
_BEGINS = re.compile(r"((?:#+ |- )?)(\d\d:\d\d)(?= )")
_TIMED = ("turns", "taken back")  # sections of a checkpoint whose lines begin with a time


def heading(quote: Quote) -> str:
    """Return a turn's local time and request, or ""."""
    return minute(quote.at) + quote.head[16:] if quote.turn else ""


def minute(at: str) -> str:
    """Return a turn's minute, `2026-01-23T14:03` in UTC, in local time."""
    instant = clock.parse(at)
    return at.replace("T", " ") if instant is None else clock.local(instant)


def line(kind: str, said: str, created: float) -> str:
    """Return a line of a captured record with a leading time localised."""
    found = _BEGINS.match(said) if kind in DATED else None
    return (
        found[1] + minute("%sT%s" % (clock.day(created), found[2]))[11:] + said[found.end() :]
        if found
        else said
    )


def body(record: Record, text: str) -> str:
    """Return a record's text with its turns' times in local time."""
    if record.kind == "conversation":
        return _conversation(text, clock.day(record.created))
    return (
        _checkpoint(text, record.created)
        if record.kind == "checkpoint" and record.source == "auto"
        else text
    )


def _conversation(text: str, day: str) -> str:
    # a kept answer has no conversation, and does without capture
    from memory.capture import conversationpage

    lines, shown = text.split("\n"), ""
    for number, (line, inside) in enumerate(tokeniser.coded(list(lines))):
        head = None if inside or not line.startswith("## ") else conversationpage.HEAD.match(line)
        if head:
            day = head[1] or day
            now = minute("%sT%s" % (day, head[2]))
            dated = now[:10] != (shown or (now[:10] if not head[1] and now[:10] == day else ""))
            lines[number] = ("## %s %s" % (now if dated else now[11:], head[3])).rstrip()
            shown = now[:10]
    return "\n".join(lines)


def _checkpoint(text: str, created: float) -> str:
    lines, timed = text.split("\n"), False
    for number, line in enumerate(lines):
        if line.startswith("## "):
            timed = line[3:].strip().lower() in _TIMED
        found = _LINE.match(line) if timed else None
        if found:
            lines[number] = (
                found[1]
                + minute("%sT%s" % (clock.day(created), found[2]))[11:]
                + line[found.end() :]
            )
    return "\n".join(lines)
