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
    from memory.project.sharing import RemovedRecord, SharedRecord, Status
    from memory.store.reader import SkippedFile

HEADS = ("recall@1", "recall@5", "recall@10", "MRR")
MOST_FINDINGS = 10  # of a section, if audit lists several
MOST_LISTED = 10  # skipped records
MOST_OF_TEAM = 30  # records under one heading


def state_lines(value: dict[str, Any], style: screen.Style) -> list[str]:
    """Format the memory's state (`figures.read_state`) for `status`."""
    runtime, plugin = value["runtime"], layout.plugin_folder()
    rows = [["workspace", value["workspace"]]]
    if value["claimed"]:
        remedy = "if yours: `dayleaf store workspace claim` in a terminal"
        rows.append(["claimed", "%s, not proved; %s" % (value["claimed"], remedy)])
    rows += [[name, folder] for name, folder in value["tiers"].items()]
    rows += [["added", format_added_tier(tier)] for tier in value["added"]]
    missing = "missing; '%s/install.sh' sets it up" % plugin
    rows.append(["runtime", runtime["python"] if runtime["present"] else missing])
    not_linked = "not in your terminal yet: " + layout.LINK_COMMAND % plugin
    rows.append(["command", value["command"] or not_linked])
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
    changed = [
        [key, one_line(fastjson.dump(row["value"])), row["source"]]
        for key, row in value["settings"].items()
        if row["value"] != config.DEFAULTS[key]
    ]
    if changed:
        out += ["", style.bold("Changed settings"), *screen.format_table(changed, "  ")]
    return out + ["! " + one_line(problem) for problem in value["problems"]]


def format_added_tier(tier: Mapping[str, Any]) -> str:
    """Format the state of an added folder (`otherfiles.AddedTier.state`)."""
    state = tier["fault"]
    if not state:
        state = format_count(tier["files"], "file")
        state += ", %d left out" % len(tier["skipped"]) if tier["skipped"] else ""
    return "%s (%s)" % (one_line(tier["folder"]), state)


def _format_records(value: dict[str, Any]) -> list[str]:
    rows = [
        [kind, f"{sum(tiers.values()):,}", ", ".join("%s %d" % item for item in tiers.items())]
        for kind, tiers in value["records"].items()
    ]
    return screen.format_table(rows, "  ", (1,)) or [
        '  none yet: `dayleaf learn "…"` keeps the first'
    ]


def _format_vectors(made: dict[str, Any]) -> str:
    records, chunks = format_count(made["records"], "record"), format_count(made["rows"], "chunk")
    line = f"{records}, {chunks}, {made['bytes']:,} bytes ({made['label']})"
    if made["problem"]:
        line += "; %s, %s mends it" % (made["problem"], EMBED)
    elif made["behind"]:
        line += "; %s behind, %s catches up" % (format_count(made["behind"], "file"), EMBED)
    return line


def index_lines(value: dict[str, Any]) -> list[str]:
    """Format the index's state (`figures.read_state`)."""
    found, made = value["index"], value["vectors"]
    state, remedy = found["state"], found.get("remedy")
    if state == "stale":
        behind = ", ".join("%d %s" % (n, what) for what, n in found["behind"].items() if n)
        state += " (%s); %s mends it" % (behind, remedy)
    elif state == "missing":
        state += "; %s builds it; until then recall reads the files" % remedy
    elif state == "damaged":
        state += " (%s); %s mends it" % (found["why"], remedy)
    rows = [["state", state], ["path", found["path"]]]
    if "generation" in found:
        terms = ", " + format_count(found["terms"], "term") if found["terms"] else ""
        changes = format_count(found["deltaFrames"], "change")
        rows += [
            ["made", f"{found['built']}, {found['bytes']:,} bytes{terms}"],
            ["added", f"{changes} since then, {found['deltaBytes']:,} bytes"],
            ["holds", format_count(found["records"], "record")],
        ]
    if made["rows"] or made["problem"]:
        rows.append(["vectors", _format_vectors(made)])
    lines = ["workspace  " + value["workspace"], *screen.format_table(rows, "  ")]
    for file in value["skipped"][:MOST_LISTED]:
        place = "%s:%d" % (one_line(file["name"]), file["line"])
        lines.append("  skipped %s: %s; %s" % (place, file["reason"], file["remedy"]))
    rest = len(value["skipped"]) - MOST_LISTED
    return lines + ["  and %d more; `dayleaf doctor` lists them" % rest] * (rest > 0)


