"""The verbs that write records: learn, checkpoint, forget, edit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from unicodedata import normalize

from memory.core import StoreError, UsageError, clock, files, layout
from memory.core.plaintext import format_count, one_line
from memory.core.records import Record, parse_labels
from memory.hook import fence, receipts
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
    is_unattended,
    report_written,
    warn,
)
from memory.terminal.editor import edit_record


def learn(call: Call) -> int:
    """Write a learning, or add tags to an existing one."""
    text = call.text().strip()
    if not text:
        raise UsageError("the learning is empty; give its text as an argument or on stdin")
    tier = choose_tier(call)
    text = _require_public(text)
    title, store = call.options.title or extract_title(text), call.store()
    is_model = find_author(call) == "agent"
    existing, waiting = _find_known(store, title, text, tier, is_model)
    if existing:
        kept = _merge_learning(call, store, existing)
    else:
        kept = _add_learning(call, store, title, text, tier)
    if waiting:
        store.archive(waiting.name, "accepted in another tier", kept.id)
    call.indexed()
    done = "already there" if existing and (is_model or existing.accepted) else "kept"
    done += "" if kept.accepted else " as a candidate for `dayleaf review`"
    return report_written(call, kept, done, text)


def _find_known(
    store: Store, title: str, text: str, tier: str, is_model: bool
) -> tuple[Record | None, Record | None]:
    """Return (learning that a text repeats, candidate that it replaces)."""
    from memory.knowledge import duplicates

    found = store.same("learning", title, text, tier, is_model)
    if found is None:
        found = duplicates.find_same_learning(store, title, text)
    if found is None or is_model or found.tier == tier:
        return found, None
    return None, found if found.tier == layout.PRIVATE and not found.accepted else None


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
    """Return the fields that accept a candidate; {} if its own session repeats it."""
    if find_author(call) != "agent":
        return {"accepted": True}
    from memory.knowledge import duplicates

    return duplicates.accept_repeated(candidate, find_session_id(call))


def _mark_candidate(call: Call) -> dict[str, Any]:
    """Return the field that makes a model's learning a candidate, else {}."""
    return {"accepted": False} if find_author(call) == "agent" else {}


def _merge_learning(call: Call, store: Store, existing: Record) -> Record:
    """Add tags and versions to a learning; accept it if it is learnt again."""
    options = call.options

    def changes(now: Record) -> dict[str, object]:
        pairs = {
            "tags": (list(now.tags), _join_labels(now.tags, options.tag)),
            "versions": (list(now.versions), _join_labels(now.versions, options.version)),
            "confidence": (now.confidence, options.confidence or now.confidence),
        }
        changed = {key: new for key, (old, new) in pairs.items() if new != old}
        return changed | ({} if now.accepted else _accept_again(call, now))

    return store.edit(existing.name, changes) if changes(existing) else existing


def _join_labels(labels: Iterable[str], more: Iterable[str] | None) -> list[str]:
    return list(parse_labels([*labels, *(more or ())]))


def checkpoint(call: Call) -> int:
    """Write a checkpoint from a note, or from a session's work."""
    from memory.capture import byhand

    text, session = call.text(), find_session_id(call)
    if call.options.note:
        kept = _write_session_note(call, text, session)
    elif text.strip():
        _require_public(text)
        tags = call.options.tag or ()
        kept = byhand.write_note(
            call.store(), call.place, text, tags, session, call.now, "human", is_unattended(call)
        )
    else:
        kept = _write_session_checkpoint(call, session)
    call.indexed()
    return report_written(call, kept, "written", text if text.strip() else None)


def _write_session_note(call: Call, text: str, session: str) -> Record:
    from memory.health import notekeeping

    if not session:
        raise UsageError("a note is of a session; name it with --session ID")
    path = find_transcript(call, session)
    if path:
        capture_now(call, session, path)
    made, changed = notekeeping.keep_session_note(call.store(), session, strip_private(text))
    call.changed += changed
    for dropped in made.dropped:
        warn("left out, %s: %s" % (dropped.why, one_line(dropped.text)[:120]))
    return made.record


def _write_session_checkpoint(call: Call, session: str) -> Record:
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
    named = [row.get("transcript") for row in known if row.get("event") == "start"]
    last = next(filter(None, reversed(named)), "")
    return whereabouts.find_transcript(call.env, session, call.options.transcript or last)


