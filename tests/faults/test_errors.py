"""The disk refuses, is full, writes half or is read only; the clock jumps: one line, no trace,
nothing lost.
"""

from __future__ import annotations

import pytest
from harness import tracer
from harness.scene import (
    OPERATIONS,
    REMOVES,
    WHOLE,
    blobs,
    healed,
    nothing_but_words,
    prepare,
    untorn,
    visible,
)

from memory.core import clock

WRITE = ("write", "pwrite64")
SYNC = ("fsync", "fdatasync")
MOVE = ("rename", "link", "unlink", "renameat2", "linkat", "unlinkat")
# What is refused, which calls count, whether it stays so.
FAULTS = (
    ("ENOSPC", WRITE, True),
    ("ENOSPC", WRITE, False),
    ("ENOSPC", (), True),
    ("EIO", WRITE, False),
    ("EIO", SYNC, False),
    ("EIO", SYNC, True),
    ("EACCES", (), False),
    ("EACCES", ("opens",), False),
    ("EACCES", MOVE, True),
    ("EROFS", (), True),
    ("EMFILE", ("opens",), False),
    ("EMFILE", ("opens",), True),
    ("ENFILE", ("opens",), False),
    ("EIO", ("opens",), False),
    ("EPERM", ("link",), True),
    ("EXDEV", ("rename", "link"), False),
    ("EDQUOT", WRITE, False),
    ("short", WRITE, False),
    ("short", WRITE, True),
)
HARMLESS = ("EPERM",)  # no hard links here: done without
USUAL = (
    "learn",
    "capture",
    "forget",
    "restore",
    "upkeep",
    "index build",
    "ledger note",
    "import dir",
)


@pytest.mark.parametrize("operation", OPERATIONS if WHOLE else USUAL)
def test_a_refused_call_costs_nothing(scene, operation, capsys):
    """Status 0 to 2 with one line, whatever call is refused; what was there is there, and the same
    command does it later.
    """
    prepare(scene, operation)
    before, marks = visible(scene), scene.marks()
    whole = tracer.run(lambda: scene.act(operation), scene.top)
    written, met = blobs(whole.steps), 0
    for number, (what, names, again) in enumerate(FAULTS):
        for point in (1, 2, 4, 7) if WHOLE else [1 + number % 3]:
            scene.reset()
            done = tracer.run(
                lambda: scene.act(operation), scene.top, tracer.Fault(what, point, names, again)
            )
            if not done.hits:
                break
            met += 1
            case = (operation, what, names, again, point)
            assert done.status == 0, (case, done)
            nothing_but_words(done.value, case)
            assert what not in HARMLESS or done.value[0] == 0, (case, done.value)
            assert scene.marks() >= marks - {REMOVES.get(operation, "")}, case
            untorn(scene, before, written, case)
            if number % 8 == 0 or WHOLE and point == 1:
                healed(scene, operation, marks)
    assert met >= 8, met
    with capsys.disabled():
        if WHOLE:
            print("\nrefused %s: %d times" % (operation, met))


@pytest.mark.parametrize("days", (-20_000, -400, -1, 1, 400, 20_000))
def test_a_clock_that_jumps_loses_nothing(scene, monkeypatch, days):
    """Written under a wrong clock and read under the right one, or the other way about: found,
    whole, under ids of their own.
    """
    marks, jumped = scene.marks(), scene.now + days * clock.DAY
    for at, text in (
        (jumped, "MARK-jumped under the wrong clock"),
        (scene.now, "MARK-back under the right clock"),
    ):
        monkeypatch.setattr(clock, "now", lambda at=at: at)
        for words in (
            ("learn", text),
            ("handoff", "The retries are open."),
            ("upkeep", "--apply"),
            ("index", "refresh"),
            ("recall", "clock"),
        ):
            done = scene.call(*words)
            nothing_but_words((done.returncode, done.stdout, done.stderr), (days, words))
    said = "\n".join(scene.bodies())
    assert "MARK-jumped" in said and "MARK-back" in said and scene.marks() >= marks
    healed(scene, "learn", marks)
