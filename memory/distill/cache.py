"""Answers kept for a day in `<cache>/digests/<key>.json`, each sealed (fastjson.py); whatever is
wrong with one makes it absent.

A digest, so that a second question alike asks no model.
Schema, version 2, in one line:

    {"v":2,"t":1795271452.0,"provider":"claude","in":4120,"out":163,"bullets":[["text
     [k3m9]",["k3m9"]]],"notes":[],"said":2, "cut":[["no record holds it","E0382"]]}

`said` counts the bullets of the answer, `cut` has those that did not stand.  The key is the SHA-256
of the template's version, each record's id, date and checksum, question, provider, model, budget
and redaction.

What a command printed, so that the same command over the same files prints it again without a
search.  Schema, version 1:

    {"v":1,"t":1795271452.0,"said":"- text [k3m9]\\n…","files":"<SHA-256>",
     "used":[["<path>",<mtime ns>,<ctime ns>,<size>,<inode>]]}

The key is the SHA-256 of the command's words, options and settings; `files` of the name, time and
size of every record of the place and the size of its ledgers, `used` what stat says of the records
that were read.  An entry is absent where anything differs: an edit, a new record, a use, another
setting.
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

# stands in the key of every kept digest and answer: raise it with any change of prompts, checks,
# extract, output
TEMPLATE = 10
LIFETIME = clock.DAY
_FAULTS = (OSError, ValueError, TypeError, KeyError, IndexError)


def folder_of(cache: str) -> str:
    """Return the directory of cached answers.

    cache: the workspace's directory of derived files.
    """
    return cache + "/digests"


def _path(folder: str, key: str) -> str:
    return "%s/%s.json" % (folder, key)


def _young(folder: str, key: str, version: int, now: float) -> dict[str, Any]:
    """Read an entry within its lifetime; raises one of _FAULTS."""
    row: dict[str, Any] = fastjson.read_sealed(_path(folder, key))
    if row["v"] != version or not 0 <= now - row["t"] < LIFETIME:
        raise ValueError("another version, or too old")
    return row


def prune(folder: str, now: float | None) -> int:
    """Delete expired entries and return their number.

    now: None deletes all entries, as none may survive a redaction.
    """
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
    question: str,
    sources: Sequence[Source],
    config: Config,
    name: str,
    model: str,
    budget: int,
) -> str:
    """Return the cache's key of a digest.

    From the question, the records, the provider and its options.
    """
    rows = [
        [
            s.id,
            s.created,
            s.checksum or files.sha256((s.title + "\0" + s.body).encode("utf-8", "replace")),
        ]
        for s in sources
    ]
    parts = [
        TEMPLATE,
        rows,
        question,
        name,
        model,
        budget,
        config["redact.enabled"],
        config["redact.allow"],
    ]
    if name == "command":
        parts.append(config["distill.command"])
    return files.sha256(json.dumps(parts).encode())


def keep_digest(folder: str, key: str, now: float, digest: Digest) -> None:
    """Cache a digest; a failure loses nothing."""
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


def kept_digest(folder: str, key: str, now: float) -> Digest | None:
    """Return a cached digest, or None."""
    from memory.distill.digests import Bullet, Checked, Cut, Digest

    try:
        row = _young(folder, key, 2, now)
        bullets = tuple(Bullet(str(said), tuple(map(str, ids))) for said, ids in row["bullets"])
        checked = Checked(
            int(row["said"]),
            len(bullets),
            tuple(Cut(str(why), str(what)) for why, what in row["cut"]),
        )
        return Digest(
            bullets,
            str(row["provider"]),
            int(row["in"]),
            int(row["out"]),
            True,
            tuple(map(str, row["notes"])),
            checked,
            made=float(row["t"]),
        )
    except _FAULTS:
        return None


# ---- what commands printed


def answer_key(words: Sequence[str], options: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the cache's key of a printed answer.

    options, settings: by name.
    """
    parts = [__version__, TEMPLATE, list(words), sorted(options.items()), sorted(settings.items())]
    return files.sha256(repr(parts).encode("utf-8", "replace"))


def keep_answer(
    place: Place, key: str, now: float, said: str, before: str, used: Sequence[Sequence[Any]]
) -> None:
    """Cache a command's output; a failure loses nothing.

    before: the state of the place from before it was searched. used: the marks of the records, from
        when they had been read. A change while the answer was made makes the entry invalid.
    """
    with contextlib.suppress(OSError):
        fastjson.write_sealed(
            _path(folder_of(place.cache), key),
            {"v": 1, "t": now, "said": said, "files": before, "used": used},
        )


def kept_answer(place: Place, key: str, now: float) -> str:
    """Return a command's cached output, "" if absent or outdated."""
    with contextlib.suppress(*_FAULTS):
        row = _young(folder_of(place.cache), key, 1, now)
        if row["used"] == marks([used[0] for used in row["used"]]) and row["files"] == files_hash(
            place
        ):
            return str(row["said"])
    return ""


def files_hash(place: Place) -> str:
    """Return a hash of a place's record files and ledgers.

    It changes when a file comes, goes or changes, or a ledger grows.
    """
    found = sorted((name, time, size) for name, _, time, size in walk.walk(place)[0])
    paths = [each.path for each in ledger.ledgers(place)]
    found += [(path, 0, files.posix.stat(path).st_size) for path in paths if files.exists(path)]
    return files.sha256(repr(found).encode("utf-8", "replace"))


def marks(paths: Sequence[str]) -> list[list[Any]]:
    """Return path, times, size and inode of files.

    Raises OSError where one is gone.
    """
    stats = [(path, files.posix.stat(path)) for path in paths]
    return [[path, s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino] for path, s in stats]
