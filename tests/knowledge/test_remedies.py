"""What was done after an error."""

from __future__ import annotations

import time

import pytest
from harness import conversations

from memory.knowledge import remedies


@pytest.fixture
def fix(place, now):
    """Ask what was done after an error: (line, what met it) pairs."""
    return lambda error: remedies.find_remedies(conversations.sessions(place, now), error)


@pytest.fixture
def week(place):
    """The place with the week of an invented project."""
    conversations.week(place)
    return place


def test_another_call_that_worked_is_the_remedy(week, fix):
    ((line, (met,)),) = fix("unknown flag: --open")
    assert line == "unknown flag: --open" and met.where == "k-three#1"
    assert (met.ran, met.passed) == ("acme issue list --open", "acme issue list --state open")


def test_numbers_and_places_do_not_count(week, fix):
    """What the linter says of another line of another file is the same failure; what tells
    something comes first, then the newest.
    """
    ((_, found),) = fix("src/other.c:99:1: return value of 'fclose' ignored (unused-result)")
    assert [met.where for met in found] == ["k-two#1", "k-one#1", "k-three#2"]
    two, one, three = found
    assert (one.passed, one.edits, one.commit) == (
        "make lint",
        ("src/server.c",),
        "1a2b3c4 Look at what fclose returns",
    )
    assert two.edits == ("src/cache.c",) and not three.passed
    assert three.outcome == "It still ignores the result."


def test_every_line_of_a_pasted_error_is_tried(week, fix):
    pasted = (
        "Exit code 2\nmake: *** [lint] Error 1\nsomething nobody saw before happened\n"
        "unknown flag: --open\n\n  Usage: acme issue list\n"
    )
    assert [line for line, _ in fix(pasted)] == ["unknown flag: --open"]


def test_near_is_near(week, fix):
    """The same rule about another function is the same kind of failure."""
    ((_, found),) = fix("src/a.c:1:1: return value of 'write' ignored (unused-result)")
    assert len(found) == 3


def test_what_ran_in_between_is_told_and_no_cause_is_guessed(place, fix):
    page = (
        "## 09:00 run it\n\n- ✗ `npm test` → exit 1: connect ECONNREFUSED port 5432\n\n"
        "> (while working) that is because the database is off\n\n"
        "- ✓ `docker compose up -d db`\n- ✓ `npm test`\n\n"
        "It passes, because the port of the database is open.\n"
    )
    conversations.held(place, "a", "2026-11-16", page)
    ((_, (met,)),) = fix("connect ECONNREFUSED port 5432")
    assert met.did == ("docker compose up -d db",) and met.passed == "npm test"


def test_what_mended_is_told_as_the_lines_that_were_changed(place, fix):
    """And not as whatever was said beside it."""
    page = (
        "## 09:00 lint\n\n- ✗ `make lint` → exit 1: a.c:1:2: the value of 'f' is "
        "not used (no-unused)\n"
        "\n✅ The value of f is not used, done.\n\n- edited `a.c`\n"
        "- changed for `the value of 'f' is not used (no-unused)`: `(void)f();`\n- ✓ `make lint`\n"
    )
    conversations.held(place, "a", "2026-11-16", page)
    ((_, (met,)),) = fix("a.c:9:2: the value of 'f' is not used (no-unused)")
    assert met.changed == ("(void)f();",)


def test_the_folder_that_was_wrong_is_not_the_same_call(place, fix):
    page = (
        "## 09:00 go\n\n- ✗ `cd api && go test ./x` → exit 1: cd: no such file or directory: "
        "api\n- ✓ `go test ./x`\n"
    )
    conversations.held(place, "a", "2026-11-16", page)
    ((_, (met,)),) = fix("cd: no such file or directory: api")
    assert met.passed == "go test ./x" and met.passed != met.ran


def test_a_pass_of_another_program_does_not_tell_how_one_is_called(place, fix):
    page = (
        "## 09:00 go\n\n- ✗ `cd api && go test -run TestA` → exit 1: (eval):cd:1: no such file or "
        "directory: api\n- ✓ `go test -run TestA`\n- ✓ `go clean -testcache && mise run test`\n"
    )
    conversations.held(place, "a", "2026-11-16", page)
    ((_, (met,)),) = fix("(eval):cd:1: no such file or directory: api")
    assert met.passed == "go test -run TestA"


def test_a_file_that_was_not_there_is_asked_for_by_its_path(place, fix):
    page = (
        "## 09:00 go\n\n- ✗ Read `conf/app.yml` → failed: File does not exist.\n"
        "- ✗ Read `lib/x.c` → failed: File does not exist.\n"
        "- edited `conf/app.yaml`\n"
    )
    conversations.held(place, "a", "2026-11-16", page)
    ((_, (met,)),) = fix("File does not exist. conf/app.yml")
    assert (met.tool, met.ran, met.passed) == ("Read", "conf/app.yml", "")


def test_tries_that_one_success_ended_are_one_occurrence(place, fix):
    failed = "- ✗ `make test` → exit 2: test_ring: expected 4 entries, got 5\n"
    conversations.held(
        place,
        "a",
        "2026-11-16",
        "## 09:00 go\n\n%s- edited `ring.c`\n%s- edited `wrap.c`\n- ✓ `make test`\n"
        % (failed, failed),
    )
    ((_, (met,)),) = fix("test_ring: expected 4 entries, got 5")
    assert met.edits == ("wrap.c",)


def test_nothing_like_it_is_no_answer(week, fix):
    assert fix("a completely unheard catastrophe in module seventeen") == fix("\n\n") == ()


def test_a_log_of_megabytes_is_asked_about_by_its_ends(week, fix):
    """Where it begins and how it ended; what is in between costs nothing."""
    began = time.process_time()
    answer = fix(
        "x" * 3_000_000 + "\n" + "a line of chatter %d\n" * 100_000 + "unknown flag: --open\n"
    )
    assert [line for line, _ in answer] == [
        "unknown flag: --open"
    ] and time.process_time() - began < 5.0


def test_an_answer_for_machines_names_its_source(week, fix, place):
    value = remedies.to_json(fix("unknown flag: --open"), place, 5)
    met = value["lines"][0]["met"][0]
    assert (met["id"], met["session"], met["where"], met["worked"]) == (
        "k-three",
        "three",
        "k-three#1",
        "acme issue list --state open",
    )
