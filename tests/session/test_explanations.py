"""What an answer explains."""

from __future__ import annotations

import pytest

from memory.session import explanations

WHY = "`Depot.pack` keeps a lock because two clerks may pack the same parcel at once."


def test_how_something_is_with_its_reason_is_founded():
    """Whatever was said to whoever asked stands in front."""
    assert explanations.said("Yeah, exactly - the parcel is sealed twice") == "The parcel is sealed twice"
    assert explanations.is_founded(WHY)


@pytest.mark.parametrize("sentence", [
    "`Depot.pack` was slow because two clerks were packing the same parcel.", "This works because `Depot.pack` keeps a lock on parcels.",
    "Parcels of Clerk A are late because `Depot.pack` keeps a lock on them.", "`Depot.pack` is confusing because it has two locks.",
    "The field is lost because `Depot.pack` does not read what it wrote.", "Agree - `Depot.pack` is enough because it keeps a lock.",
    "Removed `Depot.lock` since `Depot.pack` has one of its own already."])
def test_what_happened_once_or_leans_is_not(sentence):
    """Nor an example, an opinion, a report."""
    assert not explanations.is_founded(sentence)


@pytest.mark.parametrize(("request_", "again", "why"), [
    ("can you tell me again how parcels are sealed?", True, False), ("what was the name of the seal again?", True, False),
    ("check again how parcels are sealed", False, False), ("why do parcels have two seals?", False, True),
    ("run it again", False, False), ("what is the difference between a seal and a lock?", False, True),
    ("first pack all parcels of the depot and then tell the clerk, who may wonder, why", False, False)])
def test_a_question_asks_again_or_for_a_reason(request_, again, why):
    """By its words, and where it begins."""
    assert (explanations.asks_again(request_), explanations.asks_why(request_)) == (again, why)


def test_an_answer_opens_with_what_explains():
    """Headings, what is cut and what leads up to it are left out; a guess is no answer."""
    told = ["The depot", "Here is how it goes:", WHY, "The lock is given back after a minute", "Shall I change that?"]
    assert explanations.opening(told) == WHY + " The lock is given back after a minute."
    assert explanations.opening([WHY, "Probably the clerk has gone home"]) == ""
    assert explanations.opening(["The depot", "Parcels"]) == ""


@pytest.mark.parametrize(("plan", "aim"), [
    ("# Plan: Seal twice\n\n**Goal**\n\nSeal parcels twice before they leave the depot. More.\n", ["Seal parcels twice before they leave the depot."]),
    ("# Seal twice\n\n## Summary\nThe `seal` step is missing a second pass over parcels.\n\n## Solution\n"
     "Run `seal` over each parcel a second time.\n", ["Run `seal` over each parcel a second time."]),
    ("# Seal twice\n\n## Steps\n\n1. Call `seal` on each parcel of the depot\n", [])])
def test_a_plan_says_what_it_is_for(plan, aim):
    """Under a heading of its own; the fault that it mends is gone once it is carried out."""
    assert explanations.aim(plan) == aim


@pytest.mark.parametrize(("cause", "slip"), [
    ("The handler used an undefined `parcel` variable.", True), ("`Depot.pack` never released the lock on parcels.", False)])
def test_what_the_compiler_says_is_a_slip(cause, slip):
    """It is gone once it is mended."""
    assert explanations.is_slip(cause) is slip


def test_a_limit_says_what_cannot_be():
    """Of somebody else's program, for the most part."""
    assert explanations.is_limit("The rail API doesn't support parcels over 5 kg.") and not explanations.is_limit(WHY)


def test_a_question_about_how_things_are():
    """Not an order."""
    assert explanations.wonders("where are parcels sealed?") and not explanations.wonders("seal all parcels")
