"""Re-rank the best candidates of the index by their match features (look.py).

    relevance = BM25 (k1 = 1.2, b = 0.75; title, section, tags and topics weigh
    documents.HEAD_WEIGHT, the rest 1)
              + WINDOW * the best look.WINDOW_TOKENS of the text, scored as a document of mean
                length
              + PROXIMITY * sum over neighbouring query terms of min(idf) / distance, within
                look.REACH tokens
              + TITLE * the query's whole weight * share of the head's idf that the query covers,
                less by LONG / words of a longer query
    score     = relevance * factor * outcomes * version * tags * source

    factor    1 + 0.10 * (2 * recency + frequency + context) / 4, at most 1.10; recency = e^(-days /
              30), frequency = log(1 + uses) / log(1 + most uses), context = 1 in the same
              workspace, 0.5 with a topic of the query.  A signal that no candidate has adds
              nothing.  A query for the latest adds LATEST * e^(-days behind the newest / 30), one
              that names a date its nearness.
    outcomes  max(0.01, 1 + ln(1 + successes) - 0.5 ln(1 + failures)) ** DAMPED
    version   1 exact, .95 superset, .85 subset, .75 overlap, .70 unversioned; disjoint is no match
    tags      1 + sum of weight * 0.1 over the context tags that the record has
    source    1.02 human, 1.01 agent, 1 automatic; at equal relevance lifted above what ranks below
              it

A dialogue (short messages of sessions) is scored together: a message gains NEIGHBOUR of those
before and after it, SESSION of its session's best three, and AUTHOR where the query names its
speaker; the window counts nothing.  A session's best checkpoint and the best turn of its
conversation make one hit (merge_sessions): the better score, and SUPPORT of the other, divided by
1 + CROWD * ln(turns of the conversation).  A note that is found too adds NOTED of its own.
Order: score, then id, then name.  Where the constants come from: docs/design.md.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from math import exp, log
from typing import NamedTuple

from memory.core import tokeniser
from memory.core.clock import DAY
from memory.core.layout import DATED_KINDS, SHARED
from memory.core.records import Record
from memory.hook import context, documents, fence
from memory.recall.hit import Hit, Parts
from memory.recall.look import Candidate, MatchFeatures, Question

WINDOW, PROXIMITY, TITLE = 1.0, 0.8, 0.33
LONG = 40  # words of a query above which the title counts less
VECTOR = 0.35  # share of vector similarity in a score
MOST_FACTOR, RECENCY_DAYS, LATEST, DAMPED = 0.10, 30.0, 0.5, 0.15
# for a record written in the period that a query names: up to a month, and a longer one
DATE, ROUGHLY = 2.0, 0.5
SHARES = (("recency", 0.5), ("frequency", 0.25), ("context", 0.25))
WEIGHTED = (0.6, 0.2, 0.1, 0.1)
# Factor of each kind of author, the least trusted first.
SOURCE = {"auto": 1.0, "repository": 1.005, "agent": 1.01, "human": 1.02}
VERSIONS = {"exact": 1.0, "superset": 0.95, "subset": 0.85, "overlap": 0.75, "unversioned": 0.70}
NEIGHBOUR, SESSION, AUTHOR, WHEN, ASKING = 0.5, 0.2, 2.0, 1.3, 0.85
# shares of the lower score, of checkpoint and turn, of note and turn, added to a session's hit
SUPPORT, NOTED = 0.7, 0.175
CROWD = 0.1  # how much less a session of many turns counts: the best of many is good by chance
DIALOGUE_TOKENS = 80  # mean terms of a candidate below which candidates count as a dialogue

_TIME_QUESTION = re.compile(
    r"\s*(when|what (date|day|month|year)|how long|wann|언제|いつ|什么时候|何时)", re.I
)
_TIME_WORD = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|(last|this|next|past) \w+|ago|recently|(mon|tues|wednes"
    r"|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|(19|20)\d\d|since)\b",
    re.I,
)


class Signals(NamedTuple):
    """The inputs that adjust relevance.

    rerank: factor | weighted | none. versions: wanted ones. context_tags: (tag, weight). uses,
        outcomes: by id, outcomes as (successes, failures). workspace: the present one, "" if all
        hits are of one. topics: of the query. latest: it asks for the newest. about: the period in
        the query, None where open.
    """

    now: float
    rerank: str = "factor"
    versions: Sequence[str] = ()
    context_tags: Sequence[tuple[str, float]] = ()
    uses: Mapping[str, int] = {}
    outcomes: Mapping[str, tuple[int, int]] = {}
    workspace: str = ""
    topics: frozenset[str] = frozenset()
    latest: bool = False
    about: tuple[float | None, float | None] = (None, None)


def is_dialogue(candidates: Sequence[Candidate], features: Sequence[MatchFeatures]) -> bool:
    """Tell whether candidates are mostly short messages of sessions."""
    named = sum(1 for c in candidates if c.record.meta.get("session"))
    return (
        bool(candidates)
        and named * 2 > len(candidates)
        and sum(f.size for f in features) < DIALOGUE_TOKENS * len(features)
    )


def score_relevance(
    candidates: Sequence[Candidate],
    features: Sequence[MatchFeatures],
    question: Question,
    dialogue: bool,
) -> list[Parts]:
    """Return the parts of each candidate's relevance.

    `total_score` sums them; the factors `author`, `dated` and `asking` multiply the sum.
    """
    title_weight = TITLE * min(1.0, LONG / max(1, len(question.text.split())))
    parts: list[Parts] = [
        (
            ("bm25", f.bm25),
            ("window", 0.0 if dialogue else WINDOW * f.window),
            ("proximity", PROXIMITY * f.proximity),
            ("title", 0.0 if dialogue else title_weight * f.title),
        )
        for f in features
    ]
    return _add_dialogue_parts(candidates, parts, question) if dialogue else parts


def _add_dialogue_parts(
    candidates: Sequence[Candidate], parts: Sequence[Parts], question: Question
) -> list[Parts]:
    """Add scores of neighbouring messages and of the session, and factors."""
    messages = {
        (c.workspace, c.number): (dict(each)["bm25"], _session_key(c))
        for c, each in zip(candidates, parts)
    }
    by_session: dict[str, list[float]] = {}
    for value, session in messages.values():
        by_session.setdefault(session, []).append(value)
    best = {
        session: sum(sorted(values, reverse=True)[:3]) for session, values in by_session.items()
    }
    named = find_named_speakers(candidates, question)
    when = _TIME_QUESTION.match(question.text) is not None
    out: list[Parts] = []
    for candidate, each in zip(candidates, parts):
        session = _session_key(candidate)
        keys = [(candidate.workspace, candidate.number + step) for step in (-1, 1)]
        neighbours = [messages[key] for key in keys if key in messages]
        beside = sum(value for value, other in neighbours if other == session)
        more = [("neighbours", NEIGHBOUR * beside), ("session", SESSION * best[session])]
        out.append((*each, *more, *_find_dialogue_factors(candidate.record, named, when)))
    return out


def _find_dialogue_factors(record: Record, named: set[str], when: bool) -> list[tuple[str, float]]:
    """Return a message's factors: named speaker, told time, question."""
    body = record.body.rstrip()
    found = []
    if read_speaker(record) in named:
        found.append(("author", AUTHOR))
    if when and _TIME_WORD.search(body):
        found.append(("dated", WHEN))
    if body.endswith("?"):
        found.append(("asking", ASKING))
    return found


