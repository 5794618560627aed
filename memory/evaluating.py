"""The verb that measures recall by the user's own questions: eval."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any

from memory import clock, files, terminal
from memory.call import Call
from memory.errors import StoreError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.goldens import Set
    from memory.measured import Measured
    from memory.records import Record

MOST_MOVED = 10  # changes of rank that are listed
HEADS = ("recall@1", "recall@5", "recall@10", "MRR")


def evaluate(call: Call) -> int:
    """Measure the rankers by golden queries, or draft such queries from the store; 1 where --strict and below the floor."""
    return _draft(call) if call.options.template else _measure(call)


def _draft(call: Call) -> int:
    """Write a file of golden queries drafted from the store; nothing is overwritten."""
    from memory import goldens

    if len(call.words) > 1:
        raise UsageError("eval --template wants one file at the most, not %d words" % len(call.words))
    path = os.path.abspath(call.words[0]) if call.words else "%s/evals/%s" % (call.place.private, goldens.NAME)
    if os.path.lexists(path):
        raise StoreError("%s is there already; edit it, or name another file" % path)
    with call.spinner("reading the records"):
        drafts = goldens.draft(list(call.store().each()), call.store().cleaned)
    if not drafts:
        raise StoreError("no record to draft queries from; `dayleaf learn \"…\"` keeps the first")
    try:
        files.create(path, goldens.template(drafts).encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError("%s: not written, %s; name another file" % (path, (error.strerror or "").lower())) from None
    named = " " + shlex.quote(terminal.one_line(path)) if call.words else ""
    return call.answer({"path": path, "queries": len(drafts)}, [
        "drafted %d quer%s: %s" % (len(drafts), "y" if len(drafts) == 1 else "ies", path),
        "edit them to what you would ask, then `dayleaf eval%s`" % named])


def _measure(call: Call) -> int:
    from memory import goldens, measured

    records, merged = _records(call), call.store().successors()
    results = []
    for path in _paths(call):
        golden = goldens.read(path, call.now, clock.local_offset(call.now))
        with call.spinner("asking") as spinner:
            def told(ranker: str) -> None:
                spinner.step = "asking %s" % ranker

            found = measured.measure(call.place, call.settings, call.env, golden, records, merged, call.now,
                                     clock.local_offset(call.now), told)
        results.append(_result(call, golden, found, records))
    below = [fault for one in results for fault in one["below"]]
    if call.options.strict and not any(one["floor"] for one in results):
        raise UsageError("--strict wants a floor in the file, such as `floor: {recall@5: 0.8, mrr: 0.6}`")
    lines = [line for at, one in enumerate(results) for line in ([""] if at else []) + _lines(one, call)]
    call.answer(results, lines)
    return 1 if call.options.strict and below else 0


def _records(call: Call) -> list[Record]:
    """Return the records of the workspace; raises StoreError where there is none."""
    with call.spinner("reading the records"):
        records = list(call.store().each())
    if not records:
        raise StoreError("no record here yet, so there is nothing to find; `dayleaf learn \"…\"` keeps the first")
    return records


def _paths(call: Call) -> list[str]:
    """Return the files named, else those of the private and the shared tier; raises StoreError where there is none."""
    if call.words:
        return [os.path.abspath(word) for word in call.words]
    found = []
    for folder in filter(None, (call.place.private, call.place.shared)):
        root = folder + "/evals"
        names = sorted(os.listdir(root)) if os.path.isdir(root) and files.inside(root, folder) else []
        found += [root + "/" + name for name in names if name.endswith((".yaml", ".yml")) and name[0] != "."]
    if not found:
        raise StoreError("no golden queries yet; `dayleaf eval --template` drafts some from your records")
    return found


def _result(call: Call, golden: Set, found: Measured, records: Sequence[Record]) -> dict[str, Any]:
    """Return all that is told of one file, and keep the run."""
    from memory import measured

    row, before = measured.row(found, golden.path, call.settings, records, call.now), measured.last(call.place, golden.path)
    measures = found.measures[found.main]
    try:
        measured.keep(call.place, row)
    except OSError:
        found = found._replace(notes=(*found.notes, "the run could not be kept; the next one has nothing to compare with"))
    misses = [{"query": one.id, "text": one.query.text, "missed": [id for id, rank in found.ranks[one.id].items() if not rank]}
              for one in found.golden]
    return {
        "path": golden.path, "queries": len(found.golden), "leftOut": found.left_out, "gone": found.gone, "main": found.main,
        "rankers": found.measures, "notes": found.notes, "misses": [one for one in misses if one["missed"]],
        "floor": golden.floor, "below": [{"measure": name, "floor": least, "reached": measures[name]}
                                         for name, least in golden.floor.items() if measures[name] < least],
        "since": before.get("t", ""), "before": before.get("measures", {}).get(found.main, {}) if before else {},
        "changed": measured.changed(before, row) if before else [], "moved": measured.moved(before, row) if before else []}


# ---- for a person

def _lines(one: dict[str, Any], call: Call) -> list[str]:
    style = call.style()
    asked = "%d quer%s" % (one["queries"], "y" if one["queries"] == 1 else "ies")
    out = [style.bold("%s of %s" % (asked, terminal.one_line(one["path"])))]
    gone = sorted({id for ids in one["gone"].values() for id in ids})
    if gone:
        out.append("! %s expected and no record: %s%s; mend the file, or `dayleaf restore ID`" % (
            terminal.count(len(gone), "id"), ", ".join(map(terminal.one_line, gone[:3])), " …" if len(gone) > 3 else ""))
    if one["leftOut"]:
        out.append("! left out, since nothing is left that they expect: " + ", ".join(map(terminal.one_line, one["leftOut"])))
    out += ["", *_table(one["rankers"], one["main"]), *one["notes"], *_history(one)]
    out += _misses(one) if call.options.misses else []
    out += ["! %s is %.2f with %s, below the floor of %.2f" % (
        fault["measure"], fault["reached"], one["main"], fault["floor"]) for fault in one["below"]]
    return [terminal.one_line(line) if line.startswith("!") else line for line in out]


def _table(rankers: dict[str, dict[str, float]], main: str) -> list[str]:
    """Write a row a ranker; the best of each column bears a star, and the one that recall uses is named."""
    from memory import goldens

    best = {name: max(each[name] for each in rankers.values()) for name in goldens.MEASURES}
    rows = [[ranker, *("%.2f%s" % (each[name], "*" if each[name] == best[name] else " ") for name in goldens.MEASURES),
             "what recall uses" if ranker == main else ""] for ranker, each in rankers.items()]
    return terminal.table([["", *(head + " " for head in HEADS), ""], *rows], "  ", (1, 2, 3, 4))


def _history(one: dict[str, Any]) -> list[str]:
    """Say what is another than at the last run."""
    from memory import goldens

    if not one["since"]:
        return ["", "the first run of this file; the next one tells what has changed"]
    now, then = one["rankers"][one["main"]], one["before"]
    pairs = ["%s %.2f → %.2f" % (head, then[name], now[name]) for name, head in zip(goldens.MEASURES, HEADS)
             if isinstance(then.get(name), (int, float)) and then[name] != now[name]]
    why = " (%s changed)" % ", ".join(one["changed"]) if one["changed"] else ""
    out = ["", "since %s%s: %s" % (one["since"], why, ", ".join(pairs) or "the same measures")]
    for row in one["moved"][:MOST_MOVED]:
        verb = "lost" if not row["after"] else "found" if not row["before"] else (
            "lower" if row["after"] > row["before"] else "higher")
        out.append("  %s %s %s (rank %s → %s)" % (terminal.one_line(row["query"]), verb, terminal.one_line(row["id"]),
                                                 row["before"] or "–", row["after"] or "–"))
    rest = len(one["moved"]) - MOST_MOVED
    return out + (["  and %d more; --json has them all" % rest] if rest > 0 else [])


def _misses(one: dict[str, Any]) -> list[str]:
    if not one["misses"]:
        return ["", "nothing expected is missed among the first ten"]
    rows = [[terminal.one_line(miss["query"]), ", ".join(map(terminal.one_line, miss["missed"])), terminal.one_line(miss["text"])]
            for miss in one["misses"]]
    return ["", "Missed among the first ten", *terminal.table(rows, "  ")]
