"""The state of a place for `status`, its figures for `stats`: from records, receipts, ledgers."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from memory.core import IndexFault, attempts, clock, config, files, layout, tokeniser, walk
from memory.core.records import Record
from memory.distill import spend
from memory.doors import registry
from memory.health import accounts, inspection
from memory.hook import context, indexview, receipts
from memory.hook.segment import Doc
from memory.index import builder
from memory.index.kept import Head, read_heads
from memory.knowledge import housekeeping
from memory.project import otherfiles
from memory.project.manifests import project_tags
from memory.store import ledger
from memory.store.store import Store

BUILD, REFRESH, EMBED = (
    "`dayleaf index build`",
    "`dayleaf index refresh`",
    "`dayleaf index build --embeddings`",
)
DAYS = 14  # of the calls that `stats --spend` lists
MOST_USED = 5
MOST_TOPICS = 20
WEEKS, SESSIONS = 26, 30  # the latest, which are drawn
WEEK = 7 * clock.DAY
RANKS = 8  # the last rank of the figures stands for all below
FEW_FILES = 500  # files up to which upkeep is always previewed
EVENTS = ("start", "prompt", "agent", "wall")
# the state of vectors without the door
NO_VECTORS = {
    "rows": 0,
    "records": 0,
    "label": "",
    "dims": 0,
    "bytes": 0,
    "frames": 0,
    "behind": 0,
    "problem": "",
}


# ---- the state of one place


def read_vector_state(place: layout.Place) -> dict[str, Any]:
    """Return the state of a place's vectors, zeros if these are not installed."""
    found = registry.optional("vectors", "state")
    return dict(found(place)) if found else dict(NO_VECTORS)


def read_state(place: layout.Place, settings: config.Config, now: float) -> dict[str, Any]:
    """Return the state of a place as plain data.

    claimed: a workspace without proof, or "". records: counts by kind and tier. contextTags: with
    weight and origin. skipped: unreadable files with line, reason and remedy.
    """
    store = Store(place, settings, now)
    walked = walk.Listing(place)
    index, docs = _read_index(place, walked)
    heads: Iterable[Head | Doc | Record] = read_heads(store, now, walked)
    if docs is not None:
        heads = _read_indexed(store, docs, walked)
    tier_counts: dict[str, Counter[str]] = {kind: Counter() for kind in layout.FOLDERS}
    tokens = 0
    for head in heads:
        tier_counts[head.kind][layout.TIER_NAMES[head.tier]] += 1
        tokens += head.tokens
    runtime = place.home + "/runtime/bin/python"
    return {
        "workspace": place.key,
        "claimed": place.claimed,
        "root": place.root,
        "home": place.home,
        "tiers": {layout.TIER_NAMES[letter]: folder for letter, folder in place.tiers()},
        "added": [tier.state() for tier in otherfiles.list_added_tiers(place, settings)],
        "records": {kind: dict(tiers) for kind, tiers in tier_counts.items() if tiers},
        "total": sum(tiers.total() for tiers in tier_counts.values()),
        "tokens": tokens,
        "index": index,
        "vectors": read_vector_state(place),
        "audit": inspection.read_last(place),
        "backend": "lexical" + (" + vectors" if settings["recall.semantic"] else ""),
        "skipped": [skipped._asdict() for skipped in store.skipped],
        "duplicates": store.duplicates,
        "runtime": {"python": runtime, "present": files.exists(runtime)},
        "off": accounts.find_disabled_pushes(place, settings),
        "unkept": accounts.find_disabled_capture(settings),
        "upkeep": preview_upkeep(store, walked)[0],
        "contextTags": context.to_json(project_tags(place)),
        "settings": {
            key: {"value": settings[key], "source": settings.sources[key]}
            for key in config.DEFAULTS
        },
        "problems": list(settings.problems),
    }


def _read_indexed(
    store: Store, rows: Sequence[Doc], walked: walk.Listing
) -> Iterator[Doc | Record]:
    """Yield the documents of an index, and the records that it lacks."""
    by_name = {row.name: row for row in rows}
    return store.each_by(
        lambda name: by_name.get(name) or store.read(name), store.names(walked=walked)
    )


def read_index_state(place: layout.Place, walked: walk.Listing | None = None) -> dict[str, Any]:
    """Return the state and figures of a place's index.

    Files are compared as recall compares them; `dayleaf index verify` compares contents.
    """
    return _read_index(place, walked or walk.Listing(place))[0]


def _read_index(
    place: layout.Place, walked: walk.Listing
) -> tuple[dict[str, Any], list[Doc] | None]:
    """Return (figures, the documents of a fresh index or None)."""
    path = indexview.segment_path(place)
    value: dict[str, Any] = {"path": path, "tokeniser": tokeniser.VERSION}
    try:
        with closing(indexview.open_index(place, watch=False)) as found:
            value.update(_index_figures(found, path, walked))
            return value, builder.list_first_documents(found) if value["state"] == "fresh" else None
    except IndexFault as fault:
        state, why = "damaged" if files.exists(path) else "missing", str(fault).partition(";")[0]
        return {**value, "state": state, "why": why, "remedy": BUILD}, None


