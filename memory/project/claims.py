"""Claims: the files, symbols and commits that a record names, checked against the working tree when
the record is shown.

STALE: one of them is gone.  FRESH: all that could be checked stand, and at least one could.
UNKNOWN: nothing could be checked.  Only what was there when the record was written can be gone: a
path in the text or a symbol counts as gone where the commit of then (the record's own, or where
HEAD was by its log) held it.  Without such a commit a path in the text counts as gone where its
first directory is there, and a symbol never.  Files of the key `files` and a record's own `commit`
need no such evidence; the latter makes no record fresh.  A commit is gone where a text calls it one
and a complete repository has no object of that name.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from memory.core import files
from memory.core.layout import DATED, GLOBAL, Place
from memory.core.records import Record
from memory.hook import indexview
from memory.project import mentions
from memory.project.gitobjects import Entry, Missing, Objects
from memory.project.mentions import ABSENT, DEFINED, Symbol
from memory.store import sections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.project.gitindex import Tracked

FRESH, STALE, UNKNOWN = "FRESH", "STALE", "UNKNOWN"
MOST = 40  # claims of a kind that are checked
SYMBOLS = 20  # symbols of a record that are checked
SOURCE_LIMIT = 1 << 20  # bytes of a source file
NARROW, WIDE = (200, 2 << 20), (4000, 24 << 20)  # files and bytes of a tree that is searched whole


class Claim(NamedTuple):
    """A file, symbol or commit that a record names.

    kind: file | symbol | commit.  stands: None where unknown.  reason: why it is gone.  path: the
    file that decides, relative to the checkout, or "".
    """

    kind: str
    name: str
    stands: bool | None
    reason: str = ""
    path: str = ""


class Claims(NamedTuple):
    """The claims of a record, each once, and the verdict."""

    claims: tuple[Claim, ...]
    state: str

    @property
    def gone(self) -> list[Claim]:
        """The claims that no longer hold."""
        return [claim for claim in self.claims if claim.stands is False]


def check(record: Record, root: str, git: str) -> Claims:
    with Checkout(root, git) as checkout:
        return checkout.check(record)


def at(place: Place) -> Checkout:
    """Return the checkout of a place with the worker's marks."""
    return Checkout(place.root, place.git, known=indexview.marks(place))


def _ahead(record: Record) -> Record:
    """Return a checkpoint with its lines under Next and Open alone."""
    found = sections.outline(record.body)
    body = "\n".join(
        sections.text(record.body, one) for one in found if one.path in ("Next", "Open")
    )
    listed = [path for path in mentions.listed_files(record) if path and path in body]
    return record.replaced(body=body, meta={**record.meta, "files": listed})


