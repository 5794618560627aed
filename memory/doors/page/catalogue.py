"""A short card of each record of a project, and the records given to each session: the data of the
timeline, the lists and the plots.

A card holds the fields that lists filter and count by, no text: pages read that from the files.
Cards are cached in `<cache>/<scope>.page` (kept.py), receipts there under `receipts/<session>`, so
that a later run reads only changed files.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from importlib.util import find_spec
from operator import attrgetter
from typing import Any, NamedTuple

from memory.capture import wishes
from memory.core import IndexFault, StoreError, clock, files, records, tokeniser
from memory.core.config import Config
from memory.core.layout import DATED_KINDS, SHARED, Place
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.core.walk import Listing
from memory.health import figures
from memory.hook import at_prompt, handoffs, receipts
from memory.index.kept import FactCache
from memory.project.sharing import Repository
from memory.store import ledger, redactor
from memory.store.store import Store

FRESH = 1.0  # seconds until files are compared again
# with more files than MANY they are compared after an answer, every LATE seconds
MANY, LATE = 20_000, 30.0
SETTLED = 2_000_000_000  # ns; a younger file may change again without a new time


class Card(NamedTuple):
    """The fields of a record that the lists show.

    until: end of its time.  session, branch, author: "" for none.  again: a checkpoint without
    news.  said: the day of the user's wish, "" for other records.  end: kind as an end of a link.
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
    again: bool
    is_handoff: bool
    said: str
    end: str

    @property
    def key(self) -> str:
        """The card's session, else its own id."""
        return self.session or self.id


class GivenRecords(NamedTuple):
    """The records given to one session.

    times: number of blocks given.  items: (prompt in 8 hex digits, id) of each record.
    """

    session: str
    began: float
    times: int
    tokens: int
    items: Sequence[Sequence[str]]


