"""What a turn came to, in one sentence that a colleague would send."""

from __future__ import annotations

import pytest

from memory.capture import conversationpage, upshot
from memory.capture.turns import APPROVED, COMMIT, EDITED, FILE, GOES_ON, RUN, SAID, SUMMARY, USER, Piece, Turn


def turn(request, said, *files, asked="", plan=""):
    """A turn that edits files and ends with a statement."""
    pieces = [Piece(USER, plan, APPROVED)] * bool(plan) + [Piece(FILE, name, EDITED) for name in files]
    return Turn("2026-11-21T09:00:00.000Z", request, asked, [*pieces, *[Piece(SAID, said)] * bool(said)])


def lines(*held, title="", commits=()):
    return [one.line for one in upshot.of_turns(held, title, commits)]


@pytest.mark.parametrize(("statement", "told"), [
    ("Perfect! All tests pass and the linter is clean.\n\nI've successfully moved the retries into the queue worker.",
     "Moved the retries into the queue worker."),
    ("Done. The retry delays now grow up to a minute.", "The retry delays now grow up to a minute."),
    ("All tests pass. Here's a summary:\n\n## Fixed: Wrong order of shutdown hooks\n\n- `a.py` - new field", "Fixed: Wrong order of shutdown hooks"),
    ("**Root Cause:** The config was read before the environment was set.", "Root Cause: The config was read before the environment was set."),
    ("I've **added** a cache for parsed schemas.\n\n```python\ncache = {}\n```\n\nShould I commit it?", "Added a cache for parsed schemas."),
    ("| a | b |\n|---|---|\n\nUpdated the docs of the importer.", "Updated the docs of the importer."),
    ("재시도를 큐 작업자로 옮겼습니다.", "재시도를 큐 작업자로 옮겼습니다."),
])
def test_the_sentence_that_reports_a_change_or_a_finding_is_told(statement, told):
    """Without the praise before it, and what checks say."""
    assert upshot.best(statement) == told


@pytest.mark.parametrize("statement", [
    "All tests pass and lint is clean!", "Done! The fix is complete.", "Would you like me to commit this?", "", "Let me run the tests:",
    "Here's the summary of the changes:", "```\nx = 1\n```", "- Removed from `a.py`"])
def test_what_only_leads_up_or_asks_or_praises_tells_nothing(statement):
    assert lines(turn("do it", statement, "a.py")) == []


def test_a_plan_that_was_begun_is_told_with_its_aim():
    """Where nothing came of it yet; what came of it weighs more."""
    begun = turn("yes", "Let me look at the pool.", "a.py", plan="**Names of queues**\n\nNobody sees whose job waits in the pool, even in the log of it.")
    assert lines(begun, title="Names of queues") == ["worked on: Names of queues: nobody sees whose job waits in the pool, even in the log of it"]
    assert lines(begun, turn("show whose job waits", "Added the name of the customer to each job that waits.", "a.py"))[0].startswith("Added the name")


def test_a_fault_is_told_as_fixed_only_where_the_statement_says_so():
    """And where the turn edited something; otherwise it is a problem that somebody found."""
    fault = "**Problem:** The worker forgot its retries when the pool shrank."
    assert lines(turn("why?", fault)) == ["Problem: The worker forgot its retries when the pool shrank."]
    assert lines(turn("fix it", fault + "\n\n**Solution:** keep them.", "a.py")) == ["Fixed: The worker forgot its retries when the pool shrank."]
    both = "The two bugs have the same root cause: the worker forgot its retries.\n\n**Solution:** keep them."
    assert lines(turn("fix it", both, "a.py")) == ["Fixed: the worker forgot its retries."]
    assert lines(turn("look", fault, "a.py")) == ["Problem: The worker forgot its retries when the pool shrank."]
    said = "`load()` was dropping the last row of every page. This is now fixed."
    assert lines(turn("fix it", said, "a.py"))[0] == "Fixed: `load()` was dropping the last row of every page."


