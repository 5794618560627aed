"""The sections of a body: what stands under each heading, by number, by name, and one after the
other.
"""

from __future__ import annotations

from typing import NamedTuple

from memory.core.tokeniser import coded, heading

BEGINNING = "(beginning)"  # what is shown for the text above the first heading


class Section(NamedTuple):
    """A part of a body (lines) with its subsections.  level: 0 above the first heading."""

    number: int
    level: int
    path: str
    start: int
    end: int


def outline(body: str) -> list[Section]:
    """Return the sections of a body in order, from 0 above the first heading."""
    lines = body.split("\n")
    marks = _headings(lines)
    first = marks[0][0] if marks else len(lines)
    found = [Section(0, 0, "", 0, first)] if "".join(lines[:first]).strip() or not marks else []
    ends = _ends(marks, len(lines))
    found += [
        Section(at + 1, level, path, line, ends[at]) for at, (line, level, path) in enumerate(marks)
    ]
    return found


def _ends(marks: list[tuple[int, int, str]], last: int) -> list[int]:
    ends = [last] * len(marks)
    following = [last] * 8  # by level, the next heading of it or above
    for at in range(len(marks) - 1, -1, -1):
        line, level, _ = marks[at]
        ends[at] = following[level]
        following[level:] = [line] * (len(following) - level)
    return ends


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    path: list[str] = []
    for at, (line, code) in enumerate(coded(lines)):
        level, title = (0, "") if code else heading(line)
        if level:
            path[level - 1 :] = [""] * (level - 1 - len(path)) + [title]
            found.append((at, level, " > ".join(part for part in path if part)))
    return found


def find(found: list[Section], wanted: str) -> Section | None:
    """Return the section with a heading, a path's end or a number, or None."""
    asked = " > ".join(part.strip() for part in wanted.casefold().split(">"))
    for one in found:
        if one.path and (
            one.path.casefold() == asked or one.path.casefold().endswith(" > " + asked)
        ):
            return one
    return next((one for one in found if str(one.number) == asked), None)


def text(body: str, one: Section) -> str:
    """Return a section's text, its heading and subsections included."""
    return "\n".join(body.split("\n")[one.start : one.end]).strip("\n") + "\n"


def neighbours(found: list[Section], one: Section) -> tuple[Section | None, Section | None]:
    """Return (previous section, next section outside this one)."""
    at = found.index(one)
    return found[at - 1] if at else None, next(
        (other for other in found[at + 1 :] if other.start >= one.end), None
    )


def name(one: Section) -> str:
    """Return a section's heading path, or a word for none."""
    return one.path or BEGINNING
