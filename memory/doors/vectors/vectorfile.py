"""Vectors on disk: a file of rows beside the index, and a log of what changed since.  Both are
derived: delete them at will.

Format: docs/formats.md.
"""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_right
from struct import Struct
from zlib import crc32

from memory.core import IndexFault, fastjson, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple

    from memory.core.layout import Place

MAGIC = b"DLVEC\0\0\1"
HEADER = Struct("<8s8sIIIdIIIIII")
FILE = Struct("<qI8sI")
FRAME = Struct("<BII")
RECORD = Struct("<IqI8sHH")
ROW = Struct("<H16sf")
MARK, ALIGN, ABSENT = 0x1E, 64, 0xFFFFFFFF
MOST_ROWS = 0xFFFF  # of one record


class Stored:
    """The vectors of one record.

    mtime_ns, size, checksum (8 bytes): of the file they were made from. ordinals, digests, scales:
    one of each per row. numbers: int8, rows x dims.
    """

    __slots__ = ("checksum", "digests", "mtime_ns", "numbers", "ordinals", "scales", "size")

    def __init__(
        self,
        mtime_ns: int,
        size: int,
        checksum: bytes,
        ordinals: List[int],
        digests: List[bytes],
        scales: List[float],
        numbers: bytes,
    ):
        self.mtime_ns, self.size, self.checksum = mtime_ns, size, checksum
        self.ordinals, self.digests, self.scales, self.numbers = ordinals, digests, scales, numbers


def path_of(place: Place) -> str:
    """Return the path of a place's vectors.

    It names the scope: worktrees share a workspace but not their shared tier.
    """
    return place.cache + "/" + place.scope + ".vec"


def log_path(place: Place, generation: str) -> str:
    """Return the path of a generation's log."""
    return place.cache + "/" + place.scope + "-" + generation + ".veclog"


def fault(path: str, why: str) -> IndexFault:
    """Return the error for an unusable file."""
    return IndexFault("%s: %s; `dayleaf index build --embeddings` makes it again" % (path, why))


def stride(dims: int) -> int:
    """Return the bytes of one row's code."""
    return (dims + 63) // 64 * 8


def layout(
    rows: int, records: int, dims: int, meta: int, names: int
) -> Tuple[List[Tuple[int, int]], int]:
    """Return (start, length) of every part, and the file's length.

    In the order of the format.
    """
    at, parts = HEADER.size + -HEADER.size % ALIGN, []
    for length in (
        meta,
        records * 4,
        records * FILE.size,
        names,
        rows * 2,
        rows * 16,
        rows * 4,
        rows * 4,
        rows * stride(dims),
        rows * dims,
    ):
        parts.append((at, length))
        at += length + -length % ALIGN
    return parts, at


def quantise(vectors: Any) -> Tuple[List[float], List[bytes]]:
    """Return the scale and the int8 numbers of each matrix row.

    vectors: float32.
    """
    import numpy as np

    scales = np.abs(vectors).max(1) / np.float32(127.0)
    numbers = np.rint(vectors / scales[:, None]).astype(np.int8)
    return scales.tolist(), [row.tobytes() for row in numbers]


