"""What is said while capture is off is never read, whatever switches it off and on again."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from harness.hook import HOOKS, fire, harmless
from harness.session import Session, work


class Live(Session):
    """A session whose hooks run as the client runs them."""

    def hook(self, name, **fields):
        event = {
            "hook_event_name": name,
            "session_id": self.name,
            "transcript_path": str(self.path),
            "cwd": self.project,
            **fields,
        }
        env = {**self.env, "CLAUDECODE": "1", "DAYLEAF_RUNTIME_AUTO": "0"}
        assert harmless(fire(HOOKS[name], event, env)).settled
        return self

    def start(self, source="startup"):
        return self.hook("SessionStart", source=source)

    def prompt(self, text, id=""):
        self.hook("UserPromptSubmit", prompt=text, prompt_id=id)
        return self.ask(text, promptId=id)

    def turn(self, text, answer):
        work(self.prompt(text, "id of " + text)).say(answer)
        return self.hook("Stop", last_assistant_message=answer)

    def kept(self):
        """All that stands in any file of the memory."""
        found = [path for path in Path(self.place.home).rglob("*") if path.is_file()]
        return "\n".join(
            "%s %s" % (p.name, p.read_bytes().decode("utf-8", "replace")) for p in found
        )


@pytest.fixture
def opened(env, project):
    return lambda name: Live(env, project, time.time(), name)


def rested(session):
    """A session that died a while ago."""
    before = time.time() - 100
    os.utime(session.path, (before, before))
    return session


PAUSES = {
    "mine": (("push", "off", "mine"), ("push", "on", "mine")),
    "listed": (("config", "set", "capture.projects", "listed"), ("push", "on", "mine")),
    "setting": (
        ("config", "set", "capture.enabled", "false"),
        ("config", "unset", "capture.enabled"),
    ),
}


@pytest.mark.parametrize("way", PAUSES)
def test_a_session_of_a_pause_is_not_captured_after_it(opened, ok, place, way):
    """Whether it ended or died; and no doctor says that it will be."""
    off, on = PAUSES[way]
    ok(*off)
    ended = opened("ended").start().turn("rename Kestrel", "Kestrel renamed").hook("SessionEnd")
    work(opened("died").start().ask("ship Kestrel")).say("Kestrel ships")
    rested(ended), rested(opened("died"))
    assert "incomplete" not in (ok("doctor") if way == "mine" else "")
    ok(*on)
    shutil.rmtree(place.cache, ignore_errors=True)  # derived: nothing hangs on it
    later = opened("later").start().turn("fix the pump", "pump fixed").hook("SessionEnd")
    assert "Kestrel" not in later.kept() and "pump fixed" in later.talk()


def test_an_import_does_not_call_a_session_of_a_pause_worthless(opened, ok):
    """It says that one of which it writes nothing may have been paused."""
    ok("push", "off", "mine")
    rested(opened("paused").start().turn("rename Kestrel", "Kestrel renamed").hook("SessionEnd"))
    ok("push", "on", "mine")
    said = "1 session: 1 with nothing to keep (empty or paused)\n"
    assert ok("import", "transcripts") == said


def test_a_pause_amid_a_session_leaves_out_its_turns_alone(opened, ok):
    """What was said before and after it is kept, also where all of it is read again."""
    session = opened("one").start().turn("fix the pump", "pump fixed")
    ok("push", "off", "mine")
    session.turn("rename Kestrel", "Kestrel renamed")
    session.prompt("and Kestrel's tests", "p2").say("interr")  # stopped: no Stop comes
    session.line("user", "[Request interrupted by user]")
    ok("push", "on", "mine")
    session.turn("test the valve, password: Zk9Mountain4x", "valve tested").hook("SessionEnd")
    assert "Kestrel" not in session.kept()
    told = session.talk()
    assert "pump fixed" in told and "valve tested" in told and "interr" not in told


def test_what_was_asked_in_a_pause_is_left_out_whole(opened, ok):
    """The pause ends while the model works, or before the session's end."""
    session = opened("one").start().turn("fix the pump", "pump fixed")
    ok("push", "off", "mine")
    work(session.prompt("rename Kestrel", "p1")).say("Kestrel renamed")
    ok("push", "on", "mine")
    session.hook("Stop", last_assistant_message="Kestrel renamed").hook("SessionEnd")
    assert "Kestrel" not in session.kept() and "pump fixed" in session.talk()


def test_the_hosts_words_of_a_paused_session_are_left_out(opened, ok):
    """A summary and a title are of the whole session, also of the pause in it."""
    session = opened("one").start().turn("fix the pump", "pump fixed")
    ok("push", "off", "mine")
    session.turn("rename Kestrel", "Kestrel renamed")
    ok("push", "on", "mine")
    session.turn("test the valve", "valve tested")
    session.line("ai-title", None, aiTitle="Kestrel and the pump", uuid="")
    session.line("user", "They renamed Kestrel.", isCompactSummary=True)
    session.turn("go on", "done").hook("SessionEnd")
    assert "Kestrel" not in session.kept() and "valve tested" in session.talk()


def test_a_fork_of_a_paused_session_brings_nothing_of_it_back(opened, ok):
    """A fork's transcript begins with a copy of the lines before."""
    ok("push", "off", "mine")
    paused = opened("one").start().turn("rename Kestrel", "Kestrel renamed").hook("SessionEnd")
    ok("push", "on", "mine")
    fork = opened("two")
    fork.path.write_bytes(paused.path.read_bytes().replace(b'"one"', b'"two"'))
    fork.start("fork").turn("fix the pump", "pump fixed").hook("SessionEnd")
    assert "Kestrel" not in fork.kept() and "pump fixed" in fork.talk()


def test_a_session_that_died_before_a_pause_is_still_recovered(opened, ok):
    """A pause leaves out what is said in it alone."""
    work(opened("died").start().ask("fix the pump")).say("pump fixed")
    rested(opened("died"))
    ok("push", "off", "mine")
    opened("paused").start().turn("rename Kestrel", "Kestrel renamed").hook("SessionEnd")
    ok("push", "on", "mine")
    later = opened("later").start()
    assert "pump fixed" in later.talk() and "Kestrel" not in later.kept()


def test_a_note_of_a_pause_that_cannot_be_read_lets_nothing_be_read(opened, ok, place):
    """Until the session's next prompt; it holds offsets and ids, no text."""
    ok("push", "off", "mine")
    session = opened("one").start().turn("rename Kestrel", "Kestrel renamed").hook("SessionEnd")
    (path,) = Path(place.receipts_folder).glob("*.left")
    assert set(json.loads(path.read_text())) == {"v", "open", "first", "spans", "ids"}
    path.write_text("{")
    ok("push", "on", "mine")
    rested(session)
    assert "Kestrel" not in opened("later").start().kept()
    session.turn("fix the pump", "pump fixed").hook("SessionEnd")
    assert "Kestrel" not in session.kept() and "pump fixed" in session.talk()
