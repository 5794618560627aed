"""A standup in lines: what was done, by workspace, by session and day; at most 12 lines a session."""

from __future__ import annotations

from collections.abc import Sequence

from memory.core import clock
from memory.core.plaintext import clip, count, one_line, width
from memory.knowledge.worklog import Told, Work
from memory.terminal import screen

LABEL = 11  # columns before a line's text
# What a session's lines show below its title, in their order: (name of the part, label, most entries, most lines of one); `said`
# stands in for commits, so that there are 12 lines at most.
_PARTS = (("commits", "commits", 3, 1), ("files", "files", 1, 1), ("said", "said", 2, 1), ("decisions", "decided", 2, 1),
          ("fixed", "fixed", 1, 2), ("failing", "failing", 1, 1), ("open", "open", 1, 1), ("next", "next", 1, 1))
_LAST = "last said: "


def lines(told: Told, style: screen.Style) -> list[str]:
    """Write a standup for a terminal: a line that sums up, then each workspace; at most 12 lines a session."""
    since = "since %s" % clock.iso(told.since + told.offset)[:16].replace("T", " ")
    if not told.spaces:
        return ["nothing in %s %s" % ("any workspace" if told.asked == "all" else one_line(told.asked), since)]
    every = [(space.workspace, work) for space in told.spaces for work in space.work]
    sessions = {(key, work.session) for key, work in every if work.session}
    notes = sum(not work.session for _, work in every)
    what = [count(len(sessions), "session")] if sessions or not notes else []
    what += [count(notes, "note")] if notes else []
    places = sum(space.workspace != "global" for space in told.spaces)
    out = ["%s in %s %s" % (" and ".join(what), count(places, "workspace"), since)]
    for space in told.spaces:
        out += ["", style.bold(one_line(space.workspace))]
        for work in space.work:
            out += ["", *_told(work, style)]
        counts = [_counted(kind, found, style.columns) for kind, found in space.written.items() if found]
        out += ["", *counts] if counts else []
    return out


def _told(work: Work, style: screen.Style) -> list[str]:
    """Write the work of one session."""
    more = " (+%d)" % (len(work.ids) - 1) if len(work.ids) > 1 else ""
    end = "  " + one_line(work.ids[-1]) + more
    title = clip("%s  %s" % (work.day, one_line(work.title)), style.columns - width(end))
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
            wrapped = screen.broken(one_line(value), room, rows)
            wrapped[-1] += rest
            out += [("  %-*s" % (LABEL - 2, "" if i or j else label)) + line for j, line in enumerate(wrapped)]
    return out


def _counted(kind: str, found: Sequence[tuple[str, str]], columns: int) -> str:
    return clip("%s: %s" % (count(len(found), kind), "; ".join(one_line(title) for _, title in found)), columns)
