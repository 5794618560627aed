"""A standup in lines, and a glance at the work that fits a screen.

A standup tells by branch what came out and what is open, of each day or of more; at most 15 lines a
day, 60 in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from typing import Any, NamedTuple

from memory.capture import checkpointoutline, openings
from memory.core import IndexFault, clock, records
from memory.core.config import Config
from memory.core.layout import Place, branch_of, project_name
from memory.core.plaintext import age, at_word, clip_columns, count, one_line
from memory.core.records import Record
from memory.hook import handoffs, indexview, signs
from memory.hook.handoffs import is_of_others, is_repetition
from memory.knowledge import walls, worklog
from memory.knowledge.worklog import Space, Strand, Work, WorkReport
from memory.recall import search
from memory.recall.hit import record_json, turns
from memory.recall.question import Query
from memory.store import activeplan
from memory.store.redactor import without_private
from memory.terminal import screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.distill.digests import Digest

DAY, ALL, DAYS = 15, 60, 3  # lines of a day, of all, and days up to which each is told by itself
NAME, OPEN = 44, 150  # characters of a name, of what is open
# How much of a strand is told, the fullest first: lines of what came out, of what is open, and
# rows of each on a terminal.
_LEVELS = ((6, 3, 3), (4, 2, 3), (3, 2, 3), (2, 1, 3), (1, 1, 3), (1, 1, 2), (1, 0, 2))
_WEEKDAYS = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")  # 1970-01-01 was a Thursday


def lines(
    told: WorkReport, style: screen.Style, markdown: bool = False, digest: Digest | None = None
) -> list[str]:
    """Return a standup: a summary, then each workspace by day and branch.

    markdown: for pasting, a line for each entry however long. digest: what a model wrote of it,
        told in place of the work.
    """
    since = _span(told)
    if not told.spaces:
        where = "any workspace" if told.asked == "all" else one_line(project_name(told.asked))
        return ["nothing in %s %s" % (where, since)]
    out = [_summed(told, since)]
    if digest:
        return [*out, *_digested(digest, style, markdown)]
    several = len(told.spaces) > 1
    room = (ALL - 1) // len(told.spaces) - 2 * several
    for space, name in zip(told.spaces, _names(told)):
        if several:
            out += ["", "## " + name if markdown else style.bold(name)]
        out += _worked(space, max(DAY, room), style, markdown)
    return out


def _names(told: WorkReport) -> list[str]:
    """Return the names of the workspaces, with the digits of two of one name."""
    names = [project_name(space.workspace) for space in told.spaces]
    return [
        one_line(name if names.count(name) == 1 else space.workspace)
        for name, space in zip(names, told.spaces)
    ]


def _digested(digest: Digest, style: screen.Style, markdown: bool) -> list[str]:
    from memory.distill import digests

    rows = [
        row
        for one in digest.bullets
        for row in _item(one_line(one.statement), ALL, style, markdown, 0)
    ]
    notes = ["note: " + one_line(note) for note in digest.notes]
    return ["", *rows, "", "written by a model: " + digests.reduction(digest), *notes]


def _span(told: WorkReport) -> str:
    since = clock.iso(told.since + told.offset)[:16].replace("T", " ").removesuffix(" 00:00")
    if told.until is None:
        return "since " + since
    end = clock.iso(told.until + told.offset)[:16].replace("T", " ")
    last = clock.day(told.until + told.offset - 1) if end.endswith(" 00:00") else end
    return "on " + since if since == last else "from %s to %s" % (since, last)


def _worked(space: Space, room: int, style: screen.Style, markdown: bool) -> list[str]:
    days = {work.day for work in space.work}
    if len(days) > DAYS:
        strands = worklog.strands(space.work, False)
        return ["", *_page(strands, room - 1, style, markdown, True)]
    out: list[str] = []
    for day, found in groupby(worklog.strands(space.work), lambda one: one.day):
        page = _page(list(found), min(DAY, room // len(days)) - 1, style, markdown, False)
        out += ["", "**%s**" % _dated(day) if markdown else style.bold(_dated(day)), *page]
    return out


def _dated(day: str) -> str:
    return "%s %s" % (_WEEKDAYS[int((clock.parse(day) or 0.0) // clock.DAY) % 7], day)


def _summed(told: WorkReport, since: str) -> str:
    every = [(space.workspace, work) for space in told.spaces for work in space.work]
    sessions = {(key, work.session) for key, work in every if work.session}
    notes = sum(not work.session for _, work in every)
    what = [count(len(sessions), "session")] if sessions or not notes else []
    what += [count(notes, "checkpoint")] if notes else []
    places = _names(told)
    where = places[0] if len(places) == 1 else count(len(places), "workspace")
    alone = " only" * (told.asked == "all" and len(places) == 1)
    return "%s in %s%s %s" % (" and ".join(what), where, alone, since)


def _page(
    strands: Sequence[Strand], room: int, style: screen.Style, markdown: bool, dated: bool
) -> list[str]:
    """Return strands in at most `room` lines."""
    told = [strand for strand in strands if strand.came or strand.open]
    pages: list[list[str]] = []
    for level in _LEVELS:
        pages = [_strand(strand, level, style, markdown, dated) for strand in told]
        if sum(map(len, pages)) <= room:
            break
    shown = len(told)
    while shown and sum(map(len, pages[:shown])) + (shown < len(told)) > room:
        shown -= 1
    rest = _named(told[shown:], style, markdown)
    return [*(line for page in pages[:shown] for line in page), *rest]


def _named(strands: Sequence[Strand], style: screen.Style, markdown: bool) -> list[str]:
    if not strands:
        return []
    names = dict.fromkeys(one_line(one.branch or one.title, NAME) for one in strands)
    called = ", ".join("`%s`" % name if markdown else name for name in names)
    line = "- %d more: %s" % (len(strands), called)
    return [line if markdown else clip_columns("  " + line, style.columns)]


def _strand(
    strand: Strand, level: tuple[int, int, int], style: screen.Style, markdown: bool, dated: bool
) -> list[str]:
    most, still, rows = level
    name = at_word(one_line(strand.branch), NAME)
    facts = (
        _days(strand) if dated else "",
        strand.pull,
        count(strand.commits, "commit") if _is_counted(strand, most) else "",
        "unattended" * strand.unattended,
    )
    aside = ", ".join(filter(None, facts))
    named = "`%s`" % name if markdown and name else name
    head = " ".join(filter(None, (named, "(%s)" % aside if aside else "")))
    number = " (PR %s)" % strand.pull.rpartition(" ")[2]
    came = [one_line(line).replace(number, "") for line in strand.came[:most]]
    texts = [*came, *(at_word(one_line(line), OPEN) for line in strand.open[:still])]
    texts[0] = head + ": " + texts[0] if head else texts[0]
    return [
        line
        for at, text in enumerate(texts)
        for line in _item(text, rows, style, markdown, 2 * bool(at))
    ]


def _is_counted(strand: Strand, most: int) -> bool:
    """Tell whether a strand has more commits than it tells.

    most: lines of what came out.
    """
    told = 0 if strand.noted else most
    return strand.commits > told and not strand.pull.startswith(worklog.MERGED_PULL)


def _days(strand: Strand) -> str:
    last = strand.day[5:]
    return last if strand.first == strand.day else strand.first[5:] + " to " + last


def _item(text: str, rows: int, style: screen.Style, markdown: bool, indent: int) -> list[str]:
    """Return an entry in lines, on a terminal at most `rows`."""
    mark = " " * indent + "- "
    if markdown:
        return [mark + text]
    wrapped = screen.wrap(text, style.columns - len(mark) - 2, rows)
    return ["  " + (" " * len(mark) if at else mark) + row for at, row in enumerate(wrapped)]


_PARTS = ("outcome", "next", "open", "decisions", "fixed")  # sections of a checkpoint in JSON


def _work_json(work: Work) -> dict[str, Any]:
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


def to_json(told: WorkReport) -> dict[str, Any]:
    """Return a standup for --json, with every line in full."""
    spaces = [
        {"workspace": space.workspace, "sessions": [_work_json(work) for work in space.work]}
        for space in told.spaces
    ]
    until = None if told.until is None else clock.iso(told.until)
    return {"since": clock.iso(told.since), "until": until, "workspaces": spaces}


# ---- at a glance

OUTCOME, _BRANCH = 160, 16  # characters of a session's outcome, and of its branch at least
LATEST, LOOKED_AT = 5, 15  # sessions that a glance shows, and checkpoints that they are taken from
WALL_DAYS, MOST_WALLS = 14, 3  # days whose walls count, and how many are shown


class Glance(NamedTuple):
    """The state of the work and the open decisions, at a glance.

    branch: the one that is checked out, or "". sessions: their newest checkpoint, else their
        conversation, with its outcome. handoff, plan: records, or None. waiting: number of records
        that wait for a decision. walls: (telling line, sessions that met it) as `friction --since
        14d` counts them, those of most sessions first.
    """

    workspace: str
    branch: str
    sessions: tuple[tuple[Record, str], ...]
    handoff: Record | None
    plan: Record | None
    waiting: int
    walls: tuple[tuple[str, int], ...]


def glance(place: Place, settings: Config, now: float, offset: float) -> Glance:
    """Return the data of the overview, `dayleaf` without words."""
    wanted = (("checkpoint", LOOKED_AT), ("plan", LOOKED_AT), ("conversation", LATEST))
    with search.Searcher(place, settings) as searcher:
        newest, plans, talks = (
            searcher.answer(Query(kinds=(kind,), limit=most), now, offset, [place]).hits
            for kind, most in wanted
        )
    sessions: dict[str, tuple[Record, str]] = {}
    own = [
        without_private(hit.record)
        for hit in newest
        if not is_repetition(hit.record) and not is_of_others(place, hit.record)
    ]
    for record in own:
        said = checkpointoutline.sections(record.body).get("outcome")
        sessions.setdefault(
            records.meta_text(record, "session") or record.id,
            (record, one_line(said[0]) if said else ""),
        )
    # of short answers, which leave no checkpoint
    for record in (without_private(found.record) for found in talks):
        answers = [
            "",
            *filter(None, (openings.plain(turn.answer, OUTCOME) for turn in turns(record))),
        ]
        sessions.setdefault(
            records.meta_text(record, "session") or record.id, (record, one_line(answers[-1]))
        )
    latest = sorted(sessions.values(), key=lambda each: (-each[0].created, each[0].id))[:LATEST]
    return Glance(
        place.key,
        branch_of(place.git),
        tuple(latest),
        handoffs.current(place),
        next((hit.record for hit in plans if hit.record.active), None),
        _waiting(place),
        _walls(place, settings, now),
    )


def _waiting(place: Place) -> int:
    try:
        with closing(indexview.open_index(place)) as found:
            return signs.waiting(found)
    except IndexFault:  # the next recall builds one
        return 0


def _walls(place: Place, settings: Config, now: float) -> tuple[tuple[str, int], ...]:
    since = now - WALL_DAYS * clock.DAY
    rows = [row for row in walls.current(place, settings, now) if row.get("created", 0.0) >= since]
    found = walls.repeated(place, rows)
    return tuple((one_line(wall.telling), wall.sessions) for wall in found[:MOST_WALLS])


def glance_json(seen: Glance) -> dict[str, Any]:
    """Return a glance as plain data."""
    return {
        "workspace": seen.workspace,
        "branch": seen.branch or None,
        "sessions": [
            {
                **record_json(record),
                "session": records.meta_text(record, "session") or None,
                "branch": records.meta_text(record, "branch") or None,
                "outcome": said,
            }
            for record, said in seen.sessions
        ],
        "handoff": record_json(seen.handoff) if seen.handoff else None,
        "plan": record_json(seen.plan) if seen.plan else None,
        "waiting": seen.waiting,
        "walls": [{"error": telling, "sessions": many} for telling, many in seen.walls],
    }


_NOTHING = (
    "no sessions here yet: a session shows up once something was done or answered in it",
    (
        '`dayleaf learn "…"` keeps what you found out; `dayleaf store import transcripts` '
        "brings in past sessions"
    ),
)


def glanced(seen: Glance, now: float, style: screen.Style) -> list[str]:
    """Return the overview in lines, as `dayleaf` without words shows it."""
    out = [
        style.bold(one_line(seen.workspace))
        + (", on " + one_line(seen.branch) if seen.branch else "")
    ]
    for word, found in (("handoff", seen.handoff), ("plan", seen.plan)):
        if found:
            out.append(
                "%s  %s  %s%s"
                % (
                    word,
                    style.kind(found.kind, one_line(found.id)),
                    one_line(found.title),
                    _steps(found),
                )
            )
    if not seen.sessions:
        out += ["", *_NOTHING] if not (seen.handoff or seen.plan) else []
    else:
        out += ["", style.bold("Last sessions"), *_latest(seen, now, style)]
    if seen.waiting:
        out += [
            "",
            "%s for review: `dayleaf review`"
            % ("1 record waits" if seen.waiting == 1 else count(seen.waiting, "record") + " wait"),
        ]
    if seen.walls:
        rows = [["%s " % count(many, "session"), telling] for telling, many in seen.walls]
        out += [
            "",
            style.bold("Errors met again and again in %d days" % WALL_DAYS),
            *screen.table(rows, "  ", (0,), style, 1),
            '  `dayleaf fix "ERROR"` says what worked, `dayleaf show walls` lists them all',
        ]
    return [
        *out,
        "",
        style.dim("`dayleaf recall WORDS` searches, `dayleaf help` lists the commands"),
    ]


def _steps(found: Record) -> str:
    done, of = activeplan.progress(found) if found.kind == "plan" else (0, 0)
    return " (%d of %s done)" % (done, count(of, "step")) if of else ""


def _latest(seen: Glance, now: float, style: screen.Style) -> list[str]:
    most = max(_BRANCH, style.columns // 4)
    branches = [
        style.fit(one_line(str(record.meta.get("branch") or "")), most)
        for record, _ in seen.sessions
    ]
    rows = [
        [one_line(record.id), age(now - record.created), one_line(record.title), branch]
        for (record, _), branch in zip(seen.sessions, branches)
    ]
    lines = screen.table(rows, "  ", (1,), style, 2, [record.kind for record, _ in seen.sessions])
    return [
        line
        for head, (_, said) in zip(lines, seen.sessions)
        for line in (
            head,
            *["      " + style.dim(style.fit(at_word(said, OUTCOME), style.columns - 6))]
            * bool(said),
        )
    ]
