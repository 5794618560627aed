"""The verbs on one record, or one turn of a conversation: show, expand, feedback."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Any

from memory.cli.recall import reread
from memory.core import IndexFault, PersonsRecord, StoreError, UsageError, clock, files, layout
from memory.core.plaintext import age, at_word, count, one_line, plain
from memory.store import authority, ledger, redactor
from memory.terminal import localtimes, screen
from memory.terminal.call import Call, nearest, session_of, shown, unknown_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.recall.hit import Hit, Turn

ENTRIES = 100  # of a transcript that are printed the terminal shows
RESULT_LINES = 8  # of one entry


def show(call: Call) -> int:
    """Print a record, its outline or a section."""
    from memory.project import claims
    from memory.recall import hit, lookup

    try:
        found, place, merged, number = _find_target(call)
    except StoreError as missing:
        return _distant(call, missing)
    if number:
        return _turn(call, found, place, number)
    if place.key == call.place.key:
        found = reread(call, [found])[0]
    if call.caller() != authority.PERSON:
        found = redactor.clean_record(found, call.settings, place.key)
    if call.options.outline:
        return _outline(call, found)
    one = _displayed(call, hit.from_record(found, place.key, place.path(found.name)), place)
    inward = _inward(place, found, call.now)
    book = ledger.holding(place, found.name)
    counts = lookup.fold_merged(place, ledger.read(book)).counts(found.id)
    stands = merged and (
        "%s was merged into this record; `dayleaf store restore %s` brings it back"
        % (merged, merged)
    )
    freshness = "; ".join([one.freshness, *(claim.reason for claim in one.gone)])
    facts = [
        *_conversation(call, found, place),
        ("linked from", ", ".join("%s (%s)" % row for row in inward)),
        ("outcome", counts_text(counts, call.now) if any(counts) else ""),
        ("feedback", "; ".join(reasons(found))),
        ("freshness", freshness * (one.freshness != claims.UNKNOWN)),
        *screen.claims(one.claims),
        ("merged", stands),
        ("file", one.path),
        *_source(found, place),
    ]
    return _printed(call, one, facts, counts, inward, merged)


def _distant(call: Call, missing: StoreError) -> int:
    from memory.cli.recall import dsn_of
    from memory.recall import lookup

    known = lookup.find_distant(call.place, call.one("ID"), dsn_of(call), missing)
    if call.options.outline:
        return _outline(call, known.record)
    facts = [("workspace", known.workspace), ("text", known.origin)]
    return _printed(call, _displayed(call, known, call.place), facts, ledger.Counts())


def _displayed(call: Call, one: Hit, place: Place) -> Hit:
    from memory.core import approvals
    from memory.recall import hit

    return hit.for_display([one], place, approvals.decisions(place.home), call.now)[0]


def _printed(
    call: Call,
    one: Hit,
    facts: list[tuple[str, str]],
    counts: ledger.Counts,
    inward: Sequence[tuple[str, str]] = (),
    merged: str = "",
) -> int:
    from memory.recall import hit

    found = one.record
    body, more, ways = _section(call, found)
    value = {
        **hit.about_json(one),
        "body": body,
        "merged": merged,
        "linkedFrom": [{"id": id, "relation": relation} for id, relation in inward],
        **counts_json(counts, call.now),
        "feedback": reasons(found),
        "problems": list(found.problems),
        **more,
    }
    facts = [*facts, ("trouble", "; ".join(found.problems))]
    head = screen.record(found, call.now, call.style(), facts)
    return call.answer(value, [*head, "", plain(localtimes.body(found, body)).rstrip("\n"), *ways])


_TURN = re.compile(r"(.+)#(\d{1,6}|(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d)")


def _find_target(call: Call) -> tuple[Record, Place, str, str]:
    """Return (record, place, merged id or "", wanted turn or "").

    A text after `#` is a turn where the rest names a checkpoint or a conversation; a title or a
    path may hold one too.
    """
    from memory.recall import lookup

    if not call.words:
        raise UsageError("show needs an ID, or `file`, `tool`, `walls` or `transcript`")
    said = call.one("ID").strip()
    match, other = _TURN.fullmatch(said), None
    if match:
        with contextlib.suppress(StoreError):
            found, place = lookup.find_anywhere(call.place, call.settings, match[1])
            if found.kind in layout.DATED:
                return found, place, "", match[2].replace(" ", "T")
            other = found
    try:
        return (*lookup.find_kept(call.place, call.settings, said), "")
    except StoreError:
        if other is None:
            raise
        raise StoreError(
            "%s is a %s; only conversations, checkpoints and notes have turns; `dayleaf show %s` "
            "prints it" % (other.id, other.kind, other.id)
        ) from None


def _talk(call: Call, found: Record, place: Place) -> Record:
    from memory.recall import excerpt
    from memory.store.store import Store

    talk = excerpt.conversation(Store(place, call.settings, call.now), found)
    if talk is None:
        raise StoreError(
            "the session of %s has no conversation; `dayleaf show %s` prints the checkpoint"
            % (found.id, found.id)
        )
    return talk


def _conversation(call: Call, found: Record, place: Place) -> list[tuple[str, str]]:
    from memory.recall import excerpt, hit
    from memory.store.store import Store

    if (
        found.kind not in layout.DATED
        or found.kind == "checkpoint"
        and not found.meta.get("conversation")
    ):
        return []
    talk = excerpt.conversation(Store(place, call.settings, call.now), found)
    turns = hit.turns(talk) if talk else []
    if talk is None or not turns:
        return []
    return [
        (
            "conversation" if talk is not found else "turns",
            "%s%s: `dayleaf show %s#%d` prints the last"
            % (
                talk.id + ", " if talk is not found else "",
                count(len(turns), "turn"),
                found.id,
                len(turns),
            ),
        )
    ]


def _turn(call: Call, found: Record, place: Place, said: str) -> int:
    from memory.recall import hit

    talk = _talk(call, found, place)
    turns = hit.turns(talk)
    one = _find_turn(talk, turns, said)
    ways = [
        "%s: %s  `dayleaf show %s#%d`" % (word, one_line(turns[at].request), talk.id, at + 1)
        for word, at in (("before", one.number - 2), ("after", one.number))
        if 0 <= at < len(turns)
    ]
    head = "turn %d of %d  %s  %s  %s" % (
        one.number,
        len(turns),
        clock.zoned(clock.parse(one.at) or talk.created),
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
        value, [head, "", plain(_localised(one)).rstrip("\n"), *([""] * bool(ways)), *ways]
    )


def _localised(one: Turn) -> str:
    heading, newline, rest = one.text.partition("\n")
    return (
        ("## %s %s" % (localtimes.minute(one.at)[11:], one.request)).rstrip() + newline + rest
        if heading.startswith("## ")
        else one.text
    )


def _find_turn(talk: Record, turns: Sequence[Turn], said: str) -> Turn:
    from memory.recall import excerpt

    local = [one._replace(at=localtimes.minute(one.at).replace(" ", "T")) for one in turns]
    exact = any(one.at.endswith(said) for one in turns) and not any(
        one.at.endswith(said) for one in local
    )
    return turns[excerpt.find_turn(talk, turns if exact else local, said).number - 1]


def _source(found: Record, place: Place) -> list[tuple[str, str]]:
    from memory.project import material, otherfiles

    if found.kind != "resource" or found.tier == layout.ADDED:
        return []
    state = material.state(found, place)
    then = found.meta.get("source_ref") or ""
    now = otherfiles.commit_of(state.source.path) if state.source and then else ""
    trouble = (
        "%s: `dayleaf resource refresh %s`" % (state.why, found.id)
        if state.word == material.STALE
        else state.why
    )
    head = "HEAD is %s" % now if now not in ("", then) else ""
    said = [found.path, "at commit %s" % then if then else "", head, trouble]
    return [("type", material.type_of(found)), ("source", "; ".join(part for part in said if part))]


def _outline(call: Call, found: Record) -> int:
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
        [*screen.table(cells, right=(0, 2)), "`dayleaf show %s --section N` prints one" % found.id],
    )


def _section(call: Call, found: Record) -> tuple[str, dict[str, Any], list[str]]:
    """Return (text, section for --json, lines on neighbouring sections).

    Raises UsageError where there is no such section.
    """
    from memory.store import sections

    o = call.options
    if not o.section:
        return found.body, {}, []
    listed = sections.outline(found.body)
    one = sections.find(listed, o.section)
    if one is None:
        headings = [each.path for each in listed if each.path]
        known = nearest(
            o.section, headings, "it has %s" % (", ".join(headings[:8]) or "no headings")
        )
        raise UsageError("%s has no section '%s'; %s" % (found.id, shown(o.section), known))
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
    """Print the part of the transcript behind a checkpoint."""
    from memory.recall import excerpt, hit
    from memory.store.store import Store

    found, place, _, number = _find_target(call)
    turns: list[Turn] = []
    if number:
        found = _talk(call, found, place)
        turns = hit.turns(found)
        number = str(excerpt.find_turn(found, turns, number).number)
    with call.spinner("reading the transcript"):
        said = excerpt.excerpt(
            Store(place, call.settings, call.now), found, call.env, turns, int(number or 0)
        )
    shown_ = said[-ENTRIES:]
    lines = ["%s  %s%s" % (one_line(found.title), found.id, "#" + number if number else "")]
    if len(said) > len(shown_):
        lines.append("the last %d of %d entries; `--json` has all" % (len(shown_), len(said)))
    offset = clock.local_offset(found.created)
    for one in shown_:
        lines += screen.entry(one.at, one.who, one.text, offset, RESULT_LINES)
    return call.answer(
        {"id": found.id, "turn": int(number or 0), "entries": [one._asdict() for one in said]},
        lines,
    )


def _inward(place: layout.Place, found: Record, now: float) -> list[tuple[str, str]]:
    """Return (id, relation from here) of the links to a record."""
    from contextlib import closing

    from memory.hook import indexview
    from memory.recall import alongside, relations
    from memory.recall.shelf import Shelf

    if not files.exists(indexview.segment_path(place)):
        return []
    try:
        with closing(Shelf(place, now)) as shelf:
            return [
                (source.id, relations.inverse(link.relation))
                for link, source in alongside.incoming_links(shelf, found)
            ]
    except IndexFault:  # the next recall sets a damaged one aside
        return []


WORDS = ("up", "down")
# characters of a reason that are kept, and the latest reasons of a record
REASON, REASONS = 300, 10
# kinds that bind or run by the checksum of their bytes: nothing is written into them
APPROVED = ("rule", "resource")


def feedback(call: Call) -> int:
    """Note that a record helped or misled."""
    from memory.recall import lookup
    from memory.recall.hit import record_json

    id, word, why = _words(call)
    found, place = lookup.find_anywhere(call.place, call.settings, id)
    if why and found.kind in APPROVED and found.tier != layout.ADDED:
        raise UsageError(
            "a reason in %s would undo its approval; leave it out, or `dayleaf record edit %s`"
            % (found.id, found.id)
        )
    if why:
        found = _explained(call, place, found, "%s %s: %s" % (clock.day(call.now), word, why))
    if found.tier != layout.ADDED:
        call.store_of(place).check(found.name)
        found = call.store_of(place).keep_id(found)
    book = ledger.holding(place, found.name)
    before = lookup.fold_merged(place, ledger.read(book)).counts(found.id)
    ledger.note(book, found.id, word, call.now, session_of(call))
    counts = lookup.fold_merged(place, ledger.settle(book)).counts(found.id)
    misled = ledger.misleads(counts.up, counts.down)
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
            "  " + counts_text(counts, call.now),
            *_effect(found, before, counts, misled),
        ],
    )


def _effect(found: Record, before: ledger.Counts, now: ledger.Counts, misled: bool) -> list[str]:
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


def counts_text(counts: ledger.Counts, now: float) -> str:
    """Return a record's counts: `used 3 times, up 1, down 0, last 2d ago`."""
    ago = age(now - counts.last)
    return ", ".join(
        part
        for part in (
            "used %s" % count(counts.uses, "time"),
            "up %d" % counts.up,
            "down %d" % counts.down,
            "learned again %s" % count(counts.again, "time") if counts.again else "",
            ("last now" if ago == "now" else "last %s ago" % ago) if counts.last else "",
        )
        if part
    )


