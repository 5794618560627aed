"""When a session gets a note, and how: one call of a model, checked and kept.

A note stands in the private tier under the day of its conversation, with `by` (the model),
`conversation`, `until` and `turns` (what it was made of), `dropped` (items that did not stand),
`read` (turns that the model got whole, where not all) and `written` (of its text, so that one that
a person edited is never written again).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from memory.capture import conversationpage
from memory.core import ProviderError, StoreError, clock, files, frontmatter
from memory.core.config import OFF, Config
from memory.core.layout import FOLDERS, Place
from memory.core.records import Record, derived_links
from memory.distill import providers, spend
from memory.distill.providers import CallFailed
from memory.notes import evidence, instruction, notepage, pause
from memory.notes.schema import VERSION, Note, from_answer
from memory.store import conversations, redactor, writer
from memory.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.distill.providers import Answer, Provider

KIND = "note"
SECONDS = 120.0  # that one note may take
GREW = 3  # turns that a session goes on by before its note is written again
RECENT, RESTS = 2 * clock.DAY, 60.0  # seconds since a conversation changed: at most, at least
MOST_MISSING = 5  # notes that one start writes at most


class Declined(ProviderError):
    """A call that the caps forbid now; no failure of the provider."""


@dataclass(frozen=True)
class Written:
    """A stored note with its record.

    dropped: the unproven pieces of the answer.
    """

    record: Record
    note: Note
    dropped: tuple[evidence.Dropped, ...]


def provider_of(settings: Config, env: Mapping[str, str]) -> Provider:
    """Return the provider that the user allowed to write notes.

    Raises ProviderError where none can be asked.
    """
    name = str(settings["notes.provider"])
    if name == OFF:
        raise ProviderError("notes are off; `dayleaf notes on` allows a model to write them")
    provider = providers.named(name, settings["distill.command"])
    reason = provider.available(env)
    if reason:
        raise CallFailed("absent", reason)
    return provider


def existing(store: Store, session: str, day: str) -> Record | None:
    """Return the note of a session and day, or None.

    day: of the conversation's begin, such as `2026-01-24`.
    """
    listed = of_day(store, KIND, day)
    return next((record for record in listed if record.meta.get("session") == session), None)


def of_day(store: Store, kind: str, day: str) -> Iterator[Record]:
    """Yield a day's private records of a dated kind, by name."""
    folder = "%s/%s" % (FOLDERS[kind], day)
    for file in files.list_folder("%s/%s" % (store.place.private, folder)):
        with contextlib.suppress(OSError, StoreError):
            if file.endswith(".md"):
                yield store.read("p/%s/%s" % (folder, file))


def hindrance(store: Store, talk: Record) -> str:
    """Return the reason why a conversation needs no note, or ""."""
    if not instruction.is_worth(talk.body):
        return "too short"
    before = existing(store, str(talk.meta.get("session") or ""), clock.day(talk.created))
    if before is None:
        return ""
    if is_edited(before):
        return "edited by hand"
    turns = sum(1 for _ in conversationpage.sections(talk.body))
    return "" if turns - number(before.meta.get("turns")) >= GREW else "written"


def is_edited(record: Record) -> bool:
    """Tell whether a person changed the text of a note."""
    return record.meta.get(conversations.WRITTEN) != writer.body_mark(record.body)


def number(value: object) -> int:
    """Return a field of a note's head as an integer, else 0."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else 0


def ask(
    store: Store, settings: Config, env: Mapping[str, str], talk: Record, now: float
) -> Written:
    """Ask the provider for a conversation's note; store and return it.

    Raises ProviderError where the call is declined or fails, StoreError where the note cannot be
    stored.
    """
    provider = provider_of(settings, env)
    body = redactor.clean(talk.body, settings, store.place.key)
    prompt = instruction.of_talk(talk, body)
    answer, note = _called(store.place, settings, env, provider, prompt, now)
    by = answer.model or str(settings["notes.model"]) or provider.name
    return keep(store, talk, note, by, prompt.whole)


def _called(
    place: Place,
    settings: Config,
    env: Mapping[str, str],
    provider: Provider,
    prompt: instruction.Prompt,
    now: float,
) -> tuple[Answer, Note]:
    """Call a provider within the day's cap."""
    model = str(settings["notes.model"])
    plan = prompt.tokens + instruction.ANSWER_TOKENS
    with spend.slot(place.home, settings, now, plan, spend.NOTES) as declined:
        if declined:
            raise Declined(declined)
        answer, why = providers.Answer("", model), "interrupted"
        try:
            answer = provider.complete(
                providers.Request(prompt.text, instruction.SYSTEM, SECONDS, env, model)
            )
            note, why = from_answer(answer.text), ""
        except CallFailed as error:
            why, answer = error.why, error.answer or answer
            raise
        except ProviderError as error:
            why = "unsound"
            raise CallFailed(why, str(error)) from None
        finally:
            with contextlib.suppress(OSError):
                spend.record(
                    place.home,
                    now,
                    provider.name,
                    answer.model or model,
                    answer.tokens_in,
                    answer.tokens_out,
                    answer.cost,
                    why,
                    plan,
                    spend.NOTES,
                )
    return answer, note


