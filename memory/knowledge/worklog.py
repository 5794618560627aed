"""What was done since a time, for a standup, from checkpoints and conversations.

A checkpoint belongs to the day of the last thing that it tells, its turns of days before to those,
so that a session which goes on for days is told for each. Sessions of one branch are told as one.
Files are read, not the index, which does not list what a checkpoint was updated with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.capture import checkpointoutline, conversationfile, conversationpage, openings, titles
from memory.capture.checkpointpage import LEFT
from memory.capture.turns import COMMIT, FILE, LINK, MERGED, SUMMARY, Turn, find_pieces
from memory.core import clock, walk
from memory.core.config import Config
from memory.core.layout import DATED_KINDS, GLOBAL, TRUNKS, Place
from memory.core.plaintext import clip_at_word, one_line
from memory.core.records import Record, meta_text, parse_labels
from memory.distill.digests import FILES, Source
from memory.hook import fence
from memory.hook.handoffs import (
    covers,
    format_note_author,
    is_from_elsewhere,
    is_repetition,
    split_note_sections,
)
from memory.recall import lookup
from memory.store.redactor import strip_private_record
from memory.store.store import Store

LINE, REQUEST = 150, 60  # characters of a line, of a request
_OUTCOMES = 2  # that are told of work without a commit
_OPENED, MERGED_PULL = "pull request ", "merged"  # states of a pull request
_SECTIONS = {"outcome", "turns", "done"}  # one of these stands in every captured checkpoint
_NUMBER = re.compile(r" \([0-9a-f]{7,}\)\Z")  # a commit's hash at the end
_COMMIT = re.compile(r"commit ?([0-9a-f]{7,})?: +(.*)")  # its hash, its subject
_FOLDED = (  # how subjects begin that git words
    *("Merge %s " % what for what in ("branch", "branches", "commit", "pull request", "tag")),
    *("Merge remote-tracking branch ", "fixup! ", "squash! ", "amend! "),
)


class SessionWork(NamedTuple):
    """A session's work on one day and branch.

    day: local, `2026-11-20`. at: instant of the last thing told. ids: of its checkpoints, oldest
    first. made: its commits, as `subject (hash)`. said: its title and the opening of its outcome.
    parts: lines of the newest checkpoint by section. pull: the state of its pull request.
    unattended: no person typed into it. noted: the author of the note whose words `said` and
    `parts` are, or "".
    """

    session: str
    day: str
    at: float
    title: str
    branch: str
    ids: tuple[str, ...]
    made: tuple[str, ...]
    said: str
    files: tuple[str, ...]
    parts: dict[str, list[str]]
    pull: str = ""
    unattended: bool = False
    noted: str = ""


class BranchWork(NamedTuple):
    """The work on a branch or of one session on a trunk.

    day, first: local, of its newest and of its oldest work. branch: "" for a trunk. came: what
    notes say, newest first, else commits, oldest first, else outcomes. open: lines, on the newest
    day of a branch alone. commits: how many. noted: `came` is of notes.
    """

    day: str
    first: str
    branch: str
    title: str
    came: tuple[str, ...]
    open: tuple[str, ...]
    pull: str = ""
    unattended: bool = False
    commits: int = 0
    noted: bool = False


class WorkspaceWork(NamedTuple):
    """A workspace's work, newest first."""

    workspace: str
    work: tuple[SessionWork, ...]


class WorkReport(NamedTuple):
    """A standup; asked: the workspace's name, or `all`."""

    asked: str
    since: float
    offset: clock.Offset
    spaces: tuple[WorkspaceWork, ...]
    until: float | None = None


class _Stretch(NamedTuple):
    """A session's checkpoints on one day and branch, with their instants."""

    day: str
    branch: str
    checkpoints: list[tuple[float, Record]]


class _DatedRecords(NamedTuple):
    """A period's checkpoints with instants, and turns and notes by session."""

    checkpoints: list[tuple[float, Record]]
    turns: dict[str, tuple[Turn, ...]]
    notes: dict[str, Record]


