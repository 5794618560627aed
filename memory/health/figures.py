"""What is there and what happened: the state of a place for status, the figures of some for stats;
from the records, the receipts and the ledgers.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from memory.core import (
    IndexFault,
    attempts,
    clock,
    config,
    files,
    layout,
    tokeniser,
    walk,
)
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
UPTO = (5, 10, 20, 50, 100, 200, 500, 1000)  # milliseconds, the upper ends of the histogram's steps
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
        "upkeep": outlook(store, walked).due,
        "contextTags": context.to_json(project_tags(place)),
        "settings": {
            key: {"value": settings[key], "source": settings.sources[key]}
            for key in config.DEFAULTS
        },
        "problems": list(settings.problems),
    }


def _indexed(store: Store, rows: Sequence[Doc], walked: walk.Listing) -> Iterator[Doc | Record]:
    """Yield each record's document from the index, or its file."""
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
    """Return an index's figures and its records' first documents."""
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


class Outlook(NamedTuple):
    """A short forecast of upkeep.

    due: "" where it is not worth a run. changes: how many, -1 where not counted.
    """

    due: str
    changes: int


def outlook(store: Store, walked: walk.Listing) -> Outlook:
    """Return a forecast of the next upkeep, counted where the files are few.

    walked: the place's files.
    """
    if len(walked.found) > FEW_FILES:
        return Outlook("", -1)
    found = housekeeping.plan(store, {})
    return Outlook(housekeeping.summary_of_plan(found), len(found.changes))


# ---- figures of some


class Session(NamedTuple):
    """A session with its first instant and its receipts."""

    name: str
    began: float
    rows: list[dict[str, Any]]


def figures(
    places: Sequence[layout.Place], settings: config.Config, now: float, since: float = 0.0
) -> dict[str, Any]:
    """Return the counted records, pushes, uses and times of workspaces.

    places: the present one first; records of the global tier count in it alone. now, since: seconds
        since the epoch. since: older events do not count; records are counted all, and `new` counts
        those not older.
    """
    found = [
        record for place in places for record in _records(place, settings, now, place is places[0])
    ]
    sessions = [session for place in places for session in _sessions(place, since)]
    sessions.sort(key=lambda session: (session.began, session.name))
    learnings = {
        record.id: record.created
        for record in found
        if record.kind == "learning" and record.accepted
    }
    uses = [use for place in places for use in _uses(place, since, place is places[0])]
    pushed = Counter(
        str(item[0])
        for session in sessions
        for row in session.rows
        for item in receipts.chosen(row)
    )
    folds: dict[str, int] = (
        Counter(id for _, _, id in uses)
        if since
        else _use_counts(places, settings, now, {r.id for r in found})
    )
    there = {record.id for record in found}
    least = sorted(
        learnings, key=lambda id: (folds.get(id, 0), -pushed.get(id, 0), learnings[id], id)
    )[:MOST_USED]
    named: dict[str, dict[str, Any]] = {
        "mostPushed": _most(pushed),
        "mostUsed": _most({id: n for id, n in folds.items() if id in there}),
        "leastUsed": {id: {"uses": folds.get(id, 0), "pushed": pushed.get(id, 0)} for id in least},
    }
    shown = {id for some in named.values() for id in some}
    topics = Counter(topic for record in found for topic in record.labels)
    return {
        "workspaces": [place.key for place in places],
        "since": clock.iso(since) if since else "",
        "records": dict(Counter(record.kind for record in found)),
        "new": sum(record.created >= since for record in found),
        "topics": dict(sorted(topics.items(), key=lambda t: (-t[1], t[0]))[:MOST_TOPICS]),
        "perWeek": _weeks(found, now),
        **_pushes(sessions, uses),
        "hooks": _times(sessions, places, since),
        **named,
        "titles": {record.id: record.title for record in found if record.id in shown},
        "spend": spending(places[0].home, settings, now)["today"],
    }


def _records(
    place: layout.Place, settings: config.Config, now: float, everyone: bool
) -> Iterator[Head]:
    """Yield the heads of a workspace's records, without double ids."""
    seen: set[str] = set()
    for record in heads(Store(place, settings, now), now):
        if (everyone or record.tier != layout.GLOBAL) and record.id not in seen:
            seen.add(record.id)
            yield record


