"""The log of captures: what began and never ended."""

from __future__ import annotations

import json
from pathlib import Path

from memory.core import attempts, files
from memory.hook import signs


def log(place):
    """Return the lines of the log of attempts."""
    return [json.loads(line) for line in Path(attempts.log_path(place)).read_text().splitlines()]


def test_a_capture_that_is_still_running_is_not_lost(place, now):
    """Its process lives; after an hour its number is another's."""
    attempts.log_start(place, "s", "stop", now)
    assert (
        attempts.list_unfinished(place, now + 60) == []
        and len(attempts.list_unfinished(place, now + 7200)) == 1
    )
    event = {}
    assert signs.interrupted_captures_notice(place, event, now + 60) == [] and event == {}


def test_the_log_of_captures_stays_small(place, now, monkeypatch):
    """Runs that ended long ago go; one that never ended stays, as a whole."""
    monkeypatch.setattr(attempts, "CUT_BYTES", 2000)
    monkeypatch.setattr(attempts, "KEPT_LINES", 10)
    monkeypatch.setattr(files.posix, "getpid", lambda: 99999999)
    attempts.log_start(place, "cut", "stop", now)
    for i in range(40):
        attempts.log_end(
            place, attempts.log_start(place, "s", "stop", now + 1 + i), "stop", "", now, now
        )
    attempts.mark_reported(place, [], now)
    assert len(log(place)) == 11 and [
        row["session"] for row in attempts.list_unfinished(place, now)
    ] == ["cut"]
    data = Path(attempts.log_path(place)).read_bytes()
    assert data.count(b'"asked"') == data.count(b'"done"') + 1


def test_names_of_records_leave_a_log_of_an_older_version(place, now):
    """A name holds the title; the next start takes it out."""
    run = attempts.log_start(place, "s", "stop", now)
    files.append_line(
        attempts.log_path(place),
        '{"v":1,"t":"x","do":"done","run":"%s","ms":1,"name":"p/checkpoints/d/kestrel.md"}' % run,
    )
    attempts.mark_reported(place, [], now)
    assert "kestrel" not in Path(attempts.log_path(place)).read_text()
    assert [row["do"] for row in log(place)] == ["asked", "done"]


def test_what_is_no_line_of_the_log_harms_no_start(place, now):
    """Torn lines and other shapes."""
    path = Path(attempts.log_path(place))
    path.parent.mkdir(parents=True)
    path.write_text(
        '{"do":"asked"}\n{"v":1,"do":"asked","run":5,"t":[]}\n[]\n'
        '{"v":1,"do":"asked","run":"x","t":[]}\n"do":"asked" torn'
    )
    event = {}
    assert len(signs.interrupted_captures_notice(place, event, now)) == 1 and event == {
        signs.UNWRITTEN: ["x"]
    }
