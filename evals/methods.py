"""Ways to make a short answer of records without a model: each takes (question, sources, tokens)
and returns text.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from memory.core import tokeniser
from memory.distill import extract as answer
from memory.distill.digests import Source, format_bullets
from memory.recall import sentences


class Unit(NamedTuple):
    """A sentence or item of a source; `order` counts within the source."""

    source: int
    order: int
    text: str


def extract(question: str, sources: list[Source], tokens: int) -> str:
    """Return dayleaf's own answer."""
    return format_bullets(answer.extract(question, sources, tokens).bullets)


def first_sentences(question: str, sources: list[Source], tokens: int) -> str:
    """Return the first sentence of each record, best record first."""
    return filled(
        [(sentences.split_sentences(" ".join(s.body.split())) or [""])[0] for s in sources], tokens
    )


def top_cut(question: str, sources: list[Source], tokens: int) -> str:
    """Return the best records as they are, cut at the budget."""
    return (
        "\n".join(s.title + "\n" + s.body for s in sources)
        .encode()[: 4 * tokens]
        .decode("utf-8", "ignore")
    )


def lead(question: str, sources: list[Source], tokens: int) -> str:
    """Return the first sentences of all records, then their second ones, and so on."""
    found = pieces(sources)
    return filled([unit.text for unit in sorted(found, key=lambda u: (u.order, u.source))], tokens)


def bm25(question: str, sources: list[Source], tokens: int) -> str:
    """Return sentences, best first by BM25 alone."""
    found = pieces(sources)
    score = relevance(question, found)
    return filled(
        [found[i].text for i in sorted(range(len(found)), key=lambda i: -score[i])], tokens
    )


def mmr(question: str, sources: list[Source], tokens: int, weight: float = 0.7) -> str:
    """Sentences by BM25 against likeness to what is chosen (Carbonell and Goldstein, SIGIR
    1998).
    """
    found = pieces(sources)
    score = relevance(question, found)
    bags = [frozenset(tokeniser.index_terms(unit.text)) for unit in found]
    left, near, out = sorted(range(len(found)), key=lambda i: -score[i])[:200], Counter(), []
    while left:
        best = max(left, key=lambda i: weight * score[i] - (1 - weight) * near[i])
        left.remove(best)
        out.append(found[best].text)
        for i in left:
            near[i] = max(near[i], cosine(bags[i], bags[best]))
    return filled(out, tokens)


def graph(question: str, sources: list[Source], tokens: int, bias: float = 0.7) -> str:
    """LexRank (Erkan and Radev, JAIR 2004) biased to the question (Otterbacher et al. 2005), over
    the 200 likeliest sentences.
    """
    found = pieces(sources)
    score = relevance(question, found)
    chosen = sorted(range(len(found)), key=lambda i: -score[i])[:200]
    bags = [frozenset(tokeniser.index_terms(found[i].text)) for i in chosen]
    edges = [[cosine(a, b) for b in bags] for a in bags]
    sums = [sum(row) or 1.0 for row in edges]
    total = sum(score[i] for i in chosen) or 1.0
    rank = [1 / len(chosen)] * len(chosen)
    for _ in range(15):
        rank = [
            bias * score[chosen[i]] / total
            + (1 - bias) * sum(rank[j] * edges[j][i] / sums[j] for j in range(len(chosen)))
            for i in range(len(chosen))
        ]
    return filled(
        [found[chosen[i]].text for i in sorted(range(len(chosen)), key=lambda i: -rank[i])], tokens
    )


def knapsack(question: str, sources: list[Source], tokens: int) -> str:
    """The sentences of the greatest sum of BM25 over the record's rank that the budget holds: 0/1
    knapsack, exact to 8 bytes.
    """
    found = pieces(sources)
    score = [value / (1 + found[i].source) for i, value in enumerate(relevance(question, found))]
    chosen = sorted(range(len(found)), key=lambda i: -score[i])[:120]
    room = 4 * tokens // 8
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())] * (room + 1)
    for i in chosen:
        cost = (len(found[i].text.encode()) + 3 + 7) // 8
        for space in range(room, cost - 1, -1):
            value = best[space - cost][0] + score[i]
            if score[i] and value > best[space][0]:
                best[space] = value, (*best[space - cost][1], i)
    return "\n".join("- " + found[i].text for i in best[room][1])


METHODS = {
    "extract": extract,
    "first sentences": first_sentences,
    "top records cut": top_cut,
    "lead": lead,
    "BM25": bm25,
    "MMR": mmr,
    "graph": graph,
    "knapsack": knapsack,
}


def pieces(sources: list[Source]) -> list[Unit]:
    """Take all sources apart."""
    return [
        Unit(i, order, text)
        for i, source in enumerate(sources)
        for order, text in enumerate(sentences.extract_statements(source.body))
    ]


def relevance(question: str, found: list[Unit]) -> list[float]:
    """Return BM25 of each unit, over the best."""
    counts = [Counter(tokeniser.index_terms(unit.text)) for unit in found]
    seen = Counter(term for count in counts for term in count)
    mean = sum(sum(count.values()) for count in counts) / max(len(found), 1) or 1.0
    query = [
        (term, weight * math.log(1 + (len(found) - seen[term] + 0.5) / (seen[term] + 0.5)))
        for term, weight in tokeniser.query_terms(question)
    ]
    raw = [
        sum(
            idf
            * count[term]
            * 2.2
            / (count[term] + 1.2 * (0.25 + 0.75 * sum(count.values()) / mean))
            for term, idf in query
        )
        for count in counts
    ]
    best = max(raw, default=0.0) or 1.0
    return [value / best for value in raw]


def cosine(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the likeness of two sets of terms."""
    shared = len(one & other)
    return shared / math.sqrt(len(one) * len(other)) if shared else 0.0


def filled(said: list[str], tokens: int) -> str:
    """Join texts as bullets as long as the budget holds the next; one that does not fit is passed
    over.
    """
    out = ""
    for piece in said:
        longer = out + ("\n- " if out else "- ") + piece
        if tokeniser.count_tokens(longer) <= tokens:
            out = longer
    return out
