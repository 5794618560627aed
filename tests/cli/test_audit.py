"""`dayleaf store audit`: every sort, the commands that mend, the summary, every workspace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.planted import SECRET, planted

EXPECTED = {
    "secrets": ["away", "config.json", "secret"],
    "stale": ["stale"],
    "unused": ["unused"],
    "duplicates": ["twin1|twin2"],
    "contradictions": ["no|yes"],
    "dangling": ["linked"],
    "oversize": ["long"],
}


@pytest.fixture(name="planted")
def _planted(place, project, env, ok):
    """One of each sort, and sound records beside them."""
    return planted(place, project, env, ok)


def test_each_sort_is_found_and_nothing_else(run, ok, planted):
    """By section, with the line, and the secret itself nowhere."""
    value = json.loads(ok("audit", "--json"))
    for section, wanted in EXPECTED.items():
        found = sorted(
            one["id"] or one["title"] for one in value["findings"] if one["section"] == section
        )
        assert len(found) == len(wanted) and all(
            a in b.split("|") for a, b in zip(found, wanted)
        ), (section, found)
    [secret] = [one for one in value["findings"] if one["id"] == "secret"]
    assert (secret["line"], "redact secret" in secret["remedy"]) == (7, True)
    text = ok("audit")
    assert text == ok("audit") and SECRET not in text + json.dumps(value)
    assert "Secrets (3)" in text and "learnings/secret.md:7" in text
    assert run("audit", "--strict").returncode == 1 and run("audit").returncode == 0
    assert run("audit", "oversize", "--strict").returncode == 1


def test_the_commands_it_names_mend(run, ok, planted):
    """What can be mended by a command is gone after it."""
    for words in (
        ["redact", "secret", "--apply", "--everywhere"],
        ["upkeep", "--apply"],
        ["forget", "unused"],
        ["forget", "no"],
    ):
        run(*words)
    Path(planted.home, "config.json").write_text("{}")
    counts = json.loads(ok("audit", "--json"))["counts"]
    assert counts == {
        "secrets": 0,
        "stale": 1,
        "unused": 0,
        "duplicates": 0,
        "contradictions": 0,
        "dangling": 1,
        "oversize": 1,
    }


def test_status_tells_of_the_last_audit(ok, planted):
    """Of one over all sections; derived, so a damaged summary is none."""
    assert "last audit: never" in ok("status")
    ok("audit", "secrets")
    assert "last audit: never" in ok("status")
    ok("audit")
    assert (
        "3 secrets" in ok("status")
        and json.loads(ok("status", "--json"))["audit"]["counts"]["stale"] == 1
    )
    path = next(Path(planted.cache).glob("*.audit"))
    path.write_bytes(path.read_bytes()[:-5])
    assert "last audit: never" in ok("status")


def test_a_section_that_is_none_is_named_with_the_nearest(run, planted):
    done = run("audit", "secret")
    assert done.returncode == 2 and "did you mean 'secrets'?" in done.stderr
