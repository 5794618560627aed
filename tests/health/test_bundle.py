"""Backup and restore: one file that holds everything, and comes back exactly, also beside
writers.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from harness import talks
from harness.command import on_terminal
from harness.hook import ROOT
from harness.vault import put

from memory.core import StoreError, approvals, files
from memory.health import bundle
from memory.store import conversations

FILE = "bäck up.tar.gz"  # a name with a space, beyond ASCII


@pytest.fixture
def filled(ok, place, home):
    """A home with records in three tiers, Korean text, an archive, a ledger, settings, an approval,
    empty folders.
    """
    put(place, "p/learnings/a.md", "Retries need a jitter", "Or all clients come at once.")
    put(place, "g/learnings/ko.md", "버튼은 두 번 눌린다", "디바운스 300 ms")
    put(place, "s/rules/r.md", "Ask first", "Before a migration.", rationale="one locked the table")
    put(place, "p/learnings/old.md", "An old one")
    ok("forget", "old")
    ok("feedback", "a", "up")
    ok("config", "set", "load.top", "4")
    approvals.append_decision(
        place.home, place.key, "r-1", "0" * 64, "approve", "tester", 1795271452.0
    )
    os.makedirs(place.private + "/plans", exist_ok=True)
    os.utime(
        place.private + "/learnings/a.md", ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789)
    )
    os.chmod(place.private + "/learnings/a.md", 0o600)
    return Path(place.home)


def snapshot(root: Path, without=("cache", "runtime", "spawn")) -> dict:
    """Every file below a directory with its bytes, permissions and time, every folder with its
    permissions.
    """
    found = {}
    for path in sorted(root.rglob("*")):
        inner = path.relative_to(root)
        if inner.parts[0] in without or path.name.endswith(".lock"):
            continue
        stat = path.lstat()
        found[str(inner)] = (
            (stat.st_mode, path.read_bytes(), stat.st_mtime_ns) if path.is_file() else stat.st_mode
        )
    return found


def closed(found: dict) -> dict:
    """The same, with the permissions that a restore gives: its owner's alone."""
    return {
        name: (0o100600, *what[1:]) if isinstance(what, tuple) else 0o40700
        for name, what in found.items()
    }


def emptied(home: Path) -> None:
    """Take everything out of a home but the cache."""
    subprocess.run(
        ["rm", "-rf", *(str(path) for path in home.iterdir() if path.name != "cache")], check=True
    )


def test_a_backup_comes_back_byte_for_byte(ok, env, project, filled):
    """Into an empty home, with its approvals by a person: bytes, times, empty folders, closed to
    others; recall finds it at once.
    """
    before = closed(snapshot(filled))
    assert "read back" in ok("backup", FILE, "--here")
    emptied(filled)
    status, said = on_terminal(["restore", "./" + FILE, "--trust"], env, project, ["yes"])
    assert (status, snapshot(filled)) == (0, before)
    assert "restored" in said
    assert "Retries need a jitter" in ok("recall", "jitter")
    assert "버튼은" in ok("recall", "버튼")
    assert "restored" in ok("restore", "old")  # a record's id still is one


def test_a_backup_is_private_and_the_same_twice(ok, project, filled):
    """Mode 0600, and one byte sequence for one state; a second one never overwrites the first."""
    ok("backup", "one.tar.gz", "--here")
    one = Path(project, "one.tar.gz")
    assert one.stat().st_mode & 0o777 == 0o600
    ok("backup", "two.tar.gz", "--here")
    first, second = (
        {info.name: tar.extractfile(info).read() for info in tar}
        for tar in (tarfile.open(one), tarfile.open(Path(project, "two.tar.gz")))
    )
    assert list(first) == [*sorted(set(first) - {"manifest.json"}), "manifest.json"]
    first.pop("manifest.json"), second.pop("manifest.json")
    assert first == second
    assert not any(
        "/cache/" in name or "/runtime/" in name or name.endswith(".lock") for name in first
    )


