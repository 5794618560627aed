"""Extractive summary, made without a model: lines of the best windows, word for word.

Windows (hook/windows.py) are weighted by their score squared, times the record's score in recall.
Of the best WINDOWS, lines are taken by maximal marginal relevance (Carbonell and Goldstein, SIGIR
1998), the highest gain per byte first:

    weight (0.3 + 2 share of the question's idf + 0.5 technical words) (1 - 0.7 likeness) /
    bytes^0.5

A line is a sentence, list item, code block or table, with the line that introduces it or the
sentence before it. A heading's words count for the first line below it too. Likeness is the
greatest cosine of its words with a taken line's. A tool's line counts only if it alone holds a word
of the question, a passing remark before a tool call not at all. Of two lines on the same subject,
the newer is taken. The choice ends at the budget, at a small gain, or after ENOUGH bytes.

The turn of the first line is quoted from the opening of its reply, with the next sentence if that
is short: a yes or no stays with its reason. A turn is one bullet: its request in a few words, the
lines, its record and day. The best stands first, but newer before older on the same subject, which
is marked.

Where the windows answer too little (Answer.is_answered), the nearest records are quoted instead.
"""

from __future__ import annotations

import math
import re
from typing import Iterable, NamedTuple, Sequence

from memory.capture.turns import REFUSED
from memory.core import clock, plaintext, tokeniser
from memory.distill.digests import (
    BODY_LIMIT,
    NEAREST,
    Bullet,
    CheckResult,
    Digest,
    Source,
    clean,
    list_nearest,
    make_digest,
)
from memory.distill.sources import SourcePassage, split_sources
from memory.distill.technical import find_technical
from memory.hook import windows
from memory.hook.handles import extract_ids, names_branch
from memory.recall import sentences, timewords
from memory.recall.question import names_subject, parse_times
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
OLDER = "older: "  # before the day of what a newer bullet speaks of too
SHORT = 40  # characters of an opening sentence that needs the next one
LEAST = 20  # characters of a sentence that tells something
REQUEST = 60  # characters of a quoted request
HALF, LACKING = 0.52, 4  # answered share of a question below which words are named as missing
_REFUSAL = re.compile(r"\(%s [^()]*\)" % REFUSED)  # of a call, without the user's reason


def extract(
    question: str, sources: Sequence[Source], max_tokens: int = 500, floor: bool = False
) -> Digest:
    """Answer a question by quotes from sources, best first.

    floor: refuse where the sources answer too little.
    """
    notes, named = _note_cut_sources(sources), _select_named(question, sources)
    passages = split_sources(named or sources)
    found = windows.find_answer(
        _without_time_words(question, sources), [each.passage for each in passages], limit=WINDOW
    )
    selection = _QuoteSelection(passages, found, 4 * max_tokens)
    if floor and not selection.answers(bool(named)):
        nearest = selection.quote_nearest() or list_nearest(sources)
        return make_digest((), "extract", sources, notes, nearest=nearest)
    bullets = selection.select_bullets()
    if floor and bullets and not named:
        notes += _note_missing_words(question, found, bullets)
    if sources and not bullets:
        full = "nothing fits into %d tokens: raise --max-tokens" % max_tokens
        notes.append(full if found.windows else "the records are empty")
    checked = CheckResult(len(bullets), len(bullets))
    return make_digest(bullets, "extract", sources, notes, checked)


def _note_cut_sources(sources: Sequence[Source]) -> list[str]:
    note = "%s: only its first %d characters were read"
    return [note % (each.id, BODY_LIMIT) for each in sources if len(each.body) > BODY_LIMIT]


def _select_named(question: str, sources: Sequence[Source]) -> list[Source]:
    """Return the sources that a question names by their id or branch."""
    ids = extract_ids(question)
    return [each for each in sources if each.id in ids or names_branch(question, each.branch)]


