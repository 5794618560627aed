"""Plans: which one is active, which one a session served, and how a plan's file changes.

Schema, version 1, of a plan's own keys: `status` (active | done | dropped; missing: active),
`reason` (why it was dropped).  Its steps are the body's task items, `- [ ]` open and `- [x]` done.
A checkpoint names in `plan` the id of the active one: of several the newest.
"""

from __future__ import annotations

from contextlib import suppress

from memory.core import StoreError, UsageError, frontmatter, headfaults
from memory.core.records import Record, parse_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable

    from memory.store.store import Store

_OPEN, _TICKED = b"[ ]", (b"[x]", b"[X]")
_ITEM = ("- ", "* ", "+ ")


def list_active(found: Iterable[Record]) -> list[Record]:
    """Return the active plans among records, newest first."""
    active = (record for record in found if record.active)
    return sorted(active, key=lambda plan: (-plan.created, plan.name))


def find_plan_between(store: Store, since: float, until: float) -> str:
    """Return the id of a period's newest active plan, or ""."""
    plans: list[Record] = []
    for name in store.names(("plan",)):
        with suppress(StoreError):
            plans.append(store.read(name))
    current = (
        plan
        for plan in plans
        if plan.kind == "plan" and plan.created <= until and (plan.active or plan.updated >= since)
    )
    plan = min(current, key=lambda p: (not p.active, -p.created, p.name), default=None)
    return plan.id if plan else ""


def count_steps(record: Record) -> tuple[int, int]:
    """Count a plan's done steps and all its steps."""
    found = parse_steps(record.body)
    return sum(ticked for _, ticked, _ in found), len(found)


def mark_step(data: bytes, number: int, done: bool) -> bytes:
    """Return a plan's file with one step (from 1) ticked or reopened.

    Raises UsageError without such a step, StoreError where its line cannot be changed.
    """
    page = frontmatter.parse(data)
    found = parse_steps(page.body)
    if not 1 <= number <= len(found):
        steps = "%d" % len(found) if found else "no `- [ ] …` line yet"
        raise UsageError("no step %d; the plan has %s" % (number, steps))
    line, ticked, _ = found[number - 1]
    lines = data.split(b"\n")
    at = page.head_lines + line
    if at >= len(lines) or page.body.split("\n")[line].encode("utf-8", "replace") not in lines[at]:
        raise StoreError("step %d cannot be changed safely; edit the file by hand" % number)
    old, new = ((_OPEN,), _TICKED[0]) if done else (_TICKED, _OPEN)
    mark = next((mark for mark in old if mark in lines[at]), b"")
    if ticked != done and mark:
        lines[at] = lines[at].replace(mark, new, 1)
    return b"\n".join(lines)


def replace_body(data: bytes, body: str, append: bool, name: str = "") -> bytes:
    """Return a plan's file with its body replaced; append: extended.

    name: the file's, for the StoreError where its head was not understood.
    """
    page = frontmatter.parse(data)
    if not append:
        headfaults.raise_fault(data, page, name)
    offset = frontmatter.split_head(data)[1] if page.head_lines else frontmatter.text_start(data)
    newline = b"\r\n" if b"\r\n" in data[: offset or 4096] else b"\n"
    new = body.strip("\n").encode("utf-8", "replace").replace(b"\n", newline) + newline
    if not append:
        return data[:offset] + (newline if page.head_lines else b"") + new
    end = b"" if data.endswith(b"\n") else newline
    return data + end + (newline if _needs_blank_line(page.body, body) else b"") + new


def _needs_blank_line(above: str, below: str) -> bool:
    last = above.rstrip().rpartition("\n")[2]
    listed = last.lstrip().startswith(_ITEM) and below.lstrip().startswith(_ITEM)
    return bool(above.strip()) and not listed
