"""The index as its readers see it: segment and delta together, opened without a lock, checked for freshness in layers.

Layers (spec: a hand edit takes effect on the very next prompt).  1. What is shown is re-read from its file at that moment.
2. The watched directories' mtimes are compared inline, so an added, deleted or renamed file and every save by rename is
seen at once.  3. So are the files edited most recently (all of them in a small store).  4. dayleaf's own writers append to
the delta.  5. A detached scan after the answer finds the rest (indexer.freshen).  What layers 2 and 3 find is read and
searched in memory, never written here.
"""

from __future__ import annotations

from memory import delta, files, jsonio, segment
from memory.errors import IndexFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from memory.paths import Place

    Reader = Callable[[str, str, Any], bytes]

DAMAGED = "dayleaf_damaged"  # key of a hook's event: its detached refresh has to build anew
MOST_LISTED = 1024  # files of one changed directory whose times are compared on the blocking path; of more, the names
SCAN_EVERY = 5.0  # seconds between detached scans of all files
MARKS_LIMIT = 1 << 20  # bytes of the file of marks
MOST_INLINE = 32  # changed files that are read on the blocking path; beyond it the detached refresh has to


def segment_path(place: Place) -> str:
    """Return where the segment of a place is."""
    return place.cache + "/" + place.scope + ".seg"


def delta_path(place: Place, generation: str) -> str:
    """Return where the delta log of a generation is."""
    return place.cache + "/" + place.scope + "-" + generation + ".log"


def scan_path(place: Place) -> str:
    """Return the file whose mtime says when all files were last compared with the index."""
    return place.cache + "/" + place.scope + ".scan"


def marks_path(place: Place) -> str:
    """Return the file that says which records are stale (marks.py)."""
    return place.cache + "/" + place.scope + ".stale"


def marks(place: Place) -> Dict[str, List[List[str]]]:
    """Return the marks of a place by the start of a record's checksum; {} where there are none, or they cannot be read."""
    try:
        row = jsonio.parse(files.read(marks_path(place), MARKS_LIMIT))
        found = row["records"] if row["v"] == 1 else {}
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def causes(found: Dict[str, List[List[str]]], checksum: str) -> List[List[str]]:
    """Return the causes of a record's mark: [reason, path, stamp, name] each.  found: what `marks` returned."""
    rows = found.get(checksum[:16])
    return [row for row in rows if isinstance(row, list) and len(row) == 4 and all(isinstance(part, str) for part in row)] \
        if isinstance(rows, list) else []


def stamp(path: str) -> str:
    """Return mtime in ns and size of a file, "" where there is none."""
    try:
        found = files.posix.stat(path)
    except (OSError, ValueError):
        return ""
    return "%d %d" % (found.st_mtime_ns, found.st_size)


