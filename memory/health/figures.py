"""What is there and what happened: the state of a place for status, the figures of some for stats;
from the records, the receipts and the ledgers.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from memory.core import IndexFault, attempts, clock, config, files, layout, tokeniser, walk
from memory.core.records import Record
from memory.distill import spend
from memory.doors import registry
from memory.health import accounts, inspection
from memory.hook import context, indexview, receipts
from memory.hook.segment import Doc
from memory.index import builder
from memory.index.kept import Head, heads
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
WEEKS, SESSIONS = 26, 30  # the last ones that are drawn
WEEK = 7 * clock.DAY
RANKS = 8  # ranks that are told apart; the rest is one
FEW_FILES = 500  # up to which what is due is counted whenever somebody asks
EVENTS = ("start", "prompt", "agent", "wall")
# how vectors stand where there are none
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


def vectors(place: layout.Place) -> dict[str, Any]:
    """Return the state of a place's vectors, zeros without the door."""
    found = registry.optional("vectors", "state")
    return dict(found(place)) if found else dict(NO_VECTORS)


def state(place: layout.Place, settings: config.Config, now: float) -> dict[str, Any]:
    """Return the state of a place as plain data.

    claimed: the workspace that the directory claims without a proof, or "". records: counts by kind
        and tier. contextTags: with the weight and origin of each. index: `state` fresh | stale |
        missing | damaged, with the command that mends it in `remedy`. skipped: files that gave no
        record, with line, reason and remedy.
    """
    store = Store(place, settings, now)
    counts: dict[str, dict[str, int]] = {kind: {} for kind in layout.FOLDERS}
    tokens = 0
    walked = walk.Listing(place)
    index, rows = _index(place, walked)
    for row in heads(store, now, walked) if rows is None else _indexed(store, rows, walked):
        tier = layout.TIER_NAMES[row.tier]
        counts[row.kind][tier] = counts[row.kind].get(tier, 0) + 1
        tokens += row.tokens
    runtime = place.home + "/runtime/bin/python"
    return {
        "workspace": place.key,
        "claimed": place.claimed,
        "root": place.root,
        "home": place.home,
        "tiers": {layout.TIER_NAMES[letter]: folder for letter, folder in place.tiers()},
        "added": [tier.state() for tier in otherfiles.added(place, settings)],
        "records": {kind: tiers for kind, tiers in counts.items() if tiers},
        "total": sum(n for tiers in counts.values() for n in tiers.values()),
        "tokens": tokens,
        "index": index,
        "vectors": vectors(place),
        "audit": inspection.last(place),
        "backend": "lexical" + (" + vectors" if settings["recall.semantic"] else ""),
        "skipped": [skipped._asdict() for skipped in store.skipped],
        "duplicates": store.duplicates,
        "runtime": {"python": runtime, "present": files.exists(runtime)},
        "off": accounts.switched_off(place, settings),
        "unkept": accounts.not_kept(settings),
        "upkeep": outlook(store, walked)[0],
        "contextTags": context.to_json(project_tags(place)),
        "settings": {
            key: {"value": settings[key], "source": settings.sources[key]}
            for key in config.DEFAULTS
        },
        "problems": list(settings.problems),
    }


def _indexed(store: Store, rows: Sequence[Doc], walked: walk.Listing) -> Iterator[Doc | Record]:
    by_name = {row.name: row for row in rows}
    return store.each_by(
        lambda name: by_name.get(name) or store.read(name), store.names(walked=walked)
    )


def index_state(place: layout.Place, walked: walk.Listing | None = None) -> dict[str, Any]:
    """Return the figures of a place's index.

    Path, sizes, generation, counts, and whether it is behind the files. Files are compared as
    recall compares them; `dayleaf index verify` compares contents. walked: the place's files, where
    they were just listed.
    """
    return _index(place, walked or walk.Listing(place))[0]


def _index(place: layout.Place, walked: walk.Listing) -> tuple[dict[str, Any], list[Doc] | None]:
    path = indexview.segment_path(place)
    value: dict[str, Any] = {"path": path, "tokeniser": tokeniser.VERSION}
    try:
        found = indexview.open_index(place, watch=False)
    except IndexFault as fault:
        there = files.exists(path)
        return {
            **value,
            "state": "damaged" if there else "missing",
            "why": str(fault).partition(";")[0],
            "remedy": BUILD,
        }, None
    try:
        value.update(_opened(found, path, walked))
        return value, builder.first_documents(found) if value["state"] == "fresh" else None
    except IndexFault as fault:
        return {
            **value,
            "state": "damaged",
            "why": str(fault).partition(";")[0],
            "remedy": BUILD,
        }, None
    finally:
        found.close()


