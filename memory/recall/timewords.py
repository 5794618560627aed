"""Parse time expressions of queries and options: English, German, Russian, Korean, Japanese,
Chinese.

Days, weeks (from Monday), months and years are those of local time.  "last
week" is the calendar week before this one, "the last week" and "past week" are the seven days up to
now.

A period counted from now, or with a side (`since`, `before`, `between`), filters.  A date, a
month, a year, or a number of weeks and more ago is often misremembered: beside other words it only
raises scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from re import Pattern
from typing import Any, Callable, NamedTuple, Optional

from memory.core import UsageError, clock, tokeniser
from memory.core.clock import DAY

HOUR, WEEK = 3600.0, 7 * DAY
Span = tuple[Optional[float], Optional[float]]
OPEN: Span = (None, None)
Match = re.Match[str]  # the class is subscriptable from Python 3.9 on
Handler = Callable[[Match, float, "clock.Offset"], Optional[Span]]  # the period of a match
Rule = tuple[Pattern[str], Handler, bool]  # the last: an approximate period only weighs


class Times(NamedTuple):
    """The period that a query names.

    rest: the query without its time expressions. since, until: seconds since the epoch, `until`
        excluded, None where open. latest: it asks for the newest. kept: the query without filtering
        words. only: the part of the period that filters. about: the part that only weighs.
    """

    rest: str
    since: float | None
    until: float | None
    latest: bool
    kept: str
    only: Span
    about: Span


def _index_words(*rows: tuple[Any, str]) -> dict[str, Any]:
    """Map each word to the value of its row (value, words)."""
    return {word: value for value, words in rows for word in words.split()}


_DAYS: dict[str, int] = _index_words(
    (0, "monday mon montag понедельник понедельника 월요일 月曜 周一 星期一"),
    (1, "tuesday tue tues dienstag вторник вторника 화요일 火曜 周二 星期二"),
    (2, "wednesday wed mittwoch среду 수요일 水曜 周三 星期三"),
    (3, "thursday thu thurs donnerstag четверг четверга 목요일 木曜 周四 星期四"),
    (4, "friday fri freitag пятницу пятницы 금요일 金曜 周五 星期五"),
    (5, "saturday sat samstag sonnabend субботу субботы 토요일 土曜 周六 星期六"),
    (6, "sunday sun sonntag воскресенье воскресенья 일요일 日曜 周日 周天 星期日 星期天"),
)
MONTHS: dict[str, int] = _index_words(
    (1, "january jan januar января январе"),
    (2, "february feb februar февраля феврале"),
    (3, "march mar märz maerz марта марте"),
    (4, "april apr апреля апреле"),
    (5, "may mai мая мае"),
    (6, "june jun juni июня июне"),
    (7, "july jul juli июля июле"),
    (8, "august aug августа августе"),
    (9, "september sep sept сентября сентябре"),
    (10, "october oct oktober okt октября октябре"),
    (11, "november nov ноября ноябре"),
    (12, "december dec dezember dez декабря декабре"),
)
_COUNTS: dict[str, int] = _index_words(
    (1, "a an one ein einem einer eine один одну"),
    (2, "two couple zwei два две пару"),
    (3, "three few drei три несколько"),
    (4, "four vier четыре"),
    (5, "five fünf пять"),
    (6, "six sechs шесть"),
    (7, "seven sieben семь"),
    (8, "eight acht восемь"),
    (9, "nine neun девять"),
    (10, "ten zehn десять"),
    (11, "eleven elf одиннадцать"),
    (12, "twelve zwölf двенадцать"),
    (14, "fourteen vierzehn четырнадцать"),
)
_VAGUE = frozenset("few couple пару несколько".split())
_CJK_COUNTS: dict[str, int] = _index_words(
    (1, "한 하나 일 一"),
    (2, "두 둘 二 两 兩"),
    (3, "세 三 몇 几 幾 数"),
    (4, "네 四"),
    (5, "다섯 五"),
    (6, "여섯 六"),
    (7, "일곱 七"),
    (8, "여덟 八"),
    (9, "아홉 九"),
    (10, "열 十"),
)
_LENGTHS: dict[str, tuple[str, int]] = _index_words(
    (("day", 1), "하루"),
    (("day", 2), "이틀"),
    (("day", 3), "사흘"),
    (("day", 4), "나흘"),
    (("day", 15), "보름"),
    (("month", 6), "반년 半年"),
    (("minute", 30), "반시간 半小时 半小時 半時間"),
)
_UNITS: dict[str, str] = _index_words(
    ("minute", "minute minutes min mins minuten минуту минуты минут 분 分 分钟 分鐘 分間"),
    ("hour", "hour hours hr hrs stunde stunden час часа часов"),
    ("hour", "시간 時間 小时 小時 个小时 個小時"),
    ("day", "day days tag tage tagen день дня дней сутки 일 日 天 日間"),
    ("week", "week weeks woche wochen неделя неделю недели неделе недель"),
    ("week", "주 주일 주간 週 週間 周 星期 个星期 個星期"),
    ("month", "month months monat monate monaten месяц месяца месяце месяцев"),
    ("month", "달 개월 か月 ヶ月 ヵ月 个月 個月 月"),
    ("year", "year years jahr jahre jahren год года году лет 년 年"),
)
_SECONDS = {"minute": 60.0, "hour": HOUR, "day": DAY, "week": WEEK}
_SIDES: dict[str, str] = _index_words(
    ("since", "since seit с со"),
    ("after", "after nach после"),
    ("before", "before vor до"),
    ("until", "until till bis"),
)
# The words of rules by name: of languages with spaces, then CJK.  `_` is a space, optional in CJK.
_WORDS = {
    "prep": "from in during within over on of at aus von vom im am während за на в во",
    "article": "the der den dem die",
    "on": "on from of am vom в во",
    "in": "in from during im vom в",
    "in_year": "in from during im_jahr",
    "between": "from between von zwischen",
    "to": "to and until bis und",
    "past": "past последний последняя последнюю последнее последние последних",
    "last": "last previous letzter letzte letzten letztem vorige vorigen vergangene vergangenen "
    "прошлый прошлая прошлую прошлое прошлой прошлом прошлого 지난",
    "vorletzte": "vorletzte vorletzter vorletzten vorletztem",
    "this": "this current diese diesen dieser diesem dieses этой этом этот эту",
    "lately": "지난 최근 过去 過去 最近の 最近 近 直近の 直近 ここ この",
    "for": "간 間 동안",
    "before": "전 前",
    "of_last_week": "지난_주 先週の 先週 上个 上週の 上週 上",
    "latest": "latest newest most_recent neuesten neueste neuester neuestes jüngste jüngsten "
    "последние недавние "
    "최근에 최근 최신 가장_최근 最近の 最近 最新の 最新 最近的 最新的 直近の 直近",
    "recently": "recently recent kürzlich neulich zuletzt недавно",
    "day_before": "the_day_before_yesterday vorgestern позавчера "
    "그저께 그제 엊그제 一昨日 おととい 前天",
    "night": "last_night yesterday_evening gestern_abend вчера_вечером прошлой_ночью "
    "어젯밤 昨夜 昨晚 昨天晚上",
    "morning_before": "yesterday_morning gestern_morgen gestern_früh вчера_утром "
    "어제_아침 어제_오전 昨日の朝 昨日の午前 昨天早上 昨天上午",
    "afternoon_before": "yesterday_afternoon gestern_nachmittag вчера_днём вчера_днем "
    "어제_오후 昨日の午後 昨天下午",
    "morning": "this_morning heute_morgen heute_früh сегодня_утром "
    "오늘_아침 今朝 今早 今天早上 今天上午",
    "afternoon": "this_afternoon heute_nachmittag сегодня_днём",
    "evening": "tonight this_evening heute_abend сегодня_вечером 오늘_저녁 今夜 今晩 今晚 今天晚上",
    "yesterday": "yesterday gestern gestrige gestrigen gestriger gestriges "
    "вчера вчерашний вчерашняя вчерашнее вчерашние вчерашнюю "
    "вчерашнего_дня вчерашнего вчерашней вчерашнем 어제 昨日 きのう 昨天",
    "today": "today heute heutige heutigen heutiger heutiges сегодня сегодняшний сегодняшняя "
    "сегодняшнее сегодняшние сегодняшней сегодняшнего 오늘 今日 きょう 今天",
    "last_week": "지난_주 저번_주 先週 上周 上週 上个星期 上星期 上個星期",
    "this_week": "이번_주 今週 本周 这周 這週 这个星期 这星期",
    "last_month": "지난_달 저번_달 先月 上个月 上月 上個月",
    "this_month": "이번_달 今月 本月 这个月 这月 這個月",
    "last_year": "작년 지난_해 昨年 去年",
    "this_year": "올해 今年",
}


def _build_alternatives(words: Iterable[str], cjk: bool = False) -> str:
    """Build a pattern of the CJK words, or of the others, longest first."""
    found = (word for word in words if tokeniser.is_cjk(word[0]) == cjk)
    pattern = "|".join(sorted(found, key=lambda word: (-len(word), word)))
    return pattern.replace("_", r"\s?" if cjk else " ")


_AMBIGUOUS = ("may", "march", "mar", "mai", "sep")  # months that are words of their own
_DATE = r"\d{4}-\d{1,2}-\d{1,2}"
# The parts of rules in capitals: numbers, names, dates.
_PARTS = {
    "N": r"(?P<n>\d{1,4}|%s)" % _build_alternatives(_COUNTS),
    "UNIT": r"(?P<u>%s)" % _build_alternatives(_UNITS),
    "WEEKDAY": r"(?P<d>%s)" % _build_alternatives(_DAYS),
    "LONGDAY": r"(?P<d>%s)" % _build_alternatives(n for n in _DAYS if len(n) > 5),
    "MONTH": r"(?P<m>%s)" % _build_alternatives(MONTHS) + ",?",
    "PLAIN": r"(?P<m>%s)" % _build_alternatives(n for n in MONTHS if n not in _AMBIGUOUS),
    "DAY": r"(?P<dom>\d{1,2})(?:st|nd|rd|th|\.)?,?",
    "YEAR": r"(?P<y>(?:19|20)\d\d)",
    "THISAGE": r"(?P<y>20\d\d)",
    "SINCEYEAR": r"(?P<y>(?:19|20)\d\d)(?:(?<=[a-z] \d{4})| года?)",
    "NUMBERED": r"(?P<y>(?:19|20)\d\d)-(?P<mm>\d\d)",
    "ISO": r"(?P<iso>%s|%s)" % (_DATE, _DATE.replace("-", "/")),
    "END": r"(?P<to>%s)" % _DATE,
    "SIDE": r"(?<!\bday )" + r"(?P<side>%s)" % _build_alternatives(_SIDES),
}
_CJK_PARTS = {
    # `한 일` is a deed
    "N": r"(?P<n>\d{1,4}|(?:%s)(?!\s?일(?!주))|일(?=\s?주))"
    % _build_alternatives((n for n in _CJK_COUNTS if n != "일"), True),
    "UNIT": r"(?P<u>%s)" % _build_alternatives(_UNITS, True),
    "WEEKDAY": r"(?P<d>%s)" % _build_alternatives(_DAYS, True)
    + r"日?(?![个個次年定起些样直下志常期报程进])",
    "LENGTH": r"(?P<length>%s)" % _build_alternatives(_LENGTHS, True),
    "DATE": r"(?:(?P<y>20\d\d)\s?[년年]\s?)?(?P<mm>\d{1,2})\s?[월月]"
    r"(?:\s?(?P<dom>\d{1,2})\s?[일日号])?",
}


def _build_pattern(rule: str) -> str:
    """Build the pattern of a rule, such as `prep? last UNIT`.

    A word in capitals is a key of _PARTS, another a key of _WORDS or itself; `|` means or, `?`
    optional.
    """
    tokens = rule.split()
    last = max(at for at, token in enumerate(tokens) if token[-1] != "?")
    out = ""
    for at, token in enumerate(tokens):
        names = token.rstrip("?").split("|")
        words = [
            _PARTS.get(name) or _build_alternatives(_WORDS.get(name, name).split())
            for name in names
        ]
        before, after = " " if at > last else "", " " if at < last else ""
        found = "%s(?:%s)%s" % (before, "|".join(words), after)
        out += "(?:%s)?" % found if token[-1] == "?" else found
    return out


def _build_cjk_pattern(rule: str) -> str:
    names = [(token.rstrip("?"), "?" * (token[-1] == "?")) for token in rule.split()]
    return r"\s?".join(
        "(?:%s)%s" % (_CJK_PARTS.get(name) or _build_alternatives(_WORDS[name].split(), True), may)
        for name, may in names
    )


def _find_start(unit: str, count: int, now: float, offset: clock.Offset) -> float:
    """Return the instant `count` units ago, a midnight for days and longer."""
    if unit in ("minute", "hour"):
        return now - count * _SECONDS[unit]
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    return clock.midnight(now, offset, count * days)


def _read_count(match: Match) -> int:
    said = match.groupdict().get("n") or "1"
    return int(said) if said.isdigit() else _COUNTS.get(said.lower()) or _CJK_COUNTS[said]


def _read_unit(match: Match) -> str:
    return _UNITS[match.group("u").lower()]


def _resolve_last_units(match: Match, now: float, offset: clock.Offset) -> Span | None:
    return _find_start(_read_unit(match), _read_count(match), now, offset), None


def _resolve_length(match: Match, now: float, offset: clock.Offset) -> Span | None:
    return _find_start(*_LENGTHS[match.group("length")], now, offset), None


def _resolve_ago(match: Match, now: float, offset: clock.Offset) -> Span | None:
    length = match.groupdict().get("length")
    unit, count = _LENGTHS[length] if length else (_read_unit(match), _read_count(match))
    if unit in ("minute", "hour"):
        middle, half = now - count * _SECONDS[unit], _SECONDS[unit] / 2
        return middle - half, middle + half
    return clock.period_bounds(unit, count, now, offset)


def _resolve_last_unit(match: Match, now: float, offset: clock.Offset) -> Span | None:
    """Return the last calendar unit, or the hour or minute until now."""
    if _read_unit(match) in ("minute", "hour"):
        return _resolve_last_units(match, now, offset)
    return clock.period_bounds(_read_unit(match), 1, now, offset)


def _make_calendar_handler(back: int) -> Handler:
    """Return a handler for the week, month or year `back` units ago."""
    return lambda match, now, offset: (
        None
        if _read_unit(match) in ("minute", "hour", "day")
        else clock.period_bounds(_read_unit(match), back, now, offset)
    )


def _make_unit_handler(unit: str, back: int) -> Handler:
    return lambda match, now, offset: clock.period_bounds(unit, back, now, offset)


def _make_weekday_handler(today: int) -> Handler:
    """Return a handler for the latest day of a weekday.

    today: days back if that is today's.
    """

    def span(match: Match, now: float, offset: clock.Offset) -> Span:
        back = (clock.weekday(now, offset) - _DAYS[match.group("d").lower()]) % 7
        return clock.period_bounds("day", back or today, now, offset)

    return span


def _resolve_day_of_last_week(match: Match, now: float, offset: clock.Offset) -> Span | None:
    back = clock.weekday(now, offset) + 7 - _DAYS[match.group("d")]
    return clock.period_bounds("day", back, now, offset)


def _resolve_iso_date(match: Match, now: float, offset: clock.Offset) -> Span | None:
    start = clock.parse(match.group("iso"))
    return None if start is None else _find_local_bounds(start, start + DAY, offset)


def _find_local_bounds(start: float, end: float, offset: clock.Offset) -> Span:
    """Return the instants of two local times."""
    return clock.from_local(start, offset), clock.from_local(end, offset)


def _resolve_month(match: Match, now: float, offset: clock.Offset) -> Span | None:
    """Return the period of a named month or day; without a year, the latest."""
    groups = match.groupdict()
    month = MONTHS[groups["m"].lower()] if groups.get("m") else int(groups["mm"])
    if not 1 <= month <= 12:
        return None
    year, present = clock.year_month(now, offset)
    year = int(groups["y"]) if groups.get("y") else year - (month > present)
    if not groups.get("dom"):
        return clock.month_start(year, month, offset), clock.month_start(year, month + 1, offset)
    start = clock.month_start(year, month) + (int(groups["dom"]) - 1) * DAY
    is_there = clock.year_month(start) == (year, month)
    return _find_local_bounds(start, start + DAY, offset) if is_there else None


def _resolve_year(match: Match, now: float, offset: clock.Offset) -> Span | None:
    year = int(match.group("y"))
    return clock.month_start(year, 1, offset), clock.month_start(year + 1, 1, offset)


def _resolve_between(match: Match, now: float, offset: clock.Offset) -> Span | None:
    start, end = clock.parse(match.group("iso")), clock.parse(match.group("to"))
    return None if start is None or end is None else _find_local_bounds(start, end + DAY, offset)


def _make_hours_handler(start: float, end: float, back: int = 0) -> Handler:
    """Return a handler for hours of the day `back` days ago."""

    def span(match: Match, now: float, offset: clock.Offset) -> Span | None:
        day = clock.midnight(now + offset(now), back=back)
        return _find_local_bounds(day + start * HOUR, day + end * HOUR, offset)

    return span


def _open_one_side(handler: Handler) -> Handler:
    """Wrap a handler: return all time before or after its period."""

    def span(match: Match, now: float, offset: clock.Offset) -> Span | None:
        found = handler(match, now, offset)
        if found is None:
            return None
        return {
            "since": (found[0], None),
            "after": (found[1], None),
            "before": (None, found[0]),
            "until": (None, found[1]),
        }[_SIDES[match.group("side").lower()]]

    return span


def _open_end(handler: Handler) -> Handler:
    """Wrap a handler: after a word for "since" its period has no end."""

    def span(match: Match, now: float, offset: clock.Offset) -> Span | None:
        found = handler(match, now, offset)
        return (found[0], None) if found and match.group("onward") else found

    return span


def _is_guess(match: Match) -> bool:
    """Tell whether a period may be misremembered: a date, or long ago."""
    groups = match.groupdict()
    if "length" in groups:
        return _LENGTHS[groups["length"]][0] not in ("minute", "hour", "day")
    if "u" not in groups:
        return True
    if "n" not in groups:
        return _read_unit(match) == "year"
    return _read_unit(match) not in ("minute", "hour", "day") or str(groups["n"]).lower() in _VAGUE


# Periods with a name of their own, in both kinds of scripts.
_NAMED: tuple[tuple[str, Handler], ...] = (
    ("night", _make_hours_handler(18, 30, 1)),
    ("morning_before", _make_hours_handler(0, 12, 1)),
    ("afternoon_before", _make_hours_handler(12, 18, 1)),
    ("morning", _make_hours_handler(0, 12)),
    ("afternoon", _make_hours_handler(12, 18)),
    ("evening", _make_hours_handler(18, 30)),
    ("day_before", _make_unit_handler("day", 2)),
    ("yesterday", _make_unit_handler("day", 1)),
    ("today", _make_unit_handler("day", 0)),
    ("last_week", _make_unit_handler("week", 1)),
    ("this_week", _make_unit_handler("week", 0)),
    ("last_month", _make_unit_handler("month", 1)),
    ("this_month", _make_unit_handler("month", 0)),
    ("~ last_year", _make_unit_handler("year", 1)),
    ("~ this_year", _make_unit_handler("year", 0)),
)
_POINTS: tuple[tuple[str, Handler], ...] = (  # after "since", "before" …
    ("ISO", _resolve_iso_date),
    ("last WEEKDAY", _make_weekday_handler(7)),
    ("LONGDAY", _make_weekday_handler(0)),
    ("MONTH DAY? YEAR", _resolve_month),
    ("DAY MONTH YEAR", _resolve_month),
    ("PLAIN", _resolve_month),
    ("yesterday", _make_unit_handler("day", 1)),
    ("today", _make_unit_handler("day", 0)),
    ("last UNIT", _resolve_last_unit),
    ("SINCEYEAR", _resolve_year),
)
# Rules in their order, after _POINTS with a side; `~`: an approximate period only weighs.
_RULES: tuple[tuple[str, Handler], ...] = (
    ("since N UNIT ago", _resolve_last_units),
    ("prep? article? last|past N of? UNIT", _resolve_last_units),
    ("prep? the_last UNIT", _resolve_last_units),
    ("prep? article? past UNIT", _resolve_last_units),
    ("~ prep|about? N UNIT ago", _resolve_ago),
    ("~ vor N UNIT", _resolve_ago),
    ("~ N? UNIT тому? назад", _resolve_ago),
    ("~ prep? article? last UNIT", _resolve_last_unit),
    ("~ prep? article? vorletzte UNIT", _make_calendar_handler(2)),
    ("~ prep? article? this UNIT", _make_calendar_handler(0)),
    *(("prep? article? " + name, handler) for name, handler in _NAMED[:9]),
    ("on WEEKDAY", _make_weekday_handler(0)),
    ("prep? article? last WEEKDAY", _make_weekday_handler(7)),
    ("~ prep? ISO", _resolve_iso_date),
    ("~ on the? DAY of? MONTH YEAR?", _resolve_month),
    ("~ prep? MONTH DAY? YEAR", _resolve_month),
    ("~ on MONTH DAY", _resolve_month),
    ("~ in last? MONTH", _resolve_month),
    ("~ last PLAIN", _resolve_month),
    ("~ in NUMBERED", _resolve_month),
    ("~ in_year THISAGE", _resolve_year),
    ("~ в THISAGE году", _resolve_year),
)
_CJK_RULES: tuple[tuple[str, Handler], ...] = (
    ("lately N UNIT for?", _resolve_last_units),
    ("lately LENGTH", _resolve_length),
    ("~ N UNIT before", _resolve_ago),
    ("~ LENGTH before", _resolve_ago),
    ("of_last_week WEEKDAY", _resolve_day_of_last_week),
    ("last WEEKDAY", _make_weekday_handler(7)),
    ("WEEKDAY", _make_weekday_handler(0)),
    *(row for row in _NAMED if row[0] != "afternoon"),
    ("~ DATE", _resolve_month),
)


@lru_cache(maxsize=1)
def _compile_rules() -> list[Rule]:
    # Words in a name, path or possessive (`today's`, `today.py`) do not count.
    alone = r"(?<![\w./'’-])(?:%s)(?![\w/'’-]|\.\w)"
    points = [("SIDE article? " + rule, _open_one_side(handler)) for rule, handler in _POINTS]
    return [
        (re.compile(alone % _build_pattern(rule.strip("~ ")), re.I), handler, rule[0] == "~")
        for rule, handler in (("between ISO to END", _resolve_between), *points, *_RULES)
    ]


@lru_cache(maxsize=1)
def _compile_cjk_rules() -> list[Rule]:
    # without spaces, a pronoun or a particle may stand directly before
    alone = (
        r"(?:(?<!\w)|(?<=[我你他她们們在从從自到于是はがでにをのも]))(?:%s)"
        r"(?!날)"  # `오늘날` is nowadays
        r"(?:(?P<onward>부터|から|以来|以來|开始|起)[의の的]?|(?:에는|에도|은|는|도|엔)(?!\w)"
        r"|에서|까지|동안|에|의|の|的|に|以內|以内|里|内)?"
    )
    return [
        (
            re.compile(alone % _build_cjk_pattern(rule.strip("~ "))),
            _open_end(handler),
            rule[0] == "~",
        )
        for rule, handler in _CJK_RULES
    ]


# No rule matches without one of these words, or a year: most queries name no time, and compiling
# the rules takes 17 ms.
_TRIGGERS = frozenset(
    phrase.rpartition("_")[2] for name, _ in _NAMED for phrase in _WORDS[name.strip("~ ")].split()
).union(_UNITS, _DAYS, MONTHS)
_CJK_TRIGGERS = frozenset(
    word[0]
    for word in (*" ".join(_WORDS.values()).split(), *_UNITS, *_DAYS)
    if tokeniser.is_cjk(word[0])
)


def _select_rules(query: str) -> list[Rule]:
    """Return the rules that may match in a query."""
    words = re.findall(r"\w+", query.lower())
    spaced = any(word in _TRIGGERS or (word[:4].isdigit() and len(word) > 3) for word in words)
    cjk = not _CJK_TRIGGERS.isdisjoint(query)
    return (_compile_rules() if spaced else []) + (_compile_cjk_rules() if cjk else [])


# Not in a path, a tag, a file's name or code: `image:latest`, `/releases/latest`, `latest.log`,
# `latest=true`.
_LATEST = re.compile(
    r"(?<![\w./'’:@=#$`\"-])(?:(?:(?:my|our|das|%s) )?(?:%s)|%s)(?![\w/'’=(`\"-]|[.:@]\w)"
    % tuple(
        _build_alternatives(_WORDS[name].split()) for name in ("article", "latest", "recently")
    ),
    re.I,
)
_LATEST_CJK = re.compile(r"(?<!\w)(?:%s)" % _build_alternatives(_WORDS["latest"].split(), True))
BEGIN, END = 6, 3  # first and last words of a query among which `latest` counts


def parse(query: str, now: float, offset: clock.Offset) -> Times:
    """Parse a query's period and the text without it.

    offset: of local time. Of several periods the overlap counts, else the first.
    """
    rest = kept = query
    period, only, about = OPEN, OPEN, OPEN
    for pattern, handler, may_weigh in _select_rules(query):
        at = 0
        while True:
            match = pattern.search(rest, at)
            if match is None:
                break
            span = handler(match, now, offset)
            if span is None:
                at = match.end()
                continue
            period = _intersect(period, span)
            if may_weigh and _is_guess(match):
                about = _intersect(about, span)
            else:
                only, kept = _intersect(only, span), kept.replace(match.group(), " ", 1)
            rest, at = _cut_match(rest, match), match.start()
    latest, rest = _extract_latest(rest)
    kept = " ".join(_extract_latest(kept)[1].split())
    return Times(" ".join(rest.split()), *period, latest, kept, only, about)


def _intersect(known: Span, span: Span) -> Span:
    """Return the overlap of two periods, else the first."""
    low = max((start for start, _ in (known, span) if start is not None), default=None)
    high = min((end for _, end in (known, span) if end is not None), default=None)
    return (low, high) if low is None or high is None or low < high else known


def _extract_latest(query: str) -> tuple[bool, str]:
    """Return (whether a query asks for the newest, the other text)."""
    for words in (_LATEST, _LATEST_CJK):
        match = words.search(query)
        if match and (
            len(query[: match.start()].split()) < BEGIN or len(query[match.end() :].split()) < END
        ):
            is_first = not query[: match.start()].strip() or words is _LATEST_CJK
            return True, _cut_match(query, match) if is_first else query
    return False, query


def _cut_match(text: str, match: Match) -> str:
    return text[: match.start()] + " " + text[match.end() :]


def _apply_zone(text: str, point: float, offset: clock.Offset, end: bool) -> float:
    """Shift an instant written without a zone from UTC to local time."""
    if text.isdigit() and len(text) != 8:  # counted since the epoch
        return point
    if len(text) <= 10:  # a day alone
        return clock.from_local(point + (DAY if end else 0.0), offset)
    zoned = text[-1] in "zZ" or "+" in text[10:] or "-" in text[10:]
    return point if zoned else clock.from_local(point, offset)


def parse_instant(said: str, now: float, offset: clock.Offset, end: bool = False) -> float:
    """Parse an option's time into seconds since the epoch.

    said: `3d`, `2h`, a day, an instant, or words such as `yesterday` and `Monday`. end: a day or a
        period means its end. Raises UsageError.
    """
    text = " ".join(said.split())
    length = clock.parse_duration(text)
    if length is not None:
        return now - length
    point = clock.parse(text)
    if point is not None:
        return _apply_zone(text, point, offset, end)
    for trial in (text, "on " + text, "in " + text, "since " + text):
        found = parse(trial, now, offset)
        if not found.rest and (found.since, found.until) != (None, None):
            chosen = found.until if end else found.since
            if chosen is None:
                chosen = now if end else found.until
            assert chosen is not None
            return chosen
    raise UsageError(
        "'%s' is not a time; write 3d, 2h, 2026-11-20, yesterday or Monday" % said[:60]
    )


def parse_bounds(
    since: str = "",
    days: str = "",
    start: str = "",
    end: str = "",
    now: float = 0.0,
    offset: clock.Offset = clock.utc,
) -> Span:
    """Parse the options --since, --days, --from and --to into (from, before).

    Seconds since the epoch; "" is not given; `--to` includes its day. Raises UsageError.
    """
    lows: list[float] = []
    if days:
        if not days.isdigit() or not 0 < int(days) < 100000:
            raise UsageError("--days takes a number of days such as 7, not '%s'" % days[:40])
        lows.append(now - int(days) * DAY)
    lows += [parse_instant(said, now, offset) for said in (since, start) if said]
    low = max(lows, default=None)
    high = parse_instant(end, now, offset, True) if end else None
    if low is not None and high is not None and low >= high:
        raise UsageError("the time asked for ends before it starts; swap --from and --to")
    return low, high
