"""Score the best candidates of the index by what the second look (look.py) found in them, and
adjust the scores.

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

Short notes of one session (turns of a conversation) are scored together: each gains NEIGHBOUR of
the notes before and after it and SESSION of its session's best three, and AUTHOR where the query
names who wrote it; the window says nothing there.  A session's best checkpoint and the best turn of
its conversation make one hit (by_session): the score of the better one, and SUPPORT of the other's,
divided by 1 + CROWD * ln(turns of the conversation).  A note that is found too adds NOTED of its
own.
Order: score, then id, then name.  Where the constants come from: docs/design.md.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import exp, log
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from memory.core import tokeniser
from memory.core.clock import DAY
from memory.core.layout import DATED, SHARED
from memory.core.records import Record
from memory.hook import context, documents
from memory.recall.hit import Hit, Parts
from memory.recall.look import Candidate, Look, Question

WINDOW, PROXIMITY, TITLE = 1.0, 0.8, 0.33
# words of a query from which the title counts less: it can be about a small part of so much
LONG = 40
VECTOR = 0.35  # share of similarity where vectors rank too
MOST_FACTOR, RECENCY_DAYS, LATEST, DAMPED = 0.10, 30.0, 0.5, 0.15
# for what was written in the period that a query names: up to a month, and a longer one
DATE, ROUGHLY = 2.0, 0.5
SHARES = (("recency", 0.5), ("frequency", 0.25), ("context", 0.25))
WEIGHTED = (0.6, 0.2, 0.1, 0.1)
# Whose a record is, from the least to the most; what a repository says of itself counts least of
# what somebody wrote.
SOURCE = {"auto": 1.0, "repository": 1.005, "agent": 1.01, "human": 1.02}
VERSIONS = {"exact": 1.0, "superset": 0.95, "subset": 0.85, "overlap": 0.75, "unversioned": 0.70}
NEIGHBOUR, SESSION, AUTHOR, WHEN, ASKING = 0.5, 0.2, 2.0, 1.3, 0.85
# shares of the lesser of checkpoint and turn, of note and turn, that a session's hit gains
SUPPORT, NOTED = 0.7, 0.175
CROWD = 0.1  # how much less a session of many turns counts: the best of many is good by chance
TALK_TOKENS = 80  # mean terms of a candidate below which notes of a session count as a conversation

_WHEN = re.compile(
    r"\s*(when|what (date|day|month|year)|how long|wann|언제|いつ|什么时候|何时)", re.I
)
_DATED = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|(last|this|next|past) \w+|ago|recently|(mon|tues|wednes"
    r"|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|(19|20)\d\d|since)\b",
    re.I,
)


class Signals(NamedTuple):
    """The inputs that adjust relevance.

    rerank: factor | weighted | none. versions: those asked for. context_tags: (tag, weight). uses,
        outcomes: by id, outcomes as (successes, failures). workspace: the present one, "" where all
        hits are of one. topics: of the query. latest: it asks for the newest. about: the period
        that the query names, from and before, None where open.
    """

    now: float
    rerank: str = "factor"
    versions: Sequence[str] = ()
    context_tags: Sequence[Tuple[str, float]] = ()
    uses: Mapping[str, int] = {}
    outcomes: Mapping[str, Tuple[int, int]] = {}
    workspace: str = ""
    topics: frozenset[str] = frozenset()
    latest: bool = False
    about: Tuple[Optional[float], Optional[float]] = (None, None)


def is_talk(candidates: Sequence[Candidate], found: Sequence[Look]) -> bool:
    """Tell whether candidates are short notes from sessions.

    Most name a session, and their mean length is below TALK_TOKENS terms.
    """
    named = sum(1 for c in candidates if c.record.meta.get("session"))
    return (
        bool(candidates)
        and named * 2 > len(candidates)
        and sum(k.size for k in found) < TALK_TOKENS * len(found)
    )


def relevances(
    candidates: Sequence[Candidate], found: Sequence[Look], question: Question, talk: bool
) -> List[Parts]:
    """Return the parts of each candidate's relevance.

    `total_score` sums them; the factors `author`, `dated` and `asking` multiply the sum.
    """
    by = TITLE * min(1.0, LONG / max(1, len(question.text.split())))
    plain: List[Parts] = [
        (
            ("bm25", k.bm25),
            ("window", 0.0 if talk else WINDOW * k.window),
            ("proximity", PROXIMITY * k.proximity),
            ("title", 0.0 if talk else by * k.title),
        )
        for k in found
    ]
    if not talk:
        return plain
    own = {(c.workspace, c.number): (k.bm25, _session(c)) for c, k in zip(candidates, found)}
    support: Dict[str, List[float]] = {}
    for value, session in own.values():
        support.setdefault(session, []).append(value)
    best = {session: sum(sorted(values, reverse=True)[:3]) for session, values in support.items()}
    named = authors(candidates, question)
    when = _WHEN.match(question.text) is not None
    out: List[Parts] = []
    for candidate, parts in zip(candidates, plain):
        session = _session(candidate)
        beside = sum(
            own[key][0]
            for key in ((candidate.workspace, candidate.number + step) for step in (-1, 1))
            if key in own and own[key][1] == session
        )
        more = [("neighbours", NEIGHBOUR * beside), ("session", SESSION * best[session])]
        out.append((*parts, *more, *_talk_factors(candidate.record, named, when)))
    return out


def _talk_factors(record: Record, named: Set[str], when: bool) -> List[Tuple[str, float]]:
    """Return the factors of a turn for a question about `named` authors or a time."""
    body = record.body.rstrip()
    found = []
    if author(record) in named:
        found.append(("author", AUTHOR))
    if when and _DATED.search(body):
        found.append(("dated", WHEN))
    if body.endswith("?"):
        found.append(("asking", ASKING))
    return found


_TIMES = frozenset(("author", "dated", "asking"))


def total_score(parts: Parts) -> float:
    """Return the sum of a candidate's parts, times its factors."""
    value = sum(amount for name, amount in parts if name not in _TIMES)
    for name, amount in parts:
        if name in _TIMES:
            value *= amount
    return value


