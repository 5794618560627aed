"""The figures of `stats` in lines."""

from __future__ import annotations

from typing import Any

from memory.core import plaintext
from memory.health import figures
from memory.terminal import pastlines, screen

EVENT = {"start": "session start", "prompt": "prompt", "agent": "subagent"}


def wrap_value(name: str, said: str, margin: int, columns: int) -> list[str]:
    """Return a name and its value, wrapped at commas or blanks."""
    room, lines, line = max(columns - margin, 8), [], ""
    parts = [part + "," for part in said.split(", ")[:-1]] + [said.split(", ")[-1]]
    for part in parts:
        for word in [part] if plaintext.count_columns(part) <= room else part.split(" "):
            if line and plaintext.count_columns(line) + 1 + plaintext.count_columns(word) > room:
                lines.append(line)
                line = ""
            line += (" " if line else "") + word
    heads = [screen.pad(name, margin), *[" " * margin] * len(lines)]
    return [(head + text).rstrip() for head, text in zip(heads, [*lines, line])]


def stats_lines(value: dict[str, Any], style: screen.Style) -> list[str]:
    """Return `figures.collect_figures` in lines."""
    if not (value["records"] or value["sessions"] or value["hooks"] or value["spend"]["calls"]):
        since = value["since"] and " since " + value["since"]
        return ['nothing to count yet%s: `dayleaf learn "…"` keeps the first learning' % since]
    out = _format_records(value, style) + _format_pushes(value, style) + _format_ranks(value, style)
    out += _format_times(value, style) + _format_uses(value, style)
    return [*out[1:], *_format_section("Models", _list_spend(value["spend"]), style)]


def _format_section(heading: str, rows: list[list[str]], style: screen.Style) -> list[str]:
    return ["", style.bold(heading), *_format_pairs(rows, style)]


def spend_lines(value: dict[str, Any]) -> list[str]:
    """Return `figures.read_spending` in lines."""
    return [*screen.format_table(_list_spend(value["today"])), *_format_days(value["days"])]


def _format_pairs(rows: list[list[str]], style: screen.Style) -> list[str]:
    margin = max(plaintext.count_columns(row[0]) for row in rows) + 4
    return [
        line for name, said in rows for line in wrap_value("  " + name, said, margin, style.columns)
    ]


def _format_records(value: dict[str, Any], style: screen.Style) -> list[str]:
    topics = [
        "%s (%d)" % (plaintext.one_line(name).replace(", ", " "), n)
        for name, n in value["topics"].items()
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
    rows = [
        ["sessions", "%(sessions)d"],
        ["prompts", "%(prompts)d, %(promptsGiven)d of them given something"],
        [
            "passages",
            "%(passages)d given with prompts, %(passagesUsed)d of them used in the same turn",
        ],
    ]
    rows = [[name, said % value] for name, said in rows]
    said = "{characters:,} characters, {charactersPerSession:,} a session, {tokens:,} tokens"
    rows.append(["in all", said.format(**value)])
    saved = "{tokensSaved:,} tokens, compared with giving all learnings each time"
    rows.append(["saved", saved.format(**value)])
    out = _format_section("Given to the model", rows, style)
    moments = [
        line
        for one in pastlines.moment_lines(value["moments"])
        for line in wrap_value("", one, 2, style.columns)
    ]
    out += ["", style.bold("Records given, by moment"), *moments] if moments else []
    held = [session["tokens"] for session in value["perSession"]]
    if any(held):
        began, mean = value["perSession"][-1]["began"][:10], round(sum(held) / len(held))
        rows = [["the last", f"{held[-1]:,} on {began}, {mean:,} a session"]]
        several = plaintext.format_count(len(held), "session")
        out += _format_section("Tokens given, the last %s" % several, rows, style)
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
            plaintext.one_line(EVENT.get(event, event)),
            plaintext.format_count(row["runs"], "run"),
            "p50 %d ms, p95 %d ms" % (row["p50"], row["p95"]),
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
        for id, said in rows.items():
            title = plaintext.one_line(value["titles"].get(id, "")) or "(no longer there)"
            line = "  %s (%s)  %s" % (plaintext.one_line(id), said, title)
            out.append(plaintext.clip_columns(line, style.columns))
    return out


def _list_spend(spent: dict[str, Any]) -> list[list[str]]:
    failed = ", %(failed)d failed" % spent if spent["failed"] else ""
    calls = "%(calls)d of %(mostCalls)d{}, %(callsLeft)d left" % spent
    unknown = "; unknown for " + plaintext.format_count(spent["unknown"], "call")
    tokens = "{tokensIn:,} read, {tokensOut:,} written; {mostTokens:,} allowed, {tokensLeft:,} left"
    return [
        ["model calls today", calls.format(failed)],
        ["tokens today", tokens.format(**spent) + unknown * bool(spent["unknown"])],
        ["cost today, at list price", "$%.4f" % spent["dollars"]],
    ]


def _format_days(days: list[dict[str, Any]]) -> list[str]:
    head = ["day (UTC)", "provider", "calls", "failed", "in", "out", "list price"]
    form = "{calls} {failed} {tokensIn:,} {tokensOut:,} ${dollars:.4f}"
    rows = [
        [row["day"], plaintext.one_line(row["provider"]), *form.format(**row).split()]
        for row in days
    ]
    return ["", *screen.format_table([head, *rows], "", (2, 3, 4, 5, 6))] if days else []
