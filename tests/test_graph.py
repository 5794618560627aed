"""`dayleaf graph`: the links of a record and of all, as text, mermaid and JSON."""

from __future__ import annotations

import json
import re
import time

import pytest
import vault

from memory import graph, links
from memory.store import Store

HOSTILE = "a \"b\" [c](d) {e} |f| <g> `h` #i; end & end\u202e\x1b[2J 한글 \\"


@pytest.fixture
def chain(place):
    """a -> b -> c -> a, b has a script, c names what is not there, and one record stands alone."""
    vault.put(place, "p/learnings/a.md", "Alpha", "x", id="l-a", links="[related_to: l-b]")
    vault.put(place, "p/learnings/b.md", "Beta", "x", id="l-b", links="[related_to: l-c, has_script: s-1]")
    vault.put(place, "p/learnings/c.md", "Gamma", "[[Alpha]] [[Alfa beta]]", id="l-c")
    vault.put(place, "p/resources/s.md", "Script", "x", id="s-1", type="script", path="bin/x")
    vault.put(place, "p/learnings/lone.md", "Lone", "x", id="l-lone")
    return place


def test_a_record_is_drawn_as_a_tree_with_cycles_marked_once(ok, chain):
    """Both directions with their names; what stands in the tree already is marked and not entered again."""
    assert ok("graph", "l-a") == "\n".join([
        "l-a  Alpha (learning)",
        "├─ related_to → l-b  Beta (learning)",
        "│  ├─ has_script → s-1  Script (script)",
        "│  └─ related_to → l-c  Gamma (learning)  ↺ above",
        "└─ related_to → l-c  Gamma (learning)",
        "   └─ related_to → 'Alfa beta', which is no record; did you mean l-a 'Alpha'?", ""]).replace("l-a 'Alpha'", "l-b 'Beta'")
    assert ok("graph", "s-1", "--depth", "1") == (
        "s-1  Script (script)\n└─ script_of → l-b  Beta (learning)  … 2 more links\n")
    assert ok("graph", "Lone") == "l-lone  Lone (learning)\n└─ no links\n"


def test_without_a_record_there_is_an_overview(ok, chain):
    """Counts, groups, the most linked, and what leads nowhere."""
    assert ok("graph").split("\n") == [
        "5 records, 5 links; 1 without any", "",
        "Connected groups", "  4 records  around l-b  Beta", "",
        "Most linked", "  3 links  l-b  Beta", "  3 links  l-c  Gamma", "  2 links  l-a  Alpha", "   1 link  s-1  Script", "",
        "Dangling", "  l-c related_to → 'Alfa beta', which is no record; did you mean l-b 'Beta'?", ""]


def test_dangling_links_are_listed_alone(ok, chain):
    """As text, as JSON, and of one record's surroundings."""
    line = "l-c related_to → 'Alfa beta', which is no record; did you mean l-b 'Beta'?\n"
    assert ok("graph", "--dangling") == ok("graph", "l-a", "--dangling") == line
    assert ok("graph", "s-1", "--depth", "1", "--dangling") == "no link leads nowhere\n"
    assert json.loads(ok("graph", "--dangling", "--json")) == {
        "nodes": [{"id": "l-c", "name": "p/learnings/c.md", "title": "Gamma", "end": "learning", "workspace": ""}], "edges": [],
        "dangling": [{"from": "p/learnings/c.md", "relation": "related_to", "target": "Alfa beta", "archived": False,
                      "nearest": "l-b"}]}


def test_an_empty_store_says_how_to_begin(ok):
    """No table of nothing."""
    assert ok("graph").startswith("no records here yet; `dayleaf learn")
    assert json.loads(ok("graph", "--json")) == {"nodes": [], "edges": [], "dangling": []}


def test_json_has_every_node_and_edge(ok, chain):
    """Of all, and of a record's surroundings."""
    found = json.loads(ok("graph", "--format", "json"))
    assert [node["id"] for node in found["nodes"]] == ["l-a", "l-b", "l-c", "l-lone", "s-1"]
    assert [(edge["from"][12:], edge["relation"], edge["to"]) for edge in found["edges"]] == [
        ("a.md", "related_to", "p/learnings/b.md"), ("b.md", "related_to", "p/learnings/c.md"),
        ("b.md", "has_script", "p/resources/s.md"), ("c.md", "related_to", "p/learnings/a.md")]
    assert [node["id"] for node in json.loads(ok("graph", "s-1", "--depth", "1", "--json"))["nodes"]] == ["s-1", "l-b"]


def test_mermaid_is_valid_whatever_a_title_holds(ok, place):
    """Every text stands in quotes, without a character that mermaid or HTML reads as syntax, and ids are its own."""
    vault.put(place, "p/learnings/end.md", json.dumps(HOSTILE), "[[no such |\"thing]] [[한글 문서]]", id="end",
              links="[related_to: graph]")
    vault.put(place, "p/learnings/graph.md", "subgraph", "x", id="graph")
    lines = ok("graph", "--format", "mermaid").rstrip("\n").split("\n")
    text = r'"(?:[^"\[\](){}<>|`#;&\\\x00-\x1f]|#\d+;)+"'
    shapes = [r"graph LR", rf"  n\d+\[{text}\]", rf"  x\d+\(\[{text}\]\):::gone", rf"  n\d+ -->\|{text}\| [nx]\d+",
              r"  classDef gone stroke-dasharray: 4"]
    assert all(any(re.fullmatch(shape, line) for shape in shapes) for line in lines), lines
    assert lines[0] == "graph LR" and "한글" in lines[1] and sum(":::gone" in line for line in lines) == 2


