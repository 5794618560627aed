"""Two records with one id: the user's own counts."""

from __future__ import annotations

from harness import vault

from memory.hook import indexview
from memory.index import builder


def test_a_repository_cannot_squat_on_the_id_of_an_own_note(place, now, ok):
    """Neither before nor after the index is built anew."""
    vault.put(place, "p/learnings/own.md", "Ibex", "own: ibex at 5", id="l-1a2b3c4d")
    builder.build(place, now)
    vault.put(place, "s/learnings/theirs.md", "Ibex", "theirs: ibex at 99", id="l-1a2b3c4d")
    builder.refresh(place, now)
    for _ in range(2):
        found = indexview.open_index(place)
        assert found.by_id("l-1a2b3c4d").name == "p/learnings/own.md"
        found.close()
        assert "ibex at 5" in ok("show", "l-1a2b3c4d")
        builder.build(place, now)


def test_a_repositorys_learning_stands_below_the_users_own(place, now):
    """Whatever its date says."""
    vault.put(place, "p/learnings/own.md", "Own", "own", created="2026-11-01")
    vault.put(place, "s/learnings/theirs.md", "Theirs", "theirs", created="2099-01-01")
    builder.build(place, now)
    vault.put(place, "s/learnings/more.md", "More", "more", created="2098-01-01")
    found = indexview.open_index(place)
    assert [doc.name[0] for doc in found.listed("learnings")] == ["p", "s", "s"]
    found.close()
