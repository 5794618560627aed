"""Open the index for reading: segment and delta together, without a lock, checked for freshness.

Freshness has layers, so that a hand edit takes effect on the very next prompt:

1. What is shown is re-read from its file at that moment.
2. The watched directories' mtimes are compared inline, so an added, deleted or renamed file and
   every save by rename is seen at once.
3. So are the files edited most recently (all of them in a small store).
4. dayleaf's own writers append to the delta.
5. A detached scan after the answer finds the rest (builder.refresh_after_hook).

What layers 2 and 3 find is read and searched in memory, never written here.
"""

from __future__ import annotations

from memory.core import IndexFault, fastjson, files, tokeniser
from memory.hook import delta, segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Sequence

    from memory.core.layout import Place

    Reader = Callable[[str, str, Any], bytes]

DAMAGED = "dayleaf_damaged"  # key of a hook's event: its detached refresh has to build anew
SCAN_EVERY = 5.0  # seconds between detached scans of all files
MARKS_LIMIT = 1 << 20  # bytes of the file of marks
UNWATCHED = "p/conversations"  # the folder that a hook does not look into
# of changed conversations, that a prompt which may get passages searches
CONVERSATION_BYTES = 1 << 20
ALL, PUSHED, OTHERS = range(3)  # of the documents: all, what a prompt may get unasked, the rest
# changed files that are read on the blocking path; beyond it the detached refresh has to
MOST_INLINE = 32
MOST_RECOUNTED = 64  # documents with a term, beyond which replaced ones hardly weigh


def segment_path(place: Place) -> str:
    return place.cache + "/" + place.scope + ".seg"


def delta_path(place: Place, generation: str) -> str:
    return place.cache + "/" + place.scope + "-" + generation + ".log"


def scan_path(place: Place) -> str:
    """Return the path of a file whose mtime is that of the last full scan."""
    return place.cache + "/" + place.scope + ".scan"


def is_scan_due(place: Place, now: float) -> bool:
    """Tell whether all files should be compared with the index again."""
    try:
        age = now - files.posix.stat(scan_path(place)).st_mtime
    except OSError:
        return True
    return not 0 <= age < SCAN_EVERY


def marks_path(place: Place) -> str:
    """Return the path of the marks of stale records (project/stalemarks.py)."""
    return place.cache + "/" + place.scope + ".stale"


def read_stale_marks(place: Place) -> dict[str, list[list[str]]]:
    """Return the causes of staleness by the prefix of a record's checksum, or {}."""
    try:
        row = fastjson.parse(files.read(marks_path(place), MARKS_LIMIT))
        records = row["records"] if row["v"] == 1 else {}
        return records if isinstance(records, dict) else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def list_stale_causes(marks: dict[str, list[list[str]]], checksum: str) -> list[list[str]]:
    """Return [reason, path, stamp, name] for each cause of staleness.

    marks: from `read_stale_marks`.  checksum: of the record.  [] for a record without a mark.
    """
    rows = marks.get(checksum[:16])
    return [row for row in rows if _is_cause(row)] if isinstance(rows, list) else []


