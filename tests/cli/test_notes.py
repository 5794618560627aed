"""`dayleaf notes`: who may write them, what that costs, those of past sessions; and a note by the
session's own model.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import noted
from harness.command import dayleaf
from harness.session import Ending

from memory.distill import spend
from memory.notes import pause


@pytest.fixture
def session(env, project, now):
    return Ending(env, project, now)


@pytest.fixture
def run(session, project):
    """Run `dayleaf` in the home of the session."""
    return dayleaf({**session.env, "DAYLEAF_HOME": session.place.home}, project)


def config(session):
    return json.loads(Path(session.place.home, "config.json").read_text("utf-8"))


def test_on_says_what_it_costs_and_what_leaves_the_machine(session, run, tmp_path):
    """Measured on this user's sessions; `off` ends it."""
    noted.spoken(session).end()
    run("config", "set", "notes.model", "small")
    done = run("notes", "on", "--provider", "ollama")
    assert (
        done.returncode == 0
        and "tokens read and 400 written, measured on your last sessions here" in done.stdout
    )
    assert "what leaves this machine" in done.stdout and "cannot be asked: " in done.stdout
    assert (
        config(session)["notes.provider"] == "ollama" and config(session)["notes.model"] == "small"
    )
    assert (
        "no model writes notes" in run("notes", "off").stdout
        and config(session)["notes.provider"] == "off"
    )


def test_only_a_person_switches_it(session, run):
    """A session's model reads how it stands."""
    for words in (("on",), ("off",), ("write", "--yes")):
        done = run("notes", *words, CLAUDECODE="1")
        assert (
            done.returncode == 2 and "only a person decides on what a model writes" in done.stderr
        )
    assert run("notes", "status", CLAUDECODE="1").returncode == 0


def test_past_sessions_get_theirs_after_a_plan(session, run, tmp_path):
    """A dry run asks nothing; an interrupted one goes on where it stopped; what failed is said."""
    noted.spoken(session).end()
    other = Ending(session.env, session.project, session.now + 90, "sess-2")
    noted.spoken(other).end()
    noted.allow(
        session,
        noted.model(
            tmp_path, extra="import os\nif os.path.exists(%r): sys.exit(3)" % str(tmp_path / "stop")
        ),
    )
    plan = run("notes", "write", "--since", "3650d", "--dry-run")
    assert (
        "2 sessions without a note; writing them takes " in plan.stdout
        and noted.asked(tmp_path) == 0
    )
    assert run("notes", "write", "--since", "3650d").returncode == 2, "nobody said yes"
    (tmp_path / "stop").touch()
    failed = run("notes", "write", "--since", "3650d", "--yes")
    assert failed.returncode == 1
    assert "2 left: exit 3; the same command writes them" in failed.stdout
    (tmp_path / "stop").unlink()
    assert run("notes", "write", "--since", "3650d", "--yes").stdout.startswith("2 notes written")
    assert run("notes", "write", "--since", "3650d", "--dry-run").stdout.startswith(
        "nothing to write"
    )
    value = json.loads(run("notes", "status", "--json").stdout)
    assert (value["notes"], value["dropped"], value["provider"]) == (2, 0, "command") and value[
        "calls"
    ] >= 3


def test_a_note_expires_with_the_conversation_of_an_import(session, run, tmp_path):
    """Both count from the import, not from the session."""
    noted.spoken(session).end()
    (talk,) = session.talks()
    said, imported = talk.read_text("utf-8"), '\nimported: "2026-01-25T00:00:00Z"\n'
    talk.write_text(said.replace("\nwritten:", imported + "written:"), "utf-8")
    noted.allow(session, noted.model(tmp_path))
    run("notes", "write", "--since", "3650d", "--yes")
    assert imported in noted.notes(session)[0].read_text("utf-8")


