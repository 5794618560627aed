"""`dayleaf store upkeep` and `undo`: what they say, who stays, and words that are off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import vault
from harness.pairs import texts, twins

from memory.store.store import Store


@pytest.fixture
def store(place, now) -> Store:
    """The records of the project."""
    return Store(place, vault.settings(), now)


def test_a_merged_record_comes_back_where_the_kept_one_is_gone_for_good(place, now, ok, run):
    """Show names the way, and the way works."""
    twins(place, now)
    ok("upkeep", "--apply")
    ok("forget", "--hard", "b0", "--yes")
    done = run("show", "a0")
    assert (
        done.returncode == 1
        and "'a0' was merged into b0, which is gone; `dayleaf store restore a0` brings it back"
        in done.stderr
    )
    ok("restore", "a0")
    assert ok("show", "a0").startswith("Quote paths 0  a0")


def test_the_one_that_helped_more_stays_and_counts_for_both(store, place, now, ok):
    """Feedback decides who is kept; show and a later upkeep count both; an undo parts them
    again.
    """
    twins(place, now)
    for number, id in enumerate(("a0", "a0", "b0")):
        ok("feedback", id, "up", CLAUDE_CODE_SESSION_ID="s%d" % number)
    assert "as a0" in ok("upkeep", "--apply")
    shown = json.loads(ok("show", "b0", "--json"))
    assert (shown["id"], shown["merged"], shown["up"]) == ("a0", "b0", 3)
    (hit,) = json.loads(ok("recall", "quote", "--json", "--explain"))["hits"]
    assert (hit["id"], "3" in str(hit["why"]) + str(hit["parts"])) == ("a0", True)
    ok("undo")
    assert [json.loads(ok("show", id, "--json"))["up"] for id in ("a0", "b0")] == [2, 1]


def test_what_misled_is_pushed_with_its_mark_under_the_id_that_stands_for_it(store, place, now, ok):
    """The hooks' list follows a merge, its undo, a restore."""
    twins(place, now)
    listed = Path(place.misled()[0])
    ok("feedback", "a0", "down", CLAUDE_CODE_SESSION_ID="s1")
    assert listed.read_text() == "a0\n"
    ok("upkeep", "--apply")
    assert "b0" in listed.read_text().split()
    ok("undo")
    assert listed.read_text() == "a0\n"
    ok("upkeep", "--apply")
    ok("restore", "a0")
    assert listed.read_text() == "a0\n"


def test_doctor_and_status_suggest_a_run_that_is_worth_it(place, now, ok, run):
    """From ten changes on, with the command; below that nothing is said."""
    twins(place, now, 9)
    assert (
        "would merge" not in ok("status")
        and "not due: it would make 9 changes" in run("doctor").stdout
    )
    twins(place, now, 10)
    for said in (ok("status"), run("doctor").stdout):
        assert "would merge 10 and archive 0 of 20 records; `dayleaf store upkeep` shows it" in said
    ok("upkeep", "--apply")
    assert "would merge" not in ok("status") + run("doctor").stdout


def test_wrong_words_change_nothing(place, now, run):
    """Words, an unknown way, an option with a slip: status 2, one line, nothing done."""
    twins(place, now)
    for words in (
        ("upkeep", "now"),
        ("upkeep", "--aply"),
        ("undo", "b0"),
    ):
        done = run(*words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and len(texts(place)) == 2
