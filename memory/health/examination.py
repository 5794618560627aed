"""Doctor: all checks in order, those of past events (failures, captures, ledgers, leftovers), and
the repairs of `--fix`.
"""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Iterator
from typing import Any, Callable

from memory.core import (
    DayleafError,
    StoreAway,
    StoreError,
    attempts,
    clock,
    config,
    fastjson,
    files,
    layout,
    walk,
)
from memory.core.plaintext import format_count
from memory.doors import registry
from memory.health import WARN, Finding, checkup, fail, figures, ok, warn
from memory.index import builder
from memory.index.kept import read_heads
from memory.knowledge import housekeeping
from memory.project import otherfiles, sharing
from memory.store import archive, journal, ledger
from memory.store.store import Store

RECENT = 7 * clock.DAY
LARGE_BYTES = 200 << 20  # bytes of receipts
FIX = "`dayleaf doctor --fix`"
OTHERS_BITS = 0o077  # permissions of group and others


def examine(
    place: layout.Place, settings: config.Config, env: dict[str, str], now: float
) -> list[Finding]:
    """Run every check; return the findings in order.

    An exception in a check becomes a WARN.
    """
    store = Store(place, settings, now)
    # several checks share the list of files, and the read records
    walked = functools.cache(lambda: walk.Listing(place))
    heads = functools.cache(lambda: list(read_heads(store, now, walked())))
    steps: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("home", lambda: checkup.check_home(place)),
        ("workspace", lambda: checkup.check_workspace(place)),
        ("secrets", lambda: checkup.check_secrets(place)),
        ("merges", lambda: checkup.check_merges(place)),
        ("disk", lambda: checkup.check_disk(place)),
        ("python", lambda: checkup.check_python(place, env)),
        ("config", lambda: checkup.check_settings(place, settings)),
        ("records", lambda: checkup.check_records(store, heads())),
        ("records", lambda: checkup.check_conversations(store, heads())),
        ("notes", lambda: checkup.check_notes(store, heads())),
        ("clock", lambda: checkup.check_clock(place, heads(), now)),
        ("index", lambda: checkup.check_index(place, walked())),
        ("log", lambda: check_log(place, now)),
        ("captures", lambda: check_captures(place, env, now)),
        ("receipts", lambda: check_receipts(place)),
        ("hooks", lambda: checkup.check_hooks(env)),
        ("client", lambda: checkup.check_client(place, env)),
        *(
            (door, functools.partial(_check_door, door, place, settings, env))
            for door in registry.having("check")
        ),
        ("models", lambda: checkup.check_models(env)),
        ("command", lambda: checkup.check_command(env)),
        ("ledgers", lambda: check_ledgers(place)),
        ("ledgers", lambda: check_torn_lines(place)),
        ("journal", lambda: check_last_upkeep(place)),
        ("tiers", lambda: check_added_tiers(place, settings)),
        ("temps", lambda: check_temporary_files(place, now)),
        ("upkeep", lambda: _check_upkeep(store, walked())),
        ("git", lambda: checkup.check_git(place, env)),
        ("shared", lambda: checkup.check_shared(place, env)),
        ("shared", lambda: check_log_merging(place, env)),
    )
    findings: list[Finding] = []
    for what, step in steps:
        try:
            findings += (one._replace(about=what) for one in step())
        except Exception as error:
            fault = "this check failed (%s: %s)" % (type(error).__name__, error)
            findings.append(Finding(WARN, what, fault, "check it by hand"))
    return findings


def report_away(error: StoreAway) -> Finding:
    what, _, remedy = str(error).partition("; ")
    return fail(what, remedy)._replace(about="home")


def _check_door(
    door: str, place: layout.Place, settings: config.Config, env: dict[str, str]
) -> Iterator[Finding]:
    yield from registry.offer(door, "check")(place, settings, env)


def check_added_tiers(place: layout.Place, settings: config.Config) -> Iterator[Finding]:
    """Report each added tier, unreadable tiers and skipped files."""
    for tier in otherfiles.list_added_tiers(place, settings):
        state = tier.state()
        left = state["skipped"]
        if tier.fault:
            yield warn(
                "%s: %s, so recall finds nothing in it" % (tier.top, tier.fault),
                "bring it back, or `dayleaf store tier remove %s`" % shlex.quote(tier.top),
            )
        elif left:
            yield warn(
                "%s: %s left out, such as %s: %s"
                % (tier.top, format_count(len(left), "file"), left[0]["path"], left[0]["reason"]),
                left[0]["remedy"],
            )
        else:
            yield ok("%s: %s" % (tier.top, format_count(int(state["files"]), "file")))


