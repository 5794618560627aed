"""The second look: exact scores, windows, proximity."""

from __future__ import annotations

import pytest
from harness.candidates import asked, candidate, scored

from memory.core import tokeniser
from memory.recall import look, rank


def test_bm25_is_the_formula():
    """One term once in the body: weight * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean)); a head counts thrice."""
    one = candidate(body="jwt")
    seen = look.looks([one], asked("jwt"), look.Expansion())[0]
    length = 3 * len(tokeniser.tokens("A note")) + 1
    assert seen.length == length
    assert seen.bm25 == pytest.approx(2.0 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / 20.0)))


def test_a_word_of_the_title_weighs_more_than_one_of_the_body():
    """The head counts documents.HEAD_WEIGHT times."""
    head, body = candidate("a", "some text here", title="jwt"), candidate("b", "some jwt here", title="text")
    (first, _), (second, _) = scored([head, body], asked("jwt"))
    assert first > second


def test_terms_that_stand_together_score_above_terms_far_apart():
    """Window and proximity tell two documents with the same words apart."""
    filler = " ".join("filler%s" % chr(97 + i % 26) * 2 for i in range(60))
    near, far = candidate("a", "jwt issuer " + filler), candidate("b", "jwt " + filler + " issuer")
    (first, parts), (second, others) = scored([near, far])
    assert first > second
    assert dict(parts)["window"] > dict(others)["window"] and dict(parts)["proximity"] == pytest.approx(rank.PROXIMITY * 2.0)
    assert dict(others)["proximity"] == 0.0


def test_korean_forms_of_a_word_meet():
    """버튼, 버튼을 and 버튼이 share the terms that the query brings."""
    for body in ("버튼 수정", "버튼을 수정", "버튼이 수정"):
        assert look.looks([candidate(body=body)], asked("버튼"), look.Expansion())[0].bm25 > 0


@pytest.mark.parametrize(("text", "said"), [
    ("First we looked. The **marker** is never committed. So a copy has none.", "The marker is never committed."),
    ("The marker is gone. A clone fails then. Nothing else.", "The marker is gone. A clone fails then."),
    ("- ✗ `go test` → no marker\n\nThe marker is written now.", "The marker is written now."),
    ("Here is what the marker does:\n\n- It tells a copy from the original.\n- It is small.",
     "Here is what the marker does: It tells a copy from the original."),
    ("The marker of a clone is kept. Should the marker of a clone be kept?", "The marker of a clone is kept."),
    ("nothing of it", "")])
def test_a_passage_is_the_sentences_that_hold_the_words(text, said):
    """One, or two where the second adds words or the first leads in; the later one of equals, since it tells the outcome."""
    question = asked("marker clone")
    assert look.passage(text, question, look.Expansion()) == said
