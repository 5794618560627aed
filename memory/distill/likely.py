"""Estimate how likely each line of the sources is to answer a question, and how much of the question any source holds.

p(line) is the softmax over all lines of

    4.0 log share      the source's score over the best one's; where recall gave none, 1 / rank stands for its fourth power
    3.2 relevance      BM25 (k1 1.2, b 0.75; idf over all lines) of the question's terms, over the best line's
    2.0 neighbours     the better relevance of the two lines beside it
    0.8 source         BM25 of the whole source, its title or request twice, over the best source's
    0.65 log length    of the line in bytes: what is longer holds more
    1.25 asked         for each way in which it looks like an answer: a number for `how many`, a reason for `why` (cues.py)
    4.0 request        of its turn's request: (share of the question that it holds)^4 (share of its terms that ask the same)^2;
                       a turn that only agrees to the one before it, or corrects an earlier one, has that one's as well
    0.9 outcome        e^(-bytes / 400) of the outcome that stand before it: a model says first what came of it
   -1.2 way            it stands before its turn's outcome
   -1.0 / (1 + order) of a line of any other record: what opens one mostly says its title again
   -1.0 block         it is code or a table of several lines, and the question asks for neither
   -3.0 passing        it announces or offers what is done next ("Let me check …", "Want me to …?"), or praises
   -2.0 closing        it only reports that tests pass, or doubts what stands before it, and the question asks for no such result
   -2.0 open           it is a question, or one of what a user may choose from where none asks for advice; this and what
                       follows, of a turn
   -1.0 corrected      a later turn of its session agrees that its turn was not all; -6.0 where it takes that back
   -1.0 proposed       it says what could or should be done, and the question asks for no advice

times the square root of what all lines of its session have of it, over the best session's: first which session answers, then
which lines of it; and, where nothing is relevant, of how technical it is and whether it tells a decision or a failure.
The weights are those of a conditional logit over labelled questions, rounded (evals/README.md).
"""

from __future__ import annotations

import math
from collections import Counter
from typing import AbstractSet, Callable, Dict, FrozenSet, Iterable, List, NamedTuple, Sequence, Set, Tuple

from memory.capture import turns
from memory.capture.turns import cosine
from memory.core import tokeniser
from memory.distill import cues
from memory.distill.digests import Source, clean
from memory.distill.units import JOINT, Unit, quoted
from memory.hook.segment import K1, B
from memory.recall.question import ASKING
from memory.session import deeds

SHARE, RELEVANCE, NEIGHBOURS, SOURCE, LENGTH, ASKED, REQUEST, OUTCOME, WAY, OPENING, BLOCK, CONTENT = (
    4.0, 3.2, 2.0, 0.8, 0.65, 1.25, 4.0, 0.9, -1.2, -1.0, -1.0, 3.0)
PASSING, CLOSING, OPEN, PROPOSED = -3.0, -2.0, -2.0, -1.0
CORRECTED = (0.0, -1.0, -6.0)  # of a turn, by what cues.corrects says of a later one
# Of what a later session changes: the share of its object that is about what is quoted, how far what they share tells turns
# apart (sum of idf over turns), and turns that are thought to be there at least.
OBJECT, APART, LEAST = 0.5, 3.0, 30
NEAR = 3  # turns before one that corrects, of which the most alike is meant
SESSION = 0.5  # exponent of what all lines of a session have of the likelihood
REACH = 400.0  # bytes over which the weight of an outcome's opening falls to a third
HEADED = 0.3  # of a term's idf, where it stands in the title, request or heading alone
TITLED = 2  # how often a title or request counts in its source
FEW = 500  # lines that are thought to stand beside the sources where it is measured how much of a question they hold
# The floor: OF_SOURCE * share in a source + OF_LINES * share in three lines + terms there, up to MOST_TERMS, against TELLS.
OF_SOURCE, OF_LINES, MOST_TERMS, TELLS = 8.0, 4.0, 5, 8.0
SURE, LACKING = 0.52, 4  # share of a question from which on its answer is believed; words named where less is held
COMPOUND = 4  # letters of a word that may begin a longer one
SLIGHT = 0.2  # factor of a line of one or two plain words, and of a line of a log that reports nothing amiss


