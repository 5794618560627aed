"""Records that fit no single prompt: parts, the digest of what they gave, caps, failures, the
cache.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.command import gone
from harness.hook import ROOT
from harness.models import READER, SAY, records

from memory.core import tokeniser
from memory.distill import extract, parts, spend
from memory.distill.digests import Source, count_sources

QUESTION = "why did the queue workers stop?"


def ask(world, sources=None, **over):
    return world.distill(QUESTION, sources or records(200), **over)


def test_two_hundred_checkpoints_are_read_in_parts_and_put_together(world):
    """Every record is sent once and whole, the last prompt holds bullets alone, all of it within
    the caps.
    """
    world.stub("claude", READER + SAY)
    told = []
    digest = ask(world, progress=told.append)
    *asked, last = world.calls()
    assert (digest.provider, digest.calls, len(asked), digest.partial) == ("claude", 6, 5, False)
    sent = [
        json.loads(line)
        for prompt in asked
        for line in prompt.split("\n")
        if line.startswith('{"id"')
    ]
    assert sorted(row["id"] for row in sent) == sorted(s.id for s in records(200))
    assert {row["text"] for row in sent} == {s.body for s in records(200)}
    assert all(
        sum(
            len(row["text"])
            for row in map(json.loads, (x for x in prompt.split("\n") if x.startswith('{"id"')))
        )
        <= 120_000
        for prompt in asked
    )
    assert last.count("```json") == 5 and '"bullets"' in last and "It went on" not in last
    assert all(
        prompt.count(json.dumps(QUESTION)) == 2 and prompt.startswith("dayleaf-distill-prompt")
        for prompt in world.calls()
    )
    assert len(digest.bullets) == 5
    assert digest.tokens_in == count_sources(records(200))
    assert digest.notes == ("claude read 200 records in 5 parts",)
    assert sorted(told[:5]) == ["asking claude: part %d of 5" % i for i in range(1, 6)]
    assert told[5] == "asking claude: putting 5 parts together"
    assert [line["ok"] for line in world.ledger()] == [True] * 6


def test_a_part_answers_to_its_own_records_and_the_whole_to_all(world):
    """An id or a path of another part is cut from a part; the last answer may cite any record, and
    invent nothing.
    """
    world.stub(
        "claude",
        READER
        + """
if number == 1:
    out.append("- Worker c000 stopped in queue/worker_c000.py [c000]")
if number == 2:
    out.append("- It was all in queue/ghost.py [%s]" % rows[0]["id"])
if not number:
    out = ["- Worker c000 stopped in queue/worker_c000.py [c000]", "- Worker c199 stopped in \
queue/worker_c199.py [c199]",
           "- Worker c100 stopped in queue/ghost.py [c100]"]
