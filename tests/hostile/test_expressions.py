"""Every expression of the package takes twice as long for twice the text, whatever the text is."""

from __future__ import annotations

import functools
import gc
import re
import signal
import time

import pytest
from harness import expressions
from harness.expressions import Expression

GROWTH, SHORT, LONG = 2.3, 2_000, 6_000  # characters of a text
# Below FLOOR nothing is judged: times what `x.*y` takes for SHORT letters, 2 ms where this was set
FLOOR = 25
PLAIN = 3.2  # growth that is measured twice at the most
ENDLESS = 0.8  # seconds after which one is given up
ROOMS = sorted({name.split(".")[1] for name in expressions.modules() if "." in name})
# What takes secrets out gives these pieces of at most 4,096 characters;
# tests/store/test_secretshapes.py doubles whole texts.
APART = {
    name
    for name in expressions.modules()
    if name
    in (
        "memory.store.bylabel",
        "memory.store.byname",
        "memory.store.byshape",
        "memory.store.bytoken",
        "memory.store.redactor",
        "memory.store.secretshapes",
    )
}


class Endless(Exception):
    """An expression takes more than ENDLESS seconds."""


def spent(one: Expression, text: str) -> float:
    """Return the seconds of CPU that an expression takes to go through a text, ENDLESS at the
    most: of this thread alone, without the collector's, which take longer than many a text.
    """

    def late(number, frame):
        if time.thread_time() - start > ENDLESS:
            raise Endless

    pattern = re.compile(one.pattern, one.flags)
    given = text.encode("utf-8", "replace") if isinstance(one.pattern, bytes) else text
    before = signal.signal(signal.SIGALRM, late)
    gc.disable()
    start = time.thread_time()
    signal.setitimer(signal.ITIMER_REAL, ENDLESS, ENDLESS / 10)  # a timer of CPU coarsens its clock
    try:
        if one.anchored:
            pattern.match(given)
        else:
            for _ in pattern.finditer(given):
                pass
    except Endless:
        return ENDLESS
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        taken = time.thread_time() - start
        gc.enable()
    return taken


@functools.lru_cache
def floor() -> float:
    """Return the seconds of CPU below which nothing is judged, on a machine of this speed."""
    known = Expression("here", "x.*y", 0, frozenset(["finditer"]))
    return FLOOR * min(spent(known, "x" * SHORT) for _ in range(7))


def grows(one: Expression, lead: str, part: str, tail: str) -> str:
    """Say how the time of an expression grows with a text; "" where it keeps step."""

    def least(length: int, tries: int) -> float:
        return min(spent(one, lead + part * (length // len(part)) + tail) for _ in range(tries))

    few = least(300, 1)
    if few >= ENDLESS or few > floor() / 2 and least(300, 2) > floor() / 2:
        return "takes %.2f s for 300 characters of %r" % (few, part)
    short = least(SHORT, 1)
    if short < floor() / 30:
        return ""
    short = max(min(short, least(SHORT, 2)), 1e-3)
    length = min(LONG, int(SHORT * max(1, floor() / short) ** 0.5))
    for tries in (1, 2, 3, 3, 5):  # a busy machine spoils one measurement, seldom four
        if tries >= 3:
            length = int(1.5 * length)  # the share of what is bounded in an expression falls
        first, second = least(length, tries), least(2 * length, tries)
        if second < floor() or second < ENDLESS and second / max(first, 1e-4) <= GROWTH:
            return ""
        if tries > 1 and second / max(first, 1e-4) > PLAIN:
            break
    return "grows by %.1f (%.3f s) with %r + %r * n + %r" % (
        second / max(first, 1e-4),
        second,
        lead,
        part,
        tail,
    )


def slow(every: list[Expression]) -> list[str]:
    """Return what is to be said of the expressions that grow."""
    found = []
    for one in every:
        told = next(
            filter(
                None,
                (
                    grows(one, lead, part, tail)
                    for lead, part in expressions.pumps(one)
                    for tail in ("\0", "")
                ),
            ),
            "",
        )
        found += ["%s %s" % (one.where, told)] * bool(told)
    return found


@pytest.fixture(scope="module")
def every() -> list[Expression]:
    """Every expression of the package."""
    return expressions.every()


@pytest.mark.parametrize("room", ROOMS)
def test_an_expression_keeps_step_with_its_text(every, room):
    """Texts of one letter, of blanks, brackets, quotes, and of what each of its own repeats
    takes.
    """
    modules = {one: one.where.partition(":")[0] for one in every}
    judged = [one for one, name in modules.items() if name.split(".")[1] == room]
    assert slow([one for one in judged if modules[one] not in APART]) == []


@pytest.mark.parametrize(
    "pattern", [r"\s*x", r"[\w/]*/x", r"<a>.*?</a>", r"(?:a+)+b", r"x.*y", r"'(?:\\.|[^'])*'"]
)
def test_an_expression_that_grows_is_found(pattern):
    """What the generated texts are for."""
    assert slow([Expression("here", pattern, 0, frozenset(["finditer"]))])


def test_every_expression_is_looked_at(every):
    """Those of tables, those that are compiled late, and those that stand in functions."""
    found = {one.where.partition(":")[0] for one in every}
    assert len(every) > 500 and len(found) > 70
    held = {one.pattern for one in every}
    from memory.distill import technical
    from memory.project import mentions
    from memory.session import entries

    assert {entries._FENCES.pattern, technical._TECHNICAL.pattern, mentions._SYMBOL.pattern} <= held
