"""Make the answer without a model: sentences of the best windows, word for word.

Windows (recall/windows.py) are cut of all that was found.  One weighs the square of its score,
times what recall gave its record.  Of the best WINDOWS, that line is taken next which adds most per
byte:

    weight (0.3 + 2 share of the question's idf + 0.5 technical words) (1 - 0.7 likeness) /
    bytes^0.5

A line is a sentence, a list item, a code block or a table; what leads it in comes along, and so
does the sentence before it.  The words of a heading count for the first line below it too.
Likeness is the greatest cosine of its words with those of a line that was taken (maximal marginal
relevance, Carbonell and Goldstein, SIGIR 1998).  What tools ran counts only where it holds a word
of the question that nothing else holds, and what was said in passing before a call not at all.  Of
two lines that speak of the same, the newer is taken.  It ends where the budget does, where the next
line adds little, or after ENOUGH bytes.

The turn of the first line is quoted from the sentence that opens its reply, and the next one where
that is short: a yes or no stays with its reason.  A turn is one bullet: its request in a few words,
a line each, its record and day.  The best stands first, but the newer before an older one alike.

Where the windows tell too little (Answered.tells), there is no bullet: what is nearest is named.
"""

from __future__ import annotations

import math
from typing import Dict, FrozenSet, List, NamedTuple, Sequence, Set, Tuple

from memory.core import plaintext, tokeniser
from memory.distill.digests import (
    BODY_LIMIT,
    Bullet,
    Checked,
    Digest,
    Source,
    clean,
    compose,
    count_sources,
    nearest,
)
from memory.distill.sources import Read, read
from memory.distill.technical import technical
from memory.hook import windows
from memory.recall import sentences, timewords
from memory.recall.sentences import CODE, LEAD, PROSE, RUN, TABLE, Line

WINDOW, WINDOWS = 900, 12  # characters of a window, and how many are quoted from
QUOTES = 500  # lines that are chosen from; a code block may hold more
FOUND, STEEP = 1.0, 2.0  # what recall's score adds to a window's; exponent of both
BASE, SHARE, NAMES, MOST_NAMES = 0.3, 2.0, 0.5, 3  # see above; technical words that count
BLOCK = 0.5  # factor of code and tables
NOVELTY, SAME = 0.7, 0.8  # what likeness takes away; from where on a line says nothing new
COST, MARK = 0.5, 30  # exponent of the bytes; bytes added to each, so that crumbs are not cheap
ENOUGH = 1_380  # bytes after which no more is taken
LITTLE = 0.25  # share of the first line's gain that is too little
ALIKE = 0.6  # likeness of two lines that speak of the same
REMARK = 200  # characters of what is said in passing, before the next call
CUT = 240  # bytes of a cut line, where half the room is less
SHORT = 40  # characters of an opening sentence that needs the next one
REQUEST = 60  # characters of a request that is named
HALF, LACKING = 0.52, 4  # share of a question below which a note names what is lacking; words


def extract(
    question: str, sources: Sequence[Source], max_tokens: int = 500, floor: bool = False
) -> Digest:
    """Return an answer of quotes from the sources.

    sources: best first. max_tokens: of the bullets with marks and citations; never exceeded. floor:
        where the sources tell too little of the question, say so instead.
    """
    notes = [
        "%s: only its first %d characters were read" % (source.id, BODY_LIMIT)
        for source in sources
        if len(source.body) > BODY_LIMIT
    ]
    passages = read(sources)
    found = windows.answer(
        _without_time_words(question, sources), [one.passage for one in passages], limit=WINDOW
    )
    if floor and not found.is_answered:
        return _digest(sources, [], notes, nearest(sources))
    bullets = _Choice(passages, found, 4 * max_tokens).bullets()
    if floor and bullets:
        notes += _lacking(question, found, bullets)
    if sources and not bullets:
        full = "nothing fits into %d tokens: raise --max-tokens" % max_tokens
        notes.append(full if found.windows else "the records are empty")
    return _digest(sources, bullets, notes)


