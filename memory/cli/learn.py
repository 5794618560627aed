"""The verbs that write records: learn, checkpoint, forget, restore, edit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from unicodedata import normalize

from memory.core import StoreError, UsageError, clock, files, layout
from memory.core.plaintext import format_count, one_line
from memory.core.records import TWO_SESSIONS, Record, parse_labels
from memory.hook import receipts
from memory.store import conversations, ledger
from memory.store.reader import format_not_found
from memory.store.redactor import strip_private
from memory.store.store import Store
from memory.terminal import screen
from memory.terminal.call import (
    REVIEW,
    Call,
    ask_confirmation,
    choose_tier,
    extract_title,
    find_author,
    find_session_id,
    report_written,
    warn,
)
from memory.terminal.editor import edit_record


def learn(call: Call) -> int:
    """Write a learning, or add the tags to an existing one."""
    text = call.text().strip()
    if not text:
        raise UsageError("the learning is empty; give its text as an argument or on stdin")
    tier = choose_tier(call)
    text = _require_public(text)
    title, store = call.options.title or extract_title(text), call.store()
    is_model = find_author(call) == "agent"
    existing = store.same("learning", title, text, tier, is_model)
    kept = (
        _merge_learning(call, store, existing)
        if existing
        else _add_learning(call, store, title, text, tier)
    )
    call.indexed()
    if not (kept.accepted or is_model):  # a candidate of just before, which a person says too
        kept = store.edit(kept.name, {"accepted": True})
    done = "already there" if existing else "kept"
    done += "" if kept.accepted else " as a candidate for `dayleaf review`"
    return report_written(call, kept, done, text)


def _require_public(text: str) -> str:
    public = strip_private(text).strip()
    if not public:
        raise UsageError("nothing is left to keep: all of it is marked private")
    return public


def _add_learning(call: Call, store: Store, title: str, text: str, tier: str) -> Record:
    extra: dict[str, Any] = {
        "versions": call.options.version,
        "confidence": call.options.confidence,
    }
    return store.add(
        "learning",
        title,
        text + "\n",
        tier=tier,
        tags=call.options.tag or (),
        session=find_session_id(call),
        source=call.options.source or find_author(call),
        extra={key: value for key, value in extra.items() if value} | _mark_candidate(call),
    )


def _accept_again(call: Call, candidate: Record) -> dict[str, Any]:
    """Return the acceptance by another session that says the same, or {}."""
    again = candidate.meta.get("session") not in (None, find_session_id(call))
    return {"accepted": True, "accepted_by": TWO_SESSIONS} if again else {}


def _mark_candidate(call: Call) -> dict[str, Any]:
    """Return the mark of what a session's model wrote, {} for a person."""
    return {"accepted": False} if find_author(call) == "agent" else {}


def _merge_learning(call: Call, store: Store, existing: Record) -> Record:
    def changes(now: Record) -> dict[str, object]:
        new = {
            "tags": _join_labels(now.tags, call.options.tag),
            "versions": _join_labels(now.versions, call.options.version),
            "confidence": call.options.confidence or now.confidence,
        }
        old = {"tags": [*now.tags], "versions": [*now.versions], "confidence": now.confidence}
        changed = {key: value for key, value in new.items() if value != old[key]}
        return changed | ({} if now.accepted else _accept_again(call, now))

    return store.edit(existing.name, changes) if changes(existing) else existing


def _join_labels(there: Iterable[str], more: Iterable[str] | None) -> list[str]:
    return list(parse_labels([*there, *(more or ())]))


def checkpoint(call: Call) -> int:
    """Write a checkpoint of a note, or of a session's work."""
    from memory.capture import byhand

    text = call.text()
    if call.options.note:
        kept = _write_session_note(call, text)
    elif text.strip():
        _require_public(text)
        store = call.store()
        kept = byhand.write_note(
            store, call.place, text, call.options.tag or (), find_session_id(call), call.now
        )
    else:
        kept = _write_session_checkpoint(call)
    call.indexed()
    return report_written(call, kept, "written", text if text.strip() else None)


