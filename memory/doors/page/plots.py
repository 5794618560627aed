"""Charts of the memory: counts by day, week or month, as rows for a template."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memory.core import clock
from memory.core.layout import DATED_KINDS, Place
from memory.doors.page.catalogue import Card, Catalogue, GivenRecords
from memory.store import ledger

DAYS, WEEKS = 35, 80  # at most, of a chart by days, by weeks; longer ones count by months
MONTHS = 240  # at most; older records count in the first
TOPICS, RECORDS = 10, 8  # drawn, listed


class Periods(NamedTuple):
    """Periods of one length, oldest first; unit: `day`, `week` or `month`."""

    unit: str
    starts: Sequence[float]
    end: float

    def at(self, instant: float) -> int:
        """Return the number of an instant's period, 0 for an earlier instant."""
        return max(0, bisect_right(self.starts, instant) - 1)

    def count_by_period(self, instants: Iterable[float]) -> list[int]:
        """Count the instants in each period."""
        held = Counter(map(self.at, instants))
        return [held[number] for number in range(len(self.starts))]

    def label(self, number: int, offset: clock.Offset) -> str:
        """Return a period's name: `2026-11-16` or `2026-11`."""
        start = self.starts[number]
        day = clock.day(start + offset(start))
        return day[:7] if self.unit == "month" else day

    def last_day(self, number: int, offset: clock.Offset) -> str:
        """Return the last day of a period."""
        after = self.starts[number + 1] if number + 1 < len(self.starts) else self.end
        return clock.day(after - 1 + offset(after - 1))


def make_periods(first: float, now: float, offset: clock.Offset) -> Periods:
    """Return the days, weeks or months from an instant until now."""
    end, first = clock.midnight(now, offset, -1), min(first, now)
    if now - first <= DAYS * clock.DAY:
        day = min(clock.midnight(first, offset), clock.midnight(now, offset, 13))
        return Periods("day", _list_starts(day, end, 1, offset), end)
    if now - first <= WEEKS * 7 * clock.DAY:
        start = clock.midnight(first, offset, clock.weekday(first, offset))
        return Periods("week", _list_starts(start, end, 7, offset), end)
    year, number = clock.year_month(now, offset)
    back = clock.year_month(first, offset)
    months = min(12 * (year - back[0]) + number - back[1], MONTHS - 1)
    starts = [clock.month_start(year, number - ago, offset) for ago in range(months, -1, -1)]
    return Periods("month", starts, end)


def _list_starts(start: float, end: float, step: int, offset: clock.Offset) -> list[float]:
    days = range(0, round((end - start) / clock.DAY), step)
    return [clock.midnight(start, offset, -ahead) for ahead in days]


class Column(NamedTuple):
    """One period of a chart; values: one of each series."""

    label: str
    last_day: str
    values: Sequence[float]


class Chart(NamedTuple):
    """A chart; names: of the series, the first includes the others."""

    title: str
    names: Sequence[str]
    unit: str
    columns: Sequence[Column]
    top: float
    total: Sequence[float]


def make_chart(
    title: str,
    names: Sequence[str],
    over: Periods,
    series: Sequence[Sequence[float]],
    offset: clock.Offset,
) -> Chart:
    """Return a chart; series: each with a value for every period."""
    columns = [
        Column(over.label(number, offset), over.last_day(number, offset), values)
        for number, values in enumerate(zip(*series))
    ]
    most = max((max(values) for values in series), default=0)
    return Chart(
        title, names, over.unit, columns, _round_up(most), [sum(values) for values in series]
    )


def _round_up(most: float) -> float:
    """Round the greatest value up to a number for the scale."""
    size = 1.0
    while size * 10 < most:
        size *= 10
    return next((size * step for step in (1, 2, 4, 6, 8, 10) if size * step >= most), most)


class Topic(NamedTuple):
    """A topic over time; cells: (period, records, shade from 0 to 1)."""

    name: str
    total: int
    cells: Sequence[tuple[str, int, float]]


class Row(NamedTuple):
    """A record, with how often it was given and used."""

    id: str
    title: str
    given: int
    used: int


