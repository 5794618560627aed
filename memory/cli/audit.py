"""The verbs on the state and the faults of the memory: status, stats, doctor, check, audit, redact,
eval.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import Any, Callable

from memory.core import StoreAway, StoreError, UsageError, files, layout
from memory.core.plaintext import format_count, one_line
from memory.health import Finding, figures, inspection, recordfaults
from memory.index import builder
from memory.store import conversations, redactor
from memory.terminal import reports, screen, statspage
from memory.terminal.call import Call, ask_confirmation, read_stdin, to_json, unknown_word, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.core.records import Record
    from memory.health.erasure import ErasureResult, Finder, Holder
    from memory.health.goldens import GoldenSet
    from memory.health.measurements import Measurement
    from memory.store.store import Store


def status(call: Call) -> int:
    with call.spinner("reading the records"):
        value = figures.read_state(call.place, call.settings, call.now)
        value["command"] = _find_command(call.env)
    return call.answer(value, reports.state_lines(value, call.style()))


def _find_command(env: dict[str, str]) -> str:
    own = os.path.realpath(layout.plugin_folder() + "/bin")
    path = [part for part in env.get("PATH", "").split(os.pathsep) if os.path.realpath(part) != own]
    path.append(env.get("HOME", "") + "/.local/bin")  # a client's PATH may lack it
    return shutil.which("dayleaf", path=os.pathsep.join(path)) or ""


def stats(call: Call) -> int:
    if call.options.spend:
        spent = figures.read_spending(call.place.home, call.settings, call.now)
        return call.answer(spent, statspage.spend_lines(spent))
    since = call.parse_time(call.options.since) if call.options.since else 0.0
    with call.spinner("counting"):
        value = figures.collect_figures(call.place, call.settings, call.now, since)
    return call.answer(value, statspage.stats_lines(value, call.style()))


def doctor(call: Call) -> int:
    """Run every check; return 1 if one fails."""
    from memory.health import examination

    with call.spinner("checking"):
        try:
            done = examination.mend_faults(call.place, call.now) if call.options.fix else []
            found = examination.examine(call.place, call.settings, call.env, call.now)
        except StoreAway as error:
            away = [examination.report_away(error)]
            lines = reports.verdict_lines(away, call.style())
            print(to_json(_list_checks(away)) if call.options.json else "\n".join(lines))
            return 1
    checks = _list_checks(found)
    value: Any = checks
    lines = reports.verdict_lines(found, call.style())
    if call.options.fix:
        value = {"fixed": done, "checks": checks}
        lines = [*(map(one_line, done) if done else ["nothing that --fix can mend"]), "", *lines]
    call.answer(value, lines)
    return 1 if any(row.is_error for row in found) else 0


def _list_checks(found: list[Finding]) -> list[dict[str, Any]]:
    return [
        {**row._asdict(), "verdict": row.severity, "what": row.about, "found": row.summary}
        for row in found
    ]


def check(call: Call) -> int:
    """Report the faults of record files; return 1 for an error."""
    if call.options.staged and call.words:
        raise UsageError("--staged checks what git would commit; leave FILE out")
    with call.spinner("reading the records"):
        if call.options.staged:
            allow = call.settings["redact.allow"]
            looked, faults = inspection.find_staged_secrets(call.place, call.env, allow)
        elif call.words:
            looked, faults = recordfaults.check_files(call.store(), call.words)
        else:
            looked, faults = recordfaults.check_all(call.store())
    errors = sum(fault.is_error for fault in faults)
    value = {
        "checked": looked,
        "errors": errors,
        "warnings": len(faults) - errors,
        "faults": [
            {**fault._asdict(), "path": fault.place, "error": fault.is_error} for fault in faults
        ],
    }
    call.answer(value, reports.fault_lines(faults, looked, os.getcwd()))
    return 1 if errors else 0


def audit(call: Call) -> int:
    """List what is wrong in the records, with remedies."""
    for word in call.words:
        if word not in inspection.SECTIONS:
            raise unknown_word("audit", word, inspection.SECTIONS)
    sections = [name for name in inspection.SECTIONS if name in call.words or not call.words]
    with call.spinner("reading the records") as spinner:
        audited = inspection.audit(call.place, call.settings, call.now, sections, spinner.show)
    value = {
        "records": audited.records,
        "counts": audited.counts(sections),
        "notes": audited.notes,
        "findings": [
            {**finding._asdict(), "section": finding.about, "path": finding.place}
            for finding in audited.findings
        ],
    }
    call.answer(value, reports.audit_lines(audited, sections, call.place.root, call.style()))
    return 1 if audited.findings and call.options.strict else 0


def redact(call: Call) -> int:
    """Remove a record's secrets, or a given text, from all files."""
    from memory.capture import recovery
    from memory.health import erasure

    place, record = call.place, _find_record(call, call.single_word("ID"))
    derived = _list_derived(call.store(), record)
    own = frozenset(place.path(one.name) for one in (record, *derived))
    finder = erasure.make_finder(_list_texts(call, record))
    why = erasure.find_refusal(finder)
    if why:
        raise UsageError("this text cannot be removed: %s; give more of it" % why)
    with call.spinner("searching") as spinner:
        searched, held = erasure.search(place, finder, own, _make_progress(spinner, "searching"))
        transcripts = _find_transcripts(call, finder)
    everywhere = bool(call.options.everywhere)
    if not call.options.apply:
        hits = format_count(sum(holder.hits for holder in held), "time")
        number = format_count(searched, "file")
        lines = _holder_lines(finder, held)
        lines.append("%s of %s contain it, %s in all" % (len(held), number, hits))
        print("\n".join(lines), file=sys.stderr if call.options.json else sys.stdout, flush=True)
        others = 0 if everywhere else sum(holder.role == erasure.OTHER for holder in held)
        number = format_count(len(erasure.select_cleanable(held, everywhere)), "file")
        if not ask_confirmation("remove it from %s? type yes: " % number):
            return _report_plan(call, finder, held, others)
        if others:
            number = format_count(others, "other record")
            everywhere = ask_confirmation("and from %s? type yes: " % number)
    with call.spinner("removing it") as spinner:
        # an open session would write its earlier words after the proof
        recovery.capture_running(place, call.settings, call.env, call.now)
        _, held = erasure.search(place, finder, own)
        progress = _make_progress(spinner, "checking")
        done = erasure.erase(place, finder, held, own, everywhere, call.now, progress)
        builder.build(place, call.now)
    return _report_erasure(call, finder, held, done, transcripts)


