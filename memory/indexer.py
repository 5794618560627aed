"""Writing the index: build, refresh, verify, status; one writer at a time, and never one that waits.

Lists in the segment, as JSON, so that the blocking path need not scan rows:

    watch  folders [[name, mtime in ns]]: the tiers' roots, the kinds' folders that exist, the FOLDERS_WATCHED others changed
           last; files [[name, mtime in ns, size]]: every file up to ALL_WATCHED records, else the HOT ones edited last;
           rules: document numbers
    brief  learnings, checkpoints, plans: document numbers, newest first; topics [[name, learnings, records]]

A build writes a new segment beside the old and moves it into place; the delta log is named after the generation (a digest
of the content), so what is appended to the old log meanwhile is found again by the freshness layers.  Merging is building
anew from the files: they are the truth, and a merge that is a build cannot differ from one (0.5 s of CPU at 10,000 records,
off the user's path).
"""

from __future__ import annotations

import sys
from array import array
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple
from zlib import crc32

from memory import delta, entry, files, index, jsonio, records, segment, text
from memory.errors import IndexFault
from memory.paths import Place
from memory.postings import Inverter, Loop, Vectorised
from memory.walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.walk import Found

VECTORISED_FROM = 2000  # files; below, importing NumPy costs more than it saves (5-8 bare starts)
ALL_WATCHED, HOT, FOLDERS_WATCHED = 256, 64, 64
MERGE_AT = 256  # frames of the delta, or a twentieth of the records where that is fewer (but 16)
RACY = 2 * 10**9  # ns: an mtime this close to the build proves nothing (git calls it racy); the checksum decides
Progress = Optional[Callable[[int, int], None]]


class Summary(NamedTuple):
    """What a build or refresh did."""

    records: int
    added: int
    changed: int
    removed: int
    built: bool
    busy: bool
    skipped: Tuple[str, ...]


class Row(NamedTuple):
    """One document on its way into a segment."""

    pushable: bool
    key: bytes
    doc: segment.Doc
    text_number: int


def build(place: Place, now: float, progress: Progress = None) -> Summary:
    """Build the index of a place from its files, and put it in the old one's place.

    now: the time stamp to write.  progress(done, of): called now and then.  `busy` is true where another process builds.
    Raises OSError where nothing can be written.
    """
    with files.Lock(place.cache + "/" + place.scope + ".lock") as held:
        if not held:
            return Summary(0, 0, 0, 0, False, True, ())
        return _build(place, now, progress)


def _build(place: Place, now: float, progress: Progress = None) -> Summary:
    files.collect_temps(place.cache, now)
    data, count, skipped = assemble(place, now, progress)
    path = index.segment_path(place)
    before = _generation(path)
    files.replace(path, data)
    generation = segment.HEADER.unpack_from(data)[1].decode("ascii")
    for old in {before, generation} - {""}:
        files.remove(index.delta_path(place, old))
    return Summary(count, count, 0, 0, True, False, skipped)


def _generation(path: str) -> str:
    try:
        head = files.read(path, 16)
    except OSError:
        return ""
    return head[8:16].decode("ascii", "replace") if head[:8] == segment.MAGIC else ""


def assemble(place: Place, now: float, progress: Progress = None,
             vectorised: Optional[bool] = None) -> Tuple[bytes, int, Tuple[str, ...]]:
    """Return (a segment's bytes, number of records, names of files that could not be read) for the files as they are.

    vectorised: force one of the two inverters; both give the same bytes.
    """
    import gc

    found, folders = walk(place)
    inverter: Inverter = _inverter(len(found), vectorised)
    enabled = gc.isenabled()
    gc.disable()  # a million small tuples, none in a cycle: collecting costs a fifth of the build
    try:
        rows, skipped = _read_all(found, inverter, progress)
        return _write(place, now, rows, found, folders, inverter), len(found) - len(skipped), tuple(skipped)
    finally:
        if enabled:
            gc.enable()


def _inverter(count: int, vectorised: Optional[bool]) -> Inverter:
    if vectorised is None:
        vectorised = count >= VECTORISED_FROM
    if vectorised:
        try:
            return Vectorised()
        except ImportError:
            pass
    return Loop()