def _opened(found: indexview.Index, path: str, walked: walk.Listing) -> dict[str, Any]:
    base = found.segment
    assert base is not None
    seen = builder.compare(found, walked)
    behind = {"added": len(seen.added), "changed": len(seen.changed), "removed": len(seen.removed)}
    stale = any(behind.values())
    return {
        "state": "stale" if stale else "fresh",
        "behind": behind,
        "remedy": REFRESH if stale else "",
        "generation": base.generation,
        "built": clock.iso(base.built),
        "bytes": os.stat(path).st_size,
        "deltaBytes": len(found.delta.data),
        "deltaFrames": found.delta.frames,
        "records": found.records,
        "learnings": found.learnings,
        "learningTokens": found.learning_tokens,
        # it is a divisor elsewhere, and never 0 itself
        "documents": found.documents if found.records else 0,
        "terms": base.terms,
        "whole": base.is_intact(),
    }


# ---- what upkeep would do


def outlook(store: Store, walked: walk.Listing) -> tuple[str, int]:
    """Return (why upkeep is due, its changes), ("", -1) for many files."""
    if len(walked.found) > FEW_FILES:
        return "", -1
    found = housekeeping.plan(store, {})
    return housekeeping.summary_of_plan(found), len(found.changes)


# ---- figures of some


class Session(NamedTuple):
    """A session with its first instant and its receipts."""

    name: str
    began: float
    rows: list[dict[str, Any]]


def figures(
    place: layout.Place, settings: config.Config, now: float, since: float = 0.0
) -> dict[str, Any]:
    """Return the counted records, pushes, uses and times of a workspace.

    now, since: seconds since the epoch. Older events do not count; records are counted all, and
        `new` counts those not older.
    """
    store = Store(place, settings, now)
    found = list({record.id: record for record in heads(store, now)}.values())
    there = {record.id for record in found}
    sessions = sorted(_sessions(place, since), key=lambda one: (one.began, one.name))
    learnings = {r.id: r.created for r in found if r.kind == "learning" and r.accepted}
    uses = list(_uses(place, since))
    pushed = Counter(
        str(item[0])
        for session in sessions
        for row in session.rows
        for item in receipts.chosen(row)
    )
    used: dict[str, int] = Counter(id for _, _, id in uses)
    if not since:
        after = store.successors()
        tally = {
            book.path: ledger.follow_successors(ledger.read(book), after, there.__contains__)
            for book in ledger.ledgers(place)
        }
        used = ledger.sum_tallies([tally], there)[0]
    least = sorted(
        learnings, key=lambda id: (used.get(id, 0), -pushed.get(id, 0), learnings[id], id)
    )[:MOST_USED]
    named: dict[str, dict[str, Any]] = {
        "mostPushed": _most(pushed, MOST_USED),
        "mostUsed": _most({id: n for id, n in used.items() if id in there}, MOST_USED),
        "leastUsed": {id: {"uses": used.get(id, 0), "pushed": pushed.get(id, 0)} for id in least},
    }
    shown = {id for some in named.values() for id in some}
    return {
        "workspaces": [place.key],
        "since": clock.iso(since) if since else "",
        "records": dict(Counter(record.kind for record in found)),
        "new": sum(record.created >= since for record in found),
        "topics": _most(Counter(t for record in found for t in record.labels), MOST_TOPICS),
        "perWeek": _weeks(found, now),
        **_pushes(sessions, uses),
        "hooks": _times(sessions, place, since),
        **named,
        "titles": {record.id: record.title for record in found if record.id in shown},
        "spend": spending(place.home, settings, now)["today"],
    }


def _weeks(found: Sequence[Head], now: float) -> list[dict[str, Any]]:
    monday = clock.midnight(now) - clock.weekday(now) * clock.DAY
    made = Counter(int((record.created - monday) // WEEK) for record in found)
    return [
        {"week": clock.day(monday + at * WEEK), "records": made[at]} for at in range(1 - WEEKS, 1)
    ]


def _most(counted: dict[str, int], number: int) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:number])


# ---- what was pushed


def _sessions(place: layout.Place, since: float) -> Iterator[Session]:
    for name, rows in accounts.each_session(place):
        dated = [
            (clock.parse(str(row.get("t"))) or 0.0, row)
            for row in rows
            if row.get("event") in EVENTS
        ]
        kept = [pair for pair in dated if pair[0] >= since]
        if kept:
            yield Session(name, kept[0][0], [row for _, row in kept])


