"""A workspace opened for recall: its index, or one made of the files in memory, and the files read through it."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from memory import archive, delta, entry, files, index, indexer, ledger, look, records, segment, text, walk
from memory.errors import IndexFault
from memory.paths import Place
from memory.records import READ_LIMIT, Record

MOST_READ = 2000  # changed files that are searched beside the index; of more, an index in memory is made where that is quick
MOST_FILES = 20000  # files that an index in memory is made of; 1-4 s
REMEMBERED = 4000  # records kept between the queries of a batch


class Shelf:
    """place: where it is.  index: what is searched.  notes: lines for the user.  on_disk: whether the index is one on disk.
    size: numbers of documents, gone ones included.  slack: candidates that may turn out to be gone or another section."""

    def __init__(self, place: Place, now: float):
        self.place = place
        self.notes: List[str] = []
        self.on_disk, self._drifted = True, False
        self.slack = 20
        self._table = text.Table()
        self._read: Dict[str, Tuple[Tuple[int, int, int], Record]] = {}
        self._words: Dict[Tuple[str, int], Tuple[str, look.Words, str]] = {}
        self._df: Dict[str, int] = {}
        self._facts: List[Tuple[int, int, int]] = []
        self._tally: Optional[Dict[str, ledger.Fold]] = None
        try:
            self.index = index.open_index(place, watch=False)
            self._catch_up(now)
        except IndexFault as fault:
            absent = not files.exists(index.segment_path(place))
            self.from_files(now, "no index yet" if absent else str(fault).partition(";")[0])

    def _catch_up(self, now: float) -> None:
        """Compare every file with the index and search what differs in memory: a hand edit counts at once, whatever its file."""
        found = self.index
        seen = indexer.compare(found)
        names = seen.removed + seen.changed + seen.added
        if not names:
            return
        if len(names) > MOST_READ and len(seen.found) <= MOST_FILES:
            self.from_files(now, "%d files changed" % len(names), damaged=False)
            return
        if len(names) > MOST_FILES:
            self.notes.append("%s: only %d of %d changed files were read; `dayleaf index refresh` reads all"
                              % (self.place.key, MOST_FILES, len(names)))
            names = names[:MOST_FILES]
        frames = [index.frame(found, name, entry, records) for name in names]
        found.stale = True
        found.delta = delta.Delta(found.delta.data + b"".join(frames))

    def from_files(self, now: float, note: str, damaged: bool = True) -> None:
        """Search an index in memory from now on, made of the files as they are; `note` says why."""
        if not self.on_disk:
            return
        if hasattr(self, "index"):
            self.index.close()
            if damaged:
                indexer.set_aside(self.place)
        self.on_disk = False
        self._df, self._facts = {}, []
        self._read, self._words = {}, {}
        listed, _ = walk.walk(self.place)
        if listed and not self.is_foreign:
            self.notes.append("%s: %s, so the files were searched; `dayleaf index build` makes one" % (self.place.key, note))
        if len(listed) > MOST_FILES:
            self.notes.append("%s: only %d of %d files were read" % (self.place.key, MOST_FILES, len(listed)))
            self.index = index.from_files(self.place, MOST_FILES)
            return
        data, _, _ = indexer.assemble(self.place, now)
        self.index = index.Index(self.place, segment.Segment("", data), delta.Delta(b""))

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
        """Return (flags, created, ordinal) of every document by its number; ordinal is -1 where it is gone."""
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
            sections = entry.sections(record.body)
            section, body = sections[ordinal] if ordinal < len(sections) else sections[0]
            known = (record.checksum, look.Words(record, section, body, self._table), section)
            if len(self._words) >= REMEMBERED:
                self._words.clear()
            self._words[key] = known
        workspace = "global" if record.tier == "g" else self.place.key
        return look.Candidate(record, known[2], known[1], workspace, self.place.path(name), number)

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
        record = records.from_bytes(name, data, stat.st_mtime, full=False)
        if len(self._read) >= REMEMBERED:
            self._read.clear()
        self._read[name] = (stamp, record)
        return record
