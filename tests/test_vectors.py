"""Vectors on disk: what is embedded again and what is not, what survives damage, and that the nearest are the nearest."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import stubs
import vault

from memory import embedder, entry, files, nearest, paths, queries, records, rows, vectors
from memory.errors import IndexFault, ProviderError
from memory.sidecar import Sidecar

np = pytest.importorskip("numpy")


@pytest.fixture
def seen(tmp_path):
    """The texts that were embedded since the last call."""
    path = tmp_path / "seen"
    path.touch()

    def texts() -> list[str]:
        found = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("")
        return found

    texts.path = str(path)
    return texts


@pytest.fixture
def provider(tmp_path, seen) -> embedder.Provider:
    """A provider that tells what it was given."""
    return stubs.provider(tmp_path, stubs.GOOD, seen.path)


@pytest.fixture
def store(place):
    """Thirty learnings on different subjects."""
    for i in range(30):
        vault.put(place, f"p/learnings/l{i:02d}.md", f"Note {i}", " ".join(f"word{i}x{j}" for j in range(12)))
    return place


def ask(provider, env, text: str):
    """Return the vector of a query."""
    return embedder.embed(provider, [("q", text)], env)["q"]


def names(place, vector, limit: int = 3) -> list[str]:
    """Return the names that a search finds."""
    return [name for name, _, _ in vectors.search(place, vector, limit)]


def contents(place) -> dict:
    """Return what is kept of every record, merged or not."""
    side = Sidecar(place)
    try:
        return {name: (kept.ordinals, kept.digests, kept.scales, kept.numbers) for name, kept in side.each()}
    finally:
        side.close()


# --- Chunks -------------------------------------------------------------------------------------------------------------

def record(body: str, title: str = "Title") -> records.Record:
    """A learning with a body."""
    return records.from_bytes("p/learnings/x.md", f"---\ntitle: {title}\n---\n\n{body}\n".encode(), 0.0)


def test_a_chunk_is_title_heading_and_at_most_180_words():
    """Long sections give several chunks of one ordinal; every word is in one of them, in its order."""
    body = "".join(f"# Part {i}\n\n" + " ".join(f"w{i}n{j}" for j in range(400)) + "\n\n" for i in range(3))
    found = vectors.chunks(record(body))
    assert [chunk.ordinal for chunk in found] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert all(chunk.text.startswith(f"Title\nPart {chunk.ordinal}\n") for chunk in found)
    words = [word for chunk in found for word in chunk.text.split("\n", 2)[2].split()]
    assert words == [word for _, section in entry.sections(record(body).body) for word in section.split()]
    assert max(len(chunk.text.split("\n", 2)[2].split()) for chunk in found) == vectors.WORDS


@pytest.mark.parametrize(("body", "count"), [("", 1), ("one", 1), ("w " * 180, 1), ("w " * 181, 2), ("字" * 4000, 3), ("x" * 1501, 2)])
def test_a_record_has_at_least_one_chunk_and_no_chunk_is_endless(body, count):
    """A title alone is a chunk; what has no spaces is cut by characters."""
    found = vectors.chunks(record(body))
    assert len(found) == count and all(len(chunk.text) <= vectors.CHARS + 200 for chunk in found)
    assert all(chunk.digest.hex() == files.sha256(chunk.text.encode())[:32] for chunk in found)


# --- Updating -----------------------------------------------------------------------------------------------------------

def test_the_first_update_embeds_all_and_the_second_nothing(store, provider, env, now, seen):
    """Every record once; then no process is started."""
    first = vectors.update(store, provider, env, now)
    assert (first.embedded, first.kept, first.removed, first.left, first.busy) == (30, 0, 0, 0, False)
    assert len(seen()) == 30
    second = vectors.update(store, embedder.Provider("/nonexistent", (), provider.label, 1.0), env, now)
    assert (second.embedded, second.kept) == (0, 30)
    state = vectors.state(store)
    assert (state["rows"], state["records"], state["label"], state["dims"]) == (30, 30, "words", 64)
    assert (state["behind"], state["problem"]) == (0, "")


def test_an_edit_embeds_the_changed_chunks_of_its_record_alone(store, provider, env, now, seen):
    """One line of a long record changes: its other chunks keep their vectors, as all other records do."""
    body = "\n\n".join(f"# Part {i}\n\n" + " ".join(f"w{i}n{j}" for j in range(300)) for i in range(4))
    vault.put(store, "p/plans/long.md", "Long", body)
    vectors.update(store, provider, env, now)
    seen()
    size = os.path.getsize(rows.path_of(store))
    vault.put(store, "p/plans/long.md", "Long", body.replace("w2n5 ", "changed "))
    done = vectors.update(store, provider, env, now)
    given = seen()
    assert done.embedded == 1 and len(given) == 1 and "changed" in given[0] and done.kept == 30 + 7
    assert os.path.getsize(rows.path_of(store)) == size


def test_one_edit_costs_the_same_write_whatever_stands_there(store, provider, env, now):
    """The log grows by one frame of that record; the file stays as it is."""
    vectors.update(store, provider, env, now)
    before = Path(rows.path_of(store)).read_bytes()
    vault.put(store, "p/learnings/l03.md", "Note 3", "other words")
    vectors.update(store, provider, env, now)
    assert Path(rows.path_of(store)).read_bytes() == before
    log = Path(rows.log_path(store, before[8:16].decode()))
    assert log.stat().st_size < 200 and vectors.state(store)["frames"] == 1


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
    assert names(store, ask(provider, env, "word5x1 word5x2 word5x3"), 1) == ["p/learnings/moved.md"]


def test_a_text_that_stands_twice_is_embedded_once(place, provider, env, now, seen):
    """Two records of the same words share a vector."""
    for name in "ab":
        vault.put(place, f"p/learnings/{name}.md", "Twin", "the same words")
    assert vectors.update(place, provider, env, now).embedded == 1 and len(seen()) == 1
    assert names(place, ask(provider, env, "same words")) == ["p/learnings/a.md", "p/learnings/b.md"]


def test_a_deleted_file_is_forgotten(store, provider, env, now):
    """It is found no more, before and after the next merge."""
    vectors.update(store, provider, env, now)
    query = ask(provider, env, "word7x1 word7x2 word7x3 word7x4")
    assert names(store, query)[0] == "p/learnings/l07.md"
    os.unlink(store.path("p/learnings/l07.md"))
    assert vectors.state(store)["behind"] == 1
    assert vectors.update(store, provider, env, now).removed == 1
    assert "p/learnings/l07.md" not in names(store, query, 30) and len(names(store, query, 40)) == 29
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
    body = f"if os.path.exists({str(flag)!r}): sys.exit('out of memory')\nopen({str(flag)!r}, 'w')" + stubs.GOOD
    with pytest.raises(ProviderError, match="out of memory"):
        vectors.update(store, stubs.provider(tmp_path, body), env, now)
    assert vectors.state(store)["records"] == 8
    assert vectors.update(store, stubs.provider(tmp_path, stubs.GOOD, seen.path), env, now).embedded == 22 == len(seen())


def test_a_record_of_many_chunks_is_embedded_in_parts(place, tmp_path, env, now, monkeypatch, seen):
    """No process gets more than a batch, and the record is written whole."""
    monkeypatch.setattr(vectors, "BATCH", 4)
    vault.put(place, "p/plans/long.md", "Long", " ".join(f"word{i}" for i in range(3000)))
    marking = stubs.provider(tmp_path, stubs.GOOD + "seen.write('0\\n')", seen.path)
    done = vectors.update(place, marking, env, now)
    given = seen()
    assert done.embedded == vectors.state(place)["rows"] == 18 == len(given) - given.count(0)
    assert [i for i, text in enumerate(given) if text == 0] == [4, 9, 14, 19, 22]


def test_another_label_starts_afresh(store, provider, tmp_path, env, now):
    """Vectors of two models never meet; a search that expects the old one is told."""
    vectors.update(store, provider, env, now)
    query = ask(provider, env, "word1x1")
    other = stubs.provider(tmp_path, stubs.GOOD, label="other")
    assert vectors.update(store, other, env, now).embedded == 30
    assert vectors.state(store)["label"] == "other"
    with pytest.raises(IndexFault, match="made by another model"):
        vectors.search(store, query, 3, label="words")


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
    wide = stubs.provider(tmp_path, stubs.GOOD.replace('vector(row["text"])', 'vector(row["text"], 96)'))
    assert vectors.update(store, wide, env, now).embedded == 30
    assert vectors.state(store)["dims"] == 96 and vectors.state(store)["behind"] == 0


def test_the_log_is_merged_when_it_has_grown(store, provider, env, now):
    """Beyond MERGE_AT frames, or a twentieth of the records but 16; the rows are the same before and after."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    assert vectors.state(store)["frames"] == 0
    for i in range(16):
        vault.put(store, f"p/learnings/l{i:02d}.md", f"Note {i}", f"edited {i}")
        os.unlink(store.path("p/learnings/l29.md")) if i == 15 else None
    vectors.update(store, provider, env, now)
    assert vectors.state(store)["frames"] == 0 and vectors.state(store)["records"] == 29
    assert len([name for name in os.listdir(store.cache) if name.endswith(".veclog")]) == 0
    merged = contents(store)
    files.remove(rows.path_of(store))
    vectors.update(store, provider, env, now)
    assert contents(store) == merged


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
    files.remove(rows.path_of(store))
    vectors.update(store, provider, env, now)
    assert contents(store) == grown and len(grown) == 42


