"""The graph of links as text: the links around a record as a tree, a summary of all, JSON.

JSON, version 1: {"nodes": [{id, name, title, end, workspace}], "edges": [{from, relation, to,
wrong}], "dangling": [{from, relation, target, archived, nearest}]}.  `from` and `to` are names,
which are unique where ids should be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from memory.core.plaintext import clip_columns, format_count, one_line
from memory.recall import relations
from memory.recall.relations import Edge, LinkGraph, Node
from memory.terminal.screen import format_table

MOST_CHILDREN, MOST_LINES = 40, 400  # of a tree: children of a node, lines in all
MOST_LISTED = 10  # rows of a section of the summary
TITLE_COLUMNS = 60


class Step(NamedTuple):
    """A link seen from one end; `to` is the other end, None for no record."""

    label: str
    edge: Edge
    to: Node | None


class Subgraph(NamedTuple):
    """The nodes and edges that a breadth-first search reached.

    below: a node's children in the tree: (step, whether its end is drawn here first). beyond:
        number of edges of an outermost node that were not followed.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    below: dict[Node, list[tuple[Step, bool]]]
    beyond: dict[Node, int]


def list_links(web: LinkGraph) -> dict[Node, list[Step]]:
    """Map each node to its links, as seen from that node."""
    links: dict[Node, list[Step]] = {node: [] for node in web.nodes}
    for edge in web.edges:
        links[edge.source].append(Step(edge.relation, edge, edge.to))
        if edge.to is not None and edge.to != edge.source:
            links.setdefault(edge.to, []).append(
                Step(relations.find_inverse(edge.relation), edge, edge.source)
            )
    order: dict[str, int] = {}
    for at, (name, relation) in enumerate(relations.RELATIONS.items()):
        order[relation.inverse] = order[name] = at

    def sort_key(step: Step) -> tuple[object, ...]:
        end = step.to.id if step.to else step.edge.target
        place = order.get(step.label, len(order))
        return place, step.label, step.to is None, end, step.to or ()

    for steps in links.values():
        steps.sort(key=sort_key)
    return links


def walk(web: LinkGraph, start: Node, depth: int) -> Subgraph:
    """Return the part of the graph within `depth` links of a node."""
    links = list_links(web)
    distance, drawn = {start: 0}, set[Edge]()
    below: dict[Node, list[tuple[Step, bool]]] = {}
    beyond: dict[Node, int] = {}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        fresh = [step for step in links[here] if step.edge not in drawn]
        if distance[here] == depth:
            beyond[here] = len(fresh)
            continue
        for step in fresh:
            drawn.add(step.edge)
            new = step.to is not None and step.to not in distance
            below.setdefault(here, []).append((step, new))
            if new and step.to is not None:
                distance[step.to] = distance[here] + 1
                queue.append(step.to)
    return Subgraph(
        tuple(distance), tuple(edge for edge in web.edges if edge in drawn), below, beyond
    )


# ---- for machines


def as_json(web: LinkGraph, nodes: Iterable[Node], edges: Iterable[Edge]) -> dict[str, Any]:
    """Return nodes and edges in the module's JSON format."""
    linked, dangling = [], []
    for edge in edges:
        value: dict[str, Any] = {"from": edge.source.name, "relation": edge.relation}
        if edge.to is not None:
            linked.append({**value, "to": edge.to.name, "wrong": edge.wrong})
            continue
        near = None if edge.away else web.names.nearest(edge.target, edge.source)
        value.update(target=edge.target, archived=bool(edge.away), nearest=near and near.id)
        dangling.append(value)
    return {"nodes": [node_json(one) for one in nodes], "edges": linked, "dangling": dangling}


def node_json(node: Node) -> dict[str, Any]:
    return {"id": node.id, "name": node.name, "title": node.title, "end": node.end}


# ---- drawn


def draw_tree(web: LinkGraph, start: Node, depth: int) -> list[str]:
    """Draw a record's links as a tree, in lines."""
    part = walk(web, start, depth)
    lines = [_format_node(start)]
    stack = [(start, "", 0)]
    while stack and len(lines) < MOST_LINES:
        here, indent, at = stack.pop()
        children = part.below.get(here, [])
        if at >= min(len(children), MOST_CHILDREN):
            if at < len(children):
                lines.append("%s└─ … %s more" % (indent, format(len(children) - at, ",")))
            continue
        step, new = children[at]
        stack.append((here, indent, at + 1))
        is_last = at + 1 == len(children)
        branch, below = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        lines.append(indent + branch + _format_step(step, new, web, part))
        if new and step.to is not None:
            stack.append((step.to, indent + below, 0))
    if stack:
        lines.append("… cut at %d lines; `--json` has all" % MOST_LINES)
    return lines if part.below else [*lines, "└─ no links"]


