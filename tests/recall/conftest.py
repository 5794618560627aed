"""Stores that several tests of recall ask."""

from __future__ import annotations

import pytest
from harness import vault
from harness.asking import BACKENDS, fill, shop, write

from memory.index import builder


@pytest.fixture(params=BACKENDS)
def store(request, place, now):
    """The same store behind an index on disk, with part of it in the delta, and without an
    index.
    """
    if request.param == "delta":
        write(
            place,
            "p/learnings/first.md",
            "Nothing of note.",
            id="l-first",
            title="First",
            created="2020-01-01",
        )
        builder.build(place, now)
    fill(place)
    if request.param == "index":
        builder.build(place, now)
    return place


@pytest.fixture
def importer(place, now):
    """A learning for two versions, one for many, one for none."""
    vault.put(place, "p/learnings/a.md", "Importer rows", "importer", versions="[2.1, v2.2]")
    vault.put(
        place, "p/learnings/b.md", "Importer many", "importer", versions="[1, 2, 3, 4, next\u202e]"
    )
    vault.put(place, "p/learnings/c.md", "Importer plain", "importer")
    builder.build(place, now)


@pytest.fixture(name="shop")
def _shop(place):
    """A store of linked records."""
    return shop(place)
