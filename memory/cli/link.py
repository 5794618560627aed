"""The verbs link and graph: write, list and draw the links between records."""

from __future__ import annotations

from collections.abc import Iterable

from memory.core import StoreError, UsageError, layout, records
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.hook import documents
from memory.recall import relations
from memory.recall.relations import Edge, LinkGraph, Node
from memory.store import reader
from memory.store.store import Store
from memory.terminal import linktree, screen
from memory.terminal.call import REVIEW, Call, clip_input, suggest_word, warn

DEPTH = 2  # steps from a record that are drawn
FORMS = "`dayleaf record link FROM [RELATION] TO`, or `dayleaf record link ID` to list"


def link(call: Call) -> int:
    """Link two records, remove a link, or list a record's links."""
    words = call.words
    if not 1 <= len(words) <= 3 or (call.options.remove and len(words) == 1):
        raise UsageError("record link takes %s; quote a title" % FORMS)
    store = call.store()
    by_name = {record.name: record for record in store.each()}
    web = _read_web(store, by_name.values())
    source = _find_node(web, words[0])
    if len(words) == 1:
        return _list_links(call, web, source)
    relation = _parse_relation(words)
    if call.options.remove:
        return _remove_link(call, store, web, by_name[source.name], relation, words[-1])
    return _add_link(call, store, web, by_name[source.name], relation, _find_node(web, words[-1]))


def _read_web(store: Store, found: Iterable[Record]) -> LinkGraph:
    return relations.build_graph(
        list(found), relations.index_archived_ids(store.away()), store.successors()
    )


def _parse_relation(words: list[str]) -> str:
    if len(words) == 2:
        return "related_to"
    relation = words[1].strip().lower().replace("-", "_")
    if relation in relations.RELATIONS:
        return relation
    for name, known in relations.RELATIONS.items():
        if relation == known.inverse:
            turned = "%s %s %s" % (_quote_word(words[2]), name, _quote_word(words[0]))
            raise UsageError(
                "%s is the reverse of %s; link the other way round: `dayleaf record link %s`"
                % (relation, name, turned)
            )
    choices = "use one of " + ", ".join(relations.RELATIONS)
    advice = suggest_word(relation, relations.RELATIONS, choices)
    raise UsageError("unknown relation '%s'; %s" % (clip_input(words[1]), advice))


def _quote_word(word: str) -> str:
    word = clip_input(word)
    return '"%s"' % word if " " in word else word


def _find_node(web: LinkGraph, word: str) -> Node:
    """Find a record by its id, start of an id, file or title."""
    wanted, shown = word.strip(), clip_input(word)
    found = web.names.find(wanted)
    if len(found) > 1:
        message = "%d records are called '%s'; taking the newest, %s"
        warn(message % (len(found), shown, found[0].id))
    if found:
        return found[0]
    begun = web.names.begun(wanted)
    if len({node.id for node in begun}) == 1:
        return max(begun, key=lambda node: node.created)
    away = reader.match_ids(wanted, web.away.values())
    gone = relations.find_archived_id(wanted, web.away) or (away[0] if len(away) == 1 else "")
    if gone and not begun:
        raise StoreError(
            "'%s' is archived; `dayleaf store restore %s` brings it back" % (shown, gone)
        )
    near = web.names.nearest(word)
    otherwise = "did you mean %s '%s'?" % (near.id, one_line(near.title)) if near else reader.LISTED
    ids = [node.id for node in begun]
    raise StoreError(reader.format_not_found("record", shown, ids, (), otherwise))


# ---- writing


def _add_link(
    call: Call, store: Store, web: LinkGraph, source: Record, relation: str, to: Node
) -> int:
    here = relations.make_node(source)
    if here.name == to.name:
        raise UsageError("%s cannot be linked to itself; name another record" % here.id)
    wrong = relations.find_wrong_ends(relation, here.end, to.end)
    if wrong:
        raise UsageError(wrong)
    links = [(edge.relation, edge.to) for edge in web.edges if edge.source == here]
    if (relation, to) in links:
        return _report_change(call, source, relation, to.id, "already linked", source, notes=[])
    ambiguous = web.names.find(to.id)[0] != to
    target = to.name[2:] if ambiguous else to.id  # without its tier
    store.keep_id(store.read(to.name))
    changed = store.edit(
        source.name,
        lambda now: {"links": relations.add_link(now.meta.get("links"), relation, target)},
    )
    call.indexed()
    notes = _warn_of_reach(source.name, to)
    return _report_change(call, changed, relation, to.id, "linked", source, notes)


