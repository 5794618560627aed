"""why and load: what reached the model, what would, and where pushes are off."""

from __future__ import annotations

import json

import pytest
from harness.pushes import hooked, push
from harness.vault import touch

from memory.health import accounts
from memory.store import ledger

TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."


def test_why_tells_what_was_put_into_which_prompt(ok, run, env, project):
    """Receipts come back with titles, scores and reasons; a record that is gone keeps its id."""
    assert ok("why") == "dayleaf has told Claude nothing in this project yet\n"
    id = json.loads(ok("learn", TEXT, "--json"))["id"]
    hooked(env, project, "SessionStart", "s-1", source="startup")
    hooked(env, project, "UserPromptSubmit", "s-1", prompt="jwt issuer", prompt_id="p-77")
    (start, prompt) = json.loads(ok("why", "--json"))["events"]
    assert [(item["id"], item["title"], item["reason"]) for item in start["chosen"]] == [
        (id, "Pin the JWT issuer in tests", "load_all")
    ]
    assert prompt["event"] == "prompt" and prompt["chosen"] == []
    said = ok("why", "s-1")
    assert "1 prompt got nothing" in said and "Pin the JWT issuer" in said
    assert "p-77" in ok("why", "p-77", "--json")
    ok("forget", id)
    assert "(no longer there)" in ok("why", "s-1")
    done = run("why", "x")
    assert (
        done.returncode == 2
        and "nothing is known of a session or prompt 'x'" in done.stderr
        and done.stderr.count("\n") == 1
    )


def test_why_tells_the_moment_of_each_prompt_and_what_was_then_used(ok, env, project, place, now):
    """The hook's own receipts say it: first, after a compaction, later."""
    for i in range(12):
        ok("learn", "The %s service number %d needs its own flag." % (["kafka", "redis"][i % 2], i))
    id = json.loads(
        ok(
            "learn",
            "Rotate the JWT signing key with scripts/rotate_key.sh, or logins fail.",
            "--json",
        )
    )["id"]
    for source, prompt, number in (
        ("startup", "jwt signing key rotate", "p-1"),
        ("", "thanks", "p-2"),
        ("compact", "jwt signing key rotate", "p-3"),
    ):
        if source:
            hooked(env, project, "SessionStart", "s-1", source=source)
        hooked(env, project, "UserPromptSubmit", "s-1", prompt=prompt, prompt_id=number)
    ledger.append_event(ledger.ledgers(place)[0], id, "use", now, "s-1", "p-3")
    value = json.loads(ok("why", "s-1", "--json"))
    assert [event["moment"] for event in value["events"]] == [
        "start",
        "first",
        "later",
        "start",
        "reset",
    ]
    used = [
        (one["id"], one["used"])
        for event in value["events"]
        for one in event["chosen"]
        if event["event"] == "prompt"
    ]
    assert used == [(id, False), (id, True)]
    said = ok("why", "s-1")
    assert (
        "prompt p-1, the session's first" in said
        and "prompt p-3, the first after a clear or compaction" in said
    )
    assert (
        "at the first prompt after a clear or compaction: 1 given, 1 used; 1 of 1 got something"
        in said
    )
    assert said.count(", then used") == 1
    (only,) = json.loads(ok("why", "p-3", "--json"))["events"]
    assert only["moment"] == "reset"


def test_load_shows_what_a_prompt_would_get(ok):
    """Strategy, picks with relevance and reason, every candidate with its terms, tokens saved."""
    for i in range(12):
        ok(
            "learn",
            "The %s service number %d needs its own flag."
            % (["kafka", "redis", "nginx"][i % 3], i),
        )
    ok("learn", "Rotate the JWT signing key with scripts/rotate_key.sh, or logins fail.")
    value = json.loads(ok("load", "jwt signing key rotate", "--json"))
    assert value["strategy"] == "index_filter" and value["learnings"] == 13
    assert (
        value["picks"][0]["title"].startswith("Rotate the JWT signing key")
        and value["picks"][0]["relevance"] > 1
    )
    assert value["saved"] > 0 and value["considered"][0]["terms"]
    said = ok("load", "jwt signing key rotate", "--explain")
    assert (
        "each prompt gets the nearest of them" in said
        and "compared (" in said
        and "<dayleaf-memory" in said
    )
    assert "pushes: off by the environment; remove DAYLEAF_LOAD_ENABLED" in ok(
        "load", "x", DAYLEAF_LOAD_ENABLED="false"
    )


def test_a_record_tells_what_it_was_put_into(place, now):
    """The latest sessions first, no more than asked for; a session that only names it elsewhere
    counts for nothing.
    """
    for session, at in (("s1", now - 60), ("s2", now)):
        push(place, session, at, "l-other", "l-1")
        touch(place.receipts(session), at)
    push(place, "s3", now, "l-12")
    found = accounts.find_pushes(place, "l-1", 5)
    assert [(row["session"], row["event"], row["reason"]) for row in found] == [
        ("s2", "prompt", "why"),
        ("s1", "prompt", "why"),
    ]
    assert (
        len(accounts.find_pushes(place, "l-1", 1)) == 1
        and accounts.find_pushes(place, "l-2", 5) == []
    )


@pytest.mark.parametrize("by", ["you", "the environment"])
def test_what_switches_capture_off_comes_with_the_command_against_it(run, ok, by):
    """It is the one that works."""
    more = {"DAYLEAF_CAPTURE_ENABLED": "false"} if by != "you" else {}
    if by == "you":
        ok("config", "set", "capture.enabled", "false")
    (row,) = json.loads(run("status", "--json", **more).stdout)["unkept"]
    assert row["where"] == "by " + by
    command = row["remedy"].split("`")[1]
    if by == "you":
        run(*command.split()[1:])
    else:
        del more[command.split()[1]]
    assert json.loads(run("status", "--json", **more).stdout)["unkept"] == []
