"""Time words: what a query or an option says about when, in English, German, Russian, Korean,
Japanese and Chinese.

Days, weeks (from Monday), months and years are those of local time, given as the seconds it is
ahead of UTC.  "last week" is the calendar week before this one, "the last week" and "past week" are
the seven days up to now.

A period that is counted from now, or has a side (`since`, `before`, `between`), narrows.  A date, a
month, a year, or so many weeks and more ago is what people half remember: beside other words it
only weighs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Pattern, Tuple

from memory.core import UsageError, clock, tokeniser
from memory.core.clock import DAY

HOUR, WEEK = 3600.0, 7 * DAY
Span = Tuple[Optional[float], Optional[float]]
OPEN: Span = (None, None)
Match = re.Match[str]  # the class is subscriptable from Python 3.9 on
Handler = Callable[[Match, float, float], Optional[Span]]
Rule = Tuple[Pattern[str], Handler, bool]  # the last: whether a guess only weighs


class Times(NamedTuple):
    """The times in a query.

    rest: the query without its time expressions. since, until: seconds since the epoch, from
        `since` on and before `until`, None where it is open. latest: it asks for the newest.
    """

    rest: str
    since: Optional[float]
    until: Optional[float]
    latest: bool


class Reading(NamedTuple):
    """A query's times, split into narrowing and weighing ones.

    kept: the query without narrowing words. only: the narrowing period. about: the weighing period.
    """

    times: Times
    kept: str
    only: Span
    about: Span


def _by_word(*rows: Tuple[Any, str]) -> Dict[str, Any]:
    """Return the value of each word of some rows (value, words)."""
    return {word: value for value, words in rows for word in words.split()}


_DAYS: Dict[str, int] = _by_word(
    (0, "monday mon montag понедельник понедельника 월요일 月曜 周一 星期一"),
    (1, "tuesday tue tues dienstag вторник вторника 화요일 火曜 周二 星期二"),
    (2, "wednesday wed mittwoch среду 수요일 水曜 周三 星期三"),
    (3, "thursday thu thurs donnerstag четверг четверга 목요일 木曜 周四 星期四"),
    (4, "friday fri freitag пятницу пятницы 금요일 金曜 周五 星期五"),
    (5, "saturday sat samstag sonnabend субботу субботы 토요일 土曜 周六 星期六"),
    (6, "sunday sun sonntag воскресенье воскресенья 일요일 日曜 周日 周天 星期日 星期天"),
)
MONTHS: Dict[str, int] = _by_word(
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
_COUNTS: Dict[str, int] = _by_word(
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
)
_VAGUE = frozenset("few couple drei zwei пару несколько".split())
_SPOKEN: Dict[str, int] = _by_word(
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
_LENGTHS: Dict[str, Tuple[str, int]] = _by_word(
    (("day", 1), "하루"),
    (("day", 2), "이틀"),
    (("day", 3), "사흘"),
    (("day", 4), "나흘"),
    (("day", 15), "보름"),
    (("month", 6), "반년 半年"),
    (("minute", 30), "반시간 半小时 半小時 半時間"),
)
_UNITS: Dict[str, str] = _by_word(
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
_SIDES: Dict[str, str] = _by_word(
    ("since", "since seit с со"),
    ("after", "after nach после"),
    ("before", "before vor до"),
    ("until", "until till bis"),
)
# The words of rules, by a name for them: those with blanks between words, then those of scripts
# without.  `_` is a blank, which in the latter may lack.
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
    "night": "last_night gestern_abend вчера_вечером прошлой_ночью 어젯밤 昨夜 昨晚 昨天晚上",
    "morning": "this_morning heute_morgen heute_früh сегодня_утром "
    "오늘_아침 今朝 今早 今天早上 今天上午",
    "afternoon": "this_afternoon heute_nachmittag сегодня_днём",
    "evening": "tonight this_evening heute_abend сегодня_вечером 오늘_저녁 今夜 今晩 今晚 今天晚上",
    "yesterday": "yesterday gestern вчера вчерашний вчерашняя вчерашнее вчерашние вчерашнюю "
    "вчерашнего_дня вчерашнего вчерашней вчерашнем 어제 昨日 きのう 昨天",
    "today": "today heute сегодня 오늘 今日 きょう 今天",
    "last_week": "지난_주 저번_주 先週 上周 上週 上个星期 上星期 上個星期",
    "this_week": "이번_주 今週 本周 这周 這週 这个星期 这星期",
    "last_month": "지난_달 저번_달 先月 上个月 上月 上個月",
    "this_month": "이번_달 今月 本月 这个月 这月 這個月",
    "last_year": "작년 지난_해 昨年 去年",
    "this_year": "올해 今年",
}


def _any(words: Iterable[str], wide: bool = False) -> str:
    """Return a pattern of the wide words, or of the others, longest first."""
    found = (word for word in words if tokeniser.is_cjk(word[0]) == wide)
    pattern = "|".join(sorted(found, key=lambda word: (-len(word), word)))
    return pattern.replace("_", r"\s?" if wide else " ")


_AMBIGUOUS = ("may", "march", "mar", "mai", "sep")  # months that are words of their own
_DATE = r"\d{4}-\d{1,2}-\d{1,2}"
# What stands in rules beside words: numbers, names, dates.
_PARTS = {
    "N": r"(?P<n>\d{1,4}|%s)" % _any(_COUNTS),
    "UNIT": r"(?P<u>%s)" % _any(_UNITS),
    "WEEKDAY": r"(?P<d>%s)" % _any(_DAYS),
    "LONGDAY": r"(?P<d>%s)" % _any(n for n in _DAYS if len(n) > 5),
    "MONTH": r"(?P<m>%s)" % _any(MONTHS) + ",?",
    "PLAIN": r"(?P<m>%s)" % _any(n for n in MONTHS if n not in _AMBIGUOUS),
    "DAY": r"(?P<dom>\d{1,2})(?:st|nd|rd|th|\.)?,?",
    "YEAR": r"(?P<y>(?:19|20)\d\d)",
    "THISAGE": r"(?P<y>20\d\d)",
    "SINCEYEAR": r"(?P<y>(?:19|20)\d\d)(?:(?<=[a-z] \d{4})| года?)",
    "NUMBERED": r"(?P<y>(?:19|20)\d\d)-(?P<mm>\d\d)",
    "ISO": r"(?P<iso>%s|%s)" % (_DATE, _DATE.replace("-", "/")),
    "END": r"(?P<to>%s)" % _DATE,
    "SIDE": r"(?<!\bday )" + r"(?P<side>%s)" % _any(_SIDES),
}
_WIDE_PARTS = {
    # `한 일` is a deed
    "N": r"(?P<n>\d{1,4}|(?:%s)(?!\s?일(?!주))|일(?=\s?주))"
    % _any((n for n in _SPOKEN if n != "일"), True),
    "UNIT": r"(?P<u>%s)" % _any(_UNITS, True),
    "WEEKDAY": r"(?P<d>%s)" % _any(_DAYS, True) + r"日?(?![个個次年定起些样直下志常期报程进])",
    "LENGTH": r"(?P<length>%s)" % _any(_LENGTHS, True),
    "DATE": r"(?:(?P<y>20\d\d)\s?[년年]\s?)?(?P<mm>\d{1,2})\s?[월月]"
    r"(?:\s?(?P<dom>\d{1,2})\s?[일日号])?",
}


def _pattern(rule: str) -> str:
    """Return the pattern of a rule, such as `prep? last UNIT`.

    A word in capitals is one of _PARTS, another a name in _WORDS or itself; `|` between them means
    either, `?` that it may lack.
    """
    tokens = rule.split()
    last = max(at for at, token in enumerate(tokens) if token[-1] != "?")
    out = ""
    for at, token in enumerate(tokens):
        names = token.rstrip("?").split("|")
        words = [_PARTS.get(name) or _any(_WORDS.get(name, name).split()) for name in names]
        found = (" " * (at > last) + "(?:%s)" + " " * (at < last)) % "|".join(words)
        out += "(?:%s)?" % found if token[-1] == "?" else found
    return out


def _wide_pattern(rule: str) -> str:
    """Return the pattern of a rule for scripts without blanks."""
    names = [(token.rstrip("?"), "?" * (token[-1] == "?")) for token in rule.split()]
    return r"\s?".join(
        "(?:%s)%s" % (_WIDE_PARTS.get(name) or _any(_WORDS[name].split(), True), may)
        for name, may in names
    )


def _start_of_span(unit: str, count: int, now: float, offset: float) -> float:
    """Return the start of the last `count` units up to now."""
    if unit in ("minute", "hour"):
        return now - count * _SECONDS[unit]
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    return clock.midnight(now - count * days * DAY, offset)


def _count(match: Match) -> int:
    said = match.groupdict().get("n") or "1"
    return int(said) if said.isdigit() else _COUNTS.get(said.lower()) or _SPOKEN[said]


def _unit(match: Match) -> str:
    return _UNITS[match.group("u").lower()]


def _last_units(match: Match, now: float, offset: float) -> Optional[Span]:
    return _start_of_span(_unit(match), _count(match), now, offset), None


def _lately(match: Match, now: float, offset: float) -> Optional[Span]:
    return _start_of_span(*_LENGTHS[match.group("length")], now, offset), None


def _ago(match: Match, now: float, offset: float) -> Optional[Span]:
    unit, count = _unit(match), _count(match)
    if unit in ("minute", "hour"):
        middle, half = now - count * _SECONDS[unit], _SECONDS[unit] / 2
        return middle - half, middle + half
    return clock.period(unit, count, now, offset)


def _last_one(match: Match, now: float, offset: float) -> Optional[Span]:
    """Return the calendar's last unit; the last hour and minute are those up to now."""
    if _unit(match) in ("minute", "hour"):
        return _last_units(match, now, offset)
    return clock.period(_unit(match), 1, now, offset)


