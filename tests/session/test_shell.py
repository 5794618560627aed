"""Shell commands: which of them mattered, and how they went."""

from __future__ import annotations

import pytest

from memory.session import shell


@pytest.mark.parametrize(
    ("command", "output", "failed", "outcome", "summary"),
    [
        ("pytest -q", "...\n3 passed in 0.12s", False, "passed", "3 passed in 0.12s"),
        (
            "pytest -q 2>&1 | tail -3",
            "FAILED t.py::a - assert 1 == 2\n1 failed, 2 passed in 0.12s",
            False,
            "failed",
            "1 failed, 2 passed in 0.12s",
        ),
        (
            "pytest",
            "Exit code 1\n=== 1 failed, 2 passed in 1.20s ===",
            True,
            "exit 1",
            "1 failed, 2 passed in 1.20s",
        ),
        (
            "python -m unittest",
            "Ran 4 tests in 0.001s\n\nOK",
            False,
            "passed",
            "Ran 4 tests in 0.001s",
        ),
        (
            "python -m unittest",
            "Exit code 1\nRan 4 tests in 0.1s\n\nFAILED (failures=2)",
            True,
            "exit 1",
            "FAILED (failures=2)",
        ),
        (
            "npm test",
            "Tests:       1 failed, 5 passed, 6 total",
            False,
            "failed",
            "Tests:       1 failed, 5 passed, 6 total",
        ),
        (
            "cargo test",
            "test result: ok. 3 passed; 0 failed; 0 ignored",
            False,
            "passed",
            "test result: ok. 3 passed; 0 failed; 0 ignored",
        ),
        (
            "go test ./...",
            "ok  \texample.com/x\t0.01s\nFAIL\texample.com/y\t0.02s",
            False,
            "failed",
            "FAIL\texample.com/y\t0.02s",
        ),
        ("sleep 3; npm start", "Exit code 143\nCommand timed out after 1s", True, "timed out", ""),
    ],
)
def test_the_outcome_of_a_command(command, output, failed, outcome, summary):
    """Exit codes stand in the text; a pipe hides them, and then the test summary decides."""
    run = shell.judge_command(command, "t", output, None, failed)
    assert (run.outcome, run.summary) == (outcome, summary)


@pytest.mark.parametrize(
    ("command", "output", "failed"),
    [
        ("ls && git status -s", "a\nb", False),
        ("cd x; pwd", "", False),
        ("git log --oneline | head", "x", False),
        ("grep foo bar", "Exit code 1", True),
        ("dayleaf recall x", "old memory", False),
        ("cat x | wc -l", "3", False),
        ("cd /p && python3 /opt/dayleaf/memory recall", "old memory", False),
        ("# just a comment", "", False),
        ("", "", False),
    ],
)
def test_noise_is_no_run(command, output, failed):
    """Looking around, a search without a hit and dayleaf's own commands leave no trace."""
    assert shell.judge_command(command, "t", output, None, failed) is None


def test_noise_that_fails_is_a_run():
    """A failing `cat` says something."""
    run = shell.judge_command(
        "cat missing.txt",
        "t",
        "Exit code 1\ncat: missing.txt: No such file or directory",
        None,
        True,
    )
    assert (run.outcome, run.detail) == ("exit 1", "cat: missing.txt: No such file or directory")


LINT = "a/b.go:9:14: undefined: Cart"


def test_what_was_refused_is_neither_failed_nor_passed():
    """By the user, by a rule or by a hook: it never ran."""
    said = "This command requires approval"
    run = shell.judge_command("git push", "t", said, "Error: " + said, True, True)
    assert (run.outcome, run.bad, run.detail) == ("refused", False, "")


def test_a_program_that_says_denied_is_not_refused():
    """What ran and failed has an exit code."""
    run = shell.judge_command(
        "git push",
        "t",
        "Exit code 128\nPermission to use this repository has been denied.",
        None,
        True,
    )
    assert run.outcome == "exit 128"


@pytest.mark.parametrize(
    ("output", "data"),
    [
        (
            "Exit code 137\n[Request interrupted by user for tool use]\nok  \texample.com/a\t0.1s",
            None,
        ),
        ("", {"interrupted": True}),
    ],
)
def test_what_the_user_interrupted_did_not_fail(output, data):
    """It neither passed."""
    run = shell.judge_command("go test ./...", "t", output, data, True)
    assert (run.outcome, run.bad) == ("interrupted", False)