def verdict_lines(found: Sequence[Finding], style: screen.Style) -> list[str]:
    """Format doctor's findings, one per line, and their counts."""
    out = []
    wide = max([8, *(len(check.about) for check in found)])
    for check in found:
        verdict = style.colour_verdict(screen.pad(check.severity, 4))
        text = one_line(check.summary + ("; " + check.remedy if check.remedy else ""))
        out.append("%s  %s  %s" % (verdict, screen.pad(check.about, wide), text))
    severities = [check.severity for check in found]
    counts = ("%d %s" % (severities.count(severity), severity) for severity in (OK, WARN, FAIL))
    return [*out, "", ", ".join(counts)]


def fault_lines(found: Sequence[Finding], looked: int, here: str) -> list[str]:
    """Format check's findings as `path:line: what; remedy`, and their counts.

    looked: number of files. here: directory for relative paths.
    """
    out = []
    for fault in found:
        word = "error" if fault.is_error else "warning"
        place = _format_place(fault, here)
        out.append(one_line("%s: %s: %s; %s" % (place, word, fault.what, fault.remedy)))
    errors = sum(fault.is_error for fault in found)
    counts = [(looked, "file"), (errors, "error"), (len(found) - errors, "warning")]
    return [*out, "%s checked: %s, %s" % tuple(format_count(*count) for count in counts)]


def format_last_audit(found: Mapping[str, Any]) -> str:
    """Format the last audit's date and counts (`inspection.read_last`)."""
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
    """Format audit's findings by section.

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
    counts = format_count(found.records, "record"), _format_counts(found.counts(sections))
    return [*out, *found.notes, "%s audited: %s" % counts]


def _format_finding(finding: Finding, here: str, style: screen.Style) -> str:
    title, place = style.fit(one_line(finding.title), 50), _format_place(finding, here)
    parts = finding.id, title, place, "%s; %s" % (finding.what, finding.remedy)
    return "  " + one_line("  ".join(filter(None, parts)))


def _format_place(finding: Finding, here: str) -> str:
    path = finding.place.removeprefix(here + "/") if here else finding.place
    return "%s:%d" % (path, finding.line)


def _format_counts(counts: Mapping[str, int]) -> str:
    """Format counts as `2 secrets, 1 dangling`, or `nothing found`."""
    parts = [
        "%d %s" % (number, section.removesuffix("s") if number == 1 else section)
        for section, number in counts.items()
        if number
    ]
    return ", ".join(parts) or "nothing found"


def list_digest_steps(digest: Digest) -> list[list[str]]:
    """List the steps that made a digest, as (step, outcome)."""
    found = digest.checked
    return [
        *([step.provider, step.outcome] for step in digest.steps),
        ["model calls", str(digest.calls)],
        ["bullets", "%d, %d kept" % (found.bullets, found.kept)],
        *(["cut", "%s: %s" % (cut.why, cut.what)] for cut in found.cut),
    ]


def measurement_lines(results: Sequence[dict[str, Any]], style: screen.Style) -> list[str]:
    """Format eval's measurements, file by file."""
    out: list[str] = []
    for result in results:
        out += [""] * bool(out) + _format_measurement(result, style)
    return out