def _format_step(step: Step, new: bool, web: LinkGraph, part: Subgraph) -> str:
    wrong = "  (wrong: %s)" % one_line(step.edge.wrong) if step.edge.wrong else ""
    label = one_line(step.label) + " → "
    if step.to is None:
        return label + _format_dangling(step.edge, web) + wrong
    also = "".join("  (%s)" % note for note in _format_namesakes(step))
    more = part.beyond.get(step.to, 0)
    mark = "  … %s" % format_count(more, "more link") if more else ""
    return label + _format_node(step.to) + also + wrong + (mark if new else "  ↺ above")


def _format_namesakes(step: Step) -> list[str]:
    is_several = step.edge.also and step.to == step.edge.to
    return ["%d more have this name" % len(step.edge.also)] if is_several else []


def format_link_cells(step: Step, web: LinkGraph) -> list[str]:
    """Format a link for a table: relation, other end, remarks."""
    notes = _format_namesakes(step)
    if step.edge.wrong:
        notes.append("wrong: " + one_line(step.edge.wrong))
    if step.to is None:
        end, about = "dangling", _format_dangling(step.edge, web)
    else:
        end, about = one_line(step.to.id), "%s (%s)" % (_clip_title(step.to), step.to.end)
    return [one_line(step.label), end, "; ".join([about, *notes])]


def _format_node(node: Node) -> str:
    return "%s  %s (%s)" % (one_line(node.id), _clip_title(node), node.end)


def _format_dangling(edge: Edge, web: LinkGraph) -> str:
    target = "'%s'" % clip_columns(one_line(edge.target), TITLE_COLUMNS)
    if edge.away:
        way = ", which is archived; `dayleaf store restore %s` brings it back"
        return target + way % one_line(edge.away)
    near = web.names.nearest(edge.target, edge.source)
    meant = "; did you mean %s '%s'?" % (one_line(near.id), _clip_title(near)) if near else ""
    return target + ", which is not a record" + meant


def describe_links(web: LinkGraph) -> list[str]:
    """Summarize all links: counts, the most linked records, dangling links."""
    if not web.nodes:
        return ['no records here yet; `dayleaf learn "…"` writes one']
    links = list_links(web)
    loose = sum(not listed for listed in links.values())
    rest = "%s without any" % format(loose, ",") if loose else "all of them linked"
    counts = (format_count(len(web.nodes), "record"), format_count(len(web.edges), "link"), rest)
    lines = ["%s, %s; %s" % counts]
    most = sorted(filter(links.get, links), key=lambda one: (-len(links[one]), one.id, one.name))
    rows = [
        [format_count(len(links[one]), "link"), one_line(one.id), _clip_title(one)]
        for one in most[:MOST_LISTED]
    ]
    lines += ["", "Most linked", *format_table(rows, "  ", (0,))] if rows else []
    dangling = [edge for edge in web.edges if edge.dangling]
    if dangling:
        lines += ["", "Links that lead nowhere"]
        lines += ["  " + line for line in dangling_lines(web, dangling[:MOST_LISTED])]
    if len(dangling) > MOST_LISTED:
        lines.append("  … %s more; `--json` has all" % format(len(dangling) - MOST_LISTED, ","))
    wrong = sum(bool(edge.wrong) for edge in web.edges)
    if wrong:
        more = "%s with a wrong relation; `dayleaf store check` names each"
        lines += ["", more % format_count(wrong, "link")]
    return lines


def _clip_title(node: Node) -> str:
    return clip_columns(one_line(node.title), TITLE_COLUMNS)


def dangling_lines(web: LinkGraph, edges: Iterable[Edge]) -> list[str]:
    return [
        "%s %s → %s"
        % (one_line(edge.source.id), one_line(edge.relation), _format_dangling(edge, web))
        for edge in edges
        if edge.dangling
    ]
