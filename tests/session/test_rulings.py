"""What a person says for good: wishes, and what is none; the rest stands in tests/knowledge/test_statements.py."""

from __future__ import annotations

import pytest

from memory.session import rulings


@pytest.mark.parametrize(("sentence", "wish"), [
    ("we don't pack the whole depot, only `depot/index.json` belongs in the parcel",
     "We don't pack the whole depot, only `depot/index.json` belongs in the parcel"),
    ("that is not right, we can't ship on a holiday", "We can't ship on a holiday"),
    ("I'd prefer the parcel to be called depot-box instead of box-of-depot",
     "I'd prefer the parcel to be called depot-box instead of box-of-depot"),
    ("the idea is that a clerk takes over the shift of another one", "The idea is that a clerk takes over the shift of another one"),
    ("let's completely drop the weekly parcel list", "Completely drop the weekly parcel list")])
def test_a_wish_is_told_without_what_leads_up_to_it(sentence, wish):
    """How something is to be, in whoever's own words."""
    assert rulings.wish(sentence) == wish


@pytest.mark.parametrize("sentence", [
    "I want to refactor the parcel list so that all shelves are covered", "we should do the parcel list now",
    "could we not print the parcel list at all?", "we don't print it there", "we should look at the parcel list of the depot",
    "ParcelList entries should be checked by callers of the depot", "not on the parcel, but on the box instead of the bag",
    "for #3 we don't print the parcel list"])
def test_an_order_of_the_moment_is_no_wish(sentence):
    """Nor a question, what points elsewhere, what is pasted, or an answer without its subject."""
    assert rulings.wish(sentence) == ""


@pytest.mark.parametrize(("one", "other", "opposed"), [
    ("I want parcel tracking enabled by default", "Parcel tracking is disabled by default instead of enabled", True),
    ("I want parcel tracking enabled by default", "Parcel tracking is enabled by default now", False),
    ("I want parcel tracking enabled", "Sounds are disabled in the depot", False)])
def test_the_opposite_is_said_of_the_same_subject(one, other, opposed):
    """What stands first in a sentence counts."""
    assert rulings.opposed(one, other) is opposed


@pytest.mark.parametrize(("sentence", "passing"), [("Write the parcel count for now", True), ("Write the parcel count", False)])
def test_a_word_of_the_moment(sentence, passing):
    """It marks what is ordered for the work at hand."""
    assert rulings.is_passing(sentence) is passing


@pytest.mark.parametrize("sentence", ["We removed the parcel commands on purpose", "Remember to ship parcels by rail",
                                      "We need to accept that a clerk may leave in the middle of a shift"])
def test_a_rule_is_general(sentence):
    """By words that say so."""
    assert rulings.rule(sentence) == sentence
