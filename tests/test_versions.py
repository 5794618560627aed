"""Versions: what a record holds for, how it meets what is asked, and where it is told."""

from __future__ import annotations

import itertools
import json

import pytest
import vault

from memory import indexer, rank, recall, records, render

# asked, held, the fit that the specification names; `-` stands for a record that names none.
TABLE = [
    ("2.1", "2.1", "exact"), ("2.1, 2.2", "2.2, 2.1", "exact"), ("unversioned", "-", "exact"), ("unversioned", "unversioned", "exact"),
    ("2.1", "2.1, 2.2", "superset"), ("2.1, 2.2", "2.0, 2.1, 2.2", "superset"), ("unversioned", "unversioned, 2.1", "superset"),
    ("2.1", "2.1, unversioned", "superset"), ("2.1, 2.2", "2.2", "subset"), ("1, 2, 3", "3, 1", "subset"),
    ("2.1, unversioned", "2.1", "subset"), ("2.1, 2.2", "2.2, 2.3", "overlap"), ("1, 2, 3", "3, 4, 5, 6", "overlap"),
    ("2.1", "-", "unversioned"), ("2.1", "unversioned", "unversioned"), ("2.1, 2.2", "-", "unversioned"),
    ("2.1, unversioned", "-", "unversioned"), ("2.1", "unversioned, 3.0", "unversioned"),
    ("2.1", "2.2", None), ("2.1", "2", None), ("2.1", "2.10", None), ("2.1", "2.1.0", None), ("1, 2", "3, 4", None),
    ("unversioned", "2.1", None)]
WORTH = {"exact": 1.0, "superset": 0.95, "subset": 0.85, "overlap": 0.75, "unversioned": 0.70}


def listed(said: str) -> list[str]:
    return [] if said == "-" else said.split(", ")


@pytest.mark.parametrize(("asked", "held", "fit"), TABLE)
def test_versions_meet_by_the_table_in_any_order(asked, held, fit):
    """Whichever comes first, repeated, with or without `v`, in capitals or not."""
    for want in itertools.permutations(listed(asked)):
        for have in itertools.permutations(listed(held)):
            for spelt in (lambda v: v, lambda v: "v" + v if v[0].isdigit() else v.upper(), lambda v: " %s " % v):
                assert rank.version_fit([*map(spelt, want), want[0]], have) == fit
                assert rank.version_fit(want, [spelt(v) for v in (*have, *have[:1])]) == fit


@pytest.mark.parametrize(("asked", "held", "fit"), TABLE)
@pytest.mark.parametrize("way", ["words", "typo", "newest", "files", "stop words"])
def test_a_recall_scores_by_the_table_and_never_shows_a_disjoint_one(place, now, asked, held, fit, way):
    """Through the index, a misspelling, a listing, common words alone, and the files where there is no index."""
    vault.put(place, "p/learnings/a.md", "Importer", "the importer drops rows and so it is",
              **({} if held == "-" else {"versions": "[%s]" % held}))
    vault.put(place, "p/learnings/z.md", "Zebra", "stripes", versions="[99]")
    if way != "files":
        indexer.build(place, now)
    text = {"words": "importer rows", "typo": "imporetr", "newest": "", "files": "importer rows", "stop words": "so it is"}[way]
    found = recall.recall(place, vault.settings(), recall.Query(text, versions=tuple(listed(asked))), now, 0.0)
    assert [hit.record.id for hit in found.hits] == ([] if fit is None else ["a"])
    if fit and way != "newest":
        assert dict(found.hits[0].parts)["version"] == WORTH[fit] and found.backend.startswith("lexical")


@pytest.mark.parametrize("query", ["importer", ""])
def test_any_number_of_better_matches_for_other_versions_hide_nothing(place, now, query):
    """They take no place among the candidates, nor among the newest."""
    for i in range(300):
        vault.put(place, "p/learnings/l%d.md" % i, "Importer importer", "importer importer", versions="[1.0]", created="2026-11-20")
    vault.put(place, "p/learnings/one.md", "Rows", "long ago the importer lost some", versions="[2.1]", created="2020-01-01")
    indexer.build(place, now)
    found = recall.recall(place, vault.settings(), recall.Query(query, versions=("2.1",), limit=5), now, 0.0)
    assert [hit.record.id for hit in found.hits] == ["one"] and found.left_out == 0


