"""Encrypted backups: to one recipient, opened by the file of its key, and never left open on the
disk.
"""

from __future__ import annotations

import builtins
from pathlib import Path

import pytest
from harness.vault import put


@pytest.fixture
def key(tmp_path):
    """(The recipient, the file of its key) of a key that is new."""
    pyrage = pytest.importorskip("pyrage")
    identity = pyrage.x25519.Identity.generate()
    path = tmp_path / "key file.txt"
    path.write_text("# created: today\n# public key: %s\n%s\n" % (identity.to_public(), identity))
    return str(identity.to_public()), str(path)


def test_an_encrypted_backup_comes_back(run, ok, place, tmp_path, key):
    """Its owner's alone, without a readable word; a name by itself ends in .age; nothing open is
    left.
    """
    put(place, "g/learnings/a.md", "Retries need a jitter")
    (tmp_path / "away").mkdir()
    assert "encrypted" in ok("backup", "--age", key[0], cwd=str(tmp_path / "away"))
    (path,) = (tmp_path / "away").iterdir()
    assert path.name.endswith(".tar.gz.age") and path.stat().st_mode & 0o777 == 0o600
    assert (
        path.read_bytes().startswith(b"age-encryption.org/v1")
        and b"jitter" not in path.read_bytes()
    )
    Path(place.everyone, "learnings/a.md").unlink()
    done = run("restore", str(path))
    assert done.returncode == 2 and "--identity" in done.stderr
    ok("restore", str(path), "--merge", "--identity", key[1])
    assert "jitter" in Path(place.everyone, "learnings/a.md").read_text()
    assert not list(Path(place.home, "cache").glob(".dayleaf-*"))


def test_another_key_or_none_opens_nothing(run, ok, place, tmp_path, key):
    """One line, and nothing is written."""
    import pyrage

    path = str(tmp_path / "b.age")
    ok("backup", path, "--age", key[0])
    other = tmp_path / "other"
    for text in (str(pyrage.x25519.Identity.generate()), "nonsense", ""):
        other.write_text(text)
        done = run("restore", path, "--merge", "--identity", str(other))
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert run("restore", path, "--merge", "--identity", str(tmp_path / "absent")).returncode == 1
    Path(path).write_bytes(Path(path).read_bytes()[:-20])
    done = run("restore", path, "--merge", "--identity", key[1])
    assert done.returncode == 1 and "nothing was written" in done.stderr
    assert not list(Path(place.home, "cache").glob(".dayleaf-*"))


@pytest.mark.parametrize("word", ["nobody", "age1", "ssh-ed25519 x", ""])
def test_no_recipient(run, tmp_path, key, word):
    done = run("backup", str(tmp_path / "b.age"), "--age", word)
    assert (
        done.returncode == 2
        and "not an age recipient" in done.stderr
        and not (tmp_path / "b.age").exists()
    )


def test_without_pyrage_it_says_what_brings_it(run, tmp_path, monkeypatch):
    """Nothing is written in the open instead."""
    real = builtins.__import__

    def absent(name, *more):
        if name == "pyrage":
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", absent)
    done = run("backup", str(tmp_path / "b.age"), "--age", "age1x")
    assert (
        done.returncode == 1
        and "install.sh --age" in done.stderr
        and not (tmp_path / "b.age").exists()
    )
    (tmp_path / "c.age").write_bytes(b"age-encryption.org/v1\n-> X25519 x\n")
    done = run("restore", str(tmp_path / "c.age"), "--identity", "k")
    assert done.returncode == 1 and "install.sh --age" in done.stderr


def test_an_identity_goes_with_an_encrypted_backup(run, ok, tmp_path):
    ok("backup", str(tmp_path / "b.tar.gz"))
    assert run("restore", str(tmp_path / "b.tar.gz"), "--identity", "k").returncode == 2
