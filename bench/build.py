#!/usr/bin/env python3
"""Building and refreshing the index, beside tantivy-py (1 thread) and bm25s on the same files in
the same run.

    bench/build.py [--dir DIR] [N ...]        N: records (10000 100000)

Every figure is a process of its own: CPU seconds of the whole build, peak memory, size on disk.
Tantivy and bm25s are left out where they are not installed (`pip install tantivy bm25s`).  Refresh:
one changed record, at 100 and at 100,000.
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

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus

from memory.core import layout
from memory.hook import indexview
from memory.index import builder as indexer


def place_of(folder: Path, count: int) -> layout.Place:
    home, project = folder / f"home-{count}", folder / f"project-{count}"
    if not (home / "prompts").exists():
        corpus.write(count, str(home), str(project))
    return layout.locate({"HOME": str(home)}, str(project))


def ours(place: layout.Place, target: Path) -> None:
    indexer.build(place, 1795271452.0)


def tantivy(place: layout.Place, target: Path) -> None:
    import tantivy as engine

    builder = engine.SchemaBuilder()
    builder.add_text_field("body", stored=False, tokenizer_name="en_stem")
    builder.add_text_field("path", stored=True, tokenizer_name="raw")
    target.mkdir(parents=True, exist_ok=True)
    writer = engine.Index(builder.build(), path=str(target)).writer(
        heap_size=200_000_000, num_threads=1
    )
    for entry in os.scandir(place.private + "/learnings"):
        with open(entry.path, encoding="utf8", errors="replace") as file:
            writer.add_document(engine.Document(body=file.read(), path=entry.path))
    writer.commit()
    writer.wait_merging_threads()


def bm25s(place: layout.Place, target: Path) -> None:
    import bm25s as engine

    texts = [
        Path(e.path).read_text(encoding="utf8", errors="replace")
        for e in os.scandir(place.private + "/learnings")
    ]
    retriever = engine.BM25()
    retriever.index(
        engine.tokenize(texts, stopwords="en", show_progress=False), show_progress=False
    )
    retriever.save(str(target))


def child(name: str, folder: Path, count: int) -> None:
    place, target = place_of(folder, count), folder / f"{name}-{count}"
    {"dayleaf": ours, "tantivy": tantivy, "bm25s": bm25s}[name](place, target)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024)


def refresh_ms(place: layout.Place, rounds: int = 200) -> float:
    """Return the median CPU milliseconds of telling the index that one known record changed."""
    name = "p/learnings/" + sorted(e.name for e in os.scandir(place.private + "/learnings"))[0]
    log = indexview.delta_path(place, indexer._read_generation(indexview.segment_path(place)))
    times = []
    for _ in range(rounds):
        start = time.process_time_ns()
        indexer.refresh(place, 1795271452.0, names=[name])
        times.append(time.process_time_ns() - start)
        os.unlink(log)
    return statistics.median(times) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "dayleaf-bench")
    parser.add_argument("--child", nargs=2)
    parser.add_argument("counts", nargs="*", type=int, default=[10000, 100000])
    args = parser.parse_args()
    if args.child:
        return child(args.child[0], args.dir, int(args.child[1]))
    for count in args.counts:
        place = place_of(args.dir, count)
        size = sum(e.stat().st_size for e in os.scandir(place.private + "/learnings"))
        best: dict[str, float] = {}
        for name in ("dayleaf", "tantivy", "bm25s") * 3:
            argv = [sys.executable, __file__, "--dir", str(args.dir), "--child", name, str(count)]
            out = subprocess.run(argv, capture_output=True, text=True)
            if out.returncode:
                continue
            cpu, memory = map(float, out.stdout.split())
            best[name] = min(cpu, best.get(name, 1e9))
            print(
                (
                    f"{count:7} {name:8} {cpu:6.2f} s CPU  {count / cpu:7.0f} "
                    f"files/s  {memory:4.0f} MB"
                ),
                flush=True,
            )
        ratio = os.path.getsize(indexview.segment_path(place)) / size
        print(
            f"{count:7} index / corpus {ratio:.2f}; speed against "
            + ", ".join(
                f"{n} {best[n] / best['dayleaf']:.2f}x" for n in ("tantivy", "bm25s") if n in best
            )
        )
    for count in (100, max(args.counts)):
        place = place_of(args.dir, count)
        indexer.build(place, 1795271452.0)
        print(f"{count:7} refresh after one changed record {refresh_ms(place):.3f} ms CPU")


if __name__ == "__main__":
    main()
