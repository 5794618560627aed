"""Upkeep merges and archives what it said it would, takes it back, and loses nothing whenever it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import vault
from harness.hook import ROOT

from memory import archive, checks, clock, contradictions, files, journal, ledger, upkeep
from memory.store import Store

DAY = clock.DAY
SAME = "Quote every path that is given to the shell, since some hold a space."


@pytest.fixture
def store(place, now) -> Store:
    """The records of the project."""
    return Store(place, vault.settings(), now)


def checkpoint(place, now, days: float, name: str, body: str = "Worked on it.", **keys: str) -> str:
    """Write an automatic checkpoint of some days ago and return its name."""
    said = "p/checkpoints/%s/%s.md" % (clock.day(now - days * DAY), name)
    vault.put(place, said, "Checkpoint " + name, body, created=clock.iso(now - days * DAY), source="auto", **keys)
    return said


def recent(place, now, count: int = 12) -> None:
    """Write what was noted lately, so that the clock is believed."""
    for number in range(count):
        checkpoint(place, now, number, "recent%d" % number, "Something else happened, number %d." % number)


def twins(place, now, count: int = 1) -> None:
    """Write pairs of learnings that say the same."""
    for number in range(count):
        for side, tag in (("a", "shell"), ("b", "paths")):
            vault.put(place, "p/learnings/%s%d.md" % (side, number), "Quote paths %d" % number, SAME + " Case %d." % number, tag,
                      created=clock.iso(now - DAY), updated=clock.iso(now - DAY + (side == "b")))


def texts(place) -> dict[str, bytes]:
    """Every record in the store by its path, without the archive."""
    return {str(path): path.read_bytes() for _, root in place.tiers() for path in Path(root).rglob("*.md")
            if "/archive/" not in str(path)}


def planned(store, **more) -> list[tuple[str, str]]:
    """(id, id it goes into or "") of each change."""
    return [(c.record.id, c.kept.id if c.kept else "") for c in upkeep.plan(store, {}, **more).changes]


# ---- expiry


def test_old_automatic_checkpoints_expire(store, place, now):
    """Over 90 days and automatic; 90 days, a human's, and learnings stay."""
    recent(place, now)
    for days, name in ((91, "old"), (89.9, "young"), (90, "edge")):
        checkpoint(place, now, days, name)
    vault.put(place, "p/checkpoints/2026-01-01/mine.md", "Mine", "By hand", created="2026-01-01", source="human")
    vault.put(place, "p/learnings/l.md", "Old learning", "Stays", created="2020-01-01", source="auto")
    assert planned(store) == [("old", "")]
    store.config.values["upkeep.expireDays"] = 30
    assert {id for id, _ in planned(store)} == {"old", "young", "edge"}


@pytest.mark.parametrize("how", ["pinned", "link by id", "link by file", "wiki", "plan", "session", "handoff", "shared", "restored"])
def test_what_is_held_does_not_expire(store, place, now, how):
    """A pin, any link, the active plan's sessions, the handoff, the shared tier, a person's restore."""
    recent(place, now)
    name = checkpoint(place, now, 200, "held", **{"pinned": {"pinned": "true"}, "plan": {"plan": "plan1"},
                                                   "session": {"session": "s1"}}.get(how, {}))
    if how.startswith("link"):
        target = "held" if how == "link by id" else "held.md"
        vault.put(place, "p/learnings/l.md", "L", "x", links='[{relation: derived_from, target: %s}]' % target)
    elif how == "wiki":
        vault.put(place, "p/checkpoints/mine.md", "Linking", "As in [[Checkpoint held]].", source="human")
    elif how in ("plan", "session"):
        vault.put(place, "p/plans/plan1.md", "The plan", "- [ ] x")
        checkpoint(place, now, 1, "serving", "Served it.", session="s1", plan="plan1")
    elif how == "handoff":
        os.rename(place.path(name), place.path("p/checkpoints/handoff.md"))
    elif how == "shared":
        Path(place.path("s/checkpoints")).mkdir(parents=True)
        os.rename(place.path(name), place.path("s/checkpoints/held.md"))
    elif how == "restored":
        assert planned(store) == [("held", "")]
        store.archive(name, "expired")
        store.restore("held")
    assert planned(store) == []


