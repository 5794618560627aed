"""What the tests of the store stand on."""

from __future__ import annotations

import pytest

from memory.core import config
from memory.store.store import Store


@pytest.fixture
def store(place, now) -> Store:
    """The store of the project, with default settings."""
    return Store(place, config.load(place.home, "", {}), now)
