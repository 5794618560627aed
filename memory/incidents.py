"""Verdicts on what happened: failures, captures that came to nothing, ledgers, the journal, logs, leftovers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from memory import archive, attempts, clock, files, journal, jsonio, ledger, paths, recovery, terminal
from memory.checkup import FAIL, OK, WARN, Check
from memory.errors import StoreError

RECENT = 7 * clock.DAY
TEMP_AGE = 3600.0  # seconds after which a temporary file is a leftover
UNUSED = 30 * clock.DAY  # since the last change, for a cache of no workspace
MUCH = 200 << 20  # bytes of receipts
FIX = "`dayleaf doctor --fix`"


def log(place: paths.Place, now: float) -> Iterator[Check]:
    """What failed in hooks lately, and faults of our own."""
    rows = _json_lines(place.home + "/log/errors.jsonl")[0]
    bugs = sorted(name for name in _listed(place.home + "/log") if name.startswith("bug-"))
    recent = [row for row in rows if now - (clock.parse(str(row.get("t"))) or 0.0) < RECENT]
    if recent:
        last = recent[-1]
        said = " ".join(str(last.get(key) or "") for key in ("t", "where", "error", "detail", "path", "at")).split()
        number = terminal.count(len(recent), "failure")
        yield Check(WARN, "log", "%s in hooks within 7 days, the last: %s" % (number, " ".join(said)),
                    "%s/log/errors.jsonl has them all" % place.home)
    else:
        yield Check(OK, "log", "no failure of a hook within 7 days (%d in all)" % len(rows))
    if bugs:
        number = terminal.count(len(bugs), "fault")
        yield Check(WARN, "log", "%s of dayleaf's own, the last in %s/log/%s" % (number, place.home, bugs[-1]),
                    "report it, then delete the file")


def _json_lines(path: str) -> tuple[list[dict[str, Any]], int]:
    """Return (the objects of a JSONL file, how many lines are none); an absent file has neither.  Raises OSError."""
    try:
        data = files.read(path, 16 << 20)
    except FileNotFoundError:
        return [], 0
    rows, torn = [], 0
    for line in data.split(b"\n"):
        try:
            row = jsonio.parse(line) if line.strip() else {}
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows += [row] if row else []
        else:
            torn += 1
    return rows, torn


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def ledgers(place: paths.Place) -> Iterator[Check]:
    """Whether each ledger can be read, is whole, and is nobody else's to write."""
    for name in ("trust.jsonl", "spend.jsonl"):
        path = place.home + "/" + name
        try:
            rows, torn = _json_lines(path)
        except OSError as error:
            yield Check(FAIL, "ledgers", "%s cannot be read (%s)" % (path, error.strerror), "chmod 600 '%s'" % path)
            continue
        if files.exists(path) and os.name != "nt" and os.stat(path).st_mode & 0o022:
            yield Check(FAIL, "ledgers", "%s can be written by others: nothing in it counts" % path, "chmod 600 '%s'" % path)
        elif torn:
            yield Check(WARN, "ledgers", "%s has %s that cannot be read" % (path, terminal.count(torn, "line")),
                        "remove them by hand")
        else:
            yield Check(OK, "ledgers", "%s: %s" % (name, terminal.count(len(rows), "line")))
    for each in ledger.ledgers(place):
        yield from _outcomes(each)


def _outcomes(each: ledger.Ledger) -> Iterator[Check]:
    """What a ledger of uses and outcomes holds: silent where there is none yet."""
    if not files.exists(each.path):
        return
    if not os.access(each.path, os.R_OK | os.W_OK):
        yield Check(FAIL, "ledgers", "%s cannot be read and written: no use counts" % each.path, "chmod 600 '%s'" % each.path)
        return
    found = ledger.whole(each)
    if found.passed:
        yield Check(WARN, "ledgers", "%s has %s of a newer version, passed over" % (
            each.path, terminal.count(found.passed, "line")), "update dayleaf; they are kept")
    if found.torn:
        yield Check(WARN, "ledgers", "%s has %s that cannot be read" % (each.path, terminal.count(found.torn, "line")),
                    "remove them by hand")
    yield Check(OK, "ledgers", "%s: uses and outcomes of %s" % (each.path, terminal.count(len(found.rows), "record")))


def ends(place: paths.Place) -> Iterator[str]:
    """Yield the ledgers and logs whose last line has no end: a writer was killed in it."""
    named = [place.home + "/" + name for name in ("trust.jsonl", "spend.jsonl", "log/errors.jsonl")]
    named += [each.path for each in ledger.ledgers(place)] + [journal.path(place), attempts.path_of(place)]
    named += ["%s/%s/%s" % (root, archive.FOLDER, archive.LOG) for letter, root in place.tiers() if letter != paths.SHARED]
    for path in named:
        try:
            if files.is_torn(path):
                yield path
        except OSError:
            continue


