"""Writing the index: build, refresh, verify, status; one writer at a time, and never one that waits.

A build writes a new segment beside the old and moves it into place; the delta log is named after the generation (a digest
of the content), so what is appended to the old log meanwhile is found again by the freshness layers.  Merging is building
anew from the files: they are the truth, and a merge that is a build cannot differ from one (0.5 s of CPU at 10,000 records,
off the user's path).
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from memory import delta, entry, files, index, records, segment
from memory.assembly import Progress, slurp
from memory.assembly import assemble as assemble
from memory.errors import IndexFault
from memory.paths import Place
from memory.walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.walk import Found

MERGE_AT = 256  # frames of the delta, or a twentieth of the records where that is fewer (but 16)
RACY = 2 * 10**9  # ns: an mtime this close to the build proves nothing (git calls it racy); the checksum decides


class Summary(NamedTuple):
    """What a build or refresh did."""

    records: int
    added: int
    changed: int
    removed: int
    built: bool
    busy: bool
    skipped: Tuple[str, ...]


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
    if found.delta.torn or found.delta.frames + len(seen.names) > min(MERGE_AT, max(16, base.records // 20)):
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
    base, gone = found.segment, found.delta.gone
    if base is not None:
        strings = base.strings()
        for number, (at, size, _, _, _, _, _, length, mtime_ns, checksum, _, ordinal) in enumerate(
                segment.ROW.iter_unpack(base.rows())):
            if not ordinal and number not in gone:
                known[strings[at:at + size].decode("utf-8", "surrogateescape")] = (mtime_ns, length, checksum)
    for doc in found.delta.docs:
        known[doc.name] = (doc.mtime_ns, doc.size, doc.checksum)
    return known


def _differs(path: str, size: int, checksum: bytes) -> bool:
    try:
        now: str = files.sha256(slurp(path, size))
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
    if event.get(index.DAMAGED) or not _is_intact(place):
        set_aside(place)
    refresh(place, now)


def _is_intact(place: Place) -> bool:
    """Tell whether the segment's bytes are those that were written; true where there is none."""
    try:
        base = segment.Segment(index.segment_path(place))
    except IndexFault:
        return True  # refresh meets the same fault, and knows what to do
    try:
        return base.is_intact()
    finally:
        base.close()


def verify(place: Place, now: float) -> List[str]:
    """Rebuild aside and compare: [] where the index is what its files give, else one line for each difference.

    Without a delta the comparison is of every byte; with one, of the segment's bytes with its checksum and of every file's
    time, size and checksum with the index's.
    """
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
        if found.segment is not None and not found.segment.is_intact():
            lines.append("the segment's bytes are not those that were written; `dayleaf index build` replaces it")
        elif not lines and not found.delta.frames:
            lines.append("the segment's bytes differ from a rebuild; `dayleaf index build` replaces it")
        return lines
    finally:
        found.close()
