"""The end of a turn: a line for the user where a wish was noted, silence else."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.core import boundary
from memory.hook import at_stop


@pytest.mark.parametrize("session", ["", "../../etc", "none"])
def test_without_a_note_it_says_nothing(env, project, now, session):
    """Whatever the session calls itself; the capture goes on."""
    assert at_stop.on_stop(
        {"session_id": session, "cwd": project}, {**env, "CLAUDE_PROJECT_DIR": project}, now
    ) == (None, True)


def test_every_line_is_said(env, project, place, now):
    """Each as dayleaf's."""
    path = Path(at_stop.notices_path(place, "s1"))
    path.parent.mkdir(parents=True)
    path.write_text("one\ntwo\n")
    event = {"session_id": "s1", "cwd": project}
    assert at_stop.on_stop(event, {**env, "CLAUDE_PROJECT_DIR": project}, now) == (
        {"systemMessage": "dayleaf: one\ndayleaf: two"},
        True,
    )
    assert event[boundary.HEARD] is True
