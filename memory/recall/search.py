"""Recall: from a query to hits.  Candidates come from the index, shown text from the files.

A query without text lists the newest first.  Time words in the text filter (timewords.py); if
nothing is left, the search is repeated without them and says so.  Words that no record holds are
searched as misspellings (fuzzy.py).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from memory.core import IndexFault, UsageError, clock, tokeniser
from memory.core.config import Config
from memory.core.layout import DATED_KINDS, FOLDERS, GLOBAL, Place
from memory.core.matches import Expansion
from memory.core.records import Record
from memory.hook import context, documents, fence, loader, segment, windows
from memory.hook.context import ContextTag
from memory.hook.handles import extract_ids, names_branch
from memory.index.backend import Backend, Sieve, Unreachable
from memory.project import manifests, mentions
from memory.recall import alongside, hit, look, quotes, rank, timewords, updates
from memory.recall.hit import Hit, RecallResult
from memory.recall.lookup import LOCAL_ALONE, find_places_and_shelves
from memory.recall.question import (
    ASKING,
    MOST_LIMIT,
    MOST_TERMS,
    Query,
    QueryTerms,
    interpret,
    is_within,
    names_subject,
    passes_filters,
)
from memory.recall.semantic import FILTERED, NEAR, Semantic, format_fallback
from memory.recall.shelf import Shelf
from memory.store import ledger

DEFAULT_LIMIT = 10  # hits
SECTIONS = 4  # of one record that are ranked again
CANDIDATES = 64  # records that are ranked again
SLACK = 20  # more that are asked for: some are gone, or of a record already found
DIALOGUE_CANDIDATES = 200  # short messages, which are cheap to read
FILTERED_READS = 3000  # files that filters on the text of records may read
NOISE = 0.02  # share of the best score below which a hit is chance: one common word of many
SCANNED = 2000  # newest records searched for a query of stop words alone
TURNS = 30  # nearest turns of conversations that are read to quote from
_SESSION_ID = re.compile(r"[0-9a-f]{8}[0-9a-f-]{,27}")  # or how it begins
_CONVERSATION = segment.KINDS.index("conversation")
_CONVERSATIONS = "/" + FOLDERS["conversation"] + "/"


def recall(
    place: Place,
    settings: Config,
    query: Query,
    now: float,
    offset: clock.Offset,
    places: Sequence[Place] | None = None,
    semantic: Semantic | None = None,
    links: bool = False,
    dsn: str = "",
) -> RecallResult:
    """Search workspaces for a query and return the hits.

    offset: of local time. places: workspaces to search instead of the query's. semantic: provider
        of vectors. links: add linked records (alongside.py). dsn: another database to ask. Raises
        UsageError for an unknown workspace or kind.
    """
    with Searcher(place, settings, semantic, dsn=dsn) as searcher:
        return searcher.answer(query, now, offset, places, links)


class Searcher:
    """A context manager that keeps opened workspaces between queries."""

    def __init__(
        self,
        place: Place,
        settings: Config,
        semantic: Semantic | None = None,
        bare: bool = False,
        dsn: str = "",
        fuzzy: bool = True,
    ):
        """Prepare a search in the workspaces that `place` can see.

        bare: leave out the fields for display. dsn: see `recall`. fuzzy: match misspelt words too.
        """
        self.place, self.settings, self.semantic = place, settings, semantic
        self.bare, self.dsn, self.fuzzy = bare, dsn, fuzzy
        self.shelves: dict[str, Shelf] = {}
        self.expansion = Expansion()
        self._place_tags: tuple[ContextTag, ...] | None = None

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        for shelf in self.shelves.values():
            shelf.close()

    def answer(
        self,
        query: Query,
        now: float,
        offset: clock.Offset,
        places: Sequence[Place] | None = None,
        links: bool = False,
    ) -> RecallResult:
        """Search for one query; see `recall`."""
        for kind in query.kinds:
            if kind not in FOLDERS:
                raise UsageError("no kind '%s'; use one of %s" % (kind[:40], ", ".join(FOLDERS)))
        query = query._replace(file=mentions.make_relative(query.file, self.place.root))
        notes: list[str] = []
        distant: list[Shelf] = []
        if not places:
            places, distant = find_places_and_shelves(
                self.place, self.settings, query.workspace, self.dsn, notes
            )
        shelves = [*(self._open_shelf(p, now) for p in places), *distant]
        try:
            return self._search_with_fallback(shelves, query, now, offset, links, notes)
        except Unreachable as fault:
            if not places:
                raise
            notes, shelves = [LOCAL_ALONE % fault], shelves[: len(places)]
            return self._search_with_fallback(shelves, query, now, offset, links, notes)

    def _search_with_fallback(
        self,
        shelves: list[Shelf],
        query: Query,
        now: float,
        offset: clock.Offset,
        links: bool,
        notes: list[str],
    ) -> RecallResult:
        """Search; if files changed or the index is damaged, search again."""

        def search() -> RecallResult:
            return _Search(self, shelves, query, now, offset, notes).run(links)

        try:
            result = search()
            # An edit in place leaves its folder's time, so only a full comparison finds it.
            changed = [shelf.finish(now) for shelf in shelves] if not result.hits else []
            return search() if any(changed) else result
        except (IndexFault, struct.error, ValueError, IndexError, OverflowError) as fault:
            # A flipped bit can pass the reader's checks and raise any of these.
            if not any(shelf.on_disk and not shelf.is_distant for shelf in shelves):
                raise
            reason = str(fault).partition(";")[0] or type(fault).__name__
            for shelf in shelves:
                if not shelf.is_distant:
                    shelf.from_files(now, "the index is damaged (%s)" % reason)
            return search()

    def merge_tags(self, query: Query) -> tuple[ContextTag, ...]:
        """Return the context tags of a query and of the place."""
        if self._place_tags is None:
            self._place_tags = manifests.project_tags(self.place)
        return context.merge_tags(
            query.context_tags, () if query.context_alone else self._place_tags
        )

    def add_display_fields(self, hits: Sequence[Hit], now: float) -> tuple[Hit, ...]:
        """Return hits with age, group and claims added, unless `bare`."""
        if self.bare or not hits:
            return tuple(hits)
        return tuple(hit.add_display_fields(hits, self.place, now))

    def _open_shelf(self, place: Place, now: float) -> Shelf:
        key = place.key + "/" + place.scope
        if key not in self.shelves:
            self.shelves[key] = Shelf(place, now)
        return self.shelves[key]


class _NearSection(NamedTuple):
    """A section whose vector is near the query's."""

    similarity: float
    path: str
    name: str
    ordinal: int
    shelf: Shelf


