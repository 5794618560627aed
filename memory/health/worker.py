"""The worker: the steps that a hook's detached child runs, in order.

A step is a name and a function of one Job.  A failing step is noted in log/errors.jsonl as `<event>
<step>`, and the next one runs.  Steps import late; docs/hooks.md has the table.

All steps of an event together have DEADLINE seconds of CPU: wall-clock time would end the work of a
machine that sleeps or is busy.  A large store's first index takes a minute.  Reading a transcript
stops after READING, so that a checkpoint is written and the next capture continues there.  The
deadline leaves no file half-written: files are replaced as a whole.
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
    from memory.hook.indexview import Index
    from memory.store.store import Store

# seconds of CPU for all steps of an event, and for reading a transcript
DEADLINE, READING = 120.0, 60.0
AGAIN = 5.0  # seconds of CPU until Spent is raised again

TRANSCRIPT_BYTES = 64 << 20  # longer transcripts are not searched for lost blocks
# marks of a host that writes hook output into the transcript
_WRITES = (b'"hook_success"', b'"hook_additional_context"')
LEAST_SESSIONS = 3  # conversations worth a note before the user is asked about notes
FACTS_SECONDS = 5.0  # seconds of CPU for a run of `_cache_audit_facts`
# events that ask for a checkpoint
TRIGGERS = {"Stop": "stop", "PreCompact": "pre_compact", "SessionEnd": "session_end"}


class Spent(BaseException):
    """An event's steps took more CPU time than DEADLINE.

    Raised within a step, which must not catch it.
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
    """A model wrote no note.  until: when a model is asked again."""

    def __init__(self, why: str, until: float):
        self.strerror = (
            "a note of a session was not written: %s; the model is asked again after %s, "
            "`dayleaf notes status` says more"
        ) % (why, clock.format_local(until))


class Job(NamedTuple):
    """The data shared by the steps of one event.

    event: the hook's payload. written: names of the records written since.
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
        return layout.valid_id(self.event.get("session_id"))

    @property
    def hook(self) -> str:
        """The event's name, such as `SessionEnd`."""
        return str(self.event.get("hook_event_name"))

    def text(self, key: str) -> str:
        """Return a text of the event, "" for anything else."""
        value = self.event.get(key)
        return value if isinstance(value, str) else ""

    def open_store(self) -> Store:
        """Return a store; the names of written records go to `written`."""
        from memory.store.store import Store

        return Store(self.place, self.settings, self.now, self.written.append)


Step = tuple[str, Callable[[Job], None]]


def work(event: dict[str, Any], env: dict[str, str], now: float) -> None:
    """Run the steps after PreCompact, Stop and SessionEnd."""
    todo = make_job(event, env, now)
    run(TRIGGERS.get(todo.hook, "worker"), AFTER_WORK, todo)


def after_start(event: dict[str, Any], env: dict[str, str], now: float) -> None:
    """Run the steps after SessionStart."""
    run("session_start", AFTER_START, make_job(event, env, now))


def after_prompt(event: dict[str, Any], env: dict[str, str], now: float) -> None:
    """Run the steps after UserPromptSubmit."""
    run("prompt", AFTER_PROMPT, make_job(event, env, now))


def make_job(event: dict[str, Any], env: dict[str, str], now: float) -> Job:
    """Prepare an event's job: its place, its workspace, its settings."""
    place = layout.locate(env, boundary.project_dir(event, env))
    layout.refuse_lost(place.private)
    # before the settings: what was switched off where this folder was before stays off
    is_new = place.git and not files.is_folder(place.private)
    if place.due or place.claimed or (is_new and files.exists(place.home + layout.PLACES)):
        from memory.project import adoption

        place = adoption.adopt(place, now)
    return Job(event, env, now, place, config.load_for_place(place, env), [])


def run(event: str, steps: tuple[Step, ...], todo: Job) -> None:
    """Run steps in order; log a failure and go on.

    event: its word in logs, such as `session_end`.
    """
    name = ""
    try:
        with _limit_cpu():
            for name, step in steps:
                try:
                    step(todo)
                except Exception as error:
                    boundary.log_failure(todo.env, event + " " + name, error)
    except Spent as error:
        boundary.log_failure(todo.env, event + " " + name, error)


