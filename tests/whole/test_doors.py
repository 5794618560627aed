"""Whoever deletes one optional door, its folder and its row, keeps a dayleaf that works."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness.hook import ROOT, fire, harmless, payload

from memory.core import spellings
from memory.doors import registry

DATA = ROOT / "tests" / "data" / "transcripts"
# what a person may type of a door that has no verb of its own
WANTS = {
    "agents": ["import transcripts --agent codex"],
    "vectors": ["index build --embeddings"],
    "postgres": ["index --backend postgres", "config set index.backend postgres"],
}
TABLE = "memory/doors/registry.py"


def row_of(source: str, name: str) -> tuple[int, int]:
    """Return the first and last line of a door's row in the table."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if ast.unparse(key) == repr(name) and isinstance(value, ast.Call):
                    return key.lineno, value.end_lineno
    raise AssertionError("no row of " + name)


@pytest.fixture
def without(tmp_path):
    """Return a dayleaf without one door: without(name) -> its folder."""

    def remove(name: str) -> Path:
        root = tmp_path / "dayleaf"
        for folder in ("memory", "hooks"):
            shutil.copytree(
                ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__")
            )
        for file in ("install.sh", "pyproject.toml", ".claude-plugin/plugin.json"):
            (root / file).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / file, root / file)
        shutil.rmtree(root / registry.DOORS[name].package.replace(".", "/"))
        source = (root / TABLE).read_text(encoding="utf-8")
        first, last = row_of(source, name)
        lines = source.splitlines(keepends=True)
        (root / TABLE).write_text("".join(lines[: first - 1] + lines[last:]), encoding="utf-8")
        return root

    return remove


@pytest.mark.parametrize("name", registry.DOORS)
def test_without_a_door_the_rest_works(without, world, project, name):
    """A past session comes in, is indexed, found and shown to a prompt; doctor finds no fault."""
    root = without(name)

    def said(*words: str, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-I", str(root / "memory"), *words],
            cwd=project,
            env=world,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert done.returncode == status and "bug" not in done.stderr, done.stderr
        return done.stdout or done.stderr

    past = Path(world["HOME"], ".claude", "projects", "-w", "one.jsonl")
    past.parent.mkdir(parents=True)
    text = (DATA / "tools-headless.jsonl").read_text(encoding="utf-8")
    where = json.loads(next(line for line in text.splitlines() if '"cwd"' in line))["cwd"]
    past.write_text(text.replace(where, project), encoding="utf-8")
    taken = json.loads(said("import", "transcripts", "--json"))
    assert taken["checkpoints"], taken
    said("learn", "Migrations run before the deploy.", "--tag", "deploy")
    said("index", "build")
    assert "Migrations run" in said("recall", "migrations before a deploy")
    checks = said("doctor")
    assert ", 0 FAIL" in checks and "this check failed" not in checks, checks
    start = fire(
        "session_start", payload("SessionStart", "startup", cwd=project), world, plugin=root
    )
    words = {"prompt": "do migrations run before the deploy?", "session_id": "another"}
    asked = payload("UserPromptSubmit", cwd=project, **words)
    prompt = fire("prompt", asked, world, plugin=root)
    assert "additionalContext" in harmless(start).out.decode()
    assert "Migrations run" in harmless(prompt).context
    assert start.settled and prompt.settled
    log = Path(world["HOME"], ".dayleaf", "log", "errors.jsonl")
    assert not log.exists(), log.read_text()
    for line in WANTS.get(name, registry.DOORS[name].verbs):
        verb, *words = line.split()
        line = said(*spellings.spell_verb(verb).split(), *words, status=2)
        assert line.count("\n") == 1 and "install dayleaf again" in line, line


def test_no_module_outside_a_door_names_it():
    """Neither by an import nor by a text that could become one; the table alone does."""
    named = {
        (str(path.relative_to(ROOT)), door.package)
        for path in (ROOT / "memory").rglob("*.py")
        if path != ROOT / TABLE
        for door in registry.DOORS.values()
        if path.parent != ROOT / door.package.replace(".", "/")
        and door.package in path.read_text(encoding="utf-8")
    }
    assert named == set()
