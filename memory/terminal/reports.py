"""The results of status, doctor, check, audit, eval and shared, and a digest's steps, in lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memory.core import config, fastjson, layout
from memory.core.plaintext import clip_columns, format_count, one_line
from memory.health import FAIL, OK, WARN, Finding
from memory.health.figures import EMBED
from memory.health.inspection import SECTIONS, AuditResult
from memory.knowledge import housekeeping
from memory.terminal import pastlines, screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.distill.digests import Digest
    from memory.project.sharing import SharedRecord, Status
    from memory.store.reader import SkippedFile

HEADS = ("recall@1", "recall@5", "recall@10", "MRR")
MOST_FINDINGS = 10  # of a section, if audit lists several
MOST_LISTED = 10  # skipped records
MOST_OF_TEAM = 30  # records under one heading


def state_lines(value: dict[str, Any], style: screen.Style) -> list[str]:
    """Return `figures.read_state` in lines."""
    runtime = value["runtime"]
    claimed = value["claimed"]
    plugin = layout.plugin_folder()
    rows = [["workspace", value["workspace"]]]
    if claimed:
        remedy = "if yours: `dayleaf store workspace claim` in a terminal"
        rows.append(["claimed", "%s, not proved; %s" % (claimed, remedy)])
    rows += [[name, folder] for name, folder in value["tiers"].items()]
    rows += [["added", format_added_tier(tier)] for tier in value["added"]]
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
        *screen.format_table(rows),
        *pastlines.switched_off_lines(value["off"]),
        *pastlines.switched_off_lines(value["unkept"], "capture"),
        "",
        style.bold("Records"),
        *_format_records(value),
        "",
        style.bold("Index"),
        *index_lines(value)[1:],
    ]
    tags = [
        [one_line(tag["tag"]), "%g" % tag["weight"], one_line(tag["from"])]
        for tag in value["contextTags"]
    ]
    if tags:
        out += ["", style.bold("Context tags"), *screen.format_table(tags, "  ", (1,))]
    out += ["", format_last_audit(value["audit"])]
    if value["upkeep"]:
        out += ["", "upkeep %s; %s" % (value["upkeep"], housekeeping.LOOK)]
    if changed:
        out += ["", style.bold("Changed settings"), *screen.format_table(changed, "  ")]
    return out + ["! " + one_line(problem) for problem in value["problems"]]


def format_added_tier(tier: Mapping[str, Any]) -> str:
    """Return the state of an added folder (`otherfiles.AddedTier.state`) as text."""
    left = len(tier["skipped"])
    said = tier["fault"] or format_count(tier["files"], "file") + (
        ", %d left out" % left if left else ""
    )
    return "%s (%s)" % (one_line(tier["folder"]), said)


def _format_records(value: dict[str, Any]) -> list[str]:
    rows = [
        [kind, f"{sum(tiers.values()):,}", ", ".join("%s %d" % item for item in tiers.items())]
        for kind, tiers in value["records"].items()
    ]
    return screen.format_table(rows, "  ", (1,)) or [
        '  none yet: `dayleaf learn "…"` keeps the first'
    ]


def _format_vectors(made: dict[str, Any]) -> str:
    remedy = ""
    if made["problem"]:
        remedy = "; %s, %s mends it" % (made["problem"], EMBED)
    elif made["behind"]:
        remedy = "; %s behind, %s catches up" % (format_count(made["behind"], "file"), EMBED)
    return "{}, {}, {:,} bytes ({}){}".format(
        format_count(made["records"], "record"),
        format_count(made["rows"], "chunk"),
        made["bytes"],
        made["label"],
        remedy,
    )


def index_lines(value: dict[str, Any]) -> list[str]:
    """Return the index's state from `figures.read_state` in lines."""
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
                    ", " + format_count(found["terms"], "term") if found["terms"] else "",
                ),
            ],
            [
                "added",
                "{} since then, {:,} bytes".format(
                    format_count(found["deltaFrames"], "change"), found["deltaBytes"]
                ),
            ],
            ["holds", format_count(found["records"], "record")],
        ]
    made = value["vectors"]
    if made["rows"] or made["problem"]:
        rows.append(["vectors", _format_vectors(made)])
    skipped = [
        "  skipped %s:%d: %s; %s" % (one_line(s["name"]), s["line"], s["reason"], s["remedy"])
        for s in value["skipped"][:MOST_LISTED]
    ]
    rest = len(value["skipped"]) - MOST_LISTED
    return [
        "workspace  " + value["workspace"],
        *screen.format_table(rows, "  "),
        *skipped,
        *(["  and %d more; `dayleaf doctor` lists them" % rest] if rest > 0 else []),
    ]


