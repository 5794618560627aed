"""A standup in lines, and the overview of plain `dayleaf`.

A standup lists results and open work by branch, for each day or for the whole time: at most 15
lines a day, 60 in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from typing import Any, NamedTuple

from memory.capture import checkpointoutline, openings
from memory.core import IndexFault, clock, records
from memory.core.config import Config
from memory.core.layout import Place, project_name, read_branch
from memory.core.plaintext import clip_at_word, clip_columns, format_age, format_count, one_line
from memory.core.records import Record
from memory.distill import digests
from memory.distill.digests import Digest
from memory.hook import fence, handoffs, indexview, signs
from memory.hook.handoffs import is_from_elsewhere, is_repetition
from memory.knowledge import walls, worklog
from memory.knowledge.worklog import BranchWork, SessionWork, WorkReport, WorkspaceWork
from memory.recall import search
from memory.recall.hit import record_json, split_turns
from memory.recall.question import Query
from memory.store import activeplan
from memory.store.redactor import strip_private_record
from memory.terminal import screen

DAY_LINES, ALL_LINES = 15, 60
MOST_DAYS = 3  # of a standup by day
NAME_LENGTH, OPEN_LENGTH = 44, 150  # characters of a name, of an open item
# How much of a strand (a branch's work) is shown, the fullest first: (results, open items, rows of
# each on a terminal).
_LEVELS = ((6, 3, 3), (4, 2, 3), (3, 2, 3), (2, 1, 3), (1, 1, 3), (1, 1, 2), (1, 0, 2))
_WEEKDAYS = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")  # 1970-01-01 was a Thursday


def standup_lines(
    report: WorkReport, style: screen.Style, markdown: bool = False, digest: Digest | None = None
) -> list[str]:
    """Format a standup by workspace, day and branch.

    markdown: do not wrap entries. digest: a model's summary, in place of the work.
    """
    since, spaces = _format_period(report), report.spaces
    if not spaces:
        where = "any workspace" if report.asked == "all" else one_line(project_name(report.asked))
        return ["nothing in %s %s" % (where, since)]
    out = [_format_summary(report, since)]
    if digest:
        return [*out, *_format_digest(digest, style, markdown)]
    several = len(spaces) > 1
    authors = _name_authors(report)
    room = max(DAY_LINES, (ALL_LINES - 1 - len(authors)) // len(spaces) - 2 * several)
    for space, name in zip(spaces, _name_workspaces(report)):
        if several:
            out += ["", "## " + name if markdown else style.bold(name)]
        out += _format_workspace(space, room, style, markdown)
    return out + authors


def _name_authors(report: WorkReport) -> list[str]:
    """Return a line on who wrote the notes that a standup quotes, if any."""
    every = (work.noted for space in report.spaces for work in space.work)
    authors = sorted(set(filter(None, every)))
    return ["", "in part in the words of notes by " + ", ".join(authors)] if authors else []


def _name_workspaces(report: WorkReport) -> list[str]:
    """Return the workspaces' names, with their digits where two share a name."""
    names = [project_name(space.workspace) for space in report.spaces]
    return [
        one_line(name if names.count(name) == 1 else space.workspace)
        for name, space in zip(names, report.spaces)
    ]


def _format_digest(digest: Digest, style: screen.Style, markdown: bool) -> list[str]:
    rows = [
        row
        for bullet in digest.bullets
        for row in _format_item(one_line(bullet.statement), ALL_LINES, style, markdown, 0)
    ]
    notes = ["note: " + one_line(note) for note in digest.notes]
    return ["", *rows, "", "written by a model: " + digests.format_reduction(digest), *notes]


def _format_period(report: WorkReport) -> str:
    since = (
        clock.iso(report.since + report.offset(report.since))[:16]
        .replace("T", " ")
        .removesuffix(" 00:00")
    )
    if report.until is None:
        return "since " + since
    end = clock.iso(report.until + report.offset(report.until))[:16].replace("T", " ")
    final = report.until - 1
    last = clock.day(final + report.offset(final)) if end.endswith(" 00:00") else end
    return "on " + since if since == last else "from %s to %s" % (since, last)