def test_what_an_expired_one_links_to_stays(store, place, now, ok):
    """A second run finds nothing more: links count from the archive too."""
    recent(place, now)
    checkpoint(place, now, 200, "linking", links="[linked]")
    checkpoint(place, now, 200, "linked")
    upkeep.apply(store, {})
    assert [row["id"] for row in json.loads(ok("recall", "--json", "--kind", "checkpoint", "--limit", "50"))["hits"]].count("linked") == 1
    assert planned(store) == []


@pytest.mark.parametrize("jump", [3650, -30])
def test_a_clock_that_jumped_expires_nothing(place, now, run, jump):
    """Ten years ahead, a month back: one line says so, and --clock-is-right overrides."""
    recent(place, now)
    checkpoint(place, now, 50, "old")
    found = upkeep.plan(Store(place, vault.settings(), now + jump * DAY), {})
    assert not found.changes and found.doubt.startswith("the clock says ")
    forced = upkeep.plan(Store(place, vault.settings(), now + jump * DAY), {}, clock_is_right=True)
    assert len(forced.changes) == (13 if jump > 0 else 0)


def test_what_was_written_while_the_clock_was_wrong_hides_no_jump(place, now):
    """A few records of 2036 beside many of today: neither in 2036 nor back today does anything expire."""
    recent(place, now)
    for number in range(3):
        checkpoint(place, now + 3650 * DAY, number, "future%d" % number)
    for instant in (now, now + 3650 * DAY):
        assert planned(Store(place, vault.settings(), instant)) == []


# ---- merging, the way back


def test_a_merge_unites_and_leads_on(place, now, ok, run, store):
    """Tags, links and versions are united, the newer date stays, the other one is archived; its id leads to the kept one."""
    vault.put(place, "p/learnings/a.md", "Quote paths", SAME, "shell", versions="v1", created="2026-11-01", updated="2026-11-09",
              links="[{relation: related_to, target: c}]", pinned="true", source="agent")
    vault.put(place, "p/learnings/b.md", "Quote paths", SAME.lower(), "paths", versions="v2", created="2026-11-02", updated="2026-11-03")
    vault.put(place, "p/learnings/c.md", "Another", "Links here: [[a]].")
    said = ok("upkeep", "--apply")
    assert "into b, says the same" in said and "3 → 2 records (1 merged)" in said and "`dayleaf undo`" in said
    kept = store.find("b")
    assert (kept.tags, kept.versions, kept.pinned, clock.day(kept.updated)) == (("paths", "shell"), ("v2", "v1"), True, "2026-11-09")
    assert [tuple(link) for link in kept.links] == [("related_to", "c")] and kept.body.strip() == SAME.lower()
    shown = ok("show", "a")
    assert shown.startswith("Quote paths  b") and "a was merged into this; `dayleaf restore a`" in shown
    assert json.loads(ok("show", "a", "--json"))["merged"] == "a"
    assert "'a' was merged into b; use that" in run("forget", "a").stderr
    assert checks.everything(store)[1] == []
    assert "1 → " not in ok("upkeep", "--apply") and "nothing to do" in ok("upkeep")
    assert [hit["id"] for hit in json.loads(ok("recall", "quote path shell", "--json"))["hits"]] == ["b"]


def test_a_merged_record_comes_back_where_the_kept_one_is_gone_for_good(place, now, ok, run):
    """Show names the way, and the way works."""
    twins(place, now)
    ok("upkeep", "--apply")
    ok("forget", "--hard", "b0", "--yes")
    done = run("show", "a0")
    assert done.returncode == 1 and "'a0' was merged into b0, which is gone; `dayleaf restore a0` brings it back" in done.stderr
    ok("restore", "a0")
    assert ok("show", "a0").startswith("Quote paths 0  a0")


