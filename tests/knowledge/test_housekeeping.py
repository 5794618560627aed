"""Upkeep merges and archives what it said it would, takes it back, and loses nothing whenever it is
killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import command, vault
from harness.expiring import checkpoint, planned, recent
from harness.hook import ROOT
from harness.pairs import SAME, texts, twins

from memory.core import clock, files
from memory.health import recordfaults
from memory.knowledge import duplicates, housekeeping
from memory.store import archive, journal, ledger
from memory.store.store import Store


@pytest.fixture
def store(place, now) -> Store:
    """The records of the project."""
    return Store(place, vault.settings(), now)


# ---- merging, the way back


def test_a_merge_unites_and_leads_on(place, now, ok, run, store):
    """Tags, links and versions are united, the newer date stays, the other one is archived; its id
    leads to the kept one.
    """
    vault.put(
        place,
        "p/learnings/a.md",
        "Quote paths",
        SAME,
        "shell",
        versions="v1",
        created="2026-11-01",
        updated="2026-11-09",
        links="[{relation: related_to, target: c}]",
        pinned="true",
        source="agent",
    )
    vault.put(
        place,
        "p/learnings/b.md",
        "Quote paths",
        SAME.lower(),
        "paths",
        versions="v2",
        created="2026-11-02",
        updated="2026-11-03",
    )
    vault.put(place, "p/learnings/c.md", "Another", "Links here: [[a]].")
    said = ok("upkeep", "--apply")
    assert (
        "same words as b" in said
        and "3 → 2 records (1 merged)" in said
        and "`dayleaf store undo`" in said
    )
    kept = store.find("b")
    assert (kept.tags, kept.versions, kept.pinned, clock.day(kept.updated)) == (
        ("paths", "shell"),
        ("v2", "v1"),
        True,
        "2026-11-09",
    )
    assert [tuple(link) for link in kept.links] == [
        ("related_to", "c")
    ] and kept.body.strip() == SAME.lower()
    shown = ok("show", "a")
    assert (
        shown.startswith("Quote paths  b")
        and "a was merged into this record; `dayleaf store restore a`" in shown
    )
    assert json.loads(ok("show", "a", "--json"))["merged"] == "a"
    assert "'a' was merged into b; use that" in run("forget", "a").stderr
    assert recordfaults.check_all(store)[1] == []
    assert "1 → " not in ok("upkeep", "--apply") and "nothing to do" in ok("upkeep")
    assert [
        hit["id"] for hit in json.loads(ok("recall", "quote path shell", "--json"))["hits"]
    ] == ["b"]


def test_undo_is_exact_and_goes_back_step_by_step(store, place, now, ok, run):
    """Every byte is as before; a second undo takes back the apply before; then nothing is left."""
    recent(place, now)
    before = texts(place)
    twins(place, now, 3)
    middle = texts(place)
    ok("upkeep", "--apply")
    checkpoint(place, now, 300, "old")
    later = {**texts(place)}
    housekeeping.apply(store, {})
    assert len(texts(place)) == len(later) - 1
    assert "1 record left the archive" in ok("undo")
    assert texts(place) == later
    assert "3 records left the archive, 3 got" in ok("undo")
    assert {
        k: v for k, v in texts(place).items() if "old" not in k
    } == middle and before.items() <= middle.items()
    assert "nothing to undo" in ok("undo")
    assert len(planned(store)) == 4


def test_undo_leaves_what_was_edited_since_and_does_the_rest(store, place, now, run):
    """One line for the edited record, status 1; the others are back, and the edit stands."""
    twins(place, now, 2)
    housekeeping.apply(store, {})
    kept = Path(place.path("p/learnings/b0.md"))
    kept.write_text(kept.read_text() + "\nMore by hand.\n")
    done = run("undo")
    assert (
        done.returncode == 1
        and "b0: p/learnings/b0.md was edited since" in done.stderr
        and done.stderr.count("\n") == 1
    )
    assert "2 records left the archive, 1 got the old text back; 1 could not" in done.stdout
    assert "More by hand." in kept.read_text() and len(texts(place)) == 4


def test_an_archive_changed_by_hand_is_taken_as_it_is(store, place, now, run):
    """A deleted archived file is said, a taken place is kept, the rest comes back; a log of rubbish
    stops nothing.
    """
    twins(place, now, 3)
    housekeeping.apply(store, {})
    root = Path(place.private, "archive")
    (root / "learnings/a0.md").unlink()
    vault.put(place, "p/learnings/a1.md", "In its place", "x")
    with (root / "log.jsonl").open("ab") as log:
        log.write(
            b'\xff{"id":1}\n[]\n{"v":9,"id":"a2","from":"../x","to":"archive/../../y"}\n'
            b'{"id":"b0","from":"x","to":"archive/b0"}\n'
        )
    done = run("undo")
    assert (
        done.returncode == 1
        and "a0: " in done.stderr
        and "a1.md: another file is there" in done.stderr
    )
    assert "In its place" in Path(
        place.path("p/learnings/a1.md")
    ).read_text() and "p/learnings/a2.md" in {r.name for r in store.each()}


def test_a_rule_and_what_it_links_to_are_left(store, place, now):
    """What a rule links to is kept: the rule would stop to surface beside it."""
    twins(place, now)
    vault.put(
        place,
        "p/rules/r.md",
        "Rule",
        "x",
        rationale="y",
        links="[{relation: related_to, target: a0}]",
    )
    assert planned(store) == [("b0", "a0")]
    vault.put(
        place,
        "p/rules/r2.md",
        "Rule",
        "x",
        rationale="y",
        links="[{relation: related_to, target: b0}]",
    )
    assert planned(store) == []


def test_what_is_linked_by_its_files_name_is_the_one_that_stays(store, place, now):
    """A link by another word than the id would lead nowhere after the merge."""
    twins(place, now)
    assert planned(store) == [("a0", "b0")]
    vault.put(
        place,
        "p/learnings/l.md",
        "Linking",
        "Something else.",
        links="[{relation: related_to, target: a0.md}]",
    )
    assert planned(store) == [("b0", "a0")]


def test_what_a_person_restored_is_not_merged_again(store, place, now, ok):
    """Neither into the other one nor the other one into it."""
    twins(place, now)
    ok("upkeep", "--apply")
    ok("restore", "a0")
    assert planned(store) == [] and len(texts(place)) == 2


def test_only_one_way(store, place, now):
    """The plan for the page and the audit finds duplicates alone."""
    recent(place, now)
    checkpoint(place, now, 300, "old")
    twins(place, now)
    assert [
        (one.record.id, one.kept.id)
        for one in housekeeping.plan_merges(store, list(store.each()), {})
    ] == [("a0", "b0")]


def test_a_record_that_stands_twice_is_left(store, place, now):
    """Of a copied file nobody knows which one an id means."""
    recent(place, now)
    twins(place, now)
    Path(place.path("p/learnings/copy.md")).write_bytes(
        Path(place.path("p/learnings/a0.md")).read_bytes()
    )
    assert [c for c in planned(store) if c[0] == "a0"] == []


def test_what_changes_between_plan_and_apply_is_left(store, place, now, monkeypatch):
    """Each step rests on the bytes that were planned with."""
    twins(place, now, 2)
    find = duplicates.find_duplicates

    def edited(*given):
        found = find(*given)
        path = Path(place.path("p/learnings/a1.md"))
        path.write_text(path.read_text() + "new\n")
        return found

    monkeypatch.setattr(duplicates, "find_duplicates", edited)
    did = housekeeping.apply(store, {})
    assert [c.record.id for c in did.changes] == [
        "a0"
    ] and "a1 stays: p/learnings/a1.md has changed meanwhile" in did.problems[0]


def test_a_repositorys_log_says_nothing_of_what_stands_or_is_the_users_own(store, place, now, ok):
    """A shared tombstone neither moves a private record's counts nor takes its mark, nor leads away
    from the user's archive.
    """
    vault.put(place, "p/learnings/mine.md", "Note mine", "Zebra crossings are private.")
    vault.put(place, "p/learnings/gone.md", "Note gone", "Yaks are shaved.")
    vault.put(place, "s/learnings/evil.md", "Note evil", "Zebra crossings are evil.")
    for word, id in (("up", "mine"), ("down", "gone")):
        ok("feedback", id, word, CLAUDE_CODE_SESSION_ID="s1")
    ok("forget", "gone")
    away = Path(place.shared, "archive/learnings")
    away.mkdir(parents=True)
    (away / "x.md").write_text("x\n", encoding="utf-8")
    for id in ("mine", "gone"):
        archive.log(
            os.path.realpath(place.shared),
            archive.Move(id, "learnings/x.md", "archive/learnings/x.md", "evil"),
            "merged",
            now,
            0o600,
        )
    assert "gone" not in archive.successors_in_place(place)
    (book, _) = ledger.ledgers(place)
    folds = ledger.add_to_successors(
        ledger.read(book), archive.successors_in_place(place), lambda id: id == "mine"
    )
    assert (folds.counts("mine").up, folds.counts("evil").up) == (1, 0)
    hits = json.loads(ok("recall", "zebra crossings", "--json", "--explain"))["hits"]
    assert hits[0]["id"] == "mine"
    ok("feedback", "mine", "down", CLAUDE_CODE_SESSION_ID="s2")
    ok("feedback", "mine", "down", CLAUDE_CODE_SESSION_ID="s3")
    assert "mine" in Path(place.misled()[0]).read_text().split()


# ---- two at once, killed, of a newer version


def test_two_at_once(store, place, now, run):
    """One works, the other says so and exits 1."""
    twins(place, now)
    with files.Lock(place.home + "/cache/upkeep.lock"):
        for words in (("upkeep", "--apply"), ("undo",)):
            done = run(*words)
            assert (done.returncode, done.stdout) == (
                1,
                "",
            ) and "another upkeep is running" in done.stderr
        assert run("upkeep").returncode == 0
    assert run("upkeep", "--apply").returncode == 0


def test_a_journal_of_a_newer_version_is_passed_over(store, place, now, run):
    """Nothing is done that could not be taken back, and the plan is still shown."""
    twins(place, now)
    Path(journal.path(place)).write_text('{"v":2,"run":"x","do":"merge"}\n')
    for words in (("upkeep", "--apply"), ("undo",)):
        done = run(*words)
        assert (
            done.returncode == 1 and "newer dayleaf" in done.stderr and done.stderr.count("\n") == 1
        )
    assert "1 merged" in run("upkeep").stdout and len(texts(place)) == 2


def test_a_torn_journal_is_read_as_far_as_it_goes(store, place, now):
    """A last line without its end counts as none, and the next one stands on a line of its own."""
    twins(place, now)
    housekeeping.apply(store, {})
    with open(journal.path(place), "ab") as file:
        file.write(b'{"v":1,"run":"zz","do":"arch')
    vault.put(
        place,
        "p/learnings/c.md",
        "Quote paths 0",
        SAME + " Case 0.",
        created="2026-11-01",
        updated="2026-11-01",
    )
    housekeeping.apply(store, {})
    assert [len(run.steps) for run in journal.read_runs(place)] == [2, 1]
    lines = Path(journal.path(place)).read_bytes().split(b"\n")
    assert [
        b"torn" if line.endswith(b'"arch') else json.loads(line)["do"] for line in lines if line
    ] == ["begin", "change", "archive", "done", b"torn", "begin", "archive", "done"]


def test_a_step_that_a_cut_run_wrote_twice_is_taken_back_once(store, place, now):
    """A process died between the journal's line and the move; the next one wrote the line again."""
    twins(place, now)
    before = texts(place)
    housekeeping.apply(store, {})
    path = Path(journal.path(place))
    lines = path.read_bytes().splitlines(keepends=True)
    step = next(line for line in lines if b'"do":"archive"' in line)
    path.write_bytes(b"".join([*lines[:-1], step, lines[-1]]))
    done = housekeeping.undo(store)
    assert not done.problems and len(done.restored) == 1 and texts(place) == before


