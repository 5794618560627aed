"""The verb rule: rules suggested by anyone, and what a person decides on them and on scripts."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Callable, NamedTuple

from memory.core import (
    StoreError,
    UsageError,
    approvals,
    files,
    frontmatter,
    layout,
    records,
    spellings,
)
from memory.core.plaintext import count, one_line, visible
from memory.core.records import Record
from memory.knowledge import approvalstate
from memory.knowledge.approvalstate import ApprovalState
from memory.recall.hit import record_json
from memory.store import reader
from memory.store.store import Store
from memory.terminal import screen
from memory.terminal.call import (
    REVIEW,
    STATES,
    Call,
    ask_confirmation,
    author,
    finish_decisions,
    need_person,
    print_decision,
    read_stdin,
    tier_of,
    unknown_word,
    warn,
)


def rule(call: Call) -> int:
    """Suggest, list or edit rules, or decide on them."""
    word = call.words[0] if call.words else "list"
    if word not in WORDS:
        raise unknown_word("rule", word, ("keep", *WORDS))
    return WORDS[word](call, call.words[1:])


# ---- suggesting and listing


def _title_and_rationale(call: Call, words: list[str]) -> tuple[str, str]:
    from memory.store.redactor import strip_private

    options = call.options
    title = strip_private(options.title or " ".join(words)).strip()
    rationale = strip_private(options.rationale or "").strip()
    if not title or not rationale or (options.title and words):
        raise UsageError(
            "rule suggest needs one title and a rationale: `dayleaf rule suggest "
            '"TITLE" --rationale WHY`'
        )
    return title, rationale


def _suggested_body(call: Call) -> str:
    given = call.options.body
    body = (read_stdin() if given == "-" else given or "").strip()
    return body + "\n" if body else ""


def _suggest(call: Call, words: list[str]) -> int:
    options = call.options
    title, rationale = _title_and_rationale(call, words)
    tier = tier_of(call)
    store, who = call.store(), author(call)
    links = [{"relation": "related_to", "target": _linked(store, id)} for id in options.link or ()]
    body = _suggested_body(call)
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
        lines.append("  it waits for review: " + REVIEW)
    if not kept.tags and not kept.links:
        lines.append(
            "  it has no --tag or --link, so no prompt will ever get it; `--tag always` is for "
            "every session"
        )
    return call.answer(
        {**record_json(kept), "path": call.place.path(kept.name), "state": found.state}, lines
    )


def _linked(store: Store, id: str) -> str:
    try:
        return store.find(id).id
    except StoreError as error:
        raise UsageError("--link: %s" % error) from None


def _list(call: Call, words: list[str]) -> int:
    found = [
        one
        for one in approvalstate.standings(call.store().each(("rule",)), call.place)
        if one.state == "pending" or not call.options.pending
    ]
    rows = [
        [
            one_line(cell)
            for cell in (
                r.id,
                STATES.get(state, state) + (" (%s)" % why if why else ""),
                r.title,
                ", ".join(r.tags),
            )
        ]
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


# ---- deciding


WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "suggest": _suggest,
    "list": _list,
    "approve": lambda call, words: each(call, RULE, "approve", words),
    "reject": lambda call, words: each(call, RULE, "reject", words),
}


DONE = {"approve": "approved", "reject": "rejected"}


class Reading(NamedTuple):
    """A record to decide on.

    data: the bytes that the decision is about. path: their file. hindrance: the reason against
        approval, or "".
    """

    record: Record
    data: bytes
    path: str
    hindrance: str = ""


class Matter(NamedTuple):
    """A kind of record that a person decides on.

    verb: of the command line. kind: of its records. yes: the word that accepts one. waiting:
        returns the records that wait, with the reason. read: by a record's name; raises StoreError.
        content: returns what the person sees. decide: stores a decision on exactly what was read
        and returns it as plain data; raises StoreError where it has changed. edits: whether a
        review offers an editor.
    """

    verb: str
    kind: str
    yes: str
    waiting: Callable[[Call, Store], Iterable[tuple[Record, str]]]
    read: Callable[[Store, str], Reading]
    content: Callable[[Call, Reading], list[str]]
    decide: Callable[[Call, Store, Reading, str], dict[str, Any]]
    edits: bool = True


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
                str(error).replace(reader.LISTED, listing + "the %ss" % matter.verb)
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
    store, noun = call.store(), "script" if matter is SCRIPT else matter.kind
    found = named(store, matter, decision, words)
    need_person(
        call,
        "a " + noun,
        "%s %s %s" % (matter.verb, decision, " ".join(one_line(record.id) for record in found)),
    )
    done = []
    for one in (matter.read(store, record.name) for record in found):
        if decision == "approve" and one.hindrance:
            raise UsageError("%s cannot be approved: %s" % (one.record.name, one.hindrance))
        sys.stderr.write("\n".join(matter.content(call, one)) + "\n")
        if ask_confirmation("%s exactly this? type yes: " % decision, short=True):
            done.append(matter.decide(call, store, one, decision))
        elif len(found) == 1:
            raise UsageError("%s is unchanged" % one.record.id)
    return finish_decisions(call, done, "no " + noun)


# ---- rules and scripts


def _decide(
    call: Call, store: Store, one: Reading, decision: str, matter: Matter, workspace: str
) -> dict[str, Any]:
    """Approve or reject exactly the shown bytes, and report.

    Raises StoreError where the file has changed since.
    """
    home, record, digest = call.place.home, one.record, files.sha256(one.data)
    now = matter.read(store, record.name)
    if now.data != one.data or now.record.id != record.id:
        raise StoreError(
            "%s changed while it was being shown, so it stays pending; review it again"
            % record.name
        )
    if decision == "approve":
        if now.hindrance:
            raise UsageError("%s cannot be approved: %s" % (record.name, now.hindrance))
        data = one.data
        if matter is RULE and not record.meta.get("id"):
            # without its id in the file, the approval would be lost with the file's name
            data = frontmatter.edit(data, {"id": record.id}, record.name)
            store.replace(record.name, data, digest)
            digest = files.sha256(data)
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


def _content(call: Call, one: Reading, workspace: str, errors: str) -> list[str]:
    home, now = call.place.home, files.sha256(one.data)
    text = visible(one.data.decode("utf-8", errors))
    digest = approvals.latest(approvals.decisions(home), workspace, one.record.id)
    before = approvals.approved_bytes(home, digest) if digest and digest != now else None
    lines = [one_line(one.path), "", *text.rstrip("\n").split("\n"), ""]
    if before is not None:
        lines += ["changed since it was approved:", *screen.difference(before, one.data), ""]
    elif digest and digest != now:
        lines += ["changed since it was approved; the approved text was not kept", ""]
    if "approved" in one.record.meta:
        lines.append("the file calls itself `approved`; that has no effect")
    return [*lines, "%s, sha256 %s" % (count(len(one.data), "byte"), now)]


def _pending(found: Iterable[ApprovalState]) -> list[tuple[Record, str]]:
    return [(one.record, one.why) for one in found if one.state == "pending"]


def _read_rule(store: Store, name: str) -> Reading:
    data = store.raw(name)
    return Reading(
        records.from_bytes(name, data, 0.0),
        data,
        store.place.path(name),
        approvalstate.hindrance(store.place, name, data),
    )


def _read_script(store: Store, name: str) -> Reading:
    from memory.project import material

    record = store.read(name)
    if material.type_of(record) != "script":
        raise StoreError("%s is a doc; only scripts can be run" % record.id)
    source = material.source_of(record, store.place)
    return Reading(record, source.data, source.path, approvalstate.script_hindrance(source))


def _rule_scope(call: Call, one: Reading) -> str:
    return approvals.workspace_of(one.record.name, call.place.key)


def _script_scope(call: Call, one: Reading) -> str:
    return approvals.script_workspace(one.record.name, call.place.key)


RULE: Matter = Matter(
    "rule",
    "rule",
    "approve",
    lambda call, store: _pending(approvalstate.standings(store.each(("rule",)), call.place)),
    _read_rule,
    lambda call, one: _content(call, one, _rule_scope(call, one), "replace"),
    lambda call, store, one, way: _decide(call, store, one, way, RULE, _rule_scope(call, one)),
)
SCRIPT: Matter = Matter(
    "resource",
    "resource",
    "approve",
    lambda call, store: _pending(
        approvalstate.script_standings(store.each(("resource",)), call.place)
    ),
    _read_script,
    lambda call, one: _content(call, one, _script_scope(call, one), "backslashreplace"),
    lambda call, store, one, way: _decide(call, store, one, way, SCRIPT, _script_scope(call, one)),
    edits=False,
)
