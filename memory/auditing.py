"""The verbs of what must not stand: audit, redact."""

from __future__ import annotations

import os
import sys
from typing import Any

from memory import files, terminal
from memory.call import Call, confirmed, read_stdin, unknown_word, warn
from memory.errors import StoreError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.erasure import Erased, Holder
    from memory.records import Record
    from memory.traces import Finder


def audit(call: Call) -> int:
    """Say what should not stand as it does, and what mends it."""
    from memory import audit as auditor
    from memory import lookup

    for word in call.words:
        if word not in auditor.SECTIONS:
            raise unknown_word("audit", word, auditor.SECTIONS)
    sections = [section for section in auditor.SECTIONS if section in call.words or not call.words]
    places = lookup.workspaces(call.place, call.options.workspace or "")
    found = []
    with call.spinner("reading the records") as spinner:
        def told(step: str) -> None:
            spinner.step = step

        for place in places:
            found.append(auditor.audit(place, call.settings, call.now, sections, place is places[0], told))
    one = auditor.Audited([finding for each in found for finding in each.findings], sum(each.records for each in found),
                          sorted({note for each in found for note in each.notes}))
    call.answer({"workspaces": [place.key for place in places], "records": one.records, "counts": one.counts(sections),
                 "notes": one.notes, "findings": [finding._asdict() for finding in one.findings]},
                auditor.lines(one, sections, call.place.root, call.style()))
    return 1 if one.findings and call.options.strict else 0


def redact(call: Call) -> int:
    """Take secrets out of stdin, or a text out of everything that dayleaf keeps."""
    from memory import indexing

    options = call.options
    if options.batch or call.words in ([], ["-"]):
        if options.text is not None or options.regex or options.everywhere or options.apply:
            raise UsageError("redact wants the ID of a record that holds the text")
        return indexing.redact(call)
    return _erase(call, call.one("ID"))


def _erase(call: Call, id: str) -> int:
    from memory import erasure, indexer, traces

    record = _wanted(call, id)
    own = frozenset({call.place.path(record.name)})
    texts = _texts(call, record)
    found = traces.finder(texts)
    why = erasure.refusal(found, call.place)
    if why:
        raise UsageError("this text cannot be taken out: %s; name more of it" % why)
    with call.spinner("searching") as spinner:
        def told(done: int) -> None:
            spinner.step = "searching: %s" % terminal.count(done, "file")

        searched, held = erasure.search(call.place, found, own, told)
        elsewhere = _transcripts(call, found)
    everywhere = bool(call.options.everywhere)
    others = [one for one in held if one.role == erasure.OTHER]
    lines = [*_held_lines(found, held), "%s of %s hold it, %s in all" % (
        len(held), terminal.count(searched, "file"), terminal.count(sum(one.trace.hits for one in held), "time"))]
    if not call.options.apply:
        print("\n".join(lines), file=sys.stderr if call.options.json else sys.stdout, flush=True)
        if not confirmed("take it out of %s? type yes: " % terminal.count(len(erasure.reached(held, everywhere)), "file")):
            return _planned_erasure(call, found, held, others)
        everywhere = everywhere or bool(others and confirmed("and out of %s? type yes: " % terminal.count(
            len(others), "other record")))
    with call.spinner("taking it out") as spinner:
        def proving(done: int) -> None:
            spinner.step = "proving: %s" % terminal.count(done, "file")

        done = erasure.apply(call.place, found, held, own, everywhere, call.now, proving)
        indexer.build(call.place, call.now)
    return _erased(call, found, held, done, elsewhere)


def _wanted(call: Call, id: str) -> Record:
    """Find the record of an id, in the archive too; raises StoreError."""
    store = call.store()
    try:
        return store.find(id)
    except StoreError as unknown:
        try:
            return store.find_archived(id)
        except StoreError:
            raise unknown from None


def _texts(call: Call, record: Record) -> dict[str, str]:
    """Return what is to be taken out, each with its mark; raises UsageError, StoreError."""
    from memory import redact as finder
    from memory import traces

    raw = call.store().raw(record.name).decode("utf-8", "surrogateescape")
    key, named = call.place.key, _named(call)
    if not named:
        found = finder.secrets(raw, call.settings["redact.allow"], key)
    elif call.options.regex:
        found = {text: finder.marker("text", text, key) for text in _matches(call, named, raw)}
    else:
        found = {named: finder.marker("text", named, key)}
    short = [text for text in found if len(text.strip()) < traces.SHORTEST]
    if short and (named or len(short) == len(found)):
        raise UsageError("a text of less than %d characters stands everywhere; name more of it" % traces.SHORTEST)
    if not found:
        raise StoreError("%s holds %s" % (record.id, "nothing that the expression matches; correct it" if named else
                                          "no secret that is found by itself; `--text -` asks for the text or reads stdin"))
    return {text: mark for text, mark in found.items() if text not in short}


