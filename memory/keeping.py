"""The verbs of what must last: backup, restore."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from memory import files, paths, terminal
from memory.call import Call, need_person, warn
from memory.errors import StoreError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.backup import Backup
    from memory.restoration import Restored, Step, Target

MOST_LISTED = 20  # files that a plan names


def backup(call: Call) -> int:
    """Write everything into one file."""
    from memory import backup as backups
    from memory import lookup

    if len(call.words) > 1:
        raise UsageError("backup wants one FILE, not %d words" % len(call.words))
    place, name = call.place, call.options.workspace or ""
    places = lookup.workspaces(place, name) if name not in ("", "all") else []
    if len(places) > 1:
        raise UsageError("several workspaces are called '%s': %s; name one whole" % (name, ", ".join(p.key for p in places)))
    target = os.path.abspath(call.words[0]) if call.words else backups.free_name(os.getcwd(), call.now)
    with call.spinner("writing the backup") as spinner:
        made = backups.write(place, target, call.now, places[0].key if places else "", bool(call.options.shared), _steps(spinner))
    if call.options.shared and not any(kept.name.startswith(backups.SHARED + "/") for kept in made.files):
        warn("there is no shared tier here; the backup is without one")
    size = os.stat(target).st_size
    lines = ["backed up %s (%s bytes) to %s" % (terminal.count(len(made.files), "file"), "{:,}".format(size), target),
             *("  left out %s: %s" % (terminal.one_line(name), why) for name, why in made.left),
             *(["  %s went meanwhile" % terminal.count(made.vanished, "file")] if made.vanished else []),
             "  it was read back and holds what it says; `dayleaf restore FILE` brings it back"]
    return call.answer({"file": target, "bytes": size, "files": len(made.files), "vanished": made.vanished,
                        "left": [list(row) for row in made.left]}, lines)


def _steps(spinner: terminal.Spinner) -> Any:
    step = spinner.step

    def told(done: int, of: int) -> None:
        spinner.step = "%s: %d of %d" % (step, done, of)

    return told


def restore(call: Call) -> int:
    """Bring a record back from the archive, or everything from the file of a backup."""
    from memory import backup as backups
    from memory import restoration, writing

    if not (len(call.words) == 1 and backups.is_backup(call.words[0])):
        given = [name for name in ("into", "merge", "replace", "trust", "dry_run") if getattr(call.options, name)]
        if given:
            raise UsageError("--%s goes with the file of a backup: `dayleaf restore FILE`" % given[0].replace("_", "-"))
        return writing.restore(call)
    path = os.path.abspath(call.words[0])
    with call.spinner("reading the backup"):
        found = backups.inspect(path)
        target, empty = _target(call, path)
        plan = restoration.plan(found, target)
    note = restoration.foreign(found, target)
    if call.options.dry_run:
        return call.answer(_planned(found, plan, False), [*_plan_lines(plan, note), "nothing was written (--dry-run)"])
    if not empty and not call.options.merge and restoration.counts(plan)[restoration.SAME] < len(plan):
        call.answer(_planned(found, plan, False), _plan_lines(plan, note))
        raise StoreError("%s holds files already; --merge writes the new ones, with --replace those that differ too, "
                         "--into DIR restores elsewhere" % target.home)
    return _restore(call, path, found, plan, target)


def _target(call: Call, path: str) -> tuple[Target, bool]:
    """Return where a backup goes, and whether nothing is there yet; raises UsageError."""
    from memory import restoration

    options, place = call.options, call.place
    if options.replace and not options.merge:
        raise UsageError("--replace goes with --merge")
    if options.into and (options.merge or options.trust):
        raise UsageError("--into wants an empty directory, and neither --merge nor --trust")
    if options.into:
        home = files.real(os.path.abspath(options.into).rstrip("/") or "/")
        if os.path.lexists(home) and (not files.is_folder(home) or os.listdir(home)):
            raise UsageError("--into %s: it is no empty directory; name another one" % home)
        return restoration.Target(home, "", True), True
    if options.trust:
        need_person(call, "approvals", "restore --trust %s" % path)
    empty = restoration.is_empty(place.home)
    trusted = bool(options.trust) or (empty and not call.env.get("CLAUDECODE"))
    return restoration.Target(place.home, place.shared if place.git else "", trusted), empty


def _restore(call: Call, path: str, found: Backup, plan: list[Step], target: Target) -> int:
    """Write what the plan says, and bring the index up to date."""
    from memory import indexer, restoration

    files.make_folder(target.home)
    place = paths.Place(target.home, call.place.key, "", "", "", "") if call.options.into else call.place
    with call.spinner("restoring") as spinner:
        done = restoration.apply(path, found, plan, target, place, call.now, bool(call.options.replace), _steps(spinner))
        if not call.options.into:
            indexer.refresh(call.place, call.now)
    for problem in done.problems:
        warn(problem)
    call.answer({**_planned(found, plan, True), "home": target.home, "written": done.written, "joined": done.joined,
                 "replaced": done.replaced, "problems": done.problems}, _restored_lines(plan, target, done, found))
    return 1 if done.problems else 0


def _planned(found: Backup, plan: list[Step], applied: bool) -> dict[str, Any]:
    from memory import restoration

    return {"made": found.made, "workspace": found.workspace, "applied": applied, "counts": restoration.counts(plan),
            "files": [{"name": step.kept.name, "path": step.path, "state": step.state} for step in plan]}


def _plan_lines(plan: list[Step], note: str | None) -> list[str]:
    from memory import restoration

    told = [step for step in plan if step.state not in (restoration.SAME, restoration.NEW)]
    lines = ["%-9s  %s" % (step.state, terminal.one_line(step.path)) for step in told[:MOST_LISTED]]
    more = len(told) - MOST_LISTED
    number = restoration.counts(plan)
    sums = "%s: %d new, %d the same, %d different, %d that lack lines" % (
        terminal.count(len(plan), "file"), number[restoration.NEW], number[restoration.SAME], number[restoration.DIFFERENT],
        number[restoration.BEHIND])
    return [*lines, *(["… and %d more; --json lists all" % more] if more > 0 else []), sums,
            *_left_lines(plan), *([note] if note else [])]


def _left_lines(plan: Iterable[Step]) -> list[str]:
    from memory import restoration

    if any(step.state == restoration.LEFT for step in plan):
        return ["its approvals are left out: they let rules bind and scripts run; in a terminal --trust joins them"]
    return []


def _restored_lines(plan: list[Step], target: Target, done: Restored, found: Backup) -> list[str]:
    from memory import restoration

    number = restoration.counts(plan)
    kept = number[restoration.DIFFERENT] - done.replaced
    made = found.made[:16].replace("T", " ")
    said = "restored %s into %s (made %s)" % (terminal.count(done.written, "file"), target.home, made)
    parts = [*(["%d were there" % number[restoration.SAME]] if number[restoration.SAME] else []),
             *(["%d ledgers got the lines they lacked" % done.joined] if done.joined else []),
             *(["%d replaced, the old ones are in the archive" % done.replaced] if done.replaced else []),
             *(["%d differ and stay; --merge --replace replaces them" % kept] if kept else [])]
    note = restoration.foreign(found, target)
    return [said, *("  " + line for line in (*parts, *_left_lines(plan), *([note] if note else [])))]
