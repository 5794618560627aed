"""Which sentences name a cause, and in which words it stands."""

from __future__ import annotations

import pytest

from memory.capture import causes
from memory.capture.turns import Turn
from memory.session import mending


def _said(text):
    return [one.text for one in causes.named(text)]


@pytest.mark.parametrize(("text", "cause"), [
    ("**Root Cause:** The `Pool` struct was missing the `owner` field.", "The `Pool` struct was missing the `owner` field."),
    ("I see the issue - the problem is that `open_pool()` never received the `timeout` parameter.",
     "`open_pool()` never received the `timeout` parameter."),
    ("All tests pass. The bug was that `list_pools` counted closed pools twice on a full scan.",
     "`list_pools` counted closed pools twice on a full scan."),
    ("The two bugs have the same root cause: paths in `git status` are relative to the root, not to the folder.",
     "Paths in `git status` are relative to the root, not to the folder."),
    ("## Root cause\n\nA map in Go has no order, and `Detect()` takes the first entry.\n\nSo it varies.",
     "A map in Go has no order, and `Detect()` takes the first entry."),
    ("It fails because `run.sh` was committed without its executable bit.",
     "The run fails because `run.sh` was committed without its executable bit."),
    ("Found the bug! The issue is:\n\n1. `scan()` goes by commit time\n2. After a merge the newer commits come first\n",
     "`scan()` goes by commit time; After a merge the newer commits come first"),
    ("I see the issue. `scan()` compares the paths with the folder, but `git status` gives them from the root.",
     "`scan()` compares the paths with the folder, but `git status` gives them from the root."),
    ("The problem is now clear:\n\nThe conversion of `Pool` leaves out the `owner` field.", "The conversion of `Pool` leaves out the `owner` field."),
    ("Now I see the issue. `open_pool()` waits for a lock that `close()` never gives back.",
     "`open_pool()` waits for a lock that `close()` never gives back."),
    ("All pass.\n\n**Before:** `open_pool()` asked the cache by the name of the folder. It was old.\n\n**After:** It asks `git` first.",
     "`open_pool()` asked the cache by the name of the folder."),
    ("You're right. `list_pools` returns the pools in any order, since `Detect()` walks a map.",
     "`list_pools` returns the pools in any order, since `Detect()` walks a map."),
    ("Found the bug. `list_pools()` waits for the lock and also gives it back twice at the end.",
     "`list_pools()` waits for the lock and also gives it back twice at the end."),
    ("**Found it!** `list_pools` reads the cache before `open_pool()` has filled it.",
     "`list_pools` reads the cache before `open_pool()` has filled it."),
    ("근본 원인은 `export.py`가 파일을 열 때 인코딩을 지정하지 않는 것이다.", "`export.py`가 파일을 열 때 인코딩을 지정하지 않는 것이다.")])
def test_a_cause_stands_without_its_label(text, cause):
    """The label and the words around it go."""
    assert _said(text) == [cause]


def test_each_of_several_causes_is_one_and_the_steps_of_one_are_not():
    """The label says which."""
    steps = "1. `open_pool()` never received the `timeout` parameter\n2. `list_pools` counted closed pools twice on a full scan"
    assert _said("**Root causes:**\n" + steps) == [
        "`open_pool()` never received the `timeout` parameter", "`list_pools` counted closed pools twice on a full scan"]
    assert len(_said("**Root cause:**\n" + steps)) == 1


@pytest.mark.parametrize("text", [
    "The issue might be that `open_pool()` never received the `timeout` parameter.",
    "Could the problem be that `open_pool()` never received the `timeout`?",
    "The problem is that I forgot to pass the `timeout` parameter to `open_pool()`.",
    "The issue is that it doesn't support this in that release of ours.",
    "The bug is in `pool.py` and in `list.py` and in the `cli` folder.",
    "Let me check whether the root cause is the `timeout` parameter of `open_pool()`.",
    "The issue was a missing `errors` import in the `validators.go` file of the package.",
    "We use `open_pool()` here because it takes the `timeout` parameter from the settings.",
    "I see the issue. Let me look at `open_pool()` and its `timeout` parameter first.",
    "I think I found the issue. `open_pool()` never received the `timeout` parameter.",
    "Found it in `pool.py`. `open_pool()` takes the `timeout` parameter from there.",
    "The tests failed because `pool_test.py` uses a helper of `list_test.py`. When I deleted that file, it was gone.",
    "**Before:** `open_pool(name, folder, owner, mode)`\n\n**After:** `open_pool(options)`",
    "Found the bug. `list_pools()` also goes by the name of the folder and not by its id.",
    "The issue: a potential race between `open_pool()` and `list_pools()` at the end of a scan.",
    "The problem: when a pool is closed while `list_pools` runs, the"])
def test_what_is_supposed_own_trivial_or_cut_names_no_cause(text):
    """A reader of the sentence alone must learn something, and something true."""
    assert _said(text) == []


def test_a_statement_tells_the_problem_and_the_fix_beside_the_cause():
    """Where it labels them."""
    (one,) = causes.named(
        "**Problem:** Pools of `list_pools` were shown twice after a restart of the server.\n\n"
        "**Root cause:** `list_pools` read the cache and the `pools.json` file, and joined both.\n\n"
        "**Fix:** Read `pools.json` only where the cache is older than the file.")
    assert one.weight == causes.ROOT and one.symptom.startswith("Pools of `list_pools` were shown twice")
    assert one.fix == "Read `pools.json` only where the cache is older than the file."


