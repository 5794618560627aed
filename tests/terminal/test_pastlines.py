"""What sessions did, in lines."""

from __future__ import annotations

import pytest
from harness import conversations, talks, vault
from harness.pushes import hooked

from memory.core import clock
from memory.hook import at_start, receipts
from memory.knowledge import history, practice, remedies, walls
from memory.terminal import pastlines, screen

STYLE = screen.Style(100)


@pytest.fixture
def past(place, now):
    """The sessions of the week of an invented project."""
    conversations.week(place)
    return conversations.sessions(place, now)


def test_an_occurrence_says_what_failed_and_what_then_passed(past, monkeypatch):
    monkeypatch.setattr(pastlines, "REMEDIES", 2)
    lines = pastlines.remedy_lines(
        remedies.find_remedies(past, "return value of 'fclose' ignored (unused-result)"),
        STYLE,
        clock.utc,
    )
    assert lines == [
        "return value of 'fclose' ignored (unused-result)  3 sessions",
        "  2026-11-17 09:00  k-two#1  Work of two  (main)",
        (
            "    failed    `make lint`: src/cache.c:40:3: return value of 'fclose' "
            "ignored (unused-result)"
        ),
        "    passed    the same call after editing src/cache.c",
        "  2026-11-16 09:00  k-one#1  Work of one  (main)",
        (
            "    failed    `make lint`: src/server.c:12:3: return value of 'fclose' "
            "ignored (unused-result)"
        ),
        "    passed    the same call after editing src/server.c",
        "    commit    1a2b3c4 Look at what fclose returns",
        "",
        "1 more occurrence; `--json` has all",
    ]


def test_each_line_of_an_error_has_its_turn(past, monkeypatch):
    """The room is shared: no line's many occurrences push out another line's one."""
    monkeypatch.setattr(pastlines, "REMEDIES", 2)
    said = "\n".join(
        pastlines.remedy_lines(
            remedies.find_remedies(
                past, "unknown flag: --open\nreturn value of 'fclose' ignored (unused-result)"
            ),
            STYLE,
            clock.utc,
        )
    )
    assert "k-three#1" in said and "k-two#1" in said and "k-one#1" not in said


def test_times_are_local_and_another_workspace_is_named(past):
    there = [one._replace(workspace="other-0123abcd") for one in past]
    said = "\n".join(
        pastlines.remedy_lines(
            remedies.find_remedies(there, "unknown flag: --open"), STYLE, lambda instant: 9 * 3600.0
        )
    )
    assert "2026-11-18 18:00  k-three#1  Work of three  (main, other-0123abcd)" in said
    assert "worked    `acme issue list --state open`" in said


def test_nothing_like_it_is_said(past):
    assert pastlines.remedy_lines(
        remedies.find_remedies(past, "unheard catastrophe of module seventeen"), STYLE, clock.utc
    ) == ["no call here has failed like that before"]


def test_an_invocation_is_one_line(past, now):
    lines = pastlines.invocation_lines(
        practice.find_working_invocations(past, "acme", now), "acme", STYLE, now
    )
    assert lines == [
        "acme issue list --state open  worked 2 times in 1 session, latest 3d ago in k-three#1",
    ]
    assert pastlines.invocation_lines([], "zig", STYLE, now) == [
        "no session here holds a successful call of `zig`"
    ]


def test_long_quotes_in_a_command_are_cut():
    assert (
        pastlines.shorten_command('gh pr comment 7 --body "%s" --repo o/r' % ("word " * 40))
        == 'gh pr comment 7 --body "%s…" --repo o/r' % ("word " * 8).strip()
    )
    assert len(pastlines.shorten_command("x" * 900)) == 200
    remote = "ssh box 'cd /srv && %s'" % ("acme " * 15)
    assert pastlines.shorten_command(remote) == remote


def test_a_session_that_touched_a_file_is_told_with_request_decision_and_commit(past, monkeypatch):
    monkeypatch.setattr(pastlines, "LISTED", 1)
    past = [
        one._replace(decisions=(("c-two", "a ring in `src/cache.c`"),))
        if one.id == "k-two"
        else one
        for one in past
    ]
    assert pastlines.touch_lines(history.blame(past, "cache.c"), "cache.c", STYLE, clock.utc) == [
        "  2026-11-17 09:00  k-two  Work of two  (main)",
        "    created   #1 add a cache",
        "    decided   “a ring in `src/cache.c`”",
        "1 more session; `--json` has all",
    ]
    assert pastlines.touch_lines([], "a.c", STYLE, clock.utc) == [
        "no session here touched or discussed `a.c`"
    ]


