"""The conversation of a session: one file of what was said, written on as the session goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.session import Session, secret_of, work

from memory.capture import conversationfile, conversationpage, turns
from memory.core import StoreError, clock, config, files, frontmatter
from memory.store import conversations, store, writer


def pages(session):
    """What each conversation says, without its frontmatter."""
    return [frontmatter.parse(path.read_bytes()) for path in session.talks()]


def asked(session):
    """The requests of the one conversation."""
    (page,) = pages(session)
    return [turn.request for turn in conversationpage.parse(page.body)]


def test_all_that_was_said_stands_in_one_file(session):
    """Prompts, the model's text, commands with their outcome, files; no output; the checkpoint
    names it.
    """
    session.ask("why does resume fail?").say("It never fetches the ref.").bash(
        "go test ./...", "a.go:3:2: undefined: boom\nsecret output", 1
    )
    session.edit("a.go").say("It fetches now.\n\n## Changes\n\n- one").ask("thanks").say("Gladly.")
    (text,) = session.fire("SessionEnd")
    (page,) = pages(session)
    assert [turn.request for turn in conversationpage.parse(page.body)] == [
        "why does resume fail?",
        "thanks",
    ]
    assert (
        "It never fetches the ref." in page.body
        and "- ✗ `go test ./...` → exit 1: a.go:3:2: undefined: boom\n" in page.body
    )
    assert (
        "- edited `a.go`" in page.body
        and "secret output" not in page.body
        and "**Changes**" in page.body
    )
    assert "conversation: " + page.meta["id"] in text
    assert (page.meta["kind"], page.meta["source"], page.meta["session"]) == (
        "conversation",
        "auto",
        "sess-1",
    )
    assert page.meta["written"] == writer.body_checksum(page.body) and page.meta["files"] == [
        "a.go"
    ]


def test_it_grows_with_the_session(session):
    """Each capture puts what is new at its end, over compactions too, and no turn stands there
    twice.
    """
    work(session.ask("first")).say("The first is done.").fire("Stop")
    work(session.ask("second")).say("The second is done.").fire("Stop")
    session.line("system", "", subtype="compact_boundary").fire("PreCompact")
    session.line(
        "user",
        "This session is being continued…\n\nSummary:\n1. Primary Request: first",
        isCompactSummary=True,
    )
    session.say("I go on with the second.").edit("late.go").ask("third").say(
        "The third is done, for the cache was stale."
    )
    session.fire("SessionEnd")
    (page,) = pages(session)
    told = conversationpage.parse(page.body)
    assert [(turn.asked, turn.request) for turn in told] == [
        ("", "first"),
        ("", "second"),
        ("summary", ""),
        ("goes on", "second"),
        ("", "third"),
    ]
    assert page.meta["written"] == writer.body_checksum(page.body)


@pytest.mark.parametrize("event", ["PreCompact", "SessionEnd"])
def test_a_turn_of_two_words_is_kept_after_a_capture(session, event):
    """As it is before; a turn that begins a conversation must say more."""
    session.ask("Add a parser").edit("a.py").say("Added.").fire(event)
    session.ask("revert that").say("Reverted.").fire("SessionEnd")
    assert "revert that\n\nReverted." in session.talk()


def test_a_conversation_that_a_person_edited_is_left_alone(session):
    """From then on nothing is added, whether the state is lost or not; the checkpoints go on."""
    work(session.ask("first")).fire("Stop")
    (path,) = session.talks()
    path.write_text(path.read_text() + "\nMy own words.\n")
    mine = path.read_bytes()
    work(session.ask("second")).fire("Stop")
    session.state.unlink()
    assert "third" in work(session.ask("third")).fire("SessionEnd")[-1]
    assert path.read_bytes() == mine and session.talks() == [path]


@pytest.mark.parametrize("lost", [False, True])
def test_a_conversation_that_a_person_deleted_stays_deleted(session, lost):
    """The checkpoints remember that there was one."""
    work(session.ask("first")).fire("Stop")
    session.talks()[0].unlink()
    if lost:
        session.state.unlink()
    work(session.ask("second")).fire("Stop")
    work(session.ask("third")).fire("SessionEnd")
    assert session.talks() == []


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("target", ["2026-11-21/mine.md", "2020-01-01/old.md", "keep.md"])
def test_a_conversation_that_a_person_moved_goes_on_where_it_stands(session, target, lost):
    """Under another name, in another day's folder, or in none, whether the state is lost or not."""
    work(session.ask("first")).fire("Stop")
    (path,) = session.talks()
    moved = path.parents[1] / target
    moved.parent.mkdir(exist_ok=True)
    path.rename(moved)
    if lost:
        session.state.unlink()
    for request in ("second", "third"):
        work(session.ask(request)).fire("SessionEnd")
    page = frontmatter.parse(moved.read_bytes())
    told = [turn.request for turn in conversationpage.parse(page.body)]
    assert told == ["first", "second", "third"] and set(session.talks()) <= {moved}


