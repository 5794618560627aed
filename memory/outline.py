"""What a checkpoint tells, taken apart: the lines of a captured one's sections, the first sentences of one written by hand."""

from __future__ import annotations

import re
from typing import NamedTuple

from memory import checkpoint, facts, text
from memory.records import Record, labels

MOST_SAID = 2  # sentences of a text without sections
_SECTIONS = {
    "request": "request", "done": "done", "decisions": "decisions", "decided": "decisions", "commands": "commands",
    "tests": "tests", "fixed": "fixed", "open": "open", "open questions": "open", "next": "next", "next step": "next",
    "next steps": "next", "todo": "next", "to do": "next"}
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+(\[[ xX]\]\s+)?")
_AHEAD = re.compile(r"(?:next(?: steps?| up)?|todo)\s*[:,]\s*", re.I)


class Outline(NamedTuple):
    """The lines of a checkpoint by what they tell.

    commits: `hash: subject`.  failing: commands that failed and were not fixed, as the checkpoint words them.  said: first
    sentences of what stands under no heading that is known.
    """

    request: tuple[str, ...]
    commits: tuple[str, ...]
    files: tuple[str, ...]
    decisions: tuple[str, ...]
    failing: tuple[str, ...]
    fixed: tuple[str, ...]
    open: tuple[str, ...]
    next: tuple[str, ...]
    said: tuple[str, ...]


def outline(record: Record) -> Outline:
    """Take a checkpoint apart; a body of any shape gives an outline."""
    found = _sections(record.body)
    said = [sentence for line in found["said"] for sentence in facts.sentences_of(line)]
    ahead = checkpoint.next_steps("\n".join(found["said"])) if not found["next"] else []
    commits = [line[len("commit "):] for line in found["done"] if line.startswith("commit ")]
    others = [line for line in found["done"] if not line.startswith(("commit ", "created `", "edited `"))]
    return Outline(
        tuple(found["request"]), tuple(commits), labels(record.meta.get("files")), tuple(found["decisions"]),
        tuple(_failing(found)), tuple(found["fixed"]), tuple(found["open"]),
        tuple(_AHEAD.sub("", line, count=1) if _AHEAD.match(line) else line for line in [*found["next"], *ahead]),
        tuple([*(s for s in map(checkpoint.before_next, said) if s and s not in ahead), *others][:MOST_SAID]))


def _sections(body: str) -> dict[str, list[str]]:
    """Return the lines under each known heading, code blocks left out; those under none stand under `said`."""
    found: dict[str, list[str]] = {name: [] for name in (*_SECTIONS.values(), "said")}
    name = "said"
    for line, code in text.coded(body.split("\n")):
        if code or not line.strip():
            continue
        level, title = text.heading(line)
        if level:
            name = _SECTIONS.get(title.rstrip(": ").lower(), "said")
            continue
        item = _ITEM.match(line)
        if item and (item[1] or "").strip().lower() == "[x]" and name in ("open", "next"):
            continue
        found[name].append((line[item.end():] if item else line).strip())
    return found


def _failing(found: dict[str, list[str]]) -> list[str]:
    """Return the commands that failed and neither passed later nor stand under another heading already."""
    settled = [*(line[2:] for line in found["commands"] if line.startswith("✓ ")), *found["fixed"], *found["open"]]
    failed = [line[2:] for line in found["commands"] if line.startswith("✗ ")]
    return [line for line in failed if not any(other.startswith(line.partition(" → ")[0]) for other in settled)]