def collect_work(
    place: Place,
    settings: Config,
    workspace: str,
    since: float,
    now: float,
    offset: clock.Offset,
    until: float | None = None,
) -> WorkReport:
    """Return the work of a period, by workspace.

    workspace: "" for the present one, a name, or `all`. Raises UsageError.
    """
    places = lookup.find_workspaces(place, workspace)
    # what is dated later is of a wrong clock
    end = now + clock.DAY if until is None else until
    spaces = []
    for other in places:
        work = _collect_workspace(Store(other, settings, now), since, end, offset)
        if work:
            spaces.append(WorkspaceWork(other.key, work))
    asked = "all" if workspace == "all" else places[0].key
    return WorkReport(asked, since, offset, tuple(spaces), until)


def list_sources(report: WorkReport) -> list[Source]:
    """Return the facts of each session's work, as sources for a model."""
    return [
        Source(
            work.ids[-1],
            "checkpoint",
            work.title,
            work.at,
            "\n".join(_list_facts(work)),
            tier="p",
            branch=work.branch,
            tags=(space.workspace,),
            files=work.files[:FILES],
        )
        for space in report.spaces
        for work in space.work
    ]


def _list_facts(work: SessionWork) -> list[str]:
    """Return what is known of a session's work, in labelled lines."""
    parts = [(name, line) for name in ("decisions", "fixed") for line in work.parts.get(name, ())]
    return [
        *filter(None, (work.said, work.pull, "no person typed into it" if work.unattended else "")),
        *("commit: " + line for line in work.made),
        *_open_lines(work),
        *("%s: %s" % pair for pair in parts),
    ]


def _collect_workspace(
    store: Store, since: float, end: float, offset: clock.Offset
) -> tuple[SessionWork, ...]:
    """Return one workspace's work, newest first."""
    found = _read_records(store, since)
    sessions = _group_checkpoints(found.checkpoints, offset, end)
    merges = [m for turns in found.turns.values() for m in _find_merges(turns) if m.at[0] < end]
    works: list[SessionWork] = []
    for session, stretches in sessions.items():
        every = found.turns.get(session, ())
        turns = [turn for turn in every if _parse_instant(turn) > since - 60]
        ends = [stretch.checkpoints[-1][0] for stretch in stretches]
        for stretch, own in zip(stretches, conversationfile.split_by_checkpoint(turns, ends)):
            *before, (last, rest) = _split_by_day(stretch, own, every, offset, end)
            works += [_join_checkpoints(part, begun, merges) for part, begun in before]
            work, newest = _join_checkpoints(last, rest, merges), last.checkpoints[-1][1]
            works.append(_apply_note(work, newest, found.notes.get(session)))
    done = [work for work in works if work.at < end]
    return tuple(sorted(done, key=lambda work: (-work.at, work.ids)))


def _group_checkpoints(
    checkpoints: Sequence[tuple[float, Record]], offset: clock.Offset, end: float
) -> dict[str, list[_Stretch]]:
    """Group checkpoints by session, then by day and branch; split them at `end`."""
    sessions: dict[str, list[_Stretch]] = {}
    for at, record in sorted(checkpoints, key=lambda pair: (pair[0], pair[1].id)):
        day, branch = clock.day(at + offset(at)), meta_text(record, "branch")
        stretches = sessions.setdefault(meta_text(record, "session") or record.id, [])
        # what was begun on a trunk goes along
        moves = stretches and stretches[-1].branch not in (branch, *TRUNKS)
        if (
            not stretches
            or moves
            or stretches[-1].day != day
            or fence.is_unattended(stretches[-1].checkpoints[-1][1]) != fence.is_unattended(record)
            or stretches[-1].checkpoints[-1][0] < end <= at
        ):
            stretches.append(_Stretch(day, branch, []))
        stretches[-1].checkpoints.append((at, record))
        stretches[-1] = stretches[-1]._replace(branch=branch)
    return sessions


