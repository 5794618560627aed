"""The archive of a tier: the log of what moved there and back, and what stands there now.

Schema, version 1, of `<tier>/archive/log.jsonl`, one line a move, the latest line of an id counts:

    {"v":1,"t":"2026-11-21T14:30:52Z","id":"l-1a2b3c4d","from":"plans/x.md",
     "to":"archive/plans/x.md","reason":"..."}

With `"into":"l-5e6f7a8b"` the line is a tombstone: the record was merged into that one, and links
to it lead there.  Without paths the record was removed for good; with `"session":"…"` `from` is the
instant up to which it told that session, or "": a person forgot all of the session, whose
conversation is `id` or "" (conversations.py).

In a repository all add lines to the end of that log, which git calls a conflict: `.gitattributes`
beside the shared records makes git keep both sides' lines.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Iterable, Iterator, NamedTuple

from memory.core import StoreError, clock, fastjson, files
from memory.core.layout import SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.layout import Place

FOLDER, LOG = "archive", "log.jsonl"
ATTRIBUTES, RULE = ".gitattributes", "%s/%s merge=union\n" % (FOLDER, LOG)
SAME_BYTES = "* -text\n"  # other line ends would be other content than a person approved
RESTORED = "restored"  # the reason of a move back that a person asked for
REMOVED = "removed"  # the reason of a line without paths: no file of the record is left
LIMIT = 64 << 20  # bytes of the log that are read, and of a file that is copied


class LogEntry(NamedTuple):
    """A line of the archive's log.  session: of a forgotten session or a removed record, or ""."""

    move: Move
    reason: str
    session: str


class Move(NamedTuple):
    """A record's move to or from the archive.

    home, away: the path below its tier before and after.  into: the id of the record into which it
    was merged, or "".
    """

    id: str
    home: str
    away: str
    into: str = ""


def read_archived(root: str) -> dict[str, Move]:
    """Return the latest move of each archived record by id.

    Torn and foreign lines of the log are skipped.  Whoever opens the paths must prove that they lie
    beneath.
    """
    return {
        move.id: move
        for move, _, _ in read_log(root)
        if move.away.startswith(FOLDER + "/") and files.exists(root + "/" + move.away)
    }


def restored_ids(root: str) -> set[str]:
    """Return the ids of restored records that were not archived again."""
    latest = {move.id: reason for move, reason, _ in read_log(root)}
    return {id for id, reason in latest.items() if reason == RESTORED}


def read_log(root: str, holding: bytes = b"") -> Iterator[LogEntry]:
    """Yield the valid lines of a tier's log, none where it lacks `holding`."""
    try:
        data = files.read(root + "/" + FOLDER + "/" + LOG, LIMIT, follow=False)
    except OSError:
        return
    for line in fastjson.parse_rows(data if holding in data else b""):
        if all(isinstance(line.get(key), str) for key in ("id", "from", "to")):
            into, session = line.get("into"), line.get("session")
            yield LogEntry(
                Move(line["id"], line["from"], line["to"], into if isinstance(into, str) else ""),
                str(line.get("reason")),
                session if isinstance(session, str) else "",
            )


def _follow_merges(id: str, into: dict[str, str]) -> str:
    """Return the id at the end of a chain of merges; in a circle, any."""
    left = len(into)
    while id in into and left:
        id, left = into[id], left - 1
    return id


def successors(tiers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the present successor of each merged record, by id.

    tiers: (letter, directory).  A tombstone counts within its own tier; a repository's tombstone
    of an id in the user's own archives is ignored.
    """
    archived = [(letter, read_archived(root)) for letter, root in tiers]
    own = {id for letter, moves in archived if letter != SHARED for id in moves}
    found: dict[str, str] = {}
    for letter, moves in archived:
        into = {id: move.into for id, move in moves.items() if move.into not in ("", id)}
        for id in into:
            kept = _follow_merges(id, into)
            # a log written by hand may lead in a circle
            if kept not in into and not (letter == SHARED and id in own):
                found.setdefault(id, kept)
    return {id: kept for id, kept in found.items() if not _is_circular(found, id)}


def _is_circular(into: dict[str, str], id: str) -> bool:
    seen: set[str] = set()
    while id in into and id not in seen:
        seen.add(id)
        id = into[id]
    return id in into


def successors_in_place(place: Place) -> dict[str, str]:
    """Return the successors of merged records in all tiers of a place."""
    return successors((letter, files.real_path(root)) for letter, root in place.tiers())


def find_free_path(root: str, home: str, checksum: str) -> str:
    """Find a free path in a tier's archive for a record.

    One that holds the record's own bytes is free: a move was cut short.  checksum: its digits make
    the name unique.
    """
    away = home if home.startswith(FOLDER + "/") else FOLDER + "/" + home
    for digits in range(0, 64, 4):
        path = root + "/" + away
        if not files.exists(path) or have_same_bytes(path, root + "/" + home):
            break
        away = "%s/%s-%s.md" % (FOLDER, home[:-3], checksum[digits : digits + 4])
    return away


def log(root: str, move: Move, reason: str, now: float, mode: int, session: str = "") -> None:
    """Append a move, or a forgotten session, to a tier's log.

    mode: of the log's file.  Raises StoreError where the log is a link elsewhere, OSError.
    """
    path = root + "/" + FOLDER + "/" + LOG
    if not files.is_inside(path, root):
        raise StoreError("%s is a link out of the store; replace it with the file itself" % path)
    line = {
        "v": 1,
        "t": clock.iso(now),
        "id": move.id,
        "from": move.home,
        "to": move.away,
        "reason": reason,
        **({"into": move.into} if move.into else {}),
        **({"session": session} if session else {}),
    }
    files.append_line(path, fastjson.dump(line))
    # before the file moves: a power cut must not leave a moved record that no command finds
    files.sync(path)
    if mode != files.FILE_MODE:
        os.chmod(path, mode)
        write_git_attributes(root)


def write_git_attributes(root: str) -> None:
    """Write attributes: git keeps both sides' log lines, and all line ends.

    Attributes that mention the log or `text` stay.  Where this fails, doctor names the log.
    """
    path = root + "/" + ATTRIBUTES
    with suppress(OSError):
        present = files.read(path) if files.exists(path) else b""
        rules = "" if b"text" in present else SAME_BYTES
        rules += "" if RULE.split()[0].encode() in present else RULE
        if not rules or not files.is_inside(path, root):
            return
        end = "\n" if present and not present.endswith(b"\n") else ""
        files.append(path, (end + rules).encode())
        if not present:
            os.chmod(path, 0o644)


def move_file(source: str, target: str, mode: int) -> None:
    """Move a file without ever replacing another file; raises OSError.

    The file stands at both places for a moment, never at none; a move cut short is completed.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        if not have_same_bytes(source, target):
            raise
    except OSError:  # no hard links here (exFAT, some FUSE mounts)
        files.create(target, files.read(source, LIMIT), mode)
    os.unlink(source)


def have_same_bytes(one: str, other: str) -> bool:
    import filecmp  # rarely needed

    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False
