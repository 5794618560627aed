"""Bringing a backup back: what would be written, and the writing, which never takes anything away.

A file that is not there is written under its name in one step, with the bytes, permissions and time that it had.  One that is
there with the same bytes stays.  One that differs stays too, unless it is to be replaced: then the present one goes to the
archive of its tier, or beside itself as `<name>.before`.  A ledger, to which others append meanwhile, is never replaced: it gets
the lines that it lacks.  Approvals (`trust.jsonl`) are joined only where a person says so, and never against a decision that
stands: whoever could hand over a backup could let scripts run.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Callable, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from memory import archive, backup, files, frontmatter, jsonio, records, trust
from memory.archive import Move
from memory.backup import Backup, Kept
from memory.errors import StoreError
from memory.paths import FOLDERS, Place

NEW, SAME, DIFFERENT, BEHIND, LEFT = "new", "same", "different", "behind", "left"
JOINED = ("ledger.jsonl", "spend.jsonl")  # each line of these counts by itself, wherever it stands
_KINDS = frozenset(FOLDERS.values())


class Step(NamedTuple):
    """A file of a backup, where it goes, and how it stands there: NEW, SAME, DIFFERENT, BEHIND (a ledger that lacks lines) or
    LEFT (approvals that are not asked for)."""

    kept: Kept
    path: str
    state: str


class Target(NamedTuple):
    """Where a backup goes.  home: the directory.  shared: the repository's tier, "" for none.  trust: join its approvals."""

    home: str
    shared: str
    trust: bool = False


class Restored(NamedTuple):
    """What a restore did: how many files it wrote, joined and replaced, and one line for each that it left."""

    written: int
    joined: int
    replaced: int
    problems: List[str]


def is_empty(home: str) -> bool:
    """Tell whether a home holds nothing that a person, or dayleaf for them, has kept: what is derived or of the machine apart."""
    for folder, folders, names in os.walk(home):
        if folder == home:
            folders[:] = [name for name in folders if name not in (*backup.NOT_KEPT, "log")]
        if any(not (name.endswith(".lock") or name.startswith(files.TEMP)) for name in names):
            return False
    return True


def plan(found: Backup, target: Target) -> List[Step]:
    """Say how each file of a backup stands where it would go, in the backup's order."""
    steps = []
    for kept in found.files:
        top, _, rest = kept.name.partition("/")
        root = target.home if top == backup.HOME else target.shared
        if root:
            path = root + "/" + rest
            steps.append(Step(kept, path, _state(kept, path, target)))
    return steps


def _state(kept: Kept, path: str, target: Target) -> str:
    try:
        data = files.read(path, 1 << 40, follow=False)
    except FileNotFoundError:
        return LEFT if _is_trust(kept) and not target.trust else NEW
    except OSError:
        return DIFFERENT
    if files.sha256(data) == kept.sha256:
        return SAME
    if _is_trust(kept):
        return BEHIND if target.trust else LEFT
    if kept.name.endswith(".jsonl"):
        if files.sha256(data[:kept.size]) == kept.sha256:
            return SAME  # it has grown since
        if _is_ledger(kept.name):
            return BEHIND
    return DIFFERENT


def _is_trust(kept: Kept) -> bool:
    return kept.name == "%s/%s" % (backup.HOME, trust.LEDGER)


def _is_ledger(name: str) -> bool:
    return name.rpartition("/")[2] in JOINED or name.endswith("/%s/%s" % (archive.FOLDER, archive.LOG))


def apply(path: str, found: Backup, steps: List[Step], target: Target, place: Place, now: float, replace: bool = False,
          told: Callable[[int, int], None] = lambda done, of: None) -> Restored:
    """Write what a plan says.

    path: the backup.  place: whose store is locked.  now: for the archive's log.  replace: files that differ, too.  told: of
    (files done, files).  Raises StoreError where the backup is not what it was, OSError.
    """
    wanted = {step.kept.name: step for step in steps
              if step.state in (NEW, BEHIND) or (replace and step.state == DIFFERENT)}
    written = joined = replaced = 0
    problems: List[str] = []
    with files.Lock(place.home + "/cache/store.lock", wait=True):
        for kept, data in backup.content(path, {name: step.kept for name, step in wanted.items()}):
            told(written + joined + replaced, len(wanted))
            step = wanted[kept.name]
            try:
                if step.state == BEHIND:
                    joined += _join(step, data)
                    continue
                if step.state == DIFFERENT:
                    _aside(step.path, target, now)
                    replaced += 1
                written += _put(step, data, target, problems)
            except (OSError, StoreError) as error:
                problems.append("%s: not written, %s" % (step.path, getattr(error, "strerror", None) or error))
        _settle(found, target)
    return Restored(written - replaced, joined, replaced, problems)


