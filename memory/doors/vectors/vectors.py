"""Split records into chunks, and keep their vectors up to date (format: vectorfile.py).

A chunk is at most WORDS words of one section after its record's title and the section's heading.
Only texts with a new digest are embedded: an edit costs its changed chunks, a moved file nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.core import IndexFault, files, records
from memory.core.walk import walk
from memory.doors.vectors import vectorfile
from memory.doors.vectors.vectorfile import RecordVectors, Sidecar
from memory.hook import documents

if TYPE_CHECKING:
    from memory.core.layout import Place
    from memory.core.records import Record
    from memory.core.walk import Found
    from memory.doors.vectors.embedder import Provider

# of a chunk; characters limit texts of long words, or without spaces (Chinese, Japanese)
WORDS, CHARS = 180, 1500
BATCH = 64  # texts of one process: 6 s of the built-in provider, its start 0.2 s
UNFINISHED = 0  # mtime of a record that lacks vectors: no file has it, so the next update goes on
RACY = 2 * 10**9  # ns: with an mtime so close to the writing, the checksum decides


class Chunk(NamedTuple):
    """A piece of a record to embed.

    ordinal: of its section. digest: 16 bytes of the text's SHA-256.
    """

    name: str
    ordinal: int
    text: str
    digest: bytes


class Update(NamedTuple):
    """The result of an update.

    embedded, kept, removed: chunks. took: seconds. left: records beyond the limit. busy: another
        update runs.
    """

    embedded: int
    kept: int
    removed: int
    took: float
    left: int = 0
    busy: bool = False


def split_chunks(record: Record) -> list[Chunk]:
    """Split a record into chunks, at least one."""
    found = []
    for ordinal, (heading, body) in enumerate(documents.split_sections(record.body, record.kind)):
        head = "\n".join(part for part in (record.title, heading) if part)
        for piece in _split_words(body) or [""]:
            text = head + "\n" + piece if piece else head
            digest = bytes.fromhex(files.sha256(text.encode("utf-8", "replace"))[:32])
            found.append(Chunk(record.name, ordinal, text, digest))
    return found


def _split_words(body: str) -> list[str]:
    found: list[str] = []
    words: list[str] = []
    size = 0
    for word in body.split():
        for part in [word[i : i + CHARS] for i in range(0, len(word), CHARS)]:
            if words and (len(words) == WORDS or size + len(part) > CHARS):
                found.append(" ".join(words))
                words, size = [], 0
            words.append(part)
            size += len(part) + 1
    return [*found, " ".join(words)] if words else found


# --- Keeping them up to date ----------------------------------------------------------------------


def update(
    place: Place,
    provider: Provider,
    env: Mapping[str, str],
    now: float,
    limit: int | None = None,
    seconds: float = float("inf"),
) -> Update:
    """Embed new and changed records, and delete the vectors of gone ones.

    env: for the provider. limit: most texts to embed, None for all. seconds: after which no further
        batch begins. A record beyond either is finished by the next update. Vectors of another
        label or dimension are replaced once the provider has answered. A failure keeps the vectors
        written before. Raises ProviderError, and OSError if nothing can be written.
    """
    start = time.perf_counter()
    given = (place, provider, env, now, limit, start + seconds)
    with files.Lock(place.cache + "/" + place.scope + ".vec.lock") as free:
        if not free:
            return Update(0, 0, 0, 0.0, busy=True)
        files.delete_leftovers(place.cache, now)
        try:
            work = _UpdateRun(*given).run()
        except IndexFault:  # damaged, or of another dimension
            work = _UpdateRun(*given, afresh=True).run()
        took = time.perf_counter() - start
        return Update(work.embedded, work.kept, work.removed, took, work.left)


def _open_current(place: Place, label: str) -> Sidecar | None:
    """Open a place's vectors, None if they are unsound or of another label."""
    try:
        found = Sidecar(place)
    except IndexFault:
        return None
    if (found.key, found.label) != (place.key, label) or not found.is_intact():
        found.close()
        return None
    return found


