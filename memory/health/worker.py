"""The worker: the steps that a hook leaves to its detached child, in order.

A step is a name and a function of one Job.  A step that fails is noted in log/errors.jsonl as
`<event> <step>`, and the next one runs.  A step imports what it needs once it has something to do;
docs/hooks.md has the table.

All steps of an event together have DEADLINE seconds of CPU time: time of the clock would end the
work of a machine that sleeps or is busy.  The longest real sessions take some five seconds, and a
large store's first index a minute.  Reading a transcript stops after READING, so that a checkpoint
of what was read is written and the next capture goes on from there.  A step that is ended by the
deadline leaves every file as it was or as it shall be: files are replaced as a whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from memory.core import boundary, clock, config, files, layout
from memory.hook import receipts

if TYPE_CHECKING:
    from memory.core.config import Config
    from memory.core.layout import Place

# seconds of CPU for all steps of an event, and until which a transcript is read on
DEADLINE, READING = 120.0, 60.0
AGAIN = 5.0  # seconds of CPU until a step that went on is ended again
SETUP_EVERY = 86400.0  # seconds between attempts to set up the runtime
# bytes of one in which lost blocks are looked for; a longer one is left alone
TRANSCRIPT = 64 << 20
# of a host that writes down what hooks said
_WRITES = (b'"hook_success"', b'"hook_additional_context"')
LEAST_SESSIONS = 3  # conversations worth a note before the user is asked about notes
# seconds between looks ahead, and of CPU that one of them takes at the most
LOOK_EVERY, LOOKING = 86400.0, 5.0
# events that ask for a checkpoint
TRIGGERS = {"Stop": "stop", "PreCompact": "pre_compact", "SessionEnd": "session_end"}


class Spent(BaseException):
    """An event's steps took more CPU time than DEADLINE.

    Raised within a step, which lets it pass.
    """

    strerror = (
        "it was stopped after %d s of CPU time; what was written stays, and the next session's "
        "start does the rest" % DEADLINE
    )


class Unread(Exception):
    """A transcript was read in part, within READING seconds of CPU."""

    strerror = (
        "the transcript takes more than %d s to read; what was read is kept, and the "
        "next capture reads on"
    ) % READING


class NoNote(Exception):
    """A model wrote no note.

    why: a word. until: when a model is asked again, seconds since the epoch.
    """

    def __init__(self, why: str, until: float):
        self.strerror = (
            "a note of a session was not written: %s; the model is asked again after %s, "
            "`dayleaf notes status` says more"
        ) % (why, clock.local(until))


class Job(NamedTuple):
    """The data shared by the steps of one event.

    event: the hook's payload. now, place: when and where it came. written: names of the records
        written since.
    """

    event: dict[str, Any]
    env: dict[str, str]
    now: float
    place: Place
    settings: Config
    written: list[str]

    @property
    def session(self) -> str:
        """The id of the event's session, or ""."""
        return layout.safe_id(self.event.get("session_id"))


Step = tuple[str, Callable[[Job], None]]


def work(event: dict[str, Any], env: dict[str, str], now: float) -> None:
    """Run the steps after PreCompact, Stop and SessionEnd."""
    run(TRIGGERS.get(str(event.get("hook_event_name")), "worker"), AFTER_WORK, job(event, env, now))


def after_start(event: dict[str, Any], env: dict[str, str], now: float) -> None:
    """Run the steps after SessionStart."""
    run("session_start", AFTER_START, job(event, env, now))


def after_prompt(event: dict[str, Any], env: dict[str, str], now: float) -> None:
    """Run the steps after UserPromptSubmit."""
    run("prompt", AFTER_PROMPT, job(event, env, now))


def job(event: dict[str, Any], env: dict[str, str], now: float) -> Job:
    """Find the place of an event and read its settings.

    A place that has a workspace of its own by now is moved there.
    """
    place = layout.locate(env, boundary.project_dir(event, env))
    if place.due or place.claimed:
        from memory.project import adoption

        place = adoption.adopt(place, now)
    return Job(event, env, now, place, config.for_place(place, env), [])


def run(event: str, steps: tuple[Step, ...], todo: Job) -> None:
    """Run steps in order; a failure stops none of the others.

    It is logged as `<event> <step>`. event: its word in logs, such as `session_end`.
    """
    name = ""
    try:
        with _limited():
            for name, step in steps:
                try:
                    step(todo)
                except Exception as error:
                    boundary.note(todo.env, event + " " + name, error)
    except Spent as error:
        boundary.note(todo.env, event + " " + name, error)


