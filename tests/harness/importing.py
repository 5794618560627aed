"""A tree of files to import, and what an import says."""

from __future__ import annotations

import json
from pathlib import Path

from memory.core import frontmatter


def tree(project):
    """Return a function that writes files of reference material: put(path, text).

    They lie in a directory of the project with a space in its name.
    """
    root = Path(project, "my ref")

    def put(name, text="# A page\n\nIt says something.\n"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    put.root = root
    return put


def took(ok):
    """Return a function that imports and returns the answer to --json."""
    return lambda *words: json.loads(ok("import", *map(str, words), "--json"))


def kept(place, folder="resources", tier="private"):
    """Map the title of each record file of a folder to (frontmatter, body)."""
    pages = [
        frontmatter.parse(path.read_bytes())
        for path in Path(getattr(place, tier), folder).rglob("*.md")
    ]
    return {page.meta.get("title"): page for page in pages}
