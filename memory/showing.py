"""The verbs that show one record: show, expand."""

from __future__ import annotations

from typing import Any

from memory import clock, files, paths, terminal
from memory.call import Call, claim_json, nearest, record_json, shown
from memory.errors import IndexFault, UsageError
from memory.reading import reread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.paths import Place
    from memory.records import Record

ENTRIES = 100  # of a transcript that are printed where --limit names no other number
RESULT_LINES = 8  # of one entry without --full


def show(call: Call) -> int:
    """Print one record, its outline, or one section."""
    from memory import archive, claims, judging, ledger, lookup

    found, place, merged = lookup.find_kept(call.place, call.settings, call.one("ID"))
    if place.key == call.place.key:
        found = reread(call, [found])[0]
    if call.options.outline:
        return _outline(call, found)
    with claims.at(place) as checkout:
        state = checkout.check(found)
    stands = merged and "%s was merged into this; `dayleaf restore %s` brings it back" % (merged, merged)
    inward = _inward(place, found, call.now)
    counts = ledger.followed(ledger.read(ledger.holding(place, found.name)), archive.merged(place),
                             lambda id: lookup.stands(place, id)).counts(found.id)
    reasons = judging.reasons(found)
    outcome = [("outcome", judging.said(counts, call.now) if any(counts) else ""), ("feedback", "; ".join(reasons))]
    facts = [("linked from", ", ".join("%s (%s)" % row for row in inward)), *outcome,
             ("freshness", "; ".join([state.state, *(claim.reason for claim in state.gone)]) * (state.state != claims.UNKNOWN)),
             *terminal.claims(state.claims), ("merged", stands), ("file", place.path(found.name)), *_source(found, place),
             ("trouble", "; ".join(found.problems))]
    body, more, ways = _section(call, found)
    value = {**record_json(found), "path": place.path(found.name), "body": body, "freshness": state.state, "merged": merged,
             "linkedFrom": [{"id": id, "relation": relation} for id, relation in inward],
             **judging.of(counts, call.now), "feedback": reasons,
             "claims": [claim_json(claim) for claim in state.claims],
             "problems": list(found.problems), **more}
    head = terminal.record(found, call.now, call.style(), facts)
    return call.answer(value, [*head, "", terminal.plain(body).rstrip("\n"), *ways])


def _source(found: Record, place: Place) -> list[tuple[str, str]]:
    """Say of a resource where it is from, and how it stands to that."""
    from memory import resources, sources

    if found.kind != "resource":
        return []
    state, now = resources.state(found, place), ""
    then = found.meta.get("source_ref") or ""
    if state.source and then:
        now = sources.commit_of(state.source.path)
    trouble = "%s: `dayleaf resource refresh %s`" % (state.why, found.id) if state.word == resources.STALE else state.why
    head = "HEAD is %s" % now if now and now != then else ""
    said = [resources.path_of(found), "at commit %s" % then if then else "", head, trouble]
    return [("type", resources.type_of(found)), ("source", "; ".join(part for part in said if part))]


def _outline(call: Call, found: Record) -> int:
    """Print the numbered sections of a record."""
    from memory import sections, text

    rows = [(one, text.count_tokens(sections.text(found.body, one))) for one in sections.outline(found.body)]
    value = [{"number": one.number, "level": one.level, "section": one.path, "tokens": tokens} for one, tokens in rows]
    cells = [[str(one.number), "  " * max(one.level - 1, 0) + terminal.one_line(sections.name(one).rpartition(" > ")[2]),
              "%s tokens" % format(tokens, ",")] for one, tokens in rows]
    return call.answer({"id": found.id, "sections": value}, [
        *terminal.table(cells, right=(0, 2)), "`dayleaf show %s --section N` prints one" % found.id])


def _section(call: Call, found: Record) -> tuple[str, dict[str, Any], list[str]]:
    """Return (the text asked for, what --json says of the section, lines that name the sections beside it).

    Raises UsageError where there is no such section.
    """
    from memory import sections

    o = call.options
    if not o.section:
        if o.next or o.previous:
            raise UsageError("--next and --previous want --section, the section that you have read")
        return found.body, {}, []
    listed = sections.outline(found.body)
    one = sections.find(listed, o.section)
    if one is None:
        headings = [each.path for each in listed if each.path]
        known = nearest(o.section, headings, "it has %s" % (", ".join(headings[:8]) or "no headings"))
        raise UsageError("%s has no section '%s'; %s" % (found.id, shown(o.section), known))
    for at, word in ((1, "after"),) * o.next + ((0, "before"),) * o.previous:
        moved = sections.beside(listed, one)[at]
        if moved is None:
            raise UsageError("%s has no section %s %d; `dayleaf show %s --outline` lists them" % (
                found.id, word, one.number, found.id))
        one = moved
    beside = dict(zip(("previous", "next"), sections.beside(listed, one)))
    ways = ["%s: %d %s  `dayleaf show %s --section %d`" % (
        word, other.number, terminal.one_line(sections.name(other)), found.id, other.number)
        for word, other in beside.items() if other]
    value = {"section": one.path, "number": one.number, **{word: other and other.number for word, other in beside.items()}}
    return sections.text(found.body, one), value, [""] * bool(ways) + ways


def expand(call: Call) -> int:
    """Print the part of the transcript behind a checkpoint."""
    from memory import excerpt, lookup
    from memory.store import Store

    found, place = lookup.find_anywhere(call.place, call.settings, call.one("ID"))
    with call.spinner("reading the transcript"):
        said = excerpt.excerpt(Store(place, call.settings, call.now), found, call.env)
    shown_ = said[-(call.options.limit or ENTRIES):]
    lines = ["%s  %s" % (terminal.one_line(found.title), found.id)]
    if len(said) > len(shown_):
        lines.append("the last %d of %d entries; `--limit %d` shows all" % (len(shown_), len(said), len(said)))
    offset = clock.local_offset(found.created)
    for one in shown_:
        lines += terminal.entry(one.at, one.who, one.text, offset, 0 if call.options.full else RESULT_LINES)
    return call.answer({"id": found.id, "entries": [one._asdict() for one in shown_], "of": len(said)}, lines)


def _inward(place: paths.Place, found: Record, now: float) -> list[tuple[str, str]]:
    """Return (id, relation as seen from the record) of the links that lead to a record; none where there is no index."""
    from contextlib import closing

    from memory import index, linked, links
    from memory.shelf import Shelf

    if not files.exists(index.segment_path(place)):
        return []
    try:
        with closing(Shelf(place, now)) as shelf:
            return [(source.id, links.inverse(link.relation)) for link, source in linked.inward(shelf, found)]
    except IndexFault:  # the next recall sets a damaged one aside
        return []