def reasons(found: Record) -> list[str]:
    """Return the reasons in a record's feedback, oldest first."""
    given = found.meta.get("feedback")
    return (
        [str(reason) for reason in given]
        if isinstance(given, list)
        else [str(given)]
        if given
        else []
    )


def _words(call: Call) -> tuple[str, str, str]:
    id, word, rest = _split(call.words)
    if id in WORDS and word not in WORDS:
        raise UsageError(
            "the id comes first: `dayleaf record feedback %s %s`" % (shown(word) or "ID", id)
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
    return id, word, at_word(why, REASON)


def _split(words: Sequence[str]) -> tuple[str, str, str]:
    """Return (a record's id or title, the next word, the rest)."""
    said = " ".join(words).split()
    at = next((n for n, word in enumerate(said) if n and word in WORDS), min(1, len(said)))
    return " ".join(said[:at]), "".join(said[at : at + 1]), " ".join(said[at + 1 :])


def _explained(call: Call, place: Place, found: Record, reason: str) -> Record:
    """Add a reason to a record's `feedback`, and return the record.

    Raises StoreError.
    """
    from memory.store.redactor import strip_private

    said = strip_private(reason).strip()
    try:
        changed = call.store_of(place).edit(
            found.name, lambda now: {"feedback": [*reasons(now), said][-REASONS:]}
        )
    except PersonsRecord:
        raise
    except StoreError as error:
        raise StoreError("%s; nothing was noted; leave --why out" % error) from None
    call.indexed()
    return changed
