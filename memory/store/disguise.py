"""What tools wrap around a text, undone: escapes, percent signs, entities, cut lines and Base64.

`decode_disguises` gives the stretches around disguises decoded, `encoded` what Base64 holds.  Each
place of a decoded text leads back to the place it came from.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from typing import Iterator, NamedTuple

from memory.store.secretshapes import SEAM, WORDY, rx, spots

BEFORE, AFTER = 240, 480  # characters around a disguise that are read with it
_CODE = r"\\\\{0,7}(?:u00(?P<u>[0-9a-fA-F]{2})|x(?P<x>[0-7][0-9a-fA-F]))"
_PERCENT = r"%(?:25){0,3}(?P<p>[2-7][0-9A-Fa-f])"
_ENTITY = (
    r"&(?:amp;){0,3}(?:#(?P<d>\d{2,3});|#[xX](?P<h>[0-9a-fA-F]{2});|(?P<n>quot|apos|lt|gt"
    r"|amp|colon|equals);)"
)
_TOKEN = r"[A-Za-z0-9_\-+/=.!@#$%^&*]"
# A line that goes on with a backslash, or as the next text of a literal.
_CUT = r"\\\r?\n[ \t]{0,40}"
_JOIN = (
    r"(?P<q>[\"'])(?<=%s[\"'])[ \t]{0,20}[+.&\\]?[ \t]{0,20}\r?\n[ \t]{0,80}[+.&]?[ \t]{0,9}"
    r"[bfru]{0,2}(?P=q)(?=%s)"
) % (_TOKEN, _TOKEN)
# What counts amid the rest only: the usual escapes of a text within a text.
_USUAL = r"\\\\{0,7}(?P<e>[nrt\"'/])"
# Each begins with a literal, found fast.
_SIGNS = "|".join((_CODE, _PERCENT, _ENTITY, _CUT, _USUAL))
_NAMED = {"quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&", "colon": ":", "equals": "="}
# What a text holds where it has such a disguise at all: far faster to look for.
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
# The next line of a value that a narrow window broke: nothing but characters of a token.
NEXT_LINE = (
    r"[ \t]{0,40}[│|]?[ \t]{0,9}\r?\n" + _GUTTER + r"(?P<next>[A-Za-z0-9_\-.+/]{4,512}={0,2})"
    r"(?=[\"'`)]{0,2}[;,]?[ \t]{0,200}[│|]?[ \t]{0,40}(?:\r?\n|\Z))"
)


# An account as an address or a header gives it.
_LOGIN = r"\A([A-Za-z][\w.@+\-]{0,63}):(\S{5,256})\Z"


class View(NamedTuple):
    """A decoded text.  Offsets, characters cut before them, and widths in the original."""

    text: str
    at: list[int]
    gone: list[int]
    wide: dict[int, int]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the original stretch of a stretch of this text."""
        return self._back(start), self._back(end - 1) + self.wide.get(end - 1, 1)

    def _back(self, at: int) -> int:
        return at + self.gone[bisect_right(self.at, at) - 1]


class Writer:
    """Writes a view: copied stretches and single replacement characters."""

    def __init__(self, text: str) -> None:
        self.whole = text
        self.parts: list[str] = []
        self.length = 0
        self.at: list[int] = [-1]
        self.gone: list[int] = [0]
        self.wide: dict[int, int] = {}

    def copy(self, start: int, end: int) -> None:
        if end > start:
            self._shift(start)
            self.parts.append(self.whole[start:end])
            self.length += end - start

    def put(self, char: str, start: int, end: int) -> None:
        """Write one character for a stretch of the text."""
        self._shift(start)
        self.wide[self.length] = end - start
        self.parts.append(char)
        self.length += 1

    def seam(self) -> None:
        """Write a separator between two stretches."""
        self.parts.append(SEAM)
        self.length += len(SEAM)

    def _shift(self, start: int) -> None:
        if self.gone[-1] != start - self.length:
            self.at.append(self.length)
            self.gone.append(start - self.length)

    def view(self) -> View:
        return View("".join(self.parts), self.at, self.gone, self.wide)


