"""What status, doctor, check, audit, eval and shared found, and how a digest came about, in
lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memory.core import config, fastjson, layout
from memory.core.plaintext import clip_columns, count, one_line
from memory.health import FAIL, OK, WARN, Finding
from memory.health.figures import EMBED
from memory.health.inspection import SECTIONS, Audited
from memory.knowledge import housekeeping
from memory.terminal import pastlines, screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.distill.digests import Digest
    from memory.project.sharing import SharedRecord, Status
    from memory.store.reader import Skipped

HEADS = ("recall@1", "recall@5", "recall@10", "MRR")
MOST_FINDINGS = 10  # of a section that audit lists beside others
MOST_LISTED = 10  # skipped records that are listed for a person
MOST_OF_TEAM = 30  # records of a team that are listed under one heading


def state(value: dict[str, Any], style: screen.Style) -> list[str]:
    """Return the state of `figures.state` in lines."""
    runtime = value["runtime"]
    claimed = value["claimed"]
    plugin = layout.plugin()
    rows = [["workspace", value["workspace"]]]
    if claimed:
        remedy = "if yours: `dayleaf store workspace claim` in a terminal"
        rows.append(["claimed", "%s, not proved; %s" % (claimed, remedy)])
    rows += [[name, folder] for name, folder in value["tiers"].items()]
    rows += [["added", added(tier)] for tier in value["added"]]
    missing = "missing; '%s/install.sh' sets it up" % plugin
    rows.append(["runtime", runtime["python"] if runtime["present"] else missing])
    not_linked = "not in your terminal yet: " + layout.LINK_COMMAND % plugin
    rows.append(["command", value["command"] or not_linked])
    changed = [
        [key, one_line(fastjson.dump(row["value"])), row["source"]]
        for key, row in value["settings"].items()
        if row["value"] != config.DEFAULTS[key]
    ]
    out = [
        *screen.table(rows),
        *pastlines.switched_off_lines(value["off"]),
        *pastlines.switched_off_lines(value["unkept"], "capture"),
        "",
        style.bold("Records"),
        *_records(value),
        "",
        style.bold("Index"),
        *index(value)[1:],
    ]
    tags = [
        [one_line(tag["tag"]), "%g" % tag["weight"], one_line(tag["from"])]
        for tag in value["contextTags"]
    ]
    if tags:
        out += ["", style.bold("Context tags"), *screen.table(tags, "  ", (1,))]
    out += ["", last_audit(value["audit"])]
    if value["upkeep"]:
        out += ["", "upkeep %s; %s" % (value["upkeep"], housekeeping.LOOK)]
    if changed:
        out += ["", style.bold("Changed settings"), *screen.table(changed, "  ")]
    return out + ["! " + one_line(problem) for problem in value["problems"]]


def added(tier: Mapping[str, Any]) -> str:
    """Return the state of an added tier as text (otherfiles.Added.state)."""
    left = len(tier["skipped"])
    said = tier["fault"] or count(tier["files"], "file") + (", %d left out" % left if left else "")
    return "%s (%s)" % (one_line(tier["folder"]), said)


def _records(value: dict[str, Any]) -> list[str]:
    rows = [
        [kind, f"{sum(tiers.values()):,}", ", ".join("%s %d" % item for item in tiers.items())]
        for kind, tiers in value["records"].items()
    ]
    return screen.table(rows, "  ", (1,)) or ['  none yet: `dayleaf learn "…"` keeps the first']


def _vectors(made: dict[str, Any]) -> str:
    remedy = ""
    if made["problem"]:
        remedy = "; %s, %s mends it" % (made["problem"], EMBED)
    elif made["behind"]:
        remedy = "; %s behind, %s catches up" % (count(made["behind"], "file"), EMBED)
    return "{}, {}, {:,} bytes ({}){}".format(
        count(made["records"], "record"),
        count(made["rows"], "chunk"),
        made["bytes"],
        made["label"],
        remedy,
    )


def index(value: dict[str, Any]) -> list[str]:
    """Return the index's part of `figures.state` in lines."""
    found = value["index"]
    said = found["state"]
    if said == "stale":
        behind = ", ".join("%d %s" % (n, what) for what, n in found["behind"].items() if n)
        said += " (%s); %s mends it" % (behind, found["remedy"])
    elif said == "missing":
        said += "; %s builds it; until then recall reads the files" % found["remedy"]
    elif said == "damaged":
        said += " (%s); %s mends it" % (found["why"], found["remedy"])
    rows = [["state", said], ["path", found["path"]]]
    if "generation" in found:
        rows += [
            [
                "made",
                "{}, {:,} bytes{}".format(
                    found["built"],
                    found["bytes"],
                    ", " + count(found["terms"], "term") if found["terms"] else "",
                ),
            ],
            [
                "added",
                "{} since then, {:,} bytes".format(
                    count(found["deltaFrames"], "change"), found["deltaBytes"]
                ),
            ],
            ["holds", count(found["records"], "record")],
        ]
    made = value["vectors"]
    if made["rows"] or made["problem"]:
        rows.append(["vectors", _vectors(made)])
    skipped = [
        "  skipped %s:%d: %s; %s" % (one_line(s["name"]), s["line"], s["reason"], s["remedy"])
        for s in value["skipped"][:MOST_LISTED]
    ]
    rest = len(value["skipped"]) - MOST_LISTED
    return [
        "workspace  " + value["workspace"],
        *screen.table(rows, "  "),
        *skipped,
        *(["  and %d more; `dayleaf doctor` lists them" % rest] if rest > 0 else []),
    ]


