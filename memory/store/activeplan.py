"""Plans: which one is active, which one a session served, and how a plan's file changes.

Schema, version 1, of a plan's own keys beside those of every record: `status` (active | done |
dropped; a missing one is active), `reason` (why it was dropped).  Its steps are the task items of
the body, `- [ ]` open and `- [x]` done.  A checkpoint names in `plan` the id of the one that was
active.  One plan is active: of several the newest counts.
"""

from __future__ import annotations

from contextlib import suppress

from memory.core import StoreError, UsageError, frontmatter, headfaults
from memory.core.records import Record, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable

    from memory.store.store import Store

_OPEN, _TICKED = b"[ ]", (b"[x]", b"[X]")
_ITEM = ("- ", "* ", "+ ")


def active(found: Iterable[Record]) -> list[Record]:
    """Return the active plans among records, newest first."""
    return sorted((r for r in found if r.active), key=lambda r: (-r.created, r.name))


def plan_between(store: Store, since: float, until: float) -> str:
    """Return the newest plan active between two instants in seconds: its id, or ""."""
    found: list[Record] = []
    for name in store.names(("plan",)):
        with suppress(StoreError):
            found.append(store.read(name))
    then = [
        r
        for r in found
        if r.kind == "plan" and r.created <= until and (r.active or r.updated >= since)
    ]
    then.sort(key=lambda r: (not r.active, -r.created, r.name))
    return then[0].id if then else ""


def progress(record: Record) -> tuple[int, int]:
    """Return (steps done, all steps) of a plan."""
    found = steps(record.body)
    return sum(ticked for _, ticked, _ in found), len(found)


def ticked(data: bytes, number: int, done: bool) -> bytes:
    """Return a plan's file with one step (from 1) ticked or reopened.

    Raises UsageError where there is no such step, StoreError where its line cannot be changed.
    """
    page = frontmatter.parse(data)
    found = steps(page.body)
    if not 1 <= number <= len(found):
        raise UsageError(
            "no step %d; %s"
            % (
                number,
                "the plan has %d" % len(found) if found else "the plan has no `- [ ] …` line yet",
            )
        )
    line = found[number - 1][0]
    lines = data.split(b"\n")
    at = page.head_lines + line
    if at >= len(lines) or page.body.split("\n")[line].encode("utf-8", "replace") not in lines[at]:
        raise StoreError("step %d cannot be changed safely; edit the file by hand" % number)
    for mark in _TICKED if not done else (_OPEN,):
        if found[number - 1][1] != done and mark in lines[at]:
            lines[at] = lines[at].replace(mark, _OPEN if not done else _TICKED[0], 1)
            break
    return b"\n".join(lines)


def replace_body(data: bytes, body: str, append: bool, name: str = "") -> bytes:
    """Return a plan's file with a new or extended body.  Its head stays as it is.

    name: of the file, for the StoreError where its head was not understood.
    """
    page = frontmatter.parse(data)
    if not append:
        headfaults.refuse(data, page, name)
    offset = frontmatter.split(data)[1] if page.head_lines else frontmatter.start_of(data)
    newline = b"\r\n" if b"\r\n" in data[: offset or 4096] else b"\n"
    new = body.strip("\n").encode("utf-8", "replace").replace(b"\n", newline) + newline
    if not append:
        return data[:offset] + (newline if page.head_lines else b"") + new
    end = b"" if data.endswith(b"\n") else newline
    return data + end + (newline if _is_parted(page.body, body) else b"") + new


def _is_parted(above: str, below: str) -> bool:
    """Tell whether a blank line belongs between two texts: not within a list."""
    last = above.rstrip().rpartition("\n")[2]
    listed = last.lstrip().startswith(_ITEM) and below.lstrip().startswith(_ITEM)
    return bool(above.strip()) and not listed
