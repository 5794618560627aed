"""Loading records into an organisation's index: their rows and the transactions.

The files stay the truth: a load compares each file's checksum with the table, writes changed
records in transactions of BATCH, and deletes missing ones.  One loader works on a workspace at a
time; it waits until the database has taken a batch, so that a slow server fills no memory.

The vectors beside a workspace's index (vectorfile.py) are loaded too; none is made here.

The lexemes of a document are our own terms (tokeniser.py), so that both indexes find the same.
PostgreSQL ranks by the labels of a lexeme's positions, not by a number; LEVELS encodes a term's
impact in a document (segment.py) as one or two labels.  A term of great impact is there a second
time with the number of its tier behind `\\x06`: for a term of every third document, the search
takes the highest tiers alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

from memory.core import (
    IndexFault,
    StoreError,
    UsageError,
    files,
    frontmatter,
    layout,
    records,
    tokeniser,
)
from memory.core.layout import Place
from memory.core.walk import walk
from memory.doors import registry
from memory.doors.postgres import driver, migrations
from memory.hook import documents, segment
from memory.session import git
from memory.store import redactor

BATCH = 500  # records of a transaction
BATCH_BYTES = 8 << 20
LOCK = 0x646179  # "day", of a workspace's advisory lock
MOST_BYTES = 1 << 20  # of one record
TIERS = (150, 185, 215, 235)  # impacts from which a term has a tier of its own
WEIGHTS = (0.25, 0.4, 0.5, 0.7)  # of the labels D, C, B, A, for ts_rank
HALF, FULL = 1.1, 253.0  # what ts_rank gives (times pi^2 / 6) for the greatest impact
_MARK = "\x06"
_KEY = "\x01\x02\x03\x04\x05"  # first characters of terms for ids and filters


def _compute_levels() -> list[str]:
    """Return the tsvector labels for each impact from 0 to 253."""
    values: dict[float, str] = {}
    labels = list(zip("DCBA", WEIGHTS))
    for label, weight in labels:
        values.setdefault(weight, ":1" + label)
        for second, other in labels:
            # ts_rank divides positions' weights by their squared number, but not the greatest one.
            both = weight + (other / 4 if weight >= other else other)
            values.setdefault(round(both, 6), ":1%s,2%s" % (label, second))
    known = sorted(values)
    return [
        values[min(known, key=lambda v: abs(v - impact * HALF / FULL))].replace("D", "")
        for impact in range(254)
    ]


LEVELS = _compute_levels()


class PreparedRecord(NamedTuple):
    """A record prepared for its rows.

    head: in the order of the columns.  documents: (ordinal, term -> frequency, number of terms).
    """

    head: tuple[Any, ...]
    kind: int
    created: int
    documents: list[tuple[int, dict[str, int], int]]

    @property
    def length(self) -> int:
        return sum(length for _, _, length in self.documents)


class LoadResult(NamedTuple):
    """The result of a load; `left` says what was not loaded, and why."""

    records: int
    added: int
    changed: int
    removed: int
    left: tuple[str, ...]
    vectors: int = 0


def quote_lexeme(lexeme: str) -> str:
    """Return a lexeme quoted for tsvector and tsquery."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def tier_lexeme(term: str, number: int) -> str:
    """Return the lexeme for a term in the given tier of impact.

    0: all documents with the term; len(TIERS): those in which it has the greatest impact.
    """
    return term + _MARK + str(number) if number else term


def list_lexemes(terms: Iterable[str]) -> list[str]:
    """Return the lexemes of terms and of all their tiers."""
    return [tier_lexeme(term, number) for term in terms for number in range(len(TIERS) + 1)]


def prepare_record(name: str, data: bytes, mtime: float, commit: str) -> PreparedRecord:
    """Prepare a record's file for its rows."""
    record = records.from_bytes(name, data, mtime)
    created = max(0, min(int(record.created), 0xFFFFFFFF))
    kind = segment.KINDS.index(record.kind)
    session, branch = (_plain_text(record.meta.get(key)) for key in ("session", "branch"))
    head = (
        name,
        record.id,
        kind,
        created,
        session,
        branch,
        [tag.lower() for tag in record.tags],
        record.checksum,
        commit,
        mtime,
        data,
    )
    found = []
    split = documents.split_documents(record, 0, len(data))
    for doc, counts, length in documents.count_terms(split):
        if not doc.ordinal:
            counts["\x01" + record.id] = 0
            counts.update(dict.fromkeys(documents.list_extra_terms(record), 0))
        found.append((doc.ordinal, counts, length))
    return PreparedRecord(head, kind, created, found)


