"""eval: rankers measured by golden queries."""

from __future__ import annotations

import json
import os
from pathlib import Path

from harness import talks
from harness.vault import put, settings

from memory.health import measurements
from memory.health.goldens import Golden
from memory.recall.question import Query
from memory.store import ledger
from memory.store.store import Store


def golden(path, *rows, floor=""):
    """Write a file of golden queries: (query, ids)."""
    path = Path(path)
    lines = [
        "queries:",
        *(
            "  - {query: %s, expect: [%s]}" % (json.dumps(query, ensure_ascii=False), ids)
            for query, ids in rows
        ),
    ]
    path.write_text(
        ("floor: %s\n" % floor if floor else "") + "\n".join(lines) + "\n", encoding="utf-8"
    )
    return str(path)


def result(ok, *words, **more):
    """Return what eval says in JSON of one file."""
    (one,) = json.loads(ok("eval", "--json", *words, **more))
    return one


# ---- the measures


def test_a_conversation_is_found_with_its_session(place, ok, tmp_path):
    """A hit of a session names it; whoever wrote its id as the one that answers is not told that it
    was missed.
    """
    talks.put(place, id="c-7a1c0001")
    put(
        place,
        "p/checkpoints/2026-01-23/x.md",
        "Resume on fresh clones",
        "The marker was never committed.",
        id="c-1",
        conversation="c-7a1c0001",
        session=talks.SESSION,
    )
    one = result(
        ok,
        golden(
            tmp_path / "g.yaml", ("resume on fresh clones", "c-7a1c0001"), ("resume marker", "c-1")
        ),
    )
    assert one["misses"] == [] and one["rankers"]["fuzzy"]["recall@5"] == 1.0
    one = result(ok, golden(tmp_path / "h.yaml", ("marker before it reads it", "c-1")))
    assert one["rankers"]["grep"]["recall@1"] == 1.0, (
        "the conversation, which holds more of the words, is of the same session"
    )


def test_each_ranker_beside_the_baseline(store, ok, tmp_path):
    """Two spellings that no record holds are found by the fuzzy ranker alone; the best are
    marked.
    """
    path = golden(
        tmp_path / "g.yaml",
        ("kafka rebalance", "l00"),
        ("pytest fixtrue", "l05"),
        ("thumbnial", "l11"),
    )
    one = result(ok, path)
    assert one["rankers"]["fuzzy"] == {
        "recall@1": 1.0,
        "recall@5": 1.0,
        "recall@10": 1.0,
        "mrr": 1.0,
    }
    assert one["rankers"]["lexical"]["recall@10"] == one["rankers"]["grep"]["recall@10"] == 0.6667
    assert (
        one["main"] == "fuzzy"
        and "semantic" not in one["rankers"]
        and "not set up" in one["notes"][0]
    )
    said = ok("eval", path)
    row = next(line for line in said.splitlines() if line.split()[:1] == ["fuzzy"])
    assert row.split() == ["fuzzy", "1.00*", "1.00*", "1.00*", "1.00*", "what", "recall", "uses"]
    assert "0.67*" not in said


def test_options_of_recall_stand_beside_a_query(store, ok, tmp_path):
    """A kind, a tag or a time, by their names."""
    path = tmp_path / "g.yaml"
    path.write_text(
        "queries:\n  - {query: deploy job, kind: learning, expect: c1}\n"
        "  - {query: deploy job, expect: 'c1'}\n"
    )
    one = result(ok, str(path))
    assert [miss["query"] for miss in one["misses"]] == ["q01"] and one["rankers"]["fuzzy"][
        "recall@1"
    ] == 0.5


def test_a_query_that_names_a_ranker_is_measured_by_it(store, ok, tmp_path):
    """A misspelt word is found by the fuzzy ranker; of a query that asks for words alone the
    misspelling is a miss.
    """
    path = tmp_path / "g.yaml"
    path.write_text(
        "queries:\n  - {query: thumbnial, expect: l11}\n"
        "  - {query: thumbnial, expect: l11, ranker: lexical}\n"
    )
    one = result(ok, str(path))
    assert [miss["query"] for miss in one["misses"]] == ["q02"]
    assert one["rankers"]["fuzzy"]["recall@1"] == 0.5


