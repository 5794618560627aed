"""`dayleaf store view`: what it refuses, serves and writes."""

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

from memory.doors.page import viewverb


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("zebra",), "store view takes no words"),
        (("--private",), "is for `dayleaf store view --export FILE`"),
        (("--export", "x.html", "--port", "8080"), "leave --port out"),
        (("--port", "99999"), "port 99999 cannot be used"),
        (("--port", "zebra"), "is not a whole number above 0"),
        (("--port", "0"), "is not a whole number above 0"),
    ],
)
def test_words_that_do_not_fit_are_one_line(run, words, said):
    assert said in one_line_error(run("view", *words), 2)


def test_without_its_packages_it_names_what_brings_them(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "nh3", None)
    for name in ("memory.doors.page.pages", "memory.doors.page.sheets", "memory.doors.page.web"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("pages", "sheets", "web"):
        monkeypatch.delattr("memory.doors.page." + name, raising=False)
    said = one_line_error(run("view"), 1)
    assert "(nh3)" in said and "/install.sh --view` adds them" in said


def test_an_agent_opens_no_page_and_writes_no_file(run, project):
    """Its shell is refused before anything listens."""
    for words in ((), ("--export", "x.html"), ("--export", "x.html", "--private")):
        assert "only a person may run" in one_line_error(run("view", *words, CLAUDECODE="1"), 2)
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
    assert "lies in the git work tree" in one_line_error(
        run("view", "--export", "x.html", "--private"), 2
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
    viewverb._print_addresses(
        SimpleNamespace(gate=SimpleNamespace(address=lambda: "http://127.0.0.1/" + next(numbers)))
    )
    assert capsys.readouterr().out == "  http://127.0.0.1/a\n  http://127.0.0.1/b\n"
