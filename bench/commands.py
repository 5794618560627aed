#!/usr/bin/env python3
"""Measure what looking after a memory costs: `commands.py [--runs N]` runs status, doctor and stats at 5,000 records, audit at
10,000, each as a process of its own, and prints the CPU of it and its children: of the first run, when nothing was kept yet; of
the next ones; and of one after a record was edited."""

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


def made(top: str, number: int) -> tuple[dict[str, str], str]:
    """Make a store of some records with its index; returns (environment, project)."""
    home, project = "%s/%d" % (top, number), "%s/project-%d" % (top, number)
    os.makedirs(home)
    subprocess.run(["git", "init", "-q", project], check=True)
    env = {"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    subprocess.run([sys.executable, str(ROOT / "bench" / "corpus.py"), str(number), home, project], env=env, check=True,
                   stdout=subprocess.DEVNULL)
    call(env, project, "index", "build")
    return env, project


def call(env: dict[str, str], project: str, *words: str) -> float:
    """Run a command and return the seconds of CPU that it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-I", str(ROOT / "memory"), *words], env=env, cwd=project, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def forget(env: dict[str, str]) -> None:
    """Delete what earlier runs kept."""
    for path in (Path(env["HOME"]) / ".dayleaf/cache").glob("*/*"):
        if path.suffix in (".facts", ".heads", ".audit"):
            path.unlink()


def edit(env: dict[str, str]) -> None:
    """Change one record, and wait until its time of change proves something."""
    path = min((Path(env["HOME"]) / ".dayleaf/workspaces").glob("*/learnings/*.md"))
    path.write_text(path.read_text(encoding="utf-8") + "\nOne more line.\n", encoding="utf-8")
    time.sleep(2.5)


def measured(env: dict[str, str], project: str, verb: str, runs: int) -> tuple[float, float, float]:
    """Return the seconds of CPU of a verb: the first time, the median of later times, after an edit."""
    first = []
    for _ in range(runs):
        forget(env)
        first.append(call(env, project, verb))
    later = [call(env, project, verb) for _ in range(runs)]
    edit(env)
    edited = call(env, project, verb)
    call(env, project, "index", "refresh")
    return statistics.median(first), statistics.median(later), edited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as top:
        stores = {number: made(top, number) for number in sorted({number for _, number, _ in GOALS})}
        for verb, number, goal in GOALS:
            spent = measured(*stores[number], verb, runs if number < 10000 else 2)
            print("%-7s %6d records  first %6.2f  again %6.2f  after an edit %6.2f s of CPU  goal %.1f" % (
                verb, number, *spent, goal), flush=True)


if __name__ == "__main__":
    main()
