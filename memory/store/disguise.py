"""Disguises of secrets, decoded: escapes, percent signs, entities, cut lines and Base64.

`decode_disguises` decodes the stretches around disguises, `decode_base64` runs of Base64.  Each
offset in a decoded text maps back to the original.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from typing import Iterator, NamedTuple

from memory.store.byshape import merge_windows
from memory.store.secretshapes import SEAM, WORDY, find_offsets, rx

BEFORE, AFTER = 240, 480  # characters around a disguise that are searched with it
_CODE = r"\\\\{0,7}(?:u00(?P<u>[0-9a-fA-F]{2})|x(?P<x>[0-7][0-9a-fA-F]))"
_PERCENT = r"%(?:25){0,3}(?P<p>[2-7][0-9A-Fa-f])"
_ENTITY = (
    r"&(?:amp;){0,3}(?:#(?P<d>\d{2,3});|#[xX](?P<h>[0-9a-fA-F]{2});|(?P<n>quot|apos|lt|gt"
    r"|amp|colon|equals);)"
)
_TOKEN = r"[A-Za-z0-9_\-+/=.!@#$%^&*]"
# A line continued by a backslash, or by the next string of a literal.
_CUT = r"\\\r?\n[ \t]{0,40}"
_JOIN = (
    r"(?P<q>[\"'])(?<=%s[\"'])[ \t]{0,20}[+.&\\]?[ \t]{0,20}\r?\n[ \t]{0,80}[+.&]?[ \t]{0,9}"
    r"[bfru]{0,2}(?P=q)(?=%s)"
) % (_TOKEN, _TOKEN)
# The usual escapes of a text within a text: decoded only beside another disguise.
_USUAL = r"\\\\{0,7}(?P<e>[nrt\"'/])"
# Each begins with a literal: found fast.
_SIGNS = "|".join((_CODE, _PERCENT, _ENTITY, _CUT, _USUAL))
_NAMED = {"quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&", "colon": ":", "equals": "="}
# A literal in each text with such a disguise: far faster to search for.
_GATES = (
    ("\\", r"\\(?:u00|x)[2-7]"),
    ("%", _PERCENT),
    ("&", _ENTITY),
    ("\\\n", _CUT),
    ("\\\r\n", _CUT),
)
# each byte to "a" where it may end a cut line
_ENDS = bytes(97 if c in b"\"'+\\" else c if c in b"\r\n" else 32 for c in range(256))
_OPENED = r"[ \t]{0,80}[+.&]?[ \t]{0,9}[bfru]{0,2}[\"'](?=%s)" % _TOKEN
_CLOSED = r"%s[\"'][ \t]{0,20}[+.&\\]?[ \t]{0,20}\r?\Z" % _TOKEN
_GUTTER = r"[ \t]{0,40}(?:\d{1,6}[→│|:\t][ \t]{0,40}|[>│|#*+][ \t]{1,40}|//[ \t]{0,40})?"
# The next line of a value wrapped in a narrow window: characters of a token alone.
NEXT_LINE = (
    r"[ \t]{0,40}[│|]?[ \t]{0,9}\r?\n" + _GUTTER + r"(?P<next>[A-Za-z0-9_\-.+/]{4,512}={0,2})"
    r"(?=[\"'`)]{0,2}[;,]?[ \t]{0,200}[│|]?[ \t]{0,40}(?:\r?\n|\Z))"
)
# `account:password`, as in an address or a header
_LOGIN = r"\A([A-Za-z][\w.@+\-]{0,63}):(\S{5,256})\Z"


class MappedText(NamedTuple):
    """A decoded text, mapped to the original.

    at, gone: offsets here, and the shift from each one on.  wide: original widths of decoded
    characters by offset.
    """

    text: str
    at: list[int]
    gone: list[int]
    wide: dict[int, int]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return (start, end) in the original of a part of this text."""
        last = end - 1
        return self.original_offset(start), self.original_offset(last) + self.wide.get(last, 1)

    def original_offset(self, at: int) -> int:
        """Map an offset of this text to the original."""
        return at + self.gone[bisect_right(self.at, at) - 1]


class MappedTextWriter:
    """Builds a MappedText from copied parts and decoded characters."""

    def __init__(self, text: str) -> None:
        self.whole = text
        self.parts: list[str] = []
        self.length = 0
        self.at: list[int] = [-1]
        self.gone: list[int] = [0]
        self.wide: dict[int, int] = {}

    def copy(self, start: int, end: int) -> None:
        if end > start:
            self._note_shift(start)
            self.parts.append(self.whole[start:end])
            self.length += end - start

    def put(self, char: str, start: int, end: int) -> None:
        """Write one character in place of the original's from start to end."""
        self._note_shift(start)
        self.wide[self.length] = end - start
        self.parts.append(char)
        self.length += 1

    def seam(self) -> None:
        """Write a separator, but not at the beginning."""
        if self.length:
            self.parts.append(SEAM)
            self.length += len(SEAM)

    def _note_shift(self, start: int) -> None:
        if self.gone[-1] != start - self.length:
            self.at.append(self.length)
            self.gone.append(start - self.length)

    def view(self) -> MappedText:
        return MappedText("".join(self.parts), self.at, self.gone, self.wide)


