"""Which sentences report work, and which order it."""

from __future__ import annotations

import pytest

from memory.session import deeds


@pytest.mark.parametrize("line", ["Added a limit for retries.", "Rewrote the pool.", "Sped up the start."])
def test_a_sentence_that_begins_with_a_deed_reports_it(line):
    assert deeds.REPORTS.match(line)


@pytest.mark.parametrize("line", ["Add a limit for retries.", "Adding is slow.", "The pool is slow."])
def test_an_order_and_a_description_report_nothing(line):
    assert not deeds.REPORTS.match(line)


@pytest.mark.parametrize("line", [
    "Updated `Worker.run()` and `Pool.run()`.", "Added retry handling in `mergeSettings()`", "Removed the `start_pool` function",
    "Changed `run_worker()` to return early", "Moved the delays into `delays.py`"])
def test_a_line_of_the_codes_names_alone_is_a_detail(line):
    assert deeds.is_detail(line) and deeds.is_poor(line)


@pytest.mark.parametrize("line", [
    "Added a limit for retries to the settings.", "The `queue resume` command now finds jobs of other branches.",
    "Added a rule that flags `os.getcwd()` in production code of the workers.", "Renamed the worker's pool to `crew`.",
    "Renamed `slots_count` → `seats_count`", "Fixed the upload bug that counted customers twice."])
def test_what_is_told_in_words_is_none(line):
    assert not deeds.is_poor(line)


@pytest.mark.parametrize("line", [
    "The prompt is shown in quotes.", "All tests now use it", "Updated recommendation: one queue alone", "Verifies that the pool is empty",
    "But it's no longer cut", "Fixed the order (line 12)", "Fixed the upload calculation bug."])
def test_what_only_who_was_there_understands_is_poor(line):
    """A verdict, the third person without a subject, what goes on with the line before, a place in a file."""
    assert deeds.is_poor(line)


@pytest.mark.parametrize(("request_", "statement", "told"), [
    ("can you generate me a summary for the PR?", "Here it is:\n\n**PR Summary: Improve `queue list` Output**\n\n**Overview**", "Improve `queue list` Output"),
    ("give me a commit message for it", "Here's one:\n\n```\nfeat(queue): add a flag for quiet workers\n\nSo that …\n```", "feat(queue): add a flag for quiet workers"),
    ("create a PR description about the changes", "**Summary**\n- Change the retries to be off by default\n\n**Test plan**\n- [ ] run", "Change the retries to be off by default"),
    ("could we show the commit message instead?", "**Names of the workers**\n\n- Add a column", ""),
    ("write the PR description", "Which base branch is it?", "")])
def test_words_for_others_name_the_work(request_, statement, told):
    """Where they were asked for."""
    assert deeds.described(request_, statement) == told


@pytest.mark.parametrize(("order", "done"), [
    ("Completely remove the start command", "Completely removed the start command"), ("Drop the pool", "Dropped the pool"),
    ("apply the limit", "apply the limit"), ("Show the branch of a job", "Show the branch of a job"), ("Split the worker in two", "Split the worker in two"),
    ("Fix the order and add a limit", "Fixed the order and added a limit"), ("Fix the order and log the limit", "Fix the order and log the limit"),
    ("Move the pool, then delete the queue", "Move the pool, then delete the queue"), ("Backoff of the worker", "Backoff of the worker"),
    ("Handle long lines (error or split)", "Handled long lines (error or split)"), ("Unify both views", "Unified both views")])
def test_an_order_is_told_as_done_where_all_its_verbs_are_known(order, done):
    """One that may be a noun, is no verb of work, or says what a program is to do leaves it as it is."""
    assert deeds.as_done(order) == done


