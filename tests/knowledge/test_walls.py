"""Which failed calls are written down for the hook, and with which remedy."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from harness import conversations, vault

from memory.hook import wallkeys
from memory.knowledge import practice, walls

FLAG = "x|bash|unknown flag --open|acme issue"


@pytest.fixture
def derived(place, now):
    """Derive the look-up, and give what it holds for a key: derived(key) -> the wall or None."""

    def call(key: str):
        walls.update_walls(place, vault.settings(), now)
        fd = os.open(wallkeys.walls_path(place), os.O_RDONLY)
        try:
            return wallkeys.find_wall(
                fd, wallkeys.read_key_table(fd), wallkeys.hash_key(key).encode()
            )
        finally:
            os.close(fd)

    return call


def said(wall) -> list[str]:
    """The remedy of a wall's best occurrence."""
    return wall["met"][0]["said"] if wall else []


def held(place, session: str, *lines: str, day="2026-11-16", **keys) -> str:
    """Write a conversation of one turn."""
    return conversations.held(
        place, session, day, "## 09:00 go on\n\n" + "\n".join(lines) + "\n\nDone.\n", **keys
    )


def keys_of(line: str, command="acme do") -> list[str]:
    return wallkeys.build_failure_keys("Bash", command, line)


def test_another_call_that_worked_is_a_remedy(place, derived):
    conversations.week(place)
    wall = derived("x|bash|unknown flag --open|acme")
    assert said(wall) == ["what worked: `acme issue list --state open`"]
    assert (wall["sessions"], wall["met"][0]["id"], wall["met"][0]["branch"]) == (
        1,
        "k-three",
        "main",
    )


@pytest.mark.parametrize("passed", ["acme do --x | tail -5", "acme do --x 2>&1", "acme do --x"])
def test_the_same_call_is_none_whatever_its_output_goes_through(place, derived, passed):
    held(
        place,
        "a",
        "- ✗ `acme do --x 2>&1 | head -3` → exit 1: the broker of the queue is away",
        "- ✓ `%s`" % passed,
    )
    assert derived(keys_of("the broker of the queue is away")[0]) is None


def test_edits_alone_are_no_remedy(place, derived):
    """That something was edited and the check passed says nothing that helps, whatever was said of
    it.
    """
    line = "- ✗ `make test` → exit 1: cart_test.c:9: the total of the cart is wrong"
    held(
        place,
        "a",
        line,
        "\nThe root cause is the rounding: the total of the cart adds cents as floats.\n",
        "- edited `cart.c`",
        "- ✓ `make test`",
    )
    assert derived(keys_of("cart_test.c:9: the total of the cart is wrong")[0]) is None


def test_a_call_that_worked_before_in_that_session_helps_where_none_did_after(place, derived):
    """Of an address what counts is its shape."""
    held(
        place,
        "a",
        '- ✓ `gh api repos/o/r/pulls/90/comments/2719/replies -X POST -f body="thanks"`',
        "- ✓ `gh api user`",
        '- ✗ `gh api repos/o/r/pulls/comments/2720/replies -f body="Good catch, the agent type is '
        'now passed through from the caller"` → '
        "exit 1: gh: Not Found (HTTP 404)",
    )
    wall = derived("x|bash|gh not found http 404|gh api pulls comments")
    assert said(wall) == [
        'what worked: `gh api repos/o/r/pulls/90/comments/2719/replies -X POST -f body="thanks"`'
    ]


