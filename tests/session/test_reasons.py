"""How causes are spoken of."""

from __future__ import annotations

import pytest

from memory.session import reasons


@pytest.mark.parametrize("said", [
    "The root cause is that `load()` drops the header", "Problem: the header is dropped", "The bug was in `load()`", "원인: 헤더"])
def test_a_label_stands_before_a_cause(said):
    """In the words that people and models use for it."""
    assert reasons.LABEL.match(said)


@pytest.mark.parametrize("said", ["It might be the header", "Perhaps the header is gone", "Is the header gone?"])
def test_what_is_supposed_is_no_cause(said):
    """A question is none either."""
    assert reasons.SUPPOSED.search(said)


def test_who_agrees_names_the_cause_next():
    """And who only says that it is found."""
    assert reasons.AGREES.match("You're absolutely right!") and reasons.SEES.search("I found the issue.")
    assert not reasons.AGREES.match("You're right that `load()` drops it, so the header goes.")


def test_a_sentence_without_its_label_begins_anew():
    """A name of code keeps its letters."""
    assert reasons.capital("the header is gone") == "The header is gone" and reasons.capital("load_all() drops it") == "load_all() drops it"
