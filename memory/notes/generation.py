"""Write notes of sessions: one call of a model each, checked and stored.

A note stands in the private tier under the day of its conversation, with `by` (the model),
`conversation`, `until` and `turns` (its sources), `dropped` (unproven items), `read` (turns that
the model got whole, if not all) and `written` (checksum of its text: a note that a person edited is
never written again).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from memory.capture import conversationpage
from memory.core import ProviderError, StoreError, clock, files, frontmatter
from memory.core.config import OFF, Config
from memory.core.layout import FOLDERS, Place
from memory.core.plaintext import format_count
from memory.core.records import Record, make_derived_links
from memory.distill import modelcall, providers, spend
from memory.distill.providers import CallFailed
from memory.notes import evidence, instruction, notepage, pause
from memory.notes.schema import VERSION, Note, parse_answer
from memory.store import conversations, redactor, writer
from memory.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.distill.providers import Provider

CallDeclined = modelcall.CallDeclined
KIND = "note"
SECONDS = 120.0  # for one note
LEAST_NEW_TURNS = 3  # after which a note is written again
RECENT, RESTS = 2 * clock.DAY, 60.0  # seconds since a conversation changed: at most, at least
MOST_MISSING = 5  # notes that one start writes at most


class StoredNote(NamedTuple):
    """A stored note, its record and the dropped texts."""

    record: Record
    note: Note
    dropped: list[evidence.DroppedItem]


def load_provider(settings: Config, env: Mapping[str, str]) -> Provider:
    """Return the provider that the user allowed to write notes.

    Raises ProviderError where none can be called.
    """
    name = str(settings["notes.provider"])
    if name == OFF:
        raise ProviderError("notes are off; `dayleaf notes on` allows a model to write them")
    provider = providers.load_provider(name, settings["distill.command"])
    reason = provider.available(env)
    if reason:
        raise CallFailed("absent", reason)
    return provider


def find_note(store: Store, session: str, day: str) -> Record | None:
    """Find the note of a session that began on a day, or None."""
    for note in read_day(store, KIND, day):
        if note.meta.get("session") == session:
            return note
    return None


def read_day(store: Store, kind: str, day: str) -> Iterator[Record]:
    """Read a day's private records of a dated kind, by name."""
    folder = "%s/%s" % (FOLDERS[kind], day)
    for file in files.list_folder("%s/%s" % (store.place.private, folder)):
        with contextlib.suppress(OSError, StoreError):
            if file.endswith(".md"):
                yield store.read("p/%s/%s" % (folder, file))


def find_obstacle(store: Store, talk: Record) -> str:
    """Return why a conversation gets no note now, or ""."""
    if not instruction.is_long_enough(talk.body):
        return "too short"
    before = find_note(store, str(talk.meta.get("session") or ""), clock.day(talk.created))
    if before is None:
        return ""
    if is_edited(before):
        return "edited by hand"
    new_turns = _count_turns(talk) - to_integer(before.meta.get("turns"))
    return "" if new_turns >= LEAST_NEW_TURNS else "written"


def _count_turns(talk: Record) -> int:
    return sum(1 for _ in conversationpage.split_sections(talk.body))


def is_edited(record: Record) -> bool:
    """Tell whether a person edited the text of a note."""
    return record.meta.get(conversations.WRITTEN) != writer.body_checksum(record.body)


