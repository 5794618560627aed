"""Shortening of transcript lines that are too long to be parsed, in one pass and bounded memory.

Pictures and documents stand in such a line as base64.  A run of base64 signs in a text is left out,
and of a text longer than any prompt the middle, with a `…`; all else stays, so that the line is
still one JSON object.
"""

from __future__ import annotations

import json
import re

from memory.core.plaintext import PRIVATE_PAIRS
from memory.session.entries import BETWEEN, RUN, find_typed_lines
from memory.store.redactor import find_private_parts

KEPT = 1 << 20  # bytes of one text that are kept, escapes included
MOST = 8 << 20  # bytes of a line after which each further text is cut to LITTLE
LITTLE = 256
# bytes and quotation marks around texts of a line after which it is given up
LIMIT, QUOTES = 4 * MOST, 1_000_000
_SIGNS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
_SIGN, _FEED = rb"[A-Za-z0-9+/=_-]", rb"(?:(?:\\r)?\\n)"  # a line's end as JSON writes it
_LINED = _FEED + _SIGN + rb"{60,}"  # base64 may stand in lines
_ESCAPED = rb"\\(?:u[0-9A-Fa-f]{4}|.)"  # its letters are no base64
_RUNS = re.compile(_ESCAPED + rb"|" + _SIGN + rb"{60,}(?:" + _LINED + rb")*" + _FEED + rb"?", re.S)
_BINARY = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/=_-]{60,}(?:\r?\n[A-Za-z0-9+/=_-]{60,})*", re.A)
_LEADING = re.compile(_SIGN + rb"*(?:" + _LINED + rb")*" + _FEED + rb"?")
_TEXT = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.S)
_ESCAPE = 6  # bytes of the longest escape
_LEFT_OUT = " …\\n".encode()


