"""What recall asks of vectors: the door's, and none where the door is not there."""

from __future__ import annotations

from harness.asking import ids
from harness.vault import settings

from memory.core import clock
from memory.doors import registry
from memory.recall import search, semantic


def test_without_the_door_words_rank_and_a_note_says_so(store, now, monkeypatch):
    monkeypatch.delitem(registry.DOORS, "vectors")
    mine = settings()
    assert semantic.load_provider(mine, "", {}) is None
    query = search.Query(text="docker caching", semantic=True)
    found = search.recall(store, mine, query, now, clock.utc, semantic=None)
    assert [hit.id for hit in found.hits] == ids(store, now, "docker caching")
    assert "no semantic search here; ranked by words only" in found.notes


def test_the_door_gives_what_the_protocol_names():
    made: semantic.Semantic | None = semantic.load_provider(settings(recall_semantic=True), "", {})
    assert made.is_wanted(None) and not made.is_wanted(False) and made.label == ""
    assert made.floor > 0.0
