"""The sections nearest to a query's vector.

Similarity is the cosine of the query with the int8 row.  Up to EXACT rows all are compared; beyond,
the rows whose signs differ least from the query's (Hamming distance of the codes) are found first:
CANDIDATES for each hit wanted, LEAST in all.  Every byte that counts is checked: the tables and
codes as a whole, a vector with its row.
"""

from __future__ import annotations

from math import fsum, sqrt
from operator import mul

from memory.doors.vectors import vectorfile
from memory.doors.vectors.vectorfile import Sidecar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Sequence, Tuple

    from memory.core.layout import Place

PLAIN = 4_000  # rows up to which NumPy is not loaded for them
EXACT = 10_000  # rows up to which a search compares all
# rows compared in full for each hit wanted, and at the least: 1.5 ms for 1,600
CANDIDATES, LEAST = 32, 1600
BLOCK = 4096  # rows turned to float32 at a time


def search(
    place: Place, vector: Any, limit: int, label: str = "", exact: bool = False
) -> List[Tuple[str, int, float]]:
    """Return (name, ordinal, similarity) of the sections nearest to a query.

    Best first, ties by name and ordinal. vector: numbers, any length but 0. limit: how many. label:
    of the vector's provider, "" where the caller has compared it. exact: compare all rows, however
    many. Similarity is -1 to 1, rounded to 6 digits; a section counts once, with its best chunk.
    Raises IndexFault for vectors that are absent, of another label or dimension, or damaged.
    """
    side = Sidecar(place)
    try:
        if len(vector) != side.dims or (label and side.meta.get("label") != label):
            raise vectorfile.fault(
                side.path,
                "made by another model (%s, %d numbers)" % (side.meta.get("label", ""), side.dims),
            )
        rows = side.rows + sum(len(stored.ordinals) for stored in side.log.values() if stored)
        found = (
            _all_similarities(side, vector)
            if rows <= PLAIN
            else _searched(side, vector, limit, exact)
        )
    finally:
        side.close()
    best: Dict[Tuple[str, int], float] = {}
    for name, ordinal, value in found:
        if value > best.get((name, ordinal), -2.0):
            best[name, ordinal] = value
    order = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return [(name, ordinal, value) for (name, ordinal), value in order[:limit]]


def _all_similarities(side: Sidecar, vector: Sequence[float]) -> List[Tuple[str, int, float]]:
    """Return the similarity of every row, without NumPy."""
    if not side.is_intact():
        raise vectorfile.fault(side.path, "damaged")
    length = sqrt(fsum(number * number for number in vector))
    query, dims = [number / length for number in vector], side.dims
    found = []
    for name, stored in side.each():
        numbers = memoryview(stored.numbers).cast("b")
        for row, (ordinal, scale) in enumerate(zip(stored.ordinals, stored.scales)):
            value = scale * sum(map(mul, query, numbers[row * dims : row * dims + dims]))
            found.append((name, ordinal, round(max(-1.0, min(1.0, value)), 6)))
    return found


def _searched(side: Sidecar, vector: Any, limit: int, exact: bool) -> List[Tuple[str, int, float]]:
    """Return the rows that may be among the nearest."""
    import numpy as np

    query = np.asarray(vector, np.float32)
    query = query / np.sqrt(query @ query)
    return _top(side, *_base(side, query, limit, exact), limit) + _logged(side, query)


def _base(side: Sidecar, query: Any, limit: int, exact: bool) -> Tuple[Any, Any]:
    """Return the rows of the file to compare, and their similarities."""
    import numpy as np

    live = np.ones(side.rows, bool)
    for number in side.replaced:
        first, after = side.span(number)
        live[first:after] = False
    if exact or side.rows <= EXACT:
        if not side.is_intact():
            raise vectorfile.fault(side.path, "damaged")
        chosen = np.flatnonzero(live)
    else:
        chosen = _nearest_codes(side.codes(), live, query, max(CANDIDATES * limit, LEAST))
        if next(side.damaged(chosen.tolist()), None) is not None:
            raise vectorfile.fault(side.path, "damaged vectors")
    numbers, similar = side.numbers(), np.empty(len(chosen), np.float32)
    for start in range(0, len(chosen), BLOCK):
        similar[start : start + BLOCK] = (
            numbers[chosen[start : start + BLOCK]].astype(np.float32) @ query
        )
    return chosen, rounded(similar * side.scales()[chosen])


def rounded(similar: Any) -> Any:
    """Return similarities limited to -1 to 1, rounded to 6 digits."""
    import numpy as np

    return np.clip(similar.astype(np.float64), -1.0, 1.0).round(6)


def _nearest_codes(codes: Any, live: Any, query: Any, count: int) -> Any:
    """Return the `count` live rows with the nearest codes."""
    import numpy as np

    signs = vectorfile.codes_of(query[None, :], len(query)).view("<u8")[0]
    distance = np.zeros(len(codes), np.uint16)
    # a column at a time: 3 times faster than summing the rows of one big array
    for column, word in enumerate(signs):
        distance += _bits(codes[:, column] ^ word)
    distance[~live] = 0xFFFF
    count = min(count, int(live.sum()))
    if not count:
        return np.empty(0, np.intp)
    last = np.partition(distance, count - 1)[count - 1]
    nearer, equal = np.flatnonzero(distance < last), np.flatnonzero(distance == last)
    return np.sort(np.concatenate((nearer, equal[: count - len(nearer)])))


def _bits(words: Any) -> Any:
    """Return the number of set bits of each uint64."""
    import numpy as np

    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(words)
    table = np.array([bin(i).count("1") for i in range(256)], np.uint8)
    return (
        table[np.ascontiguousarray(words).view(np.uint8)]
        .reshape(len(words), 8)
        .sum(1, dtype=np.uint8)
    )


def _top(side: Sidecar, chosen: Any, similar: Any, limit: int) -> List[Tuple[str, int, float]]:
    """Return the best sections of some rows, each once."""
    import numpy as np

    found: Dict[Tuple[str, int], float] = {}
    # rows stand in the order of names: equal ones stay in it
    for i in np.argsort(-similar, kind="stable"):
        if len(found) >= limit:
            break
        found.setdefault(side.locate(int(chosen[i])), float(similar[i]))
    return [(name, ordinal, value) for (name, ordinal), value in found.items()]


def _logged(side: Sidecar, query: Any) -> List[Tuple[str, int, float]]:
    """Return all rows of the log."""
    import numpy as np

    live = [(name, stored) for name, stored in side.log.items() if stored is not None]
    if not live:
        return []
    matrix = np.frombuffer(b"".join(stored.numbers for _, stored in live), np.int8).reshape(
        -1, side.dims
    )
    scales = np.array([scale for _, stored in live for scale in stored.scales], np.float32)
    places = [(name, ordinal) for name, stored in live for ordinal in stored.ordinals]
    similar = rounded((matrix.astype(np.float32) @ query) * scales)
    return [(name, ordinal, value) for (name, ordinal), value in zip(places, similar.tolist())]
