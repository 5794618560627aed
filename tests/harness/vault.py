"""Stores for tests: records written by hand, as a person or a script would."""

from __future__ import annotations

import os
from pathlib import Path

from memory.core import approvals, config, tokeniser
from memory.hook import indexview, loader
from memory.index import assembly, builder, postings


def put(place, name: str, title: str, body: str = "", tags: str = "", **keys: str) -> str:
    """Write one record file under its name in the index (`p/learnings/x.md`) and return its
    path.
    """
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
        put(
            place,
            f"p/learnings/l{i:03d}.md",
            f"Note topic{i:03d}",
            body,
            created=f"2026-10-{1 + i % 28:02d}",
        )


def mixed(place):
    """Write five records, in all tiers and of several kinds; returns the place."""
    put(
        place,
        "p/learnings/jwt.md",
        "JWT issuer",
        "The issuer must match; see src/auth/jwt.py.",
        tags="[auth]",
    )
    put(
        place,
        "p/learnings/cache.md",
        "Docker cache",
        "Use --no-cache when the layer is stale.",
        tags="[build]",
    )
    put(
        place,
        "p/checkpoints/2026-11-20/101500-fix.md",
        "Fixed the JWT issuer",
        "Edited src/auth/jwt.py.",
    )
    put(
        place,
        "s/rules/style.md",
        "Style",
        "Prefer plain functions.",
        rationale="they read well",
        tags="[python]",
    )
    put(place, "g/learnings/korean.md", "버튼 접근성", "버튼을 누르면 초점이 사라진다.")
    return place


def built(place, now: float) -> indexview.Index:
    """Build the index of a place and open it."""
    builder.build(place, now)
    return indexview.open_index(place)


def found(place, words, now, **options) -> list[str]:
    """Return the ids that a query finds, best first."""
    opened = indexview.open_index(place)
    try:
        return [
            opened.doc(number).id
            for _, number in loader.search(opened, tokeniser.query_terms(words), 10, **options)
        ]
    finally:
        opened.close()


def assert_twins(place, now, monkeypatch):
    """Check that both inverters write the same bytes; return the assembly."""
    twins = []
    for inverter in (postings.LoopInverter, postings.NumpyInverter):
        monkeypatch.setattr(assembly, "_make_inverter", lambda found, make=inverter: make())
        twins.append(assembly.assemble(place, now))
    monkeypatch.undo()
    assert twins[0].data == twins[1].data
    return twins[0]


def settings(**changes):
    """Return the default settings with some changed: `load_top=5` sets `load.top`."""
    found = config.Config(dict(config.DEFAULTS), {}, [])
    for key, value in changes.items():
        found.values[key.replace("_", ".", 1)] = value
    return found


def touch(path: str, seconds: float) -> None:
    """Set a file's time."""
    os.utime(path, (seconds, seconds))


def write(place, name: str, data) -> str:
    """Write a file by hand, as a person would, and return its name."""
    path = Path(place.path(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return name


def snapshot(folder) -> dict[str, bytes]:
    """Return every file below a directory with its bytes."""
    found = [path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path): path.read_bytes() for path in found}


def chain(place):
    """Write linked records: a -> b -> c -> a, and one that stands alone.

    b has a script; c names what is not there."""
    put(place, "p/learnings/a.md", "Alpha", "x", id="l-a", links="[related_to: l-b]")
    put(
        place, "p/learnings/b.md", "Beta", "x", id="l-b", links="[related_to: l-c, has_script: s-1]"
    )
    put(place, "p/learnings/c.md", "Gamma", "[[Alpha]] [[Alfa beta]]", id="l-c")
    put(place, "p/resources/s.md", "Script", "x", id="s-1", type="script", path="bin/x")
    put(place, "p/learnings/lone.md", "Lone", "x", id="l-lone")


def approve(place, path, id, now):
    """Approve what a file holds."""
    approvals.append_decision(
        place.home,
        place.key,
        id,
        approvals.files.sha256(Path(path).read_bytes()),
        "approve",
        "t",
        now,
    )
