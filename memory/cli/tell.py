"""The verbs that summarise: distill, handoff, standup, today, statusline."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from memory.cli.recall import search_records, start_refresh
from memory.core import StoreError, UsageError, boundary, files, layout
from memory.core.plaintext import format_count, one_line, strip_hidden
from memory.core.records import Record, make_derived_links
from memory.distill import cache
from memory.hook import fence, handoffs
from memory.project import manifests
from memory.recall.hit import record_json
from memory.store import redactor
from memory.store.redactor import strip_private, strip_private_record
from memory.terminal import pastlines, results, screen
from memory.terminal.call import (
    Call,
    clip_input,
    extract_title,
    find_author,
    find_session_id,
    is_unattended,
    report_written,
    to_json,
    warn,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.capture.byhand import HandoffDraft
    from memory.distill.digests import Digest, Source
    from memory.recall.hit import RecallResult

HANDOFF_TOKENS, STANDUP_TOKENS = 500, 1000  # of a model's answer
HANDOFF = (
    "Hand this session over to a colleague who goes on with it: where it stands, what comes next, "
    "what failed or is open, which decisions to keep and why. Begin each bullet with `Stands:`, "
    "`Next:`, `Open:` or `Decided:`, in this order. Write in the records' language."
)
STANDUP = (
    "Tell a team what was done: one bullet for each branch or subject, the most important first. "
    "Each says what came out, with its numbers, then what is open or comes next. Leave out how it "
    "was done and lists of files. Write in the records' language."
)
MOST_SOURCES = 8  # checkpoints behind a handoff
STANDUP_COLUMNS = 80  # without a terminal
CLIENTS = ("claude", "gemini", "ollama")
MOST_HITS = 20  # records that distill reads by default


# --- distill


def _is_cacheable(call: Call, question: str, digest: Digest) -> bool:
    """Tell whether the question would get the same answer later."""
    from memory.recall import timewords

    # a client that is absent from PATH is part of the cache's key
    if any(not step.outcome.endswith(" is not on PATH") for step in digest.steps[:-1]):
        return False
    times = timewords.parse(question, call.now, call.offset)
    return times.since is None and times.until is None and not times.latest


def distill(call: Call) -> int:
    """Answer a question from the records in a few bullets."""
    question, options = " ".join(call.words).strip(), call.options
    if not question:
        raise UsageError("distill needs a question")
    key = _make_cache_key(call, question)
    if key and _print_cached(call, key):
        return 0
    from memory.distill import digests, providerchain

    _check_call(call, question)
    before = cache.hash_files(call.place) if key else ""
    found = search_records(call, question, options.limit or MOST_HITS)
    used = _stat_hits(found, key)
    sources, use_cache = digests.build_sources(found), not options.no_cache
    asked = found.corrected or question
    with call.spinner("distilling") as spinner:
        digest = _ask_providers(call, asked, sources, spinner, options.max_tokens, use_cache)
    saved = _save_answer(call, question, digest, found)
    print(_render_answer(call, digest, found, saved), flush=True)
    if used is not None and _is_cacheable(call, question, digest):
        answer = _render_answer(call, providerchain.mark_cached(digest), found, None)
        _cache_answer(call, key, digest.made or call.now, answer, before, used)
    start_refresh(call, found.stale or found.rescan)
    return 0


def _check_call(call: Call, question: str) -> None:
    from memory.distill import providerchain

    provider = call.options.provider or str(call.settings["distill.provider"])
    providerchain.validate_call(question, provider, call.settings, call.options.max_tokens)


def _print_cached(call: Call, key: str) -> bool:
    answer = cache.read_answer(call.place, key, call.now)
    if answer:
        print(answer, flush=True)
    return bool(answer)


def _cache_answer(
    call: Call, key: str, made: float, answer: str, before: str, used: list[list[Any]]
) -> None:
    """Cache the printed answer, unless it holds a secret."""
    if redactor.clean(answer, call.settings, call.place.key) == answer:
        cache.write_answer(call.place, key, made, answer, before, used)


def _stat_hits(found: RecallResult, key: str) -> list[list[Any]] | None:
    with suppress(OSError):  # a file is gone
        return cache.stat_files([hit.path for hit in found.hits]) if key else None
    return None


def _ask_providers(
    call: Call,
    question: str,
    sources: Sequence[Source],
    spinner: screen.Spinner,
    max_tokens: int | None,
    use_cache: bool = True,
) -> Digest:
    from memory.distill import providerchain

    return providerchain.distill(
        question,
        sources,
        call.settings,
        call.env,
        home=call.place.home,
        cache_dir=call.place.cache,
        now=call.now,
        provider=call.options.provider,
        max_tokens=max_tokens,
        use_cache=use_cache,
        progress=spinner.show,
    )


def _make_cache_key(call: Call, question: str) -> str:
    options, settings = call.options, call.settings
    # with one of these no answer is kept
    names = ("since", "days", "from_", "to", "workspace", "semantic", "save", "no_cache")
    if any(getattr(options, name) for name in names) or settings["recall.semantic"]:
        return ""
    if not settings["distill.cache"]:
        return ""
    folders = list(filter(os.path.isabs, call.env.get("PATH", "").split(os.pathsep)))
    clients = [
        name
        for name in CLIENTS
        if any(os.access(folder + "/" + name, os.X_OK) for folder in folders)
    ]
    about = [layout.read_branch(call.place.git), *manifests.stat_manifests(call.place.root)]
    return cache.answer_key(
        [question, call.place.project, *clients, *map(str, about)], vars(options), settings.values
    )


def _render_answer(call: Call, digest: Digest, found: RecallResult, saved: Record | None) -> str:
    from memory.distill import digests

    text = digests.render(digest)
    if call.options.hook:
        text = fence.clip_utf16(fence.clean(text), results.MODEL_UNITS - 400)
        return fence.format_block("distill", [text])
    if call.options.json:
        value = {
            **_digest_json(digest),
            "sources": [hit.id for hit in found.hits],
            "scores": [round(hit.score, 6) for hit in found.hits],
            "saved": saved.id if saved else None,
        }
        return to_json(value)
    lines = [strip_hidden(text).rstrip("\n")]
    if call.options.explain:
        lines += _explain_answer(digest, found)
    if not digest.bullets:
        lines += results.gap_line(found)
    if saved:
        lines.append("saved as %s" % saved.id)
    return "\n".join(lines)


def _explain_answer(digest: Digest, found: RecallResult) -> list[str]:
    from memory.terminal import reports

    rows = [[step, one_line(outcome)] for step, outcome in reports.list_digest_steps(digest)]
    hits = ["  %s  %.2f  %s" % (hit.id, hit.score, one_line(hit.title)) for hit in found.hits]
    return ["", "how:", *screen.format_table(rows, "  "), "", "from:", *hits]


def _save_answer(call: Call, question: str, digest: Digest, found: RecallResult) -> Record | None:
    """Keep an answer as a learning, in place of earlier answers."""
    if not (call.options.save and digest.bullets):
        return None
    from memory.distill.digests import format_bullets

    store, title = call.store(), extract_title(question)
    text = format_bullets(digest.bullets) + "\n"
    earlier = [
        hit.record
        for hit in found.hits
        if hit.workspace == call.place.key
        and (hit.record.kind, hit.record.title, hit.record.source) == ("learning", title, "agent")
        and hit.record.derived_from
    ]
    for record in earlier:
        if record.body.strip() == text.strip():
            return record
    cited = dict.fromkeys(id for bullet in digest.bullets for id in bullet.ids)
    extra = {"links": make_derived_links(list(cited))}
    session = find_session_id(call)
    kept = store.add("learning", title, text, source="agent", session=session, extra=extra)
    for record in earlier:
        store.archive(record.name, "answered again by " + kept.id)
    call.indexed()
    return kept


def _digest_json(digest: Digest) -> dict[str, Any]:
    from memory.distill import digests

    return {
        "bullets": [{"text": each.text, "ids": list(each.ids)} for each in digest.bullets],
        "provider": digest.provider,
        "tokensIn": digest.tokens_in,
        "tokensOut": digest.tokens_out,
        "cached": digest.cached,
        "notes": list(digest.notes),
        **digests.as_json(digest),
    }


# --- handoff, standup, statusline


def _ask_model(
    call: Call, question: str, sources: Sequence[Source], max_tokens: int
) -> Digest | None:
    """Return the named model's answer, None without a valid one."""
    if not call.options.provider or not sources:
        return None
    with call.spinner("asking a model") as spinner:
        digest = _ask_providers(call, question, sources, spinner, max_tokens)
    if digest.provider != "extract" and digest.bullets:
        return digest
    reasons = []
    for step in digest.steps[:-1]:
        why = step.outcome.partition("skipped: ")[2]
        named = why.startswith(step.provider)
        reasons.append(why if named else "%s %s" % (step.provider, step.outcome))
    if digest.provider != "extract":
        reasons.append("%s found nothing to tell" % digest.provider)
    message = "no model answered (%s); this %s holds the recorded facts only"
    warn(message % ("; ".join(reasons), call.verb))
    return None


