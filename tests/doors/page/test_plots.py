"""The charts: counts over all that is kept."""

from __future__ import annotations

import pytest
from harness import conversations, page, pushes, vault

from memory.core import clock
from memory.doors.page import plots
from memory.store import ledger

NOW = 1795271452.0  # 2026-11-21T14:30:52Z


@pytest.fixture
def own(tmp_path):
    return page.Book(page.stored(str(tmp_path / "h"), str(tmp_path / "p"), NOW), NOW)


def test_charts_draw_all_that_is_kept_and_say_their_numbers(own):
    """Sessions, what was given and used, tokens and topics; by months where the first record is
    years old.
    """
    pushes.push(own.place, "two", NOW, "l-cache", "l-zebra", prompt="p9", tokens=300)
    book = ledger.find_ledger(own.place, "p/learnings/cache.md")
    ledger.append_event(book, "l-cache", "use", NOW, "two", "p9")
    values = own.pages.stats().values
    charts = {one.title: one for one in values["charts"]}
    assert {one.unit for one in charts.values()} == {"day"}
    assert charts["Sessions"].total == [4]
    assert charts["Records given to the model, and used in its answer"].total == [3, 1]
    assert sum(c.values[0] for c in charts["Tokens given in a typical session"].columns) == 400
    assert tuple(values["rows"][0]) == ("l-cache", "Docker cache", 2, 1)
    said = own.html("stats")
    assert "build over time" in said and "<title>day 2026-11-19: 1 sessions</title>" in said
    vault.put(own.place, "p/learnings/old.md", "Old", "x", created="2021-03-04", tags="[build]")
    own.now += 9
    old = own.pages.stats().values
    assert old["charts"][0].unit == "month" and old["charts"][0].columns[0].label == "2021-03"
    assert {one.unit for one in old["charts"][1:]} == {"day"}, "the first gift is of these days"
    (topic,) = [one for one in old["topics"] if one.name == "build"]
    assert topic.cells[0] == ("2021-03", 1, 1.0) and topic.total == 2


def test_a_topic_counts_each_session_once(own):
    """Of its cards with the topic; what every session has is no topic."""
    for number, session in enumerate(("two", "two", "three")):
        day = "2026-11-1%d" % (number + 7)
        conversations.noted(own.place, session, day, "x", id="c%d" % number, tags="[oak, always]")
    own.now += 9
    topics = {one.name: one.total for one in own.pages.stats().values["topics"]}
    assert topics["oak"] == 2 and "always" not in topics


@pytest.mark.parametrize(
    ("days", "unit"),
    [(0, "day"), (1, "day"), (35, "day"), (36, "week"), (560, "week"), (561, "month")],
)
def test_time_is_cut_into_stretches_of_which_there_are_not_too_many(days, unit):
    """The first one holds the first instant, the last one now."""
    for offset in (0.0, 32400.0, -18000.0):
        over = plots.make_periods(NOW - days * 86400, NOW, lambda instant, ahead=offset: ahead)
        assert over.unit == unit and len(over.starts) <= 81
        assert over.starts[0] <= NOW - days * 86400 and over.starts[-1] <= NOW < over.end
        assert over.count_by_period([NOW, NOW - days * 86400])[-1] >= 1
        assert list(over.starts) == sorted(set(over.starts))


@pytest.mark.parametrize("days", [30, 200, 900])
def test_a_stretch_begins_at_a_midnight_of_its_own_offset(days):
    """The clocks were changed on 25 October; a day and a week begin at 00:00 before and after."""

    def offset(instant):
        return 7200.0 if instant < clock.parse("2026-10-25T01:00Z") else 3600.0

    over = plots.make_periods(NOW - days * 86400, NOW, offset)
    shown = [clock.iso(start + offset(start))[11:16] for start in (*over.starts, over.end)]
    assert set(shown) == {"00:00"}
    assert over.last_day(len(over.starts) - 1) == "2026-11-21"