def _calendar(back: int) -> Handler:
    """Return the handler of a week, month or year; `this day` may be any."""
    return lambda match, now, offset: (
        None
        if _unit(match) in ("minute", "hour", "day")
        else clock.period(_unit(match), back, now, offset)
    )


def _unit_back(unit: str, back: int) -> Handler:
    return lambda match, now, offset: clock.period(unit, back, now, offset)


def _weekday(today: int) -> Handler:
    """Return the handler of a weekday's name."""

    def span(match: Match, now: float, offset: float) -> Span:
        back = (clock.weekday(now, offset) - _DAYS[match.group("d").lower()]) % 7
        start = clock.midnight(now, offset) - (back or today) * DAY
        return start, start + DAY

    return span


def _day_of_last_week(match: Match, now: float, offset: float) -> Optional[Span]:
    start = clock.midnight(now, offset) - (clock.weekday(now, offset) + 7) * DAY
    start += _DAYS[match.group("d")] * DAY
    return start, start + DAY


def _iso(match: Match, now: float, offset: float) -> Optional[Span]:
    start = clock.parse(match.group("iso"))
    return None if start is None else (start - offset, start - offset + DAY)


def _month_of(match: Match, month: int, now: float, offset: float) -> Tuple[float, float]:
    """Return a month in the named year, else the latest begun."""
    said = match.groupdict().get("y")
    year, present = clock.year_month(now, offset)
    year = int(said) if said else year - (month > present)
    return clock.month(year, month, offset), clock.month(year, month + 1, offset)