def _split_by_day(
    stretch: _Stretch, own: Sequence[Turn], every: Sequence[Turn], offset: clock.Offset, end: float
) -> list[tuple[_Stretch, Sequence[Turn]]]:
    """Split a session's work on a branch by the days of its turns.

    The last part is the checkpoints' own, with the last turn. every: of the session.
    """
    days: dict[tuple[str, bool], list[Turn]] = {}  # by day, and whether before `end`
    for turn in own[:-1]:
        at = _parse_instant(turn)
        days.setdefault((clock.day(at + offset(at)), at < end), []).append(turn)
    at, newest = stretch.checkpoints[-1]
    last = [*days.pop((stretch.day, at < end), []), *own[-1:]]
    parts: list[tuple[_Stretch, Sequence[Turn]]] = []
    for (day, _), turns in days.items():
        files = [piece.text for piece in find_pieces(turns, FILE)]
        meta = {**newest.meta, "files": files}
        record = newest.replaced(body="## Turns\n\n- before midnight", meta=meta)
        checkpoint = _parse_instant(turns[-1]), _retitle(record, turns, every)
        parts.append((stretch._replace(day=day, checkpoints=[checkpoint]), turns))
    checkpoints = [*stretch.checkpoints[:-1], (at, _retitle(newest, last, every))]
    return [*parts, (stretch._replace(checkpoints=checkpoints), last)]


def _retitle(record: Record, own: Sequence[Turn], every: Sequence[Turn]) -> Record:
    """Return a record, its title replaced if it is of a turn outside `own`."""
    fitting, known = (
        titles.list_titles(turns, "", [piece.text for piece in find_pieces(turns, COMMIT)])
        for turns in (own, every)
    )
    is_foreign = fitting and record.title in known and record.title not in fitting
    return record.replaced(title=fitting[0]) if is_foreign else record


def _read_records_since(store: Store, since: float) -> Iterator[tuple[float, Record]]:
    """Yield (instant, record) of the dated records since a time."""
    names = (  # such as `p/checkpoints/2026-11-21…`
        name
        for name, _, mtime_ns, _ in walk.walk(store.place, DATED_KINDS)[0]
        if name[0] != GLOBAL
        and (mtime_ns / 1e9 >= since or name.split("/")[2][:10] >= clock.day(since))
    )
    for record in map(strip_private_record, store.each_by(store.read, names)):
        last = meta_text(record, "until") or meta_text(record, "updated")
        at = max(record.created, clock.parse(last) or 0.0)
        if at >= since:
            yield at, record


def _read_records(store: Store, since: float) -> _DatedRecords:
    records, seen = _DatedRecords([], {}, {}), set()
    for at, record in _read_records_since(store, since):
        session = meta_text(record, "session")
        if record.kind == "conversation":
            day = clock.day(record.created)
            records.turns[session] = conversationpage.parse(record.body, day)
        elif record.kind == "note":
            records.notes[session] = record
        elif record.kind == "checkpoint" and not is_repetition(record) and record.id not in seen:
            seen.add(record.id)
            if not is_from_elsewhere(store.place, record):
                records.checkpoints.append((at, record))
    return records


def _apply_note(work: SessionWork, newest: Record, note: Record | None) -> SessionWork:
    """Return work as its session's note tells it, if the note is up to date."""
    if note is None or not covers(note, newest):
        return work
    sections, parts = split_note_sections(note), dict(work.parts)
    for name in ("Open", "Next", "Decisions"):
        parts[name.lower()] = [line.removeprefix("- ") for line in sections.get(name, ())]
    return work._replace(said=one_line(note.title), parts=parts, noted=format_note_author(note))