def test_undo_is_exact_and_goes_back_step_by_step(store, place, now, ok, run):
    """Every byte is as before; a second undo takes back the apply before; then nothing is left."""
    recent(place, now)
    before = texts(place)
    twins(place, now, 3)
    middle = texts(place)
    ok("upkeep", "--apply")
    checkpoint(place, now, 300, "old")
    later = {**texts(place)}
    upkeep.apply(store, {})
    assert len(texts(place)) == len(later) - 1
    assert "1 record brought back" in ok("undo")
    assert texts(place) == later
    assert "3 records brought back, 3 set back" in ok("undo")
    assert {k: v for k, v in texts(place).items() if "old" not in k} == middle and before.items() <= middle.items()
    assert "nothing to undo" in ok("undo")
    assert len(planned(store)) == 4


def test_undo_leaves_what_was_edited_since_and_does_the_rest(store, place, now, run):
    """One line for the edited record, status 1; the others are back, and the edit stands."""
    twins(place, now, 2)
    upkeep.apply(store, {})
    kept = Path(place.path("p/learnings/b0.md"))
    kept.write_text(kept.read_text() + "\nMore by hand.\n")
    done = run("undo")
    assert done.returncode == 1 and "b0: p/learnings/b0.md was edited since" in done.stderr and done.stderr.count("\n") == 1
    assert "2 records brought back, 1 set back; 1 not" in done.stdout
    assert "More by hand." in kept.read_text() and len(texts(place)) == 4


def test_an_archive_changed_by_hand_is_taken_as_it_is(store, place, now, run):
    """A deleted archived file is said, a taken place is kept, the rest comes back; a log of rubbish stops nothing."""
    twins(place, now, 3)
    upkeep.apply(store, {})
    root = Path(place.private, "archive")
    (root / "learnings/a0.md").unlink()
    vault.put(place, "p/learnings/a1.md", "In its place", "x")
    with (root / "log.jsonl").open("ab") as log:
        log.write(b'\xff{"id":1}\n[]\n{"v":9,"id":"a2","from":"../x","to":"archive/../../y"}\n{"id":"b0","from":"x","to":"archive/b0"}\n')
    done = run("undo")
    assert done.returncode == 1 and "a0: " in done.stderr and "a1.md: another file stands there" in done.stderr
    assert "In its place" in Path(place.path("p/learnings/a1.md")).read_text() and "p/learnings/a2.md" in {r.name for r in store.each()}


def test_a_rule_and_what_it_links_to_are_left(store, place, now):
    """What a rule links to is kept: the rule would stop to surface beside it."""
    twins(place, now)
    vault.put(place, "p/rules/r.md", "Rule", "x", rationale="y", links="[{relation: related_to, target: a0}]")
    assert planned(store) == [("b0", "a0")]
    vault.put(place, "p/rules/r2.md", "Rule", "x", rationale="y", links="[{relation: related_to, target: b0}]")
    assert planned(store) == []


def test_what_a_person_restored_is_not_merged_again(store, place, now, ok):
    """Neither into the other one nor the other one into it."""
    twins(place, now)
    ok("upkeep", "--apply")
    ok("restore", "a0")
    assert planned(store) == [] and len(texts(place)) == 2


def test_only_one_way(store, place, now, ok):
    """--only limits the plan and the apply."""
    recent(place, now)
    checkpoint(place, now, 300, "old")
    twins(place, now)
    assert planned(store, only="expiry") == [("old", "")] and planned(store, only="duplicates") == [("a0", "b0")]
    said = json.loads(ok("upkeep", "--apply", "--only", "duplicates", "--json"))
    assert (said["merged"], said["archived"], [row["id"] for row in said["changes"]]) == (1, 0, ["a0"])
    assert planned(store) == [("old", "")]


