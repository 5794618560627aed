"""The TOML heads of notes (`+++` … `+++`, as Hugo writes them), read line by line.

What a head of notes holds is read: strings, numbers, dates, booleans, lists of them; tables and
what is deeper are passed over.  Values are text, as those of YAML heads are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

FENCE = b"+++"
_ESCAPES = {"n": "\n", "t": "\t"}
_MANY = ('"""', "'''", "{")  # what begins a value that is passed over


def find_fences(data: bytes, at: int) -> Tuple[int, int, int]:
    """Return (start of the head, its end, start of the body).

    (-1, -1, at) without a head.  at: where the text begins.
    """
    first = data.find(b"\n", at)
    if not data.startswith(FENCE, at) or data[at + 3 : first].strip() or first < 0:
        return -1, -1, at
    end = data.find(b"\n" + FENCE, first)
    stop = data.find(b"\n", end + 1) if end >= 0 else -1
    stop = len(data) if stop < 0 else stop
    if end < 0 or data[end + 4 : stop].strip():
        return -1, -1, at
    return first + 1, end + 1, min(stop + 1, len(data))


def parse(text: str) -> Dict[str, Any]:
    """Return the keys and values of a TOML head above its tables.

    Values are texts and lists of texts; texts of several lines are passed over.
    """
    found: Dict[str, Any] = {}
    at = 0
    while at < len(text):
        end = _find_mark(text, "\n", at)
        line = text[at:end]
        if line.lstrip()[:1] == "[":
            break
        key, sign, value = line.partition("=")
        key = key.strip().strip("\"'")
        if not sign or not key or key[:1] == "#" or value.lstrip().startswith(_MANY):
            at = end + 1
            continue
        items, at = _parse_values(text, at + len(line) - len(value))
        found[key] = items if value.lstrip()[:1] == "[" else (items or [""])[0]
    return found


def _parse_values(text: str, at: int) -> Tuple[List[str], int]:
    """Return (the values of a line or list, their end)."""
    items: List[str] = []
    depth = 0
    while at < len(text):
        char = text[at]
        if char in "\"'":
            item, at = _parse_quoted(text, at)
            items.append(item)
        elif char in "[]":
            depth += 1 if char == "[" else -1
            at += 1
        elif char == "#":
            at = _find_mark(text, "\n", at)
        elif char == "\n" and depth <= 0:
            break
        elif char in " \t\n,":
            at += 1
        else:
            end = min(_find_mark(text, mark, at) for mark in ",]#\n[")
            items.append(text[at:end].strip())
            at = end
    return items, at


def _parse_quoted(text: str, at: int) -> Tuple[str, int]:
    quote, out = text[at], ""
    at += 1
    while at < len(text) and text[at] not in (quote, "\n"):
        if text[at] == "\\" and quote == '"' and at + 1 < len(text):
            at += 1
            out += _ESCAPES.get(text[at], text[at])
        else:
            out += text[at]
        at += 1
    return out, at + (text[at : at + 1] == quote)


def _find_mark(text: str, mark: str, at: int) -> int:
    found = text.find(mark, at)
    return len(text) if found < 0 else found
