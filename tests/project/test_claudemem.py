"""What claude-mem exports becomes records."""

from __future__ import annotations

import json

from harness.vault import settings

from memory.core import clock
from memory.store.store import Store


def test_an_export_gives_a_record_for_each_entry(place, ok, tmp_path):
    """A second import writes nothing; another JSON file is left alone."""
    export = {
        "exportedAt": "2026-05-02T10:00:00.000Z",
        "query": "walrus",
        "totalObservations": 2,
        "observations": [
            {
                "id": 11,
                "type": "bugfix",
                "title": "Walrus pool closed twice",
                "narrative": "Close the pool in one place.",
                "facts": '["the worker calls close()"]',
                "concepts": '["gotcha"]',
                "files_modified": '["src/pool.ts"]',
                "created_at": "2026-05-01T09:00:00.000Z",
            },
            {
                "id": 12,
                "type": "feature",
                "title": "Otter export",
                "narrative": "Added.",
                "facts": None,
                "created_at_epoch": 1777629600000,
            },
            "not an entry",
        ],
        "sessions": [],
        "summaries": [
            {
                "id": 4,
                "request": "Fix the heron pool",
                "learned": "It has two owners",
                "next_steps": "Watch it",
                "created_at": "2026-05-01T09:30:00.000Z",
            }
        ],
        "prompts": [],
    }
    notes = {"mem/export.json": json.dumps(export, indent=2), "package.json": '{"a": 1}'}
    for name, text in notes.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    said = ok("import", "dir", str(tmp_path / "notes"))
    found = {record.title: record for record in Store(place, settings(), 0.0).each()}
    assert not any(record.problems for record in found.values())
    assert "3 new" in said and set(found) == {
        "Walrus pool closed twice",
        "Otter export",
        "Fix the heron pool",
    }
    pool = found["Walrus pool closed twice"]
    assert (pool.kind, pool.source, pool.confidence) == ("learning", "agent", "low")
    assert clock.day(pool.created) == "2026-05-01" and pool.tags == ("bugfix", "gotcha")
    assert "- the worker calls close()" in pool.body and pool.meta["files"] == ["src/pool.ts"]
    assert found["Otter export"].kind == "checkpoint"
    assert clock.iso(found["Otter export"].created) == "2026-05-01T10:00:00Z"
    assert "## Next\n\nWatch it" in found["Fix the heron pool"].body
    assert "0 new, 3 unchanged" in ok("import", "dir", str(tmp_path / "notes"))


def test_a_file_that_only_looks_like_an_export_gives_nothing(ok, tmp_path):
    """Broken JSON, and entries of another shape."""
    (tmp_path / "notes").mkdir()
    for number, text in enumerate(('{"exportedAt": 1, "totalObservations": 2', "[]", "{}")):
        (tmp_path / "notes" / ("%d.json" % number)).write_text(text)
    odd = {"exportedAt": 1, "totalObservations": 2, "observations": {"a": 1}, "summaries": [1]}
    (tmp_path / "notes" / "odd.json").write_text(json.dumps(odd))
    assert "0 new" in ok("import", "dir", str(tmp_path / "notes"))