def test_titles_reach_no_terminal_as_they_are(ok, place):
    """Escapes, marks that reorder a line and line ends are gone from every format of text."""
    vault.put(place, "p/learnings/a.md", json.dumps(HOSTILE), "[[b\x1b[2J\u202e]]", id="l-a", links='["li\\u001bkes: l-a2"]')
    for words in (["graph"], ["graph", "l-a"], ["graph", "--dangling"], ["graph", "--format", "mermaid"], ["link", "l-a"]):
        said = ok(*words)
        assert "l-a" in said and "\x1b" not in said and "\u202e" not in said


@pytest.mark.parametrize(("words", "said"), [
    (["graph", "l-a", "l-b"], "quote a title"), (["graph", "--depth", "2"], "--depth is for the graph of one record"),
    (["graph", "--format", "dot"], "unknown value 'dot'; use one of text, mermaid, json"),
    (["graph", "--workspace", "nope"], "no workspace 'nope'"), (["graph", "l-a", "--depth", "0"], "no number above 0")])
def test_wrong_words_are_one_line(run, chain, words, said):
    """Each with its remedy, and status 2."""
    done = run(*words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_an_unknown_record_offers_the_nearest(run, chain):
    """A slip is named, not drawn."""
    done = run("graph", "l-lonee")
    assert (done.returncode, done.stderr) == (1, "dayleaf: no record 'l-lonee'; did you mean l-lone 'Lone'?\n")


def test_workspaces_are_drawn_apart_and_the_global_tier_once(ok, chain, env, tmp_path):
    """A link is resolved within its own workspace and the global tier."""
    from memory import paths

    (tmp_path / "other").mkdir()
    other = paths.locate(env, str(tmp_path / "other"))
    vault.put(other, "p/learnings/a.md", "Alpha", "[[Everywhere]]", id="l-a")
    vault.put(chain, "g/learnings/g.md", "Everywhere", "x", id="l-g")
    found = json.loads(ok("graph", "--workspace", "all", "--json"))
    assert sorted((node["id"], node["workspace"]) for node in found["nodes"] if node["id"] in ("l-a", "l-g")) == sorted([
        ("l-a", chain.key), ("l-a", other.key), ("l-g", "global")])
    assert [edge["to"] for edge in found["edges"]].count("g/learnings/g.md") == 1
    assert len(json.loads(ok("graph", "--workspace", other.key, "--json"))["nodes"]) == 2


def test_a_hub_and_a_long_chain_stay_readable(place, now):
    """A tree is cut below one record and in all, and says so; a chain of any length is walked."""
    vault.put(place, "p/learnings/hub.md", "Hub", " ".join("[[h-%d]]" % i for i in range(300)), id="l-hub")
    for i in range(1500):
        vault.put(place, f"p/plans/{i}.md", f"P{i}", "x", id=f"h-{i}", status="done")
        vault.put(place, f"p/learnings/{i}.md", f"N{i}", f"[[l-{i + 1}]]", id=f"l-{i}")
    web = links.web(list(Store(place, vault.settings(), now).each()))
    hub, first = web.names.find("Hub")[0], web.names.find("l-0")[0]
    assert graph.tree(web, hub, 1)[-1] == "└─ … 260 more" and len(graph.tree(web, hub, 1)) == graph.MOST_CHILDREN + 2
    deep = graph.tree(web, first, 5000)
    assert len(deep) == graph.MOST_LINES + 1 and deep[-1].startswith("… cut at 400 lines")
    assert graph.mermaid(web.nodes, web.edges)[-1] == "  %% 1,500 more links not drawn"
    assert len(graph.overview(web)) < 60


def test_thousands_of_links_take_a_moment(place):
    """Resolving, grouping and drawing 20,000 links among 10,000 records, and 500 that lead nowhere, without reading files."""
    from memory.records import Link, Record

    found = [Record("p/learnings/%d.md" % i, "l-%d" % i, "learning", "Title of number %d" % i, "", float(i), float(i),
                    links=(Link("related_to", "l-%d" % (i * 7919 % 10_000)), Link("related_to", "Title of number %d" % (i // 2)))
                    if i % 20 else (Link("related_to", "Title of number %dx" % i), Link("related_to", "l-%d" % (i + 1))))
             for i in range(10_000)]
    start = time.process_time()
    web = links.web(found)
    assert len(web.edges) == 20_000 and len(graph.overview(web)) < 60
    lost = [edge for edge in web.edges if edge.dangling]
    assert len(lost) == len(graph.dangling(web, lost)) == 500
    assert time.process_time() - start < 6.0
