"""The index as its readers see it: segment and delta together, opened without a lock, checked for
freshness in layers.

Layers (spec: a hand edit takes effect on the very next prompt).  1. What is shown is re-read from
its file at that moment.
2. The watched directories' mtimes are compared inline, so an added, deleted or renamed file and
   every save by rename is
seen at once.  3. So are the files edited most recently (all of them in a small store).  4.
dayleaf's own writers append to the delta.  5. A detached scan after the answer finds the rest
(builder.freshen).  What layers 2 and 3 find is read and searched in memory, never written here.
"""

from __future__ import annotations

from memory.core import IndexFault, fastjson, files, tokeniser
from memory.hook import delta, segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

    from memory.core.layout import Place

    Reader = Callable[[str, str, Any], bytes]

DAMAGED = "dayleaf_damaged"  # key of a hook's event: its detached refresh has to build anew
SCAN_EVERY = 5.0  # seconds between detached scans of all files
MARKS_LIMIT = 1 << 20  # bytes of the file of marks
UNWATCHED = "p/conversations"  # the folder that a hook does not look into
TALKS = 1 << 20  # bytes of changed conversations that a prompt which may get passages searches
ALL, PUSHED, OTHERS = range(3)  # of the documents: all, what a prompt may get unasked, the rest
# changed files that are read on the blocking path; beyond it the detached refresh has to
MOST_INLINE = 32


def segment_path(place: Place) -> str:
    """Return the path of a place's segment."""
    return place.cache + "/" + place.scope + ".seg"


def delta_path(place: Place, generation: str) -> str:
    """Return the path of the delta log of a generation."""
    return place.cache + "/" + place.scope + "-" + generation + ".log"


def scan_path(place: Place) -> str:
    """Return the path of the stamp file of full scans.

    Its mtime is the time of the last scan.
    """
    return place.cache + "/" + place.scope + ".scan"


def marks_path(place: Place) -> str:
    """Return the path of the marks of stale records.

    project/stalemarks.py writes the file.
    """
    return place.cache + "/" + place.scope + ".stale"


def marks(place: Place) -> Dict[str, List[List[str]]]:
    """Return the staleness marks of a place, by checksum prefix.

    {} where there are none, or they cannot be read.
    """
    try:
        row = fastjson.parse(files.read(marks_path(place), MARKS_LIMIT))
        found = row["records"] if row["v"] == 1 else {}
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def causes(found: Dict[str, List[List[str]]], checksum: str) -> List[List[str]]:
    """Return [reason, path, stamp, name] for each cause of staleness.

    found: from `marks`.  checksum: of the record.  [] for a record without a mark.
    """
    rows = found.get(checksum[:16])
    return (
        [
            row
            for row in rows
            if isinstance(row, list)
            and len(row) == 4
            and all(isinstance(part, str) for part in row)
        ]
        if isinstance(rows, list)
        else []
    )


def stamp(path: str) -> str:
    """Return "mtime size" of a file, "" if absent.

    mtime in ns, size in bytes.
    """
    try:
        found = files.posix.stat(path)
    except (OSError, ValueError):
        return ""
    return "%d %d" % (found.st_mtime_ns, found.st_size)


