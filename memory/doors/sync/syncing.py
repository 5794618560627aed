"""Syncing a person's machines: what each of them tells the others, and how several homes become
one.

Format: docs/formats.md.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from memory.core import StoreError, files, frontmatter, layout, records, walk
from memory.doors.sync.packs import place_of
from memory.store import archive
from memory.store.writer import WHOLE, Tiers

VERSION, FOLDER = 1, "sync"
COPY = re.compile(r"(.+)\.sync-conflict-([0-9a-f]{8})\.md\Z")
MOST_GONE = 20  # files that may go at once
_KINDS = frozenset(layout.FOLDERS.values())
Version = Dict[str, int]


class Row(NamedTuple):
    """The known state of a file.

    sha256: "" where it is gone. to: where it went, "" for good. was, of: hash, version before.
    """

    version: Version
    sha256: str
    id: str = ""
    to: str = ""
    was: str = ""
    of: Optional[Version] = None


class News(NamedTuple):
    """A row of another machine, with its text and mtime in ns."""

    row: Row
    data: bytes
    mtime: int


class Changed(StoreError):
    """A file that changes during a sync.

    The next sync takes it.
    """


NONE = Row({}, "")
HELD = (
    "%s was removed on another machine but changed here: the changed text stays on this machine "
    "only, until you remove it or change it again"
)


def contains(one: Optional[Version], other: Optional[Version]) -> bool:
    """Tell whether a version contains all changes of another.

    None is a version without any.
    """
    return all((one or {}).get(machine, 0) >= number for machine, number in (other or {}).items())


def joined(one: Version, other: Version) -> Version:
    """Return the union of two versions."""
    return {
        machine: max(one.get(machine, 0), other.get(machine, 0))
        for machine in sorted({*one, *other})
    }


class State:
    """A machine's record of its syncs; `keep` stores it."""

    def __init__(self, home: str, value: Dict[str, Any]):
        self.home, self.value = home, value
        self.rows = {name: Row(*row) for name, row in value["rows"].items()}
        self.dirty = set(value["dirty"])

    @property
    def machine(self) -> str:
        """This machine's name for its files."""
        return str(self.value["machine"])

    def keep(self) -> None:
        """Write the state to disk; raises OSError."""
        value = {
            **self.value,
            "rows": {name: list(row) for name, row in sorted(self.rows.items())},
            "dirty": sorted(self.dirty),
        }
        files.replace(
            "%s/%s/state.json" % (self.home, FOLDER),
            json.dumps(value, separators=(",", ":")).encode("ascii"),
        )

    def mark(self, name: str, sha256: str, id: str, to: str = "", was: str = "") -> None:
        """Note a change made here."""
        self.value["clock"] += 1
        before = {**self.rows.get(name, NONE).version}
        if sha256 and name not in self.rows:
            before = dict(self.value["removed"].get("%s %s" % (id, sha256), {}))
        of = None if sha256 else before
        self.rows[name] = Row(
            {**before, self.machine: self.value["clock"]}, sha256, id, to, was, of
        )
        self.dirty.add(name)
        if not (sha256 or to):
            self.value["removed"]["%s %s" % (id, was)], self.value["purge"] = (
                self.rows[name].version,
                True,
            )

    def anew(self, machine: str) -> None:
        """Continue as a new machine that sends every row again.

        Needed where another home writes under the old name, or this home was set back to an earlier
        state.
        """
        self.value.update(machine=machine, number=0, sent="", pending=None)
        self.dirty = set(self.rows)


def blank(machine: str, where: str) -> Dict[str, Any]:
    """Return the state of a machine before its first sync."""
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


def load(home: str) -> State:
    """Read a machine's sync state.

    Raises StoreError where syncing is not set up, or the file is of a newer dayleaf.
    """
    path = "%s/%s/state.json" % (home, FOLDER)
    try:
        value = json.loads(files.read(path, WHOLE))
        if value["v"] > VERSION:
            raise StoreError("%s was written by a newer dayleaf; update this one" % path)
        return State(home, value)
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


