"""What was derived of the records' files, kept from one run to the next: a later run looks only at
what changed.

Schema, version 1, of `<cache>/<scope>.facts` (what audit found out) and `<scope>.heads` (what
doctor, stats and status ask of every record), sealed (fastjson.py), derived:

    {"v": 1, "of": stamp, "files": {name: {"": identity, fact: value, ...}, ...}}

The identity of an audited file is the SHA-256 of the bytes that
were just read; of a head it is the file's size, its time of change and that of its inode (ns),
asked at that moment, so that a file which can no longer be read is not taken for one that can.  The
stamp stands for all else that a fact follows from: the program's own text, and settings.  Only what
the latest run asked for is kept on.  What depends on the clock, on other files or on the repository
is no fact of a file, and never kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

from memory.core import (
    clock,
    fastjson,
    files,
    frontmatter,
    headreader,
    headyaml,
    plaintext,
    records,
    tokeniser,
)
from memory.core.layout import Place
from memory.core.records import READ_LIMIT, Record
from memory.core.walk import Listing
from memory.store import (
    bylabel,
    byname,
    byshape,
    bytoken,
    conversations,
    disguise,
    letterpairs,
    nearlabel,
    redactor,
    secretlabels,
    secretshapes,
    secrettokens,
)
from memory.store.reader import Reader

REDACTION = (  # the modules that decide what is a secret or a private part
    redactor,
    bylabel,
    byname,
    byshape,
    bytoken,
    disguise,
    nearlabel,
    secretlabels,
    secretshapes,
    secrettokens,
    letterpairs,
    plaintext,
)
VERSION = 1
LIMIT = 1 << 28  # bytes of a file of facts that is read
RACY = 2_000_000_000  # ns: a file that changed within them may change again and look the same


class FactCache:
    """A cache of facts about files, kept between runs.

    A faulty cache reads as empty.
    """

    def __init__(self, place: Place, part: str, modules: Iterable[ModuleType], *more: object):
        """Open the cache of a place.

        part: the end of the file's name. modules, more: inputs of the facts beside a file's bytes.
        """
        self.path = "%s/%s.%s" % (place.cache, place.scope, part)
        self.stamp = _make_stamp(modules, more)
        self._read: dict[str, dict[str, Any]] | None = None
        self._now: dict[str, dict[str, Any]] = {}  # by file: its facts; "": its identity
        self._new = False

    @property
    def _old(self) -> dict[str, dict[str, Any]]:
        """The facts of earlier runs, read on first use."""
        if self._read is None:
            self._read = {}
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                value = fastjson.read_sealed(self.path, LIMIT)
                if (value["v"], value["of"]) == (VERSION, self.stamp):
                    self._read = dict(value["files"])
        return self._read

    def get(self, name: str, identity: str, what: str) -> Any:
        """Return the fact `what` of a file's version `identity`, or None."""
        row = self._now.get(name) or self._old.get(name)
        if row is None or row.get("") != identity:
            return None
        self._now[name] = row
        return row.get(what)

    def put(self, name: str, identity: str, what: str, value: Any) -> None:
        """Cache a file's fact.

        value: as JSON gives it back.
        """
        row = self._now.get(name)
        if row is None or row[""] != identity:
            row = self._now[name] = {"": identity}
        row[what] = value
        self._new = True

    def hold(self) -> dict[str, str]:
        """Keep all cached facts; return the files' identities by name."""
        self._now = {**self._old, **self._now}
        return {name: str(row[""]) for name, row in self._now.items()}

    def save(self) -> None:
        """Write the facts used by this run and drop the rest.

        A failure costs only the next run.
        """
        if self._new or len(self._now) < len(self._read or ()):
            value = {"v": VERSION, "of": self.stamp, "files": self._now}
            line = json.dumps(value, separators=(",", ":")).encode("ascii")
            with suppress(OSError):
                files.replace(
                    self.path, files.sha256(line).encode("ascii") + b"\n" + line, synced=False
                )


def cached_fact(
    kept: FactCache | None, name: str, identity: str, what: str, make: Callable[[], Any]
) -> Any:
    """Return a file's cached fact, made and cached if unknown.

    make: makes the fact as JSON gives it back, except tuples for lists.
    """
    found = kept.get(name, identity, what) if kept else None
    if found is None:
        found = make()
        if kept:
            kept.put(name, identity, what, found)
    return found