def verdicts(found: Sequence[Finding], style: screen.Style) -> list[str]:
    """Return doctor's findings, one per line, and a summary."""
    out = []
    wide = max([8, *(len(check.about) for check in found)])
    for check in found:
        said = one_line(check.summary + ("; " + check.remedy if check.remedy else ""))
        out.append(
            "%s  %s  %s"
            % (style.verdict(screen.pad(check.severity, 4)), screen.pad(check.about, wide), said)
        )
    counts = (
        "%d %s" % (sum(check.severity == severity for check in found), severity)
        for severity in (OK, WARN, FAIL)
    )
    return [*out, "", ", ".join(counts)]


def faults(found: Sequence[Finding], looked: int, here: str) -> list[str]:
    """Return check's findings, one per line, and a summary.

    `path:line: what; remedy`. looked: number of files. here: directory for relative paths.
    """
    out = [
        one_line(
            "%s: %s%s; %s"
            % (
                _where(fault, here),
                "error: " if fault.is_error else "warning: ",
                fault.what,
                fault.remedy,
            )
        )
        for fault in found
    ]
    errors = sum(fault.is_error for fault in found)
    return [
        *out,
        "%s checked: %s, %s"
        % (count(looked, "file"), count(errors, "error"), count(len(found) - errors, "warning")),
    ]


def last_audit(found: Mapping[str, Any]) -> str:
    """Return `inspection.last` as one line."""
    if not found:
        return (
            "last audit: never; `dayleaf store audit` looks for secrets, stale and unused records, "
            "dangling links and more"
        )
    listed = "; `dayleaf store audit` shows what it found" if any(found["counts"].values()) else ""
    return "last audit: %s, %s%s" % (found["time"][:10], _summary(found["counts"]), listed)


def audited(found: Audited, sections: Sequence[str], here: str, style: screen.Style) -> list[str]:
    """Return audit's findings in lines, by section.

    The first of each where several sections are asked for. here: directory for relative paths.
    """
    out: list[str] = []
    for section, heading in SECTIONS.items():
        mine = [one for one in found.findings if one.about == section]
        most = len(mine) if len(sections) == 1 or len(mine) <= MOST_FINDINGS + 1 else MOST_FINDINGS
        rest = (
            ["  and %d more; `dayleaf store audit %s` lists all" % (len(mine) - most, section)]
            if len(mine) > most
            else []
        )
        if mine:
            out += [
                "%s (%d)" % (style.bold(heading), len(mine)),
                *(_finding_line(one, here, style) for one in mine[:most]),
                *rest,
                "",
            ]
    return [
        *out,
        *found.notes,
        "%s audited: %s" % (count(found.records, "record"), _summary(found.counts(sections))),
    ]


def _finding_line(one: Finding, here: str, style: screen.Style) -> str:
    title = style.fit(one_line(one.title), 50)
    parts = [
        part
        for part in (one.id, title, _where(one, here), "%s; %s" % (one.what, one.remedy))
        if part
    ]
    return "  " + one_line("  ".join(parts))


def _where(one: Finding, here: str) -> str:
    path = one.place[len(here) + 1 :] if here and one.place.startswith(here + "/") else one.place
    return "%s:%d" % (path, one.line)


def _summary(counts: Mapping[str, int]) -> str:
    """Return counts as `2 secrets, 1 dangling`, or `nothing found`."""
    return (
        ", ".join(
            "%d %s" % (number, section[: -1 if number == 1 and section[-1] == "s" else None])
            for section, number in counts.items()
            if number
        )
        or "nothing found"
    )


def account(digest: Digest) -> list[list[str]]:
    """Return how a digest was made, as rows of (step, outcome)."""
    found = digest.checked
    return [
        *([step.provider, step.outcome] for step in digest.steps),
        ["model calls", str(digest.calls)],
        ["bullets", "%d, %d kept" % (found.bullets, found.kept)],
        *(["cut", "%s: %s" % (cut.why, cut.what)] for cut in found.cut),
    ]


