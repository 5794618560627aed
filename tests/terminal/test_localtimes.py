"""Times for people: in their zone, and said; the files and JSON keep UTC."""

from __future__ import annotations

import json
import re
import time
from types import SimpleNamespace

import pytest
from harness import talks, vault
from harness.standup import captured

from memory.core import clock
from memory.recall.hit import Quote
from memory.terminal import localtimes, results

BODY = (
    "## 15:30 fix the zephyr parser\n\nDone.\n\n## 23:50 again\n\n## 2026-01-24 00:10 later\n\n"
    "```\n## 15:30 code\n```\n"
)


@pytest.fixture(params=["Asia/Seoul", "America/Los_Angeles", "UTC"])
def zone(request, monkeypatch):
    """The zone of whoever reads."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_an_instant_is_written_in_the_zone_of_its_reader(zone):
    """Summer and winter each by their own offset, and the zone is named."""
    winter, summer = clock.parse("2026-01-23T15:30:00Z"), clock.parse("2026-07-23T15:30:00Z")
    assert [clock.format_zoned(one) for one in (winter, summer)] == {
        "Asia/Seoul": ["2026-01-24 00:30 +09:00", "2026-07-24 00:30 +09:00"],
        "America/Los_Angeles": ["2026-01-23 07:30 -08:00", "2026-07-23 08:30 -07:00"],
        "UTC": ["2026-01-23 15:30 UTC", "2026-07-23 15:30 UTC"],
    }[zone]
    quote = Quote("c-1", 2, "2026-01-23T15:30", "x 15:30", "y")
    assert localtimes.format_heading(quote) == clock.format_local(winter) + ', asked "x 15:30"'
    assert localtimes.format_heading(quote._replace(turn=0)) == ""


def test_the_turns_of_a_conversation_are_shown_by_local_days(zone):
    """A heading names its day where that is another than above; code stays as it is."""
    shown = [
        line for line in localtimes.localize_body(_Talk, BODY).split("\n") if line.startswith("## ")
    ]
    assert (
        shown
        == {
            "Asia/Seoul": [
                "## 2026-01-24 00:30 fix the zephyr parser",
                "## 08:50 again",
                "## 09:10 later",
                "## 15:30 code",
            ],
            "America/Los_Angeles": [
                "## 07:30 fix the zephyr parser",
                "## 15:50 again",
                "## 16:10 later",
                "## 15:30 code",
            ],
            "UTC": [
                "## 15:30 fix the zephyr parser",
                "## 23:50 again",
                "## 2026-01-24 00:10 later",
                "## 15:30 code",
            ],
        }[zone]
    )


class _Talk:
    kind, source, created = "conversation", "auto", 1769182200.0  # 2026-01-23T15:30:00Z


def test_a_checkpoint_is_shown_and_found_with_local_times(process, place):
    """In its lines of turns alone; a hand-written record says what it says."""
    vault.put(
        place,
        "p/checkpoints/2026-01-23/153000-x.md",
        "Fix the zephyr parser",
        "## Done\n\n- 15:30 is no turn\n\n## Turns\n\n"
        "- 15:30 Fix the zephyr parser → done at 15:30",
        id="c-1",
        kind="checkpoint",
        source="auto",
        created="2026-01-23T15:30:00Z",
    )
    vault.put(place, "p/learnings/l.md", "Meeting", "## Turns\n\n- 15:30 zephyr meeting")
    shown = process("show", "c-1", TZ="Asia/Seoul").stdout
    assert (
        "- 00:30 Fix the zephyr parser → done at 15:30" in shown and "- 15:30 is no turn" in shown
    )
    assert (
        "2026-01-24 00:30 +09:00" in shown
        and "- 15:30 zephyr" in process("show", "Meeting", TZ="Asia/Seoul").stdout
    )
    told = json.loads(process("show", "c-1", "--json", TZ="Asia/Seoul").stdout)
    assert told["created"] == "2026-01-23T15:30:00Z" and "- 15:30 Fix" in told["body"]
    said = process("recall", "zephyr parser", TZ="Asia/Seoul").stdout
    assert not re.search(r"(?m)^ +-? ?15:30 Fix", said)


def test_a_turn_is_asked_for_by_the_time_that_is_shown(process, place):
    """Local first, and as the file has it where no turn was then."""
    talks.put(place, [BODY], id="t-1", created="2026-01-23T15:30:00Z")
    for said in ("00:30", "15:30", "1"):
        done = process("show", "t-1#" + said, TZ="Asia/Seoul")
        assert "turn 1 of 3  2026-01-24 00:30 +09:00" in done.stdout, done.stderr
        assert "## 00:30 fix the zephyr parser" in done.stdout


@pytest.mark.parametrize(
    ("day", "early"),
    [("2025-08-10", "2025-08-09T22:10:03Z"), ("2025-01-23", "2025-01-22T23:10:03Z")],
)
def test_a_past_day_is_told_by_the_offset_that_held_then(day, early, process, place):
    """In summer and in winter, whenever it is asked: the first hour is the day's own."""
    said = "## 22:10 file the zephyr parser\n\n- edited `calc.py`\n\nThe zephyr parser is filed.\n"
    talks.put(place, [said.replace("22:10", early[11:16])], id="t-1", created=early, until=early)
    body = "## Outcome\n\n- The zephyr parser is filed."
    captured(place, "a", body, early, id="c-1", source="auto", session=talks.SESSION)
    ask = ("recall", "what did we do on " + day, "--kind", "checkpoint")
    for words in (
        ("standup", "--since", day, "--until", day),
        ("recall", "--from", day, "--to", day, "--kind", "checkpoint"),
        ("recall", "--since", day, "--kind", "checkpoint"),
        ask,
    ):
        assert "zephyr" in process(*words, TZ="Europe/Berlin").stdout, words
    assert "%s 00:10  t-1" % day in process("show", "file", "calc.py", TZ="Europe/Berlin").stdout
    forgotten = process("record", "forget", "--day", day, "--yes", "--json", TZ="Europe/Berlin")
    assert "c-1" in json.loads(forgotten.stdout)["forgotten"], forgotten


def test_a_quoted_line_is_told_by_the_day_of_its_own_record(zone):
    """A handoff of the winter quotes a checkpoint of the summer."""
    summer = Quote("c-1", 0, "", "", "- 15:30 File it", clock.parse("2026-07-23T15:30Z"))
    winter = SimpleNamespace(kind="checkpoint", id="c-2", created=clock.parse("2026-11-21"))
    local = clock.format_local(summer.created)[11:]
    assert results.quote_lines(summer, 80, winter)[1].strip() == "- %s File it" % local
