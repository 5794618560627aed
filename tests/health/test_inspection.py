"""`dayleaf audit`: what should not stand as it does, found where it was planted, and nothing else."""

from __future__ import annotations

import json

import pytest
from harness import talks
from harness.planted import LONG_AGO, planted
from harness.vault import put

from memory.store import ledger


@pytest.fixture(name="planted")
def _planted(place, project, env, ok):
    """One of each sort, and sound records beside them."""
    return planted(place, project, env, ok)


def test_what_is_unused_waits_for_its_evidence(ok, place):
    """A store that is younger than the span says so, in place of calling everything unused."""
    put(place, "p/learnings/old.md", "Old", "x", created=LONG_AGO, updated=LONG_AGO)
    assert "cannot be told yet" in ok("audit", "unused")
    assert "0 unused" not in ok("audit") and "nothing found" in ok("audit")


def test_a_use_counts_whoever_made_it(ok, planted):
    """A line of the ledger keeps a record that no prompt got."""
    ok("feedback", "unused", "up")
    assert json.loads(ok("audit", "unused", "--json"))["counts"]["unused"] == 1  # feedback is no use
    ledger.note(ledger.ledgers(planted)[0], "unused", "use", 1795271452.0)
    assert json.loads(ok("audit", "unused", "--json"))["counts"]["unused"] == 0


def test_a_conversation_is_searched_for_secrets_and_tells_no_stale_claim(ok, place, project):
    """What was said may hold a key; that a file it names has gone since is no fault of it."""
    key = "gh" + "p_" + "Zk3Qw9LmT7" + "xR2vBn8KcJ4hYd6PfS1gA5uE"
    talks.put(place, (talks.RESUME, "## 15:00 take this\n\nThe token is %s, see `src/gone.go`.\n" % key), files="[src/gone.go]")
    found = json.loads(ok("audit", "--json"))
    assert {one["about"] for one in found["findings"] if one["id"] == "c-7a1c0001"} == {"secrets"}
    ok("redact", "c-7a1c0001", "--apply")
    assert not [one for one in json.loads(ok("audit", "--json"))["findings"] if one["id"] == "c-7a1c0001"]
