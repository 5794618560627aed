"""From transcripts to checkpoints."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import time
from pathlib import Path

import pytest
from harness.session import DATA, Session, big, secret_of, section, serve, starting, work

from memory.capture import checkpointpage, stretches
from memory.core import config, frontmatter
from memory.health import worker
from memory.store import store

ROOT = Path(__file__).parents[2]


# --- the recorded sessions


@pytest.mark.parametrize(
    ("fixture", "commit", "asked"),
    [
        ("tools-headless", "ecf522d", []),
        ("tools-interactive", "b6fd487", ["/probe:hello alpha"]),
        ("compact-interactive", "b6fd487", ["/probe:hello alpha", "what else?"]),
    ],
)
def test_a_recorded_session_is_told_whole(session, fixture, commit, asked):
    """Request, files, the failing command with its error, the passing one, the fix, the commit,
    where it stopped.
    """
    (text,) = session.copy(fixture).fire("SessionEnd")
    for request in ["fix the add function and commit", *asked]:
        assert " " + request in section(text, "Turns")
    assert "created `test_calc.py`" in section(text, "Done") and "edited `calc.py`" in section(
        text, "Done"
    )
    assert "commit %s: Fix add" % commit in section(text, "Done")
    said = session.talk()
    assert (
        '- ✗ `python3 -c "import calc; assert calc.add(1,2)==3"` → exit 1: AssertionError' in said
    )
    assert (
        "- ✗ `sleep 3; echo slow` → timed out" in said
        and "- ✓ `python3 test_calc.py && echo PASS`" in said
    )
    assert section(text, "Outcome").strip()
    meta = frontmatter.parse(text.encode()).meta
    assert (meta["title"], meta["files"], meta["session"]) == (
        "Fix add",
        ["calc.py", "test_calc.py"],
        "sess-1",
    )
    assert (meta["trigger"], meta["source"], meta["tags"]) == ("session_end", "auto", ["python"])


@pytest.mark.parametrize(
    "fixture",
    ["tools-headless", "tools-interactive", "compact-interactive", "subagent-interactive"],
)
def test_what_is_not_work_is_not_told(session, fixture):
    """Reminders, injected context, summaries, notifications, expanded commands and looking around
    stay out.
    """
    (text,) = session.copy(fixture).fire("SessionEnd")
    for alien in (
        "system-reminder",
        "MEMORY",
        "add() was broken",
        "FAKE-COMPACT-SUMMARY",
        "task-notification",
        "HELLO-CMD",
        "inject",
        "git status",
        "ls &&",
        "bang-mode",
        "Compacted",
        "PreCompact",
        "d245b09",
        "README",
        "in-sub",
        "command-name",
        "Let me look",
        "internal metadata",
        "/home/dev",
    ):
        assert alien not in text, alien


@pytest.mark.parametrize("fixture", ["plain-headless"])
def test_a_session_with_nothing_to_keep_gets_no_file(session, fixture):
    """Small talk leaves no checkpoint."""
    assert session.copy(fixture).fire("SessionEnd") == []


# --- what must never be captured


def test_a_nested_worker_does_nothing(session):
    """Inside dayleaf's own model no event is served."""
    session.ask("x").edit("a.py")
    session.env["DAYLEAF_NESTED"] = "1"
    assert session.fire("SessionEnd") == []


def test_secrets_are_gone_before_anything_is_written(session):
    """Neither the checkpoint nor any other file under the home holds a secret, in whatever place it
    came.
    """
    a, b, c = secret_of(1), secret_of(2), "hv" + "s." + "CAESIJ4kqzW8vNp3TtRr7Zb2YyQx"
    session.ask("use token " + a + " please").edit("a.py").say(
        "Works because the header is %s." % b
    )
    session.bash("curl -H 'Authorization: Bearer %s' https://x" % c, "error: denied for " + a, 22)
    session.bash("git commit -m 'add %s'" % b, "[main 1a2b3c4] add " + b)
    session.fire("Stop", last_assistant_message="Done with " + a)
    session.fire("SessionEnd")
    found = [p for p in Path(session.place.home).rglob("*") if p.is_file()]
    assert len(found) > 2
    for path in found:
        data = path.read_text("utf-8", "replace")
        assert not any(s in data for s in (a, b, c)), path
    assert "[redacted:" in session.files()[0]


