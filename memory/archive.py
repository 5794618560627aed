"""The archive of a tier: the log of what moved there and back, and what stands there now.

Schema, version 1, of `<tier>/archive/log.jsonl`, one line a move, the latest line of an id counts:

    {"v":1,"t":"2026-11-21T14:30:52Z","id":"l-1a2b3c4d","from":"plans/x.md","to":"archive/plans/x.md","reason":"..."}
"""

from __future__ import annotations

import contextlib
import os
from typing import Dict, NamedTuple

from memory import clock, files, jsonio
from memory.errors import StoreError

FOLDER, LOG = "archive", "log.jsonl"
LIMIT = 64 << 20  # bytes of the log that are read, and of a file that is copied


class Move(NamedTuple):
    """A record's id, the path below its tier that it left, and the one that it went to."""

    id: str
    home: str
    away: str


def standing(root: str) -> Dict[str, Move]:
    """Return by id what stands in a tier's archive now; a torn or foreign line of the log counts as none.

    root: the tier's directory.  The paths are as the log has them: whoever opens them must prove that they lie beneath.
    """
    try:
        data = files.read(root + "/" + FOLDER + "/" + LOG, LIMIT, follow=False)
    except OSError:
        return {}
    found: Dict[str, Move] = {}
    for text in data.split(b"\n"):
        with contextlib.suppress(ValueError):
            line = jsonio.parse(text)
            if isinstance(line, dict) and all(isinstance(line.get(key), str) for key in ("id", "from", "to")):
                move = Move(line["id"], line["from"], line["to"])
                if move.away.startswith(FOLDER + "/") and files.exists(root + "/" + move.away):
                    found[move.id] = move
    return found


def free_place(root: str, home: str, checksum: str) -> str:
    """Return the path below a tier at which a record goes to the archive: no other one stands there.

    home: its path now.  checksum: 64 hex digits, of which some become part of the name where another one has it.
    """
    place = home if home.startswith(FOLDER + "/") else FOLDER + "/" + home
    for digits in range(0, 64, 4):
        if not files.exists(root + "/" + place):
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
    files.append(path, (jsonio.dump(line) + "\n").encode("ascii"))
    if mode != files.FILE_MODE:
        os.chmod(path, mode)


def move_file(source: str, target: str, mode: int) -> None:
    """Move a file without ever replacing another one: it stands at both places for a moment, never at none.

    Raises FileExistsError or another OSError.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # no hard links here (exFAT, some FUSE mounts)
        files.create(target, files.read(source, LIMIT), mode)
    os.unlink(source)
