"""`dayleaf mcp` in the real clients: Claude Code registers it by the setting and its model reads
what is in the fence; Gemini CLI, Codex CLI and OpenCode by the snippets of the docs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

# fixtures
from harness.client import ALL, claude_bin, codex_bin, gemini_bin, opencode_bin  # noqa: F401
from harness.fake_anthropic import sent, tool
from harness.fake_gemini import FakeGemini, text_of
from harness.hook import ROOT
from harness.lab import PATH, Lab

SAID = "calc.add returned a difference because the sign was copied."
DOCS = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_claude_code_gets_the_tools_by_the_setting_alone(tmp_path, claude_bin):  # noqa: F811
    """Names and one line of instructions; what a tool answers arrives with its fence."""
    ask = tool(
        "ToolSearch", query="select:mcp__dayleaf__recall,mcp__dayleaf__remember", max_results=5
    )
    turns = [
        ask,
        tool("mcp__dayleaf__remember", text=SAID),
        tool("mcp__dayleaf__recall", query="calc sign"),
        "Done.",
    ]
    with Lab(tmp_path / "lab", claude_bin, {"turns": turns}) as lab:
        (lab.root / "bin").mkdir()
        (lab.root / "bin" / "claude").symlink_to(claude_bin)
        done = lab.dayleaf(
            "config", "set", "mcp", "on", env={"PATH": "%s/bin:%s" % (lab.root, PATH)}
        )
        assert done.rc == 0 and "Claude Code starts `dayleaf mcp`" in done.stdout, done
        assert lab.claude("-p", "go", "--allowedTools", "mcp__dayleaf").rc == 0
        said = [sent(body) for body in lab.api.messages(tools=True)]
    assert "dayleaf is this project's memory" in said[1]
    assert '<dayleaf-memory part="kept"' in said[2] and '"group":"candidate"' in said[2]
    assert '<dayleaf-memory part="recall"' in said[3] and SAID in said[3]


@pytest.mark.skipif(not ALL, reason="DAYLEAF_TEST_CLIENTS=all asks for it")
def test_the_snippet_for_gemini_cli_works(tmp_path, gemini_bin):  # noqa: F811
    """As it stands in docs/mcp.md."""
    snippet = json.loads(re.search(r"## Gemini CLI\n.*?```json\n(.*?)```", DOCS, re.S)[1])
    home, project = tmp_path / "h", tmp_path / "p"
    (home / ".gemini").mkdir(parents=True)
    (home / ".dayleaf").mkdir(mode=0o700)
    (home / ".dayleaf" / "runtime").symlink_to(sys.prefix)
    (home / "bin").mkdir()
    (home / "bin" / "dayleaf").symlink_to(ROOT / "bin" / "dayleaf")
    (home / ".gemini" / "settings.json").write_text(
        json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}, **snippet})
    )
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    turns = [
        {"function_call": [{"name": "mcp_dayleaf_remember", "args": {"text": SAID}}]},
        {"function_call": [{"name": "mcp_dayleaf_recall", "args": {"query": "calc sign"}}]},
        "Done.",
    ]
    with FakeGemini({"turns": turns}) as api:
        done = subprocess.run(
            [gemini_bin, "-p", "go", "--approval-mode", "yolo"],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=120,
            env={
                "HOME": str(home),
                "PATH": "%s/bin:%s:%s" % (home, os.path.dirname(shutil.which("node")), PATH),
                "GEMINI_API_KEY": "dummy",
                "GOOGLE_GEMINI_BASE_URL": api.url,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "LANG": "C.UTF-8",
            },
        )
        told = text_of((api.requests[-1]["body"] or {}).get("contents"))
    assert done.returncode == 0 and '<dayleaf-memory part=\\"recall\\"' in told and SAID in told, (
        done
    )


def home_with(tmp_path):
    """A home that has `dayleaf` on its PATH, and the environment of a client in it."""
    (tmp_path / ".dayleaf").mkdir(mode=0o700)
    (tmp_path / ".dayleaf" / "runtime").symlink_to(sys.prefix)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dayleaf").symlink_to(ROOT / "bin" / "dayleaf")
    node = os.path.dirname(shutil.which("node") or "")
    return {
        "HOME": str(tmp_path),
        "PATH": "%s/bin:%s:%s" % (tmp_path, node, PATH),
        "LANG": "C.UTF-8",
    }


@pytest.mark.skipif(not ALL, reason="DAYLEAF_TEST_CLIENTS=all asks for it")
def test_codex_cli_reads_its_snippet(tmp_path, codex_bin):  # noqa: F811
    """As it stands in docs/mcp.md."""
    env = home_with(tmp_path)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(
        re.search(r"## Codex CLI\n.*?```toml\n(.*?)```", DOCS, re.S)[1]
    )
    done = subprocess.run(
        [codex_bin, "mcp", "list", "--json"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    told = json.loads(done.stdout)[0]
    assert (
        told["name"],
        told["enabled"],
        told["transport"]["command"],
        told["transport"]["args"],
    ) == ("dayleaf", True, "dayleaf", ["mcp"])


@pytest.mark.skipif(not ALL, reason="DAYLEAF_TEST_CLIENTS=all asks for it")
def test_opencode_connects_by_its_snippet(tmp_path, opencode_bin):  # noqa: F811
    """As it stands in docs/mcp.md."""
    env = home_with(tmp_path)
    project = tmp_path / "p"
    project.mkdir()
    (project / "opencode.json").write_text(
        re.search(r"## OpenCode\n.*?```json\n(.*?)```", DOCS, re.S)[1]
    )
    done = subprocess.run(
        [opencode_bin, "mcp", "list"],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert re.search(r"dayleaf\W.*connected", done.stdout), done
