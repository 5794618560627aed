"""A standup in lines: by session and day, in local time, on few columns and few lines."""

from __future__ import annotations

import pytest
from harness.standup import captured, teller

from memory.core import plaintext


@pytest.fixture
def tell(place, now):
    """Gather a standup of the fixed instant in UTC; returns what `lines` writes at 80 columns."""
    return teller(place, now)


def test_a_session_is_one_entry_for_each_day(place, tell):
    """What was done adds up; what is open, fails and comes next is what the newest says; the newest day comes first."""
    keys = {"session": "s-1"}
    captured(place, "a", "## Done\n\n- commit aaaaaaa: One\n\n## Decisions\n\n- Jitter.\n\n## Open\n\n- old worry", "2026-11-20T09:00:00Z", **keys)
    captured(place, "b", "## Done\n\n- commit bbbbbbb: Two\n\n## Open\n\n- new worry", "2026-11-20T10:00:00Z", **keys)
    captured(place, "c", "## Done\n\n- commit ccccccc: Three\n", "2026-11-21T10:00:00Z", **keys)
    captured(place, "d", "Called the vendor.", "2026-11-21T11:00:00Z")
    captured(place, "e", "Mailed the vendor.", "2026-11-21T12:00:00Z")
    assert tell().split("\n")[0] == "1 session and 2 notes in 1 workspace since 2026-11-20 00:00"
    assert tell().split("\n")[4:] == [
        "2026-11-21  Work on e  e", "  said     Mailed the vendor.", "",
        "2026-11-21  Work on d  d", "  said     Called the vendor.", "",
        "2026-11-21  Work on c  c", "  commits  ccccccc: Three", "",
        "2026-11-20  Work on b  b (+1)", "  commits  aaaaaaa: One", "           bbbbbbb: Two", "  decided  Jitter.",
        "  open     new worry"]


def test_the_days_and_the_first_line_are_local(place, tell):
    """At nine hours ahead of UTC."""
    captured(place, "a", "Late work.", "2026-11-20T20:00:00Z", session="s-1")
    said = tell(offset=9 * 3600.0)
    assert "since 2026-11-20 09:00" in said and "2026-11-21  Work on a" in said


def test_it_is_readable_on_eighty_columns_and_twelve_lines_a_session(place, tell):
    """Whatever a checkpoint holds: no escapes, no wide line, no flood; what is left out is counted."""
    lines = "\n".join("- \x1b[31m버튼을 누르면 %d 저장된다\u202e " % i + "word " * 40 for i in range(30))
    sections = ("Request", "Done", "Decisions", "Commands", "Fixed", "Open", "Next")
    body = "\n\n".join("## %s\n\n%s" % (name, lines) for name in sections).replace("- \x1b", "- commit \x1b")
    body = body.replace("## Commands\n\n- ", "## Commands\n\n- ✗ zebra ")
    captured(place, "a", body, "2026-11-21T09:00:00Z", session="s-1", title="버튼 " * 60,
             files="[%s]" % ", ".join("src/%d.py" % i for i in range(60)))
    for columns in (40, 80):
        said = tell(columns=columns).split("\n")
        assert max(map(plaintext.width, said[1:])) <= columns and len(said) == 4 + 12
        assert "\x1b" not in "".join(said) and "\u202e" not in "".join(said) and "(+27)" in "".join(said)
