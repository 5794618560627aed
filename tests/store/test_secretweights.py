"""The fitted numbers fit what reads them."""

from __future__ import annotations

from memory.store import bylabel, nearlabel
from memory.store.secretweights import LETTERS, SURPRISE, WEIGHTS


def test_every_weight_names_features():
    """One, or two that are multiplied."""
    text = "password: ab12CD34#x"
    (near,) = nearlabel.words_near(text, bylabel.labels_of(text))
    known = nearlabel.features(text, near, {})
    assert {part for name in WEIGHTS for part in name.split("*")} <= known.keys()


def test_the_table_has_each_letter_after_each():
    """A row for each, in tenths of a nat above the sign that means none."""
    assert len(SURPRISE) == len(LETTERS) ** 2
    assert all(35 <= ord(sign) < 127 for sign in SURPRISE)
