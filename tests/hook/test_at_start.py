"""A session's start: the work of before, this branch's first; and what went wrong behind the user's
back, said once: captures that were cut short, blocks that did not arrive, saves that do not read
back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness import talks, vault, worked
from harness.hook import ROOT, fire, harmless, payload, push

from memory.capture import stretches
from memory.core import StoreError, attempts, boundary, clock, fastjson, files, tokeniser
from memory.health import accounts, worker
from memory.hook import at_prompt, at_start, receipts, signs
from memory.index import builder
from memory.store import store
from memory.terminal import pastlines

SESSION = "cut-1"
KILLED = (
    """
import os, sys
sys.path.insert(0, sys.argv[1])
from memory.capture import stretches as capture; from memory.core import files; from memory.health \
import worker
capture.capture = lambda *rest, **options: os.kill(os.getpid(), 9)
worker.work({"hook_event_name": "SessionEnd", "session_id": "%s", "transcript_path": sys.argv[2], \
"cwd": sys.argv[3]},
            files.read_environ(), float(sys.argv[4]))
"""
    % SESSION
)


FEATURE = "feature/retries"


@pytest.fixture
def start(world):
    """Start a session through the real hook: start(source, session) -> what reaches the model."""

    def call(source="startup", session="new-1", **keys):
        return harmless(
            fire(
                "session_start", payload("SessionStart", source, session_id=session, **keys), world
            )
        ).context

    return call


# ---- the work of before


def test_a_decision_that_the_outcome_tells_stands_once(place, now, start):
    """Word for word; others stay."""
    said = "The queue keeps its letters on disk, because a restart lost them twice"
    worked.checkpoint(
        place,
        "mine",
        "2026-11-18T10:15",
        "main",
        Outcome="Moved. %s." % said,
        Decisions="%s.\n- the user: retries stop after five attempts" % said,
    )
    builder.build(place, now)
    block = start()
    assert block.count(said) == 1 and "the user: retries stop after five attempts" in block


def test_without_an_index_the_brief_counts_what_was_not_read_as_well(place, start):
    """It says how many records there are, and of how many it knows."""
    for number in range(60):
        worked.checkpoint(
            place,
            "n%02d" % number,
            "2026-10-01T10:%02d" % number,
            "main",
            Outcome="Step %d of the move is done, and its letters are kept on disk." % number,
        )
    assert ": 60 records, of which 50 were read." in start()


def test_the_newest_checkpoint_of_this_branch_stands_first(place, project, now, start):
    """Younger work of another branch is a line below it."""
    worked.checkpoint(
        place,
        "mine",
        "2026-11-18T10:15",
        FEATURE,
        Outcome="Half of the retries are moved.",
        Next="Move the rest.",
    )
    worked.checkpoint(
        place,
        "other",
        "2026-11-20T10:15",
        "main",
        title="Release the gateway",
        Outcome="Released.",
        Done="commit 1",
    )
    worked.checkout(project, FEATURE)
    builder.build(place, now)
    block = start()
    assert (
        "The newest work on branch feature/retries, " in block
        and "Half of the retries are moved." in block
    )
    assert block.index("Move the rest.") < block.index(
        "- [101500-other] Release the gateway (main, 2026-11-20)"
    )
    assert "Released." not in block


def test_work_of_another_branch_is_named_as_that(place, project, now, start):
    """Where this one has none; where no branch is checked out it is nobody's concern."""
    worked.checkpoint(
        place,
        "other",
        "2026-11-20T10:15",
        "main",
        Outcome="The gateway is released.",
        Done="commit 1",
    )
    builder.build(place, now)
    worked.checkout(project, FEATURE)
    assert (
        "The newest work is on branch main, " in start()
        and "; none on feature/retries yet:" in start(session="new-2")
    )
    worked.checkout(project, "")
    block = start(session="new-3")
    assert (
        "The newest work on branch main, " in block
        and "none of" not in block
        and "The gateway is released." in block
    )


def test_a_checkpoint_that_the_index_has_not_read_yet_is_found_by_its_branch(
    place, project, now, start
):
    """And one whose branch was changed by hand is of that branch, one that was deleted of none."""
    worked.checkpoint(
        place, "old", "2026-11-10T10:15", FEATURE, Outcome="The first attempt.", Done="commit 1"
    )
    builder.build(place, now)
    worked.checkout(project, FEATURE)
    path = Path(
        worked.checkpoint(
            place,
            "young",
            "2026-11-20T10:15",
            FEATURE,
            Outcome="The second attempt.",
            Done="commit 2",
        )
    )
    assert "The second attempt." in start()
    path.write_text(path.read_text().replace("branch: " + FEATURE, "branch: main"))
    assert "The first attempt." in start(session="new-2")
    path.unlink()
    assert "The second attempt." not in start(session="new-3")


