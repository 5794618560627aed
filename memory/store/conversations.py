"""Conversations as records: whose text stands in them, what else the store has of a session, and
which sessions were forgotten.

A conversation says in `written` what text dayleaf gave it.  With another text it is a person's, and
left alone from then on.  A session that was forgotten stays so: its conversation is not written
again, till it is restored.
"""

from __future__ import annotations

from typing import Iterable, NamedTuple

from memory.core import StoreError, files, frontmatter
from memory.core.layout import DATED, PRIVATE, SAID, Place
from memory.core.records import READ_LIMIT, Record
from memory.store import archive, writer
from memory.store.reader import Reader, begun

KIND, WRITTEN = "conversation", "written"


def is_by_hand(data: bytes) -> bool:
    """Tell whether a person changed a conversation's text, by its whole file."""
    page = frontmatter.parse(data)
    return page.meta.get(WRITTEN) != writer.body_mark(page.body)


def is_rewritten(record: Record) -> bool:
    """Tell whether a person changed what was read of a conversation or note."""
    return record.kind in SAID and record.meta.get(WRITTEN) != writer.body_mark(record.body)


def edited_by_person(store: Reader, found: Iterable[Record]) -> list[Record]:
    """Return the conversations and notes written or changed by a person.  Raises StoreError."""
    return [
        record
        for record in found
        if (
            record.kind in SAID and is_by_hand(store.raw(record.name))
            if record.size > READ_LIMIT
            else is_rewritten(record)
        )
    ]


def renew_mark(before: bytes, after: bytes) -> bytes:
    """Return a file's new bytes with the conversation's mark renewed.

    Only where the mark fitted the old bytes: what dayleaf itself takes out of a text is no change
    by hand.
    """
    if b"\n%s:" % WRITTEN.encode() not in before or before == after or is_by_hand(before):
        return after
    try:
        return frontmatter.edit(after, {WRITTEN: writer.body_mark(frontmatter.parse(after).body)})
    except StoreError:
        # what takes a secret out may not fail for this: the text counts as a person's then
        return after


def of_session(store: Reader, session: str) -> list[Record]:
    """Return the checkpoints and conversations of a session, by name."""
    return [
        record for record in store.each(DATED) if session and record.meta.get("session") == session
    ]


class SessionRecords(NamedTuple):
    """The store's records of a session.

    session: its id, "" where none or several (`ids`) match.  records: its checkpoints and
    conversations.  others: further records naming it.  known: all sessions.
    """

    session: str
    records: list[Record]
    others: list[Record]
    ids: list[str]
    known: list[str]


def session_records(store: Reader, start: str, archived: bool = False) -> SessionRecords:
    """Find the records of a session by its id or a prefix."""
    found = list(store.each())
    if archived:
        found += [record for kind in DATED for record in store.archived(kind)]
    by: dict[str, list[Record]] = {}
    for record in found:
        session = record.meta.get("session")
        if isinstance(session, str) and session:
            by.setdefault(session, []).append(record)
    known = [
        session for session, rows in by.items() if any(record.kind in DATED for record in rows)
    ]
    ids = begun(start.strip(), known)
    session = ids[0] if len(ids) == 1 else ""
    rows = by.get(session, [])
    return SessionRecords(
        session,
        [r for r in rows if r.kind in DATED],
        [r for r in rows if r.kind not in DATED],
        ids,
        known,
    )


# ---- sessions that were forgotten


def forget(place: Place, session: str, id: str, now: float, hard: bool = False) -> None:
    """Log that a session was forgotten, without any text; raises StoreError, OSError.

    id: of its conversation, or "".  hard: nothing of it is kept.
    """
    root = files.real_path(place.private)
    with writer.lock(place.home):
        files.make_folder(root + "/" + archive.FOLDER)
        reason = archive.REMOVED if hard else "session forgotten"
        archive.log(root, archive.Move(id, "", ""), reason, now, writer.mode(PRIVATE), session)


def forgotten(place: Place) -> list[str]:
    """Return the forgotten sessions whose conversations were not restored."""
    return forgotten_in(files.real_path(place.private))


def forgotten_in(root: str) -> list[str]:
    """Return the same of a private tier's directory."""
    found: list[tuple[str, str]] = []
    for move, reason, session in archive.moves(root):
        if session:
            found.append((session, move.id))
        elif reason == archive.RESTORED:
            found = [pair for pair in found if pair[1] != move.id]
    return list(dict.fromkeys(session for session, _ in found))


def was_removed(place: Place, session: str) -> bool:
    """Tell whether a session was forgotten for good."""
    rows = archive.moves(files.real_path(place.private))
    return any(named == session and reason == archive.REMOVED for _, reason, named in rows)


def was_forgotten(place: Place, session: str) -> bool:
    """Tell whether a session was forgotten, and may not be written again."""
    return session in forgotten(place)