def _write_session_note(call: Call, text: str) -> Record:
    from memory.health import notekeeping

    session = find_session_id(call)
    if not session:
        raise UsageError("a note is of a session; name it with --session ID")
    path = find_transcript(call, session)
    if path:
        capture_now(call, session, path)
    made, changed = notekeeping.keep_session_note(call.store(), session, strip_private(text))
    call.changed += changed
    for one in made.dropped:
        warn("left out, %s: %s" % (one.why, one_line(one.text)[:120]))
    return made.record


def _write_session_checkpoint(call: Call) -> Record:
    session = find_session_id(call)
    if not session:
        raise UsageError("there is nothing to write; give a note, or --session ID")
    path = find_transcript(call, session)
    if not path:
        raise StoreError("session %s has no known transcript; give a note instead" % session)
    name = capture_now(call, session, path)
    if not name:
        raise StoreError(
            "session %s has nothing new since its last checkpoint; give a note to write one"
            % session
        )
    return call.store().read(name)


def find_transcript(call: Call, session: str) -> str:
    """Return the path of a session's transcript, "" if unknown."""
    from memory.session import whereabouts

    path = call.place.receipts(session)
    known = receipts.read(path) if files.exists(path) else []
    named = [
        row["transcript"] for row in known if row.get("event") == "start" and row.get("transcript")
    ]
    return whereabouts.find_transcript(
        call.env, session, call.options.transcript or (named or [""])[-1]
    )


def capture_now(call: Call, session: str, path: str) -> str:
    """Write a checkpoint of new work; return its name, or ""."""
    from memory.capture import stretches

    return stretches.capture(
        call.place,
        call.settings,
        call.env,
        call.now,
        session,
        path,
        "manual",
        on_change=call.changed.append,
    )


def forget(call: Call) -> int:
    """Archive matching records, or remove them with --hard."""
    many = [name for name in ("session", "day", "file", "mentions") if getattr(call.options, name)]
    if many and call.words:
        raise UsageError("record forget takes one ID or --%s, not both" % many[0])
    if call.options.session:
        if len(many) > 1:
            raise UsageError(
                "--session takes all records of a session; leave --%s out, or --session" % many[1]
            )
        return _forget_session(call, call.options.session)
    if many:
        return _forget_matching(call)
    if not call.words:
        raise UsageError("say what to forget: an ID, or --session, --day, --file or --mentions")
    id = call.single_word("ID")
    if call.options.hard:
        return _forget_hard(call, id)
    from memory.recall import lookup

    store = call.store()
    found = lookup.find_writable(call.place, call.settings, id)
    _mark_forgotten(call, found)
    away = store.archive(found.name, "forgotten")
    call.indexed()
    ledger.recount_after_moves(call.place)
    stays, note = _list_staying(store, [found])
    return call.answer(
        {"id": found.id, "from": found.name, "to": away, "stays": stays},
        [
            "archived %s  %s" % (found.id, one_line(found.title)),
            "  `dayleaf store restore %s` brings it back" % found.id,
            *note,
        ],
    )


def _mark_forgotten(call: Call, found: Record) -> None:
    if found.kind == conversations.KIND and found.meta.get("session"):
        session, hard = str(found.meta["session"]), bool(call.options.hard)
        conversations.log_forgotten(call.place, session, found.id, call.now, hard)


def _list_staying(store: Store, gone: Sequence[Record]) -> tuple[list[str], list[str]]:
    session = str(gone[0].meta.get("session") or "") if gone[0].kind in layout.DATED_KINDS else ""
    stays = [
        record
        for record in conversations.find_by_session(store, session)
        if record.id not in {one.id for one in gone}
    ]
    talks = sum(record.kind == conversations.KIND for record in stays)
    counts = ((talks, conversations.KIND), (len(stays) - talks, "checkpoint"))
    said = [format_count(number, kind) for number, kind in counts if number]
    note = "  %s of its session stay%s; `dayleaf record forget --session %s` removes all" % (
        " and ".join(said),
        "s" * (len(stays) == 1),
        session,
    )
    return [record.id for record in stays], [note] * bool(stays)