@pytest.mark.parametrize(
    ("failed", "why", "worked"),
    [
        ("npm test", 'Missing script: "test"', "pnpm run check"),
        ("python x.py", "ModuleNotFoundError: No module named 'yaml'", "uv run python x.py"),
        ("python x.py", "bash: line 1: python: command not found", "uv run x.py"),
        (
            "docker-compose up -d",
            "bash: line 1: docker-compose: command not found",
            "docker compose up -d",
        ),
        ("psql app", "psql: error: no server listens on that socket", "docker exec db psql app"),
        (
            "pytest tests -q",
            "tests/conftest.py:3: ModuleNotFoundError: No module named 'shop'",
            "uv run pytest tests -q",
        ),
        (
            "docker exec db psql -U postgres -c x",
            'psql: error: the server knows no role "postgres"',
            "docker exec db psql -U shop -c x",
        ),
        (
            "alembic upgrade head",
            "FAILED: No 'script_location' key found in the configuration file",
            "alembic -c db/alembic.ini upgrade head",
        ),
        (
            "ssh box 'cd /srv && acme migrate carts of the shop in two steps'",
            "the pooler of the database refused the parameter",
            "ssh box 'cd /srv && acme --direct migrate carts of the shop in two steps'",
        ),
        (
            "redis-cli -p 6379 llen jobs",
            "the server wants a name and a word first",
            "docker exec kv sh -c 'redis-cli --user shop llen jobs'",
        ),
        (
            "npm --prefix web run test",
            "this folder is not compatible with your version of npm",
            "pnpm --dir web vitest run",
        ),
        (
            "ci/build --dev && adb install app.apk",
            "the signatures of both packages do not match",
            "ci/build --dev --suffix .dev && adb install app.apk",
        ),
    ],
)
def test_the_remedy_may_be_another_program_with_the_same_aim(place, derived, failed, why, worked):
    held(
        place, "a", "- ✗ `%s` → exit 1: %s" % (failed, why), "- ✓ `git add a`", "- ✓ `%s`" % worked
    )
    assert said(derived(keys_of(why, failed)[0])) == ["what worked: `%s`" % worked]


def test_another_program_that_passed_after_an_edit_is_no_remedy(place, derived):
    """The edit mended it."""
    why = "assertion of the total: expected seven, received eight"
    held(place, "a", "- ✗ `npm test` → exit 1: " + why, "- edited `a.js`", "- ✓ `pnpm test`")
    assert derived(keys_of(why, "npm test")[0]) is None


@pytest.mark.parametrize("other", ["make lint jobs", "git commit acme drain queue jobs"])
def test_another_program_with_few_of_the_words_or_git_is_no_remedy(place, derived, other):
    why = "the broker of the queue is away"
    held(place, "a", "- ✗ `acme drain --queue jobs` → exit 1: " + why, "- ✓ `%s`" % other)
    assert derived(keys_of(why, "acme drain --queue jobs")[0]) is None


@pytest.mark.parametrize(
    ("failed", "why", "worked"),
    [
        ("acme list --open", "unknown flag: --open", "acme list --open --all"),
        ("acme run view 12", "run not found", "acme run view 13"),
    ],
)
def test_a_call_with_the_same_fault_or_of_other_numbers_is_no_remedy(
    place, derived, failed, why, worked
):
    held(place, "a", "- ✗ `%s` → exit 1: %s" % (failed, why), "- ✓ `%s`" % worked)
    assert derived(keys_of(why, failed)[0]) is None


def test_the_newest_occurrence_with_a_remedy_stands_first(place, derived):
    fail, late = "- ✗ `acme do --x` → exit 1: unknown flag: --x", "- ✓ `acme do --y`"
    held(place, "old", fail, late, day="2026-11-12")
    held(place, "new", fail, late, day="2026-11-14")
    held(place, "none", fail, day="2026-11-16")
    wall = derived("x|bash|unknown flag --x|acme")
    assert [one["id"] for one in wall["met"]] == ["k-new", "k-old"] and wall["sessions"] == 3


def test_a_missing_path_is_known_with_what_is_there_instead(place, derived):
    held(
        place,
        "a",
        "- ✗ Read `src/parts/view_test.c` → failed: File does not exist.",
        "- ✗ Read `src/wrong/model.c` → failed: File does not exist.",
        "- ✗ Read `/etc/nowhere/x.c` → failed: File does not exist.",
        "- ✗ Read `src/parts/nothing_like_it.c` → failed: File does not exist.",
        "- edited `src/parts/view_test.h`, edited `src/parts/model.c`",
    )
    assert derived("a|src/parts/view_test.c")["instead"][0][0] == "src/parts/view_test.h"
    assert derived("a|src/wrong/model.c")["instead"][0][0] == "src/parts/model.c"
    assert [path for path, _ in derived("a|src/wrong")["instead"]] == ["src"]
    assert derived("a|/etc/nowhere/x.c") is derived("a|src/parts/nothing_like_it.c") is None


@pytest.mark.parametrize(
    "line",
    [
        "- ✗ Edit `a.c` → failed: String to replace not found in file.",
        "- ⊘ `acme do` → refused",
        "- ✗ `make all` → exit 2: make: *** [all] Error 1",
        "- ✗ `acme` → exit 1",
        "- ✗ `go test` → exit 1: FAIL\tgit.example.com/x [setup failed]",
        "- ✓ `acme do`",
    ],
)
def test_protocol_refusals_and_what_runners_say_last_are_no_walls(place, now, line):
    held(place, "a", line, "- ✓ `acme other --y`")
    walls.update_walls(place, vault.settings(), now)
    assert Path(wallkeys.walls_path(place)).read_bytes() == b"dayleaf walls 1 0\n"


