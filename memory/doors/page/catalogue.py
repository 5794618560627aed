"""A short card of every record of a project, and of what each session was given: what the timeline,
the lists and the plots are made of.

Cards hold what a list filters and counts by, and no text: what is shown is read from the files at
that moment.  They are kept between two runs as `<cache>/<scope>.page` (kept.py), so that a later
run reads only the files that changed; receipts stand there under `receipts/<session>`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from importlib.util import find_spec
from operator import attrgetter
from typing import Any, NamedTuple

from memory.capture import wishes
from memory.core import IndexFault, StoreError, clock, files, records, tokeniser
from memory.core.config import Config
from memory.core.layout import DATED, SHARED, Place
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.core.walk import Listing
from memory.health import figures
from memory.hook import at_prompt, handoffs, receipts
from memory.index.kept import Kept
from memory.project.sharing import Repository
from memory.store import ledger, redactor
from memory.store.store import Store

FRESH = 1.0  # seconds for which the files of a project are not looked at again
# files above which they are looked at behind an answer, and not before it, after so many seconds
MANY, LATE = 20_000, 30.0
SETTLED = 2_000_000_000  # ns: a file that changed within them may change again and look the same


class Card(NamedTuple):
    """What a list needs of a record.

    until: the end of what it tells of.  session, branch, author: "" where it names none.  again: it
    is a checkpoint that only repeats.  said: the day on which the user said what it holds, "" for
    what is no wish.  end: what it is to a link, such as `script`.
    """

    name: str
    id: str
    kind: str
    title: str
    created: float
    until: float
    session: str
    branch: str
    author: str
    source: str
    accepted: bool
    active: bool
    labels: Sequence[str]
    tokens: int
    again: bool
    said: str
    end: str

    @property
    def key(self) -> str:
        """The card's session, else its own id."""
        return self.session or self.id


class Given(NamedTuple):
    """The records given to one session.

    began: its first instant.  times, tokens: how often and how much.  items: per record (prompt in
        8
        hex digits, id).
    """

    session: str
    began: float
    times: int
    tokens: int
    items: Sequence[Sequence[str]]


