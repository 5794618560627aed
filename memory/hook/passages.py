"""Passages: up to three windows of earlier sessions that a prompt gets unasked.

The moment weighs.  A session's first prompt, and the first after a clear or a compaction, gets some
where the store knows something; a later one only if it asks or names a ticket.  The store knows
where

    telling    of the best window (windows.py), which has a question's words in one place
    strength   the index's score of the best document, as a share of ln(1 + documents)

both reach the gate that `load.push` names.  evals/README.md has the calibration: questions without
an answer and labelled prompts of real sessions.
"""

from __future__ import annotations

from math import log

from memory.core.matches import Expansion
from memory.hook import indexview, loader, windows
from memory.hook.at_prompt import handles, is_asking, is_inquiring, is_ticket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Dict, List, Optional, Set, Tuple

    from memory.hook.indexview import Index

MOST, ROOM = 4, 1500  # windows of a prompt, and their characters
SLIGHT = 0.5  # share of the best window's score below which one is about something else
LEAST, LOOKED = 60, 12  # characters of a window that are worth telling; windows that are looked at
READ, TURNS, WANTED = 3, 3, 24  # sessions that are read, parts of each; documents of the index
ASKED_CHARS = 4000  # of a prompt that count
TOLD_CHARS = 24_000  # of a part in which windows are cut
REQUEST = 110  # UTF-16 units of a request that stand before its answer
# By load.push: the least telling; the least strength of a prompt that asks, and of another one.
GATES = {"careful": (3.75, 1.15, 1.45), "full": (3.15, 0.9, 1.1)}
# the least telling of a later prompt that only changes the subject
TURNED = {"careful": 6.5, "full": 5.0}
_OF_THE_DAY = ("Next", "Open")  # sections of a checkpoint that later work overtakes


class Passage:
    """The text windows of a turn or section to show.

    score: telling, less for windows that answer less.  names: rare handles of the text.
    """

    __slots__ = ("doc", "mark", "names", "reason", "record", "score", "text")

    def __init__(self, doc: Any, record: Any, mark: str, score: float, reason: str, text: str):
        self.doc, self.record, self.mark = doc, record, mark
        self.score, self.reason, self.text = score, "passage: " + reason, text
        self.names: List[str] = []


class _Part:
    """A turn or section found by the index.

    asked: its request or title.
    """

    __slots__ = ("asked", "doc", "record", "session", "text")

    def __init__(self, doc: Any, record: Any, session: str, asked: str, text: str):
        self.doc, self.record, self.session = doc, record, session
        self.asked, self.text = asked, text

    @property
    def whole(self) -> str:
        """The request or title with the text."""
        return self.asked + "\n" + self.text


def choose(
    found: Index, prompt: str, push: str, shown: Set[str], own: str = "", turned: bool = False
) -> Tuple[List[Passage], Optional[Tuple[str, float]]]:
    """Return (passages for a prompt, nearest miss or None).

    The miss is (id, telling) of the nearest passage where none reach the gate.
    push: `careful` or `full`.
    shown: ids that the session has seen.
    own: the session's id, "" where its own records may come.
    turned: the prompt only changes the subject, so the records must tell more.
    """
    prompt = prompt[:ASKED_CHARS]
    least, asking, saying = GATES[push]
    least = TURNED[push] if turned else least
    asks = "?" in prompt or is_asking(prompt) or is_inquiring(prompt)
    hits = loader.search(
        found, loader.damp_common_terms(found.terms(prompt)), WANTED, indexview.OTHERS
    )
    strength = hits[0][0] / log(1.0 + found.documents) if hits else 0.0
    names = handles(prompt)
    tickets = [name for name in names if is_ticket(name) and loader.is_rare(found, name)]
    if not tickets and strength < (asking if asks else saying):
        return [], None
    parts = list(_parts(found, hits, shown, own, _sought(found, prompt, names)))
    if tickets:
        named = [one for one in parts if any(name in one.whole.lower() for name in tickets)]
        parts, least = named or parts, 0.0 if named else least
    answered = _answer(prompt, parts)
    if not answered.windows:
        return [], None
    if answered.telling < least:
        return [], (parts[answered.windows[0].passage].doc.id, answered.telling)
    unclipped = [_without_turns(found, part) for part in parts]
    if unclipped != parts:
        quotable = _answer(prompt, unclipped)
        if quotable.windows:
            answered, parts = quotable, unclipped
    reason = "it is about what the prompt says"
    if tickets or asks:
        reason = "it tells of the ticket" if tickets else "it answers the question"
    return _picked(found, answered, parts, reason), None


def _answer(prompt: str, parts: Sequence[_Part]) -> windows.Answered:
    passages = [windows.Passage(one.session, one.asked, one.text) for one in parts]
    return windows.answer(prompt, passages, Expansion())


