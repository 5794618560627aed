"""What stands beside the hits, and which checkpoints a conversation stands under and is ranked
with.

Follow the links of what recall shows one step, in both directions.

A learning or a rule brings its scripts, its docs, the scripts that prove it, and the learnings,
plans and resources that it is related to; any hit brings the active plan that it is linked with.
These come beside the hits and take no place of theirs: at most MOST, scripts and docs before what
is merely related, in each the links of the better hit first.  Names are looked up in the index and
compared with the file; what a link may not mean by its ends is not followed.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from memory.core.records import Link, Record
from memory.hook import documents, segment
from memory.recall import relations
from memory.recall.hit import Hit, from_record
from memory.recall.look import Candidate
from memory.recall.question import Query, passes
from memory.recall.shelf import Shelf
from memory.store import archive

# sessions whose checkpoints are read for the sake of their turns, the best first, and how many of
# each
LONE, MATES = 4, 4
MOST = 5  # records that come beside the hits
HITS = 50  # whose links are followed
OUT, INTO = 50, 20  # links of a hit, and records that link to it, that are read
# as seen from the hit, those that say most first
RELATIONS = ("has_script", "proved_by", "has_doc", "related_to")
ENDS = ("script", "doc", "plan", "learning")
_CHECKPOINT = segment.KINDS.index("checkpoint")


class Lead(NamedTuple):
    """A link from a hit to a record.

    order: its rank among links. hit: the start. relation: as seen from the hit. shelf, to: the
        record's workspace and the record.
    """

    order: int
    hit: Hit
    relation: str
    shelf: Shelf
    to: Record


def session_checkpoint(
    shelf: Shelf, record: Record, query: Query, at: str = ""
) -> Optional[Record]:
    """Return the checkpoint of a conversation's session.

    The first that ends at or after `at`, else the last; None without one. query: its filters hold
    for the checkpoint too.
    """
    session = record.meta.get("session")
    if record.kind != "conversation" or not isinstance(session, str):
        return None
    found = [
        other
        for other in shelf.checkpoints(session)
        if other.source == "auto" and passes(query, other)
    ]
    found = [other for other in found if at and str(other.meta.get("until") or "") >= at] or found[
        -1:
    ]
    return found[0] if found else None


def _lone_sessions(key: str, pool: Sequence[Candidate]) -> List[str]:
    """Return a workspace's sessions with turns and no checkpoint among the candidates."""
    mine = [(str(c.record.meta.get("session")), c.record.kind) for c in pool if c.workspace == key]
    there = {session for session, kind in mine if kind == "checkpoint"}
    talked = dict.fromkeys(session for session, kind in mine if kind == "conversation")
    return [session for session in talked if session not in there]


def checkpoints_of_turns(shelf: Shelf, pool: Sequence[Candidate], query: Query) -> List[Candidate]:
    """Return checkpoints of sessions whose turns alone are candidates.

    A session's score needs both. Of the best LONE sessions, the newest MATES of each. query: its
    filters hold for them too; a query for one session gets them apart.
    """
    if shelf.is_distant or query.session:
        return []
    found: List[Candidate] = []
    for session in _lone_sessions(shelf.place.key, pool)[:LONE]:
        numbers = [
            n
            for n in shelf.index.holding(segment.session_term(session))
            if shelf.backend.kind(n) == _CHECKPOINT
        ]
        found += [
            c for c in map(shelf.candidate, numbers[-MATES:]) if c and passes(query, c.record)
        ]
    return found


def replace_by_checkpoint(found: Hit, at: str, shelf: Shelf, query: Query) -> Hit:
    """Return the hit of a conversation's checkpoint in place of its own.

    Without a checkpoint, or in a query for one session, the hit stays as it is. at: start of the
    turn that was found.
    """
    record = session_checkpoint(shelf, found.record, query, at) if not query.session else None
    if record is None:
        return found
    return from_record(record, found.workspace, shelf.path(record.name))._replace(
        score=found.score,
        parts=found.parts,
        why=found.why,
        conversation=found.id,
        turn=found.turn,
        said=found.said,
        told=found.told,
    )


