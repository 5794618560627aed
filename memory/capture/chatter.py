"""Lines that runs print whether they pass or fail, such as a shell's warning at its start.

A line that a passing run of the same program and verb printed, or passing runs of two others, says
nothing of what a failed run failed by.
"""

from __future__ import annotations

from memory.core import files
from memory.session import transcript

LOOK, ENDS, MOST = 600, 3, 200  # characters and lines of an output's begin and end; lines kept
WIDE = 160  # characters of a line
OTHERS = 2  # programs that printed a line

Printed = dict[str, list[str]]  # by a line's mark the programs that printed it, passing


def learn(printed: Printed, key: str, output: str) -> list[str]:
    """Take in what a passing run printed, and return the marks of what is new of it.

    key: its program and verb.
    """
    found = []
    for line in _ends(output):
        keys = printed.pop(line, [])
        printed[line] = keys  # behind those that were not met for longer
        if key not in keys and len(keys) < OTHERS:
            keys.append(key)
            found.append(line)
    for line in list(printed)[:-MOST]:
        del printed[line]
    return found


def _ends(output: str) -> list[str]:
    """Return the marks of the first and the last lines of an output."""
    ends = (output,) if len(output) <= 2 * LOOK else (output[:LOOK], output[-LOOK:])
    plain = (transcript.clean(end) if "\x1b" in end else end for end in ends)
    lines = [line for end in plain for line in end.split("\n") if len(line) > 1]
    return list(dict.fromkeys(map(mark, lines[:ENDS] + lines[-ENDS:])))


def mark(line: str) -> str:
    """Return what stands for a line: the text itself may be private."""
    return files.sha256(line.strip()[:WIDE].encode("utf-8", "replace"))[:12]


def is_chatter(printed: Printed, key: str, line: str) -> bool:
    """Tell whether a line of a failed run says nothing of its failure."""
    keys = printed.get(mark(line), ())
    return key in keys or len(keys) >= OTHERS


def without(printed: Printed, key: str, output: str) -> str:
    """Return an output without such lines."""
    lines = transcript.clean(output).split("\n")
    return "\n".join(line for line in lines if not is_chatter(printed, key, line))
