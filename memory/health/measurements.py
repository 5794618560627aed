"""Rankers measured by golden queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from memory.core import StoreError, clock
from memory.core.records import Record
from memory.health import rankingmetrics
from memory.health.goldens import FUZZY, GREP, LEXICAL, MEASURES, SEMANTIC, Golden, GoldenSet
from memory.recall import fuzzy
from memory.recall.hit import Hit
from memory.recall.search import Searcher
from memory.recall.semantic import Semantic, load_provider
from memory.store.store import Store

_SCORED = dict(zip(MEASURES, ("r@1", "r@5", "r@10", "mrr")))
Progress = Callable[[str], None]


class Measurement(NamedTuple):
    """How well each ranker found the expected records of golden queries.

    golden: the queries that were asked. gone: expected ids without a record, by query. measures: by
    ranker and name, 0 to 1. ranks: by query, the rank of each expected id with the main ranker, 0
    below the tenth. notes: lines about rankers that did not run.
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
    existing, answerable = set(ids), []
    gone: dict[str, tuple[str, ...]] = {}
    for query in golden:
        meant = [id if id in existing else successors.get(id, id) for id in query.expect]
        present = tuple(dict.fromkeys(id for id in meant if id in existing))
        missing = tuple(id for id, now in zip(query.expect, meant) if now not in existing)
        if missing:
            gone[query.id] = missing
        if present:
            answerable.append(query._replace(expect=present))
    return tuple(answerable), gone


def measure_rankers(
    store: Store,
    env: Mapping[str, str],
    file: GoldenSet,
    records: Sequence[Record],
    offset: clock.Offset,
    progress: Progress,
) -> Measurement:
    """Measure every available ranker with every golden query.

    The main ranker gets the answer of another one for a query that names it. env: for a provider of
    vectors. Raises StoreError.
    """
    ids = {record.id for record in records}
    asked, gone = select_answerable(file.queries, ids, store.successors())
    if not asked:
        raise StoreError(
            "%s: none of the expected records exists; `dayleaf debug eval --template FILE` drafts "
            "queries from those that do" % file.path
        )
    answers, notes = _ask_rankers(store, env, asked, records, offset, progress)
    best_first = (SEMANTIC, FUZZY, LEXICAL) if store.config["recall.semantic"] else (FUZZY, LEXICAL)
    main = next(ranker for ranker in best_first if ranker in answers)
    answers[main] = {
        golden.id: answers[golden.ranker if golden.ranker in answers else main][golden.id]
        for golden in asked
    }
    wanted = {golden.id: dict.fromkeys(golden.expect, 1.0) for golden in asked}
    measures = {}
    for ranker, found in answers.items():
        sums = rankingmetrics.sum_metrics(found, [{"id": id} for id in wanted], wanted)
        measures[ranker] = {name: round(sums[key] / len(asked), 4) for name, key in _SCORED.items()}
    ranks = {
        golden.id: {id: _find_rank(answers[main][golden.id], id) for id in golden.expect}
        for golden in asked
    }
    return Measurement(asked, gone, measures, ranks, main, tuple(notes))


def _find_rank(ids: Sequence[str], id: str) -> int:
    return ids.index(id) + 1 if id in ids else 0


def _ask_rankers(
    store: Store,
    env: Mapping[str, str],
    asked: Sequence[Golden],
    records: Sequence[Record],
    offset: clock.Offset,
    progress: Progress,
) -> tuple[dict[str, dict[str, list[str]]], list[str]]:
    """Return (each ranker's ids by query, notes on rankers that did not run)."""
    notes = []
    progress(GREP)
    answers = {GREP: _rank_by_words(asked, records)}
    progress(LEXICAL)
    answers[LEXICAL] = _ask_recall(store, asked, offset, fuzzy=False)
    if fuzzy.load_matcher() is None:
        notes.append(
            "fuzzy: RapidFuzz is missing, so recall does not find misspelt words; run install.sh"
        )
    else:
        progress(FUZZY)
        answers[FUZZY] = _ask_recall(store, asked, offset)
    progress(SEMANTIC)
    vectors = load_provider(store.config, "", env)
    why = vectors.obstacle(store.place) if vectors else "this dayleaf has no vectors"
    if vectors and not why:
        vectors.prepare(store.place, [golden.query.text for golden in asked], store.now)
        answers[SEMANTIC] = _ask_recall(store, asked, offset, vectors)
        if not vectors.label:
            del answers[SEMANTIC]
            why = "the provider gave no vectors; `dayleaf doctor` says why"
    notes += ["semantic: " + why] if why else []
    return answers, notes


def _rank_by_words(asked: Sequence[Golden], records: Sequence[Record]) -> dict[str, list[str]]:
    texts = [
        (r.id, "\n".join((r.title, " ".join(r.tags), r.body)))
        for r in sorted(records, key=lambda r: r.name)
    ]
    counted = rankingmetrics.rank_by_word_count(
        texts, [(golden.id, golden.query.text) for golden in asked]
    )
    return {
        golden.id: _replace_conversations(counted[golden.id], golden.expect, records)
        for golden in asked
    }


def _ask_recall(
    store: Store,
    asked: Sequence[Golden],
    offset: clock.Offset,
    vectors: Semantic | None = None,
    fuzzy: bool = True,
) -> dict[str, list[str]]:
    answers = {}
    with Searcher(store.place, store.config, vectors, bare=True, fuzzy=fuzzy) as searcher:
        for golden in asked:
            semantic = vectors is not None
            query = golden.query._replace(limit=rankingmetrics.DEPTH, semantic=semantic)
            hits = searcher.answer(query, store.now, offset).hits
            answers[golden.id] = [id for hit in hits for id in _hit_ids(hit, golden.expect)]
    return answers


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
