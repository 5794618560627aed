"""The verbs on one record, or one turn of a conversation: show, expand, feedback."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Any

from memory.cli.recall import refresh_scripts
from memory.core import IndexFault, PersonsRecord, StoreError, UsageError, clock, files, layout
from memory.core.plaintext import clip_at_word, format_age, format_count, one_line, strip_hidden
from memory.store import authority, ledger, redactor
from memory.terminal import localtimes, screen
from memory.terminal.call import Call, clip_input, find_session_id, suggest_word, unknown_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.recall.hit import Hit, Turn

MOST_ENTRIES = 100  # of a transcript
RESULT_LINES = 8  # of an entry


def show(call: Call) -> int:
    """Print a record, its outline or a section."""
    from memory.project import claims
    from memory.recall import hit, lookup

    try:
        found, place, merged, number = _find_target(call)
    except StoreError as missing:
        return _show_distant(call, missing)
    if number:
        return _show_turn(call, found, place, number)
    if place.key == call.place.key:
        found = refresh_scripts(call, [found])[0]
    if call.caller() != authority.PERSON:
        found = redactor.clean_record(found, call.settings, place.key)
    if call.options.outline:
        return _show_outline(call, found)
    one = _prepare_hit(call, hit.from_record(found, place.key, place.path(found.name)), place)
    inward = _list_incoming_links(place, found, call.now)
    book = ledger.find_ledger(place, found.name)
    counts = lookup.credit_successors(place, ledger.read(book)).counts(found.id)
    stands = merged and (
        "%s was merged into this record; `dayleaf store restore %s` brings it back"
        % (merged, merged)
    )
    freshness = "; ".join([one.freshness, *(claim.reason for claim in one.gone)])
    facts = [
        *_format_turn_count(call, found, place),
        ("linked from", ", ".join("%s (%s)" % row for row in inward)),
        ("outcome", format_counts(counts, call.now) if any(counts) else ""),
        ("feedback", "; ".join(list_reasons(found))),
        ("freshness", freshness * (one.freshness != claims.UNKNOWN)),
        *screen.group_claims(one.claims),
        ("merged", stands),
        ("file", one.path),
        *_format_source(found, place),
    ]
    return _print_record(call, one, facts, counts, inward, merged)


def _show_distant(call: Call, missing: StoreError) -> int:
    from memory.cli.recall import find_dsn
    from memory.recall import lookup

    known = lookup.find_distant(call.place, call.single_word("ID"), find_dsn(call), missing)
    if call.options.outline:
        return _show_outline(call, known.record)
    facts = [("workspace", known.workspace), ("text", known.origin)]
    return _print_record(call, _prepare_hit(call, known, call.place), facts, ledger.Counts())


def _prepare_hit(call: Call, one: Hit, place: Place) -> Hit:
    from memory.core import approvals
    from memory.recall import hit

    return hit.add_display_fields([one], place, approvals.read_decisions(place.home), call.now)[0]


def _print_record(
    call: Call,
    one: Hit,
    facts: list[tuple[str, str]],
    counts: ledger.Counts,
    inward: Sequence[tuple[str, str]] = (),
    merged: str = "",
) -> int:
    from memory.recall import hit

    found = one.record
    body, more, ways = _select_section(call, found)
    value = {
        **hit.record_fields_json(one),
        "body": body,
        "merged": merged,
        "linkedFrom": [{"id": id, "relation": relation} for id, relation in inward],
        **counts_json(counts, call.now),
        "feedback": list_reasons(found),
        "problems": list(found.problems),
        **more,
    }
    facts = [*facts, ("trouble", "; ".join(found.problems))]
    head = screen.format_record_head(found, call.now, call.style(), facts)
    return call.answer(
        value, [*head, "", strip_hidden(localtimes.localize_body(found, body)).rstrip("\n"), *ways]
    )


# ID#TURN, where the turn is a number, a time, or a day and time
_TURN = re.compile(r"(.+)#(\d{1,6}|(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d)")


def _find_target(call: Call) -> tuple[Record, Place, str, str]:
    """Return (record, place, merged id or "", wanted turn or "").

    `#` begins a turn only after the name of a session's record: titles and paths may hold it too.
    """
    from memory.recall import lookup

    if not call.words:
        raise UsageError("show needs an ID, or `file`, `tool`, `walls` or `transcript`")
    said = call.single_word("ID").strip()
    match, other = _TURN.fullmatch(said), None
    if match:
        with contextlib.suppress(StoreError):
            found, place = lookup.find_anywhere(call.place, call.settings, match[1])
            if found.kind in layout.DATED_KINDS:
                return found, place, "", match[2].replace(" ", "T")
            other = found
    try:
        return (*lookup.find_or_successor(call.place, call.settings, said), "")
    except StoreError:
        if other is None:
            raise
        raise StoreError(
            "%s is a %s; only conversations, checkpoints and notes have turns; `dayleaf show %s` "
            "prints it" % (other.id, other.kind, other.id)
        ) from None


def _find_conversation(call: Call, found: Record, place: Place) -> Record:
    from memory.recall import excerpt
    from memory.store.store import Store

    talk = excerpt.find_conversation(Store(place, call.settings, call.now), found)
    if talk is None:
        raise StoreError(
            "the session of %s has no conversation; `dayleaf show %s` prints the checkpoint"
            % (found.id, found.id)
        )
    return talk


def _format_turn_count(call: Call, found: Record, place: Place) -> list[tuple[str, str]]:
    from memory.recall import excerpt, hit
    from memory.store.store import Store

    if (
        found.kind not in layout.DATED_KINDS
        or found.kind == "checkpoint"
        and not found.meta.get("conversation")
    ):
        return []
    talk = excerpt.find_conversation(Store(place, call.settings, call.now), found)
    turns = hit.split_turns(talk) if talk else []
    if talk is None or not turns:
        return []
    return [
        (
            "conversation" if talk is not found else "turns",
            "%s%s: `dayleaf show %s#%d` prints the last"
            % (
                talk.id + ", " if talk is not found else "",
                format_count(len(turns), "turn"),
                found.id,
                len(turns),
            ),
        )
    ]


def _show_turn(call: Call, found: Record, place: Place, said: str) -> int:
    from memory.recall import hit

    talk = _find_conversation(call, found, place)
    turns = hit.split_turns(talk)
    one = _find_turn(talk, turns, said)
    ways = [
        "%s: %s  `dayleaf show %s#%d`" % (word, one_line(turns[at].request), talk.id, at + 1)
        for word, at in (("before", one.number - 2), ("after", one.number))
        if 0 <= at < len(turns)
    ]
    head = "turn %d of %d  %s  %s  %s" % (
        one.number,
        len(turns),
        clock.format_zoned(clock.parse(one.at) or talk.created),
        talk.id,
        one_line(talk.title),
    )
    value = {
        "id": talk.id,
        "session": talk.meta.get("session"),
        "title": talk.title,
        "turn": one.number,
        "turns": len(turns),
        "at": one.at + "Z",
        "request": one.request,
        "body": one.text,
    }
    return call.answer(
        value,
        [head, "", strip_hidden(_localize_turn(one)).rstrip("\n"), *([""] * bool(ways)), *ways],
    )


def _localize_turn(one: Turn) -> str:
    heading, newline, rest = one.text.partition("\n")
    if not heading.startswith("## "):
        return one.text
    time = localtimes.to_local(one.at)[11:]
    return ("## %s %s" % (time, one.request)).rstrip() + newline + rest


def _find_turn(talk: Record, turns: Sequence[Turn], said: str) -> Turn:
    from memory.recall import excerpt

    local = [one._replace(at=localtimes.to_local(one.at).replace(" ", "T")) for one in turns]
    exact = any(one.at.endswith(said) for one in turns) and not any(
        one.at.endswith(said) for one in local
    )
    return turns[excerpt.find_turn(talk, turns if exact else local, said).number - 1]


def _format_source(found: Record, place: Place) -> list[tuple[str, str]]:
    from memory.project import material, otherfiles

    if found.kind != "resource" or found.tier == layout.ADDED:
        return []
    state = material.compare_with_source(found, place)
    then = found.meta.get("source_ref") or ""
    now = otherfiles.find_commit(state.source.path) if state.source and then else ""
    trouble = (
        "%s: `dayleaf resource refresh %s`" % (state.why, found.id)
        if state.word == material.STALE
        else state.why
    )
    head = "HEAD is %s" % now if now not in ("", then) else ""
    said = [found.path, "at commit %s" % then if then else "", head, trouble]
    return [
        ("type", material.resource_type(found)),
        ("source", "; ".join(part for part in said if part)),
    ]


def _show_outline(call: Call, found: Record) -> int:
    from memory.core import tokeniser
    from memory.store import sections

    rows = [
        (one, tokeniser.count_tokens(sections.text(found.body, one)))
        for one in sections.outline(found.body)
    ]
    value = [
        {"number": one.number, "level": one.level, "section": one.path, "tokens": tokens}
        for one, tokens in rows
    ]
    cells = [
        [
            str(one.number),
            "  " * max(one.level - 1, 0) + one_line(sections.name(one).rpartition(" > ")[2]),
            "%s tokens" % format(tokens, ","),
        ]
        for one, tokens in rows
    ]
    return call.answer(
        {"id": found.id, "sections": value},
        [
            *screen.format_table(cells, right=(0, 2)),
            "`dayleaf show %s --section N` prints one" % found.id,
        ],
    )


def _select_section(call: Call, found: Record) -> tuple[str, dict[str, Any], list[str]]:
    """Return (text, fields for --json, lines on neighbours) of a section."""
    from memory.store import sections

    o = call.options
    if not o.section:
        return found.body, {}, []
    listed = sections.outline(found.body)
    one = sections.find(listed, o.section)
    if one is None:
        headings = [each.path for each in listed if each.path]
        known = suggest_word(
            o.section, headings, "it has %s" % (", ".join(headings[:8]) or "no headings")
        )
        raise UsageError("%s has no section '%s'; %s" % (found.id, clip_input(o.section), known))
    beside = dict(zip(("previous", "next"), sections.neighbours(listed, one)))
    ways = [
        "%s: %d %s  `dayleaf show %s --section %d`"
        % (word, other.number, one_line(sections.name(other)), found.id, other.number)
        for word, other in beside.items()
        if other
    ]
    value = {
        "section": one.path,
        "number": one.number,
        **{word: other and other.number for word, other in beside.items()},
    }
    return sections.text(found.body, one), value, [""] * bool(ways) + ways


def expand(call: Call) -> int:
    """Print the transcript behind a checkpoint or a turn."""
    from memory.recall import excerpt, hit
    from memory.store.store import Store

    found, place, _, number = _find_target(call)
    turns: list[Turn] = []
    if number:
        found = _find_conversation(call, found, place)
        turns = hit.split_turns(found)
        number = str(excerpt.find_turn(found, turns, number).number)
    with call.spinner("reading the transcript"):
        said = excerpt.read_excerpt(
            Store(place, call.settings, call.now), found, call.env, turns, int(number or 0)
        )
    shown_ = said[-MOST_ENTRIES:]
    lines = ["%s  %s%s" % (one_line(found.title), found.id, "#" + number if number else "")]
    if len(said) > len(shown_):
        lines.append("the last %d of %d entries; `--json` has all" % (len(shown_), len(said)))
    for one in shown_:
        lines += screen.format_transcript_entry(
            one.at, one.who, one.text, clock.local_offset, RESULT_LINES
        )
    return call.answer(
        {"id": found.id, "turn": int(number or 0), "entries": [one._asdict() for one in said]},
        lines,
    )


def _list_incoming_links(place: layout.Place, found: Record, now: float) -> list[tuple[str, str]]:
    """List (id, relation from here) of the links to a record."""
    from contextlib import closing

    from memory.hook import indexview
    from memory.recall import alongside, relations
    from memory.recall.shelf import Shelf

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
    from memory.recall import lookup
    from memory.recall.hit import record_json

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
        call.open_store(place).check(found.name)
        found = call.open_store(place).keep_id(found)
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
    return call.answer(
        value,
        [
            "noted: %s %s  %s"
            % (found.id, "helped" if word == "up" else "misled", one_line(found.title)),
            "  " + format_counts(counts, call.now),
            *_explain_effect(found, before, counts, misled),
        ],
    )


def _explain_effect(
    found: Record, before: ledger.Counts, now: ledger.Counts, misled: bool
) -> list[str]:
    from memory.recall.rank import outcome_factor

    if (before.up, before.down) == (now.up, now.down):
        return ["  this session has reported that before; nothing changes"]
    lower = outcome_factor(now.up, now.down) < outcome_factor(before.up, before.down)
    pushed = misled and found.kind == "learning" and found.accepted
    return [
        *(["  it ranks lower than before"] if lower else []),
        *(["  prompts get it last from now on, marked as misleading"] if pushed else []),
    ]


def counts_json(counts: ledger.Counts, now: float) -> dict[str, object]:
    """Return a record's counts as plain data."""
    return {
        "uses": counts.uses,
        "up": counts.up,
        "down": counts.down,
        "learnedAgain": counts.again,
        "lastUse": clock.iso(min(counts.last, now)) if counts.last else "",
    }