def test_only_records_whose_file_changed_are_read_again(place, now, derived, monkeypatch):
    conversations.week(place)
    derived(FLAG)
    read = []
    original = walls._read_failures
    monkeypatch.setattr(
        walls,
        "_read_failures",
        lambda place, store, name, *rest: read.append(name) or original(place, store, name, *rest),
    )
    before = Path(wallkeys.walls_path(place)).read_bytes()
    walls.update_walls(place, vault.settings(), now)
    assert not read
    held(
        place,
        "five",
        "- ✗ `acme issue list --open` → exit 2: unknown flag: --open",
        "- ✓ `acme issue list --state all`",
        day="2026-11-20",
    )
    assert said(derived("x|bash|unknown flag --open|acme")) == [
        "what worked: `acme issue list --state all`"
    ]
    assert read == ["p/conversations/2026-11-20/090000-five.md"]
    Path(place.path(read[0])).unlink()
    derived(FLAG)
    assert Path(wallkeys.walls_path(place)).read_bytes() == before, (
        "the same records give the same bytes"
    )


def test_both_files_may_be_lost_or_damaged_at_any_time(place, now, derived):
    conversations.week(place)
    derived(FLAG)
    whole = Path(wallkeys.walls_path(place)).read_bytes()
    for damage in (
        lambda: Path(walls.failures_path(place)).write_bytes(b"\0{[nonsense"),
        lambda: Path(walls.failures_path(place)).unlink(),
        lambda: Path(wallkeys.walls_path(place)).unlink(),
        lambda: Path(wallkeys.walls_path(place)).write_bytes(b"\0" * 99),
        lambda: Path(wallkeys.walls_path(place)).write_bytes(whole[:-40]),
        lambda: Path(walls.failures_path(place)).write_text('{"v": 99}\n'),
    ):
        damage()
        walls.update_walls(place, vault.settings(), now)
        assert Path(wallkeys.walls_path(place)).read_bytes() == whole


def test_what_was_written_is_read_back_by_the_rule_of_writing(place, now):
    """A checkpoint that was read before its session had a conversation gives nothing beside it,
    then or later.
    """
    conversations.noted(
        place,
        "a",
        "2026-11-16",
        "## Commands\n\n- ✗ `acme issue list --open` → exit 2: unknown flag: --open\n",
    )
    assert [row["failures"] for row in walls.update_walls(place, vault.settings(), now)] != [[]]
    held(
        place,
        "a",
        "- ✗ `acme issue list --open` → exit 2: unknown flag: --open",
        "- ✓ `acme issue list --state open`",
    )
    rows = walls.update_walls(place, vault.settings(), now)
    assert [bool(row["failures"]) for row in rows] == [False, True]
    assert (
        walls.read_cached_failures(place)
        == walls.update_walls(place, vault.settings(), now)
        == rows
    )


def test_a_checkpoint_tells_where_there_is_no_conversation(place, derived):
    conversations.noted(
        place,
        "a",
        "2026-11-16",
        "## Commands\n\n- ✗ `acme do --x` → exit 1: unknown flag: --x\n- ✓ `acme do --y`\n",
    )
    assert said(derived("x|bash|unknown flag --x|acme")) == ["what worked: `acme do --y`"]
    held(place, "a", "Nothing failed.")
    assert derived("x|bash|unknown flag --x|acme") is None


def test_what_is_private_is_left_out(place, derived):
    held(
        place,
        "a",
        "<private>",
        "- ✗ `acme do --x` → exit 1: unknown flag: --x",
        "- ✓ `acme do --y`",
        "</private>",
    )
    assert derived("x|bash|unknown flag --x|acme") is None


def test_the_files_hold_no_more_than_ascii_json_and_are_the_users_own(place, derived):
    conversations.week(place)
    derived(FLAG)
    for path in (wallkeys.walls_path(place), walls.failures_path(place)):
        assert os.stat(path).st_mode & 0o077 == 0
        Path(path).read_text("ascii")
    rows = Path(wallkeys.walls_path(place)).read_text("ascii").split("\n")
    count = int(rows[0].split()[-1])
    entries = rows[1 : 1 + count]
    assert entries == sorted(entries) and all(len(entry) == wallkeys.ENTRY - 1 for entry in entries)
    assert all(json.loads(row)["met"] for row in rows[1 + count : -1])