def _read_all(found: Sequence[Found], inverter: Inverter, progress: Progress) -> Tuple[List[Row], List[str]]:
    rows: List[Row] = []
    skipped: List[str] = []
    number = 0
    for i, (name, path, mtime_ns, size) in enumerate(found):
        if progress and i % 500 == 0:
            progress(i, len(found))
        try:
            data = _slurp(path, size)
        except OSError:
            skipped.append(name)
            continue
        record = records.from_bytes(name, data, mtime_ns / 1e9, full=False)
        pushable = entry.is_pushable(record)
        key = name.encode("utf-8", "surrogateescape")
        for doc, content in entry.documents(record, mtime_ns, size):
            inverter.add(content)
            rows.append(Row(pushable, key, doc, number))
            number += 1
    return rows, skipped


def _slurp(path: str, size: int) -> bytes:
    """Read a file of a known size (at most 1 MiB of it): open, read, close and nothing else, 16 us."""
    fd = files.posix.open(path, files._READ)
    try:
        want = min(size, (1 << 20) - 1) + 1
        data = files.posix.read(fd, want)
        return data if len(data) != want or want > 1 << 20 - 1 else data + files.read_fd(fd, (1 << 20) - want)
    finally:
        files.posix.close(fd)


def _write(place: Place, now: float, rows: List[Row], found: Sequence[Found], folders: Sequence[Tuple[str, int]],
           inverter: Inverter) -> bytes:
    """Lay out a segment (format: segment.py)."""
    lengths = inverter.lengths
    if hasattr(inverter, "_flush"):
        inverter._flush()
        lengths = inverter.lengths
    rows.sort(key=lambda row: (not row.pushable, row.key, row.doc.ordinal))
    order = array("I", bytes(4 * len(rows)))
    for number, row in enumerate(rows):
        order[row.text_number] = number
    pushable = sum(1 for row in rows if row.pushable)
    mean = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
    topics = _topic_table(rows)
    strings, table = _row_table(rows)
    directory, buckets, postings, terms = _directory(rows, inverter.lists(order, pushable, mean))
    watch = jsonio.dump({**_watch(found, folders), "rules": _newest(rows, "rule", 256)}).encode("ascii")
    brief = jsonio.dump(_brief(rows, topics)).encode("ascii")
    lists = segment._PAIR.pack(len(watch), len(brief)) + watch + brief
    parts: List[bytes | bytearray] = [buckets, directory, postings, table, strings, lists]
    at, offset = [], segment.HEADER_SIZE
    for part in parts:
        at.append(offset)
        offset += len(part)
    firsts = [row for row in rows if row.doc.ordinal == 0]
    learnings = [row.doc.tokens for row in firsts if row.pushable]
    check = files.sha256(*parts)
    fields = [segment.MAGIC, check[:8].encode("ascii"), place.scope.encode("ascii"), text.VERSION, len(rows), pushable,
              terms, len(buckets) // 4 - 1, len(firsts), len(learnings), sum(learnings),
              sum(row.doc.tokens for row in firsts), mean, now, 0, *at]
    head = segment.HEADER.pack(*fields).ljust(segment.HEADER_SIZE, b"\0")
    fields[14] = segment.header_check(head)
    return b"".join((segment.HEADER.pack(*fields).ljust(segment.HEADER_SIZE, b"\0"), *parts))


def _directory(rows: Sequence[Row], lists: Iterator[Tuple[bytes, bytes, int, int, int]]
               ) -> Tuple[bytes, bytes, bytearray, int]:
    """Return (directory, bucket offsets, postings, number of terms)."""
    terms: List[bytes] = []
    entries, postings = bytearray(), bytearray()
    pack, width = segment.ENTRY.pack, segment.ENTRY.size
    for term, data, df, push, most in _with_ids(rows, lists):
        terms.append(term)
        entries += pack(len(postings) & 0xFFFFFFFF, len(postings) >> 32, df, push, most)
        postings += data
    count = 1
    while count * 8 < len(terms):
        count *= 2
    buckets: List[List[int]] = [[] for _ in range(count)]
    for number, term in enumerate(terms):
        buckets[crc32(term) & (count - 1)].append(number)
    offsets, directory = array("I", [0]), bytearray()
    for bucket in buckets:
        if bucket:
            directory += len(bucket).to_bytes(2, "little")
            for number in bucket:
                directory += b"\n" + terms[number]
            directory += b"\n"
            for number in bucket:
                directory += entries[width * number:width * (number + 1)]
        offsets.append(len(directory))
    return bytes(directory), _little(offsets), postings, len(terms)


