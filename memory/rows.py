"""Vectors on disk: a file of rows beside the index, and a log of what changed since.  Both are derived: delete them at will.

Format, version 1, little-endian.  `<cache>/<scope>.vec`, every part padded with zeros to 64 bytes:

    header    HEADER: magic with the version, generation (8 hex digits of the content), rows, records, dims, time of writing,
              lengths of meta and names, crc32 of the tables, of the codes, of the vectors, of the header up to here
    tables    meta     JSON {"key", "label", "command"}: workspace, name of the model, digest of the command
              ends     u32 per record: first row after its last; records stand in the order of their names' bytes
              files    FILE per record: mtime in ns, size, first 8 bytes of the checksum, end of its name in `names`
              names    all names, UTF-8
              ordinals u16 per row: number of the section in its record (entry.sections)
              digests  16 bytes per row: of the text that was embedded
              scales   f32 per row: the vector is its int8 numbers times this
              checks   u32 per row: crc32 of the row's code and vector, so that a search checks the rows it reads and no others
    codes     one bit per number, 1 where it is positive, each row padded to 8 bytes
    vectors   int8, rows x dims

`<cache>/<scope>-<generation>.veclog` holds frames; the last of a name counts, and no rows mean that the file is gone:

    frame     0x1e, u32 length and u32 crc32 of the payload, payload
    payload   RECORD: number of the record in the file (ABSENT: none), mtime in ns, size, 8 bytes of the checksum, length of
              the name, number of rows; the name; per row ROW (ordinal, digest, scale) and its int8 numbers
"""

from __future__ import annotations

from array import array
from struct import Struct
from zlib import crc32

from memory import jsonio
from memory.errors import IndexFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

    from memory.paths import Place

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

    mtime_ns, size, checksum (8 bytes): of the file they were made from.  ordinals, digests, scales: one of each per row.
    numbers: int8, rows x dims.
    """

    __slots__ = ("checksum", "digests", "mtime_ns", "numbers", "ordinals", "scales", "size")

    def __init__(self, mtime_ns: int, size: int, checksum: bytes, ordinals: List[int], digests: List[bytes],
                 scales: List[float], numbers: bytes):
        self.mtime_ns, self.size, self.checksum = mtime_ns, size, checksum
        self.ordinals, self.digests, self.scales, self.numbers = ordinals, digests, scales, numbers


def path_of(place: Place) -> str:
    """Return where the vectors of a place are; worktrees share a workspace but not their shared tier, so the scope names it."""
    return place.cache + "/" + place.scope + ".vec"


def log_path(place: Place, generation: str) -> str:
    """Return where the log of a generation is."""
    return place.cache + "/" + place.scope + "-" + generation + ".veclog"


def fault(path: str, why: str) -> IndexFault:
    """Return the error for a file that cannot be used."""
    return IndexFault("%s: %s; `dayleaf index build --embeddings` makes it anew" % (path, why))


def stride(dims: int) -> int:
    """Return the bytes of one row's code."""
    return (dims + 63) // 64 * 8


def layout(rows: int, records: int, dims: int, meta: int, names: int) -> Tuple[List[Tuple[int, int]], int]:
    """Return (start, length) of every part in the order of the format, and the length of the file."""
    at, parts = HEADER.size + -HEADER.size % ALIGN, []
    for length in (meta, records * 4, records * FILE.size, names, rows * 2, rows * 16, rows * 4, rows * 4,
                   rows * stride(dims), rows * dims):
        parts.append((at, length))
        at += length + -length % ALIGN
    return parts, at


def quantise(vectors: Any) -> Tuple[List[float], List[bytes]]:
    """Return the scale and the int8 numbers of each row of a float32 matrix."""
    import numpy as np

    scales = np.abs(vectors).max(1) / np.float32(127.0)
    numbers = np.rint(vectors / scales[:, None]).astype(np.int8)
    return scales.tolist(), [row.tobytes() for row in numbers]


def codes_of(numbers: Any, dims: int) -> Any:
    """Return the codes of a matrix of int8: uint8, rows x stride."""
    import numpy as np

    codes = np.zeros((len(numbers), stride(dims)), np.uint8)
    codes[:, :(dims + 7) // 8] = np.packbits(numbers > 0, axis=1)
    return codes


def encode(meta: Dict[str, str], dims: int, now: float, stored: Iterable[Tuple[str, Stored]]) -> bytes:
    """Lay out a file.

    meta: key, label, command.  now: the time to write.  stored: (name, rows) in the order of the names' bytes.
    """
    import numpy as np

    ends, tables, names, ordinals, scales = array("I"), bytearray(), bytearray(), array("H"), array("f")
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
    checks = array("I", [crc32(view[i * dims:i * dims + dims], crc32(signs[i * wide:i * wide + wide])) for i in range(count)])
    head = jsonio.dump(meta).encode("ascii")
    parts, length = layout(count, len(ends), dims, len(head), len(names))
    data = bytearray(length)
    blobs = (head, ends, tables, names, ordinals, digests, scales, checks, codes, numbers)
    for (at, size), blob in zip(parts, blobs):
        data[at:at + size] = bytes(blob)
    view = memoryview(data)
    sums = (crc32(view[parts[0][0]:parts[8][0]]), crc32(view[parts[8][0]:parts[9][0]]), crc32(view[parts[9][0]:]))
    stamp = b"%08x" % crc32(repr((sums, now)).encode())
    start = HEADER.pack(MAGIC, stamp, count, len(ends), dims, now, len(head), len(names), *sums, 0)[:-4]
    data[:HEADER.size] = start + crc32(start).to_bytes(4, "little")
    return bytes(data)


def frame(name: str, rows: Optional[Stored], base: int) -> bytes:
    """Return the frame that says how a record is now.

    rows: None where its file is gone.  base: its number in the file, or -1.
    """
    number = base if base >= 0 else ABSENT
    encoded = name.encode("utf-8", "surrogateescape")
    if rows is None:
        payload = RECORD.pack(number, 0, 0, b"", len(encoded), 0) + encoded
    else:
        count = len(rows.ordinals)
        dims = len(rows.numbers) // count if count else 0
        parts = [RECORD.pack(number, rows.mtime_ns, rows.size, rows.checksum, len(encoded), count), encoded]
        for i in range(count):
            parts += [ROW.pack(rows.ordinals[i], rows.digests[i], rows.scales[i]), rows.numbers[i * dims:i * dims + dims]]
        payload = b"".join(parts)
    return FRAME.pack(MARK, len(payload), crc32(payload)) + payload


def _end_of_frame(data: bytes, at: int) -> int:
    """Return where the frame that starts at an offset ends; 0 where none does."""
    if len(data) - at < FRAME.size or data[at] != MARK:
        return 0
    _, length, check = FRAME.unpack_from(data, at)
    start = at + FRAME.size
    whole = RECORD.size <= length <= len(data) - start
    return start + length if whole and crc32(memoryview(data)[start:start + length]) == check else 0


def frames(data: bytes) -> Iterator[Tuple[int, int]]:
    """Give (start of the payload, end) of each whole frame; (-1, -1) for bytes between them that are none."""
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