def _named_month(match: Match, now: float, offset: float) -> Optional[Span]:
    """Return the period of a month, or of its named day."""
    return _day_of(match, _month_of(match, MONTHS[match.group("m").lower()], now, offset))


def _day_of(match: Match, month: Tuple[float, float]) -> Span:
    """Return the named day of a month, else the month."""
    day = int(match.groupdict().get("dom") or 0)
    return (month[0] + (day - 1) * DAY, month[0] + day * DAY) if 1 <= day <= 31 else month


def _numbered_month(match: Match, now: float, offset: float) -> Optional[Span]:
    month = int(match.group("mm"))
    if not 1 <= month <= 12:
        return None
    return _day_of(match, _month_of(match, month, now, offset))


def _whole_year(match: Match, now: float, offset: float) -> Optional[Span]:
    return clock.month(int(match.group("y")), 1, offset), clock.month(
        int(match.group("y")) + 1, 1, offset
    )


def _between(match: Match, now: float, offset: float) -> Optional[Span]:
    start, end = clock.parse(match.group("iso")), clock.parse(match.group("to"))
    return None if start is None or end is None else (start - offset, end - offset + DAY)


def _hours(start: float, end: float, back: int = 0) -> Handler:
    def span(match: Match, now: float, offset: float) -> Optional[Span]:
        day = clock.midnight(now, offset) - back * DAY
        return day + start * HOUR, day + end * HOUR

    return span


