"""Lone surrogates in a client's requests, replaced before the protocol's reader sees them.

Clients that cut a text in the middle of an emoji write half a surrogate pair, `"\\ud83d"`.  The
reader would refuse the whole line, and the request would get no answer.
"""

from __future__ import annotations

import os
import re
import threading
from typing import BinaryIO

# an escape: a high surrogate with its low one if that follows, a lone low one, any other
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    rb"|u[dD][c-fC-F][0-9a-fA-F]{2}|.)",
    re.S,
)
_PAIR_LENGTH = 12  # bytes
_REPLACEMENT = rb"\ufffd"


def replace_surrogates(line: bytes) -> bytes:
    """Replace lone surrogates in a line of JSON by U+FFFD."""
    if not line.isascii():
        line = line.decode("utf-8", "replace").encode("utf-8")
    if b"\\u" not in line:
        return line
    return _ESCAPE.sub(_replace_escape, line)


def _replace_escape(match: re.Match[bytes]) -> bytes:
    escape = match[0].lower()
    lone = escape[1:3] == b"ud" and escape[3:4] in b"89abcdef" and len(escape) < _PAIR_LENGTH
    return _REPLACEMENT if lone else match[0]


def filter_stdin() -> None:
    """Replace stdin by a pipe of its lines without lone surrogates."""
    source = os.fdopen(os.dup(0), "rb")
    end, begin = os.pipe()
    os.dup2(end, 0)
    os.close(end)
    threading.Thread(target=_copy_lines, args=(source, begin), daemon=True).start()


def _copy_lines(source: BinaryIO, target: int) -> None:
    with source, os.fdopen(target, "wb", 0) as out:
        try:
            for line in source:
                out.write(replace_surrogates(line))
        except OSError:
            return  # the server has ended
