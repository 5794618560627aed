"""Choose what hits show of their records: the windows that answer the question.

The first hits share one room: the best window of the best hit, then the best of all of them, where
each further window of a hit counts `windows.REPEATED` less.  A later hit shows a line.  Windows
stand by the turn that they are taken from, in their order there.
"""

from __future__ import annotations

from typing import (
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Sequence,
    Set,
    Tuple,
)

from memory.core.matches import Expansion
from memory.core.records import Record
from memory.hook import windows
from memory.hook.windows import Passage, Window
from memory.recall import hit
from memory.recall.hit import Hit, Quote
from memory.recall.look import Candidate
from memory.recall.rank import VECTOR
from memory.recall.sentences import CODE, LEAD, TABLE, clip_at_clause, lines

FIRST, ROOM = 5, 708  # hits that show windows, and characters for each, which they share
LEAST = 120  # characters that a window which no longer fits is cut to at least
HEAD = 90  # characters of the line above the windows of a turn
LATER = 90  # characters of a later hit
READ = 24_000  # characters of a record, or a part of one, in which windows are looked for

Checkpoints = Callable[[Hit], Sequence[Record]]


class _Part(NamedTuple):
    """A window of a passage, cut to the shown length."""

    passage: int
    at: int
    score: float
    text: str


class _Place(NamedTuple):
    """The source of a passage: a record, or one of its turns.

    head: the record's title or the turn's request. turn: its number, or 0.
    """

    record: Record
    head: str
    turn: int = 0
    at: str = ""


def add_quotes(
    question: str,
    hits: Sequence[Hit],
    pool: Sequence[Candidate],
    checkpoints: Checkpoints,
    expansion: Expansion,
    near: Mapping[Tuple[str, int], float],
) -> List[Hit]:
    """Return hits with quotes added.

    pool: the candidates found, which hold the hits' sections and turns. checkpoints: returns the
        checkpoints of a hit's session. near: id and turn -> similarity by vectors, from 0 to 1;
        empty without vectors.
    """
    places: List[_Place] = []
    passages: List[Passage] = []
    for at, one in enumerate(hits):
        beside = checkpoints(one) if at < FIRST else ()
        for place, text in _parts(one, pool, beside, at < FIRST):
            places.append(place)
            passages.append(Passage(str(at), place.head, text[:READ]))
    found = windows.answer(question, passages, expansion).windows
    if near:
        found = _rerank_by_vectors(
            found, [near.get((place.record.id, place.turn), 0.0) for place in places]
        )

    def hit_of(window: Window) -> int:
        return int(passages[window.passage].session)

    first = [window for window in found if hit_of(window) < FIRST]
    room = ROOM * min(len(hits), FIRST)
    quotes = _join_by_passage(_choose_windows(first, hit_of, places, room), passages, places)
    for window in found:
        at = hit_of(window)
        if at not in quotes:
            line = _Part(window.passage, window.at, window.score, _fit_rows(window.text, LATER))
            quotes.update(_join_by_passage([line], passages, places))
    return [one._replace(quotes=tuple(quotes.get(at, ()))) for at, one in enumerate(hits)]


def _rerank_by_vectors(found: Sequence[Window], near: Sequence[float]) -> List[Window]:
    """Return windows ranked by words and by their passages' similarity."""
    top = max((window.score for window in found), default=0.0)
    for window in found:
        window.score += VECTOR * (top * near[window.passage] - window.score)
    return sorted(found, key=lambda window: (-window.score, window.passage, window.at))


def first_line_quote(record: Record) -> Tuple[Quote, ...]:
    """Return the first meaningful line of a record as a quote.

    For lists made without a query.
    """
    title = record.title.strip().lower()
    for line in lines(record.body[:READ]):
        if line.kind not in (LEAD, CODE, TABLE) and line.text.strip("#*- ").lower() != title:
            return (Quote(record.id, 0, "", "", _fit_rows(line.text, LATER)),)
    return ()


def _head_room(window: Window, places: Sequence[_Place], taken: Sequence[_Part]) -> int:
    """Return the room for a window's head."""
    is_new_turn = all(window.passage != one.passage for one in taken)
    return HEAD if places[window.passage].turn and is_new_turn else 0


def _choose_windows(
    found: Sequence[Window],
    hit_of: Callable[[Window], int],
    places: Sequence[_Place],
    room: int,
) -> List[_Part]:
    """Return the windows that fit the room, the best hit's first.

    hit_of: returns the number of a window's hit.
    """
    taken: List[_Part] = []
    held: Set[str] = set()
    shown: Dict[int, int] = {}
    best = [window for window in found if hit_of(window) == 0][:1]
    for window in windows.best_first(found, best, hit_of, shown):
        if taken and not window.score:
            break
        head = _head_room(window, places, taken)
        text = windows.without_lead_ins(_fit_rows(window.text, room - head))
        if not text:
            break
        if not windows.is_news(text, held):
            continue
        room -= head + len(text)
        taken.append(_Part(window.passage, window.at, window.score, text))
        shown[hit_of(window)] = shown.get(hit_of(window), 0) + 1
        if room < LEAST:
            break
    return taken


def _join_by_passage(
    taken: Sequence[_Part], passages: Sequence[Passage], places: Sequence[_Place]
) -> Dict[int, List[Quote]]:
    """Return the windows of each passage joined into quotes."""
    out: Dict[int, List[Quote]] = {}
    worth: Dict[Quote, float] = {}
    for passage in dict.fromkeys(window.passage for window in taken):
        own = [one for one in taken if one.passage == passage]
        place = places[passage]
        asked = place.head if place.turn else ""
        text = windows.join_windows([(one.at, one.text) for one in own])
        quote = Quote(place.record.id, place.turn, place.at, asked, text)
        worth[quote] = score = max(one.score for one in own)
        quotes = out.setdefault(int(passages[passage].session), [])
        before = [(worth[other], other.at) for other in quotes]
        quotes.insert(windows.place_of(score, quote.at, before), quote)
    return out


def _turn_parts(talk: Record, number: int, wide: bool) -> Iterator[Tuple[_Place, str]]:
    """Yield the turn with a number, or all."""
    for turn in hit.turns(talk):
        if wide or turn.number == number:
            place = _Place(talk, turn.request, turn.number, turn.at)
            yield place, windows.without_runs(turn.answer)


def _texts_of(one: Hit, pool: Iterable[Candidate]) -> List[str]:
    """Return the sections found of a resource, else the whole body."""
    found: List[str] = []
    if one.kind == "resource":
        found = [c.text for c in pool if c.path == one.path]
    return found or [one.body]


def _parts(
    one: Hit, pool: Iterable[Candidate], checkpoints: Sequence[Record], wide: bool
) -> Iterator[Tuple[_Place, str]]:
    """Yield a hit's texts in which windows are searched."""
    talk = one.told
    if talk is not None:
        yield from _turn_parts(talk, one.turn, wide)
    if one.kind != "conversation" and (wide or talk is None):
        for text in _texts_of(one, pool):
            yield _Place(one.record, one.title), text
    for record in checkpoints:
        if record.name != one.record.name:
            yield _Place(record, record.title), record.body


def _fit_rows(text: str, room: int) -> str:
    """Return as many rows of a text as fit."""
    held = ""
    for row in text.split("\n"):
        left = room - len(held) - bool(held)
        if len(row) > left:
            part = clip_at_clause(row, left)
            return held + "\n" * bool(held and part) + part if part or held else ""
        held += "\n" * bool(held) + row
    return held
