"""The schema of the PostgreSQL index."""

from __future__ import annotations

import threading

import pytest
from harness.database import connected

from memory.core import StoreError
from memory.doors.postgres import migrations


def test_two_machines_set_a_database_up_once(empty):
    """Both ask for it at the same instant; one of them does it, and a third call does nothing."""
    ran = []
    jobs = [
        threading.Thread(target=lambda: ran.append(connected(empty, migrations.migrate)))
        for _ in range(2)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert sum(ran) == migrations.NEWEST
    assert connected(empty, migrations.migrate) == 0
    assert connected(empty, migrations.read_version) == migrations.NEWEST


def test_a_newer_schema_is_left_alone(empty):
    """An older dayleaf says what to do, and changes nothing."""
    connected(empty, migrations.migrate)
    connected(empty, lambda c: c.execute("INSERT INTO dayleaf.migration (number) VALUES (99)"))
    with pytest.raises(StoreError, match=r"newer dayleaf \(schema 99.*update dayleaf"):
        connected(empty, migrations.migrate)


def test_a_migration_that_fails_leaves_nothing_behind(empty, monkeypatch):
    """Half a schema would be of no version."""
    monkeypatch.setattr(
        migrations,
        "MIGRATIONS",
        (lambda: ["CREATE TABLE dayleaf.half (id int)", "SELECT nonsense"],),
    )
    with pytest.raises(Exception, match="nonsense"):
        connected(empty, migrations.migrate)
    assert connected(
        empty, lambda c: c.execute("SELECT to_regclass('dayleaf.half')").fetchone()
    ) == (None,)
    assert connected(empty, migrations.read_version) == 0


CATALOG = """
    SELECT 'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod) || \
a.attnotnull::text || a.attstorage::text
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = \
'dayleaf'::regnamespace AND c.relkind IN ('r', 'p')
        AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'dayleaf'
    UNION ALL SELECT 'policy', tablename || policyname, qual FROM pg_policies WHERE schemaname = \
'dayleaf'
    UNION ALL SELECT 'function', p.oid::regprocedure::text, pg_get_functiondef(p.oid) || \
coalesce(p.proacl::text, '')
    FROM pg_proc p WHERE p.pronamespace = 'dayleaf'::regnamespace
    UNION ALL SELECT 'table', relname, relrowsecurity::text FROM pg_class WHERE relnamespace = \
'dayleaf'::regnamespace
    ORDER BY 1, 2, 3"""


@pytest.mark.parametrize("number", range(1, migrations.NEWEST))
def test_an_earlier_schema_becomes_the_newest_one(empty, dsn, number, monkeypatch):
    """With all that it held and whom it admitted; what comes out is what a fresh database gets."""
    role = "early" + empty.rpartition("=")[2]

    def early(connection):
        with monkeypatch.context() as patch:
            patch.setattr(migrations, "NEWEST", number)
            migrations.migrate(connection)
        connection.execute(
            "INSERT INTO dayleaf.workspace (key, tokeniser) VALUES ('api-00000001', 1)"
        )
        connection.execute(
            "INSERT INTO dayleaf.record (workspace, name, known, kind, created, session, branch, "
            "tags, checksum, commit, mtime, terms, data) VALUES (1, 's/learnings/a.md', 'l-a', 1, "
            "1, '', '', '{}', 'aa', '', 1, 1, 'A broker.')"
        )
        connection.execute("CREATE ROLE %s LOGIN" % role)
        connection.execute("SELECT dayleaf.admit(%s, 'all')", (role,))

    connected(empty, early)
    assert connected(empty, migrations.migrate) == migrations.NEWEST - number
    assert connected(empty, lambda c: c.execute(CATALOG).fetchall()) == connected(
        dsn, lambda c: c.execute(CATALOG).fetchall()
    )
    admitted = empty.replace("user=dayleaf", "user=" + role)
    for table in ("record", "document", "term", "chunk"):
        connected(admitted, lambda c, t=table: c.execute("SELECT count(*) FROM dayleaf." + t))
    assert connected(
        admitted, lambda c: c.execute("SELECT known FROM dayleaf.record").fetchall()
    ) == [("l-a",)]


@pytest.mark.parametrize(("found", "said"), [(0, "holds no dayleaf index"), (99, "newer dayleaf")])
def test_another_schema_is_named_with_its_remedy(found, said):
    """Whoever only reads changes none."""
    with pytest.raises(StoreError, match=said):
        migrations.require_newest(found)
