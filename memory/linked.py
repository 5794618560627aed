"""What hits are linked with: one step along the links of what recall shows, in both directions.

A learning or a rule brings its scripts, its docs, the scripts that prove it, and the learnings, plans and resources that it is
related to; any hit brings the active plan that it is linked with.  These come beside the hits and take no place of theirs: at
most MOST, scripts and docs before what is merely related, in each the links of the better hit first.  Names are looked up in
the index and compared with the file; what a link may not mean by its ends is not followed.
"""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from memory import archive, entry, links
from memory.paths import GLOBAL
from memory.question import Query, passes
from memory.rank import Hit
from memory.records import Link, Record
from memory.shelf import Shelf

MOST = 5  # records that come beside the hits
HITS = 50  # whose links are followed
OUT, INTO = 50, 20  # links of a hit, and records that link to it, that are read
RELATIONS = ("has_script", "proved_by", "has_doc", "related_to")  # as seen from the hit, those that say most first
ENDS = ("script", "doc", "plan", "learning")


class Lead(NamedTuple):
    """A way from a hit to a record: its place in the order, the hit, the relation as seen from it, where it leads."""

    order: int
    hit: Hit
    relation: str
    shelf: Shelf
    to: Record


def beside(hits: Sequence[Hit], shelves: Sequence[Shelf], query: Query) -> List[Hit]:
    """Return what hits are linked with, without what is among them.

    hits: best first.  shelves: the workspaces that were searched.  query: whose filters hold for what is linked too.
    """
    seen = {hit.path for hit in hits}
    leads = [lead for hit in hits[:HITS] for lead in _leads(hit, _home(hit, shelves))]
    found: List[Hit] = []
    for lead in sorted(leads, key=lambda lead: lead.order):
        path = lead.shelf.place.path(lead.to.name)
        if len(found) == MOST:
            break
        if path in seen or not passes(query, lead.to):
            continue
        seen.add(path)
        workspace = "global" if lead.to.tier == GLOBAL else lead.shelf.place.key
        found.append(Hit(lead.to, 0.0, (), "linked from %s (%s)" % (lead.hit.record.id, lead.relation), "", lead.to.tokens,
                         workspace=workspace, path=path, linked_from=lead.hit.record.id, relation=lead.relation))
    return found


def _home(hit: Hit, shelves: Sequence[Shelf]) -> Shelf:
    """Return the shelf that a hit came from; that of the global tier is the first."""
    return next((shelf for shelf in shelves if shelf.place.key == hit.workspace), shelves[0])


def _leads(hit: Hit, shelf: Shelf) -> Iterator[Lead]:
    """Yield where the links from and to a hit lead, as far as recall follows them."""
    for link in hit.record.links[:OUT]:
        to = resolved(shelf, link.target)
        if to is not None and not links.wrong_ends(link.relation, hit.record.end, to.end):
            yield from _followed(hit, link.relation, shelf, to)
    for link, source in inward(shelf, hit.record):
        if not links.wrong_ends(link.relation, source.end, hit.record.end):
            yield from _followed(hit, links.inverse(link.relation), shelf, source)


def _followed(hit: Hit, relation: str, shelf: Shelf, to: Record) -> Iterator[Lead]:
    if to.name == hit.record.name:
        return
    if to.active:
        yield Lead(RELATIONS.index(relation) if relation in RELATIONS else len(RELATIONS), hit, relation, shelf, to)
    elif hit.record.kind in ("learning", "rule") and relation in RELATIONS and to.end in ENDS:
        yield Lead(RELATIONS.index(relation), hit, relation, shelf, to)


def inward(shelf: Shelf, record: Record) -> List[Tuple[Link, Record]]:
    """Return the links that lead to a record, each with the record that holds it: of INTO of these at most."""
    return [(link, source) for source in _held(shelf, entry.link_terms(entry.called(record.id, record.name, record.title)))
            if source.name != record.name for link in source.links if _means(shelf, link.target, record)]


def resolved(shelf: Shelf, target: str) -> Optional[Record]:
    """Return the record that a link's target means, as its file is now, of a merged one the one that stands for it, or None."""
    number = shelf.index.by_id(target)
    record = shelf.record(number.name) if number is not None else None
    if record is not None and record.id == target and len(shelf.index.holding("\x01" + target)) == 1:
        return record
    there = {r.name: r for r in _held(shelf, entry.name_terms(entry.aimed(target)))}
    found = links.meant(target, map(links.node, there.values()))
    if found:
        return there[found[0].name]
    kept = archive.merged(shelf.place).get(target)
    return resolved(shelf, kept) if kept else None


def _held(shelf: Shelf, terms: Sequence[str]) -> List[Record]:
    """Read the records under some terms of the index: resources first, then the newest, at most INTO."""
    docs = {doc.name: doc for term in terms for doc in map(shelf.index.doc, shelf.index.holding(term))}
    order = sorted(docs.values(), key=lambda doc: (doc.kind != "resource", -doc.created, doc.name))
    read = (shelf.record(doc.name) for doc in order[:INTO])
    return [record for record in read if record is not None]


def _means(shelf: Shelf, target: str, record: Record) -> bool:
    if not links.closeness(target, record.name, record.id, record.title):
        return False
    found = resolved(shelf, target)
    return found is not None and found.name == record.name
