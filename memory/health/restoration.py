"""Restores a backup: the plan, and the writing, which never loses anything.

A missing file is written in one step, with its bytes and time; its permissions are ours, and
nothing is executable. A different file stays, unless it is to be replaced: then the present one
goes to the archive of its tier, or beside itself as `<name>.before`. A renamed record is compared
under its new name; a record that was forgotten here stays away, unless replacing is asked for. A
ledger is never replaced: it gets its missing lines.

Whoever hands over a backup must not decide which programs run. So approvals (`trust.jsonl`) are
joined only where a person says so, and never against an existing decision; settings that name
programs or let secrets through (`config.USER_ONLY_KEYS`) are left out likewise, and reported.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Callable, NamedTuple

from memory.core import StoreError, approvals, config, fastjson, files, records, walk
from memory.core.layout import FOLDERS, SHARED
from memory.health import bundle
from memory.health.bundle import Backup, BackupFile
from memory.store import archive, conversations, writer
from memory.store.writer import WHOLE, TierWriter

NEW, SAME, DIFFERENT, BEHIND, LEFT = "new", "same", "different", "behind", "left"
FORGOTTEN = "forgotten"
JOINED = ("ledger.jsonl", "spend.jsonl")  # ledgers whose lines may stand in any order
SETTINGS = "config.json"
_FOLDERS = frozenset((*FOLDERS.values(), "before"))


class Step(NamedTuple):
    """A file of a backup and its state at its destination.

    state: NEW, SAME, DIFFERENT, BEHIND (a ledger lacks lines), LEFT (approvals that no person asked
    for) or FORGOTTEN (a record that was forgotten or removed here).
    """

    kept: BackupFile
    path: str
    state: str


class Target(NamedTuple):
    """The destination of a backup.

    shared: the repository's tier, "" for none. trust: join approvals, and take settings that name
    programs or switch redaction off.
    """

    home: str
    shared: str
    trust: bool = False


class RestoreResult(NamedTuple):
    """The result of a restore.

    written, joined, replaced: numbers of files. problems: a line for each file left out. held:
    (path, key, value) of each setting held back.
    """

    written: int
    joined: int
    replaced: int
    problems: list[str]
    held: list[tuple[str, str, Any]]


class HeldBack(NamedTuple):
    """The parts of a backup that wait for a person.

    settings: (path, key, value). decisions: number of approvals.
    """

    settings: list[tuple[str, str, Any]]
    decisions: int


def is_empty(home: str) -> bool:
    """Tell whether a home holds only derived files and those of this machine."""
    away = (*bundle.EXCLUDED, "log")
    for name, path, _ in walk.walk_entries(home, lambda name: name not in away):
        last = name.rpartition("/")[2]
        is_temporary = last.endswith(".lock") or last.startswith(files.TEMP_PREFIX)
        is_excluded = not name or name in away or last in bundle.EXCLUDED
        if not is_temporary and not is_excluded and not os.path.isdir(path):
            return False
    return True


def plan_restore(found: Backup, target: Target, path: str = "") -> list[Step]:
    """Return a step for each file of a backup.

    path: the backup, to compare new records by id; "" to compare by name alone.
    """
    steps = []
    for file in found.files:
        top, _, rest = file.name.partition("/")
        root = target.home if top == bundle.HOME else target.shared
        if root and not (top == bundle.HOME and rest in bundle.EXCLUDED):
            destination = root + "/" + rest
            steps.append(Step(file, destination, _file_state(file, destination, target)))
    return _compare_by_id(path, steps) if path else steps


class TierRecords(NamedTuple):
    """The present and former records of a tier.

    files: (path below the tier, SHA-256) by id, of a record in use before one in the archive. away:
    place of archived records by id, "" for deleted ones. sessions: forgotten sessions.
    """

    files: dict[str, tuple[str, str]]
    away: dict[str, str]
    sessions: frozenset[str]


def _compare_by_id(path: str, steps: list[Step]) -> list[Step]:
    """Compare new records with those of the same id at the destination."""
    wanted = {step.kept.name: step for step in steps if step.state == NEW and _split_tier(step)[0]}
    tiers: dict[str, TierRecords] = {}
    compared: dict[str, Step] = {}
    for file, data in _read_wanted(path, wanted):
        root, inner = _split_tier(wanted[file.name])
        if root not in tiers:
            tiers[root] = _read_tier(root)
        record = records.from_bytes_fast("p/" + inner, data[: records.READ_LIMIT], 0.0)
        compared[file.name] = _compare(wanted[file.name], record, tiers[root])
    return [compared.get(step.kept.name, step) for step in steps]


def _read_wanted(path: str, wanted: dict[str, Step]) -> Iterator[tuple[BackupFile, bytes]]:
    """Yield (manifest's row, bytes) of the files of steps."""
    if wanted:
        yield from bundle.read_files(path, {name: step.kept for name, step in wanted.items()})


def _compare(step: Step, record: records.Record, known: TierRecords) -> Step:
    """Compare a new record with the tier's record of its id."""
    root, inner = _split_tier(step)
    name, sha256 = known.files.get(record.id, ("", ""))
    if name and _is_archived(inner):  # its record is here, in use or archived
        return step._replace(state=SAME)
    if name and not _is_archived(name):
        state = SAME if sha256 == step.kept.sha256 else DIFFERENT
        return Step(step.kept, root + "/" + name, state)
    if name or _is_forgotten(record, inner, known):
        return step._replace(state=FORGOTTEN)
    return step


def _is_forgotten(record: records.Record, inner: str, known: TierRecords) -> bool:
    away = known.away.get(record.id)  # "" where it was deleted
    if _is_archived(inner):
        return away == ""
    return away is not None or record.meta.get("session") in known.sessions


def _split_tier(step: Step) -> tuple[str, str]:
    """Return (tier's directory, path below) of a record, ("", "") for another file."""
    parts = step.kept.name.split("/")
    # how many parts name the tier: `shared`, `home/global`, `home/workspaces/<key>`
    size = 1 if parts[0] == bundle.SHARED else 2 if parts[1:2] == ["global"] else 3
    folders = [part for part in parts[size:] if part != archive.FOLDER]
    is_record = step.kept.name.endswith(".md") and folders[:1] and folders[0] in _FOLDERS
    inner = "/".join(parts[size:])
    return (step.path[: -len(inner) - 1], inner) if is_record else ("", "")


def _is_archived(name: str) -> bool:
    return name.startswith(archive.FOLDER + "/")


def _read_tier(root: str) -> TierRecords:
    found: dict[str, tuple[str, str]] = {}
    for name, path, stat in walk.walk_entries(root):
        inner = [part for part in name.split("/") if part != archive.FOLDER]
        if not (walk.is_regular(stat) and name.endswith(".md") and inner[0] in _FOLDERS):
            continue
        with suppress(OSError):
            data = files.read(path, WHOLE, follow=False)
            id = records.from_bytes_fast("p/" + name, data[: records.READ_LIMIT], 0.0).id
            if id not in found or not _is_archived(name):
                found[id] = (name, files.sha256(data))
    last = {move.id: move.away for move, _, _ in archive.read_log(root)}
    away = {id: place for id, place in last.items() if not place or _is_archived(place)}
    return TierRecords(found, away, frozenset(conversations.read_forgotten(root)))


def _file_state(kept: BackupFile, path: str, target: Target) -> str:
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


def _log_state(kept: BackupFile, data: bytes) -> str:
    """Return the state of a log that is unlike the backup's."""
    if files.sha256(data[: kept.size]) == kept.sha256:
        return SAME  # it has grown since
    log = "/%s/%s" % (archive.FOLDER, archive.LOG)
    is_ledger = kept.name.rpartition("/")[2] in JOINED or kept.name.endswith(log)
    return BEHIND if is_ledger else DIFFERENT


def _is_trust(kept: BackupFile) -> bool:
    # some disks fold case
    return kept.name.casefold() == "%s/%s" % (bundle.HOME, approvals.LEDGER)


def find_held_back(
    path: str, steps: list[Step], target: Target, differing: bool = False
) -> HeldBack:
    """Return the settings and approvals that a restore holds back.

    differing: also those of settings files that differ.
    """
    states = (NEW, DIFFERENT) if differing else (NEW,)
    wanted = {
        step.kept.name: step
        for step in steps
        if step.state == LEFT
        or (not target.trust and step.state in states and _is_settings(step.kept.name))
    }
    settings: list[tuple[str, str, Any]] = []
    decisions = 0
    for file, data in _read_wanted(path, wanted):
        step = wanted[file.name]
        if step.state == LEFT:
            decisions += len(fastjson.parse_rows(data))
            continue
        # `apply` refuses a file that is no JSON object
        with suppress(StoreError, RecursionError):
            held = _split_settings(data, step.path)[1]
            settings += [(step.path, key, value) for key, value in held.items()]
    return HeldBack(settings, decisions)


def apply(
    path: str,
    found: Backup,
    steps: list[Step],
    target: Target,
    tiers: TierWriter,
    now: float,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> RestoreResult:
    """Restore the files of a plan.

    path: the backup. tiers: of the target. replace: different files, too. progress: called with
    (files done, files). Raises StoreError, OSError.
    """
    wanted = {step.kept.name: step for step in steps if _is_restored(step, target, replace)}
    counts = Counter[str]()
    problems: list[str] = []
    held: list[tuple[str, str, Any]] = []
    with tiers:
        rows = {name: step.kept for name, step in wanted.items()}
        for kept, data in bundle.read_files(path, rows):
            progress(counts.total(), len(wanted))
            step = wanted[kept.name]
            try:
                whole = data if replace else _keep_present_settings(step, data)
                counts[_restore_file(step, whole, target, tiers, now, held)] += 1
            except FileExistsError:
                what = "%s: another process has just written it, so it was not restored"
                problems.append(what % step.path)
            except (OSError, RecursionError, StoreError) as error:
                why = getattr(error, "strerror", None) or error
                problems.append("%s could not be written: %s" % (step.path, why))
        _restore_folders(found, target)
    written = counts[NEW] + counts[FORGOTTEN]
    return RestoreResult(written, counts[BEHIND], counts[DIFFERENT], problems, held)


def _is_restored(step: Step, target: Target, replace: bool) -> bool:
    """Tell whether a restore writes a step's file."""
    if step.state == DIFFERENT and target.trust and _is_settings(step.kept.name):
        return True
    return step.state in ((NEW, BEHIND, DIFFERENT, FORGOTTEN) if replace else (NEW, BEHIND))


def _restore_file(
    step: Step,
    data: bytes,
    target: Target,
    tiers: TierWriter,
    now: float,
    held: list[tuple[str, str, Any]],
) -> str:
    """Write one file; return the step's state, SAME if nothing was written.

    held: gets (path, key, value) of each setting held back.
    """
    is_different = step.state == DIFFERENT
    if step.state == BEHIND:
        return BEHIND if _append_missing_lines(tiers, step, data) else SAME
    if _is_settings(step.kept.name) and not target.trust:
        data, back = _split_settings(data, step.path)
        held += [(step.path, key, value) for key, value in back.items()]
    if is_different and files.read(step.path, WHOLE, follow=False) == data:
        return SAME
    if is_different:
        tiers.set_aside(step.path, "replaced by a backup", now)
    access = writer.file_mode(_tier_letter(step.kept.name))
    tiers.create(step.path, data, access, step.kept.mtime_ns)
    if step.state == FORGOTTEN:
        _log_restored(step, data, now, access)
    return step.state


def _log_restored(step: Step, data: bytes, now: float, access: int) -> None:
    root, inner = _split_tier(step)
    id = records.from_bytes_fast("p/" + inner, data[: records.READ_LIMIT], 0.0).id
    before = inner[len(archive.FOLDER) + 1 :] if _is_archived(inner) else ""
    archive.log(root, archive.Move(id, before, inner), archive.RESTORED, now, access)


def _tier_letter(name: str) -> str:
    return SHARED if name.startswith(bundle.SHARED + "/") or name == bundle.SHARED else ""


def _is_settings(name: str) -> bool:
    return name.rpartition("/")[2].casefold() == SETTINGS


def _split_settings(data: bytes, path: str) -> tuple[bytes, dict[str, Any]]:
    """Return (settings file without held-back settings, these settings by key).

    Only a person may decide held settings; those present at `path` keep their values. Raises
    StoreError for a file that is no JSON object: a later reader may find anything in it.
    """
    present_values: dict[str, Any] = {}
    with suppress(OSError, StoreError):
        present = _parse_settings(files.read(path, WHOLE))
        present_values = {
            key: value for key, value in present.items() if key in config.USER_ONLY_KEYS
        }
    settings = _parse_settings(data)
    others = {key: value for key, value in settings.items() if key not in config.USER_ONLY_KEYS}
    person_only = {key: value for key, value in settings.items() if key in config.USER_ONLY_KEYS}
    before = {**config.DEFAULTS, **present_values}
    held = {key: value for key, value in person_only.items() if value != before[key]}
    if not held:
        return data, held
    return (json.dumps({**others, **present_values}, indent=2) + "\n").encode("ascii"), held


def _keep_present_settings(step: Step, data: bytes) -> bytes:
    """Return the present settings file with a backup's held-back ones added.

    data: the backup's file, returned for another step.
    """
    if step.state != DIFFERENT:
        return data
    present = files.read(step.path, WHOLE, follow=False)
    held = _split_settings(data, step.path)[1]
    if not held:
        return present
    return (json.dumps({**_parse_settings(present), **held}, indent=2) + "\n").encode("ascii")


def _parse_settings(data: bytes) -> dict[str, Any]:
    try:
        value = fastjson.parse(data)
        if isinstance(value, dict):
            return config.flatten(value)
    except (ValueError, RecursionError):
        pass
    raise StoreError("it is not a JSON object of settings")


def _append_missing_lines(tiers: TierWriter, step: Step, data: bytes) -> bool:
    """Append a backup's missing lines to a ledger; tell whether there were any."""
    present = files.read(step.path, WHOLE, follow=False)
    known = frozenset(present.split(b"\n"))
    lines = [line for line in data.split(b"\n") if line and line not in known]
    if _is_trust(step.kept):
        decided = _decision_keys(present)
        lines = [line for line in lines if decided.isdisjoint(_decision_keys(line))]
    # its later lines count; its writers hold the same lock
    if lines and step.kept.name.endswith("/" + archive.LOG):
        tiers.rewrite(step.path, lambda log: b"\n".join([*lines, log]))
    elif lines:
        torn = present and not present.endswith(b"\n")
        tiers.append(step.path, (b"\n" if torn else b"") + b"\n".join(lines) + b"\n")
    return bool(lines)


def _decision_keys(data: bytes) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (str(row.get("workspace")), str(row.get("id")), str(row.get("sha256")))
        for row in fastjson.parse_rows(data)
    )


def _list_files(folder: str, name: str) -> set[str]:
    entries = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    return {name + "/" + entry.name for entry in entries}


def _restore_folders(found: Backup, target: Target) -> None:
    """Create empty folders, and restore the times of folders."""
    names = {kept.name for kept in found.files}
    for name, _, time in sorted(found.folders, reverse=True):
        top, _, rest = name.partition("/")
        root = target.home if top == bundle.HOME else target.shared
        path = root + "/" + rest if rest else root
        if not root or not files.is_inside(path.rpartition("/")[0] if rest else root, root):
            continue
        with suppress(OSError):
            files.make_folder(path)
            if rest and _list_files(path, name) <= names:
                os.chmod(path, 0o755 if _tier_letter(name) else files.FOLDER_MODE)
                os.utime(path, ns=(time, time))


def count_states(steps: list[Step]) -> dict[str, int]:
    counts = Counter(step.state for step in steps)
    return {state: counts[state] for state in (NEW, SAME, DIFFERENT, BEHIND, LEFT, FORGOTTEN)}


def find_refusal(found: Backup, target: Target) -> str | None:
    """Return why a backup's shared files are left out, or None."""
    number = sum(kept.name.startswith(bundle.SHARED + "/") for kept in found.files)
    if not number or target.shared:
        return None
    return (
        "%d of its files belong to a repository's .dayleaf and were left out; run this in the "
        "repository"
    ) % number
