"""Stores for tests: records written by hand, as a person or a script would."""

from __future__ import annotations

import os
from pathlib import Path

from memory import config, index, indexer


def put(place, name: str, title: str, body: str = "", tags: str = "", **keys: str) -> str:
    """Write one record file under its name in the index (`p/learnings/x.md`) and return its path."""
    path = Path(place.path(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"id": path.stem, "title": title, **({"tags": tags} if tags else {}), **keys}
    lines = "".join(f"{key}: {value}\n" for key, value in head.items())
    path.write_text(f"---\n{lines}---\n\n{body}\n", encoding="utf-8")
    return str(path)


def learnings(place, count: int, words: int = 8) -> None:
    """Write learnings that share no word with each other but `note`."""
    for i in range(count):
        body = " ".join(f"word{i:03d}x{w}" for w in range(words))
        put(place, f"p/learnings/l{i:03d}.md", f"Note topic{i:03d}", body, created=f"2026-10-{1 + i % 28:02d}")


def built(place, now: float) -> index.Index:
    """Build the index of a place and open it."""
    indexer.build(place, now)
    return index.open_index(place)


def settings(**changes):
    """The default settings with some changed: `load_top=5` sets `load.top`."""
    found = config.Config(dict(config.DEFAULTS), {}, [])
    for key, value in changes.items():
        found.values[key.replace("_", ".", 1)] = value
    return found


def touch(path: str, seconds: float) -> None:
    """Set a file's time."""
    os.utime(path, (seconds, seconds))
