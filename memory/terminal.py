"""Text for a person at a terminal: plain text, columns, tables, one record, what takes long.

What comes out of records is plain text by then: escape sequences, control and bidirectional characters are gone (a title
may not move the cursor, write the clipboard or reorder a line).
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from types import TracebackType

from memory import clock, paths
from memory.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.claims import Claim

_SEQUENCE = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?|[ -/]*[0-~])?"
                       "|\x9b[0-?]*[ -/]*[@-~]")
_HIDDEN = {code: None for low, high in ((0, 8), (11, 31), (127, 159), (0x61C, 0x61C), (0x200E, 0x200F), (0x2028, 0x202E),
                                        (0x2066, 0x2069), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F))
           for code in range(low, high + 1)}


# ---- plain text

def plain(value: str) -> str:
    """Return text without escape sequences, control and bidirectional characters; tabs and line ends stay."""
    if value.isascii() and value.isprintable():
        return value
    return _SEQUENCE.sub("", value.replace("\r\n", "\n")).translate(_HIDDEN)


def one_line(value: str) -> str:
    """Return text as one plain line."""
    return " ".join(plain(value).split())


def visible(value: str) -> str:
    """Return text with whatever a reader could not see written out as `\\u{202e}`: for content that is to be approved."""
    def shown(char: str) -> str:
        if char in "\n\t" or (char.isprintable() and unicodedata.category(char) != "Cf"):
            return char
        return "\\u{%x}" % ord(char)

    return "".join(map(shown, value))


def width(value: str) -> int:
    """Return how many columns text takes: two for a wide East Asian character, none for a combining one."""
    if value.isascii():
        return len(value)
    return sum(0 if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Me", "Mn")
               else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in value)


def clip(value: str, columns: int) -> str:
    """Cut one line to at most `columns` columns, with `…` where it was cut."""
    if width(value) <= columns:
        return value
    room, out = columns - 1, []
    for char in value:
        room -= width(char)
        if room < 0:
            break
        out.append(char)
    return "".join(out).rstrip() + "…"


def pad(value: str, columns: int, right: bool = False) -> str:
    """Fill text with spaces to a number of columns, on its left side where it is to stand to the right."""
    space = " " * max(0, columns - width(value))
    return space + value if right else value + space


def folded(line: str, columns: int, indent: int) -> list[str]:
    """Cut a line at blanks and behind `|` into lines of at most `columns` columns, those after the first indented."""
    lines = [""]
    for piece in re.findall(r"[^ |]+[ |]*|[ |]+", line):
        if lines[-1].strip() and width((lines[-1] + piece).rstrip()) > columns:
            lines.append(" " * indent)
        lines[-1] += piece
    return [one.rstrip() for one in lines]


def table(rows: Sequence[Sequence[str]], indent: str = "", right: Sequence[int] = ()) -> list[str]:
    """Return rows as lines whose columns are aligned; `right`: numbers of the columns that stand to the right."""
    if not rows:
        return []
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [(indent + "  ".join(pad(cell, widths[i], i in right) for i, cell in enumerate(row))).rstrip() for row in rows]


def age(seconds: float) -> str:
    """Write how long ago something was, such as `5m`, `3h`, `12d`, `4mo` or `2y`."""
    for size, unit in ((365 * clock.DAY, "y"), (60 * clock.DAY, "mo"), (clock.DAY, "d"), (3600.0, "h"), (60.0, "m")):
        if seconds >= size:
            return "%d%s" % (seconds // (30 * clock.DAY if unit == "mo" else size), unit)
    return "now"


def count(number: int, noun: str) -> str:
    """Write `1 record`, `2 records`, `1,234 fixes`."""
    return "{:,} {}{}".format(number, noun, "" if number == 1 else "es" if noun.endswith("x") else "s")


def bar(done: float, of: float) -> str:
    """Return a bar of 20 cells with the share that is done, 0 to 100 %."""
    share = min(max(done / of, 0.0), 1.0) if of > 0 else 1.0
    full = int(20 * share)
    return "%s%s %3d %%" % ("█" * full, "░" * (20 - full), 100 * share)


def at_word(line: str, most: int) -> str:
    """Clip a line at `most` characters, at a word where one ends in its second half, with an ellipsis."""
    if len(line) <= most:
        return line
    cut = line[:most - 1]
    return (cut[:cut.rfind(" ")] if cut.rfind(" ") > most // 2 else cut).rstrip(" ,:;") + "…"


class Style:
    """How to write to one terminal: its columns, and whether colours are welcome."""

    def __init__(self, columns: int = 100, colour: bool = False):
        self.columns, self.colour = columns, colour

    def _code(self, code: str, value: str) -> str:
        return "\x1b[%sm%s\x1b[0m" % (code, value) if self.colour and value else value

    def bold(self, value: str) -> str:
        """Make a heading stand out."""
        return self._code("1", value)

    def dim(self, value: str) -> str:
        """Make an aside recede."""
        return self._code("2", value)

    def verdict(self, value: str) -> str:
        """Colour a verdict by what it says: green for OK and FRESH, yellow for WARN and STALE, red for FAIL."""
        word = value.strip()
        code = {"OK": "32", "FRESH": "32", "WARN": "33", "STALE": "33", "FAIL": "31"}.get(word, "")
        return self._code(code, value) if code else value


class Spinner:
    """Says on stderr what takes more than a second, where someone watches; otherwise nothing."""

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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

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
    """Return the claims of a record as (name, value) pairs for `record`: what stands, what is gone, what cannot be said."""
    pairs = [("stands", True), ("gone", False), ("not checked", None)]
    return [(said, ", ".join(claim.name for claim in found if claim.stands is stands)) for said, stands in pairs]


# ---- one record

def record(shown: Record, now: float, style: Style, facts: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Return the lines above a record's body: title, then what it says of itself.

    facts: more (name, value) pairs.
    """
    pairs = [("kind", shown.kind), ("tier", paths.TIER_NAMES.get(shown.tier, shown.tier)),
             ("created", "%s (%s)" % (clock.iso(shown.created), age(now - shown.created))),
             ("source", "%s, %s confidence%s" % (shown.source, shown.confidence, "" if shown.accepted else ", a candidate")),
             ("tags", ", ".join(shown.tags)), ("topics", ", ".join(shown.topics)), ("versions", ", ".join(shown.versions)),
             ("links", ", ".join("%s %s" % (link.relation, link.target) for link in shown.links)),
             ("pinned", "yes" if shown.pinned else ""), ("tokens", f"{shown.tokens:,}"), *facts]
    rows = [[style.dim(name), one_line(value)] for name, value in pairs if value]
    return [style.bold(one_line(shown.title)) + "  " + one_line(shown.id), *table(rows)]


def entry(at: str, who: str, said: str, offset: float, most: int) -> list[str]:
    """Write one entry of a transcript: its time, who, and its text below one another.

    at: ISO 8601.  offset: seconds that local time is ahead of UTC.  most: lines of the text, 0 for all.
    """
    instant = clock.parse(at)
    head = "%s  %s  " % (clock.iso(instant + offset)[11:19] if instant is not None else " " * 8, pad(who, 6))
    lines = [line.rstrip() for line in plain(said).strip("\n").split("\n")]
    rest = len(lines) - most if most and len(lines) > most + 1 else 0
    lines = [*lines[:most], "… %s; --full shows them" % count(rest, "more line")] if rest else lines
    return [(head if number == 0 else " " * len(head)) + line for number, line in enumerate(lines)]
