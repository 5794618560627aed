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
    assert sum(ran) == len(migrations.MIGRATIONS)
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


@pytest.mark.parametrize(
    ("found", "said"),
    [(0, "holds no dayleaf index"), (1, "no release made; drop it"), (99, "newer dayleaf")],
)
def test_another_schema_is_named_with_its_remedy(found, said):
    """Whoever only reads changes none."""
    with pytest.raises(StoreError, match=said):
        migrations.require_newest(found)
