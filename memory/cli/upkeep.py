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
from memory.knowledge.housekeeping import Change, UpkeepPlan
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
    options = call.options
    if options.apply:
        return _apply_upkeep(call)
    with call.spinner("reading the records"):
        found = housekeeping.plan_upkeep(
            call.store(), _count_successes(call), clock_is_right=options.clock_is_right
        )
    lines = [
        *_format_changes([*found.changes]),
        *_format_doubt(found),
        housekeeping.format_counts(found.records, found.merged, found.archived),
    ]
    if found.changes:
        lines.append("`dayleaf store upkeep --apply` does it; `dayleaf store undo` undoes it")
    return call.answer({**housekeeping.plan_to_json(found), "applied": False}, lines)


def _apply_upkeep(call: Call) -> int:
    with call.spinner("reading the records") as spinner:
        did = housekeeping.apply(
            call.store(),
            _count_successes(call),
            call.options.clock_is_right,
            spinner.counting("upkeep"),
        )
    call.indexed()
    ledger.recount_after_moves(call.place)
    for problem in did.problems:
        warn(problem)
    done = did.plan._replace(changes=did.changes)
    lines = [
        *_format_changes([*done.changes], True),
        *_format_doubt(done),
        housekeeping.format_counts(done.records, done.merged, done.archived),
    ]
    if done.changes:
        lines.append("`dayleaf store undo` undoes it")
    call.answer(
        {**housekeeping.plan_to_json(done), "applied": True, "problems": list(did.problems)}, lines
    )
    return 1 if did.problems else 0


def _count_successes(call: Call) -> Mapping[str, int]:
    folds = [
        lookup.credit_successors(call.place, ledger.read(book))
        for book in ledger.ledgers(call.place)
    ]
    return {id: fold.counts(id).up for fold in folds for id in fold.rows}


def _format_changes(changes: list[Change], is_done: bool = False) -> list[str]:
    rows = [
        [
            ("merge" if change.kept else "archive") + "d" * is_done,
            change.record.id,
            clip_columns(one_line(change.record.title), TITLE_COLUMNS),
            "into %s: same words" % change.kept.id if change.kept else change.reason,
        ]
        for change in changes
    ]
    return [*screen.format_table(rows), ""] if rows else []


def _format_doubt(found: UpkeepPlan) -> list[str]:
    said = "upkeep archives nothing by age: %s; correct it, or %s" % (
        one_line(found.doubt),
        CLOCK_REMEDY,
    )
    return [said] if found.doubt else []


