"""Checkpoints of sessions that ended before dayleaf was there, from the transcripts that the host
still has.

Each session goes through the capture of the hooks, the newest first: a checkpoint for each stretch
up to a compaction or to work on another branch, under the name and with the time that a live
capture would have given.  What a session's state or its checkpoints tell already is not told again,
so a run that was killed goes on where it was.

What an earlier version told (its state is of another version, or gone, and no checkpoint names a
conversation) is brought up to date: the transcript is told again from its start, in the stretches
that its checkpoints ended (`until`).  A checkpoint that nobody touched since (its file is no
younger than the state) is written anew under its name and id; one that somebody changed, archived
or deleted is left as it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from memory.capture import progress, recovery
from memory.capture.checkpointpage import is_worth_checkpoint
from memory.capture.stretches import Capture
from memory.core import DayleafError, clock, config, files, frontmatter, layout
from memory.project import adoption
from memory.project.otherfiles import Skip
from memory.session import transcript, whereabouts
from memory.session.transcript import Stop

HEAD = 1 << 14  # bytes of a checkpoint that hold its frontmatter
SLACK = 2.0  # seconds: a state is saved just after its checkpoint, and file systems round
RECORD = 0.006  # seconds that a record takes to be written and indexed; bench/README.md
PACE = 6e6  # bytes of transcripts that are imported in a second; bench/README.md
ALSO = "conversation"  # key of a checkpoint that names the record of what was said
_OF = re.compile(rb"^session: *['\"]?([^'\"\r\n]+)", re.M)
NO_DIRECTORY = "no directory is known of it"  # why a session is passed over
_AT = re.compile(rb'"timestamp"\s*:\s*"([0-9T:.+Z-]{10,32})"')


class Session(NamedTuple):
    """A session from before dayleaf.

    size: as `source` counts it.  began, ended: its first and last instant.
    """

    id: str
    path: str
    size: int
    directory: str
    began: float
    ended: float
    source: transcript.Source = transcript


class Plan(NamedTuple):
    """The expected checkpoints and conversations of a session's import."""

    checkpoints: int = 0
    conversations: int = 0


class ImportedSession(NamedTuple):
    """The result of a session's import.

    written: the names of its records that were written.
    before: it was captured already.
    old: an earlier version captured it, and it was brought up to date.
    plan: the expected result, in a dry run.
    skip: why it was passed over.
    gone: its directory, where it no longer exists.
    """

    session: Session
    place: layout.Place | None
    written: tuple[str, ...] = ()
    before: bool = False
    old: bool = False
    plan: Plan = Plan()
    skip: Skip | None = None
    gone: bool = False


class Page(NamedTuple):
    """An existing checkpoint of a session.

    name: "" in the archive.
    until: the instant of its last entry.
    changed: its file's mtime.
    auto: whether dayleaf wrote it.
    whole: whether it names a conversation.
    """

    name: str
    until: str
    changed: float
    auto: bool
    whole: bool


class Old(NamedTuple):
    """An earlier version's capture of a session.

    pages: its checkpoints by time.  state: the state's first line.  saved: the state's mtime.
    """

    pages: tuple[Page, ...]
    state: dict[str, Any]
    saved: float

    def untouched(self, page: Page) -> bool:
        """Tell whether a checkpoint is unchanged since it was written."""
        return bool(page.name) and page.auto and page.changed <= self.saved + SLACK


class Workspace:
    """A workspace that receives sessions.

    Its place and settings, its checkpoints by session, and the entries that a dry run has read.
    """

    def __init__(self, place: layout.Place, settings: config.Config):
        self.place, self.settings, self.heads = place, settings, progress.Heads(place)
        self.read: dict[str, set[str]] = {}
        self._files: dict[str, list[tuple[str, str]]] | None = None

    def pages(self, session: str) -> list[Page]:
        """Return a session's checkpoints in order, archived checkpoints too.

        In the order of their last entries.
        """
        if self._files is None:
            self._files = {}
            for folder, prefix in (
                ("/checkpoints/", "p/checkpoints/"),
                ("/archive/checkpoints/", ""),
            ):
                for day in files.visible_names(self.place.private + folder):
                    for name in files.visible_names(self.place.private + folder + day):
                        self._note(
                            self.place.private + folder + day + "/" + name,
                            prefix and prefix + day + "/" + name,
                        )
        found = [_page(path, name) for path, name in self._files.get(session, ())]
        return sorted((page for page in found if page), key=lambda page: (page.until, page.name))

    def _note(self, path: str, name: str) -> None:
        """Note the session of a checkpoint's file."""
        with contextlib.suppress(OSError):
            said = _OF.search(files.read(path, HEAD, follow=False))
            if said and self._files is not None:
                self._files.setdefault(said[1].decode("utf-8", "replace").strip(), []).append(
                    (path, name)
                )


