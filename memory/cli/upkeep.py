"""The verbs that maintain the records: upkeep, undo, backup, restore."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from memory.core import StoreError, UsageError, boundary, clock, files, layout
from memory.core.plaintext import clip_columns, format_count, one_line
from memory.health import agefile, bundle, restoration
from memory.health.bundle import Backup
from memory.health.restoration import HeldBack, RestoreResult, Step, Target
from memory.knowledge import housekeeping
from memory.knowledge.housekeeping import Change
from memory.project import adoption
from memory.recall import lookup
from memory.store import ledger
from memory.store.writer import TierWriter
from memory.terminal import screen
from memory.terminal.call import (
    Call,
    ask_confirmation,
    report_written,
    require_person,
    to_json,
    warn,
)

TITLE_COLUMNS = 60  # columns of a title
CLOCK_REMEDY = "confirm the clock with `dayleaf store upkeep --clock-is-right`"


def upkeep(call: Call) -> int:
    """Plan the upkeep, or apply it with --apply."""
    applied, problems = call.options.apply, list[str]()
    with call.spinner("reading the records") as spinner:
        store, successes = call.store(), _count_successes(call)
        if applied:
            result = housekeeping.apply(
                store, successes, call.options.clock_is_right, spinner.counting("upkeep")
            )
            plan, problems = result.plan._replace(changes=result.changes), list(result.problems)
        else:
            plan = housekeeping.plan_upkeep(store, successes, call.options.clock_is_right)
    if applied:
        _finish_moves(call, problems)
    lines = _format_changes(plan.changes, applied)
    if plan.doubt:
        doubt = one_line(plan.doubt)
        lines.append(
            "upkeep archives nothing by age: %s; correct it, or %s" % (doubt, CLOCK_REMEDY)
        )
    lines.append(housekeeping.format_counts(plan.records, plan.merged, plan.archived))
    if plan.changes:
        way = "" if applied else "`dayleaf store upkeep --apply` does this; "
        lines.append(way + "`dayleaf store undo` undoes it")
    value = {**housekeeping.plan_to_json(plan), "applied": applied}
    if applied:
        value["problems"] = problems
    call.answer(value, lines)
    return 1 if problems else 0


def _finish_moves(call: Call, problems: Iterable[str]) -> None:
    call.indexed()
    ledger.recount_after_moves(call.place)
    for problem in problems:
        warn(problem)


def _count_successes(call: Call) -> Mapping[str, int]:
    """Map each record's id to how often it helped."""
    tallies = [
        lookup.credit_successors(call.place, ledger.read(book))
        for book in ledger.ledgers(call.place)
    ]
    return {id: tally.counts(id).up for tally in tallies for id in tally.rows}


def _format_changes(changes: Iterable[Change], applied: bool) -> list[str]:
    rows = [
        [
            ("merge" if change.kept else "archive") + "d" * applied,
            change.record.id,
            "same words as %s" % change.kept.id if change.kept else change.reason,
            clip_columns(one_line(change.record.title), TITLE_COLUMNS),
        ]
        for change in changes
    ]
    return [*screen.format_table(rows), ""] if rows else []


def undo(call: Call) -> int:
    with call.spinner("reading the journal") as spinner:
        back = housekeeping.undo(call.store(), spinner.counting("undo"))
    if back is None:
        lines = ["nothing to undo: no applied upkeep is left here"]
        return call.answer({"undone": None}, lines)
    _finish_moves(call, back.problems)
    line = "undid the upkeep of %s: %s left the archive, %d got the old text back" % (
        back.began[:16].replace("T", " "),
        format_count(len(back.restored), "record"),
        len(back.reset),
    )
    value = {
        "undone": back.began,
        "restored": list(back.restored),
        "reset": list(back.reset),
        "problems": list(back.problems),
    }
    if back.problems:
        line += "; %d could not be undone, see above" % len(back.problems)
    call.answer(value, [line])
    return 1 if back.problems else 0