class Checkout:
    """A working tree against which records are checked, as a context manager.

    git: its git directory, "" for none.  most: the files and bytes up to which the whole tree is
    searched for symbols without a file.  known: the worker's marks, for symbols of a larger tree.
    """

    def __init__(
        self,
        root: str,
        git: str,
        most: tuple[int, int] = NARROW,
        known: dict[str, list[list[str]]] | None = None,
    ):
        self.root, self.git, self.most, self.known = root, git, most, known or {}
        self.objects = Objects(git)
        self._sources: dict[str, str | None] = {}
        self._changed: dict[str, dict[str, str] | None] = {}
        self._levels: dict[str, int | None] = {}
        self._blobs: dict[str, str] = {}
        self._kept = 0
        self._folders: dict[str, bool] = {}

    def __enter__(self) -> Checkout:
        return self

    def __exit__(self, *_: object) -> None:
        self.objects.close()

    def check(self, record: Record) -> Claims:
        """Check what a record names.  One for all projects and a conversation are UNKNOWN."""
        if not self.root or record.tier == GLOBAL or record.kind == "conversation":
            return Claims((), UNKNOWN)
        # a checkpoint tells of the past: only its open and next items can be stale
        if record.kind in DATED and record.source == "auto":
            record = _ahead(record)
        then = _Then(self, record)
        found = [*self._files(record, then), *self._symbols(record, then), *self._commits(record)]
        state = UNKNOWN
        if any(claim.stands is False for claim in found):
            state = STALE
        elif any(claim.stands and claim.name != mentions.own_commit(record) for claim in found):
            state = FRESH
        return Claims(tuple(found), state)

    # ---- files

    def _files(self, record: Record, then: _Then) -> list[Claim]:
        found: dict[str, Claim] = {}
        listed = dict.fromkeys(path for path in mentions.listed_files(record) if path)
        for path in list(listed)[:MOST]:
            found[path] = self._file(path, True, then)
        for path in mentions.mentioned(record.body)[:MOST]:
            if path not in found:
                found[path] = self._file(path, False, then)
        return list(found.values())

    def _file(self, said: str, listed: bool, then: _Then) -> Claim:
        path = self.relative(said)
        if not path:
            return Claim("file", said, None)
        there = self.root + "/" + path
        if not self._inside(path):
            return Claim("file", said, None)
        if files.exists(there):
            return Claim("file", said, True, path=path)
        known, before = then.entry(path)
        if path in self.tracked.away or not (
            listed or before or (not known and self._is_near(path))
        ):
            return Claim("file", said, None)
        moved = self._moved(path, before)
        return Claim(
            "file",
            said,
            False,
            "%s is gone%s" % (path, ", moved to " + moved if moved else ""),
            path,
        )

    def relative(self, said: str) -> str:
        """Return a path relative to the checkout, "" outside."""
        path = said.replace("\\", "/")
        path = path[2:] if path.startswith("./") else path
        if path.startswith("/"):
            path = (
                path[len(self.root) + 1 :] if path.startswith(self.root.rstrip("/") + "/") else ""
            )
        outside = path[:1] == "~" or path[1:2] == ":" or "\0" in path
        return "" if outside or {"..", ".git"}.intersection(path.split("/")) else path

    def _inside(self, path: str) -> bool:
        whole = self.root + "/" + path
        folder = whole.rpartition("/")[0]
        if folder not in self._folders:
            self._folders[folder] = files.inside(folder, self.root)
        return self._folders[folder] and not files.is_link(whole) or files.inside(whole, self.root)

    def _is_near(self, path: str) -> bool:
        first, slash, _ = path.partition("/")
        return bool(slash) and files.is_folder(self.root + "/" + first)

    def _moved(self, path: str, before: Entry | None) -> str:
        base = "/" + path.rpartition("/")[2]
        every = [item for item in self.tracked.hashes.items() if item[0] != path]
        same = [other for other, hash in every if before and hash == before.hash]
        same = same or [other for other, _ in every if ("/" + other).endswith(base)]
        return same[0] if len(same) == 1 and files.exists(self.root + "/" + same[0]) else ""

    # ---- symbols

    def _symbols(self, record: Record, then: _Then) -> list[Claim]:
        named = [*mentions.listed_files(record), *mentions.mentioned(record.body)[:MOST]]
        said = [path for path in map(self.relative, named) if path]
        near = list(dict.fromkeys(path for path in said if self.source(path) is not None))[:10]
        return [
            self._in_file(symbol, then) if symbol.file else self._anywhere(symbol, near, then)
            for symbol in mentions.named_symbols(record.body)[:SYMBOLS]
        ]

    def _in_file(self, symbol: Symbol, then: _Then) -> Claim:
        path = self.relative(symbol.file)
        source = self.source(path) if path else None
        if source is None:
            return Claim("symbol", symbol.name, None)
        now = mentions.level(source, symbol.name, path)
        if now == mentions.most(symbol.name):
            return Claim("symbol", symbol.name, True, path=path)
        before = then.level(symbol.name, path)
        if before is not None and now < before:
            return Claim(
                "symbol", symbol.name, False, "%s is no longer in %s" % (symbol.name, path), path
            )
        return Claim("symbol", symbol.name, True if now else None, path=path)

    def _noted_loss(self, name: str, record: Record) -> str:
        rows = indexview.causes(self.known, record.checksum)
        return next((row[0] for row in rows if not row[1] and row[3] == name), "")

    def _anywhere(self, symbol: Symbol, near: list[str], then: _Then) -> Claim:
        most = mentions.most(symbol.name)
        for path in near:
            if mentions.level(self.source(path) or "", symbol.name, path) == most:
                return Claim("symbol", symbol.name, True, path=path)
        now = self._level(symbol.name)
        if now is None:
            reason = self._noted_loss(symbol.name, then.record)
            return Claim("symbol", symbol.name, False if reason else None, reason)
        before = None if now == most else then.anywhere(symbol.name)
        # what was only used may be another project's
        if before is not None and now < before >= DEFINED:
            return Claim(
                "symbol",
                symbol.name,
                False,
                "%s is no longer defined in this repository" % symbol.name,
            )
        return Claim("symbol", symbol.name, True if now else None)

    def _level(self, name: str) -> int | None:
        if name not in self._levels:
            self._levels[name] = None if self.corpus is None else _most(self.corpus, name)
        return self._levels[name]

    @cached_property
    def tracked(self) -> Tracked:
        from memory.project import gitindex

        return gitindex.read(self.git)

    @cached_property
    def log(self) -> tuple[list[float], list[str]]:
        """The times and hashes of HEAD's moves."""
        from memory.project import gitindex

        return gitindex.heads(self.git) if self.git else ([], [])

    def source(self, path: str) -> str | None:
        """Return the text of a file of the checkout, or None."""
        if path not in self._sources:
            whole = self.root + "/" + path
            data = None
            with suppress(OSError, ValueError):
                data = files.read(whole, SOURCE_LIMIT + 1) if self._inside(path) else None
            self._sources[path] = _text(data)
        return self._sources[path]

    @cached_property
    def corpus(self) -> dict[str, str] | None:
        """The tracked texts by path.  None where too many, too long, or not all known."""
        from memory.project import gitindex

        # parsing an index of 10,000 takes 10 ms
        if gitindex.count(self.git) > 4 * self.most[0] or not self.tracked.whole:
            return None
        paths = [path for path in self.tracked.hashes if mentions.is_source(path)]
        if len(paths) > self.most[0]:
            return None
        found, left = dict[str, str](), self.most[1]
        for path in paths:
            text = self.source(path)
            if text is not None:
                found[path] = text
                left -= len(text)
            if left < 0:
                return None
        return found

    def changed(self, commit: str) -> dict[str, str] | None:
        """Return a commit's texts that git's index lacks.  None for too many."""
        if commit not in self._changed:
            here = frozenset(self.tracked.hashes.values())
            found, left = dict[str, str](), self.most[1]
            try:
                for path, hash in self.objects.walk(commit):
                    if hash in here or not mentions.is_source(path):
                        continue
                    found[path] = self.blob(hash)
                    left -= len(found[path])
                    if left < 0 or len(found) > self.most[0]:
                        raise Missing
                self._changed[commit] = found
            except Missing:
                self._changed[commit] = None
        return self._changed[commit]

    def blob(self, hash: str) -> str:
        """Return the text of a git object, "" for binary; raises Missing."""
        if hash not in self._blobs:
            text = _text(self.objects.read(hash)[1]) or ""
            self._kept += len(text)
            if self._kept > self.most[1]:
                return text
            self._blobs[hash] = text
        return self._blobs[hash]

    # ---- commits

    def _commits(self, record: Record) -> list[Claim]:
        found: dict[str, Claim] = {}
        own = mentions.own_commit(record)
        for name, sure in [(own, True)] * bool(own) + mentions.hashes(record.body):
            if name not in found and len(found) < MOST and self.git:
                there = bool(self.objects.find(name))
                stands = True if there else False if sure and self.objects.complete else None
                reason = (
                    "commit %s is not in this repository" % name[:10] if stands is False else ""
                )
                found[name] = Claim("commit", name, stands, reason)
        return list(found.values())


