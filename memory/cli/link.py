"""The verbs link and graph: edges between records, written, listed and drawn."""

from __future__ import annotations

from memory.core import StoreError, UsageError, layout, records
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.hook import documents
from memory.recall import relations
from memory.recall.relations import Edge, Node, Web
from memory.store import reader
from memory.store.store import Store
from memory.terminal import screen
from memory.terminal.call import REVIEW, Call, nearest, shown, warn

DEPTH = 2  # steps from a record that are drawn
FORMS = "`dayleaf record link FROM [RELATION] TO`, or `dayleaf record link ID` to list"


def link(call: Call) -> int:
    """Link two records, remove a link, or list a record's links."""
    words = call.words
    if not 1 <= len(words) <= 3 or (call.options.remove and len(words) == 1):
        raise UsageError("record link takes %s; quote a title" % FORMS)
    store = call.store()
    found = {record.name: record for record in store.each()}
    web = relations.web(
        list(found.values()), relations.archived_ids_by_name(store.left()), store.successors()
    )
    source = _one(web, words[0])
    if len(words) == 1:
        return _listed(call, web, source)
    relation = _relation(words)
    if call.options.remove:
        return _removed(call, store, web, found[source.name], relation, words[-1])
    return _added(call, store, web, found[source.name], relation, _one(web, words[-1]))


def _relation(words: list[str]) -> str:
    if len(words) == 2:
        return "related_to"
    said = words[1].strip().lower().replace("-", "_")
    if said in relations.RELATIONS:
        return said
    for name, known in relations.RELATIONS.items():
        if said == known.inverse:
            raise UsageError(
                "%s is the reverse of %s; link the other way round: `dayleaf record link %s %s %s`"
                % (said, name, _word(words[2]), name, _word(words[0]))
            )
    raise UsageError(
        "unknown relation '%s'; %s"
        % (
            shown(words[1]),
            nearest(said, relations.RELATIONS, "use one of " + ", ".join(relations.RELATIONS)),
        )
    )


def _word(said: str) -> str:
    said = shown(said)
    return '"%s"' % said if " " in said else said


def _one(web: Web, said: str) -> Node:
    """Find a record by id, start of an id, file or title.

    Raises StoreError.
    """
    found = web.names.find(said.strip())
    if len(found) > 1:
        warn(
            "%d records are called '%s'; taking the newest, %s"
            % (len(found), shown(said), found[0].id)
        )
    if found:
        return found[0]
    begun = web.names.begun(said.strip())
    if len({one.id for one in begun}) == 1:
        return max(begun, key=lambda one: one.created)
    away = reader.begun(said.strip(), web.away.values())
    gone = relations.archived_id(said.strip(), web.away) or (away[0] if len(away) == 1 else "")
    if gone and not begun:
        raise StoreError(
            "'%s' is archived; `dayleaf store restore %s` brings it back" % (shown(said), gone)
        )
    near = web.names.nearest(said)
    otherwise = "did you mean %s '%s'?" % (near.id, one_line(near.title)) if near else reader.LISTED
    raise StoreError(
        reader.no_such_record("record", shown(said), [one.id for one in begun], (), otherwise)
    )


# ---- writing


def _added(call: Call, store: Store, web: Web, source: Record, relation: str, to: Node) -> int:
    here = relations.node(source)
    if here.name == to.name:
        raise UsageError("%s cannot be linked to itself; name another record" % here.id)
    wrong = relations.wrong_ends(relation, here.end, to.end)
    if wrong:
        raise UsageError(wrong)
    if any(
        edge.to == to and edge.relation == relation for edge in web.edges if edge.source == here
    ):
        return _report_change(call, source, relation, to.id, "already linked", source)
    ambiguous = web.names.find(to.id)[0] != to
    target = to.name[2:] if ambiguous else to.id
    store.keep_id(store.read(to.name))
    changed = store.edit(
        source.name,
        lambda now: {"links": relations.with_link(now.meta.get("links"), relation, target)},
    )
    call.indexed()
    return _report_change(call, changed, relation, to.id, "linked", source, _reach(source.name, to))


def _no_such_link(id: str, relation: str, said: str, others: list[Edge]) -> StoreError:
    remedy = "`dayleaf record link %s` lists its links" % id
    if others:
        remedy = "it has " + ", ".join(sorted({edge.relation for edge in others}))
    return StoreError("%s has no link %s to '%s'; %s" % (id, relation, shown(said), remedy))


