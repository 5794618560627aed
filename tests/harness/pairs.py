"""Records that say the same, for what merges them."""

from __future__ import annotations

from pathlib import Path

from harness import vault
from memory.core import clock

DAY = clock.DAY
SAME = "Quote every path that is given to the shell, since some hold a space."


def twins(place, now, count: int = 1) -> None:
    """Write pairs of learnings that say the same."""
    for number in range(count):
        for side, tag in (("a", "shell"), ("b", "paths")):
            vault.put(
                place,
                "p/learnings/%s%d.md" % (side, number),
                "Quote paths %d" % number,
                SAME + " Case %d." % number,
                tag,
                created=clock.iso(now - DAY),
                updated=clock.iso(now - DAY + (side == "b")),
            )


def texts(place) -> dict[str, bytes]:
    """Return the bytes of every record in the store by path."""
    return {
        str(path): path.read_bytes()
        for _, root in place.tiers()
        for path in Path(root).rglob("*.md")
        if "/archive/" not in str(path)
    }
