#!/usr/bin/env python3
"""What a digest costs where no model is asked: CPU of whole commands, and the work inside the
process.

    bench/distill.py [--runs 20]

Prints: a kept digest in the process (ms); the same command again against `dayleaf --version` and
`dayleaf recall` (CPU of the whole process, ms and ratio); the extract of 50 records (ms); a whole
distill without a model (CPU, ms).  The store is synthetic (50 checkpoints of 1.4 KB in a scratch
home).
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

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from memory.core import config  # noqa: E402
from memory.distill import cache, extract, providerchain  # noqa: E402
from memory.distill.digests import Source  # noqa: E402

NOW = 1795271452.0
QUESTION = "why did the workers of the queue stop?"


def records(count: int) -> list[Source]:
    """Return checkpoints that share words and have a path, a number and a decision of their own."""
    rest = "The broker had closed the channel, the pool was full, and the log said nothing of it. "
    return [
        Source(
            "c%03d" % i,
            "checkpoint",
            "Queue, day %d" % i,
            NOW - 3600 * i,
            (
                "Worker %d stopped in queue/worker_%d.py after %d s.\n\n"
                % (i, i, 60 + i)
                + "Decided to raise max_attempts to %d, since "
                "the retries hid it.\n\n" % (i + 5) + rest * 14
            ),
            "p",
            "%064d" % i,
        )
        for i in range(count)
    ]


def cpu(words: list[str], env: dict[str, str], folder: str) -> float:
    """Return the CPU milliseconds of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-I", str(ROOT / "memory"), *words],
        cwd=folder,
        env=env,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def inside(work, runs: int) -> float:
    """Return the median milliseconds of a piece of work in this process."""
    spent = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        spent.append(1000 * (time.perf_counter() - start))
    return statistics.median(spent)


def main() -> None:
    """Measure, and print one figure a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        folder = home + "/project"
        os.mkdir(folder)
        settings = config.Config({**config.DEFAULTS}, {}, [])
        sources = records(50)

        def ask() -> providerchain.Digest:
            return providerchain.distill(
                QUESTION,
                sources,
                settings,
                env,
                home + "/.dayleaf",
                home + "/cache",
                NOW,
                "extract",
            )

        ask()
        from memory.core import layout

        place = layout.locate(env, folder)
        for source in sources:
            path = Path(place.path("p/checkpoints/2026-11-20/%s.md" % source.id))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                "---\nid: %s\ntitle: %s\n---\n\n%s" % (source.id, source.title, source.body)
            )
        cache.write_answer(
            place, "k", NOW, "x" * 2000, cache.hash_files(place), cache.stat_files([])
        )
        print("kept digest, in the process: %.2f ms" % inside(ask, runs))
        print(
            "kept answer of a command, in the process: %.2f ms"
            % inside(lambda: cache.read_answer(place, "k", NOW), runs)
        )
        print(
            "extract of 50 records: %.1f ms"
            % inside(lambda: extract.extract(QUESTION, sources), runs)
        )
        commands = {
            "--version": ["--version"],
            "workspace": ["workspace"],
            "recall": ["recall", QUESTION],
            "distill, the same command again": ["distill", QUESTION, "--provider", "extract"],
            "distill, the digest kept": [
                "distill",
                QUESTION,
                "--provider",
                "extract",
                "--since",
                "2020-01-01",
            ],
            "distill, nothing kept": ["distill", QUESTION, "--provider", "extract", "--no-cache"],
        }
        subprocess.run(
            [sys.executable, "-I", str(ROOT / "memory"), "index", "build"],
            cwd=folder,
            env=env,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        spent: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(runs + 1):  # interleaved, the first round warms
            for name, words in commands.items():
                spent[name].append(cpu(words, env, folder))
        base = statistics.median(spent["--version"][1:])
        for name, values in spent.items():
            middle = statistics.median(values[1:])
            print("%s: %.1f ms CPU, %.2fx of --version" % (name, middle, middle / base))


if __name__ == "__main__":
    main()
