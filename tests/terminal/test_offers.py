"""What is said before an import of past sessions, and after it."""

from __future__ import annotations

import pytest

from memory.core import clock, layout
from memory.knowledge.discoveries import Discovery
from memory.project import backfill
from memory.project.otherfiles import Skip
from memory.terminal import offers, screen

MB = 1 << 20


def told(number: int, size: int = MB, project: str = "shop", **more) -> backfill.ImportedSession:
    """A session that an import would read, the newer the smaller its number."""
    place = layout.Place("/h", project + "-00000000", "", "", "", "")
    session = backfill.Session("s%d" % number, "/t", size, "/w/" + project, 0.0, 1e9 - number)
    return backfill.ImportedSession(session, place, **more)


def skipped(number: int, reason: str, gone: bool = False) -> backfill.ImportedSession:
    return told(number, skip=Skip("s", reason, "mend it"), gone=gone)


def test_a_plan_takes_the_newest_that_fit_into_a_few_minutes():
    """The rest can follow; what was read before is no part of it."""
    fits = int(offers.MOST_SECONDS * backfill.BYTES_PER_SECOND / MB)
    found = offers.plan_import([told(0, before=True), *(told(n) for n in range(1, 2 * fits))])
    assert found.sessions[0].id == "s1"
    assert (
        found.seconds
        <= offers.MOST_SECONDS
        < offers.estimate_seconds(found.size + MB, len(found.sessions))
    )
    assert len(found.sessions) + found.later == 2 * fits - 1
    lines = offers.plan_lines(found, "dayleaf", clock.utc, "3 min")
    assert lines[-1] == (
        f"{found.later:,} older sessions can follow at any time: "
        "`dayleaf store import transcripts --all`"
    )


def test_one_session_alone_is_offered_whatever_its_size():
    assert len(offers.plan_import([told(0, 1 << 40)]).sessions) == 1


def test_a_plan_names_the_projects_of_the_newest_sessions():
    """And counts the others."""
    every = [told(n, project="p%d" % (n // 2)) for n in range(20)]
    lines = offers.plan_lines(offers.plan_import(every), "dayleaf", clock.utc, "1 s")
    assert lines[0] == "20 past sessions of 10 projects can be imported, 20 MB:"
    assert [line.split()[0] for line in lines[1:7]] == ["p%d" % n for n in range(6)]
    assert lines[7] == "  and 8 sessions of 4 more projects"
    assert max(map(len, lines)) <= 100


def test_what_stays_out_is_said_with_its_reason():
    """In one line for each reason; where most are missing, their directories."""
    gone = [skipped(n, "its directory is gone", True) for n in range(2)]
    lines = offers.skipped_lines([*gone, skipped(3, "capture is off there")])
    assert lines == [
        "Left out: 2 sessions (its directory is gone: /w/shop)",
        "Left out: 1 session (capture is off there)",
    ]


def test_where_nothing_is_found_one_line_says_so():
    assert len(offers.discovery_lines([], "dayleaf", clock.utc, screen.Style())) == 1


@pytest.mark.parametrize("text", ["word " * 100, "a\nb\x1b[2J"])
def test_a_discovery_is_short_and_harmless(text):
    """Whatever a record holds."""
    find = Discovery("wish", "shop", 0.0, "r-1", text, text)
    lines = offers.discovery_lines([find], "dayleaf", clock.utc, screen.Style())
    assert all(len(line) <= offers.LINE + 30 and "\x1b" not in line for line in lines)
    assert "    dayleaf show r-1" in lines and not any("\n" in line for line in lines)