def _page(path: str, name: str) -> Page | None:
    try:
        meta, changed = (
            frontmatter.parse(files.read(path, HEAD, follow=False)).meta,
            os.stat(path).st_mtime,
        )
    except OSError:
        return None
    until = meta.get("until")
    return (
        Page(name, until, changed, meta.get("source") == "auto", bool(meta.get(ALSO)))
        if isinstance(until, str)
        else None
    )


def sessions(env: dict[str, str]) -> Iterator[Session | Skip]:
    """Yield the sessions of the host, and unreadable ones as Skip.

    Subagents belong to their sessions.  The folder is listed here, so its links are its owner's:
    they are followed to files of this user, once each.
    """
    root, seen = transcript.host(env) + "/projects", set()
    for folder in files.visible_names(root):
        at = root + "/" + folder
        if files.is_link(at) and not transcript.is_own_folder(at):
            yield Skip(folder, "a link, and not to a folder of your own", "mend or remove the link")
            continue
        for name in files.visible_names(at):
            if name.endswith(".jsonl") and not name.startswith("agent-"):
                path = transcript.own_transcript(at + "/" + name)
                if not path:
                    yield Skip(folder + "/" + name, "not a file of your own", "mend its owner")
                elif path not in seen:
                    seen.add(path)
                    yield _session(path, name[: -len(".jsonl")])


def _session(path: str, name: str) -> Session | Skip:
    id = layout.safe_id(name)
    try:
        seen = whereabouts.ends(path)
    except OSError as error:
        return Skip(path, (error.strerror or "unreadable").lower(), "mend its permissions")
    if not id or not seen.directory:
        return Skip(path, "no session in it", "nothing to do")
    began = seen.changed / 1e9 if seen.began is None else seen.began
    return Session(id, path, seen.size, seen.directory, began, seen.last)


def chosen(
    found: list[Session], place: layout.Place | None, env: dict[str, str], since: float
) -> list[Session]:
    """Return the sessions to import, the newest first.

    A fork and a copy take history along, so they follow the session that they are of.

    Of the same session under two names its own first.
    place: only sessions of its workspace; None for all.
    since: only sessions that ended at that instant or later.
    """
    keys: dict[str, str] = {}
    for session in found:
        if session.directory not in keys:
            keys[session.directory] = layout.locate(env, session.directory).key if place else ""
    wanted = [
        s for s in found if s.ended >= since and (place is None or keys[s.directory] == place.key)
    ]
    wanted.sort(key=lambda s: (s.began, s.ended, s.id != progress.identity(s.id), s.id))
    groups = sorted(families(wanted), key=lambda group: -max(s.ended for s in group))
    return [session for group in groups for session in group]


def families(wanted: list[Session]) -> list[list[Session]]:
    """Return groups of sessions that may share history, in their order."""
    of: dict[str, list[Session]] = {}
    groups: list[list[Session]] = []
    for session in wanted:
        kin = _kin(session)
        known = [of[key] for key in kin if key in of]
        group = known[0] if known else []
        if not known:
            groups.append(group)
        group.append(session)
        of.update(dict.fromkeys(kin, group))
    return groups


def _kin(session: Session) -> tuple[str, str]:
    """Return what a session shares with its forks and copies."""
    try:
        first = _first(session)
    except OSError:
        first = session.path
    return progress.identity(session.id), "first " + first


def untold(wanted: list[Session], env: dict[str, str], now: float) -> list[ImportedSession]:
    """Return what an import would do with sessions, without reading any."""
    spaces: dict[str, Workspace] = {}
    return [
        _passed_over(session, spaces, env, now, dry=True)
        or ImportedSession(session, spaces[session.directory].place)
        for session in wanted
    ]


def import_sessions(
    wanted: list[Session],
    env: dict[str, str],
    now: float,
    dry: bool = False,
    done: Callable[[int, int], None] | None = None,
) -> Iterator[ImportedSession]:
    """Write the checkpoints of sessions; yield the result of each.

    dry: read all the same, and write nothing.
    done: called with the bytes dealt with, and the bytes read of these.
    """
    places: dict[str, Workspace] = {}
    total = read = 0
    for session in wanted:
        told = _import_session(session, places, env, now, dry)
        yield told
        total += session.size
        read += 0 if told.before or told.skip else session.size
        if done:
            done(total, read)


