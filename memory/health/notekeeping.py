"""What follows a note: the title of its checkpoint, its lessons and wishes; and the question
whether notes are wanted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from memory.core import StoreError, files
from memory.core.layout import FOLDERS
from memory.core.records import Record
from memory.hook import signs
from memory.knowledge import lessons
from memory.notes import generation, instruction
from memory.store.store import Store

MEASURED = 20  # newest conversations whose tokens are counted


def follow_up(store: Store, written: generation.Written) -> list[str]:
    """Give a session's checkpoint the title of its note and keep lessons and wishes; return changed
    names.

    Raises StoreError, OSError.
    """
    named = generation.give_title(store, written.record)
    changed = lessons.keep(store, written.record, written.note.items)
    lessons.drop_contrary(store)
    return [written.record.name, *([named] if named else []), *changed]


def answer(home: str) -> None:
    """Remember that the user decided about notes, so that no start asks; raises OSError."""
    files.replace(home + signs.ASKED, b"")


def mean_tokens(store: Store, least: int = 1) -> int:
    """Return the mean tokens that the newest conversations cost a model, 0 with fewer than `least`
    worth a note.
    """
    sizes = []
    for talk in _newest_talks(store):
        sizes.append(instruction.of_talk(talk).tokens)
        if len(sizes) == MEASURED:
            break
    return sum(sizes) // len(sizes) if len(sizes) >= max(least, 1) else 0


def _newest_talks(store: Store) -> Iterator[Record]:
    """Yield the conversations that are worth a note, the newest first."""
    folder = FOLDERS["conversation"]
    root = "%s/%s" % (store.place.private, folder)
    days = sorted(os.listdir(root), reverse=True) if files.is_folder(root) else []
    for day in (day for day in days if files.is_folder(root + "/" + day)):
        for name in sorted(os.listdir(root + "/" + day), reverse=True):
            try:
                talk = store.read("p/%s/%s/%s" % (folder, day, name))
            except StoreError:
                continue
            if instruction.is_worth(talk.body):
                yield talk
