"""A year of upkeep loses nothing: a small one; bench/upkeep.py lives through a whole one."""

from __future__ import annotations

import os

import pytest
from harness.year import simulate


@pytest.mark.parametrize("seed", [1, 2] if os.environ.get("DAYLEAF_TEST_FAULTS") == "all" else [1])
def test_a_year_of_upkeep_loses_no_line(place, env, seed):
    """Work, edits, renames, branches, clocks that jump, undo: every line is in a record or can be
    restored.
    """
    year = simulate(place, env, 260, 130, seed)
    assert year.lost == [] and year.facts > 500
    assert year.merged > 3 and year.archived > 20 and year.undone > 1 and year.doubts > 0
