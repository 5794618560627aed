"""Files: private, never half written, never waited for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from memory.core import files


def test_a_replaced_file_is_private_whatever_the_umask(tmp_path):
    """0600 and 0700, also under umask 0."""
    before = os.umask(0)
    try:
        files.replace(str(tmp_path / "a/b/c.txt"), b"x")
        files.append(str(tmp_path / "a/log"), b"y\n")
    finally:
        os.umask(before)
    modes = [oct((tmp_path / p).stat().st_mode & 0o777) for p in ("a", "a/b", "a/b/c.txt", "a/log")]
    assert modes == ["0o700", "0o700", "0o600", "0o600"]


def test_create_never_overwrites(tmp_path):
    """The second writer of a name is told, and the first one's bytes stay."""
    path = str(tmp_path / "x")
    files.create(path, b"first")
    with pytest.raises(FileExistsError):
        files.create(path, b"second")
    assert files.read(path) == b"first"
    assert sorted(os.listdir(tmp_path)) == ["home", "x"]


def test_a_lock_is_held_by_one_process(tmp_path):
    """A second process is refused while the first lives, and gets it when the first is killed."""
    path = str(tmp_path / "lock")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from memory.core import files\n"
        "with files.Lock(sys.argv[2]) as held: print(held, flush=True); sys.stdin.read()"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(files.__file__))))
    child = subprocess.Popen(
        [sys.executable, "-c", code, root, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout.readline() == b"True\n"
    with files.Lock(path) as held:
        assert not held
    child.kill()
    child.wait()
    with files.Lock(path) as held:
        assert held


def test_a_fifo_does_not_hang_a_reader(tmp_path):
    """What is no regular file is an error at once."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        files.read(str(tmp_path / "pipe"))


def test_a_sibling_with_the_same_start_is_not_inside(tmp_path):
    """`root-evil` is not in `root`."""
    (tmp_path / "root-evil").mkdir()
    (tmp_path / "root").mkdir()
    assert files.is_inside(str(tmp_path / "root/x"), str(tmp_path / "root"))
    assert not files.is_inside(str(tmp_path / "root-evil/x"), str(tmp_path / "root"))
    assert not files.is_inside(str(tmp_path / "root/../root-evil"), str(tmp_path / "root"))