def scan(state: State, gone: bool = False) -> List[str]:
    """Note the changes here since the last scan.

    Returns a line for each file that cannot be synced. gone: many files may have gone at once.
    Raises StoreError where they have and may not, OSError.
    """
    home, problems = state.home, list[str]()
    clock = home + "/%s/lock" % FOLDER
    os.utime(clock)
    # of the file system: no other clock is asked
    at, state.value["at"] = state.value["at"], os.stat(clock).st_ctime_ns
    found: Dict[str, str] = {}
    unread: List[str] = []
    for name, path, stat in walk.entries_below(home, _entered):
        if isinstance(stat, OSError) and not isinstance(stat, FileNotFoundError):
            unread.append(name)
            problems.append(
                "%s: %s; mend its permissions" % (name, (stat.strerror or "unreadable").lower())
            )
        elif walk.is_regular(stat) and _is_beside_records(name):
            if not place_of(name)[0]:
                if name.rpartition("/")[2][0] != ".":
                    problems.append(
                        "%s: a file name that not every system allows; rename it" % ascii(name)
                    )
                continue
            sha256 = _checksum(state, name, path, stat, at)
            if sha256:
                found[name] = sha256
            else:
                unread.append(name)
    _compare(state, found, unread, gone)
    return problems


def _checksum(state: State, name: str, path: str, stat: os.stat_result, since: int) -> str:
    """Return a file's checksum, "" for an unreadable one; note its looks.

    It is read where it looks otherwise than at the last scan, or changed `since` that.
    """
    looks = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
    known: str = state.rows.get(name, NONE).sha256 or state.value["held"].get(name, "")
    seen = state.value["stats"].get(name)
    if looks != seen or stat.st_ctime_ns > since - 10**8 or not known:
        try:
            known = files.sha256(files.read(path, WHOLE, follow=False))
        except OSError:
            return ""
    state.value["stats"][name] = looks
    return known


def _is_beside_records(name: str) -> bool:
    """Tell whether a Markdown file lies in a folder of synced ones."""
    return name.endswith(".md") and bool(place_of(name.rpartition("/")[0] + "/x.md")[0])


def _entered(name: str) -> bool:
    """Tell whether a directory below the home holds synced files."""
    parts = name.split("/")
    inner = parts[1:] if parts[0] == "global" else parts[2:]
    inner = inner[1:] if inner[:1] == [archive.FOLDER] else inner
    return (
        parts[0] in ("global", "workspaces")
        and (not inner or inner[0] in _KINDS)
        and parts[-1][:1] != "."
    )