def check_log_merging(place: layout.Place, env: dict[str, str]) -> Iterator[Finding]:
    """Report that git would not merge the archive's log by lines."""
    log = "%s/%s/%s" % (place.shared, archive.FOLDER, archive.LOG)
    has_log = place.git and place.shared and files.exists(log)
    if has_log and not sharing.Repository(place, env).merges_logs():
        yield warn(
            "git does not merge %s by lines: two people who forget records get a conflict" % log,
            "add the line `%s` to %s/%s" % (archive.RULE.strip(), place.shared, archive.ATTRIBUTES),
        )


# ---- past events


def check_log(place: layout.Place, now: float) -> Iterator[Finding]:
    """Report hook failures of the last week and logs of bugs."""
    rows = _read_json_lines(place.home + "/log/errors.jsonl")[0]
    logs = files.list_folder(place.home + "/log")
    bugs = sorted(name for name in logs if name.startswith("bug-"))
    recent = [row for row in rows if now - (clock.parse(str(row.get("t"))) or 0.0) < RECENT]
    if recent:
        keys = ("t", "where", "error", "detail", "path", "at")
        latest = " ".join(" ".join(str(recent[-1].get(key) or "") for key in keys).split())
        number = format_count(len(recent), "failure")
        yield warn(
            "%s in hooks in the last 7 days; the latest: %s" % (number, latest),
            "%s/log/errors.jsonl lists them all" % place.home,
        )
    else:
        yield ok("no hook failed in the last 7 days (%d failures in all)" % len(rows))
    if bugs:
        number = format_count(len(bugs), "bug")
        yield warn(
            "%s in dayleaf, the last in %s/log/%s" % (number, place.home, bugs[-1]),
            "report it, then delete the file",
        )


def _read_json_lines(path: str) -> tuple[list[dict[str, Any]], int]:
    """Return (objects, number of invalid lines) of a JSONL file."""
    try:
        data = files.read(path, 16 << 20)
    except FileNotFoundError:
        return [], 0
    rows = fastjson.parse_rows(data)
    return rows, sum(bool(line.strip()) for line in data.split(b"\n")) - len(rows)


def check_ledgers(place: layout.Place) -> Iterator[Finding]:
    """Check that each ledger is readable, valid and protected."""
    for name, about in (("trust.jsonl", "approvals"), ("spend.jsonl", "calls of models")):
        path = place.home + "/" + name
        try:
            rows, torn = _read_json_lines(path)
        except OSError as error:
            yield fail("%s cannot be read (%s)" % (path, error.strerror), "chmod 600 '%s'" % path)
            continue
        if files.exists(path) and os.name != "nt" and os.stat(path).st_mode & 0o022:
            yield fail(
                "%s can be written by others, so dayleaf ignores it" % path, "chmod 600 '%s'" % path
            )
        elif torn:
            yield warn(
                "%s has %s that cannot be read" % (path, format_count(torn, "line")),
                "remove them by hand",
            )
        else:
            yield ok("%s (%s): %s" % (name, about, format_count(len(rows), "line")))
    for book in ledger.ledgers(place):
        yield from _check_ledger(book)


def _check_ledger(book: ledger.Ledger) -> Iterator[Finding]:
    path = book.path
    if not files.exists(path):
        return
    if not os.access(path, os.R_OK | os.W_OK):
        what = "%s cannot be read and written, so uses are not counted" % path
        yield fail(what, "chmod 600 '%s'" % path)
        return
    found = ledger.count_all(book)
    if found.passed:
        what = "%s has %s of a newer version, which are skipped"
        remedy = "update dayleaf; the lines are kept"
        yield warn(what % (path, format_count(found.passed, "line")), remedy)
    if found.torn:
        what = "%s has %s that cannot be read" % (path, format_count(found.torn, "line"))
        yield warn(what, "remove them by hand")
    yield ok("%s: uses and outcomes of %s" % (path, format_count(len(found.rows), "record")))


