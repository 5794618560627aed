"""From failures and their fixes to candidates, and from candidates to what a prompt gets."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from harness.command import on_terminal
from harness.hook import fire, payload
from harness.session import Ending
from harness.vault import learnings as many
from harness.vault import put, settings

from memory.capture import causes, lessons, progress, stretches
from memory.core import frontmatter
from memory.health import worker
from memory.knowledge import candidates, duplicates, outlived
from memory.store import ledger, store

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "evals" / "lessons"))

import sequence  # noqa: E402

CASES = [json.loads(line) for line in (ROOT / "evals/lessons/cases.jsonl").open(encoding="utf-8")]
FRESH = [json.loads(line) for line in (ROOT / "evals/lessons/fresh.jsonl").open(encoding="utf-8")]
MISSING = "ModuleNotFoundError: No module named 'openpyxl'"
INSTALL = "pip install openpyxl"
WHY = "The tests failed because `openpyxl` is not among the requirements of this project."
TESTS = "pytest -q tests/test_export.py"


def missing(session):
    """Let a session fail for want of a package, say why, install it, pass."""
    session.ask("run them for " + session.name).bash(TESTS, "E   " + MISSING, 2).say(WHY)
    return session.bash(INSTALL, "Successfully installed").bash(TESTS, "6 passed in 1s")


# ---- what is a lesson

@pytest.mark.parametrize("case", CASES, ids=[case["id"] + " " + case["kind"] for case in CASES])
def test_a_labelled_sequence_teaches_what_its_label_says(case, tmp_path):
    """A lesson with the error and what made it pass, or none; through a transcript in the host's format."""
    path = sequence.write(case["steps"], tmp_path, "s-1")
    found = lessons.lessons(stretches.gather(str(path), {"CLAUDE_CONFIG_DIR": str(tmp_path)}, (sequence.PROJECT,)))
    assert len(found) == (case["label"] == "lesson"), found
    assert all(word in found[0].body for word in case.get("expect", ()))


@pytest.mark.parametrize("case", FRESH, ids=[case["id"] + " " + case["kind"] for case in FRESH])
def test_a_sequence_that_no_rule_was_made_for_teaches_nothing_wrong(case, tmp_path):
    """The lesson of its label or none; a trap, none."""
    path = sequence.write(case["steps"], tmp_path, "s-1")
    found = lessons.lessons(stretches.gather(str(path), {"CLAUDE_CONFIG_DIR": str(tmp_path)}, (sequence.PROJECT,)))
    assert len(found) <= (case["label"] == "lesson"), found
    assert all(word in one.body for one in found for word in case["expect"])


def _taught(session):
    return lessons.lessons(stretches.gather(str(session.path), session.env, (session.project,)))


def _failing(session, request="fix the rates"):
    """Let a session fail in one file and pass after an edit of another."""
    session.ask(request).bash("pytest -q tests/test_rates.py", "E   ValueError: rate_table is empty\nsrc/rates.py:3: ValueError", 1)
    session.change("src/rates.py", "rate_table = load()", "rate_table = load(strict=False)")
    return session.bash("pytest -q tests/test_rates.py", "3 passed in 0.2s")


LENIENT = "Root cause: `load()` dropped the header of `rate_table` and then found no rows."


def test_what_made_something_pass_is_no_lesson_until_somebody_says_why(session):
    """A failure, an edit and a success are evidence alone."""
    assert _taught(_failing(session)) == []
    (lesson,) = _taught(session.say(LENIENT))
    assert lesson.title == "`load()` dropped the header of `rate_table` and then found no rows"
    assert "ValueError: rate_table is empty" in lesson.body and "load(strict=False)" in lesson.body


@pytest.mark.parametrize("report", [
    "the nightly export ends up empty, can you look at rate_table?",
    "I get this\n\nTraceback (most recent call last):\n  File \"src/rates.py\", line 3\nValueError: rate_table is empty"])
def test_a_failure_that_the_user_reports_or_pastes_counts(session, report):
    """No command of the model's failed."""
    session.ask(report).change("src/rates.py", "rate_table = load()", "rate_table = load(strict=False)").say(LENIENT)
    (lesson,) = _taught(session)
    assert "Reported: " in lesson.body and lesson.files == ("src/rates.py",)


def test_what_the_model_agrees_with_is_a_cause_where_it_mends_what_it_names(session):
    """At once, in what it names; what it explains where nothing was mended is none."""
    session.ask("review says: the totals of rate_table are wrong").say("You're right. `total()` adds the header of `rate_table` to its rows.")
    session.change("src/main.py", "", "log = quiet").say("Done.")
    assert _taught(session) == []
    session.ask("and the totals of rate_table are wrong still").say("You're right. `total()` does not skip the header of `rate_table` with its rows.")
    session.change("src/total.py", "total(rate_table)", "total(rate_table[1:])").say("Done.")
    assert [lesson.files for lesson in _taught(session)] == [("src/total.py",)]
    session.ask("why did we need `total` again?").say("The original issue was that `total()` took each `header` for a row of numbers.")
    assert len(_taught(session)) == 1


def test_what_is_called_the_issue_right_before_its_edit_is_a_cause(session):
    """Though the outcome names none."""
    session.ask("the export of rate_table hangs at its end").say("The issue is that `close()` of rate_table waits far too long for readers.")
    session.change("src/rates.py", "rate_table.close()", "rate_table.close(timeout=1)")
    (lesson,) = _taught(session.say("All done.\n\n- Changed `close()` of rate_table to wait for a second at most."))
    assert lesson.body.endswith(", not as a cause.\n")
    assert lesson.title.startswith("`close()` of rate_table waits far too long") and "wait for a second at most" in lesson.body


@pytest.mark.parametrize(("said", "count"), [
    ("`load()` never closes `rate_table`, but the next export expects it to be free.", 1),
    ("`load()` might never close `rate_table`, but the next export expects it to be free.", 0),
    ("Let me see whether `load()` never closes `rate_table`, but expects it to be free.", 0),
    ("Changed `load()` to close `rate_table`, which the next export did not expect.", 0),
    ("This was never closed, but the next export expects `rate_table` to be free.", 0)])
def test_what_nothing_calls_a_cause_is_one_by_how_it_is_put_and_where_it_stands(session, said, count):
    """Right before an edit, behind a report: a whole statement of what was wrong, neither supposed nor announced nor the mend."""
    session.ask("the second export of a day fails, rate_table is locked").say(said).change("src/rates.py", "load()", "load().close()")
    found = _taught(session.say("The export runs twice a day now."))
    assert [lesson.title.rstrip(".") for lesson in found] == [said.rstrip(".")] * count


@pytest.mark.parametrize(("path", "then", "count"), [
    ("src/rates.py", "It runs twice.", 1), ("src/rates.py", "Still locked. The reader holds it.", 0),
    ("tests/test_rates.py", "It runs twice.", 0), ("", "It runs twice.", 0)])
def test_what_is_only_likely_a_cause_must_have_been_mended(session, path, then, count):
    """Not where it stayed, where a test alone was changed, or nothing at all."""
    session.ask("the second export of a day fails, rate_table is locked")
    session.say("`load()` never closes `rate_table`, but the next export expects it to be free.")
    if path:
        session.change(path, "load()", "load().close()")
    assert len(_taught(session.say(then).say("I looked at the export."))) == count


@pytest.mark.parametrize(("new", "count"), [("nightly.unlock(export)", 1), ("log = quiet", 0)])
def test_an_edit_right_after_a_likely_cause_mends_it_where_they_share_words(session, new, count):
    """Though the cause names nothing in code."""
    session.ask("the second export of a day fails").say("The lock of the nightly export was held for good, so the next one never got its rows.")
    found = _taught(session.change("src/main.py", "export.run()", new).say("Done."))
    assert [lesson.files for lesson in found] == [("src/main.py",)] * count


