"""A team's shared records: moving a record between the tiers, their state in git, and the hook that
looks for secrets before each commit.

One record is one file, so git merges them; it merges the archive's log by a rule
(store/archive.py).  A record belongs to the first author of its file, renames followed, and an
untracked one to this user.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from memory.core import StoreError, files, frontmatter, layout, records
from memory.core.layout import PRIVATE, SHARED, TIER_NAMES, Place
from memory.core.records import Record
from memory.hook import handoffs
from memory.project import gitindex
from memory.project.otherfiles import ORIGIN, hash_path
from memory.store import archive, localpaths, redactor, safegit, writer
from memory.store.store import Store

_TEMPORARY_PATH = re.compile(
    localpaths.FREE
    + r"(?:(?:/private)?/(?:var/)?tmp/|\$TMPDIR/|%TE?MP%\\)[\w.-]+"
    + localpaths.REST
)
# first words of a line of HEAD's log that brings the work of others
_ARRIVED = ("pull", "merge", "rebase")
COMMAND = "dayleaf store check --staged"
# files of a repository that may name a hook
CONFIGURED = (".pre-commit-config.yaml", ".husky/pre-commit", "lefthook.yml")
_UNMERGED = "git could not merge it: keep the right lines, then `git add` it"
_UNFINISHED = (
    "it holds markers of an unfinished merge (`<<<<<<<`): keep the right lines, remove these"
)
_MOST_LOG_LINES = 200  # lines of HEAD's log that are searched for one


class Hindrance(NamedTuple):
    """A reason against sharing a record, with its line and remedy."""

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
    """A record that somebody else removed.  back: the command to restore it."""

    name: str
    id: str
    title: str
    by: str
    back: str


class Status(NamedTuple):
    """The state of a team's records.

    removed: by others, with the latest pull.  conflicts: (path below the repository, advice).
    ahead, behind: their commits not pushed, or fetched and not merged; -1 without an upstream
    branch.  since: the commit before the latest pull, or "".
    """

    records: list[SharedRecord]
    removed: list[RemovedRecord]
    conflicts: list[tuple[str, str]]
    ahead: int
    behind: int
    since: str


# ---- sharing


def find_hindrances(
    record: Record, data: bytes, place: Place, allow: Sequence[str]
) -> list[Hindrance]:
    """Return the reasons against sharing a record.  allow: strings that may stay."""
    text = _hide_origin_path(data, record).decode("utf-8", "replace")
    out = [Hindrance(1, *row) for row in _list_unfit_reasons(record)]
    done = redactor.redact(text, allow, place.key)
    for found in done.found:
        at = done.text.find("[redacted:%s#%s]" % (found.kind, found.tag))
        line = done.text.count("\n", 0, max(at, 0)) + 1
        what = "a <private> part" if found.kind == "private" else "a secret (%s)" % found.kind
        out.append(Hindrance(line, what, "remove it with `dayleaf record edit %s`" % record.id))
    if redactor.redact(writer.bare_stem(record.name), allow, place.key).found:
        out.append(Hindrance(1, "a secret in its file's name", "rename the file"))
    out += [Hindrance(*row) for row in localpaths.find(text, place)]
    return sorted(out)


def question_temporary_paths(data: bytes) -> list[str]:
    """Return a question about each path below /tmp; these hinder no sharing."""
    text, found = data.decode("utf-8", "replace"), dict[str, int]()
    for hit in _TEMPORARY_PATH.finditer(text):
        found.setdefault(hit[0][:60], localpaths.line_number(text, hit))
    form = "line %d names %s: do the others have it there too?"
    return [form % (line, path) for path, line in found.items()]


def _list_unfit_reasons(record: Record) -> Iterator[tuple[str, str]]:
    """Yield (reason, remedy) for a record of the wrong kind or state."""
    if record.tier != PRIVATE:
        yield (
            "it is in the %s tier" % TIER_NAMES[record.tier],
            "only records of this project's private tier can be shared",
        )
    if record.kind in layout.TRANSCRIBED_KINDS:
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


def move_record(store: Store, record: Record, tier: str) -> str:
    """Move a record into the shared or the private tier; return its name there.

    A killed move leaves a mark, and `finish_move` completes it.  Raises StoreError where another
    file has its name, OSError.
    """
    place, name = store.place, tier + record.name[1:]
    if tier not in store.roots:
        raise StoreError(
            "there is no shared tier here; run this in a repository that has its "
            "own .dayleaf directory"
        )
    source, target = place.path(record.name), place.path(name)
    data, mtime = store.raw(record.name), os.stat(source).st_mtime_ns
    moved = _rewrite_for_tier(data, record, tier)
    finish_move(store)
    with writer.TierWriter(place, store.on_change) as tiers:
        mark = place.private + layout.MOVING
        tiers.create(mark, os.fsencode(record.name + "\n"), files.FILE_MODE, mtime)
        try:
            _create_or_compare(tiers, name, target, moved, mtime)
            if files.read(source, writer.WHOLE) != data:
                tiers.remove(target)
                raise StoreError("%s has changed meanwhile; look at it again" % record.name)
            tiers.remove(source)
        finally:
            tiers.remove(mark)
        if tier == SHARED:
            archive.write_git_attributes(place.shared)
    return name


def finish_move(store: Store) -> None:
    """Complete an interrupted move of a record, which stands in both tiers.

    Two different files both stay.  Raises OSError.
    """
    place = store.place
    try:
        source = os.fsdecode(files.read(place.private + layout.MOVING, 4096)).strip()
    except FileNotFoundError:
        return
    target = (PRIVATE if source[:1] == SHARED else SHARED) + source[1:]
    with writer.TierWriter(place, store.on_change) as tiers, suppress(StoreError):
        record = store.read(source)
        if _rewrite_for_tier(store.raw(source), record, target[:1]) == store.raw(target):
            tiers.remove(place.path(source))
    with writer.TierWriter(place) as tiers:
        tiers.remove(place.private + layout.MOVING)


def _hide_origin_path(data: bytes, record: Record) -> bytes:
    origin = record.meta.get(ORIGIN)
    if not isinstance(origin, dict):
        return data
    path = origin.get("path")
    if not isinstance(path, str) or not os.path.isabs(path):
        return data
    return frontmatter.edit(data, {ORIGIN: {**origin, "path": hash_path(path)}}, record.name)


def _rewrite_for_tier(data: bytes, record: Record, tier: str) -> bytes:
    if tier == SHARED:
        data = _hide_origin_path(data, record)
    if record.meta.get("id") or record.guessed:
        return data
    return frontmatter.edit(data, {"id": record.id}, record.name)


def _create_or_compare(
    tiers: writer.TierWriter, name: str, target: str, data: bytes, mtime: int
) -> None:
    try:
        tiers.create(target, data, writer.file_mode(name[:1]), mtime)
    except FileExistsError:
        if files.read(target, writer.WHOLE) != data:
            raise StoreError(
                "%s: another record has that name there; rename one of the two" % name
            ) from None


# ---- what git says


# status (`M`, `D`, `R100` …), path, new path or "", (author, address, commit)
_Change = tuple[str, str, str, tuple[str, str, str]]


def _parse_changes(words: Iterable[str]) -> Iterator[_Change]:
    """Yield the changes in git's output of `--name-status -z`."""
    author, rest = ("", "", ""), iter(words)
    for word in rest:
        word = word.lstrip("\n")
        if word[:1] == "\1" and word.count("\2") > 1:
            name, address, commit = word[1:].rsplit("\2", 2)
            author = name, address.strip().lower(), commit
        elif word:
            path = next(rest, "")
            yield word, path, next(rest, "") if word[0] in "RC" else "", author


