"""Failures that come back, and what made them pass: read from the `Commands` and `Fixed` sections of checkpoints.

Two failures are the same where program and verb are (`npm test`) and the first line of the error is, after numbers, hashes,
quoted values and the folders of absolute paths are put aside; a quoted identifier stays, for it tells one KeyError from
another.  A line such as `assert 1 == 2` tells nothing then, and counts as no failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory import shell
from memory.records import Record

_SECTION = re.compile(r"#{1,6}\s+(\S.*?)\s*$")
_CODE = r"(?:`` (?P<%s2>.+?) ``|`(?P<%s>[^`]+)`)"
_FIXED = re.compile(r"- " + _CODE % ("a", "a") + r" → [\w ]+?(?:: (?P<why>.*))?; passed(?: \(" + _CODE % ("b", "b")
                    + r"\))? after (?P<how>(?:editing|running) `.*)$")
_FAILED = re.compile(r"- ✗ " + _CODE % ("a", "a") + r" → [\w ]+: (?P<why>.*?)(?: \(×\d+\))?$")
_STEP = re.compile(r"`` .+? ``|`[^`]+`")
_NORMAL = (  # in this order
    (re.compile(r"^E\s+"), ""),
    (re.compile(r"(?:[A-Za-z]:|(?<![\w.]))(?:[\\/][\w.@+~ -]*[\w.@+~-])*[\\/](?=[\w.@+~-])"), "/"),
    (re.compile(r"\b(?:0x[0-9a-fA-F]+|[0-9a-f]{8}-[0-9a-f-]{20,40}|(?=[0-9a-f]*\d)[0-9a-f]{7,64})\b"), "#"),
    (re.compile(r"(?P<q>['\"])(?![A-Za-z_][\w.:/@-]*(?P=q))[^'\"]*(?P=q)"), "'#'"),
    (re.compile(r"(?<!\w)\d+(?:[.,:]\d+)*"), "#"),
    (re.compile(r"\s+"), " "),
)
_LINE = 2000  # characters of a line that is read
_WORD = re.compile(r"[^\W\d_]{3,}")
_EMPTY = frozenset("assert assertionerror assertion error errors exit code status failed fails failure failures process "
                   "completed returned command line file exception none true false test tests passed the and for with not"
                   .split())


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


def signature(command: str, error: str) -> tuple[str, str] | None:
    """Return what two runs of the same failure share, or None where the error's line tells nothing."""
    judged = shell.run(command, "", "", None, True)
    for pattern, plain in _NORMAL:
        error = pattern.sub(plain, error)
    words = {word for word in _WORD.findall(error.lower()) if word not in _EMPTY}
    return (judged.key, error.strip().lower()) if judged is not None and len(words) >= 2 else None


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