def _without_time_words(question: str, sources: Sequence[Source]) -> str:
    """Return a question without its time words."""
    said = clean(question)
    newest = max((source.created for source in sources), default=0.0)
    return timewords.parse(said, newest, 0.0).rest or said


def _digest(
    sources: Sequence[Source],
    bullets: Sequence[Bullet],
    notes: Sequence[str],
    near: Tuple[Tuple[str, str], ...] = (),
) -> Digest:
    size = tokeniser.count_tokens(compose(bullets))
    checked = Checked(len(bullets), len(bullets))
    return Digest(
        tuple(bullets),
        "extract",
        count_sources(sources),
        size,
        False,
        tuple(notes),
        checked,
        nearest=near,
    )


def _lacking(question: str, found: windows.Answered, bullets: Sequence[Bullet]) -> List[str]:
    """Return the words that the answer has nothing on."""
    if not found.rarity or found.held >= HALF:
        return []
    said = {term for bullet in bullets for term, _ in tokeniser.terms(bullet.text)}
    words = dict.fromkeys(word.strip(".,;:?!\"'()") for word in clean(question).split())
    lacks = [
        "'%s'" % word
        for word in words
        if word.lower() not in tokeniser.STOP
        and (terms := {term for term, _ in tokeniser.terms(word)} - tokeniser.COMMON)
        and not terms & said
    ]
    return (
        ["this may be about something else: it has nothing on " + ", ".join(lacks[:LACKING])]
        if lacks
        else []
    )


class _Quote(NamedTuple):
    """A line that may be quoted.

    place: in its passage. lead: place of the line that comes along, -1 for none. terms: of the
        line.
    """

    passage: int
    place: int
    lead: int
    text: str
    worth: float
    terms: FrozenSet[str]


