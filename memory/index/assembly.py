"""Assembling a segment from the files of a place, as they are.

Lists in the segment, as JSON, so that the blocking path need not scan rows:

    watch  (conversations apart) folders [[name, mtime in ns]]: the tiers' roots, the kinds' folders
           that exist, the FOLDERS_WATCHED others changed last; files [[name, mtime in ns, size]]:
           every file up to ALL_WATCHED records, else the HOT ones edited last; rules: document
           numbers, newest first, the shared tier's last; ruled: by what a context must hold for
           these,
           {words: {term: numbers}, phrases: [[terms, numbers]], labels: {label of a tag: numbers},
            links: {target: numbers}}
    brief  learnings, checkpoints, plans: document numbers, newest first, of learnings and plans
           the shared tier's last; candidates: numbers of
           learnings that nobody accepted; secrets: of records that hold secrets;
           topics [[name, learnings, records]]

Documents get their numbers as they are read: first, by name, those that a prompt may get, then, by
name, all others.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Callable, NamedTuple, Optional
from zlib import crc32

from memory.core import fastjson, files, frontmatter, records, tokeniser
from memory.core.layout import Place, is_kind_allowed
from memory.core.walk import walk
from memory.hook import context, documents, indexview, segment
from memory.index.cleaning import BATCH, BATCH_CHARS, Cleaner
from memory.index.postings import Inverter, LoopInverter, NumpyInverter, TermIndex, to_little_endian

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.records import Record
    from memory.core.walk import Found
    from memory.index.kept import HeadCache

# files, or VECTORISED_BYTES of them; below, importing NumPy costs more than it saves (5-8 bare
# starts)
VECTORISED_FROM = 2000
VECTORISED_BYTES = 4 << 20
ALL_WATCHED, HOT, FOLDERS_WATCHED = 256, 64, 64
MOST_RULES = 1024  # that a hook may choose from
MOST_CANDIDATES = 999  # that a start counts
_PER_BUCKET = 8  # terms of a directory's bucket, at the most on average
Progress = Optional[Callable[[int, int], None]]


class FirstDocument(NamedTuple):
    """A record's first document, as the segment's lists need it."""

    number: int
    flags: int
    created: int
    tokens: int
    topics: tuple[str, ...]
    name: str
    tags: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


class Assembly(NamedTuple):
    """A segment's bytes, and what was read for it.

    skipped: names of unreadable files. folders: (name, mtime in ns) of every folder.
    """

    data: bytes
    records: int
    skipped: tuple[str, ...]
    folders: Sequence[tuple[str, int]]


class _ReadDocuments:
    """The documents read so far, packed for a segment.

    Their packed rows and strings, the inputs of the lists, and the names of skipped files.
    """

    def __init__(self, inverter: Inverter, heads: HeadCache | None, cleaner: Cleaner):
        self.inverter, self.heads, self.cleaner = inverter, heads, cleaner
        self.rows: list[FirstDocument] = []
        self.table, self.strings = bytearray(), bytearray()
        self.ids: list[list[bytes]] = []
        self.documents = self.pushable = 0
        self.skipped: list[str] = []

    def read_record(self, found: Found) -> tuple[Record, os.stat_result] | None:
        """Return (record, stat) of a file, None if unreadable.

        The names of unreadable files go to `skipped`.
        """
        name, path, _, size = found
        try:
            stat = files.posix.stat(path)
            data = read_known_size(path, size)
            if frontmatter.is_binary(data):
                raise OSError(22, "not UTF-8 text", path)
        except OSError:
            self.skipped.append(name)
            return None
        record = records.from_bytes_fast(name, data, stat.st_mtime)
        if not is_kind_allowed(record.kind, record.tier):
            self.skipped.append(name)
            return None
        return record, stat

    def read_each(self, listed: Sequence[Found]) -> Iterator[tuple[Found, Record, int]]:
        """Yield (file, record without secrets, segment.SECRET, UNSURE or 0)."""
        batch: list[tuple[Found, Record, os.stat_result]] = []
        size = 0
        for at, found in enumerate(listed, 1):
            read = self.read_record(found)
            if read is not None:
                batch.append((found, *read))
                size += read[0].size
            if at == len(listed) or len(batch) == BATCH or size > BATCH_CHARS:
                cleaned = self.cleaner.each([record for _, record, _ in batch])
                for (file, record, stat), (clean, secret) in zip(batch, cleaned):
                    if self.heads and not secret:
                        self.heads.put_sure(record, stat)
                    yield file, clean, secret
                batch, size = [], 0

    def add_record(self, record: Record, found: Found, secret: int) -> None:
        """Add a record's sections as the next documents."""
        for doc, heading, body in documents.split_documents(record, found[2], found[3], secret):
            self.inverter.add(heading, body)
            row, strings = segment.pack_document(doc, len(self.strings))
            self.table += row
            self.strings += strings
            if not doc.ordinal:
                first = FirstDocument(
                    self.documents, doc.flags, doc.created, doc.tokens, doc.topics, doc.name
                )
                if record.kind == "rule":
                    targets = tuple(link.target for link in record.links)
                    first = first._replace(tags=record.tags, targets=targets)
                self.rows.append(first)
                self.ids.append(
                    [
                        b"\x01" + doc.id.encode("utf-8", "replace").replace(b"\n", b" "),
                        *(key.encode("ascii") for key in documents.list_extra_terms(record)),
                    ]
                )
            self.documents += 1


