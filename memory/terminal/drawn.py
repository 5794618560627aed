"""The figures of stats: tables, and charts where a picture says more."""

from __future__ import annotations

from typing import Any

from memory.core import plaintext
from memory.health import figures
from memory.terminal import charts, screen

EVENT = {"start": "session start", "prompt": "prompt", "agent": "subagent"}


def lines(value: dict[str, Any], style: screen.Style, plain: bool) -> list[str]:
    """Return the lines of what `figures.figures` returned.  plain: charts in ASCII."""
    if not (value["records"] or value["sessions"] or value["hooks"] or value["spend"]["calls"]):
        return ["nothing to count yet%s: `dayleaf learn \"…\"` keeps the first note" % (
            " since " + value["since"] if value["since"] else "")]
    out = _records(value, style, plain) + _pushed(value, style, plain) + _ranks(value, style, plain)
    out += _times(value, style, plain) + _uses(value, style)
    return [*out, "", style.bold("Models"), *_pairs(_money(value["spend"]), style)]


def spend_lines(value: dict[str, Any]) -> list[str]:
    """Return the lines of what `figures.spending` returned."""
    return [*screen.table(_money(value["today"])), *_days(value["days"])]


def _pairs(rows: list[list[str]], style: screen.Style) -> list[str]:
    """Write names and values; a value is broken at its commas where the terminal is narrow."""
    margin = max(plaintext.width(row[0]) for row in rows) + 4
    return [line for name, said in rows for line in charts.wrapped("  " + name, said, margin, style.columns)]


def _records(value: dict[str, Any], style: screen.Style, plain: bool) -> list[str]:
    topics = ["%s (%d)" % (plaintext.one_line(name).replace(", ", " "), n) for name, n in value["topics"].items()]
    new = ", %d of them since %s" % (value["new"], value["since"]) if value["since"] else ""
    made = ", ".join("%s %d" % item for item in value["records"].items()) or "none"
    places = value["workspaces"]
    rows = [["workspaces", ", ".join(map(plaintext.one_line, places))]] if len(places) > 1 else []
    out = [style.bold("Records"), *_pairs([*rows, ["records", made + new], ["topics", ", ".join(topics) or "none"]], style)]
    weeks = value["perWeek"]
    counts = [week["records"] for week in weeks]
    if any(counts):
        best = max(weeks, key=lambda week: (week["records"], week["week"]))
        out += ["", style.bold("Records a week, %s to now" % weeks[0]["week"]), *charts.over_time(counts, style.columns, plain),
                *_pairs([["this week", "%d, most %d in the week of %s" % (counts[-1], best["records"], best["week"])]], style)]
    return out


def _pushed(value: dict[str, Any], style: screen.Style, plain: bool) -> list[str]:
    given = "%d, %d of %s got something" % (value["sessions"], value["promptsGiven"], plaintext.count(value["prompts"], "prompt"))
    out = ["", style.bold("Pushed"), *_pairs([
        ["sessions", given],
        ["with prompts", "%s, %d used in the same turn; %d of them passages, %d used; %d of %s got something" % (
            plaintext.count(value["given"], "record"), value["givenUsed"], value["passages"], value["passagesUsed"],
            value["subagentsGiven"], plaintext.count(value["subagents"], "subagent"))],
        ["pushed", "{:,} characters, {:,} a session, {:,} tokens".format(
            value["characters"], value["charactersPerSession"], value["tokens"])],
        *([["walls", "%s told of" % plaintext.count(value["walls"], "failed call")]] if value["walls"] else []),
        ["saved", "{:,} tokens against loading every learning".format(value["tokensSaved"])]], style)]
    held = [session["tokens"] for session in value["perSession"]]
    if any(held):
        last = value["perSession"][-1]
        out += ["", style.bold("Tokens pushed, the last %s" % plaintext.count(len(held), "session")),
                *charts.over_time(held, style.columns, plain),
                *_pairs([["the last", "{:,} on {}, {:,} a session".format(
                    last["tokens"], last["began"][:10], round(sum(held) / len(held)))]], style)]
    return out


def _ranks(value: dict[str, Any], style: screen.Style, plain: bool) -> list[str]:
    if not value["ranks"]:
        return []
    last = len(value["ranks"])
    rows = [("rank %d%s" % (row["rank"], "+" if row["rank"] == last == figures.RANKS else ""), row["pushed"], "%d, %d used" % (
        row["pushed"], row["used"])) for row in value["ranks"]]
    return ["", style.bold("Records that prompts got, by rank"), *charts.bars(rows, style.columns, plain)]


def _times(value: dict[str, Any], style: screen.Style, plain: bool) -> list[str]:
    out: list[str] = []
    for event, row in value["hooks"].items():
        said = "%s, %s" % (plaintext.one_line(EVENT.get(event, event)), plaintext.count(row["runs"], "run"))
        over = "> %d ms" % figures.UPTO[-1]
        steps = [(over if step["upto"] is None else "<= %d ms" % step["upto"], step["runs"], str(step["runs"]))
                 for step in row["histogram"]]
        out += ["", style.bold(said), "  p50 %d ms, p95 %d ms" % (row["p50"], row["p95"]),
                *charts.bars(steps, style.columns, plain)]
    return out


def _uses(value: dict[str, Any], style: screen.Style) -> list[str]:
    groups = [("Most pushed", [(id, str(n)) for id, n in value["mostPushed"].items()]),
              ("Most used", [(id, str(n)) for id, n in value["mostUsed"].items()]),
              ("Least used", [(id, "%d, pushed %d" % (row["uses"], row["pushed"])) for id, row in value["leastUsed"].items()])]
    out = []
    for heading, rows in groups:
        if rows:
            out += ["", style.bold(heading)]
        for id, said in rows:
            title = plaintext.one_line(value["titles"].get(id, "")) or "(no longer there)"
            out.append(plaintext.clip("  %s (%s)  %s" % (plaintext.one_line(id), said, title), style.columns))
    return out


def _money(spent: dict[str, Any]) -> list[list[str]]:
    return [["model calls today", "%d of %d%s, %d left" % (spent["calls"], spent["mostCalls"], ", %d failed" % spent["failed"]
                                                           if spent["failed"] else "", spent["callsLeft"])],
            ["tokens today", "{:,} in, {:,} out, of {:,}, {:,} left{}".format(
                spent["tokensIn"], spent["tokensOut"], spent["mostTokens"], spent["tokensLeft"],
                "; unknown for %s" % plaintext.count(spent["unknown"], "call") if spent["unknown"] else "")],
            ["list price today", "$%.4f" % spent["dollars"]]]


def _days(days: list[dict[str, Any]]) -> list[str]:
    if not days:
        return []
    head = ["day (UTC)", "provider", "calls", "failed", "in", "out", "list price"]
    rows = [[row["day"], plaintext.one_line(row["provider"]), str(row["calls"]), str(row["failed"]),
             "{:,}".format(row["tokensIn"]), "{:,}".format(row["tokensOut"]), "$%.4f" % row["dollars"]] for row in days]
    return ["", *screen.table([head, *rows], "", (2, 3, 4, 5, 6))]
