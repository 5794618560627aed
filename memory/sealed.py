"""Derived answers under a seal: a file of two lines, the SHA-256 of the second and one line of JSON.

Whatever is wrong with one (torn, edited, of another time) makes it absent, and loses nothing: it is made again.
"""

from __future__ import annotations

from memory import files, jsonio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 1 << 20  # bytes
TEMPLATE = 4  # stands in the key of every kept digest and answer: raise it with any change of prompts, checks, extract, output


def read(path: str) -> Any:
    """Return the value of a sealed file; raises OSError, and ValueError where the seal or the JSON is broken."""
    seal, _, line = files.read(path, LIMIT).partition(b"\n")
    if seal != files.sha256(line).encode():
        raise ValueError("the seal is broken")
    return jsonio.parse(line)


def write(path: str, value: Any) -> None:
    """Write a value as a sealed file, whole or not at all; raises OSError."""
    line = jsonio.dump(value).encode("ascii")
    files.replace(path, files.sha256(line).encode() + b"\n" + line)
