"""The past in lines: what the model was given (why, load, status), what sessions did (fix, how,
blame, friction).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice, zip_longest
from typing import Any, Callable

from memory.core import clock
from memory.core.plaintext import clip_columns, format_age, format_count, one_line, strip_hidden
from memory.hook import receipts
from memory.hook.strategies import strategy_by_name
from memory.session import commandline
from memory.terminal import screen
from memory.terminal.screen import Style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.knowledge.history import PastSession, Touch
    from memory.knowledge.practice import InvocationShape
    from memory.knowledge.remedies import FailureAftermath, Met
    from memory.knowledge.walls import RepeatedFailure
    from memory.recall.hit import Hit

MOMENT = {
    "start": "at a session's start",
    "first": "at a session's first prompt",
    "reset": "at the first prompt after a clear or compaction",
    "later": "at later prompts",
    "wall": "at failed calls",
    "agent": "with subagents' prompts",
}
HOW = {  # by the loader's strategy
    "load_all": "each session's brief gets every learning that fits",
    "index_filter": "each prompt gets the nearest of them",
    "topic_filter": "each prompt gets the nearest within its topics",
}
PROMPT = {"first": ", the session's first", "reset": ", the first after a clear or compaction"}
PROMPTS = ("prompt", "agent")  # receipts of a prompt: a person's, a subagent's
NEAREST = 3  # records below the threshold
HEADING = 160  # columns of an error's line
LABEL = 12  # columns before a line's text
LONG = 320  # characters of a command or a quote; longer than a terminal's line, to be copied
REMEDIES = 5  # occurrences of an error
LISTED = 10  # invocations, sessions or walls
BRIEFED = 8000  # characters of a command that are read
EMPTY = 'no record fits; `dayleaf learn "…"` keeps what you find out'
# A quoted text of over 60 characters: (quote, its first 60, the rest of at most 400).
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\\n]){60})(?:\\.|(?!\1)[^\\\n]){0,400}\1""")


# --- what reached the model


def switched_off_lines(found: list[dict[str, str]], what: str = "pushes") -> list[str]:
    """List the places where a feature is switched off."""
    return [one_line("%s: off %s; %s" % (what, one["where"], one["remedy"])) for one in found]


def push_lines(value: dict[str, Any], now: float, style: Style | None = None) -> list[str]:
    """Format the records that each event gave to the model."""
    if not value["session"]:
        return ["dayleaf has told Claude nothing in this project yet"]
    out = ["session " + value["session"]]
    several, empty = len(value["events"]) > 1, []
    for event in value["events"]:
        if several and event["event"] in PROMPTS and not event["chosen"]:
            empty.append(event)
        else:
            out += ["", *_format_event(event, now, style)]
    if empty:
        out += ["", *_format_empty(empty)]
    moments = moment_lines(value["moments"]) if several else []
    return [*out, "", *("  " + line for line in moments)] if moments else out


def _format_empty(events: list[dict[str, Any]]) -> list[str]:
    """Say how many prompts got nothing, and what came nearest."""
    kinds = [event["event"] for event in events]
    counts = ((kinds.count(event), noun) for event, noun in zip(PROMPTS, ("prompt", "subagent")))
    named = " and ".join(format_count(*count) for count in counts if count[0])
    # the best of each record
    near = {id: score for score, id in sorted(chain.from_iterable(map(_list_near_misses, events)))}
    best = sorted(((score, id) for id, score in near.items()), reverse=True)[:NEAREST]
    lines = ["%s got nothing" % named]
    if best:
        lines.append(
            "  nearest, but not near enough: " + "  ".join("%.2f %s" % one for one in best)
        )
    return lines


def moment_lines(found: list[dict[str, Any]]) -> list[str]:
    """Format how many records were given and used, by moment of a session."""
    lines = []
    for moment in found:
        line = "%s: %d given" % (MOMENT[moment["moment"]], moment["pushed"])
        if moment["used"] is not None:
            line += ", %d used" % moment["used"]
        if moment["moment"] != "wall":
            line += "; %d of %d got something" % (moment["given"], moment["times"])
        lines.append(line)
    return lines


def _list_near_misses(event: dict[str, Any]) -> list[tuple[float, str]]:
    """List (score, id) of the records below an event's threshold."""
    below = event.get("below")
    return [
        (_as_float(item[1]), one_line(str(item[0])))
        for item in (below if isinstance(below, list) else [])
        if isinstance(item, list) and len(item) == 2
    ]


