"""Detached work behind the hooks: capture, what it taught and what was used; the handoff's count, context tags, recovery of
lost sessions, refresh, the marks of what is stale and of what was announced, setting up the runtime."""

from __future__ import annotations

from memory import adoption, attempts, capture, clock, config, files, handoff, hookio, indexer, ledger, marks, paths, recovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    Event = Dict[str, Any]

EMBEDDED = 200  # chunks that one background run embeds; the next one goes on
SETUP_EVERY = 86400.0  # seconds between attempts to set up the runtime


def work(event: Event, env: Dict[str, str], now: float) -> None:
    """Write the checkpoint that a PreCompact, Stop or SessionEnd event asks for and what it taught, tell the index, and note
    what was used.

    The folder of a new day is none that the index watches, and after a compaction the brief is asked for at once.
    """
    written: List[str] = []
    place = adoption.at(env, hookio.project_dir(event, env), now)
    settings = config.load(place.home, place.root, env)
    try:
        _captured(place, settings, event, env, now, written)
        session = paths.safe_id(event.get("session_id"))
        if session:
            _learn(place, settings, env, now, session, written)
        if written:
            indexer.refresh(place, now, names=written)
            marks.write(place)
        embed(place, settings, env, now)
    finally:
        _note_uses(place, settings, event, env, now)


def _captured(place: paths.Place, settings: config.Config, event: Event, env: Dict[str, str], now: float,
              written: List[str]) -> None:
    """Capture, and note before and after: what never came to its end is said at the next start."""
    session, path = capture.subject(event, env)
    trigger = capture.TRIGGERS.get(str(event.get("hook_event_name")), "")
    if not session or not trigger or not settings["capture.enabled"]:
        return
    began = clock.now()
    try:
        run = attempts.begin(place, session, trigger, began)
    except OSError as error:
        hookio.note(env, "attempts", error)
        run = ""
    try:
        capture.on_event(event, env, now, written.append)
    finally:
        try:
            if run:
                attempts.end(place, run, trigger, (written or [""])[0], began, clock.now())
        except OSError as error:
            hookio.note(env, "attempts", error)
    if trigger != "stop":
        _lost(place, session, path, env, now)


def _lost(place: paths.Place, session: str, path: str, env: Dict[str, str], now: float) -> None:
    """Note which blocks did not reach the model."""
    from memory import arrival

    try:
        for row in arrival.settle(place, session, path, now):
            hookio.note(env, str(row.get("event")), hookio.Unwelcome())
    except FileNotFoundError:  # a session without receipts
        return
    except OSError as error:
        hookio.note(env, "arrival", error)


def _learn(place: paths.Place, settings: config.Config, env: Dict[str, str], now: float, session: str,
           written: List[str]) -> None:
    """Make candidates of what captures taught, of one session or ("") of all; the index hears of them with the checkpoint."""
    from memory import candidates

    try:
        candidates.settle(place, settings, now, session, written.append)
    except Exception as error:
        hookio.note(env, "lessons", error)


def _note_uses(place: paths.Place, settings: config.Config, event: Event, env: Dict[str, str], now: float) -> None:
    from memory import used

    session, path = capture.subject(event, env)
    try:
        if session and settings["capture.enabled"]:
            used.note(place, session, path, now)
    except Exception as error:
        hookio.note(env, "uses", error)


def after_start(event: Event, env: Dict[str, str], now: float) -> None:
    """Do what a session's start leaves for later: mark failures as said, count, derive context tags, recover, refresh, mark what
    is stale, set up the runtime."""
    place = adoption.at(env, hookio.project_dir(event, env), now)
    settings = config.load(place.home, place.root, env)
    _mark_said(place, event, now)
    for step in (_count, _derive, _recover, _refresh, _mark_stale, _mark_announced, _set_up):
        try:
            step(place, settings, event, env, now)
        except Exception as error:
            hookio.note(env, "session_start worker", error)


def _mark_said(place: paths.Place, event: Event, now: float) -> None:
    """Remember how far the log of failures was when the user heard of them, and of which captures that were cut short."""
    from memory import brief

    said = event.get(brief.UNWRITTEN)
    try:
        attempts.say(place, said if isinstance(said, list) else [], now)
        size = files.posix.stat(place.home + "/log/errors.jsonl").st_size
    except OSError:
        return
    files.replace(place.home + "/log/said", b"%d" % size)


def _count(place: paths.Place, settings: config.Config, event: Event, env: Dict[str, str], now: float) -> None:
    """Count the start for the handoff that it showed."""
    session = paths.safe_id(event.get("session_id"))
    if session:
        handoff.count(place, session)


def _derive(place: paths.Place, settings: config.Config, event: Event, env: Dict[str, str], now: float) -> None:
    """Keep what the project's manifests say, for the prompts and starts to come."""
    from memory import manifests

    manifests.remember(place, settings)


def _recover(place: paths.Place, settings: config.Config, event: Event, env: Dict[str, str], now: float) -> None:
    if settings["capture.enabled"]:
        recovery.recover(place, settings, env, now, paths.safe_id(event.get("session_id")))
        _learn(place, settings, env, now, "", [])


def _refresh(place: paths.Place, settings: config.Config, event: Event, env: Dict[str, str], now: float) -> None:
    indexer.freshen(event, env, now)
    embed(place, settings, env, now)
    for each in ledger.ledgers(place):  # what the hooks read of them may have been deleted
        ledger.read(each)


def _mark_stale(place: paths.Place, settings: config.Config, event: Event, env: Dict[str, str], now: float) -> None:
    marks.write(place)


def _mark_announced(place: paths.Place, settings: config.Config, event: Event, env: Dict[str, str], now: float) -> None:
    from memory import brief, review

    review.note(place, settings, now, event.get(brief.ANNOUNCED) is True)


def embed(place: paths.Place, settings: config.Config, env: Dict[str, str], now: float) -> None:
    """Give new and changed records their vectors, where `index build --embeddings` has made some with the same model."""
    from memory import embedder, rows

    if not files.exists(rows.path_of(place)):
        return
    from memory import vectors

    provider = embedder.from_settings(settings, "", env)
    if provider and vectors.label_of(place) == provider.label:
        vectors.update(place, provider, env, now, EMBEDDED)


def _set_up(place: paths.Place, settings: config.Config, event: Event, env: Dict[str, str], now: float) -> None:
    """Run `install.sh --runtime` once a day where the runtime is missing; it says what it does in log/setup.log."""
    if files.exists(place.home + "/runtime/bin/python") or not settings["runtime.auto"]:
        return
    stamp = place.home + "/log/setup.log"
    try:
        if now - files.posix.stat(stamp).st_mtime < SETUP_EVERY:
            return
    except OSError:
        pass
    import subprocess

    root = __file__.replace("\\", "/").rpartition("/memory/")[0]
    files.replace(stamp, b"")
    with open(stamp, "ab") as log:
        subprocess.call(["/bin/sh", root + "/install.sh", "--runtime"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                        env={**env, "DAYLEAF_HOME": place.home}, cwd=root)
