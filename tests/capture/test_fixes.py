"""Failures, and what made them pass."""

from __future__ import annotations

import pytest
from harness.session import section

from memory.capture import fixes


def test_a_failure_is_told_with_what_fixed_it(session):
    """The later success of the same program, and after which edit."""
    session.ask("make it pass").bash("pytest -q", "E   assert 1 == 2\n1 failed in 0.1s", 1).edit(
        "src/add.py"
    )
    session.bash("python -m pytest -q", "1 passed in 0.1s")
    (text,) = session.fire("SessionEnd")
    fixed = section(text, "Fixed")
    assert (
        "`pytest -q` → exit 1: assert 1 == 2; passed (`python -m pytest -q`) after "
        "editing `src/add.py`"
    ) in fixed
    assert section(text, "Open") == ""


def test_a_plain_rerun_fixes_nothing_and_an_open_failure_is_open(session):
    """A flaky pass is no fix; a test that fails at the end is open."""
    session.ask("x").bash("pytest a", "1 failed in 1s", 1).bash("pytest a", "1 passed in 1s")
    session.bash("cargo test", "test result: FAILED. 1 passed; 2 failed", 101)
    (text,) = session.fire("SessionEnd")
    assert section(text, "Fixed") == ""
    assert "`cargo test` failed at the end: test result: FAILED. 1 passed; 2 failed" in section(
        text, "Open"
    )


def test_a_fix_after_the_checkpoint_closed_still_counts(session):
    """A failure before the compaction and its fix after it are joined."""
    session.ask("x").bash("cargo test", "test result: FAILED. 0 passed; 2 failed", 101)
    session.fire("PreCompact")
    session.edit("src/lib.rs").bash("cargo test", "test result: ok. 2 passed; 0 failed")
    text = session.fire("SessionEnd")[1]
    assert "`cargo test` → exit 101: test result: FAILED" in section(
        text, "Fixed"
    ) and "after editing `src/lib.rs`" in section(text, "Fixed")
    assert "(goes on) x" in section(text, "Turns") and section(text, "Open") == ""


@pytest.mark.parametrize(
    ("failing", "passing", "same"),
    [
        ("pytest tests/test_a.py", "pytest tests/test_a.py -x -vv", True),
        ("pytest tests/test_a.py::test_one", "pytest tests", True),
        ("pytest tests/test_a.py", "pytest", True),
        ("pytest tests/test_a.py", "pytest tests/test_b.py", False),
        ("pytest -k parse", "pytest -k render", False),
        ("pytest", "pytest tests/test_named.py", True),
        ("pytest", "pytest tests/test_other.py", False),
        ("cd api && npm test", "cd web && npm test", False),
        ("npm test -- cart", "npm test -- cart 2>&1 | tail -5", True),
        ("cargo test -p store", "cargo test -p wire", False),
        ("go test ./api/limits", "go test ./api/...", True),
    ],
)
def test_a_success_counts_for_the_same_target(failing, passing, same):
    """Options and redirections aside: the same words, wider ones, or those that the error names."""
    one, other = (
        fixes.shell.judge_command(command, "1", "x", None, False) for command in (failing, passing)
    )
    one.detail = "tests/test_named.py:3: KeyError"
    one.outcome, other.outcome = "failed", "passed"
    assert fixes.shows_pass(other, one) is same


@pytest.mark.parametrize(
    "passing", ["npm run build || true", "npm run build 2>&1 | tail -3", "npm run build; echo done"]
)
def test_a_success_that_hides_its_status_and_speaks_of_errors_is_none(session, passing):
    """What stands behind a pipe or an `or` says nothing of the command before it."""
    session.ask("x").bash("npm run build", "Error: Cannot find module 'vite'", 1).bash(
        "npm install vite", "added 1 package"
    )
    session.bash(passing, "Error: Cannot find module 'vite'")
    assert session.end() == []


def _runs(*told):
    """Runs in their order: (command, output) of one that passed, (command, output, exit code) of
    one that failed.
    """
    return [
        fixes.shell.judge_command(
            command,
            "%02d" % at,
            ("Exit code %d\n" % code[0] if code else "") + output,
            None,
            bool(code),
        )
        for at, (command, output, *code) in enumerate(told)
    ]


GO = (
    "--- FAIL: TestTotal (0.0s)\n    cart_test.go:9: got 1, want 2\nFAIL\n"
    "FAIL\texample.com/cart\t0.1s"
)
TWO = GO.replace(
    "FAIL\nFAIL", "--- FAIL: TestOther (0.0s)\n    cart_test.go:20: got 3, want 4\nFAIL\nFAIL"
)
LINT = "cart/a.go:3:2: Error return value is not checked (errcheck)\n1 issues:\n* errcheck: 1"
TYPES = "# example.com/cart\ncart/a.go:3:2: undefined: total"


