"""Shortening of transcript lines that are too long to be parsed, in one pass and bounded memory.

Pictures and documents stand in such a line as base64.  A run of base64 signs in a text is left out,
and a text longer than any prompt is cut; all else stays, so that the line is still one JSON object.
"""

from __future__ import annotations

import re

from memory.session.entries import RUN

KEPT = 1 << 20  # bytes of one text that are kept, escapes included
MOST = 8 << 20  # bytes of a line after which each further text is cut to LITTLE
LITTLE = 256
# bytes and quotation marks of a line after which it is given up
LIMIT, QUOTES = 4 * MOST, 1_000_000
_SIGNS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
_SIGN, _FEED = rb"[A-Za-z0-9+/=_-]", rb"(?:(?:\\r)?\\n)"  # a line's end as JSON writes it
_LINED = _FEED + _SIGN + rb"{60,}"  # base64 may stand in lines
_ESCAPED = rb"\\(?:u[0-9A-Fa-f]{4}|.)"  # its letters are no base64
_RUNS = re.compile(_ESCAPED + rb"|" + _SIGN + rb"{60,}(?:" + _LINED + rb")*" + _FEED + rb"?", re.S)
_BINARY = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/=_-]{60,}(?:\r?\n[A-Za-z0-9+/=_-]{60,})*", re.A)
_LEADING = re.compile(_SIGN + rb"*(?:" + _LINED + rb")*" + _FEED + rb"?")
_ESCAPE = 6  # bytes of the longest escape


class LineShortener:
    """A shortener of a line that is fed in pieces.

    given_up: the line holds too much beside its texts to be read.
    """

    def __init__(self) -> None:
        self.given_up = False
        self._parts: list[bytes] = []
        self._size = 0
        self._inside = False  # whether a text is open
        self._kept = 0  # bytes of that text
        self._running = False  # whether a run of binary data is open
        self._rest = b""  # end of the last piece, unclear without the next
        self._quotes = 0

    def feed(self, piece: bytes) -> None:
        data, at = self._rest + piece, 0
        self._rest = b""
        while not self.given_up:
            end = self._find_quote(data, at)
            if end < 0:
                break
            self._keep_text(data[at:end])
            self._append(b'"')
            self._inside, self._kept, self._running = not self._inside, 0, False
            at = end + 1
        end = max(at, _judgeable_length(data)) if self._inside else len(data)
        self._keep_text(data[at:end])
        self._rest = data[end:]

    def finish(self) -> bytes:
        """Return the shortened line, b"" where given up."""
        self._keep_text(self._rest)
        self._rest = b""
        return b"".join(self._parts)

    def _find_quote(self, data: bytes, at: int) -> int:
        """Return the index of the next unescaped quotation mark, or -1."""
        end = data.find(b'"', at)
        while end >= 0 and self._inside and _ends_in_escape(data[at:end]):
            self._quotes += 1
            at, end = end + 1, data.find(b'"', end + 1)
        self._quotes += 1
        if self._quotes > QUOTES:
            self._give_up()
        return end

    def _give_up(self) -> None:
        self.given_up = True
        self._parts.clear()

    def _keep_text(self, data: bytes) -> None:
        """Keep bytes, but of a text only what fits."""
        if not self._inside:
            return self._append(data)
        if self._running:  # the rest of a run that has been left out
            run = _LEADING.match(data)
            data = data[run.end() if run else 0 :]
            self._running = not data
        room = (KEPT if self._size < MOST else LITTLE) - self._kept
        parts, at = list[bytes](), 0
        for run in _RUNS.finditer(data):
            if run.end() - run.start() >= RUN:
                parts.append(data[at : run.start()])
                at = run.end()
        self._running = self._running or at == len(data) > 0
        text = b"".join([*parts, data[at:]])
        if len(text) <= room:
            self._kept += len(text)
        else:
            self._kept, text = KEPT, _cut_text(text, max(0, room))
        return self._append(text)

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
    """Return a text's length without an unclear end."""
    bare = len(data.rstrip(_SIGNS))
    length = bare if len(data) - bare < RUN else len(data)
    return length - _ends_in_escape(data[:length])


def _cut_text(text: bytes, room: int) -> bytes:
    """Shorten a text to `room` bytes at white space."""
    # Half a secret is none any more. Never cut inside an escape.
    space = text.rfind(b" ", 0, room)
    if space >= room // 2:
        return text[:space]
    at = text.rfind(b"\\", max(0, room - _ESCAPE), room)
    return text[: at if at >= 0 and _ends_in_escape(text[: at + 1]) else room]
