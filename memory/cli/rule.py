"""The verbs rule and review: rules suggested by anyone, and what a person decides on them."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Callable, NamedTuple

from memory.core import StoreError, UsageError, approvals, files, layout, records, spellings
from memory.core.layout import Place
from memory.core.plaintext import count, one_line, visible
from memory.core.records import Record
from memory.knowledge import approvalstate
from memory.knowledge.approvalstate import ApprovalState
from memory.recall.hit import record_json
from memory.store.store import Store
from memory.terminal import screen
from memory.terminal.call import (
    REVIEW,
    Call,
    ask_choice,
    ask_confirmation,
    author,
    finish_decisions,
    need_person,
    print_decision,
    read_stdin,
    shown,
    tier_of,
    unknown_word,
    warn,
)
from memory.terminal.editor import edit_record


def rule(call: Call) -> int:
    """Suggest, list or edit rules, or decide on them.

    On a terminal.
    """
    word = call.words[0] if call.words else "list"
    if word not in WORDS:
        raise unknown_word("rule", word, WORDS)
    return WORDS[word](call, call.words[1:])


# ---- suggesting and listing


def _suggest(call: Call, words: list[str]) -> int:
    """Write a rule that waits for approval, with its author."""
    from memory.store.redactor import strip_private

    options = call.options
    title, rationale = (
        strip_private(said).strip()
        for said in (options.title or " ".join(words), options.rationale or "")
    )
    if not title or not rationale or (options.title and words):
        raise UsageError(
            "rule suggest needs one title and a rationale: `dayleaf rule suggest "
            '"TITLE" --rationale WHY`'
        )
    tier = tier_of(call)
    store, who = call.store(), author(call)
    links = [{"relation": "related_to", "target": _linked(store, id)} for id in options.link or ()]
    body = (read_stdin() if options.body == "-" else options.body or "").strip()
    body = body + "\n" if body else ""
    there = store.same("rule", title, body, tier)
    tags = list(options.tag or ())
    kept = there or store.add(
        "rule",
        title,
        body,
        tier=tier,
        tags=tags,
        source=who,
        extra={"rationale": rationale, "suggested_by": who, **({"links": links} if links else {})},
    )
    call.indexed()
    found = approvalstate.standings([kept], call.place)[0]
    lines = [
        "%s %s  %s" % ("already there" if there else "suggested", kept.id, one_line(kept.title)),
        "  " + call.place.path(kept.name),
    ]
    if found.state == "pending":
        lines.append("  it waits for approval: " + REVIEW)
    if not kept.tags and not kept.links:
        lines.append("  it has no --tag, --always or --link, so no prompt will ever get it")
    return call.answer(
        {**record_json(kept), "path": call.place.path(kept.name), "state": found.state}, lines
    )


def _linked(store: Store, id: str) -> str:
    try:
        return store.find(id).id
    except StoreError as error:
        raise UsageError("--link: %s" % error) from None


def _list(call: Call, words: list[str]) -> int:
    """Show rules with their state and their reason for waiting."""
    if words:
        raise UsageError("rule list takes no more words; leave '%s' out" % shown(words[0]))
    found = [
        one
        for one in approvalstate.standings(call.store().each(("rule",)), call.place)
        if one.state == "pending" or not call.options.pending
    ]
    rows = [
        [one_line(cell) for cell in (r.id, state, r.title, ", ".join(r.tags), why)]
        for r, state, why, _ in found
    ]
    return call.answer(
        [
            {
                "id": one.record.id,
                "state": one.state,
                "why": one.why,
                "title": one_line(one.record.title),
                "tags": list(one.record.tags),
                "tier": layout.TIER_NAMES[one.record.tier],
                "name": one.record.name,
            }
            for one in found
        ],
        screen.table(rows, style=call.style(), give=2, kinds=["rule"] * len(rows))
        or ["no rule is waiting" if call.options.pending else "no rules here"],
    )


def _edit(call: Call, words: list[str]) -> int:
    """Open a rule in $VISUAL or $EDITOR; a changed one waits again."""
    found = named(call.store(), RULE, "edit", words, one=True)[0]
    changed = edit_record(call, found)
    if changed is None:
        return call.answer({"id": found.id, "changed": False}, ["%s is unchanged" % found.id])
    call.indexed()
    state = approvalstate.standings([changed], call.place)[0].state
    return call.answer(
        {"id": changed.id, "changed": True, "state": state},
        [
            "changed %s  %s" % (changed.id, one_line(changed.title)),
            "  it waits for approval again: " + REVIEW
            if state == "pending"
            else "  this content is already " + state,
        ],
    )


# ---- deciding


def review(call: Call) -> int:
    """Go through the waiting rules, scripts and candidates."""
    if call.words:
        raise UsageError(
            "review takes no words; `dayleaf rule approve %s` decides on one" % shown(call.words[0])
        )
    return go_through(call, BOTH, candidates=True)


def _review(call: Call, words: list[str]) -> int:
    """Ask about every waiting rule."""
    if words:
        raise UsageError(
            "rule review takes no more words; `dayleaf rule approve %s` decides on one"
            % shown(words[0])
        )
    return go_through(call, (RULE,))


WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "suggest": _suggest,
    "list": _list,
    "approve": lambda call, words: each(call, RULE, "approve", words),
    "reject": lambda call, words: each(call, RULE, "reject", words),
    "edit": _edit,
    "review": _review,
}


DONE = {"approve": "approved", "reject": "rejected"}


class Matter(NamedTuple):
    """A kind of record that a person approves.

    verb: of the command line. noun: `rule` or `script`. kind: of its records. workspace: returns
        the workspace of its approvals, by a record's name and the place's key. read: by a place and
        a record's name, returns the record, the bytes to decide on, their path, and the reason
        against approval, or ""; raises StoreError. standings: returns the standings of its records.
        editable: opens one in an editor, None where a review offers no edit.
    """

    verb: str
    noun: str
    kind: str
    workspace: Callable[[str, str], str]
    read: Callable[[Store, str], tuple[Record, bytes, str, str]]
    standings: Callable[[Iterable[Record], Place], list[ApprovalState]]
    editable: Callable[[Call, Record], Any] | None


def named(
    store: Store, matter: Matter, verb: str, words: Sequence[str], one: bool = False
) -> list[Record]:
    """Find all named records.

    All before the first is changed. verb: the word after the matter's verb. one: exactly one is
    wanted. Raises UsageError, StoreError.
    """
    listing = "`%s list` names " % spellings.typed(matter.verb)
    if not words or (one and len(words) > 1):
        raise UsageError(
            "%s %s takes %s; %sthem"
            % (spellings.spelled(matter.verb), verb, "one ID" if one else "an ID", listing)
        )
    found: dict[str, Record] = {}
    for word in words:
        try:
            record = store.find(word)
        except StoreError as error:
            raise StoreError(
                str(error).replace("`dayleaf recall` lists them", listing + "the %ss" % matter.verb)
            ) from None
        twins = [] if word == record.name else store.duplicates.get(record.id, [])
        if twins:
            raise UsageError(
                "%s is the id of %d files; name the one you mean: %s"
                % (record.id, len(twins), ", ".join(twins))
            )
        if record.kind != matter.kind:
            raise UsageError("%s is a %s, not a %s" % (record.id, record.kind, matter.kind))
        found[record.name] = record
    return list(found.values())


def each(call: Call, matter: Matter, decision: str, words: Sequence[str]) -> int:
    """Show each named record and ask about it.

    decision: `approve` or `reject`. Raises UsageError without any decision.
    """
    store = call.store()
    found = named(store, matter, decision, words)
    need_person(
        call,
        "a " + matter.noun,
        "%s %s %s" % (matter.verb, decision, " ".join(one_line(record.id) for record in found)),
    )
    done = []
    for record, data, path, hindrance in (matter.read(store, one.name) for one in found):
        if decision == "approve" and hindrance:
            raise UsageError("%s cannot be approved: %s" % (record.name, hindrance))
        sys.stderr.write("\n".join(_content(call, matter, record, data, path)) + "\n")
        if ask_confirmation("%s exactly this? type yes: " % decision, short=True):
            done.append(_decide(call, store, matter, record, data, decision))
        elif len(found) == 1:
            raise UsageError("%s is unchanged" % record.id)
    return finish_decisions(call, done, "no " + matter.noun)


def _decide(
    call: Call, store: Store, matter: Matter, record: Record, data: bytes, decision: str
) -> dict[str, Any]:
    """Store a decision on exactly the shown bytes, and report.

    Raises StoreError where the file has changed since.
    """
    home, digest = call.place.home, files.sha256(data)
    workspace = matter.workspace(record.name, call.place.key)
    now, bytes_now, _, hindrance = matter.read(store, record.name)
    if bytes_now != data or now.id != record.id:
        raise StoreError(
            "%s changed while it was being shown, so it stays pending; review it again"
            % record.name
        )
    if decision == "approve":
        if hindrance:
            raise UsageError("%s cannot be approved: %s" % (record.name, hindrance))
        try:
            approvals.save_approved_bytes(home, data)
        except OSError as error:
            warn(
                "approved, but no copy could be kept to compare later edits with (%s)"
                % error.strerror
            )
    approvals.decide(home, workspace, record.id, digest, decision, getpass.getuser(), call.now)
    if approvals.decisions(home).get((workspace, record.id, digest)) != decision:
        raise StoreError(
            "%s/%s can be written by others, so it does not count; `chmod 600` it and decide again"
            % (home, approvals.LEDGER)
        )
    print_decision(call, DONE[decision], record.id, record.title)
    return {
        "id": record.id,
        "decision": decision,
        "sha256": digest,
        "title": one_line(record.title),
    }


def _content(call: Call, matter: Matter, record: Record, data: bytes, path: str) -> list[str]:
    """Return a file in lines for the person who decides on it."""
    place, text = (
        call.place,
        visible(data.decode("utf-8", "backslashreplace" if matter.noun == "script" else "replace")),
    )
    now = files.sha256(data)
    digest = approvals.latest(
        approvals.decisions(place.home), matter.workspace(record.name, place.key), record.id
    )
    before = approvals.approved_bytes(place.home, digest) if digest and digest != now else None
    lines = [one_line(path), "", *text.rstrip("\n").split("\n"), ""]
    if before is not None:
        lines += ["changed since it was approved:", *screen.difference(before, data), ""]
    elif digest and digest != now:
        lines += ["changed since it was approved; the approved text was not kept", ""]
    if "approved" in record.meta:
        lines.append("the file calls itself `approved`; that has no effect")
    return [*lines, "%s, sha256 %s" % (count(len(data), "byte"), now)]


def go_through(call: Call, matters: Sequence[Matter], candidates: bool = False) -> int:
    """Ask about all waiting records, and count the candidates left.

    candidates: ask about these too.
    """
    from memory.cli import harvest

    nouns = [*(matter.noun for matter in matters), *(["candidate"] if candidates else [])]
    need_person(
        call,
        "%s and %ss" % (", ".join(noun + "s" for noun in nouns[:-1]), nouns[-1])
        if nouns[1:]
        else "%ss" % nouns[0],
        " ".join([spellings.spelled(call.verb), *call.words]),
    )
    store = call.store()
    waiting = _waiting(call, store, matters)
    more = len(harvest.candidates(store)) if candidates else 0
    if not (waiting or harvest.candidates(store)):
        return call.answer([], ["nothing waits for review"])
    done, quitted = _ask_about_all(call, store, waiting, len(waiting) + more)
    learnt = harvest.go_through(call, store, len(waiting)) if more and not quitted else []
    call.indexed()
    done += [
        {"id": record.id, "decision": decision, "title": one_line(record.title)}
        for record, decision in learnt
    ]
    finish_decisions(call, done, "nothing" if len(nouns) > 1 else "no " + nouns[0])
    left = len(harvest.candidates(store))
    if left:
        sys.stderr.write("%s: `dayleaf review`\n" % harvest.wait(left))
    return 0


def _waiting(
    call: Call, store: Store, matters: Sequence[Matter]
) -> list[tuple[Matter, ApprovalState]]:
    """Return (matter, standing) of each record that waits for a decision."""
    return [
        (matter, one)
        for matter in matters
        for one in matter.standings(store.each((matter.kind,)), call.place)
        if one.state == "pending"
    ]


def _ask_about_all(
    call: Call, store: Store, waiting: Sequence[tuple[Matter, ApprovalState]], total: int
) -> tuple[list[dict[str, Any]], bool]:
    """Ask about waiting records."""
    done: list[dict[str, Any]] = []
    for number, (matter, one) in enumerate(waiting, 1):
        where = "%d of %d  %s  %s  (%s)" % (
            number,
            total,
            one_line(one.record.id),
            one_line(one.record.title),
            one.why,
        )
        decided = _answered(call, store, matter, one.record.name, where)
        if decided is None:
            return done, True
        done += decided
    return done, False


def _answered(
    call: Call, store: Store, matter: Matter, name: str, where: str
) -> list[dict[str, Any]] | None:
    """Ask about one record until decided or skipped."""
    ways = ["approve", "reject", *(["edit"] if matter.editable else []), "skip", "quit"]
    while True:
        try:
            record, data, path, hindrance = matter.read(store, name)
        except StoreError as error:
            warn(str(error))
            return []
        notes = ["cannot be approved: " + one_line(hindrance)] if hindrance else []
        sys.stderr.write(
            "\n".join(["", where, *_content(call, matter, record, data, path), *notes, ""])
        )
        way = ask_choice(ways)
        while way == "approve" and hindrance:
            warn("%s cannot be approved: %s" % (name, hindrance))
            way = ask_choice(ways)
        try:
            if way in DONE:
                return [_decide(call, store, matter, record, data, way)]
            if way == "edit" and matter.editable:
                matter.editable(call, record)
            else:
                return [] if way == "skip" else None
        except (StoreError, UsageError) as error:
            warn(str(error))


# ---- the two matters


def _read_rule(store: Store, name: str) -> tuple[Record, bytes, str, str]:
    data = store.raw(name)
    return (
        records.from_bytes(name, data, 0.0),
        data,
        store.place.path(name),
        approvalstate.hindrance(store.place, name, data),
    )


def _read_script(store: Store, name: str) -> tuple[Record, bytes, str, str]:
    from memory.project import material

    record = store.read(name)
    if material.type_of(record) != "script":
        raise StoreError("%s is a doc; only scripts can be run" % record.id)
    source = material.source_of(record, store.place)
    return record, source.data, source.path, approvalstate.script_hindrance(source)


RULE: Matter = Matter(
    "rule", "rule", "rule", approvals.workspace_of, _read_rule, approvalstate.standings, edit_record
)
SCRIPT = Matter(
    "resource",
    "script",
    "resource",
    approvals.script_workspace,
    _read_script,
    approvalstate.script_standings,
    None,
)
BOTH = (RULE, SCRIPT)
