"""Checkpoints with things worth keeping, and what a harvest proposes and keeps of them."""

from __future__ import annotations

import json
from pathlib import Path

from harness.vault import put

CLICK = "Use `argparse` instead of click because an import of click takes 40 ms."
CACHE = "Keep the cache in `sqlite3` because a file of its own needs no server."
YAML = "`pytest` fails without `pyyaml`, which the requirements do not name."


def notes(place):
    """Write checkpoints of two sessions with three things worth keeping, one of them in both."""
    put(
        place,
        "p/checkpoints/c-1.md",
        "One",
        "Decision: %s\n\nRoot cause: %s\n" % (CLICK, YAML),
        "python",
        session="s-1",
        created="2026-11-10",
    )
    put(
        place,
        "p/checkpoints/c-2.md",
        "Two",
        "Decision: %s\n\nRoot cause: %s\n" % (CACHE, YAML),
        "python",
        session="s-2",
        created="2026-11-20",
    )


def kept(place):
    """Return the learnings' files."""
    return sorted(Path(place.folder("p", "learning")).glob("*.md"))


def proposed(ok, *words):
    """Return what `harvest --json` proposes, by the first words of the titles."""
    return {
        one["title"].split()[0]: one
        for one in json.loads(ok("harvest", *words, "--json"))["proposals"]
    }