class _Then:
    """The repository at the record's commit, and at its time."""

    def __init__(self, checkout: Checkout, record: Record):
        self.checkout, self.record = checkout, record

    @cached_property
    def commits(self) -> list[str]:
        """The commits at that time, three at most."""
        own, checkout = mentions.own_commit(self.record), self.checkout
        found = checkout.objects.find(own) if own else []
        found = found if len(found) == 1 else []
        if checkout.git:
            from memory.project import gitindex

            found += gitindex.around(checkout.log, self.record.created)
        return [hash for hash in list(dict.fromkeys(found))[:3] if hash.strip("0")]

    def entry(self, path: str) -> tuple[bool, Entry | None]:
        """Return (whether a commit of then is readable, the path's row or None)."""
        known = False
        for commit in self.commits:
            try:
                row = self.checkout.objects.entry(commit, path)
            except Missing:
                continue
            if row is not None:
                return True, row
            known = True
        return known, None

    def level(self, name: str, path: str) -> int | None:
        """Return the level of a symbol in an earlier file, None where unreadable."""
        best: int | None = None
        for commit in self.commits:
            try:
                row = self.checkout.objects.entry(commit, path)
                text = self.checkout.blob(row.hash) if row else ""
            except Missing:
                continue
            best = max(best or ABSENT, mentions.level(text, name, path))
        return best

    def anywhere(self, name: str) -> int | None:
        """Return how surely any earlier file holds a symbol.

        Of files that have changed since; None where they cannot be read.
        """
        best: int | None = None
        for texts in map(self.checkout.changed, self.commits):
            if texts is not None and (best or ABSENT) < mentions.most(name):
                best = max(best or ABSENT, _most(texts, name))
        return best


def _text(data: bytes | None) -> str | None:
    if data is None or len(data) > SOURCE_LIMIT or b"\0" in data[:8000]:
        return None
    return data.decode("utf-8", "replace")


def _most(texts: dict[str, str], name: str) -> int:
    best, parts, most = ABSENT, mentions.parts_of(name), mentions.most(name)
    for path, text in texts.items():
        if parts[-1] in text and (best < DEFINED or parts[-2] in text):
            best = max(best, mentions.level(text, name, path))
            if best == most:
                break
    return best
