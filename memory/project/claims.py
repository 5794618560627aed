"""Claims: the files, symbols and commits that a record names, checked against the working tree when
the record is shown.

STALE: at least one claim is gone.  FRESH: one or more could be checked, and all of these stand.
UNKNOWN: none could be checked.  Only what existed when the record was written can be gone: a path
in the text or a symbol counts as gone where the commit of that time (the record's own, or HEAD's by
its log) held it.  Without such a commit a path counts as gone where its first directory exists, and
a symbol never.  Files of the key `files` and a record's own `commit` need no such evidence; the
latter makes no record fresh.  A commit is gone where the text calls it a commit and a complete
repository has no object of that name.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from memory.core import files
from memory.core.layout import DATED_KINDS, GLOBAL, Place
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
MOST_CLAIMS = 40  # claims of a kind that are checked
MOST_SYMBOLS = 20  # symbols of a record that are checked
SOURCE_LIMIT = 1 << 20  # bytes of a source file
NARROW, WIDE = (200, 2 << 20), (4000, 24 << 20)  # files and bytes of a tree that is searched whole


class Claim(NamedTuple):
    """A file, symbol or commit that a record names.

    kind: file | symbol | commit.  stands: None where unknown.  reason: why it is gone.  path: of
    the file that was looked into, relative to the checkout, or "".
    """

    kind: str
    name: str
    stands: bool | None
    reason: str = ""
    path: str = ""


class Claims(NamedTuple):
    """The claims of a record, each once, and their state: FRESH, STALE or UNKNOWN."""

    claims: tuple[Claim, ...]
    state: str

    @property
    def gone(self) -> list[Claim]:
        """The claims that no longer hold."""
        return [claim for claim in self.claims if claim.stands is False]


def check(record: Record, root: str, git: str) -> Claims:
    with Checkout(root, git) as checkout:
        return checkout.check(record)


def open_checkout(place: Place) -> Checkout:
    """Return a place's checkout, with the worker's stale marks."""
    return Checkout(place.root, place.git, known=indexview.read_stale_marks(place))


def _keep_open_items(record: Record) -> Record:
    """Return a checkpoint reduced to its sections Next and Open."""
    kept = [part for part in sections.outline(record.body) if part.path in ("Next", "Open")]
    body = "\n".join(sections.text(record.body, part) for part in kept)
    listed = [path for path in mentions.listed_files(record) if path and path in body]
    return record.replaced(body=body, meta={**record.meta, "files": listed})


class Checkout:
    """Checks records against a working tree; a context manager.

    git: its git directory, "" for none.  most: files and bytes of the largest tree that is searched
    for symbols without a file.  known: the worker's marks, for larger trees.
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
        """Check a record's claims.  Global records and conversations are UNKNOWN."""
        if not self.root or record.tier == GLOBAL or record.kind == "conversation":
            return Claims((), UNKNOWN)
        # a checkpoint tells of the past: only its open and next items can be stale
        if record.kind in DATED_KINDS and record.source == "auto":
            record = _keep_open_items(record)
        past = _RepositoryState(self, record)
        found = [
            *self._check_files(record, past),
            *self._check_symbols(record, past),
            *self._check_commits(record),
        ]
        state = UNKNOWN
        if any(claim.stands is False for claim in found):
            state = STALE
        elif any(claim.stands and claim.name != mentions.own_commit(record) for claim in found):
            state = FRESH
        return Claims(tuple(found), state)

    # ---- files

    def _check_files(self, record: Record, past: _RepositoryState) -> list[Claim]:
        found: dict[str, Claim] = {}
        listed = dict.fromkeys(path for path in mentions.listed_files(record) if path)
        for path in list(listed)[:MOST_CLAIMS]:
            found[path] = self._check_file(path, True, past)
        for path in mentions.find_paths(record.body)[:MOST_CLAIMS]:
            if path not in found:
                found[path] = self._check_file(path, False, past)
        return list(found.values())

    def _check_file(self, named: str, is_listed: bool, past: _RepositoryState) -> Claim:
        unknown, path = Claim("file", named, None), self.relative_path(named)
        if not path or not self._is_inside(path):
            return unknown
        if files.exists(self.root + "/" + path):
            return Claim("file", named, True, path=path)
        readable, before = past.find_entry(path)
        existed = is_listed or before or (not readable and self._has_first_folder(path))
        if path in self.tracked.away or not existed:
            return unknown
        moved = self._find_moved(path, before)
        reason = "%s is gone%s" % (path, ", moved to " + moved if moved else "")
        return Claim("file", named, False, reason, path)

    def relative_path(self, named: str) -> str:
        """Return a path relative to the checkout, "" for one outside."""
        path = named.replace("\\", "/").removeprefix("./")
        if path.startswith("/"):
            inside = path.startswith(self.root.rstrip("/") + "/")
            path = path[len(self.root) + 1 :] if inside else ""
        outside = path[:1] == "~" or path[1:2] == ":" or "\0" in path
        return "" if outside or {"..", ".git"}.intersection(path.split("/")) else path

    def _is_inside(self, path: str) -> bool:
        whole = self.root + "/" + path
        folder = whole.rpartition("/")[0]
        if folder not in self._folders:
            self._folders[folder] = files.is_inside(folder, self.root)
        is_plain = self._folders[folder] and not files.is_link(whole)
        return is_plain or files.is_inside(whole, self.root)

    def _has_first_folder(self, path: str) -> bool:
        first, slash, _ = path.partition("/")
        return bool(slash) and files.is_folder(self.root + "/" + first)

    def _find_moved(self, path: str, before: Entry | None) -> str:
        """Return where a file went: the only one of its content or name, or ""."""
        base = "/" + path.rpartition("/")[2]
        hashes = {other: hash for other, hash in self.tracked.hashes.items() if other != path}
        same = [other for other in hashes if before and hashes[other] == before.hash]
        same = same or [other for other in hashes if ("/" + other).endswith(base)]
        return same[0] if len(same) == 1 and files.exists(self.root + "/" + same[0]) else ""

    # ---- symbols

    def _check_symbols(self, record: Record, past: _RepositoryState) -> list[Claim]:
        named = [*mentions.listed_files(record), *mentions.find_paths(record.body)[:MOST_CLAIMS]]
        paths = [path for path in map(self.relative_path, named) if path]
        near = dict.fromkeys(path for path in paths if self.read_source(path) is not None)
        return [
            self._check_in_file(symbol, past)
            if symbol.file
            else self._check_in_tree(symbol, [*near][:10], past)
            for symbol in mentions.find_symbols(record.body)[:MOST_SYMBOLS]
        ]

    def _check_in_file(self, symbol: Symbol, past: _RepositoryState) -> Claim:
        name, path = symbol.name, self.relative_path(symbol.file)
        source = self.read_source(path) if path else None
        if source is None:
            return Claim("symbol", name, None)
        now = mentions.find_level(source, name, path)
        if now < mentions.highest_level(name):
            before = past.level_in_file(name, path)
            if before is not None and now < before:
                return Claim("symbol", name, False, "%s is no longer in %s" % (name, path), path)
        return Claim("symbol", name, True if now else None, path=path)

    def _read_noted_loss(self, name: str, record: Record) -> str:
        # a row: reason, path, stamp, name
        rows = indexview.list_stale_causes(self.known, record.checksum)
        return next((row[0] for row in rows if not row[1] and row[3] == name), "")

    def _check_in_tree(self, symbol: Symbol, near: list[str], past: _RepositoryState) -> Claim:
        name, most = symbol.name, mentions.highest_level(symbol.name)
        for path in near:
            if mentions.find_level(self.read_source(path) or "", name, path) == most:
                return Claim("symbol", name, True, path=path)
        now = self._level_in_tree(name)
        if now is None:
            reason = self._read_noted_loss(name, past.record)
            return Claim("symbol", name, False if reason else None, reason)
        before = None if now == most else past.level_in_tree(name)
        # a symbol that was only used may be another project's
        if before is not None and now < before >= DEFINED:
            reason = "%s is no longer defined in this repository" % name
            return Claim("symbol", name, False, reason)
        return Claim("symbol", name, True if now else None)

    def _level_in_tree(self, name: str) -> int | None:
        if name not in self._levels:
            texts = self.tree_texts
            self._levels[name] = None if texts is None else _highest_level(texts, name)
        return self._levels[name]

    @cached_property
    def tracked(self) -> Tracked:
        from memory.project import gitindex

        return gitindex.read(self.git)

    @cached_property
    def log(self) -> tuple[list[float], list[str]]:
        """The times and hashes of HEAD's moves."""
        from memory.project import gitindex

        return gitindex.read_head_moves(self.git)

    def read_source(self, path: str) -> str | None:
        """Return the text of a file in the checkout, or None."""
        if path not in self._sources:
            data = None
            with suppress(OSError, ValueError):
                if self._is_inside(path):
                    data = files.read(self.root + "/" + path, SOURCE_LIMIT + 1)
            self._sources[path] = _decode_source(data)
        return self._sources[path]

    @cached_property
    def tree_texts(self) -> dict[str, str] | None:
        """The tracked texts by path, None if too many or not all known."""
        from memory.project import gitindex

        # parsing an index of 10,000 takes 10 ms
        if gitindex.count_entries(self.git) > 4 * self.most[0] or not self.tracked.whole:
            return None
        paths = [path for path in self.tracked.hashes if mentions.is_source(path)]
        if len(paths) > self.most[0]:
            return None
        found, left = dict[str, str](), self.most[1]
        for path in paths:
            text = self.read_source(path)
            if text is not None:
                found[path] = text
                left -= len(text)
            if left < 0:
                return None
        return found

    def read_changed_texts(self, commit: str) -> dict[str, str] | None:
        """Return a commit's texts that git's index lacks, None if too many."""
        if commit not in self._changed:
            here = frozenset(self.tracked.hashes.values())
            found, left = dict[str, str](), self.most[1]
            try:
                for path, hash in self.objects.walk_files(commit):
                    if hash in here or not mentions.is_source(path):
                        continue
                    found[path] = self.read_blob(hash)
                    left -= len(found[path])
                    if left < 0 or len(found) > self.most[0]:
                        raise Missing
                self._changed[commit] = found
            except Missing:
                self._changed[commit] = None
        return self._changed[commit]

    def read_blob(self, hash: str) -> str:
        """Return a git object's text, "" for a binary one; raises Missing."""
        if hash not in self._blobs:
            text = _decode_source(self.objects.read(hash)[1]) or ""
            self._kept += len(text)
            if self._kept > self.most[1]:
                return text
            self._blobs[hash] = text
        return self._blobs[hash]

    # ---- commits

    def _check_commits(self, record: Record) -> list[Claim]:
        if not self.git:
            return []
        named, own = mentions.find_hashes(record.body), mentions.own_commit(record)
        if own:
            named.insert(0, (own, True))
        found: dict[str, Claim] = {}
        for name, is_commit in named:
            if name not in found and len(found) < MOST_CLAIMS:
                found[name] = self._check_commit(name, is_commit)
        return list(found.values())

    def _check_commit(self, name: str, is_commit: bool) -> Claim:
        if self.objects.find(name):
            return Claim("commit", name, True)
        if is_commit and self.objects.complete:
            reason = "commit %s is not in this repository" % name[:10]
            return Claim("commit", name, False, reason)
        return Claim("commit", name, None)