def killed(env, project, words: list[str], after: float) -> None:
    """Run `dayleaf` and kill it after some seconds."""
    process = subprocess.Popen(
        [sys.executable, "-I", str(ROOT / "memory"), *command.spelled(words)],
        cwd=project,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()


def bodies(place) -> set[str]:
    """What every record says, in the store or as `restore` would bring it back."""
    store = Store(place, vault.settings(), 0.0)
    return {r.body for r in store.each()} | {
        store.read(t + "/" + m.away).body for t, m in store.away().values()
    }


def test_killed_anywhere_nothing_is_lost(store, place, now, env, project, ok):
    """Applies and undos are killed at many instants; what was cut short goes on, and one undo
    brings all of it back.
    """
    twins(place, now, 40)
    ok("index", "build")
    before, said = texts(place), bodies(place)
    start = time.monotonic()
    ok("upkeep")
    base = time.monotonic() - start
    for number in range(10):
        killed(env, project, ["upkeep", "--apply"], base * (0.6 + 0.08 * number))
        assert bodies(place) >= said
        if number % 4 == 3:
            killed(env, project, ["undo"], base * (0.6 + 0.05 * number))
            assert bodies(place) >= said
    ok("upkeep", "--apply")
    assert planned(store) == [] and len(texts(place)) == 40
    while "nothing to undo" not in ok("undo"):
        assert bodies(place) >= said
    assert texts(place) == before


@pytest.mark.parametrize("at", range(1, 9))
def test_a_process_that_dies_before_any_write_goes_on(store, place, now, at):
    """A child dies before its n-th write to the disk; the next apply ends the work, one undo brings
    every byte back.
    """
    twins(place, now)
    before = texts(place)
    child = os.fork()
    if child == 0:
        _die_before(at)
        housekeeping.apply(store, {})
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (-signal.SIGKILL, 0)
    assert len(bodies(place)) == 1 and store.find("b0")
    housekeeping.apply(store, {})
    assert planned(store) == [] and len(texts(place)) == 1
    assert housekeeping.undo(store).problems == []
    assert texts(place) == before and journal.find_last_run(place) is None


def _die_before(number: int) -> None:
    """Kill this process before its n-th step of a write: append, replace, link, unlink."""
    left = [number]

    def counted(call):
        def through(*given, **more):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **more)

        return through

    files.append, files.replace = counted(files.append), counted(files.replace)
    archive.os.link, archive.os.unlink = counted(os.link), counted(os.unlink)


