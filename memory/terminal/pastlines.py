"""The past in lines: what reached the model, for why, load and status; what sessions did, for fix,
how, blame and friction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from memory.core import clock
from memory.core.plaintext import age, clip_columns, count, one_line, plain
from memory.hook import receipts
from memory.hook.strategies import strategy_by_name
from memory.terminal import screen
from memory.terminal.screen import Style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.knowledge.history import Past, Touch
    from memory.knowledge.practice import Shape
    from memory.knowledge.remedies import Met, MetFailure
    from memory.knowledge.walls import Repeated
    from memory.recall.hit import Hit

MOMENT = {
    "start": "at a session's start",
    "first": "at a session's first prompt",
    "reset": "at the first prompt after a clear or compaction",
    "later": "at later prompts",
    "wall": "at failed calls",
    "agent": "with subagents' prompts",
}
# how a store of so many learnings gives them
HOW = {
    "load_all": "each session starts with all of them, if they fit",
    "index_filter": "each prompt gets the nearest of them",
    "topic_filter": "each prompt gets the nearest within its topics",
}
PROMPT = {"first": ", the session's first", "reset": ", the first after a clear or compaction"}
PROMPTS = ("prompt", "agent")  # events of receipts that answer a prompt, a person's or a subagent's
NEAREST = 3  # of what stayed below the threshold in a session
HEADING = 160  # columns of an error's line
LABEL = 12  # columns before a line's text
# characters of a line that is a command or a quote: more columns than a terminal has, since it is
# to be copied
LONG = 320
REMEDIES = 5  # occurrences of an error
LISTED = 10  # invocations, sessions or walls
BRIEFED = 8000  # characters of a command that are read for its short form
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\\n]){60})(?:\\.|(?!\1)[^\\\n]){0,400}\1""")


# --- what reached the model


def switched_off_lines(found: list[dict[str, str]], what: str = "pushes") -> list[str]:
    """Return the places where pushes, or another feature, are off."""
    return [one_line("%s: off %s; %s" % (what, one["where"], one["remedy"])) for one in found]


def _got_nothing(empty: list[str], near: list[str]) -> list[str]:
    counts = ((empty.count(event), what) for event, what in zip(PROMPTS, ("prompt", "subagent")))
    lines = ["%s got nothing" % " and ".join(count(*one) for one in counts if one[0])]
    if near:
        nearest = "  ".join(sorted(near, reverse=True)[:NEAREST])
        lines.append("  nearest, but not near enough: " + nearest)
    return lines


def push_lines(value: dict[str, Any], now: float) -> list[str]:
    """Return `accounts.report` in lines: each start and prompt with its records."""
    if not value["session"]:
        return ["Claude got no notes in this project yet"]
    out = ["session " + value["session"]]
    empty: list[str] = []
    near: list[str] = []
    for event in value["events"]:
        if event["event"] in PROMPTS and not event["chosen"] and len(value["events"]) > 1:
            empty.append(event["event"])
            near += _below(event)
            continue
        out += ["", *_event(event, now)]
    if empty:
        out += ["", *_got_nothing(empty, near)]
    told = moments(value["moments"]) if len(value["events"]) > 1 else []
    return [*out, "", *("  " + line for line in told)] if told else out


def moments(found: list[dict[str, Any]]) -> list[str]:
    """Return `accounts.by_moment`, a line for each moment."""
    lines = []
    for one in found:
        used = "" if one["used"] is None else ", %d used" % one["used"]
        times = "; %d of %d got something" % (one["given"], one["times"])
        lines.append(
            "%s: %d given%s%s"
            % (MOMENT[one["moment"]], one["pushed"], used, "" if one["moment"] == "wall" else times)
        )
    return lines


def _below(event: dict[str, Any]) -> list[str]:
    """Return the scores and ids just below an event's threshold."""
    found = event.get("below")
    return (
        [
            "%.2f %s" % (_as_float(item[1]), one_line(str(item[0])))
            for item in found
            if isinstance(item, list) and len(item) == 2
        ]
        if isinstance(found, list)
        else []
    )


