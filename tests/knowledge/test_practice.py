"""Invocations that worked."""

from __future__ import annotations

import pytest
from harness import conversations

from memory.knowledge import practice


@pytest.fixture
def week(place):
    """The place with the week of an invented project."""
    conversations.week(place)
    return place


@pytest.fixture
def how(place, now):
    """Ask how a tool was called."""
    return lambda tool: practice.find_working_invocations(
        conversations.sessions(place, now), tool, now
    )


def test_what_worked_is_told_with_its_flags(week, how):
    (shape,) = how("acme")
    assert (shape.example, shape.times, shape.sessions, shape.where) == (
        "acme issue list --state open",
        2,
        1,
        "k-three#1",
    )
    assert shape.flags == ("--state",)


def test_a_tool_may_be_asked_for_with_its_verbs(place, how):
    conversations.held(
        place,
        "a",
        "2026-11-16",
        "## 09:00 go\n\n- ✓ `gh pr view 7 --json title`\n- ✓ `gh pr diff 7`\n"
        "- ✓ `cd x && gh pr view 9 --json url 2>&1 | head -5`\n",
    )
    assert [(shape.words, shape.times) for shape in how("gh pr view")] == [("gh pr view", 2)]
    assert how("gh pr view")[0].example == "gh pr view 9 --json url"
    assert [shape.words for shape in how("gh")] == ["gh pr view", "gh pr diff"]
    assert not how("g") and not how("pr")


def test_the_most_used_and_newest_come_first(place, how):
    conversations.held(place, "old", "2026-01-05", "## 09:00 go\n\n- ✓ `tool build` (×4)\n")
    conversations.held(
        place, "new", "2026-11-20", "## 09:00 go\n\n- ✓ `tool check` (×2)\n- ✓ `tool once`\n"
    )
    assert [shape.words for shape in how("tool")] == ["tool check", "tool once", "tool build"]


def test_pythons_are_one_tool(place, how):
    conversations.held(
        place,
        "a",
        "2026-11-16",
        "## 09:00 go\n\n- ✓ `python3 tools/make.py --all`\n- ✓ `python3.12 tools/make.py --all`\n",
    )
    assert (
        [(shape.words, shape.times) for shape in how("python3")]
        == [("python make.py", 2)]
        == [(s.words, s.times) for s in how("python")]
    )


@pytest.mark.parametrize(
    ("asked", "ran"),
    [
        ("uv", "uv run pytest -q"),
        ("uv run", "uv run pytest -q"),
        ("pytest", "uv run pytest -q"),
        ("npx", "npx tsc --noEmit"),
        ("npx tsc", "npx tsc --noEmit"),
        ("sudo", "sudo acme start"),
        ("./scripts/x.sh", "./scripts/x.sh --fast"),
        ("scripts/x.sh", "bash scripts/x.sh --fast"),
        ("x.sh", "bash scripts/x.sh --fast"),
        ("scripts/x.sh", "/w/scripts/x.sh --fast"),
        ("tools/make.py", "python3 tools/make.py --all"),
        (".venv/bin/pytest", ".venv/bin/pytest -x"),
    ],
)
def test_every_program_of_a_call_and_its_script_are_known(place, how, asked, ran):
    page = "## 09:00 go\n\n- ✓ `cat scripts/x.sh`\n- ✓ `git add tools/make.py`\n- ✓ `%s`\n"
    conversations.held(place, "a", "2026-11-16", page % ran)
    assert [shape.example for shape in how(asked)] == [ran]


def test_addresses_are_told_apart_and_their_numbers_are_not(place, how):
    conversations.held(
        place,
        "a",
        "2026-11-16",
        "## 09:00 go\n\n- ✓ `gh api repos/o/r/pulls/7/comments`\n"
        "- ✓ `gh api repos/o/r/pulls/9/comments`\n- ✓ `gh api repos/o/r/issues/9`\n",
    )
    assert [(shape.words, shape.times) for shape in how("gh api")] == [
        ("gh api pulls comments", 2),
        ("gh api issues", 1),
    ]


def test_forms_for_machines(week, how):
    assert practice.shape_json(how("acme")[0])["command"] == "acme issue list --state open"
