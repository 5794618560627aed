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
from memory.hook import handoffs
from memory.project import manifests
from memory.recall.hit import record_json
from memory.terminal import results, screen
from memory.terminal.call import (
    Call,
    clip_input,
    extract_title,
    find_author,
    find_session_id,
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
    """Return whether the question would get the same answer later."""
    # a client that is absent from PATH is part of the cache's key
    skipped = [step for step in digest.steps[:-1] if not step.outcome.endswith(" is not on PATH")]
    return not skipped and not _depends_on_time(call, question)


def _print_cached(call: Call, key: str) -> bool:
    said = cache.read_answer(call.place, key, call.now)
    if said:
        print(said, flush=True)
    return bool(said)


def _check_call(call: Call, question: str) -> None:
    from memory.distill import providerchain

    chosen = call.options.provider or str(call.settings["distill.provider"])
    providerchain.validate_call(question, chosen, call.settings, call.options.max_tokens)


def distill(call: Call) -> int:
    """Answer a question from the records in a few bullets."""
    question = " ".join(call.words).strip()
    if not question:
        raise UsageError("distill needs a question")
    key = _make_cache_key(call, question)
    if key and _print_cached(call, key):
        return 0
    from memory.distill import digests, providerchain

    _check_call(call, question)
    before = cache.hash_files(call.place) if key else ""
    found = search_records(call, question, call.options.limit or MOST_HITS)
    used: list[list[Any]] | None = None
    with suppress(OSError):  # a file is gone
        used = cache.stat_files([hit.path for hit in found.hits]) if key else None
    with call.spinner("distilling") as spinner:
        digest = ask_providers(
            call,
            question,
            digests.build_sources(found),
            spinner,
            call.options.max_tokens,
            not call.options.no_cache,
        )
    saved = _save_answer(call, question, digest, found)
    print(_render_answer(call, digest, found, saved), flush=True)
    if key and _is_cacheable(call, question, digest):
        _cache_answer(
            call,
            key,
            digest.made or call.now,
            _render_answer(call, providerchain.mark_cached(digest), found, None),
            before,
            used,
        )
    start_refresh(call, found.stale or found.rescan)
    return 0


def ask_providers(
    call: Call,
    question: str,
    sources: Sequence[Source],
    spinner: screen.Spinner,
    max_tokens: int | None = None,
    use_cache: bool = True,
) -> Digest:
    """Answer a question from sources by the call's chain of providers."""
    from memory.distill import providerchain

    return providerchain.distill(
        question,
        sources,
        call.settings,
        call.env,
        call.place.home,
        call.place.cache,
        call.now,
        call.options.provider,
        max_tokens,
        use_cache,
        spinner.show,
    )


def _make_cache_key(call: Call, question: str) -> str:
    o, settings = call.options, call.settings
    moving = (o.since, o.days, o.from_, o.to, o.workspace, o.semantic, settings["recall.semantic"])
    if any(moving) or o.save or o.no_cache or not settings["distill.cache"]:
        return ""
    folders = [
        folder for folder in call.env.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)
    ]
    clients = [
        name
        for name in CLIENTS
        if any(os.access(folder + "/" + name, os.X_OK) for folder in folders)
    ]
    about = [layout.read_branch(call.place.git), *manifests.stat_manifests(call.place.root)]
    return cache.answer_key(
        [question, call.place.project, *clients, *map(str, about)], vars(o), settings.values
    )


def _cache_answer(
    call: Call, key: str, made: float, said: str, before: str, used: list[list[Any]] | None
) -> None:
    """Cache the printed answer, unless it holds a secret."""
    from memory.store import redactor

    if used is not None and redactor.clean(said, call.settings, call.place.key) == said:
        cache.write_answer(call.place, key, made, said, before, used)


def _depends_on_time(call: Call, question: str) -> bool:
    from memory.recall import timewords

    times = timewords.parse(question, call.now, call.offset)
    return times.since is not None or times.until is not None or times.latest


def _render_answer(call: Call, digest: Digest, found: RecallResult, saved: Record | None) -> str:
    from memory.distill import digests

    if call.options.hook:
        from memory.hook import fence

        return fence.format_block(
            "distill",
            [fence.clip_utf16(fence.clean(digests.render(digest)), results.MODEL_UNITS - 400)],
        )
    if call.options.json:
        return to_json(_answer_json(digest, found, saved))
    return "\n".join(
        [
            strip_hidden(digests.render(digest)).rstrip("\n"),
            *(_explain_answer(digest, found) if call.options.explain else []),
            *([] if digest.bullets else results.gap_line(found)),
            *(["saved as %s" % saved.id] if saved else []),
        ]
    )