def _open_ended(handler: Handler) -> Handler:
    """Return a handler whose period is open on one side."""

    def span(match: Match, now: float, offset: float) -> Optional[Span]:
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


def _onward(handler: Handler) -> Handler:
    """Return a handler whose period has no end if `onward` matched."""

    def span(match: Match, now: float, offset: float) -> Optional[Span]:
        found = handler(match, now, offset)
        return (found[0], None) if found and match.group("onward") else found

    return span


def _is_guess(match: Match) -> bool:
    """Tell whether a period is what people half remember: a date, or long ago."""
    groups = match.groupdict()
    if "u" not in groups:
        return True
    if "n" not in groups:
        return _unit(match) == "year"
    return _unit(match) not in ("minute", "hour", "day") or str(groups["n"]).lower() in _VAGUE


# Periods that have names of their own, in both kinds of scripts.
_NAMED: Tuple[Tuple[str, Handler], ...] = (
    ("night", _hours(18, 30, 1)),
    ("morning", _hours(0, 12)),
    ("afternoon", _hours(12, 18)),
    ("evening", _hours(18, 30)),
    ("day_before", _unit_back("day", 2)),
    ("yesterday", _unit_back("day", 1)),
    ("today", _unit_back("day", 0)),
    ("last_week", _unit_back("week", 1)),
    ("this_week", _unit_back("week", 0)),
    ("last_month", _unit_back("month", 1)),
    ("this_month", _unit_back("month", 0)),
    ("~ last_year", _unit_back("year", 1)),
    ("~ this_year", _unit_back("year", 0)),
)
_POINTS: Tuple[Tuple[str, Handler], ...] = (  # what "since", "before" … may stand before
    ("ISO", _iso),
    ("last WEEKDAY", _weekday(7)),
    ("LONGDAY", _weekday(0)),
    ("MONTH DAY? YEAR", _named_month),
    ("DAY MONTH YEAR", _named_month),
    ("PLAIN", _named_month),
    ("yesterday", _unit_back("day", 1)),
    ("today", _unit_back("day", 0)),
    ("last UNIT", _last_one),
    ("SINCEYEAR", _whole_year),
)
# Rules in their order, after these points with a side; `~`: where it is a guess it only weighs.
_RULES: Tuple[Tuple[str, Handler], ...] = (
    ("since N UNIT ago", _last_units),
    ("prep? article? last|past N of? UNIT", _last_units),
    ("prep? the_last UNIT", _last_units),
    ("prep? article? past UNIT", _last_units),
    ("~ prep|about? N UNIT ago", _ago),
    ("~ vor N UNIT", _ago),
    ("~ N? UNIT тому? назад", _ago),
    ("~ prep? article? last UNIT", _last_one),
    ("~ prep? article? vorletzte UNIT", _calendar(2)),
    ("~ prep? article? this UNIT", _calendar(0)),
    *(("prep? article? " + name, handler) for name, handler in _NAMED[:7]),
    ("on WEEKDAY", _weekday(0)),
    ("prep? article? last WEEKDAY", _weekday(7)),
    ("~ prep? ISO", _iso),
    ("~ on the? DAY of? MONTH YEAR?", _named_month),
    ("~ prep? MONTH DAY? YEAR", _named_month),
    ("~ on MONTH DAY", _named_month),
    ("~ in last? MONTH", _named_month),
    ("~ last PLAIN", _named_month),
    ("~ in NUMBERED", _numbered_month),
    ("~ in_year THISAGE", _whole_year),
    ("~ в THISAGE году", _whole_year),
)
_WIDE_RULES: Tuple[Tuple[str, Handler], ...] = (
    ("lately N UNIT for?", _last_units),
    ("lately LENGTH", _lately),
    ("~ N UNIT before", _ago),
    ("of_last_week WEEKDAY", _day_of_last_week),
    ("last WEEKDAY", _weekday(7)),
    ("WEEKDAY", _weekday(0)),
    *(row for row in _NAMED if row[0] != "afternoon"),
    ("~ DATE", _numbered_month),
)