def test_a_record_that_stands_twice_is_left(store, place, now):
    """Of a copied file nobody knows which one an id means."""
    recent(place, now)
    twins(place, now)
    Path(place.path("p/learnings/copy.md")).write_bytes(Path(place.path("p/learnings/a0.md")).read_bytes())
    assert [c for c in planned(store) if c[0] == "a0"] == []


def test_what_changes_between_plan_and_apply_is_left(store, place, now, monkeypatch):
    """Each step rests on the bytes that were planned with."""
    twins(place, now, 2)
    find = upkeep.duplicates.find

    def edited(*given):
        found = find(*given)
        path = Path(place.path("p/learnings/a1.md"))
        path.write_text(path.read_text() + "new\n")
        return found

    monkeypatch.setattr(upkeep.duplicates, "find", edited)
    did = upkeep.apply(store, {})
    assert [c.record.id for c in did.changes] == ["a0"] and "a1 stays: p/learnings/a1.md: changed meanwhile" in did.problems[0]


def test_the_one_that_helped_more_stays_and_counts_for_both(store, place, now, ok):
    """Feedback decides who is kept; show and a later upkeep count both; an undo parts them again."""
    twins(place, now)
    for number, id in enumerate(("a0", "a0", "b0")):
        ok("feedback", id, "up", CLAUDE_CODE_SESSION_ID="s%d" % number)
    assert "into a0" in ok("upkeep", "--apply")
    shown = json.loads(ok("show", "b0", "--json"))
    assert (shown["id"], shown["merged"], shown["up"]) == ("a0", "b0", 3)
    (hit,) = json.loads(ok("recall", "quote", "--json", "--explain"))["hits"]
    assert (hit["id"], "3" in str(hit["why"]) + str(hit["parts"])) == ("a0", True)
    ok("undo")
    assert [json.loads(ok("show", id, "--json"))["up"] for id in ("a0", "b0")] == [2, 1]


def test_what_misled_is_pushed_with_its_mark_under_the_id_that_stands_for_it(store, place, now, ok):
    """The hooks' list follows a merge, its undo, a restore."""
    twins(place, now)
    listed = Path(place.misled()[0])
    ok("feedback", "a0", "down", CLAUDE_CODE_SESSION_ID="s1")
    assert listed.read_text() == "a0\n"
    ok("upkeep", "--apply")
    assert "b0" in listed.read_text().split()
    ok("undo")
    assert listed.read_text() == "a0\n"
    ok("upkeep", "--apply")
    ok("restore", "a0")
    assert listed.read_text() == "a0\n"


def test_a_repositorys_log_says_nothing_of_what_stands_or_is_the_users_own(store, place, now, ok):
    """A shared tombstone neither moves a private record's counts nor takes its mark, nor leads away from the user's archive."""
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
        archive.log(os.path.realpath(place.shared), archive.Move(id, "learnings/x.md", "archive/learnings/x.md", "evil"),
                    "merged", now, 0o600)
    assert "gone" not in archive.merged(place)
    (book, _) = ledger.ledgers(place)
    folds = ledger.followed(ledger.read(book), archive.merged(place), lambda id: id == "mine")
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
            assert (done.returncode, done.stdout) == (1, "") and "another upkeep is at work" in done.stderr
        assert run("upkeep").returncode == 0
    assert run("upkeep", "--apply").returncode == 0


def test_a_journal_of_a_newer_version_is_passed_over(store, place, now, run):
    """Nothing is done that could not be taken back, and the plan is still shown."""
    twins(place, now)
    Path(journal.path(place)).write_text('{"v":2,"run":"x","do":"merge"}\n')
    for words in (("upkeep", "--apply"), ("undo",)):
        done = run(*words)
        assert done.returncode == 1 and "newer dayleaf" in done.stderr and done.stderr.count("\n") == 1
    assert "1 merged" in run("upkeep").stdout and len(texts(place)) == 2


