"""Failures of a stretch of work, and what made the same pass.

A failure is joined with the next success of the same class: the same program and verb, and the
same files, filters and folder, or more of them.  A pass inside `A && B`, or behind a pipe, counts.
What was edited in between is told, and nothing is concluded from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory.capture.facts import Edit, Facts, reversed_paths
from memory.capture.turns import stem
from memory.session import commandline, shell, tellingline
from memory.session.shell import Run

# in the key of a command that changes something for good
_LASTING = frozenset(
    "make just task alembic helm push rebase merge pull pick commit apply plan compose deploy "
    "publish release migrate migration migrations".split()
)


@dataclass(frozen=True)
class Fix:
    """A failure and its fix.

    edits: the changes since its last failure.
    """

    failure: Run
    success: Run
    edits: tuple[Edit, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The edited files, each once, files named by the failure first."""
        paths = dict.fromkeys(edit.path for edit in self.edits)
        return tuple(sorted(paths, key=lambda path: stem(path) not in self.failure.detail))


def fixes(facts: Facts) -> list[Fix]:
    """Return the failures that passed after edits, in order of failure.

    Each error of a target once.
    """
    runs = sorted((*facts.failing, *facts.runs), key=lambda run: run.at)
    back = reversed_paths(facts)
    found: dict[str, Fix] = {}
    for at, failure in enumerate(runs):
        if not failure.bad or failure.kind == tellingline.USE:  # no edit mends a wrong call
            continue
        later = (run for run in runs[at + 1 :] if run.at > failure.at and passes(run, failure))
        success = next(later, None)
        if success is None:
            continue
        edits = tuple(
            edit
            for edit in facts.edits
            if failure.last < edit.at < success.at and edit.path not in back
        )
        if edits:
            found.setdefault(failure.key + "\n" + failure.detail, Fix(failure, success, edits))
    return list(found.values())


def passes(run: Run, failure: Run) -> bool:
    """Tell whether a run shows that a failure now passes."""
    other = commandline.main_task(failure)
    return (
        run.outcome == shell.OK
        and other is not None
        and any(
            commandline.covers(task, other, failure.detail)
            for task in commandline.passed(run, strict=True)
        )
    )


def open_failures(runs: Iterable[Run]) -> list[Run]:
    """Return the failures without a later success, oldest first.

    Of several failures of a task the newest.
    runs: in any order.
    Counted are tests, linters, builds, and commands that change something for good (`git push`,
    `npm install`); a command that was merely called wrongly is none.
    """
    every = sorted(runs, key=lambda run: run.last)
    found: list[Run] = []
    for at, run in enumerate(every):
        if (
            run.bad
            and _stays_open(run)
            and not any(_settles(one, run) for one in every[at + 1 :] if one.last > run.last)
        ):
            found.append(run)
    return found


def _stays_open(run: Run) -> bool:
    """Tell whether work waits for a failed run."""
    if run.kind == tellingline.USE or commandline.is_noise(run.key):
        return False
    lasts = commandline.installs(run.key) or not _LASTING.isdisjoint(re.split(r"\W", run.key))
    task = commandline.main_task(run)
    return bool(task and task.kind) or (lasts and run.outcome != shell.TIMED_OUT)


def _settles(later: Run, failure: Run) -> bool:
    """Tell whether a later run ends or repeats a failure."""
    if later.command == failure.command:
        return later.bad or later.passed
    if later.passed and failure.key.startswith("git "):
        return later.key.startswith("git ") and not commandline.is_noise(later.key)
    return _repeats(later, failure) or any(
        commandline.closes(task, failure) for task in commandline.passed(later)
    )


def _repeats(later: Run, failure: Run) -> bool:
    """Tell whether a later failure is of the same class."""
    task, other = commandline.main_task(later), commandline.main_task(failure)
    return (
        later.bad
        and later.kind != tellingline.USE
        and task is not None
        and other is not None
        and commandline.covers(task, other)
    )
