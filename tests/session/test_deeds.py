"""Which sentences report work, and which order it."""

from __future__ import annotations

import pytest

from memory.session import deeds


@pytest.mark.parametrize("line", ["Added a limit for retries.", "Rewrote the pool.", "Sped up the start."])
def test_a_sentence_that_begins_with_a_deed_reports_it(line):
    assert deeds.REPORTS.match(line)


@pytest.mark.parametrize("line", ["Add a limit for retries.", "Adding is slow.", "The pool is slow."])
def test_an_order_and_a_description_report_nothing(line):
    assert not deeds.REPORTS.match(line)
