"""The line of a failed command's output that says what is wrong, runner by runner."""

from __future__ import annotations

import time

import pytest

from memory.session import tellingline

GO_TEST = """\
[test] $ go test ./...
ok  \texample.com/shop/cart\t(cached)
--- FAIL: TestTotals (0.01s)
    totals_test.go:20: Phase 1: fill the cart
    helper.go:14: hook output: INFO saved error=none
    totals_test.go:31: Total() = 12, want 15
FAIL
FAIL\texample.com/shop/totals\t0.412s
FAIL
[test] ERROR task failed"""
GO_VERBOSE = """\
=== RUN   TestOne
    a_test.go:7: got 1, want 2
--- FAIL: TestOne (0.00s)
=== RUN   TestTwo
    a_test.go:12: nothing expected
--- PASS: TestTwo (0.00s)
FAIL
exit status 1
FAIL\texample.com/a\t0.3s"""
GO_SUBTEST = """\
--- FAIL: TestCut (0.00s)
    --- FAIL: TestCut/too_long (0.00s)
        cut_test.go:89: Cut("abc", 2) = "abc", want "ab"
FAIL
FAIL\texample.com/text\t0.525s"""
GO_PANIC = """\
--- FAIL: TestLoad (0.00s)
panic: runtime error: index out of range [3] with length 3 [recovered, repanicked]

goroutine 7 [running]:
testing.tRunner.func1.2({0x10, 0x20})
\t/opt/go/src/testing/testing.go:1734 +0x1ac
example.com/shop/cart.Load(...)
\t/home/dev/shop/cart/load.go:44 +0x20
FAIL\texample.com/shop/cart\t0.2s"""
GO_TESTIFY = """\
--- FAIL: TestName (0.00s)
    name_test.go:15:
        \tError Trace:\tname_test.go:15
        \tError:      \tNot equal:
        \t            \texpected: "a"
        \t            \tactual  : "b"
        \tTest:       \tTestName
FAIL"""
GOLANGCI = """\
[lint] $ golangci-lint run ./...
[lint] ERROR task failed

cmd/app/run.go:1: : # example.com/app/cmd [example.com/app/cmd.test]
cmd/app/run.go:12:3: os/exec.Command must not be called. use os/exec.CommandContext (noctx)
\tcmd := exec.Command("git")
\t       ^
1 issues:
* noctx: 1"""
PYTEST = """\
=================================== FAILURES ===================================
__________________________________ test_total __________________________________

    def test_total():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_cart.py:9: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 3 == 4
1 failed, 7 passed in 0.41s"""
JEST = """\
 FAIL  src/cart.test.ts
  ● cart › adds

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

      10 |   it('adds', () => {
    > 11 |     expect(add(1, 2)).toBe(4);
         |                       ^

      at Object.toBe (src/cart.test.ts:11:23)

Tests:       1 failed, 3 passed, 4 total"""
VITEST = """\
 FAIL  src/cart.test.ts > cart > adds
AssertionError: expected 3 to be 4 // Object.is equality
 ❯ src/cart.test.ts:11:23

 Test Files  1 failed (1)
      Tests  1 failed | 3 passed (4)"""
RUSTC = """\
   Compiling shop v0.1.0 (/home/dev/shop)
error[E0382]: borrow of moved value: `cart`
  --> src/cart.rs:14:9
   |
14 |     cart.total();
error: could not compile `shop` (lib) due to 1 previous error"""
CARGO_TEST = """\
running 2 tests
test tests::adds ... FAILED

---- tests::adds stdout ----

thread 'tests::adds' panicked at src/cart.rs:31:9:
assertion `left == right` failed
  left: 3
 right: 4
error: test failed, to rerun pass `--lib`"""
ESLINT = """\

/home/dev/shop/src/cart.ts
   3:10  warning  Unexpected console statement  no-console
  12:5   error    'total' is never reassigned. Use 'const' instead  prefer-const

✖ 2 problems (1 error, 1 warning)
"""