def test_a_secret_named_earlier_is_found_bare_later(session):
    """A value known from an earlier reading of the stretch is removed from later text too."""
    value = "zK8" + "qLm2VxR9tPw4Ys"
    session.ask("set it up with DB_PASSWORD=" + value).edit("a.py")
    session.fire("Stop")
    session.bash("connect --as " + value, "error: refused for " + value, 1).edit("b.py")
    session.fire("Stop")
    session.say("Chose %s because it was there." % value)
    session.fire("Stop", last_assistant_message="Used %s instead of another." % value)
    assert value not in session.state.read_text()
    work(session)
    (text,) = session.fire("SessionEnd")
    assert value not in text and value not in session.state.read_text() and "b.py" in text


def test_a_secret_at_the_end_of_a_long_error_leaves_no_part(session):
    """Error lines are shortened like all text: never inside a word."""
    for width in range(270, 300, 3):
        session.bash("cargo run %d" % width, "error: " + "y " * (width // 2) + secret_of(8), 1)
    (text,) = session.fire("SessionEnd")
    assert secret_of(8)[:6] not in text


def test_rereading_a_stretch_repeats_nothing(session):
    """After a secret each reading starts at the stretch again, and nothing is told twice or from
    before it.
    """
    session.ask("before").edit("old.py").fire("PreCompact")
    session.ask("first " + secret_of(4)).edit("a.py").bash("cargo build", "error: x", 1).fire(
        "Stop"
    )
    session.ask("second").edit("b.py").fire("Stop")
    session.ask("third").fire("Stop")
    text = session.ask("fourth").fire("SessionEnd")[1]
    words = re.findall(r"^- [\d:]+ (\w+)", section(text, "Turns"), re.M)
    assert (
        words == ["first", "second", "third", "fourth"] and "×" not in text and "old.py" not in text
    )


def test_rereading_stops_where_a_person_took_over(session):
    """Work that stands in a file a person edited is not told again because a secret came later."""
    work(session.ask("first")).fire("Stop")
    mine = session.where()[0]
    mine.write_text(mine.read_text() + "\nMine.\n")
    work(session.ask("second " + secret_of(5))).edit("b.py").fire("Stop")
    session.ask("third").edit("c.py").fire("SessionEnd")
    (text,) = [p.read_text() for p in session.where() if p != mine]
    assert "c.py" in text and " first" not in text


def test_a_secret_cut_by_a_limit_leaves_no_part(session):
    """Text is shortened only once its secrets are out, or at white space."""
    value = secret_of(3)
    for pad in range(760, 810, 7):
        session.ask("w" * 7 + " " + "x " * (pad // 2) + value)
    session.ask("y " * 990 + value).edit("a.py")
    (text,) = session.fire("SessionEnd")
    assert value[:12] not in text and value[:12] not in session.state.read_text()


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_files_are_private_whatever_the_umask(session):
    """Checkpoint, state and lock are 0600, folders 0700."""
    old = os.umask(0)
    try:
        session.ask("x").edit("a.py").fire("SessionEnd")
    finally:
        os.umask(old)
    for path in Path(session.place.home).rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


# --- when


def test_stop_waits_for_enough_new_work(session):
    """Stop writes once eight units are there, updates in place after eight more, and knows the last
    message.
    """
    session.ask("x").edit("a.py")
    assert session.fire("Stop") == []
    work(session, 3)
    (first,) = session.fire("Stop", last_assistant_message="Chose it because the transcript lags.")
    assert "Chose it because the transcript lags." in first and "trigger: stop" in first
    session.edit("late.py")
    assert session.fire("Stop") == [first]
    work(session, 4)
    (second,) = session.fire("Stop")
    assert "late.py" in second and second != first


def test_a_stop_that_is_served_late_writes_no_old_answer_below_a_new_request(session):
    """Its worker reads a transcript that has the next turn already."""
    session.ask("first").edit("a.py").say("Answer one.")
    session.ask("second").edit("b.py").say("Answer two.")
    session.fire("Stop", last_assistant_message="Answer one.")
    session.fire("Stop", last_assistant_message="Answer two.")
    session.fire("SessionEnd")
    told = session.talk()
    assert told.count("Answer one.") == 1 and told.count("Answer two.") == 1
    assert told.index("Answer one.") < told.index("second")


def test_pre_compact_and_session_end_close(session):
    """They write at once, and later work opens a new file that tells only the later work."""
    (first,) = session.ask("one").edit("a.py").fire("PreCompact")
    assert "trigger: pre_compact" in first
    second = session.ask("two").edit("b.py").fire("SessionEnd")
    assert second[0] == first and len(second) == 2
    assert (
        "b.py" in second[1] and "a.py" not in second[1] and "one" not in section(second[1], "Turns")
    )


def test_session_end_closes_the_file_that_stop_opened(session):
    """Stop and SessionEnd of one stretch make one file."""
    work(session.ask("x")).fire("Stop")
    (text,) = session.say("The parser keeps its cursor now.").fire("SessionEnd")
    assert (
        "trigger: session_end" in text
        and "The parser keeps its cursor now." in section(text, "Outcome")
        and "updated:" in text
    )


def told_of(session):
    """The branch, trigger and files of each checkpoint."""
    pages = [frontmatter.parse(text.encode()).meta for text in session.files()]
    return [(page.get("branch"), page["trigger"], len(page.get("files", []))) for page in pages]


def test_work_on_another_branch_has_a_checkpoint_of_its_own(session):
    """At the end as at a stop, told by one run or by several; what follows on the first branch
    again is of that one.
    """
    for name, stops in (("list", 1), ("rewind", 2), ("list", 1)):
        for _ in range(stops):
            session.on("cli/" + name).ask("Sort the entries of the %s by their date" % name)
            work(session, name=name).say("Sorted the entries.").fire("Stop")
    session.fire("SessionEnd")
    assert told_of(session) == [
        ("cli/list", "switch", 4),
        ("cli/rewind", "switch", 4),
        ("cli/list", "session_end", 4),
    ]
    assert re.findall(r"(?m)^## \d\d:\d\d .* the (\w+) by", session.talk()) == [
        "list",
        "rewind",
        "rewind",
        "list",
    ]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("main", "cli/list", ["cli/list"]),
        ("cli/list", "cli/rewind", ["cli/list", "cli/rewind"]),
        ("HEAD", "cli/list", ["cli/list"]),
        ("cli/list", "master", ["cli/list", "master"]),
        ("cli/list", "HEAD", ["cli/list"]),
    ],
)
def test_what_was_begun_on_a_trunk_goes_along(session, before, after, told):
    """A branch is made of what was changed; one that is detached for a while is the same branch."""
    work(session.on(before).ask("Sort the entries by their date")).say("Sorted the entries.")
    work(session.on(after).ask("Let the command count them too"), name="count").say(
        "The command counts them."
    )
    session.fire("SessionEnd")
    assert [branch for branch, *_ in told_of(session)] == told


@pytest.mark.parametrize(
    ("path", "commits", "told"),
    [
        ("src/m1.py", False, ["cli/rewind"]),
        ("tests/test_m1.py", False, ["cli/rewind"]),
        ("src/m1.py", True, ["cli/list", "cli/rewind"]),
        ("src/count.py", False, ["cli/list", "cli/rewind"]),
    ],
)
def test_a_change_that_was_not_committed_goes_along_to_a_branch_where_it_is_gone_on_with(
    session, path, commits, told
):
    """By the file or its test, in the first turn there that changes something."""
    work(session.on("cli/list").ask("Sort the entries by their date")).say("Sorted the entries.")
    if commits:
        session.bash(
            'git commit -am "Sort the entries"',
            "[cli/list 1a2b3c4] Sort the entries\n 4 files changed",
        )
    session.on("cli/rewind").ask("What is left?").say("The count.").ask("Then count them").edit(
        path
    ).say("The command counts them.")
    session.fire("SessionEnd")
    assert [branch for branch, *_ in told_of(session)] == told


def test_a_turn_that_changes_the_branch_first_is_of_the_new_one(session):
    """One that had changed files by then ends what is told of the old one."""
    work(session.on("cli/list").ask("Sort the entries by their date")).say("Sorted the entries.")
    session.ask("Start over: make a branch for the count").bash(
        "git checkout -b cli/count main", "Switched to a new branch 'cli/count'"
    )
    work(session.on("cli/count"), name="count").say("The command counts them.").fire("SessionEnd")
    assert [branch for branch, *_ in told_of(session)] == ["cli/list", "cli/count"]
    assert "count0.py" not in session.files()[0] and "Start over" in session.files()[1]


def test_a_turn_that_changed_files_before_the_branch_is_of_the_old_one(session):
    work(session.on("cli/list").ask("Sort the entries, then make a branch for the count")).say(
        "Sorted the entries."
    )
    session.bash("git checkout -b cli/count main", "Switched to a new branch 'cli/count'")
    work(session.on("cli/count").ask("Let the command count them"), name="count").say(
        "It counts them."
    ).fire("SessionEnd")
    assert [branch for branch, *_ in told_of(session)] == ["cli/list", "cli/count"]
    assert "make a branch" in session.files()[0]


def test_what_is_committed_on_another_branch_was_not_left(session):
    """A branch that is made of what was changed, by a turn that edits nothing."""
    work(session.on("cli/list").ask("Sort the entries by their date")).say("Sorted the entries.")
    session.ask("Put this on a branch of its own and commit it").bash(
        "git checkout -b cli/sort", "Switched to a new branch 'cli/sort'"
    )
    session.on("cli/sort").bash(
        'git commit -am "Sort"', "[cli/sort 1a2b3c4] Sort\n 4 files changed"
    ).say("Committed.")
    work(session.ask("Then let it count them"), name="count").say("It counts them.").fire(
        "SessionEnd"
    )
    assert told_of(session) == [("cli/sort", "session_end", 8)]


@pytest.mark.parametrize(
    ("then", "told"), [("m", ["cli/sort"]), ("count", ["cli/list", "cli/sort"])]
)
def test_a_stop_waits_for_what_is_changed_on_another_branch(session, then, told):
    """Until then nothing shows whether the work goes along; read at once or turn by turn, the same
    is told.
    """
    work(session.on("cli/list").ask("Sort the entries by their date")).say(
        "Sorted the entries."
    ).fire("Stop")
    session.ask("Make a branch").bash(
        "git checkout -b cli/sort", "Switched to a new branch 'cli/sort'"
    ).on("cli/sort").say("Made it.")
    assert len(session.fire("Stop")) == 1 and told_of(session)[0][:2] == ("cli/list", "stop")
    work(session.ask("Now sort them backwards"), name=then).say("Sorted.").fire("Stop")
    session.fire("SessionEnd")
    assert [branch for branch, *_ in told_of(session)] == told


def test_work_that_went_along_stays_on_its_new_branch(session):
    """Its turn began on the old one."""
    work(session.on("cli/list").ask("Sort the entries by their date")).say(
        "Sorted the entries."
    ).fire("Stop")
    session.ask("Make a branch of it and go on").bash(
        "git checkout -b cli/sort", "Switched to a new branch 'cli/sort'"
    )
    work(session.on("cli/sort"), name="m").bash(
        'git commit -am "Sort"', "[cli/sort 1a2b3c4] Sort\n 4 files changed"
    ).say("Done.").fire("Stop")
    work(session.ask("Count them too"), name="count").say("Counted.").fire("Stop")
    session.fire("SessionEnd")
    assert [branch for branch, *_ in told_of(session)] == ["cli/sort"]


@pytest.mark.parametrize("commit", ['git commit -am "Sort"', 'git -C . commit -am "Sort"'])
def test_a_commit_in_the_turn_that_leaves_a_branch_is_of_that_branch(session, commit):
    work(session.on("cli/list").ask("Sort the entries by their date")).say(
        "Sorted the entries."
    ).ask("Commit it and go back to master")
    session.bash(commit, "[cli/list 1a2b3c4] Sort\n 4 files changed").bash(
        "git checkout master", "Switched to branch 'master'"
    )
    work(session.on("master").say("Committed.").ask("Now the counter"), name="count").say(
        "It counts."
    ).fire("SessionEnd")
    assert [branch for branch, *_ in told_of(session)] == [
        "cli/list",
        "master",
    ] and "1a2b3c4" in session.files()[0]


def test_a_line_that_cannot_be_parsed_loses_no_checkpoint(session):
    """Nested too deep, where two branches make every prompt be looked at."""
    work(session.on("cli/list").ask("Sort the entries by their date")).say("Sorted the entries.")
    with session.path.open("ab") as file:
        file.write(
            b'{"type":"user","gitBranch":"cli/list","message":{"content":' + b"[" * 200_000 + b"}\n"
        )
    work(session.on("cli/count").ask("Count them"), name="count").say("Counted.").fire("SessionEnd")
    assert [branch for branch, *_ in told_of(session)] == ["cli/list", "cli/count"]


def test_a_switch_tells_no_time_of_later_work(session):
    """The checkpoint of the branch that was left is as old as its last change."""
    work(session.on("cli/list").ask("Sort the entries by their date")).say(
        "Sorted the entries."
    ).fire("Stop")
    (before,) = [frontmatter.parse(text.encode()).meta for text in session.files()]
    session.now += 86_400
    work(session.on("cli/count").ask("Count them"), name="count").say("Counted.").fire("Stop")
    after = frontmatter.parse(session.files()[0].encode()).meta
    assert (after["trigger"], after.get("updated"), after["created"]) == (
        "switch",
        before.get("updated"),
        before["created"],
    )


def test_a_look_at_another_branch_ends_no_stretch(session):
    """Before the first change there is nothing to tell, and after the last one the work stays where
    it was done.
    """
    session.on("cli/old").ask("What does the old list print?").bash(
        "cat src/old.py", "print(1)"
    ).say("It prints the names alone.")
    work(session.on("cli/list").ask("Sort the entries by their date")).say(
        "Sorted the entries."
    ).fire("Stop")
    session.on("main").ask("Push it, please").say("It is pushed.").fire("SessionEnd")
    assert told_of(session) == [("cli/list", "switch", 4)]


def test_a_persons_edit_is_left_alone(session):
    """Once a person edited or removed the checkpoint it is theirs; a new file tells the work
    since.
    """
    work(session.ask("first")).fire("Stop")
    (mine,) = session.where()
    mine.write_text(mine.read_text() + "\nMy own words.\n")
    edited = mine.read_bytes()
    work(session.ask("second").edit("later.py")).fire("Stop")
    assert mine.read_bytes() == edited
    assert len(session.files()) == 2
    new = next(p for p in session.where() if p != mine)
    assert "later.py" in new.read_text() and "first" not in section(new.read_text(), "Request")
    new.unlink()
    session.edit("last.py").fire("SessionEnd")
    others = [p for p in session.where() if p != mine]
    assert (
        len(others) == 1
        and "last.py" in others[0].read_text()
        and "later.py" not in others[0].read_text()
    )


def _open_store(session):
    settings = config.load(session.place.home, session.project, session.env)
    return store.Store(session.place, settings, session.now)


def _name(session, path):
    return "p/" + str(path.relative_to(session.place.private))


@pytest.mark.parametrize("kept", ["archive", "conversation"])
def test_a_checkpoint_that_is_gone_stays_so_without_the_state(session, kept):
    """Its archived copy tells up to when, else the conversation; what comes after is captured."""
    work(session.ask("first")).fire("SessionEnd")
    (path,), (talk,) = session.where(), session.talks()
    if kept == "archive":
        for each in (path, talk):
            _open_store(session).archive(_name(session, each), "forgotten")
    else:
        path.unlink()
    session.state.unlink()
    assert session.fire("SessionEnd") == []
    session.state.unlink()
    (text,) = work(session.ask("second"), name="n").fire("SessionEnd")
    assert "second" in session.talk() and "n0.py" in text and "m0.py" not in text
    assert ("first" in session.talk()) is (kept == "conversation")


def test_an_instant_of_a_wrong_clock_covers_nothing(session):
    """Neither in a record nor in the archive's log."""
    work(session.ask("first")).fire("SessionEnd")
    (path,), (talk,) = session.where(), session.talks()
    late = re.sub(r"(?m)^until: .*", "until: 2031-01-01T00:00:00.000Z", path.read_text())
    path.write_text(late)
    _open_store(session).remove(_name(session, path))
    talk.unlink(), session.state.unlink()
    assert len(session.fire("SessionEnd")) == 1


def test_a_capture_that_dies_between_both_files_is_gone_on_with(session, monkeypatch):
    """The conversation that was written does not stand for the checkpoint that was not."""
    work(session.ask("first"))
    with monkeypatch.context() as patch:
        patch.setattr(stretches.Capture, "_add_checkpoint", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            session.fire("SessionEnd")
    assert session.talks() and not session.where()
    assert len(session.fire("SessionEnd")) == 1 and "first" in session.talk()


def test_incremental_capture_is_whole_capture(env, project, now, tmp_path):
    """However a transcript is cut into readings, the last checkpoint says the same."""
    data = (DATA / "compact-interactive.jsonl").read_bytes()
    whole = Session(env, project, now, "whole")
    whole.path.write_bytes(data)
    whole.fire("SessionEnd")
    (text,) = whole.files()
    shutil.rmtree(whole.place.home)
    parts = Session(env, project, now, "parts")
    rng = random.Random(5)
    for end in [*sorted(rng.sample(range(1, len(data)), 30)), len(data)]:
        parts.path.write_bytes(data[:end])
        parts.fire("Stop")
    (other,) = parts.fire("SessionEnd")
    assert frontmatter.parse(other.encode()).body == frontmatter.parse(text.encode()).body


def test_a_fork_tells_only_its_own_work(env, project, now):
    """A fork copies history with the same ids; it is not captured again, even before the parent is
    written.
    """
    parent = Session(env, project, now, "parent")
    parent.ask("first").edit("old.py").fire("Stop")
    child = Session(env, project, now, "child")
    child.path.write_bytes(parent.path.read_bytes())
    child.clock = parent.clock
    assert child.fire("SessionEnd") == []
    child.ask("second").edit("new.py").fire("SessionEnd")
    (text,) = child.files()
    assert "new.py" in text and "old.py" not in text and "first" not in text
    parent.edit("parents.py").fire("SessionEnd")
    assert sum("old.py" in t for t in parent.files()) == 1
    grandchild = Session(env, project, now, "grandchild")
    grandchild.path.write_bytes(child.path.read_bytes())
    before = parent.files()
    assert grandchild.fire("SessionEnd") == before


def test_duplicate_lines_count_once(session):
    """A line that stands twice in a transcript is told once."""
    session.ask("x").bash("cargo build", "ok")
    session.path.write_bytes(session.path.read_bytes() * 2)
    (text,) = session.fire("SessionEnd")
    assert "×" not in text


def test_lines_without_an_id_count(session):
    """A line without a uuid is never taken for a known one."""
    session.line("user", "first", promptSource="typed", uuid="").edit("a.py")
    session.line("user", "second", promptSource="typed", uuid="").edit("b.py")
    session.line("user", "third", promptSource="typed", uuid="")
    assert re.findall(r"first|second|third", section(session.fire("SessionEnd")[0], "Turns")) == [
        "first",
        "second",
        "third",
    ]


def test_what_the_model_repeats_of_a_private_part_is_kept_nowhere(session):
    """Neither in this turn nor in one that a later worker reads; nor does the state hold it."""
    session.ask("add <private>Projekt Eisvogel</private> to the list").edit("src/eisvogel.py")
    session.bash('git commit -m "add eisvogel"', "[main abc1234] add eisvogel")
    work(session.say("I added Projekt Eisvogel.")).fire("Stop")
    work(session.ask("go on").say("EISVOGEL is tested.")).fire("SessionEnd")
    work(session.ask("and now?").say("Eisvogel is shipped.")).fire("SessionEnd")
    kept = [path for path in Path(session.place.home).rglob("*") if path.is_file()]
    assert not [p for p in kept if "eisvogel" in (p.name + p.read_text("utf-8")).lower()]
    assert "is shipped" in session.talk() and "[redacted:private#" in session.talk()


def test_capture_can_be_switched_off(session):
    """capture.enabled false: no file, no state."""
    session.env["DAYLEAF_CAPTURE_ENABLED"] = "false"
    assert session.ask("x").edit("a.py").fire("SessionEnd") == []
    assert not session.state.exists()


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"hook_event_name": "SessionEnd"},
        {"hook_event_name": ["x"]},
        {"hook_event_name": "Stop", "session_id": "../x"},
        {"hook_event_name": "SessionEnd", "session_id": "s", "transcript_path": "/etc/passwd"},
        {"hook_event_name": "SessionEnd", "session_id": 5, "transcript_path": None},
    ],
)
def test_a_malformed_event_does_nothing(session, event):
    """Whatever came on stdin, nothing is read or written."""
    worker.work(event, session.env, session.now)
    assert not Path(session.place.home).exists()


