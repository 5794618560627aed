"""Inverting documents for a segment: a plain loop for small stores, NumPy for large ones, the same
bytes from both.

Both take the text of each document (`add`) in the order of the documents' numbers and give the
whole index of terms (`inverted`).  Terms are numbered as they are first met, and postings stand in
that order: nothing is sorted over all of the index, and a posting is placed where it belongs by
counting (offset of its term + how many of the term came before).
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from memory.core import tokeniser
from memory.hook import segment

CHUNK_TOKENS = 1_500_000  # raw tokens that are taken apart and sorted at once: some 80 MB
# term number * documents + document must stay below, in one sort of 32-bit keys
KEY_LIMIT = 1 << 32


class TermIndex(NamedTuple):
    """An inverted index: terms by number, with their postings.

    terms: as text. entries: segment.ENTRY of each, one after another. ids, impacts: all postings,
        term after term; a term in more than CHAMPIONS documents has its champions first.
    """

    terms: Sequence[str]
    entries: bytes
    ids: bytes
    impacts: bytes


class Inverter(Protocol):
    """Builds an inverted index from documents, added in order."""

    def add(self, heading: str, body: str) -> None: ...

    def lengths(self) -> Sequence[int]: ...

    def invert(self, pushable: int, mean: float) -> TermIndex:
        """Return the inverted index of the documents.

        pushable: the first documents, which a prompt may get. mean: length of a document in terms.
        """


class _Raws(dict[str, int]):
    """Map raw tokens to numbers, in order of appearance.

    fresh: the tokens that came since it was last emptied.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fresh: list[str] = []

    def __missing__(self, raw: str) -> int:
        self.fresh.append(raw)
        number = self[raw] = len(self)
        return number


class Vocabulary:
    """Numbers raw tokens and terms in order of appearance.

    `learn` expands each raw token once. raws, terms: token or term -> number; a missing one gets
    the next number, in C. flat: the terms' numbers of all raw tokens, one after another; start,
    width: where each token's begin, and how many.
    """

    def __init__(self) -> None:
        self.raws = _Raws()
        self.terms: dict[str, int] = defaultdict(count().__next__)
        self.flat, self.start, self.width = array("I"), array("I"), array("B")
        self._stems = tokeniser.Stems()

    def learn(self) -> None:
        """Expand the raw tokens added since the last call."""
        number, flat, stems = self.terms.__getitem__, self.flat, self._stems.__getitem__
        expand, stem, stop = tokeniser.expand, tokeniser.stem, tokeniser.STOP
        starts, widths = [], []
        for raw in self.raws.fresh:
            starts.append(len(flat))
            # most tokens: a call less for each is a tenth of the build
            if raw.isascii() and raw.isalpha() and raw.islower() and len(raw) <= tokeniser.LONGEST:
                if raw in stop:
                    widths.append(0)
                else:
                    # each comes once: `stems` remembers the parts of identifiers
                    flat.append(number(stem(raw)))
                    widths.append(1)
                continue
            found = expand(raw, stop, stems)[:255]
            for term, _ in found:
                flat.append(number(term))
            widths.append(len(found))
        self.raws.fresh.clear()
        self.start.extend(starts)
        self.width.extend(widths)


class LoopInverter:
    """Inverts documents by a plain loop, with the standard library alone."""

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._vocabulary = Vocabulary()
        self._table = tokeniser.Table()
        self._postings: list[list[tuple[int, int]]] = []
        self._heading, self._shared_length = "", 0
        self._shared: dict[int, int] = {}

    def add(self, heading: str, body: str) -> None:
        if heading != self._heading:
            self._heading = heading
            self._shared, self._shared_length = self._count_terms(heading, {})
        counts, length = self._count_terms(body, dict(self._shared))
        length += self._shared_length
        postings, document = self._postings, len(self._lengths)
        while len(postings) < len(self._vocabulary.terms):
            postings.append([])
        for term, tf in counts.items():
            postings[term].append((document, tf))
        self._lengths.append(length)

    def _count_terms(self, text: str, counts: dict[int, int]) -> tuple[dict[int, int], int]:
        """Add a text's terms to `counts`; return (counts, number of terms)."""
        vocabulary = self._vocabulary
        flat, start, width = vocabulary.flat, vocabulary.start, vocabulary.width
        raws = Counter(map(vocabulary.raws.__getitem__, tokeniser.split(text, self._table)))
        vocabulary.learn()
        length = 0
        for number, times in raws.items():
            first, many = start[number], width[number]
            length += many * times
            for term in flat[first : first + many]:
                counts[term] = counts.get(term, 0) + times
        return counts, length

    def lengths(self) -> Sequence[int]:
        return self._lengths

    def invert(self, pushable: int, mean: float) -> TermIndex:
        entries, pack = [], segment.ENTRY.pack
        ids, impacts = array("I"), bytearray()
        # most postings share a few values
        impact = cache(lambda tf, length: segment.quantise_impact(min(tf, 65535), length, mean))
        for found in self._postings:
            docs = [doc for doc, _ in found]
            own = bytes([impact(tf, self._lengths[doc]) for doc, tf in found])
            push, most = bisect_left(docs, pushable), max(own)
            if len(docs) == 1:
                entries.append(pack(docs[0], most, 1, push, most))
                continue
            if len(docs) > segment.CHAMPIONS:
                # of equal ones the first
                rows = sorted(zip(docs, own), key=itemgetter(1), reverse=True)
                best = sorted(rows[: segment.CHAMPIONS])
                ids.extend([doc for doc, _ in best])
                impacts += bytes([impact for _, impact in best])
            entries.append(pack(len(ids) & 0xFFFFFFFF, len(ids) >> 32, len(docs), push, most))
            ids.extend(docs)
            impacts += own
        return TermIndex(
            list(self._vocabulary.terms), b"".join(entries), to_little_endian(ids), bytes(impacts)
        )


