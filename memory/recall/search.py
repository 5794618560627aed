"""Recall: from a query to hits.  Candidates come from the index, what is shown is read from the
files at that moment.

A query without text lists the newest first.  Time words in the text filter (timewords.py); where
they leave nothing, the search is repeated without them and says so.  Words that no record holds are
looked for as misspellings (fuzzy.py).
"""

from __future__ import annotations

import struct
from typing import (
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from memory.core import IndexFault, UsageError, approvals, tokeniser
from memory.core.config import Config
from memory.core.layout import DATED, FOLDERS, GLOBAL, Place
from memory.core.matches import Expansion
from memory.core.records import Record
from memory.hook import context, loader, segment
from memory.hook.context import Tag
from memory.index.backend import Unreachable
from memory.project import manifests
from memory.recall import alongside, hit, look, quotes, rank, timewords
from memory.recall.hit import Found, Hit
from memory.recall.lookup import LOCAL_ALONE, places_and_database
from memory.recall.question import MOST_LIMIT, MOST_TERMS, Query, Terms, interpret, passes
from memory.recall.semantic import FILTERED, NEAR, Semantic, fallback_note
from memory.recall.shelf import Shelf
from memory.store import ledger

LIMIT = 10  # hits, where a query does not say
SECTIONS = 4  # of one record that get a second look
CANDIDATES = 64  # records that get a second look
TALK_CANDIDATES = 200  # of short notes of sessions, which are cheap to read
FILTERED_READS = 3000  # files that filters on the text of records may read
NOISE = 0.02  # share of the best score below which a hit is chance: one common word of many
WEAK = 0.3  # share of the query's weight; where no hit holds so much, all are weak
SCANNED = 2000  # newest records that a query of stop words alone is looked for in
TURNS = 30  # nearest turns of conversations that are read for what hits show
_CONVERSATION = segment.KINDS.index("conversation")
_TALKS = "/" + FOLDERS["conversation"] + "/"


def recall(
    place: Place,
    settings: Config,
    query: Query,
    now: float,
    offset: float,
    places: Optional[Sequence[Place]] = None,
    semantic: Optional[Semantic] = None,
    links: bool = False,
    dsn: str = "",
) -> Found:
    """Return the answer to a query.

    offset: seconds that local time is ahead of UTC. places:
        workspaces to search instead of the query's. semantic: provider of vectors. links: add
        linked records and later outcomes (alongside.py). dsn: another database to ask. Raises
        UsageError for an unknown workspace or kind.
    """
    with Searcher(place, settings, semantic, dsn=dsn) as searcher:
        return searcher.answer(query, now, offset, places, links)


class Searcher:
    """Answers queries and keeps their shelves open; a context manager."""

    def __init__(
        self,
        place: Place,
        settings: Config,
        semantic: Optional[Semantic] = None,
        bare: bool = False,
        dsn: str = "",
        fuzzy: bool = True,
    ):
        """Open a searcher.

        bare: return hits with order and score only, nothing for display. dsn: see `recall`.
        fuzzy: search for misspelt words too.
        """
        self.place, self.settings, self.semantic = place, settings, semantic
        self.bare, self.dsn, self.fuzzy = bare, dsn, fuzzy
        self.shelves: Dict[str, Shelf] = {}
        self.expansion = Expansion()
        self._around: Optional[Tuple[Tag, ...]] = None
        self._decided: Optional[Dict[approvals.Approval, str]] = None

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        for shelf in self.shelves.values():
            shelf.close()

    def answer(
        self,
        query: Query,
        now: float,
        offset: float,
        places: Optional[Sequence[Place]] = None,
        links: bool = False,
    ) -> Found:
        """Return the answer to one query; see `recall`."""
        for kind in query.kinds:
            if kind not in FOLDERS:
                raise UsageError("no kind '%s'; use one of %s" % (kind[:40], ", ".join(FOLDERS)))
        notes: List[str] = []
        places, distant = (
            (places, [])
            if places
            else places_and_database(self.place, self.settings, query.workspace, self.dsn, notes)
        )
        shelves = [*(self._shelf(p, now) for p in places), *distant]
        try:
            return self._answered(shelves, query, now, offset, links, notes)
        except Unreachable as fault:
            if not places:
                raise
            return self._answered(
                shelves[: len(places)], query, now, offset, links, [LOCAL_ALONE % fault]
            )

    def _answered(
        self,
        shelves: List[Shelf],
        query: Query,
        now: float,
        offset: float,
        links: bool,
        notes: List[str],
    ) -> Found:
        try:
            found = _Task(self, shelves, query, now, offset, notes).run(links)
            # An edit that no folder's time gives away may hold just what was asked for.
            more = [shelf.finish(now) for shelf in shelves] if not found.hits else []
            if any(more):
                found = _Task(self, shelves, query, now, offset, notes).run(links)
            return found
        except (IndexFault, struct.error, ValueError, IndexError, OverflowError) as fault:
            # A flipped bit can pass every check of the reader and surface as any of these.
            if not any(shelf.on_disk and not shelf.is_distant for shelf in shelves):
                raise
            for shelf in (each for each in shelves if not each.is_distant):
                shelf.from_files(
                    now,
                    "the index is damaged (%s)"
                    % (str(fault).partition(";")[0] or type(fault).__name__),
                )
            return _Task(self, shelves, query, now, offset, notes).run(links)

    def context(self, query: Query) -> Tuple[Tag, ...]:
        """Return the context tags of a query, then those of the place.

        Each label once.
        """
        if self._around is None:
            self._around = manifests.project_tags(self.place)
        return context.merge_tags(query.context_tags, () if query.context_alone else self._around)

    def shown(self, hits: Sequence[Hit], now: float) -> Tuple[Hit, ...]:
        """Return hits with age, group and claims added for display."""
        if self.bare:
            return tuple(hits)
        if self._decided is None:
            self._decided = approvals.decisions(self.place.home)
        return tuple(hit.for_display(hits, self.place, self._decided, now))

    def _shelf(self, place: Place, now: float) -> Shelf:
        key = place.key + "/" + place.scope
        if key not in self.shelves:
            self.shelves[key] = Shelf(place, now)
        return self.shelves[key]


class _Near(NamedTuple):
    """A section that vectors found near a query."""

    similarity: float
    path: str
    name: str
    ordinal: int
    shelf: Shelf

    def read(self, number: int) -> Optional[look.Candidate]:
        """Return the section, None where its record is gone.

        number: tells it from other candidates.
        """
        return self.shelf.section(self.name, self.ordinal, number)


def _best_places(
    scores: Sequence[float], pool: Sequence[look.Candidate]
) -> Iterable[Tuple[float, int]]:
    """Return the best score above 0 of each file, with its place in the pool."""
    best: Dict[str, Tuple[float, int]] = {}
    for i, (score, candidate) in enumerate(zip(scores, pool)):
        if score > best.get(candidate.path, (0.0, 0))[0]:
            best[candidate.path] = (score, i)
    return best.values()


class _Task:
    """One query on its way through the workspaces."""

    def __init__(
        self,
        searcher: Searcher,
        shelves: Sequence[Shelf],
        query: Query,
        now: float,
        offset: float,
        notes: List[str],
    ):
        self.searcher, self.shelves, self.query = searcher, shelves, query
        self.now, self.offset = now, offset
        self.limit = min(query.limit or LIMIT, MOST_LIMIT)
        self.notes: List[str] = list(notes)
        self.latest, self.about = False, timewords.OPEN
        self.context = searcher.context(query) if query.text else ()
        self.weak = False
        # cosine with the query, of what is near enough, by its file
        self.similar: Dict[str, float] = {}
        self._meanings: Dict[Tuple[str, int], float] = {}  # by id and turn, from 0 to 1
        self._question: Optional[look.Question] = None
        self._pooled: Sequence[look.Candidate] = ()
        # matches that were not even read: of a listing, where they are only counted
        self.unread = 0

    def run(self, links: bool) -> Found:
        for shelf in self.shelves:
            self._note(shelf.notes)
        asked = self.query
        self.query, timed, self.latest, self.about = interpret(asked, self.now, self.offset)
        hits, gaps = self._hits()
        if not hits:
            hits = self._instead(asked, timed)
        found = self._found(hits, gaps)
        # What the text itself says of time is said of the hits alone; what it says of kinds holds
        # for all.
        beside: List[Hit] = []
        plan: List[Hit] = []
        if links:
            of_kind = asked._replace(kinds=self.query.kinds)
            beside = alongside.linked_hits(found.hits, self.shelves, of_kind)
            plan = self._plan([*found.hits, *beside])
        is_free = bool(asked.text and hits and not self.query.kinds)
        return found._replace(
            linked=self.searcher.shown(beside, self.now),
            raw=is_free and all(each.kind in DATED for each in hits),
            weak=self.weak,
            plan=next(iter(self.searcher.shown(plan, self.now)), None),
        )

    def _note(self, notes: Iterable[str]) -> None:
        self.notes += [note for note in notes if note not in self.notes]

    def _instead(self, asked: Query, timed: bool) -> List[Hit]:
        """Return hits for a query without any, or note the reason."""
        if timed and self.query.text:
            return self._at_any_time(asked)
        if asked.text and self._is_filtered():
            self._note_unfiltered(asked)
        return []

    def _at_any_time(self, asked: Query) -> List[Hit]:
        """Return the hits without the time that the text of a query names."""
        self.query = asked
        hits, _ = self._hits()
        if hits:
            self.notes.append(
                "nothing from the time that the query names; showing hits from any time"
            )
        return hits

    def _note_unfiltered(self, asked: Query) -> None:
        """Note how many hits a query has without its filters."""
        self.query = Query(asked.text, workspace=asked.workspace)
        there = len(self._hits()[0])
        self.query = asked
        if there:
            self.notes.append(
                "nothing fits the filters; without them there %s"
                % ("is 1 hit" if there == 1 else "are %d hits" % there)
            )

    def _plan(self, there: Sequence[Hit]) -> List[Hit]:
        """Return the present workspace's active plan unless already a hit."""
        shelf = self.shelves[0]
        found = (
            alongside.active_plan(shelf)
            if not shelf.is_distant and shelf.place.key == self.searcher.place.key
            else None
        )
        path = shelf.place.path(found.name) if found else ""
        return (
            []
            if found is None or any(each.path == path for each in there)
            else [hit.from_record(found, shelf.place.key, path)]
        )

    def _hits(self) -> Tuple[List[Hit], Tuple[str, ...]]:
        if not any(raw.strip("-./_") for raw in tokeniser.split(self.query.text)):
            if self.query.text.strip():
                self.notes.append("the query has no word to search for")
                return [], ()
            return self._newest(), ()
        if not any(tokeniser.expand(raw) for raw in tokeniser.split(self.query.text)):
            return self._scanned(), ()
        terms = Terms(
            self.query.text,
            self.shelves,
            self.searcher.fuzzy,
        )
        self._note(terms.notes)
        pool = [c for shelf in self.shelves for c in self._pool(shelf, terms, CANDIDATES)]
        question = terms.question()
        expansion = self.searcher.expansion
        terms.read(pool, expansion)
        found = look.looks(pool, question, expansion)
        # Learnings name the session that they came from too, but are no turns of it; a conversation
        # is ranked by its turns.
        kinds = [c.record.kind for c in pool]
        talk = (
            rank.is_talk(pool, found)
            and 2 * kinds.count("checkpoint") > len(pool)
            and "conversation" not in kinds
        )
        if talk:
            pool = [c for shelf in self.shelves for c in self._pool(shelf, terms, TALK_CANDIDATES)]
            pool = self._with_neighbours(pool)
            question = terms.without(rank.authors(pool, question))
            found = look.looks(pool, question, expansion)
            near: Dict[str, float] = {}
        else:
            pool += [
                c
                for shelf in self.shelves
                for c in alongside.checkpoints_of_turns(shelf, pool, self.query)
            ]
            near = self._near(pool)
            found = found + look.looks(pool[len(found) :], question, expansion)
        return self._ranked(pool, found, question, talk, near), terms.gaps()

    def _ranked(
        self,
        pool: Sequence[look.Candidate],
        found: Sequence[look.Look],
        question: look.Question,
        talk: bool,
        near: Mapping[str, float],
    ) -> List[Hit]:
        relevance = rank.relevances(pool, found, question, talk)
        if near:
            relevance = rank.fuse_vectors(relevance, [near.get(c.path, 0.0) for c in pool])
        scored = rank.adjust_scores(pool, relevance, self._signals(pool))
        hits = []
        whole, most = sum(question.weights.values()), 0.0
        for score, i in _best_places([score for score, _ in scored], pool):
            c = pool[i]
            most = max(
                most,
                sum(question.weights[term] for term in found[i].places),
                whole * (c.path in self.similar),
            )
            hits.append(
                hit.from_record(c.record, c.workspace, c.path, c.origin)._replace(
                    score=score,
                    parts=scored[i][1],
                    why=rank.explain_match(found[i], question, self.similar.get(c.path)),
                    section=c.section,
                    turn=c.turn,
                    told=c.record if c.turn else None,
                )
            )
        self._question, self._pooled = question, pool
        hits = rank.sort_hits(
            hits
            if talk or self.query.session
            else rank.merge_sessions(hits, {c.path: c.among for c in pool})
        )
        self.weak = bool(hits) and most < WEAK * whole
        least = (
            self.query.min_score
            if self.query.min_score is not None
            else NOISE * (hits[0].score if hits else 0.0)
        )
        return [each for each in hits if each.score >= least]

    def _signals(self, pool: Sequence[look.Candidate]) -> rank.Signals:
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
            self.searcher.place.key if len({c.workspace for c in pool}) > 1 else "",
            words,
            self.latest,
            self.about,
        )

    # ---- candidates

    def _pool(self, shelf: Shelf, terms: Terms, most: int) -> List[look.Candidate]:
        """Return the best candidates of a workspace that pass the filters."""
        most = max(most, 2 * self.limit)
        every, sieve = 2 * shelf.backend.documents, self.query.sieve
        if self._is_filtered():
            # Uncapped: what the filters leave may stand behind thousands of better documents.
            return self._taken(
                shelf, shelf.backend.search(terms.pairs(), every, every * MOST_TERMS, sieve), most
            )
        wanted, cap = most + shelf.slack, loader.CAP
        while True:
            numbers = shelf.backend.search(terms.pairs(), wanted, cap, sieve)
            taken = self._taken(shelf, numbers, most)
            if shelf.is_distant or len(numbers) < wanted or len({c.path for c in taken}) >= most:
                return taken
            # Sections of long records took the places of others: the search goes on behind them.
            wanted, cap = 4 * wanted, every * MOST_TERMS

    def _taken(
        self, shelf: Shelf, numbers: Sequence[int], most: int, beneath: bool = True
    ) -> List[look.Candidate]:
        """Return candidates until `most` records pass the filters."""
        found: List[look.Candidate] = []
        sections: Dict[str, int] = {}
        passed: Set[str] = set()
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
            if sections[name] > SECTIONS or self._is_elsewhere(shelf, name):
                continue
            reads += 1
            candidate = shelf.candidate(number)
            if (
                candidate
                and passes(self.query, candidate.record)
                and (
                    beneath or not alongside.session_checkpoint(shelf, candidate.record, self.query)
                )
            ):
                found.append(candidate)
                passed.add(name)
        return found

    def _is_elsewhere(self, shelf: Shelf, name: str) -> bool:
        """Tell whether another workspace's search already finds a global record."""
        return name[0] == GLOBAL and shelf is not self.shelves[0]

    def _near(self, pool: List[look.Candidate]) -> Dict[str, float]:
        """Add the records nearest by vectors; return similarity by file.

        Returns similarity by file, from 0 to 1; {} without vectors. Not used for notes of
        conversations: there vectors cost MRR (evals/README.md) and neighbours help more.
        """
        semantic = self.searcher.semantic
        if semantic is None:
            if self.query.semantic:
                self.notes.append(fallback_note("no semantic search here"))
            return {}
        if not semantic.is_wanted(self.query.semantic):
            return {}
        nearest = self._nearest(semantic)
        best = {row.path: row for row in reversed(nearest)}
        order = sorted(best.values(), key=lambda row: (-row.similarity, row.path))
        if not order:
            return {}
        self.similar = {
            row.path: row.similarity for row in order if row.similarity >= semantic.floor
        }
        self._add_similar(pool, order[: len(self.similar)])
        order = order[:NEAR]
        low, high = order[-1].similarity, order[0].similarity

        def scaled(similarity: float) -> float:
            return max(0.0, (similarity - low) / (high - low)) if high > low else 1.0

        near = {row.path: scaled(row.similarity) for row in order}
        self._meanings = {(c.record.id, 0): near.get(c.path, 0.0) for c in pool if not c.turn}
        similar = [row for row in nearest if row.similarity >= semantic.floor]
        for similarity, candidate in self._turns(similar, pool):
            key = (candidate.record.id, candidate.turn)
            self._meanings[key] = max(self._meanings.get(key, 0.0), scaled(similarity))
        return near

    def _add_similar(self, pool: List[look.Candidate], rows: Sequence[_Near]) -> None:
        """Add the records of rows to the candidates, the nearest first."""
        there = {c.path for c in pool}
        most = len(there) + max(CANDIDATES, 2 * self.limit)
        for i, row in enumerate(rows):
            candidate = row.read(-1 - i) if row.path not in there and len(there) < most else None
            if candidate and passes(self.query, candidate.record):
                pool.append(candidate)
                there.add(row.path)

    def _nearest(self, semantic: Semantic) -> List[_Near]:
        """Return the sections nearest to the query, best first."""
        vector = semantic.vector(self.searcher.place, self.query.text, self.now, self.notes)
        limit = FILTERED if self._is_filtered() else NEAR
        found = [
            _Near(similarity, shelf.path(name), name, ordinal, shelf)
            for shelf in (self.shelves if vector is not None else ())
            for name, ordinal, similarity in semantic.near(shelf, vector, limit, self.notes)
            if shelf.is_distant or not self._is_elsewhere(shelf, name)
        ]
        return sorted(found, key=lambda row: (-row.similarity, row.path, row.ordinal))

    def _turns(
        self, nearest: Sequence[_Near], pool: List[look.Candidate]
    ) -> Iterator[Tuple[float, look.Candidate]]:
        """Yield the nearest turns with their similarity, adding new ones to the pool."""
        known = {(c.path, c.text) for c in pool}
        turns = [row for row in nearest if _TALKS in row.name]
        for i, row in enumerate(turns[:TURNS]):
            candidate = row.read(-1 - NEAR - i)
            if candidate and passes(self.query, candidate.record):
                yield row.similarity, candidate
                if (candidate.path, candidate.text) not in known:
                    pool.append(candidate)

    def _with_neighbours(self, pool: List[look.Candidate]) -> List[look.Candidate]:
        """Add the notes beside a pool's best candidates; return the pool."""
        have = {(c.workspace, c.number) for c in pool}
        shelves = {shelf.place.key: shelf for shelf in self.shelves}
        for candidate in pool[:CANDIDATES]:
            shelf = shelves.get(candidate.workspace)
            for number in (candidate.number - 1, candidate.number + 1):
                if (
                    shelf is None
                    or (candidate.workspace, number) in have
                    or not 0 <= number < shelf.size
                ):
                    continue
                have.add((candidate.workspace, number))
                other = shelf.candidate(number)
                if (
                    other
                    and other.record.meta.get("session") == candidate.record.meta.get("session")
                    and passes(self.query, other.record)
                ):
                    pool.append(other)
        return pool

    def _newest(self) -> List[Hit]:
        """Return the records that pass the filters, newest first."""
        pool: List[look.Candidate] = []
        for shelf in self.shelves:
            numbers = shelf.backend.newest(self.query.sieve)
            apart = bool(self.query.kinds or self.query.session)
            taken = self._taken(shelf, numbers, self.limit, apart)
            pool += taken
            if len(taken) == self.limit and not self._needs_files():
                self.unread += (
                    sum(apart or shelf.backend.kind(n) != _CONVERSATION for n in numbers)
                    - self.limit
                )
        pool.sort(key=lambda c: (-c.record.created, c.record.id, c.record.name))
        hits = []
        for c in pool:
            score = rank.recency(self.now, c.record.created)
            if self.query.min_score is None or score >= self.query.min_score:
                hits.append(
                    hit.from_record(c.record, c.workspace, c.path, c.origin)._replace(
                        score=score, parts=(("recency", score),), why=hit.NEWEST
                    )
                )
        return hits

    def _scanned(self) -> List[Hit]:
        """Return hits for stop words from the newest records' texts."""
        expansion = Expansion(frozenset())
        pool: List[look.Candidate] = []
        for shelf in self.shelves:
            pool += self._taken(shelf, shelf.backend.newest(self.query.sieve)[:SCANNED], SCANNED)
        self.notes.append("only common words: looked through the %d newest records" % len(pool))
        pairs = tokeniser.terms(self.query.text)
        sequence = [
            t
            for raw in tokeniser.split(self.query.text)
            for t, _ in tokeniser.expand(raw, frozenset())
        ]
        flat = look.Question(dict(pairs), sequence, 100.0, {}, self.query.text)
        seen = look.looks(pool, flat, expansion)
        weights = {
            t: w * loader.idf(max(1, len(pool)), sum(1 for k in seen if t in k.places))
            for t, w in pairs
        }
        pool = [c for c, k in zip(pool, seen) if k.places]
        mean = sum(k.length for k in seen) / max(1, len(seen)) or 1.0
        question = look.Question(weights, sequence, mean, {}, self.query.text)
        return self._ranked(pool, look.looks(pool, question, expansion), question, False, {})

    # ---- filters

    def _is_filtered(self) -> bool:
        q = self.query
        return bool(q.since is not None or q.until is not None or q.kinds) or self._needs_files()

    def _needs_files(self) -> bool:
        """Tell whether a filter needs the records' files, beyond the index."""
        q = self.query
        return bool(q.type or q.tags or q.topics or q.file or q.branch or q.session or q.versions)

    # ---- the answer

    def _with_quotes(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return hits with quotes, turns under their session's checkpoint."""
        if self.searcher.bare:
            return hits
        if self._question is None:
            return [each._replace(quotes=quotes.first_line_quote(each.record)) for each in hits]
        told = [self._under(each) for each in hits]
        return quotes.add_quotes(
            self.query.text,
            told,
            self._pooled,
            self._checkpoints,
            self.searcher.expansion,
            self._meanings,
        )

    def _under(self, found: Hit) -> Hit:
        shelf = self._shelf_of(found)
        if found.told is None or shelf is None:
            return found
        turn = hit.turns(found.told)[found.turn - 1]
        return alongside.replace_by_checkpoint(
            found._replace(said=turn.text.strip()), turn.at, shelf, self.query
        )

    def _checkpoints(self, found: Hit) -> List[Record]:
        """Return the checkpoints of a hit's session."""
        shelf, session = self._shelf_of(found), found.record.meta.get("session")
        if (
            shelf is None
            or shelf.is_distant
            or found.kind not in DATED
            or found.source != "auto"
            or not isinstance(session, str)
        ):
            return []
        return [record for record in shelf.checkpoints(session) if passes(self.query, record)]

    def _shelf_of(self, found: Hit) -> Optional[Shelf]:
        return next((shelf for shelf in self.shelves if shelf.place.key == found.workspace), None)

    def _found(self, hits: List[Hit], gaps: Tuple[str, ...]) -> Found:
        shown = self.searcher.shown(self._with_quotes(hits[: self.limit]), self.now)
        if not hits:
            self.notes.append("nothing found")
        backend = (
            "lexical"
            if all(shelf.on_disk or shelf.is_foreign for shelf in self.shelves)
            else "lexical, from the files"
        )
        if any(shelf.is_distant for shelf in self.shelves):
            backend += " + postgres"
        if any(name == "vector" for each in shown for name, _ in each.parts):
            backend += " + vectors (%s)" % (
                self.searcher.semantic.label if self.searcher.semantic else ""
            )
        return Found(
            shown,
            tuple(self.notes),
            backend,
            max(0, len(hits) - self.limit) + self.unread,
            any(shelf.is_stale for shelf in self.shelves),
            gaps,
            context=self.context,
            rescan=any(shelf.rescan for shelf in self.shelves),
        )