def _plain_text(value: object) -> str:
    return value.replace("\0", "") if isinstance(value, str) else ""


def build_lexemes(counts: dict[str, int], length: int, mean: float) -> dict[str, str]:
    """Map the lexemes of a document to their labels.

    mean: mean length of the workspace's documents.
    """
    found: dict[str, str] = {}
    for term, tf in counts.items():
        if not term or "\0" in term or len(term) > 400:
            continue
        if not tf:  # an id or a filter
            found[term] = ""
            continue
        impact = segment.quantise_impact(float(tf), length, mean)
        found[term] = LEVELS[impact]
        for number, least in enumerate(TIERS, 1):
            if impact >= least:
                found[term + _MARK + str(number)] = ""
    return found


# ---- one workspace


def set_up_and_load(
    dsn: str, place: Place, tiers: str, progress: Callable[[int, int], None] | None = None
) -> LoadResult:
    """Set a database up if necessary, and load a workspace.

    Raises StoreError, and UsageError for an invalid dsn.
    """
    psycopg = driver.import_psycopg()
    try:
        psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        raise UsageError(
            "not a PostgreSQL connection string; write `host=… dbname=… user=…` or postgresql://…"
        ) from None
    try:
        with psycopg.connect(
            dsn, autocommit=True, connect_timeout=5, application_name="dayleaf"
        ) as connection:
            migrations.migrate(connection)
            return load(connection, place, tiers, git.read_head(place.git).commit, progress)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            "%s; loading needs the role that owns the schema dayleaf, or CREATE on the database"
            % (driver.format_error(error))
        ) from None
    except psycopg.Error as error:
        raise StoreError(driver.format_error(error)) from None


def load(
    connection: Any,
    place: Place,
    tiers: str,
    commit: str,
    progress: Callable[[int, int], None] | None = None,
) -> LoadResult:
    """Bring a workspace's rows up to date with its files.

    connection: psycopg's, in autocommit.  tiers: letters of those to send.  commit: the checked-out
    one.  Raises StoreError where another loader works on the workspace.
    """
    space = _ensure_workspace(connection, place.key)
    lock = (LOCK, space)
    if not connection.execute("SELECT pg_try_advisory_lock(%s, %s)", lock).fetchone()[0]:
        raise StoreError(
            "another process is loading %s into the database; try again when it has finished"
            % place.key
        )
    try:
        statement = "SELECT name, checksum FROM dayleaf.record WHERE workspace = %s"
        known = dict(connection.execute(statement, (space,)).fetchall())
        listed = [found for found in walk(place)[0] if found[0].startswith(tuple(tiers))]
        gone = sorted(set(known).difference(found[0] for found in listed))
        left: list[str] = []
        changed, added = 0, 0
        for batch, done in _group_batches(_read_changed(place, listed, known, commit, left)):
            old = [each.head[0] for each in batch if each.head[0] in known]
            write_batch(connection, space, batch, old)
            changed += len(old)
            added += len(batch) - len(old)
            if progress:
                progress(done, len(listed))
        gone += known.keys() & {line.partition(":")[0] for line in left}
        for start in range(0, len(gone), BATCH):
            write_batch(connection, space, [], gone[start : start + BATCH])
        connection.execute("UPDATE dayleaf.workspace SET loaded = now() WHERE id = %s", (space,))
        if changed or added or gone:
            connection.execute("SELECT dayleaf.recount()")
        sent = _sync_vectors(connection, space, place)
        loaded = len(listed) - len(left)
        return LoadResult(loaded, added, changed, len(gone), tuple(left), sent)
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s, %s)", lock)


