"""What the tests of the index stand on: learnings on different subjects, and a provider that tells
what it was given.
"""

from __future__ import annotations

import json

import pytest
from harness import stubs, vault

from memory.index import embedder


@pytest.fixture
def seen(tmp_path):
    """The texts that were embedded since the last call."""
    path = tmp_path / "seen"
    path.touch()

    def texts() -> list[str]:
        found = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("")
        return found

    texts.path = str(path)
    return texts


@pytest.fixture
def provider(tmp_path, seen) -> embedder.Provider:
    """A provider that tells what it was given."""
    return stubs.provider(tmp_path, stubs.GOOD, seen.path)


@pytest.fixture
def store(place):
    """Thirty learnings on different subjects."""
    for i in range(30):
        vault.put(
            place,
            f"p/learnings/l{i:02d}.md",
            f"Note {i}",
            " ".join(f"word{i}x{j}" for j in range(12)),
        )
    return place
