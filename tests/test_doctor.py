"""doctor: each fault it is to find is made, and found with its remedy; then it is mended, and the verdict is OK."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from memory import attempts, checkup, clock, config, doctor, files, indexer, journal, receipts, terminal
from memory.doctor import FAIL, OK, WARN
from memory.store import Store


@pytest.fixture
def examine(place, env, now):
    """Run every check and return the verdicts on one subject as (verdict, found, remedy)."""
    def run(what, **more):
        settings = config.load(place.home, place.root, env)
        return [(c.verdict, c.found, c.remedy) for c in doctor.examine(place, settings, {**env, **more}, now) if c.what == what]
    return run


@pytest.fixture
def record(place, env, now):
    """A learning, in the index."""
    made = Store(place, config.load(place.home, place.root, env), now).add("learning", "A title", "A body.\n")
    indexer.build(place, now)
    return made


def worst(checks):
    """Return the worst verdict of some checks."""
    return max((check[0] for check in checks), key=(OK, WARN, FAIL).index)


def test_a_new_home_is_no_fault(examine):
    """Nothing written yet is fine, in every check that only looks at what is written."""
    for what in ("home", "config", "records", "log", "ledgers", "temps", "shared"):
        assert worst(examine(what)) == OK, what
    assert worst(examine("index")) == WARN


@pytest.mark.parametrize(("mode", "verdict"), [(0o700, OK), (0o755, WARN), (0o777, FAIL), (0o720, FAIL)])
def test_permissions_of_the_home(examine, record, place, mode, verdict):
    """Others may not write; what they may read is a warning where they get that far."""
    Path(place.path(record.name)).chmod(0o644)
    os.chmod(place.home, mode)
    assert worst(examine("home")) == verdict
    os.chmod(place.home, 0o700)


def test_a_home_of_another_user(examine, record, place, monkeypatch):
    """Another user's directory is refused."""
    other = os.stat(place.home).st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert examine("home")[0][0] == FAIL


def test_a_missing_runtime_and_its_packages(examine, place, tmp_path):
    """Without the runtime this interpreter is asked; a runtime that lacks packages is named with their effects."""
    assert examine("python")[0][0] == WARN and "install.sh" in examine("python")[0][2]
    python = Path(place.home, "runtime", "bin", "python")
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho '{\"\": \"3.12.1\", \"yaml\": \"6.0\"}'\n")
    python.chmod(0o755)
    checks = examine("python")
    assert checks[0][:2] == (OK, "%s, Python 3.12.1" % python) and checks[1][:2] == (OK, "PyYAML 6.0")
    assert [check[0] for check in checks[2:]] == [WARN, WARN] and "misspelt words" in checks[2][1]


def test_settings_with_faults(examine, place):
    """Each problem of a settings file is a line with its remedy."""
    Path(place.home).mkdir(parents=True, exist_ok=True)
    Path(place.home, "config.json").write_text('{"load.topp": 1, "load.enabled": false}')
    checks = examine("config")
    assert [check[0] for check in checks] == [WARN, WARN]
    assert "unknown key 'load.topp'" in checks[0][1] and "config list" in checks[0][2]
    assert checks[1][1] == "pushes: off everywhere" and "config unset load.enabled" in checks[1][2]


def test_a_value_that_is_the_default_is_no_difference(examine, place):
    """Values are compared, not where they come from."""
    Path(place.home).mkdir(parents=True, exist_ok=True)
    Path(place.home, "config.json").write_text('{"load.top": 6}')
    assert examine("config") == [(OK, "all defaults", "")]
    Path(place.home, "config.json").write_text('{"load.top": 5}')
    assert examine("config") == [(OK, "1 setting not as by default", "")]


def test_a_session_whose_pushes_are_off_is_named(examine, place):
    """With what switches them on again."""
    receipts.write(place.receipts("aaaa1111"), {"v": 1, "event": "start"})
    assert worst(examine("config")) == OK
    receipts.write(place.receipts("aaaa1111"), {"v": 1, "event": "off"})
    assert examine("config")[1:] == [(WARN, "pushes: off in session aaaa1111", "`dayleaf on` switches them on")]