def test_of_a_long_sessions_files_the_moved_one_goes_on(session, monkeypatch):
    """The earlier one stays as it is."""
    monkeypatch.setattr(conversationfile, "MOST", 10)
    work(session.ask("first")).fire("PreCompact")
    (first,) = session.talks()
    work(session.ask("second")).fire("Stop")
    (second,) = set(session.talks()) - {first}
    before, moved = first.read_bytes(), second.with_name("000000-mine.md")
    second.rename(moved)
    work(session.ask("third")).fire("SessionEnd")
    assert first.read_bytes() == before and set(session.talks()) == {first, moved}
    assert "third" in moved.read_text()


def test_a_lost_state_tells_nothing_twice(session):
    """What the file holds stays, and what came since is put behind it."""
    work(session.ask("first")).fire("SessionEnd")
    session.state.unlink()
    work(session.ask("second")).fire("SessionEnd")
    assert asked(session) == ["first", "second"]


def test_it_can_be_switched_off(session):
    """Checkpoints are written without it."""
    session.env["DAYLEAF_CAPTURE_CONVERSATIONS"] = "false"
    (text,) = work(session.ask("x")).fire("SessionEnd")
    assert session.talks() == [] and "conversation:" not in text


def test_secrets_are_out_of_it(session):
    """A secret named in one turn is gone where it stands bare in another."""
    session.ask("the key is " + secret_of(3)).say("Noted.").edit("a.py").fire("Stop")
    session.ask("again: " + secret_of(3).rpartition("=")[2]).say("Yes.").edit("b.py").fire(
        "SessionEnd"
    )
    (page,) = pages(session)
    assert secret_of(3).rpartition("=")[2] not in page.body and len(asked(session)) == 2


def test_what_the_user_says_by_other_ways_stands_in_its_turn(session):
    """A refusal with its reason, and a plan that was approved."""
    session.ask("move the cache").tool(
        "Bash",
        {"command": "rm -rf cache"},
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. "
            "if it was a file edit, the new_string was NOT written to the file). To tell you how "
            "to proceed, the user said:\nno, keep the old one until friday"
        ),
        failed=True,
    )
    session.tool(
        "ExitPlanMode",
        {"plan": "# Move it\n\n1. copy"},
        "User has approved your plan. You can now start coding.",
        result={"plan": "# Move it\n\n1. copy"},
    ).say("Moved by a copy.")
    (text,) = session.edit("a.py").fire("SessionEnd")
    (page,) = pages(session)
    assert "> (refused Bash `rm -rf cache`) no, keep the old one until friday" in page.body
    assert "> (approved the plan) **Move it**\n>\n> 1. copy" in page.body
    assert "✗ `rm -rf cache`" not in page.body + text and "title: Move it" in text
    assert 'refused Bash `rm -rf cache`: "no, keep the old one until friday"' in text


def test_a_very_long_session_goes_on_in_another_file(session, monkeypatch):
    """A file does not grow beyond what is read of a record."""
    monkeypatch.setattr(conversationfile, "MOST", 2000)
    for number in range(3):
        session.ask("request %d" % number).say("word " * 300 + ".").edit("a%d.py" % number).fire(
            "PreCompact"
        )
    assert [
        len(conversationpage.parse(page.body))
        for page in sorted(pages(session), key=lambda page: page.meta["until"])
    ] == [2, 1]


def test_a_store_that_cannot_be_written_loses_nothing(session, monkeypatch):
    """The next capture writes what was not written."""
    work(session.ask("first"))
    with monkeypatch.context() as patch:
        patch.setattr(
            files,
            "create",
            lambda *a, **k: (_ for _ in ()).throw(OSError(30, "Read-only file system")),
        )
        with pytest.raises((OSError, StoreError)):
            session.fire("SessionEnd")
    session.fire("SessionEnd")
    assert asked(session) == ["first"]


def test_a_fork_tells_its_own_turns_alone(env, project, now):
    """What was copied from another session is told there."""
    one = Session(env, project, now)
    work(one.ask("shared request")).say("Shared answer of some length.").fire("SessionEnd")
    other = Session(env, project, now, "sess-2")
    other.path.write_bytes(one.path.read_bytes())
    other.clock = one.clock
    work(other.ask("own request")).fire("SessionEnd")
    told = {
        page.meta["session"]: [t.request for t in conversationpage.parse(page.body)]
        for page in pages(other)
    }
    assert told == {"sess-1": ["shared request"], "sess-2": ["own request"]}


