"""An operation is killed before each call that changes a file, and in the middle of each write:
nothing is lost or torn.
"""

from __future__ import annotations

import signal

import pytest
from harness import tracer
from harness.scene import (
    OPERATIONS,
    REMOVES,
    WHOLE,
    blobs,
    healed,
    holding,
    prepare,
    sampled,
    untorn,
    visible,
)

# So many calls each operation makes at least: with fewer, the sweep no longer sees what it is
# about.
LEAST = {
    "learn": 7,
    "capture": 25,
    "start": 12,
    "forget": 6,
    "forget --hard": 8,
    "restore": 6,
    "upkeep": 12,
    "undo": 8,
    "index build": 6,
    "index refresh": 3,
    "ledger note": 2,
    "feedback": 8,
    "import dir": 15,
    "handoff": 8,
    "plan step": 7,
    "rule suggest": 7,
    "link": 7,
    "redact": 12,
    "backup": 4,
    "config set": 4,
    "restore backup": 8,
    "restore over": 40,
    "restore into": 150,
    "compact": 25,
    "prompt": 5,
    "learn everywhere": 9,
    "edit": 10,
    "checkpoint": 7,
    "plan": 12,
    "plan update": 7,
    "plan done": 7,
    "unlink": 7,
    "resource add": 7,
    "resource refresh": 7,
    "import tree": 10,
    "redact everywhere": 25,
    "forget checkpoint": 8,
    "doctor": 20,
    "unset": 4,
    "backup part": 4,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_call_nothing_is_lost_or_torn(scene, operation, capsys):
    """Whatever was acknowledged is there afterwards, no file is half, and the same command heals
    what is left.
    """
    prepare(scene, operation)
    before, marks = visible(scene), scene.marks()
    kept = marks - {REMOVES.get(operation, "")}
    whole = tracer.run(lambda: scene.act(operation), scene.top)
    assert whole.status == 0 and whole.value[0] == 0, whole.value
    assert len(whole.steps) >= LEAST[operation], whole.steps
    written, hit = blobs(whole.steps), {"kill": 0, "cut": 0}
    for what, names, most in (("kill", (), 3), ("cut", ("write", "pwrite64"), 1)):
        total = sum(not names or step.name in names and len(step.data) > 1 for step in whole.steps)
        points = sampled(total, most)
        for point in points:
            scene.reset()
            done = tracer.run(
                lambda: scene.act(operation), scene.top, tracer.Fault(what, point, names)
            )
            assert (done.status, done.hits) == (-signal.SIGKILL, 1), (
                operation,
                what,
                point,
                done.value,
            )
            hit[what] += 1
            assert scene.marks() >= kept, (operation, what, point)
            untorn(scene, before, written)
            if operation in REMOVES and REMOVES[operation] not in scene.marks():
                assert holding(scene, b"quokka") == [], (operation, what, point)
            if (
                (point <= 20 or point % 5 == 0)
                if WHOLE
                else (what == "kill" and point == points[len(points) // 2])
            ):
                healed(scene, operation, marks)
        assert hit[what] == len(points) > 0 or not total
    with capsys.disabled():
        if WHOLE:
            print(
                "\nkilled %s: %d times before a call, %d times within a write"
                % (operation, hit["kill"], hit["cut"])
            )