_FACTORS = frozenset(("author", "dated", "asking"))


def total_score(parts: Parts) -> float:
    """Return the sum of a candidate's parts, times its factors."""
    value = sum(amount for name, amount in parts if name not in _FACTORS)
    for name, amount in parts:
        if name in _FACTORS:
            value *= amount
    return value


def fuse_vectors(parts: Sequence[Parts], near: Sequence[float]) -> list[Parts]:
    """Add vector similarity to word relevance, weighted by VECTOR.

    near: similarity of each candidate, from 0 (the last that counts) to 1 (the best). A convex sum
        (Bruch et al. 2023) keeps both scales.
    """
    top = max((total_score(each) for each in parts), default=0.0) or 1.0
    return [
        (
            *(
                (name, amount if name in _FACTORS else (1.0 - VECTOR) * amount)
                for name, amount in each
            ),
            ("vector", VECTOR * top * value),
        )
        for each, value in zip(parts, near)
    ]


def _session_key(candidate: Candidate) -> str:
    return candidate.workspace + "/" + str(candidate.record.meta.get("session") or "")


def read_speaker(record: Record) -> str:
    """Return the speaker of a message, "" without a name."""
    return fence.field(record, "speaker") or fence.field(record, "author")


def find_named_speakers(candidates: Sequence[Candidate], question: Question) -> set[str]:
    """Return the speakers a query names, none if it names all or over 20 exist."""
    everyone = {read_speaker(c.record) for c in candidates} - {""}
    asked = set(tokeniser.index_terms(question.text))
    named = {name for name in everyone if asked.intersection(tokeniser.index_terms(name))}
    return set() if not named or len(everyone) > 20 or named == everyone else named


