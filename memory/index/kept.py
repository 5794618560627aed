"""What was derived of the records' files, kept from one run to the next: a later run looks only at what changed.

Schema, version 1, of `<cache>/<scope>.facts` (what audit found out) and `<scope>.heads` (what doctor, stats and status ask
of every record), sealed (fastjson.py), derived:

    {"v": 1, "of": stamp, "files": {name: {"": identity, fact: value, ...}, ...}}

What was found among all of them stands under the name "", whose identity is the SHA-256 of all names, checksums and instants.
The identity of an audited file is the SHA-256 of the bytes that were just read; of a head it is the file's size, its time of
change and that of its inode (ns), asked at that moment, so that a file which can no longer be read is not taken for one that
can.  The stamp stands for all else that a fact follows from: the program's own text, and settings.  Only what the latest run
asked for is kept on.  What depends on the clock, on other files or on the repository is no fact of a file, and never kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

from memory.core import clock, fastjson, files, frontmatter, headreader, headyaml, records, tokeniser
from memory.core.layout import Place
from memory.core.records import Record
from memory.store import conversations
from memory.store.reader import Reader

VERSION = 1
LIMIT = 1 << 28  # bytes of a file of facts that is read
RACY = 2_000_000_000  # ns: a file that changed within them may change again and look the same


class Kept:
    """Facts of files from earlier runs, and those of this one; whatever is wrong with what was kept, it is empty."""

    def __init__(self, place: Place, part: str, modules: Iterable[ModuleType], *more: object):
        """part: the end of the file's name.  modules, more: what facts follow from beside a file's bytes."""
        self.path, self.stamp = "%s/%s.%s" % (place.cache, place.scope, part), _stamp(modules, more)
        self._old: dict[str, dict[str, Any]] = {}
        self._now: dict[str, dict[str, Any]] = {}
        self._new = False
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            value = fastjson.read_sealed(self.path, LIMIT)
            if (value["v"], value["of"]) == (VERSION, self.stamp):
                self._old = dict(value["files"])

    def get(self, name: str, identity: str, what: str) -> Any:
        """Return a fact of a file, None where it is not known of this version of it."""
        row = self._now.get(name) or self._old.get(name)
        if row is None or row.get("") != identity:
            return None
        self._now[name] = row
        return row.get(what)

    def put(self, name: str, identity: str, what: str, value: Any) -> None:
        """Keep a fact of a file.  value: as JSON gives it back."""
        row = self._now.get(name)
        if row is None or row[""] != identity:
            row = self._now[name] = {"": identity}
        row[what] = value
        self._new = True

    def save(self) -> None:
        """Write down what this run asked for; a failure to do so costs only the next run."""
        if self._new or len(self._now) < len(self._old):
            value = {"v": VERSION, "of": self.stamp, "files": self._now}
            line = json.dumps(value, separators=(",", ":")).encode("ascii")
            with suppress(OSError):
                files.replace(self.path, files.sha256(line).encode("ascii") + b"\n" + line, synced=False)


def _stamp(modules: Iterable[ModuleType], more: Sequence[object]) -> str:
    sources = [files.read(path) for path in (__file__, *(module.__file__ for module in modules)) if path]
    return files.sha256(repr(more).encode("utf-8", "backslashreplace"), *(b"\0" + source for source in sources))


# ---- heads

class Head(NamedTuple):
    """What is asked of every record: its fields as the record has them.

    labels: its topics and tags.  rewritten: it is a conversation that a person wrote or changed.
    """

    name: str
    id: str
    kind: str
    title: str
    created: float
    updated: float
    tokens: int
    labels: list[str]
    accepted: bool
    active: bool
    rewritten: bool
    problems: list[str]

    @property
    def tier(self) -> str:
        """The tier: `p`, `s` or `g`."""
        return self.name[:1]


def heads(store: Reader, now: float) -> Iterator[Head]:
    """Yield the head of every readable record in the order of names, and note the rest and double ids in the store, as its `each`
    does; a file is read where it is not known, or changed just now (now: seconds since the epoch)."""
    kept = Kept(store.place, "heads", (clock, frontmatter, headreader, headyaml, records, tokeniser, conversations), _yaml())
    settled = int(now * 1e9) - RACY
    yield from store.each_by(lambda name: _head(store, kept, name, settled))
    kept.save()


def _head(store: Reader, kept: Kept, name: str, settled: int) -> Head:
    """Return the head of a file; raises Unreadable."""
    identity = ""
    with suppress(OSError):
        stat = os.stat(store.roots[name[:1]] + name[1:])
        if max(stat.st_mtime_ns, stat.st_ctime_ns) <= settled:
            identity = "%d %d %d" % (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            known = kept.get(name, identity, "head")
            if known is not None:
                return Head(name, *known)
    head = _of(store, store.read(name))
    if identity:
        kept.put(name, identity, "head", list(head[1:]))
    return head


def _of(store: Reader, record: Record) -> Head:
    return Head(record.name, record.id, record.kind, record.title, record.created, record.updated,
                record.tokens, list(dict.fromkeys((*record.topics, *record.tags))), record.accepted, record.active,
                bool(conversations.edited(store, [record])), list(record.problems))


def _yaml() -> str:
    """Return which reader of YAML there is, "" for none: without it the frontmatter of some files is only guessed."""
    found = find_spec("yaml")
    return "%s %s" % (found.origin, os.stat(found.origin).st_mtime_ns) if found and found.origin else ""
