"""stats on a terminal: charts as wide as it, in blocks or in ASCII."""

from __future__ import annotations

import pytest
from harness.command import dayleaf, on_terminal
from harness.pushes import push
from harness.vault import put, settings

from memory.core import plaintext
from memory.health import figures
from memory.terminal import drawn, screen


def told(place, now, columns=80, plain=True, since=0.0):
    """Return the lines for a person."""
    return drawn.lines(figures.figures([place], settings(), now, since), screen.Style(columns), plain)


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_stats_on_a_terminal_of_any_width(place, now, env, columns):
    """No line is wider, Korean topics and one session included, and the same instant gives the same lines."""
    put(place, "p/learnings/a.md", "배포 뒤에는 캐시를 비운다 " * 9, "x", "배포와 운영에 관한 이야기, auth", created="2026-11-20")
    push(place, "s1", now, "a", tokens=120)
    lines = told(place, now, columns, plain=False)
    assert max(map(plaintext.width, lines)) <= columns and lines == told(place, now, columns, plain=False)
    _, said = on_terminal(["stats"], {**env, "COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}, place.project)
    assert max(map(plaintext.width, said.splitlines())) <= columns and "\x1b" not in said and "█" in said


def test_charts_in_ascii(place, now, env):
    """Where blocks may not show, and where asked for."""
    push(place, "s1", now, "a", tokens=120)
    for words, more in ((["stats"], {"LANG": "C"}), (["stats"], {"TERM": "dumb"}), (["stats", "--ascii"], {})):
        said = dayleaf({**env, "TERM": "xterm"}, place.project)(*words, **more).stdout
        assert "#" in said and not set(said) & set("█▁│└"), (words, more)
