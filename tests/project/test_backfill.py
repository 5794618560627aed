"""`dayleaf store import transcripts`: checkpoints of past sessions, through the capture of the
hooks.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory.capture import progress
from memory.capture import stretches as capture
from memory.core import clock, config, frontmatter, layout

ROOT = Path(__file__).parents[2]
TOKEN = "gh" + "p_" + "x9Kd83jfLq02mZvB7tYw5RnC1sHa4UeGpXoI"


class Past:
    """The host's transcripts of past sessions: each `session` is a prompt, an edit and a command, a
    compaction between.
    """

    def __init__(self, env, project, now):
        self.env, self.project, self.now, self.calls = env, project, now, 0
        self.root = Path(env["HOME"], ".claude", "projects")

    def session(
        self, name, days, stretches=("parse",), cwd="", prompt="fix the %s module", folder="-w"
    ):
        path = self.root / folder / (name + ".jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        start = self.now - days * clock.DAY
        rows = []
        for number, word in enumerate(stretches):
            rows += [{"type": "system", "subtype": "compact_boundary"}] if number else []
            rows += self._stretch(word, prompt)
        with path.open("a") as file:
            for at, row in enumerate(rows):
                stamp = clock.iso(start + at).replace("Z", ".000Z")
                file.write(
                    json.dumps(
                        {
                            "uuid": f"{hash(name) & 0xFFFFFFFF:08x}-{at:04x}-4000",
                            "timestamp": stamp,
                            "gitBranch": "main",
                            "cwd": cwd or self.project,
                            "sessionId": name,
                            **row,
                        }
                    )
                    + "\n"
                )
        os.utime(path, (start + len(rows),) * 2)
        return path

    def _stretch(self, word, prompt):
        self.calls += 2
        calls = [
            (
                "Edit",
                {"file_path": f"{self.project}/{word}.py", "old_string": "a", "new_string": "b"},
                "updated",
            ),
            ("Bash", {"command": f"pytest tests/test_{word}.py"}, "1 passed"),
        ]
        rows = [
            {
                "type": "user",
                "message": {"role": "user", "content": prompt % word if "%s" in prompt else prompt},
                "promptSource": "typed",
                "origin": {"kind": "human"},
            }
        ]
        for number, (tool, given, said) in enumerate(calls):
            id = f"toolu_{self.calls + number}"
            rows += [
                {
                    "type": "assistant",
                    "message": {
                        "content": [{"type": "tool_use", "id": id, "name": tool, "input": given}]
                    },
                },
                {
                    "type": "user",
                    "message": {
                        "content": [{"type": "tool_result", "tool_use_id": id, "content": said}]
                    },
                },
            ]
        return rows


@pytest.fixture
def past(env, project, now):
    return Past(env, project, now)


@pytest.fixture
def took(ok):
    """Import and return what --json says: took(*words)."""
    return lambda *words: json.loads(ok("import", "transcripts", *words, "--json"))


def checkpoints(place):
    """Every checkpoint by its name: (frontmatter, body)."""
    root = Path(place.private, "checkpoints")
    return {
        str(path.relative_to(root)): frontmatter.parse(path.read_bytes())
        for path in sorted(root.rglob("*.md"))
    }


def test_past_sessions_become_checkpoints_of_their_time(past, took, place, now):
    """Named, dated and told as of then; a stretch ends at a compaction; the index knows them."""
    past.session("late", 2, ("cache", "retry"))
    past.session("early", 9)
    found = took()
    assert (found["sessions"], found["new"], found["before"], found["skipped"]) == (2, 2, 0, [])
    told = checkpoints(place)
    assert ["p/checkpoints/" + name for name in told] == found["checkpoints"] and len(told) == 3
    early, cache, retry = told.values()
    assert next(iter(told)).startswith(clock.day(now - 9 * clock.DAY) + "/")
    assert (
        early.meta["created"] == clock.iso(now - 9 * clock.DAY + 4)
        and early.meta["branch"] == "main"
    )
    assert (early.meta["session"], early.meta["source"], early.meta["trigger"]) == (
        "early",
        "auto",
        "recovery",
    )
    assert (
        "cache.py" in cache.body
        and "retry" not in cache.body
        and "retry.py" in retry.body
        and "cache.py" not in retry.body
    )


def test_a_second_import_changes_nothing_and_says_so(past, took, ok, place):
    """Also where the derived state of every session was lost."""
    past.session("a", 3, ("one", "two"))
    past.session("b", 2)
    took()
    before = {path: path.read_bytes() for path in Path(place.private).rglob("*.md")}
    assert ok("import", "transcripts") == "2 sessions: 2 imported before\n"
    shutil.rmtree(place.cache)
    assert ok("import", "transcripts") == "2 sessions: 2 imported before\n"
    assert {path: path.read_bytes() for path in Path(place.private).rglob("*.md")} == before


def test_two_imports_of_the_same_transcripts_give_the_same_bytes(past, took, place):
    """But for the instant of the import, whatever the clock says meanwhile."""
    for number in range(4):
        past.session(f"s{number}", 9 - number, ("one", "two"))
    took()
    first = checkpoints(place)
    shutil.rmtree(place.home)
    time.sleep(1.1)
    took()
    second = checkpoints(place)
    for page in (*first.values(), *second.values()):
        del page.meta["imported"]
    assert {name: page.meta for name, page in second.items()} == {
        name: page.meta for name, page in first.items()
    }
    assert [page.body for page in second.values()] == [
        page.body for page in first.values()
    ] and len(first) == 8


def test_a_session_that_a_hook_captured_is_not_captured_again(past, took, place, env, now):
    """What it did afterwards is, and counts as an update."""
    path = past.session("live", 2)
    settings = config.load(place.home, place.root, env)
    name = capture.capture(
        place, settings, env, now - 2 * clock.DAY + 60, "live", str(path), "session_end"
    )
    assert name and took()["before"] == 1 and len(checkpoints(place)) == 1
    shutil.copy(path, str(path) + ".old")
    rows = (
        Path(past.session("more", 1, ("later",)))
        .read_text()
        .replace('"sessionId": "more"', '"sessionId": "live"')
    )
    with path.open("a") as file:
        file.write(rows)
    os.utime(path, (now - 3600,) * 2)
    (path.parent / "more.jsonl").unlink()
    found = took()
    assert (found["new"], found["updated"], len(checkpoints(place))) == (0, 1, 2)
    assert (
        "later.py" in list(checkpoints(place).values())[1].body
        and "parse.py" not in list(checkpoints(place).values())[1].body
    )


def test_only_this_workspace_unless_all_projects_are_asked_for(past, took, place, env, tmp_path):
    """Each session goes where it belongs; a subdirectory belongs to its repository, a directory
    that is gone is named.
    """
    other, inner = tmp_path / "other one", Path(past.project, "src")
    other.mkdir()
    inner.mkdir()
    past.session("mine", 3)
    past.session("sub", 2, cwd=str(inner), folder="-w-src")
    past.session("theirs", 2, cwd=str(other), folder="-other")
    past.session("gone", 2, cwd=str(tmp_path / "nowhere"), folder="-gone")
    assert took()["new"] == 2 and len(checkpoints(place)) == 2
    found = took("--all-projects")
    assert (found["new"], found["before"]) == (1, 2) and "is gone" in found["skipped"][0]["reason"]
    assert [
        page.meta["session"] for page in checkpoints(layout.locate(env, str(other))).values()
    ] == ["theirs"]


def test_since_leaves_out_what_ended_before(past, took):
    """A duration or a date."""
    past.session("old", 40)
    past.session("new", 2)
    assert took("--since", "99999d", "--dry-run")["new"] == 2
    days = (clock.now() - past.now) / clock.DAY
    assert took("--since", f"{int(days) + 10}d")["new"] == 1


def tree(root):
    """Every file below a folder, with its bytes and times."""
    return {
        str(path): (path.is_dir() or path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(Path(root).rglob("*"))
    }


def test_a_dry_run_writes_nothing_and_says_what_would_come(past, ok, took, place, env, tmp_path):
    """No checkpoint, state, lock, claim of a workspace; a fork's history and what is told already
    are not counted.
    """
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    subprocess.run(
        ["git", "remote", "add", "origin", "https://example.invalid/other.git"],
        cwd=other,
        check=True,
    )
    past.session("a", 4, ("one", "two"))
    past.session("b", 2, cwd=str(other), folder="-other")
    fork = past.session("c", 1)
    fork.write_bytes(
        (past.root / "-w" / "a.jsonl")
        .read_bytes()
        .replace(b'"sessionId": "a"', b'"sessionId": "c"')
        + fork.read_bytes()
    )
    os.utime(fork, (past.now - 3600,) * 2)
    before = tree(env["HOME"])
    said = ok("import", "transcripts", "--all-projects", "--dry-run")
    assert said.startswith(
        "3 sessions: 3 would be imported; 4 checkpoints, 3 conversations would be written; nothing "
        "was written (--dry-run)\n"
    )
    assert tree(env["HOME"]) == before
    planned = took("--all-projects", "--dry-run")["records"]["checkpoints"]
    assert len(took("--all-projects")["checkpoints"]) == planned == 4
    before = tree(env["HOME"])
    again = took("--all-projects", "--dry-run")
    assert (again["before"], again["new"], again["records"]) == (
        3,
        0,
        {"checkpoints": 0, "conversations": 0},
    )
    assert tree(env["HOME"]) == before
    with fork.open("a") as file:
        file.write(Path(past.session("d", 0.5, ("later",))).read_text())
    (past.root / "-w" / "d.jsonl").unlink()
    os.utime(fork, (past.now - 60,) * 2)
    assert took("--dry-run")["records"]["checkpoints"] == 1


def test_a_paused_project_names_the_way_out_of_the_pause(past, took, ok):
    """The command that ends it, not a setting that would not."""
    past.session("mine", 2)
    ok("push", "off", "mine")
    (skip,) = took()["skipped"]
    assert skip["reason"] == "capture is off there" and "`dayleaf push on mine`" in skip["remedy"]


def test_a_running_session_and_a_models_own_are_left_alone(past, run, took, place, monkeypatch):
    """The session that asks, a transcript that still grows, and dayleaf's own child; a file that
    was just copied runs not.
    """
    past.session("asking", 2)
    past.session("child", 2, prompt="dayleaf-distill-prompt v1\nSummarise the parser.")
    growing, copied = (
        past.session("growing", 2),
        past.session("copied", 2, prompt="dayleaf-distill-prompt v1\nAs it is."),
    )
    with growing.open("a") as file:
        file.write(
            json.dumps({"type": "user", "uuid": "last", "timestamp": clock.iso(clock.now())}) + "\n"
        )
    os.utime(growing)
    os.utime(copied)
    done = run("import", "transcripts", "--json", CLAUDE_CODE_SESSION_ID="asking")
    found = json.loads(done.stdout)
    assert sorted(skip["path"] for skip in found["skipped"]) == ["asking", "growing"]
    assert (found["new"], found["without"], checkpoints(place)) == (0, 2, {})


def test_secrets_do_not_come_along(past, took, place):
    """The capture of the hooks redacts, and so does this."""
    past.session("a", 2, prompt=f"log in with {TOKEN} and fix it")
    took()
    assert TOKEN not in str(checkpoints(place)) and "[redacted:" in "".join(
        p.body for p in checkpoints(place).values()
    )


def test_the_hosts_directory_may_be_elsewhere(past, run, place, tmp_path):
    """CLAUDE_CONFIG_DIR is respected."""
    past.session("a", 2)
    (past.root.parent).rename(tmp_path / "host dir")
    done = run("import", "transcripts", CLAUDE_CONFIG_DIR=str(tmp_path / "host dir"))
    assert "1 session: 1 imported; 1 checkpoint" in done.stdout and len(checkpoints(place)) == 1


@pytest.mark.parametrize(
    "data", [b"", b"\0\1\2", b"{}\n", b'{"cwd": 3}\n', b'{"cwd": "/x", "timestamp": "soon"}\n']
)
def test_a_file_that_is_no_transcript_is_passed_over(past, run, data):
    """Whatever stands in the host's directory."""
    past.session("a", 2)
    (past.root / "-w" / "odd.jsonl").write_bytes(data)
    done = run("import", "transcripts", "--all-projects")
    assert (
        (done.returncode, done.stderr) == (0, "")
        and ": 1 imported" in done.stdout
        and "; 1 checkpoint" in done.stdout
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_import_that_was_killed_goes_on(past, took, env, project, place):
    """Every session has each of its checkpoints once."""
    for number in range(120):
        past.session(f"s{number:03d}", 130 - number, ("one", "two"))
    process = subprocess.Popen(
        [sys.executable, "-m", "memory", "import", "transcripts"],
        cwd=project,
        env={**env, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 30
    while time.monotonic() < end and len(checkpoints(place)) < 20:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    there = len(checkpoints(place))
    assert 20 <= there < 240, "it was over before the kill"
    found = took()
    told = [page.meta["session"] for page in checkpoints(place).values()]
    assert (
        len(told) == 240
        and {told.count(name) for name in told} == {2}
        and found["new"] >= (240 - there) // 2
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_the_newest_sessions_and_says_how_to_go_on(past, took, env, project, place):
    """The newest are read first, and what was read is found at once."""
    for number in range(120):
        past.session(f"s{number:03d}", 130 - number, ("one", "two"))
    process = subprocess.Popen(
        [sys.executable, "-m", "memory", "import", "transcripts"],
        cwd=project,
        env={**env, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 30
    while time.monotonic() < end and len(checkpoints(place)) < 20:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGINT)
    shown = process.communicate()[0]
    many = int(
        re.search(r"stopped after (\d+) of 120 sessions; `\S+ store import transcripts`", shown)[1]
    )
    kept = {page.meta["session"] for page in checkpoints(place).values()}
    assert process.returncode == 130
    assert {f"s{number:03d}" for number in range(120 - many, 120)} <= kept
    assert len(kept) <= many + 1 < 120
    assert took()["sessions"] == 120 and len(checkpoints(place)) == 240


def test_subagents_belong_to_the_stretch_they_worked_in(past, took, place):
    """Their transcripts are told with the main one's."""
    path = past.session("a", 2, ("one", "two"))
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    for name, at, word in (("agent-x.jsonl", 2, "early"), ("agent-y.jsonl", 9, "late")):
        stamp = clock.iso(past.now - 2 * clock.DAY + at).replace("Z", ".000Z")
        given = {"file_path": f"{past.project}/{word}.py", "content": "x"}
        rows = [
            {
                "type": "assistant",
                "message": {
                    "content": [{"type": "tool_use", "id": word, "name": "Write", "input": given}]
                },
            },
            {
                "type": "user",
                "message": {
                    "content": [{"type": "tool_result", "tool_use_id": word, "content": "ok"}]
                },
                "toolUseResult": {"type": "create", "filePath": given["file_path"]},
            },
        ]
        (folder / name).write_text(
            "".join(
                json.dumps(
                    {
                        "uuid": f"{word}-{n}-000000000000000000000000",
                        "timestamp": stamp,
                        "cwd": past.project,
                        "isSidechain": True,
                        **row,
                    }
                )
                + "\n"
                for n, row in enumerate(rows)
            )
        )
    took()
    one, two = checkpoints(place).values()
    assert (
        "early.py" in one.body
        and "late.py" not in one.body
        and "late.py" in two.body
        and "early.py" not in two.body
    )


# ---- what the host left


def test_a_last_line_without_its_end_counts(past, took, ok, place):
    """The session is over; the second run has nothing to read."""
    path = past.session("a", 2)
    last = json.dumps(
        {
            "uuid": "0000aaaa-0000-4000",
            "timestamp": clock.iso(past.now - 2 * clock.DAY + 9).replace("Z", ".000Z"),
            "cwd": past.project,
            "type": "user",
            "message": {"content": "also rename the parser"},
        }
    )
    path.write_bytes(path.read_bytes() + last.encode())
    os.utime(path, (past.now - clock.DAY,) * 2)
    took()
    (page,) = checkpoints(place).values()
    assert (
        "also rename the parser" in page.body
        and page.meta["until"] == json.loads(last)["timestamp"]
    )
    assert ok("import", "transcripts") == "1 session: 1 imported before\n"


def test_a_last_line_that_was_cut_is_left_out(past, took, ok, place):
    """And read no second time."""
    path = past.session("a", 2)
    path.write_bytes(path.read_bytes() + b'{"type": "user", "message": {"content": "half a thou')
    os.utime(path, (past.now - clock.DAY,) * 2)
    assert took()["new"] == 1 and "half a thou" not in next(iter(checkpoints(place).values())).body
    assert ok("import", "transcripts") == "1 session: 1 imported before\n"


@pytest.mark.parametrize("what", ["host", "projects", "folder", "file"])
def test_a_link_to_ones_own_folder_is_followed(past, run, place, tmp_path, what):
    """The host's directory (as CLAUDE_CONFIG_DIR too), its projects, one project or one transcript
    on another disk; with subagents.
    """
    path = past.session("a", 2)
    agents = path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    given = {"file_path": past.project + "/by_agent.py", "content": "x"}
    rows = [
        {
            "type": "assistant",
            "message": {
                "content": [{"type": "tool_use", "id": "w", "name": "Write", "input": given}]
            },
        },
        {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "w", "content": "ok"}]},
            "toolUseResult": {"type": "create", "filePath": given["file_path"]},
        },
    ]
    (agents / "agent-x.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "uuid": "w%d" % n,
                    "cwd": past.project,
                    "isSidechain": True,
                    **row,
                    "timestamp": clock.iso(past.now - 2 * clock.DAY).replace("Z", ".000Z"),
                }
            )
            + "\n"
            for n, row in enumerate(rows)
        )
    )
    moved = {"host": past.root.parent, "projects": past.root, "folder": path.parent, "file": path}[
        what
    ]
    there = tmp_path / "other disk" / moved.name
    there.parent.mkdir()
    moved.rename(there)
    moved.symlink_to(there)
    if what == "file":
        path.with_suffix("").rename(there.with_suffix(""))
    more = {"CLAUDE_CONFIG_DIR": str(past.root.parent)} if what == "host" else {}
    done = run("import", "transcripts", **more)
    assert done.stdout.startswith("1 session: 1 imported; 1 checkpoint"), done.stdout + done.stderr
    (page,) = checkpoints(place).values()
    assert page.meta["session"] == "a" and "by_agent.py" in page.body
    assert "fix the parse module" in run("expand", page.meta["id"], **more).stdout


