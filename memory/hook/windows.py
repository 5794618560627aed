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
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence
    from typing import Any, Dict, List, Optional, Set, Tuple

LIMIT = 600  # characters of a window
LEAD = 200  # characters of a row that leads in what follows
OF_TURN, OF_SESSION = 0.5, 0.3
NEWS = 0.25  # share of a window's words that others do not hold, below which it repeats them
CLOSE = 0.8  # share of a score from which on a newer quote stands before it
REPEATED = 0.93  # factor of a window's score for each window of its session that is shown already
SPARSE = 10  # windows, below which a common word's absence says nothing
FEW = 300  # windows without any of the terms that are thought to stand beside those given
OF_SCORE, TELLS = 0.07, 3.15  # see above; the measure from where on the records tell
_RAN = ("- ✓", "- ✗", "- ⊘", "- · ", "- edited `", "- created `", "- removed `", "- subagent")
_STOPS = ("。", "！", "？", ". ", "! ", "? ")


class Passage:
    """A turn of a conversation, or a section of another record.

    session: names its session or record.  head: its request or title, which counts as words of the
    turn and is in no window.
    """

    __slots__ = ("head", "session", "text")

    def __init__(self, session: str, head: str, text: str):
        self.session, self.head, self.text = session, head, text


class Window:
    """A part of a passage.

    passage: number of the passage.  at: place among its windows.  score: see above.
    """

    __slots__ = ("at", "passage", "score", "text")

    def __init__(self, passage: int, at: int, text: str, score: float = 0.0):
        self.passage, self.at, self.text, self.score = passage, at, text, score


class Answered:
    """The windows of some passages, and how far they answer a question.

    windows: the best first.  rarity: idf of each term of the question.  telling: see above.  held:
    share of the question that the best window's session holds.
    """

    __slots__ = ("held", "rarity", "telling", "windows")

    def __init__(self, found: List[Window], rarity: Dict[str, float], telling: float, held: float):
        self.windows, self.rarity, self.telling, self.held = found, rarity, telling, held

    @property
    def is_answered(self) -> bool:
        """Whether the records answer the question.

        A question without a word counts as answered.
        """
        return not self.rarity or self.telling >= TELLS

    def share(self, terms: Container[str]) -> float:
        """Return the share of the question's idf that some terms hold."""
        return share(self.rarity, terms)


def without_runs(text: str) -> str:
    """Return a turn's text without its command runs.

    They say nothing of why.
    """
    return "\n".join(row for row in text.split("\n") if not row.startswith(_RAN))


def split_windows(text: str, limit: int = LIMIT) -> List[str]:
    """Return a text's windows of at most `limit` characters.

    Tables and code blocks stay whole.
    """
    windows: List[str] = []
    held: List[str] = []
    size = 0
    for block in _blocks(text, limit):
        if held and size + len(block) > limit:
            lead = held.pop() if len(held) > 1 and _leads(held[-1]) else ""
            windows.append("\n\n".join(held))
            held = [lead] if lead else []
            size = len(lead)
        held.append(block)
        size += len(block) + 2
    return windows + ["\n\n".join(held)] * bool(held)


def join_windows(parts: Sequence[Tuple[int, str]]) -> str:
    """Return windows of a passage joined, with … for gaps.

    parts: (place, text) of each.
    """
    out, before = "", -1
    for at, text in sorted(parts):
        out += ("\n" if at == before + 1 else "\n…\n") * bool(out) + text
        before = at
    return out


def best_first(
    found: Sequence[Window],
    first: Sequence[Window],
    session_of: Callable[[Window], Any],
    shown: Dict[Any, int],
) -> Iterator[Window]:
    """Yield windows by score, REPEATED less for each of their session that is shown.

    found: the best first.
    first: of these, what comes before all others until one is shown.
    shown: how many windows of a session are shown; whoever shows one counts it here.
    """
    left = list(reversed(found))
    for window in first:
        if shown:
            break
        left.remove(window)
        yield window
    counted = -1
    while left:
        if counted != sum(shown.values()):
            counted = sum(shown.values())
            left.sort(key=lambda one: one.score * REPEATED ** shown.get(session_of(one), 0))
        yield left.pop()


def place_of(score: float, at: Any, before: Sequence[Tuple[float, Any]]) -> int:
    """Return the position of a quote among earlier quotes.

    A newer quote comes before one that is hardly better.
    at: its time, comparable with the times in `before`, (score, time) in order.
    """
    older = (
        number
        for number, (worth, when) in enumerate(before)
        if at > when and score >= CLOSE * worth
    )
    return next(older, len(before))


def is_news(text: str, held: Set[str]) -> bool:
    """Tell whether a text adds new words; record its words.

    held: the words of the texts before.
    """
    words = set(tokeniser.split(text.lower()))
    new = len(words - held)
    if held and new < NEWS * len(words):
        return False
    held.update(words)
    return True


def without_lead_ins(text: str) -> str:
    """Return a text without trailing headings and lead-ins.

    They lead nothing in.
    """
    rows = text.split("\n")
    while rows and (not rows[-1].strip() or len(rows) > 1 and _leads(rows[-1])):
        rows.pop()
    return "\n".join(rows)


