"""Checkpoints with things worth keeping, and what a harvest proposes and keeps of them."""

from __future__ import annotations

import json
from pathlib import Path

from harness.vault import put
from memory.capture import checkpointpage
from memory.capture.facts import Edit, Facts
from memory.capture.turns import Turn
from memory.session.shell import Run

CLICK = "Use `argparse` instead of click because an import of click takes 40 ms."
CACHE = "Keep the cache in `sqlite3` because a file of its own needs no server."
YAML = "ModuleNotFoundError: No module named 'yaml'"


CAUSE = "the module was never added to the requirements"


def session_body(command="pytest tests/", error=YAML, fixed=True, cause=CAUSE):
    """What capture writes of a session in which a command failed, and passed after another one; cause: as somebody named it."""
    runs = [Run("1", command, command.split()[0], "exit 1", error)]
    if fixed:
        runs += [Run("2", "pip install pyyaml", "pip install", "passed"), Run("3", command, command.split()[0], "passed")]
    page = checkpointpage.body(Facts(turns=[Turn("2026-11-10T10:00:00.000Z", "Make the tests pass")], runs=runs, edits=[Edit("0", "src/a.py", False)]))
    return page.replace("; passed after", " — %s; passed after" % cause) if cause else page


def notes(place):
    """Two checkpoints of two sessions, with three things worth keeping."""
    put(place, "p/checkpoints/c-1.md", "One", CLICK + "\n\n" + session_body(), "python", session="s-1", created="2026-11-10")
    put(place, "p/checkpoints/c-2.md", "Two", CACHE + "\n\n" + session_body(), "python", session="s-2", created="2026-11-20")


def kept(place):
    """Return the learnings' files."""
    return sorted(Path(place.folder("p", "learning")).glob("*.md"))


def proposed(ok, *words):
    """Return what `harvest --json` proposes, by the first words of the titles."""
    return {one["title"].split()[0]: one for one in json.loads(ok("harvest", *words, "--json"))["proposals"]}
