"""Cut texts into windows of some 600 characters, and score them by a question.

A text is cut between its paragraphs.  A list stays with the line that leads it in; a table or a
code block is whole.  Only what is longer than a window is cut inside, between rows and sentences.

    score(window) = BM25(window) + 0.5 BM25(its turn) + 0.3 BM25(its session)

with k1 1.2, b 0.75 and the idf over all windows; 0 where the turn holds no word of the question.
How far they tell of the question is measured by

    share(best window) + share(its turn) + share(its session) + 0.07 score(best window)

where a share is that of the question's idf.  A short question is told by its shares, a long one by
the score: some project holds half of any ten words.  evals/README.md has the calibration.

Recall, distil and the hooks choose what they quote by these windows.
"""

from __future__ import annotations

from math import log

from memory.core import tokeniser
from memory.core.matches import Expansion, Matches
from memory.hook.segment import K1, B

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from typing import Any

LIMIT = 600  # characters of a window
LEAD = 200  # characters of a row that leads in what follows
OF_TURN, OF_SESSION = 0.5, 0.3
NEW_SHARE = 0.25  # share of a window's words that others do not hold, below which it repeats them
CLOSE = 0.8  # share of a score from which on a newer quote stands before it
APART = 21_600.0  # seconds after which a session's start is later than another's
SPARSE = 10  # windows, below which a common word's absence says nothing
FEW = 300  # windows without any of the terms that are thought to stand beside those given
OF_SCORE, TELLS = 0.07, 3.15  # see above; the measure from where on the records tell
_RAN = ("- ✓", "- ✗", "- ⊘", "- · ", "- edited `", "- created `", "- removed `", "- subagent")
_STOPS = ("。", "！", "？", ". ", "! ", "? ")


class Passage:
    """A turn of a conversation, or a section of another record.

    session: its session or record.  head: its request or title, which is in no window.
    """

    def __init__(self, session: str, head: str, text: str):
        self.session, self.head, self.text = session, head, text


class Window:
    """A part of a passage, short enough to quote.

    passage: number of the passage.  at: place among its windows.  score: see above.
    """

    __slots__ = ("at", "passage", "score", "text")

    def __init__(self, passage: int, at: int, text: str, score: float = 0.0):
        self.passage, self.at, self.text, self.score = passage, at, text, score


class Answer:
    """The ranked windows of passages, and how far they answer a question.

    rarity: idf of each term of the question.  telling: see above.  held: share of the question that
    the best window's session holds.
    """

    telling = held = 0.0

    def __init__(self, windows: list[Window], rarity: dict[str, float]):
        self.windows, self.rarity = windows, rarity

    @property
    def is_answered(self) -> bool:
        """Whether the records answer the question; True if it has no words."""
        return not self.rarity or self.telling >= TELLS

    def share(self, terms: Container[str]) -> float:
        """Return the terms' share of the question's idf."""
        held = sum(idf for term, idf in self.rarity.items() if term in terms)
        return held / (sum(self.rarity.values()) or 1.0)

    def find_nearest(self, texts: Sequence[str]) -> int:
        """Return the place of the first text with most of the question."""
        shares = [self.share({term for term, _ in tokeniser.query_terms(text)}) for text in texts]
        return shares.index(max(shares))


def remove_command_runs(text: str) -> str:
    """Return a turn's text without its lines of command runs."""
    return "\n".join(row for row in text.split("\n") if not row.startswith(_RAN))


def split_windows(text: str, limit: int = LIMIT) -> list[str]:
    """Return a text's windows of `limit` characters, tables and code whole."""
    windows: list[str] = []
    blocks: list[str] = []
    size = 0
    for block in _split_blocks(text, limit):
        if blocks and size + len(block) > limit:
            lead = blocks.pop() if len(blocks) > 1 and _is_lead_in(blocks[-1]) else ""
            windows.append("\n\n".join(blocks))
            blocks = [lead] if lead else []
            size = len(lead)
        blocks.append(block)
        size += len(block) + 2
    if blocks:
        windows.append("\n\n".join(blocks))
    return windows


def join_windows(parts: Sequence[tuple[int, str]]) -> str:
    """Join the windows of a passage, given as (place, text), with … for gaps."""
    joined, before = "", -1
    for at, text in sorted(parts):
        if joined:
            joined += "\n" if at == before + 1 else "\n…\n"
        joined += text
        before = at
    return joined


def find_insert_position(score: float, at: Any, before: Sequence[tuple[float, Any]]) -> int:
    """Return the place of a quote among the earlier quotes `before`.

    A newer quote comes before one that is hardly better.
    at: its time, comparable with the times in `before`, (score, time) in order.
    """
    for number, (worth, when) in enumerate(before):
        if at > when and score >= CLOSE * worth:
            return number
    return len(before)


def adds_new_words(text: str, known: set[str]) -> bool:
    """Tell whether a text has enough new words; then add them to `known`."""
    words = set(tokeniser.split(text.lower()))
    new = len(words - known)
    if known and new < NEW_SHARE * len(words):
        return False
    known.update(words)
    return True


def strip_lead_ins(text: str) -> str:
    """Return a text without headings and introducing rows at its end."""
    rows = text.split("\n")
    while rows and (not rows[-1].strip() or (len(rows) > 1 and _is_lead_in(rows[-1]))):
        rows.pop()
    return "\n".join(rows)


