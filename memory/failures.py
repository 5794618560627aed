"""Failures that come back, and what made them pass: read from the `Commands` and `Fixed` sections of checkpoints.

Two failures are the same where their signatures are (fixes.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.fixes import signature
from memory.records import Record

_SECTION = re.compile(r"#{1,6}\s+(\S.*?)\s*$")
_CODE = r"(?:`` (?P<%s2>.+?) ``|`(?P<%s>[^`]+)`)"
_FIXED = re.compile(r"- " + _CODE % ("a", "a") + r" → [\w ]+?(?:: (?P<why>.*))?; passed(?: \(" + _CODE % ("b", "b")
                    + r"\))? after (?P<how>(?:editing|running) `.*)$")
_FAILED = re.compile(r"- ✗ " + _CODE % ("a", "a") + r" → [\w ]+: (?P<why>.*?)(?: \(×\d+\))?$")
_STEP = re.compile(r"`` .+? ``|`[^`]+`")
_LINE = 2000  # characters of a line that is read


@dataclass(frozen=True)
class Seen:
    """One checkpoint's word on a failure: the command, the error as it was printed, and what made it pass ("" if nothing
    did), such as "editing `a.py`"."""

    record: Record
    command: str
    error: str
    how: str


def failures(checkpoints: Iterable[Record]) -> dict[tuple[str, str], list[Seen]]:
    """Return by signature (program and verb, normal form of the error) where a failure was seen, in the order given.

    A fix takes the place of the bare failure in the same checkpoint.
    """
    found: dict[tuple[str, str], list[Seen]] = {}
    for record in checkpoints:
        here: dict[tuple[str, str], list[Seen]] = {}
        for mark, seen in _seen(record):
            here.setdefault(mark, []).append(seen)
        for mark, several in here.items():
            found.setdefault(mark, []).extend([s for s in several if s.how] or several)
    return found


def _seen(record: Record) -> Iterable[tuple[tuple[str, str], Seen]]:
    heading = ""
    for line in record.body.split("\n"):
        title = _SECTION.match(line)
        heading = title[1] if title else heading
        pattern = {"Fixed": _FIXED, "Commands": _FAILED}.get(heading) if len(line) <= _LINE else None
        match = pattern.match(line) if pattern else None
        if match and match["why"]:
            command = match["a"] or match["a2"]
            error = match["why"].partition(" ⏎ ")[0].strip()
            mark = signature(command, error)
            if mark is not None:
                yield mark, Seen(record, command, error, match.groupdict().get("how") or "")


def steps(how: str) -> list[str]:
    """Return the files or commands of what made a failure pass."""
    return [step.strip("` ") for step in _STEP.findall(how)]


def recurs(seen: Sequence[Seen], sessions: int) -> bool:
    """Tell whether a failure comes back and a fix is known: in two sessions, or twice in one checkpoint with a fix each time.

    sessions: of how many it was seen in.
    """
    fixed = [s for s in seen if s.how]
    return bool(fixed) and (sessions >= 2 or any(
        sum(s.record.id == one.record.id for s in fixed) >= 2 for one in fixed))
