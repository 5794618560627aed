"""doctor on how things stand: each fault is made, and found with its remedy."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import talks, vault
from harness.verdicts import worst

from memory.core import clock, config, layout
from memory.health import FAIL, OK, WARN, checkup
from memory.hook import receipts
from memory.store.store import Store


def test_a_new_home_is_no_fault(examine):
    """Nothing written yet is fine, in every check that only looks at what is written."""
    for what in ("home", "config", "records", "log", "ledgers", "temps", "shared"):
        assert worst(examine(what)) == OK, what
    assert worst(examine("index")) == WARN


@pytest.mark.parametrize(
    ("mode", "verdict"), [(0o700, OK), (0o755, WARN), (0o777, FAIL), (0o720, FAIL)]
)
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
    """Without the runtime this interpreter is asked; a runtime that lacks packages is named with
    their effects.
    """
    assert examine("python")[0][0] == WARN and "install.sh" in examine("python")[0][2]
    assert "system's Python" in examine("python")[1][1] and "is ignored" in examine("python")[1][1]
    python = Path(place.home, "runtime", "bin", "python")
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho \'{"": "3.12.1", "yaml": "6.0"}\'\n')
    python.chmod(0o755)
    checks = examine("python")
    assert checks[0][:2] == (OK, "%s, Python 3.12.1" % python) and checks[1][:2] == (
        OK,
        "PyYAML 6.0",
    )
    assert [check[0] for check in checks[2:]] == [
        WARN,
        WARN,
        WARN,
    ] and "is ignored" in checks[2][1]
    assert "misspelt words" in checks[3][1]


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
    assert examine("config") == [(OK, "all at their defaults", "")]
    Path(place.home, "config.json").write_text('{"load.top": 5}')
    assert examine("config") == [(OK, "1 setting changed", "")]


def test_a_session_whose_pushes_are_off_is_named(examine, place):
    """With what switches them on again."""
    receipts.write(place.receipts("aaaa1111"), {"v": 1, "event": "start"})
    assert worst(examine("config")) == OK
    receipts.write(place.receipts("aaaa1111"), {"v": 1, "event": "off"})
    assert examine("config")[1:] == [
        (WARN, "pushes: off in session aaaa1111", "`dayleaf push on` switches them on")
    ]


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
    assert "faulty.md: line 1: created 'someday' is not a date; write it as" in said
    assert "%s is the id of " % record.id in said and "twin.md" in said
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


SETTINGS = [
    (None, WARN, "does not exist"),
    ("{broken", WARN, "cannot be read"),
    ("{}", WARN, "does not list dayleaf"),
    ('{"enabledPlugins": {"dayleaf@dayleaf": true}}', OK, "dayleaf@dayleaf is enabled"),
    ('{"enabledPlugins": {"dayleaf@dayleaf": false}}', WARN, "is switched off"),
    (
        '{"enabledPlugins": {"dayleaf@dayleaf": true}, "disableAllHooks": true}',
        WARN,
        "disableAllHooks",
    ),
    ('{"enabledPlugins": ["dayleaf"]}', WARN, "does not list dayleaf"),
    ("[]", WARN, "does not list dayleaf"),
]


@pytest.mark.parametrize(
    ("content", "verdict", "said"), SETTINGS, ids=[str(row[0]) for row in SETTINGS]
)
def test_registration_with_the_client(examine, tmp_path, content, verdict, said):
    """The client's settings say whether the plugin runs."""
    if content is not None:
        (tmp_path / "settings.json").write_text(content)
    ((found, text, _),) = examine("hooks", CLAUDE_CONFIG_DIR=str(tmp_path))
    assert found == verdict and said in text


