"""Extractive summary, made without a model: lines of the best windows, word for word.

Windows (hook/windows.py) are cut of all sources and weighted by their score squared, times the
record's score in recall.  Of the best WINDOWS, lines are taken by maximal marginal relevance
(Carbonell and Goldstein, SIGIR 1998), the highest gain per byte first:

    weight (0.3 + 2 share of the question's idf + 0.5 technical words) (1 - 0.7 likeness) /
    bytes^0.5

A line is a sentence, list item, code block or table, with the line that introduces it or the
sentence before it.  A heading's words count for the first line below it too.  Likeness is the
greatest cosine of its words with a taken line's.  A tool's line counts only if it alone holds a
word of the question, a passing remark before a tool call not at all.  Of two lines on the same
subject, the newer is taken.  The choice ends at the budget, at a small gain, or after ENOUGH bytes.

The turn of the first line is quoted from the opening of its reply, with the next sentence if that
is short: a yes or no stays with its reason.  A turn is one bullet: its request in a few words, the
lines, its record and day.  The best stands first, but newer before older on the same subject.

Where the windows answer too little (Answered.is_answered), the nearest records are named instead.
"""

from __future__ import annotations

import math
from typing import Dict, FrozenSet, List, NamedTuple, Sequence, Set, Tuple

from memory.core import clock, plaintext, tokeniser
from memory.distill.digests import (
    BODY_LIMIT,
    Bullet,
    CheckResult,
    Digest,
    Source,
    clean,
    count_source_tokens,
    format_bullets,
    list_nearest,
)
from memory.distill.sources import SourcePassage, split_sources
from memory.distill.technical import find_technical
from memory.hook import windows
from memory.recall import sentences, timewords
from memory.recall.sentences import CODE, LEAD, PROSE, RUN, TABLE, Line

WINDOW, WINDOWS = 900, 12  # characters of a window, and number of windows quoted from
QUOTES = 500  # lines to choose from; a code block may have more
FOUND, STEEP = 1.0, 2.0  # weight of recall's score in a window's; exponent of both
BASE, SHARE, NAMES, MOST_NAMES = 0.3, 2.0, 0.5, 3  # see above; technical words that count
BLOCK = 0.5  # factor of code and tables
NOVELTY, SAME = 0.7, 0.8  # factor of likeness; likeness from which a line says nothing new
COST, MARK = 0.5, 30  # exponent of the bytes; bytes added to each, so that crumbs are not cheap
ENOUGH = 1_380  # bytes after which no more is taken
LITTLE = 0.25  # share of the first line's gain at which the choice ends
ALIKE = 0.6  # likeness of two lines on the same subject
REMARK = 200  # characters of a passing remark before a tool call
CUT = 240  # least bytes of a cut line
SHORT = 40  # characters of an opening sentence that needs the next one
REQUEST = 60  # characters of a quoted request
HALF, LACKING = 0.52, 4  # answered share of a question below which words are named as missing


def extract(
    question: str, sources: Sequence[Source], max_tokens: int = 500, floor: bool = False
) -> Digest:
    """Answer a question by quotes from sources, best first.

    max_tokens: of the formatted bullets; never exceeded. floor: refuse where the sources answer too
        little.
    """
    notes = [
        "%s: only its first %d characters were read" % (source.id, BODY_LIMIT)
        for source in sources
        if len(source.body) > BODY_LIMIT
    ]
    passages = split_sources(sources)
    found = windows.find_answer(
        _without_time_words(question, sources), [each.passage for each in passages], limit=WINDOW
    )
    if floor and not found.is_answered:
        return _make_digest(sources, [], notes, list_nearest(sources))
    bullets = _QuoteSelection(passages, found, 4 * max_tokens).select_bullets()
    if floor and bullets:
        notes += _note_missing_words(question, found, bullets)
    if sources and not bullets:
        full = "nothing fits into %d tokens: raise --max-tokens" % max_tokens
        notes.append(full if found.windows else "the records are empty")
    return _make_digest(sources, bullets, notes)


def _without_time_words(question: str, sources: Sequence[Source]) -> str:
    """Return a question without time words, if other words are left."""
    text = clean(question)
    newest = max((source.created for source in sources), default=0.0)
    return timewords.parse(text, newest, clock.utc).rest or text