def _weeks(found: Sequence[Head], now: float) -> list[dict[str, Any]]:
    monday = clock.midnight(now) - clock.weekday(now) * clock.DAY
    made = Counter(int((record.created - monday) // WEEK) for record in found)
    return [
        {"week": clock.day(monday + at * WEEK), "records": made[at]} for at in range(1 - WEEKS, 1)
    ]


def _most(counted: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:MOST_USED])


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


class Given(NamedTuple):
    """A record given to a prompt: its rank, and whether the same turn used it."""

    rank: int
    passage: bool
    used: bool


def _given(sessions: Sequence[Session], uses: Sequence[tuple[str, str, str]]) -> list[Given]:
    known = set(uses)
    return [
        Given(
            rank,
            str(item[-1]).startswith("passage"),
            accounts.use_key(session.name, row, str(item[0])) in known,
        )
        for session in sessions
        for row in session.rows
        if row.get("event") == "prompt"
        for rank, item in enumerate(receipts.chosen(row), 1)
    ]


def _pushes(sessions: Sequence[Session], uses: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    rows = [row for session in sessions for row in session.rows]
    prompts = [row for row in rows if row.get("event") == "prompt"]
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
    agents = [row for row in rows if row.get("event") == "agent"]
    given = _given(sessions, uses)
    pushed = Counter(min(one.rank, RANKS) for one in given)
    used = Counter(min(one.rank, RANKS) for one in given if one.used)
    return {
        "sessions": len(sessions),
        "prompts": len(prompts),
        "promptsGiven": sum(bool(receipts.chosen(row)) for row in prompts),
        "walls": sum(row.get("event") == "wall" for row in rows),
        "given": len(given),
        "givenUsed": sum(one.used for one in given),
        "passages": sum(one.passage for one in given),
        "passagesUsed": sum(one.passage and one.used for one in given),
        "subagents": len(agents),
        "subagentsGiven": sum(bool(receipts.chosen(row)) for row in agents),
        "ranks": [
            {"rank": rank, "pushed": pushed[rank], "used": used[rank]}
            for rank in range(1, max(pushed, default=0) + 1)
        ],
        "moments": accounts.by_moment(((one.name, one.rows) for one in sessions), set(uses)),
        "characters": chars,
        "charactersPerSession": round(chars / len(sessions)) if sessions else 0,
        "tokens": sum(row["tokens"] for row in tokens),
        "perSession": tokens[-SESSIONS:],
        "tokensSaved": sum(_integer(row.get("saved")) for row in rows),
    }


def _times(
    sessions: Sequence[Session], places: Sequence[layout.Place], since: float
) -> dict[str, Any]:
    """Return runs, median, 95th percentile and histogram by event."""
    times: dict[str, list[int]] = {}
    for session in sessions:
        for row in session.rows:
            times.setdefault(str(row["event"]), []).append(_integer(row.get("ms")))
    for place in places:
        for instant, trigger, took in attempts.timings(place):
            if instant >= since:
                times.setdefault("capture " + trigger, []).append(took)
    return {
        event: {
            "runs": len(ms),
            "p50": percentile(ms, 50),
            "p95": percentile(ms, 95),
            "histogram": histogram(ms),
        }
        for event, ms in sorted(
            times.items(), key=lambda item: (item[0].startswith("capture"), item[0])
        )
    }


def histogram(values: Sequence[int]) -> list[dict[str, Any]]:
    """Return the number of values in each step of UPTO.

    From the first to the last step with a value; `upto` is None above all.
    """
    steps = [
        next((at for at, top in enumerate(UPTO) if value <= top), len(UPTO)) for value in values
    ]
    held = Counter(steps)
    return (
        [
            {"upto": UPTO[at] if at < len(UPTO) else None, "runs": held[at]}
            for at in range(min(steps), max(steps) + 1)
        ]
        if steps
        else []
    )


def percentile(values: Sequence[int], percent: int) -> int:
    """Return the nearest-rank percentile of some values, 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def _integer(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and value - value == 0 else 0


# ---- what was used, and what it cost


def _ledgers_of(place: layout.Place, everyone: bool) -> Sequence[ledger.Ledger]:
    return ledger.ledgers(place)[: 2 if everyone else 1]


def _uses(place: layout.Place, since: float, everyone: bool) -> Iterator[tuple[str, str, str]]:
    for book in _ledgers_of(place, everyone):
        for row in ledger.uses(book):
            if (clock.parse(str(row.get("t"))) or 0.0) >= since:
                yield (
                    str(row.get("session") or ""),
                    str(row.get("prompt") or ""),
                    str(row.get("id")),
                )


def _use_counts(
    places: Sequence[layout.Place], settings: config.Config, now: float, ids: set[str]
) -> dict[str, int]:
    tallies = []
    for place in places:
        successors = Store(place, settings, now).successors()
        tallies.append(
            {
                book.path: ledger.follow_successors(ledger.read(book), successors, ids.__contains__)
                for book in _ledgers_of(place, place is places[0])
            }
        )
    return ledger.sum_tallies(tallies, ids)[0]


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
