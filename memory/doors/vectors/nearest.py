"""Nearest-neighbour search: the cosine of a query's vector with every int8 row."""

from __future__ import annotations

from contextlib import closing
from math import fsum, sqrt
from operator import mul

from memory.doors.vectors import vectorfile
from memory.doors.vectors.vectorfile import Sidecar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memory.core.layout import Place

MOST_PLAIN = 4_000  # rows up to which NumPy is not loaded
BLOCK = 4096  # rows turned to float32 at a time


def search(place: Place, vector: Any, limit: int, label: str = "") -> list[tuple[str, int, float]]:
    """Return (name, ordinal, similarity) of the sections nearest to a vector.

    At most `limit`, best first, ties by name and ordinal. vector: of any length but 0. label: of
    its provider, "" for no check. Similarity is -1 to 1, rounded to 6 digits, of a section's best
    chunk. Raises IndexFault for vectors that are absent, of another label or dimension, or damaged.
    """
    with closing(Sidecar(place)) as side:
        if len(vector) != side.dims or (label and side.label != label):
            raise vectorfile.make_fault(
                side.path, "made by another model (%s, %d numbers)" % (side.label, side.dims)
            )
        chunks = [chunk for chunk in side.chunks() if len(chunk[3]) == side.dims]
    score = _score_rows if len(chunks) <= MOST_PLAIN else _score_rows_with_numpy
    values = score(vector, [scale for *_, scale, _ in chunks], [row for *_, row in chunks])
    best: dict[tuple[str, int], float] = {}
    for at in sorted(range(len(chunks)), key=values.__getitem__, reverse=True):
        if len(best) >= limit:
            break
        name, ordinal, *_ = chunks[at]
        best.setdefault((vectorfile.decode_name(name), ordinal), values[at])
    return [(name, ordinal, value) for (name, ordinal), value in best.items()]


def _score_rows(vector: Any, scales: Sequence[float], rows: Sequence[bytes]) -> list[float]:
    """Return the cosine of every row, without NumPy."""
    length = sqrt(fsum(number * number for number in vector))
    query = [number / length for number in vector]
    return [
        round(max(-1.0, min(1.0, scale * sum(map(mul, query, memoryview(row).cast("b"))))), 6)
        for scale, row in zip(scales, rows)
    ]


def _score_rows_with_numpy(
    vector: Any, scales: Sequence[float], rows: Sequence[bytes]
) -> list[float]:
    import numpy as np

    query = np.asarray(vector, np.float32)
    query = query / np.sqrt(query @ query)
    numbers = np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), len(query))
    similar = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), BLOCK):
        similar[start : start + BLOCK] = numbers[start : start + BLOCK].astype(np.float32) @ query
    found: list[float] = rounded(similar * np.array(scales, np.float32)).tolist()
    return found


def rounded(similar: Any) -> Any:
    """Clip similarities to -1..1 and round them to 6 digits."""
    import numpy as np

    return np.clip(similar.astype(np.float64), -1.0, 1.0).round(6)
