"""The plan before an import of past sessions, and the discoveries after it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from memory.core import clock, layout
from memory.core.plaintext import clip_at_word, format_count, one_line
from memory.health import checkup
from memory.knowledge.discoveries import Discovery
from memory.project import backfill
from memory.store import process
from memory.terminal import screen

MOST_SECONDS = 180.0  # about, of an offered import
MOST_PROJECTS = 6  # in a plan
MOST_GONE = 3  # missing directories in a plan
LINE = 200  # characters of a discovery's line
LINK = "/.local/bin/dayleaf"  # below HOME, where install.sh puts it
ALL = "store import transcripts --all"


class ImportPlan(NamedTuple):
    """The sessions that an import would read.

    sessions: the newest ones that fit into MOST_SECONDS; later: number of older ones.  passed:
        skipped ones. projects: (name, sessions, bytes, time of the last).
    """

    sessions: tuple[backfill.Session, ...]
    later: int
    passed: tuple[backfill.ImportedSession, ...]
    projects: tuple[tuple[str, int, int, float], ...]

    @property
    def size(self) -> int:
        """Bytes of the sessions."""
        return sum(session.size for session in self.sessions)

    @property
    def seconds(self) -> float:
        """Estimated duration."""
        return estimate_seconds(self.size, len(self.sessions))


def estimate_seconds(size: int, sessions: int) -> float:
    """Estimate the duration of an import of so many bytes and sessions."""
    return size / backfill.BYTES_PER_SECOND + sessions * 2 * backfill.SECONDS_PER_RECORD


def plan_import(
    looked: Sequence[backfill.ImportedSession], seconds: float = MOST_SECONDS
) -> ImportPlan:
    """Plan an import of the new sessions; looked: from `backfill.preview_import`."""
    fresh = [one for one in looked if not (one.before or one.skip)]
    number = size = 0
    for one in fresh:
        size += one.session.size
        if number and estimate_seconds(size, number + 1) > seconds:
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


def plan_lines(plan: ImportPlan, dayleaf: str, offset: clock.Offset, span: str) -> list[str]:
    """Return a plan in lines; span: its duration as text."""
    if not plan.sessions:
        return ["No past session is left to import.", *skipped_lines(plan.passed)]
    rows = [
        [
            one_line(name),
            format_count(many, "session"),
            format_size(size),
            "last " + _day(last, offset),
        ]
        for name, many, size, last in plan.projects[:MOST_PROJECTS]
    ]
    more = plan.projects[MOST_PROJECTS:]
    lines = [
        "%s of %s can be imported, %s:"
        % (
            format_count(len(plan.sessions), "past session"),
            format_count(len(plan.projects), "project"),
            format_size(plan.size),
        ),
        *screen.format_table(rows, "  ", right=(1, 2)),
    ]
    if more:
        many = sum(row[1] for row in more)
        lines.append(
            "  and %s of %s"
            % (format_count(many, "session"), format_count(len(more), "more project"))
        )
    lines.append(
        "That takes about %s, the newest first; Ctrl-C stops it, and what was read stays.  "
        "Nothing leaves this machine." % span
    )
    if plan.later:
        lines.append(later_line(plan.later, dayleaf))
    return lines + skipped_lines(plan.passed)


def later_line(many: int, dayleaf: str) -> str:
    """Return the line about the older sessions that can follow."""
    return "%s can follow at any time: `%s %s`" % (
        format_count(many, "older session"),
        dayleaf,
        ALL,
    )


def skipped_lines(passed: Sequence[backfill.ImportedSession]) -> list[str]:
    """Return a line for each reason why sessions are skipped."""
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
            % (format_count(len(of), "session"), one_line(reason), named and ": " + named)
        )
    return lines


def discovery_lines(
    found: Sequence[Discovery], dayleaf: str, offset: clock.Offset, style: screen.Style
) -> list[str]:
    """Return discoveries in lines: day, project, text, command."""
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
            % (one_line(one.project), _day(one.at, offset), clip_at_word(one_line(one.text), LINE)),
            *(["    " + clip_at_word(one_line(one.more), LINE)] if one.more else []),
            "    %s show %s" % (dayleaf, one.id),
        ]
    return [
        *lines,
        "",
        "In a project, `%s recall WORDS` searches its sessions; with `--workspace all`, those of "
        "every project." % dayleaf,
    ]


def format_size(size: int) -> str:
    """Return a number of bytes as text, in MB."""
    return f"{size >> 20:,} MB" if size >> 20 else "less than 1 MB"


def _day(at: float, offset: clock.Offset) -> str:
    return clock.day(at + offset(at))


def find_command(env: dict[str, str]) -> str:
    """Return dayleaf's command, with a path if PATH lacks it."""
    if process.which("dayleaf", env):
        return "dayleaf"
    link, own = env.get("HOME", "") + LINK, checkup.program_path()
    return "~" + LINK if os.path.realpath(link) == os.path.realpath(own) else shlex.quote(own)
