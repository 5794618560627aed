"""What is said for good, by a person and in an answer; the rest stands in tests/knowledge/test_statements.py."""

from __future__ import annotations

import pytest

from memory.session import lasting

WHY = "`Depot.pack` keeps a lock because two clerks may pack the same parcel at once."


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
    assert lasting.wish(sentence) == wish


@pytest.mark.parametrize("sentence", [
    "I want to refactor the parcel list so that all shelves are covered", "we should do the parcel list now",
    "could we not print the parcel list at all?", "we don't print it there", "we should look at the parcel list of the depot",
    "ParcelList entries should be checked by callers of the depot", "not on the parcel, but on the box instead of the bag",
    "for #3 we don't print the parcel list"])
def test_an_order_of_the_moment_is_no_wish(sentence):
    """Nor a question, what points elsewhere, what is pasted, or an answer without its subject."""
    assert lasting.wish(sentence) == ""


@pytest.mark.parametrize(("one", "other", "opposed"), [
    ("I want parcel tracking enabled by default", "Parcel tracking is disabled by default instead of enabled", True),
    ("I want parcel tracking enabled by default", "Parcel tracking is enabled by default now", False),
    ("I want parcel tracking enabled", "Sounds are disabled in the depot", False)])
def test_the_opposite_is_said_of_the_same_subject(one, other, opposed):
    """What stands first in a sentence counts."""
    assert lasting.opposed(one, other) is opposed


@pytest.mark.parametrize(("sentence", "passing"), [("Write the parcel count for now", True), ("Write the parcel count", False)])
def test_a_word_of_the_moment(sentence, passing):
    """It marks what is ordered for the work at hand."""
    assert lasting.is_passing(sentence) is passing


@pytest.mark.parametrize("sentence", ["We removed the parcel commands on purpose", "Remember to ship parcels by rail",
                                      "We need to accept that a clerk may leave in the middle of a shift"])
def test_a_rule_is_general(sentence):
    """By words that say so."""
    assert lasting.rule(sentence) == sentence


# --- answers

def test_how_something_is_with_its_reason_is_founded():
    """Whatever was said to whoever asked stands in front."""
    assert lasting.said("Yeah, exactly - the parcel is sealed twice") == "The parcel is sealed twice"
    assert lasting.is_founded(WHY)


@pytest.mark.parametrize("sentence", [
    "`Depot.pack` was slow because two clerks were packing the same parcel.", "This works because `Depot.pack` keeps a lock on parcels.",
    "Parcels of Clerk A are late because `Depot.pack` keeps a lock on them.", "`Depot.pack` is confusing because it has two locks.",
    "The field is lost because `Depot.pack` does not read what it wrote.", "Agree - `Depot.pack` is enough because it keeps a lock.",
    "Removed `Depot.lock` since `Depot.pack` has one of its own already."])
def test_what_happened_once_or_leans_is_not(sentence):
    """Nor an example, an opinion, a report."""
    assert not lasting.is_founded(sentence)


@pytest.mark.parametrize(("request_", "again", "why"), [
    ("can you tell me again how parcels are sealed?", True, False), ("what was the name of the seal again?", True, False),
    ("check again how parcels are sealed", False, False), ("why do parcels have two seals?", False, True),
    ("run it again", False, False), ("what is the difference between a seal and a lock?", False, True),
    ("first pack all parcels of the depot and then tell the clerk, who may wonder, why", False, False)])
def test_a_question_asks_again_or_for_a_reason(request_, again, why):
    """By its words, and where it begins."""
    assert (lasting.asks_again(request_), lasting.asks_why(request_)) == (again, why)


def test_an_answer_opens_with_what_explains():
    """Headings, what is cut and what leads up to it are left out; a guess is no answer."""
    told = ["The depot", "Here is how it goes:", WHY, "The lock is given back after a minute", "Shall I change that?"]
    assert lasting.opening(told) == WHY + " The lock is given back after a minute."
    assert lasting.opening([WHY, "Probably the clerk has gone home"]) == ""
    assert lasting.opening(["The depot", "Parcels"]) == ""
    assert lasting.opening([WHY, "How it happens in practice", "Why this check exists"]) == WHY


def test_a_line_of_a_file_is_a_place():
    """It moves with the next edit."""
    assert lasting.has_place("`Depot.pack` (depot.go, line 70) keeps a lock") and lasting.has_place("see depot.go:94")
    assert not lasting.has_place(WHY) and not lasting.has_place("It takes 3 lines.")


@pytest.mark.parametrize(("plan", "aim"), [
    ("# Plan: Seal twice\n\n**Goal**\n\nSeal parcels twice before they leave the depot. More.\n", ["Seal parcels twice before they leave the depot."]),
    ("# Seal twice\n\n## Summary\nThe `seal` step is missing a second pass over parcels.\n\n## Solution\n"
     "Run `seal` over each parcel a second time.\n", ["Run `seal` over each parcel a second time."]),
    ("# Seal twice\n\n## Steps\n\n1. Call `seal` on each parcel of the depot\n", [])])
def test_a_plan_says_what_it_is_for(plan, aim):
    """Under a heading of its own; the fault that it mends is gone once it is carried out."""
    assert lasting.aim(plan) == aim


@pytest.mark.parametrize(("cause", "slip"), [
    ("The handler used an undefined `parcel` variable.", True), ("`Depot.pack` never released the lock on parcels.", False)])
def test_what_the_compiler_says_is_a_slip(cause, slip):
    """It is gone once it is mended."""
    assert lasting.is_slip(cause) is slip


def test_a_limit_says_what_cannot_be():
    """Of somebody else's program, for the most part."""
    assert lasting.is_limit("The rail API doesn't support parcels over 5 kg.") and not lasting.is_limit(WHY)


def test_a_question_about_how_things_are():
    """Not an order."""
    assert lasting.wonders("where are parcels sealed?") and not lasting.wonders("seal all parcels")
