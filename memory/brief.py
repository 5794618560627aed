"""The brief: what a session's start puts before the model, and what the user must hear once."""

from __future__ import annotations

from memory import clock, context, files, handoff, hookio, jsonio, loader, render, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

    from memory import receipts
    from memory.config import Config
    from memory.index import Index
    from memory.paths import Place
    from memory.records import Record

    Event = Dict[str, Any]
    Chosen = List[List[Any]]

PLAN_UNITS, CHECKPOINT_UNITS, HANDOFF_UNITS = 1200, 1800, 1800
RULES_UNITS = 2500  # at most kept for approved rules that may be in context
ANNOUNCED = "dayleaf_announced"  # key of a hook's event: the user has heard of the shared tier
UNWRITTEN = "dayleaf_unwritten"  # key of a hook's event: the captures whose loss the user has heard of
MOST_ENTRIES, RULE_BYTES = 10_000, 1 << 16  # entries of an unknown shared tier that are counted, bytes of a rule compared
COUNT_UNITS = 96  # kept for the line that counts, whatever it counts: what else fits must not change with it
MOST_HANDOFFS = 8  # checkpoints that are read for the newest one which is no handoff
STALE_DAYS = 14  # days without a change after which a plan is asked about
LEAST_UNITS = 400  # less room than this holds no title of any length
MORE = "More: `dayleaf recall \"words\"` finds, `dayleaf show ID` prints one whole."


def on_session_start(event: Event, env: Dict[str, str], now: float) -> Tuple[Optional[Event], bool]:
    """Answer SessionStart with the brief, and with one line for the user about what failed since the last start."""
    place, settings, path, state = context.opened_session(event, env)
    try:
        block = _answer(event, env, now, place, settings, path, state)
    except Exception as error:
        block = ""
        hookio.note(env, "session_start", error)
    return context.output("SessionStart", block, notices(place, settings, event, now)), True


def _answer(event: Event, env: Dict[str, str], now: float, place: Place, settings: Config, path: str,
            state: receipts.Session) -> str:
    """Return the brief, or "" where the host has it or does not want it, and write its receipt."""
    source = event.get("source") if isinstance(event.get("source"), str) else "startup"
    wanted = settings["load.enabled"] and settings["load.session"] and not state.off
    shown: Chosen = []
    block, name, candidates, saved = "", "", 0, 0
    if wanted and (source != "resume" or settings["load.resume"]):
        note = None if event.get("agent_id") else handoff.current(place)
        found, (block, shown) = context.consult(place, event, env, "session_start index",
                                                lambda found: brief(found, settings, note, now))
        name = loader.strategy(found.learnings, found.learning_tokens, settings)
        candidates, saved = found.learnings, max(0, found.learning_tokens - text.count_tokens(block))
    tag = context.tag_of(block)
    if source == "resume" and tag == state.brief:
        block, shown = "", []
    if path:
        transcript = event.get("transcript_path")
        context.write_receipt(env, path, {
            "v": 1, "t": clock.iso(now), "event": "start", "source": source,
            "transcript": transcript if isinstance(transcript, str) else "", "brief": tag, "strategy": name,
            "candidates": candidates, "chosen": shown, "chars": text.utf16(block), "tokens": text.count_tokens(block),
            "ms": context.elapsed_ms(now), "saved": saved})
    return block


def brief(found: Index, settings: Config, note: Any = None, now: float = 0.0) -> Tuple[str, Chosen]:
    """Return (the block of a session's start, what it shows as [id, score, reason]); ("", []) where there is nothing.

    note: the handoff to show first, or None.  now: seconds since the epoch; 0 asks about no plan, however old.
    """
    units = settings["load.sessionChars"]
    budget = render.Budget(units - render.overhead("brief") - text.utf16(MORE) - 1)
    chosen: Chosen = []
    misled = loader.misled(found.place)
    learnings = sorted(found.listed("learnings"), key=lambda doc: doc.id in misled)
    name = loader.strategy(found.learnings, found.learning_tokens, settings)
    budget.take(_headline(found))
    about, rules = _rules(found, settings, note, learnings if name == loader.LOAD_ALL else ())
    held = min(RULES_UNITS, sum(text.utf16(context.item(r, context.ITEM_UNITS)) + 1 for r in rules) + context.LEAST_UNITS)
    held = held if rules else 0
    budget.left -= held
    counted = _handoff(found, note, budget, chosen)
    asked = _plan(found, now, budget, chosen)
    _work(found, note if counted else None, budget, chosen)
    if name == loader.LOAD_ALL:
        _all(found, learnings, misled, budget, chosen)
    else:
        _overview(found, name, learnings, budget)
    budget.left += held
    if rules:
        from memory import inforce

        context.add_rules(inforce.in_context(rules, about, {c[0] for c in chosen}), budget, chosen, found.mark)
    if len(budget.lines) < 2:
        return "", []
    return render.block("brief", [*budget.lines, MORE], budget.rules, (counted, asked)), chosen


