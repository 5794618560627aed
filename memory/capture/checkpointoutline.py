"""A checkpoint's page taken apart again: its lines by section, whatever shape a person gave it."""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.core import tokeniser
from memory.core.plaintext import one_line, sentences
from memory.core.records import Record, labels

MOST_SAID = 2  # sentences of a text without sections
# of headings that a person gave
_NAMES = {
    "decided": "decisions",
    "open questions": "open",
    "next step": "next",
    "next steps": "next",
    "todo": "next",
}
_KNOWN = frozenset("outcome turns request done decisions commands fixed open next".split())
_MARK = re.compile(r"^(?:[-*+•]|\d{1,9}[.)])\s+")
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
    found: dict[str, list[str]] = {name: [] for name in (*_KNOWN, "")}
    for heading, lines in sections(record.body).items():
        name = _NAMES.get(heading, heading)
        found[name if name in _KNOWN else ""] += lines
    asked = [line[6:].partition(" → ")[0] for line in found["turns"]]
    said = [sentence for line in found[""] for sentence in sentences(line)]
    return Outline(
        (*found["request"], *asked),
        tuple(found["outcome"]),
        tuple(line[len(_COMMIT) :] for line in found["done"] if line.startswith(_COMMIT)),
        labels(record.meta.get("files")),
        tuple(found["open"]),
        tuple(_AHEAD.sub("", line, count=1) for line in found["next"]),
        tuple(said[:MOST_SAID]),
    )


def sections(body: str) -> dict[str, list[str]]:
    """Return a page's lines by lower-case heading, "" for none.

    Marks of lists, code and ticked steps are left out.
    """
    found: dict[str, list[str]] = {"": []}
    section = ""
    for line, fenced in tokeniser.coded(body.split("\n")):
        level, title = (0, "") if fenced else tokeniser.heading(line)
        if level:
            section = title.rstrip(": ").lower()
            continue
        text = _MARK.sub("", line.strip(), count=1)
        box = _BOX.match(text)
        text = text[box.end() if box else 0 :]
        if not fenced and text.strip("-*+• ") and not (box and box[1] != " "):
            found.setdefault(section, []).append(one_line(text))
    return found
