#!/usr/bin/env python3
"""What `dayleaf store view` costs: from the address to the first sessions, and for each key of a
search, over loopback.

    bench/page.py [--records 10000] [--runs 5] [--dir DIR]

The store: learnings by corpus.py for six tenths, for the rest sessions of a year, to each a
conversation, three checkpoints and ten receipts.  The page runs as its own process.  Times are of a
client on loopback, whole answers; beside them stands what the page's process computed meanwhile
(Linux).  A key is the query typed so far, as the page's script asks it.
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

from memory.core import clock, layout
from memory.hook import receipts
from memory.index import builder

ROOT = Path(__file__).resolve().parent.parent
QUERIES = (
    "why does the token cache expire",
    "deploy timeout",
    "src/auth/parser.py",
    "migration of the postgres schema",
)
PAGES = (
    "/",
    "/?kind=all",
    "/?text=cache",
    "/?branch=feature-3",
    "/knowledge",
    "/knowledge?text=token",
    "/waiting",
    "/failures",
    "/charts",
    "/search?q=deploy+timeout",
    "/session/s00007",
    "/record/c000028",
)
FAILED = "- \u2717 `make %s` \u2192 exit 1: %s.c:12:3: error: %s is not declared\n- edited `%s.c`\n"


def sessions(place: layout.Place, count: int) -> None:
    """Write sessions on a few branches over a year: of each its conversation, three checkpoints,
    and receipts.
    """
    text = corpus.Text(11)
    for number in range(count):
        session, first = number // 4, time.time() - 365 * clock.DAY
        at = first + (364 * clock.DAY) * session / max(1, count // 4) + 600 * (number % 4)
        said = [" ".join(text.word() for _ in range(40)) for _ in range(6)]
        head = "title: %s\ncreated: %s\nsession: s%05d\nbranch: feature-%d\n" % (
            *(said[0][:60], clock.iso(at)),
            *(session, session % 9),
        )
        kind = "checkpoint" if number % 4 else "conversation"
        if kind == "checkpoint":
            body = "## Outcome\n\n- %s.\n\n## Next\n\n- %s.\n" % (said[0], said[1])
        else:
            word = text.word()
            failed = FAILED % (word, word, "token%d" % (session % 40), word)
            body = "\n".join(
                "## 09:%02d %s\n\n%s.\n\n%s- \u2713 `make test`\n\n%s.\n"
                % (n, one[:60], one, failed if n == 3 else "", one)
                for n, one in enumerate(said)
            )
            given(place, "s%05d" % session, at, text)
        folder = Path(place.private, kind + "s", clock.day(at))
        folder.mkdir(parents=True, exist_ok=True)
        Path(folder, "c%06d.md" % number).write_text(
            "---\nid: c%06d\nkind: %s\n%s---\n\n%s" % (number, kind, head, body)
        )


def given(place: layout.Place, session: str, at: float, text: corpus.Text) -> None:
    """Write what a session was given: ten receipts."""
    for turn in range(10):
        row = {"v": 1, "t": clock.iso(at + 60 * turn), "event": "prompt" if turn else "start"}
        chosen = [["m%06d" % text.random.randrange(200), 1.0, "words"] for _ in range(3)]
        more = {"prompt": "p%d" % turn, "chosen": chosen, "chars": 900, "tokens": 240, "ms": 9}
        receipts.write(place.receipts(session), {**row, **more})


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


def computed(process: subprocess.Popen[str]) -> float:
    """Return the milliseconds that all threads of a process have computed."""
    tasks = Path("/proc/%d/task" % process.pid).glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in tasks) / 1e6


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
    work: dict[str, list[float]] = {path: [] for path in PAGES}
    for _ in range(given.runs):
        began = time.perf_counter()
        page = subprocess.Popen(
            [sys.executable, "-I", str(ROOT / "memory"), "store", "view"],
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
            before = computed(page)
            spent, answer, body = fetched(int(port), base + each, cookie)
            assert answer.status == 200, (each, body)
            shown[each].append(spent)
            work[each].append(computed(page) - before)
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
        print("%-24s" % each, middle(times), " computed: %.0f ms" % statistics.median(work[each]))
    print("a key                   ", middle(keys), " most: %.0f, of %d" % (max(keys), len(keys)))


if __name__ == "__main__":
    main()
