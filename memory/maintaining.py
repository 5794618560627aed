"""The verbs that look after the records: upkeep, undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory import terminal
from memory.call import Call, warn
from memory.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.contradictions import Pair
    from memory.upkeep import Change, Plan

TITLE = 60  # columns of a title
MORE = "`dayleaf upkeep --clock-is-right` goes by the clock"


def upkeep(call: Call) -> int:
    """Say what would be merged and archived, or do it with --apply; or list contradictions."""
    from memory import upkeep as keeper

    options = call.options
    if call.words:
        raise UsageError("upkeep takes no words, but --apply, --only %s, --contradictions" % "|".join(keeper.WAYS))
    if options.contradictions:
        if options.apply or options.only:
            raise UsageError("--contradictions decides nothing, and takes neither --apply nor --only")
        return _contradictions(call)
    if options.apply:
        return _apply(call)
    with call.spinner("reading the records"):
        found = keeper.plan(call.store(), _successes(call), options.only or "", options.clock_is_right)
    lines = [*_rows([*found.changes]), *_doubt(found), keeper.sums(found.records, found.merged, found.archived)]
    if found.changes:
        lines.append("`dayleaf upkeep --apply` does it, `dayleaf undo` takes it back")
    return call.answer({**keeper.described(found), "applied": False}, lines)


def _apply(call: Call) -> int:
    from memory import ledger
    from memory import upkeep as keeper

    with call.spinner("reading the records") as spinner:
        def told(done: int, of: int) -> None:
            spinner.step = "upkeep: %d of %d" % (done, of)

        did = keeper.apply(call.store(), _successes(call), call.options.only or "", call.options.clock_is_right, told)
    call.indexed()
    ledger.moved(call.place)
    for problem in did.problems:
        warn(problem)
    merged = sum(change.kept is not None for change in did.changes)
    lines = [*_rows([*did.changes]), *_doubt(did.plan), keeper.sums(did.plan.records, merged, len(did.changes) - merged)]
    if did.changes:
        lines.append("`dayleaf undo` takes it back")
    value = {**keeper.described(did.plan), "applied": True, "merged": merged, "archived": len(did.changes) - merged,
             "after": did.plan.records - len(did.changes), "changes": [keeper.row(change) for change in did.changes],
             "problems": list(did.problems)}
    call.answer(value, lines)
    return 1 if did.problems else 0


def _successes(call: Call) -> Mapping[str, int]:
    """Return by id how often a record was said to have helped."""
    from memory import archive, ledger, lookup

    merged, books = archive.merged(call.place), ledger.ledgers(call.place)
    folds = [ledger.followed(ledger.read(book), merged, lambda id: lookup.stands(call.place, id)) for book in books]
    return {id: fold.counts(id).up for fold in folds for id in fold.rows}


def _rows(changes: list[Change]) -> list[str]:
    rows = []
    for change in changes:
        into = "into %s, " % change.kept.id if change.kept else ""
        rows.append(["merge" if change.kept else "archive", change.record.id, terminal.clip(
            terminal.one_line(change.record.title), TITLE), into + change.reason])
    return [*terminal.table(rows), ""] if rows else []


def _doubt(found: Plan) -> list[str]:
    return ["nothing expires: %s; correct what is wrong, or %s" % (terminal.one_line(found.doubt), MORE)] if found.doubt else []


def undo(call: Call) -> int:
    """Take the last apply back."""
    from memory import ledger
    from memory import upkeep as keeper

    if call.words:
        raise UsageError("undo takes no words: it takes the last `upkeep --apply` back; `restore ID` brings one record back")
    with call.spinner("reading the journal") as spinner:
        def told(done: int, of: int) -> None:
            spinner.step = "undo: %d of %d" % (done, of)

        back = keeper.undo(call.store(), told)
    if back is None:
        return call.answer({"undone": None}, ["nothing to undo: no upkeep was applied here, or all of it was taken back"])
    call.indexed()
    ledger.moved(call.place)
    for problem in back.problems:
        warn(problem)
    said = "took back the upkeep of %s: %s brought back, %d set back" % (
        back.began[:16].replace("T", " "), terminal.count(len(back.restored), "record"), len(back.reset))
    value = {"undone": back.began, "restored": list(back.restored), "reset": list(back.reset), "problems": list(back.problems)}
    call.answer(value, [said + ("; %d not, as said above" % len(back.problems) if back.problems else "")])
    return 1 if back.problems else 0


def _contradictions(call: Call) -> int:
    from memory import contradictions

    with call.spinner("reading the records"):
        found = contradictions.pairs(call.store().each())
    value: list[dict[str, Any]] = [
        {"why": pair.why, "sides": [{"id": side.record.id, "title": side.record.title, "name": side.record.name,
                                     "says": side.said} for side in (pair.older, pair.newer)]} for pair in found]
    lines = [line for pair in found for line in _pair(pair, call)]
    number = terminal.count(len(found), "pair")
    return call.answer({"pairs": value}, [*lines, "%s to decide on; nothing is changed by itself" % number if found else
                                          "no two learnings or rules contradict each other"])


def _pair(pair: Pair, call: Call) -> list[str]:
    style = call.style()
    rows = [["", side.record.id, terminal.age(call.now - side.record.created), terminal.clip(
        terminal.one_line(side.said), max(40, style.columns - 28))] for side in (pair.older, pair.newer)]
    one, two = pair.older.record.id, pair.newer.record.id
    ways = "  one holds: `dayleaf forget %s` or `dayleaf forget %s`; both do: `dayleaf edit %s`, or `dayleaf link %s %s`"
    return [pair.why, *terminal.table(rows), ways % (one, two, two, two, one), ""]
