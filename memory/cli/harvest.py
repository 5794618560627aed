"""The verb harvest: candidates out of checkpoints, and what a person decides on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from memory.cli.rule import Matter, Reading
from memory.core import StoreError, UsageError, clock
from memory.core.plaintext import age, count, one_line, visible
from memory.core.records import MADE_OF, Record, derived_links
from memory.hook.handoffs import is_repetition
from memory.knowledge import suggestions
from memory.recall.hit import record_json
from memory.store.store import Store
from memory.terminal import screen
from memory.terminal.call import (
    REVIEW,
    Call,
    finish_decisions,
    need_person,
    print_decision,
    shown,
    unknown_word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.knowledge.proposals import Proposal

OPTIONS = ("since", "dry_run")
DONE = {"accept": "accepted", "reject": "rejected"}


def harvest(call: Call) -> int:
    """Propose, list or decide on candidates."""
    words = " ".join(call.words).split()  # a slash command gives them as one
    if not words:
        return _propose(call)
    if words[0] == "review":
        raise UsageError("`dayleaf review` goes through candidates, rules and scripts")
    if words[0] not in WORDS:
        raise unknown_word("harvest", words[0], WORDS, "use none, or one of " + ", ".join(WORDS))
    given = [name for name in OPTIONS if getattr(call.options, name)]
    if given:
        raise UsageError(
            "harvest %s takes no --%s: only `dayleaf notes harvest` does"
            % (words[0], given[0].replace("_", "-"))
        )
    return WORDS[words[0]](call, words[1:])


# ---- proposing


def _propose(call: Call) -> int:
    from memory.knowledge import proposals

    store = call.store()
    with call.spinner("reading the checkpoints"):
        checkpoints = _asked_for(call, store, "checkpoint")
        standing = list(store.each(("learning",)))
        known = [*standing, *store.archived("learning")]
        found = proposals.harvest(
            checkpoints, known, proposals.LIMIT, _asked_for(call, store, "conversation")
        )
    kept = [
        None
        if call.options.dry_run
        else store.add(
            "learning",
            one.title,
            one.body,
            source="auto",
            extra={"confidence": "low", "links": derived_links(one.from_ids), MADE_OF: one.key},
        )
        for one in found
    ]
    call.indexed()
    waiting = sum(not r.accepted for r in standing) + sum(r is not None for r in kept)
    value = {
        "checkpoints": len(checkpoints),
        "waiting": waiting,
        "notes": [],
        "proposals": [_json(p, r) for p, r in zip(found, kept)],
    }
    return call.answer(value, _result_lines(found, kept, len(checkpoints), waiting))


def _asked_for(call: Call, store: Store, kind: str) -> list[Record]:
    from memory.store.redactor import without_private

    low = call.instant(call.options.since) if call.options.since else float("-inf")
    return [
        without_private(r)
        for r in store.each((kind,))
        if not is_repetition(r)
        and max(r.created, clock.parse(str(r.meta.get("until") or "")) or 0.0) >= low
    ]


def _json(proposal: Proposal, kept: Record | None) -> dict[str, Any]:
    told = kept or proposal
    return {
        "id": kept.id if kept else None,
        "title": told.title,
        "body": told.body,
        "from": list(proposal.from_ids),
        "reason": proposal.reason,
        "key": proposal.key,
        "sessions": proposal.sessions,
    }


def _result_lines(
    found: Sequence[Proposal], kept: Sequence[Record | None], read: int, waiting: int
) -> list[str]:
    lines = []
    for proposal, record in zip(found, kept):
        head = "candidate " + record.id if record else "would suggest"
        lines += [
            "%s  %s" % (head, one_line((record or proposal).title)),
            "  %s: %s" % (proposal.reason, ", ".join(map(one_line, proposal.from_ids))),
        ]
    if not read:
        lines.append("no checkpoint to harvest")
    elif not found:
        lines.append("nothing new in %s" % count(read, "checkpoint"))
    return lines + (["%s; %s" % (wait(waiting), REVIEW)] if waiting else [])


def wait(number: int) -> str:
    return "%s %s" % (count(number, "candidate"), "waits" if number == 1 else "wait")


# ---- deciding


def candidates(store: Store) -> list[Record]:
    """Return the candidates, oldest first."""
    return sorted(
        (r for r in store.each(("learning",)) if not r.accepted), key=lambda r: (r.created, r.id)
    )


def _list(call: Call, words: list[str]) -> int:
    if words:
        raise UsageError("harvest list takes no more words; leave '%s' out" % shown(words[0]))
    waiting = candidates(call.store())
    rows = [[one_line(r.id), age(call.now - r.created), one_line(r.title)] for r in waiting]
    lines = (
        [*screen.table(rows, right=(1,)), "%s; %s" % (wait(len(rows)), REVIEW)]
        if rows
        else ["no candidate is waiting"]
    )
    return call.answer(
        [{**record_json(r), "path": call.place.path(r.name)} for r in waiting], lines
    )


def _named(store: Store, verb: str, words: list[str]) -> list[Record]:
    if not words:
        said = "harvest %s needs an ID; `dayleaf notes harvest list` names them"
        raise UsageError(said % verb)
    found = list({record.id: record for record in map(store.find, words)}.values())
    for record in found:
        if record.kind != "learning" or record.accepted:
            kind = "an accepted learning" if record.kind == "learning" else "a " + record.kind
            other = "; `dayleaf record forget %s` archives it" % record.id
            other *= verb == "reject"
            raise UsageError("%s is %s, not a candidate%s" % (record.id, kind, other))
    return found


def _judged(call: Call, words: list[str], way: str) -> int:
    need_person(call, "a candidate", "notes harvest %s %s" % (way, " ".join(words)[:80] or "ID"))
    store = call.store()
    found = _named(store, way, words)
    done = [_decide(call, store, Reading(record, b"", ""), way) for record in found]
    call.indexed()
    return finish_decisions(call, done, "no candidate")


def _decide(call: Call, store: Store, one: Reading, way: str) -> dict[str, Any]:
    """Accept or archive a candidate as it was read, and report."""
    record = one.record
    if store.read(record.name).checksum != record.checksum:
        raise StoreError("%s has changed meanwhile; review it again" % record.name)
    suggested = suggestions.suggested_command(record)
    if way == "accept" and suggested:
        from memory.cli import main

        main.run_suggested(suggested, call.env, call.now)
        store.archive(record.name, "carried out")
    elif way == "accept":
        store.edit(record.name, {"accepted": True})
    else:
        store.archive(record.name, "rejected")
    print_decision(call, DONE[way], record.id, record.title)
    return {"id": record.id, "decision": DONE[way], "title": one_line(record.title)}


def _content(call: Call, one: Reading) -> list[str]:
    record, links = one.record, ", ".join(one.record.derived_from)
    head = ["%s  %s" % (record.id, record.title)]
    head += ["tags: " + ", ".join(record.tags)] if record.tags else []
    head += ["derived from " + links] if links else []
    return list(map(visible, [*head, "", *record.body.rstrip("\n").split("\n")]))


def _waiting(call: Call, store: Store) -> list[tuple[Record, str]]:
    waiting = candidates(store)
    doubts = _doubts(store) if waiting else {}
    return [(record, "suggested" + doubts.get(record.name, "")) for record in waiting]


def _doubts(store: Store) -> dict[str, str]:
    from memory.knowledge import contradictions

    found: dict[str, str] = {}
    for pair in contradictions.pairs(store.each(contradictions.KINDS)):
        for side, other in ((pair.older, pair.newer), (pair.newer, pair.older)):
            found[side.record.name] = "; against %s of %s (%s): %s" % (
                other.record.id,
                clock.day(other.record.created),
                pair.why,
                visible(one_line(other.said, 160)),
            )
    return found


CANDIDATE = Matter(
    "harvest",
    "learning",
    "accept",
    _waiting,
    lambda store, name: Reading(store.read(name), b"", ""),
    _content,
    _decide,
)
WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "list": _list,
    "accept": lambda call, words: _judged(call, words, "accept"),
    "reject": lambda call, words: _judged(call, words, "reject"),
}
