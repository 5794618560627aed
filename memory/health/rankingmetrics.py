"""Metrics of rankings: recall, reciprocal rank, nDCG; and a baseline that counts words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

STOP_WORDS = frozenset(
    "a an the and or of to in on at by for with about from as is are was were be been do does did "
    "have has had what which who when where why how that this these those it its i you we they he "
    "she not no so than can could would should will may".split()
)
DEPTH = 10  # of an answer that counts
CUTS = (1, 5, 10)


def content_words(text: str) -> list[str]:
    """Return a text's words without stop words, or all if it has no others."""
    found = re.findall(r"\w+", text.lower())
    return [word for word in found if word not in STOP_WORDS] or found


def sum_metrics(
    answers: Mapping[str, Sequence[str]],
    queries: Iterable[Mapping[str, Any]],
    wanted: Mapping[str, Mapping[str, float]],
) -> dict[str, float]:
    """Return sums over queries of recall, reciprocal rank and nDCG.

    answers: ranked ids by query's id. wanted: expected ids with their gain (above 0) by query's id.
    """
    sums: dict[str, float] = dict.fromkeys((*("r@%d" % k for k in CUTS), "mrr", "ndcg"), 0.0)
    for query in queries:
        gains, ids = wanted[query["id"]], answers.get(query["id"], [])
        for k in CUTS:
            sums["r@%d" % k] += sum(id_ in gains for id_ in ids[:k]) / len(gains)
        sums["mrr"] += next((1 / (i + 1) for i, id_ in enumerate(ids[:DEPTH]) if id_ in gains), 0)
        ideal = sum(
            gain / math.log2(i + 2)
            for i, gain in enumerate(sorted(gains.values(), reverse=True)[:DEPTH])
        )
        sums["ndcg"] += (
            sum(gains.get(id_, 0) / math.log2(i + 2) for i, id_ in enumerate(ids[:DEPTH])) / ideal
        )
    return sums


def rank_by_word_count(
    texts: Sequence[tuple[str, str]], queries: Iterable[tuple[str, str]]
) -> dict[str, list[str]]:
    """Return ids by query, ranked by the number of its words, like `rg -ciw`.

    texts, queries: (id, text).
    """
    counts = [Counter(re.findall(r"\w+", text.lower())) for _, text in texts]
    found = {}
    for id_, said in queries:
        words = set(content_words(said))
        ranked = sorted((-sum(count[word] for word in words), i) for i, count in enumerate(counts))
        found[id_] = [texts[i][0] for value, i in ranked[:DEPTH] if value < 0]
    return found