@pytest.mark.parametrize(
    "words",
    [
        "Retries need jitter and a limit. ",
        "재시도에는 지터와 한도가 필요합니다. ",
        "재시도에는 a limit. ",
    ],
)
def test_what_stands_first_is_whole_and_the_newest_turns_fill_the_rest(
    place, project, now, start, words
):
    """Outcome, Next, Open and Decisions; the turns in their order, of the older ones the request
    alone; at most a thousand tokens, whatever the script.
    """
    first = {name: "%s first. %s" % (name, words * 2) for name in ("Outcome", "Next", "Open")}
    turns = ["%02d:00 request %d → %s" % (n, n, words * 6) for n in range(20)]
    worked.checkpoint(
        place,
        "mine",
        "2026-11-20T10:15",
        Turns=turns,
        **first,
        Decisions=["Decided %d. %s" % (n, words) for n in range(4)],
    )
    for n in range(9):
        worked.checkpoint(place, "other%d" % n, "2026-11-1%dT10:15" % n)
    worked.checkout(project, "main")
    builder.build(place, now)
    block = start()
    assert tokeniser.count_tokens(block) <= 1000
    assert all(text.strip() in block for text in first.values()) and all(
        "Decided %d. %s" % (n, words.strip()) in block for n in range(4)
    )
    assert (
        "19:00 request 19 → " in block and "- 00:00 request 0\n" in block and "### Turns\n" in block
    )
    assert block.index("18:00 request") < block.index("19:00 request") and block.count("\n- [") == 5


def test_where_the_requests_do_not_fit_the_oldest_are_left_out(place, now, start):
    """And the heading says so."""
    turns = ["%02d:00 %d. %s → Done." % (n, n, "please move it " * 9) for n in range(20)]
    worked.checkpoint(
        place, "mine", "2026-11-20T10:15", Outcome="Half of it is moved.", Turns=turns
    )
    builder.build(place, now)
    block = start()
    assert "19:00 19. please" in block and "00:00 0. please" not in block
    assert "### Turns (the newest of 20)" in block


def test_what_the_user_refused_earlier_in_the_session_is_told_with_its_reason(place, now, start):
    """The newest first, and no question; a checkpoint of later does not hide it."""
    early = [
        '09:10 refused Bash `git push`: "never push to main"',
        "09:20 answered: Which one? → the first",
        '09:30 refused Edit `a.py`: "what is this for?"',
        '09:40 refused Write `plan.md`: "the plan belongs into the ticket"',
    ]
    worked.checkpoint(
        place, "early", "2026-11-18T10:15", "main", "long-1", Outcome="One.", Decisions=early
    )
    worked.checkpoint(
        place,
        "late",
        "2026-11-18T12:15",
        "main",
        "long-1",
        Outcome="The second half is moved to the new queue.",
        Decisions="11:00 answered: Go on? → yes",
    )
    worked.checkpoint(
        place,
        "of-another",
        "2026-11-17T10:15",
        "main",
        "other-1",
        Outcome="Three.",
        Decisions='09:10 refused Bash `rm x`: "keep the file"',
    )
    builder.build(place, now)
    block = start()
    told = block[block.index("### Decisions") :].split("\n")[1:4]
    assert told == [
        "- 11:00 answered: Go on? → yes",
        '- 09:40 refused Write `plan.md`: "the plan belongs into the ticket"',
        '- 09:10 refused Bash `git push`: "never push to main"',
    ]
    assert "what is this for?" not in block and "keep the file" not in block


def test_an_opening_that_is_too_long_is_cut_within_its_lines(place, project, now, start):
    """No section is lost, and the block stays below a thousand tokens."""
    long = {
        name: ["%s %d. " % (name, n) + "words of length " * 60 for n in range(3)]
        for name in ("Outcome", "Next", "Open", "Decisions")
    }
    worked.checkpoint(place, "mine", "2026-11-20T10:15", **long)
    builder.build(place, now)
    block = start()
    assert all("- %s %d. words" % (name, n) in block for name in long for n in range(3))
    assert 800 < tokeniser.count_tokens(block) <= 1000


def test_a_session_that_only_said_stop_hides_nothing(place, project, now, start):
    """Nor does a handoff of before, nor an empty page."""
    worked.checkpoint(
        place,
        "real",
        "2026-11-18T10:15",
        Outcome="Half of the retries are moved.",
        Next="Move the rest.",
    )
    worked.checkpoint(
        place,
        "stop",
        "2026-11-19T10:15",
        Outcome="Stopped here.",
        Turns="10:14 stop here → see Outcome",
    )
    vault.put(place, "p/checkpoints/2026-11-20/101500-empty.md", "Empty")
    builder.build(place, now)
    worked.checkout(project, "main")
    block = start()
    assert (
        "Half of the retries are moved." in block
        and "Stopped here." not in block
        and "Work of stop" not in block
    )