@pytest.mark.parametrize(("request_", "reports"), [
    ("right now the export lists every row of rate_table twice in a row", True), ("add a column to the export of rate_table", False)])
def test_what_the_user_described_is_the_report_where_the_turn_found_and_fixed_something(session, request_, reports):
    """No word in it says that something is wrong; an order reports nothing all the same."""
    session.ask(request_).say("I found the bug. `load()` walks each `row` of rate_table once for its header and once for itself.")
    session.change("src/rates.py", "rate_table = load()", "rate_table = load(header=False)").say("Fixed. Rows come once now.")
    assert [lesson.body.count("Reported: " + request_) for lesson in _taught(session)] == [reports]


def test_an_objection_to_what_was_found_reports_it(session):
    """The turn that looks again says what it is, and the user says to go on."""
    session.ask("how does the export read rate_table?").say("`load()` of rate_table takes its header first.")
    session.ask("hmm, but each row of it has a header").say("I see the issue now. `load()` takes every `row` of rate_table for a header.")
    session.ask("yes").change("src/rates.py", "rate_table = load()", "rate_table = load(header=False)").say("Done, it reads them.")
    (lesson,) = _taught(session)
    assert "Reported: hmm, but each row of it has a header" in lesson.body


def test_an_error_of_the_compiler_on_the_way_is_not_what_the_outcome_explains(session):
    """It says all of itself."""
    session.ask("now the next problem: the export of rate_table lacks each second row").bash(
        "go build ./...", "src/rates.go:3:2: declared and not used: rows", 1).change("src/rates.py", "rate_table = load()", "rate_table = every()")
    session.bash("go build ./...", "").say("**Before**: `load()` went on after each `row` of rate_table, so every other one was lost\n\n"
                                           "**After**: `every()` goes on by itself")
    (lesson,) = _taught(session)
    assert "Reported: now the next problem" in lesson.body and "declared" not in lesson.body


def test_an_edit_belongs_to_the_turn_that_made_it(session):
    """Though the next turn changes the same file, with nothing run in between."""
    session.ask("the export fails:\n\nerror: rate_table timed out").say("I found the issue. The wait for `rate_table` counts its header too.")
    session.change("src/rates.py", "rate_table.wait(20)", "rate_table.wait(rows)").say("Done. It waits for its rows.")
    session.ask("add a retry to the mail").change("src/rates.py", "", "retry = 1").say("Added.")
    (lesson,) = _taught(session)
    assert "`rate_table.wait(20)` → `rate_table.wait(rows)`" in lesson.body and "retry" not in lesson.body


def test_a_cause_that_is_found_in_one_turn_may_be_mended_in_the_next(session):
    """The user says to go ahead."""
    session.ask("why does the export end up empty? it somehow lost rate_table").say(LENIENT).ask("ok fix it")
    session.change("src/rates.py", "rate_table = load()", "rate_table = load(strict=False)").say("Done.")
    assert [lesson.turn for lesson in _taught(session)] == [0]


def test_the_user_may_name_the_cause(session):
    """Whoever it was stands in the lesson."""
    session.ask("the export fails: the root cause is that `rate_table` has no header since the last import")
    session.change("src/rates.py", "rate_table = load()", "rate_table = load(header=None)").say("Done.")
    (lesson,) = _taught(session)
    assert lesson.speaker == causes.PERSON and "Named by the user on " in lesson.body


@pytest.mark.parametrize("words", [
    "no, that is not the cause", "it still fails for me", "then I would want the strict loader", "please revert that"])
def test_what_the_user_denies_next_is_not_kept(session, words):
    """The words right after the turn."""
    _failing(session).say(LENIENT).ask(words).say("I see.")
    assert _taught(session) == []


def test_what_the_user_denies_later_is_not_kept_where_it_names_the_same(session):
    """Several turns on, by the names of the cause."""
    _failing(session).say(LENIENT).ask("add a changelog entry").change("CHANGELOG.md", "", "- rates").say("Added it.")
    assert len(_taught(session)) == 1
    session.ask("no, `rate_table` still has rows of `load()` without a header").say("I see.")
    assert _taught(session) == []


def test_what_was_edited_before_a_report_did_not_mend_it(session):
    """It may have caused it: where only tests were edited since, nothing is told of the remedy."""
    session.ask("compare the rates without case").change("src/rates.py", "rate_table = load()", "rate_table = load(strict=False)").say("Done.")
    session.ask("the tests of rate_table fail now, can you look?").change("tests/test_rates.py", "== 'Rate'", "== 'rate'")
    assert _taught(session.say("Root cause: `load()` of `rate_table` is case-sensitive, so `Rate` meets nothing.")) == []


def test_a_failure_that_came_of_the_fix_is_none_of_its_cause(session):
    """What failed after the mending had begun is left out, and the cause kept; a test that was written first belongs to it."""
    session.ask("the export has lost rows of rate_table, fix it").change("src/rates.py", "rows = rate_table[1:]", "rows = list(rate_table)")
    session.bash("pytest -q tests/test_rates.py", "E   KeyError: 'rate_table'\nsrc/rates.py:9: KeyError", 1)
    session.change("src/rates.py", "name = 'rate'", "name = 'rates'").bash("pytest -q tests/test_rates.py", "3 passed in 0.2s")
    (lesson,) = _taught(session.say("Root cause: `rate_table` was cut at its first row, though `load()` strips the header."))
    assert "KeyError" not in lesson.body and "Reported: the export has lost rows of rate_table" in lesson.body


def test_the_change_of_a_file_is_told_as_it_ended(session):
    """What an attempt brought and a later edit took away is no part of it."""
    _failing(session).change("src/rates.py", "rate_table = load(strict=False)", "rate_table = load(header=None)")
    session.bash("pytest -q tests/test_rates.py", "3 passed in 0.2s")
    session.ask("the export ends up with an empty rate_table too, it is broken").change("src/export.py", "rate_table = first()", "rate_table = last()")
    session.change("src/util.py", "a = 1", "a = 2").change("src/export.py", "rate_table = last()", "rate_table = every()").say(LENIENT)
    (lesson,) = _taught(session)
    assert "`rate_table = first()` → `rate_table = every()`" in lesson.body and "last()" not in lesson.body


def test_of_a_change_too_large_to_tell_only_the_file_stands(session):
    """A part of it might say the opposite."""
    session.ask("the nightly export ends up empty, can you look at rate_table?").edit(
        "src/rates.py", *("%srate_table.append(%d)" % (sign, n) for n in range(5) for sign in "-+" for n in [2 * n + (sign == "+")]))
    (lesson,) = _taught(session.say(LENIENT))
    assert "- edited `src/rates.py`\n" in lesson.body and "append" not in lesson.body


def test_what_a_merge_left_behind_is_of_that_day(session):
    """Its report is none."""
    session.ask("I merged main and had to resolve the conflicts, rate_table is broken")
    session.say(LENIENT).change("src/rates.py", "rate_table = load()", "rate_table = load(strict=False)").say("Done.")
    assert _taught(session) == []


def test_what_the_model_says_it_changed_stands_first(session):
    """Where it speaks of what was edited."""
    _failing(session).say(LENIENT + " Changed `load()` to keep going where a row of `rate_table` has no header.")
    (lesson,) = _taught(session)
    assert "What mended it:\n\n- Changed `load()` to keep going where a row of `rate_table` has no header" in lesson.body


