"""Vectors of past queries: remembered by label and text, a cache that may fail."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from harness.embedded import matrix

from memory.index import pastqueries

np = pytest.importorskip("numpy")


def test_a_query_is_remembered_by_label_and_text(place, now):
    """The same numbers come back for the same words and label, and for nothing else."""
    vector = matrix(1, 64)[0]
    assert pastqueries.cached_query(place, "x", "how so", now) is None
    pastqueries.remember_query(place, "x", "how so", vector, now)
    assert (pastqueries.cached_query(place, "x", "how so", now) == vector).all()
    assert pastqueries.cached_query(place, "y", "how so", now) is None and pastqueries.cached_query(place, "x", "how", now) is None
    assert b"how so" not in Path(pastqueries.path_of(place)).read_bytes()


def test_the_queries_used_last_stay(place, now, monkeypatch):
    """A use counts; beyond MOST the oldest go."""
    monkeypatch.setattr(pastqueries, "MOST", 5)
    for i in range(5):
        pastqueries.remember_query(place, "x", f"q{i}", np.ones(8), now + i)
    assert pastqueries.cached_query(place, "x", "q0", now + 9000) is not None
    for i in range(5, 9):
        pastqueries.remember_query(place, "x", f"q{i}", np.ones(8), now + i)
    kept = [i for i in range(9) if pastqueries.cached_query(place, "x", f"q{i}", now + 9000) is not None]
    assert kept == [0, 5, 6, 7, 8]


def test_a_damaged_cache_is_an_empty_one(place, now):
    """At any byte, and as no database at all: a wrong vector never comes back, no error, and it works again after a write."""
    vector = matrix(1, 64)[0]
    path = Path(pastqueries.path_of(place))
    pastqueries.remember_query(place, "x", "q", vector, now)
    good = path.read_bytes()
    at = good.index(vector.tobytes()[:16])
    for data in (b"", b"no database at all " * 50, good[:700], good[:at] + b"\xff" + good[at + 1:], bytes(len(good))):
        path.write_bytes(data)
        assert pastqueries.cached_query(place, "x", "q", now) is None
        pastqueries.remember_query(place, "x", "q", vector, now)
        assert (pastqueries.cached_query(place, "x", "q", now) == vector).all()
    for at in range(0, len(good), 97):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1:])
        found = pastqueries.cached_query(place, "x", "q", now)
        assert found is None or (found == vector).all()


def test_a_cache_that_cannot_be_written_changes_nothing(place, now, monkeypatch):
    """Another process writes, or a folder stands in the way."""
    pastqueries.remember_query(place, "x", "q", np.ones(8), now)
    monkeypatch.setattr(pastqueries, "WAIT", 0.05)
    holder = sqlite3.connect(pastqueries.path_of(place))
    holder.execute("BEGIN EXCLUSIVE")
    pastqueries.remember_query(place, "x", "r", np.ones(8), now)
    assert pastqueries.cached_query(place, "x", "q", now) is None
    holder.rollback()
    holder.close()
    assert pastqueries.cached_query(place, "x", "q", now) is not None and pastqueries.cached_query(place, "x", "r", now) is None
    os.unlink(pastqueries.path_of(place))
    os.mkdir(pastqueries.path_of(place))
    pastqueries.remember_query(place, "x", "q", np.ones(8), now)
    assert pastqueries.cached_query(place, "x", "q", now) is None
