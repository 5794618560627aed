"""Recall from a PostgreSQL index: the same answers, and what happens when it fails."""

from __future__ import annotations

import threading
import time

import pytest
from harness.asking import ask, write
from harness.database import WORDS, connected

from memory.core import layout
from memory.doors.postgres import postgres, rows
from memory.index.backend import Sieve, Unreachable
from memory.recall import question


def test_the_database_finds_what_the_local_index_finds(store, stranger, dsn, now):
    """The same records in the same order with the same scores: on another machine from the rows,
    here from the files.
    """
    asked = ["%s %s %s" % (WORDS[i], WORDS[i + 7], WORDS[i + 3]) for i in range(0, 24, 2)]
    asked += ["the_kafka_%d" % i for i in (3, 9)] + [
        "kafak broker",
        "usertoken queue",
        "config timeout",
    ]
    for text in asked:
        here, there = (
            ask(place, now, text, used, workspace=store.key if place is stranger else "")
            for place, used in ((store, ""), (stranger, dsn))
        )
        assert [hit.id for hit in there.hits] == [hit.id for hit in here.hits], text
        assert [round(hit.score, 3) for hit in there.hits] == [
            round(hit.score, 3) for hit in here.hits
        ], text
        both = ask(store, now, text, dsn)
        assert [(hit.id, hit.score) for hit in both.hits] == [
            (hit.id, hit.score) for hit in here.hits
        ]
        assert both.backend == "lexical + postgres"


def test_filters_and_listings_are_answered_too(store, stranger, dsn, now):
    """Kinds and times in the database, tags and versions from the text."""
    write(
        store,
        "s/rules/r.md",
        "Restart the broker.",
        id="r-1",
        title="Broker",
        rationale="leak",
        tags="[ops]",
        created="2026-11-20",
    )
    rows.set_up_and_load(dsn, store, "s")
    found = lambda text="", **more: [  # noqa: E731
        hit.id for hit in ask(stranger, now, text, dsn, workspace=store.key, **more).hits
    ]
    assert found("broker", kind="rule") == ["r-1"]
    assert found("broker", tag="ops") == ["r-1"]
    assert found(limit=1) == ["r-1"]
    assert found("broker", since="3d") == ["r-1"]
    assert found("broker", kind="plan") == []


def test_a_session_over_several_days_is_found_by_its_later_days(store, stranger, dsn, now):
    """The database knows when it began; the file tells until when it went."""
    for id, until in (("c-long", "2026-11-20T09:00:00Z"), ("c-past", "2026-11-18T09:00:00Z")):
        name = "s/checkpoints/2026-11-17/%s.md" % id
        created = "2026-11-17T20:00:00Z"
        write(store, name, "Quagga broker.", id=id, session=id, created=created, until=until)
    rows.set_up_and_load(dsn, store, "s")
    for text in ("quagga", ""):
        given = {"kind": "checkpoint", "from_": "2026-11-20", "to": "2026-11-20"}
        hits = ask(stranger, now, text, dsn, workspace=store.key, **given).hits
        assert [hit.id for hit in hits] == ["c-long"]


def test_a_word_of_one_record_is_found_over_all_workspaces(store, stranger, dsn, now, tmp_path):
    """What only one knows is what is looked for; its count over all follows the loads."""
    other = layout.Place(
        str(tmp_path / "o"),
        "other-00000001",
        str(tmp_path / "o"),
        str(tmp_path / "o"),
        "",
        str(tmp_path / "o" / ".dayleaf"),
    )
    path = write(other, "s/learnings/x.md", "The zeppelin broker.", id="l-x", title="X")
    rows.set_up_and_load(dsn, other, "s")
    assert [hit.id for hit in ask(stranger, now, "zeppelin", dsn, workspace="all").hits] == ["l-x"]
    path.unlink()
    rows.set_up_and_load(dsn, other, "s")
    assert (
        connected(
            dsn,
            lambda c: c.execute("SELECT df FROM dayleaf.total WHERE term = 'zeppelin'").fetchall(),
        )
        == []
    )


