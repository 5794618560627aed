"""What the tests of faults stand on."""

from __future__ import annotations

import pytest
from harness import scene as scenes
from harness import tracer

from memory.cli import recall
from memory.core import clock


def pytest_collection_modifyitems(items):
    """Leave these tests out where no child can be traced."""
    for item in items:
        if "faults" in item.path.parts and not tracer.AVAILABLE:
            item.add_marker(pytest.mark.skip(reason="wants ptrace on Linux, x86-64"))


@pytest.fixture
def scene(tmp_path, env, project, place, run, now, monkeypatch) -> scenes.Scene:
    """A home with records of every kind, whose clock stands."""
    monkeypatch.setattr(clock, "now", lambda: now)
    # it outlives its command, and would write into the next home
    monkeypatch.setattr(recall, "start_refresh", lambda call, stale: None)
    return scenes.made(tmp_path, env, project, place, run, now)
