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
from operator import not_
from typing import Callable, Dict, List, NamedTuple, Optional, Pattern, Tuple

from memory.core import UsageError, clock, tokeniser
from memory.core.clock import DAY

HOUR, WEEK = 3600.0, 7 * DAY
Span = Tuple[Optional[float], Optional[float]]
OPEN: Span = (None, None)
WEIGHS, NARROWS = bool, not_  # of a match, which is always true
Match = re.Match[str]  # the class is subscriptable from Python 3.9 on
Handler = Callable[[Match, float, float], Optional[Span]]
# the last: whether what is meant only weighs beside other words
Rule = Tuple[Pattern[str], Handler, Callable[[Match], bool]]


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


_DAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon montag понедельник понедельника 월요일 月曜 周一 星期一",
            "tuesday tue tues dienstag вторник вторника 화요일 火曜 周二 星期二",
            "wednesday wed mittwoch среду 수요일 水曜 周三 星期三",
            "thursday thu thurs donnerstag четверг четверга 목요일 木曜 周四 星期四",
            "friday fri freitag пятницу пятницы 금요일 金曜 周五 星期五",
            "saturday sat samstag sonnabend субботу субботы 토요일 土曜 周六 星期六",
            "sunday sun sonntag воскресенье воскресенья 일요일 日曜 周日 周天 星期日 星期天",
        )
    )
    for name in names.split()
}
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar января январе",
            "february feb februar февраля феврале",
            "march mar märz maerz марта марте",
            "april apr апреля апреле",
            "may mai мая мае",
            "june jun juni июня июне",
            "july jul juli июля июле",
            "august aug августа августе",
            "september sep sept сентября сентябре",
            "october oct oktober okt октября октябре",
            "november nov ноября ноябре",
            "december dec dezember dez декабря декабре",
        ),
        1,
    )
    for name in names.split()
}
_COUNTS = {
    word: number
    for number, words in enumerate(
        (
            "a an one ein einem einer eine один одну",
            "two couple zwei два две пару",
            "three few drei три несколько",
            "four vier четыре",
            "five fünf пять",
            "six sechs шесть",
            "seven sieben семь",
            "eight acht восемь",
            "nine neun девять",
            "ten zehn десять",
        ),
        1,
    )
    for word in words.split()
}
_SPOKEN = {
    word: number
    for number, words in enumerate(
        (
            "한 하나 일 一",
            "두 둘 二 两 兩",
            "세 三 몇 几 幾 数",
            "네 四",
            "다섯 五",
            "여섯 六",
            "일곱 七",
            "여덟 八",
            "아홉 九",
            "열 十",
        ),
        1,
    )
    for word in words.split()
}
_LENGTHS = (
    ("하루", "day", 1),
    ("이틀", "day", 2),
    ("사흘", "day", 3),
    ("나흘", "day", 4),
    ("보름", "day", 15),
    ("반년|半年", "month", 6),
    ("半小时|半小時|半時間|반시간", "minute", 30),
)
_UNITS = {
    name: unit
    for unit, names in (
        ("minute", "minute minutes min mins minuten минуту минуты минут 분 分 分钟 分鐘 分間"),
        (
            "hour",
            "hour hours hr hrs stunde stunden час часа часов 시간 時間 小时 小時 个小时 個小時",
        ),
        ("day", "day days tag tage tagen день дня дней сутки 일 日 天 日間"),
        (
            "week",
            "week weeks woche wochen неделя неделю недели неделе недель 주 주일 주간 週 週間 周"
            " 星期 个星期 個星期",
        ),
        (
            "month",
            "month months monat monate monaten месяц месяца месяце месяцев 달 개월 か月 ヶ月 ヵ月"
            " 个月 個月 月",
        ),
        ("year", "year years jahr jahre jahren год года году лет 년 年"),
    )
    for name in names.split()
}
_SECONDS = {"minute": 60.0, "hour": HOUR, "day": DAY, "week": WEEK}


def _any(names: Dict[str, int]) -> str:
    return "|".join(sorted(names, key=lambda n: (-len(n), n)))


def _units(script: Callable[[str], bool]) -> str:
    return "|".join(sorted((n for n in _UNITS if script(n)), key=lambda n: (-len(n), n)))


