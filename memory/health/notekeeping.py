"""The steps after a new note, notes by a session's own model, and the measured cost of a note."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from memory.capture import progress
from memory.core import StoreError, files
from memory.core.layout import FOLDERS, Place
from memory.core.records import Record
from memory.hook import signs
from memory.knowledge import lessons
from memory.notes import generation, instruction, schema
from memory.store.store import Store

SESSIONS_MODEL = "the session's model"  # `by` of its own note
MEASURED = 20  # newest conversations whose tokens are counted


def follow_up(store: Store, written: generation.StoredNote) -> list[str]:
    """Copy a new note's title to its checkpoint; store its lessons and wishes.

    Returns the names of the changed records.
    """
    named = generation.copy_title(store, written.record)
    changed = lessons.store_note_items(store, written.record, written.note.items)
    lessons.archive_contradicted_wishes(store)
    return [written.record.name, *([named] if named else []), *changed]


def keep_session_note(
    store: Store, session: str, said: str
) -> tuple[generation.StoredNote, list[str]]:
    """Store a note written by a session's own model.

    Returns (note, names of the changed records). said: the note as JSON. Raises StoreError for a
    session without a conversation, ProviderError for an empty note.
    """
    name = find_conversation(store.place, session)
    if not name:
        raise StoreError("session %s has no conversation to check a note against" % session)
    made = generation.store_note(store, store.read(name), schema.parse_answer(said), SESSIONS_MODEL)
    return made, follow_up(store, made)


def find_conversation(place: Place, session: str) -> str:
    """Return the name of a session's conversation, or ""."""
    name = progress.read_head("%s/sessions/%s.json" % (place.cache, session)).get("talk")
    return name if isinstance(name, str) and name.startswith("p/") else ""


def mark_answered(home: str) -> None:
    """Record that the user decided about notes."""
    files.replace(home + signs.ASKED, b"")


def mean_tokens(store: Store, least: int = 1) -> int:
    """Return how many tokens a note costs on average.

    Of the newest conversations; 0 for fewer than `least` conversations worth a note.
    """
    newest = islice(_find_newest_conversations(store), MEASURED)
    sizes = [instruction.build_for_record(talk).tokens for talk in newest]
    return sum(sizes) // len(sizes) if len(sizes) >= least else 0


def _find_newest_conversations(store: Store) -> Iterator[Record]:
    root = "%s/%s" % (store.place.private, FOLDERS["conversation"])
    for day in reversed(files.list_folder(root)):
        newest = reversed(list(generation.read_day(store, "conversation", day)))
        yield from (talk for talk in newest if instruction.is_long_enough(talk.body))
