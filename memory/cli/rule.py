"""The verb rule: suggest and list rules; a person decides on rules and scripts."""

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
from memory.core.plaintext import escape_invisible, format_count, one_line
from memory.core.records import Record
from memory.knowledge import approvalstate
from memory.knowledge.approvalstate import ApprovalState
from memory.project import material
from memory.recall.hit import record_json
from memory.store import reader
from memory.store.redactor import strip_private
from memory.store.store import Store
from memory.terminal import screen
from memory.terminal.call import (
    REVIEW,
    STATES,
    Call,
    ask_confirmation,
    choose_tier,
    find_author,
    finish_decisions,
    print_decision,
    read_stdin,
    require_person,
    unknown_word,
    warn,
)


def rule(call: Call) -> int:
    """Suggest, list or decide on rules."""
    word = call.words[0] if call.words else "list"
    if word not in WORDS:
        raise unknown_word("rule", word, ("keep", *WORDS))
    return WORDS[word](call, call.words[1:])


# ---- suggesting and listing


def _read_title_and_rationale(call: Call, words: list[str]) -> tuple[str, str]:
    options = call.options
    title = strip_private(options.title or " ".join(words)).strip()
    rationale = strip_private(options.rationale or "").strip()
    if not title or not rationale or (options.title and words):
        raise UsageError(
            "rule suggest needs one title and a rationale: `dayleaf rule suggest "
            '"TITLE" --rationale WHY`'
        )
    return title, rationale


def _read_body(call: Call) -> str:
    given = call.options.body
    body = (read_stdin() if given == "-" else given or "").strip()
    return body + "\n" if body else ""


