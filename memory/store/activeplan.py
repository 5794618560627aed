"""Plans: which one is active, which one a session served, and how a plan's file changes.

Schema, version 1, of a plan's own keys beside those of every record: `status` (active | done |
dropped; a missing one is active), `reason` (why it was dropped).  Its steps are the task items of
the body, `- [ ]` open and `- [x]` done.  A checkpoint names in `plan` the id of the one that was
active.  One plan is active: of several the newest counts.
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
    plans = [
        plan
        for plan in plans
        if plan.kind == "plan" and plan.created <= until and (plan.active or plan.updated >= since)
    ]
    plans.sort(key=lambda plan: (not plan.active, -plan.created, plan.name))
    return plans[0].id if plans else ""


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
    """Return a plan's file with a new or extended body, its head unchanged.

    name: of the file, for the StoreError where its head was not understood.
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