@pytest.mark.parametrize(
    ("command", "output", "outcome"),
    [
        ("npm run build | tail -3", "chunk a.js\nchunk b.js", "unknown"),
        ("npm run build || true", "chunk a.js", "unknown"),
        ("npm run build; echo done", "done", "unknown"),
        ("npm run build &", "", "unknown"),
        ("npm run build && echo done", "done", "passed"),
        ("set -o pipefail; npm run build | tail -3", "chunk a.js", "passed"),
        ("npm run build || exit 1", "chunk a.js", "passed"),
        ('npm run build; echo "exit: $?"', "chunk a.js\nexit: 2", "exit 2"),
        ("npm run build; echo $?", "exit=0", "passed"),
        ("npm run build 2>&1 | tail -3", "built in 3.1s", "passed"),
        ("go build ./... 2>&1 | head -20", "", "passed"),
        ("go build ./... 2>&1 | grep -i cart", "", "unknown"),
        ("go build ./... 2>&1 | head -20", LINT, "failed"),
        ("golangci-lint run | tail -5", "0 issues.", "passed"),
        ("golangci-lint run | tail -5", "2 issues:\n* noctx: 2", "failed"),
        ("mise run lint 2>&1 | tail -2", "a\n[lint] ERROR task failed", "failed"),
        (
            "go test ./... | tail -2",
            "ok  \texample.com/a\t0.1s\nok  \texample.com/b\t0.2s",
            "passed",
        ),
        (
            "go test ./... | head -2",
            "ok  \texample.com/a\t0.1s\nok  \texample.com/b\t0.2s",
            "unknown",
        ),
        ("go test -v ./... | grep ok", "ok  \texample.com/a\t0.1s", "unknown"),
        ("go test -v ./... | grep -E '^(ok|FAIL)'", "ok  \texample.com/a\t0.1s", "passed"),
        ("go test -v ./...", "--- FAIL: TestA (0.0s)\n    a_test.go:3: got 1", "failed"),
        ("./scripts/run-tests.sh", "--- FAIL: TestA (0.0s)\n    a_test.go:3: got 1", "failed"),
        ("gh run view 7 --log | tail -9", "--- FAIL: TestA (0.0s)\n1 failed in 0.1s", "unknown"),
        ("gh run view 7 --log", "--- FAIL: TestA (0.0s)", "passed"),
        ("git push origin main 2>&1 | tail -1", "   1a2b3c4..5d6e7f8  main -> main", "passed"),
        ("git push 2>&1 | tail -2", " ! [rejected]        main -> main (fetch first)", "failed"),
    ],
)
def test_a_hidden_status_is_unknown_unless_the_output_tells(command, output, outcome):
    """Pipes, `|| true` and what comes after hide it; a summary, an issue or a failed test tell
    it.
    """
    assert shell.judge_command(command, "t", output).outcome == outcome


def test_a_search_without_a_hit_is_no_failed_test():
    """`go test | grep FAIL` ends with 1 where nothing failed; another search says nothing."""
    found = [
        shell.judge_command("go test ./... 2>&1 | grep " + word, "t", "Exit code 1", None, True)
        for word in ("FAIL", "cart")
    ]
    assert [run.outcome for run in found] == ["passed", "unknown"]


def test_of_several_commands_the_one_that_failed_is_told():
    """The one that the task runner names, or that its output fits."""
    tests = "[test] $ go test ./...\nok  \texample.com/a\t0.1s\n"
    lint = (
        "[lint] $ golangci-lint run\na.go:3:2: Error return value is not checked (errcheck)\n"
        "1 issues:\n* errcheck: 1\n"
    )
    run = shell.judge_command(
        "mise run test && mise run lint",
        "t",
        "Exit code 1\n" + tests + lint + "[lint] ERROR task failed",
        None,
        True,
    )
    assert (run.key, run.kind, run.names) == ("mise run lint", "lint", ("a.go",))
    run = shell.judge_command(
        "go test ./... && golangci-lint run", "t", "Exit code 1\n" + tests + lint, None, True
    )
    assert run.key == "golangci-lint run"


def test_a_run_survives_its_fields():
    """What `fields` gives makes the same run again."""
    run = shell.judge_command(
        "golangci-lint run",
        "t",
        "Exit code 1\na.go:3:2: not checked (errcheck)\n1 issues:\n* errcheck: 1",
        None,
        True,
    )
    assert shell.Run(*run.fields()).fields() == run.fields() and run.names == ("a.go",)
