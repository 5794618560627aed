"""The timeline: sessions and records, newest first, to filter and scroll through."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from memory.core import UsageError, clock
from memory.core.layout import DATED_KINDS, TRUNKS
from memory.doors.page.catalogue import Card, Catalogue, matches_words

HUES = 8  # colours of branches; the trunk has the first
SESSION, EVERY = "session", "all"  # kinds of entries beside those of records
KINDS = {
    SESSION: "sessions",
    EVERY: "everything",
    "learning": "learnings",
    "rule": "rules and wishes",
    "plan": "plans",
    "resource": "documents and scripts",
}


class Filter(NamedTuple):
    """What a reader filters entries by, such as the days `since` to `until`."""

    kind: str = SESSION
    branch: str = ""
    author: str = ""
    words: str = ""
    since: str = ""
    until: str = ""

    @property
    def is_narrow(self) -> bool:
        """Whether it filters by more than the kind."""
        return any(self[1:])


class Entry(NamedTuple):
    """A session or a single record; `at` is its end."""

    at: float
    began: float
    key: str
    kind: str
    branch: str
    author: str
    cards: Sequence[Card]

    @property
    def mark(self) -> str:
        """The entry's position, for the address of the next page."""
        return "%.3f/%s" % (self.at, self.key)


class Slice(NamedTuple):
    """A page of the entries.

    older: mark of its last entry, "" on the last page.
    """

    entries: Sequence[Entry]
    older: str


def list_entries(catalogue: Catalogue) -> list[Entry]:
    """List all entries, newest first."""
    return list(catalogue.derive("entries", lambda: _make_entries(catalogue)))


def _make_entries(catalogue: Catalogue) -> list[Entry]:
    found = []
    for key, cards in catalogue.sessions().items():
        newest = choose_card(cards)
        began, at = find_span(cards)
        author = catalogue.author(newest)
        found.append(Entry(at, began, key, SESSION, newest.branch, author, cards))
    found += [
        Entry(c.created, c.created, c.id, c.kind, c.branch, catalogue.author(c), (c,))
        for c in catalogue.cards()
        if c.kind not in DATED_KINDS
    ]
    return sorted(found, key=_sort_key)


def _sort_key(entry: Entry) -> tuple[float, str]:
    return -entry.at, entry.key


def _drop_handoffs(cards: Sequence[Card]) -> Sequence[Card]:
    """Leave out handoffs, which may be days younger, unless all cards are."""
    return [card for card in cards if not card.is_handoff] or cards


def find_span(cards: Sequence[Card]) -> tuple[float, float]:
    """Return when a session began and ended; its handoff is no part."""
    lived = _drop_handoffs(cards)
    return min(card.created for card in lived), max(card.until for card in lived)


def choose_card(cards: Sequence[Card]) -> Card:
    """Choose a session's newest checkpoint with news, else its newest card."""
    cards = _drop_handoffs(cards)
    checkpoints = [card for card in cards if card.kind == "checkpoint"]
    with_news = [card for card in checkpoints if not card.again]
    return max(with_news or checkpoints or cards, key=lambda card: (card.created, card.id))


def filter_entries(catalogue: Catalogue, wanted: Filter, offset: clock.Offset) -> list[Entry]:
    """List the entries that pass a filter, newest first."""
    since, until = _parse_day(wanted.since, -inf), _parse_day(wanted.until, inf)
    names = catalogue.find_names(wanted.words) if wanted.words else set()

    def has_words(entry: Entry) -> bool:
        return any(matches_words(card, wanted.words, names) for card in entry.cards)

    return [
        entry
        for entry in list_entries(catalogue)
        if wanted.kind in (EVERY, entry.kind)
        and wanted.branch in ("", entry.branch)
        and wanted.author in ("", entry.author)
        and entry.at + offset(entry.at) >= since
        and entry.began + offset(entry.began) < until + clock.DAY
        and (not wanted.words or has_words(entry))
    ]


def _parse_day(text: str, otherwise: float) -> float:
    """Return the midnight at which a day begins, `otherwise` for an empty text."""
    if not text:
        return otherwise
    found = clock.parse(text)
    if found is None:
        raise UsageError("'%s' is not a day; write it as 2026-11-21" % text[:40])
    return clock.midnight(found)


def make_slice(found: Sequence[Entry], after: str, most: int) -> Slice:
    """Return up to `most` entries older than the mark `after`, "" for the newest."""
    start = 0
    if after:
        at, _, key = after.partition("/")
        try:
            start = bisect_right([_sort_key(entry) for entry in found], (-float(at), key))
        except ValueError:
            raise UsageError("'%s' is not a place in the timeline" % after[:60]) from None
    shown = found[start : start + most]
    more = start + most < len(found)
    return Slice(shown, shown[-1].mark if more else "")


class Branch(NamedTuple):
    """A branch with its number of sessions and last instant."""

    name: str
    sessions: int
    at: float


def list_branches(catalogue: Catalogue) -> list[Branch]:
    """List the branches, that of the newest session first."""
    found: dict[str, Branch] = {}
    for entry in list_entries(catalogue):
        if entry.kind == SESSION and entry.branch:
            known = found.get(entry.branch, Branch(entry.branch, 0, entry.at))
            found[entry.branch] = known._replace(sessions=known.sessions + 1)
    return list(found.values())


def assign_hues(catalogue: Catalogue) -> dict[str, int]:
    """Map each branch to the number of its colour, which never changes."""
    return dict(catalogue.derive("hues", lambda: _assign_hues(catalogue)))


def _assign_hues(catalogue: Catalogue) -> dict[str, int]:
    begun = sorted((e for e in list_entries(catalogue) if e.branch), key=lambda e: (e.began, e.key))
    named = dict.fromkeys(entry.branch for entry in begun if entry.branch not in TRUNKS)
    return {**dict.fromkeys(TRUNKS, 0), **{b: 1 + n % (HUES - 1) for n, b in enumerate(named)}}


def list_authors(catalogue: Catalogue) -> list[str]:
    """List the authors, the busiest first."""
    return [name for name, _ in Counter(e.author for e in list_entries(catalogue)).most_common()]