def _put(step: Step, data: bytes, target: Target, problems: List[str]) -> bool:
    """Write one file under its name, where none stands; False where one came meanwhile.  Raises OSError, StoreError."""
    folder = step.path.rpartition("/")[0]
    root = target.home if step.kept.name.startswith(backup.HOME + "/") else target.shared
    if not files.inside(folder, root):
        raise StoreError("a link leads out of %s; make it a directory" % root)
    files.make_folder(folder)
    temp = files.stage(step.path, data, _mode(step.kept), 0)
    try:
        files.sync(temp)
        os.utime(temp, ns=(step.kept.mtime_ns, step.kept.mtime_ns))
        files.land(temp, step.path)
    except FileExistsError:
        files.remove(temp)
        problems.append("%s: written by another process meanwhile, which stays" % step.path)
        return False
    except OSError:
        files.remove(temp)
        raise
    return True


def _mode(kept: Kept) -> int:
    """Return the permissions of a file: as it had them, but nobody else may write it."""
    return kept.mode & 0o755


def _aside(path: str, target: Target, now: float) -> None:
    """Move what stands at a path to the archive of its tier, or beside itself; raises OSError, StoreError."""
    data = files.read(path, 1 << 40, follow=False)
    tier, home = _tier(path, target)
    if tier:
        away = archive.free_place(tier, home, files.sha256(data))
        files.make_folder((tier + "/" + away).rpartition("/")[0])
        mode = files.FILE_MODE if tier != target.shared else 0o644
        if not frontmatter.undecodable(data):
            record = records.from_bytes("p/" + home, data[:records.READ_LIMIT], 0.0)
            archive.log(tier, Move(record.id, home, away), "replaced by a backup", now, mode)
        archive.move_file(path, tier + "/" + away, mode)
        return
    number, aside = 1, path + ".before"
    while os.path.lexists(aside):
        number, aside = number + 1, "%s.before%d" % (path, number)
    archive.move_file(path, aside, files.FILE_MODE)


def _tier(path: str, target: Target) -> Tuple[str, str]:
    """Return (directory of the tier, path below it) of a record's file, ("", "") for any other file."""
    for root in (target.shared, target.home + "/global"):
        if root and path.startswith(root + "/") and _is_record(path[len(root) + 1:]):
            return root, path[len(root) + 1:]
    key, _, home = path[len(target.home) + len("/workspaces/"):].partition("/")
    if path.startswith(target.home + "/workspaces/") and _is_record(home):
        return "%s/workspaces/%s" % (target.home, key), home
    return "", ""


def _is_record(home: str) -> bool:
    return home.partition("/")[0] in _KINDS and home.endswith(".md")


def _join(step: Step, data: bytes) -> bool:
    """Give a ledger the lines of a backup that it lacks; raises OSError."""
    present = files.read(step.path, 1 << 40, follow=False)
    known = frozenset(present.split(b"\n"))
    lines = [line for line in data.split(b"\n") if line and line not in known]
    if _is_trust(step.kept):
        decided = _decided(present)
        lines = [line for line in lines if decided.isdisjoint(_decided(line))]
    if lines and step.kept.name.endswith("/" + archive.LOG):  # later lines count; its writers hold the same lock
        files.replace(step.path, b"\n".join([*lines, present]), os.stat(step.path).st_mode & 0o755)
    elif lines:
        torn = present and not present.endswith(b"\n")
        files.append(step.path, (b"\n" if torn else b"") + b"\n".join(lines) + b"\n")
    return bool(lines)


def _decided(data: bytes) -> FrozenSet[Tuple[str, str, str]]:
    """Return what the lines of a ledger of approvals decide on."""
    return frozenset((str(row.get("workspace")), str(row.get("id")), str(row.get("sha256"))) for row in jsonio.rows(data))


def _settle(found: Backup, target: Target) -> None:
    """Make the folders that were empty, and give those that this restore alone has filled their time and permissions back."""
    names = {kept.name for kept in found.files}
    for name, mode, time in sorted(found.folders, reverse=True):
        top, _, rest = name.partition("/")
        root = target.home if top == backup.HOME else target.shared
        path = root + "/" + rest if rest else root
        if not root or not files.inside(path.rpartition("/")[0] if rest else root, root):
            continue
        with suppress(OSError):
            files.make_folder(path)
            inside = {name + "/" + entry.name for entry in os.scandir(path) if entry.is_file(follow_symlinks=False)}
            if rest and inside <= names:
                os.chmod(path, (mode | 0o700) & 0o755)
                os.utime(path, ns=(time, time))


def counts(steps: List[Step]) -> Dict[str, int]:
    """Return how many files of a plan stand how."""
    return {state: sum(step.state == state for step in steps) for state in (NEW, SAME, DIFFERENT, BEHIND, LEFT)}


def foreign(found: Backup, target: Target) -> Optional[str]:
    """Say why a backup's files of a repository cannot be restored here, None where they can."""
    number = sum(kept.name.startswith(backup.SHARED + "/") for kept in found.files)
    if number and not target.shared:
        return "%d of its files belong to a repository's .dayleaf and are left out; run this in the repository" % number
    return None
