"""Many queries through one open index."""

from __future__ import annotations

import json

from harness import talks, vault
from harness.asking import fill, ids, settings, write

from memory.core import clock
from memory.index import builder
from memory.recall import batch, question


def test_a_batch_answers_line_by_line(store, now):
    """Options and an instant on each line; a bad line gives an error and the rest goes on."""
    lines = [
        json.dumps({"id": 1, "query": "jwt issuer", "limit": 1}),
        "",
        "not json",
        json.dumps(["no", "object"]),
        json.dumps({"id": "x", "query": "jwt", "kind": "nonsense"}),
        json.dumps({"id": "y", "query": "jwt", "wrong": 1}),
        json.dumps({"id": 2, "query": "yesterday", "now": "2026-11-22T10:00:00Z"}),
        json.dumps({"id": 3, "query": "jwt", "tag": ["auth"]}),
        json.dumps({"id": 4, "query": ["jwt"]}),
    ]
    out = [
        json.loads(line)
        for line in batch.answer_lines(lines, store, settings(store), now, clock.utc)
    ]
    assert (
        out[0]["id"] == 1
        and [hit["id"] for hit in out[0]["hits"]] == ["l-jwt"]
        and out[0]["hits"][0]["score"] > 0
    )
    assert out[1]["id"] is None and "error" in out[1] and "error" in out[2]
    assert out[3]["id"] == "x" and "nonsense" in out[3]["error"] and "wrong" in out[4]["error"]
    assert [hit["id"] for hit in out[5]["hits"]] == ["c-today"]
    assert [hit["id"] for hit in out[6]["hits"]] == ["l-jwt"] and "error" in out[7]


def test_a_batch_gives_what_single_queries_give(store, now):
    """What one query leaves in memory changes nothing for the next."""
    texts = ["jwt issuer", "dokcer", "버튼", "redis pool", "jwt issuer"]
    lines = [json.dumps({"id": i, "query": text}) for i, text in enumerate(texts)]
    out = [
        [hit["id"] for hit in json.loads(line)["hits"]]
        for line in batch.answer_lines(lines, store, settings(store), now, clock.utc)
    ]
    assert out == [ids(store, now, text) for text in texts]


def test_an_edit_between_two_lines_of_a_batch_is_seen(place, now):
    """What was read for one line is not shown for the next where its file has changed."""
    fill(place)
    builder.build(place, now)

    def lines():
        yield json.dumps({"id": 1, "query": "jwt issuer mismatch", "limit": 1})
        write(place, "p/learnings/jwt.md", "Nothing left of it.", id="l-jwt", title="Emptied")
        yield json.dumps({"id": 2, "query": "jwt issuer mismatch", "limit": 1})

    out = [
        [hit["id"] for hit in json.loads(line)["hits"]]
        for line in batch.answer_lines(lines(), place, settings(place), now, clock.utc)
    ]
    assert out[0] == ["l-jwt"] and out[1] != ["l-jwt"]


def test_a_base_query_holds_for_every_line(store, now):
    """The command's own options, unless a line says otherwise."""
    lines = [
        json.dumps({"id": 1, "query": "jwt"}),
        json.dumps({"id": 2, "query": "jwt", "kind": "learning"}),
    ]
    base = question.query_from_options({"kind": "checkpoint"}, now, clock.utc)
    answers = batch.answer_lines(lines, store, settings(store), now, clock.utc, base)
    out = [[hit["id"] for hit in json.loads(line)["hits"]] for line in answers]
    assert out == [["c-today"], ["l-jwt"]]


def test_a_batch_has_no_linked_records(ok, shop):
    """Scripts and evals get ranked ids alone."""
    ok("link", "l-jwt", "has_script", "s-mint")
    line = ok("recall", "--batch", stdin='{"id":"1","query":"must match"}\n')
    assert [hit["id"] for hit in json.loads(line)["hits"]] == ["l-jwt"]


def test_a_blank_in_a_batch_or_a_file_is_named(run, place):
    """The batch's line answers with the error; `check` names file, line and remedy."""
    row = json.loads(
        run("recall", "--batch", stdin='{"id": 1, "query": "x", "version": ["2 .1"]}\n').stdout
    )
    assert "contains a space" in row["error"]
    vault.put(place, "p/learnings/a.md", "Importer", "rows", versions="[2.1, 2 .2]")
    done = run("check")
    assert (
        done.returncode == 1
        and "a.md:4: error: the version '2 .2' contains a space; separate several versions"
        in done.stdout
    )


def test_a_batch_holds_each_session_once(place, now):
    """Under the id of its best checkpoint."""
    talks.put(place)
    for number in range(2):
        write(
            place,
            "p/checkpoints/2026-01-23/n%d.md" % number,
            "The uploader retries.",
            id="c-n%d" % number,
            session=talks.SESSION,
            source="auto",
            title="Uploader" * (number + 1),
        )
    asked = [json.dumps({"id": 1, "query": "uploader retries"})]
    (row,) = [
        json.loads(line)
        for line in batch.answer_lines(asked, place, settings(place), now, clock.utc)
    ]
    assert [hit["id"] for hit in row["hits"]] == ["c-n0"]
