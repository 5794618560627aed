#!/usr/bin/env python3
"""Two users of one repository, and two and three machines of one person: is anything lost or
doubled?

    bench/team.py [--edits 500] [--seeds 1]

Prints, for each: edits (of which some rename, forget, restore or remove), conflicts that were
named, lines lost, lines and ids doubled, files in which the machines differ, and seconds, in a
scratch directory.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from harness import machines, team  # noqa: E402

NOW = 1795271452.0


def users(root: Path, env: dict[str, str], edits: int, seed: int) -> str:
    """Let two users edit, each in a clone, between pulls."""
    both = [team.Member(root, name, env, NOW) for name in ("alex", "kim")]
    lines, conflicts = team.work(both, edits, seed)
    lost, doubled = team.judged(both, lines)
    return "%d edits, %d conflicts named, %d lost, %d doubled" % (
        len(lines),
        conflicts,
        len(lost),
        len(doubled),
    )


def homes(
    root: Path, env: dict[str, str], edits: int, seed: int, count: int, git: bool, hard: bool
) -> str:
    """Let the machines of one person meet in a folder or a git repository."""
    where = str(root / "box")
    if git:
        where += ".git"
        os.system("git init -q --bare '%s'" % where)
    else:
        os.mkdir(where)
    first = machines.Machine(root, "desk", env, NOW).set_up(where)
    every = [
        first,
        *(
            machines.Machine(root, name, env, NOW).set_up(where, first.key)
            for name in ("lap", "tower")[: count - 1]
        ),
    ]
    work = machines.Work(every, seed)
    steps = 0
    while len(work.lines) < edits:
        work.step(hard)
        steps += 1
    rounds = machines.quiet(every)
    again = sum(report.sent + report.taken for report in (one.sync() for one in every))
    said = (
        "%d edits in %d steps, %d conflicts named, %d lost, %d doubled, %d differ, at rest after "
        "%d rounds, %d by a further"
    )
    return said % (
        len(work.lines),
        steps,
        len(first.sync().conflicts),
        len(work.lost()),
        len(work.doubled()),
        len(machines.agree(every)),
        rounds,
        again,
    )


def main() -> None:
    """Print a line for each way and seed."""
    words = argparse.ArgumentParser()
    words.add_argument("--edits", type=int, default=500)
    words.add_argument("--seeds", type=int, default=1)
    given = words.parse_args()
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    for seed in range(1, given.seeds + 1):
        for what, way in (
            ("two users, git", lambda root: users(root, env, given.edits, seed)),
            (
                "two machines, folder",
                lambda root: homes(root, env, given.edits, seed, 2, False, False),
            ),
            (
                "two machines, folder, removals",
                lambda root: homes(root, env, given.edits, seed, 2, False, True),
            ),
            ("two machines, git", lambda root: homes(root, env, given.edits, seed, 2, True, False)),
            (
                "three machines, folder",
                lambda root: homes(root, env, given.edits, seed, 3, False, False),
            ),
        ):
            with tempfile.TemporaryDirectory(prefix="team-") as folder:
                start = time.monotonic()
                print(
                    "%-30s  %s, %.0f s" % (what, way(Path(folder)), time.monotonic() - start),
                    flush=True,
                )


if __name__ == "__main__":
    main()