def _split_blocks(text: str, limit: int) -> Iterator[str]:
    """Yield the paragraphs, lists, tables and code blocks of a text."""
    rows: list[str] = []
    code = False
    for row, inside in tokeniser.mark_code(text.split("\n")):
        if rows and (inside != code or not (inside or row.strip())):
            yield from _split_block(rows, code, limit)
            rows = []
        code = inside
        if inside or row.strip():
            rows.append(row.rstrip())
    yield from _split_block(rows, code, limit)


def _split_block(rows: list[str], code: bool, limit: int) -> Iterator[str]:
    """Yield a block's rows together or in pieces that fit."""
    block = "\n".join(rows)
    if code or len(block) <= limit or all(row.lstrip()[:1] == "|" for row in rows):
        if block.strip():
            yield block
    else:
        yield from _fill_pieces(rows, limit)


def _fill_pieces(rows: list[str], limit: int) -> Iterator[str]:
    """Yield pieces of a block, each as full as can be."""
    piece = ""
    for row in rows:
        for part in split_sentences(row) if len(row) > limit else [row]:
            if piece and len(piece) + len(part) > limit:
                yield piece
                piece = ""
            elif piece and part is row:
                piece += "\n"
            piece += part
    yield piece


def split_sentences(row: str) -> list[str]:
    """Return a row's sentences, each with its stop."""
    pieces = [row]
    for stop in _STOPS:
        parts = []
        for piece in pieces:
            *sentences, last = piece.split(stop)
            parts += [sentence + stop for sentence in sentences] + [last]
        pieces = parts
    return pieces


def _is_lead_in(block: str) -> bool:
    """Tell whether a block's last row introduces the next block."""
    row = block.rpartition("\n")[2].strip()
    bold = row[:2] == row[-2:] == "**"
    ends = row.rstrip("*_ ").endswith((":", "："))
    return len(block) <= LEAD and (ends or bold or tokeniser.parse_heading(row)[0] > 0)


def find_answer(
    question: str,
    passages: Sequence[Passage],
    expansion: Expansion | None = None,
    limit: int = LIMIT,
) -> Answer:
    """Rank passages' windows of `limit` characters by a question."""
    ranked = [
        Window(number, at, text)
        for number, passage in enumerate(passages)
        for at, text in enumerate(split_windows(passage.text, limit))
    ]
    asked = dict(tokeniser.without_loose(tokeniser.query_terms(question)))
    matches = Matches(asked, expansion if expansion is not None else Expansion())
    counts = [_TermCounts(window.text, matches) for window in ranked]
    turns = [_TermCounts(passage.head, matches) for passage in passages]
    rarity = _compute_idf(asked, counts, {term for turn in turns for term in turn.terms})
    if not ranked:
        return Answer([], rarity)
    for window, count in zip(ranked, counts):
        turns[window.passage].add(count)
    sessions: dict[str, _TermCounts] = {}
    for passage, turn in zip(passages, turns):
        sessions.setdefault(passage.session, _TermCounts("", matches)).add(turn)
    of_turn = _score_bm25(rarity, turns)
    of_session = dict(zip(sessions, _score_bm25(rarity, list(sessions.values()))))
    for window, value in zip(ranked, _score_bm25(rarity, counts)):
        score, session = of_turn[window.passage], of_session[passages[window.passage].session]
        window.score = value + OF_TURN * score + OF_SESSION * session if score else 0.0
    rows = sorted(zip(ranked, counts), key=lambda row: (-row[0].score, row[0].passage, row[0].at))
    best, count = rows[0]
    around = (count, turns[best.passage], sessions[passages[best.passage].session])
    answer = Answer([window for window, _ in rows], rarity)
    shares = [answer.share(count.terms) for count in around]
    answer.telling, answer.held = sum(shares) + OF_SCORE * best.score, shares[-1]
    return answer


class _TermCounts:
    """How often a text holds each term of a question.

    size: the number of all terms of the text.
    """

    __slots__ = ("size", "terms")

    def __init__(self, text: str, matches: Matches):
        self.terms: dict[str, int] = {}
        self.size = 0
        for raw in tokeniser.split(text) if text else ():
            size, held = matches[raw]
            self.size += size
            for _, term in held:
                self.terms[term] = self.terms.get(term, 0) + 1

    def add(self, other: _TermCounts) -> None:
        self.size += other.size
        for term, count in other.terms.items():
            self.terms[term] = self.terms.get(term, 0) + count


def _compute_idf(
    asked: Mapping[str, float], counts: Sequence[_TermCounts], heads: set[str]
) -> dict[str, float]:
    """Return the idf of each term of a question, times its weight."""
    documents = len(counts) + FEW
    rarity: dict[str, float] = {}
    for term, weight in asked.items():
        df = sum(term in count.terms for count in counts)
        if df or len(counts) >= SPARSE or term not in tokeniser.COMMON - heads:
            rarity[term] = weight * log(1 + (documents - df + 0.5) / (df + 0.5))
    return rarity


def _score_bm25(rarity: Mapping[str, float], counts: Sequence[_TermCounts]) -> list[float]:
    mean = sum(count.size for count in counts) / max(len(counts), 1) or 1.0
    scores: list[float] = []
    for count in counts:
        norm = K1 * (1 - B + B * count.size / mean)
        values = (
            rarity.get(term, 0.0) * tf * (K1 + 1) / (tf + norm) for term, tf in count.terms.items()
        )
        scores.append(sum(values))
    return scores
