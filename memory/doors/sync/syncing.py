"""Syncing a person's machines: a machine's own changes, and the merge with the others'.

Format: docs/formats.md.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from memory.core import StoreError, files, frontmatter, layout, records, walk
from memory.doors.sync.packs import tier_of_record
from memory.health import erasure
from memory.store import archive
from memory.store.writer import WHOLE, TierWriter

VERSION, FOLDER = 1, "sync"
COPY = re.compile(r"\A(.+)\.sync-conflict-([0-9a-f]{8})\.md\Z")
MOST_GONE = 20  # files that may go at once
_KINDS = frozenset(layout.FOLDERS.values())
VersionVector = dict[str, int]


class FileState(NamedTuple):
    """What a machine knows of a synced file.

    sha256: "" for a missing file.  to: its new name, "" where removed for good.  was, of: SHA-256
    and version before it went.
    """

    version: VersionVector
    sha256: str
    id: str = ""
    to: str = ""
    was: str = ""
    of: VersionVector | None = None


class News(NamedTuple):
    """Another machine's state and bytes of a file, with its `mtime` in ns."""

    row: FileState
    data: bytes
    mtime: int


class ChangedMeanwhile(StoreError):
    """A file that changed during a sync; the next sync takes it."""


NONE = FileState({}, "")
HELD = (
    "%s was removed on another machine but changed here: the changed text stays on this machine "
    "only, until you remove it or change it again"
)


def contains(one: VersionVector | None, other: VersionVector | None) -> bool:
    """Tell whether a version contains another's changes.  None has no changes."""
    return all((one or {}).get(machine, 0) >= number for machine, number in (other or {}).items())


def merge_versions(one: VersionVector, other: VersionVector) -> VersionVector:
    """Return the version with the changes of both."""
    return {
        machine: max(one.get(machine, 0), other.get(machine, 0))
        for machine in sorted({*one, *other})
    }


class SyncState:
    """What a machine remembers of its syncs; `keep` stores it."""

    def __init__(self, home: str, value: dict[str, Any]):
        self.home, self.value = home, value
        self.rows = {name: FileState(*row) for name, row in value["rows"].items()}
        self.dirty = set(value["dirty"])

    @property
    def machine(self) -> str:
        """The name of this machine's folder of packs."""
        return str(self.value["machine"])

    def keep(self) -> None:
        """Write the state to disk; raises OSError."""
        value = {
            **self.value,
            "rows": {name: list(row) for name, row in sorted(self.rows.items())},
            "dirty": sorted(self.dirty),
        }
        data = json.dumps(value, separators=(",", ":")).encode("ascii")
        files.replace("%s/%s/state.json" % (self.home, FOLDER), data)

    def mark(self, name: str, sha256: str, id: str, to: str = "", was: str = "") -> None:
        """Record a file's change on this machine; `to`, `was` as in FileState."""
        self.value["clock"] += 1
        before = self.rows.get(name, NONE).version
        if sha256 and name not in self.rows:
            before = self.removed_version(id, sha256)
        version = {**before, self.machine: self.value["clock"]}
        self.rows[name] = FileState(version, sha256, id, to, was, None if sha256 else dict(before))
        self.dirty.add(name)
        if not (sha256 or to):
            self.value["removed"]["%s %s" % (id, was)] = version
            self.value["purge"] = True

    def removed_version(self, id: str, sha256: str) -> VersionVector:
        """Return the version that removed a text for good, {} for none."""
        return dict(self.value["removed"].get("%s %s" % (id, sha256), {}))

    def anew(self, machine: str) -> None:
        """Continue as a new machine that sends every row again.

        For a home that another one copied, or that was set back to an earlier state.
        """
        self.value.update(machine=machine, number=0, sent="", pending=None)
        self.dirty = set(self.rows)


def initial_state(machine: str, where: str) -> dict[str, Any]:
    return {
        "v": VERSION,
        "machine": machine,
        "where": where,
        "clock": 0,
        "number": 0,
        "sent": "",
        "pending": None,
        "seen": {},
        "rows": {},
        "stats": {},
        "at": 0,
        "dirty": [],
        "logs": {},
        "removed": {},
        "purge": False,
        "held": {},
    }


