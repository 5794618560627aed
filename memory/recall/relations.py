"""Links between records: which relations there are, what a target may name, and all links of a set
of records resolved.

A link goes from the record that holds it to its target, which is an id, a file (with or without
folders and `.md`) or a title, compared without case.  An id counts before a file, a file before a
title; of several records that are called the same the newest is meant.  Seen from its target a link
has the inverse name of its relation.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from memory.core.layout import slug
from memory.core.records import Record, written_links
from memory.hook import documents
from memory.store import reader, writer

ANY: Tuple[str, ...] = ()
LIKE = 0.6  # of 1: how alike a name must be to be offered for one that leads nowhere
COMPARED = 12  # names that share words with it are compared letter by letter
COMMON = 500  # names that hold a word, beyond which the word tells nothing
SLIP_CHARS = 24  # a longer name is no id, and is found by its words


class Relation(NamedTuple):
    """A kind of link.

    inverse: its name seen from the target. source, target: allowed ends (ANY, or words of
        Record.end).
    """

    inverse: str
    source: Tuple[str, ...]
    target: Tuple[str, ...]


RELATIONS: Mapping[str, Relation] = {
    "has_script": Relation("script_of", ("learning", "rule"), ("script",)),
    "proves": Relation("proved_by", ("script",), ("learning",)),
    "has_doc": Relation("doc_of", ("learning", "rule"), ("doc",)),
    "related_to": Relation("related_to", ANY, ANY),
    "derived_from": Relation("source_of", ANY, ANY),
}


class Node(NamedTuple):
    """A record as an end of links.

    end: its kind, of a resource its type. created: seconds since the epoch.
    """

    name: str
    id: str
    title: str
    end: str
    created: float
    aliases: Tuple[str, ...] = ()


class Edge(NamedTuple):
    """A link of a record with its resolved target.

    to: None for a dead link. also: other records of the same name. target: as written. wrong: fault
        of its relation or ends, or "". away: id of the archived record it leads to, or "".
    """

    source: Node
    relation: str
    target: str
    to: Optional[Node]
    also: Tuple[Node, ...] = ()
    wrong: str = ""
    away: str = ""

    @property
    def dangling(self) -> bool:
        """Whether the link has no target record."""
        return self.to is None


class Web(NamedTuple):
    """Records and the links among them, in a fixed order.

    Sorted by name, links as written. away: from `archived_ids_by_name`.
    """

    nodes: Tuple[Node, ...]
    edges: Tuple[Edge, ...]
    names: Names
    away: Mapping[str, str] = MappingProxyType({})


def inverse(relation: str) -> str:
    """Return a relation's name as seen from its target.

    An unknown relation gets ` of` after its name.
    """
    return RELATIONS[relation].inverse if relation in RELATIONS else relation + " of"


def wrong_ends(relation: str, source: str, target: str) -> str:
    """Return the fault of a link between two kinds of records.

    "" where it is allowed or its relation is unknown. source, target: words of Record.end.
    """
    known = RELATIONS.get(relation)
    if known is None or (
        (not known.source or source in known.source)
        and (not known.target or target in known.target)
    ):
        return ""
    return "%s goes from a %s to a %s, not from a %s to a %s" % (
        relation,
        " or ".join(known.source) or "record",
        " or ".join(known.target) or "record",
        source,
        target,
    )


def node(record: Record) -> Node:
    """Return a record as an end of links."""
    return Node(
        record.name,
        record.id,
        record.title,
        record.end,
        record.created,
        record.aliases,
    )


def closeness(target: str, name: str, id: str, title: str, aliases: Iterable[str] = ()) -> int:
    """Rate how well a link's target names a record, 0 to 4.

    4 by id, 3 by id in another case, 2 by file, 1 by title or alias, 0 no match.
    """
    if target == id:
        return 4
    key, path = documents.link_key(target), documents.link_key(name)
    if key == documents.link_key(id):
        return 3
    if ("/" + path).endswith(("/" + key, "/" + key + ".md")):
        return 2
    return int(key in map(documents.link_key, (title, *aliases)))


def matching_nodes(target: str, nodes: Iterable[Node]) -> List[Node]:
    """Return the records that a link's target may name.

    Only the closest matches, newest first.
    """
    rated = [(closeness(target, one.name, one.id, one.title, one.aliases), one) for one in nodes]
    best = max((how for how, _ in rated), default=0)
    return sorted(
        (one for how, one in rated if how == best > 0), key=lambda one: (-one.created, one.name)
    )


class Names:
    """Records by the names that links use.

    merged: id of a merged record -> id of its successor.
    """

    def __init__(self, nodes: Iterable[Node], merged: Mapping[str, str] = MappingProxyType({})):
        self.merged = merged
        self._nodes: Dict[str, List[Node]] = {}
        self._words: Dict[str, List[str]] = {}
        self._shorter: Dict[str, List[str]] = {}
        for one in nodes:
            for key in documents.record_keys(one.id, one.name, one.title, one.aliases):
                self._nodes.setdefault(key, []).append(one)

    def find(self, target: str) -> List[Node]:
        """Return the records that a target may name, best first."""
        there = {
            one.name: one
            for key in documents.link_target_keys(target)
            for one in self._nodes.get(key, ())
        }
        found = matching_nodes(target, there.values())
        return found if found or target not in self.merged else self.find(self.merged[target])

    def begun(self, text: str) -> List[Node]:
        """Return the records whose id starts with a text."""
        found = {
            one.name: one
            for key, held in self._nodes.items()
            if text and key.startswith(text.lower())
            for one in held
            if one.id.startswith(text)
        }
        return sorted(found.values())

    def nearest(self, target: str, source: Optional[Node] = None) -> Optional[Node]:
        """Return the record most like a dead link's target, or None.

        Compares ids, files and titles. source: the linking record, which is left out.
        """
        if not self._words:
            self._learn()
        key = documents.link_target_keys(target)[-1]
        slips = {
            other
            for short in _deletions(key)
            for other in self._shorter.get(short, ())
            if reader.is_slip(key, other)
        }
        rated = [
            (_name_similarity(key, other), one.created, one)
            for other in slips.union(self._sharing(key))
            for one in self._nodes[other]
            if source is None or one.name != source.name
        ]
        best = max(rated, default=None)
        return best[2] if best and best[0] >= LIKE else None

    def _learn(self) -> None:
        """Index the names by their words and by one-character deletions."""
        for key in self._nodes:
            for word in _words(key):
                self._words.setdefault(word, []).append(key)
            for short in _deletions(key):
                self._shorter.setdefault(short, []).append(key)

    def _sharing(self, key: str) -> List[str]:
        """Return the names that share the most and rarest words."""
        shared: Dict[str, float] = {}
        for held in (self._words.get(word, ()) for word in _words(key)):
            for other in held if len(held) <= COMMON else ():
                shared[other] = shared.get(other, 0.0) + 1.0 / len(held)
        return sorted(shared, key=lambda other: (-shared[other], other))[:COMPARED]


def _deletions(key: str) -> List[str]:
    """Return a short name and its one-character deletions."""
    return (
        [key, *(key[:at] + key[at + 1 :] for at in range(len(key)))]
        if len(key) <= SLIP_CHARS
        else []
    )


def _words(key: str) -> List[str]:
    """Return the words of a name, without single ASCII letters."""
    return [
        word
        for word in "".join(c if c.isalnum() else " " for c in key).split()
        if len(word) > 1 or not word.isascii()
    ]


def _name_similarity(one: str, other: str) -> float:
    """Return the similarity of two names, 0 to 1."""
    from difflib import SequenceMatcher

    if len(one) >= reader.SHORTEST and other.startswith(one):
        return 1.0
    words, others = set(_words(one)), set(_words(other))
    common = 2.0 * len(words & others) / max(1, len(words) + len(others))
    return max(common, SequenceMatcher(None, one, other, autojunk=False).ratio())


def archived_ids_by_name(left: Mapping[str, str]) -> Dict[str, str]:
    """Return the ids of archived records by each of their names.

    Names are the id, the path, the file's name and the title in it; one that several records bear
    is left out.  left: the path that each record left, by id.
    """
    names: Dict[str, str] = {}
    for id, home in left.items():
        file = home[home.rfind("/") + 1 :].replace(".md", "")
        for key in {documents.link_key(home), documents.link_key(file), writer.bare_stem(file)}:
            names[key] = "" if key in names else id
    return {**{key: id for key, id in names.items() if key and id}, **{id: id for id in left}}


def archived_id(target: str, away: Mapping[str, str]) -> str:
    """Return the id of an archived record named by a target, or "".

    away: from `archived_ids_by_name`.
    """
    key = documents.link_key(target)
    file = key[key.rfind("/") + 1 :].replace(".md", "")
    return next((away[name] for name in (target, key, file, slug(target)) if name in away), "")


def web(
    found: Sequence[Record],
    away: Mapping[str, str] = MappingProxyType({}),
    merged: Mapping[str, str] = MappingProxyType({}),
) -> Web:
    """Return the web of all links of all records, resolved.

    away: of `archived_ids_by_name`. merged: see `Names`.
    """
    nodes = {record.name: node(record) for record in found}
    names = Names(nodes.values(), merged)
    edges = [
        edge(nodes[record.name], link.relation, link.target, names, away)
        for record in sorted(found, key=lambda r: r.name)
        for link in record.links
    ]
    return Web(tuple(nodes[name] for name in sorted(nodes)), tuple(edges), names, away)


def edge(
    source: Node,
    relation: str,
    target: str,
    names: Names,
    away: Mapping[str, str] = MappingProxyType({}),
) -> Edge:
    """Return one link resolved; see `Edge` and `web`."""
    found = names.find(target)
    wrong = (
        ""
        if relation in RELATIONS
        else "the relation '%s' is not one of %s" % (relation[:40], ", ".join(RELATIONS))
    )
    if not found:
        return Edge(source, relation, target, None, (), wrong, archived_id(target, away))
    return Edge(
        source,
        relation,
        target,
        found[0],
        tuple(found[1:]),
        wrong or wrong_ends(relation, source.end, found[0].end),
    )


# ---- in frontmatter


def with_link(written: Any, relation: str, target: str) -> Any:
    """Return the value of `links` with one more link.

    The others keep their form. written: the value as read, None for none.
    """
    if isinstance(written, dict) and written and "target" not in written:
        there = written.get(relation)
        held = [] if there is None else there if isinstance(there, list) else [there]
        return {**written, relation: [*held, target] if held else target}
    return [*_listed(written), {"relation": relation, "target": target}]


def _listed(written: Any) -> List[Any]:
    """Return the links of a value as a list."""
    if isinstance(written, list):
        return written
    if isinstance(written, dict) and written:
        return [written]
    return _split_links(written) if isinstance(written, str) else []


def _split_links(written: str) -> List[str]:
    return [part.strip() for part in written.split(",") if part.strip()]


def without_links(written: Any, gone: Set[Tuple[str, str]]) -> Any:
    """Return the value of `links` without some of them.

    gone: (relation, key of target). The rest keeps its form.
    """
    if isinstance(written, str):
        parts = _split_links(written)
        left = [part for part in parts if not _is_gone(part, gone)]
        return written if left == parts else ", ".join(left)
    if isinstance(written, dict):
        if "target" in written:
            return None if _is_gone(written, gone) else written
        return {
            key: value
            for key, value in ((key, _thinned(key, value, gone)) for key, value in written.items())
            if value
        }
    if isinstance(written, list):
        return [value for value in (without_links(item, gone) for item in written) if value]
    return written


def _thinned(relation: str, value: Any, gone: Set[Tuple[str, str]]) -> Any:
    """Return a relation's value in a map without some targets."""
    if isinstance(value, list):
        return [item for item in value if not _is_gone({relation: item}, gone)]
    return None if _is_gone({relation: value}, gone) else value


def _is_gone(written: Any, gone: Set[Tuple[str, str]]) -> bool:
    found = written_links(written)
    return bool(found) and all(
        (one.relation, documents.link_key(one.target)) in gone for one in found
    )
