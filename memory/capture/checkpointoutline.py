"""A checkpoint's page, parsed into lines by section, whatever shape a person gave it."""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.core import tokeniser
from memory.core.plaintext import one_line, split_sentences
from memory.core.records import Record, parse_labels

MOST_SAID = 2  # sentences of a text without sections
# headings of a person's, as ours
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


def parse_outline(record: Record) -> Outline:
    """Parse a checkpoint of any shape into an outline."""
    found: dict[str, list[str]] = {name: [] for name in (*_KNOWN, "")}
    for heading, lines in split_sections(record.body).items():
        name = _NAMES.get(heading, heading)
        found[name if name in _KNOWN else ""] += lines
    asked = [line[6:].partition(" → ")[0] for line in found["turns"]]
    said = [sentence for line in found[""] for sentence in split_sentences(line)]
    return Outline(
        (*found["request"], *asked),
        tuple(found["outcome"]),
        tuple(line[len(_COMMIT) :] for line in found["done"] if line.startswith(_COMMIT)),
        parse_labels(record.meta.get("files")),
        tuple(found["open"]),
        tuple(_AHEAD.sub("", line, count=1) for line in found["next"]),
        tuple(said[:MOST_SAID]),
    )


def split_sections(body: str) -> dict[str, list[str]]:
    """Return a page's lines by lower-case heading.

    Without code and ticked steps.  Lines above all headings are under "".
    """
    found: dict[str, list[str]] = {"": []}
    section = ""
    for line, fenced in tokeniser.mark_code(body.split("\n")):
        level, title = (0, "") if fenced else tokeniser.parse_heading(line)
        if level:
            section = title.rstrip(": ").lower()
            continue
        text = _MARK.sub("", line.strip(), count=1)
        box = _BOX.match(text)
        text = text[box.end() if box else 0 :]
        is_ticked = box is not None and box[1] != " "
        if not fenced and not is_ticked and text.strip("-*+• "):
            found.setdefault(section, []).append(one_line(text))
    return found
