"""The verb notes: switch a model's notes on or off, show their costs, write past ones."""

from __future__ import annotations

import time
from typing import Any, Callable

from memory.cli.index import change_config, find_settings_file
from memory.core import UsageError, clock, config, files
from memory.core.plaintext import format_count, one_line
from memory.core.records import Record
from memory.distill import spend
from memory.distill.providers import CallFailed
from memory.health import notekeeping
from memory.notes import generation, instruction, pause
from memory.notes.schema import QUESTION_TOKENS
from memory.recall import lookup
from memory.terminal import screen
from memory.terminal.call import Call, ask_confirmation, warn

MOST_FAILURES = 3  # in a row, after which no session is tried
WAIT = 5.0  # seconds until a call beyond the rate limit is tried again


def notes(call: Call) -> int:
    """Switch model notes on or off, report, or write past ones."""
    run, rest = call.choose_part(WORDS, "status")
    if rest and not (run in (_switch_on, _switch_off) and rest in (["mine"], ["project"])):
        raise UsageError("notes %s takes no more words" % call.words[0])
    return run(call)


# ---- on and off


def _switch_on(call: Call) -> int:
    if call.words[1:]:
        return _undo_off(call)
    chosen = call.options.provider or "claude"
    path = call.place.home + "/config.json"
    change_config(path, "notes.provider", chosen, files.FILE_MODE)
    call._settings = None
    pause.record_start(call.place.home, call.now)
    notekeeping.mark_answered(call.place.home)
    lines = [
        "from now on, %s writes a note of each session" % chosen,
        *_format_price(call),
        "  what leaves this machine: each conversation, without its secrets, goes to %s" % chosen,
        "  `dayleaf notes off` stops this; `dayleaf notes write` writes notes of past sessions",
    ]
    try:
        generation.load_provider(call.settings, call.env)
    except CallFailed as error:
        reason = error.args[0].removeprefix("absent: ")
        lines.append("! no notes yet, since %s cannot be asked: %s" % (chosen, reason))
    provider, source = _read_provider(call)
    if provider != chosen:
        lines.append(
            "! but in this project notes.provider stays `%s` (set by: %s)" % (provider, source)
        )
    return call.answer({"provider": provider, "config": path}, lines)


def _read_provider(call: Call) -> tuple[str, str]:
    return call.settings["notes.provider"], call.settings.sources["notes.provider"]


def _undo_off(call: Call) -> int:
    """Undo `notes off mine` or `notes off project`."""
    if call.options.provider:
        raise UsageError("notes on %s takes no --provider" % call.words[1])
    path, mode, where = _find_scope(call)
    change_config(path, "notes.provider", None, mode)
    call._settings = None
    pause.record_start(call.place.home, call.now)  # sessions until now go to no model
    provider, source = _read_provider(call)
    state = "notes.provider is `%s`" % provider
    if source == "default":
        state = "`dayleaf notes on` lets a model write them"
    lines = ["notes are no longer off%s; %s" % (where, state)]
    return call.answer({"provider": provider, "config": path}, lines)


def _find_scope(call: Call) -> tuple[str, int, str]:
    """Return (settings file, its permissions, its scope in words)."""
    scope = "".join(call.words[1:])
    where = {
        "project": " in this project, for all who work on it",
        "mine": " in this project, for you",
    }
    return (*find_settings_file(call, scope), where.get(scope, ""))


def _switch_off(call: Call) -> int:
    path, mode, where = _find_scope(call)
    change_config(path, "notes.provider", config.OFF, mode)
    notekeeping.mark_answered(call.place.home)
    value = {"provider": config.OFF, "config": path}
    return call.answer(value, ["no model writes notes%s; existing ones stay" % where])


def _format_price(call: Call) -> list[str]:
    mean, of = _measure_tokens(call)
    line = f"  a note costs about {mean:,} tokens read and 400 written, measured on {of}"
    return [line + spend.format_price(_estimate_price(call, mean))]


def _estimate_price(call: Call, tokens: int) -> float:
    return spend.estimate_price(call.place.home, call.now, _choose_provider(call), tokens)


def _choose_provider(call: Call) -> str:
    """Return who writes notes, or would once they are switched on."""
    provider = call.settings["notes.provider"]
    return "claude" if provider == config.OFF else provider


def _measure_tokens(call: Call) -> tuple[int, str]:
    """Return what a note costs on average, and where that was measured."""
    mean = notekeeping.mean_tokens(call.store())
    if mean:
        return mean, "your last sessions here"
    others = map(call.open_store, lookup.find_workspaces(call.place, "all"))
    mean = next(filter(None, map(notekeeping.mean_tokens, others)), 0)
    if mean:
        return mean, "your last sessions"
    return QUESTION_TOKENS, "other projects, as you have no sessions yet"


def _count_recent_calls(call: Call) -> spend.Totals:
    return spend.sum_calls(
        call.place.home, call.now - spend.MONTH * clock.DAY, call.now + clock.DAY, spend.NOTES
    )


# ---- status