def format_counts(counts: ledger.Counts, now: float) -> str:
    """Format a record's counts: `used 3 times, up 1, down 0, last 2d ago`."""
    ago = format_age(now - counts.last)
    return ", ".join(
        part
        for part in (
            "used %s" % format_count(counts.uses, "time"),
            "up %d" % counts.up,
            "down %d" % counts.down,
            "learned again %s" % format_count(counts.again, "time") if counts.again else "",
            ("last now" if ago == "now" else "last %s ago" % ago) if counts.last else "",
        )
        if part
    )


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
    """Return (a record's id or title, the next word, the rest)."""
    said = " ".join(words).split()
    at = next((n for n, word in enumerate(said) if n and word in WORDS), min(1, len(said)))
    return " ".join(said[:at]), "".join(said[at : at + 1]), " ".join(said[at + 1 :])


def _add_reason(call: Call, place: Place, found: Record, reason: str) -> Record:
    """Add a reason to a record's `feedback`, and return the record."""
    from memory.store.redactor import strip_private

    said = strip_private(reason).strip()
    try:
        changed = call.open_store(place).edit(
            found.name, lambda now: {"feedback": [*list_reasons(now), said][-MOST_REASONS:]}
        )
    except PersonsRecord:
        raise
    except StoreError as error:
        raise StoreError("%s; nothing was noted; leave --why out" % error) from None
    call.indexed()
    return changed