MOST_LISTED = 20  # files of a plan


def _find_workspace(call: Call) -> str:
    name = call.options.workspace or ""
    places = lookup.find_workspaces(call.place, name) if name not in ("", "all") else []
    if len(places) > 1:
        raise UsageError(
            "several workspaces are called '%s'; name one of %s"
            % (name, ", ".join(p.key for p in places))
        )
    return places[0].key if places else ""


def _choose_backup_file(call: Call, end: str) -> str:
    target = os.path.abspath(call.words[0] if call.words else _find_free_name(".", call.now, end))
    if call.options.here:
        return target
    if not call.words and find_work_tree(target):
        target = _find_free_name(call.env.get("HOME") or os.getcwd(), call.now, end)
    tree = find_work_tree(target)
    if tree:
        raise StoreError(
            "%s lies in the git work tree %s, where a commit would give your memories away; name a "
            "FILE elsewhere, or use --here" % (target, tree)
        )
    return target


def backup(call: Call) -> int:
    """Write everything into one backup file."""
    if len(call.words) > 1:
        raise UsageError("store backup takes one FILE, not %d words" % len(call.words))
    shared, workspace, seal = bool(call.options.shared), _find_workspace(call), None
    if call.options.age is not None:
        seal = agefile.make_encryptor(agefile.parse_recipient(call.options.age))
    target = _choose_backup_file(call, ".tar.gz.age" if seal else ".tar.gz")
    with call.spinner("writing the backup") as spinner:
        progress = spinner.counting(spinner.step)
        made = bundle.write_backup(call.place, target, call.now, workspace, shared, progress, seal)
    if shared and not any(kept.name.startswith(bundle.SHARED + "/") for kept in made.files):
        warn("there is no shared tier here, so the backup has none")
    size = os.stat(target).st_size
    number = format_count(len(made.files), "file")
    lines = ["backed up {} ({:,} bytes) to {}".format(number, size, target)]
    lines += ["  left out %s: %s" % (one_line(name), why) for name, why in made.left]
    if made.vanished:
        lines.append("  %s disappeared meanwhile" % format_count(made.vanished, "file"))
    if seal:
        state, way = "it was read back, then encrypted", "FILE --identity KEYFILE"
    else:
        state, way = "it was read back and is complete", "FILE"
    lines.append("  %s; `dayleaf store restore %s` restores it" % (state, way))
    value = {
        "file": target,
        "bytes": size,
        "files": len(made.files),
        "vanished": made.vanished,
        "encrypted": bool(seal),
        "left": [list(row) for row in made.left],
    }
    return call.answer(value, lines)


def _find_free_name(folder: str, now: float, end: str) -> str:
    stem = "%s/dayleaf-%s" % (folder.rstrip("/"), clock.day(now))
    number, path = 1, stem + end
    while os.path.lexists(path):
        number += 1
        path = "%s-%d%s" % (stem, number, end)
    return path


def find_work_tree(path: str) -> str:
    """Return the git work tree that holds a path, "" for none."""
    folder = files.real_path(os.path.dirname(path))
    while not os.path.lexists(folder.rstrip("/") + "/.git"):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


def _is_backup(word: str) -> bool:
    with suppress(OSError, ValueError):
        return "/" in word or word.endswith((".gz", ".tar", ".tgz", ".age")) or os.path.isfile(word)
    return False


def restore(call: Call) -> int:
    """Restore a record from the archive, or all records from a backup."""
    if not (len(call.words) == 1 and _is_backup(call.words[0])):
        given = call.list_given(("into", "merge", "replace", "trust", "identity", "dry_run"))
        if given:
            raise UsageError("%s is only for a backup: `dayleaf store restore FILE`" % given[0])
        found = call.store().restore(call.single_word("ID"))
        _finish_moves(call, ())
        return report_written(call, found, "restored")
    path, key = os.path.abspath(call.words[0]), call.options.identity
    if not agefile.is_encrypted(path):
        if key:
            raise UsageError(
                "--identity is for an encrypted backup, and %s is not encrypted" % path
            )
        return _restore_backup(call, path, path)
    if not key:
        raise UsageError(
            "%s is encrypted; name your key file: `dayleaf store restore FILE --identity KEYFILE`"
            % path
        )
    folder = files.make_folder(call.place.home + "/cache")
    with agefile.decrypted(path, os.path.abspath(key), folder) as plain:
        return _restore_backup(call, path, plain)


