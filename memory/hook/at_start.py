"""Build the brief: what a session's start puts before the model.  Its sections, in this order:

handoffs   the newest, then those that no session has had yet
wishes     said by the user, not confirmed
plan       the active one
work       this branch's newest checkpoint; others in a line each; topics and newest learnings
learnings  in full, where the strategy (strategies.py) gives all of them
rules      approved and in context; room is held for them first
"""

from __future__ import annotations

from memory.core import StoreAway, boundary, clock, files, layout, tokeniser
from memory.hook import announcements, at_prompt, fence, handoffs, indexview, receipts, signs
from memory.hook.strategies import choose_strategy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Sequence

    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.hook.indexview import Index
    from memory.hook.strategies import Strategy

    Event = dict[str, Any]
    Chosen = list[list[Any]]

BRIEF_UNITS = 9500  # UTF-16 units that the brief may hold; the client cuts above 10,000
# tokens of the brief; handoff, plan and rules always fit, and learnings in full do not count
BRIEF_TOKENS = 1000
PLAN_UNITS, HANDOFF_UNITS = 1200, 2200
CLEAR_SECONDS = 60.0  # seconds after a clear until which the session that follows starts
GREETED_SOURCES = ("startup", "clear", "resume")  # sources of a start that the user is greeted at
# sections that stand whole before anything else
FIRST_SECTIONS = ("Outcome", "Next", "Open", "Decisions")
LATER_SECTIONS = ("Turns", "Fixed", "Commands", "Done")
# sections that a note tells better
NOTE_SECTIONS = ("", "Next", "Open", "Decisions", "Dead ends", "Lessons")
# after a compaction: whole, and as room allows
COMPACTED_FIRST, COMPACTED_LATER = ("Next", "Open"), ("Commands", "Fixed", "Decisions", "Done")
LEAST_BYTES = 1400  # for the work of before, however long handoff, plan and rules are
# of a compacted session's own work, unless COMPACTED_FIRST takes more; of another branch beyond
# FIRST_SECTIONS
OWN_BYTES, BESIDE_BYTES = 1600, 1200
OTHER_UNITS = 160  # UTF-16 units of a line about another session
# after a compaction: files at hand, records about each, decisions that are told
NEAR_FILES, NEAR_DOCS, NEAR_LINES = 8, 16, 4
SHORT_BYTES, CUT_BYTES = 60, 160  # of a line where room is short, of a turn worth cutting
RULES_UNITS = 2500  # at most kept for approved rules that may be in context
# kept for the line that counts, so that what else fits does not change with it
COUNT_UNITS = 96
STALE_DAYS = 14  # days without a change after which a plan is asked about
READ_WISHES, MOST_WISHES = 20, 6  # rules that are read for standing wishes; wishes that are told
LEAST_UNITS = 400  # less room than this holds no title of any length
MORE = 'More: `dayleaf recall "words"` searches, `dayleaf show ID` prints a record.'


def on_session_start(event: Event, env: dict[str, str], now: float) -> tuple[Event | None, bool]:
    """Answer SessionStart with the brief and notices.

    The brief is for the model.  The notices tell the user where the work stands and what failed
    since the last start.
    """
    try:
        session = at_prompt.OpenSession(event, env)
    except StoreAway as error:
        said = "dayleaf: %s" % error if event.get("source") != "compact" else ""
        return at_prompt.build_output("SessionStart", "", said), False
    place = session.place
    stays_off = bool(session.path) and event.get("source") == "clear" and _was_cleared_off(place)
    if stays_off:
        session.state.off = True
        row = {"v": 1, "t": clock.iso(now), "event": "off"}
        receipts.write_or_log(env, session.path, row)
    try:
        block, greeting = _answer_start(event, env, now, session)
    except Exception as error:
        block = greeting = ""
        boundary.log_failure(env, "session_start", error)
    if stays_off:
        greeting = "silent in this session, as before; `/dayleaf:on` lets dayleaf speak again"
    notices = signs.format_notices(place, session.settings, event, now)
    message = "\n".join(filter(None, (greeting, notices)))
    return at_prompt.build_output("SessionStart", block, message), True