def make_figures(
    catalogue: Catalogue, place: Place, now: float, offset: clock.Offset
) -> dict[str, Any]:
    """Return the data of the page of charts."""
    cards, given = catalogue.cards(), [one for one in catalogue.given() if one.began]
    over = make_periods(min((card.created for card in cards), default=now), now, offset)
    since_given = make_periods(min((one.began for one in given), default=now), now, offset)
    begun = [min(card.created for card in group) for group in catalogue.sessions().values()]
    uses = {
        (str(row.get("session") or ""), str(row.get("prompt") or ""), str(row.get("id")))
        for book in ledger.ledgers(place)
        for row in ledger.read_uses(book)
    }
    pushed, used = _count_by_record(given, uses)
    titles = {card.id: card.title for card in cards}
    tokens = [g.tokens for g in given if g.tokens]
    return {
        "empty": not cards and not given,
        "tiles": _make_tiles(begun, cards, pushed, used, tokens),
        "charts": [
            make_chart("Sessions", ("sessions",), over, [over.count_by_period(begun)], offset),
            _chart_times(since_given, given, offset),
            _chart_used(since_given, given, uses, offset),
            _chart_tokens(since_given, given, offset),
        ],
        "topics": _count_topics(over, cards, offset),
        "kinds": Counter(card.kind for card in cards).most_common(),
        "rows": [
            Row(id, titles.get(id, id), number, used[id])
            for id, number in sorted(pushed.items(), key=lambda p: (-p[1], -used[p[0]], p[0]))
        ][:RECORDS],
        "known_ids": titles.keys(),
    }


def _count_by_record(
    given: Sequence[GivenRecords], uses: set[tuple[str, str, str]]
) -> tuple[Counter[str], Counter[str]]:
    pushed: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for one in given:
        short = ledger.hash_id(one.session)
        pushed.update(id for _, id in one.items)
        used.update(id for prompt, id in one.items if (short, prompt, id) in uses)
    return pushed, used


def _make_tiles(
    begun: Sequence[float],
    cards: Sequence[Card],
    pushed: Counter[str],
    used: Counter[str],
    tokens: Sequence[int],
) -> list[tuple[str, str]]:
    given = sum(pushed.values())
    learnt = sum(card.kind == "learning" and card.accepted for card in cards)
    return [
        ("sessions", "{:,}".format(len(begun))),
        ("accepted learnings", "{:,}".format(learnt)),
        ("records given to the model", "{:,}".format(given)),
        (
            "of these, used in the answer",
            "%.0f %%" % (100 * sum(used.values()) / given) if given else "–",
        ),
        (
            "tokens in a typical session",
            "{:,.0f}".format(statistics.median(tokens)) if tokens else "–",
        ),
    ]


def _chart_times(over: Periods, given: Sequence[GivenRecords], offset: clock.Offset) -> Chart:
    counts = [0] * len(over.starts)
    for one in given:
        counts[over.at(one.began)] += one.times
    return make_chart("Times the model was given something", ("times",), over, [counts], offset)


def _chart_used(
    over: Periods,
    given: Sequence[GivenRecords],
    uses: set[tuple[str, str, str]],
    offset: clock.Offset,
) -> Chart:
    counts, used = [0] * len(over.starts), [0] * len(over.starts)
    for one in given:
        short, at = ledger.hash_id(one.session), over.at(one.began)
        counts[at] += len(one.items)
        used[at] += sum((short, prompt, id) in uses for prompt, id in one.items)
    title = "Records given to the model, and used in its answer"
    return make_chart(title, ("given", "used"), over, [counts, used], offset)


def _chart_tokens(over: Periods, given: Sequence[GivenRecords], offset: clock.Offset) -> Chart:
    groups: dict[int, list[int]] = {}
    for one in given:
        if one.tokens:
            groups.setdefault(over.at(one.began), []).append(one.tokens)
    values = [
        round(statistics.median(groups[number])) if number in groups else 0
        for number in range(len(over.starts))
    ]
    return make_chart("Tokens given in a typical session", ("tokens",), over, [values], offset)


def _count_topics(over: Periods, cards: Sequence[Card], offset: clock.Offset) -> list[Topic]:
    counts: dict[str, Counter[int]] = {}
    for card in cards:
        if card.kind not in DATED_KINDS:
            for label in card.labels:
                counts.setdefault(label, Counter())[over.at(card.created)] += 1
    totals = sorted(((sum(c.values()), name) for name, c in counts.items()), reverse=True)
    most = max((max(counts[name].values()) for _, name in totals[:TOPICS]), default=1)
    return [
        Topic(
            name,
            total,
            [
                (over.label(n, offset), counts[name][n], round((counts[name][n] / most) ** 0.6, 2))
                for n in range(len(over.starts))
            ],
        )
        for total, name in totals[:TOPICS]
    ]
