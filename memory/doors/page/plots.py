"""Charts of the memory: counts by day, week or month, as rows for a template."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from memory.core import clock
from memory.core.layout import Place
from memory.doors.page.catalogue import Card, Catalogue, GivenRecords
from memory.doors.page.timeline import list_entries
from memory.hook.context import ALWAYS
from memory.store import ledger

DAYS, WEEKS = 35, 80  # at most, of a chart by days, by weeks; longer ones count by months
MONTHS = 240  # at most; older records count in the first
TOPICS, RECORDS = 10, 8  # drawn, listed


class Periods(NamedTuple):
    """Periods of one length, oldest first.

    unit: `day`, `week` or `month`.  offset: of local time.
    """

    unit: str
    starts: Sequence[float]
    end: float
    offset: clock.Offset

    def at(self, instant: float) -> int:
        """Return the number of an instant's period, 0 for an earlier instant."""
        return max(0, bisect_right(self.starts, instant) - 1)

    def count_by_period(self, instants: Iterable[float]) -> list[int]:
        """Count the instants in each period."""
        counts = Counter(map(self.at, instants))
        return [counts[number] for number in range(len(self.starts))]

    def label(self, number: int) -> str:
        """Return a period's name: `2026-11-16` or `2026-11`."""
        start = self.starts[number]
        day = clock.day(start + self.offset(start))
        return day[:7] if self.unit == "month" else day

    def last_day(self, number: int) -> str:
        """Return the last day of a period."""
        last = (*self.starts, self.end)[number + 1] - 1
        return clock.day(last + self.offset(last))


def make_periods(first: float, now: float, offset: clock.Offset) -> Periods:
    """Return the days, weeks or months from an instant until now."""
    end, first = clock.midnight(now, offset, -1), min(first, now)
    if now - first <= DAYS * clock.DAY:
        # two weeks at least
        day = min(clock.midnight(first, offset), clock.midnight(now, offset, 13))
        return Periods("day", _list_starts(day, end, 1, offset), end, offset)
    if now - first <= WEEKS * 7 * clock.DAY:
        start = clock.midnight(first, offset, clock.weekday(first, offset))
        return Periods("week", _list_starts(start, end, 7, offset), end, offset)
    year, number = clock.year_month(now, offset)
    back = clock.year_month(first, offset)
    months = min(12 * (year - back[0]) + number - back[1], MONTHS - 1)
    starts = [clock.month_start(year, number - ago, offset) for ago in range(months, -1, -1)]
    return Periods("month", starts, end, offset)


def _list_starts(start: float, end: float, step: int, offset: clock.Offset) -> list[float]:
    days = range(0, round((end - start) / clock.DAY), step)
    return [clock.midnight(start, offset, -ahead) for ahead in days]


class Column(NamedTuple):
    """One period of a chart, with a value of each series."""

    label: str
    last_day: str
    values: Sequence[float]


class Chart(NamedTuple):
    """A chart of named series; the first one includes the others."""

    title: str
    names: Sequence[str]
    unit: str
    columns: Sequence[Column]
    top: float
    total: Sequence[float]


def make_chart(
    title: str, periods: Periods, names: Sequence[str], *series: Sequence[float]
) -> Chart:
    """Return a chart of series, each with a value for every period."""
    columns = [
        Column(periods.label(number), periods.last_day(number), values)
        for number, values in enumerate(zip(*series))
    ]
    most = max((max(values) for values in series), default=0)
    return Chart(
        title, names, periods.unit, columns, _round_up(most), [sum(values) for values in series]
    )


def _round_up(most: float) -> float:
    """Return the top of a scale for the greatest value."""
    size = 1.0
    while size * 10 < most:
        size *= 10
    return next((size * step for step in (1, 2, 4, 6, 8, 10) if size * step >= most), most)


