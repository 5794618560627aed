"""What happened, newest first: sessions and records as entries that a reader filters and scrolls
through.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from memory.core import UsageError, clock
from memory.core.layout import DATED, TRUNKS
from memory.doors.page.catalogue import Card, Catalogue, fits

HUES = 8  # colours that tell branches apart; the trunk has the first
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
    """What a reader wants to see.

    kind: one of KINDS.  since, until: days such as `2026-11-21`, both inclusive, or "".
    """

    kind: str = SESSION
    branch: str = ""
    author: str = ""
    words: str = ""
    since: str = ""
    until: str = ""

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves out anything besides kinds."""
        return any(self[1:])


class Entry(NamedTuple):
    """A session, or a record that is none of a session.

    at: when it ended, or was written.
    """

    at: float
    began: float
    key: str
    kind: str
    branch: str
    author: str
    cards: Sequence[Card]

    @property
    def mark(self) -> str:
        """The entry's name in the address of the next page."""
        return "%.3f/%s" % (self.at, self.key)


class Stretch(NamedTuple):
    """A part of the entries.

    older: the mark behind which the next part begins, "" for the last.  total: of all parts.
    """

    entries: Sequence[Entry]
    older: str
    total: int


def entries(catalogue: Catalogue) -> list[Entry]:
    """Return all entries, newest first."""
    return list(catalogue.derived("entries", lambda: _entries(catalogue)))


def _entries(catalogue: Catalogue) -> list[Entry]:
    found = [_session(catalogue, key, cards) for key, cards in catalogue.sessions().items()]
    found += [
        Entry(c.created, c.created, c.id, c.kind, c.branch, catalogue.author(c), (c,))
        for c in catalogue.cards()
        if c.kind not in DATED
    ]
    return sorted(found, key=_order)


def _order(entry: Entry) -> tuple[float, str]:
    return -entry.at, entry.key


def _session(catalogue: Catalogue, key: str, cards: Sequence[Card]) -> Entry:
    newest = telling(cards)
    return Entry(
        max(card.until for card in cards),
        min(card.created for card in cards),
        key,
        SESSION,
        newest.branch,
        catalogue.author(newest),
        cards,
    )


def telling(cards: Sequence[Card]) -> Card:
    """Return the most telling card of a session.

    Its newest checkpoint without repetition, else its newest card.
    """
    every = [card for card in cards if card.kind == "checkpoint"]
    some = [card for card in every if not card.again] or every or cards
    return max(some, key=lambda card: (card.created, card.id))


def _is_wanted(entry: Entry, wanted: Filter) -> bool:
    """Tell whether an entry is of the wanted kind, branch and author."""
    return (
        wanted.kind in (EVERY, entry.kind)
        and (not wanted.branch or entry.branch == wanted.branch)
        and (not wanted.author or entry.author == wanted.author)
    )


def chosen(catalogue: Catalogue, wanted: Filter, offset: float) -> list[Entry]:
    """Return the entries of a filter, newest first.

    offset: seconds of local time ahead of UTC.  Raises UsageError for a malformed day.
    """
    since, until = _day(wanted.since), _day(wanted.until)
    names = catalogue.holding(wanted.words) if wanted.words else set()
    return [
        entry
        for entry in entries(catalogue)
        if _is_wanted(entry, wanted)
        and (since is None or entry.at + offset >= since)
        and (until is None or entry.began + offset < until + clock.DAY)
        and (not wanted.words or any(fits(card, wanted.words, names) for card in entry.cards))
    ]


def _day(said: str) -> float | None:
    if not said:
        return None
    found = clock.parse(said)
    if found is None:
        raise UsageError("'%s' is not a day; write it as 2026-11-21" % said[:40])
    return clock.midnight(found)


def stretch(found: Sequence[Entry], after: str, most: int) -> Stretch:
    """Return the part of some entries that begins behind a mark.  after: "" for the newest."""
    start = 0
    if after:
        said, _, key = after.partition("/")
        try:
            start = bisect_right([_order(entry) for entry in found], (-float(said), key))
        except ValueError:
            raise UsageError("'%s' is not a place in the timeline" % after[:60]) from None
    shown = found[start : start + most]
    more = start + most < len(found)
    return Stretch(shown, shown[-1].mark if more else "", len(found))


class Branch(NamedTuple):
    """A branch with the number of its sessions.

    at: the last one's instant.
    """

    name: str
    sessions: int
    at: float


def branches(catalogue: Catalogue) -> list[Branch]:
    """Return the branches, that of the newest session first."""
    held: dict[str, Branch] = {}
    for entry in entries(catalogue):
        if entry.kind == SESSION and entry.branch:
            known = held.get(entry.branch)
            held[entry.branch] = Branch(
                entry.branch, (known.sessions if known else 0) + 1, known.at if known else entry.at
            )
    return list(held.values())


def hues(catalogue: Catalogue) -> dict[str, int]:
    """Return the colour's number of each branch.

    A branch keeps its colour when others come.
    """
    return dict(catalogue.derived("hues", lambda: _hues(catalogue)))


def _hues(catalogue: Catalogue) -> dict[str, int]:
    begun = sorted((e for e in entries(catalogue) if e.branch), key=lambda e: (e.began, e.key))
    named = dict.fromkeys(entry.branch for entry in begun if entry.branch not in TRUNKS)
    return {**dict.fromkeys(TRUNKS, 0), **{b: 1 + n % (HUES - 1) for n, b in enumerate(named)}}


def authors(catalogue: Catalogue) -> list[str]:
    """Return who wrote something, the busiest first."""
    return [name for name, _ in Counter(e.author for e in entries(catalogue)).most_common()]
