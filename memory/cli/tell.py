"""The verbs that tell others: handoff the next session, standup the people you work with, statusline the client."""

from __future__ import annotations

import sys

from memory.cli.learn import capture_now, transcript_of
from memory.core import StoreError, UsageError, boundary, clock, plaintext
from memory.core.records import Record, derived_links
from memory.hook import handoffs, signs
from memory.recall.hit import record_json
from memory.terminal import screen
from memory.terminal.call import Call, author, first_clause, session_of, shown, written

MOST_SOURCES = 8  # checkpoints of a session that its handoff is made of
STANDUP_COLUMNS = 80  # where no terminal says otherwise


def handoff(call: Call) -> int:
    """Leave a note for the next session, or show or clear the one that stands."""
    if (call.options.show or call.options.clear) and (call.words or call.options.show == call.options.clear):
        raise UsageError("--show and --clear stand alone; a note replaces what stands by itself")
    if call.options.show:
        return _show(call)
    if call.options.clear:
        return _clear(call)
    said = call.text()
    if call.words and not said.strip():
        raise UsageError("an empty handoff; give the note, or no word at all to have one made of the session")
    before = handoffs.current(call.place)
    kept = _noted(call, said) if said.strip() else _drafted(call)
    call.indexed()
    if before is not None and not (call.options.json or call.options.hook):
        print("replaced %s  %s; it stays as a checkpoint" % (before.id, plaintext.one_line(before.title)))
    return written(call, kept, "handed off")


def _noted(call: Call, said: str) -> Record:
    """Make a note the handoff."""
    from memory.session import git, transcript
    from memory.store.redactor import strip_private

    note = transcript.clean(said)
    if not strip_private(note).strip():
        raise UsageError("nothing is left to hand off: all of it is private")
    head = git.head(call.place.git)
    return handoffs.put(call.store(), first_clause(strip_private(note)), note + "\n", call.options.source or author(call),
                       session_of(call), {"branch": head.branch or None, "commit": head.commit or None})


def _drafted(call: Call) -> Record:
    """Make the handoff of a session's checkpoints, after capturing what no checkpoint tells yet."""
    from memory.knowledge import worklog

    session = session_of(call)
    path = transcript_of(call, session) if session else ""
    if path:
        capture_now(call, session, path)
    call.indexed()
    sources = _checkpoints(call, session)
    if not sources:
        raise StoreError("nothing to hand off%s: no checkpoint and no transcript is known; give a note instead" % (
            " from session " + session if session else " in this workspace"))
    plan = next((record for record in _newest(call, "plan", "", 4) if record.active), None)
    made = worklog.draft(sources, plan, worklog.turns_of(call.store(), sources[0]))
    meta = {key: sources[0].meta.get(key) for key in ("branch", "commit")}
    return handoffs.put(call.store(), made.title, made.body, "auto", str(sources[0].meta.get("session") or ""),
                       {**meta, "links": derived_links(made.sources)})


def _checkpoints(call: Call, session: str) -> list[Record]:
    """Return the checkpoints of a session, newest first; without a session those of the newest one."""
    found = [record for record in _newest(call, "checkpoint", session, 2 * MOST_SOURCES) if not handoffs.is_handoff(record)]
    named = [str(record.meta.get("session") or "") for record in found]
    if not session and any(named[:1]):
        return _checkpoints(call, named[0])
    whole = session if session in named else next(iter(named), "")  # of a session named by its start there may be several
    return [record for record, name in zip(found, named) if name == whole][:MOST_SOURCES] if whole else found[:1]


def _newest(call: Call, kind: str, session: str, most: int) -> list[Record]:
    """Return the newest records of a kind without their private parts, before anything takes their lines apart."""
    from memory.recall import question, search
    from memory.store.redactor import without_private

    query = question.Query(kinds=(kind,), session=session, limit=most)
    found = search.recall(call.place, call.settings, query, call.now, clock.local_offset(call.now))
    return [without_private(hit.record) for hit in found.hits]


def _show(call: Call) -> int:
    """Print the handoff and at how many starts it was shown."""
    found = handoffs.current(call.place)
    if found is None:
        return _none(call)
    starts = handoffs.starts(call.place, found.id)
    value = {**record_json(found), "path": call.place.path(found.name), "body": found.body, "starts": starts}
    often = "at " + plaintext.count(starts, "start") if starts else "not yet"
    head = screen.record(found, call.now, call.style(), [("shown", often), ("file", call.place.path(found.name))])
    return call.answer(value, [*head, "", plaintext.plain(found.body).strip("\n")])


def _clear(call: Call) -> int:
    """Take the handoff away from the next session; it stays an ordinary checkpoint."""
    if handoffs.current(call.place) is None:
        return _none(call)
    kept = handoffs.clear(call.store())
    call.indexed()
    return written(call, kept, "cleared")


def _none(call: Call) -> int:
    return call.answer(None, ["no handoff in %s; `dayleaf handoff` makes one" % plaintext.one_line(call.place.key)])


def standup(call: Call) -> int:
    """Tell what came out since a time and what is open, by branch."""
    from memory.knowledge import worklog
    from memory.recall import timewords
    from memory.terminal import workdays

    if call.words and call.options.since:
        raise UsageError("standup wants one time, not '%s' too" % shown(" ".join(call.words)))
    offset = clock.local_offset(call.now)
    since = timewords.instant(call.options.since or " ".join(call.words) or "1d", call.now, offset)
    with call.spinner("reading the checkpoints"):
        told = worklog.gather(call.place, call.settings, call.options.workspace or "", since, call.now, offset)
    style = call.style()
    columns = style.columns if sys.stdout.isatty() else STANDUP_COLUMNS
    return call.answer(worklog.to_json(told), workdays.lines(told, screen.Style(columns, style.colour),
                                                                 call.options.markdown))


def statusline(call: Call) -> int:
    """Print one line for the client's status line; `bin/dayleaf` goes a shorter way."""
    event = {} if sys.stdin.isatty() else boundary.read_event()
    said, _ = signs.on_statusline(event, call.env, call.now)
    return call.answer({"line": said}, [said])
