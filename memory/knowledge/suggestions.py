"""A session's model changes nothing that a person wrote: it suggests the command, a person runs it.

A suggestion is a candidate learning of the private tier whose key `suggests` lists the words of a
command that a session may type itself. Accepted in `dayleaf review`, the command runs as the
person's; then, or rejected, it goes to the archive.
"""

from __future__ import annotations

import shlex
from typing import Sequence

from memory.core import PersonsRecord, records, spellings
from memory.core.layout import PRIVATE
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.store.store import Store

KEY = "suggests"
TITLE_CHARS = 120


def store_suggestion(
    store: Store, refused: PersonsRecord, words: Sequence[str], session: str
) -> Record:
    """Store a suggested command once; return its record.

    words: those after `dayleaf`.
    """
    for record in store.each(("learning",)):
        if not record.accepted and read_suggestion(record) == list(words):
            return record
    line = " ".join((spellings.format_command(words[0]), *map(shlex.quote, words[1:])))
    title = "Suggested: " + one_line(line)[:TITLE_CHARS]
    body = 'A session suggests this command:\n\n    %s\n\nIt would change %s, "%s".\n' % (
        one_line(line),
        refused.id,
        one_line(refused.title),
    )
    return store.add(
        "learning",
        title,
        body,
        source="agent",
        session=session,
        extra={
            "accepted": False,
            KEY: list(words),
            "links": records.make_derived_links([refused.id]),
        },
    )


def read_suggestion(record: Record) -> list[str]:
    """Return a private record's suggested command in words, [] for none."""
    said = record.meta.get(KEY)
    if record.tier != PRIVATE or record.guessed or not isinstance(said, list):
        return []
    return [str(word) for word in said]
