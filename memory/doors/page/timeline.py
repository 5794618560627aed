"""The timeline: sessions and records, newest first, to filter and scroll through."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
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
    """A reader's filter; since, until: days, inclusive, or ""."""

    kind: str = SESSION
    branch: str = ""
    author: str = ""
    words: str = ""
    since: str = ""
    until: str = ""

    @property
    def is_narrow(self) -> bool:
        """Whether it filters by more than kinds."""
        return any(self[1:])


class Entry(NamedTuple):
    """A session, or a record of no session; at: its end."""

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

    older: mark of its last entry, "" on the last page.  total: of all pages.
    """

    entries: Sequence[Entry]
    older: str
    total: int


def list_entries(catalogue: Catalogue) -> list[Entry]:
    """List all entries, newest first."""
    return list(catalogue.derive("entries", lambda: _make_entries(catalogue)))


def _make_entries(catalogue: Catalogue) -> list[Entry]:
    found = [
        _make_session_entry(catalogue, key, cards) for key, cards in catalogue.sessions().items()
    ]
    found += [
        Entry(c.created, c.created, c.id, c.kind, c.branch, catalogue.author(c), (c,))
        for c in catalogue.cards()
        if c.kind not in DATED_KINDS
    ]
    return sorted(found, key=_sort_key)


def _sort_key(entry: Entry) -> tuple[float, str]:
    return -entry.at, entry.key


def _make_session_entry(catalogue: Catalogue, key: str, cards: Sequence[Card]) -> Entry:
    newest = choose_card(cards)
    return Entry(
        max(card.until for card in cards),
        min(card.created for card in cards),
        key,
        SESSION,
        newest.branch,
        catalogue.author(newest),
        cards,
    )


def choose_card(cards: Sequence[Card]) -> Card:
    """Choose a session's newest checkpoint with news, else its newest card."""
    every = [card for card in cards if card.kind == "checkpoint"]
    some = [card for card in every if not card.again] or every or cards
    return max(some, key=lambda card: (card.created, card.id))


def _is_wanted(entry: Entry, wanted: Filter) -> bool:
    return (
        wanted.kind in (EVERY, entry.kind)
        and (not wanted.branch or entry.branch == wanted.branch)
        and (not wanted.author or entry.author == wanted.author)
    )


def filter_entries(catalogue: Catalogue, wanted: Filter, offset: clock.Offset) -> list[Entry]:
    """List the entries that pass a filter, newest first."""
    since, until = _parse_day(wanted.since), _parse_day(wanted.until)
    names = catalogue.find_names(wanted.words) if wanted.words else set()
    return [
        entry
        for entry in list_entries(catalogue)
        if _is_wanted(entry, wanted)
        and (since is None or entry.at + offset(entry.at) >= since)
        and (until is None or entry.began + offset(entry.began) < until + clock.DAY)
        and (
            not wanted.words
            or any(matches_words(card, wanted.words, names) for card in entry.cards)
        )
    ]


def _parse_day(said: str) -> float | None:
    if not said:
        return None
    found = clock.parse(said)
    if found is None:
        raise UsageError("'%s' is not a day; write it as 2026-11-21" % said[:40])
    return clock.midnight(found)


def make_slice(found: Sequence[Entry], after: str, most: int) -> Slice:
    """Return up to `most` entries behind the mark `after`, "" for the newest."""
    start = 0
    if after:
        said, _, key = after.partition("/")
        try:
            start = bisect_right([_sort_key(entry) for entry in found], (-float(said), key))
        except ValueError:
            raise UsageError("'%s' is not a place in the timeline" % after[:60]) from None
    shown = found[start : start + most]
    more = start + most < len(found)
    return Slice(shown, shown[-1].mark if more else "", len(found))


class Branch(NamedTuple):
    """A branch with its number of sessions and last instant."""

    name: str
    sessions: int
    at: float


def list_branches(catalogue: Catalogue) -> list[Branch]:
    """List the branches, that of the newest session first."""
    held: dict[str, Branch] = {}
    for entry in list_entries(catalogue):
        if entry.kind == SESSION and entry.branch:
            known = held.get(entry.branch)
            held[entry.branch] = Branch(
                entry.branch, (known.sessions if known else 0) + 1, known.at if known else entry.at
            )
    return list(held.values())


def assign_hues(catalogue: Catalogue) -> dict[str, int]:
    """Assign a colour's number to each branch, for good."""
    return dict(catalogue.derive("hues", lambda: _assign_hues(catalogue)))


def _assign_hues(catalogue: Catalogue) -> dict[str, int]:
    begun = sorted((e for e in list_entries(catalogue) if e.branch), key=lambda e: (e.began, e.key))
    named = dict.fromkeys(entry.branch for entry in begun if entry.branch not in TRUNKS)
    return {**dict.fromkeys(TRUNKS, 0), **{b: 1 + n % (HUES - 1) for n, b in enumerate(named)}}


def list_authors(catalogue: Catalogue) -> list[str]:
    """List the authors, the busiest first."""
    return [name for name, _ in Counter(e.author for e in list_entries(catalogue)).most_common()]