def load_state(home: str) -> SyncState:
    """Read a machine's sync state.

    Raises StoreError where syncing is not set up, or the file is of a newer dayleaf.
    """
    path = "%s/%s/state.json" % (home, FOLDER)
    try:
        value = json.loads(files.read(path, WHOLE))
        if value["v"] > VERSION:
            raise StoreError("%s was written by a newer dayleaf; update this one" % path)
        return SyncState(home, value)
    except FileNotFoundError:
        raise StoreError(
            "syncing is not set up; run `dayleaf store sync setup FOLDER|GIT-URL`"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            "%s is unreadable (%s); `dayleaf store sync setup` compares both sides again"
            % (path, error)
        ) from None


# ---- what changed here


def record_changes(state: SyncState, gone: bool = False) -> list[str]:
    """Record the changes here since the last scan; return problems as lines.

    gone: many files may be gone at once.  Raises StoreError where they are and may not, OSError.
    """
    home, problems = state.home, list[str]()
    lock = home + "/%s/lock" % FOLDER
    os.utime(lock)
    # the file system's time: no other clock is asked
    since, state.value["at"] = state.value["at"], os.stat(lock).st_ctime_ns
    found: dict[str, str] = {}
    unread: list[str] = []
    for name, path, stat in walk.walk_entries(home, _holds_synced):
        if isinstance(stat, OSError) and not isinstance(stat, FileNotFoundError):
            unread.append(name)
            problems.append(
                "%s: %s; mend its permissions" % (name, (stat.strerror or "unreadable").lower())
            )
        elif walk.is_regular(stat) and _is_beside_records(name):
            if not tier_of_record(name):
                if name.rpartition("/")[2][0] != ".":
                    problems.append(
                        "%s: a file name that not every system allows; rename it" % ascii(name)
                    )
                continue
            sha256 = _checksum(state, name, path, stat, since)
            if sha256:
                found[name] = sha256
            else:
                unread.append(name)
    _record_differences(state, found, unread, gone)
    return problems


def _checksum(state: SyncState, name: str, path: str, stat: os.stat_result, since: int) -> str:
    """Return a file's SHA-256, "" if unreadable; record its size and times.

    Only a file that changed since the last scan is read.
    """
    stats = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
    known: str = state.rows.get(name, NONE).sha256 or state.value["held"].get(name, "")
    before = state.value["stats"].get(name)
    if stats != before or stat.st_ctime_ns > since - 10**8 or not known:  # clocks are coarse
        try:
            known = files.sha256(files.read(path, WHOLE, follow=False))
        except OSError:
            return ""
    state.value["stats"][name] = stats
    return known


def _is_beside_records(name: str) -> bool:
    """Tell whether a Markdown file lies in a synced folder."""
    return name.endswith(".md") and bool(tier_of_record(name.rpartition("/")[0] + "/x.md"))


def _holds_synced(name: str) -> bool:
    """Tell whether a directory below the home holds synced files."""
    top, *inner = name.split("/")
    if top not in ("global", "workspaces") or name.rpartition("/")[2].startswith("."):
        return False
    inner = inner if top == "global" else inner[1:]
    inner = inner[1:] if inner[:1] == [archive.FOLDER] else inner
    return not inner or inner[0] in _KINDS