def test_the_remedy_is_told_in_the_words_of_the_turn_s_outcome(session):
    """The sentence that shares a name with the cause; none of a test, of another matter, or of what was only weighed."""
    session.ask("the nightly export ends up empty, can you look at rate_table?").say(LENIENT).edit(
        "src/rates.py", *("%srow.append(%d)" % (sign, n) for n in range(4) for sign in "-+" for n in [2 * n + (sign == "+")]))
    session.say("Done.\n\n## What I changed\n\n1. **`src/rates.py`** - Changed the loader to:\n   - keep the header of `rate_table`\n"
                "   - skip empty rows\n2. Added a test for `rate_table`\n3. Updated `export_all()` to print less\n\n"
                "Alternatively we could have changed `rate_table` itself.")
    (lesson,) = _taught(session)
    assert lesson.body.partition("What mended it:\n\n")[2].partition("\n\nNamed")[0] == (
        "- `src/rates.py` - Changed the loader to:\n  - keep the header of `rate_table`\n  - skip empty rows\n- edited `src/rates.py`")


def test_what_is_called_the_fix_is_told_without_a_name_where_nothing_else_tells(session):
    """Between cause and success; beside lines that tell the change it is left out."""
    session.ask("the nightly export ends up empty, can you look at rate_table?").say(LENIENT)
    session.say("The fix is to keep going where a row has no header.").change("src/rates.py", "a = 1", "rate_table = load(strict=False)")
    (lesson,) = _taught(session.say("All good."))
    assert "keep going" not in lesson.body and "rate_table = load(strict=False)" in lesson.body
    session.edit("src/rates.py", *("+b = %d" % n for n in range(9)))
    (lesson,) = _taught(session.say("Works."))
    assert "- Keep going where a row has no header.\n- edited `src/rates.py`\n" in lesson.body


def test_what_was_before_and_what_is_after_are_cause_and_remedy(session):
    """In an outcome, also where nothing failed; not where either is missing."""
    before = "**Before:** `handle()` guessed the `agent` by its folder and took the first one that was there."
    session.ask("the hook belongs to one agent, so take that one").change("src/hook.py", "agent = guess()", "agent = command.agent")
    assert _taught(session.say("All pass.\n\n" + before)) == []
    (lesson,) = _taught(session.say("All pass.\n\n" + before + "\n\n**After:** `handle()` takes the `agent` of its command."))
    assert "- `handle()` takes the `agent` of its command.\n- edited `src/hook.py`: `agent = guess()`" in lesson.body


@pytest.mark.parametrize(("between", "count"), [
    (lambda it: it.say("Let me look at the loader of the rates."), 1),
    (lambda it: it.bash("pytest -q tests/test_rates.py", "3 passed in 0.2s").say("It passed."), 0)])
def test_narration_between_a_failure_and_its_cause_does_not_part_them(session, between, count):
    """A run that passed does: then the cause stands without it."""
    session.ask("run them").bash("pytest -q tests/test_rates.py", "E   ValueError: rate_table is empty\nsrc/rates.py:3: ValueError", 1)
    between(session).say(LENIENT).change("src/rates.py", "rate_table = load()", "rate_table = load(strict=False)")
    session.bash("pytest -q tests/test_rates.py", "3 passed in 0.2s").say("Done.")
    (lesson,) = _taught(session)
    assert lesson.body.count("ValueError: rate_table is empty") == count


def test_another_edit_than_that_of_the_test_may_have_mended_it(session):
    """By the names of the cause."""
    session.ask("run them").bash("pytest -q tests/test_rates.py", "E   ValueError: rate_table is empty\ntests/test_rates.py:3: ValueError", 1)
    session.say(LENIENT).change("tests/test_rates.py", "a = 1", "print(rate_table)")
    session.change("src/loader.py", "skip(1)", "rate_table = skip(0)").change("tests/test_rates.py", "print(rate_table)", "a = 1")
    (lesson,) = _taught(session.bash("pytest -q tests/test_rates.py", "3 passed in 0.2s").say("Done."))
    assert lesson.files == ("src/loader.py",)


@pytest.mark.parametrize("own", [False, True])
def test_a_cause_may_be_stated_of_the_test_itself(session, own):
    """Then an edit of tests alone mends it; not where the same turn had written it."""
    session.ask("run them")
    if own:
        session.change("tests/test_rates.py", "day = 0", "day = '2026-01-12'")
    session.bash("pytest -q tests/test_rates.py", "E   AssertionError: expected 2026-01-12, got 2026-01-13\n"
                                 "tests/test_rates.py:3: AssertionError", 1)
    session.say("I see the issue. The test has `2026-01-12` hard-coded, and `load()` names files by the day.")
    session.change("tests/test_rates.py", "day = '2026-01-12'", "day = today()").bash("pytest -q tests/test_rates.py", "3 passed in 0.2s")
    session.say("Done.")
    assert ["`day = '2026-01-12'` → `day = today()`" in lesson.body for lesson in _taught(session)] == [True] * (not own)


@pytest.mark.parametrize(("why", "kept"), [
    ("The test failed because `first_row` skips the header and then one row more.", 0),
    ("The test failed because `csv.reader()` yields the header as a row too.", 1)])
def test_a_slip_of_the_turn_itself_is_no_lesson_and_a_library_s_trap_is(session, why, kept):
    """Where only lines went that the same turn had written, and the cause names nothing that outlives them."""
    session.ask("count the rows").change("src/rates.py", "pass", "rows = first_row(2)")
    session.bash("pytest -q tests/test_rates.py", "E   AssertionError: 3 rows, want 4\nsrc/rates.py:3: AssertionError", 1).say(why)
    session.change("src/rates.py", "rows = first_row(2)", "rows = first_row(1)").bash("pytest -q tests/test_rates.py", "3 passed in 0.2s")
    assert len(_taught(session.say("Done."))) == kept


def test_what_the_compiler_says_of_code_being_written_is_no_lesson(session):
    """Who compiles it again mends it."""
    session.ask("my build fails:\n\nrates.go:3:9: cannot use rate (variable of type string) as Rate value in argument to take\n")
    session.change("rates.go", "take(rate)", "take(Rate(rate))").say("The cause was that `take()` wants a `Rate`, and `rate` is text.")
    assert _taught(session) == []


def test_what_was_changed_back_is_not_kept(session):
    """By another edit of the same lines."""
    _failing(session).say(LENIENT).ask("load strictly and change the fixture")
    session.change("src/rates.py", "rate_table = load(strict=False)", "rate_table = load()").say("Done.")
    assert _taught(session) == []


def test_a_remedy_that_was_replaced_after_another_cause_was_named_is_not_kept(session):
    """The last word counts; a line that was only written better keeps its lesson."""
    _failing(session).say(LENIENT).ask("use one helper for both loaders")
    session.change("src/rates.py", "rate_table = load(strict=False)", "rate_table = lenient()").say("Done.")
    assert len(_taught(session)) == 1
    session.ask("hm, none of the files has a header at all").say("I see the issue now. The rows of `read_all()` come without their first line.")
    session.change("src/rates.py", "rate_table = lenient()", "rate_table = read_all()").say("Done.")
    assert LENIENT.partition(": ")[2].rstrip(".") not in [lesson.title for lesson in _taught(session)]


def test_a_remedy_is_not_kept_where_a_later_turn_found_what_lies_deeper(session):
    """The user asked, the model conceded; what it says to have done besides teaches nothing."""
    _failing(session).say(LENIENT).ask("why can't the writer keep the header of rate_table?")
    session.change("src/writer.py", "rows(rate_table)", "rows(rate_table, header=True)")
    assert len(_taught(session)) == 1
    session.say("You're right, it can. This mends it at the root cause, since the writer of `rate_table` keeps it now.")
    assert _taught(session) == []