def _forget_hard(call: Call, id: str) -> int:
    from memory.recall import lookup

    store = call.store()
    note = []
    try:
        found = lookup.find_writable(call.place, call.settings, id)
    except StoreError as no_such_record:
        try:
            found = store.find_archived(id)
        except StoreError:
            raise no_such_record from None
    title = one_line(found.title)
    if not call.options.yes and not ask_confirmation(
        "remove %s '%s' for good? type yes: " % (found.id, title)
    ):
        raise UsageError("%s was not removed%s" % (found.id, _format_without_yes("--hard")))
    _mark_forgotten(call, found)
    digests, left = _remove_records(call, store, [found])
    if found.tier == layout.SHARED:
        note.append("  git still has it if it was committed")
    stays, more = _list_staying(store, [found])
    return call.answer(
        {
            "id": found.id,
            "removed": found.name,
            "bytes": found.size,
            "digests": digests,
            "stays": stays,
        },
        [
            "removed %s  %s" % (found.id, title),
            "  %s, %s; %s; the index was rebuilt"
            % (
                call.place.path(found.name),
                format_count(found.size, "byte"),
                format_count(digests, "cached answer") + " removed",
            ),
            *note,
            *left,
            *more,
        ],
    )


def _remove_records(call: Call, store: Store, gone: Sequence[Record]) -> tuple[int, list[str]]:
    """Remove records for good, with their copies and traces.

    Returns (number of deleted digests, a line for each file that still names a record).
    """
    from memory.distill import cache
    from memory.health import erasure
    from memory.index import builder
    from memory.knowledge import walls

    # before the files: after a kill in between, a second run finds no record to start from
    digests = cache.prune(cache.digests_folder(call.place.cache), None)
    builder.delete_index(call.place)
    walls.delete_derived(call.place)
    for record in gone:
        store.remove(record.name)
    with call.spinner("building the index"):
        left = erasure.remove_traces(call.place, gone, call.now)
        builder.build(call.place, call.now)
    ledger.recount_after_moves(call.place)
    return digests, [
        "  its name still stands in %s: %s" % (one.role, one_line(one.path)) for one in left
    ]


def _forget_session(call: Call, start: str) -> int:
    store = call.store()
    found = conversations.find_session_records(store, start, bool(call.options.hard))
    if not found.records:
        raise StoreError(
            format_not_found(
                "session",
                start,
                found.ids,
                found.known,
                "`dayleaf recall --kind checkpoint` lists some",
            )
        )
    of = "%s of session %s" % (format_count(len(found.records), "record"), one_line(found.session))
    lines = _ask_to_forget(call, found.records, of, "--session")
    talk = next((record.id for record in found.records if record.kind == conversations.KIND), "")
    conversations.log_forgotten(call.place, found.session, talk, call.now, bool(call.options.hard))
    done, kept = _forget_records(call, store, found.records, "session forgotten")
    ids, left = [record.id for record in found.records], [record.id for record in found.others]
    note = []
    if left:
        named = ", ".join(left[:5]) + ", …" * (len(left) > 5)
        stay = "stay" + "s" * (len(left) == 1)
        note.append("  %s made from it %s: %s" % (format_count(len(left), "record"), stay, named))
    if not call.options.hard:
        note.append("  `dayleaf store restore ID` brings each back: " + ", ".join(ids))
    return call.answer(
        {"session": found.session, done: ids, "stays": left},
        [*lines, "%s %s" % (done, of), *note, *kept, "  Claude Code's own transcript of it stays"],
    )


