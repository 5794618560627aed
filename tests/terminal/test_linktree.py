"""Links drawn: the surroundings of a record as a tree, all of them as an overview."""

from __future__ import annotations

import json
import time

import pytest
from harness import vault

from memory.recall import relations
from memory.store.store import Store
from memory.terminal import linktree

HOSTILE = 'a "b" [c](d) {e} |f| <g> `h` #i; end & end\u202e\x1b[2J 한글 \\'


@pytest.fixture
def chain(place):
    """Five records with links; see the vault."""
    vault.chain(place)
    return place


def test_a_record_is_drawn_as_a_tree_with_cycles_marked_once(ok, chain):
    """Both directions with their names; what stands in the tree already is marked and not entered
    again.
    """
    assert ok("graph", "l-a") == "\n".join(
        [
            "l-a  Alpha (learning)",
            "├─ related_to → l-b  Beta (learning)",
            "│  ├─ has_script → s-1  Script (script)",
            "│  └─ related_to → l-c  Gamma (learning)  ↺ above",
            "└─ related_to → l-c  Gamma (learning)",
            "   └─ related_to → 'Alfa beta', which is not a record; did you mean l-a 'Alpha'?",
            "",
        ]
    ).replace("l-a 'Alpha'", "l-b 'Beta'")
    assert ok("graph", "Lone") == "l-lone  Lone (learning)\n└─ no links\n"


def test_without_a_record_there_is_an_overview(ok, chain):
    """Counts, the most linked, and what leads nowhere."""
    assert ok("graph").split("\n") == [
        "5 records, 5 links; 1 without any",
        "",
        "Most linked",
        "  3 links  l-b  Beta",
        "  3 links  l-c  Gamma",
        "  2 links  l-a  Alpha",
        "   1 link  s-1  Script",
        "",
        "Links that lead nowhere",
        "  l-c related_to → 'Alfa beta', which is not a record; did you mean l-b 'Beta'?",
        "",
    ]


def test_dangling_links_are_data_of_their_own(ok, chain):
    """Each with the nearest record; a record's surroundings hold their own alone."""
    assert json.loads(ok("graph", "--json"))["dangling"] == [
        {
            "from": "p/learnings/c.md",
            "relation": "related_to",
            "target": "Alfa beta",
            "archived": False,
            "nearest": "l-b",
        }
    ]
    assert json.loads(ok("graph", "s-1", "--json"))["dangling"] == []


def test_an_empty_store_says_how_to_begin(ok):
    """No table of nothing."""
    assert ok("graph").startswith("no records here yet; `dayleaf learn")
    assert json.loads(ok("graph", "--json")) == {"nodes": [], "edges": [], "dangling": []}


def test_titles_reach_no_terminal_as_they_are(ok, place):
    """Escapes, marks that reorder a line and line ends are gone from every format of text."""
    vault.put(
        place,
        "p/learnings/a.md",
        json.dumps(HOSTILE),
        "[[b\x1b[2J\u202e]]",
        id="l-a",
        links='["li\\u001bkes: l-a2"]',
    )
    for words in (
        ["graph"],
        ["graph", "l-a"],
        ["link", "l-a"],
    ):
        said = ok(*words)
        assert "l-a" in said and "\x1b" not in said and "\u202e" not in said


def test_a_hub_and_a_long_chain_stay_readable(place, now):
    """A tree is cut below one record and in all, and says so; a chain of any length is walked."""
    vault.put(
        place, "p/learnings/hub.md", "Hub", " ".join("[[h-%d]]" % i for i in range(300)), id="l-hub"
    )
    for i in range(1500):
        vault.put(place, f"p/plans/{i}.md", f"P{i}", "x", id=f"h-{i}", status="done")
        vault.put(place, f"p/learnings/{i}.md", f"N{i}", f"[[l-{i + 1}]]", id=f"l-{i}")
    web = relations.build_graph(list(Store(place, vault.settings(), now).each()))
    hub, first = web.names.find("Hub")[0], web.names.find("l-0")[0]
    assert (
        linktree.draw_tree(web, hub, 1)[-1] == "└─ … 260 more"
        and len(linktree.draw_tree(web, hub, 1)) == linktree.MOST_CHILDREN + 2
    )
    deep = linktree.draw_tree(web, first, 5000)
    assert len(deep) == linktree.MOST_LINES + 1 and deep[-1].startswith("… cut at 400 lines")
    assert len(linktree.describe_links(web)) < 60


def test_thousands_of_links_take_a_moment(place):
    """Resolving, grouping and drawing 20,000 links among 10,000 records, and 500 that lead nowhere,
    without reading files.
    """
    from memory.core.records import Link, Record

    found = [
        Record(
            "p/learnings/%d.md" % i,
            "l-%d" % i,
            "learning",
            "Title of number %d" % i,
            "",
            float(i),
            float(i),
            links=(
                Link("related_to", "l-%d" % (i * 7919 % 10_000)),
                Link("related_to", "Title of number %d" % (i // 2)),
            )
            if i % 20
            else (
                Link("related_to", "Title of number %dx" % i),
                Link("related_to", "l-%d" % (i + 1)),
            ),
        )
        for i in range(10_000)
    ]
    start = time.process_time()
    web = relations.build_graph(found)
    assert len(web.edges) == 20_000 and len(linktree.describe_links(web)) < 60
    lost = [edge for edge in web.edges if edge.dangling]
    assert len(lost) == len(linktree.dangling_lines(web, lost)) == 500
    assert time.process_time() - start < 6.0
