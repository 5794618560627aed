"""Read and write the delta log: a frame for each file changed since the segment was built.

Format: docs/formats.md.
"""

from __future__ import annotations

from _bisect import bisect_right
from _struct import Struct
from _struct import error as StructError  # type: ignore[attr-defined]
from zlib import crc32

from memory.hook import segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence

    from memory.hook.segment import Doc, Segment

    Change = tuple[Doc, dict[str, int], int]

_FRAME = Struct("<BII")  # mark, length, CRC
# of the segment: first document, their count, learning, tokens; length of the name, documents
_BASE = Struct("<IHBIHH")
_DOC = Struct("<II")  # length, of it that of row and strings
_STAMP = Struct("<q")
MARK, FOLDER_MARK = 0x1E, 0x1D


def encode_frame(name: str, base: Segment | None, changes: Sequence[Change]) -> bytes:
    """Return the log's frame with the present documents of a record.

    changes: (document, term frequencies, number of terms) of each section; () where the file is
        gone.
    """
    first, count, learning, tokens, mean = segment.NO_DOCUMENT, 0, 0, 0, 100.0
    if base is not None:
        first, count = base.find(name)
        mean = base.mean if base.docs else mean
        if count:
            learning = int(first < base.pushable)
            tokens = base.doc(first).tokens
    encoded = name.encode("utf-8", "surrogateescape")
    payload = [_BASE.pack(first, count, learning, tokens, len(encoded), len(changes)), encoded]
    for doc, counts, length in changes:
        row, strings = segment.pack_document(doc, 0)
        head = row + strings
        terms = "".join(
            "\n%s\t%02x" % (term, segment.quantise_impact(n, length, mean))
            for term, n in sorted(counts.items())
        )
        ident = "\n\x01%s\t01\n" % doc.id  # ends the document's terms
        body = head + (terms + ident).encode("utf-8", "replace")
        payload.append(_DOC.pack(len(body), len(head)) + body)
    data = b"".join(payload)
    return _FRAME.pack(MARK, len(data), crc32(data)) + data


def encode_stamp(folder: str, mtime_ns: int) -> bytes:
    """Return the log's frame with the time of a folder's last logged change.

    folder: "" for all files.
    mtime_ns: the folder's changes up to then are in the log.
    Only a full scan may write it.
    """
    data = _STAMP.pack(max(segment.TIMES[0], min(mtime_ns, segment.TIMES[1]))) + folder.encode(
        "utf-8", "surrogateescape"
    )
    return _FRAME.pack(FOLDER_MARK, len(data), crc32(data)) + data


def drop_frames(data: bytes, start: bytes, most: int = 0) -> bytes:
    """Return a log without the frames of names beginning with `start`.

    most: bytes of these records' last frames to keep, newest first.  Damaged frames stay.
    """
    if start not in data:
        return data
    kept, at = [], 0
    last: dict[bytes, bytes] = {}
    while at + _FRAME.size < len(data) and data[at] in (MARK, FOLDER_MARK):
        mark, length, _ = _FRAME.unpack_from(data, at)
        head = at + _FRAME.size
        end, name_at = head + length, head + (_BASE.size if mark == MARK else _STAMP.size)
        if end > len(data):
            break
        if not data.startswith(start, name_at):
            kept.append(data[at:end])
        elif most and mark == MARK:
            name = data[name_at : name_at + _BASE.unpack_from(data, head)[4]]
            last.pop(name, None)
            last[name] = data[at:end]
        at = end
    return b"".join((*kept, *_select_newest(list(last.values()), most), data[at:]))


def _select_newest(frames: list[bytes], room: int) -> list[bytes]:
    """Return the newest frames that fit in `room` bytes, newest first."""
    selected = []
    for frame in reversed(frames):
        room -= len(frame)
        if room < 0:
            break
        selected.append(frame)
    return selected


def _find_frame_end(data: bytes, at: int) -> int:
    """Return the end of the whole frame at an offset, or 0."""
    try:
        mark, length, check = _FRAME.unpack_from(data, at)
    except StructError:
        return 0
    start = at + _FRAME.size
    end: int = start + length
    least = _BASE.size if mark == MARK else _STAMP.size
    whole = mark in (MARK, FOLDER_MARK) and length >= least and end <= len(data)
    return end if whole and crc32(memoryview(data)[start:end]) == check else 0


