"""Markdown that people and other tools keep: any layout of directories, frontmatter of any kind.

    .memories/            a directory a day of checkpoints (`HHMMSS_xxxx.md`), plans in `plans/`
                          and `briefs/`; goldfish's
    .prompts/learnings/   a learning a file

All frontmatter is kept but the keys that only dayleaf may set (_RESERVED_KEYS).
"""

from __future__ import annotations

import os
import re
import time
from calendar import timegm
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Callable, Iterator, Mapping, NamedTuple

from memory.core import clock, files, frontmatter, layout, records, walk
from memory.core.layout import ADDED, PRIVATE, Place
from memory.core.records import Record
from memory.project import claudemem, otherfiles
from memory.project.intake import Draft, Piece
from memory.project.otherfiles import LINKED, Skip, Source
from memory.store import safegit

FROM = "dir"
STORES = (".memories", ".prompts/learnings")  # of other tools, below a project
_LEVELS = {"1": "low", "2": "low", "3": "medium", "4": "high", "5": "high"}  # goldfish's confidence
_CLIENT_FILES = ("CLAUDE.md", "CLAUDE.local.md", "MEMORY.md")
# only dayleaf sets these; `said` marks the user's own sessions
_RESERVED_KEYS = frozenset(
    "id kind title source accepted accepted_by approved origin session harvest created timestamp "
    "date tags said".split()
)
# `2016-05-05/101530_x.md`, `2016-05-05.md`; `20200517.md`, `202005171230.md`
_DAY = re.compile(r"(?:^|/)(\d{4}-\d{2}-\d{2})(?:/(\d{6})[_-]|[/_. -])")
_GLOBS = re.compile(rb"^(globs:[ \t]*)([*!{][^\r\n]*)", re.M)
_COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(\d{4}|\d{6})?(?!\d)")


class Root(NamedTuple):
    """A directory to be read.  store: of STORES, or "".  shown: for messages."""

    path: str
    store: str
    shown: str


def find_roots(path: str) -> tuple[list[Root], list[Skip]]:
    """Return (folders of other tools in a directory, else itself; skipped folders)."""
    stores = [store for store in STORES if os.path.isdir(path + "/" + store)]
    if stores:
        inside = [store for store in stores if files.is_inside(path + "/" + store, path)]
        return (
            [Root(path + "/" + store, store, store) for store in inside],
            [Skip(store, *LINKED) for store in stores if store not in inside],
        )
    store = next((store for store in STORES if (path + "/").endswith("/" + store + "/")), "")
    return [Root(path, store, path)], []


def make_candidate(piece: Piece | Skip) -> Piece | Skip:
    """Return a session's piece without what only a person may say."""

    def draft(of: Piece) -> Draft | Skip:
        made = of.draft()
        if isinstance(made, Skip):
            return made
        claims = ("pinned", "confidence")
        extra = {key: value for key, value in (made.extra or {}).items() if key not in claims}
        waits = {"accepted": False} if made.kind == "learning" else {}
        return made._replace(extra={**extra, **waits})

    return piece if isinstance(piece, Skip) else piece._replace(draft=partial(draft, piece))


def is_wanted(name: str) -> bool:
    """Tell whether a file may hold text or an export."""
    return name.lower().endswith((*walk.NOTE_ENDS, claudemem.ENDING))


def select_readable(found: list[Source]) -> list[Source]:
    """Return the sources without JSON files that are no export of claude-mem."""
    return [
        source
        for source in found
        if not source.name.lower().endswith(claudemem.ENDING) or claudemem.is_export(source.path)
    ]


def read_notes(
    root: Root,
    found: list[Source],
    place: Place,
    tier: str,
    kind: str,
    author: str,
    active: dict[str, str],
    now: float,
    env: Mapping[str, str],
) -> Iterator[Piece | Skip]:
    """Yield a piece for each file.

    kind: of files without one; "" to go by their folder, else learning.  author: human or agent,
    who imports.  active: the active plan's name by its source's path, "" for a plan that was not
    imported; the first imported active plan joins it.  now: later dates are ignored.
    """
    commits = lru_cache(1)(partial(_read_first_commits, env))
    given = _ImportArguments(root, kind, author, active, now, commits)
    for source in found:
        file = source.name.rpartition("/")[2]
        if file in _CLIENT_FILES:
            remedy = "`dayleaf store import claude-memory` takes it"
            yield Skip(source.name, "it belongs to the client", remedy)
            continue
        data = otherfiles.read_source(source)
        if isinstance(data, Skip):
            yield data
            continue
        path = otherfiles.record_path(source.path, place, tier)
        if file.lower().endswith(claudemem.ENDING):
            yield from claudemem.parse_export(source, path, data, now)
            continue
        draft = partial(_draft_note, given, source, path, data)
        yield Piece((path, ""), source.name, files.sha256(data), draft, below=source.name)


