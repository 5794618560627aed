"""Links between records: their relations, and their targets resolved to records.

A link goes from the record that holds it to its target, which is an id, a file (with or without
folders and `.md`) or a title, compared without case.  An id counts before a file, a file before a
title; of several records that are called the same the newest is meant.  Seen from its target a link
has the inverse name of its relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from memory.core.layout import slug
from memory.core.records import Record, parse_links
from memory.hook import documents
from memory.store import reader, writer
from memory.store.archive import Move

ANY: tuple[str, ...] = ()
LIKE = 0.6  # least similarity, 0 to 1, of a name suggested for a dead link
COMPARED = 12  # names with words of the target that are compared letter by letter
COMMON = 500  # names with a word, above which the word is ignored
SLIP_CHARS = 24  # characters of a name that is compared by single deletions


class Relation(NamedTuple):
    """A kind of link.

    inverse: its name seen from the target. source, target: allowed ends (ANY, or words of
        Record.end).
    """

    inverse: str
    source: tuple[str, ...]
    target: tuple[str, ...]


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
    aliases: tuple[str, ...] = ()


class Edge(NamedTuple):
    """A link of a record with its resolved target.

    to: None for a dead link. also: other records of the same name. target: as written. wrong: fault
        of its relation or ends, or "". away: id of the archived target, or "".
    """

    source: Node
    relation: str
    target: str
    to: Node | None
    also: tuple[Node, ...] = ()
    wrong: str = ""
    away: str = ""

    @property
    def dangling(self) -> bool:
        """Whether the link has no target record."""
        return self.to is None


class LinkGraph(NamedTuple):
    """Records sorted by name, and their links as written.

    away: from `index_archived_ids`.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    names: NameIndex
    away: Mapping[str, str] = MappingProxyType({})


def find_inverse(relation: str) -> str:
    """Return a relation's name seen from its target, `NAME of` if unknown."""
    return RELATIONS[relation].inverse if relation in RELATIONS else relation + " of"


def find_wrong_ends(relation: str, source: str, target: str) -> str:
    """Return why a relation cannot link such records, or "".

    source, target: words of Record.end. An unknown relation has no fault.
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


def make_node(record: Record) -> Node:
    return Node(record.name, record.id, record.title, record.end, record.created, record.aliases)


def rate_match(target: str, name: str, id: str, title: str, aliases: Iterable[str] = ()) -> int:
    """Rate how well a link's target names a record, 0 to 4.

    4 by id, 3 by id in another case, 2 by file, 1 by title or alias, 0 no match.
    """
    if target == id:
        return 4
    key, path = documents.normalise_link(target), documents.normalise_link(name)
    if key == documents.normalise_link(id):
        return 3
    if ("/" + path).endswith(("/" + key, "/" + key + ".md")):
        return 2
    return int(key in map(documents.normalise_link, (title, *aliases)))


def find_matching_nodes(target: str, nodes: Iterable[Node]) -> list[Node]:
    """Return the records that match a link's target best, newest first."""
    rated = [(rate_match(target, n.name, n.id, n.title, n.aliases), n) for n in nodes]
    best = max((rating for rating, _ in rated), default=0)
    matching = [n for rating, n in rated if rating == best > 0]
    return sorted(matching, key=lambda n: (-n.created, n.name))


class NameIndex:
    """An index of records by the names that links use.

    merged: id of a merged record -> id of its successor.
    """

    def __init__(self, nodes: Iterable[Node], merged: Mapping[str, str] = MappingProxyType({})):
        self.merged = merged
        self._nodes: dict[str, list[Node]] = {}
        self._words: dict[str, list[str]] = {}
        self._shorter: dict[str, list[str]] = {}
        for each in nodes:
            for key in documents.list_record_keys(each.id, each.name, each.title, each.aliases):
                self._nodes.setdefault(key, []).append(each)

    def find(self, target: str) -> list[Node]:
        """Return the records that a target may name, best first."""
        named = {
            each.name: each
            for key in documents.list_target_keys(target)
            for each in self._nodes.get(key, ())
        }
        found = find_matching_nodes(target, named.values())
        return found if found or target not in self.merged else self.find(self.merged[target])

    def begun(self, text: str) -> list[Node]:
        """Return the records whose id starts with a text."""
        every = (each for nodes in self._nodes.values() for each in nodes)
        found = {each.name: each for each in every if text and each.id.startswith(text)}
        return sorted(found.values())

    def nearest(self, target: str, source: Node | None = None) -> Node | None:
        """Return the record named most similarly to a target, or None.

        source: the linking record, which is left out.
        """
        if not self._words:
            self._index_words()
        key = documents.list_target_keys(target)[-1]
        slips = {
            other
            for short in _list_deletions(key)
            for other in self._shorter.get(short, ())
            if reader.is_typo(key, other)
        }
        rated = [
            (_score_similarity(key, other), each.created, each)
            for other in slips.union(self._find_similar_names(key))
            for each in self._nodes[other]
            if source is None or each.name != source.name
        ]
        best = max(rated, default=None)
        return best[2] if best and best[0] >= LIKE else None

    def _index_words(self) -> None:
        """Index the names by their words and by one-character deletions."""
        for key in self._nodes:
            for word in _split_words(key):
                self._words.setdefault(word, []).append(key)
            for short in _list_deletions(key):
                self._shorter.setdefault(short, []).append(key)

    def _find_similar_names(self, key: str) -> list[str]:
        """Return the names that share most and rarest words with one."""
        shared: dict[str, float] = {}
        for names in (self._words.get(word, ()) for word in _split_words(key)):
            for other in names if len(names) <= COMMON else ():
                shared[other] = shared.get(other, 0.0) + 1.0 / len(names)
        return sorted(shared, key=lambda other: (-shared[other], other))[:COMPARED]


