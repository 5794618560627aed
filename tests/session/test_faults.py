"""How a reviewer speaks of code."""

from __future__ import annotations

import pytest

from memory.session import faults


def test_a_comment_says_what_is_wrong_and_what_comes_of_it():
    """Behind its severity and its title; what it advises is none."""
    said = ["High Severity", "Header lost", "The loadRates function drops the header of rateTable. This makes the totals wrong. Consider a check."]
    assert faults.commented(said)[:1] == [("The loadRates function drops the header of rateTable.", "This makes the totals wrong.")]
    assert faults.commented(["Medium Severity: `total()` counts rows twice. This inflates each sum."]) == [
        ("`total()` counts rows twice.", "This inflates each sum.")]


@pytest.mark.parametrize("said", [
    "I think `total()` counts rows twice.", "Can you check why `total()` counts rows twice?", "the export of rates ends up without a header",
    "The `total()` function is never called.", "You could count rows without `total()`.", "The export writes rates to a file."])
def test_what_somebody_says_for_himself_or_for_tidiness_is_none(said):
    """Nor an advice, nor what is right."""
    assert faults.commented([said]) == []


def test_a_comment_ends_where_it_speaks_to_somebody():
    """What stands before is one all the same."""
    assert [one for one, _ in faults.commented(["`total()` skips the last row.", "Can we count it? It is never shown."])] == [
        "`total()` skips the last row."]


@pytest.mark.parametrize("title", ["1. **Rows counted twice**", "**1. Rows counted twice**", "### 1. Rows counted twice"])
def test_a_finding_is_numbered_within_its_marks_or_before_them(title):
    """Its fix stands below it."""
    (found,) = faults.findings(["## Critical issues", title, "`total()` adds the first row once more.", "**Fix:** Skip it."])[-1:]
    assert (found.number, found.title, found.said[0]) == ("1", "Rows counted twice", "`total()` adds the first row once more.")


def test_findings_stand_below_headings_in_bold_type():
    """Up to the next one, that is of none."""
    lines = ["**Medium Severity (valid):**", "1. **Missing check** - `load()` may give none", "**Questionable:**",
             "2. **Wrapper** - `total()` is one"]
    assert [(one.number, one.title) for one in faults.findings(lines) if one.number] == [("1", "Missing check")]


@pytest.mark.parametrize(("lead", "found"), [
    (["## Review comments"], 1), (["The review has these comments:"], 1), (["All review comments addressed:"], 0),
    (["Here is the plan for your feedback:"], 0), (["## Steps"], 0)])
def test_a_list_is_one_of_comments_where_its_lead_says_so(lead, found):
    """And not that they are worked off, or planned."""
    assert len([one for one in faults.findings([*lead, "", "1. **`load()` drops the header**", "It counts rows."]) if one.number]) == found


@pytest.mark.parametrize(("state", "found"), [
    ("**Still valid**", 1), ("open", 1), ("Won't fix", 0), ("**FIXED** ✓ - `load()` keeps it now", 0), ("False positive, by design", 0), ("✅", 0)])
def test_a_row_of_a_table_of_comments_that_says_it_is_mended_is_none(state, found):
    """Nor one that says it was none."""
    for title in ("`load()` drops the header", "Outdated headers are kept by `load()`"):
        table = ["## Review comments", "| # | Issue | Status |", "|---|---|---|", "| 1 | %s | %s |" % (title, state)]
        assert len([one for one in faults.findings(table) if one.number]) == found


PLAIN = faults.Place(edits=True, then_edited=True, reports=True)
FAULT = "`load()` drops the header of each table, but the export was written for tables that have one."


@pytest.mark.parametrize(("sentence", "place"), [
    ("I've written the export of the tables, and it holds all that was asked for.", PLAIN),
    ("The export writes the header of each table, and one line for each of its rows.", PLAIN._replace(then_edited=False, edits=False)),
    ("Let me look at the header of each table, but first at the export that was written.", PLAIN._replace(announces=True)),
    ("Suggested fix: " + FAULT, PLAIN),
    (FAULT, PLAIN._replace(number=20, item=True, then_edited=False, reports=False))])
def test_a_report_of_work_a_description_and_a_plan_are_less_likely_faults_than_a_statement_of_one(sentence, place):
    """So is one late in a list, and what is labelled as a remedy."""
    assert faults.likelihood(sentence, place) == 0.0 < faults.LEAST <= faults.likelihood(FAULT, PLAIN) < 1.0


@pytest.mark.parametrize("more", ["named", "headed", "failed", "pasted"])
def test_what_stands_beside_a_statement_makes_a_fault_likelier(more):
    """What calls it one, a heading, a failed run, an error that was pasted."""
    assert faults.likelihood(FAULT, PLAIN._replace(**{more: True})) > faults.likelihood(FAULT, PLAIN)


@pytest.mark.parametrize(("heading", "expected"), [("Issue 2", True), ("Why it fails", True), ("Changes made", False), ("", False)])
def test_a_heading_says_whether_faults_stand_below_it(heading, expected):
    """In one word."""
    assert faults.is_headed(heading) is expected
