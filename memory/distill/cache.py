"""The cache of digests and printed answers, `<cache>/digests/<key>.json`, for a day.

Entries are sealed (fastjson.py); a faulty one counts as absent.

A digest, so that the same question asks no model twice.
Schema, version 2, in one line:

    {"v":2,"t":1795271452.0,"provider":"claude","in":4120,"out":163,"bullets":[["text
     [k3m9]",["k3m9"]]],"notes":[],"said":2, "cut":[["no record holds it","E0382"]]}

`said` counts the bullets of the answer, `cut` lists the rejected ones.  The key is the SHA-256 of
the template's version, each record's id, date and checksum, question, provider, model, budget and
redaction.

A command's output, so that the same command over the same files needs no search.  Schema, version
1:

    {"v":1,"t":1795271452.0,"said":"- text [k3m9]\\n…","files":"<SHA-256>",
     "used":[["<path>",<mtime ns>,<ctime ns>,<size>,<inode>]]}

The key is the SHA-256 of the command's words, options and settings; `files` of the name, time and
size of every record of the place and the size of its ledgers, `used` the stat of the records read.
After an edit, a new record, a use or another setting the entry counts as absent.
"""

from __future__ import annotations

import contextlib
import json
import os

from memory import __version__
from memory.core import clock, fastjson, files, walk
from memory.store import ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

    from memory.core.config import Config
    from memory.core.layout import Place
    from memory.distill.digests import Digest, Source

# part of every key: raise it with any change of prompts, checks, extract, output
TEMPLATE = 10
LIFETIME = clock.DAY
_FAULTS = (OSError, ValueError, TypeError, KeyError, IndexError)


def digests_folder(cache: str) -> str:
    """Return the folder of entries below a workspace's cache."""
    return cache + "/digests"


def _path(folder: str, key: str) -> str:
    return "%s/%s.json" % (folder, key)


def _hash(text: str) -> str:
    return files.sha256(text.encode("utf-8", "replace"))


def _read_fresh(folder: str, key: str, version: int, now: float) -> dict[str, Any]:
    """Read an entry within its lifetime; raises _FAULTS."""
    row: dict[str, Any] = fastjson.read_sealed(_path(folder, key))
    if row["v"] != version or not 0 <= now - row["t"] < LIFETIME:
        raise ValueError("another version, or too old")
    return row


def prune(folder: str, now: float | None) -> int:
    """Delete expired entries, or all if `now` is None; return their number."""
    gone = 0
    try:
        entries = [entry for entry in os.scandir(folder) if entry.name.endswith(".json")]
    except OSError:
        return 0
    for entry in entries:
        with contextlib.suppress(OSError):
            if now is None or now - entry.stat(follow_symlinks=False).st_mtime >= LIFETIME:
                os.unlink(entry.path)
                gone += 1
    return gone


# ---- digests


def digest_key(
    question: str, sources: Sequence[Source], config: Config, name: str, model: str, budget: int
) -> str:
    """Return the cache key of a digest; name: the provider's."""
    rows = [(s.id, s.created, s.checksum or _hash(s.title + "\0" + s.body)) for s in sources]
    parts = [TEMPLATE, rows, question, name, model, budget]
    parts += [config["redact.enabled"], config["redact.allow"]]
    if name == "command":
        parts.append(config["distill.command"])
    return _hash(json.dumps(parts))


def write_digest(folder: str, key: str, now: float, digest: Digest) -> None:
    """Cache a digest unless `folder` is ""; a failed write is ignored."""
    if not folder:
        return
    row = {
        "v": 2,
        "t": now,
        "provider": digest.provider,
        "in": digest.tokens_in,
        "out": digest.tokens_out,
        "bullets": [[b.text, list(b.ids)] for b in digest.bullets],
        "notes": list(digest.notes),
        "said": digest.checked.bullets,
        "cut": [[cut.why, cut.what] for cut in digest.checked.cut],
    }
    with contextlib.suppress(OSError):
        prune(folder, now)
        fastjson.write_sealed(_path(folder, key), row)
        os.utime(_path(folder, key), (now, now))


def read_digest(folder: str, key: str, now: float) -> Digest | None:
    """Read a cached digest, None if there is none or `folder` is ""."""
    if not folder:
        return None
    from memory.distill.digests import Bullet, CheckResult, Digest, RejectedBullet

    try:
        row = _read_fresh(folder, key, 2, now)
        bullets = tuple(Bullet(str(said), tuple(map(str, ids))) for said, ids in row["bullets"])
        checked = CheckResult(
            int(row["said"]),
            len(bullets),
            tuple(RejectedBullet(str(why), str(what)) for why, what in row["cut"]),
        )
        return Digest(
            bullets,
            str(row["provider"]),
            int(row["in"]),
            int(row["out"]),
            cached=True,
            notes=tuple(map(str, row["notes"])),
            checked=checked,
            made=float(row["t"]),
        )
    except _FAULTS:
        return None


# ---- what commands printed


def answer_key(words: Sequence[str], options: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the cache key of a printed answer."""
    parts = [__version__, TEMPLATE, list(words), sorted(options.items()), sorted(settings.items())]
    return _hash(repr(parts))


def write_answer(
    place: Place, key: str, now: float, said: str, before: str, used: Sequence[Sequence[Any]]
) -> None:
    """Cache a command's output; a failure to write is ignored.

    before: `hash_files` before the search. used: `stat_files` of the records read.
    """
    with contextlib.suppress(OSError):
        fastjson.write_sealed(
            _path(digests_folder(place.cache), key),
            {"v": 1, "t": now, "said": said, "files": before, "used": used},
        )


def read_answer(place: Place, key: str, now: float) -> str:
    """Read a command's cached output, "" if absent or outdated."""
    with contextlib.suppress(*_FAULTS):
        row = _read_fresh(digests_folder(place.cache), key, 1, now)
        is_same = row["used"] == stat_files([used[0] for used in row["used"]])
        if is_same and row["files"] == hash_files(place):
            return str(row["said"])
    return ""


def hash_files(place: Place) -> str:
    """Hash the names, times and sizes of a place's records and ledgers."""
    found = sorted((name, time, size) for name, _, time, size in walk.walk(place)[0])
    paths = [each.path for each in ledger.ledgers(place)]
    found += [(path, 0, files.posix.stat(path).st_size) for path in paths if files.exists(path)]
    return _hash(repr(found))


def stat_files(paths: Sequence[str]) -> list[list[Any]]:
    """Return path, times, size and inode of files; raises OSError."""
    stats = [(path, files.posix.stat(path)) for path in paths]
    return [[path, s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino] for path, s in stats]
