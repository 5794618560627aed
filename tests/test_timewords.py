"""Time words in queries and options."""

from __future__ import annotations

import pytest

from memory import clock, timewords
from memory.errors import UsageError

SEOUL = 9 * 3600.0

# now is Saturday 2026-11-21T14:30:52Z: query, what is left of it, since, until
CASES = [
    ("checkpoints from the last hour", "checkpoints", "2026-11-21T13:30:52Z", None),
    ("last 24 hours", "", "2026-11-20T14:30:52Z", None),
    ("past 30 minutes", "", "2026-11-21T14:00:52Z", None),
    ("yesterday", "", "2026-11-20", "2026-11-21"),
    ("what did I do yesterday", "what did I do", "2026-11-20", "2026-11-21"),
    ("the day before yesterday", "", "2026-11-19", "2026-11-20"),
    ("jwt today", "jwt", "2026-11-21", "2026-11-22"),
    ("this morning", "", "2026-11-21", "2026-11-21T12:00"),
    ("since Monday", "", "2026-11-16", None),
    ("on Friday", "", "2026-11-20", "2026-11-21"),
    ("last Saturday", "", "2026-11-14", "2026-11-15"),
    ("jwt last week", "jwt", "2026-11-09", "2026-11-16"),
    ("the last week", "", "2026-11-14", None),
    ("this week", "", "2026-11-16", "2026-11-23"),
    ("last month", "", "2026-10-01", "2026-11-01"),
    ("last 3 days", "", "2026-11-18", None),
    ("the past few days", "", "2026-11-18", None),
    ("last two weeks", "", "2026-11-07", None),
    ("2 days ago", "", "2026-11-19", "2026-11-20"),
    ("an hour ago", "", "2026-11-21T13:00:52Z", "2026-11-21T14:00:52Z"),
    ("since 2 days ago", "", "2026-11-19", None),
    ("deploy in October", "deploy", "2026-10-01", "2026-11-01"),
    ("in December", "", "2025-12-01", "2026-01-01"),
    ("in May 2025", "", "2025-05-01", "2025-06-01"),
    ("in 2025", "", "2025-01-01", "2026-01-01"),
    ("on 2026-11-20", "", "2026-11-20", "2026-11-21"),
    ("builds between 2026-11-01 and 2026-11-10", "builds", "2026-11-01", "2026-11-11"),
    ("before 2026-11-01", "", None, "2026-11-01"),
    ("after 2026-11-01", "", "2026-11-02", None),
    ("until yesterday", "", None, "2026-11-21"),
    ("어제", "", "2026-11-20", "2026-11-21"),
    ("오늘 한 일", "한 일", "2026-11-21", "2026-11-22"),
    ("지난주 버튼", "버튼", "2026-11-09", "2026-11-16"),
    ("3일 전 버튼", "버튼", "2026-11-18", "2026-11-19"),
    ("최근 3일", "", "2026-11-18", None),
    ("昨日のデプロイ", "デプロイ", "2026-11-20", "2026-11-21"),
    ("今日", "", "2026-11-21", "2026-11-22"),
    ("先週", "", "2026-11-09", "2026-11-16"),
    ("昨天的部署", "部署", "2026-11-20", "2026-11-21"),
    ("今天", "", "2026-11-21", "2026-11-22"),
    ("上周", "", "2026-11-09", "2026-11-16"),
    ("gestern", "", "2026-11-20", "2026-11-21"),
    ("heute", "", "2026-11-21", "2026-11-22"),
    ("letzte Woche", "", "2026-11-09", "2026-11-16"),
    ("jwt seit Montag", "jwt", "2026-11-16", None),
    ("vor 2 Tagen", "", "2026-11-19", "2026-11-20"),
]

# words that only look like a time: nothing is stripped and nothing filtered
CONTENT = ["today's date bug", "since v0 the build fails", "may I march on?", "yesterday.py crashes", "log/2026-11-20.txt",
           "오늘날", "the last test in the file", "second argument", "monday.com api", "week-number helper", "in memory cache"]


def instant(said):
    return None if said is None else clock.parse(said)


@pytest.mark.parametrize(("query", "rest", "since", "until"), CASES)
def test_a_time_expression_becomes_a_period(query, rest, since, until, now):
    """Each expression gives its period and leaves the rest of the query."""
    times = timewords.parse(query, now, 0.0)
    assert (times.rest, times.since, times.until) == (rest, instant(since), instant(until))


@pytest.mark.parametrize("query", CONTENT)
def test_content_that_resembles_a_time_stays(query, now):
    """A name, a possessive or another sense of the word is no time expression."""
    assert timewords.parse(query, now, 0.0) == (query, None, None, False)


@pytest.mark.parametrize(("query", "rest"), [
    ("latest deploy", "deploy"), ("the newest checkpoints", "checkpoints"), ("most recent failure", "failure"),
    ("최근 오류", "오류"), ("最近", ""), ("neueste Fehler", "Fehler"), ("docker latest tag", "docker latest tag")])
def test_asking_for_the_latest_is_flagged(query, rest, now):
    """A leading word is dropped, one between others may be content and stays."""
    times = timewords.parse(query, now, 0.0)
    assert times.latest and times.rest == rest and times.since is None


def test_days_are_those_of_local_time(now):
    """Nine hours ahead, 14:30 UTC is late in the evening and the day began at 15:00 UTC of the day before."""
    times = timewords.parse("today", now, SEOUL)
    assert times.since == clock.parse("2026-11-20T15:00Z")
    assert timewords.parse("on 2026-11-20", now, SEOUL).since == clock.parse("2026-11-19T15:00Z")


def test_two_expressions_narrow_each_other(now):
    """Both ends may be given in one query."""
    times = timewords.parse("since Monday until yesterday jwt", now, 0.0)
    assert (times.rest, times.since, times.until) == ("jwt", clock.parse("2026-11-16"), clock.parse("2026-11-21"))


@pytest.mark.parametrize(("said", "end", "expected"), [
    ("3d", False, "2026-11-18T14:30:52Z"), ("2h", False, "2026-11-21T12:30:52Z"), ("2026-11-20", False, "2026-11-20"),
    ("2026-11-20", True, "2026-11-21"), ("2026-11-20T10:00", False, "2026-11-20T10:00Z"), ("yesterday", False, "2026-11-20"),
    ("yesterday", True, "2026-11-21"), ("Monday", False, "2026-11-16"), ("last week", False, "2026-11-09"),
    ("October", False, "2026-10-01"), ("1795271452", False, "2026-11-21T14:30:52Z")])
def test_an_option_names_an_instant(said, end, expected, now):
    """Lengths, days, instants and time words are read alike."""
    assert timewords.instant(said, now, 0.0, end) == clock.parse(expected)


def test_options_give_the_bounds(now):
    """`--days`, `--from` and `--to` with a day that is included."""
    assert timewords.bounds(days="2", now=now) == (now - 2 * clock.DAY, None)
    both = clock.parse("2026-11-01"), clock.parse("2026-11-03")
    assert timewords.bounds(start="2026-11-01", end="2026-11-02", now=now) == both
    assert timewords.bounds(now=now) == (None, None)


@pytest.mark.parametrize("given", [{"since": "soonish"}, {"days": "-1"}, {"days": "x"},
                                   {"start": "2026-11-10", "end": "2026-11-01"}])
def test_what_is_no_time_is_refused(given, now):
    """One line that names the remedy."""
    with pytest.raises(UsageError):
        timewords.bounds(now=now, **given)
