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


def _suggest_rule(call: Call, words: list[str]) -> int:
    title, rationale = _read_title_and_rationale(call, words)
    tier, store, author = choose_tier(call), call.store(), find_author(call)
    extra: dict[str, Any] = {"rationale": rationale, "suggested_by": author}
    if call.options.link:
        targets = [_find_link_target(store, id) for id in call.options.link]
        extra["links"] = [{"relation": "related_to", "target": target} for target in targets]
    body = _read_body(call.options.body or "")
    existing = store.same("rule", title, body, tier)
    kept = existing or store.add(
        "rule", title, body, tier=tier, tags=call.options.tag or [], source=author, extra=extra
    )
    call.indexed()
    state = approvalstate.list_rule_states([kept], call.place)[0].state
    path = call.place.path(kept.name)
    done = "already there" if existing else "suggested"
    lines = ["%s %s  %s" % (done, kept.id, one_line(kept.title)), "  " + path]
    if state == "pending":
        lines.append("  it waits for review: " + REVIEW)
    if not kept.tags and not kept.links:
        lines.append(
            "  it has no --tag or --link, so no prompt will ever get it; `--tag always` is for "
            "every session"
        )
    return call.answer({**record_json(kept), "path": path, "state": state}, lines)


def _read_body(given: str) -> str:
    body = (read_stdin() if given == "-" else given).strip()
    return body + "\n" if body else ""


def _find_link_target(store: Store, id: str) -> str:
    try:
        return store.find(id).id
    except StoreError as error:
        raise UsageError("--link: %s" % error) from None


def _list_rules(call: Call, words: list[str]) -> int:
    only_pending, rows, value = call.options.pending, [], []
    for record, state, why, _ in approvalstate.list_rule_states(
        call.store().each(("rule",)), call.place
    ):
        if only_pending and state != "pending":
            continue
        reason = " (%s)" % why if why else ""
        cells = (record.id, STATES.get(state, state) + reason, record.title, ", ".join(record.tags))
        rows.append(list(map(one_line, cells)))
        value.append(
            {
                "id": record.id,
                "state": state,
                "why": why,
                "title": one_line(record.title),
                "tags": list(record.tags),
                "tier": layout.TIER_NAMES[record.tier],
                "name": record.name,
            }
        )
    lines = screen.format_table(rows, style=call.style(), give=2, kinds=["rule"] * len(rows))
    none = "no rule is waiting" if only_pending else "no rules here"
    return call.answer(value, lines or [none])


# ---- deciding


WORDS: dict[str, Callable[[Call, list[str]], int]] = {
    "suggest": _suggest_rule,
    "list": _list_rules,
    "approve": lambda call, words: decide_each(call, RULE, "approve", words),
    "reject": lambda call, words: decide_each(call, RULE, "reject", words),
}


DECISIONS = {"approve": "approved", "reject": "rejected"}


class PendingRecord(NamedTuple):
    """A record that waits for a person's decision.

    data: the bytes to approve. path: their file. scope: the workspace that an approval holds for.
        hindrance: why the bytes cannot be approved, or "".
    """

    record: Record
    data: bytes = b""
    path: str = ""
    scope: str = ""
    hindrance: str = ""


class ReviewKind(NamedTuple):
    """A kind of record that a person decides on.

    yes: the word that accepts. waiting: lists (waiting record, reason). read: by name. content:
        lines for the person. decide: stores a decision on the bytes that were read, returns it as
        plain data. read and decide raise StoreError, decide also where the bytes changed. edits:
        whether a review offers an editor.
    """

    kind: str
    yes: str
    waiting: Callable[[Call, Store], list[tuple[Record, str]]]
    read: Callable[[Store, str], PendingRecord]
    content: Callable[[Call, PendingRecord], list[str]]
    decide: Callable[[Call, Store, PendingRecord, str], dict[str, Any]]
    edits: bool = True


def find_named(
    store: Store, kind: str, verb: str, words: Sequence[str], one: bool = False
) -> list[Record]:
    """Find the named records; raise UsageError for another kind.

    verb: the word after `rule` or `resource`. one: allow exactly one.
    """
    listing = "`%s list` names " % spellings.format_command(kind)
    if not words or (one and len(words) > 1):
        count = "one ID" if one else "an ID"
        raise UsageError("%s %s takes %s; %sthem" % (kind, verb, count, listing))
    found: dict[str, Record] = {}
    for word in words:
        try:
            record = store.find(word)
        except StoreError as error:
            way = listing + "the %ss" % kind
            raise StoreError(str(error).replace(reader.LISTED, way)) from None
        twins = [] if word == record.name else store.duplicates.get(record.id, [])
        if twins:
            raise UsageError(
                "%s is the id of %d files; name the one you mean: %s"
                % (record.id, len(twins), ", ".join(twins))
            )
        if record.kind != kind:
            raise UsageError("%s is a %s, not a %s" % (record.id, record.kind, kind))
        found[record.name] = record
    return list(found.values())