def _with_ids(rows: Sequence[Row], lists: Iterator[Tuple[bytes, bytes, int, int, int]]
              ) -> Iterator[Tuple[bytes, bytes, int, int, int]]:
    """Put the ids' terms before the words': 0x01 sorts below every character a term can hold."""
    ids: Dict[bytes, List[int]] = {}
    for number, row in enumerate(rows):
        if row.doc.ordinal == 0:
            ids.setdefault(row.doc.id.encode("utf-8", "replace").replace(b"\n", b" "), []).append(number)
    for id_ in sorted(ids):
        numbers = ids[id_]
        push = sum(1 for n in numbers if rows[n].pushable)
        if len(numbers) > segment.CHAMPIONS:
            numbers = numbers[:segment.CHAMPIONS]
        yield b"\x01" + id_, _little(array("I", numbers)) + b"\x01" * len(numbers), len(numbers), push, 1
    yield from lists


def _little(numbers: Any) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    data: bytes = numbers.tobytes()
    return data


def _row_table(rows: Sequence[Row]) -> Tuple[bytes, bytes]:
    strings, table, offset = [], [], 0
    for row in rows:
        packed, words = segment.pack(row.doc, offset)
        table.append(packed)
        strings.append(words)
        offset += len(words)
    return b"".join(strings), b"".join(table)


def _topic_table(rows: Sequence[Row]) -> List[Tuple[str, int, int]]:
    """Return (topic, learnings a prompt may get, records), most learnings first: at most 2,000."""
    counts: Dict[str, List[int]] = {}
    for row in rows:
        if row.doc.ordinal == 0:
            for topic in row.doc.topics:
                both = counts.setdefault(topic, [0, 0])
                both[0] += row.pushable
                both[1] += 1
    table = sorted(((name, a, b) for name, (a, b) in counts.items()), key=lambda t: (-t[1], -t[2], t[0]))
    return table[:2000]


def _watch(found: Sequence[Found], folders: Sequence[Tuple[str, int]]) -> Dict[str, Any]:
    own = [f for f in folders if f[0].count("/") < 2 and (f[1] or "/" not in f[0])]
    others = sorted((f for f in folders if f[0].count("/") > 1), key=lambda f: (-f[1], f[0]))[:FOLDERS_WATCHED]
    hot = sorted(found, key=lambda f: (-f[2], f[0]))[:HOT] if len(found) > ALL_WATCHED else found
    return {"folders": [list(f) for f in own + others], "files": [[f[0], f[2], f[3]] for f in hot]}


def _brief(rows: Sequence[Row], topics: Sequence[Tuple[str, int, int]]) -> Dict[str, Any]:
    return {"learnings": _newest(rows, "learning", 64, segment.ACCEPTED), "checkpoints": _newest(rows, "checkpoint", 16),
            "plans": _newest(rows, "plan", 4, segment.ACTIVE), "topics": [list(t) for t in topics]}


def _newest(rows: Sequence[Row], kind: str, most: int, flag: int = 0) -> List[int]:
    number = segment.KINDS.index(kind)
    chosen = [(-row.doc.created, row.key, n) for n, row in enumerate(rows)
              if row.doc.flags & 7 == number and row.doc.ordinal == 0 and row.doc.flags & flag == flag]
    return [n for _, _, n in sorted(chosen)[:most]]


def refresh(place: Place, now: float, names: Optional[Sequence[str]] = None) -> Summary:
    """Bring the index up to date with the files.

    names: records that are known to have changed: one appended frame each, the same cost at 100 as at 100,000 records.
    Without names every file is compared with the index.  Builds where there is none, or the delta has grown.
    """
    if names is not None:
        return _append(place, now, names)
    with files.Lock(place.cache + "/" + place.scope + ".lock") as held:
        if not held:
            return Summary(0, 0, 0, 0, False, True, ())
        try:
            found = index.open_index(place, watch=False)
        except IndexFault:
            set_aside(place)
            return _build(place, now)
        try:
            return _refresh_all(found, now)
        finally:
            found.close()


def _append(place: Place, now: float, names: Sequence[str]) -> Summary:
    try:
        base = segment.Segment(index.segment_path(place))
    except IndexFault:
        return build(place, now)
    try:
        found = index.Index(place, base, delta.Delta(b""))
        frames = [index.frame(found, name, entry, records) for name in names]
        files.append(index.delta_path(place, base.generation), b"".join(frames))
        return Summary(base.records, 0, len(names), 0, False, False, ())
    finally:
        base.close()


class Comparison(NamedTuple):
    """How the files of a place differ from its index: all that were found, and the names that came, changed and went."""

    found: List[Found]
    folders: List[Tuple[str, int]]
    added: List[str]
    changed: List[str]
    removed: List[str]

    @property
    def names(self) -> List[str]:
        return self.added + self.changed + self.removed


