"""Invocations that worked, and walls that several sessions ran into."""

from __future__ import annotations

import subprocess
from pathlib import Path

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
    return lambda tool: practice.working_invocations(conversations.sessions(place, now), tool, now)


@pytest.fixture
def walls(place, now):
    """The walls of the place, with the files that git tracks."""

    def call():
        known = practice.project_files(place)
        found = practice.gather_walls(conversations.sessions(place, now), known)
        return [(wall, practice.proposal(place, wall, known)) for wall in found]

    return call


def test_what_worked_is_told_with_what_failed_before_it(week, how):
    (shape,) = how("acme")
    assert (shape.example, shape.times, shape.sessions, shape.where) == (
        "acme issue list --state open",
        2,
        1,
        "k-three#1",
    )
    assert (shape.flags, shape.failed, shape.why) == (
        ("--state",),
        "acme issue list --open",
        "unknown flag: --open",
    )


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
        ("gh api repos/o/r/pulls/N/comments", 2),
        ("gh api repos/o/r/issues/N", 1),
    ]


def test_a_test_that_failed_says_nothing_of_the_call(place, how):
    conversations.held(
        place,
        "a",
        "2026-11-16",
        "## 09:00 go\n\n- ✗ `go test ./a` → exit 1: --- FAIL: TestRing (0.00s)\n"
        "- ✓ `go test ./a -v`\n",
    )
    assert [(shape.example, shape.failed) for shape in how("go test")] == [("go test ./a -v", "")]


def test_three_sessions_make_a_wall(week, walls):
    """What then passed after which edits; what was said along the way is quoted, and teaches
    nothing.
    """
    ((wall, proposed),) = walls()
    assert (wall.sessions, wall.times, wall.tools, wall.met[0].where) == (
        3,
        3,
        ("make lint",),
        "k-three#2",
    )
    assert wall.best.edits == ("src/cache.c",) and wall.telling.startswith("src/cache.c:40:3")
    assert proposed == practice.Proposal("", "")


def test_a_walls_line_and_its_remedy_are_of_one_session_and_a_silenced_check_teaches_nothing(
    place, walls
):
    """Not the newest line beside the remedy of another."""
    for number, then in enumerate(("- ✓ `make lint FIX=1`", "", "")):
        conversations.held(
            place,
            "s-%d" % number,
            "2026-11-1%d" % number,
            "## 10:00 lint it\n\n- ✗ `make lint` → exit 1: a.go:%d:2: Error return "
            "value of `q%d.Put` is not checked (errcheck)\n%s\n\nDone.\n" % (number, number, then),
        )
    ((wall, proposed),) = walls()
    assert wall.telling.startswith("a.go:0:2") and "q0.Put" in proposed.learning
    assert (
        practice.learning(
            wall.best._replace(outcome="Added `//nolint:errcheck` because the value is not used.")
        )
        == ""
    )


@pytest.mark.parametrize(
    ("then", "met"), [("- ✓ `gh pr diff 7 --name-only`\n", 1), ("- edited `pull.go`\n", 0), ("", 0)]
)
def test_two_sessions_make_a_wall_where_another_call_is_known(place, walls, then, met):
    """The second sighting tells what to type instead."""
    for number in range(2):
        conversations.held(
            place,
            "s-%d" % number,
            "2026-11-1%d" % number,
            "## 10:00 look at the pull request\n\n"
            "- ✗ `gh pr diff 7 --stat` → exit 1: unknown flag: --stat\n%s\nThat is its diff.\n"
            % then,
        )
    found = walls()
    assert len(found) == met and all(
        "gh pr diff 7 --name-only" in proposed.learning for _, proposed in found
    )


