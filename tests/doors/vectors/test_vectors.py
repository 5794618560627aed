"""Vectors on disk: what is embedded again and what is not, what survives damage, and that the
nearest are the nearest.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from harness import stubs, vault
from harness.embedded import ask, contents, names
from harness.hook import ROOT

from memory.core import IndexFault, ProviderError, files, layout, records
from memory.doors.vectors import embedder, nearest, vectorfile, vectors
from memory.hook import documents

np = pytest.importorskip("numpy")


# --- Chunks ---------------------------------------------------------------------------------------


def record(body: str, title: str = "Title") -> records.Record:
    """A learning with a body."""
    return records.from_bytes(
        "p/learnings/x.md", f"---\ntitle: {title}\n---\n\n{body}\n".encode(), 0.0
    )


def test_a_chunk_is_title_heading_and_at_most_180_words():
    """Long sections give several chunks of one ordinal; every word is in one of them, in its
    order.
    """
    body = "".join(
        f"# Part {i}\n\n" + " ".join(f"w{i}n{j}" for j in range(400)) + "\n\n" for i in range(3)
    )
    found = vectors.split_chunks(record(body))
    assert [chunk.ordinal for chunk in found] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert all(chunk.text.startswith(f"Title\nPart {chunk.ordinal}\n") for chunk in found)
    words = [word for chunk in found for word in chunk.text.split("\n", 2)[2].split()]
    assert words == [
        word
        for _, section in documents.split_sections(record(body).body)
        for word in section.split()
    ]
    assert max(len(chunk.text.split("\n", 2)[2].split()) for chunk in found) == vectors.WORDS


@pytest.mark.parametrize(
    ("body", "count"),
    [("", 1), ("one", 1), ("w " * 180, 1), ("w " * 181, 2), ("字" * 4000, 3), ("x" * 1501, 2)],
)
def test_a_record_has_at_least_one_chunk_and_no_chunk_is_endless(body, count):
    """A title alone is a chunk; what has no spaces is cut by characters."""
    found = vectors.split_chunks(record(body))
    assert len(found) == count and all(len(chunk.text) <= vectors.CHARS + 200 for chunk in found)
    assert all(chunk.digest.hex() == files.sha256(chunk.text.encode())[:32] for chunk in found)


# --- Updating -------------------------------------------------------------------------------------


def test_the_first_update_embeds_all_and_the_second_nothing(store, provider, env, now, seen):
    """Every record once; then no process is started."""
    first = vectors.update(store, provider, env, now)
    assert (first.embedded, first.kept, first.removed, first.left, first.busy) == (
        30,
        0,
        0,
        0,
        False,
    )
    assert len(seen()) == 30
    second = vectors.update(
        store, embedder.Provider("/nonexistent", (), provider.label, 1.0), env, now
    )
    assert (second.embedded, second.kept) == (0, 30)
    state = vectors.state(store)
    assert (state["rows"], state["records"], state["label"], state["dims"]) == (30, 30, "words", 64)
    assert (state["behind"], state["problem"]) == (0, "")


def test_an_edit_embeds_the_changed_chunks_of_its_record_alone(store, provider, env, now, seen):
    """One line of a long record changes: its other chunks keep their vectors, as all other records
    do.
    """
    body = "\n\n".join(
        f"# Part {i}\n\n" + " ".join(f"w{i}n{j}" for j in range(300)) for i in range(4)
    )
    vault.put(store, "p/plans/long.md", "Long", body)
    vectors.update(store, provider, env, now)
    seen()
    vault.put(store, "p/plans/long.md", "Long", body.replace("w2n5 ", "changed "))
    done = vectors.update(store, provider, env, now)
    given = seen()
    assert done.embedded == 1 and len(given) == 1 and "changed" in given[0] and done.kept == 30 + 7


def test_an_edit_within_the_same_instant_is_seen(store, provider, env, now):
    """Size and time of change are the same, the checksum is not."""
    path = vault.put(store, "p/learnings/same.md", "Same", "aaaa")
    vault.touch(path, now)
    vectors.update(store, provider, env, now)
    vault.put(store, "p/learnings/same.md", "Same", "bbbb")
    vault.touch(path, now)
    assert vectors.update(store, provider, env, now).embedded == 1


def test_a_moved_file_keeps_its_vectors(store, provider, env, now, seen):
    """The digest of the text counts, not the name."""
    vectors.update(store, provider, env, now)
    seen()
    os.rename(store.path("p/learnings/l05.md"), store.path("p/learnings/moved.md"))
    done = vectors.update(store, provider, env, now)
    assert (done.embedded, done.kept, seen()) == (0, 30, [])
    assert names(store, ask(provider, env, "word5x1 word5x2 word5x3"), 1) == [
        "p/learnings/moved.md"
    ]


def test_a_text_that_stands_twice_is_embedded_once(place, provider, env, now, seen):
    """Two records of the same words share a vector."""
    for name in "ab":
        vault.put(place, f"p/learnings/{name}.md", "Twin", "the same words")
    assert vectors.update(place, provider, env, now).embedded == 1 and len(seen()) == 1
    assert names(place, ask(provider, env, "same words")) == [
        "p/learnings/a.md",
        "p/learnings/b.md",
    ]


def test_a_deleted_file_is_forgotten(store, provider, env, now):
    """It is found no more."""
    vectors.update(store, provider, env, now)
    query = ask(provider, env, "word7x1 word7x2 word7x3 word7x4")
    assert names(store, query)[0] == "p/learnings/l07.md"
    os.unlink(store.path("p/learnings/l07.md"))
    assert vectors.state(store)["behind"] == 1
    assert vectors.update(store, provider, env, now).removed == 1
    assert (
        "p/learnings/l07.md" not in names(store, query, 30) and len(names(store, query, 40)) == 29
    )
    assert vectors.state(store)["records"] == 29


def test_an_empty_store_has_no_vectors(place, provider, env, now):
    """Nothing to embed writes nothing and starts nothing."""
    assert vectors.update(place, provider, env, now)[:3] == (0, 0, 0)
    assert vectors.state(place)["rows"] == 0 and vectors.state(place)["problem"] == ""


def test_a_limit_is_kept_and_the_rest_comes_later(store, provider, env, now):
    """What is left is said, and the next update goes on from there."""
    first = vectors.update(store, provider, env, now, limit=10)
    assert (first.embedded, first.left) == (10, 20) and vectors.state(store)["behind"] == 20
    second = vectors.update(store, provider, env, now)
    assert (second.embedded, second.kept, second.left) == (20, 10, 0)


def test_a_failure_keeps_what_was_embedded(store, tmp_path, env, now, monkeypatch, seen):
    """The second process dies; the third update embeds only what is missing."""
    monkeypatch.setattr(vectors, "BATCH", 8)
    flag = tmp_path / "called"
    body = (
        f"if os.path.exists({str(flag)!r}): sys.exit('out of memory')\nopen({str(flag)!r}, 'w')"
        + stubs.GOOD
    )
    with pytest.raises(ProviderError, match="out of memory"):
        vectors.update(store, stubs.provider(tmp_path, body), env, now)
    assert vectors.state(store)["records"] == 8
    assert (
        vectors.update(store, stubs.provider(tmp_path, stubs.GOOD, seen.path), env, now).embedded
        == 22
        == len(seen())
    )


def test_a_record_of_many_chunks_is_embedded_in_parts(place, tmp_path, env, now, monkeypatch, seen):
    """No process gets more than a batch, and the record is written whole."""
    monkeypatch.setattr(vectors, "BATCH", 4)
    vault.put(place, "p/plans/long.md", "Long", " ".join(f"word{i}" for i in range(3000)))
    marking = stubs.provider(tmp_path, stubs.GOOD + "seen.write('0\\n')", seen.path)
    done = vectors.update(place, marking, env, now)
    given = seen()
    assert done.embedded == vectors.state(place)["rows"] == 18 == len(given) - given.count(0)
    assert [i for i, text in enumerate(given) if text == 0] == [4, 9, 14, 19, 22]


def test_a_record_beyond_the_limit_is_finished_by_the_next_update(place, provider, env, now, seen):
    """Its first chunks are found meanwhile, and none is embedded twice."""
    vault.put(place, "p/plans/long.md", "Long", " ".join(f"word{i}" for i in range(3000)))
    vectors.update(place, provider, env, now)
    vault.put(place, "p/plans/longer.md", "Longer", " ".join(f"term{i}" for i in range(3000)))
    counts = [
        (done.embedded, done.left)
        for done in (vectors.update(place, provider, env, now, limit=10) for _ in range(3))
    ]
    assert counts == [(10, 1), (8, 0), (0, 0)]
    assert vectors.state(place)["behind"] == 0 and len(set(seen())) == 36


def test_no_batch_begins_after_its_time(store, provider, env, now):
    """What is left is for the next update; no failure is raised."""
    late = vectors.update(store, provider, env, now, seconds=0.0)
    assert (late.embedded, late.left) == (0, 30)
    assert vectors.update(store, provider, env, now, seconds=60.0).embedded == 30


def test_another_label_starts_afresh(store, provider, tmp_path, env, now):
    """Vectors of two models never meet; a search that expects the old one is told."""
    vectors.update(store, provider, env, now)
    query = ask(provider, env, "word1x1")
    other = stubs.provider(tmp_path, stubs.GOOD, label="other")
    assert vectors.update(store, other, env, now).embedded == 30
    assert vectors.state(store)["label"] == "other"
    with pytest.raises(IndexFault, match="made by another model"):
        nearest.search(store, query, 3, label="words")


def test_a_failing_new_provider_leaves_the_old_vectors(store, provider, tmp_path, env, now):
    """Only the first good vectors of the new label replace the old ones."""
    vectors.update(store, provider, env, now)
    with pytest.raises(ProviderError):
        vectors.update(store, stubs.provider(tmp_path, "sys.exit(1)", label="other"), env, now)
    assert vectors.state(store)["label"] == "words" and vectors.state(store)["rows"] == 30


def test_other_dimensions_start_afresh(store, provider, tmp_path, env, now):
    """The same label with longer vectors embeds all again, in the same update."""
    vectors.update(store, provider, env, now)
    vault.put(store, "p/learnings/l01.md", "Note 1", "changed")
    wide = stubs.provider(
        tmp_path, stubs.GOOD.replace('vector(row["text"])', 'vector(row["text"], 96)')
    )
    assert vectors.update(store, wide, env, now).embedded == 30
    assert vectors.state(store)["dims"] == 96 and vectors.state(store)["behind"] == 0


def test_rebuilt_and_grown_vectors_are_the_same(store, provider, env, now):
    """Additions, edits, moves and deletions one by one end where a build from nothing does."""
    vectors.update(store, provider, env, now)
    os.mkdir(store.folder("p", "plan"))
    for i in range(12):
        vault.put(store, f"p/learnings/n{i}.md", f"New {i}", f"text {i}")
        vectors.update(store, provider, env, now)
        if i % 3 == 0:
            os.rename(store.path(f"p/learnings/l{i:02d}.md"), store.path(f"p/plans/m{i}.md"))
            vectors.update(store, provider, env, now)
    grown = contents(store)
    files.remove(vectorfile.vectors_path(store))
    vectors.update(store, provider, env, now)
    assert contents(store) == grown and len(grown) == 42


# --- Damage ---------------------------------------------------------------------------------------


def test_a_killed_update_leaves_readable_vectors(store, tmp_path, env, now, provider):
    """Killed while the provider works: what was written can be searched, and the next update goes
    on.
    """
    slow = stubs.provider(tmp_path, "time.sleep(0.15)" + stubs.GOOD)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from memory.doors.vectors import embedder; from memory.core import layout as paths; from "
        "memory.doors.vectors import vectors\nvectors.BATCH = 3\n"
        f"place = paths.locate({env!r}, {store.project!r})\n"
        f"vectors.update(place, embedder.Provider({slow.command!r}, {slow.args!r}, 'words', "
        f"20.0), {env!r}, {now!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(ROOT)])
    deadline = time.monotonic() + 20
    while vectors.state(store)["records"] < 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    kept = vectors.state(store)
    assert 6 <= kept["records"] < 30 and not kept["problem"]
    assert nearest.search(store, ask(provider, env, "word1x1 word1x2"), 3)
    done = vectors.update(store, provider, env, now)
    assert (
        done.kept >= 6 and done.embedded + done.kept == 30 and vectors.state(store)["behind"] == 0
    )


# --- Writers --------------------------------------------------------------------------------------


def test_a_second_writer_does_not_wait(store, provider, env, now):
    """One holds the lock: the other says so at once and changes nothing."""
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\nfrom memory.core import files\n"
        "with files.Lock(sys.argv[2]) as held:\n    print(held, flush=True)\n    time.sleep(30)"
    )
    lock = store.cache + "/" + store.scope + ".vec.lock"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(ROOT), lock],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "True\n"
        assert vectors.update(store, provider, env, now) == (0, 0, 0, 0.0, 0, True)
    finally:
        process.kill()
        process.communicate()
    assert vectors.update(store, provider, env, now).embedded == 30


def test_two_writers_and_a_reader_at_once(store, provider, env, now):
    """Whoever wins, the file is whole at every moment and complete at the end."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from memory.doors.vectors import embedder; from memory.core import layout as paths; from "
        "memory.doors.vectors import vectors\nvectors.BATCH = 2\n"
        f"place = paths.locate({env!r}, {store.project!r})\n"
        f"provider = embedder.Provider({provider.command!r}, {provider.args!r}, 'words', 20.0)\n"
        f"while vectors.update(place, provider, {env!r}, {now!r}).busy: pass"
    )
    root = str(ROOT)
    writers = [subprocess.Popen([sys.executable, "-c", code, root]) for _ in range(2)]
    query = np.ones(64, np.float32)
    while any(writer.poll() is None for writer in writers):
        if files.exists(vectorfile.vectors_path(store)):
            nearest.search(store, query, 5)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert vectors.state(store)["records"] == 30 and vectors.state(store)["problem"] == ""


