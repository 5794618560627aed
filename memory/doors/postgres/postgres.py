"""Asking an organisation's index in PostgreSQL (tables: migrations.py, what stands in them:
rows.py).

Limits, so that a common term of a million records costs no more than a rare one.  Candidates are
the documents that hold a rare term; of a term that more than TIERED hold, those of its highest
tiers, and those that hold two such terms; CAP in all.  What is none of these is not found, though
it holds a common word of the query: the local index has the same bound (loader.CAP), counted in
postings.  The best of the candidates are ranked by recall itself, from their text.

Back-pressure: POOL connections a process, WAITING callers in their queue for SECONDS, and as long
for a statement; beyond that `Unreachable` says so and recall goes on with the local index.  Nothing
here is loaded by a hook.
"""

from __future__ import annotations

import atexit
import contextlib
import time
from itertools import combinations
from math import ceil
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from memory.core import IndexFault, tokeniser
from memory.doors import registry
from memory.doors.postgres import migrations, rows
from memory.doors.postgres.driver import database_error, driver
from memory.hook import loader, segment
from memory.hook.segment import Doc
from memory.index.backend import Sieve, Unreachable

CAP = 2000  # candidates that are ranked
TIERED = 500  # of them, for one term
PAIRED = 600  # of them, for holding two common terms
ANCHOR = 2000  # documents that hold the rarer term of a pair
LISTED = 200  # newest records, and matches where filters read the text
# vectors compared in full: the nearest by sign, or all where there are no more
LEAST, EXACT = 1600, 10_000
TEXTS = 48  # records whose text is fetched at once
WORDS = 3000  # the most common of one first letter, among which a misspelt word is looked for
POOL, WAITING, SECONDS = 4, 32, 3.0
# seconds for which a process believes the list of workspaces, of words, and their counts
REMEMBERED = 30.0
FEW = 40  # terms that are counted with their tiers: those of a query, not of texts
# sets of workspaces whose counts are believed, and terms of each
MOST_COUNTED, MOST_COUNTS = 50, 20_000
_KNOWN: Dict[str, Database] = {}


class Space(NamedTuple):
    """A workspace of the database.

    length: terms in its documents. label: the model of its vectors. chunks: number of vectors.
    """

    number: int
    documents: int
    length: int
    label: str = ""
    chunks: int = 0


class Held(NamedTuple):
    """A record as a database holds it.

    data, mtime, commit: of its file.
    """

    workspace: str
    name: str
    data: bytes
    mtime: float
    commit: str


class Row(NamedTuple):
    """A document found in the database."""

    record: int
    workspace: str
    ordinal: int
    name: str
    known: str
    kind: int
    created: int
    checksum: str


def database(dsn: str) -> Database:
    """Return the database of a connection string, opened once per process."""
    if dsn not in _KNOWN:
        _KNOWN[dsn] = Database(dsn)
        if len(_KNOWN) == 1:
            atexit.register(_close_all)
    return _KNOWN[dsn]


def _close_all() -> None:
    while _KNOWN:
        _KNOWN.popitem()[1].close()