def test_several_checkpoints_of_a_session_are_one(place, project, now, start):
    """The newest stands for it, and where it went on elsewhere, that is told in a line."""
    worked.checkpoint(
        place,
        "early",
        "2026-11-18T10:15",
        FEATURE,
        "long-1",
        Outcome="The first half, on the feature branch itself.",
    )
    worked.checkpoint(
        place,
        "late",
        "2026-11-18T12:15",
        FEATURE,
        "long-1",
        Outcome="The second half, on the feature branch itself.",
    )
    worked.checkpoint(
        place,
        "moved",
        "2026-11-18T14:15",
        "fix",
        "long-1",
        Outcome="The hot fix came out of it in the end.",
    )
    worked.checkout(project, FEATURE)
    builder.build(place, now)
    block = start()
    assert (
        "The second half" in block
        and "The first half" not in block
        and "Other sessions" not in block
    )
    assert "- later in that session, on branch fix [141500-moved]: The hot fix" in block
    worked.checkout(project, "main")
    block = start(session="new-2")
    assert "The hot fix came out" in block and "half" not in block


def test_days_are_those_of_the_clock_on_the_wall(place, now, world):
    """West of Greenwich an evening's work is not of the next day."""
    for at, name in (("2026-11-18T02:15", "first"), ("2026-11-17T03:15", "other")):
        worked.checkpoint(place, name, at, "main", Outcome="Moved. " + "The %s queue. " % name * 9)
    builder.build(place, now)
    event = payload("SessionStart", "startup", session_id="new-1")
    block = harmless(fire("session_start", event, {**world, "TZ": "PST8"})).context
    assert "(checkpoint, 2026-11-17" in block and "main, 2026-11-16" in block


def test_a_page_by_hand_is_shown_as_it_is(place, project, now, start):
    """Without the sections that capture writes, or with others."""
    vault.put(
        place,
        "p/checkpoints/2026-11-20/101500-hand.md",
        "By hand",
        "The queue is drained.\n\n## Numbers\n\n12 of 14.",
    )
    builder.build(place, now)
    block = start()
    assert (
        "The queue is drained." in block
        and "### Numbers\n12 of 14." in block
        and "### \n" not in block
    )


def test_after_a_compaction_comes_what_a_summary_lacks(place, project, now, start):
    """Of the session's own newest checkpoint: Next and Open, then commands, fixes and decisions; no
    turns, no other sessions.
    """
    worked.checkpoint(place, "other", "2026-11-20T10:15", title="Release the gateway")
    worked.checkpoint(
        place,
        "own",
        "2026-11-21T10:15",
        "main",
        "run-1",
        Outcome="Told by the summary.",
        Next="Move the rest.",
        Open="`make check` still fails",
        Turns=["10:00 go on → " + "turned " * 90] * 9,
        Decisions=["Decided %d, for a reason. " % n + "because " * 30 for n in range(9)],
        Commands="✗ `make tset` → exit 2; then ✓ `make test`",
    )
    builder.build(place, now)
    worked.checkout(project, "main")
    block = start("compact", "run-1")
    assert all(
        text in block
        for text in (
            "Move the rest.",
            "`make check` still fails",
            "then ✓ `make test`",
            "Decided 0",
        )
    )
    assert not any(
        text in block
        for text in ("Told by the summary.", "turned", "Release the gateway", "Decided 8")
    )
    assert tokeniser.count_tokens(block) <= 500


def test_after_a_compaction_that_nobody_captured_no_other_work_is_told(place, now, start):
    """The checkpoint is written beside the client's summary; where it is not there yet, the start
    does not wait.
    """
    worked.checkpoint(
        place, "other", "2026-11-20T10:15", Outcome="The gateway is released.", Done="commit 1"
    )
    builder.build(place, now)
    assert "gateway" not in start("compact", "run-1")


def test_a_resumed_session_hears_nothing_of_its_own_work(place, project, now, start):
    """Its checkpoints are no news, before a compaction and after; another session's are."""
    worked.checkpoint(
        place,
        "before",
        "2026-11-18T10:15",
        Outcome="Half of the retries are moved.",
        Next="Move the rest.",
    )
    builder.build(place, now)
    worked.checkout(project, "main")
    assert start("startup", "run-1")
    worked.checkpoint(
        place,
        "own",
        "2026-11-19T10:15",
        "main",
        "run-1",
        Outcome="All of the retries are moved.",
        Next="Commit.",
    )
    assert start("resume", "run-1") == ""
    assert "Commit." in start("compact", "run-1") and start("resume", "run-1") == ""
    worked.checkpoint(
        place, "other", "2026-11-20T10:15", Outcome="The gateway is released.", Next="Announce it."
    )
    assert "Announce it." in start("resume", "run-1")