def test_a_torn_journal_is_read_as_far_as_it_goes(store, place, now):
    """A last line without its end counts as none, and the next one stands on a line of its own."""
    twins(place, now)
    upkeep.apply(store, {})
    with open(journal.path(place), "ab") as file:
        file.write(b'{"v":1,"run":"zz","do":"arch')
    vault.put(place, "p/learnings/c.md", "Quote paths 0", SAME + " Case 0.", created="2026-11-01", updated="2026-11-01")
    upkeep.apply(store, {})
    assert [len(run.steps) for run in journal.runs(place)] == [2, 1]
    lines = Path(journal.path(place)).read_bytes().split(b"\n")
    assert [b"torn" if line.endswith(b'"arch') else json.loads(line)["do"] for line in lines if line] == [
        "begin", "change", "archive", "done", b"torn", "begin", "archive", "done"]


def test_a_step_that_a_cut_run_wrote_twice_is_taken_back_once(store, place, now):
    """A process died between the journal's line and the move; the next one wrote the line again."""
    twins(place, now)
    before = texts(place)
    upkeep.apply(store, {})
    path = Path(journal.path(place))
    lines = path.read_bytes().splitlines(keepends=True)
    step = next(line for line in lines if b'"do":"archive"' in line)
    path.write_bytes(b"".join([*lines[:-1], step, lines[-1]]))
    done = upkeep.undo(store)
    assert not done.problems and len(done.restored) == 1 and texts(place) == before