def _parts(
    found: Index,
    hits: Sequence[Tuple[float, int]],
    shown: Set[str],
    own: str,
    sought: Sequence[str],
) -> Iterator[_Part]:
    """Yield the turns and sections of the best sessions."""
    from memory.hook import fence  # for most prompts no record is read

    sessions: Dict[str, int] = {}
    read: Dict[str, Any] = {}
    seen: Set[Tuple[str, str]] = set()  # every part of a long turn finds the same turn
    for _, number in hits:
        doc = found.doc(number)
        key = doc.id, doc.section if doc.kind == "conversation" else ""
        summary = doc.section.endswith("(summary by the client)")
        if (
            doc.kind not in ("checkpoint", "conversation")
            or doc.id in shown
            or key in seen
            or summary
        ):
            continue
        seen.add(key)
        if doc.id not in read:
            if len(sessions) == READ:
                continue  # most likely of another session
            read[doc.id] = next(iter(indexview.reread(found, [doc])), None)
        record = read[doc.id]
        if record is None:
            continue
        session = fence.field(record, "session") or doc.name
        if own and own in session or session not in sessions and len(sessions) == READ:
            continue
        sessions[session] = sessions.get(session, 0) + 1
        if sessions[session] <= TURNS:
            yield _part(doc, record, session, sought)


def _sought(found: Index, prompt: str, names: Sequence[str]) -> List[str]:
    """Return a prompt's handles, then its terms, rarest first."""
    terms = [term for term, _ in found.terms(prompt) if found.df(term)]
    return [*names, *sorted(terms, key=lambda term: (found.df(term), term))]


def _part(doc: Any, record: Any, session: str, sought: Sequence[str]) -> _Part:
    from memory.core.plaintext import around
    from memory.hook import fence

    body = record.body
    if doc.kind != "conversation":
        at = max(0, body.find(doc.section.rpartition(" > ")[2]))
        text = _without_sections(around(body, sought, at, TOLD_CHARS), _OF_THE_DAY)
        return _Part(doc, record, session, fence.field(record, "title"), text)
    text = around(fence.turn_of(body, doc.section), sought, 0, TOLD_CHARS)
    heading = text.partition("\n")[0][3:].partition(" ")[2]
    quoted, answer = fence.asked_and_answered(text)
    # A long request is quoted below its heading.
    asked = "\n".join(row.strip("> ") for row in quoted.split("\n")).strip() or heading
    return _Part(doc, record, session, asked, windows.without_runs(answer))


def _without_turns(found: Index, part: _Part) -> _Part:
    """Return a checkpoint's part without its turns where the conversation is kept."""
    from memory.hook import fence

    text = part.text
    if part.doc.kind == "checkpoint":
        text = _without_sections(text, ("Turns",))
    conversation = fence.field(part.record, "conversation") if text != part.text else ""
    if not conversation or found.by_id(conversation) is None:
        return part
    return _Part(part.doc, part.record, part.session, part.asked, text)


def _without_sections(body: str, names: Sequence[str]) -> str:
    """Return a body without the sections of some headings."""
    held: List[str] = []
    is_out = False
    for row in body.split("\n"):
        if row[:3] == "## ":
            is_out = row[3:].strip() in names
        if not is_out:
            held.append(row)
    return "\n".join(held)


def _picked(
    found: Index, answered: windows.Answered, parts: Sequence[_Part], reason: str
) -> List[Passage]:
    """Return the best windows grouped by turn, best first."""
    from memory.hook import fence

    best = answered.windows[0].score or 1.0
    texts, scores = _fitting_windows(answered, parts, best)
    out: List[Passage] = []
    for number, taken in texts.items():
        part = parts[number]
        said = windows.join_windows(taken)
        asked = fence.clip_utf16(" ".join(part.asked.split()), REQUEST)
        lead = 'asked "%s":\n' % asked if asked and part.doc.kind == "conversation" else ""
        score = answered.telling * scores[number] / best
        one = Passage(part.doc, part.record, found.mark(part.record), score, reason, lead + said)
        odd = " ".join(
            word for word in said.split() if not word.isalpha() or not word[1:].islower()
        )
        one.names = [name for name in handles(odd) if loader.is_rare(found, name)]
        before = [(other.score, other.doc.created) for other in out]
        out.insert(windows.place_of(score, part.doc.created, before), one)
    return out


def _fitting_windows(
    answered: windows.Answered, parts: Sequence[_Part], best: float
) -> Tuple[Dict[int, List[Tuple[int, str]]], Dict[int, float]]:
    """Return ({part: [(place, text), …]}, {part: score of its first window})."""
    room = ROOM
    texts: Dict[int, List[Tuple[int, str]]] = {}
    scores: Dict[int, float] = {}
    held: Set[str] = set()
    shown: Dict[str, int] = {}

    def session_of(window: windows.Window) -> str:
        return parts[window.passage].session

    near = [one for one in answered.windows[:LOOKED] if one.score >= SLIGHT * best]
    # Of windows that answer about as well the newest comes first.
    close = [one for one in near if one.score >= windows.CLOSE * best]
    close.sort(key=lambda one: -parts[one.passage].doc.created)
    for window in windows.best_first(near, close, session_of, shown):
        if sum(shown.values()) == MOST:
            break
        text = windows.without_lead_ins(
            window.text if len(window.text) <= room else _fitted(window.text, room)
        )
        if len(text) >= LEAST and windows.is_news(text, held) or not texts and text:
            room -= len(text)
            shown[session_of(window)] = shown.get(session_of(window), 0) + 1
            texts.setdefault(window.passage, []).append((window.at, text))
            scores.setdefault(window.passage, window.score)
    return texts, scores


def _fitted(text: str, room: int) -> str:
    """Return the rows of a text that fit."""
    held = ""
    for row in text.split("\n"):
        if len(held) + len(row) >= room:
            break
        held += "\n" * bool(held) + row
    return held
