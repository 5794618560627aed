"""End to end with the real client against a scripted model: what it sends is what the model would
have read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from harness import releases, talks
from harness.client import claude_bin, gemini_bin  # noqa: F401  (fixtures)
from harness.command import on_terminal
from harness.fake_anthropic import sent, tool
from harness.fake_gemini import FakeGemini, text_of
from harness.git_http import GitHttp, bare_clone
from harness.lab import PLUGIN, Lab, Tui, commit, until

from memory.core import layout

needs_tmux = pytest.mark.skipif(not shutil.which("tmux"), reason="interactive sessions need tmux")
LEARNING = (
    "calc.py: add() returned a - b because the minus sign was copied from sub(); python3 -B "
    "test_calc.py shows it."
)
WORK = (
    "--plugin-dir",
    PLUGIN,
    "--permission-mode",
    "acceptEdits",
    "--allowedTools",
    "Bash",
    "--output-format",
    "json",
)
SAY = ("--plugin-dir", PLUGIN, "--output-format", "json")


@pytest.fixture
def lab(tmp_path, claude_bin):  # noqa: F811
    """A HOME with dayleaf's runtime, a repository with a bug and its test, and a scripted model."""
    with Lab(tmp_path / "lab", claude_bin) as made:
        (made.repo / "test_calc.py").write_text(
            "import calc\nassert calc.add(1, 2) == 3, calc.add(1, 2)\nprint('ok')\n"
        )
        commit(made.repo, "test add")
        yield made


def fix(lab: Lab) -> list:
    """The model's turns of a session that finds and fixes the bug, commits, and keeps a
    learning.
    """
    calc = str(lab.repo / "calc.py")
    # -B: a bytecode file would hide an edit of the same second and size from the next run.
    return [
        tool("Bash", command="python3 -B test_calc.py"),
        tool("Read", file_path=calc),
        tool("Edit", file_path=calc, old_string="return a - b", new_string="return a + b"),
        tool("Bash", command="python3 -B test_calc.py"),
        tool("Bash", command="git commit -qam 'Fix add' && git log --oneline -1"),
        tool("Bash", command=f'dayleaf learn --tag calc -- "{LEARNING}"'),
        "The sign was wrong; add() is fixed and committed. Next: the same check for sub().",
    ]


def main_requests(lab: Lab) -> list[str]:
    """The text of each request of the session itself (those that offer tools)."""
    return [sent(body) for body in lab.api.messages(tools=True)]


def part(text: str, name: str) -> str:
    """dayleaf's block of a kind in a request's text; "" where there is none."""
    return text.partition(f'<dayleaf-memory part="{name}"')[2].partition("</dayleaf-memory>")[0]


def private(lab: Lab) -> Path:
    place = layout.locate({"HOME": str(lab.home)}, str(lab.repo))
    return Path(place.private)


def write_notes(lab: Lab, count: int = 12) -> None:
    """Learnings on other subjects, written by hand."""
    folder = private(lab) / "learnings"
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        (folder / f"note-{i}.md").write_text(
            f"---\ntitle: Deploy step {i} needs a token\n---\n"
            f"Without it, stage {i} stops with HTTP 40{i % 4}.\n"
        )


def accept(lab: Lab, learning) -> None:
    """Accept a candidate as a person does who edits its file."""
    learning.write_text(learning.read_text().replace("accepted: false\n", ""))
    assert lab.dayleaf("index", "build").rc == 0


def errors(lab: Lab) -> str:
    log = lab.store / "log" / "errors.jsonl"
    return log.read_text() if log.exists() else ""