def _make_digest(
    sources: Sequence[Source],
    bullets: Sequence[Bullet],
    notes: Sequence[str],
    near: Tuple[Tuple[str, str], ...] = (),
) -> Digest:
    size = tokeniser.count_tokens(format_bullets(bullets))
    checked = CheckResult(len(bullets), len(bullets))
    return Digest(
        tuple(bullets),
        "extract",
        count_source_tokens(sources),
        size,
        False,
        tuple(notes),
        checked,
        nearest=near,
    )


def _note_missing_words(
    question: str, found: windows.Answer, bullets: Sequence[Bullet]
) -> List[str]:
    """Return a note on question words missing in the bullets, or []."""
    if not found.rarity or found.held >= HALF:
        return []
    terms = {term for bullet in bullets for term, _ in tokeniser.query_terms(bullet.text)}
    missing = []
    for word in dict.fromkeys(word.strip(".,;:?!\"'()") for word in clean(question).split()):
        own = {term for term, _ in tokeniser.query_terms(word)} - tokeniser.COMMON
        if own and own.isdisjoint(terms) and word.lower() not in tokeniser.STOP:
            missing.append("'%s'" % word)
    if not missing:
        return []
    return ["this may be about something else: it has nothing on " + ", ".join(missing[:LACKING])]


class _Quote(NamedTuple):
    """A line that may be quoted.

    place: index in its passage. lead: place of the line before that is quoted too, -1 for none.
    """

    passage: int
    place: int
    lead: int
    text: str
    worth: float
    terms: FrozenSet[str]


