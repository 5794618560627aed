"""The graph of links: what surrounds a record, which records hang together; for machines as JSON.

JSON, version 1: {"nodes": [{id, name, title, end, workspace}], "edges": [{from, relation, to, wrong}], "dangling": [{from,
relation, target, archived, nearest}]}.  `from` and `to` are names, which are unique where ids should be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from memory.recall import relations
from memory.recall.relations import Edge, Node, Web


class Step(NamedTuple):
    """An edge as seen from one of its ends: what it is called from there, and the other end, None where it leads nowhere."""

    label: str
    edge: Edge
    to: Node | None


class Part(NamedTuple):
    """A piece of a web that was walked to: nodes in the order of the walk, their edges, and what is below each in the tree.

    below: (step, whether its end is drawn here and not elsewhere).  beyond: how many edges of a node lead on from the rim.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    below: dict[Node, list[tuple[Step, bool]]]
    beyond: dict[Node, int]


def steps(web: Web) -> dict[Node, list[Step]]:
    """Return what each node is linked with, from both ends, in the order of relations, then ids."""
    found: dict[Node, list[Step]] = {one: [] for one in web.nodes}
    for edge in web.edges:
        found[edge.source].append(Step(edge.relation, edge, edge.to))
        if edge.to is not None and edge.to != edge.source:
            found.setdefault(edge.to, []).append(Step(relations.inverse(edge.relation), edge, edge.source))
    order = {name: at for at, relation in enumerate(relations.RELATIONS.items()) for name in (relation[1].inverse, relation[0])}
    for listed in found.values():
        listed.sort(key=lambda step: (order.get(step.label, len(order)), step.label, step.to is None,
                                      step.to.id if step.to else step.edge.target, step.to or ()))
    return found


def walk(web: Web, start: Node, depth: int) -> Part:
    """Walk from a node along all links, both ways, at most `depth` steps; every edge is met once."""
    every = steps(web)
    far, drawn = {start: 0}, set[Edge]()
    below: dict[Node, list[tuple[Step, bool]]] = {}
    beyond: dict[Node, int] = {}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        fresh = [step for step in every[here] if step.edge not in drawn]
        if far[here] == depth:
            beyond[here] = len(fresh)
            continue
        for step in fresh:
            drawn.add(step.edge)
            new = step.to is not None and step.to not in far
            below.setdefault(here, []).append((step, new))
            if new and step.to is not None:
                far[step.to] = far[here] + 1
                queue.append(step.to)
    return Part(tuple(far), tuple(edge for edge in web.edges if edge in drawn), below, beyond)


def groups(web: Web) -> list[list[Node]]:
    """Return the sets of records that links connect, the largest first, in each the most linked first; single ones not."""
    every, seen = steps(web), set[Node]()
    found = []
    for start in web.nodes:
        if start in seen or not every[start]:
            continue
        seen.add(start)
        group, queue = [start], [start]
        while queue:
            for step in every[queue.pop()]:
                if step.to is not None and step.to not in seen:
                    seen.add(step.to)
                    group.append(step.to)
                    queue.append(step.to)
        if len(group) > 1:
            found.append(sorted(group, key=lambda one: (-len(every[one]), one.id, one.name)))
    return sorted(found, key=lambda group: (-len(group), group[0].id, group[0].name))


# ---- for machines

def as_json(web: Web, nodes: Iterable[Node], edges: Iterable[Edge]) -> dict[str, Any]:
    """Return nodes and edges as JSON; see the module's text."""
    value: dict[str, Any] = {"nodes": [node_json(one) for one in nodes], "edges": [], "dangling": []}
    for edge in edges:
        if edge.to is not None:
            value["edges"].append({"from": edge.source.name, "relation": edge.relation, "to": edge.to.name, "wrong": edge.wrong})
        else:
            near = None if edge.away else web.names.nearest(edge.target, edge.source)
            value["dangling"].append({"from": edge.source.name, "relation": edge.relation, "target": edge.target,
                                      "archived": bool(edge.away), "nearest": near.id if near else None})
    return value


def node_json(node: Node) -> dict[str, Any]:
    """Return a record as an end of links, for JSON."""
    return {"id": node.id, "name": node.name, "title": node.title, "end": node.end, "workspace": node.workspace}
