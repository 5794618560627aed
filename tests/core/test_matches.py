"""Which terms of a question the words of a text hold."""

from __future__ import annotations

from memory.core import tokeniser
from memory.core.matches import Expansion, Matches


def test_a_word_holds_a_term_by_its_stem():
    """With the place of the term in the word; what cannot match is not stemmed."""
    expansion = Expansion()
    matches = Matches({"retri": 1.0, "upload": 1.0}, expansion)
    assert matches["retries"] == (1, ((0, "retri"),)) and matches["Uploads"] == (
        1,
        ((0, "upload"),),
    )
    assert matches["kafka"] == (1, ()) and "kafka" not in expansion
    assert matches["the"] == (0, ())


def test_an_identifier_holds_its_parts():
    """Each term of it counts."""
    matches = Matches({"token": 1.0}, Expansion())
    assert matches["getUserToken"] == (3, ((2, "token"),)) and matches.terms(
        "getUserToken"
    ) == tuple(term for term, _ in tokeniser.expand("getUserToken"))


def test_an_expansion_works_a_word_out_once():
    """For all questions of a process."""
    expansion = Expansion(frozenset())
    assert expansion["the"] == ("the",) and expansion["the"] is expansion["the"]
