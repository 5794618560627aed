"""Time words in queries and options."""

from __future__ import annotations

import pytest

from memory.core import UsageError, clock
from memory.recall import timewords


def SEOUL(instant):
    return 9 * 3600.0


def _berlin_until_october(instant):
    return 7200.0 if instant < clock.parse("2026-10-25T01:00Z") else 3600.0


# now is Saturday 2026-11-21T14:30:52Z: query, what is left of it, since, until
CASES = [
    ("yesterday afternoon", "", "2026-11-20T12:00:00Z", "2026-11-20T18:00:00Z"),
    ("gestern früh", "", "2026-11-20", "2026-11-20T12:00:00Z"),
    ("어제 오후", "", "2026-11-20T12:00:00Z", "2026-11-20T18:00:00Z"),
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
    ("최근 한 시간", "", "2026-11-21T13:30:52Z", None),
    ("지난 두 시간 동안의 배포", "배포", "2026-11-21T12:30:52Z", None),
    ("최근 일주일", "", "2026-11-14", None),
    ("최근 이틀 배포", "배포", "2026-11-19", None),
    ("한 시간 전", "", "2026-11-21T13:00:52Z", "2026-11-21T14:00:52Z"),
    ("最近一小时", "", "2026-11-21T13:30:52Z", None),
    ("过去两个小时的部署", "部署", "2026-11-21T12:30:52Z", None),
    ("最近三天", "", "2026-11-18", None),
    ("近一周", "", "2026-11-14", None),
    ("ここ一時間", "", "2026-11-21T13:30:52Z", None),
    ("直近の1時間のデプロイ", "デプロイ", "2026-11-21T13:30:52Z", None),
    ("ここ三日間", "", "2026-11-18", None),
    ("letzte Stunde", "", "2026-11-21T13:30:52Z", None),
    ("in der letzten Stunde", "", "2026-11-21T13:30:52Z", None),
    ("Fehler der letzten zwei Stunden", "Fehler", "2026-11-21T12:30:52Z", None),
    ("in den letzten 3 Tagen", "", "2026-11-18", None),
    ("gestern", "", "2026-11-20", "2026-11-21"),
    ("heute", "", "2026-11-21", "2026-11-22"),
    ("letzte Woche", "", "2026-11-09", "2026-11-16"),
    ("jwt seit Montag", "jwt", "2026-11-16", None),
    ("vor 2 Tagen", "", "2026-11-19", "2026-11-20"),
    ("그저께 배포", "배포", "2026-11-19", "2026-11-20"),
    ("월요일부터", "", "2026-11-16", None),
    ("지난 금요일 배포", "배포", "2026-11-20", "2026-11-21"),
    ("지난주 금요일 배포", "배포", "2026-11-13", "2026-11-14"),
    ("오늘 아침", "", "2026-11-21", "2026-11-21T12:00"),
    ("어젯밤 오류", "오류", "2026-11-20T18:00", "2026-11-21T06:00"),
    ("어제는 뭘 했지", "뭘 했지", "2026-11-20", "2026-11-21"),
    ("10월 배포", "배포", "2026-10-01", "2026-11-01"),
    ("月曜日のデプロイ", "デプロイ", "2026-11-16", "2026-11-17"),
    ("先週の金曜日", "", "2026-11-13", "2026-11-14"),
    ("今朝の障害", "障害", "2026-11-21", "2026-11-21T12:00"),
    ("先週からの変更", "変更", "2026-11-09", None),
    ("私が昨日直したバグ", "私が 直したバグ", "2026-11-20", "2026-11-21"),
    ("10月20日のデプロイ", "デプロイ", "2026-10-20", "2026-10-21"),
    ("我昨天做了什么", "我 做了什么", "2026-11-20", "2026-11-21"),
    ("我们上周决定了什么", "我们 决定了什么", "2026-11-09", "2026-11-16"),
    ("上周五的部署", "部署", "2026-11-13", "2026-11-14"),
    ("上周日志", "日志", "2026-11-09", "2026-11-16"),
    ("昨晚的故障", "故障", "2026-11-20T18:00", "2026-11-21T06:00"),
    ("gestern Abend", "", "2026-11-20T18:00", "2026-11-21T06:00"),
    ("vorletzte Woche", "", "2026-11-02", "2026-11-09"),
    ("вчера", "", "2026-11-20", "2026-11-21"),
    ("вчерашний деплой", "деплой", "2026-11-20", "2026-11-21"),
    ("позавчера", "", "2026-11-19", "2026-11-20"),
    ("деплой на прошлой неделе", "деплой", "2026-11-09", "2026-11-16"),
    ("на этой неделе", "", "2026-11-16", "2026-11-23"),
    ("в прошлом месяце", "", "2026-10-01", "2026-11-01"),
    ("за последние два часа", "", "2026-11-21T12:30:52Z", None),
    ("за последнюю неделю", "", "2026-11-14", None),
    ("2 дня назад", "", "2026-11-19", "2026-11-20"),
    ("неделю назад", "", "2026-11-09", "2026-11-16"),
    ("с понедельника", "", "2026-11-16", None),
    ("в прошлую пятницу", "", "2026-11-20", "2026-11-21"),
    ("до вчерашнего дня", "", None, "2026-11-20"),
    ("в октябре", "", "2026-10-01", "2026-11-01"),
    ("в 2025 году", "", "2025-01-01", "2026-01-01"),
]