def test_what_is_found_out_after_the_turn_s_own_edits_is_not_the_cause_of_what_was_reported(session):
    """Its edits may have brought it; the outcome tells of the report."""
    session.ask("the nightly export of rate_table ends up empty").change("src/rates.py", "", "cache = rates()")
    session.say("I see the issue. `cached()` wraps the rows of `rate_table` without their header.")
    session.change("src/rates.py", "cache = rates()", "cache = rate_table")
    assert _taught(session.say("Done.")) == []
    assert len(_taught(session.say("Fixed. The bug was that `load()` dropped the header of `rate_table` each night."))) == 1


@pytest.mark.parametrize(("first", "then", "count"), [
    ("Found it! ", "It ends at once.", 1), ("I see the issue - ", "It ends at once.", 1), ("Found it - maybe ", "It ends at once.", 0),
    ("Found it! ", "Still slow at its end. The loader takes most of it.", 0), ("Got it - ", "It ends at once.", 0)])
def test_what_was_found_on_the_way_is_a_cause_where_it_did_not_stay_after_the_mend(session, first, then, count):
    """Also where the same sentence says that it was found."""
    session.ask("the export of rate_table hangs").say(first + "`close()` of `rate_table` waits for each of its readers.")
    session.change("src/rates.py", "rate_table.close()", "rate_table.close(readers=())").say(then)
    assert len(_taught(session.change("src/main.py", "", "log = quiet").say("Done."))) == count


def test_to_wait_longer_mended_nothing_until_something_passes(session):
    """Nobody saw whether it was enough."""
    report, why = "the export fails: it timed out after 20s", "I found the bug. The timeout of `export()` is `20` seconds and it took `21`."
    session.ask(report).say(why).change("src/rates.py", "timeout = 20", "timeout = 45")
    assert _taught(session.say("Done, raised `timeout` to `45`.")) == []
    session.ask("it fails again").bash("pytest -q tests/test_rates.py", "E   TimeoutError: export() took 21 s\nsrc/rates.py:3: TimeoutError", 1)
    session.say(why).change("src/rates.py", "timeout = 45", "timeout = 90").bash("pytest -q tests/test_rates.py", "3 passed in 0.2s")
    assert len(_taught(session.say("Done."))) == 1


def test_causes_of_one_event_are_one_lesson(session):
    """Of one failure, or mended in one file: the first with the others, and all that mended them."""
    told = "These bugs are gone.\n\n| Before | After |\n| --- | --- |\n| %s | %s |\n| %s | %s |\n" % (
        "`load()` took the header line of each `rate_table` for one of its rows", "Changed `load()` to skip the header",
        "`total()` began its sum of `rates` at what names the columns", "Changed `total()` to begin one line below")
    session.ask("write the export of rate_table anew").change("src/rates.py", "load(rate_table)", "load(rate_table, header=False)")
    session.change("src/rates.py", "total(rate_table)", "total(rate_table[1:])")
    (lesson,) = _taught(session.say(told))
    assert "Also: `total()` began its sum of `rates` at what names the columns." in lesson.body
    assert lesson.body.count("- Changed ") == 2 and lesson.body.count("src/rates.py") == 1


def test_a_report_that_says_what_the_cause_says_is_told_once(session):
    """In other words it is told beside it."""
    for report, count in (("`load()` drops the header of `rate_table`", 0), ("my export of rate_table lost its first line", 1)):
        session.ask(report).change("src/rates.py", "rate_table = load()", "rate_table = load(header=%d)" % count)
        (lesson,) = _taught(session.say("Fixed. The bug was that `load()` dropped the header of `rate_table`."))[:1]
        assert lesson.body.count("Reported: ") == count


def test_of_a_large_change_the_lines_are_told_that_bear_what_the_cause_names(session):
    """Where nobody says what mended it, and it is too large to be told whole."""
    session.ask("the export of rate_table ends up empty")
    for number in range(9):
        session.change("src/load.py", "a%d = %d" % (number, number), "b%d = %d" % (number, number))
    session.change("src/load.py", "load()", "load(drop_header=False)")
    (lesson,) = _taught(session.say("All is well. The bug was that `load()` of `rate_table` took `drop_header` for a column of its own."))
    assert "- edited `src/load.py`, among others: + `load(drop_header=False)`" in lesson.body


def test_the_file_that_has_most_to_do_with_a_cause_stands_first(session):
    """Of one cause as of several."""
    session.ask("the export of rate_table ends up empty").change("src/main.py", "rate_table = load()", "rate_table = load(strict=False)")
    session.change("src/load.py", "header = load(rate_table)", "header = load(rate_table, drop_header=False)")
    (lesson,) = _taught(session.say("Fixed. The bug was that `load()` of `rate_table` took `header` and `drop_header` for one."))
    assert lesson.files == ("src/load.py", "src/main.py")


HEADER = "Found the bug! `load()` takes the header of `rate_table` for one of its rows. Let me fix that."


@pytest.mark.parametrize(("again", "count"), [("pytest -q tests/test_rates.py", 1), ("pytest -q tests/test_tables.py", 0)])
def test_what_was_found_on_the_way_is_the_cause_of_what_had_failed_and_then_passes(session, again, count):
    """Though other work came in between, and the turn ends with other words; a run of something else shows nothing of it."""
    session.ask("export the rates").bash("pytest -q tests/test_rates.py", "E   ValueError: no rows\nsrc/main.py:3: ValueError", 1)
    session.bash("git log --oneline -3 src", "4f1c2aa Load").say("Nothing new there.").say(HEADER)
    session.change("src/rates.py", "rate_table = load()", "rate_table = load(header=False)").bash(again, "3 passed in 0.2s")
    found = _taught(session.say("The export of the rates stands in `out.csv`, in the order of their days."))
    assert ["ValueError: no rows" in lesson.body for lesson in found] == [bool(count)]


@pytest.mark.parametrize(("next_", "count"), [
    ("ok, works. great", 1), ("yes, that did it. now the tables", 1), ("now the tables", 1), ("it still shows none", 0)])
def test_a_cause_is_one_unless_the_user_says_that_it_is_still_so(session, next_, count):
    """Though nothing was reported in words, and no run shows it."""
    session.ask("out of the export: a, b, c").say("Let me see.").say(HEADER).change("src/rates.py", "rate_table = load()", "rate_table = load(header=False)")
    session.say("The rates stand in `out.csv` now, in the order of their days.").ask(next_).say("So be it, and it is done.")
    assert len(_taught(session)) == count


CLAIM = ("The loadRates function reads the header of rateTable without checking that there is one. For an empty file this makes writeTotals "
         "count a row too many.")


@pytest.mark.parametrize(("request_", "tested", "said", "count"), [
    (CLAIM, True, "Added a check of the header to `loadRates()`.", 1), (CLAIM, False, "Done. Added a check of the header to `loadRates()`.", 1),
    (CLAIM, False, "Good point, it is better now.", 1), (CLAIM, False, "I looked at `loadRates()`, and it should be fine now.", 0),
    ("I think " + CLAIM, True, "Done. Added a check of the header to `loadRates()`.", 0), (CLAIM[:1].lower() + CLAIM[1:], True, "Done.", 0)])