def _index_figures(index: indexview.Index, path: str, walked: walk.Listing) -> dict[str, Any]:
    base = index.segment
    assert base is not None
    diff = builder.compare(index, walked)
    behind = {"added": len(diff.added), "changed": len(diff.changed), "removed": len(diff.removed)}
    stale = any(behind.values())
    return {
        "state": "stale" if stale else "fresh",
        "behind": behind,
        "remedy": REFRESH if stale else "",
        "generation": base.generation,
        "built": clock.iso(base.built),
        "bytes": os.stat(path).st_size,
        "deltaBytes": len(index.delta.data),
        "deltaFrames": index.delta.frames,
        "records": index.records,
        "learnings": index.learnings,
        "learningTokens": index.learning_tokens,
        # index.documents is a divisor and never 0
        "documents": index.documents if index.records else 0,
        "terms": base.terms,
        "whole": base.is_intact(),
    }


# ---- what upkeep would do


def preview_upkeep(store: Store, walked: walk.Listing) -> tuple[str, int]:
    """Return (why upkeep is due or "", number of changes or -1 if not counted)."""
    if len(walked.found) > FEW_FILES:
        return "", -1
    found = housekeeping.plan_upkeep(store, {})
    return housekeeping.summarise_plan(found), len(found.changes)


# ---- figures


class Session(NamedTuple):
    """A session with its first instant and its receipts."""

    name: str
    began: float
    rows: list[dict[str, Any]]


def collect_figures(
    place: layout.Place, settings: config.Config, now: float, since: float = 0.0
) -> dict[str, Any]:
    """Count the records, pushes, uses and times of a workspace.

    since: of the oldest event and of `new` records.
    """
    store = Store(place, settings, now)
    heads = list({record.id: record for record in read_heads(store, now)}.values())
    ids = {record.id for record in heads}
    sessions = sorted(
        _read_sessions(place, since), key=lambda session: (session.began, session.name)
    )
    learnings = {r.id: r.created for r in heads if r.kind == "learning" and r.accepted}
    uses = list(_read_uses(place, since))
    pushed = Counter(
        str(item[0])
        for session in sessions
        for row in session.rows
        for item in receipts.list_chosen(row)
    )
    used: dict[str, int] = Counter(id for _, _, id in uses)
    if not since:
        after = store.successors()
        tally = {
            book.path: ledger.add_to_successors(ledger.read(book), after, ids.__contains__)
            for book in ledger.ledgers(place)
        }
        used = ledger.sum_tallies([tally], ids)[0]
    least = sorted(
        learnings, key=lambda id: (used.get(id, 0), -pushed.get(id, 0), learnings[id], id)
    )[:MOST_USED]
    rankings: dict[str, dict[str, Any]] = {
        "mostPushed": _most_frequent(pushed, MOST_USED),
        "mostUsed": _most_frequent({id: n for id, n in used.items() if id in ids}, MOST_USED),
        "leastUsed": {id: {"uses": used.get(id, 0), "pushed": pushed.get(id, 0)} for id in least},
    }
    shown = {id for ranking in rankings.values() for id in ranking}
    return {
        "workspaces": [place.key],
        "since": clock.iso(since) if since else "",
        "records": dict(Counter(record.kind for record in heads)),
        "new": sum(record.created >= since for record in heads),
        "topics": _most_frequent(
            Counter(t for record in heads for t in record.labels), MOST_TOPICS
        ),
        "perWeek": _count_by_week(heads, now),
        **_count_pushes(sessions, uses),
        "hooks": _measure_times(sessions, place, since),
        **rankings,
        "titles": {record.id: record.title for record in heads if record.id in shown},
        "spend": read_spending(place.home, settings, now)["today"],
    }


def _count_by_week(found: Sequence[Head], now: float) -> list[dict[str, Any]]:
    monday = clock.midnight(now) - clock.weekday(now) * clock.DAY
    made = Counter(int((record.created - monday) // WEEK) for record in found)
    return [
        {"week": clock.day(monday + at * WEEK), "records": made[at]} for at in range(1 - WEEKS, 1)
    ]


def _most_frequent(counted: dict[str, int], number: int) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:number])


# ---- what was pushed


def _read_sessions(place: layout.Place, since: float) -> Iterator[Session]:
    for name, rows in accounts.read_sessions(place):
        dated = [
            (clock.parse(str(row.get("t"))) or 0.0, row)
            for row in rows
            if row.get("event") in EVENTS
        ]
        kept = [pair for pair in dated if pair[0] >= since]
        if kept:
            yield Session(name, kept[0][0], [row for _, row in kept])