def _named(call: Call) -> str:
    """Return the text that was named, "" for none: asked for without echo, or from stdin."""
    said = call.options.text
    if said is None:
        if call.options.regex:
            raise UsageError("--regex says what --text is; give --text too")
        return ""
    if said != "-":
        warn("the text stands in your shell's history now; `--text -` asks for it, or reads it from stdin")
    elif sys.stdin.isatty():
        from getpass import getpass

        said = getpass("the text (it is not shown): ")
    else:
        said = read_stdin().rstrip("\r\n")
    if not said:
        raise UsageError("an empty text; --text - reads it from stdin")
    return str(said)


def _matches(call: Call, expression: str, raw: str) -> list[str]:
    """Return what a regular expression matches in the record and in all others; raises UsageError."""
    import re

    try:
        wanted = re.compile(expression)
    except re.error as error:
        raise UsageError("--regex: %s; see docs.python.org/library/re" % error) from None
    texts = [raw, *(found.title + "\n" + found.body for found in call.store().each())]
    if not wanted.search(raw):
        return []
    return sorted({match[0] for text in texts for match in wanted.finditer(text) if match[0].strip()})


def _transcripts(call: Call, found: Finder) -> list[str]:
    """Return the host's own transcripts of this workspace that hold a text."""
    from memory import backfill, erasure

    sessions = [one for one in backfill.sessions(call.env) if isinstance(one, backfill.Session)]
    folders = {os.path.dirname(one.path).rpartition("/")[2] for one in backfill.chosen(sessions, call.place, call.env, 0.0)}
    return erasure.transcripts(found, call.env, sorted(folders))


def _held_lines(found: Finder, held: list[Holder]) -> list[str]:
    return terminal.table([[one.role, "%dx" % one.trace.hits if one.trace.hits else "name", _shown(found, one.trace.path)]
                           for one in held], "  ", (1,))


def _shown(found: Finder, path: str) -> str:
    """Write a path without the text, which may stand in it."""
    return terminal.one_line(found.cleaned(path.encode("utf-8", "surrogateescape")).decode("utf-8", "replace"))


def _holders_json(found: Finder, held: list[Holder]) -> list[dict[str, Any]]:
    return [{"path": _shown(found, one.trace.path), "role": one.role, "hits": one.trace.hits} for one in held]


def _planned_erasure(call: Call, found: Finder, held: list[Holder], others: list[Holder]) -> int:
    more = ", --everywhere of the %s too" % terminal.count(len(others), "other record") if others else ""
    value = {"applied": False, "held": _holders_json(found, held)}
    return call.answer(value, ["nothing was changed: --apply takes it out%s" % more])


def _erased(call: Call, found: Finder, before: list[Holder], done: Erased, elsewhere: list[str]) -> int:
    """Say what was done, what the proof found, and what stands beyond reach."""
    from memory import erasure, traces

    for problem in done.problems:
        warn(_shown(found, problem))
    notes = ["the approval of %s held it and is gone: `dayleaf review`" % id for id in done.pending]
    if any(call.place.shared and one.trace.path.startswith(call.place.shared + "/") for one in before):
        notes.append("git still has what was committed: `git filter-repo --replace-text FILE` rewrites it")
    notes += ["Claude Code's own transcript holds it, and is left as it is: " + _shown(found, path) for path in elsewhere]
    if elsewhere:
        notes.append("`dayleaf import transcripts` would read it there again")
    remedies = {erasure.DERIVED: "what is derived follows the records",
                erasure.OTHER: "--everywhere takes it out of other records too",
                erasure.SETTINGS: "settings are yours: edit the file", erasure.FOREIGN: "no file of dayleaf's: edit or delete it"}
    lines = ["took it out of %s" % terminal.count(done.changed, "file"), *("  " + note for note in notes),
             "  backups that were made before still hold it",
             "%d of %s hold it" % (len(done.held), terminal.count(done.searched, "file")),
             *_held_lines(found, done.held),
             *sorted({"  " + remedies.get(one.role, "run this again") for one in done.held}),
             "  searched: every byte and name below %s%s, %s/runtime apart" % (
                 call.place.home, " and " + call.place.shared if files.is_folder(call.place.shared) else "", call.place.home),
             "  for the text " + traces.SEARCHED]
    call.answer({"applied": True, "changed": done.changed, "pending": done.pending, "searched": done.searched,
                 "held": _holders_json(found, done.held), "transcripts": [_shown(found, path) for path in elsewhere],
                 "problems": [_shown(found, problem) for problem in done.problems]}, lines)
    return 1 if done.held or done.problems else 0
