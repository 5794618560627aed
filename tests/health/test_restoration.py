"""What a backup may not bring along by itself: commands, redaction switches, permissions."""

from __future__ import annotations

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

from memory.core import config

SETTINGS = {
    "load.top": 4,
    "distill": {"command": ["/tmp/evil", "it's"], "provider": "command", "maxTokens": 300},
    "embeddings.provider.command": "/tmp/evil2",
    "redact.enabled": False,
}
OURS = {"load.top": 4, "distill.maxTokens": 300}


def backup(path: Path, members: dict[str, bytes], mode: int = 0o777) -> str:
    """Write a backup as whoever means harm would."""
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        rows = [
            [name, len(data), mode, 10**18, hashlib.sha256(data).hexdigest()]
            for name, data in members.items()
        ]
        line = json.dumps(
            {
                "v": 1,
                "dayleaf": "0.1",
                "made": "2026-11-21T14:30:52Z",
                "workspace": "",
                "files": rows,
                "left": [],
                "folders": [["home/global", 0o777, 10**18]],
            }
        ).encode()
        for name, data in {**members, "manifest.json": line}.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    return str(path)


@pytest.fixture
def evil(tmp_path):
    """A backup with settings that name programs and let secrets through, and a record, all of them
    open to everybody.
    """
    return backup(
        tmp_path / "evil.tar.gz",
        {
            "home/config.json": json.dumps(SETTINGS).encode(),
            "home/global/learnings/x.md": b"# X\n",
            "home/global/run.sh": b"#!/bin/sh\n",
        },
    )


def kept(home: str) -> dict:
    return config.flatten(json.loads(Path(home, "config.json").read_text()))