def test_what_a_reviewer_says_of_code_is_a_cause_where_it_was_mended(session, request_, tested, said, count):
    """In code that bears its names, and tested or granted; not what the user thinks, or types in passing."""
    session.ask(request_).change("src/rates.py", "rateTable = loadRates()", "rateTable = loadRates(header=check)")
    if tested:
        session.change("tests/test_rates.py", "", "assert loadRates('empty') == []")
    found = _taught(session.bash("pytest -q tests/test_rates.py", "3 passed in 0.2s").say(said))
    assert [(lesson.speaker, "Reported: For an empty file" in lesson.body) for lesson in found] == [(causes.PERSON, True)] * count


def test_where_the_report_is_the_cause_itself_the_lesson_tells_what_came_of_it(session):
    """The model says in its words what the comment says."""
    session.ask(CLAIM).change("src/rates.py", "rateTable = loadRates()", "rateTable = loadRates(header=check)")
    (lesson,) = _taught(session.say("Fixed. The bug was that `loadRates` reads the header of `rateTable` without checking that there is one."))
    assert "Reported: For an empty file this makes writeTotals count a row too many." in lesson.body


def test_what_the_model_agrees_with_of_a_comment_is_granted_as_the_comment_is(session):
    """Though no test was changed; the comment says what comes of it."""
    session.ask("The loadRates function lacks the check of a header. For an empty file this makes writeTotals count a row too many.")
    session.say("Good catch. `loadRates()` takes the first line of `rateTable` for a header, whatever it holds.")
    session.change("src/rates.py", "rateTable = loadRates()", "rateTable = loadRates(header=check)")
    (lesson,) = _taught(session.say("I've added the check."))
    assert "Reported: For an empty file" in lesson.body


@pytest.mark.parametrize("said", ["Good point. `total()` adds the header of `rate_table` to its rows.", "Good catch! `total()` adds the header of `rate_table`."])
def test_a_point_that_is_called_good_is_agreed_with(session, said):
    """What is wrong follows; the fields that went are the mend."""
    session.ask("and the totals of rate_table are wrong too").say(said).change("src/total.py", "total(rate_table)", "total(rate_table[1:])")
    session.change("tests/test_total.py", "", "assert total(rate_table) == 3").say("Done. The header of `rate_table` has been removed from `total()`.")
    (lesson,) = _taught(session)
    assert "- The header of `rate_table` has been removed" in lesson.body


REVIEW = """I read all of the export.

## Issues Found

### 1. Bug: rows vanish when a table has no header (HIGH)
**File:** `src/rates.py:12`
`load()` takes the first line of `rate_table` for a header, whatever it holds. What happens then:

### 2. Totals are added twice
`total()` begins its sum at the header of each `rate_table`.

### 3. Correct, but slow
`walk()` reads each `row` once more than it needs to.
"""


@pytest.mark.parametrize(("asked", "files"), [
    ("fix all of them", {"src/rates.py", "src/total.py"}), ("let's fix 1", {"src/rates.py"}), ("and 2 please", {"src/total.py"}),
    ("let total() begin the sum below the header", {"src/total.py"}), ("rename the module first", set())])
def test_what_a_review_numbers_is_a_cause_where_it_was_then_mended(session, asked, files):
    """What was asked for, by its number or in its words; in the file that it names, or by two names of it."""
    session.ask("can you review the export?").say(REVIEW).ask(asked).change("src/rates.py", "rate_table = load()", "rate_table = load(header=False)")
    session.change("src/total.py", "return total(rate_table)", "return total(rate_table[1:])")
    found = _taught(session.say("## Changes Made\n\n### 1. Changed `load()` to ask for the header of `rate_table`\n\nAll done."))
    assert {path for lesson in found for path in lesson.files} == files
    told = "Rows vanish when a table has no header: `load()` takes the first line of `rate_table` for a header, whatever it holds."
    assert ["- Changed `load()` to ask for" in lesson.body for lesson in found if lesson.body.startswith(told)] == [True] * (
        "src/rates.py" in files)


def test_a_finding_says_that_no_run_bears_it_out_and_a_bare_heading_is_none(session):
    """Below a number that names a place and three words more nothing says what is wrong."""
    session.ask("can you review the export?").say(REVIEW.replace("### 2. Totals are added twice", "### 2. `src/total.py:103`: Empty table edge case")
                                                  .replace("`total()` begins its sum at the header of each `rate_table`.", "`total()`"))
    session.ask("fix all of them").change("src/rates.py", "rate_table = load()", "rate_table = load(header=False)")
    session.change("src/total.py", "return total(rate_table)", "return total(rate_table[1:])").say("Changed both.")
    (lesson,) = _taught(session)
    assert lesson.files == ("src/rates.py",) and re.search(r"Named by the model on [\d-]+, in a review that no run bears out\.", lesson.body)


def test_a_finding_is_mended_in_the_turn_that_orders_it_and_no_longer_supposed_once_a_test_proves_it(session):
    """A test is written for it first; both are the first two; the remedy that the review plans counts where none is told."""
    session.ask("can you review the export?").say(
        "## Critical Findings\n\n**1. Potential loss of rows**\n\n`load()` takes the first line of `rate_table` for a header.\n\n"
        "**Fix:** Ask whether there is a header.\n\n**2. Totals twice**\n\n`total()` begins its sum at the header of `rate_table`.\n\n"
        "**3. Slow walk**\n\n`load()` walks `rate_table` once more than it must.")
    session.ask("write a test for the critical ones").change("tests/test_rates.py", "", "assert load(rate_table) == 3")
    session.bash(RATES, "E   assert load(rate_table) == 3", 1).say("Both fail, as they should.")
    session.ask("now fix both of them then").change("src/rates.py", "rate_table = load()", "rate_table = load(header=ask)")
    session.change("src/rates.py", "return total(rate_table)", "return total(rate_table[1:])")
    found = _taught(session.bash(RATES, "3 passed in 0.2s").say("All is green."))
    assert {lesson.title[:20] for lesson in found} == {"Potential loss of ro", "Totals twice: `total"}
    assert ["- Ask whether there is a header" in lesson.body for lesson in found if "Potential" in lesson.title] == [True]


RATES = "pytest -q tests/test_rates.py"


@pytest.mark.parametrize(("said", "count"), [
    ("`rate_table` is read with its header, but `load()` never asks for one. Let me pass it.", 1),
    ("`load()` of `rate_table` comes next. Let me pass it.", 0), ("Maybe `load()` never asks `rate_table` for one. Let me pass it.", 0)])
def test_what_is_said_right_before_the_edit_is_the_cause_of_the_run_that_failed(session, said, count):
    """Where it says what is wrong, though it does not call it the cause, and the run passes then."""
    session.ask("export the rates").bash(RATES, "E   ValueError: rate_table has 2 rows\nsrc/main.py:3: ValueError", 1).say(said)
    session.change("src/rates.py", "rate_table = load()", "rate_table = load(header=ask)").bash(RATES, "3 passed in 0.2s")
    assert len(_taught(session.say("The rates stand in `out.csv`."))) == count


def test_a_cause_that_says_why_needs_no_name_of_code(session):
    """Below its label, in a turn that mended it; one that says nothing of why does."""
    told = "**Problem:** Rows that somebody edits between two exports are counted as imported%s\n\n**Solution:** Keep the rows of the last export."
    session.ask("count the rows of an import").change("src/rates.py", "count = len(rows)", "count = len(rows) - len(last)")
    assert len(_taught(session.say("Done.\n\n" + told % " because each export takes the whole table for the import."))) == 1
    other = Ending(session.env, session.project, session.now, "sess-2").ask("count the rows of an import")
    other.change("src/rates.py", "count = len(rows)", "count = len(rows) - len(last)")
    assert _taught(other.say("Done.\n\n" + told % ", each of them, every time.")) == []


