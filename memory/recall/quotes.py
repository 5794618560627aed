"""Choose the quotes of hits: the windows of their records that answer the question.

The first hits share a budget of characters: the best window of the best hit, then the best of all.
A later hit gets a line.
Windows of one turn stand together, in the order of its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Callable, NamedTuple

from memory.core.matches import Expansion
from memory.core.records import Record
from memory.hook import fence, windows
from memory.hook.windows import Passage, Window
from memory.recall import hit
from memory.recall.hit import Hit, Quote
from memory.recall.look import Candidate
from memory.recall.question import Query, is_within
from memory.recall.rank import VECTOR
from memory.recall.sentences import CODE, LEAD, TABLE, clip_at_clause, parse_lines
from memory.recall.updates import UPDATE

FIRST, ROOM = 5, 708  # hits with windows, and characters for each, which they share
LEAST = 120  # characters left below which no further window is cut to fit
HEAD = 90  # characters of the line above the windows of a turn
LATER = 90  # characters of a later hit
_PART = re.compile(r".{1,45}(?:\s|$)|\S+\s?")  # half a line at most, or a long word
READ = 24_000  # characters of a record or turn that are searched for windows

_ANY_TIME = Query()
Checkpoints = Callable[[Hit], Sequence[Record]]


class _Origin(NamedTuple):
    """The source of a passage: a record or a turn.

    head: the record's title or the turn's request. turn: its number, or 0. hit: number of the hit.
    """

    record: Record
    head: str
    turn: int = 0
    at: str = ""
    hit: int = 0


def add_quotes(
    question: str,
    hits: Sequence[Hit],
    pool: Sequence[Candidate],
    checkpoints: Checkpoints,
    expansion: Expansion,
    near: Mapping[tuple[str, int], float],
    query: Query = _ANY_TIME,
) -> tuple[list[Hit], windows.Answer]:
    """Return (hits with quotes, ranked windows that the quotes come from).

    pool: the candidates, with the hits' sections and turns. checkpoints: returns the checkpoints of
        a hit's session. near: (id, turn) -> similarity by vectors, from 0 to 1; {} without. query:
        whose time the turns are of.
    """
    origins: list[_Origin] = []
    passages: list[Passage] = []
    for at, each in enumerate(hits):
        beside = checkpoints(each) if at < FIRST else ()
        for origin, text in _list_texts(each, pool, beside, at < FIRST, query):
            origins.append(origin._replace(hit=at))
            passages.append(Passage(str(at), origin.head, text[:READ]))
    answer = windows.find_answer(question, passages, expansion)
    found = answer.windows
    if near:
        similarities = [near.get((origin.record.id, origin.turn), 0.0) for origin in origins]
        _add_similarities(found, similarities)
    _lift_best_hit(found, dict(hits[0].parts).get(UPDATE, 1.0) if hits else 1.0, origins)
    found.sort(key=lambda window: (-window.score, window.passage, window.at))
    first = [window for window in found if origins[window.passage].hit < FIRST]
    excerpts = _choose_windows(first, origins, ROOM * min(len(hits), FIRST))
    quotes = _join_by_passage(excerpts, origins)
    for window in found:
        at = origins[window.passage].hit
        if at not in quotes:
            # a command may alone hold what was found
            texts = [window.text, fence.split_turn(hits[at].turn_text)[1]]
            line = _fit_nearest_rows(texts[answer.find_nearest(texts)], answer)
            excerpt = Window(window.passage, window.at, line, window.score)
            quotes.update(_join_by_passage([excerpt], origins))
    quoted = [each._replace(quotes=tuple(quotes.get(at, ()))) for at, each in enumerate(hits)]
    return quoted, answer


def _lift_best_hit(found: Iterable[Window], factor: float, origins: Sequence[_Origin]) -> None:
    """Multiply the scores of the best hit's windows.

    factor: of an amendment that was put first (updates.py), since it shares few words with the
        question.
    """
    for window in found:
        if not origins[window.passage].hit:
            window.score *= factor


def _add_similarities(found: Iterable[Window], near: Sequence[float]) -> None:
    """Add the vector similarity of their passages to windows' scores."""
    top = max((window.score for window in found), default=0.0)
    for window in found:
        window.score += VECTOR * (top * near[window.passage] - window.score)


def quote_first_line(record: Record) -> tuple[Quote, ...]:
    """Quote a record's first meaningful line, for queries without text."""
    title = record.title.strip().lower()
    for line in parse_lines(record.body[:READ]):
        if line.kind not in (LEAD, CODE, TABLE) and line.text.strip("#*- ").lower() != title:
            return (Quote(record.id, 0, "", "", _fit_rows(line.text, LATER), record.created),)
    return ()


