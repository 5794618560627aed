"""Records and turns as lines that make sense alone."""

from __future__ import annotations

from harness.sources import source

from memory.distill import lines


def found(body: str) -> list[tuple[str, str, str]]:
    return [(line.kind, line.label, line.text) for line in lines.lines(0, source(body))]


def test_short_items_share_a_line_and_long_ones_stand_alone():
    """A list of words is one sentence; its lead stands before it and is no line of its own."""
    long = "the worker that " + "reads and " * 14 + "stops"
    assert found("It removes:\n\n- locks\n- branches\n- %s\n" % long) == [
        ("item", "It removes:", "locks · branches"), ("item", "It removes:", long)]


def test_what_tools_ran_is_of_a_kind_of_its_own():
    """Runs, edits and commits are told apart from lists that somebody wrote."""
    body = "- ✓ `go test ./...`\n- edited `a.go`\n- commit 1a2b3c4d5e: Fix it\n\n- edited by hand\n"
    assert [(kind, text) for kind, _, text in found(body)] == [
        ("run", "✓ `go test ./...` · edited `a.go` · commit 1a2b3c4d5e: Fix it"), ("item", "edited by hand")]


def test_the_outcome_begins_behind_the_last_run():
    """What was said before it is on the way; where a run ends the turn, all that was said counts."""
    starts = [line.start for line in lines.lines(0, source("Looking.\n\n- ✓ `make`\n\nIt builds now. All is well.\n"))]
    assert starts == [-1, -1, 0, 14]
    assert [line.start for line in lines.lines(0, source("It builds.\n\n- ✓ `make`\n"))] == [0, -1]


def test_a_bold_heading_leads_in_what_follows_it_and_bold_type_is_left_out():
    """A reader of a terminal sees asterisks; a heading run into its sentence reads like one."""
    body = "**Source**\nIt reads **the index** first.\n\n**2. Order**\n- **newest** first, `a ** b`, `src/**/*.py`\n"
    assert found(body) == [("prose", "Source:", "It reads the index first."),
                           ("item", "Order:", "newest first, `a ** b`, `src/**/*.py`")]


def test_a_sentence_in_bold_type_is_a_line_and_no_heading():
    """A verdict in bold type is what a reader looks for; `Why it stops…` and `Order` lead in."""
    body = "**No, locks are not removed.**\n\nThe sweep reads names only.\n\n**Why it stops...**\n- the disk is full\n"
    assert found(body) == [("prose", "", "No, locks are not removed."), ("prose", "", "The sweep reads names only."),
                           ("item", "Why it stops...:", "the disk is full")]


def test_a_lead_goes_no_further_than_its_list():
    """What comes behind a list is none of its items; what only announces leads nothing in."""
    assert found("It removes:\n\n- locks\n\nThe rest stays.\n\nLet me check the tests:\n\n- all pass\n") == [
        ("item", "It removes:", "locks"), ("prose", "", "The rest stays."), ("item", "", "all pass")]


def test_a_sentence_that_tells_what_came_out_is_a_line_before_another_heading_too():
    """`I replaced …:` would be lost where a heading follows; `The changes are:` loses nothing."""
    body = "Done. I replaced the polling of the queue by a watcher on its folder:\n\n**Files**\n- `queue.py` starts it\n"
    assert found(body) == [("prose", "", "I replaced the polling of the queue by a watcher on its folder"),
                           ("item", "Files:", "`queue.py` starts it")]
    assert found("The changes are:\n\n**Files**\n- `queue.py` starts it\n") == [("item", "Files:", "`queue.py` starts it")]


def test_what_opens_a_statement_and_says_nothing_is_left_out():
    """`Done.` tells nothing that the sentence does not; an answer stays an answer."""
    assert [text for _, _, text in found("Done. The limit is 1200 s now.\n\nYes, the limit is read once.\n")] == [
        "The limit is 1200 s now.", "Yes, the limit is read once."]


def test_a_quotation_and_an_item_that_is_a_sentence_stand_alone():
    """What the user said in between is not the model's sentence."""
    assert [text for _, _, text in found("The limit holds.\n> (while working) and the queue is full\n\n- It ends.\n- It starts.\n")] == [
        "The limit holds.", "(while working) and the queue is full", "It ends.", "It starts."]


def test_of_the_clients_summary_what_was_to_be_done_is_left_out():
    """It was asked, or open, when the client wrote it; the turns tell what came of it."""
    body = ("1. Primary Request and Intent:\n   - Make the queue durable\n\n4. Errors and fixes:\n   - Fixed the lost lease\n\n"
            "   In progress:\n   - Moving the index\n\n5. Problem Solving:\n   - Ongoing: the lease is lost at night\n\n"
            "7. Pending Tasks:\n   - Write the tests\n\n8. Current Work:\n   Half of the queue is moved.\n")
    summary = source(body, title="(summary by the client)")
    assert [(line.label, line.text) for line in lines.lines(0, summary)] == [("", "Fixed the lost lease")]
    assert len(lines.lines(0, source(body))) > 1
