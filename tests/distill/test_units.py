"""A body taken apart into what can be quoted."""

from __future__ import annotations

from harness.sources import source

from memory.distill import units


def test_a_block_larger_than_half_the_budget_becomes_pieces():
    """Each piece is fenced, or stands under the table's head."""
    rows = "\n".join("| row %d of the table | value %d |" % (i, i * 111) for i in range(80))
    pieces = units.units(0, source("| a | b |\n| --- | --- |\n" + rows), 300)
    assert len(pieces) > 3
    assert all(p.text.startswith("| a | b |\n| --- | --- |\n") and len(p.text.encode()) <= 300 for p in pieces)
    log = units.units(0, source("```\n" + "error line of the log\n" * 50 + "```"), 200)
    assert len(log) > 3
    assert all(p.text.startswith("```\n") and p.text.endswith("\n```") for p in log)
