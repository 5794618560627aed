"""Inverting documents for a segment: a plain loop for small stores, NumPy for large ones, the same bytes from both.

Both take the text of each document in turn (`add`) and give (term, document numbers, term frequencies) in byte order of
the terms (`lists`), the numbers ascending after `order` renumbered them.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import Any, Dict, Iterator, List, Protocol, Sequence, Tuple

from memory import segment, text

CHUNK = 4_000_000  # term occurrences that are sorted at once: 64 MB


class Inverter(Protocol):
    """What a builder needs of either way to invert."""

    lengths: List[int]

    def add(self, content: str) -> None:
        """Take the text of the next document."""

    def lists(self, order: Sequence[int], pushable: int, mean: float) -> Iterator[Tuple[bytes, bytes, int, int, int]]:
        """Yield (term, postings as the segment stores them, df, pushable df, greatest impact) in byte order of the terms."""


class _Vocabulary(Dict[str, int]):
    """Raw token -> its number; a new one is expanded once, and its terms are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: defaultdict[str, int] = defaultdict()
        self.terms.default_factory = self.terms.__len__
        self.expansion: List[Tuple[int, ...]] = []
        self._stem = text.Stems().__getitem__

    def __missing__(self, raw: str) -> int:
        self[raw] = number = len(self)
        terms = self.terms
        self.expansion.append(tuple([terms[term] for term, _ in text.expand(raw, text.STOP, self._stem)]))
        return number


class Loop:
    """The plain loop, on the standard library alone."""

    def __init__(self) -> None:
        self.lengths: List[int] = []
        self._vocabulary = _Vocabulary()
        self._table = text.Table()
        self._postings: List[List[Tuple[int, int]]] = []

    def add(self, content: str) -> None:
        vocabulary, counts, length = self._vocabulary, {}, 0  # type: ignore[var-annotated]
        for raw in text.split(content, self._table):
            terms = vocabulary.expansion[vocabulary[raw]]
            length += len(terms)
            for term in terms:
                counts[term] = counts.get(term, 0) + 1
        postings, number = self._postings, len(self.lengths)
        while len(postings) < len(vocabulary.terms):
            postings.append([])
        for term, tf in counts.items():
            postings[term].append((number, tf))
        self.lengths.append(length)

    def lists(self, order: Sequence[int], pushable: int, mean: float) -> Iterator[Tuple[bytes, bytes, int, int, int]]:
        impact = segment.impact
        encoded = sorted((term.encode("utf-8", "replace"), number) for term, number in self._vocabulary.terms.items())
        for term, number in encoded:
            rows = sorted((order[doc], impact(float(tf), float(self.lengths[doc]), mean))
                          for doc, tf in self._postings[number])
            ids, impacts = array("I", [r[0] for r in rows]), bytes([r[1] for r in rows])
            best = b""
            if len(rows) > segment.CHAMPIONS:
                top = sorted(sorted(rows, key=lambda r: (-r[1], r[0]))[:segment.CHAMPIONS])
                best = array("I", [r[0] for r in top]).tobytes() + bytes([r[1] for r in top])
            push = sum(1 for r in rows if r[0] < pushable)
            yield term, best + ids.tobytes() + impacts, len(rows), push, max(impacts)