def test_what_one_session_learns_the_next_one_knows(lab):
    """Session A fixes a bug, commits and learns; its user accepts the candidate; B gets the brief,
    then the learning with its prompt, then nothing more.
    """
    lab.api.set_script({"turns": fix(lab)})
    run = lab.claude("-p", "fix the add function in calc.py, its test fails", *WORK)
    assert run.rc == 0 and "fixed and committed" in run.json["result"], run
    (checkpoint,) = until(lambda: lab.records("checkpoints"))
    written = checkpoint.read_text()
    head = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"],
        cwd=lab.repo,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "fix the add function in calc.py, its test fails" in written
    assert "calc.py" in written and head.stdout.strip() in written
    assert re.search(r"`python3 -B test_calc.py` → exit 1: .*AssertionError", written)
    (spoken,) = lab.records("conversations")
    assert "- ✓ `python3 -B test_calc.py`" in spoken.read_text()
    assert "dayleaf-memory" not in written
    (learning,) = lab.records("learnings")
    assert LEARNING in learning.read_text()
    accept(lab, learning)

    write_notes(lab)
    lab.api.server.requests.clear()
    lab.api.set_script({"turns": ["It was the sign.", "Going on."]})
    assert lab.claude("-p", "why did add in calc.py give a wrong sum?", *SAY).rc == 0
    (first,) = main_requests(lab)
    assert first.count('<dayleaf-memory part="brief"') == 1
    assert "Fix add" in first or "fix the add function" in first
    assert first.count('<dayleaf-memory part="prompt"') == 1
    block = part(first, "prompt")
    assert LEARNING in block
    assert "Deploy step" not in block

    assert lab.claude("-p", "--continue", "yes, go on", *SAY).rc == 0
    second = main_requests(lab)[-1]
    assert "yes, go on" in second
    assert second.count('<dayleaf-memory part="prompt"') == 1
    assert second.count('<dayleaf-memory part="brief"') == 1
    assert errors(lab) == ""


def test_a_handoff_reaches_the_next_session_once(lab):
    """`/dayleaf:handoff` tells what the session did; B gets it, a resumed B not again; a standup
    asks no model.
    """
    lab.api.set_script({"turns": [*fix(lab), "Handed off."]})
    session = lab.claude("-p", "fix the add function in calc.py, its test fails", *WORK).json[
        "session_id"
    ]
    until(lambda: lab.records("checkpoints"))
    run = lab.claude("-p", "--resume", session, "/dayleaf:handoff", *SAY)
    assert run.json["result"] == "Handed off."
    assert "handed off: [c-" in main_requests(lab)[-1]
    assert "Fix add" in (private(lab) / "checkpoints" / "handoff.md").read_text()

    lab.api.server.requests.clear()
    lab.api.set_script({"turns": ["Going on.", "Still."]})
    assert lab.claude("-p", "what is next?", *SAY).rc == 0
    block = part(main_requests(lab)[-1], "brief")
    # nobody typed into these sessions
    assert "(new, unattended)" in block and "the same check for sub()" in block
    until(lambda: list(lab.store.glob("cache/*/handoff.json")))
    assert lab.claude("-p", "--continue", "go on", *SAY).rc == 0
    assert main_requests(lab)[-1].count("Handoff from ") == 1
    asked = len(lab.api.server.requests)
    assert (
        "Fix add" in lab.claude("-p", "/dayleaf:standup", *SAY).stdout
        and len(lab.api.server.requests) == asked
    )
    assert errors(lab) == ""


def test_recall_takes_any_words_and_puts_its_result_before_the_model(lab):
    """Quotes, semicolons and `$(…)` reach the search as they were typed: no shell is between."""
    write_notes(lab, 3)
    (private(lab) / "learnings" / "fix.md").write_text(
        "---\ntitle: The fix for the parser\n---\nStrip the BOM first.\n"
    )
    lab.api.set_script({"turns": ["Found it."]})
    run = lab.claude(
        "-p", """/dayleaf:recall what's the "fix"?; $(touch pwned) `touch pwned` | parser""", *SAY
    )
    assert run.json["result"] == "Found it."
    (text,) = main_requests(lab)
    block = part(text, "recall")
    assert "Strip the BOM first." in block
    assert "$(touch pwned)" in text
    assert not (lab.repo / "pwned").exists()
    assert "Answer from it in a few lines" in text


