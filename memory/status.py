"""What is there: paths, counts, freshness of the index, settings in force."""

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
    paths,
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