def test_a_role_reads_the_workspaces_it_is_admitted_to(store, dsn, now, tmp_path, server):
    """By table, by search, by counts; `dayleaf.workspaces` narrows further, and never widens."""
    other = layout.Place(
        str(tmp_path / "o"),
        "other-00000001",
        str(tmp_path / "o"),
        str(tmp_path / "o"),
        "",
        str(tmp_path / "o" / ".dayleaf"),
    )
    write(other, "s/learnings/x.md", "The secret zeppelin broker.", id="l-x", title="X")
    rows.set_up_and_load(dsn, other, "s")
    role = "reader" + dsn.rpartition("=")[2]

    def prepare(connection):
        connection.execute("CREATE ROLE %s LOGIN" % role)
        connection.execute("SELECT dayleaf.admit(%s, %s)", (role, store.key))

    connected(dsn, prepare)
    mine = dsn.replace("user=dayleaf", "user=" + role)
    assert list(postgres.open_database(mine).spaces()) == [store.key]
    for table in ("record", "document", "term"):
        assert connected(
            mine,
            lambda c, t=table: c.execute(
                "SELECT count(DISTINCT workspace) FROM dayleaf." + t
            ).fetchone(),
        ) == (1,)
    assert (
        connected(
            mine,
            lambda c: c.execute(
                "SELECT * FROM dayleaf.frequency('{1,2}', '{zeppelin}')"
            ).fetchall(),
        )
        == []
    )
    connected(
        dsn,
        lambda c: c.execute(
            "INSERT INTO dayleaf.chunk (workspace, record, ordinal, dims, scale, code, numbers) "
            "SELECT workspace, id, 0, 2, 1, B'10', '\\x0100' FROM dayleaf.record; UPDATE "
            "dayleaf.workspace SET label = 'm', dims = 2, chunks = 9"
        ),
    )
    near = connected(
        mine,
        lambda c: c.execute(
            "SELECT DISTINCT workspace FROM dayleaf.near('{1,2}', 'm', '[1,0]', "
            "B'10', 9999, 9999, 9)"
        ).fetchall(),
    )
    assert (
        near
        == connected(
            mine, lambda c: c.execute("SELECT DISTINCT workspace FROM dayleaf.chunk").fetchall()
        )
        == [(1,)]
    )
    sought = (
        "SELECT count(*) FROM dayleaf.search('{1,2}', 'zeppelin | broker', '{broker}', '{1}', "
        "'{.1,.2,.3,.4}', '{}', null, null, 99, 99)"
    )
    assert (
        connected(mine, lambda c: c.execute(sought).fetchone()[0])
        == connected(
            dsn,
            lambda c: c.execute(
                "SELECT count(*) FROM dayleaf.document WHERE workspace = 1 AND words @@ 'broker'"
            ).fetchone()[0],
        )
        > 0
    )
    for narrowed in ("'other-00000001'", "'%s,other-00000001'" % store.key):
        seen = connected(
            mine,
            lambda c, n=narrowed: [
                c.execute("SET dayleaf.workspaces = " + n),
                c.execute("SELECT DISTINCT workspace FROM dayleaf.record").fetchall(),
            ][1],
        )
        assert seen == ([] if "," not in narrowed else [(1,)])
    with pytest.raises(Exception, match="permission denied"):
        connected(mine, lambda c: c.execute("DELETE FROM dayleaf.record"))
    with pytest.raises(Exception, match="permission denied"):
        connected(mine, lambda c: c.execute("SELECT dayleaf.admit('%s', 'all')" % role))


