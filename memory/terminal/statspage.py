"""The figures of `stats` in lines."""

from __future__ import annotations

import re
from typing import Any

from memory.core.plaintext import clip_columns, count_columns, format_count, one_line
from memory.health import figures
from memory.terminal import pastlines, screen

EVENT = {"start": "session start", "prompt": "prompt", "agent": "subagent"}


def wrap_value(name: str, text: str, margin: int, columns: int) -> list[str]:
    """Format a name and its value, wrapped at commas or blanks."""
    room, lines = max(columns - margin, 8), [""]
    for part in re.split("(?<=,) ", text):
        for word in [part] if count_columns(part) <= room else part.split(" "):
            longer = lines[-1] + " " + word if lines[-1] else word
            if lines[-1] and count_columns(longer) > room:
                lines.append(word)
            else:
                lines[-1] = longer
    heads = [name, *[""] * len(lines)]
    return [(screen.pad(head, margin) + line).rstrip() for head, line in zip(heads, lines)]


def stats_lines(value: dict[str, Any], style: screen.Style) -> list[str]:
    """Format the figures of `stats` (`figures.collect_figures`)."""
    calls = value["spend"]["calls"] + value["spend"]["notes"]["calls"]
    if not (value["records"] or value["sessions"] or value["hooks"] or calls):
        since = " since " + value["since"] if value["since"] else ""
        return ['nothing to count yet%s: `dayleaf learn "…"` keeps the first learning' % since]
    parts = (_format_records, _format_pushes, _format_ranks, _format_times, _format_uses)
    out = [line for part in parts for line in part(value, style)]
    return [*out[1:], *_format_section("Models", _list_spend(value["spend"]), style)]


def _format_section(heading: str, rows: list[list[str]], style: screen.Style) -> list[str]:
    margin, lines = max(count_columns(row[0]) for row in rows) + 4, ["", style.bold(heading)]
    for name, text in rows:
        lines += wrap_value("  " + name, text, margin, style.columns)
    return lines


def spend_lines(value: dict[str, Any]) -> list[str]:
    """Format what models cost (`figures.read_spending`)."""
    return [*screen.format_table(_list_spend(value["today"])), *_format_days(value["days"])]


def _format_records(value: dict[str, Any], style: screen.Style) -> list[str]:
    topics = [
        "%s (%d)" % (one_line(name).replace(", ", " "), n) for name, n in value["topics"].items()
    ]
    new = ", %d of them since %s" % (value["new"], value["since"]) if value["since"] else ""
    made = ", ".join("%s %d" % item for item in value["records"].items()) or "none"
    rows = [["records", made + new], ["topics", ", ".join(topics) or "none"]]
    out, weeks = _format_section("Records", rows, style), value["perWeek"]
    best = max(weeks, key=lambda week: (week["records"], week["week"]))
    if best["records"]:
        counts = (weeks[-1]["records"], best["records"], best["week"])
        rows = [["this week", "%d, most %d in the week of %s" % counts]]
        out += _format_section("Records a week, %s to now" % weeks[0]["week"], rows, style)
    return out


def _format_pushes(value: dict[str, Any], style: screen.Style) -> list[str]:
    total = "{characters:,} characters, {charactersPerSession:,} a session, {tokens:,} tokens"
    texts = {
        "sessions": "{sessions}",
        "prompts": "{prompts}, {promptsGiven} of them given something",
        "passages": "{passages} given with prompts, {passagesUsed} of them used in the same turn",
        "in all": total,
        "saved": "{tokensSaved:,} tokens, compared with giving all learnings each time",
    }
    rows = [[name, text.format(**value)] for name, text in texts.items()]
    out = _format_section("Given to the model", rows, style)
    moments = pastlines.moment_lines(value["moments"])
    out += ["", style.bold("Records given, by moment")] if moments else []
    for moment in moments:
        out += wrap_value("", moment, 2, style.columns)
    tokens = [session["tokens"] for session in value["perSession"]]
    if any(tokens):
        began, mean = value["perSession"][-1]["began"][:10], round(sum(tokens) / len(tokens))
        rows = [["the last", f"{tokens[-1]:,} on {began}, {mean:,} a session"]]
        heading = "Tokens given, the last %s" % format_count(len(tokens), "session")
        out += _format_section(heading, rows, style)
    return out


def _format_ranks(value: dict[str, Any], style: screen.Style) -> list[str]:
    rows = [
        (
            "rank %d%s" % (row["rank"], "+" * (row["rank"] == figures.RANKS)),
            "%(pushed)d, %(used)d used" % row,
        )
        for row in value["ranks"]
    ]
    heading = style.bold("Records given with prompts, by rank")
    return ["", heading, *screen.format_table(rows, "  ")] if rows else []


def _format_times(value: dict[str, Any], style: screen.Style) -> list[str]:
    rows = [
        [
            one_line(EVENT.get(event, event)),
            format_count(row["runs"], "run"),
            "p50 %(p50)d ms, p95 %(p95)d ms" % row,
        ]
        for event, row in value["hooks"].items()
    ]
    return ["", style.bold("Times"), *screen.format_table(rows, "  ", (1,))] if rows else []


def _format_uses(value: dict[str, Any], style: screen.Style) -> list[str]:
    least = {id: "used %(uses)d, pushed %(pushed)d" % row for id, row in value["leastUsed"].items()}
    groups = {
        "Most pushed": value["mostPushed"],
        "Most used": value["mostUsed"],
        "Least used": least,
    }
    out = []
    for heading, rows in groups.items():
        out += ["", style.bold(heading)] if rows else []
        for id, counts in rows.items():
            title = one_line(value["titles"].get(id, "")) or "(no longer there)"
            line = "  %s (%s)  %s" % (one_line(id), counts, title)
            out.append(clip_columns(line, style.columns))
    return out


def _list_spend(spent: dict[str, Any]) -> list[list[str]]:
    unknown = "; unknown for " + format_count(spent["unknown"], "call")
    tokens = "{tokensIn:,} read, {tokensOut:,} written; {mostTokens:,} allowed, {tokensLeft:,} left"
    notes = spent["notes"]
    return [
        ["model calls today", _format_calls(spent)],
        ["tokens today", tokens.format(**spent) + unknown * bool(spent["unknown"])],
        ["calls for notes today", _format_calls(notes)],
        ["tokens for notes today", "{tokensIn:,} read, {tokensOut:,} written".format(**notes)],
        ["cost today, at list price", "$%.4f" % (spent["dollars"] + notes["dollars"])],
    ]


def _format_calls(spent: dict[str, Any]) -> str:
    failed = ", %(failed)d failed" if spent["failed"] else ""
    return ("%(calls)d of %(mostCalls)d" + failed + ", %(callsLeft)d left") % spent


def _format_days(days: list[dict[str, Any]]) -> list[str]:
    head = ["day (UTC)", "provider", "calls", "failed", "in", "out", "list price"]
    form = "{calls} {failed} {tokensIn:,} {tokensOut:,} ${dollars:.4f}"
    rows = [[row["day"], one_line(row["provider"]), *form.format(**row).split()] for row in days]
    return ["", *screen.format_table([head, *rows], "", (2, 3, 4, 5, 6))] if days else []
