"""Read the segment: an immutable index file, read by position and never loaded whole.

Format: docs/formats.md.
"""

from __future__ import annotations

from _struct import Struct
from _struct import error as StructError  # type: ignore[attr-defined]
from zlib import crc32

from memory.core import IndexFault, files
from memory.core.layout import TRUNKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

MAGIC = b"DLSEG009"
# magic, generation, scope, tokeniser, documents, pushable, terms, buckets, records, learnings,
# learning tokens, all tokens, mean length, built, crc32 of the rest of the header, offsets of
# buckets, directory, ids, impacts, rows, strings, lists
HEADER = Struct("<8s8s8sIIIIIIIIQddIQQQQQQQ4x")
HEADER_SIZE = 144
BUILT_AT = 72
# offset: 32 low bits, 8 high; df, pushable, greatest impact
ENTRY = Struct("<IBIIB")
CHAMPIONS = 1024  # postings of a term's greatest impacts
NO_DOCUMENT = 0xFFFFFFFF
K1, B, SCALE = 1.2, 0.75, 115.0

# strings offset, lengths of name, id and section, flags, created, tokens of the record, size, mtime
# in ns, first 8 bytes of the SHA-256 of the file, length of the topics, ordinal of the section
ROW = Struct("<IHHHHIIIq8sHH")
# ns that a ROW can hold; a file's own time may lie before 1970 or after 2262
TIMES = -(1 << 63), (1 << 63) - 1
KINDS = ("rule", "learning", "plan", "resource", "checkpoint", "conversation", "note")
TIERS = ("p", "s", "g", "a")
SOURCES = ("human", "agent", "auto")
KIND_BITS = 7  # of a document's flags: its kind; then 2 bits of its tier, 2 of its source
ACCEPTED, PINNED, ACTIVE = 1 << 8, 1 << 9, 1 << 10
SECRET = 1 << 11  # the record holds a secret: hooks show nothing of it
# nobody searched the record, or the settings let a secret through: it is searched where shown
UNSURE = 1 << 7
SPAN = 12  # the first bit of a place in SPANS: what a record tells lasted at most so many seconds
SPANS = (0, *(900 << n for n in range(14)), 1 << 32)


def damaged(what: str) -> IndexFault:
    """Return an IndexFault that names the fault and its remedy."""
    return IndexFault(what + "; `dayleaf index build` makes a new one")


def session_key(session: str) -> str:
    """Return a session's id without the day that tools put before it.

    An id has 36 characters.
    """
    return session[-36:]


def session_term(session: str) -> str:
    """Return the index term of a session's checkpoints and conversation."""
    return hashed_term("\x04", session_key(session))


def branch_term(branch: str) -> str:
    return hashed_term("\x05", branch)


def id_term(id: str) -> str:
    """Return the index term of a record's or a session's id."""
    return session_term(id) if len(id) == 36 else "\x01" + id


def list_branch_names(branch: object) -> list[str]:
    """Return a branch's name without its first folder, then its tickets.

    `feature/PAY-101-retries` has PAY-101-retries, PAY-101 and #101, `main` has none.
    """
    if not isinstance(branch, str) or branch in TRUNKS:
        return []
    folder, slash, rest = branch.partition("/")
    name = rest if slash and folder.isalpha() else branch
    pieces = name.replace("_", "-").replace("/", "-").split("-")
    pairs = [(a, b) for a, b in zip(["", *pieces], pieces) if b.isdigit()]
    tickets = [ticket for a, b in pairs for ticket in (a + "-" + b, "#" + b)]
    return [name, *(ticket for ticket in tickets if ticket[:1].isalpha() or ticket[:1] == "#")]


def hashed_term(mark: str, text: str) -> str:
    """Return an index term that no word can equal."""
    return "%s%x" % (mark, crc32(text.encode("utf-8", "replace")))


def pack_flags(record: Any) -> int:
    """Pack a record's kind, tier, source and states into 16 bits."""
    return (
        KINDS.index(record.kind)
        | TIERS.index(record.tier) << 3
        | SOURCES.index(record.source) << 5
        | (ACCEPTED if record.accepted else 0)
        | (PINNED if record.pinned else 0)
        | (ACTIVE if record.active else 0)
        | next(n for n, most in enumerate(SPANS) if record.ended - record.began <= most) << SPAN
    )


