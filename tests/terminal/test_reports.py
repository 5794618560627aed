"""Reports: what engines found, a line each."""

from __future__ import annotations

from memory.health import FAIL, OK, Finding
from memory.terminal import reports, screen


def test_verdicts_are_one_a_line_and_summed_up():
    """The lines align, and the last one counts."""
    said = reports.verdict_lines(
        [Finding(OK, "home", "x"), Finding(FAIL, "index", "damaged", "build it")], screen.Style()
    )
    assert said == [
        "OK    home      x",
        "FAIL  index     damaged; build it",
        "",
        "1 OK, 0 WARN, 1 FAIL",
    ]
