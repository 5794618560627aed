"""Findings of linters and compilers, and the changes of the lines that they name.

A finding is known by its file, its line and its telling line.  The host's record of an edit says
which lines it changed; one that changes the line of a finding, or a line beside it, answers it.
"""

from __future__ import annotations

import re

from memory.core.plaintext import at_word, one_line
from memory.session import tellingline
from memory.session.latepattern import Late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    Finding: TypeAlias = list[Any]  # path, line, what it says
    Block: TypeAlias = tuple[int, list[str], list[str]]  # first old line, lines removed, added

MOST = 40  # findings of one report
SMALL = 3  # lines of a change that answers a finding as a whole
LINE = 200  # characters of a change
_PLACED = Late(r"(\S{1,300}?):(\d{1,7})(?::\d{1,5})?: (.{1,400})")
_RULE = Late(r"[(\[]([A-Za-z@][\w./@-]{2,60})[)\]]\Z")
_CODE = Late(r"\A(?:error )?([A-Z]{1,5}\d{2,5})\b")


def found(output: str, command: str) -> list[Finding]:
    """Return the findings in a failed command's output."""
    lines = tellingline.pick_telling_lines(output, command, MOST).lines
    matches = [match for match in map(_PLACED.match, lines) if match]
    return [[match[1].removeprefix("./"), int(match[2]), match[3]] for match in matches]


def rules(said: str) -> list[str]:
    """Return the names of a finding's rule.

    Its code, and its name in brackets.
    """
    matches = (pattern.search(said.rstrip()) for pattern in (_CODE, _RULE))
    return [match[1] for match in matches if match]


def kind(said: str) -> str:
    """Return the rules that a finding names, else the finding."""
    return " ".join(rules(said)) or said


def names_rule(text: str, said: str) -> bool:
    """Tell whether a code line names a finding's rule.

    As `nolint:errcheck` does.
    """
    return any(
        re.search(r"(?:[:=\[(\"/,]|disable[\w-]{0,20})\s?%s(?![\w-])" % re.escape(rule), text)
        for rule in rules(said)
    )


def answered(findings: list[Finding], path: str, patch: object) -> list[tuple[str, str]]:
    """Return (finding, new lines) of each finding answered by an edit.

    path: of the edited file.
    patch: the host's hunks.
    Answered findings are taken out, and the lines of the others brought up to date.
    """
    here = [one for one in findings if ("/" + path).endswith("/" + one[0])]
    given: list[tuple[str, str]] = []
    for start, removed, added in reversed(list(_blocks(patch)) if here else []):
        end = start + len(removed)
        for finding in here:
            line = finding[1]
            if start - 1 <= line <= max(end, start):
                text = _answer(removed, added, finding[2])
                if text:
                    given.append((finding[2], text))
                    findings[:] = [one for one in findings if one is not finding]
            elif line > end:
                finding[1] += len(added) - len(removed)
        here = [one for one in here if any(one is other for other in findings)]
    return given


def _answer(removed: list[str], added: list[str], said: str) -> str:
    """Return the lines of a change that answer a finding."""
    old = {line.strip() for line in removed}
    new = [line.strip() for line in added if line.strip() and line.strip() not in old]
    named = [line for line in new if names_rule(line, said)]
    told = named[:1] or (new if len(new) <= SMALL else [])
    return at_word(one_line(" ⏎ ".join(told)), LINE)


def _blocks(patch: object) -> Iterator[Block]:
    """Yield each run of changed lines of a patch."""
    for hunk in patch if isinstance(patch, list) else ():
        lines = hunk.get("lines") if isinstance(hunk, dict) else None
        at = hunk.get("oldStart") if isinstance(hunk, dict) else None
        if isinstance(lines, list) and isinstance(at, int):
            yield from _blocks_of([line for line in lines if isinstance(line, str)], at)


def _blocks_of(lines: list[str], at: int) -> Iterator[Block]:
    removed: list[str] = []
    added: list[str] = []
    for line in [*lines, " "]:
        if line[:1] == "-":
            removed.append(line[1:])
        elif line[:1] == "+":
            added.append(line[1:])
        elif line[:1] != "\\":
            if removed or added:
                yield at, removed, added
            at += len(removed) + 1
            removed, added = [], []
