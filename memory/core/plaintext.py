"""Text that people read: plain text, counts, ages, and what fits into some columns.

Nothing in plain text moves a terminal's cursor, writes its clipboard, reorders a line or hides.
What is invisible is said here alone: for lines, for the model (`markup`), for what a record may
hold (`recordfaults`), for secrets (`secretshapes`).  Titles, messages and commands come from files
and transcripts, so each of them passes through here before it is shown, or before it becomes a line
of a record.
"""

from __future__ import annotations

from memory.core import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SEQUENCE = (
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?|[ -/]*[0-~])?"
    "|\x9b[0-?]*[ -/]*[@-~]"
)
# Code points that a reader does not see: controls beyond ASCII, what Unicode calls
# default-ignorable, marks that reorder a line, tags, halves of pairs, interlinear notes.
INVISIBLE = (
    (0x80, 0x9F),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
# Of these what writing needs beside a letter or a picture, joiners and variants; and what stands
# for the bytes of a path.
_BESIDE = (
    (0x180B, 0x180F),
    (0x200C, 0x200D),
    (0xD800, 0xDFFF),
    (0xFE00, 0xFE0F),
    (0xE0100, 0xE01EF),
)
# The pattern of what is hidden in a text that has lines.
HIDDEN = "[\0-\x08\x0b\x0c\x0e-\x1f\x7f%s](?<![%s])" % tuple(
    "".join("%c-%c" % pair for pair in ranges) for ranges in (INVISIBLE, _BESIDE)
)

# Other ways in which people write <private>.
PRIVATE_PAIRS = (
    ("<privat>", "</privat>"),
    ("[private]", "[/private]"),
    ("<!--private-->", "<!--/private-->"),
    ("<!-- private -->", "<!-- /private -->"),
)


def strip_hidden(value: str) -> str:
    """Return text without escape sequences and hidden characters, lines kept."""
    if value.isascii() and value.isprintable():
        return value
    import re

    return re.sub("%s|[\r\u2028\u2029]|%s" % (_SEQUENCE, HIDDEN), "", value.replace("\r\n", "\n"))


def one_line(value: str, most: int = 0) -> str:
    """Return text as one plain line.

    most: clip at this number of characters; 0 for no limit.
    """
    if not (value.isascii() and value.isprintable()):
        value = strip_hidden("\n".join(value.splitlines()))
    line = " ".join(value.split())
    return shorten(line, most) if most else line


def shorten(value: str, most: int) -> str:
    """Return a text of at most `most` characters, with an ellipsis."""
    return value if len(value) <= most else value[: most - 1].rstrip() + "…"


def format_count(number: int, noun: str) -> str:
    """Return a number and its noun: `1 record`, `1,234 fixes`."""
    plural = "" if number == 1 else "es" if noun.endswith("x") else "s"
    return "{:,} {}{}".format(number, noun, plural)


def format_age(seconds: float) -> str:
    """Return an age as text, such as `5m`, `12d`, `2y`, or `-2y` of a wrong clock."""
    if seconds < -clock.DAY:
        return "-" + format_age(-seconds)
    for size, unit in (
        (365 * clock.DAY, "y"),
        (60 * clock.DAY, "mo"),
        (clock.DAY, "d"),
        (3600.0, "h"),
        (60.0, "m"),
    ):
        if seconds >= size:
            return "%d%s" % (seconds // (30 * clock.DAY if unit == "mo" else size), unit)
    return "0m"


def count_columns(value: str) -> int:
    """Return the number of terminal columns of a text."""
    if value.isascii():
        return len(value)
    from unicodedata import category, combining, east_asian_width

    return sum(
        0
        if combining(c) or category(c) in ("Cf", "Me", "Mn")
        else 2
        if east_asian_width(c) in "WF"
        else 1
        for c in value
    )


def clip_columns(value: str, columns: int) -> str:
    """Return a line of at most `columns` columns, marked with `…`."""
    if count_columns(value) <= columns:
        return value
    room, out = columns - 1, []
    for char in value:
        room -= count_columns(char)
        if room < 0:
            break
        out.append(char)
    return "".join(out).rstrip() + "…"


def clip_at_word(line: str, most: int) -> str:
    """Return a line clipped at the last word before `most` characters.

    With an ellipsis.  Cuts within a word where no word ends in the second half.  Code between
    backticks that would be cut is left out, or closed where it fills the line.
    """
    if len(line) <= most:
        return line
    end, close = most - 1, ""
    for start, after in find_code_spans(line):
        if start < end < after and start > most // 2:
            end = start
        elif start < end < after:
            ticks = len(line[start:after]) - len(line[start:after].lstrip("`"))
            end, close = end - ticks, "`" * ticks
    cut = line[:end]
    if not close and end < most - 1:
        return cut.rstrip(" ,:;(") + "…"
    cut = cut[: cut.rfind(" ")] if cut.rfind(" ") > most // 2 else cut
    return cut.rstrip(" ,:;") + "…" + close


def find_code_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each piece of code between backticks."""
    if "`" not in text:
        return []
    import re

    code = re.finditer(r"(?<!`)(`{1,20})(?!`)[^\n]*?[^`\n]\1(?!`)", text)
    return [found.span() for found in code]


def escape_invisible(value: str) -> str:
    r"""Return text with invisible characters written out, such as `\u{202e}`."""
    import re
    from unicodedata import category

    def is_visible(char: str) -> bool:
        if not char.isprintable() or category(char) == "Cf":
            return char in "\n\t"
        return char.isascii() or not re.match(HIDDEN, char)

    return "".join(char if is_visible(char) else "\\u{%x}" % ord(char) for char in value)


def mask_code(text: str) -> str:
    """Return a text with NUL for each character of code between backticks."""
    parts, at = [], 0
    for start, end in find_code_spans(text):
        parts += [text[at:start], "\0" * (end - start)]
        at = end
    return "".join([*parts, text[at:]])


def strip_bold(line: str) -> str:
    """Return a line without its marks of bold outside code."""
    if "**" not in line:
        return line
    import re

    drop, opened = list[int](), -1
    for mark in re.finditer(r"(?<!\*)\*\*(?!\*)", mask_code(line)):
        at, after = mark.span()
        if opened >= 0 and not line[at - 1].isspace():
            drop += [opened, at]
            opened = -1
        elif line[after : after + 1].strip() and not re.match(r"[\w)\]]", line[at - 1 : at], re.A):
            opened = at
    starts = [0, *(at + 2 for at in drop)]
    return "".join(line[start:end] for start, end in zip(starts, [*drop, len(line)]))


def split_sentences(line: str) -> list[str]:
    """Return the sentences of a line of prose, none inside code."""
    parts, at = [], 0
    for start, end in find_code_spans(line):
        parts += [_break_sentences(line[at:start]), line[start:end]]
        at = end
    lines = "".join([*parts, _break_sentences(line[at:])]).split("\n")
    return list(filter(None, map(str.strip, lines)))


def _break_sentences(prose: str) -> str:
    for end in (". ", "? ", "! ", "。", "！", "？"):
        prose = prose.replace(end, end.rstrip() + "\n")
    return prose


def find_private_pairs(lower: str) -> list[tuple[int, int]]:
    """Return the spans of parts like `[private]…[/private]`.

    Only where they are closed: such brackets may mean something else.
    """
    found: list[tuple[int, int]] = []
    for opening, closing in PRIVATE_PAIRS if "/private" in lower or "/privat>" in lower else ():
        start = lower.find(opening)
        while start >= 0:
            end = lower.find(closing, start)
            if end < 0:
                break
            found.append((start, end + len(closing)))
            start = lower.find(opening, end)
    return merge_overlapping(found)


def merge_overlapping(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans sorted, with overlapping ones merged."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            start, end = merged[-1][0], max(end, merged.pop()[1])
        merged.append((start, end))
    return merged


def excerpt(text: str, sought: Sequence[str], start: int, most: int) -> str:
    """Return the text around a sought word, led by the heading above it.

    sought: words in order of preference.  start: search from this index on.
    """
    if len(text) <= most:
        return text
    low = text.lower()
    at = next((at for at in (low.find(word, start) for word in sought) if at >= 0), start)
    at = text.rfind("\n", 0, max(0, at - most // 4)) + 1
    top = text.rfind("\n## ", 0, at) + 1
    head = text[top : text.find("\n", top) + 1][: most // 4] if at else ""
    fenced = "```\n" if text.count("\n```", top, at) % 2 else ""  # the text begins within code
    return (head + fenced + text[at:])[:most]