def fuse_vectors(parts: Sequence[Parts], near: Sequence[float]) -> List[Parts]:
    """Return word relevance fused with vector similarity, weighted by VECTOR.

    near: similarity of each candidate, from 0 (the last that counts) to 1 (the best). A convex sum
        (Bruch et al. 2023) keeps both scales; reciprocal ranks lost up to 4 points of MRR on the
        development sets (evals/README.md).
    """
    top = max((total_score(each) for each in parts), default=0.0) or 1.0
    return [
        (
            *(
                (name, amount if name in _TIMES else (1.0 - VECTOR) * amount)
                for name, amount in each
            ),
            ("vector", VECTOR * top * value),
        )
        for each, value in zip(parts, near)
    ]


def _session(candidate: Candidate) -> str:
    return candidate.workspace + "/" + str(candidate.record.meta.get("session") or "")


def author(record: Record) -> str:
    """Return the speaker of a conversation's note, "" without a name."""
    said = record.meta.get("speaker") or record.meta.get("author")
    return said if isinstance(said, str) else ""


def authors(candidates: Sequence[Candidate], question: Question) -> Set[str]:
    """Return the authors named in the query.

    Empty where it names all authors, or where there are over 20 of them.
    """
    everyone = {author(c.record) for c in candidates} - {""}
    asked = set(tokeniser.tokens(question.text))
    named = {name for name in everyone if asked.intersection(tokeniser.tokens(name))}
    return set() if not named or len(everyone) > 20 or named == everyone else named


def recency(now: float, created: float) -> float:
    """Return e^(-days / 30) for an instant's age, 1 for the future."""
    return exp(-max(0.0, now - created) / DAY / RECENCY_DAYS)


def nearness(created: float, about: Tuple[Optional[float], Optional[float]]) -> float:
    """Return how near an instant is to a period.

    DATE within it (ROUGHLY for a period over 31 days); outside times e^(-distance / length), length
    at least three days.
    """
    low, high = about
    beyond = max(0.0, (low or 0.0) - created, created - (high if high is not None else created))
    length = max(3 * DAY, high - low if high is not None and low is not None else 0.0)
    return (DATE if length <= 31 * DAY else ROUGHLY) * exp(-beyond / length)


def boosts_of(
    record: Record, workspace: str, signals: Signals, most_used: int
) -> List[Tuple[str, float]]:
    """Return recency, frequency and context of a record, from 0 to 1.

    A signal that no candidate has is left out.
    """
    found = [("recency", recency(signals.now, record.created))]
    if most_used:
        found.append(
            ("frequency", log(1.0 + signals.uses.get(record.id, 0)) / log(1.0 + most_used))
        )
    if signals.workspace:
        same_topic = not signals.topics.isdisjoint(documents.written_topics(record))
        found.append(
            ("context", 1.0 if workspace == signals.workspace else 0.5 if same_topic else 0.0)
        )
    return found


