"""Text for a terminal: columns, tables, styles, one record, progress, a script's output.

Text from records is plain already (`core/plaintext.py`).
"""

from __future__ import annotations

import codecs
import contextlib
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from memory.core import clock, layout
from memory.core.plaintext import (
    clip_columns,
    count_columns,
    escape_invisible,
    format_age,
    format_count,
    one_line,
    strip_hidden,
)
from memory.core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.project.claims import Claim

OUTPUT_LIMIT = 1 << 20  # bytes of a script's output
PENDING_LIMIT = 1 << 12  # characters of an unfinished line that are held back
# Of each kind of record, from the eight colours of every terminal.
COLOURS = {
    "checkpoint": "34",
    "conversation": "34",
    "note": "34",
    "learning": "36",
    "rule": "35",
    "resource": "33",
    "plan": "32",
}
MIN_TITLE_COLUMNS = 20


def pad(value: str, columns: int, right: bool = False) -> str:
    """Pad text with spaces to a number of columns."""
    space = " " * max(0, columns - count_columns(value))
    return space + value if right else value + space


def fold_line(line: str, columns: int, indent: int) -> list[str]:
    """Fold a line at blanks and `|` to a number of columns."""
    lines = [""]
    for piece in re.findall(r"[^ |]+[ |]*|[ |]+", line):
        if lines[-1].strip() and count_columns((lines[-1] + piece).rstrip()) > columns:
            lines.append(" " * indent)
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def format_table(
    rows: Sequence[Sequence[str]],
    indent: str = "",
    right: Sequence[int] = (),
    style: Style | None = None,
    give: int = -1,
    kinds: Sequence[str] = (),
) -> list[str]:
    """Format rows as lines with aligned columns.

    right: numbers of the right-aligned columns. give: number of the column that is cut where the
        rows are wider than `style`. kinds: of the records whose ids stand first, for the colour.
    """
    if not rows:
        return []
    widths = [max(count_columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    if style and style.cut and give >= 0:
        others = count_columns(indent) + sum(widths) - widths[give] + 2 * (len(widths) - 1)
        widths[give] = max(MIN_TITLE_COLUMNS, min(widths[give], style.columns - others))
    out = []
    for number, row in enumerate(rows):
        cells = [
            pad(clip_columns(cell, widths[i]), widths[i], i in right) for i, cell in enumerate(row)
        ]
        if style and kinds:
            cells[0] = style.colour_kind(kinds[number], cells[0])
        out.append((indent + "  ".join(cells)).rstrip())
    return out


def format_progress(done: float, total: float) -> str:
    """Return a progress bar of 20 cells, 0 to 100 %."""
    share = min(max(done / total, 0.0), 1.0) if total > 0 else 1.0
    full = int(20 * share)
    return "%s%s %3d %%" % ("█" * full, "░" * (20 - full), 100 * share)


class Style:
    """Colours and width of an output; lines for a pipe or a file are never cut."""

    def __init__(self, columns: int = 100, colour: bool = False, cut: bool = True):
        self.columns, self.colour, self.cut = columns, colour, cut

    def fit(self, value: str, columns: int) -> str:
        """Cut a line to a number of columns, if this style cuts."""
        return clip_columns(value, columns) if self.cut else value

    def _code(self, code: str, value: str) -> str:
        return "\x1b[%sm%s\x1b[0m" % (code, value) if self.colour and code and value else value

    def bold(self, value: str) -> str:
        return self._code("1", value)

    def dim(self, value: str) -> str:
        """Return an aside in a faint colour."""
        return self._code("2", value)

    def colour_kind(self, kind: str, value: str) -> str:
        """Return a record's text in the colour of its kind."""
        return self._code(COLOURS.get(kind, ""), value)

    def colour_verdict(self, value: str) -> str:
        """Return a verdict such as OK or STALE in its colour."""
        codes = {"OK": "32", "FRESH": "32", "WARN": "33", "STALE": "33", "FAIL": "31"}
        return self._code(codes.get(value.strip(), ""), value)


class Spinner:
    """Shows on the terminal's stderr a step that takes over a second."""

    DELAY, FRAMES = 1.0, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

    def __init__(self, step: str, enabled: bool):
        self.step, self.enabled = step, enabled
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Spinner:
        if self.enabled:
            self._thread = threading.Thread(target=self._spin, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def show(self, step: str) -> None:
        self.step = step

    def counting(self, step: str) -> Callable[[int, int], None]:
        """Return a callback that shows progress as `step: done of all`."""

        def show_progress(done: int, total: int) -> None:
            self.step = "%s: %d of %d" % (step, done, total)

        return show_progress

    def _spin(self) -> None:
        wait, at = self.DELAY, 0
        while not self._done.wait(wait):
            wait, at = 0.1, at + 1
            sys.stderr.write("\r\x1b[K%s %s" % (self.FRAMES[at % len(self.FRAMES)], self.step))
            sys.stderr.flush()
        if at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def group_claims(claims: Sequence[Claim]) -> list[tuple[str, str]]:
    """Return (state, names) for each state of a record's claims."""
    states = [("stands", True), ("gone", False), ("not checked", None)]
    return [
        (state, ", ".join(claim.name for claim in claims if claim.stands is stands))
        for state, stands in states
    ]


# ---- one record


def format_source(shown: Record) -> str:
    """Format a record's author and confidence in one line."""
    text = "%s, %s confidence" % (shown.source, shown.confidence)
    claimed = ", as this repository's file says" if shown.tier == layout.SHARED else ""
    return text + ("" if shown.accepted else ", a candidate") + claimed


def format_record_head(
    shown: Record, now: float, style: Style, facts: Iterable[tuple[str, str]] = ()
) -> list[str]:
    """Format the lines above a record's body: title and fields."""
    age = format_age(now - shown.created)
    pairs = [
        ("kind", shown.kind),
        ("tier", layout.TIER_NAMES.get(shown.tier, shown.tier)),
        ("created", "%s (%s)" % (clock.format_zoned(shown.created), age)),
        ("source", format_source(shown)),
        ("tags", ", ".join(shown.tags)),
        ("topics", ", ".join(shown.topics)),
        ("versions", ", ".join(shown.versions)),
        ("links", ", ".join("%s %s" % (link.relation, link.target) for link in shown.links)),
        ("pinned", "yes" if shown.pinned else ""),
        ("tokens", f"{shown.tokens:,}" if shown.tokens else ""),
        *facts,
    ]
    rows = [[style.dim(name), one_line(value)] for name, value in pairs if value]
    title, id = style.bold(one_line(shown.title)), one_line(shown.id)
    return [title + "  " + style.colour_kind(shown.kind, id), *format_table(rows)]


def format_transcript_entry(
    at: str, who: str, text: str, offset: clock.Offset, most: int
) -> list[str]:
    """Format a transcript's entry: time, author and text.

    at: ISO 8601, in UTC. offset: of local time. most: lines of the text.
    """
    instant = clock.parse(at)
    time = clock.iso(instant + offset(instant))[11:19] if instant is not None else " " * 8
    head = "%s  %s  " % (time, pad(who, 6))
    lines = [line.rstrip() for line in strip_hidden(text).strip("\n").split("\n")]
    hidden = len(lines) - most
    if hidden > 1:
        lines[most:] = ["… %s; --json has them" % format_count(hidden, "more line")]
    return [(" " * len(head) if number else head) + line for number, line in enumerate(lines)]


def diff_contents(before: bytes, after: bytes) -> list[str]:
    """Return a unified diff of the approved and the present content."""
    import difflib

    old, new = (
        escape_invisible(data.decode("utf-8", "replace")).split("\n") for data in (before, after)
    )
    return list(difflib.unified_diff(old, new, "approved", "now", lineterm=""))


def wrap_text(value: str, columns: int, most: int) -> list[str]:
    """Wrap a text at blanks into at most `most` lines."""
    out = [""]
    for word in value.split(" "):
        longer = out[-1] + " " + word if out[-1] else word
        if not out[-1] or len(out) == most or count_columns(longer) <= columns:
            out[-1] = longer
        else:
            out.append(word)
    return [clip_columns(line, columns) for line in out]


class OutputPrinter:
    """Prints a script's output line by line, without control characters."""

    def __init__(self, out: TextIO, err: TextIO):
        self.left, self.dropped = OUTPUT_LIMIT, 0
        self._streams = {1: out, 2: err}
        self._decoders = {
            number: codecs.getincrementaldecoder("utf-8")("replace") for number in self._streams
        }
        self._held = {1: "", 2: ""}

    def __enter__(self) -> OutputPrinter:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def tell(self, number: int, data: bytes) -> None:
        """Print a chunk of output of stdout (`number` 1) or stderr (2)."""
        kept = data[: self.left]
        self.left -= len(kept)
        self.dropped += len(data) - len(kept)
        held = self._held[number] + self._decoders[number].decode(kept)
        newline = held.rfind("\n")
        end = len(held) if len(held) - newline > PENDING_LIMIT else newline + 1
        self._held[number] = held[end:]
        self._print(number, held[:end])

    def end(self) -> None:
        """Print the unfinished lines and how much was dropped."""
        for number, decoder in self._decoders.items():
            self._print(number, self._held[number] + decoder.decode(b"", True))
            self._held[number] = ""
        if self.dropped:
            size = format_count(self.dropped, "byte")
            self._print(2, "\ndayleaf: %s more of output are not shown\n" % size)
            self.dropped = 0

    def _print(self, number: int, text: str) -> None:
        if text:
            with contextlib.suppress(OSError, ValueError):  # a closed pipe: the script goes on
                self._streams[number].write(strip_hidden(text))
                self._streams[number].flush()