"""
        + SAY,
    )
    digest = ask(world)
    last = world.calls()[-1]
    assert "worker_c199.py" in last and "worker_c000.py" not in last and "ghost" not in last
    assert [bullet.ids for bullet in digest.bullets] == [("c000",), ("c199",)]
    assert [cut.what for cut in digest.checked.cut] == ["queue/ghost.py"]


def test_a_record_longer_than_a_part_is_split_at_line_ends():
    """Nothing of it is lost, and no line is torn that fits a part."""
    body = "".join("line %d of the log\n" % i for i in range(40_000))
    long = Source("big", "checkpoint", "Log", 5.0, body, "p", "a" * 64)
    chunks, left = parts.chunked([long, *records(2)])
    pieces = [piece for chunk in chunks for piece in chunk if piece.id == "big"]
    assert left == 0
    assert "".join(piece.body for piece in pieces) == body
    assert all(piece.body.endswith("\n") and len(piece.body) <= 120_000 for piece in pieces)
    torn, _ = parts.chunked([Source("one", "checkpoint", "", 5.0, "x" * 300_000, "p")])
    assert [len(piece.body) for chunk in torn for piece in chunk] == [120_000, 120_000, 60_000]


def test_beyond_eight_parts_the_records_of_the_lowest_rank_are_left_out(world):
    """The note says how many; each of those that are read is read whole."""
    world.stub("claude", READER + SAY)
    digest = ask(world, records(400))
    assert digest.calls == 9
    assert digest.notes[0] == "claude read 320 records in 8 parts"
    assert digest.notes[1] == (
        "80 low-ranked records were left out, in whole or in part: they do not fit into 8 parts"
    )
    sent = "".join(world.calls())
    assert '"id": "c319"' in sent and '"id": "c320"' not in sent


@pytest.mark.parametrize(
    ("key", "most", "said"),
    [
        (
            "distill.dailyCalls",
            5,
            "6 calls are needed, and the day's cap of 5 leaves 5 (distill.dailyCalls)",
        ),
        ("", 100_000, "the day's cap of 100000 tokens leaves 100000"),
    ],
)
def test_a_plan_that_the_day_s_cap_does_not_hold_is_refused_as_a_whole(
    world, key, most, said, monkeypatch
):
    """No call is made that could not be finished; the extract answers."""
    world.stub("claude", READER + SAY)
    if key:
        world.values[key] = most
    else:
        monkeypatch.setattr(spend, "MOST_TOKENS", most)
    digest = ask(world)
    assert (digest.provider, digest.calls, world.calls()) == ("extract", 0, [])
    assert digest.notes[0] == "claude skipped: " + said


def test_a_plan_that_the_minute_does_not_hold_is_refused_as_a_whole(world):
    """Seven calls were made just now: five are left, six are needed."""
    world.stub("claude", READER + SAY)
    for _ in range(7):
        with spend.slot(world.home, {"distill.dailyCalls": 50}, world.now) as declined:
            assert not declined
    digest = ask(world)
    assert digest.notes[0] == "claude skipped: 6 calls are needed, and 5 of 12 in a minute are left"
    assert world.calls() == []


def test_a_part_that_fails_is_answered_by_the_extract_and_asked_no_second_time(world):
    """The note names the part and its records, the last prompt holds quotes of them, and the digest
    is not kept.
    """
    world.stub("claude", READER + "sys.exit(1) if number == 3 else None" + SAY)
    digest = ask(world)
    assert (digest.provider, digest.partial, digest.calls) == ("claude", True, 6)
    assert (
        digest.notes[1]
        == "claude: part 3 of 5 failed (exit 1): the extract answered for its 40 records"
    )
    chunk = parts.chunked(records(200))[0][2]
    quoted = extract.extract(QUESTION, chunk, 700).bullets[0]
    assert json.dumps(quoted.text, ensure_ascii=False) in world.calls()[-1]
    world.stub("claude", READER + SAY)
    again = ask(world)
    assert (again.calls, again.partial, again.cached) == (2, False, False)
    assert "part 3 of 5" in world.calls()[-2]
    assert ask(world).cached


def test_a_failed_last_call_costs_the_next_question_one_call(world):
    """What the parts gave is kept, whatever comes after."""
    world.stub("claude", READER + "sys.exit(1) if not number else None" + SAY)
    assert ask(world).provider == "extract"
    world.stub("claude", READER + SAY)
    assert (ask(world).calls, ask(world).cached) == (1, True)
    assert ask(world, use_cache=False, now=world.now + 61).calls == 6


def test_an_edited_record_costs_its_part_and_the_last_call(world):
    """Chunks are cut in order of time, so that the others stay what they were."""
    world.stub("claude", READER + SAY)
    ask(world)
    edited = records(200)
    edited[150] = Source(
        "c150",
        "checkpoint",
        "Day 150",
        edited[150].created,
        edited[150].body.upper(),
        "p",
        "e" * 64,
    )
    assert ask(world, edited).calls == 2


def test_a_provider_whose_first_parts_all_fail_is_asked_no_further(world):
    """Two failures are enough: the chain goes on, and the rest, but for one that runs already, is
    not paid for.
    """
    world.stub("claude", "sys.exit(1)")
    world.stub("gemini", READER + "print(json.dumps(dict(response='\\n'.join(out), stats={})))")
    digest = ask(world)
    assert digest.provider == "gemini"
    assert digest.notes[0] == "claude failed: exit 1"
    names = [line["provider"] for line in world.ledger()]
    assert names.count("claude") in (2, 3)
    assert names[-6:] == ["gemini"] * 6


def test_parts_that_have_nothing_to_say_say_so(world):
    """A part that answers NONE is no failure; where all do, the records do not tell."""
    world.stub("claude", READER + "out = ['NONE'] if number in (1, 2) else out" + SAY)
    digest = ask(world)
    assert digest.notes[1:] == (
        "claude: part 1 of 5 found nothing in its 40 records",
        "claude: part 2 of 5 found nothing in its 40 records",
    )
    assert world.calls()[-1].count("```json") == 3
    world.stub("claude", READER + "out = ['NONE']" + SAY)
    other = world.distill("and why not?", records(100))
    assert (other.provider, other.bullets, len(other.nearest)) == ("claude", (), 3)


def test_parts_are_asked_about_two_at_a_time(world):
    """Never more at once, and no slower than that."""
    world.stub(
        "claude",
        READER + "import time\nstart = time.time()\ntime.sleep(0.4)\nopen(%r, 'a').write("
        "'%%f %%f\\n' %% (start, time.time()))" % str(world.tmp / "spans") + SAY,
    )
    ask(world)
    spans = [
        tuple(map(float, line.split()))
        for line in Path(world.tmp, "spans").read_text().splitlines()
    ]
    live = [sum(start <= at < end for start, end in spans) for at, _ in spans]
    assert max(live) == 2


def test_the_digest_of_parts_keeps_its_budget(world):
    """Whatever the parts gave."""
    world.stub("claude", READER + SAY)
    digest = ask(world, max_tokens=60)
    assert digest.tokens_out <= 60
    assert digest.tokens_out == tokeniser.count_tokens(
        "\n".join("- " + b.text for b in digest.bullets)
    )


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a runner in the background ignores it
sys.path[:0] = [%r, %r]
from memory.core import config; from memory.distill import providerchain as distill
from harness.models import records
env = {"PATH": %r, "HOME": %r}
distill.distill('why did the queue workers stop?', records(200), \
config.Config({**config.DEFAULTS}, {}, []), env, %r, %r, %r)
"""


def test_an_interrupt_ends_the_calls_that_run(world):
    """No child goes on where nobody waits for its answer."""
    world.stub(
        "claude",
        "import time\nopen(%r, 'a').write('%%d\\n' %% os.getpid())\ntime.sleep(60)"
        % str(world.tmp / "pids"),
    )
    code = INTERRUPTED % (
        str(ROOT),
        str(ROOT / "tests"),
        world.env["PATH"],
        str(world.tmp),
        world.home,
        world.cache,
        world.now,
    )
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    pids = world.tmp / "pids"
    for _ in range(300):
        if pids.exists() and len(pids.read_text().splitlines()) == 2:
            break
        time.sleep(0.05)
    start = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert time.monotonic() - start < 8
    assert b"KeyboardInterrupt" in err
    assert len(pids.read_text().splitlines()) == 2
    assert all(gone(int(pid)) for pid in pids.read_text().split())
