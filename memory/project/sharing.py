"""A team's records: what may go from the private tier into the repository, what git says of those
that are there, and the hook that asks for secrets before each commit.

One record is one file, so git merges them, and the archive's log by a rule (store/archive.py).
Whose a record is, git's authorship tells: who first committed its file, renames followed; one that
git does not track is one's own.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

from memory.core import StoreError, files, frontmatter, layout, records
from memory.core.layout import PRIVATE, SHARED, TIER_NAMES, Place
from memory.core.records import Record
from memory.hook import handoffs
from memory.project import gitindex
from memory.project.otherfiles import ORIGIN, hidden_path
from memory.store import archive, localpaths, redactor, safegit, writer
from memory.store.store import Store

_PASSING = re.compile(
    localpaths.FREE
    + r"(?:(?:/private)?/(?:var/)?tmp/|\$TMPDIR/|%TE?MP%\\)[\w.-]+"
    + localpaths.REST
)
# how a line of HEAD's log begins that brought what others did
_ARRIVED = ("pull", "merge", "rebase")
COMMAND = "dayleaf store check --staged"
# files of a repository that may name a hook
CONFIGURED = (".pre-commit-config.yaml", ".husky/pre-commit", "lefthook.yml")
_SEEN = 200  # lines of HEAD's log that are searched for one


class Hindrance(NamedTuple):
    """A reason against sharing a record, its line and remedy."""

    line: int
    what: str
    remedy: str


class SharedRecord(NamedTuple):
    """A record of the shared tier.

    by, last: first and last author, as git names them, "" for nobody yet.  state: `new`, `changed`
    or `committed`.  fresh: it came, or was changed, with the latest pull.
    """

    name: str
    by: str
    last: str
    mine: bool
    state: str
    fresh: bool


class RemovedRecord(NamedTuple):
    """A record that somebody else removed.  back: the command that brings it back."""

    name: str
    id: str
    title: str
    by: str
    back: str


class Status(NamedTuple):
    """The state of a team's records.

    removed: what others removed with the latest pull.  conflicts: (path below the repository,
    advice).  ahead, behind: commits about them not pushed, or fetched and not merged; -1 where no
    branch is followed.  since: the commit before the latest pull, or "".
    """

    records: list[SharedRecord]
    removed: list[RemovedRecord]
    conflicts: list[tuple[str, str]]
    ahead: int
    behind: int
    since: str


# ---- sharing


def hindrances(record: Record, data: bytes, place: Place, allow: Sequence[str]) -> list[Hindrance]:
    """Return the hindrances to sharing a record (its file's bytes).  allow: no secrets."""
    text = _without_origin_path(data, record).decode("utf-8", "replace")
    out = [Hindrance(1, *row) for row in _unfit(record)]
    done = redactor.redact(text, allow, place.key)
    for found in done.found:
        at = done.text.find("[redacted:%s#%s]" % (found.kind, found.tag))
        what = "a <private> part" if found.kind == "private" else "a secret (%s)" % found.kind
        out.append(
            Hindrance(
                done.text.count("\n", 0, max(at, 0)) + 1,
                what,
                "remove it with `dayleaf record edit %s`" % record.id,
            )
        )
    out += [Hindrance(*row) for row in localpaths.find(text, place)]
    return sorted(out)


def doubts(data: bytes) -> list[str]:
    """Return questions about paths below /tmp, which keep no record back."""
    text, found = data.decode("utf-8", "replace"), dict[str, int]()
    for hit in _PASSING.finditer(text):
        found.setdefault(hit[0][:60], localpaths.line_of(text, hit))
    return [
        "line %d names %s: do the others have it there too?" % (line, path)
        for path, line in found.items()
    ]


def _unfit(record: Record) -> Iterator[tuple[str, str]]:
    if record.tier != PRIVATE:
        yield (
            "it is in the %s tier" % TIER_NAMES[record.tier],
            "only records of this project's private tier can be shared",
        )
    if record.kind in layout.SAID:
        yield (
            "it is a %s" % record.kind,
            "what was said stays private; share what came of it with `dayleaf learn --shared`",
        )
    if not record.accepted:
        yield "it is a candidate", "`dayleaf notes harvest accept %s` first" % record.id
    if record.name in (handoffs.NAME, *handoffs.WAITING):
        yield "it is the handoff", "`dayleaf handoff --clear` first"
    if record.kind == "resource" and os.path.isabs(record.path):
        yield "its file lies outside the repository", "a team has only what the repository holds"


def move(store: Store, record: Record, tier: str) -> str:
    """Move a record into the shared tier, or back, and return its name there.

    A move that was killed in between leaves a mark, and `heal` ends it.  Raises StoreError where
    another file has its name, OSError.
    """
    place, name = store.place, tier + record.name[1:]
    if tier not in store.roots:
        raise StoreError(
            "there is no shared tier here; run this in a repository that has its "
            "own .dayleaf directory"
        )
    source, target = place.path(record.name), place.path(name)
    data, mtime = store.raw(record.name), os.stat(source).st_mtime_ns
    given = _as_moved(data, record, tier)
    heal(store)
    with writer.Tiers(place, store.on_change) as tiers:
        tiers.create(
            place.private + layout.MOVING, os.fsencode(record.name + "\n"), files.FILE_MODE, mtime
        )
        try:
            _create(tiers, name, target, given, mtime)
            if files.read(source, writer.WHOLE) != data:
                tiers.remove(target)
                raise StoreError("%s has changed meanwhile; look at it again" % record.name)
            tiers.remove(source)
        finally:
            tiers.remove(place.private + layout.MOVING)
        if tier == SHARED:
            archive.set_rule(place.shared)
    return name


def heal(store: Store) -> str:
    """Complete a killed move between tiers; return the record's name, or "".

    "" if no move was killed.  After one, the record stands in both tiers; if the two differ, both
    stay.
    Raises OSError.
    """
    place = store.place
    try:
        source = os.fsdecode(files.read(place.private + layout.MOVING, 4096)).strip()
    except FileNotFoundError:
        return ""
    target = (PRIVATE if source[:1] == SHARED else SHARED) + source[1:]
    with writer.Tiers(place, store.on_change) as tiers, suppress(StoreError):
        record = store.read(source)
        if _as_moved(store.raw(source), record, target[:1]) == store.raw(target):
            tiers.remove(place.path(source))
        else:
            target = ""
    with writer.Tiers(place) as tiers:
        tiers.remove(place.private + layout.MOVING)
    return target


def _without_origin_path(data: bytes, record: Record) -> bytes:
    """Return a file's bytes.  An origin outside the repository gives its path's hash alone."""
    origin = record.meta.get(ORIGIN)
    if not isinstance(origin, dict):
        return data
    path = origin.get("path")
    if not isinstance(path, str) or not os.path.isabs(path):
        return data
    return frontmatter.edit(data, {ORIGIN: {**origin, "path": hidden_path(path)}}, record.name)


def _as_moved(data: bytes, record: Record, tier: str) -> bytes:
    """Return a file's bytes as in a tier, with the id in the frontmatter."""
    if tier == SHARED:
        data = _without_origin_path(data, record)
    if record.meta.get("id") or record.guessed:
        return data
    return frontmatter.edit(data, {"id": record.id}, record.name)


def _create(tiers: writer.Tiers, name: str, target: str, data: bytes, mtime: int) -> None:
    try:
        tiers.create(target, data, writer.mode(name[:1]), mtime)
    except FileExistsError:
        if files.read(target, writer.WHOLE) != data:
            raise StoreError(
                "%s: another record has that name there; rename one of the two" % name
            ) from None


# ---- what git says


class Repository:
    """The shared tier as git sees it.  Every call is a process of git."""

    def __init__(self, place: Place, env: Mapping[str, str]):
        self.place, self.env = place, env
        self.prefix = place.shared[len(place.root) + 1 :] + "/"

    def git(self, *words: str) -> list[str] | None:
        """Return git's output split at NUL bytes, None on failure."""
        done = safegit.read(self.place.root, self.env, *words)
        return (
            None
            if done.rc
            else done.out.decode("utf-8", "surrogateescape").rstrip("\n").split("\0")
        )

    def me(self) -> str:
        """Return the address of this user's commits, or ""."""
        return safegit.identity(self.place.root, self.env)

    def authors(self) -> dict[str, tuple[str, str, str]]:
        """Return (first author, their address, last author) of each path ever committed."""
        options = "--topo-order --reverse -M --name-status -z --format=%x01%aN%x02%aE HEAD --"
        said = self.git("-c", "core.quotePath=false", "log", *options.split(), self.prefix) or []
        found: dict[str, tuple[str, str, str]] = {}
        who, rest = ("", ""), iter(said)
        for word in rest:
            word = word.lstrip("\n")
            if word[:1] == "\1":
                name, _, address = word[1:].partition("\2")
                who = name, address.strip().lower()
                continue
            if word[:1] in ("R", "C"):
                old, new = next(rest, ""), next(rest, "")
                first = found.pop(old, (*who, "")) if word[:1] == "R" else (*who, "")
                found[new] = (first[0], first[1], who[0])
            elif word:
                path = next(rest, "")
                first = found.get(path, (*who, ""))
                found[path] = (first[0], first[1], who[0])
        return found

    def since(self) -> str:
        """Return HEAD's commit before the latest pull, merge or rebase, or ""."""
        rows = [
            row.split("\2")
            for row in self.git("log", "-g", "-z", "-n", str(_SEEN), "--format=%H%x02%gs", "HEAD")
            or []
        ]
        for at, row in enumerate(rows):
            if len(row) == 2 and row[1].startswith(_ARRIVED):
                stop = at + 1
                while stop < len(rows) and _is_one_step(rows[stop], rows[stop - 1][1]):
                    stop += 1
                return rows[stop][0] if stop < len(rows) else ""
        return ""

    def _changes(self, since: str, *options: str) -> Iterator[tuple[str, str, str, str]]:
        """Yield (path, author, address, commit) of changes since a commit, newest first."""
        form = "--no-renames --name-only -z --format=%x01%aN%x02%aE%x02%h"
        said = self.git("log", *form.split(), *options, since + "..HEAD", "--", self.prefix) or []
        who = ("", "", "")
        for word in (part for row in said for part in row.split("\n")):
            if word[:1] == "\1":
                name, address, commit = word[1:].split("\2")
                who = name, address.strip().lower(), commit
            elif word:
                yield (word, *who)

    def fresh(self, since: str, me: str) -> set[str]:
        """Return the paths changed by others (not `me`) since a commit."""
        return {path for path, _, address, _ in self._changes(since) if address != me}

    def deletions(self, since: str) -> dict[str, tuple[str, str, str]]:
        """Return (author, address, commit) of each path's latest deletion since a commit."""
        found: dict[str, tuple[str, str, str]] = {}
        for path, *who in self._changes(since, "--diff-filter=D"):
            found.setdefault(path, (who[0], who[1], who[2]))
        return found

    def missing(self, since: str) -> list[str]:
        """Return the paths of records deleted, not renamed, since a commit."""
        words = iter(
            self.git("diff", "--name-status", "-z", "-M100%", since, "HEAD", "--", self.prefix)
            or []
        )
        kept, found = self.prefix + archive.FOLDER + "/", list[str]()
        for word in words:
            path = next(words, "")
            moved = next(words, "") if word[:1] in ("R", "C") else ""
            went = word == "D" or (word[:1] == "R" and moved.startswith(kept))
            if went and path.endswith(".md") and not path.startswith(kept):
                found.append(path)
        return found

    def text(self, commit: str, path: str) -> bytes:
        """Return a file at a commit, b"" where absent."""
        done = safegit.read(self.place.root, self.env, "show", "%s:%s" % (commit, path))
        return b"" if done.rc else done.out

    def states(self) -> tuple[dict[str, str], list[str]]:
        """Return (`new` or `changed` by path, unmerged paths)."""
        rows = iter(
            self.git("status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--", self.prefix)
            or []
        )
        found, torn = dict[str, str](), list[str]()
        for row in rows:
            code, path = row[:2], row[3:]
            if "U" in code or code in ("AA", "DD"):
                torn.append(path)
            if path:
                found[path] = "new" if code in ("??", "A ", "AM") else "changed"
        return found, torn

    def joins_logs(self) -> bool:
        """Tell whether git merges the archive's log by union."""
        log = "%s%s/%s" % (self.prefix, archive.FOLDER, archive.LOG)
        return "union" in (self.git("check-attr", "-z", "merge", "--", log) or [])

    def count(self, span: str) -> int:
        """Count the commits of a range about the shared tier, -1 without such a range."""
        said = self.git("rev-list", "--count", span, "--", self.prefix)
        return int(said[0]) if said and said[0].isdigit() else -1


def status(store: Store, env: Mapping[str, str]) -> Status:
    """Return the state of a team's records.  Raises StoreError without a shared tier."""
    place = store.place
    if not place.git or SHARED not in store.roots:
        raise StoreError(
            "this is not a git repository with its own .dayleaf directory, so "
            "nothing is shared here"
        )
    asked = Repository(place, env)
    me, authors, since = asked.me(), asked.authors(), asked.since()
    states, torn = asked.states()
    fresh = asked.fresh(since, me) if since else set()
    held: list[SharedRecord] = []
    conflicts = [
        (path, "git could not merge it: keep the right lines, then `git add` it") for path in torn
    ]
    for name in [name for name in store.names() if name[:1] == SHARED]:
        path = asked.prefix + name[2:]
        by, address, last = authors.get(path, ("", "", ""))
        mine, state = not address or address == me, states.get(path, "committed")
        held.append(SharedRecord(name, by, last, mine, state, path in fresh))
        if path not in torn and marked(place.path(name)):
            advice = (
                "it holds markers of an unfinished merge (`<<<<<<<`): keep the right lines, "
                "remove these"
            )
            conflicts.append((path, advice))
    removed = _removed(asked, store, since, me, [one.name for one in held]) if since else []
    return Status(held, removed, conflicts, *_apart(asked), since)


def _is_one_step(row: list[str], later: str) -> bool:
    """Tell whether a row of HEAD's log belongs to a later one."""
    if not row[1:] or not row[1].startswith(("pull", "rebase")):
        return False
    return "(" in later and "(start)" not in later


def _apart(asked: Repository) -> tuple[int, int]:
    upstream = safegit.upstream(asked.place.git)
    if not upstream:
        return -1, -1
    return asked.count(upstream + "..HEAD"), asked.count("HEAD.." + upstream)


def _removed(
    asked: Repository, store: Store, since: str, me: str, names: Sequence[str]
) -> list[RemovedRecord]:
    place = asked.place
    missing = [
        path
        for path in asked.missing(since)
        for inner in (path[len(asked.prefix) :],)
        if not any(files.exists(tier + "/" + inner) for tier in (place.shared, place.private))
    ]
    if not missing:
        return []
    deletions, found = asked.deletions(since), list[RemovedRecord]()
    here, archived = _ids(store, names), archive.archived_moves(store.place.shared)
    for path in missing:
        by, address, commit = deletions.get(path, ("", "", ""))
        name, before = SHARED + "/" + path[len(asked.prefix) :], commit + "~" if commit else since
        record = records.from_bytes(name, asked.text(before, path), 0.0)
        if record.id not in here and (address != me or not me):
            back = (
                "dayleaf store restore " + shlex.quote(record.id)
                if record.id in archived
                else "git checkout %s -- %s" % (before, shlex.quote(":/" + path))
            )
            found.append(RemovedRecord(name, record.id, record.title, by, back))
    return found


def _ids(store: Store, names: Sequence[str]) -> set[str]:
    found = set[str]()
    for name in names:
        with suppress(StoreError):
            found.add(store.read(name).id)
    return found


def marked(path: str) -> int:
    """Return the line of an unresolved merge in a file, or 0."""
    try:
        return frontmatter.unmerged_line(files.read(path))
    except OSError:
        return 0


# ---- what others brought


def tracking(place: Place) -> Callable[[str], bool]:
    """Return a test whether git tracks a shared record.

    It is true where the index does not tell.
    """
    if not place.git:
        return lambda name: True
    if not files.exists(place.git + "/index"):
        return lambda name: False
    tracked, prefix = gitindex.read(place.git), place.shared[len(place.root) + 1 :] + "/"
    return lambda name: not tracked.whole or prefix + name[2:] in tracked.hashes


# ---- before each commit


def commit_hook(place: Place) -> tuple[bool, str]:
    """Return (whether a pre-commit hook checks secrets, command to install it)."""
    own = layout.common_git(place.git) + "/hooks/pre-commit" if place.git else ""
    paths = [*([own] if own else []), *(place.root + "/" + name for name in CONFIGURED)]
    if any(_names_us(path) for path in paths):
        return True, ""
    if not own or os.path.lexists(own):
        return False, "let the repository's pre-commit hook run `%s`" % COMMAND
    form = (
        "printf '#!/bin/sh\\ncommand -v dayleaf >/dev/null || exit 0\\nexec %s\\n' > '%s' "
        "&& chmod +x '%s'"
    )
    return False, form % (COMMAND, own, own)


def _names_us(path: str) -> bool:
    try:
        return b"dayleaf" in files.read(path)
    except OSError:
        return False
