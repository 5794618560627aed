"""Every expression of the package takes twice as long for twice the text, whatever the text is."""

from __future__ import annotations

import re
import signal
import time

import pytest
from harness import expressions
from harness.expressions import Expression

# seconds below which nothing is judged; characters of a text
GROWTH, FLOOR, SHORT, LONG = 2.3, 0.04, 2_000, 6_000
ENDLESS = 1.0  # seconds after which one is given up
EVERY = expressions.every()
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
    most.
    """

    def late(number, frame):
        raise Endless

    pattern = re.compile(one.pattern, one.flags)
    given = text.encode("utf-8", "replace") if isinstance(one.pattern, bytes) else text
    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS)
    start = time.process_time()
    try:
        if one.anchored:
            pattern.match(given)
        else:
            for _ in pattern.finditer(given):
                pass
    except Endless:
        return ENDLESS
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - start


def grows(one: Expression, lead: str, part: str, tail: str) -> str:
    """Say how the time of an expression grows with a text; "" where it keeps step."""

    def least(length: int, tries: int) -> float:
        return min(spent(one, lead + part * (length // len(part)) + tail) for _ in range(tries))

    if spent(one, lead + part * (300 // len(part)) + tail) > FLOOR and least(300, 2) > FLOOR:
        return "takes %.2f s for 300 characters of %r" % (least(300, 1), part)
    if spent(one, lead + part * (SHORT // len(part)) + tail) < FLOOR / 12:
        return ""
    first = least(LONG, 1)
    second = least(2 * LONG, 1)
    if second < FLOOR or second / max(first, 1e-4) <= GROWTH:
        return ""
    for _ in range(3):  # what a busy machine does to one measurement it seldom does to three
        first, second = least(LONG, 3), least(2 * LONG, 3)
        if second < FLOOR or second / max(first, 1e-4) <= GROWTH:
            return ""
    return "grows by %.1f (%.3f s) with %r + %r * n + %r" % (
        second / first,
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


@pytest.mark.parametrize("name", sorted({one.where.partition(":")[0] for one in EVERY} - APART))
def test_an_expression_keeps_step_with_its_text(name):
    """Texts of one letter, of blanks, brackets, quotes, and of what each of its own repeats
    takes.
    """
    assert slow([one for one in EVERY if one.where.partition(":")[0] == name]) == []


@pytest.mark.parametrize("name", sorted(APART))
@pytest.mark.xfail(strict=False, reason="they only meet pieces of bounded length")
def test_an_expression_for_secrets_keeps_step_with_its_text(name):
    assert slow([one for one in EVERY if one.where.partition(":")[0] == name]) == []


@pytest.mark.parametrize(
    "pattern", [r"\s*x", r"[\w/]*/x", r"<a>.*?</a>", r"(?:a+)+b", r"x.*y", r"'(?:\\.|[^'])*'"]
)
def test_an_expression_that_grows_is_found(pattern):
    """What the generated texts are for."""
    assert slow([Expression("here", pattern, 0, frozenset(["finditer"]))])


def test_every_expression_is_looked_at():
    """Those of tables, those that are compiled late, and those that stand in functions."""
    found = {one.where.partition(":")[0] for one in EVERY}
    assert len(EVERY) > 500 and len(found) > 70
    held = {one.pattern for one in EVERY}
    from memory.capture import fixes
    from memory.distill import technical
    from memory.session import entries

    assert {entries._FENCES.pattern, technical._TECHNICAL.pattern, fixes._ENDING.pattern} <= held