def _format_measurement(result: dict[str, Any], style: screen.Style) -> list[str]:
    asked = "%d quer%s" % (result["queries"], "y" if result["queries"] == 1 else "ies")
    out = [style.bold("%s of %s" % (asked, one_line(result["path"])))]
    gone = sorted({id for ids in result["gone"].values() for id in ids})
    if gone:
        few = ", ".join(map(one_line, gone[:3])) + " …" * (len(gone) > 3)
        line = "! %s expected but not in the store: %s; correct the file, or `dayleaf store restore"
        out.append(line % (format_count(len(gone), "id"), few) + " ID`")
    if result["leftOut"]:
        left_out = ", ".join(map(one_line, result["leftOut"]))
        out.append("! left out, because every record they expect is gone: " + left_out)
    out += ["", *_compare_rankers(result["rankers"], result["main"]), *result["notes"]]
    if result["misses"]:
        rows = [
            list(map(one_line, (miss["query"], ", ".join(miss["missed"]), miss["text"])))
            for miss in result["misses"]
        ]
        out += ["", "Missing from the first ten hits", *screen.format_table(rows, "  ")]
    for fault in result["below"]:
        reached = "%s is %.2f with %s" % (fault["measure"], fault["reached"], result["main"])
        out.append("! %s, below the floor of %.2f" % (reached, fault["floor"]))
    return [one_line(line) if line.startswith("!") else line for line in out]


def _compare_rankers(rankers: dict[str, dict[str, float]], main: str) -> list[str]:
    """Format a table of rankers, with a star at each column's best."""
    from memory.health.goldens import MEASURES

    best = {name: max(each[name] for each in rankers.values()) for name in MEASURES}
    rows = [["", *(head + " " for head in HEADS), ""]]
    for ranker, each in rankers.items():
        marks = {name: "*" if each[name] == best[name] else " " for name in MEASURES}
        cells = ["%.2f%s" % (each[name], marks[name]) for name in MEASURES]
        rows.append([ranker, *cells, "what recall uses" if ranker == main else ""])
    return screen.format_table(rows, "  ", (1, 2, 3, 4))


# ---- a team


def team_lines(
    found: Status, titles: dict[str, tuple[str, str]], skipped: Sequence[SkippedFile]
) -> list[str]:
    """Format the state of a team's shared records.

    titles: (id, title) of the readable ones, by name. skipped: the others.
    """
    lines = ["%s: %s" % (one_line(path), what) for path, what in found.conflicts]
    lines += ["%s: %s; %s" % (one.name, one.reason, one.remedy) for one in skipped]
    readable = [record for record in found.records if record.name in titles]
    new = [record for record in readable if record.fresh]
    old = [record for record in readable if not record.fresh]
    loose = [record for record in old if record.state != "committed"]
    rest = [record for record in old if record.state == "committed"]
    removed = [_format_removed(gone) for gone in found.removed]
    lines += _format_group("Removed by others since the last pull", removed)
    groups = {"New since the last pull": new, "Not committed": loose, "All others": rest}
    for heading, group in groups.items():
        rows = [_format_shared(record, *titles[record.name]) for record in group]
        lines += _format_group(heading, screen.format_table(rows))
    for number, what in ((found.ahead, "pushed"), (found.behind, "merged")):
        commits = format_count(number, "commit")
        lines += ["%s about shared records not %s yet" % (commits, what)] * (number > 0)
    return lines or ["nothing is shared here; `dayleaf record share ID` shares a record"]


def _format_removed(gone: RemovedRecord) -> str:
    by = one_line(gone.by, 40) or "git does not say who"
    head = "  %s  %s  %s" % (one_line(gone.id), _clip_title(gone.title), by)
    return "%s; `%s` brings it back" % (head, one_line(gone.back))


def _format_shared(held: SharedRecord, id: str, title: str) -> list[str]:
    return ["", id, _clip_title(title), _format_author(held)]


def _format_group(heading: str, rows: list[str]) -> list[str]:
    if not rows:
        return []
    rest = len(rows) - MOST_OF_TEAM
    more = ["  … and %d more; --json lists all" % rest] * (rest > 0)
    return ["%s (%d)" % (heading, len(rows)), *rows[:MOST_OF_TEAM], *more]


def _clip_title(title: str) -> str:
    return clip_columns(one_line(title), 60)


def _format_author(held: SharedRecord) -> str:
    by = "you" if held.mine else one_line(held.by, 40)
    last = one_line(held.last, 40)
    if held.state != "committed":
        return "%s, %s" % (by, held.state)
    return by + (", last %s" % last if last != held.by else "")
