"""Cut texts into windows of some 900 characters, and score them by a question.

A text is cut at its joints: between paragraphs; a list stays with the line that leads it in, a table
or code block is whole.  Only what is longer than a window is cut inside.

    score(window) = BM25(window) + 0.5 BM25(its turn) + 0.3 BM25(its session)

with k1 1.2, b 0.75 and the idf over all windows.  How far they tell of the question is measured by

    share(best window) + share(its turn) + share(its session) + 0.07 score(best window)

where a share is that of the question's idf.  A short question is told by its shares, a long one by
the score: some project holds half of any ten words.  evals/README.md has the calibration.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Container, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from memory.core import tokeniser
from memory.hook.segment import K1, B
from memory.recall.look import Expansion, Matches
from memory.recall.sentences import LEAD, Line, lines

LIMIT = 900  # characters of a window, unless another number is given
OF_TURN, OF_SESSION = 0.5, 0.3
FEW = 300  # windows without any of the terms that are thought to stand beside those given
OF_SCORE, TELLS = 0.07, 3.15  # see above; the measure from where on the records tell


class Passage(NamedTuple):
    """A turn of a conversation, or a section of another record.

    session: names its session or record.  head: its request or title, which counts as words of the
    turn and is in no window.
    """

    session: str
    head: str
    text: str


class Window(NamedTuple):
    """Lines of a passage that follow one another.

    passage: number of the passage.  at: place of its first line there.  score: see above.
    """

    passage: int
    at: int
    lines: Tuple[Line, ...]
    score: float = 0.0

    @property
    def text(self) -> str:
        """The text of the lines."""
        return "\n".join(line.text for line in self.lines)


class Answered(NamedTuple):
    """The windows of some passages, and how far they answer a question.

    windows: the best first.  rarity: idf of each term of the question.  telling: see above.  held: share
    of the question that the best window's session holds.
    """

    windows: List[Window]
    rarity: Dict[str, float]
    telling: float
    held: float

    @property
    def tells(self) -> bool:
        """Whether the records tell; a question without a word is no measure."""
        return not self.rarity or self.telling >= TELLS

    def share(self, terms: Container[str]) -> float:
        """Return the share of the question's idf that some terms hold."""
        return share(self.rarity, terms)


def cut(found: Sequence[Line], passage: int = 0, limit: int = LIMIT) -> List[Window]:
    """Cut the lines of a passage into windows of at most `limit` characters."""
    windows: List[Window] = []
    held: List[Line] = []
    at = size = 0
    for block in _blocks(found):
        longer = sum(len(line.text) + 1 for line in block)
        if held and size + longer > limit:
            windows.append(Window(passage, at, tuple(held)))
            at, held, size = at + len(held), [], 0
        for line in block:
            if held and size + len(line.text) > limit and held[-1].kind != LEAD and longer > limit:
                windows.append(Window(passage, at, tuple(held)))
                at, held, size = at + len(held), [], 0
            held.append(line)
            size += len(line.text) + 1
    return windows + [Window(passage, at, tuple(held))] * bool(held)


def _blocks(found: Sequence[Line]) -> List[List[Line]]:
    out: List[List[Line]] = []
    for line in found:
        if out and out[-1][-1].block == line.block:
            out[-1].append(line)
        else:
            out.append([line])
    return out


def answer(
    question: str,
    passages: Sequence[Passage],
    limit: int = LIMIT,
    expansion: Optional[Expansion] = None,
) -> Answered:
    """Score the windows of passages, of at most `limit` characters, by a question."""
    found = [
        window
        for number, passage in enumerate(passages)
        for window in cut(lines(passage.text), number, limit)
    ]
    asked = dict(tokeniser.terms(question))
    matches = Matches(asked, expansion or Expansion())
    counts = [_Counts.of(window.text, matches) for window in found]
    rarity = _rarity(asked, counts)
    turns = [_Counts.of(passage.head, matches) for passage in passages]
    for window, count in zip(found, counts):
        turns[window.passage].add(count)
    sessions: Dict[str, _Counts] = {}
    for passage, count in zip(passages, turns):
        sessions.setdefault(passage.session, _Counts()).add(count)
    of_turn = _bm25(rarity, turns)
    of_session = dict(zip(sessions, _bm25(rarity, list(sessions.values()))))
    scored = []
    for window, count, value in zip(found, counts, _bm25(rarity, counts)):
        session = passages[window.passage].session
        value += OF_TURN * of_turn[window.passage] + OF_SESSION * of_session[session]
        around = (count.terms, turns[window.passage].terms, sessions[session].terms)
        scored.append((window._replace(score=value), around))
    scored.sort(key=lambda pair: (-pair[0].score, pair[0].passage, pair[0].at))
    if not scored:
        return Answered([], rarity, 0.0, 0.0)
    best, around = scored[0]
    shares = [share(rarity, terms) for terms in around]
    return Answered(
        [window for window, _ in scored], rarity, sum(shares) + OF_SCORE * best.score, shares[-1]
    )


class _Counts:
    """How often a text holds the terms of a question, and how many terms it has."""

    __slots__ = ("size", "terms")

    def __init__(self) -> None:
        self.terms: Counter[str] = Counter()
        self.size = 0

    @classmethod
    def of(cls, text: str, matches: Matches) -> _Counts:
        """Count the terms of a text."""
        found = cls()
        for raw in tokeniser.split(text):
            many, held = matches[raw]
            found.size += many
            for _, term in held:
                found.terms[term] += 1
        return found

    def add(self, other: _Counts) -> None:
        """Add what another text holds."""
        self.terms.update(other.terms)
        self.size += other.size


def share(rarity: Mapping[str, float], terms: Container[str]) -> float:
    """Return the share of the terms' idf that some terms hold."""
    return sum(idf for term, idf in rarity.items() if term in terms) / (sum(rarity.values()) or 1.0)


def likeness(one: FrozenSet[str], other: FrozenSet[str]) -> float:
    """Return the cosine of two sets of words."""
    return len(one & other) / math.sqrt(len(one) * len(other) or 1)


def _rarity(asked: Mapping[str, float], counts: Sequence[_Counts]) -> Dict[str, float]:
    """Return the idf of each term of a question, times its weight."""
    seen = Counter(term for count in counts for term in count.terms)
    many = len(counts) + FEW
    return {
        term: weight * math.log(1 + (many - seen[term] + 0.5) / (seen[term] + 0.5))
        for term, weight in asked.items()
    }


def _bm25(rarity: Mapping[str, float], counts: Sequence[_Counts]) -> List[float]:
    mean = sum(count.size for count in counts) / max(len(counts), 1) or 1.0
    out = []
    for count in counts:
        norm = K1 * (1 - B + B * count.size / mean)
        out.append(
            sum(rarity[term] * many * (K1 + 1) / (many + norm) for term, many in count.terms.items())
        )
    return out
