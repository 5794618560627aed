"""What words tell of a text, by what they do to an answer."""

from __future__ import annotations

import pytest
from harness.sources import log, source

from memory.core import tokeniser
from memory.distill import cues, extract


@pytest.mark.parametrize(("question", "expected"), [
    ("how many uploads failed", "The uploads failed 214 times."),
    ("why did the uploads fail", "The uploads failed because the broker was gone."),
    ("where did the uploads fail", "The uploads failed in src/queue.py."),
    ("업로드가 왜 실패했지", "업로드가 브로커 때문에 실패했다."),
    ("wie viele Uploads sind fehlgeschlagen", "Es sind 214 Uploads fehlgeschlagen."),
])
def test_a_question_of_a_kind_gets_an_answer_of_that_kind(question, expected):
    """Of sentences with the same words the one with a number, a reason or a path is quoted."""
    body = ("The uploads failed badly on some days. The uploads failed in src/queue.py. The uploads failed because the broker was gone. "
            "The uploads failed 214 times. 업로드가 어제 오후에 실패했다. 업로드가 브로커 때문에 실패했다. Es sind viele Uploads fehlgeschlagen. "
            "Es sind 214 Uploads fehlgeschlagen.")
    room = tokeniser.count_tokens("- " + expected + " [k3m9] 2026-11-21") + 3
    assert extract.extract(question, [source(body, title="")], room).bullets[0].text.startswith(expected)


@pytest.mark.parametrize(("question", "budget", "expected"), [
    ("redis.exceptions.ConnectionError", 120, "ERROR redis.exceptions.ConnectionError: Connection reset by peer at job 1411"),
    ("what error did CI run 8812 show", 50, "ERROR redis.exceptions.ConnectionError: Connection reset by peer at job 1411"),
    ("worker OOMKilled in CI run 8812", 200, "FATAL worker got OOMKilled"),
])
def test_of_a_pasted_log_the_line_that_reports_is_quoted(question, budget, expected):
    """A line of a log stands alone, and none that reports nothing amiss comes along."""
    digest = extract.extract(question, [source(log(), "log1", "CI run 8812")], budget)
    said = " ".join(bullet.text for bullet in digest.bullets)
    assert expected in said
    assert " INFO " not in said


def test_a_turn_agrees_with_the_one_before_it_or_corrects_it():
    """A new request does neither; an answer that begins with a quoted message is read behind it."""
    for request, answer, how in (("that is wrong, it is set", "Fixed.", 2), ("why?", "Wait, that won't work.", 2),
                                 ("why?", "> (while working) hm\n\nI was wrong.", 2), ("is it set twice?", "You're right, it is.", 1),
                                 ("no need to hurry", "It is done.", 0), ("where is it set?", "In `a.py`.", 0)):
        assert cues.corrects(request, answer) == how, (request, answer)


@pytest.mark.parametrize(("question", "asks"), [
    ("do the tests pass on Windows", True), ("which check failed after the merge", True), ("is the build green", True),
    ("what did the user ask for", True), ("did we add a test for the empty queue", False), ("where is the lint configuration", False)])
def test_a_question_about_a_test_asks_for_its_result_only_where_it_says_so(question, asks):
    """`All tests pass.` is no answer to where a test stands."""
    assert cues.asks_checks(question) is asks


@pytest.mark.parametrize("said, what", [
    ("Removed the `--plain` flag from the parser", " the `--plain` flag"),
    ("I've completely removed it: nobody asked", " it"),
    ("Changed the limit from 3 to 5", " the limit from 3"),
    ("Renamed `plain` to `simple`", " `plain`"),
    ("The old cache is no longer read", "The old cache"),
    ("The `plain` column has been dropped", "The `plain` column"),
    ("The `plain` setting is now the only place", "The `plain` setting"),
    ("The parser is now working", ""),
    ("Removed from `parser.py`:", ""),
    ("The check stops if the flag was removed", ""),
    ("Added a flag", "")])
def test_a_sentence_says_what_it_takes_away_or_changes(said, what):
    """Up to how and where; what is only supposed is not said."""
    assert cues.turned(said) == what


def test_an_order_is_a_plan_and_a_noun_is_none():
    """Words of both kinds count where they have an object."""
    for said in ("Move the limit to `a.py`", "Update `a.py` too", "Clean up the imports", "Split transcripts into parts",
                 "Then update docs/limits"):
        assert cues.plans(said), said
    for said in ("Clean commits on the branch", "Update interval of 3 s", "Moved the limit", "The limit moves", "Fix for the limit",
                 "Add is the name of it"):
        assert not cues.plans(said), said