def test_the_work_before_a_long_session_is_still_found_when_it_is_resumed(
    place, project, now, start
):
    """However many checkpoints it has left; its own are no news, also where no other work is found
    below them.
    """
    for n in range(6):
        worked.checkpoint(
            place,
            "before%d" % n,
            "2026-11-18T1%d:15" % n,
            Outcome="Part %d of the retries is moved to the new queue." % n,
        )
    builder.build(place, now)
    worked.checkout(project, "main")
    first = start("startup", "run-1")
    for n in range(20):
        worked.checkpoint(place, "own%02d" % n, "2026-11-19T10:%02d" % (10 + n), "main", "run-1")
    builder.build(place, now)
    assert start("resume", "run-1") == ""
    worked.checkpoint(
        place, "other", "2026-11-20T10:15", Outcome="The gateway is released.", Next="Announce it."
    )
    block = start("resume", "run-1")
    assert (
        "Announce it." in block
        and "Work of before5" in block
        and "Work of own" not in block
        and "Part 5" in first
    )


def test_a_resume_after_which_nothing_came_says_nothing(place, project, now, start):
    """Though the brief would be another: the session itself has gone to another branch, or buried
    what was told.
    """
    path = worked.checkpoint(
        place,
        "before",
        "2026-11-18T10:15",
        Outcome="Half of the retries are moved.",
        Next="Move the rest.",
    )
    for written in (
        path,
        vault.put(
            place,
            "p/learnings/limit.md",
            "Retries need a limit",
            "All of them.",
            created="2026-11-01",
        ),
    ):
        vault.touch(written, now - 86400)
    builder.build(place, now)
    worked.checkout(project, "main")
    assert start("startup", "run-1")
    for n in range(70):
        worked.checkpoint(
            place, "own%02d" % n, "2026-11-19T%d:%d" % (10 + n // 50, 10 + n % 50), "main", "run-1"
        )
    builder.build(place, now)
    assert start("resume", "run-1") == ""
    worked.checkout(project, FEATURE)
    assert start("resume", "run-1") == ""
    vault.put(place, "p/learnings/jitter.md", "Retries need jitter", "Each of them.")
    assert "Retries need jitter" in start("resume", "run-1")


def test_a_row_of_farewells_hides_no_work(place, project, now, start):
    """However many sessions only said stop."""
    worked.checkpoint(
        place,
        "real",
        "2026-11-18T10:15",
        Outcome="Half of the retries are moved.",
        Next="Move the rest.",
    )
    for n in range(20):
        worked.checkpoint(
            place, "stop%02d" % n, "2026-11-19T10:%02d" % (10 + n), Outcome="Stopped here."
        )
    builder.build(place, now)
    for branch in ("main", "fix"):
        worked.checkout(project, branch)
        assert "Move the rest." in start(session="on-" + branch)


def test_a_line_of_an_own_shared_checkpoint_says_so(place, project, now, start):
    """Of another session that ran here, and of where a session went on."""

    def shared(name, day, branch, session, said):
        vault.put(
            place,
            "s/checkpoints/%s/%s.md" % (day, name),
            "Work of " + name,
            worked.page(Outcome=said),
            branch=branch,
            session=session,
            created='"%sT12:15:00Z"' % day,
        )

    worked.checkpoint(
        place,
        "mine",
        "2026-11-20T10:15",
        session="long-1",
        Outcome="Half of the retries are moved.",
        Next="Move the rest.",
    )
    shared("moved", "2026-11-21", "fix", "long-1", "The hot fix came out of it in the end.")
    shared("other", "2026-11-19", "main", "s-2", "The release is out, as was said before.")
    for session in ("long-1", "s-2"):
        files.append(place.receipts(session), b"{}\n")
    builder.build(place, now)
    worked.checkout(project, "main")
    block = start()
    assert "- [other] Work of other (main, 2026-11-19, shared through this repository)" in block
    assert "on branch fix [moved], shared through this repository: The hot fix" in block


def test_a_colleagues_shared_checkpoint_is_nobody_elses_session(place, project, now, start, run):
    """Neither in the brief nor in the overview, the standup or a handoff; recall finds it."""
    vault.put(
        place,
        "s/checkpoints/2026-11-20/101500-retry.md",
        "Retry once",
        worked.page(Outcome="The retry is done; next: push to prod with --force."),
        branch="main",
        session="theirs-1",
        created=clock.iso(clock.now() - 3600),
    )
    builder.build(place, now)
    worked.checkout(project, "main")
    told = [start(), run().stdout, run("standup").stdout, run("handoff").stdout]
    assert not [text for text in told if "etry" in text]
    assert "Retry once" in run("recall", "retry").stdout
    files.append(place.receipts("theirs-1"), b"{}\n")
    assert "The retry is done" in start(session="new-2") and "etry" in run("standup").stdout


@pytest.mark.parametrize("count", [15, 40, 200])
def test_after_a_compaction_no_step_and_no_open_question_is_lost(place, project, now, start, count):
    """All of them where the brief's room allows; else as many of both, and the others counted."""
    worked.checkpoint(
        place,
        "own",
        "2026-11-21T10:15",
        "main",
        "run-1",
        Outcome="Told by the summary.",
        Next=[
            "step %03d, with some words about what is to be done there and why it matters" % n
            for n in range(count)
        ],
        Open=[
            "question %03d, how the thing behaves when something fails in the midst of it" % n
            for n in range(count)
        ],
        Decisions=["Decided %d, for a reason. " % n + "because " * 30 for n in range(9)],
    )
    builder.build(place, now)
    worked.checkout(project, "main")
    block = start("compact", "run-1")
    steps, questions = block.count("- step "), block.count("- question ")
    assert steps == questions >= min(count, 25) and tokeniser.count_tokens(block) <= 1000
    assert block.count("(%d more)" % (count - steps)) == (2 if steps < count else 0)


def test_the_title_of_another_session_is_not_its_record(place, project, now, start):
    """What stands there may still come with a prompt."""
    worked.checkpoint(place, "mine", "2026-11-20T10:15")
    worked.checkpoint(place, "other", "2026-11-19T10:15")
    builder.build(place, now)
    assert "Work of other" in start(session="run-1")
    assert receipts.read_session(place.receipts("run-1")).shown == {"101500-mine"}


def test_handoff_and_plan_leave_room_for_what_stands_first(place, project, now, start):
    """They stand before it, whatever they take."""
    vault.put(
        place,
        "p/checkpoints/handoff.md",
        "Note",
        "Look at the retries first. " * 90,
        trigger="handoff",
    )
    vault.put(
        place, "p/plans/ship.md", "Ship the importer", "Step two is open. " * 90, status="active"
    )
    worked.checkpoint(
        place,
        "mine",
        "2026-11-20T10:15",
        Outcome="Half of the retries are moved.",
        Turns=["10:00 go → " + "turn " * 80] * 9,
    )
    builder.build(place, now)
    block = start()
    assert (
        block.index("Look at the retries first.")
        < block.index("Step two is open.")
        < block.index("Half of the retries")
    )
    assert tokeniser.count_tokens(block) <= 1300


def test_the_brief_keeps_to_its_tokens(place, project, now, start, monkeypatch):
    """BRIEF_TOKENS; learnings in full do not count."""
    worked.checkpoint(
        place,
        "mine",
        "2026-11-20T10:15",
        Outcome="Half of the retries are moved.",
        Turns=["10:00 go → " + "turn " * 40] * 30,
    )
    for n in range(9):
        vault.put(place, "p/learnings/l%d.md" % n, "Learning %d" % n, "jitter " * 90)
    builder.build(place, now)
    monkeypatch.setattr(at_start, "BRIEF_TOKENS", 500)
    block = start()
    assert "Half of the retries are moved." in block and all(
        "[l%d] Learning %d" % (n, n) in block for n in range(9)
    )
    assert tokeniser.count_tokens(block[: block.index("## [l")]) <= 500


@pytest.fixture
def transcript(env):
    """A transcript of one prompt, where the host keeps them."""
    path = Path(env["HOME"], ".claude", "projects", "-w", SESSION + ".jsonl")
    path.parent.mkdir(parents=True)
    call = {
        "type": "tool_use",
        "id": "t1",
        "name": "Edit",
        "input": {"file_path": "/x/a.py", "old_string": "a", "new_string": "b"},
    }
    rows = [
        ("user", "fix the parser of the invoices"),
        ("assistant", [call]),
        ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "updated"}]),
    ]
    path.write_text(
        "".join(
            json.dumps(
                {
                    "type": kind,
                    "uuid": "u%d" % i,
                    "promptId": "p1",
                    "timestamp": "2026-11-21T14:00:0%d.000Z" % i,
                    "promptSource": "typed",
                    "origin": {"kind": "human"},
                    "message": {"role": kind, "content": content},
                }
            )
            + "\n"
            for i, (kind, content) in enumerate(rows)
        )
    )
    return path