@contextmanager
def _limited() -> Iterator[None]:
    """Raise Spent after DEADLINE seconds of CPU in the body."""
    import signal
    import threading

    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def late(number: int, frame: object) -> None:
        raise Spent

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, DEADLINE, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# ---- after a turn, a compaction, a session


def _note_pause(todo: Job) -> None:
    """Note the beginning or the end of a session's pause."""
    is_on, session = todo.settings["capture.enabled"], todo.session
    if not session or todo.event.get("agent_id") or "tool_input" in todo.event:
        return
    if is_on and not files.exists(receipts.pauses_path(todo.place.receipts(session))):
        return
    from memory.capture import leftout, stretches

    path = stretches.subject(todo.event, todo.env)[1]
    if is_on:
        prompt = todo.event.get("prompt_id")
        prompt = prompt if isinstance(prompt, str) else ""
        if leftout.end(todo.place, todo.env, session, path, prompt):
            todo.event.pop("last_assistant_message", None)  # it answers what was asked in the pause
    else:
        # a compaction's start comes amid a session
        starts = todo.event.get("source", "compact") != "compact"
        leftout.begin(todo.place, todo.env, session, path, starts)


def _capture(todo: Job) -> None:
    from memory.capture import stretches

    session, path = stretches.subject(todo.event, todo.env)
    trigger = TRIGGERS.get(str(todo.event.get("hook_event_name")), "")
    if not session or not trigger or not todo.settings["capture.enabled"]:
        return
    from memory.core import attempts

    began, attempt = clock.now(), ""
    try:
        attempt = attempts.begin(todo.place, session, trigger, began)
    except OSError as error:
        boundary.note(todo.env, "attempts", error)
    said = todo.event.get("last_assistant_message")
    wrote, until = "", time.process_time() + READING
    try:
        wrote = stretches.capture(
            todo.place,
            todo.settings,
            todo.env,
            todo.now,
            session,
            path,
            trigger,
            said if isinstance(said, str) else "",
            todo.written.append,
            pause=lambda: time.process_time() > until,
        )
    finally:
        if time.process_time() > until:
            boundary.note(todo.env, trigger + " capture", Unread())
        try:
            if attempt:
                id = _id_of(todo.place, wrote)
                attempts.end(todo.place, attempt, trigger, id, began, clock.now())
        except OSError as error:
            boundary.note(todo.env, "attempts", error)


def _id_of(place: Place, name: str) -> str:
    from memory.core import frontmatter

    data = files.read(place.path(name), 1 << 16) if name else b""
    return str(frontmatter.parse(data).meta.get("id") or "")


def _note_wishes(todo: Job) -> None:
    """Store the wishes in a prompt, and note them for the user."""
    prompt = todo.event.get("prompt")
    settings = todo.settings
    typed = isinstance(prompt, str) and not todo.env.get("CLAUDE_CODE_ENTRYPOINT", "").startswith(
        "sdk"
    )
    if (
        not typed
        or not todo.session
        or not settings["capture.enabled"]
        or not settings["capture.wishes"]
    ):
        return
    from memory.capture import wishes
    from memory.session import entries

    line = {"type": "user", "message": {"content": prompt}}
    said = [one for one in entries.entries(line) if one.kind == entries.PROMPT]
    if not any(wishes.wishes(one.text) for one in said):
        return
    from memory.capture.turns import Turn
    from memory.hook import at_stop
    from memory.store.store import Store

    store = Store(todo.place, settings, todo.now, todo.written.append)
    ids = wishes.keep(store, [Turn(clock.iso(todo.now), said[0].text)], todo.session)
    lines = [
        'noted for later sessions: "%s"; `dayleaf record forget %s` if not\n'
        % (store.find(id).title, id)
        for id in ids
    ]
    if lines:
        files.append(
            at_stop.noted_path(todo.place, todo.session), "".join(lines).encode("utf-8", "replace")
        )


def _drop_contrary(todo: Job) -> None:
    if any(name.startswith("p/rules/") for name in todo.written):
        from memory.knowledge import lessons
        from memory.store.store import Store

        lessons.archive_contradicted_wishes(
            Store(todo.place, todo.settings, todo.now, todo.written.append)
        )


def _forget_noted(todo: Job) -> None:
    if todo.event.get(boundary.HEARD) is True:
        from memory.hook import at_stop

        files.remove(at_stop.noted_path(todo.place, todo.session))


def _settle(todo: Job) -> None:
    """Note the blocks that did not reach the model."""
    path = _transcript(todo)
    if not path or todo.event.get("hook_event_name") == "Stop":
        return
    for row in unarrived(todo.place, todo.session, path, todo.now):
        boundary.note(todo.env, str(row.get("event")), boundary.Unwelcome())