def capture_now(call: Call, session: str, path: str) -> str:
    """Write a checkpoint of new work; return its name, "" for none."""
    from memory.capture import stretches

    place, settings, on_change = call.place, call.settings, call.changed.append
    return stretches.capture(
        place, settings, call.env, call.now, session, path, "manual", on_change=on_change
    )


def forget(call: Call) -> int:
    """Archive matching records, or remove them with --hard."""
    many = call.list_given(("session", "day", "file", "mentions"))
    if many and call.words:
        raise UsageError("record forget takes one ID or %s, not both" % many[0])
    if call.options.session and len(many) > 1:
        raise UsageError(
            "--session takes all records of a session; leave %s out, or --session" % many[1]
        )
    if call.options.session:
        return _forget_session(call, call.options.session)
    if many:
        return _forget_matching(call)
    if not call.words:
        raise UsageError("say what to forget: an ID, or --session, --day, --file or --mentions")
    return _forget_one(call, call.single_word("ID"))


def _forget_one(call: Call, id: str) -> int:
    store, hard = call.store(), call.options.hard
    found = _find_to_forget(call, store, id)
    title, value = one_line(found.title), dict[str, object](id=found.id)
    question = "remove %s '%s' for good? type yes: " % (found.id, title)
    if hard and not call.options.yes and not ask_confirmation(question):
        raise UsageError("%s was not removed%s" % (found.id, _format_without_yes("--hard")))
    if hard:
        digests, traces = _remove_records(call, store, [found])
        value.update(removed=found.name, bytes=found.size, digests=digests)
        size, answers = format_count(found.size, "byte"), format_count(digests, "cached answer")
        path = call.place.path(found.name)
        lines = [
            "removed %s  %s" % (found.id, title),
            "  %s, %s; %s removed; the index was rebuilt" % (path, size, answers),
        ]
        if found.tier == layout.SHARED:
            lines.append("  git still has it if it was committed")
        lines += traces
    else:
        value.update({"from": found.name, "to": store.archive(found.name, "forgotten")})
        call.indexed()
        ledger.recount_after_moves(call.place)
        way = "  `dayleaf store restore %s` brings it back" % found.id
        lines = ["archived %s  %s" % (found.id, title), way]
    value["stays"], note = _list_staying(store, found)
    return call.answer(value, lines + note)


def _find_to_forget(call: Call, store: Store, id: str) -> Record:
    from memory.recall import lookup

    try:
        return lookup.find_writable(call.place, call.settings, id)
    except StoreError as no_such_record:
        if not call.options.hard:
            raise
        try:
            return store.find_archived(id)
        except StoreError:
            raise no_such_record from None


def _list_staying(store: Store, gone: Record) -> tuple[list[str], list[str]]:
    """Return (ids, lines) on the other records of a record's session."""
    session = str(gone.meta.get("session") or "") if gone.kind in layout.DATED_KINDS else ""
    stays = [
        record for record in conversations.find_by_session(store, session) if record.id != gone.id
    ]
    if not stays:
        return [], []
    talks = sum(record.kind == conversations.KIND for record in stays)
    counts = ((talks, conversations.KIND), (len(stays) - talks, "checkpoint"))
    named = " and ".join(format_count(number, kind) for number, kind in counts if number)
    stay = "stays" if len(stays) == 1 else "stay"
    note = "  %s of its session %s; `dayleaf record forget --session %s` removes all"
    return [record.id for record in stays], [note % (named, stay, session)]


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


def _forget_session(call: Call, prefix: str) -> int:
    store, hard = call.store(), bool(call.options.hard)
    found = conversations.find_session_records(store, prefix, hard)
    if not found.records:
        listing = "`dayleaf recall --kind checkpoint` lists some"
        raise StoreError(format_not_found("session", prefix, found.ids, found.known, listing))
    of = "%s of session %s" % (format_count(len(found.records), "record"), one_line(found.session))
    lines = _ask_to_forget(call, found.records, of, "--session")
    talk = next((record.id for record in found.records if record.kind == conversations.KIND), "")
    conversations.log_forgotten(call.place, found.session, talk, call.now)
    done, traces = _forget_records(call, store, found.records, "session forgotten")
    lines.append("%s %s" % (done, of))
    ids, left = [record.id for record in found.records], [record.id for record in found.others]
    if left:
        named = ", ".join(left[:5]) + ", …" * (len(left) > 5)
        stay = "stays" if len(left) == 1 else "stay"
        number = format_count(len(left), "record")
        lines.append("  %s made from it %s: %s" % (number, stay, named))
    if not hard:
        lines.append("  `dayleaf store restore ID` brings each back: " + ", ".join(ids))
    lines += [*traces, "  Claude Code's own transcript of it stays"]
    return call.answer({"session": found.session, done: ids, "stays": left}, lines)