def to_integer(value: object) -> int:
    """Return a frontmatter field as an integer, 0 for other text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else 0


def count_dropped(notes: Iterable[Record]) -> int:
    """Count the items that were dropped from notes."""
    return sum(to_integer(note.meta.get("dropped")) for note in notes)


def format_dropped(count: int) -> str:
    return format_count(count, "item") + " dropped because no conversation supported them"


def request_note(
    store: Store, settings: Config, env: Mapping[str, str], talk: Record, now: float
) -> StoredNote:
    """Request a conversation's note from the provider, check and store it.

    Raises ProviderError where the call is refused or fails, StoreError where the note cannot be
    stored.
    """
    provider, model = load_provider(settings, env), str(settings["notes.model"])
    prompt = instruction.build_for_record(
        talk, redactor.clean(talk.body, settings, store.place.key)
    )
    request = providers.Request(prompt.text, instruction.SYSTEM, SECONDS, env, model)
    plan, home = prompt.tokens + instruction.ANSWER_TOKENS, store.place.home
    try:
        answer, note = modelcall.call_provider(
            home, settings, now, provider, request, plan, parse_answer, spend.NOTES
        )
    except (CallFailed, CallDeclined):
        raise
    except ProviderError as error:
        raise CallFailed("unsound", str(error)) from None
    return store_note(store, talk, note, answer.model or model or provider.name, prompt.whole)


def store_note(store: Store, talk: Record, note: Note, by: str, whole: int = 0) -> StoredNote:
    """Check a note against its conversation and store the proven part.

    by: its author. whole: turns that the author read whole, 0 for all. Raises ProviderError if
        nothing is proven, StoreError if it cannot be stored.
    """
    day = clock.day(talk.created)
    proven, dropped = evidence.check(note, talk.body, day)
    if not proven.summary and not proven.items:
        raise CallFailed("unsound", "nothing of the answer stands in the conversation")
    session, turns = str(talk.meta.get("session") or ""), _count_turns(talk)
    body, title = notepage.render(proven), proven.title or talk.title
    head = {
        "by": by,
        "branch": talk.meta.get("branch"),
        "conversation": talk.id,
        "until": talk.meta.get("until"),
        "imported": talk.meta.get("imported"),
        "turns": turns,
        "read": whole if 0 < whole < turns else None,
        "dropped": len(dropped) or None,
        "prompt": VERSION,
        conversations.WRITTEN: writer.body_checksum(body),
    }
    before = find_note(store, session, day)
    if before is not None:
        return StoredNote(_rewrite_note(store, before, title, body, head), proven, dropped)
    extra = {key: value for key, value in head.items() if value}
    extra.update(created=talk.created, links=make_derived_links([talk.id]))
    record = store.add(
        KIND, title, body, tags=talk.tags, source="auto", session=session, extra=extra
    )
    return StoredNote(_update_mark(store, record), proven, dropped)


def _rewrite_note(
    store: Store, before: Record, title: str, body: str, head: Mapping[str, object]
) -> Record:
    """Rewrite a note in place; raises StoreError if a person edited it."""
    data = store.raw(before.name)
    if is_edited(before):
        raise StoreError("%s was edited by hand and stays as it is" % before.name)
    changes = {**head, "title": title, "updated": clock.iso(store.now)}
    new = frontmatter.edit(data, changes)
    new = new[: frontmatter.split_head(new)[1]] + b"\n" + body.encode("utf-8", "replace")
    return _update_mark(store, store.replace(before.name, new, files.sha256(data)))


def _update_mark(store: Store, record: Record) -> Record:
    """Update a note's checksum if redaction changed its text."""
    if not is_edited(record):
        return record
    return store.edit(record.name, {conversations.WRITTEN: writer.body_checksum(record.body)})


def copy_title(store: Store, record: Record) -> str:
    """Copy a note's title to the session's last checkpoint.

    Returns the checkpoint's name, "" if none changed.
    """
    session, until = record.meta.get("session"), str(record.meta.get("until") or "")
    last: Record | None = None
    for day in sorted({clock.day(record.created), until[:10], clock.day(store.now)} - {""}):
        for each in read_day(store, "checkpoint", day):
            is_own = each.meta.get("session") == session and each.source == "auto"
            if is_own and (last is None or each.created >= last.created):
                last = each
    if last is None or last.title == record.title:
        return ""
    store.edit(last.name, {"title": record.title}, bookkeeping=True)
    return last.name


def write_due_notes(
    store: Store, settings: Config, env: Mapping[str, str], talks: Iterable[Record], now: float
) -> list[StoredNote]:
    """Write the notes due for conversations, until a cap refuses one.

    A pause prevents all calls. Raises CallFailed after a failure, with the next pause stored.
    """
    home, written = store.place.home, list[StoredNote]()
    with files.Lock(store.place.cache + "/notes.lock") as free:
        if not free or settings["notes.provider"] == OFF or now < pause.read(home).until:
            return written
        for talk in talks:
            if find_obstacle(store, talk):
                continue
            try:
                written.append(request_note(store, settings, env, talk, now))
            except CallDeclined:
                break
            except CallFailed as error:
                pause.record_failure(home, now, error.why)
                raise
            pause.record_success(home)
    return written


def list_recent_talks(place: Place, now: float, session: str) -> list[str]:
    """Return the names of recent conversations, which may lack a note.

    At most MOST_MISSING, the newest first: changed since notes were switched on, in the last RECENT
    seconds, but not in the last RESTS. session: the running one, left out.
    """
    since, kind = max(pause.read(place.home).since, now - RECENT), FOLDERS["conversation"]
    found: list[tuple[float, str]] = []
    for day in {clock.day(now - back * clock.DAY) for back in range(4)}:
        folder = "%s/%s" % (kind, day)
        with contextlib.suppress(OSError):
            for entry in os.scandir("%s/%s" % (place.private, folder)):
                changed = entry.stat().st_mtime
                if entry.name.endswith(".md") and since <= changed < now - RESTS:
                    found.append((changed, "p/%s/%s" % (folder, entry.name)))
    names = [name for _, name in sorted(found, reverse=True)]
    return [name for name in names if not _is_of_session(place, name, session)][:MOST_MISSING]


def _is_of_session(place: Place, name: str, session: str) -> bool:
    """Tell whether a conversation is of a session; True if unreadable."""
    with contextlib.suppress(OSError):
        head = files.read(place.path(name), 1 << 15, follow=False)
        return frontmatter.parse(head).meta.get("session") == session
    return True