@lru_cache(maxsize=1)
def _rules() -> List[Rule]:
    """Return the rules for words with blanks between them, in their order."""
    # Words in a name, path or possessive (`today's`, `today.py`) do not count.
    whole = r"(?<![\w./'’-])(?:%s)(?![\w/'’-]|\.\w)"
    points = [("SIDE article? " + rule, _open_ended(handler)) for rule, handler in _POINTS]
    return [
        (re.compile(whole % _pattern(rule.strip("~ ")), re.I), handler, rule[0] == "~")
        for rule, handler in (("between ISO to END", _between), *points, *_RULES)
    ]


@lru_cache(maxsize=1)
def _wide_rules() -> List[Rule]:
    """Return the rules for scripts without blanks, in their order."""
    # where no blank stands between words, a person or a particle may stand before
    whole = (
        r"(?:(?<!\w)|(?<=[我你他她们們在从從自到于是はがでにをのも]))(?:%s)"
        r"(?!날)"  # `오늘날` is nowadays
        r"(?:(?P<onward>부터|から|以来|以來|开始|起)[의の的]?|(?:에는|에도|은|는|도|엔)(?!\w)"
        r"|에서|까지|동안|에|의|の|的|に|以內|以内|里|内)?"
    )
    return [
        (re.compile(whole % _wide_pattern(rule.strip("~ "))), _onward(handler), rule[0] == "~")
        for rule, handler in _WIDE_RULES
    ]


# No rule matches without one of these words, or a year: most queries name no time, and compiling
# the rules takes 17 ms.
_TRIGGERS = frozenset(
    phrase.rpartition("_")[2] for name, _ in _NAMED for phrase in _WORDS[name.strip("~ ")].split()
).union(_UNITS, _DAYS, MONTHS)
_WIDE_TRIGGERS = frozenset(
    word[0]
    for word in (*" ".join(_WORDS.values()).split(), *_UNITS, *_DAYS)
    if tokeniser.is_cjk(word[0])
)


def _rules_for(query: str) -> List[Rule]:
    """Return the rules that may match in a query."""
    words = re.findall(r"\w+", query.lower())
    named = any(word in _TRIGGERS or word[:4].isdigit() and len(word) > 3 for word in words)
    wide = not _WIDE_TRIGGERS.isdisjoint(query)
    return (_rules() if named else []) + (_wide_rules() if wide else [])


# Not in a path, a tag, a file's name or code: `image:latest`, `/releases/latest`, `latest.log`,
# `latest=true`.
_LATEST = re.compile(
    r"(?<![\w./'’:@=#$`\"-])(?:(?:(?:my|our|das|%s) )?(?:%s)|%s)(?![\w/'’=(`\"-]|[.:@]\w)"
    % tuple(_any(_WORDS[name].split()) for name in ("article", "latest", "recently")),
    re.I,
)
_LATEST_WIDE = re.compile(r"(?<!\w)(?:%s)" % _any(_WORDS["latest"].split(), True))
# words of a long query within which a person asks for the latest: in the first or the last of them
BEGIN, END = 6, 3


def parse(query: str, now: float, offset: float) -> Times:
    """Return a query's times, and its text without them.

    offset: seconds that local time is ahead of UTC. Several
        expressions narrow each other; where they cannot all hold, the first counts.
    """
    return read(query, now, offset).times


