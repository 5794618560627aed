"""The fitted numbers fit what reads them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from memory.store import bylabel, nearlabel
from memory.store.letterpairs import FITTED, LETTERS, SURPRISE


def test_the_trees_are_those_that_were_fitted():
    """So that facts cached by other trees are made anew."""
    assert hashlib.sha256(Path(nearlabel.TREES).read_bytes()).hexdigest() == FITTED


def test_the_trees_ask_for_all_features_of_a_word_in_their_order():
    """A node splits by one of them, or is a leaf."""
    text = "password: ab12CD34#x"
    (near,) = nearlabel.words_near(text, bylabel.labels_of(text))
    fitted = json.loads(Path(nearlabel.TREES).read_text("utf-8"))
    assert fitted["features"] == sorted(nearlabel.features(text, near, {}))
    nodes = [word.partition("<") for tree in fitted["trees"] for word in tree.split()]
    splits = [int(feature) for feature, split, _ in nodes if split]
    assert len(nodes) - len(splits) == len(splits) + len(fitted["trees"])
    assert max(splits) < len(fitted["features"])


def test_the_table_has_each_letter_after_each():
    """A row for each, in tenths of a nat above the sign that means none."""
    assert len(SURPRISE) == len(LETTERS) ** 2
    assert all(35 <= ord(sign) < 127 for sign in SURPRISE)
