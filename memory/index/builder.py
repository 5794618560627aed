"""Writing the index: build, refresh, verify, status; one writer at a time, and never one that
waits.

A build writes a new segment beside the old and moves it into place; the delta log is named after
the generation (a digest of the content), so what is appended to the old log meanwhile is found
again by the freshness layers.  Merging is building anew from the files: they are the truth, and a
merge that is a build cannot differ from one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from functools import lru_cache
from typing import NamedTuple

from memory.core import IndexFault, clock, fastjson, files
from memory.core.layout import Place
from memory.core.records import Record
from memory.core.walk import MOST_FILES, walk
from memory.hook import delta, documents, indexview, segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.walk import Found, Listing
    from memory.index.assembly import Progress
    from memory.index.cleaning import Cleaner

MERGE_BYTES = 1 << 20  # of the delta: a search passes over all of it for each word
GLANCED_FROM = 10_000  # records from which recall looks at folders instead of at every file
GLANCED = 8_000  # of the files in EDITED_FOLDERS, that are compared even then
EDITED_FOLDERS = "rules", "plans", "learnings", "resources"  # where people write, the binding first
MERGE_AT = 256  # frames of the delta, or a twentieth of the records where that is fewer (but 16)
LOG_BYTES = 64 << 10  # bytes of the log of builds; beyond, its older half goes
# ns: an mtime this close to the build proves nothing (git calls it racy); the checksum decides
RACY = 2 * 10**9


class Summary(NamedTuple):
    """The result of a build or refresh."""

    records: int
    added: int
    changed: int
    removed: int
    built: bool
    busy: bool
    skipped: tuple[str, ...]


_BUSY = Summary(0, 0, 0, 0, False, True, ())  # another process builds


def build(place: Place, now: float, progress: Progress = None) -> Summary:
    """Build the index of a place from its files.

    It replaces the old index. now: the time stamp to write. progress(done, of): called now and
    then. `busy` is true where another process builds. Raises OSError where nothing can be written.
    """
    with _lock(place) as held:
        return _build(place, now, progress) if held else _BUSY


def _lock(place: Place) -> files.Lock:
    return files.Lock(place.cache + "/" + place.scope + ".lock")


def _build(place: Place, now: float, progress: Progress = None) -> Summary:
    began = clock.now()
    files.delete_leftovers(place.cache, now)
    from memory.index import assembly, kept

    _mark_scan(place)
    # keep what later figures need of each file
    heads = kept.HeadCache(place, now)
    data, count, skipped, folders = assembly.assemble(place, now, progress, heads)
    heads.save()
    path = indexview.segment_path(place)
    before = _read_generation(path)
    files.replace(path, data)
    generation = segment.HEADER.unpack_from(data)[1].decode("ascii")
    for old in {before, generation} - {""}:
        files.remove(indexview.delta_path(place, old))
    with closing(segment.Segment(path)) as base:
        _log_folder_times(place, base, folders)
        _log_build(place, now, count, base.tokens, clock.elapsed_ms(began))
    return Summary(count, count, 0, 0, True, False, skipped)


def _log_folder_times(
    place: Place, base: segment.Segment, folders: Sequence[tuple[str, int]]
) -> None:
    found = indexview.Index(place, base, delta.Delta(b""))
    frames = [
        delta.encode_stamp(name, mtime)
        for name, mtime in folders
        if mtime and _is_unstamped(found, name, mtime)
    ]
    if frames:
        files.append(indexview.delta_path(place, base.generation), b"".join(frames))


def _log_build(place: Place, now: float, records: int, tokens: int, ms: int) -> None:
    """Log a build, if possible."""
    line = {
        "v": 1,
        "t": clock.iso(now),
        "workspace": place.key,
        "records": records,
        "tokens": tokens,
        "ms": ms,
    }
    path = _log_path(place)
    with suppress(OSError):
        if files.exists(path) and files.posix.stat(path).st_size > LOG_BYTES:
            lines = files.read(path, 2 * LOG_BYTES).splitlines(True)
            files.replace(path, b"".join(lines[len(lines) // 2 :]), synced=False)
        files.append(path, (fastjson.dump(line) + "\n").encode("ascii"))


def _log_path(place: Place) -> str:
    return "%s/%s.builds" % (place.cache, place.scope)


def read_last_build(place: Place) -> dict[str, object]:
    """Return time, records, tokens and milliseconds of the last build.

    {} where the log has none.
    """
    try:
        rows = fastjson.parse_rows(files.read(_log_path(place), 2 * LOG_BYTES))
    except OSError:
        return {}
    mine = [row for row in rows if row.get("v") == 1 and row.get("workspace") == place.key]
    return {key: mine[-1].get(key) for key in ("t", "records", "tokens", "ms")} if mine else {}


def _mark_scan(place: Place) -> None:
    with suppress(OSError):
        files.replace(indexview.scan_path(place), b"")


def _read_generation(path: str) -> str:
    try:
        head = files.read(path, 16)
    except OSError:
        return ""
    return head[8:16].decode("ascii", "replace") if head[:8] == segment.MAGIC else ""


def refresh(place: Place, now: float, names: Sequence[str] | None = None) -> Summary:
    """Bring the index up to date with the files.

    names: records known to have changed: one appended frame each, the same cost at 100 as at
        100,000 records. Without names every file is compared. Builds where there is no index, or
        the delta has grown.
    """
    if names is not None:
        return _append_changes(place, now, names)
    with _lock(place) as held:
        if not held:
            return _BUSY
        _mark_scan(place)
        try:
            found = indexview.open_index(place, watch=False)
        except IndexFault:
            move_aside_damaged(place)
            return _build(place, now)
        with closing(found):
            return _refresh_all(found, now)


def _append_changes(place: Place, now: float, names: Sequence[str]) -> Summary:
    try:
        base = segment.Segment(indexview.segment_path(place))
    except IndexFault:
        return build(place, now)
    with closing(base):
        found = indexview.Index(place, base, delta.Delta(b""))
        names = list(dict.fromkeys(names))  # a session of many branches writes on one conversation
        changes = make_frames(found, names)
        files.append(indexview.delta_path(place, base.generation), b"".join(changes))
        return Summary(base.records, 0, len(names), 0, False, False, ())


def make_frames(found: indexview.Index, names: Sequence[str]) -> list[bytes]:
    """Return the delta frames of changed records."""
    clean = _make_clean(found.place)
    return [documents.build_frame(found, name, clean) for name in names]


def _make_clean(place: Place) -> documents.Clean:
    """Return a function that removes secrets from changed records.

    A capture writes automatic ones alone, and waits for no module that these do not need.
    """
    from memory.store import redactor

    @lru_cache(None)
    def cleaner() -> Cleaner:
        from memory.index.cleaning import Cleaner

        return Cleaner(place)

    def clean(record: Record) -> tuple[Record, int]:
        if redactor.is_captured(record):
            return documents.remove_private(record), 0
        return cleaner().clean(record)

    return clean


class Comparison(NamedTuple):
    """The differences between a place's files and its index.

    found: all files. added, changed, removed, skipped: names. doubted: mtimes in ns of files read
        whole because their time proves nothing.
    """

    found: list[Found]
    folders: list[tuple[str, int]]
    added: list[str]
    changed: list[str]
    removed: list[str]
    doubted: list[int]
    skipped: list[str]

    def settles(self, now: float) -> bool:
        """Tell whether a refresh now would save later full reads."""
        return any(mtime_ns <= int(now * 1e9) - RACY for mtime_ns in self.doubted)

    @property
    def names(self) -> list[str]:
        return self.added + self.changed + self.removed


def compare(found: indexview.Index, walked: Listing | None = None) -> Comparison:
    """Compare a place's files with its index.

    A checksum decides where the mtime proves nothing. walked: the place's files, if just listed.
    """
    listed, folders = (walked.found[:MOST_FILES], walked.folders) if walked else walk(found.place)
    known = read_manifest(found)
    racy = max(int(found.segment.built * 1e9), found.delta.settled) - RACY if found.segment else 0
    added: list[str] = []
    changed: list[str] = []
    doubted: list[int] = []
    skipped: list[str] = []
    for name, path, mtime_ns, size in listed:
        before = known.pop(name, None)
        if before is None:
            (added if documents.read_record(found.place, name) else skipped).append(name)
        elif before[:2] != (mtime_ns, size):
            changed.append(name)
        elif mtime_ns > racy:
            doubted.append(mtime_ns)
            if _has_changed(path, size, before[2]):
                changed.append(name)
    return Comparison(listed, folders, added, changed, sorted(known), doubted, skipped)


def find_likely_changes(found: indexview.Index) -> list[str]:
    """Return names of changed files without comparing all files.

    Compares the times of all folders, which shows files that came, went or were renamed, and saves
    by rename; the files that changed last; and every file in EDITED_FOLDERS, up to GLANCED. An edit
    in place of an older checkpoint or conversation is not seen: `compare` finds it, behind the
    answer.
    """
    names = indexview.find_watched_changes(found, most=1 << 30)
    base, room = found.segment, GLANCED
    assert base is not None
    for folder in (
        letter + "/" + folder for folder in EDITED_FOLDERS for letter, _ in found.place.tiers()
    ):
        room -= base.count(folder)
        if room < 0:
            break
        names += [
            name
            for name, before in base.under(folder).items()
            if name not in found.delta.names and _stat_file(found.place.path(name)) != before
        ]
    return list(dict.fromkeys(names))


def _stat_file(path: str) -> tuple[int, int]:
    try:
        stat = files.posix.stat(path)
    except OSError:
        return 0, -1
    return stat.st_mtime_ns, stat.st_size


def _refresh_all(found: indexview.Index, now: float) -> Summary:
    place, base = found.place, found.segment
    assert base is not None
    seen = compare(found)
    records = len(seen.found) - len(seen.skipped)
    counts = (len(seen.added), len(seen.changed), len(seen.removed))
    full = found.delta.torn or len(found.delta.data) > MERGE_BYTES
    if full or found.delta.frames + len(seen.names) > min(MERGE_AT, max(16, base.records // 20)):
        return _build(place, now)._replace(added=counts[0], changed=counts[1], removed=counts[2])
    changes = make_frames(found, seen.names)
    changes += [
        delta.encode_stamp(name, mtime)
        for name, mtime in seen.folders
        if _is_unstamped(found, name, mtime)
    ]
    if seen.settles(now):
        changes.append(delta.encode_stamp("", int(now * 1e9)))
    if changes:
        files.append(indexview.delta_path(place, base.generation), b"".join(changes))
    return Summary(records, *counts, False, False, tuple(seen.skipped))


def _is_unstamped(found: indexview.Index, name: str, mtime_ns: int) -> bool:
    assert found.segment is not None
    watched: dict[str, int] = dict(found.lists("watch").get("folders", []))
    return found.delta.folders.get(name, watched.get(name, -1)) != mtime_ns


def list_first_documents(found: indexview.Index) -> list[segment.Doc]:
    """Return the first document of each live record."""
    old = enumerate(found.segment.each() if found.segment else ())
    docs = [*(doc for number, doc in old if number not in found.delta.gone), *found.delta.docs]
    return [doc for doc in docs if not doc.ordinal]


def read_manifest(found: indexview.Index) -> dict[str, tuple[int, int, bytes]]:
    """Return (mtime, size, checksum) of every indexed record by name.

    mtime in ns, first 8 bytes of the checksum.
    """
    known: dict[str, tuple[int, int, bytes]] = {}
    base, gone = found.segment, found.delta.gone
    if base is not None:
        strings = base.strings()
        for number, row in enumerate(segment.ROW.iter_unpack(base.rows())):
            at, n_name, _, _, _, _, _, size, mtime_ns, checksum, _, ordinal = row
            if not ordinal and number not in gone:
                name = strings[at : at + n_name].decode("utf-8", "surrogateescape")
                known[name] = (mtime_ns, size, checksum)
    for doc in found.delta.docs:
        known[doc.name] = (doc.mtime_ns, doc.size, doc.checksum)
    return known


def _has_changed(path: str, size: int, checksum: bytes) -> bool:
    from memory.index.assembly import read_known_size

    try:
        now: str = files.sha256(read_known_size(path, size))
        return now[:16] != checksum.hex()
    except OSError:
        return True


def move_aside_damaged(place: Place) -> None:
    """Rename a damaged segment to `….damaged`."""
    path = indexview.segment_path(place)
    with suppress(OSError):
        files.posix.replace(path, path + ".damaged")


def delete_index(place: Place) -> None:
    """Delete the index of a place, the delta first.

    Deleted records must leave the index before they leave the store.
    """
    path = indexview.segment_path(place)
    generation = _read_generation(path)
    if generation:
        files.remove(indexview.delta_path(place, generation))
    for old in (path, path + ".damaged"):
        files.remove(old)


def refresh_after_hook(place: Place, now: float, damaged: bool = False) -> None:
    """Compare every file with the index once a hook has answered.

    Runs in a detached process. damaged: the hook could not read the index.
    """
    _mark_scan(place)
    if damaged or not _is_intact(place):
        move_aside_damaged(place)
    refresh(place, now)


def _is_intact(place: Place) -> bool:
    try:
        with closing(segment.Segment(indexview.segment_path(place))) as base:
            return base.is_intact()
    except IndexFault:
        return True  # a refresh finds the same fault and mends it


def _strip_folder_times(data: bytes) -> bytes:
    """Return a segment without its header and its folders' times."""
    before, mark, after = data[segment.HEADER_SIZE :].rpartition(b'{"folders":[')
    return before + mark + after[after.find(b"]],") :]


