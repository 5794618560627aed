"""Charts for a terminal: bars beside their labels, columns over time; in blocks, or in ASCII where blocks may not show.

Every chart says its numbers too: the picture is for the shape alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from memory.core import plaintext
from memory.terminal import screen

EIGHTHS = "▏▎▍▌▋▊▉█"
RISING = "▁▂▃▄▅▆▇█"
HEIGHT = 4  # rows of a chart over time
LEAST_BAR, MOST_BAR = 6, 60  # columns of the longest bar


def is_plain(env: Mapping[str, str]) -> bool:
    """Tell whether a terminal may show no blocks: a dumb one, or a locale that is not UTF-8.

    env: TERM, LC_ALL, LC_CTYPE, LANG, of which the first that is set counts.
    """
    if env.get("TERM") == "dumb":
        return True
    coerced = env.get("LC_CTYPE", "").lower() in ("c.utf-8", "c.utf8") and env.get("LANG", "") in ("", "C", "POSIX")
    keys = ("LC_ALL", "LANG") if coerced else ("LC_ALL", "LC_CTYPE", "LANG")  # Python itself put it there (PEP 538)
    said = next((env[key] for key in keys if env.get(key)), "")
    return "utf" not in said.lower().replace("-", "") and not (os.name == "nt" and not said)


def bars(rows: Sequence[tuple[str, float, str]], columns: int, plain: bool) -> list[str]:
    """Draw one line a row: its label, a bar whose length is its share of the largest value, and its text.

    rows: (label, value of 0 and more, text).  columns: of the terminal.  plain: in ASCII.  A value above 0 has a mark at least.
    """
    if not rows:
        return []
    label = min(max(plaintext.width(name) for name, _, _ in rows), max(columns // 3, 8))
    said = max(plaintext.width(text) for _, _, text in rows)
    room = min(max(columns - 2 - label - 1 - said - 1, LEAST_BAR), MOST_BAR)
    top = max(value for _, value, _ in rows)
    lines = []
    for name, value, text in rows:
        bar = screen.pad(_bar(value, top, room, plain), room)
        line = "  %s %s %s" % (screen.pad(plaintext.clip(name, label), label), bar, text)
        lines.append(plaintext.clip(line, columns).rstrip())
    return lines


def _bar(value: float, top: float, room: int, plain: bool) -> str:
    if value <= 0 or top <= 0:
        return ""
    eighths = max(1, round(8 * room * value / top))
    if plain:
        return "#" * max(1, round(eighths / 8))
    return EIGHTHS[-1] * (eighths // 8) + (EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")


def over_time(values: Sequence[int], columns: int, plain: bool) -> list[str]:
    """Draw columns from left to right, the largest HEIGHT rows high, with the largest value and 0 beside them.

    values: of 0 and more, oldest first; where they are too many for the terminal, the newest.  columns: of the terminal.
    plain: in ASCII.
    """
    margin = len("{:,}".format(max(values, default=0))) + 4
    shown = values[-max(1, columns - margin):]
    top = max(shown, default=0)
    if top <= 0:
        return []
    high = "{:,}".format(top)
    wide = max(1, min(3, (columns - margin) // len(shown)))
    corner, wall, floor = ("+", "|", "-") if plain else ("└", "│", "─")
    lines = []
    for row in reversed(range(HEIGHT)):
        cells = "".join(_cell(8 * HEIGHT * value / top - 8 * row, row == 0 and value > 0, plain) * wide for value in shown)
        lines.append(("  %s %s%s" % (screen.pad(high if row == HEIGHT - 1 else "", margin - 4, True), wall, cells)).rstrip())
    return [*lines, "  %s %s%s" % (screen.pad("0", margin - 4, True), corner, floor * (wide * len(shown)))]


def _cell(eighths: float, some: bool, plain: bool) -> str:
    """Draw one cell of a column.  eighths: how many of it are filled.  some: it shows a mark however few they are."""
    full = min(8, max(round(eighths), int(some)))
    if full <= 0:
        return " "
    if plain:
        return "#" if full > 4 else "."
    return RISING[full - 1]


def wrapped(name: str, said: str, margin: int, columns: int) -> list[str]:
    """Break a name and its value into lines of at most `columns` columns, at commas, else at blanks.

    margin: column at which the value begins.
    """
    room, lines, line = max(columns - margin, 8), [], ""
    parts = [part + "," for part in said.split(", ")[:-1]] + [said.split(", ")[-1]]
    for part in parts:
        for word in [part] if plaintext.width(part) <= room else part.split(" "):
            if line and plaintext.width(line) + 1 + plaintext.width(word) > room:
                lines.append(line)
                line = ""
            line += (" " if line else "") + word
    heads = [screen.pad(name, margin), *[" " * margin] * len(lines)]
    return [(head + text).rstrip() for head, text in zip(heads, [*lines, line])]
