"""An open file of vectors with its log (format: rows.py)."""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_right
from zlib import crc32

from memory import files, jsonio, rows
from memory.rows import Stored, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Iterator, Optional, Set, Tuple

    from memory.paths import Place


class Sidecar:
    """An open file of vectors with its log.

    generation, rows, records, dims, built: as the header has them.  meta: key, label, command.  log: what the frames say of a
    name, None for one that is gone.  replaced: numbers of the records whose rows in the file no longer count.  frames: how many
    were read; torn: whether some bytes of the log are no whole frame.
    Raises IndexFault for a file that is absent, foreign or damaged; the vectors' own bytes are checked as they are read.
    """

    __slots__ = ("_ends", "_map", "_names", "_parts", "_sums", "built", "dims", "frames", "generation", "log", "meta", "path",
                 "records", "replaced", "rows", "torn")

    def __init__(self, place: Place):
        self.path = rows.path_of(place)
        self._open()
        try:
            self._read_header()
            self.log: Dict[str, Optional[Stored]] = {}
            self.frames, self.torn = 0, False
            self.replaced: Set[int] = set()
            self._read_log(rows.log_path(place, self.generation))
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
        if len(data) < rows.HEADER.size or data[:8] != rows.MAGIC:
            raise fault(self.path, "no vectors of this version")
        (_, generation, self.rows, self.records, self.dims, self.built, meta, names,
         *self._sums, check) = rows.HEADER.unpack_from(data)
        self._parts, length = rows.layout(self.rows, self.records, self.dims, meta, names)
        if crc32(data[:rows.HEADER.size - 4]) != check or length != len(data) or not self._is_sound(0, 8, 0):
            raise fault(self.path, "damaged")
        self.generation = generation.decode("ascii")
        self.meta: Dict[str, str] = jsonio.parse(self._part(0))
        self._ends = array("I", self._part(1))
        self._names = self._part(3)

    def _is_sound(self, first: int, after: int, number: int) -> bool:
        """Tell whether the bytes of the parts from `first` to before `after` have their checksum."""
        end = self._parts[after][0] if after < len(self._parts) else len(self._map)
        with memoryview(self._map) as view, view[self._parts[first][0]:end] as piece:
            return bool(crc32(piece) == self._sums[number])

    def _part(self, number: int) -> bytes:
        at, size = self._parts[number]
        return self._map[at:at + size]

    def _read_log(self, path: str) -> None:
        try:
            data = files.read(path, 1 << 34)
        except FileNotFoundError:
            return
        except OSError as error:
            raise fault(path, error.strerror or "not readable") from None
        for start, end in rows.frames(data):
            if start < 0:
                self.torn = True
                continue
            number, mtime_ns, size, checksum, length, count = rows.RECORD.unpack_from(data, start)
            at = start + rows.RECORD.size + length
            if end - at != count * (rows.ROW.size + self.dims):
                raise fault(path, "a frame of other dimensions")
            name = data[at - length:at].decode("utf-8", "surrogateescape")
            self.frames += 1
            if number < self.records:
                self.replaced.add(number)
            self.log[name] = self._logged(data, at, mtime_ns, size, checksum, count) if count else None

    def _logged(self, data: bytes, at: int, mtime_ns: int, size: int, checksum: bytes, count: int) -> Stored:
        found = Stored(mtime_ns, size, checksum, [], [], [], b"")
        numbers = []
        for start in range(at, at + count * (rows.ROW.size + self.dims), rows.ROW.size + self.dims):
            ordinal, digest, scale = rows.ROW.unpack_from(data, start)
            found.ordinals.append(ordinal)
            found.digests.append(digest)
            found.scales.append(scale)
            numbers.append(data[start + rows.ROW.size:start + rows.ROW.size + self.dims])
        found.numbers = b"".join(numbers)
        return found

    def close(self) -> None:
        """Let the file go; arrays that still point into it keep it mapped."""
        try:
            self._map.close()
        except BufferError:
            return

    def file(self, number: int) -> Tuple[int, int, bytes, int]:
        """Return (mtime in ns, size, 8 bytes of the checksum, end of its name) of a record of the file."""
        return rows.FILE.unpack_from(self._map, self._parts[2][0] + number * rows.FILE.size)

    def _name(self, number: int) -> bytes:
        start = self.file(number - 1)[3] if number else 0
        return self._names[start:self.file(number)[3]]

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
        """Return (first row, row after the last) of a record of the file."""
        return (self._ends[number - 1] if number else 0), self._ends[number]

    def stored(self, number: int) -> Stored:
        """Return the vectors of a record of the file."""
        mtime_ns, size, checksum, _ = self.file(number)
        first, after = self.span(number)
        ordinals, scales = array("H", self._rows(4, first, after, 2)), array("f", self._rows(6, first, after, 4))
        digests = self._rows(5, first, after, 16)
        return Stored(mtime_ns, size, checksum, ordinals.tolist(), [digests[i:i + 16] for i in range(0, len(digests), 16)],
                      scales.tolist(), self._rows(9, first, after, self.dims))

    def _rows(self, part: int, first: int, after: int, size: int) -> bytes:
        at = self._parts[part][0]
        return self._map[at + first * size:at + after * size]

    def each(self) -> Iterator[Tuple[str, Stored]]:
        """Give (name, vectors) of every record as it is now, in the order of the names' bytes."""
        def key(name: str) -> bytes:
            return name.encode("utf-8", "surrogateescape")

        added = sorted((name for name, stored in self.log.items() if stored is not None), key=key, reverse=True)
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
        """Return the int8 numbers, rows x dims, as they lie in the file."""
        return self._array(9, "i1", (self.rows, self.dims))

    def scales(self) -> Any:
        """Return the float32 scale of each row."""
        return self._array(6, "<f4", (self.rows,))

    def codes(self) -> Any:
        """Return the codes as uint64, rows x words of a row; raises IndexFault where they are damaged."""
        if not self._is_sound(8, 9, 1):
            raise fault(self.path, "damaged codes")
        return self._array(8, "<u8", (self.rows, rows.stride(self.dims) // 8))

    def locate(self, row: int) -> Tuple[str, int]:
        """Return (name, ordinal) of a row."""
        at = self._parts[4][0] + 2 * row
        return self.name(bisect_right(self._ends, row)), int.from_bytes(self._map[at:at + 2], "little")

    def is_intact(self) -> bool:
        """Tell whether all bytes of the file are those that were written."""
        return self._is_sound(8, 9, 1) and self._is_sound(9, 10, 2)

    def damaged(self, numbers: Iterable[int]) -> Iterator[int]:
        """Give those of some rows whose code or vector is not what was written."""
        wide, dims, data = rows.stride(self.dims), self.dims, self._map
        signs, vectors, checks = self._parts[8][0], self._parts[9][0], array("I", self._part(7))
        for row in numbers:
            at, to = signs + row * wide, vectors + row * dims
            if crc32(data[to:to + dims], crc32(data[at:at + wide])) != checks[row]:
                yield row
