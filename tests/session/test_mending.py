"""How remedies are spoken of."""

from __future__ import annotations

import pytest

from memory.session import mending


@pytest.mark.parametrize(("sentence", "surety", "said"), [
    ("Fix: Read `pools.json` only where the cache is older.", mending.CALLED, "Read `pools.json` only where the cache is older."),
    ("The fix was adding `--offline` to the call.", mending.CALLED, "adding `--offline` to the call."),
    ("Fixed by using `today()` in the fixture.", mending.CALLED, "using `today()` in the fixture."),
    ("`pool.go:12` - Added the `owner` field", mending.CHANGED, "`pool.go:12` - Added the `owner` field"),
    ("I added `owner` to both conversions.", mending.CHANGED, "I added `owner` to both conversions."),
    ("Now uses the root of the repository", mending.CHANGED, "Now uses the root of the repository"),
    ("The export now creates the folder of `pools.json`", mending.CHANGED, "The export now creates the folder of `pools.json`"),
    ("Fixed the test harness to close `pools.json`", mending.CHANGED, "Fixed the test harness to close `pools.json`")])
def test_a_sentence_says_what_was_changed(sentence, surety, said):
    """By its label, or by its verb behind the place that it names."""
    assert mending.told(sentence) == (surety, said)


@pytest.mark.parametrize("sentence", [
    "The fix might be to read `pools.json` first.", "Fix: shall we read `pools.json` first?", "Added a test for `open_pool()`.",
    "Let me see what the fix is.", "You can change `pools.json` by hand.", "The pool now belongs to nobody.",
    "Modified `open_pool()` to use the new logic", "I've fixed two issues in `open_pool`"])
def test_what_is_weighed_or_tells_nothing_is_no_remedy(sentence):
    """Nor is what leans on words of before."""
    assert mending.told(sentence) == (mending.NONE, "")


def test_a_heading_stands_over_a_remedy():
    """Of the kind that models write."""
    assert all(map(mending.is_over, ("The Fix", "Solution:", "What I changed", "Fixes applied")))
    assert not any(map(mending.is_over, ("Changes", "Summary of the fix release", "Root cause")))


def test_the_place_is_no_part_of_what_was_changed():
    """Its words are names of code as well."""
    assert mending.without_place("`src/pool.go:4-9` - Added a lock") == "Added a lock"


def test_a_thing_is_gone_where_it_was_removed_as_a_whole():
    """Not where a use of it was, or where it was but moved."""
    assert all(mending.takes_away(said, "open_pool") for said in (
        "Removed `open_pool()`", "Removed `open_pool()` after replacing it", "Deleted the unused `open_pool` helper and its test.",
        "We dropped `open_pool` from the code base.",
        "The removed `open_pool` function took care of retries."))
    assert not any(mending.takes_away(said, "open_pool") for said in (
        "Removed `open_pool()` from `pool.go`", "Removed the `open_pool` check", "Renamed `open_pool` to `take`", "Removed `open_pools`",
        "The removed `open_pool` calls took care of retries."))


def test_what_something_does_now_is_a_remedy_with_its_list():
    """Not where a verb says that it has or is something."""
    (one,) = mending.mended("Now the script:\n- builds the binary at its start\n- removes it at its end")
    assert one.said == "Now the script" and len(one.steps) == 2
    assert mending.mended("Now the branch has three commits:\n- add the pool\n- name the pool") == []


def test_headings_below_the_fix_are_remedies():
    """Where they say what was changed; a heading of the rank above ends that."""
    text = "### The Fix\n\n**1. Removed the guard of `open_pool`**\n\nIt kept all out:\n\n**2. Details of it**\n\n### Files\n\n**Added the `pool.go` file**"
    assert [one.said for one in mending.mended(text)] == ["Removed the guard of `open_pool`"]


def test_a_step_that_takes_another_list_is_left_out():
    """It is not whole without that one."""
    (one,) = mending.mended("Changed `open_pool()` to:\n1. wait for the lock\n2. give up with:")
    assert one.steps == ("wait for the lock",)