def _make_stamp(modules: Iterable[ModuleType], more: Sequence[object]) -> str:
    sources = [
        files.read(path) for path in (__file__, *(module.__file__ for module in modules)) if path
    ]
    return files.sha256(
        repr(more).encode("utf-8", "backslashreplace"), *(b"\0" + source for source in sources)
    )


# ---- heads


class Head(NamedTuple):
    """The fields of a record that listings ask for.

    labels: its topics and tags. rewritten: whether a person wrote or changed a conversation.
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


class HeadCache:
    """A cache of records' heads."""

    def __init__(self, place: Place, now: float):
        """Open the cache of heads.

        now: seconds since the epoch. Files changed just before are not cached, since another change
            may leave the same time.
        """
        self._kept = FactCache(
            place,
            "heads",
            (clock, frontmatter, headreader, headyaml, records, tokeniser, conversations),
        )
        self._settled, self._yaml = int(now * 1e9) - RACY, ""

    def get(self, name: str, stat: os.stat_result | None) -> Head | None:
        """Return the cached head of a file's present version, or None."""
        identity = self._identity(stat)
        if not identity:
            return None
        fields = self._kept.get(name, identity, "head")
        fields = fields or self._kept.get(name, self._guessed(identity), "head")
        return Head(name, *fields) if fields else None

    def put(self, record: Record, stat: os.stat_result | None, rewritten: bool) -> Head:
        """Make and cache a record's head.

        stat: of its file, from before it was read. rewritten: see Head.
        """
        labels = list(dict.fromkeys((*record.topics, *record.tags)))
        head = Head(
            record.name,
            record.id,
            record.kind,
            record.title,
            record.created,
            record.updated,
            record.tokens,
            labels,
            record.accepted,
            record.active,
            rewritten,
            list(record.problems),
        )
        identity = self._identity(stat)
        if identity:
            identity = self._guessed(identity) if record.unsure else identity
            self._kept.put(record.name, identity, "head", list(head[1:]))
        return head

    def put_sure(self, record: Record, stat: os.stat_result) -> None:
        """Cache a record's head if any reader would read it alike."""
        if not record.unsure and stat.st_size == record.size < READ_LIMIT and stat.st_nlink == 1:
            self.put(record, stat, conversations.is_edited(record))

    def save(self) -> None:
        self._kept.save()

    def _identity(self, stat: os.stat_result | None) -> str:
        """Return a file's size and times as text, "" if it changed just now."""
        if stat is None or max(stat.st_mtime_ns, stat.st_ctime_ns) > self._settled:
            return ""
        return "%d %d %d" % (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)

    def _guessed(self, identity: str) -> str:
        """Return the identity of a file whose head the line reader guessed."""
        self._yaml = self._yaml or _identify_yaml()
        return identity + " " + self._yaml


def read_heads(store: Reader, now: float, walked: Listing | None = None) -> Iterator[Head]:
    """Yield the head of every readable record, sorted by name.

    Reads only files that are not cached or changed just now. Notes unreadable files and double ids
    in the store. walked: the place's files, where they were just listed.
    """
    cache = HeadCache(store.place, now)
    yield from store.each_by(
        lambda name: _read_head(store, cache, name), store.names(walked=walked)
    )
    cache.save()


def _read_head(store: Reader, cache: HeadCache, name: str) -> Head:
    """Return the head of a file; raises Unreadable."""
    stat = None
    with suppress(OSError):
        stat = os.stat(store.roots[name[:1]] + name[1:])
    head = cache.get(name, stat)
    if head is None:
        record = store.read(name)
        if redactor.redact("\n".join((record.title, *record.topics, *record.tags))).found:
            stat = None  # no cache holds a secret
        head = cache.put(record, stat, bool(conversations.find_edited(store, [record])))
    return head


def _identify_yaml() -> str:
    found = find_spec("yaml")
    if not found or not found.origin:
        return "no YAML"
    return "%s %s" % (found.origin, os.stat(found.origin).st_mtime_ns)