class Index:
    """Segment and delta of one place."""

    __slots__ = ("_entries", "_lists", "_marks", "delta", "place", "segment", "stale")

    def __init__(self, place: Place, base: Optional[segment.Segment], log: delta.Delta):
        self.place, self.segment, self.delta = place, base, log
        self.stale = False
        self._entries: Dict[str, Any] = {}
        self._lists: Dict[Any, Any] = {}
        self._marks: Optional[Dict[str, List[List[str]]]] = None

    @property
    def documents(self) -> int:
        base = self.segment.docs if self.segment else 0
        return max(1, base + len(self.delta.docs) - len(self.delta.gone))

    @property
    def learnings(self) -> int:
        return (self.segment.learnings if self.segment else 0) + self.delta.learnings

    @property
    def learning_tokens(self) -> int:
        return (self.segment.learning_tokens if self.segment else 0) + self.delta.tokens

    @property
    def records(self) -> int:
        return (self.segment.records if self.segment else 0) + self.delta.records

    @property
    def has_rules(self) -> bool:
        """Whether there is any rule to choose from, approved or not."""
        return bool(self.lists("watch").get("rules")) or any(doc.kind == "rule" for doc in self.delta.docs)

    def mark(self, record: Any) -> str:
        """Say why a record is stale, as the worker found it; "" where it did not, or where the cause is another by now."""
        if self._marks is None:
            self._marks = marks(self.place)
        for row in causes(self._marks, record.checksum) if self._marks else ():
            if not row[1] or stamp(self.place.root + "/" + row[1]) == row[2]:
                return str(row[0])
        return ""

    def entry(self, term: str) -> Optional[Tuple[int, int, int, int]]:
        """Return the segment's directory entry of a term (remembered: query and threshold both ask)."""
        if term not in self._entries:
            self._entries[term] = self.segment.lookup(term) if self.segment else None
        found: Optional[Tuple[int, int, int, int]] = self._entries[term]
        return found

    def df(self, term: str) -> int:
        """Return how many documents hold a term, those included that a newer version has replaced."""
        entry = self.entry(term)
        return (entry[1] if entry else 0) + len(self.delta.search(term))

    def doc(self, number: int) -> segment.Doc:
        """Return a document by its number: the segment's first, then the delta's."""
        base = self.segment.docs if self.segment else 0
        if self.segment is not None and number < base:
            return self.segment.doc(number)
        if not 0 <= number - base < len(self.delta.docs):
            raise IndexFault("a document that is not there; `dayleaf index build` makes a new index")
        return self.delta.docs[number - base]

    def postings(self, term: str, push: bool) -> Tuple[Any, bytes]:
        """Return (document numbers, impacts) of a term in the segment, read once: search and explanation both ask.

        push: only the documents a prompt may get.
        """
        key = (term, push)
        if key not in self._lists:
            entry = self.entry(term)
            assert entry is not None and self.segment is not None
            self._lists[key] = self.segment.postings(entry[0], entry[1], entry[2] if push else entry[1])
        found: Tuple[Any, bytes] = self._lists[key]
        return found

    def lists(self, which: str) -> Dict[str, Any]:
        """Return the segment's lists, parsed once; none where there is no segment."""
        if which not in self._lists:
            self._lists[which] = self.segment.lists(which) if self.segment else {}
        found: Dict[str, Any] = self._lists[which]
        return found

    def by_id(self, id: str) -> Optional[segment.Doc]:
        """Return the first document of a record by its id."""
        for doc in self.delta.docs:
            if doc.id == id:
                return doc
        number = self.segment.by_id(id) if self.segment else segment.ABSENT
        return None if number == segment.ABSENT or number in self.delta.gone else self.doc(number)

    def holding(self, term: str) -> List[int]:
        """Return the numbers of the documents that hold a term now, ascending: for names and links, of which there are few."""
        found: List[int] = []
        entry = self.entry(term)
        if entry is not None and self.segment is not None:
            found += [n for n in self.segment.postings(entry[0], entry[1], entry[1])[0] if n not in self.delta.gone]
        base = self.segment.docs if self.segment else 0
        return found + [base + place for place, _ in self.delta.search(term)]

    def listed(self, which: str) -> List[segment.Doc]:
        """Return the documents of a list of the brief (`learnings`, `checkpoints`, `plans`, `rules`), newest first.

        The delta's changes are applied: what is gone is out, what came is in.
        """
        kind = which[:-1]
        numbers = self.lists("watch" if which == "rules" else "brief").get(which, [])
        found = [self.doc(n) for n in numbers if n not in self.delta.gone]
        found += [d for d in self.delta.docs if d.ordinal == 0 and d.kind == kind
                  and (kind != "learning" or d.flags & segment.ACCEPTED) and (kind != "plan" or d.flags & segment.ACTIVE)]
        found.sort(key=lambda d: (-d.created, d.name))
        return found

    def close(self) -> None:
        """Close the segment's file."""
        if self.segment is not None:
            self.segment.close()


def open_index(place: Place, watch: bool = True) -> Index:
    """Open the index of a place; raises IndexFault where there is none, it is damaged, or it is another's.

    watch: compare the watched directories and files now, and read what changed (layers 2 and 3).
    """
    base = segment.Segment(segment_path(place))
    try:
        if base.scope.decode("ascii", "replace") != place.scope:
            raise IndexFault("an index of another place; `dayleaf index build` makes a new one")
        data = _log(place, base.generation)
        found = Index(place, base, delta.Delta(data))
        if watch:
            frames = changed_frames(found)
            if frames:
                found.stale = True
                found.delta = delta.Delta(data + b"".join(frames))
        return found
    except BaseException:
        base.close()
        raise


def _log(place: Place, generation: str) -> bytes:
    try:
        return files.read(delta_path(place, generation), 64 << 20)
    except OSError:
        return b""


def changed_frames(found: Index) -> List[bytes]:
    """Return delta frames for the watched files that differ from the index, at most MOST_INLINE."""
    try:
        names = watched_changes(found)
    except (ValueError, TypeError, IndexError, AttributeError):  # lists that a flipped bit gave another shape
        raise IndexFault("damaged lists; `dayleaf index build` makes a new one") from None
    if not names:
        return []
    from memory import entry, records

    frames = []
    for name in names[:MOST_INLINE]:
        frames.append(frame(found, name, entry, records))
    found.stale = True
    return frames


def frame(found: Index, name: str, entry: Any, records: Any) -> bytes:
    """Read one file and return the delta frame that says how it is now."""
    try:
        fd = found.place.open(name)
    except OSError:
        return delta.encode(name, found.segment, ())
    try:
        stat = files.posix.fstat(fd)
        data = files.read_fd(fd, 1 << 20)
    finally:
        files.posix.close(fd)
    record = records.from_bytes(name, data, stat.st_mtime, full=False)
    changes = []
    for doc, content in entry.documents(record, stat.st_mtime_ns, stat.st_size):
        counts, length = entry.frequencies(content)
        if not doc.ordinal:
            counts.update(dict.fromkeys(entry.keys(record), 1))
        changes.append((doc, counts, length))
    return delta.encode(name, found.segment, changes)