def score_recency(now: float, created: float) -> float:
    """Return e^(-age in days / 30), 1 for a future instant."""
    return exp(-max(0.0, now - created) / DAY / RECENCY_DAYS)


def score_nearness(created: float, about: tuple[float | None, float | None]) -> float:
    """Score an instant's nearness to a period, highest within it.

    Outside times e^(-distance / length), length at least three days.
    """
    low, high = about
    beyond = max(0.0, (low or 0.0) - created, created - (high if high is not None else created))
    length = max(3 * DAY, high - low if high is not None and low is not None else 0.0)
    return (DATE if length <= 31 * DAY else ROUGHLY) * exp(-beyond / length)


def score_boosts(
    record: Record, workspace: str, signals: Signals, most_used: int
) -> list[tuple[str, float]]:
    """Score a record's recency, frequency and context, from 0 to 1.

    A signal that no candidate has is left out.
    """
    found = [("recency", score_recency(signals.now, record.created))]
    if most_used:
        frequency = log(1.0 + signals.uses.get(record.id, 0)) / log(1.0 + most_used)
        found.append(("frequency", frequency))
    if signals.workspace:
        same_topic = not signals.topics.isdisjoint(documents.list_written_topics(record))
        near = 1.0 if workspace == signals.workspace else 0.5 if same_topic else 0.0
        found.append(("context", near))
    return found


def compare_versions(asked: Sequence[str], held: Sequence[str]) -> str | None:
    """Tell how a record's versions fit the wanted ones, None where disjoint.

    Returns exact, superset (the record has more), subset, overlap or unversioned. `unversioned` may
    be asked for too.
    """
    want = {_normalise_version(v) for v in asked}
    have = {_normalise_version(v) for v in held} or {"unversioned"}
    if have == want:
        return "exact"
    if have > want:
        return "superset"
    if have < want:
        return "unversioned" if have == {"unversioned"} else "subset"
    if have & want:
        return "overlap"
    return "unversioned" if "unversioned" in have else None


def _normalise_version(said: str) -> str:
    said = said.strip().lower()
    return said[1:] if said[:1] == "v" and said[1:2].isdigit() else said


def tag_factor(record: Record, context_tags: Sequence[tuple[str, float]]) -> float:
    """Return 1 + 0.1 * the weights of the context tags that a record has."""
    held = set(map(context.normalise_tag, (*record.tags, *record.topics))) if context_tags else ()
    return 1.0 + sum(
        weight * 0.1 for tag, weight in context_tags if context.normalise_tag(tag) in held
    )


