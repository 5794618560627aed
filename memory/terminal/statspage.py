"""The figures of stats and of spending, as lines for a terminal."""

from __future__ import annotations

from typing import Any

from memory.core import plaintext
from memory.health import figures
from memory.terminal import pastlines, screen

EVENT = {"start": "session start", "prompt": "prompt", "agent": "subagent"}


def wrap_value(name: str, said: str, margin: int, columns: int) -> list[str]:
    """Return a name and its value, wrapped at commas or blanks.

    columns: of a line at most. margin: column at which the value begins.
    """
    room, lines, line = max(columns - margin, 8), [], ""
    parts = [part + "," for part in said.split(", ")[:-1]] + [said.split(", ")[-1]]
    for part in parts:
        for word in [part] if plaintext.width(part) <= room else part.split(" "):
            if line and plaintext.width(line) + 1 + plaintext.width(word) > room:
                lines.append(line)
                line = ""
            line += (" " if line else "") + word
    heads = [screen.pad(name, margin), *[" " * margin] * len(lines)]
    return [(head + text).rstrip() for head, text in zip(heads, [*lines, line])]


def stats_lines(value: dict[str, Any], style: screen.Style) -> list[str]:
    """Return the figures of `figures.figures` in lines."""
    if not (value["records"] or value["sessions"] or value["hooks"] or value["spend"]["calls"]):
        return [
            'nothing to count yet%s: `dayleaf learn "…"` keeps the first learning'
            % (" since " + value["since"] if value["since"] else "")
        ]
    out = _records(value, style) + _pushed(value, style) + _ranks(value, style)
    out += _times(value, style) + _uses(value, style)
    return [*out, "", style.bold("Models"), *_pairs(_money(value["spend"]), style)]


def spend_lines(value: dict[str, Any]) -> list[str]:
    """Return the figures of `figures.spending` in lines."""
    return [*screen.table(_money(value["today"])), *_days(value["days"])]


def _pairs(rows: list[list[str]], style: screen.Style) -> list[str]:
    """Return names and values in lines, wrapped at commas."""
    margin = max(plaintext.width(row[0]) for row in rows) + 4
    return [
        line for name, said in rows for line in wrap_value("  " + name, said, margin, style.columns)
    ]


def _records(value: dict[str, Any], style: screen.Style) -> list[str]:
    topics = [
        "%s (%d)" % (plaintext.one_line(name).replace(", ", " "), n)
        for name, n in value["topics"].items()
    ]
    new = ", %d of them since %s" % (value["new"], value["since"]) if value["since"] else ""
    made = ", ".join("%s %d" % item for item in value["records"].items()) or "none"
    places = value["workspaces"]
    rows = [["workspaces", ", ".join(map(plaintext.one_line, places))]] if len(places) > 1 else []
    out = [
        style.bold("Records"),
        *_pairs([*rows, ["records", made + new], ["topics", ", ".join(topics) or "none"]], style),
    ]
    weeks = value["perWeek"]
    counts = [week["records"] for week in weeks]
    if any(counts):
        best = max(weeks, key=lambda week: (week["records"], week["week"]))
        out += [
            "",
            style.bold("Records a week, %s to now" % weeks[0]["week"]),
            *_pairs(
                [
                    [
                        "this week",
                        "%d, most %d in the week of %s"
                        % (counts[-1], best["records"], best["week"]),
                    ]
                ],
                style,
            ),
        ]
    return out


def _pushed(value: dict[str, Any], style: screen.Style) -> list[str]:
    out = [
        "",
        style.bold("Given to the model"),
        *_pairs(
            [
                ["sessions", str(value["sessions"])],
                [
                    "prompts",
                    "%d, %d of them given something" % (value["prompts"], value["promptsGiven"]),
                ],
                [
                    "passages",
                    "%d given with prompts, %d of them used in the same turn"
                    % (value["passages"], value["passagesUsed"]),
                ],
                [
                    "in all",
                    "{:,} characters, {:,} a session, {:,} tokens".format(
                        value["characters"], value["charactersPerSession"], value["tokens"]
                    ),
                ],
                [
                    "saved",
                    "{:,} tokens, compared with giving all learnings each time".format(
                        value["tokensSaved"]
                    ),
                ],
            ],
            style,
        ),
    ]
    moments = [
        line
        for one in pastlines.moments(value["moments"])
        for line in wrap_value("", one, 2, style.columns)
    ]
    out += ["", style.bold("Records given, by moment"), *moments] if moments else []
    held = [session["tokens"] for session in value["perSession"]]
    if any(held):
        last = value["perSession"][-1]
        out += [
            "",
            style.bold("Tokens given, the last %s" % plaintext.count(len(held), "session")),
            *_pairs(
                [
                    [
                        "the last",
                        "{:,} on {}, {:,} a session".format(
                            last["tokens"], last["began"][:10], round(sum(held) / len(held))
                        ),
                    ]
                ],
                style,
            ),
        ]
    return out