def test_two_hundred_sessions_are_read_in_seconds(place, now):
    for at in range(200):
        held(
            place,
            "s%d" % at,
            *(
                (
                    "- ✗ `acme do --f%d` → exit 1: the broker %s of the queue is "
                    "away\n- ✓ `acme do --g%d`"
                )
                % (n, chr(97 + n), n)
                for n in range(8)
            ),
            day="2026-10-%02d" % (1 + at % 30),
        )
    began = time.monotonic()
    walls.update_walls(place, vault.settings(), now)
    assert time.monotonic() - began < 10


UNUSED = "- ✗ `make lint` → exit 1: a.c:1:2: the value of 'f' is not used (no-unused)"
CHANGED = "- changed for `the value of 'f' is not used (no-unused)`: `%s`"


def test_a_change_that_names_the_rule_is_its_remedy_once_the_check_passed(place, derived):
    met = CHANGED % "f() //nolint:no-unused // best effort"
    held(place, "a", UNUSED, "- edited `a.c`", met)
    assert derived("r|no-unused") is None, "nobody knows whether it helped"
    held(place, "b", UNUSED, "- edited `a.c`", met, "- ✓ `make lint`", day="2026-11-18")
    wall = derived("r|no-unused")
    assert said(wall) == ["changed to: `f() //nolint:no-unused // best effort`"]
    assert (wall["met"][0]["id"], wall["sessions"]) == ("k-b", 2)


def test_a_change_of_the_code_alone_says_nothing_about_the_next_finding(place, derived):
    held(place, "a", UNUSED, "- edited `a.c`", CHANGED % "if (deep && !done) {", "- ✓ `make lint`")
    assert derived("r|no-unused") is None


def test_changes_of_the_code_tell_where_two_sessions_used_what_the_finding_does_not_name(
    place, derived
):
    for session, day, change in (
        ("a", "16", "acme.Check(f())"),
        ("b", "17", "if acme.Check(g()) {"),
    ):
        held(
            place,
            session,
            UNUSED,
            "- edited `a.c`",
            CHANGED % change,
            "- ✓ `make lint`",
            day="2026-11-" + day,
        )
    assert said(derived("r|no-unused")) == ["changed to: `if acme.Check(g()) {`"]


@pytest.mark.parametrize(
    "line", ["- ✓ `rm -rf src/old`", "- ✓ `git rm -r src/old`", "- removed `src/old`"]
)
def test_a_path_that_a_session_removed_is_told_with_its_commit(place, derived, line):
    held(place, "a", "- created `src/old/a.c`", day="2026-11-15")
    held(place, "b", line, "- commit 1a2b3c4: Drop the old parts")
    wall = derived("a|src/old")
    assert (wall["met"][0]["id"], said(wall)) == ("k-b", ["1a2b3c4 Drop the old parts"])


@pytest.mark.parametrize(
    "line",
    [
        "- ✓ `rm -rf /tmp/x`",
        "- ✓ `rm src/*.o`",
        "- ✓ `cd src && rm old`",
        "- ✗ `rm src/old` → exit 1: rm: src/old: not permitted here",
    ],
)
def test_what_is_outside_or_not_named_or_not_removed_is_no_path_of_the_project(
    place, derived, line
):
    held(place, "a", line)
    walls.update_walls(place, vault.settings(), time.time())
    assert Path(wallkeys.walls_path(place)).read_bytes() == b"dayleaf walls 1 0\n"


def test_many_missing_paths_among_many_files_are_looked_up_by_name():
    tree = practice.ProjectTree(("src/p%d/model%d.c" % (n % 97, n) for n in range(40_000)), ())
    began = time.monotonic()
    assert all(
        practice.find_replacements("src/wrong/model%d.c" % n, tree)
        == ["src/p%d/model%d.c" % (n % 97, n)]
        for n in range(3000)
    )
    assert time.monotonic() - began < 3


# ---- what several sessions met


@pytest.fixture
def repeated(place, now):
    """Ask for the failures that several sessions met."""
    return lambda: walls.find_repeated(place, walls.find_failures(place, vault.settings(), now))


def test_three_sessions_make_a_wall(place, repeated):
    """Without another call it teaches nothing; that it is asked for writes nothing."""
    conversations.week(place)
    (wall,) = repeated()
    assert (wall.sessions, wall.times, wall.ran, wall.where) == (
        3,
        3,
        "make lint",
        ("k-three#2", "k-two#1", "k-one#1"),
    )
    assert (wall.worked, wall.line, wall.learning) == ("", "", "")
    assert not Path(walls.failures_path(place)).exists()
    value = walls.to_json(wall)
    assert value["sessions"] == 3 and value["proposal"] == {"line": None, "learning": None}


