"""Sessions that ended before they were written down: found wherever their transcript stands, told
once.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.session import Session

from memory.capture import progress, recovery
from memory.capture.stretches import capture
from memory.core import clock, config, frontmatter, layout
from memory.hook import at_start
from memory.project import adoption
from memory.session import whereabouts


def test_dead_sessions_are_recovered_once(env, project, now):
    """Sessions with receipts and unwritten work are closed; live, current, foreign and empty ones
    are let be.
    """

    def begin(name, **line):
        one = Session(env, project, now, name)
        receipts = Path(one.place.receipts(name))
        receipts.parent.mkdir(parents=True, exist_ok=True)
        receipts.write_text(
            json.dumps(
                {"v": 1, "t": "x", "event": "start", "transcript": str(one.path), **line},
                separators=(",", ":"),
            )
            + "\n"
        )
        return one

    dead, live, current, empty, throttled = (
        begin(n) for n in ("dead", "live", "current", "empty", "throttled")
    )
    for one in (dead, live, current, throttled):
        one.ask("x").edit(one.name + ".py")
    empty.ask("hi").say("hello")
    throttled.fire("Stop")
    begin("lying", transcript="/etc/passwd")
    unseen = Session(env, project, now, "unseen").ask("x").edit("unseen.py")
    for one in (dead, current, empty, throttled, unseen):
        os.utime(one.path, (now - 60, now - 60))
    live.clock = 4990
    live.edit("live2.py")
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
    assert capture(
        session.place,
        settings,
        session.env,
        session.now,
        session.name,
        str(session.path),
        "recovery",
    )
    assert progress.read_captured_size(session.place, session.name) == session.path.stat().st_size


@pytest.mark.parametrize("torn", [b'{"type":"assistant","mess', b"\0" * 4096, b"{" * (1 << 19)])
def test_a_half_written_last_line_leaves_nothing_to_complete(session, torn):
    """Doctor is silent after the one capture; a line that comes later is captured."""
    session.ask("rename the parser").edit("a.py")
    session.path.write_bytes(session.path.read_bytes() + torn)
    os.utime(session.path, (session.now - 60,) * 2)
    receipts = Path(session.place.receipts(session.name))
    receipts.parent.mkdir(parents=True, exist_ok=True)
    receipts.write_text(json.dumps({"v": 1, "event": "start"}) + "\n")
    assert recovered(session.place, session.env, session.now) == 1
    assert recovery.find_uncaptured(session.place, session.env, session.now, "").sessions == []
    session.path.write_bytes(session.path.read_bytes() + b"\n")
    session.ask("and the lexer").edit("b.py")
    os.utime(session.path, (session.now - 60,) * 2)
    assert recovered(session.place, session.env, session.now) == 1


# ---- wherever the transcript stands


@pytest.fixture
def started(env, project, now):
    """Begin a session whose start a hook saw, an hour ago."""

    def begin(name="moved", age=600):
        one = Session(env, project, now, name)
        receipts = Path(one.place.receipts(name))
        receipts.parent.mkdir(parents=True, exist_ok=True)
        receipts.write_text(
            json.dumps({"v": 1, "event": "start", "transcript": str(one.path)}) + "\n"
        )
        os.utime(receipts, (now - 7200,) * 2)
        one.ask("fix the zephyr parser").edit("calc.py").say("The zephyr parser is fixed.")
        os.utime(one.path, (now - age,) * 2)
        return one

    return begin


def recovered(place, env, now, current=""):
    """Recover what is lost and return how many checkpoints that wrote."""
    return recovery.recover(place, config.load(place.home, place.project, env), env, now, current)


def moved(session, folder):
    """Rename a transcript into another folder of the host, as it does for a session that enters a
    worktree.
    """
    target = session.path.parents[1] / folder / session.path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(session.path, target)
    session.path = target
    return session


def test_a_session_whose_transcript_moved_is_recovered(started, env, now):
    """Its file's name is looked for in every folder of the host."""
    session = moved(started(), "-w--claude-worktrees-feat")
    assert recovered(session.place, env, now) == 1
    assert "zephyr" in session.files()[0] and recovered(session.place, env, now) == 0


