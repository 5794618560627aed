"""Checkpoints of some days ago, and what upkeep would do with them."""

from __future__ import annotations

from harness import vault
from harness.pairs import DAY
from memory.core import clock
from memory.knowledge import housekeeping


def checkpoint(place, now, days: float, name: str, body: str = "Worked on it.", **keys: str) -> str:
    """Write an automatic checkpoint of some days ago and return its name."""
    said = "p/checkpoints/%s/%s.md" % (clock.day(now - days * DAY), name)
    vault.put(
        place,
        said,
        "Checkpoint " + name,
        body,
        created=clock.iso(now - days * DAY),
        source="auto",
        **keys,
    )
    return said


def recent(place, now, count: int = 12) -> None:
    """Write what was noted lately, so that the clock is believed."""
    for number in range(count):
        checkpoint(
            place, now, number, "recent%d" % number, "Something else happened, number %d." % number
        )


def planned(store, **more) -> list[tuple[str, str]]:
    """Return (id, id of the record it goes into or "") of each change."""
    return [
        (c.record.id, c.kept.id if c.kept else "")
        for c in housekeeping.plan_upkeep(store, {}, **more).changes
    ]
