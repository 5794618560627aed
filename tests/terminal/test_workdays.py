"""A standup in lines: by branch and day, in local time, on few columns and few lines."""

from __future__ import annotations

import pytest
from harness import vault
from harness.standup import NIGHT, captured, teller

from memory.core import clock, plaintext, records
from memory.core.layout import project_name
from memory.knowledge import worklog
from memory.terminal import screen, workdays


@pytest.fixture
def tell(place, now):
    """Gather a standup of the fixed instant in UTC; returns what `lines` writes at 80 columns."""
    return teller(place, now)


def test_a_branch_is_one_entry_for_each_day(place, tell):
    """What was done adds up; what is open is what the newest says; the newest day comes first,
    notes stand among sessions.
    """
    keys = {"session": "s-1", "branch": "queue"}
    captured(
        place,
        "a",
        "## Done\n\n- commit aaaaaaa: Retry twice\n\n## Open\n\n- old worry",
        "2026-11-20T09:00:00Z",
        **keys,
    )
    captured(
        place,
        "b",
        "## Done\n\n- commit bbbbbbb: Log the delays\n\n## Open\n\n- new worry",
        "2026-11-20T10:00:00Z",
        **keys,
    )
    captured(
        place,
        "c",
        "## Done\n\n- commit ccccccc: Count the jobs\n\n## Next\n\n- the metrics\n"
        "- the docs\n- the tests",
        "2026-11-21T10:00:00Z",
        **keys,
    )
    captured(place, "d", "Called the vendor.", "2026-11-21T11:00:00Z")
    assert tell().split("\n") == [
        "1 session and 1 checkpoint in %s since 2026-11-20" % project_name(place.key),
        "",
        "Sat 2026-11-21",
        "  - queue: Count the jobs (ccccccc)",
        "    - next: the metrics; the docs; the tests",
        "  - Called the vendor.",
        "",
        "Fri 2026-11-20",
        "  - queue: Retry twice (aaaaaaa)",
        "    - Log the delays (bbbbbbb)",
    ]


def test_the_days_and_the_first_line_are_local(place, tell):
    """At nine hours ahead of UTC."""
    captured(place, "a", "Late work.", "2026-11-20T20:00:00Z", session="s-1")
    assert tell(offset=lambda instant: 9 * 3600.0).split("\n")[::2] == [
        "1 session in %s since 2026-11-20 09:00" % project_name(place.key),
        "Sat 2026-11-21",
    ]


def test_it_is_readable_on_eighty_columns_and_fifteen_lines_a_day(place, tell):
    """Whatever checkpoints hold: no escapes, no wide line, no flood; what is left out is named."""
    lines = "\n".join(
        "- \x1b[31m버튼을 누르면 %d 저장된다\u202e " % i + "word " * 40 for i in range(30)
    )
    body = "\n\n".join(
        "## %s\n\n%s" % (name, lines)
        for name in ("Outcome", "Turns", "Done", "Decisions", "Fixed", "Open", "Next")
    )
    for number in range(20):
        captured(
            place,
            "a%d" % number,
            body,
            "2026-11-21T09:00:00Z",
            session="s-%d" % number,
            title="%d 버튼 " % number * 60,
            branch="\x1b[31mfeature-%d-%s" % (number, "x" * 90),
        )
    for columns in (40, 80):
        said = tell(columns=columns).split("\n")
        assert max(map(plaintext.count_columns, said[1:])) <= columns and 10 < len(said) <= 2 + 15
        assert (
            "\x1b" not in "".join(said)
            and "\u202e" not in "".join(said)
            and " more: feature-" in said[-1]
        )


def test_commits_are_counted_and_branches_without_room_are_named(place, tell):
    """The names stand in the last line."""
    for number in range(20):
        done = "\n".join(
            "- commit %07x: Work %d of branch %d" % (0xA000000 + 100 * number + at, at, number)
            for at in range(8)
        )
        captured(
            place,
            "a%02d" % number,
            "## Done\n\n" + done,
            "2026-11-21T09:00:00Z",
            session="s-%d" % number,
            branch="b%02d" % number,
        )
    said = tell().split("\n")[3:]
    assert len(said) == 14 and said[0] == "  - b00 (8 commits): Work 0 of branch 0 (a000000)"
    assert said[-1] == "  - 7 more: b13, b14, b15, b16, b17, b18, b19"


def test_few_branches_tell_all(place, tell):
    done = "\n".join("- commit %07x: Work %d" % (0xA000000 + at, at) for at in range(6))
    captured(
        place,
        "a",
        "## Done\n\n%s\n\n## Open\n\n- a worry\n- another one\n\n## Next\n\n- a step" % done,
        "2026-11-21T09:00:00Z",
        session="s-1",
        branch="queue",
    )
    assert len(tell().split("\n")[3:]) == 6 + 3


def test_a_branch_that_tells_nothing_of_its_own_is_left_out(place, tell):
    """Its commits and steps are told of another one."""
    for name in "ab":
        captured(
            place,
            name,
            "## Done\n\n- commit aaaaaaa: Count",
            "2026-11-21T09:00:00Z",
            session="s-" + name,
            branch="count-" + name,
        )
    assert tell().split("\n")[3:] == ["  - count-a: Count (aaaaaaa)"]