def find_torn_files(place: layout.Place) -> Iterator[str]:
    """Yield the ledgers and logs with an unfinished last line."""
    names = ("trust.jsonl", "spend.jsonl", "log/errors.jsonl")
    roots = [root for letter, root in place.tiers() if letter != layout.SHARED]
    for path in (
        *(place.home + "/" + name for name in names),
        *(book.path for book in ledger.ledgers(place)),
        journal.path(place),
        attempts.log_path(place),
        *("%s/%s/%s" % (root, archive.FOLDER, archive.LOG) for root in roots),
    ):
        try:
            if files.is_torn(path):
                yield path
        except OSError:
            continue


def check_torn_lines(place: layout.Place) -> Iterator[Finding]:
    for path in find_torn_files(place):
        yield warn("%s ends with an unfinished line" % path, FIX)


def check_last_upkeep(place: layout.Place) -> Iterator[Finding]:
    if not files.exists(journal.path(place)):
        return
    try:
        runs = journal.read_runs(place)
    except StoreError as error:
        what, _, remedy = str(error).partition("; ")
        yield fail(what, remedy)
        return
    if runs and not runs[-1].done:
        yield warn(
            "the upkeep of %s was cut short" % runs[-1].began,
            "`dayleaf store upkeep --apply` finishes it, `dayleaf store undo` undoes it",
        )
    else:
        yield ok(format_count(len(runs), "run") + " of upkeep")


def check_captures(place: layout.Place, env: dict[str, str], now: float) -> Iterator[Finding]:
    """Report interrupted captures and sessions with incomplete checkpoints."""
    from memory.capture import recovery

    cut = attempts.list_unfinished(place, now)
    found = recovery.find_uncaptured(
        place, env, now, layout.valid_id(env.get("CLAUDE_CODE_SESSION_ID"))
    )
    lost = dict(found.sessions)
    for row in cut[-3:]:
        session = str(row.get("session"))
        if session in lost or not row["said"]:
            what = "the capture of %s (session %s) was cut short" % (row.get("t"), session)
            yield warn(what, "the next session start tries again")
    waiting = sorted(set(lost) - {str(row.get("session")) for row in cut[-3:]})
    if waiting:
        what = "%s whose checkpoints are incomplete, such as %s"
        number = format_count(len(waiting), "session")
        yield warn(what % (number, waiting[0]), "the next session start completes them")
    damaged = recovery.find_damaged(place, env)
    if damaged:
        number = format_count(len(damaged), "transcript")
        what = "%s cannot be read whole, such as %s" % (number, damaged[0])
        yield warn(what, recovery.DAMAGED[1])
    past = set(found.before) - _read_recorded_sessions(place) if found.before else set()
    if past:
        number = format_count(len(past), "past session")
        what = "%s from before dayleaf was installed: not imported" % number
        yield warn(what, "`dayleaf store import transcripts` brings them in")
    elif not lost and not damaged and all(row["said"] for row in cut):
        line = "every session that left a transcript has its checkpoint"
        if found.gone:
            number = format_count(len(found.gone), "session")
            line += "; %s that started here left no transcript, or the transcript is gone" % number
        yield ok(line)


def _read_recorded_sessions(place: layout.Place) -> set[str]:
    found = Store(place, config.Config({}, {}, []), 0.0).each(("checkpoint", "conversation"))
    return {str(record.meta.get("session")) for record in found}


def check_receipts(place: layout.Place) -> Iterator[Finding]:
    number = size = 0
    for _, _, stat in walk.walk_entries(place.home + "/log/receipts"):
        if walk.is_regular(stat):
            size += stat.st_size
            number += 1
    what = "logs of what Claude was given: {}, {:,} KB".format(
        format_count(number, "file"), size >> 10
    )
    if size > LARGE_BYTES:
        remedy = (
            "delete the oldest in '%s/log/receipts'; `push why` and `store stats` then omit them"
        )
        yield warn(what, remedy % place.home)
    else:
        yield ok(what)


def find_leftovers(place: layout.Place, now: float) -> Iterator[str]:
    """Yield temporary files of dead writers and old damaged indexes."""
    roots = [
        *(root for _, root in place.tiers()),
        place.cache,
        place.home + "/log",
        place.home + "/cache/global",
    ]
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders.sort()
            yield from (
                folder + "/" + name
                for name in sorted(names)
                if _is_leftover(folder + "/" + name, now, root == place.cache)
            )
    for name in files.list_folder(place.home):
        if _is_leftover(place.home + "/" + name, now):
            yield place.home + "/" + name


