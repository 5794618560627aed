"""What was derived of files and kept: found again for the very same file alone, and never more than
a saving.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from harness.vault import put, settings

from memory.core import plaintext, tokeniser
from memory.index import builder, kept
from memory.index.kept import FactCache, read_heads
from memory.store.store import Store


def told(place, *more) -> FactCache:
    return FactCache(place, "facts", (plaintext,), *more)


def test_a_fact_is_found_again_for_the_same_file_and_the_same_program(place):
    first = told(place)
    first.put("p/learnings/a.md", "one", "words", [1, ["b", 2.5]])
    first.save()
    assert told(place).get("p/learnings/a.md", "one", "words") == [1, ["b", 2.5]]
    assert (
        told(place).get("p/learnings/a.md", "two", "words") is None
        and told(place).get("p/b.md", "one", "words") is None
    )
    assert told(place).get("p/learnings/a.md", "one", "lines") is None
    assert told(place, "a setting").get("p/learnings/a.md", "one", "words") is None
    assert FactCache(place, "facts", (tokeniser,)).get("p/learnings/a.md", "one", "words") is None


def test_what_nobody_asks_for_is_not_kept_on(place):
    first = told(place)
    for name in ("a", "b"):
        first.put(name, "one", "words", name)
    first.save()
    second = told(place)
    assert second.get("a", "one", "words") == "a"
    second.save()
    assert (
        told(place).get("b", "one", "words") is None and told(place).get("a", "one", "words") == "a"
    )


def test_a_damaged_or_absent_file_holds_nothing(place):
    first = told(place)
    first.put("a", "one", "words", "x")
    first.save()
    path = Path(first.path)
    good = path.read_bytes()
    for data in (b"", good[:-1], good.replace(b'"x"', b'"y"'), b"\0" * 99):
        path.write_bytes(data)
        assert told(place).get("a", "one", "words") is None
    path.unlink()
    assert told(place).get("a", "one", "words") is None


@pytest.fixture(name="store")
def _store(place, now):
    put(place, "p/learnings/a.md", "One", "x", "auth, build", created="2026-10-01")
    put(place, "p/plans/b.md", "Two", "x", status="odd")
    put(place, "p/learnings/c.md", "Three", "x", id="a")
    (Path(place.private) / "learnings/d.md").write_bytes(b"\xff\xfe\xfa")
    return Store(place, settings(), now)


def test_a_head_is_the_record_and_is_read_once(store, monkeypatch):
    """The rest is noted as `each` notes it, however often the heads are asked for."""
    records = list(store.each())
    noted = store.skipped, store.duplicates
    later = time.time() + 60
    assert len(noted[0]) == 1 and noted[1] == {"a": ["p/learnings/a.md", "p/learnings/c.md"]}
    read = []
    real = store.read
    monkeypatch.setattr(store, "read", lambda name: read.append(name) or real(name))
    for times in (4, 1):  # one file can never be read
        read.clear()
        found = list(read_heads(store, later))
        assert len(read) == times and (store.skipped, store.duplicates) == noted
        for head, record in zip(found, records, strict=True):
            assert all(
                getattr(head, key) == getattr(record, key)
                for key in (
                    "name",
                    "id",
                    "kind",
                    "title",
                    "created",
                    "updated",
                    "tokens",
                    "accepted",
                    "active",
                    "tier",
                )
            )
            assert (set(head.labels), tuple(head.problems)) == (
                {*record.topics, *record.tags},
                record.problems,
            )


@pytest.fixture(name="asked")
def _asked(store, monkeypatch):
    """Ask for the heads a minute later; gives the names of the files that were read for it."""

    def asked():
        read = []
        monkeypatch.setattr(
            store, "read", lambda name: read.append(name) or Store.read(store, name)
        )
        list(read_heads(store, time.time() + 60))
        return read

    return asked


def test_a_build_of_the_index_keeps_the_heads(store, place, asked, monkeypatch):
    """It reads every file anyway.  Of one whose lines YAML may read otherwise it keeps none: that
    belongs to the reader of YAML.
    """
    put(place, "p/learnings/e.md", "Five", "x", created="2026-10-01")
    path = Path(place.path("p/learnings/e.md"))
    path.write_text(path.read_text().replace("title: Five", "title: &a Five"))
    records = list(store.each())
    builder.build(place, time.time() + 60)
    assert asked() == ["p/learnings/d.md", "p/learnings/e.md"] and asked() == ["p/learnings/d.md"]
    assert [head.title for head in read_heads(store, time.time() + 60)] == [
        record.title for record in records
    ]
    monkeypatch.setattr(kept, "_identify_yaml", lambda: "another")
    assert asked() == ["p/learnings/d.md", "p/learnings/e.md"]


def test_an_edit_that_keeps_size_and_time_is_seen(store):
    later = time.time() + 60
    list(read_heads(store, later))
    path = Path(store.place.path("p/learnings/a.md"))
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"title: One", b"title: 0ne"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert next(read_heads(store, later)).title == "0ne"


def test_what_changed_just_now_is_read_again(store, monkeypatch):
    """Its time proves nothing yet."""
    changed = os.stat(store.place.path("p/learnings/a.md")).st_mtime
    list(read_heads(store, changed + 1))
    read = []
    real = store.read
    monkeypatch.setattr(store, "read", lambda name: read.append(name) or real(name))
    list(read_heads(store, changed + 60))
    assert len(read) == 4
