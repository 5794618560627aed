#!/usr/bin/env python3
"""What redaction finds, what it takes by mistake, and what it costs.

    bench/redaction.py [--transcripts DIR] [--show]

Cases are those of tests/store/test_redactor.py and test_secretshapes.py and the labelled set of
tests/harness/leakset.py, made at run time.  Ordinary text is this repository's own without these
cases and the tables, in pieces of 100 KB (what stands around a find is read twice); the worst is
100 KB of each repetition attack.  --transcripts: counts the hits in `*.jsonl` of a client below a
folder too, for a person to judge, and says what 100 KB of these cost; --show prints each hit with
what stands before it.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "store")]

import test_redactor as cases  # noqa: E402
import test_secretshapes  # noqa: E402
from harness import leakset  # noqa: E402

from memory.store.redactor import find_secrets, redact  # noqa: E402

SIZE = 100_000
# Files of this repository that hold made-up secrets, or what secrets look like: no ordinary text.
APART = (
    "test_redactor.py",
    "test_byname.py",
    "test_byshape.py",
    "test_bytoken.py",
    "test_bylabel.py",
    "test_disguise.py",
    "test_leaks.py",
    "test_nothingleaks.py",
    "test_secretshapes.py",
    "leaks.py",
    "leakset.py",
    "secretshapes.py",
    "secretlabels.py",
    "secrettokens.py",
    "redaction.py",
)


def found() -> None:
    """Print how much of what is a secret goes, and of what only looks like one."""
    named = cases.named()
    missed = [
        text for text, value in named if value in redact("Before.\n" + text + "\nAfter.").text
    ]
    told = "own positive cases    %d of %d (%.3f)" % (
        len(named) - len(missed),
        len(named),
        1 - len(missed) / len(named),
    )
    print(told, *missed, sep="\n  ")
    tokens = [token for seed in range(20) for _, token in cases.vendor_tokens(seed)]
    missed = [token for token in tokens if token in redact("see %s." % token).text]
    print(
        "vendor shapes         %d of %d" % (len(tokens) - len(missed), len(tokens)),
        *missed,
        sep="\n  ",
    )
    taken = [text for text in cases.KEEP if find_secrets("One.\n" + text + "\nTwo.")]
    told = "hard negatives taken  %d of %d (%.1f %%)" % (
        len(taken),
        len(cases.KEEP),
        100 * len(taken) / len(cases.KEEP),
    )
    print(told, *taken, sep="\n  ")
    rng = random.Random(99)
    texts = ["\n".join("\n".join(cases.tool_lines(rng)) for _ in range(40)) for _ in range(40)]
    texts += [path.read_text("utf-8") for path in (ROOT / "tests/data/tooloutput").iterdir()]
    hits = [value for text in texts for value in find_secrets(text)]
    size = sum(map(len, texts)) / 1e6
    print("tool output           %d false hits in %.1f MB" % (len(hits), size), *hits, sep="\n  ")


def labelled(show: bool) -> None:
    """Print how many leaks of the labelled set go whole, by kind."""
    for name, leaks in (
        ("labelled set", leakset.leaks(9)),
        ("written afterwards", leakset.unseen(9)),
    ):
        every, gone = Counter[str](), Counter[str]()
        for leak in leaks:
            kind = leak.kind.split()[0]
            every[kind] += 1
            is_missed = leakset.missed(leak, redact("Before.\n" + leak.text + "\nAfter.").text)
            gone[kind] += not is_missed
            if is_missed and show:
                print("  missed %-10s %r" % (kind, leak.text))
        kinds = ", ".join("%s %d of %d" % (kind, gone[kind], every[kind]) for kind in every)
        went, all_of_them = sum(gone.values()), sum(every.values())
        print("%-21s %d of %d (%.3f): %s" % (name, went, all_of_them, went / all_of_them, kinds))


def spent(text: str, tries: int = 3) -> float:
    """Return milliseconds of CPU, the best of some tries."""
    best = 9.0
    for _ in range(tries):
        start = time.process_time()
        redact(text)
        best = min(best, time.process_time() - start)
    return best * 1000


def costs() -> None:
    """Print what 100 KB cost: ordinary ones and the worst."""
    paths = [
        path
        for end in ("py", "md", "txt")
        for path in sorted(ROOT.rglob("*." + end))
        if path.name not in APART
    ]
    whole = "\n".join(path.read_text("utf-8", "replace") for path in paths)
    times = sorted(spent(whole[at : at + SIZE]) for at in range(0, len(whole) - SIZE, SIZE))
    print(
        "ordinary 100 KB       p50 %.1f ms, p95 %.1f ms, %d pieces"
        % (statistics.median(times), times[int(len(times) * 0.95)], len(times))
    )
    made = {
        "%s/%d" % (name, number): one
        for name, many in test_secretshapes.rules()
        for number, one in enumerate(many)
    }
    fragments = {**cases.ATTACKS, **made}
    worst = sorted(
        ((spent((one * SIZE)[:SIZE], 2), name) for name, one in fragments.items()), reverse=True
    )
    print(
        "worst 100 KB          %s; of %d attacks"
        % (", ".join("%.0f ms (%s)" % row for row in worst[:4]), len(worst))
    )


def texts_of(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_of(item)


def transcripts(folder: Path, show: bool) -> None:
    """Print how often something is taken out of a client's transcripts, each record a document."""
    hits, texts = 0, []
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text("utf-8", "replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            message = record.get("message")
            content = message.get("content") if isinstance(message, dict) else None
            texts.append("\n".join(dict.fromkeys(texts_of([content, record.get("toolUseResult")]))))
            done = redact(texts[-1])
            hits += len(done.found)
            for value, mark in find_secrets(texts[-1]).items() if show and done.found else ():
                at = texts[-1].find(value)
                print(mark, repr(texts[-1][max(0, at - 60) : at]), repr(value[:60]))
    size = sum(map(len, texts))
    print(
        "transcripts           %d hits in %.1f MB (%.2f a MB)"
        % (hits, size / 1e6, hits / max(1, size) * 1e6)
    )
    whole = "\n".join(texts)
    times = sorted(spent(whole[at : at + SIZE]) for at in range(0, len(whole) - SIZE, 5 * SIZE))
    print(
        "transcripts 100 KB    p50 %.1f ms, p95 %.1f ms, %d pieces"
        % (statistics.median(times), times[int(len(times) * 0.95)], len(times))
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transcripts", type=Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    found()
    labelled(options.show)
    costs()
    if options.transcripts:
        transcripts(options.transcripts, options.show)


if __name__ == "__main__":
    main()
