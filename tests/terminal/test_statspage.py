"""The figures of stats as lines: no wider than the terminal, every number said."""

from __future__ import annotations

import pytest
from harness.command import on_terminal
from harness.pushes import push
from harness.vault import put, settings

from memory.core import plaintext
from memory.health import figures
from memory.terminal import screen, statspage


def test_a_value_is_broken_at_its_commas():
    """And at blanks where a part alone is too long; nothing is cut."""
    assert statspage.wrap_value("  in", "one (1), two (2), three (3)", 6, 24) == [
        "  in  one (1), two (2),",
        "      three (3)",
    ]
    said = statspage.wrap_value("  in", "a part that is longer than the line", 6, 20)
    assert " ".join(line[6:] for line in said) == "a part that is longer than the line"


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_stats_on_a_terminal_of_any_width(place, now, env, columns):
    """No line is wider, Korean topics and one session included, and the same instant gives the same
    lines.
    """
    put(
        place,
        "p/learnings/a.md",
        "배포 뒤에는 캐시를 비운다 " * 9,
        "x",
        "배포와 운영에 관한 이야기, auth",
        created="2026-11-20",
    )
    push(place, "s1", now, "a", tokens=120)
    value = figures.collect_figures(place, settings(), now, 0.0)
    lines = statspage.stats_lines(value, screen.Style(columns))
    assert max(map(plaintext.count_columns, lines)) <= columns
    assert lines == statspage.stats_lines(value, screen.Style(columns))
    _, said = on_terminal(
        ["stats"], {**env, "COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}, place.project
    )
    assert max(map(plaintext.count_columns, said.splitlines())) <= columns and "\x1b" not in said
    words = " ".join(said.split())
    assert "this week 0, most 1 in the week of 2026-11-16" in words and "the last 120 on" in words
