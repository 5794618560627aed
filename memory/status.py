"""What is there: paths, counts, freshness of the index, settings in force; and figures over the receipts and the spend."""

from __future__ import annotations

import os
from typing import Any

from memory import (
    audit,
    clock,
    config,
    contexttags,
    files,
    index,
    indexer,
    jsonio,
    ledger,
    paths,
    receipts,
    spend,
    terminal,
    text,
    upkeep,
    vectors,
    why,
)
from memory.errors import IndexFault
from memory.manifests import around
from memory.store import Store

BUILD, REFRESH, EMBED = "`dayleaf index build`", "`dayleaf index refresh`", "`dayleaf index build --embeddings`"
MOST_LISTED = 10  # skipped records that are listed for a person
DAYS = 14  # of the calls that `stats --spend` lists
MOST_USED = 5


def gather(place: paths.Place, settings: config.Config, now: float) -> dict[str, Any]:
    """Return the state of a place as plain data.

    records: counts by kind and tier.  contextTags: with the weight and origin of each.  index: `state` fresh | stale |
    missing | damaged, with the command that mends it in `remedy`.  skipped: files that gave no record, with line, reason and
    remedy.
    """
    store = Store(place, settings, now)
    counts: dict[str, dict[str, int]] = {kind: {} for kind in paths.FOLDERS}
    tokens = 0
    read = list(store.each())
    for record in read:
        tier = paths.TIER_NAMES[record.tier]
        counts[record.kind][tier] = counts[record.kind].get(tier, 0) + 1
        tokens += record.tokens
    runtime = place.home + "/runtime/bin/python"
    return {
        "workspace": place.key, "root": place.root, "home": place.home,
        "tiers": {paths.TIER_NAMES[letter]: folder for letter, folder in place.tiers()},
        "records": {kind: tiers for kind, tiers in counts.items() if tiers},
        "total": sum(n for tiers in counts.values() for n in tiers.values()), "tokens": tokens,
        "index": index_state(place), "vectors": vectors.state(place), "audit": audit.last(place),
        "backend": "lexical" + (" + vectors" if settings["recall.semantic"] else ""),
        "skipped": [skipped._asdict() for skipped in store.skipped], "duplicates": store.duplicates,
        "runtime": {"python": runtime, "present": files.exists(runtime)},
        "off": why.switched_off(place, settings), "upkeep": upkeep.due(upkeep.plan(store, {}, read=read)),
        "contextTags": contexttags.to_json(around(place, settings)),
        "settings": {key: {"value": settings[key], "source": settings.sources[key]} for key in config.DEFAULTS},
        "problems": list(settings.problems)}


def index_state(place: paths.Place) -> dict[str, Any]:
    """Return what is known of a place's index: path, sizes, generation, counts, and whether it is behind the files.

    Files are compared as recall compares them; `dayleaf index verify` compares contents.
    """
    path = index.segment_path(place)
    value: dict[str, Any] = {"path": path, "tokeniser": text.VERSION}
    try:
        found = index.open_index(place, watch=False)
    except IndexFault as fault:
        there = files.exists(path)
        return {**value, "state": "damaged" if there else "missing", "why": str(fault).partition(";")[0], "remedy": BUILD}
    try:
        return {**value, **_opened(place, found, path)}
    except IndexFault as fault:
        return {**value, "state": "damaged", "why": str(fault).partition(";")[0], "remedy": BUILD}
    finally:
        found.close()


def _opened(place: paths.Place, found: index.Index, path: str) -> dict[str, Any]:
    base = found.segment
    assert base is not None
    seen = indexer.compare(found)
    behind = {"added": len(seen.added), "changed": len(seen.changed), "removed": len(seen.removed)}
    stale = any(behind.values())
    return {"state": "stale" if stale else "fresh", "behind": behind, "remedy": REFRESH if stale else "",
            "generation": base.generation, "built": clock.iso(base.built), "bytes": os.stat(path).st_size,
            "deltaBytes": len(found.delta.data), "deltaFrames": found.delta.frames, "records": found.records,
            "learnings": found.learnings, "learningTokens": found.learning_tokens,
            "documents": found.documents if found.records else 0,  # it is a divisor elsewhere, and never 0 itself
            "terms": base.terms, "whole": base.is_intact()}


def lines(value: dict[str, Any], style: terminal.Style) -> list[str]:
    """Write a state for a person."""
    runtime = value["runtime"]
    rows = [["workspace", value["workspace"]], *([name, folder] for name, folder in value["tiers"].items()),
            ["runtime", runtime["python"] if runtime["present"] else "missing; `install.sh` sets it up"]]
    changed = [[key, terminal.one_line(jsonio.dump(row["value"])), row["source"]] for key, row in value["settings"].items()
               if row["value"] != config.DEFAULTS[key]]
    out = [*terminal.table(rows), *why.off_lines(value["off"]), "", style.bold("Records"), *_counts(value), "",
           style.bold("Index"), *index_lines(value)[1:]]
    tags = [[terminal.one_line(tag["tag"]), "%g" % tag["weight"], terminal.one_line(tag["from"])] for tag in value["contextTags"]]
    if tags:
        out += ["", style.bold("Context tags"), *terminal.table(tags, "  ", (1,))]
    out += ["", "last audit: " + audit.last_line(value["audit"])]
    if value["upkeep"]:
        out += ["", "upkeep %s; %s" % (value["upkeep"], upkeep.LOOK)]
    if changed:
        out += ["", style.bold("Settings that are not the default"), *terminal.table(changed, "  ")]
    return out + ["! " + terminal.one_line(problem) for problem in value["problems"]]