def version_fit(asked: Sequence[str], held: Sequence[str]) -> Optional[str]:
    """Return how a record's versions match those asked for, by name.

    exact, superset (the record has more), subset, overlap or unversioned; None where disjoint.
    `unversioned` is also a value that may be asked for.
    """
    want = {_version(v) for v in asked}
    have = {_version(v) for v in held} or {"unversioned"}
    if have == want:
        return "exact"
    if have > want:
        return "superset"
    if have < want:
        return "unversioned" if have == {"unversioned"} else "subset"
    if have & want:
        return "overlap"
    return "unversioned" if "unversioned" in have else None


def _version(said: str) -> str:
    said = said.strip().lower()
    return said[1:] if said[:1] == "v" and said[1:2].isdigit() else said


def tag_factor(record: Record, context_tags: Sequence[Tuple[str, float]]) -> float:
    """Return 1 + 0.1 * weight for each matching context tag.

    Matched against the record's tags and topics.
    """
    held = set(map(context.label, (*record.tags, *record.topics))) if context_tags else ()
    return 1.0 + sum(weight * 0.1 for tag, weight in context_tags if context.label(tag) in held)


def outcome_factor(successes: int, failures: int) -> float:
    """Return a damped multiplier from a record's successes and failures.

    max(.01, 1 + ln(1 + successes) - .5 ln(1 + failures)) ** DAMPED.
    """
    return float(max(0.01, 1.0 + log(1.0 + successes) - 0.5 * log(1.0 + failures)) ** DAMPED)


def adjust_scores(
    candidates: Sequence[Candidate], relevance: Sequence[Parts], signals: Signals
) -> List[Tuple[float, Parts]]:
    """Return (score, parts) of each candidate with all signals applied.

    A score below 0 marks disjoint versions.
    """
    if all(tag_factor(c.record, signals.context_tags) == 1.0 for c in candidates):
        signals = signals._replace(context_tags=())
    values = [total_score(parts) for parts in relevance]
    greatest = max(values, default=0.0) or 1.0
    most_used = max((signals.uses.get(c.record.id, 0) for c in candidates), default=0)
    newest = max((c.record.created for c in candidates), default=0.0)
    out: List[Tuple[float, Parts]] = []
    equals: Dict[str, List[int]] = {}  # candidates by their score without dates and source
    for i, (candidate, parts, value) in enumerate(zip(candidates, relevance, values)):
        record = candidate.record
        boosts = boosts_of(record, candidate.workspace, signals, most_used)
        product, named = _combined(value, boosts, greatest, signals.rerank)
        times = _multipliers(record, signals)
        if times is None:
            out.append((-1.0, (*parts, *named)))
            continue
        if signals.latest:
            times.append(("latest", 1.0 + LATEST * recency(newest, record.created)))
        if signals.about != (None, None):
            times.append(("date", 1.0 + nearness(record.created, signals.about)))
        fixed = value
        for name, amount in times:
            product *= amount
            fixed *= amount if name not in ("latest", "date") else 1.0
        equals.setdefault("%.9g" % fixed, []).append(i)
        times.append(("source", SOURCE[author_of(record)]))
        out.append((product * times[-1][1], (*parts, *named, *times)))
    for group in equals.values():
        _order_by_source(group, candidates, out)
    return out


def _combined(
    value: float, boosts: Sequence[Tuple[str, float]], greatest: float, rerank: str
) -> Tuple[float, List[Tuple[str, float]]]:
    """Return (product, named parts) of relevance and boosts."""
    if rerank == "none":
        return value, []
    given = dict(boosts)
    if rerank == "weighted":
        shares = dict(zip(("relevance", "recency", "frequency", "context"), WEIGHTED))
        named = [("relevance", shares["relevance"] * value / greatest)]
        named += [(name, shares[name] * amount) for name, amount in boosts]
        return sum(amount for _, amount in named), named
    by = 1.0 + MOST_FACTOR * sum(share * given.get(name, 0.0) for name, share in SHARES)
    return value * by, [*boosts, ("factor", by)]


def _multipliers(record: Record, signals: Signals) -> Optional[List[Tuple[str, float]]]:
    """Return a record's named multipliers."""
    found = []
    if record.id in signals.outcomes:
        found.append(("outcomes", outcome_factor(*signals.outcomes[record.id])))
    if signals.versions:
        fit = version_fit(signals.versions, record.versions)
        if fit is None:
            return None
        found.append(("version", VERSIONS[fit]))
    if signals.context_tags:
        found.append(("tags", tag_factor(record, signals.context_tags)))
    return found