def test_a_learning_and_a_checkpoint_by_slash_command(lab):
    """/dayleaf:learn and /dayleaf:checkpoint write at once, and the model only says so."""
    lab.api.set_script({"turns": ["Kept.", "Written."]})
    lab.claude("-p", """/dayleaf:learn don't run "make all"; it's slow""", *SAY)
    lab.claude("-p", "/dayleaf:checkpoint decided: keep the parser", *SAY)
    (learning,) = lab.records("learnings")
    assert """don't run "make all"; it's slow""" in learning.read_text()
    assert "source: human" in learning.read_text()
    assert any(
        "decided: keep the parser" in path.read_text() for path in lab.records("checkpoints")
    )
    first, second = main_requests(lab)
    assert '<dayleaf-memory part="learn"' in first
    assert '<dayleaf-memory part="checkpoint"' in second


@pytest.mark.parametrize("command", ["status", "why", "off", "on"])
def test_what_only_shows_something_costs_no_model_request(command, lab):
    """The hook answers, the client prints it, and the API hears nothing."""
    write_notes(lab, 3)
    run = lab.claude("-p", f"/dayleaf:{command}", *SAY)
    assert run.rc == 0
    assert lab.api.messages() == []
    shown = run.json["result"]
    words = {"status": "learning", "why": "every session gets it", "off": "off", "on": "on"}
    assert words[command] in shown, shown


def test_a_subagents_first_request_holds_what_its_prompt_asks_for(lab):
    """The session's own prompt names nothing; the one it gives a subagent does, and no permission
    is asked or given.
    """
    write_notes(lab)
    talks.put(
        layout.locate({"HOME": str(lab.home)}, str(lab.repo)),
        (
            (
                "## 10:12 why does the importer skip rows?\n\n"
                "`parseLedgerRow` drops a row whose amount has a blank before the sign.\n\n"
            ),
        ),
        id="c-00000001",
        file="2026-11-10/100000-importer.md",
        created="2026-11-10T10:12:00Z",
        title="Importer skips rows",
    )
    assert lab.dayleaf("index", "build").rc == 0
    asked = "Find where parseLedgerRow reads the amount."
    lab.api.set_script(
        {
            "turns": [
                tool(
                    "Agent",
                    description="look",
                    prompt=asked,
                    subagent_type="general-purpose",
                    run_in_background=False,
                ),
                "It is in ledger.go.",
                "Done.",
            ]
        }
    )
    run = lab.claude("-p", "have somebody look into it", *SAY)
    assert run.rc == 0 and run.json["result"] == "Done.", run
    first, sub, _ = main_requests(lab)
    assert asked not in first and part(first, "prompt") == ""
    assert asked in sub and "drops a row whose amount has a blank" in part(sub, "prompt")
    assert run.json.get("permission_denials") == [] and errors(lab) == ""


def test_off_holds_for_its_session(lab):
    """After /dayleaf:off a prompt gets nothing, until /dayleaf:on."""
    write_notes(lab)
    (private(lab) / "learnings" / "canary.md").write_text(
        "---\ntitle: Canary hosts drain slowly\n---\nThe pool drains for nine minutes.\n"
    )
    asked = "how long do the canary hosts drain?"
    lab.claude("-p", "/dayleaf:off", *SAY)
    lab.claude("-p", "--continue", asked, *SAY)
    assert 'part="prompt"' not in main_requests(lab)[-1]
    lab.claude("-p", "--continue", "/dayleaf:on", *SAY)
    lab.claude("-p", "--continue", asked, *SAY)
    assert 'part="prompt"' in main_requests(lab)[-1]