def test_a_subagents_own_events_are_not_the_sessions(session):
    """An event with an agent_id belongs to a subagent."""
    session.ask("x").edit("a.py")
    assert session.fire("SessionEnd", agent_id="a1") == []


def test_racing_workers_make_one_file(session):
    """Stop and SessionEnd workers of one session do not race."""
    work(session.ask("x"))
    children = [
        starting(session, name, session.now + 60 * number, last_assistant_message="bye")
        for number, name in enumerate(("Stop", "SessionEnd", "Stop", "SessionEnd", "PreCompact"))
    ]
    assert [child.wait(30) for child in children] == [0] * 5
    assert len(session.files()) == 1


def test_changes_are_reported(session):
    """The index hears of each record that was written."""
    session.ask("x").edit("a.py")
    heard = []
    session.capture("SessionEnd", heard.append)
    assert sorted(map(session.place.path, heard)) == sorted(
        map(str, [*session.where(), *session.talks()])
    )


def test_a_failed_write_raises_and_loses_nothing(session, monkeypatch):
    """A write that fails is raised for the log, and the next run writes what was not written."""
    session.ask("x").edit("a.py")
    with monkeypatch.context() as patch:
        patch.setattr(
            store.Store, "add", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left"))
        )
        with pytest.raises(OSError):
            session.fire("SessionEnd")
    assert len(session.fire("SessionEnd")) == 1


