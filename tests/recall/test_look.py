"""The second look: exact scores, windows, proximity."""

from __future__ import annotations

import pytest
from harness.candidates import asked, candidate, scored

from memory.core import tokeniser
from memory.core.matches import Expansion
from memory.recall import look, rank


def test_bm25_is_the_formula():
    """One term once in the body: weight * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean));
    a head counts thrice.
    """
    one = candidate(body="jwt")
    seen = look.compute_features([one], asked("jwt"), Expansion())[0]
    length = 3 * len(tokeniser.index_terms("A note")) + 1
    assert seen.length == length
    assert seen.bm25 == pytest.approx(2.0 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / 20.0)))


def test_a_word_of_the_title_weighs_more_than_one_of_the_body():
    """The head counts documents.HEAD_WEIGHT times."""
    head, body = (
        candidate("a", "some text here", title="jwt"),
        candidate("b", "some jwt here", title="text"),
    )
    (first, _), (second, _) = scored([head, body], asked("jwt"))
    assert first > second


def test_terms_that_stand_together_score_above_terms_far_apart():
    """Window and proximity tell two documents with the same words apart."""
    filler = " ".join("filler%s" % chr(97 + i % 26) * 2 for i in range(60))
    near, far = candidate("a", "jwt issuer " + filler), candidate("b", "jwt " + filler + " issuer")
    (first, parts), (second, others) = scored([near, far])
    assert first > second
    assert dict(parts)["window"] > dict(others)["window"] and dict(parts)[
        "proximity"
    ] == pytest.approx(rank.PROXIMITY * 2.0)
    assert dict(others)["proximity"] == 0.0


def test_korean_forms_of_a_word_meet():
    """버튼, 버튼을 and 버튼이 share the terms that the query brings."""
    for body in ("버튼 수정", "버튼을 수정", "버튼이 수정"):
        assert look.compute_features([candidate(body=body)], asked("버튼"), Expansion())[0].bm25 > 0