_REPLACED = {  # by whether the older handoff was not read yet
    True: "the next session gets the unread handoff too: %s  %s",
    False: "replaced %s  %s; the old one became a checkpoint",
}


def handoff(call: Call) -> int:
    """Leave a note for the next session, or show or clear it."""
    options = call.options
    if options.show or options.clear:
        return _show_or_clear(call)
    note = _read_handoff_note(call)
    before = handoffs.read_current(call.place)
    kept = _write_handoff(call, note) if note else _draft_handoff(call)
    call.indexed()
    is_for_person = not (options.json or options.hook)
    if before is not None and before.id != kept.id and is_for_person:
        waits = before.id in [waiting.id for waiting in handoffs.list_waiting(call.place)]
        print(_REPLACED[waits] % (before.id, one_line(before.title)))
    status = report_written(call, kept, "handed off", note or None)
    if not note and is_for_person:
        print("\n" + strip_hidden(kept.body).strip("\n"), flush=True)
    return status


def _show_or_clear(call: Call) -> int:
    if call.words or call.options.show == call.options.clear:
        raise UsageError(
            "--show and --clear take no text; without them, the text is the new handoff"
        )
    return _show_handoff(call) if call.options.show else _clear_handoff(call)


def _read_handoff_note(call: Call) -> str:
    """Return the given note, "" to draft one from the session."""
    note = call.text()
    if not note.strip():
        if call.words:
            raise UsageError(
                "the handoff is empty; give a note, or no words at all to have one "
                "made from the session"
            )
        return ""
    if call.options.provider:
        raise UsageError("--provider has a model write the handoff; leave the other words out")
    return note


