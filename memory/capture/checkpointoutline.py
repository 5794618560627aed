"""A checkpoint's page taken apart again: its lines by section, whatever shape a person gave it."""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.core import tokeniser
from memory.core.plaintext import sentences
from memory.core.records import Record, labels

MOST_SAID = 2  # sentences of a text without sections
_SECTIONS = {
    "outcome": "outcome", "turns": "turns", "request": "request", "done": "done", "decisions": "decisions",
    "decided": "decisions", "commands": "commands", "fixed": "fixed", "open": "open",
    "open questions": "open", "next": "next", "next step": "next", "next steps": "next", "todo": "next"}
_ITEM = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s{1,4}(\[[ xX]\]\s{1,4})?")
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
    decisions: tuple[str, ...]
    fixed: tuple[str, ...]
    open: tuple[str, ...]
    next: tuple[str, ...]
    said: tuple[str, ...]


def outline(record: Record) -> Outline:
    """Take a checkpoint apart; a body of any shape gives an outline."""
    found = _sections(record.body)
    asked = [line[6:].partition(" → ")[0] for line in found["turns"]]
    said = [sentence for line in found["said"] for sentence in sentences(line)]
    return Outline(
        (*found["request"], *asked), tuple(found["outcome"]),
        tuple(line[len(_COMMIT):] for line in found["done"] if line.startswith(_COMMIT)),
        labels(record.meta.get("files")), tuple(found["decisions"]), tuple(found["fixed"]),
        tuple(found["open"]), tuple(_AHEAD.sub("", line, count=1) for line in found["next"]),
        tuple(said[:MOST_SAID]))


def _sections(body: str) -> dict[str, list[str]]:
    """Return the lines under each known heading, without code; those under none stand under `said`."""
    found: dict[str, list[str]] = {name: [] for name in (*_SECTIONS.values(), "said")}
    name = "said"
    for line, fenced in tokeniser.coded(body.split("\n")):
        if fenced or not line.strip():
            continue
        level, title = tokeniser.heading(line)
        if level:
            name = _SECTIONS.get(title.rstrip(": ").lower(), "said")
            continue
        item = _ITEM.match(line)
        ticked = item is not None and (item[1] or "").strip().lower() == "[x]"
        if not (ticked and name in ("open", "next")):
            found[name].append((line[item.end():] if item else line).strip())
    return found
