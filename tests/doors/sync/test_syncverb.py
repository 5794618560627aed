"""`dayleaf sync`: what it says and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.command import one_line_error

from memory.health import bundle

pytest.importorskip("pyrage")


def test_a_repository_that_is_out_of_reach_is_told_with_its_cause(run, env, tmp_path):
    """Not with the last line of git's general advice; nothing is set up then."""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(
        "#!/bin/sh\necho 'ssh: connect to host 192.0.2.1 port 22: Connection "
        "refused' >&2\nexit 255\n"
    )
    ssh.chmod(0o755)
    said = one_line_error(
        run("sync", "setup", "ssh://192.0.2.1/notes.git", PATH="%s:/usr/bin:/bin" % ssh.parent), 1
    )
    assert (
        "ssh://192.0.2.1/notes.git: ssh: connect to host 192.0.2.1 port 22: "
        "Connection refused; fatal:"
    ) in said
    assert "repository exists" not in said and "correct access" not in said
    assert "does not appear to be a git repository" in one_line_error(
        run("sync", "setup", str(tmp_path / "none.git")), 1
    )
    assert "not set up" in one_line_error(run("sync"), 1)


def test_the_verb(run, ok, tmp_path, box, place):
    """Set up, synced, told how it stands; every wrong word in one line."""
    assert "not set up" in one_line_error(run("sync"), 1)
    assert "does not take 'stauts'" in one_line_error(run("sync", "stauts"), 2)
    assert "--identity is for" in one_line_error(run("sync", "--identity", "x"), 2)
    assert "is not there" in one_line_error(run("sync", "setup", str(tmp_path / "absent")), 1)
    assert "dayleaf's own home" in one_line_error(run("sync", "setup", place.home), 2)
    assert "key.txt" in ok("sync", "setup", str(box))
    ok("learn", "Quote every path")
    assert "1 file to send" in ok("sync", "status")
    assert "1 file sent, 0 taken" in ok("sync") and "0 files sent" in ok("sync")
    assert "only a person" in one_line_error(run("sync", CLAUDECODE="1"), 2)
    assert Path(place.home, "sync/key.txt").stat().st_mode & 0o777 == 0o600
    made = tmp_path / "all.tar.gz"
    ok("backup", str(made))
    assert not [name for name, _, _ in bundle.read_members(str(made)) if "/sync" in name]
