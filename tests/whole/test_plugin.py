"""The plugin's parts as the client reads them: manifests, commands, skills, their cost; validation
by the real client.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from harness.client import claude_bin  # noqa: F401  (a fixture)

import memory
from memory.cli import main
from memory.core import spellings
from memory.hook import at_expansion

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = sorted((ROOT / "commands").glob("*.md"))
SKILLS = sorted((ROOT / "skills").glob("*/SKILL.md"))


def head(path: Path) -> dict:
    """The frontmatter of a command or a skill."""
    return yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1])


def manifest(name: str) -> dict:
    return json.loads((ROOT / ".claude-plugin" / name).read_text(encoding="utf-8"))


def test_one_version_everywhere():
    """plugin.json, pyproject.toml and the package agree: the client updates a plugin by its
    version.
    """
    project = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert project
    assert manifest("plugin.json")["version"] == project[1] == memory.__version__


def test_the_repository_is_its_own_marketplace():
    """One entry, whose source is the folder that holds what a plugin needs (test_listing.py)."""
    (entry,) = manifest("marketplace.json")["plugins"]
    assert (entry["name"], entry["source"]) == (manifest("plugin.json")["name"], "./plugin")


def events(name: str) -> dict:
    return json.loads((ROOT / "hooks" / name).read_text(encoding="utf-8"))["hooks"]


def test_young_events_stand_in_a_file_of_their_own():
    """One event name that an older client does not know voids the file it stands in, and no
    other.
    """
    assert set(events("hooks.json")) <= {
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "Stop",
    }
    assert manifest("plugin.json")["hooks"] == "./hooks/young.json"
    assert not set(events("young.json")) & set(events("hooks.json"))


def test_hooks_start_without_a_shell():
    """The exec form: a path with spaces or quotes is one word, whatever the shell; without its
    `args` it is a command too.
    """
    for (entry,) in [*events("hooks.json").values(), *events("young.json").values()]:
        for hook in entry["hooks"]:
            assert hook["command"] == "${CLAUDE_PLUGIN_ROOT}/hooks/run"
            assert len(hook["args"]) == 1 and hook["timeout"] <= 120


@pytest.mark.parametrize("path", COMMANDS, ids=lambda p: p.stem)
def test_commands_cost_a_session_nothing(path):
    """Commands are the user's: hidden from the model's list, which every session pays for."""
    meta = head(path)
    assert meta["disable-model-invocation"] is True
    assert len(meta["description"]) <= 70
    assert isinstance(meta.get("argument-hint", ""), str)


@pytest.mark.parametrize("path", SKILLS, ids=lambda p: p.parent.name)
def test_skills_say_when(path):
    """A skill's description is what the model decides by, and every session pays for it."""
    meta = head(path)
    assert meta["name"] == path.parent.name
    assert meta["description"].startswith("Use when ")
    assert len(meta["description"]) <= 160


@pytest.mark.parametrize("path", [*COMMANDS, *SKILLS], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_command_named_in_a_text_exists(path):
    """What the texts tell the model to run are verbs and options of the command line."""
    text = path.read_text(encoding="utf-8")
    named = re.findall(
        r"dayleaf ([a-z]+)((?: [^\n`:]*)?)", re.sub(r"\bdayleaf's|/dayleaf:", "", text)
    )
    for first, rest in named:
        verb, used = spellings.parse_verb([first, *re.findall(r"[a-z]+", rest)[:1]])
        if verb not in main.VERBS:
            assert f"`dayleaf {first}" not in text and f"Bash(dayleaf {first}" not in text
            continue
        assert used == 2 or verb not in spellings.MOVED, "an old spelling"
        flags = {option.flag for option in main.VERBS[verb].options}
        assert set(re.findall(r" (--[a-z-]+)\b", rest.partition(" -- ")[0])) <= flags | {"--json"}
    allowed = re.findall(r"Bash\(dayleaf ([a-z ]+):\*\)", head(path)["allowed-tools"])
    assert allowed and {spellings.parse_verb(said.split())[0] for said in allowed} <= set(
        main.VERBS
    )


def test_every_command_is_answered_by_the_hook():
    """The commands are those that the expansion hook serves."""
    assert {p.stem for p in COMMANDS} == set(at_expansion.USER_VERBS) | set(
        at_expansion.MODEL_VERBS
    )


def test_a_session_pays_little_for_the_plugin(claude_bin, env):  # noqa: F811
    """The client's own estimate of what the plugin adds to every session."""
    for words in (["marketplace", "add", str(ROOT)], ["install", "dayleaf@dayleaf"]):
        subprocess.run(
            [claude_bin, "plugin", *words], env=env, capture_output=True, timeout=60, check=True
        )
    done = subprocess.run(
        [claude_bin, "plugin", "details", "dayleaf"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r"Always-on:\s+~?([\d.,]+k?) tok", done.stdout)
    assert found, done.stdout
    assert float(found[1].replace(",", "").replace("k", "e3")) <= 300, done.stdout
