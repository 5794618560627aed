"""The verb harvest: candidates out of checkpoints, and what a person decides on them."""

from __future__ import annotations

import sys
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
    Call,
    ask_confirmation,
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
REVIEW = "decide with `dayleaf review` in your own terminal"


def harvest(call: Call) -> int:
    """Propose, list or decide on candidates.

    Proposals come from checkpoints; a person decides, on a terminal.
    """
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
    kept = [None if call.options.dry_run else _written(store, proposal) for proposal in found]
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
    from memory.recall import timewords
    from memory.store.redactor import without_private

    since = call.options.since
    low = (
        timewords.instant(since, call.now, clock.local_offset(call.now)) if since else float("-inf")
    )
    return [
        without_private(r)
        for r in store.each((kind,))
        if not is_repetition(r)
        and max(r.created, clock.parse(str(r.meta.get("until") or "")) or 0.0) >= low
    ]


def _written(store: Store, proposal: Proposal) -> Record:
    links = derived_links(proposal.from_ids)
    return store.add(
        "learning",
        proposal.title,
        proposal.body,
        source="auto",
        extra={"confidence": "low", "links": links, MADE_OF: proposal.key},
    )


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
    found: Sequence[Proposal],
    kept: Sequence[Record | None],
    read: int,
    waiting: int,
) -> list[str]:
    lines = []
    for proposal, record in zip(found, kept):
        title, reason = (record or proposal).title, proposal.reason
        lines += [
            "%s  %s" % ("candidate " + record.id if record else "would suggest", one_line(title)),
            "  %s: %s" % (reason, ", ".join(map(one_line, proposal.from_ids))),
        ]
    if not found:
        lines.append(
            "nothing new in %s" % count(read, "checkpoint") if read else "no checkpoint to harvest"
        )
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
        raise UsageError(
            "harvest %s needs an ID%s; `dayleaf notes harvest list` names them"
            % (verb, " or `all`" * (verb == "accept"))
        )
    if verb == "accept" and words == ["all"]:
        return candidates(store)
    found = list({record.id: record for record in map(store.find, words)}.values())
    for record in found:
        if record.kind != "learning" or record.accepted:
            other = (
                "; `dayleaf record forget %s` archives it" % record.id if verb == "reject" else ""
            )
            raise UsageError(
                "%s is %s, not a candidate%s"
                % (
                    record.id,
                    "an accepted learning" if record.kind == "learning" else "a " + record.kind,
                    other,
                )
            )
    return found


def _judged(call: Call, words: list[str], way: str) -> int:
    need_person(call, "a candidate", "notes harvest %s %s" % (way, " ".join(words)[:80] or "ID"))
    store = call.store()
    found = [Reading(record, b"", "") for record in _named(store, way, words)]
    if words == ["all"] and found:
        shown = [line for one in found for line in [*_content(call, one), ""]]
        sys.stderr.write("\n".join(shown) + "\n")
        if not ask_confirmation("accept all %d? type yes: " % len(found)):
            raise UsageError("the candidates stay as they were")
    done = [_decide(call, store, one, way) for one in found]
    call.indexed()
    return finish_decisions(call, done, "no candidate")


def _decide(call: Call, store: Store, one: Reading, way: str) -> dict[str, Any]:
    """Accept or archive a candidate as it was read, and report.

    Raises StoreError where the file has changed since.
    """
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
    record = one.record
    links = ", ".join(record.derived_from)
    return [
        visible(line)
        for line in [
            "%s  %s" % (record.id, record.title),
            *(["tags: " + ", ".join(record.tags)] if record.tags else []),
            *(["derived from " + links] if links else []),
            "",
            *record.body.rstrip("\n").split("\n"),
        ]
    ]


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