def _is_leftover(path: str, now: float, derived: bool = False) -> bool:
    name, is_damaged = path.rpartition("/")[2], derived and path.endswith(".damaged")
    if not (is_damaged or name.startswith(files.TEMP_PREFIX)):
        return False
    try:
        changed = os.lstat(path).st_mtime
    except OSError:
        return False
    is_old = is_damaged and now - changed > files.TEMP_AGE
    return is_old or files.is_leftover(name, changed, now)


def _check_upkeep(store: Store, walked: walk.Listing) -> Iterator[Finding]:
    due, changes = figures.preview_upkeep(store, walked)
    if due:
        yield warn(due, housekeeping.LOOK)
    elif changes < 0:
        yield ok("changes not counted: too many files", housekeeping.LOOK)
    else:
        yield ok("not due: it would make %s" % format_count(changes, "change"))


def check_temporary_files(place: layout.Place, now: float) -> Iterator[Finding]:
    left = list(find_leftovers(place, now))
    if left:
        number = format_count(len(left), "temporary file")
        yield warn("%s left by killed processes, such as %s" % (number, left[0]), FIX)
    else:
        yield ok("no leftover temporary files")


# ---- repairs


def mend_faults(place: layout.Place, now: float) -> list[str]:
    """Mend the faults that are safe to mend; return a line for each.

    A line that begins with `not ` is a failure. A second run finds nothing.
    """
    steps = (
        _close_to_others(place),
        _end_lines(place),
        _delete_leftovers(place, now),
        _mend_index(place, now),
    )
    done: list[str] = []
    for step in steps:
        try:
            done += step
        except OSError as error:
            done.append("not mended: %s: %s" % (error.filename, error.strerror))
        except DayleafError as error:
            done.append("not mended: %s" % error)
    return done


def _close_to_others(place: layout.Place) -> Iterator[str]:
    """Take other users' permissions from the home and its files."""
    if os.name == "nt" or not files.is_folder(place.home):
        return
    mode = os.stat(place.home).st_mode
    # before the home hides them
    found = [*checkup.find_open_files(place), *checkup.find_files_with_mode(place, 0o022)]
    if mode & OTHERS_BITS and os.stat(place.home).st_uid == os.geteuid():
        os.chmod(place.home, mode & 0o700)
        modes = (mode & 0o700, mode & 0o777)
        yield "other users can no longer open %s (%04o, was %04o)" % (place.home, *modes)
    trust = place.home + "/trust.jsonl"
    closed = 0
    for path in sorted(set(found)):
        stat = os.lstat(path)
        if stat.st_uid != os.geteuid() or (path == trust and stat.st_mode & 0o022):
            continue
        os.chmod(path, stat.st_mode & 0o700)
        closed += 1
    if closed:
        yield "other users can no longer open %s in %s" % (format_count(closed, "file"), place.home)


def _end_lines(place: layout.Place) -> Iterator[str]:
    """End unfinished last lines, before the next line is appended."""
    for path in list(find_torn_files(place)):
        files.append(path, b"\n")
        yield "closed the unfinished last line of %s" % path


def _delete_leftovers(place: layout.Place, now: float) -> Iterator[str]:
    left = list(find_leftovers(place, now))
    gone = sum(files.remove(path) for path in left)
    if gone:
        yield "deleted %s of killed processes, such as %s" % (
            format_count(gone, "leftover"),
            left[0],
        )


def _index_fault(place: layout.Place) -> str:
    """Return `missing`, `damaged` or `stale` for an index to mend, or ""."""
    found = figures.read_index_state(place)
    if found["state"] == "missing":
        return "missing" if any(files.is_folder(root) for _, root in place.tiers()) else ""
    if not found.get("whole", True):
        return "damaged"
    return "" if found["state"] == "fresh" else str(found["state"])


def _mend_index(place: layout.Place, now: float) -> Iterator[str]:
    fault = _index_fault(place)
    if not fault:
        return
    damaged = fault == "damaged"
    if damaged:
        builder.move_aside_damaged(place)
    step = builder.build if damaged or fault == "missing" else builder.refresh
    done = step(place, now)
    if done.busy:
        yield "not mended: another process is building the index"
    else:
        verb = "built" if done.built or damaged else "refreshed"
        yield "%s the index: %s" % (verb, format_count(done.records, "record"))