def test_what_was_asked_to_be_looked_at_and_what_was_before_is_no_result():
    """Nor does a verdict that names nothing go before what was done."""
    assert lines(turn("Review the retries of the queue worker", "Moved the delays to the queue.", "a.py")) == ["Moved the delays to the queue."]
    assert upshot.best("## Before\n\n- Used two reads for each file\n\n## After\n\n- Used one read for all files") == "Used one read for all files"
    assert upshot.best("The hierarchy is now clear.\n\nMoved the delays into a module.") == "Moved the delays into a module."


def test_what_edited_most_stands_first_and_talk_beside_it_is_left_out():
    """A statement about nothing that was changed is told where nothing was."""
    talk = turn("how?", "The pool is shared because workers are cheap.")
    small, large = turn("a", "Renamed the pool of workers.", "a.py"), turn("b", "Moved the delays to the queue.", "a.py", "b.py", "c.py", "d.py")
    assert lines(small, large)[0] == "Moved the delays to the queue."
    assert lines(talk) == ["The pool is shared because workers are cheap."]


def test_of_what_tells_nearly_the_same_the_last_is_told():
    """And a finding that led to a change is told by the change; one after it weighs less."""
    early, late = turn("a", "Added a limit of five retries to the worker.", "a.py", "b.py"), turn("b", "Added a limit of nine retries to the worker.", "a.py")
    late.at = "2026-11-21T11:00:00.000Z"
    assert lines(early, late) == ["Added a limit of nine retries to the worker."]
    found = turn("why?", "The problem is that the worker forgets its retries.")
    assert lines(found, early) == ["Added a limit of five retries to the worker."]
    assert lines(early, found) == ["Added a limit of five retries to the worker."] and len(lines(found)) == 1


@pytest.mark.parametrize(("statement", "told"), [
    ("Both issues have been addressed.", ""), ("The branch now has no outstanding issues.", ""), ("All changes have been made and tested.", ""),
    ("No, the worker now uses another queue!", ""), ("This is what ensures the order is kept.", ""),
    ("- Updated the signature of `add()`\n\nThe changes add a name to each job of the queue.", "The changes add a name to each job of the queue."), ("The issue: I was editing another checkout of the project.", ""),
    ("For a path like `../x` it would leave the folder.", ""),
    ("The worker was dropping the last row of each page, though there might be more of them.",
     "The worker was dropping the last row of each page, though there might be more of them."),
    ("P2 #9 - Added a log of what is deleted", "Added a log of what is deleted"), ("1. Added a log of what is deleted", "Added a log of what is deleted"),
    ("Created [worker.py](src/worker.py) with the pool.", "Created worker.py with the pool."),
    ("Rewrote the page as `queue.md` - it now describes:\n\n- the pool", "Rewrote the page as `queue.md`"),
    ("Done.\n\n## Timeout for the upload worker\n\n- `a.py` - new field", "Implemented: Timeout for the upload worker"),
    ("Updated the version of the runner from 3 to 4 in both files:\n\n- `a.toml`", "Updated the version of the runner from 3 to 4"),
    ("Now the queue keeps its order from the session on:\n\n1. `a.py`", ""), ("Updated the following files of the worker:\n\n- `a.py`", "")])
def test_a_verdict_tells_nothing_and_marks_around_a_line_are_left_out(statement, told):
    """Nor does an answer; a heading names the work where no sentence reports it."""
    assert lines(turn("go", statement, "a.py")) == [told] * bool(told)


def test_commits_stand_for_the_turns_that_made_them():
    """Without merges, each subject once, those of documents last."""
    made = turn("commit", "Committed all of it to the branch.", "a.py")
    made.pieces.insert(0, Piece(COMMIT, "Reset the counter", "aaaaaaa"))
    commits = ["ccccccc: docs: name the new flag", "aaaaaaa: Reset the counter", "bbbbbbb: Reset the counter", "ddddddd: Merge branch 'main'"]
    assert lines(made, commits=commits) == ["Reset the counter (aaaaaaa)", "docs: name the new flag (ccccccc)"]


