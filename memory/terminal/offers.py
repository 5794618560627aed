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

RECORDS = 2  # of a session
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
        """Size of the sessions in bytes."""
        return sum(session.size for session in self.sessions)

    @property
    def seconds(self) -> float:
        """Estimated duration of the import."""
        return estimate_seconds(self.size, len(self.sessions))


def estimate_seconds(size: int, sessions: int) -> float:
    """Estimate the duration of an import of so many bytes and sessions."""
    return size / backfill.BYTES_PER_SECOND + sessions * RECORDS * backfill.SECONDS_PER_RECORD


def plan_import(looked: Sequence[backfill.ImportedSession]) -> ImportPlan:
    """Plan an import of the new sessions of `backfill.preview_import`."""
    fresh = [session for session in looked if not (session.before or session.skip)]
    chosen: list[backfill.Session] = []
    by_project: dict[str, list[backfill.Session]] = {}
    size = 0
    for found in fresh:
        size += found.session.size
        if chosen and estimate_seconds(size, len(chosen) + 1) > MOST_SECONDS:
            break
        chosen.append(found.session)
        if found.place:
            by_project.setdefault(found.place.key, []).append(found.session)
    projects = tuple(
        (
            layout.project_name(key),
            len(sessions),
            sum(session.size for session in sessions),
            max(session.ended for session in sessions),
        )
        for key, sessions in by_project.items()
    )
    skipped = tuple(session for session in looked if session.skip)
    return ImportPlan(tuple(chosen), len(fresh) - len(chosen), skipped, projects)


def plan_lines(plan: ImportPlan, dayleaf: str, offset: clock.Offset, span: str) -> list[str]:
    """Format an import plan, which takes the time `span`."""
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
    head = "%s of %s can be imported, %s:" % (
        format_count(len(plan.sessions), "past session"),
        format_count(len(plan.projects), "project"),
        format_size(plan.size),
    )
    lines = [head, *screen.format_table(rows, "  ", right=(1, 2))]
    more = plan.projects[MOST_PROJECTS:]
    if more:
        many = format_count(sum(row[1] for row in more), "session")
        lines.append("  and %s of %s" % (many, format_count(len(more), "more project")))
    lines += [
        "That takes about %s, the newest first; Ctrl-C stops it, and what was read stays." % span,
        "Nothing leaves this machine.",
    ]
    if plan.later:
        lines.append(later_line(plan.later, dayleaf))
    return lines + skipped_lines(plan.passed)


def later_line(many: int, dayleaf: str) -> str:
    """Say how many older sessions can be imported later."""
    number = format_count(many, "older session")
    return "%s can follow at any time: `%s %s`" % (number, dayleaf, ALL)


def skipped_lines(passed: Sequence[backfill.ImportedSession]) -> list[str]:
    """Format the reasons why sessions are skipped, one per line."""
    reasons: dict[str, list[backfill.ImportedSession]] = {}
    for session in passed:
        if session.skip:
            reasons.setdefault(session.skip.reason, []).append(session)
    lines = []
    for reason, sessions in reasons.items():
        gone = sorted({session.session.directory for session in sessions if session.gone})
        why = one_line(reason)
        if gone:
            why += ": " + ", ".join(map(one_line, gone[:MOST_GONE]))
            why += " …" if len(gone) > MOST_GONE else ""
        lines.append("Left out: %s (%s)" % (format_count(len(sessions), "session"), why))
    return lines


def discovery_lines(
    found: Sequence[Discovery], dayleaf: str, offset: clock.Offset, style: screen.Style
) -> list[str]:
    """Format discoveries: day, project, text, command."""
    if not found:
        return [
            "They hold no decision, repeated failure or standing wish in your words; "
            "`%s recall WORDS` searches them." % dayleaf
        ]
    lines = ["", style.bold("Found in them:")]
    for discovery in found:
        text, more = (
            clip_at_word(one_line(text), LINE) for text in (discovery.text, discovery.more)
        )
        project, day = one_line(discovery.project), _day(discovery.at, offset)
        lines += ["", "  %s, %s: %s" % (project, day, text)]
        lines += ["    " + more] if more else []
        lines.append("    %s show %s" % (dayleaf, discovery.id))
    return [
        *lines,
        "",
        "In a project, `%s recall WORDS` searches its sessions; with `--workspace all`, those of "
        "every project." % dayleaf,
    ]


def format_size(size: int) -> str:
    """Format a number of bytes in MB."""
    return f"{size >> 20:,} MB" if size >> 20 else "less than 1 MB"


def _day(at: float, offset: clock.Offset) -> str:
    return clock.day(at + offset(at))


def find_command(env: dict[str, str]) -> str:
    """Find dayleaf's command, with a path if PATH lacks it."""
    if process.which("dayleaf", env):
        return "dayleaf"
    link, own = env.get("HOME", "") + LINK, checkup.program_path()
    return "~" + LINK if os.path.realpath(link) == os.path.realpath(own) else shlex.quote(own)