def _missing(
    rows: list[dict[str, Any]], pushed: list[dict[str, Any]], data: bytes
) -> list[dict[str, Any]]:
    """Return the receipts whose turn is in a transcript without their block."""
    turns = [at for at, row in enumerate(rows) if _is_turn(row, data)]
    return [
        row
        for row in pushed
        if receipts.tag_of(row).encode("ascii", "replace") not in data
        and (
            _is_turn(row, data)
            if row.get("event") == "prompt"
            else any(at > rows.index(row) for at in turns)
        )
    ]


def unarrived(place: Place, session: str, path: str, now: float) -> list[dict[str, Any]]:
    """Note the blocks that did not reach the model; return their receipts.

    Each once. The host writes every accepted block into the session's transcript. Where a receipt's
    turn is there without its block, the host gave the hook up or dropped its output; the line
    `lost` takes the block's records back, so that a later prompt may have them. path: from
    `transcript.trusted`. now: seconds since the epoch. Raises OSError.
    """
    rows = receipts.read(place.receipts(session))
    said = {row.get("tag") for row in rows if row.get("event") == "lost"}
    pushed = [row for row in rows if receipts.tag_of(row) and receipts.tag_of(row) not in said]
    if not pushed or files.posix.stat(path).st_size > TRANSCRIPT:
        return []
    data = files.read(path, TRANSCRIPT)
    if not any(mark in data for mark in _WRITES):
        return []  # a host that keeps no trace of hooks proves nothing
    missing = _missing(rows, pushed, data)
    for row in missing:
        receipts.write(
            place.receipts(session),
            {
                "v": 1,
                "t": clock.iso(now),
                "event": "lost",
                "tag": receipts.tag_of(row),
                "chosen": row.get("chosen") or [],
            },
        )
    return missing


def _is_turn(row: dict[str, Any], data: bytes) -> bool:
    prompt = row.get("prompt")
    return (
        row.get("event") == "prompt"
        and isinstance(prompt, str)
        and prompt != ""
        and b'"%s"' % prompt.encode("utf-8", "replace") in data
    )


def _teach_walls(todo: Job) -> None:
    """Make candidates of earlier sessions' walls at a session's end."""
    # of walls.py, which is not loaded where there is none
    noted = "%s/%s.met" % (todo.place.cache, todo.place.scope)
    if (
        todo.settings["capture.enabled"]
        and todo.event.get("hook_event_name") == "SessionEnd"
        and files.exists(noted)
        and b'"settled":true' not in files.read(noted, 200).partition(b"\n")[0]
    ):
        from memory.knowledge import candidates, walls

        candidates.settle_walls(
            todo.place,
            todo.settings,
            todo.now,
            walls.cached_failures(todo.place),
            todo.written.append,
        )
        walls.mark_settled(todo.place)


def _index_written(todo: Job) -> None:
    # It does not watch a new day's folder, and the next brief may come at once.
    if todo.written:
        from memory.index import builder

        builder.refresh(todo.place, todo.now, names=todo.written)


def _mark_written(todo: Job) -> None:
    if todo.written:
        _mark(todo)


def _embed(todo: Job) -> None:
    if todo.settings["embeddings.provider.command"]:
        from memory.doors import registry

        step = registry.optional("vectors", "step")
        if step:
            step(todo.place, todo.settings, todo.env, todo.now, DEADLINE)


def _write_note(todo: Job) -> None:
    ends = todo.event.get("hook_event_name") == "SessionEnd"
    if ends and todo.settings["notes.provider"] != config.OFF:
        from memory.capture import progress

        name = progress.head("%s/sessions/%s.json" % (todo.place.cache, todo.session)).get("talk")
        _write_notes(todo, [name] if isinstance(name, str) and name.startswith("p/") else [])


def _write_missing_notes(todo: Job) -> None:
    if todo.settings.sources["notes.provider"] == "default":
        _measure_notes(todo)
    if todo.settings["notes.provider"] != config.OFF:
        from memory.notes import generation

        _write_notes(todo, generation.recent_talks(todo.place, todo.now, todo.session))


def _measure_notes(todo: Job) -> None:
    """Measure a note's cost once, for the question at a start."""
    from memory.hook import signs

    home = todo.place.home
    if files.exists(home + signs.ASKED) or files.exists(home + signs.OFFER):
        return
    if _conversations(todo.place) < LEAST_SESSIONS:
        return
    from memory.health import notekeeping
    from memory.store.store import Store

    tokens = notekeeping.mean_tokens(Store(todo.place, todo.settings, todo.now), LEAST_SESSIONS)
    if tokens:
        files.replace(home + signs.OFFER, b"%d\n" % tokens)


