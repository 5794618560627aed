"""The brief: what a session's start puts before the model."""

from __future__ import annotations

from memory.core import boundary, clock, files, tokeniser
from memory.hook import at_prompt, fence, handoffs, loader, signs, strategies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.hook import receipts
    from memory.hook.indexview import Index
    from memory.hook.strategies import Strategy

    Event = Dict[str, Any]
    Chosen = List[List[Any]]

PLAN_UNITS, CHECKPOINT_UNITS, HANDOFF_UNITS = 1200, 1800, 1800
RULES_UNITS = 2500  # at most kept for approved rules that may be in context
COUNT_UNITS = 96  # kept for the line that counts, whatever it counts: what else fits must not change with it
MOST_HANDOFFS = 8  # checkpoints that are read for the newest one which is no handoff
STALE_DAYS = 14  # days without a change after which a plan is asked about
LEAST_UNITS = 400  # less room than this holds no title of any length
MORE = "More: `dayleaf recall \"words\"` finds, `dayleaf show ID` prints one whole."


def on_session_start(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer SessionStart with the brief, and with one line for the user about what failed since the last start."""
    place, settings, path, state = at_prompt.opened_session(event, env)
    try:
        block = _answer(event, env, now, place, settings, path, state)
    except Exception as error:
        block = ""
        boundary.note(env, "session_start", error)
    return at_prompt.output("SessionStart", block, signs.notices(place, settings, event, now)), True


def _answer(event: Event, env: Dict[str, str], now: float, place: Place, settings: Config, path: str,
            state: receipts.Session) -> str:
    """Return the brief, or "" where the host has it or does not want it, and write its receipt."""
    source = event.get("source") if isinstance(event.get("source"), str) else "startup"
    wanted = settings["load.enabled"] and settings["load.session"] and not state.off
    shown: Chosen = []
    block, name, candidates, saved = "", "", 0, 0
    if wanted and (source != "resume" or settings["load.resume"]):
        note = None if event.get("agent_id") else handoffs.current(place)
        found, (block, shown) = at_prompt.consult(place, event, env, "session_start index",
                                                lambda found: brief(found, settings, note, now))
        name = strategies.suited(found.learnings, found.learning_tokens, settings).name
        candidates, saved = found.learnings, max(0, found.learning_tokens - tokeniser.count_tokens(block))
    tag = at_prompt.tag_of(block)
    if source == "resume" and tag == state.brief:
        block, shown = "", []
    if path:
        transcript = event.get("transcript_path")
        at_prompt.write_receipt(env, path, {
            "v": 1, "t": clock.iso(now), "event": "start", "source": source,
            "transcript": transcript if isinstance(transcript, str) else "", "brief": tag, "strategy": name,
            "candidates": candidates, "chosen": shown, "chars": tokeniser.utf16(block), "tokens": tokeniser.count_tokens(block),
            "ms": at_prompt.elapsed_ms(now), "saved": saved})
    return block


def brief(found: Index, settings: Config, note: Any = None, now: float = 0.0) -> Tuple[str, Chosen]:
    """Return (the block of a session's start, what it shows as [id, score, reason]); ("", []) where there is nothing.

    note: the handoff to show first, or None.  now: seconds since the epoch; 0 asks about no plan, however old.
    """
    units = settings["load.sessionChars"]
    budget = fence.Budget(units - fence.overhead("brief") - tokeniser.utf16(MORE) - 1)
    chosen: Chosen = []
    misled = loader.misled(found.place)
    learnings = sorted(found.listed("learnings"), key=lambda doc: doc.id in misled)
    strategy = strategies.suited(found.learnings, found.learning_tokens, settings)
    budget.take(_headline(found))
    about, rules = _rules(found, settings, note, learnings if strategy.whole else ())
    shown = sum(tokeniser.utf16(fence.item(rule, fence.ITEM_UNITS)) + 1 for rule in rules)
    held = min(RULES_UNITS, shown + fence.LEAST_UNITS)
    held = held if rules else 0
    budget.left -= held
    counted = _handoff(found, note, budget, chosen)
    asked = _plan(found, now, budget, chosen)
    _work(found, note if counted else None, budget, chosen)
    if strategy.whole:
        _all(found, strategy, learnings, misled, budget, chosen)
    _overview(found, strategy, learnings, budget)
    budget.left += held
    if rules:
        from memory.hook import context

        fence.add_rules(context.in_context(rules, about, {c[0] for c in chosen}), budget, chosen, found.mark)
    if len(budget.lines) < 2:
        return "", []
    return fence.block("brief", [*budget.lines, MORE], budget.rules, (counted, asked)), chosen


def _rules(found: Index, settings: Config, note: Any, learnings: Sequence[Any]) -> Tuple[Any, List[Any]]:
    """Return (the context of a start, the approved rules that may be in it): by a tag of the place, or by a link to the
    handoff or to what may be shown of the lists and `learnings`; (None, []) where there are none."""
    if not settings["load.rules"] or not found.has_rules:
        return None, []
    from memory.hook import context

    about = context.context_of(found.place, "", "", settings)
    likely = {doc.id for doc in (*learnings, *found.listed("plans"), *found.listed("checkpoints"))}
    likely |= {note.id} if note else set()
    return about, context.approved_rules(found, context.near_rules(found, about, likely))


def _handoff(found: Index, note: Any, budget: fence.Budget, chosen: Chosen) -> str:
    """Add the handoff and return the line that says how often it was shown, "" where there is none or no room."""
    room = budget.left - COUNT_UNITS - 1
    if note is None or room < LEAST_UNITS:
        return ""
    before = handoffs.starts(found.place, note.id)
    counted = "Handoff of %s (%s)" % (clock.day(note.created), "shown at %s before; `dayleaf handoff` replaces it" % (
        signs.many(before, "start")) if before else "new")
    budget.take(counted)
    budget.left -= COUNT_UNITS - tokeniser.utf16(counted)
    budget.take(fence.item(note, min(HANDOFF_UNITS, room - 1), mark=found.mark(note)))
    chosen.append([note.id, 1.0, handoffs.REASON])
    return counted


def _plan(found: Index, now: float, budget: fence.Budget, chosen: Chosen) -> str:
    """Add the active plan and return the line that asks about one untouched for long, "" where there is none."""
    for record in fence.reread(found, found.listed("plans")[:4], whole=True):
        if record.kind != "plan" or not record.active:
            continue
        days = int((now - _touched(found.place, record)) // clock.DAY)
        asked = "The plan is untouched for %d days; `dayleaf plan done`, `plan drop` or `plan update`" % days
        asked = asked if days >= STALE_DAYS and budget.left >= LEAST_UNITS and budget.take(asked) else ""
        if budget.left >= LEAST_UNITS and budget.take(_plan_item(record, min(PLAN_UNITS, budget.left - 1), found.mark(record))):
            chosen.append([record.id, 1.0, "active plan"])
        return asked
    return ""


def _touched(place: Place, record: Record) -> float:
    """Return when a record was last changed, as it says or as its file does: seconds since the epoch."""
    try:
        return max(record.updated, float(files.posix.stat(place.path(record.name)).st_mtime))
    except OSError:
        return record.updated


def _plan_item(record: Record, units: int, mark: str) -> str:
    """Write a plan in at most `units` UTF-16 units; where that is too little, its open steps stand first.  mark: see `item`."""
    from memory.core import records

    whole, steps = fence.item(record, 1 << 30, mark=mark), records.steps(record.body)
    todo = {line: "- [ ] " + said for line, ticked, said in steps if not ticked}
    if tokeniser.utf16(whole) <= units or not todo:
        return fence.item(record, units, mark=mark)
    first = "%d of %d steps done, open:\n%s" % (len(steps) - len(todo), len(steps), "\n".join(todo.values()))
    rest = [line for number, line in enumerate(record.body.split("\n")) if number not in todo]
    return fence.item(record.replaced(body=first + "\n\n" + "\n".join(rest)), units, mark=mark)


def _work(found: Index, note: Any, budget: fence.Budget, chosen: Chosen) -> None:
    """Add the newest checkpoint, but none that the handoff shown was made of, and no other handoff."""
    told = note.derived_from if note else ()
    others = [doc for doc in found.listed("checkpoints") if doc.name != handoffs.NAME]
    for record in fence.reread(found, others[:MOST_HANDOFFS], whole=True):
        if record.id in told:
            break
        if not handoffs.is_handoff(record) and budget.take(fence.item(record, CHECKPOINT_UNITS, mark=found.mark(record))):
            chosen.append([record.id, 1.0, "newest checkpoint"])
            break


def _headline(found: Index) -> str:
    counts = signs.many(found.learnings, "learning"), signs.many(found.records, "record")
    return "Memory of %s: %s in %s." % (found.place.key, *counts)


def _all(found: Index, strategy: Strategy, learnings: Sequence[Any], misled: frozenset[str], budget: fence.Budget,
         chosen: Chosen) -> None:
    """Add the learnings in full, then the titles of those that did not fit."""
    left_out = []
    for record, mark in _fresh_first(found, learnings):
        if record.accepted and budget.take(fence.item(record, 1 << 30, "", record.id in misled, mark=mark)):
            chosen.append([record.id, 1.0, strategy.name])
        elif record.accepted:
            left_out.append(record)
    for record in left_out:
        budget.take("- [%s] %s (did not fit)" % (fence.line(record.id, 64), fence.line(record.title, 120)))


def _fresh_first(found: Index, docs: Sequence[Any]) -> List[Tuple[Any, str]]:
    """Re-read documents; return each record with why it is stale, those that are below the others."""
    return sorted([(record, found.mark(record)) for record in fence.reread(found, docs)], key=lambda row: bool(row[1]))


def _overview(found: Index, strategy: Strategy, learnings: Sequence[Any], budget: fence.Budget) -> None:
    """Add the map of topics and the titles of the newest learnings, as many as the strategy shows of each."""
    rows = found.lists("brief").get("topics", [])[:strategy.topics] if strategy.topics else ()
    topics = ["%s (%d)" % (fence.line(str(row[0]), 64), row[1]) for row in rows if row[1]]
    if topics:
        budget.take("Topics: " + ", ".join(topics))
    recent = ["- [%s] %s (%s%s)" % (fence.line(r.id, 64), fence.line(r.title, 120), clock.day(r.created), fence.marked(mark))
              for r, mark in _fresh_first(found, learnings[:strategy.newest])]
    if recent:
        budget.take("\n".join(["", "Newest of %d learnings:" % found.learnings, *recent]))