def assemble(
    place: Place,
    now: float,
    progress: Progress = None,
    heads: HeadCache | None = None,
) -> Assembly:
    """Assemble a place's segment from its files.

    now: the time stamp to write. progress(done, of): called now and then. heads: receives every
        record's head.
    """
    import gc

    found, folders = walk(place)
    enabled = gc.isenabled()
    gc.disable()  # a million objects, none in a cycle: collecting costs a fifth of the build
    try:
        watch = _list_watched(found, folders)
        cleaner = Cleaner(place, cached=heads is not None)
        reading = _read_all(found, progress, heads, cleaner)
        cleaner.save()
        del found  # 40 MB at 100,000 files
        data = _format_segment(place, now, reading, watch)
        return Assembly(data, len(reading.rows), tuple(reading.skipped), folders)
    finally:
        if enabled:
            gc.enable()


def _make_inverter(found: Sequence[Found]) -> Inverter:
    size = sum(size for _, _, _, size in found)
    if len(found) >= VECTORISED_FROM or size >= VECTORISED_BYTES:
        with suppress(ImportError):
            return NumpyInverter()
    return LoopInverter()


def _sort_key(found: Found) -> bytes:
    return found[0].encode("utf-8", "surrogateescape")


def _read_all(
    found: Sequence[Found], progress: Progress, heads: HeadCache | None, cleaner: Cleaner
) -> _ReadDocuments:
    """Read all files; records that a prompt may get come first.

    Only files in `learnings` are expected there. Where another file turns out to be a learning (by
    its frontmatter, or after a change), all are read again with it among the first.
    """
    misfiled: set[str] = set()
    while True:
        reading = _ReadDocuments(_make_inverter(found), heads, cleaner)
        more = _read_once(reading, found, misfiled, progress)
        if not more:
            return reading
        misfiled |= more


def _read_once(
    reading: _ReadDocuments, found: Sequence[Found], misfiled: set[str], progress: Progress
) -> set[str]:
    """Read all files once; return the names of learnings in other folders."""
    likely: list[Found] = []
    rest: list[Found] = []
    for file in found:
        is_likely = file[0][2:].startswith("learnings/") or file[0] in misfiled
        (likely if is_likely else rest).append(file)
    done = 0
    for file, record, secret in reading.read_each(sorted(likely, key=_sort_key)):
        if documents.is_pushable(record) and secret != segment.SECRET:
            reading.add_record(record, file, secret)
            done += 1
            _report_progress(progress, done, len(found))
        else:
            rest.append(file)
    reading.pushable = reading.documents
    late: set[str] = set()
    for file, record, secret in reading.read_each(sorted(rest, key=_sort_key)):
        if documents.is_pushable(record) and secret != segment.SECRET:
            late.add(file[0])
        else:
            reading.add_record(record, file, secret)
        done += 1
        _report_progress(progress, done, len(found))
    return late - misfiled


