"""The digest made without a model: units of the sources, scored, made novel, quoted verbatim, packed into a budget.

A unit is a sentence, a list item, a code block or a table.  Its score, 0 to 1, is

    0.50 relevance   BM25 (k1 1.2, b 0.75; idf over the candidate units) of the question's terms, over the best unit's
    0.10 company     the relevance of the best unit of its record
    0.40 content     technical tokens 0.50, a word of decision or failure 0.30, position 0.20; damped where neither the
                     unit nor its record is relevant

Redundancy goes by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998; lambda 0.7) with the cosine of term
sets.  Bullets quote verbatim up to white space: ` … ` stands where text between two quotes of one record is left out,
` · ` between two list items that follow one another, a final `…` where a unit alone was longer than the budget, and
a block is led in by the line that announces it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Callable, Sequence

from memory import text
from memory.digest import Bullet, Digest, Source, cite, clean, compose, count_sources
from memory.units import BODY_LIMIT, Unit, fitted, quoted, units

LEADS, LEAST, MOST = 5, 3, 8  # bullets: normally up to LEADS, LEAST if there are so many, never over MOST
SHORT = 40  # tokens of a bullet that may come after LEADS
LAMBDA, SAME = 0.7, 0.8  # weight of the score against novelty; likeness from which a unit says nothing new
FLOOR = 0.3  # share of the best score below which a unit is not worth its place
POOL = 300  # units that compete; the rest scored lower
K1, B = 1.2, 0.75


def extract(question: str, sources: Sequence[Source], max_tokens: int = 500) -> Digest:
    """Answer a question with quotes from the sources.

    sources: best first.  max_tokens: tokens the bullets may have, citations and bullet marks included; never exceeded.
    """
    sources = [_cleaned(source) for source in sources]
    notes = ["%s: only its first %d characters were read" % (s.id, BODY_LIMIT) for s in sources
             if len(s.body) > BODY_LIMIT]
    room = 4 * max_tokens
    found = [fitted(unit, source, room) for i, source in enumerate(sources) for unit in units(i, source, room // 2)]
    candidates = [unit for unit in found if unit.text]
    bags, scores, relevant = _score(question, sources, candidates)
    if candidates and not relevant:
        notes.append("no word of the question stands in the sources: chosen by content alone")
    bullets = _pack(sources, candidates, bags, scores, room)
    if sources and not bullets:
        notes.append("nothing fits %d tokens: raise --max-tokens" % max_tokens if found else "the records are empty")
    return Digest(tuple(bullets), "extract", count_sources(sources), text.count_tokens(compose(bullets)), False,
                  tuple(notes))


def _cleaned(source: Source) -> Source:
    return Source(source.id, source.kind, clean(source.title), source.created, clean(source.body), source.tier,
                  source.checksum)


# --- Scores -----------------------------------------------------------------------------------------------------------

_DECISION = re.compile(
    r"(?i)\b(?:decid\w+|decision|because|instead|chose\w*|reason\w*|root cause|caused?|fix\w*|fail\w*|error|must|never|"
    r"always|workaround|todo|open|blocked|next|revert\w*|broke\w*|regression|resolved?|entschied\w*|weil|statt|grund|"
    r"ursache|behoben|fehler|nie|immer|offen)\b|결정|때문|대신|원인|해결|수정|실패|오류|반드시|다음|"
    r"決め|決定|理由|原因|代わり|修正|失敗|エラー|必ず|解決|决定|因为|而不是|修复|失败|错误|必须|下一步")
_TECHNICAL = re.compile(
    r"`?(?:--?[A-Za-z][\w-]*|\$?[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|\w*(?:Error|Exception)|[A-Z]+-?\d+|v?\d+(?:\.\d+)+|"
    r"[0-9a-f]{7,40}|\d{2,}\w*%?|[\w.-]+\.[A-Za-z]\w{0,4}|[\w.-]+\(\)|\w+::[\w:]+)`?", re.ASCII)


def technical(value: str) -> int:
    """Count the distinct technical words of a text: paths, identifiers, options, hashes, versions, numbers, errors."""
    words = {word.strip("\"'()[]{}<>,;:.!?*“”「」、。") for word in value.split()}
    return sum(1 for word in words if 1 < len(word) <= 200 and (
        "/" in word.strip("/") or word[0] == "`" or _TECHNICAL.match(word)))


def _counter() -> Callable[[str], list[str]]:
    """Return a function from text to terms that expands each distinct raw token once."""
    table = text.Table()
    known: dict[str, list[str]] = {}

    def terms(value: str) -> list[str]:
        out: list[str] = []
        for raw in text.split(value, table):
            if raw not in known:
                known[raw] = [term for term, _ in text.expand(raw)]
            out.extend(known[raw])
        return out

    return terms


def _score(question: str, sources: Sequence[Source],
           candidates: Sequence[Unit]) -> tuple[list[frozenset[str]], list[float], bool]:
    """Return each unit's term set and score, and whether any unit holds a term of the question."""
    terms = _counter()
    counts = [Counter(terms(unit.text)) for unit in candidates]
    around = {(u.source, u.heading, u.label) for u in candidates}
    company = {key: frozenset(terms(" ".join((sources[key[0]].title, *key[1:])))) for key in around}
    number = len(candidates)
    seen = Counter(term for count in counts for term in count)
    query = [(term, weight * math.log(1 + (number - seen[term] + 0.5) / (seen[term] + 0.5)))
             for term, weight in text.terms(clean(question))]
    mean = sum(sum(count.values()) for count in counts) / max(number, 1) or 1.0
    raw = []
    for unit, count in zip(candidates, counts):
        norm = K1 * (1 - B + B * sum(count.values()) / mean)
        near = company[(unit.source, unit.heading, unit.label)]
        raw.append(sum(idf * max(count[term] * (K1 + 1) / (count[term] + norm), 0.4 * (term in near))
                       for term, idf in query))
    best = max(raw, default=0.0)
    relevance = [value / best if best else 0.0 for value in raw]
    group: dict[int, float] = {}
    for unit, value in zip(candidates, relevance):
        group[unit.source] = max(group.get(unit.source, 0.0), value)
    scores = [0.5 * r + 0.1 * group[u.source] + 0.4 * _content(u, len(sources))
              * (0.25 + 0.75 * max(r, 0.5 * group[u.source]) if best else 1.0) for u, r in zip(candidates, relevance)]
    return [frozenset(count) for count in counts], [round(score, 9) for score in scores], best > 0


