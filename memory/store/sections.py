"""The sections of a body, by number and by heading."""

from __future__ import annotations

from typing import NamedTuple

from memory.core.tokeniser import mark_code, parse_heading

BEGINNING = "(beginning)"  # the name of the text above the first heading


class Section(NamedTuple):
    """A heading with its lines, subsections included.  level: 0 above the first one."""

    number: int
    level: int
    path: str
    start: int
    end: int


def outline(body: str) -> list[Section]:
    """Split a body into sections, number 0 above the first heading."""
    lines = body.split("\n")
    marks = _find_headings(lines)
    first = marks[0][0] if marks else len(lines)
    found = [Section(0, 0, "", 0, first)] if "".join(lines[:first]).strip() or not marks else []
    ends = _find_ends(marks, len(lines))
    for at, (line, level, path) in enumerate(marks):
        found.append(Section(at + 1, level, path, line, ends[at]))
    return found


def _find_ends(marks: list[tuple[int, int, str]], last: int) -> list[int]:
    ends = [last] * len(marks)
    following = [last] * 8  # by level, the next heading of it or above
    for at in range(len(marks) - 1, -1, -1):
        line, level, _ = marks[at]
        ends[at] = following[level]
        following[level:] = [line] * (len(following) - level)
    return ends


def _find_headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """Return (line, level, path) of the headings."""
    found: list[tuple[int, int, str]] = []
    path: list[str] = []
    for at, (line, code) in enumerate(mark_code(lines)):
        level, title = (0, "") if code else parse_heading(line)
        if level:
            path[level - 1 :] = [""] * (level - 1 - len(path)) + [title]
            found.append((at, level, " > ".join(part for part in path if part)))
    return found


def find(found: list[Section], wanted: str) -> Section | None:
    """Find a section by its heading, its path's end or its number, or None."""
    key = " > ".join(part.strip() for part in wanted.casefold().split(">"))
    for section in found:
        if section.path and (" > " + section.path.casefold()).endswith(" > " + key):
            return section
    return next((section for section in found if str(section.number) == key), None)


def text(body: str, section: Section) -> str:
    """Return a section's text, heading and subsections included."""
    return "\n".join(body.split("\n")[section.start : section.end]).strip("\n") + "\n"


def neighbours(found: list[Section], section: Section) -> tuple[Section | None, Section | None]:
    """Return the sections before and after a section, its subsections skipped."""
    at = found.index(section)
    following = (other for other in found[at + 1 :] if other.start >= section.end)
    return found[at - 1] if at else None, next(following, None)


def name(section: Section) -> str:
    """Return a section's heading path, or BEGINNING."""
    return section.path or BEGINNING
