"""A session of twice the turns takes twice the work, whatever it is made of."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from harness import longsessions, vault
from harness.session import Session

from memory.core import config
from memory.health import worker
from memory.knowledge import walls

TURNS, GROWTH, FLOOR = 150, 2.3, 0.3  # seconds of CPU below which nothing is judged


def cost(env, project, shape: str, turns: int, tried: int) -> float:
    """Return the seconds of CPU of a session's end and of the look-up of walls after it."""
    session = Session(env, project, 0, "s-%s-%d-%d" % (shape.replace("_", ""), turns, tried))
    longsessions.write(session.path, project, session.name, shape, turns)
    now = (
        longsessions.START + 60.0 + longsessions.STEP * session.path.read_text("utf-8").count("\n")
    )
    event = {
        "hook_event_name": "SessionEnd",
        "session_id": session.name,
        "transcript_path": str(session.path),
        "cwd": project,
    }
    start = time.process_time()
    worker.work(event, {**session.env, "DAYLEAF_RUNTIME_AUTO": "0"}, now)
    walls.update_walls(
        session.place, config.load(session.place.home, session.place.root, session.env), now
    )
    spent = time.process_time() - start
    assert list(Path(session.place.private, "conversations").rglob("*.md")), (
        "something was captured"
    )
    return spent


@pytest.mark.alone
@pytest.mark.parametrize("shape", longsessions.SHAPES)
def test_twice_the_turns_take_twice_the_work(env, project, shape, tmp_path):
    """CPU time, the least of some runs, each in a home of its own."""

    def least(turns: int, tries: int) -> float:
        return min(
            cost(
                {**env, "HOME": str(tmp_path / ("%d-%d-%d" % (turns, tries, n)))},
                project,
                shape,
                turns,
                n,
            )
            for n in range(tries)
        )

    cost({**env, "HOME": str(tmp_path / "warm")}, project, shape, 5, 0)
    first, second = least(TURNS, 1), least(2 * TURNS, 1)
    for tries in (3, 4):  # a busy machine spoils one measurement, seldom three
        if second >= FLOOR and second > GROWTH * first:
            first, second = least(TURNS, tries), least(2 * TURNS, tries)
    assert second < FLOOR or second <= GROWTH * first, (first, second)


def page(turns: int) -> str:
    """The page of a conversation whose every turn met another wall."""
    return "\n\n".join(
        "## %02d:%02d try way %d\n\n- ✗ `acme%d do --x` → exit 2: the broker of queue q%s is away\n"
        "- ✓ `acme%d do --y`\n\n"
        "Way %d it is." % (n // 60 % 24, n % 60, n, n, "abcdefghij"[n % 10] * (n // 10 + 1), n, n)
        for n in range(turns)
    )


def talk(place, turns: int) -> None:
    vault.put(
        place,
        "p/conversations/2026-11-16/000000-long.md",
        "Long",
        page(turns),
        id="k-long",
        kind="conversation",
        created="2026-11-16T00:00:00Z",
        session="long",
    )


def test_a_conversation_of_many_turns_is_read_in_seconds(place, now):
    turns = 600
    talk(place, turns)
    start = time.process_time()
    rows = walls.update_walls(place, vault.settings(), now)
    assert time.process_time() - start < 3 and len(rows[0]["failures"]) == turns