def verdict_lines(found: Sequence[Finding], style: screen.Style) -> list[str]:
    """Return doctor's findings, one per line, and their counts."""
    out = []
    wide = max([8, *(len(check.about) for check in found)])
    for check in found:
        said = one_line(check.summary + ("; " + check.remedy if check.remedy else ""))
        out.append(
            "%s  %s  %s"
            % (
                style.colour_verdict(screen.pad(check.severity, 4)),
                screen.pad(check.about, wide),
                said,
            )
        )
    counts = (
        "%d %s" % (sum(check.severity == severity for check in found), severity)
        for severity in (OK, WARN, FAIL)
    )
    return [*out, "", ", ".join(counts)]


def fault_lines(found: Sequence[Finding], looked: int, here: str) -> list[str]:
    """Return check's findings as `path:line: what; remedy`, and their counts.

    looked: number of files. here: directory for relative paths.
    """
    out = [
        one_line(
            "%s: %s%s; %s"
            % (
                _format_place(fault, here),
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
        % (
            format_count(looked, "file"),
            format_count(errors, "error"),
            format_count(len(found) - errors, "warning"),
        ),
    ]


def format_last_audit(found: Mapping[str, Any]) -> str:
    """Return `inspection.read_last` in a line."""
    if not found:
        return (
            "last audit: never; `dayleaf store audit` looks for secrets, stale and unused records, "
            "dangling links and more"
        )
    listed = "; `dayleaf store audit` shows what it found" if any(found["counts"].values()) else ""
    return "last audit: %s, %s%s" % (found["time"][:10], _format_counts(found["counts"]), listed)


def audit_lines(
    found: AuditResult, sections: Sequence[str], here: str, style: screen.Style
) -> list[str]:
    """Return audit's findings in lines, by section.

    Of several sections the first findings only. here: directory for relative paths.
    """
    out: list[str] = []
    for section, heading in SECTIONS.items():
        lines = [
            _format_finding(one, here, style) for one in found.findings if one.about == section
        ]
        if not lines:
            continue
        out.append("%s (%d)" % (style.bold(heading), len(lines)))
        if len(sections) > 1 and len(lines) > MOST_FINDINGS + 1:
            rest = len(lines) - MOST_FINDINGS
            more = "  and %d more; `dayleaf store audit %s` lists all" % (rest, section)
            lines = [*lines[:MOST_FINDINGS], more]
        out += [*lines, ""]
    return [
        *out,
        *found.notes,
        "%s audited: %s"
        % (format_count(found.records, "record"), _format_counts(found.counts(sections))),
    ]


def _format_finding(finding: Finding, here: str, style: screen.Style) -> str:
    title = style.fit(one_line(finding.title), 50)
    parts = [
        part
        for part in (
            finding.id,
            title,
            _format_place(finding, here),
            "%s; %s" % (finding.what, finding.remedy),
        )
        if part
    ]
    return "  " + one_line("  ".join(parts))


def _format_place(finding: Finding, here: str) -> str:
    path = (
        finding.place[len(here) + 1 :]
        if here and finding.place.startswith(here + "/")
        else finding.place
    )
    return "%s:%d" % (path, finding.line)


def _format_counts(counts: Mapping[str, int]) -> str:
    """Return counts as `2 secrets, 1 dangling`, or `nothing found`."""
    parts = [
        "%d %s" % (number, section.removesuffix("s") if number == 1 else section)
        for section, number in counts.items()
        if number
    ]
    return ", ".join(parts) or "nothing found"


def list_digest_steps(digest: Digest) -> list[list[str]]:
    """Return the steps that made a digest, as rows of (step, outcome)."""
    found = digest.checked
    return [
        *([step.provider, step.outcome] for step in digest.steps),
        ["model calls", str(digest.calls)],
        ["bullets", "%d, %d kept" % (found.bullets, found.kept)],
        *(["cut", "%s: %s" % (cut.why, cut.what)] for cut in found.cut),
    ]


def measurement_lines(results: Sequence[dict[str, Any]], style: screen.Style) -> list[str]:
    """Return eval's measurements in lines, file by file."""
    return [
        line
        for at, one in enumerate(results)
        for line in ([""] if at else []) + _format_measurement(one, style)
    ]


def _format_measurement(result: dict[str, Any], style: screen.Style) -> list[str]:
    asked = "%d quer%s" % (result["queries"], "y" if result["queries"] == 1 else "ies")
    out = [style.bold("%s of %s" % (asked, one_line(result["path"])))]
    gone = sorted({id for ids in result["gone"].values() for id in ids})
    if gone:
        out.append(
            "! %s expected but not in the store: %s%s; correct the file, or `dayleaf store "
            "restore ID`"
            % (
                format_count(len(gone), "id"),
                ", ".join(map(one_line, gone[:3])),
                " …" if len(gone) > 3 else "",
            )
        )
    if result["leftOut"]:
        out.append(
            "! left out, because every record they expect is gone: "
            + ", ".join(map(one_line, result["leftOut"]))
        )
    out += ["", *_compare_rankers(result["rankers"], result["main"]), *result["notes"]]
    out += _format_misses(result)
    out += [
        "! %s is %.2f with %s, below the floor of %.2f"
        % (fault["measure"], fault["reached"], result["main"], fault["floor"])
        for fault in result["below"]
    ]
    return [one_line(line) if line.startswith("!") else line for line in out]


def _compare_rankers(rankers: dict[str, dict[str, float]], main: str) -> list[str]:
    """Return a row for each ranker, each column's best starred."""
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
    return screen.format_table(
        [["", *(head + " " for head in HEADS), ""], *rows], "  ", (1, 2, 3, 4)
    )


def _format_misses(result: dict[str, Any]) -> list[str]:
    if not result["misses"]:
        return []
    rows = [
        [one_line(miss["query"]), ", ".join(map(one_line, miss["missed"])), one_line(miss["text"])]
        for miss in result["misses"]
    ]
    return ["", "Missing from the first ten hits", *screen.format_table(rows, "  ")]


# ---- a team


def _format_unsynced(found: Status) -> list[str]:
    return [
        "%s about shared records not %s yet" % (format_count(number, "commit"), what)
        for number, what in ((found.ahead, "pushed"), (found.behind, "merged"))
        if number > 0
    ]


def team_lines(
    found: Status, titles: dict[str, tuple[str, str]], skipped: Sequence[SkippedFile]
) -> list[str]:
    """Return the state of a team's shared records in lines.

    titles: (id, title) of the readable ones, by name. skipped: the others.
    """
    lines = ["%s: %s" % (one_line(path), what) for path, what in found.conflicts]
    lines += ["%s: %s; %s" % (one.name, one.reason, one.remedy) for one in skipped]
    readable = [held for held in found.records if held.name in titles]
    new = [held for held in readable if held.fresh]
    loose = [held for held in readable if held.state != "committed" and held not in new]
    rest = [held for held in readable if held not in new and held not in loose]
    lines += _format_group(
        "Removed by others since the last pull",
        [
            "  %s  %s  %s; `%s` brings it back"
            % (
                one_line(gone.id),
                _clip_title(gone.title),
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
        lines += _format_group(
            heading,
            screen.format_table(
                [
                    [
                        "",
                        titles[held.name][0],
                        _clip_title(titles[held.name][1]),
                        _format_author(held),
                    ]
                    for held in rows
                ]
            ),
        )
    lines += _format_unsynced(found)
    return lines or ["nothing is shared here; `dayleaf record share ID` shares a record"]


def _format_group(heading: str, rows: list[str]) -> list[str]:
    more = (
        ["  … and %d more; --json lists all" % (len(rows) - MOST_OF_TEAM)]
        if len(rows) > MOST_OF_TEAM
        else []
    )
    return ["%s (%d)" % (heading, len(rows)), *rows[:MOST_OF_TEAM], *more] if rows else []


def _clip_title(title: str) -> str:
    return clip_columns(one_line(title), 60)


def _format_author(held: SharedRecord) -> str:
    by = "you" if held.mine else one_line(held.by, 40)
    last = one_line(held.last, 40)
    if held.state != "committed":
        return "%s, %s" % (by, held.state)
    return by + (", last %s" % last if last != held.by else "")
