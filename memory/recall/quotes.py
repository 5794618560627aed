"""Choose the quotes of hits: the windows of their records that answer the question.

The first hits share a budget of characters: the best window of the best hit, then the best of all,
where each further window of a hit counts `windows.REPEATED` less.  A later hit gets a line.
Windows of one turn stand together, in the order of its text.
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
from memory.recall.sentences import CODE, LEAD, TABLE, clip_at_clause, parse_lines

FIRST, ROOM = 5, 708  # hits with windows, and characters for each, which they share
LEAST = 120  # characters left below which no further window is cut to fit
HEAD = 90  # characters of the line above the windows of a turn
LATER = 90  # characters of a later hit
READ = 24_000  # characters of a record or turn that are searched for windows

Checkpoints = Callable[[Hit], Sequence[Record]]


class _Excerpt(NamedTuple):
    """A window of a passage, cut to the shown length."""

    passage: int
    at: int
    score: float
    text: str


class _Origin(NamedTuple):
    """The source of a passage: a record or a turn.

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
    """Add quotes to hits.

    pool: the candidates, with the hits' sections and turns. checkpoints: returns the checkpoints of
        a hit's session. near: (id, turn) -> similarity by vectors, from 0 to 1; {} without.
    """
    places: List[_Origin] = []
    passages: List[Passage] = []
    for at, each in enumerate(hits):
        beside = checkpoints(each) if at < FIRST else ()
        for place, text in _list_texts(each, pool, beside, at < FIRST):
            places.append(place)
            passages.append(Passage(str(at), place.head, text[:READ]))
    found = windows.find_answer(question, passages, expansion).windows
    if near:
        found = _rerank_by_vectors(
            found, [near.get((place.record.id, place.turn), 0.0) for place in places]
        )

    def hit_number(window: Window) -> int:
        return int(passages[window.passage].session)

    first = [window for window in found if hit_number(window) < FIRST]
    room = ROOM * min(len(hits), FIRST)
    quotes = _join_by_passage(_choose_windows(first, hit_number, places, room), passages, places)
    for window in found:
        at = hit_number(window)
        if at not in quotes:
            line = _Excerpt(window.passage, window.at, window.score, _fit_rows(window.text, LATER))
            quotes.update(_join_by_passage([line], passages, places))
    return [each._replace(quotes=tuple(quotes.get(at, ()))) for at, each in enumerate(hits)]


def _rerank_by_vectors(found: Sequence[Window], near: Sequence[float]) -> List[Window]:
    """Rank windows by words and by their passages' vector similarity."""
    top = max((window.score for window in found), default=0.0)
    for window in found:
        window.score += VECTOR * (top * near[window.passage] - window.score)
    return sorted(found, key=lambda window: (-window.score, window.passage, window.at))


def quote_first_line(record: Record) -> Tuple[Quote, ...]:
    """Quote a record's first meaningful line, for queries without text."""
    title = record.title.strip().lower()
    for line in parse_lines(record.body[:READ]):
        if line.kind not in (LEAD, CODE, TABLE) and line.text.strip("#*- ").lower() != title:
            return (Quote(record.id, 0, "", "", _fit_rows(line.text, LATER), record.created),)
    return ()


def _measure_head(window: Window, places: Sequence[_Origin], taken: Sequence[_Excerpt]) -> int:
    """Return the characters of the line above a window, 0 for none."""
    is_new_turn = all(window.passage != excerpt.passage for excerpt in taken)
    return HEAD if places[window.passage].turn and is_new_turn else 0


def _choose_windows(
    found: Sequence[Window],
    hit_number: Callable[[Window], int],
    places: Sequence[_Origin],
    room: int,
) -> List[_Excerpt]:
    """Choose the windows that fit into `room` characters, the best hit's first."""
    taken: List[_Excerpt] = []
    held: Set[str] = set()
    shown: Dict[int, int] = {}
    best = [window for window in found if hit_number(window) == 0][:1]
    for window in windows.rank_by_diversity(found, best, hit_number, shown):
        if taken and not window.score:
            break
        head = _measure_head(window, places, taken)
        text = windows.strip_lead_ins(_fit_rows(window.text, room - head))
        if not text:
            break
        if not windows.adds_new_words(text, held):
            continue
        room -= head + len(text)
        taken.append(_Excerpt(window.passage, window.at, window.score, text))
        shown[hit_number(window)] = shown.get(hit_number(window), 0) + 1
        if room < LEAST:
            break
    return taken


def _join_by_passage(
    taken: Sequence[_Excerpt], passages: Sequence[Passage], places: Sequence[_Origin]
) -> Dict[int, List[Quote]]:
    """Join the windows of each passage into quotes, by hit number."""
    out: Dict[int, List[Quote]] = {}
    scores: Dict[Quote, float] = {}
    for passage in dict.fromkeys(window.passage for window in taken):
        own = [excerpt for excerpt in taken if excerpt.passage == passage]
        place = places[passage]
        asked = place.head if place.turn else ""
        text = windows.join_windows([(excerpt.at, excerpt.text) for excerpt in own])
        quote = Quote(place.record.id, place.turn, place.at, asked, text, place.record.created)
        scores[quote] = score = max(excerpt.score for excerpt in own)
        quotes = out.setdefault(int(passages[passage].session), [])
        before = [(scores[other], other.at) for other in quotes]
        quotes.insert(windows.find_insert_position(score, quote.at, before), quote)
    return out


def _list_turn_texts(talk: Record, number: int, wide: bool) -> Iterator[Tuple[_Origin, str]]:
    """Yield the text of a turn, or of all where `wide`."""
    for turn in hit.split_turns(talk):
        if wide or turn.number == number:
            place = _Origin(talk, turn.request, turn.number, turn.at)
            yield place, windows.remove_command_runs(turn.answer)


def _list_body_texts(found: Hit, pool: Iterable[Candidate]) -> List[str]:
    """Return the matching sections of a resource, else the whole body."""
    sections: List[str] = []
    if found.kind == "resource":
        sections = [c.text for c in pool if c.path == found.path]
    return sections or [found.body]


def _list_texts(
    found: Hit, pool: Iterable[Candidate], checkpoints: Sequence[Record], wide: bool
) -> Iterator[Tuple[_Origin, str]]:
    """Yield a hit's texts to search for windows.

    wide: the whole conversation and the record too, not only the turn.
    """
    talk = found.talk
    if talk is not None:
        yield from _list_turn_texts(talk, found.turn, wide)
    if found.kind != "conversation" and (wide or talk is None):
        for text in _list_body_texts(found, pool):
            yield _Origin(found.record, found.title), text
    for record in checkpoints:
        if record.name != found.record.name:
            yield _Origin(record, record.title), record.body


def _fit_rows(text: str, room: int) -> str:
    """Return the first rows of a text up to `room` characters."""
    fitting = ""
    for row in text.split("\n"):
        left = room - len(fitting) - bool(fitting)
        if len(row) > left:
            part = clip_at_clause(row, left)
            return fitting + "\n" * bool(fitting and part) + part
        fitting += "\n" * bool(fitting) + row
    return fitting