def _forget_matching(call: Call) -> int:
    store, hard = call.store(), bool(call.options.hard)
    with call.spinner("reading the records"):
        there = list(store.each())
        if hard:
            there += [record for kind in layout.FOLDERS for record in store.archived(kind)]
        by_name = {
            record.name: record for record in filter(_make_forget_filter(call, there), there)
        }
        found = sorted(by_name.values(), key=lambda record: (-record.created, record.name))
    searched = "  other projects%s were not searched" % ("" if hard else " and the archive")
    if not found:
        return call.answer(
            {"forgotten": []}, ["no record matches; nothing was forgotten", searched]
        )
    shared = sum(record.tier == layout.SHARED for record in found)
    of = format_count(len(found), "record")
    of += ", %d of them shared" % shared if shared else ""
    lines = _ask_to_forget(call, found, of, "forgetting " + of)
    done, traces = _forget_records(call, store, found, "forgotten")
    lines.append("%s %s" % (done, of))
    if hard and shared:
        lines.append("  git still has %s if committed" % format_count(shared, "shared record"))
    lines += traces
    if not hard:
        lines.append("  `dayleaf store restore ID` brings one back")
    value = {"forgotten": [record.id for record in found], "hard": hard}
    return call.answer(value, [*lines, searched])


def _ask_to_forget(call: Call, found: Sequence[Record], of: str, what: str) -> list[str]:
    """Ask whether to forget the records; with --yes, return their lines.

    of: their description. what: the action to confirm. Raises UsageError without a yes.
    """
    rows = []
    for record in found:
        tier = "" if record.tier == layout.PRIVATE else layout.TIER_NAMES[record.tier]
        day = clock.format_local(record.created)[:10]
        rows.append([record.kind, record.id, day, tier, one_line(record.title)])
    lines = screen.format_table(rows, style=call.style(), give=4)
    if call.options.yes:
        return lines
    if not call.options.json or sys.stderr.isatty():
        print("\n".join(lines), file=sys.stderr if call.options.json else sys.stdout, flush=True)
    question = "remove %s for good?" if call.options.hard else "archive %s?"
    if not ask_confirmation(question % of + " type yes: "):
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


def _make_forget_filter(call: Call, there: Sequence[Record]) -> Callable[[Record], bool]:
    from memory.project.mentions import make_relative, mentions_file

    options, text = call.options, _fold_text(call.options.mentions or "")
    file = make_relative(options.file or "", call.place.root)
    is_of_day = _make_day_filter(call, there) if options.day else lambda record: True

    def is_meant(record: Record) -> bool:
        return (
            is_of_day(record)
            and (not file or mentions_file(record, file))
            and (not text or text in _fold_text(record.title + "\n" + record.body))
        )

    return is_meant


def _make_day_filter(call: Call, there: Sequence[Record]) -> Callable[[Record], bool]:
    """Return a function that tells whether a record is of the named day."""
    start, end = (call.parse_time(call.options.day, ends) for ends in (False, True))
    telling = _find_telling(there, start, end)
    known = {fence.field(record, "session") for record in there if _is_talk(record)}

    def is_of_day(record: Record) -> bool:
        if record.kind not in layout.DATED_KINDS or fence.field(record, "session") in known:
            return start <= record.created <= end or record.name in telling
        return record.began <= end and start <= record.ended

    return is_of_day


def _is_talk(record: Record) -> bool:
    return record.kind == conversations.KIND


def _find_telling(there: Sequence[Record], start: float, end: float) -> set[str]:
    """Return the names of the records that describe a period's turns."""
    from memory.recall import hit

    telling: set[str] = set()
    for talk in filter(_is_talk, there):
        session = fence.field(talk, "session")
        turns = hit.find_turns_of_time(talk, start, end)
        if not turns:
            continue
        beside = [each for each in there if each.meta.get("session") == session]
        notes = [each for each in beside if each.kind == "note"]
        telling.update(each.name for each in (talk, *notes))
        points = [each for each in beside if each.kind == "checkpoint"]
        for turn in turns:  # the checkpoint that ends first after it tells it
            at = clock.parse(turn.at) or start
            later = [each for each in points if at <= each.ended]
            if later:
                telling.add(min(later, key=lambda each: each.ended).name)
    return telling


def _fold_text(text: str) -> str:
    return " ".join(normalize("NFC", text).casefold().split())


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
