"""A failure is recognised by keys without what varies from run to run."""

from __future__ import annotations

import pytest

from memory.hook import wallkeys


@pytest.mark.parametrize(
    ("printed", "telling"),
    [
        ('npm ERR! Missing script: "test"', 'Missing script: "test"'),
        ("npm error engine Unsupported engine", "engine Unsupported engine"),
        (
            "a.ts(3,5): error TS2345: Argument of this type is not assignable",
            "a.ts:3:5: TS2345: Argument of this type is not assignable",
        ),
        ("error[E0382]: borrow of moved value", "src/a.rs:3:5: borrow of moved value (E0382)"),
        (
            "  3:5  error  Value of this is never used  no-unused-vars",
            "a.js:3:5: Value of this is never used (no-unused-vars)",
        ),
        (
            "  3:5  error  Unexpected any of a type  @acme/no-any",
            "a.ts:3:5: Unexpected any of a type (@acme/no-any)",
        ),
        (
            "a.py:3: error: Item of this has no attribute  [union-attr]",
            "a.py:3: Item of this has no attribute  [union-attr]",
        ),
    ],
)
def test_a_line_as_printed_has_the_key_of_the_line_on_record(printed, telling):
    assert (
        wallkeys.build_failure_keys("Bash", "run it", printed)[-1:]
        == wallkeys.build_failure_keys("Bash", "run it", telling)[-1:]
        != []
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.go:12:3: undefined: thing", "other/b.go:7:1: undefined: thing"),
        (
            "Error: connect to 10.0.0.1 port 5432 was refused",
            "error: connect to 10.9.9.9 port 80 was refused",
        ),
        ("/tmp/x1/run.sh failed to start the broker", "/home/me/run.sh failed to start the broker"),
        (
            "got 3 results, expected seven (TestSeven)",
            "got 9 results, expected seven (TestSeven/sub)",
        ),
        ("commit 1a2b3c4d5e is not an ancestor", "commit ffee00112233 is not an ancestor"),
        ("<tool_use_error>Unknown skill: a:b</tool_use_error>", "Unknown skill: a:b"),
    ],
)
def test_what_varies_from_run_to_run_does_not_count(one, other):
    assert (
        wallkeys.build_failure_keys("Bash", "acme do", one)
        == wallkeys.build_failure_keys("Bash", "acme do", other)
        != []
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.go:12:3: undefined: thing", "a.go:12:3: undefined: other"),
        ("error E0382: moved", "error E0499: moved"),
        ("gh: Not Found (HTTP 404)", "gh: Not Found (HTTP 403)"),
    ],
)
def test_names_codes_and_states_do_count(one, other):
    assert not set(wallkeys.build_failure_keys("Bash", "acme do", one)) & set(
        wallkeys.build_failure_keys("Bash", "acme do", other)
    )


@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("gh api repos/o/r/pulls/7/comments/12345 --jq .body", "gh api pulls comments"),
        ("gh pr diff 7 --stat", "gh pr diff"),
        ("cd a && FOO=1 sudo git show --no-stat x | head", "git show"),
        ("cat -A x", "cat"),
        ("/usr/bin/make lint 2>&1", "make lint"),
    ],
)
def test_a_call_is_known_by_its_program_and_verb(command, call):
    assert "x|bash|unknown|" + call in wallkeys.build_failure_keys("Bash", command, "unknown")