@contextmanager
def _limit_cpu() -> Iterator[None]:
    """Raise Spent after DEADLINE seconds of CPU in the body."""
    import signal
    import threading

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def raise_spent(number: int, frame: object) -> None:
        raise Spent

    before = signal.signal(signal.SIGPROF, raise_spent)
    signal.setitimer(signal.ITIMER_PROF, DEADLINE, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# ---- after a turn, a compaction, a session


def _note_pause(todo: Job) -> None:
    """Record the beginning or the end of a pause of capture."""
    is_on, session = todo.settings["capture.enabled"], todo.session
    if not session or todo.event.get("agent_id") or "tool_input" in todo.event:
        return
    if is_on and not files.exists(receipts.pauses_path(todo.place.receipts(session))):
        return
    from memory.capture import leftout, stretches

    path = stretches.find_session(todo.event, todo.env)[1]
    if is_on:
        prompt = todo.text("prompt_id")
        if leftout.end_pause(todo.place, todo.env, session, path, prompt):
            todo.event.pop("last_assistant_message", None)  # the answer to a prompt in the pause
    else:
        # the start after a compaction is no beginning
        starts = todo.event.get("source", "compact") != "compact"
        leftout.begin_pause(todo.place, todo.env, session, path, starts)


def _capture(todo: Job) -> None:
    from memory.capture import stretches

    session, path = stretches.find_session(todo.event, todo.env)
    trigger = TRIGGERS.get(todo.hook, "")
    if not session or not trigger or not todo.settings["capture.enabled"]:
        return
    from memory.core import attempts

    began, attempt = clock.now(), ""
    try:
        attempt = attempts.log_start(todo.place, session, trigger, began)
    except OSError as error:
        boundary.log_failure(todo.env, "attempts", error)
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
            todo.text("last_assistant_message"),
            todo.written.append,
            pause=lambda: time.process_time() > until,
        )
    finally:
        if time.process_time() > until:
            boundary.log_failure(todo.env, trigger + " capture", Unread())
        try:
            if attempt:
                id = _read_id(todo.place, wrote)
                attempts.log_end(todo.place, attempt, trigger, id, began, clock.now())
        except OSError as error:
            boundary.log_failure(todo.env, "attempts", error)


def _read_id(place: Place, name: str) -> str:
    from memory.core import frontmatter

    data = files.read(place.path(name), 1 << 16) if name else b""
    return str(frontmatter.parse(data).meta.get("id") or "")


def _note_wishes(todo: Job) -> None:
    """Store the wishes in a typed prompt."""
    prompt, settings = todo.text("prompt"), todo.settings
    if not prompt or not todo.session:
        return
    if not settings["capture.enabled"] or not settings["capture.wishes"]:
        return
    from memory.capture import wishes
    from memory.capture.turns import Turn
    from memory.session import entries

    line = {
        "type": "user",
        "entrypoint": todo.env.get("CLAUDE_CODE_ENTRYPOINT"),
        "message": {"content": prompt},
    }
    prompts = [entry for entry in entries.parse_entries(line) if entry.kind == entries.PROMPT]
    turns = [Turn(clock.iso(todo.now), one.text) for one in prompts if not one.headless]
    if wishes.list_wishes(turns):
        wishes.save_wishes(todo.open_store(), turns, todo.session)


def _tell_new_wishes(todo: Job) -> None:
    """Leave the user a line about each wish that was just noted."""
    rules = [name for name in todo.written if name.startswith("p/rules/")]
    if not rules or not todo.session:
        return
    from memory.capture import wishes
    from memory.hook import at_stop

    store = todo.open_store()
    form = 'noted for later sessions: "%s"; `dayleaf record forget %s` if not\n'
    names = dict.fromkeys(rules)
    new = store.each_by(store.read, names, lambda rule: wishes.is_new(store, rule))
    text = "".join(form % (rule.title, rule.id) for rule in new)
    if text:
        files.append(
            at_stop.notices_path(todo.place, todo.session), text.encode("utf-8", "replace")
        )