def _report_progress(progress: Progress, done: int, of: int) -> None:
    if progress and done % 500 == 0:
        progress(done, of)


def read_known_size(path: str, size: int) -> bytes:
    """Read at most 1 MiB of a file of known size."""
    fd = files.posix.open(path, files._READ)
    try:
        data = files.posix.read(fd, min(size + 1, 1 << 20))
        has_grown = len(data) > size
        return data + files.read_fd(fd, (1 << 20) - len(data)) if has_grown else data
    finally:
        files.posix.close(fd)


def _format_segment(
    place: Place, now: float, reading: _ReadDocuments, watched: dict[str, Any]
) -> bytes:
    lengths = reading.inverter.lengths()
    mean = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
    inverted = reading.inverter.invert(reading.pushable, mean)
    terms, entries, extra = _add_id_terms(reading, inverted)
    buckets, directory = _build_directory(terms, entries)
    count = len(terms)
    del terms, entries
    rows = reading.rows
    rules = _list_newest(rows, "rule", MOST_RULES)
    watch = fastjson.dump(
        {**watched, "rules": rules, "ruled": _group_rules(rows, set(rules))}
    ).encode("ascii")
    brief = fastjson.dump(_list_brief(rows, reading.pushable)).encode("ascii")
    lists = segment.PAIR.pack(len(watch), len(brief)) + watch + brief
    sections = (
        (buckets,),
        (directory,),
        (inverted.ids, to_little_endian(extra)),
        (inverted.impacts, b"\x01" * len(extra)),
        (reading.table,),
        (reading.strings,),
        (lists,),
    )
    parts: list[bytes | bytearray] = [part for section in sections for part in section]
    at, offset = [], segment.HEADER_SIZE
    for section in sections:
        at.append(offset)
        offset += sum(map(len, section))
    learnings = [row.tokens for row in rows if row.number < reading.pushable]
    check = files.sha256(*parts)
    fields = [
        segment.MAGIC,
        check[:8].encode("ascii"),
        place.scope.encode("ascii"),
        tokeniser.VERSION,
        reading.documents,
        reading.pushable,
        count,
        len(buckets) // 4 - 1,
        len(rows),
        len(learnings),
        sum(learnings),
        sum(row.tokens for row in rows),
        mean,
        now,
        0,  # the CRC
        *at,
    ]
    fields[14] = segment.compute_header_crc(segment.HEADER.pack(*fields))
    return b"".join((segment.HEADER.pack(*fields), *parts))


def _add_id_terms(reading: _ReadDocuments, inverted: TermIndex) -> tuple[list[bytes], bytes, Any]:
    """Add ids, links, sessions as terms; return (terms, entries, their documents)."""
    terms = [term.encode("utf-8", "replace") for term in inverted.terms]
    entries, pack = [inverted.entries], segment.ENTRY.pack
    rows = reading.rows
    holders: dict[bytes, list[int]] = {}
    for at, ids in enumerate(reading.ids):
        for id_ in ids:
            holders.setdefault(id_, []).append(at)
    extra = array("I")
    for id_, holding in holders.items():
        terms.append(id_)
        # sessions and branches, by their instants: the newest are the last
        if id_[:1] in (b"\x04", b"\x05"):
            holding.sort(key=lambda at: rows[at].created)
            del holding[: -segment.CHAMPIONS]
        numbers = [rows[at].number for at in holding[: segment.CHAMPIONS]]
        if len(numbers) == 1:
            entries.append(pack(numbers[0], 1, 1, numbers[0] < reading.pushable, 1))
            continue
        place = len(inverted.impacts) + len(extra)
        extra.extend(numbers)
        push = sum(1 for number in numbers if number < reading.pushable)
        entries.append(pack(place & 0xFFFFFFFF, place >> 32, len(numbers), push, 1))
    return terms, b"".join(entries), extra


