"""The brief: what a session's start puts before the model.  Its sections, in this order:

handoffs   the newest, then those that no session has had yet
wishes     said by the user, not confirmed
plan       the active one
work       this branch's newest checkpoint; others in a line each; topics and newest learnings
learnings  in full, where the strategy (strategies.py) gives all of them
rules      approved and in context; room is held for them first
"""

from __future__ import annotations

from memory.core import boundary, clock, files, layout, tokeniser
from memory.hook import (
    announcements,
    at_prompt,
    fence,
    handoffs,
    indexview,
    receipts,
    signs,
)
from memory.hook.strategies import choose_strategy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.hook.indexview import Index
    from memory.hook.strategies import Strategy

    Event = Dict[str, Any]
    Chosen = List[List[Any]]

BRIEF_UNITS = 9500  # UTF-16 units that the brief may hold; the client cuts above 10,000
# tokens of the brief; handoff, plan and rules always fit, and learnings in full do not count
BRIEF_TOKENS = 1000
PLAN_UNITS, HANDOFF_UNITS = 1200, 2200
CLEARED = 60.0  # seconds after a clear until which the session that follows starts
GREETED = ("startup", "clear", "resume")  # sources of a start that the user is greeted at
FIRST = ("Outcome", "Next", "Open", "Decisions")  # sections that stand whole before anything else
REST = ("Turns", "Fixed", "Commands", "Done")
# sections that a note tells better
UNDERSTOOD = ("", "Next", "Open", "Decisions", "Dead ends", "Lessons")
# after a compaction: whole, and as room allows
AHEAD, LOST = ("Next", "Open"), ("Commands", "Fixed", "Decisions", "Done")
LEAST_BYTES = 1400  # for the work of before, however long handoff, plan and rules are
# of a compacted session's own work, unless AHEAD takes more; of another branch beyond FIRST
OWN_BYTES, BESIDE_BYTES = 1600, 1200
OTHER_UNITS = 160  # UTF-16 units of a line about another session
# after a compaction: files at hand, records about each, decisions that are told
NEAR_FILES, NEAR_DOCS, NEAR_LINES = 8, 16, 4
SHORT_BYTES, CUT_BYTES = 60, 160  # of a line where room is short, of a turn worth cutting
RULES_UNITS = 2500  # at most kept for approved rules that may be in context
# kept for the line that counts, whatever it counts: what else fits must not change with it
COUNT_UNITS = 96
STALE_DAYS = 14  # days without a change after which a plan is asked about
READ_WISHES, MOST_WISHES = 20, 6  # rules that are read for standing wishes; wishes that are told
LEAST_UNITS = 400  # less room than this holds no title of any length
MORE = 'More: `dayleaf recall "words"` searches, `dayleaf show ID` prints a record.'