def _remove_link(
    call: Call, store: Store, web: LinkGraph, source: Record, relation: str, word: str
) -> int:
    here = relations.make_node(source)
    mine = [edge for edge in web.edges if edge.source == here and _is_link_to(edge, web, word)]
    wanted = [edge for edge in mine if edge.relation == relation]
    if not wanted:
        raise _no_such_link(here.id, relation, word, sorted({edge.relation for edge in mine}))
    gone = {(edge.relation, documents.normalise_link(edge.target)) for edge in wanted}
    left = relations.remove_links(source.meta.get("links"), gone)
    written = records.find_wiki_links(source.body) if source.source != "auto" else ()
    in_text = [clip_input(edge.target) for edge in wanted if edge.target in written]
    if left == source.meta.get("links"):
        raise StoreError(
            "the link is in the text of %s, as [[%s]]; remove it with `dayleaf record edit %s`"
            % (here.id, in_text[0], here.id)
        )
    changed = store.edit(
        source.name,
        lambda now: {"links": relations.remove_links(now.meta.get("links"), gone) or None},
    )
    call.indexed()
    notes = ["[[%s]] in its text still links there" % target for target in in_text]
    target = wanted[0].to.id if wanted[0].to else wanted[0].target
    return _report_change(call, changed, relation, target, "link removed", source, notes)


def _no_such_link(id: str, relation: str, word: str, others: list[str]) -> StoreError:
    remedy = "`dayleaf record link %s` lists its links" % id
    if others:
        remedy = "it has " + ", ".join(others)
    return StoreError("%s has no link %s to '%s'; %s" % (id, relation, clip_input(word), remedy))


def _is_link_to(edge: Edge, web: LinkGraph, said: str) -> bool:
    if documents.normalise_link(edge.target) == documents.normalise_link(said):
        return True
    return edge.to is not None and edge.to in (web.names.find(said) or web.names.begun(said))


def _warn_of_reach(source: str, to: Node) -> list[str]:
    """Return a warning if others cannot follow a link."""
    tier, target_tier, id = source[:1], to.name[:1], one_line(to.id)
    if tier == layout.SHARED and target_tier != layout.SHARED:
        return ["%s is not in the repository, so others cannot follow the link" % id]
    if tier == layout.GLOBAL and target_tier != layout.GLOBAL:
        return ["%s belongs to this project, so the link leads nowhere in other projects" % id]
    return []


def _report_change(
    call: Call,
    kept: Record,
    relation: str,
    target: str,
    done: str,
    before: Record,
    notes: list[str],
) -> int:
    lines = ["%s  %s %s %s" % (done, *map(one_line, (kept.id, relation, target)))]
    lines += ["  " + note for note in notes]
    value = {"id": kept.id, "relation": relation, "target": target, "done": done}
    if kept.kind == "rule":
        from memory.knowledge import approvalstate

        was, state = (
            approvalstate.list_rule_states([rule], call.place)[0].state for rule in (before, kept)
        )
        value["state"] = state
        if state == "pending" and was != "pending":
            lines.append("  the rule has changed and waits again: " + REVIEW)
    return call.answer(value, lines)


# ---- listing and drawing


def _list_links(call: Call, web: LinkGraph, node: Node) -> int:
    rows, values = [], []
    for step in linktree.list_links(web)[node]:
        values.append(
            {
                "relation": step.label,
                "direction": "out" if step.edge.source == node else "in",
                "target": step.edge.target,
                "to": linktree.node_json(step.to) if step.to else None,
                "wrong": step.edge.wrong,
                "archived": bool(step.edge.away),
            }
        )
        rows.append(linktree.format_link_cells(step, web))
    head = "%s  %s" % (one_line(node.id), one_line(node.title))
    table = screen.format_table(rows, "  ") or ["  no links"]
    return call.answer({"id": node.id, "links": values}, [head, *table])


def graph(call: Call) -> int:
    """Draw the links of a record, or describe all links."""
    if len(call.words) > 1:
        raise UsageError("record graph takes one ID, not %d words; quote a title" % len(call.words))
    store = call.store()
    with call.spinner("reading the records"):
        web = _read_web(store, store.each())
    start = _find_node(web, call.words[0]) if call.words else None
    if call.options.json:
        part = linktree.walk(web, start, DEPTH) if start else web
        return call.answer(linktree.as_json(web, part.nodes, part.edges), [])
    lines = linktree.draw_tree(web, start, DEPTH) if start else linktree.describe_links(web)
    return call.answer(None, lines)