def linked_hits(hits: Sequence[Hit], shelves: Sequence[Shelf], query: Query) -> List[Hit]:
    """Return the records linked with hits, without the hits themselves.

    hits: best first. shelves: the searched workspaces. query: its filters hold for linked records
        too.
    """
    seen = {hit.path for hit in hits}
    leads = [
        lead
        for hit in hits[:HITS]
        if not hit.origin
        for lead in _links_of_hit(hit, _shelf_of_hit(hit, shelves))
    ]
    found: List[Hit] = []
    for lead in sorted(leads, key=lambda lead: lead.order):
        path = lead.shelf.path(lead.to.name)
        if len(found) == MOST:
            break
        if path in seen or not passes(query, lead.to):
            continue
        seen.add(path)
        found.append(
            from_record(lead.to, lead.shelf.place.key, path)._replace(
                why="linked from %s (%s)" % (lead.hit.id, lead.relation),
                linked_from=lead.hit.id,
                relation=lead.relation,
            )
        )
    return found


def active_plan(shelf: Shelf) -> Optional[Record]:
    """Return a workspace's active plan, read from its file, or None."""
    for doc in shelf.index.listed("plans"):
        record = shelf.record(doc.name)
        if record is not None and record.active:
            return record
    return None


def _shelf_of_hit(hit: Hit, shelves: Sequence[Shelf]) -> Shelf:
    """Return the shelf of a hit; the first serves the global tier."""
    return next((shelf for shelf in shelves if shelf.place.key == hit.workspace), shelves[0])


def _links_of_hit(hit: Hit, shelf: Shelf) -> Iterator[Lead]:
    """Yield a hit's links in both directions."""
    for link in hit.record.links[:OUT]:
        to = resolve_target(shelf, link.target)
        if to is not None and not relations.wrong_ends(link.relation, hit.record.end, to.end):
            yield from _followed(hit, link.relation, shelf, to)
    for link, source in incoming_links(shelf, hit.record):
        if not relations.wrong_ends(link.relation, source.end, hit.record.end):
            yield from _followed(hit, relations.inverse(link.relation), shelf, source)


def _followed(hit: Hit, relation: str, shelf: Shelf, to: Record) -> Iterator[Lead]:
    if to.name == hit.record.name:
        return
    if to.active:
        yield Lead(
            RELATIONS.index(relation) if relation in RELATIONS else len(RELATIONS),
            hit,
            relation,
            shelf,
            to,
        )
    elif hit.record.kind in ("learning", "rule") and relation in RELATIONS and to.end in ENDS:
        yield Lead(RELATIONS.index(relation), hit, relation, shelf, to)


def incoming_links(shelf: Shelf, record: Record) -> List[Tuple[Link, Record]]:
    """Return the links to a record, each with its source record.

    Reads at most INTO records.
    """
    called = documents.record_keys(record.id, record.name, record.title, record.aliases)
    return [
        (link, source)
        for source in _records_with_terms(shelf, documents.link_terms(called))
        if source.name != record.name
        for link in source.links
        if _targets_record(shelf, link.target, record)
    ]


def resolve_target(shelf: Shelf, target: str) -> Optional[Record]:
    """Return the record named by a link's target, or None.

    A merged record's target resolves to its successor.
    """
    number = shelf.backend.by_id(target)
    record = shelf.record(number.name) if number is not None else None
    if (
        record is not None
        and record.id == target
        and len(shelf.backend.holding("\x01" + target)) == 1
    ):
        return record
    there = {
        r.name: r
        for r in _records_with_terms(
            shelf, documents.name_terms(documents.link_target_keys(target))
        )
    }
    found = relations.matching_nodes(target, map(relations.node, there.values()))
    if found:
        return there[found[0].name]
    kept = archive.merged(shelf.place).get(target)
    return resolve_target(shelf, kept) if kept else None


def _records_with_terms(shelf: Shelf, terms: Sequence[str]) -> List[Record]:
    """Return the records under some index terms, at most INTO."""
    docs = {
        doc.name: doc
        for term in terms
        for doc in map(shelf.backend.doc, shelf.backend.holding(term))
    }
    order = sorted(docs.values(), key=lambda doc: (doc.kind != "resource", -doc.created, doc.name))
    read = (shelf.record(doc.name) for doc in order[:INTO])
    return [record for record in read if record is not None]


def _targets_record(shelf: Shelf, target: str, record: Record) -> bool:
    if not relations.closeness(target, record.name, record.id, record.title, record.aliases):
        return False
    found = resolve_target(shelf, target)
    return found is not None and found.name == record.name
