"""A body taken apart into what it claims."""

from __future__ import annotations

from memory.distill import units


def test_code_and_tables_are_left_out_with_the_line_that_announces_them():
    """Sentences and items stay; so does a line with a colon that announces nothing."""
    body = (
        "The first of these. The second of these.\n\nThe values:\n\n| a | b |\n| --- | --- |\n"
        "| 1 | 2 |\n\n- an item\n- another:\n\n## Head\n\nRun it:\n```\nmake\n```\nIt ends:\n"
    )
    assert units.statements(body) == [
        "The first of these.",
        "The second of these.",
        "an item",
        "another:",
        "It ends:",
    ]


def test_lines_of_logs_are_left_out():
    assert units.statements("It broke.\n\n2026-11-21 14:30:52 ERROR no route\n") == ["It broke."]