# --- Damage -------------------------------------------------------------------------------------------------------------

def test_one_damaged_byte_is_never_believed(store, provider, env, now):
    """Wherever it is, a search refuses the file; the next update mends it from what is sound, or embeds anew."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    good, path = Path(rows.path_of(store)).read_bytes(), Path(rows.path_of(store))
    query, whole = ask(provider, env, "word4x1 word4x2"), contents(store)
    found = vectors.search(store, query, 5)
    assert len(good) > 3000
    for at in range(0, len(good), 61):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:])
        try:
            assert vectors.search(store, query, 5) == found  # padding: no byte of it counts
        except IndexFault as error:
            assert "dayleaf index build --embeddings" in str(error) and "\n" not in str(error)
            assert vectors.state(store)["problem"]
    for at in (9, 200, len(good) - 40):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:])
        with pytest.raises(IndexFault):
            vectors.search(store, query, 5)
        vectors.update(store, provider, env, now)
        vectors.update(store, provider, env, now)
        assert contents(store) == whole and vectors.search(store, query, 5) == found and vectors.state(store)["problem"] == ""


def test_a_damaged_row_costs_its_record_alone(store, provider, env, now, seen):
    """The other rows have their checksums, and are kept."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    seen()
    path = Path(rows.path_of(store))
    data = bytearray(path.read_bytes())
    data[-64 * 3] ^= 0xFF
    path.write_bytes(data)
    done = vectors.update(store, provider, env, now)
    assert (done.embedded, done.kept, len(seen())) == (1, 29, 1)