# --- time


@pytest.mark.alone
def test_fifty_megabytes_take_little_more_than_reading_them(session):
    """Thousands of turns, start of Python and index included; more costs only the new part."""
    big(session.path, 50 * 10**6)
    start = time.process_time()
    with session.path.open("rb") as file:
        assert sum(len(json.loads(line)) for line in file)
    reading = time.process_time() - start  # a yardstick for this machine
    took = serve(session)
    assert took < 3.0 + 8 * reading
    (text,) = session.files()
    assert len(frontmatter.parse(text.encode()).body) <= checkpointpage.BODY
    session.ask("one more").edit("new.py")
    assert serve(session) < 1.5 + 4 * reading
    assert "new.py" in session.files()[1]


@pytest.mark.alone
def test_a_usual_transcript_is_captured_at_once(session):
    """200 KB take under 150 ms in a process of its own (six times that here, for a slow
    machine).
    """
    big(session.path, 2 * 10**5)
    serve(session)
    session.ask("more").edit("new.py")
    assert min(serve(session), serve(session, "Stop")) < 0.9
    assert len(session.files()) == 2


def test_a_session_of_short_answers_leaves_its_conversation(env, project, now, ok):
    """No checkpoint tells `8080`, yet what was asked is found, and `dayleaf` shows the session; a
    greeting alone leaves nothing.
    """
    greeted = Session(env, project, now, "greeted")
    greeted.ask("hi").say("Hello!")
    greeted.ask("thanks").say("You are welcome.")
    assert not greeted.capture("SessionEnd") and not greeted.talks()
    asked = Session(env, project, now, "asked")
    asked.ask("what is the port of the dev server?").say("8080.")
    asked.ask("thanks").say("You are welcome.")
    assert not asked.capture("SessionEnd") and len(asked.talks()) == 1 and not asked.files()
    asked.ask("and of the metrics server?").say("9090.")
    assert not asked.capture("SessionEnd") and len(asked.talks()) == 1
    assert "8080" in ok("recall", "port of the dev server") and "9090" in ok(
        "recall", "metrics server"
    )
    told = ok("today")
    assert "what is the port of the dev server" in told and "9090." in told


