"""Checkpoints that a person writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memory.capture import byhand
from memory.core import UsageError, config, frontmatter
from memory.store import store


def test_a_note_by_hand(place, env, now, project):
    """It is the person's: source human, trigger manual, title of its first clause, branch and commit filled."""
    run = {"env": env, "check": True, "cwd": project, "capture_output": True}
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "init"], **run)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], text=True, **run).stdout[:10]
    keeper = store.Store(place, config.load(place.home, project, env), now)
    record = byhand.note(
        keeper, place, "Switched to mTLS. The proxy <private>at 10.0.0.1</private> wants it.", ["auth"], "s-1", now
    )
    page = frontmatter.parse(Path(place.path(record.name)).read_bytes())
    assert (page.meta["title"], page.meta["source"], page.meta["trigger"]) == ("Switched to mTLS", "human", "manual")
    assert (page.meta["commit"], page.meta["tags"], page.meta["session"]) == (commit, ["auth"], "s-1")
    assert "10.0.0.1" not in page.body and "wants it" in page.body
    with pytest.raises(UsageError):
        byhand.note(keeper, place, " <private>x</private> ", [], "", now)
