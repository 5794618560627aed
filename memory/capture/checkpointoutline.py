"""A checkpoint's page taken apart again: its lines by section, whatever shape a person gave it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory.core import tokeniser
from memory.core.plaintext import one_line, sentences
from memory.core.records import Record, labels

MOST_SAID = 2  # sentences of a text without sections
_SECTIONS = {
    "outcome": "outcome",
    "turns": "turns",
    "request": "request",
    "done": "done",
    "decisions": "decisions",
    "decided": "decisions",
    "commands": "commands",
    "fixed": "fixed",
    "open": "open",
    "open questions": "open",
    "next": "next",
    "next step": "next",
    "next steps": "next",
    "todo": "next",
}
_MARK = re.compile(r"(?:[-*+•]|\d{1,9}[.)])\s+")
_BOX = re.compile(r"\[([ xX])\]\s+")
_AHEAD = re.compile(r"(?:next(?: steps?| up)?|todo)\s{0,4}[:,]\s{0,4}", re.I)
_COMMIT = "commit "


class Outline(NamedTuple):
    """A checkpoint's lines by section.

    commits: `hash: subject`.  said: the first sentences under no known heading.
    """

    request: tuple[str, ...]
    outcome: tuple[str, ...]
    commits: tuple[str, ...]
    files: tuple[str, ...]
    open: tuple[str, ...]
    next: tuple[str, ...]
    said: tuple[str, ...]


def outline(record: Record) -> Outline:
    """Parse a checkpoint of any shape into an outline."""
    found = _sections(record.body)
    asked = [line[6:].partition(" → ")[0] for line in found["turns"]]
    said = [sentence for line in found["said"] for sentence in sentences(line)]
    return Outline(
        (*found["request"], *asked),
        tuple(found["outcome"]),
        tuple(line[len(_COMMIT) :] for line in found["done"] if line.startswith(_COMMIT)),
        labels(record.meta.get("files")),
        tuple(found["open"]),
        tuple(_AHEAD.sub("", line, count=1) for line in found["next"]),
        tuple(said[:MOST_SAID]),
    )


def _sections(body: str) -> dict[str, list[str]]:
    """Return the lines under each known heading, without code."""
    found: dict[str, list[str]] = {name: [] for name in (*_SECTIONS.values(), "said")}
    for row in _rows(body):
        name = _SECTIONS.get(row.section, "said")
        if not (row.ticked and row.marked and name in ("open", "next")):
            found[name].append(row.text)
    return found


def sections(body: str) -> dict[str, list[str]]:
    """Return a page's lines by lower-case heading, "" for none.

    Marks of lists, code and ticked steps are left out.
    """
    found: dict[str, list[str]] = {"": []}
    for row in _rows(body):
        if not row.ticked:
            found.setdefault(row.section, []).append(one_line(row.text))
    return found


class _Row(NamedTuple):
    """A line of a page.

    section: the heading above it in small letters.  text: without marks.  marked: it is an item.
    """

    section: str
    text: str
    marked: bool
    ticked: bool


def _rows(body: str) -> Iterator[_Row]:
    """Yield the lines of a page without code, headings and blanks."""
    section = ""
    for line, fenced in tokeniser.coded(body.split("\n")):
        level, title = (0, "") if fenced else tokeniser.heading(line)
        if level:
            section = title.rstrip(": ").lower()
            continue
        mark = _MARK.match(line.strip())
        text = line.strip()[mark.end() if mark else 0 :]
        box = _BOX.match(text)
        text = text[box.end() if box else 0 :]
        if not fenced and text.strip("-*+• "):
            yield _Row(section, text, mark is not None, box is not None and box[1] != " ")