def measured(results: Sequence[dict[str, Any]], style: screen.Style) -> list[str]:
    """Return the measurements of eval in lines, file by file."""
    return [
        line
        for at, one in enumerate(results)
        for line in ([""] if at else []) + _measured(one, style)
    ]


def _measured(one: dict[str, Any], style: screen.Style) -> list[str]:
    asked = "%d quer%s" % (one["queries"], "y" if one["queries"] == 1 else "ies")
    out = [style.bold("%s of %s" % (asked, one_line(one["path"])))]
    gone = sorted({id for ids in one["gone"].values() for id in ids})
    if gone:
        out.append(
            "! %s expected but not in the store: %s%s; correct the file, or `dayleaf store "
            "restore ID`"
            % (
                count(len(gone), "id"),
                ", ".join(map(one_line, gone[:3])),
                " …" if len(gone) > 3 else "",
            )
        )
    if one["leftOut"]:
        out.append(
            "! left out, because every record they expect is gone: "
            + ", ".join(map(one_line, one["leftOut"]))
        )
    out += ["", *_rankers(one["rankers"], one["main"]), *one["notes"]]
    out += _misses(one)
    out += [
        "! %s is %.2f with %s, below the floor of %.2f"
        % (fault["measure"], fault["reached"], one["main"], fault["floor"])
        for fault in one["below"]
    ]
    return [one_line(line) if line.startswith("!") else line for line in out]


def _rankers(rankers: dict[str, dict[str, float]], main: str) -> list[str]:
    """Return one row per ranker, the best of each column starred."""
    from memory.health.goldens import MEASURES

    best = {name: max(each[name] for each in rankers.values()) for name in MEASURES}
    rows = [
        [
            ranker,
            *(
                "%.2f%s" % (each[name], "*" if each[name] == best[name] else " ")
                for name in MEASURES
            ),
            "what recall uses" if ranker == main else "",
        ]
        for ranker, each in rankers.items()
    ]
    return screen.table([["", *(head + " " for head in HEADS), ""], *rows], "  ", (1, 2, 3, 4))


def _misses(one: dict[str, Any]) -> list[str]:
    if not one["misses"]:
        return []
    rows = [
        [one_line(miss["query"]), ", ".join(map(one_line, miss["missed"])), one_line(miss["text"])]
        for miss in one["misses"]
    ]
    return ["", "Missing from the first ten hits", *screen.table(rows, "  ")]


# ---- a team


def _unexchanged(found: Status) -> list[str]:
    return [
        "%s about shared records not %s yet" % (count(number, "commit"), what)
        for number, what in ((found.ahead, "pushed"), (found.behind, "merged"))
        if number > 0
    ]


def team(
    found: Status, titles: dict[str, tuple[str, str]], skipped: Sequence[Skipped]
) -> list[str]:
    """Return the state of a team's records in lines.

    titles: (id, title) of the readable ones, by name. skipped: the others.
    """
    lines = ["%s: %s" % (one_line(path), what) for path, what in found.conflicts]
    lines += ["%s: %s; %s" % (one.name, one.reason, one.remedy) for one in skipped]
    readable = [held for held in found.records if held.name in titles]
    new = [held for held in readable if held.fresh]
    loose = [held for held in readable if held.state != "committed" and held not in new]
    rest = [held for held in readable if held not in new and held not in loose]
    lines += _sheet(
        "Removed by others since the last pull",
        [
            "  %s  %s  %s; `%s` brings it back"
            % (
                one_line(gone.id),
                _clipped(gone.title),
                one_line(gone.by, 40) or "git does not say who",
                one_line(gone.back),
            )
            for gone in found.removed
        ],
    )
    for heading, rows in (
        ("New since the last pull", new),
        ("Not committed", loose),
        ("All others", rest),
    ):
        lines += _sheet(
            heading,
            screen.table(
                [
                    ["", titles[held.name][0], _clipped(titles[held.name][1]), _by(held)]
                    for held in rows
                ]
            ),
        )
    lines += _unexchanged(found)
    return lines or ["nothing is shared here; `dayleaf record share ID` shares a record"]


def _sheet(heading: str, rows: list[str]) -> list[str]:
    """Return a heading with its number of rows, and the first ones."""
    more = (
        ["  … and %d more; --json lists all" % (len(rows) - MOST_OF_TEAM)]
        if len(rows) > MOST_OF_TEAM
        else []
    )
    return ["%s (%d)" % (heading, len(rows)), *rows[:MOST_OF_TEAM], *more] if rows else []


def _clipped(title: str) -> str:
    return clip_columns(one_line(title), 60)


def _by(held: SharedRecord) -> str:
    by = "you" if held.mine else one_line(held.by, 40)
    last = one_line(held.last, 40)
    return by + (
        ", %s" % held.state
        if held.state != "committed"
        else ", last %s" % last
        if last != held.by
        else ""
    )