def _make_progress(spinner: screen.Spinner, step: str) -> Callable[[int], None]:
    return lambda done: spinner.show("%s: %s" % (step, format_count(done, "file")))


def _find_record(call: Call, id: str) -> Record:
    store = call.store()
    try:
        return store.find(id)
    except StoreError as unknown:
        try:
            return store.find_archived(id)
        except StoreError:
            raise unknown from None


def _list_derived(store: Store, record: Record) -> list[Record]:
    """Return the checkpoints and the note made from a conversation."""
    if record.kind != conversations.KIND:
        return []
    of_session = conversations.find_by_session(store, str(record.meta.get("session") or ""))
    return [one for one in of_session if one.source == "auto"]


def _list_texts(call: Call, record: Record) -> dict[str, str]:
    """Return the texts to remove, each with the mark that replaces it."""
    from memory.health import erasure

    raw = call.store().raw(record.name).decode("utf-8", "surrogateescape")
    key, named = call.place.key, _read_text_option(call)
    if not named:
        found = redactor.find_secrets(raw, call.settings["redact.allow"], key)
    else:
        # a hash of the name alone would tell which of a few names it was
        tag = files.sha256(("%s\0%s\0%r" % (key, named, call.now)).encode("utf-8", "replace"))
        found = {named: "[redacted:text#%s]" % tag[:4]}
    short = [text for text in found if not erasure.is_findable(text.strip())]
    if short and (named or len(short) == len(found)):
        raise UsageError(
            "a text shorter than %d characters would match everywhere; give more of it, "
            "or a name in capitals" % erasure.SHORTEST
        )
    if not found:
        raise StoreError(
            "%s holds no secret that dayleaf recognises; `--text -` asks for the text or reads "
            "stdin" % record.id
        )
    return {text: mark for text, mark in found.items() if text not in short}


