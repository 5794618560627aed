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
    "text", ["", "soon", "2026", "2026-13-01", "2026-11-21T25", "v2.1.0", "99"]
)
def test_what_is_no_instant_is_none(text):
    """Words, years, impossible months."""
    assert clock.parse(text) is None


def test_calendar_periods_are_those_of_a_zone():
    """A day, week, month and year before the present one, and months beyond a year's end."""

    def said(unit, back, offset=0.0):
        return tuple(
            clock.iso(each + offset)[:10]
            for each in clock.period_bounds(unit, back, instant, offset)
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


def test_a_length_beyond_any_calendar_is_none():
    assert clock.parse_duration("400d") == 400 * clock.DAY
    assert clock.parse_duration("9" * 400 + "d") is None