def killed(env, project, words: list[str], after: float) -> None:
    """Run `dayleaf` and kill it after some seconds."""
    process = subprocess.Popen([sys.executable, "-I", str(ROOT / "memory"), *words], cwd=project, env=env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()


def bodies(place) -> set[str]:
    """What every record says, in the store or as `restore` would bring it back."""
    store = Store(place, vault.settings(), 0.0)
    return {r.body for r in store.each()} | {store.read(t + "/" + m.away).body for t, m in store.away().values()}


def test_killed_anywhere_nothing_is_lost(store, place, now, env, project, ok):
    """Applies and undos are killed at many instants; what was cut short goes on, and one undo brings all of it back."""
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
    """A child dies before its n-th write to the disk; the next apply ends the work, one undo brings every byte back."""
    twins(place, now)
    before = texts(place)
    child = os.fork()
    if child == 0:
        _die_before(at)
        upkeep.apply(store, {})
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (-signal.SIGKILL, 0)
    assert len(bodies(place)) == 1 and store.find("b0")
    upkeep.apply(store, {})
    assert planned(store) == [] and len(texts(place)) == 1
    assert upkeep.undo(store).problems == []
    assert texts(place) == before and journal.last(place) is None


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


def test_doctor_and_status_suggest_a_run_that_is_worth_it(place, now, ok, run):
    """From ten changes on, with the command; below that nothing is said."""
    twins(place, now, 9)
    assert "would merge" not in ok("status") and "not due (9 changes)" in run("doctor").stdout
    twins(place, now, 10)
    for said in (ok("status"), run("doctor").stdout):
        assert "would merge 10 and archive 0 of 20 records; `dayleaf upkeep` shows it" in said
    ok("upkeep", "--apply")
    assert "would merge" not in ok("status") + run("doctor").stdout


# ---- contradictions


def learning(place, name: str, body: str, **keys: str) -> None:
    """Write a learning without a title of its own."""
    vault.put(place, "p/learnings/%s.md" % name, body, body, **keys)


@pytest.mark.parametrize(("one", "other", "why"), [
    ("Use Redis for sessions, because it is fast", "Do not use Redis for sessions; it loses data", "one says no"),
    ("Avoid floats for prices", "Use floats for prices", "one says no"),
    ("The upload cache is enabled in staging", "The upload cache is disabled in staging", "one says no"),
    ("Run the migration before the deploy", "Run the migration after the deploy", "one says no"),
    ("The upload timeout of nginx is 30 s", "The upload timeout of nginx is 5 min", "another number"),
    ("Prefer ruff over flake8 here", "Prefer flake8 over ruff here", "one puts first"),
    ("세션에는 Redis를 사용한다", "세션에는 Redis를 사용하지 않는다", "one says no"),
])
def test_a_contradiction_is_found(store, place, one, other, why):
    """Two that cannot both hold are a pair, whoever stands first."""
    learning(place, "a", one, created="2026-10-01")
    learning(place, "b", other, created="2026-10-02")
    (pair,) = contradictions.pairs(store.each())
    assert (pair.older.record.id, pair.newer.record.id) == ("a", "b") and pair.why.startswith(why)


@pytest.mark.parametrize(("one", "other"), [
    ("The upload timeout of nginx is 30 s", "The upload timeout of nginx is 30000 ms"),
    ("The upload timeout of nginx is 30 s", "The download timeout of nginx is 60 s"),
    ("Use Redis for sessions", "Do not use Redis for the job queue of billing"),
    ("Step 1 of the release is the changelog", "Step 2 of the release is the changelog"),
    ("The bug is fixed in v2.1.0", "The bug is fixed in v2.2.0"),
    ("Use Redis for sessions", "Use Redis for sessions, never for locks"),
    ("Read src/auth/jwt.py first", "Do not read src/auth/keys.py first"),
    ("Don't use floats for prices", "Never use floats for prices"),
])
def test_two_that_both_hold_are_no_pair(store, place, one, other):
    """Another subject, the same said in another unit, an addition."""
    learning(place, "a", one)
    learning(place, "b", other)
    assert contradictions.pairs(store.each()) == []


def test_versions_and_links_settle_a_contradiction(store, place):
    """Versions without a common one hold side by side; a link says that somebody has decided."""
    learning(place, "a", "Use Redis for sessions", versions="v1")
    learning(place, "b", "Do not use Redis for sessions", versions="v2")
    assert contradictions.pairs(store.each()) == []
    learning(place, "b", "Do not use Redis for sessions")
    assert len(contradictions.pairs(store.each())) == 1
    learning(place, "b", "Do not use Redis for sessions", links="[{relation: related_to, target: a}]")
    assert contradictions.pairs(store.each()) == []


def test_contradictions_are_listed_with_the_ways_to_decide(place, ok, run):
    """Side by side, commands beside them, and nothing is changed."""
    learning(place, "a", "Use Redis for sessions")
    learning(place, "b", "Do not use Redis for sessions")
    before = texts(place)
    said = ok("upkeep", "--contradictions")
    assert "`dayleaf forget a` or `dayleaf forget b`" in said and "1 pair to decide on" in said
    assert {side["id"] for side in json.loads(ok("upkeep", "--contradictions", "--json"))["pairs"][0]["sides"]} == {"a", "b"}
    assert run("upkeep", "--contradictions", "--apply").returncode == 2 and texts(place) == before


def test_wrong_words_change_nothing(place, now, run):
    """Words, an unknown way, an option with a slip: status 2, one line, nothing done."""
    twins(place, now)
    for words in (("upkeep", "now"), ("upkeep", "--only", "dups"), ("upkeep", "--aply"), ("undo", "b0")):
        done = run(*words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and len(texts(place)) == 2


def test_a_record_that_stands_keeps_its_own_counts(store, place, now, ok):
    """A merged record that was restored, or that a foreign log calls merged, is no longer counted for the other one."""
    twins(place, now)
    ok("index", "build")
    ok("feedback", "a0", "up")
    upkeep.apply(store, {})
    assert "up 1" in ok("show", "b0")
    ok("restore", "a0")
    Path(place.private, "archive", "old.md").write_text("x")
    with open(Path(place.private, "archive", "log.jsonl"), "ab") as file:
        file.write(b'{"v":1,"t":"2026-11-21T14:30:52Z","id":"a0","from":"learnings/x.md","to":"archive/old.md","reason":"x","into":"b0"}\n')
    assert "up 1" not in ok("show", "b0") and "up 1" in ok("show", "a0")