def _ensure_workspace(connection: Any, key: str) -> int:
    """Return a workspace's number; delete rows made by another tokeniser."""
    connection.execute(
        "INSERT INTO dayleaf.workspace (key, tokeniser) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (key, tokeniser.VERSION),
    )
    space, version = connection.execute(
        "SELECT id, tokeniser FROM dayleaf.workspace WHERE key = %s", (key,)
    ).fetchone()
    if version != tokeniser.VERSION:
        with connection.transaction():
            for table in ("document", "record", "term"):
                connection.execute("DELETE FROM dayleaf.%s WHERE workspace = %%s" % table, (space,))
            connection.execute(
                "UPDATE dayleaf.workspace SET tokeniser = %s, documents = 0, "
                "length = 0 WHERE id = %s",
                (tokeniser.VERSION, space),
            )
    return int(space)


def _read_changed(
    place: Place, listed: Sequence[Any], known: dict[str, str], commit: str, left: list[str]
) -> Iterator[tuple[PreparedRecord, int]]:
    """Yield (record, files read) for each changed file; add refused ones to `left`."""
    for done, (name, _, mtime_ns, _) in enumerate(listed, 1):
        try:
            data = place.read(name, MOST_BYTES)[0]
        except OSError as error:
            left.append("%s: %s" % (name, (error.strerror or "").lower()))
            continue
        if known.get(name) == files.sha256(data):
            continue
        if frontmatter.is_binary(data):
            left.append("%s: not a text" % name)
        elif redactor.find_secrets(data.decode("utf-8", "replace")):
            left.append(
                "%s: it holds what looks like a secret; `dayleaf store redact` removes it" % name
            )
        else:
            tree = commit if name[0] == layout.SHARED else ""
            yield prepare_record(name, data, mtime_ns / 1e9, tree), done


def _group_batches(
    read: Iterable[tuple[PreparedRecord, int]],
) -> Iterator[tuple[list[PreparedRecord], int]]:
    batch: list[PreparedRecord] = []
    size, done = 0, 0
    for each, done in read:
        batch.append(each)
        size += len(each.head[-1])
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            yield batch, done
            batch, size = [], 0
    if batch:
        yield batch, done


def write_batch(
    connection: Any, space: int, batch: Sequence[PreparedRecord], gone: Sequence[str]
) -> None:
    """Delete and write records' rows in one transaction.

    gone: names to delete, changed records included.
    """
    with connection.transaction():
        row = connection.execute(
            "SELECT documents, length FROM dayleaf.workspace WHERE id = %s FOR UPDATE", (space,)
        ).fetchone()
        if gone:
            _delete_rows(connection, space, list(gone))
        if not batch:
            return
        added = sum(len(each.documents) for each in batch)
        length = sum(each.length for each in batch)
        mean = row[1] / row[0] if row[0] else length / added or 1.0
        next_ids = "SELECT nextval('dayleaf.record_id_seq') FROM generate_series(1, %s)"
        ids = [id for (id,) in connection.execute(next_ids, (len(batch),)).fetchall()]
        with connection.cursor() as cursor:
            with cursor.copy(
                "COPY dayleaf.record (id, workspace, name, known, kind, created, session, branch, "
                "tags, checksum, commit, mtime, data, terms) FROM STDIN"
            ) as copy:
                for number, each in zip(ids, batch):
                    copy.write_row((number, space, *each.head, each.length))
            counts: Counter[str] = Counter()
            with cursor.copy(
                "COPY dayleaf.document (workspace, record, ordinal, kind, "
                "created, words) FROM STDIN"
            ) as copy:
                for number, each in zip(ids, batch):
                    for ordinal, terms, size in each.documents:
                        found = build_lexemes(terms, size, mean)
                        counts.update(term for term in found if term[0] not in _KEY)
                        words = " ".join(quote_lexeme(term) + found[term] for term in found)
                        copy.write_row((space, number, ordinal, each.kind, each.created, words))
        order = sorted(counts)
        connection.execute(
            "INSERT INTO dayleaf.term AS t SELECT %s, * FROM unnest(%s::text[], %s::int[]) "
            "ON CONFLICT (workspace, term) DO UPDATE SET df = t.df + excluded.df",
            (space, order, [counts[term] for term in order]),
        )
        connection.execute(
            "UPDATE dayleaf.workspace SET documents = documents + %s, length = "
            "length + %s WHERE id = %s",
            (added, length, space),
        )