def _conversations(place: Place) -> int:
    root = "%s/%s" % (place.private, layout.FOLDERS["conversation"])
    return sum(len(files.list_folder(root + "/" + day)) for day in files.list_folder(root))


def _write_notes(todo: Job, names: list[str]) -> None:
    from memory.distill.providers import CallFailed
    from memory.health import notekeeping
    from memory.notes import generation, pause
    from memory.store.store import Store

    changed: list[str] = []
    store = Store(todo.place, todo.settings, todo.now, changed.append)
    talks = [store.read(name) for name in names if files.exists(todo.place.path(name))]
    try:
        for written in generation.write_due(store, todo.settings, todo.env, talks, todo.now):
            notekeeping.follow_up(store, written)
    except CallFailed as error:
        raise NoNote(error.why, pause.read(todo.place.home).until) from None
    finally:
        if changed:
            from memory.index import builder

            builder.refresh(todo.place, todo.now, names=changed)


def _note_uses(todo: Job) -> None:
    is_end = todo.event.get("hook_event_name") == "SessionEnd"
    path = _transcript(todo) if is_end else ""
    if path:
        from memory.knowledge import usage

        usage.note(todo.place, todo.session, path, todo.now)


def _transcript(todo: Job) -> str:
    if not (
        todo.settings["capture.enabled"]
        and todo.session
        and files.exists(todo.place.receipts(todo.session))
    ):
        return ""
    from memory.capture import stretches

    return stretches.subject(todo.event, todo.env)[1]


# ---- after a session's start


def _mark_said(todo: Job) -> None:
    """Remember the failures and interrupted captures that the user saw."""
    from memory.core import attempts
    from memory.hook import signs

    said = todo.event.get(signs.UNWRITTEN)
    if todo.event.get(signs.READY) is True:
        files.remove(todo.place.home + signs.SET_UP)
    if todo.event.get(signs.OFFERED) is True:
        files.replace(todo.place.home + signs.ASKED, b"")
    if todo.event.get(signs.RELEASE) is True:
        noted = files.read(todo.place.home + signs.NEWER, 256).strip()
        files.replace(todo.place.home + signs.NEWER, noted + b" heard\n")
    if todo.event.get(signs.REMOTE) is True:
        files.replace(todo.place.cache + layout.REMOTE + todo.place.named, b"")
    if todo.event.get(boundary.FOREIGN):
        files.replace(signs.foreign_mark(todo.place), b"")
    try:
        attempts.mark_reported(todo.place, said if isinstance(said, list) else [], todo.now)
        size = files.posix.stat(todo.place.home + "/log/errors.jsonl").st_size
    except OSError:
        return
    files.replace(todo.place.home + "/log/said", b"%d" % size)


def _identify(todo: Job) -> None:
    """Note this workspace's path, or find a moved repository's workspace."""
    from memory.project import adoption

    if files.is_folder(todo.place.private):
        adoption.note_path(todo.place, todo.now)
        if files.exists(todo.place.private + layout.MOVING):
            from memory.project import sharing
            from memory.store.store import Store

            sharing.heal(Store(todo.place, todo.settings, todo.now))
    if not todo.place.claimed:
        adoption.look_for_past(todo.place)


def _count(todo: Job) -> None:
    from memory.hook import handoffs

    if not todo.session:
        return
    handoffs.count(todo.place, todo.session)
    if not handoffs.shown_waiting(todo.place, todo.session):
        return
    from memory.store.store import Store

    store = Store(todo.place, todo.settings, todo.now, todo.written.append)
    with handoffs.lock(todo.place):
        for name in handoffs.shown_waiting(todo.place, todo.session):
            store.demote(name)


def _derive(todo: Job) -> None:
    from memory.project import manifests

    manifests.remember(todo.place)


def _recover(todo: Job) -> None:
    from memory.capture import recovery

    recovery.recover(todo.place, todo.settings, todo.env, todo.now, todo.session)


def _refresh(todo: Job) -> None:
    from memory.hook import indexview
    from memory.index import builder

    builder.freshen(todo.place, todo.now, bool(todo.event.get(indexview.DAMAGED)))


def _refresh_stale(todo: Job) -> None:
    if todo.event.get(boundary.STALE) is not False:
        _refresh(todo)


def _note_walls(todo: Job) -> None:
    from memory.knowledge import walls

    walls.write(todo.place, todo.settings, todo.now)


