"""What a new record's file is called, and what stands in it."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

from memory import clock, files, frontmatter, paths, records
from memory.errors import UsageError
from memory.paths import FOLDERS

TITLE_LIMIT = 200


class New(NamedTuple):
    """A record that is not written yet: its path below a tier without the last digits, their source, its id, its bytes."""

    stem: str
    digest: str
    id: str
    data: bytes


def composed(kind: str, title: str, body: str, cleaned: Callable[[Any], Any], now: float, *, tags: Sequence[str] = (),
             source: str = "human", session: str = "", extra: Optional[Mapping[str, Any]] = None, mark: str = "") -> New:
    """Compose a record without its secrets and private parts.

    cleaned: takes them out of a structure of texts.  now: its creation time where `extra` names none, seconds since the
    epoch.  mark: what the id follows from; its own text and time where it is "".  The rest is as for `Store.add`.  Raises
    UsageError.
    """
    if kind not in FOLDERS:
        raise UsageError("no kind '%s'; use one of %s" % (kind, ", ".join(records.KINDS)))
    if source not in records.SOURCES:
        raise UsageError("no source '%s'; use one of %s" % (source, ", ".join(records.SOURCES)))
    more = {key: value for key, value in (extra or {}).items() if key not in ("id", "kind", "title", "source")}
    title, body, given = cleaned([title, body, {"session": session, **more, "tags": list(tags) or more.get("tags")}])
    title = one_line(title)
    if not title and not body.strip():
        raise UsageError("nothing is left to keep: all of it is private")
    created = _instant(given.pop("created", None), now)
    told = files.sha256(mark.encode("utf-8", "replace")) if mark else digest(kind, title, body, created)
    identity = records.letter(kind) + "-" + told[:8]
    meta = {"id": identity, "kind": kind, "title": title or None, "created": clock.iso(created),
            "tags": given.pop("tags") or None, "source": source, "session": given.pop("session") or None, **given}
    return New(FOLDERS[kind] + "/" + stem(kind, title, body, created), told, identity, frontmatter.compose(meta, body))


def slug(kind: str, title: str, body: str) -> str:
    """Return what a title becomes in a file's name, never empty."""
    return paths.slug(title or body[:80]) or kind


def stem(kind: str, title: str, body: str, created: float) -> str:
    """Return what the name of a record's file starts with: a checkpoint's begins with its day and time."""
    named = slug(kind, title, body)
    return named if kind != "checkpoint" else "%s/%s-%s" % (
        clock.day(created), clock.iso(created)[11:19].replace(":", ""), named)


def bare_stem(file: str) -> str:
    """Return a file's name without `.md` and the digits that dayleaf put at its end: `prices` of `prices-8fc4.md`."""
    stem = file[:-3] if file.endswith(".md") else file
    head, _, tail = stem.rpartition("-")
    return head if head and len(tail) == 4 and set(tail) <= set("0123456789abcdef") else stem


def digest(kind: str, title: str, body: str, created: float) -> str:
    """Return 64 hex digits of what a record says and when: the same again gives the same name and id."""
    return files.sha256("\0".join((kind, title, body, clock.iso(created))).encode("utf-8", "replace"))


def one_line(title: str) -> str:
    """Return a title as one line of printable characters, at most TITLE_LIMIT of them."""
    return " ".join("".join(c if c.isprintable() else " " for c in title).split())[:TITLE_LIMIT]


def _instant(value: Any, now: float) -> float:
    """Read a creation time given as seconds or as text; `now` where there is none."""
    found = clock.parse(value) if isinstance(value, str) else value
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else now
