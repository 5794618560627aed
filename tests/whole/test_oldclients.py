"""What works from the oldest client to the newest, through the real ones against a scripted
model.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from harness.client import claude_of  # noqa: F401  (a fixture)
from harness.fake_anthropic import sent, tool
from harness.lab import PLUGIN, Lab, until

from memory.core import layout

SAY = ("--plugin-dir", PLUGIN, "--output-format", "json")
ANSWERED = (2, 1, 178)  # the first client that prints what the hook answers with `-p`
WORK = (*SAY, "--permission-mode", "acceptEdits", "--allowedTools", "Bash")


@pytest.fixture
def version(claude_of) -> str:  # noqa: F811
    """The version of the client."""
    return claude_of[0]


@pytest.fixture
def lab(tmp_path, claude_of):  # noqa: F811
    """A HOME with twelve learnings, a repository, and the client."""
    with Lab(tmp_path / "lab", claude_of[1]) as made:
        folder = Path(layout.locate(made.env(), str(made.repo)).private, "learnings")
        folder.mkdir(parents=True)
        for i in range(11):
            (folder / f"note-{i}.md").write_text(
                f"---\ntitle: Deploy step {i} needs a token\n---\n"
                f"Else stage {i} stops with HTTP 40{i % 4}.\n"
            )
        (folder / "bom.md").write_text(
            "---\ntitle: The parser and the BOM\n---\n"
            "Strip the BOM before the parser reads the first byte.\n"
        )
        yield made


def ask(
    lab: Lab, prompt: str, *replies: object, options: tuple[str, ...] = SAY, **more: object
) -> tuple[str, list[str]]:
    """Say a prompt in a session of its own: (what the client printed as its answer, the requests
    that hold the prompt).

    The oldest client has agents of its own ask the model at each start: only requests with the
    prompt get the replies.
    """
    lab.api.server.requests.clear()
    rules = [
        {"when": {"any_text": re.escape(prompt), "tools": True}, "times": 1, "reply": reply}
        for reply in replies
    ]
    lab.api.set_script({"rules": rules})
    run = lab.claude("-p", prompt, *options, **more)
    assert run.rc == 0, run
    return run.json["result"], [
        text for text in map(sent, lab.api.messages(tools=True)) if prompt in text
    ]


def errors(lab: Lab) -> str:
    log = lab.store / "log" / "errors.jsonl"
    return log.read_text() if log.exists() else ""


def test_a_session_is_captured_and_the_next_one_knows(lab, version):
    """The checkpoint is written, the next start brings it, a prompt the learning that matters to
    it; doctor knows the client.
    """
    calc = str(lab.repo / "calc.py")
    answer, _ = ask(
        lab,
        "fix the add function in calc.py",
        tool("Read", file_path=calc),
        tool("Edit", file_path=calc, old_string="return a - b", new_string="return a + b"),
        tool("Bash", command="git commit -qam 'Fix add'"),
        "The sign was wrong.",
        options=WORK,
    )
    assert answer == "The sign was wrong."
    (checkpoint,) = until(lambda: lab.records("checkpoints"))
    until(lambda: list(lab.store.glob("cache/*/*.seg")))  # the worker writes it last
    written = checkpoint.read_text()
    assert (
        "fix the add function in calc.py" in written
        and "Fix add" in written
        and "The sign was wrong." in written
    )
    assert "subagent" not in written

    _, (request,) = ask(lab, "why does the parser fail on a BOM?", "Strip it.")
    brief, _, pushed = request.partition('<dayleaf-memory part="prompt"')
    assert '<dayleaf-memory part="brief"' in brief and "The sign was wrong." in brief
    assert "Strip the BOM before the parser reads" in pushed
    assert f"Claude Code {version}" in lab.dayleaf("doctor").stdout
    assert errors(lab) == ""


def test_a_slash_command_is_answered_by_the_hook_or_through_the_model(lab, version):
    """Where the client knows the event, no model is asked; else the command's own text has the
    model run `dayleaf`, unasked.
    """
    answer, requests = ask(
        lab, "/dayleaf:status", tool("Bash", command="dayleaf store status"), "Shown."
    )
    if tuple(map(int, version.split("."))) >= ANSWERED:
        assert (requests, lab.api.messages()) == ([], [])
        assert re.search(r"learning +12 ", answer)
    else:
        assert answer == "Shown." and len(requests) == 2
        assert re.search(r"learning +12 ", requests[1])
    assert errors(lab) == ""


def test_the_client_takes_the_marketplace_and_installs_the_plugin(claude_of, env):  # noqa: F811
    """Its own validator passes the marketplace; the installed copy has the hooks and no tests."""
    for words, said in (
        (("validate", PLUGIN), "Validation passed"),
        (("marketplace", "add", PLUGIN), "dayleaf"),
        (("install", "dayleaf@dayleaf"), "Successfully installed"),
    ):
        done = subprocess.run(
            [claude_of[1], "plugin", *words],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0 and said in done.stdout, done.stdout + done.stderr
    copies = list(Path(env["HOME"], ".claude/plugins/cache").glob("**/hooks/young.json"))
    assert copies and not list(copies[0].parent.parent.glob("tests"))