@pytest.mark.parametrize(
    "passing",
    [
        "go test ./cart",
        "go test ./cart/...",
        "go test ./...",
        "mise run test",
        "mise run test:ci 2>&1",
        "make test",
        "make check",
        "go vet ./... && go test ./cart -run 'TestTotal|TestEmpty'",
        "cd /home/dev/shop && go test ./...",
        "mise run fmt && mise run test",
    ],
)
def test_a_wider_run_closes_a_failed_test(passing):
    """The same target, a superset, the whole, in any spelling."""
    assert (
        fixes.find_open_failures(
            _runs(
                ("go test ./cart -run TestTotal", GO, 1), (passing, "ok  \texample.com/cart\t0.1s")
            )
        )
        == []
    )


@pytest.mark.parametrize(
    "passing",
    [
        "go test ./wire",
        "go test ./cart -run TestOther",
        "go build ./...",
        "golangci-lint run",
        "mise run lint",
        "go test .",
        "go test ./... | head -1",
        "go run ./cmd/cart",
        "git commit -m x",
    ],
)
def test_another_run_closes_no_failed_test(passing):
    """Other packages, other tests, other kinds, and what hides its status."""
    runs = _runs(
        ("go test ./cart -run TestTotal", GO, 1), (passing, "ok  \texample.com/cart\t0.1s")
    )
    assert [run.command for run in fixes.find_open_failures(runs)] == [
        "go test ./cart -run TestTotal"
    ]


def test_a_narrow_run_closes_a_failure_that_it_names():
    """Whether all else passes too nobody knows, so that nothing is said of it."""
    passed = "ok  \texample.com/cart\t0.1s"
    for command in ("mise run test", "go test ./..."):
        runs = _runs((command, TWO, 1), ("go test ./cart -run TestTotal", passed))
        assert fixes.find_open_failures(runs) == []
    runs = _runs(("go test ./...", GO, 1), ("go test ./cart -run TestElse", passed))
    assert len(fixes.find_open_failures(runs)) == 1


def test_tests_that_run_only_when_asked_for_are_not_covered_by_the_others():
    """`go test ./...` leaves the integration tests out; `test:ci` takes them in."""
    failed = ("go test -tags=integration ./cart", GO, 1)
    passed = "ok  \texample.com/cart\t0.1s"
    assert len(fixes.find_open_failures(_runs(failed, ("go test ./...", passed)))) == 1
    assert fixes.find_open_failures(_runs(failed, ("mise run test:ci", passed))) == []
    assert (
        fixes.find_open_failures(_runs(failed, ("go test -tags=integration ./...", passed))) == []
    )


def test_a_lint_failure_is_closed_by_lint_over_the_same_files():
    """Under another name, over the folder; not by tests, nor by a chain that fails before it."""
    failed = ("mise run lint", LINT, 1)
    for passing in (
        "golangci-lint run ./...",
        "golangci-lint run ./cart/...",
        "mise run fmt && mise run lint | tail -3",
    ):
        assert fixes.find_open_failures(_runs(failed, (passing, "0 issues."))) == []
    assert (
        len(
            fixes.find_open_failures(
                _runs(failed, ("go test ./...", "ok  \texample.com/cart\t0.1s"))
            )
        )
        == 1
    )


def test_a_chain_that_fails_later_shows_that_its_beginning_passes():
    """`lint && test` that fails in its tests has passed the linter."""
    runs = _runs(
        ("mise run lint", LINT, 1),
        (
            "mise run lint && mise run test",
            "[test] $ go test ./...\n" + GO + "\n[test] ERROR task failed",
            1,
        ),
    )
    assert [(run.key, run.kind) for run in fixes.find_open_failures(runs)] == [
        ("mise run test", "test")
    ]


def test_a_compilers_error_is_gone_once_the_file_compiled():
    """By a build, a test or a linter over it."""
    for passing, output in (
        ("go build ./...", ""),
        ("mise run test", "ok  \texample.com/cart\t0.1s"),
        ("golangci-lint run", "0 issues."),
    ):
        assert (
            fixes.find_open_failures(_runs(("go build ./cart", TYPES, 1), (passing, output))) == []
        )