# ---- contradictions


def test_a_record_that_stands_keeps_its_own_counts(store, place, now, ok):
    """A merged record that was restored, or that a foreign log calls merged, is no longer counted
    for the other one.
    """
    twins(place, now)
    ok("index", "build")
    ok("feedback", "a0", "up")
    housekeeping.apply(store, {})
    assert "up 1" in ok("show", "b0")
    ok("restore", "a0")
    Path(place.private, "archive", "old.md").write_text("x")
    with open(Path(place.private, "archive", "log.jsonl"), "ab") as file:
        file.write(
            b'{"v":1,"t":"2026-11-21T14:30:52Z","id":"a0","from":"learnings/x.md","to":"archive/'
            b'old.md","reason":"x","into":"b0"}\n'
        )
    assert "up 1" not in ok("show", "b0") and "up 1" in ok("show", "a0")


def test_a_move_behind_a_torn_line_is_found(store, place, now):
    """A writer that was killed left the archive's log without its last line's end: the next move
    has a line of its own.
    """
    twins(place, now)
    store.archive("p/learnings/a0.md", "x")
    with open(Path(place.private, "archive", "log.jsonl"), "ab") as file:
        file.write(b'{"v":1,"t":"2026-')
    store.archive("p/learnings/b0.md", "x")
    assert set(store.away()) == {"a0", "b0"} and store.restore("b0").id == "b0"


