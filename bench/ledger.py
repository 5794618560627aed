#!/usr/bin/env python3
"""The ledger at 100 and at 1,000,000 lines: an append, the fold of all lines, and the fold of what
came since.

    bench/ledger.py [--lines 1000000] [--records 10000]

Appends are of whole lines through the module, as a hook's worker makes them; medians of interleaved
runs.  CPU of this process.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memory.store import ledger

NOW = 1795271452.0
RUNS = 400


def written(folder: Path, lines: int, records: int) -> ledger.Ledger:
    """Write a ledger: nine uses for each outcome."""
    pick = random.Random(7)
    book = ledger.Ledger(str(folder / ("%d.jsonl" % lines)), str(folder / ("cache-%d" % lines)))
    with open(book.path, "w", encoding="ascii") as file:
        for _ in range(lines):
            event = pick.choices(ledger.EVENTS, (90, 5, 3, 2))[0]
            file.write(
                '{"v":1,"t":"2026-11-21T14:30:52Z","id":"l-%08x","event":"%s",'
                '"session":"%08x","prompt":"%08x"}\n'
                % (pick.randrange(records), event, pick.randrange(1 << 32), pick.randrange(1 << 32))
            )
    return book


def seconds(work, *words) -> float:
    """Return the CPU that one call takes."""
    start = time.process_time()
    work(*words)
    return time.process_time() - start


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--records", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ledger-") as name:
        books = {lines: written(Path(name), lines, args.records) for lines in (100, args.lines)}
        times: dict[int, list[float]] = {lines: [] for lines in books}
        for number in range(RUNS):
            for lines, book in books.items():
                times[lines].append(
                    seconds(ledger.append_event, book, "l-1", "use", NOW, "s%d" % number, "p")
                )
        for lines, taken in times.items():
            print(f"append at {lines:,} lines: {statistics.median(taken) * 1e6:.1f} us")
        print(f"ratio: {statistics.median(times[args.lines]) / statistics.median(times[100]):.2f}")
        book = books[args.lines]
        print(f"first fold of {args.lines:,} lines: {seconds(ledger.read, book):.2f} s")
        later = []
        for number in range(20):
            ledger.append_event(book, "l-1", "use", NOW, "t%d" % number, "p")
            later.append(seconds(ledger.read, book))
        print(
            f"fold after one more line: {statistics.median(later) * 1e3:.1f} ms, at most "
            f"{max(later) * 1e3:.1f} ms"
        )


if __name__ == "__main__":
    main()
