"""The question whether notes are wanted: once, with a figure of this user's own sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import noted
from harness.hook import fire, harmless, payload
from harness.session import Ending

from memory.health import worker


@pytest.fixture
def sessions(world, env, project, now):
    made = [
        Ending(env, project, now + 90 * at, "sess-%d" % at) for at in range(worker.LEAST_SESSIONS)
    ]
    for one in made:
        noted.spoken(one).end()
    return made


def start(world, number):
    answer = harmless(
        fire("session_start", payload("SessionStart", "startup", session_id="s%d" % number), world)
    )
    assert answer.settled
    return answer.message


def test_it_is_asked_once_and_only_with_sessions_to_measure(sessions, world):
    """The first start measures, the second asks, the third is silent."""
    said = [start(world, number) for number in range(3)]
    asks = ["`dayleaf notes on`" in text for text in said]
    assert asks == [False, True, False], said
    assert "tokens" in said[1]


def test_who_decided_is_not_asked(sessions, world):
    Path(sessions[0].place.home, "config.json").write_text('{"notes.provider": "off"}')
    assert not any("notes on" in start(world, number) for number in range(3))