class _RepositoryState:
    """The repository as it was when the record was written."""

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

            found += gitindex.find_commits_around(checkout.log, self.record.created)
        return [hash for hash in list(dict.fromkeys(found))[:3] if hash.strip("0")]

    def find_entry(self, path: str) -> tuple[bool, Entry | None]:
        """Return (whether a commit is readable, a path's row or None)."""
        readable = False
        for commit in self.commits:
            with suppress(Missing):
                row = self.checkout.objects.find_entry(commit, path)
                readable = True
                if row is not None:
                    return True, row
        return readable, None

    def level_in_file(self, name: str, path: str) -> int | None:
        """Return a symbol's level in the file of that time, None if unreadable."""
        best: int | None = None
        for commit in self.commits:
            try:
                row = self.checkout.objects.find_entry(commit, path)
                text = self.checkout.read_blob(row.hash) if row else ""
            except Missing:
                continue
            best = max(best or ABSENT, mentions.find_level(text, name, path))
        return best

    def level_in_tree(self, name: str) -> int | None:
        """Return a symbol's level in files changed since, None if unreadable."""
        best: int | None = None
        for texts in map(self.checkout.read_changed_texts, self.commits):
            if texts is not None and (best or ABSENT) < mentions.highest_level(name):
                best = max(best or ABSENT, _highest_level(texts, name))
        return best


def _decode_source(data: bytes | None) -> str | None:
    if data is None or len(data) > SOURCE_LIMIT or b"\0" in data[:8000]:
        return None
    return data.decode("utf-8", "replace")


def _highest_level(texts: dict[str, str], name: str) -> int:
    best, parts, most = ABSENT, mentions.split_name(name), mentions.highest_level(name)
    for path, text in texts.items():
        if parts[-1] in text and (best < DEFINED or parts[-2] in text):
            best = max(best, mentions.find_level(text, name, path))
            if best == most:
                break
    return best