def _archive_contradicted_wishes(todo: Job) -> None:
    if any(name.startswith("p/rules/") for name in todo.written):
        from memory.knowledge import lessons

        lessons.archive_contradicted_wishes(todo.open_store())


def _clear_shown_wishes(todo: Job) -> None:
    if todo.event.get(boundary.HEARD) is True:
        from memory.hook import at_stop

        files.remove(at_stop.notices_path(todo.place, todo.session))


def _note_unarrived(todo: Job) -> None:
    """Log the blocks that did not reach the model."""
    path = _transcript_path(todo)
    if not path or todo.hook == "Stop":
        return
    for row in note_unarrived(todo.place, todo.session, path, todo.now):
        boundary.log_failure(todo.env, str(row.get("event")), boundary.Unwelcome())


def note_unarrived(place: Place, session: str, path: str, now: float) -> list[dict[str, Any]]:
    """Note once each block that did not reach the model; return their receipts.

    The host writes every accepted block into the session's transcript. A turn without its block
    means that the host dropped the hook's output; the line `lost` lets a later prompt have the
    block's records.
    """
    rows = receipts.read(place.receipts(session))
    known = {"", *(row.get("tag") for row in rows if row.get("event") == "lost")}
    if (
        known.issuperset(map(receipts.get_receipt_tag, rows))
        or files.posix.stat(path).st_size > TRANSCRIPT_BYTES
    ):
        return []
    data = files.read(path, TRANSCRIPT_BYTES)
    if not any(mark in data for mark in _WRITES):
        return []  # this host writes no hook output
    missing = []
    for row in _find_past(rows, data):
        tag, chosen = receipts.get_receipt_tag(row), row.get("chosen") or []
        if tag not in known and tag.encode("ascii", "replace") not in data:
            lost = {"v": 1, "t": clock.iso(now), "event": "lost", "tag": tag, "chosen": chosen}
            lost.update({"turns": row["turns"]} if row.get("turns") else {})
            receipts.write(place.receipts(session), lost)
            missing.append(row)
    return missing


def _find_past(rows: list[dict[str, Any]], data: bytes) -> list[dict[str, Any]]:
    """Return the receipts whose turn is in a transcript.

    The turn of a start's block is any later one.
    """
    past: list[dict[str, Any]] = []
    has_later_turn = False
    for row in reversed(rows):
        has_turn = _has_turn(row, data)
        is_past = has_turn if row.get("event") == "prompt" else has_later_turn
        if is_past:
            past.insert(0, row)
        has_later_turn = has_later_turn or has_turn
    return past


def _has_turn(row: dict[str, Any], data: bytes) -> bool:
    """Tell whether a transcript holds the prompt of a receipt."""
    prompt = row.get("prompt")
    return (
        row.get("event") == "prompt"
        and isinstance(prompt, str)
        and prompt != ""
        and b'"%s"' % prompt.encode("utf-8", "replace") in data
    )


def _teach_walls(todo: Job) -> None:
    """Make candidates of failures that earlier sessions met too."""
    # the file of walls.py, which is not loaded without it
    noted = "%s/%s.met" % (todo.place.cache, todo.place.scope)
    if (
        todo.settings["capture.enabled"]
        and todo.hook == "SessionEnd"
        and files.exists(noted)
        and b'"settled":true' not in files.read(noted, 200).partition(b"\n")[0]
    ):
        from memory.knowledge import candidates, walls

        rows = walls.read_cached_failures(todo.place)
        candidates.update_candidates(todo.open_store(), rows)
        walls.mark_settled(todo.place)


def _index_written(todo: Job) -> None:
    # the index does not watch a new day's folder, and the next brief may come at once
    if todo.written:
        from memory.index import builder

        builder.refresh(todo.place, todo.now, names=todo.written)


def _mark_stale_written(todo: Job) -> None:
    if todo.written:
        _write_stale_marks(todo)


def _embed(todo: Job) -> None:
    if todo.settings["embeddings.provider.command"]:
        from memory.doors import registry

        step = registry.optional("vectors", "step")
        if step:
            step(todo.place, todo.settings, todo.env, todo.now, DEADLINE)


