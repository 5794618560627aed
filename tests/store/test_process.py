"""Children of ours end at their deadline, and nothing of them is left."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from harness.command import gone

from memory.store import process

posix_only = pytest.mark.skipif(os.name == "nt", reason="process groups are POSIX")


def python(code: str, *, seconds: float = 20.0, limit: int = 1 << 20, **more):
    """Run Python code as a child."""
    return process.run([sys.executable, "-I", "-c", code], b"in", seconds, {}, "", limit, **more)


def test_a_child_has_an_empty_folder_of_its_own_and_its_input():
    """The folder is gone afterwards."""
    done = python(
        "import os, sys; print(os.getcwd(), os.listdir('.'), sys.stdin.read()); sys.exit(3)"
    )
    folder, listed, said = done.out.decode().split()
    assert (done.rc, listed, said, done.in_time, done.full) == (3, "[]", "in", True, False)
    assert not Path(folder).exists()


def test_a_child_that_says_too_much_is_ended():
    """What it said up to the cap is kept."""
    done = python("while True: print('x' * 99)", limit=1000)
    assert done.full and len(done.out) == 1000


@posix_only
def test_a_deadline_ends_the_whole_group(tmp_path):
    """A grandchild too, whatever it does with signals."""
    told = tmp_path / "pid"
    inner = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    done = python(
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', %r]); "
        "open(%r, 'w').write(str(child.pid)); child.wait()" % (inner, str(told)),
        seconds=2.0,
    )
    assert not done.in_time and done.rc < 0
    assert gone(int(told.read_text()))


def test_another_thread_may_stop_a_child():
    """Long before its deadline."""
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    assert not python("import time; time.sleep(60)", seconds=50.0, stop=stop).in_time


def test_what_a_child_prints_is_handed_on_as_it_comes(tmp_path):
    """Both streams, one call after the other."""
    said: list[tuple[int, bytes]] = []
    done = process.stream(
        [
            sys.executable,
            "-I",
            "-c",
            "import sys; print('one', flush=True); sys.stderr.write('two')",
        ],
        subprocess.DEVNULL,
        20.0,
        {},
        str(tmp_path),
        lambda number, piece: said.append((number, piece)),
    )
    assert done.in_time and done.rc == 0
    assert {
        number: b"".join(piece for to, piece in said if to == number).strip() for number in (1, 2)
    } == {1: b"one", 2: b"two"}


def test_a_program_is_found_on_absolute_entries_of_path_alone(tmp_path, monkeypatch):
    """One in the current folder belongs to whoever wrote that folder."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert process.which("claude", {"PATH": ".:" + os.pathsep}) == "" == process.which("claude", {})
    assert (
        process.which("claude", {"PATH": str(tmp_path)})
        == str(program)
        == process.which(str(program), {})
    )
    assert process.which("./claude", {"PATH": str(tmp_path)}) == ""