def _is_cause(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 4 and all(isinstance(part, str) for part in row)


def read_file_stamp(path: str) -> str:
    """Return a file's mtime in ns and its size as text, "" if absent."""
    try:
        stat = files.posix.stat(path)
    except (OSError, ValueError):
        return ""
    return "%d %d" % (stat.st_mtime_ns, stat.st_size)


class Index:
    """A place's index for reading: its file (segment) and its log (delta).

    unread: the number of files left out where there is no segment.
    """

    def __init__(self, place: Place, base: segment.Segment | None, log: delta.Delta):
        self.place, self.segment, self.delta = place, base, log
        self.base = base.docs if base else 0  # the number of the delta's first document
        self.stale, self.unread = False, 0
        self._entries: dict[str, tuple[int, int, int, int] | None] = {}
        self._postings: dict[tuple[str, int], tuple[Any, bytes]] = {}
        self._lists: dict[str, dict[str, Any]] = {}
        self._marks: dict[str, list[list[str]]] | None = None
        self._terms: dict[str, list[tuple[str, float]]] = {}

    @property
    def documents(self) -> int:
        return max(1, self.base + len(self.delta.docs) - len(self.delta.gone))

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
            self._marks = read_stale_marks(self.place)
        for row in list_stale_causes(self._marks, record.checksum) if self._marks else ():
            if not row[1] or read_file_stamp(self.place.root + "/" + row[1]) == row[2]:
                return str(row[0])
        return ""

    def terms(self, text: str) -> list[tuple[str, float]]:
        """Return `tokeniser.query_terms` of a text, remembered."""
        if text not in self._terms:
            self._terms[text] = tokeniser.query_terms(text)
        return self._terms[text]

    def entry(self, term: str) -> tuple[int, int, int, int] | None:
        """Return a term's (offset, df, pushable, greatest impact), or None; remembered."""
        if term not in self._entries:
            self._entries[term] = self.segment.lookup(term) if self.segment else None
        return self._entries[term]

    def df(self, term: str) -> int:
        """Return the document frequency of a term.

        Replaced documents count where more than MOST_RECOUNTED hold it.
        """
        entry, found = self.entry(term), len(self.delta.search(term))
        if entry is None:
            return found
        if self.delta.gone and entry[1] <= MOST_RECOUNTED:
            return found + len(self.live(self.postings(term, ALL)[0]))
        return found + entry[1]

    def doc(self, number: int) -> segment.Doc:
        """Return a document by its number.

        The segment's documents first, then the delta's.  Raises IndexFault for other numbers.
        """
        if self.segment is not None and number < self.base:
            return self.segment.doc(number)
        if not 0 <= number - self.base < len(self.delta.docs):
            raise IndexFault(
                "a document that is not there; `dayleaf index build` makes a new index"
            )
        return self.delta.docs[number - self.base]

    def postings(self, term: str, part: int) -> tuple[Any, bytes]:
        """Return (document numbers, impacts) of a term in a part of the documents."""
        key = (term, part)
        if key not in self._postings:
            entry = self.entry(term)
            if entry is None or self.segment is None:
                self._postings[key] = (), b""
            else:
                start, df, pushable, _ = entry
                first, most = 0, pushable if part == PUSHED else df
                if part == OTHERS:
                    first, most = pushable, df - pushable
                offset = start + first if df > 1 else start
                self._postings[key] = self.segment.postings(offset, df, most)
        return self._postings[key]

    def lists(self, which: str) -> dict[str, Any]:
        """Return the segment's lists `watch` or `brief`, remembered.

        Without a segment {}, but for the topics of the files that were read.
        """
        if which not in self._lists:
            without = {"topics": self._file_topics()} if which == "brief" else {}
            self._lists[which] = self.segment.lists(which) if self.segment else without
        return self._lists[which]

    def _file_topics(self) -> list[list[Any]]:
        from memory.hook import documents

        rows = zip(self.delta.docs, self.delta.pushable)
        first = ((doc.topics, pushable) for doc, pushable in rows if not doc.ordinal)
        return documents.count_topics(first)

    def by_id(self, id: str) -> segment.Doc | None:
        """Return the first document of the record with an id, or None.

        Of several records the user's own: a repository may name any id.
        """
        docs = map(self.doc, self.holding("\x01" + id))
        return min(docs, key=lambda doc: doc.tier == "s", default=None)

    def find_document(self, name: str) -> segment.Doc | None:
        """Return the first document of a record by its name, or None."""
        at = self.delta.names.get(name)
        if at is not None:
            return self.delta.docs[at] if at >= 0 else None
        first, count = self.segment.find(name) if self.segment else (0, 0)
        return self.doc(first) if count else None

    def is_secret(self, name: str) -> bool:
        """Tell whether a record's file held a secret when indexed."""
        doc = self.find_document(name)
        return doc is not None and bool(doc.flags & segment.SECRET)

    def is_clean(self, record: Any, doc: segment.Doc | None = None) -> bool:
        """Tell whether a record is as indexed, and held no secret.

        doc: one of its documents, where known: all have the same flags and checksum.
        """
        doc = doc or self.find_document(record.name)
        if doc is None or doc.flags & (segment.SECRET | segment.UNSURE):
            return False
        return doc.checksum.hex() == str(record.checksum)[:16]

    def holds_secret(self, record: Any) -> bool:
        """Tell whether a record holds a secret; search it if nobody did."""
        if self.is_clean(record):
            return False
        from memory.core import boundary

        search = boundary.import_handler("memory.index.cleaning:holds_secret")
        return bool(search(self.place, record))

    def live(self, numbers: Iterable[int]) -> list[int]:
        """Return the numbers whose documents the delta does not replace."""
        return [number for number in numbers if number not in self.delta.gone]

    def secrets(self) -> list[segment.Doc]:
        """Return the first document of each record that holds a secret."""
        old = map(self.doc, self.live(self.lists("brief").get("secrets", ())))
        new = (doc for doc in self.delta.docs if not doc.ordinal and doc.flags & segment.SECRET)
        return [*old, *new]

    def holding(self, term: str) -> list[int]:
        """Return the numbers of the live documents with a term.

        Ascending; of a session or branch by their instants.  Only for rare terms.
        """
        numbers: list[int] = []
        entry = self.entry(term)
        if entry is not None and self.segment is not None:
            numbers = self.live(self.segment.postings(entry[0], entry[1], entry[1])[0])
        return numbers + [self.base + place for place, _ in self.delta.search(term)]

    def newest(self, term: str, most: int) -> list[segment.Doc]:
        """Return the newest documents with a term, newest first.

        At most `most` of the segment's, which keeps them in the order of their instants, and those
        of the delta.
        """
        numbers = self.holding(term)
        old = [number for number in numbers if number < self.base]
        docs = [self.doc(number) for number in (*old[-most:], *numbers[len(old) :])]
        docs.sort(key=lambda doc: (-doc.created, doc.name))
        return docs

    def listed(self, which: str) -> list[segment.Doc]:
        """Return the live documents of a list, newest first.

        which: `learnings`, `checkpoints`, `plans` or `rules`.
        """
        kind = which[:-1]
        state = {"learning": segment.ACCEPTED, "plan": segment.ACTIVE}.get(kind, 0)
        numbers = self.lists("watch" if which == "rules" else "brief").get(which, [])
        docs = [self.doc(number) for number in self.live(numbers)]
        docs += [
            doc
            for doc in self.delta.docs
            if doc.ordinal == 0 and doc.kind == kind and doc.flags & state == state
        ]
        docs.sort(
            key=lambda doc: (kind != "checkpoint" and doc.tier == "s", -doc.created, doc.name)
        )
        return docs

    def close(self) -> None:
        if self.segment is not None:
            self.segment.close()


def open_index(place: Place, watch: bool = True, conversation_bytes: int = 0) -> Index:
    """Open the index of a place.

    watch: compare the watched directories and files now, and read what changed (layers 2 and 3);
        conversations are left out: they are long and change at each turn.
    conversation_bytes: bytes of the log's newest entries on conversations to read.
    Raises IndexFault where the index is absent, damaged or another place's.
    """
    base = segment.Segment(segment_path(place))
    try:
        if base.scope.decode("ascii", "replace") != place.scope:
            raise segment.damaged("an index of another place")
        data = _read_log(place, base.generation)
        data = delta.drop_frames(data, UNWATCHED.encode(), conversation_bytes) if watch else data
        index = Index(place, base, delta.Delta(data))
        if watch:
            frames = read_changed_frames(index)
            if frames:
                index.stale = True
                index.delta = delta.Delta(data + b"".join(frames))
        return index
    except BaseException:
        base.close()
        raise


def _read_log(place: Place, generation: str) -> bytes:
    try:
        return files.read(delta_path(place, generation), 64 << 20)
    except OSError:
        return b""


def read_changed_frames(index: Index) -> list[bytes]:
    """Return delta frames of at most MOST_INLINE changed watched files."""
    try:
        names = find_watched_changes(index)
    # lists that a flipped bit gave another shape
    except (ValueError, TypeError, IndexError, AttributeError):
        raise segment.damaged("damaged lists") from None
    if not names:
        return []
    from memory.hook import documents

    index.stale = True
    # By name downwards: rules, plans and learnings, then the newest checkpoints.
    return [
        documents.build_frame(index, name) for name in sorted(names, reverse=True)[:MOST_INLINE]
    ]


def find_watched_changes(index: Index, most: int = 0) -> list[str]:
    """Return the names of added, changed or deleted watched files.

    most: files of a changed folder whose times are compared, 0 for as many as a prompt can wait
        for.
    """
    assert index.segment is not None
    watch = index.lists("watch")
    known = {
        doc.name: doc
        for doc in index.delta.docs
        if doc.ordinal == 0 and (most or not doc.name.startswith(UNWATCHED))
    }
    tiers = dict(index.place.tiers())
    names = _find_folder_changes(index, watch, tiers, known, most)
    watched = [row for row in watch.get("files", []) if row[0] not in index.delta.names]
    watched += [(name, doc.mtime_ns, doc.size) for name, doc in known.items()]
    names += _find_changed_files(tiers, watched)
    return list(dict.fromkeys(names))


def _find_folder_changes(
    index: Index,
    watch: dict[str, list[Any]],
    tiers: dict[str, str],
    known: dict[str, segment.Doc],
    most: int,
) -> list[str]:
    """Return the changed files of folders whose mtime changed.

    tiers: path by letter.  known, most: see `documents.find_folder_changes`.
    """
    stat = files.posix.stat
    names: list[str] = []
    folders = dict(watch.get("folders", []))
    # Folders newer than the segment: a scan left their mtimes in the log.
    folders.update((name, 0) for name in index.delta.folders if name not in folders)
    for folder, mtime_ns in folders.items():
        tier = tiers.get(folder[:1], "")
        try:
            now_ns = stat(tier + folder[1:]).st_mtime_ns
        except OSError:
            now_ns = 0
        if now_ns != index.delta.folders.get(folder, mtime_ns) and index.place.holds(folder):
            from memory.hook import documents

            is_tier = len(folder) == 1
            changed = documents.find_new_folders(folder, watch) if is_tier else [folder]
            for name in changed:
                path, limit = tier + name[1:], most or documents.MOST_LISTED
                names += documents.find_folder_changes(index, name, path, known, limit)
    return names


def _find_changed_files(tiers: dict[str, str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return the names of files whose mtime or size changed.

    rows: (name, time in ns, size) of each.
    """
    stat = files.posix.stat
    names: list[str] = []
    for name, mtime_ns, size in rows:
        try:
            st = stat(tiers[name[0]] + name[1:])
            if st.st_mtime_ns != mtime_ns or st.st_size != size:
                names.append(name)
        except (OSError, KeyError):
            names.append(name)
    return names


def build_from_files(
    place: Place, most: int, prompt: str = "", conversations: bool = True
) -> Index:
    """Build an index in memory of at most `most` files.

    Learnings come first, and the newest; where a prompt is given, half of the files hold its words.
    """
    from memory.core import walk
    from memory.core.layout import FOLDERS
    from memory.hook import documents

    index = Index(place, None, delta.Delta(b""))
    kinds = [kind for kind in FOLDERS if conversations or kind != "conversation"]
    listed, _ = walk.walk(place, kinds)
    first = ("learnings/", "rules/", "plans/")
    # f[0]: `p/learnings/x.md`
    listed.sort(key=lambda f: (not f[0][2:].startswith(first), -walk.written_at(f), f[0]))
    chosen, index.unread = documents.choose_files(place, listed, most, prompt)
    index.delta = delta.Delta(b"".join(documents.build_frame(index, f[0]) for f in chosen))
    index.stale = True
    return index


# ---- records as they are now


class LeanRecord:
    """The fields of an unchanged record that a block shows."""

    def __init__(self, doc: Any, title: str, body: str, versions: Sequence[str], meta: Any):
        self.id, self.kind, self.tier, self.created = doc.id, doc.kind, doc.tier, float(doc.created)
        self.name, self.meta, self.versions = doc.name, meta, versions
        self.title, self.body = title, body
        self.accepted = bool(doc.flags & segment.ACCEPTED)
        self.checksum: str = doc.checksum.hex()


def parse_lean_record(doc: Any, data: bytes) -> LeanRecord | None:
    """Parse an unchanged record's file; return None for an unusual one.

    `records` reads any file, but costs 0.1 of a bare start to load.
    """
    from memory.hook import fence

    end = data.find(b"\n---\n", 3)
    if data[:4] != b"---\n" or end < 0 or b"\r" in data:
        return None
    at = data.find(b"\ntitle: ", 3, end + 1)
    if at < 0 or data.find(b"\ntitle:", at + 1, end) >= 0:
        return None
    title = _unquote_title(data[at + 8 : data.find(b"\n", at + 1)].strip())
    try:
        head = data[:end].decode("utf-8")
        versions = fence.parse_versions(head)
        if not title or versions is None:
            return None
        return LeanRecord(
            doc,
            title.decode("utf-8"),
            data[end + 5 :].decode("utf-8"),
            versions,
            fence.LazyFrontmatter(head),
        )
    except UnicodeDecodeError:
        return None


def _unquote_title(value: bytes) -> bytes:
    """Return a title's text, b"" if it needs YAML."""
    quoted = value[:1] == b'"'
    if quoted:
        value = value[1:-1] if value[-1:] == b'"' and len(value) > 1 else b""
    if b'"' in value or b"\\" in value:
        return b""
    plain = value[:1].isalnum() and b" #" not in value and b": " not in value
    return value if quoted or plain else b""


def reread(index: Index, docs: Iterable[Any], whole: bool = False) -> Iterable[Any]:
    """Yield the records of documents as their files hold them now.

    The index may be behind them.  Left out are <private> parts, and files that are deleted, hold a
    secret or the markers of a merge.
    whole: read all fields (plans, rules); else the lean reading where enough.
    """
    for doc in docs:
        if doc.flags & segment.SECRET:
            continue
        try:
            data, stat = index.place.read(doc.name, 1 << 20)
        except OSError:
            index.stale = True
            continue
        if _has_merge_markers(data):
            continue
        same = files.sha256(data)[:16] == doc.checksum.hex()
        index.stale = index.stale or not same
        private = b"privat" in data.lower()
        sure = same and not doc.flags & segment.UNSURE
        record = parse_lean_record(doc, data) if sure and not whole and not private else None
        record = record or _parse_full_record(doc.name, data, stat.st_mtime, private)
        if sure or not index.holds_secret(record):
            yield record


def _has_merge_markers(data: bytes) -> bool:
    if b"\n>>>>>>> " not in data:
        return False
    from memory.core import frontmatter

    return bool(frontmatter.find_merge_marker(data))


def _parse_full_record(name: str, data: bytes, mtime: float, private: bool) -> Any:
    """Return a record with all fields but without private parts."""
    from memory.core import records

    read = records.from_bytes_fast(name, data, mtime)
    if not private:
        return read
    from memory.hook import documents

    return documents.remove_private(read)