def _format_omitted(event: dict[str, Any]) -> list[str]:
    """Say what an event did not give, and why."""
    lines: list[str] = []
    unfit = event.get("unfit")
    if isinstance(unfit, list) and unfit:
        lines.append("  did not fit: " + one_line(", ".join(map(str, unfit))))
    lines += ["  not near enough: %.2f %s" % one for one in _list_near_misses(event)]
    if event.get("stale") is True:
        lines.append("  the index was older than the files")
    unread = _int(event, "unread")
    if unread > 0:
        lines.append("  %s not searched, because there is no index" % format_count(unread, "file"))
    return lines


def _format_event(event: dict[str, Any], now: float, style: Style | None) -> list[str]:
    kind, asked = event["event"], event.get("prompt") or event.get("query")
    what = {
        "start": "start (%s)" % event.get("source"),
        "agent": "subagent of prompt %s" % asked,
        "prompt": "prompt %s%s" % (asked, PROMPT.get(event.get("moment", ""), "")),
        "wall": "failed call of %s, which another session met too" % event.get("tool"),
        "off": "switched off",
        "on": "switched on",
    }.get(kind, str(kind))
    instant = clock.parse(str(event.get("t"))) or now
    head = "%s  %s" % (clock.format_zoned(instant), one_line(what))
    if kind not in ("start", "wall", *PROMPTS):
        return [head]
    compared, characters = _int(event, "candidates"), _int(event, "chars")
    head += "  "
    if compared:
        head += format_count(compared, "record") + " compared, "
    head += "%s, %s ms" % (format_count(characters, "character"), _int(event, "ms"))
    if event.get("lost"):
        head += "; it did not reach the model"
    rows = [
        [
            _format_score(_as_float(record["score"])),
            one_line(record["id"]),
            one_line(record["title"]) or "(no longer there)",
            _format_reason(record["reason"]) + ", then used" * bool(record["used"]),
        ]
        for record in event["chosen"]
    ]
    none = "  counts and titles only" if characters else "  nothing"
    table = screen.format_table(rows, "  ", (0,), style, 2) or [none]
    return [head, *table, *_format_omitted(event)]


def _format_score(score: float) -> str:
    """Return a score, "" for the 1.0 of what is given without one."""
    return "" if score == 1.0 else "%.2f" % score


def _format_reason(reason: str) -> str:
    if reason == receipts.TITLE_REASON:
        return "only its title: from another session"
    return "every session gets it" if reason == "load_all" else one_line(reason)


def _int(event: dict[str, Any], key: str) -> int:
    return int(_as_float(event.get(key)))