class Index:
    """The segment and delta of a place.

    unread: the number of files not in it, where it was made of some of them.
    """

    __slots__ = (
        "_entries",
        "_lists",
        "_marks",
        "_terms",
        "delta",
        "place",
        "segment",
        "stale",
        "unread",
    )

    def __init__(self, place: Place, base: Optional[segment.Segment], log: delta.Delta):
        self.place, self.segment, self.delta = place, base, log
        self.stale, self.unread = False, 0
        self._entries: Dict[str, Any] = {}
        self._lists: Dict[Any, Any] = {}
        self._marks: Optional[Dict[str, List[List[str]]]] = None
        self._terms: Dict[str, List[Tuple[str, float]]] = {}

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
        """Whether the place has any rule, approved or not."""
        return bool(self.lists("watch").get("rules")) or any(
            doc.kind == "rule" for doc in self.delta.docs
        )

    def mark(self, record: Any) -> str:
        """Return the reason for a record's staleness, or "".

        As the worker found it; "" too where the cause has changed since.
        """
        if self._marks is None:
            self._marks = marks(self.place)
        for row in causes(self._marks, record.checksum) if self._marks else ():
            if not row[1] or stamp(self.place.root + "/" + row[1]) == row[2]:
                return str(row[0])
        return ""

    def terms(self, text: str) -> List[Tuple[str, float]]:
        """Return `tokeniser.terms` of a text.

        Remembered: category, learnings and passages all ask.
        """
        if text not in self._terms:
            self._terms[text] = tokeniser.terms(text)
        return self._terms[text]

    def entry(self, term: str) -> Optional[Tuple[int, int, int, int]]:
        """Return the segment's directory entry of a term.

        Remembered: query and threshold both ask.
        """
        if term not in self._entries:
            self._entries[term] = self.segment.lookup(term) if self.segment else None
        found: Optional[Tuple[int, int, int, int]] = self._entries[term]
        return found

    def df(self, term: str) -> int:
        """Return the number of documents with a term.

        Replaced documents are counted too.
        """
        entry = self.entry(term)
        return (entry[1] if entry else 0) + len(self.delta.search(term))

    def doc(self, number: int) -> segment.Doc:
        """Return a document by its number.

        The segment's documents first, then the delta's.  Raises IndexFault for other numbers.
        """
        base = self.segment.docs if self.segment else 0
        if self.segment is not None and number < base:
            return self.segment.doc(number)
        if not 0 <= number - base < len(self.delta.docs):
            raise IndexFault(
                "a document that is not there; `dayleaf index build` makes a new index"
            )
        return self.delta.docs[number - base]

    def postings(self, term: str, part: int) -> Tuple[Any, bytes]:
        """Return (document numbers, impacts) of a term, read once.

        In the segment.  part: ALL, PUSHED or OTHERS.
        """
        key = (term, part)
        if key not in self._lists:
            entry = self.entry(term)
            if entry is None or self.segment is None:
                self._lists[key] = (), b""
            else:
                start, df, pushable, _ = entry
                first, most = (
                    (pushable, df - pushable)
                    if part == OTHERS
                    else (0, pushable if part == PUSHED else df)
                )
                self._lists[key] = self.segment.postings(
                    start + first if df > 1 else start, df, most
                )
        found: Tuple[Any, bytes] = self._lists[key]
        return found

    def lists(self, which: str) -> Dict[str, Any]:
        """Return the segment's lists, parsed once.

        Without a segment {}, but for the topics of the files that were read.
        """
        if which not in self._lists:
            without = {"topics": self._file_topics()} if which == "brief" else {}
            self._lists[which] = self.segment.lists(which) if self.segment else without
        found: Dict[str, Any] = self._lists[which]
        return found

    def _file_topics(self) -> List[List[Any]]:
        """Return the topics of the files read, as the segment has them."""
        from memory.hook import documents

        topics = (doc.topics for doc in self.delta.docs)
        return documents.count_topics(zip(topics, self.delta.pushable))

    def by_id(self, id: str) -> Optional[segment.Doc]:
        """Return the first document of a record by its id.

        Of several the user's own: a repository may name any id.
        """
        found = map(self.doc, self.holding("\x01" + id))
        return min(found, key=lambda doc: doc.tier == "s", default=None)

    def is_secret(self, name: str) -> bool:
        """Tell whether a record's file held a secret when indexed."""
        at = self.delta.names.get(name)
        if at is not None:
            return at >= 0 and bool(self.delta.docs[at].flags & segment.SECRET)
        first, count = self.segment.find(name) if self.segment else (0, 0)
        return bool(count) and bool(self.doc(first).flags & segment.SECRET)

    def secrets(self) -> List[segment.Doc]:
        """Return the first documents of the records that hold secrets."""
        numbers = [n for n in self.lists("brief").get("secrets", ()) if n not in self.delta.gone]
        return [
            *map(self.doc, numbers),
            *(d for d in self.delta.docs if not d.ordinal and d.flags & segment.SECRET),
        ]

    def holding(self, term: str) -> List[int]:
        """Return the numbers of the live documents with a term.

        Ascending; for a session or branch by their instants.  For rare terms.
        """
        found: List[int] = []
        entry = self.entry(term)
        if entry is not None and self.segment is not None:
            found += [
                n
                for n in self.segment.postings(entry[0], entry[1], entry[1])[0]
                if n not in self.delta.gone
            ]
        base = self.segment.docs if self.segment else 0
        return found + [base + place for place, _ in self.delta.search(term)]

    def newest(self, term: str, most: int) -> List[segment.Doc]:
        """Return the newest dated records with a term, newest first.

        At most `most` of the segment's, which keeps them in the order of their instants, and those
        of the delta.
        """
        base = self.segment.docs if self.segment else 0
        numbers = self.holding(term)
        old = [n for n in numbers if n < base][-most:]
        found = [self.doc(n) for n in (*old, *(n for n in numbers if n >= base))]
        found.sort(key=lambda d: (-d.created, d.name))
        return found

    def listed(self, which: str) -> List[segment.Doc]:
        """Return the documents of a list of the brief, newest first.

        which: `learnings`, `checkpoints`, `plans` or `rules`.  The delta's changes are applied.
        """
        kind = which[:-1]
        numbers = self.lists("watch" if which == "rules" else "brief").get(which, [])
        found = [self.doc(n) for n in numbers if n not in self.delta.gone]
        found += [
            d
            for d in self.delta.docs
            if d.ordinal == 0
            and d.kind == kind
            and (kind != "learning" or d.flags & segment.ACCEPTED)
            and (kind != "plan" or d.flags & segment.ACTIVE)
        ]
        found.sort(key=lambda d: (kind != "checkpoint" and d.tier == "s", -d.created, d.name))
        return found

    def close(self) -> None:
        """Close the segment's file."""
        if self.segment is not None:
            self.segment.close()


