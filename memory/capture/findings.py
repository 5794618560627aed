"""Findings of linters and compilers, and the edits that answer them.

A finding has a file, a line and a message.  The host's record of an edit says which lines it
changed; an edit of a finding's line, or of a line beside it, answers the finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from memory.core.plaintext import clip_at_word, one_line
from memory.session import tellingline
from memory.session.latepattern import LazyPattern

Finding = list[Any]  # path, line, message
Block = tuple[int, list[str], list[str]]  # first old line, lines removed, added
MOST = 40  # findings of one report
SMALL = 3  # lines of a change that answers a finding as a whole
LINE = 200  # characters of a change
_PLACED = LazyPattern(r"(\S{1,300}?):(\d{1,7})(?::\d{1,5})?: (.{1,400})")
_RULE = LazyPattern(r"[(\[]([A-Za-z@][\w./@-]{2,60})[)\]]\Z")
_CODE = LazyPattern(r"\A(?:error )?([A-Z]{1,5}\d{2,5})\b")


def parse_findings(output: str, command: str) -> list[Finding]:
    """Return the findings in a failed command's output."""
    lines = tellingline.pick_telling_lines(output, command, MOST).lines
    matches = [match for match in map(_PLACED.match, lines) if match]
    return [[match[1].removeprefix("./"), int(match[2]), match[3]] for match in matches]


def find_rules(finding: str) -> list[str]:
    """Return the code and the name of a finding's rule."""
    matches = (pattern.search(finding.rstrip()) for pattern in (_CODE, _RULE))
    return [match[1] for match in matches if match]


def find_rule_kind(finding: str) -> str:
    """Return the rules that a finding names, joined, else the finding."""
    return " ".join(find_rules(finding)) or finding


def names_rule(text: str, finding: str) -> bool:
    """Tell whether a line of code names a finding's rule (`nolint:errcheck`)."""
    return any(
        re.search(r"(?:[:=\[(\"/,]|disable[\w-]{0,20})\s?%s(?![\w-])" % re.escape(rule), text)
        for rule in find_rules(finding)
    )


def take_answered(findings: list[Finding], path: str, patch: object) -> list[tuple[str, str]]:
    """Remove the findings that an edit answers; return (message, new lines).

    path: of the edited file.  patch: the host's hunks.
    The line numbers of the other findings are brought up to date.
    """
    affected = [finding for finding in findings if ("/" + path).endswith("/" + finding[0])]
    answers: list[tuple[str, str]] = []
    for start, removed, added in reversed(list(_parse_patch(patch)) if affected else []):
        end = start + len(removed)
        for finding in [*affected]:
            line = finding[1]
            if start - 1 <= line <= max(end, start):
                text = _find_answer(removed, added, finding[2])
                if text:
                    answers.append((finding[2], text))
                    findings[:] = [other for other in findings if other is not finding]
                    affected = [other for other in affected if other is not finding]
            elif line > end:
                finding[1] += len(added) - len(removed)
    return answers


def _find_answer(removed: list[str], added: list[str], finding: str) -> str:
    """Return the added lines that answer a finding, joined; "" for none."""
    old = {"", *map(str.strip, removed)}
    new = [line for line in map(str.strip, added) if line not in old]
    naming = [line for line in new if names_rule(line, finding)]
    answer = naming[:1] or (new if len(new) <= SMALL else [])
    return clip_at_word(one_line(" ⏎ ".join(answer)), LINE)


def _parse_patch(patch: object) -> Iterator[Block]:
    for hunk in patch if isinstance(patch, list) else ():
        lines = hunk.get("lines") if isinstance(hunk, dict) else None
        at = hunk.get("oldStart") if isinstance(hunk, dict) else None
        if isinstance(lines, list) and isinstance(at, int):
            yield from _split_hunk([line for line in lines if isinstance(line, str)], at)


def _split_hunk(lines: list[str], at: int) -> Iterator[Block]:
    """Yield (first old line, lines removed, lines added) of each change."""
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
