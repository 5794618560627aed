"""The verb keep: a rule in the user's own words, which binds at once."""

from __future__ import annotations

import getpass
import sys

from memory.capture import wishes
from memory.cli.rule import RULE
from memory.core import UsageError, approvals, clock
from memory.core.boundary import is_typed
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.hook import context
from memory.recall.hit import record_json
from memory.terminal.call import REVIEW, Call

TITLE = 200  # characters of what was said that name the rule; more stands in its text


def _has_person(call: Call) -> bool:
    return is_typed(call.env) or (sys.stdin.isatty() and sys.stderr.isatty())


def keep(call: Call) -> int:
    """Write the user's words as a rule and approve it.

    Or approve the same rule noted by a session.
    """
    from memory.store.redactor import strip_private

    said = strip_private(call.text()).strip()
    if not said:
        raise UsageError('rule keep needs the rule: `dayleaf rule keep "never use print in src"`')
    title = one_line(said, TITLE)
    body = "" if title == said else said + "\n"
    store = call.store()
    extra = wishes.head(clock.day(call.now))
    tags = call.options.tag or [context.ALWAYS]
    there = store.same("rule", title, body)
    kept = (
        there
        if there and _is_theirs(there)
        else store.add("rule", title, body, tags=tags, source="human", extra=extra)
    )
    if not _is_theirs(kept):
        raise UsageError(
            "%s is the same rule with another reason: decide on that one in `dayleaf review`"
            % kept.id
        )
    call.indexed()
    record, data, path, hindrance = RULE.read(store, kept.name)
    if hindrance:
        raise UsageError("%s cannot be approved: %s" % (record.name, hindrance))
    # A script has no say: what it keeps stands in the brief as said, and waits for a person.
    if not _has_person(call):
        lines = [
            "noted %s  %s" % (record.id, one_line(record.title)),
            "  it waits for review: " + REVIEW,
        ]
        return call.answer({**record_json(record), "path": path, "state": "pending"}, lines)
    workspace = approvals.workspace_of(record.name, call.place.key)
    approvals.approve(call.place.home, workspace, record.id, data, getpass.getuser(), call.now)
    where = "every session here starts with it"
    if call.options.tag:
        where = "prompts about %s get it" % ", ".join(tags)
    lines = [
        "kept %s  %s" % (record.id, one_line(record.title)),
        "  %s; `dayleaf record forget %s` drops it" % (where, record.id),
    ]
    return call.answer({**record_json(record), "path": path, "state": "approved"}, lines)


def _is_theirs(record: Record) -> bool:
    """Tell whether a rule holds the user's words alone."""
    said = record.meta.get(wishes.SAID)
    return isinstance(said, str) and record.rationale == wishes.head(said)["rationale"]