def _rules(found: Index, settings: Config, note: Any, learnings: Sequence[Any]) -> Tuple[Any, List[Any]]:
    """Return (the context of a start, the approved rules that may be in it): by a tag of the place, or by a link to the
    handoff or to what may be shown of the lists and `learnings`; (None, []) where there are none."""
    if not settings["load.rules"] or not found.has_rules:
        return None, []
    from memory import inforce

    about = inforce.context_of(found.place, "", "", settings)
    likely = {doc.id for doc in (*learnings, *found.listed("plans"), *found.listed("checkpoints"))}
    likely |= {note.id} if note else set()
    return about, inforce.approved_rules(found, inforce.near_rules(found, about, likely))


def _handoff(found: Index, note: Any, budget: render.Budget, chosen: Chosen) -> str:
    """Add the handoff and return the line that says how often it was shown, "" where there is none or no room."""
    room = budget.left - COUNT_UNITS - 1
    if note is None or room < LEAST_UNITS:
        return ""
    before = handoff.starts(found.place, note.id)
    counted = "Handoff of %s (%s)" % (clock.day(note.created), "shown at %s before; `dayleaf handoff` replaces it" % (
        _many(before, "start")) if before else "new")
    budget.take(counted)
    budget.left -= COUNT_UNITS - text.utf16(counted)
    budget.take(context.item(note, min(HANDOFF_UNITS, room - 1), mark=found.mark(note)))
    chosen.append([note.id, 1.0, handoff.REASON])
    return counted


def _plan(found: Index, now: float, budget: render.Budget, chosen: Chosen) -> str:
    """Add the active plan and return the line that asks about one untouched for long, "" where there is none."""
    for record in context.reread(found, found.listed("plans")[:4], full=True):
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
    from memory import records

    whole, steps = context.item(record, 1 << 30, mark=mark), records.steps(record.body)
    todo = {line: "- [ ] " + said for line, ticked, said in steps if not ticked}
    if text.utf16(whole) <= units or not todo:
        return context.item(record, units, mark=mark)
    first = "%d of %d steps done, open:\n%s" % (len(steps) - len(todo), len(steps), "\n".join(todo.values()))
    rest = [line for number, line in enumerate(record.body.split("\n")) if number not in todo]
    return context.item(record.replaced(body=first + "\n\n" + "\n".join(rest)), units, mark=mark)


def _work(found: Index, note: Any, budget: render.Budget, chosen: Chosen) -> None:
    """Add the newest checkpoint, but none that the handoff shown was made of, and no other handoff."""
    told = note.derived_from if note else ()
    others = [doc for doc in found.listed("checkpoints") if doc.name != handoff.NAME]
    for record in context.reread(found, others[:MOST_HANDOFFS], full=True):
        if record.id in told:
            break
        if not handoff.is_handoff(record) and budget.take(context.item(record, CHECKPOINT_UNITS, mark=found.mark(record))):
            chosen.append([record.id, 1.0, "newest checkpoint"])
            break


def _headline(found: Index) -> str:
    return "Memory of %s: %s in %s." % (found.place.key, _many(found.learnings, "learning"), _many(found.records, "record"))


def _all(found: Index, learnings: Sequence[Any], misled: frozenset[str], budget: render.Budget, chosen: Chosen) -> None:
    left_out = []
    for record, mark in _fresh_first(found, learnings):
        if record.accepted and budget.take(context.item(record, 1 << 30, "", record.id in misled, mark=mark)):
            chosen.append([record.id, 1.0, "load_all"])
        elif record.accepted:
            left_out.append(record)
    for record in left_out:
        budget.take("- [%s] %s (did not fit)" % (render.line(record.id, 64), render.line(record.title, 120)))


def _fresh_first(found: Index, docs: Sequence[Any]) -> List[Tuple[Any, str]]:
    """Re-read documents; return each record with why it is stale, those that are below the others."""
    return sorted([(record, found.mark(record)) for record in context.reread(found, docs)], key=lambda row: bool(row[1]))


def _overview(found: Index, name: str, learnings: Sequence[Any], budget: render.Budget) -> None:
    rows = found.lists("brief").get("topics", [])
    topics = ["%s (%d)" % (render.line(str(row[0]), 64), row[1]) for row in rows[:24] if row[1]]
    if topics and name == loader.TOPIC_FILTER:
        budget.take("Topics: " + ", ".join(topics))
    recent = ["- [%s] %s (%s%s)" % (render.line(r.id, 64), render.line(r.title, 120), clock.day(r.created), context.marked(mark))
              for r, mark in _fresh_first(found, learnings[:7])]
    if recent:
        budget.take("\n".join(["", "Newest of %d learnings:" % found.learnings, *recent]))