def test_a_session_is_of_the_day_of_its_last_turn(env, project, now):
    """However late its window is closed."""
    session = Session(env, project, now + 86400, "late")
    session.ask("fix the parser").edit("parser.py").say("Fixed.")
    session.now += 86400
    (text,) = session.fire("SessionEnd")
    head = frontmatter.parse(text.encode()).meta
    assert head["created"][:19] == head["until"][:19]
    assert "/%s/" % head["until"][:10] in str(session.where()[0])


def test_a_checkpoint_says_when_its_first_turn_began(env, project, now, ok):
    """So that a session captured once is found by each of its days."""
    session = Session(env, project, now - 2 * 86400, "left-open")
    session.ask("fix the parser").edit("parser.py").say("Fixed.")
    session.now += 86400
    session.ask("test the parser").edit("parser.py").say("Tested.")
    (text,) = session.fire("SessionEnd")
    head = frontmatter.parse(text.encode()).meta
    day = head["since"][:10]
    assert day < head["created"][:10] == head["until"][:10]
    assert "parser" in ok("recall", "--kind", "checkpoint", "--from", day, "--to", day)


def test_a_session_that_nobody_typed_into_is_marked(env, project, now):
    """By what the host notes of who asked; once a person typed, it is theirs."""
    session = Session(env, project, now, "bot")
    bot = {"entrypoint": "sdk-cli", "promptSource": "sdk", "turnOrigin": "sdk"}
    session.line("user", "you are a nightly bot", **bot).edit("summary.md")
    (text,) = session.say("Wrote the summary.").fire("SessionEnd")
    assert frontmatter.parse(text.encode()).meta["unattended"] == "true"
    assert "unattended: true" in session.talk()
    session.ask("go on with the other one").edit("other.md")
    assert "unattended" not in frontmatter.parse(session.fire("SessionEnd")[-1].encode()).meta
    assert "unattended" not in session.talk()


