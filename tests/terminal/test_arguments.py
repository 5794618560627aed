"""Options among words: as a shell hands them on, and as a person types them into a slash command."""

from __future__ import annotations

import json

import pytest

from memory.cli import main
from memory.terminal import arguments

ODD = "what's the \"fix\"?; $(date)"


def test_words_after_two_dashes_are_text(ok):
    """`--` ends the options, so that a query may hold one; so does quoting it together with other words."""
    ok("learn", "--title", "pip", "--", "--no-cache", "is needed")
    assert "pip" in ok("recall", "--", "--no-cache")
    assert "pip" in ok("recall", "--no-cache is needed")


def test_options_may_stand_among_the_words(ok):
    """The words that are no option are the query, in their order."""
    assert json.loads(ok("recall", "jwt", "--limit", "3", "issuer", "--json"))["query"] == "jwt issuer"


RAW = [
    ("recall", "jwt issuer --limit 3", ["--limit=3"], "jwt issuer"),
    ("recall", "--kind learning jwt", ["--kind=learning"], "jwt"),
    ("recall", "jwt --limit 3 issuer", ["--limit=3"], "jwt issuer"),
    ("recall", "what does --limit do", [], "what does --limit do"),
    ("recall", "use --no-cache; --tag", [], "use --no-cache; --tag"),
    ("recall", "x --tag 'auth' --tag=\"db\"", ["--tag=auth", "--tag=db"], "x"),
    ("recall", "x --explain=3 --explain", ["--explain"], "x --explain=3"),
    ("recall", "  a   b\n c ", [], "a   b\n c"),
    ("recall", ODD, [], ODD),
    ("recall", "", [], ""),
    ("recall", "--kind nonsense jwt", [], "--kind nonsense jwt"),
    ("recall", "-- --limit 3", ["--limit=3"], "--"),
    ("learn", "the flag --tag must come first", [], "the flag --tag must come first"),
    ("learn", "--tag auth the flag --tag must come", ["--tag=auth"], "the flag --tag must come"),
    ("learn", "tokens expire --tag auth --global", ["--tag=auth", "--global"], "tokens expire"),
    ("learn", "--global --tag a", ["--global", "--tag=a"], ""),
    ("plan", 'Move retries --step "queue worker"', ["--step=queue worker"], "Move retries"),
    ("plan", "Move --step 'the worker' --step=\"the \u2019docs'\"", ["--step=the worker", "--step=the \u2019docs'"], "Move"),
    ("plan", "--step what's wrong? it's late", ["--step=what's"], "wrong? it's late"),
    ("plan", 'drop p-1 --reason "no time', [], 'drop p-1 --reason "no time'),
    ("recall", "the 'old' and \"new\" way --limit 2 it's", ["--limit=2"], "the 'old' and \"new\" way it's"),
    ("recall", '"what does --limit 3 do" --limit 2', ["--limit=2"], '"what does --limit 3 do"'),
    ("recall", "isn't --limit 3 what's asked", ["--limit=3"], "isn't what's asked"),
]


@pytest.mark.parametrize(("verb", "raw", "options", "rest"), RAW, ids=[row[1] or "empty" for row in RAW])
def test_options_are_taken_out_of_typed_text(verb, raw, options, rest):
    """Known options with a fitting value are options; everything else stays as it was typed."""
    assert arguments.lenient(raw, main.VERBS[verb]) == (options, rest)
