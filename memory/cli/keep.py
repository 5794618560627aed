"""The verb keep: a rule in the user's own words, approved at once."""

from __future__ import annotations

import getpass
import re
import sys

from memory.capture import wishes
from memory.cli.rule import RULE, decide_each
from memory.core import UsageError, approvals, clock
from memory.core.boundary import is_typed_by_person
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.hook import context
from memory.knowledge import lessons
from memory.recall.hit import record_json
from memory.store.redactor import strip_private
from memory.store.store import Store
from memory.terminal.call import REVIEW, Call, ask_confirmation

_ID = re.compile(r"[lr]-[0-9a-f]{8}")  # of a learning or a rule
TITLE_LENGTH = 200  # characters; a longer text goes into the body


def _is_person_present(call: Call) -> bool:
    return is_typed_by_person(call.env) or (sys.stdin.isatty() and sys.stderr.isatty())


def keep(call: Call) -> int:
    """Approve what waits under an id, or keep the user's words as a rule."""
    if len(call.words) == 1 and _ID.fullmatch(call.words[0]):
        return _keep_waiting(call)
    return _keep_words(call, call.text())


def _keep_waiting(call: Call) -> int:
    """Accept a candidate, or approve a rule, by its id."""
    store = call.store()
    record = store.find(call.words[0])
    if record.kind == "rule":
        if _is_own_wish(store, record) and _is_person_present(call):
            return _keep_wish(call, record)
        return decide_each(call, RULE, "approve", call.words)
    from memory.cli import harvest

    return harvest.WORDS["accept"](call, call.words)


def _is_own_wish(store: Store, record: Record) -> bool:
    return _holds_users_words(record) and wishes.is_waiting(store, record)


def _keep_wish(call: Call, wish: Record) -> int:
    """Approve a wish in the user's words, without a note's text on it."""
    question = 'keep "%s"? type yes: ' % one_line(wish.title)
    if not is_typed_by_person(call.env) and not ask_confirmation(question, short=True):
        raise UsageError("%s is unchanged" % wish.id)
    if not wish.body.strip():
        return _approve(call, wish)
    return _keep_words(call, wish.title)


def _keep_words(call: Call, words: str) -> int:
    text = strip_private(words).strip()
    if not text:
        raise UsageError('rule keep needs the rule: `dayleaf rule keep "never use print in src"`')
    title = one_line(text, TITLE_LENGTH)
    body = "" if title == text else text + "\n"
    store = call.store()
    extra = wishes.make_frontmatter(clock.day(call.now))
    tags = call.options.tag or [context.ALWAYS]
    kept = store.same("rule", title, body)
    if kept is None or not _holds_users_words(kept):
        kept = store.add("rule", title, body, tags=tags, source="human", extra=extra)
    if not _holds_users_words(kept):
        raise UsageError(
            "%s is the same rule with another reason: decide on that one in `dayleaf review`"
            % kept.id
        )
    return _approve(call, kept)


def _approve(call: Call, kept: Record) -> int:
    """Approve a rule; without a person present, leave it for review."""
    store = call.store()
    call.indexed()
    record, data, path, scope, hindrance = RULE.read(store, kept.name)
    if hindrance:
        raise UsageError("%s cannot be approved: %s" % (record.name, hindrance))
    # a script cannot approve: its rule waits for a person
    if not _is_person_present(call):
        lines = [
            "noted %s  %s" % (record.id, one_line(record.title)),
            "  it waits for review: " + REVIEW,
        ]
        return call.answer({**record_json(record), "path": path, "state": "pending"}, lines)
    approvals.approve(call.place.home, scope, record.id, data, getpass.getuser(), call.now)
    overtaken = _archive_overtaken_wishes(store, record)
    call.indexed()
    where = "every session here starts with it"
    if call.options.tag:
        where = "prompts about %s get it" % ", ".join(call.options.tag)
    lines = [
        "kept %s  %s" % (record.id, one_line(record.title)),
        "  %s; `dayleaf record forget %s` drops it" % (where, record.id),
        *("  %s, said before, went to the archive" % id for id in overtaken),
    ]
    return call.answer({**record_json(record), "path": path, "state": "approved"}, lines)


def _archive_overtaken_wishes(store: Store, kept: Record) -> list[str]:
    """Archive wishes that a kept rule repeats or contradicts; return ids."""
    same = [
        rule
        for rule in store.each(("rule",))
        if rule.title == kept.title and rule.id != kept.id and wishes.is_waiting(store, rule)
    ]
    for rule in same:
        store.archive(rule.name, "kept in the user's words: " + kept.id, into=kept.id)
    return [*(rule.id for rule in same), *lessons.archive_contradicted_wishes(store)]


def _holds_users_words(record: Record) -> bool:
    said = record.meta.get(wishes.SAID)
    return isinstance(said, str) and record.rationale == wishes.make_frontmatter(said)["rationale"]
