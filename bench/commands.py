#!/usr/bin/env python3
"""Measure what looking after a memory costs: `commands.py [--runs N]` runs status, doctor and stats
at 5,000 records, audit at 10,000, each as a process of its own, and prints the CPU of it and its
children: where nothing at all was kept; of a first run, after the index was built and the worker of
a session's start looked ahead; of the next ones; and of one after a record was edited.  Beside it
stands what the look ahead took.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOALS = (("status", 5000, 0.3), ("doctor", 5000, 0.6), ("stats", 5000, 0.3), ("audit", 10000, 5.0))


LOOK = """
import sys, time
sys.path.insert(0, sys.argv[1])
from memory.core import files
from memory.health import worker
job = worker.make_job({}, files.read_environ(), time.time() + 86400 * int(sys.argv[2]))
dict(worker.AFTER_START)["look ahead"](job)"""
DAYS = 6  # of which the worker looks ahead on each


def made(top: str, number: int) -> tuple[dict[str, str], str]:
    """Make a store of some records with its index; returns (environment, project)."""
    home, project = "%s/%d" % (top, number), "%s/project-%d" % (top, number)
    os.makedirs(home)
    subprocess.run(["git", "init", "-q", project], check=True)
    env = {"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    subprocess.run(
        [sys.executable, str(ROOT / "bench" / "corpus.py"), str(number), home, project],
        env=env,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    # as the first record makes it: doctor looks for what others may read in any other
    os.chmod(home + "/.dayleaf", 0o700)
    time.sleep(2.5)  # until the files' times prove something
    call(env, project, str(ROOT / "memory"), "index", "build")
    spent = [call(env, project, "-c", LOOK, str(ROOT), str(2 * day)) for day in range(DAYS)]
    said = ", ".join("%.1f" % one for one in spent)
    print("look ahead %6d records: %s s of CPU, a day each" % (number, said), flush=True)
    return env, project


def call(env: dict[str, str], project: str, *words: str) -> float:
    """Run Python and return the seconds of CPU that it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-I", *words], env=env, cwd=project, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def kept(env: dict[str, str]) -> dict[Path, bytes]:
    """Return what earlier runs kept, by path."""
    found = (Path(env["HOME"]) / ".dayleaf/cache").glob("*/*")
    return {
        path: path.read_bytes()
        for path in found
        if path.suffix in (".facts", ".claims", ".heads", ".audit")
    }


def keep(env: dict[str, str], found: dict[Path, bytes]) -> None:
    """Put what was kept in the place of what is kept now."""
    for path in kept(env):
        path.unlink()
    for path, data in found.items():
        path.write_bytes(data)


def edit(env: dict[str, str]) -> None:
    """Change one record, and wait until its time of change proves something."""
    path = min((Path(env["HOME"]) / ".dayleaf/workspaces").glob("*/learnings/*.md"))
    path.write_text(path.read_text(encoding="utf-8") + "\nOne more line.\n", encoding="utf-8")
    time.sleep(2.5)


def measured(env: dict[str, str], project: str, verb: str, runs: int) -> list[float]:
    """Return the seconds of CPU of a verb: with nothing kept, the first time, later, after an edit;
    medians, but of the last.
    """
    ahead, words = kept(env), (str(ROOT / "memory"), verb)
    spent = []
    for found in ({}, ahead, None):
        took = []
        for _ in range(runs):
            if found is not None:
                keep(env, found)
            took.append(call(env, project, *words))
        spent.append(statistics.median(took))
    edit(env)
    spent.append(call(env, project, *words))
    call(env, project, str(ROOT / "memory"), "index", "refresh")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as top:
        stores = {
            number: made(top, number) for number in sorted({number for _, number, _ in GOALS})
        }
        for verb, number, goal in GOALS:
            spent = measured(*stores[number], verb, runs if number < 10000 else 2)
            print(
                (
                    "%-7s %6d records  bare %6.2f  first %6.2f  again %6.2f  after an edit "
                    "%6.2f s of CPU  goal %.1f"
                )
                % (verb, number, *spent, goal),
                flush=True,
            )


if __name__ == "__main__":
    main()