class Database:
    """A pool of connections to one database, for reading."""

    def __init__(self, dsn: str):
        psycopg = driver()
        from psycopg_pool import ConnectionPool

        self._psycopg = psycopg
        self._pool = ConnectionPool(
            dsn,
            min_size=0,
            max_size=POOL,
            max_waiting=WAITING,
            timeout=SECONDS,
            open=False,
            reconnect_timeout=SECONDS,
            max_idle=60.0,
            configure=_configure,
            kwargs={
                "connect_timeout": ceil(SECONDS),
                "autocommit": True,
                "prepare_threshold": None,
                "application_name": "dayleaf",
            },
        )
        self._opened, self._at = False, 0.0
        self._spaces: Dict[str, Space] = {}
        self.words: Dict[Tuple[Any, ...], Tuple[float, List[Any]]] = {}
        self._counts: Dict[Optional[Tuple[int, ...]], Tuple[float, Dict[str, int]]] = {}

    def close(self) -> None:
        """Close all connections."""
        self._pool.close(timeout=0.5)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Any]:
        """Lend a connection.

        Raises Unreachable with the database's or the pool's message, without the connection string.
        """
        from psycopg_pool import PoolTimeout, TooManyRequests

        try:
            if not self._opened:
                # A first connection outside of the pool: the pool tells of a wrong password only as
                # a timeout.
                self._psycopg.connect(self._pool.conninfo, connect_timeout=ceil(SECONDS)).close()
                self._pool.open()
                self._opened = True
            with self._pool.connection() as connection:
                yield connection
        except TooManyRequests:
            raise Unreachable("%d callers wait for the database already" % WAITING) from None
        except PoolTimeout:
            raise Unreachable("no connection to the database within %d s" % SECONDS) from None
        except self._psycopg.errors.QueryCanceled:
            raise Unreachable("the database took longer than %d s" % SECONDS) from None
        except self._psycopg.Error as error:
            raise Unreachable(database_error(error)) from None

    def counts(self, spaces: Optional[Tuple[int, ...]]) -> Dict[str, int]:
        """Return the cached document frequencies of some workspaces.

        term -> documents; callers add to it. spaces: their numbers, None for all.
        """
        at, known = self._counts.get(spaces, (0.0, {}))
        if not at or len(known) > MOST_COUNTS or time.monotonic() - at > REMEMBERED:
            if len(self._counts) > MOST_COUNTED:
                self._counts.clear()
            at, known = self._counts[spaces] = time.monotonic(), {}
        return known

    def spaces(self, fresh: bool = False) -> Dict[str, Space]:
        """Return the readable workspaces by key.

        Raises Unreachable, and StoreError for another schema.
        """
        if fresh or not self._at or time.monotonic() - self._at > REMEMBERED:
            with self.reading() as connection:
                migrations.check(migrations.version(connection))
                found = connection.execute(
                    "SELECT key, id, documents, length, label, chunks, tokeniser "
                    "FROM dayleaf.workspace"
                ).fetchall()
            self._spaces = {
                key: Space(*more) for key, *more, version in found if version == tokeniser.VERSION
            }
            self._at = time.monotonic()
        return self._spaces


def _configure(connection: Any) -> None:
    connection.execute("SET statement_timeout = %d" % (1000 * SECONDS))
    connection.execute("SET default_transaction_read_only = on")


