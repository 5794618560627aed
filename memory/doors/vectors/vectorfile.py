"""The vectors of a place: an SQLite file beside the index, derived and deletable.

Schema: docs/formats.md.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.core import IndexFault, files

if TYPE_CHECKING:
    from memory.core.layout import Place

VERSION = 2
_SCHEMA = (
    """
CREATE TABLE model (key TEXT, label TEXT, command TEXT, dims INTEGER, built INTEGER);
CREATE TABLE record (name BLOB PRIMARY KEY, mtime INTEGER, size INTEGER, checksum BLOB)
    WITHOUT ROWID;
CREATE TABLE chunk (name BLOB, place INTEGER, ordinal INTEGER, digest BLOB, scale REAL,
    numbers BLOB, PRIMARY KEY (name, place)) WITHOUT ROWID;
CREATE INDEX digests ON chunk (digest);
PRAGMA user_version = %d
"""
    % VERSION
)


def vectors_path(place: Place) -> str:
    """Return the path of a place's vectors, one for each scope.

    Worktrees share a workspace, but not their shared tier.
    """
    return place.cache + "/" + place.scope + ".vec"


def make_fault(path: str, why: str) -> IndexFault:
    """Make the error for an unusable file."""
    return IndexFault(
        "%s: %s; `dayleaf index build --embeddings` makes it again" % (path, " ".join(why.split()))
    )


def quantise(vectors: Any) -> tuple[list[float], list[bytes]]:
    """Quantise the rows of a float32 matrix into scales and int8 numbers."""
    import numpy as np

    scales = np.abs(vectors).max(1) / np.float32(127.0)
    numbers = np.rint(vectors / scales[:, None]).astype(np.int8)
    return scales.tolist(), [row.tobytes() for row in numbers]


class RecordVectors(NamedTuple):
    """The vectors of one record.

    mtime_ns, size, checksum (8 bytes): of the record's file.  chunks: (ordinal, digest, scale,
    int8 numbers) of each.
    """

    mtime_ns: int
    size: int
    checksum: bytes
    chunks: list[tuple[int, bytes, float, bytes]]


class Sidecar:
    """An open file of a place's vectors, with the name of their model.

    Raises IndexFault for a file that is absent, foreign or damaged.
    """

    def __init__(self, place: Place):
        self.path = vectors_path(place)
        if not files.exists(self.path):
            raise make_fault(self.path, "No such file")
        self._base = sqlite3.connect(self.path)
        try:
            self.query("PRAGMA secure_delete = ON")
            version = self.query("PRAGMA user_version")[0][0]
            rows = self.query("SELECT * FROM model") if version == VERSION else []
            if len(rows) != 1:
                raise make_fault(self.path, "no vectors of this version")
            self.key, self.label, self.command, self.dims, self.built = rows[0]
        except IndexFault:
            self.close()
            raise

    @classmethod
    def create(cls, place: Place, key: str, label: str, command: str, dims: int) -> Sidecar:
        """Create a file of vectors and replace an old file atomically."""
        path = vectors_path(place)
        fresh = files.stage(path, b"", files.FILE_MODE, 0)  # SQLite keeps 0600 for its journal too
        try:
            with closing(sqlite3.connect(fresh)) as base:
                base.execute("PRAGMA journal_mode = MEMORY")
                base.executescript("BEGIN;" + _SCHEMA)
                model = (key, label, command, dims)
                base.execute("INSERT INTO model VALUES (?, ?, ?, ?, 0)", model)
                base.commit()
            files.remove(path + "-journal")
            os.replace(fresh, path)
        except BaseException:
            files.remove(fresh)
            raise
        return cls(place)

    def query(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement; raises IndexFault for a damaged file."""
        try:
            return self._base.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise make_fault(self.path, str(error)) from None

    def close(self) -> None:
        self._base.close()

    def is_intact(self) -> bool:
        """Tell whether SQLite finds the whole file sound."""
        try:
            return self.query("PRAGMA quick_check") == [("ok",)]
        except IndexFault:
            return False

    def heads(self) -> dict[str, tuple[int, int, bytes, int]]:
        """Return (mtime, size, checksum, number of chunks) of each record by name."""
        rows = self.query(
            "SELECT name, mtime, size, checksum, count(place) FROM record JOIN chunk USING (name) "
            "GROUP BY name"
        )
        return {decode_name(name): tuple(head) for name, *head in rows}

    def chunks(self) -> list[tuple[bytes, int, float, bytes]]:
        """Return (name, ordinal, scale, numbers) of every chunk, sorted by name."""
        return self.query("SELECT name, ordinal, scale, numbers FROM chunk ORDER BY name, place")

    def find_vector(self, digest: bytes) -> tuple[float, bytes] | None:
        """Find a text's (scale, numbers) by its digest, or None."""
        row = self.query("SELECT scale, numbers FROM chunk WHERE digest = ? LIMIT 1", digest)
        return row[0] if row else None

    def replace(self, changes: dict[str, RecordVectors | None], built: int = 0) -> None:
        """Write records' vectors in one transaction; None deletes a record.

        built: when every file was compared, in ns; 0 if some were not.
        """
        try:
            with self._base:
                for name, stored in changes.items():
                    self._replace(name.encode("utf-8", "surrogateescape"), stored)
                if built:
                    self._base.execute("UPDATE model SET built = ?", (built,))
        except sqlite3.DatabaseError as error:
            raise make_fault(self.path, str(error)) from None

    def _replace(self, key: bytes, stored: RecordVectors | None) -> None:
        for table in ("record", "chunk"):
            self._base.execute("DELETE FROM %s WHERE name = ?" % table, (key,))
        if stored is None:
            return
        self._base.execute("INSERT INTO record VALUES (?, ?, ?, ?)", (key, *stored[:3]))
        rows = ((key, place, *chunk) for place, chunk in enumerate(stored.chunks))
        self._base.executemany("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?)", rows)


def decode_name(name: bytes) -> str:
    """Decode a record's name, which may be no valid UTF-8."""
    return name.decode("utf-8", "surrogateescape")