def test_one_session_that_fails_stops_no_other(session, run, tmp_path):
    """Three in a row do; what was written counts."""
    fails = "if 'poison' in prompt: sys.exit(3)"
    noted.allow(session, noted.model(tmp_path, extra=fails))
    for number, word in enumerate(("poison", "", "", "poison", "poison", "poison", "")):
        one = Ending(session.env, session.project, session.now + 90 * number, "s-%d" % number)
        noted.spoken(one.ask("Say %s" % word).say("So.") if word else one)
        one.fire("SessionEnd")
    done = run("notes", "write", "--since", "3650d", "--yes")
    assert done.returncode == 0 and done.stdout.startswith("2 notes written")
    assert "5 left: exit 3; the same command writes them" in done.stdout
    assert noted.asked(tmp_path) == 6


def test_the_plan_names_the_price_of_the_calls_so_far(session, run, tmp_path):
    """Of this provider; unknown without one."""
    noted.allow(session, noted.model(tmp_path))
    noted.spoken(session).fire("SessionEnd")
    plan = ("notes", "write", "--since", "3650d", "--dry-run")
    assert "dollars" not in run(*plan).stdout
    for name, cost in (("claude", 9.0), ("command", 0.5)):
        call = (session.place.home, session.now, name, "m", 100_000, 400, cost)
        spend.append_call(*call, purpose=spend.NOTES)
    tokens = json.loads(run(*plan, "--json").stdout)["tokens"]
    price = ", some %.4f US dollars by your calls so far" % (tokens * 0.5 / 100_000)
    assert price in run(*plan).stdout and price in run("notes", "status").stdout


def test_off_in_one_project_leaves_the_others(session, run):
    """For its user alone."""
    noted.allow(session, ["cat"])
    run("notes", "off", "--mine")
    assert "off" in run("notes", "status").stdout and config(session)["notes.provider"] == "command"


def test_off_in_one_project_is_taken_back(session, run):
    """By the same word; what was said meanwhile is left out, and no provider is named there."""
    noted.allow(session, ["cat"])
    run("notes", "off", "--mine")
    before = pause.read(session.place.home).since
    said = run("notes", "on", "mine").stdout
    assert "no longer off in this project, for you; notes.provider is `command`" in said
    assert pause.read(session.place.home).since > before
    assert "no more words" not in run("notes", "on", "mine").stderr
    assert run("notes", "on", "mine", "--provider", "claude").returncode == 2


def test_write_needs_leave(run):
    """Off is the default."""
    done = run("notes", "write")
    assert done.returncode == 2 and "`dayleaf notes on`" in done.stderr


def test_what_notes_would_take_is_told_before_they_are_switched_on(session, run, tmp_path):
    noted.spoken(session).end()
    plan = run("notes", "write", "--since", "3650d", "--dry-run")
    assert "1 session without a note" in plan.stdout and "tokens of claude; no model" in plan.stdout


def test_the_sessions_own_model_writes_the_same_note(session, run):
    """Checked the same way; what does not stand is said."""
    noted.spoken(session)
    answer = {
        **noted.ANSWER,
        "open": [
            {"text": "Whether `cache.py` fails", "quote": "Are 40 retries enough?", "turn": "#2"}
        ],
    }
    done = run(
        "checkpoint",
        "--note",
        "--session",
        session.name,
        "--transcript",
        str(session.path),
        stdin=json.dumps(answer),
    )
    assert done.returncode == 0 and "written n-" in done.stdout, done.stderr
    assert "left out, not in the conversation: Whether `cache.py` fails" in done.stderr
    (path,) = noted.notes(session)
    assert 'by: "the session\'s model"' in path.read_text(
        "utf-8"
    ) or "by: the session's model" in path.read_text("utf-8")


def test_a_note_that_is_none_is_refused(session, run):
    """With a word on what is wrong."""
    noted.spoken(session)
    done = run(
        "checkpoint",
        "--note",
        "--session",
        session.name,
        "--transcript",
        str(session.path),
        stdin="all fine",
    )
    assert done.returncode == 1 and "no JSON object" in done.stderr