def _list_deletions(key: str) -> list[str]:
    """Return a name and its variants less one character, [] if it is long."""
    if len(key) > SLIP_CHARS:
        return []
    return [key, *(key[:at] + key[at + 1 :] for at in range(len(key)))]


def _split_words(key: str) -> list[str]:
    """Return the words of a name, without single ASCII letters."""
    return [
        word
        for word in "".join(c if c.isalnum() else " " for c in key).split()
        if len(word) > 1 or not word.isascii()
    ]


def _score_similarity(name: str, other: str) -> float:
    from difflib import SequenceMatcher

    if len(name) >= reader.SHORTEST and other.startswith(name):
        return 1.0
    words, others = set(_split_words(name)), set(_split_words(other))
    common = 2.0 * len(words & others) / max(1, len(words) + len(others))
    return max(common, SequenceMatcher(None, name, other, autojunk=False).ratio())


def index_archived_ids(away: Mapping[str, tuple[str, Move]]) -> dict[str, str]:
    """Map the names of archived records to their ids.

    Names are the id, the path, the file's name and the title in it; a name of several records is
    left out.  away: from `Reader.away`.
    """
    names: dict[str, str] = {}
    for id, (_, move) in away.items():
        home = move.home
        file = home[home.rfind("/") + 1 :].replace(".md", "")
        for key in {
            documents.normalise_link(home),
            documents.normalise_link(file),
            writer.bare_stem(file),
        }:
            names[key] = "" if key in names else id
    return {**{key: id for key, id in names.items() if key and id}, **{id: id for id in away}}


def find_archived_id(target: str, away: Mapping[str, str]) -> str:
    """Find an archived record's id by a link's target, or "".

    away: from `index_archived_ids`.
    """
    key = documents.normalise_link(target)
    file = key[key.rfind("/") + 1 :].replace(".md", "")
    return next((away[name] for name in (target, key, file, slug(target)) if name in away), "")


def build_graph(
    found: Sequence[Record],
    away: Mapping[str, str] = MappingProxyType({}),
    merged: Mapping[str, str] = MappingProxyType({}),
) -> LinkGraph:
    """Resolve all links of records.

    away: from `index_archived_ids`. merged: see `NameIndex`.
    """
    nodes = {record.name: make_node(record) for record in found}
    names = NameIndex(nodes.values(), merged)
    edges = [
        resolve_link(nodes[record.name], link.relation, link.target, names, away)
        for record in sorted(found, key=lambda r: r.name)
        for link in record.links
    ]
    return LinkGraph(tuple(nodes[name] for name in sorted(nodes)), tuple(edges), names, away)


def resolve_link(
    source: Node,
    relation: str,
    target: str,
    names: NameIndex,
    away: Mapping[str, str] = MappingProxyType({}),
) -> Edge:
    """Return a link as an `Edge`, with its target's record."""
    found = names.find(target)
    wrong = ""
    if relation not in RELATIONS:
        wrong = "the relation '%s' is not one of %s" % (relation[:40], ", ".join(RELATIONS))
    if not found:
        archived = find_archived_id(target, away)
        return Edge(source, relation, target, None, wrong=wrong, away=archived)
    return Edge(
        source,
        relation,
        target,
        found[0],
        also=tuple(found[1:]),
        wrong=wrong or find_wrong_ends(relation, source.end, found[0].end),
    )


# ---- in frontmatter


def add_link(written: Any, relation: str, target: str) -> Any:
    """Return the value of `links` with a link added; others keep their form.

    written: the value as read, None for none.
    """
    # {relation: target or targets}; a list of links and a single one become a list
    if isinstance(written, dict) and written and "target" not in written:
        before = written.get(relation)
        if before is None or before == []:
            return {**written, relation: target}
        return {**written, relation: [*(before if isinstance(before, list) else [before]), target]}
    return [*_to_list(written), {"relation": relation, "target": target}]


def _to_list(written: Any) -> list[Any]:
    if isinstance(written, list):
        return written
    if isinstance(written, dict) and written:
        return [written]
    return _split_links(written) if isinstance(written, str) else []


def _split_links(written: str) -> list[str]:
    return [part.strip() for part in written.split(",") if part.strip()]


def remove_links(written: Any, gone: set[tuple[str, str]]) -> Any:
    """Return the value of `links` without some; the rest keeps its form.

    gone: (relation, normalised target).
    """
    if isinstance(written, str):
        parts = _split_links(written)
        left = [part for part in parts if not _is_removed(part, gone)]
        return written if left == parts else ", ".join(left)
    if isinstance(written, dict):
        if "target" in written:
            return None if _is_removed(written, gone) else written
        values = {key: _remove_targets(key, value, gone) for key, value in written.items()}
        return {key: value for key, value in values.items() if value}
    if isinstance(written, list):
        return [value for value in (remove_links(item, gone) for item in written) if value]
    return written


def _remove_targets(relation: str, value: Any, gone: set[tuple[str, str]]) -> Any:
    if isinstance(value, list):
        return [item for item in value if not _is_removed({relation: item}, gone)]
    return None if _is_removed({relation: value}, gone) else value


def _is_removed(written: Any, gone: set[tuple[str, str]]) -> bool:
    links = parse_links(written)
    return bool(links) and all(
        (link.relation, documents.normalise_link(link.target)) in gone for link in links
    )