def _write_handoff(call: Call, text: str) -> Record:
    from memory.session import entries, git

    note = entries.clean(text)
    public = strip_private(note)
    if not public.strip():
        raise UsageError("nothing is left to hand off: all of it is marked private")
    head = git.read_head(call.place.git)
    return handoffs.write_handoff(
        call.store(),
        extract_title(public),
        note + "\n",
        find_author(call),
        find_session_id(call),
        {
            "branch": head.branch or None,
            "commit": head.commit or None,
            "unattended": is_unattended(call) or None,
        },
    )


def _draft_handoff(call: Call) -> Record:
    from memory.cli.learn import capture_now, find_transcript  # late, for a cached digest's speed

    session = find_session_id(call)
    path = find_transcript(call, session) if session else ""
    if path:
        capture_now(call, session, path)
    call.indexed()
    sources = _list_checkpoints(call, session) if session else _list_branch_checkpoints(call)
    if not sources and session:
        raise StoreError(
            "nothing to hand off: session %s has no checkpoint and no transcript; "
            '`dayleaf handoff "…"` leaves a note' % session
        )
    if not sources:
        raise StoreError(
            "nothing to hand off: this workspace has no checkpoint; "
            "`dayleaf store import transcripts` imports past sessions, "
            '`dayleaf handoff "…"` leaves a note'
        )
    return _draft_from(call, sources)


