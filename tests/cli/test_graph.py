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
    found = json.loads(ok("graph", "--format", "json"))
    assert [node["id"] for node in found["nodes"]] == ["l-a", "l-b", "l-c", "l-lone", "s-1"]
    assert [(edge["from"][12:], edge["relation"], edge["to"]) for edge in found["edges"]] == [
        ("a.md", "related_to", "p/learnings/b.md"),
        ("b.md", "related_to", "p/learnings/c.md"),
        ("b.md", "has_script", "p/resources/s.md"),
        ("c.md", "related_to", "p/learnings/a.md"),
    ]
    assert [
        node["id"] for node in json.loads(ok("graph", "s-1", "--depth", "1", "--json"))["nodes"]
    ] == ["s-1", "l-b"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["graph", "l-a", "l-b"], "quote a title"),
        (["graph", "--depth", "2"], "--depth is for the graph of one record"),
        (["graph", "--format", "dot"], "unknown value 'dot'; use one of text, mermaid, json"),
        (["graph", "--workspace", "nope"], "no workspace 'nope'"),
        (["graph", "l-a", "--depth", "0"], "not a whole number above 0"),
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


def test_workspaces_are_drawn_apart_and_the_global_tier_once(ok, chain, env, tmp_path):
    """A link is resolved within its own workspace and the global tier."""
    from memory.core import layout

    (tmp_path / "other").mkdir()
    other = layout.locate(env, str(tmp_path / "other"))
    vault.put(other, "p/learnings/a.md", "Alpha", "[[Everywhere]]", id="l-a")
    vault.put(chain, "g/learnings/g.md", "Everywhere", "x", id="l-g")
    found = json.loads(ok("graph", "--workspace", "all", "--json"))
    assert sorted(
        (node["id"], node["workspace"]) for node in found["nodes"] if node["id"] in ("l-a", "l-g")
    ) == sorted([("l-a", chain.key), ("l-a", other.key), ("l-g", "global")])
    assert [edge["to"] for edge in found["edges"]].count("g/learnings/g.md") == 1
    assert len(json.loads(ok("graph", "--workspace", other.key, "--json"))["nodes"]) == 2