class Held(NamedTuple):
    """How much of a question the sources hold: the greatest share of its idf in one source, the greatest in three lines that
    follow one another with their title, the terms in that source, and the terms of the question that name something."""

    source: float
    lines: float
    terms: int
    asked: int

    @property
    def tells(self) -> bool:
        """Whether the sources hold enough that one may answer from them; a question that names nothing is no measure."""
        return not self.asked or OF_SOURCE * self.source + OF_LINES * self.lines + min(self.terms, MOST_TERMS) >= TELLS

    def lacking(self, question: str, texts: Iterable[str]) -> List[str]:
        """Return a line that names what of the question an answer has nothing on, where the records hold half of it at most.

        texts: the answer, and the titles of what it quotes.
        """
        if not self.asked or self.source >= SURE:
            return []
        said = {term for text in texts for term, _ in tokeniser.terms(text)}
        words = [word.strip(".,;:?!\"'()") for word in clean(question).split()]
        lacks = ["'%s'" % word for word in dict.fromkeys(words) if word.lower() not in tokeniser.STOP
                 and (terms := [term for term, _ in tokeniser.terms(word)]) and terms[0] not in ASKING | tokeniser.COMMON
                 and not said.intersection(terms)]
        return ["this may be about something else: it has nothing on " + ", ".join(lacks[:LACKING])] if lacks else []


class Likely(NamedTuple):
    """Terms and likelihood of each line, whether any holds a term of the question, how much of it is held, and by each line."""

    bags: List[FrozenSet[str]]
    chances: List[float]
    relevant: bool
    held: Held
    holds: List[float]

    def turning(self, lines: Sequence[Unit], about: AbstractSet[str], of: AbstractSet[int]) -> List[int]:
        """Return the lines of some sources that take away or change what some words are about, what changes most of it first.

        about: the words of what is quoted.  of: the sources.
        """
        worth, found = self._worth(lines), []
        for at, line in enumerate(lines):
            if line.source not in of or line.start < 0 or line.kind not in ("prose", "item"):
                continue
            for said in (line.label, *line.text.split(JOINT)):
                what = cues.turned(said)
                own, names = turns.words(what) if what else frozenset[str](), what.split("`")[1::2]
                shared = worth(own & about)
                if not shared or (not any(frozenset() < turns.words(name) <= about for name in names) if names
                                  else deeds.SIDE.search(what)):  # unused imports, a test: they go along with any work
                    continue
                if shared >= OBJECT * worth(own) and worth(turns.words(said) & about) >= APART:
                    found.append((-shared * shared / worth(own), at))
        return list(dict.fromkeys(at for _, at in sorted(found)))

    def _worth(self, lines: Sequence[Unit]) -> Callable[[AbstractSet[str]], float]:
        """Return a function that says how far words tell the sources apart."""
        held: Dict[int, Set[str]] = {}
        for line, bag in zip(lines, self.bags):
            held.setdefault(line.source, set()).update(bag)
        seen, many = Counter(term for bag in held.values() for term in bag), max(len(held), LEAST)
        rarity = {term: math.log(1 + (many - count + 0.5) / (count + 0.5)) for term, count in seen.items()}
        return lambda said: sum(rarity.get(term, 0.0) for term in said)

    def slight(self, of: Sequence[int], names: Sequence[str], share: float) -> Set[int]:
        """Return the sources of groups that have less than a share of the best one's likelihood, in all and in their best line.

        of: the source of each line.  names: the group of each source, "" for none.
        """
        all_of, best = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        for source, chance in zip(of, self.chances):
            name = names[source]
            all_of[name] += chance
            best[name] = max(best[name], chance)
        most, top = (max((value for name, value in found.items() if name), default=0.0) for found in (all_of, best))
        return {i for i, name in enumerate(names) if name and all_of[name] < share * most and best[name] < share * top}


def likely(question: str, sources: Sequence[Source], lines: Sequence[Unit]) -> Likely:
    """Return how likely each line is to answer a question.

    sources: best first.  lines: of all sources, each source's in their order.
    """
    terms = _counter()
    counts = [Counter(terms(line.text)) for line in lines]
    asked = tokeniser.terms(clean(question))
    rarity = _rarity(asked, counts)
    relevance = _relevance(rarity, sources, lines, counts, terms)
    whole = _whole(asked, sources, lines, counts, terms)
    looks, shares, plain, slight = cues.wanted(question), _shares(sources), not cues.asks_block(question), _slight(question)
    far = _rarity(asked, counts, FEW)
    meant, lost = _corrected(sources, lines, counts)
    requests = _requests(far, sources, terms, meant)
    at = {(line.source, line.order): value for line, value in zip(lines, relevance)}
    raw, relevant = [], any(relevance)
    for line, value in zip(lines, relevance):
        s, o, said = line.source, line.order, quoted(line)
        raw.append(shares[s] + RELEVANCE * value + NEIGHBOURS * max(at.get((s, o - 1), 0.0), at.get((s, o + 1), 0.0))
                   + SOURCE * whole[s] + LENGTH * math.log(len(said.encode()) + 1) + ASKED * looks(said)
                   + REQUEST * requests[s] + lost[s] + _place(sources[s], line)
                   + BLOCK * (plain and "\n" in line.text) + slight(line, sources[s])
                   + (0 if relevant else CONTENT * cues.telling(line.text)) + math.log(_weight(line.text)))
    return Likely([frozenset(count) for count in counts], _chances(raw, sources, lines), relevant,
                  *_held(far, sources, lines, counts, terms))