def _write_note(todo: Job) -> None:
    if todo.hook == "SessionEnd" and todo.settings["notes.provider"] != config.OFF:
        from memory.health import notekeeping

        name = notekeeping.find_conversation(todo.place, todo.session)
        _write_notes(todo, [name] if name else [])


def _write_missing_notes(todo: Job) -> None:
    if todo.settings.sources["notes.provider"] == "default":
        _measure_notes(todo)
    if todo.settings["notes.provider"] != config.OFF:
        from memory.notes import generation

        _write_notes(todo, generation.list_recent_talks(todo.place, todo.now, todo.session))


def _measure_notes(todo: Job) -> None:
    """Measure once how many tokens a note costs, for the question at a start."""
    from memory.hook import signs

    home = todo.place.home
    if files.exists(home + signs.ASKED) or files.exists(home + signs.OFFER):
        return
    # most stores have none, and need not load what counts tokens
    if _count_conversations(todo.place) < LEAST_SESSIONS:
        return
    from memory.distill import spend
    from memory.health import notekeeping

    tokens = notekeeping.mean_tokens(todo.open_store(), LEAST_SESSIONS)
    if tokens:
        price = spend.format_price(spend.estimate_price(home, todo.now, "claude", tokens))
        files.replace(home + signs.OFFER, ("%d%s\n" % (tokens, price)).encode("ascii"))


def _count_conversations(place: Place) -> int:
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
        for written in generation.write_due_notes(store, todo.settings, todo.env, talks, todo.now):
            notekeeping.follow_up(store, written)
    except CallFailed as error:
        raise NoNote(error.why, pause.read(todo.place.home).until) from None
    finally:
        if changed:
            from memory.index import builder

            builder.refresh(todo.place, todo.now, names=changed)


def _note_uses(todo: Job) -> None:
    path = _transcript_path(todo) if todo.hook == "SessionEnd" else ""
    if path:
        from memory.knowledge import usage

        usage.log_uses(todo.place, todo.session, path, todo.now)


def _transcript_path(todo: Job) -> str:
    if not (
        todo.settings["capture.enabled"]
        and todo.session
        and files.exists(todo.place.receipts(todo.session))
    ):
        return ""
    from memory.capture import stretches

    return stretches.find_session(todo.event, todo.env)[1]


# ---- after a session's start


def _mark_reported(todo: Job) -> None:
    """Record which failures and announcements the user saw at the start."""
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
        files.replace(signs.foreign_mark_path(todo.place), b"")
    try:
        attempts.mark_reported(todo.place, said if isinstance(said, list) else [], todo.now)
        size = files.posix.stat(todo.place.home + "/log/errors.jsonl").st_size
    except OSError:
        return
    files.replace(todo.place.home + "/log/said", b"%d" % size)


def _identify_workspace(todo: Job) -> None:
    """Record this workspace's path, or find a moved repository's workspace."""
    from memory.project import adoption

    adoption.note_path(todo.place, todo.now)
    if files.exists(todo.place.private + layout.MOVING):
        from memory.project import sharing

        sharing.finish_move(todo.open_store())
    if not todo.place.claimed:
        adoption.find_past_workspace(todo.place)


def _count_handoff(todo: Job) -> None:
    from memory.hook import handoffs

    if not todo.session:
        return
    handoffs.record_start(todo.place, todo.session)
    if not handoffs.list_shown_waiting(todo.place, todo.session):
        return
    store = todo.open_store()
    with handoffs.lock(todo.place):
        for name in handoffs.list_shown_waiting(todo.place, todo.session):
            store.demote(name)


def _cache_manifest_tags(todo: Job) -> None:
    from memory.project import manifests

    manifests.cache_tags(todo.place)


def _recover(todo: Job) -> None:
    from memory.capture import recovery

    recovery.recover(todo.place, todo.settings, todo.env, todo.now, todo.session)


def _refresh_index(todo: Job) -> None:
    from memory.hook import indexview
    from memory.index import builder

    builder.refresh_after_hook(todo.place, todo.now, bool(todo.event.get(indexview.DAMAGED)))


def _refresh_stale(todo: Job) -> None:
    if todo.event.get(boundary.STALE) is not False:
        _refresh_index(todo)


