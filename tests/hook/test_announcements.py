"""What a repository's `.dayleaf` brings is counted once, whatever it says of itself."""

from __future__ import annotations

import os
import time
from pathlib import Path

from harness import vault
from harness.repository import received

from memory.hook import announcements


def line(place, event=None) -> list[str]:
    return announcements.new_records_notice(place, {} if event is None else event)


def test_only_an_unknown_content_counts(place, env):
    """A record that is known is not read again until something may have changed."""
    first = vault.put(place, "s/learnings/a.md", "Alpha", "alpha")
    vault.put(place, "s/learnings/deep/b.md", "Beta", "beta")
    received(place.root, env)
    announcements.add_known_file(place, first)
    os.utime(announcements.seen_path(place), (0, 0))
    assert line(place) == [
        "1 record new in this repository's .dayleaf; none of them waits for review"
    ]
    announcements.add_known_file(place, place.path("s/learnings/deep/b.md"))
    os.utime(announcements.seen_path(place), (time.time() + 9,) * 2)
    assert not announcements.may_have_changed(place) and line(place) == []
    Path(first).write_text("---\nid: a\n---\n\nAnother text.\n")
    received(place.root, env)
    os.utime(place.git + "/index", (time.time() + 20, time.time() + 20))
    assert announcements.may_have_changed(place) and len(line(place)) == 1


def test_a_subagent_is_told_nothing(place, env):
    """Nor is a project without a shared tier."""
    assert line(place) == []
    vault.put(place, "s/learnings/a.md", "Alpha", "alpha")
    received(place.root, env)
    assert line(place, {"agent_id": "a1"}) == [] and len(line(place)) == 1


def test_a_file_that_went_is_not_remembered(place):
    """As when a writer removed it."""
    announcements.add_known_file(place, place.path("s/learnings/gone.md"))
    assert announcements.read_known_digests(place) == set()