class _ImportArguments(NamedTuple):
    root: Root
    kind: str
    author: str
    active: dict[str, str]
    now: float
    commits: Callable[[str], dict[str, float]]


def _draft_note(given: _ImportArguments, source: Source, path: str, data: bytes) -> Draft | Skip:
    readable = _quote_globs(data) if source.name.endswith(".mdc") else data
    page, root = frontmatter.parse(readable), given.root
    meta = page.meta
    kind = _find_kind(meta, given.kind, root, source)
    skip = _check_skip(source, path, kind, page, given.active)
    if skip:
        return skip
    extra = _build_frontmatter(given, source, path, meta, kind, data)
    read = records.from_bytes("p/x/" + source.name.rpartition("/")[2], readable, 0.0)
    problems = _collect_problems(read, extra)
    named_agent = str(meta.get("source")).lower() in records.SOURCES[1:]
    by_agent = given.author == "agent" or kind == "checkpoint" or named_agent
    title = _find_title(meta, page.body, source, root.store)
    named = "" if root.store else records.note_name(source.name) or _numbered_stem(source.name)
    if named and named != title:  # search and links know its file's name too
        extra["aliases"] = list(dict.fromkeys([*records.parse_labels(meta.get("aliases")), named]))
    author = "agent" if by_agent else "human"
    return Draft(kind, title, page.body, read.tags, author, extra, problems)


def _quote_globs(data: bytes) -> bytes:
    """Quote the patterns in a Cursor rule's head, which are no YAML."""

    def quote(found: re.Match[bytes]) -> bytes:
        return b"%s'%s'" % (found[1], found[2].replace(b"'", b"''"))

    return _GLOBS.sub(quote, data, 1)


def _collect_problems(read: Record, extra: dict[str, Any]) -> tuple[str, ...]:
    # other tools name other sources, and `_translate_confidence` may have read their confidence
    quiet = ["line 1: source "]
    if extra.get("confidence"):
        quiet.append("line 1: confidence ")
    problems = tuple(each for each in read.problems if not each.startswith(tuple(quiet)))
    if extra.get("date"):
        date = str(extra["date"])[:40]
        problems += ("the date '%s' cannot be read; write it as 2018-05-15" % date,)
    return problems


def _is_active(meta: dict[str, Any]) -> bool:
    return str(meta.get("status") or "active").lower() == "active"


def _check_skip(
    source: Source, path: str, kind: str, page: frontmatter.Page, active: dict[str, str]
) -> Skip | None:
    """Return why a file is not imported, or None; note an active plan."""
    meta = page.meta
    if kind == "conversation":
        remedy = "copy what is worth keeping into a note"
        why = ("a conversation, which only its own session writes", remedy)
    elif records.is_note_template(meta, page.body):
        why = ("a template that a program fills in", "import what is made of it")
    elif not page.body.strip():
        why = ("no text below its frontmatter", "write something into it")
    elif kind == "rule" and not meta.get("rationale"):
        why = ("a rule without a rationale", "add a line `rationale: ...`")
    elif kind == "plan" and _is_active(meta):
        other = next((active[known] for known in active if known != path), "")
        if not other:
            active[path] = source.name
            return None
        why = ("another plan is active, %s" % other, "`dayleaf plan done` or `drop` first")
    else:
        return None
    return Skip(source.name, *why)


def _numbered_stem(name: str) -> str:
    stem = name.rpartition("/")[2].rpartition(".")[0]
    return stem if stem[:1].isdigit() else ""


def _build_frontmatter(
    given: _ImportArguments, source: Source, path: str, meta: dict[str, Any], kind: str, data: bytes
) -> dict[str, Any]:
    extra: dict[str, Any] = {key: value for key, value in meta.items() if key not in _RESERVED_KEYS}
    if kind == "resource":
        type = meta["type"] if meta.get("type") in ("doc", "script") else "doc"
        extra.update(type=type, path=path, checksum=files.sha256(data))
    if kind == "learning" and str(meta.get("accepted", "")).lower() in ("false", "no"):
        extra["accepted"] = False
    level = _translate_confidence(meta.get("confidence"))
    extra.pop("confidence", None)
    if level:
        extra["confidence"] = level
    if kind == "checkpoint":
        _flatten_git(extra)
    _set_dates(extra, given, source, meta)
    if isinstance(meta.get("id"), str):
        extra["origin"] = {"id": meta["id"]}
    return extra


def _flatten_git(extra: dict[str, Any]) -> None:
    """Replace the key `git`, as goldfish writes it, by its parts."""
    git = extra.get("git")
    if isinstance(git, dict):
        extra.update((key, git[key]) for key in ("branch", "commit", "files") if git.get(key))
        del extra["git"]


