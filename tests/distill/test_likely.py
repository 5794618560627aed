"""Which part of the sources answers: records that recall prefers, content where no word meets."""

from __future__ import annotations

import dataclasses

from harness.sources import log, source

from memory.distill import extract


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