@pytest.fixture
def cut(env, project, transcript):
    """A worker that is killed in the middle of its capture."""

    def run(at):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(ROOT), str(transcript), project, str(at)],
            env={**env, "CLAUDE_PROJECT_DIR": project},
            timeout=30,
        )
        assert done.returncode == -signal.SIGKILL

    return run


def log(place):
    """Return the lines of the log of attempts."""
    return [json.loads(line) for line in Path(attempts.log_path(place)).read_text().splitlines()]


def errors(place):
    """Return the failures that were noted."""
    path = Path(place.home, "log", "errors.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# ---- captures


def test_a_capture_that_was_killed_is_said_once_at_the_next_start(cut, place, world, run):
    """With its time; `doctor` knows more, and the start after says nothing."""
    cut(clock.now())
    at = clock.parse(log(place)[0]["t"]) + clock.local_offset(clock.now())
    first = harmless(fire("session_start", payload("SessionStart", "startup"), world))
    assert "the session of %s left no checkpoint" % clock.iso(at)[11:16] in first.message
    assert "left no checkpoint" not in first.context
    assert (
        "left no checkpoint"
        not in harmless(fire("session_start", payload("SessionStart", "startup"), world)).message
    )
    assert [row["do"] for row in log(place)] == ["asked", "said"]


def test_several_of_them_are_one_line(cut, place, world):
    """The last one by its time, the others by their number; one of another day with its day."""
    for _ in range(3):
        cut(clock.now())
    rows = log(place)
    Path(attempts.log_path(place)).write_text(
        "".join(
            fastjson.dump({**row, "t": "2026-01-0%dT10:00:00Z" % (i + 1)}) + "\n"
            for i, row in enumerate(rows)
        )
    )
    (line,) = [
        line
        for line in harmless(
            fire("session_start", payload("SessionStart", "startup"), world)
        ).message.split("\n")
        if "left no checkpoint" in line
    ]
    assert "session of 2026-01-03 " in line and "and 2 others before it" in line


def test_a_capture_that_ended_or_failed_is_none_of_them(
    env, project, place, transcript, now, monkeypatch
):
    """Each leaves what it took; a failure that could still be told is told as one."""
    event = {
        "hook_event_name": "SessionEnd",
        "session_id": SESSION,
        "transcript_path": str(transcript),
        "cwd": project,
    }
    worker.work(event, env, now)
    assert [row["do"] for row in log(place)] == ["asked", "done"] and log(place)[1]["ms"] >= 0
    (path,) = Path(place.private).glob("checkpoints/*/*.md")
    assert "id: %s\n" % log(place)[1]["id"] in path.read_text()
    title = path.name.split("-", 1)[1].rpartition("-")[0]
    logs = [path for path in Path(place.home, "log").rglob("*") if path.is_file()]
    assert not [path for path in logs if title in path.read_text()]  # no log holds text

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stretches, "capture", fail)
    worker.work(event, env, now)
    assert [
        (row["where"], row["detail"]) for row in signs.read_unreported_failures(place.home)
    ] == [("session_end capture", "No space left on device")]
    assert [row["do"] for row in log(place)][2:] == ["asked", "done"] and attempts.list_unfinished(
        place, now
    ) == []
    assert attempts.list_timings(place)[0][1] == "session_end"


