"""Match features, for re-ranking: a candidate's file is read again and searched for the query.

`MatchFeatures` holds the numbers that rank.py adds up: exact BM25, best window, proximity, title.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from memory.core import tokeniser
from memory.core.matches import Expansion, Matches
from memory.core.records import Record
from memory.hook import documents, segment

WINDOW_TOKENS, REACH = 40, 8
TEXT_LIMIT = 1 << 17  # characters of a section that are searched


class SectionTokens:
    """Raw tokens of a section's head (title, heading, labels) and text."""

    __slots__ = ("body", "head")

    def __init__(self, record: Record, section: str, body: str, table: tokeniser.Table):
        self.head = tokeniser.split(documents.format_head(record, section), table)
        self.body = tokeniser.split(
            documents.join_extra_fields(record) + "\n" + body[:TEXT_LIMIT], table
        )


class Candidate(NamedTuple):
    """A section of a record to be ranked.

    workspace, path: of its record. number: of its document in the index. turn: of a conversation,
        from 1, else 0. among: number of sections of its record. origin: source of a text without a
        file on this machine.
    """

    record: Record
    section: str
    words: SectionTokens
    workspace: str
    path: str
    number: int
    turn: int = 0
    among: int = 1
    text: str = ""
    origin: str = ""


class Question(NamedTuple):
    """A query's terms and weights for re-ranking.

    weights: term -> weight * idf. sequence: the terms in the query's order. mean: length of a
        document in terms. surface: term -> the query's word for it. rarity: term -> idf of any
        term.
    """

    weights: Mapping[str, float]
    sequence: Sequence[str]
    mean: float
    surface: Mapping[str, str]
    text: str
    rarity: Callable[[str], float] | None = None


class MatchFeatures:
    """A candidate's scores, and where the query's terms stand in it."""

    __slots__ = ("bm25", "head", "length", "places", "proximity", "size", "title", "window")

    def __init__(self, words: SectionTokens, question: Question, matches: Matches):
        self.places: dict[str, list[int]] = {}
        self.head: set[str] = set()
        frequencies: dict[str, float] = {}
        end = self._add_positions(words.head, matches, 0, float(documents.HEAD_WEIGHT), frequencies)
        self.head.update(self.places)
        self.size = self._add_positions(words.body, matches, end, 1.0, frequencies)
        self.length = self.size + (documents.HEAD_WEIGHT - 1) * end
        weights = question.weights
        norm = segment.K1 * (1.0 - segment.B + segment.B * self.length / question.mean)
        self.bm25 = sum(
            weights[t] * tf * (segment.K1 + 1.0) / (tf + norm) for t, tf in frequencies.items()
        )
        self.title = self._score_title(words.head, question, matches)
        self.window = self._score_window(weights)
        self.proximity = self._score_proximity(question)

    def _add_positions(
        self,
        raws: Sequence[str],
        matches: Matches,
        at: int,
        weight: float,
        frequencies: dict[str, float],
    ) -> int:
        """Add the terms' positions and frequencies; return the next position."""
        places = self.places
        for count, found in map(matches.__getitem__, raws):
            for offset, term in found:
                places.setdefault(term, []).append(at + offset)
                frequencies[term] = frequencies.get(term, 0.0) + weight
            at += count
        return at

    def _score_title(self, raws: Sequence[str], question: Question, matches: Matches) -> float:
        """Return the query's weight times the share of the title the query covers."""
        rarity = question.rarity
        if rarity is None or not self.head:
            return 0.0
        terms = {term for raw in raws for term in matches.terms(raw)}
        covered = sum(rarity(term) for term in terms if term in question.weights)
        return sum(question.weights.values()) * covered / (sum(map(rarity, terms)) or 1.0)

    def _score_window(self, weights: Mapping[str, float]) -> float:
        """Return the highest score of WINDOW_TOKENS neighbouring tokens."""
        hits = sorted((at, term) for term, places in self.places.items() for at in places)
        counts: dict[str, int] = {}
        best = now = 0.0
        low = 0
        for at, term in hits:
            n = counts.get(term, 0)
            now += weights[term] * (_saturate(n + 1) - _saturate(n))
            counts[term] = n + 1
            while at - hits[low][0] >= WINDOW_TOKENS:
                old = hits[low][1]
                n = counts[old]
                now -= weights[old] * (_saturate(n) - _saturate(n - 1))
                counts[old] = n - 1
                low += 1
            best = max(best, now)
        return best

    def _score_proximity(self, question: Question) -> float:
        """Score the query's neighbouring terms that are near in the text too."""
        total = 0.0
        for a, b in zip(question.sequence, question.sequence[1:]):
            first, second = self.places.get(a), self.places.get(b)
            if first and second:
                distance = _find_distance(first, second)
                if distance <= REACH:
                    total += min(question.weights[a], question.weights[b]) / max(distance, 1)
        return total


def _saturate(n: int) -> float:
    """Return BM25's factor for a term that occurs `n` times."""
    return n * (segment.K1 + 1.0) / (n + segment.K1)


def _find_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the least distance between two ascending lists of positions."""
    best, j = 1 << 30, 0
    for a in first:
        while j + 1 < len(second) and abs(second[j + 1] - a) <= abs(second[j] - a):
            j += 1
        best = min(best, abs(second[j] - a))
        if best <= 1:
            break
    return best


def compute_features(
    candidates: Sequence[Candidate], question: Question, expansion: Expansion
) -> list[MatchFeatures]:
    matches = Matches(question.weights, expansion)
    return [MatchFeatures(candidate.words, question, matches) for candidate in candidates]
