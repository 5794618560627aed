"""The pause after a model failed to write a note: ten minutes, doubled with each failure, a day at
most.

Schema, version 1, of `<home>/log/notes.json`: {"v":1,"failures":2,"until":<seconds since the
epoch>, "why":"timeout","since":<when notes were switched on>}; why: a word for the failure, no user
text.
"""

from __future__ import annotations

from typing import NamedTuple

from memory.core import clock, fastjson, files

FIRST = 600.0  # seconds


class Pause(NamedTuple):
    """The pause after failed calls.

    Its fields are those of the schema; failures: in a row.
    """

    failures: int = 0
    until: float = 0.0
    why: str = ""
    since: float = 0.0


def read(home: str) -> Pause:
    """Read the pause of a home, an empty one if unreadable."""
    try:
        row = fastjson.parse(files.read(_path(home), 4096))
        if not isinstance(row, dict) or row.get("v") != 1:
            return Pause()
        return Pause(
            int(row["failures"]), float(row["until"]), str(row["why"])[:40], float(row["since"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return Pause()


def record_start(home: str, now: float) -> None:
    """Record when notes were switched on, and clear failures; raises OSError."""
    _write(home, Pause(since=now))


def record_failure(home: str, now: float, why: str) -> Pause:
    """Record a failure and return the next pause; raises OSError."""
    before = read(home)
    until = now + min(FIRST * 2**before.failures, clock.DAY)
    after = Pause(min(before.failures + 1, 20), until, why[:40], before.since)
    _write(home, after)
    return after


def record_success(home: str) -> None:
    """Record a success, which ends the pause; raises OSError."""
    before = read(home)
    if before.failures:
        _write(home, Pause(since=before.since))


def _write(home: str, pause: Pause) -> None:
    row = {
        "v": 1,
        "failures": pause.failures,
        "until": int(pause.until),
        "why": pause.why,
        "since": int(pause.since),
    }
    files.replace(_path(home), (fastjson.dump(row) + "\n").encode("ascii", "replace"))


def _path(home: str) -> str:
    return home + "/log/notes.json"
