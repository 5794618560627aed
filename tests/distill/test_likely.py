"""Which part of the sources answers: records that recall prefers, content where no word meets."""

from __future__ import annotations

import dataclasses

from harness.sources import log, source

from memory.distill import extract, likely, lines


def test_a_record_that_recall_hardly_found_fills_no_room():
    """Where one record answers, a weak hit of thousands of tokens adds nothing."""
    sources = [dataclasses.replace(source("The JWT issuer must match the tenant URL exactly.", "jwt1", "JWT issuer"), score=25.0),
               dataclasses.replace(source(log(), "log1", "CI run 8812"), score=2.0)]
    assert [b.ids[0] for b in extract.extract("JWT issuer", sources).bullets] == ["jwt1"]


def test_scores_of_recall_say_which_record_to_quote():
    """Of two records with the same words the one that recall prefers by far gets the room."""
    pair = [source("The worker lost its lease after 30 s.", "aaaa"), source("The worker lost its lease after 90 s.", "bbbb")]
    for best in (0, 1):
        scored = [dataclasses.replace(s, score=20.0 if i == best else 2.0) for i, s in enumerate(pair)]
        digest = extract.extract("when did the worker lose its lease", scored, 20)
        assert [b.ids[0] for b in digest.bullets] == [pair[best].id]


def test_without_a_word_of_the_question_content_decides_and_the_note_says_so():
    """Technical sentences with decisions come before small talk."""
    digest = extract.extract("kubernetes", [source("Lunch was good today. We chose SQLite because `fsync` on 3f9a1c2 failed.")])
    assert "SQLite" in digest.bullets[0].text
    assert digest.notes == ("no word of the question occurs in the sources: chosen by content only",)


def share(question: str, lead: str, item: str) -> float:
    """Return the likelihood of an item below a lead, over that of the sentence before it."""
    said = "The check of copies stops a commit from 15 lines on.\n\n%s\n\n- %s\n" % (lead, item)
    turn = dataclasses.replace(source(said), kind="conversation")
    found = lines.lines(0, turn)
    chances = likely.likely(question, [turn], found).chances
    return chances[-1] / chances[0]


def test_what_one_may_choose_from_is_no_answer_unless_it_is_asked_for():
    """It stands below a question to the user, or is called an option."""
    item, plain = "The check of copies warns of a commit", "The check of copies:"
    for lead, other in (("What shall the check of copies do?", item), (plain, "Option 1: " + item), (plain, "B) " + item)):
        assert share("when does the check of copies stop a commit", lead, other) < 0.3 * share(
            "when does the check of copies stop a commit", plain, item)
    asked = "what could the check of copies do with a commit"
    assert share(asked, "What shall the check of copies do?", item) > 0.5 * share(asked, plain, item)
