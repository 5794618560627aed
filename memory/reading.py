"""The verbs that read: recall, load, why, status, doctor, check, stats, workspace."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from memory import clock, contexttags, paths, results, terminal
from memory.call import Call, claim_json, record_json, session_of, shown, warn
from memory.errors import DayleafError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.records import Record


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
    decided = trust.decisions(call.place.home)
    if call.options.hook:
        print(results.for_model(found, words, call.place.key, decided, root=call.place.root))
    else:
        call.answer(_found_json(call, found, words, decided),
                    results.hits(found, words, call.now, call.place.key, decided, call.style(), call.options.explain,
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


def _found_json(call: Call, found: Any, words: str, decided: dict[Any, str]) -> dict[str, Any]:
    def value(hit: Any) -> dict[str, Any]:
        beside = {"linkedFrom": hit.linked_from, "relation": hit.relation} if hit.linked_from else {"score": round(hit.score, 6)}
        return {**record_json(hit.record), "path": hit.path, "workspace": hit.workspace, **beside, "section": hit.section,
                "freshness": hit.freshness, "why": hit.why,
                "gone": [claim_json(claim) for claim in hit.gone],
                "group": results.standing(hit, call.place.key, decided, call.place.root),
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
    """Check everything, one verdict a line, and with --fix mend what is safe before; 1 where one fails."""
    from memory import checkup, mending
    from memory import doctor as checks

    if call.words:
        raise UsageError("doctor wants no words, not '%s'; `--fix` mends what is safe" % shown(" ".join(call.words)))
    with call.spinner("checking"):
        done = mending.mend(call.place, call.now) if call.options.fix else []
        found = checks.examine(call.place, call.settings, call.env, call.now)
    value: Any = [check._asdict() for check in found]
    told = [terminal.one_line(line) for line in done] or ["nothing to mend that is safe to mend"]
    call.answer({"fixed": done, "checks": value} if call.options.fix else value,
                [*([*told, ""] if call.options.fix else []), *checks.lines(found, call.style())])
    return 1 if any(check.verdict == checkup.FAIL for check in found) else 0


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
    """Count records, pushes, tokens saved, times and model calls, and draw them."""
    from memory import charts, drawn, figures, lookup, timewords

    if call.words:
        raise UsageError("stats wants no words, not '%s'; `--since` names a time" % shown(" ".join(call.words)))
    if call.options.spend:
        spent = figures.spending(call.place.home, call.settings, call.now)
        return call.answer(spent, drawn.spend_lines(spent))
    since = timewords.instant(call.options.since, call.now, clock.local_offset(call.now)) if call.options.since else 0.0
    with call.spinner("counting"):
        places = lookup.workspaces(call.place, call.options.workspace or "")
        value = figures.figures(places, call.settings, call.now, since)
    return call.answer(value, drawn.lines(value, call.style(), call.options.ascii or charts.is_plain(call.env)))


def workspace(call: Call) -> int:
    """Name the workspace and its tiers."""
    place = call.place
    tiers = {paths.TIER_NAMES[letter]: folder for letter, folder in place.tiers()}
    rows = [["workspace", place.key], ["root", place.root], *([name, folder] for name, folder in tiers.items()),
            ["cache", place.cache]]
    return call.answer({"workspace": place.key, "root": place.root, "tiers": tiers, "cache": place.cache},
                       terminal.table(rows))
