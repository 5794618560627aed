"""The tables of an organisation's index in PostgreSQL, made and changed by numbered migrations.

Each runs in a transaction of its own under an advisory lock, so that two machines that set up one
database do it once.  A published migration is never changed: another one is added.  A schema with a
higher number is a newer dayleaf's, and left alone.

    workspace  one row a workspace; documents and length (terms) make N and the mean of BM25
    member     which role may read which workspace; `dayleaf.admit(role, workspace)` adds a row
    record     one row a record: what filters ask, and the file as it was loaded, with its checksum
               and the commit of its tree
    document   one row a section or turn; `words` holds its terms as text search does (rows.py),
               partitioned by workspace
    term       how many documents of a workspace hold a term; `total` the same over all, counted
               anew behind a load
    chunk      one row a vector: its section, its signs as bits, int8 numbers and their scale
               (vectorfile.py), and where there is pgvector the numbers as a `halfvec` too, which
               `dayleaf.arm` adds; a workspace's label names their model

Who reads sees the workspaces that `member` gives its role, and of these only those that
`dayleaf.workspaces` names where that setting is not empty: row-level security on every table, and
the same rule in `dayleaf.search`.  That function runs as the owner, because PostgreSQL applies a
text search before a row's policy only where its operator is leakproof, and `@@` is not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory.core import StoreError

LOCK = 0x6461796C656166  # of pg_advisory_xact_lock: "dayleaf"
PARTITIONS = 16
# tables with row-level security, and their column of workspaces
_SECURED = (
    ("workspace", "id"),
    *((table, "workspace") for table in ("record", "document", "term", "member", "chunk")),
)


def _first_statements() -> list[str]:
    schema = Path(__file__).parent / "schema" / "tables.sql"
    found = [schema.read_text(encoding="utf-8")]
    for n in range(PARTITIONS):
        name = "dayleaf.document_%d" % n
        found += [
            "CREATE TABLE %s PARTITION OF dayleaf.document FOR VALUES WITH (MODULUS %d, REMAINDER "
            "%d) WITH (toast_tuple_target = 8160)" % (name, PARTITIONS, n),
            "CREATE INDEX ON %s USING gin (words)" % name,
            "CREATE INDEX ON %s (workspace)" % name,
            "CREATE INDEX ON %s (record)" % name,
            # the terms of 16 partitions take planning longer to read than they tell
            "ALTER TABLE %s ALTER words SET STORAGE EXTERNAL, ALTER words SET STATISTICS 0" % name,
            "ALTER TABLE %s ENABLE ROW LEVEL SECURITY" % name,
        ]
    for table, column in _SECURED:
        found += [
            "ALTER TABLE dayleaf.%s ENABLE ROW LEVEL SECURITY" % table,
            "CREATE POLICY readers ON dayleaf.%s FOR SELECT USING (%s = ANY ((SELECT "
            "dayleaf.allowed())::int[]))" % (table, column),
        ]
    return [*found, "ALTER TABLE dayleaf.document ALTER words SET STATISTICS 0"]


FIRST = 3  # number of the first migration that was published
MIGRATIONS = (_first_statements,)
NEWEST = FIRST + len(MIGRATIONS) - 1


def read_version(connection: Any) -> int:
    """Return the number of a database's schema, 0 for none."""
    if connection.execute("SELECT to_regclass('dayleaf.migration')").fetchone()[0] is None:
        return 0
    newest = "SELECT coalesce(max(number), 0) FROM dayleaf.migration"
    return int(connection.execute(newest).fetchone()[0])


def require_newest(found: int) -> None:
    """Raise StoreError unless a schema's number is NEWEST."""
    if found > NEWEST:
        raise StoreError(
            "the database was set up by a newer dayleaf (schema %d, this one knows "
            "%d); update dayleaf here" % (found, NEWEST)
        )
    if found == 0:
        raise StoreError(
            "the database holds no dayleaf index; `dayleaf index --backend postgres` makes one"
        )
    if found < FIRST:
        raise StoreError(
            "the database has schema %d, which no release made; drop it (`DROP SCHEMA dayleaf "
            "CASCADE`), then `dayleaf index --backend postgres` makes it anew" % found
        )
    if found < NEWEST:
        raise StoreError(
            "the database has schema %d, this dayleaf needs %d; `dayleaf index --backend postgres` "
            "brings it up to date" % (found, NEWEST)
        )


def migrate(connection: Any) -> int:
    """Bring a database's schema up to date; return the number of migrations.

    connection: psycopg's, in autocommit.  Raises StoreError where the schema is newer.
    """
    ran = 0
    while True:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            found = read_version(connection)
            if found >= NEWEST or 0 < found < FIRST:
                require_newest(found)
                return ran
            connection.execute("CREATE SCHEMA IF NOT EXISTS dayleaf")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS dayleaf.migration ("
                "number int PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())"
            )
            number = max(found + 1, FIRST)
            for statement in MIGRATIONS[number - FIRST]():
                connection.execute(statement)
            connection.execute("INSERT INTO dayleaf.migration (number) VALUES (%s)", (number,))
        ran += 1
