"""Rankers measured by golden queries, and what has changed since the last time.

Schema, version 1, of `<cache>/evals.jsonl`, derived, one line a run; ids and digests, never text:

    {"v":1,"t":"2026-11-21T14:30:52Z","file":8 hex of the path,"settings":8 hex,"store":8
     hex,"main":ranker, "measures":{ranker:{"recall@1":0.7,…,"mrr":0.6}},"queries":{id:[8 hex of the
     query,{expected id:rank or 0}]}}

`main` is the ranker that recall uses as it is set, whose ranks stand in `queries`; rank 0: not
among the first ten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memory.core import StoreError, clock, config, fastjson, files, layout
from memory.core.records import Record
from memory.health import rankingmetrics
from memory.health.goldens import FUZZY, GREP, LEXICAL, MEASURES, SEMANTIC, Golden, Set
from memory.recall import fuzzy
from memory.recall.hit import Hit
from memory.recall.search import Searcher
from memory.recall.semantic import Semantic, semantic

_SCORED = dict(zip(MEASURES, ("r@1", "r@5", "r@10", "mrr")))
_RANKING = ("recall.", "context.", "embeddings.")  # settings that move a rank
LOG_LIMIT, KEPT = 4 << 20, 200  # bytes that are read, runs that are kept
Progress = Callable[[str], None]


class Measured(NamedTuple):
    """The result of a run.

    golden: the queries that were asked. gone: expected ids without a record, by query. measures: by
        ranker and name, 0 to 1. ranks: by query, the rank of each expected id with the main ranker,
        0 where it is not among the first ten. main: that ranker. notes: lines about rankers that
        did not run.
    """

    golden: tuple[Golden, ...]
    gone: dict[str, tuple[str, ...]]
    measures: dict[str, dict[str, float]]
    ranks: dict[str, dict[str, int]]
    main: str
    notes: tuple[str, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The queries left out, as none of their records exists."""
        asked = {one.id for one in self.golden}
        return tuple(id for id in self.gone if id not in asked)


def present_queries(
    golden: Sequence[Golden], ids: Collection[str], successors: Mapping[str, str]
) -> tuple[tuple[Golden, ...], dict[str, tuple[str, ...]]]:
    """Return the queries with existing records, and missing ids by query.

    successors: a merged record's id -> its successor's, which is expected instead.
    """
    known, kept = set(ids), []
    gone: dict[str, tuple[str, ...]] = {}
    for one in golden:
        meant = [id if id in known else successors.get(id, id) for id in one.expect]
        there = tuple(dict.fromkeys(id for id in meant if id in known))
        lost = tuple(id for id, now in zip(one.expect, meant) if now not in known)
        if lost:
            gone[one.id] = lost
        if there:
            kept.append(one._replace(expect=there))
    return tuple(kept), gone


def measure(
    place: layout.Place,
    settings: config.Config,
    env: Mapping[str, str],
    golden: Set,
    records: Sequence[Record],
    successors: Mapping[str, str],
    now: float,
    offset: float,
    told: Progress,
) -> Measured:
    """Ask every golden query of every available ranker.

    A query that names a ranker counts with that ranker's answer in what recall uses.
    env: the environment of a provider of vectors. offset: seconds
        that local time is ahead of UTC. told: called with the present ranker. Raises StoreError
        where no query is left to ask.
    """
    asked, gone = present_queries(golden.queries, {record.id for record in records}, successors)
    if not asked:
        raise StoreError(
            "%s: none of the expected records exists; `dayleaf debug eval --template FILE` drafts "
            "queries from those that do" % golden.path
        )
    answers, notes = _answers_by_ranker(place, settings, env, asked, records, now, offset, told)
    main = (
        SEMANTIC
        if SEMANTIC in answers and settings["recall.semantic"]
        else FUZZY
        if FUZZY in answers
        else LEXICAL
    )
    answers[main] = {
        one.id: answers[one.ranker if one.ranker in answers else main][one.id] for one in asked
    }
    wanted = {one.id: dict.fromkeys(one.expect, 1.0) for one in asked}
    sums = {
        name: rankingmetrics.score(found, [{"id": one.id} for one in asked], wanted)
        for name, found in answers.items()
    }
    measures = {
        name: {said: round(each[key] / len(asked), 4) for said, key in _SCORED.items()}
        for name, each in sums.items()
    }
    ranks = {
        one.id: {
            id: answers[main][one.id].index(id) + 1 if id in answers[main][one.id] else 0
            for id in one.expect
        }
        for one in asked
    }
    return Measured(asked, gone, measures, ranks, main, tuple(notes))


def _answers_by_ranker(
    place: layout.Place,
    settings: config.Config,
    env: Mapping[str, str],
    asked: Sequence[Golden],
    records: Sequence[Record],
    now: float,
    offset: float,
    told: Progress,
) -> tuple[dict[str, dict[str, list[str]]], list[str]]:
    """Return answers by ranker and query, and notes on missing rankers."""
    told(GREP)
    texts = [
        (r.id, "\n".join((r.title, " ".join(r.tags), r.body)))
        for r in sorted(records, key=lambda r: r.name)
    ]
    counted = rankingmetrics.rank_by_word_count(texts, [(one.id, one.query.text) for one in asked])
    answers = {GREP: {one.id: _by_session(counted[one.id], one.expect, records) for one in asked}}
    told(LEXICAL)
    answers[LEXICAL] = _answers(place, settings, asked, now, offset, None, fuzzy=False)
    notes = []
    if fuzzy.scorer() is None:
        notes.append(
            "fuzzy: RapidFuzz is missing, so recall does not find misspelt words; run install.sh"
        )
    else:
        told(FUZZY)
        answers[FUZZY] = _answers(place, settings, asked, now, offset, None)
    told(SEMANTIC)
    near, note = _semantic(place, settings, env, asked, now, offset)
    answers.update({SEMANTIC: near} if near else {})
    return answers, notes + [note] * bool(note)