def test_an_approved_plan_and_an_order_name_what_was_done():
    """An order that points at something said before does not."""
    assert lines(turn("Implement the following plan", "Done.", "a.py", plan="# Plan: Retry delays by jitter\n\n1. a")) == ["Retry delays by jitter"]
    assert lines(turn("please handle timeouts of the upload worker", "Done.", "a.py")) == ["Handled timeouts of the upload worker"]
    assert lines(turn("make both a constant", "Done.", "a.py")) == []
    assert lines(turn("handle timeouts of the upload worker", "I'll start with the worker.", "a.py")) == []


def test_an_order_that_was_carried_out_is_told_as_done():
    """That something is fixed only where the outcome says so."""
    fix = "fix the wrong order of the upload workers"
    assert lines(turn(fix, "Done.", "a.py")) == ["Fix the wrong order of the upload workers"]
    assert lines(turn(fix, "It is fixed.", "a.py")) == ["Fixed the wrong order of the upload workers"]
    assert lines(turn("go", "Done.", "a.py"), title="Limit the retries of uploads") == ["Limited the retries of uploads"]
    assert lines(turn("go", "They wait."), title="Limit the retries of uploads") == ["Limit the retries of uploads"]


@pytest.mark.parametrize(("request_", "told"), [
    ("thinking again: let's completely remove the start command", "completely remove the start command"),
    ("The list is long. Can you sort the upload workers by date?", "sort the upload workers by date"),
    ("It fails at night. Please do something about the upload workers", ""), ("yes, let's add the type safety", ""),
    ("Why does it fail? Could we look at the upload workers first?", "")])
def test_an_order_may_stand_further_on_in_a_request(request_, told):
    """Where a known verb begins it and it says of what, to somebody who was not there."""
    assert upshot.order(request_) == told


def test_of_an_outcome_the_sentence_that_answers_the_request_is_told():
    """Before one that tells the code's names; an effect before the step that led to it."""
    said = ("Removed the old `skip_when_warned()` check from the pool.\n\nThe list of jobs now shows the customer of each upload.")
    assert lines(turn("let the list of jobs show which customer an upload is of", said, "a.py")) == [
        "The list of jobs now shows the customer of each upload."]
    assert lines(turn("go", "Changed the limits.\n\n- Removed a lease of the slow jobs.\n- The queue is now empty at night.", "a.py")) == [
        "The queue is now empty at night."]
    steps = "- Added a column to the settings.\n- Added a limit for slow uploads."
    assert lines(turn("there is no limit for slow uploads", steps, "a.py")) == ["Added a limit for slow uploads."]
    assert lines(turn("a column is missing", steps, "a.py")) == ["Added a column to the settings."]


def test_a_heading_of_what_was_only_talked_about_is_no_result():
    """`Unified` may be a deed or describe a plan."""
    said = "## Unified view of the upload workers\n\nShould it look so?"
    assert lines(turn("go", said)) == [] and lines(turn("go", said, "a.py")) == ["Unified view of the upload workers"]


def test_what_was_changed_in_pages_alone_is_told_with_the_page():
    """Else a plan that was edited reads as work that was done; not where the line says so."""
    said = "Replaced the name of the user by a number of the machine."
    assert lines(turn("go", said, "plans/telemetry.md")) == [said + " (telemetry.md)"]
    assert lines(turn("go", said, "plans/telemetry.md", "a.py")) == [said]
    assert lines(turn("go", "Updated the plan of the upload workers.", "a.md")) == ["Updated the plan of the upload workers."]


