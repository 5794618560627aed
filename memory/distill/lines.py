"""A record or turn as lines that make sense alone: a sentence, the items of a short list, a block, each with what leads it in.

Items that follow one another stand on one line up to ITEMS bytes.  What only leads in (`The steps are:`, a bold heading) is no
line of its own and stands before its list, unless a heading follows and it says what came out; what only announces leads nothing
in.  Bold type and openers such as `Done.` are left out, and of what the client writes before it compacts, what was asked and was
to be done then.  Lines of kind `run` tell what tools did, and take no sentence along.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import AbstractSet as Set
from typing import Callable, Iterable, Iterator, Sequence

from memory.capture import choices, conversationpage, gist, turns, upshot
from memory.capture.turns import CONCEDES
from memory.core import plaintext, tokeniser
from memory.distill import cues
from memory.distill.digests import Bullet, Source, cite, clean
from memory.distill.units import BODY_LIMIT, JOINT, Unit, quoted, units
from memory.recall.hit import BY_CLIENT, Turn

ITEMS = 160  # bytes of list items on one line
BLOCK = 600  # bytes of a piece of code or a table
TALK = 40  # characters behind words of agreement that say no more
TURN = 12_000  # characters read of one turn
ASKED, LEANS = 80, 2.0  # characters of a request that is named; what one says by itself that leans on another
ANSWERS, MENU = 2, 5  # words that an answer in a menu shares with what is quoted; sentences of a menu's question and answer
DECIDED, NO = 120, 4  # characters of what the user said to an answer, at most; words of a mere no
RUN = "run"

_ANSWER, CHOSE = "(answer) ", "the user chose: "
DID = r"(?:created|edited|removed) `|commit [0-9a-f]{7}"  # how a line begins that says what a turn changed
_RUN = re.compile(r"[✓✗⊘·] |" + DID + r"|pull request http|subagent\b|\(refused [^)]*\)$")
# Headings of the form that the client fills in before it compacts: what was asked and was to be done, and the others.
_AHEAD = re.compile(r"(?:Primary Request and Intent|All user messages|Pending Tasks|Current Work|Optional Next Step)\b")
_UNDER_WAY = re.compile(r"(?i)\W*(?:in progress|ongoing|pending|remaining|to-?do)\b[^:：\n]{0,20}[:：]")
_FORM = re.compile(r"(?:Key Technical Concepts|Files and Code Sections|Errors and fixes|Problem Solving|Analysis|Summary)\b")
_SIDE = re.compile(  # a heading that stands below another one, and says nothing without it
    r"(?i)(?:pros?|cons?|(?:dis)?advantages?|benefits?|drawbacks?|trade-?offs?|problem|solution|fix|(?:root )?cause|before|after|"
    r"why|how|examples?|behaviou?r|notes?|status|impact|effort|when it happens)\W*\Z")
_LEADS = re.compile(r"(?:\*\*[^*\n]{1,90}(?:(?<![.!。])|(?<=\.\.))\*\*:?|[^\n]{1,200}[:：](?:\*\*)?)$")

_VERBATIM = re.compile(r'"[^"]{20,}')
_HEADED = re.compile(r"## (?:\d{4}-\d\d-\d\d )?\d\d:\d\d ?(?:\(goes on\) )?")
_RETOLD = re.compile(r"(?ms)^## (?:Outcome|Turns|Done|Commands)\n.*?(?=^## |\Z)")


def passages(source: Source) -> Iterator[Source]:
    """Yield the turns of a conversation, titled by their requests; any other source as it is, without what its turns tell."""
    for text in source.turns:
        head, _, rest = text.partition("\n")
        turn = Turn(0, "", "", text)
        quote = rest[:len(rest) - len(turn.answer)]
        asked = " ".join(line.lstrip("> ") for line in quote.split("\n")) if quote.strip() else _HEADED.sub("", head)
        yield replace(source, title=clean(asked.strip()), body=clean(turn.answer[:TURN]), turns=(text,))
    if not source.turns:
        body = _RETOLD.sub("", source.body) if source.retold else source.body
        yield replace(source, title=clean(source.title), body=clean(body[:BODY_LIMIT]))


def lines(index: int, source: Source) -> list[Unit]:
    """Split a source into lines; `start` counts bytes from where its outcome begins, behind the last run, and is -1 before.

    The heading of a line of a turn is the last one in bold type.
    """
    out: list[Unit] = []
    lead, part, last, led = "", "", -2, False
    found = _whole(units(index, source, BLOCK))
    for unit in _told(found) if source.title == BY_CLIENT else found:
        if unit.kind in ("item", "prose") and _RUN.match(unit.text):
            unit, part = replace(unit, kind=RUN), ""
        elif unit.kind in ("prose", "item") and _LEADS.fullmatch(unit.text):
            if lead and not led and any(upshot.scored(lead)):
                out.append(replace(unit, kind="prose", text=lead.rstrip(":："), label=""))
            lead, last, led = _lead(unit.text), -2, False
            bare = cues.said(unit.text).strip("*")
            if tokeniser.is_bold(unit.text) and not bare.endswith((":", "：")) and not _SIDE.match(bare):
                part = "" if bare.endswith(("?", "？")) or _FORM.match(bare) or cues.is_passing(bare) else bare
            continue
        elif unit.kind in ("prose", "item"):
            unit = replace(unit, text=cues.said(unit.text))
        if led and unit.kind == "prose":
            lead = ""
        unit = replace(unit, heading=part) if part and source.turns else unit
        if unit.kind in ("item", RUN) and last == unit.order - 1 and _joins(out[-1], unit):
            out[-1] = replace(out[-1], text=out[-1].text + JOINT + unit.text)
        else:
            out.append(replace(unit, label=_lead(unit.label) if unit.label else "" if unit.kind == RUN else lead))
            lead, led = "" if unit.kind == "prose" else lead, True
        last = unit.order
    return _numbered(out)


class Talks:
    """The turns of the conversations among some sources, each of which is a turn or another record; each read once."""

    def __init__(self, sources: Sequence[Source]):
        self._sources = sources
        self._turns: dict[int, turns.Turn] = {}
        self._sessions: dict[str, tuple[int, list[turns.Turn], turns.Course]] = {}

    def turn(self, source: int) -> turns.Turn:
        """Return the turn that a source is."""
        if source not in self._turns:
            passage = self._sources[source]
            read = conversationpage.parse("".join(passage.turns))
            self._turns[source] = next(iter(read), turns.Turn("", passage.title))
        return self._turns[source]

    def session(self, source: int) -> tuple[int, list[turns.Turn], turns.Course]:
        """Return the source that is the first turn of a turn's session, its turns, and how they go on with one another."""
        id = self._sources[source].id
        if id not in self._sessions:
            places = [i for i, other in enumerate(self._sources) if other.id == id]
            held = [self.turn(i) for i in places]
            self._sessions[id] = places[0], held, choices.course(held)
        return self._sessions[id]

    def asked(self, source: int, mark: str = "asked", known: int = -1) -> str:
        """Name what a turn was asked, `asked "A", then "yes"` where that says little by itself and agrees to or leans on another.

        mark: the word before it.  known: a turn whose request is told already.  What the client sums up is named so.
        """
        first, held, way = self.session(source)
        request, at = self._sources[source].title, source - first
        if request == BY_CLIENT:
            return request.strip("()")
        while way.links[at].to >= 0 and (way.links[at].how == turns.AGREES or gist.telling(held[at].request) <= LEANS):
            at = way.links[at].to
        before = self._sources[first + at].title if first + at not in (source, known) else ""
        told = ((before, ASKED // 2), (request, ASKED))
        said = ['"%s"' % plaintext.at_word(plaintext.one_line(one), most) for one, most in told if one.strip()]
        return "%s %s" % (mark, ", then ".join(said)) if said else ""

    def lead(self, source: int, main: int) -> str:
        """Say what a turn was asked, and how it stands in time to the likeliest one; of another record, only the latter.

        main: the likeliest turn.  A record of the likeliest turn's own session needs no word.
        """
        passage, best = self._sources[source], self._sources[main]
        if source == main:
            return self.asked(source)
        if passage.id == best.id and source > main:
            return self.asked(source, "after", main)
        if passage.id == best.id:
            when = "before that"
        elif passage.retold == best.id:
            return ""
        else:
            when = "later" if passage.created > best.created else "earlier"
        return ", ".join(filter(None, (when, self.asked(source) if passage.kind == "conversation" else "")))

    def decided(self, source: int, quoted: Set[int], about: Set[str]) -> str:
        """Say how the user answered a question of a turn that is about what is quoted, else how they agreed or objected to it,
        chose of it, or replied where it left a choice; "" for neither.

        A turn that changed something decided by itself, and where one is quoted that went by the user's word, that says it.
        quoted: the turns.  about: the words of what is quoted of this one.
        """
        first, held, way = self.session(source)
        at = source - first
        for piece in held[at].pieces:
            asked, _, answer = piece.text.rpartition(" → ")
            if piece.kind == turns.USER and piece.name == turns.ANSWER and len(turns.words(piece.text) & about) >= ANSWERS:
                return "then %s%s → %s" % (CHOSE, plaintext.at_word(asked, DECIDED), plaintext.at_word(answer, DECIDED))
        number = next((i for i in range(at + 1, len(held)) if held[i].asked not in (turns.SUMMARY, turns.GOES_ON)), len(held))
        told = {i - first for i in quoted if self._sources[i].id == self._sources[source].id}
        told |= {way.links[i].to for i in told if held[i].asked == turns.GOES_ON}  # a compaction cuts a turn in two
        if number == len(held) or number in told or any(turn.did for turn in held[at:number]):
            return ""
        asked, (to, how) = plaintext.one_line(held[number].request), way.links[number]
        near, said = at <= to < number, gist.outcome(held[at])
        chosen = choices.said(held[number], said) if near else ""
        short = near and len(asked) <= DECIDED and (how == turns.AGREES or how == turns.OBJECTS and len(asked.split()) <= NO)
        replies = not asked.endswith(("?", "？")) and turns.words(asked) & turns.words(said) and choices.undecided([held[at]])
        if not chosen and asked and (short or replies):
            chosen = 'the user: "%s"' % plaintext.at_word(asked, DECIDED)
        return "then " + chosen if chosen else ""

    def overtaken(self, quoted: Iterable[int]) -> set[int]:
        """Return the turns that one which is quoted too found wrong, by a reply that concedes it."""
        gone: set[int] = set()
        for source in quoted:
            if self._sources[source].kind != "conversation" or not turns.concedes(self.turn(source)):
                continue
            first, _, way = self.session(source)
            at = source - first
            while way.links[at].to >= 0 and way.links[at].how != turns.ADDS:
                at = way.links[at].to
                gone.add(first + at)
        return gone

    def undone(self) -> set[int]:
        """Return the turns of the sessions that were asked for whose work a later one took back."""
        return {first + at for first, held, _ in self._sessions.values() for stand in [choices.standing(held, anew=False)]
                for at, turn in enumerate(held) if not any(turn is one for one in stand)}


class Quotes:
    """How lines are written as bullets: what leads them in, their text, the citation.  What was said is not said again.

    Of a turn that is quoted from several headings, the heading stands before the first line of each.
    """

    def __init__(self, sources: Sequence[Source], found: Sequence[Unit], lead: Callable[[int, bool], str]):
        """found: all lines.  lead: says of a line, and whether its source was quoted before it, what stands before a bullet."""
        self._sources, self._units, self._lead = sources, found, lead
        # Of each line with what leads it in, and without; lines of a block are indented by 2.
        self.size = [[len(text.encode()) + 1 + 2 * text.count("\n") for text in (quoted(unit), unit.text)] for unit in found]
        self._cites = [len(cite(source).encode()) for source in sources]
        self._led: set[tuple[int, str, str]] = set()
        self._cited: set[str] = set()
        self._several: set[int] = set()

    def bytes(self, group: Sequence[int], led: bool = True) -> int:
        """Return the bytes that a bullet takes at most: its mark and line end, its lines indented, its citation.

        led: and what stands before it.
        """
        first = self._units[group[0]]
        cost = sum(self.size[i][self._is_led(self._units[i])] for i in group)
        if led:  # the heading too where this line's own lead begins with it: another one may come to stand first
            cost += len((self._told(group[0]) + self._under(first)).encode())
        return 4 + cost + self._cites[first.source]

    def note(self, group: Sequence[int]) -> None:
        """Remember what lines say that are to be a bullet."""
        for unit in (self._units[i] for i in group):
            part = self._part(unit)
            self._cited.add(self._sources[unit.source].id)
            self._led.update(((unit.source, "", ""), (unit.source, part, ""), (unit.source, part, unit.label)))

    def written(self, groups: Sequence[Sequence[int]]) -> list[Bullet]:
        """Write bullets anew in their order, each of lines that follow one another."""
        self._led, self._cited = set(), set()
        quoted = [self._units[i] for group in groups for i in group]
        parts = Counter(source for source, part in {(unit.source, self._part(unit)) for unit in quoted} if part)
        self._several = {source for source, count in parts.items() if count > 1}
        return [self._written(group) for group in groups]

    def _told(self, i: int) -> str:
        return self._lead(i, (self._units[i].source, "", "") in self._led)

    def _part(self, unit: Unit) -> str:
        """Return the heading that a line of a turn stands under; "" of any other record's, whose headings are no words of it."""
        return unit.heading if self._sources[unit.source].turns else ""

    def _is_led(self, unit: Unit) -> bool:
        return (unit.source, self._part(unit), unit.label) in self._led

    def _under(self, unit: Unit) -> str:
        """Return the heading of a line, unless it was told."""
        part = self._part(unit)
        return part + ": " if part and (unit.source, part, "") not in self._led else ""

    def _written(self, group: Sequence[int]) -> Bullet:
        first = self._units[group[0]]
        source, said = self._sources[first.source], self._told(group[0])
        leads = first.label.startswith(self._part(first))  # then the heading stands there already
        said += self._under(first) if first.source in self._several and not leads else ""
        for at, i in enumerate(group):
            unit = self._units[i]
            told = self._is_led(unit) or at and unit.label == self._units[group[at - 1]].label
            text = unit.text if told else quoted(unit)
            said += (JOINT if unit.kind == "item" else "\n" if "\n" in said + text else " ") * bool(at) + text
        end = "[%s]" % source.id if source.id in self._cited else cite(source)
        block = self._units[group[-1]].kind in ("code", "table") and "\n" in said
        self.note(group)
        return Bullet(said + ("\n" if block else " ") + end, (source.id,))


def says(line: str) -> bool:
    """Tell whether a line is more than an announcement, a question or the remark that checks pass."""
    slight = cues.is_passing(line) or cues.is_closing(line) or line.endswith(("?", "？")) or is_talk(line)
    return not slight and upshot.says(upshot.bare(line))


def is_talk(line: str) -> bool:
    """Tell whether a line only agrees with what was asked."""
    agrees = CONCEDES.match(line)
    return agrees is not None and len(line) - agrees.end() < TALK


def _whole(found: Sequence[Unit]) -> Iterator[Unit]:
    """Put what a user answered behind the question of the menu again, which may be some sentences long."""
    asked: list[Unit] = []
    for unit in found:
        if unit.kind == "prose" and (unit.text.startswith(_ANSWER) or 0 < len(asked) < MENU):
            asked.append(unit)
            if "→" in unit.text:
                yield replace(unit, text=CHOSE + " ".join(one.text for one in asked)[len(_ANSWER):])
                asked = []
        else:
            yield from (*asked, unit)
            asked = []
    yield from asked


def _told(found: Iterable[Unit]) -> Iterator[Unit]:
    """Leave out of a summary by the client what was asked, word for word, and what was to be done or under way then."""
    ahead = waits = False
    for unit in found:
        ahead = bool(_AHEAD.match(unit.text)) or ahead and not _FORM.match(unit.text)
        under_way = _UNDER_WAY.match(unit.text) is not None
        waits = under_way if _LEADS.fullmatch(unit.text) else waits
        if not (ahead or waits or under_way or _VERBATIM.match(unit.text)):
            yield unit


def _lead(text: str) -> str:
    """Return what leads a list or block in as it stands before a line; "" where it only announces, or says that all is well."""
    text = cues.said(text)
    if cues.is_passing(text) or cues.is_closing(text) or _FORM.match(text) or _AHEAD.match(text):
        return ""
    return text if text.endswith((":", "：", "!", "?")) else text + ":"


def _joins(before: Unit, item: Unit) -> bool:
    return (before.kind == item.kind and len(before.text.encode()) + len(item.text.encode()) < ITEMS
            and not before.text.endswith((".", "!", "?", "。")))


def _numbered(found: list[Unit]) -> list[Unit]:
    """Number lines in their order, and say where each stands in the outcome: all that was said, where a run ends it."""
    ends = [at for at, line in enumerate(found) if line.kind == RUN]
    first = ends[-1] + 1 if ends and ends[-1] + 1 < len(found) else 0
    out, start = [], 0
    for at, line in enumerate(found):
        inside = at >= first and line.kind != RUN
        out.append(replace(line, order=at, start=start if inside else -1))
        start += len(line.text.encode()) if inside else 0
    return out