def test_tombstones_of_two_tiers_that_point_at_one_another_lead_nowhere(store, place, now, ok):
    """One half of the circle came with a repository: what links there dangles, and nothing runs
    forever.
    """
    for tier, id, into in (("p", "l-aa", "l-bb"), ("s", "l-bb", "l-aa")):
        folder = Path(place.path(tier + "/archive/learnings"))
        folder.mkdir(parents=True)
        (folder / (id + ".md")).write_text("x\n")
        (folder.parent / "log.jsonl").write_text(
            json.dumps(
                {
                    "v": 1,
                    "t": "2026-11-21T14:30:52Z",
                    "id": id,
                    "from": "learnings/%s.md" % id,
                    "to": "archive/learnings/%s.md" % id,
                    "reason": "x",
                    "into": into,
                }
            )
            + "\n"
        )
    vault.put(place, "p/learnings/l.md", "Zebra", "x", links="[related_to: l-aa]")
    assert archive.successors_in_place(place) == {}
    assert "Zebra" in ok("recall", "zebra") and "l-aa" in ok("graph")


def test_feedback_counts_what_was_merged_in(store, place, now, ok):
    """What was said of the merged record is said of the one that stands for it, in feedback as in
    show.
    """
    twins(place, now)
    ok("index", "build")
    ok("feedback", "a0", "down")
    ok("feedback", "a0", "down")
    housekeeping.apply(store, {})
    said = json.loads(ok("feedback", "b0", "up", "--json"))
    assert (said["up"], said["down"], said["misled"]) == (1, 2, True)
    assert "up 1, down 2" in ok("show", "b0")