def test_a_link_that_leaves_ones_own_files_is_not_followed(past, took, tmp_path, monkeypatch):
    """Nor one to nothing; each is named.  A link to a transcript that is listed already adds no
    session.
    """
    path = past.session("a", 2)
    (path.parent / "again.jsonl").symlink_to(path)
    (path.parent / "passwd.jsonl").symlink_to("/etc/passwd")
    (past.root / "-lost").symlink_to(tmp_path / "nowhere")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    shutil.copy(path, theirs / "b.jsonl")
    (past.root / "-theirs").symlink_to(theirs)
    real = os.stat
    monkeypatch.setattr(
        os,
        "stat",
        lambda at, *a, **k: (
            os.stat_result((*real(at, *a, **k)[:4], 4711, *real(at, *a, **k)[5:]))
            if str(at).endswith("-theirs")
            else real(at, *a, **k)
        ),
    )
    found = took("--all-projects")
    assert (found["sessions"], found["new"]) == (4, 1)
    assert sorted((skip["path"], skip["reason"]) for skip in found["skipped"]) == [
        ("-lost", "a link, and not to a folder of your own"),
        ("-theirs", "a link, and not to a folder of your own"),
        ("-w/passwd.jsonl", "not a file of your own"),
    ]


def test_sessions_whose_directory_is_gone_are_said_once(past, ok, took, tmp_path):
    """How many, where most were, and what helps; `--json` lists each."""
    for number in range(40):
        past.session(
            f"s{number}",
            2 + number,
            cwd=str(tmp_path / ("one", "two", "one", "three")[number % 4]),
            folder="-gone",
        )
    lines = ok("import", "transcripts", "--all-projects").splitlines()
    assert lines == [
        "40 sessions: 40 skipped",
        "  skipped 40 sessions whose directory is gone (%s, %s, %s); make it "
        "again (`git worktree add`, or an empty directory), then import again"
        % (tmp_path / "one", tmp_path / "three", tmp_path / "two"),
    ]
    assert len(took("--all-projects")["skipped"]) == 40


