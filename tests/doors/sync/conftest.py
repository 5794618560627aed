"""Where machines meet."""

from __future__ import annotations

import pytest


@pytest.fixture
def box(tmp_path):
    (tmp_path / "box").mkdir()
    return tmp_path / "box"