def test_distill_asks_the_real_client_and_checks_what_it_says(lab):
    """The nested `claude -p` fires no hook and leaves no session; an invented bullet is cut; the
    digest reaches the model.
    """
    write_notes(lab, 4)
    (lab.root / "bin").mkdir()
    (lab.root / "bin" / "claude").symlink_to(lab.client)
    (private(lab) / "learnings" / "fix.md").write_text(
        "---\nid: l-0000fade\ntitle: The fix for the parser\n---\n"
        "Strip the BOM in src/parse.py first (commit 1a2b3c4).\n"
    )
    lab.api.set_script(
        {
            "rules": [
                {
                    "when": {"any_text": "dayleaf-distill-prompt", "tools": False},
                    "reply": (
                        "- Strip the BOM in src/parse.py first, as of commit 1a2b3c4 [l-0000fade]\n"
                        "- The fix for the parser is `Strip the BOM` [l-0000fade]\n"
                        "- See src/invented.py at commit 9f9f9f9 [l-0000fade]\n"
                    ),
                }
            ],
            "turns": ["Told."],
        }
    )
    run = lab.claude(
        "-p",
        "/dayleaf:distill what was the parser's fix?",
        *SAY,
        env={"PATH": f"{lab.root}/bin:/usr/local/bin:/usr/bin:/bin"},
    )
    assert run.json["result"] == "Told."
    nested = [body for body in lab.api.messages() if "dayleaf-distill-prompt" in sent(body)]
    assert len(nested) == 1
    assert "dayleaf-memory" not in sent(nested[0])
    (text,) = main_requests(lab)
    block = part(text, "distill")
    assert "as of commit 1a2b3c4" in block
    assert "invented" not in block.partition("claude:")[0]
    assert len(lab.transcripts()) == 1
    assert len(list((lab.store / "log" / "receipts").rglob("*.jsonl"))) == 1
    (spent,) = (lab.store / "spend.jsonl").read_text().splitlines()
    assert json.loads(spent)["provider"] == "claude"
    assert errors(lab) == ""


def test_distill_without_a_model_is_an_extract(lab):
    """Without any client on PATH the digest is made of the records' own sentences, and no request
    is made for it.
    """
    write_notes(lab, 4)
    lab.api.set_script({"turns": ["Told."]})
    lab.claude("-p", "/dayleaf:distill which deploy step needs a token?", *SAY)
    (text,) = [sent(body) for body in lab.api.messages()]
    assert "stops with HTTP 402" in part(text, "distill")


def test_distill_asks_the_real_gemini_where_there_is_no_claude(lab, gemini_bin):  # noqa: F811
    """The second step of the chain: asked without tools, and its answer checked like the
    first's.
    """
    write_notes(lab, 4)
    (private(lab) / "learnings" / "fix.md").write_text(
        "---\nid: l-0000fade\ntitle: The fix for the parser\n---\n"
        "Strip the BOM in src/parse.py first (commit 1a2b3c4).\n"
    )
    (lab.root / "bin").mkdir()
    (lab.root / "bin" / "gemini").symlink_to(gemini_bin)
    (lab.home / ".gemini").mkdir()
    (lab.home / ".gemini" / "settings.json").write_text(
        '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
    )
    reply = (
        "- Strip the BOM in src/parse.py first, as of commit 1a2b3c4 [l-0000fade]\n"
        "- The fix for the parser is `Strip the BOM` [l-0000fade]\n"
    )
    with FakeGemini({"default": reply}) as api:
        run = lab.dayleaf(
            "distill",
            "what was the parser's fix?",
            env={
                "PATH": f"{lab.root}/bin:/usr/local/bin:/usr/bin:/bin",
                "GEMINI_API_KEY": "dummy",
                "GOOGLE_GEMINI_BASE_URL": api.url,
            },
        )
        asked = [
            r["body"]
            for r in api.requests
            if "dayleaf-distill-prompt" in text_of((r["body"] or {}).get("contents"))
        ]
    assert run.rc == 0
    assert "as of commit 1a2b3c4" in run.stdout and "gemini" in run.stdout, run
    assert len(asked) == 2, "its router's question which model to take, then ours"
    assert not any(
        tool.get("functionDeclarations") for body in asked for tool in body.get("tools", [])
    )
    assert lab.api.messages() == []


def asked(lab: Lab, prompt: str) -> str:
    """Ask in a session of its own and return the text of the request."""
    lab.api.server.requests.clear()
    lab.api.set_script({"turns": ["Understood."]})
    assert lab.claude("-p", prompt, *SAY).rc == 0
    return main_requests(lab)[-1]


