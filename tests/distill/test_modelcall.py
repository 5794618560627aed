"""Records that fit no single prompt, and what one call leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

from harness.command import gone
from harness.hook import ROOT
from harness.models import READER, SAY, records

from memory.core import tokeniser
from memory.distill import modelcall, prompts, spend
from memory.distill.digests import Source, count_source_tokens

QUESTION = "why did the queue workers stop?"


def test_of_more_records_than_fit_the_best_are_read(world):
    """One call; the note says how many, and the account counts all."""
    world.stub("claude", READER + SAY)
    told = []
    digest = world.distill(QUESTION, records(200), progress=told.append)
    (prompt,) = world.calls()
    sent = [json.loads(line) for line in prompt.split("\n") if line.startswith('{"id"')]
    assert [row["id"] for row in sent] == [s.id for s in records(200)[: len(sent)]]
    assert sum(len(row["text"]) for row in sent) == prompts.PROMPT_CHARS
    assert (digest.provider, digest.calls, len(digest.bullets)) == ("claude", 1, 3)
    assert digest.notes == (
        "claude read the best %d of 200 records: no more fit into a prompt" % len(sent),
    )
    assert digest.tokens_in == count_source_tokens(records(200)) and told == ["asking claude"]
    assert [line["ok"] for line in world.ledger()] == [True]


def test_a_record_longer_than_a_prompt_is_cut():
    """Its beginning is read, and nothing of the others."""
    long = Source("big", "checkpoint", "Log", 5.0, "x" * 300_000, "p", "a" * 64)
    assert [len(one.body) for one in modelcall.fit_sources([long, *records(2)])] == [120_000]
    assert modelcall.fit_sources(records(3)) == records(3)


def test_what_was_left_out_proves_nothing(world):
    """A bullet on a record that the model was not given is cut."""
    world.stub(
        "claude",
        READER + "out.append('- Worker c199 stopped in queue/worker_c199.py [c199]')" + SAY,
    )
    digest = world.distill(QUESTION, records(200))
    assert [bullet.ids for bullet in digest.bullets] == [("c000",), ("c001",), ("c002",)]
    assert [cut.why for cut in digest.checked.cut] == ["no id"]


def test_a_call_that_the_day_s_tokens_do_not_hold_is_not_made(world, monkeypatch):
    """The extract answers."""
    world.stub("claude", READER + SAY)
    monkeypatch.setattr(spend, "MOST_TOKENS", 10_000)
    digest = world.distill(QUESTION, records(200))
    assert (digest.provider, digest.calls, world.calls()) == ("extract", 0, [])
    assert digest.notes[0] == "claude skipped: the day's cap of 10000 tokens leaves 10000"


def test_the_digest_keeps_its_budget(world):
    """Whatever the model gave."""
    world.stub("claude", READER + SAY)
    digest = world.distill(QUESTION, records(200), max_tokens=60)
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


def test_an_interrupt_ends_the_call_that_runs(world):
    """No child goes on where nobody waits for its answer."""
    pid = world.tmp / "pid"
    world.stub(
        "claude", "import time\nopen(%r, 'w').write(str(os.getpid()))\ntime.sleep(60)" % str(pid)
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
    for _ in range(300):
        if pid.exists() and pid.read_text():
            break
        time.sleep(0.05)
    start = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert time.monotonic() - start < 8
    assert b"KeyboardInterrupt" in err
    assert gone(int(pid.read_text()))
