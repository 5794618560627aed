"""The client's memory and CLAUDE.md as candidates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.importing import kept

from memory.project import clientmemory


def counts(found):
    return (found["new"], found["unchanged"], found["changed"], len(found["skipped"]))


@pytest.fixture
def claude(project, place, env):
    """The client's directory: put(path, text) writes below it, put.memory below this project's auto
    memory.
    """
    root = Path(env["HOME"], ".claude")

    def put(name, text):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    put.memory = lambda name, text: put(
        str(Path(clientmemory.memory_folder(place, env), name).relative_to(root)), text
    )
    return put


FACT = (
    "---\nname: user-role\ndescription: The user prefers tables\nmetadata:\n  type: user\n---\n\n"
    "Tables, not prose.\n"
)
PROJECT = (
    "# Project\n\nThis is the server of the orders; it talks to Postgres over a pool of ten.\n\n"
    "## Build\n\n- run `make`\n"
    "- never `npm install`, use `pnpm i --frozen-lockfile` because a lockfile is patched\n\n"
    "### Style\n\nTabs.\n\n"
    "See @docs/git.md, which Claude Code loads by itself where this file is loaded.\n"
)


def test_auto_memory_and_claude_md_become_candidates(claude, project, took, ok, place, tmp_path):
    """Read only; a fact a file, a section a record; recall finds them, a prompt gets none."""
    claude.memory("user_role.md", FACT)
    claude.memory(
        "MEMORY.md",
        "- [Role](user_role.md) — tables\n- Deploys happen on Tuesday through the staging lane\n",
    )
    claude(
        "CLAUDE.md",
        "# Me\n\nAnswer in Korean, keep commit subjects below sixty characters, please.\n",
    )
    for name, text in (
        ("CLAUDE.md", PROJECT),
        ("docs/git.md", "# Git\n\nRebase onto main before each pull request, and squash.\n"),
        (
            "api/CLAUDE.md",
            "# API\n\nEvery endpoint validates its body with the schema beside it.\n",
        ),
    ):
        Path(project, name).parent.mkdir(exist_ok=True)
        Path(project, name).write_text(text)
    before = {
        path: path.read_bytes()
        for path in [*Path(project).rglob("*.md"), *(tmp_path / "home/.claude").rglob("*")]
        if path.is_file()
    }
    found = took("claude-memory")
    assert (found["new"], [skip["path"] for skip in found["skipped"]]) == (7, [])
    mine = kept(place, "learnings")
    assert set(mine) == {
        "The user prefers tables",
        "Deploys happen on Tuesday through the staging lane",
        "Project",
        "Build",
        "Build: Style",
        "API",
    }
    assert set(kept(place, "learnings", "everyone")) == {"Me"}
    assert "- run `make`\n- never `npm install`" in mine["Build"].body
    facts = {
        title: (page.meta["source"], page.meta["origin"]["from"], page.meta["accepted"])
        for title, page in mine.items()
    }
    assert facts["Build"] == ("human", "claude-md", "false")
    assert facts["The user prefers tables"] == ("agent", "claude-memory", "false")
    assert mine["The user prefers tables"].meta["tags"] == ["user"]
    assert all(path.read_bytes() == data for path, data in before.items())
    assert "Build" in ok("recall", "frozen lockfile patched") and "no accepted learnings yet" in ok(
        "load", "pnpm frozen lockfile patched"
    )
    again = took("claude-memory")
    assert (again["new"], again["unchanged"], again["gone"]) == (0, 7, [])


def test_with_every_project(claude, env, project, took, tmp_path):
    """--all takes the projects that the client's transcripts name."""
    claude(
        "CLAUDE.md",
        "# Me\n\nAnswer in Korean, keep commit subjects below sixty characters, please.\n",
    )
    other = tmp_path / "other"
    other.mkdir()
    (other / "CLAUDE.md").write_text(
        "# Other\n\nThe other project's rules are written down in this file.\n"
    )
    claude(
        "projects/-x/s1.jsonl",
        json.dumps({"cwd": str(other), "timestamp": "2026-11-20T10:00:00Z"}) + "\n",
    )
    assert took("claude-memory")["new"] == 1
    assert took("claude-memory", "--all")["new"] == 1


def test_a_section_that_changed_and_one_that_went(claude, project, took, place):
    """The one is changed in place, the other reported."""
    path = Path(project, "CLAUDE.md")
    text = (
        "# One\n\n%s\n\n# Two\n\nThe second section stands here, and it is long "
        "enough to stand alone.\n"
    )
    path.write_text(text % "The first section stands here, and it is long enough to stand alone.")
    assert took("claude-memory")["new"] == 2
    path.write_text(
        (text % "The first section says more now, and it is long enough to stand alone.").partition(
            "# Two"
        )[0]
    )
    found = took("claude-memory")
    assert counts(found) == (0, 0, 1, 0) and [one["path"] for one in found["gone"]] == [
        "CLAUDE.md § Two"
    ]
    assert "says more now" in kept(place, "learnings")["One"].body


def test_an_accepted_candidate_is_pushed(claude, project, ok, took, place):
    """A person's word counts, and a later import keeps it."""
    path = Path(project, "CLAUDE.md")
    path.write_text(
        "# Lockfile\n\nThe patched lockfile wants `pnpm i --frozen-lockfile`, "
        "always and everywhere.\n"
    )
    took("claude-memory")
    record = next(Path(place.private, "learnings").glob("*.md"))
    record.write_text(record.read_text().replace("accepted: false", "accepted: true"))
    ok("index", "refresh")
    assert "1 learning" in ok("load", "frozen lockfile") and "0 warnings" in ok("check")
    path.write_text(path.read_text().replace("always", "ever"))
    assert counts(took("claude-memory")) == (0, 0, 1, 0) and "accepted: true" in record.read_text()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("no heading at all\n", [("", "no heading at all\n")]),
        ("# A\n\n## B\n\n" + "b" * 80 + "\n", [("A > B", "## B\n\n" + "b" * 80 + "\n")]),
        (
            "# A\n\n" + "a" * 80 + "\n\n## B\n\nshort\n",
            [("A", "# A\n\n" + "a" * 80 + "\n\n## B\n\nshort\n")],
        ),
        ("```\n# no heading\n```\n", [("", "```\n# no heading\n```\n")]),
        ("# A\n", []),
    ],
)
def test_sections_stand_on_their_own(body, expected):
    """What is too short stays with what is above; a heading in code is none."""
    assert clientmemory.split_sections(body) == expected
