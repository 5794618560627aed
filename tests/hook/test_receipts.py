"""Receipts: what was shown and why, a session's switch, no text."""

from __future__ import annotations

import json
import os

import pytest
from harness import vault

from memory.hook import receipts
from memory.index import builder


@pytest.fixture
def session(handled):
    """Send an event to the handlers as the host would; returns the block, or ""."""

    def send(event, **keys):
        return (handled(event, **keys)[1].get("hookSpecificOutput") or {}).get(
            "additionalContext", ""
        )

    return send


def test_a_receipt_tells_what_why_and_how_much_without_text(session, place, now):
    """Ids, scores, reasons, sizes; the prompt only as a short hash."""
    vault.learnings(place, 12)
    vault.put(place, "p/learnings/kafka.md", "Kafka offsets", "Commit offsets after the batch.")
    builder.build(place, now)
    session("start", source="startup")
    session("prompt", prompt="kafka offsets are lost")
    raw = open(place.receipts("s1")).read()
    start, prompt = map(json.loads, raw.splitlines())
    assert (start["event"], start["source"], start["transcript"]) == (
        "start",
        "startup",
        "/nowhere/s1.jsonl",
    )
    assert (
        prompt["chosen"][0][0] == "kafka"
        and prompt["chosen"][0][1] > 0.9
        and prompt["strategy"] == "index_filter"
    )
    assert prompt["chars"] > 0 and prompt["saved"] >= 0 and len(prompt["query"]) == 8
    assert "lost" not in raw and "Commit" not in raw
    assert oct(os.stat(place.receipts("s1")).st_mode & 0o777) == "0o600"


def test_a_session_that_is_off_gets_nothing_until_it_is_on(session, place, now):
    """`/dayleaf:off`, then `/dayleaf:on`."""
    vault.learnings(place, 12)
    builder.build(place, now)
    path = place.receipts("s1")
    receipts.write(path, {"v": 1, "event": "off"})
    assert session("prompt", prompt="word001x1 word001x2") == ""
    receipts.write(path, {"v": 1, "event": "on"})
    assert "word001x1" in session("prompt", prompt="word001x1 word001x2")