def test_an_existing_file_is_never_overwritten(run, ok, project, filled):
    """Named or not: a name of one's own is refused, the default one takes the next number."""
    Path(project, "mine.tar.gz").write_text("mine")
    done = run("backup", "mine.tar.gz", "--here")
    assert (done.returncode, Path(project, "mine.tar.gz").read_text()) == (1, "mine")
    assert "overwrites nothing" in done.stderr
    ok("backup", "--here"), ok("backup", "--here")
    assert len(list(Path(project).glob("dayleaf-*.tar.gz"))) == 2
    assert not list(Path(project).glob(".dayleaf-*"))


def test_a_home_that_cannot_be_written_is_backed_up_elsewhere(ok, filled, tmp_path, monkeypatch):
    """Its lock cannot be made, and no record moves in it."""

    def refused(lock: files.Lock) -> bool:
        raise OSError(errno.EROFS, "Read-only file system", lock.path)

    monkeypatch.setattr(files.Lock, "__enter__", refused)
    assert "is complete" in ok("backup", str(tmp_path / "kept.tgz"))


def test_a_backup_inside_what_it_keeps_is_refused(run, filled):
    """It would hold the one before."""
    done = run("backup", str(filled / "b.tar.gz"))
    assert done.returncode == 1
    assert "name a FILE elsewhere" in done.stderr


def test_one_workspace_and_the_shared_tier(ok, project, place, filled):
    """--workspace keeps that alone, --shared the repository's records too, which come back into the
    repository.
    """
    ok("backup", "w.tar.gz", "--workspace", place.key, "--shared", "--here")
    with tarfile.open(Path(project, "w.tar.gz")) as tar:
        names = tar.getnames()
    assert any(name.startswith(f"home/workspaces/{place.key}/learnings/") for name in names)
    assert "shared/rules/r.md" in names
    assert not any(name.startswith(("home/global", "home/trust", "home/config")) for name in names)
    Path(place.shared, "rules/r.md").unlink()
    ok("restore", "w.tar.gz", "--merge")
    assert "Ask first" in Path(place.shared, "rules/r.md").read_text()


def test_a_home_with_records_is_left_alone(run, ok, place, filled):
    """Without --merge a plan is printed and nothing is written; --merge adds; only --replace
    replaces, and keeps the old one.
    """
    ok("backup", FILE, "--here")
    mine = put(place, "p/learnings/a.md", "Retries need a jitter", "My own words.")
    os.unlink(place.everyone + "/learnings/ko.md")
    before = snapshot(filled)
    done = run("restore", "./" + FILE)
    assert (
        done.returncode == 1
        and "1 new" in done.stdout
        and "1 different" in done.stdout
        and "--merge" in done.stderr
    )
    assert "nothing was written" in ok("restore", "./" + FILE, "--merge", "--dry-run")
    assert snapshot(filled) == before
    assert "1 differs here and was kept" in ok("restore", "./" + FILE, "--merge")
    assert "My own words." in Path(mine).read_text()
    assert Path(place.everyone, "learnings/ko.md").exists()
    assert "1 replaced" in ok("restore", "./" + FILE, "--merge", "--replace")
    assert "all clients" in Path(mine).read_text()
    assert "My own words." in Path(place.private, "archive/learnings/a.md").read_text()


def test_a_ledger_gets_the_lines_it_lacks(ok, place, filled):
    """What was appended since stays, what is missing is added, and a second restore changes
    nothing.
    """
    ok("backup", FILE, "--here")
    ledger = Path(place.private, "ledger.jsonl")
    old = ledger.read_bytes()
    ledger.unlink()
    ok("feedback", "a", "down")
    new = ledger.read_bytes()
    ok("restore", "./" + FILE, "--merge")
    assert ledger.read_bytes() == new + old
    ok("restore", "./" + FILE, "--merge")
    assert ledger.read_bytes() == new + old