def _format_workspace(
    space: WorkspaceWork, room: int, style: screen.Style, markdown: bool
) -> list[str]:
    days = {work.day for work in space.work}
    if len(days) > MOST_DAYS:
        strands = worklog.list_branches(space.work, False)
        return ["", *_fit_strands(strands, room - 1, style, markdown, True)]
    out: list[str] = []
    room = min(DAY_LINES, room // len(days)) - 1
    for day, found in groupby(worklog.list_branches(space.work), lambda strand: strand.day):
        heading = _format_day(day)
        out += ["", "**%s**" % heading if markdown else style.bold(heading)]
        out += _fit_strands(list(found), room, style, markdown, False)
    return out


def _format_day(day: str) -> str:
    return "%s %s" % (_WEEKDAYS[int((clock.parse(day) or 0.0) // clock.DAY) % 7], day)


def _format_summary(report: WorkReport, since: str) -> str:
    every = [(space.workspace, work) for space in report.spaces for work in space.work]
    sessions = {(key, work.session) for key, work in every if work.session}
    notes = sum(not work.session for _, work in every)
    what = [format_count(len(sessions), "session")] if sessions or not notes else []
    what += [format_count(notes, "checkpoint")] if notes else []
    places = _name_workspaces(report)
    where = places[0] if len(places) == 1 else format_count(len(places), "workspace")
    alone = ", in no other workspace," * (report.asked == "all" and len(places) == 1)
    return "%s in %s%s %s" % (" and ".join(what), where, alone, since)


def _fit_strands(
    strands: Sequence[BranchWork], room: int, style: screen.Style, markdown: bool, dated: bool
) -> list[str]:
    """Format branches as fully as `room` lines allow; name those that do not fit."""
    strands = [strand for strand in strands if strand.came or strand.open]
    pages: list[list[str]] = []
    for level in _LEVELS:
        pages = [_format_strand(strand, level, style, markdown, dated) for strand in strands]
        if sum(map(len, pages)) <= room:
            break
    shown = len(strands)
    while shown and sum(map(len, pages[:shown])) + (shown < len(strands)) > room:
        shown -= 1
    rest = _name_strands(strands[shown:], style, markdown)
    return [*(line for page in pages[:shown] for line in page), *rest]


def _name_strands(strands: Sequence[BranchWork], style: screen.Style, markdown: bool) -> list[str]:
    if not strands:
        return []
    names = dict.fromkeys(
        one_line(strand.branch or strand.title, NAME_LENGTH) for strand in strands
    )
    called = ", ".join("`%s`" % name if markdown else name for name in names)
    line = "- %d more: %s" % (len(strands), called)
    return [line if markdown else clip_columns("  " + line, style.columns)]


def _format_strand(
    strand: BranchWork,
    level: tuple[int, int, int],
    style: screen.Style,
    markdown: bool,
    dated: bool,
) -> list[str]:
    """Format a branch's results and open items as a level of _LEVELS allows."""
    most, most_open, rows = level
    name = clip_at_word(one_line(strand.branch), NAME_LENGTH)
    facts = [_format_days(strand)] if dated else []
    facts.append(strand.pull)
    if _has_more_commits(strand, most):
        facts.append(format_count(strand.commits, "commit"))
    if strand.unattended:
        facts.append("unattended")
    aside = ", ".join(filter(None, facts))
    named = "`%s`" % name if markdown and name else name
    head = " ".join(filter(None, (named, "(%s)" % aside if aside else "")))
    number = " (PR %s)" % strand.pull.rpartition(" ")[2]
    texts = [one_line(line).replace(number, "") for line in strand.came[:most]]
    texts += [clip_at_word(one_line(line), OPEN_LENGTH) for line in strand.open[:most_open]]
    texts[0] = head + ": " + texts[0] if head else texts[0]
    lines = []
    for at, text in enumerate(texts):
        lines += _format_item(text, rows, style, markdown, 2 * bool(at))
    return lines


def _has_more_commits(strand: BranchWork, most: int) -> bool:
    shown = 0 if strand.noted else most
    return strand.commits > shown and not strand.pull.startswith(worklog.MERGED_PULL)


def _format_days(strand: BranchWork) -> str:
    last = strand.day[5:]
    return last if strand.first == strand.day else strand.first[5:] + " to " + last


def _format_item(
    text: str, rows: int, style: screen.Style, markdown: bool, indent: int
) -> list[str]:
    mark = " " * indent + "- "
    if markdown:
        return [mark + text]
    wrapped = screen.wrap_text(text, style.columns - len(mark) - 2, rows)
    return ["  " + (" " * len(mark) if at else mark) + row for at, row in enumerate(wrapped)]


_PARTS = ("outcome", "next", "open", "decisions", "fixed")  # sections of a checkpoint in JSON


def _work_json(work: SessionWork) -> dict[str, Any]:
    parts = {name: list(work.parts.get(name, ())) for name in _PARTS}
    return {
        "session": work.session or None,
        "day": work.day,
        "until": clock.iso(work.at),
        "title": work.title,
        "branch": work.branch or None,
        "pull": work.pull or None,
        "ids": list(work.ids),
        "unattended": work.unattended,
        "came": list(work.made) or [work.said] * bool(work.said),
        "commits": list(work.made),
        "files": list(work.files),
        **parts,
    }


def to_json(report: WorkReport) -> dict[str, Any]:
    """Return a standup for --json."""
    spaces = [
        {"workspace": space.workspace, "sessions": [_work_json(work) for work in space.work]}
        for space in report.spaces
    ]
    until = None if report.until is None else clock.iso(report.until)
    return {"since": clock.iso(report.since), "until": until, "workspaces": spaces}


# ---- at a glance

OUTCOME_LENGTH, _BRANCH = 160, 16  # characters of a session's outcome, and of its branch at least
_ROOMY = 60  # columns that leave room for branches
LATEST, LOOKED_AT = 5, 64  # sessions shown, checkpoints searched for them
WALL_DAYS, MOST_WALLS = 14, 3  # days and number of repeated errors


class Glance(NamedTuple):
    """The state of the work and the open decisions.

    branch: checked out, or "". sessions: (newest checkpoint, else conversation; its outcome).
        waiting: number of records that wait for a decision. walls: (error line, number of sessions
        that met it), the most sessions first.
    """

    workspace: str
    branch: str
    sessions: tuple[tuple[Record, str], ...]
    handoff: Record | None
    plan: Record | None
    waiting: int
    walls: tuple[tuple[str, int], ...]


def read_glance(place: Place, settings: Config, now: float, offset: clock.Offset) -> Glance:
    """Read the data of the overview that plain `dayleaf` prints."""
    wanted = (("checkpoint", LOOKED_AT), ("plan", LOOKED_AT), ("conversation", LATEST))
    with search.Searcher(place, settings) as searcher:
        checkpoints, plans, talks = (
            searcher.answer(Query(kinds=(kind,), limit=most), now, offset, [place]).hits
            for kind, most in wanted
        )
    sessions: dict[str, tuple[Record, str]] = {}
    # a program may go on with a person's session: the person's own work stands for it
    for record in sorted((hit.record for hit in checkpoints), key=fence.is_unattended):
        if not is_repetition(record) and not is_from_elsewhere(place, record):
            record = strip_private_record(record)
            outcome = checkpointoutline.split_sections(record.body).get("outcome") or [""]
            sessions.setdefault(_find_session(record), (record, one_line(outcome[0])))
    # sessions of short answers leave no checkpoint
    for record in (strip_private_record(hit.record) for hit in talks):
        lines = (
            openings.format_plain_line(turn.answer, OUTCOME_LENGTH) for turn in split_turns(record)
        )
        answers = ["", *filter(None, lines)]
        sessions.setdefault(_find_session(record), (record, one_line(answers[-1])))
    latest = sorted(
        sessions.values(),
        key=lambda each: (handoffs.is_ahead(each[0], now), -each[0].created, each[0].id),
    )[:LATEST]
    return Glance(
        workspace=place.key,
        branch=read_branch(place.git),
        sessions=tuple(latest),
        handoff=handoffs.read_current(place),
        plan=next((hit.record for hit in plans if hit.record.active), None),
        waiting=_count_waiting(place),
        walls=_list_walls(place, settings, now),
    )


def _find_session(record: Record) -> str:
    return records.meta_text(record, "session") or record.id


def _count_waiting(place: Place) -> int:
    try:
        with closing(indexview.open_index(place)) as found:
            return signs.count_waiting(found)
    except IndexFault:  # the next recall builds one
        return 0


def _list_walls(place: Place, settings: Config, now: float) -> tuple[tuple[str, int], ...]:
    since = now - WALL_DAYS * clock.DAY
    rows = walls.find_failures(place, settings, now)
    found = walls.find_repeated(place, [row for row in rows if row.get("created", 0.0) >= since])
    return tuple((one_line(wall.telling), wall.sessions) for wall in found[:MOST_WALLS])


def glance_json(seen: Glance) -> dict[str, Any]:
    """Return the overview as plain data."""
    return {
        "workspace": seen.workspace,
        "branch": seen.branch or None,
        "sessions": [
            {
                **record_json(record),
                "session": records.meta_text(record, "session") or None,
                "branch": records.meta_text(record, "branch") or None,
                "outcome": outcome,
            }
            for record, outcome in seen.sessions
        ],
        "handoff": record_json(seen.handoff) if seen.handoff else None,
        "plan": record_json(seen.plan) if seen.plan else None,
        "waiting": seen.waiting,
        "walls": [{"error": telling, "sessions": many} for telling, many in seen.walls],
    }


_NOTHING = (
    "no sessions here yet: a session shows up once something was done or answered in it",
    '`dayleaf learn "…"` keeps what you found out; `dayleaf store import transcripts` '
    "brings in past sessions",
)


def glance_lines(seen: Glance, now: float, style: screen.Style) -> list[str]:
    """Format the overview of plain `dayleaf`."""
    branch = ", on " + one_line(seen.branch) if seen.branch else ""
    out = [style.bold(one_line(seen.workspace)) + branch]
    for word, found in (("handoff", seen.handoff), ("plan", seen.plan)):
        if found:
            id, progress = one_line(found.id), _format_progress(found)
            room = style.columns - len(word + id + progress) - 4
            title = style.fit(one_line(found.title), room) + progress
            out.append("%s  %s  %s" % (word, style.colour_kind(found.kind, id), title))
    if seen.sessions:
        out += ["", style.bold("Last sessions"), *_format_sessions(seen, now, style)]
    elif not seen.handoff and not seen.plan:
        out += ["", *_fold(style, *_NOTHING)]
    if seen.waiting:
        wait = "waits" if seen.waiting == 1 else "wait"
        number = format_count(seen.waiting, "record")
        out += ["", "%s %s for review: `dayleaf review`" % (number, wait)]
    if seen.walls:
        rows = [["%s " % format_count(many, "session"), telling] for telling, many in seen.walls]
        out += [
            "",
            style.bold("Errors met again and again in %d days" % WALL_DAYS),
            *screen.format_table(rows, "  ", (0,), style, 1),
            *_fold(
                style,
                '  `dayleaf fix "ERROR"` says what worked, `dayleaf show walls` lists them all',
            ),
        ]
    end = "`dayleaf recall WORDS` searches, `dayleaf help` lists the commands"
    return [*out, "", *map(style.dim, _fold(style, end))]


def _fold(style: screen.Style, *lines: str) -> list[str]:
    return [row for line in lines for row in screen.fold_line(line, style.columns, 2)]


def _format_progress(found: Record) -> str:
    done, of = activeplan.count_steps(found) if found.kind == "plan" else (0, 0)
    return " (%d of %s done)" % (done, format_count(of, "step")) if of else ""


def _format_sessions(seen: Glance, now: float, style: screen.Style) -> list[str]:
    most, rows = max(_BRANCH, style.columns // 4), []
    is_narrow = style.cut and style.columns < _ROOMY
    for record, _ in seen.sessions:
        branch = "" if is_narrow else one_line(str(record.meta.get("branch") or ""))
        branch = style.fit(branch, most)
        if fence.is_unattended(record):
            branch = ", ".join(filter(None, (branch, "unattended")))
        age = format_age(now - record.created)
        rows.append([one_line(record.id), age, one_line(record.title), branch])
    kinds = [record.kind for record, _ in seen.sessions]
    heads = screen.format_table(rows, "  ", (1,), style, 2, kinds)
    lines = []
    for head, (_, outcome) in zip(heads, seen.sessions):
        lines.append(head)
        if outcome:
            text = style.fit(clip_at_word(outcome, OUTCOME_LENGTH), style.columns - 6)
            lines.append("      " + style.dim(text))
    return lines
