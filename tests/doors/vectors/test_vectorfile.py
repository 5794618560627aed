"""The file of vectors: no damaged byte is believed, and a torn log is mended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from harness import vault
from harness.embedded import ask, contents, names

from memory.core import IndexFault
from memory.doors.vectors import nearest, vectorfile, vectors
from memory.doors.vectors.vectorfile import Sidecar

np = pytest.importorskip("numpy")


def test_one_damaged_byte_is_never_believed(store, provider, env, now):
    """Wherever it is, a search refuses the file; the next update mends it from what is sound, or
    embeds anew.
    """
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    good, path = Path(vectorfile.path_of(store)).read_bytes(), Path(vectorfile.path_of(store))
    query, whole = ask(provider, env, "word4x1 word4x2"), contents(store)
    found = nearest.search(store, query, 5)
    assert len(good) > 3000
    for at in range(0, len(good), 61):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
        try:
            assert nearest.search(store, query, 5) == found  # padding: no byte of it counts
        except IndexFault as error:
            assert "dayleaf index build --embeddings" in str(error) and "\n" not in str(error)
            assert vectors.state(store)["problem"]
    for at in (9, 200, len(good) - 40):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
        with pytest.raises(IndexFault):
            nearest.search(store, query, 5)
        vectors.update(store, provider, env, now)
        vectors.update(store, provider, env, now)
        assert (
            contents(store) == whole
            and nearest.search(store, query, 5) == found
            and vectors.state(store)["problem"] == ""
        )


def test_a_damaged_row_costs_its_record_alone(store, provider, env, now, seen):
    """The other rows have their checksums, and are kept."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    seen()
    path = Path(vectorfile.path_of(store))
    data = bytearray(path.read_bytes())
    data[-64 * 3] ^= 0xFF
    path.write_bytes(data)
    done = vectors.update(store, provider, env, now)
    assert (done.embedded, done.kept, len(seen())) == (1, 29, 1)


@pytest.mark.parametrize("gone", [True, False])
def test_a_damaged_row_is_never_carried_over(store, provider, env, now, gone):
    """Where it is not embedded again (its file went too, or the limit is reached) it leaves the
    file, and gets no new checksum.
    """
    vectors.update(store, provider, env, now)
    path = Path(vectorfile.path_of(store))
    data = bytearray(path.read_bytes())
    data[-64 * 3] ^= 0xFF
    path.write_bytes(data)
    before = contents(store)
    if gone:
        os.unlink(store.path(list(before)[-3]))
    vectors.update(store, provider, env, now, limit=0)
    kept = contents(store)
    assert len(kept) == 29 and kept.items() <= before.items()
    assert (vectors.state(store)["behind"], vectors.state(store)["problem"]) == (
        0 if gone else 1,
        "",
    )


@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"DLVEC\0\0\1", b"DLVEC\0\0\2" + bytes(200), bytes(5000), b"# notes\n" * 100],
)
def test_a_foreign_file_is_an_index_fault_and_then_replaced(store, provider, env, now, data):
    """Empty, short, of another version, or something else altogether."""
    Path(store.cache).mkdir(parents=True, exist_ok=True)
    Path(vectorfile.path_of(store)).write_bytes(data)
    with pytest.raises(IndexFault):
        nearest.search(store, np.ones(64, np.float32), 3)
    assert vectors.state(store)["problem"]
    assert vectors.update(store, provider, env, now).embedded == 30


def test_no_vectors_at_all_is_an_index_fault(store):
    """The caller falls back to words, and says so."""
    with pytest.raises(IndexFault, match="No such file"):
        nearest.search(store, np.ones(64, np.float32), 3)
    assert vectors.state(store)["problem"] == ""


def test_a_cut_file_is_refused(store, provider, env, now):
    """At any length."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    path = Path(vectorfile.path_of(store))
    good = path.read_bytes()
    for length in range(0, len(good), 173):
        path.write_bytes(good[:length])
        with pytest.raises(IndexFault):
            nearest.search(store, np.ones(64, np.float32), 3)


def test_a_torn_tail_of_the_log_is_ignored_and_mended(store, provider, env, now):
    """What stands whole before and after it counts; the next update writes all anew."""
    vectors.update(store, provider, env, now)
    vectors.update(store, provider, env, now)
    for i in range(3):
        vault.put(store, f"p/learnings/l{i:02d}.md", f"Note {i}", f"edited{i} again{i} anew{i}")
        vectors.update(store, provider, env, now)
    side = Sidecar(store)
    log = Path(vectorfile.log_path(store, side.generation))
    side.close()
    good = log.read_bytes()
    starts = [start - vectorfile.FRAME.size for start, _ in vectorfile.frames(good)]
    query, whole = ask(provider, env, "edited1 again1 anew1"), contents(store)
    for length in range(starts[2] + 1, len(good), 7):
        log.write_bytes(good[:length])
        assert names(store, query, 1) == ["p/learnings/l01.md"]
        assert vectors.state(store)["problem"] == "a torn log"
    log.write_bytes(good[: starts[2] - 5] + good[starts[2] :])
    assert names(store, ask(provider, env, "edited2 again2 anew2"), 1) == ["p/learnings/l02.md"]
    vectors.update(store, provider, env, now)
    assert (
        vectors.state(store)["problem"] == ""
        and vectors.state(store)["frames"] == 0
        and contents(store) == whole
    )
