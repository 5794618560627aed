"""Learnings and rules that cannot both hold: pairs for a person to decide on.

A pair is two sentences of two records on the same subject: nearly all of their terms are the same,
and

    one says no where the other does not (`use X`, `do not use X`), or
    one gives another number for the same thing in the same sort of unit (`30 s`, `5 min`).

Records whose versions have none in common hold side by side, and so do two of which one links to
the other: somebody has decided.  Checkpoints tell what was, plans what shall be.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from memory.core import files, tokeniser
from memory.core.records import Record
from memory.distill.digests import clean
from memory.index.kept import Kept, cached_fact
from memory.recall import sentences

KINDS = ("learning", "rule")
FEWEST = 2  # terms that two sentences share at least
# The share of these among those of the longer sentence; in Hangul and the like, of the shorter one.
SAME, SAME_WIDE = 0.85, 0.7
MOST, REPEATED = 64, 4  # sentences looked at under a term; how often the same one is looked at
LONGEST = 300  # characters of a sentence
_NO = frozenset(
    "not no never don't doesn't didn't isn't aren't wasn't won't can't cannot "
    "shouldn't mustn't without avoid nicht kein keine keinen nie ohne не нет никогда".split()
)
# in scripts without spaces, or with particles
_NO_WITHIN = ("않", "없", "ない", "ません", "不", "没")
# Words that change no sense.
_PASSED = frozenset("always must should do does did please we you to immer".split())
_NUMBER = re.compile(
    r"(?<![\w./#:$-])(\d+(?:\.\d+)?)(?:\s?(%|[a-zA-Z]{1,7})(?![\w/:-]))?(?![\w/:-]|\.\d)"
)
_UNITS = {
    "ms": ("time", 0.001),
    "s": ("time", 1.0),
    "sec": ("time", 1.0),
    "second": ("time", 1.0),
    "min": ("time", 60.0),
    "minute": ("time", 60.0),
    "h": ("time", 3600.0),
    "hour": ("time", 3600.0),
    "d": ("time", 86400.0),
    "day": ("time", 86400.0),
    "b": ("size", 1.0),
    "byte": ("size", 1.0),
    "kb": ("size", 1e3),
    "mb": ("size", 1e6),
    "gb": ("size", 1e9),
    "kib": ("size", 1024.0),
    "mib": ("size", 1024.0**2),
    "gib": ("size", 1024.0**3),
    "%": ("%", 1.0),
}
_COUNTED = frozenset(
    "step case phase issue pr line task chapter section part round code status "
    "http version no".split()
)


class Side(NamedTuple):
    """One record of a pair, with its contradicting sentence."""

    record: Record
    said: str


class Pair(NamedTuple):
    """Two records that contradict each other, the older first.

    why: in a few words.
    """

    older: Side
    newer: Side
    why: str


class _Claim(NamedTuple):
    """The meaning of a sentence.

    terms: its terms. negative: whether it denies. numbers: (sort, value).
    """

    side: Side
    terms: frozenset[str]
    negative: bool
    numbers: tuple[tuple[str, float], ...]
    wide: bool


def pairs(
    records: Iterable[Record], kept: Kept | None = None, claimed: Kept | None = None
) -> list[Pair]:
    """Return the pairs that contradict each other, latest first.

    Each pair of records comes once. kept: cache of earlier runs. claimed: each record's claims.
    """
    named = {record.name: record for record in records if record.kind in KINDS}
    versions = repr([(name, one.checksum, one.created) for name, one in named.items()])
    of = files.sha256(versions.encode("utf-8", "backslashreplace"))
    found = cached_fact(
        kept,
        "",
        of,
        "contradictions",
        lambda: [
            (older.record.name, older.said, newer.record.name, newer.said, why)
            for older, newer, why in _pairs(
                [claim for record in named.values() for claim in claims(record, claimed)]
            )
        ],
    )
    return [
        Pair(Side(named[a], one), Side(named[b], other), why) for a, one, b, other, why in found
    ]


def _pairs(every: Sequence[_Claim]) -> list[Pair]:
    frequency = Counter(term for claim in every for term in claim.terms)
    rarest = sorted(frequency, key=lambda term: (frequency[term], term))
    order = {term: at for at, term in enumerate(rarest)}
    shelf: dict[str, list[_Claim]] = {}
    seen: Counter[tuple[object, ...]] = Counter()
    found: dict[tuple[str, str], Pair] = {}
    for claim in every:
        rare = _rare(claim, order)
        near = {id(one): one for term in rare for one in shelf.get(term, [])[-MOST:]}
        for other in near.values():
            why = _contradiction_of(other, claim)
            if why and _side_by_side(other.side.record, claim.side.record):
                older, newer = sorted((other.side, claim.side), key=_age)
                found.setdefault((older.record.name, newer.record.name), Pair(older, newer, why))
        seen[claim[1:]] += 1
        for term in rare if seen[claim[1:]] <= REPEATED else ():
            shelf.setdefault(term, []).append(claim)
    return sorted(
        found.values(),
        key=lambda pair: (
            -pair.newer.record.created,
            pair.older.record.name,
            pair.newer.record.name,
        ),
    )


def _age(side: Side) -> tuple[float, str]:
    return side.record.created, side.record.name


def _rare(claim: _Claim, order: Mapping[str, int]) -> list[str]:
    """Return the rarest terms of a sentence.

    Enough of them that any similar sentence shares one of its own rarest. order: rank of each term,
    the rarest first.
    """
    ordered = sorted(claim.terms, key=order.__getitem__)
    return ordered if claim.wide else ordered[: int((1 - SAME) * len(ordered)) + 1]


def _side_by_side(one: Record, other: Record) -> bool:
    """Tell whether two unlinked records hold in one place."""
    if one.name == other.name or one.id == other.id:
        return False
    if one.versions and other.versions and not set(one.versions) & set(other.versions):
        return False
    return not any(
        link.target in (b.id, b.name) for a, b in ((one, other), (other, one)) for link in a.links
    )


def claims(record: Record, kept: Kept | None) -> list[_Claim]:
    """Return a record's claims.

    kept: cache of earlier runs, used where its head can be read in one way only.
    """
    rows = cached_fact(
        None if record.unsure else kept,
        record.name,
        record.checksum,
        "claims",
        lambda: [
            (one.side.said, " ".join(one.terms), one.negative, one.numbers, one.wide)
            for one in _claims(record)
        ],
    )
    return [
        _Claim(
            Side(record, said),
            frozenset(terms.split(" ")),
            negative,
            tuple((sort, number) for sort, number in numbers),
            wide,
        )
        for said, terms, negative, numbers, wide in rows
    ]


def _claims(record: Record) -> list[_Claim]:
    parts = sentences.statements(clean(record.body))
    found = [
        _claim(record, sentence.strip())
        for sentence in dict.fromkeys([record.title, *parts])
        if len(sentence) <= LONGEST
    ]
    return [claim for claim in found if len(claim.terms) >= FEWEST]


def _claim(record: Record, said: str) -> _Claim:
    numbers: list[tuple[str, float]] = []
    bare = _NUMBER.sub(lambda match: _taken(match, numbers), said)
    raws = [_bare(raw) for raw in bare.replace("’", "'").split()]
    terms = frozenset(term for raw in raws for term in _terms(raw))
    wide = tokeniser.has_cjk(said)
    return _Claim(Side(record, said), terms, is_negative(said), tuple(numbers), wide)


def _taken(match: re.Match[str], numbers: list[tuple[str, float]]) -> str:
    """Note a number and leave a blank for it."""
    before = match.string[: match.start()].split()
    if before and _bare(before[-1]) in _COUNTED:
        return match[0]
    number, unit = match.groups()
    known = (unit or "").lower()
    known = known if known in _UNITS else known.removesuffix("s")
    sort, factor = _UNITS.get(known, ("", 1.0))
    numbers.append((sort, float(number) * factor))
    return " " if sort or not unit else " %s " % unit


def _bare(raw: str) -> str:
    return raw.strip(".,;:!?\"'()[]*`").lower()


@lru_cache(1 << 16)
def _terms(word: str) -> tuple[str, ...]:
    """Return the terms of a word; none of a negation."""
    if word in _NO or word in _PASSED:
        return ()
    return tuple(term for one in tokeniser.split(word + " ") for term, _ in tokeniser.expand(one))


def is_negative(said: str) -> bool:
    """Tell whether a text has an odd number of negations."""
    words = sum(_bare(raw) in _NO for raw in said.replace("’", "'").split())
    within = 0 if said.isascii() else sum(map(said.count, _NO_WITHIN))
    return (words + within) % 2 == 1


def _contradiction_of(one: _Claim, other: _Claim) -> str:
    """Return how two sentences contradict each other, or ""."""
    opposed = one.negative != other.negative or one.numbers and other.numbers
    if not opposed or not _alike(one, other):
        return ""
    if one.negative != other.negative:
        return "one says no" if one.numbers == other.numbers else ""
    differing = [(a, b) for a, b in zip(one.numbers, other.numbers) if a != b]
    alone = len(one.numbers) == len(other.numbers) and len(differing) == 1
    same_sort = alone and differing[0][0][0] == differing[0][1][0]
    return "another number for the same thing" if same_sort else ""


def _alike(one: _Claim, other: _Claim) -> bool:
    few, many = sorted((len(one.terms), len(other.terms)))
    wide = one.wide and other.wide
    if not wide and few < SAME * many:
        return False
    shared = len(one.terms & other.terms)
    return shared >= FEWEST and shared >= (SAME_WIDE * few if wide else SAME * many)