def _content(unit: Unit, sources: int) -> float:
    words = len(unit.text.split()) + sum(map(text.is_cjk, unit.text)) / 4
    dense = min(1.0, technical(unit.text) / 4) * min(1.0, 0.5 + words / 16)
    place = 0.5 / (1 + unit.order / 8) + 0.5 * (1 - unit.source / sources)
    value = 0.5 * dense + 0.3 * bool(_DECISION.search(unit.text)) + 0.2 * place
    return value if words >= 3 or dense else 0.3 * value


# --- Choice -----------------------------------------------------------------------------------------------------------

def _join(source: Source, chosen: Sequence[Unit]) -> str:
    """One bullet's text: quotes of one source in their order, then the citation, on its own line after a block."""
    out, before = "", None
    for unit in sorted(chosen, key=lambda u: u.order):
        said = quoted(unit)
        if before is not None:
            close = unit.order == before.order + 1 and unit.kind == before.kind
            gap = (" · " if unit.kind == "item" else " ") if close else " … "
            out += "\n" if "\n" in said or (before.kind in ("code", "table") and "\n" in before.text) else gap
        out, before = out + said, unit
    block = before is not None and before.kind in ("code", "table") and "\n" in before.text
    return out + ("\n" if block else " ") + cite(source)


def _pack(sources: Sequence[Source], candidates: Sequence[Unit], bags: Sequence[frozenset[str]],
          scores: Sequence[float], room: int) -> list[Bullet]:
    """Choose leads by marginal relevance, then lengthen bullets with what else is relevant, within `room` bytes."""
    order = sorted(range(len(candidates)), key=lambda i: (-scores[i], candidates[i].source, candidates[i].order))[:POOL]
    floor = FLOOR * scores[order[0]] if order else 0.0
    likeness = dict.fromkeys(order, 0.0)
    groups: list[list[Unit]] = []

    def made() -> list[Bullet]:
        return [Bullet(_join(sources[g[0].source], g), (sources[g[0].source].id,)) for g in groups]

    def take(i: int) -> None:
        order.remove(i)
        for j in order:
            shared = len(bags[i] & bags[j])
            likeness[j] = max(likeness[j], shared / math.sqrt(len(bags[i]) * len(bags[j])) if shared else 0.0)

    def fits(short: bool = False) -> bool:
        bullets = made()
        size = len(compose(bullets).encode())
        return size <= room and (not short or (text.count_tokens(bullets[-1].text) <= SHORT and size <= room // 2))

    while len(groups) < MOST:
        ranked = sorted((i for i in order if likeness[i] < SAME and (scores[i] >= floor or len(groups) < LEAST)),
                        key=lambda i: (likeness[i] * (1 - LAMBDA) - scores[i] * LAMBDA, order.index(i)))
        for i in ranked:
            groups.append([candidates[i]])
            if fits(short=len(groups) > LEADS):
                take(i)
                break
            groups.pop()
        else:
            break
    for i in [i for i in order if scores[i] >= floor]:
        unit = candidates[i]
        hosts = [g for g in groups if g[0].source == unit.source]
        if not hosts or likeness[i] >= 0.6 or unit.kind in ("code", "table"):
            continue
        host = min(hosts, key=lambda g: (min(abs(u.order - unit.order) for u in g), groups.index(g)))
        host.append(unit)
        if fits() and len(_join(sources[unit.source], host).encode()) <= room * 2 // 5:
            take(i)
        else:
            host.remove(unit)
    return made()