def test_approvals_come_back_only_with_a_person(run, ok, env, project, place, filled):
    """In a session of the client nothing does; on a terminal with --trust, never against a
    decision.
    """
    ok("backup", FILE, "--here")
    path = Path(place.home, "trust.jsonl")
    approved = path.read_text()
    emptied(filled)
    assert "only a person" in run("restore", "./" + FILE, CLAUDECODE="1").stderr
    assert not path.exists()
    done = run("restore", "./" + FILE, "--merge", "--trust")
    assert done.returncode == 2 and "terminal" in done.stderr
    approvals.append_decision(
        place.home, place.key, "r-1", "0" * 64, "reject", "tester", 1795271999.0
    )
    rejected = path.read_text()
    assert (
        on_terminal(["restore", "./" + FILE, "--merge", "--trust"], env, project, ["yes"])[0] == 0
    )
    assert path.read_text() == rejected
    path.unlink()
    assert (
        on_terminal(["restore", "./" + FILE, "--merge", "--trust"], env, project, ["yes"])[0] == 0
    )
    assert path.read_text() == approved


def test_an_empty_home_gets_no_approvals_unless_a_person_says_yes(ok, env, project, place, filled):
    """A file that somebody hands over must not let scripts run: --dry-run says what is held, a
    terminal asks, Enter is no.
    """
    ok("backup", FILE, "--here")
    path = Path(place.home, "trust.jsonl")
    approved = path.read_text()
    emptied(filled)
    found = json.loads(ok("restore", "./" + FILE, "--dry-run", "--json"))
    assert (found["approvalsHeld"], found["counts"]["left"], found["held"]) == (1, 1, [])
    assert "held back its approvals (1 decision): they let rules bind and scripts run" in ok(
        "restore", "./" + FILE, "--dry-run"
    )
    for answers, kept in (((), ""), (["no"], ""), ((), approved), (["yes"], approved)):
        emptied(filled)
        if answers == () and kept:
            # nobody can be asked
            assert "held back its approvals" in ok("restore", "./" + FILE) and not path.exists()
            continue
        status, said = on_terminal(["restore", "./" + FILE], env, project, answers or [""])
        assert status == 0 and "take it over?" in said
        assert (path.read_text() if path.exists() else "") == kept


def test_it_restores_into_another_directory(run, ok, tmp_path, filled):
    """As a home of its own, its approvals held; a directory that holds anything is refused."""
    before = {name: row for name, row in closed(snapshot(filled)).items() if name != "trust.jsonl"}
    ok("backup", FILE, "--here")
    there = tmp_path / "an other"
    ok("restore", "./" + FILE, "--into", str(there))
    assert snapshot(there) == before
    done = run("restore", "./" + FILE, "--into", str(there))
    assert done.returncode == 2 and "directory is not empty" in done.stderr


def test_a_link_in_the_home_is_named(ok, tmp_path, filled):
    """It is not followed: what is behind it is somebody else's to keep."""
    (tmp_path / "notes.md").write_text("# Elsewhere")
    (filled / "global" / "learnings" / "link.md").symlink_to(tmp_path / "notes.md")
    assert "left out home/global/learnings/link.md: a link" in ok("backup", FILE, "--here")


def archive(path: Path, members: list, manifest: dict | None = None, tail: bytes = b"") -> None:
    """Write a backup by hand: members are TarInfo with bytes, or (name, bytes)."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        rows = []
        for info, data in members:
            if isinstance(info, str):
                info = tarfile.TarInfo(info)
                info.size = len(data)
                rows.append([info.name, len(data), 0o600, 0, hashlib.sha256(data).hexdigest()])
            tar.addfile(info, io.BytesIO(data))
        if manifest is not None:
            line = json.dumps(
                {
                    "v": 1,
                    "dayleaf": "0.1",
                    "made": "2026-11-21T14:30:52Z",
                    "workspace": "",
                    "folders": [],
                    "files": rows,
                    "left": [],
                    **manifest,
                }
            ).encode()
            last = tarfile.TarInfo("manifest.json")
            last.size = len(line)
            tar.addfile(last, io.BytesIO(line))
    path.write_bytes(gzip.compress(raw.getvalue(), mtime=0) + tail)


def special(kind: bytes, name: str, link: str = "") -> tuple:
    """A member that is no regular file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info, b""


