#!/usr/bin/env python3
"""What `dayleaf store view` costs: from the address to the first sessions, and for each key of a
search, over loopback.

    bench/page.py [--records 10000] [--runs 5] [--dir DIR]

The store: learnings by corpus.py for six tenths, for the rest checkpoints of sessions, four to
each, with turns and outcomes.  The page runs as its own process; times are of a client on loopback,
whole answers.  A key is the query typed so far, as the page's script asks it.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus

from memory.core import layout
from memory.index import builder

ROOT = Path(__file__).resolve().parent.parent
QUERIES = (
    "why does the token cache expire",
    "deploy timeout",
    "src/auth/parser.py",
    "migration of the postgres schema",
)
PAGES = ("/", "/?by=day", "/walls", "/review", "/graph", "/topics", "/stats")


def sessions(place: layout.Place, count: int) -> None:
    """Write checkpoints of sessions on a few branches."""
    text = corpus.Text(11)
    for number in range(count):
        session, day = number // 4, 1 + number % 21
        said = [" ".join(text.word() for _ in range(40)) for _ in range(6)]
        body = "## Outcome\n\n- %s.\n\n## Next\n\n- %s.\n\n## Turns\n\n%s\n" % (
            said[0],
            said[1],
            "\n".join("- 09:%02d %s → %s." % (n, one[:60], one) for n, one in enumerate(said[2:])),
        )
        path = Path(place.private, "checkpoints", "2026-11-%02d" % day, "c%06d.md" % number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "---\nid: c%06d\nkind: checkpoint\ntitle: %s\n"
            "created: 2026-11-%02dT09:%02d:00Z\nsession: s%05d\n"
            "branch: feature-%d\n---\n\n%s"
            % (number, said[0][:60], day, number % 60, session, session % 9, body)
        )


def fetched(
    port: int, path: str, cookie: str = ""
) -> tuple[float, http.client.HTTPResponse, bytes]:
    """Return (milliseconds, answer, body) of one request."""
    began = time.perf_counter()
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    link.request("GET", path, headers={"Cookie": cookie} if cookie else {})
    answer = link.getresponse()
    body = answer.read()
    return 1000 * (time.perf_counter() - began), answer, body


def middle(values: list[float]) -> str:
    """Write the median and the 95th percentile of some times."""
    ordered = sorted(values)
    return "%4.0f ms  (95 %%: %.0f)" % (
        statistics.median(ordered),
        ordered[max(0, -(-len(ordered) * 95 // 100) - 1)],
    )


def main() -> None:
    """Make the store, start the page, ask it."""
    options = argparse.ArgumentParser()
    options.add_argument("--records", type=int, default=10000)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--dir", default=os.path.join(tempfile.gettempdir(), "dayleaf-bench-page"))
    given = options.parse_args()
    home, project = (
        os.path.join(given.dir, "%s-%d" % (name, given.records)) for name in ("home", "project")
    )
    if not os.path.exists(home):
        place = corpus.write(given.records * 6 // 10, home, project)
        sessions(place, given.records - given.records * 6 // 10)
        builder.build(place, time.time())
    env = {"HOME": home, "PATH": os.defpath, "LANG": "C.UTF-8"}
    firsts, starts, shown, keys = [], [], {path: [] for path in PAGES}, []
    for _ in range(given.runs):
        began = time.perf_counter()
        page = subprocess.Popen(
            [sys.executable, "-I", str(ROOT / "memory"), "view"],
            cwd=project,
            env=env,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        address = next(line.strip() for line in page.stdout if "http" in line)
        starts.append(1000 * (time.perf_counter() - began))
        port, path = re.match(r"http://127.0.0.1:(\d+)(.*)", address).groups()
        took, answer, _ = fetched(int(port), path)
        cookie, base = answer.headers["Set-Cookie"].partition(";")[0], path.partition("/open/")[0]
        for each in PAGES:
            spent, answer, body = fetched(int(port), base + each, cookie)
            assert answer.status == 200, (each, body)
            shown[each].append(spent)
        firsts.append(took + shown["/"][-1])
        for query in QUERIES:
            for end in range(1, len(query) + 1):
                keys.append(
                    fetched(
                        int(port),
                        base + "/search?live=1&q=" + query[:end].replace(" ", "+"),
                        cookie,
                    )[0]
                )
        page.terminate()
        page.wait()
    print("%d records, %d runs" % (given.records, given.runs))
    print("command to address      ", middle(starts))
    print("address to first sessions", middle(firsts))
    for each, times in shown.items():
        print("%-24s" % each, middle(times))
    print("a key                   ", middle(keys), " most: %.0f, of %d" % (max(keys), len(keys)))


if __name__ == "__main__":
    main()