def _read_ledgers(todo: Job) -> None:
    from memory.store import ledger

    for each in ledger.ledgers(todo.place):
        ledger.read(each)


def _mark(todo: Job) -> None:
    from memory.project import stalemarks

    stalemarks.write(todo.place)


def _look_ahead(todo: Job) -> None:
    """Cache audit facts of new records, once a day for some seconds."""
    path = "%s/%s.facts" % (todo.place.cache, todo.place.scope)
    try:
        if 0 <= todo.now - files.posix.stat(path).st_mtime < LOOK_EVERY:
            return
    except OSError:
        pass
    from memory.core import IndexFault
    from memory.health import inspection
    from memory.hook import indexview
    from memory.index import builder
    from memory.store.store import Store

    try:
        found = indexview.open_index(todo.place, watch=False)
    except IndexFault:
        return
    try:
        docs = builder.first_documents(found)
    finally:
        found.close()
    inspection.look_ahead(Store(todo.place, todo.settings, todo.now), docs, LOOKING)


def _count_secrets(todo: Job) -> None:
    """Count the records that hold secrets, for the next start."""
    from memory.core import IndexFault
    from memory.hook import indexview, signs

    before, heard = signs.counted_secrets(todo.place)
    heard = before if todo.event.get(signs.SECRETS) is True else heard
    try:
        found = indexview.open_index(todo.place, watch=False)
    except IndexFault:
        return
    count = len(found.secrets())
    found.close()
    line = b"%d %d\n" % (count, min(heard, count))
    if count or before:
        files.update(signs.secrets_path(todo.place), line)


def _mark_announced(todo: Job) -> None:
    """Remember a repository's rules and scripts, and whether announced."""
    from memory.hook import announcements
    from memory.knowledge import approvalstate

    approvalstate.note(
        todo.place, todo.settings, todo.now, todo.event.get(announcements.ANNOUNCED) is True
    )


def _set_up(todo: Job) -> None:
    """Run `install.sh --runtime` once a day while the runtime is missing."""
    if files.exists(todo.place.home + "/runtime/bin/python") or not todo.settings["runtime.auto"]:
        return
    stamp = todo.place.home + "/log/setup.log"
    try:
        if todo.now - files.posix.stat(stamp).st_mtime < SETUP_EVERY:
            return
    except OSError:
        pass
    import subprocess

    from memory.hook import signs

    root = layout.plugin()
    files.replace(stamp, b"")
    started = time.monotonic()
    with open(stamp, "ab") as log:
        status = subprocess.call(
            ["/bin/sh", root + "/install.sh", "--runtime"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**todo.env, "DAYLEAF_HOME": todo.place.home},
            cwd=root,
        )
    if not status:
        files.replace(todo.place.home + signs.SET_UP, b"%d\n" % (time.monotonic() - started))


def _find_release(todo: Job) -> None:
    from memory import __version__
    from memory.health import releases
    from memory.hook import signs

    path = todo.place.home + signs.NEWER
    version, marketplace = releases.newer(layout.plugin(), __version__)
    try:
        noted = files.read(path, 256).decode("ascii", "replace").split()
    except OSError:
        noted = []
    if not version and noted:
        files.remove(path)
    elif version and noted[:2] != [version, marketplace]:
        files.replace(path, ("%s %s\n" % (version, marketplace)).encode("ascii"))


AFTER_WORK: tuple[Step, ...] = (
    ("pause", _note_pause),
    ("capture", _capture),
    ("heard", _forget_noted),
    ("contrary", _drop_contrary),
    ("arrival", _settle),
    ("walls", _teach_walls),
    ("refresh", _index_written),
    ("mark", _mark_written),
    ("embed", _embed),
    ("note uses", _note_uses),
    ("notes", _write_note),
)
AFTER_START: tuple[Step, ...] = (
    ("said", _mark_said),
    ("pause", _note_pause),
    ("identity", _identify),
    ("count", _count),
    ("derive", _derive),
    ("recover", _recover),
    ("refresh", _refresh),
    ("walls", _note_walls),
    ("embed", _embed),
    ("ledgers", _read_ledgers),
    ("mark", _mark),
    ("announce", _mark_announced),
    ("secrets", _count_secrets),
    ("look ahead", _look_ahead),
    ("notes", _write_missing_notes),
    ("release", _find_release),
    ("set up", _set_up),
)
AFTER_PROMPT: tuple[Step, ...] = (
    ("pause", _note_pause),
    ("wishes", _note_wishes),
    ("contrary", _drop_contrary),
    ("refresh", _refresh_stale),
    ("refresh wishes", _index_written),
)