def _without_time_words(question: str, sources: Sequence[Source]) -> str:
    """Return a question without time words, "" if it names no subject then."""
    text = clean(question)
    newest = max((source.created for source in sources), default=0.0)
    times = parse_times(text, newest, clock.utc)
    is_timed = (times.since, times.until) != timewords.OPEN
    return times.rest if times.rest and (names_subject(times.rest) or not is_timed) else ""


def _note_missing_words(
    question: str, found: windows.Answer, bullets: Sequence[Bullet]
) -> list[str]:
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


class _Page:
    """A passage's lines, and the places of the quoted ones."""

    def __init__(self, passage: SourcePassage, texts: Iterable[str]):
        """Parse the texts of the passage's windows, in their order."""
        self.passage = passage
        self.lines: list[Line] = []
        self.starts = [0]  # place of each window, and the end of the last
        for text in texts:
            start, block = len(self.lines), self.lines[-1].block + 1 if self.lines else 0
            for line in sentences.parse_lines(text):
                lead = line.lead + start if line.lead >= 0 else -1
                self.lines.append(line._replace(block=line.block + block, lead=lead))
            self.starts.append(len(self.lines))
        is_talk = passage.source.kind == "conversation"
        self.remarks = _find_passing_remarks(self.lines) if is_talk else set()
        self.taken: set[int] = set()
        self.citation = "[%s] %s" % (passage.source.id, passage.day)
        self.frame = _count_bytes(self.citation) + 2  # bytes around the lines of a bullet
        self.request = plaintext.clip_at_word(plaintext.one_line(passage.request), REQUEST)
        if self.request:
            self.request = 'asked "%s":' % self.request
            self.frame += _count_bytes(self.request)

    def find_lead(self, place: int) -> int:
        """Return the place of the line to quote before another, or -1."""
        line = self.lines[place]
        if not place or line.kind != PROSE or line.lead >= place - 1:
            return line.lead
        before = self.lines[place - 1]
        return place - 1 if (before.kind, before.block) == (PROSE, line.block) else -1


class _Quote(NamedTuple):
    """A line that may be quoted.

    place: index in its page. lead: place of the line before it that is quoted too, or -1.
    """

    page: _Page
    place: int
    lead: int
    text: str
    worth: float
    terms: frozenset[str]

    @property
    def kind(self) -> str:
        return self.page.lines[self.place].kind

    @property
    def day(self) -> str:
        return self.page.passage.day

    @property
    def size(self) -> int:
        """The bytes that the quote would add to its bullet."""
        size = _count_bytes(self.text)
        if self.lead >= 0 and self.lead not in self.page.taken:
            size += _count_bytes(self.page.lines[self.lead].text)
        return size


