"""The handoff that a session's checkpoints make: what was asked, what is open, what comes next; no model is asked."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

from memory.checkpoint import fitted, one_line
from memory.outline import outline
from memory.records import Record, steps

BODY, TITLE = 1500, 80  # characters


class Draft(NamedTuple):
    """A handoff before it is written: title, markdown, and the ids of the checkpoints that it was made of."""

    title: str
    body: str
    sources: tuple[str, ...]


def draft(checkpoints: Sequence[Record], plan: Optional[Record]) -> Draft:
    """Make a handoff of at most 1,500 characters, which ends with the ids that it was made of.

    checkpoints: of one session, newest first, at least one: what is open, failing and next is what the newest says, earlier
    ones add to requests, decisions and commits.  plan: the active one, or None.
    """
    told = [outline(record) for record in checkpoints]
    newest = told[0]
    requests = [line for one in told[::-1] for line in one.request]
    decisions = [line for one in told for line in one.decisions[::-1]]
    commits = [line for one in told for line in one.commits]
    done = [*("commit " + line for line in commits[:4]), *(["files: " + ", ".join(newest.files[:8])] if newest.files else [])]
    sections = [
        ("Request", _lines(requests[:1] + requests[1:][-2:], 200), 1), ("Notes", _lines(newest.said, 160), 1),
        ("Next", _lines(newest.next[:4], 180), 1), ("Open", _lines(newest.open[:4], 160), 1),
        ("Failing", _lines(newest.failing[-3:], 140), 1), ("Decisions", _lines(decisions[:5], 160), 1),
        ("Done", _lines(done, 120), 1), ("Plan", _lines(_plan(plan), 100), 1)]
    end = _sources(checkpoints)
    return Draft(one_line("Handoff: " + checkpoints[0].title, TITLE), fitted(sections, BODY - len(end) - 2).lstrip("\n") +
                 "\n" + end + "\n", tuple(record.id for record in checkpoints))


def _lines(lines: Sequence[str], most: int) -> list[str]:
    return list(dict.fromkeys(one_line(line, most) for line in lines if line.strip()))


def _plan(plan: Optional[Record]) -> list[str]:
    """Name a plan and its first open steps."""
    if plan is None:
        return []
    todo = [text for _, ticked, text in steps(plan.body) if not ticked]
    return ["[%s] %s" % (plan.id, plan.title), *("open: " + step for step in todo[:5])]


def _sources(checkpoints: Sequence[Record]) -> str:
    """Write where a handoff comes from: ids, branch and commit."""
    meta = checkpoints[0].meta
    ids = ", ".join("[%s]" % record.id for record in checkpoints[:4])
    ids += " and %d more" % (len(checkpoints) - 4) if len(checkpoints) > 4 else ""
    where = [" on branch `%s`" % meta["branch"]] if isinstance(meta.get("branch"), str) and meta["branch"] else []
    where += [" at commit %s" % meta["commit"]] if isinstance(meta.get("commit"), str) and meta["commit"] else []
    return one_line("From %s%s." % (ids, ",".join(where)), 140)