def _find_next_frame(data: bytes, at: int) -> int:
    while at < len(data) and not (data[at] in (MARK, FOLDER_MARK) and _find_frame_end(data, at)):
        at += 1
    return at


class Delta:
    """The frames of one log, parsed for searching.

    docs: the live documents.
    gone: numbers of segment documents that a frame replaces.
    learnings, tokens, records: what they add to the segment's counts, maybe negative.
    frames: how many were read.
    folders: mtime in ns by name.
    settled: when all files were last compared by checksum, in ns.
    torn: whether some bytes are no whole frame.
    """

    def __init__(self, data: bytes):
        self.data = data
        self.docs: list[Doc] = []
        self.pushable: list[bool] = []
        self.gone: set[int] = set()
        self._found: dict[str, list[tuple[int, int]]] = {}
        self._starts: list[int] = []
        self._live: list[int] = []
        self.names: dict[str, int] = {}
        self.folders: dict[str, int] = {}
        self.learnings = self.tokens = self.records = self.frames = self.settled = 0
        self.torn = False
        self._parse()

    def _parse(self) -> None:
        data, at, last = self.data, 0, {}
        while at < len(data):
            end = _find_frame_end(data, at)
            if not end:
                self.torn = True
                at = _find_next_frame(data, at + 1)
                continue
            start, mark = at + _FRAME.size, data[at]
            at = end
            if mark == FOLDER_MARK:
                folder = data[start + _STAMP.size : at].decode("utf-8", "surrogateescape")
                self.folders[folder] = _STAMP.unpack_from(data, start)[0]
                continue
            base = _BASE.unpack_from(data, start)
            start += _BASE.size
            end = start + base[4]
            last[data[start:end]] = (base, end)
            self.frames += 1
        for name, (base, start) in last.items():
            self._apply(name.decode("utf-8", "surrogateescape"), base, start)
        self.settled = self.folders.pop("", 0)
        self._live = sorted(range(len(self._starts)), key=self._starts.__getitem__)
        self._starts.sort()

    def _apply(self, name: str, base: tuple[int, ...], at: int) -> None:
        """Add a record's documents in place of those in the segment."""
        first, count, learning, tokens, _, docs = base
        if count:
            self.gone.update(range(first, first + count))
            self.records -= 1
            self.learnings -= learning
            self.tokens -= tokens if learning else 0
        self.names[name] = len(self.docs) if docs else -1
        for ordinal in range(docs):
            length, head = _DOC.unpack_from(self.data, at)
            at += _DOC.size
            block = self.data[at : at + head]
            doc = segment.unpack_document(
                block,
                lambda _, size, block=block: block[segment.ROW.size :],  # type: ignore[misc]
            )
            self.docs.append(doc)
            state = doc.flags & (segment.SECRET | segment.ACCEPTED)
            is_pushable = state == segment.ACCEPTED and doc.kind == "learning"
            self.pushable.append(is_pushable)
            if ordinal == 0:
                self.records += 1
                self.learnings += is_pushable
                self.tokens += doc.tokens if is_pushable else 0
            self._starts.append(at + head)
            at += length

    def search(self, term: str) -> list[tuple[int, int]]:
        """Return (position in `docs`, impact) of each live document with a term.

        Remembered: idf and score both ask.
        """
        if term not in self._found:
            self._found[term] = self._search(term) if self.docs else []
        return self._found[term]

    def _search(self, term: str) -> list[tuple[int, int]]:
        data, found = self.data, []
        pattern = ("\n" + term + "\t").encode("utf-8", "replace")
        at = data.find(pattern)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            if number >= 0 and at < self._find_end(number):
                value = at + len(pattern)
                found.append((self._live[number], int(data[value : value + 2], 16)))
            at = data.find(pattern, at + 1)
        return found

    def vocabulary(self, start: str) -> list[str]:
        """Return the terms that begin with `start`, perhaps of replaced documents too."""
        import re

        pattern = rb"\n(" + re.escape(start.encode("utf-8")) + rb"[^\n\t]{0,80})(?=\t)"
        return sorted({term.decode("utf-8", "replace") for term in re.findall(pattern, self.data)})

    def _find_end(self, number: int) -> int:
        """Return the end of a live document's terms."""
        start = self._starts[number]
        stop = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.data)
        ident = "\n\x01" + self.docs[self._live[number]].id + "\t01\n"
        end = self.data.find(ident.encode("utf-8", "replace"), start, stop)
        return end + 1 if end >= 0 else start