def _explain_answer(digest: Digest, found: RecallResult) -> list[str]:
    from memory.terminal import reports

    rows = [[what, one_line(of)] for what, of in reports.list_digest_steps(digest)]
    return [
        "",
        "how:",
        *screen.format_table(rows, "  "),
        "",
        "from:",
        *("  %s  %.2f  %s" % (hit.id, hit.score, one_line(hit.title)) for hit in found.hits),
    ]


def _save_answer(call: Call, question: str, digest: Digest, found: RecallResult) -> Record | None:
    if not (call.options.save and digest.bullets):
        return None
    from memory.distill.digests import format_bullets

    store = call.store()
    said, title = format_bullets(digest.bullets) + "\n", extract_title(question)
    own = [hit.record for hit in found.hits if hit.workspace == call.place.key]
    before = [
        record
        for record in own
        if (record.kind, record.title, record.source) == ("learning", title, "agent")
        and record.derived_from
    ]
    same: Record | None = next(
        (record for record in before if record.body.strip() == said.strip()), None
    )
    if same:
        return same
    cited = list(dict.fromkeys(id for bullet in digest.bullets for id in bullet.ids))
    kept = store.add(
        "learning",
        title,
        said,
        source="agent",
        session=find_session_id(call),
        extra={"links": make_derived_links(cited)},
    )
    for record in before:
        store.archive(record.name, "answered again by " + kept.id)
    call.indexed()
    return kept


def _answer_json(digest: Digest, found: RecallResult, saved: Record | None) -> dict[str, Any]:
    return {
        **_digest_json(digest),
        "sources": [h.id for h in found.hits],
        "scores": [round(h.score, 6) for h in found.hits],
        "saved": saved.id if saved else None,
    }


