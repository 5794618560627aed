"""Syncing a person's machines: what each of them tells the others, and how several homes become one.

Each machine writes files of its own alone, into a folder or git repository that all see: `<machine>/<number>.age`, or
`<number>.base.age` for one that tells everything anew.  They are sealed; below their head (agefile.py) stand lines of JSON:

    {"name":"global/learnings/x.md","version":{"desk-1a2b3c4d":41},"sha256":"…","id":"l-…","mtime":ns,"text":"…"}
    {"name":…,"version":…,"sha256":"","id":…,"to":"global/archive/learnings/x.md" or "","was":"…"}    it is gone: where to
    {"log":"global/ledger.jsonl","lines":["…"]}

A version says how much of each machine's changes a file contains; no clock decides.  What contains the other follows it.  Of two
texts that do not, the one with the greater SHA-256 keeps the name on every machine, and the other stands beside it as
`x.sync-conflict-<8 hex>.md`, which no session is shown, until a person decides.  A change goes along with a file that was moved
or forgotten elsewhere; what was removed for good does not come back: a text that was changed meanwhile stays on its machine
alone.  Of ledgers and logs each machine gets the lines that it lacks.  Approvals and settings stay where they are.

Schema, version 1, of `<home>/sync/state.json`: `machine, where, clock` (changes counted), `number, sent` (newest file, and its
SHA-256), `pending` (of one on its way: number, SHA-256, names, sizes of logs), `seen` (machine -> number), `rows` (name ->
[version, sha256, id, to, was]), `stats` (name -> [size, mtime, ctime]), `at` (ctime of the latest look), `dirty` (names to be
told), `logs` (name -> bytes told), `removed` ("id sha256" -> version), `purge` (tell all anew, without what was removed), `held`
(name -> sha256 of what stays on this machine alone).  Beside it stands `key.txt`, the key of all machines.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import Any, Dict, List, NamedTuple, Tuple

from memory.core import StoreError, files, frontmatter, layout, records, walk
from memory.health import bundle
from memory.store import archive
from memory.store.writer import WHOLE, Tiers

VERSION, FOLDER = 1, "sync"
LOGS = ("ledger.jsonl", archive.FOLDER + "/" + archive.LOG)
COPY = re.compile(r"(.+)\.sync-conflict-([0-9a-f]{8})\.md\Z")
MOST_GONE = 20  # files that may go at once
_KEY = re.compile(r"[a-z0-9-]{1,60}-[0-9a-f]{8}\Z")
_KINDS = frozenset(layout.FOLDERS.values())
Version = Dict[str, int]


class Row(NamedTuple):
    """What is known of a file.  sha256: "" where it is gone.  to: where it went, "" for good.  was: its SHA-256 before."""

    version: Version
    sha256: str
    id: str = ""
    to: str = ""
    was: str = ""


class News(NamedTuple):
    """A row of another machine, with the text and its time in ns."""

    row: Row
    data: bytes
    mtime: int


class Changed(StoreError):
    """A file that is being changed while it is synced; the next time takes it."""


NONE = Row({}, "")


def contains(one: Version, other: Version) -> bool:
    """Tell whether a version contains all changes of another."""
    return all(one.get(machine, 0) >= number for machine, number in other.items())


def joined(one: Version, other: Version) -> Version:
    """Return the version that contains two."""
    return {machine: max(one.get(machine, 0), other.get(machine, 0)) for machine in sorted({*one, *other})}


def place_of(name: str) -> Tuple[str, str]:
    """Return (tier's directory below the home, path in it) of a file that is synced, ("", "") for any other name."""
    parts = name.split("/")
    size = 1 if parts[0] == "global" else 2
    inner = parts[size:]
    kept = inner[1:] if inner[:1] == [archive.FOLDER] else inner
    known = parts[0] == "global" or (parts[0] == "workspaces" and len(parts) > 2 and _KEY.match(parts[1]))
    if (not known or len(kept) < 2 or kept[0] not in _KINDS or (size == 1 and kept[0] == layout.FOLDERS["conversation"])
            or not name.endswith(".md") or any(part[:1] in ("", ".") for part in parts) or not name.isprintable()
            or not bundle.is_safe(bundle.HOME + "/" + name)):
        return "", ""
    return "/".join(parts[:size]), "/".join(inner)


def log_of(name: str) -> str:
    """Return the tier's directory of a log that is synced, "" for any other name."""
    root = next((name[:-len(log) - 1] for log in LOGS if name.endswith("/" + log)), "")
    return root if place_of(root + "/rules/x.md")[0] == root else ""


class State:
    """What a machine remembers of its syncs; `keep` writes it down."""

    def __init__(self, home: str, value: Dict[str, Any]):
        self.home, self.value = home, value
        self.rows = {name: Row(*row) for name, row in value["rows"].items()}
        self.dirty = set(value["dirty"])

    @property
    def machine(self) -> str:
        """The name under which this machine writes."""
        return str(self.value["machine"])

    def keep(self) -> None:
        """Write it to the disk; raises OSError."""
        value = {**self.value, "rows": {name: list(row) for name, row in sorted(self.rows.items())}, "dirty": sorted(self.dirty)}
        files.replace("%s/%s/state.json" % (self.home, FOLDER), json.dumps(value, separators=(",", ":")).encode("ascii"))

    def mark(self, name: str, sha256: str, id: str, to: str = "", was: str = "") -> None:
        """Note a change that was made here."""
        self.value["clock"] += 1
        before = {**self.rows.get(name, NONE).version}
        if sha256 and name not in self.rows:
            before = dict(self.value["removed"].get("%s %s" % (id, sha256), {}))
        self.rows[name] = Row({**before, self.machine: self.value["clock"]}, sha256, id, to, was)
        self.dirty.add(name)
        if not (sha256 or to):
            self.value["removed"]["%s %s" % (id, was)], self.value["purge"] = self.rows[name].version, True

    def anew(self, machine: str) -> None:
        """Go on under another name: somebody else writes under this one, or this home was set back."""
        self.value.update(machine=machine, number=0, sent="", pending=None)
        self.dirty = set(self.rows)


def blank(machine: str, where: str) -> Dict[str, Any]:
    """Return the state of a machine that has synced nothing yet."""
    return {"v": VERSION, "machine": machine, "where": where, "clock": 0, "number": 0, "sent": "", "pending": None, "seen": {},
            "rows": {}, "stats": {}, "at": 0, "dirty": [], "logs": {}, "removed": {}, "purge": False, "held": {}}


def load(home: str) -> State:
    """Read what a machine remembers; raises StoreError where syncing is not set up, or the file is of a newer dayleaf."""
    path = "%s/%s/state.json" % (home, FOLDER)
    try:
        value = json.loads(files.read(path, WHOLE))
        if value["v"] > VERSION:
            raise StoreError("%s is of a newer dayleaf; update this one" % path)
        return State(home, value)
    except FileNotFoundError:
        raise StoreError("syncing is not set up; `dayleaf sync setup FOLDER|GIT-URL` does") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError("%s: unreadable (%s); `dayleaf sync setup` compares both sides anew" % (path, error)) from None


# ---- what changed here

def scan(state: State, gone: bool = False) -> List[str]:
    """Note what was changed here since the last look, and return a line for each file that cannot be synced.

    gone: many files may have gone at once.  Raises StoreError where they have and may not, OSError.
    """
    home, stats, problems = state.home, state.value["stats"], list[str]()
    clock = home + "/%s/lock" % FOLDER
    os.utime(clock)
    at, state.value["at"] = state.value["at"], os.stat(clock).st_ctime_ns  # of the file system: no other clock is asked
    found: Dict[str, str] = {}
    unread: List[str] = []
    for name, path, stat in walk.below(home, _entered):
        if isinstance(stat, OSError) and not isinstance(stat, FileNotFoundError):
            unread.append(name)
            problems.append("%s: %s; mend its permissions" % (name, (stat.strerror or "unreadable").lower()))
        elif walk.is_regular(stat) and name.endswith(".md") and place_of(name.rpartition("/")[0] + "/x.md")[0]:
            if not place_of(name)[0]:
                hidden = name.rpartition("/")[2][0] == "."
                problems += [] if hidden else ["%s: a name that other machines may not have; rename it" % ascii(name)]
                continue
            known, seen = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns], stats.get(name)
            row = state.rows.get(name, NONE)
            fresh = row.sha256 or state.value["held"].get(name, "")
            if known != seen or stat.st_ctime_ns > at - 10**8 or not fresh:
                try:
                    fresh = files.sha256(files.read(path, WHOLE, follow=False))
                except OSError:
                    unread.append(name)
                    continue
            found[name], stats[name] = fresh, known
    _compare(state, found, unread, gone)
    return problems


