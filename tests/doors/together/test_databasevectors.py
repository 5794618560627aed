"""Vectors in a database: loaded by one door, asked by another, ranked as the local ones are."""

from __future__ import annotations

import pytest
from harness import stubs
from harness.asking import settings, write
from harness.database import connected

from memory.core import clock
from memory.doors.postgres import postgres, rows
from memory.doors.vectors import embedder, vectors
from memory.doors.vectors.queryvectors import QueryVectors
from memory.index import builder
from memory.recall import search

MEANINGS = """
same = {"automobile": "car", "physician": "doctor"}
for line in sys.stdin:
    row = json.loads(line)
    answer(row["id"], vector(" ".join(same.get(w, w) for w in row["text"].lower().split())))
"""


@pytest.fixture
def meaning(store, stranger, tmp_path, env, now, dsn):
    """Ask by meaning: meaning(place, text, dsn, label); the records and their vectors are in both
    indexes.
    """
    write(store, "s/learnings/car.md", "The car needs oil.", id="l-car", title="Car")
    write(store, "s/learnings/doctor.md", "A doctor came by.", id="l-doctor", title="Doctor")
    builder.build(store, now)
    made = stubs.provider(tmp_path, MEANINGS)

    def armed(place, label="meanings"):
        found = settings(place)
        found.values.update(
            {
                "embeddings.provider.command": made.command,
                "embeddings.provider.args": list(made.args),
                "embeddings.modelLabel": label,
            }
        )
        return found

    vectors.update(store, embedder.load_provider(armed(store), "", env), env, now)

    def ask(place, text, dsn="", label="meanings"):
        query = search.Query(
            text=text, semantic=True, workspace=store.key if place is stranger else ""
        )
        mine = armed(place, label)
        return search.recall(
            place, mine, query, now, clock.utc, semantic=QueryVectors(mine, "", env), dsn=dsn
        )

    return ask


def test_vectors_of_the_database_rank_as_the_local_ones_do(
    store, stranger, dsn, meaning, monkeypatch
):
    """Compared one by one, by the index of pgvector, and by signs on a server that has none; the
    answer says what ranked.
    """
    asked = ("automobile", "physician broker", "kafka queue leak")
    here = {
        text: [(hit.id, round(hit.score, 3)) for hit in meaning(store, text).hits] for text in asked
    }
    assert here["automobile"][0][0] == "l-car"

    def there(used=dsn):
        postgres._close_all()
        for text in asked:
            found = meaning(stranger, text, used)
            assert [(hit.id, round(hit.score, 3)) for hit in found.hits] == here[text]
            assert found.backend == "lexical + postgres + vectors (meanings)" and not found.notes

    assert rows.set_up_and_load(dsn, store, "s").vectors == 152
    assert rows.set_up_and_load(dsn, store, "s").vectors == 0
    there()
    monkeypatch.setattr(postgres, "EXACT", 0)
    there(dsn + " options='-c enable_seqscan=off'")
    postgres._close_all()
    assert (
        connected(
            dsn,
            lambda c: c.execute(
                "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'chunk_near_64'"
            ).fetchone()[0],
        )
        >= 3
    )
    connected(dsn, lambda c: c.execute("DROP EXTENSION vector CASCADE"))
    there()
    monkeypatch.setattr(rows, "_enable_pgvector", lambda connection, dims: False)
    connected(dsn, lambda c: c.execute("DELETE FROM dayleaf.chunk"))
    assert rows.set_up_and_load(dsn, store, "s").vectors == 152
    there()
    monkeypatch.undo()
    write(store, "s/learnings/car.md", "The bread wants salt.", id="l-car", title="Bread")
    rows.set_up_and_load(dsn, store, "s")
    assert connected(
        dsn, lambda c: c.execute("SELECT count(embedding), count(*) FROM dayleaf.chunk").fetchone()
    ) == (151, 151)


def test_vectors_of_another_model_leave_the_words(store, stranger, dsn, meaning):
    """And a note that says so; the records of this machine are not asked for in the database."""
    rows.set_up_and_load(dsn, store, "s")
    found = meaning(stranger, "kafka broker", dsn, "another")
    assert found.hits and found.backend == "lexical + postgres"
    assert [note for note in found.notes if "the database holds no vectors of another" in note]
    assert "vectors" in meaning(store, "automobile", dsn).backend
    assert all(hit.origin == "" for hit in meaning(store, "automobile", dsn).hits)
