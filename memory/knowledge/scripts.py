"""Running a script that a person approved: the approved bytes, from a private copy.

The bytes are read once; what was compared with the approval is what is written to the copy, and
what runs, so a swap between check and run changes nothing. The copy is alone in its directory: `$0`
and what a script imports from beside itself lead there; DAYLEAF_SCRIPT names the original.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memory.core import StoreError, approvals, files
from memory.core.boundary import AGENTS
from memory.core.layout import Place
from memory.core.records import Record
from memory.project import material
from memory.store import process

# What a script is given of the environment.  The marks of agents hold no secret, and keep a dayleaf
# below a script from taking a model for a person.
PASSED = frozenset(
    "PATH HOME LANG TERM TMPDIR USER LOGNAME SHELL SYSTEMROOT COMSPEC PATHEXT TEMP TMP "
    "USERPROFILE".split()
).union(AGENTS)
SECONDS, MOST_SECONDS = 60, 86_400
TIMED_OUT = 124  # the status of a script that missed its deadline, as of timeout(1)
FOLDER = "run"  # of the copies, in the cache


class ScriptRun(NamedTuple):
    """A script prepared to run.

    data: its bytes. program: the interpreter and its argument; empty where the script is executed
    itself. approved: whether a person approved exactly these bytes. waits: else why it may not run,
    with the remedy.
    """

    id: str
    path: str
    data: bytes
    checksum: str
    program: tuple[str, ...]
    args: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    approved: bool
    waits: str = ""

    def argv(self, script: str) -> list[str]:
        """Return the command line for a script at a path."""
        return [*self.program, script, *self.args]


def prepare_run(
    record: Record, place: Place, args: Sequence[str], env: Mapping[str, str]
) -> ScriptRun:
    """Read a script once and prepare its run; raises StoreError."""
    if record.kind != "resource" or material.resource_type(record) != "script":
        raise StoreError(
            "%s is not a script; `dayleaf resource list --type script` lists the scripts"
            % record.id
        )
    source = material.read_source(record, place)
    decided = approvals.read_decisions(place.home)
    key = approvals.script_workspace(record.name, place.key), record.id, source.checksum
    passed = script_environment(env, source.path)
    try:
        runs = find_interpreter(source.data, source.runnable, passed)
    except StoreError as error:
        raise StoreError("%s: %s cannot run: %s" % (record.id, source.path, error)) from None
    waits = _find_refusal(key, decided)
    return ScriptRun(
        record.id,
        source.path,
        source.data,
        source.checksum,
        program=runs,
        args=tuple(args),
        cwd=place.root,
        env=passed,
        approved=decided.get(key) == "approve",
        waits=waits,
    )


def _find_refusal(key: approvals.Approval, decided: dict[approvals.Approval, str]) -> str:
    """Return why a script may not run, or ""."""
    workspace, id, _ = key
    if decided.get(key) == "approve":
        return ""
    if decided.get(key) == "reject":
        return "was rejected; a person can still run `dayleaf resource approve %s`" % id
    if approvals.find_last_approved(decided, workspace, id):
        return "changed since it was approved: `dayleaf resource approve %s` shows how" % id
    return (
        "waits for review: approve it with `dayleaf resource approve %s` in your own terminal" % id
    )


def script_environment(env: Mapping[str, str], path: str) -> dict[str, str]:
    """Return the few variables that a script gets, with DAYLEAF_SCRIPT."""
    kept = {
        key: value for key, value in env.items() if key.upper() in PASSED or key.startswith("LC_")
    }
    return {**kept, "PATH": process.keep_absolute(env.get("PATH", "")), "DAYLEAF_SCRIPT": path}


def _parse_shebang(data: bytes) -> list[str]:
    """Return the path and argument after `#!`; raises StoreError."""
    line = data[2:4096].split(b"\n")[0]
    if line.endswith(b"\r"):
        raise StoreError("its first line ends with a carriage return; save it with LF line ends")
    words = line.decode("utf-8", "surrogateescape").strip().split(None, 1)
    if not words or not words[0].startswith("/"):
        raise StoreError(
            "its first line names no absolute path; write it as `#!/usr/bin/env python3`"
        )
    return words


def find_interpreter(data: bytes, runnable: bool, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return a script's interpreter and its argument, () for a native program.

    env: its PATH is searched where such paths do not exist; {} to check the line's form alone.
    Raises StoreError, with the remedy.
    """
    if not data.startswith(b"#!"):
        if runnable and b"\0" in data[:4096]:
            return ()
        raise StoreError(
            "it has no first line `#!` that names its interpreter; add one, such as `#!/bin/sh`"
        )
    words = _parse_shebang(data)
    if os.name != "posix":
        return _find_on_path(words, env) if env else tuple(words)
    if not os.path.isfile(words[0]) or not os.access(words[0], os.X_OK):
        raise StoreError(
            "its first line names %s, which cannot be executed here; correct it" % words[0]
        )
    return tuple(words)


