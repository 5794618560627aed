"""Estimate how likely each unit of the sources is to answer a question.

    p(unit) = p(record) p(unit | record)

p(record) is (score / best score)^8, where recall gave scores, else 1 / rank, times e^(2 relevance of its best unit); over
their sum.  p(unit | record) is the softmax over the record's units of

    3.5 relevance      BM25 (k1 1.2, b 0.75; idf over all units) of the question's terms, over the best unit's
    2.0 neighbours     the better relevance of the two units beside it
    0.6 log length     of the quote in bytes: what is longer holds more
    0.7 item           it is a list item
    0.25 number        it holds a digit
    1.5 asked          for each way in which it looks like an answer: a number for `how many`, a reason for `why` (cues.py)
   -1.5 / (1 + order)  what opens a record mostly says its title again

and, where nothing is relevant, of how technical it is and whether it tells a decision or a failure.
The weights are those of a conditional logit over labelled questions, rounded (evals/README.md).
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Callable, FrozenSet, List, NamedTuple, Sequence, Tuple

from memory.core import tokeniser
from memory.distill import cues
from memory.distill.digests import Source, clean
from memory.distill.units import Unit, quoted
from memory.hook.segment import K1, B

SHARPNESS, PEAK = 8.0, 2.0  # exponent of a record's score; factor of the relevance of its best unit
MUTE = 0.1  # in its place for a record without a word of the question, where others have one
RELEVANCE, NEIGHBOURS, LENGTH, ITEM, NUMBER, ASKED, OPENING, CONTENT = 3.5, 2.0, 0.6, 0.7, 0.25, 1.5, -1.5, 3.0
HEADED = 0.3  # of a term's idf, where it stands in the title or heading alone
SLIGHT = 0.2  # factor of a unit of one or two plain words, and of a line of a log that reports nothing amiss


class Likely(NamedTuple):
    """Terms and likelihood of each unit, the likelihood of each record, and whether any unit holds a term of the question."""

    bags: List[FrozenSet[str]]
    chances: List[float]
    records: List[float]
    relevant: bool


def likely(question: str, sources: Sequence[Source], units: Sequence[Unit]) -> Likely:
    """Return how likely each unit is to answer a question.

    sources: best first.  units: of all sources, each source's in their order.
    """
    terms = _counter()
    counts = [Counter(terms(unit.text)) for unit in units]
    relevance = _relevance(question, sources, units, counts, terms)
    best = max(relevance, default=0.0)
    relevance = [value / best if best else 0.0 for value in relevance]
    at = {(unit.source, unit.order): value for unit, value in zip(units, relevance)}
    records, looks = _records(sources, units, relevance), cues.wanted(question)
    raw = []
    for unit, value in zip(units, relevance):
        s, o = unit.source, unit.order
        beside = max(at.get((s, o - 1), 0.0), at.get((s, o + 1), 0.0))
        said = quoted(unit)
        raw.append(_weight(unit.text) * math.exp(
            RELEVANCE * value + NEIGHBOURS * beside + LENGTH * math.log(len(said.encode()) + 1) + ITEM * (unit.kind == "item")
            + NUMBER * any(c.isdigit() for c in said) + ASKED * looks(said) + OPENING / (1 + o)
            + (0 if best else CONTENT * cues.telling(unit.text))))
    whole = [0.0] * len(sources)
    for unit, mass in zip(units, raw):
        whole[unit.source] += mass
    chances = [records[unit.source] * mass / whole[unit.source] for unit, mass in zip(units, raw)]
    return Likely([frozenset(count) for count in counts], chances, records, best > 0)


def _records(sources: Sequence[Source], units: Sequence[Unit], relevance: Sequence[float]) -> List[float]:
    """Return each record's share of the likelihood."""
    peak = [0.0] * len(sources)
    for unit, value in zip(units, relevance):
        peak[unit.source] = max(peak[unit.source], value)
    top = max((source.score for source in sources), default=0.0)
    raw = []
    for rank, (source, best) in enumerate(zip(sources, peak)):
        share = (max(source.score, 0.0) / top) ** SHARPNESS if top > 0 else 1 / (1 + rank)
        raw.append(share * (math.exp(PEAK * best) if best or not any(peak) else MUTE))
    return [value / (sum(raw) or 1.0) for value in raw]


def _relevance(question: str, sources: Sequence[Source], units: Sequence[Unit], counts: Sequence[Counter[str]],
               terms: Callable[[str], List[str]]) -> List[float]:
    around = {(u.source, u.heading, u.label) for u in units}
    headed = {key: frozenset(terms(" ".join((sources[key[0]].title, *key[1:])))) for key in around}
    number = len(units)
    seen = Counter(term for count in counts for term in count)
    query = [(term, weight * math.log(1 + (number - seen[term] + 0.5) / (seen[term] + 0.5)))
             for term, weight in tokeniser.terms(clean(question))]
    mean = sum(sum(count.values()) for count in counts) / max(number, 1) or 1.0
    out = []
    for unit, count in zip(units, counts):
        norm = K1 * (1 - B + B * sum(count.values()) / mean)
        near = headed[(unit.source, unit.heading, unit.label)]
        out.append(sum(idf * max(count[term] * (K1 + 1) / (count[term] + norm), HEADED * (term in near)) for term, idf in query))
    return out


def _weight(value: str) -> float:
    if cues.is_routine(value):
        return SLIGHT
    words = len(value.split()) + sum(map(tokeniser.is_cjk, value)) / 4
    return 1.0 if words >= 3 or cues.technical(value) else SLIGHT


def _counter() -> Callable[[str], List[str]]:
    """Return a function from text to terms that expands each distinct raw token once."""
    table = tokeniser.Table()
    known: dict[str, Tuple[str, ...]] = {}

    def terms(value: str) -> List[str]:
        out: List[str] = []
        for raw in tokeniser.split(value, table):
            if raw not in known:
                known[raw] = tuple(term for term, _ in tokeniser.expand(raw))
            out.extend(known[raw])
        return out

    return terms
