"""A record or turn as lines that make sense alone: a sentence, the items of a short list, a block, each with what leads it in.

Items that follow one another stand on one line up to ITEMS bytes.  What only leads in (`The steps are:`, a bold heading) is no
line of its own and stands before its list, unless a heading follows and it says what came out; what only announces leads nothing
in.  Bold type and openers such as `Done.` are left out, and of what the client writes before it compacts, what was asked and was
to be done then.  Lines of kind `run` tell what tools did, and take no sentence along.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Iterable, Iterator, Sequence

from memory.capture import choices, conversationpage, turns, upshot
from memory.capture.turns import CONCEDES
from memory.distill import cues
from memory.distill.digests import Source, clean
from memory.distill.units import BODY_LIMIT, JOINT, Unit, units
from memory.recall.hit import BY_CLIENT, Turn

ITEMS = 160  # bytes of list items on one line
BLOCK = 600  # bytes of a piece of code or a table
TALK = 40  # characters behind words of agreement that say no more
TURN = 12_000  # characters read of one turn
RUN = "run"

DID = r"(?:created|edited|removed) `|commit [0-9a-f]{7}"  # how a line begins that says what a turn changed
_RUN = re.compile(r"[✓✗⊘·] |" + DID + r"|pull request http|subagent\b|\(refused [^)]*\)$")
# Headings of the form that the client fills in before it compacts: what was asked and was to be done, and the others.
_AHEAD = re.compile(r"(?:Primary Request and Intent|All user messages|Pending Tasks|Current Work|Optional Next Step)\b")
_UNDER_WAY = re.compile(r"(?i)\W*(?:in progress|ongoing|pending|remaining|to-?do)\b[^:：\n]{0,20}[:：]")
_FORM = re.compile(r"(?:Key Technical Concepts|Files and Code Sections|Errors and fixes|Problem Solving|Analysis|Summary)\b")
_LEADS = re.compile(r"(?:\*\*[^*\n]{1,90}(?:(?<![.!。])|(?<=\.\.))\*\*:?|[^\n]{1,200}[:：](?:\*\*)?)$")

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
    """Split a source into lines; `start` counts bytes from where its outcome begins, behind the last run, and is -1 before."""
    out: list[Unit] = []
    lead, last, led = "", -2, False
    for unit in _told(units(index, source, BLOCK)) if source.title == BY_CLIENT else units(index, source, BLOCK):
        if unit.kind in ("item", "prose") and _RUN.match(unit.text):
            unit = replace(unit, kind=RUN)
        elif unit.kind in ("prose", "item") and _LEADS.fullmatch(unit.text):
            if lead and not led and any(upshot.scored(lead)):
                out.append(replace(unit, kind="prose", text=lead.rstrip(":："), label=""))
            lead, last, led = _lead(unit.text), -2, False
            continue
        elif unit.kind in ("prose", "item"):
            unit = replace(unit, text=cues.said(unit.text))
        if led and unit.kind == "prose":
            lead = ""
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


def says(line: str) -> bool:
    """Tell whether a line is more than an announcement, a question or the remark that checks pass."""
    slight = cues.is_passing(line) or cues.is_closing(line) or line.endswith(("?", "？")) or is_talk(line)
    return not slight and upshot.says(upshot.bare(line))


def is_talk(line: str) -> bool:
    """Tell whether a line only agrees with what was asked."""
    agrees = CONCEDES.match(line)
    return agrees is not None and len(line) - agrees.end() < TALK


def _told(found: Iterable[Unit]) -> Iterator[Unit]:
    """Leave out of a summary by the client what was asked, and what was to be done or under way when it was written."""
    ahead = waits = False
    for unit in found:
        ahead = bool(_AHEAD.match(unit.text)) or ahead and not _FORM.match(unit.text)
        under_way = _UNDER_WAY.match(unit.text) is not None
        waits = under_way if _LEADS.fullmatch(unit.text) else waits
        if not (ahead or waits or under_way):
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