def _forget_matching(call: Call) -> int:
    store, hard = call.store(), bool(call.options.hard)
    with call.spinner("reading the records"):
        there = list(store.each())
        if hard:
            there += [record for kind in layout.FOLDERS for record in store.archived(kind)]
        found = sorted(
            {one.name: one for one in filter(_make_forget_filter(call), there)}.values(),
            key=lambda record: (-record.created, record.name),
        )
    searched = "  other projects%s were not searched" % ("" if hard else " and the archive")
    if not found:
        return call.answer(
            {"forgotten": []}, ["no record matches; nothing was forgotten", searched]
        )
    shared = sum(record.tier == layout.SHARED for record in found)
    of = format_count(len(found), "record") + ", %d of them shared" % shared * bool(shared)
    lines = _ask_to_forget(call, found, of, "forgetting " + of)
    for record in found:
        _mark_forgotten(call, record)
    done, left = _forget_records(call, store, found, "forgotten")
    note = ["  git still has %s if committed" % format_count(shared, "shared record")]
    note *= bool(hard and shared)
    return call.answer(
        {"forgotten": [record.id for record in found], "hard": hard},
        [
            *lines,
            "%s %s" % (done, of),
            *note,
            *left,
            *([] if hard else ["  `dayleaf store restore ID` brings one back"]),
            searched,
        ],
    )


def _ask_to_forget(call: Call, found: Sequence[Record], of: str, what: str) -> list[str]:
    """Ask whether to forget the listed records; with --yes return the list.

    of: their description. what: the action to confirm. Raises UsageError without a yes.
    """
    hard = bool(call.options.hard)
    lines = screen.format_table(
        [
            [
                one.kind,
                one.id,
                clock.format_local(one.created)[:10],
                "" if one.tier == layout.PRIVATE else layout.TIER_NAMES[one.tier],
                one_line(one.title),
            ]
            for one in found
        ],
        style=call.style(),
        give=4,
    )
    if call.options.yes:
        return lines
    if not call.options.json or sys.stderr.isatty():
        print("\n".join(lines), file=sys.stderr if call.options.json else sys.stdout, flush=True)
    if not ask_confirmation(
        "%s %s%s? type yes: " % ("remove" if hard else "archive", of, " for good" if hard else "")
    ):
        raise UsageError("nothing was forgotten" + _format_without_yes(what))
    return []


def _format_without_yes(what: str) -> str:
    asked = sys.stdin.isatty() and sys.stderr.isatty()
    return "" if asked else "; %s needs a yes in a terminal, or --yes" % what


def _forget_records(
    call: Call, store: Store, found: Sequence[Record], reason: str
) -> tuple[str, list[str]]:
    """Archive records, or remove them with --hard; return (verb, lines on traces)."""
    if call.options.hard:
        return "removed", _remove_records(call, store, found)[1]
    for record in found:
        store.archive(record.name, reason)
    call.indexed()
    ledger.recount_after_moves(call.place)
    return "archived", []


def _make_forget_filter(call: Call) -> Callable[[Record], bool]:
    from memory.project.mentions import mentions_file

    text = _fold_text(call.options.mentions or "")
    day = call.options.day or "today"
    start, end = (call.parse_time(day, ends) for ends in (False, True))

    def is_meant(record: Record) -> bool:
        return (
            (not call.options.day or start <= record.created <= end)
            and (not call.options.file or mentions_file(record, call.options.file))
            and (not text or text in _fold_text(record.title + "\n" + record.body))
        )

    return is_meant


def _fold_text(text: str) -> str:
    """Return a text in NFC, case-folded, on one line."""
    return " ".join(normalize("NFC", text).casefold().split())


def restore(call: Call) -> int:
    """Bring a record back from the archive."""
    found = call.store().restore(call.single_word("ID"))
    call.indexed()
    ledger.recount_after_moves(call.place)
    return report_written(call, found, "restored")


def edit(call: Call) -> int:
    """Open a record in $VISUAL or $EDITOR."""
    from memory.recall import lookup

    found = lookup.find_writable(call.place, call.settings, call.single_word("ID"))
    changed = edit_record(call, found)
    if changed is None:
        return call.answer({"id": found.id, "changed": False}, ["%s is unchanged" % found.id])
    call.indexed()
    report_written(call, changed, "changed", found.body)
    if changed.kind == "rule" and not call.options.json:
        from memory.knowledge import approvalstate

        state = approvalstate.list_rule_states([changed], call.place)[0].state
        print(
            "  it waits for review again: " + REVIEW
            if state == "pending"
            else "  this content is already " + state
        )
    return 0