def _draft_from(call: Call, sources: list[Record]) -> Record:
    """Draft a handoff from a session's checkpoints, the newest first."""
    from memory.capture import byhand, conversationfile

    latest = sources[0]
    its_session = str(latest.meta.get("session") or "")
    plans = [record for record in _list_newest(call, "plan", "", 4) if record.active]
    every = _list_work(call, its_session, "", handoffs.LOOKED) if its_session else [latest]
    turns = conversationfile.read_turns(call.store(), latest, every)
    notes = [
        note for note in _list_newest(call, "note", its_session, 1) if handoffs.covers(note, latest)
    ]
    note = notes[0] if notes else None
    draft = byhand.draft_handoff(
        sources, plans[0] if plans else None, turns, note, _list_uncommitted(call)
    )
    facts = _list_handoff_sources(draft, [*notes, *sources], latest)
    digest = _ask_model(call, HANDOFF, facts, HANDOFF_TOKENS)
    meta = {key: latest.meta.get(key) for key in ("branch", "commit", "unattended")}
    if is_unattended(call):
        meta["unattended"] = True
    if digest:
        statements = [bullet.statement for bullet in digest.bullets]
        draft = byhand.reword_draft(draft, statements, digest.provider)
        meta["by"] = digest.provider
    meta["links"] = make_derived_links(draft.sources)
    return handoffs.write_handoff(call.store(), draft.title, draft.body, "auto", its_session, meta)


def _list_uncommitted(call: Call) -> set[str]:
    """List existing uncommitted files, by relative and by absolute path."""
    from memory.store import safegit

    root = call.place.root
    done = safegit.read(root, call.env, "status", "--porcelain", "-z", "--no-renames", "-uall")
    rows = done.out.split(b"\0") if not done.rc else []
    paths = [os.fsdecode(row[3:]) for row in rows if row[3:]]  # a row: `XY path`
    found = [path for path in paths if files.exists(root + "/" + path)]
    return {*found, *(root + "/" + path for path in found)}


def _list_handoff_sources(
    draft: HandoffDraft, records: list[Record], latest: Record
) -> list[Source]:
    from dataclasses import replace  # late, for a cached digest's speed

    from memory.distill.digests import build_source

    facts = replace(build_source(latest, draft.body), checksum="")
    return [facts, *(build_source(record, record.body) for record in records)]


def _list_branch_checkpoints(call: Call) -> list[Record]:
    """Return the newest session's checkpoints, a person's session first.

    Of two such sessions the one on the current branch.
    """
    branches = [*filter(None, [layout.read_branch(call.place.git)]), ""]
    found = [
        (branch, record)
        for branch in branches
        for record in _list_work(call, "", branch, handoffs.LOOKED)
    ]
    if not found:
        return []
    branch, newest = min(
        found,
        key=lambda one: (handoffs.is_ahead(one[1], call.now), fence.is_unattended(one[1])),
    )
    return _list_session_checkpoints(call, newest, branch)


def _list_work(call: Call, session: str, branch: str, most: int) -> list[Record]:
    """Return the newest checkpoints about work done here."""
    return [
        record
        for record in _list_newest(call, "checkpoint", session, most, branch)
        if not handoffs.is_handoff(record) and not handoffs.is_from_elsewhere(call.place, record)
    ]


def _list_checkpoints(call: Call, session: str, branch: str = "") -> list[Record]:
    found = _list_work(call, session, branch, handoffs.LOOKED)
    named = [str(record.meta.get("session") or "") for record in found]
    # the start of a session's id may match several sessions
    whole = session if session in named else next(iter(named), "")
    own = [record for record, name in zip(found, named) if name == whole]
    # a program may have gone on with a person's session
    by_person = [record for record in own if not fence.is_unattended(record)]
    return (by_person or own)[:MOST_SOURCES]