def _answers(
    place: layout.Place,
    settings: config.Config,
    golden: Sequence[Golden],
    now: float,
    offset: float,
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
                for id in _named(hit, one.expect)
            ]
        return found


def _named(hit: Hit, expected: Sequence[str]) -> Iterator[str]:
    """Yield the ids in a hit."""
    yield hit.record.id
    if hit.conversation != hit.record.id and hit.conversation in expected:
        yield hit.conversation
    yield from hit.others


def _by_session(
    found: Sequence[str], expected: Sequence[str], records: Sequence[Record]
) -> list[str]:
    """Replace conversations by their session's expected checkpoint."""
    session = {
        str(r.meta["conversation"]): r.id
        for r in records
        if r.kind == "checkpoint" and r.id in expected and r.meta.get("conversation")
    }
    return list(dict.fromkeys(id if id in expected else session.get(id, id) for id in found))


def _semantic(
    place: layout.Place,
    settings: config.Config,
    env: Mapping[str, str],
    golden: Sequence[Golden],
    now: float,
    offset: float,
) -> tuple[dict[str, list[str]], str]:
    """Return the answers with vectors, or {} with the reason."""
    vectors = semantic(settings, "", env)
    why = vectors.obstacle(place) if vectors else "this dayleaf has no vectors"
    if vectors is None or why:
        return {}, "semantic: " + why
    vectors.prepare(place, [one.query.text for one in golden], now)
    found = _answers(place, settings, golden, now, offset, vectors)
    return (
        (found, "")
        if vectors.label
        else ({}, "semantic: the provider gave no vectors; `dayleaf doctor` says why")
    )


# ---- the runs of before


def row(
    found: Measured, path: str, settings: config.Config, records: Sequence[Record], now: float
) -> dict[str, Any]:
    """Return a run as a row of the log.

    path: of the file of golden queries. now: seconds since the epoch.
    """
    chosen = {key: settings[key] for key in sorted(config.DEFAULTS) if key.startswith(_RANKING)}
    held = "\n".join(sorted("%s %s" % (record.name, record.checksum) for record in records))
    return {
        "v": 1,
        "t": clock.iso(now),
        "file": _short(files.real_path(path)),
        "settings": _short(fastjson.dump(chosen)),
        "store": _short(held),
        "main": found.main,
        "measures": found.measures,
        "queries": {
            one.id: [_short(repr(one.query) + one.ranker), found.ranks[one.id]]
            for one in found.golden
        },
    }


def _short(said: str) -> str:
    return files.sha256(said.encode("utf-8", "surrogatepass"))[:8]


def last(place: layout.Place, path: str) -> dict[str, Any]:
    """Return the last run of a file of golden queries, {} for none."""
    name = _short(files.real_path(path))
    return next((one for one in reversed(_runs(place)) if one.get("file") == name), {})


def keep(place: layout.Place, run: dict[str, Any]) -> None:
    """Add a run to the log, and drop the oldest beyond KEPT.

    Raises OSError.
    """
    lines = [fastjson.dump(one) + "\n" for one in [*_runs(place), run][-KEPT:]]
    files.replace(place.cache + "/evals.jsonl", "".join(lines).encode("ascii"), synced=False)


def _runs(place: layout.Place) -> list[dict[str, Any]]:
    try:
        found = fastjson.rows(files.read(place.cache + "/evals.jsonl", LOG_LIMIT))
    except OSError:
        return []
    return [
        one
        for one in found
        if one.get("v") == 1
        and isinstance(one.get("queries"), dict)
        and isinstance(one.get("measures"), dict)
    ]


def changed_ranks(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the expected records with a changed rank, losses first.

    Changed queries are left out. A row has `query`, `id`, `before` and `after`; rank 0: not among
    the first ten.
    """
    if before.get("main") != after["main"]:
        return []
    found = []
    for query, (digest, ranks) in after["queries"].items():
        then = before["queries"].get(query)
        if (
            not isinstance(then, list)
            or len(then) != 2
            or then[0] != digest
            or not isinstance(then[1], dict)
        ):
            continue
        for id, rank in ranks.items():
            old = then[1].get(id)
            if isinstance(old, int) and old != rank:
                found.append({"query": query, "id": id, "before": old, "after": rank})
    return sorted(
        found,
        key=lambda one: (
            -(1 / (one["before"] or 99) - 1 / (one["after"] or 99)),
            one["query"],
            one["id"],
        ),
    )


def other_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the other changes since an earlier run.

    The settings, the records, the queries, the ranker.
    """
    queries = {id: one[0] for id, one in after["queries"].items()} != {
        id: one[0] if isinstance(one, list) and one else "" for id, one in before["queries"].items()
    }
    found = [
        what
        for what, key in (
            ("the settings", "settings"),
            ("the records", "store"),
            ("the ranker", "main"),
        )
        if before.get(key) != after[key]
    ]
    return found + ["the queries"] * queries