def test_a_table_of_what_was_wrong_and_what_mended_it():
    """A row of it tells both; other tables tell none."""
    lines = ["| File | Issue | Fix |", "|---|---|---|", "| `a.go` | **reads** the folder | Added `Root()` |", "Then:", "| Name | Fix |",
             "| - | - |", "| `b.go` | Added `Root()` |"]
    assert mending.rows(lines) == [("`a.go`", "reads the folder", "Added `Root()`")]
    assert [one.said for one in mending.mended("\n".join(lines))] == ["`a.go`: reads the folder → Added `Root()`"]


def test_a_list_of_causes_ends_before_an_item_that_takes_another_list():
    """That one is not whole."""
    assert mending.listed(["- one reads the index", "- two reads the files", "- where both are there:", "- so"]) == [
        "one reads the index", "two reads the files"]


def test_an_error_of_a_tool_is_a_pasted_one():
    """By its form: who says it, and what could not be done."""
    assert all(map(mending.PASTED.search, ("=== Step 3\ngo: cannot find main module", "sh: 1: lint: not found")))
    assert not mending.PASTED.search("we cannot find it here\nnor there")


@pytest.mark.parametrize("said", [
    "The root cause is that `load()` drops the header", "Problem: the header is dropped", "The bug was in `load()`", "원인: 헤더"])
def test_a_label_stands_before_a_cause(said):
    """In the words that people and models use for it."""
    assert mending.LABEL.match(said)


@pytest.mark.parametrize("said", ["It might be the header", "Perhaps the header is gone", "Is the header gone?"])
def test_what_is_supposed_is_no_cause(said):
    """A question is none either."""
    assert mending.SUPPOSED.search(said)


def test_who_agrees_names_the_cause_next():
    """And who only says that it is found."""
    assert mending.AGREES.match("You're absolutely right!") and mending.SEES.search("I found the issue.")
    assert not mending.AGREES.match("You're right that `load()` drops it, so the header goes.")


@pytest.mark.parametrize(("command", "said"), [
    ("gh api repos/o/r/pulls/1/comments/1000000001/replies -f body=\"Fixed in abc1234 - `load()` doesn't take the header\"",
     "`load()` doesn't take the header"),
    ('gh pr comment 1000000001 --body "Fixed. The cache is cleared on logout"', "The cache is cleared on logout"),
    ("gh pr comment 1000000001 -b 'Done: the cache is cleared on logout'", "The cache is cleared on logout"),
    ('gh pr comment 1000000001 --body "Fixed: see \\"cache\\" for how it is done"', ""),
    ('gh pr comment 1000000001 --body "Won\'t fix, the cache is small enough"', ""),
    ('gh pr comment 1000000002 --body "Fixed. The cache is cleared on logout"', "")])
def test_a_reply_to_a_comment_says_what_mended_it(command, said):
    """On a code host, to the comment's own number; not one that is cut, refuses, or answers another one."""
    assert [mend.said for mend in mending.replies([command], "1000000001")] == [said] * bool(said)


@pytest.mark.parametrize("said", [
    "Let me check `config.py` to see why it fails.", "I'll use grep to find `fooBar`.", "Let me keep looking at `fooBar`.",
    "I'll create a test for `fooBar`.", "Let me fix this."])
def test_to_look_at_something_is_no_mend(said):
    """Nor to test it."""
    assert mending.planned(said) is None and mending.planned("I need to add explicit returns:").said == "Add explicit returns"


def test_who_reported_a_failure_may_say_that_it_was_something_else():
    """In words that begin with it, not of another matter."""
    assert mending.is_named_otherwise(["ah I remember now, the issue was that my disk had no space left"], "`load()` drops the header")
    assert not mending.is_named_otherwise(["great. Next: on the page the issue is that a button is missing"], "`load()` drops the header")
