"""Models played by stubs, for the tests of distill."""

from __future__ import annotations

import pytest
from harness.models import World


@pytest.fixture
def world(tmp_path, env, home, now):
    """A PATH with stubs only, and one call of distill with defaults that a test may replace."""
    return World(tmp_path, env, home + "/.dayleaf", now)