def decode_disguises(text: str, runs: list[tuple[int, str]]) -> MappedText | None:
    """Return a text decoded around its disguises, None without any."""
    wraps = dict(_find_wraps(text, runs))
    places = sorted([*wraps, *_find_rare_disguises(text)])
    if not places:
        return None
    writer = MappedTextWriter(text)
    for start, end in merge_windows(places, AFTER, BEFORE):
        writer.seam()
        start, end = _leave_word(text, start, -1), _leave_word(text, min(end, len(text)), 1)
        _decode(text, start, end, wraps, writer)
    return writer.view()


def _find_rare_disguises(text: str) -> list[int]:
    places = [
        match.start() for sign, kind in _GATES if sign in text for match in rx(kind).finditer(text)
    ]
    mask = text.encode("ascii", "replace").translate(_ENDS).decode("ascii")
    ends = ("a\n", "a\r\n") if "\r" in mask else ("a\n",)
    for at in (at for end in ends for at in find_offsets(mask, end)):
        at = mask.index("\n", at)
        head = text[at + 1 : at + 94].lstrip(" \t+.&bfru")[:1]
        if head not in ("'", '"') or not rx(_OPENED).match(text, at + 1):
            continue
        if rx(_CLOSED).search(text, max(0, at - 45), at):
            places.append(at)
    return places


def _find_wraps(text: str, runs: list[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    """Yield (end of a cut run, start of its rest in the next line)."""
    line = rx(NEXT_LINE)
    for at, run in runs:
        end = at + len(run)
        if text[end : end + 1] not in ("\n", "\r", " ", "|", "│"):
            continue
        match = line.match(text, end)
        if match and is_remnant(match["next"]) and not rx(WORDY).fullmatch(run[-200:]):
            yield end, match.start("next")


def is_remnant(word: str) -> bool:
    """Tell whether a word may continue a token."""
    if "/" in word and rx(r"(?:^|/)[a-z\-]{3,}/|\.[a-z]{1,5}$").search(word):
        return False
    is_mixed = rx(r"\d").search(word) and rx(r"[A-Za-z]").search(word)
    return bool(is_mixed) and not rx(WORDY).fullmatch(word)


def _leave_word(text: str, at: int, step: int) -> int:
    """Return an offset moved out of its word, at most 120 characters."""
    for _ in range(120):
        if not 0 < at < len(text) or text[at - 1 if step < 0 else at].isspace():
            return at
        at += step
    return at


def _decode(
    text: str, start: int, end: int, wraps: dict[int, int], writer: MappedTextWriter
) -> None:
    edits = [(at, following, "") for at, following in wraps.items() if start <= at < end]
    for match in rx(_SIGNS).finditer(text, start, end):
        edits.append((match.start(), match.end(), _unescape(match)))
    for match in rx(_JOIN).finditer(text, start, end):
        edits.append((match.start(), match.end(), ""))
    for at, after, char in sorted(edits):
        if at < start:
            continue
        writer.copy(start, at)
        if char:
            writer.put(char, at, after)
        start = after
    writer.copy(start, end)


def _unescape(match: re.Match[str]) -> str:
    """Return the character of an escape, "" for a cut line."""
    kind = match.lastgroup
    if kind is None:
        return ""
    value = match[kind]
    if kind == "n":
        return _NAMED[value]
    if kind == "e":
        return {"n": "\n", "r": "\n", "t": " "}.get(value, value)
    return chr(int(value, 10 if kind == "d" else 16))


class DecodedRuns(NamedTuple):
    """Texts decoded from Base64, joined, each with its original (start, end)."""

    text: str
    starts: list[int]
    stretches: list[tuple[int, int]]

    def origin(self, start: int) -> tuple[int, int]:
        """Return (start, end) in the original of the text at an offset."""
        return self.stretches[bisect_right(self.starts, start) - 1]


def decode_base64(runs: list[tuple[int, str]]) -> DecodedRuns:
    """Decode the runs of a text that hold Base64."""
    parts: list[str] = []
    starts: list[int] = []
    stretches: list[tuple[int, int]] = []
    length = 0
    for at, run in runs:
        if run.isupper() or run.islower() or ("." in run and "/" in run):
            continue
        for match in rx(r"(?<![\w\-.])[A-Za-z0-9+/]{16,8192}={0,2}(?![\w\-.])").finditer(run):
            decoded = rx(_LOGIN).sub(r"\1 password=\2", _decode_run(match[0]))
            if decoded:
                parts.append(decoded)
                starts.append(length)
                stretches.append((at + match.start(), at + match.end()))
                length += len(decoded) + len(SEAM)
    return DecodedRuns(SEAM.join(parts), starts, stretches)


def _decode_run(run: str) -> str:
    """Return a Base64 run as ASCII text, "" if it is none."""
    try:
        if not _is_printable(binascii.a2b_base64(run[:16])):  # cheap: most runs fail here
            return ""
        decoded = binascii.a2b_base64(run + "=" * (-len(run) % 4))
    except binascii.Error:
        return ""
    return decoded.decode("ascii") if _is_printable(decoded) else ""


def _is_printable(data: bytes) -> bool:
    return data.isascii() and data.translate(None, b"\n\r\t").decode("ascii").isprintable()