def _delete_rows(connection: Any, space: int, names: list[str]) -> None:
    """Delete records' rows, and take their terms out of the counts."""
    connection.execute(
        """
        WITH old AS (DELETE FROM dayleaf.record WHERE workspace = %(space)s AND name = ANY \
(%(names)s) RETURNING id, terms),
        out AS (DELETE FROM dayleaf.document WHERE workspace = %(space)s AND record IN (SELECT id \
FROM old) RETURNING words),
        held AS (SELECT lexeme, count(*) AS n FROM out, unnest(words) GROUP BY lexeme),
        less AS (UPDATE dayleaf.term t SET df = t.df - n FROM held WHERE t.workspace = %(space)s \
AND t.term = lexeme)
        UPDATE dayleaf.workspace SET documents = documents - (SELECT count(*) FROM out),
            length = length - (SELECT coalesce(sum(terms), 0) FROM old) WHERE id = %(space)s""",
        {"space": space, "names": names},
    )


# ---- vectors

_SIGNS = bytes(b"01"[0 < value < 128] for value in range(256))  # of int8 numbers


def _sync_vectors(connection: Any, space: int, place: Place) -> int:
    """Send a workspace's missing vectors; return their number."""
    sidecar, sent = registry.optional("vectors", "sidecar"), 0
    with connection.transaction():
        if sidecar is not None:
            with suppress(IndexFault), closing(sidecar(place)) as side, connection.transaction():
                if side.is_intact():
                    sent = _send_vectors(connection, space, side)
        connection.execute(
            "UPDATE dayleaf.workspace SET chunks = held FROM (SELECT count(*) AS held FROM "
            "dayleaf.chunk WHERE workspace = %s) c WHERE id = %s AND chunks <> held",
            (space, space),
        )
    return sent


def _send_vectors(connection: Any, space: int, side: Any) -> int:
    """Send a file's vectors that the database lacks; return their number."""
    pgvector = _enable_pgvector(connection, side.dims)
    changed = connection.execute(
        "UPDATE dayleaf.workspace SET label = %s, dims = %s WHERE id = %s AND (label, dims) IS "
        "DISTINCT FROM (%s, %s)",
        (side.label, side.dims, space, side.label, side.dims),
    )
    if changed.rowcount:
        connection.execute("DELETE FROM dayleaf.chunk WHERE workspace = %s", (space,))
    return _copy_vectors(connection, space, side, pgvector)


def _enable_pgvector(connection: Any, dims: int) -> bool:
    """Set pgvector up; return whether the server has it."""
    return bool(connection.execute("SELECT dayleaf.arm(%s)", (dims,)).fetchone()[0])


def _copy_vectors(connection: Any, space: int, side: Any, pgvector: bool) -> int:
    """Copy the vectors of records that have none yet; return their number."""
    waiting = connection.execute(
        "SELECT name, id, checksum FROM dayleaf.record r WHERE workspace = %s AND NOT EXISTS "
        "(SELECT FROM dayleaf.chunk c WHERE c.record = r.id)",
        (space,),
    ).fetchall()
    checksums = {name: head[2].hex() for name, head in side.heads().items()}
    wanted = {
        name.encode("utf-8", "surrogateescape"): id
        for name, id, checksum in waiting
        if checksums.get(name) == checksum[:16]
    }
    sent = 0
    columns = "workspace, record, ordinal, dims, scale, code, numbers" + ", embedding" * pgvector
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY dayleaf.chunk (%s) FROM STDIN" % columns) as copy,
    ):
        for name, ordinal, scale, numbers in side.chunks():
            if name not in wanted:
                continue
            signs = numbers.translate(_SIGNS).decode()
            row = [space, wanted[name], ordinal, side.dims, scale, signs, numbers]
            if pgvector:
                row.append(str(memoryview(numbers).cast("b").tolist()))
            copy.write_row(row)
            sent += 1
    return sent