class Topic(NamedTuple):
    """A topic over time, in cells of (period, number of entries, shade up to 1)."""

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
    cards, given = catalogue.cards(), [session for session in catalogue.given() if session.began]
    periods = make_periods(min((card.created for card in cards), default=now), now, offset)
    since_given = make_periods(min((g.began for g in given), default=now), now, offset)
    begun = [min(card.created for card in group) for group in catalogue.sessions().values()]
    used = _list_used(given, place)
    uses = Counter(chain.from_iterable(used))
    pushes = Counter(id for session in given for _, id in session.items)
    titles = {card.id: card.title for card in cards}
    most_given = sorted(pushes.items(), key=lambda row: (-row[1], -uses[row[0]], row[0]))[:RECORDS]
    return {
        "empty": not cards and not given,
        "tiles": _make_tiles(len(begun), cards, given, uses.total()),
        "charts": [
            make_chart("Sessions", periods, ("sessions",), periods.count_by_period(begun)),
            *_chart_given(since_given, given, used),
        ],
        "topics": _count_topics(periods, catalogue),
        "kinds": Counter(card.kind for card in cards).most_common(),
        "rows": [Row(id, titles.get(id, id), number, uses[id]) for id, number in most_given],
        "known_ids": titles.keys(),
    }


def _list_used(given: Sequence[GivenRecords], place: Place) -> list[list[str]]:
    """List the ids of the records that each session's answers used."""
    uses = {
        (str(row.get("session") or ""), str(row.get("prompt") or ""), str(row.get("id")))
        for book in ledger.ledgers(place)
        for row in ledger.read_uses(book)
    }
    hashes = [ledger.hash_id(session.session) for session in given]
    return [
        [id for prompt, id in session.items if (hash, prompt, id) in uses]
        for hash, session in zip(hashes, given)
    ]


def _make_tiles(
    sessions: int, cards: Sequence[Card], given: Sequence[GivenRecords], used: int
) -> list[tuple[str, str]]:
    pushed = sum(len(session.items) for session in given)
    learnt = sum(card.kind == "learning" and card.accepted for card in cards)
    tokens = [session.tokens for session in given if session.tokens]
    typical = f"{statistics.median(tokens):,.0f}" if tokens else "–"
    return [
        ("sessions", f"{sessions:,}"),
        ("accepted learnings", f"{learnt:,}"),
        ("records given to the model", f"{pushed:,}"),
        ("of these, used in the answer", "%.0f %%" % (100 * used / pushed) if pushed else "–"),
        ("tokens in a typical session", typical),
    ]


def _chart_given(
    periods: Periods, given: Sequence[GivenRecords], used: Sequence[Sequence[str]]
) -> list[Chart]:
    """Return the charts of what sessions were given.

    used: ids of the records that each session's answers used.
    """
    times, pushed, used_counts = ([0] * len(periods.starts) for _ in range(3))
    tokens: list[list[int]] = [[] for _ in periods.starts]
    for session, ids in zip(given, used):
        at = periods.at(session.began)
        times[at] += session.times
        pushed[at] += len(session.items)
        used_counts[at] += len(ids)
        tokens[at] += [session.tokens] if session.tokens else []
    title = "Records given to the model, and used in its answer"
    medians = [round(statistics.median(counts)) if counts else 0 for counts in tokens]
    return [
        make_chart("Times the model was given something", periods, ("times",), times),
        make_chart(title, periods, ("given", "used"), pushed, used_counts),
        make_chart("Tokens given in a typical session", periods, ("tokens",), medians),
    ]


def _count_topics(periods: Periods, catalogue: Catalogue) -> list[Topic]:
    """Count the sessions and other records of each topic, by period."""
    counts: dict[str, Counter[int]] = {}
    for entry in list_entries(catalogue):
        for label in {label for card in entry.cards for label in card.labels} - {ALWAYS}:
            counts.setdefault(label, Counter())[periods.at(entry.began)] += 1
    totals = sorted(((sum(c.values()), name) for name, c in counts.items()), reverse=True)
    most = max((max(counts[name].values()) for _, name in totals[:TOPICS]), default=1)
    topics = []
    for total, name in totals[:TOPICS]:
        numbers = [counts[name][at] for at in range(len(periods.starts))]
        shades = [round((number / most) ** 0.6, 2) for number in numbers]
        labels = map(periods.label, range(len(numbers)))
        topics.append(Topic(name, total, list(zip(labels, numbers, shades))))
    return topics