class _Choice:
    """The quotes taken so far, and the room left."""

    def __init__(self, passages: Sequence[Read], found: windows.Answered, room: int):
        """Rank the lines.

        room: bytes of all bullets.
        """
        self.passages, self.found, self.room = passages, found, room
        self.lines: Dict[int, List[Line]] = {}
        self.starts: Dict[int, List[int]] = {}  # of each window of a passage, and its end
        self.passing: Dict[int, Set[int]] = {}
        self.quotes = self._quotes()
        self.likeness = [0.0] * len(self.quotes)
        self.taken: Dict[
            int, Set[int]
        ] = {}  # places by passage, in the order in which they were taken
        self.used = 0

    def bullets(self) -> List[Bullet]:
        """Return the most valuable quotes as bullets."""
        first = 0.0
        while self.used <= ENOUGH:
            at, gain = self._best()
            if at < 0 or gain < LITTLE * first:
                break
            if not first:
                self._open(self.quotes[at])
            first = first or gain
            self._take(self._newest(at))
        return [self._bullet(passage) for passage in self._arranged()]

    def _quotes(self) -> List[_Quote]:
        """Return the lines of the best windows."""
        top = max((one.source.score for one in self.passages), default=0.0) or 1.0
        weighed = [
            (window.score * (1 + FOUND * self.passages[window.passage].source.score / top), window)
            for window in self.found.windows
        ]
        weighed.sort(key=lambda pair: -pair[0])
        greatest = weighed[0][0] if weighed else 0.0
        quotes = []
        for rank, (weight, window) in enumerate(weighed[:WINDOWS]):
            if window.passage not in self.lines:
                self._read(window.passage)
            share = (weight / greatest) ** STEEP if greatest else 1 / (1 + rank)
            start, end = self.starts[window.passage][window.at : window.at + 2]
            quotes += [
                self._quote(window.passage, place, self.lines[window.passage][place], share)
                for place in range(start, end)
            ]
        told = {term for quote in quotes for term in quote.terms if self._kind(quote) != RUN}
        return [
            quote
            for quote in quotes
            if self._kind(quote) != RUN or quote.terms & self.found.rarity.keys() - told
        ][:QUOTES]

    def _read(self, passage: int) -> None:
        """Cut the windows of a passage into lines."""
        own = [window for window in self.found.windows if window.passage == passage]
        found: List[Line] = []
        starts = [0]
        for window in sorted(own, key=lambda window: window.at):
            place, block = len(found), found[-1].block + 1 if found else 0
            found += [
                line._replace(
                    block=line.block + block, lead=line.lead + place if line.lead >= 0 else -1
                )
                for line in sentences.lines(window.text)
            ]
            starts.append(len(found))
        self.lines[passage], self.starts[passage] = found, starts
        self.passing[passage] = _passing_remarks(found)

    def _kind(self, quote: _Quote) -> str:
        return self.lines[quote.passage][quote.place].kind

    def _factor(self, passage: int, place: int, line: Line) -> float:
        if line.kind in (CODE, TABLE):
            return BLOCK
        return 0.0 if place in self.passing[passage] else 1.0

    def _quote(self, passage: int, place: int, line: Line, weight: float) -> _Quote:
        before = self.lines[passage][place - 1] if place else None
        terms = frozenset(tokeniser.tokens(line.text))
        told = terms
        if before is not None and before.kind == LEAD and line.lead == place - 1:
            told |= frozenset(tokeniser.tokens(before.text))
        names = min(len(technical(line.text)), MOST_NAMES) / MOST_NAMES
        worth = SHARE * self.found.share(told) + (
            0.0 if line.kind == LEAD else BASE + NAMES * names
        )
        factor = self._factor(passage, place, line)
        text = self._fitted(passage, line)
        lead = line.lead
        if before is not None and line.kind == PROSE and lead < place - 1:
            lead = place - 1 if (before.kind, before.block) == (PROSE, line.block) else -1
        return _Quote(passage, place, lead, text, weight * factor * worth, terms)

    def _fitted(self, passage: int, line: Line) -> str:
        """Return a line, cut in half where longer than the room."""
        most = self.room - self._around(passage)
        if _size(line.text) <= most:
            return line.text
        most = min(most - _size(""), max(self.room // 2, CUT))
        if line.kind not in (CODE, TABLE):
            return sentences.clip_at_clause(line.text, most)
        rows = line.text.split("\n")
        held: List[str] = []
        for row in rows:
            if len("\n".join([*held, row, rows[-1]]).encode()) + 2 * len(held) > most:
                break
            held.append(row)
        return "\n".join([*held, rows[-1]] if line.kind == CODE else held) if len(held) > 1 else ""

    def _best(self) -> Tuple[int, float]:
        """Return (fitting quote of the highest gain per byte, gain)."""
        best, most = -1, 0.0
        for at, quote in enumerate(self.quotes):
            if (
                self.likeness[at] >= SAME
                or not quote.text
                or quote.place in self.taken.get(quote.passage, ())
            ):
                continue
            if self._has_companion(quote) and not self._fits(quote):
                quote = self.quotes[at] = quote._replace(lead=-1)
            size = self._bytes(quote)
            gain = quote.worth * (1 - NOVELTY * self.likeness[at]) / (size + MARK) ** COST
            if gain > most and self._fits(quote):
                best, most = at, gain
        return best, most

    def _has_companion(self, quote: _Quote) -> bool:
        """Tell whether a sentence comes along that does not introduce the quote."""
        return quote.lead >= 0 and self.lines[quote.passage][quote.lead].kind == PROSE

    def _newest(self, at: int) -> int:
        """Return the newest fitting quote on the same subject."""
        quote = self.quotes[at]
        alike = [
            i
            for i, other in enumerate(self.quotes)
            if self._day(other) > self._day(quote)
            and self.likeness[i] < SAME
            and other.text
            and _likeness(quote.terms, other.terms) >= ALIKE
            and self._fits(other)
        ]
        return max(
            alike, key=lambda i: (self._day(self.quotes[i]), self.quotes[i].worth), default=at
        )

    def _day(self, quote: _Quote) -> str:
        return self.passages[quote.passage].day

    def _bytes(self, quote: _Quote) -> int:
        """Return the size of a quote's lines when indented."""
        size = _size(quote.text)
        if quote.lead >= 0 and quote.lead not in self.taken.get(quote.passage, ()):
            size += _size(self.lines[quote.passage][quote.lead].text)
        return size

    def _fits(self, quote: _Quote) -> bool:
        around = 0 if quote.passage in self.taken else self._around(quote.passage)
        return self.used + around + self._bytes(quote) <= self.room

    def _around(self, passage: int) -> int:
        """Return the bytes of a bullet's mark, request and citation."""
        return (
            _size(self._request_head(passage)) * bool(self._request_head(passage))
            + _size(self._cite(passage))
            + 2
        )

    def _take(self, at: int) -> None:
        quote = self.quotes[at]
        self._add(quote)
        for i, other in enumerate(self.quotes):
            self.likeness[i] = max(self.likeness[i], _likeness(quote.terms, other.terms))

    def _add(self, quote: _Quote) -> None:
        self.used += self._bytes(quote) + (
            0 if quote.passage in self.taken else self._around(quote.passage)
        )
        self.taken.setdefault(quote.passage, set()).update(
            {quote.place, max(quote.lead, -1)} - {-1}
        )

    def _open(self, quote: _Quote) -> None:
        """Take the opening sentence of a quote's reply."""
        found = self.lines[quote.passage]
        if self.passages[quote.passage].source.kind != "conversation":
            return
        start = quote.place
        while start and found[start - 1].kind != RUN:
            start -= 1
        said = [place for place in range(start, len(found)) if found[place].kind == PROSE][:2]
        for number, place in enumerate(said):
            if number and len(found[said[0]].text) >= SHORT:
                break
            line = found[place]
            opening = _Quote(
                quote.passage, place, -1, line.text, 0.0, frozenset(tokeniser.tokens(line.text))
            )
            both = self._bytes(opening) + self._bytes(quote) + self._around(quote.passage)
            if place != quote.place and self.used + both <= self.room:
                self._add(opening)

    def _arranged(self) -> List[int]:
        """Return the quoted passages, best first, newer before similar older."""
        order: List[int] = []
        for passage in self.taken:
            place = next(
                (at for at, other in enumerate(order) if self._replaces(passage, other)), len(order)
            )
            order.insert(place, passage)
        return order

    def _replaces(self, passage: int, other: int) -> bool:
        """Tell whether a passage is newer than another on the same subject."""
        if self.passages[passage].day <= self.passages[other].day:
            return False
        return any(
            _likeness(one, two) >= ALIKE
            for one in self._taken_terms(passage)
            for two in self._taken_terms(other)
        )

    def _taken_terms(self, passage: int) -> List[FrozenSet[str]]:
        return [
            quote.terms
            for quote in self.quotes
            if quote.passage == passage and quote.place in self.taken[passage]
        ]

    def _request_head(self, passage: int) -> str:
        request = self.passages[passage].request
        return (
            'asked "%s":' % plaintext.at_word(plaintext.one_line(request), REQUEST)
            if request
            else ""
        )

    def _cite(self, passage: int) -> str:
        return "[%s] %s" % (self.passages[passage].source.id, self.passages[passage].day)

    def _bullet(self, passage: int) -> Bullet:
        texts = {quote.place: quote.text for quote in self.quotes if quote.passage == passage}
        places = sorted(self.taken[passage])
        found = self.lines[passage]
        rows = [texts.get(place) or found[place].text for place in places]
        block = found[places[-1]].kind in (CODE, TABLE)
        told = "\n".join(
            [self._request_head(passage), *rows] if self._request_head(passage) else rows
        )
        end = ("\n" if block else " ") + self._cite(passage)
        return Bullet(told + end, (self.passages[passage].source.id,))


def _passing_remarks(found: Sequence[Line]) -> Set[int]:
    """Return the places of short remarks before a call."""
    out: Set[int] = set()
    held: List[int] = []
    for place, line in enumerate(found):
        if line.kind == RUN:
            if sum(len(found[at].text) for at in held) <= REMARK:
                out.update(held)
            held = []
        else:
            held.append(place)
    return out


def _size(text: str) -> int:
    return len(text.encode()) + 3 + 2 * text.count("\n")


def _likeness(one: FrozenSet[str], other: FrozenSet[str]) -> float:
    """Return the cosine similarity of two sets of words."""
    return len(one & other) / math.sqrt(len(one) * len(other) or 1)