def _find_on_path(words: list[str], env: Mapping[str, str]) -> tuple[str, ...]:
    names = (" ".join(words)).replace("/usr/bin/env ", "").split()
    at = process.which(names[0].rpartition("/")[2], env)
    if not at:
        raise StoreError("its first line names %s, which is not on PATH; install it" % names[0])
    return (at, *names[1:])


# ---- the copy


@contextlib.contextmanager
def private_copy(cache: str, path: str, data: bytes) -> Iterator[str]:
    """Yield the path of a private copy of bytes, removed afterwards.

    Nobody else can read it or guess its name. path: the original, whose name it keeps.
    """
    _remove_stale_copies(files.make_folder(cache + "/" + FOLDER))
    folder = tempfile.mkdtemp(prefix="%d-" % os.getpid(), dir=cache + "/" + FOLDER)
    try:
        name = re.sub(r"[^\w.-]", "_", path.rpartition("/")[2]).lstrip(".")[-80:]
        copy = folder + "/" + (name or "script")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with open(os.open(copy, flags, 0o500), "wb") as file:
            file.write(data)
        os.chmod(copy, 0o500)
        yield copy
    finally:
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale_copies(folder: str) -> None:
    for name in os.listdir(folder):
        pid = name.partition("-")[0]
        if pid.isdigit() and not files.is_running(int(pid)):
            shutil.rmtree(folder + "/" + name, ignore_errors=True)


# ---- running


def run_script(
    script: ScriptRun,
    cache: str,
    seconds: float,
    tell: Callable[[int, bytes], None],
    stopped: threading.Event | None = None,
) -> tuple[int, bool]:
    """Run an approved script; return (status, whether it ended in time).

    It reads no stdin. tell: called with 1 (stdout) or 2 (stderr) and the output, as it comes.
    stopped: ends it where no signal does. The status is its own, 128 + a signal that ended it, or
    TIMED_OUT. Raises StoreError.
    """
    if not script.approved or files.sha256(script.data) != script.checksum:
        raise StoreError(
            "%s %s"
            % (script.id, script.waits or "waits for review: it changed just now; run it again")
        )
    try:
        with (
            _catch_signals() as (stop, caught),
            private_copy(cache, script.path, script.data) as copy,
        ):
            done = process.stream(
                script.argv(copy),
                subprocess.DEVNULL,
                seconds,
                script.env,
                script.cwd,
                tell,
                stopped or stop,
            )
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", "") or str(error)).lower()
        raise StoreError("%s could not be started: %s" % (script.id, why)) from None
    if caught:
        raise SystemExit(128 + caught[0])
    if not done.in_time:
        return TIMED_OUT, False
    return done.rc if done.rc >= 0 else 128 - done.rc, True


@contextlib.contextmanager
def _catch_signals() -> Iterator[tuple[threading.Event, list[int]]]:
    """Yield (event, signals): SIGINT, SIGTERM and SIGHUP set the event."""
    # An exception out of a handler could come while the script starts, and leave it running.
    stop, caught = threading.Event(), list[int]()

    def ended(number: int, frame: Any) -> None:
        caught.append(number)
        stop.set()

    numbers = [
        getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
    ]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    # as nohup wants it
    numbers = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, ended) for number in numbers}
    try:
        yield stop, caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