def test_a_wall_is_told_with_its_remedy_and_a_proposal(past, place, now):
    rows = walls.find_failures(place, vault.settings(), now)
    lines = pastlines.wall_lines(walls.find_repeated(place, rows), STYLE, clock.utc)
    assert lines == [
        "return value of 'fclose' ignored (unused-result)",
        "  make lint  3 sessions, 3 times, last on 2026-11-18 in k-three#2",
    ]
    assert pastlines.wall_lines([], STYLE, clock.utc) == [
        "no error here was met by several sessions"
    ]


def test_what_moves_a_cursor_is_not_printed(place, now):
    conversations.held(
        place,
        "a",
        "2026-11-16",
        "## 09:00 go\n\n- ✗ `x\x1b[2J` → exit 1: unknown flag: --bad\x1b[31m\n"
        "- ✓ `x --good\x1b[2J`\n",
        title="T\x1b[2J",
    )
    found = conversations.sessions(place, now)
    said = [
        *pastlines.remedy_lines(
            remedies.find_remedies(found, "unknown flag: --bad"), STYLE, clock.utc
        ),
        *pastlines.invocation_lines(
            practice.find_working_invocations(found, "x", now), "x", STYLE, now
        ),
    ]
    assert len(said) > 3 and all(line.isprintable() for line in said)


TEXT = "Pin the JWT issuer in tests; the verifier in src/auth/jwt.py rejects tokens otherwise."


def test_status_says_where_pushes_are_off(ok, run, env, project):
    """A switch that nobody remembers is found again, by status, doctor and load."""
    ok("learn", TEXT)
    assert "pushes: off" not in ok("status") + run("doctor").stdout + ok("load", "jwt")
    for session in ("bbbb2222", "aaaa1111"):
        hooked(env, project, "SessionStart", session, source="startup")
        ok("off", "--session", session)
    said = "off in session aaaa1111; `dayleaf push on` switches them on"
    for words in (["status"], ["doctor"], ["load", "jwt"]):
        assert "pushes: " + said in run(*words).stdout, words
    assert "off in session bbbb2222; `dayleaf push on --session bbbb2222`" in ok("status")
    assert "given once switched on (1 record)" in ok("load", "jwt")
    for session in ("bbbb2222", "aaaa1111"):
        ok("on", "--session", session)
    assert "pushes: off" not in ok("status")
    ok("off", "--project")
    for words in (["status"], ["doctor"], ["load", "jwt"]):
        assert (
            "pushes: off in this project; `dayleaf push on project` switches them on"
            in run(*words).stdout
        ), words
    assert "\ngiven (" not in ok("load", "jwt") and "given once switched on" in ok("load", "jwt")


def test_why_tells_passages_subagents_and_what_stayed_below(ok, place, now):
    """Each with its reason; of prompts that got nothing, what came nearest."""
    talks.put(
        place,
        (
            (
                "## 10:12 why?\n\n`parseLedgerRow` drops the sign of every amount below "
                "ten in the export.\n\n"
            ),
        ),
        id="c-00000001",
        file="2026-11-10/100000-a.md",
        created="2026-11-10T10:12:00Z",
        title="Importer skips rows",
    )
    ok("index", "build")
    base = {
        "v": 1,
        "t": clock.iso(now),
        "strategy": "load_all",
        "candidates": 4,
        "chars": 300,
        "ms": 9,
        "saved": 0,
    }
    told = [["c-00000001", 0.91, "passage: names what the prompt names"]]
    for row in (
        {"event": "prompt", "prompt": "p1", "tag": "aaaaaaaa", "chosen": told},
        {"event": "agent", "prompt": "p1", "tag": "bbbbbbbb", "chosen": told},
        {
            "event": "prompt",
            "prompt": "p2",
            "tag": "",
            "chosen": [],
            "below": [["c-00000001", 0.41]],
        },
    ):
        receipts.write(place.receipts("s1"), {**base, **row})
    said = ok("why", "s1")
    assert "0.91  c-00000001  Importer skips rows  passage: names what the prompt names" in said
    assert "subagent of prompt p1  " in said
    assert "1 prompt got nothing\n  nearest, but not near enough: 0.41 c-00000001" in said
    assert "not near enough: 0.41 c-00000001" in ok("why", "p2")