def test_a_cut_line_is_read_once_it_is_whole(session):
    """A transcript that ends in the middle of a line, or in a lone surrogate, is told up to
    there.
    """
    session.ask("first").edit("a.py")
    whole = session.path.read_bytes()
    line = json.dumps(
        {
            "type": "user",
            "uuid": "u-9",
            "timestamp": "2026-11-21T13:20:00.000Z",
            "promptSource": "typed",
            "origin": {"kind": "human"},
            "message": {"role": "user", "content": "second \ud83d"},
        }
    ).encode()
    session.path.write_bytes(whole + line[:60])
    session.fire("Stop")
    session.path.write_bytes(whole + line + b"\n")
    session.fire("SessionEnd")
    assert [request.replace("\ufffd", "?") for request in asked(session)] == ["first", "second ?"]
    assert Path(session.talks()[0]).read_bytes().decode("utf-8")


def test_a_session_that_was_forgotten_is_not_written_again(session, now):
    """Whether it goes on, its state is lost, or it is read anew."""
    work(session.ask("first")).fire("Stop")
    keeper = store.Store(
        session.place, config.load(session.place.home, session.project, session.env), now
    )
    told = conversations.find_session_records(keeper, session.name)
    for record in told.records:
        keeper.archive(record.name, "forgotten")
    conversations.log_forgotten(session.place, session.name, told.records[0].id, now)
    assert work(session.ask("second")).fire("SessionEnd") == [] and session.talks() == []
    session.state.unlink()
    assert work(session.ask("third")).fire("SessionEnd") == [] and session.talks() == []


def test_what_was_redacted_meanwhile_moves_no_seam(session):
    """A text that got shorter or longer by hand of `redact` keeps its turns; what comes after
    stands behind them.
    """
    work(session.ask("first " + "ALPHA " * 5)).say(
        "The alpha run is done and all of it is kept."
    ).fire("PreCompact")
    (path,) = session.talks()
    whole = path.read_bytes()
    path.write_bytes(
        conversations.update_checksum(
            whole, whole.replace(b"ALPHA", b"[redacted:by-hand#0123456789]")
        )
    )
    work(session.ask("second")).say("The second is done as well, with its test.").fire("Stop")
    work(session.ask("third")).say("The third is done as well, with its test.").fire("SessionEnd")
    assert [request.split()[0] for request in asked(session)] == ["first", "second", "third"]
    assert pages(session)[0].body.count("alpha run is done") == 1


def test_a_long_head_is_read_whole_where_the_state_is_lost(session):
    """Forty paths make five thousand characters; the file is not taken for one that was deleted."""
    session.ask("first")
    for number in range(40):
        session.edit(
            "src/main/java/com/example/service/with/a/long/path/%02d/HandlerOfManyThings%02d.java"
            % (number, number)
        )
    session.say("All handlers are renamed, and their tests with them.").fire("SessionEnd")
    session.state.unlink()
    work(session.ask("second")).fire("SessionEnd")
    assert asked(session) == ["first", "second"]


def test_where_the_conversation_alone_is_forgotten_checkpoints_go_on(session, now):
    """A person who takes away what was said keeps what was done."""
    work(session.ask("first")).fire("SessionEnd")
    keeper = store.Store(
        session.place, config.load(session.place.home, session.project, session.env), now
    )
    (talk,) = [
        record
        for record in conversations.find_session_records(keeper, session.name).records
        if record.kind == "conversation"
    ]
    keeper.archive(talk.name, "forgotten")
    conversations.log_forgotten(session.place, session.name, talk.id, now)
    assert len(work(session.ask("second")).fire("SessionEnd")) == 2 and session.talks() == []


def test_a_damaged_file_costs_no_checkpoint(session):
    """What stands in its place is left alone."""
    work(session.ask("first")).fire("Stop")
    (path,) = session.talks()
    path.unlink()
    path.mkdir()
    assert "second" in work(session.ask("second")).fire("SessionEnd")[-1]


def test_a_call_that_a_rule_refused_is_told_as_refused(session):
    """Nobody said anything to it; a call that never ran is told not at all."""
    session.ask("push it").edit("a.py")
    session.tool(
        "Bash",
        {"command": "git push"},
        "Permission to use Bash with command git push has been denied.",
        failed=True,
    )
    session.tool(
        "Bash",
        {"command": "pytest -q"},
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        failed=True,
    )
    (text,) = session.fire("SessionEnd")
    assert "- ⊘ `git push` → refused" in session.talk() and "pytest" not in session.talk() + text


