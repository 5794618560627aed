"""The doors: a record goes to the team and comes back, unless something in it is not for others; `dayleaf mcp`, started and registered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.command import one_line_error
from harness.repository import received
from harness.vault import put

from memory.cli import doors
from memory.terminal import mcpserver


def test_a_record_is_shared_and_taken_back(ok, run, place, project):
    """It says what else a team wants: a commit, and a check before each."""
    put(place, "p/learnings/friend.md", "Friend", "x", id="l-friend")
    put(place, "p/learnings/x.md", "Alpha", "See [[Friend]].", id="l-x")
    said = ok("share", "l-x")
    assert "shared l-x  Alpha" in said and "leads nowhere" in said and "git add .dayleaf" in said and "dayleaf check --staged" in said
    assert Path(project, ".dayleaf/learnings/x.md").exists() and "Not committed (1)" in ok("shared") and "you, new" in ok("shared", "status")
    assert "private again: l-x" in ok("unshare", "l-x") and not Path(project, ".dayleaf/learnings/x.md").exists()
    assert "is not shared" in one_line_error(run("unshare", "l-x"), 2)
    assert "Alpha" in ok("recall", "alpha")


def test_what_is_private_stays_and_says_why(run, place, project):
    put(place, "p/learnings/x.md", "Alpha", "See /home/alex/secret.txt.", id="l-x")
    done = run("share", "l-x")
    assert done.returncode == 1 and "line 6: a path of this machine (/home/alex/secret.txt" in done.stdout and "stays private" in done.stderr
    assert not Path(project, ".dayleaf").exists() and Path(place.path("p/learnings/x.md")).exists()
    assert json.loads(run("share", "l-x", "--json").stdout)["shared"] is False


def test_a_session_shares_nothing_and_may_look(run, ok, place):
    """It suggests; what goes into the repository is a person's to say."""
    put(place, "p/learnings/x.md", "Alpha", "x", id="l-x")
    for verb in ("share", "unshare"):
        assert "only a person" in one_line_error(run(verb, "l-x", CLAUDECODE="1"), 2)
    put(place, "s/learnings/y.md", "Beta", "x")
    assert "Beta" in ok("shared", CLAUDECODE="1")


def test_a_file_that_is_no_markdown_and_a_torn_one_are_named(ok, run, place, env, project):
    """The others are listed all the same; `check` names the line."""
    put(place, "s/learnings/fine.md", "Fine", "x")
    Path(place.path("s/learnings/odd.md")).write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0")
    put(place, "s/learnings/torn.md", "Torn", "<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> main")
    received(project, env)
    said = ok("shared")
    assert "s/learnings/odd.md: not UTF-8 text" in said and "lines of a merge stand in it" in said and "Fine" in said and "Kim" in said
    assert ":6: lines of a merge stand in it" in run("check").stdout


def test_without_a_repository_it_says_so(run, tmp_path):
    (tmp_path / "plain").mkdir()
    assert "no git repository" in one_line_error(run("shared", cwd=str(tmp_path / "plain")), 1)
    assert "unknown word" in one_line_error(run("shared", "stutus"), 2)


def test_what_git_ignores_is_said(ok, place, project):
    put(place, "p/learnings/x.md", "Alpha", "x", id="l-x")
    Path(project, ".gitignore").write_text(".dayleaf\n")
    assert "git ignores .dayleaf" in ok("share", "l-x")


# ---- mcp

def test_without_its_packages_one_line_says_what_adds_them(run, monkeypatch):
    def missing(*_):
        raise ModuleNotFoundError("No module named 'mcp'", name="mcp")

    monkeypatch.setattr(mcpserver, "serve", missing)
    assert "install.sh --mcp` adds them" in one_line_error(run("mcp"), 1)


def test_a_directory_that_is_none_is_named(run, tmp_path):
    assert "name the directory of a project" in one_line_error(run("mcp", str(tmp_path / "none")), 2)


@pytest.fixture
def client(tmp_path, env):
    """A stand-in for the client that keeps what it was called with, and fails where a file says so."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text('#!/bin/sh\necho "$@" >>"%s/said"\n[ "$2" != add ] || [ ! -e "%s/there" ] || { rm "%s/there"; echo already >&2; exit 1; }\n' % ((tmp_path,) * 3))
    program.chmod(0o755)
    env["PATH"] = "%s:/usr/bin:/bin" % folder
    return tmp_path / "said"


def test_the_setting_registers_it_with_the_client_and_takes_it_away(ok, client, env, home):
    """By the client's own command, with a path that outlives an update where set-up made a link."""
    assert "Claude Code starts `dayleaf mcp` from its next session on" in ok("config", "set", "mcp", "on")
    link = Path(home, ".local/bin/dayleaf")
    link.parent.mkdir(parents=True)
    link.symlink_to(doors.command({}))
    (client.parent / "there").touch()
    assert json.loads(ok("config", "set", "mcp", "on", "--json"))["value"] is True
    assert "no longer starts" in ok("config", "unset", "mcp")
    program = doors.command({})
    assert client.read_text().splitlines() == [
        "mcp add --scope user dayleaf -- %s mcp" % program, "mcp add --scope user dayleaf -- %s mcp" % link,
        "mcp remove --scope user dayleaf", "mcp add --scope user dayleaf -- %s mcp" % link, "mcp remove --scope user dayleaf"]


def test_without_the_client_the_line_to_run_is_said(ok, env):
    env["PATH"] = "/usr/bin:/bin"
    said = ok("config", "set", "mcp", "on")
    assert "where it is, run: claude mcp add --scope user dayleaf -- /" in said and said.startswith("mcp = true\n")