# words that only look like a time: nothing is stripped and nothing filtered
CONTENT = [
    "today's date bug",
    "since v0 the build fails",
    "may I march on?",
    "yesterday.py crashes",
    "log/2026-11-20.txt",
    "오늘날",
    "the last test in the file",
    "second argument",
    "monday.com api",
    "week-number helper",
    "in memory cache",
    "이 함수가 한 일",
    "この一覧",
    "この時間帯",
    "以上周期",
    "过去年份",
    "в этом файле",
    "назад к списку",
    "в среде разработки",
    "последний тест в файле",
    "с 2000 записями",
]


def instant(said):
    return None if said is None else clock.parse(said)


@pytest.mark.parametrize(("query", "rest", "since", "until"), CASES)
def test_a_time_expression_becomes_a_period(query, rest, since, until, now):
    """Each expression gives its period and leaves the rest of the query."""
    times = timewords.parse(query, now, clock.utc)
    assert (times.rest, times.since, times.until) == (rest, instant(since), instant(until))


@pytest.mark.parametrize("query", CONTENT)
def test_content_that_resembles_a_time_stays(query, now):
    """A name, a possessive or another sense of the word is no time expression."""
    assert timewords.parse(query, now, clock.utc)[:4] == (query, None, None, False)


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("latest deploy", "deploy"),
        ("the newest checkpoints", "checkpoints"),
        ("most recent failure", "failure"),
        ("최근 오류", "오류"),
        ("最近", ""),
        ("neueste Fehler", "Fehler"),
        ("последние ошибки", "ошибки"),
        ("docker latest tag", "docker latest tag"),
    ],
)
def test_asking_for_the_latest_is_flagged(query, rest, now):
    """A leading word is dropped, one between others may be content and stays."""
    times = timewords.parse(query, now, clock.utc)
    assert times.latest and times.rest == rest and times.since is None


def test_days_are_those_of_local_time(now):
    """Nine hours ahead, 14:30 UTC is late in the evening and the day began at 15:00 UTC of the day
    before.
    """
    times = timewords.parse("today", now, SEOUL)
    assert times.since == clock.parse("2026-11-20T15:00Z")
    assert timewords.parse("on 2026-11-20", now, SEOUL).since == clock.parse("2026-11-19T15:00Z")


@pytest.mark.parametrize(
    ("query", "since", "until"),
    [
        ("on 2026-08-10", "2026-08-09T22:00", "2026-08-10T22:00"),
        ("on 10 August", "2026-08-09T22:00", "2026-08-10T22:00"),
        ("in October", "2026-09-30T22:00", "2026-10-31T23:00"),
        ("on 2026-10-25", "2026-10-24T22:00", "2026-10-25T23:00"),
        ("between 2026-08-10 and 2026-11-01", "2026-08-09T22:00", "2026-11-01T23:00"),
        ("last 60 days", "2026-09-21T22:00", None),
        ("10月25日", "2026-10-24T22:00", "2026-10-25T23:00"),
    ],
)
def test_a_past_day_is_cut_by_the_offset_of_that_day(query, since, until, now):
    """In November of the days of summer, and of the day on which the clocks are changed."""
    times = timewords.parse(query, now, _berlin_until_october)
    assert times[1:3] == (clock.parse(since), until and clock.parse(until))