def _import_session(
    session: Session, places: dict[str, Workspace], env: dict[str, str], now: float, dry: bool
) -> ImportedSession:
    passed = _passed_over(session, places, env, now, dry)
    if passed:
        return passed
    space = places[session.directory]
    # of other agents this version is the first
    old = earlier_capture(space, session) if session.source is transcript else None
    try:
        return (rehearse if dry else write)(space, env, now, session, old)
    except (OSError, DayleafError) as error:
        return _skipped(
            session, space.place, str(error).partition("; ")[0], "mend that, then import again"
        )


def _passed_over(
    session: Session, places: dict[str, Workspace], env: dict[str, str], now: float, dry: bool
) -> ImportedSession | None:
    """Return the reason to skip a session, or None."""
    if not files.is_folder(session.directory):
        return _skipped(
            session, None, "its directory is gone", "make it again, even empty"
        )._replace(gone=True)
    if session.directory not in places:
        place = layout.locate(env, session.directory)
        place = place if dry else adoption.adopt(place, now)
        places[session.directory] = next(
            (w for w in places.values() if w.place.key == place.key and w.place.root == place.root),
            Workspace(place, config.for_place(place, env)),
        )
    space = places[session.directory]
    place = space.place
    # of other agents this version is the first
    old = earlier_capture(space, session) if session.source is transcript else None
    if old is None and progress.captured_size(place, session.id) == session.size:
        return ImportedSession(session, place, before=True)
    if not space.settings["capture.enabled"]:
        return _skipped(
            session, place, "capture is off there", "`dayleaf config set capture.enabled true`"
        )
    try:
        fresh = now - min(session.ended, os.stat(session.path).st_mtime) < recovery.QUIET
    except OSError as error:
        return _skipped(
            session, place, str(error).partition("; ")[0], "mend that, then import again"
        )
    if session.id == env.get("CLAUDE_CODE_SESSION_ID") or fresh:
        return _skipped(session, place, "the session is running", "it is captured when it ends")
    return None


def _skipped(
    session: Session, place: layout.Place | None, reason: str, remedy: str
) -> ImportedSession:
    return ImportedSession(session, place, skip=Skip(session.id, reason, remedy))


def earlier_capture(space: Workspace, session: Session) -> Old | None:
    """Return an earlier version's capture of a session, or None.

    None too where this version has captured it.
    """
    path = space.place.cache + "/sessions/" + session.id + ".json"
    state = progress.head(path, before=True)
    try:
        saved = os.stat(path).st_mtime
    except OSError:
        saved = 0.0
    if saved and not state:  # a state of this version, or a torn one
        return None
    pages = tuple(space.pages(session.id))
    if not state and (not pages or any(page.whole for page in pages)):
        return None
    return Old(pages, state, saved)


def write(
    space: Workspace, env: dict[str, str], now: float, session: Session, old: Old | None = None
) -> ImportedSession:
    """Write the checkpoints of a session, one for each stretch.

    old: an earlier version's capture, which is brought up to date first.
    Raises OSError, StoreError.
    """
    place, known = space.place, old is not None
    written: dict[str, None] = {}

    def begin(stop: Stop | None) -> Capture:
        kept = written.setdefault
        return Capture(
            place,
            space.settings,
            env,
            now,
            session.id,
            session.path,
            kept,
            stop,
            True,
            True,
            session.source,
            heads=space.heads,
        )

    with files.Lock(place.cache + "/sessions/" + session.id + ".lock", wait=True):
        if old is not None:
            upgrade(session, old, begin(None))
        for number, stop in enumerate((*_seams(session), None)):
            capture = begin(stop)
            known = known or bool(capture.state.since or (not number and capture.state.spans))
            if stop is None or stop.offset >= capture.state.spans.get("", [0])[0]:
                capture.run("recovery")
    return ImportedSession(
        session, place, tuple(written), before=known and not written, old=bool(old and written)
    )


def _seams(session: Session) -> list[Stop]:
    """Return the ends of a session's stretches."""
    stops = session.source.compactions(session.path)
    return (
        sorted([*stops, *progress.switches(session.path)])
        if session.source is transcript
        else stops
    )


def upgrade(session: Session, old: Old, capture: Capture) -> None:
    """Capture again the part of a session captured by an earlier version.

    The state becomes one of this version at the end: a run that is cut short begins again, and what
    it wrote is left as it is.  Raises OSError, StoreError.
    """
    state, path = capture.state, capture.state.path
    state.path, state.since = path + ".new", ""  # what is saved on the way
    for capture.stop, page in stretches(session, old):
        if page is not None and old.untouched(page):
            state.name = page.name
            state.checksum = files.sha256(files.read(capture.place.path(page.name), 64 << 20))
            capture.run("recovery")
        else:
            capture.pass_over()
    progress.settle(state, path)


