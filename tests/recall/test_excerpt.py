"""`dayleaf show transcript`: the part of a transcript behind a checkpoint."""

from __future__ import annotations

import json

import pytest
from harness import talks
from harness.session import Session

from memory.core import frontmatter
from memory.session import entries, transcript

SECRET = "gh" + "p_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def session(env, project, now):
    """A session of two stretches: a failing test that is fixed, then a question about Korean
    names.
    """
    made = Session(env, project, now)
    made.ask("fix the parser, test_parse fails").bash(
        "pytest -q", "E  ValueError: %s" % SECRET + "\nline" * 30, 1
    )
    made.say("The pattern was greedy.").edit("src/parser.py").bash("pytest -q", "3 passed")
    return made


def ended(session, event):
    """Let an event close the stretch and return the id of its checkpoint."""
    session.fire(event)
    return frontmatter.parse(session.where()[-1].read_bytes()).meta["id"]


def expanded(run, id, *words):
    """The entries that `expand --json` gives."""
    done = run("expand", id, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_checkpoint_leads_back_to_what_was_asked_said_and_run(session, run):
    """Each stretch has its own part; a secret that stands in the transcript is not shown."""
    first = ended(session, "PreCompact")
    session.ask("왜 이름이 깨지나?").say("The column is latin-1.").edit("src/names.py").bash(
        "pytest -q", "4 passed"
    )
    second = ended(session, "SessionEnd")
    value = expanded(run, first)
    assert [(one["who"], one["text"].split("\n")[0]) for one in value["entries"]] == [
        ("you", "fix the parser, test_parse fails"),
        ("Claude", "Bash pytest -q"),
        ("result", "Exit code 1"),
        ("Claude", "The pattern was greedy."),
        ("Claude", "Edit %s/src/parser.py" % session.project),
        ("result", "updated"),
        ("Claude", "Bash pytest -q"),
        ("result", "3 passed"),
    ]
    assert SECRET not in json.dumps(value) and "ValueError: [redacted:" in json.dumps(value)
    assert [one["text"] for one in expanded(run, second)["entries"]][:2] == [
        "왜 이름이 깨지나?",
        "The column is latin-1.",
    ]


def test_a_long_result_is_cut_and_json_has_it(session, run):
    """Eight lines of it, and how many more there are."""
    id = ended(session, "SessionEnd")
    assert "… 24 more lines; --json has them" in run("expand", id).stdout
    entries = json.loads(run("expand", id, "--json").stdout)["entries"]
    assert max(one["text"].count("line") for one in entries) >= 29


def test_where_there_is_no_transcript_one_line_says_so(session, run):
    """The host has removed it, or there never was one."""
    id = ended(session, "SessionEnd")
    session.path.unlink()
    gone = run("expand", id)
    assert gone.returncode == 1 and "the transcript of session sess-1 is gone" in gone.stderr
    learned = json.loads(run("learn", "Prices are cents.", "--json").stdout)["id"]
    other = run("expand", learned)
    assert (
        other.returncode == 1
        and "neither a session's checkpoint nor a conversation" in other.stderr
    )


def test_only_your_own_words_are_told_as_yours(session, run):
    """In a transcript with messages of a team, reports and titles."""
    session.line("ai-title", "", message=None, aiTitle="The cache").ask("move the cache")
    session.line("user", '<teammate-message teammate_id="bo">\nIt moved.\n</teammate-message>')
    session.line("user", '<agent-message from="a1">\n  It is tested.\n</agent-message>')
    id = ended(session.edit("a.py").say("Moved."), "SessionEnd")
    told = [(one["who"], one["text"]) for one in expanded(run, id)["entries"]]
    assert [text for who, text in told if who == "you"][-1] == "move the cache"
    assert ("host", "It moved.") in told and ("result", "It is tested.") in told


def test_a_turn_leads_back_to_its_own_part(session, run, place):
    """From its request to the next one; two of one minute are told apart."""
    session.ask("what is left?").say("The names.").ask("and the tests?").bash(
        "pytest -q", "4 passed"
    )
    id = ended(session, "SessionEnd")
    asked = [entry for entry in transcript.read(str(session.path)) if entry.kind == entries.PROMPT]
    turns = tuple("## %s %s\n\nSaid.\n\n" % (entry.at[11:16], entry.text) for entry in asked)
    talks.put(
        place,
        turns,
        session="sess-1",
        created=asked[0].at[:19] + "Z",
        until="2036-01-01T00:00:00.000Z",
    )
    for number, entry in enumerate(asked, 1):
        said = expanded(run, "c-7a1c0001#%d" % number)
        assert said["turn"] == number and said["entries"][0]["text"] == entry.text
        assert [one["text"] for one in said["entries"] if one["who"] == "you"] == [entry.text]
    assert expanded(run, id + "#1")["entries"][0]["text"] == asked[0].text
    whole = expanded(run, "c-7a1c0001")
    assert sum(one["who"] == "you" for one in whole["entries"]) == len(asked)
