"""A head that stands above a text and was not understood: writing one of its own above it would
hide it from every reader.
"""

from __future__ import annotations

from memory.core import StoreError
from memory.core.frontmatter import INVISIBLE
from memory.core.headreader import is_significant, parse_key_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

    from memory.core.frontmatter import Page

LIMIT = 1 << 16  # bytes that are looked at
FENCED = "write it as YAML between two lines `---`"
OPENED = "end it with a line `---`"


def raise_fault(data: bytes, page: Page, name: str = "") -> None:
    """Raise StoreError with line and remedy for a faulty head.

    page: the file, as it was parsed.  name: the file's, for the error.
    """
    found = find_fault(data, page)
    if found:
        raise StoreError("%s: %s" % (name, found) if name else found)


def find_fault(data: bytes, page: Page) -> str:
    """Return the fault of a file's head, with line and remedy.

    "" where the head was understood, or there is none.
    """
    lines = data[:LIMIT].decode("utf-8", "replace").lstrip(INVISIBLE).split("\n")
    at = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    first, rest = lines[at].strip() if at < len(lines) else "", lines[at + 1 :]
    if first == "---":
        return _find_yaml_fault(page, at + 1, rest)
    if first == "+++":
        return "line %d: a TOML head is not read; %s" % (at + 1, FENCED)
    if first == ";;;" or _begins_json(first, rest):
        return "line %d: a JSON head is not read; %s" % (at + 1, FENCED)
    return ""


def _begins_json(first: str, rest: List[str]) -> bool:
    inner = next((line.strip() for line in rest if is_significant(line)), "")
    return first.startswith('{"') or (first == "{" and inner.startswith('"'))


def _find_yaml_fault(page: Page, number: int, rest: List[str]) -> str:
    if page.head_lines and page.meta:
        unsure = (rest[line - number - 1] for line in page.unsure if line - number <= len(rest))
        return page.misread if any(map(_has_open_value, unsure)) else ""
    if page.head_lines or not rest or not rest[0].strip():
        return ""  # empty, or a rule above prose
    return _find_keyless_fault(number, rest)


def _find_keyless_fault(number: int, rest: List[str]) -> str:
    """Return the fault of a head without keys, or ""."""
    closed = next(
        (at for at, line in enumerate(rest) if line.rstrip() in ("---", "...")), len(rest)
    )
    inside = [line.rstrip("\r") for line in rest[:closed] if is_significant(line)]
    if closed < len(rest) and rest[closed].rstrip() == "---":
        listed = bool(inside) and inside[0].lstrip()[:1] in ("-", "[", "{", '"', "'")
        fault = "line %d: the frontmatter holds no keys; write each as `key: value`" % (number + 1)
        return fault if listed else ""
    if not inside or not parse_key_line(inside[0])[0]:
        return ""
    if closed < len(rest):
        return "line %d: the frontmatter is closed by `...`; %s" % (number + closed + 1, OPENED)
    return "line %d: the frontmatter is not closed; %s" % (number, OPENED)


def _has_open_value(line: str) -> bool:
    """Tell whether a value may go on after its line."""
    value = line.partition(":")[2].strip()
    return not line[:1].strip() or not value or value[0] in "[{\"'|>&*!%@`"
