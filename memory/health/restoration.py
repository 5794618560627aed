"""Bringing a backup back: what would be written, and the writing, which never takes anything away.

A file that is not there is written under its name in one step, with the bytes and time that it had;
its permissions are ours, and nothing may be run.  One that is there with the same bytes stays.  One
that differs stays too, unless it is to be replaced: then the present one goes to the archive of its
tier, or beside itself as `<name>.before`.  A record that has another name by now is compared under
that, and one that was forgotten here since stays away, unless replacing is asked for.  A ledger, to
which others append meanwhile, is never replaced: it gets the lines that it lacks.  Approvals
(`trust.jsonl`) are joined only where a person says so, and never against a decision that stands:
whoever could hand over a backup could let scripts run.  So it is with settings that name programs
or let secrets through (`config.HELD`): they are left out of a `config.json` unless a person says
so, and told.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, Callable, NamedTuple

from memory.core import StoreError, approvals, config, fastjson, files, records, walk
from memory.core.layout import FOLDERS, SHARED
from memory.health import bundle
from memory.health.bundle import Backup, Kept
from memory.store import archive, conversations, writer
from memory.store.writer import WHOLE, Tiers

NEW, SAME, DIFFERENT, BEHIND, LEFT = "new", "same", "different", "behind", "left"
FORGOTTEN = "forgotten"
JOINED = ("ledger.jsonl", "spend.jsonl")  # each line of these counts by itself, wherever it stands
SETTINGS = "config.json"
_FOLDERS = frozenset((*FOLDERS.values(), "before"))


class Step(NamedTuple):
    """A file of a backup and its state at its destination.

    NEW, SAME, DIFFERENT, BEHIND (a ledger that lacks lines), LEFT (approvals that no person asked
    for) or FORGOTTEN (a record that was forgotten or removed here).
    """

    kept: Kept
    path: str
    state: str


class Target(NamedTuple):
    """The destination of a backup.

    home: the directory. shared: the repository's tier, "" for none. trust: join its
        approvals, and take settings that name programs or switch redaction off.
    """

    home: str
    shared: str
    trust: bool = False


class Restored(NamedTuple):
    """The result of a restore.

    written, joined, replaced: numbers of files. problems: one line for each file left out. held:
        (path, key, value) of each setting held back.
    """

    written: int
    joined: int
    replaced: int
    problems: list[str]
    held: list[tuple[str, str, Any]]


class Held(NamedTuple):
    """The parts of a backup that a person must decide.

    settings: (path, key, value). decisions: number of approvals.
    """

    settings: list[tuple[str, str, Any]]
    decisions: int


def is_empty(home: str) -> bool:
    """Tell whether a home holds no records or ledgers.

    Only derived files and those of this machine.
    """
    away = (*bundle.NOT_KEPT, "log")
    for name, path, _ in walk.entries_below(home, lambda name: name not in away):
        last = name.rpartition("/")[2]
        passed = (
            last.endswith(".lock")
            or last.startswith(files.TEMP)
            or last in bundle.NOT_KEPT
            or name in away
        )
        if name and not passed and not os.path.isdir(path):
            return False
    return True


def plan(found: Backup, target: Target, path: str = "") -> list[Step]:
    """Return a step for each file of a backup, in its order.

    path: the backup, in which new records are looked at; "" for none.
    """
    steps = []
    for kept in found.files:
        top, _, rest = kept.name.partition("/")
        root = target.home if top == bundle.HOME else target.shared
        if root and not (top == bundle.HOME and rest in bundle.NOT_KEPT):
            there = root + "/" + rest
            steps.append(Step(kept, there, _state(kept, there, target)))
    return _by_id(path, steps) if path else steps


class Known(NamedTuple):
    """What a tier knows of its records.

    files: (path below it, SHA-256) by id, of those in use before those in the archive. away: where
    the archived ones went, by id, "" for good. sessions: forgotten ones.
    """

    files: dict[str, tuple[str, str]]
    away: dict[str, str]
    sessions: frozenset[str]


def _by_id(path: str, steps: list[Step]) -> list[Step]:
    wanted = {step.kept.name: step for step in steps if step.state == NEW and _tier_of(step)[0]}
    tiers: dict[str, Known] = {}
    again: dict[str, Step] = {}
    for kept, data in (
        bundle.content(path, {name: step.kept for name, step in wanted.items()}) if wanted else ()
    ):
        root, home = _tier_of(wanted[kept.name])
        if root not in tiers:
            tiers[root] = _known(root)
        record = records.skim("p/" + home, data[: records.READ_LIMIT], 0.0)
        again[kept.name] = _compared(wanted[kept.name], record, tiers[root])
    return [again.get(step.kept.name, step) for step in steps]


def _compared(step: Step, record: records.Record, known: Known) -> Step:
    """Return the step of a new record, with its state in the tier."""
    root, home = _tier_of(step)
    name, sha256 = known.files.get(record.id, ("", ""))
    if name and _is_archived(home):  # of a record that is here, in use or not
        return step._replace(state=SAME)
    if name and not _is_archived(name):
        state = SAME if sha256 == step.kept.sha256 else DIFFERENT
        return Step(step.kept, root + "/" + name, state)
    if name or _is_forgotten(record, home, known):
        return step._replace(state=FORGOTTEN)
    return step


def _is_forgotten(record: records.Record, home: str, known: Known) -> bool:
    away = known.away.get(record.id)
    if away == "" or _is_archived(home):
        return away == ""
    return away is not None or record.meta.get("session") in known.sessions


def _tier_of(step: Step) -> tuple[str, str]:
    """Return (tier's directory, path below) of a record, ("", "") for another file."""
    parts = step.kept.name.split("/")
    size = 1 if parts[0] == bundle.SHARED else 2 if parts[1:2] == ["global"] else 3
    inner = [part for part in parts[size:] if part != archive.FOLDER]
    is_record = step.kept.name.endswith(".md") and inner[:1] and inner[0] in _FOLDERS
    home = "/".join(parts[size:])
    return (step.path[: -len(home) - 1], home) if is_record else ("", "")


def _is_archived(name: str) -> bool:
    return name.startswith(archive.FOLDER + "/")


def _known(root: str) -> Known:
    found: dict[str, tuple[str, str]] = {}
    for name, path, stat in walk.entries_below(root):
        inner = [part for part in name.split("/") if part != archive.FOLDER]
        if not (walk.is_regular(stat) and name.endswith(".md") and inner[0] in _FOLDERS):
            continue
        with suppress(OSError):
            data = files.read(path, WHOLE, follow=False)
            id = records.skim("p/" + name, data[: records.READ_LIMIT], 0.0).id
            if id not in found or not _is_archived(name):
                found[id] = (name, files.sha256(data))
    last = {move.id: move.away for move, _, _ in archive.moves(root)}
    away = {id: place for id, place in last.items() if not place or _is_archived(place)}
    return Known(found, away, frozenset(conversations.forgotten_in(root)))


def _state(kept: Kept, path: str, target: Target) -> str:
    try:
        data = files.read(path, WHOLE, follow=False)
    except FileNotFoundError:
        return LEFT if _is_trust(kept) and not target.trust else NEW
    except OSError:
        return DIFFERENT
    if files.sha256(data) == kept.sha256:
        return SAME
    if _is_trust(kept):
        return BEHIND if target.trust else LEFT
    return _log_state(kept, data) if kept.name.endswith(".jsonl") else DIFFERENT


def _log_state(kept: Kept, data: bytes) -> str:
    if files.sha256(data[: kept.size]) == kept.sha256:
        return SAME  # it has grown since
    log = "/%s/%s" % (archive.FOLDER, archive.LOG)
    is_ledger = kept.name.rpartition("/")[2] in JOINED or kept.name.endswith(log)
    return BEHIND if is_ledger else DIFFERENT


def _is_trust(kept: Kept) -> bool:
    # as a disk may see it that folds letters
    return kept.name.casefold() == "%s/%s" % (bundle.HOME, approvals.LEDGER)


def held_back(path: str, steps: list[Step], target: Target, replace: bool = False) -> Held:
    """Return the settings and approvals that a restore holds back.

    Arguments as of `apply`. Raises StoreError.
    """
    wanted = {
        step.kept.name: step
        for step in steps
        if step.state == LEFT
        or (
            _is_settings(step.kept.name)
            and not target.trust
            and (step.state == NEW or (replace and step.state == DIFFERENT))
        )
    }
    settings: list[tuple[str, str, Any]] = []
    decisions = 0
    for kept, data in (
        bundle.content(path, {name: step.kept for name, step in wanted.items()}) if wanted else ()
    ):
        step = wanted[kept.name]
        if step.state == LEFT:
            decisions += sum(1 for _ in fastjson.rows(data))
            continue
        # one that is no JSON object is not written at all
        with suppress(StoreError, RecursionError):
            settings += [
                (step.path, key, value) for key, value in _allowed(data, step.path)[1].items()
            ]
    return Held(settings, decisions)


def apply(
    path: str,
    found: Backup,
    steps: list[Step],
    target: Target,
    tiers: Tiers,
    now: float,
    replace: bool = False,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> Restored:
    """Carry out a plan.

    path: the backup. tiers: of the target. now: for the archive's log. replace: files that differ,
        too. told: called with (files done, files). Raises StoreError where the backup has changed,
        OSError.
    """
    wanted = {
        step.kept.name: step
        for step in steps
        if step.state in (NEW, BEHIND) or (replace and step.state in (DIFFERENT, FORGOTTEN))
    }
    written = joined = replaced = 0
    problems: list[str] = []
    held: list[tuple[str, str, Any]] = []
    with tiers:
        for kept, data in bundle.content(path, {name: step.kept for name, step in wanted.items()}):
            told(written + joined + replaced, len(wanted))
            step = wanted[kept.name]
            try:
                if step.state == BEHIND:
                    joined += _join(tiers, step, data)
                    continue
                if _is_settings(kept.name) and not target.trust:
                    data, back = _allowed(data, step.path)
                    held += [(step.path, key, value) for key, value in back.items()]
                    if (
                        back
                        and step.state == DIFFERENT
                        and files.read(step.path, WHOLE, follow=False) == data
                    ):
                        continue
                if step.state == DIFFERENT:
                    tiers.set_aside(step.path, "replaced by a backup", now)
                    replaced += 1
                access = writer.mode(_tier(kept.name))
                tiers.create(step.path, data, access, kept.mtime_ns)
                written += 1
                if step.state == FORGOTTEN:
                    root, home = _tier_of(step)
                    id = records.skim("p/" + home, data[: records.READ_LIMIT], 0.0).id
                    before = home[len(archive.FOLDER) + 1 :] if _is_archived(home) else ""
                    archive.log(root, archive.Move(id, before, home), archive.RESTORED, now, access)
            except FileExistsError:
                problems.append(
                    "%s: another process has just written it, so it was not restored" % step.path
                )
            except (OSError, RecursionError, StoreError) as error:
                problems.append(
                    "%s could not be written: %s"
                    % (step.path, getattr(error, "strerror", None) or error)
                )
        _settle(found, target)
    return Restored(written - replaced, joined, replaced, problems, held)


def _tier(name: str) -> str:
    return SHARED if name.startswith(bundle.SHARED + "/") or name == bundle.SHARED else ""


def _is_settings(name: str) -> bool:
    return name.rpartition("/")[2].casefold() == SETTINGS


def _allowed(data: bytes, path: str) -> tuple[bytes, dict[str, Any]]:
    """Split a settings file into free and held settings.

    Returns the file without the settings that only a person may decide, and these by key.

    Settings present at `path` keep their values. Raises StoreError for a file that is no JSON
    object: nobody knows what a later reader finds in it.
    """
    there: dict[str, Any] = {}
    with suppress(OSError, StoreError):
        there = {
            key: value
            for key, value in _object(files.read(path, WHOLE)).items()
            if key in config.HELD
        }
    found = _object(data)
    held = {
        key: value
        for key, value in found.items()
        if key in config.HELD and value != there.get(key, config.DEFAULTS[key])
    }
    if not held:
        return data, held
    kept = {key: value for key, value in found.items() if key not in config.HELD}
    return (json.dumps({**kept, **there}, indent=2) + "\n").encode("ascii"), held


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = fastjson.parse(data)
        if isinstance(value, dict):
            return config.flatten(value)
    except (ValueError, RecursionError):
        pass
    raise StoreError("it is not a JSON object of settings")


def _join(tiers: Tiers, step: Step, data: bytes) -> bool:
    """Append a backup's missing lines to a ledger.

    Raises OSError, StoreError.
    """
    present = files.read(step.path, WHOLE, follow=False)
    known = frozenset(present.split(b"\n"))
    lines = [line for line in data.split(b"\n") if line and line not in known]
    if _is_trust(step.kept):
        decided = _decision_keys(present)
        lines = [line for line in lines if decided.isdisjoint(_decision_keys(line))]
    # later lines count; its writers hold the same lock
    if lines and step.kept.name.endswith("/" + archive.LOG):
        tiers.rewrite(step.path, lambda log: b"\n".join([*lines, log]))
    elif lines:
        torn = present and not present.endswith(b"\n")
        tiers.append(step.path, (b"\n" if torn else b"") + b"\n".join(lines) + b"\n")
    return bool(lines)


def _decision_keys(data: bytes) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (str(row.get("workspace")), str(row.get("id")), str(row.get("sha256")))
        for row in fastjson.rows(data)
    )


def _files_in(folder: str, name: str) -> set[str]:
    found = [one.name for one in os.scandir(folder) if one.is_file(follow_symlinks=False)]
    return {name + "/" + one for one in found}


def _settle(found: Backup, target: Target) -> None:
    """Create empty folders, and restore the times of folders."""
    names = {kept.name for kept in found.files}
    for name, _, time in sorted(found.folders, reverse=True):
        top, _, rest = name.partition("/")
        root = target.home if top == bundle.HOME else target.shared
        path = root + "/" + rest if rest else root
        if not root or not files.inside(path.rpartition("/")[0] if rest else root, root):
            continue
        with suppress(OSError):
            files.make_folder(path)
            if rest and _files_in(path, name) <= names:
                os.chmod(path, 0o755 if _tier(name) else files.FOLDER_MODE)
                os.utime(path, ns=(time, time))


def counts(steps: list[Step]) -> dict[str, int]:
    """Return the number of a plan's files in each state."""
    return {
        state: sum(step.state == state for step in steps)
        for state in (NEW, SAME, DIFFERENT, BEHIND, LEFT, FORGOTTEN)
    }


def foreign(found: Backup, target: Target) -> str | None:
    """Return the reason against restoring a repository's files, or None."""
    number = sum(kept.name.startswith(bundle.SHARED + "/") for kept in found.files)
    if number and not target.shared:
        return (
            "%d of its files belong to a repository's .dayleaf and were left out; run "
            "this in the repository"
        ) % number
    return None