class Catalogue:
    """The cards of one project."""

    def __init__(self, place: Place, settings: Config, now: Callable[[], float]):
        self._place, self._settings, self._now = place, settings, now
        self._lock = threading.RLock()
        # (size and time of the file, what is known of it) by name
        self._cards: dict[str, tuple[str, Card | None]] = {}
        self._given: dict[str, tuple[str, GivenRecords]] = {}
        self._kept = FactCache(
            place, "page", (sys.modules[__name__], records, redactor), bool(find_spec("yaml"))
        )
        self._compared = float("-inf")
        self._writers: dict[str, str] | None = None
        self._derived: dict[str, tuple[tuple[object, ...], Any]] = {}
        self._changes = 0

    # ---- what there is

    def cards(self) -> list[Card]:
        """Return the cards of all records, one of each id."""
        return list(self.derive("cards", self._drop_duplicates))

    def _drop_duplicates(self) -> list[Card]:
        found: dict[str, Card] = {}
        for name in sorted(self._cards):
            card = self._cards[name][1]
            if card is not None:
                found.setdefault(card.id, card)
        return list(found.values())

    def given(self) -> list[GivenRecords]:
        """Return the records given to each session, oldest session first."""
        order = attrgetter("began", "session")
        return list(
            self.derive("given", lambda: sorted((g for _, g in self._given.values()), key=order))
        )

    def sessions(self) -> dict[str, list[Card]]:
        """Map each session to its checkpoints, conversations and notes."""
        return dict(self.derive("sessions", self._group_by_session))

    def _group_by_session(self) -> dict[str, list[Card]]:
        groups: dict[str, list[Card]] = {}
        for card in self.cards():
            if card.kind in DATED_KINDS:
                groups.setdefault(card.key, []).append(card)
        return groups

    def derive(self, name: str, make: Callable[[], Any], *more: object) -> Any:
        """Return a value made from the cards, cached until they change.

        more: other values that it is made from.
        """
        with self._lock:
            self._refresh_if_due()
            stamp = (self._changes, *more)
            found = self._derived.get(name)
            if found is None or found[0] != stamp:
                found = self._derived[name] = (stamp, make())
            return found[1]

    def find_names(self, words: str) -> set[str]:
        """Look up the names of the records that hold all words."""
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
        """Whether to compare the files after this answer."""
        return len(self._cards) > MANY and self._now() - self._compared > LATE

    def _refresh_if_due(self) -> None:
        if len(self._cards) <= MANY and self._now() - self._compared > FRESH:
            self.refresh()

    def refresh(self) -> None:
        """Compare the cards with the files, and read changed files."""
        with self._lock:
            first, now = not self._changes, self._now()
            store = Store(self._place, self._settings, now)
            listed = [(name, size, mtime) for name, _, mtime, size in Listing(self._place).found]
            self._update(self._cards, listed, partial(self._read_card, store))
            self._update(self._given, self._list_receipts(), self._read_receipts)
            self._compared = now
            if first:
                self._changes += 1
                self.save()

    def save(self) -> None:
        """Write the cache for later runs."""
        with self._lock:
            self._kept.save()

    def _update(
        self,
        known: dict[str, tuple[str, Any]],
        listed: Iterable[tuple[str, int, int]],
        read: Callable[[str, str, bool], Any],
    ) -> None:
        """Read new and changed files, and forget missing ones.

        listed: (name, size, mtime in ns) of the files.  read: called with a file's name, its size
        and time as text, and whether it is older than SETTLED.
        """
        settled, there = int(self._now() * 1e9) - SETTLED, set()
        for name, size, mtime in listed:
            there.add(name)
            stamp = "%d %d" % (size, mtime)
            if name not in known or known[name][0] != stamp:
                known[name] = (stamp, read(name, stamp, mtime < settled))
                self._changes += 1
        for name in known.keys() - there:
            del known[name]
            self._changes += 1

    def _read_card(self, store: Store, name: str, stamp: str, settled: bool) -> Card | None:
        found = self._kept.get(name, stamp, "card")
        if found is not None:
            return Card(name, *found)
        try:
            card = make_card(store.read(name))
        except (StoreError, IndexFault):
            return None
        if settled and not redactor.redact(card.title).found:
            self._kept.put(name, stamp, "card", list(card[1:]))
        return card

    def _list_receipts(self) -> Iterator[tuple[str, int, int]]:
        """Yield (session, size, mtime in ns) of each file of receipts."""
        folder = self._place.receipts_folder
        for entry in files.list_folder(folder):
            if entry.endswith(".jsonl"):
                with suppress(OSError):
                    stat = os.stat(folder + "/" + entry)
                    yield entry[:-6], stat.st_size, stat.st_mtime_ns

    def _read_receipts(self, session: str, stamp: str, settled: bool) -> GivenRecords:
        name = "receipts/" + session
        found = self._kept.get(name, stamp, "given")
        if found is None:
            found = list(count_given(session, receipts.read(self._place.receipts(session)))[1:])
            if settled:
                self._kept.put(name, stamp, "given", found)
        return GivenRecords(session, *found)

    # ---- who

    def author(self, card: Card) -> str:
        """Return a record's author, by its field, git or source."""
        if card.author:
            return card.author
        if card.name[:1] == SHARED:
            return self._find_committer(card.name) or "you"
        if card.kind in DATED_KINDS:
            return "you"
        return {"agent": "the model", "auto": "dayleaf"}.get(card.source, "you")

    def _find_committer(self, name: str) -> str:
        if self._writers is None:
            self._writers = {}
            with suppress(OSError, StoreError):
                repository = Repository(self._place, dict(os.environ))
                me = repository.me()
                self._writers = {
                    path: "you" if address == me else one_line(who, 60)
                    for path, (who, address, _) in repository.authors().items()
                }
        # a name: letter of the tier, path
        path = self._place.shared[len(self._place.root) + 1 :] + name[1:]
        return self._writers.get(path, "")


def make_card(record: Record) -> Card:
    def text(key: str) -> str:
        value = record.meta.get(key)
        return one_line(value, 200) if isinstance(value, str) else ""

    return Card(
        name=record.name,
        id=record.id,
        kind=record.kind,
        title=one_line(record.title, 300),
        created=record.created,
        until=max(record.created, clock.parse(text("until")) or 0.0),
        session=text("session"),
        branch=text("branch"),
        author=text("speaker") or text("author"),
        source=record.source,
        accepted=record.accepted,
        active=record.active,
        labels=list(dict.fromkeys((*record.topics, *record.tags))),
        again=record.kind == "checkpoint" and handoffs.is_repetition(record),
        is_handoff=handoffs.is_handoff(record),
        said=text(wishes.SAID) if record.kind == "rule" else "",
        end=record.end,
    )


def count_given(session: str, rows: Iterable[dict[str, Any]]) -> GivenRecords:
    """Count the records given to a session, from its receipts."""
    began, times, tokens = 0.0, 0, 0
    items: list[list[str]] = []
    for row in rows:
        if row.get("event") not in figures.EVENTS:
            continue
        began = began or clock.parse(str(row.get("t"))) or 0.0
        chosen = receipts.list_chosen(row)
        times += bool(chosen)
        tokens += figures.receipt_tokens(row)
        prompt = ledger.hash_id(str(row.get("prompt") or ""))
        items += [[prompt, str(item[0])] for item in chosen]
    return GivenRecords(session, began, times, tokens, items)


def matches_words(card: Card, words: str, names: set[str]) -> bool:
    """Tell whether a record has all words, in its card or as one of `names`."""
    text = " ".join((card.title, *card.labels)).lower()
    return card.name in names or all(word in text for word in words.lower().split())
