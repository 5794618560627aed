#!/usr/bin/env python3
"""Imports: a tree of 2,000 docs, and the transcripts of 500 sessions (1 GB).

    bench/imports.py [--docs 2000] [--sessions 500] [--megabytes 1000] [--quick]

Every figure is the command as a process of its own: seconds on the wall and of CPU, peak memory;
then the same command again.  The transcripts are those of `capture.py`: two of three as real ones
are (snapshots are most of the bytes), one of nothing but short turns, each with a compaction in it.
`--quick` is a tenth of the sessions and bytes.  What is generated is deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from capture import ROOT, turn
from corpus import Text

SNAPSHOT = json.dumps(
    {"type": "attachment", "attachment": {"type": "prompt_snapshot", "tools": "x" * 20000}}
)


def tree(folder: Path, docs: int) -> None:
    """Write docs of about 3 KB under four versions."""
    text = Text(7)
    for number in range(docs):
        path = folder / "docs" / f"v{number % 4 + 1}" / f"area{number % 20}" / f"page-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"## Part {n}\n\n" + " ".join(text.word() for _ in range(80)) for n in range(5)]
        path.write_text(f"# Page {number}\n\n" + "\n\n".join(parts) + "\n", encoding="utf-8")


def transcripts(folder: Path, project: Path, sessions: int, size: int) -> int:
    """Write transcripts of about `size` bytes in all, and return how many there are in truth."""
    total = 0
    for session in range(sessions):
        at = time.gmtime(1793000000 + 3600 * session)
        stamp, path = (
            time.strftime("%Y-%m-%dT%H:%M:%S.000Z", at),
            folder / f"session-{session:04d}.jsonl",
        )
        with path.open("w", encoding="utf-8") as file:
            number, compacted = 0, False
            while file.tell() < size // sessions:
                for at_row, row in enumerate(turn(number)):
                    row.update(
                        uuid=f"{session:04x}{number:04x}-{at_row:04x}-4000",
                        timestamp=stamp,
                        cwd=str(project),
                    )
                    file.write(json.dumps(row, separators=(",", ":")) + "\n")
                if session % 3:
                    file.write(SNAPSHOT + "\n")
                if not compacted and file.tell() > size // sessions // 2:
                    compacted = True
                    file.write(
                        json.dumps(
                            {"type": "system", "subtype": "compact_boundary", "timestamp": stamp}
                        )
                        + "\n"
                    )
                number += 1
            total += file.tell()
        os.utime(path, (1793000000 + 3600 * session,) * 2)
    return total


def run(*words: str, cwd: Path, home: Path) -> tuple[float, float, float, str]:
    """Run a command and return (seconds, CPU seconds, peak MB, its answer's first line)."""
    script = (
        "import resource, sys; sys.path.insert(0, sys.argv.pop(1)); from memory.cli import main as "
        "cli; status = cli.main(sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_SELF).ru_"
        "maxrss, file=sys.stderr); sys.exit(status)"
    )
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, str(ROOT), *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (
        time.perf_counter() - start,
        cpu,
        int(done.stderr.split()[-1]) / 1024,
        done.stdout.splitlines()[0],
    )


def twice(
    name: str, words: tuple[str, ...], amount: float, unit: str, cwd: Path, home: Path
) -> None:
    first, again = run(*words, cwd=cwd, home=home), run(*words, cwd=cwd, home=home)
    print(
        f"{name}: {amount / first[0]:.0f} {unit}/s on the wall, {amount / first[1]:.0f} of CPU "
        f"({first[0]:.2f} s, {first[1]:.2f} s), peak {first[2]:.0f} MB; {first[3]}"
    )
    print(
        f"  again: {100 * again[0] / first[0]:.0f} % of the wall, {100 * again[1] / first[1]:.0f} "
        f"% of the CPU ({again[0]:.2f} s); {again[3]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=2000)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    sessions, size = (
        (args.sessions // 10, args.megabytes // 10)
        if args.quick
        else (args.sessions, args.megabytes)
    )
    with tempfile.TemporaryDirectory(prefix="dayleaf-bench-") as tmp:
        if shutil.disk_usage(tmp).free < 2 * size * 1_000_000:
            sys.exit(f"{tmp}: less than {2 * size} MB free; set TMPDIR to a larger place")
        home, project = Path(tmp) / "home", Path(tmp) / "project"
        folder = home / ".claude" / "projects" / "-project"
        for path in (project, folder):
            path.mkdir(parents=True)
        tree(Path(tmp) / "reference", args.docs)
        twice(
            "tree",
            ("import", "tree", str(Path(tmp) / "reference")),
            args.docs,
            "files",
            project,
            home,
        )
        total = transcripts(folder, project, sessions, size * 1_000_000)
        took, cpu, _, said = run("import", "transcripts", "--dry-run", cwd=project, home=home)
        print(f"transcripts, a dry run: {took:.2f} s on the wall, {cpu:.2f} s of CPU; {said}")
        twice("transcripts", ("import", "transcripts"), total / 1e6, "MB", project, home)


if __name__ == "__main__":
    main()