def test_files_that_cannot_be_read_are_named_with_line_and_remedy(examine, record, place):
    """Skipped files, faulty keys and double ids each get their line."""
    folder = Path(place.folder("p", "learning"))
    (folder / "utf16.md").write_bytes("café\n".encode("utf-16"))
    (folder / "faulty.md").write_text("---\ncreated: someday\n---\nx\n")
    (folder / "twin.md").write_text("---\nid: %s\n---\nx\n" % record.id)
    checks = examine("records")
    assert checks[0][:2] == (WARN, "3 records readable, 1 skipped")
    said = "\n".join("%s; %s" % check[1:] for check in checks)
    assert "utf16.md:1: not UTF-8 text; save it as UTF-8" in said
    assert "faulty.md: line 1: created 'someday' is no date; write it as" in said
    assert "the id %s stands in " % record.id in said and "twin.md" in said
    for name in ("utf16.md", "faulty.md", "twin.md"):
        (folder / name).unlink()
    assert worst(examine("records")) == OK


def test_an_index_that_is_missing_stale_or_damaged(examine, record, place):
    """Fresh is OK; behind is a warning; bytes that nobody wrote are a failure."""
    (path,) = Path(place.cache).glob("*.seg")
    assert worst(examine("index")) == OK
    added = Path(place.folder("p", "learning"), "new.md")
    added.write_text("x\n")
    assert examine("index") == [(WARN, "behind the files: 1 added", "`dayleaf index refresh`")]
    added.unlink()
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    assert worst(examine("index")) == FAIL
    path.write_bytes(data[:100])
    assert worst(examine("index")) == FAIL
    path.unlink()
    assert examine("index")[0][0] == WARN


def test_failures_of_hooks_and_faults_of_our_own(examine, place):
    """Recent lines of the log and kept traces are shown, old ones are not."""
    log = Path(place.home, "log")
    log.mkdir(parents=True)
    row = {"v": 1, "t": "2026-11-20T10:00:00Z", "where": "prompt", "error": "OSError", "detail": "No space left",
           "at": "files.py:3"}
    (log / "errors.jsonl").write_text(json.dumps(row) + "\ntorn")
    (verdict, found, _), = examine("log")
    assert verdict == WARN and "1 failure" in found and "prompt OSError No space left files.py:3" in found
    (log / "errors.jsonl").write_text(json.dumps({**row, "t": "2026-01-01T10:00:00Z"}) + "\n")
    assert worst(examine("log")) == OK
    (log / "bug-2026-11-20T100000Z.txt").write_text("trace")
    assert "bug-2026-11-20T100000Z.txt" in examine("log")[1][1]


SETTINGS = [
    (None, WARN, "is not there"), ("{broken", WARN, "cannot be read"), ("{}", WARN, "does not name dayleaf"),
    ('{"enabledPlugins": {"dayleaf@dayleaf": true}}', OK, "dayleaf@dayleaf is enabled"),
    ('{"enabledPlugins": {"dayleaf@dayleaf": false}}', WARN, "is switched off"),
    ('{"enabledPlugins": {"dayleaf@dayleaf": true}, "disableAllHooks": true}', WARN, "disableAllHooks"),
    ('{"enabledPlugins": ["dayleaf"]}', WARN, "does not name dayleaf"), ("[]", WARN, "does not name dayleaf"),
]


@pytest.mark.parametrize(("content", "verdict", "said"), SETTINGS, ids=[str(row[0]) for row in SETTINGS])
def test_registration_with_the_client(examine, tmp_path, content, verdict, said):
    """The client's settings say whether the plugin runs."""
    if content is not None:
        (tmp_path / "settings.json").write_text(content)
    ((found, text, _),) = examine("hooks", CLAUDE_CONFIG_DIR=str(tmp_path))
    assert found == verdict and said in text