def _list_session_checkpoints(call: Call, record: Record, branch: str = "") -> list[Record]:
    session = str(record.meta.get("session") or "")
    return _list_checkpoints(call, session, branch) if session else [record]


def _list_newest(call: Call, kind: str, session: str, most: int, branch: str = "") -> list[Record]:
    from memory.recall import question, search

    query = question.Query(kinds=(kind,), session=session, branch=branch, limit=most)
    found = search.recall(call.place, call.settings, query, call.now, call.offset, [call.place])
    return [strip_private_record(hit.record) for hit in found.hits]


def _show_handoff(call: Call) -> int:
    found = handoffs.read_current(call.place)
    if found is None:
        line = "%s has no handoff; `dayleaf handoff` writes one" % one_line(call.place.key)
        return call.answer(None, [line])
    found = call.store().read(found.name)
    starts, path = handoffs.count_starts(call.place, found.id), call.place.path(found.name)
    value = {**record_json(found), "path": path, "body": found.body, "starts": starts}
    often = "at " + format_count(starts, "start") if starts else "not yet"
    facts = [("shown", often), ("file", path)]
    head = screen.format_record_head(found, call.now, call.style(), facts)
    return call.answer(value, [*head, "", strip_hidden(found.body).strip("\n")])


def _clear_handoff(call: Call) -> int:
    if handoffs.read_current(call.place) is None and not handoffs.list_waiting(call.place):
        return call.answer(None, ["there is no handoff to clear"])
    kept = handoffs.clear(call.store())
    call.indexed()
    return report_written(call, kept, "cleared, kept as a checkpoint:")


def _parse_period(call: Call) -> tuple[float, float | None]:
    """Return (start, end) of a standup, None for an open end."""
    since, until, words = call.options.since, call.options.until, " ".join(call.words)
    if words and since:
        raise UsageError("--since has the time; leave '%s' out" % clip_input(words))
    since = since or words or "1d"
    end = call.parse_time(until, end=True) if until else None
    start = call.parse_time(since)
    if end is not None and end <= start:
        raise UsageError("--until %s is not after %s" % (clip_input(until), clip_input(since)))
    return start, end


def standup(call: Call) -> int:
    """Show the results of a period and the open work, by branch."""
    from memory.knowledge import worklog
    from memory.terminal import workdays

    since, until = _parse_period(call)
    where = call.options.workspace or ""
    with call.spinner("reading the checkpoints"):
        report = worklog.collect_work(
            call.place, call.settings, where, since, call.now, call.offset, until
        )
    digest = _ask_model(call, STANDUP, worklog.list_sources(report), STANDUP_TOKENS)
    style = call.style()
    if not sys.stdout.isatty():
        style.columns = STANDUP_COLUMNS
    value = {**workdays.to_json(report), "digest": _digest_json(digest) if digest else None}
    return call.answer(value, workdays.standup_lines(report, style, call.options.markdown, digest))


def today(call: Call) -> int:
    """Show the last sessions, the waiting reviews and common failures."""
    from memory.terminal import workdays

    place, settings = call.place, call.settings
    with call.spinner("reading the sessions"):
        seen = workdays.read_glance(place, settings, call.now, call.offset)
    from memory.health import accounts

    off = accounts.find_disabled_pushes(place, settings, 1)
    unkept = accounts.find_disabled_capture(settings)
    lines = [
        *pastlines.switched_off_lines(off),
        *pastlines.switched_off_lines(unkept, "capture"),
        *workdays.glance_lines(seen, call.now, call.style()),
    ]
    wanted = layout.find_unproved(place)
    if wanted:
        lines.append(layout.OFFER_MESSAGE % wanted)
    return call.answer({**workdays.glance_json(seen), "off": off, "unkept": unkept}, lines)


def statusline(call: Call) -> int:
    event = {} if sys.stdin.isatty() else boundary.read_event()
    from memory.hook.statusline import on_statusline

    line, _ = on_statusline(event, call.env, call.now)
    return call.answer({"line": line}, [line])