class Repository:
    """Asks git about the shared tier.  Every call starts a process."""

    def __init__(self, place: Place, env: Mapping[str, str]):
        self.place, self.env = place, env
        self.prefix = place.shared[len(place.root) + 1 :] + "/"

    def run_git(self, *words: str) -> list[str] | None:
        """Return git's output split at NUL bytes, None on failure."""
        done = safegit.read(self.place.root, self.env, *words)
        if done.rc:
            return None
        return done.out.decode("utf-8", "surrogateescape").rstrip("\n").split("\0")

    def me(self) -> str:
        """Return the address of this user's commits, or ""."""
        return safegit.read_user_email(self.place.root, self.env)

    def authors(self) -> dict[str, tuple[str, str, str]]:
        """Return (first author, their address, last author) by committed path."""
        found: dict[str, tuple[str, str, str]] = {}
        for status, path, new, author in self._read_log("--topo-order", "--reverse", "-M", "HEAD"):
            first = author
            if status[0] == "R":
                first = found.pop(path, author)
            elif not new:
                first = found.get(path, author)
            found[new or path] = (first[0], first[1], author[0])
        return found

    def find_latest_pull(self) -> str:
        """Return HEAD's commit before the latest pull, merge or rebase, or ""."""
        options = "-g -z --format=%H%x02%gs -n".split()
        lines = self.run_git("log", *options, str(_MOST_LOG_LINES), "HEAD") or []
        rows = [line.split("\2") for line in lines]
        for at, row in enumerate(rows):
            if len(row) == 2 and row[1].startswith(_ARRIVED):
                stop = at + 1
                while stop < len(rows) and _continues_later_step(rows[stop], rows[stop - 1][1]):
                    stop += 1
                return rows[stop][0] if stop < len(rows) else ""
        return ""

    def _read_log(self, *options: str) -> Iterator[_Change]:
        """Yield the changes of commits in the shared tier."""
        form = ("--name-status", "-z", "--format=%x01%aN%x02%aE%x02%h")
        yield from _parse_changes(self.run_git("log", *form, *options, "--", self.prefix) or [])

    def find_others_changes(self, since: str, me: str) -> set[str]:
        """Return the paths that others (not `me`) changed since a commit."""
        changes = self._read_log("--no-renames", since + "..HEAD")
        return {path for _, path, _, author in changes if author[1] != me}

    def read_deletions(self, since: str) -> dict[str, tuple[str, str, str]]:
        """Return (author, address, commit) by the path deleted since a commit."""
        found: dict[str, tuple[str, str, str]] = {}
        changes = self._read_log("--no-renames", "--diff-filter=D", since + "..HEAD")
        for _, path, _, author in changes:
            found.setdefault(path, author)  # the newest commit comes first
        return found

    def find_missing(self, since: str) -> list[str]:
        """Return the paths of records deleted, not renamed, since a commit."""
        words = ("diff", "--name-status", "-z", "-M100%", since, "HEAD", "--", self.prefix)
        archived = self.prefix + archive.FOLDER + "/"
        changes = _parse_changes(self.run_git(*words) or [])
        gone = [path for code, path, new, _ in changes if code == "D" or new.startswith(archived)]
        return [path for path in gone if path.endswith(".md") and not path.startswith(archived)]

    def read_file(self, commit: str, path: str) -> bytes:
        """Return a file at a commit, b"" where absent."""
        done = safegit.read(self.place.root, self.env, "show", "%s:%s" % (commit, path))
        return b"" if done.rc else done.out

    def states(self) -> tuple[dict[str, str], list[str]]:
        """Return (`new` or `changed` by path, unmerged paths)."""
        words = ("status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--", self.prefix)
        found, unmerged = dict[str, str](), list[str]()
        for row in self.run_git(*words) or []:
            code, path = row[:2], row[3:]
            if "U" in code or code in ("AA", "DD"):
                unmerged.append(path)
            if path:
                found[path] = "new" if code in ("??", "A ", "AM") else "changed"
        return found, unmerged

    def merges_logs(self) -> bool:
        """Tell whether git merges the archive's log by union."""
        log = "%s%s/%s" % (self.prefix, archive.FOLDER, archive.LOG)
        return "union" in (self.run_git("check-attr", "-z", "merge", "--", log) or [])

    def count(self, span: str) -> int:
        """Count a range's commits in the shared tier, -1 for no range."""
        output = self.run_git("rev-list", "--count", span, "--", self.prefix)
        return int(output[0]) if output and output[0].isdigit() else -1


