"""The index: built, searched, refreshed, verified, damaged."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from math import log

import pytest
from harness import talks, vault
from harness.vault import found

from memory.core import IndexFault, tokeniser
from memory.hook import delta, documents, indexview, loader, segment
from memory.index import assembly, builder
from memory.store.store import Store


@pytest.fixture
def store(place):
    """Five records, in all tiers and of several kinds."""
    return vault.mixed(place)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("jwt issuer", "jwt"),
        ("no cache docker", "cache"),
        ("버튼", "korean"),
        ("src/auth/jwt.py", "jwt"),
        ("plain functions", "style"),
    ],
)
def test_a_query_finds_its_record(store, now, words, first):
    """Over all tiers and kinds."""
    builder.build(store, now)
    assert found(store, words, now)[0] in (first, "101500-fix")


def test_scores_are_bm25(place, now):
    """Against the formula, computed here from scratch, within the quantisation of one impact in
    115.
    """
    rnd = random.Random(5)
    bodies = {
        f"d{i}": " ".join(
            rnd.choice("alpha beta gamma delta epsilon zeta".split())
            for _ in range(rnd.randrange(5, 40))
        )
        for i in range(30)
    }
    for name, body in bodies.items():
        vault.put(place, f"p/learnings/{name}.md", "x", body)
    opened = vault.built(place, now)
    counts = {n: tokeniser.index_terms("x " * 3 + b) for n, b in bodies.items()}
    mean = sum(map(len, counts.values())) / len(counts)
    for score, number in loader.search(opened, tokeniser.query_terms("gamma zeta"), 30):
        doc, want = counts[opened.doc(number).id], 0.0
        for term in ("gamma", "zeta"):
            df = sum(term in c for c in counts.values())
            tf = doc.count(term)
            norm = tf + 1.2 * (0.25 + 0.75 * len(doc) / mean)
            want += log(1 + (30 - df + 0.5) / (df + 0.5)) * tf * 2.2 / norm
        assert score == pytest.approx(want, abs=0.03)


def test_verify_is_silent_for_a_fresh_index_and_names_what_differs(store, now):
    """Same input, same bytes; an edit, an addition and a deletion are each named."""
    builder.build(store, now)
    assert builder.verify(store, now + 99) == []
    path = vault.put(store, "p/learnings/jwt.md", "JWT audience", "changed")
    vault.touch(path, now + 50)
    vault.put(store, "p/learnings/new.md", "New", "new")
    os.unlink(store.path("s/rules/style.md"))
    assert {line.partition(":")[0] for line in builder.verify(store, now)} == {
        "changed since it was indexed",
        "not in the index",
        "in the index, but no file",
    }


def test_a_refresh_appends_and_a_search_sees_both(store, now):
    """The delta's frame replaces the segment's document; the segment is not written again."""
    builder.build(store, now)
    before = os.stat(indexview.segment_path(store)).st_mtime_ns
    vault.put(store, "p/learnings/jwt.md", "JWT audience", "The audience claim is a list.")
    assert builder.refresh(store, now, names=["p/learnings/jwt.md"]).changed == 1
    assert os.stat(indexview.segment_path(store)).st_mtime_ns == before
    assert found(store, "audience", now) == ["jwt"]
    assert "jwt" not in found(store, "issuer match", now)


def test_a_full_refresh_finds_every_change_and_merges_when_many(place, now):
    """Added, changed and removed are counted; beyond a twentieth of the records it builds anew."""
    vault.learnings(place, 40)
    builder.build(place, now)
    vault.put(place, "p/learnings/l001.md", "Changed", "changed")
    vault.put(place, "p/learnings/zz.md", "Added", "added")
    os.unlink(place.path("p/learnings/l002.md"))
    first = builder.refresh(place, now)
    assert (first.added, first.changed, first.removed, first.built) == (1, 1, 1, False)
    assert builder.refresh(place, now)[1:4] == (0, 0, 0)
    for i in range(30):
        vault.put(place, f"p/learnings/more{i}.md", "More", f"more {i}")
    assert builder.refresh(place, now).built
    assert builder.verify(place, now) == []


def test_a_same_size_edit_with_its_time_put_back_is_found_near_the_build(place, now):
    """Equal size and mtime prove nothing when the file was young at the build (git's racy
    entries).
    """
    path = vault.put(place, "p/learnings/a.md", "Alpha", "first")
    vault.touch(path, now)
    builder.build(place, now)
    vault.put(place, "p/learnings/a.md", "Alpha", "secnd")
    vault.touch(path, now)
    assert builder.refresh(place, now).changed == 1


def test_random_edits_give_what_a_rebuild_gives(place, now):
    """After any sequence of writes, deletes and refreshes the index ranks as one built from
    nothing.
    """
    rnd = random.Random(11)
    words = "alpha beta gamma delta epsilon zeta eta theta".split()
    vault.learnings(place, 5)
    builder.build(place, now)
    for step in range(60):
        name = f"p/learnings/r{rnd.randrange(8)}.md"
        if rnd.random() < 0.3:
            if os.path.exists(place.path(name)):
                os.unlink(place.path(name))
        else:
            vault.put(
                place, name, rnd.choice(words), " ".join(rnd.choices(words, k=rnd.randrange(3, 20)))
            )
        builder.refresh(place, now, names=[name] if rnd.random() < 0.5 else None)
        opened, data = indexview.open_index(place), assembly.assemble(place, now)[0]
        fresh = indexview.Index(place, segment.Segment("", data), delta.Delta(b""))
        for word in words:
            have = {
                opened.doc(n).id for _, n in loader.search(opened, tokeniser.query_terms(word), 50)
            }
            want = {
                fresh.doc(n).id for _, n in loader.search(fresh, tokeniser.query_terms(word), 50)
            }
            assert have == want, (step, word)
        assert (opened.learnings, opened.records) == (fresh.learnings, fresh.records)
        opened.close()


def test_a_limit_on_postings_keeps_the_best(place, now):
    """Capped search returns the exact first result where a rare term decides."""
    for i in range(1500):
        vault.put(place, f"p/learnings/{i:04d}.md", f"shared topic {i}", f"shared words unique{i}")
    builder.build(place, now)
    assert found(place, "shared words unique777", now, cap=50)[0] == "0777"


def test_a_builder_does_not_wait_for_another(store, now):
    """While one process holds the lock, a second build says `busy` at once, and readers read."""
    from memory.core import files

    builder.build(store, now)
    with files.Lock(store.cache + "/" + store.scope + ".lock"):
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); from memory.core import layout as paths; "
            "from memory.index import builder as indexer; from memory.hook import "
            "indexview as index\n"
            "place = paths.locate({'HOME': sys.argv[2]}, sys.argv[3]); "
            "print(indexer.build(place, 1.0).busy)\n"
            "index.open_index(place)"
        )
        root = os.path.dirname(
            os.path.dirname(os.path.dirname(os.path.abspath(indexview.__file__)))
        )
        done = subprocess.run(
            [sys.executable, "-c", code, root, os.path.dirname(store.home), store.project],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    assert done.stdout == "True\n"


def test_readers_and_writers_at_once_lose_nothing(place, now):
    """Four processes add 25 records each and refresh, while this one searches: all are found at the
    end.
    """
    vault.learnings(place, 3)
    builder.build(place, now)
    code = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/tests']; from "
        "harness import vault\n"
        "from memory.core import layout as paths; from memory.index import builder as indexer\n"
        "place = paths.locate({'HOME': sys.argv[2]}, sys.argv[3])\n"
        "for i in range(25):\n name = 'p/learnings/w%s-%d.md' % (sys.argv[4], i)\n"
        " vault.put(place, name, 'Kafka', 'kafka')\n"
        " indexer.refresh(place, 1.0, names=[name] if i % 3 else None)\n"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(indexview.__file__))))
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, root, os.path.dirname(place.home), place.project, str(n)]
        )
        for n in range(4)
    ]
    while any(child.poll() is None for child in children):
        try:
            indexview.open_index(place).close()
        except IndexFault:
            pytest.fail("a reader met a half-written index")
    assert all(child.returncode == 0 for child in children)
    builder.refresh(place, now)
    assert indexview.open_index(place).records == 103


def test_an_index_is_private(store, now):
    """Segment, delta and lock are 0600 in 0700."""
    builder.build(store, now)
    builder.refresh(store, now, names=["p/learnings/jwt.md"])
    assert {
        oct(os.stat(os.path.join(store.cache, f)).st_mode & 0o777) for f in os.listdir(store.cache)
    } == {"0o600"}
    assert oct(os.stat(store.cache).st_mode & 0o777) == "0o700"


@pytest.mark.parametrize("seconds", [-1, -(10**9), 0, 2**33])
def test_a_file_from_any_time_is_indexed(place, now, seconds):
    """Archives restore times before 1970; some tools write 0."""
    path = vault.put(place, "p/learnings/old.md", "Old", "kafka")
    os.utime(path, (seconds, seconds))
    builder.build(place, now)
    assert indexview.open_index(place).records == 1 and builder.refresh(place, now)[1:4] == (
        0,
        0,
        0,
    )
    assert b"old.md" in documents.build_frame(indexview.open_index(place), "p/learnings/old.md")


def test_verify_notices_bytes_that_changed_behind_a_delta(place, now):
    """With a delta the segment's own checksum is what shows that its postings are changed since it
    was written.
    """
    for i in range(20):
        vault.put(place, "p/learnings/n%d.md" % i, "Zebra %d" % i, "zebra")
    builder.build(place, now)
    vault.put(place, "p/learnings/more.md", "More", "quagga")
    builder.refresh(place, now, names=["p/learnings/more.md"])
    assert builder.verify(place, now) == []
    path = indexview.segment_path(place)
    opened = indexview.open_index(place, watch=False)
    offset = opened.segment._at[2] + 4 * opened.segment.lookup("zebra")[0]
    opened.close()
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(bytes(40))
    assert ["changed since it was written" in line for line in builder.verify(place, now)] == [True]
    builder.refresh_after_hook(place, now)
    assert builder.verify(place, now) == []


def test_a_log_that_grew_long_becomes_part_of_the_segment(place, now):
    """Few frames of long conversations are as many bytes as hundreds of notes, and each word of a
    search passes over them.
    """
    for number in range(5):
        talks.put(
            place,
            [
                "## %02d:00 turn\n\n%s\n\n"
                % (at, " ".join("word%d" % (at * 1000 + n) for n in range(1000)))
                for at in range(20)
            ],
            id="c-7a1c000%d" % number,
            created="2026-01-2%dT10:00:00Z" % number,
        )
    builder.build(place, now)
    names = [record.name for record in Store(place, vault.settings(), now).each()]
    builder.refresh(place, now, names[:1])
    assert not builder.refresh(place, now).built
    builder.refresh(place, now, names)
    assert len(indexview.open_index(place, watch=False).delta.data) > builder.MERGE_BYTES
    assert builder.refresh(place, now).built and builder.verify(place, now) == []
    # when which folder was last seen, no record
    assert len(indexview.open_index(place, watch=False).delta.data) < 2000


# ---- the log of builds


def test_a_build_leaves_a_line_in_the_log(store, now):
    """What it read, and how long that took; the last one of this workspace counts."""
    assert builder.read_last_build(store) == {}
    builder.build(store, now - 60)
    done = builder.build(store, now)
    last = builder.read_last_build(store)
    assert last["records"] == done.records and last["tokens"] > 0 and last["ms"] >= 0
    log = "%s/%s.builds" % (store.cache, store.scope)
    with open(log, encoding="ascii") as file:
        assert file.read().count("\n") == 2


def test_the_log_of_builds_does_not_grow_for_ever(store, now):
    """Its older half goes once it is over the limit."""
    builder.build(store, now)
    log = "%s/%s.builds" % (store.cache, store.scope)
    with open(log, "rb") as file:
        line = file.read()
    with open(log, "wb") as file:
        file.write(line * (builder.LOG_BYTES // len(line) + 1))
    builder.build(store, now + 60)
    assert os.path.getsize(log) < 0.6 * builder.LOG_BYTES
    assert builder.read_last_build(store)["records"]
