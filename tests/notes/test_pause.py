"""The pause after a failure: it doubles, ends at a day, and forgets."""

from __future__ import annotations

from pathlib import Path

from memory.core import clock
from memory.notes import pause


def test_it_doubles_up_to_a_day_and_a_success_ends_it(home, now):
    pause.record_start(home, now)
    waits = [pause.record_failure(home, now, "timeout").until - now for _ in range(12)]
    assert waits[:3] == [600, 1200, 2400] and waits[-1] == clock.DAY
    pause.record_success(home)
    assert pause.read(home) == pause.Pause(since=int(now))


def test_a_damaged_file_is_no_pause(home):
    Path(home, "log").mkdir(parents=True)
    for text in ("", "[]", "{", '{"v":1}', '{"v":1,"failures":"x","until":1,"why":"","since":0}'):
        Path(home, "log", "notes.json").write_text(text)
        assert pause.read(home) == pause.Pause()