def test_a_rule_binds_from_approval_to_the_next_edit(lab):
    """The model suggests it and cannot approve it; a person does, and the next prompt holds it; an
    edit takes it out.
    """
    question = "which type does the migration of prices use?"
    suggest = (
        'dayleaf rule suggest "Prices are integer cents" --rationale "floats lose '
        'cents" --tag migration'
    )
    approve = "dayleaf rule approve $(basename -s .md %s/rules/*.md)" % private(lab)
    lab.api.set_script(
        {"turns": [tool("Bash", command=suggest), tool("Bash", command=approve), "Suggested."]}
    )
    assert lab.claude("-p", "keep that as a rule", *WORK).rc == 0
    assert "only a person decides on a rule" in main_requests(lab)[-1]
    (rule,) = lab.records("rules")
    assert "source: agent" in rule.read_text()
    assert "integer cents" not in part(asked(lab, question), "prompt")

    status, shown = on_terminal(["rule", "approve", rule.stem], lab.env(), str(lab.repo), ["yes"])
    assert status == 0 and "floats lose cents" in shown and "approved" in shown
    ruled = (
        part(asked(lab, question), "prompt")
        .partition("<dayleaf-rules")[2]
        .partition("</dayleaf-rules>")[0]
    )
    assert "Prices are integer cents" in ruled and "floats lose cents" in ruled

    rule.write_text(rule.read_text().replace("integer cents", "floats"))
    after = asked(lab, question)
    assert "Prices are" not in after and "<dayleaf-rules" not in after
    assert errors(lab) == ""


def test_a_script_runs_from_approval_to_the_next_edit(lab):
    """The model keeps it and cannot run it; a person approves the bytes; then it runs for the
    model, until they change.
    """
    script = lab.repo / "bin" / "check prices.sh"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\n# Counts the prices.\necho "checked $1"\n')
    lab.api.set_script(
        {
            "turns": [
                tool(
                    "Bash", command="dayleaf resource add --path 'bin/check prices.sh' --tag prices"
                ),
                tool(
                    "Bash",
                    command=(
                        "dayleaf resource run $(basename -s .md %s/resources/*.md) -- '3 prices'"
                    )
                    % private(lab),
                ),
                tool(
                    "Bash",
                    command="dayleaf resource approve $(basename -s .md %s/resources/*.md)"
                    % private(lab),
                ),
                "Kept.",
            ]
        }
    )
    assert lab.claude("-p", "keep that script", *WORK).rc == 0
    said = main_requests(lab)[-1]
    assert (
        "waits for review" in said
        and "only a person decides on a script" in said
        and "checked 3 prices" not in said
    )
    (resource,) = lab.records("resources")

    status, shown = on_terminal(
        ["resource", "approve", resource.stem], lab.env(), str(lab.repo), ["yes"]
    )
    assert status == 0 and 'echo "checked $1"' in shown and "approved" in shown
    run = tool(
        "Bash",
        command="dayleaf recall prices; dayleaf resource run %s -- '3 prices; $(id)'"
        % resource.stem,
    )
    for text, there in ((script.read_text(), True), (script.read_text() + "echo more\n", False)):
        script.write_text(text)
        lab.api.server.requests.clear()
        lab.api.set_script({"turns": [run, "Done."]})
        assert lab.claude("-p", "check the prices", *WORK).rc == 0
        said = main_requests(lab)[-1]
        assert ("checked 3 prices; $(id)" in said, "script, try this" in said) == (there, there)
    assert "changed since it was approved" in said and "script, waits for review" in said
    assert errors(lab) == ""


@needs_tmux
def test_compaction_keeps_what_was_done(lab):
    """/compact: the checkpoint is written before the client drops its context, and the brief comes
    again after.
    """
    write_notes(lab, 3)
    summarising = {
        "when": {"text": "detailed summary of"},
        "times": 1,
        "reply": {"text": "<analysis>a</analysis><summary>A SHORT SUMMARY</summary>", "delay": 2},
    }
    ended = "The sign was wrong. Next: the same check for sub()."
    lab.api.set_script(
        {"rules": [summarising], "turns": [*fix(lab)[:4], ended, "After the summary."]}
    )
    with Tui(
        lab, "--plugin-dir", PLUGIN, "--permission-mode", "acceptEdits", "--allowedTools", "Bash"
    ) as tui:
        tui.wait("accept edits")
        time.sleep(1)
        tui.type("fix the add function in calc.py")
        tui.wait("The sign was wrong.")
        tui.type("/compact")
        tui.wait("Compacted")
        (checkpoint,) = until(lambda: lab.records("checkpoints"))
        assert "trigger: pre_compact" in checkpoint.read_text()
        assert "calc.py" in checkpoint.read_text()
        tui.type("what is left to do?")
        tui.wait("After the summary.")
        tui.type("/exit")
        until(lambda: not tui.alive())
    last = main_requests(lab)[-1]
    assert "A SHORT SUMMARY" in last
    assert last.count('<dayleaf-memory part="brief"') == 1
    told = part(last, "brief")
    assert (
        "This session before its compaction" in told and "fix the add function in calc.py" in told
    )
    assert "the same check for sub()" in told.partition("### Next\n")[2].partition("###")[0]
    assert "Outcome" not in told and "Turns" not in told
    assert errors(lab) == ""


