"""Golden queries: read from a file that a person wrote, and drafted from the records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import talks
from harness.vault import put, settings

from memory.core import StoreError, clock
from memory.health import goldens
from memory.store.store import Store


def test_a_draft_asks_for_the_users_own_records(store, ok, place):
    """Each query expects a record that is there, says how it was made, and the file reads back."""
    value = json.loads(ok("eval", "--template", "--json"))
    path = Path(value["path"])
    assert (
        path == Path(place.private, "evals", "golden.yaml") and path.stat().st_mode & 0o777 == 0o600
    )
    said = path.read_text(encoding="utf-8")
    for how in ("its title in other words", "the request of its session"):
        assert f"# {how}: " in said
    found = goldens.read(str(path), 0.0, clock.utc)
    assert value["queries"] == len(found.queries) == 14 and found.floor == {
        "recall@5": 0.8,
        "mrr": 0.6,
    }
    ids = {record.id for record in Store(place, settings(), 0.0).each()}
    assert {id for one in found.queries for id in one.expect} == ids
    assert len({one.query.text.lower() for one in found.queries}) == 14
    assert any("billing" in one.query.text and one.expect == ("c0",) for one in found.queries)


def test_the_same_records_give_the_same_draft(store, place):
    """In whatever order they are read."""
    found = list(Store(place, settings(), 0.0).each())
    assert goldens.draft_queries(found, list) == goldens.draft_queries(found[::-1], list)


def test_a_draft_overwrites_nothing(store, run, ok, tmp_path):
    """Neither the private one nor a file that is named."""
    ok("eval", "--template")
    assert run("eval", "--template").returncode == 1
    mine = tmp_path / "my queries.yaml"
    mine.write_text("mine\n")
    done = run("eval", "--template", str(mine))
    assert done.returncode == 1 and "exists already" in done.stderr and mine.read_text() == "mine\n"
    other = tmp_path / "other queries.yaml"
    assert "dayleaf debug eval '%s'" % other in ok("eval", "--template", str(other))


def test_a_large_store_gives_fifty_queries(place, ok, now):
    """One for each record, of those that come first."""
    for i in range(80):
        put(
            place,
            f"p/learnings/l{i:02d}.md",
            f"The alpha{i} beta{i} gamma{i} trap",
            f"See file_{i}.py.",
        )
    assert json.loads(ok("eval", "--template", "--json"))["queries"] == 50


def test_equal_titles_are_expected_together(place, now):
    """Nobody can tell which of them was meant; of many with one title none is asked for."""
    for i in range(2):
        put(place, f"p/learnings/a{i}.md", "The kafka rebalance trap", f"Body {i}.")
    for i in range(9):
        put(place, f"p/learnings/b{i}.md", "Weekly notes of everybody", f"Text {i}.")
    drafts = goldens.draft_queries(list(Store(place, settings(), now).each()), list)
    assert drafts and all({r.id for r in one.expect} == {"a0", "a1"} for one in drafts)


def test_a_session_is_expected_by_its_checkpoint(ok, place, now):
    """Recall names it once, so a draft that expects its conversation too would be missed; a
    conversation alone is expected.
    """
    talks.put(place, id="c-7a1c0001")
    put(
        place,
        "p/checkpoints/2026-01-23/x.md",
        "Resume on fresh clones",
        "## Turns\n\nThe `marker.json` was never committed.",
        id="c-1",
        conversation="c-7a1c0001",
        session=talks.SESSION,
    )
    talks.put(
        place,
        file="2026-01-25/y.md",
        id="c-7a1c0002",
        title="How the uploader waits",
        session="5e551011-2",
    )
    drafts = goldens.draft_queries(list(Store(place, settings(), now).each()), list)
    assert {r.id for one in drafts for r in one.expect} == {"c-1", "c-7a1c0002"}
    ok("eval", "--template")
    assert json.loads(ok("eval", "--json"))[0]["misses"] == []


def test_no_secret_reaches_a_draft(place, ok):
    """A secret that a person wrote into a record by hand is taken out of the queries made of it."""
    secret = "ghp_" + "qT7vN2xLw9RbK4mZ" + "8sYd3HfJ6pGc5aUeV1oX"
    put(place, "p/learnings/a.md", "Token of the deploy user", f"Use `{secret}` with deploy_user.")
    put(
        place, "p/learnings/b.md", f"The deploy user of staging logs in with {secret}", "Since May."
    )
    ok("eval", "--template")
    said = Path(place.private, "evals", goldens.NAME).read_text()
    assert "deploy" in said and secret not in said and secret.lower() not in said
    assert not any("redact" in line for line in said.splitlines() if "query:" in line), (
        "nobody types the mark of a secret"
    )


BAD = [
    ("queries: [a\n", "is not YAML (line "),
    ("", "no keys"),
    ("- a\n- b\n", "not YAML"),
    ("just words\n", "not YAML"),
    ("queries: words\n", "no list `queries:`"),
    ("queries: []\n", "no list `queries:`"),
    ("queries:\n  - words\n", "needs `query:`"),
    ("queries:\n  - {query: x}\n", "query q01 expects no record"),
    ("queries:\n  - {expect: x}\n", "query q01 has no text"),
    ("queries:\n  - {query: [x], expect: y}\n", "has no text"),
    (
        "queries:\n  - {id: a, query: x, expect: y}\n  - {id: a, query: x, expect: y}\n",
        "two queries have the id 'a'",
    ),
    ("queries:\n  - {query: x, knd: y, expect: z}\n", "query q01: recall has no option 'knd'"),
    ("queries:\n  - {query: x, expect: y, ranker: bm25}\n", "'bm25' is no ranker"),
    ("queries:\n  - {query: &a x, expect: y}\n", "line 2: anchors"),
    ("queries:\n  - {query: !!python/name:os x, expect: y}\n", "tags"),
    ("floor: 3\nqueries:\n  - {query: x, expect: y}\n", "not a mapping"),
    (
        "floor: {recall@7: 0.5}\nqueries:\n  - {query: x, expect: y}\n",
        "'recall@7: 0.5' is not a floor",
    ),
    ("floor: {mrr: 80}\nqueries:\n  - {query: x, expect: y}\n", "from 0 to 1"),
    ("a: 1\na: 2\n", "occurs twice"),
]


@pytest.mark.parametrize(("content", "said"), BAD, ids=[said for _, said in BAD])
def test_a_file_that_is_none_is_said_in_one_line(content, said, tmp_path):
    """With the file, the place and the remedy."""
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(StoreError) as caught:
        goldens.read(str(path), 0.0, clock.utc)
    assert (
        said in str(caught.value)
        and str(path) in str(caught.value)
        and "\n" not in str(caught.value)
    )


def test_bytes_that_are_no_text(tmp_path, store, run):
    """UTF-16, a directory, nothing at all."""
    (tmp_path / "x.yaml").write_bytes("queries:".encode("utf-16"))
    for name in ("x.yaml", ".", "none.yaml"):
        done = run("eval", str(tmp_path / name))
        assert (
            done.returncode == 1
            and done.stderr.count("\n") == 1
            and done.stderr.startswith("dayleaf: ")
        ), done.stderr
