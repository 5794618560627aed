"""Every way in which a user speaks to the real client, as its transcript holds it and as it is
read.
"""

from __future__ import annotations

import re
import shutil
import time

import pytest
from harness.client import claude_bin  # noqa: F401  (fixture)
from harness.fake_anthropic import block_text
from harness.lab import PLUGIN, Lab, Tui, until

from memory.session import entries, transcript

PLAN = "# Split the reader\n\n1. Cut it in two\n2. Test both\n"
# off in this client otherwise
TASKS = {"CLAUDE_CODE_ENABLE_TASKS": "1", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}


class Asking(Lab):
    """A world where the client offers its task list."""

    def env(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        return {**super().env(extra), **TASKS}


def tool(name: str, **given: object) -> dict:
    """A scripted turn of the model that uses one tool."""
    return {"tool_use": [{"name": name, "input": given}]}


def work() -> dict:
    """The model asks, is refused, keeps a list, sends a subagent, and is spoken to while a command
    runs.
    """
    question = {
        "question": "Which store?",
        "header": "Store",
        "multiSelect": False,
        "options": [
            {"label": "Files", "description": "plain"},
            {"label": "Database", "description": "one file"},
        ],
    }
    return {
        "rules": [{"when": {"text": "SUBTASK"}, "reply": "There are 42 files."}],
        "turns": [
            tool("AskUserQuestion", questions=[question]),
            tool("Bash", command="touch allowed.txt"),
            tool("Bash", command="touch refused.txt"),
            tool("TaskCreate", subject="Cut it", description="in two"),
            tool("TaskUpdate", taskId="1", status="in_progress"),
            tool(
                "Agent",
                description="count files",
                prompt="SUBTASK: count",
                subagent_type="general-purpose",
            ),
            tool("Bash", command="sleep 6"),
            "The work is done.",
            tool("EnterPlanMode"),
            "What shall the plan hold?",
        ],
    }


def decide(tui: Tui, *keys: str, say: str = "") -> None:
    """Answer a dialog with keys, and with words where it takes some."""
    time.sleep(1)  # it drops keys while it is new
    for key in keys:
        tui.keys(key)
        time.sleep(0.4)
    if say:
        tui.type(say)


def plan_file(lab: Lab) -> str:
    """The file that the client gave the plan, as it told the model."""
    told = "\n".join(
        block_text(m["content"]) for body in lab.api.messages(tools=True) for m in body["messages"]
    )
    return re.findall(r"/\S*plans/\S+?\.md", told)[-1]


@pytest.mark.skipif(not shutil.which("tmux"), reason="interactive sessions need tmux")
def test_every_way_in_which_a_user_speaks_is_read(tmp_path, claude_bin):  # noqa: F811
    """A menu's answer, words with a leave and with a refusal, a message while it works, a plan, a
    compaction, a list, a subagent.
    """
    with Asking(tmp_path / "lab", claude_bin, work()) as lab:
        with Tui(
            lab,
            "--plugin-dir",
            PLUGIN,
            "--permission-mode",
            "default",
            "--allowedTools",
            "Bash(sleep:*)",
        ) as tui:
            time.sleep(4)
            tui.type("do the work")
            tui.wait("Which store?")
            decide(tui, "Enter")
            tui.wait("touch allowed.txt")
            decide(tui, "Tab", say="but keep it empty")
            tui.wait("touch refused.txt")
            decide(tui, "Up", "Tab", say="use notes.txt instead")
            tui.wait("$ sleep 6")
            tui.type("also check windows")
            tui.wait("The work is done.")
            tui.type("plan the next thing")
            tui.wait("What shall the plan hold?")
            lab.api.set_script(
                {
                    "turns": [
                        tool("Write", file_path=plan_file(lab), content=PLAN),
                        tool("ExitPlanMode"),
                        "It is approved.",
                    ]
                }
            )
            tui.type("two parts")
            tui.wait("Ready to code?")
            decide(tui, "Down", "Down")
            tui.keys("-l", "keep the names")
            decide(tui, "BTab")
            tui.wait("It is approved.")
            tui.type("/rename Cut the reader")
            time.sleep(1)
            tui.type("/compact keep file names")
            tui.wait("Compacted")
            tui.type("/exit")
            until(lambda: not tui.alive())
        told = list(transcript.read(str(lab.transcripts()[-1]), ended=True))
    said = [(e.name, e.text) for e in told if e.kind == entries.STEER]
    assert said == [
        ("answer", "Which store? → Files"),
        ("while working", "but keep it empty"),
        ("refused", "use notes.txt instead"),
        ("while working", "also check windows"),
        ("plan", "keep the names"),
    ]
    assert [e.text for e in told if e.kind == entries.PROMPT] == [
        "do the work",
        "plan the next thing",
        "two parts",
    ]
    assert [e.text for e in told if e.kind == entries.SLASH] == ["/compact keep file names"]
    calls = {e.id: e.data.get("command") for e in told if e.kind == entries.USE}
    assert [calls[e.id] for e in told if e.kind == entries.RESULT and e.refused] == [
        "touch refused.txt"
    ]
    assert [e.text for e in told if e.kind == entries.PLAN] == [PLAN.strip()]
    assert [e.data for e in told if e.kind == entries.TODOS] == [
        [("1", "Cut it", "pending")],
        [("1", "", "in_progress")],
    ]
    assert [(e.name, e.text) for e in told if e.kind == entries.REPORT] == [
        ("count files", "There are 42 files.")
    ]
    assert [e.text for e in told if e.kind == entries.SUMMARY] == [
        "FAKE-COMPACT-SUMMARY: the user and the assistant worked on the scripted task."
    ]
    assert ("custom", "Cut the reader") in [
        (e.name, e.text) for e in told if e.kind == entries.TITLE
    ]