def test_load_shows_the_passage_and_what_stays_below(ok, place):
    """With --explain the block and the threshold."""
    talks.put(
        place,
        (
            (
                "## 10:12 why?\n\n`parseLedgerRow` drops the sign of every amount below "
                "ten in the export.\n\n"
            ),
        ),
        id="c-00000001",
        file="2026-11-10/100000-a.md",
        created="2026-11-10T10:12:00Z",
        title="Importer skips rows",
    )
    for i in range(5):
        ok("learn", "Note %d on another thing, wherever it is." % i)
    ok("index", "build")
    said = ok("load", "where does parseLedgerRow drop the sign of an amount?", "--explain")
    (row,) = [line for line in said.split("\n") if "passage: it is nearest to the prompt" in line]
    assert "c-00000001  Importer skips rows" in row
    assert (
        '(conversation, 2026-11-10, branch main) asked "why?":\n  `parseLedgerRow` drops the sign'
        in said
    )
    said = ok(
        "load",
        "why does the comma of parseLedgerRow not reach invoices of the other till in spring?",
    )
    assert "not near enough (load.push is careful)" in said and "c-00000001" in said


def test_load_says_that_all_learnings_came_at_the_start(ok, monkeypatch):
    """Few learnings are given at once, and a prompt gets none of them again; none are not called
    all.
    """
    assert "every learning is given" not in ok("load", "jwt")
    ok("learn", TEXT)
    assert "the session's brief has every learning" in ok("load", "jwt")
    ok("learn", "Another learning of some length. " * 40)
    monkeypatch.setattr(at_start, "BRIEF_UNITS", 900)
    assert "it starts with 1 of them; 1 left out: too long" in ok("load", "jwt")


def test_a_push_is_told_with_its_records_and_what_became_of_it(now):
    """Whatever a receipt holds, each record is one line that a terminal may print; prompts without
    any are counted.
    """
    event = {
        "event": "prompt",
        "t": "2026-11-21T09:00:00Z",
        "prompt": "p-1",
        "strategy": "load_all",
        "candidates": 2,
        "chars": "x",
        "ms": 3,
        "moment": "later",
        "lost": True,
        "unfit": ["l-2"],
        "chosen": [
            {"score": 0.91, "id": "l-1", "title": "a\n\x1b[31mb", "reason": "match", "used": False}
        ],
    }
    value = {
        "session": "s-1",
        "events": [
            event,
            {"event": "off", "t": "2026-11-21T09:01:00Z"},
            {"event": "prompt", "chosen": []},
        ],
        "moments": [],
    }
    said = pastlines.push_lines(value, now)
    assert (
        said[0] == "session s-1"
        and said[-1] == "1 prompt got nothing"
        and "\x1b" not in "".join(said)
    )
    assert (
        "prompt p-1  2 records compared, 0 characters, 3 ms; it did not reach the model"
    ) in said[2]
    assert said[3].split() == ["0.91", "l-1", "a", "b", "match"] and said[4] == "  did not fit: l-2"
    assert said[6].endswith("  switched off")


def test_a_push_fits_the_terminal_and_tells_a_score_where_one_chose(now):
    """Of a record that came near twice, the better score alone."""
    given = {"score": 1.0, "id": "c-1", "title": "long " * 40, "reason": "standing wish", "used": 0}
    near = [{"event": "prompt", "chosen": [], "below": [["c-2", n]]} for n in (3.44, 15.83)]
    value = {
        "session": "s",
        "moments": [],
        "events": [{"event": "start", "chosen": [given]}, *near],
    }
    said = pastlines.push_lines(value, now, screen.Style(60))
    (row,) = [line for line in said if "c-1" in line]
    assert len(row) <= 60 and row.endswith("  standing wish") and "1.00" not in row
    assert said[-1] == "  nearest, but not near enough: 15.83 c-2"


def test_why_and_stats_tell_of_a_failed_call_that_was_answered(ok, env, project, place):
    """By the tool and the record; what failed stands in no receipt."""
    conversations.week(place)
    ok("index", "build")
    answer = hooked(
        env,
        project,
        "PostToolUseFailure",
        "aaaa1111",
        tool_name="Bash",
        tool_input={"command": "acme issue list --open"},
        error="Exit code 2\nunknown flag: --open",
    )
    assert "--state open" in answer["hookSpecificOutput"]["additionalContext"]
    told = ok("why")
    assert (
        "failed call of Bash, which another session met too" in told
        and "k-three" in told
        and "wall: met in 1" in told
    )
    assert "  at failed calls: 1 given\n" in ok("stats")
