"""Findings of linters and compilers, and the changes that answer them."""

from __future__ import annotations

from memory.capture import findings

RULED = "Error return value is not checked (errcheck)"


LINTED = "a.go:3:1: Error return value is not checked (errcheck)\n\tx.Close()\n1 issues:"


def test_a_change_of_the_line_that_a_finding_names_is_told(session):
    """The host's record of the edit says which lines were changed."""
    session.ask("lint it").bash("golangci-lint run", LINTED, 1)
    session.edit("b.go", "-\tx.Close()", "+\t_ = x.Close()")
    session.edit(
        "a.go", " one", " two", "-\tx.Close()", "+\tx.Close() //nolint:errcheck // nobody waits"
    )
    session.bash("golangci-lint run", "0 issues.").fire("SessionEnd")
    told = [line for line in session.talk().split("\n") if line.startswith("- changed for")]
    assert told == [
        "- changed for `Error return value is not checked (errcheck)`: "
        "`x.Close() //nolint:errcheck // nobody waits`"
    ]


def test_a_change_elsewhere_in_the_file_answers_no_finding(session):
    """Lines above it may move it; what is changed there is not about it."""
    session.ask("lint it").bash("golangci-lint run", LINTED.replace(":3:", ":30:"), 1)
    session.edit("a.go", "-one", "+first", "+second").fire("SessionEnd")
    assert "changed for" not in session.talk()


def patch(*lines, start=10):
    return [{"oldStart": start, "lines": list(lines)}]


def test_a_report_gives_path_line_and_what_it_says():
    printed = "./a/b.go:3:1: %s\n\tx.Close()\nb.go:7:2: undefined: y" % RULED
    assert findings.parse_findings(printed, "golangci-lint run") == [
        ["a/b.go", 3, RULED],
        ["b.go", 7, "undefined: y"],
    ]


def test_lines_added_above_move_a_finding_and_an_answered_one_is_gone():
    open_ = [["a.go", 30, RULED]]
    assert findings.take_answered(open_, "src/a.go", patch(" one", "+two", "+three")) == []
    assert open_ == [["a.go", 32, RULED]]
    change = patch("-f()", "+_ = f()", start=32)
    assert findings.take_answered(open_, "src/a.go", change) == [(RULED, "_ = f()")]
    assert open_ == []


def test_of_a_long_change_the_line_that_names_the_rule_is_told():
    added = ["+line %d" % n for n in range(9)]
    named = "+f() //nolint:errcheck // why not"
    assert findings.take_answered([["a.go", 10, RULED]], "a.go", patch("-f()", *added)) == []
    told = findings.take_answered([["a.go", 10, RULED]], "a.go", patch("-f()", *added, named))
    assert told == [(RULED, "f() //nolint:errcheck // why not")]


def test_a_patch_that_is_none_answers_nothing():
    for odd in (
        None,
        "x",
        [None],
        [{"lines": 3, "oldStart": 1}],
        [{"lines": ["+x"]}],
        [{"lines": [1], "oldStart": 9}],
    ):
        assert findings.take_answered([["a.go", 10, RULED]], "a.go", odd) == []