class Remote:
    """Some workspaces of a database as a Backend for one process."""

    def __init__(self, base: Database, spaces: Dict[str, Space], counted: Sequence[str]):
        """Prepare queries.

        spaces: the searched workspaces. counted: keys of those that count for the rarity of terms;
            an index on this machine counts its own.
        """
        self._base, self._spaces = base, spaces
        self._counted = [spaces[key] for key in counted if key in spaces]
        self._beside = [space for key, space in spaces.items() if key not in counted]
        self._keys = {space.number: key for key, space in spaces.items()}
        self._is_whole = len(spaces) == len(base.spaces())
        self._df: Dict[str, int] = {}
        self._known: Dict[str, int] = {}
        self._rows: Dict[int, Row] = {}
        self._order: List[int] = []
        self._held: Dict[int, Optional[Held]] = {}

    @property
    def documents(self) -> int:
        """The number of documents counted for rarity."""
        return sum(space.documents for space in self._counted)

    def lengths(self) -> Tuple[int, float]:
        """Return the documents and terms counted for rarity."""
        return sum(space.documents for space in self._counted), float(
            sum(space.length for space in self._counted)
        )

    def expect(self, terms: Sequence[str]) -> None:
        """Count some terms in one request.

        A query's own terms come with their tiers, for `search`.
        """
        missing = [
            term for term in dict.fromkeys(terms) if term not in self._df and "\0" not in term
        ]
        if not missing:
            return
        tiered = range(len(rows.TIERS) + 1) if len(missing) <= FEW else (0,)
        lexemes = [rows.tier(term, n) for term in missing for n in tiered]
        self._known.update(self._counts(lexemes, self._beside))
        if self._is_whole:
            self._df.update(
                (term, max(0, n - self._known[term]))
                for term, n in self._counts(lexemes, None).items()
            )
        else:
            self._df.update(self._counts(lexemes, self._counted))

    def df(self, term: str) -> int:
        """Return a term's document frequency."""
        if term not in self._df:
            self.expect([term])
        return self._df.get(term, 0)

    def _numbers(self) -> Optional[str]:
        """Return the workspaces as an array, None for all readable."""
        return None if self._is_whole else _array(self._keys)

    def is_known(self, term: str) -> bool:
        """Tell whether a workspace counted elsewhere holds a term.

        Such a term is not unknown, though no file here has it.
        """
        self.expect([term])
        return self._known.get(term, 0) > 0

    def _counts(self, terms: Sequence[str], spaces: Optional[Sequence[Space]]) -> Dict[str, int]:
        """Return the document frequencies of lexemes."""
        key = None if spaces is None else tuple([space.number for space in spaces])
        known = self._base.counts(key)
        missing = [term for term in dict.fromkeys(terms) if term not in known]
        if missing:
            known.update(dict.fromkeys(missing, 0))
            known.update(
                self._ask("SELECT term, df FROM dayleaf.frequency(%s, %s)", (_array(key), missing))
                if key != ()
                else ()
            )
        return {term: known[term] for term in terms}

    def vocabulary(self, start: str, longest: int) -> List[str]:
        """Return the terms with a prefix, and cache their frequencies."""
        if not self._counted or not start or "\0" in start:
            return []
        key = (start, *(space.number for space in self._counted))
        at, found = self._base.words.get(key, (0.0, []))
        if not found or time.monotonic() - at > REMEMBERED:
            every = self._is_whole and not self._beside
            found = self._ask(
                "SELECT term, df FROM dayleaf.vocabulary(%s, %s, %s)",
                (
                    None if every else _array([space.number for space in self._counted]),
                    start,
                    WORDS,
                ),
            )
            self._base.words[key] = time.monotonic(), found
        words = {term: df for term, df in found if len(term) <= longest}
        self._df = {**words, **self._df}
        return list(words)

    def search(
        self, terms: Sequence[Tuple[str, float]], limit: int, cap: int, sieve: Sieve
    ) -> List[int]:
        """Return the best documents for weighed terms, with its own cap."""
        asked = [(term, weight) for term, weight in terms if term and "\0" not in term]
        lexemes = [rows.tier(term, n) for term, _ in asked for n in range(len(rows.TIERS) + 1)]
        counts = self._counts(lexemes, None if self._is_whole else list(self._spaces.values()))
        total = max(1, sum(space.documents for space in self._spaces.values()))
        wanted = candidates([term for term, _ in asked], counts, total)
        if not wanted:
            return []
        weights = [weight * loader.idf(total, counts[term]) for term, weight in asked]
        kinds = [segment.KINDS.index(kind) for kind in sieve.kinds]
        bounds = [None if at is None else ceil(at) for at in (sieve.since, sieve.until)]
        found = self._ask(
            "SELECT * FROM dayleaf.search(%s, %s, %s, %s::real[], %s::real[], %s::smallint[], "
            "%s::bigint, %s::bigint, %s, %s)",
            (
                self._numbers(),
                wanted,
                [rows.quoted(term) for term, _ in asked],
                weights,
                list(rows.WEIGHTS),
                kinds,
                *bounds,
                2 * CAP,
                min(limit, CAP),
            ),
        )
        return self._take(found)

    def newest(self, sieve: Sieve) -> List[int]:
        """Return the newest records that pass, at most LISTED."""
        kinds = [segment.KINDS.index(kind) for kind in sieve.kinds]
        found = self._ask(
            "SELECT -r.id, r.id, r.workspace, 0, r.name, r.known, r.kind, r.created, r.checksum "
            "FROM (SELECT t.id FROM unnest(%s::int[]) s, LATERAL (SELECT id, created FROM "
            "dayleaf.record WHERE workspace = s AND (%s::smallint[] = '{}' OR kind = ANY "
            "(%s::smallint[])) AND created >= %s AND created < %s ORDER BY created DESC, id LIMIT "
            "%s) t ORDER BY t.created DESC, t.id LIMIT %s) best JOIN dayleaf.record r ON r.id = "
            "best.id ORDER BY r.created DESC, r.id",
            (
                _array(self._keys),
                kinds,
                kinds,
                ceil(sieve.since or 0.0),
                1 << 40 if sieve.until is None else ceil(sieve.until),
                LISTED,
                LISTED,
            ),
        )
        return self._take(found)

    def near(self, label: str, vector: Any, limit: int) -> Optional[List[Tuple[int, float]]]:
        """Return (number, similarity) of the sections nearest to a vector.

        Best first, each once; None where no workspace has vectors of its model. The database
        chooses, by pgvector or by signs; similarity is the local index's, of the same int8 numbers.
        """
        import numpy as np

        nearest = registry.offer("vectors", "nearest")
        if not any(space.label == label and space.chunks for space in self._spaces.values()):
            return None
        query = np.asarray(vector, np.float32) / np.float32(np.linalg.norm(vector))
        signs = "".join("01"[value > 0.0] for value in query.tolist())
        found = self._ask(
            "SELECT workspace, record, ordinal, scale, numbers FROM dayleaf.near(%s, %s, %s, "
            "%s::bit varying, %s, %s, %s)",
            (
                _array(self._keys),
                label,
                str(query.tolist()),
                signs,
                2 * limit,
                LEAST,
                EXACT,
            ),
        )
        numbers = np.frombuffer(b"".join(row[4] for row in found), np.int8).reshape(
            len(found), len(query)
        )
        scales = np.array([row[3] for row in found], np.float32)
        products = (numbers.astype(np.float32) @ query) * scales
        similar: List[float] = nearest.rounded(products).tolist()
        best: Dict[Tuple[int, int, int], float] = {}
        for row, value in zip(found, similar):
            best[row[:3]] = max(value, best.get(row[:3], -2.0))
        order = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]
        held = self._ask(
            "SELECT d.id, r.id, r.workspace, d.ordinal, r.name, r.known, r.kind, r.created, "
            "r.checksum FROM unnest(%s::int[], %s::bigint[], %s::int[]) AS n(workspace, record, "
            "ordinal) JOIN dayleaf.record r ON r.id = n.record JOIN dayleaf.document d ON "
            "d.workspace = n.workspace AND d.record = n.record AND d.ordinal = n.ordinal",
            [list(column) for column in zip(*(key for key, _ in order))] or [[]] * 3,
        )
        by_key = {(row[2], row[1], row[3]): row for row in held}
        order = [(key, value) for key, value in order if key in by_key]
        return list(
            zip(self._take([by_key[key] for key, _ in order]), (value for _, value in order))
        )

    def _take(self, found: Sequence[Any]) -> List[int]:
        for number, record, space, *more in found:
            if space in self._keys:
                self._rows[number] = Row(record, self._keys[space], *more)
        self._order = [row[0] for row in found if row[0] in self._rows]
        return list(self._order)

    def row(self, number: int) -> Row:
        """Return the row of a document that was found."""
        if number not in self._rows:
            raise IndexFault("a document that was not found")
        return self._rows[number]

    def kind(self, number: int) -> int:
        """Return the kind of a document's record."""
        return self.row(number).kind

    def doc(self, number: int) -> Doc:
        """Return a document of the last answers by its number.

        Raises IndexFault for any other number.
        """
        row = self.row(number)
        return Doc(
            row.name,
            row.known,
            "",
            row.kind,
            row.created,
            0,
            0,
            0,
            bytes.fromhex(row.checksum[:16]),
            (),
            row.ordinal,
        )

    def by_id(self, id: str) -> Optional[Doc]:
        """Return the first document of a record by its id."""
        return next(map(self.doc, self.numbers_of(id)), None)

    def numbers_of(self, id: str) -> List[int]:
        """Return the numbers of an id's records, in all searched workspaces."""
        found = self._ask(
            "SELECT -r.id, r.id, r.workspace, 0, r.name, r.known, r.kind, r.created, r.checksum "
            "FROM dayleaf.record r WHERE r.known = %s AND r.workspace = ANY (%s::int[]) "
            "ORDER BY r.id LIMIT 9",
            (id.replace("\0", ""), _array(self._keys)),
        )
        return self._take(found)

    def holding(self, term: str) -> List[int]:
        """Return nothing: links are followed among the files of this machine."""
        return []

    def held(self, number: int) -> Optional[Held]:
        """Return the stored file of a document's record, or None.

        Files of the records that follow it in the last answer are fetched in the same request.
        """
        record = self.row(number).record
        if record not in self._held:
            at = self._order.index(number) if number in self._order else 0
            wanted: Set[int] = {record}
            for other in self._order[at:]:
                if len(wanted) >= TEXTS:
                    break
                if self._rows[other].record not in self._held:
                    wanted.add(self._rows[other].record)
            self._held.update(dict.fromkeys(wanted))
            for id, space, *more in self._ask(
                "SELECT id, workspace, name, data, mtime, commit FROM dayleaf.record "
                "WHERE id = ANY (%s)",
                (sorted(wanted),),
            ):
                self._held[id] = Held(self._keys[space], *more) if space in self._keys else None
        return self._held[record]

    def close(self) -> None:
        """Leave the connections to the pool."""

    def _ask(self, statement: str, values: Sequence[Any]) -> List[Any]:
        with self._base.reading() as connection:
            rows: List[Any] = connection.cursor(binary=True).execute(statement, values).fetchall()
            return rows


