"""Queries to an organisation's index in PostgreSQL (tables: migrations.py, their rows: rows.py).

Limits, so that a common term of a million records costs no more than a rare one.  Candidates are
the documents with a rare term; of a term in more than TIERED documents, those of its highest tiers,
and those with two such terms; CAP in all.  No other document is found by a common word; the local
index has the same limit (loader.CAP), in postings.  Recall itself ranks the best candidates, from
their text.

Back-pressure: a process has POOL connections, WAITING callers may queue for SECONDS, and a
statement may take as long; beyond that, `Unreachable` is raised and recall goes on with the local
index.  No hook loads this module.
"""

from __future__ import annotations

import atexit
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from math import ceil
from typing import Any, NamedTuple

from memory.core import IndexFault, tokeniser
from memory.core.clock import DAY
from memory.doors import registry
from memory.doors.postgres import migrations, rows
from memory.doors.postgres.driver import format_error, import_psycopg
from memory.hook import loader, segment
from memory.hook.segment import Doc
from memory.index.backend import Sieve, Unreachable

CAP = 2000  # candidates that are ranked
TIERED = 500  # of them, for one term
PAIRED = 600  # of them, for holding two common terms
ANCHOR = 2000  # documents that hold the rarer term of a pair
LISTED = 200  # newest records
LONGEST = 7 * DAY  # of a session that is found by its later days; recall looks at each file
# vectors compared in full: the nearest by sign, or all where there are no more
LEAST, EXACT = 1600, 10_000
TEXTS = 48  # records whose text is fetched at once
WORDS = 3000  # the most common terms with a prefix, for misspelt words
POOL, WAITING, SECONDS = 4, 32, 3.0
REMEMBERED = 30.0  # seconds for which workspaces, words and their counts are cached
FEW = 40  # terms that are counted with their tiers: those of a query, not of texts
MOST_CACHED, MOST_COUNTS = 100, 20_000  # cached values, and counted terms of one of them
_KNOWN: dict[str, Database] = {}
# a record's first document, and the columns of DocumentRow that all documents share
_RECORD = "SELECT -r.id, r.id, r.workspace, 0, "
_COLUMNS = "r.name, r.known, r.kind, r.created, r.checksum "


class Workspace(NamedTuple):
    """A workspace of the database.

    length: terms in its documents.  label: the model of its vectors.  chunks: number of vectors.
    """

    number: int
    documents: int
    length: int
    label: str = ""
    chunks: int = 0


class StoredFile(NamedTuple):
    """A record's file as the database holds it."""

    workspace: str
    name: str
    data: bytes
    mtime: float
    commit: str


class DocumentRow(NamedTuple):
    """A document found in the database."""

    record: int
    workspace: str
    ordinal: int
    name: str
    known: str
    kind: int
    created: int
    checksum: str