def _as_float(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def load_lines(value: dict[str, Any], explain: bool, style: Style | None = None) -> list[str]:
    """Format what a prompt would get; `explain` adds every record compared."""
    out = [_format_learnings(value), *switched_off_lines(value["off"])]
    if not value["enabled"] and not value["off"]:
        out.append("prompts get nothing: load.prompt is false (`dayleaf config list`)")
    given = sum(pick["reason"] == value["strategy"] for pick in value["picks"])
    summary = strategy_by_name(value["strategy"]).describe(given, value["learnings"])
    if summary and not value["off"]:
        out.append(summary)
    out += _format_chosen(value, given, style)
    if value["didNotFit"]:
        out += ["", "did not fit:"]
        out += [
            "  %s  %s" % (record["id"], one_line(record["title"])) for record in value["didNotFit"]
        ]
    if value["below"]:
        head = "sessions that come near, but not near enough (load.push is %s):" % value["push"]
        out += ["", head, *_format_relevance(value["below"], lambda record: [], style)]
    if value["picks"]:
        more = f"; all learnings would take {value['saved']:,} more" if value["saved"] else ""
        characters = format_count(value["characters"], "character")
        out += ["", "the whole block: %s, %s tokens%s" % (characters, value["tokens"], more)]
    return out + _format_compared(value, style) if explain else out


def _format_relevance(
    records: list[dict[str, Any]],
    cells: Callable[[dict[str, Any]], list[str]],
    style: Style | None,
) -> list[str]:
    """Format a table of records: relevance, id, title, then `cells`."""
    rows = [
        [_format_score(row["relevance"]), row["id"], one_line(row["title"]), *cells(row)]
        for row in records
    ]
    return screen.format_table(rows, "  ", (0,), style, 2)


def _format_learnings(value: dict[str, Any]) -> str:
    category = "; this prompt's is %s" % value["category"] if value["category"] else ""
    if not value["learnings"]:
        return "no accepted learnings yet" + category
    how = HOW.get(value["strategy"], value["strategy"])
    known = format_count(value["learnings"], "learning")
    return "{}, {:,} tokens: {}{}".format(known, value["learningTokens"], how, category)


def _format_chosen(value: dict[str, Any], given: int, style: Style | None) -> list[str]:
    picks = value["picks"]
    if not picks:
        known = value["learnings"] or value["below"]
        why = "nothing in this memory comes near enough" if known else EMPTY
        return ["this prompt gets nothing: " + why]
    head = "given"
    if not value["enabled"] or value["off"]:
        head = "given once switched on"
    elif given == len(picks) and value["strategy"] == "load_all":
        # what every start gives is not given again with this prompt
        head = "given at the session's start"
    table = _format_relevance(picks, lambda record: [_format_reason(record["reason"])], style)
    return ["", "%s (%s):" % (head, format_count(len(picks), "record")), *table]


def _format_compared(value: dict[str, Any], style: Style | None) -> list[str]:
    """Format the records compared, and the block that the prompt gets."""
    out, compared = [], value["considered"]
    if compared:
        head = "compared (the best %d; %.2f is near enough):" % (len(compared), value["threshold"])
        out += ["", head, *_format_relevance(compared, _format_terms, style)]
    if value["block"]:
        out += ["", strip_hidden(value["block"])]
    return out


def _format_terms(record: dict[str, Any]) -> list[str]:
    terms = ("%s %.2f" % (one_line(term), part) for term, part in record["terms"].items())
    return [record["leftOut"] or "chosen", "  ".join(terms)]


# --- what sessions did


def remedy_lines(answer: Sequence[Met], style: Style, offset: clock.Offset) -> list[str]:
    """Format what helped against an error before, newest first."""
    if not answer:
        return ["no call here has failed like that before"]
    # the first of each error line, then the second of each …
    in_turn = chain.from_iterable(zip_longest(*(found for _, found in answer)))
    shown = set(map(id, islice(filter(None, in_turn), REMEDIES)))
    out: list[str] = []
    for line, found in answer:
        here = [met for met in found if id(met) in shown]
        if here:
            sessions = format_count(len({met.past.session for met in found}), "session")
            head = style.bold(clip_columns(one_line(line), HEADING)) + style.dim("  " + sessions)
            out += [""] * bool(out) + [head]
            out += [row for met in here for row in _format_occurrence(met, style, offset)]
    left = sum(len(found) for _, found in answer) - len(shown)
    return out + (["", style.dim(_more(left, "occurrence"))] if left else [])


def _more(rest: int, noun: str) -> str:
    return "%s; `--json` has all" % format_count(rest, "more " + noun)


def nearest_lines(hits: Sequence[Hit], style: Style) -> list[str]:
    """Format the records most similar to an error, one per line."""
    rows = []
    for hit in hits:
        quote, title = one_line(hit.quotes[0].text if hit.quotes else ""), one_line(hit.title, 50)
        head = "" if quote.startswith(title.rstrip("…")) else title + ": "
        rows.append("  %s  %s%s" % (hit.id, head, clip_columns(quote, 100)))
    return ["", style.bold("nearest, from recall"), *rows] if rows else []


def _format_head(
    at: float, where: str, past: PastSession, style: Style, offset: clock.Offset
) -> str:
    place = one_line(", ".join(filter(None, (past.branch, past.workspace))))
    when = clock.iso(at + offset(at))[:16].replace("T", " ")
    aside = style.dim("  (%s)" % place) if place else ""
    return style.dim("  %s  %s  " % (when, where)) + one_line(past.title, 70) + aside


def _label_rows(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [
        ("    %-*s" % (LABEL - 2, label)) + one_line(text, LONG) for label, text in pairs if text
    ]


def _format_occurrence(met: FailureAftermath, style: Style, offset: clock.Offset) -> list[str]:
    """Format a failed call, the attempts after it and the success."""
    failed = (met.tool + " " if met.tool else "") + _quote_command(met.ran)
    facts = [("failed", failed + (": " + met.telling if met.telling else ""))]
    edited = _join_files(met.edits)
    after = " after editing " + edited if edited else ""
    if met.passed == met.ran:
        facts.append(("passed", "the same call" + after))
    else:
        facts.append(("tried", "; ".join(map(_quote_command, met.did))))
        facts.append(("worked", _quote_command(met.passed) + after if met.passed else ""))
    facts.append(("changed", "; ".join("to `%s`" % line for line in met.changed)))
    if not met.passed:
        facts += [("edited", edited), ("outcome", met.outcome)]
    facts.append(("commit", met.commit))
    return [_format_head(met.at, met.where, met.past, style, offset), *_label_rows(facts)]


def _quote_command(command: str) -> str:
    return "`%s`" % shorten_command(command)


def shorten_command(command: str, most: int = 200) -> str:
    """Shorten a command: cut its long quoted texts but commands, then the whole."""
    short = command[:BRIEFED]
    if not commandline.is_remote(short):
        short = _QUOTED.sub(lambda text: text[1] + text[2][:40].rstrip() + "…" + text[1], short)
    return one_line(short, most)


def _join_files(files: Sequence[str]) -> str:
    return ", ".join(files[:4]) + (" and %d more" % (len(files) - 4) if len(files) > 4 else "")


def invocation_lines(
    found: Sequence[InvocationShape], tool: str, style: Style, now: float
) -> list[str]:
    """Format a tool's successful calls, one per line."""
    if not found:
        line = "no session here holds a successful call of `%s`" % one_line(tool)
        if tool.lower() == "bash":
            line += "; of shell commands, name the program, such as `git`"
        return [line]
    out = []
    for shape in found[:LISTED]:
        age = format_age(max(0.0, now - shape.last))
        times = format_count(shape.times, "time")
        sessions = format_count(shape.sessions, "session")
        usage = "  worked %s in %s, latest %s ago in %s" % (times, sessions, age, shape.where)
        out.append(shorten_command(shape.example) + style.dim(usage))
    return out + _rest_line(found, "form", style)


def _rest_line(found: Sequence[object], noun: str, style: Style) -> list[str]:
    rest = len(found) - LISTED
    return [style.dim(_more(rest, noun))] if rest > 0 else []


def touch_lines(found: Sequence[Touch], path: str, style: Style, offset: clock.Offset) -> list[str]:
    """Format the sessions about a file: requests, decisions, commits."""
    if not found:
        return ["no session here touched or discussed `%s`" % one_line(path)]
    out = []
    for touch in found[:LISTED]:
        out.append(_format_head(touch.at, touch.past.id, touch.past, style, offset))
        out += _label_lines(touch.how, [_turn_request(*row) for row in touch.requests[:2]])
        out += _label_lines("decided", ["“%s”" % quote for _, quote in touch.decisions[:3]])
        out += _label_lines("commit", touch.commits[:3])
    return out + _rest_line(found, "session", style)


def _label_lines(label: str, lines: Sequence[str]) -> list[str]:
    return _label_rows([("" if i else label, line) for i, line in enumerate(lines)])


def _turn_request(ref: str, request: str) -> str:
    if "#" not in ref:  # ID, not ID#TURN
        return "in this session"
    return "#%s %s" % (ref.rpartition("#")[2], one_line(request, 160))


def wall_lines(met: Sequence[RepeatedFailure], style: Style, offset: clock.Offset) -> list[str]:
    """Format the errors that several sessions met, with their remedies."""
    if not met:
        return ["no error here was met by several sessions"]
    out: list[str] = []
    for wall in met[:LISTED]:
        out += [""] * bool(out) + [style.bold(one_line(wall.telling, LONG))]
        sessions, times = format_count(wall.sessions, "session"), format_count(wall.times, "time")
        day = clock.day(wall.last + offset(wall.last))
        seen = "  %s, %s, last on %s in %s" % (sessions, times, day, wall.where[0])
        out.append("  %s%s" % (shorten_command(wall.path or wall.ran, 120), style.dim(seen)))
        facts = [("worked", wall.worked and _quote_command(wall.worked)), ("line", wall.line)]
        out += _label_rows(facts if wall.line else [*facts, ("learning", wall.learning)])
    rest = _rest_line(met, "wall", style)
    return [*out, "", *rest] if rest else out
