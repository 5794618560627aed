#!/usr/bin/env python3
"""What upkeep costs, and what is left after a year of it.

    bench/upkeep.py [--records 10000]        seconds and memory of the plan, the apply, the second
                                             run, the undo
    bench/upkeep.py --year [--records 10000]  a simulated year: work, hand edits, branches, clocks
                                              that jump, upkeep every day

The store of the first holds learnings of tests/harness/notes.py: a twelfth are twins, a twelfth
near-misses.  Prints whole processes of `dayleaf` (CPU, seconds by the clock, peak memory), in a
scratch home.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from harness.notes import near_misses, planted  # noqa: E402
from harness.year import simulate  # noqa: E402

from memory.core import layout  # noqa: E402


def scratch() -> tuple[layout.Place, dict[str, str]]:
    """Make a home and a repository in it."""
    home = tempfile.mkdtemp(prefix="upkeep-")
    env = {"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "DAYLEAF_RUNTIME_AUTO": "0"}
    project = home + "/project"
    subprocess.run(["git", "init", "-q", project], env=env, check=True)
    return layout.locate(env, project), env


def timed(what: str, place: layout.Place, env: dict[str, str], *words: str) -> None:
    """Run a command and print its last lines, its time and its memory."""
    script = (
        "import resource, subprocess, sys, time; start = time.perf_counter();done = "
        "subprocess.run(sys.argv[1:], capture_output=True, text=True);print(done.stdout[-200:], "
        "done.stderr, sep='\\n');used = resource.getrusage(resource.RUSAGE_CHILDREN);print('%.2f s "
        "of CPU, %.2f s, %d MB' % (used.ru_utime + used.ru_stime, time.perf_counter() - start, "
        "used.ru_maxrss // 1024))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, sys.executable, "-I", str(ROOT / "memory"), *words],
        cwd=place.root,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stdout.split("\n") if line.strip()]
    said = next((line for line in reversed(lines[:-1]) if "record" in line), "")
    print("%-16s %s  %s" % (what, lines[-1], said), flush=True)


def costs(count: int) -> None:
    """Fill a store and time each command."""
    place, env = scratch()
    chance = random.Random(1)
    base, twins = planted(chance, count - 2 * (count // 12), count // 12)
    folder = Path(place.folder(layout.PRIVATE, "learning"))
    folder.mkdir(parents=True)
    for record in [*base, *twins, *near_misses(chance, base, count // 12)]:
        head = "---\nid: %s\ntitle: '%s'\ncreated: 2026-10-01\ntags: [%s]\n---\n\n" % (
            record.id,
            record.title.replace("'", "''"),
            ", ".join(record.tags),
        )
        (folder / (record.id + ".md")).write_text(head + record.body, encoding="utf-8")
    timed("plan", place, env, "upkeep")
    timed("apply", place, env, "upkeep", "--apply")
    timed("second run", place, env, "upkeep", "--apply")
    timed("contradictions", place, env, "audit", "contradictions")
    timed("undo", place, env, "undo")


def year(count: int) -> None:
    """Live through a year and print what was lost."""
    place, env = scratch()
    start = time.perf_counter()
    done = simulate(place, env, count)
    print(
        "%d records written, %d lines planted, %d lost; at the end %d records, %d in archives; %d "
        "merged, %d applies undone, %d runs without expiry for the clock; %.0f s"
        % (
            done.written,
            done.facts,
            len(done.lost),
            done.live,
            done.archived,
            done.merged,
            done.undone,
            done.doubts,
            time.perf_counter() - start,
        )
    )
    for line in done.lost[:10]:
        print("  lost: " + line)


def main() -> None:
    """Measure the costs or a year, as asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--year", action="store_true")
    given = parser.parse_args()
    (year if given.year else costs)(given.records)


if __name__ == "__main__":
    main()