_N = r"(?P<n>\d{1,4}|%s)" % _any(_COUNTS)
_U = r"(?P<u>%s)" % _units(lambda n: not tokeniser.is_cjk(n[0]))
_WIDE = r"(?P<u>%s)" % _units(lambda n: tokeniser.is_cjk(n[0]))
_D = r"(?P<d>%s)" % "|".join(sorted((d for d in _DAYS if len(d) > 5), key=lambda n: (-len(n), n)))
_WIDE_D = r"(?P<d>%s)日?(?![个個次年定起些样直下志常期报程进])" % "|".join(
    day for day in _DAYS if tokeniser.is_cjk(day[0])
)
_SHORT = r"(?P<d>%s)" % _any(_DAYS)
_ISO = r"(?P<iso>\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2})"
_M = r"(?P<m>%s)" % _any(_MONTHS)
_PLAIN = r"(?P<m>%s)" % _any(
    {name: n for name, n in _MONTHS.items() if name not in ("may", "march", "mar", "mai", "sep")}
)
_FROM = (
    r"(?:(?:from|in|during|within|over|on|of|at|aus|von|vom|im|am|während|за|на|в|во)"
    r" (?:(?:the|der|den|dem) )?|(?:die|der|den|dem) )?"
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


def _lately(unit: str, count: int) -> Handler:
    return lambda match, now, offset: (_start_of_span(unit, count, now, offset), None)


def _ago(match: Match, now: float, offset: float) -> Optional[Span]:
    unit, count = _unit(match), _count(match)
    if unit in ("minute", "hour"):
        middle, half = now - count * _SECONDS[unit], _SECONDS[unit] / 2
        return middle - half, middle + half
    return clock.period(unit, count, now, offset)


def _calendar(back: int) -> Handler:
    return lambda match, now, offset: clock.period(_unit(match), back, now, offset)


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
    return _day_of(match, _month_of(match, _MONTHS[match.group("m").lower()], now, offset))


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


_SIDES = {
    "since": "since seit с со",
    "after": "after nach после",
    "before": "before vor до",
    "until": "until till bis",
}
_SIDE_OF = {word: side for side, words in _SIDES.items() for word in words.split()}


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
        }[_SIDE_OF[match.group("side").lower()]]

    return span


def _onward(handler: Handler) -> Handler:
    """Return a handler whose period has no end if `onward` matched."""

    def span(match: Match, now: float, offset: float) -> Optional[Span]:
        found = handler(match, now, offset)
        return (found[0], None) if found and match.group("onward") else found

    return span


def _is_far(match: Match) -> bool:
    """Tell whether a time ago is only a guess."""
    said = match.groupdict()
    return _unit(match) not in ("minute", "hour", "day") or str(said.get("n")).lower() in (
        "few",
        "couple",
        "drei",
        "zwei",
        "пару",
        "несколько",
    )


def _is_year(match: Match) -> bool:
    return _unit(match) == "year"