def _build_directory(terms: Sequence[bytes], entries: bytes) -> tuple[bytes, bytes]:
    """Return (bucket offsets, directory) of the terms."""
    width, count = segment.ENTRY.size, 1
    while count * _PER_BUCKET < len(terms):
        count *= 2
    buckets: list[list[int]] = [[] for _ in range(count)]
    for number, place in enumerate(map(crc32, terms)):
        buckets[place & (count - 1)].append(number)
    offsets, parts, size = array("I", [0]), [], 0
    for bucket in buckets:
        if bucket:
            block = b"".join(
                (
                    len(bucket).to_bytes(2, "little"),
                    b"\n",
                    b"\n".join([terms[n] for n in bucket]),
                    b"\n",
                    *[entries[width * n : width * n + width] for n in bucket],
                )
            )
            parts.append(block)
            size += len(block)
        offsets.append(size)
    return to_little_endian(offsets), b"".join(parts)


def _list_watched(found: Sequence[Found], folders: Sequence[tuple[str, int]]) -> dict[str, Any]:
    rows = [(name, mtime_ns, size) for name, _, mtime_ns, size in found]
    rows = [row for row in rows if not row[0].startswith(indexview.UNWATCHED)]
    if len(rows) > ALL_WATCHED:
        rows = sorted(rows, key=lambda row: (-row[1], row[0]))[:HOT]
    upper, deeper = [], []
    for name, mtime_ns in folders:
        if name.startswith(indexview.UNWATCHED):
            continue
        if name.count("/") > 1:
            deeper.append((name, mtime_ns))
        elif mtime_ns or "/" not in name:
            upper.append((name, mtime_ns))
    deeper.sort(key=lambda folder: (-folder[1], folder[0]))
    return {"folders": upper + deeper[:FOLDERS_WATCHED], "files": rows}


def _list_brief(rows: Sequence[FirstDocument], pushable: int) -> dict[str, Any]:
    state, waiting = segment.KIND_BITS | segment.ACCEPTED, segment.KINDS.index("learning")
    candidates = [row.number for row in rows if row.flags & state == waiting]
    return {
        "learnings": _list_newest(rows, "learning", 64, segment.ACCEPTED),
        "checkpoints": _list_newest(rows, "checkpoint", 64),
        "plans": _list_newest(rows, "plan", 4, segment.ACTIVE),
        "candidates": candidates[:MOST_CANDIDATES],
        "secrets": [row.number for row in rows if row.flags & segment.SECRET],
        "topics": documents.count_topics((row.topics, row.number < pushable) for row in rows),
    }


def _list_newest(rows: Sequence[FirstDocument], kind: str, most: int, flag: int = 0) -> list[int]:
    number = segment.KINDS.index(kind)
    # The user's own come first: no repository may crowd them out of the list.
    chosen = sorted(
        (kind != "checkpoint" and row.name[:2] == "s/", -row.created, row.name, row.number)
        for row in rows
        if row.flags & segment.KIND_BITS == number and row.flags & flag == flag
    )
    return [n for _, _, _, n in chosen[:most]]


def _group_rules(rows: Sequence[FirstDocument], rules: set[int]) -> dict[str, Any]:
    """Group rules by the terms, labels and links that they require."""
    words: dict[str, list[int]] = {}
    phrases: dict[tuple[str, ...], list[int]] = {}
    labels: dict[str, list[int]] = {}
    links: dict[str, list[int]] = {}
    for row in rows:
        for tag in row.tags if row.number in rules else ():
            needed = context.list_required_terms(tag)
            if len(needed) == 1:
                words.setdefault(needed[0], []).append(row.number)
            elif needed:
                phrases.setdefault(needed, []).append(row.number)
            labels.setdefault(context.normalise_tag(tag), []).append(row.number)
        for target in row.targets if row.number in rules else ():
            links.setdefault(target, []).append(row.number)
    return {
        "words": words,
        "phrases": [[terms, numbers] for terms, numbers in phrases.items()],
        "labels": labels,
        "links": links,
    }