def _find_best_by_file(
    scores: Sequence[float], pool: Sequence[look.Candidate]
) -> Iterable[tuple[float, int]]:
    """Return (best score above 0, index in the pool) of each file."""
    best: dict[str, tuple[float, int]] = {}
    for i, (score, candidate) in enumerate(zip(scores, pool)):
        if score > best.get(candidate.path, (0.0, 0))[0]:
            best[candidate.path] = (score, i)
    return best.values()


def _put_first(first: Sequence[Hit], hits: Sequence[Hit]) -> list[Hit]:
    """Return both lists as one, each file once."""
    paths = {each.path for each in first}
    return [*first, *(each for each in hits if each.path not in paths)]


class _Search:
    """One search for a query: its candidates, hits and answer."""

    def __init__(
        self,
        searcher: Searcher,
        shelves: Sequence[Shelf],
        query: Query,
        now: float,
        offset: clock.Offset,
        notes: list[str],
    ):
        self.searcher, self.shelves, self.query = searcher, shelves, query
        self.now, self.offset = now, offset
        self.limit = min(query.limit or DEFAULT_LIMIT, MOST_LIMIT)
        self.notes: list[str] = list(notes)
        self.latest, self.about = False, timewords.OPEN
        self.context = searcher.merge_tags(query) if query.text else ()
        self.weak = False
        # cosine similarity above the floor, by file
        self.similar: dict[str, float] = {}
        # cosine similarity scaled to 0..1, by id and turn
        self._similarities: dict[tuple[str, int], float] = {}
        self._question: look.Question | None = None
        self._pooled: Sequence[look.Candidate] = ()
        self._turns: dict[tuple[Any, ...], Sequence[hit.Turn]] = {}
        self.unread = 0  # matches of a listing, counted but not read

    def run(self, links: bool) -> RecallResult:
        for shelf in self.shelves:
            self._note(shelf.notes)
        asked = self.query
        self.query, timed, self.latest, self.about, rest, period = interpret(
            asked, self.now, self.offset
        )
        if period != timewords.OPEN:
            self._list_for_bare_question(QueryTerms(rest, self.shelves, False), period)
        if self.query.until is None and (self.query.since or self.now) < self.now:
            self.query = self.query._replace(until=self.now + clock.DAY)
        hits, gaps = self._find_hits()
        if not self.query.text and clock.parse(asked.text) is not None:
            hits = _put_first(self._find_titled(asked), hits)
        if not hits:
            hits = self._find_fallback(asked, timed)
        result = self._make_result(hits, gaps)
        linked: list[Hit] = []
        plan: list[Hit] = []
        if links:
            # Time words of the text filter the hits alone, kinds in it the linked records too.
            of_kind = asked._replace(kinds=self.query.kinds)
            linked = alongside.find_linked_hits(result.hits, self.shelves, of_kind)
            plan = self._find_plan([*result.hits, *linked])
        is_free = bool(asked.text and hits and not self.query.kinds)
        return result._replace(
            linked=self.searcher.add_display_fields(linked, self.now),
            raw=is_free and all(each.kind in DATED_KINDS for each in hits),
            weak=self.weak,
            plan=next(iter(self.searcher.add_display_fields(plan, self.now)), None),
        )

    def _list_for_bare_question(self, terms: QueryTerms, period: timewords.Span) -> None:
        """Turn a question that names no known subject into a listing of its time."""
        if not terms.is_bare_question():
            return
        self.query = self.query._replace(text="", since=period[0], until=period[1])
        gaps = terms.find_gaps()
        if gaps:
            self.notes.append(
                "no record holds '%s'; showing what is of that time" % "', '".join(gaps)
            )

    def _note(self, notes: Iterable[str]) -> None:
        self.notes += [note for note in notes if note not in self.notes]

    def _find_fallback(self, asked: Query, timed: bool) -> list[Hit]:
        """Search without the named time or by session id; note what filters hide."""
        if timed and self.query.text:
            return self._find_of_any_time(asked)
        if _SESSION_ID.fullmatch(asked.text.strip()) and not asked.session:
            self.query = asked._replace(text="", session=asked.text.strip())
            return self._list_newest()
        if asked.text and self._is_filtered():
            self.query = Query(asked.text, workspace=asked.workspace)
            count = len(self._find_hits()[0])
            self.query = asked
            if count:
                self.notes.append(
                    "nothing fits the filters; without them there %s"
                    % ("is 1 hit" if count == 1 else "are %d hits" % count)
                )
        return []

    def _find_of_any_time(self, asked: Query) -> list[Hit]:
        """Search any time; if all words are common, list the named time."""
        if not names_subject(self.query.text, ASKING | tokeniser.COMMON):
            self.query = self.query._replace(text="")
            return self._list_newest()
        self.query = asked
        hits, _ = self._find_hits()
        if hits:
            self.notes.append(
                "nothing from the time that the query names; showing hits from any time"
            )
        return hits

    def _find_plan(self, there: Sequence[Hit]) -> list[Hit]:
        """Return the active plan as a hit, [] if none or already in `there`."""
        shelf = self.shelves[0]
        if shelf.is_distant or shelf.place.key != self.searcher.place.key:
            return []
        plan = alongside.find_active_plan(shelf)
        path = shelf.path(plan.name) if plan else ""
        if plan is None or any(each.path == path for each in there):
            return []
        return [hit.from_record(plan, shelf.place.key, path)]

    def _find_hits(self) -> tuple[list[Hit], tuple[str, ...]]:
        """Return (hits, words that no record holds)."""
        raws = tokeniser.split(self.query.text)
        if not any(raw.strip("-./_") for raw in raws):
            if self.query.text.strip():
                self.notes.append("the query has no word to search for")
                return [], ()
            return self._list_newest(), ()
        if not any(map(tokeniser.expand, raws)):
            return self._scan_newest(), ()
        terms = QueryTerms(self.query.text, self.shelves, self.searcher.fuzzy)
        self._note(terms.notes)
        pool = self._find_all_candidates(terms, CANDIDATES)
        expansion = self.searcher.expansion
        terms.settle_spellings(pool, expansion)
        question = terms.make_question()
        terms.prefetch_heads(pool, expansion)
        features = look.compute_features(pool, question, expansion)
        # A learning names its session too, but is no turn of it; a conversation is ranked by turns,
        # and what stands beside one by sessions.
        kinds = [c.record.kind for c in pool]
        dialogue = (
            rank.is_dialogue(pool, features)
            and 2 * kinds.count("checkpoint") > len(pool)
            and "conversation" not in kinds
            and not any(fence.field(c.record, "conversation") for c in pool)
        )
        if dialogue:
            pool = self._find_all_candidates(terms, DIALOGUE_CANDIDATES)
            self._add_neighbours(pool)
            question = terms.make_question(rank.find_named_speakers(pool, question))
            features = look.compute_features(pool, question, expansion)
            near: dict[str, float] = {}
        else:
            pool += [
                c
                for shelf in self.shelves
                for c in alongside.find_checkpoints_of_turns(shelf, pool, self.query)
            ]
            near = self._add_nearest(pool)
            features += look.compute_features(pool[len(features) :], question, expansion)
        hits = self._rank(pool, features, question, dialogue, near)
        named = self._find_named(hits)
        return _put_first(named, hits), () if named else terms.find_gaps()

    def _find_titled(self, asked: Query) -> list[Hit]:
        """Return the records of any time whose titles hold the asked date."""
        listed, self.query = self.query, asked
        hits = [each for each in self._find_hits()[0] if asked.text.strip() in each.title]
        self.query = listed
        if not hits:
            self._question = None
        return hits

    def _find_named(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the records whose ids stand in the query, above other hits."""
        best = 1.0 + (hits[0].score if hits else 0.0)
        terms = [segment.id_term(id) for id in extract_ids(self.query.text)]
        named: dict[str, Hit] = {}
        for shelf in self.shelves if terms else ():
            for number in (n for term in terms for n in shelf.backend.holding(term)):
                c = shelf.candidate(number)
                if c and self._passes(shelf, c) and not self._is_duplicate(shelf, c.record.name):
                    found = hit.from_record(c.record, c.workspace, c.path, c.origin)
                    parts = (("id", best),)
                    named[c.path] = found._replace(score=best, parts=parts, why="its id")
        return list(named.values())

    def _rank(
        self,
        pool: Sequence[look.Candidate],
        features: Sequence[look.MatchFeatures],
        question: look.Question,
        dialogue: bool,
        near: Mapping[str, float],
    ) -> list[Hit]:
        """Return the candidates as hits, best first."""
        relevance = rank.score_relevance(pool, features, question, dialogue)
        if near:
            relevance = rank.fuse_vectors(relevance, [near.get(c.path, 0.0) for c in pool])
        scored = rank.adjust_scores(pool, relevance, self._collect_signals(pool))
        hits = []
        words = rank.list_query_words(question)
        for score, i in _find_best_by_file([score for score, _ in scored], pool):
            c = pool[i]
            hits.append(
                hit.from_record(c.record, c.workspace, c.path, c.origin)._replace(
                    score=score,
                    parts=scored[i][1],
                    why=rank.explain_match(features[i], words, self.similar.get(c.path)),
                    section=c.section,
                    turn=c.turn,
                    talk=c.record if c.turn else None,
                )
            )
        self._question, self._pooled = question, pool
        by_session = not dialogue and not self.query.session
        if by_session:
            hits = rank.merge_sessions(hits, {c.path: c.among for c in pool})
        hits = rank.sort_hits(hits)
        # a question that names a day asks for what was said then
        if by_session and self.about == timewords.OPEN:
            backends = {shelf.place.key: shelf.backend for shelf in self.shelves}
            hits = updates.lift_updates(self.query.text, hits, backends)
        return self._drop_low(hits)

    def _drop_low(self, hits: list[Hit]) -> list[Hit]:
        """Drop hits below the wanted score, or below a share of the best."""
        least = self.query.min_score
        if least is None and hits:
            least = NOISE * hits[0].score
        return [each for each in hits if least is None or each.score >= least]

    def _collect_signals(self, pool: Sequence[look.Candidate]) -> rank.Signals:
        ids = {c.record.id for c in pool}
        uses, outcomes = ledger.sum_tallies([shelf.tally for shelf in self.shelves], ids)
        words = frozenset(tokeniser.split(self.query.text.lower())) | {
            t.lower() for t in self.query.topics
        }
        tags = [(tag.name, tag.weight) for tag in self.context]
        return rank.Signals(
            self.now,
            str(self.searcher.settings["recall.rerank"]),
            self.query.versions,
            tags,
            uses,
            outcomes,
            workspace=self.searcher.place.key if len({c.workspace for c in pool}) > 1 else "",
            topics=words,
            latest=self.latest,
            about=self.about,
        )

    # ---- candidates

    def _find_all_candidates(self, terms: QueryTerms, most: int) -> list[look.Candidate]:
        return [c for shelf in self.shelves for c in self._find_candidates(shelf, terms, most)]

    def _find_candidates(self, shelf: Shelf, terms: QueryTerms, most: int) -> list[look.Candidate]:
        most = max(most, 2 * self.limit)
        every, sieve = 2 * shelf.backend.documents, self.query.sieve
        weighted = list(terms.weights.items())
        if self._is_filtered():
            # Uncapped: a document that passes may rank behind thousands that do not.
            return self._read_candidates(
                shelf, shelf.backend.search(weighted, every, every * MOST_TERMS, sieve), most
            )
        wanted, cap = most + SLACK, loader.CAP
        while True:
            numbers = shelf.backend.search(weighted, wanted, cap, sieve)
            taken = self._read_candidates(shelf, numbers, most)
            if shelf.is_distant or len(numbers) < wanted or len({c.path for c in taken}) >= most:
                return taken
            # Sections of long records filled the list: search again for more.
            wanted, cap = 4 * wanted, every * MOST_TERMS

    def _read_candidates(
        self, shelf: Shelf, numbers: Sequence[int], most: int, turns: bool = True
    ) -> list[look.Candidate]:
        """Return the candidates of at most `most` records that pass the filters.

        turns: keep conversations whose checkpoint is in the index too.
        """
        found: list[look.Candidate] = []
        sections: dict[str, int] = {}
        passed: set[str] = set()
        reads = 0
        for at, number in enumerate(numbers):
            if len(passed) >= most:
                break
            if reads >= FILTERED_READS:
                self.notes.append(
                    "%s: %d further matches were not read; narrow the query"
                    % (shelf.place.key, len(numbers) - at)
                )
                break
            name = shelf.backend.doc(number).name
            sections[name] = sections.get(name, 0) + 1
            if sections[name] > SECTIONS or self._is_duplicate(shelf, name):
                continue
            reads += 1
            candidate = shelf.candidate(number)
            if candidate is None or not self._passes(shelf, candidate):
                if self._is_of_other_time(shelf, candidate):
                    sections[name] -= 1  # another section may pass
                continue
            if turns or not alongside.find_session_checkpoint(shelf, candidate.record, self.query):
                found.append(candidate)
                passed.add(name)
        return found

    def _is_duplicate(self, shelf: Shelf, name: str) -> bool:
        """Tell whether a record is global and so found by the first shelf."""
        return name[0] == GLOBAL and shelf is not self.shelves[0]

    def _add_nearest(self, pool: list[look.Candidate]) -> dict[str, float]:
        """Add the records nearest by vectors; return similarity by file.

        From 0 to 1; {} without vectors. Not used for dialogues: there vectors cost MRR
        (evals/README.md) and neighbours help more.
        """
        semantic, nearest = self.searcher.semantic, self._find_nearest()
        if semantic is None or not nearest:
            return {}
        # of each file the best, the first in order
        best = {row.path: row for row in reversed(nearest)}
        files = sorted(best.values(), key=lambda row: (-row.similarity, row.path))
        similar = [row for row in nearest if row.similarity >= semantic.floor]
        self.similar = {row.path: row.similarity for row in reversed(similar)}
        self._add_similar(pool, files[: len(self.similar)])
        files = files[:NEAR]
        low, high = files[-1].similarity, files[0].similarity

        def scaled(similarity: float) -> float:
            return max(0.0, (similarity - low) / (high - low)) if high > low else 1.0

        near = {row.path: scaled(row.similarity) for row in files}
        self._similarities = {(c.record.id, 0): near.get(c.path, 0.0) for c in pool if not c.turn}
        known = {(c.path, c.text) for c in pool}
        for similarity, turn in self._read_nearest_turns(similar):
            key = (turn.record.id, turn.turn)
            self._similarities[key] = max(self._similarities.get(key, 0.0), scaled(similarity))
            if (turn.path, turn.text) not in known:
                pool.append(turn)
        return near

    def _add_similar(self, pool: list[look.Candidate], rows: Sequence[_NearSection]) -> None:
        """Add the records of near sections that the pool lacks."""
        pooled = {c.path for c in pool}
        most = len(pooled) + max(CANDIDATES, 2 * self.limit)
        for i, row in enumerate(rows):
            if row.path in pooled or len(pooled) >= most:
                continue
            # below 0: no document
            candidate = row.shelf.section(row.name, row.ordinal, -1 - i)
            if candidate and self._passes(row.shelf, candidate):
                pool.append(candidate)
                pooled.add(row.path)

    def _find_nearest(self) -> list[_NearSection]:
        """Return the sections nearest by vectors, best first, [] if unwanted."""
        semantic = self.searcher.semantic
        if semantic is None and self.query.semantic:
            self.notes.append(format_fallback("no semantic search here"))
        if semantic is None or not semantic.is_wanted(self.query.semantic):
            return []
        vector = semantic.vector(self.searcher.place, self.query.text, self.now, self.notes)
        limit = FILTERED if self._is_filtered() else NEAR
        found = [
            _NearSection(similarity, shelf.path(name), name, ordinal, shelf)
            for shelf in (self.shelves if vector is not None else ())
            for name, ordinal, similarity in semantic.near(shelf, vector, limit, self.notes)
            if shelf.is_distant or not self._is_duplicate(shelf, name)
        ]
        return sorted(found, key=lambda row: (-row.similarity, row.path, row.ordinal))

    def _read_nearest_turns(
        self, nearest: Sequence[_NearSection]
    ) -> Iterator[tuple[float, look.Candidate]]:
        """Yield (similarity, turn) of the nearest turns of conversations."""
        turns = [row for row in nearest if _CONVERSATIONS in row.name]
        for i, row in enumerate(turns[:TURNS]):
            candidate = row.shelf.section(row.name, row.ordinal, -1 - NEAR - i)
            if candidate and self._passes(row.shelf, candidate):
                yield row.similarity, candidate

    def _add_neighbours(self, pool: list[look.Candidate]) -> None:
        """Add the same session's messages before and after the best candidates."""
        have = {(c.workspace, c.number) for c in pool}
        shelves = {shelf.place.key: shelf for shelf in self.shelves}
        for candidate in pool[:CANDIDATES]:
            shelf = shelves.get(candidate.workspace)
            for number in (candidate.number - 1, candidate.number + 1):
                key = (candidate.workspace, number)
                if shelf is None or key in have or not 0 <= number < shelf.size:
                    continue
                have.add(key)
                other = shelf.candidate(number)
                if (
                    other
                    and other.record.meta.get("session") == candidate.record.meta.get("session")
                    and self._passes(shelf, other)
                ):
                    pool.append(other)

    def _list_newest(self) -> list[Hit]:
        pool: list[look.Candidate] = []
        late = self.now + clock.DAY  # what is dated later is of a wrong clock, and comes last
        for shelf in self.shelves:
            numbers = shelf.backend.newest(self.query.sieve)
            ahead = [*takewhile(lambda n: shelf.backend.doc(n).created > late, numbers)]
            numbers = numbers[len(ahead) :] + ahead
            apart = bool(self.query.kinds or self.query.session)
            taken = self._read_candidates(shelf, numbers, self.limit, apart)
            pool += taken
            if len(taken) == self.limit and not self._needs_files():
                self.unread += self._count_unread(shelf.backend, numbers, apart)
        pool.sort(
            key=lambda c: (c.record.created > late, -c.record.created, c.record.id, c.record.name)
        )
        hits = []
        for c in pool:
            score = rank.score_recency(self.now, c.record.created)
            if self.query.min_score is None or score >= self.query.min_score:
                hits.append(
                    hit.from_record(c.record, c.workspace, c.path, c.origin)._replace(
                        score=score, parts=(("recency", score),), why=hit.NEWEST
                    )
                )
        return hits

    def _count_unread(self, backend: Backend, numbers: list[int], apart: bool) -> int:
        """Count the records beyond the limit that began in the query's time."""
        while numbers and backend.doc(numbers[-1]).created < int(self.query.since or 0):
            numbers.pop()
        listed = sum(apart or backend.kind(n) != _CONVERSATION for n in numbers)
        return max(0, listed - self.limit)

    def _scan_newest(self) -> list[Hit]:
        """Search the newest records' texts for stop words."""
        expansion = Expansion(frozenset())
        pool: list[look.Candidate] = []
        for shelf in self.shelves:
            pool += self._read_candidates(
                shelf, shelf.backend.newest(self.query.sieve)[:SCANNED], SCANNED
            )
        self.notes.append("only common words: looked through the %d newest records" % len(pool))
        pairs = tokeniser.query_terms(self.query.text)
        raws = tokeniser.split(self.query.text)
        sequence = [t for raw in raws for t, _ in tokeniser.expand(raw, frozenset())]
        flat = look.Question(dict(pairs), sequence, 100.0, {}, self.query.text)
        features = look.compute_features(pool, flat, expansion)
        weights = {
            t: w * loader.idf(max(1, len(pool)), sum(1 for f in features if t in f.places))
            for t, w in pairs
        }
        pool = [c for c, f in zip(pool, features) if f.places]
        mean = sum(f.length for f in features) / max(1, len(features)) or 1.0
        question = flat._replace(weights=weights, mean=mean)
        features = look.compute_features(pool, question, expansion)
        return self._rank(pool, features, question, False, {})

    # ---- filters

    def _passes(self, shelf: Shelf, candidate: look.Candidate) -> bool:
        if not passes_filters(self.query, candidate.record):
            return False
        return not self._is_of_other_time(shelf, candidate)

    def _is_of_other_time(self, shelf: Shelf, candidate: look.Candidate | None) -> bool:
        """Tell whether a candidate's turn or session is not of the query's time."""
        if candidate is None or is_within(self.query, candidate.record):
            return False
        if not passes_filters(self.query, candidate.record):
            return False
        record = candidate.record
        turns = self._list_turns_of_time(shelf, record)
        if candidate.turn and self.query.text:
            return candidate.turn not in [turn.number for turn in turns]
        began_before = record.began < (self.query.since or 0.0)
        return began_before and not turns and self._find_talk(shelf, record) is not None

    def _find_talk(self, shelf: Shelf, record: Record) -> Record | None:
        """Return the conversation of a record's session (maybe itself), or None."""
        if record.kind == "conversation" or shelf.is_distant:
            return record if record.kind == "conversation" else None
        return shelf.conversation(fence.field(record, "session"))

    def _list_turns_of_time(self, shelf: Shelf, record: Record) -> Sequence[hit.Turn]:
        """Return the turns of the query's time in a record's session."""
        talk, since, until = self._find_talk(shelf, record), self.query.since, self.query.until
        key = (talk.name if talk else "", talk.checksum if talk else "", since, until)
        if key not in self._turns:
            self._turns[key] = hit.find_turns_of_time(talk, since, until) if talk else []
        return self._turns[key]

    def _is_filtered(self) -> bool:
        return self.query.sieve != Sieve() or self._needs_files()

    def _needs_files(self) -> bool:
        q = self.query
        return any((q.type, q.tags, q.topics, q.file, q.branch, q.session, q.versions))

    # ---- the answer

    def _add_quotes(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return hits with quotes; a checkpoint stands for its session's turns."""
        if self.searcher.bare:
            return hits
        if self._question is None:
            return [
                each._replace(quotes=self._quote_time(each) or quotes.quote_first_line(each.record))
                for each in hits
            ]
        quoted, answer = quotes.add_quotes(
            self._question.text,
            [self._show_checkpoint(each) for each in hits],
            self._pooled,
            self._list_checkpoints,
            self.searcher.expansion,
            near=self._similarities,
            query=self.query,
        )
        # what vectors found shares a meaning and maybe no word
        is_held = any(self._similarities.values()) or any(
            self._is_named(each, answer) for each in hits
        )
        self.weak = bool(hits) and not answer.is_answered and not is_held
        if self.weak:
            self.notes.append(hit.HARDLY)
        return quoted

    def _is_named(self, found: Hit, answer: windows.Answer) -> bool:
        """Tell whether a query names a hit's id or branch, or only its head's words."""
        text = self.query.text
        if "id" in dict(found.parts) or names_branch(text, found.record.meta.get("branch")):
            return True
        head = documents.format_weighted_head(found.record, "") + found.section
        return answer.rarity.keys() <= set(tokeniser.index_terms(head))

    def _quote_time(self, found: Hit) -> tuple[hit.Quote, ...]:
        """Quote the last turn in the query's time; () if the whole session is."""
        shelf = self._find_shelf(found)
        if shelf is None or is_within(self.query, found.record):
            return ()
        talk = self._find_talk(shelf, found.record)
        turns = self._list_turns_of_time(shelf, found.record)
        return quotes.quote_turn(talk, turns[-1]) if talk and turns else ()

    def _show_checkpoint(self, found: Hit) -> Hit:
        """Return a turn's hit as its session's checkpoint, other hits unchanged."""
        shelf = self._find_shelf(found)
        if found.talk is None or shelf is None:
            return found
        turn = hit.split_turns(found.talk)[found.turn - 1]
        return alongside.replace_by_checkpoint(
            found._replace(turn_text=turn.text.strip()), turn.at, shelf, self.query
        )

    def _list_checkpoints(self, found: Hit) -> list[Record]:
        shelf, session = self._find_shelf(found), fence.field(found.record, "session")
        if shelf is None or shelf.is_distant or not session:
            return []
        if found.kind not in DATED_KINDS or found.source != "auto":
            return []
        return [
            record
            for record in shelf.checkpoints(session)
            if passes_filters(self.query, record) and is_within(self.query, record)
        ]

    def _find_shelf(self, found: Hit) -> Shelf | None:
        return next((shelf for shelf in self.shelves if shelf.place.key == found.workspace), None)

    def _make_result(self, hits: list[Hit], gaps: tuple[str, ...]) -> RecallResult:
        shown = self.searcher.add_display_fields(self._add_quotes(hits[: self.limit]), self.now)
        if not hits:
            self.notes.append("nothing found")
        asked = self._question.text if self._question else self.query.text
        backend = "lexical"
        if not all(shelf.on_disk or shelf.is_foreign for shelf in self.shelves):
            backend += ", from the files"
        if any(shelf.is_distant for shelf in self.shelves):
            backend += " + postgres"
        if any(name == "vector" for each in shown for name, _ in each.parts):
            backend += " + vectors (%s)" % getattr(self.searcher.semantic, "label", "")
        return RecallResult(
            shown,
            tuple(self.notes),
            backend,
            left_out=max(0, len(hits) - self.limit) + self.unread,
            stale=any(shelf.is_stale for shelf in self.shelves),
            known_gaps=gaps,
            context=self.context,
            rescan=any(shelf.rescan for shelf in self.shelves),
            corrected=asked if asked != self.query.text else "",
        )