def written(project, tmp_path, versions):
    """Transcripts of a directory, oldest first, as clients of these versions write them; the folder
    of the client.
    """
    folder = tmp_path / "host" / "projects" / re.sub("[^A-Za-z0-9]", "-", project)
    folder.mkdir(parents=True)
    for i, version in enumerate(versions):
        rows = [
            {"type": "user", "sessionId": "s", "version": "2.0.1"},
            {"type": "user", "sessionId": "s", "version": version},
            {"type": "summary", "version": "9.9.9"},
        ]
        (folder / f"s{i}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(folder / f"s{i}.jsonl", (i, i))
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    return {"CLAUDE_CONFIG_DIR": str(tmp_path / "host"), "PATH": str(tmp_path)}


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.1.329", ["Claude Code 2.1.329"]),
        ("2.1.116", ["Claude Code 2.1.116"]),
        ("2.1.112", ["Claude Code 2.1.112: each slash command costs"]),
        ("2.1.111", ["Claude Code 2.1.111: older than the oldest version", "; each slash"]),
    ],
)
def test_what_the_last_client_does_not_give(examine, project, tmp_path, version, said):
    """The newest transcript of this directory tells the version; what its events cannot do is said,
    with the remedy.
    """
    ((found, text, remedy),) = examine("client", **written(project, tmp_path, ["2.1.5", version]))
    assert all(part in text for part in said) and (found, bool(remedy)) == (
        (WARN, True) if ":" in text else (OK, False)
    )


def test_the_client_on_the_path_tells_its_own_version(examine, project, tmp_path):
    """An old transcript may be an imported one."""
    told = written(project, tmp_path, ["2.1.20"])
    (tmp_path / "claude").write_text("#!/bin/sh\necho '2.1.329 (Claude Code)'\n")
    assert examine("client", **told) == [(OK, "Claude Code 2.1.329", "")]


def test_a_client_that_is_not_there_lacks_nothing(examine, project, tmp_path):
    """The version of an old transcript is no version to update."""
    told = {**written(project, tmp_path, ["2.1.49"]), "PATH": "/nonexistent"}
    assert [one[0] for one in examine("client", **told)] == [OK]
    assert examine("client", **told)[0][1].startswith("claude is not on PATH")


@pytest.mark.parametrize("versions", [[], ["latest"], ["2.1"]])
def test_a_client_of_no_known_version_is_passed_over(examine, project, tmp_path, versions):
    """No transcript yet, or one that tells no version."""
    assert examine("client", **written(project, tmp_path, versions)) == []


@pytest.mark.parametrize(("version", "stops"), [("2.1.138", True), ("2.1.139", False)])
def test_a_path_with_a_blank_stops_the_hooks_of_an_older_client(
    examine, project, tmp_path, monkeypatch, version, stops
):
    """It starts them through a shell, with the path unquoted."""
    monkeypatch.setattr(layout, "plugin_folder", lambda: "/opt/my plugin")
    found = examine("client", **written(project, tmp_path, [version]))
    assert [verdict for verdict, text, _ in found if "/opt/my plugin" in text] == [FAIL] * stops
    assert found[-1][:2] == (OK, "Claude Code " + version)


@pytest.mark.parametrize(
    ("wrote", "tells", "found"),
    [(["2.1.100"], "", FAIL), ([], "2.1.112", FAIL), ([], "2.1.329", ""), ([], "", WARN)],
)
def test_a_path_with_a_blank_is_told_of_a_client_that_wrote_nothing_yet(
    examine, project, tmp_path, monkeypatch, wrote, tells, found
):
    """Or is not on PATH; one of an unknown version may be old."""
    monkeypatch.setattr(layout, "plugin_folder", lambda: "/opt/my plugin")
    told = written(project, tmp_path, wrote)
    if tells:
        (tmp_path / "claude").write_text("#!/bin/sh\necho '%s (Claude Code)'\n" % tells)
    else:
        told["PATH"] = "/nonexistent"
    checks = [verdict for verdict, text, _ in examine("client", **told) if "/opt/my" in text]
    assert checks == [found] * bool(found)