class _QuoteSelection:
    """The greedy choice of quotes, by gain per byte."""

    def __init__(self, passages: Sequence[SourcePassage], found: windows.Answer, room: int):
        """Collect the lines to choose from; room: bytes of all bullets."""
        self.passages, self.found, self.room = passages, found, room
        self.pages: dict[int, _Page] = {}
        self.quotes = self._collect_quotes()
        self.likeness = [0.0] * len(self.quotes)
        self.quoted: list[_Page] = []  # in the order of the choice
        self.used = 0

    def answers(self, is_named: bool) -> bool:
        """Tell whether any line is worth quoting; true too where nothing was found.

        is_named: whether the question names the records, and need share no word with them.
        """
        is_worth = not self.found.windows or any(quote.worth for quote in self.quotes)
        return is_worth and (is_named or self.found.is_answered)

    def quote_nearest(self) -> tuple[tuple[str, str, str], ...]:
        """Return (id, title, sentence nearest the question) of the best sessions."""
        best: dict[str, tuple[str, str, str]] = {}
        for window in self.found.windows:
            source, passage, *_ = self.passages[window.passage]
            rows = window.text.split("\n") if passage.session not in best else []
            found = [part for row in rows for part in windows.split_sentences(row)]
            texts = [text for text in found if len(text) > LEAST]
            if texts and window.score:
                text = plaintext.clip_at_word(texts[self.found.find_nearest(texts)], CUT)
                best[passage.session] = source.id, clean(source.title), text
            if len(best) == NEAREST:
                break
        return tuple(best.values())

    def select_bullets(self) -> list[Bullet]:
        """Take quotes while they gain enough, and return them as bullets."""
        first = 0.0
        while self.used <= ENOUGH:
            at, gain = self._find_best()
            if at < 0 or gain < LITTLE * first:
                break
            if not first:
                self._take_opening(self.quotes[at])
            first = first or gain
            self._take(self.quotes[self._find_newest(at)])
        return [self._make_bullet(page) for page in self._order_pages()]

    def _collect_quotes(self) -> list[_Quote]:
        """Return the lines of the best windows, as quotes to choose from."""
        top = max((each.source.score for each in self.passages), default=0.0) or 1.0
        weighed = [
            (window.score * (1 + FOUND * self.passages[window.passage].source.score / top), window)
            for window in self.found.windows
        ]
        weighed.sort(key=lambda pair: -pair[0])
        greatest = weighed[0][0] if weighed else 0.0
        quotes = []
        for rank, (weight, window) in enumerate(weighed[:WINDOWS]):
            page = self._open_page(window.passage)
            share = (weight / greatest) ** STEEP if greatest else 1 / (1 + rank)
            start, end = page.starts[window.at : window.at + 2]
            quotes += [self._make_quote(page, place, share) for place in range(start, end)]
        said = {term for quote in quotes if quote.kind != RUN for term in quote.terms}
        run_only = self.found.rarity.keys() - said
        return [q for q in quotes if q.kind != RUN or q.terms & run_only][:QUOTES]

    def _open_page(self, number: int) -> _Page:
        if number not in self.pages:
            own = [window for window in self.found.windows if window.passage == number]
            own.sort(key=lambda window: window.at)
            texts = (window.text for window in own)
            self.pages[number] = _Page(self.passages[number], texts)
        return self.pages[number]

    def _make_quote(self, page: _Page, place: int, weight: float) -> _Quote:
        """Weigh a line, and make it a quote to choose from."""
        line, before = page.lines[place], page.lines[place - 1] if place else None
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
        elif place in page.remarks:
            worth = 0.0
        text = _fit_line(line, self.room - page.frame, self.room)
        return _Quote(page, place, page.find_lead(place), text, weight * worth, terms)

    def _find_best(self) -> tuple[int, float]:
        """Return (index, gain) of the quote with most gain per byte."""
        best, most = -1, 0.0
        for at, quote in enumerate(self.quotes):
            is_taken = quote.place in quote.page.taken
            if is_taken or not quote.text or self.likeness[at] >= SAME:
                continue
            follows_sentence = quote.lead >= 0 and quote.page.lines[quote.lead].kind == PROSE
            if follows_sentence and not self._fits(quote):
                quote = self.quotes[at] = quote._replace(lead=-1)
            gain = quote.worth * (1 - NOVELTY * self.likeness[at]) / (quote.size + MARK) ** COST
            if gain > most and self._fits(quote):
                best, most = at, gain
        return best, most

    def _find_newest(self, at: int) -> int:
        """Return the newest fitting quote on the subject of `at` (indexes)."""
        quote = self.quotes[at]
        alike = [
            i
            for i, other in enumerate(self.quotes)
            if other.day > quote.day
            and self.likeness[i] < SAME
            and other.text
            and self._replaces(other, quote)
            and self._fits(other)
        ]
        return max(alike, key=lambda i: (self.quotes[i].day, self.quotes[i].worth), default=at)

    def _fits(self, quote: _Quote) -> bool:
        around = 0 if quote.page.taken else quote.page.frame
        return self.used + around + quote.size <= self.room

    def _take(self, quote: _Quote) -> None:
        """Take a quote, and note how like it the others are."""
        self._add(quote)
        for i, other in enumerate(self.quotes):
            self.likeness[i] = max(self.likeness[i], _cosine(quote.terms, other.terms))

    def _add(self, quote: _Quote) -> None:
        page = quote.page
        self.used += quote.size
        if not page.taken:
            self.used += page.frame
            self.quoted.append(page)
        page.taken.update({quote.place, quote.lead} - {-1})

    def _take_opening(self, quote: _Quote) -> None:
        """Take the opening sentences of a quote's reply if they fit."""
        page, start = quote.page, quote.place
        if page.passage.source.kind != "conversation":
            return
        while start and page.lines[start - 1].kind != RUN:
            start -= 1
        prose = [at for at in range(start, len(page.lines)) if page.lines[at].kind == PROSE][:2]
        if prose and len(page.lines[prose[0]].text) >= SHORT:
            prose = prose[:1]
        for place in prose:
            opening = _Quote(page, place, -1, page.lines[place].text, 0.0, frozenset())
            size = opening.size + quote.size + page.frame
            if place != quote.place and self.used + size <= self.room:
                self._add(opening)

    def _order_pages(self) -> list[_Page]:
        """Return the quoted pages, best first, but newer before older on one subject."""
        order: list[_Page] = []
        for page in self.quoted:
            older = [at for at, other in enumerate(order) if self._is_update(page, other)]
            order.insert(older[0] if older else len(order), page)
        for at, page in enumerate(order):
            is_older = any(self._is_update(other, page) for other in order[:at])
            if is_older and self.used + len(OLDER) <= self.room:
                self.used += len(OLDER)
                page.citation = "[%s] %s%s" % (page.passage.source.id, OLDER, page.passage.day)
        return order

    def _is_update(self, page: _Page, other: _Page) -> bool:
        """Tell whether a page is newer than another on the same subject."""
        return page.passage.day > other.passage.day and any(
            self._replaces(quote, before)
            for quote in self._list_taken(page)
            for before in self._list_taken(other)
        )

    def _replaces(self, later: _Quote, quote: _Quote) -> bool:
        """Tell whether a later quote is on the same subject and answers as much."""
        answers = self.found.share(later.terms) >= self.found.share(quote.terms)
        return answers and _cosine(quote.terms, later.terms) >= ALIKE

    def _list_taken(self, page: _Page) -> list[_Quote]:
        return [q for q in self.quotes if q.page is page and q.place in page.taken]

    def _make_bullet(self, page: _Page) -> Bullet:
        texts = {quote.place: quote.text for quote in self._list_taken(page)}
        places = sorted(page.taken)
        rows = [page.request] if page.request else []
        rows += [texts.get(place) or page.lines[place].text for place in places]
        gap = "\n" if page.lines[places[-1]].kind in (CODE, TABLE) else " "
        return Bullet("\n".join(rows) + gap + page.citation, (page.passage.source.id,))