def test_programs_on_the_path(examine, tmp_path):
    """Models and the command are looked for on PATH; another copy's command is named."""
    for name in ("claude", "dayleaf"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert [check[0] for check in examine("models", PATH="/nonexistent")] == [WARN, OK]
    assert examine("models", PATH=str(tmp_path))[0] == (OK, "claude: %s/claude" % tmp_path, "")
    assert "not on PATH" in examine("command", PATH="/nonexistent")[0][1]
    assert "not of this copy" in examine("command", PATH=str(tmp_path))[0][1]
    own = str(Path(doctor.__file__).parents[1] / "bin")
    assert examine("command", PATH=own) == [(OK, own + "/dayleaf", "")]


def test_ledgers_that_others_may_write_or_that_are_torn(examine, place):
    """An open ledger of approvals counts for nothing: a failure."""
    Path(place.home).mkdir(parents=True, exist_ok=True)
    trust = Path(place.home, "trust.jsonl")
    trust.write_text('{"v":1}\nnot json\n')
    trust.chmod(0o600)
    assert examine("ledgers")[0][0] == WARN and "1 line that cannot be read" in examine("ledgers")[0][1].replace("has ", "")
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


def test_the_shared_tier_is_committed(examine, place, env, project):
    """Shared records that git does not have are shared with nobody."""
    folder = Path(place.folder("s", "learning"))
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("x\n")
    assert examine("shared")[0][:2] == (WARN, "0 of 1 record in %s are in git" % place.shared)
    subprocess.run(["git", "-C", project, "add", ".dayleaf"], env=env, check=True)
    assert examine("shared")[0][0] == OK


def test_a_repositorys_settings_run_nothing(examine, place, env, project, tmp_path):
    """git is asked with its hooks and its file watcher off."""
    folder = Path(place.folder("s", "learning"))
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("x\n")
    ran = tmp_path / "ran"
    subprocess.run(["git", "-C", project, "config", "core.fsmonitor", "touch '%s'; false" % ran], env=env, check=True)
    examine("shared")
    assert not ran.exists()


def test_a_check_that_fails_is_a_verdict(examine, monkeypatch):
    """One broken check does not hide the others."""
    monkeypatch.setattr(checkup, "index", lambda place: 1 / 0)
    assert examine("index")[0][:2] == (WARN, "could not be checked (ZeroDivisionError: division by zero)")
    assert examine("records")


def test_verdicts_are_one_a_line_and_summed_up():
    """The lines align, and the last one counts."""
    said = doctor.lines([doctor.Check(OK, "home", "x"), doctor.Check(FAIL, "index", "damaged", "build it")], terminal.Style())
    assert said == ["OK    home      x", "FAIL  index     damaged; build it", "", "1 OK, 0 WARN, 1 FAIL"]


# ---- what happened

def test_an_upkeep_that_was_cut_short_and_a_newer_journal(examine, record, place, now):
    """Each with its way on; no journal is no line."""
    assert examine("journal") == []
    journal.begin(place, now)
    assert examine("journal")[0][0] == WARN and "dayleaf undo" in examine("journal")[0][2]
    journal.mark(place, journal.cut(place), "done", now)
    assert examine("journal") == [(OK, "1 run of upkeep", "")]
    files.append_line(journal.path(place), '{"v":9,"run":"x","do":"begin"}')
    assert examine("journal")[0][0] == FAIL


def test_a_capture_that_was_cut_short(examine, record, place, now):
    """Until its session is written down or the user has heard; a capture that came to its end is none."""
    attempts.end(place, attempts.begin(place, "fine", "stop", now), "stop", "", now, now)
    assert examine("captures") == [(OK, "every session that ended here is written down", "")]
    files.append_line(attempts.path_of(place), json.dumps({
        "v": 1, "t": clock.iso(now), "do": "asked", "run": "99999999.1", "session": "cut", "trigger": "stop"}))
    assert examine("captures")[0][:2] == (WARN, "the capture of %s (session cut) was cut short" % clock.iso(now))
    attempts.say(place, ["99999999.1"], now)
    assert worst(examine("captures")) == OK


def test_a_session_that_nobody_wrote_down(examine, record, place, env, now):
    """Its transcript holds more than was read."""
    path = Path(env["HOME"], ".claude", "projects", "-w", "lost.jsonl")
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    os.utime(path, (now - 600, now - 600))
    receipts.write(place.receipts("lost"), {"v": 1, "event": "start", "transcript": str(path)})
    assert examine("captures")[0][:2] == (WARN, "1 session wrote less than happened, such as lost")


def test_a_full_disk_a_wrong_clock_and_an_old_handoff(examine, record, place, env, now, monkeypatch, ok):
    """What makes the next capture fail, nothing expire, and every session begin with an old note."""
    assert [worst(examine(what)) for what in ("disk", "clock")] == [OK, OK] and examine("handoff") == []
    real = os.statvfs(place.home)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=20, f_frsize=1 << 20))
    assert examine("disk")[0][0] == FAIL and "20 MB free" in examine("disk")[0][1]
    monkeypatch.setattr(os, "statvfs", lambda path: real)
    found = list(Store(place, config.load(place.home, place.root, env), now).each())
    assert next(checkup.clock_of(found, now + 900 * clock.DAY)).verdict == WARN
    ok("handoff", "go on with the parser")
    (late,) = checkup.handed(place, clock.now() + 30 * clock.DAY)
    assert late.verdict == WARN and "--clear" in late.remedy and next(checkup.handed(place, clock.now())).verdict == OK