@pytest.mark.parametrize(
    ("command", "output", "first"),
    [
        ("go test ./...", GO_TEST, "totals_test.go:31: Total() = 12, want 15 (TestTotals)"),
        ("go test -v", GO_VERBOSE, "a_test.go:7: got 1, want 2 (TestOne)"),
        (
            "go test ./text",
            GO_SUBTEST,
            'cut_test.go:89: Cut("abc", 2) = "abc", want "ab" (TestCut/too_long)',
        ),
        (
            "go test ./cart",
            GO_PANIC,
            "panic: runtime error: index out of range [3] with length 3 (TestLoad)",
        ),
        (
            "go test ./name",
            GO_TESTIFY,
            'name_test.go:15: Not equal: expected: "a" actual : "b" (TestName)',
        ),
        (
            "go test ./a",
            (
                '# example.com/a\na/a.go:3:2: "os" imported and not used\n'
                "FAIL\texample.com/a [build failed]"
            ),
            'a/a.go:3:2: "os" imported and not used',
        ),
        (
            "go build ./...",
            "# example.com/a\na/b.go:9:14: undefined: Cart",
            "a/b.go:9:14: undefined: Cart",
        ),
        (
            "go vet ./...",
            "# example.com/a\nvet: a/b.go:9:14: undefined: Cart",
            "a/b.go:9:14: undefined: Cart",
        ),
        (
            "go build ./x",
            (
                "package example.com/x\n\timports example.com/y\n"
                "\timports example.com/x: import cycle not allowed"
            ),
            (
                "package example.com/x imports example.com/y imports example.com/x: "
                "import cycle not allowed"
            ),
        ),
        (
            "mise run lint",
            GOLANGCI,
            (
                "cmd/app/run.go:12:3: os/exec.Command must not be called. use "
                "os/exec.CommandContext (noctx)"
            ),
        ),
        (
            "mise run lint | tail -4",
            "\t^\n3 issues:\n* nilerr: 1\n* unparam: 2\n[lint] ERROR task failed",
            "3 issues: * nilerr: 1 * unparam: 2",
        ),
        ("pytest", PYTEST, "tests/test_cart.py:9: assert 3 == 4 (tests/test_cart.py::test_total)"),
        (
            "pytest -q --tb=no",
            "FAILED tests/test_a.py::test_x - KeyError: 'iss'\n1 failed in 0.1s",
            "KeyError: 'iss' (tests/test_a.py::test_x)",
        ),
        (
            "npx jest",
            JEST,
            "src/cart.test.ts:11:23: expect(received).toBe(expected) // Object.is equality; "
            "Expected: 4; Received: 3 (cart › adds)",
        ),
        (
            "npx vitest run",
            VITEST,
            (
                "src/cart.test.ts:11:23: AssertionError: expected 3 to be 4 // Object.is "
                "equality (cart > adds)"
            ),
        ),
        ("cargo build", RUSTC, "src/cart.rs:14:9: borrow of moved value: `cart` (E0382)"),
        (
            "cargo test",
            CARGO_TEST,
            "src/cart.rs:31:9: assertion `left == right` failed (tests::adds)",
        ),
        (
            "npx tsc --noEmit",
            "src/cart.ts(12,3): error TS2345: Argument of type 'string' is not assignable",
            "src/cart.ts:12:3: TS2345: Argument of type 'string' is not assignable",
        ),
        (
            "tsc --pretty",
            "src/cart.ts:12:3 - error TS2304: Cannot find name 'total'.",
            "src/cart.ts:12:3: TS2304: Cannot find name 'total'.",
        ),
        (
            "eslint .",
            ESLINT,
            (
                "/home/dev/shop/src/cart.ts:12:5: 'total' is never reassigned. Use 'const' "
                "instead (prefer-const)"
            ),
        ),
        (
            "ruff check .",
            "shop/cart.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.",
            "shop/cart.py:1:8: F401 [*] `os` imported but unused",
        ),
        (
            "ruff check .",
            (
                "F401 [*] `os` imported but unused\n --> shop/cart.py:1:8\n  |\n"
                "1 | import os\n\nFound 1 error."
            ),
            "shop/cart.py:1:8: F401 [*] `os` imported but unused",
        ),
        (
            "mypy .",
            (
                'shop/cart.py:3: error: Name "total" is not defined  [name-defined]\n'
                "Found 1 error in 1 file"
            ),
            'shop/cart.py:3: Name "total" is not defined  [name-defined]',
        ),
        (
            "make",
            (
                "cc -c cart.c\ncart.c:4:9: error: use of undeclared identifier 'n'\n"
                "make: *** [Makefile:3: cart.o] Error 1"
            ),
            "cart.c:4:9: use of undeclared identifier 'n'",
        ),
        (
            "make deploy",
            "make: *** No rule to make target 'deploy'.  Stop.",
            "make: *** No rule to make target 'deploy'.  Stop.",
        ),
        (
            "npm run buidl",
            (
                'npm error Missing script: "buidl"\nnpm error\nnpm error Did you mean this?\n'
                "npm error A complete log of"
            ),
            'Missing script: "buidl"',
        ),
        (
            "pnpm lint",
            " ERR_PNPM_NO_SCRIPT  Missing script: lint",
            "ERR_PNPM_NO_SCRIPT  Missing script: lint",
        ),
        (
            "mise run fmt2",
            "mise ERROR no task fmt2 found\nmise ERROR Run with --verbose or MISE_VERBOSE=1",
            "no task fmt2 found",
        ),
        (
            "docker run x",
            "Error response from daemon: No such container: x",
            "Error response from daemon: No such container: x",
        ),
        (
            "git push",
            (
                "To example.com:a/b\n ! [rejected]        main -> main (fetch first)\n"
                "error: failed to push some refs"
            ),
            "! [rejected]        main -> main (fetch first)",
        ),
        (
            "git rebase main",
            (
                "Rebasing (1/2)Auto-merging a.go\nCONFLICT (content): Merge conflict in a.go\n"
                "error: could not apply 1a2b3c4"
            ),
            "CONFLICT (content): Merge conflict in a.go",
        ),
        (
            "gh api repos/o/r/pulls/1",
            'gh: Not Found (HTTP 404)\n\n{\n  "message": "Not Found"\n}',
            "gh: Not Found (HTTP 404)",
        ),
        (
            "gh pr diff 4 --stat",
            "unknown flag: --stat\n\nUsage:  gh pr diff",
            "unknown flag: --stat",
        ),
        (
            "cd x && go test",
            "(eval):cd:1: no such file or directory: x",
            "(eval):cd:1: no such file or directory: x",
        ),
        (
            "mvn test",
            (
                "[INFO] Building\n[ERROR] /home/dev/App.java:[12,8] cannot find symbol\n"
                "[ERROR] Failed to execute goal"
            ),
            "/home/dev/App.java:12:8: cannot find symbol",
        ),
        (
            "./gradlew :api:migrate",
            (
                "FAILURE: Build failed with an exception.\n* What went wrong:\n"
                "Execution failed for task ':api:migrate'.\n> A step failed\n"
                "  Unable to connect to the database.\nBUILD FAILED in 4s"
            ),
            "A step failed Unable to connect to the database.",
        ),
        (
            "npm run android",
            (
                "> shop@1.0.0 android\n> run-android\n\nFAILURE: Build failed with an exception.\n"
                "* What went wrong:\nExecution failed for task ':app:sign'.\n> No key is there."
            ),
            "No key is there.",
        ),
        (
            "./gradlew build",
            (
                "* What went wrong:\nExecution failed for task ':app:compile'.\n"
                "> A failure occurred while executing X\n   > Compilation error."
            ),
            "Compilation error.",
        ),
        (
            "./gradlew :core:test",
            "CartTest > adds FAILED\n    java.lang.IllegalStateException: no Docker\nBUILD FAILED",
            "java.lang.IllegalStateException: no Docker (CartTest > adds)",
        ),
        (
            "./gradlew compileKotlin",
            "> Task :app:compileKotlin FAILED\ne: file:///home/dev/Cart.kt:3:5 Unresolved: total",
            "/home/dev/Cart.kt:3:5: Unresolved: total",
        ),
        (
            "java -jar shop.jar",
            (
                'Exception in thread "main" shop.CreationException: no bean\n\tat a.b(C.java:1)\n'
                "Caused by: java.net.ConnectException: Connection refused\n\tat a.b(C.java:2)"
            ),
            "Caused by: java.net.ConnectException: Connection refused",
        ),
        ("./check.sh", "==> Verifying\n✗ branch not found", "branch not found"),
        (
            "python run.py",
            (
                'Traceback (most recent call last):\n  File "run.py", line 3, in <module>\n'
                "    f()\nValueError: bad value"
            ),
            "ValueError: bad value",
        ),
        ("x", "something odd\nhappened", "something odd"),
        ("x", "INFO  cli] adapter hci0\n(no output for 120 s)", "(no output for 120 s)"),
        ("x", "12:03:01 INFO one\n12:03:02 DEBUG two", "12:03:02 DEBUG two"),
    ],
)
def test_each_runner_says_what_is_wrong_in_its_own_way(command, output, first):
    """The telling line comes first, with its place before it and the test or rule behind it."""
    assert tellingline.pick_telling_lines(output, command).lines[0] == first