def _array(numbers: Optional[Iterable[int]]) -> Optional[str]:
    """Return numbers as a PostgreSQL array."""
    return None if numbers is None else "{%s}" % ",".join(map(str, numbers))


def candidates(terms: Sequence[str], counts: Dict[str, int], total: int) -> str:
    """Return the text search for a query's candidates, or "".

    "" where no document holds a term. terms: of the query. counts: document frequency of each term
    and of each of its tiers. total: documents.
    """
    parts: List[str] = []
    common: List[str] = []
    left = CAP
    for term in sorted(
        (term for term in terms if counts[term]), key=lambda term: (counts[term], term)
    ):
        levels = range(1, len(rows.TIERS) + 1) if counts[term] > TIERED else (0,)
        common += [term] * (counts[term] > TIERED)
        found = next(
            (
                rows.tier(term, n)
                for n in levels
                if 0 < counts[rows.tier(term, n)] <= min(left, TIERED)
            ),
            "",
        )
        if found:
            parts.append(rows.quoted(found))
            left -= counts[found]
    parts += _pairs(common, counts, total, min(left, PAIRED))
    if not parts and common:
        tiers = [rows.tier(common[0], n) for n in range(len(rows.TIERS), -1, -1)]
        parts.append(rows.quoted(next(t for t in tiers if counts[t])))
    return " | ".join(parts)


def _pairs(common: Sequence[str], counts: Dict[str, int], total: int, left: int) -> List[str]:
    """Return text searches for pairs of common terms, rarest pairs first.

    One of the two is an anchor, a term rare enough for the text index to read through; without
    anchors the tiers of the most telling terms are joined instead. left: documents that may be
    expected of them.
    """
    anchors = [term for term in common if counts[term] <= ANCHOR]
    found: List[Tuple[float, str, str]] = []
    found += [
        (counts[first] * counts[second] / total, first, second)
        for first, second in combinations(common, 2)
        if first in anchors
    ]
    if not anchors:
        for first, second in combinations(common[:4], 2):
            tiers = [
                (rows.tier(first, n), rows.tier(second, n)) for n in range(len(rows.TIERS) + 1)
            ]
            expected = [
                (counts[a] * counts[b] / total, a, b) for a, b in tiers if counts[a] and counts[b]
            ]
            found += [row for row in expected if row[0] <= min(left, TIERED)][:1]
    out = []
    for count, a, b in sorted(found):
        left -= ceil(count)
        if left < 0:
            break
        out.append("(%s & %s)" % (rows.quoted(a), rows.quoted(b)))
    return out
