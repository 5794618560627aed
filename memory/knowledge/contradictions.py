"""Learnings and rules that cannot both hold: pairs for a person to decide on.

A pair is two sentences of two records on the same subject: nearly all of their terms are the same,
and

    one says no where the other does not (`use X`, `do not use X`), or
    one gives another number in the same unit (`30 s`, `60 s`).

Records whose versions have none in common hold side by side, and so do two of which one links to
the other: somebody has decided.  Checkpoints tell what was, plans what shall be.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from memory.core import tokeniser
from memory.core.records import Record
from memory.distill.digests import clean
from memory.index.kept import FactCache, cached_fact
from memory.recall import sentences

T = TypeVar("T")
ANOTHER_NUMBER = "another number for the same thing"
KINDS = ("learning", "rule")
FEWEST = 2  # terms that two sentences share at least
# The share of these among those of the longer sentence; in Hangul and the like, of the shorter one.
SAME, SAME_WIDE = 0.85, 0.7
RARE, MOST = 8, 64  # terms that a text is looked up by, and texts looked at under each
REPEATED = 4  # how often the same sentence is looked at
LONGEST = 300  # characters of a sentence
_NEGATIONS = frozenset(
    "not no never don't doesn't didn't isn't aren't wasn't won't can't cannot "
    "shouldn't mustn't without avoid nicht kein keine keinen nie ohne не нет никогда".split()
)
# in scripts without spaces, or with particles
_NEGATION_PARTS = ("않", "없", "ない", "ません", "不", "没")
# Words that change no sense.
_FILLER_WORDS = frozenset("always must should do does did please we you to immer".split())
_NUMBER = re.compile(r"\d+(?:\.\d+)?(%|[a-zA-Z]{0,7})")  # with its unit
_LABELS_OF_NUMBERS = frozenset(
    "step case phase issue pr line task chapter section part round code status "
    "http version no".split()
)


class Side(NamedTuple):
    """One of two contradicting records, with its sentence."""

    record: Record
    said: str


class Contradiction(NamedTuple):
    """Two contradicting records, and in a few words why."""

    older: Side
    newer: Side
    why: str


class _Claim(NamedTuple):
    """A sentence prepared for comparison; negative: whether it denies."""

    said: str
    terms: frozenset[str]
    negative: bool
    numbers: tuple[str, ...]


class InvertedIndex(Generic[T]):
    """Finds things by the terms of their texts."""

    def __init__(self) -> None:
        self._under: dict[str, list[tuple[int, T]]] = {}
        self._count = 0

    def near(self, terms: Iterable[str], most: int = RARE) -> list[T]:
        """Return things that share one of the `most` rarest terms, oldest first."""
        rare = sorted(terms, key=lambda term: (len(self._under.get(term, ())), term))[:most]
        found = dict(row for term in rare for row in self._under.get(term, ())[-MOST:])
        return [found[number] for number in sorted(found)]

    def put(self, terms: Iterable[str], thing: T) -> None:
        for term in terms:
            self._under.setdefault(term, []).append((self._count, thing))
        self._count += 1


def find_contradictions(
    records: Iterable[Record], kept: FactCache | None = None
) -> list[Contradiction]:
    """Return each pair of contradicting records once, latest first."""
    shelf = InvertedIndex[tuple[Record, _Claim]]()
    seen: Counter[tuple[object, ...]] = Counter()
    found: dict[tuple[str, str], Contradiction] = {}
    every = (
        (one, claim) for one in records if one.kind in KINDS for claim in read_claims(one, kept)
    )
    for record, claim in every:
        for other, that in shelf.near(claim.terms, _count_lookup_terms(claim)):
            why = _find_contradiction(that, claim)
            if why and _may_conflict(other, record):
                sides = [Side(other, that.said), Side(record, claim.said)]
                sides.sort(key=lambda side: (side.record.created, side.record.name))
                pair = Contradiction(sides[0], sides[1], why)
                found.setdefault((pair.older.record.name, pair.newer.record.name), pair)
        seen[claim[1:]] += 1
        if seen[claim[1:]] <= REPEATED:
            shelf.put(claim.terms, (record, claim))
    latest = sorted(found.items(), key=lambda row: (-row[1].newer.record.created, row[0]))
    return [pair for _, pair in latest]


def _count_lookup_terms(claim: _Claim) -> int:
    """Return how many rare terms to look up to find every similar sentence."""
    count = len(claim.terms)
    return count if tokeniser.has_cjk(claim.said) else int((1 - SAME) * count) + 1


def _may_conflict(one: Record, other: Record) -> bool:
    """Tell whether two records may contradict: a version in common, no link."""
    if one.name == other.name or one.id == other.id:
        return False
    if one.versions and other.versions and not set(one.versions) & set(other.versions):
        return False
    return not any(
        link.target in (linked.id, linked.name)
        for record, linked in ((one, other), (other, one))
        for link in record.links
    )


def read_claims(record: Record, kept: FactCache | None) -> list[_Claim]:
    """Return the claims of a record's sentences, from the cache if possible."""
    rows = cached_fact(
        None if record.unsure else kept,
        record.name,
        record.checksum,
        "claims",
        lambda: [
            (claim.said, " ".join(claim.terms), claim.negative, claim.numbers)
            for claim in _extract_claims(record)
        ],
    )
    return [
        _Claim(said, frozenset(terms.split(" ")), negative, tuple(numbers))
        for said, terms, negative, numbers in rows
    ]