def _chances(raw: Sequence[float], sources: Sequence[Source], lines: Sequence[Unit]) -> List[float]:
    """Return the share of each line, a session's share counted in."""
    top = max(raw, default=0.0)
    mass = [math.exp(value - top) for value in raw]
    sessions = [session_of(sources[line.source]) for line in lines]
    of_session = dict.fromkeys(sessions, 0.0)
    for session, value in zip(sessions, mass):
        of_session[session] += value
    most = max((value for session, value in of_session.items() if session), default=0.0)
    mass = [value * (of_session[session] / most) ** SESSION if session else value for session, value in zip(sessions, mass)]
    whole = sum(mass)
    return [value / whole for value in mass]


def session_of(source: Source) -> str:
    """Return the id of the conversation that a source is of, or tells of; "" of any other record."""
    return source.id if source.kind == "conversation" else source.retold


def _corrected(sources: Sequence[Source], lines: Sequence[Unit],
               counts: Sequence[Counter[str]]) -> Tuple[Dict[int, int], List[float]]:
    """Return the earlier turn of each turn that goes on with one, and what each source loses since a later turn corrects it."""
    said: List[Set[str]] = [set() for _ in sources]
    for line, count in zip(lines, counts):
        said[line.source].update(count)
    meant: dict[int, int] = {}
    lost = [0.0] * len(sources)
    for at, source in enumerate(sources):
        before = [i for i in range(max(at - NEAR, 0), at) if sources[i].id == source.id and sources[i].kind == "conversation"]
        how = cues.corrects(source.title, source.body) if before and source.kind == "conversation" else 0
        if how:
            meant[at] = max(before, key=lambda i: (cosine(frozenset(said[i]), frozenset(said[at])), i))
            lost[meant[at]] = min(lost[meant[at]], CORRECTED[how])
        elif before and turns.agrees(source.title):
            meant[at] = at - 1
    return meant, lost


def _requests(named: dict[str, float], sources: Sequence[Source], terms: Callable[[str], List[str]],
              meant: dict[int, int]) -> List[float]:
    """Return how much the request of each turn asks the same, or that of the turn that it goes on with; 0 of any other source."""
    named = {term: idf for term, idf in named.items() if term not in ASKING}
    mass, out = sum(named.values()) or 1.0, []
    for source in sources:
        said = set(terms(source.title)) - ASKING if source.kind == "conversation" else set()
        same = said & named.keys()
        out.append((sum(named[term] for term in same) / mass) ** 4 * (len(same) / max(len(said), 1)) ** 2)
    for at, before in sorted(meant.items()):
        out[at] = max(out[at], out[before])
    return out


def _slight(question: str) -> Callable[[Unit, Source], float]:
    """Return a function that says what the form of a line takes from it; what a turn leaves open, a later one may tell."""
    closing, proposed = CLOSING * (not cues.asks_checks(question)), PROPOSED * (not cues.proposes(question))

    def slight(line: Unit, source: Source) -> float:
        text = line.text
        passing = PASSING * cues.is_passing(text)
        if source.kind != "conversation":
            return passing
        asks = text.endswith(("?", "？")) or bool(proposed) and line.kind == "item" and (
            line.label.endswith(("?", "？")) or cues.is_option(text) or cues.is_option(line.label))
        return passing + OPEN * asks + closing * cues.is_closing(text) + proposed * cues.proposes(text)

    return slight


def _place(source: Source, line: Unit) -> float:
    """Return what a line's place is worth: a turn's outcome says first what came of it, any other record its title again."""
    if source.kind != "conversation":
        return OPENING / (1 + line.order)
    return OUTCOME * math.exp(-line.start / REACH) if line.start >= 0 else WAY


def _shares(sources: Sequence[Source]) -> List[float]:
    top = max((source.score for source in sources), default=0.0)
    return [SHARE * math.log(max(source.score / top, 0.01)) if top > 0 else -math.log(1 + rank)
            for rank, source in enumerate(sources)]


def _rarity(asked: Sequence[Tuple[str, float]], counts: Sequence[Counter[str]], more: int = 0) -> dict[str, float]:
    """Return the idf of each term of a question over some texts; a term that none holds is the rarest.

    more: texts that hold none of them, so that among few texts a word that many hold counts too.
    """
    number = len(counts) + more
    seen = Counter(term for count in counts for term in count)
    return {term: weight * math.log(1 + (number - seen[term] + 0.5) / (seen[term] + 0.5)) for term, weight in asked}