def outcome_factor(successes: int, failures: int) -> float:
    """Return the factor for a record's reported successes and failures."""
    return float(max(0.01, 1.0 + log(1.0 + successes) - 0.5 * log(1.0 + failures)) ** DAMPED)


def adjust_scores(
    candidates: Sequence[Candidate], relevance: Sequence[Parts], signals: Signals
) -> list[tuple[float, Parts]]:
    """Apply all signals and return (score, parts) of each candidate.

    A score below 0 marks disjoint versions.
    """
    if all(tag_factor(c.record, signals.context_tags) == 1.0 for c in candidates):
        signals = signals._replace(context_tags=())
    values = [total_score(parts) for parts in relevance]
    greatest = max(values, default=0.0) or 1.0
    most_used = max((signals.uses.get(c.record.id, 0) for c in candidates), default=0)
    newest = max((c.record.created for c in candidates), default=0.0)
    out: list[tuple[float, Parts]] = []
    equals: dict[str, list[int]] = {}  # candidates by their score without dates and source
    for i, (candidate, parts, value) in enumerate(zip(candidates, relevance, values)):
        record = candidate.record
        boosts = score_boosts(record, candidate.workspace, signals, most_used)
        product, named = _combine_boosts(value, boosts, greatest, signals.rerank)
        factors = _list_factors(record, signals)
        if factors is None:
            out.append((-1.0, (*parts, *named)))
            continue
        if signals.latest:
            factors.append(("latest", 1.0 + LATEST * score_recency(newest, record.created)))
        if signals.about != (None, None):
            factors.append(("date", 1.0 + score_nearness(record.created, signals.about)))
        fixed = value
        for name, amount in factors:
            product *= amount
            fixed *= amount if name not in ("latest", "date") else 1.0
        equals.setdefault("%.9g" % fixed, []).append(i)
        source = SOURCE[classify_source(record)]
        out.append((product * source, (*parts, *named, *factors, ("source", source))))
    for group in equals.values():
        _order_by_source(group, candidates, out)
    return out


def _combine_boosts(
    value: float, boosts: Sequence[tuple[str, float]], greatest: float, rerank: str
) -> tuple[float, list[tuple[str, float]]]:
    """Return (relevance with boosts applied, the boosts as named parts)."""
    if rerank == "none":
        return value, []
    given = dict(boosts)
    if rerank == "weighted":
        shares = dict(zip(("relevance", "recency", "frequency", "context"), WEIGHTED))
        named = [("relevance", shares["relevance"] * value / greatest)]
        named += [(name, shares[name] * amount) for name, amount in boosts]
        return sum(amount for _, amount in named), named
    factor = 1.0 + MOST_FACTOR * sum(share * given.get(name, 0.0) for name, share in SHARES)
    return value * factor, [*boosts, ("factor", factor)]


def _list_factors(record: Record, signals: Signals) -> list[tuple[str, float]] | None:
    """Return a record's outcome, version and tag factors, None for wrong versions."""
    found = []
    if record.id in signals.outcomes:
        found.append(("outcomes", outcome_factor(*signals.outcomes[record.id])))
    if signals.versions:
        fit = compare_versions(signals.versions, record.versions)
        if fit is None:
            return None
        found.append(("version", VERSIONS[fit]))
    if signals.context_tags:
        found.append(("tags", tag_factor(record, signals.context_tags)))
    return found


def classify_source(record: Record) -> str:
    """Return the kind of a record's author, a key of SOURCE.

    A repository's file cannot claim a person as author.
    """
    return "repository" if record.tier == SHARED and record.source != "auto" else record.source


def _order_by_source(
    group: Sequence[int], candidates: Sequence[Candidate], out: list[tuple[float, Parts]]
) -> None:
    """Raise scores so that of equal records the more trusted author leads."""
    floor = 0.0
    for source in SOURCE:
        alike = [
            i for i in group if classify_source(candidates[i].record) == source and out[i][0] > 0.0
        ]
        if not alike:
            continue
        least = min(out[i][0] for i in alike)
        factor = floor * 1.0001 / least if least <= floor else 1.0
        for i in alike:
            score, parts = out[i]
            out[i] = (score * factor, (*parts[:-1], ("source", parts[-1][1] * factor)))
        floor = max(out[i][0] for i in alike)


