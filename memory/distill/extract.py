"""The answer made without a model: the lines of the sources that most likely answer, quoted word for word, and no more than pays.

A line (lines.py) is a sentence, a few items of a list, a line of a log, a code block or a table, with what leads it in.  That
one is taken next that adds most per byte:

    p(line) (1 - 0.7 likeness) / bytes^0.9

p is from likely.py; likeness is the greatest cosine of its term set with one that was taken (maximal marginal relevance,
Carbonell and Goldstein, SIGIR 1998), and from 0.8 on it says nothing new.  The bytes are those of the quote and its citation.
A sentence that leans on the one before it (“It …”, “그래서 …”) brings that along, and is left out where that is a block; a
short line between two that are quoted is quoted too.  It ends where the budget does, or where
what is next adds less than PAYS of likelihood per 1,000 bytes, taken by the square of the question's share that one source
holds: where the records hold half of what was asked, more of them seldom answers, and a long list hides that.  Of a session it
ends at FADES of the best that was taken, and after ENOUGH bytes.  What tools ran is quoted only where the question asks for it.

Where the sources hold too little of the question, they do not tell: there is no bullet, and what is nearest is named.  Where no
source holds more than half of it, a note names what the answer has nothing on.

Each line is a bullet with its record's id; those of one source stand together in their order; all in the order of time where the
question asks how something came about.  Else a session stands by its likeliest line.  Where the likeliest line of all is of a
turn, that turn comes first of its session.  What was said on the way to it is left out, and what later turns only repeat; so are
other turns and sessions that hardly speak of the question, and turns that were taken back or that a quoted one found wrong.  What
became of it is told with what the later turn was asked, in the line that says most of what is quoted, since a reply is often
overtaken a few turns later.  Where the likeliest line is of a turn, the question asks for no story, and there is room, before the
first line of each turn stands what it was asked, unless that was the question, and how it stands in time to the likeliest; behind
the likeliest what the user answered, chose or agreed to.  Where a turn of a later session, which edits a file of this one, says
that it took away or changed what is quoted, that stands behind it.
What a turn that changed nothing says to change is marked as proposed; where that is likeliest, what a later turn did of it comes
first.

Where no turn stands out, more of the likeliest one is no answer: then it is one line of each of the likeliest, with what was
asked there, where it holds half as much of the question as the best of them, and a note says so.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import AbstractSet, Sequence

from memory.capture import choices, gist, upshot
from memory.capture.turns import cosine, later, words
from memory.core import tokeniser
from memory.distill import cues
from memory.distill.digests import Bullet, Checked, Digest, Source, clean, compose, count_sources, nearest
from memory.distill.likely import Likely, likely, session_of
from memory.distill.lines import CHOSE, RUN, Quotes, Talks, is_talk, lines, passages, says
from memory.distill.units import BODY_LIMIT, Unit, fitted, quoted

NOVELTY, SAME = 0.7, 0.8  # what likeness takes away; from where on a line says nothing new
COST, MARK = 0.9, 13  # exponent of a line's bytes; bytes added to each, so that crumbs are not cheap
FLOOR, BARE = 0.05, 0.15  # share of the best likelihood that a line needs; one without a word of the question
PAYS = 0.036  # likelihood per 1,000 bytes below which a line is not worth its length
LEAST = 0.2  # share of a question that counts as held at least
SESSION, TURN_OF = 0.4, 0.1  # share of the best session's likelihood, and of the best turn's, below which one tells nothing of it
ENOUGH = 1_300  # bytes after which a session hardly answers any more: one of 45 answers that were kept stood behind them
KEPT = ("learning", "rule")  # what somebody wrote to be kept: the end of a session is none of theirs
FADES = 0.12  # share of the greatest likelihood per byte that was taken of a session from which on more of it does not pay
POOL = 300  # lines that compete; the rest are less likely
# Share of the likelihood below which no turn stands out (the likeliest was of the wrong session in 24 of 32; from 0.5 on in 14 of
# 71), turns that are quoted then, how many of one session, and what their lines hold of the question, over what the best does.
UNSURE, SPREAD, OF_SESSION, SPEAKS = 0.16, 6, 2, 0.5
SPARSE = 800  # bytes of room below which no request is told: quotes come first
GAP = 200  # bytes of a line between two that are quoted, with what leads it in
ASKED = 0.7  # likeness of a turn's request to the question from which on it need not be told
QUOTED, OF_IT = 2, 0.6  # likeliest lines of a turn; what a later one's must share with them or the question
NAMED = 2  # turns around the likeliest one that name the files which a later session edits
OPENS = 0.25  # likelihood of a turn from which on the sentence that opens its outcome is quoted

NONE_STANDS_OUT = "no turn stands out: a line of each of the likeliest; ask again in words of the one you mean"
_ANSWERS = re.compile(
    r"(?i)(?:\w+,? ){0,2}(?:yes|no|nope|not (?:yet|currently|anymore)|exactly|correct|neither|both|never|only)\b.{0,20}")


def extract(question: str, sources: Sequence[Source], max_tokens: int = 500, floor: bool = False) -> Digest:
    """Answer a question with quotes from the sources.

    sources: best first.  max_tokens: tokens the bullets may have, citations and bullet marks included; never exceeded.
    floor: where the sources hold too little of the question, say so instead.
    """
    notes = ["%s: only its first %d characters were read" % (s.id, BODY_LIMIT) for s in sources if len(s.body) > BODY_LIMIT]
    talks = {source.id: source for source in reversed(sources) if source.kind == "conversation"}  # each once
    read = [passage for source in sources if talks.get(source.id, source) is source for passage in passages(source)]
    room = 4 * max_tokens
    found = [line for i, source in enumerate(read) for line in lines(i, source)]
    weighed = likely(question, read, found)
    if floor and not weighed.held.tells:
        return _said(sources, [], notes, nearest(sources))
    if found and not weighed.relevant:
        notes.append("no word of the question occurs in the sources: chosen by content only")
    runs = cues.asks_commands(question) or all(line.kind == RUN for line in found)
    asked = {term for term, _ in tokeniser.terms(clean(question))}
    choice = _Choice(read, found, weighed, room, runs, asked)
    bullets = choice.bullets(question, cues.asks_story(question), floor)
    if floor and choice.spread:
        notes.append(NONE_STANDS_OUT)
    elif floor and bullets:
        notes += weighed.held.lacking(question, (*choice.titles(), *(bullet.text for bullet in bullets)))
    if sources and not bullets:
        notes.append("nothing fits into %d tokens: raise --max-tokens" % max_tokens if found else "the records are empty")
    return _said(sources, bullets, notes)


def _said(sources: Sequence[Source], bullets: Sequence[Bullet], notes: Sequence[str],
          near: tuple[tuple[str, str], ...] = ()) -> Digest:
    return Digest(tuple(bullets), "extract", count_sources(sources), tokeniser.count_tokens(compose(bullets)), False,
                  tuple(notes), Checked(len(bullets), len(bullets)), nearest=near)


class _Choice:
    """Lines taken so far and the room that is left; the order in which they are taken is the only state."""

    def __init__(self, sources: Sequence[Source], found: Sequence[Unit], weighed: Likely, room: int, runs: bool,
                 asked: AbstractSet[str] = frozenset()):
        """found: all lines.  room: bytes.  runs: what tools ran may be quoted.  asked: terms of the question."""
        self.sources, self.weighed, self.left, self.room = sources, weighed, room, room
        self.pays = PAYS / max(weighed.held.source if weighed.held.asked else 1.0, LEAST) ** 2
        self.units = [fitted(line, sources[line.source], room) for line in found]
        self.quotes = Quotes(sources, self.units, self._when)
        self.place = {(line.source, line.order): i for i, line in enumerate(found)}
        open_ = [i for i, line in enumerate(self.units) if line.text and (runs or line.kind != RUN) and not is_talk(line.text)]
        order = sorted(open_, key=lambda i: (-weighed.chances[i], i))[:POOL]
        self.open = dict.fromkeys(i for i in order if weighed.chances[i] >= weighed.chances[order[0]] * (
            FLOOR if asked & weighed.bags[i] and not cues.is_routine(found[i].text) else BARE))
        self.likeness = dict.fromkeys(self.open, 0.0)
        self.taken: list[list[int]] = []
        self.talks = Talks(sources)
        self.main = self.units[order[0]].source if order else -1
        self.story, self.spread, self.top = True, False, 0.0
        self.spent, self.turned, self.known = 0, -1, ""
        self.mass = dict.fromkeys(range(len(sources)), 0.0)
        for unit, chance in zip(self.units, weighed.chances):
            self.mass[unit.source] += chance

    def bullets(self, question: str, story: bool, spread: bool = False) -> list[Bullet]:
        """Take what fits and pays, and return it as bullets.

        story: in the order of time.  spread: where no turn stands out, take one line of each of the likeliest.
        """
        self.story, self.known = story, question
        self.spread = spread and not story and self._of_session(self.main) and max(self.mass.values()) < UNSURE
        if self.spread:
            self._spread()
            return self.quotes.written(self.taken)
        if not story and self._of_session(self.main):
            self._leave()
        self._open()
        if not story and self._of_session(self.main):
            self._follow_up(question)
        while self._step():
            pass
        self._close_gaps()
        if self._of_session(self.main):
            self._since()
        best: dict[str, float] = {}
        for group in self.taken:
            id = self.sources[self.units[group[0]].source].id
            best[id] = max(best.get(id, 0.0), *(self.weighed.chances[i] for i in group))

        done = set[int]() if story else self._carry_out()

        def place(group: Sequence[int]) -> tuple[float, bool, bool, int, int]:
            unit = self.units[group[0]]
            source = self.sources[unit.source]
            before = self._of_session(self.main) and source.id == self.sources[self.main].id and unit.source < self.main
            behind = bool(done) and unit.source not in done
            return source.created if story else -best[source.id], before and not story, behind, unit.source, unit.order

        gone = self.talks.overtaken({self.units[group[0]].source for group in self.taken}) | (
            set() if story else self.talks.undone())
        self.taken = [group for group in self.taken if self.units[group[0]].source not in gone - {self.main}]
        self.taken.sort(key=place)
        bullets = self.quotes.written(self.taken)
        return bullets if story or not self._of_session(self.main) else self._decided(bullets)

    def _decided(self, bullets: list[Bullet]) -> list[Bullet]:
        """Put behind those of the likeliest turn what the user said to it."""
        told, id = [self.units[group[0]].source for group in self.taken], self.sources[self.main].id
        about = frozenset().union(*(self._words(i) for group in self.taken for i in group if self.units[i].source == self.main))
        said = clean(self.talks.decided(self.main, set(told), about)) if self.main in told else ""
        bullet = Bullet("%s [%s]" % (said, id), (id,))
        texts = [self.units[i].text for group in self.taken for i in group]
        chosen = {text.rpartition(" → ")[2] for text in texts if text.startswith(CHOSE)}
        if said and said.rpartition(" → ")[2] not in chosen and 4 + len(bullet.text.encode()) <= self.left:
            bullets.insert(len(told) - told[::-1].index(self.main), bullet)
        return bullets

    def _spread(self) -> None:
        """Take the likeliest line of each of the likeliest turns, which stand in this order."""
        told: Counter[str] = Counter()
        for source in sorted(self.mass, key=lambda source: (-self.mass[source], source)):
            line = next((i for i in self.open if self.units[i].source == source and self.likeness[i] < SAME
                         and self.units[i].kind not in ("code", "table")), None)
            session = session_of(self.sources[source])
            if line is None or told[session] == OF_SESSION or self._bytes([line]) > self.left:
                continue
            told[session] += bool(session)
            self._take([line])
            if len(self.taken) == SPREAD:
                break
        holds = [self.weighed.holds[line] for [line] in self.taken]
        self.taken = [group for group, held in zip(self.taken, holds) if held >= SPEAKS * max(holds)]

    def _of_session(self, source: int) -> bool:
        return source >= 0 and self.sources[source].kind == "conversation"

    def _leave(self) -> None:
        """Leave out what was said on the way to the likeliest turn, and sessions and turns that hardly speak of the question."""
        first, _, way = self.talks.session(self.main)
        links, at = way.links, self.main - first
        of = [unit.source for unit in self.units]
        gone = self.weighed.slight(of, [str(i) if self._of_session(i) else "" for i in range(len(self.sources))], TURN_OF)
        gone -= {first + number for number in later(links, at)}
        gone |= self.weighed.slight(of, [session_of(source) for source in self.sources], SESSION)
        while links[at].to >= 0:
            at = links[at].to
            gone.add(first + at)
        gone |= {first + number for number in later(links, at) if first + number < self.main}
        self.open = {i: None for i in self.open if self.units[i].source not in gone and self._is_new(i)}

    def _is_new(self, i: int) -> bool:
        """Tell whether a line of a turn behind the likeliest one says what none from that one on did."""
        first, held, way = self.talks.session(self.main)
        unit, at, number = self.units[i], self.main - first, self.units[i].source - first
        return not at < number < len(held) or unit.kind == "code" or way.is_news(frozenset(self._words(i)), at, number)

    def _follow_up(self, question: str) -> None:
        """Take of each turn that made something of the likeliest one (choices.became) the line that says what of what is quoted.

        The words of such turns are seldom the question's: "is it 0?", then "set it to 1".
        """
        first, held, way = self.talks.session(self.main)
        about = words(question).union(*map(self._words, self._quoted()))
        for number, _ in choices.became(held, self.main - first, way):
            told = {i: way.shared(self._words(i), about) for i, unit in enumerate(self.units) if unit.source == first + number
                    and unit.kind != RUN and unit.start >= 0 and unit.text[:1] not in ("", "(") and says(unit.text)}
            told = {i: share for i, share in told.items() if share >= OF_IT and self._is_new(i)}
            most = max((self.weighed.chances[i] for i in told), default=1.0)
            line = max(told, key=lambda i: (told[i] + self.weighed.chances[i] / most, -i), default=-1)
            if line >= 0 and self._bytes([line]) <= self.left:
                self._take([line])

    def _since(self) -> None:
        """Take the line by which a later session takes away or changes most of what is quoted, in a turn that edits its files."""
        first, held, _ = self.talks.session(self.main)
        main, at = self.sources[self.main], self.main - first
        taken = [i for group in self.taken for i in group]
        about = frozenset().union(*(self._words(i) for i in taken if self.sources[self.units[i].source].id == main.id))
        files = set[str]().union(*map(choices.files_of, held))
        said = " ".join(gist.outcome(turn) for turn in held[max(at - NAMED, 0):at + NAMED + 1])
        named = {word.strip("`*,;.()[]\"'").partition(":")[0].rpartition("/")[2] for word in said.split()}
        later = {number for number, source in enumerate(self.sources) if self._of_session(number) and source.id != main.id
                 and source.created > main.created}
        for i in self.weighed.turning(self.units, about, later):
            changed = choices.files_of(self.talks.turn(self.units[i].source))
            if changed & files or any(path.rpartition("/")[2] in named for path in changed):
                self.turned = i
                if i not in taken and self._bytes([i]) <= self.left:
                    self._take([i])
                return

    def _quoted(self) -> list[int]:
        """Return the lines of the likeliest turn that are quoted, or will be: those that were taken, and the likeliest two."""
        own = sorted((i for i in self.open if self.units[i].source == self.main), key=lambda i: -self.weighed.chances[i])
        taken = [i for group in self.taken for i in group if self.units[i].source == self.main]
        return [i for i in taken + own[:QUOTED] if self.units[i].kind != "code"]

    def _words(self, i: int) -> AbstractSet[str]:
        """Return the words of a line with what leads it in."""
        return words(quoted(self.units[i]))

    def titles(self) -> list[str]:
        """Return the titles or requests of what is quoted."""
        return [self.sources[source].title for source in dict.fromkeys(self.units[group[0]].source for group in self.taken)]

    def _open(self) -> None:
        """Take the sentence that opens the outcome of the likeliest turn: a model says first what came of it."""
        mass = {source: value for source, value in self.mass.items() if self._of_session(source)}
        main = max(mass, key=lambda source: (mass[source], -source), default=-1)
        first = self._opening(main) if mass.get(main, 0.0) >= OPENS else None
        if first is None:
            return
        group = [first]
        if _ANSWERS.fullmatch(self.units[first].text):
            group += [i for i in self.open if self.units[i].source == main and self.units[i].order == self.units[first].order + 1]
        elif not any(upshot.scored(self.units[first].text)):
            return
        if self._bytes(group) <= self.left:
            self._take(group)

    def _opening(self, source: int) -> int | None:
        """Return the line that opens a turn's outcome and says something, None where there is none."""
        return next((i for i, unit in enumerate(self.units) if unit.source == source and unit.start == 0 and unit.text
                     and unit.kind in ("prose", "item") and says(unit.text)), None)

    def _step(self) -> bool:
        """Take the line that adds most per byte; return whether there was one."""
        best: list[int] = []
        most = gain = 0.0
        faded = max(self.pays, self._faded())
        for i in self.open:
            if self.likeness[i] >= SAME:
                continue
            group = self._leaning(i)
            if not group and self.taken:
                continue
            group = group or [i]
            size, chance = self.quotes.bytes(group, False), sum(self.weighed.chances[j] for j in group)
            added = chance * (1 - NOVELTY * self.likeness[i]) / (size + MARK) ** COST
            least = 0.0 if not self.taken else self.pays if self._is_kept(i) else faded
            if added > most and self._bytes(group) <= self.left and 1000 * chance / (size + MARK) >= least:
                best, most, gain = group, added, 1000 * chance / (size + MARK)
        if not best:
            return False
        self.top = max(self.top, gain)
        self._take(best)
        return True

    def _is_kept(self, i: int) -> bool:
        return self.sources[self.units[i].source].kind in KEPT

    def _faded(self) -> float:
        """Return the likelihood per 1,000 bytes below which a session tells no more after what was taken of it."""
        if not self._of_session(self.main):
            return 0.0
        return math.inf if self.spent >= max(ENOUGH, 2 * self.room // 3) else FADES * self.top

    def _take(self, group: list[int]) -> None:
        self.left -= self._bytes(group)
        self.spent += self.quotes.bytes(group, False)
        self.quotes.note(group)
        self.taken.append(group)
        for i in group:
            self.open.pop(i, None)
            for j in self.open:
                self.likeness[j] = max(self.likeness[j], cosine(self.weighed.bags[i], self.weighed.bags[j]))

    def _leaning(self, i: int) -> list[int]:
        """Return a line with the one before it, of the same paragraph or list, where it makes no sense alone; none where it
        speaks of a block that is not quoted: it is quoted then only where nothing else is likelier."""
        unit = self.units[i]
        before = self.place.get((unit.source, unit.order - 1), -1)
        if before < 0 or unit.kind not in ("prose", "item") or not cues.leans(unit.text):
            return [i]
        last = self.units[before]
        if last.kind in ("code", "table") and unit.kind == "prose":
            return [i] * any(before in group for group in self.taken)
        if before not in self.open:
            return [i]
        together = last.kind == unit.kind and last.label == unit.label and (unit.kind == "item" or not unit.label)
        return [before, i] if together else [i]

    def _close_gaps(self) -> None:
        """Take the short line that stands between two of the likeliest turn or record: what is left out is often the reason."""
        taken = {self.units[i].order: i for group in self.taken for i in group if self.units[i].source == self.main}
        for order in sorted(taken):
            line = self.place.get((self.main, order + 1), -1)
            if order + 1 in taken or order + 2 not in taken or self.units[line].kind not in ("prose", "item"):
                continue
            if says(self.units[line].text) and self.quotes.size[line][0] <= GAP and self._bytes([line]) <= self.left:
                self._take([line])

    def _bytes(self, group: Sequence[int]) -> int:
        return self.quotes.bytes(group)

    def _when(self, i: int, told: bool) -> str:
        """Return what stands before a bullet: which turn it is of, unless that was told, and whether it is only proposed."""
        number = self.units[i].source
        if self.spread:
            lead = self.talks.asked(number) if self._of_session(number) else ""
        elif self.room < SPARSE or self.story or not self._of_session(self.main) or self._is_kept(i) or (
                number == self.main and self._is_asked()):
            lead = ""
        else:
            lead = "since" if i == self.turned else self.talks.lead(number, self.main)
        return ("%s: " % lead if lead and not told else "") + "proposed: " * (not self.spread and self._is_plan(i))

    def _is_asked(self) -> bool:
        """Tell whether the likeliest turn was asked the question itself."""
        return cosine(words(self.known), words(self.sources[self.main].title)) >= ASKED

    def _carry_out(self) -> set[int]:
        """Return the turns behind the likeliest one in its session that are quoted and changed something, where that one says
        in its likeliest lines what to change; of what it says so, take no more than these then."""
        own = [i for group in self.taken for i in group if self.units[i].source == self.main]
        plans = [i for i in sorted(own, key=lambda i: -self.weighed.chances[i])[:QUOTED] if self._is_plan(i)]
        later = {self.units[group[0]].source for group in self.taken} if plans else set[int]()
        done = {number for number in later if number > self.main and self.sources[number].id == self.sources[self.main].id
                and self.talks.turn(number).did}
        self.taken = [group for group in self.taken if not done or group[0] in plans or not self._is_plan(group[0])]
        return done

    def _is_plan(self, i: int) -> bool:
        """Tell whether a line is of the likeliest turn, which changed nothing, and says what to change."""
        unit = self.units[i]
        return unit.source == self.main and self._of_session(self.main) and unit.kind in ("prose", "item") and (
            any(map(cues.plans, (unit.text, unit.label)))) and not self.talks.turn(self.main).did