def _fit_line(line: Line, most: int, room: int) -> str:
    """Return a line's text, clipped to `most` bytes, or "".

    room: bytes of all bullets, of which a cut line may have half.
    """
    if _count_bytes(line.text) <= most:
        return line.text
    most = min(most - _count_bytes(""), max(room // 2, CUT))
    if line.kind not in (CODE, TABLE):
        return sentences.clip_at_clause(line.text, most)
    rows = line.text.split("\n")
    kept: list[str] = []
    for row in rows:
        if len("\n".join([*kept, row, rows[-1]]).encode()) + 2 * len(kept) > most:
            break
        kept.append(row)
    if len(kept) < 2:
        return ""
    return "\n".join([*kept, rows[-1]] if line.kind == CODE else kept)


def _find_passing_remarks(found: Sequence[Line]) -> set[int]:
    """Return the places of short remarks before a call, and of refused calls."""
    out: set[int] = set()
    since_call: list[int] = []
    for place, line in enumerate(found):
        if line.kind == RUN:
            if sum(len(found[at].text) for at in since_call) <= REMARK:
                out.update(since_call)
            since_call = []
        elif _REFUSAL.fullmatch(line.text):
            out.add(place)
        else:
            since_call.append(place)
    return out


def _count_bytes(text: str) -> int:
    """Return the bytes of a text on indented lines of a bullet."""
    return len(text.encode()) + len("- \n") + len("  ") * text.count("\n")


def _cosine(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / math.sqrt(len(one) * len(other) or 1)