def _counts(value: dict[str, Any]) -> list[str]:
    rows = [[kind, f"{sum(tiers.values()):,}", ", ".join("%s %d" % item for item in tiers.items())]
            for kind, tiers in value["records"].items()]
    return terminal.table(rows, "  ", (1,)) or ["  none yet: `dayleaf learn \"…\"` keeps the first"]


def index_lines(value: dict[str, Any]) -> list[str]:
    """Write the index's part of a state for a person."""
    found = value["index"]
    state = found["state"]
    if state == "stale":
        behind = ", ".join("%d %s" % (n, what) for what, n in found["behind"].items() if n)
        state += " (%s); %s mends it" % (behind, found["remedy"])
    elif state == "missing":
        state += "; %s makes one, until then recall reads the files" % found["remedy"]
    elif state == "damaged":
        state += " (%s); %s mends it" % (found["why"], found["remedy"])
    rows = [["state", state], ["path", found["path"]]]
    if "generation" in found:
        rows += [["segment", "{:,} bytes, generation {}, built {}{}".format(
            found["bytes"], found["generation"], found["built"],
            ", " + terminal.count(found["terms"], "term") if found["terms"] else "")],
                 ["delta", "{:,} bytes, {}".format(found["deltaBytes"], terminal.count(found["deltaFrames"], "frame"))],
                 ["holds", ", ".join(terminal.count(found[noun + "s"], noun) for noun in ("record", "document"))]]
    made = value["vectors"]
    if made["rows"] or made["problem"]:
        rows.append(["vectors", "{}, {}, {:,} bytes ({}){}".format(
            terminal.count(made["records"], "record"), terminal.count(made["rows"], "chunk"), made["bytes"], made["label"],
            "; %s, %s mends it" % (made["problem"], EMBED) if made["problem"] else
            "; %s behind, %s catches up" % (terminal.count(made["behind"], "file"), EMBED) if made["behind"] else "")])
    skipped = ["  skipped %s:%d: %s; %s" % (terminal.one_line(s["name"]), s["line"], s["reason"], s["remedy"])
               for s in value["skipped"][:MOST_LISTED]]
    rest = len(value["skipped"]) - MOST_LISTED
    return ["workspace  " + value["workspace"], *terminal.table(rows, "  "), *skipped,
            *(["  and %d more; `dayleaf doctor` lists them" % rest] if rest > 0 else [])]


# ---- figures

def figures(place: paths.Place, settings: config.Config, now: float) -> dict[str, Any]:
    """Return counts by kind and topic, what the receipts of this workspace say (pushes, times, tokens saved), and what the
    ledgers say of records that are there: most and least used."""
    counts: dict[str, int] = {}
    topics: dict[str, int] = {}
    learnings: dict[str, float] = {}
    ids: set[str] = set()
    for record in Store(place, settings, now).each():
        counts[record.kind] = counts.get(record.kind, 0) + 1
        for topic in {*record.topics, *record.tags}:
            topics[topic] = topics.get(topic, 0) + 1
        ids.add(record.id)
        if record.kind == "learning" and record.accepted:
            learnings[record.id] = record.created
    pushes = _pushes(place)
    pushed = pushes.pop("pushed")
    return {"records": counts, "topics": dict(sorted(topics.items(), key=lambda t: (-t[1], t[0]))[:20]),
            **pushes, "mostPushed": _most(pushed), **_used(place, ids, learnings, pushed),
            "spend": spending(place, settings, now)["today"]}


def _most(counted: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:MOST_USED])


def _used(place: paths.Place, ids: set[str], learnings: dict[str, float], pushed: dict[str, int]) -> dict[str, Any]:
    """Return the records used most, and the learnings used least: of those with equal uses the ones pushed most, then the oldest.

    ids: of the records that are there.  learnings: when each accepted one was made.  pushed: how often each was shown.
    """
    uses, _ = ledger.joined([{each.path: ledger.read(each) for each in ledger.ledgers(place)}], ids)
    least = sorted(learnings, key=lambda id: (uses.get(id, 0), -pushed.get(id, 0), learnings[id], id))[:MOST_USED]
    return {"mostUsed": _most(uses), "leastUsed": {id: {"uses": uses.get(id, 0), "pushed": pushed.get(id, 0)} for id in least}}