def test_a_name_that_the_client_gave_is_told_and_a_beginning_of_what_was_said_is_not():
    held = turn("look into it", "Hm. It depends on the pool.")
    assert lines(held, title="Backoff of the upload worker") == ["Backoff of the upload worker"]
    assert lines(held, title="It depends on the pool") == []


def test_summaries_of_the_client_and_unfinished_turns_tell_nothing():
    left = turn("go", "I see the pool is small.", "a.py")
    left.pieces.append(Piece(RUN, "pytest -q", "", "failed"))
    assert lines(turn("", "Added the pool of workers.", asked=SUMMARY), left) == []


def test_the_last_words_alone_tell_what_is_in_them():
    """Where no conversation was kept."""
    assert [one.line for one in upshot.of_lines(["All tests pass. Added a dead letter queue to the worker."])] == [
        "Added a dead letter queue to the worker."]


def test_the_plan_then_the_client_then_an_order_names_the_work():
    """Not the first request where that only points at something; of commits the newest."""
    held = [turn("look at this", ""), turn("is it done?", ""), turn("move the export queue to Redis streams", "")]
    assert conversationpage.names(held).titles[0] == "move the export queue to Redis streams"
    assert conversationpage.names(held, "Redis streams for exports").titles[0] == "Redis streams for exports"
    planned = turn("x", "", plan="# Implementation Plan: Streams\n\n1. a")
    assert conversationpage.names([*held, planned], "Redis streams for exports", ["a commit"]).titles[0] == "Streams"
    assert conversationpage.names([turn("go on", "")], "", ["Fix the export", "Add streams"]).titles == ["Add streams", "Fix the export"]


@pytest.mark.parametrize("request_", [
    "I think we don't count the retries properly", "in the queue hooks", "do you mean changing the interface of the worker?",
    "/srv/work/app/docs/plan.md", 'the worker says "unknown queue'])
def test_what_came_out_names_work_that_was_asked_for_in_passing(request_):
    """In words that a list can be chosen from."""
    said = "Done! I've added a [dead letter queue](queue.py) to the worker, so that nothing is lost.\n\nShall I commit it?"
    assert conversationpage.names([turn(request_, said, "queue.py")]).titles[0].startswith("added a dead letter queue to the worker")


@pytest.mark.parametrize("said", [
    "I've updated `run_worker()`.", "Added some tests for the worker.", "Removed an unused import of the queue module.",
    "Created when the worker stops by itself, which is rare."])
def test_a_detail_of_a_change_names_nothing(said):
    """Then the request does."""
    assert conversationpage.names([turn("we lose letters of the export queue", said, "queue.py")]).titles[0] == "we lose letters of the export queue"


def test_what_was_asked_for_is_the_other_name_of_what_came_out():
    """So that the words of the request find the work as well; thanks and the like are no name."""
    asked = turn("why do the retries stop after five attempts?", "Added a limit for retries to the settings.", "queue.py")
    held = [asked, turn("thanks", "")]
    found = conversationpage.names(held)
    assert found.titles[0] == "added a limit for retries to the settings"
    assert found.asked == ["why do the retries stop after five attempts"] and conversationpage.names(held[1:]).asked == []


def test_a_success_that_the_next_sentence_takes_back_is_not_what_came_out():
    """ "However, two tests fail" tells more than "Fixed all" before it."""
    fixed = "Fixed the three races in the queue of jobs."
    assert upshot.best(fixed + " It was slow before.") == fixed
    for back in ("However, the third one makes two integration tests fail.", "But `worker.py` still breaks when it is asked twice."):
        assert upshot.best(fixed + " " + back) != fixed


