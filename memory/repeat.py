"""What was printed for a question, so that the same command over the same files prints it again without a search.

Schema, version 1: `<cache>/digests/<key>.json`, sealed (sealed.py),

    {"v":1,"t":1795271452.0,"said":"- text [k3m9]\\n…","files":"<SHA-256>",
     "used":[["<path>",<mtime ns>,<ctime ns>,<size>,<inode>]]}

(in one line).  The key is the SHA-256 of the command's words, options and settings; `files` of the name, time and size of
every record of the place and the size of its ledgers, `used` what stat says of the records that were read.  An entry lives for
a day, and is absent where anything differs: an edit, a new record, a use, another setting.
"""

from __future__ import annotations

import contextlib

from memory import __version__, clock, files, ledger, sealed, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Sequence

    from memory.paths import Place


def key(words: Sequence[str], options: Dict[str, Any], settings: Dict[str, Any]) -> str:
    """Return the name of a command's entry.  options, settings: by name."""
    parts = [__version__, sealed.TEMPLATE, list(words), sorted(options.items()), sorted(settings.items())]
    return files.sha256(repr(parts).encode("utf-8", "replace"))


def find(place: Place, key: str, now: float) -> str:
    """Return what was printed, or "" where nothing is kept or anything has changed since."""
    try:
        row = sealed.read(_path(place, key))
        young = row["v"] == 1 and 0 <= now - row["t"] < clock.DAY
        if young and row["used"] == marks([used[0] for used in row["used"]]) and row["files"] == state(place):
            return str(row["said"])
    except (OSError, ValueError, TypeError, KeyError, IndexError):
        pass
    return ""


def keep(place: Place, key: str, now: float, said: str, before: str, used: Sequence[Sequence[Any]]) -> None:
    """Keep what is printed; where that cannot be, nothing is lost.

    before: the state of the place from before it was searched.  used: the marks of the records, from when they had been read.
    What was changed while the answer was made then differs, and the entry is absent.
    """
    with contextlib.suppress(OSError):
        sealed.write(_path(place, key), {"v": 1, "t": now, "said": said, "files": before, "used": used})


def _path(place: Place, key: str) -> str:
    return "%s/digests/%s.json" % (place.cache, key)


def state(place: Place) -> str:
    """Return what tells that a file of a place came, went or changed, or that its ledgers tell more."""
    found = sorted((name, time, size) for name, _, time, size in walk.walk(place)[0])
    paths = [each.path for each in ledger.ledgers(place)]
    found += [(path, 0, files.posix.stat(path).st_size) for path in paths if files.exists(path)]
    return files.sha256(repr(found).encode("utf-8", "replace"))


def marks(paths: Sequence[str]) -> List[List[Any]]:
    """Return what stat says of files that were read; raises OSError where one is gone."""
    stats = [(path, files.posix.stat(path)) for path in paths]
    return [[path, s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino] for path, s in stats]