def test_half_a_secret_is_left_nowhere(session):
    """What is shortened is cut at white space, before and after secrets are taken out."""
    secret = secret_of(7)
    session.ask("x").tool(
        "Bash",
        {"command": "deploy --to staging " + "y" * 40 + " " + secret},
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. "
            "if it was a file edit, the new_string was NOT written to the file). To tell you how "
            "to proceed, the user said:\nnot with that key, please"
        ),
        failed=True,
    )
    session.edit("a.py").fire("SessionEnd")
    assert secret.rpartition("=")[2][:8] not in session.talk() + "".join(session.files())


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        (("10:20:00", "10:40:00"), ["10:10 10:20", "10:30", ""]),
        (("10:20:40", "10:30:40"), ["10:10 10:20", "10:30", ""]),
        (("10:10:40", "10:11:00"), ["10:10", "", "10:20 10:30"]),
    ],
)
def test_turns_are_shared_out_among_checkpoints_by_the_minute(ends, told):
    """One that was asked in the last minute of a checkpoint is told in it."""
    held = [turns.Turn("2026-11-21T%s:00Z" % at, "go on") for at in ("10:10", "10:20", "10:30")]
    found = conversationfile.split_by_checkpoint(
        held, [clock.parse("2026-11-21T%sZ" % end) for end in ends]
    )
    assert [" ".join(turn.at[11:16] for turn in part) for part in found] == told


_LOG = "2026-11-28 10:00:00 INFO request served in 12 ms by worker\n"
_TRACE = '  File "/srv/app/x.py", line 12, in call\n    return go(x)\nTypeError: no %s\n'
_JSON = '  {\n    "name": "worker",\n    "took": 12\n  },\n'
_PROSE = "The pool was exhausted, as connections were never returned by it.\n"


@pytest.mark.parametrize("many", [90, 9_000])
@pytest.mark.parametrize("paste", [_LOG, _TRACE, _JSON, "id,name,took\n7,worker,12\n"])
@pytest.mark.parametrize("typed", ["the header stays, why?", "헤더는 그대로 두어야 합니다"])
def test_words_typed_between_pastes_are_kept(session, many, paste, typed):
    """Also without a blank line around them, and while the model works."""
    pasted = paste * many
    session.ask("%s%s\n%s" % (pasted, typed, pasted)).edit("a.py").say("Fixed.")
    session.line(
        "attachment",
        "",
        message=None,
        attachment={"type": "queued_command", "prompt": pasted + typed + "\n" + pasted},
    )
    session.fire("SessionEnd")
    (page,) = pages(session)
    assert page.body.count("\n> " + typed) + page.body.count(") " + typed) == 2
    assert len(page.body) < 30_000


@pytest.mark.parametrize("many", [90, 9_000])
@pytest.mark.parametrize("paste", [_LOG, _PROSE, "<p>%s</p>\n\n" % _PROSE])
def test_a_short_block_among_long_ones_was_typed(session, many, paste):
    """Whatever it says, and however the pasted ones read; a program's own stay unmarked."""
    reminder = "<system-reminder>\n%s</system-reminder>" % (_PROSE * many)
    blocks = [reminder, paste * many, "The header stays.", paste * many]
    session.ask([{"type": "text", "text": block} for block in blocks]).edit("a.py").say("Fixed.")
    session.fire("SessionEnd")
    (page,) = pages(session)
    assert "\n\n> The header stays.\n" in page.body
    assert "reminder" not in page.body and len(page.body) < 10_000


def test_a_line_below_a_label_is_not_kept_from_a_paste(session):
    """It may be the label's value, which only the whole text tells."""
    pasted = _LOG * 9000
    session.ask(pasted + "password:\ncorrect horse battery staple\n" + pasted).edit("a.py").say(
        "Ok."
    )
    session.fire("SessionEnd")
    (page,) = pages(session)
    assert "battery" not in page.body


@pytest.mark.parametrize("lines", [900, 90_000])
def test_a_question_after_a_long_paste_is_kept(session, lines):
    """And one before it; a picture between words is left out."""
    pasted = "line of the log\n" * lines + "data:image/png;base64," + "A1b/" * 9000
    session.ask("why this?\n%s\nit began after the upgrade" % pasted).edit("a.py").say("Fixed.")
    session.fire("SessionEnd")
    (page,) = pages(session)
    assert "why this?" in page.body and "it began after the upgrade" in page.body
    assert "A1b/" not in page.body and len(page.body) < 5500
