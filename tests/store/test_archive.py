"""The archive: a record goes there and comes back, and a planted log moves nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from harness.vault import write

from memory.core import StoreError

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, links and signals")


def test_archive_and_restore_are_inverse(store, place):
    """A record goes to the archive with a line of log, and comes back byte for byte."""
    record = store.add("checkpoint", "T", "body")
    before = store.raw(record.name)
    away = store.archive(record.name, "too old")
    assert (
        away == "p/archive/" + record.name[2:]
        and list(store.names()) == []
        and store.raw(away) == before
    )
    lines = [
        json.loads(line)
        for line in Path(place.private, "archive", "log.jsonl").read_text().splitlines()
    ]
    assert lines == [
        {
            "v": 1,
            "t": "2026-11-21T14:30:52Z",
            "id": record.id,
            "from": record.name[2:],
            "to": away[2:],
            "reason": "too old",
        }
    ]
    assert store.restore(record.id) == record and list(store.names()) == [record.name]
    assert store.archive(record.name, "again") == away and store.restore(record.id) == record


def test_nothing_is_overwritten_on_the_way(store, place):
    """A taken place in the archive gets another name, a taken place in the store is an error that
    changes nothing.
    """
    record = store.add("learning", "T", "body")
    first = store.archive(record.name, "1")
    write(place, record.name, "# Another\n")
    second = store.archive(record.name, "2")
    assert first != second and store.raw(second) == b"# Another\n"
    write(place, record.name, "# Third\n")
    with pytest.raises(StoreError, match="another file is there"):
        store.restore(record.id)
    assert store.raw(record.name) == b"# Third\n" and store.raw(first).endswith(b"body\n")


def test_what_was_never_archived_is_not_restored(store, place):
    """The error names near ids; a torn line of the log is passed over."""
    record = store.add("learning", "T", "body")
    store.archive(record.name, "r")
    with Path(place.private, "archive", "log.jsonl").open("ab") as log:
        log.write(b'{"v":1,"id":"l-')
    with pytest.raises(StoreError, match="no archived record.*" + record.id):
        store.restore(record.id[:-1] + "z")
    assert store.restore(record.id) == record


def test_a_file_without_its_line_in_the_log_is_restored(store, place):
    """The log is lost or torn, or a person moved the file there; it goes where its folder or its
    kind belongs.
    """
    record = store.add("checkpoint", "Torn line", "body")
    store.archive(record.name, "r")
    Path(place.private, "archive", "log.jsonl").unlink()
    write(place, "p/archive/by-hand.md", "---\nid: r-1\nkind: rule\n---\n# By hand\n")
    write(place, "p/archive/README.md", "# No record\n")
    assert store.restore(record.id) == record
    assert store.find_archived("By hand").id == "r-1"
    assert store.restore("r-1").name == "p/rules/by-hand.md" and not store.away()


def test_a_second_copy_in_the_archive_is_no_record_of_its_own(store, place):
    """The log knows its id."""
    record = store.add("learning", "T", "body")
    data = store.raw(store.archive(record.name, "r"))
    store.restore(record.id)
    write(place, "p/archive/learnings/copy.md", data.decode())
    assert not store.away()


def test_a_planted_log_restores_nothing_outside(store, place):
    """A repository's archive log cannot make restore read or write elsewhere."""
    write(place, "s/archive/learnings/y.md", "# Y\n")
    for home, away in (
        ("../../evil.md", "archive/learnings/y.md"),
        ("learnings/x.md", "archive/../../../secret.md"),
        ("config.json", "archive/learnings/y.md"),
        (".git/hooks/x.md", "archive/learnings/y.md"),
    ):
        Path(place.shared, "archive", "log.jsonl").write_text(
            json.dumps({"v": 1, "id": "x", "from": home, "to": away}) + "\n"
        )
        with pytest.raises(StoreError):
            store.restore("x")
    assert Path(place.shared, "archive", "learnings", "y.md").exists() and os.listdir(
        place.shared
    ) == ["archive"]


@posix_only
def test_a_planted_link_for_a_log_is_not_written_through(store, place, tmp_path):
    """A repository whose archive log is a link to another file gets no line appended there."""
    target = tmp_path / "profile"
    target.write_text("mine\n")
    record = store.add("learning", "T", "body", tier="s")
    os.mkdir(place.shared + "/archive")
    os.symlink(target, place.shared + "/archive/log.jsonl")
    with pytest.raises(StoreError, match="link"):
        store.archive(record.name, "r")
    assert target.read_text() == "mine\n" and store.read(record.name) == record