@pytest.mark.parametrize("half", [True, False])
def test_a_transcript_that_cannot_be_read_whole_is_said_everywhere(started, env, now, run, half):
    """Once at a start, by doctor and by the import, each with the remedy; the rest is kept."""
    session = started()
    moved(session, whereabouts.make_folder_prefix(session.place.root))
    data = session.path.read_bytes()
    lost = data.index(b"\n", 300) - 9 if half else len(data)
    session.path.write_bytes(bytes(lost) + data[lost:])
    os.utime(session.path, (now - 600,) * 2)
    recovered(session.place, env, now)
    recovered(session.place, env, now)
    event = {"session_id": "next", "source": "startup", "cwd": session.place.project}
    said = at_start.on_session_start(event, env, now)[0]["systemMessage"]
    assert "1 failure since" in said and "transcript: OSError it cannot be read whole" in said
    found = run("doctor").stdout
    assert "1 transcript cannot be read whole, such as %s" % session.path in found
    done = run("store", "import", "transcripts").stdout
    assert "%s: it cannot be read whole; put a copy" % session.path in done
    assert bool(session.files()) is half


def test_the_other_directory_of_the_host_is_looked_into_too(started, env, now, tmp_path):
    """A session of CLAUDE_CONFIG_DIR, and one of the home."""
    session = started()
    other = {**env, "CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    target = tmp_path / "other" / "projects" / "-x" / session.path.name
    target.parent.mkdir(parents=True)
    shutil.move(session.path, target)
    assert recovered(session.place, env, now) == 0
    assert recovered(session.place, other, now) == 1


def test_the_start_tells_the_directory_of_the_host(env, project, now, tmp_path):
    """A later one may be without CLAUDE_CONFIG_DIR; one that only stdin names does not count."""
    for name, host in (("told", "other"), ("lying", "elsewhere")):
        session = Session(env, project, now, name).ask("x").edit(name + ".py")
        path = tmp_path / "other" / "projects" / "-x" / session.path.name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(session.path, path)
        os.utime(path, (now - 600,) * 2)
        event = {"session_id": name, "source": "startup", "cwd": str(project)}
        event["transcript_path"] = str(path)
        there = {**env, "CLAUDE_CONFIG_DIR": str(tmp_path / host)}
        at_start.on_session_start(event, there, now - 900)
    assert recovered(session.place, env, now) == 1 and "told.py" in session.files()[0]


def test_of_two_copies_the_longer_one_is_told(started, env, now):
    """The one that the session went on with."""
    session = started()
    short = session.path.read_bytes()
    moved(session.edit("later.py"), "-w2")
    os.utime(session.path, (now - 600,) * 2)
    (session.path.parents[1] / "-w" / session.path.name).write_bytes(short)
    assert recovered(session.place, env, now) == 1
    assert "later.py" in session.files()[0]


def test_an_end_that_names_a_transcript_that_moved_is_captured(started):
    """The hook's payload may name the folder of before."""
    session = started()
    before = session.path
    moved(session, "-elsewhere")
    session.path, there = before, session.path
    assert len(session.fire("SessionEnd")) == 1 and there.exists()


def own(session, directory=None):
    """Put a transcript into the folder that the host makes for a directory."""
    return moved(session, whereabouts.make_folder_prefix(directory or session.project))


def test_a_session_whose_start_no_hook_saw_is_found(started, env, project, now):
    """In the project's own folder, once a hook saw another start; one of another project with a
    like name is not.
    """
    started("known", age=10)
    other = Path(project).parent / (Path(project).name + "-2")
    other.mkdir()
    for name, at in (("silent", project), ("foreign", str(other))):
        one = (
            Session(env, at, now, name)
            .ask("fix the zephyr parser")
            .edit("calc.py")
            .say("The parser is fixed.")
        )
        os.utime(own(one, at).path, (now - 600,) * 2)
    place = layout.locate(env, project)
    assert [
        session for session, _ in recovery.find_uncaptured(place, env, now, "known").sessions
    ] == ["silent"]
    assert recovered(place, env, now, "known") == 1 and recovered(place, env, now, "known") == 0


def test_a_session_of_a_worktree_that_stands_elsewhere_is_found(project, env, now, tmp_path):
    """Git's own list says where the checkouts are."""
    tree = tmp_path / "feature tree"
    commit = (
        "git -c user.name=A -c user.email=a@x commit -q --allow-empty -m first && git "
        "worktree add -q -b feat '%s'"
    ) % tree
    subprocess.run(commit, shell=True, cwd=project, env=env, check=True)
    one = (
        Session(env, str(tree), now, "silent")
        .ask("fix the zephyr parser")
        .edit("calc.py")
        .say("Fixed.")
    )
    os.utime(own(one, str(tree)).path, (now - 600,) * 2)
    place = layout.locate(env, project)
    assert [session for session, _ in recovery.find_uncaptured(place, env, now, "").sessions] == [
        "silent"
    ]


def test_a_session_of_before_its_folder_moved_is_found(project, env, now):
    """The path that the workspace was seen with names the host's folder."""
    place = layout.locate(env, project)
    before = str(Path(project).parent / "before")
    Path(place.home).mkdir(parents=True, exist_ok=True)
    Path(place.home + layout.PLACES).write_text(
        "{%s}\n" % layout.format_place_row(place.key, before)
    )
    one = Session(env, before, now, "silent").ask("fix the parser").edit("calc.py").say("Fixed.")
    os.utime(own(one, before).path, (now - 600,) * 2)
    assert [session for session, _ in recovery.find_uncaptured(place, env, now, "").sessions] == [
        "silent"
    ]


def test_a_session_that_died_before_its_checkout_moved_is_offered_then_found(env, project, now):
    """Nothing of its workspace is written but its start; the commit tells whose it was.  While the
    old path still stands, a copy gets no offer.
    """
    run = {"cwd": project, "check": True}
    for words in ("init -q .", "-c user.name=A -c user.email=a@x commit -q --allow-empty -m one"):
        subprocess.run(["git", *words.split()], **run)
    session = Session(env, project, now, "dead").ask("fix the parser").edit("calc.py")
    os.utime(session.path, (now - 600,) * 2)
    place = session.place
    Path(place.receipts_folder).mkdir(parents=True)
    Path(place.receipts("dead")).write_text("{}\n")
    adoption.note_path(place, now)
    copy, target = project + "-copy", project + "-moved"
    shutil.copytree(project, copy)
    assert adoption.find_past_workspace(layout.locate(env, copy)) == ""
    os.rename(project, target)
    there = layout.locate(env, target)
    adoption.note_path(there, now)
    assert adoption.find_past_workspace(there) == place.key != there.key
    there.claimed = place.key
    assert adoption.confirm_claim(there, "person", now).key == place.key
    assert recovered(layout.locate(env, target), env, now) == 1


def test_a_session_of_when_its_path_was_another_project_s_is_left(project, env, now):
    """Its history was begun anew, or a person gave the path another workspace."""
    place = layout.locate(env, project)
    Path(place.home, "workspaces", "client-12345678").mkdir(parents=True)
    one = Session(env, project, now, "silent").ask("fix the parser").edit("calc.py").say("Fixed.")
    os.utime(own(one).path, (now - 600,) * 2)
    for keys, found in (
        (["client-12345678", place.key], []),
        (["renamed-since-12345678", place.key], ["silent"]),
    ):
        rows = [
            '{"t":"%s",%s}\n' % (clock.iso(now + at), layout.format_place_row(key, place.anchor))
            for at, key in zip((-5000, 9000), keys)
        ]
        Path(place.home + layout.PLACES).write_text("".join(rows).replace('"}', '","by":"first"}'))
        lost = recovery.find_uncaptured(place, env, now, "").sessions
        assert [session for session, _ in lost] == found, keys


def test_a_session_of_a_folder_behind_a_link_is_found(project, env, now, tmp_path):
    """The host's folder may be named after the link."""
    link = tmp_path / "link"
    link.symlink_to(project)
    one = Session(env, str(link), now, "silent").ask("fix the parser").edit("calc.py").say("Fixed.")
    os.utime(own(one, str(link)).path, (now - 600,) * 2)
    env = {**env, "CLAUDE_PROJECT_DIR": str(link)}
    place = layout.locate(env, str(link))
    assert [session for session, _ in recovery.find_uncaptured(place, env, now, "").sessions] == [
        "silent"
    ]


def test_what_ended_before_dayleaf_was_there_waits_for_an_import(started, env, project, now):
    """A day counts: the session in which it was set up began without it."""
    known = started("known", age=10)
    for name, days in (("yesterday", 0.9), ("older", 2), ("ancient", 90)):
        one = (
            Session(env, project, now - days * clock.DAY - 2200, name)
            .ask("fix the parser")
            .edit("calc.py")
            .say("Fixed.")
        )
        os.utime(own(one).path, (now - days * clock.DAY,) * 2)
    found = recovery.find_uncaptured(known.place, env, now, "known")
    assert [session for session, _ in found.sessions] == ["yesterday"]
    assert sorted(found.before) == ["ancient", "older"]


def test_a_copy_is_as_old_as_its_records(started, env, now):
    """A file that was just copied is no running session; one whose last line is new is."""
    copied = started("copied", age=0)
    assert recovered(copied.place, env, now) == 1
    running = started("running", age=0)
    running.clock = 4995
    running.edit("new.py")
    os.utime(running.path, (now,) * 2)
    assert recovered(running.place, env, now) == 0