def stretches(session: Session, old: Old) -> list[tuple[Stop, Page | None]]:
    """Return (end, checkpoint or None) of each earlier captured stretch.

    Raises OSError.
    """
    ends = _ends(session.path, [page.until for page in old.pages])
    # what was read and not written is told as new
    size = old.state.get("size") if not old.state.get("units") else 0
    size = max([size if isinstance(size, int) and size <= session.size else 0, *ends.values()])
    found: dict[int, tuple[Stop, Page | None]] = {
        stop.offset: (stop, None)
        for stop in transcript.compactions(session.path)
        if stop.offset < size
    }
    last = max([page.until for page in old.pages], default="") or clock.iso(session.ended + 1)
    found[size] = Stop(size, last), None
    for page in old.pages:  # of two that tell up to the same instant the later written
        found[ends[page.until]] = Stop(ends[page.until], page.until), page
    # it belongs to the stretch before it, and is taken along by a reading that meets the end
    last_line = _unended(session)
    return [
        (stop if offset < last_line else Stop(session.size + 1, stop.at), page)
        for offset, (stop, page) in sorted(found.items())
        if offset
    ]


def _unended(session: Session) -> int:
    """Return the start of an unended last line.

    Of a transcript; the transcript's end where its last line is whole.  Raises OSError.
    """
    start = max(0, session.size - transcript.LONGEST)
    with os.fdopen(files.open_read(session.path, follow=False), "rb") as file:
        file.seek(start)
        return start + file.read(session.size - start).rfind(b"\n") + 1


def _ends(path: str, untils: list[str]) -> dict[str, int]:
    """Return the offset of the first entry after each instant.

    Raises OSError.
    """
    left, offset = sorted(set(untils)), 0
    ends: dict[str, int] = {}
    with os.fdopen(files.open_read(path, follow=False), "rb", 1 << 20) as file:
        for line in file if left else ():
            if any(at.decode("ascii") > left[0] for at in _AT.findall(line)):
                said = _instant(line)
                while left and said > left[0]:
                    ends[left.pop(0)] = offset
                if not left:
                    break
            offset += len(line)
    return {**ends, **dict.fromkeys(left, offset)}


def _instant(line: bytes) -> str:
    """Return the instant of an entry's line, "" of any other."""
    try:
        row = json.loads(line)
    except ValueError:
        return ""
    said = (
        row.get("timestamp")
        if isinstance(row, dict) and row.get("type") in ("user", "assistant", "system")
        else ""
    )
    return said if isinstance(said, str) else ""


def rehearse(
    space: Workspace, env: dict[str, str], now: float, session: Session, old: Old | None = None
) -> ImportedSession:
    """Return the result of `write` without writing.

    Raises OSError.
    """
    capture = Capture(
        space.place,
        space.settings,
        env,
        now,
        session.id,
        session.path,
        ended=True,
        source=session.source,
    )
    checkpoints, spoken, fresh = 0, False, not capture.state.spans
    known = bool(capture.state.since) or not fresh
    kin = {progress.identity(session.id), "first " + _first(session)}
    capture.foreign.update(*(space.read.get(key, ()) for key in kin))
    told = stretches(session, old) if old else []
    if old:
        capture.state.since = ""
    done = max([stop.offset for stop, _ in told], default=capture.state.spans.get("", [0])[0])
    stops = [stop for stop in _seams(session) if stop.offset > done]
    for stop, page in (*told, *((stop, None) for stop in stops), (None, None)):
        capture.stop = stop
        capture.read()
        spoken = spoken or (
            is_worth_checkpoint(capture.state.facts)
            and bool(space.settings["capture.conversations"])
        )
        if not capture.ends():
            continue
        new = stop is None or stop.offset > done
        checkpoints += int(
            is_worth_checkpoint(capture.state.facts)
            and (new or bool(page and old and old.untouched(page)))
        )
        capture.close()
    for key in kin:
        space.read.setdefault(key, set()).update(capture.state.seen)
    nothing = not (checkpoints or spoken)
    return ImportedSession(
        session,
        space.place,
        before=known and nothing and not old,
        old=bool(old) and not nothing,
        plan=Plan(checkpoints, int(spoken and fresh)),
    )


def _first(session: Session) -> str:
    """Return the id of a transcript's first entry."""
    reading = session.source.read(session.path, 0, ended=True)
    first = next(iter(reading), None)
    reading.close()
    return first.uuid if first else session.path
