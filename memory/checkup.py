"""Verdicts on what is stored: the home, the records, the index, the vectors, what upkeep would do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory import clock, config, expiry, files, handoff, paths, plans, status, terminal, upkeep, walk
from memory.errors import ProviderError
from memory.records import Record
from memory.store import Store

OK, WARN, FAIL = "OK", "WARN", "FAIL"
MOST_FILES = 20  # files named one by one
PROBE = 20.0  # seconds for a provider of vectors to answer
LITTLE, NONE_LEFT = 500 << 20, 50 << 20  # bytes free on the disk of the home
STALE_HANDOFF = 14  # days without a change


class Check(NamedTuple):
    """One verdict: OK, WARN or FAIL; what was looked at; what was found; what to do ("" where nothing)."""

    verdict: str
    what: str
    found: str
    remedy: str = ""


def home(place: paths.Place) -> Iterator[Check]:
    """Whether dayleaf's directory is the user's own, and what of it others may read."""
    try:
        stat = os.stat(place.home)
    except FileNotFoundError:
        yield Check(OK, "home", "%s is not there yet; the first record makes it" % place.home)
        return
    mine = not hasattr(os, "geteuid") or stat.st_uid == os.geteuid()
    said = "%s (%04o)" % (place.home, stat.st_mode & 0o777)
    if not files.is_folder(place.home):
        yield Check(FAIL, "home", place.home + " is no directory", "move it away, or set DAYLEAF_HOME")
        return
    if not mine:
        yield Check(FAIL, "home", said + " belongs to another user", "set DAYLEAF_HOME to a directory of your own")
    elif not os.access(place.home, os.W_OK | os.X_OK):
        yield Check(FAIL, "home", said + " cannot be written", "chmod 700 '%s'" % place.home)
    elif stat.st_mode & 0o022:
        yield Check(FAIL, "home", said + " can be written by others", "chmod 700 '%s'" % place.home)
    else:
        yield Check(OK, "home", said)
    open_ones = list(open_to_others(place))
    if open_ones:
        yield Check(WARN, "home", "%s can be read by others, such as %s" % (terminal.count(len(open_ones), "file"), open_ones[0]),
                    "`dayleaf doctor --fix` closes them")


def open_to_others(place: paths.Place) -> Iterator[str]:
    """Yield what others may read below the home although the home itself lets them in."""
    if os.name != "nt" and os.stat(place.home).st_mode & 0o011:
        yield from _with_bits(place, 0o044)


def writable_by_others(place: paths.Place) -> Iterator[str]:
    """Yield what others may write below the home, were they let in."""
    if os.name != "nt":
        yield from _with_bits(place, 0o022)


def _with_bits(place: paths.Place, bits: int) -> Iterator[str]:
    for folder, folders, names in os.walk(place.home):
        folders[:] = [name for name in folders if folder != place.home or name not in ("runtime", "cache")]
        for name in names:
            path = folder + "/" + name
            try:
                if not os.path.islink(path) and os.stat(path).st_mode & bits:
                    yield path
            except OSError:
                continue


def records(store: Store, found: Sequence[Record]) -> Iterator[Check]:
    """What can be read, what is skipped and why, and what contradicts itself.  found: the store's records, just read."""
    place = store.place
    planned: list[Record] = []
    faulty: list[tuple[str, str]] = []
    for record in found:
        planned += [record] if record.active else []
        if record.problems and len(faulty) < MOST_FILES:
            faulty.append((record.name, record.problems[0]))
    yield Check(OK if not store.skipped else WARN, "records",
                "%s readable, %d skipped" % (terminal.count(len(found), "record"), len(store.skipped)))
    for skipped in store.skipped[:MOST_FILES]:
        line = ":%d" % skipped.line if skipped.line else ""
        yield Check(WARN, "records", "%s%s: %s" % (_path(place, skipped.name), line, skipped.reason), skipped.remedy)
    if len(store.skipped) > MOST_FILES:
        yield Check(WARN, "records", "and %d more are skipped" % (len(store.skipped) - MOST_FILES), "mend those above first")
    for name, problem in faulty:
        said, _, remedy = problem.rpartition("; ")
        yield Check(WARN, "records", "%s: %s" % (_path(place, name), said or problem), remedy if said else "")
    if len(planned) > 1:
        yield Check(WARN, "records", "%d plans are active, the newest (%s) counts" % (
            len(planned), plans.active(planned)[0].id), "`dayleaf plan done ID` ends one")
    for id, names in list(store.duplicates.items())[:MOST_FILES]:
        yield Check(WARN, "records", "the id %s stands in %s" % (id, " and ".join(_path(place, name) for name in names)),
                    "change or remove the line `id:` in one of them")