def _write_walls(todo: Job) -> None:
    from memory.knowledge import walls

    walls.update_walls(todo.place, todo.settings, todo.now)


def _read_ledgers(todo: Job) -> None:
    from memory.store import ledger

    for book in ledger.ledgers(todo.place):
        ledger.read(book)


def _write_stale_marks(todo: Job) -> None:
    from memory.project import stalemarks

    stalemarks.write(todo.place)


def _cache_audit_facts(todo: Job) -> None:
    """Cache audit facts of new records, once a day, for at most FACTS_SECONDS."""
    if _is_of_today("%s/%s.facts" % (todo.place.cache, todo.place.scope), todo.now):
        return
    from memory.health import inspection
    from memory.index import builder

    with _open_index(todo.place) as index:
        if index:
            docs = builder.list_first_documents(index)
            inspection.cache_facts(todo.open_store(), docs, FACTS_SECONDS)


@contextmanager
def _open_index(place: Place) -> Iterator[Index | None]:
    """Open the index as it is on disk; yields None for a damaged one."""
    from memory.core import IndexFault
    from memory.hook import indexview

    try:
        index = indexview.open_index(place, watch=False)
    except IndexFault:
        yield None
        return
    try:
        yield index
    finally:
        index.close()


def _is_of_today(path: str, now: float) -> bool:
    """Tell whether a file was written within a day."""
    try:
        return 0 <= now - files.posix.stat(path).st_mtime < clock.DAY
    except OSError:
        return False


def _count_secrets(todo: Job) -> None:
    """Count the records with secrets, for the next start."""
    from memory.hook import signs

    before, heard = signs.read_secret_counts(todo.place)
    heard = before if todo.event.get(signs.SECRETS) is True else heard
    with _open_index(todo.place) as index:
        count = len(index.secrets()) if index else 0
    if index and (count or before):
        line = b"%d %d\n" % (count, min(heard, count))
        files.replace_if_changed(signs.secrets_path(todo.place), line)


def _mark_announced(todo: Job) -> None:
    """Record a repository's rules and scripts, and whether they were announced."""
    from memory.hook import announcements
    from memory.knowledge import approvalstate

    is_announced = todo.event.get(announcements.ANNOUNCED_KEY) is True
    approvalstate.remember_announced(todo.open_store(), is_announced)


def _set_up_runtime(todo: Job) -> None:
    """Run `install.sh --runtime` once a day while the runtime is missing."""
    if files.exists(todo.place.home + "/runtime/bin/python") or not todo.settings["runtime.auto"]:
        return
    stamp = todo.place.home + "/log/setup.log"
    if _is_of_today(stamp, todo.now):
        return
    import subprocess

    from memory.hook import signs

    root = layout.plugin_folder()
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
    version, marketplace = releases.find_newer(layout.plugin_folder(), __version__)
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
    ("heard", _clear_shown_wishes),
    ("noted", _tell_new_wishes),
    ("contrary", _archive_contradicted_wishes),
    ("arrival", _note_unarrived),
    ("walls", _teach_walls),
    ("refresh", _index_written),
    ("mark", _mark_stale_written),
    ("embed", _embed),
    ("note uses", _note_uses),
    ("notes", _write_note),
)
AFTER_START: tuple[Step, ...] = (
    ("said", _mark_reported),
    ("pause", _note_pause),
    ("identity", _identify_workspace),
    ("count", _count_handoff),
    ("derive", _cache_manifest_tags),
    ("recover", _recover),
    ("refresh", _refresh_index),
    ("walls", _write_walls),
    ("embed", _embed),
    ("ledgers", _read_ledgers),
    ("mark", _write_stale_marks),
    ("announce", _mark_announced),
    ("secrets", _count_secrets),
    ("look ahead", _cache_audit_facts),
    ("notes", _write_missing_notes),
    ("release", _find_release),
    ("set up", _set_up_runtime),
)
AFTER_PROMPT: tuple[Step, ...] = (
    ("pause", _note_pause),
    ("wishes", _note_wishes),
    ("noted", _tell_new_wishes),
    ("contrary", _archive_contradicted_wishes),
    ("refresh", _refresh_stale),
    ("refresh wishes", _index_written),
)
