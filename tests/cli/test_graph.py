"""`dayleaf record graph`: its words, its JSON, and the workspaces that it reads."""

from __future__ import annotations

import json

import pytest
from harness import vault


@pytest.fixture
def chain(place):
    """Five records with links; see the vault."""
    vault.chain(place)
    return place


def test_json_has_every_node_and_edge(ok, chain):
    """Of all, and of a record's surroundings."""
    found = json.loads(ok("graph", "--json"))
    assert [node["id"] for node in found["nodes"]] == ["l-a", "l-b", "l-c", "l-lone", "s-1"]
    assert [(edge["from"][12:], edge["relation"], edge["to"]) for edge in found["edges"]] == [
        ("a.md", "related_to", "p/learnings/b.md"),
        ("b.md", "related_to", "p/learnings/c.md"),
        ("b.md", "has_script", "p/resources/s.md"),
        ("c.md", "related_to", "p/learnings/a.md"),
    ]
    assert [node["id"] for node in json.loads(ok("graph", "s-1", "--json"))["nodes"]] == [
        "s-1",
        "l-b",
        "l-a",
        "l-c",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["graph", "l-a", "l-b"], "quote a title"),
        (["graph", "--dangling"], "unknown option '--dangling'"),
    ],
)
def test_wrong_words_are_one_line(run, chain, words, said):
    """Each with its remedy, and status 2."""
    done = run(*words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_an_unknown_record_offers_the_nearest(run, chain):
    """A slip is named, not drawn."""
    done = run("graph", "l-lonee")
    assert (done.returncode, done.stderr) == (
        1,
        "dayleaf: no record 'l-lonee'; did you mean l-lone 'Lone'?\n",
    )