def _restore_backup(call: Call, named: str, path: str) -> int:
    options = call.options
    with call.spinner("reading the backup"):
        target, empty = _find_target(call, named)
        found = bundle.read_backup(path)
        plan = restoration.plan_restore(found, target, path)
        differing = bool(options.replace or options.trust)
        held = restoration.find_held_back(path, plan, target, differing)
    value, lines = _plan_json(found, plan, False), _format_plan(found, plan, target)
    if options.dry_run:
        value.update(held=_held_json(held.settings), approvalsHeld=held.decisions)
        lines += [*_format_held(call, target, held), "nothing was written (--dry-run)"]
        return call.answer(value, lines)
    changes = len(plan) - restoration.count_states(plan)[restoration.SAME]
    if changes and not empty and not options.merge:
        call.answer(value, lines)
        raise StoreError(
            "%s already holds files; --merge adds the new ones, with --replace also those that "
            "differ, --into DIR restores elsewhere" % target.home
        )
    if any(held) and _ask_for_held(call, target, held):
        target = target._replace(trust=True)
        plan, held = restoration.plan_restore(found, target, path), HeldBack([], 0)
    return _apply_restore(call, path, found, plan, target, held)


def _ask_for_held(call: Call, target: Target, held: HeldBack) -> bool:
    """Show what is held back, and ask whether to restore it too."""
    if not call.options.trust and (call.options.json or boundary.is_agent(call.env)):
        return False
    question = [*_format_held(call, target, held), "take it over? type yes: "]
    return ask_confirmation("\n".join(question))


def _check_restore(call: Call, path: str) -> None:
    """Raise UsageError for options that do not go together."""
    options = call.options
    if options.replace and not options.merge:
        raise UsageError("--replace needs --merge")
    if options.into and options.merge:
        raise UsageError("--into restores into an empty directory; leave --merge out")
    if options.trust:
        require_person(call, "approvals and commands", "store restore --trust %s" % path)


def _find_target(call: Call, path: str) -> tuple[Target, bool]:
    """Return (target of a restore, whether it is empty)."""
    options, place = call.options, call.place
    _check_restore(call, path)
    if options.into:
        home = files.real_path(os.path.abspath(options.into).rstrip("/") or "/")
        if os.path.lexists(home) and (not files.is_folder(home) or os.listdir(home)):
            raise UsageError("--into %s: the directory is not empty; name another one" % home)
        return Target(home, ""), True
    target = Target(place.home, place.shared if place.git else "")
    return target, restoration.is_empty(place.home)


def _apply_restore(
    call: Call, path: str, found: Backup, plan: list[Step], target: Target, held: HeldBack
) -> int:
    files.make_folder(target.home)
    spaces = target.home + "/workspaces/"
    fresh = [row for row in found.known if not files.is_folder(spaces + row[0])]
    tiers = (
        TierWriter(layout.Place(target.home, call.place.key, "", "", "", ""))
        if call.options.into
        else TierWriter(call.place, call.changed.append)
    )
    with call.spinner("restoring") as spinner:
        progress, replace = spinner.counting("restoring"), bool(call.options.replace)
        done = restoration.apply(path, found, plan, target, tiers, call.now, replace, progress)
    came = [row for row in fresh if files.is_folder(spaces + row[0])]
    adoption.append_restored_workspaces(target.home, came, call.now)
    call.indexed()
    for problem in done.problems:
        warn(problem)
    value = {
        **_plan_json(found, plan, True),
        "home": target.home,
        "written": done.written,
        "joined": done.joined,
        "replaced": done.replaced,
        "problems": done.problems,
        "held": _held_json(done.held),
        "approvalsHeld": held.decisions,
    }
    lines = [
        *_format_restored(plan, target, done, found, replace),
        *_format_held(call, target, held._replace(settings=done.held)),
    ]
    call.answer(value, lines)
    if not call.options.into:
        call.warn_of_known_project()
    return 1 if done.problems else 0


