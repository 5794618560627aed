"""Search: BM25 over the segment and the delta, rarest terms first, exact where it is cheap and bounded where it is not.

Score of a document: sum over the query's terms of weight * idf * impact / 115, with idf = ln(1 + (N - df + 0.5) / (df + 0.5))
(Robertson and Sparck Jones, as Lucene writes it).  Terms are read from the rarest on; reading stops when no unseen document
can still enter the best `limit`, and the long lists are then searched by bisection for the found candidates alone (MaxScore).
"""

from __future__ import annotations

from _bisect import bisect_left
from math import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Sequence, Tuple

    from memory.index import Index

CAP = 12000  # postings one query may score; 1-2 ms.  At 100,000 records the exact top 3 are in the capped top 5 for 97.5 %
WORTH = 512  # postings of a list that is read without asking whether it can still matter
REFINED = 400  # candidates that the long lists are searched for, where no more are asked for


def idf(documents: int, df: int) -> float:
    """Return the inverse document frequency of a term that `df` of `documents` hold.

    `df` may count documents that a newer version has replaced, so it is taken to be `documents` at the most.
    """
    df = min(df, documents)
    return log(1.0 + (documents - df + 0.5) / (df + 0.5))


def search(index: Index, terms: Sequence[Tuple[str, float]], limit: int, push: bool = False,
           cap: int = CAP, least: float = 0.0,
           telling: float = 0.0) -> List[Tuple[float, int]]:
    """Return the best documents as (score, number), best first, ties by number.

    terms: (term, weight) as text.terms gives them.  limit: how many.  push: only what a prompt may get unasked.
    cap: postings to score at the most.  least: the score below which a document is of no use.  telling: weight * idf
    that one of a document's terms must have; other terms only add to what those found, so common words cost next to nothing.
    """
    best = _segment(index, terms, limit + len(index.delta.gone), push, cap, least, telling) if index.segment else {}
    gone = index.delta.gone
    if gone:
        best = {number: score for number, score in best.items() if number not in gone}
    if index.delta.docs:
        base = index.segment.docs if index.segment else 0
        documents = index.documents
        found = [(weight * idf(documents, index.df(term)) / 115.0, hits)
                 for term, weight in terms for hits in (index.delta.search(term),) if hits]
        told = {place for value, hits in found if value * 115.0 >= telling for place, _ in hits}
        for value, hits in found:
            for place, impact in hits:
                if place in told and (not push or index.delta.pushable[place]):
                    best[base + place] = best.get(base + place, 0.0) + value * impact
    floor = max(least, sorted(best.values())[-limit]) if len(best) > limit else least
    ranked = sorted([(-score, number) for number, score in best.items() if score >= floor])[:limit]
    return [(-score, number) for score, number in ranked]


def parts(index: Index, terms: Sequence[Tuple[str, float]], number: int) -> List[Tuple[str, float]]:
    """Return (term, what it adds to the score) for each term that one document holds."""
    found = []
    segment = index.segment
    base = segment.docs if segment else 0
    documents = index.documents
    for term, weight in terms:
        impact = 0
        if segment is not None and number < base:
            entry = index.entry(term)
            if entry:
                ids, impacts = index.postings(term, number < segment.pushable)
                at = bisect_left(ids, number)
                impact = impacts[at] if at < len(ids) and ids[at] == number else 0
        else:
            impact = dict(index.delta.search(term)).get(number - base, 0)
        if impact:
            found.append((term, weight * idf(documents, index.df(term)) * impact / 115.0))
    return found


def _segment(index: Index, terms: Sequence[Tuple[str, float]], limit: int, push: bool, cap: int,
             least: float, telling: float) -> Dict[int, float]:
    """Score the segment's documents; returns at least the best `limit` by number (approximately, beyond `cap`)."""
    segment = index.segment
    assert segment is not None
    found = []
    for term, weight in terms:
        entry = index.entry(term)
        if entry:
            offset, df, pushable, most = entry
            length = pushable if push else df
            if length:
                # Over all documents: one record in the segment and twelve in the log are thirteen.
                value = weight * idf(index.documents, index.df(term)) / 115.0
                found.append((length, value * most, value, term, offset, df))
    found.sort(key=lambda item: (item[2] * 115.0 < telling, item[0], item[4]))
    rest = [0.0] * (len(found) + 1)
    for i in range(len(found) - 1, -1, -1):
        rest[i] = rest[i + 1] + found[i][1]
    scores: Dict[int, float] = {}
    get = scores.get
    used, cut, threshold = 0, len(found), 0.0
    for i, (length, _, value, term, offset, df) in enumerate(found):
        if rest[i] < least or value * 115.0 < telling:
            cut = i
            break
        # The threshold costs a sort of all scores: it is only asked where a list is long enough to be worth skipping.
        if length > WORTH and len(scores) >= limit:
            threshold = sorted(scores.values())[-limit]
            if threshold >= rest[i] or used + length > cap:
                cut = i
                break
        if length > 1024 and used + length > cap:
            ids, impacts = segment.postings(offset, df, df, champions=True)
            if push:
                keep = bisect_left(ids, segment.pushable)
                ids, impacts = ids[:keep], impacts[:keep]
        else:
            ids, impacts = index.postings(term, push)
        for number, impact in zip(ids, impacts):
            scores[number] = get(number, 0.0) + value * impact
        used += len(ids)
    if cut == len(found):
        return scores
    return _refine(index, [(item[2], item[3]) for item in found[cut:]], push, scores,
                   max(threshold, least) - rest[cut], max(limit, REFINED))


def _refine(index: Index, rest: Sequence[Tuple[float, str]], push: bool, scores: Dict[int, float],
            least: float, most: int) -> Dict[int, float]:
    """Add what the long lists, as (value, term), hold for the candidates that can still win, at most `most` of them."""
    order = sorted((-score, number) for number, score in scores.items() if score >= least)[:most]
    kept = {number: -score for score, number in order}
    for value, term in rest:
        ids, impacts = index.postings(term, push)
        length = len(ids)
        for number in kept:
            at = bisect_left(ids, number)
            if at < length and ids[at] == number:
                kept[number] += value * impacts[at]
    return kept