def _suggest_rule(call: Call, words: list[str]) -> int:
    options = call.options
    title, rationale = _read_title_and_rationale(call, words)
    tier = choose_tier(call)
    store, who = call.store(), find_author(call)
    links = [
        {"relation": "related_to", "target": _find_link_target(store, id)}
        for id in options.link or ()
    ]
    body = _read_body(call)
    existing = store.same("rule", title, body, tier)
    tags = list(options.tag or ())
    kept = existing or store.add(
        "rule",
        title,
        body,
        tier=tier,
        tags=tags,
        source=who,
        extra={"rationale": rationale, "suggested_by": who, **({"links": links} if links else {})},
    )
    call.indexed()
    found = approvalstate.list_rule_states([kept], call.place)[0]
    lines = [
        "%s %s  %s" % ("already there" if existing else "suggested", kept.id, one_line(kept.title)),
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


def _find_link_target(store: Store, id: str) -> str:
    try:
        return store.find(id).id
    except StoreError as error:
        raise UsageError("--link: %s" % error) from None


def _list_rules(call: Call, words: list[str]) -> int:
    found = [
        one
        for one in approvalstate.list_rule_states(call.store().each(("rule",)), call.place)
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
    value = [
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
    ]
    return call.answer(
        value,
        screen.format_table(rows, style=call.style(), give=2, kinds=["rule"] * len(rows))
        or ["no rule is waiting" if call.options.pending else "no rules here"],
    )


# ---- deciding


WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "suggest": _suggest_rule,
    "list": _list_rules,
    "approve": lambda call, words: decide_each(call, RULE, "approve", words),
    "reject": lambda call, words: decide_each(call, RULE, "reject", words),
}


DECISIONS = {"approve": "approved", "reject": "rejected"}


class PendingRecord(NamedTuple):
    """A record to decide on.

    data: the bytes to approve. path: their file. hindrance: why they cannot be approved, or "".
    """

    record: Record
    data: bytes
    path: str
    hindrance: str = ""


class ReviewKind(NamedTuple):
    """A kind of record that a person decides on.

    verb: of the command line. yes: the word that accepts. waiting: lists (waiting record, reason).
        read: by name. content: lines for the person. decide: stores a decision on the bytes that
        were read, returns it as plain data. read and decide raise StoreError, decide also where the
        bytes changed. edits: whether a review offers an editor.
    """

    verb: str
    kind: str
    yes: str
    waiting: Callable[[Call, Store], Iterable[tuple[Record, str]]]
    read: Callable[[Store, str], PendingRecord]
    content: Callable[[Call, PendingRecord], list[str]]
    decide: Callable[[Call, Store, PendingRecord, str], dict[str, Any]]
    edits: bool = True


def find_named(
    store: Store, matter: ReviewKind, verb: str, words: Sequence[str], one: bool = False
) -> list[Record]:
    """Find the named records; raise UsageError for another kind.

    verb: the word after the kind's verb. one: allow exactly one.
    """
    listing = "`%s list` names " % spellings.format_command(matter.verb)
    if not words or (one and len(words) > 1):
        raise UsageError(
            "%s %s takes %s; %sthem"
            % (spellings.spell_verb(matter.verb), verb, "one ID" if one else "an ID", listing)
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
            message = "%s is the id of %d files; name the one you mean: %s"
            raise UsageError(message % (record.id, len(twins), ", ".join(twins)))
        if record.kind != matter.kind:
            raise UsageError("%s is a %s, not a %s" % (record.id, record.kind, matter.kind))
        found[record.name] = record
    return list(found.values())


def decide_each(call: Call, matter: ReviewKind, decision: str, words: Sequence[str]) -> int:
    """Show each named record and ask whether to `approve` or `reject` it."""
    store, noun = call.store(), "script" if matter is SCRIPT else matter.kind
    found = find_named(store, matter, decision, words)
    require_person(
        call,
        "a " + noun,
        "%s %s %s" % (matter.verb, decision, " ".join(one_line(record.id) for record in found)),
    )
    done = []
    for pending in (matter.read(store, record.name) for record in found):
        if decision == "approve" and pending.hindrance:
            raise UsageError("%s cannot be approved: %s" % (pending.record.name, pending.hindrance))
        sys.stderr.write("\n".join(matter.content(call, pending)) + "\n")
        if ask_confirmation("%s exactly this? type yes: " % decision, short=True):
            done.append(matter.decide(call, store, pending, decision))
        elif len(found) == 1:
            raise UsageError("%s is unchanged" % pending.record.id)
    return finish_decisions(call, done, "no " + noun)


# ---- rules and scripts


def _decide(
    call: Call,
    store: Store,
    pending: PendingRecord,
    decision: str,
    matter: ReviewKind,
    workspace: str,
) -> dict[str, Any]:
    """Approve or reject the shown bytes; raise StoreError if the file changed."""
    home, record, digest = call.place.home, pending.record, files.sha256(pending.data)
    now = matter.read(store, record.name)
    if now.data != pending.data or now.record.id != record.id:
        raise StoreError(
            "%s changed while it was being shown, so it stays pending; review it again"
            % record.name
        )
    if decision == "approve":
        if now.hindrance:
            raise UsageError("%s cannot be approved: %s" % (record.name, now.hindrance))
        data = pending.data
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
    approvals.append_decision(
        home, workspace, record.id, digest, decision, getpass.getuser(), call.now
    )
    if approvals.read_decisions(home).get((workspace, record.id, digest)) != decision:
        raise StoreError(
            "%s/%s can be written by others, so it does not count; `chmod 600` it and decide again"
            % (home, approvals.LEDGER)
        )
    print_decision(call, DECISIONS[decision], record.id, record.title)
    return {
        "id": record.id,
        "decision": decision,
        "sha256": digest,
        "title": one_line(record.title),
    }


def _format_content(call: Call, pending: PendingRecord, workspace: str, errors: str) -> list[str]:
    home, now = call.place.home, files.sha256(pending.data)
    text = escape_invisible(pending.data.decode("utf-8", errors))
    digest = approvals.find_last_approved(
        approvals.read_decisions(home), workspace, pending.record.id
    )
    before = approvals.read_approved_bytes(home, digest) if digest and digest != now else None
    lines = [one_line(pending.path), "", *text.rstrip("\n").split("\n"), ""]
    if before is not None:
        lines += ["changed since it was approved:", *screen.diff_contents(before, pending.data), ""]
    elif digest and digest != now:
        lines += ["changed since it was approved; the approved text was not kept", ""]
    if "approved" in pending.record.meta:
        lines.append("the file calls itself `approved`; that has no effect")
    return [*lines, "%s, sha256 %s" % (format_count(len(pending.data), "byte"), now)]


def _list_pending(found: Iterable[ApprovalState]) -> list[tuple[Record, str]]:
    return [(one.record, one.why) for one in found if one.state == "pending"]


def _read_rule(store: Store, name: str) -> PendingRecord:
    data = store.raw(name)
    return PendingRecord(
        records.from_bytes(name, data, 0.0),
        data,
        store.place.path(name),
        approvalstate.find_rule_obstacle(store.place, name, data),
    )


def _read_script(store: Store, name: str) -> PendingRecord:
    record = store.read(name)
    if material.resource_type(record) != "script":
        raise StoreError("%s is a doc; only scripts can be run" % record.id)
    source = material.read_source(record, store.place)
    return PendingRecord(
        record, source.data, source.path, approvalstate.find_script_obstacle(source)
    )


def _rule_scope(call: Call, one: PendingRecord) -> str:
    return approvals.approval_workspace(one.record.name, call.place.key)


def _script_scope(call: Call, one: PendingRecord) -> str:
    return approvals.script_workspace(one.record.name, call.place.key)


RULE: ReviewKind = ReviewKind(
    "rule",
    "rule",
    "approve",
    lambda call, store: _list_pending(
        approvalstate.list_rule_states(store.each(("rule",)), call.place)
    ),
    _read_rule,
    lambda call, one: _format_content(call, one, _rule_scope(call, one), "replace"),
    lambda call, store, one, way: _decide(call, store, one, way, RULE, _rule_scope(call, one)),
)
SCRIPT: ReviewKind = ReviewKind(
    "resource",
    "resource",
    "approve",
    lambda call, store: _list_pending(
        approvalstate.list_script_states(store.each(("resource",)), call.place)
    ),
    _read_script,
    lambda call, one: _format_content(call, one, _script_scope(call, one), "backslashreplace"),
    lambda call, store, one, way: _decide(call, store, one, way, SCRIPT, _script_scope(call, one)),
    edits=False,
)