@pytest.mark.parametrize("ends", [True, False])
def test_a_program_that_goes_on_with_a_persons_session_types_nothing(env, project, now, ends):
    """Its turns are a checkpoint of their own, captured as they came or all at once."""
    session = Session(env, project, now, "timed")
    bot = {"entrypoint": "sdk-cli", "promptSource": "sdk", "turnOrigin": "sdk"}

    def end():
        if ends:
            session.capture("SessionEnd")

    session.ask("fix the parser").edit("parser.py").say("Fixed the parser.")
    end()
    session.line("user", "summarise the night", **bot).edit("night.md").say("Summarised.")
    session.line("user", "From now on always write in capitals.", **bot).say("Noted: capitals.")
    end()
    session.line("system", "", subtype="compact_boundary").edit("more.md").say("More of the night.")
    end()
    session.ask("why is the night so long?").say("Because the filter " + "lets all through. " * 30)
    marks = [
        (frontmatter.parse(text.encode()).meta.get("unattended"), text)
        for text in session.fire("SessionEnd")
    ]
    assert [mark for mark, _ in marks] == [None, *["true"] * (1 + ends), None]
    assert "Fixed the parser." in marks[0][1] and "Summarised" not in marks[0][1]
    assert "the filter" in marks[-1][1] and "Summarised" not in marks[-1][1]
    assert not [*Path(session.place.private).glob("rules/*")]
    assert session.talk().count("\n## ") == 4 + ends