def _relevance(rarity: dict[str, float], sources: Sequence[Source], lines: Sequence[Unit], counts: Sequence[Counter[str]],
               terms: Callable[[str], List[str]]) -> List[float]:
    """Return the relevance of each line over the best one's."""
    around = {(line.source, line.heading, line.label) for line in lines}
    headed = {key: frozenset(terms(" ".join((sources[key[0]].title, *key[1:])))) for key in around}
    mean = sum(sum(count.values()) for count in counts) / max(len(lines), 1) or 1.0
    out = []
    for line, count in zip(lines, counts):
        norm = K1 * (1 - B + B * sum(count.values()) / mean)
        near = headed[(line.source, line.heading, line.label)]
        out.append(sum(idf * max(_saturated(count[term], norm), HEADED * (term in near)) for term, idf in rarity.items()))
    best = max(out, default=0.0)
    return [value / best if best else 0.0 for value in out]


def _whole(asked: Sequence[Tuple[str, float]], sources: Sequence[Source], lines: Sequence[Unit], counts: Sequence[Counter[str]],
           terms: Callable[[str], List[str]]) -> List[float]:
    """Return the relevance of each source over the best one's."""
    held: List[Counter[str]] = [Counter() for _ in sources]
    for line, count in zip(lines, counts):
        held[line.source].update(count)
    lengths = [sum(count.values()) for count in held]
    for count, source in zip(held, sources):
        for term in terms(source.title):
            count[term] += TITLED
    rarity = _rarity(asked, held)
    mean = sum(lengths) / max(len(held), 1) or 1.0
    out = [sum(idf * _saturated(count[term], K1 * (1 - B + B * length / mean)) for term, idf in rarity.items())
           for count, length in zip(held, lengths)]
    best = max(out, default=0.0)
    return [value / best if best else 0.0 for value in out]


def _saturated(count: int, norm: float) -> float:
    return count * (K1 + 1) / (count + norm)


def _held(rarity: dict[str, float], sources: Sequence[Source], lines: Sequence[Unit], counts: Sequence[Counter[str]],
          terms: Callable[[str], List[str]]) -> Tuple[Held, List[float]]:
    """Return how much of the question is held, and the share that each line holds with what leads it in.

    Words that only ask name nothing and do not count.
    """
    named = {term: idf for term, idf in rarity.items() if term not in ASKING}
    meant = _meant(named, {term for count in counts for term in count})
    there = [{meant[term] for term in terms(source.title) if term in meant} for source in sources]
    near = [set(found) for found in there]
    best, mass = 0.0, sum(named.values()) or 1.0
    leads = {lead: {meant[term] for term in terms(lead) if term in meant} for lead in {line.label for line in lines}}
    met = [{meant[term] for term in meant.keys() & count.keys()} | leads[line.label] for line, count in zip(lines, counts)]
    for at, line in enumerate(lines):
        beside = [met[i] for i in range(max(at - 1, 0), min(at + 2, len(lines))) if lines[i].source == line.source]
        best = max(best, sum(named[term] for term in there[line.source].union(*beside)))
        near[line.source] |= met[at]
    shares = [(sum(named[term] for term in found) / mass, len(found)) for found in near]
    most = max(shares, default=(0.0, 0))
    return Held(most[0], best / mass, most[1], len(named)), [sum(named[term] for term in found) / mass for found in met]


def _meant(named: Iterable[str], known: AbstractSet[str]) -> dict[str, str]:
    """Return the terms that stand for those of a question: themselves, and of one that nobody wrote what begins with it (`time`
    in `timeout`)."""
    out = {term: term for term in named}
    for term in [term for term in named if term not in known and len(term) >= COMPOUND]:
        out.update((other, term) for other in known if other.startswith(term) and other not in out)
    return out


def _weight(value: str) -> float:
    if cues.is_routine(value):
        return SLIGHT
    words = len(value.split()) + (0 if value.isascii() else sum(map(tokeniser.is_cjk, value)) / 4)
    return 1.0 if words >= 3 or cues.technical(value) else SLIGHT


def _counter() -> Callable[[str], List[str]]:
    """Return a function from text to terms that expands each distinct raw token once."""
    table = tokeniser.Table()
    known: dict[str, Tuple[str, ...]] = {}

    def terms(value: str) -> List[str]:
        out: List[str] = []
        for raw in tokeniser.split(value, table):
            if raw not in known:
                known[raw] = tuple(term for term, _ in tokeniser.expand(raw))
            out.extend(known[raw])
        return out

    return terms
