"""eval: golden queries drafted from the user's own store, rankers measured by them, and what has changed since."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from stubs import provider
from vault import put, settings

from memory import goldens, indexer, ledger, measured, scoring, vectors
from memory.errors import StoreError
from memory.goldens import Golden
from memory.question import Query
from memory.store import Store

SUBJECTS = ("kafka rebalance timeout", "webpack cache directory", "postgres vacuum schedule", "login session expiry",
            "docker layer ordering", "pytest fixture scope", "retry backoff jitter", "invoice rounding cents",
            "캐시 무효화 순서", "timezone offset parsing", "feature flag rollout", "thumbnail worker queue")


@pytest.fixture
def store(place, now):
    """Twelve learnings on different subjects, and two checkpoints, indexed."""
    for i, subject in enumerate(SUBJECTS):
        put(place, f"p/learnings/l{i:02d}.md", f"The {subject} trap is real", f"Set `opt_{i:02d}_max` where {subject} fails.",
            created="2026-11-01")
    for i, asked in enumerate(("move the billing cron to the new scheduler", "why does the deploy job hang at night")):
        put(place, f"p/checkpoints/2026-11-02/c{i}.md", f"Work {i}", f"## Request\n\n- {asked}\n\n## Done\n\n- something\n",
            session=f"s{i}")
    indexer.build(place, now)
    return place


def golden(path, *rows, floor=""):
    """Write a file of golden queries: (query, ids)."""
    path = Path(path)
    lines = ["queries:", *("  - {query: %s, expect: [%s]}" % (json.dumps(query, ensure_ascii=False), ids) for query, ids in rows)]
    path.write_text(("floor: %s\n" % floor if floor else "") + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def result(ok, *words, **more):
    """Return what eval says in JSON of one file."""
    (one,) = json.loads(ok("eval", "--json", *words, **more))
    return one


# ---- the draft

def test_a_draft_asks_for_the_users_own_records(store, ok, place):
    """Each query expects a record that is there, says how it was made, and the file reads back."""
    value = json.loads(ok("eval", "--template", "--json"))
    path = Path(value["path"])
    assert path == Path(place.private, "evals", "golden.yaml") and path.stat().st_mode & 0o777 == 0o600
    said = path.read_text(encoding="utf-8")
    for how in ("its title in other words", "its title with a slip", "rare words of its text", "the request of its session"):
        assert f"# {how}: " in said
    found = goldens.read(str(path), 0.0, 0.0)
    assert value["queries"] == len(found.queries) == 20 and found.floor == {"recall@5": 0.8, "mrr": 0.6}
    ids = {record.id for record in Store(place, settings(), 0.0).each()}
    assert {id for one in found.queries for id in one.expect} == ids
    assert len({one.query.text.lower() for one in found.queries}) == 20
    assert any("billing" in one.query.text and one.expect == ("c0",) for one in found.queries)


def test_the_same_records_give_the_same_draft(store, place):
    """In whatever order they are read."""
    found = list(Store(place, settings(), 0.0).each())
    assert goldens.draft(found, list) == goldens.draft(found[::-1], list)


def test_a_draft_overwrites_nothing(store, run, ok, tmp_path):
    """Neither the private one nor a file that is named."""
    ok("eval", "--template")
    assert run("eval", "--template").returncode == 1
    mine = tmp_path / "my queries.yaml"
    mine.write_text("mine\n")
    done = run("eval", "--template", str(mine))
    assert done.returncode == 1 and "is there already" in done.stderr and mine.read_text() == "mine\n"
    other = tmp_path / "other queries.yaml"
    assert "dayleaf eval '%s'" % other in ok("eval", "--template", str(other))


def test_a_large_store_gives_fifty_queries(place, ok, now):
    """One for each record, of those that come first."""
    for i in range(80):
        put(place, f"p/learnings/l{i:02d}.md", f"The alpha{i} beta{i} gamma{i} trap", f"See file_{i}.py.")
    assert json.loads(ok("eval", "--template", "--json"))["queries"] == 50


def test_equal_titles_are_expected_together(place, now):
    """Nobody can tell which of them was meant; of many with one title none is asked for."""
    for i in range(2):
        put(place, f"p/learnings/a{i}.md", "The kafka rebalance trap", f"Body {i}.")
    for i in range(9):
        put(place, f"p/learnings/b{i}.md", "Weekly notes of everybody", f"Text {i}.")
    drafts = goldens.draft(list(Store(place, settings(), now).each()), list)
    assert drafts and all({r.id for r in one.expect} == {"a0", "a1"} for one in drafts)


def test_no_secret_reaches_a_draft(place, ok):
    """A secret that a person wrote into a record by hand is taken out of the queries made of it."""
    secret = "ghp_" + "qT7vN2xLw9RbK4mZ" + "8sYd3HfJ6pGc5aUeV1oX"
    put(place, "p/learnings/a.md", "Token of the deploy user", f"Use `{secret}` with deploy_user.")
    ok("eval", "--template")
    said = Path(place.private, "evals", goldens.NAME).read_text()
    assert "deploy" in said and secret not in said and secret.lower() not in said


# ---- the measures

def test_each_ranker_beside_the_baseline(store, ok, tmp_path):
    """Two spellings that no record holds are found by the fuzzy ranker alone; the best are marked."""
    path = golden(tmp_path / "g.yaml", ("kafka rebalance", "l00"), ("pytest fixtrue", "l05"), ("thumbnial", "l11"))
    one = result(ok, path)
    assert one["rankers"]["fuzzy"] == {"recall@1": 1.0, "recall@5": 1.0, "recall@10": 1.0, "mrr": 1.0}
    assert one["rankers"]["lexical"]["recall@10"] == one["rankers"]["grep"]["recall@10"] == 0.6667
    assert one["main"] == "fuzzy" and "semantic" not in one["rankers"] and "not set up" in one["notes"][0]
    said = ok("eval", path)
    row = next(line for line in said.splitlines() if line.split()[:1] == ["fuzzy"])
    assert row.split() == ["fuzzy", "1.00*", "1.00*", "1.00*", "1.00*", "what", "recall", "uses"]
    assert "0.67*" not in said


def test_without_misspellings_where_the_user_wants_none(store, ok, tmp_path):
    """`recall.without` may hold `fuzzy`: then recall does not guess, and eval says that lexical is what recall uses."""
    assert "l11" in ok("recall", "thumbnial") and "l11" not in ok("recall", "thumbnial", DAYLEAF_RECALL_WITHOUT='["fuzzy"]')
    path = golden(tmp_path / "g.yaml", ("thumbnial", "l11"))
    assert result(ok, path, DAYLEAF_RECALL_WITHOUT='["fuzzy"]')["main"] == "lexical"


def test_vectors_are_measured_where_they_are_armed(store, now, env, tmp_path):
    """As a ranker of its own; it is the one that recall uses where the setting says so."""
    made = provider(tmp_path)
    chosen = settings(recall_semantic=True)
    chosen.values.update({"embeddings.provider.command": made.command, "embeddings.provider.args": list(made.args),
                          "embeddings.modelLabel": made.label})
    vectors.update(store, made, env, now)
    path = golden(tmp_path / "g.yaml", ("kafka rebalance timeout", "l00"))
    records = list(Store(store, chosen, now).each())
    found = measured.measure(store, chosen, env, goldens.read(path, now, 0.0), records, {}, now, 0.0, lambda ranker: None)
    assert found.main == "semantic" and found.measures["semantic"]["mrr"] == 1.0


def test_options_of_recall_stand_beside_a_query(store, ok, tmp_path):
    """A kind, a tag or a time, by their names."""
    path = tmp_path / "g.yaml"
    path.write_text("queries:\n  - {query: deploy job, kind: learning, expect: c1}\n  - {query: deploy job, expect: 'c1'}\n")
    one = result(ok, str(path))
    assert [miss["query"] for miss in one["misses"]] == ["q01"] and one["rankers"]["fuzzy"]["recall@1"] == 0.5


def test_misses_are_listed_on_request(store, ok, tmp_path):
    """With the words and the ids."""
    path = golden(tmp_path / "g.yaml", ("kafka rebalance", "l00"), ("kafka rebalance", "l01"))
    assert "Missed" not in ok("eval", path)
    assert "  q02  l01  kafka rebalance" in ok("eval", path, "--misses")


def test_the_maths():
    """Recall at a depth is the share of what is expected, the reciprocal rank that of the first found."""
    found = scoring.score({"a": ["x", "y", "z"], "b": []}, [{"id": "a"}, {"id": "b"}], {"a": {"y": 1.0, "q": 1.0}, "b": {"z": 1.0}})
    assert (found["r@1"], found["r@5"], found["mrr"]) == (0, 0.5, 0.5)
    assert scoring.word_count([("a", "Kafka kafka"), ("b", "kafka"), ("c", "x")], [("q", "the kafka")]) == {"q": ["a", "b"]}


# ---- the floor

def test_strict_fails_below_the_floor_alone(store, run, tmp_path):
    """Status 1 and the measure that is below; without a floor there is nothing to be strict about."""
    rows = (("kafka rebalance", "l00"), ("kafka rebalance", "l01"))
    path = golden(tmp_path / "g.yaml", *rows, floor="{recall@5: 0.8, mrr: 0.5}")
    assert run("eval", path).returncode == 0
    done = run("eval", path, "--strict")
    assert done.returncode == 1 and "! recall@5 is 0.50 with fuzzy, below the floor of 0.80" in done.stdout
    assert "mrr is" not in done.stdout
    path = golden(tmp_path / "g.yaml", *rows, floor="{recall@5: 0.5}")
    assert run("eval", path, "--strict").returncode == 0
    done = run("eval", golden(tmp_path / "g.yaml", *rows), "--strict")
    assert done.returncode == 2 and "wants a floor" in done.stderr


# ---- what has changed

def test_what_has_changed_since_the_last_run(store, ok, place, tmp_path):
    """A record that sank, one that was lost, and why that may be; the same again says so."""
    path = golden(tmp_path / "g.yaml", ("kafka rebalance", "l00"), ("webpack cache", "l01"), ("login session", "l03"))
    assert "the first run" in ok("eval", path)
    assert ": the same measures" in ok("eval", path)
    for i in range(12):
        put(place, f"p/learnings/k{i:02d}.md", "kafka rebalance kafka rebalance", "kafka rebalance", created="2026-11-20")
    put(place, "p/learnings/w.md", "webpack cache", "webpack cache", created="2026-11-20")
    one = result(ok, path)
    assert one["changed"] == ["the records"] and one["before"]["mrr"] == 1.0
    assert one["moved"] == [{"query": "q01", "id": "l00", "before": 1, "after": 0},
                            {"query": "q02", "id": "l01", "before": 1, "after": 2}]
    for name in list(Path(place.folder("p", "learning")).glob("k*.md")):
        name.unlink()
    said = ok("eval", path, DAYLEAF_RECALL_RERANK="none")
    assert "(the settings, the records changed): recall@1 0.33 → 0.67" in said and "q01 found l00 (rank – → 1)" in said


def test_a_query_that_was_edited_is_not_compared(store, ok, tmp_path):
    """Its rank is of other words."""
    path = golden(tmp_path / "g.yaml", ("kafka rebalance", "l00"))
    ok("eval", path)
    golden(tmp_path / "g.yaml", ("nothing of the kind", "l00"))
    one = result(ok, path)
    assert one["changed"] == ["the queries"] and one["moved"] == []


def test_a_damaged_log_of_runs_is_no_log(store, ok, place, tmp_path):
    """It is derived; what cannot be read is passed over, and it holds no word of a query."""
    path = golden(tmp_path / "g.yaml", ("kafka rebalance", "l00"))
    ok("eval", path)
    log = Path(place.cache, "evals.jsonl")
    assert "kafka" not in log.read_text() and log.stat().st_mode & 0o777 == 0o600
    log.write_text('torn\n{"v":1,"file":5,"queries":[],"measures":3}\n')
    assert "the first run" in ok("eval", path)


# ---- what is off

def test_records_that_are_gone_are_said_and_left_out(store, ok, place, run, tmp_path):
    """A merged one is looked for as the record that stands for it."""
    path = golden(tmp_path / "g.yaml", ("kafka rebalance", "l00, gone1"), ("webpack cache", "gone2"), ("postgres", "l02"))
    keeper = Store(place, settings(), 0.0)
    keeper.archive("p/learnings/l02.md", "says the same", into="l00")
    one = result(ok, path)
    assert one["gone"] == {"q01": ["gone1"], "q02": ["gone2"]} and one["leftOut"] == ["q02"] and one["queries"] == 2
    assert one["misses"] == [{"query": "q03", "text": "postgres", "missed": ["l00"]}]
    assert "! 2 ids expected and no record: gone1, gone2" in ok("eval", path)
    done = run("eval", golden(tmp_path / "h.yaml", ("x", "gone1")))
    assert done.returncode == 1 and "none of the expected records is there" in done.stderr and "h.yaml" in done.stderr


BAD = [
    ("queries: [a\n", "no YAML (line "), ("", "no keys"), ("- a\n- b\n", "no YAML"), ("just words\n", "no YAML"),
    ("queries: words\n", "no list `queries:`"), ("queries: []\n", "no list `queries:`"),
    ("queries:\n  - words\n", "is no `query:`"), ("queries:\n  - {query: x}\n", "query q01 expects no record"),
    ("queries:\n  - {expect: x}\n", "query q01 has no text"), ("queries:\n  - {query: [x], expect: y}\n", "has no text"),
    ("queries:\n  - {id: a, query: x, expect: y}\n  - {id: a, query: x, expect: y}\n", "the id 'a' stands twice"),
    ("queries:\n  - {query: x, knd: y, expect: z}\n", "query q01: no option 'knd'"),
    ("queries:\n  - {query: &a x, expect: y}\n", "line 2: anchors"), ("queries:\n  - {query: !!python/name:os x, expect: y}\n", "tags"),
    ("floor: 3\nqueries:\n  - {query: x, expect: y}\n", "no mapping"),
    ("floor: {recall@7: 0.5}\nqueries:\n  - {query: x, expect: y}\n", "'recall@7: 0.5' is none"),
    ("floor: {mrr: 80}\nqueries:\n  - {query: x, expect: y}\n", "from 0 to 1"), ("a: 1\na: 2\n", "stands twice")]


@pytest.mark.parametrize(("content", "said"), BAD, ids=[said for _, said in BAD])
def test_a_file_that_is_none_is_said_in_one_line(content, said, tmp_path):
    """With the file, the place and the remedy."""
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(StoreError) as caught:
        goldens.read(str(path), 0.0, 0.0)
    assert said in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path, store, run):
    """UTF-16, a directory, nothing at all."""
    (tmp_path / "x.yaml").write_bytes("queries:".encode("utf-16"))
    for name in ("x.yaml", ".", "none.yaml"):
        done = run("eval", str(tmp_path / name))
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and done.stderr.startswith("dayleaf: "), done.stderr


def test_an_empty_store_and_no_file(run, place, now):
    """Each with the way on."""
    assert "nothing to find" in run("eval").stderr and "no record to draft" in run("eval", "--template").stderr
    put(place, "p/learnings/a.md", "A title", "x")
    assert "dayleaf eval --template" in run("eval").stderr


def test_every_file_of_the_private_and_shared_tier_is_asked(store, ok, place):
    """In their order; a link out of the tier is not."""
    for folder in (place.private, place.shared):
        os.makedirs(folder + "/evals")
        golden(folder + "/evals/a.yaml", ("kafka rebalance", "l00"))
    assert [one["path"] for one in json.loads(ok("eval", "--json"))] == [
        place.private + "/evals/a.yaml", place.shared + "/evals/a.yaml"]


def test_asking_changes_no_record_and_no_ledger(store, ok, place, tmp_path):
    """A measure that moved what it measures would be none."""
    book = ledger.ledgers(place)[0].path
    before = {p: p.read_bytes() for p in Path(place.private).rglob("*") if p.is_file()}
    ok("eval", golden(tmp_path / "g.yaml", ("kafka rebalance", "l00")))
    assert {p: p.read_bytes() for p in Path(place.private).rglob("*") if p.is_file()} == before and not os.path.exists(book)


def test_what_moved_is_told_losses_first():
    """By how much they weigh in the reciprocal rank."""
    def run_of(**ranks):
        return {"main": "fuzzy", "queries": {query: ["d", {"id": rank}] for query, rank in ranks.items()}}

    found = measured.moved(run_of(a=2, b=1, c=0, d=5), run_of(a=7, b=0, c=3, d=5))
    assert [(one["query"], one["before"], one["after"]) for one in found] == [("b", 1, 0), ("a", 2, 7), ("c", 0, 3)]
    assert measured.moved({**run_of(a=2), "main": "lexical"}, run_of(a=7)) == []
    assert measured.present([Golden("q", Query("x"), ("a", "b"))], {"c"}, {"a": "c"}) == (
        (Golden("q", Query("x"), ("c",)),), {"q": ("b",)})
