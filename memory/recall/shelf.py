"""A workspace opened for recall: its index, on disk or made in memory, and its files."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from memory.core import IndexFault, config, files, records, tokeniser, walk
from memory.core.layout import ADDED, GLOBAL, Place
from memory.core.records import READ_LIMIT, Record
from memory.hook import delta, documents, indexview, segment
from memory.index import assembly, builder
from memory.index.backend import Backend, LocalBackend
from memory.recall import look
from memory.store import archive, ledger, redactor

# changed files that are added to the index; for more, an index in memory is made if that is quick
MOST_READ = 2000
MOST_FILES = 20000  # files of an index in memory; 1-4 s
REMEMBERED = 4000  # records kept between the queries of a batch
MOST_KEPT = 8  # shelves that stay open for later queries
# errors from damaged rows that pass the index reader's checks
_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, struct.error)


# a record's sections are asked for one by one
_split_sections = lru_cache(maxsize=REMEMBERED)(documents.split_sections)


class Shelf:
    """One workspace, open for queries until closed.

    notes: lines for the user. on_disk: whether the index is one on disk. size: count of documents,
        deleted ones included. rescan: whether a comparison of all files is due after the answer.
        _glanced: whether only some files were compared. _drifted: whether a file changed since.
    """

    def __init__(self, place: Place, now: float):
        self.place = place
        self.notes: list[str] = []
        self.on_disk, self._drifted, self._glanced, self.rescan = True, False, False, False
        self._table = tokeniser.Table()
        self._read: dict[str, tuple[tuple[int, int, int], Record]] = {}
        self._words: dict[tuple[str, int], look.Candidate] = {}
        self._local: LocalBackend | None = None
        self._tally: dict[str, ledger.Tally] | None = None
        self._compared = now
        self._stamped: tuple[int, ...] = ()
        try:
            self.index = indexview.open_index(place, watch=False)
            self._stamped = self._read_stamps()
            self._glanced = self.index.records > builder.GLANCED_FROM and not (
                self.is_foreign or self._is_added
            )
            if self._glanced:
                self._compare_recent(now)
            else:
                self._compare_all(now)
        except IndexFault as fault:
            absent = not files.exists(indexview.segment_path(place))
            self.from_files(now, "no index yet" if absent else str(fault).partition(";")[0])

    def _compare_recent(self, now: float) -> None:
        """Compare folders and recent files with the index (builder.find_likely_changes)."""
        self.rescan = indexview.is_scan_due(self.place, now)
        try:
            names = builder.find_likely_changes(self.index)
        except _DAMAGE:
            raise segment.damaged("damaged lists or rows") from None
        self._index_changes(names, self.index.records, now)

    def _compare_all(self, now: float) -> None:
        """Compare every file with the index, so hand edits count at once."""
        seen = builder.compare(self.index)
        self.rescan = seen.settles(now)
        self._index_changes(seen.removed + seen.changed + seen.added, len(seen.found), now)

    def is_current(self, place: Place, now: float) -> bool:
        """Tell whether a shelf kept from an earlier query is still valid.

        Clears what was read for that query. All files are compared once in SCAN_EVERY, in between
        only folders and recent files.
        """
        here, there = ((p.home, p.key, p.project, p.root, p.shared) for p in (self.place, place))
        if not self.on_disk or here != there or self._stamped != self._read_stamps():
            return False
        self._tally, self._drifted = None, False
        try:
            is_recent = 0 <= now - self._compared < indexview.SCAN_EVERY
            if self._glanced or (is_recent and not self._is_added):
                return not builder.find_likely_changes(self.index)
            self._compared = now
            return not builder.compare(self.index).names
        except (IndexFault, *_DAMAGE):
            return False

    def _read_stamps(self) -> tuple[int, ...]:
        """Return times, sizes and inodes of the index's files, or ()."""
        base = self.index.segment
        found: list[int] = []
        try:
            for path in (
                indexview.segment_path(self.place),
                indexview.delta_path(self.place, base.generation if base else ""),
            ):
                if files.exists(path):
                    stat = files.posix.stat(path)
                    found += [stat.st_mtime_ns, stat.st_size, stat.st_ino]
        except OSError:
            return ()
        return tuple(found)

    def finish(self, now: float) -> bool:
        """Compare all files if only some were compared; tell whether any changed."""
        if not self._glanced:
            return False
        self._glanced = False
        before = self.index.delta.frames
        self._compare_all(now)
        return not self.on_disk or self.index.delta.frames > before

    def _index_changes(self, names: list[str], of: int, now: float) -> None:
        """Add changed files to the index; of: number of all files."""
        found = self.index
        if not names:
            return
        if len(names) > MOST_READ and of <= MOST_FILES:
            self.from_files(now, "%d files changed" % len(names), damaged=False)
            return
        if len(names) > MOST_FILES:
            self.notes.append(
                "%s: only %d of %d changed files were read; `dayleaf index refresh` reads all"
                % (self.place.key, MOST_FILES, len(names))
            )
            names = names[:MOST_FILES]
        frames = builder.make_frames(found, names)
        found.stale = True
        found.delta = delta.Delta(found.delta.data + b"".join(frames))
        self._local = None

    def from_files(self, now: float, note: str, damaged: bool = True) -> None:
        """Replace the index by one in memory; note: the reason."""
        if not self.on_disk:
            return
        if hasattr(self, "index"):
            self.index.close()
            if damaged:
                builder.move_aside_damaged(self.place)
        self.on_disk = False
        self._local = None
        self._read, self._words = {}, {}
        listed, _ = walk.walk(self.place)
        if listed and not self.is_foreign:
            self.notes.append(
                "%s: %s, so the files were searched; `dayleaf index build` makes one"
                % (self.place.key, note)
            )
        if len(listed) > MOST_FILES:
            self.notes.append(
                "%s: only %d of %d files were read" % (self.place.key, MOST_FILES, len(listed))
            )
            self.index = indexview.build_from_files(self.place, MOST_FILES)
            return
        data = assembly.assemble(self.place, now).data
        self.index = indexview.Index(self.place, segment.Segment("", data), delta.Delta(b""))

    def close(self) -> None:
        self.index.close()

    @property
    def is_stale(self) -> bool:
        """Whether the index on disk lacks known changes of files."""
        return self.index.stale or self._drifted or not (self.on_disk or self.is_foreign)

    @property
    def tally(self) -> dict[str, ledger.Tally]:
        """The sums of the place's ledgers by path, read once."""
        if self._tally is None:
            folds = {each.path: ledger.read(each) for each in ledger.ledgers(self.place)}
            is_used = any(fold.rows for fold in folds.values())
            merged = archive.successors_in_place(self.place) if is_used else {}
            self._tally = {
                path: ledger.add_to_successors(
                    fold, merged, lambda id: self.index.by_id(id) is not None
                )
                for path, fold in folds.items()
            }
        return self._tally

    @property
    def is_foreign(self) -> bool:
        """Whether this is another workspace, where a missing index is no fault."""
        return not (self.place.project or self._is_added)

    @property
    def _is_added(self) -> bool:
        """Whether this is a folder that the user added."""
        return self.place.tiers()[0][0] == ADDED

    @property
    def backend(self) -> Backend:
        """The index or database that answers queries."""
        if self._local is None or self._local.view is not self.index:
            self._local = LocalBackend(self.index)
        return self._local

    @property
    def size(self) -> int:
        return self.index.base + len(self.index.delta.docs)

    @property
    def is_distant(self) -> bool:
        """Whether the records live in a database."""
        return False

    def near(self, label: str, vector: Any, limit: int) -> list[tuple[str, int, float]] | None:
        """Return None: only a database ranks by vectors itself."""
        return None

    def is_known(self, term: str) -> bool:
        """Return False: no database is asked here."""
        return False

    def path(self, name: str) -> str:
        return self.place.path(name)

    def candidate(self, number: int) -> look.Candidate | None:
        """Return a document as a candidate, read from its file, or None."""
        if number in self.index.delta.gone:
            return None
        doc = self.index.doc(number)
        record = self.record(doc.name, doc)
        return self._make_candidate(record, doc.name, doc.ordinal, number, doc.checksum.hex())

    def section(self, name: str, ordinal: int, number: int) -> look.Candidate | None:
        """Return a record's section as a candidate, or None."""
        return self._make_candidate(self.record(name), name, ordinal, number, "")

    def _make_candidate(
        self, record: Record | None, name: str, ordinal: int, number: int, checksum: str
    ) -> look.Candidate | None:
        """Return a record's section as a candidate, None if the record is gone."""
        if record is None:
            self._drifted = True
            return None
        workspace = "global" if record.tier == GLOBAL else self.place.key
        return self._cut_out(record, name, ordinal, number, checksum, workspace)

    def _cut_out(
        self, record: Record, name: str, ordinal: int, number: int, checksum: str, workspace: str
    ) -> look.Candidate:
        """Return a record's section as a candidate, from memory if possible."""
        key = (name, ordinal)
        known = self._words.get(key)
        if known is None or known.record.checksum != record.checksum:
            if not record.checksum.startswith(checksum):
                self._drifted = True
            sections = _split_sections(record.body, record.kind)
            section, body = sections[ordinal] if ordinal < len(sections) else sections[0]
            turn = documents.turn_number(sections, ordinal) if record.kind == "conversation" else 0
            known = look.Candidate(
                record,
                section,
                look.SectionTokens(record, section, body, self._table),
                workspace,
                self.path(name),
                number,
                turn,
                among=len(sections),
                text=body,
            )
            if len(self._words) >= REMEMBERED:
                self._words.clear()
            self._words[key] = known
        return known._replace(
            record=record, workspace=workspace, path=self.path(name), number=number
        )

    def checkpoints(self, session: str) -> list[Record]:
        """Return the checkpoints of a session, sorted by end."""
        names = dict.fromkeys(
            self.index.doc(n).name for n in self.index.holding(segment.session_term(session))
        )
        found = [
            record
            for record in map(self.record, names)
            if record and record.kind == "checkpoint" and record.meta.get("session") == session
        ]
        return sorted(
            found,
            key=lambda record: (str(record.meta.get("until") or ""), record.created, record.id),
        )

    def conversation(self, session: str) -> Record | None:
        """Return the conversation of a session, or None."""
        docs = map(self.index.doc, self.index.holding(segment.session_term(session)))
        found = map(self.record, (doc.name for doc in docs if doc.kind == "conversation"))
        return next((one for one in found if one and one.meta.get("session") == session), None)

    def record(self, name: str, doc: segment.Doc | None = None) -> Record | None:
        """Read a record again if its file changed; None if unreadable.

        doc: one of its documents, where known.
        """
        try:
            path = self.place.path(name)
            stat = files.posix.stat(path)
            stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            known = self._read.get(name)
            if known and known[0] == stamp:
                return known[1]
            data = self.place.read(name, READ_LIMIT)[0]
        except (OSError, KeyError, ValueError):
            return None
        record = records.from_bytes(name, data, stat.st_mtime)
        if not self.on_disk or b"private" in data.lower() or not self.index.is_clean(record, doc):
            settings = config.load_for_place(self.place, {})
            record = redactor.clean_record(record, settings, self.place.key)
        if len(self._read) >= REMEMBERED:
            self._read.clear()
        self._read[name] = (stamp, record)
        return record


class Shelves(dict[str, Shelf]):
    """Opened workspaces by key and scope, kept between queries."""

    def keep(self, places: Sequence[Place], now: float) -> None:
        """Close the shelves that are outdated for the next query's places."""
        wanted = {place.key + "/" + place.scope: place for place in places}
        for key, shelf in list(self.items()):
            if len(self) > MOST_KEPT or (key in wanted and not shelf.is_current(wanted[key], now)):
                self.pop(key).close()

    def close(self) -> None:
        while self:
            self.popitem()[1].close()
