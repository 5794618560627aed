"""The verbs that write records: learn, checkpoint, forget, restore, edit; and the switches on and off."""

from __future__ import annotations

import re
import sys

from memory import clock, files, paths, terminal
from memory.call import Call, confirmed, find, record_json, session_of, shown, tier_of, warn
from memory.errors import StoreError, UsageError
from memory.settings import change_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory.records import Record
    from memory.store import Store

TITLE = 80  # characters of a title taken from the text


def learn(call: Call) -> int:
    """Keep a learning; one that is there already takes the tags."""
    from memory.redact import strip_private

    said = call.text().strip()
    if not said:
        raise UsageError("an empty learning; give it as an argument or on stdin")
    tier = tier_of(call)
    said = strip_private(said).strip()
    if not said:
        raise UsageError("nothing is left to keep: all of it is private")
    title, store = call.options.title or first_clause(said), call.store()
    there = store.same("learning", title, said, tier)
    kept = _joined(call, store, there) if there else _learnt(call, store, title, said, tier)
    call.indexed()
    _warn_of_links(call, store, kept)
    return written(call, kept, "already there" if there else "kept")


def _learnt(call: Call, store: Store, title: str, said: str, tier: str) -> Record:
    """Write a new learning with what the options say of it."""
    extra = {"versions": call.options.version, "confidence": call.options.confidence}
    return store.add("learning", title, said + "\n", tier=tier, tags=call.options.tag or (), session=session_of(call),
                     source=call.options.source or author(call), extra={key: value for key, value in extra.items() if value})


def _joined(call: Call, store: Store, there: Record) -> Record:
    """Add the tags, versions and confidence of the options to a learning that is there."""
    new = {"tags": _union(there.tags, call.options.tag), "versions": _union(there.versions, call.options.version),
           "confidence": call.options.confidence or there.confidence}
    old = {"tags": [*there.tags], "versions": [*there.versions], "confidence": there.confidence}
    changes = {key: value for key, value in new.items() if value != old[key]}
    return store.edit(there.name, changes) if changes else there


def _union(there: Iterable[str], more: Iterable[str] | None) -> list[str]:
    from memory.records import labels

    return list(labels([*there, *(more or ())]))


def checkpoint(call: Call) -> int:
    """Write a checkpoint: of a note, or of a session's work where there is none."""
    from memory import capture
    from memory.redact import strip_private

    said = call.text()
    if said.strip():
        if not strip_private(said).strip():
            raise UsageError("nothing is left to keep: all of it is private")
        store = call.store()
        kept = capture.note(store, call.place, said, call.options.tag or (), session_of(call), call.now)
        _warn_of_links(call, store, kept)
    else:
        kept = _of_session(call)
    call.indexed()
    return written(call, kept, "written")


def _warn_of_links(call: Call, store: Store, kept: Record) -> None:
    """Say of the `[[targets]]` in a text that is kept which ones are no record."""
    from memory import links, records

    said = records.wiki_links(kept.body)
    if not said:
        return
    names, away = links.Names(map(links.node, store.each()), store.successors()), links.called_away(store.left())
    lost = []
    for target in (target for target in said if not names.find(target)):
        gone, near = links.gone_to(target, away), names.nearest(target, links.node(kept))
        lost.append("[[%s]] is %s" % (shown(target), "archived: `dayleaf restore %s`" % gone if gone else "no record" + (
            " (did you mean %s '%s'?)" % (near.id, shown(near.title)) if near else "")))
    if lost:
        warn("kept, but %s" % ", ".join(lost))


def _of_session(call: Call) -> Record:
    """Capture the running session from its transcript."""
    session = session_of(call)
    if not session:
        raise UsageError("nothing to write; give a note, or --session ID")
    path = transcript_of(call, session)
    if not path:
        raise StoreError("no transcript of session %s is known; give a note instead" % session)
    name = capture_now(call, session, path)
    if not name:
        raise StoreError("nothing new in session %s since its last checkpoint; give a note to write one" % session)
    return call.store().read(name)


