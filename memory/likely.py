"""Which part of the sources answers a question: the likelihood of each unit, and the words that weigh.

    p(unit) = p(record) p(unit | record)

p(record) is (score / best score)^8, where recall gave scores, else 1 / rank, times e^(2 relevance of its best unit); over
their sum.  p(unit | record) is the softmax over the record's units of

    3.5 relevance      BM25 (k1 1.2, b 0.75; idf over all units) of the question's terms, over the best unit's
    2.0 neighbours     the better relevance of the two units beside it
    0.6 log length     of the quote in bytes: what is longer holds more
    0.7 item           it is a list item
    0.35 number        it holds a digit
   -1.5 / (1 + order)  what opens a record mostly says its title again

and, where nothing is relevant, of how technical it is and whether it tells a decision or a failure.
The weights are those of a conditional logit over labelled questions, rounded (evals/README.md).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Callable, FrozenSet, List, NamedTuple, Sequence, Tuple

from memory import text
from memory.digest import Source, clean
from memory.units import Unit, quoted

K1, B = 1.2, 0.75
SHARPNESS, PEAK = 8.0, 2.0  # exponent of a record's score; factor of the relevance of its best unit
MUTE = 0.1  # in its place for a record without a word of the question, where others have one
RELEVANCE, NEIGHBOURS, LENGTH, ITEM, NUMBER, OPENING, CONTENT = 3.5, 2.0, 0.6, 0.7, 0.35, -1.5, 3.0
HEADED = 0.3  # of a term's idf, where it stands in the title or heading alone
SLIGHT = 0.2  # factor of a unit of one or two plain words


class Likely(NamedTuple):
    """Of each unit its terms and its likelihood, of each record its own; and whether any unit holds a term of the question."""

    bags: List[FrozenSet[str]]
    chances: List[float]
    records: List[float]
    relevant: bool


_DECISION = re.compile(
    r"(?i)\b(?:decid\w+|decision|because|instead|chose\w*|reason\w*|root cause|caused?|fix\w*|fail\w*|error|must|never|"
    r"always|workaround|todo|open|blocked|next|revert\w*|broke\w*|regression|resolved?|entschied\w*|weil|statt|grund|"
    r"ursache|behoben|fehler|nie|immer|offen)\b|결정|때문|대신|원인|해결|수정|실패|오류|반드시|다음|"
    r"決め|決定|理由|原因|代わり|修正|失敗|エラー|必ず|解決|决定|因为|而不是|修复|失败|错误|必须|下一步")
_TECHNICAL = re.compile(
    r"`?(?:--?[A-Za-z][\w-]*|\$?[A-Za-z]\w*_\w+|[A-Za-z]+[a-z][A-Z]\w*|\w*(?:Error|Exception)|[A-Z]+-?\d+|v?\d+(?:\.\d+)+|"
    r"[0-9a-f]{7,40}|\d{2,}\w*%?|[\w.-]+\.[A-Za-z]\w{0,4}|[\w.-]+\(\)|\w+::[\w:]+)`?", re.ASCII)
_NUMBER = re.compile(r"[\d.,:/%-]+[a-zA-Z]{0,3}")
_PROSE = re.compile(r"[A-Za-z]?[a-z]+(?:[/-][A-Za-z]?[a-z]+)|-[A-Za-z]|(?:e\.g|i\.e|z\.B|d\.h|u\.a)")  # and/or, e.g, -v
_EDGES = "\"'()[]{}<>,;:.!?*“”「」、。"


def technical(value: str) -> List[str]:
    """Return the distinct technical words of a text as they stand: paths, identifiers, options, hashes, versions, numbers."""
    words = dict.fromkeys(word.strip(_EDGES) for word in value.split())
    return [word for word in words if 1 < len(word) <= 200 and (
        "/" in word.strip("/") or word[0] == "`" or _TECHNICAL.match(word))]


def names(value: str) -> List[str]:
    """Return what of a text can be named without its sentence: technical words, a number with the word beside it."""
    words = value.split()
    out: dict[str, None] = {}
    for at, said in enumerate(words):
        word = said.strip(_EDGES + "`")
        if not 2 < len(word) <= 200 or "`" in word or not technical(word) or _PROSE.fullmatch(word):
            continue
        if _NUMBER.fullmatch(word):
            after = words[at + 1].strip(_EDGES) if at + 1 < len(words) and said[-1:] == word[-1] else ""
            before = words[at - 1] if at and words[at - 1][-1:].isalnum() and said[0] == word[0] else ""
            if not _beside(after) and not _beside(before) and word.isdigit():
                continue
            word = "%s %s" % (word, after) if _beside(after) else "%s %s" % (before, word) if _beside(before) else word
        out[word] = None
    return list(out)


def _beside(word: str) -> bool:
    return word.isalpha() and word.lower() not in text.STOP


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
    records = _records(sources, units, relevance)
    raw = []
    for unit, value in zip(units, relevance):
        s, o = unit.source, unit.order
        beside = max(at.get((s, o - 1), 0.0), at.get((s, o + 1), 0.0))
        said = quoted(unit)
        raw.append(_weight(unit.text) * math.exp(
            RELEVANCE * value + NEIGHBOURS * beside + LENGTH * math.log(len(said.encode()) + 1) + ITEM * (unit.kind == "item")
            + NUMBER * any(c.isdigit() for c in said) + OPENING / (1 + o) + (0 if best else CONTENT * _content(unit.text))))
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
             for term, weight in text.terms(clean(question))]
    mean = sum(sum(count.values()) for count in counts) / max(number, 1) or 1.0
    out = []
    for unit, count in zip(units, counts):
        norm = K1 * (1 - B + B * sum(count.values()) / mean)
        near = headed[(unit.source, unit.heading, unit.label)]
        out.append(sum(idf * max(count[term] * (K1 + 1) / (count[term] + norm), HEADED * (term in near)) for term, idf in query))
    return out


def _content(value: str) -> float:
    """Say how much of a text is what people look for later, 0 to 1."""
    return min(len(technical(value)), 4) / 8 + 0.5 * bool(_DECISION.search(value))


def _weight(value: str) -> float:
    words = len(value.split()) + sum(map(text.is_cjk, value)) / 4
    return 1.0 if words >= 3 or technical(value) else SLIGHT


def _counter() -> Callable[[str], List[str]]:
    """Return a function from text to terms that expands each distinct raw token once."""
    table = text.Table()
    known: dict[str, Tuple[str, ...]] = {}

    def terms(value: str) -> List[str]:
        out: List[str] = []
        for raw in text.split(value, table):
            if raw not in known:
                known[raw] = tuple(term for term, _ in text.expand(raw))
            out.extend(known[raw])
        return out

    return terms
