"""`dayleaf import transcripts`: checkpoints of past sessions, through the capture of the hooks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory import capture, clock, config, frontmatter, paths

ROOT = Path(__file__).parents[1]
TOKEN = "gh" + "p_" + "x9Kd83jfLq02mZvB7tYw5RnC1sHa4UeGpXoI"


class Past:
    """The host's transcripts of past sessions: each `session` is a prompt, an edit and a command, a compaction between."""

    def __init__(self, env, project, now):
        self.env, self.project, self.now, self.calls = env, project, now, 0
        self.root = Path(env["HOME"], ".claude", "projects")

    def session(self, name, days, stretches=("parse",), cwd="", prompt="fix the %s module", folder="-w"):
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
                file.write(json.dumps({"uuid": f"{hash(name) & 0xffffffff:08x}-{at:04x}-4000", "timestamp": stamp, "gitBranch": "main",
                                       "cwd": cwd or self.project, "sessionId": name, **row}) + "\n")
        os.utime(path, (start + len(rows),) * 2)
        return path

    def _stretch(self, word, prompt):
        self.calls += 2
        calls = [("Edit", {"file_path": f"{self.project}/{word}.py", "old_string": "a", "new_string": "b"}, "updated"),
                 ("Bash", {"command": f"pytest tests/test_{word}.py"}, "1 passed")]
        rows = [{"type": "user", "message": {"role": "user", "content": prompt % word if "%s" in prompt else prompt},
                 "promptSource": "typed", "origin": {"kind": "human"}}]
        for number, (tool, given, said) in enumerate(calls):
            id = f"toolu_{self.calls + number}"
            rows += [{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": id, "name": tool, "input": given}]}},
                     {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": said}]}}]
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
    return {str(path.relative_to(root)): frontmatter.parse(path.read_bytes(), full=True) for path in sorted(root.rglob("*.md"))}


def test_past_sessions_become_checkpoints_in_order_of_time(past, took, place, now):
    """Named, dated and told as of then; a stretch ends at a compaction; the index knows them."""
    past.session("late", 2, ("cache", "retry"))
    past.session("early", 9)
    found = took()
    assert (found["sessions"], found["new"], found["before"], found["skipped"]) == (2, 2, 0, [])
    told = checkpoints(place)
    assert ["p/checkpoints/" + name for name in told] == found["checkpoints"] and len(told) == 3
    early, cache, retry = told.values()
    assert next(iter(told)).startswith(clock.day(now - 9 * clock.DAY) + "/")
    assert early.meta["created"] == clock.iso(now - 9 * clock.DAY + 4) and early.meta["branch"] == "main"
    assert (early.meta["session"], early.meta["source"], early.meta["trigger"]) == ("early", "auto", "recovery")
    assert "cache.py" in cache.body and "retry" not in cache.body and "retry.py" in retry.body and "cache.py" not in retry.body


def test_a_second_import_changes_nothing(past, took, place):
    """Also where the derived state of every session was lost."""
    past.session("a", 3, ("one", "two"))
    past.session("b", 2)
    took()
    before = {path: path.read_bytes() for path in Path(place.private).rglob("*.md")}
    again = took()
    assert (again["new"], again["before"]) == (0, 2)
    shutil.rmtree(place.cache)
    assert took()["new"] == 0
    assert {path: path.read_bytes() for path in Path(place.private).rglob("*.md")} == before


def test_two_imports_of_the_same_transcripts_give_the_same_bytes(past, took, place):
    """Whatever the clock says meanwhile."""
    for number in range(4):
        past.session(f"s{number}", 9 - number, ("one", "two"))
    took()
    first = {name: page.meta for name, page in checkpoints(place).items()}
    shutil.rmtree(place.home)
    time.sleep(1.1)
    took()
    assert {name: page.meta for name, page in checkpoints(place).items()} == first and len(first) == 8


def test_a_session_that_a_hook_captured_is_not_captured_again(past, took, place, env, now):
    """What it did afterwards is."""
    path = past.session("live", 2)
    settings = config.load(place.home, place.root, env)
    name = capture.capture(place, settings, env, now - 2 * clock.DAY + 60, "live", str(path), "session_end")
    assert name and took()["before"] == 1 and len(checkpoints(place)) == 1
    shutil.copy(path, str(path) + ".old")
    rows = Path(past.session("more", 1, ("later",))).read_text().replace('"sessionId": "more"', '"sessionId": "live"')
    with path.open("a") as file:
        file.write(rows)
    os.utime(path, (now - 3600,) * 2)
    (path.parent / "more.jsonl").unlink()
    found = took()
    assert (found["new"], len(checkpoints(place))) == (1, 2)
    assert "later.py" in list(checkpoints(place).values())[1].body and "parse.py" not in list(checkpoints(place).values())[1].body


def test_only_this_workspace_unless_all_projects_are_asked_for(past, took, place, env, tmp_path):
    """Each session goes where it belongs; a subdirectory belongs to its repository, a directory that is gone is named."""
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
    assert [page.meta["session"] for page in checkpoints(paths.locate(env, str(other))).values()] == ["theirs"]


def test_since_leaves_out_what_ended_before(past, took):
    """A duration or a date."""
    past.session("old", 40)
    past.session("new", 2)
    assert took("--since", "99999d", "--dry-run")["without"] == 2
    days = (clock.now() - past.now) / clock.DAY
    assert took("--since", f"{int(days) + 10}d")["new"] == 1


def test_a_dry_run_writes_nothing(past, ok, took, place):
    """No checkpoint, no state."""
    past.session("a", 2)
    assert "1 would be read; nothing was written (--dry-run)" in ok("import", "transcripts", "--dry-run")
    assert not checkpoints(place) and took()["new"] == 1


def test_a_running_session_and_a_models_own_are_left_alone(past, run, took, place, monkeypatch):
    """The session that asks, a transcript that still grows, and dayleaf's own child."""
    past.session("asking", 2)
    past.session("child", 2, prompt="dayleaf-distill-prompt v1\nSummarise the parser.")
    growing = past.session("growing", 2)
    os.utime(growing)
    done = run("import", "transcripts", "--json", CLAUDE_CODE_SESSION_ID="asking")
    found = json.loads(done.stdout)
    assert sorted(skip["path"] for skip in found["skipped"]) == ["asking", "growing"]
    assert (found["new"], found["without"], checkpoints(place)) == (0, 1, {})


def test_secrets_do_not_come_along(past, took, place):
    """The capture of the hooks redacts, and so does this."""
    past.session("a", 2, prompt=f"log in with {TOKEN} and fix it")
    took()
    assert TOKEN not in str(checkpoints(place)) and "[redacted:" in "".join(p.body for p in checkpoints(place).values())


def test_the_hosts_directory_may_be_elsewhere(past, run, place, tmp_path):
    """CLAUDE_CONFIG_DIR is respected."""
    past.session("a", 2)
    (past.root.parent).rename(tmp_path / "host dir")
    done = run("import", "transcripts", CLAUDE_CONFIG_DIR=str(tmp_path / "host dir"))
    assert "1 session: 1 with new checkpoints (1)" in done.stdout and len(checkpoints(place)) == 1


def test_without_transcripts_it_says_where_it_looked(ok):
    """Status 0, and the option for the rest."""
    assert "no session of this workspace is left in" in ok("import", "transcripts")


@pytest.mark.parametrize("data", [b"", b"\0\1\2", b"{}\n", b'{"cwd": 3}\n', b'{"cwd": "/x", "timestamp": "soon"}\n'])
def test_a_file_that_is_no_transcript_is_passed_over(past, run, data):
    """Whatever stands in the host's directory."""
    past.session("a", 2)
    (past.root / "-w" / "odd.jsonl").write_bytes(data)
    done = run("import", "transcripts", "--all-projects")
    assert (done.returncode, done.stderr) == (0, "") and "1 with new checkpoints (1)" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_import_that_was_killed_goes_on(past, took, env, project, place):
    """Every session has each of its checkpoints once."""
    for number in range(120):
        past.session(f"s{number:03d}", 130 - number, ("one", "two"))
    process = subprocess.Popen([sys.executable, "-m", "memory", "import", "transcripts"], cwd=project,
                               env={**env, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while time.monotonic() < end and len(checkpoints(place)) < 20:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    there = len(checkpoints(place))
    assert 20 <= there < 240, "it was over before the kill"
    found = took()
    told = [page.meta["session"] for page in checkpoints(place).values()]
    assert len(told) == 240 and {told.count(name) for name in told} == {2} and found["new"] >= (240 - there) // 2


def test_subagents_belong_to_the_stretch_they_worked_in(past, took, place):
    """Their transcripts are told with the main one's."""
    path = past.session("a", 2, ("one", "two"))
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    for name, at, word in (("agent-x.jsonl", 2, "early"), ("agent-y.jsonl", 9, "late")):
        stamp = clock.iso(past.now - 2 * clock.DAY + at).replace("Z", ".000Z")
        given = {"file_path": f"{past.project}/{word}.py", "content": "x"}
        rows = [{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": word, "name": "Write", "input": given}]}},
                {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": word, "content": "ok"}]},
                 "toolUseResult": {"type": "create", "filePath": given["file_path"]}}]
        (folder / name).write_text("".join(json.dumps(
            {"uuid": f"{word}-{n}-000000000000000000000000", "timestamp": stamp, "cwd": past.project, "isSidechain": True, **row}) + "\n"
            for n, row in enumerate(rows)))
    took()
    one, two = checkpoints(place).values()
    assert "early.py" in one.body and "late.py" not in one.body and "late.py" in two.body and "early.py" not in two.body