def quote_turn(talk: Record, turn: hit.Turn) -> tuple[Quote, ...]:
    """Quote a turn's first line, for queries without text."""
    said = windows.remove_command_runs(turn.answer)
    line = next((line.text for line in parse_lines(said[:READ]) if line.text), "")
    text = _fit_rows(line or turn.request, LATER)
    return (Quote(talk.id, turn.number, turn.at, turn.request, text, talk.created),)


def _choose_windows(found: Sequence[Window], origins: Sequence[_Origin], room: int) -> list[Window]:
    """Choose windows, cut to fit into `room` characters, the best hit's first."""
    excerpts: list[Window] = []
    known_words: set[str] = set()
    best = [window for window in found if origins[window.passage].hit == 0][:1]
    for window in dict.fromkeys([*best, *found]):
        if excerpts and not window.score:
            break
        is_new = all(window.passage != excerpt.passage for excerpt in excerpts)
        head = HEAD if is_new and origins[window.passage].turn else 0
        text = windows.strip_lead_ins(_fit_rows(window.text, room - head))
        if not text:
            break
        if not windows.adds_new_words(text, known_words):
            continue
        room -= head + len(text)
        excerpts.append(Window(window.passage, window.at, text, window.score))
        if room < LEAST:
            break
    return excerpts


def _join_by_passage(
    excerpts: Sequence[Window], origins: Sequence[_Origin]
) -> dict[int, list[Quote]]:
    """Join each passage's windows into a quote; return quotes by hit number."""
    by_passage: dict[int, list[Window]] = {}
    for excerpt in excerpts:
        by_passage.setdefault(excerpt.passage, []).append(excerpt)
    by_hit: dict[int, list[Quote]] = {}
    scores: dict[Quote, float] = {}
    for passage, parts in by_passage.items():
        origin = origins[passage]
        asked = origin.head if origin.turn else ""
        text = windows.join_windows([(part.at, part.text) for part in parts])
        quote = Quote(origin.record.id, origin.turn, origin.at, asked, text, origin.record.created)
        scores[quote] = score = max(part.score for part in parts)
        quotes = by_hit.setdefault(origin.hit, [])
        before = [(scores[other], other.at) for other in quotes]
        quotes.insert(windows.find_insert_position(score, quote.at, before), quote)
    return by_hit


def _list_turn_texts(
    talk: Record, number: int, wide: bool, query: Query
) -> Iterator[tuple[_Origin, str]]:
    """Yield turn `number`; if `wide`, every turn of the query's time."""
    for turn in hit.find_turns_of_time(talk, query.since, query.until):
        if wide or turn.number == number:
            origin = _Origin(talk, turn.request, turn.number, turn.at)
            yield origin, windows.remove_command_runs(turn.answer)


def _list_body_texts(found: Hit, pool: Iterable[Candidate]) -> list[str]:
    """Return a resource's matching sections, or any other record's body."""
    sections: list[str] = []
    if found.kind == "resource":
        sections = [c.text for c in pool if c.path == found.path]
    return sections or [found.body]


def _list_texts(
    found: Hit, pool: Iterable[Candidate], checkpoints: Sequence[Record], wide: bool, query: Query
) -> Iterator[tuple[_Origin, str]]:
    """Yield a hit's texts to search for windows.

    wide: the whole conversation and the record too, not only the turn.
    """
    talk = found.talk
    if talk is not None:
        yield from _list_turn_texts(talk, found.turn, wide, query)
    shows_record = talk is None or (wide and is_within(query, found.record))
    if found.kind != "conversation" and shows_record:
        for text in _list_body_texts(found, pool):
            yield _Origin(found.record, found.title), text
    for record in checkpoints:
        if record.name != found.record.name:
            yield _Origin(record, record.title), record.body


def _fit_nearest_rows(text: str, answer: windows.Answer) -> str:
    """Return what a line has room for, from the row nearest the question on."""
    if len(text) <= LATER:
        return text
    rows = text.split("\n")
    row, *rest = rows[answer.find_nearest(rows) :]
    if len(row) > LATER:
        sentences = windows.split_sentences(row)
        parts = [part for sentence in sentences for part in _PART.findall(sentence)]
        at = answer.find_nearest(parts)
        row = "… " * bool(at) + "".join(parts[at:])
    return _fit_rows("\n".join((row, *rest)), LATER)


def _fit_rows(text: str, room: int) -> str:
    """Return the first rows that fit into `room`, the last cut at a clause."""
    fitting = ""
    for row in text.split("\n"):
        gap = "\n" if fitting else ""
        left = room - len(fitting + gap)
        if len(row) > left:
            part = clip_at_clause(row, left)
            return fitting + gap + part if part else fitting
        fitting += gap + row
    return fitting