def torn(place: paths.Place) -> Iterator[Check]:
    """Ledgers whose last line has no end: silent where there is none."""
    for path in ends(place):
        yield Check(WARN, "ledgers", "%s ends in the middle of a line" % path, FIX)


def undoing(place: paths.Place) -> Iterator[Check]:
    """What the journal of upkeep says: silent where there is none."""
    if not files.exists(journal.path(place)):
        return
    try:
        runs = journal.runs(place)
    except StoreError as error:
        yield Check(FAIL, "journal", *str(error).split("; ", 1))
        return
    if runs and not runs[-1].done:
        yield Check(WARN, "journal", "an upkeep of %s was cut short" % runs[-1].began,
                    "`dayleaf upkeep --apply` ends it, or `dayleaf undo` takes it back")
    else:
        yield Check(OK, "journal", terminal.count(len(runs), "run") + " of upkeep")


def captures(place: paths.Place, env: dict[str, str], now: float) -> Iterator[Check]:
    """Captures that were cut short, and sessions whose transcript holds more than their checkpoints tell."""
    cut = attempts.unfinished(place, now)
    lost = dict(recovery.lost(place, env, now, paths.safe_id(env.get("CLAUDE_CODE_SESSION_ID"))))
    for row in cut[-3:]:
        session = str(row.get("session"))
        if session in lost or not row["said"]:
            yield Check(WARN, "captures", "the capture of %s (session %s) was cut short" % (row.get("t"), session),
                        "the next session's start tries it again")
    waiting = sorted(set(lost) - {str(row.get("session")) for row in cut[-3:]})
    if waiting:
        yield Check(WARN, "captures", "%s wrote less than happened, such as %s" % (
            terminal.count(len(waiting), "session"), waiting[0]), "the next session's start recovers them")
    elif not lost and all(row["said"] for row in cut):
        yield Check(OK, "captures", "every session that ended here is written down")


def logs(place: paths.Place) -> Iterator[Check]:
    """How much the receipts take."""
    number = size = 0
    for folder, _, names in os.walk(place.home + "/log/receipts"):
        for name in names:
            try:
                size += os.lstat(folder + "/" + name).st_size
                number += 1
            except OSError:
                continue
    yield Check(WARN if size > MUCH else OK, "receipts", "{} of {:,} KB".format(terminal.count(number, "file"), size >> 10),
                "delete the oldest in '%s/log/receipts'; `why` and `stats` forget them" % place.home if size > MUCH else "")


def leftovers(place: paths.Place, now: float) -> Iterator[str]:
    """Yield temporary files of writers that are gone, and damaged indexes that were moved aside, older than an hour."""
    roots = [*(root for _, root in place.tiers()), place.cache, place.home + "/log", place.home + "/cache/global"]
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                path = folder + "/" + name
                if _is_old(path, now) and (_is_abandoned(name) or (root == place.cache and name.endswith(".damaged"))):
                    yield path
    for name in _listed(place.home):
        if _is_abandoned(name) and _is_old(place.home + "/" + name, now):
            yield place.home + "/" + name


def _is_abandoned(name: str) -> bool:
    """Tell whether a name is that of a temporary file whose process is gone."""
    pid = name[len(files.TEMP):].partition("-")[0]
    return name.startswith(files.TEMP) and not (pid.isdigit() and files.alive(int(pid)))


def _is_old(path: str, now: float) -> bool:
    try:
        return now - os.lstat(path).st_mtime > TEMP_AGE
    except OSError:
        return False


def temps(place: paths.Place, now: float) -> Iterator[Check]:
    """What killed writers left behind, and caches that belong to nothing."""
    left = list(leftovers(place, now))
    if left:
        number = terminal.count(len(left), "temporary file")
        yield Check(WARN, "temps", "%s of writers that were killed, such as %s" % (number, left[0]), FIX)
    else:
        yield Check(OK, "temps", "no temporary files are left")
    caches = list(orphans(place, now))
    if caches:
        yield Check(WARN, "temps", "%s of workspaces that are gone, such as %s" % (
            terminal.count(len(caches), "cache"), caches[0]), FIX)


def orphans(place: paths.Place, now: float) -> Iterator[str]:
    """Yield the caches of workspaces that have no private tier, no receipts, and no change for 30 days."""
    for key in sorted(_listed(place.home + "/cache")):
        folder = place.home + "/cache/" + key
        if key in (place.key, "global") or os.path.islink(folder) or not files.is_folder(folder):
            continue
        kept = (place.home + "/workspaces/" + key, place.home + "/log/receipts/" + key)
        if not any(map(files.exists, kept)) and now - _changed(folder) > UNUSED:
            yield folder


def _changed(folder: str) -> float:
    """Return when something in a directory was last changed: seconds since the epoch."""
    newest = 0.0
    for at, _, names in os.walk(folder):
        for path in (at, *(at + "/" + name for name in names)):
            try:
                newest = max(newest, os.lstat(path).st_mtime)
            except OSError:
                continue
    return newest
