"""Instants as people write them."""

from __future__ import annotations

import pytest

from memory.core import clock


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-11-21T14:30:52Z", "2026-11-21T14:30:52Z"),
        ("2026-11-21", "2026-11-21T00:00:00Z"),
        ("2026-11-21 14:30", "2026-11-21T14:30:00Z"),
        ("2026-11-21T14:30:52+09:00", "2026-11-21T05:30:52Z"),
        ("1795271452", "2026-11-21T14:30:52Z"),
        ("1795271452000", "2026-11-21T14:30:52Z"),
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        ("2026/11/21", "2026-11-21T00:00:00Z"),
        ("1969-12-31", "1969-12-31T00:00:00Z"),
    ],
)
def test_an_instant_is_read_as_people_write_it(text, iso):
    """Dates, times with and without zone, epoch seconds and milliseconds."""
    assert clock.iso(clock.parse(text)) == iso


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026", "2026-13-01", "2026-02-29", "2026-11-31", "2026-11-21T25", "v2.1.0", "99"],
)
def test_what_is_no_instant_is_none(text):
    """Words, years, impossible months."""
    assert clock.parse(text) is None


def test_calendar_periods_are_those_of_a_zone():
    """A day, week, month and year before the present one, and months beyond a year's end."""

    def said(unit, back, ahead=0.0):
        return tuple(
            clock.iso(each + ahead)[:10]
            for each in clock.period_bounds(unit, back, instant, lambda at: ahead)
        )

    instant = clock.parse("2026-01-01T20:00Z")
    assert said("day", 1) == ("2025-12-31", "2026-01-01") and said("week", 0) == (
        "2025-12-29",
        "2026-01-05",
    )
    assert said("month", 1) == ("2025-12-01", "2026-01-01") and said("year", 1) == (
        "2025-01-01",
        "2026-01-01",
    )
    assert said("day", 0, 9 * 3600.0) == ("2026-01-02", "2026-01-03")
    assert clock.iso(clock.month_start(2026, 14))[:10] == "2027-02-01" and clock.year_month(
        instant
    ) == (
        2026,
        1,
    )


def _berlin(instant):
    """Central European time of 2026."""
    change = clock.parse("2026-03-29T01:00Z"), clock.parse("2026-10-25T01:00Z")
    return 7200.0 if change[0] <= instant < change[1] else 3600.0


@pytest.mark.parametrize(
    ("day", "hours", "start"),
    [
        ("2026-08-10", 24, "2026-08-09T22:00"),
        ("2026-10-25", 25, "2026-10-24T22:00"),
        ("2026-03-29", 23, "2026-03-28T23:00"),
        ("2026-11-01", 24, "2026-10-31T23:00"),
    ],
)
def test_a_day_begins_by_the_offset_of_its_own_midnight(day, hours, start):
    """Also where the clocks are changed on that day, whenever it is asked."""
    now, noon = clock.parse("2026-11-28T12:00Z"), clock.parse(day + "T12:00Z")
    back = round((clock.midnight(now) - clock.midnight(noon)) / clock.DAY)
    bounds = clock.period_bounds("day", back, now, _berlin)
    assert bounds == (clock.parse(start), clock.parse(start) + hours * 3600)
    assert bounds[0] == clock.midnight(noon, _berlin)
    assert clock.month_start(2026, 8, _berlin) == clock.parse("2026-07-31T22:00")


def test_a_midnight_that_the_clocks_leave_out_or_tell_twice_is_the_first():
    """At midnight they go to 01:00, at 01:00 to midnight, or at midnight to 23:00."""
    change = clock.parse("2026-03-08T05:00Z")
    for before, after, start in ((-5, -4, 0), (-4, -5, -3600), (-5, -6, 3600)):
        offset = lambda at: (after if at >= change else before) * 3600.0  # noqa: E731
        assert clock.midnight(change + 7200, offset) == change + start


def test_a_length_beyond_any_calendar_is_none():
    assert clock.parse_duration("400d") == 400 * clock.DAY
    assert clock.parse_duration("9" * 400 + "d") is None


@pytest.mark.parametrize("instant", [1e18, -1e18, float("inf"), float("nan")])
def test_beyond_the_calendar_local_time_is_utc(instant):
    """A record by hand may be dated anywhere."""
    assert clock.local_offset(instant) == 0.0