def undo(call: Call) -> int:
    with call.spinner("reading the journal") as spinner:
        back = housekeeping.undo(call.store(), spinner.counting("undo"))
    if back is None:
        lines = ["nothing to undo: no upkeep was applied here, or all of it is undone already"]
        return call.answer({"undone": None}, lines)
    call.indexed()
    ledger.recount_after_moves(call.place)
    for problem in back.problems:
        warn(problem)
    said = "undid the upkeep of %s: %s restored, %d put back to the old text" % (
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
        said += "; %d could not be undone, see above" % len(back.problems)
    call.answer(value, [said])
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


def _choose_backup_file(call: Call, sealing: bool) -> str:
    target = (
        os.path.abspath(call.words[0])
        if call.words
        else _find_free_name(os.getcwd(), call.now, sealing)
    )
    if call.options.here:
        return target
    if not call.words and find_work_tree(target):
        target = _find_free_name(call.env.get("HOME") or os.getcwd(), call.now, sealing)
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
    place, workspace = call.place, _find_workspace(call)
    sealing = call.options.age is not None
    recipient = agefile.parse_recipient(call.options.age) if sealing else None
    target = _choose_backup_file(call, sealing)
    with call.spinner("writing the backup") as spinner:
        made = bundle.write_backup(
            place,
            target,
            call.now,
            workspace,
            bool(call.options.shared),
            spinner.counting(spinner.step),
            agefile.make_encryptor(recipient) if sealing else None,
        )
    if call.options.shared and not any(
        kept.name.startswith(bundle.SHARED + "/") for kept in made.files
    ):
        warn("there is no shared tier here, so the backup has none")
    size = os.stat(target).st_size
    lines = [
        "backed up %s (%s bytes) to %s"
        % (format_count(len(made.files), "file"), "{:,}".format(size), target),
        *("  left out %s: %s" % (one_line(name), why) for name, why in made.left),
        *(
            ["  %s disappeared meanwhile" % format_count(made.vanished, "file")]
            if made.vanished
            else []
        ),
        "  it was read back and is complete; `dayleaf store restore FILE` restores it"
        if not sealing
        else (
            "  it was read back, then encrypted; `dayleaf store restore FILE --identity "
            "KEYFILE` restores it"
        ),
    ]
    value = {
        "file": target,
        "bytes": size,
        "files": len(made.files),
        "vanished": made.vanished,
        "encrypted": sealing,
        "left": [list(row) for row in made.left],
    }
    return call.answer(value, lines)


def _find_free_name(folder: str, now: float, sealed: bool = False) -> str:
    stem = "%s/dayleaf-%s" % (folder.rstrip("/"), clock.day(now))
    end = ".tar.gz.age" if sealed else ".tar.gz"
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
        given = [
            name
            for name in ("into", "merge", "replace", "trust", "identity", "dry_run")
            if getattr(call.options, name)
        ]
        if given:
            message = "--%s is only for a backup: `dayleaf store restore FILE`"
            raise UsageError(message % given[0].replace("_", "-"))
        found = call.store().restore(call.single_word("ID"))
        call.indexed()
        ledger.recount_after_moves(call.place)
        return report_written(call, found, "restored")
    path = os.path.abspath(call.words[0])
    if not agefile.is_encrypted(path):
        if call.options.identity:
            raise UsageError(
                "--identity is for an encrypted backup, and %s is not encrypted" % path
            )
        return _restore_backup(call, path, path)
    if not call.options.identity:
        raise UsageError(
            "%s is encrypted; name your key file: `dayleaf store restore FILE --identity KEYFILE`"
            % path
        )
    with agefile.decrypted(
        path, os.path.abspath(call.options.identity), files.make_folder(call.place.home + "/cache")
    ) as plain:
        return _restore_backup(call, path, plain)


def _restore_backup(call: Call, named: str, path: str) -> int:
    with call.spinner("reading the backup"):
        target, empty = _find_target(call, named)
        found = bundle.read_backup(path)
        plan = restoration.plan_restore(found, target, path)
        held = restoration.find_held_back(path, plan, target, bool(call.options.replace))
    note = restoration.find_refusal(found, target)
    if call.options.dry_run:
        value = {
            **_plan_json(found, plan, False),
            "held": _held_json(held.settings),
            "approvalsHeld": held.decisions,
        }
        lines = [
            *_format_plan(plan, note),
            *_format_held(call, target, held),
            "nothing was written (--dry-run)",
        ]
        return call.answer(value, lines)
    if (
        not empty
        and not call.options.merge
        and restoration.count_states(plan)[restoration.SAME] < len(plan)
    ):
        call.answer(_plan_json(found, plan, False), _format_plan(plan, note))
        raise StoreError(
            "%s already holds files; --merge adds the new ones, with --replace also those that "
            "differ, --into DIR restores elsewhere" % target.home
        )
    if _ask_to_take_over(call, target, held):
        target = target._replace(trust=True)
        plan, held = restoration.plan_restore(found, target, path), restoration.HeldBack([], 0)
    return _apply_restore(call, path, found, plan, target, held)


def _ask_to_take_over(call: Call, target: Target, held: HeldBack) -> bool:
    if not any(held) or call.options.json or boundary.is_agent(call.env):
        return False
    return ask_confirmation(
        "\n".join((*_format_held(call, target, held), "take it over? type yes: "))
    )


def _check_restore(call: Call, path: str) -> None:
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
        return restoration.Target(home, "", options.trust), True
    target = restoration.Target(place.home, place.shared if place.git else "", options.trust)
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


def _format_plan(plan: list[Step], note: str | None) -> list[str]:
    told = [step for step in plan if step.state not in (restoration.SAME, restoration.NEW)]
    lines = ["%-9s  %s" % (step.state, one_line(step.path)) for step in told[:MOST_LISTED]]
    more = len(told) - MOST_LISTED
    number = restoration.count_states(plan)
    sums = "%s: %d new, %d the same, %d different here, %d with lines that are missing here" % (
        format_count(len(plan), "file"),
        number[restoration.NEW],
        number[restoration.SAME],
        number[restoration.DIFFERENT],
        number[restoration.BEHIND],
    )
    gone = number[restoration.FORGOTTEN]
    sums += ", %d forgotten here" % gone * bool(gone)
    rest = "… and %d more; --json lists all" % more if more > 0 else ""
    return list(filter(None, (*lines, rest, sums, note)))


def _format_restored(
    plan: list[Step], target: Target, done: RestoreResult, found: Backup, replace: bool
) -> list[str]:
    number = restoration.count_states(plan)
    same, kept = number[restoration.SAME], number[restoration.DIFFERENT] - done.replaced
    gone = number[restoration.FORGOTTEN] * (not replace)
    made = found.made[:16].replace("T", " ")
    parts = (
        same and "%d were there already" % same,
        done.joined and "missing lines added to %d logs of counts and approvals" % done.joined,
        done.replaced
        and "%d replaced; the old ones are in the archive: `dayleaf store restore ID`"
        % done.replaced,
        kept
        and "%s here and %s kept; --merge --replace takes the backup's"
        % (("%d differ" % kept, "were") if kept > 1 else ("1 differs", "was")),
        gone and "%d forgotten here were left out; --merge --replace brings them back" % gone,
        restoration.find_refusal(found, target),
    )
    return [
        "restored %s into %s from the backup of %s"
        % (format_count(done.written, "file"), target.home, made),
        *("  %s" % part for part in parts if part),
    ]


def _held_json(settings: Iterable[tuple[str, str, Any]]) -> list[dict[str, Any]]:
    return [{"path": file, "key": key, "value": value} for file, key, value in settings]


def _format_held(call: Call, target: Target, held: HeldBack) -> list[str]:
    lines = []
    for path, key, value in held.settings:
        lines.append("  held back '%s' of %s" % (key, one_line(path)))
        if path == target.home + "/config.json":
            home = (
                ""
                if target.home == call.place.home
                else "DAYLEAF_HOME=%s " % shlex.quote(target.home)
            )
            said = shlex.quote(value if isinstance(value, str) else to_json(value))
            lines[-1] += ": `%sdayleaf config set %s %s` sets it" % (home, key, one_line(said))
    if held.decisions:
        number = format_count(held.decisions, "decision")
        lines.append("  held back its approvals (%s): they let rules bind and scripts run" % number)
    last = (
        "  a person must decide on approvals, on commands and on redaction; in a terminal, "
        "--trust takes them over"
    )
    return [*lines, last] if lines else []