def test_the_evening_of_a_changed_day_begins_by_its_clocks(now):
    """18:00, though 19 hours after midnight."""
    asked = clock.parse("2026-10-25T20:00Z")
    times = timewords.parse("this evening", asked, _berlin_until_october)
    assert times.since == clock.parse("2026-10-25T17:00Z")
    assert timewords.parse_instant("2026-08-10T00:30", now, _berlin_until_october) == clock.parse(
        "2026-08-09T22:30Z"
    )


def test_two_expressions_narrow_each_other(now):
    """Both ends may be given in one query."""
    times = timewords.parse("since Monday until yesterday jwt", now, clock.utc)
    assert (times.rest, times.since, times.until) == (
        "jwt",
        clock.parse("2026-11-16"),
        clock.parse("2026-11-21"),
    )


@pytest.mark.parametrize(
    ("said", "end", "expected"),
    [
        ("3d", False, "2026-11-18T14:30:52Z"),
        ("2h", False, "2026-11-21T12:30:52Z"),
        ("2026-11-20", False, "2026-11-20"),
        ("2026-11-20", True, "2026-11-21"),
        ("2026-11-20T10:00", False, "2026-11-20T10:00Z"),
        ("yesterday", False, "2026-11-20"),
        ("yesterday", True, "2026-11-21"),
        ("Monday", False, "2026-11-16"),
        ("last week", False, "2026-11-09"),
        ("October", False, "2026-10-01"),
        ("1795271452", False, "2026-11-21T14:30:52Z"),
    ],
)
def test_an_option_names_an_instant(said, end, expected, now):
    """Lengths, days, instants and time words are read alike."""
    assert timewords.parse_instant(said, now, clock.utc, end) == clock.parse(expected)


def test_options_give_the_bounds(now):
    """`--days`, `--from` and `--to` with a day that is included."""
    assert timewords.parse_bounds(days="2", now=now) == (now - 2 * clock.DAY, None)
    both = clock.parse("2026-11-01"), clock.parse("2026-11-03")
    assert timewords.parse_bounds(start="2026-11-01", end="2026-11-02", now=now) == both
    assert timewords.parse_bounds(now=now) == (None, None)


@pytest.mark.parametrize(
    "given",
    [
        {"since": "soonish"},
        {"days": "-1"},
        {"days": "x"},
        {"since": "2026-02-30"},
        {"start": "2026-11-31"},
        {"since": "30 February 2026"},
        {"start": "2026-11-10", "end": "2026-11-01"},
    ],
)
def test_what_is_no_time_is_refused(given, now):
    """One line that names the remedy."""
    with pytest.raises(UsageError):
        timewords.parse_bounds(now=now, **given)


@pytest.mark.parametrize(
    "query",
    [
        "what did we decide on 2026-01-12 about retries",
        "retries in January 2026",
        "kafka a few years ago",
        "3 weeks ago retries",
        "작년 배포",
        "반년 전 배포",
        "retries last year",
        "2026년 1월 배포",
    ],
)
def test_a_date_beside_other_words_only_weighs(query, now):
    """Its words stay, since they may stand in a title; the period is told."""
    found = timewords.parse(query, now, clock.utc)
    assert (
        found.kept == query
        and found.only == timewords.OPEN
        and found.about == (found.since, found.until)
    )


@pytest.mark.parametrize(
    "query",
    [
        "jwt yesterday",
        "retries since Monday",
        "the build before 2026-01-12",
        "kafka 2 days ago",
        "kafka vor drei Tagen",
        "kafka vor zwölf Tagen",
        "kafka три дня назад",
        "kafka двенадцать дней назад",
        "사흘 전 배포",
        "kafka eleven days ago",
    ],
)
def test_what_is_counted_from_now_or_has_a_side_narrows(query, now):
    """Without its words."""
    found = timewords.parse(query, now, clock.utc)
    assert (
        found.only == (found.since, found.until)
        and found.about == timewords.OPEN
        and found.kept == found.rest
    )


@pytest.mark.parametrize(
    "query",
    [
        "docker run app:latest fails",
        "see /releases/latest",
        "tail latest.log",
        "npm i left@latest",
        "tag=latest",
        "`latest` is wrong",
        (
            "This release introduces a policy for minimum versions, which are raised to the most "
            "recent of these that still builds here"
        ),
    ],
)
def test_latest_is_asked_for_by_a_person_alone(query, now):
    """Not in a tag, a path, a file's name, code, or deep within a long text."""
    assert timewords.parse(query, now, clock.utc)[:4] == (query, None, None, False)