def test_a_database_that_goes_away_in_the_middle_leaves_the_files(
    store, dsn, now, server, monkeypatch
):
    """Recall goes on with what is here, and says so on one line."""
    name = dsn.rpartition("=")[2]
    real = postgres.DatabaseIndex.search

    def gone(self, *words):
        connected(
            server + " dbname=postgres",
            lambda c: [
                c.execute("ALTER DATABASE %s ALLOW_CONNECTIONS false" % name),
                c.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                    (name,),
                ),
            ],
        )
        return real(self, *words)

    monkeypatch.setattr(postgres.DatabaseIndex, "search", gone)
    monkeypatch.setattr(postgres, "SECONDS", 1.0)
    found = ask(store, now, "kafka broker", dsn)
    assert found.hits and found.backend == "lexical"
    assert len([note for note in found.notes if "only this machine was searched" in note]) == 1
    postgres._close_all()
    again = ask(store, now, "kafka broker", dsn)
    assert again.hits and again.notes and "only this machine was searched" in again.notes[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("dbname=nowhere", "does not exist"),
        ("host=/nowhere", "No such file"),
        ("user=nobody_known", "does not exist"),
    ],
)
def test_a_wrong_connection_string_is_told_as_what_it_is(place, dsn, now, change, said):
    """And costs no answer."""
    key = change.partition("=")[0]
    wrong = " ".join(change if part.startswith(key) else part for part in dsn.split())
    assert said in ask(place, now, "broker", wrong).notes[0]


def test_more_callers_than_the_queue_holds_are_told(store, dsn, monkeypatch):
    """A connection is lent to one at a time; the next waits, the one after is refused at once."""
    for name, value in (("POOL", 1), ("WAITING", 1), ("SECONDS", 0.5)):
        monkeypatch.setattr(postgres, name, value)
    base, said = postgres.Database(dsn), []
    with base.reading():

        def wait():
            with pytest.raises(Unreachable) as fault, base.reading():
                pass
            said.append(str(fault.value))

        jobs = [threading.Thread(target=wait) for _ in range(2)]
        for job in jobs:
            job.start()
            time.sleep(0.1)
        for job in jobs:
            job.join()
    base.close()
    assert [text.split(" ")[0] for text in said] == ["1", "no"]


def test_a_statement_that_takes_too_long_is_ended(dsn, monkeypatch):
    """The server stops it, and the caller is told."""
    monkeypatch.setattr(postgres, "SECONDS", 0.2)
    base = postgres.Database(dsn)
    with pytest.raises(Unreachable, match="took longer"), base.reading() as connection:
        connection.execute("SELECT pg_sleep(5)")
    base.close()


def test_common_terms_bring_no_more_than_the_cap():
    """A rare term brings all that hold it, a common one its highest tier of few, two common ones
    what holds both.
    """
    counts = {"rare": 40, "often": 300_000, "much": 250_000}
    counts.update({rows.tier_lexeme(term, n): 0 for term in list(counts) for n in range(1, 5)})
    counts.update(
        {rows.tier_lexeme("often", n): v for n, v in zip(range(1, 5), (60_000, 20_000, 4_000, 300))}
    )
    counts.update(
        {rows.tier_lexeme("much", n): v for n, v in zip(range(1, 5), (10_000, 3_000, 900, 0))}
    )
    said = postgres.select_candidates(["often", "rare", "much"], counts, 1_000_000)
    parts = said.split(" | ")
    assert parts[:2] == ["'rare'", rows.quote_lexeme(rows.tier_lexeme("often", 4))]
    assert parts[2].startswith("(") and "much" in parts[2]
    assert (
        postgres.select_candidates(
            ["absent"], dict.fromkeys([rows.tier_lexeme("absent", n) for n in range(5)], 0), 10
        )
        == ""
    )


def test_a_million_look_like_ten_thousand_to_a_search(store, dsn, stranger, now, monkeypatch):
    """With a cap below what a query meets, the best are still among the candidates."""
    monkeypatch.setattr(postgres, "CAP", 20)
    monkeypatch.setattr(postgres, "TIERED", 10)
    found = ask(stranger, now, "the_kafka_3 broker token", dsn, workspace=store.key)
    assert found.hits[0].id == ask(store, now, "the_kafka_3 broker token", "").hits[0].id
    assert Sieve() == question.Query("x").sieve
