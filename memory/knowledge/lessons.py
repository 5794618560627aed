"""What a note teaches: its lessons become candidates, its standing wishes rules that wait.

A lesson that another session's note says too counts as accepted by dayleaf: it was met twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, combinations, product

from memory.capture import wishes
from memory.core import approvals, clock
from memory.core.plaintext import one_line
from memory.core.records import HARVEST_KEY, TWO_SESSIONS, Record, make_derived_links, meta_text
from memory.hook import context
from memory.knowledge import contradictions, proposals
from memory.notes.schema import LESSONS, STANDING, Item
from memory.store.store import Store


def store_note_items(store: Store, note: Record, items: Iterable[Item]) -> list[str]:
    """Store a note's lessons and wishes; return the changed records' names."""
    listed = list(items)
    lessons = [item for item in listed if item.part == LESSONS]
    changed = _store_lessons(store, note, lessons) if lessons else []
    return changed + _store_wishes(store, note, [item for item in listed if item.part == STANDING])


def _store_lessons(store: Store, note: Record, lessons: Sequence[Item]) -> list[str]:
    standing = list(store.each(("learning",)))
    known = [*standing, *store.archived("learning")]
    changed = []
    for item in lessons:
        again = next((one for one in standing if _is_repeated(one, item, note)), None)
        if again is not None:
            store.edit(again.name, {"accepted": True, "accepted_by": TWO_SESSIONS}, True)
            changed.append(again.name)
            continue
        for proposal in proposals.propose_lesson(item.text, item.quote, item.number, note, known):
            record = proposals.store_candidate(store, proposal, meta_text(note, "session"))
            known.append(record)
            changed.append(record.name)
    return changed


def _is_repeated(record: Record, item: Item, note: Record) -> bool:
    """Tell whether another session's candidate says the same lesson."""
    is_waiting = not record.accepted and record.source == "auto" and record.meta.get(HARVEST_KEY)
    is_of_other_session = record.meta.get("session") not in (None, note.meta.get("session"))
    return bool(
        is_waiting
        and is_of_other_session
        and proposals.is_same_statement(record.body.split("\n", 1)[0], item.text)
    )


def _get_last_said(rule: Record) -> tuple[str, float, float]:
    """Return a sort key: when a rule was last said, then its file's times."""
    day = meta_text(rule, wishes.SAID) or clock.format_local_day(rule.created)
    return day, rule.created, rule.updated


def archive_contradicted_wishes(store: Store) -> list[str]:
    """Archive wishes that a later wish or rule contradicts; return their ids.

    A wish said after a rule was approved is marked with the rule.
    """
    rules = list(store.each(("rule",)))
    waiting = {rule.name: rule for rule in rules if wishes.is_waiting(store, rule)}
    dropped: list[str] = []
    for pair in _find_contrary_pairs(store, rules, waiting.values()) if waiting else ():
        older, newer = sorted(pair, key=_get_last_said)
        if older.name in waiting:
            if older.id not in dropped:
                store.archive(older.name, "the contrary was said later: " + newer.id, into=newer.id)
                dropped.append(older.id)
        elif newer.name in waiting and newer.id not in dropped:
            store.edit(newer.name, {wishes.CONTRARY_TO: older.id}, True)
    return dropped


def _find_contrary_pairs(
    store: Store, rules: Iterable[Record], waiting: Iterable[Record]
) -> list[tuple[Record, Record]]:
    """Return pairs of a wish and its contrary, another wish or an approved rule."""
    bound = approvals.read_approved(store.place.home)
    key = store.place.key
    kept = [
        rule
        for rule in rules
        if (approvals.approval_workspace(rule.name, key), rule.id, rule.checksum) in bound
    ]
    wished = list(waiting)
    pairs = [
        (pair.older.record, pair.newer.record)
        for pair in contradictions.find_contradictions([*wished, *kept])
        if pair.why == contradictions.ANOTHER_NUMBER
    ]
    return pairs + [
        (one, other)
        for one, other in chain(combinations(wished, 2), product(wished, kept))
        if wishes.are_contrary(one.title, other.title)
    ]


def _store_wishes(store: Store, note: Record, items: Sequence[Item]) -> list[str]:
    """Store wishes as pending rules, in the user's words."""
    changed = []
    at, session = clock.iso(note.created), meta_text(note, "session")
    rules = {rule.title: rule for rule in store.each(("rule",))} if items else {}
    for item in items:
        said = wishes.find_wishes(item.quote) or [item.quote]
        title = one_line(said[0], wishes.MOST)
        if title in rules:
            is_known = wishes.is_said_in(rules[title], session)
            if not is_known and wishes.count_repeat(store, rules[title], at, session):
                changed.append(rules[title].name)
            continue
        if wishes.is_dropped(store, title):
            continue
        rule = store.add(
            "rule",
            title,
            item.text + "\n",
            tags=[context.ALWAYS],
            source="auto",
            session=session,
            extra={
                **wishes.make_frontmatter(clock.day(note.created)),
                "created": at,
                "links": make_derived_links([note.id]),
            },
        )
        changed.append(rule.name)
    return changed