def _path(place: paths.Place, name: str) -> str:
    try:
        return place.path(name)
    except KeyError:
        return name


def index(place: paths.Place) -> Iterator[Check]:
    """Whether the index is there, whole and fresh."""
    found = status.index_state(place)
    if len(walk.walk(place)[0]) >= walk.MOST:
        yield Check(WARN, "index", "more than %s files; the rest is in no index" % "{:,}".format(walk.MOST),
                    "move old checkpoints to the archive: `dayleaf forget ID`")
    if found["state"] == "missing":
        yield Check(WARN, "index", "none yet; recall reads the files", found["remedy"])
    elif found["state"] == "damaged":
        yield Check(FAIL, "index", "damaged: " + found["why"], found["remedy"])
    elif not found["whole"]:
        yield Check(FAIL, "index", "damaged: its bytes are not those that were written", found["remedy"] or status.BUILD)
    elif found["state"] == "stale":
        behind = ", ".join("%d %s" % (n, what) for what, n in found["behind"].items() if n)
        yield Check(WARN, "index", "behind the files: " + behind, found["remedy"])
    else:
        yield Check(OK, "index", "fresh, %s, generation %s" % (terminal.count(found["records"], "record"), found["generation"]))


def vectors(place: paths.Place, settings: config.Config, env: dict[str, str]) -> Iterator[Check]:
    """Whether recall can rank by them: silent where nobody asked for any."""
    from memory import embedder, semantic, vectors

    made, provider = vectors.state(place), embedder.from_settings(settings, "", env)
    if provider is None:
        if made["rows"] or settings["recall.semantic"]:
            yield Check(WARN, "vectors", "no provider is set, so words alone rank", semantic.SET_UP)
        return
    try:
        embedder.embed(provider, [("q", "is it there?")], env, PROBE)
    except ProviderError as error:
        yield Check(WARN, "vectors", "%s: %s" % (provider.label, error), semantic.SET_UP)
        return
    if made["problem"] or not made["rows"] or made["label"] != provider.label:
        found = made["problem"] or ("none yet" if not made["rows"] else "those of another model, " + made["label"])
        yield Check(WARN, "vectors", "%s answers; %s" % (provider.label, found), status.EMBED)
    else:
        yield Check(WARN if made["behind"] else OK, "vectors", "%s answers; %s, %s behind" % (
            provider.label, terminal.count(made["records"], "record"), made["behind"]), status.EMBED if made["behind"] else "")


def upkeep_of(store: Store, found: Sequence[Record]) -> Iterator[Check]:
    """Whether a run of upkeep is worth it.  found: the store's records, just read."""
    plan = upkeep.plan(store, {}, read=found)
    said = upkeep.due(plan)
    yield Check(WARN if said else OK, "upkeep", said or "not due (%s)" % terminal.count(len(plan.changes), "change"),
                upkeep.LOOK if said else "")


def disk(place: paths.Place) -> Iterator[Check]:
    """Whether there is room to write: silent where the system does not tell."""
    folder = place.home
    while folder and not files.exists(folder):
        folder = folder.rpartition("/")[0]
    if not hasattr(os, "statvfs"):
        return
    found = os.statvfs(folder or "/")
    free = found.f_bavail * found.f_frsize
    said = "{:,} MB free at {}".format(free >> 20, folder or "/")
    verdict = FAIL if free < NONE_LEFT else WARN if free < LITTLE else OK
    yield Check(verdict, "disk", said, "" if verdict == OK else "make room: what is captured may not be written")


def clock_of(found: Sequence[Record], now: float) -> Iterator[Check]:
    """Whether the clock agrees with the dates of the records, without which nothing expires."""
    doubt = expiry.doubt(found, now)
    yield Check(WARN if doubt else OK, "clock", doubt or "agrees with the records",
                "set the clock; nothing expires until then" if doubt else "")


def handed(place: paths.Place, now: float) -> Iterator[Check]:
    """Whether the handoff is still one: silent where there is none."""
    note = handoff.current(place)
    if note is None:
        return
    days = int((now - max(note.created, note.updated)) // clock.DAY)
    stale = days >= STALE_HANDOFF
    yield Check(WARN if stale else OK, "handoff", "written %s ago, shown at %s" % (
        terminal.count(max(days, 0), "day"), terminal.count(handoff.starts(place, note.id), "start")),
        "`dayleaf handoff` replaces it, `dayleaf handoff --clear` shows it no more" if stale else "")
