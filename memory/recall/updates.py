"""Put a later session before an earlier one on the same subject.

What was decided may be amended weeks later, in words farther from the question than those of the
first decision.  Two sessions are on the same subject where the cosine of their words, weighted by
(1 + ln tf) idf (Salton and Buckley 1988), reaches ALIKE, or NEAR where the best turns of both hold
the same half of the question.  The later one then stands before the earlier one if it answers well
enough by itself and began six hours later: sessions of one morning go on with each other's work.

Chores recur, such as a release or an upgrade: sessions in nearly the same words.  There a later
session comes first only if it answers as well, and none does where the question has a number or a
file's name that the earlier session alone holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log, sqrt

from memory.core import clock, tokeniser
from memory.core.layout import DATED_KINDS
from memory.hook import loader
from memory.hook.windows import APART
from memory.index.backend import Backend
from memory.recall.hit import Hit

ALIKE, NEAR = 0.28, 0.22  # cosine from which two sessions are on the same subject
SHARED = 0.55  # share of the question's idf that both hold, from which NEAR is enough
CHORE, AS_WELL = 0.5, 0.9  # cosine of one chore done twice; share of the score that it needs then
LEAST = 0.3  # of the earlier session's score that the later one has by itself
BEST = 5  # hits that are compared
READ = 6000  # characters of a session that are compared
NEWER = "newer than what was said on %s on the same subject"  # which it need not contradict
UPDATE = "update"  # the factor of a lifted hit's score
LIFT = 1.001  # of the earlier session's score that the later one gets

Weights = dict[str, float]


def lift_updates(question: str, hits: Sequence[Hit], backends: Mapping[str, Backend]) -> list[Hit]:
    """Return hits with later sessions put before earlier ones on one subject.

    hits: best first. backends: the index of each workspace.
    """
    names = _extract_names(question)
    asked = [term for term, _ in tokeniser.query_terms(question)]
    weights: dict[str, Weights] = {}

    def weigh(hit: Hit) -> Weights:
        if hit.path not in weights:
            body = (hit.talk or hit.record).body[:READ]
            weights[hit.path] = _weigh_terms(body, backends[hit.workspace])
        return weights[hit.path]

    def is_update(hit: Hit, other: Hit) -> bool:
        if hit.workspace not in backends or not _may_update(hit, other):
            return False
        alike = _cosine(weigh(hit), weigh(other))
        if alike < NEAR or (alike > CHORE and hit.score < AS_WELL * other.score):
            return False
        if alike < ALIKE and _share_both(asked, hit, other, backends[hit.workspace]) < SHARED:
            return False
        return not names or _find_held(names, other) <= _find_held(names, hit)

    ordered: list[Hit] = []
    for hit in hits[:BEST]:
        earlier = [at for at, other in enumerate(ordered) if is_update(hit, other)]
        at = earlier[0] if earlier else len(ordered)
        ordered.insert(at, _lift(hit, ordered[at], ordered[:at]) if earlier else hit)
    return ordered + list(hits[BEST:])


def _may_update(hit: Hit, other: Hit) -> bool:
    """Tell whether a hit's session began 6 h later and answers well enough."""
    return (
        hit.kind in DATED_KINDS
        and other.kind in DATED_KINDS
        and hit.workspace == other.workspace
        and hit.created - other.created >= APART
        and hit.score >= LEAST * other.score
    )


def _extract_names(question: str) -> list[str]:
    """Return a question's numbers, versions, tickets, files and paths in lower case."""
    words = [word.strip("-./_").lower() for word in tokeniser.split(question)]
    return [word for word in words if any(sign.isdigit() or sign in "./" for sign in word)]


def _find_held(names: Sequence[str], hit: Hit) -> set[str]:
    """Return the names that a session's records hold, in their heads too."""
    records = [hit.record, *([hit.talk] if hit.talk else [])]
    parts = [(record.id, record.title, str(record.meta), record.body) for record in records]
    text = "\n".join(map("\n".join, parts)).lower()
    return {name for name in names if name in text}


def _share_both(asked: Sequence[str], hit: Hit, other: Hit, backend: Backend) -> float:
    """Return the share of a question's idf that the turns of both hits hold."""
    backend.expect(list(asked))
    rarity = {term: loader.idf(backend.documents, backend.df(term)) for term in asked}
    texts = (each.turn_text or each.body for each in (hit, other))
    one, two = (set(tokeniser.index_terms(text)) for text in texts)
    return sum(rarity[term] for term in one & two & rarity.keys()) / (sum(rarity.values()) or 1.0)


def _lift(hit: Hit, earlier: Hit, better: Sequence[Hit]) -> Hit:
    """Return a hit scored above an earlier session's, but not above better ones."""
    score = min([LIFT * earlier.score, *(other.score for other in better)])
    update = NEWER % clock.format_local_day(earlier.created)
    return hit._replace(
        score=score,
        parts=(*hit.parts, (UPDATE, score / hit.score)),
        why="%s; %s (%s)" % (hit.why, update, earlier.id),
        update=update,
    )


def _weigh_terms(text: str, backend: Backend) -> Weights:
    """Return the weights of a text's terms, as a vector of length 1."""
    counts = Counter(tokeniser.index_terms(text))
    backend.expect(list(counts))
    documents = backend.documents
    weights = {
        term: (1 + log(count)) * loader.idf(documents, backend.df(term))
        for term, count in counts.items()
    }
    length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {term: weight / length for term, weight in weights.items()}


def _cosine(one: Weights, other: Weights) -> float:
    return sum(weight * other.get(term, 0.0) for term, weight in one.items())