def receipt_tokens(row: dict[str, Any]) -> int:
    """Return a receipt's tokens, estimated from characters in old receipts."""
    return _as_integer(row["tokens"]) if "tokens" in row else -(-_as_integer(row.get("chars")) // 4)


def _count_pushes(
    sessions: Sequence[Session], uses: Sequence[tuple[str, str, str]]
) -> dict[str, Any]:
    rows = [row for session in sessions for row in session.rows]
    prompts, agents, walls = (
        [row for row in rows if row.get("event") == event] for event in ("prompt", "agent", "wall")
    )
    spent = [
        {
            "session": session.name,
            "began": clock.iso(session.began),
            "tokens": sum(map(receipt_tokens, session.rows)),
            "characters": _sum_field(session.rows, "chars"),
        }
        for session in sessions
    ]
    chars = _sum_field(rows, "chars")
    known = set(uses)
    # (rank, whether it is a passage, whether the same turn used it)
    given = [
        (
            min(rank, RANKS),
            str(item[-1]).startswith("passage"),
            accounts.use_key(session.name, row, str(item[0])) in known,
        )
        for session in sessions
        for row in session.rows
        if row.get("event") == "prompt"
        for rank, item in enumerate(receipts.list_chosen(row), 1)
    ]
    pushed = Counter(rank for rank, _, _ in given)
    used = Counter(rank for rank, _, is_used in given if is_used)
    return {
        "sessions": len(sessions),
        "prompts": len(prompts),
        "promptsGiven": sum(bool(receipts.list_chosen(row)) for row in prompts),
        "walls": len(walls),
        "given": len(given),
        "givenUsed": sum(used.values()),
        "passages": sum(is_passage for _, is_passage, _ in given),
        "passagesUsed": sum(is_passage and is_used for _, is_passage, is_used in given),
        "subagents": len(agents),
        "subagentsGiven": sum(bool(receipts.list_chosen(row)) for row in agents),
        "ranks": [
            {"rank": rank, "pushed": pushed[rank], "used": used[rank]}
            for rank in range(1, max(pushed, default=0) + 1)
        ],
        "moments": accounts.count_by_moment(((s.name, s.rows) for s in sessions), known),
        "characters": chars,
        "charactersPerSession": round(chars / len(sessions)) if sessions else 0,
        "tokens": sum(map(receipt_tokens, rows)),
        "perSession": spent[-SESSIONS:],
        "tokensSaved": _sum_field(rows, "saved"),
    }


def _sum_field(rows: Iterable[dict[str, Any]], key: str) -> int:
    return sum(_as_integer(row.get(key)) for row in rows)


def _measure_times(
    sessions: Sequence[Session], place: layout.Place, since: float
) -> dict[str, Any]:
    """Return how often hooks and captures ran, with median and 95th percentile."""
    hooks, captures = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    for session in sessions:
        for row in session.rows:
            hooks[row["event"]].append(_as_integer(row.get("ms")))
    for instant, trigger, took in attempts.list_timings(place):
        if instant >= since:
            captures["capture " + trigger].append(took)
    return {
        event: {"runs": len(ms), "p50": percentile(ms, 50), "p95": percentile(ms, 95)}
        for event, ms in [*sorted(hooks.items()), *sorted(captures.items())]
    }


def percentile(values: Sequence[int], percent: int) -> int:
    """Return the nearest-rank percentile of values, 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def _as_integer(value: Any) -> int:
    is_finite = isinstance(value, (int, float)) and abs(value) < float("inf")  # and no NaN
    return int(value) if is_finite else 0


# ---- what was used, and what it cost


def _read_uses(place: layout.Place, since: float) -> Iterator[tuple[str, str, str]]:
    for book in ledger.ledgers(place):
        for row in ledger.read_uses(book):
            if (clock.parse(str(row.get("t"))) or 0.0) >= since:
                session, prompt = (str(row.get(key) or "") for key in ("session", "prompt"))
                yield session, prompt, str(row.get("id"))


def read_spending(home: str, settings: config.Config, now: float) -> dict[str, Any]:
    """Return model calls: today's (UTC) with their caps, the last days' by provider.

    The caps of digests count no call for a note; these have a cap of their own.
    """
    spent, tomorrow = spend.sum_today(home, now, spend.DISTILL), clock.midnight(now) + clock.DAY
    notes, most_notes = spend.sum_today(home, now, spend.NOTES), settings["notes.dailyCalls"]
    calls, tokens = settings["distill.dailyCalls"], spend.MOST_TOKENS
    used = spent.tokens_in + spent.tokens_out + spent.planned
    return {
        "today": {
            **_totals_to_json(spent),
            "mostCalls": calls,
            "mostTokens": tokens,
            "callsLeft": max(calls - spent.calls, 0),
            "tokensLeft": max(tokens - used, 0),
            "notes": {
                **_totals_to_json(notes),
                "mostCalls": most_notes,
                "callsLeft": max(most_notes - notes.calls, 0),
            },
        },
        "days": [
            {"day": day, "provider": provider, **_totals_to_json(total)}
            for day, provider, total in spend.sum_by_day(
                home, tomorrow - DAYS * clock.DAY, tomorrow
            )
        ],
    }


def _totals_to_json(total: spend.Totals) -> dict[str, Any]:
    return {
        "calls": total.calls,
        "failed": total.failed,
        "unknown": total.unknown,
        "tokensIn": total.tokens_in,
        "tokensOut": total.tokens_out,
        "dollars": round(total.cost, 4),
    }
