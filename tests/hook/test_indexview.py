"""The index as a reader opens it: its own place's, with what changed since."""

from __future__ import annotations

import os

import pytest
from harness import talks, vault
from harness.vault import found

from memory.core import IndexFault, tokeniser
from memory.hook import indexview, loader
from memory.index import builder


@pytest.fixture
def store(place):
    """Five records, in all tiers and of several kinds."""
    return vault.mixed(place)


@pytest.mark.parametrize("change", ["add", "edit", "delete", "rename", "rename-save"])
def test_a_hand_change_is_seen_by_the_very_next_search(store, now, change):
    """Without any refresh: folders and files are compared when the index is opened."""
    builder.build(store, now)
    path = store.path("p/learnings/jwt.md")
    if change == "add":
        vault.put(store, "p/learnings/kafka.md", "Kafka offsets", "Commit offsets after the batch.")
    elif change == "edit":
        vault.put(
            store,
            "p/learnings/jwt.md",
            "Kafka offsets",
            "Now about kafka, a longer text than before.",
        )
    elif change == "delete":
        os.unlink(path)
    elif change == "rename":
        os.rename(path, store.path("p/learnings/renamed.md"))
    else:
        temp = vault.put(
            store, "p/learnings/.tmp.md", "Kafka offsets", "Saved by rename.", id="jwt"
        )
        os.replace(temp, path)
    names = {"add": ["kafka"], "edit": ["jwt"], "rename-save": ["jwt"]}
    if change in names:
        assert found(store, "kafka", now) == names[change]
    elif change == "delete":
        assert found(store, "issuer", now) == ["101500-fix"]
    else:
        opened = indexview.open_index(store)
        hits = [
            opened.doc(n).name
            for _, n in loader.search(opened, tokeniser.query_terms("issuer must match"), 5)
        ]
        assert hits[0] == "p/learnings/renamed.md" and "p/learnings/jwt.md" not in hits


def test_another_place_s_index_is_never_served(store, env, tmp_path, now):
    """The scope in the header is compared."""
    from memory.core import layout

    builder.build(store, now)
    (tmp_path / "other").mkdir()
    other = layout.locate(env, str(tmp_path / "other"))
    os.makedirs(other.cache)
    os.link(indexview.segment_path(store), indexview.segment_path(other))
    with pytest.raises(IndexFault):
        indexview.open_index(other)


def test_without_an_index_the_files_are_read(store):
    """A small index in memory stands in: same answers, nothing written."""
    opened = indexview.build_from_files(store, 50)
    assert (
        opened.doc(loader.search(opened, tokeniser.query_terms("docker cache"), 1)[0][1]).id
        == "cache"
    )
    assert not os.path.exists(store.cache)


def test_topics_count_records_with_and_without_an_index(place, now):
    """However many pieces a long one has."""
    pieces = "\n\n".join("## Part %d\n\n%s" % (n, "long words " * 300) for n in range(3))
    vault.put(place, "p/learnings/big.md", "Big", pieces, tags="[big]")
    counted = [row for row in vault.built(place, now).lists("brief")["topics"] if row[0] == "big"]
    read = indexview.build_from_files(place, 10)
    assert len(read.delta.docs) > 1 and counted == [["big", 1, 1]]
    assert [row for row in read.lists("brief")["topics"] if row[0] == "big"] == counted


def test_a_hook_reads_of_conversations_what_it_asks_for_and_compares_none(place, now):
    """What the log says of them, but not their files and folders."""
    vault.learnings(place, 3)
    builder.build(place, now)
    name = talks.put(place)
    builder.refresh(place, now)
    with open(place.path(name), "a") as file:
        file.write("more")
    for talk, names in ((0, []), (indexview.CONVERSATION_BYTES, [name])):
        opened = indexview.open_index(place, conversation_bytes=talk)
        assert list(opened.delta.names) == names and not opened.stale
        opened.close()


def test_without_an_index_the_newest_day_is_read_first_whenever_its_file_was_written(place):
    """An import writes the newest session first."""
    days = ["2026-11-%02d" % day for day in range(1, 11)]
    for age, day in enumerate(days):
        vault.put(place, "p/checkpoints/%s/100000-work.md" % day, "Work of " + day, "text")
        os.utime(place.path("p/checkpoints/%s/100000-work.md" % day), (1e9 - age, 1e9 - age))
    found = indexview.build_from_files(place, 3)
    assert sorted(name[14:24] for name in found.delta.names) == days[-3:]