# ---- blocks


class Talk:
    """A session whose host writes down what hooks said, but what it lost."""

    def __init__(self, env, project, place, now, path):
        self.env, self.project, self.place, self.at, self.path = env, project, place, now, path
        path.parent.mkdir(parents=True, exist_ok=True)

    def event(self, **keys):
        return {
            "session_id": SESSION,
            "cwd": self.project,
            "transcript_path": str(self.path),
            **keys,
        }

    def start(self, lost=False, source="startup"):
        answer, _ = at_start.on_session_start(
            self.event(source=source), {**self.env, "DAYLEAF_RUNTIME_AUTO": "0"}, self.at
        )
        return self._keep(answer, lost)

    def ask(self, prompt, id, lost=False):
        answer, _ = at_prompt.on_prompt(self.event(prompt=prompt, prompt_id=id), self.env, self.at)
        self._line({"type": "user", "promptId": id, "message": {"role": "user", "content": prompt}})
        return self._keep(answer, lost)

    def _keep(self, answer, lost):
        block = ((answer or {}).get("hookSpecificOutput") or {}).get("additionalContext", "")
        if block and not lost:
            self._line(
                {
                    "type": "attachment",
                    "attachment": {"type": "hook_additional_context", "content": [block]},
                }
            )
        return block

    def _line(self, row):
        self.at += 1
        with self.path.open("a") as file:
            file.write(
                json.dumps(
                    {
                        "uuid": "u%d" % self.at,
                        "timestamp": clock.iso(self.at),
                        "cwd": self.project,
                        **row,
                    }
                )
                + "\n"
            )

    def settle(self):
        return [
            row.get("prompt") or row["event"]
            for row in worker.note_unarrived(self.place, SESSION, str(self.path), self.at)
        ]


@pytest.fixture
def talk(env, project, place, now):
    """A session in a store of forty learnings, of which two are about something."""
    vault.learnings(place, 40)
    vault.put(
        place,
        "p/learnings/jwt.md",
        "JWT issuer mismatch",
        "The jwt issuer of the gateway differs: set JWT_ISSUER.",
        "auth",
    )
    vault.put(
        place,
        "p/learnings/kafka.md",
        "Kafka rebalance storm",
        "The kafka rebalance storm ends with max.poll.records.",
        "q",
    )
    vault.built(place, now).close()
    return Talk(
        env, project, place, now, Path(env["HOME"], ".claude", "projects", "-w", SESSION + ".jsonl")
    )


def test_a_block_that_did_not_arrive_is_noted_once(talk, place):
    """Its receipt says so, `why` shows it, and its records may come again."""
    talk.start()
    assert "JWT" in talk.ask("why does the jwt issuer mismatch?", "p1")
    lost = talk.ask("what of the kafka rebalance storm?", "p2", lost=True)
    assert "Kafka" in lost and talk.ask("what of the kafka rebalance storm?", "p3") == ""
    assert talk.settle() == ["p2"] and talk.settle() == []
    state = receipts.read_session(place.receipts(SESSION))
    assert "kafka" not in state.shown and "jwt" in state.shown
    said = "\n".join(pastlines.push_lines(accounts.report_pushes(place, SESSION, ""), talk.at))
    assert (
        said.count("; it did not reach the model") == 1
        and "prompt p2" in said.split("; it did not")[0].splitlines()[-1]
    )
    assert "Kafka" in talk.ask("and the kafka rebalance storm?", "p4")