def _report_status(call: Call) -> int:
    settings, home = call.settings, call.place.home
    provider, source = _read_provider(call)
    made, today = _count_recent_calls(call), spend.sum_today(home, call.now, spend.NOTES)
    kept = list(call.store().each((generation.KIND,)))
    dropped = generation.count_dropped(kept)
    paused = pause.read(home)
    most = settings["notes.dailyCalls"]
    value = {
        "provider": provider,
        "source": source,
        "model": settings["notes.model"],
        "notes": len(kept),
        "dropped": dropped,
        "edited": sum(map(generation.is_edited, kept)),
        "callsToday": today.calls,
        "mostCalls": most,
        "calls": made.calls,
        "failed": made.failed,
        "tokensIn": made.tokens_in,
        "tokensOut": made.tokens_out,
        "dollars": round(made.cost, 4),
        "pausedUntil": clock.iso(paused.until) if paused.until > call.now else None,
        "why": paused.why,
    }
    off = "off; `dayleaf notes on` switches them on"
    number, gone = format_count(len(kept), "note"), generation.format_dropped(dropped)
    here = "%s, %d edited by hand; %s" % (number, value["edited"], gone)
    month = "{}, {failed} failed; {tokensIn:,} tokens read, {tokensOut:,} written; {dollars:.4f} US"
    month += " dollars, as far as known"
    rows = [
        ["notes by a model", off if provider == config.OFF else provider],
        ["in this workspace", here],
        ["today", "%d of %d calls" % (today.calls, most)],
        ["the last %d days" % spend.MONTH, month.format(format_count(made.calls, "call"), **value)],
    ]
    if paused.until > call.now:
        until = clock.format_local(paused.until)
        rows.append(["paused", "until %s: %s" % (until, paused.why)])
    lines = screen.format_table(rows, style=call.style(), give=1)
    return call.answer(value, [*lines, *_format_price(call)])


# ---- past sessions


def _write_notes(call: Call) -> int:
    if call.settings["notes.provider"] == config.OFF and not call.options.dry_run:
        raise UsageError("notes are off; `dayleaf notes on` allows a model to write them")
    talks = _list_without_note(call)
    tokens = sum(instruction.build_for_record(talk).tokens for talk in talks)
    price = _estimate_price(call, tokens)
    value: dict[str, Any] = {"sessions": len(talks), "tokens": tokens, "dollars": round(price, 4)}
    value.update(written=[], failed="")
    if not talks:
        line = "nothing to write: every session has its note, or is too short for one"
        return call.answer(value, [line])
    number = format_count(len(talks), "session")
    line = f"{number} without a note; writing them takes some {tokens:,} tokens of "
    line += _choose_provider(call) + spend.format_price(price)
    if call.options.dry_run:
        return call.answer(value, [line + "; no model was asked (--dry-run)"])
    warn(line)
    if not call.options.yes and not ask_confirmation("write them? [y/N] ", short=True):
        raise UsageError(
            "no note was written; `dayleaf notes write --yes` does it without a question"
        )
    written, failed = _write_all(call, talks)
    call.indexed()
    value.update(written=[record.id for record in written], failed=failed)
    lines = ["%s written" % format_count(len(written), "note")]
    left = len(talks) - len(written)
    if left:
        reason = ": " + failed if failed else ""
        lines.append("%s left%s; the same command writes them" % (left, reason))
    call.answer(value, lines)
    return 1 if failed and not written else 0


def _list_without_note(call: Call) -> list[Record]:
    low, store = call.parse_time(call.options.since or "30d"), call.store()
    talks = [talk for talk in store.each(("conversation",)) if talk.created >= low]
    lacking = [talk for talk in talks if not generation.find_obstacle(store, talk)]
    return sorted(lacking, key=lambda talk: talk.created)


def _write_all(call: Call, talks: list[Record]) -> tuple[list[Record], str]:
    written: list[Record] = []
    failures, last = 0, ""  # in a row; the reason of the last
    with call.spinner("writing notes") as spinner:
        for number, talk in enumerate(talks):
            bar, title = screen.format_progress(number, len(talks)), one_line(talk.title)[:40]
            spinner.step = "%s %d of %d: %s" % (bar, number + 1, len(talks), title)
            try:
                note = _ask_until_allowed(call, talk)
            except generation.CallDeclined as error:
                return written, str(error)
            except CallFailed as error:
                if error.why == "unsound":
                    continue
                failures, last = failures + 1, str(error)
                if failures == MOST_FAILURES:
                    break
                continue
            call.changed += notekeeping.follow_up(call.store(), note)
            written.append(note.record)
            failures = 0
    return written, last


def _ask_until_allowed(call: Call, talk: Record) -> generation.StoredNote:
    while True:
        now = clock.now()
        try:
            return generation.request_note(call.store(), call.settings, call.env, talk, now)
        except generation.CallDeclined:
            if spend.check_caps(call.place.home, call.settings, now, purpose=spend.NOTES):
                raise
        time.sleep(WAIT)


WORDS: dict[str, Callable[[Call], int]] = {
    "on": _switch_on,
    "off": _switch_off,
    "status": _report_status,
    "write": _write_notes,
}
