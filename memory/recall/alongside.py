"""Records linked with the hits, and the checkpoints of the conversations found.

Links of hits are followed one step, in both directions.  A learning or a rule brings its scripts,
its docs, the scripts that prove it, and related learnings, plans and resources; any hit brings a
linked active plan.  They come beside the hits: at most MOST, scripts and docs before related
records, links of the better hit first.  Names are looked up in the index and compared with the
file; a link between the wrong kinds of records is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.core.records import Link, Record
from memory.hook import documents, fence, segment
from memory.recall import relations
from memory.recall.hit import Hit, from_record
from memory.recall.look import Candidate
from memory.recall.question import Query, passes_filters
from memory.recall.shelf import Shelf
from memory.store import archive

LONE, MATES = 4, 4  # sessions of turns alone that get checkpoints, and how many of each
MOST = 5  # records that come beside the hits
HITS = 50  # hits of which links are followed
OUT, INTO = 50, 20  # links of a hit, and records that link to it, that are read
# as seen from the hit, the most useful first
RELATIONS = ("has_script", "proved_by", "has_doc", "related_to")
ENDS = ("script", "doc", "plan", "learning")
_CHECKPOINT = segment.KINDS.index("checkpoint")


class HitLink(NamedTuple):
    """A link from a hit to a record.

    relation: as seen from the hit. shelf: of the record.
    """

    hit: Hit
    relation: str
    shelf: Shelf
    to: Record


def find_session_checkpoint(
    shelf: Shelf, record: Record, query: Query, at: str = ""
) -> Record | None:
    """Find the checkpoint of a conversation's session, or None.

    The first that ends at or after `at`, else the last, of those that pass the query's filters.
    """
    session = fence.field(record, "session")
    if record.kind != "conversation" or not session:
        return None
    checkpoints = [
        other
        for other in shelf.checkpoints(session)
        if other.source == "auto" and passes_filters(query, other)
    ]
    later = [c for c in checkpoints if at and str(c.meta.get("until") or "") >= at]
    return next(iter(later or checkpoints[-1:]), None)


def _find_lone_sessions(key: str, pool: Sequence[Candidate]) -> list[str]:
    """Return a workspace's sessions that have only turns in the pool."""
    sessions: dict[str, dict[str, None]] = {"checkpoint": {}, "conversation": {}}
    for c in pool:
        if c.workspace == key and c.record.kind in sessions:
            sessions[c.record.kind][str(c.record.meta.get("session"))] = None
    return [one for one in sessions["conversation"] if one not in sessions["checkpoint"]]


def find_checkpoints_of_turns(
    shelf: Shelf, pool: Sequence[Candidate], query: Query
) -> list[Candidate]:
    """Return checkpoints for the sessions that have only turns in the pool.

    A session's score needs both. Of the best LONE sessions, the newest MATES that pass the filters;
    [] for a query for one session.
    """
    if shelf.is_distant or query.session:
        return []
    found: list[Candidate] = []
    for session in _find_lone_sessions(shelf.place.key, pool)[:LONE]:
        numbers = [
            n
            for n in shelf.index.holding(segment.session_term(session))
            if shelf.backend.kind(n) == _CHECKPOINT
        ]
        found += [
            c
            for c in map(shelf.candidate, numbers[-MATES:])
            if c and passes_filters(query, c.record)
        ]
    return found


def replace_by_checkpoint(found: Hit, at: str, shelf: Shelf, query: Query) -> Hit:
    """Return a conversation's hit with its checkpoint as record, if there is one.

    A query for one session keeps the hit. at: start of the found turn.
    """
    record = find_session_checkpoint(shelf, found.record, query, at) if not query.session else None
    if record is None:
        return found
    return from_record(record, found.workspace, shelf.path(record.name))._replace(
        score=found.score,
        parts=found.parts,
        why=found.why,
        conversation=found.id,
        turn=found.turn,
        turn_text=found.turn_text,
        update=found.update,
        talk=found.talk,
    )