def verify(place: Place, now: float) -> list[str]:
    """Return a line for each difference to a rebuilt index.

    [] where they are the same. Without a delta every byte is compared; with the times of folders
    alone all but these; else the segment's checksum, and every file's time, size and checksum.
    """
    from memory.index import assembly

    with closing(indexview.open_index(place, watch=False)) as found:
        data = assembly.assemble(place, now).data
        if not found.delta.frames:
            written = files.read(indexview.segment_path(place), 1 << 40)
            start, end = segment.BUILT_AT, segment.BUILT_AT + 8
            same = (data[:start] + data[end:]) == (written[:start] + written[end:])
            stamped = bool(found.delta.data)  # folders whose times the log tells
            if same or (stamped and _strip_folder_times(data) == _strip_folder_times(written)):
                return []
        fresh = indexview.Index(place, segment.Segment("", data), delta.Delta(b""))
        mine, theirs = read_manifest(found), read_manifest(fresh)
        lines = ["not in the index: " + n for n in sorted(theirs.keys() - mine.keys())]
        lines += ["in the index, but no file: " + n for n in sorted(mine.keys() - theirs.keys())]
        both = sorted(mine.keys() & theirs.keys())
        lines += ["changed since it was indexed: " + n for n in both if mine[n][2] != theirs[n][2]]
        if found.segment is not None and not found.segment.is_intact():
            lines.append(
                "the index file has changed since it was written; `dayleaf index build` replaces it"
            )
        elif not lines and not found.delta.frames:
            lines.append(
                "the index file differs from a rebuilt one; `dayleaf index build` replaces it"
            )
        return lines
