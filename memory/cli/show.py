"""The verbs on one record, or one turn of a conversation: show, expand, feedback."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any

from memory.cli.recall import find_dsn, refresh_scripts
from memory.core import (
    IndexFault,
    PersonsRecord,
    StoreError,
    UsageError,
    clock,
    files,
    layout,
    tokeniser,
)
from memory.core.layout import Place
from memory.core.plaintext import clip_at_word, format_age, format_count, one_line, strip_hidden
from memory.core.records import Record, meta_text
from memory.hook import handoffs, indexview
from memory.project import claims, material, otherfiles
from memory.recall import alongside, excerpt, hit, lookup, relations
from memory.recall.hit import Hit, Turn, record_json
from memory.recall.rank import outcome_factor
from memory.recall.shelf import Shelf
from memory.store import ledger, permissions, redactor, sections
from memory.store.redactor import strip_private
from memory.store.store import Store
from memory.terminal import localtimes, results, screen
from memory.terminal.call import Call, clip_input, find_session_id, suggest_word, unknown_word

MOST_ENTRIES = 100  # of a transcript
RESULT_LINES = 8  # of an entry


def show(call: Call) -> int:
    """Print a record, its outline or a section."""
    try:
        found, place, merged, turn = _find_target(call)
    except StoreError as missing:
        return _show_distant(call, missing)
    if turn:
        return _show_turn(call, found, place, turn)
    if place.key == call.place.key:
        found = refresh_scripts(call, [found])[0]
    if call.caller() != permissions.PERSON:
        found = redactor.clean_record(found, call.settings, place.key)
    if call.options.outline:
        return _show_outline(call, found)
    bare = hit.from_record(found, place.key, place.path(found.name))
    (shown,) = hit.add_display_fields([bare], place, call.now)
    inward = _list_incoming_links(place, found, call.now)
    book = ledger.find_ledger(place, found.name)
    counts = lookup.credit_successors(place, ledger.read(book)).counts(found.id)
    freshness = "; ".join([shown.freshness, *(claim.reason for claim in shown.gone)])
    stands = "%s was merged into this record; `dayleaf store restore %s` brings it back"
    facts = [
        *_format_author(found),
        *_format_turn_count(call, found, place),
        ("linked from", ", ".join("%s (%s)" % row for row in inward)),
        ("outcome", format_counts(counts, call.now) if any(counts) else ""),
        ("feedback", "; ".join(list_reasons(found))),
        ("freshness", freshness if shown.freshness != claims.UNKNOWN else ""),
        *screen.group_claims(shown.claims),
        ("merged", merged and stands % (merged, merged)),
        ("file", shown.path),
        *_format_source(found, place),
    ]
    return _print_record(call, shown, facts, counts, inward, merged)


def _show_distant(call: Call, missing: StoreError) -> int:
    """Show a record that only the database holds, else raise `missing`."""
    known = lookup.find_distant(call.place, call.single_word("ID"), find_dsn(call), missing)
    if call.options.outline:
        return _show_outline(call, known.record)
    facts = [("workspace", known.workspace), ("text", known.origin)]
    (shown,) = hit.add_display_fields([known], call.place, call.now)
    return _print_record(call, shown, facts, ledger.Counts())


def _print_record(
    call: Call,
    shown: Hit,
    facts: list[tuple[str, str]],
    counts: ledger.Counts,
    inward: Sequence[tuple[str, str]] = (),
    merged: str = "",
) -> int:
    found = shown.record
    body, more, ways = _select_section(call, found)
    value = {
        **hit.record_fields_json(shown),
        "body": body,
        "merged": merged,
        "linkedFrom": [{"id": id, "relation": relation} for id, relation in inward],
        **counts_json(counts, call.now),
        "feedback": list_reasons(found),
        "problems": list(found.problems),
        **more,
    }
    state = results.GROUPS.get(shown.group, ("",))[0].partition(", ")[2]
    facts = [
        ("state", state + ": `dayleaf review`" * state.startswith("waits")),
        ("because", shown.rationale),
        ("scope", ", ".join(shown.scope)),
        *facts,
        ("trouble", "; ".join(found.problems)),
    ]
    head = screen.format_record_head(found, call.now, call.style(), facts)
    text = strip_hidden(localtimes.localize_body(found, body)).rstrip("\n")
    return call.answer(value, [*head, *(["", text] if text else []), *ways])


# ID#TURN, where the turn is a number, a time, or a day and time
_TURN = re.compile(r"(.+)#(\d{1,6}|(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d)")


def _find_target(call: Call) -> tuple[Record, Place, str, str]:
    """Return (record, place, merged id or "", wanted turn or "").

    `#` begins a turn only after the name of a session's record: titles and paths may hold it too.
    """
    if not call.words:
        raise UsageError("show needs an ID, or `file`, `tool`, `walls` or `transcript`")
    target = call.single_word("ID").strip()
    match, other = _TURN.fullmatch(target), None
    if match:
        with suppress(StoreError):
            found, place = lookup.find_anywhere(call.place, call.settings, match[1])
            if found.kind in layout.DATED_KINDS:
                return found, place, "", match[2].replace(" ", "T")
            other = found
    try:
        return (*lookup.find_or_successor(call.place, call.settings, target), "")
    except StoreError:
        if other is None:
            raise
        raise StoreError(
            "%s is a %s; only conversations, checkpoints and notes have turns; `dayleaf show %s` "
            "prints it" % (other.id, other.kind, other.id)
        ) from None


def _find_conversation(call: Call, found: Record, place: Place) -> Record:
    talk = excerpt.find_conversation(Store(place, call.settings, call.now), found)
    if talk is None:
        raise StoreError(
            "the session of %s has no conversation; `dayleaf show %s` prints the checkpoint"
            % (found.id, found.id)
        )
    return talk


def _format_author(found: Record) -> list[tuple[str, str]]:
    """Return rows on who wrote a note and which turns they read whole."""
    if found.kind != "note":
        return []
    read, turns = meta_text(found, "read"), meta_text(found, "turns")
    parts = "%s of %s turns whole, of the others request and opening" % (read, turns)
    return [("written by", handoffs.format_note_author(found)), ("read", parts if read else "")]


def _format_turn_count(call: Call, found: Record, place: Place) -> list[tuple[str, str]]:
    if found.kind not in layout.DATED_KINDS:
        return []
    if found.kind == "checkpoint" and not found.meta.get("conversation"):
        return []
    talk = excerpt.find_conversation(Store(place, call.settings, call.now), found)
    turns = hit.split_turns(talk) if talk else []
    if talk is None or not turns:
        return []
    name, of = ("turns", "") if talk is found else ("conversation", talk.id + ", ")
    way = "`dayleaf show %s#%d` prints the last" % (found.id, len(turns))
    return [(name, "%s%s: %s" % (of, format_count(len(turns), "turn"), way))]


def _show_turn(call: Call, found: Record, place: Place, wanted: str) -> int:
    talk = _find_conversation(call, found, place)
    turns = hit.split_turns(talk)
    turn = _find_turn(talk, turns, wanted)
    ways = [
        "%s: %s  `dayleaf show %s#%d`" % (word, one_line(turns[at].request), talk.id, at + 1)
        for word, at in (("before", turn.number - 2), ("after", turn.number))
        if 0 <= at < len(turns)
    ]
    at = clock.format_zoned(clock.parse(turn.at) or talk.created)
    head = "turn %d of %d  %s  %s  " % (turn.number, len(turns), at, talk.id)
    value = {
        "id": talk.id,
        "session": talk.meta.get("session"),
        "title": talk.title,
        "turn": turn.number,
        "turns": len(turns),
        "at": turn.at + "Z",
        "request": turn.request,
        "body": turn.text,
    }
    text = strip_hidden(_localize_turn(turn)).rstrip("\n")
    lines = [head + one_line(talk.title), "", text]
    return call.answer(value, [*lines, "", *ways] if ways else lines)


def _localize_turn(turn: Turn) -> str:
    heading, newline, rest = turn.text.partition("\n")
    if not heading.startswith("## "):
        return turn.text
    time = localtimes.to_local(turn.at)[11:]
    return ("## %s %s" % (time, turn.request)).rstrip() + newline + rest


def _find_turn(talk: Record, turns: Sequence[Turn], wanted: str) -> Turn:
    """Find a turn by its number or local time; by UTC if no local time fits."""
    local = [turn._replace(at=localtimes.to_local(turn.at).replace(" ", "T")) for turn in turns]
    is_local = any(turn.at.endswith(wanted) for turn in local)
    is_utc = not is_local and any(turn.at.endswith(wanted) for turn in turns)
    return turns[excerpt.find_turn(talk, turns if is_utc else local, wanted).number - 1]


def _format_source(found: Record, place: Place) -> list[tuple[str, str]]:
    if found.kind != "resource" or found.tier == layout.ADDED:
        return []
    state = material.compare_with_source(found, place)
    parts = [found.path]
    then = found.meta.get("source_ref")
    if then:
        parts.append("at commit %s" % then)
        now = otherfiles.find_commit(state.source.path) if state.source else ""
        parts.append("HEAD is %s" % now if now not in ("", then) else "")
    way = ": `dayleaf resource refresh %s`" % found.id if state.word == material.STALE else ""
    parts.append(state.why + way)
    return [("type", material.resource_type(found)), ("source", "; ".join(filter(None, parts)))]


def _show_outline(call: Call, found: Record) -> int:
    value, rows = [], []
    for section in sections.outline(found.body):
        tokens = tokeniser.count_tokens(sections.text(found.body, section))
        number, level, path = section.number, section.level, section.path
        value.append({"number": number, "level": level, "section": path, "tokens": tokens})
        name = one_line(sections.name(section).rpartition(" > ")[2])
        rows.append([str(number), "  " * max(level - 1, 0) + name, f"{tokens:,} tokens"])
    lines = screen.format_table(rows, right=(0, 2))
    lines.append("`dayleaf show %s --section N` prints one" % found.id)
    return call.answer({"id": found.id, "sections": value}, lines)


def _select_section(call: Call, found: Record) -> tuple[str, dict[str, Any], list[str]]:
    """Return (text, JSON fields, lines on neighbours) of the wanted section."""
    wanted = call.options.section
    if not wanted:
        return found.body, {}, []
    listed = sections.outline(found.body)
    section = sections.find(listed, wanted)
    if section is None:
        headings = [each.path for each in listed if each.path]
        otherwise = "it has %s" % (", ".join(headings[:8]) or "no headings")
        advice = suggest_word(wanted, headings, otherwise)
        raise UsageError("%s has no section '%s'; %s" % (found.id, clip_input(wanted), advice))
    value, ways = {"section": section.path, "number": section.number}, []
    for word, other in zip(("previous", "next"), sections.neighbours(listed, section)):
        value[word] = other and other.number
        if other:
            name, number = one_line(sections.name(other)), other.number
            way = "`dayleaf show %s --section %d`" % (found.id, number)
            ways.append("%s: %d %s  %s" % (word, number, name, way))
    return sections.text(found.body, section), value, ["", *ways] if ways else []


def expand(call: Call) -> int:
    """Print the transcript behind a checkpoint or a turn."""
    found, place, _, wanted = _find_target(call)
    turns, number = list[Turn](), 0
    if wanted:
        found = _find_conversation(call, found, place)
        turns = hit.split_turns(found)
        number = excerpt.find_turn(found, turns, wanted).number
    with call.spinner("reading the transcript"):
        store = Store(place, call.settings, call.now)
        entries = excerpt.read_excerpt(store, found, call.env, turns, number)
    shown = entries[-MOST_ENTRIES:]
    lines = ["%s  %s%s" % (one_line(found.title), found.id, "#%d" % number if number else "")]
    if len(entries) > len(shown):
        lines.append("the last %d of %d entries; `--json` has all" % (len(shown), len(entries)))
    for entry in shown:
        at, who, text = entry.at, entry.who, entry.text
        lines += screen.format_transcript_entry(at, who, text, clock.local_offset, RESULT_LINES)
    value = {"id": found.id, "turn": number, "entries": [entry._asdict() for entry in entries]}
    return call.answer(value, lines)


def _list_incoming_links(place: layout.Place, found: Record, now: float) -> list[tuple[str, str]]:
    """List (id, inverse relation) of the records that link to a record."""
    if not files.exists(indexview.segment_path(place)):
        return []
    try:
        with closing(Shelf(place, now)) as shelf:
            return [
                (source.id, relations.find_inverse(link.relation))
                for link, source in alongside.read_incoming_links(shelf, found)
            ]
    except IndexFault:  # the next recall replaces a damaged index
        return []


WORDS = ("up", "down")
REASON_LENGTH, MOST_REASONS = 300, 10  # characters of a reason, reasons of a record
# kinds approved by checksum: a reason would undo the approval
APPROVED_KINDS = ("rule", "resource")


def feedback(call: Call) -> int:
    id, word, why = _parse_words(call)
    found, place = lookup.find_anywhere(call.place, call.settings, id)
    if why and found.kind in APPROVED_KINDS and found.tier != layout.ADDED:
        raise UsageError(
            "a reason in %s would undo its approval; leave it out, or `dayleaf record edit %s`"
            % (found.id, found.id)
        )
    if why:
        found = _add_reason(call, place, found, "%s %s: %s" % (clock.day(call.now), word, why))
    if found.tier != layout.ADDED:
        store = call.open_store(place)
        store.check(found.name)
        found = store.keep_id(found)
    book = ledger.find_ledger(place, found.name)
    before = lookup.credit_successors(place, ledger.read(book)).counts(found.id)
    ledger.append_event(book, found.id, word, call.now, find_session_id(call))
    counts = lookup.credit_successors(place, ledger.rewrite_derived(book)).counts(found.id)
    misled = ledger.is_misleading(counts.up, counts.down)
    value = {
        **record_json(found),
        "path": place.path(found.name),
        "feedback": word,
        "why": why,
        **counts_json(counts, call.now),
        "misled": misled,
    }
    done = "helped" if word == "up" else "misled"
    lines = [
        "noted: %s %s  %s" % (found.id, done, one_line(found.title)),
        "  " + format_counts(counts, call.now),
        *_explain_effect(found, before, counts, misled),
    ]
    return call.answer(value, lines)


def _explain_effect(
    found: Record, before: ledger.Counts, now: ledger.Counts, misled: bool
) -> list[str]:
    if (before.up, before.down) == (now.up, now.down):
        return ["  this session has reported that before; nothing changes"]
    lines = []
    if outcome_factor(now.up, now.down) < outcome_factor(before.up, before.down):
        lines.append("  it ranks lower than before")
    if misled and found.kind == "learning" and found.accepted:
        lines.append("  prompts get it last from now on, marked as misleading")
    return lines


def counts_json(counts: ledger.Counts, now: float) -> dict[str, object]:
    """Return how often a record was used and rated, as plain data."""
    return {
        "uses": counts.uses,
        "up": counts.up,
        "down": counts.down,
        "learnedAgain": counts.again,
        "lastUse": clock.iso(min(counts.last, now)) if counts.last else "",
    }


def format_counts(counts: ledger.Counts, now: float) -> str:
    """Format a record's counts: `used 3 times, up 1, down 0, last 2d ago`."""
    parts = ["used %s" % format_count(counts.uses, "time")]
    parts += ["up %d" % counts.up, "down %d" % counts.down]
    if counts.again:
        parts.append("learned again %s" % format_count(counts.again, "time"))
    if counts.last:
        parts.append("last %s ago" % format_age(max(0.0, now - counts.last)))
    return ", ".join(parts)


