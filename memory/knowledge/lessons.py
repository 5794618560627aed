"""What a note teaches: its lessons become candidates, its standing wishes rules that wait.

A lesson that another session's note says too counts as accepted by dayleaf: it was met twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory.capture import wishes
from memory.core import clock
from memory.core.plaintext import one_line
from memory.core.records import MADE_OF, Record, derived_links
from memory.hook import context
from memory.knowledge import contradictions, proposals
from memory.notes.schema import LESSONS, STANDING, Item
from memory.store.store import Store

BY = "dayleaf: two sessions say so"  # `accepted_by` of a lesson that was met twice


def keep(store: Store, note: Record, items: Iterable[Item]) -> list[str]:
    """Store a note's lessons and wishes; return the changed records' names."""
    listed = list(items)
    lessons = [item for item in listed if item.part == LESSONS]
    changed = _keep_lessons(store, note, lessons) if lessons else []
    return changed + _keep_wishes(store, note, [item for item in listed if item.part == STANDING])


def _keep_lessons(store: Store, note: Record, lessons: Sequence[Item]) -> list[str]:
    standing = list(store.each(("learning",)))
    known = [*standing, *store.archived("learning")]
    changed = []
    for item in lessons:
        again = next((one for one in standing if _is_said_again(one, item, note)), None)
        if again is not None:
            store.edit(again.name, {"accepted": True, "accepted_by": BY}, True)
            changed.append(again.name)
            continue
        for proposal in proposals.of_lesson(item.text, item.quote, item.number, note, known):
            record = store.add(
                "learning",
                proposal.title,
                proposal.body,
                source="auto",
                session=str(note.meta.get("session") or ""),
                extra={
                    "confidence": "low",
                    MADE_OF: proposal.key,
                    "links": derived_links(proposal.from_ids),
                },
            )
            known.append(record)
            changed.append(record.name)
    return changed


def _is_said_again(record: Record, item: Item, note: Record) -> bool:
    """Tell whether another session's waiting lesson says the same."""
    waits = not record.accepted and record.source == "auto" and record.meta.get(MADE_OF)
    other = record.meta.get("session") not in (None, note.meta.get("session"))
    return bool(waits and other and proposals.says_same(record.body.split("\n", 1)[0], item.text))


def archive_contradicted_wishes(store: Store) -> list[str]:
    """Archive waiting wishes contradicted later; return their ids."""
    waiting = [rule for rule in store.each(("rule",)) if wishes.is_waiting(store, rule)]
    dropped = []
    for pair in contradictions.pairs(waiting):
        older, newer = sorted(
            (pair.older.record, pair.newer.record),
            key=lambda rule: (rule.meta[wishes.SAID], rule.created),
        )
        if older.id not in dropped:
            store.archive(older.name, "the contrary was said later: " + newer.id, into=newer.id)
            dropped.append(older.id)
    return dropped


def _keep_wishes(store: Store, note: Record, items: Sequence[Item]) -> list[str]:
    """Write wishes as waiting rules, in the user's words."""
    changed = []
    day = clock.day(note.created)
    said = {rule.title for rule in store.each(("rule",))} if items else set()
    for item in items:
        title = one_line(item.quote, wishes.MOST)
        if title in said or wishes.is_gone(store, title):
            continue
        rule = store.add(
            "rule",
            title,
            item.text + "\n",
            tags=[context.ALWAYS],
            source="auto",
            session=str(note.meta.get("session") or ""),
            extra={**wishes.head(day), "links": derived_links([note.id])},
        )
        changed.append(rule.name)
    return changed