def test_of_one_task_the_newest_failure_stays():
    """A later failure of the same, or of more, tells it anew; what was called wrongly or only
    looked is none.
    """
    again = _runs(
        ("go test ./cart", GO, 1),
        ("go test ./...", TWO, 1),
        ("mise run lint", LINT, 1),
        ("mise run lint", LINT, 1),
        ("cd nowhere && go test ./cart", "(eval):cd:1: no such file or directory: nowhere", 1),
        ("gh api repos/o/r/pulls/1", "gh: Not Found (HTTP 404)", 1),
        ("go run ./cmd", "exit status 1", 1),
    )
    assert [(run.at, run.command) for run in fixes.find_open_failures(again)] == [
        ("01", "go test ./..."),
        ("03", "mise run lint"),
    ]


def test_a_refused_push_is_open_until_one_succeeds():
    """What changes something for good counts as well as tests do."""
    push = ("git push", " ! [rejected]        main -> main (fetch first)", 1)
    rebase = ("git rebase main", "CONFLICT (content): Merge conflict in a.go", 1)
    assert [run.key for run in fixes.find_open_failures(_runs(push))] == ["git push"]
    assert (
        fixes.find_open_failures(
            _runs(push, ("git pull --rebase && git push", "   1a2b3c4..5d6e7f8  main -> main"))
        )
        == []
    )
    assert (
        fixes.find_open_failures(
            _runs(rebase, ("git add a.go && git rebase --continue", "Successfully rebased"))
        )
        == []
    )


def test_a_failure_is_fixed_under_another_spelling_too(session):
    """The whole suite passed after an edit: that fixed the one test."""
    session.ask("x").bash("go test ./cart -run TestTotal", GO, 1).edit("cart/cart_test.go").bash(
        "mise run test", "ok  \texample.com/cart\t0.1s"
    )
    (text,) = session.fire("SessionEnd")
    assert "passed (`mise run test`) after editing `cart/cart_test.go`" in section(text, "Fixed")


def test_a_success_that_was_repeated_around_a_failure_is_counted_from_where_it_began(session):
    """The whole suite before and after the failure of one test stands as one run."""
    session.ask("x").bash("mise run test", "ok  \texample.com/cart\t0.1s").edit(
        "cart/cart.go"
    ).bash("go test ./cart -run TestTotal", GO, 1)
    session.edit("cart/cart_test.go").bash("mise run test", "ok  \texample.com/cart\t0.1s").edit(
        "cart/more.go"
    )
    session.bash("go test ./cart -run TestTotal", "ok  \texample.com/cart\t0.1s")
    (text,) = session.fire("SessionEnd")
    assert "`go test ./cart -run TestTotal` → exit 1: cart_test.go:9: " in section(text, "Fixed")


def test_a_wrong_call_is_mended_by_no_edit(session):
    """A folder that is not there is no matter of the code."""
    session.ask("x").bash(
        "cd cart && go test .", "(eval):cd:1: no such file or directory: cart", 1
    ).edit("cart/cart.go")
    session.bash("go test ./...", "ok  \texample.com/cart\t0.1s")
    (text,) = session.fire("SessionEnd")
    assert section(text, "Fixed") == ""


def test_a_commit_without_a_change_leaves_nothing_open(session):
    """It is told among the commands that failed."""
    clean = "On branch main\nnothing to commit, working tree clean"
    session.ask("commit it").bash("git commit -qam x", clean, 1)
    (text,) = session.fire("SessionEnd")
    assert section(text, "Open") == ""
    assert "`git commit -qam x` → exit 1: nothing to commit" in section(text, "Commands")


def test_another_script_of_a_task_runner_proves_nothing(session):
    """That the unit tests pass does not fix the integration tests."""
    session.ask("x").bash("mise run test:integration", GO, 1).edit("cart/cart_test.go").bash(
        "mise run test", "ok  \texample.com/cart\t0.1s"
    )
    (text,) = session.fire("SessionEnd")
    assert section(text, "Fixed") == ""


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("docker build -t x .", "npm run build"),
        ("pip install foo", "npm run build"),
        ("npm install", "make build"),
        ("go test ./cart", "npm test"),
        ("(cd web && npm test)", "(cd api && npm test)"),
        ("npm --prefix web test", "npm --prefix api test"),
        ("npm test", "npm ci"),
        ("npm ci", "npm test"),
    ],
)
def test_what_has_nothing_to_do_with_it_closes_no_failure(failing, passing):
    """Another image, another package manager, another folder."""
    runs = _runs((failing, "Error: it does not work", 1), (passing, "all is well"))
    assert not fixes.shows_pass(runs[1], runs[0])
    assert [run.command for run in fixes.find_open_failures(runs)] in ([failing], [])