class _QuoteSelection:
    """The greedy choice of quotes, by gain per byte."""

    def __init__(self, passages: Sequence[SourcePassage], found: windows.Answer, room: int):
        """Collect the lines to choose from; room: bytes of all bullets."""
        self.passages, self.found, self.room = passages, found, room
        self.lines: Dict[int, List[Line]] = {}
        # places where each window of a passage starts, and the end of the last
        self.starts: Dict[int, List[int]] = {}
        self.remarks: Dict[int, Set[int]] = {}
        self.quotes = self._collect_quotes()
        self.likeness = [0.0] * len(self.quotes)
        self.taken: Dict[int, Set[int]] = {}  # places by passage, in the order of the choice
        self.used = 0

    def select_bullets(self) -> List[Bullet]:
        """Take quotes while they gain enough, and return them as bullets."""
        first = 0.0
        while self.used <= ENOUGH:
            at, gain = self._find_best()
            if at < 0 or gain < LITTLE * first:
                break
            if not first:
                self._take_opening(self.quotes[at])
            first = first or gain
            self._take(self._find_newest(at))
        return [self._make_bullet(passage) for passage in self._order_passages()]

    def _collect_quotes(self) -> List[_Quote]:
        """Return the lines of the best windows."""
        top = max((each.source.score for each in self.passages), default=0.0) or 1.0
        weighed = [
            (window.score * (1 + FOUND * self.passages[window.passage].source.score / top), window)
            for window in self.found.windows
        ]
        weighed.sort(key=lambda pair: -pair[0])
        greatest = weighed[0][0] if weighed else 0.0
        quotes = []
        for rank, (weight, window) in enumerate(weighed[:WINDOWS]):
            if window.passage not in self.lines:
                self._parse_passage(window.passage)
            share = (weight / greatest) ** STEEP if greatest else 1 / (1 + rank)
            start, end = self.starts[window.passage][window.at : window.at + 2]
            quotes += [
                self._make_quote(window.passage, place, self.lines[window.passage][place], share)
                for place in range(start, end)
            ]
        said = [quote for quote in quotes if self._kind(quote) != RUN]
        run_only = self.found.rarity.keys() - {term for quote in said for term in quote.terms}
        return [q for q in quotes if self._kind(q) != RUN or q.terms & run_only][:QUOTES]

    def _parse_passage(self, passage: int) -> None:
        """Parse the windows of a passage into lines."""
        own = [window for window in self.found.windows if window.passage == passage]
        found: List[Line] = []
        starts = [0]
        for window in sorted(own, key=lambda window: window.at):
            place, block = len(found), found[-1].block + 1 if found else 0
            found += [
                line._replace(
                    block=line.block + block, lead=line.lead + place if line.lead >= 0 else -1
                )
                for line in sentences.parse_lines(window.text)
            ]
            starts.append(len(found))
        self.lines[passage], self.starts[passage] = found, starts
        self.remarks[passage] = _find_passing_remarks(found)

    def _kind(self, quote: _Quote) -> str:
        return self.lines[quote.passage][quote.place].kind

    def _make_quote(self, passage: int, place: int, line: Line, weight: float) -> _Quote:
        before = self.lines[passage][place - 1] if place else None
        terms = frozenset(tokeniser.index_terms(line.text))
        with_heading = terms
        if before is not None and before.kind == LEAD and line.lead == place - 1:
            with_heading |= frozenset(tokeniser.index_terms(before.text))
        names = min(len(find_technical(line.text)), MOST_NAMES) / MOST_NAMES
        worth = SHARE * self.found.share(with_heading)
        if line.kind != LEAD:
            worth += BASE + NAMES * names
        if line.kind in (CODE, TABLE):
            worth *= BLOCK
        elif place in self.remarks[passage]:
            worth = 0.0
        lead, text = self._find_lead(passage, place), self._fit_line(passage, line)
        return _Quote(passage, place, lead, text, weight * worth, terms)

    def _find_lead(self, passage: int, place: int) -> int:
        """Return the place of the line quoted before another, -1 for none."""
        line = self.lines[passage][place]
        if not place or line.kind != PROSE or line.lead >= place - 1:
            return line.lead
        before = self.lines[passage][place - 1]
        return place - 1 if (before.kind, before.block) == (PROSE, line.block) else -1

    def _fit_line(self, passage: int, line: Line) -> str:
        """Return a line's text, clipped to fit, or ""."""
        most = self.room - self._measure_frame(passage)
        if _count_bytes(line.text) <= most:
            return line.text
        most = min(most - _count_bytes(""), max(self.room // 2, CUT))
        if line.kind not in (CODE, TABLE):
            return sentences.clip_at_clause(line.text, most)
        rows = line.text.split("\n")
        held: List[str] = []
        for row in rows:
            if len("\n".join([*held, row, rows[-1]]).encode()) + 2 * len(held) > most:
                break
            held.append(row)
        return "\n".join([*held, rows[-1]] if line.kind == CODE else held) if len(held) > 1 else ""

    def _find_best(self) -> Tuple[int, float]:
        """Return (index, gain) of the quote with most gain per byte."""
        best, most = -1, 0.0
        for at, quote in enumerate(self.quotes):
            is_taken = quote.place in self.taken.get(quote.passage, ())
            if is_taken or not quote.text or self.likeness[at] >= SAME:
                continue
            if self._has_sentence_before(quote) and not self._fits(quote):
                quote = self.quotes[at] = quote._replace(lead=-1)
            size = self._measure(quote)
            gain = quote.worth * (1 - NOVELTY * self.likeness[at]) / (size + MARK) ** COST
            if gain > most and self._fits(quote):
                best, most = at, gain
        return best, most

    def _has_sentence_before(self, quote: _Quote) -> bool:
        """Tell whether the sentence before is quoted too."""
        return quote.lead >= 0 and self.lines[quote.passage][quote.lead].kind == PROSE

    def _find_newest(self, at: int) -> int:
        """Return the index of the newest fitting quote on the same subject."""
        quote = self.quotes[at]
        alike = [
            i
            for i, other in enumerate(self.quotes)
            if self._day(other) > self._day(quote)
            and self.likeness[i] < SAME
            and other.text
            and _cosine(quote.terms, other.terms) >= ALIKE
            and self._fits(other)
        ]
        return max(
            alike, key=lambda i: (self._day(self.quotes[i]), self.quotes[i].worth), default=at
        )

    def _day(self, quote: _Quote) -> str:
        return self.passages[quote.passage].day

    def _measure(self, quote: _Quote) -> int:
        """Return the bytes that a quote would add."""
        size = _count_bytes(quote.text)
        if quote.lead >= 0 and quote.lead not in self.taken.get(quote.passage, ()):
            size += _count_bytes(self.lines[quote.passage][quote.lead].text)
        return size

    def _fits(self, quote: _Quote) -> bool:
        around = 0 if quote.passage in self.taken else self._measure_frame(quote.passage)
        return self.used + around + self._measure(quote) <= self.room

    def _measure_frame(self, passage: int) -> int:
        """Return the bytes of a bullet's mark, request and citation."""
        request = self._format_request(passage)
        size = _count_bytes(self._format_citation(passage)) + 2
        return size + _count_bytes(request) if request else size

    def _take(self, at: int) -> None:
        quote = self.quotes[at]
        self._add(quote)
        for i, other in enumerate(self.quotes):
            self.likeness[i] = max(self.likeness[i], _cosine(quote.terms, other.terms))

    def _add(self, quote: _Quote) -> None:
        self.used += self._measure(quote)
        if quote.passage not in self.taken:
            self.used += self._measure_frame(quote.passage)
        self.taken.setdefault(quote.passage, set()).update({quote.place, quote.lead} - {-1})

    def _take_opening(self, quote: _Quote) -> None:
        """Take the opening sentences of a quote's reply, if they fit."""
        found = self.lines[quote.passage]
        if self.passages[quote.passage].source.kind != "conversation":
            return
        start = quote.place
        while start and found[start - 1].kind != RUN:
            start -= 1
        prose = [place for place in range(start, len(found)) if found[place].kind == PROSE][:2]
        for number, place in enumerate(prose):
            if number and len(found[prose[0]].text) >= SHORT:
                break
            text = found[place].text
            terms = frozenset(tokeniser.index_terms(text))
            opening = _Quote(quote.passage, place, -1, text, 0.0, terms)
            size = self._measure(opening) + self._measure(quote)
            size += self._measure_frame(quote.passage)
            if place != quote.place and self.used + size <= self.room:
                self._add(opening)

    def _order_passages(self) -> List[int]:
        """Return the quoted passages, best first, newer before older ones alike."""
        order: List[int] = []
        for passage in self.taken:
            older = [at for at, other in enumerate(order) if self._is_update(passage, other)]
            order.insert(older[0] if older else len(order), passage)
        return order

    def _is_update(self, passage: int, other: int) -> bool:
        """Tell whether a passage is newer than another on the same subject."""
        if self.passages[passage].day <= self.passages[other].day:
            return False
        return any(
            _cosine(own, before) >= ALIKE
            for own in self._taken_terms(passage)
            for before in self._taken_terms(other)
        )

    def _taken_terms(self, passage: int) -> List[FrozenSet[str]]:
        return [
            quote.terms
            for quote in self.quotes
            if quote.passage == passage and quote.place in self.taken[passage]
        ]

    def _format_request(self, passage: int) -> str:
        request = self.passages[passage].request
        if not request:
            return ""
        return 'asked "%s":' % plaintext.clip_at_word(plaintext.one_line(request), REQUEST)

    def _format_citation(self, passage: int) -> str:
        return "[%s] %s" % (self.passages[passage].source.id, self.passages[passage].day)

    def _make_bullet(self, passage: int) -> Bullet:
        texts = {quote.place: quote.text for quote in self.quotes if quote.passage == passage}
        places = sorted(self.taken[passage])
        found = self.lines[passage]
        rows = [texts.get(place) or found[place].text for place in places]
        request = self._format_request(passage)
        text = "\n".join([request, *rows] if request else rows)
        text += "\n" if found[places[-1]].kind in (CODE, TABLE) else " "
        text += self._format_citation(passage)
        return Bullet(text, (self.passages[passage].source.id,))


def _find_passing_remarks(found: Sequence[Line]) -> Set[int]:
    """Return the places of short remarks before a tool call."""
    out: Set[int] = set()
    since_call: List[int] = []
    for place, line in enumerate(found):
        if line.kind == RUN:
            if sum(len(found[at].text) for at in since_call) <= REMARK:
                out.update(since_call)
            since_call = []
        else:
            since_call.append(place)
    return out


def _count_bytes(text: str) -> int:
    """Return the bytes of a text on indented lines of a bullet."""
    return len(text.encode()) + 3 + 2 * text.count("\n")


def _cosine(one: FrozenSet[str], other: FrozenSet[str]) -> float:
    """Return the cosine similarity of two sets of words."""
    return len(one & other) / math.sqrt(len(one) * len(other) or 1)