def on_session_start(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer SessionStart with the brief and notices.

    The brief is for the model.  The notices tell the user where the work stands and what failed
    since the last start.
    """
    place, settings, path, state = at_prompt.opened_session(event, env)
    goes_on = bool(path) and event.get("source") == "clear" and _was_off(place)
    if goes_on:
        state.off = True
        receipts.write_or_log(env, path, {"v": 1, "t": clock.iso(now), "event": "off"})
    try:
        block, greeting = _answer(event, env, now, place, settings, path, state)
    except Exception as error:
        block = greeting = ""
        boundary.note(env, "session_start", error)
    if goes_on:
        greeting = "no notes in this session, as before; `/dayleaf:on` lets them come again"
    said = [line for line in (greeting, signs.notices(place, settings, event, now)) if line]
    return at_prompt.output("SessionStart", block, "\n".join(said)), True


def _was_off(place: Place) -> bool:
    """Tell whether the session that was just cleared had its pushes off."""
    from memory.hook import at_stop  # at a clear alone

    mark = at_stop.off_mark(place)
    if not files.exists(mark):
        return False
    age = clock.now() - files.posix.stat(mark).st_mtime
    files.remove(mark)
    return age < CLEARED


def _answer(
    event: Event,
    env: Dict[str, str],
    now: float,
    place: Place,
    settings: Config,
    path: str,
    state: receipts.Session,
) -> Tuple[str, str]:
    """Return (brief, greeting), each possibly "", and write the receipt."""
    source = _text_in(event, "source", "startup")
    wanted = settings["load.enabled"] and settings["load.session"] and not state.off
    shown: Chosen = []
    block, greeting, name, candidates, saved = "", "", "", 0, 0
    if wanted:
        had_brief = path if source == "resume" and state.brief else ""
        found, (block, shown, greeting) = at_prompt.consult(
            place,
            event,
            env,
            "session_start index",
            _brief_builder(event, now, place, source, had_brief),
        )
        name = choose_strategy(found.learnings, found.learning_tokens).name
        candidates, saved = (
            found.learnings,
            max(0, found.learning_tokens - tokeniser.count_tokens(block)),
        )
    tag = receipts.tag_in(block)
    if source == "resume" and tag == state.brief:
        block, shown = "", []
    if path:
        receipts.write_or_log(
            env,
            path,
            {
                "v": 1,
                "t": clock.iso(now),
                "event": "start",
                "source": source,
                "transcript": _text_in(event, "transcript_path", ""),
                "brief": tag,
                "strategy": name,
                "candidates": candidates,
                "chosen": shown,
                "chars": tokeniser.utf16(block),
                "tokens": tokeniser.count_tokens(block),
                "ms": clock.elapsed_ms(now),
                "saved": saved,
            },
        )
    return block, greeting


def _text_in(event: Event, key: str, default: str) -> str:
    said = event.get(key)
    return said if isinstance(said, str) else default


def _brief_builder(
    event: Event, now: float, place: Place, source: str, had_brief: str
) -> Callable[[Index], Tuple[str, Chosen, str]]:
    """Return what makes (brief, its records, greeting) of an index.

    had_brief: path of the receipts of a session that has a brief already, else "".
    """
    is_agent = bool(event.get("agent_id"))
    note = None if is_agent else handoffs.current(place)
    others = () if is_agent else handoffs.waiting(place)
    greeted = source in GREETED and not is_agent
    session = layout.safe_id(event.get("session_id"))

    def build_brief(found: Index) -> Tuple[str, Chosen, str]:
        work = handoffs.find_work(found, source, session)
        greeting = signs.greeting(found, work.last, work.branch, now) if greeted else ""
        if had_brief and not handoffs.has_news(found, had_brief, session):
            return "", [], greeting
        return (*brief(found, note, now, work, others), greeting)

    return build_brief


def brief(
    found: Index,
    note: Any = None,
    now: float = 0.0,
    work: Optional[handoffs.Work] = None,
    waiting: Sequence[Any] = (),
) -> Tuple[str, Chosen]:
    """Return (block of a session's start, shown items).

    Items are [id, score, reason]; ("", []) where there is nothing.
    note: the handoff to show first, or None.
    now: seconds since the epoch; 0 asks about no plan and names no age.
    work: from `handoffs.find_work`, None for a new session.
    waiting: earlier handoffs that no session has had yet.
    """
    work = handoffs.find_work(found, "startup", "") if work is None else work
    aside = fence.overhead("brief") + tokeniser.utf16(MORE) + 1
    budget = fence.Budget(BRIEF_UNITS - aside)
    chosen: Chosen = []
    misled = fence.misled(found.place)
    learnings = sorted(found.listed("learnings"), key=lambda doc: doc.id in misled)
    strategy = choose_strategy(found.learnings, found.learning_tokens)
    headline = _headline(found)
    budget.take(headline)
    about, rules = _rules(found, note, learnings if strategy.whole else ())
    items = [fence.item(rule, fence.ITEM_UNITS) for rule in rules]
    held = (
        min(RULES_UNITS, sum(tokeniser.utf16(item) + 1 for item in items) + fence.LEAST_UNITS)
        if rules
        else 0
    )
    budget.left -= held
    counted = _handoff(found, note, budget, chosen)
    counts = [counted, *(_handoff(found, other, budget, chosen) for other in waiting)]
    _wishes(found, budget, chosen)
    asked = _plan(found, now, budget, chosen)
    spent = sum(map(fence.size, (*budget.lines, *items))) + aside
    budget.bytes = max(LEAST_BYTES, 4 * BRIEF_TOKENS - spent)
    aged = _work(
        found,
        work,
        note.derived_from if note and counted else (),
        now,
        budget,
        chosen,
        lambda: _overview(found, strategy, learnings, budget),
    )
    budget.bytes = fence.ANY
    if strategy.whole:
        _all(found, strategy, learnings, misled, budget, chosen)
    budget.left += held
    if rules:
        from memory.hook import context

        fence.add_rules(
            context.in_context(rules, about, {c[0] for c in chosen}), budget, chosen, found.mark
        )
    if len(budget.lines) < 2 and not budget.rules:
        return "", []
    return fence.block(
        "brief", [*budget.lines, MORE], budget.rules, (headline, *counts, asked, aged)
    ), chosen


def _rules(found: Index, note: Any, learnings: Sequence[Any]) -> Tuple[Any, List[Any]]:
    """Return (context of a start, approved rules that may apply).

    Rules apply by a tag of the place, or by a link to the handoff, `learnings` or the brief's
    lists.  (None, []) without rules.
    """
    if not found.has_rules:
        return None, []
    from memory.hook import context

    about = context.context_of(found.place, "", "")
    likely = {doc.id for doc in (*learnings, *found.listed("plans"), *found.listed("checkpoints"))}
    likely |= {note.id} if note else set()
    return about, context.approved_rules(found, context.near_rules(found, about, likely))


def _handoff(found: Index, note: Any, budget: fence.Budget, chosen: Chosen) -> str:
    """Add the handoff; return its line of day and starts."""
    room = budget.left - COUNT_UNITS - 1
    if note is None or room < LEAST_UNITS or found.is_secret(note.name):
        return ""
    before = handoffs.starts(found.place, note.id)
    counted = "Handoff from %s (%s)" % (
        clock.day(note.created),
        "shown at %s before; `dayleaf handoff` replaces it" % (announcements.many(before, "start"))
        if before
        else "new",
    )
    budget.take(counted)
    budget.left -= COUNT_UNITS - tokeniser.utf16(counted)
    budget.take(fence.item(note, min(HANDOFF_UNITS, room - 1), mark=found.mark(note)))
    chosen.append([note.id, 1.0, handoffs.REASON])
    return counted


def _wishes(found: Index, budget: fence.Budget, chosen: Chosen) -> None:
    """Add the user's undecided wishes, most repeated and newest first."""
    # of others it is a claim
    docs = [doc for doc in found.listed("rules") if doc.name[0] == layout.PRIVATE][:READ_WISHES]
    records = [r for r in indexview.reread(found, docs, whole=True) if fence.field(r, "said")]
    if not records:
        return
    from memory.core import approvals

    decided = approvals.decisions(found.place.home, [r.checksum for r in records])
    key = found.place.key
    open_ = [
        r for r in records if (approvals.workspace_of(r.name, key), r.id, r.checksum) not in decided
    ]
    open_.sort(
        key=lambda rule: ((fence.field(rule, "times") or "1").zfill(4), fence.field(rule, "said")),
        reverse=True,
    )
    for record in open_[:MOST_WISHES]:
        line = (
            'You said on %s: "%s" (not confirmed: `dayleaf review`; '
            "`dayleaf record forget %s` drops it)"
            % (
                fence.line(fence.field(record, "said"), 10),
                fence.line(record.title, 240),
                fence.line(record.id, 64),
            )
        )
        if budget.left < LEAST_UNITS or not budget.take("- " + line):
            break
        chosen.append([record.id, 1.0, "standing wish"])
    if len(open_) > MOST_WISHES:
        budget.take("- %d more wait: `dayleaf review`" % (len(open_) - MOST_WISHES))


def _plan(found: Index, now: float, budget: fence.Budget, chosen: Chosen) -> str:
    """Add the active plan and return the question about a stale plan."""
    for record in indexview.reread(found, found.listed("plans")[:4], whole=True):
        if record.kind != "plan" or not record.active:
            continue
        days = int((now - _last_changed(found.place, record)) // clock.DAY)
        asked = (
            "The plan has not changed for %d days: `dayleaf plan done`, `plan "
            "drop` or `plan update`"
        ) % days
        asked = (
            asked
            if days >= STALE_DAYS and budget.left >= LEAST_UNITS and budget.take(asked)
            else ""
        )
        if budget.left >= LEAST_UNITS and budget.take(
            _plan_item(record, min(PLAN_UNITS, budget.left - 1), found.mark(record))
        ):
            chosen.append([record.id, 1.0, "active plan"])
        return asked
    return ""


def _last_changed(place: Place, record: Record) -> float:
    """Return the instant of a record's last change."""
    try:
        return max(record.updated, float(files.posix.stat(place.path(record.name)).st_mtime))
    except OSError:
        return record.updated


def _plan_item(record: Record, units: int, mark: str) -> str:
    """Return a plan as text of at most `units` UTF-16 units."""
    from memory.core import records

    whole, steps = fence.item(record, 1 << 30, mark=mark), records.steps(record.body)
    todo = {line: "- [ ] " + said for line, ticked, said in steps if not ticked}
    if tokeniser.utf16(whole) <= units or not todo:
        return fence.item(record, units, mark=mark)
    first = "%d of %d steps done, open:\n%s" % (
        len(steps) - len(todo),
        len(steps),
        "\n".join(todo.values()),
    )
    rest = [line for number, line in enumerate(record.body.split("\n")) if number not in todo]
    return fence.item(record.replaced(body=first + "\n\n" + "\n".join(rest)), units, mark=mark)


# ---- the work of before


def _work(
    found: Index,
    work: handoffs.Work,
    told: Sequence[str],
    now: float,
    budget: fence.Budget,
    chosen: Chosen,
    overview: Callable[[], None],
) -> str:
    """Add the earlier work and return the line with its age.

    First what the next session needs of it, then a line for each other session and the overview,
    then as much more of it as fits.
    told: ids of the records from which the shown handoff was made.
    """
    at = len(budget.lines) + 1
    aged, parts, room = _first(found, work, told, now, budget, chosen)
    others = [
        "- [%s] %s (%s%s)"
        % (
            fence.line(r.id, 64),
            handoffs.headline(r, OTHER_UNITS),
            ", ".join(
                filter(
                    None, (fence.line(str(r.meta.get("branch") or ""), 80), clock.day(r.created))
                )
            ),
            fence.origin(r),
        )
        for r in work.others
    ]
    if others and budget.take("Other sessions before this one:"):
        chosen += [
            [r.id, 1.0, receipts.TITLE] for r, line in zip(work.others, others) if budget.take(line)
        ]
    if work.own and work.record is not None:
        _decided_elsewhere(found, work.record, budget, chosen)
    overview()
    if aged:
        more = _fitting_lines(parts, min(room, budget.bytes, budget.left) - 1)
        budget.lines[at] = "\n".join((budget.lines[at], *more))
        budget.left -= sum(tokeniser.utf16(line) + 1 for line in more)
        budget.bytes -= sum(fence.size(line) + 1 for line in more)
    return aged


def _first(
    found: Index,
    work: handoffs.Work,
    told: Sequence[str],
    now: float,
    budget: fence.Budget,
    chosen: Chosen,
) -> Tuple[str, Dict[str, List[str]], int]:
    """Add the first part of a checkpoint, below its age."""
    record = work.record
    room = min(budget.bytes, budget.left)
    if record is None or record.id in told or room < LEAST_UNITS:
        return "", {}, 0
    parts, later = handoffs.sections(fence.clean(record.body)), _later_outcome(work.later)
    note = None if work.own else handoffs.note_of(found, record)
    if note is not None:
        said = handoffs.note_sections(note)
        by = handoffs.note_author(note)
        said[""] = ["Note by %s: %s" % (by, line) for line in said[""]]
        parts.update({name: said[name] for name in UNDERSTOOD if said.get(name)})
        chosen.append([note.id, 1.0, "note of that session"])
    # which a compacted session is not told again
    came = "" if work.own else " ".join(parts.get("Outcome", ()))
    decided = [line for line in parts.pop("Decisions", ()) if line[2:].rstrip(" .…") not in came]
    if not work.own:
        decided += handoffs.refusals_before(found, record)
    parts.update({"Decisions": decided} if decided else {})
    if later:
        parts["Outcome"] = parts.get("Outcome", []) + later
    first = [name for name in ("", *(AHEAD if work.own else FIRST)) if name in parts]
    rest = {
        name: parts[name]
        for name in (LOST if work.own else (*REST, *parts))
        if name in parts and name not in first
    }
    if not first and not rest:
        return "", {}, 0
    aged, head = _age_line(work, now), fence.heading(record, mark=found.mark(record))
    room -= fence.size(aged) + fence.size(head) + 2
    lines = _fit_sections(parts, first, room)
    text = "\n".join((head, *lines))
    if tokeniser.utf16(aged + text) + 2 > budget.left or fence.size(aged + text) + 2 > budget.bytes:
        return "", {}, 0
    budget.take(aged)
    budget.take(text)
    chosen.append(
        [
            record.id,
            1.0,
            "newest checkpoint"
            + ("" if work.own or _is_own_branch(work) else " of another branch"),
        ]
    )
    left = room - sum(fence.size(line) + 1 for line in lines)
    if work.own:
        return aged, rest, min(left, OWN_BYTES - fence.size(aged + text))
    return aged, rest, left if _is_own_branch(work) else min(left, BESIDE_BYTES)


def _decided_elsewhere(found: Index, record: Any, budget: fence.Budget, chosen: Chosen) -> None:
    """Add other sessions' decisions about the current files, newest first."""
    own = handoffs.sections(fence.clean(record.body)).get("Done", ())
    names = [name for line in own for name in line.split("`")[1::2] if "." in name][:NEAR_FILES]
    lines: List[str] = []
    for name in dict.fromkeys(name.rpartition("/")[2] for name in names):
        for id, line in _decisions_about(found, name, record):
            lines.append("- [%s] %s" % (fence.line(id, 64), handoffs.clause(line[2:], OTHER_UNITS)))
            chosen.append([id, 1.0, "decided about a file at hand"])
    kept = list(dict.fromkeys(lines))[:NEAR_LINES]
    if kept and budget.take("Other sessions decided about these files:"):
        for line in kept:
            budget.take(line)


def _decisions_about(found: Index, name: str, record: Any) -> Iterator[Tuple[str, str]]:
    """Yield (id, line) of sessions other than a record's, newest first."""
    numbers = sorted(found.holding(name.lower()))[-NEAR_DOCS:]
    docs = [
        doc
        for doc in map(found.doc, numbers)
        if doc.kind in ("checkpoint", "note") and doc.ordinal == 0
    ]
    for one in indexview.reread(found, sorted(docs, key=lambda doc: -doc.created)):
        same = one.meta.get("session") == record.meta.get("session")
        if same or handoffs.is_of_others(found.place, one):
            continue
        decisions = handoffs.sections(fence.clean(one.body)).get("Decisions", ())
        line = next((line for line in decisions if name in line), "")
        if line:
            yield one.id, line


def _later_outcome(record: Any) -> List[str]:
    """Return a line on the session's later outcome on another branch."""
    came = (
        handoffs.sections(fence.clean(record.body)).get("Outcome", [])[:1]
        if record is not None
        else ()
    )
    return [
        "- later in that session, on branch %s [%s]%s: %s"
        % (
            fence.line(str(record.meta.get("branch") or "none"), 80),
            fence.line(record.id, 64),
            fence.origin(record),
            line[2:],
        )
        for line in came
    ]


def _is_own_branch(work: handoffs.Work) -> bool:
    return not work.branch or work.record.meta.get("branch") == work.branch


def _age_line(work: handoffs.Work, now: float) -> str:
    """Return a line with the branch and age of the checkpoint shown."""
    days = int(now // clock.DAY - work.record.created // clock.DAY) if now else -1
    when = (
        ""
        if days < 0
        else ", today"
        if not days
        else ", yesterday"
        if days == 1
        else ", %d days ago" % days
    )
    if work.own:
        return "This session before its compaction; its summary may lack this:"
    of = fence.line(str(work.record.meta.get("branch") or ""), 80)
    of = " on branch " + of if of else ""
    if _is_own_branch(work):
        return "The newest work%s%s:" % (of, when)
    return "The newest work is%s%s; none on %s yet:" % (
        of or " on no branch",
        when,
        fence.line(work.branch, 80),
    )


def _fit_sections(parts: Dict[str, List[str]], names: Sequence[str], room: int) -> List[str]:
    """Return sections as lines in at most `room` bytes.

    Where they do not fit, every long line is cut at a word, and the last lines of the longest
    sections are only counted.
    """
    held = [parts[name] for name in names]
    most = fence.ANY
    if sum(fence.size(line) + 1 for lines in held for line in lines) > room - SHORT_BYTES * len(
        names
    ):
        most = max(
            1, _size_cap([len(lines) for lines in held], room // SHORT_BYTES - 2 * len(names))
        )
    lines: List[str] = []
    for name, said in zip(names, held):
        lines += (["### " + name] if name else []) + said[:most]
        lines += ["(%d more)" % (len(said) - most)] if len(said) > most else []
    share = _size_cap([fence.size(line) for line in lines], room - len(lines))
    return [fence.clip_bytes(line, share) for line in lines]


def _size_cap(sizes: Sequence[int], room: int) -> int:
    """Return the cap on sizes with which all fit in `room`."""
    for at, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - at)
        if size > share:
            return share
        room -= size
    return fence.ANY


def _fitting_lines(parts: Dict[str, List[str]], room: int) -> List[str]:
    """Return as many section lines as fit in `room` bytes."""
    found: List[str] = []
    for name, lines in parts.items():
        latest = name == "Turns"
        title = "### %s (the newest of %d)" % (name, len(lines)) if latest else "### " + name
        left = room - fence.size(title) - 1
        kept = _newest_turns(lines, left) if latest else _lines_that_fit(lines, left)
        if kept:
            title = title if len(kept) < len(lines) else "### " + name
            found += [title, *kept]
            room = left - sum(fence.size(line) + 1 for line in kept)
    return found


def _lines_that_fit(lines: List[str], left: int) -> List[str]:
    kept = []
    for line in lines:
        size = fence.size(line) + 1
        if size <= left:
            kept.append(line)
            left -= size
    return kept


def _newest_turns(lines: List[str], left: int) -> List[str]:
    """Return the last lines that fit, in their order."""
    kept: List[str] = []
    for line in reversed(_requests_of_older(lines, left)):
        line = fence.clip_bytes(line, left - 1) if left > CUT_BYTES else line
        size = fence.size(line) + 1
        if size > left:
            break
        kept.append(line)
        left -= size
    return kept[::-1]


def _requests_of_older(lines: List[str], room: int) -> List[str]:
    """Return the lines of turns, the oldest without their outcome where not all fit."""
    over = sum(fence.size(line) + 1 for line in lines) - room
    held = list(lines)
    for at, line in enumerate(lines[:-1]):
        if over <= 0:
            break
        held[at] = line.partition(" → ")[0]
        over -= fence.size(line) - fence.size(held[at])
    return held


def _headline(found: Index) -> str:
    if found.unread:  # an index is being made; what was read of the files is a part
        return "Memory of %s: %s, of which %d were read." % (
            found.place.key,
            announcements.many(found.records + found.unread, "record"),
            found.records,
        )
    counts = (
        announcements.many(found.learnings, "learning"),
        announcements.many(found.records, "record"),
    )
    return "Memory of %s: %s in %s." % (found.place.key, *counts)


def _all(
    found: Index,
    strategy: Strategy,
    learnings: Sequence[Any],
    misled: frozenset[str],
    budget: fence.Budget,
    chosen: Chosen,
) -> None:
    """Add the learnings in full, then the titles of the rest."""
    left_out = []
    for record, mark in _fresh_first(found, learnings):
        if record.accepted and budget.take(
            fence.item(record, 1 << 30, "", record.id in misled, mark=mark)
        ):
            chosen.append([record.id, 1.0, strategy.name])
        elif record.accepted:
            left_out.append(record)
    for record in left_out:
        budget.take(
            "- [%s] %s (did not fit)" % (fence.line(record.id, 64), fence.line(record.title, 120))
        )


def _fresh_first(found: Index, docs: Sequence[Any]) -> List[Tuple[Any, str]]:
    """Return (record, staleness) of documents re-read, stale ones last."""
    return sorted(
        [(record, found.mark(record)) for record in indexview.reread(found, docs)],
        key=lambda row: bool(row[1]),
    )


def _overview(
    found: Index, strategy: Strategy, learnings: Sequence[Any], budget: fence.Budget
) -> None:
    """Add the map of topics and the titles of the newest learnings."""
    rows = found.lists("brief").get("topics", [])[: strategy.topics] if strategy.topics else ()
    topics = ["%s (%d)" % (fence.line(str(row[0]), 64), row[1]) for row in rows if row[1]]
    if topics:
        budget.take("Topics: " + ", ".join(topics))
    recent = [
        "- [%s] %s (%s%s)"
        % (
            fence.line(r.id, 64),
            fence.line(r.title, 120),
            clock.day(r.created),
            fence.stale_note(mark),
        )
        for r, mark in _fresh_first(found, learnings[: strategy.newest])
    ]
    if recent:
        budget.take("\n".join(["", "Newest of %d learnings:" % found.learnings, *recent]))