@needs_tmux
def test_a_session_that_was_killed_is_recovered_at_the_next_start(lab):
    """SIGKILL lets no hook run: the next session's start finds the transcript and writes the
    checkpoint.
    """
    lab.api.set_script({"turns": [*fix(lab)[:4], "The sign was wrong."]})
    with Tui(
        lab, "--plugin-dir", PLUGIN, "--permission-mode", "acceptEdits", "--allowedTools", "Bash"
    ) as tui:
        tui.wait("accept edits")
        time.sleep(1)
        tui.type("fix the add function in calc.py")
        tui.wait("The sign was wrong.")
        until(lambda: "The sign was wrong." in lab.transcripts()[-1].read_text())
        tui.kill()
        time.sleep(0.5)
    assert lab.records("checkpoints") == []
    hour_ago = time.time() - 3600
    os.utime(lab.transcripts()[-1], (hour_ago, hour_ago))
    lab.claude("-p", "hello", *SAY)
    (checkpoint,) = until(lambda: lab.records("checkpoints"))
    assert "trigger: recovery" in checkpoint.read_text()
    assert "fix the add function in calc.py" in checkpoint.read_text()
    lab.claude("-p", "what was done?", *SAY)
    assert "fix the add function in calc.py" in part(main_requests(lab)[-1], "brief")


def brief_of(lab: Lab) -> str:
    """What a session's first request holds of the brief."""
    lab.api.server.requests.clear()
    run = lab.claude("-p", "hello", "--output-format", "json")
    assert run.rc == 0, run
    return part(main_requests(lab)[0], "brief")


def test_installed_from_a_git_marketplace(lab):
    """`marketplace add URL` and `install`: the hooks run from the client's cached copy, the command
    is on Bash's PATH.
    """
    write_notes(lab, 3)
    source = releases.tree(lab.root / "source")
    commit(source, "release")
    (lab.root / "git").mkdir()
    bare_clone(str(source), str(lab.root / "git" / "dayleaf.git"))
    with GitHttp(str(lab.root / "git")) as git:
        for words in (
            ["marketplace", "add", f"{git.url}/dayleaf.git"],
            ["install", "dayleaf@dayleaf"],
        ):
            done = lab.claude("plugin", *words)
            assert done.rc == 0, done
    assert "Deploy step 1" in brief_of(lab)
    lab.api.set_script(
        {"turns": [tool("Bash", command="dayleaf --version; command -v dayleaf"), "done"]}
    )
    lab.claude("-p", "which version?", "--allowedTools", "Bash", "--output-format", "json")
    assert re.search(r"/plugins/cache/dayleaf/dayleaf/[\d.]+/bin/dayleaf", main_requests(lab)[-1])
    assert errors(lab) == ""


def test_installed_from_a_folder_with_a_space_in_its_path(lab):
    """A folder marketplace is read in place; a space in its path breaks neither hooks nor the
    command.

    (A quote in it would: the client then leaves `bin` off PATH, while hooks still run.)
    """
    write_notes(lab, 3)
    source = releases.tree(lab.root / "my plugin")
    for words in (["marketplace", "add", str(source)], ["install", "dayleaf@dayleaf"]):
        done = lab.claude("plugin", *words)
        assert done.rc == 0, done
    assert "Deploy step 1" in brief_of(lab)
    lab.api.set_script(
        {"turns": [tool("Bash", command="dayleaf learn -- 'From a path with a space.'"), "done"]}
    )
    lab.claude("-p", "keep it", "--allowedTools", "Bash", "--output-format", "json")
    assert any("From a path with a space." in path.read_text() for path in lab.records("learnings"))
    assert errors(lab) == ""