@pytest.mark.parametrize("kind", ["cron", "channel", "plugin"])
def test_a_session_of_other_senders_alone_is_marked(env, project, now, kind):
    """Their words are no request; but nobody typed one either."""
    session = Session(env, project, now, "sent")
    sender = {"entrypoint": "cli", "origin": {"kind": kind}}
    session.line("user", "Nightly: write the report.", **sender).edit("report.md")
    (text,) = session.say("Wrote the report.").fire("SessionEnd")
    assert frontmatter.parse(text.encode()).meta["unattended"] == "true"
    session.ask("now the weekly one").edit("weekly.md")
    assert "unattended" not in frontmatter.parse(session.fire("SessionEnd")[-1].encode()).meta


def test_a_request_before_a_programs_stays_in_the_conversation(env, project, now):
    """Though nothing came of it."""
    session = Session(env, project, now, "timed")
    session.ask("fix the parser")
    bot = {"entrypoint": "sdk-cli", "promptSource": "sdk"}
    session.line("user", "summarise the night", **bot).edit("night.md").say("Summarised.")
    session.fire("SessionEnd")
    assert "fix the parser" in session.talk() and "summarise the night" in session.talk()


@pytest.mark.parametrize(
    ("tag", "unattended"),
    [("teammate-message teammate_id=", "true"), ("channel source=", None)],
)
def test_a_teammates_session_is_no_persons_and_a_channels_is(env, project, now, tag, unattended):
    session = Session(env, project, now, "sent")
    session.line("user", '<%s"lead">\nReview the cache.\n</%s>' % (tag, tag.split()[0]))
    (text,) = session.edit("cache.py").say("Reviewed.").fire("SessionEnd")
    assert frontmatter.parse(text.encode()).meta.get("unattended") == unattended