def _read_text_option(call: Call) -> str:
    text = call.options.text
    if text is None:
        return ""
    if text != "-":
        warn("the text is now in your shell's history; `--text -` asks for it or reads stdin")
    elif sys.stdin.isatty():
        from getpass import getpass

        text = getpass("the text (not shown as you type): ")
    else:
        text = read_stdin().rstrip("\r\n")
    if not text:
        raise UsageError("the text is empty; give it on stdin or when asked")
    return str(text)


def _find_transcripts(call: Call, finder: Finder) -> list[str]:
    from memory.health import erasure
    from memory.project import backfill

    found = backfill.find_sessions(call.env)
    sessions = [entry for entry in found if isinstance(entry, backfill.Session)]
    folders = {
        os.path.dirname(session.path).rpartition("/")[2]
        for session in backfill.select_sessions(sessions, call.place, call.env, 0.0)
    }
    return erasure.find_transcripts(finder, call.env, sorted(folders))


def _holder_lines(finder: Finder, held: list[Holder]) -> list[str]:
    rows = []
    for holder in held:
        hits = "%dx" % holder.hits if holder.hits else "name"
        rows.append([holder.role, hits, _clean_path(finder, holder.path)])
    return screen.format_table(rows, "  ", (1,))


def _clean_path(finder: Finder, path: str) -> str:
    cleaned = finder.cleaned(path.encode("utf-8", "surrogateescape"))
    return one_line(cleaned.decode("utf-8", "replace"))


def _holders_json(finder: Finder, held: list[Holder]) -> list[dict[str, Any]]:
    return [
        {"path": _clean_path(finder, holder.path), "role": holder.role, "hits": holder.hits}
        for holder in held
    ]


def _report_plan(call: Call, finder: Finder, held: list[Holder], others: int) -> int:
    line = "nothing was changed: --apply removes it"
    if others:
        line += "; add --everywhere for the %s" % format_count(others, "other record")
    return call.answer({"applied": False, "held": _holders_json(finder, held)}, [line])


def _report_erasure(
    call: Call, finder: Finder, before: list[Holder], done: ErasureResult, transcripts: list[str]
) -> int:
    from memory.health import erasure

    place, problems = call.place, [_clean_path(finder, problem) for problem in done.problems]
    transcripts = [_clean_path(finder, path) for path in transcripts]
    for problem in problems:
        warn(problem)
    lines = ["removed it from %s" % format_count(done.changed, "file")]
    approval = "the approval of %s contained it and was removed; approve it again by"
    lines += ["  " + approval % id + " `dayleaf review`" for id in done.pending]
    if any(place.shared and holder.path.startswith(place.shared + "/") for holder in before):
        lines.append(
            "  git still has what was committed: `git filter-repo --replace-text FILE` rewrites it"
        )
    lines += ["  Claude Code's own transcript still contains it: " + path for path in transcripts]
    if transcripts:
        lines.append(
            "  `dayleaf store import transcripts` would bring it back from there; so would an open "
            "session that says it again: end it"
        )
    remedies = {
        erasure.DERIVED: "these files are derived: the next index replaces them",
        erasure.OTHER: "--everywhere removes it from other records too",
        erasure.SETTINGS: "settings are yours: edit the file yourself",
        erasure.SYNC: "sync keeps the old file name, by which other machines remove the file",
        erasure.FOREIGN: "not dayleaf's file: edit or delete it yourself",
    }
    if done.changed:
        lines.append("  older backups may contain it")
    shared = " and " + place.shared if files.is_folder(place.shared) else ""
    lines += [
        "%d of %s contain it" % (len(done.held), format_count(done.searched, "file")),
        *_holder_lines(finder, done.held),
        *sorted({"  " + remedies.get(holder.role, "run this again") for holder in done.held}),
        "  searched: every byte and file name below %s%s, except %s/runtime"
        % (place.home, shared, place.home),
        "  in these forms: " + erasure.SEARCHED,
    ]
    value = {
        "applied": True,
        "changed": done.changed,
        "pending": done.pending,
        "searched": done.searched,
        "held": _holders_json(finder, done.held),
        "transcripts": transcripts,
        "problems": problems,
    }
    call.answer(value, lines)
    return 1 if done.held or problems else 0