def test_a_lesson_tells_what_later_edits_made_of_its_lines(session):
    """In the same session; other lines of the file are of no matter."""
    (lesson,) = _taught(_failing(session).say(LENIENT))
    assert "later there" not in lesson.body
    session.ask("name it by its table").change("src/rates.py", "rate_table = load(strict=False)", "rate_table = load(rate_table, strict=False)")
    (lesson,) = _taught(session.say("Done, it is named."))
    assert "- later there: `rate_table = load(strict=False)` → `rate_table = load(rate_table, strict=False)`" in lesson.body


@pytest.mark.parametrize(("said", "told"), [("ah, the issue was that my disk had no space left", False), ("and now the tables", True)])
def test_a_report_that_its_author_explains_otherwise_is_of_no_cause(session, said, told):
    """The cause may be one all the same."""
    session.ask("my export of the rates ended with an error at last").change("src/rates.py", "rate_table = load()", "rate_table = load(header=False)")
    session.say("Fixed. The bug was that `load()` dropped the header of `rate_table`.").ask(said).say("I see.")
    assert ["Reported: my export" in lesson.body for lesson in _taught(session)] == [told]


def test_what_is_announced_before_an_edit_tells_what_mended_it_where_nothing_else_does(session):
    """As an order, since nobody said that it was done."""
    session.ask("I get this on the server:\n  src/rates.py:12:5: R501 rate_table may be none here\n  1 issue")
    session.say("The linter doesn't know that `fail()` ends the run of `rate_table`. I need to add explicit returns:")
    for number in range(9):
        session.change("src/rates.py", "fail(rate_table, %d)" % number, "fail(%d)\nreturn" % number)
    (lesson,) = _taught(session.bash("make lint", "ok").say("The linter is quiet now."))
    assert "- Add explicit returns\n" in lesson.body


def test_a_plan_is_no_mend(session):
    """It is kept outside of the project; the next turn, which carries it out, mends what was reported."""
    session.ask("the export also lost the columns rate_day and rate_unit")
    session.say("I now understand the issue. The export doesn't pass the columns of a table to `writeRows` at its end.")
    session.tool("Write", {"file_path": "/tmp/plans/columns.md", "content": "# Columns"}, "File created successfully at: /tmp/plans/columns.md",
                 result={"type": "create", "filePath": "/tmp/plans/columns.md", "content": "# Columns"})
    session.ask("ok, do it").change("src/rates.py", "day = None", "rate_day = rate_unit = None").say("Done. Added both columns.")
    (lesson,) = _taught(session)
    assert lesson.files == ("src/rates.py",) and "Reported: the export also lost the columns" in lesson.body


def test_of_a_log_that_is_pasted_the_line_at_a_place_is_the_failure(session):
    """Below what the person typed."""
    session.ask("I get this on the server:\n  Running the linter in /w/rates ...\n  src/rates.py:12:5: R501 rate_table may be none here\n  1 issue")
    session.say("The linter doesn't know that `fail()` ends the run of `rate_table`.")
    session.change("src/rates.py", "fail(rate_table)", "return fail(rate_table)").bash("make lint", "ok")
    (lesson,) = _taught(session.say("Done."))
    assert "Reported: src/rates.py:12:5: R501 rate_table may be none here" in lesson.body


def test_what_was_found_on_the_way_stands_beside_the_outcome_where_a_run_failed_of_it_alone(session):
    """With its own change, since the outcome speaks of another one."""
    session.ask("the export of rate_table ends up empty").change("src/rates.py", "rate_table = load()", "rate_table = load(header=False)")
    session.bash(RATES, "E   ValueError: rows below zero\nsrc/main.py:3: ValueError", 1)
    session.say("I found the bug. `countRows()` goes below zero for an empty table.")
    session.change("src/count.py", "return countRows(rows)", "return max(0, countRows(rows))").bash(RATES, "3 passed in 0.2s")
    found = _taught(session.say("Fixed. The bug was that `load()` took the header of `rate_table` for a row.\n\nAdded `header=False` for `countRows()`."))
    assert {lesson.files: "Added" in lesson.body for lesson in found} == {("src/rates.py",): True, ("src/count.py",): False}


COMMENTS = """New comments of the reviewer (3 items):

| ID | Line | Issue | Severity |
|----|------|-------|----------|
| 1000000001 | 53 | `load()` takes the first line of `rate_table` for a header, whatever it holds | Low |
| 1000000002 | 65 | `total()` swallows errors of `rate_table` and shows no rows at all | Low |
| 1000000003 | 72 | `walk()` reads each `rate_table` once more than it needs to | Style |

Which ones should I address?"""


def test_what_a_table_tells_of_comments_is_a_cause_where_a_reply_says_that_it_was_mended(session):
    """By the comment's number; one that was to be skipped is none."""
    session.ask("what does the reviewer say?").say(COMMENTS).ask("do all of them, skip 1000000003 and tell why")
    session.change("src/rates.py", "rate_table = load()\nwalk(rate_table)", "rate_table = load(header=ask)\nfirst = walk(rate_table)")
    session.change("src/total.py", "total(rate_table)", "total(rate_table, errors=log)")
    session.bash("gh api repos/o/r/pulls/1/comments/1000000001/replies -f body=\"Fixed in abc1234 - asks for the header before it counts\" && "
                 "gh api repos/o/r/pulls/1/comments/1000000003/replies -f body=\"Won't fix - rows are few and read at once here\"", "{}")
    found = {lesson.title[:7]: lesson.body for lesson in _taught(session.say("All comments are answered."))}
    assert set(found) == {"`load()", "`total("} and "- Asks for the header before it counts\n" in found["`load()"]


def test_comments_may_stand_below_bold_headings_or_be_quoted(session):
    """As a list of findings, though no heading is one of markdown's."""
    session.ask("what else is there?").say(
        "These review comments are open:\n\n**1. `rates.py:12`** - Header taken for a row\n"
        "> `load()` takes the first line of `rate_table` for a row, whatever it holds\n\nShall I?")
    session.ask("yes, do it").change("src/rates.py", "rate_table = load()", "rate_table = load(header=ask)")
    (lesson,) = _taught(session.say("Done."))
    assert lesson.title == "`rates.py:12`: Header taken for a row. `load()` takes the first line of `rate_table` for a row, whatever it holds"


def test_what_a_review_says_of_tidiness_is_no_cause(session):
    """Though it is worked off."""
    session.ask("can you review the export?").say("## Issues\n\n1. **`load()` duplicates logic of `rate_table`**\n\nIt adds complexity for one row.")
    session.ask("fix 1").change("src/rates.py", "rate_table = load()", "rate_table = load(header=False)")
    assert _taught(session.say("Done. Changed `load()` of `rate_table`.")) == []


def test_after_yes_only_a_remedy_that_was_put_into_words_counts(session):
    """What "yes" agreed to may be of anything; "fix it" says enough."""
    session.ask("explain how rates are read").say("We read `rate_table` first.\n\nThe bug: `load()` dropped the header of `rate_table` here.")
    session.ask("yes").change("src/rates.py", "rate_table = load()", "rate_table = load(strict=False)").say("Now it is all done.")
    assert _taught(session) == []
    session.say("Changed `load()` to keep the header of `rate_table`.")
    (lesson,) = _taught(session)
    assert "- Changed `load()` to keep the header of `rate_table`" in lesson.body