def _plan_json(found: Backup, plan: list[Step], applied: bool) -> dict[str, Any]:
    return {
        "made": found.made,
        "workspace": found.workspace,
        "applied": applied,
        "counts": restoration.count_states(plan),
        "files": [
            {"name": step.kept.name, "path": step.path, "state": step.state} for step in plan
        ],
    }


def _format_plan(found: Backup, plan: list[Step], target: Target) -> list[str]:
    changed = [step for step in plan if step.state not in (restoration.SAME, restoration.NEW)]
    lines = ["%-9s  %s" % (step.state, one_line(step.path)) for step in changed[:MOST_LISTED]]
    if len(changed) > MOST_LISTED:
        lines.append("… and %d more; --json lists all" % (len(changed) - MOST_LISTED))
    number = restoration.count_states(plan)
    counts = "%s: %d new, %d the same, %d different here, %d with lines that are missing here" % (
        format_count(len(plan), "file"),
        number[restoration.NEW],
        number[restoration.SAME],
        number[restoration.DIFFERENT],
        number[restoration.BEHIND],
    )
    if number[restoration.FORGOTTEN]:
        counts += ", %d forgotten here" % number[restoration.FORGOTTEN]
    refusal = restoration.find_refusal(found, target)
    return [*lines, counts, *([refusal] if refusal else [])]


def _format_restored(
    plan: list[Step], target: Target, done: RestoreResult, found: Backup, replace: bool
) -> list[str]:
    number = restoration.count_states(plan)
    same, kept = number[restoration.SAME], number[restoration.DIFFERENT] - done.replaced
    gone = 0 if replace else number[restoration.FORGOTTEN]
    made = found.made[:16].replace("T", " ")
    differ = "%d differ here and were" if kept > 1 else "%d differs here and was"
    counts = (
        (same, "%d were there already"),
        (done.joined, "missing lines added to %d logs of counts and approvals"),
        (done.replaced, "%d replaced; the old ones are in the archive: `dayleaf store restore ID`"),
        (kept, differ + " kept; --merge --replace takes the backup's"),
        (gone, "%d forgotten here were left out; --merge --replace brings them back"),
    )
    parts = [text % number for number, text in counts if number]
    parts += filter(None, [restoration.find_refusal(found, target)])
    return [
        "restored %s into %s from the backup of %s"
        % (format_count(done.written, "file"), target.home, made),
        *("  " + part for part in parts),
    ]


def _held_json(settings: Iterable[tuple[str, str, Any]]) -> list[dict[str, Any]]:
    return [{"path": file, "key": key, "value": value} for file, key, value in settings]


def _format_held(call: Call, target: Target, held: HeldBack) -> list[str]:
    lines, prefix = [], ""
    if target.home != call.place.home:
        prefix = "DAYLEAF_HOME=%s " % shlex.quote(target.home)
    for path, key, value in held.settings:
        line = "  held back '%s' of %s" % (key, one_line(path))
        if path == target.home + "/config.json":
            text = one_line(shlex.quote(value if isinstance(value, str) else to_json(value)))
            line += ": `%sdayleaf config set %s %s` sets it" % (prefix, key, text)
        lines.append(line)
    if held.decisions:
        number = format_count(held.decisions, "decision")
        lines.append("  held back its approvals (%s): they let rules bind and scripts run" % number)
    if lines:
        lines.append(
            "  a person must decide on approvals, on commands and on redaction; in a terminal, "
            "--trust takes them over"
        )
    return lines