def read_status(store: Store, env: Mapping[str, str]) -> Status:
    """Return the state of a team's records; raises StoreError without a shared tier."""
    place = store.place
    if not place.git or SHARED not in store.roots:
        raise StoreError(
            "this is not a git repository with its own .dayleaf directory, so "
            "nothing is shared here"
        )
    _require_git(env)
    repository = Repository(place, env)
    me, authors, since = repository.me(), repository.authors(), repository.find_latest_pull()
    states, unmerged = repository.states()
    fresh = repository.find_others_changes(since, me) if since else set()
    shared: list[SharedRecord] = []
    conflicts = [(path, _UNMERGED) for path in unmerged]
    names = [name for name in store.names() if name[:1] == SHARED]
    for name in names:
        path = repository.prefix + name[2:]
        by, address, last = authors.get(path, ("", "", ""))
        mine, state = not address or address == me, states.get(path, "committed")
        shared.append(SharedRecord(name, by, last, mine, state, path in fresh))
        if path not in unmerged and find_merge_marker(place.path(name)):
            conflicts.append((path, _UNFINISHED))
    removed = _find_removed(repository, store, since, me, names) if since else []
    return Status(shared, removed, conflicts, *_count_ahead_behind(repository), since)


def _require_git(env: Mapping[str, str]) -> None:
    fault = safegit.find_fault(env)
    if fault:
        raise StoreError(
            "git does not run here (%s), so nothing is known of who shared what; "
            "`dayleaf recall` finds the records themselves" % fault
        )


