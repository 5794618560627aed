"""Text for a person at a terminal: columns, tables, styles, one record, what takes long, what
another program prints.

What comes out of records is plain text by then (`core/plaintext.py`).
"""

from __future__ import annotations

import codecs
import contextlib
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TextIO

from memory.core import clock, layout, plaintext
from memory.core.plaintext import age, clip_columns, count, one_line, plain, width
from memory.core.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.project.claims import Claim

OUTPUT = 1 << 20  # bytes of output that are shown
PENDING = 1 << 12  # characters of a line that are held back until it ends
# Of each kind of record; the eight colours of every terminal, in its user's own shades.
COLOURS = {
    "checkpoint": "34",
    "conversation": "34",
    "note": "34",
    "learning": "36",
    "rule": "35",
    "resource": "33",
    "plan": "32",
}
NARROWEST = 20  # columns that a title keeps


def pad(value: str, columns: int, right: bool = False) -> str:
    """Return text padded with spaces to a number of columns."""
    space = " " * max(0, columns - width(value))
    return space + value if right else value + space


def fold_line(line: str, columns: int, indent: int) -> list[str]:
    """Return a line folded at blanks and `|` to some columns."""
    lines = [""]
    for piece in re.findall(r"[^ |]+[ |]*|[ |]+", line):
        if lines[-1].strip() and width((lines[-1] + piece).rstrip()) > columns:
            lines.append(" " * indent)
        lines[-1] += piece
    return [one.rstrip() for one in lines]


def table(
    rows: Sequence[Sequence[str]],
    indent: str = "",
    right: Sequence[int] = (),
    style: Style | None = None,
    give: int = -1,
    kinds: Sequence[str] = (),
) -> list[str]:
    """Return rows as lines with aligned columns.

    right: numbers of the right-aligned columns. style: of the terminal; the column `give` is cut
        where the rows are wider. kinds: of the records whose ids are in the first column, for its
        colour.
    """
    if not rows:
        return []
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    if style and style.cut and give >= 0:
        others = width(indent) + sum(widths) - widths[give] + 2 * (len(widths) - 1)
        widths[give] = max(NARROWEST, min(widths[give], style.columns - others))
    out = []
    for number, row in enumerate(rows):
        cells = [
            pad(clip_columns(cell, widths[i]), widths[i], i in right) for i, cell in enumerate(row)
        ]
        if style and kinds:
            cells[0] = style.kind(kinds[number], cells[0])
        out.append((indent + "  ".join(cells)).rstrip())
    return out


def bar(done: float, of: float) -> str:
    """Return a progress bar of 20 cells, 0 to 100 %."""
    share = min(max(done / of, 0.0), 1.0) if of > 0 else 1.0
    full = int(20 * share)
    return "%s%s %3d %%" % ("█" * full, "░" * (20 - full), 100 * share)


class Style:
    """The style of one terminal: columns, colours, and cutting.

    A pipe or a file cuts nothing; `columns` is then where text is wrapped.
    """

    def __init__(self, columns: int = 100, colour: bool = False, cut: bool = True):
        self.columns, self.colour, self.cut = columns, colour, cut

    def fit(self, value: str, columns: int) -> str:
        """Return a line cut to some columns, if this style cuts."""
        return clip_columns(value, columns) if self.cut else value

    def _code(self, code: str, value: str) -> str:
        return "\x1b[%sm%s\x1b[0m" % (code, value) if self.colour and value else value

    def bold(self, value: str) -> str:
        """Make a heading stand out."""
        return self._code("1", value)

    def dim(self, value: str) -> str:
        """Make an aside recede."""
        return self._code("2", value)

    def kind(self, kind: str, value: str) -> str:
        """Return a record's text in the colour of its kind."""
        return self._code(COLOURS.get(kind, ""), value) if kind in COLOURS else value

    def verdict(self, value: str) -> str:
        """Return a verdict in its colour: green, yellow or red.

        Green for OK and FRESH, yellow for WARN and STALE, red for FAIL.
        """
        word = value.strip()
        code = {"OK": "32", "FRESH": "32", "WARN": "33", "STALE": "33", "FAIL": "31"}.get(word, "")
        return self._code(code, value) if code else value