class Catalogue:
    """The cards of one project.

    generation: counts up whenever a look at the files finds something new.
    """

    def __init__(self, place: Place, settings: Config, now: Callable[[], float]):
        """now: gives the present instant."""
        self._place, self._settings, self._now = place, settings, now
        self._lock = threading.RLock()
        self._cards: dict[str, tuple[str, Card | None]] = {}
        self._given: dict[str, tuple[str, Given]] = {}
        self._kept: Kept | None = None
        self._looked = float("-inf")
        self._writers: dict[str, str] | None = None
        self._made: dict[str, tuple[tuple[object, ...], Any]] = {}
        self.generation = 0

    # ---- what there is

    def cards(self) -> list[Card]:
        """Return the cards of all records by name.

        A double id comes once.
        """
        return list(self.derived("cards", self._unique))

    def _unique(self) -> list[Card]:
        found: dict[str, Card] = {}
        for name in sorted(self._cards):
            card = self._cards[name][1]
            if card is not None:
                found.setdefault(card.id, card)
        return list(found.values())

    def given(self) -> list[Given]:
        """Return what each session was given, the oldest first."""
        order = attrgetter("began", "session")
        return list(
            self.derived("given", lambda: sorted((g for _, g in self._given.values()), key=order))
        )

    def sessions(self) -> dict[str, list[Card]]:
        """Return the checkpoints, conversations and notes by session."""
        return dict(self.derived("sessions", self._grouped))

    def _grouped(self) -> dict[str, list[Card]]:
        groups: dict[str, list[Card]] = {}
        for card in self.cards():
            if card.kind in DATED:
                groups.setdefault(card.key, []).append(card)
        return groups

    def names_of(self, session: str) -> list[str]:
        """Return the names of all records of a session."""
        groups: dict[str, list[str]] = self.derived("names", self._named)
        return list(groups.get(session, ()))

    def _named(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for card in self.cards():
            if card.session:
                groups.setdefault(card.session, []).append(card.name)
        return groups

    def derived(self, name: str, make: Callable[[], Any], *more: object) -> Any:
        """Return what is made of the cards, made once for each generation.

        name: of that.  more: what it follows from beside the cards.
        """
        with self._lock:
            self._look()
            stamp = (self.generation, *more)
            found = self._made.get(name)
            if found is None or found[0] != stamp:
                found = self._made[name] = (stamp, make())
            return found[1]

    def holding(self, words: str) -> set[str]:
        """Return the names of the records with all words.

        The index decides.
        """
        sought = [[t for t, _ in tokeniser.expand(raw)] for raw in tokeniser.split(words)[:16]]
        left: set[str] | None = None
        with suppress(IndexFault), closing(at_prompt.open_or_build_index(self._place)) as found:
            for terms in sorted(filter(None, sought), key=lambda terms: sum(map(found.df, terms))):
                names = {found.doc(n).name for term in terms for n in found.holding(term)}
                left = names if left is None else left & names
        return left or set()

    # ---- the files

    @property
    def is_due(self) -> bool:
        """Tell whether to compare the files after this answer."""
        return len(self._cards) > MANY and self._now() - self._looked > LATE

    def _look(self) -> None:
        """Look at the files where the last look is too long ago."""
        first = self._kept is None
        if first or (len(self._cards) <= MANY and self._now() - self._looked > FRESH):
            self.look()

    def look(self) -> None:
        """Compare the cards with the files, and read what changed."""
        with self._lock:
            first = self._kept is None
            if first:
                self._kept = Kept(
                    self._place, "page", (sys.modules[__name__], records), bool(find_spec("yaml"))
                )
            changed = self._look_at_records() + self._look_at_receipts()
            self._looked = self._now()
            if changed or first:
                self.generation += 1
            if first:
                self.save()

    def save(self) -> None:
        """Cache what was read of the files for later runs."""
        with self._lock:
            if self._kept is not None:
                self._kept.save()

    def _look_at_records(self) -> int:
        store = Store(self._place, self._settings, self._now())
        settled, there, changed = int(self._now() * 1e9) - SETTLED, set(), 0
        for name, _, mtime, size in Listing(self._place).found:
            there.add(name)
            stamp = "%d %d" % (size, mtime)
            known = self._cards.get(name)
            if known is None or known[0] != stamp:
                changed += 1
                self._cards[name] = (stamp, self._card(store, name, stamp, mtime < settled))
        gone = self._cards.keys() - there
        for name in gone:
            del self._cards[name]
        return changed + len(gone)

    def _card(self, store: Store, name: str, stamp: str, settled: bool) -> Card | None:
        assert self._kept is not None
        found = self._kept.get(name, stamp, "card")
        if found is not None:
            return Card(name, *found)
        try:
            card = card_of(store.read(name))
        except (StoreError, IndexFault):
            return None
        if settled and not redactor.redact(card.title).found:
            self._kept.put(name, stamp, "card", list(card[1:]))
        return card

    def _look_at_receipts(self) -> int:
        folder, changed, there = self._place.receipts_folder, 0, set()
        settled = int(self._now() * 1e9) - SETTLED
        for entry in files.list_folder(folder):
            if not entry.endswith(".jsonl"):
                continue
            session = entry[:-6]
            with suppress(OSError):
                stat = os.stat(folder + "/" + entry)
                there.add(session)
                stamp = "%d %d" % (stat.st_size, stat.st_mtime_ns)
                known = self._given.get(session)
                if known is None or known[0] != stamp:
                    changed += 1
                    kept = self._receipts(session, stamp, stat.st_mtime_ns < settled)
                    self._given[session] = (stamp, kept)
        gone = self._given.keys() - there
        for session in gone:
            del self._given[session]
        return changed + len(gone)

    def _receipts(self, session: str, stamp: str, settled: bool) -> Given:
        assert self._kept is not None
        name = "receipts/" + session
        found = self._kept.get(name, stamp, "given")
        if found is None:
            found = list(given_of(session, receipts.read(self._place.receipts(session)))[1:])
            if settled:
                self._kept.put(name, stamp, "given", found)
        return Given(session, *found)

    # ---- who

    def author(self, card: Card) -> str:
        """Return a record's author.

        The name in the record, the first committer of a shared one, else the user, the model or
        dayleaf.
        """
        if card.author:
            return card.author
        if card.name[:1] == SHARED:
            return self._writer(card.name) or "you"
        if card.kind in DATED:
            return "you"
        return {"agent": "the model", "auto": "dayleaf"}.get(card.source, "you")

    def _writer(self, name: str) -> str:
        if self._writers is None:
            self._writers = {}
            with suppress(OSError, StoreError):
                asked = Repository(self._place, dict(os.environ))
                me = asked.me()
                self._writers = {
                    path: "you" if address == me else one_line(who, 60)
                    for path, (who, address, _) in asked.authors().items()
                }
        return self._writers.get(
            "%s%s" % (self._place.shared[len(self._place.root) + 1 :], name[1:]), ""
        )


def card_of(record: Record) -> Card:
    """Return the card of a record."""

    def said(key: str) -> str:
        value = record.meta.get(key)
        return one_line(value, 200) if isinstance(value, str) else ""

    return Card(
        record.name,
        record.id,
        record.kind,
        one_line(record.title, 300),
        record.created,
        max(record.created, clock.parse(said("until")) or 0.0),
        said("session"),
        said("branch"),
        said("speaker") or said("author"),
        record.source,
        record.accepted,
        record.active,
        list(dict.fromkeys((*record.topics, *record.tags))),
        record.tokens,
        record.kind == "checkpoint" and handoffs.is_repetition(record),
        said(wishes.SAID) if record.kind == "rule" else "",
        record.end,
    )


def given_of(session: str, rows: Iterable[dict[str, Any]]) -> Given:
    """Return the records given to a session, from its receipts."""
    began, times, tokens = 0.0, 0, 0
    items: list[list[str]] = []
    for row in rows:
        if row.get("event") not in figures.EVENTS:
            continue
        began = began or clock.parse(str(row.get("t"))) or 0.0
        chosen = receipts.chosen(row)
        times += bool(chosen)
        tokens += figures.tokens_of(row)
        prompt = ledger.short(str(row.get("prompt") or ""))
        items += [[prompt, str(item[0])] for item in chosen]
    return Given(session, began, times, tokens, items)


def fits(card: Card, words: str, names: set[str]) -> bool:
    """Tell whether a card matches some words.

    names: of the records with these words in their text.
    """
    text = " ".join((card.title, *card.labels)).lower()
    return card.name in names or all(word in text for word in words.lower().split())
