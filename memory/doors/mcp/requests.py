"""What a client sends over stdin, before the protocol's own reader sees it.

JSON may hold half a surrogate pair, `"\\ud83d"`, and clients write one where they cut a text in the
middle of an emoji.  The reader refuses the whole line then, and the request would stay without an
answer.
"""

from __future__ import annotations

import os
import re
import threading
from typing import BinaryIO

_ESCAPED = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    rb"|u[dD][c-fC-F][0-9a-fA-F]{2}|.)",
    re.S,
)
_PAIR = 12  # bytes of a whole pair
_LOST = rb"\ufffd"


def mended(line: bytes) -> bytes:
    """Return a line of JSON with lone surrogates replaced by U+FFFD.

    Escaped or not.
    """
    if not line.isascii():
        line = line.decode("utf-8", "replace").encode("utf-8")
    if b"\\u" not in line:
        return line
    return _ESCAPED.sub(
        lambda one: (
            _LOST
            if one[0][1:3].lower() == b"ud"
            and one[0][3:4].lower() in b"89abcdef"
            and (len(one[0]) < _PAIR)
            else one[0]
        ),
        line,
    )


def mend_stdin() -> None:
    """Replace stdin by a pipe of its mended lines.

    A thread writes into it.
    """
    source = os.fdopen(os.dup(0), "rb")
    end, begin = os.pipe()
    os.dup2(end, 0)
    os.close(end)
    threading.Thread(target=_pass_on, args=(source, begin), daemon=True).start()


def _pass_on(source: BinaryIO, target: int) -> None:
    with source, os.fdopen(target, "wb", 0) as out:
        try:
            for line in source:
                out.write(mended(line))
        except OSError:
            return  # the server has ended