@pytest.mark.parametrize("gone", [True, False])
def test_a_damaged_row_is_never_carried_over(store, provider, env, now, gone):
    """Where it is not embedded again (its file went too, or the limit is reached) it leaves the file, and gets no new checksum."""
    vectors.update(store, provider, env, now)
    path = Path(rows.path_of(store))
    data = bytearray(path.read_bytes())
    data[-64 * 3] ^= 0xFF
    path.write_bytes(data)
    before = contents(store)
    if gone:
        os.unlink(store.path(list(before)[-3]))
    vectors.update(store, provider, env, now, limit=0)
    kept = contents(store)
    assert len(kept) == 29 and kept.items() <= before.items()
    assert (vectors.state(store)["behind"], vectors.state(store)["problem"]) == (0 if gone else 1, "")


@pytest.mark.parametrize("data", [b"", b"x", b"DLVEC\0\0\1", b"DLVEC\0\0\2" + bytes(200), bytes(5000), b"# notes\n" * 100])
def test_a_foreign_file_is_an_index_fault_and_then_replaced(store, provider, env, now, data):
    """Empty, short, of another version, or something else altogether."""
    Path(store.cache).mkdir(parents=True, exist_ok=True)
    Path(rows.path_of(store)).write_bytes(data)
    with pytest.raises(IndexFault):
        vectors.search(store, np.ones(64, np.float32), 3)
    assert vectors.state(store)["problem"]
    assert vectors.update(store, provider, env, now).embedded == 30