def _blocks(text: str, limit: int) -> Iterator[str]:
    """Yield the paragraphs, lists, tables and code blocks of a text."""
    rows: List[str] = []
    code = False
    for row, inside in tokeniser.coded(text.split("\n")):
        if rows and (inside != code or not inside and not row.strip()):
            yield from _parts(rows, code, limit)
            rows = []
        code = inside
        if inside or row.strip():
            rows.append(row.rstrip())
    yield from _parts(rows, code, limit)


def _parts(rows: List[str], code: bool, limit: int) -> Iterator[str]:
    """Yield a block's rows together, or in pieces that fit."""
    whole = "\n".join(rows)
    if code or len(whole) <= limit or all(row.lstrip()[:1] == "|" for row in rows):
        if whole.strip():
            yield whole
    else:
        yield from _filled(rows, limit)


def _filled(rows: List[str], limit: int) -> Iterator[str]:
    """Yield pieces of a block that fit, each as full as can be."""
    held = ""
    for row in rows:
        for piece in _sentences(row) if len(row) > limit else [row]:
            glue = "\n" if piece is row else ""
            if held and len(held) + len(piece) > limit:
                yield held
                held = ""
            held += (glue if held else "") + piece
    yield held


def _sentences(row: str) -> List[str]:
    """Split a row at the ends of its sentences."""
    found = [row]
    for stop in _STOPS:
        found = [
            part + (stop if number < len(parts) - 1 else "")
            for parts in (one.split(stop) for one in found)
            for number, part in enumerate(parts)
        ]
    return found


def _leads(block: str) -> bool:
    """Tell whether a block ends in a row leading into the next."""
    row = block.rpartition("\n")[2].strip()
    bold = row[:2] == row[-2:] == "**"
    ends = row.rstrip("*_ ").endswith((":", "："))
    return len(block) <= LEAD and (ends or bold or tokeniser.heading(row)[0] > 0)


def answer(
    question: str,
    passages: Sequence[Passage],
    expansion: Optional[Expansion] = None,
    limit: int = LIMIT,
) -> Answered:
    """Return the best windows of passages, as scored by a question.

    limit: characters of a window.
    """
    found = [
        Window(number, at, text)
        for number, passage in enumerate(passages)
        for at, text in enumerate(split_windows(passage.text, limit))
    ]
    asked = dict(tokeniser.terms(question))
    matches = Matches(asked, expansion if expansion is not None else Expansion())
    counts = [_Counts(window.text, matches) for window in found]
    turns = [_Counts(passage.head, matches) for passage in passages]
    rarity = _rarity(asked, counts, {term for turn in turns for term in turn.terms})
    for window, count in zip(found, counts):
        turns[window.passage].add(count)
    sessions: Dict[str, _Counts] = {}
    for passage, count in zip(passages, turns):
        sessions.setdefault(passage.session, _Counts("", matches)).add(count)
    of_turn = _bm25(rarity, turns)
    of_session = dict(zip(sessions, _bm25(rarity, list(sessions.values()))))
    own = {id(window): count for window, count in zip(found, counts)}
    for window, value in zip(found, _bm25(rarity, counts)):
        turn, session = of_turn[window.passage], of_session[passages[window.passage].session]
        window.score = value + OF_TURN * turn + OF_SESSION * session if turn else 0.0
    found.sort(key=lambda window: (-window.score, window.passage, window.at))
    if not found:
        return Answered([], rarity, 0.0, 0.0)
    best = found[0]
    around = (own[id(best)], turns[best.passage], sessions[passages[best.passage].session])
    shares = [share(rarity, count.terms) for count in around]
    return Answered(found, rarity, sum(shares) + OF_SCORE * best.score, shares[-1])


class _Counts:
    """Counts of a question's terms in a text.

    size: the number of all terms of the text.
    """

    __slots__ = ("size", "terms")

    def __init__(self, text: str, matches: Matches):
        self.terms: Dict[str, int] = {}
        self.size = 0
        for raw in tokeniser.split(text) if text else ():
            many, held = matches[raw]
            self.size += many
            for _, term in held:
                self.terms[term] = self.terms.get(term, 0) + 1

    def add(self, other: _Counts) -> None:
        """Add the counts of another text."""
        self.size += other.size
        for term, many in other.terms.items():
            self.terms[term] = self.terms.get(term, 0) + many


def share(rarity: Mapping[str, float], terms: Container[str]) -> float:
    """Return the share of the terms' idf that some terms hold."""
    return sum(idf for term, idf in rarity.items() if term in terms) / (sum(rarity.values()) or 1.0)


def _rarity(
    asked: Mapping[str, float], counts: Sequence[_Counts], heads: Set[str]
) -> Dict[str, float]:
    """Return the idf of each term of a question, times its weight."""
    many = len(counts) + FEW
    found: Dict[str, float] = {}
    for term, weight in asked.items():
        seen = sum(term in count.terms for count in counts)
        if not seen and len(counts) < SPARSE and term in tokeniser.COMMON - heads:
            continue
        found[term] = weight * log(1 + (many - seen + 0.5) / (seen + 0.5))
    return found


def _bm25(rarity: Mapping[str, float], counts: Sequence[_Counts]) -> List[float]:
    mean = sum(count.size for count in counts) / max(len(counts), 1) or 1.0
    out: List[float] = []
    for count in counts:
        norm = K1 * (1 - B + B * count.size / mean)
        out.append(
            sum(
                rarity.get(term, 0.0) * many * (K1 + 1) / (many + norm)
                for term, many in count.terms.items()
            )
        )
    return out