def _rules(query: str) -> List[Rule]:
    """Return the rules for a query, in their order."""
    found: List[Rule] = []

    def word(pattern: str, handler: Handler, weighs: Callable[[Match], bool] = NARROWS) -> None:
        """Add a rule for words.

        Words in a name, path or possessive (`today's`, `today.py`) do not count.
        """
        found.append(
            (re.compile(r"(?<![\w./'’-])(?:%s)(?![\w/'’-]|\.\w)" % pattern, re.I), handler, weighs)
        )

    def wide(pattern: str, handler: Handler, weighs: Callable[[Match], bool] = NARROWS) -> None:
        tail = (
            r"(?:(?P<onward>부터|から|以来|以來|开始|起)[의の的]?|(?:에는|에도|은|는|도|엔)(?!\w)"
            r"|에서|까지|동안|에|의|の|的|に|以內|以内|里|内)?"
        )
        # where no blank stands between words, a person or a particle may stand before
        head = r"(?:(?<!\w)|(?<=[我你他她们們在从從自到于是はがでにをのも]))"
        found.append((re.compile(head + "(?:%s)" % pattern + tail), _onward(handler), weighs))

    points = [  # what "since", "before" and the rest may stand before
        (_ISO, _iso),
        (r"(?:last |letzten |vergangenen |прошлого |прошлой )" + _SHORT, _weekday(7)),
        (_D, _weekday(0)),
        (_M + r"(?: (?P<dom>\d{1,2})(?:st|nd|rd|th)?,?)? (?P<y>(?:19|20)\d\d)", _named_month),
        (r"(?P<dom>\d{1,2})\.? " + _M + r",? (?P<y>(?:19|20)\d\d)", _named_month),
        (_PLAIN, _named_month),
        (r"(?:yesterday|gestern|вчера(?:шнего дня)?)", _unit_back("day", 1)),
        (r"(?:today|heute|сегодня)", _unit_back("day", 0)),
        (r"(?:last|letzter|letzte|letzten|letztem|прошло[йгм]о?) " + _U, _calendar(1)),
        (r"(?P<y>(?:19|20)\d\d)(?:(?<=[a-z] \d{4})| года?)", _whole_year),
    ]
    word(
        r"(?:from|between|von|zwischen) %s (?:to|and|until|bis|und) (?P<to>\d{4}-\d{1,2}-\d{1,2})"
        % _ISO,
        _between,
    )
    for pattern, handler in points:
        word(
            r"(?<!\bday )(?P<side>%s) (?:dem |der )?%s" % ("|".join(_SIDE_OF), pattern),
            _open_ended(handler),
        )
    word(r"since %s %s ago" % (_N, _U), _last_units)
    word(
        _FROM
        + r"(?:the )?(?:last|past|previous|letzten|letzte|vergangenen|последни[ех]) %s(?: of)? %s"
        % (_N, _U),
        _last_units,
    )
    word(r"(?:(?:from|in|during|within|over) )?the (?:last|past) " + _U, _last_units)
    word(_FROM + r"последн(?:ий|юю|ие|ее|яя) " + _U, _last_units)
    word(_FROM + r"(?:past |(?:last|letzte|letzten) (?=hour|minute|stunde|day))" + _U, _last_units)
    word(r"(?:from |about |in )?%s %s ago" % (_N, _U), _ago, _is_far)
    word(r"vor %s %s" % (_N, _U), _ago, _is_far)
    word(r"(?:%s )?%s (?:тому )?назад" % (_N, _U), _ago, _is_far)
    word(
        _FROM
        + r"(?:last|previous|letzter|letzte|letzten|letztem|vorige|vorigen|vergangene|vergangenen"
        r"|прошл(?:ый|ая|ую|ой|ом|ого)) " + _U,
        _calendar(1),
        _is_year,
    )
    word(_FROM + r"vorletzte[rmn]? (?!minute|stunde)" + _U, _calendar(2), _is_year)
    word(
        _FROM + r"(?:this|current|diese|diesen|dieser|diesem|dieses|эт(?:ой|ом|от|у))"
        r" (?!minute|hour|минут|час|д|сут)" + _U,
        _calendar(0),
        _is_year,
    )
    word(_FROM + r"(?:the day before yesterday|vorgestern|позавчера)", _unit_back("day", 2))
    word(_FROM + r"(?:last night|gestern abend|вчера вечером|прошлой ночью)", _hours(18, 30, 1))
    word(_FROM + r"(?:this morning|heute morgen|heute früh|сегодня утром)", _hours(0, 12))
    word(_FROM + r"(?:this afternoon|heute nachmittag|сегодня днём)", _hours(12, 18))
    word(_FROM + r"(?:tonight|this evening|heute abend|сегодня вечером)", _hours(18, 30))
    word(_FROM + r"(?:yesterday|gestern|вчера(?:шн\w{2,3})?)", _unit_back("day", 1))
    word(_FROM + r"(?:today|heute|сегодня)", _unit_back("day", 0))
    word(r"(?:on|from|of|am|vom|в|во) " + _SHORT, _weekday(0))
    word(
        r"(?:from |on |в |во )?(?:last|letzten|vergangenen|прошл(?:ый|ую|ое)) " + _SHORT,
        _weekday(7),
    )
    word(r"(?:on|from|of|at|am|vom) " + _ISO, _iso, WEIGHS)
    word(r"(?<![\d.])" + _ISO, _iso, WEIGHS)
    word(
        r"(?:(?:on|from|am|vom) )?%s (?P<dom>\d{1,2})(?:st|nd|rd|th)?,? (?P<y>(?:19|20)\d\d)" % _M,
        _named_month,
        WEIGHS,
    )
    word(
        r"(?:(?:on|from|am|vom) )(?:the )?(?P<dom>\d{1,2})(?:st|nd|rd|th"
        r"|\.)? (?:of )?%s(?:,? (?P<y>(?:19|20)\d\d))?" % _M,
        _named_month,
        WEIGHS,
    )
    word(r"(?:on|from|am|vom) %s (?P<dom>\d{1,2})(?:st|nd|rd|th)?" % _M, _named_month, WEIGHS)
    word(r"(?:(?:in|from|during|im|vom|в) )?%s (?P<y>(?:19|20)\d\d)" % _M, _named_month, WEIGHS)
    word(r"(?:in|from|during|im|vom|в) (?:last |letzten |прошлом )?" + _M, _named_month, WEIGHS)
    word(r"last " + _PLAIN, _named_month, WEIGHS)
    word(r"(?:in|from|during) (?P<y>(?:19|20)\d\d)-(?P<mm>\d\d)", _numbered_month, WEIGHS)
    word(r"(?:in|from|during|im jahr) (?P<y>20\d\d)", _whole_year, WEIGHS)
    word(r"в (?P<y>20\d\d) году", _whole_year, WEIGHS)
    if not tokeniser.has_cjk(query):
        return found
    spoken = _any({word: n for word, n in _SPOKEN.items() if word != "일"})
    number = r"(?P<n>\d{1,4}|(?:%s)(?!\s?일(?!주))|일(?=\s?주))" % spoken  # `한 일` is a deed
    lately = r"(?:지난|최근|过去|過去|最近の?|近|直近の?|ここ|この)\s?"
    wide(lately + r"%s\s?%s\s?(?:간|間|동안)?" % (number, _WIDE), _last_units)
    for words, unit, count in _LENGTHS:
        wide(lately + "(?:%s)" % words, _lately(unit, count))
    wide(r"%s\s?%s\s?(?:전|前)" % (number, _WIDE), _ago, _is_far)
    wide(r"어젯밤|昨夜|昨晚|昨天晚上", _hours(18, 30, 1))
    wide(r"오늘\s?아침|今朝|今早|今天早上|今天上午", _hours(0, 12))
    wide(r"오늘\s?저녁|今夜|今晩|今晚|今天晚上", _hours(18, 30))
    wide(r"(?:지난\s?주\s?|先週の?|上个?|上週の?)" + _WIDE_D, _day_of_last_week)
    wide(r"지난\s?" + _WIDE_D, _weekday(7))
    wide(_WIDE_D, _weekday(0))
    wide(r"그저께|그제|엊그제|一昨日|おととい|前天", _unit_back("day", 2))
    wide(r"어제|昨日|きのう|昨天", _unit_back("day", 1))
    wide(r"오늘(?!날)|今日|きょう|今天", _unit_back("day", 0))
    for unit, last, this in (
        (
            "week",
            "지난\\s?주|저번\\s?주|先週|上周|上週|上个?星期|上個星期",
            "이번\\s?주|今週|本周|这周|這週|这个?星期",
        ),
        (
            "month",
            "지난\\s?달|저번\\s?달|先月|上个?月|上個月",
            "이번\\s?달|今月|本月|这个?月|這個月",
        ),
        ("year", "작년|지난\\s?해|昨年|去年", "올해|今年"),
    ):
        wide(last, _unit_back(unit, 1), WEIGHS if unit == "year" else NARROWS)
        wide(this, _unit_back(unit, 0), WEIGHS if unit == "year" else NARROWS)
    wide(
        r"(?:(?P<y>20\d\d)\s?[년年]\s?)?(?P<mm>\d{1,2})\s?[월月](?:\s?(?P<dom>\d{1,2})\s?[일日号])?",
        _numbered_month,
        WEIGHS,
    )
    return found