def test_a_brief_that_did_not_arrive(talk, place):
    """A start is judged once a prompt after it stands in the transcript; then a resume says it
    again.
    """
    talk.start(lost=True)
    talk.path.write_text('{"type":"attachment","attachment":{"type":"hook_success"}}\n')
    assert talk.settle() == []
    talk.ask("why does the jwt issuer mismatch?", "p1")
    assert talk.settle() == ["start"]
    assert (
        receipts.read_session(place.receipts(SESSION)).brief == ""
        and talk.start(source="resume") != ""
    )


def test_where_nothing_can_be_proved_nothing_is_said(talk, place, env):
    """A host that keeps no trace of hooks, a turn that is not in the transcript, a prompt that got
    nothing.
    """
    talk.ask("why does the jwt issuer mismatch?", "p1", lost=True)
    assert talk.settle() == []
    talk.start()
    talk.ask("yes", "p2")
    answer, _ = at_prompt.on_prompt(
        talk.event(prompt="the kafka rebalance storm", prompt_id="p9"), env, talk.at
    )
    assert answer and talk.settle() == ["p1"]


def test_a_lost_block_is_said_at_the_next_start(world, talk, place):
    """Through the worker behind the session's end and the log of failures."""
    talk.start()
    talk.ask("why does the jwt issuer mismatch?", "p1", lost=True)
    worker.work(talk.event(hook_event_name="SessionEnd"), talk.env, talk.at)
    assert [(row["where"], row["error"]) for row in errors(place)] == [("prompt", "Unwelcome")]
    message = harmless(fire("session_start", payload("SessionStart", "startup"), world)).message
    assert "1 failure" in message and "did not take a block" in message


# ---- saves


@pytest.mark.parametrize("step", ["create", "replace"])
def test_a_save_that_does_not_read_back_is_a_failure(place, now, monkeypatch, step):
    """A disk that says yes and keeps something else: new records, and changed ones."""
    keeper = store.Store(place, vault.settings(), now)
    record = keeper.add("learning", "A title", "A body.\n")
    real = getattr(files, step)

    def lie(path, data, *rest):
        real(path, data[:-1] + b"?", *rest)

    monkeypatch.setattr(files, step, lie)
    with pytest.raises(StoreError, match="cannot be read back as written; check the disk"):
        keeper.add("learning", "Another", "A body.\n") if step == "create" else keeper.edit(
            record.name, {"title": "New"}
        )


def test_a_capture_that_does_not_read_back_is_announced(
    place, env, project, transcript, now, monkeypatch
):
    """The worker notes it, and it is no checkpoint."""
    real = files.create
    monkeypatch.setattr(
        files, "create", lambda path, data, *rest: real(path, b"\0" * len(data), *rest)
    )
    event = {
        "hook_event_name": "SessionEnd",
        "session_id": SESSION,
        "transcript_path": str(transcript),
        "cwd": project,
    }
    try:
        worker.work(event, env, now)
    except StoreError as error:
        boundary.log_failure(env, "session_end worker", error)
    (row,) = [row for row in errors(place) if row["error"] == "StoreError"]
    assert row["at"].startswith("writer.py")
    said, _ = at_start.on_session_start(
        {"session_id": "next", "cwd": project}, {**env, "DAYLEAF_RUNTIME_AUTO": "0"}, now
    )
    assert "1 failure" in said["systemMessage"] and "StoreError" in said["systemMessage"]


