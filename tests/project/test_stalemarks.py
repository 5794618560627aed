"""Marks of stale records: written by the worker, read by the hooks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from harness import vault

from memory.core import clock, files, records
from memory.hook import indexview
from memory.index import builder
from memory.project import stalemarks

FROM_BYTES = records.from_bytes


def aged(place, repository, now):
    """Write two learnings on one subject, of which the one that matches better names a file that
    goes; returns its id.
    """
    meta = {"created": clock.iso(repository.now + 60)}
    vault.learnings(place, 12)
    vault.put(
        place,
        "p/learnings/better.md",
        "Kafka rebalance kafka",
        "kafka rebalance in `src/auth/jwt.py`",
        **meta,
    )
    vault.put(
        place,
        "p/learnings/other.md",
        "Kafka rebalance",
        "kafka rebalance and something else here, src/app.py",
        **meta,
    )
    repository.write(src__auth__jwt=None)
    stalemarks.write(place)
    builder.build(place, now)
    return "better"


def block(answer):
    """The text of an answer."""
    return answer["hookSpecificOutput"]["additionalContext"]


def test_a_stale_learning_is_pushed_with_its_mark_and_below_fresh_ones(
    place, repository, now, handled
):
    """The mark names the cause; without the file of marks, or once the file is back, there is
    none.
    """
    aged(place, repository, now)
    text = block(handled("prompt", prompt="why does the kafka rebalance fail?")[1])
    assert "STALE: src/auth/jwt.py is gone)" in text
    assert text.index("[other]") < text.index("[better]")
    Path(repository.root, "src/auth").mkdir(parents=True, exist_ok=True)
    Path(repository.root, "src/auth/jwt.py").write_text("x\n")
    text = block(handled("prompt", prompt="why does the kafka rebalance fail?", session_id="s2")[1])
    assert "STALE" not in text and text.index("[better]") < text.index("[other]")


def test_an_edited_record_loses_its_mark(place, repository, now, handled):
    """A mark holds for the bytes that were checked."""
    aged(place, repository, now)
    path = Path(place.path("p/learnings/better.md"))
    path.write_text(path.read_text() + "Checked again.\n")
    text = block(handled("prompt", prompt="why does the kafka rebalance fail?")[1])
    assert "[better]" in text and "STALE" not in text


def test_the_brief_marks_what_is_stale(place, repository, now, handled):
    """The newest checkpoint, by what it leaves open; the plan, learnings in full and as a list."""
    meta, commit = {"created": clock.iso(repository.now + 60)}, repository("rev-parse", "HEAD")
    for name, kind in (
        ("p/learnings/a.md", "learning"),
        ("p/plans/b.md", "plan"),
        ("p/checkpoints/2026-11-21/c.md", "checkpoint"),
    ):
        vault.put(
            place, name, "About tokens", "## Open\n\nsee `src/auth/jwt.py`", kind=kind, **meta
        )
    vault.put(place, "p/learnings/z.md", "Fresh", "see `src/app.py`", created="2026-01-01")
    repository.write(src__auth__jwt=None)
    stalemarks.write(place)
    builder.build(place, now)
    text = block(handled("start", source="startup")[1])
    assert text.count("STALE: src/auth/jwt.py is gone") == 3
    assert text.index("[z]") < text.index("[a]")
    vault.learnings(place, 12)
    vault.put(
        place,
        "p/learnings/a.md",
        "About tokens",
        "see `src/auth/jwt.py`",
        created=clock.iso(now + 90000),
        commit=commit,
    )
    stalemarks.write(place)
    builder.build(place, now)
    text = block(handled("start", source="startup", session_id="s2")[1])
    assert "STALE: src/auth/jwt.py is gone)" in text.partition("Newest of")[2]


def test_a_mark_for_a_symbol_holds_while_its_file_is_the_same(place, repository, now):
    """A file that was saved since may hold it again: only the worker can tell."""
    meta = {"created": clock.iso(repository.now + 60)}
    vault.put(place, "p/learnings/a.md", "Tokens", "`verify_token` in `src/auth/jwt.py`", **meta)
    repository.write(src__auth__jwt="x = 1\n")
    stalemarks.write(place)
    found = vault.built(place, now)
    one = records.from_bytes(
        "p/learnings/a.md", Path(place.path("p/learnings/a.md")).read_bytes(), 0.0
    )
    assert found.mark(one) == "verify_token is no longer in src/auth/jwt.py"
    vault.touch(repository.root + "/src/auth/jwt.py", 5.0)
    assert vault.built(place, now).mark(one) == ""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"v":2,"records":{}}',
        b'{"v":1}',
        b'{"v":1,"records":[]}',
        b'{"v":1,"records":{"%s":7}}',
        b'{"v":1,"records":{"%s":[[1]]}}',
        b'{"v":1,"records":{"%s":["x"]}}',
    ],
)
def test_a_broken_file_of_marks_marks_nothing(place, repository, now, handled, data):
    """What cannot be read costs the marks and not the answer."""
    aged(place, repository, now)
    checksum = files.sha256(Path(place.path("p/learnings/better.md")).read_bytes())[:16].encode()
    Path(indexview.marks_path(place)).write_bytes(data.replace(b"%s", checksum))
    text = block(handled("prompt", prompt="why does the kafka rebalance fail?")[1])
    assert "[better]" in text and "STALE" not in text


@pytest.mark.parametrize("hook", ["session_start", "session_end"])
def test_a_capture_and_a_start_write_the_marks(place, repository, now, world, hook):
    """The detached child writes them, for the user alone; the file goes when nothing is stale."""
    from harness.hook import ROOT, fire, payload
    from harness.lab import until

    aged(place, repository, now)
    files.remove(indexview.marks_path(place))
    transcript = Path(
        world["HOME"], ".claude/projects/p/7c997624-fc22-4860-bbcc-56cf0cc98ee9.jsonl"
    )
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes((ROOT / "tests/data/transcripts/tools-interactive.jsonl").read_bytes())
    event = (
        payload("SessionStart", "startup")
        if hook == "session_start"
        else payload("SessionEnd", "other", transcript_path=str(transcript))
    )
    fire(hook, event, world)
    until(lambda: os.path.exists(indexview.marks_path(place)))
    assert os.stat(indexview.marks_path(place)).st_mode & 0o777 == 0o600
    row = json.loads(Path(indexview.marks_path(place)).read_text())
    assert row["v"] == 1 and ["src/auth/jwt.py"] in [
        [cause[1] for cause in causes] for causes in row["records"].values()
    ]
    for folder in ("learnings", "checkpoints"):
        for path in Path(place.private, folder).rglob("*.md"):
            path.unlink()
    stalemarks.write(place)
    assert not os.path.exists(indexview.marks_path(place))


def test_what_has_not_changed_is_not_read_again(place, repository, now, monkeypatch):
    """A record is checked again once it, a file that it names, or git's state has changed."""
    aged(place, repository, now)
    read = []
    monkeypatch.setattr(
        records, "from_bytes", lambda name, *rest: read.append(name) or FROM_BYTES(name, *rest)
    )
    marks = Path(indexview.marks_path(place)).read_bytes()
    stalemarks.write(place)
    assert read == [] and Path(indexview.marks_path(place)).read_bytes() == marks
    Path(repository.root, "src/auth").mkdir(parents=True, exist_ok=True)
    Path(repository.root, "src/auth/jwt.py").write_text("x\n")
    stalemarks.write(place)
    assert read == ["p/learnings/better.md"]
    assert not Path(indexview.marks_path(place)).exists()
    vault.put(place, "p/learnings/other.md", "Kafka rebalance", "now it names `src/none.py`")
    stalemarks.write(place)
    assert read[1:] == ["p/learnings/other.md"]
    repository.write(next="x")
    stalemarks.write(place)
    assert len(read) > 12