def decode_disguises(text: str, runs: list[tuple[int, str]]) -> View | None:
    """Return a text's disguised stretches decoded, None without any."""
    wraps = dict(_wraps(text, runs))
    places = sorted([*wraps, *_rare_disguises(text)])
    if not places:
        return None
    made = Writer(text)
    for start, end in _stretches(text, places):
        if made.length:
            made.seam()
        _decode(text, start, end, wraps, made)
    return made.view()


def _rare_disguises(text: str) -> list[int]:
    """Return the places of disguises rare in ordinary text."""
    places = [
        match.start() for sign, kind in _GATES if sign in text for match in rx(kind).finditer(text)
    ]
    mask = text.encode("ascii", "replace").translate(_ENDS).decode("ascii")
    ends = ("a\n", "a\r\n") if "\r" in mask else ("a\n",)
    for at in (at for end in ends for at in spots(mask, end)):
        at = mask.index("\n", at)
        head = text[at + 1 : at + 94].lstrip(" \t+.&bfru")[:1]
        if head not in ("'", '"') or not rx(_OPENED).match(text, at + 1):
            continue
        if rx(_CLOSED).search(text, max(0, at - 45), at):
            places.append(at)
    return places


def _wraps(text: str, runs: list[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    """Yield (end of a wrapped run, start of its continuation)."""
    line = rx(NEXT_LINE)
    for at, run in runs:
        end = at + len(run)
        if text[end : end + 1] not in ("\n", "\r", " ", "|", "│"):
            continue
        match = line.match(text, end)
        if match and is_remnant(match["next"]) and not rx(WORDY).fullmatch(run[-200:]):
            yield end, match.start("next")


def is_remnant(word: str) -> bool:
    """Tell whether a word may be the rest of a token."""
    if "/" in word and rx(r"(?:^|/)[a-z\-]{3,}/|\.[a-z]{1,5}$").search(word):
        return False
    return bool(rx(r"\d").search(word) and rx(r"[A-Za-z]").search(word)) and not rx(
        WORDY
    ).fullmatch(word)


def _stretches(text: str, places: list[int]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for at in places:
        start, end = max(0, at - BEFORE), min(len(text), at + AFTER)
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return [(_edge(text, start, -1), _edge(text, end, 1)) for start, end in out]


def _edge(text: str, at: int, step: int) -> int:
    """Move a place out of its word, some characters at most."""
    for _ in range(120):
        if not 0 < at < len(text) or text[at - (step < 0)].isspace():
            return at
        at += step
    return at


def _decode(text: str, start: int, end: int, wraps: dict[int, int], made: Writer) -> None:
    edits = (
        [(at, goes_on, "") for at, goes_on in wraps.items() if start <= at < end] if wraps else []
    )
    for match in rx(_SIGNS).finditer(text, start, end):
        edits.append((match.start(), match.end(), _unescape(match)))
    for match in rx(_JOIN).finditer(text, start, end):
        edits.append((match.start(), match.end(), ""))
    for at, after, char in sorted(edits):
        if at < start:
            continue
        made.copy(start, at)
        if char:
            made.put(char, at, after)
        start = after
    made.copy(start, end)


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


def encoded(runs: list[tuple[int, str]]) -> tuple[str, list[int], list[tuple[int, int]]]:
    """Return texts in runs of Base64, joined.  Also their starts, their own stretches."""
    parts: list[str] = []
    starts: list[int] = []
    stretches: list[tuple[int, int]] = []
    length = 0
    for at, run in runs:
        if run.isupper() or run.islower() or ("." in run and "/" in run):
            continue
        for match in rx(r"(?<![\w\-.])[A-Za-z0-9+/]{16,8192}={0,2}(?![\w\-.])").finditer(run):
            held = rx(_LOGIN).sub(r"\1 password=\2", _text_of(match[0]))
            if held:
                parts.append(held)
                starts.append(length)
                stretches.append((at + match.start(), at + match.end()))
                length += len(held) + len(SEAM)
    return SEAM.join(parts), starts, stretches


def _text_of(run: str) -> str:
    try:
        if not _is_plain(binascii.a2b_base64(run[:16])):
            return ""
        whole = binascii.a2b_base64(run + "=" * (-len(run) % 4))
    except binascii.Error:
        return ""
    return whole.decode("ascii") if _is_plain(whole) else ""


def _is_plain(data: bytes) -> bool:
    return (
        data.isascii()
        and data.decode("ascii").replace("\n", "").replace("\r", "").replace("\t", "").isprintable()
    )