def codes_of(numbers: Any, dims: int) -> Any:
    """Return the codes of a matrix of int8: uint8, rows x stride."""
    import numpy as np

    codes = np.zeros((len(numbers), stride(dims)), np.uint8)
    codes[:, : (dims + 7) // 8] = np.packbits(numbers > 0, axis=1)
    return codes


def encode(
    meta: Dict[str, str], dims: int, now: float, stored: Iterable[Tuple[str, Stored]]
) -> bytes:
    """Return the bytes of a file of vectors.

    meta: key, label, command. now: the time to write. stored: (name, rows) in the order of the
        names' bytes.
    """
    import numpy as np

    ends, tables, names, ordinals, scales = (
        array("I"),
        bytearray(),
        bytearray(),
        array("H"),
        array("f"),
    )
    digests, numbers = bytearray(), bytearray()
    for name, rows in stored:
        names += name.encode("utf-8", "surrogateescape")
        ordinals.extend(rows.ordinals)
        scales.extend(rows.scales)
        digests += b"".join(rows.digests)
        numbers += rows.numbers
        ends.append(len(ordinals))
        tables += FILE.pack(rows.mtime_ns, rows.size, rows.checksum, len(names))
    count = len(ordinals)
    codes = codes_of(np.frombuffer(numbers, np.int8).reshape(count, dims), dims).tobytes()
    wide, view, signs = stride(dims), memoryview(numbers), memoryview(codes)
    checks = array(
        "I",
        [
            crc32(view[i * dims : i * dims + dims], crc32(signs[i * wide : i * wide + wide]))
            for i in range(count)
        ],
    )
    head = fastjson.dump(meta).encode("ascii")
    parts, length = layout(count, len(ends), dims, len(head), len(names))
    data = bytearray(length)
    blobs = (head, ends, tables, names, ordinals, digests, scales, checks, codes, numbers)
    for (at, size), blob in zip(parts, blobs):
        data[at : at + size] = bytes(blob)
    view = memoryview(data)
    sums = (
        crc32(view[parts[0][0] : parts[8][0]]),
        crc32(view[parts[8][0] : parts[9][0]]),
        crc32(view[parts[9][0] :]),
    )
    stamp = b"%08x" % crc32(repr((sums, now)).encode())
    start = HEADER.pack(MAGIC, stamp, count, len(ends), dims, now, len(head), len(names), *sums, 0)[
        :-4
    ]
    data[: HEADER.size] = start + crc32(start).to_bytes(4, "little")
    return bytes(data)


def frame(name: str, rows: Optional[Stored], base: int) -> bytes:
    """Return the log's frame for a record's present state.

    rows: None where its file is gone. base: its number in the file, or -1.
    """
    number = base if base >= 0 else ABSENT
    encoded = name.encode("utf-8", "surrogateescape")
    if rows is None:
        payload = RECORD.pack(number, 0, 0, b"", len(encoded), 0) + encoded
    else:
        count = len(rows.ordinals)
        dims = len(rows.numbers) // count if count else 0
        parts = [
            RECORD.pack(number, rows.mtime_ns, rows.size, rows.checksum, len(encoded), count),
            encoded,
        ]
        for i in range(count):
            parts += [
                ROW.pack(rows.ordinals[i], rows.digests[i], rows.scales[i]),
                rows.numbers[i * dims : i * dims + dims],
            ]
        payload = b"".join(parts)
    return FRAME.pack(MARK, len(payload), crc32(payload)) + payload


def _end_of_frame(data: bytes, at: int) -> int:
    """Return the end of the frame at an offset, 0 for none."""
    if len(data) - at < FRAME.size or data[at] != MARK:
        return 0
    _, length, check = FRAME.unpack_from(data, at)
    start = at + FRAME.size
    whole = RECORD.size <= length <= len(data) - start
    return (
        start + length if whole and crc32(memoryview(data)[start : start + length]) == check else 0
    )


def frames(data: bytes) -> Iterator[Tuple[int, int]]:
    """Yield (start of the payload, end) of each whole frame.

    (-1, -1) stands for bytes between that are no frame.
    """
    at = 0
    while at < len(data):
        end = _end_of_frame(data, at)
        if end:
            yield at + FRAME.size, end
            at = end
            continue
        yield -1, -1
        at = data.find(MARK, at + 1)
        while at >= 0 and not _end_of_frame(data, at):
            at = data.find(MARK, at + 1)
        if at < 0:
            return


class Sidecar:
    """An open file of vectors with its log.

    generation, rows, records, dims, built: from the header. meta: key, label, command. log: name ->
    its frame's vectors, None for a deleted record. replaced: numbers of the records whose rows in
    the file no longer count. frames: how many were read; torn: whether some bytes of the log are no
    whole frame. Raises IndexFault for a file that is absent, foreign or damaged; the vectors' own
    bytes are checked as they are read.
    """

    __slots__ = (
        "_ends",
        "_map",
        "_names",
        "_parts",
        "_sums",
        "built",
        "dims",
        "frames",
        "generation",
        "log",
        "meta",
        "path",
        "records",
        "replaced",
        "rows",
        "torn",
    )

    def __init__(self, place: Place):
        self.path = path_of(place)
        self._open()
        try:
            self._read_header()
            self.log: Dict[str, Optional[Stored]] = {}
            self.frames, self.torn = 0, False
            self.replaced: Set[int] = set()
            self._read_log(log_path(place, self.generation))
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        try:
            fd = files.open_read(self.path)
        except OSError as error:
            raise fault(self.path, error.strerror or "not readable") from None
        try:
            self._map = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            raise fault(self.path, "empty") from None
        finally:
            files.posix.close(fd)

    def _read_header(self) -> None:
        data = self._map
        if len(data) < HEADER.size or data[:8] != MAGIC:
            raise fault(self.path, "no vectors of this version")
        (
            _,
            generation,
            self.rows,
            self.records,
            self.dims,
            self.built,
            meta,
            names,
            *self._sums,
            check,
        ) = HEADER.unpack_from(data)
        self._parts, length = layout(self.rows, self.records, self.dims, meta, names)
        if (
            crc32(data[: HEADER.size - 4]) != check
            or length != len(data)
            or not self._is_sound(0, 8, 0)
        ):
            raise fault(self.path, "damaged")
        self.generation = generation.decode("ascii")
        self.meta: Dict[str, str] = fastjson.parse(self._part(0))
        self._ends = array("I", self._part(1))
        self._names = self._part(3)

    def _is_sound(self, first: int, after: int, number: int) -> bool:
        """Tell whether a range of parts has its checksum."""
        end = self._parts[after][0] if after < len(self._parts) else len(self._map)
        with memoryview(self._map) as view, view[self._parts[first][0] : end] as piece:
            return bool(crc32(piece) == self._sums[number])

    def _part(self, number: int) -> bytes:
        at, size = self._parts[number]
        return self._map[at : at + size]

    def _read_log(self, path: str) -> None:
        try:
            data = files.read(path, 1 << 34)
        except FileNotFoundError:
            return
        except OSError as error:
            raise fault(path, error.strerror or "not readable") from None
        for start, end in frames(data):
            if start < 0:
                self.torn = True
                continue
            number, mtime_ns, size, checksum, length, count = RECORD.unpack_from(data, start)
            at = start + RECORD.size + length
            if end - at != count * (ROW.size + self.dims):
                raise fault(path, "a frame of other dimensions")
            name = data[at - length : at].decode("utf-8", "surrogateescape")
            self.frames += 1
            if number < self.records:
                self.replaced.add(number)
            self.log[name] = (
                self._logged(data, at, mtime_ns, size, checksum, count) if count else None
            )

    def _logged(
        self, data: bytes, at: int, mtime_ns: int, size: int, checksum: bytes, count: int
    ) -> Stored:
        found = Stored(mtime_ns, size, checksum, [], [], [], b"")
        numbers = []
        for start in range(at, at + count * (ROW.size + self.dims), ROW.size + self.dims):
            ordinal, digest, scale = ROW.unpack_from(data, start)
            found.ordinals.append(ordinal)
            found.digests.append(digest)
            found.scales.append(scale)
            numbers.append(data[start + ROW.size : start + ROW.size + self.dims])
        found.numbers = b"".join(numbers)
        return found

    def close(self) -> None:
        """Close the file.

        Arrays that still point into it keep it mapped.
        """
        try:
            self._map.close()
        except BufferError:
            return

    def file(self, number: int) -> Tuple[int, int, bytes, int]:
        """Return the file entry of a record.

        (mtime in ns, size, 8 bytes of the checksum, end of its name).
        """
        return FILE.unpack_from(self._map, self._parts[2][0] + number * FILE.size)

    def _name(self, number: int) -> bytes:
        start = self.file(number - 1)[3] if number else 0
        return self._names[start : self.file(number)[3]]

    def name(self, number: int) -> str:
        """Return the name of a record of the file."""
        return self._name(number).decode("utf-8", "surrogateescape")

    def find(self, name: str) -> int:
        """Return the number of a record of the file, or -1."""
        key, low, high = name.encode("utf-8", "surrogateescape"), 0, self.records
        while low < high:
            middle = (low + high) // 2
            if self._name(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low if low < self.records and self._name(low) == key else -1

    def span(self, number: int) -> Tuple[int, int]:
        """Return a record's first row and the row after its last."""
        return (self._ends[number - 1] if number else 0), self._ends[number]

    def stored(self, number: int) -> Stored:
        """Return the vectors of a record of the file."""
        mtime_ns, size, checksum, _ = self.file(number)
        first, after = self.span(number)
        ordinals, scales = (
            array("H", self._rows(4, first, after, 2)),
            array("f", self._rows(6, first, after, 4)),
        )
        digests = self._rows(5, first, after, 16)
        return Stored(
            mtime_ns,
            size,
            checksum,
            ordinals.tolist(),
            [digests[i : i + 16] for i in range(0, len(digests), 16)],
            scales.tolist(),
            self._rows(9, first, after, self.dims),
        )

    def _rows(self, part: int, first: int, after: int, size: int) -> bytes:
        at = self._parts[part][0]
        return self._map[at + first * size : at + after * size]

    def each(self) -> Iterator[Tuple[str, Stored]]:
        """Yield (name, vectors) of every present record.

        In the order of the names' bytes.
        """

        def key(name: str) -> bytes:
            return name.encode("utf-8", "surrogateescape")

        added = sorted(
            (name for name, stored in self.log.items() if stored is not None), key=key, reverse=True
        )
        for number in range(self.records):
            name = self.name(number)
            while added and key(added[-1]) < key(name):
                yield added[-1], self.log[added.pop()]  # type: ignore[misc]
            if name not in self.log:
                yield name, self.stored(number)
        while added:
            yield added[-1], self.log[added.pop()]  # type: ignore[misc]

    def _array(self, part: int, kind: Any, shape: Tuple[int, ...]) -> Any:
        import numpy as np

        count = 1
        for length in shape:
            count *= length
        return np.frombuffer(self._map, kind, count, self._parts[part][0]).reshape(shape)

    def numbers(self) -> Any:
        """Return the int8 numbers, rows x dims."""
        return self._array(9, "i1", (self.rows, self.dims))

    def scales(self) -> Any:
        """Return the float32 scale of each row."""
        return self._array(6, "<f4", (self.rows,))

    def codes(self) -> Any:
        """Return the codes as uint64, rows x words of a row.

        Raises IndexFault where they are damaged.
        """
        if not self._is_sound(8, 9, 1):
            raise fault(self.path, "damaged codes")
        return self._array(8, "<u8", (self.rows, stride(self.dims) // 8))

    def locate(self, row: int) -> Tuple[str, int]:
        """Return (name, ordinal) of a row."""
        at = self._parts[4][0] + 2 * row
        return self.name(bisect_right(self._ends, row)), int.from_bytes(
            self._map[at : at + 2], "little"
        )

    def is_intact(self) -> bool:
        """Tell whether the vectors and codes have their checksums."""
        return self._is_sound(8, 9, 1) and self._is_sound(9, 10, 2)

    def damaged(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yield the rows whose code or vector has another checksum."""
        wide, dims, data = stride(self.dims), self.dims, self._map
        signs, vectors, checks = self._parts[8][0], self._parts[9][0], array("I", self._part(7))
        for row in numbers:
            at, to = signs + row * wide, vectors + row * dims
            if crc32(data[to : to + dims], crc32(data[at : at + wide])) != checks[row]:
                yield row
