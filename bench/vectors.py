#!/usr/bin/env python3
"""Searching vectors as a process of its own, and embedding again after one edit.

    bench/vectors.py [--dir DIR] [--pairs 15] [N ...]        N: rows (10000 100000)

The vectors are synthetic: 384 numbers around one of N / 1000 random centres, as the sections of one
subject are.  A search is `python -I`: the query's vector out of the cache, the best 50 sections;
its CPU time stands against a bare interpreter's (`python -I -S -c pass`), pair by pair.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memory.core import config, layout
from memory.doors.vectors import embedder, vectorfile, vectors

ROOT = Path(__file__).resolve().parent.parent
DIMS, SPREAD, NOW = 384, 1.0, 1795271452.0
NUMPY = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import numpy"
COLD = (
    """import sys; sys.path.insert(0, sys.argv[1])
import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'
from memory.core import layout; from memory.doors.vectors import embedder, nearest
place = layout.locate({'HOME': sys.argv[2]}, sys.argv[3])
found = nearest.search(place, embedder.read_query_vector(place, 'synthetic', 'q', %r), 50)
assert len(found) == 50"""
    % NOW
)
PROVIDER = """import hashlib, json, sys
for line in sys.stdin:
    row = json.loads(line)
    digest = hashlib.sha512(row['text'].encode()).digest()
    print(json.dumps({'id': row['id'], 'vector': [byte - 127.5 for byte in digest]}))
"""


def synthetic(place: layout.Place, count: int) -> None:
    """Write a file of clustered vectors and keep a query that stands near one of them."""
    import numpy as np

    random = np.random.default_rng(7)
    centres = random.standard_normal((max(10, count // 1000), DIMS), np.float32)
    matrix = centres[random.integers(0, len(centres), count)] + SPREAD * random.standard_normal(
        (count, DIMS), np.float32
    )
    matrix /= np.sqrt((matrix * matrix).sum(1, keepdims=True))
    scales, numbers = vectorfile.quantise(matrix)
    stored = {
        f"p/learnings/l{i:06d}.md": vectorfile.RecordVectors(
            0, 0, b"", [(0, i.to_bytes(16, "little"), scales[i], numbers[i])]
        )
        for i in range(count)
    }
    os.makedirs(place.cache, exist_ok=True)
    with closing(vectorfile.Sidecar.create(place, place.key, "synthetic", "", DIMS)) as side:
        side.replace(stored)
    noise = 0.5 * SPREAD * random.standard_normal(DIMS, np.float32) / DIMS**0.5
    embedder.write_query_vector(place, "synthetic", "q", matrix[0] + noise, NOW)


def cpu(argv: list[str]) -> float:
    """Return the CPU milliseconds of a process."""
    pid = os.fork()
    if not pid:
        os.execv(argv[0], argv)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit("failed: " + " ".join(argv))
    return (usage.ru_utime + usage.ru_stime) * 1e3


def searching(folder: Path, count: int, pairs: int) -> None:
    home, project = folder / f"home-{count}", folder / f"project-{count}"
    for path in (home, project):
        path.mkdir(parents=True, exist_ok=True)
    place = layout.locate({"HOME": str(home)}, str(project))
    synthetic(place, count)
    found, bare = [], []
    for _ in range(pairs):
        bare.append(cpu([sys.executable, "-I", "-S", "-c", "pass"]))
        found.append(cpu([sys.executable, "-I", "-c", COLD, str(ROOT), str(home), str(project)]))
    numpy = statistics.median(cpu([sys.executable, "-I", "-c", NUMPY]) for _ in range(pairs))
    ours, base = statistics.median(found), statistics.median(bare)
    size = os.path.getsize(vectorfile.vectors_path(place)) / 1e6
    print(
        f"{count:7} rows, {size:5.1f} MB: search {ours:5.1f} ms CPU, bare {base:4.1f} ms, "
        f"{ours / base:4.1f}x (NumPy's import alone {numpy:5.1f} ms, "
        f"{numpy / base:4.1f}x)",
        flush=True,
    )


def editing(folder: Path, count: int = 300) -> None:
    """Print what is embedded again after one edit."""
    home, project = folder / "home-edit", folder / "project-edit"
    for path in (home, project):
        path.mkdir(parents=True, exist_ok=True)
    place = layout.locate({"HOME": str(home)}, str(project))
    learnings = Path(place.private) / "learnings"
    learnings.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        (learnings / f"l{i:03d}.md").write_text(
            f"---\ntitle: Note {i}\n---\n\n" + f"word{i} " * 400
        )
    script = folder / "provider.py"
    script.write_text(PROVIDER)
    settings = config.Config(
        {
            **config.DEFAULTS,
            "embeddings.provider.command": sys.executable,
            "embeddings.provider.args": ["-I", str(script)],
        },
        {},
        [],
    )
    provider = embedder.load_provider(settings, "", {"HOME": str(home)})
    assert provider is not None
    first = vectors.update(place, provider, {"PATH": os.environ["PATH"]}, NOW)
    (learnings / "l000.md").write_text("---\ntitle: Note 0\n---\n\n" + "other " * 400)
    second = vectors.update(place, provider, {"PATH": os.environ["PATH"]}, NOW)
    print(
        f"{count:7} records, {first.embedded + first.kept} chunks; one edited: {second.embedded} "
        f"chunks embedded, {second.kept} kept, {second.took * 1e3:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("counts", nargs="*", type=int, default=[10000, 100000])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.dir or Path(scratch)).resolve()
        for count in args.counts:
            searching(folder, count, args.pairs)
        editing(folder)


if __name__ == "__main__":
    main()