def _digest_json(digest: Digest) -> dict[str, Any]:
    from memory.distill import digests

    return {
        "bullets": [{"text": b.text, "ids": list(b.ids)} for b in digest.bullets],
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
        digest = ask_providers(call, question, sources, spinner, max_tokens)
    if digest.provider != "extract" and digest.bullets:
        return digest
    why = [_format_reason(step.provider, step.outcome) for step in digest.steps[:-1]]
    why += ["%s found nothing to tell" % digest.provider] * (digest.provider != "extract")
    said = "no model answered (%s); this %s holds the recorded facts only"
    warn(said % ("; ".join(why), call.verb))
    return None


def _format_reason(provider: str, outcome: str) -> str:
    """Return why a provider gave no answer, beginning with its name."""
    why = outcome.partition("skipped: ")[2]
    return why if why.startswith(provider) else "%s %s" % (provider, outcome)


_REPLACED = {  # by whether the older handoff was not read yet
    True: "the older handoff (%s  %s) was not read yet; the next session gets both",
    False: "replaced %s  %s; the old one is now a checkpoint",
}


def handoff(call: Call) -> int:
    """Leave a note for the next session, or show or clear it."""
    if call.options.show or call.options.clear:
        return _show_or_clear(call)
    said = _read_handoff_note(call)
    before = handoffs.read_current(call.place)
    kept = _write_handoff(call, said) if said else _draft_handoff(call)
    call.indexed()
    is_for_person = not (call.options.json or call.options.hook)
    if before is not None and is_for_person:
        waits = any(one.id == before.id for one in handoffs.list_waiting(call.place))
        print(_REPLACED[waits] % (before.id, one_line(before.title)))
    status = report_written(call, kept, "handed off", said or None)
    if not said and is_for_person:
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
    said = call.text()
    is_empty = not said.strip()
    if call.options.provider and not is_empty:
        raise UsageError("--provider has a model write the handoff; leave the other words out")
    if call.words and is_empty:
        raise UsageError(
            "the handoff is empty; give a note, or no words at all to have one "
            "made from the session"
        )
    return "" if is_empty else said


def _write_handoff(call: Call, said: str) -> Record:
    from memory.session import entries, git
    from memory.store.redactor import strip_private

    note = entries.clean(said)
    if not strip_private(note).strip():
        raise UsageError("nothing is left to hand off: all of it is marked private")
    head = git.read_head(call.place.git)
    return handoffs.write_handoff(
        call.store(),
        extract_title(strip_private(note)),
        note + "\n",
        find_author(call),
        find_session_id(call),
        {"branch": head.branch or None, "commit": head.commit or None},
    )


def _draft_handoff(call: Call) -> Record:
    from memory.capture import byhand, conversationfile
    from memory.cli.learn import capture_now, find_transcript  # late, for a cached digest's speed

    session = find_session_id(call)
    path = find_transcript(call, session) if session else ""
    if path:
        capture_now(call, session, path)
    call.indexed()
    sources = _list_checkpoints(call, session) if session else _list_branch_checkpoints(call)
    if not sources:
        raise StoreError(
            "nothing to hand off from session %s: it has no checkpoint and no transcript; "
            "give a note instead" % session
            if session
            else "nothing to hand off from this workspace: it has no checkpoint; "
            "`dayleaf store import transcripts` brings in past sessions, or give a note instead"
        )
    told_session = str(sources[0].meta.get("session") or "")
    plan = next((record for record in _list_newest(call, "plan", "", 4) if record.active), None)
    held = conversationfile.read_turns(
        call.store(), sources[0], _list_session_checkpoints(call, sources[0])
    )
    note = next(
        (
            one
            for one in _list_newest(call, "note", told_session, 1)
            if handoffs.covers(one, sources[0])
        ),
        None,
    )
    made = byhand.draft_handoff(sources, plan, held, note, _list_uncommitted(call))
    digest = _ask_model(call, HANDOFF, _list_handoff_sources(made, sources, note), HANDOFF_TOKENS)
    meta = {key: sources[0].meta.get(key) for key in ("branch", "commit")}
    if digest:
        made = byhand.reword_draft(
            made, [bullet.statement for bullet in digest.bullets], digest.provider
        )
        meta["by"] = digest.provider
    return handoffs.write_handoff(
        call.store(),
        made.title,
        made.body,
        "auto",
        told_session,
        {**meta, "links": make_derived_links(made.sources)},
    )


def _list_uncommitted(call: Call) -> set[str]:
    """List existing uncommitted files, by relative and by absolute path."""
    from memory.store import safegit

    done = safegit.read(
        call.place.root, call.env, "status", "--porcelain", "-z", "--no-renames", "-uall"
    )
    rows = done.out.split(b"\0") if not done.rc else []
    paths = [os.fsdecode(row[3:]) for row in rows]
    found = [path for path in paths if path and files.exists(call.place.root + "/" + path)]
    return {name for path in found for name in (path, call.place.root + "/" + path)}


def _list_handoff_sources(
    made: HandoffDraft, checkpoints: list[Record], note: Record | None
) -> list[Source]:
    from dataclasses import replace  # late, for a cached digest's speed

    from memory.distill.digests import build_source

    facts = replace(build_source(checkpoints[0], made.body), checksum="")
    records = [*([note] if note else []), *checkpoints]
    return [facts, *(build_source(record, record.body) for record in records)]


def _list_branch_checkpoints(call: Call) -> list[Record]:
    """Return the checkpoints of the newest session, a person's first.

    Of two such sessions the one on the branch checked out.
    """
    branches = [*filter(None, [layout.read_branch(call.place.git)]), ""]
    found = [
        (branch, record)
        for branch in branches
        for record in _list_work(call, "", branch, handoffs.LOOKED)
    ]
    if not found:
        return []
    branch, newest = min(found, key=lambda one: handoffs.is_unattended(one[1]))
    return _list_session_checkpoints(call, newest, branch)


def _list_work(call: Call, session: str, branch: str, most: int) -> list[Record]:
    """Return the newest checkpoints about work done here."""
    return [
        record
        for record in _list_newest(call, "checkpoint", session, most, branch)
        if not handoffs.is_handoff(record) and not handoffs.is_from_elsewhere(call.place, record)
    ]


def _list_checkpoints(call: Call, session: str, branch: str = "") -> list[Record]:
    found = _list_work(call, session, branch, 2 * MOST_SOURCES)
    named = [str(record.meta.get("session") or "") for record in found]
    # the start of a session's id may match several sessions
    whole = session if session in named else next(iter(named), "")
    return [record for record, name in zip(found, named) if name == whole][:MOST_SOURCES]


def _list_session_checkpoints(call: Call, record: Record, branch: str = "") -> list[Record]:
    session = str(record.meta.get("session") or "")
    return _list_checkpoints(call, session, branch) if session else [record]


def _list_newest(call: Call, kind: str, session: str, most: int, branch: str = "") -> list[Record]:
    from memory.recall import question, search
    from memory.store.redactor import strip_private_record

    query = question.Query(kinds=(kind,), session=session, branch=branch, limit=most)
    found = search.recall(call.place, call.settings, query, call.now, call.offset, [call.place])
    return [strip_private_record(hit.record) for hit in found.hits]


def _show_handoff(call: Call) -> int:
    found = handoffs.read_current(call.place)
    if found is None:
        said = "%s has no handoff; `dayleaf handoff` writes one" % one_line(call.place.key)
        return call.answer(None, [said])
    found = call.store().read(found.name)
    starts = handoffs.count_starts(call.place, found.id)
    value = {
        **record_json(found),
        "path": call.place.path(found.name),
        "body": found.body,
        "starts": starts,
    }
    often = "at " + format_count(starts, "start") if starts else "not yet"
    head = screen.format_record_head(
        found, call.now, call.style(), [("shown", often), ("file", call.place.path(found.name))]
    )
    return call.answer(value, [*head, "", strip_hidden(found.body).strip("\n")])


def _clear_handoff(call: Call) -> int:
    """Withdraw the handoff; it becomes an ordinary checkpoint."""
    if handoffs.read_current(call.place) is None and not handoffs.list_waiting(call.place):
        return call.answer(None, ["there is no handoff to clear"])
    kept = handoffs.clear(call.store())
    call.indexed()
    return report_written(call, kept, "cleared, now a checkpoint:")


def _parse_period(call: Call) -> tuple[float, float | None]:
    """Parse a call's (start, end), None for an open end."""
    if call.words and call.options.since:
        raise UsageError("--since has the time; leave '%s' out" % clip_input(" ".join(call.words)))
    said = call.options.since or " ".join(call.words) or "1d"
    until = call.parse_time(call.options.until, end=True) if call.options.until else None
    since = call.parse_time(said)
    if until is not None and until <= since:
        raise UsageError(
            "--until %s is not after %s" % (clip_input(call.options.until), clip_input(said))
        )
    return since, until


def standup(call: Call) -> int:
    """Show the results of a period and the open work, by branch."""
    from memory.knowledge import worklog
    from memory.terminal import workdays

    since, until = _parse_period(call)
    with call.spinner("reading the checkpoints"):
        told = worklog.collect_work(
            call.place,
            call.settings,
            call.options.workspace or "",
            since,
            call.now,
            call.offset,
            until,
        )
    digest = _ask_model(call, STANDUP, worklog.list_sources(told), STANDUP_TOKENS)
    style = call.style()
    columns = style.columns if sys.stdout.isatty() else STANDUP_COLUMNS
    style = screen.Style(columns, style.colour, style.cut)
    return call.answer(
        {**workdays.to_json(told), "digest": _digest_json(digest) if digest else None},
        workdays.standup_lines(told, style, call.options.markdown, digest),
    )


def today(call: Call) -> int:
    """Show the last sessions, the waiting reviews and common failures."""
    from memory.terminal import workdays

    with call.spinner("reading the sessions"):
        seen = workdays.read_glance(call.place, call.settings, call.now, call.offset)
    from memory.health import accounts
    from memory.project import adoption
    from memory.terminal import pastlines

    wanted = call.place.claimed or adoption.read_offered_workspace(call.place)
    off = accounts.find_disabled_pushes(call.place, call.settings, 1)
    unkept = accounts.find_disabled_capture(call.settings)
    return call.answer(
        {**workdays.glance_json(seen), "off": off, "unkept": unkept},
        [
            *pastlines.switched_off_lines(off),
            *pastlines.switched_off_lines(unkept, "capture"),
            *workdays.glance_lines(seen, call.now, call.style()),
            *([adoption.OFFER_MESSAGE % wanted] if wanted else []),
        ],
    )


def statusline(call: Call) -> int:
    event = {} if sys.stdin.isatty() else boundary.read_event()
    from memory.hook.statusline import on_statusline

    said, _ = on_statusline(event, call.env, call.now)
    return call.answer({"line": said}, [said])
