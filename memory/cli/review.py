"""The verb review: a person decides on the waiting records, one by one."""

from __future__ import annotations

import sys
from typing import Any

from memory.cli import harvest
from memory.cli.rule import RULE, SCRIPT, ReviewKind
from memory.core import StoreError, UsageError
from memory.core.plaintext import format_count, one_line
from memory.store.store import Store
from memory.terminal.call import Call, ask_choice, finish_decisions, require_person, warn
from memory.terminal.editor import edit_record


def review(call: Call) -> int:
    """Ask about each waiting rule, script and candidate."""
    require_person(call, "rules, scripts and candidates", "review")
    store, done = call.store(), list[dict[str, Any]]()
    waiting = [
        (matter, record, why)
        for matter in (RULE, SCRIPT, harvest.CANDIDATE)
        for record, why in matter.waiting(call, store)
    ]
    if not waiting:
        return call.answer([], ["nothing waits for review"])
    for number, (matter, record, why) in enumerate(waiting, 1):
        count, name = "%d of %d" % (number, len(waiting)), one_line(record.id)
        head = "%s  %s  %s  (%s)" % (count, name, one_line(record.title), why)
        decided = _review_record(call, store, matter, record.name, head)
        if decided is None:
            break
        done += decided
    call.indexed()
    finish_decisions(call, done, "nothing")
    _print_waiting(call, store)
    return 0


def _print_waiting(call: Call, store: Store) -> None:
    left = {
        "rule": len(RULE.waiting(call, store)),
        "script": len(SCRIPT.waiting(call, store)),
        "candidate": len(harvest.list_candidates(store)),
    }
    counts = ", ".join(format_count(number, noun) for noun, number in left.items() if number)
    if counts:
        verb = "waits" if sum(left.values()) == 1 else "wait"
        sys.stderr.write("%s %s: `dayleaf review`\n" % (counts, verb))


def _ask_decision(matter: ReviewKind, name: str, hindrance: str) -> str:
    ways = [matter.yes, "reject", *(["edit"] if matter.edits else []), "skip", "quit"]
    way = ask_choice(ways)
    while way == matter.yes and hindrance:
        warn("%s cannot be approved: %s" % (name, hindrance))
        way = ask_choice(ways)
    return way


def _review_record(
    call: Call, store: Store, matter: ReviewKind, name: str, where: str
) -> list[dict[str, Any]] | None:
    """Ask about one record; return the decisions, None to quit."""
    while True:
        try:
            pending = matter.read(store, name)
        except StoreError as error:
            warn(str(error))
            return []
        notes = ["cannot be approved: " + one_line(pending.hindrance)] if pending.hindrance else []
        sys.stderr.write("\n".join(["", where, *matter.content(call, pending), *notes, ""]))
        way = _ask_decision(matter, name, pending.hindrance)
        try:
            if way in (matter.yes, "reject"):
                return [matter.decide(call, store, pending, way)]
            if way != "edit":
                return [] if way == "skip" else None
            edit_record(call, pending.record)
        except (StoreError, UsageError) as error:
            warn(str(error))
