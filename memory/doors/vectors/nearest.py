"""The sections nearest to a query's vector: the cosine of the query with every int8 row."""

from __future__ import annotations

from contextlib import closing
from math import fsum, sqrt
from operator import mul

from memory.doors.vectors import vectorfile
from memory.doors.vectors.vectorfile import Sidecar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Sequence, Tuple

    from memory.core.layout import Place

PLAIN = 4_000  # rows up to which NumPy is not loaded for them
BLOCK = 4096  # rows turned to float32 at a time


def search(place: Place, vector: Any, limit: int, label: str = "") -> List[Tuple[str, int, float]]:
    """Return (name, ordinal, similarity) of the sections nearest to a query.

    Best first, ties by name and ordinal. vector: numbers, any length but 0. limit: how many. label:
    of the vector's provider, "" where the caller has compared it. Similarity is -1 to 1, rounded to
    6 digits; a section counts once, with its best chunk. Raises IndexFault for vectors that are
    absent, of another label or dimension, or damaged.
    """
    with closing(Sidecar(place)) as side:
        if len(vector) != side.dims or (label and side.label != label):
            raise vectorfile.fault(
                side.path, "made by another model (%s, %d numbers)" % (side.label, side.dims)
            )
        chunks = [chunk for chunk in side.chunks() if len(chunk[3]) == side.dims]
    similar = _plain if len(chunks) <= PLAIN else _vectorised
    values = similar(vector, [chunk[2] for chunk in chunks], [chunk[3] for chunk in chunks])
    best: Dict[Tuple[str, int], float] = {}
    for at in sorted(range(len(chunks)), key=values.__getitem__, reverse=True):
        if len(best) >= limit:
            break
        best.setdefault((vectorfile.text(chunks[at][0]), chunks[at][1]), values[at])
    return [(name, ordinal, value) for (name, ordinal), value in best.items()]


def _plain(vector: Any, scales: Sequence[float], rows: Sequence[bytes]) -> List[float]:
    """Return the similarity of every row, without NumPy."""
    length = sqrt(fsum(number * number for number in vector))
    query = [number / length for number in vector]
    return [
        round(max(-1.0, min(1.0, scale * sum(map(mul, query, memoryview(row).cast("b"))))), 6)
        for scale, row in zip(scales, rows)
    ]


def _vectorised(vector: Any, scales: Sequence[float], rows: Sequence[bytes]) -> List[float]:
    import numpy as np

    query = np.asarray(vector, np.float32)
    query = query / np.sqrt(query @ query)
    numbers = np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), len(query))
    similar = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), BLOCK):
        similar[start : start + BLOCK] = numbers[start : start + BLOCK].astype(np.float32) @ query
    found: List[float] = rounded(similar * np.array(scales, np.float32)).tolist()
    return found


def rounded(similar: Any) -> Any:
    """Return similarities limited to -1 to 1, rounded to 6 digits."""
    import numpy as np

    return np.clip(similar.astype(np.float64), -1.0, 1.0).round(6)