# No rule matches without one of these: most queries name no time, and compiling the rules takes 40
# ms.
_TRIGGER = re.compile(
    r"\b(?:last|past|previous|this|current|ago|yesterday|today|tonight|since|after|before|until"
    r"|till|between|from|in|on|of|am|im|vom|vor|seit|bis|nach|zwischen|heute|gestern|vorgestern"
    r"|(?:vor)?letzte\w*|diese\w*|vergangene\w*|vorige\w*)\b|\d{4}|[年月日주달년월일]"
    r"|[昨今前先上本这這週周近过過直曜星]|ここ|この|어제|어젯밤|그제|그저께|오늘|작년|올해|지난|최근|분"
    r"|시간|きのう|きょう|おととい"
    r"|\b(?:вчера|сегодня|прошл|последн|эт(?:ой|ом|от|у)\b)|\b(?:назад|позавчера|[сво]|со|до|во|на"
    r"|за|после)\b",
    re.I,
)
# Not in a path, a tag, a file's name or code: `image:latest`, `/releases/latest`, `latest.log`,
# `latest=true`.
_LATEST = re.compile(
    r"(?<![\w./'’:@=#$`\"-])(?:(?:the |my |our |die |der |das )?(?:latest|newest|most recent"
    r"|neuesten|neueste|neuester|neuestes|jüngste|jüngsten|последние|недавние)|recently"
    r"|recent|kürzlich|neulich|zuletzt|недавно)(?![\w/'’=(`\"-]|[.:@]\w)",
    re.I,
)
_LATEST_WIDE = re.compile(
    r"(?<!\w)(?:최근에?|최신|가장 최근|最近の?|最新の?|最近的|最新的|直近の?)"
)
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
    for pattern, handler, weighs in _rules(query) if _TRIGGER.search(query) else ():
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
            if weighs(match):
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
        if text.isdigit() and len(text) != 8:
            return point
        bare = len(text) <= 10
        zoned = not bare and (text[-1] in "zZ" or "+" in text[10:] or "-" in text[10:])
        return point - (0.0 if zoned else offset) + (DAY if bare and end else 0.0)
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
    low: Optional[float] = None
    if days:
        if not days.isdigit() or not 0 < int(days) < 100000:
            raise UsageError("--days takes a number of days such as 7, not '%s'" % days[:40])
        low = now - int(days) * DAY
    for said in (since, start):
        if said:
            found = instant(said, now, offset)
            low = found if low is None else max(low, found)
    high = instant(end, now, offset, True) if end else None
    if low is not None and high is not None and low >= high:
        raise UsageError("the time asked for ends before it starts; swap --from and --to")
    return low, high