@pytest.mark.parametrize(("request_", "told"), [
    ("can we also show the branch's name in `queue list` ?", "show the branch's name in `queue list`"),
    ("yes, let's sort the workers by date. They are a mess now.", "sort the workers by date"),
    ('we should update "Made the pool for jobs of this queue" to also have a mark in front of the name', ""),
    ("we should change the line of the made pool to also have a check mark in front of the name of the queue",
     "change the line of the made pool to also have a check mark in front of the name of the queue"),
    ("Handle single lines over the limit in worker.py:84 - a longer one passes through", "Handle single lines over the limit"),
    ("can you check why the workers stop?", ""), ("can we add at least one test of the worker?", ""), ("could you do both of them?", ""),
    ("why does the worker stop early", ""), ("let's use `run_worker()` here", "")])
def test_a_request_is_an_order_where_it_asks_for_a_deed(request_, told):
    """Whole, without what is said after it; not to look at something, nor for what only goes along with work."""
    assert upshot.order(request_) == told


def test_what_work_came_to_is_no_explanation():
    """What is so since it, and a fault that it mended, are."""
    assert lines(turn("go", "Each row is kept in the pool of workers, because a worker may come back.", "a.py")) == []
    assert lines(turn("go", "Workers now keep rows until the queue is empty.", "a.py")) == ["Workers now keep rows until the queue is empty."]
    assert lines(turn("go", "Try starting a second worker now.", "a.py")) == lines(turn("go", "Removed `a.py:12-19`.", "a.py")) == []


def test_a_turn_that_goes_on_tells_nothing_before_it_has_ended():
    left = turn("list the workers", "The issue is that the pool lists all workers. Let me look at it.", "a.py")
    left.pieces.append(Piece(RUN, "pytest -q", "", "failed"))
    ended = turn("list the workers", "Workers are now listed by their own queue.", "a.py", asked=GOES_ON)
    assert lines(left, turn("", "Summary", asked=SUMMARY), ended) == ["Workers are now listed by their own queue."]


def test_what_led_to_a_commit_is_told_by_it():
    """And what came after it is told beside it; a commit that only names a chore tells little."""
    made = turn("commit", "Committed.", "a.py")
    made.pieces.insert(0, Piece(COMMIT, "Reset the counter", "aaaaaaa"))
    held = [turn("go", "Added a limit for retries to the settings.", "a.py"), made, turn("go", "Renamed the worker's pool to `crew`.", "a.py")]
    assert lines(*held, commits=["aaaaaaa: Reset the counter"]) == ["Reset the counter (aaaaaaa)", "Renamed the worker's pool to `crew`."]
    assert "Added a limit for retries to the settings." in lines(*held, commits=["aaaaaaa: chore: address review comments"])


def test_a_long_line_ends_with_a_clause():
    """Asides and places in files are left out; a clause that begins a sentence is not all of it."""
    said = "Fixed the wrong order of shutdown hooks in `a.py:12` (which all of them share), so that the pool of workers is empty when the queue ends"
    assert lines(turn("go", said + ", though nobody had asked for it at all in these days.", "a.py")) == [said.replace(
        " in `a.py:12` (which all of them share)", "")]


def test_what_the_work_was_called_for_others_names_it():
    """The last time that it was."""
    held = [turn("go", "Added a limit for retries to the settings.", "a.py"),
            turn("write me a PR summary", "**PR Summary: Add limits**"),
            turn("summarize it for the PR again", "**PR Summary: Limits of the upload queue**")]
    assert lines(*held)[0] == "Limits of the upload queue" and "Add limits" not in lines(*held)


def test_two_lines_are_not_the_same_for_one_word():
    assert not upshot.same("Core Fix", 'The fix adds a check of "queue states" (idle, busy) at the start.')
    assert upshot.same("Core fix", "The core fix is in the queue")


def test_an_effect_that_fits_a_name_names_the_work():
    """One that is cut, or tells the code's names, does not."""
    assert conversationpage.names([turn("why?", "The list of jobs now shows the customer.", "a.py")]).titles[0] == "the list of jobs now shows the customer"
    held = [turn("the customers of the upload queue are wrong", "The list of jobs now calls `customer_of()`.", "a.py")]
    assert conversationpage.names(held).titles[0] == "the customers of the upload queue are wrong"