def test_what_was_changed_stands_in_sentences_of_their_own():
    """Below a heading, behind a label or by its verb; a list goes with its sentence."""
    assert mending.mended(
        "All done.\n\n## The fix\n\nChanged `open_pool()` to:\n- wait for the lock\n- give up after the `timeout`\n\n## Files\n\n"
        "- `pool.go` - Added the `owner` field\n- `list.go`\n\nThe fix was to read `pools.json` first.\n\nMaybe we could change more."
    ) == [(2.0, "Changed `open_pool()` to", ("wait for the lock", "give up after the `timeout`"), -1),
          (1.0, "`pool.go` - Added the `owner` field", (), 6), (2.0, "Read `pools.json` first.", (), -1)]


@pytest.mark.parametrize("text", [
    "1. **Before**: `list_pools` asked every pool for its owner, one after the other\n2. **After**: Asks `owners.json` once",
    "| # | Problem | Fix |\n|---|---|---|\n| 1 | `list_pools` asked every pool for its owner, one after the other | Asks `owners.json` once |"])
def test_what_was_before_and_what_is_after_may_stand_in_a_list_or_a_table(text):
    """Either names the cause and its mend."""
    (one,) = causes.named(text)
    assert (one.text, one.fix) == ("`list_pools` asked every pool for its owner, one after the other", "Asks `owners.json` once")


STEPS = ("`pool.go` - Added the `owner` field", "`list.go` - Changed `list_pools` to read `owner`", "`mail.go` - Removed the second mail")
OWNERLESS = causes.Named(causes.FOUND, "`list_pools` asked each pool for its `owner`, which none of them had.")


@pytest.mark.parametrize(("text", "said"), [
    ("Files changed:\n\n- %s\n- %s\n- %s", STEPS),
    ("Files changed:\n\n- %s\n- %s\n- %s\n- Added a page for mails\n- Added a menu for pages", STEPS[:2]),
    ("Files changed:\n\n- %s\n- %s\n- %s\n\nThe bug was that `send_mail` never closed its connection to the host.", STEPS[:2]),
    ("## The fix\n\n- %s\n- %s\n- %s\n- Added a test of `list_pools`", STEPS)])
def test_a_remedy_in_several_steps_is_told_with_all_of_them(text, said):
    """Not with what else was done: most of the list speaks of the cause, and no other cause is named."""
    found = causes.remedy(OWNERLESS, "list_pools: no owner", [text % STEPS], [], alone=False)
    assert tuple(one.said for one in found) == said


def test_the_list_below_a_sentence_goes_with_it_once():
    """As its steps, and none of them beside it."""
    (one,) = causes.remedy(OWNERLESS, "", ["Updated `list_pools` to:\n1. read the `owner` of the file\n2. Added `owner` where it lacks"],
                           [], alone=False)
    assert one[1:] == ("Updated `list_pools` to", ("read the `owner` of the file", "Added `owner` where it lacks"), -1)


@pytest.mark.parametrize(("request_", "line", "pasted"), [
    ("run it\n\npool.go:12:3: undefined: owner\nFAIL pool 0.1s", "pool.go:12:3: undefined: owner", True),
    ("Nice. But list_pools somehow shows closed pools. Can you look?", "But list_pools somehow shows closed pools.", False),
    ("the nightly mail now shows nothing, can you check?", "the nightly mail now shows nothing, can you check?", False),
    ("Something is odd here: list_pools couldn't find a closed pool. Can we count them somehow?",
     "Something is odd here: list_pools couldn't find a closed pool.", False),
    ("how does one pool differ from a conflict of two?", "", False), ("I think we should somehow prevent closed pools", "", False),
    ("this went wrong:", "", False),
    ("please add a flag to list_pools that shows closed pools", "", False),
    ("Implement the following plan: fix the broken list_pools", "", False)])
def test_what_a_person_reports_is_the_pasted_error_or_the_sentence_that_says_so(request_, line, pasted):
    """An order reports nothing, nor does a question; the one report of a short request needs no word of the cause."""
    assert causes.reported(Turn("", request_), "`list_pools` counted closed pools twice") == (line, pasted)


@pytest.mark.parametrize("piece", ["a ", "the issue is ", "because ", "`a` failed ", "**", "root cause: ", ":", "the fix "])
def test_repetition_does_not_hang_it(piece):
    """A line of 40 KB."""
    line = piece * (40000 // len(piece))
    assert isinstance(_said(line), list) and isinstance(mending.mended(line), list)
    assert isinstance(_said("before: %s\nafter%s" % (line, line)), list)


def test_what_a_review_only_supposes_is_told_as_supposed():
    """By its title; its list goes on below."""
    told = "## Issues\n\n### 1. POTENTIAL BUG - the pool of `open_pool()` may stay open after an error\n\nNobody closes it.\n\n" \
           "### 2. Bug: `list_pools()` counts closed pools twice whenever it scans all"
    assert [one.text for one in causes.reviewed(told)] == [
        "Supposed, not verified: The pool of `open_pool()` may stay open after an error",
        "`list_pools()` counts closed pools twice whenever it scans all"]


@pytest.mark.parametrize(("edited", "told"), [("src/list.py", ["`list.py`: counts `list_pools()` twice → Now skips closed pools"]), ("src/b.py", [])])
def test_a_row_of_a_table_is_a_remedy_of_the_file_that_it_names(edited, told):
    """Where an edit of it was one of the remedy's."""
    table = "| File | Issue | Fix |\n|---|---|---|\n| `list.py` | counts `list_pools()` twice | Now skips closed pools |\n"
    cause = causes.Named(causes.FOUND, "`list_pools()` counts closed pools twice whenever it scans all")
    assert [one.said for one in causes.remedy(cause, "", ["Done.\n\n" + table], [edited + "+if pool.closed:"], True)] == told