def test_the_recalling_skill_searches_in_a_context_of_its_own(lab):
    """The model calls the skill; a forked agent searches and distils: only its bullets reach the
    session, by no second process.
    """
    (private(lab) / "learnings").mkdir(parents=True)
    (private(lab) / "learnings" / "fix.md").write_text(
        "---\ntitle: The fix for the parser\n---\nStrip the BOM first.\n"
    )
    lab.api.set_script(
        {
            "rules": [
                {
                    "when": {
                        "text": "Find in dayleaf's memory what is relevant to",
                        "tool": "Bash",
                    },
                    "times": 1,
                    "reply": tool("Bash", command='dayleaf recall -- "parser fix"'),
                },
                {
                    "when": {"text": "Strip the BOM first", "any_text": "Find in dayleaf's memory"},
                    "times": 1,
                    "reply": "The records say: strip the BOM first.",
                },
            ],
            "turns": [
                tool("Skill", skill="dayleaf:recalling", args="the parser's fix"),
                "Done as told.",
            ],
        }
    )
    run = lab.claude(
        "-p",
        "the parser fails on the first byte",
        *SAY,
        "--allowedTools",
        "Skill(dayleaf:recalling)",
    )
    assert run.rc == 0, run
    requests = main_requests(lab)
    assert any(
        "The fix for the parser" in text and "ranked by words" in text for text in requests
    ), requests[-1][-3000:]
    assert "The records say: strip the BOM first." in requests[-1]
    assert "ranked by words" not in requests[-1]
    assert not (lab.store / "spend.jsonl").exists()


@pytest.fixture
def solved(lab):
    """(a call that fails, the one that works): a session met the first and found the second, and
    the walls were derived.
    """
    (lab.repo / "issues.py").write_text(
        "import sys\nif '--open' in sys.argv:\n    sys.exit('unknown flag: --open')\nprint('7')\n"
    )
    commit(lab.repo, "list issues")
    fails, works = "python3 -B issues.py list --open", "python3 -B issues.py list --state open"
    lab.api.set_script(
        {"turns": [tool("Bash", command=fails), tool("Bash", command=works), "Seven are open."]}
    )
    assert lab.claude("-p", "how many issues are open?", *WORK).rc == 0
    until(lambda: lab.records("conversations"))
    lab.api.set_script({"turns": ["Hello."]})
    assert lab.claude("-p", "hello", *SAY).rc == 0
    until(lambda: list(lab.store.glob("cache/*/*.walls")))
    lab.api.server.requests.clear()
    return fails, works


def test_a_wall_that_a_pipe_hides_is_answered_as_well(lab, solved):
    """The client starts the hook for `| head` and `| tail` alone: the command's status is 0, and no
    event of failures comes.
    """
    fails, works = solved
    for hides in ("head -5", "tail -n 3"):
        lab.api.server.requests.clear()
        lab.api.set_script(
            {"turns": [tool("Bash", command="%s 2>&1 | %s" % (fails, hides)), "Seven."]}
        )
        assert lab.claude("-p", "count the issues that are open", *WORK).rc == 0
        _, failed = main_requests(lab)
        assert f"what worked: `{works}`" in part(failed, "wall"), hides
    assert errors(lab) == ""


def test_at_a_wall_that_one_session_solved_the_next_one_gets_the_remedy_once(lab, solved):
    """A finds the right flag; B's failed call is answered beside the tool's result, and the same
    failure again is not.
    """
    fails, works = solved
    lab.api.set_script(
        {"turns": [tool("Bash", command=fails), tool("Bash", command=fails), "Seven."]}
    )
    assert lab.claude("-p", "count the issues that are open", *WORK).rc == 0
    asked, failed, again = main_requests(lab)
    assert part(asked, "wall") == ""
    assert "unknown flag: --open" in failed and f"what worked: `{works}`" in part(failed, "wall")
    assert again.count('<dayleaf-memory part="wall"') == 1, (
        "it stays in the conversation, and is not said again"
    )
    assert errors(lab) == ""
