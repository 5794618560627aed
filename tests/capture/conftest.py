"""What the tests of captures stand on."""

from __future__ import annotations

import pytest
from harness.session import Ending


@pytest.fixture
def session(env, project, now) -> Ending:
    """A session without a line yet; session.fire(event) captures, session.end() lets the whole
    worker serve its end.
    """
    return Ending(env, project, now)