@pytest.mark.parametrize("words", [(), ("--merge",), ("--merge", "--replace")])
def test_commands_and_switches_wait_for_a_person(run, place, evil, words):
    """The rest of the settings comes back; each that does not is told with the command that sets
    it.
    """
    if words:
        run("learn", "Something is there")
    done = run("restore", evil, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert kept(place.home) == OURS
    for line in (
        """`dayleaf config set distill.command '["/tmp/evil","it\'"\'"\'s"]'`""",
        "`dayleaf config set distill.provider command`",
        "`dayleaf config set embeddings.provider.command /tmp/evil2`",
        "`dayleaf config set redact.enabled false`",
    ):
        assert line in done.stdout, (line, done.stdout)
    assert "--trust" in done.stdout


def test_a_dry_run_says_what_would_be_held(ok, place, evil):
    """Each setting with its value, and nothing is written; what would stay as it is is not held."""
    said = ok("restore", evil, "--dry-run")
    assert (
        "`dayleaf config set redact.enabled false`" in said
        and "nothing was written" in said
        and not Path(place.home, "config.json").exists()
    )
    found = json.loads(ok("restore", evil, "--dry-run", "--json"))
    assert {row["key"]: row["value"] for row in found["held"]} == {
        key: value for key, value in config.flatten(SETTINGS).items() if key not in OURS
    }
    ok("config", "set", "load.top", "2")
    assert json.loads(ok("restore", evil, "--merge", "--dry-run", "--json"))["held"] == []
    assert (
        len(json.loads(ok("restore", evil, "--merge", "--replace", "--dry-run", "--json"))["held"])
        == 4
    )


def test_a_persons_own_settings_stay_where_a_backups_replace_the_rest(ok, place, evil):
    """Their command and their exceptions are not taken away, and a second time there is nothing to
    do.
    """
    ok("config", "set", "distill.command", '["/usr/bin/mine"]')
    ok("config", "set", "load.top", "2")
    ok("restore", evil, "--merge")
    assert kept(place.home) == {"distill.command": ["/usr/bin/mine"], "load.top": 2}
    ok("restore", evil, "--merge", "--replace")
    assert kept(place.home) == {**OURS, "distill.command": ["/usr/bin/mine"]}
    assert "0 files" in ok("restore", evil, "--merge", "--replace")
    assert len(list(Path(place.home).glob("config.json.before*"))) == 1


def test_a_person_takes_them_over(run, env, project, place, evil):
    """On a terminal, by --trust, and nowhere else."""
    done = run("restore", evil, "--trust")
    assert (
        done.returncode == 2
        and "terminal" in done.stderr
        and not Path(place.home, "config.json").exists()
    )
    words = ["restore", evil, "--trust"]
    status, said = on_terminal(words, env, project, ["no"])
    assert status == 0 and "held back 'redact.enabled'" in said and "held back" in said
    assert kept(place.home) == OURS
    status, said = on_terminal([*words, "--merge"], env, project, ["yes"])
    assert status == 0 and said.index("held back 'distill.command'") < said.index("type yes")
    assert kept(place.home) == config.flatten(SETTINGS)


def test_what_was_held_back_comes_into_settings_that_differ(ok, env, project, place, evil):
    """And the person's other settings stay."""
    ok("restore", evil)
    ok("config", "set", "load.top", "2")
    status, _ = on_terminal(["restore", evil, "--merge", "--trust"], env, project, ["yes"])
    assert status == 0 and kept(place.home) == {**config.flatten(SETTINGS), "load.top": 2}
    again = on_terminal(["restore", evil, "--merge", "--trust"], env, project)
    assert "type yes" not in again[1] and "0 files" in again[1]


def test_into_another_directory_they_wait_too(ok, tmp_path, evil):
    """Who uses that home later runs what stands there."""
    there = tmp_path / "an other"
    assert "`DAYLEAF_HOME='%s' dayleaf config set redact.enabled false`" % there in ok(
        "restore", evil, "--into", str(there)
    )
    assert kept(str(there)) == OURS


@pytest.mark.parametrize(
    "data",
    [b"[1]", b"{", b"[" * 5000, b'{"a":' * 900 + b"1" + b"}" * 900],
    ids=["list", "torn", "deep", "deep object"],
)
@pytest.mark.parametrize("name", ["config.json", "Config.JSON"])
def test_settings_that_are_none_are_not_written(run, place, tmp_path, name, data):
    """Nobody knows what a later reader finds in them; a disk may fold the letters of the name."""
    evil = backup(
        tmp_path / "evil.tar.gz", {"home/" + name: data, "home/global/learnings/x.md": b"# X\n"}
    )
    done = run("restore", evil)
    assert done.returncode in (0, 1) and Path(place.everyone, "learnings/x.md").exists()
    assert not Path(place.home, name).exists() or "a" in json.loads(
        Path(place.home, name).read_text()
    )


def test_what_is_restored_is_closed_and_runs_nothing(ok, place, evil):
    """Whatever the archive says: 0600, folders 0700."""
    ok("restore", evil)
    for path in Path(place.home).rglob("*"):
        assert os.stat(path).st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_what_a_repository_shares_may_be_read_and_not_run(ok, place, project, tmp_path):
    """Files of the shared tier are readable by all, as git has them."""
    Path(place.shared).mkdir()
    ok("restore", backup(tmp_path / "evil.tar.gz", {"shared/learnings/x.md": b"# X\n"}), "--merge")
    assert os.stat(place.shared + "/learnings/x.md").st_mode & 0o777 == 0o644


def test_a_restore_of_large_files_costs_little(env, project, tmp_path):
    """As many and as large as a small backup may hold: 150 MB in all."""
    path = backup(
        tmp_path / "large.tar.gz",
        {"home/global/learnings/%d.md" % number: bytes(24 << 20) for number in range(3)},
    )
    code = (
        "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            code,
            sys.executable,
            "-I",
            str(ROOT / "memory"),
            "restore",
            path,
        ],
        env=env,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert int(done.stdout.split()[-1]) <= 150


@pytest.fixture
def older(ok, tmp_path):
    """Make a backup, then let time pass: older(*commands) -> its path."""

    def make(*then):
        path = str(tmp_path / "older.tar.gz")
        ok("backup", path)
        for words in then:
            ok(*words)
        return path

    return make


@pytest.mark.parametrize("hard", [(), ("--hard", "--yes")])
def test_what_was_forgotten_since_stays_away(ok, place, older, hard):
    """Said beforehand; whoever wants it back says so, and finds it in use."""
    id = json.loads(ok("learn", "The quokka worker has moved", "--json"))["id"]
    path = older(("forget", id, *hard))
    assert "1 forgotten here" in ok("restore", path, "--merge", "--dry-run")
    done = ok("restore", path, "--merge")
    assert "1 forgotten here were left out; --merge --replace brings them back" in done
    assert not list(Path(place.private, "learnings").glob("*.md"))
    assert "restored 1 file" in ok("restore", path, "--merge", "--replace")
    assert [hit["id"] for hit in json.loads(ok("recall", "quokka", "--json"))["hits"]] == [id]


def test_a_session_that_was_removed_since_stays_away(ok, place, older):
    """Its conversation, and its checkpoints, of which the log knows nothing else."""
    talks.put(place)
    put(place, "p/checkpoints/2026-01-23/150001-x.md", "Fixed", "body", session=talks.SESSION)
    path = older(("forget", "--session", talks.SESSION, "--hard", "--yes"))
    assert "2 forgotten here" in ok("restore", path, "--merge")
    assert not list(Path(place.private).glob("c*/*/*.md"))


def test_a_record_that_was_redacted_since_gets_no_twin(ok, run, place, older):
    """Its file has another name by now; replacing changes the one that is there."""
    id = json.loads(ok("learn", "Quokka runs in rack 3", "--json"))["id"]
    path = older()
    run("redact", id, "--text", "-", "--apply", "--everywhere", stdin="Quokka")
    assert "1 differs here and was kept" in ok("restore", path, "--merge")
    (there,) = Path(place.private, "learnings").glob("*.md")
    assert "Quokka" not in there.read_text()
    ok("restore", path, "--merge", "--replace")
    assert list(Path(place.private, "learnings").glob("*.md")) == [there]
    assert "Quokka" in there.read_text()


def test_what_a_backup_replaced_is_brought_back_by_its_id(ok, run, place, older):
    """The two change places, as often as one likes."""
    path = Path(put(place, "p/learnings/a.md", "Host", "The old one.", id="l-00000001"))
    file = older()
    path.write_text(path.read_text().replace("old", "new"))
    ok("restore", file, "--merge", "--replace")
    for word in ("new", "old", "new"):
        ok("restore", "l-00000001")
        assert "The %s one." % word in path.read_text()
        assert len(list(Path(place.private, "archive").rglob("*.md"))) == 1


def test_the_archive_s_copy_of_what_is_in_use_is_no_second_record(ok, place, older):
    """Archived when the backup was made, and restored since."""
    id = json.loads(ok("learn", "The quokka worker has moved", "--json"))["id"]
    ok("forget", id)
    path = older(("restore", id))
    ok("restore", path, "--merge", "--replace")
    assert not list(Path(place.private, "archive").rglob("*.md"))