def open_index(place: Place, watch: bool = True, talks: int = 0) -> Index:
    """Open the index of a place.

    watch: as a hook does, compare the watched directories and files now, and read what changed
        (layers 2 and 3); conversations are not compared then: they are long and change at each
        turn.
    talks: bytes of the log's newest entries on conversations to read; most hooks read none.
    Raises IndexFault where the index is absent, damaged or another place's.
    """
    base = segment.Segment(segment_path(place))
    try:
        if base.scope.decode("ascii", "replace") != place.scope:
            raise IndexFault("an index of another place; `dayleaf index build` makes a new one")
        data = _log(place, base.generation)
        data = delta.drop_frames(data, UNWATCHED.encode(), talks) if watch else data
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
    """Return delta frames of the changed watched files.

    At most MOST_INLINE.
    """
    try:
        names = watched_changes(found)
    # lists that a flipped bit gave another shape
    except (ValueError, TypeError, IndexError, AttributeError):
        raise IndexFault("damaged lists; `dayleaf index build` makes a new one") from None
    if not names:
        return []
    from memory.hook import documents

    found.stale = True
    # By name downwards: rules, plans and learnings, then the newest checkpoints.
    return [documents.frame(found, name) for name in sorted(names, reverse=True)[:MOST_INLINE]]


def watched_changes(found: Index, most: int = 0) -> List[str]:
    """Return the names of added, changed or deleted watched files.

    most: files of a changed folder whose times are compared, 0 for as many as a prompt can wait
        for.
    """
    assert found.segment is not None
    watch = found.lists("watch")
    known = {
        doc.name: doc
        for doc in found.delta.docs
        if doc.ordinal == 0 and (most or not doc.name.startswith(UNWATCHED))
    }
    tiers = dict(found.place.tiers())
    names = _changes_in_folders(found, watch, tiers, known, most)
    watched = [row for row in watch.get("files", []) if row[0] not in found.delta.names]
    watched += [(name, doc.mtime_ns, doc.size) for name, doc in known.items()]
    names += _changed_files(tiers, watched)
    return list(dict.fromkeys(names))


def _changes_in_folders(
    found: Index,
    watch: Dict[str, List[Any]],
    tiers: Dict[str, str],
    known: Dict[str, segment.Doc],
    most: int,
) -> List[str]:
    """Return the changed files of the folders with another time."""
    stat = files.posix.stat
    names: List[str] = []
    folders = dict(watch.get("folders", []))
    # A folder that is younger than the segment is watched by the stamp that the scan which found it
    # left in the log.
    folders.update((name, 0) for name in found.delta.folders if name not in folders)
    for folder, mtime_ns in folders.items():
        path = tiers.get(folder[:1], "") + folder[1:]
        try:
            now_ns = stat(path).st_mtime_ns
        except OSError:
            now_ns = 0
        if now_ns != found.delta.folders.get(folder, mtime_ns) and found.place.holds(folder):
            from memory.hook import documents

            for changed in documents.new_folders(folder, watch) if len(folder) == 1 else (folder,):
                names += documents.folder_changes(
                    found,
                    changed,
                    tiers.get(folder[:1], "") + changed[1:],
                    known,
                    most or documents.MOST_LISTED,
                )
    return names


def _changed_files(tiers: Dict[str, str], rows: Iterable[Sequence[Any]]) -> List[str]:
    """Return the names of files with another time or size, or none.

    rows: (name, time in ns, size) of each.
    """
    stat = files.posix.stat
    names: List[str] = []
    for name, mtime_ns, size in rows:
        try:
            st = stat(tiers[name[0]] + name[1:])
            if st.st_mtime_ns != mtime_ns or st.st_size != size:
                names.append(name)
        except (OSError, KeyError):
            names.append(name)
    return names