def test_a_commit_that_is_reverted_takes_its_candidate_along(session, env, project, now):
    """In a later session; what a person accepted stays."""
    for name, accepted in (("sess-2", False), ("sess-3", True)):
        other = Ending(env, project, now, name)
        _failing(other).bash("git commit -am 'Load rates'", "[main 4f1c2aa] Load rates").say(LENIENT)
        (kept,) = other.end()
        if accepted:
            store.Store(session.place, settings(), now).edit(kept.name, {"accepted": True})
        last = Ending(env, project, now + 86400, name + "-later")
        last.ask("take it back").bash("git revert --no-edit 4f1c2aa", '[main 5a1c2bb] Revert "Load rates"').say("Reverted.")
        assert len(last.end()) == accepted
        for path in Path(session.place.private, "archive").rglob("*load*"):
            path.unlink()


NEEDLESS = ("src/rates.py", "def loadStrict(path):\n    return read(path)\n", "")


@pytest.mark.parametrize(("changed", "more", "stays"), [
    (NEEDLESS, (), 0), (NEEDLESS, ("src/tables.py", "", "def loadStrict(path):"), 1), (("src/rates.py", "loadStrict(path)", ""), (), 1)])
def test_what_a_lesson_tells_of_was_removed_later(session, env, project, now, changed, more, stays):
    """By an edit that took its definition away, in another session; not where it stands elsewhere now, or is only not called."""
    (kept,) = _failing(session).say(LENIENT + " Added `loadStrict()` beside `load()` for it.").end()
    assert "`loadStrict()`" in kept.body
    last = Ending(env, project, now + 86400, "sess-2")
    last.ask("clean up what nobody calls").change(*changed)
    if more:
        last.change(*more)
    assert len(last.say("Done: cleaned up.").end()) == stays


@pytest.mark.parametrize(("changed", "since"), [
    (("src/rates.py", "def loadStrict(path):", "def loadWithHeader(path):"), ["`loadStrict` is called `loadWithHeader`"]),
    (("src/rates.py", "def readTables(path):", "def readAllTables(path):"), []),
    (("tests/test_rates.py", "def loadStrict(path):", "def loadWithHeader(path):"), [])])
def test_a_lesson_says_how_what_it_names_is_called_since(session, env, project, now, changed, since):
    """Where another session renamed it; what it does not name, or what a test names, is no matter of it."""
    _failing(session).say(LENIENT + " Added `loadStrict()` beside `load()` for it.").end()
    for more in (1, 2):
        last = Ending(env, project, now + more * 86400, "sess-2")
        last.ask("use better names").change(*changed).say("Done.").end()
    (kept,) = session.learnings()
    assert re.findall(r"(?m)^Since [\d-]{10}: (.+)\.\n\nNamed by the model", kept.body) == since


def test_a_name_that_is_replaced_in_its_own_turn_is_told_by_the_change(session):
    """Then the lesson says nothing else of it."""
    session.ask("fix it").bash("pytest -q tests/test_pool.py", "E   KeyError: 'poolCount'\nsrc/pool.py:4: KeyError", 1)
    session.change("src/pool.py", "poolCount = 1\nb = poolCount", "slotCount = 1\nb = slotCount")
    session.bash("pytest -q tests/test_pool.py", "8 passed in 0.4s")
    (kept,) = session.say("Done. The bug was that `pool.py` still read `poolCount`, which nobody sets any more.").end()
    assert "Since" not in kept.body


def test_what_a_session_says_to_be_gone_takes_its_lesson_along_at_the_next_start(session, env, project, now):
    """Whoever took it away: the next session begins without it."""
    _failing(session).say(LENIENT + " Added `loadStrict()` beside `load()` for it.").end()
    last = Ending(env, project, now + 86400, "sess-2")
    last.ask("what changed on main?").say("The removed `loadStrict` function took care of headers; readers do that now, one by one, each.")
    assert len(last.end()) == 1
    worker.after_start({"session_id": "next", "cwd": project}, {**session.env, "DAYLEAF_RUNTIME_AUTO": "0"}, now + 90000)
    assert session.learnings() == []


def test_a_lesson_tells_cause_error_change_and_commit(session):
    """Then who named the cause, the commit that followed, the checkpoint, the turn of the conversation."""
    session.ask("fix it").bash("pytest -q tests/test_tokens.py", "E   KeyError: 'issuer'\nsrc/tokens.py:41: KeyError", 1)
    session.change("src/tokens.py", "x = claims['issuer']", "x = claims['iss']").bash("pytest -q tests/test_tokens.py", "8 passed in 0.4s")
    session.bash("git commit -am 'Read the issuer from iss'", "[main 4f1c2aa] Read the issuer from iss")
    session.say("Done. The bug was that `tokens.py` read the issuer from `claims['issuer']`, but the standard calls it `iss`.")
    (kept,) = session.end()
    assert kept.title == "`tokens.py` read the issuer from `claims['issuer']`, but the standard calls it `iss`"
    assert re.sub(r"on \d{4}-\d\d-\d\d", "on DAY", kept.body) == """\
`tokens.py` read the issuer from `claims['issuer']`, but the standard calls it `iss`.

`pytest -q tests/test_tokens.py` failed:

    src/tokens.py:41: KeyError: 'issuer'

What mended it:

- edited `src/tokens.py`: `x = claims['issuer']` → `x = claims['iss']`

Named by the model on DAY.
Commit 4f1c2aa: Read the issuer from iss
"""
    assert (str(kept.meta["turn"]), kept.meta["named_by"]) == ("1", "model")
    assert (kept.source, kept.confidence, kept.accepted, kept.tags) == ("auto", "low", False, ("python", "pytest"))
    assert (kept.meta["session"], kept.meta["commit"], kept.meta["files"]) == ("sess-1", "4f1c2aa", ["src/tokens.py"])
    checkpoint = frontmatter.parse(session.where()[0].read_bytes()).meta
    assert kept.derived_from == (checkpoint["id"],)


def test_no_more_than_a_few_come_of_a_session(session):
    """Whatever the number of checkpoints."""
    for number, package in enumerate(["openpyxl", "lxml", "numpy", "scipy", "httpx", "pandas", "fsspec"]):
        command = "pytest -q tests/test_%s.py" % package
        session.ask("x").bash(command, "E   ModuleNotFoundError: No module named '%s'" % package, 2)
        session.say("The %s tests failed because the wheel of `%s` was left out of the image." % (package, package))
        session.bash("pip install " + package, "ok").bash(command, "1 passed in 1s")
        session.end("PreCompact" if number % 2 else "SessionEnd")
    assert len(session.learnings()) == lessons.MOST


def test_private_parts_secrets_and_injected_text_reach_no_candidate(session):
    """A secret is gone everywhere; an edit of a file with private parts is told without its lines."""
    secret = "hv" + "s." + "CAESIJ4kqzW8vNp3TtRr7Zb2YyQx"
    session.ask("x").bash("pytest -q tests/test_key.py", "E   ValueError: bad token '%s' in settings_key\nsrc/settings_key.py:3: ValueError"
                          % secret, 1)
    session.tool("Edit", {"file_path": session.project + "/src/settings_key.py"}, "updated", result={
        "filePath": "x", "originalFile": "<private>\nname = 1\n</private>", "structuredPatch": [{"lines": ["-name = 1", "+name = 2"]}]})
    session.say("The test failed because `settings_key` is read before the key ring is unlocked, with '%s' in it." % secret)
    session.bash("echo <private>hidden words</private>; pip install keyring", "ok").bash("pytest -q tests/test_key.py", "1 passed in 1s")
    session.say("<dayleaf-memory>E   KeyError: 'injected'</dayleaf-memory>")
    (kept,) = session.end()
    text = Path(session.place.path(kept.name)).read_text(encoding="utf-8")
    assert "ValueError: bad token" in text and "- edited `src/settings_key.py`\n" in text
    for gone in (secret, secret[:12], "name = 1", "name = 2", "hidden words", "injected"):
        assert gone not in text