@pytest.mark.parametrize(("statement", "told"), [
    ("**Before**: the worker looked into one folder only.\n\n**After**: The worker looks into every folder of the customer.",
     "Now the worker looks into every folder of the customer."),
    ("Done! Here's a summary of the rename from `slots_count` of each upload queue → `seats_count` in all the pages that customers see:\n\n| a | b |",
     "Renamed `slots_count` of each upload queue → `seats_count` in all the pages that customers see"),
    ("The upload queue now keeps:\n\n- Names of customers\n- Days of the month", "The upload queue now keeps: Names of customers; Days of the month"),
    ("When a worker starts, it now checks if the queue of its customer has room:\n\n- if not, it waits for the next one of them that has room, as it did when there was one queue for all", ""),
    ("All the checks now pass:\n\n- `make lint` of the pages\n- `make test` of the pages", ""),
    ("### Worker\n\n- Both queues now feed the worker of uploads, whoever came first", "Both queues now feed the worker of uploads, whoever came first"),
    ("## New `queue list` Command\n\nLists each upload with the customer who waits for it.\n\n- `a.py`",
     "New `queue list` Command: Lists each upload with the customer who waits for it")])
def test_what_is_so_afterwards_is_told(statement, told):
    """After a change, below a heading that says little, in a short list behind what is so now."""
    assert lines(turn("go", statement, "a.py")) == [told] * bool(told)


def test_a_heading_is_completed_by_what_was_wished():
    """Where a turn only said yes, by the request that this goes back to."""
    wish = turn("can we look at uploads:\n\n1. `queue list` should show the uploads of a customer in a tree\n2. sort them", "Two ways.")
    made = turn("yes, let's try it", "All done.\n\n## New `queue list` Command\n\n### Files\n- `a.py`", "a.py", "b.py")
    assert lines(wish, made) == ["New `queue list` Command: show the uploads of a customer in a tree"]
    assert lines(made) == ["New `queue list` Command"]


def test_a_large_turn_tells_two_effects():
    """A small one tells the one that answers its request."""
    said = "- The page of uploads now shows who waits for each of them\n- The worker now keeps uploads of customers that left"
    files = ["a.py", "b.py", "c.py", "d.py", "e.py"]
    assert lines(turn("show who waits", said, *files)) == [line[2:] for line in said.split("\n")]
    assert len(lines(turn("show who waits", said, *files[:4]))) == 1


def test_a_short_name_for_others_takes_its_first_sentence_along():
    """A long one says enough."""
    text = "## PR Summary: Improve `queue` output\n\n### Overview\n\nThis PR shows customers how many uploads wait before theirs.\n"
    asked = turn("give me a summary for the PR", text)
    assert lines(asked)[0] == "Improved `queue` output: shows customers how many uploads wait before theirs"
    longer = turn("give me a summary for the PR", text.replace("`queue` output", "the output of the queue for customers"))
    assert lines(longer)[0] == "Improved the output of the queue for customers"


def test_the_first_edit_of_a_session_weighs_more():
    """Most sessions begin with what they are about; a look before it is led to it."""
    first, second = turn("a", "Moved the delays to the queue.", "a.py"), turn("b", "Renamed the pool of workers.", "b.py")
    assert lines(first, second)[0] == "Moved the delays to the queue." and lines(second, first)[0] == "Renamed the pool of workers."
    page = turn("c", "Added a note on the delays of customers.", "notes.md")
    assert lines(page, first)[0] == "Moved the delays to the queue."
    looked = turn("more?", "Found three places where the delays of customers are compared twice.")
    assert lines(looked, first) == ["Moved the delays to the queue."]


