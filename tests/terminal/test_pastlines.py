"""What sessions did, in lines."""

from __future__ import annotations

import pytest
from harness import conversations

from memory.knowledge import history, practice, remedies
from memory.terminal import pastlines, screen

STYLE = screen.Style(100)


@pytest.fixture
def past(place, now):
    """The sessions of the week of an invented project."""
    conversations.week(place)
    return conversations.sessions(place, now)


def test_an_occurrence_says_what_failed_the_cause_and_what_then_passed(past):
    lines = pastlines.fixed(remedies.fix(past, "return value of 'fclose' ignored (unused-result)"), 2, STYLE, 0.0)
    assert lines == [
        "return value of 'fclose' ignored (unused-result)  3 sessions",
        "  2026-11-17 09:00  k-two#1  Work of two  (main)",
        "    failed    `make lint`: src/cache.c:40:3: return value of 'fclose' ignored (unused-result)",
        "    passed    the same call after editing src/cache.c",
        "  2026-11-16 09:00  k-one#1  Work of one  (main)",
        "    failed    `make lint`: src/server.c:12:3: return value of 'fclose' ignored (unused-result)",
        "    cause     The linter fails because `fclose` may fail and nobody looks at its result.",
        "    passed    the same call after editing src/server.c",
        "    commit    1a2b3c4 Look at what fclose returns",
        "", "1 more occurrence; `--limit 3` shows them"]


def test_each_line_of_an_error_has_its_turn(past):
    """The room is shared: no line's many occurrences push out another line's one."""
    said = "\n".join(pastlines.fixed(remedies.fix(past, "unknown flag: --open\nreturn value of 'fclose' ignored (unused-result)"), 2, STYLE, 0.0))
    assert "k-three#1" in said and "k-two#1" in said and "k-one#1" not in said


def test_times_are_local_and_another_workspace_is_named(past):
    there = [one._replace(workspace="other-0123abcd") for one in past]
    said = "\n".join(pastlines.fixed(remedies.fix(there, "unknown flag: --open"), 5, STYLE, 9 * 3600.0))
    assert "2026-11-18 18:00  k-three#1  Work of three  (main, other-0123abcd)" in said
    assert "worked    `acme issue list --state open`" in said


def test_nothing_like_it_is_said(past):
    assert pastlines.fixed(remedies.fix(past, "unheard catastrophe of module seventeen"), 5, STYLE, 0.0) == ["nothing here failed like that before"]


def test_an_invocation_is_one_line_and_what_failed_before_it_another(past, now):
    lines = pastlines.invocations(practice.how(past, "acme", now), "acme", 10, STYLE, now)
    assert lines == ["acme issue list --state open  ×2 in 1 session, last 3d ago in k-three#1",
                     "    after `acme issue list --open` failed: unknown flag: --open"]
    assert pastlines.invocations([], "zig", 10, STYLE, now) == ["no call of `zig` that worked is known here"]


def test_long_quotes_in_a_command_are_cut():
    assert pastlines.brief("gh pr comment 7 --body \"%s\" --repo o/r" % ("word " * 40)) == "gh pr comment 7 --body \"%s…\" --repo o/r" % ("word " * 8).strip()
    assert len(pastlines.brief("x" * 900)) == 200


def test_a_session_that_touched_a_file_is_told_with_request_decision_and_commit(past):
    assert pastlines.touched(history.blame(past, "cache.c"), "cache.c", 1, STYLE, 0.0) == [
        "  2026-11-17 09:00  k-two  Work of two  (main)", "    created   #1 add a cache",
        "    decided   “The cache stands in `src/cache.c`; we chose a ring because it needs no lock.”",
        "1 more session; `--limit 2` shows them"]
    assert pastlines.touched([], "a.c", 9, STYLE, 0.0) == ["no session here touched or discussed `a.c`"]


def test_a_wall_is_told_with_its_remedy_and_a_proposal(past, place):
    met = [(wall, practice.proposal(place, wall, frozenset())) for wall in practice.gather(past)]
    lines = pastlines.walls(met, 10, STYLE, 0.0)
    assert lines[:4] == ["src/server.c:12:3: return value of 'fclose' ignored (unused-result)",
                         "  make lint  3 sessions, 3 times, last 2026-11-18 in k-three#2",
                         "    worked    the same call after editing src/server.c (k-one#1)",
                         "    cause     The linter fails because `fclose` may fail and nobody looks at its result."]
    assert lines[4].startswith("    learning  `make lint` fails: ")
    assert pastlines.walls([], 10, STYLE, 0.0) == ["no error is known here that three sessions ran into"]


def test_what_moves_a_cursor_is_not_printed(place, now):
    conversations.held(place, "a", "2026-11-16", "## 09:00 go\n\n- ✗ `x\x1b[2J` → exit 1: unknown flag: --bad\x1b[31m\n- ✓ `x --good\x1b[2J`\n", title="T\x1b[2J")
    found = conversations.sessions(place, now)
    said = [*pastlines.fixed(remedies.fix(found, "unknown flag: --bad"), 5, STYLE, 0.0),
            *pastlines.invocations(practice.how(found, "x", now), "x", 5, STYLE, now)]
    assert len(said) > 3 and all(line.isprintable() for line in said)
