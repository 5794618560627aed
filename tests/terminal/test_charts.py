"""Charts: their shape follows the values, their width the terminal, and every number is said beside
them.
"""

from __future__ import annotations

import pytest
from harness.command import dayleaf, on_terminal
from harness.pushes import push
from harness.vault import put, settings

from memory.core import plaintext
from memory.health import figures
from memory.terminal import charts, screen


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("columns", [40, 80, 160])
def test_no_chart_is_wider_than_its_terminal(columns, plain):
    """Whatever the labels, in wide letters too."""
    rows = [
        ("배포와 운영에 관한 아주 긴 이름", 3.0, "3"),
        ("a label of many words that takes a whole line or more", 120.0, "120, 7 used"),
    ]
    drawn = [
        *charts.bars(rows, columns, plain),
        *charts.over_time(list(range(300)), columns, plain),
        *charts.wrap_value(
            "  topics",
            "배포와 운영 (12), auth (3), a topic of very many words in one (1)",
            12,
            columns,
        ),
    ]
    assert max(map(plaintext.width, drawn)) <= columns
    assert not plain or all(line.isascii() for line in charts.over_time([1, 2, 3], columns, True))


def test_bars_are_as_long_as_their_values():
    """The largest fills the room, half of it half the room, nothing has no bar, and little has a
    mark.
    """
    lines = charts.bars(
        [("a", 80, "80"), ("b", 40, "40"), ("c", 0, "0"), ("d", 0.01, "0.01")], 40, False
    )
    cells = [line.count("█") for line in lines]
    assert cells[0] > 20 and abs(cells[1] - cells[0] / 2) <= 1 and cells[2:] == [0, 0]
    assert "▏" in lines[3] and lines[2].split() == ["c", "0"]
    assert [line.split()[-1] for line in lines] == ["80", "40", "0", "0.01"]
    assert all("█" not in line for line in charts.bars([("a", 1, "1")], 40, True))


def test_bars_begin_and_end_in_the_same_column():
    """Labels of wide letters take two columns each."""
    lines = charts.bars([("버튼", 5, "5"), ("abcd", 5, "5")], 60, True)
    assert [plaintext.width(line[: line.index("#")]) for line in lines] == [7, 7]
    assert plaintext.width(lines[0]) == plaintext.width(lines[1])


def test_columns_over_time_rise_with_their_values():
    """The largest reaches the top row, the least above nothing has a mark on the floor, and nothing
    is blank.
    """
    top, *_, low, floor = charts.over_time([0, 1, 100], 40, False)
    assert (
        top.split()[0] == "100"
        and top.endswith("███")
        and low.endswith("   ▁▁▁███")
        and floor.split()[0] == "0"
    )
    plain = charts.over_time([0, 1, 100], 40, True)
    assert plain[0].endswith("###") and plain[-1].endswith("+---------")


def test_one_value_is_one_column_and_none_is_no_chart():
    """A first session is a picture too."""
    assert [line.split()[-1] for line in charts.over_time([7], 40, False)] == [
        "│███",
        "│███",
        "│███",
        "│███",
        "└───",
    ]
    assert (
        charts.over_time([], 40, False)
        == charts.over_time([0, 0], 40, False)
        == charts.bars([], 40, False)
        == []
    )


def test_more_values_than_columns_show_the_newest():
    """The right edge is now."""
    lines = charts.over_time([9] * 100 + [1] * 100, 60, True)
    assert "#" in lines[0] and lines[0].startswith("  1 |#")
    assert charts.over_time([5] + [0] * 200, 60, True) == []


ENVIRONMENTS = [
    ({"LANG": "en_US.UTF-8"}, False),
    ({"LANG": "C.utf8"}, False),
    ({"LANG": "C"}, True),
    ({}, True),
    ({"LANG": "en_US.UTF-8", "TERM": "dumb"}, True),
    ({"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, True),
    ({"LANG": "C", "LC_CTYPE": "ko_KR.UTF-8"}, False),
    ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
    ({"LANG": "de_DE.ISO-8859-1"}, True),
]


@pytest.mark.parametrize(
    ("env", "plain"),
    ENVIRONMENTS,
    ids=[" ".join(map("=".join, e.items())) or "-" for e, _ in ENVIRONMENTS],
)
def test_blocks_only_where_they_can_show(env, plain):
    """The locale and the terminal decide."""
    assert charts.is_plain(env) is plain


def test_a_value_is_broken_at_its_commas():
    """And at blanks where a part alone is too long; nothing is cut."""
    assert charts.wrap_value("  in", "one (1), two (2), three (3)", 6, 24) == [
        "  in  one (1), two (2),",
        "      three (3)",
    ]
    said = charts.wrap_value("  in", "a part that is longer than the line", 6, 20)
    assert " ".join(line[6:] for line in said) == "a part that is longer than the line"


def told(place, now, columns=80, plain=True, since=0.0):
    """Return the lines for a person."""
    return charts.lines(
        figures.figures([place], settings(), now, since), screen.Style(columns), plain
    )


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
    lines = told(place, now, columns, plain=False)
    assert max(map(plaintext.width, lines)) <= columns and lines == told(
        place, now, columns, plain=False
    )
    _, said = on_terminal(
        ["stats"], {**env, "COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}, place.project
    )
    assert (
        max(map(plaintext.width, said.splitlines())) <= columns
        and "\x1b" not in said
        and "█" in said
    )


def test_charts_in_ascii(place, now, env):
    """Where blocks may not show, and where asked for."""
    push(place, "s1", now, "a", tokens=120)
    for words, more in (
        (["stats"], {"LANG": "C"}),
        (["stats"], {"TERM": "dumb"}),
    ):
        said = dayleaf({**env, "TERM": "xterm"}, place.project)(*words, **more).stdout
        assert "#" in said and not set(said) & set("█▁│└"), (words, more)