def _was_cleared_off(place: Place) -> bool:
    """Tell whether pushes were off in the session just cleared."""
    from memory.hook import at_stop

    mark = at_stop.off_mark_path(place)
    if not files.exists(mark):
        return False
    age = clock.now() - files.posix.stat(mark).st_mtime
    files.remove(mark)
    return age < CLEAR_SECONDS


def _answer_start(
    event: Event, env: dict[str, str], now: float, session: at_prompt.OpenSession
) -> tuple[str, str]:
    """Return (brief, greeting), each possibly "", and write the receipt."""
    settings, state, path = session.settings, session.state, session.path
    source = _get_text(event, "source", "startup")
    shown: Chosen = []
    block = greeting = name = ""
    candidates = saved = 0
    if settings["load.enabled"] and settings["load.session"] and not state.off:
        had_brief = path if source == "resume" and state.brief else ""
        build = _make_brief_builder(event, now, session.place, source, had_brief)
        index, (block, shown, greeting) = at_prompt.consult_index(
            session.place, event, env, "session_start index", build
        )
        name = choose_strategy(index.learnings, index.learning_tokens).name
        candidates = index.learnings
        saved = max(0, index.learning_tokens - tokeniser.count_tokens(block))
    tag = receipts.parse_block_tag(block)
    if source == "resume" and tag == state.brief:
        block, shown = "", []
    if path:
        row = {
            **receipts.build_row("start", now, block, shown),
            "source": source,
            "transcript": _get_text(event, "transcript_path", ""),
            "host": env.get("CLAUDE_CONFIG_DIR", ""),
            "brief": tag,
            "strategy": name,
            "candidates": candidates,
            "saved": saved,
        }
        receipts.write_or_log(env, path, row)
    return block, greeting