def eval(call: Call) -> int:
    """Measure the rankers with golden queries, or draft such queries."""
    return _draft_queries(call) if call.options.template else _measure_rankers(call)


def _draft_queries(call: Call) -> int:
    from memory.health import goldens

    if len(call.words) > 1:
        raise UsageError("eval --template takes at most one file, not %d words" % len(call.words))
    path = "%s/evals/%s" % (call.place.private, goldens.NAME)
    path = os.path.abspath(call.words[0]) if call.words else path
    if os.path.lexists(path):
        raise StoreError("%s exists already; edit it, or name another file" % path)
    with call.spinner("reading the records"):
        drafts = goldens.draft_queries(list(call.store().each()), call.store().cleaned)
    if not drafts:
        raise StoreError('no record to draft queries from; `dayleaf learn "…"` keeps the first')
    try:
        files.create(path, goldens.format_template(drafts).encode("utf-8", "replace"))
    except OSError as error:
        reason = (error.strerror or "").lower()
        raise StoreError(
            "%s could not be written: %s; name another file" % (path, reason)
        ) from None
    number = "1 query" if len(drafts) == 1 else "%d queries" % len(drafts)
    named = " " + shlex.quote(one_line(path)) if call.words else ""
    lines = [
        "drafted %s: %s" % (number, path),
        "edit them to what you would ask, then `dayleaf debug eval%s`" % named,
    ]
    return call.answer({"path": path, "queries": len(drafts)}, lines)


def _measure_rankers(call: Call) -> int:
    from memory.health import goldens, measurements

    with call.spinner("reading the records"):
        records = list(call.store().each())
    if not records:
        raise StoreError(
            'no record here yet, so there is nothing to find; `dayleaf learn "…"` keeps the first'
        )
    results = []
    for path in _list_query_files(call):
        golden = goldens.read(path, call.now, call.offset)
        with call.spinner("asking") as spinner:
            found = measurements.measure_rankers(
                call.store(),
                call.env,
                golden,
                records,
                call.offset,
                lambda ranker: spinner.show("asking %s" % ranker),
            )
        results.append(_result_json(golden, found))
    if call.options.strict and not any(result["floor"] for result in results):
        raise UsageError(
            "--strict needs a floor in the file, such as `floor: {recall@5: 0.8, mrr: 0.6}`"
        )
    call.answer(results, reports.measurement_lines(results, call.style()))
    return 1 if call.options.strict and any(result["below"] for result in results) else 0


def _list_query_files(call: Call) -> list[str]:
    if call.words:
        return [os.path.abspath(word) for word in call.words]
    paths = []
    for folder in filter(None, (call.place.private, call.place.shared)):
        root = folder + "/evals"
        names = files.list_folder(root) if files.is_inside(root, folder) else []
        visible = [name for name in names if name[0] != "."]
        paths += [root + "/" + name for name in visible if name.endswith((".yaml", ".yml"))]
    if not paths:
        raise StoreError(
            "no test questions yet; `dayleaf debug eval --template` drafts some from your records"
        )
    return paths


def _result_json(golden: GoldenSet, found: Measurement) -> dict[str, Any]:
    measures, misses = found.measures[found.main], []
    for query in found.golden:
        missed = [id for id, rank in found.ranks[query.id].items() if not rank]
        if missed:
            misses.append({"query": query.id, "text": query.query.text, "missed": missed})
    return {
        "path": golden.path,
        "queries": len(found.golden),
        "leftOut": found.left_out,
        "gone": found.gone,
        "main": found.main,
        "rankers": found.measures,
        "notes": found.notes,
        "misses": misses,
        "floor": golden.floor,
        "below": [
            {"measure": name, "floor": least, "reached": measures[name]}
            for name, least in golden.floor.items()
            if measures[name] < least
        ],
    }