class Vectorised:
    """NumPy over whole arrays; per word only `dict.__getitem__` runs, through `map`."""

    def __init__(self) -> None:
        import numpy

        self._np: Any = numpy
        self.lengths: List[int] = []
        self._vocabulary = _Vocabulary()
        self._table = text.Table()
        self._raw, self._ends, self._done = array("I"), array("q"), 0
        self._chunks: List[Any] = []

    def add(self, content: str) -> None:
        self._raw.extend(map(self._vocabulary.__getitem__, text.split(content, self._table)))
        self._ends.append(len(self._raw))
        if len(self._raw) >= CHUNK:
            self._flush()

    def _flush(self) -> None:
        """Turn the raw tokens so far into sorted (term, document, frequency), packed in 64 bits: 24 + 24 + 16.

        Most raw tokens give one term and are looked up; only the others (identifiers, CJK runs) are expanded.
        """
        np = self._np
        if not self._ends:
            return
        width = np.fromiter(map(len, self._vocabulary.expansion), np.int32, len(self._vocabulary.expansion))
        start = np.cumsum(width, dtype=np.int32) - width
        flat = np.fromiter((t for e in self._vocabulary.expansion for t in e), np.uint32, int(width.sum()))
        raw = np.frombuffer(self._raw, np.uint32)
        ends = np.frombuffer(self._ends, np.int64)
        owner = np.repeat(np.arange(len(ends), dtype=np.uint32), np.diff(ends, prepend=0))
        each = width[raw]
        single, many = each == 1, each > 1
        terms, docs = [flat[start[raw[single]]]], [owner[single]]
        each, first = each[many], start[raw[many]]
        if len(each):
            total = int(each.sum())
            shift = first - (np.cumsum(each, dtype=np.int32) - each)
            terms.append(flat[np.repeat(shift, each) + np.arange(total, dtype=np.int32)])
            docs.append(np.repeat(owner[many], each))
        del raw, owner, single, many, each, first
        term, doc = np.concatenate(terms), np.concatenate(docs)
        self.lengths += np.bincount(doc, minlength=len(ends)).tolist()
        self._chunks.append(self._counted(term, doc))
        self._done += len(self._ends)
        del ends
        self._raw, self._ends = array("I"), array("q")

    def _counted(self, term: Any, doc: Any) -> Any:
        np = self._np
        keys = (term.astype(np.uint64) << np.uint64(24)) | (doc.astype(np.uint64) + np.uint64(self._done))
        keys.sort()
        new = np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1])))
        tf = np.minimum(np.diff(np.append(new, len(keys))), 65535).astype(np.uint64)
        return (keys[new] << np.uint64(16)) | tf

    def lists(self, order: Sequence[int], pushable: int, mean: float) -> Iterator[Tuple[bytes, bytes, int, int, int]]:
        np = self._np
        self._flush()
        encoded = sorted((term.encode("utf-8", "replace"), number) for term, number in self._vocabulary.terms.items())
        self._vocabulary = _Vocabulary()  # a third of the memory, and no longer needed
        rank = np.empty(len(encoded), np.uint64)
        rank[np.fromiter((n for _, n in encoded), np.int64, len(encoded))] = np.arange(len(encoded), dtype=np.uint64)
        final = np.asarray(order, np.uint64)
        keys = self._renumbered(rank, final)
        tf_mask, doc_mask = np.uint64(0xFFFF), np.uint64(0xFFFFFF)
        docs = ((keys >> np.uint64(16)) & doc_mask).astype(np.uint32)
        impacts = self._impacts(keys, docs, order, mean, tf_mask)
        keys >>= np.uint64(40)
        first = np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1])))
        present = keys[first].tolist()
        ends = np.append(first[1:], len(keys)).tolist()
        greatest = np.maximum.reduceat(impacts, first).tolist() if len(first) else []
        push = np.add.reduceat((docs < pushable).astype(np.uint32), first).tolist() if len(first) else []
        ids, raw = memoryview(docs).cast("B"), memoryview(impacts)
        for term, a, b, most, few in zip(present, first.tolist(), ends, greatest, push):
            best = b""
            if b - a > segment.CHAMPIONS:
                top = np.sort(np.argsort(-impacts[a:b].astype(np.int16), kind="stable")[:segment.CHAMPIONS]) + a
                best = docs[top].tobytes() + impacts[top].tobytes()
            yield encoded[term][0], best + bytes(ids[4 * a:4 * b]) + bytes(raw[a:b]), b - a, few, most

    def _renumbered(self, rank: Any, final: Any) -> Any:
        np = self._np
        keys, at = np.empty(sum(map(len, self._chunks)), np.uint64), 0
        while self._chunks:
            chunk = self._chunks.pop()
            doc = final[((chunk >> np.uint64(16)) & np.uint64(0xFFFFFF)).astype(np.uint32)]
            term = rank[(chunk >> np.uint64(40)).astype(np.uint32)]
            keys[at:at + len(chunk)] = (term << np.uint64(40)) | (doc << np.uint64(16)) | (chunk & np.uint64(0xFFFF))
            at += len(chunk)
        keys.sort()
        return keys

    def _impacts(self, keys: Any, docs: Any, order: Sequence[int], mean: float, tf_mask: Any) -> Any:
        """The formula of segment.impact in double precision, in slices: no temporaries as large as the postings."""
        np = self._np
        length = np.empty(len(order), np.float64)
        length[np.asarray(order, np.int64)] = self.lengths
        norm = segment.K1 * (1.0 - segment.B + segment.B * length / mean)
        impacts = np.empty(len(keys), np.uint8)
        for a in range(0, len(keys), 1 << 20):
            tf = (keys[a:a + (1 << 20)] & tf_mask).astype(np.float64)
            value = tf * (segment.K1 + 1.0) / (tf + norm[docs[a:a + (1 << 20)]]) * segment.SCALE
            impacts[a:a + (1 << 20)] = np.clip(value.astype(np.int64), 1, 253)
        return impacts