@pytest.mark.parametrize(("line", "told"), [
    ("Fixed the order of the workers and added comprehensive tests for it", "Fixed the order of the workers"),
    ("Fixed the order of workers & Added Tests", "Fixed the order of workers"), ("Added tests of the pool", "Added tests of the pool"),
    ("Fixed a job that ran in the wrong pool: it now reads `pool_of()`", "Fixed a job that ran in the wrong pool"),
    ("Fixed `pool_of()`: it now reads `worker_of()`", "Fixed `pool_of()`: it now reads `worker_of()`"),
    ("Updated `pool_of()` - now asks the queue for jobs of other branches", "Now asks the queue for jobs of other branches"),
    ("One source of truth - the limits of uploads now live in the settings", "The limits of uploads now live in the settings"),
    ("Added a limit for slow uploads - the queue is now short", "Added a limit for slow uploads - the queue is now short")])
def test_what_goes_along_with_a_change_is_cut_from_its_line(line, told):
    """Its tests, how it is in the code, and a label before its effect."""
    assert deeds.trimmed(line) == told


@pytest.mark.parametrize("line", ["Created `~/.cache/pool.json`.", "Wrote the list to /tmp/list", "Fixed bug #2 of the pool", "Removed step 4 entirely",
                                  "The case now gives: jobs=7, workers=5", "Updated the script to look at the branch of uploads"])
def test_what_is_outside_of_the_project_or_told_by_a_number_is_poor(line):
    assert deeds.is_poor(line) and not deeds.is_poor("Wrote the list to `pool/list.json` of the settings")


@pytest.mark.parametrize(("line", "told"), [
    ("Updated the version of the runner from 3 to 4 in both files:", "Updated the version of the runner from 3 to 4"),
    ("Now the name of the job goes to the queue:", "Now the name of the job goes to the queue"),
    ("Added the following cases:", "Added the following cases:"), ("Now a job is only told as active if:", "Now a job is only told as active if:"),
    ("Fixed the slow end of the worker behind a report by setting:", "Fixed the slow end of the worker behind a report"),
    ("Raised the upload limit of the pool to twenty megabytes:", "Raised the upload limit of the pool to twenty megabytes"),
    ("The queue looks so:", "The queue looks so:")])
def test_a_line_that_leads_to_a_list_stands_where_it_tells_a_change(line, told):
    """Without its colon, and without the places that the list names."""
    assert deeds.led(line) == told


@pytest.mark.parametrize(("head", "paths", "told"), [
    ("Limits for the queue", ["a.py"], "Implemented: Limits for the queue"), ("Limits for the queue", ["tests/a.py"], "Tested: Limits for the queue"),
    ("New `queue` command", ["a.py"], "New `queue` command"), ("Limits fixed", ["a.py"], "Limits fixed"),
    ("Fix for the lost limits", ["a.py"], "Fixed: lost limits")])
def test_a_heading_says_what_was_done(head, paths, told):
    """Where it does not by itself."""
    assert deeds.made(head, paths) == told


@pytest.mark.parametrize(("line", "cut"), [
    ("When a new session begins and finds the branch of a session that ended long before:", True),
    ("When a new session begins on the branch of another, it now asks the person for an answer first:", False),
    ("The sweep now asks before it removes the branch of a session that ended long ago:", False)])
def test_a_clause_that_says_only_when_is_no_sentence(line, cut):
    assert bool(deeds.CUT.search(line)) is cut


def test_a_summary_of_a_deed_tells_it_where_it_was_done():
    """Not what could be done, nor a removal from somewhere."""
    assert deeds.since("Here is a summary of the rename of `load` to `read`:") == "Renamed `load` to `read`"
    for line in ("Here's a summary of the removal from `settings.py`:", "Here is a summary of the migration to a pool we could do:"):
        assert deeds.since(line) == line


@pytest.mark.parametrize(("line", "many"), [
    ("make GetByAgentType accept both names", 1), ("Handled single lines above MaxChunkSize", 1), ("moved to GitHub and PostgreSQL", 0),
    ("read `load_all`, then call run()", 2)])
def test_names_that_only_the_code_knows_are_known_by_their_form(line, many):
    """A product's name has two capitals at most."""
    assert deeds.inner(line) == many