def transcript_of(call: Call, session: str) -> str:
    """Return the path of a session's transcript, as the option or its receipts name it; "" where none is known."""
    from memory import receipts, transcript

    known = receipts.read(call.place.receipts(session)) if files.exists(call.place.receipts(session)) else []
    named = [row["transcript"] for row in known if row.get("event") == "start" and row.get("transcript")]
    return transcript.trusted(call.options.transcript or (named or [""])[-1], call.env)


def capture_now(call: Call, session: str, path: str) -> str:
    """Write down what a session has done since its last checkpoint; returns the checkpoint's name, "" where nothing is new."""
    from memory import capture

    return capture.capture(call.place, call.settings, call.env, call.now, session, path, "manual",
                           on_change=call.changed.append)


def author(call: Call) -> str:
    """Say who writes: inside the client's shell it is the model."""
    return "agent" if call.env.get("CLAUDECODE") else "human"


def first_clause(said: str) -> str:
    """Return the first sentence of a text as a title of at most TITLE characters."""
    line = re.split(r"(?<=[.!?;])\s|[。！？]|\n", said.lstrip("#-*> \t\n"), maxsplit=1)[0]
    line = terminal.one_line(line).rstrip(".;。 ")
    return terminal.at_word(line, TITLE)


def written(call: Call, kept: Record, done: str) -> int:
    """Say what was written and where."""
    if call.options.hook:
        from memory import render

        print(render.block(call.verb, ["%s: [%s] %s, %s" % (done, kept.id, render.clean(terminal.one_line(kept.title)),
                                                            call.place.path(kept.name))]))
        return 0
    secret = ["a secret was taken out of it"] if "[redacted:" in kept.title + kept.body else []
    return call.answer({**record_json(kept), "path": call.place.path(kept.name)},
                       ["%s %s  %s" % (done, kept.id, terminal.one_line(kept.title)), "  " + call.place.path(kept.name),
                        *("  " + line for line in secret)])


def forget(call: Call) -> int:
    """Move a record to the archive, or remove it with --hard."""
    id = call.one("ID")
    if call.options.hard:
        return _forget_hard(call, id)
    from memory import ledger

    store = call.store()
    found = store.find(id)
    away = store.archive(found.name, call.options.reason or "forgotten")
    call.indexed()
    ledger.moved(call.place)
    return call.answer({"id": found.id, "from": found.name, "to": away},
                       ["archived %s  %s" % (found.id, terminal.one_line(found.title)),
                        "  `dayleaf restore %s` brings it back" % found.id])


def _forget_hard(call: Call, id: str) -> int:
    """Remove a record for good: its file, all cached digests, and its words in the index."""
    from memory import distill, indexer, ledger

    store = call.store()
    note = []
    try:
        found = store.find(id)
    except StoreError as unknown:
        try:
            found = store.find_archived(id)
        except StoreError:
            raise unknown from None
        note.append("  the archive's log still has the name of its file: %s" % found.name)
    title = terminal.one_line(found.title)
    if not call.options.yes and not confirmed("remove %s '%s' for good? type yes: " % (found.id, title)):
        raise UsageError("%s stays; --hard wants a yes on a terminal, or --yes" % found.id)
    files.remove(call.place.path(found.name))  # not through the archive, whose log would keep the name
    digests = distill.forget(call.place.cache)
    with call.spinner("building the index"):
        indexer.build(call.place, call.now)
    ledger.moved(call.place)
    if found.tier == paths.SHARED:
        note.append("  git still has it where it was committed")
    return call.answer({"id": found.id, "removed": found.name, "bytes": found.size, "digests": digests},
                       ["removed %s  %s" % (found.id, title), "  %s, %s; %s; the index was built anew" % (
                           call.place.path(found.name), terminal.count(found.size, "byte"),
                           terminal.count(digests, "cached digest") + " removed"), *note])


