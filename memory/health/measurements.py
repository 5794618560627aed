"""Rankers measured by golden queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from memory.core import StoreError, clock, config, layout
from memory.core.records import Record
from memory.health import rankingmetrics
from memory.health.goldens import FUZZY, GREP, LEXICAL, MEASURES, SEMANTIC, Golden, GoldenSet
from memory.recall import fuzzy
from memory.recall.hit import Hit
from memory.recall.search import Searcher
from memory.recall.semantic import Semantic, load_provider

_SCORED = dict(zip(MEASURES, ("r@1", "r@5", "r@10", "mrr")))
Progress = Callable[[str], None]


class Measurement(NamedTuple):
    """How well each ranker found the expected records of golden queries.

    golden: the queries that were asked. gone: expected ids without a record, by query. measures: by
        ranker and name, 0 to 1. ranks: by query, the rank of each expected id with the main ranker,
        0 below the tenth. main: this ranker. notes: lines about rankers that did not run.
    """

    golden: tuple[Golden, ...]
    gone: dict[str, tuple[str, ...]]
    measures: dict[str, dict[str, float]]
    ranks: dict[str, dict[str, int]]
    main: str
    notes: tuple[str, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The queries that were not asked, as none of their records exists."""
        asked = {golden.id for golden in self.golden}
        return tuple(id for id in self.gone if id not in asked)


def select_answerable(
    golden: Sequence[Golden], ids: Collection[str], successors: Mapping[str, str]
) -> tuple[tuple[Golden, ...], dict[str, tuple[str, ...]]]:
    """Return (queries with existing records, missing ids by query).

    successors: a merged record's id -> its successor's, which is expected instead.
    """
    known, kept = set(ids), []
    gone: dict[str, tuple[str, ...]] = {}
    for query in golden:
        meant = [id if id in known else successors.get(id, id) for id in query.expect]
        there = tuple(dict.fromkeys(id for id in meant if id in known))
        lost = tuple(id for id, now in zip(query.expect, meant) if now not in known)
        if lost:
            gone[query.id] = lost
        if there:
            kept.append(query._replace(expect=there))
    return tuple(kept), gone


def measure_rankers(
    place: layout.Place,
    settings: config.Config,
    env: Mapping[str, str],
    golden: GoldenSet,
    records: Sequence[Record],
    successors: Mapping[str, str],
    now: float,
    offset: clock.Offset,
    told: Progress,
) -> Measurement:
    """Ask every golden query of every available ranker.

    The main ranker gets the answer of another one for a query that names it. env: for a provider of
        vectors. offset: seconds that local time is ahead of UTC. told: called with the present
        ranker. Raises StoreError where no query is left to ask.
    """
    asked, gone = select_answerable(golden.queries, {record.id for record in records}, successors)
    if not asked:
        raise StoreError(
            "%s: none of the expected records exists; `dayleaf debug eval --template FILE` drafts "
            "queries from those that do" % golden.path
        )
    told(GREP)
    answers, notes = {GREP: _rank_by_words(asked, records)}, []
    ask = partial(_ask_recall, place, settings, asked, now, offset)
    told(LEXICAL)
    answers[LEXICAL] = ask(None, fuzzy=False)
    if fuzzy.load_matcher() is None:
        notes.append(
            "fuzzy: RapidFuzz is missing, so recall does not find misspelt words; run install.sh"
        )
    else:
        told(FUZZY)
        answers[FUZZY] = ask(None)
    told(SEMANTIC)
    vectors = load_provider(settings, "", env)
    why = vectors.obstacle(place) if vectors else "this dayleaf has no vectors"
    if vectors and not why:
        vectors.prepare(place, [one.query.text for one in asked], now)
        answers[SEMANTIC] = ask(vectors)
        if not vectors.label:
            del answers[SEMANTIC]
            why = "the provider gave no vectors; `dayleaf doctor` says why"
    notes += ["semantic: " + why] if why else []
    used = (SEMANTIC,) * bool(settings["recall.semantic"]) + (FUZZY, LEXICAL)
    main = next(ranker for ranker in used if ranker in answers)
    answers[main] = {
        one.id: answers[one.ranker if one.ranker in answers else main][one.id] for one in asked
    }
    wanted = {one.id: dict.fromkeys(one.expect, 1.0) for one in asked}
    sums = {
        name: rankingmetrics.sum_metrics(found, [{"id": one.id} for one in asked], wanted)
        for name, found in answers.items()
    }
    measures = {
        name: {said: round(each[key] / len(asked), 4) for said, key in _SCORED.items()}
        for name, each in sums.items()
    }
    places = {
        one.id: {id: at for at, id in reversed([*enumerate(answers[main][one.id], 1)])}
        for one in asked
    }
    ranks = {one.id: {id: places[one.id].get(id, 0) for id in one.expect} for one in asked}
    return Measurement(asked, gone, measures, ranks, main, tuple(notes))


def _rank_by_words(asked: Sequence[Golden], records: Sequence[Record]) -> dict[str, list[str]]:
    texts = [
        (r.id, "\n".join((r.title, " ".join(r.tags), r.body)))
        for r in sorted(records, key=lambda r: r.name)
    ]
    counted = rankingmetrics.rank_by_word_count(texts, [(one.id, one.query.text) for one in asked])
    return {one.id: _replace_conversations(counted[one.id], one.expect, records) for one in asked}


def _ask_recall(
    place: layout.Place,
    settings: config.Config,
    golden: Sequence[Golden],
    now: float,
    offset: clock.Offset,
    vectors: Semantic | None,
    fuzzy: bool = True,
) -> dict[str, list[str]]:
    with Searcher(place, settings, vectors, bare=True, fuzzy=fuzzy) as searcher:
        found = {}
        for one in golden:
            asked = one.query._replace(limit=rankingmetrics.DEPTH, semantic=vectors is not None)
            found[one.id] = [
                id
                for hit in searcher.answer(asked, now, offset).hits
                for id in _hit_ids(hit, one.expect)
            ]
        return found


def _hit_ids(hit: Hit, expected: Sequence[str]) -> Iterator[str]:
    yield hit.record.id
    if hit.conversation != hit.record.id and hit.conversation in expected:
        yield hit.conversation
    yield from hit.others


def _replace_conversations(
    found: Sequence[str], expected: Sequence[str], records: Sequence[Record]
) -> list[str]:
    """Replace each conversation by its session's expected checkpoint."""
    session = {
        str(r.meta["conversation"]): r.id
        for r in records
        if r.kind == "checkpoint" and r.id in expected and r.meta.get("conversation")
    }
    return list(dict.fromkeys(id if id in expected else session.get(id, id) for id in found))