def author_of(record: Record) -> str:
    """Return the kind of a record's author, as in SOURCE.

    A repository's file cannot claim a person as author.
    """
    return "repository" if record.tier == SHARED and record.source != "auto" else record.source


def _order_by_source(
    group: Sequence[int], candidates: Sequence[Candidate], out: List[Tuple[float, Parts]]
) -> None:
    """Order equally relevant records by their source."""
    floor = 0.0
    for source in SOURCE:
        mine = [i for i in group if author_of(candidates[i].record) == source and out[i][0] > 0.0]
        if not mine:
            continue
        least = min(out[i][0] for i in mine)
        raised = floor * 1.0001 / least if least <= floor else 1.0
        for i in mine:
            score, parts = out[i]
            out[i] = (score * raised, (*parts[:-1], ("source", parts[-1][1] * raised)))
        floor = max(out[i][0] for i in mine)


@lru_cache(maxsize=4)
def _pieces(
    terms: Tuple[str, ...], surface: Tuple[Tuple[str, str], ...]
) -> List[Tuple[str, List[str], List[str]]]:
    """Return (query word, its terms, all terms of the whole word)."""
    words: Dict[str, List[str]] = {}
    for term in terms:
        words.setdefault(dict(surface).get(term, term), []).append(term)
    found = []
    for whole, parts in words.items():
        # one that no record holds has no weight
        every = [term for term, _ in tokeniser.expand(whole)]
        found.append((whole, parts, every if whole.isascii() and set(parts) <= set(every) else []))
    return found


def explain_match(look: Look, question: Question, similar: Optional[float] = None) -> str:
    """Return a line that explains a candidate's match.

    Names the query's words, or pieces of words, in the head and the text. similar: similarity by
    vectors, None without.
    """
    pieces = _pieces(tuple(question.weights), tuple(question.surface.items()))

    def words(terms: Any) -> List[str]:
        out = []
        for whole, parts, every in pieces:
            there = [part for part in parts if part in terms]
            if there:
                partial = any(t not in look.places and t not in look.head for t in every)
                out.append(" and ".join(there) + " of " + whole if partial else whole)
        return out

    head = words(look.head)
    body = [w for w in words(set(look.places) - look.head) if w not in head]
    said = [
        ", ".join(found[:8]) + " in the " + where
        for where, found in (("title or tags", head), ("text", body))
        if found
    ]
    said += ["near in meaning: %.2f" % similar] if similar is not None else []
    return "; ".join(said) or "beside a match in its session"


def merge_sessions(hits: Sequence[Hit], cut: Mapping[str, int]) -> List[Hit]:
    """Join the hits of each session.

    It bears the best checkpoint's record. Records written by hand stay apart. cut: number of turns
    in a conversation, by its path.
    """
    out: List[Hit] = []
    sessions: Dict[Tuple[str, str], List[Hit]] = {}
    for hit in hits:
        session = hit.record.meta.get("session")
        if hit.kind in DATED and hit.source == "auto" and isinstance(session, str) and session:
            sessions.setdefault((hit.workspace, session), []).append(hit)
        else:
            out.append(hit)
    return out + [_as_one(sort_hits(found), cut) for found in sessions.values()]


def _as_one(found: Sequence[Hit], cut: Mapping[str, int]) -> Hit:
    """Return one hit for the hits of a session, best first."""
    notes = [hit for hit in found if hit.kind == "checkpoint"]
    noted = next((hit.score for hit in found if hit.kind == "note"), 0.0)
    talk = next((hit for hit in found if hit.kind == "conversation"), None)
    others = tuple(hit.id for hit in notes[1:])
    if talk is None:
        return found[0]._replace(others=others)
    by = 1.0 / (1.0 + CROWD * log(cut.get(talk.path, 1)))
    if not notes:
        return talk._replace(score=talk.score * by, parts=(*talk.parts, ("turns", by)))
    lesser = SUPPORT * min(notes[0].score, talk.score) + NOTED * min(noted, talk.score)
    return notes[0]._replace(
        score=(found[0].score + lesser) * by,
        parts=(*found[0].parts, ("session", lesser), ("turns", by)),
        why=found[0].why,
        conversation=talk.id,
        turn=talk.turn,
        told=talk.record,
        others=others,
    )


def sort_hits(hits: Sequence[Hit]) -> List[Hit]:
    """Return hits sorted by score, then id, then name."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.id, hit.record.name))