def quantise_impact(tf: float, length: float, mean: float) -> int:
    """Quantise a term's BM25 weight in a document to 1..253."""
    weight = tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * length / mean))
    return max(1, min(253, int(weight * SCALE)))


class Doc:
    """A document of the index: its fields for ranking and filters."""

    __slots__ = tuple(
        "checksum created flags id mtime_ns name ordinal section size tokens topics".split()
    )

    def __init__(
        self,
        name: str,
        id: str,
        section: str,
        flags: int,
        created: int,
        tokens: int,
        size: int,
        mtime_ns: int,
        checksum: bytes,
        topics: tuple[str, ...],
        ordinal: int,
    ):
        self.name, self.id, self.section = name, id, section
        self.flags, self.created, self.tokens = flags, created, tokens
        self.size, self.mtime_ns, self.checksum = size, mtime_ns, checksum
        self.topics, self.ordinal = topics, ordinal

    @property
    def kind(self) -> str:
        return KINDS[self.flags & KIND_BITS]

    @property
    def tier(self) -> str:
        return TIERS[self.flags >> 3 & 3]

    @property
    def source(self) -> str:
        return SOURCES[self.flags >> 5 & 3]


class Segment:
    """An index file (segment) that is open for reading.

    Every method raises IndexFault where the file does not hold what its header promises.
    """

    def __init__(self, path: str, data: bytes | None = None):
        """Open the segment at a path, or in memory.

        data: the segment's bytes, where no file could be written.
        """
        self.fd = -1
        if data is not None:
            self._size = len(data)
            self._source: Callable[[int, int], bytes] = lambda size, offset: data[
                offset : offset + size
            ]
        else:
            try:
                self.fd = fd = files.open_read(path, follow=False)
            except OSError as error:
                raise IndexFault(
                    "%s: %s; `dayleaf index build` makes it" % (path, error.strerror)
                ) from None
            self._size = files.posix.fstat(fd).st_size
            self._source = lambda size, offset: files.read_at(fd, size, offset)
        try:
            self._open()
        except IndexFault:
            self.close()
            raise

    def _read(self, size: int, offset: int) -> bytes:
        if size < 0 or offset < 0 or offset + size > self._size:
            raise damaged("a damaged index names bytes beyond its end")
        return self._source(size, offset)

    def _open(self) -> None:
        head = self._read(min(HEADER_SIZE, self._size), 0)
        if len(head) != HEADER_SIZE or head[:8] != MAGIC:
            raise damaged("not an index of this version")
        (
            _,
            generation,
            self.scope,
            tokeniser,
            self.docs,
            self.pushable,
            self.terms,
            self._buckets,
            self.records,
            self.learnings,
            self.learning_tokens,
            self.tokens,
            self.mean,
            self.built,
            check,
            *at,
        ) = HEADER.unpack_from(head)
        self._at: tuple[int, ...] = tuple(at)
        from memory.core.tokeniser import VERSION

        if check != compute_header_crc(head) or tokeniser != VERSION:
            raise damaged("an index of another version, or damaged")
        if self._size != self._at[6] + self._lists_size():
            raise damaged("a truncated index")
        self.generation = generation.decode("ascii", "replace")

    def _lists_size(self) -> int:
        sizes = self._read(8, self._at[6])
        if len(sizes) < 8:
            raise damaged("a truncated index")
        watch, brief = PAIR.unpack(sizes)
        return int(8 + watch + brief)

    def close(self) -> None:
        if self.fd >= 0:
            files.posix.close(self.fd)
            self.fd = -1

    def is_intact(self) -> bool:
        """Tell whether every byte behind the header is unchanged; takes 1 s a GB."""
        body = self._read(self._size - HEADER_SIZE, HEADER_SIZE)
        return bool(files.sha256(body)[:8] == self.generation)

    def lookup(self, term: str) -> tuple[int, int, int, int] | None:
        """Return (offset, df, pushable, greatest impact) of a term, or None."""
        word = term.encode("utf-8", "replace")
        # a bucket: the count of its terms, "\n", each with "\n", then their entries
        try:
            bucket = crc32(word) & (self._buckets - 1)
            start, end = PAIR.unpack(self._read(8, self._at[0] + 4 * bucket))
            block = self._read(end - start, self._at[1] + start)
            count = block[0] | block[1] << 8 if block else 0
            table = len(block) - ENTRY.size * count
            found = block.find(b"\n" + word + b"\n", 2, table)
            if found < 0:
                return None
            low, high, df, pushable, most = ENTRY.unpack_from(
                block, table + ENTRY.size * block.count(b"\n", 2, found)
            )
            return high << 32 | low, df, pushable, most
        except (StructError, IndexError):
            raise damaged("a damaged term directory") from None

    def postings(
        self, offset: int, df: int, most: int, champions: bool = False
    ) -> tuple[Any, bytes]:
        """Return (document numbers as a memoryview of u32, impacts) of a term.

        most: read only this many, from the first document on (they ascend).
        champions: read instead the 1,024 of the greatest impact, stored before the full list.
        """
        if df == 1:  # the offset is (impact, document)
            packed = _ONE.pack(offset & NO_DOCUMENT)
            return memoryview(packed)[: 4 * most].cast("I"), bytes((offset >> 32,))[:most]
        if champions:
            offset, most = offset - CHAMPIONS, CHAMPIONS
        ids = self._read(4 * most, self._at[2] + 4 * offset)
        impacts = self._read(most, self._at[3] + offset)
        if len(ids) != 4 * most or len(impacts) != most:
            raise damaged("truncated lists")
        return memoryview(ids).cast("I"), impacts

    def doc(self, number: int) -> Doc:
        if not 0 <= number < self.docs:
            raise IndexFault(
                "an entry names a missing document; `dayleaf index build` rebuilds the index"
            )
        row = self._read(ROW.size, self._at[4] + ROW.size * number)
        try:
            return unpack_document(row, lambda offset, size: self._read(size, self._at[5] + offset))
        except (StructError, ValueError, IndexError):
            raise damaged("a damaged document row") from None

    def name(self, number: int) -> bytes:
        """Return the encoded name of a document without reading its other fields."""
        row = self._read(6, self._at[4] + ROW.size * number)
        return self._read(row[4] | row[5] << 8, self._at[5] + int.from_bytes(row[:4], "little"))

    def _bound(self, key: bytes, low: int, high: int) -> int:
        """Return the first document whose name is not below `key`."""
        while low < high:
            middle = (low + high) >> 1
            if self.name(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def _parts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return (first, end) of both parts of the documents, each sorted by name."""
        return (0, self.pushable), (self.pushable, self.docs)

    def find(self, name: str) -> tuple[int, int]:
        """Return (first document, count) of a record's name, or (NO_DOCUMENT, 0)."""
        key = name.encode("utf-8", "surrogateescape")
        for low, high in self._parts():
            first = self._bound(key, low, high)
            count = 0
            while first + count < high and self.name(first + count) == key:
                count += 1
            if count:
                return first, count
        return NO_DOCUMENT, 0

    def count(self, folder: str) -> int:
        """Return the number of documents below a folder."""
        key = folder.encode("utf-8", "surrogateescape")
        return sum(  # "0" comes next after "/"
            self._bound(key + b"0", low, high) - self._bound(key + b"/", low, high)
            for low, high in self._parts()
        )

    def under(self, folder: str) -> dict[str, tuple[int, int]]:
        """Return name -> (mtime in ns, size) of a folder's records."""
        key = folder.encode("utf-8", "surrogateescape")
        files_below = {}
        for low, high in self._parts():
            first, end = self._bound(key + b"/", low, high), self._bound(key + b"0", low, high)
            if first == end:
                continue
            rows = self._read(ROW.size * (end - first), self._at[4] + ROW.size * first)
            start = ROW.unpack_from(rows)[0]
            last = ROW.unpack_from(rows, len(rows) - ROW.size)
            text = self._read(last[0] + last[1] - start, self._at[5] + start)
            for offset, n_name, _, _, _, _, _, size, mtime_ns, *_ in ROW.iter_unpack(rows):
                name = text[offset - start : offset - start + n_name]
                files_below[name.decode("utf-8", "surrogateescape")] = (mtime_ns, size)
        return files_below

    def vocabulary(self, start: str) -> list[str]:
        """Return the terms with a prefix; too slow for a hook.

        Entries may look like terms, so a rare result is noise: `lookup` decides.
        """
        import re

        directory = self._read(self._at[2] - self._at[1], self._at[1])
        # The line's end is in the pattern, so that it has letters to look for: 8 times as fast.
        found = re.findall(
            rb"\n(" + re.escape(start.encode("utf-8")) + rb"[^\n]{0,80})(?=\n)", directory
        )
        return [term.decode("utf-8", "replace") for term in found]

    def each(self) -> Iterator[Doc]:
        """Yield every document; too slow for a hook."""
        rows, strings = self.rows(), self.strings()
        for at in range(0, len(rows), ROW.size):
            yield unpack_document(
                rows[at : at + ROW.size], lambda offset, size: strings[offset : offset + size]
            )

    def rows(self) -> bytes:
        """Return all rows in one piece; too slow for a hook."""
        return self._read(ROW.size * self.docs, self._at[4])

    def strings(self) -> bytes:
        """Return all strings in one piece; too slow for a hook."""
        return self._read(self._at[6] - self._at[5], self._at[5])

    def lists(self, which: str) -> dict[str, Any]:
        """Return the lists `watch` (freshness) or `brief` (session start, topics, rules)."""
        from memory.core import fastjson

        watch, brief = PAIR.unpack(self._read(8, self._at[6]))
        start, size = (0, watch) if which == "watch" else (watch, brief)
        try:
            lists = fastjson.parse(self._read(size, self._at[6] + 8 + start))
        except ValueError:
            raise damaged("damaged lists") from None
        if not isinstance(lists, dict):
            raise damaged("damaged lists")
        return lists


PAIR, _ONE = Struct("<II"), Struct("<I")


def compute_header_crc(head: bytes) -> int:
    """Return the CRC of a header without its time stamp and CRC."""
    return crc32(head[:BUILT_AT] + head[BUILT_AT + 12 : HEADER_SIZE])


def unpack_document(row: bytes, strings: Callable[[int, int], bytes]) -> Doc:
    """Return the document in a ROW.

    strings: returns bytes of the string area for (offset, size).
    """
    offset, n_name, n_id, n_section, *facts, n_topics, ordinal = ROW.unpack_from(row)
    text = strings(offset, n_name + n_id + n_section + n_topics)
    section = n_name + n_id
    topics = text[section + n_section :].decode("utf-8", "replace")
    fields = (
        text[:n_name].decode("utf-8", "surrogateescape"),
        text[n_name:section].decode("utf-8", "replace"),
        text[section : section + n_section].decode("utf-8", "replace"),
        *facts,
        tuple(topics.split("\x1f")) if topics else (),
        ordinal,
    )
    return Doc(*fields)


def pack_document(doc: Doc, offset: int) -> tuple[bytes, bytes]:
    """Return (ROW, strings) of a document.

    offset: of its strings in the string area.
    """
    name = doc.name.encode("utf-8", "surrogateescape")[:65535]
    id_ = doc.id.encode("utf-8", "replace")[:1000]
    section = doc.section.encode("utf-8", "replace")[:1000]
    topics = "\x1f".join(doc.topics).encode("utf-8", "replace")[:1000]
    mtime_ns = max(TIMES[0], min(doc.mtime_ns, TIMES[1]))
    row = ROW.pack(
        offset,
        len(name),
        len(id_),
        len(section),
        doc.flags,
        doc.created,
        min(doc.tokens, NO_DOCUMENT),
        min(doc.size, NO_DOCUMENT),
        mtime_ns,
        doc.checksum,
        len(topics),
        min(doc.ordinal, 65535),
    )
    return row, name + id_ + section + topics