class LineShortener:
    """Shortens one long line that is fed in pieces.

    given_up: the line holds too much beside its texts to be read.
    """

    def __init__(self) -> None:
        self.given_up = False
        self._parts: list[bytes] = []
        self._size = 0
        self._inside = False  # whether a text is open
        self._begin, self._text = b"", bytearray()  # of it: what stands before a cut, the rest
        self._running = False  # whether a run of binary data is open
        self._rest = b""  # end of the last piece, unclear without the next
        self._quotes = 0
        self._private = False  # whether a part that was left out may begin a private one

    def feed(self, piece: bytes) -> None:
        data, at = self._rest + piece, 0
        self._rest = b""
        while not self.given_up:
            end = self._find_quote(data, at)
            if end < 0:
                break
            self._keep_text(data[at:end])
            self._close_text()
            self._append(b'"')
            self._inside, self._running = not self._inside, False
            at = end + 1
        end = max(at, _judgeable_length(data)) if self._inside else len(data)
        self._keep_text(data[at:end])
        self._rest = data[end:]

    def finish(self) -> bytes:
        """Return the shortened line, b"" where given up."""
        self._keep_text(self._rest)
        self._close_text()
        self._rest = b""
        return b"".join(self._parts)

    def _find_quote(self, data: bytes, at: int) -> int:
        """Return the next quotation mark's offset, -1 if unknown."""
        self._quotes += 1
        if self._quotes > QUOTES:
            self._give_up()
        end = data.find(b'"', at)
        if not self._inside or end < 0:
            return end
        text = _TEXT.match(data, at)
        return text.end() - 1 if text else -1

    def _give_up(self) -> None:
        self.given_up = True
        self._parts.clear()

    def _keep_text(self, data: bytes) -> None:
        """Keep bytes; inside a quoted text, without binary data."""
        if not self._inside:
            return self._append(data)
        if self._running:  # the rest of a run that has been left out
            run = _LEADING.match(data)
            data = data[run.end() if run else 0 :]
            self._running = not data
        at = 0
        for run in _RUNS.finditer(data):
            if run.end() - run.start() >= RUN:
                self._text += data[at : run.start()]
                at = run.end()
        self._running = self._running or at == len(data) > 0
        self._text += data[at:]
        if len(self._text) > 2 * KEPT:
            self._cut_middle(self._find_room())

    def _find_room(self) -> int:
        return (KEPT if self._size < MOST else LITTLE) - len(_LEFT_OUT) - _ESCAPE

    def _cut_middle(self, room: int) -> None:
        text = bytes(self._text)
        end = _find_sign(text, len(text) - room // 2)
        head = b"" if self._begin else _cut_text(text, room // 2)
        self._begin = self._begin or head + _LEFT_OUT
        middle = text[len(head) : end]
        self._private = self._private or b"privat" in middle.lower()
        if not self._private and room - len(self._begin) > 2 * BETWEEN:
            self._begin += _find_typed_lines(middle)
        over = max(0, len(self._begin) - len(_LEFT_OUT) - room // 2)
        self._text = bytearray(text[_find_sign(text, end + over) :])

    def _close_text(self) -> None:
        """Append the open text; a long one loses its middle."""
        room = self._find_room()
        if self._begin or len(self._text) > room:
            self._cut_middle(room)
            self._append(self._begin + _skip_beginning(bytes(self._text)))
        else:
            self._append(bytes(self._text))
        self._begin, self._private = b"", False
        self._text.clear()

    def _append(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > LIMIT:
            self._give_up()
        elif not self.given_up:
            self._parts.append(data)


def remove_binary(text: str) -> str:
    """Return a text without its runs of base64."""
    return _BINARY.sub(lambda run: run[0] if len(run[0]) < RUN else "", text)


def _ends_in_escape(data: bytes) -> bool:
    """Tell whether an odd number of backslashes ends a text."""
    return (len(data) - len(data.rstrip(b"\\"))) % 2 == 1


def _judgeable_length(data: bytes) -> int:
    """Return how many bytes can be judged before the next piece comes."""
    bare = len(data.rstrip(_SIGNS))
    length = bare if len(data) - bare < RUN else len(data)
    return length - _ends_in_escape(data[:length])


def _cut_text(text: bytes, room: int) -> bytes:
    """Return the first `room` bytes of a text, cut at white space."""
    # half a secret is not recognised; an escape is never cut
    space = text.rfind(b" ", 0, room)
    if space >= room // 2:
        return text[:space]
    return text[: _find_sign(text, room)]


def _find_typed_lines(text: bytes) -> bytes:
    """Return the typed lines of a JSON text, those without escapes."""
    plain = text.replace(b"\\n", b"\n").decode("utf-8", "replace")
    kept = find_typed_lines(plain, BETWEEN).split("\n")
    return "".join(line + "\\n" for line in kept if line and "\\" not in line).encode()


def _skip_beginning(text: bytes) -> bytes:
    """Return a cut text's end without its first lines or word."""
    # a label in what was left out may name a secret in the lines below it
    begin, rest = text[: len(text) // 2], text[len(text) // 2 :]
    lines = begin.split(b"\\n", 3)
    begin = lines[3] if len(lines) > 3 else begin[begin.find(b" ") + 1 :]
    return _skip_private_end((begin + rest).rstrip(b" "))


def _skip_private_end(text: bytes) -> bytes:
    """Return a cut text's end without the rest of a private part."""
    try:
        words = kept = json.loads('"%s"' % text.decode("utf-8", "replace"), strict=False)
    except ValueError:
        return b""
    for opening in ("<private>", *(pair[0] for pair in PRIVATE_PAIRS)):
        while parts := find_private_parts(opening + words):
            end = len(parts[0]) - len(opening)
            if not parts[0].startswith(opening) or end in (0, len(words)):
                break  # it began in this text
            words = words[end:]
    return text if words == kept else json.dumps(words).encode()[1:-1]


def _find_sign(text: bytes, end: int) -> int:
    """Return an offset, moved back to the start of the character there."""
    # 0b10……: a byte within a character of UTF-8
    while 0 < end < len(text) and text[end] & 0xC0 == 0x80:
        end -= 1
    at = text.rfind(b"\\", max(0, end - _ESCAPE), end)
    return at if at >= 0 and _ends_in_escape(text[: at + 1]) else end