def _set_dates(
    extra: dict[str, Any], given: _ImportArguments, source: Source, meta: dict[str, Any]
) -> None:
    """Set `created`; keep an unreadable `date`; delete a future `updated`."""
    extra["created"], unread = _find_creation_time(given, source, meta)
    if unread:
        extra["date"] = unread
    if (clock.parse(str(extra.get("updated") or "")) or 0.0) > given.now:
        del extra["updated"]


def _translate_confidence(confidence: Any) -> str:
    text = str(confidence or "").strip().lower()
    if text in records.CONFIDENCES:
        return text
    try:
        share = float(text)
    except ValueError:
        return ""
    if text in _LEVELS:
        return _LEVELS[text]
    if not share <= 1:
        return ""
    if share < 0.4:
        return "low"
    return "medium" if share < 0.75 else "high"


def _find_title(meta: dict[str, Any], body: str, source: Source, store: str) -> str:
    if source.name.endswith(".txt") and not meta:
        return re.sub(r"[-_]+", " ", source.name.rpartition("/")[2][:-4]).strip()
    keys = ("title", "name", "summary") if store else ("title", "name")
    title = next(filter(None, map(meta.get, keys)), "")
    if title and isinstance(title, str):
        if not (store and title.isupper()):
            return title
        # goldfish's first heading, `WHAT`
        body = "\n".join(line for line in body.split("\n") if line[:1] != "#")
    # stores of other tools name their files after an instant
    name = "%s/x/%s" % (PRIVATE if store else ADDED, source.name)
    return records.from_bytes(name, body.encode(), 0.0).title


def _find_kind(meta: dict[str, Any], given: str, root: Root, source: Source) -> str:
    kind = str(meta.get("kind") or meta.get("type") or "").strip().lower()
    if kind == "note" and not meta.get("kind"):  # basic-memory's word for every text
        kind = ""
    if kind in (*records.KINDS, "conversation"):
        return kind
    if given:
        return given
    if root.store != ".memories":
        return "learning"
    if source.name.startswith(("plans/", "briefs/")):
        return "plan"
    return "checkpoint" if _DAY.search(source.name) else "learning"


def _find_creation_time(
    given: _ImportArguments, source: Source, meta: dict[str, Any]
) -> tuple[float, str]:
    """Return (creation time, unreadable date of the head or "") of a source.

    From the head, else the path, git's first commit of the file, or its last change.
    """
    now = given.now
    found, unread = _read_head_date(meta, now)
    if found is not None:
        return found, ""
    found = _parse_path_date(source)
    if found is None or found > now:
        checkout = layout.find_git(source.path.rpartition("/")[0])[0]
        found = given.commits(checkout).get(source.path) if checkout else None
    if found is not None and found <= now:
        return found, unread
    return min(os.stat(source.path).st_mtime, now), unread


def _read_head_date(meta: dict[str, Any], now: float) -> tuple[float | None, str]:
    """Return (creation time in a head or None, unreadable date or "")."""
    unread = ""
    for key in ("created", "timestamp", "date"):
        date = str(meta.get(key) or "").strip()
        found = _parse_date(date)
        if found is None:
            unread = unread or date
        elif found <= now:
            return found, unread
    return None, unread


def _parse_date(date: str) -> float | None:
    """Parse a date, also `2.3.2017`, `15 May 2018`, `2018-05`, or return None."""
    for form in ("%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%Y-%m"):
        with suppress(ValueError, OverflowError):
            return float(timegm(time.strptime(date, form)))
    return clock.parse(date)


def _parse_path_date(source: Source) -> float | None:
    """Parse the date and time in a path, or return None."""
    name = source.name
    match = _DAY.search(name) or _COMPACT.match(name.rpartition("/")[2])
    *date, time_of_day = match.groups("") if match else ("", "")
    day = _parse_date("-".join(date))
    digits = time_of_day.ljust(6, "0")
    hour, minute, second = (int(digits[at : at + 2]) for at in (0, 2, 4))
    is_time = hour < 24 and minute < 60 and second < 60
    if not day or not is_time:
        return day
    return day + hour * 3600 + minute * 60 + second


def _read_first_commits(env: Mapping[str, str], root: str) -> dict[str, float]:
    """Return when each file of a checkout was first committed."""
    words = "log --diff-filter=A --no-renames --name-only -z --format=%x01%at".split()
    done = safegit.read(root, env, *words)
    found: dict[str, float] = {}
    at = 0.0
    for word in done.out.decode("utf-8", "surrogateescape").split("\0"):
        word = word.strip("\n")
        if word[:1] == "\1":
            at = float(word[1:] or 0)
        elif word:
            found[root + "/" + word] = at  # the oldest commit comes last
    return found