def _left_out(event: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    unfit = event.get("unfit")
    if isinstance(unfit, list) and unfit:
        lines.append("  did not fit: " + one_line(", ".join(map(str, unfit))))
    lines += ["  not near enough: " + one for one in _below(event)]
    if event.get("stale") is True:
        lines.append("  the index was older than the files")
    unread = _int(event, "unread")
    if unread > 0:
        lines.append("  %s not searched, because there is no index" % count(unread, "file"))
    return lines


def _event(event: dict[str, Any], now: float) -> list[str]:
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
    head = "%s  %s" % (clock.zoned(instant), one_line(what))
    if event["event"] not in ("start", "wall", *PROMPTS):
        return [head]
    compared = _int(event, "candidates")
    head += "  %s%s, %s ms" % (
        count(compared, "record") + " compared, " if compared else "",
        count(_int(event, "chars"), "character"),
        _int(event, "ms"),
    )
    head += "; it did not reach the model" if event.get("lost") else ""
    rows = [
        [
            "%.2f" % _as_float(item["score"]),
            one_line(item["id"]),
            one_line(item["title"]) or "(no longer there)",
            _reason(item["reason"]) + (", then used" if item["used"] else ""),
        ]
        for item in event["chosen"]
    ]
    return [
        head,
        *(
            screen.table(rows, "  ", (0,))
            or ["  counts and titles only" if _int(event, "chars") else "  nothing"]
        ),
        *_left_out(event),
    ]


def _reason(said: str) -> str:
    if said == receipts.TITLE:
        return "only its title, because another session wrote it"
    return "every session gets it" if said == "load_all" else one_line(said)


def _int(event: dict[str, Any], key: str) -> int:
    return int(_as_float(event.get(key)))


def _as_float(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def loaded(value: dict[str, Any], explain: bool) -> list[str]:
    """Return `accounts.load` in lines."""
    out = [_learnings(value), *switched_off_lines(value["off"])]
    if not value["enabled"] and not value["off"]:
        out.append("prompts get nothing: load.prompt is false (`dayleaf config list`)")
    given = sum(pick["reason"] == value["strategy"] for pick in value["picks"])
    said = strategy_by_name(value["strategy"]).describe(given, value["learnings"])
    if said and not value["off"]:
        out.append(said)
    out += _chosen(value, given)
    if value["didNotFit"]:
        out += ["", "did not fit:"] + [
            "  %s  %s" % (one["id"], one_line(one["title"])) for one in value["didNotFit"]
        ]
    if value["below"]:
        rows = [
            ["%.2f" % one["relevance"], one["id"], one_line(one["title"])] for one in value["below"]
        ]
        head = "sessions that come near, but not near enough (load.push is %s):" % value["push"]
        out += ["", head, *screen.table(rows, "  ", (0,))]
    if value["picks"]:
        out += ["", _size(value)]
    return out + _compared(value) if explain else out


def _learnings(value: dict[str, Any]) -> str:
    category = "; this prompt's is %s" % value["category"] if value["category"] else ""
    if not value["learnings"]:
        return "no accepted learnings yet" + category
    how = HOW.get(value["strategy"], value["strategy"])
    known = count(value["learnings"], "learning")
    return "{}, {:,} tokens: {}{}".format(known, value["learningTokens"], how, category)


def _chosen(value: dict[str, Any], given: int) -> list[str]:
    rows = [
        ["%.2f" % one["relevance"], one["id"], one_line(one["title"]), _reason(one["reason"])]
        for one in value["picks"]
    ]
    if not rows:
        return ["this prompt gets nothing: " + _why_nothing(value)]
    head = "given"
    if not value["enabled"] or value["off"]:
        head = "given once switched on"
    elif given == len(rows) and value["strategy"] == "load_all":
        # what every start gives is not given again with this prompt
        head = "given at the session's start"
    return ["", "%s (%s):" % (head, count(len(rows), "record")), *screen.table(rows, "  ", (0,))]


def _size(value: dict[str, Any]) -> str:
    more = "; all learnings would take {:,} more".format(value["saved"]) if value["saved"] else ""
    characters = count(value["characters"], "character")
    return "the whole block: %s, %s tokens%s" % (characters, value["tokens"], more)


def _compared(value: dict[str, Any]) -> list[str]:
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
        out += ["", head, *screen.table(rows, "  ", (0,))]
    if value["block"]:
        out += ["", plain(value["block"])]
    return out


def _why_nothing(value: dict[str, Any]) -> str:
    if not value["learnings"] and not value["below"]:
        return 'this memory holds nothing for it; `dayleaf learn "…"` keeps what you find out'
    return "nothing in this memory comes near enough"


# --- what sessions did


def remedy_lines(answer: Sequence[Met], style: Style, offset: float) -> list[str]:
    """Return the earlier remedies of an error in lines, newest first."""
    if not answer:
        return ["nothing here has failed like that before"]
    shown = spread(
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
                + style.dim("  " + count(sessions, "session"))
            )
            out += [row for met in here for row in _met(met, style, offset)]
    return out + (["", style.dim(_more(left, "occurrence"))] if left else [])


def _more(rest: int, noun: str) -> str:
    return "%s; `--json` has all" % count(rest, "more " + noun)


def spread(met: Sequence[MetFailure], sizes: Sequence[int], limit: int) -> set[int]:
    """Return the identities of `limit` occurrences, chosen round-robin.

    met: the occurrences of all lines, one line after the other.  sizes: how many each line has.
    """
    chosen: list[MetFailure] = []
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    for row in range(max(sizes, default=0)):
        chosen += [met[start + row] for start, size in zip(starts, sizes) if row < size]
    return {id(one) for one in chosen[:limit]}


def nearest(hits: Sequence[Hit], style: Style) -> list[str]:
    """Return the records nearest to an error, one per line."""
    said = [clip_columns(one_line(hit.quotes[0].text) if hit.quotes else "", 100) for hit in hits]
    rows = [
        "  %s  %s: %s" % (hit.id, one_line(hit.title, 50), line) for hit, line in zip(hits, said)
    ]
    return ["", style.bold("nearest, from recall"), *rows] if rows else []


def _head(at: float, where: str, past: Past, style: Style, offset: float) -> str:
    place = one_line(", ".join(filter(None, (past.branch, past.workspace))))
    when = clock.iso(at + offset)[:16].replace("T", " ")
    return (
        style.dim("  %s  %s  " % (when, where))
        + one_line(past.title, 70)
        + style.dim("  (%s)" % place if place else "")
    )


def _rows(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [
        ("    %-*s" % (LABEL - 2, label)) + one_line(text, LONG) for label, text in pairs if text
    ]


def _failed(met: MetFailure) -> str:
    tool = met.tool + " " if met.tool else ""
    telling = ": " + met.telling if met.telling else ""
    return "%s`%s`%s" % (tool, brief(met.ran), telling)


def _met(met: MetFailure, style: Style, offset: float) -> list[str]:
    """Return one occurrence in lines: the failure, the attempts, the success."""
    again = met.passed == met.ran
    passed = _passed(met) if met.passed else ""
    after = (" after editing %s" % _several(met.edits)) if met.edits and met.passed else ""
    return [
        _head(met.at, met.where, met.past, style, offset),
        *_rows(
            (
                ("failed", _failed(met)),
                ("tried", "; ".join("`%s`" % brief(one) for one in met.did) if not again else ""),
                ("passed" if again else "worked", passed + after),
                ("changed", "; ".join("to `%s`" % one for one in met.changed)),
                ("edited", _several(met.edits) if met.edits and not met.passed else ""),
                ("outcome", met.outcome if not met.passed else ""),
                ("commit", met.commit),
            )
        ),
    ]


def _passed(met: MetFailure) -> str:
    return "the same call" if met.passed == met.ran else "`%s`" % brief(met.passed)


def brief(command: str, most: int = 200) -> str:
    """Return a command for reading.

    Long quoted texts in it are cut, and the whole at `most` characters.
    """
    return one_line(
        _QUOTED.sub(
            lambda found: found[1] + found[2][:40].rstrip() + "…" + found[1], command[:BRIEFED]
        ),
        most,
    )


def _several(files: Sequence[str]) -> str:
    return ", ".join(files[:4]) + (" and %d more" % (len(files) - 4) if len(files) > 4 else "")


def invocations(found: Sequence[Shape], tool: str, style: Style, now: float) -> list[str]:
    """Return the invocations of a tool, one per line."""
    if not found:
        lacks = "no session here holds a successful call of `%s`" % one_line(tool)
        shell = "; of shell commands, name the program, such as `git`" * (tool.lower() == "bash")
        return [lacks + shell]
    out = []
    for shape in found[:LISTED]:
        ago = age(max(0.0, now - shape.last))
        told = "  ×%d in %s, last %s in %s" % (
            shape.times,
            count(shape.sessions, "session"),
            "just now" if ago == "now" else ago + " ago",
            shape.where,
        )
        out.append("%s%s" % (brief(shape.example), style.dim(told)))
    rest = len(found) - LISTED
    return out + ([style.dim(_more(rest, "form"))] if rest > 0 else [])


def touched(found: Sequence[Touch], path: str, style: Style, offset: float) -> list[str]:
    """Return the sessions that touched or discussed a file, in lines."""
    if not found:
        return ["no session here touched or discussed `%s`" % one_line(path)]
    out = []
    for touch in found[:LISTED]:
        out.append(_head(touch.at, touch.past.id, touch.past, style, offset))
        out += _under(touch.how, [_turn_request(*row) for row in touch.requests[:2]])
        out += _under("decided", ["“%s”" % quote for _, quote in touch.decisions[:3]])
        out += _under("commit", touch.commits[:3])
    rest = len(found) - LISTED
    return out + ([style.dim(_more(rest, "session"))] if rest > 0 else [])


def _under(label: str, lines: Sequence[str]) -> list[str]:
    return _rows([("" if i else label, line) for i, line in enumerate(lines)])


def _turn_request(ref: str, request: str) -> str:
    return (
        "#%s %s" % (ref.rpartition("#")[2], one_line(request, 160))
        if "#" in ref
        else "in this session"
    )


def walls(met: Sequence[Repeated], style: Style, offset: float) -> list[str]:
    """Return walls in lines: error, call, sessions, remedy and proposal."""
    if not met:
        return ["no error here was met by several sessions"]
    out: list[str] = []
    for wall in met[:LISTED]:
        out += [""] * bool(out) + [style.bold(one_line(wall.telling, LONG))]
        seen = "  %s, %s, last %s in %s" % (
            count(wall.sessions, "session"),
            count(wall.times, "time"),
            clock.day(wall.last + offset),
            wall.where[0],
        )
        out.append("  %s%s" % (brief(wall.path or wall.ran, 120), style.dim(seen)))
        out += _rows(
            (
                ("worked", wall.worked and "`%s`" % brief(wall.worked)),
                ("line", wall.line),
                ("learning", wall.learning if not wall.line else ""),
            )
        )
    rest = len(met) - LISTED
    return out + (["", style.dim(_more(rest, "wall"))] if rest > 0 else [])