def test_misses_are_listed(store, ok, tmp_path):
    """With the words and the ids."""
    path = golden(tmp_path / "g.yaml", ("kafka rebalance", "l00"), ("kafka rebalance", "l01"))
    assert "  q02  l01  kafka rebalance" in ok("eval", path)


# ---- the floor


def test_strict_fails_below_the_floor_alone(store, run, tmp_path):
    """Status 1 and the measure that is below; without a floor there is nothing to be strict
    about.
    """
    rows = (("kafka rebalance", "l00"), ("kafka rebalance", "l01"))
    path = golden(tmp_path / "g.yaml", *rows, floor="{recall@5: 0.8, mrr: 0.5}")
    assert run("eval", path).returncode == 0
    done = run("eval", path, "--strict")
    assert (
        done.returncode == 1
        and "! recall@5 is 0.50 with fuzzy, below the floor of 0.80" in done.stdout
    )
    assert "mrr is" not in done.stdout
    path = golden(tmp_path / "g.yaml", *rows, floor="{recall@5: 0.5}")
    assert run("eval", path, "--strict").returncode == 0
    done = run("eval", golden(tmp_path / "g.yaml", *rows), "--strict")
    assert done.returncode == 2 and "needs a floor" in done.stderr


# ---- what is off


def test_records_that_are_gone_are_said_and_left_out(store, ok, place, run, tmp_path):
    """A merged one is looked for as the record that stands for it."""
    path = golden(
        tmp_path / "g.yaml",
        ("kafka rebalance", "l00, gone1"),
        ("webpack cache", "gone2"),
        ("postgres", "l02"),
    )
    keeper = Store(place, settings(), 0.0)
    keeper.archive("p/learnings/l02.md", "says the same", into="l00")
    one = result(ok, path)
    assert (
        one["gone"] == {"q01": ["gone1"], "q02": ["gone2"]}
        and one["leftOut"] == ["q02"]
        and one["queries"] == 2
    )
    assert one["misses"] == [{"query": "q03", "text": "postgres", "missed": ["l00"]}]
    assert "! 2 ids expected but not in the store: gone1, gone2" in ok("eval", path)
    done = run("eval", golden(tmp_path / "h.yaml", ("x", "gone1")))
    assert (
        done.returncode == 1
        and "none of the expected records exists" in done.stderr
        and "h.yaml" in done.stderr
    )


def test_an_empty_store_and_no_file(run, place, now):
    """Each with the way on."""
    assert (
        "nothing to find" in run("eval").stderr
        and "no record to draft" in run("eval", "--template").stderr
    )
    put(place, "p/learnings/a.md", "A title", "x")
    assert "dayleaf debug eval --template" in run("eval").stderr


def test_every_file_of_the_private_and_shared_tier_is_asked(store, ok, place):
    """In their order; a link out of the tier is not."""
    for folder in (place.private, place.shared):
        os.makedirs(folder + "/evals")
        golden(folder + "/evals/a.yaml", ("kafka rebalance", "l00"))
    assert [one["path"] for one in json.loads(ok("eval", "--json"))] == [
        place.private + "/evals/a.yaml",
        place.shared + "/evals/a.yaml",
    ]


def test_asking_changes_no_record_and_no_ledger(store, ok, place, tmp_path):
    """A measure that moved what it measures would be none."""
    book = ledger.ledgers(place)[0].path
    before = {p: p.read_bytes() for p in Path(place.private).rglob("*") if p.is_file()}
    ok("eval", golden(tmp_path / "g.yaml", ("kafka rebalance", "l00")))
    assert {
        p: p.read_bytes() for p in Path(place.private).rglob("*") if p.is_file()
    } == before and not os.path.exists(book)


def test_a_merged_record_is_looked_for_as_the_one_that_stands_for_it():
    """And what is gone is named by its query."""
    assert measurements.select_answerable(
        [Golden("q", Query("x"), ("a", "b"))], {"c"}, {"a": "c"}
    ) == (
        (Golden("q", Query("x"), ("c",)),),
        {"q": ("b",)},
    )
