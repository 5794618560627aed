"""The shape of a hit: what it holds for each kind, and that every surface renders it and nothing
else.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import talks, vault

from memory.core import approvals, clock, files, records
from memory.recall import hit, search
from memory.recall.question import Query
from memory.terminal import results
from memory.terminal.screen import Style

EVERY = {
    "id",
    "kind",
    "title",
    "score",
    "parts",
    "why",
    "tier",
    "age",
    "claims",
    "freshness",
    "gone",
    "workspace",
    "section",
    "path",
    "group",
    "confidence",
    "source",
}


@pytest.fixture
def kinds(place, project):
    """One record of each kind that says `kafka`; the checkpoint names a file that is gone."""
    Path(project, "tool.sh").write_text("echo kafka\n")
    vault.put(
        place,
        "p/rules/rule.md",
        "Commit kafka",
        "By hand.",
        rationale="we lost 400 messages",
        tags="[kafka]",
        links="\n  - related_to: learning",
    )
    vault.put(
        place,
        "p/learnings/learning.md",
        "Kafka lags",
        "At night.",
        source="agent",
        confidence="high",
    )
    vault.put(
        place, "p/resources/script.md", "Reset kafka", "It resets.", type="script", path="tool.sh"
    )
    vault.put(
        place,
        "p/checkpoints/2026-11-20/checkpoint.md",
        "Kafka work",
        "## Open\n\nWork on `src/gone.py`.",
        created="2026-11-20",
        files="[src/gone.py]",
    )


@pytest.mark.parametrize(
    ("id", "more"),
    [
        (
            "rule",
            {
                "rationale": "we lost 400 messages",
                "scope": ["kafka", "learning"],
                "group": "pending",
            },
        ),
        ("learning", {"confidence": "high", "source": "agent", "group": "learning"}),
        ("script", {"source_path": "tool.sh", "group": "waiting"}),
        ("checkpoint", {"group": "checkpoint", "freshness": "STALE"}),
    ],
)
def test_json_holds_every_field_of_a_hit_for_each_kind(kinds, run, id, more):
    """In recall, and in show all but what a search alone gives."""
    hits = {row["id"]: row for row in json.loads(run("recall", "kafka", "--json").stdout)["hits"]}
    found, alone = hits[id], json.loads(run("show", id, "--json").stdout)
    assert (
        set(found) >= EVERY
        and found["parts"]["bm25"] > 0
        and found["tier"] == "private"
        and found["age"] >= 0
    )
    for key, value in more.items():
        assert found[key] == alone[key] == value
    assert set(alone) >= EVERY - {"score", "parts", "why", "section", "gone"}
    if id == "checkpoint":
        assert (
            found["claims"] == found["gone"] == alone["claims"]
            and found["claims"][0]["name"] == "src/gone.py"
        )


def test_what_renders_hits_looks_into_no_record(kinds, place, now):
    """A field that a surface wants stands in the hit, so that every surface can have it."""
    found = search.recall(
        place, vault.settings(), Query("kafka", context_tags=(("kafka", 1.0),)), now, clock.utc
    )
    bare = found._replace(hits=tuple(each._replace(record=None) for each in found.hits))
    style = Style(100, False)
    assert results.hit_lines(bare, "kafka", place.key, style, True) == results.hit_lines(
        found, "kafka", place.key, style, True
    )
    assert (
        results.render_for_model(bare, "kafka") == results.render_for_model(found, "kafka")
        and len(found.hits) == 4
    )


def test_a_hit_is_of_its_record_and_filled_in_where_it_is_shown(place, now):
    """Age, group and claims are those of the moment."""
    vault.put(place, "g/learnings/a.md", "Kafka", "See `src/gone.py`.", created="2026-11-20")
    found = search.recall(place, vault.settings(), Query("kafka"), now, clock.utc).hits[0]
    bare = hit.from_record(found.record, place.key, found.path)
    assert (bare.group, bare.age, bare.score, bare.workspace, bare.tier) == (
        "",
        0.0,
        0.0,
        "global",
        "global",
    )
    (shown,) = hit.add_display_fields([bare], place, now)
    assert shown == found._replace(score=0.0, parts=(), why="", quotes=())
    assert found.claims == () and found.freshness == "UNKNOWN" and found.age == now - found.created


def decide(place, workspace, id, data, now, decision="approve"):
    """Write down what a person decided on exactly these bytes."""
    approvals.append_decision(place.home, workspace, id, files.sha256(data), decision, "alex", now)


def test_rules_and_scripts_stand_by_what_was_approved(ok, shop, project, now):
    """Approved ones lead their groups, with the command that runs a script; an edit sends them to
    those that wait.
    """
    script = Path(project, "bin", "mint.sh")
    script.parent.mkdir()
    script.write_bytes(b"#!/bin/sh\necho token\n")
    said = ok("recall", "ask makes token", "--group")
    assert (
        "Rules (wait for review)\n  r-ask" in said and "Scripts (wait for review)\n  s-mint" in said
    )
    decide(shop, approvals.SCRIPT + shop.key, "s-mint", script.read_bytes(), now)
    decide(shop, shop.key, "r-ask", Path(shop.path("p/rules/ask.md")).read_bytes(), now)
    said = ok("recall", "ask makes token", "--group")
    assert "Rules (follow these)\n  r-ask" in said and "Scripts (try these)\n  s-mint" in said
    assert "`dayleaf resource run s-mint`" in said and "wait for review" not in said
    assert "script that may be run" in ok("recall", "makes token", "--hook")
    script.write_bytes(b"#!/bin/sh\necho other\n")
    said = ok("recall", "makes token")
    assert "script, waits for review" in said and "resource run" not in said
    assert "script that nobody approved, do not run" in ok("recall", "makes token", "--hook")


def test_what_was_rejected_stands_apart_and_waits_for_nobody(ok, shop, project, now):
    """At the end, under a heading that says so; for the model too, and in --json."""
    script = Path(project, "bin", "mint.sh")
    script.parent.mkdir()
    script.write_bytes(b"#!/bin/sh\necho token\n")
    decide(shop, approvals.SCRIPT + shop.key, "s-mint", script.read_bytes(), now, "reject")
    decide(shop, shop.key, "r-ask", Path(shop.path("p/rules/ask.md")).read_bytes(), now, "reject")
    said = ok("recall", "ask makes token", "--group")
    assert "Rules (rejected)\n  r-ask" in said and "Scripts (rejected)\n  s-mint" in said
    assert (
        "wait for review" not in said and "follow these" not in said and "resource run" not in said
    )
    block = ok("recall", "ask makes token", "--hook")
    assert (
        "rule that was rejected, do not follow" in block
        and "script that was rejected, do not run" in block
    )
    assert "<dayleaf-rules" not in block
    groups = {
        hit["id"]: hit["group"]
        for hit in json.loads(ok("recall", "ask makes token", "--json"))["hits"]
    }
    assert groups["r-ask"] == "rejected" and groups["s-mint"] == "refused"


def test_a_candidate_stands_apart_from_what_was_accepted(ok, shop):
    """Under a heading that says what it waits for; for the model too, and in --json."""
    vault.put(
        shop,
        "p/learnings/maybe.md",
        "Quasar queue",
        "quasar drops jobs",
        id="l-maybe",
        source="auto",
        accepted="false",
    )
    vault.put(shop, "p/learnings/sure.md", "Quasar jobs", "quasar keeps jobs", id="l-sure")
    said = ok("recall", "quasar", "--group")
    assert "Learnings\n  l-sure" in said and "\n\nLearnings (wait for review)\n  l-maybe" in said
    groups = {
        hit["id"]: hit["group"] for hit in json.loads(ok("recall", "quasar", "--json"))["hits"]
    }
    assert groups == {"l-sure": "learning", "l-maybe": "candidate"}
    block = ok("recall", "quasar", "--hook")
    assert (
        "[l-maybe] Quasar queue (candidate that nobody accepted, " in block
        and "[l-sure] Quasar jobs (learning, " in block
    )


def test_each_hit_shows_its_versions(run, importer):
    """In its line, in JSON, and for the model; none where it names none."""
    lines = {
        line.split()[0]: line
        for line in run("recall", "importer").stdout.splitlines()
        if line.startswith("  ")
    }
    assert (
        lines["a"].endswith("  v2.1, v2.2")
        and lines["b"].endswith("  v1, v2, v3 +2")
        and lines["c"].endswith("tokens")
    )
    hits = json.loads(run("recall", "importer", "--json").stdout)["hits"]
    assert {hit["id"]: hit["versions"] for hit in hits}["a"] == ["2.1", "v2.2"]
    shown = run("recall", "importer", "--hook").stdout
    assert "(learning, " in shown and ", v2.1, v2.2," in shown and "\u202e" not in shown


def test_turns_have_numbers_and_their_day(place):
    """A heading names the day where it differs from the one before; the first day is that of the
    record.
    """
    record = records.from_bytes("p/conversations/x.md", talks.page(), 0.0)
    turns = hit.split_turns(record)
    assert [(one.number, one.at) for one in turns] == [
        (1, "2026-01-23T14:03"),
        (2, "2026-01-23T14:31"),
        (3, "2026-01-24T09:10"),
    ]
    assert turns[1].request == "how many retries does the uploader make, and …"
    assert (
        turns[1].answer.startswith("> (while working) the budget")
        and "does it wait" not in turns[1].answer
    )


def test_a_quote_names_the_time_and_the_request():
    """What the client summed up has no request; what is no turn has no head."""
    quote = hit.Quote("c-1", 2, "2026-01-23T14:03", "fix " + "a long request " * 6, "It was x.")
    assert quote.head.startswith(
        '2026-01-23 14:03, asked "fix a long request'
    ) and quote.head.endswith('…"')
    assert quote._replace(asked=hit.BY_CLIENT).head == "2026-01-23 14:03, summary by the client"
    assert quote._replace(asked="").head == "2026-01-23 14:03" and quote._replace(turn=0).head == ""


def test_json_names_the_turn_of_a_session(place, run):
    """Of checkpoints and conversations alone; what it says stands with any hit."""
    talks.put(place)
    (found,) = json.loads(run("recall", "exponential backoff", "--json").stdout)["hits"]
    assert (found["conversation"], found["turn"], found["others"]) == (
        "c-7a1c0001",
        2,
        [],
    ) and "Five retries" in found["passage"]