GOOD = ("home/global/learnings/x.md", b"# X\n")
HOSTILE = {
    "a name that climbs": [GOOD, ("home/../../evil.md", b"x")],
    "an absolute name": [GOOD, ("/tmp/evil.md", b"x")],
    "another top": [GOOD, ("evil/x.md", b"x")],
    "a name with a dot": [GOOD, ("home/./x.md", b"x")],
    "the runtime": [GOOD, ("home/runtime/bin/python", b"x")],
    "a link": [GOOD, special(tarfile.SYMTYPE, "home/global/l.md", "/etc/passwd")],
    "a hard link": [GOOD, special(tarfile.LNKTYPE, "home/global/l.md", "/etc/passwd")],
    "a device": [GOOD, special(tarfile.CHRTYPE, "home/global/d")],
    "a fifo": [GOOD, special(tarfile.FIFOTYPE, "home/global/f")],
    "a folder": [GOOD, special(tarfile.DIRTYPE, "home/global/f")],
    "a name twice": [GOOD, GOOD],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_backup_writes_nothing(run, project, home, what):
    """One line, status 1, and the home is as it was."""
    archive(Path(project, "evil.tar.gz"), HOSTILE[what], {})
    done = run("restore", "./evil.tar.gz")
    assert (
        done.returncode == 1
        and done.stderr.count("\n") == 1
        and "nothing was written" in done.stderr
    )
    assert not Path(home, ".dayleaf/global").exists()


def test_a_damaged_backup_writes_nothing(run, ok, project, filled):
    """Cut short anywhere, a flipped byte, a wrong checksum, a newer format, no backup at all."""
    ok("backup", "good.tar.gz", "--here")
    good = Path(project, "good.tar.gz").read_bytes()
    emptied(filled)
    bad = Path(project, "bad.tar.gz")
    cases = [good[: len(good) * part // 20] for part in range(20)]
    cases += [
        good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :]
        for at in range(20, len(good), len(good) // 20)
    ]
    cases += [b"", b"not gzip", gzip.compress(b"not tar" * 200)]
    for number, data in enumerate(cases):
        bad.write_bytes(data)
        done = run("restore", "./bad.tar.gz")
        assert done.returncode == 1 and done.stderr.count("\n") == 1, (number, done.stderr)
        assert not (filled / "workspaces").exists()
    for manifest, said in (
        ({"v": 2}, "newer dayleaf"),
        ({"files": [["home/x", 1, 1, 1, "0" * 64]]}, "not as its manifest says"),
        ({"folders": [["home/../../x", 448, 1]]}, "leads outside"),
        (None, "no manifest"),
    ):
        archive(bad, [GOOD], manifest)
        done = run("restore", "./bad.tar.gz")
        assert done.returncode == 1 and said in done.stderr
    assert not (filled / "global").exists()


def test_a_bomb_is_refused(run, project, home):
    """A gigabyte out of a megabyte, as a file and as a header."""
    big = tarfile.TarInfo("home/global/learnings/x.md")
    big.size = 1 << 30
    header = big.tobuf(tarfile.PAX_FORMAT)
    with gzip.open(Path(project, "bomb.tar.gz"), "wb", 9) as out:
        out.write(header)
        for _ in range(300):
            out.write(bytes(1 << 20))
    done = run("restore", "./bomb.tar.gz")
    assert done.returncode == 1 and "it would take more than" in done.stderr
    head = tarfile.TarInfo("pax")
    head.type, head.size = tarfile.XHDTYPE, 200 << 20
    with gzip.open(Path(project, "bomb.tar.gz"), "wb", 9) as out:
        out.write(head.tobuf(tarfile.PAX_FORMAT))
        out.write(bytes(200 << 20))
    done = run("restore", "./bomb.tar.gz")
    assert done.returncode == 1 and done.stderr.count("\n") == 1


MEASURED = """
import sys; sys.path.insert(0, sys.argv[1])
from memory.core import StoreError; from memory.health import bundle
try:
    bundle.read_backup(sys.argv[2])
except StoreError as error:
    print(error)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))  # \
ru_maxrss counts the parent's too
"""


def bomb(path: Path, name: str, byte: bytes, size: int) -> None:
    """Write a backup of one member of many times the same byte."""
    info = tarfile.TarInfo(name)
    info.size = size
    with gzip.open(path, "wb", 1) as out:
        out.write(info.tobuf(tarfile.PAX_FORMAT))
        for _ in range(size >> 20):
            out.write(byte * (1 << 20))
        out.write(bytes(1024))


@pytest.mark.parametrize(
    ("name", "byte", "size"),
    [
        ("home/global/learnings/x.md", b"\0", 398 << 20),
        ("manifest.json", b"[", 398 << 20),
        ("home/global/learnings/x.md", b"x", 200 << 20),
        ("manifest.json", b"[", 1 << 20),
    ],
    ids=["file", "manifest", "within the sum", "nested"],
)
def test_a_bomb_costs_no_memory(tmp_path, name, byte, size):
    """It is refused by what its headers say, before it is read: in all 150 MB."""
    bomb(tmp_path / "bomb.tar.gz", name, byte, size)
    said, used = subprocess.run(
        [sys.executable, "-I", "-c", MEASURED, str(ROOT), str(tmp_path / "bomb.tar.gz")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.splitlines()
    assert "nothing was written" in said
    assert int(used) >> 10 <= 150


def test_countless_empty_members_are_refused(tmp_path):
    """A backup holds at most as many files as there is room for their checksums."""
    with gzip.open(tmp_path / "bomb.tar.gz", "wb", 1) as out:
        for number in range(60_000):
            out.write(
                tarfile.TarInfo("home/global/learnings/%d.md" % number).tobuf(tarfile.PAX_FORMAT)
            )
        out.write(bytes(1024))
    with pytest.raises(StoreError, match="too many files"):
        bundle.read_backup(str(tmp_path / "bomb.tar.gz"))


@pytest.mark.parametrize(
    "rows",
    [
        {
            "files": [
                [
                    "home/global/learnings/x.md",
                    4,
                    0o600,
                    10**40,
                    hashlib.sha256(b"# X\n").hexdigest(),
                ]
            ]
        },
        {
            "files": [
                [
                    "home/global/learnings/x.md",
                    4,
                    0o600,
                    -(10**40),
                    hashlib.sha256(b"# X\n").hexdigest(),
                ]
            ]
        },
        {"folders": [["home/global", 0o700, 10**40]]},
        {"folders": [["home/global", 1e999, 1]]},
        {"files": 1},
    ],
    ids=["late", "early", "folder", "endless", "no list"],
)
def test_a_manifest_of_nonsense_is_refused(run, project, home, rows):
    """A time that no file has, an endless mode: one line, status 1."""
    archive(Path(project, "bad.tar.gz"), [GOOD], rows)
    done = run("restore", "./bad.tar.gz")
    assert (
        done.returncode == 1
        and done.stderr.count("\n") == 1
        and "nothing was written" in done.stderr
    )
    assert not Path(home, ".dayleaf/global").exists()


def test_long_names_beyond_ascii_come_back(ok, place, filled):
    """They stand in a header of their own."""
    path = Path(place.everyone, "learnings", "결정" * 30 + ".md")
    path.write_text("# 긴 이름\n")
    ok("backup", FILE, "--here")
    path.unlink()
    ok("restore", "./" + FILE, "--merge")
    assert path.read_text() == "# 긴 이름\n"


def test_no_backup_in_a_git_work_tree(run, ok, project, tmp_path, filled):
    """One commit would publish it; `--here` says that this is meant.

    Without a FILE it goes home.
    """
    Path(project, "sub").mkdir()
    for words in (("all.tar.gz",), ("sub/all.tar.gz",)):
        done = run("backup", *words)
        assert (
            done.returncode == 1
            and "git work tree %s" % project in done.stderr
            and "--here" in done.stderr
        )
    said = ok("backup")
    assert not list(Path(project).rglob("*.gz")) and "read back" in said
    ok("backup", str(tmp_path / "all.tar.gz"))
    ok("backup", "all.tar.gz", "--here")


def test_a_link_in_the_home_leads_nowhere_out(run, ok, tmp_path, filled):
    """A folder of the home that is a link by the time of the restore is not written through."""
    ok("backup", FILE, "--here")
    emptied(filled)
    (tmp_path / "out").mkdir()
    (filled / "global").symlink_to(tmp_path / "out")
    done = run("restore", "./" + FILE)
    assert done.returncode == 1 and "a link leads out" in done.stderr
    assert not list((tmp_path / "out").rglob("*.md"))


def test_a_torn_line_of_a_ledger_is_cut(ok, place, filled):
    """A line that another process is in the middle of is not kept in part."""
    ledger = Path(place.private, "ledger.jsonl")
    whole = ledger.read_bytes()
    ledger.write_bytes(whole + b'{"v":1,"t":"2026')
    ok("backup", FILE, "--here")
    ledger.unlink()
    ok("restore", "./" + FILE, "--merge")
    assert ledger.read_bytes() == whole


WRITER = """
import sys; sys.path.insert(0, sys.argv[1])
from memory.core import config, layout; from memory.store import store; from memory.store import \
ledger
place = layout.locate({"HOME": sys.argv[2]}, sys.argv[3])
kept = store.Store(place, config.load(place.home, place.root, {}), 1795271452.0)
for n in range(60):
    one = kept.add("learning", "Writer %s number %d" % (sys.argv[4], n), "text %d\\n" % n)
    ledger.append_event(ledger.ledgers(place)[0], one.id, "use", 1795271452.0)
    if n % 3 == 0:
        kept.archive(one.name, "test")
    print(one.id, flush=True)
"""


def test_nothing_is_lost_beside_four_writers(run, ok, env, project, place, tmp_path, filled):
    """Backups while four processes write, archive and count are whole; merged back after a loss,
    every record is there.
    """
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(ROOT), env["HOME"], project, str(n)],
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    number = 0
    while any(writer.poll() is None for writer in writers):
        number += 1
        ok("backup", "b%d.tar.gz" % number, "--here")
        done = run("restore", "./b%d.tar.gz" % number, "--merge")
        assert done.returncode == 0, done.stderr
    ids = [id for writer in writers for id in writer.communicate()[0].split()]
    assert len(ids) == 240 and all(writer.returncode == 0 for writer in writers)
    ok("backup", "last.tar.gz", "--here")
    for path in sorted(Path(place.private).rglob("*.md"))[::2]:
        path.unlink()
    ok("restore", "./last.tar.gz", "--merge")
    there = "".join(path.read_text() for path in Path(place.private).rglob("*.md"))
    assert all(id in there for id in ids)
    assert Path(place.private, "ledger.jsonl").read_text().count('"use"') == 240
    every = [
        json.loads(line)
        for line in Path(place.private, "archive/log.jsonl").read_text().splitlines()
    ]
    assert len([row for row in every if row["reason"] == "test"]) == 80


def test_options_of_a_backup_do_not_go_with_an_id(run):
    """And a file that is not there is one line."""
    assert "is only for a backup" in run("restore", "l-1a2b3c4d", "--merge").stderr
    done = run("restore", "./nothing.tar.gz")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert run("restore", "./nothing.tar.gz", "--replace").returncode in (1, 2)


@pytest.mark.parametrize(
    "name",
    [
        "home",
        "home/",
        "home//x",
        "home/a\\b",
        "home/a\0b",
        "home/cache/x",
        "x/home/a",
        "shared",
        "",
    ],
)
def test_a_name_that_leads_elsewhere_is_none(name):
    """Only files below the home, without what is derived, and of the repository's tier."""
    assert not bundle.is_safe_name(name)


def test_a_conversation_comes_back_as_dayleafs_own(ok, place, filled):
    """A backup carries what was said, byte for byte."""
    name = talks.put(place)
    whole = Path(place.path(name)).read_bytes()
    ok("backup", "talk.tar.gz", "--here")
    emptied(Path(place.home))
    ok("restore", "./talk.tar.gz")
    assert Path(place.path(name)).read_bytes() == whole and not conversations.is_edited_file(whole)
    assert "why does resume fail" in ok("show", "c-7a1c0001")
