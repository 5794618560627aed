"""The verbs that read: recall, show, expand, load, why, status, doctor, check, stats, workspace."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from memory import clock, contexttags, files, paths, terminal
from memory.call import Call, nearest, record_json, session_of, shown, warn
from memory.errors import DayleafError, IndexFault, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.paths import Place
    from memory.records import Record

ENTRIES = 100  # of a transcript that are printed where --limit names no other number
RESULT_LINES = 8  # of one entry without --full


def recall(call: Call) -> int:
    """Search the memory."""
    from memory import batch, trust

    words = " ".join(call.words)
    if call.options.batch:
        offset = clock.local_offset(call.now)
        for line in batch.batch(sys.stdin, call.place, call.settings, call.now, offset, _query(call, words, None),
                                 semantic=_semantic(call)):
            print(line)
        return 0
    found = found_by(call, words, call.options.limit, not call.options.no_links)
    approved = trust.approved(call.place.home)
    if call.options.hook:
        print(terminal.for_model(found, words, call.place.key, approved, root=call.place.root))
    else:
        call.answer(_found_json(call, found, words, approved),
                    terminal.hits(found, words, call.now, call.place.key, approved, call.style(), call.options.explain,
                                  call.place.root))
    freshen(call, found.stale)
    reread(call, {hit.record.name: hit.record for hit in found.hits if hit.workspace == call.place.key}.values())
    return 0


def found_by(call: Call, words: str, limit: int | None, links: bool = False) -> Any:
    """Return what a call's words and filters find (recall.Found), at most `limit` hits; None means the setting's number.

    links: with what the hits are linked with.
    """
    from memory import recall as search

    with call.spinner("searching"):
        query = _query(call, words, limit)
        return search.recall(call.place, call.settings, query, call.now, clock.local_offset(call.now), semantic=_semantic(call),
                             links=links)


def _semantic(call: Call) -> Any:
    from memory.semantic import Semantic

    return Semantic(call.settings, getattr(call.options, "vectors_by", "") or "", call.env)


def _query(call: Call, words: str, limit: int | None) -> Any:
    """Turn the filters into what recall asks for; raises UsageError."""
    from memory import recall as search

    o = call.options
    given = {"query": words or None, "since": o.since, "days": o.days, "from": o.from_, "to": o.to, "kind": o.kind,
             "tag": o.tag, "topic": o.topic, "file": o.file, "branch": o.branch, "session": o.session,
             "version": o.version, "workspace": o.workspace, "context-tags": o.context_tags,
             "semantic": o.semantic or None, "lexical": o.lexical or None, "limit": limit, "min-score": o.min_score}
    return search.options(given, call.now, clock.local_offset(call.now))


def _found_json(call: Call, found: Any, words: str, approved: frozenset[Any]) -> dict[str, Any]:
    def value(hit: Any) -> dict[str, Any]:
        beside = {"linkedFrom": hit.linked_from, "relation": hit.relation} if hit.linked_from else {"score": round(hit.score, 6)}
        return {**record_json(hit.record), "path": hit.path, "workspace": hit.workspace, **beside, "section": hit.section,
                "freshness": hit.freshness, "why": hit.why,
                "gone": [_claim_json(claim) for claim in hit.gone],
                "group": terminal.standing(hit, call.place.key, approved, call.place.root),
                **({"parts": dict(hit.parts)} if call.options.explain else {})}

    return {"query": words, "hits": [value(hit) for hit in found.hits], "linked": [value(hit) for hit in found.linked],
            "backend": found.backend, "stale": found.stale, "leftOut": found.left_out,
            "notes": list(found.notes), "gaps": list(found.known_gaps), "contextTags": contexttags.to_json(found.context)}


def freshen(call: Call, stale: bool) -> None:
    """Start a refresh that outlives this process, after the answer."""
    if not stale:
        return
    import subprocess

    root = os.path.dirname(os.path.abspath(__file__))
    try:
        sys.stdout.flush()
        subprocess.Popen([sys.executable, "-I", root, "index", "refresh"], cwd=call.place.project, env=call.env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True)
    except OSError as error:
        warn("no refresh could be started (%s); `dayleaf index refresh` does" % error.strerror)


def reread(call: Call, found: Iterable[Record]) -> list[Record]:
    """Read the scripts among records of this workspace again where they have changed, and return the records as they are then."""
    from memory import resources

    store, out = None, []
    for record in found:
        if record.kind == "resource":
            store = store or call.store()
            try:
                record = resources.renewed(store, record)
            except DayleafError as error:
                warn("%s was not read again: %s" % (record.id, error))
        out.append(record)
    call.indexed()
    return out


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
    merged_ids = archive.successors(root for _, root in place.tiers())
    counts = ledger.followed(ledger.read(ledger.holding(place, found.name)), merged_ids).counts(found.id)
    reasons = judging.reasons(found)
    outcome = [("outcome", judging.said(counts, call.now) if any(counts) else ""), ("feedback", "; ".join(reasons))]
    facts = [("linked from", ", ".join("%s (%s)" % row for row in inward)), *outcome,
             ("freshness", "; ".join([state.state, *(claim.reason for claim in state.gone)])),
             *terminal.claims(state.claims), ("merged", stands), ("file", place.path(found.name)), *_source(found, place),
             ("trouble", "; ".join(found.problems))]
    body, more, ways = _section(call, found)
    value = {**record_json(found), "path": place.path(found.name), "body": body, "freshness": state.state, "merged": merged,
             "linkedFrom": [{"id": id, "relation": relation} for id, relation in inward],
             **judging.of(counts, call.now), "feedback": reasons,
             "claims": [_claim_json(claim) for claim in state.claims],
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


def _claim_json(claim: Any) -> dict[str, Any]:
    return {"kind": claim.kind, "name": claim.name, "stands": claim.stands, "reason": claim.reason}


def load(call: Call) -> int:
    """Show what a prompt would get."""
    from memory import manifests, why

    with contextlib.suppress(OSError):  # as the start of that new session would
        manifests.remember(call.place, call.settings)
    value = why.load(call.place, call.settings, call.text().strip(), call.options.mode)
    return call.answer(value, why.load_lines(value, call.options.explain))


def explain(call: Call) -> int:
    """Show what was put into which prompt."""
    from memory import why

    if len(call.words) > 1:
        raise UsageError("why wants one SESSION or PROMPT_ID, not %d words" % len(call.words))
    word = call.words[0].strip() if call.words else ""
    value = why.report(call.place, "" if word == "session" else "last" if word == "prompt" else word,
                       session_of(call) if word != "last" else "")
    return call.answer(value, why.lines(value, call.now))


def status(call: Call) -> int:
    """Show paths, counts, freshness and settings."""
    from memory import status as state

    with call.spinner("reading the records"):
        value = state.gather(call.place, call.settings, call.now)
    return call.answer(value, state.lines(value, call.style()))


def doctor(call: Call) -> int:
    """Check everything, one verdict a line; 1 where one fails."""
    from memory import doctor as checks

    with call.spinner("checking"):
        found = checks.examine(call.place, call.settings, call.env, call.now)
    call.answer([check._asdict() for check in found], checks.lines(found, call.style()))
    return 1 if any(check.verdict == checks.FAIL for check in found) else 0


def check(call: Call) -> int:
    """Say what is wrong in record files; 1 where something is an error."""
    from memory import checks

    with call.spinner("reading the records"):
        looked, faults = checks.some(call.store(), call.words) if call.words else checks.everything(call.store())
    errors = sum(fault.error for fault in faults)
    value = {"checked": looked, "errors": errors, "warnings": len(faults) - errors,
             "faults": [fault._asdict() for fault in faults]}
    call.answer(value, checks.told(faults, looked, os.getcwd()))
    return 1 if errors else 0


def stats(call: Call) -> int:
    """Count records, pushes, tokens saved and model calls."""
    from memory import status as state

    value = state.spending(call.place, call.settings, call.now) if call.options.spend else \
        state.figures(call.place, call.settings, call.now)
    return call.answer(value, state.figure_lines(value))


def workspace(call: Call) -> int:
    """Name the workspace and its tiers."""
    place = call.place
    tiers = {paths.TIER_NAMES[letter]: folder for letter, folder in place.tiers()}
    rows = [["workspace", place.key], ["root", place.root], *([name, folder] for name, folder in tiers.items()),
            ["cache", place.cache]]
    return call.answer({"workspace": place.key, "root": place.root, "tiers": tiers, "cache": place.cache},
                       terminal.table(rows))