def test_who_answers_a_menu_is_a_person(env, project, now):
    """A program asks through the SDK, and so does an app with a person before it."""
    session = Session(env, project, now, "app")
    session.line("user", "move the cache", entrypoint="sdk-ts").tool(
        "AskUserQuestion", {}, "…", result={"answers": {"Which store?": "Files"}}
    )
    (text,) = session.edit("cache.py").say("Moved.").fire("SessionEnd")
    assert "unattended" not in frontmatter.parse(text.encode()).meta


def test_a_name_that_the_host_made_of_the_worktree_is_no_title(env, project, now):
    for name, title in (("quiet-otter", "Move the cache"), ("The cache move", "The cache move")):
        session = Session(env, project, now, name.replace(" ", "-")).on("worktree-quiet-otter")
        session.ask("Move the cache").edit("cache.py").say("Moved.")
        session.line("custom-title", "", message=None, customTitle=name)
        assert frontmatter.parse(session.fire("SessionEnd")[-1].encode()).meta["title"] == title


@pytest.mark.parametrize("when", ["planned", "later", "short", "at once"])
def test_the_name_that_the_user_gave_a_session_finds_it(env, project, now, ok, when):
    """Beside an approved plan's heading, and given after all was captured."""
    session = Session(env, project, now, "named").ask("Please move the cache to files.")

    def end():
        session.capture("SessionEnd")

    if when == "planned":
        plan = "# Gibbon migration\n\n- [ ] one step"
        session.tool("ExitPlanMode", {"plan": plan}, "User has approved your plan", result={})
    session = session if when == "short" else session.edit("cache.py")
    session.say("Moved.")
    if when in ("later", "short"):
        end()
    session.line("custom-title", "", message=None, customTitle="walrus-cleanup")
    end()
    end()
    found = [*session.files(), session.talk()]
    told = [frontmatter.parse(text.encode()).meta for text in found]
    assert all("walrus-cleanup" in (meta["title"], *meta.get("aliases", ())) for meta in told)
    assert "Nothing" not in ok("recall", "walrus cleanup")


def test_a_name_given_later_changes_no_record_that_a_person_edited(env, project, now):
    session = Session(env, project, now, "named").ask("Please move the cache.").edit("cache.py")
    session.say("Moved.").capture("SessionEnd")
    before = [
        path.read_text("utf-8") + "\nMine.\n" for path in (*session.where(), *session.talks())
    ]
    for path, text in zip((*session.where(), *session.talks()), before):
        path.write_text(text, "utf-8")
    session.line("custom-title", "", message=None, customTitle="walrus-cleanup")
    session.capture("SessionEnd")
    assert [*session.files(), session.talk()] == before