def _extract_claims(record: Record) -> Iterator[_Claim]:
    parts = sentences.extract_statements(clean(record.body))
    for sentence in dict.fromkeys(one.strip() for one in (record.title, *parts)):
        words = [_strip_word(word) for word in sentence.replace("’", "'").split()]
        is_number = [
            bool(_NUMBER.fullmatch(word)) and before not in _LABELS_OF_NUMBERS
            for before, word in zip(["", *words], words)
        ]
        said = (
            word
            for word, number in zip(words, is_number)
            if not number and word not in _NEGATIONS and word not in _FILLER_WORDS
        )
        terms = frozenset(tokeniser.index_terms(" ".join(said)))
        if len(sentence) <= LONGEST and len(terms) >= FEWEST:
            given = tuple(word for word, number in zip(words, is_number) if number)
            yield _Claim(sentence, terms, is_negative(sentence), given)


def _strip_word(raw: str) -> str:
    return raw.strip(".,;:!?\"'()[]*`").lower()


def is_negative(said: str) -> bool:
    """Tell whether a text has an odd number of negations."""
    words = sum(_strip_word(raw) in _NEGATIONS for raw in said.replace("’", "'").split())
    within = 0 if said.isascii() else sum(map(said.count, _NEGATION_PARTS))
    return (words + within) % 2 == 1


def _find_contradiction(one: _Claim, other: _Claim) -> str:
    """Return how two sentences contradict each other, or ""."""
    is_denied = one.negative != other.negative
    have_numbers = one.numbers and other.numbers
    if not (is_denied or have_numbers) or not _is_similar(one, other):
        return ""
    if is_denied:
        return "one says no" if one.numbers == other.numbers else ""
    return ANOTHER_NUMBER if _differ_in_one_number(one, other) else ""


def _differ_in_one_number(one: _Claim, other: _Claim) -> bool:
    differing = [(a, b) for a, b in zip(one.numbers, other.numbers) if a != b]
    units = {_NUMBER.sub(r"\1", number) for pair in differing for number in pair}
    return len(one.numbers) == len(other.numbers) and len(differing) == len(units) == 1


def _is_similar(one: _Claim, other: _Claim) -> bool:
    few, many = sorted((len(one.terms), len(other.terms)))
    wide = tokeniser.has_cjk(one.said) and tokeniser.has_cjk(other.said)
    shared = len(one.terms & other.terms)
    return shared >= FEWEST and shared >= (SAME_WIDE * few if wide else SAME * many)