def test_no_vectors_at_all_is_an_index_fault(store):
    """The caller falls back to words, and says so."""
    with pytest.raises(IndexFault, match="No such file"):
        vectors.search(store, np.ones(64, np.float32), 3)
    assert vectors.state(store)["problem"] == ""


def test_a_cut_file_is_refused(store, provider, env, now):
    """At any length."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    path = Path(rows.path_of(store))
    good = path.read_bytes()
    for length in range(0, len(good), 173):
        path.write_bytes(good[:length])
        with pytest.raises(IndexFault):
            vectors.search(store, np.ones(64, np.float32), 3)


def test_a_torn_tail_of_the_log_is_ignored_and_mended(store, provider, env, now):
    """What stands whole before and after it counts; the next update writes all anew."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    for i in range(3):
        vault.put(store, f"p/learnings/l{i:02d}.md", f"Note {i}", f"edited{i} again{i} anew{i}")
        vectors.update(store, provider, env, now)
    side = Sidecar(store)
    log = Path(rows.log_path(store, side.generation))
    side.close()
    good = log.read_bytes()
    starts = [start - rows.FRAME.size for start, _ in rows.frames(good)]
    query, whole = ask(provider, env, "edited1 again1 anew1"), contents(store)
    for length in range(starts[2] + 1, len(good), 7):
        log.write_bytes(good[:length])
        assert names(store, query, 1) == ["p/learnings/l01.md"]
        assert vectors.state(store)["problem"] == "a torn log"
    log.write_bytes(good[:starts[2] - 5] + good[starts[2]:])
    assert names(store, ask(provider, env, "edited2 again2 anew2"), 1) == ["p/learnings/l02.md"]
    vectors.update(store, provider, env, now)
    assert vectors.state(store)["problem"] == "" and vectors.state(store)["frames"] == 0 and contents(store) == whole


def test_a_killed_update_leaves_readable_vectors(store, tmp_path, env, now, provider):
    """Killed while the provider works: what was written can be searched, and the next update goes on."""
    slow = stubs.provider(tmp_path, "time.sleep(0.15)" + stubs.GOOD)
    code = ("import sys; sys.path.insert(0, sys.argv[1])\nfrom memory import embedder, paths, vectors\nvectors.BATCH = 3\n"
            f"place = paths.locate({env!r}, {store.project!r})\n"
            f"vectors.update(place, embedder.Provider({slow.command!r}, {slow.args!r}, 'words', 20.0), {env!r}, {now!r})")
    process = subprocess.Popen([sys.executable, "-c", code, str(Path(vectors.__file__).parents[1])])
    deadline = time.monotonic() + 20
    while vectors.state(store)["records"] < 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    kept = vectors.state(store)
    assert 6 <= kept["records"] < 30 and not kept["problem"]
    assert vectors.search(store, ask(provider, env, "word1x1 word1x2"), 3)
    done = vectors.update(store, provider, env, now)
    assert done.kept >= 6 and done.embedded + done.kept == 30 and vectors.state(store)["behind"] == 0


# --- Writers ------------------------------------------------------------------------------------------------------------

