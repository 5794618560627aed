"""What stands for records that no model could read: their units that bear most on a question, packed into a budget for a reader
that is a model, so that it holds as many names and numbers as fit; extract.py is what a person reads.

A unit is a sentence, a list item, a line of a log, a code block or a table.  That one is taken next that adds most per byte:

    p(unit) (1 - 0.7 likeness) / bytes^0.8

p is from likely.py; likeness is the greatest cosine of its term set with one that was taken (maximal marginal relevance,
Carbonell and Goldstein, SIGIR 1998), and from 0.8 on it says nothing new.  The bytes are those of the quote and, for a
record's first, of its citation.  A sentence that leans on the one before it (“It …”, “그래서 …”) brings that along.

Part of the budget goes to technical words that are not said yet, the most per byte: by a quote that holds several (a word
there counts 1.6), or named alone behind the quotes of its record.  At a twentieth of the length that is next to nothing, at
a fifth three quarters of it; where half fits, or the budget is below 150 tokens, the likeliest sentences come first again.

A bullet holds one record's quotes in their order, verbatim up to white space: ` … ` stands where text between two quotes is
left out, and before the words that are only named; ` · ` between two list items or lines of a log that follow one another;
a final `…` where a unit alone was longer than the budget; a block is led in by the line that announces it.  Bullets on one
topic stand together, the oldest first; topics by their best bullet.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Sequence

from memory.capture.turns import cosine
from memory.core import tokeniser
from memory.distill.cues import leans, names
from memory.distill.digests import Bullet, Checked, Digest, Source, cite, clean, compose, count_sources
from memory.distill.likely import Likely, likely
from memory.distill.units import BODY_LIMIT, Unit, fitted, quoted, units

MOST, SHORT = 8, 60  # bullets, and more where each may have that many tokens
NOVELTY, SAME = 0.7, 0.8  # what likeness takes away; from where on a unit says nothing new
COST, MARK = 0.8, 13  # exponent of a quote's bytes; bytes added to each, so that crumbs are not cheap
FLOOR = 0.03  # share of the best likelihood below which a unit is not worth its place
POOL = 400  # units that compete; the rest are less likely
# Share of the budget for technical words, over the square of the share of the sources that fits it, which is at its highest
# where about a fifth fits and falls again where more does; bytes of a budget below which it is less.
NAMED, FIFTH, ROOMY = 16.0, 0.215, 600
WEAK = 0.01  # weight of a record (see SPREAD) below which none of its words are collected
SPREAD = 0.5  # exponent of a record's likelihood where words are collected
READABLE = 1.6  # what a word in its sentence is worth, where a word alone is 1; more where more fits
TOPIC = 0.25  # likeness of two bullets on one topic


def condense(question: str, sources: Sequence[Source], max_tokens: int = 500) -> Digest:
    """Quote from the sources as much as a budget holds.

    sources: best first.  max_tokens: tokens the bullets may have, citations and bullet marks included; never exceeded.
    """
    sources = [_cleaned(source) for source in sources]
    notes = ["%s: only its first %d characters were read" % (s.id, BODY_LIMIT) for s in sources
             if len(s.body) > BODY_LIMIT]
    room = 4 * max_tokens
    found = [unit for i, source in enumerate(sources) for unit in units(i, source, room // 2)]
    pairs = [(short, unit) for unit in found for short in [fitted(unit, sources[unit.source], room)] if short.text]
    candidates = [short for short, _ in pairs]
    weighed = likely(question, sources, candidates)
    if candidates and not weighed.relevant:
        notes.append("no word of the question occurs in the sources: chosen by content only")
    bullets = _Choice(sources, candidates, [unit for _, unit in pairs], weighed, room).bullets()
    if sources and not bullets:
        notes.append("nothing fits into %d tokens: raise --max-tokens" % max_tokens if found else "the records are empty")
    return Digest(tuple(bullets), "extract", count_sources(sources), tokeniser.count_tokens(compose(bullets)), False,
                  tuple(notes), Checked(len(bullets), len(bullets)))


def _cleaned(source: Source) -> Source:
    return replace(source, title=clean(source.title), body=clean(source.body))


class _Choice:
    """Units taken so far and the room that is left; the order in which they are taken is the only state."""

    def __init__(self, sources: Sequence[Source], candidates: Sequence[Unit], whole: Sequence[Unit], weighed: Likely, room: int):
        """candidates: units as they can be quoted.  whole: the same before any was cut to the budget.  room: bytes."""
        self.sources, self.units, self.whole, self.weighed, self.left = sources, candidates, whole, weighed, room
        self.records = [0.0] * len(sources)
        for unit, chance in zip(candidates, weighed.chances):
            self.records[unit.source] += chance
        self.most = max(MOST, room // 4 // SHORT)
        # At most 5 bytes join a quote to the one before; each of its lines is indented by 2.
        self.size = [len(said.encode()) + 5 + 2 * said.count("\n") for said in map(quoted, candidates)]
        self.cites = [len(cite(source).encode()) for source in sources]
        self.place = {(unit.source, unit.order): i for i, unit in enumerate(candidates)}
        order = sorted(range(len(candidates)), key=lambda i: (-weighed.chances[i], i))[:POOL]
        self.open = dict.fromkeys(i for i in order if weighed.chances[i] >= FLOOR * weighed.chances[order[0]])
        self.likeness = dict.fromkeys(self.open, 0.0)
        self.taken: dict[int, list[int]] = {}
        self.named: dict[int, list[str]] = {}

    def bullets(self) -> list[Bullet]:
        """Take what fits and return it as bullets."""
        fits = self.left / max(sum(self.size), 1)
        share = NAMED * (min(fits, FIFTH) * FIFTH / max(fits, FIFTH)) ** 2 * min(1.0, self.left / ROOMY)
        self._quote(int(self.left * share))
        self._cover(READABLE * max(1.0, NAMED * fits ** 2))
        self._quote(0)
        return [Bullet(_join(self.sources[s], [self.units[i] for i in self.taken[s]], self._unsaid(s)), (self.sources[s].id,))
                for s in self._arranged()]

    def _quote(self, reserved: int) -> None:
        """Take units until none fits the room that is not reserved."""
        while True:
            best, most = [], 0.0
            for i in self.open:
                if self.likeness[i] >= SAME or (self.units[i].source not in self.taken and len(self.taken) >= self.most):
                    continue
                group = self._leaning(i)
                bytes_ = self._bytes(group)
                gain = sum(self.weighed.chances[j] for j in group) * (1 - NOVELTY * self.likeness[i]) / bytes_ ** COST
                if gain > most and bytes_ - MARK * len(group) <= self.left - (reserved if self.taken else 0):
                    best, most = group, gain
            if not best:
                return
            self.left -= self._bytes(best) - MARK * len(best)
            for i in best:
                self._take(i)

    def _leaning(self, i: int) -> list[int]:
        """Return a unit with the one before it, where it makes no sense alone."""
        unit = self.units[i]
        before = self.place.get((unit.source, unit.order - 1))
        if before is None or unit.kind != "prose" or not leans(unit.text) or self.units[before].kind != "prose":
            return [i]
        return [i] if before in self.taken.get(unit.source, ()) else [before, i]

    def _bytes(self, group: Sequence[int]) -> int:
        """Return the bytes that a group of units takes: a record's first quote needs a bullet's mark and citation too."""
        source = self.units[group[0]].source
        return sum(self.size[i] + MARK for i in group) + (0 if source in self.taken else self.cites[source] + 6)

    def _take(self, i: int) -> None:
        self.open.pop(i, None)
        self.taken.setdefault(self.units[i].source, []).append(i)
        bags = self.weighed.bags
        for j in self.open:
            self.likeness[j] = max(self.likeness[j], cosine(bags[i], bags[j]))

    def _cover(self, readable: float) -> None:
        """Take the quotes that add most technical words per byte; of a record already quoted, a single word too.

        readable: what a word in its sentence is worth, where one alone is 1.
        """
        top = max(self.records, default=1.0)
        weight = [value if value >= WEAK else 0.0 for value in ((share / top) ** SPREAD for share in self.records)]
        inside = [readable * share for share in weight]
        holders = self._holders()
        new = Counter(i for found in holders.values() for i in found)
        alone = sorted((-weight[s] / (len(w.encode()) + 2), w, s) for w, found in holders.items()
                       for s in {self.units[i].source for i in found} if weight[s])
        while holders:
            best, most = self._densest(new, inside)
            gain, word, source = next((row for row in alone if row[1] in holders and row[2] in self.taken), (0.0, "", -1))
            if best >= 0 and most >= -gain:
                self.left -= self._bytes([best]) - MARK
                self._take(best)
                gone = [w for w in holders if best in holders[w]]
            elif word and len(word.encode()) + 5 <= self.left:
                self.left -= len(word.encode()) + (2 if source in self.named else 5)
                self.named.setdefault(source, []).append(word)
                gone = [w for w in holders if w in word]
            else:
                return
            for w in gone:
                new.subtract(holders.pop(w))

    def _holders(self) -> dict[str, list[int]]:
        """Return the technical words that no quote has said yet, each with the units that hold it."""
        said = "\n".join(self.units[i].text for taken in self.taken.values() for i in taken)
        out: dict[str, list[int]] = {}
        for i, unit in enumerate(self.whole):
            if i not in self.taken.get(unit.source, ()):
                for word in names(quoted(unit)):
                    if word not in said:
                        out.setdefault(word, []).append(i)
        return out

    def _densest(self, new: Counter[int], weight: Sequence[float]) -> tuple[int, float]:
        """Return (the unit that adds most technical words per byte among those that fit, what it adds), or (-1, 0)."""
        best, most = -1, 0.0
        for i, count in new.items():
            source = self.units[i].source
            if count and weight[source] and (source in self.taken or len(self.taken) < self.most):
                bytes_ = self._bytes([i]) - MARK
                gain = weight[source] * count / bytes_
                if gain > most and bytes_ <= self.left:
                    best, most = i, gain
        return best, most

    def _unsaid(self, source: int) -> list[str]:
        """Return the named words of a source that no later quote has said."""
        said = "\n".join(self.units[i].text for i in self.taken[source])
        return [word for word in self.named.get(source, []) if word not in said]

    def _arranged(self) -> list[int]:
        """Return the chosen records: those on one topic together, the oldest first; topics by their likeliest unit."""
        bags = {s: frozenset().union(*(self.weighed.bags[i] for i in taken)) for s, taken in self.taken.items()}
        peak = {s: max(self.weighed.chances[i] for i in taken) for s, taken in self.taken.items()}
        topics: list[list[int]] = []
        for s in sorted(bags, key=lambda s: (-peak[s], s)):
            near = next((t for t in topics if any(cosine(bags[s], bags[o]) >= TOPIC for o in t)), None)
            if near is None:
                topics.append([s])
            else:
                near.append(s)
        return [s for topic in topics for s in sorted(topic, key=lambda s: (self.sources[s].created, s))]


def _join(source: Source, chosen: Sequence[Unit], named: Sequence[str] = ()) -> str:
    """Write a bullet: one source's quotes in order, then the citation (on its own line after a code block)."""
    out, before = "", None
    for unit in sorted(chosen, key=lambda u: u.order):
        said = quoted(unit)
        if before is not None:
            close = unit.order == before.order + 1 and unit.kind == before.kind
            gap = (" · " if unit.kind in ("item", "line") else " ") if close else " … "
            out += "\n" if "\n" in said or (before.kind in ("code", "table") and "\n" in before.text) else gap
        out, before = out + said, unit
    block = before is not None and before.kind in ("code", "table") and "\n" in before.text
    return out + ("\n" if block else " ") + ("… %s " % ", ".join(named) if named else "") + cite(source)