def test_what_others_were_told_stands_for_the_work_before_it():
    """As a commit does; what comes after it is told too."""
    edit = turn("limit them", "Implemented the feature to limit the uploads of customers.", "a.py")
    asked = turn("give me a commit message", "```\nfeat(queue): add a limit for the uploads of each customer\n```")
    after = turn("now the page", "The page of uploads now shows the limit of each customer by month.", "b.py")
    told = "feat(queue): add a limit for the uploads of each customer"
    assert lines(edit, asked) == [told] and sorted(lines(edit, asked, after)) == sorted([told, after.said()[0]])


def test_what_came_in_place_of_something_takes_it_away():
    """By the name of what was there before."""
    first = turn("ask for the mail", "Added a consent question for the mail to the worker.", "a.py", "b.py")
    later = turn("less in the way", "Instead of a question, customers now read one line about the mail.", "a.py")
    later.at = "2026-11-21T10:00:00.000Z"
    assert lines(first, later) == ["Instead of a question, customers now read one line about the mail."]


def test_a_name_without_a_deed_says_that_it_was_worked_on():
    """Where something was changed."""
    assert lines(turn("go", "Done.", "a.py"), title="Backoff of the upload worker") == ["worked on: Backoff of the upload worker"]
    assert lines(turn("go", "Added detection for customers who left in `queue.worker.startPool()`.", "a.py")) == [
        "Added detection for customers who left."]


def test_comments_do_not_stand_for_what_they_are_about():
    """The later of two lines that tell nearly the same is told, but no side work for the work."""
    rename = turn("go", "Done! Here's a summary of the rename from `slots_count` → `seats_count`:\n\nWhat: field", "a.py", "b.py", "c.py", "d.py")
    later = turn("and the comments", "Updated all comments of `seats_count` to count the slots of one upload.", "a.py")
    later.at = "2026-11-21T10:00:00.000Z"
    assert lines(rename, later)[0] == "Renamed `slots_count` → `seats_count`"


@pytest.mark.parametrize(("statement", "told"), [
    ("### The Bug\n\nUploads made before the first login of a customer were never counted.\n\n### The Fix\n\n- `a.py`: fixed the count",
     "Fixed: Uploads made before the first login of a customer were never counted."),
    ("## Summary: Fixed Pre-Login Upload Bug\n\n### The Problem\n\nUploads made before the first login of a customer were never counted.",
     "Fixed: Uploads made before the first login of a customer were never counted."),
    ("**After:** The worker now reads every folder of a customer.", "The worker now reads every folder of a customer.")])
def test_a_fault_below_its_heading_is_told(statement, told):
    """Rather than a fault by its kind alone."""
    assert lines(turn("go", statement, "a.py")) == [told]


def test_a_plan_of_few_words_takes_its_aim_along():
    """The first sentence of the plan that says something."""
    plan = "# Plan: Invert the limit flag\n\n## Goal\n\nA limit of uploads holds unless a customer takes it off.\n\n## Steps\n\n1. a"
    assert lines(turn("Implement the following plan: ...", "Done.", "a.py", plan=plan)) == [
        "Inverted the limit flag: a limit of uploads holds unless a customer takes it off"]


def test_a_note_on_the_work_is_not_what_it_came_to():
    """Where more than pages was written."""
    said = "Added documentation on why uploads of one customer wait for each other.\n\nAdded a limit for the uploads of customers.\n"
    assert lines(turn("go", said, "notes.md", "a.py")) == ["Added a limit for the uploads of customers."]
    assert lines(turn("go", said, "notes.md"))[0].startswith("Added documentation on why uploads of one customer wait for each other.")


def test_what_came_in_place_of_nothing_named_replaces_nothing():
    """`instead of that` names no earlier work."""
    early = turn("keep the users", "Added a cache for the table of users.", "src/users.py")
    later = turn("ask for the page", "The page now asks for the page number once instead of that.", "src/page.py")
    later.at = "2026-11-21T10:00:00.000Z"
    assert "Added a cache for the table of users" in " ".join(lines(early, later))
