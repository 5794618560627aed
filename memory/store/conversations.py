"""Conversations as records: whether a person edited them, a session's other records, forgotten
sessions.

`written` says what text dayleaf gave a conversation.  With another text it is a person's, and left
alone.  A forgotten session stays so: its conversation is not written again until it is restored.
"""

from __future__ import annotations

from typing import Iterable, NamedTuple

from memory.core import StoreError, files, frontmatter
from memory.core.layout import DATED_KINDS, PRIVATE, TRANSCRIBED_KINDS, Place
from memory.core.records import READ_LIMIT, Record, meta_text
from memory.store import archive, writer
from memory.store.reader import Reader, match_ids

KIND, WRITTEN = "conversation", "written"


def is_edited_file(data: bytes) -> bool:
    """Tell whether a person edited a conversation, given its whole file."""
    page = frontmatter.parse(data)
    return page.meta.get(WRITTEN) != writer.body_checksum(page.body)


def is_edited(record: Record) -> bool:
    """Tell whether a person edited a conversation or note."""
    checksum = writer.body_checksum(record.body)
    return record.kind in TRANSCRIBED_KINDS and record.meta.get(WRITTEN) != checksum


def find_edited(store: Reader, found: Iterable[Record]) -> list[Record]:
    """Return the conversations and notes that a person edited.  Raises StoreError."""
    edited = []
    for record in found:
        is_whole = record.size <= READ_LIMIT or record.kind not in TRANSCRIBED_KINDS
        if is_edited(record) if is_whole else is_edited_file(store.raw(record.name)):
            edited.append(record)
    return edited


def update_checksum(before: bytes, after: bytes) -> bytes:
    """Return a conversation's new bytes with a new checksum in `written`.

    Only where it fitted the old bytes: a redaction is no edit by a person.
    """
    if b"\n%s:" % WRITTEN.encode() not in before or before == after or is_edited_file(before):
        return after
    checksum = writer.body_checksum(frontmatter.parse(after).body)
    try:
        return frontmatter.edit(after, {WRITTEN: checksum})
    except StoreError:
        # a redaction may not fail for this: the text counts as a person's then
        return after


def find_by_session(store: Reader, session: str) -> list[Record]:
    """Return the checkpoints and conversations of a session, sorted by name."""
    found = store.each(DATED_KINDS) if session else ()
    return [record for record in found if record.meta.get("session") == session]


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


def find_session_records(store: Reader, start: str, archived: bool = False) -> SessionRecords:
    """Find the records of a session by its id or a prefix."""
    found = list(store.each())
    if archived:
        found += [record for kind in DATED_KINDS for record in store.archived(kind)]
    by_session: dict[str, list[Record]] = {}
    for record in found:
        session = meta_text(record, "session")
        if session:
            by_session.setdefault(session, []).append(record)
    known = [
        session
        for session, records in by_session.items()
        if any(record.kind in DATED_KINDS for record in records)
    ]
    ids = match_ids(start.strip(), known)
    session = ids[0] if len(ids) == 1 else ""
    records = by_session.get(session, [])
    return SessionRecords(
        session,
        [record for record in records if record.kind in DATED_KINDS],
        [record for record in records if record.kind not in DATED_KINDS],
        ids,
        known,
    )


# ---- sessions that were forgotten


def log_forgotten(place: Place, session: str, id: str, now: float) -> None:
    """Note in the archive's log that a session is forgotten.

    id: of its conversation, or "".
    """
    root = files.real_path(place.private)
    with writer.lock(place.home):
        files.make_folder(root + "/" + archive.FOLDER)
        move, mode = archive.Move(id, "", ""), writer.file_mode(PRIVATE)
        archive.log(root, move, "session forgotten", now, mode, session)


def read_forgotten(root: str, wanted: str = "") -> list[str]:
    """Return the ids of a private tier's forgotten sessions, [] without `wanted`."""
    found: list[tuple[str, str]] = []
    for move, reason, session in archive.read_log(root, wanted.encode()):
        if session and not move.home:
            found.append((session, move.id))
        elif reason == archive.RESTORED:
            found = [pair for pair in found if pair[1] != move.id]
    return list(dict.fromkeys(session for session, _ in found))


def was_forgotten(place: Place, session: str) -> bool:
    """Tell whether a session was forgotten in any project and may not be written again."""
    root = place.home + "/workspaces/"  # it may go on in a folder that was renamed
    return any(session in read_forgotten(root + key, session) for key in files.list_folder(root))


def list_removed_until(place: Place, session: str) -> list[str]:
    """Return the instants up to which removed records told of a session."""
    log = archive.read_log(files.real_path(place.private), session.encode())
    return [row.move.home for row in log if row.session == session]
