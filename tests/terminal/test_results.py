"""A recall as a person reads it."""

from __future__ import annotations

import json

import pytest
from harness import talks, vault
from harness.asking import ask, shop

from memory.terminal import results, screen


@pytest.fixture(name="shop")
def _shop(place):
    """A store of linked records."""
    return shop(place)


def test_a_hit_names_its_versions(ok, shop):
    """At the end of its line."""
    vault.put(shop, "p/learnings/v.md", "Versions", "zebra", id="l-v", versions="[v2.1, v2.2]")
    assert "tokens  v2.1, v2.2\n" in ok("recall", "zebra")


def test_a_gap_is_named_with_what_fills_it(ok, shop):
    """Unknown words want a learning; what a checkpoint or a learning tells wants nothing, and
    nobody is sent to a harvest.
    """
    vault.put(shop, "p/checkpoints/k.md", "Notes", "kafka lag", id="c-k")
    said = ok("recall", "kafka") + ok("recall", "issuer match")
    assert "harvest" not in said and "dayleaf learn" not in said
    assert "nothing about `zookeeper`: `dayleaf learn" in ok("recall", "zookeeper issuer")


def test_where_the_records_hardly_tell_a_line_says_so_above_the_hits(ok, shop):
    """In the terminal, for the model and in the notes of the JSON that MCP and page have too."""
    vague, told = "why does the issuer page load so slowly on phones", "does the issuer match"
    line = "the records hardly tell of this; what follows is the nearest"
    said = ok("recall", vague)
    assert said.startswith(line + ":\n  ") and said.count(line) == 1 and "dayleaf learn" in said
    fenced = ok("recall", vague, "--hook")
    assert 0 < fenced.find(line + ":\n") < fenced.find("\n## [") and fenced.count(line) == 1
    found = json.loads(ok("recall", vague, "--json"))
    assert found["weak"] and line in found["notes"] and found["hits"]
    assert line not in ok("recall", told) + ok("recall", told, "--hook") + ok(
        "recall", "--json", told
    )
    assert line not in ok("recall", "unheard") + ok("recall")


def test_a_session_is_a_line_with_the_passage_below_it(ok, place):
    """How many more checkpoints of it were found, what the turn says, and the command that prints
    it.
    """
    talks.put(place)
    for number in range(2):
        vault.put(
            place,
            "p/checkpoints/2026-01-23/n%d.md" % number,
            "Uploader",
            "The uploader retries.",
            id="c-n%d" % number,
            session=talks.SESSION,
            source="auto",
            conversation="c-7a1c0001",
        )
    said = ok("recall", "uploader retries backoff")
    assert (
        said.count("\n  c-") == 0 and " +1 checkpoint " in said and "  conversation  " not in said
    )
    assert (
        '      2026-01-23 14:31, asked "how many retries does the uploader…"  '
        "`dayleaf show c-7a1c0001#2`"
    ) in said
    assert "        It makes five, and doubles the pause from 200 ms each time.\n" in said
    fenced = ok("recall", "uploader retries backoff", "--hook")
    assert "\n> 2026-01-23 14:31 UTC, asked" in fenced and "(`dayleaf show c-7a1c0001#2`)" in fenced
    alone = ok("recall", "exponential backoff", "--kind", "conversation", "--group")
    assert (
        alone.startswith("Conversations\n  c-7a1c0001") and "`dayleaf show c-7a1c0001#2`" in alone
    )


def test_a_terminal_shows_the_first_hit_whole_and_few_lines_of_others(place, now):
    """So that it does not scroll away; a pipe gets all, and none gets empty lines."""
    rows = "\n".join("- row %d of the exporter row%d\n>" % (number, number) for number in range(12))
    for name in "ab":
        vault.put(place, "p/learnings/%s.md" % name, "Exporter", rows.replace("row", name), id=name)
    found = ask(place, now, "exporter")
    counts = []
    for style in (screen.Style(), screen.Style(cut=False)):
        lines = results.hit_lines(found, "exporter", place.key, style)
        assert all(line.strip(" >") for line in lines if line)
        counts.append([sum("- %s" % each.id in line for line in lines) for each in found.hits])
    (first, brief), (whole, second) = counts
    assert first == whole == second == 12 and brief == results.BRIEF


def test_what_says_no_more_than_its_title_says_it_once(ok, place):
    """A learning of one sentence."""
    vault.put(place, "p/learnings/a.md", "Zebra crossings fade", "Zebra crossings fade", id="l-z")
    assert ok("recall", "zebra crossings").count("Zebra crossings fade") == 1


@pytest.mark.parametrize(
    ("tier", "whose"),
    [("p", "written by you"), ("g", "written by you"), ("s", "from the repository")],
)
def test_a_learning_of_a_repository_is_not_told_as_yours(ok, place, tier, whose):
    """Whatever its file says of who wrote it."""
    vault.put(
        place, tier + "/learnings/a.md", "Zebra crossings", "They fade.", id="l-z", source="human"
    )
    assert "      confidence medium, %s\n" % whose in ok("recall", "zebra")
