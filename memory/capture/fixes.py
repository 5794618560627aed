"""Failures of a stretch of work, and their fixes.

A failure is joined with the next success of the same program and verb, on the same files, filters
and folder, or more of them.  A pass inside `A && B`, or behind a pipe, counts.  The edits in
between are told, and nothing is concluded from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory.capture.facts import Edit, Facts, find_reversed_paths
from memory.capture.turns import extract_stem
from memory.session import commandline, shell, tellingline
from memory.session.shell import Run

# words in the key of a command that changes something for good
_LASTING = frozenset(
    "make just task alembic helm push rebase merge pull pick commit apply plan compose deploy "
    "publish release migrate migration migrations".split()
)


@dataclass(frozen=True)
class Fix:
    """A failure, its later success, and the edits in between."""

    failure: Run
    success: Run
    edits: tuple[Edit, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The edited files, each once; files that the failure names come first."""
        paths = dict.fromkeys(edit.path for edit in self.edits)
        return tuple(sorted(paths, key=lambda path: extract_stem(path) not in self.failure.detail))


def find_fixes(facts: Facts) -> list[Fix]:
    """Return each failure that passed after edits, oldest first, each error once."""
    runs = sorted((*facts.failing, *facts.runs), key=lambda run: run.at)
    reversed_paths = find_reversed_paths(facts)
    edited = [edit for edit in facts.edits if edit.path not in reversed_paths]
    fixes: dict[str, Fix] = {}
    for index, failure in enumerate(runs):
        if not failure.bad or failure.kind == tellingline.USE:  # no edit mends a wrong call
            continue
        later = (run for run in runs[index + 1 :] if run.at > failure.at)
        success = next((run for run in later if shows_pass(run, failure)), None)
        if success is None:
            continue
        edits = tuple(edit for edit in edited if failure.last < edit.at < success.at)
        if edits:
            error = failure.key + "\n" + failure.detail
            fixes.setdefault(error, Fix(failure, success, edits))
    return list(fixes.values())


def shows_pass(run: Run, failure: Run) -> bool:
    """Tell whether a run shows that a failure's task passes now."""
    failed = commandline.find_main_task(failure)
    if run.outcome != shell.OK or failed is None:
        return False
    passed = commandline.find_passed_tasks(run, strict=True)
    return any(commandline.covers(task, failed, failure.detail) for task in passed)


def find_open_failures(runs: Iterable[Run]) -> list[Run]:
    """Return the newest failure of each task that has no later success.

    runs: in any order.  Counted are tests, linters, builds, and commands that change something for
    good (`git push`, `npm install`), if not merely called wrongly.
    """
    ordered = sorted(runs, key=lambda run: run.last)
    found = []
    for index, run in enumerate(ordered):
        if run.bad and _awaits_fix(run):
            later = (other for other in ordered[index + 1 :] if other.last > run.last)
            if not any(_settles(other, run) for other in later):
                found.append(run)
    return found


def _awaits_fix(run: Run) -> bool:
    """Tell whether a failed run leaves something to fix."""
    if run.kind == tellingline.USE or commandline.is_noise(run.key):
        return False
    lasts = commandline.is_install(run.key) or not _LASTING.isdisjoint(re.split(r"\W", run.key))
    task = commandline.find_main_task(run)
    return bool(task and task.kind) or (lasts and run.outcome != shell.TIMED_OUT)


def _settles(later: Run, failure: Run) -> bool:
    """Tell whether a later run resolves a failure or fails instead."""
    if later.command == failure.command:
        return later.bad or later.passed
    if later.passed and failure.key.startswith("git "):
        return later.key.startswith("git ") and not commandline.is_noise(later.key)
    passed = commandline.find_passed_tasks(later)
    return _repeats(later, failure) or any(commandline.may_resolve(t, failure) for t in passed)


def _repeats(later: Run, failure: Run) -> bool:
    """Tell whether a later run fails at the same task."""
    if not later.bad or later.kind == tellingline.USE:
        return False
    task, failed = commandline.find_main_task(later), commandline.find_main_task(failure)
    return task is not None and failed is not None and commandline.covers(task, failed)
