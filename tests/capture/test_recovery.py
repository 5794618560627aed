"""Sessions that died with work nobody wrote down."""

from __future__ import annotations

import json
import os
from pathlib import Path

from harness.session import Session

from memory.capture import recovery
from memory.capture.stretches import capture
from memory.core import clock, config, frontmatter


def test_dead_sessions_are_recovered_once(env, project, now):
    """Sessions with receipts and unwritten work are closed; live, current, foreign and empty ones are let be."""

    def begin(name, **line):
        one = Session(env, project, now, name)
        receipts = Path(one.place.receipts(name))
        receipts.parent.mkdir(parents=True, exist_ok=True)
        receipts.write_text(
            json.dumps({"v": 1, "t": "x", "event": "start", "transcript": str(one.path), **line}, separators=(",", ":"))
            + "\n"
        )
        return one

    dead, live, current, empty, throttled = (begin(n) for n in ("dead", "live", "current", "empty", "throttled"))
    for one in (dead, live, current, throttled):
        one.ask("x").edit(one.name + ".py")
    empty.ask("hi").say("hello")
    throttled.fire("Stop")
    begin("lying", transcript="/etc/passwd")
    unseen = Session(env, project, now, "unseen").ask("x").edit("unseen.py")
    for one in (dead, current, empty, throttled, unseen):
        os.utime(one.path, (now - 60, now - 60))
    os.utime(live.path, (now - 5, now - 5))
    settings = config.load(dead.place.home, project, env)
    assert recovery.recover(dead.place, settings, env, now, "current") == 2
    texts = dead.files()
    assert sorted(name for t in texts for name in frontmatter.parse(t.encode()).meta["files"]) == [
        "dead.py",
        "throttled.py",
    ]
    meta = frontmatter.parse(texts[0].encode()).meta
    assert (meta["trigger"], meta["branch"]) == ("recovery", "main")
    assert meta["created"] == clock.iso(now - 5000 + dead.clock)
    assert recovery.recover(dead.place, settings, env, now, "current") == 0
    assert dead.files() == texts


def test_old_states_go(session):
    """The state of a session whose transcript the host has deleted by now is removed."""
    session.ask("x").edit("a.py").fire("SessionEnd")
    os.utime(session.state, (session.now - 50 * 86400,) * 2)
    settings = config.load(session.place.home, session.project, session.env)
    assert recovery.recover(session.place, settings, session.env, session.now, "") == 0
    assert not session.state.exists() and len(session.files()) == 1


def test_a_dead_sessions_last_line_counts_without_its_end(session):
    """It died in the middle of a write, or the file was copied; it is looked at once."""
    session.ask("rename the parser").edit("a.py")
    session.path.write_bytes(session.path.read_bytes().rstrip(b"\n"))
    os.utime(session.path, (session.now - 60,) * 2)
    settings = config.load(session.place.home, session.project, session.env)
    assert capture(session.place, settings, session.env, session.now, session.name, str(session.path), "recovery")
    assert recovery.told(session.place, session.name, session.path.stat().st_size)
