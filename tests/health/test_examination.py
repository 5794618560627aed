"""doctor on what happened, and --fix: each fault is made, found with its remedy, mended, and then
the verdict is OK.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from harness.verdicts import worst

from memory.core import attempts, clock, files
from memory.health import FAIL, OK, WARN, checkup
from memory.hook import receipts
from memory.store import journal


def test_failures_of_hooks_and_faults_of_our_own(examine, place):
    """Recent lines of the log and kept traces are shown, old ones are not."""
    log = Path(place.home, "log")
    log.mkdir(parents=True)
    row = {
        "v": 1,
        "t": "2026-11-20T10:00:00Z",
        "where": "prompt",
        "error": "OSError",
        "detail": "No space left",
        "at": "files.py:3",
    }
    (log / "errors.jsonl").write_text(json.dumps(row) + "\ntorn")
    ((verdict, found, _),) = examine("log")
    assert (
        verdict == WARN
        and "1 failure" in found
        and "prompt OSError No space left files.py:3" in found
    )
    (log / "errors.jsonl").write_text(json.dumps({**row, "t": "2026-01-01T10:00:00Z"}) + "\n")
    assert worst(examine("log")) == OK
    (log / "bug-2026-11-20T100000Z.txt").write_text("trace")
    assert "bug-2026-11-20T100000Z.txt" in examine("log")[1][1]


def test_ledgers_that_others_may_write_or_that_are_torn(examine, place):
    """An open ledger of approvals counts for nothing: a failure."""
    Path(place.home).mkdir(parents=True, exist_ok=True)
    trust = Path(place.home, "trust.jsonl")
    trust.write_text('{"v":1}\nnot json\n')
    trust.chmod(0o600)
    assert examine("ledgers")[0][0] == WARN and "1 line that cannot be read" in examine("ledgers")[
        0
    ][1].replace("has ", "")
    trust.chmod(0o622)
    assert examine("ledgers")[0][0] == FAIL


def test_temporary_files_of_killed_writers(examine, record, place, now):
    """Only old ones count: a young one may still be written."""
    temp = Path(place.folder("p", "learning"), ".dayleaf-99999999-0")
    temp.write_text("x")
    os.utime(temp, (now - 60, now - 60))
    assert worst(examine("temps")) == OK
    os.utime(temp, (now - 7200, now - 7200))
    assert worst(examine("temps")) == WARN


def test_a_temporary_file_of_a_process_that_was_killed_here_is_a_leftover_at_once(
    examine, record, place, now
):
    """Its name says where its process ran; one that runs keeps its own, one of another machine is
    left an hour.
    """
    folder = place.folder("p", "learning")
    names = [os.path.basename(files.temp_path(folder, 0)), ".dayleaf-99999999-0-elsewhere.1"]
    for name in names:
        Path(folder, name).write_text("x")
        os.utime(Path(folder, name), (now, now))
    assert worst(examine("temps")) == OK and files.delete_leftovers(folder, now) == 0
    dead = Path(folder, names[0].replace("-%d-" % os.getpid(), "-99999999-"))
    dead.write_text("x")
    os.utime(dead, (now, now))
    assert worst(examine("temps")) == WARN
    assert files.delete_leftovers(folder, now) == 1 and not dead.exists()
    assert sorted(names) == sorted(
        name for name in os.listdir(folder) if name.startswith(".dayleaf-")
    )


def test_a_check_that_fails_is_a_verdict(examine, monkeypatch):
    """One broken check does not hide the others."""
    monkeypatch.setattr(checkup, "check_index", lambda place, walked: 1 / 0)
    assert examine("index")[0][:2] == (
        WARN,
        "this check failed (ZeroDivisionError: division by zero)",
    )
    assert examine("records")


# ---- what happened


def test_an_upkeep_that_was_cut_short_and_a_newer_journal(examine, record, place, now):
    """Each with its way on; no journal is no line."""
    assert examine("journal") == []
    journal.begin(place, now)
    assert examine("journal")[0][0] == WARN and "dayleaf store undo" in examine("journal")[0][2]
    journal.log_state(place, journal.find_interrupted_run(place), "done", now)
    assert examine("journal") == [(OK, "1 run of upkeep", "")]
    files.append_line(journal.path(place), '{"v":9,"run":"x","do":"begin"}')
    assert examine("journal")[0][0] == FAIL


def test_a_capture_that_was_cut_short(examine, record, place, now):
    """Until its session is written down or the user has heard; a capture that came to its end is
    none.
    """
    attempts.log_end(place, attempts.log_start(place, "fine", "stop", now), "stop", "", now, now)
    assert examine("captures") == [
        (OK, "every session that left a transcript has its checkpoint", "")
    ]
    files.append_line(
        attempts.log_path(place),
        json.dumps(
            {
                "v": 1,
                "t": clock.iso(now),
                "do": "asked",
                "run": "99999999.1",
                "session": "cut",
                "trigger": "stop",
            }
        ),
    )
    assert examine("captures")[0][:2] == (
        WARN,
        "the capture of %s (session cut) was cut short" % clock.iso(now),
    )
    attempts.mark_reported(place, ["99999999.1"], now)
    assert worst(examine("captures")) == OK


def test_a_session_that_nobody_wrote_down(examine, record, place, env, now):
    """Its transcript holds more than was read."""
    path = Path(env["HOME"], ".claude", "projects", "-w", "lost.jsonl")
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    os.utime(path, (now - 600, now - 600))
    receipts.write(place.receipts("lost"), {"v": 1, "event": "start", "transcript": str(path)})
    assert examine("captures")[0][:2] == (
        WARN,
        "1 session whose checkpoints are incomplete, such as lost",
    )


def test_a_session_whose_start_no_hook_saw_is_no_ok(examine, record, place, env, now):
    """Nor is one of before dayleaf passed over in silence, or one that left no transcript."""

    def put(name, days):
        path = Path(
            env["HOME"],
            ".claude",
            "projects",
            re.sub("[^A-Za-z0-9]", "-", place.project),
            name + ".jsonl",
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps(
                {
                    "type": "user",
                    "cwd": place.project,
                    "timestamp": clock.iso(now - days * clock.DAY),
                }
            )
            + "\n"
        )
        os.utime(path, (now - 600, now - 600))
        return path

    receipts.write(
        place.receipts("gone"), {"v": 1, "event": "start", "transcript": "/nowhere/gone.jsonl"}
    )
    os.utime(place.receipts("gone"), (now - 3600,) * 2)
    put("older", 3)
    assert examine("captures") == [
        (
            WARN,
            "1 past session from before dayleaf was installed: not imported",
            "`dayleaf store import transcripts` brings them in",
        )
    ]
    put("silent", 0.1)
    assert examine("captures")[0][:2] == (
        WARN,
        "1 session whose checkpoints are incomplete, such as silent",
    )


# ---- --fix


def bytes_of(place):
    """Return the bytes of every record and ledger."""
    return {
        p: p.read_bytes()
        for p in Path(place.home).rglob("*")
        if p.is_file() and p.suffix in (".md", ".jsonl")
    }


def test_fix_mends_what_is_safe_and_a_second_run_finds_nothing(record, place, ok, run, now):
    """Permissions, a torn last line, leftovers, a stale index; each fix is printed
    and no record touched.
    """
    os.chmod(place.home, 0o755)
    Path(place.path(record.name)).chmod(0o664)
    book = Path(place.private, "ledger.jsonl")
    book.write_text('{"v":1,"t":"2026-11-2')
    temp = Path(place.folder("p", "learning"), ".dayleaf-99999999-0")
    old = Path(place.cache, "x.seg.damaged")
    for path in (temp, old):
        path.write_text("x")
    for path in (temp, old):
        os.utime(path, (1, 1))
    Path(place.folder("p", "learning"), "new.md").write_text("A note of today.\n")
    before = bytes_of(place)
    said = run("doctor", "--fix").stdout
    for line in (
        "other users can no longer open %s (0700, was 0755)" % place.home,
        "closed the unfinished last line of %s" % book,
        "deleted 2 leftovers of killed processes",
        "refreshed the index: 2 records",
    ):
        assert line in said, (line, said)
    assert not temp.exists() and not old.exists()
    assert (
        os.stat(place.home).st_mode & 0o777 == 0o700
        and os.stat(place.path(record.name)).st_mode & 0o777 == 0o600
    )
    assert {path: data + b"\n" * (path == book) for path, data in before.items()} == bytes_of(place)
    assert run("doctor", "--fix").stdout.startswith("nothing that --fix")
    assert json.loads(run("doctor", "--fix", "--json").stdout)["fixed"] == []


@pytest.mark.parametrize("how", ["damaged", "flipped", "missing"])
def test_fix_builds_an_index_that_is_missing_or_damaged(record, place, run, how):
    """From the files, and recall finds again through it."""
    (path,) = Path(place.cache).glob("*.seg")
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.unlink() if how == "missing" else path.write_bytes(
        data if how == "flipped" else data[:100]
    )
    done = run("doctor", "--fix")
    assert "built the index: 1 record" in done.stdout and "OK    index" in done.stdout


def test_fix_leaves_what_may_still_be_wanted(record, place, run, env, tmp_path):
    """A young temporary file, and one whose writer lives."""
    folder = Path(place.folder("p", "learning"))
    kept = [
        folder / ".dayleaf-99999999-1",
        folder / (".dayleaf-%d-0" % os.getpid()),
    ]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    os.utime(kept[1], (1, 1))
    run("doctor", "--fix")
    assert all(path.exists() for path in kept)


def test_fix_does_not_make_approvals_count_that_others_could_write(record, place, run):
    """A ledger of approvals that was open stays open, and counts for nothing, until a person has
    looked.
    """
    trust = Path(place.home, "trust.jsonl")
    trust.write_text('{"v":1}\n')
    trust.chmod(0o666)
    done = run("doctor", "--fix")
    assert (
        done.returncode == 1
        and trust.stat().st_mode & 0o777 == 0o666
        and "dayleaf ignores it" in done.stdout
    )
    trust.chmod(0o644)
    Path(place.home, "spend.jsonl").write_text("")
    os.chmod(place.home, 0o755)
    run("doctor", "--fix")
    assert trust.stat().st_mode & 0o777 == 0o600


def test_fix_in_a_new_home_makes_nothing(run, home):
    """There is nothing that --fix where nothing is."""
    assert run("doctor", "--fix").stdout.startswith("nothing that --fix")
    assert not Path(home, ".dayleaf", "cache").exists()
    assert run("doctor", "fix").returncode == 2