def tokens_of(row: dict[str, Any]) -> int:
    """Return the tokens that a receipt says were given."""
    return _integer(row["tokens"]) if "tokens" in row else -(-_integer(row.get("chars")) // 4)


def _pushes(sessions: Sequence[Session], uses: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    rows = [row for session in sessions for row in session.rows]
    prompts, agents = (
        [row for row in rows if row.get("event") == event] for event in ("prompt", "agent")
    )
    chars = sum(_integer(row.get("chars")) for row in rows)
    tokens = [
        {
            "session": session.name,
            "began": clock.iso(session.began),
            "tokens": sum(map(tokens_of, session.rows)),
            "characters": sum(_integer(row.get("chars")) for row in session.rows),
        }
        for session in sessions
    ]
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
        for rank, item in enumerate(receipts.chosen(row), 1)
    ]
    pushed = Counter(rank for rank, _, _ in given)
    used = Counter(rank for rank, _, is_used in given if is_used)
    return {
        "sessions": len(sessions),
        "prompts": len(prompts),
        "promptsGiven": sum(bool(receipts.chosen(row)) for row in prompts),
        "walls": sum(row.get("event") == "wall" for row in rows),
        "given": len(given),
        "givenUsed": sum(used.values()),
        "passages": sum(is_passage for _, is_passage, _ in given),
        "passagesUsed": sum(is_passage and is_used for _, is_passage, is_used in given),
        "subagents": len(agents),
        "subagentsGiven": sum(bool(receipts.chosen(row)) for row in agents),
        "ranks": [
            {"rank": rank, "pushed": pushed[rank], "used": used[rank]}
            for rank in range(1, max(pushed, default=0) + 1)
        ],
        "moments": accounts.by_moment(((one.name, one.rows) for one in sessions), known),
        "characters": chars,
        "charactersPerSession": round(chars / len(sessions)) if sessions else 0,
        "tokens": sum(row["tokens"] for row in tokens),
        "perSession": tokens[-SESSIONS:],
        "tokensSaved": sum(_integer(row.get("saved")) for row in rows),
    }


def _times(sessions: Sequence[Session], place: layout.Place, since: float) -> dict[str, Any]:
    """Return runs, median and 95th percentile by event, hooks before captures."""
    times: dict[str, list[int]] = {}
    for session in sessions:
        for row in session.rows:
            times.setdefault(str(row["event"]), []).append(_integer(row.get("ms")))
    captures: dict[str, list[int]] = {}
    for instant, trigger, took in attempts.timings(place):
        if instant >= since:
            captures.setdefault("capture " + trigger, []).append(took)
    return {
        event: {"runs": len(ms), "p50": percentile(ms, 50), "p95": percentile(ms, 95)}
        for event, ms in [*sorted(times.items()), *sorted(captures.items())]
    }


def percentile(values: Sequence[int], percent: int) -> int:
    """Return the nearest-rank percentile of some values, 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def _integer(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and value - value == 0 else 0


# ---- what was used, and what it cost


def _uses(place: layout.Place, since: float) -> Iterator[tuple[str, str, str]]:
    for book in ledger.ledgers(place):
        for row in ledger.uses(book):
            if (clock.parse(str(row.get("t"))) or 0.0) >= since:
                yield (
                    str(row.get("session") or ""),
                    str(row.get("prompt") or ""),
                    str(row.get("id")),
                )


def spending(home: str, settings: config.Config, now: float) -> dict[str, Any]:
    """Return today's model calls and the last days' by provider.

    Today's (UTC) beside their caps. home: dayleaf's directory. now: seconds since the epoch. Raises
    OSError.
    """
    spent = spend.today(home, now)
    calls, tokens = int(settings["distill.dailyCalls"]), spend.MOST_TOKENS
    used = spent.tokens_in + spent.tokens_out + spent.planned
    return {
        "today": {
            **_spent(spent),
            "mostCalls": calls,
            "mostTokens": tokens,
            "callsLeft": max(calls - spent.calls, 0),
            "tokensLeft": max(tokens - used, 0),
        },
        "days": [
            {"day": day, "provider": provider, **_spent(total)}
            for day, provider, total in spend.daily(
                home, clock.midnight(now) - (DAYS - 1) * clock.DAY, clock.midnight(now) + clock.DAY
            )
        ],
    }


def _spent(total: spend.Totals) -> dict[str, Any]:
    return {
        "calls": total.calls,
        "failed": total.failed,
        "unknown": total.unknown,
        "tokensIn": total.tokens_in,
        "tokensOut": total.tokens_out,
        "dollars": round(total.cost, 4),
    }