def test_what_the_client_says_of_its_own_rules_is_no_wall(place, walls):
    for n, said in enumerate(
        (
            "String to replace not found in file.",
            "File has not been read yet. Read it first before writing to it.",
            "[lint] ERROR task failed",
            "make: *** [all] Error 2",
        )
    ):
        for session in "abc":
            tool = "Edit `a.c`" if n < 2 else "`make all`"
            conversations.held(
                place,
                session + str(n),
                "2026-11-16",
                "## 09:00 go\n\n- ✗ %s → failed: %s\n" % (tool, said),
            )
    assert walls() == []


def absent(place, path: str) -> None:
    for session in "abc":
        conversations.held(
            place,
            session,
            "2026-11-16",
            "## 09:00 go\n\n- ✗ Read `%s` → failed: File does not exist.\n" % path,
        )


def tracked(place, *paths: str) -> None:
    for path in paths:
        file = Path(place.root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x\n")
    subprocess.run(["git", "-C", place.root, "add", "-A"], check=True)


def test_the_line_of_the_instructions_that_names_what_is_not_there_is_proposed(place, walls):
    absent(place, ".lintrc.yml")
    tracked(place, ".lintrc.yaml", "src/a.c")
    Path(place.root, "CLAUDE.md").write_text(
        "# App\n\nLint by `.lintrc.yml`, not by hand.\nNot this: .lintrc.yml.bak\n"
    )
    ((wall, proposed),) = walls()
    assert (
        wall.given == ".lintrc.yml"
        and proposed.line == "CLAUDE.md:3 names .lintrc.yml; .lintrc.yaml exists"
    )
    assert proposed.learning == "`.lintrc.yml` does not exist here; it is `.lintrc.yaml`."


def test_files_of_a_folder_that_never_was_there_are_one_wall(place, walls):
    for session, name in zip("abc", ("run.go", "stop.go", "list.go")):
        conversations.held(
            place,
            session,
            "2026-11-16",
            "## 09:00 go\n\n- ✗ Read `cmd/commands/%s` → failed: File does not exist.\n" % name,
        )
    tracked(place, "cmd/run.go")
    ((wall, proposed),) = walls()
    assert (
        wall.given == "cmd/commands" and wall.sessions == 3 and "cmd/commands" in proposed.learning
    )


def test_a_path_that_is_there_by_now_is_no_wall_any_more(place, walls):
    absent(place, "docs/guide.md")
    tracked(place, "docs/guide.md")
    assert walls() == []


def test_without_tracked_files_nothing_is_said_to_be_absent(place, walls):
    absent(place, "docs/guide.md")
    ((_, proposed),) = walls()
    assert proposed == practice.Proposal("", "")


def test_a_command_that_the_instructions_name_wrongly_is_proposed(place, walls):
    page = (
        '## 09:00 go\n\n- ✗ `npm run tests` → exit 1: npm ERR! Missing script: "tests"\n'
        "- ✓ `npm run test:unit`\n"
    )
    for session in "abc":
        conversations.held(place, session, "2026-11-16", page)
    Path(place.root, "CLAUDE.md").write_text("Run `npm run tests` first.\n")
    ((_, proposed),) = walls()
    assert proposed.line == "CLAUDE.md:1 names npm run tests; what worked: `npm run test:unit`"
    assert proposed.learning.endswith("What worked: `npm run test:unit`.")


def test_instructions_that_lead_out_of_the_project_are_not_read(place, walls, tmp_path):
    absent(place, ".lintrc.yml")
    tracked(place, "src/a.c")
    outside = tmp_path / "outside.md"
    outside.write_text(".lintrc.yml\n")
    Path(place.root, "CLAUDE.md").symlink_to(outside)
    ((_, proposed),) = walls()
    assert proposed.line == ""


def test_walls_and_forms_for_machines(week, walls, how, place):
    ((wall, proposed),) = walls()
    value = practice.to_json(wall, proposed, place)
    assert (
        value["sessions"] == 3
        and value["remedy"]["session"] == "two"
        and value["proposal"]["line"] is None
    )
    assert practice.shape_json(how("acme")[0])["failed_before"] == {
        "command": "acme issue list --open",
        "why": "unknown flag: --open",
    }