def _get_text(event: Event, key: str, default: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else default


def _make_brief_builder(
    event: Event, now: float, place: Place, source: str, had_brief: str
) -> Callable[[Index], tuple[str, Chosen, str]]:
    """Return a function from an index to (brief, its records, greeting).

    had_brief: path of the receipts of a session that has a brief already, else "".
    """
    is_agent = bool(event.get("agent_id"))
    note = None if is_agent else handoffs.read_current(place)
    others = () if is_agent else handoffs.list_waiting(place)
    greeted = source in GREETED_SOURCES and not is_agent
    session = layout.valid_id(event.get("session_id"))

    def build(index: Index) -> tuple[str, Chosen, str]:
        work = handoffs.find_earlier_work(index, source, session, now)
        greeting = signs.format_greeting(index, work.last, work.branch, now) if greeted else ""
        if had_brief and not handoffs.has_news(index, had_brief, session):
            return "", [], greeting
        block, chosen = build_brief(index, note, now, work, others)
        if greeted and not greeting:
            greeting = signs.format_contents(index, [row[2] for row in chosen])
        return block, chosen, greeting

    return build


def build_brief(
    index: Index,
    note: Any = None,
    now: float = 0.0,
    work: handoffs.EarlierWork | None = None,
    waiting: Sequence[Any] = (),
) -> tuple[str, Chosen]:
    """Return (block of a session's start, [id, score, reason] of each record in it).

    note: the handoff to show first, or None.
    now: seconds since the epoch; 0 asks about no plan and names no age.
    work: from `handoffs.find_earlier_work`, None for a new session.
    waiting: earlier handoffs that no session has had yet.
    """
    work = handoffs.find_earlier_work(index, "startup", "", now) if work is None else work
    aside = fence.overhead("brief") + tokeniser.count_utf16(MORE) + 1
    budget = fence.Budget(BRIEF_UNITS - aside)
    misled = fence.read_misleading_ids(index.place)
    learnings = sorted(index.listed("learnings"), key=lambda doc: doc.id in misled)
    strategy = choose_strategy(index.learnings, index.learning_tokens)
    headline = _format_headline(index)
    budget.take(headline)
    about, rules = _find_rules(index, note, learnings if strategy.whole else ())
    items = [fence.format_record(rule, fence.ITEM_UNITS) for rule in rules]
    units = sum(tokeniser.count_utf16(item) + 1 for item in items) + fence.LEAST_UNITS
    held = min(RULES_UNITS, units) if rules else 0
    budget.left -= held
    counted = _add_handoff(index, note, budget)
    counts = [counted, *(_add_handoff(index, other, budget) for other in waiting)]
    _add_wishes(index, budget)
    plan = _find_plan(index)
    question = _add_plan(index, plan, now, budget)
    spent = sum(map(fence.count_bytes, (*budget.lines, *items))) + aside
    budget.bytes = max(LEAST_BYTES, 4 * BRIEF_TOKENS - spent)
    age = _add_work(
        index,
        work,
        note.derived_from if note and counted else (),
        now,
        budget,
        lambda: _add_overview(index, strategy, learnings, budget),
    )
    budget.bytes = fence.NO_LIMIT
    # what a program left stands below a person's work
    counts += [_add_handoff(index, each, budget, unattended=True) for each in (note, *waiting)]
    question += _add_plan(index, plan, now, budget, unattended=True)
    if strategy.whole:
        _add_all_learnings(index, strategy, learnings, misled, budget)
    budget.left += held
    if rules:
        from memory.hook import context

        shown = {row[0] for row in budget.chosen}
        fence.add_rules(context.select_rules(rules, about, shown), budget, index.mark)
    if len(budget.lines) < 2 and not budget.rules:
        return "", []
    passing = (headline, *counts, question, age)
    block = fence.format_block("brief", [*budget.lines, MORE], budget.rules, passing)
    return block, budget.chosen


def _find_rules(index: Index, note: Any, learnings: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return (context of a start, approved rules that may apply).

    Rules apply by a tag of the place, or by a link to the handoff, `learnings` or the brief's
    lists.  (None, []) without rules.
    """
    if not index.has_rules:
        return None, []
    from memory.hook import context

    about = context.build_context(index.place, "", "")
    likely = {doc.id for doc in (*learnings, *index.listed("plans"), *index.listed("checkpoints"))}
    if note:
        likely.add(note.id)
    docs = context.find_candidate_rules(index, about, likely)
    return about, context.read_approved_rules(index, docs)


def _is_by(record: Any, unattended: bool) -> bool:
    """Tell whether a program (`unattended`), or else a person, left a record."""
    return record is not None and fence.is_unattended(record) == unattended


def _add_handoff(index: Index, note: Any, budget: fence.Budget, unattended: bool = False) -> str:
    """Add a person's or a program's handoff; return the line above it, or ""."""
    room = budget.left - COUNT_UNITS - 1
    if not _is_by(note, unattended) or room < LEAST_UNITS or index.holds_secret(note):
        return ""
    before = handoffs.count_starts(index.place, note.id)
    shown = "new"
    if before:
        starts = announcements.format_count(before, "start")
        shown = "shown at %s before; `dayleaf handoff` replaces it" % starts
    shown += ", unattended" * unattended
    counted = "Handoff from %s (%s)" % (clock.format_local_day(note.created), shown)
    budget.take(counted)
    budget.left -= COUNT_UNITS - tokeniser.count_utf16(counted)
    budget.take(fence.format_record(note, min(HANDOFF_UNITS, room - 1), mark=index.mark(note)))
    budget.chosen.append([note.id, 1.0, handoffs.REASON])
    return counted


def _add_wishes(index: Index, budget: fence.Budget) -> None:
    """Add the user's unconfirmed wishes, the most repeated and newest first."""
    # a wish of others is a claim; a name begins with its tier
    docs = [doc for doc in index.listed("rules") if doc.name[0] == layout.PRIVATE][:READ_WISHES]
    if not docs:
        return
    from memory.hook import context

    wishes = context.list_wishes(index.place, indexview.reread(index, docs, whole=True))
    for wish in wishes[:MOST_WISHES]:
        if budget.left < LEAST_UNITS or not context.add_wish(wish, index, budget):
            break
    if len(wishes) > MOST_WISHES:
        budget.take("- %d more wait: `dayleaf review`" % (len(wishes) - MOST_WISHES))


def _find_plan(index: Index) -> Any:
    records = indexview.reread(index, index.listed("plans")[:4], whole=True)
    return next((record for record in records if record.kind == "plan" and record.active), None)


def _add_plan(
    index: Index, plan: Any, now: float, budget: fence.Budget, unattended: bool = False
) -> str:
    """Add the active plan; return the question about a stale one, or ""."""
    if not _is_by(plan, unattended):
        return ""
    days = int((now - _find_last_change(index.place, plan)) // clock.DAY)
    question = ""
    if days >= STALE_DAYS and budget.left >= LEAST_UNITS:
        question = (
            "The plan has not changed for %d days: `dayleaf plan done`, `plan "
            "drop` or `plan update`"
        ) % days
        question = question if budget.take(question) else ""
    text = ""
    if budget.left >= LEAST_UNITS:
        text = _format_plan(plan, min(PLAN_UNITS, budget.left - 1), index.mark(plan))
    if text and budget.take(text):
        budget.chosen.append([plan.id, 1.0, "active plan"])
    return question


def _find_last_change(place: Place, record: Record) -> float:
    try:
        return max(record.updated, float(files.posix.stat(place.path(record.name)).st_mtime))
    except OSError:
        return record.updated


def _format_plan(record: Record, units: int, mark: str) -> str:
    """Return a plan as text; if it is cut, open steps come first."""
    from memory.core import records

    whole = fence.format_record(record, fence.NO_LIMIT, mark=mark)
    steps = records.parse_steps(record.body)
    todo = {line: "- [ ] " + text for line, ticked, text in steps if not ticked}
    if tokeniser.count_utf16(whole) <= units or not todo:
        return fence.format_record(record, units, mark=mark)
    done = "%d of %d steps done, open:" % (len(steps) - len(todo), len(steps))
    rest = [line for number, line in enumerate(record.body.split("\n")) if number not in todo]
    body = "\n".join((done, *todo.values(), "", *rest))
    return fence.format_record(record.replaced(body=body), units, mark=mark)


# ---- the work of before


def _add_work(
    index: Index,
    work: handoffs.EarlierWork,
    told: Sequence[str],
    now: float,
    budget: fence.Budget,
    add_overview: Callable[[], None],
) -> str:
    """Add the earlier work; return the line with its age, or "".

    First what the next session needs, then other sessions and the overview, then more as it fits.
    told: ids of the records from which the shown handoff was made.
    """
    at = len(budget.lines) + 1
    shown = _add_newest_checkpoint(index, work, told, now, budget)
    if work.others and budget.take("Other sessions before this one:"):
        budget.chosen += [
            [record.id, 1.0, receipts.TITLE_REASON]
            for record in work.others
            if budget.take(_format_session(record))
        ]
    if work.own and work.record is not None:
        _add_other_decisions(index, work.record, budget)
    add_overview()
    if shown is None:
        return ""
    age, rest, most = shown
    more = _select_fitting_lines(rest, min(most, budget.bytes, budget.left) - 1)
    budget.lines[at] = "\n".join((budget.lines[at], *more))
    budget.left -= sum(tokeniser.count_utf16(line) + 1 for line in more)
    budget.bytes -= _count_bytes(more)
    return age


def _count_bytes(lines: Sequence[str]) -> int:
    return sum(fence.count_bytes(line) + 1 for line in lines)


def _format_session(record: Any) -> str:
    return "- [%s] %s (%s%s)" % (
        fence.clean_id(record),
        handoffs.format_headline(record, OTHER_UNITS),
        ", ".join(filter(None, (fence.clean_branch(record), _format_day(record)))),
        fence.format_origin(record),
    )


def _add_newest_checkpoint(
    index: Index, work: handoffs.EarlierWork, told: Sequence[str], now: float, budget: fence.Budget
) -> tuple[str, dict[str, list[str]], int] | None:
    """Add the newest checkpoint's first part, below a line with its age.

    Returns (line with its age, sections that may follow, bytes for these), or None.
    """
    record = work.record
    room = min(budget.bytes, budget.left)
    if record is None or record.id in told or room < LEAST_UNITS:
        return None
    sections = _collect_sections(index, work, budget.chosen)
    first, rest = _order_sections(sections, work.own)
    if not (first or rest):
        return None
    age = _format_age_line(work, now)
    heading = fence.format_heading(record, mark=index.mark(record))
    room -= _count_bytes((age, heading))
    lines = _fit_sections(sections, first, room)
    text = "\n".join((heading, *lines))
    size = fence.count_bytes(age + text)
    if tokeniser.count_utf16(age + text) + 2 > budget.left or size + 2 > budget.bytes:  # line ends
        return None
    budget.take(age)
    budget.take(text)
    most, reason = fence.NO_LIMIT, "newest checkpoint"
    if work.own:
        most = OWN_BYTES - size
    elif not _is_own_branch(work):
        most, reason = BESIDE_BYTES, "newest checkpoint of another branch"
    budget.chosen.append([record.id, 1.0, reason])
    return age, rest, min(most, room - _count_bytes(lines))


def _order_sections(
    sections: dict[str, list[str]], own: bool
) -> tuple[list[str], dict[str, list[str]]]:
    """Return (names of the sections that stand first, the sections that may follow).

    own: of a session that the client has just compacted.
    """
    wanted = COMPACTED_FIRST if own else FIRST_SECTIONS
    later = COMPACTED_LATER if own else (*LATER_SECTIONS, *sections)
    first = [name for name in ("", *wanted) if name in sections]
    rest = [name for name in later if name in sections and name not in first]
    return first, {name: sections[name] for name in rest}


def _collect_sections(
    index: Index, work: handoffs.EarlierWork, chosen: Chosen
) -> dict[str, list[str]]:
    """Return the sections of the newest checkpoint and of its note."""
    record = work.record
    sections = handoffs.read_sections(record)
    note = None if work.own else handoffs.find_note(index, record)
    if note is not None:
        noted = handoffs.split_note_sections(note)
        author = handoffs.format_note_author(note)
        noted[""] = ["Note by %s: %s" % (author, line) for line in noted[""]]
        sections.update({name: noted[name] for name in NOTE_SECTIONS if noted.get(name)})
        chosen.append([note.id, 1.0, "note of that session"])
    # which need not be decisions too; a compacted session is not told its outcome
    outcome = "" if work.own else " ".join(sections.get("Outcome", ()))
    decided = [
        line for line in sections.pop("Decisions", ()) if line[2:].rstrip(" .…") not in outcome
    ]
    if not work.own:
        decided += handoffs.find_earlier_refusals(index, record)
    if decided:
        sections["Decisions"] = decided
    later = _format_later_outcome(work.later)
    if later:
        sections["Outcome"] = sections.get("Outcome", []) + later
    return sections


def _add_other_decisions(index: Index, record: Any, budget: fence.Budget) -> None:
    """Add other sessions' decisions about the current files, newest first."""
    own = handoffs.read_sections(record).get("Done", ())
    quoted = [name for line in own for name in line.split("`")[1::2]]  # what backticks enclose
    paths = [name for name in quoted if "." in name][:NEAR_FILES]
    lines: dict[str, None] = {}
    for name in dict.fromkeys(path.rpartition("/")[2] for path in paths):
        for id, decision in _find_decisions_about(index, name, record):
            text = handoffs.clip_at_clause(decision[2:], OTHER_UNITS)
            lines["- [%s] %s" % (fence.clean_line(id, 64), text)] = None
            budget.chosen.append([id, 1.0, "decided about a file at hand"])
    if lines and budget.take("Other sessions decided about these files:"):
        for line in list(lines)[:NEAR_LINES]:
            budget.take(line)


def _find_decisions_about(index: Index, name: str, record: Any) -> Iterator[tuple[str, str]]:
    """Yield (id, decision about a file) of other sessions, newest first."""
    docs = map(index.doc, sorted(index.holding(name.lower()))[-NEAR_DOCS:])
    wholes = [doc for doc in docs if doc.kind in ("checkpoint", "note") and doc.ordinal == 0]
    wholes.sort(key=lambda doc: -doc.created)
    for other in indexview.reread(index, wholes):
        same = other.meta.get("session") == record.meta.get("session")
        if same or handoffs.is_from_elsewhere(index.place, other):
            continue
        decisions = handoffs.read_sections(other).get("Decisions", ())
        decision = next((line for line in decisions if name in line), "")
        if decision:
            yield other.id, decision


def _format_later_outcome(record: Any) -> list[str]:
    """Return a line on the session's later outcome on another branch."""
    if record is None:
        return []
    return [
        "- later in that session, on branch %s [%s]%s: %s"
        % (
            fence.clean_branch(record) or "none",
            fence.clean_id(record),
            fence.format_origin(record),
            line[2:],
        )
        for line in handoffs.read_sections(record).get("Outcome", [])[:1]
    ]


def _is_own_branch(work: handoffs.EarlierWork) -> bool:
    return not work.branch or work.record.meta.get("branch") == work.branch


def _format_age_line(work: handoffs.EarlierWork, now: float) -> str:
    """Return a line with the branch and age of the checkpoint shown."""
    if work.own:
        return "This session before its compaction; its summary may lack this:"
    then, today = (at + clock.local_offset(at) for at in (work.record.created, now))
    days = int(today // clock.DAY - then // clock.DAY) if now else -1
    when = {0: ", today", 1: ", yesterday"}.get(days, ", %d days ago" % days)
    when = when if days >= 0 else ""
    branch = fence.clean_branch(work.record)
    branch = " on branch " + branch if branch else ""
    if _is_own_branch(work):
        return "The newest work%s%s:" % (branch, when)
    return "The newest work is%s%s; none on %s yet:" % (
        branch or " on no branch",
        when,
        fence.clean_line(work.branch, 80),
    )


def _fit_sections(parts: dict[str, list[str]], names: Sequence[str], room: int) -> list[str]:
    """Return sections as lines in at most `room` bytes.

    Where they do not fit, every long line is cut at a word, and the last lines of the longest
    sections are only counted.
    """
    most = fence.NO_LIMIT
    if sum(_count_bytes(parts[name]) for name in names) > room - SHORT_BYTES * len(names):
        counts = [len(parts[name]) for name in names]
        most = max(1, _compute_size_cap(counts, room // SHORT_BYTES - 2 * len(names)))
    lines: list[str] = []
    for name in names:
        section = parts[name]
        lines += (["### " + name] if name else []) + section[:most]
        if len(section) > most:
            lines.append("(%d more)" % (len(section) - most))
    cap = _compute_size_cap([fence.count_bytes(line) for line in lines], room - len(lines))
    return [fence.clip_bytes(line, cap) for line in lines]


def _compute_size_cap(sizes: Sequence[int], room: int) -> int:
    """Return the greatest size such that all sizes, cut to it, fit in `room`."""
    for at, size in enumerate(sorted(sizes)):
        cap = room // (len(sizes) - at)
        if size > cap:
            return cap
        room -= size
    return fence.NO_LIMIT


def _select_fitting_lines(parts: dict[str, list[str]], room: int) -> list[str]:
    """Return as many section lines as fit in `room` bytes."""
    selected: list[str] = []
    for name, lines in parts.items():
        latest = name == "Turns"
        title = "### %s (the newest of %d)" % (name, len(lines)) if latest else "### " + name
        left = room - _count_bytes((title,))
        kept = _select_newest_turns(lines, left) if latest else _select_lines(lines, left)
        if kept:
            selected += [title if len(kept) < len(lines) else "### " + name, *kept]
            room = left - _count_bytes(kept)
    return selected


def _select_lines(lines: list[str], left: int) -> list[str]:
    kept = []
    for line in lines:
        size = fence.count_bytes(line) + 1
        if size <= left:
            kept.append(line)
            left -= size
    return kept


def _select_newest_turns(lines: list[str], left: int) -> list[str]:
    """Return the newest turns' lines that fit in `left` bytes, in their order."""
    kept: list[str] = []
    for line in reversed(_shorten_older_turns(lines, left)):
        line = fence.clip_bytes(line, left - 1) if left > CUT_BYTES else line
        size = fence.count_bytes(line) + 1
        if size > left:
            break
        kept.append(line)
        left -= size
    return kept[::-1]


def _shorten_older_turns(lines: list[str], room: int) -> list[str]:
    """Return turns' lines; the oldest lose their outcomes until all fit."""
    over = _count_bytes(lines) - room
    shortened = list(lines)
    for at, line in enumerate(lines[:-1]):
        if over <= 0:
            break
        shortened[at] = line.partition(" → ")[0]
        over -= fence.count_bytes(line) - fence.count_bytes(shortened[at])
    return shortened


def _format_headline(index: Index) -> str:
    count = announcements.format_count
    if index.unread:  # no index yet: some of the files were read
        total = count(index.records + index.unread, "record")
        return "Memory of %s: %s, of which %d were read." % (index.place.key, total, index.records)
    counts = (count(index.learnings, "learning"), count(index.records, "record"))
    return "Memory of %s: %s in %s." % (index.place.key, *counts)


def _add_all_learnings(
    index: Index,
    strategy: Strategy,
    learnings: Sequence[Any],
    misled: frozenset[str],
    budget: fence.Budget,
) -> None:
    """Add the learnings in full, then the titles of those without room."""
    left_out = []
    for record, mark in _read_fresh_first(index, learnings):
        if not record.accepted:
            continue
        text = fence.format_record(record, fence.NO_LIMIT, "", record.id in misled, mark)
        if budget.take(text):
            budget.chosen.append([record.id, 1.0, strategy.name])
        else:
            left_out.append("- %s (did not fit)" % _format_title(record))
    for line in left_out:
        budget.take(line)


def _format_day(record: Record) -> str:
    return clock.format_local_day(record.created)


def _format_title(record: Any) -> str:
    return "[%s] %s" % (fence.clean_id(record), fence.clean_line(record.title, 120))


def _read_fresh_first(index: Index, docs: Sequence[Any]) -> list[tuple[Any, str]]:
    """Re-read documents; return (record, staleness), stale ones last."""
    rows = [(record, index.mark(record)) for record in indexview.reread(index, docs)]
    return sorted(rows, key=lambda row: bool(row[1]))


def _add_overview(
    index: Index, strategy: Strategy, learnings: Sequence[Any], budget: fence.Budget
) -> None:
    """Add the map of topics and the titles of the newest learnings."""
    rows = index.lists("brief").get("topics", [])[: strategy.topics] if strategy.topics else ()
    topics = ["%s (%d)" % (fence.clean_line(str(row[0]), 64), row[1]) for row in rows if row[1]]
    if topics:
        budget.take("Topics: " + ", ".join(topics))
    recent = [
        "- %s (%s%s)" % (_format_title(record), _format_day(record), fence.format_staleness(mark))
        for record, mark in _read_fresh_first(index, learnings[: strategy.newest])
    ]
    if recent:
        budget.take("\n".join(["", "Newest of %d learnings:" % index.learnings, *recent]))