class _UpdateRun:
    """One run of `update`: known vectors, queued texts and counts.

    until: the last start of a batch.
    """

    def __init__(
        self,
        place: Place,
        provider: Provider,
        env: Mapping[str, str],
        now: float,
        limit: int | None,
        until: float,
        afresh: bool = False,
    ):
        self.place, self.provider, self.env, self.now = place, provider, env, now
        self.limit, self.until = limit, until
        self.side = None if afresh else _open_current(place, provider.label)
        self.embedded = self.kept = self.removed = self.left = 0
        self.known: dict[bytes, tuple[float, bytes]] = {}
        self.waiting: list[tuple[Found, bytes, list[Chunk]]] = []
        self.missing: dict[bytes, str] = {}

    def run(self) -> _UpdateRun:
        try:
            self._update()
        finally:
            if self.side:
                self.side.close()
        return self

    def _next_batch(self, embedded: int) -> int:
        """Return how many texts the next batch may have, after `embedded` ones."""
        if time.perf_counter() >= self.until:
            return 0
        return BATCH if self.limit is None else max(0, min(BATCH, self.limit - embedded))

    def _update(self) -> None:
        changed, gone = self._compare()
        for number, found in enumerate(changed):
            if not self._next_batch(self.embedded + len(self.missing)):
                self.left += len(changed) - number
                break
            self._queue_chunks(found)
            if len(self.missing) >= BATCH:
                self._embed_queued()
        self._embed_queued()
        if self.side:  # deleted last: a moved file keeps its vectors
            self.side.replace(dict.fromkeys(gone), 0 if self.left else int(self.now * 1e9))

    def _compare(self) -> tuple[list[Found], list[str]]:
        """Return (files without current vectors, names without a file)."""
        listed, _ = walk(self.place)
        if self.side is None:
            return sorted(listed), []
        known, changed = self.side.heads(), []
        racy = self.side.built - RACY
        for found in sorted(listed):
            name, _, mtime_ns, size = found
            before = known.pop(name, None)
            if (
                before is None
                or before[:2] != (mtime_ns, size)
                or (mtime_ns > racy and _read_file(self.place, name)[1] != before[2])
            ):
                changed.append(found)
            else:
                self.kept += before[3]
        self.removed = sum(head[3] for head in known.values())
        return changed, sorted(known)

    def _queue_chunks(self, found: Found) -> None:
        """Read a changed file and queue its chunks without vectors."""
        name, _, mtime_ns, _ = found
        data, checksum = _read_file(self.place, name)
        if not checksum:
            if self.side:
                self.side.replace({name: None})
            return
        cut = split_chunks(records.from_bytes(name, data, mtime_ns / 1e9))
        self.waiting.append((found, checksum, cut))
        for chunk in cut:
            if self._is_known(chunk.digest) or chunk.digest in self.missing:
                self.kept += 1
            else:
                self.missing[chunk.digest] = chunk.text

    def _is_known(self, digest: bytes) -> bool:
        if digest not in self.known:
            found = self.side.find_vector(digest) if self.side else None
            if found is None:
                return False
            self.known[digest] = found
        return True

    def _embed_queued(self) -> None:
        """Embed the queued texts and write their records."""
        from memory.doors.vectors import embedder

        texts = [(digest.hex(), text) for digest, text in self.missing.items()]
        while texts:
            size = self._next_batch(self.embedded)
            if not size:
                break
            self._add_vectors(embedder.embed(self.provider, texts[:size], self.env))
            del texts[:size]
        self.missing.clear()
        changes: dict[str, RecordVectors | None] = {}
        for (name, _, mtime_ns, size), checksum, cut in self.waiting:
            there = [chunk for chunk in cut if chunk.digest in self.known]
            self.left += len(there) < len(cut)
            if there:
                mtime_ns = mtime_ns if len(there) == len(cut) else UNFINISHED
                rows = [(c.ordinal, c.digest, *self.known[c.digest]) for c in there]
                changes[name] = RecordVectors(mtime_ns, size, checksum, rows)
        self.waiting.clear()
        if changes:
            assert self.side is not None
            self.side.replace(changes)

    def _add_vectors(self, vectors: dict[str, Any]) -> None:
        """Quantise new vectors by hexadecimal digest; create the file if needed."""
        import numpy as np

        matrix = np.stack(list(vectors.values()))
        dims = int(matrix.shape[1])
        if self.side is None:
            place, provider = self.place, self.provider
            self.side = Sidecar.create(place, place.key, provider.label, provider.digest, dims)
        if dims != self.side.dims:
            raise vectorfile.make_fault(self.side.path, "vectors of another dimension")
        for digest, scale, numbers in zip(vectors, *vectorfile.quantise(matrix)):
            self.known[bytes.fromhex(digest)] = (scale, numbers)
        self.embedded += len(vectors)


def _read_file(place: Place, name: str) -> tuple[bytes, bytes]:
    """Read a record's bytes and their checksum, b"" if unreadable."""
    try:
        data = place.read(name, records.READ_LIMIT)[0]
    except OSError:
        return b"", b""
    return data, bytes.fromhex(files.sha256(data)[:16])


def read_label(place: Place) -> str:
    """Read the label of a place's vectors, or ""."""
    try:
        with closing(Sidecar(place)) as side:
            return str(side.label)
    except IndexFault:
        return ""


def state(place: Place) -> dict[str, Any]:
    """Return the state of a place's vectors as plain data.

    rows, records, label, dims, bytes, `behind` (files that an update would read or delete), and
    `problem`, "" where the file is sound.
    """
    try:
        side = Sidecar(place)
    except IndexFault as error:
        from memory.health.figures import NO_VECTORS

        absent = not files.exists(vectorfile.vectors_path(place))
        return {**NO_VECTORS, "problem": "" if absent else str(error)}
    with closing(side):
        is_intact = side.is_intact()
        known, listed = side.heads() if is_intact else {}, walk(place)[0]
        same = sum(
            known.get(name, ())[:2] == (mtime_ns, size) for name, _, mtime_ns, size in listed
        )
        there = sum(name in known for name, _, _, _ in listed)
        return {
            "rows": sum(head[3] for head in known.values()),
            "records": len(known),
            "label": side.label,
            "dims": side.dims,
            "bytes": files.posix.stat(side.path).st_size,
            "frames": 0,
            "behind": len(listed) - same + len(known) - there,
            "problem": "" if is_intact else "damaged vectors",
        }
