"""The doors: sharing with a team, machines of one person, any agent over MCP, a browser: what each
refuses, says and starts.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import vault
from harness.command import one_line_error
from harness.hook import ROOT
from harness.repository import received
from harness.vault import put

from memory.cli import doors
from memory.terminal import mcpserver


def test_a_record_is_shared_and_taken_back(ok, run, place, project):
    """It says what else a team wants: a commit, and a check before each."""
    put(place, "p/learnings/friend.md", "Friend", "x", id="l-friend")
    put(place, "p/learnings/x.md", "Alpha", "See [[Friend]].", id="l-x")
    said = ok("share", "l-x")
    assert (
        "shared l-x  Alpha" in said
        and "others cannot follow its link" in said
        and "git add .dayleaf" in said
        and "dayleaf store check --staged" in said
    )
    assert (
        Path(project, ".dayleaf/learnings/x.md").exists()
        and "Not committed (1)" in ok("shared")
        and "you, new" in ok("shared", "status")
    )
    assert "l-x is shared already; `dayleaf record unshare l-x` takes it back" in one_line_error(
        run("share", "l-x"), 2
    )
    assert (
        "private again: l-x" in ok("unshare", "l-x")
        and not Path(project, ".dayleaf/learnings/x.md").exists()
    )
    assert "is not shared" in one_line_error(run("unshare", "l-x"), 2)
    assert "Alpha" in ok("recall", "alpha")


def test_what_is_private_stays_and_says_why(run, place, project):
    put(place, "p/learnings/x.md", "Alpha", "See /home/alex/secret.txt.", id="l-x")
    done = run("share", "l-x")
    assert (
        done.returncode == 1
        and "line 6: a path of this machine (/home/alex/secret.txt" in done.stdout
        and "stays private" in done.stderr
    )
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
    assert (
        "s/learnings/odd.md: not UTF-8 text" in said
        and "it holds markers of an unfinished merge" in said
        and "Fine" in said
        and "Kim" in said
    )
    assert ":6: it holds markers of an unfinished merge" in run("check").stdout


def test_without_a_repository_it_says_so(run, tmp_path):
    (tmp_path / "plain").mkdir()
    assert "not a git repository" in one_line_error(run("shared", cwd=str(tmp_path / "plain")), 1)
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
    assert "name the directory of a project" in one_line_error(
        run("mcp", str(tmp_path / "none")), 2
    )


@pytest.fixture
def client(tmp_path, env):
    """A stand-in for the client that keeps what it was called with, and fails where a file says
    so.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text(
        '#!/bin/sh\necho "$@" >>"%s/said"\n[ "$2" != add ] || [ ! -e "%s/there" ] ||'
        ' { rm "%s/there"; echo already >&2; exit 1; }\n' % ((tmp_path,) * 3)
    )
    program.chmod(0o755)
    env["PATH"] = "%s:/usr/bin:/bin" % folder
    return tmp_path / "said"


def test_the_setting_registers_it_with_the_client_and_takes_it_away(ok, client, env, home):
    """By the client's own command, with a path that outlives an update where set-up made a link."""
    assert "Claude Code starts `dayleaf mcp` from its next session on" in ok(
        "config", "set", "mcp", "on"
    )
    link = Path(home, ".local/bin/dayleaf")
    link.parent.mkdir(parents=True)
    link.symlink_to(mcpserver.command({}))
    (client.parent / "there").touch()
    assert json.loads(ok("config", "set", "mcp", "on", "--json"))["value"] is True
    assert "no longer starts" in ok("config", "unset", "mcp")
    program = mcpserver.command({})
    assert client.read_text().splitlines() == [
        "mcp add --scope user dayleaf -- %s mcp" % program,
        "mcp add --scope user dayleaf -- %s mcp" % link,
        "mcp remove --scope user dayleaf",
        "mcp add --scope user dayleaf -- %s mcp" % link,
        "mcp remove --scope user dayleaf",
    ]


def test_a_setting_that_came_to_nothing_is_not_kept(ok, run, env, home, client):
    """Without the client, or where it fails, the line to run is said; doctor says where setting and
    client disagree.
    """
    program, path = client.parent / "bin/claude", env["PATH"]
    program.write_text("#!/bin/sh\necho no room >&2; exit 1\n")
    said = one_line_error(run("config", "set", "mcp", "on"), 1)
    assert "failed (no room), so nothing was changed" in said
    env["PATH"] = "/usr/bin:/bin"
    assert "run this where it is: claude mcp add --scope user dayleaf -- /" in one_line_error(
        run("config", "set", "mcp", "on"), 1
    )
    assert ok("config", "get", "mcp") == "false\n" and "[mcp]" not in run("doctor").stdout
    assert "starts no `dayleaf mcp`" in ok("config", "set", "mcp", "off")
    Path(home, ".dayleaf/config.json").write_text('{"mcp": true}')
    assert "mcp is on (user), but Claude Code knows no server `dayleaf`" in run("doctor").stdout
    known = Path(home, ".claude.json")
    known.write_text(
        json.dumps({"mcpServers": {"dayleaf": {"command": str(program), "args": ["mcp"]}}})
    )
    assert "Claude Code starts %s\n" % program in run("doctor").stdout
    env["PATH"] = path
    assert "failed (no room), so nothing was changed" in one_line_error(
        run("config", "set", "mcp", "off"), 1
    )
    program.unlink()
    assert "which is not there" in run("doctor").stdout and ok("config", "get", "mcp") == "true\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("zebra",), "store view takes no words"),
        (("--private",), "are for `dayleaf store view --export FILE`"),
        (("--secrets",), "are for `dayleaf store view --export FILE`"),
        (("--export", "x.html", "--port", "8080"), "leave --port and --idle out"),
        (("--port", "99999"), "port 99999 cannot be used"),
        (("--port", "zebra"), "is not a whole number above 0"),
        (("--idle", "0"), "is not a whole number above 0"),
    ],
)
def test_words_that_do_not_fit_are_one_line(run, words, said):
    assert said in one_line_error(run("view", *words), 2)


