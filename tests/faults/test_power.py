"""The power goes after any call of an operation: what was acknowledged is on the disk, and nothing
half of it is seen.
"""

from __future__ import annotations

import pytest
from harness import disk, tracer, vault
from harness.scene import REMOVES, WHOLE, blobs, healed, prepare, sampled, untorn, visible

USUAL = ("learn", "upkeep", "forget", "restore", "capture")
MORE = (
    "forget --hard",
    "undo",
    "import dir",
    "handoff",
    "feedback",
    "redact",
    "rule suggest",
    "config set",
)


@pytest.mark.parametrize("operation", USUAL + MORE if WHOLE else USUAL)
def test_a_power_cut_takes_nothing_that_was_acknowledged(scene, operation, capsys):
    """Every prefix of the calls, with what was not synced gone, half gone and kept."""
    prepare(scene, operation)
    scene.reset()
    before, files, marks = visible(scene), vault.snapshot(scene.top), scene.marks()
    kept = marks - {REMOVES.get(operation, "")}
    whole = tracer.run(lambda: scene.act(operation), scene.top)
    assert whole.status == 0 and whole.value[0] == 0, whole.value
    after, written, points = scene.bodies(), blobs(whole.steps), 0
    # Not every body: a ledger's last lines and what is derived may be younger than the disk.
    for point in sampled(len(whole.steps), 4):
        for cut in disk.CUTS:
            played = disk.Disk(files)
            played.play(whole.steps[:point])
            disk.write(scene.top, played.after(cut))
            points += 1
            case = (operation, point, cut)
            assert scene.marks() >= kept, case
            untorn(scene, before, written, case)
            if point == len(whole.steps):
                assert scene.bodies() >= after, case
            if cut == disk.CUTS[point % 2] and (WHOLE or point == len(whole.steps)):
                healed(scene, operation, marks)
    assert points >= 3 * min(4, len(whole.steps)) > 0
    with capsys.disabled():
        if WHOLE:
            print("\npower cut in %s: %d states of the disk" % (operation, points))
