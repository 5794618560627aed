"""The past in lines: what the model was given (why, load, status), what sessions did (fix, how,
blame, friction).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from memory.core import clock
from memory.core.plaintext import clip_columns, format_age, format_count, one_line, strip_hidden
from memory.hook import receipts
from memory.hook.strategies import strategy_by_name
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
    "load_all": "each session starts with all of them, if they fit",
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
# A quoted text of over 60 characters: (quote, its first 60, the rest of at most 400).
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\\n]){60})(?:\\.|(?!\1)[^\\\n]){0,400}\1""")


# --- what reached the model


def switched_off_lines(found: list[dict[str, str]], what: str = "pushes") -> list[str]:
    """Return a line for each place where a feature is off."""
    return [one_line("%s: off %s; %s" % (what, one["where"], one["remedy"])) for one in found]


def _format_empty(empty: list[str], near: list[str]) -> list[str]:
    counts = ((empty.count(event), what) for event, what in zip(PROMPTS, ("prompt", "subagent")))
    lines = ["%s got nothing" % " and ".join(format_count(*one) for one in counts if one[0])]
    if near:
        nearest = "  ".join(sorted(near, reverse=True)[:NEAREST])
        lines.append("  nearest, but not near enough: " + nearest)
    return lines


def push_lines(value: dict[str, Any], now: float) -> list[str]:
    """Return `accounts.report_pushes` in lines: the records given at each event."""
    if not value["session"]:
        return ["dayleaf has told Claude nothing in this project yet"]
    out = ["session " + value["session"]]
    empty: list[str] = []
    near: list[str] = []
    for event in value["events"]:
        if event["event"] in PROMPTS and not event["chosen"] and len(value["events"]) > 1:
            empty.append(event["event"])
            near += _list_near_misses(event)
            continue
        out += ["", *_format_event(event, now)]
    if empty:
        out += ["", *_format_empty(empty, near)]
    summary = moment_lines(value["moments"]) if len(value["events"]) > 1 else []
    return [*out, "", *("  " + line for line in summary)] if summary else out


def moment_lines(found: list[dict[str, Any]]) -> list[str]:
    """Return a line per moment of a session: records given, and records used."""
    lines = []
    for one in found:
        used = "" if one["used"] is None else ", %d used" % one["used"]
        times = "; %d of %d got something" % (one["given"], one["times"])
        lines.append(
            "%s: %d given%s%s"
            % (MOMENT[one["moment"]], one["pushed"], used, "" if one["moment"] == "wall" else times)
        )
    return lines


def _list_near_misses(event: dict[str, Any]) -> list[str]:
    """Return (score, id) of the records below an event's threshold, as text."""
    below = event.get("below")
    return [
        "%.2f %s" % (_as_float(item[1]), one_line(str(item[0])))
        for item in (below if isinstance(below, list) else [])
        if isinstance(item, list) and len(item) == 2
    ]


