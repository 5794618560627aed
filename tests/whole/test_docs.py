"""The documents are true: every example runs, every command and setting stands in the reference,
links lead somewhere.
"""

from __future__ import annotations

import html
import json
import os
import re
import sys
from pathlib import Path

import pytest
from harness import command, reference

import memory
from memory.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "bench" / "README.md",
    ROOT / "evals" / "README.md",
]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def examples(document: Path) -> list[tuple[str, list[str]]]:
    """(command, expected lines) of each `$` line in a document's console blocks, in their order."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", document.read_text(encoding="utf-8"), re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if examples(path)], ids=lambda path: path.stem
)
def test_every_example_runs(document, tmp_path, env, project):
    """In their order, in one scratch project, each with status 0 and the output that is printed
    beside it.
    """
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    (bin_dir / "dayleaf").symlink_to(ROOT / "bin" / "dayleaf")
    runtime = Path(env["HOME"]) / ".dayleaf" / "runtime"
    runtime.parent.mkdir(parents=True)
    runtime.symlink_to(sys.prefix)
    here = {**env, "PATH": f"{bin_dir}{os.pathsep}{env['PATH']}"}
    mask = re.compile(r"\b([a-z])-[0-9a-f]{8}\b")
    for line, expected in examples(document):
        status, said = command.typed(here, project, line)
        assert status in ((0, 1) if line == "dayleaf doctor" else (0,)), (line, said)
        for one in expected:
            assert mask.sub(r"\1-00000000", one) in mask.sub(r"\1-00000000", said), (line, said)


def test_the_readme_and_the_guide_show_by_example():
    """A document without examples would pass the test above."""
    assert (
        len(examples(ROOT / "README.md")) >= 12 and len(examples(ROOT / "docs" / "guide.md")) >= 40
    )


def test_the_readme_is_short():
    """A newcomer reads it to the end; all else stands in docs/."""
    assert len(README.split()) <= 1200


def test_the_reference_is_what_the_tables_say():
    """`PYTHONPATH=.:tests python -m harness.reference` writes it anew."""
    text = reference.DOCUMENT.read_text(encoding="utf-8")
    assert reference.renewed(text) == text
    assert not [
        name
        for name, verb in main.VERBS.items()
        if "**`%s`**" % reference.headed(name, verb) not in text
    ]


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


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "llms.txt"], ids=lambda path: path.stem)
def test_links_lead_somewhere(document):
    """Relative links to files that are there, and to headings that stand in them."""
    for target, anchor in re.findall(
        r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", document.read_text(encoding="utf-8")
    ):
        there = (document.parent / target) if target else document
        assert there.exists(), target
        if anchor:
            headings = re.findall(r"(?m)^#+ (.+)$", there.read_text(encoding="utf-8"))
            assert anchor in [
                re.sub(r"[^\w -]", "", one.lower()).strip().replace(" ", "-") for one in headings
            ], (target, anchor)


def test_the_picture_is_a_recording(tmp_path):
    """The script runs its steps for real, and the picture that stands here shows the same
    commands.
    """
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import record
    finally:
        sys.path.pop(0)
    drawn = (ROOT / "docs" / "at-work.svg").read_text(encoding="utf-8")
    shown = [html.unescape(re.sub(r"<[^>]*>", "", line)) for line in drawn.splitlines()]
    assert [step.typed in "".join(shown) for step in record.STEPS] == [True] * len(record.STEPS)
    scene = record.Scene(tmp_path)
    past, given, asked = ("\n".join(scene.show(step)) for step in record.STEPS)
    for words in ("same idempotency key", "bills the customer twice"):
        assert words in given and words in asked and words in past, "the moment that README tells"
