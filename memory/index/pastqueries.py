"""Vectors of past queries, so that asking again starts no provider.

Schema of `<home>/cache/queries.db`, version 1 (PRAGMA user_version), SQLite: one table `queries` with `key` (SHA-256 of the
label, a zero byte and the query: the text itself is never stored), `vector` (u32 little-endian crc32, then float32 numbers)
and `used` (seconds since the epoch).  At most MOST rows, the ones used last.  It is a cache: whatever is wrong with it, it is
empty.
"""

from __future__ import annotations

from zlib import crc32

from memory.core import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any, Optional

    from memory.core.layout import Place

MOST = 500
FRESH = 3600.0  # seconds for which a use is not written down again
VERSION = 1
WAIT = 0.2  # seconds for another process's write


def path_of(place: Place) -> str:
    """Return where the cache is."""
    return place.home + "/cache/queries.db"


def cached_query(place: Place, label: str, text: str, now: float) -> Any:
    """Return the vector (float32) of a query for a label, or None."""
    import sqlite3

    key = _key(label, text)
    try:
        base = _open(place)
        if base is None:
            return None
        try:
            row = base.execute("SELECT vector, used FROM queries WHERE key = ?", (key,)).fetchone()
            if row and not 0 <= now - row[1] < FRESH:
                base.execute("UPDATE queries SET used = ? WHERE key = ?", (now, key))
                base.commit()
        finally:
            base.close()
    except (sqlite3.Error, OSError, TypeError):
        return None
    return _vector(row[0]) if row else None


def _vector(blob: Any) -> Any:
    if not isinstance(blob, bytes) or len(blob) % 4 or len(blob) < 8 or crc32(blob[4:]) != int.from_bytes(blob[:4], "little"):
        return None
    import numpy as np

    return np.frombuffer(blob, "<f4", offset=4)


def remember_query(place: Place, label: str, text: str, vector: Any, now: float) -> None:
    """Keep the vector of a query; a damaged cache is replaced, and a failure changes nothing."""
    import sqlite3

    import numpy as np

    numbers = np.asarray(vector, "<f4").tobytes()
    row = (_key(label, text), crc32(numbers).to_bytes(4, "little") + numbers, now)
    for _ in range(2):
        try:
            _store(place, row)
            return
        except sqlite3.OperationalError:
            return  # locked, or a full disk
        except sqlite3.DatabaseError:
            files.remove(path_of(place))
        except OSError:
            return


def _store(place: Place, row: Any) -> None:
    base = _open(place, create=True)
    assert base is not None
    try:
        base.execute("INSERT OR REPLACE INTO queries VALUES (?, ?, ?)", row)
        base.execute("DELETE FROM queries WHERE key NOT IN (SELECT key FROM queries ORDER BY used DESC, key LIMIT ?)", (MOST,))
        base.commit()
    finally:
        base.close()


def _open(place: Place, create: bool = False) -> Optional[sqlite3.Connection]:
    import sqlite3

    path = path_of(place)
    if not files.exists(path):
        if not create:
            return None
        try:
            files.create(path, b"")  # 0600, which SQLite keeps for its journal too
        except FileExistsError:
            pass
    base = sqlite3.connect(path, timeout=WAIT)
    try:
        base.execute("PRAGMA synchronous = OFF")  # a lost cache costs one call
        if create and base.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            base.executescript("DROP TABLE IF EXISTS queries; CREATE TABLE queries (key BLOB PRIMARY KEY, vector BLOB, used REAL)"
                               " WITHOUT ROWID; PRAGMA user_version = %d" % VERSION)
    except BaseException:
        base.close()
        raise
    return base


def _key(label: str, text: str) -> bytes:
    return bytes.fromhex(files.sha256(label.encode("utf-8", "replace"), b"\0", text.encode("utf-8", "replace")))
