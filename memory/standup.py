"""What was done since a time: by workspace, by session and day, from the sections of the checkpoints; no model is asked.

A checkpoint belongs to the day of the last thing that it tells, so that a session which goes on for days is told for each.
The files are read, not the index: what a checkpoint was updated with is in no list there.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from memory import clock, lookup, outline, recall, terminal, walk
from memory.cleaning import without_private
from memory.config import Config
from memory.errors import StoreError
from memory.handoff import repeats
from memory.paths import FOLDERS, GLOBAL, Place
from memory.records import Record
from memory.redact import strip_private
from memory.store import Store
from memory.terminal import one_line

KINDS = ("learning", "rule", "plan")  # counted in one line each
MOST_WRITTEN = 1000
LABEL = 11  # columns before a line's text
# What a session's lines show below its title, in their order: (name of the part, label, most entries, most lines of one); `said`
# stands in for commits, so that there are 12 lines at most.
_PARTS = (("commits", "commits", 3, 1), ("files", "files", 1, 1), ("said", "said", 2, 1), ("decisions", "decided", 2, 1),
          ("fixed", "fixed", 1, 2), ("failing", "failing", 1, 1), ("open", "open", 1, 1), ("next", "next", 1, 1))
_LAST = "last said: "


class Work(NamedTuple):
    """What one session did on one day, or one note without a session.

    day: local, `2026-11-20`.  at: instant of the last thing told, seconds since the epoch.  ids: of its checkpoints, oldest
    first.  parts: lines by name, see `outline.Outline`.
    """

    session: str
    day: str
    at: float
    title: str
    ids: Tuple[str, ...]
    parts: Dict[str, Tuple[str, ...]]


class Space(NamedTuple):
    """A workspace, or `global`: the work in it, newest first, and (id, title) of what was written by kind."""

    workspace: str
    work: Tuple[Work, ...]
    written: Dict[str, Tuple[Tuple[str, str], ...]]


class Told(NamedTuple):
    """A standup.  asked: the workspace's name, or `all`.  since: seconds since the epoch.  offset: seconds that local time is
    ahead of UTC."""

    asked: str
    since: float
    offset: float
    spaces: Tuple[Space, ...]


def gather(place: Place, settings: Config, workspace: str, since: float, now: float, offset: float) -> Told:
    """Find what was done from an instant on; workspaces where nothing was are left out.

    workspace: "" for the present one, a name, or `all`.  since, now: seconds since the epoch.  offset: seconds that local time
    is ahead of UTC.  Raises UsageError for an unknown workspace.
    """
    places = lookup.workspaces(place, workspace)
    query = recall.Query(kinds=KINDS, since=since, limit=MOST_WRITTEN)
    written: Dict[str, List[Record]] = {}
    for hit in recall.recall(place, settings, query, now, offset, places).hits:
        if hit.record.accepted:
            written.setdefault(hit.workspace, []).append(hit.record)
    spaces = []
    everyone = [("global", ())] if places[0].key == place.key else []  # what is true everywhere was not written there
    for key, work in [*((p.key, _work(p, settings, since, now, offset)) for p in places), *everyone]:
        records = written.get(key, [])
        kinds = {kind: tuple((r.id, strip_private(r.title)) for r in records if r.kind == kind) for kind in KINDS}
        if work or records:
            spaces.append(Space(key, work, kinds))
    return Told("all" if workspace == "all" else places[0].key, since, offset, tuple(spaces))


def _work(place: Place, settings: Config, since: float, now: float, offset: float) -> Tuple[Work, ...]:
    """Return the work of one workspace, newest first."""
    groups: Dict[Tuple[str, str], List[Tuple[float, Record]]] = {}
    for at, record in sorted(_checkpoints(place, settings, since, now), key=lambda pair: (pair[0], pair[1].id)):
        session, day = _text(record.meta.get("session")), clock.day(at + offset)
        groups.setdefault((session, day) if session else (record.id, day), []).append((at, record))
    work = [_merged(day, group) for (_, day), group in groups.items()]
    return tuple(sorted(work, key=lambda one: (-one.at, one.ids)))


def _checkpoints(place: Place, settings: Config, since: float, now: float) -> List[Tuple[float, Record]]:
    """Return (instant of the last thing told, checkpoint) from an instant on; handoffs that repeat checkpoints are none.

    Private parts are left out before anything takes the lines apart.
    """
    store, found, seen = Store(place, settings, now), [], set()
    for name, _, mtime_ns, _ in walk.walk(place)[0]:
        parts = name.split("/")
        if parts[1] != FOLDERS["checkpoint"] or name[0] == GLOBAL:
            continue
        if mtime_ns / 1e9 < since and parts[2][:10] < clock.day(since):
            continue
        try:
            record = store.read(name)
        except StoreError:
            continue
        told = [clock.parse(_text(record.meta.get(key))) for key in ("until", "updated")]
        at = max([record.created, *(instant for instant in told if instant)])
        if record.kind == "checkpoint" and at >= since and not repeats(record) and record.id not in seen:
            seen.add(record.id)
            found.append((at, without_private(record)))
    return found


def _merged(day: str, group: Sequence[Tuple[float, Record]]) -> Work:
    """Tell several checkpoints of one session as one: what was done is added up, what is open is what the newest says."""
    at, newest = group[-1]
    told = [outline.outline(record) for _, record in group]
    parts = {name: tuple(dict.fromkeys(line for one in told for line in getattr(one, name)))
             for name in ("commits", "files", "decisions", "fixed", "said")}
    parts.update((name, getattr(told[-1], name)) for name in ("failing", "open", "next"))
    return Work(_text(newest.meta.get("session")), day, at, newest.title, tuple(record.id for _, record in group), parts)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def lines(told: Told, style: terminal.Style) -> List[str]:
    """Write a standup for a terminal: a line that sums up, then each workspace; at most 12 lines a session."""
    since = "since %s" % clock.iso(told.since + told.offset)[:16].replace("T", " ")
    if not told.spaces:
        return ["nothing in %s %s" % ("any workspace" if told.asked == "all" else one_line(told.asked), since)]
    every = [(space.workspace, work) for space in told.spaces for work in space.work]
    sessions = {(key, work.session) for key, work in every if work.session}
    notes = sum(not work.session for _, work in every)
    what = [terminal.count(len(sessions), "session")] if sessions or not notes else []
    what += [terminal.count(notes, "note")] if notes else []
    places = sum(space.workspace != "global" for space in told.spaces)
    out = ["%s in %s %s" % (" and ".join(what), terminal.count(places, "workspace"), since)]
    for space in told.spaces:
        out += ["", style.bold(one_line(space.workspace))]
        for work in space.work:
            out += ["", *_told(work, style)]
        counts = [_counted(kind, found, style.columns) for kind, found in space.written.items() if found]
        out += ["", *counts] if counts else []
    return out


def _told(work: Work, style: terminal.Style) -> List[str]:
    """Write the work of one session."""
    more = " (+%d)" % (len(work.ids) - 1) if len(work.ids) > 1 else ""
    end = "  " + one_line(work.ids[-1]) + more
    title = terminal.clip("%s  %s" % (work.day, one_line(work.title)), style.columns - terminal.width(end))
    out = [style.bold(title) + style.dim(end)]
    for name, label, most, rows in _PARTS:
        values = [", ".join(work.parts[name])] if name == "files" and work.parts[name] else list(work.parts[name])
        if name == "said":  # of a note, where the title does not say it already
            values = [] if work.parts["commits"] else [
                value for value in values if value.rstrip(".。 ") != work.title and not (
                    work.title[-1:] == "…" and value.startswith(work.title[:-1]))]
        if name == "next":
            values = [value for value in values if not value.startswith(_LAST)] or values
        left = len(values) - most
        for i, value in enumerate(values[:most]):
            rest = " (+%d)" % left if left > 0 and i == most - 1 else ""
            room = style.columns - LABEL - len(rest)
            wrapped = _wrapped(one_line(value), room, rows)
            wrapped[-1] += rest
            out += [("  %-*s" % (LABEL - 2, "" if i or j else label)) + line for j, line in enumerate(wrapped)]
    return out


def _wrapped(value: str, columns: int, most: int) -> List[str]:
    """Break a text at its blanks into at most `most` lines; the last one is cut where it is too long."""
    out = [""]
    for word in value.split(" "):
        longer = out[-1] + " " + word if out[-1] else word
        if not out[-1] or len(out) == most or terminal.width(longer) <= columns:
            out[-1] = longer
        else:
            out.append(word)
    return [terminal.clip(line, columns) for line in out]


def _counted(kind: str, found: Sequence[Tuple[str, str]], columns: int) -> str:
    return terminal.clip("%s: %s" % (terminal.count(len(found), kind), "; ".join(one_line(title) for _, title in found)), columns)


def to_json(told: Told) -> Dict[str, Any]:
    """Return a standup for --json, with every line in full."""
    spaces = [{"workspace": space.workspace,
               "sessions": [{"session": work.session or None, "day": work.day, "until": clock.iso(work.at), "title": work.title,
                             "ids": list(work.ids), **{name: list(found) for name, found in work.parts.items()}}
                            for work in space.work],
               **{kind + "s": [{"id": id, "title": title} for id, title in found] for kind, found in space.written.items()}}
              for space in told.spaces]
    return {"since": clock.iso(told.since), "workspaces": spaces}
