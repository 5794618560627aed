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

# what changes something for good, by program, with its verb, and by a word anywhere
_LASTING = frozenset(
    "make, just, task, alembic, helm, git push, git rebase, git merge, git pull, git cherry-pick, "
    "git commit, git stash, git am, mise run, npm run, pnpm run, yarn run, bun run, docker build, "
    "docker compose, docker push, terraform apply, terraform plan, kubectl apply".split(", ")
)
_LASTING_WORDS = frozenset("deploy publish release migrate migration migrations".split())
_CONCLUDES = (
    r"\bgit\b.{0,300}\s(?:--continue|--abort|--skip|--quit|commit|reset --hard|merge|rebase|push)\b"
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
        edits = tuple(
            edit
            for edit in facts.edits
            if success and failure.last < edit.at < success.at and edit.path not in back
        )
        if success and edits:
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
    program, _, verb = run.key.partition(" ")
    called = "%s %s" % (program, verb.partition(" ")[0])
    if run.kind == tellingline.USE or commandline.is_noise(run.key):
        return False
    lasts = (
        not _LASTING.isdisjoint((program, called))
        or commandline.installs(run.key)
        or not _LASTING_WORDS.isdisjoint(re.findall(r"\w+", run.key))
    )
    return bool(commandline.kind(run)) or (lasts and run.outcome != shell.TIMED_OUT)


def _settles(later: Run, failure: Run) -> bool:
    """Tell whether a later run ends or repeats a failure."""
    if later.bad:
        task, other = commandline.main_task(later), commandline.main_task(failure)
        again = (
            later.key == failure.key
            and later.command == failure.command
            or bool(failure.names)
            and (set(failure.names) <= set(later.names) and later.kind == failure.kind)
        )
        if again or (
            task and other and commandline.covers(task, other) and later.kind != tellingline.USE
        ):
            return True
    proof = later.outcome == shell.OK and "[no tests to run]" not in later.summary
    if proof and later.command == failure.command:
        return True
    if proof and failure.key.startswith("git "):
        return later.key == failure.key or bool(re.search(_CONCLUDES, later.command))
    tasks = commandline.passed(later) if proof or later.bad else ()
    return any(commandline.closes(task, failure) for task in tasks)
