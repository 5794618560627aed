"""The parts of a note, parsed from a model's answer.

Schema of the answer, version 1: one JSON object with `title`, `summary` and the lists of PARTS,
each item an object with `text`, `quote`, `turn` and one of MARKS.  Other keys are ignored; a value
of another type counts as missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from memory.core import ProviderError
from memory.core.plaintext import clip_at_word, one_line

VERSION = 1
DECISIONS, LESSONS, STANDING = "decisions", "lessons", "standing"
NEXT, OPEN, DEAD_ENDS = "next", "open", "dead_ends"
# Each list of the answer: its heading in the note, and how many of its items are kept.
PARTS = {
    NEXT: ("Next", 4),
    OPEN: ("Open", 4),
    DECISIONS: ("Decisions", 12),
    LESSONS: ("Lessons", 4),
    STANDING: ("Standing wishes", 5),
    DEAD_ENDS: ("Dead ends", 3),
}
MARKS = ("user", "agent", "plan", "pitfall", "fact", "procedure")  # who decided, what a lesson is
_MARK = re.compile(r"(?: ?\((?:%s)\)){1,9}\Z" % "|".join(MARKS), re.I)  # as the page writes it
TITLE, SUMMARY, TEXT, QUOTE, WHY = 120, 900, 400, 240, 300  # characters
QUESTION_TOKENS = 4_700  # of the mean session of two projects
ANSWER = 64_000  # characters of an answer that are read


class Item(NamedTuple):
    """A statement of a note, with its proof.

    part: one of PARTS. quote: words of the turn. turn: its heading's time as the model gave it.
        number: of the turn, from 1; 0 before the check. why: a reason, or "". mark: one of MARKS,
        or "".
    """

    part: str
    text: str
    quote: str = ""
    turn: str = ""
    number: int = 0
    why: str = ""
    mark: str = ""


class Note(NamedTuple):
    """A note before storage, with items in order of PARTS."""

    title: str
    summary: str
    items: tuple[Item, ...]

    def items_of(self, part: str) -> list[Item]:
        """Return the items of a part."""
        return [item for item in self.items if item.part == part]


def parse_answer(answer: str) -> Note:
    """Parse the note in a model's answer; raises ProviderError without one."""
    found = _parse_object(answer[:ANSWER])
    items = [item for part in PARTS for item in _parse_items(part, found.get(part))]
    note = Note(
        _drop_single_word(_clip_line(found.get("title"), TITLE)),
        _drop_single_word(_clip_line(found.get("summary"), SUMMARY)),
        tuple(items),
    )
    if not note.summary and not note.items:
        raise ProviderError("the answer holds neither a summary nor an item")
    return note


def _parse_object(answer: str) -> dict[str, object]:
    """Parse the first JSON object in an answer; raises ProviderError without one."""
    decoder, at = json.JSONDecoder(), answer.find("{")
    for _ in range(20):  # tries
        if at < 0:
            break
        try:
            found, _ = decoder.raw_decode(answer, at)
        except (ValueError, RecursionError):
            at = answer.find("{", at + 1)
            continue
        if isinstance(found, dict):
            return found
        break
    raise ProviderError("the answer is no JSON object")


def _parse_items(part: str, listed: object) -> Iterator[Item]:
    rows = listed if isinstance(listed, list) else []
    for row in [row for row in rows if isinstance(row, dict)]:
        mark = str(row.get("by") or row.get("kind") or "").strip().lower()
        item = Item(
            part,
            _MARK.sub("", _clip_line(row.get("text"), TEXT)),
            _clip_line(row.get("quote"), QUOTE, whole=True),
            _clip_line(row.get("turn"), 20),
            why=_clip_line(row.get("why"), WHY),
            mark=mark if mark in MARKS else "",
        )
        if item.text:
            yield item


def _drop_single_word(line: str) -> str:
    """Return a line, "" for a lone ASCII word such as `none`."""
    return "" if line.isascii() and " " not in line else line


def _clip_line(value: object, most: int, whole: bool = False) -> str:
    """Return a text on one line; a longer one is clipped, or "" if `whole`."""
    line = one_line(value) if isinstance(value, str) else ""
    if len(line) <= most:
        return line
    return "" if whole else clip_at_word(line, most)
