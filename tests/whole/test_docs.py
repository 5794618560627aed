"""The documents are true: every example of the README runs, every command and setting stands in it, versions agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import memory
from memory.core import config

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def examples() -> list[tuple[str, list[str]]]:
    """(command, expected lines) of each `$` line in the README's console blocks, in their order."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def test_every_example_of_the_readme_runs(tmp_path, env, project):
    """In their order, in one scratch project, each with status 0 and the output that is printed beside it."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    (bin_dir / "dayleaf").symlink_to(ROOT / "bin" / "dayleaf")
    runtime = Path(env["HOME"]) / ".dayleaf" / "runtime"
    runtime.parent.mkdir(parents=True)
    runtime.symlink_to(sys.prefix)
    here = {**env, "PATH": f"{bin_dir}{os.pathsep}{env['PATH']}"}
    assert len(examples()) >= 12
    for command, expected in examples():
        done = subprocess.run(["sh", "-c", command], cwd=project, env=here, capture_output=True, text=True, timeout=60)
        assert done.returncode in ((0, 1) if command == "dayleaf doctor" else (0,)), (command, done.stdout, done.stderr)
        for line in expected:
            mask = re.compile(r"\b([a-z])-[0-9a-f]{8}\b")
            assert mask.sub(r"\1-00000000", line) in mask.sub(r"\1-00000000", done.stdout), (command, done.stdout)


@pytest.mark.parametrize("key", sorted(config.DEFAULTS))
def test_every_setting_stands_in_the_readme(key):
    """A user can find it where the others are."""
    assert f"`{key}`" in README


@pytest.mark.parametrize("name", sorted(p.stem for p in (ROOT / "commands").glob("*.md")))
def test_every_slash_command_stands_in_the_readme(name):
    """By its whole name."""
    assert f"/dayleaf:{name}" in README


def test_the_version_is_one(tmp_path):
    """Package, plugin and changelog."""
    plugin = json.loads((ROOT / ".claude-plugin/plugin.json").read_text())
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert plugin["version"] == memory.__version__
    assert f'version = "{memory.__version__}"' in pyproject
    assert f"## [{memory.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_links_in_the_documents_lead_somewhere():
    """Relative links of every document."""
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), ROOT / "bench/README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), (document.name, target)