def read(query: str, now: float, offset: float) -> Reading:
    """Return a query as `parse` does, split by narrowing and weighing."""
    rest = kept = query
    whole, only, about = OPEN, OPEN, OPEN
    for pattern, handler, may_weigh in _rules_for(query):
        at = 0
        while True:
            match = pattern.search(rest, at)
            if match is None:
                break
            span = handler(match, now, offset)
            if span is None:
                at = match.end()
                continue
            whole = _narrowed(whole, span)
            if may_weigh and _is_guess(match):
                about = _narrowed(about, span)
            else:
                only, kept = _narrowed(only, span), kept.replace(match.group(), " ", 1)
            rest, at = _without(rest, match), match.start()
    latest, rest = _latest(rest)
    return Reading(
        Times(" ".join(rest.split()), *whole, latest),
        " ".join(_latest(kept)[1].split()),
        only,
        about,
    )


def _narrowed(known: Span, span: Span) -> Span:
    """Return the overlap of two periods, else the first."""
    low = span[0] if known[0] is None else known[0] if span[0] is None else max(known[0], span[0])
    high = span[1] if known[1] is None else known[1] if span[1] is None else min(known[1], span[1])
    return (low, high) if low is None or high is None or low < high else known


def _latest(query: str) -> Tuple[bool, str]:
    """Tell whether a query asks for the newest."""
    for words in (_LATEST, _LATEST_WIDE):
        match = words.search(query)
        if match and (
            len(query[: match.start()].split()) < BEGIN or len(query[match.end() :].split()) < END
        ):
            leads = not query[: match.start()].strip() or words is _LATEST_WIDE
            return True, _without(query, match) if leads else query
    return False, query


def _without(text: str, match: Match) -> str:
    return text[: match.start()] + " " + text[match.end() :]


def _written_instant(text: str, point: float, offset: float, end: bool) -> float:
    """Return the instant of a date without a zone as local time."""
    if text.isdigit() and len(text) != 8:
        return point
    if len(text) <= 10:
        return point - offset + (DAY if end else 0.0)
    zoned = text[-1] in "zZ" or "+" in text[10:] or "-" in text[10:]
    return point if zoned else point - offset


def instant(said: str, now: float, offset: float, end: bool = False) -> float:
    """Return the time of an option in seconds since the epoch.

    said: `3d`, `2h`, a day, an instant, or time words such as `yesterday` and `Monday`. end: a day
        or a period means its end and not its start. Raises UsageError.
    """
    text = " ".join(said.split())
    length = clock.span(text)
    if length is not None:
        return now - length
    point = clock.parse(text)
    if point is not None:
        return _written_instant(text, point, offset, end)
    for trial in (text, "on " + text, "in " + text, "since " + text):
        found = parse(trial, now, offset)
        if not found.rest and (found.since, found.until) != (None, None):
            chosen = found.until if end else found.since
            if chosen is None:
                chosen = now if end else found.until
            assert chosen is not None
            return chosen
    raise UsageError(
        "'%s' is no time; write it as 3d, 2h, 2026-11-20, yesterday or Monday" % said[:60]
    )


def bounds(
    since: str = "",
    days: str = "",
    start: str = "",
    end: str = "",
    now: float = 0.0,
    offset: float = 0.0,
) -> Span:
    """Return (from, before) in seconds for the time options.

    `--since`, `--days`, `--from` and `--to`; empty ones count as not given, `--to` with a day
    includes that day. Raises UsageError.
    """
    lows: List[float] = []
    if days:
        if not days.isdigit() or not 0 < int(days) < 100000:
            raise UsageError("--days takes a number of days such as 7, not '%s'" % days[:40])
        lows.append(now - int(days) * DAY)
    lows += [instant(said, now, offset) for said in (since, start) if said]
    low = max(lows, default=None)
    high = instant(end, now, offset, True) if end else None
    if low is not None and high is not None and low >= high:
        raise UsageError("the time asked for ends before it starts; swap --from and --to")
    return low, high