class _Chunk(NamedTuple):
    """Postings of neighbouring documents, grouped by term.

    counts: postings of each term. docs: document numbers, from `first`. tf: frequencies.
    """

    first: int
    terms: Any
    counts: Any
    docs: Any
    tf: Any


class NumpyInverter:
    """Inverts documents with NumPy, over whole arrays.

    Per word only `dict.__getitem__` runs, through `map`.
    """

    def __init__(self) -> None:
        import numpy

        self._np: Any = numpy
        self._vocabulary = Vocabulary()
        self._table = tokeniser.Table()
        self._raw, self._ends, self._done = array("I"), array("q"), 0
        self._measured: list[Any] = []
        self._chunks: list[_Chunk] = []
        self._heading, self._shared = "", array("I")

    def add(self, heading: str, body: str) -> None:
        vocabulary, ends = self._vocabulary, self._ends
        number = vocabulary.raws.__getitem__
        if heading != self._heading:
            self._heading = heading
            self._shared = array("I", map(number, tokeniser.split(heading, self._table)))
        self._raw.extend(self._shared)
        self._raw.extend(map(number, tokeniser.split(body, self._table)))
        ends.append(len(self._raw))
        # There are about as many terms as raw tokens; where there are more, the keys are wider.
        if (
            len(self._raw) >= CHUNK_TOKENS
            or len(ends) * len(vocabulary.raws) > KEY_LIMIT // 4 * 3
            or len(ends) >= 1 << 16
        ):
            self._flush()

    def lengths(self) -> Sequence[int]:
        self._flush()
        return [length for part in self._measured for length in part.tolist()]

    def _flush(self) -> None:
        """Sort and count the occurrences so far by term and document."""
        np = self._np
        if not self._ends:
            return
        self._vocabulary.learn()
        term, owner = self._list_occurrences()
        documents, terms = len(self._ends), len(self._vocabulary.terms)
        self._measured.append(np.bincount(owner, minlength=documents))
        kind = np.uint32 if documents * terms < KEY_LIMIT else np.uint64
        keys = term.astype(kind) * kind(documents) + owner.astype(kind)
        del term, owner
        keys.sort()
        first = self._find_starts(keys)
        tf = np.minimum(np.diff(first, append=len(keys)), 65535).astype(np.uint16)
        term, doc = np.divmod(keys[first], kind(documents))
        starts = self._find_starts(term)
        counts = np.diff(starts, append=len(term)).astype(np.uint32)
        self._chunks.append(
            _Chunk(self._done, term[starts].astype(np.uint32), counts, doc.astype(np.uint16), tf)
        )
        self._done += documents
        self._raw, self._ends = array("I"), array("q")

    def _find_starts(self, ordered: Any) -> Any:
        """Return the index of each value's first occurrence in a sorted array."""
        np = self._np
        is_first = np.ones(min(1, len(ordered)), bool)
        return np.flatnonzero(np.concatenate((is_first, ordered[1:] != ordered[:-1])))

    def _list_occurrences(self) -> tuple[Any, Any]:
        """Return (term, document in this chunk) of each occurrence."""
        np = self._np
        raw = np.frombuffer(self._raw, np.uint32)
        owner = np.repeat(
            np.arange(len(self._ends), dtype=np.uint32),
            np.diff(np.frombuffer(self._ends, np.int64), prepend=0),
        )
        flat = np.array(self._vocabulary.flat, np.uint32)
        start = np.array(self._vocabulary.start, np.int64)
        width = np.array(self._vocabulary.width, np.int64)
        each = width[raw]
        ends = np.cumsum(each)
        place = np.repeat(start[raw] - (ends - each), each)
        place += np.arange(len(place))
        return flat[place], np.repeat(owner, each)

    def invert(self, pushable: int, mean: float) -> TermIndex:
        np = self._np
        lengths = np.array(self.lengths(), np.float64)
        terms = list(self._vocabulary.terms)
        self._vocabulary = Vocabulary()  # a third of the memory, and no longer needed
        df = np.zeros(len(terms), np.int64)
        for chunk in self._chunks:
            df[chunk.terms] += chunk.counts
        room = np.where(df > segment.CHAMPIONS, df + segment.CHAMPIONS, np.where(df > 1, df, 0))
        at = np.cumsum(room) - room + np.where(df > segment.CHAMPIONS, segment.CHAMPIONS, 0)
        # Terms of one document have no room in the file: their postings stand after all others
        # until they are read off.
        alone = np.flatnonzero(df == 1)
        total = int(room.sum())
        at[alone] = total + np.arange(len(alone))
        ids, impacts = self._place_postings(total + len(alone), at, lengths, mean)
        push, most = self._measure_terms(at, ids, impacts, pushable)
        for number in np.flatnonzero(df > segment.CHAMPIONS).tolist():
            self._copy_champions(ids, impacts, int(at[number]), int(df[number]))
        at[alone] = ids[total:].astype(np.int64) | impacts[total:].astype(np.int64) << 32
        if sys.byteorder == "big":
            ids = ids.byteswap()
        # segment.ENTRY, column by column
        entries = np.empty(
            len(terms),
            [("low", "<u4"), ("high", "u1"), ("df", "<u4"), ("push", "<u4"), ("most", "u1")],
        )
        for name, column in (
            ("low", at & 0xFFFFFFFF),
            ("high", at >> 32),
            ("df", df),
            ("push", push),
            ("most", most),
        ):
            entries[name] = column
        return TermIndex(terms, entries.tobytes(), ids[:total].tobytes(), impacts[:total].tobytes())

    def _place_postings(self, size: int, at: Any, lengths: Any, mean: float) -> tuple[Any, Any]:
        """Return (document numbers, impacts) of all postings, each term's from `at` on."""
        np = self._np
        ids, impacts = np.full(size, segment.NO_DOCUMENT, np.uint32), np.zeros(size, np.uint8)
        norm = segment.K1 * (1.0 - segment.B + segment.B * lengths / mean)
        free = at.copy()
        while self._chunks:
            first, terms, counts, docs, tf = self._chunks.pop(0)
            ends = np.cumsum(counts, dtype=np.int64)
            place = np.repeat(free[terms] - (ends - counts), counts)
            place += np.arange(len(place))
            free[terms] += counts
            number = docs.astype(np.uint32) + np.uint32(first)
            ids[place] = number
            often = tf.astype(np.float64)
            # segment.quantise_impact, in double precision and in its order of operations: the two
            # inverters agree to the bit.
            value = often * (segment.K1 + 1.0) / (often + norm[number]) * segment.SCALE
            impacts[place] = np.clip(value.astype(np.int64), 1, 253)
        return ids, impacts

    def _measure_terms(self, at: Any, ids: Any, impacts: Any, pushable: int) -> tuple[Any, Any]:
        """Return (number of pushable documents, greatest impact) of each term."""
        np = self._np
        push, most = np.zeros(len(at), np.uint32), np.zeros(len(at), np.uint8)
        if len(at):
            order = np.argsort(at, kind="stable")
            # The champions' places are still empty: impact 0, and a document number above all.
            push[order] = np.add.reduceat(ids < pushable, at[order], dtype=np.uint32)
            most[order] = np.maximum.reduceat(impacts, at[order])
        return push, most

    def _copy_champions(self, ids: Any, impacts: Any, at: int, df: int) -> None:
        """Copy a term's best postings, its champions, before its list."""
        np = self._np
        order = np.argsort(-impacts[at : at + df].astype(np.int16), kind="stable")
        best = at + np.sort(order[: segment.CHAMPIONS])
        ids[at - segment.CHAMPIONS : at] = ids[best]
        impacts[at - segment.CHAMPIONS : at] = impacts[best]


def to_little_endian(numbers: Any) -> bytes:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    data: bytes = numbers.tobytes()
    return data