def _format_omitted(event: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    unfit = event.get("unfit")
    if isinstance(unfit, list) and unfit:
        lines.append("  did not fit: " + one_line(", ".join(map(str, unfit))))
    lines += ["  not near enough: " + one for one in _list_near_misses(event)]
    if event.get("stale") is True:
        lines.append("  the index was older than the files")
    unread = _int(event, "unread")
    if unread > 0:
        lines.append("  %s not searched, because there is no index" % format_count(unread, "file"))
    return lines


def _format_event(event: dict[str, Any], now: float) -> list[str]:
    instant = clock.parse(str(event.get("t"))) or now
    asked = event.get("prompt") or event.get("query")
    what = {
        "start": "start (%s)" % event.get("source"),
        "agent": "subagent of prompt %s" % asked,
        "prompt": "prompt %s%s" % (asked, PROMPT.get(event.get("moment", ""), "")),
        "wall": "failed call of %s, which another session met too" % event.get("tool"),
        "off": "switched off",
        "on": "switched on",
    }.get(event["event"], str(event["event"]))
    head = "%s  %s" % (clock.format_zoned(instant), one_line(what))
    if event["event"] not in ("start", "wall", *PROMPTS):
        return [head]
    compared = _int(event, "candidates")
    head += "  %s%s, %s ms" % (
        format_count(compared, "record") + " compared, " if compared else "",
        format_count(_int(event, "chars"), "character"),
        _int(event, "ms"),
    )
    head += "; it did not reach the model" if event.get("lost") else ""
    rows = [
        [
            "%.2f" % _as_float(item["score"]),
            one_line(item["id"]),
            one_line(item["title"]) or "(no longer there)",
            _format_reason(item["reason"]) + (", then used" if item["used"] else ""),
        ]
        for item in event["chosen"]
    ]
    return [
        head,
        *(
            screen.format_table(rows, "  ", (0,))
            or ["  counts and titles only" if _int(event, "chars") else "  nothing"]
        ),
        *_format_omitted(event),
    ]


def _format_reason(reason: str) -> str:
    if reason == receipts.TITLE_REASON:
        return "only its title, because another session wrote it"
    return "every session gets it" if reason == "load_all" else one_line(reason)


def _int(event: dict[str, Any], key: str) -> int:
    return int(_as_float(event.get(key)))


def _as_float(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def load_lines(value: dict[str, Any], explain: bool) -> list[str]:
    """Return `accounts.explain_load` in lines; explain: with every record compared."""
    out = [_format_learnings(value), *switched_off_lines(value["off"])]
    if not value["enabled"] and not value["off"]:
        out.append("prompts get nothing: load.prompt is false (`dayleaf config list`)")
    given = sum(pick["reason"] == value["strategy"] for pick in value["picks"])
    summary = strategy_by_name(value["strategy"]).describe(given, value["learnings"])
    if summary and not value["off"]:
        out.append(summary)
    out += _format_chosen(value, given)
    if value["didNotFit"]:
        out += ["", "did not fit:"] + [
            "  %s  %s" % (one["id"], one_line(one["title"])) for one in value["didNotFit"]
        ]
    if value["below"]:
        rows = [
            ["%.2f" % one["relevance"], one["id"], one_line(one["title"])] for one in value["below"]
        ]
        head = "sessions that come near, but not near enough (load.push is %s):" % value["push"]
        out += ["", head, *screen.format_table(rows, "  ", (0,))]
    if value["picks"]:
        out += ["", _format_size(value)]
    return out + _format_compared(value) if explain else out


def _format_learnings(value: dict[str, Any]) -> str:
    category = "; this prompt's is %s" % value["category"] if value["category"] else ""
    if not value["learnings"]:
        return "no accepted learnings yet" + category
    how = HOW.get(value["strategy"], value["strategy"])
    known = format_count(value["learnings"], "learning")
    return "{}, {:,} tokens: {}{}".format(known, value["learningTokens"], how, category)


def _format_chosen(value: dict[str, Any], given: int) -> list[str]:
    rows = [
        [
            "%.2f" % one["relevance"],
            one["id"],
            one_line(one["title"]),
            _format_reason(one["reason"]),
        ]
        for one in value["picks"]
    ]
    if not rows:
        return ["this prompt gets nothing: " + _explain_nothing(value)]
    head = "given"
    if not value["enabled"] or value["off"]:
        head = "given once switched on"
    elif given == len(rows) and value["strategy"] == "load_all":
        # what every start gives is not given again with this prompt
        head = "given at the session's start"
    return [
        "",
        "%s (%s):" % (head, format_count(len(rows), "record")),
        *screen.format_table(rows, "  ", (0,)),
    ]


def _format_size(value: dict[str, Any]) -> str:
    more = "; all learnings would take {:,} more".format(value["saved"]) if value["saved"] else ""
    characters = format_count(value["characters"], "character")
    return "the whole block: %s, %s tokens%s" % (characters, value["tokens"], more)


def _format_compared(value: dict[str, Any]) -> list[str]:
    out: list[str] = []
    rows = [
        [
            "%.2f" % one["relevance"],
            one["id"],
            one_line(one["title"]),
            one["leftOut"] or "chosen",
            "  ".join("%s %.2f" % (one_line(term), part) for term, part in one["terms"].items()),
        ]
        for one in value["considered"]
    ]
    if rows:
        head = "compared (the best %d; %.2f is near enough):" % (len(rows), value["threshold"])
        out += ["", head, *screen.format_table(rows, "  ", (0,))]
    if value["block"]:
        out += ["", strip_hidden(value["block"])]
    return out


def _explain_nothing(value: dict[str, Any]) -> str:
    if not value["learnings"] and not value["below"]:
        return 'this memory holds nothing for it; `dayleaf learn "…"` keeps what you find out'
    return "nothing in this memory comes near enough"


# --- what sessions did


def remedy_lines(answer: Sequence[Met], style: Style, offset: clock.Offset) -> list[str]:
    """Return earlier remedies of an error in lines, newest first."""
    if not answer:
        return ["nothing here has failed like that before"]
    shown = choose_round_robin(
        [met for _, found in answer for met in found], [len(found) for _, found in answer], REMEDIES
    )
    out: list[str] = []
    left = 0
    for line, found in answer:
        here = [met for met in found if id(met) in shown]
        left += len(found) - len(here)
        if here:
            sessions = len({met.past.session for met in found})
            out += [""] * bool(out)
            out.append(
                style.bold(clip_columns(one_line(line), HEADING))
                + style.dim("  " + format_count(sessions, "session"))
            )
            out += [row for met in here for row in _format_occurrence(met, style, offset)]
    return out + (["", style.dim(_more(left, "occurrence"))] if left else [])


def _more(rest: int, noun: str) -> str:
    return "%s; `--json` has all" % format_count(rest, "more " + noun)


def choose_round_robin(
    met: Sequence[FailureAftermath], sizes: Sequence[int], limit: int
) -> set[int]:
    """Return the `id()` of `limit` occurrences, chosen round-robin.

    met: the occurrences of all lines, line by line.  sizes: how many each line has.
    """
    chosen: list[FailureAftermath] = []
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    for row in range(max(sizes, default=0)):
        chosen += [met[start + row] for start, size in zip(starts, sizes) if row < size]
    return {id(one) for one in chosen[:limit]}


def nearest_lines(hits: Sequence[Hit], style: Style) -> list[str]:
    """Return the records most similar to an error, one per line."""
    said = [clip_columns(one_line(hit.quotes[0].text) if hit.quotes else "", 100) for hit in hits]
    rows = [
        "  %s  %s: %s" % (hit.id, one_line(hit.title, 50), line) for hit, line in zip(hits, said)
    ]
    return ["", style.bold("nearest, from recall"), *rows] if rows else []


def _format_head(
    at: float, where: str, past: PastSession, style: Style, offset: clock.Offset
) -> str:
    place = one_line(", ".join(filter(None, (past.branch, past.workspace))))
    when = clock.iso(at + offset(at))[:16].replace("T", " ")
    return (
        style.dim("  %s  %s  " % (when, where))
        + one_line(past.title, 70)
        + style.dim("  (%s)" % place if place else "")
    )


def _label_rows(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [
        ("    %-*s" % (LABEL - 2, label)) + one_line(text, LONG) for label, text in pairs if text
    ]


def _format_failure(met: FailureAftermath) -> str:
    tool = met.tool + " " if met.tool else ""
    telling = ": " + met.telling if met.telling else ""
    return "%s`%s`%s" % (tool, shorten_command(met.ran), telling)


def _format_occurrence(met: FailureAftermath, style: Style, offset: clock.Offset) -> list[str]:
    """Return one occurrence in lines: failure, attempts, success."""
    again = met.passed == met.ran
    passed = _passed(met) if met.passed else ""
    after = (" after editing %s" % _join_files(met.edits)) if met.edits and met.passed else ""
    return [
        _format_head(met.at, met.where, met.past, style, offset),
        *_label_rows(
            (
                ("failed", _format_failure(met)),
                (
                    "tried",
                    "; ".join("`%s`" % shorten_command(one) for one in met.did)
                    if not again
                    else "",
                ),
                ("passed" if again else "worked", passed + after),
                ("changed", "; ".join("to `%s`" % one for one in met.changed)),
                ("edited", _join_files(met.edits) if met.edits and not met.passed else ""),
                ("outcome", met.outcome if not met.passed else ""),
                ("commit", met.commit),
            )
        ),
    ]


def _passed(met: FailureAftermath) -> str:
    return "the same call" if met.passed == met.ran else "`%s`" % shorten_command(met.passed)


def shorten_command(command: str, most: int = 200) -> str:
    """Shorten a command: cut its long quoted texts, then the whole."""
    short = _QUOTED.sub(
        lambda match: match[1] + match[2][:40].rstrip() + "…" + match[1], command[:BRIEFED]
    )
    return one_line(short, most)


def _join_files(files: Sequence[str]) -> str:
    return ", ".join(files[:4]) + (" and %d more" % (len(files) - 4) if len(files) > 4 else "")


def invocation_lines(
    found: Sequence[InvocationShape], tool: str, style: Style, now: float
) -> list[str]:
    """Return a tool's successful calls, one per line."""
    if not found:
        lacks = "no session here holds a successful call of `%s`" % one_line(tool)
        shell = "; of shell commands, name the program, such as `git`" * (tool.lower() == "bash")
        return [lacks + shell]
    out = []
    for shape in found[:LISTED]:
        ago = format_age(max(0.0, now - shape.last))
        usage = "  ×%d in %s, last %s in %s" % (
            shape.times,
            format_count(shape.sessions, "session"),
            "just now" if ago == "now" else ago + " ago",
            shape.where,
        )
        out.append("%s%s" % (shorten_command(shape.example), style.dim(usage)))
    rest = len(found) - LISTED
    return out + ([style.dim(_more(rest, "form"))] if rest > 0 else [])


def touch_lines(found: Sequence[Touch], path: str, style: Style, offset: clock.Offset) -> list[str]:
    """Return a file's sessions in lines: requests, decisions, commits."""
    if not found:
        return ["no session here touched or discussed `%s`" % one_line(path)]
    out = []
    for touch in found[:LISTED]:
        out.append(_format_head(touch.at, touch.past.id, touch.past, style, offset))
        out += _label_lines(touch.how, [_turn_request(*row) for row in touch.requests[:2]])
        out += _label_lines("decided", ["“%s”" % quote for _, quote in touch.decisions[:3]])
        out += _label_lines("commit", touch.commits[:3])
    rest = len(found) - LISTED
    return out + ([style.dim(_more(rest, "session"))] if rest > 0 else [])


def _label_lines(label: str, lines: Sequence[str]) -> list[str]:
    return _label_rows([("" if i else label, line) for i, line in enumerate(lines)])


def _turn_request(ref: str, request: str) -> str:
    return (
        "#%s %s" % (ref.rpartition("#")[2], one_line(request, 160))
        if "#" in ref
        else "in this session"
    )


def wall_lines(met: Sequence[RepeatedFailure], style: Style, offset: clock.Offset) -> list[str]:
    """Return errors that several sessions met, in lines, with remedies."""
    if not met:
        return ["no error here was met by several sessions"]
    out: list[str] = []
    for wall in met[:LISTED]:
        out += [""] * bool(out) + [style.bold(one_line(wall.telling, LONG))]
        seen = "  %s, %s, last %s in %s" % (
            format_count(wall.sessions, "session"),
            format_count(wall.times, "time"),
            clock.day(wall.last + offset(wall.last)),
            wall.where[0],
        )
        out.append("  %s%s" % (shorten_command(wall.path or wall.ran, 120), style.dim(seen)))
        out += _label_rows(
            (
                ("worked", wall.worked and "`%s`" % shorten_command(wall.worked)),
                ("line", wall.line),
                ("learning", wall.learning if not wall.line else ""),
            )
        )
    rest = len(met) - LISTED
    return out + (["", style.dim(_more(rest, "wall"))] if rest > 0 else [])
