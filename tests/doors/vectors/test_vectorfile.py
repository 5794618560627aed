"""The file of vectors: damage and foreign files are said, and the next update mends them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from harness.embedded import ask, contents

from memory.core import IndexFault
from memory.doors.vectors import nearest, vectorfile, vectors

np = pytest.importorskip("numpy")


def test_damage_is_a_fault_or_harmless(store, provider, env, now):
    """Wherever a byte is wrong, a search refuses the file or returns sections with similarities."""
    vectors.update(store, provider, env, now)
    path = Path(vectorfile.vectors_path(store))
    good, query = path.read_bytes(), ask(provider, env, "word4x1 word4x2")
    refused = 0
    for at in range(0, len(good), 61):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
        try:
            found = nearest.search(store, query, 5)
            assert all(-1.0 <= value <= 1.0 for _, _, value in found)
        except IndexFault as error:
            refused += 1
            assert "dayleaf index build --embeddings" in str(error) and "\n" not in str(error)
    assert refused


@pytest.mark.parametrize("at", [9, 100, 4096 - 300, 4096, 4096 * 2])
def test_a_damaged_page_is_mended_by_the_next_update(store, provider, env, now, at):
    """Everything is embedded anew."""
    vectors.update(store, provider, env, now)
    path, whole = Path(vectorfile.vectors_path(store)), contents(store)
    data = bytearray(path.read_bytes())
    data[at : at + 64] = bytes(64)
    path.write_bytes(data)
    assert vectors.update(store, provider, env, now).embedded == 30
    assert contents(store) == whole and vectors.state(store)["problem"] == ""


@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"DLVEC\0\0\1" + bytes(200), bytes(5000), b"# notes\n" * 100],
)
def test_a_foreign_file_is_an_index_fault_and_then_replaced(store, provider, env, now, data):
    """Empty, short, of another version, or something else altogether."""
    Path(store.cache).mkdir(parents=True, exist_ok=True)
    Path(vectorfile.vectors_path(store)).write_bytes(data)
    with pytest.raises(IndexFault):
        nearest.search(store, np.ones(64, np.float32), 3)
    assert vectors.update(store, provider, env, now).embedded == 30


def test_no_vectors_at_all_is_an_index_fault(store):
    """The caller falls back to words, and says so."""
    with pytest.raises(IndexFault, match="No such file"):
        nearest.search(store, np.ones(64, np.float32), 3)
    assert vectors.state(store)["problem"] == ""


def test_a_cut_file_is_refused(store, provider, env, now):
    """At any length, unless the search needs nothing of what is missing."""
    vectors.update(store, provider, env, now)
    path = Path(vectorfile.vectors_path(store))
    good, query = path.read_bytes(), np.ones(64, np.float32)
    found = nearest.search(store, query, 3)
    for length in range(0, len(good), 173):
        path.write_bytes(good[:length])
        assert vectors.state(store)["problem"]
        with suppress(IndexFault):
            assert nearest.search(store, query, 3) == found
