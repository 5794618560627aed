"""The verb harvest: candidates from checkpoints, and a person's decisions on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from memory.cli.rule import PendingRecord, ReviewKind
from memory.core import StoreError, UsageError, clock
from memory.core.plaintext import escape_invisible, format_age, format_count, one_line
from memory.core.records import Record
from memory.hook.handoffs import is_repetition
from memory.knowledge import suggestions
from memory.recall.hit import record_json
from memory.store.redactor import strip_private_record
from memory.store.store import Store
from memory.terminal import screen
from memory.terminal.call import (
    REVIEW,
    Call,
    clip_input,
    finish_decisions,
    print_decision,
    require_person,
    unknown_word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.knowledge.proposals import Proposal

DECISIONS = {"accept": "accepted", "reject": "rejected"}


def harvest(call: Call) -> int:
    words = " ".join(call.words).split()  # a slash command passes them as one
    if not words:
        return _propose_candidates(call)
    if words[0] == "review":
        raise UsageError("`dayleaf review` goes through candidates, rules and scripts")
    if words[0] not in WORDS:
        raise unknown_word("harvest", words[0], WORDS, "use none, or one of " + ", ".join(WORDS))
    given = call.list_given(("since", "dry_run"))
    if given:
        message = "harvest %s takes no %s: only `dayleaf notes harvest` does"
        raise UsageError(message % (words[0], given[0]))
    return WORDS[words[0]](call, words[1:])


# ---- proposing


def _propose_candidates(call: Call) -> int:
    from memory.knowledge import proposals

    store = call.store()
    with call.spinner("reading the checkpoints"):
        checkpoints = _read_records(call, store, "checkpoint")
        standing = list(store.each(("learning",)))
        known = [*standing, *store.archived("learning")]
        talks = _read_records(call, store, "conversation")
        found = proposals.harvest(checkpoints, known, talks)
    rows = [
        (proposal, None if call.options.dry_run else proposals.store_candidate(store, proposal))
        for proposal in found
    ]
    call.indexed()
    waiting = sum(not record.accepted for record in standing)
    waiting += sum(record is not None for _, record in rows)
    value = {
        "checkpoints": len(checkpoints),
        "waiting": waiting,
        "notes": [],
        "proposals": [_proposal_json(*row) for row in rows],
    }
    return call.answer(value, _result_lines(rows, len(checkpoints), waiting))


def _read_records(call: Call, store: Store, kind: str) -> list[Record]:
    low = call.parse_time(call.options.since) if call.options.since else float("-inf")
    found = []
    for record in store.each((kind,)):
        if not is_repetition(record) and record.ended >= low:
            found.append(strip_private_record(record))
    return found


def _proposal_json(proposal: Proposal, kept: Record | None) -> dict[str, Any]:
    return {
        "id": kept.id if kept else None,
        "title": (kept or proposal).title,
        "body": (kept or proposal).body,
        "from": list(proposal.from_ids),
        "reason": proposal.reason,
        "key": proposal.key,
        "sessions": proposal.sessions,
    }


def _result_lines(
    rows: Sequence[tuple[Proposal, Record | None]], read: int, waiting: int
) -> list[str]:
    lines = []
    for proposal, record in rows:
        head = "candidate " + record.id if record else "would suggest"
        lines += [
            "%s  %s" % (head, one_line((record or proposal).title)),
            "  %s: %s" % (proposal.reason, ", ".join(map(one_line, proposal.from_ids))),
        ]
    if not read:
        lines.append("no checkpoint to harvest")
    elif not rows:
        lines.append("nothing new in %s" % format_count(read, "checkpoint"))
    return lines + (["%s; %s" % (format_waiting(waiting), REVIEW)] if waiting else [])


def format_waiting(number: int) -> str:
    return "%s %s" % (format_count(number, "candidate"), "waits" if number == 1 else "wait")


# ---- deciding


def list_candidates(store: Store) -> list[Record]:
    found = [record for record in store.each(("learning",)) if not record.accepted]
    return sorted(found, key=lambda record: (record.created, record.id))


def _list_waiting(call: Call, words: list[str]) -> int:
    if words:
        raise UsageError("harvest list takes no more words; leave '%s' out" % clip_input(words[0]))
    rows, value = [], []
    for record in list_candidates(call.store()):
        age = format_age(call.now - record.created)
        rows.append([one_line(record.id), age, one_line(record.title)])
        value.append({**record_json(record), "path": call.place.path(record.name)})
    lines = ["no candidate is waiting"]
    if rows:
        waits = "%s; %s" % (format_waiting(len(rows)), REVIEW)
        lines = [*screen.format_table(rows, right=(1,)), waits]
    return call.answer(value, lines)


def _find_candidates(store: Store, verb: str, words: list[str]) -> list[Record]:
    if not words:
        message = "harvest %s needs an ID; `dayleaf notes harvest list` names them"
        raise UsageError(message % verb)
    found = list({record.id: record for record in map(store.find, words)}.values())
    for record in found:
        if record.kind != "learning" or record.accepted:
            kind = "an accepted learning" if record.kind == "learning" else "a " + record.kind
            message = "%s is %s, not a candidate" % (record.id, kind)
            if verb == "reject":
                message += "; `dayleaf record forget %s` archives it" % record.id
            raise UsageError(message)
    return found


def _decide_named(call: Call, words: list[str], way: str) -> int:
    require_person(call, "a candidate", "notes harvest %s %s" % (way, " ".join(words)[:80] or "ID"))
    store = call.store()
    found = _find_candidates(store, way, words)
    done = [_decide(call, store, PendingRecord(record), way) for record in found]
    call.indexed()
    return finish_decisions(call, done, "no candidate")


def _decide(call: Call, store: Store, pending: PendingRecord, way: str) -> dict[str, Any]:
    """Accept or archive a candidate; raise StoreError if it changed meanwhile."""
    record = pending.record
    if store.read(record.name).checksum != record.checksum:
        raise StoreError("%s has changed meanwhile; review it again" % record.name)
    suggested = suggestions.read_suggestion(record)
    if way == "accept" and suggested:
        from memory.cli import main

        main.run_suggested(suggested, call.env, call.now)
        store.archive(record.name, "carried out")
    elif way == "accept":
        store.edit(record.name, {"accepted": True})
    else:
        store.archive(record.name, "rejected")
    done, title = DECISIONS[way], one_line(record.title)
    print_decision(call, done, record.id, title)
    return {"id": record.id, "decision": done, "title": title}


def _format_content(call: Call, pending: PendingRecord) -> list[str]:
    record = pending.record
    lines = ["%s  %s" % (record.id, record.title)]
    if record.tags:
        lines.append("tags: " + ", ".join(record.tags))
    if record.derived_from:
        lines.append("derived from " + ", ".join(record.derived_from))
    return [escape_invisible(line) for line in (*lines, "", *record.body.rstrip("\n").split("\n"))]


def _list_with_reasons(call: Call, store: Store) -> list[tuple[Record, str]]:
    waiting = list_candidates(store)
    against = _find_contradictions(store) if waiting else {}
    return [(record, "suggested" + against.get(record.name, "")) for record in waiting]


def _find_contradictions(store: Store) -> dict[str, str]:
    """Map a record's name to a text on what contradicts it."""
    from memory.knowledge import contradictions

    found: dict[str, str] = {}
    for pair in contradictions.find_contradictions(store.each(contradictions.KINDS)):
        for side, other in ((pair.older, pair.newer), (pair.newer, pair.older)):
            record, quote = other.record, escape_invisible(one_line(other.said, 160))
            about = "%s of %s (%s): %s" % (record.id, clock.day(record.created), pair.why, quote)
            found[side.record.name] = "; against " + about
    return found


CANDIDATE = ReviewKind(
    "learning",
    "accept",
    _list_with_reasons,
    lambda store, name: PendingRecord(store.read(name)),
    _format_content,
    _decide,
)
WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "list": _list_waiting,
    "accept": lambda call, words: _decide_named(call, words, "accept"),
    "reject": lambda call, words: _decide_named(call, words, "reject"),
}