def restore(call: Call) -> int:
    """Bring a record back from the archive."""
    from memory import ledger

    found = call.store().restore(call.one("ID"))
    call.indexed()
    ledger.moved(call.place)
    return written(call, found, "restored")


def edit(call: Call) -> int:
    """Open a record in $VISUAL or $EDITOR."""
    found = find(call, call.one("ID"))
    changed = edited(call, found)
    if changed is None:
        return call.answer({"id": found.id, "changed": False}, ["%s is unchanged" % found.id])
    call.indexed()
    return written(call, changed, "changed")


def edited(call: Call, found: Record) -> Record | None:
    """Let the person change a record in $VISUAL or $EDITOR and return it as written, or None where nothing was changed.

    Raises UsageError where the editor does not start, StoreError where the file has changed meanwhile.
    """
    store = call.store()
    before = store.raw(found.name)
    copy = "%s/edit-%s.md" % (call.place.cache, paths.slug(found.id))
    files.replace(copy, before)
    after = in_editor(call, copy)
    if after is None or after == before:
        files.remove(copy)
        return None
    try:
        found = store.replace(found.name, after, files.sha256(before))
    except StoreError as error:
        raise StoreError("%s (your text is kept in %s)" % (error, copy)) from None
    files.remove(copy)
    return found


def in_editor(call: Call, path: str) -> bytes | None:
    """Open a file in $VISUAL or $EDITOR and return what stands in it then, None where the editor said that it failed.

    Raises UsageError where it does not start.
    """
    import shlex
    import subprocess

    named = call.env.get("VISUAL") or call.env.get("EDITOR")
    if not named and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("no terminal to edit in; set EDITOR to what edits without one, or run this in a terminal")
    argv = shlex.split(named or "vi")
    try:
        done = subprocess.call([*argv, path])
    except OSError as error:
        raise UsageError("the editor '%s' did not start (%s); set EDITOR" % (argv[0], error.strerror)) from None
    return None if done else files.read(path, 64 << 20)


def switch(call: Call) -> int:
    """Switch the pushes of a session or a project on or off."""
    from memory import receipts

    on = call.verb == "on"
    if call.options.project:
        if not call.place.shared:
            raise UsageError("no project here; cd into one")
        path = call.place.shared + "/config.json"
        change_config(path, "load.enabled", None if on else False, 0o644)
        return call.answer({"project": call.place.root, "config": path, "enabled": on}, [
            "dayleaf pushes %s in this project (%s)" % ("again" if on else "nothing more", path)])
    session = _switched(call, on)
    if session:
        receipts.write(call.place.receipts(session), {"v": 1, "t": clock.iso(call.now), "event": call.verb})
        said = "dayleaf pushes %s in session %s" % ("again" if on else "nothing more", session)
    else:
        said = "no session of this workspace is off"
    if on and not call.settings["load.enabled"]:
        said += "; but load.enabled is off (%s)" % call.settings.sources["load.enabled"]
    return call.answer({"session": session, "enabled": on}, [said])


def _switched(call: Call, on: bool) -> str:
    """Return the session that is meant: the one that is named or runs this, else the newest, to switch on the newest that is off.

    Returns "" where none is off; raises UsageError where none has run.
    """
    from memory import receipts, why

    ran, named = why.sessions_of(call.place), session_of(call)
    if call.options.session and named != call.env.get("CLAUDE_CODE_SESSION_ID") and named not in ran:
        raise UsageError("no session '%s' here; %s" % (
            shown(call.options.session), "the newest is " + ran[0] if ran else "none has run in this workspace"))
    if not named and not ran:
        raise UsageError("no session of this workspace yet; `dayleaf %s --project` is for the whole project" % call.verb)
    if named or not on:
        return named or ran[0]
    return next((session for session in ran if receipts.session(call.place.receipts(session)).off), "")