def test_capture_of_lessons_can_be_switched_off(session, project):
    """By its setting, which a project may narrow."""
    Path(project, ".dayleaf").mkdir()
    Path(project, ".dayleaf", "config.json").write_text('{"capture": {"lessons": false}}')
    assert missing(session).end() == [] and len(session.files()) == 1


# ---- what is there already

def test_the_same_session_captured_twice_makes_one(session, env, project, now):
    """Also where its state is lost, and where it goes on."""
    assert len(missing(session).end("PreCompact")) == 1
    session.state.unlink()
    assert len(missing(session).end()) == 1
    assert not Path(session.place.private, "ledger.jsonl").exists()
    assert not session.learnings()[0].accepted


def test_a_second_session_counts_again_and_promotes(session, env, project, now):
    """A line in the ledger, `accepted` in the file with who said so; the source stays automatic."""
    missing(session).end()
    other = Ending(env, project, now + 86400, "sess-2")
    (kept,) = missing(other).end()
    lines = [json.loads(line) for line in Path(session.place.private, "ledger.jsonl").read_text().splitlines()]
    assert [(line["v"], line["id"], line["event"]) for line in lines] == [(1, kept.id, "again")]
    assert len(lines[0]["session"]) == 8 and "sess-2" not in str(lines)
    assert kept.accepted and kept.source == "auto" and kept.meta["accepted_by"] == outlived.SEEN
    missing(other).end()
    assert len(Path(session.place.private, "ledger.jsonl").read_text().splitlines()) == 1


def test_what_was_counted_is_promoted_later_where_the_process_died_between(session, env, project, now):
    """The ledger has the line, the file says nothing yet: the next capture that meets it ends the work, in any session."""
    (kept,) = missing(session).end("PreCompact")
    ledger.note(ledger.holding(session.place, kept.name), kept.id, "again", now, "sess-2")
    session.state.unlink()
    (kept,) = missing(session).end()
    assert kept.accepted and kept.meta["accepted_by"] == outlived.SEEN


def test_a_person_takes_a_promotion_back_for_good(session, env, project, now):
    """`accepted: false` stands, whatever comes."""
    (kept,) = missing(session).end()
    store.Store(session.place, settings(), now).edit(kept.name, {"accepted": "false"})
    (kept,) = missing(Ending(env, project, now + 86400, "sess-2")).end()
    assert not kept.accepted


@pytest.mark.parametrize("reword", [False, True])
def test_what_was_rejected_is_not_proposed_again(session, env, project, now, reword):
    """Also where it was reworded before."""
    (kept,) = missing(session).end()
    if reword:
        path = Path(session.place.path(kept.name))
        path.write_text(path.read_text().replace("openpyxl", "something").replace("title: ", "title: My "))
    status, shown = on_terminal(["review"], env, project, ["r"])
    assert status == 0 and "rejected %s" % kept.id in shown
    assert missing(Ending(env, project, now + 86400, "sess-2")).end() == []


def test_what_a_person_wrote_is_counted_and_left_alone(session, now):
    """The ledger gets a line, the file not a byte."""
    missing(session)
    body = lessons.lessons(stretches.gather(str(session.path), session.env))[0].body
    path = Path(put(session.place, "p/learnings/mine.md", "Mine", body, source="human"))
    before = path.read_bytes()
    assert [record.id for record in session.end()] == ["mine"] and path.read_bytes() == before
    assert '"id":"mine","event":"again"' in Path(session.place.private, "ledger.jsonl").read_text()


@pytest.mark.parametrize(("one", "other", "same"), [
    ("- ran `pip install openpyxl`", "- ran `pip install openpyxl`", True),
    ("- ran `pip install openpyxl==3.1.5`", "- ran `pip install openpyxl==3.1.6`", False),
    ("- edited `src/auth.py`", "- edited `src/tokens.py`", False),
    ("    KeyError at line 12 of /home/a/x.py", "    KeyError at line 97 of /home/b/x.py", True),
    ("Commit 4f1c2aa: Fix it", "Commit 9ab3d10: Mend it", True)])
def test_near_duplicates_differ_in_no_identifier_and_no_number(one, other, same):
    """What varies in an error and where a learning comes from are put aside."""
    frame = "`pytest -q tests/test_export.py` failed:\n\n%s\n\nWhat made it pass after all that was tried before:\n"
    assert (duplicates.alike(*(duplicates.words(frame % said) for said in (one, other))) > duplicates.SAME) is same


def test_without_an_index_what_is_there_is_found_all_the_same(session, env, project, now):
    """The files are read instead."""
    missing(session).end()
    for path in Path(session.place.cache).iterdir():
        if path.is_file():
            path.unlink()
    assert len(missing(Ending(env, project, now + 86400, "sess-2")).end()) == 1


def test_a_worker_that_died_before_it_wrote_leaves_its_lessons_to_the_next(session, monkeypatch):
    """They stand in the state until a candidate is there; a session's start takes them up too."""
    missing(session)
    monkeypatch.setattr(candidates, "_settled", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert session.end() == [] and len(session.files()) == 1
    assert "No space left" in Path(session.place.home, "log", "errors.jsonl").read_text()
    monkeypatch.undo()
    assert len(progress.head(str(session.state))["lessons"]) == 1
    worker.after_start({"session_id": "next", "cwd": session.project}, {**session.env, "DAYLEAF_RUNTIME_AUTO": "0"}, session.now)
    assert len(session.learnings()) == 1 and progress.head(str(session.state))["lessons"] == []


def test_a_session_that_died_teaches_too(session, now):
    """What recovery captures is looked at as well."""
    missing(session)
    Path(session.place.receipts(session.name)).parent.mkdir(parents=True)
    Path(session.place.receipts(session.name)).write_text(json.dumps({"event": "start", "transcript": str(session.path)}) + "\n")
    os.utime(session.path, (now - 60,) * 2)
    worker.after_start({"session_id": "next", "cwd": session.project}, {**session.env, "DAYLEAF_RUNTIME_AUTO": "0"}, now)
    assert len(session.learnings()) == 1


# ---- the whole way, with real processes

def _prompted(world, project, session, words):
    event = payload("UserPromptSubmit", session_id=session, cwd=project, prompt=words, transcript_path="/nowhere/x.jsonl")
    return fire("prompt", event, world).context


def _ended(world, session):
    event = payload("SessionEnd", "other", session_id=session.name, cwd=session.project, transcript_path=str(session.path))
    assert fire("session_end", event, world).settled


@pytest.mark.parametrize("way", ["accepted", "seen twice"])
def test_a_lesson_goes_from_a_session_to_the_next_prompt(world, session, env, project, now, ok, way):
    """Found by recall at once, pushed into a prompt only once a person accepted it or a second session saw it."""
    many(session.place, 12)  # so many that a prompt gets what it matches
    _ended(world, missing(session))
    asked = "openpyxl is missing in tests/test_export.py again, ModuleNotFoundError"
    assert "`openpyxl` is not among the requirements" in ok("recall", "openpyxl", "--kind", "learning")
    assert "(learning, " not in _prompted(world, project, "p-1", asked), "no more than a passage of the session's checkpoint"
    if way == "accepted":
        status, shown = on_terminal(["review"], world, project, ["a"])
        assert status == 0 and INSTALL in shown and "accepted l-" in shown
    else:
        _ended(world, missing(Ending(env, project, now, "sess-2")))
    told = _prompted(world, project, "p-2", asked)
    assert INSTALL in told and "(learning, " in told