def _continues_later_step(row: list[str], later: str) -> bool:
    """Tell whether two rows of HEAD's log are one pull or rebase."""
    if not row[1:] or not row[1].startswith(("pull", "rebase")):
        return False
    return "(" in later and "(start)" not in later


def _count_ahead_behind(repository: Repository) -> tuple[int, int]:
    upstream = safegit.find_upstream(repository.place.git)
    if not upstream:
        return -1, -1
    return repository.count(upstream + "..HEAD"), repository.count("HEAD.." + upstream)


def _find_removed(
    repository: Repository, store: Store, since: str, me: str, names: Sequence[str]
) -> list[RemovedRecord]:
    place = repository.place
    start, tiers = len(repository.prefix), (place.shared, place.private)
    missing = [
        path
        for path in repository.find_missing(since)
        if not any(files.exists(tier + "/" + path[start:]) for tier in tiers)
    ]
    if not missing:
        return []
    deletions, found = repository.read_deletions(since), list[RemovedRecord]()
    here, archived = _read_ids(store, names), archive.read_archived(store.place.shared)
    for path in missing:
        by, address, commit = deletions.get(path, ("", "", ""))
        name, before = SHARED + "/" + path[start:], commit + "~" if commit else since
        record = records.from_bytes(name, repository.read_file(before, path), 0.0)
        if record.id not in here and (address != me or not me):
            back = "git checkout %s -- %s" % (before, shlex.quote(":/" + path))
            if record.id in archived:
                back = "dayleaf store restore " + shlex.quote(record.id)
            found.append(RemovedRecord(name, record.id, record.title, by, back))
    return found


def _read_ids(store: Store, names: Sequence[str]) -> set[str]:
    found = set[str]()
    for name in names:
        with suppress(StoreError):
            found.add(store.read(name).id)
    return found


def find_merge_marker(path: str) -> int:
    """Return the line of an unresolved merge's marker in a file, or 0."""
    try:
        return frontmatter.find_merge_marker(files.read(path))
    except OSError:
        return 0


# ---- what others brought


def make_tracked_test(place: Place) -> Callable[[str], bool]:
    """Return a function that tells whether git tracks a record, if unsure True."""
    if not place.git:
        return lambda name: True
    if not files.exists(place.git + "/index"):
        return lambda name: False
    tracked, prefix = gitindex.read(place.git), place.shared[len(place.root) + 1 :] + "/"
    return lambda name: not tracked.whole or prefix + name[2:] in tracked.hashes


# ---- before each commit


def find_commit_hook(place: Place) -> tuple[bool, str]:
    """Return (whether a pre-commit hook checks secrets, command to install it)."""
    own = layout.find_common_git(place.git) + "/hooks/pre-commit" if place.git else ""
    paths = [*([own] if own else []), *(place.root + "/" + name for name in CONFIGURED)]
    if any(_mentions_dayleaf(path) for path in paths):
        return True, ""
    if not own or os.path.lexists(own):
        return False, "let the repository's pre-commit hook run `%s`" % COMMAND
    form = (
        "printf '#!/bin/sh\\ncommand -v dayleaf >/dev/null || exit 0\\nexec %s\\n' > '%s' "
        "&& chmod +x '%s'"
    )
    return False, form % (COMMAND, own, own)


def _mentions_dayleaf(path: str) -> bool:
    try:
        return b"dayleaf" in files.read(path)
    except OSError:
        return False