# (word of a query, its terms with a weight, all its terms or () where the word was not cut)
QueryWord = tuple[str, Sequence[str], Sequence[str]]


def list_query_words(question: Question) -> list[QueryWord]:
    """Return the words of a query with their terms."""
    searched: dict[str, list[str]] = {}
    for term in question.weights:
        searched.setdefault(question.surface.get(term, term), []).append(term)
    words: list[QueryWord] = []
    for word, terms in searched.items():
        every = [term for term, _ in tokeniser.expand(word)]
        was_cut = word.isascii() and set(terms) <= set(every)
        words.append((word, terms, every if was_cut else ()))
    return words


def _name_words(words: Sequence[QueryWord], terms: set[str], found: Container[str]) -> list[str]:
    """Name the query's words that have a term in `terms`.

    found: the terms that the record holds; a word found in part is named by its found terms.
    """
    names = []
    for word, searched, every in words:
        there = [term for term in searched if term in terms]
        if there:
            is_whole = all(term in found for term in every)
            names.append(word if is_whole else " and ".join(there) + " of " + word)
    return names


def explain_match(
    features: MatchFeatures, words: Sequence[QueryWord], similar: float | None = None
) -> str:
    """Explain a candidate's match by the query's words, on one line.

    similar: similarity by vectors, None without.
    """
    found = features.head | features.places.keys()
    head = _name_words(words, features.head, found)
    body = _name_words(words, found - features.head, found)
    reasons = [
        ", ".join(names[:8]) + " in the " + where
        for where, names in (
            ("title or tags", head),
            ("text", [name for name in body if name not in head]),
        )
        if names
    ]
    reasons += ["near in meaning: %.2f" % similar] if similar is not None else []
    return "; ".join(reasons) or "beside a match in its session"


def merge_sessions(hits: Sequence[Hit], turns: Mapping[str, int]) -> list[Hit]:
    """Merge the hits of each session into one.

    It bears the best checkpoint's record. Records written by hand stay apart. turns: number of
    turns in a conversation, by its path.
    """
    out: list[Hit] = []
    sessions: dict[tuple[str, str], list[Hit]] = {}
    for hit in hits:
        session = fence.field(hit.record, "session")
        if session and hit.kind in DATED_KINDS and hit.source == "auto":
            sessions.setdefault((hit.workspace, session), []).append(hit)
        else:
            out.append(hit)
    return out + [_merge_hits(sort_hits(found), turns) for found in sessions.values()]


def _merge_hits(hits: Sequence[Hit], turns: Mapping[str, int]) -> Hit:
    """Merge the hits of a session, best first, into one."""
    checkpoints = [hit for hit in hits if hit.kind == "checkpoint"]
    noted = next((hit.score for hit in hits if hit.kind == "note"), 0.0)
    talk = next((hit for hit in hits if hit.kind == "conversation"), None)
    others = tuple(hit.id for hit in checkpoints[1:])
    if talk is None:
        return hits[0]._replace(others=others)
    factor = 1.0 / (1.0 + CROWD * log(turns.get(talk.path, 1)))
    if not checkpoints:
        return talk._replace(score=talk.score * factor, parts=(*talk.parts, ("turns", factor)))
    support = SUPPORT * min(checkpoints[0].score, talk.score) + NOTED * min(noted, talk.score)
    return checkpoints[0]._replace(
        score=(hits[0].score + support) * factor,
        parts=(*hits[0].parts, ("session", support), ("turns", factor)),
        why=hits[0].why,
        conversation=talk.id,
        turn=talk.turn,
        talk=talk.record,
        others=others,
    )


def sort_hits(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits sorted by score, then id, then name."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.id, hit.record.name))