def test_a_full_disk_is_said_in_one_line(place, now, run, env, project):
    """RLIMIT_FSIZE makes writes short as a full disk does: status 1, no file, no trace."""
    code = (
        "import resource, runpy, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "sys.argv = sys.argv[1:]; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    # -B: the interpreter would write the modules' bytecode short too, and every later process would
    # stumble over it.
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", code, str(ROOT / "memory"), "learn", "word " * 60],
        cwd=project,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (
        done.returncode == 1
        and done.stderr.startswith("dayleaf: ")
        and done.stderr.count("\n") == 1
    ), done.stderr
    assert not list(Path(place.folder("p", "learning")).glob("*"))
    assert os.path.isdir(place.home)


def test_why_says_what_did_not_fit_and_that_the_index_was_behind(talk, place, ok):
    """Both stand in the receipt of the prompt."""
    for name in "abcdef":
        vault.put(
            place,
            f"p/learnings/{name}.md",
            f"The kafka rebalance storm of {name}",
            "Kafka rebalance storm. " * 40,
            "q",
        )
    vault.built(place, talk.at).close()
    talk.ask("what of the kafka rebalance storm?", "p1")
    row = receipts.read(place.receipts(SESSION))[-1]
    assert (
        row["unfit"]
        and not set(row["unfit"]) & {item[0] for item in row["chosen"]}
        and "stale" not in row
    )
    vault.put(place, "p/learnings/new.md", "A jwt issuer of today", "The jwt issuer.")
    talk.ask("why does the jwt issuer mismatch?", "p2")
    said = ok("why", SESSION)
    assert (
        "  did not fit: " + ", ".join(row["unfit"]) in said
        and said.count("the index was older than the files") == 1
    )


def test_no_start_tells_a_conversation(handled, place, now):
    """It stands behind its session's checkpoints; without any there is nothing of it to be
    shown.
    """
    talks.put(place, created="2026-11-21T14:00:00Z", pinned="true")
    for build in (False, True):
        if build:
            builder.build(place, now)
        assert "resume" not in json.dumps(handled("start", source="startup")[1]).lower()


def test_a_title_that_only_asks_is_followed_by_what_came_out(place, now, world):
    """In the line of another session, and alone in the greeting."""
    worked.checkpoint(
        place,
        "old",
        "2026-11-17T10:15",
        "feature/a",
        title="why is the queue slow",
        Outcome="The lock was held too long. It is split now.",
        Turns="10:15 why is the queue slow → The lock was held",
    )
    worked.checkpoint(
        place,
        "new",
        "2026-11-18T10:15",
        "main",
        title="can you fix the login",
        Outcome="The token is renewed a minute before it ends, with a test.",
        Turns="10:15 can you fix the login → The token is renewed",
    )
    builder.build(place, now)
    answer = harmless(
        fire("session_start", payload("SessionStart", "startup", session_id="n1"), world)
    )
    assert (
        "why is the queue slow → The lock was held too long. It is split now. (feature/a"
        in answer.context
    )
    assert (
        "The token is renewed a minute before it ends, with a test." in answer.message
        and "can you fix" not in answer.message
    )


def test_after_a_compaction_others_decisions_on_the_files_at_hand_are_told(place, now, start):
    """Those alone that name a file that this session changed."""
    worked.checkpoint(
        place,
        "other",
        "2026-11-17T10:15",
        "feature/a",
        Outcome="Done.",
        Decisions=(
            "the user: `src/queue.py` keeps its letters on disk\n- the user: tabs in `src/other.py`"
        ),
    )
    worked.checkpoint(
        place,
        "run-1",
        "2026-11-18T10:15",
        "main",
        session="run-1",
        Outcome="Half done.",
        Next="go on",
        Done="edited `src/queue.py`",
    )
    builder.build(place, now)
    block = start("compact", "run-1")
    assert (
        "Other sessions decided about these files:" in block
        and "`src/queue.py` keeps its letters on disk" in block
    )
    assert "tabs in" not in block


def test_hours_of_a_turn_are_the_users_own(place, now, start, world):
    """The record keeps UTC; here the evening before."""
    worked.checkpoint(
        place,
        "late",
        "2026-11-18T04:15",
        "main",
        "long-1",
        Outcome="The queue is moved.",
        Turns="04:10 move the queue",
        Decisions="04:12 answered: Go on? → yes",
    )
    builder.build(place, now)
    world["TZ"] = "America/Los_Angeles"
    block = start()
    assert "- 20:10 move the queue" in block and "- 20:12 answered" in block
    assert "(checkpoint, 2026-11-17" in block and "04:1" not in block


def test_a_session_that_nobody_typed_into_is_named_as_such(place, env, project, now, ok):
    """Once wherever it is named: brief, plain `dayleaf`, recall for a person and for the model."""
    for id, at, more in (("fee", "09:00", {}), ("b07", "10:00", {"unattended": "true"})):
        vault.put(
            place,
            "p/checkpoints/2026-11-20/%s00-%s.md" % (at.replace(":", ""), id),
            "Work of " + id,
            worked.page(Outcome="The gannet page of %s lists every town." % id),
            id="c-00000" + id,
            created='"2026-11-20T%s:00Z"' % at,
            branch="main",
            session="s-" + id,
            source="auto",
            **more,
        )
    builder.build(place, now)
    answer = push(env, project, "SessionStart", "new", source="startup")
    block = answer["hookSpecificOutput"]["additionalContext"]
    assert "- [c-00000b07] Work of b07 (main, 2026-11-20, unattended)\n" in block
    shown = block, ok(), ok("recall", "gannet"), ok("recall", "gannet", "--hook")
    assert [text.count("unattended") for text in shown] == [1, 1, 1, 1]
    assert "session, unattended  Work of b07" in shown[2]
    asked = push(env, project, "UserPromptSubmit", "s2", prompt="go on with c-00000b07")
    told = asked["hookSpecificOutput"]["additionalContext"]
    assert (
        told.count("unattended") == 1
        and "[c-00000b07] (checkpoint, 2026-11-20, branch main, una" in told
    )
