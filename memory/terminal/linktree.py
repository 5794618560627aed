"""The graph of links: what surrounds a record, drawn as a tree, an overview, or as JSON.

JSON, version 1: {"nodes": [{id, name, title, end, workspace}], "edges": [{from, relation, to,
wrong}], "dangling": [{from, relation, target, archived, nearest}]}.  `from` and `to` are names,
which are unique where ids should be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from memory.core.plaintext import clip_columns, count, one_line
from memory.recall import relations
from memory.recall.relations import Edge, Node, Web
from memory.terminal.screen import table

MOST_CHILDREN, MOST_LINES = 40, 400  # of a tree: below one record, in all
MOST_LISTED = 10  # rows of a part of the overview
TITLE_COLUMNS = 60


class Step(NamedTuple):
    """An edge seen from one of its ends.

    label: its name from there. to: the other end, None for a dead link.
    """

    label: str
    edge: Edge
    to: Node | None


class Part(NamedTuple):
    """The part of a web reached by a walk.

    nodes: in the order of the walk. edges: those met. below: children in the tree: (step, whether
        its end is drawn here and not elsewhere). beyond: number of edges of a node that lead on
        from the rim.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    below: dict[Node, list[tuple[Step, bool]]]
    beyond: dict[Node, int]


def steps(web: Web) -> dict[Node, list[Step]]:
    """Return each node's links from both ends."""
    found: dict[Node, list[Step]] = {one: [] for one in web.nodes}
    for edge in web.edges:
        found[edge.source].append(Step(edge.relation, edge, edge.to))
        if edge.to is not None and edge.to != edge.source:
            found.setdefault(edge.to, []).append(
                Step(relations.inverse(edge.relation), edge, edge.source)
            )
    order = {
        name: at
        for at, relation in enumerate(relations.RELATIONS.items())
        for name in (relation[1].inverse, relation[0])
    }
    for listed in found.values():
        listed.sort(
            key=lambda step: (
                order.get(step.label, len(order)),
                step.label,
                step.to is None,
                step.to.id if step.to else step.edge.target,
                step.to or (),
            )
        )
    return found


def walk(web: Web, start: Node, depth: int) -> Part:
    """Return the part of a web within `depth` steps of a node."""
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


# ---- for machines


def as_json(web: Web, nodes: Iterable[Node], edges: Iterable[Edge]) -> dict[str, Any]:
    """Return nodes and edges as JSON; see the module's text."""
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
    """Return a record as an end of links, for JSON."""
    return {"id": node.id, "name": node.name, "title": node.title, "end": node.end}


# ---- drawn


def tree(web: Web, start: Node, depth: int) -> list[str]:
    """Return a record's links in lines, as a tree.

    A record already in the tree is marked and not entered again.
    """
    part = walk(web, start, depth)
    lines = [_named(start)]
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
        lines.append(indent + branch + _step(step, new, web, part))
        if new and step.to is not None:
            stack.append((step.to, indent + below, 0))
    if stack:
        lines.append("… cut at %d lines; `--json` has all" % MOST_LINES)
    return lines if part.below else [*lines, "└─ no links"]


def _step(step: Step, new: bool, web: Web, part: Part) -> str:
    wrong = "  (wrong: %s)" % one_line(step.edge.wrong) if step.edge.wrong else ""
    if step.to is None:
        return "%s → %s%s" % (one_line(step.label), _nowhere(step.edge, web), wrong)
    more = part.beyond.get(step.to, 0) if new else 0
    mark = "  ↺ above" if not new else "  … %s" % count(more, "more link") if more else ""
    also = "".join("  (%s)" % one for one in _also(step))
    return one_line(step.label) + " → " + _named(step.to) + also + wrong + mark


def _also(step: Step) -> list[str]:
    is_several = step.edge.also and step.to == step.edge.to
    return ["%d more have this name" % len(step.edge.also)] if is_several else []


def row(step: Step, web: Web) -> list[str]:
    """Return a link's cells for a list: relation, other end, remark."""
    notes = _also(step) + ["wrong: " + one_line(step.edge.wrong)] * bool(step.edge.wrong)
    label, to = one_line(step.label), step.to
    if to is None:
        return [label, "dangling", "; ".join([_nowhere(step.edge, web), *notes])]
    return [label, one_line(to.id), "; ".join(["%s (%s)" % (_title(to), to.end), *notes])]


def _named(node: Node) -> str:
    return "%s  %s (%s)" % (one_line(node.id), _title(node), node.end)


def _nowhere(edge: Edge, web: Web) -> str:
    """Return a dangling link's line, with the record it may mean."""
    target = "'%s'" % clip_columns(one_line(edge.target), TITLE_COLUMNS)
    if edge.away:
        way = ", which is archived; `dayleaf store restore %s` brings it back"
        return target + way % one_line(edge.away)
    near = web.names.nearest(edge.target, edge.source)
    meant = "; did you mean %s '%s'?" % (one_line(near.id), _title(near)) if near else ""
    return target + ", which is not a record" + meant


def overview(web: Web) -> list[str]:
    """Describe all links: counts, the most linked records, dangling links."""
    if not web.nodes:
        return ['no records here yet; `dayleaf learn "…"` writes one']
    every = steps(web)
    loose = sum(not listed for listed in every.values())
    rest = "%s without any" % format(loose, ",") if loose else "all of them linked"
    counts = (count(len(web.nodes), "record"), count(len(web.edges), "link"), rest)
    lines = ["%s, %s; %s" % counts]
    most = sorted(filter(every.get, every), key=lambda one: (-len(every[one]), one.id, one.name))
    rows = [
        [count(len(every[one]), "link"), one_line(one.id), _title(one)]
        for one in most[:MOST_LISTED]
    ]
    lines += ["", "Most linked", *table(rows, "  ", (0,))] if rows else []
    lost = [edge for edge in web.edges if edge.dangling]
    if lost:
        lines += ["", "Links that lead nowhere"]
        lines += ["  " + line for line in dangling_lines(web, lost[:MOST_LISTED])]
    if len(lost) > MOST_LISTED:
        lines.append("  … %s more; `--json` has all" % format(len(lost) - MOST_LISTED, ","))
    wrong = sum(bool(edge.wrong) for edge in web.edges)
    more = "%s with a wrong relation; `dayleaf store check` names each" % count(wrong, "link")
    return [*lines, "", more] if wrong else lines


def _title(node: Node) -> str:
    return clip_columns(one_line(node.title), TITLE_COLUMNS)


def dangling_lines(web: Web, edges: Iterable[Edge]) -> list[str]:
    """Return a line for each dangling link, with a suggestion."""
    return [
        "%s %s → %s" % (one_line(edge.source.id), one_line(edge.relation), _nowhere(edge, web))
        for edge in edges
        if edge.dangling
    ]
