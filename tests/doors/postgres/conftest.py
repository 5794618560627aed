"""A PostgreSQL, and records in both indexes."""

from __future__ import annotations

import pytest
from harness.asking import write

# fixtures, made once for all
from harness.database import dsn, empty, loaded, server, stranger, template, texts  # noqa: F401

from memory.index import builder


@pytest.fixture
def store(place, loaded, now):  # noqa: F811
    """A hundred and fifty records of the shared tier, in both indexes."""
    for number, (title, body) in enumerate(texts(150)):
        write(
            place,
            "s/learnings/n%d.md" % number,
            body,
            id="l-%d" % number,
            title=title,
            created="2026-10-%02d" % (1 + number % 28),
        )
    builder.build(place, now)
    loaded()
    return place
