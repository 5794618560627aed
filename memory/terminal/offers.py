"""The plan before an import of past sessions, and the discoveries after it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from memory.core import clock, layout
from memory.core.plaintext import at_word, count, one_line
from memory.health import checkup
from memory.knowledge.discoveries import Discovery
from memory.project import backfill
from memory.store import process
from memory.terminal import screen

MOST_SECONDS = 180.0  # that an offered import may take, about
MOST_PROJECTS = 6  # that a plan names
MOST_GONE = 3  # missing directories that a plan names
LINE = 200  # characters of a discovery's line
LINK = "/.local/bin/dayleaf"  # below HOME, where install.sh puts it
ALL = "store import transcripts --all"


class ImportPlan(NamedTuple):
    """What an import would read.

    sessions: the newest ones that fit into MOST_SECONDS; later: how many older ones there are.
    passed: those that stay out, and why.
    """

    sessions: tuple[backfill.Session, ...]
    later: int
    passed: tuple[backfill.ImportedSession, ...]
    projects: tuple[tuple[str, int, int, float], ...]

    @property
    def size(self) -> int:
        """The bytes of the sessions."""
        return sum(session.size for session in self.sessions)

    @property
    def seconds(self) -> float:
        """How long reading them takes, about."""
        return took(self.size, len(self.sessions))


def took(size: int, sessions: int) -> float:
    """Return how many seconds an import takes, about."""
    return size / backfill.PACE + sessions * 2 * backfill.RECORD


def plan(looked: Sequence[backfill.ImportedSession], most: float = MOST_SECONDS) -> ImportPlan:
    """Return the plan of an import; looked: what `backfill.untold` returned."""
    fresh = [one for one in looked if not (one.before or one.skip)]
    number = size = 0
    for one in fresh:
        size += one.session.size
        if number and took(size, number + 1) > most:
            break
        number += 1
    by_project: dict[str, list[backfill.Session]] = {}
    for one in fresh[:number]:
        if one.place:
            by_project.setdefault(one.place.key, []).append(one.session)
    return ImportPlan(
        tuple(one.session for one in fresh[:number]),
        len(fresh) - number,
        tuple(one for one in looked if one.skip),
        tuple(
            (
                layout.project_name(key),
                len(of),
                sum(session.size for session in of),
                max(session.ended for session in of),
            )
            for key, of in by_project.items()
        ),
    )


def planned(found: ImportPlan, dayleaf: str, offset: float, span: str) -> list[str]:
    """Return a plan in lines."""
    if not found.sessions:
        return ["No past session is left to import.", *left_out(found.passed)]
    rows = [
        [one_line(name), count(many, "session"), megabytes(size), "last " + _day(last, offset)]
        for name, many, size, last in found.projects[:MOST_PROJECTS]
    ]
    more = found.projects[MOST_PROJECTS:]
    lines = [
        "%s of %s can be imported, %s:"
        % (
            count(len(found.sessions), "past session"),
            count(len(found.projects), "project"),
            megabytes(found.size),
        ),
        *screen.table(rows, "  ", right=(1, 2)),
    ]
    if more:
        many = sum(row[1] for row in more)
        lines.append("  and %s of %s" % (count(many, "session"), count(len(more), "more project")))
    lines.append(
        "That takes about %s, the newest first; Ctrl-C stops it, and what was read stays.  "
        "Nothing leaves this machine." % span
    )
    if found.later:
        lines.append(later(found.later, dayleaf))
    return lines + left_out(found.passed)


def later(many: int, dayleaf: str) -> str:
    """Return the line about sessions that are too many for now."""
    return "%s can follow at any time: `%s %s`" % (count(many, "older session"), dayleaf, ALL)


def left_out(passed: Sequence[backfill.ImportedSession]) -> list[str]:
    """Return a line for each session that stays out, with the reason."""
    reasons: dict[str, list[backfill.ImportedSession]] = {}
    for one in passed:
        if one.skip:
            reasons.setdefault(one.skip.reason, []).append(one)
    lines = []
    for reason, of in reasons.items():
        where = sorted({one.session.directory for one in of if one.gone})
        named = ", ".join(map(one_line, where[:MOST_GONE])) + " …" * (len(where) > MOST_GONE)
        lines.append(
            "Left out: %s (%s%s)"
            % (count(len(of), "session"), one_line(reason), named and ": " + named)
        )
    return lines


def found_lines(
    found: Sequence[Discovery], dayleaf: str, offset: float, style: screen.Style
) -> list[str]:
    """Return discoveries in lines: day, project and the command for each."""
    if not found:
        return [
            "They hold no decision, repeated failure or standing wish in your words; "
            "`%s recall WORDS` searches them." % dayleaf
        ]
    lines = ["", style.bold("Found in them:")]
    for one in found:
        lines += [
            "",
            "  %s, %s: %s"
            % (one_line(one.project), _day(one.at, offset), at_word(one_line(one.text), LINE)),
            *(["    " + at_word(one_line(one.more), LINE)] if one.more else []),
            "    %s show %s" % (dayleaf, one.id),
        ]
    return [
        *lines,
        "",
        "In a project, `%s recall WORDS` searches its sessions; with `--workspace all`, those of "
        "every project." % dayleaf,
    ]


def megabytes(size: int) -> str:
    """Return a size in MB, as the progress bar counts."""
    return f"{size >> 20:,} MB" if size >> 20 else "less than 1 MB"


def _day(at: float, offset: float) -> str:
    return clock.day(at + offset)


def command(env: dict[str, str]) -> str:
    """Return dayleaf's command, with its path if PATH lacks it."""
    if process.which("dayleaf", env):
        return "dayleaf"
    link, own = env.get("HOME", "") + LINK, checkup.program()
    return "~" + LINK if os.path.realpath(link) == os.path.realpath(own) else shlex.quote(own)