def _join_checkpoints(
    stretch: _Stretch, turns: Sequence[Turn], merges: Sequence[_Merge]
) -> SessionWork:
    """Describe a session's work on one day and branch from its checkpoints."""
    at, newest = stretch.checkpoints[-1]
    records = [record for _, record in stretch.checkpoints]
    pages = [checkpointoutline.split_sections(record.body) for record in records]
    done = [line for page in pages for line in page.get("done", ())]
    if turns:
        pieces = [piece for turn in turns for piece in turn.pieces if piece.kind == COMMIT]
        # as a page writes them
        done = ["commit %s: %s" % (piece.name, piece.text) for piece in pieces]
    files = dict.fromkeys(
        name for record in records for name in parse_labels(record.meta.get("files"))
    )
    made = dict.fromkeys(filter(None, map(_parse_commit, done)))
    return SessionWork(
        meta_text(newest, "session"),
        stretch.day,
        at,
        one_line(newest.title),
        stretch.branch,
        tuple(record.id for record in records),
        made=tuple(made),
        said=_describe_outcome(newest, pages[-1], turns),
        files=tuple(files),
        parts=pages[-1],
        pull=_find_pull_state(stretch.branch, at, turns, merges),
        unattended=fence.is_unattended(newest),
    )


def _parse_commit(line: str) -> str:
    """Return a commit's subject and hash, "" for other lines."""
    match = _COMMIT.match(line)
    if not match or match[2].startswith(_FOLDED):
        return ""
    return one_line(match[2], LINE) + (" (%s)" % match[1] if match[1] else "")


def _describe_outcome(newest: Record, page: dict[str, list[str]], turns: Sequence[Turn]) -> str:
    """Return a session's title and its outcome's opening.

    ` → ` leads from the title to its own turn's outcome, `; then: ` to a later turn's.
    """
    if not _SECTIONS & page.keys():
        return openings.format_plain_line(newest.body, LINE)
    asked = [turn for turn in turns if turn.asked != SUMMARY]
    changed = [turn for turn in asked if turn.did]
    endings = [openings.find_outcome(turn) for turn in [*changed[::-1], *asked[::-1]]]
    endings += [line for line in page.get("outcome", ())[:1] if not line.startswith(LEFT)]
    title = one_line(newest.title)
    branch = re.sub(r"\W|_", " ", meta_text(newest, "branch"))
    about = " ".join([branch, *(turn.request for turn in asked)])
    opening = openings.find_opening(endings, LINE, about)
    if opening.casefold().startswith(title.rstrip("…").casefold()):
        return opening
    later = [
        openings.find_outcome(turn) for turn in asked if openings.find_topic(turn.request) != title
    ]
    is_later = len(later) < len(asked) and opening == openings.find_opening(later, LINE, about)
    arrow = "; then: " if is_later else " → "
    return arrow.join(filter(None, (title, clip_at_word(opening, LINE - len(title)))))


# --- merged branches


class _Merge(NamedTuple):
    """A merge: when (instant, place in its turn), its branch or `#12`, its pull request."""

    at: tuple[float, int]
    key: str
    pull: str


def _find_merges(turns: Sequence[Turn]) -> Iterator[_Merge]:
    for turn in turns:
        for number, piece in enumerate(turn.pieces):
            if piece.kind == MERGED:
                yield _Merge((_parse_instant(turn), number), piece.text, piece.name)


def _find_pull_state(
    branch: str, until: float, turns: Sequence[Turn], merges: Sequence[_Merge]
) -> str:
    """Return that a branch was merged, else its pull request, else ""."""
    pull, last = "", (0.0 if turns else until, 0)
    for turn in turns:
        for number, piece in enumerate(turn.pieces):
            if piece.kind == FILE:
                last = (_parse_instant(turn), number)
            elif piece.kind == LINK:
                pull = "#" + piece.text.rstrip("/").rpartition("/")[2]
    # a log shows old merges again
    first = {(merge.key, merge.pull): merge.at for merge in sorted(merges, reverse=True)}
    merged = [
        (at, number) for (key, number), at in first.items() if at > last and key in (branch, pull)
    ]
    if merged:
        return " #".join(filter(None, (MERGED_PULL, max(merged)[1])))
    return _OPENED + pull if pull else ""


# --- by branch


