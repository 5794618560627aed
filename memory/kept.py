"""Digests kept for a day, so that a second question alike asks no model.

Schema, version 2: `<cache>/digests/<key>.json`, sealed (sealed.py),

    {"v":2,"t":1795271452.0,"provider":"claude","in":4120,"out":163,"bullets":[["text [k3m9]",["k3m9"]]],"notes":[],"said":2,
     "cut":[["no record holds it","E0382"]]}

(in one line), where `said` counts the bullets of the answer and `cut` has those that did not stand.  The key is the
SHA-256 of the template's version, each record's id, date and checksum, question, provider, model, budget, redaction
and, for one part of a digest (parts.py), the word `part`.  Entries live for a day.  Whatever is wrong with one makes it absent.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Sequence

from memory import clock, files, sealed
from memory.account import Checked, Cut, Distilled
from memory.digest import Bullet, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory import spend

LIFETIME = clock.DAY  # how long a digest is kept


def key(question: str, sources: Sequence[Source], config: spend.Caps, name: str, model: str, budget: int,
        what: str = "") -> str:
    """Return the name of a digest: what it was asked, of which records, of whom, how.

    what: `part` for one part of a digest, "" for a whole one.
    """
    rows = [[s.id, s.created, s.checksum or files.sha256((s.title + "\0" + s.body).encode("utf-8", "replace"))]
            for s in sources]
    parts = [sealed.TEMPLATE, rows, question, name, model, budget, config["redact.enabled"], config["redact.allow"], what]
    if name == "command":
        parts.append(config["distill.command"])
    return files.sha256(json.dumps(parts).encode())


def keep(folder: str, key: str, now: float, digest: Distilled) -> None:
    """Keep a digest; where that cannot be, nothing is lost."""
    row = {"v": 2, "t": now, "provider": digest.provider, "in": digest.tokens_in, "out": digest.tokens_out,
           "bullets": [[b.text, list(b.ids)] for b in digest.bullets], "notes": list(digest.notes),
           "said": digest.checked.bullets, "cut": [[cut.why, cut.what] for cut in digest.checked.cut]}
    path = "%s/%s.json" % (folder, key)
    with contextlib.suppress(OSError):
        prune(folder, now)
        sealed.write(path, row)
        os.utime(path, (now, now))


def find(folder: str, key: str, now: float) -> Distilled | None:
    """Return a kept digest that is whole and young, else None."""
    try:
        row = sealed.read("%s/%s.json" % (folder, key))
        if row["v"] != 2 or not 0 <= now - row["t"] < LIFETIME:
            return None
        bullets = tuple(Bullet(str(said), tuple(map(str, ids))) for said, ids in row["bullets"])
        notes = tuple(map(str, row["notes"]))
        checked = Checked(int(row["said"]), len(bullets), tuple(Cut(str(why), str(what)) for why, what in row["cut"]))
        return Distilled(bullets, str(row["provider"]), int(row["in"]), int(row["out"]), True, notes, checked,
                         made=float(row["t"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def prune(folder: str, now: float | None) -> int:
    """Delete kept digests that are past their lifetime, or all of them, and return how many."""
    gone = 0
    try:
        entries = [entry for entry in os.scandir(folder) if entry.name.endswith(".json")]
    except OSError:
        return 0
    for entry in entries:
        with contextlib.suppress(OSError):
            if now is None or now - entry.stat(follow_symlinks=False).st_mtime >= LIFETIME:
                os.unlink(entry.path)
                gone += 1
    return gone