def _record_differences(
    state: SyncState, found: dict[str, str], unread: list[str], gone: bool
) -> None:
    """Record new and changed files, then removed ones.

    Raises StoreError where too many are gone.
    """
    held, rows = state.value["held"], state.rows
    before = _missing_rows(rows, found, unread)
    new = {
        name: _read_id(state.home, name)
        for name, sha256 in found.items()
        if sha256 not in (rows.get(name, NONE).sha256, held.get(name))
    }
    moves = _match_moves(before, new, found)
    lost = sum(not target for target in moves.values())
    if lost > max(MOST_GONE, sum(bool(row.sha256) for row in rows.values()) // 4) and not gone:
        raise StoreError(
            "%d files that were synced before are gone here; nothing was sent.  If you meant that, "
            "run `dayleaf store sync --gone`; otherwise `dayleaf store sync setup` brings them back"
            % lost
        )
    for name, id in sorted(new.items()):
        held.pop(name, None)
        state.mark(name, found[name], id)
    for name, target in moves.items():
        state.mark(name, "", before[name].id, target, before[name].sha256)
        state.value["stats"].pop(name, None)
    state.value["held"] = {name: sha256 for name, sha256 in held.items() if name in found}


def _missing_rows(
    rows: dict[str, FileState], found: dict[str, str], unread: Iterable[str]
) -> dict[str, FileState]:
    """Return the rows of missing files; unread ones do not count."""
    return {
        name: row
        for name, row in sorted(rows.items())
        if row.sha256
        and name not in found
        and not any(name == path or name.startswith(path + "/") for path in unread)
    }


def _match_moves(
    before: dict[str, FileState], new: dict[str, str], found: dict[str, str]
) -> dict[str, str]:
    """Map each missing file to its new name, "" for none.

    before: their rows.  new: ids of the new files.  found: SHA-256 of all files.
    """
    by_id: dict[tuple[str, str], list[str]] = {}
    for name, id in sorted(new.items()):
        by_id.setdefault((tier_of_record(name), id), []).append(name)
    moves = {}
    for name, row in before.items():
        targets = by_id.get((tier_of_record(name), row.id), [""])
        moves[name] = next((to for to in targets if found.get(to) == row.sha256), targets[0])
    return moves


def _read_id(home: str, name: str) -> str:
    """Return the id of a record's file, "" if unreadable."""
    try:
        data = files.read(home + "/" + name, records.READ_LIMIT)
    except OSError:
        return ""
    if frontmatter.is_binary(data):
        return ""
    return records.from_bytes_fast("p" + name[len(tier_of_record(name)) :], data, 0.0).id


def list_conflicts(state: SyncState) -> list[str]:
    """Return the names of conflict copies that wait for a person."""
    return sorted(
        name
        for name, row in state.rows.items()
        if row.sha256 and COPY.match(name) and "/archive/" not in name
    )


def read_log(path: str, start: int = 0) -> tuple[bytes, list[str]]:
    """Read a log's bytes, and its lines from an offset.  Never raises."""
    try:
        data = files.read(path, WHOLE, follow=False)
    except OSError:
        return b"", []
    text = data[start : data.rfind(b"\n") + 1].decode("utf-8", "surrogateescape")
    return data, [line for line in text.split("\n") if line]


# ---- what others tell


class Merge:
    """Applies the changes of other machines to this home.

    The caller holds the lock of `tiers`.  Methods raise ChangedMeanwhile for a file that changes.
    added: lines that were added to a log, by its name.
    """

    def __init__(self, state: SyncState, tiers: TierWriter, notes: list[str], problems: list[str]):
        self.state, self.rows, self.tiers = state, state.rows, tiers
        self.notes, self.problems = notes, problems
        self.added: dict[str, set[str]] = {}
        self.taken, self.removed = 0, False

    def take(self, name: str, news: News) -> None:
        """Apply another machine's change of a file.

        Raises StoreError or OSError, and then loses nothing.
        """
        before = self.rows.get(name, NONE)
        if not contains(before.version, news.row.version):
            try:
                self._apply_row(name, before, news)
            except (StoreError, OSError):
                self.rows.pop(name, None)
                if before != NONE:
                    self.rows[name] = before
                raise
            self.taken += 1

    def _apply_row(self, name: str, mine: FileState, news: News) -> None:
        """Apply a change, unless its text was removed here for good."""
        theirs = news.row
        held = self.state.value["held"].get(name, "")
        if held and theirs.sha256:
            mine = mine._replace(sha256=held)
        barred = self.state.removed_version(theirs.id, theirs.sha256)
        if barred and mine == NONE and not contains(theirs.version, barred):
            version = merge_versions(theirs.version, barred)
            self.rows[name] = FileState(version, "", theirs.id, "", theirs.sha256)
            self.state.dirty.add(name)
            return
        self._merge(name, mine, news, bool(held))
        if not (self.rows[name].sha256 or self.rows[name].to):
            self._remove_equal_files(name, self.rows[name])
        if theirs.sha256:
            self.state.value["held"].pop(name, None)

    def _merge(self, name: str, mine: FileState, news: News, held: bool) -> None:
        """Join two states of a file: the same, a newer one, two texts, a moved text."""
        theirs = news.row
        version = merge_versions(mine.version, theirs.version)
        if mine.sha256 == theirs.sha256:
            self._merge_same(name, mine, theirs, version)
        elif contains(theirs.version, mine.version) and not held:
            self._apply_newer(name, mine, news)
        elif mine.sha256 and theirs.sha256:
            self._keep_both(name, *self._carry_marks(name, mine, news), version)
        else:
            self._apply_to_moved(name, mine, news, version)

    def _merge_same(
        self, name: str, mine: FileState, theirs: FileState, version: VersionVector
    ) -> None:
        """Keep one of two rows of the same text, perhaps moved twice."""
        # a removal for good wins over a move
        final = mine if mine != NONE and not mine.to else theirs
        self.rows[name] = final._replace(version=version)
        if theirs.to and mine.to not in ("", theirs.to):
            in_archive = "/%s/" % archive.FOLDER  # wins
            moves = sorted((theirs, mine), key=lambda row: (in_archive not in row.to, row.to))
            self._join_two_moves(*moves)

    def _apply_newer(self, name: str, mine: FileState, news: News) -> None:
        """Take over another machine's newer state of a file."""
        self.rows[name] = news.row
        if news.row.sha256:
            self._write(name, news.data, news.mtime, mine.sha256)
            return
        self._read_unchanged(name, mine.sha256)
        # it came back here, or goes in a circle
        if news.row.to and self._follow_moves(news.row.to)[0] == "":
            self.state.mark(name, mine.sha256, mine.id)
        else:
            self._delete_file(name)

    def _follow_moves(self, name: str) -> tuple[str, FileState]:
        """Return (present name of a moved file, "" if gone; its last row)."""
        if not name:
            return "", NONE
        row, seen = self.rows.get(name, NONE), {name}
        while row.to and row.to not in seen:
            name, row = row.to, self.rows.get(row.to, NONE)
            seen.add(name)
        if row == NONE:
            raise ChangedMeanwhile("%s has not arrived yet; the next sync takes it" % name)
        return (name if row.sha256 else ""), row

    def _carry_marks(self, name: str, mine: FileState, news: News) -> tuple[FileState, News]:
        """Remove from each of two texts what was redacted in the other."""
        data = self._read_unchanged(name, mine.sha256)
        cleaned = erasure.carry_marks(name, news.data, data)
        if cleaned != data:
            mtime = os.stat(self.state.home + "/" + name).st_mtime_ns
            self._write(name, cleaned, mtime, mine.sha256)
            mine = mine._replace(sha256=files.sha256(cleaned))
        theirs = erasure.carry_marks(name, data, news.data)
        row = news.row._replace(sha256=files.sha256(theirs))
        return mine, news._replace(row=row, data=theirs)

    def _keep_both(self, name: str, mine: FileState, news: News, version: VersionVector) -> None:
        """Keep both texts of a name; the greater SHA-256 gets the name."""
        theirs, is_conflict = news.row, mine.id == news.row.id
        if theirs.sha256 == mine.sha256:
            self.rows[name] = mine._replace(version=version)
        elif theirs.sha256 > mine.sha256:
            data = self._read_unchanged(name, mine.sha256)
            self._write_copy(name, data, mine, news.mtime, is_conflict)
            self._write(name, news.data, news.mtime, mine.sha256)
            self.rows[name] = theirs._replace(version=version)
        else:
            self._write_copy(name, news.data, theirs, news.mtime, is_conflict)
            self.rows[name] = mine._replace(version=version)

    def _write_copy(
        self, name: str, data: bytes, row: FileState, mtime: int, is_conflict: bool = True
    ) -> None:
        """Write a text beside a file; `is_conflict` if both are of one record."""
        form = "%s.sync-conflict-%s.md" if is_conflict else "%s-%s.md"
        aside = form % (name[:-3], row.sha256[:8])
        if aside not in self.rows:  # else a person has decided already
            self._write(aside, data, mtime, "")
            self.state.mark(aside, row.sha256, row.id)

    def _join_two_moves(self, one: FileState, other: FileState) -> None:
        """Keep one of the places to which two machines moved a file."""
        first, second = self.rows.get(one.to, NONE), self.rows.get(other.to, NONE)
        if not (first.sha256 and second.sha256):
            return
        data = self._read_unchanged(other.to, second.sha256)
        mtime = os.stat(self.state.home + "/" + other.to).st_mtime_ns
        if first.sha256 == one.was and contains(other.of, one.of) and first.sha256 != second.sha256:
            self._write(one.to, data, mtime, first.sha256)
            self.state.mark(one.to, second.sha256, first.id)
        elif second.sha256 != first.sha256 and not (
            second.sha256 == other.was and contains(one.of, other.of)
        ):
            self._write_copy(one.to, data, second, mtime)
        self._delete_file(other.to)
        self.state.mark(other.to, "", second.id, one.to, second.sha256)

    def _apply_to_moved(
        self, name: str, mine: FileState, news: News, version: VersionVector
    ) -> None:
        """Apply a change to a file that another machine moved or removed."""
        gone, live = (news.row, mine) if mine.sha256 else (mine, news.row)
        data = self._read_unchanged(name, live.sha256) if live is mine else news.data
        self.rows[name] = gone._replace(version=version)
        end, row = self._follow_moves(gone.to)
        if row.to:  # a circle: one machine forgot what another brought back
            if live is not mine:
                self._write(name, data, news.mtime, "")
            self.state.mark(name, live.sha256, live.id)
        elif end or live.sha256 == gone.was:
            if end:
                self._change_moved(end, row, gone, live, data, news.mtime)
            if live is mine:
                self._delete_file(name)
        elif live is mine:
            self.state.value["held"][name] = live.sha256
            self.notes.append(HELD % name)
        else:
            # machines with the change must see that this removal does not contain it
            self.rows[name] = gone

    def _change_moved(
        self, name: str, row: FileState, gone: FileState, live: FileState, data: bytes, mtime: int
    ) -> None:
        """Write a changed text to its file's new place, or beside it."""
        if live.sha256 in (gone.was, row.sha256):
            return
        if row.sha256 == gone.was and contains(live.version, gone.of):
            self._write(name, data, mtime, row.sha256)
            self.state.mark(name, live.sha256, row.id)
            self.notes.append(
                "%s was changed on one machine and moved on another: the change is "
                "now in its new place" % name
            )
        else:
            data = erasure.carry_marks(name, self._read_unchanged(name, row.sha256), data)
            self._write_copy(name, data, live._replace(sha256=files.sha256(data)), mtime)

    def _remove_equal_files(self, name: str, gone: FileState) -> None:
        """Remove other files with the bytes of a removed record."""
        self.removed = self.state.value["purge"] = True
        barred = merge_versions(self.state.removed_version(gone.id, gone.was), gone.version)
        self.state.value["removed"]["%s %s" % (gone.id, gone.was)] = barred
        tier = tier_of_record(name)
        for other, row in sorted(self.rows.items()):
            is_equal = row.sha256 and (row.id, row.sha256) == (gone.id, gone.was)
            if not is_equal or tier_of_record(other) != tier:
                continue
            if not contains(row.version, barred):
                self._read_unchanged(other, row.sha256)
                self._delete_file(other)
                version = merge_versions(row.version, barred)
                self.rows[other] = FileState(version, "", row.id, "", row.sha256)
                self.state.dirty.add(other)

    def _read_unchanged(self, name: str, sha256: str) -> bytes:
        """Read a file of this home; raise ChangedMeanwhile for another SHA-256."""
        with suppress(OSError):
            data = files.read(self.state.home + "/" + name, WHOLE, follow=False)
            if files.sha256(data) == sha256:
                return data
        raise ChangedMeanwhile("%s has changed meanwhile; the next sync takes it" % name)

    def _write(self, name: str, data: bytes, mtime: int, before: str) -> None:
        """Write a file, if it still has the SHA-256 `before`."""
        path = self.state.home + "/" + name
        if before:
            self._read_unchanged(name, before)
            self.tiers.replace(path, data, mtime)
        else:
            try:
                self.tiers.create(path, data, files.FILE_MODE, mtime)
            except FileExistsError:
                self._read_unchanged(name, files.sha256(data))
        self.state.value["stats"].pop(name, None)

    def _delete_file(self, name: str) -> None:
        self.tiers.remove(self.state.home + "/" + name)
        self.state.value["stats"].pop(name, None)