def find_linked_hits(hits: Sequence[Hit], shelves: Sequence[Shelf], query: Query) -> list[Hit]:
    """Find records that are linked with hits and pass the query's filters.

    hits: best first, left out themselves. shelves: the searched workspaces.
    """
    seen = {hit.path for hit in hits}
    links = [
        link
        for hit in hits[:HITS]
        if not hit.origin
        for link in _follow_links(hit, _find_shelf(hit, shelves))
    ]
    found: list[Hit] = []
    for link in sorted(links, key=_rank_relation):
        path = link.shelf.path(link.to.name)
        if len(found) == MOST:
            break
        if path in seen or not passes_filters(query, link.to):
            continue
        seen.add(path)
        found.append(
            from_record(link.to, link.shelf.place.key, path)._replace(
                why="linked from %s (%s)" % (link.hit.id, link.relation),
                linked_from=link.hit.id,
                relation=link.relation,
            )
        )
    return found


def find_active_plan(shelf: Shelf) -> Record | None:
    for doc in shelf.index.listed("plans"):
        record = shelf.record(doc.name, doc)
        if record is not None and record.active:
            return record
    return None


def _find_shelf(hit: Hit, shelves: Sequence[Shelf]) -> Shelf:
    """Return a hit's opened workspace, the first for a global record."""
    return next((shelf for shelf in shelves if shelf.place.key == hit.workspace), shelves[0])


def _rank_relation(link: HitLink) -> int:
    return RELATIONS.index(link.relation) if link.relation in RELATIONS else len(RELATIONS)


def _follow_links(hit: Hit, shelf: Shelf) -> Iterator[HitLink]:
    """Yield a hit's links worth showing, in both directions."""
    start = hit.record
    ends: list[tuple[str, Record]] = []
    for link in start.links[:OUT]:
        target = resolve_target(shelf, link.target)
        if target and not relations.find_wrong_ends(link.relation, start.end, target.end):
            ends.append((link.relation, target))
    for link, source in read_incoming_links(shelf, start):
        if not relations.find_wrong_ends(link.relation, source.end, start.end):
            ends.append((relations.find_inverse(link.relation), source))
    for relation, other in ends:
        if other.name != start.name and _is_worth_showing(start, relation, other):
            yield HitLink(hit, relation, shelf, other)


def _is_worth_showing(start: Record, relation: str, other: Record) -> bool:
    if other.active:
        return True
    return start.kind in ("learning", "rule") and relation in RELATIONS and other.end in ENDS


def read_incoming_links(shelf: Shelf, record: Record) -> list[tuple[Link, Record]]:
    """Return (link, linking record) for links to a record from at most INTO others."""
    names = documents.list_record_keys(record.id, record.name, record.title, record.aliases)
    read = _read_records(shelf, documents.build_link_terms(names))
    return [
        (link, source)
        for source in (other for other in read if other.name != record.name)
        for link in source.links
        if _is_target(shelf, link.target, record)
    ]


def resolve_target(shelf: Shelf, target: str) -> Record | None:
    """Find the record named by a link's target, or None.

    A merged record's successor stands for it.
    """
    keys = documents.list_target_keys(target)
    named = {r.name: r for r in _read_records(shelf, documents.build_name_terms(keys))}
    nodes = relations.find_matching_nodes(target, map(relations.make_node, named.values()))
    if nodes:
        return named[nodes[0].name]
    successor = archive.successors_in_place(shelf.place).get(target)
    return resolve_target(shelf, successor) if successor else None


def _read_records(shelf: Shelf, terms: Sequence[str]) -> list[Record]:
    """Read at most INTO records that hold any of the index terms."""
    docs = {
        doc.name: doc
        for term in terms
        for doc in map(shelf.backend.doc, shelf.backend.holding(term))
    }
    order = sorted(docs.values(), key=lambda doc: (doc.kind != "resource", -doc.created, doc.name))
    read = (shelf.record(doc.name, doc) for doc in order[:INTO])
    return [record for record in read if record is not None]


def _is_target(shelf: Shelf, target: str, record: Record) -> bool:
    if not relations.rate_match(target, record.name, record.id, record.title, record.aliases):
        return False
    found = resolve_target(shelf, target)
    return found is not None and found.name == record.name