def test_a_version_left_out_of_the_score_still_excludes(place, now):
    """`recall.without` takes the factor, not the filter."""
    vault.put(place, "p/learnings/a.md", "Importer", "rows", versions="[2.1, 2.2]")
    vault.put(place, "p/learnings/b.md", "Importer", "rows", versions="[3]")
    indexer.build(place, now)
    settings = vault.settings(recall_without=["version"])
    found = recall.recall(place, settings, recall.Query("importer", versions=("2.1",)), now, 0.0)
    assert [hit.record.id for hit in found.hits] == ["a"] and "version" not in dict(found.hits[0].parts)


@pytest.fixture
def importer(place, now):
    """A learning for two versions, one for many, one for none."""
    vault.put(place, "p/learnings/a.md", "Importer rows", "importer", versions="[2.1, v2.2]")
    vault.put(place, "p/learnings/b.md", "Importer many", "importer", versions="[1, 2, 3, 4, next\u202e]")
    vault.put(place, "p/learnings/c.md", "Importer plain", "importer")
    indexer.build(place, now)


def test_each_hit_shows_its_versions(run, importer):
    """In its line, in JSON, and for the model; none where it names none."""
    lines = {line.split()[0]: line for line in run("recall", "importer").stdout.splitlines() if line.startswith("  ")}
    assert lines["a"].endswith("  v2.1, v2.2") and lines["b"].endswith("  v1, v2, v3 +2") and lines["c"].endswith("tokens")
    hits = json.loads(run("recall", "importer", "--json").stdout)["hits"]
    assert {hit["id"]: hit["versions"] for hit in hits}["a"] == ["2.1", "v2.2"]
    shown = run("recall", "importer", "--hook").stdout
    assert "(learning, " in shown and ", v2.1, v2.2," in shown and "\u202e" not in shown


def test_the_option_is_repeated_or_takes_commas(run, importer):
    """Either way, in any order."""
    for words in (("--version", "2.2", "--version", "2.1"), ("--version", "v2.1, v2.2")):
        hit = json.loads(run("recall", "importer", "--json", "--explain", *words).stdout)["hits"][0]
        assert hit["id"] == "a" and hit["parts"]["version"] == 1.0
    hits = json.loads(run("recall", "importer", "--json", "--version", "unversioned").stdout)["hits"]
    assert [hit["id"] for hit in hits] == ["c"]


@pytest.mark.parametrize("words", [("recall", "x", "--version", "2 .1"), ("distill", "x", "--version", "2.1,2 .2"),
                                   ("learn", "x is y", "--version", "2.1 2.2"), ("recall", "x", "--version", "2\u3000.1")])
def test_a_version_with_a_blank_is_refused(run, words):
    """One line, and nothing is written."""
    done = run(*words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "holds a blank" in done.stderr
    assert json.loads(run("recall", "--json").stdout)["hits"] == []


def test_a_blank_in_a_batch_or_a_file_is_named(run, place):
    """The batch's line answers with the error; `check` names file, line and remedy."""
    row = json.loads(run("recall", "--batch", stdin='{"id": 1, "query": "x", "version": ["2 .1"]}\n').stdout)
    assert "holds a blank" in row["error"]
    vault.put(place, "p/learnings/a.md", "Importer", "rows", versions="[2.1, 2 .2]")
    done = run("check")
    assert done.returncode == 1 and "a.md:4: the version '2 .2' holds a blank; write it without one" in done.stdout


def test_a_versions_line_is_read_however_it_is_written():
    """A list, a text with commas, a number."""
    for said in ("[2.1, 2.2]", "2.1, 2.2", "\n  - 2.1\n  - 2.2", "['2.1', \"2.2\"]"):
        record = records.from_bytes("p/learnings/a.md", ("---\nversions: %s\n---\nx\n" % said).encode(), 0.0)
        assert record.versions == ("2.1", "2.2")
    assert render.versions(record.versions) == "v2.1, v2.2"