@pytest.mark.parametrize(
    ("then", "met"), [("- ✓ `gh pr diff 7 --name-only`", 1), ("- edited `pull.go`", 0), ("", 0)]
)
def test_two_sessions_make_a_wall_where_another_call_is_known(place, repeated, then, met):
    """The second sighting tells what to type instead."""
    for session in "ab":
        held(place, session, "- ✗ `gh pr diff 7 --stat` → exit 1: unknown flag: --stat", then)
    found = repeated()
    assert len(found) == met and all(
        wall.learning == "`gh pr diff 7 --stat` fails: unknown flag: --stat. "
        "What worked: `gh pr diff 7 --name-only`."
        for wall in found
    )


def test_a_finding_of_different_places_is_named_without_any(place, repeated):
    """One place stays where all are it."""
    for session, at in zip("abc", (12, 30, 7)):
        finding = "%s.go:%d:3: the error (line %d) is lost, see 0%s1" % (session, at, at, session)
        held(
            place,
            session,
            "- ✗ `make lint` → exit 1: %s (nilerr)" % finding,
            "- ✗ `make build` → exit 1: cart.go:9:2: undefined: errors",
        )
    assert [wall.telling for wall in repeated()] == [
        "cart.go:9:2: undefined: errors",
        "the error (line …) is lost, see … (nilerr)",
    ]


def absent(place, path: str) -> None:
    for session in "abc":
        held(place, session, "- ✗ Read `%s` → failed: File does not exist." % path)


def tracked(place, *paths: str) -> None:
    for path in paths:
        file = Path(place.root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x\n")
    subprocess.run(["git", "-C", place.root, "add", "-A"], check=True)


def test_the_line_of_the_instructions_that_names_what_is_not_there_is_proposed(place, repeated):
    absent(place, ".lintrc.yml")
    tracked(place, ".lintrc.yaml", "src/a.c")
    Path(place.root, "CLAUDE.md").write_text(
        "# App\n\nLint by `.lintrc.yml`, not by hand.\nNot this: .lintrc.yml.bak\n"
    )
    (wall,) = repeated()
    assert (wall.path, wall.worked) == (".lintrc.yml", ".lintrc.yaml")
    assert wall.line == "CLAUDE.md:3 names .lintrc.yml"
    assert wall.learning == "`.lintrc.yml` does not exist here; it is `.lintrc.yaml`."


def test_files_of_a_folder_that_never_was_there_are_one_wall(place, repeated):
    for session, name in zip("abc", ("run.go", "stop.go", "list.go")):
        held(place, session, "- ✗ Read `cmd/commands/%s` → failed: File does not exist." % name)
    tracked(place, "cmd/run.go")
    (wall,) = repeated()
    assert (wall.path, wall.sessions) == ("cmd/commands", 3) and "cmd/commands" in wall.learning


def test_a_path_that_is_there_by_now_is_no_wall_any_more(place, repeated):
    absent(place, "docs/guide.md")
    tracked(place, "docs/guide.md")
    assert repeated() == []


def test_without_tracked_files_nothing_is_said_to_be_absent(place, repeated):
    absent(place, "docs/guide.md")
    (wall,) = repeated()
    assert (wall.path, wall.line, wall.learning) == ("", "", "")


def test_a_command_that_the_instructions_name_wrongly_is_proposed(place, repeated):
    for session in "abc":
        held(
            place,
            session,
            '- ✗ `npm run tests` → exit 1: npm ERR! Missing script: "tests"',
            "- ✓ `npm run test:unit`",
        )
    Path(place.root, "CLAUDE.md").write_text("Run `npm run tests` first.\n")
    (wall,) = repeated()
    assert wall.line == "CLAUDE.md:1 names npm run tests"
    assert wall.learning.endswith("What worked: `npm run test:unit`.")


def test_instructions_that_lead_out_of_the_project_are_not_read(place, repeated, tmp_path):
    absent(place, ".lintrc.yml")
    tracked(place, "src/a.c")
    outside = tmp_path / "outside.md"
    outside.write_text(".lintrc.yml\n")
    Path(place.root, "CLAUDE.md").symlink_to(outside)
    (wall,) = repeated()
    assert wall.line == ""
