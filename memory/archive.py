"""The archive of a tier: the log of what moved there and back, and what stands there now.

Schema, version 1, of `<tier>/archive/log.jsonl`, one line a move, the latest line of an id counts:

    {"v":1,"t":"2026-11-21T14:30:52Z","id":"l-1a2b3c4d","from":"plans/x.md","to":"archive/plans/x.md","reason":"..."}

With `"into":"l-5e6f7a8b"` the line is a tombstone: the record was merged into that one, and links to it lead there.
"""

from __future__ import annotations

import contextlib
import os
from typing import Dict, Iterable, Iterator, NamedTuple, Set, Tuple

from memory import clock, files, jsonio
from memory.errors import StoreError
from memory.paths import SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.paths import Place

FOLDER, LOG = "archive", "log.jsonl"
RESTORED = "restored"  # the reason of a move back that a person asked for
LIMIT = 64 << 20  # bytes of the log that are read, and of a file that is copied


class Move(NamedTuple):
    """A record's id, the path below its tier that it left, the one that it went to, and the id it was merged into or ""."""

    id: str
    home: str
    away: str
    into: str = ""


def standing(root: str) -> Dict[str, Move]:
    """Return by id what stands in a tier's archive now; a torn or foreign line of the log counts as none.

    root: the tier's directory.  The paths are as the log has them: whoever opens them must prove that they lie beneath.
    """
    return {move.id: move for move, _ in _moves(root)
            if move.away.startswith(FOLDER + "/") and files.exists(root + "/" + move.away)}


def brought_back(root: str) -> Set[str]:
    """Return the ids that a person took out of a tier's archive, and that did not go back there."""
    latest = {move.id: reason for move, reason in _moves(root)}
    return {id for id, reason in latest.items() if reason == RESTORED}


def _moves(root: str) -> Iterator[Tuple[Move, str]]:
    """Yield each move of a tier's log with its reason."""
    try:
        data = files.read(root + "/" + FOLDER + "/" + LOG, LIMIT, follow=False)
    except OSError:
        return
    for text in data.split(b"\n"):
        with contextlib.suppress(ValueError):
            line = jsonio.parse(text) if text else None
            if isinstance(line, dict) and all(isinstance(line.get(key), str) for key in ("id", "from", "to")):
                into = line.get("into")
                yield Move(line["id"], line["from"], line["to"], into if isinstance(into, str) else ""), str(line.get("reason"))


def successors(tiers: Iterable[Tuple[str, str]]) -> Dict[str, str]:
    """Return by id of a merged record the id of the one that stands for it.

    tiers: (letter, directory).  A tombstone leads on within its own tier; a repository's says nothing of an id that stands in
    an archive of the user's own.
    """
    away = [(letter, standing(root)) for letter, root in tiers]
    own = {id for letter, moves in away if letter != SHARED for id in moves}
    found: Dict[str, str] = {}
    for letter, moves in away:
        into = {id: move.into for id, move in moves.items() if move.into not in ("", id)}
        for id in into:
            kept, left = id, len(into)
            while kept in into and left:
                kept, left = into[kept], left - 1
            if kept not in into and not (letter == SHARED and id in own):  # a log written by hand may lead in a circle
                found.setdefault(id, kept)
    return found


def merged(place: Place) -> Dict[str, str]:
    """Return `successors` of all tiers of a place."""
    return successors((letter, files.real(root)) for letter, root in place.tiers())


def free_place(root: str, home: str, checksum: str) -> str:
    """Return the path below a tier at which a record goes to the archive: no other one stands there.

    Its own bytes may: a move that was cut short.

    home: its path now.  checksum: 64 hex digits, of which some become part of the name where another one has it.
    """
    place = home if home.startswith(FOLDER + "/") else FOLDER + "/" + home
    for digits in range(0, 64, 4):
        if not files.exists(root + "/" + place) or same(root + "/" + place, root + "/" + home):
            break
        place = "%s/%s-%s.md" % (FOLDER, home[:-3], checksum[digits:digits + 4])
    return place


def log(root: str, move: Move, reason: str, now: float, mode: int) -> None:
    """Append a move to a tier's log; raises StoreError where the log is a link elsewhere, OSError.

    now: seconds since the epoch, UTC.  mode: of the log's file.
    """
    path = root + "/" + FOLDER + "/" + LOG
    if not files.inside(path, root):
        raise StoreError("%s: a link out of the store; replace the link by the file itself" % path)
    line = {"v": 1, "t": clock.iso(now), "id": move.id, "from": move.home, "to": move.away, "reason": reason}
    if move.into:
        line["into"] = move.into
    files.append(path, (jsonio.dump(line) + "\n").encode("ascii"))
    if mode != files.FILE_MODE:
        os.chmod(path, mode)


def move_file(source: str, target: str, mode: int) -> None:
    """Move a file without ever replacing another one: it stands at both places for a moment, never at none.

    Where it stands at both already, the move is brought to its end.  Raises FileExistsError or another OSError.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        if not same(source, target):
            raise
    except OSError:  # no hard links here (exFAT, some FUSE mounts)
        files.create(target, files.read(source, LIMIT), mode)
    os.unlink(source)


def same(one: str, other: str) -> bool:
    """Tell whether the same bytes stand at two paths."""
    try:
        return os.path.samefile(one, other) or (os.stat(one).st_size == os.stat(other).st_size
                                                and files.read(one, LIMIT) == files.read(other, LIMIT))
    except OSError:
        return False