def _group_by_branch(every: Sequence[SessionWork], by_day: bool) -> list[list[SessionWork]]:
    """Group work by branch, in the order of `list_branches`."""
    groups: dict[tuple[str, str, bool], list[SessionWork]] = {}
    for work in every:
        key = work.day if by_day else "", _topic_key(work), work.unattended
        groups.setdefault(key, []).append(work)
    ordered = sorted(groups.values(), key=_rank_key)
    ordered.sort(key=lambda group: group[0].day, reverse=True)
    if not by_day:
        ordered.sort(key=_is_unattended)
    return ordered


def list_branches(every: Sequence[SessionWork], by_day: bool = True) -> tuple[BranchWork, ...]:
    """Return a workspace's work by branch, newest days first.

    Of a day most commits come first, unattended work last. every: newest first. by_day: group each
    day by itself.
    """
    shown: set[str] = set()
    topics: set[str] = set()
    branches = []
    for group in _group_by_branch(every, by_day):
        last, topic = group[0], _topic_key(group[0])
        commits = [line for work in group[::-1] for line in work.made]
        noted = [work.said for work in group if work.noted]
        outcomes = [work.said for work in group[:_OUTCOMES] if work.said]
        came = noted or commits or outcomes
        pulls = [last.pull, *(work.pull for work in group if work.pull.startswith(_OPENED))]
        still = [] if topic in topics else _open_lines(last)
        topics.add(topic)
        branches.append(
            BranchWork(
                last.day,
                group[-1].day,
                "" if last.branch in TRUNKS else last.branch,
                last.title,
                came=_pick_untold(shown, came),
                open=_pick_untold(shown, still),
                pull=next(filter(None, pulls), ""),
                unattended=_is_unattended(group),
                commits=len(set(commits)),
                noted=bool(noted),
            )
        )
    return tuple(branches)


def _topic_key(work: SessionWork) -> str:
    return (work.session or work.ids[0]) if work.branch in TRUNKS else work.branch


def _rank_key(group: Sequence[SessionWork]) -> tuple[bool, int, int, float]:
    commits = sum(len(work.made) for work in group)
    files = sum(len(work.files) for work in group)
    return _is_unattended(group), -commits, -files, -group[0].at


def _is_unattended(group: Sequence[SessionWork]) -> bool:
    return all(work.unattended for work in group)


def _pick_untold(told: set[str], lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines not told yet, and remember them."""
    fresh = []
    for line in lines:
        key = _NUMBER.sub("", line).casefold()
        if key not in told:
            told.add(key)
            fresh.append(line)
    return tuple(fresh)


def _open_lines(work: SessionWork) -> list[str]:
    """Return labelled lines on what a session left unfinished, open or next.

    A note says itself what is open.  Of recorded facts the last question to the user is left out,
    and a long request where something came of the work: both are for the user alone.  Once the
    branch is merged, what was next is done, or begins elsewhere.
    """
    came, merged = work.said or work.made, work.pull.startswith(MERGED_PULL)
    parts = {name: work.parts.get(name, []) for name in ("outcome", "open", "next")}
    left = [line[len(LEFT) :] for line in parts["outcome"] if line.startswith(LEFT)]
    still = [line for line in parts["open"] if work.noted or line.rstrip()[-1:] not in ("?", "？")]
    return [
        *(
            "in progress: " + line
            for line in left
            if not (work.noted or merged) and (not came or len(line) <= REQUEST)
        ),
        *("open: " + line for line in still),
        *("next: " + said for said in _join_fitting(parts["next"]) if not merged),
    ]


def _join_fitting(lines: Sequence[str]) -> list[str]:
    """Join the first lines that fit into LINE characters."""
    joined = lines[:1]
    for line in lines[1:]:
        if len(joined[0]) + len(line) + 2 > LINE:
            break
        joined = [joined[0] + "; " + line]
    return list(joined)


def _parse_instant(turn: Turn) -> float:
    return clock.parse(turn.at) or 0.0