def _entered(name: str) -> bool:
    """Tell whether a directory below the home holds what is synced."""
    parts = name.split("/")
    inner = parts[1:] if parts[0] == "global" else parts[2:]
    inner = inner[1:] if inner[:1] == [archive.FOLDER] else inner
    return parts[0] in ("global", "workspaces") and (not inner or inner[0] in _KINDS) and parts[-1][:1] != "."


def _compare(state: State, found: Dict[str, str], unread: List[str], gone: bool) -> None:
    """Note what the files found say: new and changed ones, then those that are gone; raises StoreError."""
    held, rows = state.value["held"], state.rows
    missing = [name for name, row in sorted(rows.items()) if row.sha256 and name not in found
               and not any(name == path or name.startswith(path + "/") for path in unread)]
    before = {name: rows[name] for name in missing}
    new = {name: _id(state.home, name) for name, sha256 in found.items()
           if rows.get(name, NONE).sha256 != sha256 and held.get(name) != sha256}
    by_id: Dict[Tuple[str, str], List[str]] = {}
    for name, id in sorted(new.items()):
        by_id.setdefault((place_of(name)[0], id), []).append(name)
    ways = {}
    for name in missing:
        near = by_id.get((place_of(name)[0], before[name].id), [])
        ways[name] = next((one for one in near if found[one] == before[name].sha256), near[0] if near else "")
    lost = sum(not way for way in ways.values())
    if lost > max(MOST_GONE, sum(bool(row.sha256) for row in rows.values()) // 4) and not gone:
        raise StoreError("%d of the files synced before are gone here; nothing was sent.  If that is meant, "
                         "`dayleaf sync --gone`; else `dayleaf sync setup` brings them back" % lost)
    for name, id in sorted(new.items()):
        held.pop(name, None)
        state.mark(name, found[name], id)
    for name, way in ways.items():
        state.mark(name, "", before[name].id, way, before[name].sha256)
        state.value["stats"].pop(name, None)
    for name in [name for name in held if name not in found]:
        del held[name]


def _id(home: str, name: str) -> str:
    """Return the id of a record's file, "" where it has none that is to be read."""
    try:
        data = files.read(home + "/" + name, records.READ_LIMIT)
    except OSError:
        return ""
    return "" if frontmatter.undecodable(data) else records.skim("p/" + place_of(name)[1], data, 0.0).id


def conflicts(state: State) -> List[str]:
    """Return the names of copies that wait for a person."""
    return sorted(name for name, row in state.rows.items() if row.sha256 and COPY.match(name) and "/archive/" not in name)


def read_log(path: str, start: int = 0) -> Tuple[bytes, List[str]]:
    """Return a log's bytes and its whole lines from an offset on, none where it cannot be read."""
    try:
        data = files.read(path, WHOLE, follow=False)
    except OSError:
        return b"", []
    whole = data[start:data.rfind(b"\n") + 1].decode("utf-8", "surrogateescape")
    return data, [line for line in whole.split("\n") if line]


# ---- what others tell

class Merge:
    """The rows of other machines, brought into this home one by one; the caller holds the lock of `tiers`."""

    def __init__(self, state: State, tiers: Tiers):
        self.state, self.rows, self.tiers = state, state.rows, tiers
        self.notes: List[str] = []
        self.taken, self.removed = 0, False

    def take(self, name: str, news: News) -> None:
        """Bring one row in; raises Changed, StoreError or OSError, and has then lost nothing."""
        theirs, mine = news.row, self.rows.get(name, NONE)
        if contains(mine.version, theirs.version):
            return
        held = self.state.value["held"].get(name, "")
        if held and theirs.sha256:
            mine = mine._replace(sha256=held)
        version = joined(mine.version, theirs.version)
        barred = self.state.value["removed"].get("%s %s" % (theirs.id, theirs.sha256))
        if barred and mine == NONE and not contains(theirs.version, barred):
            self.rows[name] = Row(joined(version, barred), "", theirs.id, "", theirs.sha256)
            self.state.dirty.add(name)
            return
        if mine.sha256 == theirs.sha256:
            self.rows[name] = theirs._replace(version=version, to=theirs.to if mine == NONE else theirs.to and mine.to)
            if theirs.to and mine.to not in ("", theirs.to):
                one, other = sorted((theirs.to, mine.to), key=lambda to: ("/%s/" % archive.FOLDER not in to, to))
                self._two_ways(one, other, theirs.was)
        elif contains(theirs.version, mine.version) and not held:
            self._follow(name, mine, news)
        elif mine.sha256 and theirs.sha256:
            self._both(name, mine, news, version)
        else:
            self._moved(name, mine, news, version)
        if not (self.rows[name].sha256 or self.rows[name].to):
            self._retire(name, self.rows[name])
        if theirs.sha256:
            self.state.value["held"].pop(name, None)
        self.taken += 1

    def _follow(self, name: str, mine: Row, news: News) -> None:
        if news.row.sha256:
            self._write(name, news.data, news.mtime, mine.sha256)
        else:
            self._own(name, mine.sha256)
            self._drop(name)
        self.rows[name] = news.row

    def _both(self, name: str, mine: Row, news: News, version: Version) -> None:
        """Keep two texts of one name: the greater SHA-256 has it, the other stands beside it, or under a name of its own."""
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

    def _two_ways(self, one: str, other: str, was: str) -> None:
        """Keep one of two files where machines moved the same one to: a forgotten one is forgotten, what was changed stays."""
        first, second = self.rows.get(one, NONE), self.rows.get(other, NONE)
        if not (first.sha256 and second.sha256):
            return
        data = self._own(other, second.sha256)
        if first.sha256 == was != second.sha256:
            self._write(one, data, os.stat(self.state.home + "/" + other).st_mtime_ns, first.sha256)
            self.state.mark(one, second.sha256, first.id)
        elif second.sha256 not in (first.sha256, was):
            self._beside(one, data, second.sha256, second.id, os.stat(self.state.home + "/" + other).st_mtime_ns, True)
        self._drop(other)
        self.state.mark(other, "", second.id, one, second.sha256)

    def _moved(self, name: str, mine: Row, news: News, version: Version) -> None:
        """Let a change go along with a file that is gone elsewhere; where it is gone for good, it stays on its machine."""
        gone, live = (news.row, mine) if mine.sha256 else (mine, news.row)
        data = self._own(name, live.sha256) if live is mine else news.data
        self.rows[name] = gone._replace(version=version)
        if live.sha256 != gone.was and not (gone.to and self._went_along(gone, live, data, news.mtime)):
            self.notes.append("%s was removed on one machine and changed on another: the changed text stays where it was "
                              "changed, until you remove it there or change it again" % name)
            if live is mine:
                self.state.value["held"][name] = live.sha256
                return
        if live is mine:
            self._drop(name)

    def _went_along(self, gone: Row, live: Row, data: bytes, mtime: int) -> bool:
        """Write a changed text where its file went; tells whether it is anywhere."""
        name, row = gone.to, self.rows.get(gone.to, NONE)
        for _ in range(10):
            if row.to:
                name, row = row.to, self.rows.get(row.to, NONE)
        if row == NONE:
            raise Changed("%s: not here yet; the next sync takes it" % name)
        if row.sha256 == gone.was:
            self._write(name, data, mtime, row.sha256)
            self.state.mark(name, live.sha256, row.id)
            self.notes.append("%s was changed on one machine and moved on another: the change stands there now" % name)
        elif row.sha256 not in ("", live.sha256):
            self._beside(name, data, live.sha256, live.id, mtime, True)
        return bool(row.sha256)

    def _retire(self, name: str, gone: Row) -> None:
        """Remove what else holds the very bytes that were removed for good, such as the same record in the archive."""
        self.removed = self.state.value["purge"] = True
        key = "%s %s" % (gone.id, gone.was)
        barred = self.state.value["removed"][key] = joined(self.state.value["removed"].get(key, {}), gone.version)
        for other, row in sorted(self.rows.items()):
            if (row.id, row.sha256) == (gone.id, gone.was) and gone.was and place_of(other)[0] == place_of(name)[0] \
                    and not contains(row.version, barred):
                self._own(other, row.sha256)
                self._drop(other)
                self.rows[other] = Row(joined(row.version, barred), "", row.id, "", row.sha256)
                self.state.dirty.add(other)

    def _own(self, name: str, sha256: str) -> bytes:
        """Read a file of this home as it was looked at; raises Changed where it is another by now."""
        with suppress(OSError):
            data = files.read(self.state.home + "/" + name, WHOLE, follow=False)
            if files.sha256(data) == sha256:
                return data
        raise Changed("%s: changed meanwhile; the next sync takes it" % name)

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
        stat = os.stat(path)
        self.state.value["stats"][name] = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]

    def _drop(self, name: str) -> None:
        self.tiers.remove(self.state.home + "/" + name)
        self.state.value["stats"].pop(name, None)