@pytest.mark.parametrize(
    "trailer",
    [
        "[lint] ERROR task failed",
        "FAIL",
        "exit status 1",
        "make: *** [all] Error 1",
        "npm ERR! code 1",
        " ELIFECYCLE  Command failed.",
        "error: could not compile `shop` (lib) due to 1 previous error",
        "FAIL\texample.com/a\t0.3s",
    ],
)
def test_a_runners_last_words_are_told_only_where_nothing_else_stands(trailer):
    """`exit status 1` says nothing beside the error; alone it is all there is."""
    assert tellingline.pick_telling_lines("the cart could not be read\n" + trailer).lines[
        0
    ] != trailer.strip() or trailer.startswith("FAIL\t")
    assert tellingline.pick_telling_lines(trailer).lines[0].split() == trailer.split()


def test_what_a_test_logs_is_not_taken_for_what_failed():
    """Without a claim among its lines the last one is told, for a fatal one ends the test."""
    log = (
        "--- FAIL: TestA (0.0s)\n    a_test.go:3: opened the door\n"
        "    a_test.go:9: closed the door\nFAIL"
    )
    assert tellingline.pick_telling_lines(log).lines == ("a_test.go:9: closed the door (TestA)",)


def test_it_is_told_what_failed_and_where():
    """The kind of the runner that spoke, and the failing tests or the files with findings."""
    assert tellingline.pick_telling_lines(GO_TEST)[1:] == ("test", ("TestTotals",))
    assert tellingline.pick_telling_lines(GOLANGCI)[1:] == ("lint", ("cmd/app/run.go",))
    assert tellingline.pick_telling_lines("bash: line 1: jqq: command not found").kind == "use"


def test_a_large_output_is_read_at_both_ends():
    """What stands in the last lines of a megabyte is found, in little time."""
    assert (
        tellingline.pick_telling_lines("x" * 80 + "\n" + "noise\n" * 200000 + GO_TEST)
        .lines[0]
        .startswith("totals_test.go:31")
    )


@pytest.mark.parametrize(
    "piece",
    [
        "\n",
        " ",
        "\t\n",
        "`",
        "(",
        "● ",
        "    a_test.go:1: \n",
        "package x\n\timports y\n",
        "1) x\n",
        "> [1] RUN a:\n",
    ],
)
def test_an_output_of_any_shape_is_read_in_little_time(piece):
    """No pattern goes over it twice."""
    began = time.process_time()
    tellingline.pick_telling_lines(
        "FAIL\n" + piece * (60000 // len(piece)) + "FAIL\n", "docker npm git gh go cargo yarn"
    )
    assert time.process_time() - began < 1.5