# ---- --fix

def bytes_of(place):
    """Return the bytes of every record and ledger."""
    return {p: p.read_bytes() for p in Path(place.home).rglob("*") if p.is_file() and p.suffix in (".md", ".jsonl")}


def test_fix_mends_what_is_safe_and_a_second_run_finds_nothing(record, place, ok, run, now):
    """Permissions, a torn last line, leftovers, a dead cache, a stale index; each fix is printed and no record touched."""
    os.chmod(place.home, 0o755)
    Path(place.path(record.name)).chmod(0o664)
    book = Path(place.private, "ledger.jsonl")
    book.write_text('{"v":1,"t":"2026-11-2')
    temp = Path(place.folder("p", "learning"), ".dayleaf-99999999-0")
    dead = Path(place.home, "cache", "gone-12345678")
    dead.mkdir(parents=True)
    old = Path(place.cache, "x.seg.damaged")
    for path in (temp, old, dead / "x.seg"):
        path.write_text("x")
    for path in (temp, old, dead / "x.seg", dead):
        os.utime(path, (1, 1))
    Path(place.folder("p", "learning"), "new.md").write_text("A note of today.\n")
    before = bytes_of(place)
    said = run("doctor", "--fix").stdout
    for line in ("closed %s to others (0700, it was 0755)" % place.home, "ended the torn last line of %s" % book,
                 "deleted 2 leftovers of killed writers", "deleted %s, the cache of" % dead, "refreshed the index: 2 records"):
        assert line in said, (line, said)
    assert not temp.exists() and not old.exists() and not dead.exists()
    assert os.stat(place.home).st_mode & 0o777 == 0o700 and os.stat(place.path(record.name)).st_mode & 0o777 == 0o600
    assert {path: data + b"\n" * (path == book) for path, data in before.items()} == bytes_of(place)
    assert run("doctor", "--fix").stdout.startswith("nothing to mend")
    assert json.loads(run("doctor", "--fix", "--json").stdout)["fixed"] == []


@pytest.mark.parametrize("how", ["damaged", "flipped", "missing"])
def test_fix_builds_an_index_that_is_missing_or_damaged(record, place, run, how):
    """From the files, and recall finds again through it."""
    (path,) = Path(place.cache).glob("*.seg")
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.unlink() if how == "missing" else path.write_bytes(data if how == "flipped" else data[:100])
    done = run("doctor", "--fix")
    assert "built the index: 1 record" in done.stdout and "OK    index" in done.stdout


def test_fix_leaves_what_may_still_be_wanted(record, place, run, env, tmp_path):
    """A young temporary file, one whose writer lives, the cache of a workspace with notes or receipts, a young cache."""
    folder = Path(place.folder("p", "learning"))
    kept = [folder / ".dayleaf-99999999-1", folder / (".dayleaf-%d-0" % os.getpid()), Path(place.home, "cache", "young-12345678", "x"),
            Path(place.home, "cache", "noted-12345678", "x"), Path(place.home, "cache", "logged-12345678", "x")]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    for name in ("workspaces/noted-12345678", "log/receipts/logged-12345678"):
        Path(place.home, name).mkdir(parents=True)
    for path in kept[1:2] + kept[3:]:
        os.utime(path, (1, 1))
        if path.parent != folder:
            os.utime(path.parent, (1, 1))
    run("doctor", "--fix")
    assert all(path.exists() for path in kept)


def test_fix_does_not_make_approvals_count_that_others_could_write(record, place, run):
    """A ledger of approvals that was open stays open, and counts for nothing, until a person has looked."""
    trust = Path(place.home, "trust.jsonl")
    trust.write_text('{"v":1}\n')
    trust.chmod(0o666)
    done = run("doctor", "--fix")
    assert done.returncode == 1 and trust.stat().st_mode & 0o777 == 0o666 and "nothing in it counts" in done.stdout
    trust.chmod(0o644)
    Path(place.home, "spend.jsonl").write_text("")
    os.chmod(place.home, 0o755)
    run("doctor", "--fix")
    assert trust.stat().st_mode & 0o777 == 0o600


def test_fix_in_a_new_home_makes_nothing(run, home):
    """There is nothing to mend where nothing is."""
    assert run("doctor", "--fix").stdout.startswith("nothing to mend")
    assert not Path(home, ".dayleaf", "cache").exists()
    assert run("doctor", "fix").returncode == 2