def compare(found: index.Index) -> Comparison:
    """Compare every file of a place with its index: 5 us a file, and a checksum where the time of change proves nothing."""
    listed, folders = walk(found.place)
    known = manifest(found)
    racy = int(found.segment.built * 1e9) - RACY if found.segment else 0
    added, changed = [], []
    for name, path, mtime_ns, size in listed:
        before = known.pop(name, None)
        if before is None:
            added.append(name)
        elif before[:2] != (mtime_ns, size) or (mtime_ns > racy and _differs(path, size, before[2])):
            changed.append(name)
    return Comparison(listed, folders, added, changed, sorted(known))


def _refresh_all(found: index.Index, now: float) -> Summary:
    place, base = found.place, found.segment
    assert base is not None
    seen = compare(found)
    counts = (len(seen.added), len(seen.changed), len(seen.removed))
    if found.delta.frames + len(seen.names) > min(MERGE_AT, max(16, base.records // 20)):
        return _build(place, now)._replace(added=counts[0], changed=counts[1], removed=counts[2])
    frames = [index.frame(found, name, entry, records) for name in seen.names]
    frames += [delta.stamp(name, mtime) for name, mtime in seen.folders if _unstamped(found, name, mtime)]
    if frames:
        files.append(index.delta_path(place, base.generation), b"".join(frames))
    return Summary(len(seen.found), *counts, False, False, ())


def _unstamped(found: index.Index, name: str, mtime_ns: int) -> bool:
    assert found.segment is not None
    watched: Dict[str, int] = dict(found.lists("watch").get("folders", []))
    return found.delta.folders.get(name, watched.get(name, -1)) != mtime_ns


def manifest(found: index.Index) -> Dict[str, Tuple[int, int, bytes]]:
    """Return name -> (mtime in ns, size, first 8 bytes of the checksum) of every record in the index."""
    known: Dict[str, Tuple[int, int, bytes]] = {}
    base = found.segment
    if base is not None:
        strings = base.strings()
        for number, row in enumerate(segment.ROW.iter_unpack(base.rows())):
            if number not in found.delta.gone:
                known[strings[row[0]:row[0] + row[1]].decode("utf-8", "surrogateescape")] = (row[8], row[7], row[9])
    for doc in found.delta.docs:
        known[doc.name] = (doc.mtime_ns, doc.size, doc.checksum)
    return known


def _differs(path: str, size: int, checksum: bytes) -> bool:
    try:
        now: str = files.sha256(_slurp(path, size))
        return now[:16] != checksum.hex()
    except OSError:
        return True


def set_aside(place: Place) -> None:
    """Move a damaged segment out of the way, so that it can be looked at and a new one is built."""
    path = index.segment_path(place)
    try:
        files.posix.replace(path, path + ".damaged")
    except OSError:
        return


def freshen(event: Dict[str, Any], env: Dict[str, str], now: float) -> None:
    """Compare every file with the index, detached, after a hook has answered."""
    from memory import hookio, paths

    place = paths.locate(env, hookio.project_dir(event, env))
    files.replace(index.scan_path(place), b"")
    if event.get(index.DAMAGED):
        set_aside(place)
    refresh(place, now)


def verify(place: Place, now: float) -> List[str]:
    """Rebuild aside and compare: [] where the index is what its files give, else one line for each difference."""
    found = index.open_index(place, watch=False)
    try:
        data, _, _ = assemble(place, now)
        if not found.delta.frames:
            with_stamp = files.read(index.segment_path(place), 1 << 40)
            mask = segment.BUILT_AT
            same = (data[:mask] + data[mask + 8:]) == (with_stamp[:mask] + with_stamp[mask + 8:])
            if same:
                return []
        fresh = index.Index(place, segment.Segment("", data), delta.Delta(b""))
        mine, theirs = manifest(found), manifest(fresh)
        lines = ["not in the index: " + n for n in sorted(theirs.keys() - mine.keys())]
        lines += ["in the index, but no file: " + n for n in sorted(mine.keys() - theirs.keys())]
        lines += ["changed since it was indexed: " + n for n in sorted(mine) if n in theirs and mine[n][2] != theirs[n][2]]
        if not lines and not found.delta.frames:
            lines.append("the segment's bytes differ from a rebuild; `dayleaf index build` replaces it")
        return lines
    finally:
        found.close()