def test_programs_on_the_path(examine, tmp_path):
    """Models and the command are looked for on PATH; another copy's command is named."""
    for name in ("claude", "dayleaf"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert [check[0] for check in examine("models", PATH="/nonexistent")] == [WARN]
    assert examine("models", PATH=str(tmp_path))[0] == (OK, "claude: %s/claude" % tmp_path, "")
    assert "not on PATH" in examine("command", PATH="/nonexistent")[0][1]
    assert "belongs to another copy" in examine("command", PATH=str(tmp_path))[0][1]
    own = layout.plugin_folder() + "/bin"
    assert examine("command", PATH=own) == [(OK, own + "/dayleaf", "")]


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
    subprocess.run(
        ["git", "-C", project, "config", "core.fsmonitor", "touch '%s'; false" % ran],
        env=env,
        check=True,
    )
    examine("shared")
    assert not ran.exists()


def test_a_full_disk_and_a_wrong_clock(examine, record, place, env, now, monkeypatch):
    """What makes the next capture fail, and nothing expire."""
    assert [worst(examine(what)) for what in ("disk", "clock")] == [OK, OK]
    real = os.statvfs(place.home)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=20, f_frsize=1 << 20))
    assert examine("disk")[0][0] == FAIL and "20 MB free" in examine("disk")[0][1]
    monkeypatch.setattr(os, "statvfs", lambda path: real)
    found = list(Store(place, config.load(place.home, place.root, env), now).each())
    assert next(checkup.check_clock(place, found, now + 900 * clock.DAY)).severity == WARN


def test_an_unpacked_file_of_the_future_doubts_no_clock(examine, record, place, env, now):
    """An archive sets a file's time; that a record says when it was written counts."""
    store = Store(place, config.load(place.home, place.root, env), now)
    for one in list(store.each()):
        os.remove(place.path(one.name))
    path = Path(place.folder("p", "learning")) / "unpacked.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("From an archive.\n")
    os.utime(path, (now + 400 * clock.DAY,) * 2)
    assert next(checkup.check_clock(place, list(store.each()), now)).severity == OK
    path.write_text("---\ncreated: %s\n---\nx\n" % clock.iso(now + 400 * clock.DAY))
    os.utime(path, (now + 400 * clock.DAY + 0.4,) * 2)
    assert next(checkup.check_clock(place, list(store.each()), now)).severity == WARN


def test_work_recorded_under_a_clock_that_was_ahead_is_named(place, env, now):
    """The clock is right again; what a person dates so is no sign."""
    for name in ("checkpoints/2026-01-20/present", "checkpoints/2026-01-20/past", "plans/mine"):
        days = 400 if "mine" in name else -1
        path = vault.put(place, "p/%s.md" % name, name, created=clock.day(now + days * clock.DAY))
        os.utime(path, (now, now))
    store = Store(place, config.load(place.home, place.root, env), now)
    assert next(checkup.check_clock(place, list(store.each()), now)).severity == OK
    ahead = clock.day(now + 400 * clock.DAY)
    vault.put(place, "p/checkpoints/2028-01-02/ahead.md", "Ahead", created=ahead)
    (found,) = checkup.check_clock(place, list(store.each()), now)
    assert found.severity == WARN and "checkpoints/2028-01-02/ahead.md" in found.what
    assert "forget" in found.remedy


def test_conversations_are_counted_and_those_by_hand(examine, record, place):
    """None kept and none refused says nothing; a hand edit is no fault."""
    assert len(examine("records")) == 1
    talks.put(place)
    assert [check[:2] for check in examine("records")[1:]] == [(OK, "1 conversation kept")]
    talks.put(place, id="c-7a1c0002", written=False)
    checks = examine("records")
    assert worst(checks) == OK and len(checks) == 2
    assert checks[1][1].startswith("2 conversations kept, 1 edited by hand")
    Path(place.shared).mkdir()
    (Path(place.shared) / "config.json").write_text('{"capture": {"conversations": false}}')
    assert (
        "capture.conversations is off (project), so no new ones; 2 conversations kept"
        in examine("records")[1][1]
    )


def test_a_conversation_in_a_repository_is_named_with_its_remedy(examine, record, place):
    """It is not read, and doctor says where it belongs."""
    talks.put(place, tier="s")
    said = [check for check in examine("records") if "private tier" in check[1]]
    assert said[0][0] == WARN and "/.dayleaf/conversations" in said[0][1] and "move" in said[0][2]


def test_dropped_items_of_notes_are_counted(examine, place):
    assert examine("notes") == []
    for number, dropped in enumerate(("2", "1", None)):
        head = {"dropped": dropped} if dropped else {}
        name = "p/notes/2026-11-20/n%d.md" % number
        vault.put(place, name, "A note", "", kind="note", **head)
    said = "3 notes; 3 items dropped because no conversation supported them"
    assert [one[:2] for one in examine("notes")] == [(OK, said)]
