"""A document to keep, and the verb that keeps it."""

from __future__ import annotations

import json
from pathlib import Path

GUIDE = (
    "# Billing guide\n\nTotals.\n\n## Rounding\n\nHalf to even.\n\n### Tax\n\nPer line.\n\n"
    "## Refunds\n\nNever partial.\n"
)


def resource(run):
    """Return a function that runs `dayleaf resource … --json`, which must succeed, and returns its
    value.
    """

    def call(*words, **more):
        done = run("resource", *words, "--json", **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


def guide(project) -> Path:
    """A document in the project."""
    path = Path(project, "docs", "billing guide.md")
    path.parent.mkdir()
    path.write_text(GUIDE)
    return path