def watched_changes(found: Index) -> List[str]:
    """Return the names of watched files that were added, changed or deleted since they were indexed."""
    assert found.segment is not None
    watch = found.lists("watch")
    place, names = found.place, []
    known = {doc.name: doc for doc in found.delta.docs if doc.ordinal == 0}
    stat = files.posix.stat
    tiers = dict(place.tiers())
    folders = dict(watch.get("folders", []))
    # A folder that is younger than the segment is watched by the stamp that the scan which found it left in the log.
    folders.update((name, 0) for name in found.delta.folders if name not in folders)
    for folder, mtime_ns in folders.items():
        path = tiers.get(folder[:1], "") + folder[1:]
        try:
            now_ns = stat(path).st_mtime_ns
        except OSError:
            now_ns = 0
        if now_ns != found.delta.folders.get(folder, mtime_ns) and place.holds(folder):
            for changed in _below(folder, watch) if len(folder) == 1 else (folder,):
                names += _folder_changes(found, changed, tiers.get(folder[:1], "") + changed[1:], known)
    for name, mtime_ns, size in watch.get("files", []):
        if name in found.delta.names:
            continue
        try:
            st = stat(tiers[name[0]] + name[1:])
            same = st.st_mtime_ns == mtime_ns and st.st_size == size
        except (OSError, KeyError):
            same = False
        if not same:
            names.append(name)
    for name, doc in known.items():
        try:
            st = stat(tiers[name[0]] + name[1:])
            if st.st_mtime_ns != doc.mtime_ns or st.st_size != doc.size:
                names.append(name)
        except (OSError, KeyError):
            names.append(name)
    return list(dict.fromkeys(names))


def _below(tier: str, watch: Dict[str, Any]) -> List[str]:
    """Return the kinds' folders of a tier that were not there when the index was built."""
    from memory.paths import FOLDERS

    watched = {row[0] for row in watch.get("folders", [])}
    return [name for name in (tier + "/" + folder for folder in FOLDERS.values()) if name not in watched]


def _folder_changes(found: Index, folder: str, path: str, known: Dict[str, segment.Doc]) -> List[str]:
    """Compare the files of one directory with the index: names that came, changed or went."""
    assert found.segment is not None
    try:
        listed = [e for e in files.posix.scandir(path) if e.name[0] != "."]
    except OSError:
        listed = []
    entries = [e for e in listed if e.name.endswith(".md")]
    many = len(entries) > MOST_LISTED
    indexed = found.segment.under(folder)
    names = []
    folders = {name[:name.find("/", len(folder) + 1)] for name in indexed}
    for entry in listed:
        start = folder + "/" + entry.name
        if start not in folders and entry.is_dir(follow_symlinks=False):  # a day's folder that came since the build
            names += _new_folder(found, start, entry.path, 2)
    for entry in entries:
        name = folder + "/" + entry.name
        before = indexed.pop(name, None)
        if name in known or (many and before is not None):
            continue
        st = entry.stat()
        if before != (st.st_mtime_ns, st.st_size) or found.delta.names.get(name) == -1:
            names.append(name)
    gone = [name for name in indexed if "/" not in name[len(folder) + 1:] and name not in found.delta.names]
    return names + gone


def _new_folder(found: Index, folder: str, path: str, depth: int) -> List[str]:
    """Return the files of a folder that the segment does not know, and of those in it, without what the delta has."""
    try:
        listed = sorted((e.name, e.path, e.is_dir(follow_symlinks=False)) for e in files.posix.scandir(path) if e.name[0] != ".")
    except OSError:
        return []
    names = []
    for name, below, is_dir in listed:
        if is_dir and depth < 8:
            names += _new_folder(found, folder + "/" + name, below, depth + 1)
        elif name.endswith(".md") and found.delta.names.get(folder + "/" + name, -1) < 0:
            names.append(folder + "/" + name)
    return names


def from_files(place: Place, most: int) -> Index:
    """Make an index in memory of at most `most` files, learnings first: what readers use while there is none on disk."""
    from memory import entry, records, walk

    found = Index(place, None, delta.Delta(b""))
    listed, _ = walk.walk(place)
    listed.sort(key=lambda f: (not f[0][2:].startswith(("learnings/", "rules/", "plans/")), -f[2], f[0]))
    found.delta = delta.Delta(b"".join(frame(found, f[0], entry, records) for f in listed[:most]))
    found.stale = True
    return found