def decide_each(call: Call, matter: ReviewKind, decision: str, words: Sequence[str]) -> int:
    """Show each named record and ask whether to `approve` or `reject` it."""
    store, noun = call.store(), "script" if matter is SCRIPT else "rule"
    found = find_named(store, matter.kind, decision, words)
    ids = " ".join(one_line(record.id) for record in found)
    require_person(call, "a " + noun, "%s %s %s" % (matter.kind, decision, ids))
    done = []
    for record in found:
        pending = matter.read(store, record.name)
        if decision == "approve":
            _refuse_hindered(pending)
        sys.stderr.write("\n".join(matter.content(call, pending)) + "\n")
        if ask_confirmation("%s exactly this? type yes: " % decision, short=True):
            done.append(matter.decide(call, store, pending, decision))
        elif len(found) == 1:
            raise UsageError("%s is unchanged" % pending.record.id)
    return finish_decisions(call, done, "no " + noun)


def _refuse_hindered(pending: PendingRecord) -> None:
    if pending.hindrance:
        raise UsageError("%s cannot be approved: %s" % (pending.record.name, pending.hindrance))


# ---- rules and scripts


def _decide(call: Call, store: Store, pending: PendingRecord, decision: str) -> dict[str, Any]:
    """Approve or reject the shown bytes; raise StoreError if the file changed."""
    home, record, digest = call.place.home, pending.record, files.sha256(pending.data)
    is_rule = record.kind == "rule"
    now = (RULE if is_rule else SCRIPT).read(store, record.name)
    if now.data != pending.data or now.record.id != record.id:
        raise StoreError(
            "%s changed while it was being shown, so it stays pending; review it again"
            % record.name
        )
    if decision == "approve":
        _refuse_hindered(now)
        data = pending.data
        if is_rule and not record.meta.get("id"):
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
    key = (pending.scope, record.id, digest)
    approvals.append_decision(home, *key, decision, getpass.getuser(), call.now)
    if approvals.read_decisions(home).get(key) != decision:
        raise StoreError(
            "%s/%s can be written by others, so it does not count; `chmod 600` it and decide again"
            % (home, approvals.LEDGER)
        )
    done, title = DECISIONS[decision], one_line(record.title)
    print_decision(call, done, record.id, title)
    return {"id": record.id, "decision": decision, "sha256": digest, "title": title}


def _format_content(call: Call, pending: PendingRecord) -> list[str]:
    record, home, now = pending.record, call.place.home, files.sha256(pending.data)
    errors = "replace" if record.kind == "rule" else "backslashreplace"
    text = escape_invisible(pending.data.decode("utf-8", errors))
    lines = [one_line(pending.path), "", *text.rstrip("\n").split("\n"), ""]
    digest = approvals.find_last_approved(approvals.read_decisions(home), pending.scope, record.id)
    if digest and digest != now:
        before = approvals.read_approved_bytes(home, digest)
        if before is None:
            lines += ["changed since it was approved; the approved text was not kept", ""]
        else:
            changes = screen.diff_contents(before, pending.data)
            lines += ["changed since it was approved:", *changes, ""]
    if "approved" in record.meta:
        lines.append("the file calls itself `approved`; that has no effect")
    return [*lines, "%s, sha256 %s" % (format_count(len(pending.data), "byte"), now)]


def _list_pending(found: Iterable[ApprovalState]) -> list[tuple[Record, str]]:
    return [(one.record, one.why) for one in found if one.state == "pending"]


def _read_rule(store: Store, name: str) -> PendingRecord:
    data, place = store.raw(name), store.place
    return PendingRecord(
        records.from_bytes(name, data, 0.0),
        data,
        place.path(name),
        approvals.approval_workspace(name, place.key),
        approvalstate.find_rule_obstacle(place, name, data),
    )


def _read_script(store: Store, name: str) -> PendingRecord:
    record, place = store.read(name), store.place
    if material.resource_type(record) != "script":
        raise StoreError("%s is a doc; only scripts can be run" % record.id)
    source = material.read_source(record, place)
    return PendingRecord(
        record,
        source.data,
        source.path,
        approvals.script_workspace(name, place.key),
        approvalstate.find_script_obstacle(source),
    )


def _list_pending_rules(call: Call, store: Store) -> list[tuple[Record, str]]:
    return _list_pending(approvalstate.list_rule_states(store.each(("rule",)), call.place))


def _list_pending_scripts(call: Call, store: Store) -> list[tuple[Record, str]]:
    return _list_pending(approvalstate.list_script_states(store.each(("resource",)), call.place))


RULE: ReviewKind = ReviewKind(
    "rule", "approve", _list_pending_rules, _read_rule, _format_content, _decide
)
SCRIPT: ReviewKind = ReviewKind(
    "resource", "approve", _list_pending_scripts, _read_script, _format_content, _decide, False
)