def open_database(dsn: str) -> Database:
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
        self._psycopg = import_psycopg()
        from psycopg_pool import ConnectionPool

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
        self._opened = False
        self._cached: dict[Any, tuple[float, Any]] = {}

    def close(self) -> None:
        self._pool.close(timeout=0.5)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Any]:
        """Lend a connection to a `with` block; raise Unreachable, which hides the dsn."""
        from psycopg_pool import PoolTimeout, TooManyRequests

        try:
            if not self._opened:
                # First outside of the pool, which reports a wrong password as a timeout.
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
            raise Unreachable(format_error(error)) from None

    def cached(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return a value made in the last REMEMBERED seconds, or make it."""
        made, value = self._cached.get(key, (float("-inf"), None))
        if time.monotonic() - made > REMEMBERED:
            if len(self._cached) > MOST_CACHED:
                self._cached.clear()
            value = make()
            self._cached[key] = time.monotonic(), value
        return value

    def spaces(self) -> dict[str, Workspace]:
        """Return the readable workspaces by key.  Raises StoreError."""
        return dict(self.cached("spaces", self._read_spaces))

    def _read_spaces(self) -> dict[str, Workspace]:
        with self.reading() as connection:
            migrations.require_newest(migrations.read_version(connection))
            found = connection.execute(
                "SELECT key, id, documents, length, label, chunks FROM dayleaf.workspace "
                "WHERE tokeniser = %s",
                (tokeniser.VERSION,),
            ).fetchall()
        return {key: Workspace(*more) for key, *more in found}


def _configure(connection: Any) -> None:
    connection.execute("SET statement_timeout = %d" % (1000 * SECONDS))
    connection.execute("SET default_transaction_read_only = on")


class DatabaseIndex:
    """Workspaces of a database, searched as an index on disk is."""

    def __init__(self, base: Database, spaces: dict[str, Workspace], counted: Sequence[str]):
        """Prepare queries to some workspaces.

        spaces: the searched workspaces.  counted: keys of those that count for the rarity of terms;
        those on this machine are counted by its own index.
        """
        self._base, self._spaces = base, spaces
        self._counted = [spaces[key] for key in counted if key in spaces]
        self._beside = [space for key, space in spaces.items() if key not in counted]
        self._keys = {space.number: key for key, space in spaces.items()}
        self._is_whole = len(spaces) == len(base.spaces())
        self._df: dict[str, int] = {}
        self._known: dict[str, int] = {}
        self._rows: dict[int, DocumentRow] = {}
        self._order: list[int] = []
        self._held: dict[int, StoredFile | None] = {}

    @property
    def documents(self) -> int:
        """The number of documents that count for rarity."""
        return self.lengths()[0]

    def lengths(self) -> tuple[int, float]:
        """Return the numbers of documents and terms that count for rarity."""
        terms = sum(space.length for space in self._counted)
        return sum(space.documents for space in self._counted), float(terms)

    def expect(self, terms: Sequence[str]) -> None:
        """Fetch the document frequencies of terms in one request.

        The terms of a query come with their tiers, for `search`.
        """
        missing = [
            term for term in dict.fromkeys(terms) if term not in self._df and "\0" not in term
        ]
        if not missing:
            return
        lexemes = rows.list_lexemes(missing) if len(missing) <= FEW else missing
        self._known.update(self._counts(lexemes, self._beside))
        if self._is_whole:
            every = self._counts(lexemes, None)
            self._df.update((term, max(0, n - self._known[term])) for term, n in every.items())
        else:
            self._df.update(self._counts(lexemes, self._counted))

    def df(self, term: str) -> int:
        if term not in self._df:
            self.expect([term])
        return self._df.get(term, 0)

    def is_known(self, term: str) -> bool:
        """Tell whether the database has a term in a workspace of this machine."""
        self.expect([term])
        return self._known.get(term, 0) > 0

    def _counts(self, terms: Sequence[str], spaces: Sequence[Workspace] | None) -> dict[str, int]:
        """Return the document frequencies of lexemes in `spaces`, or in all (None)."""
        numbers = None if spaces is None else tuple(space.number for space in spaces)
        known: dict[str, int] = self._base.cached(("counts", numbers), dict)
        if len(known) > MOST_COUNTS:
            known.clear()
        missing = [term for term in dict.fromkeys(terms) if term not in known]
        if missing:
            known.update(dict.fromkeys(missing, 0))
        if missing and numbers != ():
            statement = "SELECT term, df FROM dayleaf.frequency(%s, %s)"
            known.update(self._query(statement, (_format_array(numbers), missing)))
        return {term: known[term] for term in terms}

    def vocabulary(self, start: str, longest: int) -> list[str]:
        """Return the terms with a prefix, and cache their frequencies."""
        if not self._counted or not start or "\0" in start:
            return []
        every = self._is_whole and not self._beside
        numbers = None if every else _format_array(space.number for space in self._counted)
        statement = "SELECT term, df FROM dayleaf.vocabulary(%s, %s, %s)"
        found = self._base.cached(
            ("words", numbers, start), lambda: self._query(statement, (numbers, start, WORDS))
        )
        words = {term: df for term, df in found if len(term) <= longest}
        self._df = {**words, **self._df}
        return list(words)

    def search(
        self, terms: Sequence[tuple[str, float]], limit: int, cap: int, sieve: Sieve
    ) -> list[int]:
        """Return the best documents for weighted terms; CAP replaces `cap`."""
        weighted = [(term, weight) for term, weight in terms if term and "\0" not in term]
        lexemes = rows.list_lexemes(term for term, _ in weighted)
        counts = self._counts(lexemes, None if self._is_whole else list(self._spaces.values()))
        total = max(1, sum(space.documents for space in self._spaces.values()))
        wanted = select_candidates([term for term, _ in weighted], counts, total)
        if not wanted:
            return []
        weights = [weight * loader.idf(total, counts[term]) for term, weight in weighted]
        kinds = [segment.KINDS.index(kind) for kind in sieve.kinds]
        low = None if sieve.since is None else sieve.since - LONGEST
        bounds = [None if at is None else ceil(at) for at in (low, sieve.until)]
        found = self._query(
            "SELECT * FROM dayleaf.search(%s, %s, %s, %s::real[], %s::real[], %s::smallint[], "
            "%s::bigint, %s::bigint, %s, %s)",
            (
                None if self._is_whole else _format_array(self._keys),
                wanted,
                [rows.quote_lexeme(term) for term, _ in weighted],
                weights,
                list(rows.WEIGHTS),
                kinds,
                *bounds,
                2 * CAP,
                min(limit, CAP),
            ),
        )
        return self._remember_rows(found)

    def newest(self, sieve: Sieve) -> list[int]:
        """Return the newest records that pass the filters, at most LISTED."""
        kinds = [segment.KINDS.index(kind) for kind in sieve.kinds]
        found = self._query(
            _RECORD
            + _COLUMNS
            + "FROM (SELECT t.id FROM unnest(%s::int[]) s, LATERAL (SELECT id, created FROM "
            "dayleaf.record WHERE workspace = s AND (%s::smallint[] = '{}' OR kind = ANY "
            "(%s::smallint[])) AND created >= %s AND created < %s ORDER BY created DESC, id LIMIT "
            "%s) t ORDER BY t.created DESC, t.id LIMIT %s) best JOIN dayleaf.record r ON r.id = "
            "best.id ORDER BY r.created DESC, r.id",
            (
                _format_array(self._keys),
                kinds,
                kinds,
                ceil(max(0.0, (sieve.since or 0.0) - LONGEST)),
                1 << 40 if sieve.until is None else ceil(sieve.until),
                LISTED,
                LISTED,
            ),
        )
        return self._remember_rows(found)

    def near(self, label: str, vector: Any, limit: int) -> list[tuple[int, float]] | None:
        """Return (number, similarity) of the sections nearest to a vector, best first.

        None where no workspace has vectors of the model.  The database chooses, by pgvector or by
        signs; the similarity is computed as by the local index, from the same int8 numbers.
        """
        import numpy as np

        nearest = registry.offer("vectors", "nearest")
        if not any(space.label == label and space.chunks for space in self._spaces.values()):
            return None
        query = np.asarray(vector, np.float32) / np.float32(np.linalg.norm(vector))
        signs = "".join("01"[value > 0.0] for value in query.tolist())
        found = self._query(
            "SELECT workspace, record, ordinal, scale, numbers FROM dayleaf.near(%s, %s, %s, "
            "%s::bit varying, %s, %s, %s)",
            (_format_array(self._keys), label, str(query.tolist()), signs, 2 * limit, LEAST, EXACT),
        )
        data = b"".join(row[4] for row in found)
        numbers = np.frombuffer(data, np.int8).reshape(len(found), len(query))
        scales = np.array([row[3] for row in found], np.float32)
        products = (numbers.astype(np.float32) @ query) * scales
        similar: list[float] = nearest.rounded(products).tolist()
        best: dict[tuple[int, int, int], float] = {}
        for row, value in zip(found, similar):
            best[row[:3]] = max(value, best.get(row[:3], -2.0))
        order = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]
        documents = self._query(
            "SELECT d.id, r.id, r.workspace, d.ordinal, " + _COLUMNS + "FROM unnest(%s::int[], "
            "%s::bigint[], %s::int[]) AS n(workspace, record, ordinal) JOIN dayleaf.record r ON "
            "r.id = n.record JOIN dayleaf.document d ON d.workspace = n.workspace AND "
            "d.record = n.record AND d.ordinal = n.ordinal",
            [list(column) for column in zip(*(key for key, _ in order))] or [[]] * 3,
        )
        by_key = {(row[2], row[1], row[3]): row for row in documents}
        order = [(key, value) for key, value in order if key in by_key]
        remembered = self._remember_rows([by_key[key] for key, _ in order])
        return list(zip(remembered, (value for _, value in order)))

    def _remember_rows(self, found: Sequence[Any]) -> list[int]:
        for number, record, space, *more in found:
            if space in self._keys:
                self._rows[number] = DocumentRow(record, self._keys[space], *more)
        self._order = [row[0] for row in found if row[0] in self._rows]
        return list(self._order)

    def row(self, number: int) -> DocumentRow:
        if number not in self._rows:
            raise IndexFault("a document that was not found")
        return self._rows[number]

    def kind(self, number: int) -> int:
        return self.row(number).kind

    def doc(self, number: int) -> Doc:
        """Return a document of the last answers; raises IndexFault for another."""
        row = self.row(number)
        checksum = bytes.fromhex(row.checksum[:16])
        head = (row.name, row.known, "", row.kind, row.created)
        return Doc(
            *head, tokens=0, size=0, mtime_ns=0, checksum=checksum, topics=(), ordinal=row.ordinal
        )

    def numbers_of(self, id: str) -> list[int]:
        """Return the numbers of the records with an id."""
        found = self._query(
            _RECORD
            + _COLUMNS
            + "FROM dayleaf.record r WHERE r.known = %s AND r.workspace = ANY (%s::int[]) "
            "ORDER BY r.id LIMIT 9",
            (id.replace("\0", ""), _format_array(self._keys)),
        )
        return self._remember_rows(found)

    def holding(self, term: str) -> list[int]:
        """Return nothing: links are followed among the files of this machine."""
        return []

    def held(self, number: int) -> StoredFile | None:
        """Return the stored file of a document's record, or None.

        The next files of the last answer are fetched in the same request.
        """
        record = self.row(number).record
        if record not in self._held:
            at = self._order.index(number) if number in self._order else 0
            following = (self._rows[other].record for other in self._order[at:])
            wanted = dict.fromkeys(id for id in (record, *following) if id not in self._held)
            for id in islice(wanted, TEXTS):
                self._held[id] = None
            for id, space, *more in self._query(
                "SELECT id, workspace, name, data, mtime, commit FROM dayleaf.record "
                "WHERE id = ANY (%s)",
                (list(wanted)[:TEXTS],),
            ):
                if space in self._keys:
                    self._held[id] = StoredFile(self._keys[space], *more)
        return self._held[record]

    def _query(self, statement: str, values: Sequence[Any]) -> list[Any]:
        with self._base.reading() as connection:
            return list(connection.cursor(binary=True).execute(statement, values).fetchall())


def _format_array(numbers: Iterable[int] | None) -> str | None:
    return None if numbers is None else "{%s}" % ",".join(map(str, numbers))


def select_candidates(terms: Sequence[str], counts: dict[str, int], total: int) -> str:
    """Build the text search for a query's candidates, "" for none.

    counts: document frequency of each term and of its tiers.  total: documents.
    """
    parts: list[str] = []
    common: list[str] = []
    left = CAP
    for term in sorted(filter(counts.get, terms), key=lambda term: (counts[term], term)):
        lexemes = [term]
        if counts[term] > TIERED:
            common.append(term)
            lexemes = rows.list_lexemes([term])[1:]
        for lexeme in lexemes:
            if 0 < counts[lexeme] <= min(left, TIERED):
                parts.append(rows.quote_lexeme(lexeme))
                left -= counts[lexeme]
                break
    parts += _pair_common(common, counts, total, min(left, PAIRED))
    if not parts and common:
        tiers = rows.list_lexemes([common[0]])
        parts.append(rows.quote_lexeme([tier for tier in tiers if counts[tier]][-1]))
    return " | ".join(parts)


def _pair_common(common: Sequence[str], counts: dict[str, int], total: int, left: int) -> list[str]:
    """Return text searches for pairs of common terms, rarest pairs first.

    One term of a pair is an anchor: rare enough for the text index to read all its documents.
    Without anchors, tiers of the rarest terms are paired.  left: the most documents expected.
    """
    anchors = [term for term in common if counts[term] <= ANCHOR]
    found = [
        (counts[first] * counts[second] / total, first, second)
        for first, second in combinations(common, 2)
        if first in anchors
    ]
    if not anchors:
        for pair in combinations(common[:4], 2):
            for a, b in zip(*(rows.list_lexemes([term]) for term in pair)):
                expected = counts[a] * counts[b] / total
                if 0 < expected <= min(left, TIERED):
                    found.append((expected, a, b))
                    break
    searches = []
    for expected, a, b in sorted(found):
        left -= ceil(expected)
        if left < 0:
            break
        searches.append("(%s & %s)" % (rows.quote_lexeme(a), rows.quote_lexeme(b)))
    return searches