def list_reasons(found: Record) -> list[str]:
    """List the reasons in a record's feedback, oldest first."""
    given = found.meta.get("feedback") or []
    return [str(reason) for reason in (given if isinstance(given, list) else [given])]


def _parse_words(call: Call) -> tuple[str, str, str]:
    id, word, rest = _split_words(call.words)
    if id in WORDS and word not in WORDS:
        raise UsageError(
            "the id comes first: `dayleaf record feedback %s %s`" % (clip_input(word) or "ID", id)
        )
    if not word:
        raise UsageError(
            "record feedback needs an ID and up or down, such as `dayleaf record feedback "
            "l-1a2b3c4d down`"
        )
    if word not in WORDS:
        raise unknown_word("feedback", word, WORDS)
    why = one_line(rest.strip())
    why = why[1:-1].strip() if len(why) > 1 and why[0] == why[-1] and why[0] in "'\"" else why
    return id, word, clip_at_word(why, REASON_LENGTH)


def _split_words(words: Sequence[str]) -> tuple[str, str, str]:
    """Return (a record's id or title, `up` or `down`, the reason) of typed words."""
    typed = " ".join(words).split()
    at = next((n for n, word in enumerate(typed) if n and word in WORDS), min(1, len(typed)))
    return " ".join(typed[:at]), "".join(typed[at : at + 1]), " ".join(typed[at + 1 :])


def _add_reason(call: Call, place: Place, found: Record, reason: str) -> Record:
    """Add a reason to a record's `feedback`, and return the record."""
    public = strip_private(reason).strip()
    try:
        changed = call.open_store(place).edit(
            found.name, lambda now: {"feedback": [*list_reasons(now), public][-MOST_REASONS:]}
        )
    except PersonsRecord:
        raise
    except StoreError as error:
        raise StoreError("%s; nothing was noted; leave --why out" % error) from None
    call.indexed()
    return changed