def _compare(state: State, found: Dict[str, str], unread: List[str], gone: bool) -> None:
    """Note new and changed files, then removed ones.

    Raises StoreError where too many are gone.
    """
    held, rows = state.value["held"], state.rows
    before = _missing_rows(rows, found, unread)
    new = {
        name: _id(state.home, name)
        for name, sha256 in found.items()
        if rows.get(name, NONE).sha256 != sha256 and held.get(name) != sha256
    }
    ways = _ways(before, new, found)
    lost = sum(not way for way in ways.values())
    if lost > max(MOST_GONE, sum(bool(row.sha256) for row in rows.values()) // 4) and not gone:
        raise StoreError(
            "%d files that were synced before are gone here; nothing was sent.  If you meant that, "
            "run `dayleaf store sync --gone`; otherwise `dayleaf store sync setup` brings them back"
            % lost
        )
    for name, id in sorted(new.items()):
        held.pop(name, None)
        state.mark(name, found[name], id)
    for name, way in ways.items():
        state.mark(name, "", before[name].id, way, before[name].sha256)
        state.value["stats"].pop(name, None)
    state.value["held"] = {name: sha256 for name, sha256 in held.items() if name in found}


def _missing_rows(
    rows: Dict[str, Row], found: Dict[str, str], unread: Iterable[str]
) -> Dict[str, Row]:
    """Return the rows of files that are gone, and not only unread."""
    return {
        name: row
        for name, row in sorted(rows.items())
        if row.sha256
        and name not in found
        and not any(name == path or name.startswith(path + "/") for path in unread)
    }


def _ways(before: Dict[str, Row], new: Dict[str, str], found: Dict[str, str]) -> Dict[str, str]:
    """Return the new place of each missing file, or "".

    before: rows of these.  new: ids of the new files.  found: what files hold now.
    """
    by_id: Dict[Tuple[str, str], List[str]] = {}
    for name, id in sorted(new.items()):
        by_id.setdefault((place_of(name)[0], id), []).append(name)
    ways = {}
    for name, row in before.items():
        near = by_id.get((place_of(name)[0], row.id), [])
        ways[name] = next(
            (one for one in near if found[one] == row.sha256), near[0] if near else ""
        )
    return ways


def _id(home: str, name: str) -> str:
    """Return the id of a record's file, "" for none or undecodable."""
    try:
        data = files.read(home + "/" + name, records.READ_LIMIT)
    except OSError:
        return ""
    return (
        ""
        if frontmatter.undecodable(data)
        else records.skim("p/" + place_of(name)[1], data, 0.0).id
    )


def conflicts(state: State) -> List[str]:
    """Return the names of copies that wait for a person."""
    return sorted(
        name
        for name, row in state.rows.items()
        if row.sha256 and COPY.match(name) and "/archive/" not in name
    )


def read_log(path: str, start: int = 0) -> Tuple[bytes, List[str]]:
    """Return a log's bytes and its whole lines from an offset.

    Empty where it cannot be read.
    """
    try:
        data = files.read(path, WHOLE, follow=False)
    except OSError:
        return b"", []
    whole = data[start : data.rfind(b"\n") + 1].decode("utf-8", "surrogateescape")
    return data, [line for line in whole.split("\n") if line]


# ---- what others tell


class Merge:
    """Applies rows of other machines to this home in turn.

    The caller holds the lock of `tiers`.
    """

    def __init__(self, state: State, tiers: Tiers):
        self.state, self.rows, self.tiers = state, state.rows, tiers
        self.notes: List[str] = []
        self.taken, self.removed = 0, False

    def take(self, name: str, news: News) -> None:
        """Apply one row.

        Raises Changed, StoreError or OSError, and has then lost nothing.
        """
        before = self.rows.get(name, NONE)
        if not contains(before.version, news.row.version):
            try:
                self._take(name, before, news)
            except (StoreError, OSError):
                self.rows.pop(name, None)
                self.rows.update({name: before} if before != NONE else {})
                raise
            self.taken += 1

    def _take(self, name: str, mine: Row, news: News) -> None:
        theirs = news.row
        held = self.state.value["held"].get(name, "")
        if held and theirs.sha256:
            mine = mine._replace(sha256=held)
        version = joined(mine.version, theirs.version)
        barred = self.state.value["removed"].get("%s %s" % (theirs.id, theirs.sha256))
        if barred and mine == NONE and not contains(theirs.version, barred):
            self.rows[name] = Row(joined(version, barred), "", theirs.id, "", theirs.sha256)
            self.state.dirty.add(name)
            return
        self._merge(name, mine, news, bool(held))
        if not (self.rows[name].sha256 or self.rows[name].to):
            self._retire(name, self.rows[name])
        if theirs.sha256:
            self.state.value["held"].pop(name, None)

    def _merge(self, name: str, mine: Row, news: News, held: bool) -> None:
        theirs = news.row
        version = joined(mine.version, theirs.version)
        if mine.sha256 == theirs.sha256:
            self._agree(name, mine, theirs)
        elif contains(theirs.version, mine.version) and not held:
            self._follow(name, mine, news)
        elif mine.sha256 and theirs.sha256:
            self._both(name, mine, news, version)
        else:
            self._moved(name, mine, news, version)

    def _agree(self, name: str, mine: Row, theirs: Row) -> None:
        """Keep one of two rows of the same file, perhaps moved two ways."""
        # what was removed for good is that, wherever else it went
        final = mine if mine != NONE and not mine.to else theirs
        self.rows[name] = final._replace(version=joined(mine.version, theirs.version))
        if theirs.to and mine.to not in ("", theirs.to):
            one, other = sorted(
                (theirs, mine), key=lambda row: ("/%s/" % archive.FOLDER not in row.to, row.to)
            )
            self._two_ways(one, other)

    def _follow(self, name: str, mine: Row, news: News) -> None:
        self.rows[name] = news.row
        if news.row.sha256:
            self._write(name, news.data, news.mtime, mine.sha256)
            return
        self._own(name, mine.sha256)
        # it came back here, or goes in a circle
        if news.row.to and self._end(news.row.to)[0] == "":
            self.state.mark(name, mine.sha256, mine.id)
        else:
            self._drop(name)

    def _end(self, name: str) -> Tuple[str, Row]:
        """Return a file's present name and row, following its moves.

        ("", its last row) where it is gone. Raises Changed where it has not arrived yet.
        """
        if not name:
            return "", NONE
        row, seen = self.rows.get(name, NONE), {name}
        while row.to and row.to not in seen:
            name, row = row.to, self.rows.get(row.to, NONE)
            seen.add(name)
        if row == NONE:
            raise Changed("%s has not arrived yet; the next sync takes it" % name)
        return (name if row.sha256 else ""), row

    def _both(self, name: str, mine: Row, news: News, version: Version) -> None:
        """Keep two texts of one name."""
        # The text of the greater SHA-256 keeps the name, the other goes beside it, or
        # under a name of its own.
        theirs, one = news.row, mine.id == news.row.id
        if theirs.sha256 > mine.sha256:
            self._beside(name, self._own(name, mine.sha256), mine.sha256, mine.id, news.mtime, one)
            self._write(name, news.data, news.mtime, mine.sha256)
            self.rows[name] = theirs._replace(version=version)
        else:
            self._beside(name, news.data, theirs.sha256, theirs.id, news.mtime, one)
            self.rows[name] = mine._replace(version=version)

    def _beside(self, name: str, data: bytes, sha256: str, id: str, mtime: int, one: bool) -> None:
        aside = ("%s.sync-conflict-%s.md" if one else "%s-%s.md") % (name[:-3], sha256[:8])
        if aside not in self.rows:  # else a person has seen it
            self._write(aside, data, mtime, "")
            self.state.mark(aside, sha256, id)

    def _two_ways(self, one: Row, other: Row) -> None:
        """Keep one destination of a file moved in two ways."""
        first, second = self.rows.get(one.to, NONE), self.rows.get(other.to, NONE)
        if not (first.sha256 and second.sha256):
            return
        data, mtime = (
            self._own(other.to, second.sha256),
            os.stat(self.state.home + "/" + other.to).st_mtime_ns,
        )
        if first.sha256 == one.was and contains(other.of, one.of) and first.sha256 != second.sha256:
            self._write(one.to, data, mtime, first.sha256)
            self.state.mark(one.to, second.sha256, first.id)
        elif second.sha256 != first.sha256 and not (
            second.sha256 == other.was and contains(one.of, other.of)
        ):
            self._beside(one.to, data, second.sha256, second.id, mtime, True)
        self._drop(other.to)
        self.state.mark(other.to, "", second.id, one.to, second.sha256)

    def _moved(self, name: str, mine: Row, news: News, version: Version) -> None:
        """Apply a change to a file that was moved elsewhere."""
        gone, live = (news.row, mine) if mine.sha256 else (mine, news.row)
        data = self._own(name, live.sha256) if live is mine else news.data
        self.rows[name] = gone._replace(version=version)
        end, row = self._end(gone.to)
        if row.to:  # a circle: one machine forgot what another brought back
            if live is not mine:
                self._write(name, data, news.mtime, "")
            self.state.mark(name, live.sha256, live.id)
        elif end or live.sha256 == gone.was:
            if end:
                self._along(end, row, gone, live, data, news.mtime)
            if live is mine:
                self._drop(name)
        elif live is mine:
            self.state.value["held"][name] = live.sha256
            self.notes.append(HELD % name)
        else:
            # whoever has the change shall see that this removal does not contain it
            self.rows[name] = gone

    def _along(self, name: str, row: Row, gone: Row, live: Row, data: bytes, mtime: int) -> None:
        """Write a changed text at or beside its file's new place."""
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
            self._beside(name, data, live.sha256, live.id, mtime, True)

    def _retire(self, name: str, gone: Row) -> None:
        """Remove other files with the bytes of a removed record."""
        self.removed = self.state.value["purge"] = True
        key = "%s %s" % (gone.id, gone.was)
        barred = self.state.value["removed"][key] = joined(
            self.state.value["removed"].get(key, {}), gone.version
        )
        for other, row in sorted(self.rows.items()):
            if (
                (row.id, row.sha256) == (gone.id, gone.was)
                and gone.was
                and place_of(other)[0] == place_of(name)[0]
                and not contains(row.version, barred)
            ):
                self._own(other, row.sha256)
                self._drop(other)
                self.rows[other] = Row(joined(row.version, barred), "", row.id, "", row.sha256)
                self.state.dirty.add(other)

    def _own(self, name: str, sha256: str) -> bytes:
        """Read a scanned file of this home; raises Changed if different."""
        with suppress(OSError):
            data = files.read(self.state.home + "/" + name, WHOLE, follow=False)
            if files.sha256(data) == sha256:
                return data
        raise Changed("%s has changed meanwhile; the next sync takes it" % name)

    def _write(self, name: str, data: bytes, mtime: int, before: str) -> None:
        path = self.state.home + "/" + name
        if before:
            self._own(name, before)
            self.tiers.replace(path, data, mtime)
        else:
            try:
                self.tiers.create(path, data, files.FILE_MODE, mtime)
            except FileExistsError:
                self._own(name, files.sha256(data))
        self.state.value["stats"].pop(name, None)

    def _drop(self, name: str) -> None:
        self.tiers.remove(self.state.home + "/" + name)
        self.state.value["stats"].pop(name, None)
