"""One call: which workspace it is about, and what reaches a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from harness import command, leaks
from harness.command import on_terminal
from harness.hook import ROOT

from memory.core import layout
from memory.hook import receipts
from memory.store import permissions

TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."
EVIL = (
    "\x1b]52;c;ZXZpbA==\x07\x1b[31mred\x1b[0m \x9b2J ‮gnp.exe \x1bPq#0\x1b\\ "
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"
)


def test_escape_sequences_of_records_reach_no_terminal(run, place):
    """Neither text nor JSON carries ESC, C1 or bidirectional controls out of a hand-written
    file.
    """
    folder = Path(place.folder("p", "learning"))
    folder.mkdir(parents=True)
    title = json.dumps(EVIL)
    (folder / "evil.md").write_text(
        "---\ntitle: %s\n---\njwt %s\n" % (title, EVIL), encoding="utf-8"
    )
    for words in (
        ["recall", "jwt"],
        ["recall", "jwt", "--json"],
        ["recall", "jwt", "--explain"],
        ["show", "evil"],
        ["show", "evil", "--json"],
        ["status"],
        ["doctor"],
        ["load", "jwt"],
        ["index", "export"],
    ):
        done = run(*words)
        said = done.stdout + done.stderr
        assert "red" in said or words[0] in ("status", "doctor")
        assert not set(said) & set("\x1b\x07\x9b‮"), (words, said)


HANDWRITTEN = (
    "---\nid: %(kind)s-1\ntitle: Walrus %(kind)s <private>PRIVATE title</private>\n%(head)s\n"
    "tags: ['<private>PRIVATE tag</private>', always]\nrationale: <private>PRIVATE why</private>\n"
    "---\nThe walrus %(kind)s token: %(secret)s <private>PRIVATE text</private>\n"
    "- [ ] step <private>PRIVATE step</private>\n"
)
HEADS = {
    "learning": "links: [{relation: related_to, target: rule-1}]",
    "rule": "suggested_by: x",
    "plan": "status: active",
    "resource": "type: doc\npath: calc.py",
    "checkpoint": "session: s0\nbranch: main",
    "note": "session: s0",
    "conversation": "session: s0",
}
WORDS = {  # of verbs that need words of their own
    "resource": (["search", "walrus"], ["refresh"]),
    "index": (["export"], ["verify"]),
    "show": (["walls"], ["file", "calc.py"]),
    "plan": (["show"], ["list"]),
    "rule": (["list", "--pending"],),
    "handoff": (["--show"],),
    "load": (["walrus token", "--explain"],),
    "how": (["git"],),
    "blame": (["calc.py"],),
    "harvest": (["list"],),
}
WRITING = {"learn", "checkpoint", "import", "mcp", "on", "off", "statusline"}


@pytest.mark.parametrize("folder", ["private", "shared", "everyone"])
def test_no_verb_that_a_session_may_type_prints_what_is_private_or_secret(folder, place, run):
    """Of records written by hand, of a repository too: by any verb, as text and as JSON."""
    secret = "gh" + "p_" + leaks.made("verbs", leaks.ALNUM, 36)
    for kind, head in HEADS.items():
        if folder != "private" and kind in ("note", "conversation"):
            continue
        day = "2026-11-20/" if kind in layout.DATED_KINDS else ""
        path = Path(getattr(place, folder), layout.FOLDERS[kind], day + kind + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HANDWRITTEN % {"kind": kind, "head": head, "secret": secret})
    run("index", "build")
    receipts.write(
        place.receipts("s9"),
        {"v": 1, "event": "start", "brief": "x", "chosen": [["learning-1", 1.0, "listed"]]},
    )
    calls = [
        [verb, *words]
        for verb, row in permissions.VERBS.items()
        if row.least == permissions.SESSION and verb not in WRITING
        for words in ([], ["walrus"], *([kind + "-1"] for kind in HEADS), *WORDS.get(verb, ()))
    ]
    told = set()
    for words in [*calls, ["checkpoint", "a note of walrus"], ["handoff"]]:
        for more in ([], ["--json"]):
            done = run(*words, *more, CLAUDECODE="1")
            said = done.stdout + done.stderr
            assert secret not in said and "PRIVATE" not in said, (words, more, said)
            told |= {words[0]} if "alrus" in said else set()
    assert told >= {"recall", "show", "graph", "link", "stats"}


def test_colours_and_the_spinner_are_for_terminals(env, project, ok):
    """On a terminal headings are bold, unless NO_COLOR says no; a pipe gets plain text."""
    ok("learn", TEXT)
    assert "\x1b" not in ok("recall", "jwt")
    assert (
        "\x1b[1mLearnings"
        in on_terminal(["recall", "jwt", "--group"], {**env, "TERM": "xterm"}, project)[1]
    )
    assert (
        "\x1b"
        not in on_terminal(["recall", "jwt"], {**env, "TERM": "xterm", "NO_COLOR": "1"}, project)[1]
    )


def test_a_place_outside_any_repository_works(ok, tmp_path):
    """A directory without git is a workspace of its own."""
    folder = tmp_path / "plain folder"
    folder.mkdir()
    assert json.loads(ok("workspace", "--json", cwd=str(folder)))["workspace"].startswith(
        "plain-folder-"
    )


def test_a_session_that_moved_keeps_its_workspace(ok, tmp_path):
    """Inside the client's project directory the project decides, elsewhere the current
    directory.
    """
    inner = tmp_path / "top" / "inner"
    inner.mkdir(parents=True)
    key = json.loads(ok("workspace", "--json", cwd=str(tmp_path / "top")))["workspace"]
    assert (
        json.loads(
            ok("workspace", "--json", cwd=str(inner), CLAUDE_PROJECT_DIR=str(tmp_path / "top"))
        )["workspace"]
        == key
    )
    assert (
        json.loads(ok("workspace", "--json", cwd=str(inner), CLAUDE_PROJECT_DIR="/nowhere"))[
            "workspace"
        ]
        != key
    )
    assert (
        layout.slug("inner") in json.loads(ok("workspace", "--json", cwd=str(inner)))["workspace"]
    )


@pytest.mark.parametrize(
    "words",
    [
        ("learn", "-"),
        ("checkpoint", "-"),
        ("handoff", "-"),
        ("plan", "-"),
        ("keep", "-"),
    ],
)
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            "Das Büro nimmt zwei Schlüssel.\nÜber alles.\n".encode("utf-16"),
            "stdin line 1: no UTF-8 text",
        ),
        (
            "One.\nDas Büro nimmt zwei Schlüssel.\n".encode("latin-1"),
            "stdin line 2: bytes that are not UTF-8",
        ),
    ],
)
def test_bytes_that_are_not_utf_8_are_refused_with_the_way_out(env, project, words, data, said):
    """Nothing is kept of them."""
    done = subprocess.run(
        [sys.executable, "-I", str(ROOT / "memory"), *command.spelled(words)],
        input=data,
        capture_output=True,
        cwd=project,
        env=env,
    )
    error = done.stderr.decode()
    assert (
        done.returncode == 2
        and done.stdout == b""
        and said in error
        and "iconv -f" in error
        and error.count("\n") == 1
    )
    assert not list(Path(env["HOME"], ".dayleaf").rglob("*.md"))


@pytest.mark.parametrize(
    ("words", "form"),
    [(("fix",), "%s"), (("load",), "%s"), (("recall", "--batch"), '{"id":1,"query":"%s"}\n')],
    ids=["fix", "load", "batch"],
)
def test_a_question_in_another_encoding_is_read_as_latin_1_and_told_so(
    ok, env, project, words, form
):
    """It finds what its letters say."""
    ok("learn", "Das Überraschungsbüro öffnet um neun")
    done = subprocess.run(
        [sys.executable, "-I", str(ROOT / "memory"), *command.spelled(words)],
        input=(form % "Überraschungsbüro").encode("latin-1"),
        capture_output=True,
        cwd=project,
        env=env,
    )
    assert done.returncode == 0 and b"l-" in done.stdout
    assert "stdin line 1: bytes that are not UTF-8; it was read as LATIN1" in done.stderr.decode()


def test_more_than_stdin_may_hold_is_refused(env, project):
    """Nothing of it is cut off in silence."""
    done = subprocess.run(
        [sys.executable, "-I", str(ROOT / "memory"), "learn", "-"],
        input=b"word " * (2 << 20),
        capture_output=True,
        cwd=project,
        env=env,
    )
    assert done.returncode == 2 and b"stdin holds more than 8 MB; split it" in done.stderr