def keep(store: Store, talk: Record, note: Note, by: str, whole: int = 0) -> Written:
    """Check a note against its conversation and store the proven part.

    by: its author. whole: turns that the author read whole, 0 for all. Raises ProviderError where
        nothing is proven, StoreError where it cannot be stored.
    """
    proven, dropped = evidence.check(note, talk.body, clock.day(talk.created))
    if not proven.summary and not proven.items:
        raise CallFailed("unsound", "nothing of the answer stands in the conversation")
    session = str(talk.meta.get("session") or "")
    turns = sum(1 for _ in conversationpage.sections(talk.body))
    body = notepage.render(proven)
    title = proven.title or talk.title
    head = {
        "by": by,
        "branch": talk.meta.get("branch"),
        "conversation": talk.id,
        "until": talk.meta.get("until"),
        "turns": turns,
        "read": whole if 0 < whole < turns else None,
        "dropped": len(dropped) or None,
        "prompt": VERSION,
        conversations.WRITTEN: writer.body_mark(body),
    }
    before = existing(store, session, clock.day(talk.created))
    if before is not None:
        return Written(_rewrite(store, before, title, body, head), proven, tuple(dropped))
    extra = {key: value for key, value in head.items() if value}
    record = store.add(
        KIND,
        title,
        body,
        tags=talk.tags,
        source="auto",
        session=session,
        extra={**extra, "created": talk.created, "links": derived_links([talk.id])},
    )
    return Written(_with_mark(store, record), proven, tuple(dropped))


def _rewrite(
    store: Store, before: Record, title: str, body: str, head: Mapping[str, object]
) -> Record:
    """Rewrite a note in place.

    Raises StoreError where a person edited it meanwhile.
    """
    data = store.raw(before.name)
    if is_edited(before):
        raise StoreError("%s was edited by hand and stays as it is" % before.name)
    changes = {**head, "title": title, "updated": clock.iso(store.now)}
    new = frontmatter.edit(data, changes)
    new = new[: frontmatter.split(new)[1]] + b"\n" + body.encode("utf-8", "replace")
    return _with_mark(store, store.replace(before.name, new, files.sha256(data)))


def _with_mark(store: Store, record: Record) -> Record:
    """Return a note whose mark fits its stored text."""
    if not is_edited(record):
        return record
    return store.edit(record.name, {conversations.WRITTEN: writer.body_mark(record.body)})


def give_title(store: Store, record: Record) -> str:
    """Give a note's title to the session's last checkpoint.

    Returns the checkpoint's name, "" where none changed.
    """
    session = record.meta.get("session")
    until = str(record.meta.get("until") or "")
    last: Record | None = None
    for day in sorted({clock.day(record.created), until[:10], clock.day(store.now)} - {""}):
        for one in of_day(store, "checkpoint", day):
            own = one.meta.get("session") == session and one.source == "auto"
            if own and (last is None or one.created >= last.created):
                last = one
    if last is None or last.title == record.title:
        return ""
    store.edit(last.name, {"title": record.title}, True)
    return last.name


def write_due(
    store: Store, settings: Config, env: Mapping[str, str], talks: Iterable[Record], now: float
) -> list[Written]:
    """Write the notes due for conversations, until one is declined.

    A pause prevents all calls. Raises CallFailed after a failure, with the next pause stored.
    """
    found: list[Written] = []
    lock = files.Lock(store.place.cache + "/notes.lock")
    with lock as free:
        if (
            not free
            or settings["notes.provider"] == OFF
            or now < pause.read(store.place.home).until
        ):
            return found
        for talk in talks:
            if hindrance(store, talk):
                continue
            try:
                found.append(ask(store, settings, env, talk, now))
            except Declined:
                break
            except CallFailed as error:
                pause.failed(store.place.home, now, error.why)
                raise
            pause.worked(store.place.home)
    return found


def recent_talks(place: Place, now: float, session: str) -> list[str]:
    """Return the names of recent conversations that may lack a note.

    At most MOST_MISSING, the newest first: those that changed since notes were switched on and in
    the last RECENT seconds, and rest now. session: the running one, which is left out.
    """
    since = max(pause.read(place.home).since, now - RECENT)
    root = "%s/%s" % (place.private, FOLDERS["conversation"])
    found: list[tuple[float, str]] = []
    for day in {clock.day(now - back * clock.DAY) for back in range(4)}:
        with contextlib.suppress(OSError):
            for entry in os.scandir("%s/%s" % (root, day)):
                changed = entry.stat().st_mtime
                if entry.name.endswith(".md") and since <= changed < now - RESTS:
                    found.append(
                        (changed, "p/%s/%s/%s" % (FOLDERS["conversation"], day, entry.name))
                    )
    return [name for _, name in sorted(found, reverse=True) if not _is_of(place, name, session)][
        :MOST_MISSING
    ]


def _is_of(place: Place, name: str, session: str) -> bool:
    with contextlib.suppress(OSError):
        head = files.read(place.path(name), 1 << 15, follow=False)
        return frontmatter.parse(head).meta.get("session") == session
    return True