def test_a_second_writer_does_not_wait(store, provider, env, now):
    """One holds the lock: the other says so at once and changes nothing."""
    code = ("import sys, time; sys.path.insert(0, sys.argv[1])\nfrom memory import files\n"
            "with files.Lock(sys.argv[2]) as held:\n    print(held, flush=True)\n    time.sleep(30)")
    lock = store.cache + "/" + store.scope + ".vec.lock"
    process = subprocess.Popen([sys.executable, "-c", code, str(Path(vectors.__file__).parents[1]), lock],
                               stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "True\n"
        assert vectors.update(store, provider, env, now) == (0, 0, 0, 0.0, 0, True)
    finally:
        process.kill()
        process.communicate()
    assert vectors.update(store, provider, env, now).embedded == 30


def test_two_writers_and_a_reader_at_once(store, provider, env, now):
    """Whoever wins, the file is whole at every moment and complete at the end."""
    code = ("import sys; sys.path.insert(0, sys.argv[1])\nfrom memory import embedder, paths, vectors\nvectors.BATCH = 2\n"
            f"place = paths.locate({env!r}, {store.project!r})\n"
            f"provider = embedder.Provider({provider.command!r}, {provider.args!r}, 'words', 20.0)\n"
            f"while vectors.update(place, provider, {env!r}, {now!r}).busy: pass")
    root = str(Path(vectors.__file__).parents[1])
    writers = [subprocess.Popen([sys.executable, "-c", code, root]) for _ in range(2)]
    query = np.ones(64, np.float32)
    while any(writer.poll() is None for writer in writers):
        if files.exists(rows.path_of(store)):
            vectors.search(store, query, 5)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert vectors.state(store)["records"] == 30 and vectors.state(store)["problem"] == ""


def test_the_files_are_the_users_alone(store, provider, env, now):
    """0600, whatever the umask."""
    before = os.umask(0)
    try:
        vectors.update(store, provider, env, now)
        vault.put(store, "p/learnings/l01.md", "Note 1", "changed")
        vectors.update(store, provider, env, now)
        queries.remember_query(store, "words", "secret question", np.ones(8, np.float32), now)
    finally:
        os.umask(before)
    found = [Path(store.cache) / name for name in os.listdir(store.cache)] + [Path(queries.path_of(store))]
    assert len(found) >= 3 and {path.stat().st_mode & 0o777 for path in found} == {0o600}


# --- Search -------------------------------------------------------------------------------------------------------------

def matrix(count: int, dims: int, seed: int = 1, clusters: int = 20):
    """Clustered vectors of length 1."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((clusters, dims))
    found = centres[random.integers(0, clusters, count)] + random.standard_normal((count, dims))
    return (found / np.sqrt((found * found).sum(1, keepdims=True))).astype(np.float32)


def written(place, found, per: int = 1, log: int = 0) -> None:
    """Write vectors as records of `per` sections each, the last `log` of them into the log."""
    scales, numbers = rows.quantise(found)
    stored = [(f"p/learnings/l{i:06d}.md", rows.Stored(0, 0, b"", list(range(per)), [bytes(16)] * per, scales[i:i + per],
                                                     b"".join(numbers[i:i + per]))) for i in range(0, len(found), per)]
    Path(place.cache).mkdir(parents=True, exist_ok=True)
    meta = {"key": place.key, "label": "x", "command": ""}
    data = rows.encode(meta, found.shape[1], 1.0, stored[:len(stored) - log])
    Path(rows.path_of(place)).write_bytes(data)
    frames = b"".join(rows.frame(name, kept, -1) for name, kept in stored[len(stored) - log:])
    Path(rows.log_path(place, data[8:16].decode())).write_bytes(frames)


@pytest.mark.parametrize("dims", [8, 13, 64, 100, 384])
@pytest.mark.parametrize("log", [0, 7])
def test_search_is_brute_force(place, dims, log):
    """Order and similarity are those of all cosines, computed here in double precision; the log counts as the file does."""
    found = matrix(900, dims)
    written(place, found, per=3, log=log)
    for query in matrix(5, dims, seed=2):
        exact = found.astype(np.float64) @ query
        order = np.argsort(-exact)[:20]
        hits = vectors.search(place, query * 3.0, 20)
        similar = {(f"p/learnings/l{i // 3 * 3:06d}.md", i % 3): exact[i] for i in range(900)}
        assert [value for _, _, value in hits] == sorted((value for _, _, value in hits), reverse=True)
        for name, ordinal, value in hits:
            assert abs(similar[name, ordinal] - value) < 0.01
            assert similar[name, ordinal] > exact[order[-1]] - 0.01


def test_the_approximate_search_finds_the_nearest(place):
    """Above EXACT rows: at least 0.95 of the exact best ten, on clustered vectors; damage in what it reads is still seen."""
    found = matrix(12_000, 96, clusters=60)
    written(place, found)
    hits = 0
    for query in matrix(30, 96, seed=3) + found[:30] * 2:
        exact = vectors.search(place, query, 10, exact=True)
        near = vectors.search(place, query, 10)
        hits += len({hit[0] for hit in exact} & {hit[0] for hit in near})
        assert near[0] == exact[0]
    assert hits >= 0.95 * 300
    path = Path(rows.path_of(place))
    good = path.read_bytes()
    vector = good.index(rows.quantise(found[:1])[1][0], len(good) - 12_000 * 97)
    for at in (vector + 5, len(good) - 12_000 * 96 - 1000):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1:])
        with pytest.raises(IndexFault):
            vectors.search(place, found[0], 10)


def test_bits_are_counted_without_numpy_2(monkeypatch):
    """The table gives what `bitwise_count` gives."""
    words = np.random.default_rng(1).integers(0, 2 ** 63, (50, 3), np.uint64)
    known = [bin(int(word)).count("1") for word in words[:, 1]]
    assert nearest._bits(words[:, 1]).tolist() == known
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert nearest._bits(words[:, 1]).tolist() == known


@pytest.mark.parametrize("most", [0, 10_000])
def test_equal_similarities_are_ordered_by_name(place, monkeypatch, most):
    """The same vectors in 3,000 records: the first names, every time, also where only some are compared."""
    monkeypatch.setattr(nearest, "EXACT", most)
    written(place, np.repeat(matrix(1, 64), 3000, axis=0), log=3)
    for _ in range(2):
        assert names(place, matrix(1, 64)[0], 4) == [f"p/learnings/l{i:06d}.md" for i in range(4)]


@pytest.mark.parametrize("most", [0, 10_000])
def test_a_replaced_record_is_found_by_its_new_words_alone(store, provider, env, now, monkeypatch, most):
    """What a frame says hides the rows in the file."""
    monkeypatch.setattr(nearest, "EXACT", most)
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    old = ask(provider, env, " ".join(f"word9x{j}" for j in range(12)))
    before = {name: value for name, _, value in vectors.search(store, old, 30)}
    vault.put(store, "p/learnings/l09.md", "Other", "pears apples plums")
    vectors.update(store, provider, env, now)
    assert vectors.state(store)["frames"] == 1
    after = {name: value for name, _, value in vectors.search(store, old, 30)}
    assert before["p/learnings/l09.md"] > 0.9 > 0.6 > after["p/learnings/l09.md"] and len(after) == 30
    assert names(store, ask(provider, env, "pears apples plums"), 1) == ["p/learnings/l09.md"]


def test_a_section_counts_once(place, provider, env, now):
    """Several chunks of one section are one hit, with the best of them."""
    vault.put(place, "p/learnings/long.md", "Long", " ".join(f"word{i % 200}" for i in range(1000)))
    vault.put(place, "p/learnings/short.md", "Short", "another thing")
    vectors.update(place, provider, env, now)
    hits = vectors.search(place, ask(provider, env, "word1 word2"), 10)
    assert sorted(hit[:2] for hit in hits) == [("p/learnings/long.md", 0), ("p/learnings/short.md", 0)]


@pytest.mark.parametrize("limit", [0, 1, 29, 30, 1000])
def test_any_limit(store, provider, env, now, limit):
    """None, all, and more than there are."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    assert len(vectors.search(store, np.ones(64, np.float32), limit)) == min(limit, 30)


def test_worktrees_keep_their_own_vectors(tmp_path, env, provider, now):
    """Two shared tiers, one workspace: neither update forgets the other's."""
    places = [paths.Place(str(tmp_path / "h"), "w-1", "", "", "", str(tmp_path / name)) for name in "ab"]
    for place in places:
        Path(place.shared).mkdir()
        place.root = place.shared
        vault.put(place, "s/learnings/x.md", "Shared " + place.shared[-1], "words of " + place.shared)
        vectors.update(place, provider, env, now)
    assert [vectors.state(place)["rows"] for place in places] == [1, 1]
    assert vectors.update(places[0], provider, env, now).embedded == 0


# --- Past queries -------------------------------------------------------------------------------------------------------

def test_a_query_is_remembered_by_label_and_text(place, now):
    """The same numbers come back for the same words and label, and for nothing else."""
    vector = matrix(1, 64)[0]
    assert vectors.cached_query(place, "x", "how so", now) is None
    vectors.remember_query(place, "x", "how so", vector, now)
    assert (vectors.cached_query(place, "x", "how so", now) == vector).all()
    assert vectors.cached_query(place, "y", "how so", now) is None and vectors.cached_query(place, "x", "how", now) is None
    assert b"how so" not in Path(queries.path_of(place)).read_bytes()


def test_the_queries_used_last_stay(place, now, monkeypatch):
    """A use counts; beyond MOST the oldest go."""
    monkeypatch.setattr(queries, "MOST", 5)
    for i in range(5):
        queries.remember_query(place, "x", f"q{i}", np.ones(8), now + i)
    assert queries.cached_query(place, "x", "q0", now + 9000) is not None
    for i in range(5, 9):
        queries.remember_query(place, "x", f"q{i}", np.ones(8), now + i)
    kept = [i for i in range(9) if queries.cached_query(place, "x", f"q{i}", now + 9000) is not None]
    assert kept == [0, 5, 6, 7, 8]


def test_a_damaged_cache_is_an_empty_one(place, now):
    """At any byte, and as no database at all: a wrong vector never comes back, no error, and it works again after a write."""
    vector = matrix(1, 64)[0]
    path = Path(queries.path_of(place))
    queries.remember_query(place, "x", "q", vector, now)
    good = path.read_bytes()
    at = good.index(vector.tobytes()[:16])
    for data in (b"", b"no database at all " * 50, good[:700], good[:at] + b"\xff" + good[at + 1:], bytes(len(good))):
        path.write_bytes(data)
        assert queries.cached_query(place, "x", "q", now) is None
        queries.remember_query(place, "x", "q", vector, now)
        assert (queries.cached_query(place, "x", "q", now) == vector).all()
    for at in range(0, len(good), 97):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1:])
        found = queries.cached_query(place, "x", "q", now)
        assert found is None or (found == vector).all()


def test_a_cache_that_cannot_be_written_changes_nothing(place, now, monkeypatch):
    """Another process writes, or a folder stands in the way."""
    queries.remember_query(place, "x", "q", np.ones(8), now)
    monkeypatch.setattr(queries, "WAIT", 0.05)
    holder = sqlite3.connect(queries.path_of(place))
    holder.execute("BEGIN EXCLUSIVE")
    queries.remember_query(place, "x", "r", np.ones(8), now)
    assert queries.cached_query(place, "x", "q", now) is None
    holder.rollback()
    holder.close()
    assert queries.cached_query(place, "x", "q", now) is not None and queries.cached_query(place, "x", "r", now) is None
    os.unlink(queries.path_of(place))
    os.mkdir(queries.path_of(place))
    queries.remember_query(place, "x", "q", np.ones(8), now)
    assert queries.cached_query(place, "x", "q", now) is None