def from_files(place: Place, most: int, prompt: str = "", talks: bool = True) -> Index:
    """Return an index in memory of at most `most` files.

    Readers use it while there is none on disk.  Learnings come first, and the newest; where a
    prompt is given, half of the files hold its words.
    talks: conversations too.
    """
    from memory.core import walk
    from memory.core.layout import FOLDERS
    from memory.hook import documents

    found = Index(place, None, delta.Delta(b""))
    listed, _ = walk.walk(
        place,
        [kind for kind, folder in FOLDERS.items() if talks or not UNWATCHED.endswith("/" + folder)],
    )
    listed.sort(
        key=lambda f: (
            not f[0][2:].startswith(("learnings/", "rules/", "plans/")),
            -walk.written_at(f),
            f[0],
        )
    )
    chosen, found.unread = documents.choose_files(place, listed, most, prompt)
    found.delta = delta.Delta(b"".join(documents.frame(found, f[0]) for f in chosen))
    found.stale = True
    return found


# ---- records as they are now


class Lean:
    """The fields of an unchanged record that a block shows.

    meta: its frontmatter.
    """

    __slots__ = (
        "accepted",
        "body",
        "checksum",
        "created",
        "id",
        "kind",
        "meta",
        "name",
        "tier",
        "title",
        "versions",
    )

    def __init__(self, doc: Any, title: str, body: str, versions: Sequence[str], meta: Any):
        self.id, self.kind, self.tier, self.created = doc.id, doc.kind, doc.tier, float(doc.created)
        self.name, self.meta = doc.name, meta
        self.title, self.body, self.accepted = title, body, bool(doc.flags & 1 << 8)
        self.checksum: str = doc.checksum.hex()
        self.versions = versions


def lean(doc: Any, data: bytes) -> Optional[Lean]:
    """Return title and body of a simple file, None if unclear.

    For None ask `records`: that reader costs 0.1 of a bare start to load, and nothing it would say
        of an unchanged file is new: the checksum has just been compared.
    """
    # who shows a record has loaded it; a worker that only writes an index need not
    from memory.hook import fence

    end = data.find(b"\n---\n", 3)
    if data[:4] != b"---\n" or end < 0 or b"\r" in data:
        return None
    at = data.find(b"\ntitle: ", 3, end + 1)
    if at < 0 or data.find(b"\ntitle:", at + 1, end) >= 0:
        return None
    title = _plain_title(data[at + 8 : data.find(b"\n", at + 1)].strip())
    try:
        head = data[:end].decode("utf-8")
        held = fence.versions_of(head)
        if not title or held is None:
            return None
        return Lean(
            doc, title.decode("utf-8"), data[end + 5 :].decode("utf-8"), held, fence.Head(head)
        )
    except UnicodeDecodeError:
        return None


def _plain_title(value: bytes) -> bytes:
    """Return the title that a plain or quoted value is, b"" if unclear."""
    quoted = value[:1] == b'"'
    if quoted:
        value = value[1:-1] if value[-1:] == b'"' and len(value) > 1 else b""
    if b'"' in value or b"\\" in value:
        return b""
    plain = value[:1].isalnum() and b" #" not in value and b": " not in value
    return value if quoted or plain else b""


def reread(found: Index, docs: Iterable[Any], whole: bool = False) -> Iterable[Any]:
    """Yield the records of documents, read from their files.

    The index may be behind them; a deleted file is left out, and one that holds a secret or the
    markers of a merge.  <private> parts are left out too.
    whole: read all fields (plans, rules); else the lean reading where enough.
    """
    for doc in docs:
        if doc.flags & segment.SECRET:
            continue
        try:
            data, stat = found.place.read(doc.name, 1 << 20)
        except OSError:
            found.stale = True
            continue
        if _is_unmerged(data):
            continue
        same = files.sha256(data)[:16] == doc.checksum.hex()
        found.stale = found.stale or not same
        private = b"privat" in data.lower()
        record = lean(doc, data) if same and not whole and not private else None
        if record is not None:
            yield record
        else:
            yield _skimmed(doc.name, data, stat.st_mtime, private)


def _is_unmerged(data: bytes) -> bool:
    if b"\n>>>>>>> " not in data:
        return False
    from memory.core import frontmatter

    return bool(frontmatter.unmerged_line(data))


def _skimmed(name: str, data: bytes, mtime: float, private: bool) -> Any:
    """Return a record with all fields, without what is private."""
    from memory.core import records

    read = records.skim(name, data, mtime)
    if not private:
        return read
    from memory.hook import documents

    return documents.without_private(read)
