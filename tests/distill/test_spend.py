"""The ledger of model calls and the caps on them."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory.core import config
from memory.distill import spend

ROOT = str(Path(__file__).resolve().parents[2])
HOLD = """
import sys, time
sys.path.insert(0, sys.argv[1])
from memory.core import config; from memory.distill import spend
settings = config.Config(dict(config.DEFAULTS), {}, [])
with spend.hold_slot(sys.argv[2], settings, float(sys.argv[3])) as declined:
    print(declined or "in", flush=True)
    time.sleep(60)
"""


def settings(**over) -> config.Config:
    return config.Config(
        {**config.DEFAULTS, **{"distill." + key: value for key, value in over.items()}}, {}, []
    )


@pytest.fixture
def base(tmp_path) -> str:
    return str(tmp_path / "dayleaf")


def hold(base: str, now: float) -> subprocess.Popen:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, ROOT, base, str(now)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.said = child.stdout.readline().strip()
    return child


def test_a_line_holds_what_the_call_cost_and_no_text(base, now):
    """One JSON line, private, with null for what the provider did not say."""
    spend.append_call(base, now, "claude", "haiku", 100, 20, 0.5)
    spend.append_call(base, now, "ollama", "", None, None, None, "timeout")
    lines = [json.loads(line) for line in Path(base, "spend.jsonl").read_text().splitlines()]
    assert lines[0] == {
        "v": 1,
        "t": "2026-11-21T14:30:52Z",
        "provider": "claude",
        "model": "haiku",
        "in": 100,
        "out": 20,
        "plan": 0,
        "cost": 0.5,
        "ok": True,
        "why": "",
    }
    assert lines[1]["in"] is lines[1]["out"] is lines[1]["cost"] is None
    assert (lines[1]["ok"], lines[1]["why"]) == (False, "timeout")
    assert stat.S_IMODE(os.stat(base + "/spend.jsonl").st_mode) == 0o600


def test_totals_are_of_the_utc_day(base, now):
    """Yesterday's last second and tomorrow's first do not count; broken lines are passed over."""
    midnight = 1795219200.0
    for instant in (midnight - 1, midnight, now, midnight + 86399, midnight + 86400):
        spend.append_call(base, instant, "claude", "haiku", 10, 1, 0.25)
    spend.append_call(base, now, "claude", "haiku", None, None, None, "exit 1")
    with open(base + "/spend.jsonl", "a") as file:
        file.write(
            '{"t": "2026-11-2\nnull\n{"v":1,"t":5}\n[]\n\n'
            '{"t":"2026-11-21","in":true,"out":-4,"ok":1}\n'
        )
    assert spend.sum_today(base, now) == spend.Totals(5, 2, 2, 30, 3, 0.75)
    assert spend.sum_today(base + "/none", now) == spend.Totals()


def test_the_daily_cap_of_calls_holds(base, now):
    """Allowed up to the cap, refused at it, allowed again the next day; failures count."""
    caps = settings(dailyCalls=3)
    for why in ("", "timeout", ""):
        assert spend.check_caps(base, caps, now) == ""
        spend.append_call(base, now, "claude", "haiku", 1, 1, 0.0, why)
    assert "cap of 3 model calls" in spend.check_caps(base, caps, now)
    assert spend.check_caps(base, caps, now + 86400) == ""
    assert spend.check_caps(base, settings(dailyCalls=0), now + 86400)


def test_the_daily_cap_of_tokens_counts_the_call_to_come(base, now, monkeypatch):
    """What is left must hold what is planned."""
    caps = settings()
    monkeypatch.setattr(spend, "MOST_TOKENS", 1000)
    spend.append_call(base, now, "claude", "haiku", 600, 200, 0.0)
    assert spend.check_caps(base, caps, now, 200) == ""
    assert "leaves 200" in spend.check_caps(base, caps, now, 201)


def test_a_ledger_that_cannot_be_read_allows_nothing(base, now):
    """A directory in its place is no licence."""
    os.makedirs(base + "/spend.jsonl")
    assert "cannot be read" in spend.check_caps(base, settings(), now)
    with spend.hold_slot(base, settings(), now) as declined:
        assert declined


def test_a_folder_that_cannot_be_used_declines(base, now):
    """The cap on starts fails closed."""
    os.makedirs(base)
    Path(base, "spawn").write_text("in the way")
    with spend.hold_slot(base, settings(), now) as declined:
        assert "cannot be used" in declined


def test_four_calls_live_and_a_killed_one_frees_its_slot(base, now):
    """The fifth is declined until a holder dies, even by SIGKILL."""
    held = []
    try:
        held = [hold(base, now + i * 0.001) for i in range(5)]
        assert [child.said for child in held] == ["in"] * 4 + ["4 model calls are running"]
        held[1].send_signal(signal.SIGKILL)
        held[1].wait()
        again = hold(base, now + 1)
        held.append(again)
        assert again.said == "in"
    finally:
        for child in held:
            child.kill()
            child.wait()


def test_twelve_calls_start_in_a_minute(base, now):
    """The thirteenth waits until the first is a minute old; a clock set back a little opens
    nothing.
    """
    for i in range(12):
        with spend.hold_slot(base, settings(), now + i) as declined:
            assert declined == ""
    for instant in (now + 12, now + 59.9, now - 20):
        with spend.hold_slot(base, settings(), instant) as declined:
            assert "within the last minute" in declined
    with spend.hold_slot(base, settings(), now + 61) as declined:
        assert declined == ""


def test_starts_count_for_the_day_even_without_ledger_lines(base, now):
    """A process that died before its line was written has still made its call."""
    caps = settings(dailyCalls=2)
    for i in range(2):
        with spend.hold_slot(base, caps, now + i) as declined:
            assert declined == ""
    assert "cap of 2" in spend.check_caps(base, caps, now + 300)
    with spend.hold_slot(base, caps, now + 300) as declined:
        assert "cap of 2" in declined
    with spend.hold_slot(base, caps, now + 86400) as declined:
        assert declined == ""


def test_processes_at_the_same_instant_do_not_pass_the_cap_together(base, now):
    """Of twelve at once exactly as many start as may."""
    code = HOLD.replace(
        "dict(config.DEFAULTS)", "{**config.DEFAULTS, 'distill.dailyCalls': 3}"
    ).replace("60)", "0.2)")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, ROOT, base, str(now)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(12)
    ]
    said = [child.communicate()[0].strip() for child in children]
    assert said.count("in") == 3


def test_a_price_is_estimated_by_the_providers_own_calls(base, now):
    """Those for notes, if any have a price; by their plan where it told no tokens."""
    assert spend.estimate_price(base, now, "claude", 1000) == 0.0
    spend.append_call(base, now, "gemini", "", 100, 20, 9.0)
    spend.append_call(base, now, "claude", "", 500, 20, 1.0)
    assert spend.estimate_price(base, now, "claude", 1000) == 2.0
    spend.append_call(base, now, "claude", "", None, None, 1.0, plan=1000, purpose=spend.NOTES)
    assert spend.estimate_price(base, now, "claude", 1000) == 1.0
    assert spend.format_price(0.0) == "" and ", some 1.00 US dollars" in spend.format_price(1.0)


def test_a_long_ledger_is_read_from_its_end(base, now):
    """Years of lines cost no more than the last ones."""
    os.makedirs(base)
    line = (
        '{"v":1,"t":"2020-01-01T00:00:00Z","provider":"claude","model":"haiku","in":1,"out":1,'
        '"cost":0,"ok":true,"why":""}\n'
    )
    Path(base, "spend.jsonl").write_text(line * 100_000)
    spend.append_call(base, now, "claude", "haiku", 5, 5, 0.0)
    start = time.process_time()
    assert spend.sum_today(base, now).calls == 1
    assert time.process_time() - start < 2.0


def test_a_call_of_unknown_tokens_counts_as_it_was_planned(base, now, monkeypatch):
    """Ollama, a command and a call that timed out report nothing: null must not be free."""
    caps = {"distill.dailyCalls": 50}
    monkeypatch.setattr(spend, "MOST_TOKENS", 6000)
    spend.append_call(base, now, "command", "", None, None, None, plan=3000)
    assert spend.sum_today(base, now).planned == 3000
    assert spend.check_caps(base, caps, now, 3000) == ""
    assert "leaves 3000" in spend.check_caps(base, caps, now, 3001)


def test_a_running_call_counts_as_it_was_planned(base, now, monkeypatch):
    """Two calls at the same time do not see each other's line in the ledger."""
    caps = {"distill.dailyCalls": 50}
    monkeypatch.setattr(spend, "MOST_TOKENS", 6000)
    with spend.hold_slot(base, caps, now, 4000) as declined:
        assert declined == ""
        with spend.hold_slot(base, caps, now, 4000) as other:
            assert "leaves 2000" in other