def _pushes(place: paths.Place) -> dict[str, Any]:
    times: dict[str, list[int]] = {}
    used: dict[str, int] = {}
    sessions = prompts = given = chars = saved = 0
    folder = place.receipts("x").rpartition("/")[0]
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".jsonl"))
    except OSError:
        names = []
    for name in names:
        rows = _receipts(folder + "/" + name)
        sessions += any(row.get("event") in ("start", "prompt") for row in rows)
        for row in rows:
            event = str(row.get("event"))
            if event not in ("start", "prompt"):
                continue
            times.setdefault(event, []).append(_whole(row.get("ms")))
            chosen = row.get("chosen") if isinstance(row.get("chosen"), list) else []
            prompts += event == "prompt"
            given += event == "prompt" and bool(chosen)
            chars += _whole(row.get("chars"))
            saved += _whole(row.get("saved"))
            for item in chosen or []:
                used[str(item[0])] = used.get(str(item[0]), 0) + 1
    return {"sessions": sessions, "prompts": prompts, "promptsGiven": given, "characters": chars,
            "charactersPerSession": round(chars / sessions) if sessions else 0, "tokensSaved": saved, "pushed": used,
            "hooks": {event: {"runs": len(ms), "p50": percentile(ms, 50), "p95": percentile(ms, 95)}
                      for event, ms in sorted(times.items())}}


def _receipts(path: str) -> list[dict[str, Any]]:
    try:
        return receipts.read(path)
    except OSError:
        return []


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) else 0


def percentile(values: list[int], percent: int) -> int:
    """Return the nearest-rank percentile of some values; 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def spending(place: paths.Place, settings: config.Config, now: float) -> dict[str, Any]:
    """Return today's model calls (UTC) beside their caps, and those of the last days by provider."""
    spent = spend.today(place.home, now)
    calls, tokens = int(settings["distill.dailyCalls"]), int(settings["distill.dailyTokens"])
    used = spent.tokens_in + spent.tokens_out + spent.planned
    return {"today": {**_spent(spent), "mostCalls": calls, "mostTokens": tokens, "callsLeft": max(calls - spent.calls, 0),
                      "tokensLeft": max(tokens - used, 0)},
            "days": [{"day": day, "provider": provider, **_spent(total)} for day, provider, total in spend.daily(
                place.home, clock.midnight(now) - (DAYS - 1) * clock.DAY, clock.midnight(now) + clock.DAY)]}


def _spent(total: spend.Totals) -> dict[str, Any]:
    return {"calls": total.calls, "failed": total.failed, "unknown": total.unknown, "tokensIn": total.tokens_in,
            "tokensOut": total.tokens_out, "dollars": round(total.cost, 4)}


def figure_lines(value: dict[str, Any]) -> list[str]:
    """Write figures for a person."""
    spent = value.get("today") or value["spend"]
    money = [["model calls today", "%d of %d%s, %d left" % (spent["calls"], spent["mostCalls"], ", %d failed" % spent["failed"]
                                                            if spent["failed"] else "", spent["callsLeft"])],
             ["tokens today", "{:,} in, {:,} out, of {:,}, {:,} left{}".format(
                 spent["tokensIn"], spent["tokensOut"], spent["mostTokens"], spent["tokensLeft"],
                 "; unknown for %s" % terminal.count(spent["unknown"], "call") if spent["unknown"] else "")],
             ["list price today", "$%.4f" % spent["dollars"]]]
    if "records" not in value:
        return [*terminal.table(money), *_day_lines(value["days"])]
    rows = [["records", ", ".join("%s %d" % item for item in value["records"].items()) or "none"],
            ["topics", ", ".join("%s (%d)" % (terminal.one_line(name), n) for name, n in value["topics"].items()) or "none"],
            ["sessions", "%d, %d of %s got something" % (
                value["sessions"], value["promptsGiven"], terminal.count(value["prompts"], "prompt"))],
            ["pushed", "{:,} characters, {:,} a session".format(value["characters"], value["charactersPerSession"])],
            ["saved", "{:,} tokens against loading every learning".format(value["tokensSaved"])],
            *(["hook " + event, "p50 %d ms, p95 %d ms over %s" % (row["p50"], row["p95"], terminal.count(row["runs"], "run"))]
              for event, row in value["hooks"].items()),
            ["most pushed", ", ".join("%s (%d)" % item for item in value["mostPushed"].items()) or "nothing"],
            ["most used", ", ".join("%s (%d)" % item for item in value["mostUsed"].items()) or "nothing"],
            ["least used", ", ".join("%s (%d, pushed %d)" % (id, row["uses"], row["pushed"])
                                     for id, row in value["leastUsed"].items()) or "nothing"], *money]
    return terminal.table(rows)


def _day_lines(days: list[dict[str, Any]]) -> list[str]:
    if not days:
        return []
    head = ["day (UTC)", "provider", "calls", "failed", "in", "out", "list price"]
    rows = [[row["day"], terminal.one_line(row["provider"]), str(row["calls"]), str(row["failed"]),
             "{:,}".format(row["tokensIn"]), "{:,}".format(row["tokensOut"]), "$%.4f" % row["dollars"]] for row in days]
    return ["", *terminal.table([head, *rows], "", (2, 3, 4, 5, 6))]
