"""What recall asks of an index, whichever holds it: the files beside the store (Local), or an
organisation's PostgreSQL.

A backend brings candidates; it decides nothing.  Recall takes its second look at the text of each,
ranks, and shows: what stands on this machine is read from its file at that moment, and of a record
that is not here the database's row is what there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from memory.core import DayleafError, StoreError
from memory.core.config import Config
from memory.core.layout import Place
from memory.doors import registry
from memory.hook import indexview, loader, segment
from memory.hook.segment import Doc

BACKENDS = ("local", "postgres")


NO_DATABASE = (
    "index.backend is postgres, but no database is set up yet, so only the files are searched; "
    "`dayleaf index --backend postgres` sets one up, `--backend local` switches it off"
)


class Unreachable(StoreError):
    """The database did not answer in time.

    Recall goes on without it.
    """


def find_dsn(settings: Config, home: str, env: Mapping[str, str]) -> str:
    """Return the connection string of recall's database, or ""."""
    if settings["index.backend"] != "postgres":
        return ""
    found: str = registry.offer("postgres", "dsn")(settings, home, env)
    return found


def read_state(place: Place, settings: Config, env: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the state of recall's database, None where no database is chosen."""
    if settings["index.backend"] != "postgres":
        return None
    try:
        found: dict[str, Any] | None = registry.offer("postgres", "state")(place, settings, env)
    except DayleafError as fault:
        return {"state": "unreachable", "problem": str(fault)}
    return found


PASSWORD_ADVICE = (
    "holds a password; put the connection string into ~/.dayleaf/dsn (mode 600) or DAYLEAF_DSN, or "
    "the password into ~/.pgpass"
)


def has_password(dsn: str) -> bool:
    """Tell whether a connection string of either form holds a password."""
    if "password" in dsn.lower():
        return True
    return "://" in dsn and "@" in dsn and ":" in dsn.partition("://")[2].rpartition("@")[0]


class Sieve(NamedTuple):
    """The filters of a search that an index applies itself.

    kinds: any of them. since, until: what a record tells of, from `since` on and before `until`
        (seconds since the epoch, None for open); a longer session may end shortly before.
    """

    kinds: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None


class Backend(Protocol):
    """An index opened for queries.

    Documents go by numbers, terms are the tokeniser's.
    """

    @property
    def documents(self) -> int: ...

    def lengths(self) -> tuple[int, float]:
        """Return (number of documents, number of terms in all of them)."""

    def expect(self, terms: Sequence[str]) -> None:
        """Announce the terms of later `df` calls, to be counted together."""

    def df(self, term: str) -> int:
        """Return a term's document frequency."""

    def vocabulary(self, start: str, longest: int) -> list[str]:
        """Return the terms that begin with `start`.

        A few may be noise of frequency 0. longest: longer terms may be left out.
        """

    def search(
        self, terms: Sequence[tuple[str, float]], limit: int, cap: int, sieve: Sieve
    ) -> list[int]:
        """Return the numbers of the best documents for weighed terms.

        Best first, ties by number. limit: how many, before the sieve. cap: postings that may be
        read; an index may have a bound of its own.
        """

    def newest(self, sieve: Sieve) -> list[int]:
        """Return the first documents of the records that pass, newest first."""

    def kind(self, number: int) -> int:
        """Return a document's kind as its position in segment.KINDS."""

    def doc(self, number: int) -> Doc:
        """Return a document; raises IndexFault where there is none."""

    def holding(self, term: str) -> list[int]:
        """Return the numbers of the documents that hold a rare term."""


class LocalBackend:
    """The index of one place: its segment and its delta."""

    def __init__(self, view: indexview.Index):
        self.view = view
        self._vocabulary: dict[str, list[str]] = {}
        self._facts: list[tuple[int, int, int]] = []
        self.df, self.doc, self.holding = view.df, view.doc, view.holding

    @property
    def documents(self) -> int:
        return self.view.documents

    def lengths(self) -> tuple[int, float]:
        base = self.view.segment
        return (base.docs, base.mean * base.docs) if base else (0, 0.0)

    def expect(self, terms: Sequence[str]) -> None:
        """Do nothing; a look-up of a term costs microseconds here."""

    def vocabulary(self, start: str, longest: int) -> list[str]:
        found = self._vocabulary.get(start)
        if found is None:
            base = self.view.segment
            found = self._vocabulary[start] = base.vocabulary(start) if base else []
        return found + self.view.delta.vocabulary(start)

    def search(
        self, terms: Sequence[tuple[str, float]], limit: int, cap: int, sieve: Sieve
    ) -> list[int]:
        return self._filter(
            [number for _, number in loader.search(self.view, terms, limit, cap=cap)], sieve
        )

    def newest(self, sieve: Sieve) -> list[int]:
        facts = self.facts()
        firsts = [number for number, (_, _, ordinal) in enumerate(facts) if ordinal == 0]
        firsts.sort(key=lambda number: (-facts[number][1], number))
        return self._filter(firsts, sieve)

    def facts(self) -> list[tuple[int, int, int]]:
        """Return (flags, created, ordinal) of every document by number.

        The ordinal of a gone document is -1.
        """
        if not self._facts:
            base, gone = self.view.segment, self.view.delta.gone
            if base is not None:
                rows = base.rows()
                if len(rows) != segment.ROW.size * base.docs:
                    raise segment.damaged("truncated rows")
                self._facts = [
                    (row[4], row[5], -1 if n in gone else row[-1])
                    for n, row in enumerate(segment.ROW.iter_unpack(rows))
                ]
            self._facts += [(d.flags, d.created, d.ordinal) for d in self.view.delta.docs]
        return self._facts

    def _filter(self, numbers: list[int], sieve: Sieve) -> list[int]:
        """Return the numbers of the documents that a sieve lets pass."""
        if sieve == Sieve():
            return numbers
        facts, kinds = self.facts(), {segment.KINDS.index(kind) for kind in sieve.kinds}
        low = -1.0 if sieve.since is None else sieve.since - 1.0  # rows hold whole seconds
        high = float("inf") if sieve.until is None else sieve.until
        kept = []
        for number in numbers:
            flags, created, _ = facts[number]
            span = segment.SPANS[flags >> segment.SPAN]
            is_of_kind = not kinds or flags & segment.KIND_BITS in kinds
            if is_of_kind and low - span <= created < high + span:
                kept.append(number)
        return kept

    def kind(self, number: int) -> int:
        return self.facts()[number][0] & segment.KIND_BITS