def _ranks(value: dict[str, Any], style: screen.Style) -> list[str]:
    if not value["ranks"]:
        return []
    last = len(value["ranks"])
    rows = [
        (
            "rank %d%s" % (row["rank"], "+" if row["rank"] == last == figures.RANKS else ""),
            "%d, %d used" % (row["pushed"], row["used"]),
        )
        for row in value["ranks"]
    ]
    return [
        "",
        style.bold("Records given with prompts, by rank"),
        *screen.table(rows, "  "),
    ]


def _times(value: dict[str, Any], style: screen.Style) -> list[str]:
    out: list[str] = []
    for event, row in value["hooks"].items():
        said = "%s, %s" % (
            plaintext.one_line(EVENT.get(event, event)),
            plaintext.count(row["runs"], "run"),
        )
        over = "> %d ms" % figures.UPTO[-1]
        steps = [
            (
                over if step["upto"] is None else "<= %d ms" % step["upto"],
                str(step["runs"]),
            )
            for step in row["histogram"]
        ]
        out += [
            "",
            style.bold(said),
            "  p50 %d ms, p95 %d ms" % (row["p50"], row["p95"]),
            *screen.table(steps, "  ", (1,)),
        ]
    return out


def _uses(value: dict[str, Any], style: screen.Style) -> list[str]:
    groups = [
        ("Most pushed", [(id, str(n)) for id, n in value["mostPushed"].items()]),
        ("Most used", [(id, str(n)) for id, n in value["mostUsed"].items()]),
        (
            "Least used",
            [
                (id, "used %d, pushed %d" % (row["uses"], row["pushed"]))
                for id, row in value["leastUsed"].items()
            ],
        ),
    ]
    out = []
    for heading, rows in groups:
        if rows:
            out += ["", style.bold(heading)]
        for id, said in rows:
            title = plaintext.one_line(value["titles"].get(id, "")) or "(no longer there)"
            out.append(
                plaintext.clip_columns(
                    "  %s (%s)  %s" % (plaintext.one_line(id), said, title), style.columns
                )
            )
    return out


def _money(spent: dict[str, Any]) -> list[list[str]]:
    return [
        [
            "model calls today",
            "%d of %d%s, %d left"
            % (
                spent["calls"],
                spent["mostCalls"],
                ", %d failed" % spent["failed"] if spent["failed"] else "",
                spent["callsLeft"],
            ),
        ],
        [
            "tokens today",
            "{:,} read, {:,} written; {:,} allowed, {:,} left{}".format(
                spent["tokensIn"],
                spent["tokensOut"],
                spent["mostTokens"],
                spent["tokensLeft"],
                "; unknown for %s" % plaintext.count(spent["unknown"], "call")
                if spent["unknown"]
                else "",
            ),
        ],
        ["cost today, at list price", "$%.4f" % spent["dollars"]],
    ]


def _days(days: list[dict[str, Any]]) -> list[str]:
    if not days:
        return []
    head = ["day (UTC)", "provider", "calls", "failed", "in", "out", "list price"]
    rows = [
        [
            row["day"],
            plaintext.one_line(row["provider"]),
            str(row["calls"]),
            str(row["failed"]),
            "{:,}".format(row["tokensIn"]),
            "{:,}".format(row["tokensOut"]),
            "$%.4f" % row["dollars"],
        ]
        for row in days
    ]
    return ["", *screen.table([head, *rows], "", (2, 3, 4, 5, 6))]