def test_without_its_packages_it_names_what_brings_them(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "nh3", None)
    for name in ("memory.terminal.pages", "memory.terminal.sheets", "memory.terminal.web"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("pages", "sheets", "web"):
        monkeypatch.delattr("memory.terminal." + name, raising=False)
    said = one_line_error(run("view"), 1)
    assert "(nh3)" in said and "/install.sh --view` adds them" in said


def test_an_agent_opens_no_page_and_writes_no_file(run, project):
    """Its shell is refused before anything listens."""
    for words in ((), ("--export", "x.html"), ("--export", "x.html", "--private")):
        assert "only a person decides on that" in one_line_error(
            run("view", *words, CLAUDECODE="1"), 2
        )
    assert not Path(project, "x.html").exists()


def test_one_file_is_written_for_its_owner_alone(ok, run, place, project, tmp_path):
    """The shared tier, and a word on what was left out; with --private all of it."""
    vault.mixed(place)
    assert re.search(
        r"wrote x\.html with 1 record; 4 records left out: --private takes them too",
        ok("view", "--export", "x.html"),
    )
    text = Path(project, "x.html").read_text(encoding="utf-8")
    assert "Prefer plain functions" in text and "issuer" not in text
    assert Path(project, "x.html").stat().st_mode & 0o777 == 0o600
    assert (
        json.loads(ok("view", "--export", str(tmp_path / "y.html"), "--private", "--json"))[
            "records"
        ]
        == 5
    )
    assert "버튼을 누르면" in (tmp_path / "y.html").read_text(encoding="utf-8")
    for word in ("--private", "--secrets"):
        assert "lies in the git work tree" in one_line_error(
            run("view", "--export", "x.html", word), 2
        )


def test_an_export_takes_nobody_elses_place(run, place, project):
    """What stands under FILE stays, and no folder is made for it; one line says so before anything
    is read.
    """
    vault.mixed(place)
    Path(project, "README.md").write_text("Ours.\n", encoding="utf-8")
    Path(project, "out").mkdir()
    Path(project, "loose").symlink_to("nowhere")
    for name in ("README.md", "out", "loose"):
        said = one_line_error(run("view", "--export", name), 1)
        assert "%s is there already; --export never overwrites" % name in said
    assert "deep is no folder; make it first" in one_line_error(
        run("view", "--export", "deep/x.html"), 1
    )
    assert "README.md is no folder" in one_line_error(
        run("view", "--export", "README.md/x.html"), 1
    )
    assert (
        Path(project, "README.md").read_text(encoding="utf-8") == "Ours.\n"
        and not Path(project, "deep").exists()
    )


def test_the_page_is_there_until_it_is_stopped(env, place, project):
    """One process, one address; a browser is let in once, and afterwards nobody listens."""
    vault.mixed(place)
    page = subprocess.Popen(
        [sys.executable, "-I", str(ROOT / "memory"), "store", "view", "--json"],
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = json.loads(page.stdout.readline())["address"]
        browser = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor()
        )
        assert "Fixed the JWT issuer" in browser.open(address, timeout=30).read().decode()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=30)
        page.send_signal(signal.SIGINT)
        assert (page.wait(20), page.stderr.read()) == (0, "")
    finally:
        page.kill()
        page.communicate()
    with pytest.raises(urllib.error.URLError):
        browser.open(address, timeout=5)


def test_enter_gives_another_address(monkeypatch, capsys):
    """Each time, as long as somebody is at the terminal."""

    class Terminal:
        lines = ["\n", "\n", ""]
        isatty = staticmethod(lambda: True)

        def readline(self):
            return self.lines.pop(0)

    numbers = iter("ab")
    monkeypatch.setattr(sys, "stdin", Terminal())
    doors._more(
        SimpleNamespace(gate=SimpleNamespace(address=lambda: "http://127.0.0.1/" + next(numbers)))
    )
    assert capsys.readouterr().out == "  http://127.0.0.1/a\n  http://127.0.0.1/b\n"


def test_a_note_without_an_id_keeps_the_one_it_is_called_by(ok, place, project):
    """It followed from the place; there and back again, `show`, links and feedback find the
    note.
    """
    path = Path(place.path("p/learnings/prices.md"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("Prices are integers in cents.\n")
    id = json.loads(ok("show", "prices", "--json"))["id"]
    for verb in ("share", "unshare"):
        ok(verb, id)
        assert "integers in cents" in ok("show", id)
