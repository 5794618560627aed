"""A workspace opened for recall: its index, or one made of the files in memory, and the files read through it."""

from __future__ import annotations

import struct
from typing import Dict, List, Optional, Tuple

from memory.core import IndexFault, files, records, tokeniser, walk
from memory.core.layout import Place
from memory.core.records import READ_LIMIT, Record
from memory.hook import delta, documents, indexview, segment
from memory.index import assembly, builder
from memory.recall import look
from memory.store import archive, ledger

MOST_READ = 2000  # changed files that are searched beside the index; of more, an index in memory is made where that is quick
MOST_FILES = 20000  # files that an index in memory is made of; 1-4 s
REMEMBERED = 4000  # records kept between the queries of a batch


class Shelf:
    """One workspace, open for queries until it is closed.

    place: where it is.  index: what is searched.  notes: lines for the user.  on_disk: whether the index is one on disk.
    size: numbers of documents, gone ones included.  slack: candidates that may turn out to be gone or another section.
    rescan: whether a comparison of all files is due behind the answer.
    """

    def __init__(self, place: Place, now: float):
        self.place = place
        self.notes: List[str] = []
        self.on_disk, self._drifted, self._glanced, self.rescan = True, False, False, False
        self.slack = 20
        self._table = tokeniser.Table()
        self._read: Dict[str, Tuple[Tuple[int, int, int], Record]] = {}
        self._words: Dict[Tuple[str, int], Tuple[str, look.Words, str, int]] = {}
        self._cut: Dict[str, Tuple[str, List[Tuple[str, str]]]] = {}
        self._df: Dict[str, int] = {}
        self._facts: List[Tuple[int, int, int]] = []
        self._tally: Optional[Dict[str, ledger.Fold]] = None
        try:
            self.index = indexview.open_index(place, watch=False)
            self._glanced = self.index.records > builder.GLANCED_FROM and not self.is_foreign
            if self._glanced:
                self._glance(now)
            else:
                self._compare(now)
        except IndexFault as fault:
            absent = not files.exists(indexview.segment_path(place))
            self.from_files(now, "no index yet" if absent else str(fault).partition(";")[0])

    def _glance(self, now: float) -> None:
        """Compare what shows without a look at every file (builder.glance); the look at every file is due behind the answer."""
        try:
            scanned = files.posix.stat(indexview.scan_path(self.place)).st_mtime
        except OSError:
            scanned = 0.0
        self.rescan = not 0 <= now - scanned < indexview.SCAN_EVERY
        try:
            names = builder.glance(self.index)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, struct.error):
            raise IndexFault("damaged lists or rows; `dayleaf index build` makes a new one") from None
        self._catch_up(names, self.index.records, now)

    def _compare(self, now: float) -> None:
        """Compare every file with the index: a hand edit counts at once, whatever its file."""
        seen = builder.compare(self.index)
        self.rescan = seen.settles(now)
        self._catch_up(seen.removed + seen.changed + seen.added, len(seen.found), now)

    def finish(self, now: float) -> bool:
        """Compare every file where so far only some were; True where this found more to search."""
        if not self._glanced:
            return False
        self._glanced = False
        before = self.index.delta.frames
        self._compare(now)
        return not self.on_disk or self.index.delta.frames > before

    def _catch_up(self, names: List[str], of: int, now: float) -> None:
        """Search in memory what differs from the index.  of: how many files there are."""
        found = self.index
        if not names:
            return
        if len(names) > MOST_READ and of <= MOST_FILES:
            self.from_files(now, "%d files changed" % len(names), damaged=False)
            return
        if len(names) > MOST_FILES:
            self.notes.append("%s: only %d of %d changed files were read; `dayleaf index refresh` reads all"
                              % (self.place.key, MOST_FILES, len(names)))
            names = names[:MOST_FILES]
        frames = [documents.frame(found, name) for name in names]
        found.stale = True
        found.delta = delta.Delta(found.delta.data + b"".join(frames))
        self._df, self._facts = {}, []

    def from_files(self, now: float, note: str, damaged: bool = True) -> None:
        """Search an index in memory from now on, made of the files as they are; `note` says why."""
        if not self.on_disk:
            return
        if hasattr(self, "index"):
            self.index.close()
            if damaged:
                builder.set_aside(self.place)
        self.on_disk = False
        self._df, self._facts = {}, []
        self._read, self._words = {}, {}
        listed, _ = walk.walk(self.place)
        if listed and not self.is_foreign:
            self.notes.append("%s: %s, so the files were searched; `dayleaf index build` makes one" % (self.place.key, note))
        if len(listed) > MOST_FILES:
            self.notes.append("%s: only %d of %d files were read" % (self.place.key, MOST_FILES, len(listed)))
            self.index = indexview.from_files(self.place, MOST_FILES)
            return
        data, _, _ = assembly.assemble(self.place, now)
        self.index = indexview.Index(self.place, segment.Segment("", data), delta.Delta(b""))

    def close(self) -> None:
        """Close the index."""
        self.index.close()

    @property
    def is_stale(self) -> bool:
        """Whether the index on disk is behind the files, as far as this was noticed."""
        return self.index.stale or self._drifted or not (self.on_disk or self.is_foreign)

    @property
    def tally(self) -> Dict[str, ledger.Fold]:
        """What became of the records: the folds of the place's ledgers by path, read once."""
        if self._tally is None:
            folds = {each.path: ledger.read(each) for each in ledger.ledgers(self.place)}
            merged = archive.merged(self.place) if any(fold.rows for fold in folds.values()) else {}
            self._tally = {path: ledger.followed(fold, merged, lambda id: self.index.by_id(id) is not None)
                           for path, fold in folds.items()}
        return self._tally

    @property
    def is_foreign(self) -> bool:
        """Whether it is another workspace, known by its private tier alone: that it has no index here is no fault."""
        return not self.place.project

    @property
    def size(self) -> int:
        base = self.index.segment
        return (base.docs if base else 0) + len(self.index.delta.docs)

    def df(self, term: str) -> int:
        """Return how many documents hold a term."""
        if term not in self._df:
            self._df[term] = self.index.df(term)
        return self._df[term]

    def vocabulary(self, start: str) -> List[str]:
        """Return the terms that start with some letters; a few may be noise that `df` answers with 0."""
        found = self.index.segment.vocabulary(start) if self.index.segment else []
        return found + self.index.delta.vocabulary(start)

    def facts(self) -> List[Tuple[int, int, int]]:
        """Return (flags, created, ordinal) of every document, in the order of their numbers; ordinal is -1 where it is gone."""
        if not self._facts:
            base, gone = self.index.segment, self.index.delta.gone
            if base is not None:
                rows = base.rows()
                if len(rows) != segment.ROW.size * base.docs:
                    raise IndexFault("truncated rows; `dayleaf index build` makes a new one")
                self._facts = [(row[4], row[5], -1 if n in gone else row[-1])
                               for n, row in enumerate(segment.ROW.iter_unpack(rows))]
            self._facts += [(d.flags, d.created, d.ordinal) for d in self.index.delta.docs]
        return self._facts

    def newest(self) -> List[int]:
        """Return the numbers of all records' first documents, newest first."""
        facts = self.facts()
        return sorted((n for n, fact in enumerate(facts) if fact[2] == 0), key=lambda n: (-facts[n][1], n))

    def candidate(self, number: int) -> Optional[look.Candidate]:
        """Read the record of a document as its file is now; None where it is gone."""
        if number in self.index.delta.gone:
            return None
        doc = self.index.doc(number)
        return self._made(doc.name, doc.ordinal, number, doc.checksum.hex())

    def section(self, name: str, ordinal: int, number: int) -> Optional[look.Candidate]:
        """Read a section of a record that is known by name; None where the record is gone.  number: to tell it from others."""
        return self._made(name, ordinal, number, "")

    def _made(self, name: str, ordinal: int, number: int, checksum: str) -> Optional[look.Candidate]:
        """checksum: the start of the one that the index has, "" where it has none."""
        record = self.record(name)
        if record is None:
            self._drifted = True
            return None
        key = (name, ordinal)
        known = self._words.get(key)
        if known is None or known[0] != record.checksum:
            if not record.checksum.startswith(checksum):
                self._drifted = True
            sections = self._sections(record)
            section, body = sections[ordinal] if ordinal < len(sections) else sections[0]
            turn = documents.turn_number(sections, ordinal) if record.kind == "conversation" else 0
            known = (record.checksum, look.Words(record, section, body, self._table), section, turn)
            if len(self._words) >= REMEMBERED:
                self._words.clear()
            self._words[key] = known
        workspace = "global" if record.tier == "g" else self.place.key
        return look.Candidate(record, known[2], known[1], workspace, self.place.path(name), number, known[3])

    def _sections(self, record: Record) -> List[Tuple[str, str]]:
        """Cut a record into its documents, once for all of them."""
        known = self._cut.get(record.name)
        if known is None or known[0] != record.checksum:
            if len(self._cut) >= REMEMBERED:
                self._cut.clear()
            self._cut[record.name] = known = record.checksum, documents.sections(record.body, record.kind)
        return known[1]

    def checkpoints(self, session: str) -> List[Record]:
        """Read the checkpoints of a session, by when they end."""
        names = dict.fromkeys(self.index.doc(n).name for n in self.index.holding(segment.session_term(session)))
        found = [record for record in map(self.record, names) if record and record.kind == "checkpoint"
                 and record.meta.get("session") == session]
        return sorted(found, key=lambda record: (str(record.meta.get("until") or ""), record.created, record.id))

    def record(self, name: str) -> Optional[Record]:
        """Read one record, again only where its file changed since; None where it is gone or cannot be read."""
        try:
            path = self.place.path(name)
            stat = files.posix.stat(path)
            stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            known = self._read.get(name)
            if known and known[0] == stamp:
                return known[1]
            fd = self.place.open(name)
            try:
                data = files.read_fd(fd, READ_LIMIT)
            finally:
                files.posix.close(fd)
        except (OSError, KeyError, ValueError):
            return None
        record = records.from_bytes(name, data, stat.st_mtime)
        if len(self._read) >= REMEMBERED:
            self._read.clear()
        self._read[name] = (stamp, record)
        return record