@pytest.mark.parametrize("way", ["beside", "within", "seen"])
def test_a_session_of_a_removed_worktree_is_of_its_project(past, took, place, project, way):
    """A branch alone does not tell where two checkouts have it."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-C", project]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "branch", "feat"], check=True)
    around = Path(project).parent
    gone = Path(project, ".claude/worktrees/one") if way == "within" else around / "removed"
    if way == "seen":
        row = '{%s,"by":"first","commit":""}\n' % layout.format_place_row(place.key, str(gone))
        Path(place.private).mkdir(parents=True, exist_ok=True)
        Path(place.home + layout.PLACES).write_text(row)
    path = past.session("one", 2, cwd=str(gone), folder="-gone")
    branch = "feat" if way == "beside" else "gone-too"
    path.write_text(path.read_text().replace('"gitBranch": "main"', '"gitBranch": "%s"' % branch))
    assert (took("--dry-run")["new"], took()["new"]) == (1, 1)
    assert len(checkpoints(place)) == 1 and not gone.exists()
    if way == "beside":
        shutil.copytree(project, around / "copy")
        path.rename(path.with_name("two.jsonl"))
        assert "directory is gone" in took("--all-projects")["skipped"][0]["reason"]


UUID = "f2345678-0000-4000-8000-0123456789ab"


@pytest.mark.parametrize("how", ["the same", "longer", "without its start"])
def test_copies_of_a_session_are_told_once(past, took, place, how):
    """Resumed under another file name, or copied by a backup: what the one tells the other does
    not.
    """
    name = "2026-01-12-" + UUID
    path = past.session(UUID, 2, ("one", "two"))
    rows = path.read_text().splitlines(keepends=True)
    copy = path.with_name(name + ".jsonl")
    more = past.session("more", 1, ("three",))
    extra = more.read_text() if how != "the same" else ""
    more.unlink()
    copy.write_text("".join(rows[7 if how == "without its start" else 0 :]) + extra)
    os.utime(copy, (past.now - 3600,) * 2)
    found = took()
    told = checkpoints(place)
    assert [
        sum(word + ".py" in page.body for page in told.values()) for word in ("one", "two")
    ] == [1, 1]
    assert sum("three.py" in page.body for page in told.values()) == (how != "the same")
    assert [page.meta["session"] for page in told.values()][:2] == [UUID, UUID]
    assert (found["new"], found["without"]) == ((1, 1) if how == "the same" else (2, 0))


def test_what_came_by_an_import_says_when(past, took, place, ok):
    """And what a hook captured, or recovery, does not; so none expires on the day of its import."""
    past.session("a", 400)
    took()
    (page,) = checkpoints(place).values()
    assert clock.parse(page.meta["imported"]) > clock.parse(page.meta["created"]) + 100 * clock.DAY
    assert ok("store", "upkeep").startswith("2 → 2 records (nothing to do)")


# ---- what an earlier version told


def aged(place, **changes):
    """Make the states of all sessions ones of an earlier version, saved when they were."""
    for path in Path(place.cache, "sessions").glob("*.json"):
        head, _, rest = path.read_text().partition("\n")
        times = path.stat().st_mtime
        path.write_text(
            json.dumps({**json.loads(head), "v": 1, **changes}, separators=(",", ":")) + "\n" + rest
        )
        os.utime(path, (times, times))


def worse(place, pick=lambda number: True):
    """Make checkpoints say less, as an earlier version did, without touching them as a person does;
    returns their paths.
    """
    paths = sorted(Path(place.private, "checkpoints").rglob("*.md"))
    for number, path in enumerate(paths):
        if pick(number):
            times = path.stat().st_mtime
            data = path.read_bytes()
            path.write_bytes(
                data[: frontmatter.split_head(data)[1]] + b"\n## Changed\n\n- something\n"
            )
            os.utime(path, (times, times))
    return paths


@pytest.fixture
def taken_up(past, place, env, now):
    """The transcript of a session that was captured at its end, on "one", and was then taken up
    again, on "two".
    """
    path = past.session("live", 2, ("one",))
    settings = config.load(place.home, place.root, env)
    capture.capture(
        place, settings, env, now - 2 * clock.DAY + 60, "live", str(path), "session_end"
    )
    more = past.session("more", 1, ("two",))
    with path.open("a") as file:
        file.write(more.read_text())
    more.unlink()
    os.utime(path, (now - 3600,) * 2)
    return path


def test_what_was_read_and_not_written_is_new(taken_up, took, place):
    """A session that died between two checkpoints under an earlier version loses nothing."""
    aged(place, size=taken_up.stat().st_size, units=3)
    took()
    assert ["two.py" in page.body for page in checkpoints(place).values()] == [False, True]


def test_without_a_state_what_was_told_is_left_as_it_is(past, took, ok, place):
    """Nobody can say whether it was changed since."""
    past.session("a", 3, ("one", "two"))
    took()
    paths = worse(place)
    before = [path.read_bytes() for path in paths]
    shutil.rmtree(place.cache)
    assert ok("import", "transcripts") == "1 session: 1 imported before\n"
    assert [path.read_bytes() for path in paths] == before and len(checkpoints(place)) == 2


def test_the_start_of_a_session_takes_what_an_earlier_version_told_for_told(past, took, place):
    """And so does an import."""
    path = past.session("a", 3)
    took()
    assert progress.read_captured_size(place, "a") == path.stat().st_size
    aged(place)
    assert (
        progress.read_captured_size(place, "a") == path.stat().st_size
        and progress.read_captured_size(place, "a") != path.stat().st_size + 1
    )
    found = took()
    assert (found["updated"], found["before"]) == (0, 1)
