"""Instants: the only reader of the wall clock, and ISO 8601 in and out without `datetime` (1.2 ms a
process).

An instant is a number of seconds since the epoch, UTC; an `offset` returns the seconds by which a
zone is ahead of UTC at an instant, since that changes in summer.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    Offset = Callable[[float], float]

DAY = 86400.0
# characters of a length of time, with its unit; longer ones reach before any calendar
_DURATION_CHARS = 12
_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": DAY, "w": 7 * DAY}


def now() -> float:
    return time.time()


def elapsed_ms(since: float) -> int:
    """Return the milliseconds since an instant, at least 0."""
    return max(0, int((now() - since) * 1000))


def _days_since_epoch(year: int, month: int, day: int) -> int:
    # The proleptic calendar; H. Hinnant, "chrono-compatible date algorithms".
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def iso(instant: float) -> str:
    """Return an instant as `2026-11-21T14:30:52Z`, in the years 1 to 9999."""
    seconds = int(min(max(instant, -62135596800), 253402300799))
    t = time.gmtime(seconds)
    return "%04d-%02d-%02dT%02d:%02d:%02dZ" % t[:6]


def day(instant: float) -> str:
    """Return the UTC day of an instant as `2026-11-21`."""
    return iso(instant)[:10]


def parse(text: str) -> float | None:
    """Return the instant that a text names, or None.

    text: ISO 8601 (`2026-11-21`, `2026-11-21 14:30`, with `Z`, `+09:00` or nothing, which means
    UTC), or seconds or milliseconds since the epoch.
    """
    text = text.strip()
    if text.isdigit() and len(text) in (9, 10, 13):
        return int(text) / (1000.0 if len(text) == 13 else 1.0)
    if len(text) < 8 or not text[:4].isdigit():
        return None
    date, _, rest = text.replace("T", " ", 1).replace("t", " ", 1).partition(" ")
    try:
        year, month, dom = map(int, _date_parts(date))
        if not (1 <= year <= 9999 and 1 <= month <= 12 and 1 <= dom <= 31):
            return None
        days = _days_since_epoch(year, month, dom)
        if dom > 28 and days >= _days_since_epoch(year, month + 1, 1):
            return None
        return days * DAY + _time_of_day(rest.strip())
    except ValueError:
        return None


def _date_parts(date: str) -> list[str]:
    parts = date.replace("/", "-").replace(".", "-").split("-")
    if len(parts) == 1 and len(date) == 8:
        return [date[:4], date[4:6], date[6:]]
    return parts


def _time_of_day(text: str) -> float:
    """Return the seconds after midnight UTC; raises ValueError.

    text: `14:30[:52[.25]][Z|±hh:mm]`.
    """
    if not text:
        return 0.0
    offset = 0.0
    if text[-1] in "Zz":
        text = text[:-1]
    else:
        at = max(text.rfind("+"), text.rfind("-"))
        if at > 0:
            zone = text[at + 1 :].replace(":", "")
            offset = int(zone[:2]) * 3600.0 + int(zone[2:4] or 0) * 60.0
            offset = -offset if text[at] == "-" else offset
            text = text[:at]
    hours, minutes, seconds, *_ = [*text.strip().split(":"), "0", "0"]
    if int(hours) > 24:
        raise ValueError("no such hour")
    return int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds) - offset


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration such as `90s`, or None.

    Units: s, m, h, d, w.
    """
    text = text.strip().lower()
    if text[:-1].isdigit() and len(text) <= _DURATION_CHARS and text[-1:] in _UNIT_SECONDS:
        return int(text[:-1]) * _UNIT_SECONDS[text[-1]]
    return None


def local_offset(instant: float) -> float:
    """Return the seconds of local time ahead of UTC, 0 where unknown."""
    try:
        return float(time.localtime(instant).tm_gmtoff or 0)
    except (OSError, OverflowError, ValueError):
        return 0.0


def format_local(instant: float) -> str:
    """Return an instant in local time, such as `2026-11-21 23:30`."""
    return iso(instant + local_offset(instant))[:16].replace("T", " ")


def format_local_day(instant: float) -> str:
    """Return the local day of an instant as `2026-11-21`."""
    return format_local(instant)[:10]


def format_zoned(instant: float) -> str:
    """Return an instant as `2026-11-21 23:30 +09:00` or `… UTC`."""
    minutes = int(local_offset(instant)) // 60
    hours, rest = divmod(abs(minutes), 60)
    zone = "%s%02d:%02d" % ("-" if minutes < 0 else "+", hours, rest) if minutes else "UTC"
    return "%s %s" % (format_local(instant), zone)


def utc(instant: float) -> float:
    """Return 0, the offset of UTC at any instant."""
    return 0.0


def from_local(local: float, offset: Offset) -> float:
    """Return the first instant at which a zone's clocks show a time.

    local: seconds since the epoch as its clocks show them.  A time that they leave out is the
        instant at which they are changed.
    """
    tried = local - offset(local - DAY), local - offset(local + DAY)
    return min((at for at in tried if at + offset(at) >= local), default=max(tried))


def midnight(instant: float, offset: Offset = utc, back: int = 0) -> float:
    """Return the start of the day that is `back` days before an instant's day."""
    return from_local(((instant + offset(instant)) // DAY - back) * DAY, offset)


def weekday(instant: float, offset: Offset = utc) -> int:
    """Return the day of the week of an instant, Monday = 0."""
    return int((instant + offset(instant)) // DAY + 3) % 7


def year_month(instant: float, offset: Offset = utc) -> tuple[int, int]:
    year, month = day(instant + offset(instant)).split("-")[:2]
    return int(year), int(month)


def month_start(year: int, number: int, offset: Offset = utc) -> float:
    """Return the start of a month; month 0 is December of the year before."""
    year, number = year + (number - 1) // 12, (number - 1) % 12 + 1
    return from_local(_days_since_epoch(min(max(year, 1), 9998), number, 1) * DAY, offset)


def period_bounds(
    unit: str, back: int, instant: float, offset: Offset = utc
) -> tuple[float, float]:
    """Return (start, end) of an earlier day, week, month or year.

    back: how many units before the instant's own.  A week starts on Monday.
    """
    if unit in ("month", "year"):
        year, month = year_month(instant, offset)
        months = 12 if unit == "year" else 1
        first = (1 if unit == "year" else month) - back * months
        return month_start(year, first, offset), month_start(year, first + months, offset)
    days, since = (7, weekday(instant, offset)) if unit == "week" else (1, 0)
    start, end = since + back * days, since + (back - 1) * days
    return midnight(instant, offset, start), midnight(instant, offset, end)


def date_in_path(name: str) -> float | None:
    """Return the instant in a path such as `2026-11-21/143052-x.md`, or None."""
    parts = name.split("/")
    stem = parts[-1]
    for part in parts[-1:] + parts[-2:-1]:  # the file's name, then its folder's
        if len(part) >= 10 and part[4] == part[7] == "-" and not part[10:11].isdigit():
            day = parse(part[:10])
            if day is not None:
                return day if part is stem else day + _seconds_in_name(stem)
    return None


def _seconds_in_name(stem: str) -> int:
    """Return the time of day in a name such as `143052-x.md`, or 0."""
    digits = stem[:6]
    if not (digits.isdigit() and digits.isascii() and stem[6:7] in ("-", ".", "_")):
        return 0
    hour, minute, second = (int(digits[i : i + 2]) for i in (0, 2, 4))
    is_time = hour < 24 and minute < 60 and second < 60
    return hour * 3600 + minute * 60 + second if is_time else 0
