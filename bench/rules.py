#!/usr/bin/env python3
"""CPU of the prompt hook with rules and links, and with stale records, against the same store
without: paired, interleaved runs.

    bench/rules.py [--runs 60] [--python /usr/bin/python3] [--rules 200] [--links 500] [--records
    1000]

Both stores hold the learnings of corpus.py and the kept context tags of a Python project.  The
second one holds approved rules too, each with two tags, and links: between learnings, and from
rules to learnings.  Measured twice: `apart`, with tags that no prompt speaks of, and `met`, with
the words that the prompts are made of, so that nearly every prompt gets rules.  Each round runs
both stores with the same prompt; the figure is the median of the rounds' ratios.  `stale`: the
second store has no rules, but half of its learnings name a file that is gone, and the worker's
marks say so.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus

import hooks
from memory.core import approvals, fastjson, files, layout
from memory.hook import context, indexview
from memory.index import builder

NOW = 1795271452.0
RULE = (
    "---\nid: r%04d\nkind: rule\ntitle: Rule %d on %s\nrationale: it failed\ntags: [%s]\n"
    "links: [%s]\n---\n\nAsk first.\n"
)


def add(env: dict[str, str], rules: int, links: int, words: list[str]) -> None:
    """Put approved rules with tags of `words` into a store, half of the links into its learnings
    and half into the rules.
    """
    pick, place = random.Random(11), layout.locate(env, env["CLAUDE_PROJECT_DIR"])
    learnings = sorted(Path(place.private, "learnings").glob("*.md"))
    ids = [path.name.split("-")[0] for path in learnings]
    for path in pick.sample(learnings, min(links // 2, len(learnings))):
        path.write_text(
            path.read_text().replace(
                "\ncreated: ", "\nlinks: [%s]\ncreated: " % pick.choice(ids), 1
            )
        )
    shares = [links // 2 // rules + (i < links // 2 % rules) for i in range(rules)]
    for number, share in enumerate(shares):
        path = Path(place.private, "rules", "r%04d.md" % number)
        path.parent.mkdir(parents=True, exist_ok=True)
        tags, targets = ", ".join(pick.sample(words, 2)), ", ".join(pick.sample(ids, share))
        data = RULE % (number, number, words[number % len(words)], tags, targets)
        files.replace(str(path), data.encode())
        approvals.append_decision(
            place.home,
            place.key,
            "r%04d" % number,
            files.sha256(data.encode()),
            "approve",
            "bench",
            NOW,
        )


def mark(env: dict[str, str]) -> None:
    """Mark every second learning of a store as stale, as the worker does
    (memory/project/stalemarks.py).
    """
    place = layout.locate(env, env["CLAUDE_PROJECT_DIR"])
    found = sorted(Path(place.private, "learnings").glob("*.md"))[::2]
    row = ["src/gone.py is gone", "src/gone.py", "", "src/gone.py"]
    data = {"v": 1, "records": {files.sha256(path.read_bytes())[:16]: [row] for path in found}}
    files.replace(indexview.marks_path(place), fastjson.dump(data).encode())


def stores(
    folder: Path, args: argparse.Namespace, words: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Make the two stores: without rules and links, and with; with marks in their place where there
    are no words.
    """
    found = []
    for name in ("without", "with"):
        env = hooks.store(folder / name, args.records, args.python, "learning")
        place = layout.locate(env, env["CLAUDE_PROJECT_DIR"])
        if name == "with" and words:
            add(env, args.rules, args.links, words)
        context.write_manifest_tags(
            place, dict.fromkeys(("python", "pytest-suite", "fastapi-app"), "pyproject.toml")
        )
        builder.build(place, NOW)
        if name == "with" and not words:
            mark(env)
        found.append(env)
    return found[0], found[1]


def measure(
    first: dict[str, str], second: dict[str, str], runs: int
) -> tuple[list[float], list[float]]:
    """Return CPU seconds of the prompt hook in each round without and with rules."""
    samples: tuple[list[float], list[float]] = ([], [])
    for turn in range(-3, runs):
        order = (0, 1) if turn % 2 else (1, 0)
        for which in order:
            env = (first, second)[which]
            prompts = sorted(Path(env["HOME"]).glob("prompts/*.json"))
            # each prompt the first of its session
            shutil.rmtree(Path(env["HOME"], ".dayleaf", "log"), ignore_errors=True)
            took = hooks.run(
                [str(hooks.ROOT / "hooks/run"), "prompt"], str(prompts[turn % len(prompts)]), env
            )
            if turn >= 0:
                samples[which].append(took)
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--python", default="/usr/bin/python3")
    for name, default in (("--rules", 200), ("--links", 500), ("--records", 1000)):
        parser.add_argument(name, type=int, default=default)
    args = parser.parse_args()
    for name, words in (
        ("apart", ["zz%s" % word for word in corpus.TECH]),
        ("met", corpus.TECH),
        ("stale", []),
    ):
        with tempfile.TemporaryDirectory(prefix="dayleaf-rules-") as folder:
            first, second = stores(Path(folder), args, words)
            without, with_ = measure(first, second, args.runs)
        ratios = sorted(b / a for a, b in zip(without, with_))
        print(
            f"{name:6} without {1000 * statistics.median(without):6.2f} ms  with "
            f"{1000 * statistics.median(with_):6.2f} ms  x{statistics.median(ratios):.2f}  p95 "
            f"x{ratios[int(len(ratios) * 0.95)]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