def notices(place: Place, settings: Config, event: Event, now: float) -> str:
    """Return what the user must hear once at a session's start: failures since the last, settings that are off, records and
    rules by others."""
    lines = list(settings.problems[:3])
    try:
        lines += announcement(place, event)
    except (OSError, ValueError):
        pass
    lines += unwritten(place, event, now)
    failures = unsaid(place.home)
    if failures:
        last = failures[-1]
        lines.append("%s since the last session (%s: %s %s); `dayleaf doctor` tells more" % (
            _many(len(failures), "failure"), last.get("where"), last.get("error"),
            last.get("detail") or last.get("at") or ""))
    if not files.exists(place.home + "/runtime/bin/python") and settings["runtime.auto"]:
        lines.append("setting up the runtime in the background (recall and distill need it); capture and load work meanwhile")
    return "dayleaf: " + "\ndayleaf: ".join(lines) if lines else ""


def unsaid(home: str) -> List[Dict[str, Any]]:
    """Return the failures that no session start has said yet; the worker after it moves the mark."""
    try:
        mark = int(files.read(home + "/log/said", 32) or b"0")
    except (OSError, ValueError):
        mark = 0
    try:
        data = files.read(home + "/log/errors.jsonl", 1 << 20)
    except OSError:
        return []
    return jsonio.rows(data[mark if mark <= len(data) else 0:])[-50:]


def unwritten(place: Place, event: Event, now: float) -> List[str]:
    """Return the line about captures that were cut short and that the user has not heard of; the worker marks them as said.

    attempts.py describes the log; where every capture came to its end, its lines are only counted.
    """
    try:
        data = files.read(place.home + "/log/captures/" + place.key + ".jsonl", 1 << 20)
    except OSError:
        return []
    if data.count(b'"do":"asked"') <= data.count(b'"do":"done"') + data.count(b'"do":"said"'):
        return []
    from memory import attempts

    cut = [row for row in attempts.unfinished(place, now) if not row["said"]]
    if not cut:
        return []
    event[UNWRITTEN] = [row["run"] for row in cut]
    at = clock.parse(str(cut[-1].get("t"))) or now
    said = clock.iso(at + clock.local_offset(at))
    when = said[11:16] if said[:10] == clock.day(now + clock.local_offset(now)) else said[:16].replace("T", " ")
    others = " and %s before it" % _many(len(cut) - 1, "other") if len(cut) > 1 else ""
    return ["the session of %s%s left no checkpoint; it is captured again, `dayleaf doctor` tells more" % (when, others)]


def announcement(place: Place, event: Event) -> List[str]:
    """Return the line that announces the shared tier, none where the user has heard it; the worker marks it as said.

    review.py describes the mark.
    """
    if not files.is_folder(place.shared) or event.get("agent_id"):
        return []
    try:
        words = files.read(place.cache + "/" + place.scope + ".review", 96).split()[:5]
    except OSError:
        words = []
    if len(words) == 5 and words[0] == b"2":
        said, records, rules, scripts = (int(word) for word in words[1:])
    else:
        said, (records, rules, scripts) = 0, _counted(place)
    if said or not records:
        return []
    event[ANNOUNCED] = True
    line = _many(records, "record") + " by others"
    waiting = " and ".join(_many(count, what) for count, what in ((rules, "rule"), (scripts, "script")) if count)
    if not waiting:
        return [line + ": notes to check, none of them waits for review"]
    return ["%s; %s %s for review: `dayleaf review`" % (line, waiting, "waits" if rules + scripts == 1 else "wait")]


def _many(count: int, what: str) -> str:
    return "%d %s%s" % (count, what, "" if count == 1 else "s")


def _counted(place: Place) -> Tuple[int, int, int]:
    """Count (records, rules, scripts without a decision) of a shared tier that no worker has read yet, file by file."""
    from memory import trust
    from memory.paths import FOLDERS
    from memory.walk import is_record

    decisions = trust.decisions(place.home)
    decided = {key[2] for key in decisions if key[0] == place.key}
    named = {key[1] for key in decisions if key[0] == trust.SCRIPT + place.key}
    records = rules = scripts = seen = 0
    folders = [place.shared + "/" + folder for folder in FOLDERS.values()]
    while folders and seen < MOST_ENTRIES:
        folder = folders.pop()
        inside = files.is_folder(folder) and files.inside(folder, place.root)
        for entry in files.posix.scandir(folder) if inside else ():
            seen += 1
            if entry.is_dir(follow_symlinks=False) and entry.name[0] != ".":
                folders.append(entry.path)
            elif is_record(entry.name) and entry.is_file(follow_symlinks=False):
                records += 1
                rules += (entry.path.startswith(place.shared + "/rules/")
                          and files.sha256(files.read(entry.path, RULE_BYTES, follow=False)) not in decided)
                scripts += entry.path.startswith(place.shared + "/resources/") and _is_new_script(entry.path, named)
    return records, rules, scripts


def _is_new_script(path: str, decided: Set[str]) -> bool:
    """Tell whether a record's file is of a script, and of one whose id is not among those that were decided on."""
    from memory import records

    record = records.from_bytes("s/resources/x.md", files.read(path, RULE_BYTES, follow=False), 0.0, False)
    return str(record.meta.get("type", "")).strip().lower() == "script" and record.id not in decided