def test_a_long_line_is_broken_into_three_rows_where_there_is_room(place, tell):
    """With its words in their order."""
    said = (
        "The handler of the queue of uploads runs in the worker now, so that a slow upload of a "
        "customer holds up no others"
    )
    captured(
        place,
        "a",
        "## Outcome\n\n- " + said,
        "2026-11-21T09:00:00Z",
        session="s-1",
        branch="queue-of-uploads-by-customer",
        title="The queue",
    )
    lines = tell(columns=70).split("\n")[3:]
    assert (
        len(lines) == 3
        and " ".join(line.strip() for line in lines)
        == "- queue-of-uploads-by-customer: The queue → " + said
    )


def test_a_week_is_told_by_branch_in_sixty_lines(place, tell):
    """With the days of each; the branches where most was done are told."""
    for day in range(14, 22):
        for number in range(12):
            commit = "## Done\n\n- commit aaaaaaa: Handle jobs %d\n\n" % day if number == 3 else ""
            captured(
                place,
                "%d-%d" % (day, number),
                commit
                + "## Outcome\n\n- Added the handler of queue %d on day %d to the worker.\n\n"
                "## Open\n\n- the handler of queue %d is slow" % (number, day, number),
                "2026-11-%dT09:00:00Z" % day,
                session="s-%d-%d" % (day, number),
                branch="queue-%d" % number,
            )
    said = tell(since=NIGHT - 7 * clock.DAY).split("\n")
    assert len(said) <= 60 and sum(line.startswith("  - queue-") for line in said) == 12
    assert said[2].startswith("  - queue-3 (11-14 to 11-21, 8 commits): Handle jobs 14 (aaaaaaa)")


def test_markdown_is_for_pasting(place, now):
    """No line is broken or cut for a terminal's sake; branches stand as code, days in bold."""
    captured(
        place,
        "a",
        "## Outcome\n\n- The retries of the queue double their delays, and the docs of the worker "
        "say so on a page of their own.",
        "2026-11-21T09:00:00Z",
        session="s-1",
        branch="retries",
        title="Delays",
        links="",
    )
    captured(
        place,
        "b",
        "## Outcome\n\n- It works.",
        "2026-11-21T09:00:00Z",
        session="s-2",
        branch="other",
    )
    told = worklog.collect_work(place, vault.settings(), "", NIGHT, now, clock.utc)
    assert workdays.standup_lines(told, screen.Style(60), True)[2:] == [
        "**Sat 2026-11-21**",
        (
            "- `retries`: Delays → The retries of the queue double their delays, and the docs of "
            "the worker say so on a page of their own."
        ),
        "- `other`: Work on b",
    ]


def test_a_long_branch_leaves_room_for_the_titles_of_the_last_sessions(place, now):
    """On 80 columns a line is whole, and most of it is the title."""
    record = records.from_bytes(
        "p/checkpoints/x.md",
        b"---\nid: c-1a2b3c4d\nkind: checkpoint\ntitle: move the retries of the export "
        b"into the queue worker\n"
        b"branch: someone/a-branch-with-a-name-of-more-than-forty-characters\n"
        b"---\n\n## Outcome\n\n- x\n",
        now,
    )
    seen = workdays.Glance("w", "main", ((record, "It works."),), None, None, 0, ())
    line = next(
        line for line in workdays.glance_lines(seen, now, screen.Style(80)) if "c-1a2b3c4d" in line
    )
    assert (
        plaintext.count_columns(line) <= 80
        and "move the retries of the export" in line
        and "someone/a-bra" in line
    )


@pytest.mark.parametrize("columns", [40, 50, 60])
def test_a_narrow_terminal_breaks_no_line_of_the_overview(place, now, columns):
    """Titles are cut, hints go on in the next line at a blank."""
    head = "id: c-1a2b3c4d\nkind: checkpoint\nbranch: someone/a-long-branch\n"
    text = "---\n%stitle: %s\n---\n\nx\n" % (head, "move " * 20)
    record = records.from_bytes("p/checkpoints/x.md", text.encode(), now)
    full = ((record, "It works. " * 9),)
    for shown, handoff in ((full, record), ((), None)):
        seen = workdays.Glance("w", "main", shown, handoff, None, 0, (("E" * 80, 2),))
        lines = workdays.glance_lines(seen, now, screen.Style(columns))
        assert all(plaintext.count_columns(line) <= columns for line in lines), lines


@pytest.mark.parametrize("markdown", [False, True])
def test_words_of_notes_are_marked_once(place, now, markdown):
    """Quietly, at the end; a standup without them says nothing of it."""
    keys = {"session": "s-1", "branch": "queue"}
    captured(place, "a", "## Done\n\n- commit aaaaaaa: Retry", "2026-11-21T09:00:00Z", **keys)
    report = worklog.collect_work(place, vault.settings(), "", NIGHT, now, clock.utc)
    plain = workdays.standup_lines(report, screen.Style(80), markdown)
    (space,) = report.spaces
    told = tuple(work._replace(said="Retries", noted="claude-haiku") for work in space.work)
    report = report._replace(spaces=(space._replace(work=told * 2),))
    lines = workdays.standup_lines(report, screen.Style(80), markdown)
    assert lines[-1] == "in part in the words of notes by claude-haiku"
    assert "\n".join(lines).count("claude-haiku") == 1 and "notes by" not in "\n".join(plain)
