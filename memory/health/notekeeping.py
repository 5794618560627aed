"""What follows a note, the session's own note, and the question whether notes are wanted."""

from __future__ import annotations

from collections.abc import Iterator

from memory.capture import progress
from memory.core import StoreError, files
from memory.core.layout import FOLDERS
from memory.core.records import Record
from memory.hook import signs
from memory.knowledge import lessons
from memory.notes import generation, instruction, schema
from memory.store.store import Store

SESSIONS_MODEL = "the session's model"  # `by` of a note that it wrote itself
MEASURED = 20  # newest conversations whose tokens are counted


def follow_up(store: Store, written: generation.Written) -> list[str]:
    """Give a checkpoint its note's title; keep lessons and wishes.

    Returns the names of the records that changed. Raises StoreError, OSError.
    """
    named = generation.give_title(store, written.record)
    changed = lessons.keep(store, written.record, written.note.items)
    lessons.archive_contradicted_wishes(store)
    return [written.record.name, *([named] if named else []), *changed]


def of_session(store: Store, session: str, said: str) -> tuple[generation.Written, list[str]]:
    """Keep a note written by a session's own model.

    Returns it with the names of the records that changed. said: the note as JSON. Raises StoreError
    where the session has no conversation, ProviderError for an empty note.
    """
    name = progress.head("%s/sessions/%s.json" % (store.place.cache, session)).get("talk")
    if not isinstance(name, str) or not name.startswith("p/"):
        raise StoreError("session %s has no conversation to check a note against" % session)
    made = generation.keep(store, store.read(name), schema.from_answer(said), SESSIONS_MODEL)
    return made, follow_up(store, made)


def answer(home: str) -> None:
    """Remember that the user decided about notes."""
    files.replace(home + signs.ASKED, b"")


def mean_tokens(store: Store, least: int = 1) -> int:
    """Return a model's mean tokens for the newest conversations.

    least: conversations worth a note; 0 with fewer.
    """
    sizes = []
    for talk in _newest_talks(store):
        sizes.append(instruction.of_talk(talk).tokens)
        if len(sizes) == MEASURED:
            break
    return sum(sizes) // len(sizes) if len(sizes) >= max(least, 1) else 0


def _newest_talks(store: Store) -> Iterator[Record]:
    root = "%s/%s" % (store.place.private, FOLDERS["conversation"])
    for day in reversed(files.list_folder(root)):
        newest = reversed(list(generation.of_day(store, "conversation", day)))
        yield from (talk for talk in newest if instruction.is_worth(talk.body))