class Spinner:
    """Shows a long step on stderr, on a terminal."""

    DELAY, FRAMES = 1.0, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

    def __init__(self, step: str, enabled: bool):
        self.step, self.enabled = step, enabled
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Spinner:
        if self.enabled:
            self._thread = threading.Thread(target=self._turn, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def counting(self, step: str) -> Callable[[int, int], None]:
        """Return a callback that shows a step as `step: done of all`."""

        def show_progress(done: int, of: int) -> None:
            self.step = "%s: %d of %d" % (step, done, of)

        return show_progress

    def _turn(self) -> None:
        wait, at = self.DELAY, 0
        while not self._done.wait(wait):
            wait, at = 0.1, at + 1
            sys.stderr.write("\r\x1b[K%s %s" % (self.FRAMES[at % len(self.FRAMES)], self.step))
            sys.stderr.flush()
        if at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def claims(found: Sequence[Claim]) -> list[tuple[str, str]]:
    """Return a record's claims as (name, value) pairs for `record`."""
    pairs = [("stands", True), ("gone", False), ("not checked", None)]
    return [
        (said, ", ".join(claim.name for claim in found if claim.stands is stands))
        for said, stands in pairs
    ]


# ---- one record


def source_line(shown: Record) -> str:
    """Return a record's author and confidence, or a file's claim."""
    said = "%s, %s confidence" % (shown.source, shown.confidence)
    claimed = ", as this repository's file says" if shown.tier == layout.SHARED else ""
    return said + ("" if shown.accepted else ", a candidate") + claimed


def record(
    shown: Record, now: float, style: Style, facts: Iterable[tuple[str, str]] = ()
) -> list[str]:
    """Return the lines above a record's body: title and head."""
    pairs = [
        ("kind", shown.kind),
        ("tier", layout.TIER_NAMES.get(shown.tier, shown.tier)),
        ("created", "%s (%s)" % (clock.zoned(shown.created), age(now - shown.created))),
        ("source", source_line(shown)),
        ("tags", ", ".join(shown.tags)),
        ("topics", ", ".join(shown.topics)),
        ("versions", ", ".join(shown.versions)),
        ("links", ", ".join("%s %s" % (link.relation, link.target) for link in shown.links)),
        ("pinned", "yes" if shown.pinned else ""),
        ("tokens", f"{shown.tokens:,}"),
        *facts,
    ]
    rows = [[style.dim(name), one_line(value)] for name, value in pairs if value]
    return [
        style.bold(one_line(shown.title)) + "  " + style.kind(shown.kind, one_line(shown.id)),
        *table(rows),
    ]


def entry(at: str, who: str, said: str, offset: float, most: int) -> list[str]:
    """Return a transcript's entry in lines: time, author and text.

    at: ISO 8601. offset: seconds that local time is ahead of UTC. most: lines of the text, 0 for
        all.
    """
    instant = clock.parse(at)
    time = clock.iso(instant + offset)[11:19] if instant is not None else " " * 8
    head = "%s  %s  " % (time, pad(who, 6))
    lines = [line.rstrip() for line in plain(said).strip("\n").split("\n")]
    rest = len(lines) - most if len(lines) > most + 1 else 0
    lines = [*lines[:most], "… %s; --json has them" % count(rest, "more line")] if rest else lines
    return [(head if number == 0 else " " * len(head)) + line for number, line in enumerate(lines)]


def difference(before: bytes, after: bytes) -> list[str]:
    """Return the unified diff of an approved and a present content."""
    import difflib

    old, new = (
        plaintext.visible(data.decode("utf-8", "replace")).split("\n") for data in (before, after)
    )
    return list(difflib.unified_diff(old, new, "approved", "now", lineterm=""))


def wrap(value: str, columns: int, most: int) -> list[str]:
    """Return a text wrapped at blanks into at most `most` lines.

    The last one is cut where it is too long.
    """
    out = [""]
    for word in value.split(" "):
        longer = out[-1] + " " + word if out[-1] else word
        if not out[-1] or len(out) == most or width(longer) <= columns:
            out[-1] = longer
        else:
            out.append(word)
    return [clip_columns(line, columns) for line in out]


class Printer:
    """Prints a script's output line by line, made safe."""

    def __init__(self, out: TextIO, err: TextIO):
        self.left, self.dropped = OUTPUT, 0
        self._streams = {1: out, 2: err}
        self._decoders = {
            number: codecs.getincrementaldecoder("utf-8")("replace") for number in self._streams
        }
        self._held = {1: "", 2: ""}

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def tell(self, number: int, data: bytes) -> None:
        """Take a piece of output.

        number: 1 for stdout, 2 for stderr.
        """
        kept = data[: self.left]
        self.left -= len(kept)
        self.dropped += len(data) - len(kept)
        held = self._held[number] + self._decoders[number].decode(kept)
        at = len(held) if len(held) - held.rfind("\n") > PENDING else held.rfind("\n") + 1
        self._held[number] = held[at:]
        self._print(number, held[:at])

    def end(self) -> None:
        """Print the rest of the buffer."""
        for number, decoder in self._decoders.items():
            self._print(number, self._held[number] + decoder.decode(b"", True))
            self._held[number] = ""
        if self.dropped:
            self._print(
                2,
                "\ndayleaf: %s more of output are not shown\n"
                % plaintext.count(self.dropped, "byte"),
            )
            self.dropped = 0

    def _print(self, number: int, said: str) -> None:
        if said:
            with contextlib.suppress(OSError, ValueError):  # a closed pipe: the script goes on
                self._streams[number].write(plaintext.plain(said))
                self._streams[number].flush()