def _removed(call: Call, store: Store, web: Web, source: Record, relation: str, said: str) -> int:
    here = relations.node(source)
    mine = [edge for edge in web.edges if edge.source == here and _is_named(edge, web, said)]
    wanted = [edge for edge in mine if edge.relation == relation]
    if not wanted:
        raise _no_such_link(here.id, relation, said, mine)
    gone = {(edge.relation, documents.link_key(edge.target)) for edge in wanted}
    left = relations.without_links(source.meta.get("links"), gone)
    written = records.wiki_links(source.body) if source.source != "auto" else ()
    in_text = [edge for edge in wanted if edge.target in written]
    if left == source.meta.get("links"):
        raise StoreError(
            "the link is in the text of %s, as [[%s]]; remove it with `dayleaf record edit %s`"
            % (here.id, shown(in_text[0].target), here.id)
        )
    changed = store.edit(
        source.name,
        lambda now: {"links": relations.without_links(now.meta.get("links"), gone) or None},
    )
    call.indexed()
    more = ["[[%s]] in its text still links there" % shown(edge.target) for edge in in_text]
    return _report_change(
        call,
        changed,
        relation,
        wanted[0].to.id if wanted[0].to else wanted[0].target,
        "link removed",
        source,
        more,
    )


def _is_named(edge: Edge, web: Web, said: str) -> bool:
    if documents.link_key(edge.target) == documents.link_key(said):
        return True
    return edge.to is not None and edge.to in (web.names.find(said) or web.names.begun(said))


def _reach(source: str, to: Node) -> list[str]:
    """Warn of a link that other people or projects cannot follow."""
    if to.name[:1] == source[:1] or to.name[:1] == layout.GLOBAL and source[:1] != layout.SHARED:
        return []
    if source[:1] == layout.SHARED:
        return ["%s is not in the repository, so others cannot follow the link" % one_line(to.id)]
    return (
        [
            "%s belongs to this project, so the link leads nowhere in other projects"
            % one_line(to.id)
        ]
        if source[:1] == layout.GLOBAL
        else []
    )


def _report_change(
    call: Call,
    kept: Record,
    relation: str,
    target: str,
    done: str,
    before: Record,
    more: list[str] | None = None,
) -> int:
    lines = [
        "%s  %s %s %s" % (done, *map(one_line, (kept.id, relation, target))),
        *("  " + line for line in more or ()),
    ]
    state = ""
    if kept.kind == "rule":
        from memory.knowledge import approvalstate

        state, was = (approvalstate.standings([one], call.place)[0].state for one in (kept, before))
        lines += (
            ["  the rule has changed and waits again: " + REVIEW]
            if state == "pending" and was != "pending"
            else []
        )
    return call.answer(
        {
            "id": kept.id,
            "relation": relation,
            "target": target,
            "done": done,
            **({"state": state} if state else {}),
        },
        lines,
    )


# ---- listing and drawing


def _listed(call: Call, web: Web, node: Node) -> int:
    from memory.terminal import linktree

    rows, values = [], []
    for step in linktree.steps(web)[node]:
        to = step.to
        out = step.edge.source == node
        values.append(
            {
                "relation": step.label,
                "direction": "out" if out else "in",
                "target": step.edge.target,
                "to": linktree.node_json(to) if to else None,
                "wrong": step.edge.wrong,
                "archived": bool(step.edge.away),
            }
        )
        rows.append(linktree.row(step, web))
    head = "%s  %s" % (one_line(node.id), one_line(node.title))
    return call.answer(
        {"id": node.id, "links": values}, [head, *(screen.table(rows, "  ") or ["  no links"])]
    )


def graph(call: Call) -> int:
    """Draw the links of a record, or describe all links."""
    from memory.terminal import linktree

    if len(call.words) > 1:
        raise UsageError("record graph takes one ID, not %d words; quote a title" % len(call.words))
    store = call.store()
    with call.spinner("reading the records"):
        web = relations.web(
            list(store.each()), relations.archived_ids_by_name(store.left()), store.successors()
        )
    start = _one(web, call.words[0]) if call.words else None
    part = linktree.walk(web, start, DEPTH) if start else None
    nodes, edges = (part.nodes, part.edges) if part else (web.nodes, web.edges)
    if call.options.json:
        return call.answer(linktree.as_json(web, nodes, edges), [])
    return call.answer(None, linktree.tree(web, start, DEPTH) if start else linktree.overview(web))