def test_a_reader_finds_the_old_file_until_the_new_one_is_whole(
    store, provider, env, now, monkeypatch
):
    """The new one takes its place in one step."""
    vectors.update(store, provider, env, now)
    connect, found = sqlite3.connect, []

    def watched(path):
        if str(path) != vectorfile.vectors_path(store):
            monkeypatch.setattr(vectorfile.sqlite3, "connect", connect)
            found.append(len(nearest.search(store, np.ones(64, np.float32), 5)))
        return connect(path)

    monkeypatch.setattr(vectorfile.sqlite3, "connect", watched)
    with closing(vectorfile.Sidecar.create(store, "k", "words", "c", 8)) as side:
        assert side.dims == 8
    assert found == [5]
    assert not [name for name in os.listdir(store.cache) if name.startswith(files.TEMP_PREFIX)]


def test_the_files_are_the_users_alone(store, provider, env, now):
    """0600, whatever the umask."""
    before = os.umask(0)
    try:
        vectors.update(store, provider, env, now)
        vault.put(store, "p/learnings/l01.md", "Note 1", "changed")
        vectors.update(store, provider, env, now)
        embedder.write_query_vector(store, "words", "secret question", np.ones(8, np.float32), now)
    finally:
        os.umask(before)
    found = [Path(store.cache) / name for name in os.listdir(store.cache)] + [
        Path(embedder.queries_path(store))
    ]
    assert len(found) >= 2 and {path.stat().st_mode & 0o777 for path in found} == {0o600}


# --- Search ---------------------------------------------------------------------------------------


def test_worktrees_keep_their_own_vectors(tmp_path, env, provider, now):
    """Two shared tiers, one workspace: neither update forgets the other's."""
    places = [
        layout.Place(str(tmp_path / "h"), "w-1", "", "", "", str(tmp_path / name)) for name in "ab"
    ]
    for place in places:
        Path(place.shared).mkdir()
        place.root = place.shared
        vault.put(
            place, "s/learnings/x.md", "Shared " + place.shared[-1], "words of " + place.shared
        )
        vectors.update(place, provider, env, now)
    assert [vectors.state(place)["rows"] for place in places] == [1, 1]
    assert vectors.update(places[0], provider, env, now).embedded == 0
