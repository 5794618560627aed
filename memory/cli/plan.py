"""The verb plan: a list of steps, made, shown, changed and ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

from memory.core import StoreError, UsageError, clock, files, frontmatter, layout, records
from memory.core.plaintext import format_count, one_line, strip_hidden
from memory.core.records import Record
from memory.recall.hit import record_json
from memory.store import activeplan
from memory.store.redactor import strip_private
from memory.store.store import Store
from memory.terminal import screen
from memory.terminal.call import (
    Call,
    clip_input,
    extract_title,
    find_author,
    find_session_id,
    is_unattended,
    report_written,
    suggest_word,
    unknown_word,
)

MOST_ENDED = 5  # ended plans in a list


def _split_words(call: Call) -> list[str]:
    if call.options.args_from_stdin and call.words:  # a slash command passes them as one
        parted = call.words[0].split(None, 1)
        return parted if parted[0] in WORDS else call.words
    return call.words or ["list"]


def plan(call: Call) -> int:
    """Make a plan, or list, show, change or end one."""
    words = _split_words(call)
    word = words[0]
    if word in WORDS:
        run, allowed = WORDS[word]
        _refuse_options(call, "plan " + word, allowed)
        return run(call, words[1:])
    _refuse_options(call, "a new plan", ("shared", "replace", "step"))
    if len(words) == 1 and word.isalpha() and suggest_word(word, WORDS, ""):
        raise unknown_word("plan", word, WORDS)
    text = call.read_stdin() if words == ["-"] else " ".join(words)
    title, body = _split_title(text, call.options.step or ())
    tier = layout.SHARED if call.options.shared else layout.PRIVATE
    return report_written(call, _make_plan(call, title, body, tier), "planned", title + body)


def _refuse_options(call: Call, what: str, allowed: tuple[str, ...]) -> None:
    given = call.list_given(name for name in OPTIONS if name not in allowed)
    if given:
        raise UsageError("%s takes no %s; `dayleaf plan --help` lists what does" % (what, given[0]))


# ---- making


def _split_title(text: str, steps: Iterable[str]) -> tuple[str, str]:
    """Return (title, body) of a plan's text; `steps` become task items."""
    text = strip_private(text).strip()
    if not text:
        raise UsageError("the plan is empty; give its text as an argument or on stdin")
    title = extract_title(text)
    first, _, rest = text.partition("\n")
    is_title = one_line(first.lstrip("#")).rstrip(".;。 ") == title
    body = rest.strip("\n") if is_title else text
    items = "\n".join("- [ ] " + one_line(step) for step in steps)
    body = "\n\n".join(filter(None, (body, items)))
    return title, body + "\n" if body else ""


def _make_plan(call: Call, title: str, body: str, tier: str) -> Record:
    store, author, session = call.store(), find_author(call), find_session_id(call)
    extra = {"status": "active", "unattended": is_unattended(call) or None}
    with files.Lock(call.place.cache + "/plan.lock", wait=True):
        before = _list_replaceable_plans(call, store)
        kept = store.add(
            "plan", title, body, tier=tier, source=author, session=session, extra=extra
        )
        for old in before:
            if old.name != kept.name:
                _end_plan(call, store, old, "dropped", "replaced by " + kept.id)
    call.indexed()
    return kept


def _list_replaceable_plans(call: Call, store: Store) -> list[Record]:
    """List the active plans; refuse to replace them without --replace."""
    found = activeplan.list_active(store.each(("plan",)))
    if found and not call.options.replace:
        id = found[0].id
        raise StoreError(
            "the plan %s '%s' is active; `dayleaf plan done %s` finishes the plan, `dayleaf "
            "plan drop %s` drops it, --replace drops it and starts the new one"
            % (id, clip_input(found[0].title), id, id)
        )
    for record in found:
        store.check(record.name)
    return found


# ---- showing


def _list_plans(call: Call, words: list[str]) -> int:
    if words:
        raise UsageError("plan list takes no more words; put a new plan in quotes")
    every = list(call.store().each(("plan",)))
    found = activeplan.list_active(every)
    ended = sorted((r for r in every if not r.active), key=lambda r: (-r.updated, r.name))
    lines = [] if found else [_format_no_plan(call)]
    for record in found:
        lines += [_format_line(record), *_format_steps(record)]
    if len(found) > 1:
        lines.append(
            "%d plans are active and %s is used; `dayleaf plan done ID` ends one"
            % (len(found), found[0].id)
        )
    lines += [""] * bool(ended) + [_format_line(record) for record in ended[:MOST_ENDED]]
    if len(ended) > MOST_ENDED:
        more = "and %d more; `dayleaf recall --kind plan` lists them"
        lines.append(more % (len(ended) - MOST_ENDED))
    return call.answer([_plan_json(record) for record in [*found, *ended]], lines)


def _format_line(record: Record) -> str:
    done, of = activeplan.count_steps(record)
    cells = [one_line(record.id), record.status, one_line(record.title)]
    if of:
        cells.insert(2, "%d of %s done" % (done, format_count(of, "step")))
    return "  ".join(cells)


def _list_steps(record: Record) -> list[tuple[int, bool, str]]:
    return [
        (number, ticked, one_line(text))
        for number, (_, ticked, text) in enumerate(records.parse_steps(record.body), 1)
    ]


def _format_steps(record: Record) -> list[str]:
    return [
        "  %2d [%s] %s" % (number, "x" if ticked else " ", text)
        for number, ticked, text in _list_steps(record)
    ]


def _plan_json(record: Record) -> dict[str, Any]:
    done, of = activeplan.count_steps(record)
    steps = [
        {"number": number, "done": ticked, "text": text}
        for number, ticked, text in _list_steps(record)
    ]
    return {**record_json(record), "status": record.status, "done": done, "of": of, "steps": steps}


def _show_plan(call: Call, words: list[str]) -> int:
    found = _find_plan(call, call.store(), words)
    path = call.place.path(found.name)
    facts = [("status", found.status), ("file", path)]
    head = screen.format_record_head(found, call.now, call.style(), facts)
    value = {**_plan_json(found), "path": path, "body": found.body}
    return call.answer(value, [*head, "", strip_hidden(found.body).rstrip("\n")])


# ---- changing


def _update_plan(call: Call, words: list[str]) -> int:
    text = strip_private(call.read_stdin() if words == ["-"] else " ".join(words)).strip()
    if not text:
        raise UsageError("the update is empty; give its text as an argument, or `-` for stdin")
    store = call.store()
    found = _find_plan(call, store, [])
    before = store.raw(found.name)
    after = activeplan.replace_body(before, text, call.options.append, found.name)
    # the replaced text held the title
    if records.from_bytes(found.name, after, call.now).title != found.title:
        after = frontmatter.edit(after, {"title": found.title}, found.name)
    return _save_change(call, store, found, before, after)


def _tick_step(call: Call, words: list[str]) -> int:
    if len(words) != 1 or not words[0].strip().isdecimal():
        raise UsageError("plan step takes one number; `dayleaf plan` lists them")
    store = call.store()
    found = _find_plan(call, store, [])
    number, undo = int(words[0]), call.options.undo
    before = store.raw(found.name)
    after = activeplan.mark_step(before, number, not undo)
    if after == before:
        line = "step %d is %s already" % (number, "open" if undo else "done")
        return call.answer(_plan_json(found), [line])
    return _save_change(call, store, found, before, after)


def _save_change(call: Call, store: Store, found: Record, before: bytes, after: bytes) -> int:
    if frontmatter.parse(after).meta:
        after = frontmatter.edit(after, {"updated": clock.iso(call.now)}, found.name)
    kept = store.replace(found.name, after, files.sha256(before))
    call.indexed()
    lines = [_format_line(kept), *_format_steps(kept)]
    if "[redacted:" in kept.body and "[redacted:" not in found.body:
        lines.append("  a secret was removed from it")
    return call.answer(_plan_json(kept), lines)


def _end_named(call: Call, words: list[str], status: str) -> int:
    store = call.store()
    found = _find_plan(call, store, words)
    if found.status == status:
        return call.answer(_plan_json(found), ["%s is %s already" % (found.id, status)])
    kept = _end_plan(call, store, found, status)
    call.indexed()
    done, of = activeplan.count_steps(kept)
    lines = ["%s %s  %s" % (status, kept.id, one_line(kept.title))]
    if of > done:
        lines.append("  %s still open" % format_count(of - done, "step"))
    return call.answer(_plan_json(kept), lines)


def _end_plan(call: Call, store: Store, found: Record, status: str, reason: str = "") -> Record:
    changes = {"status": status, "updated": clock.iso(call.now), "reason": reason}
    return store.edit(found.name, {key: value for key, value in changes.items() if value})


def _find_plan(call: Call, store: Store, words: list[str]) -> Record:
    """Return the named plan, by default the active one."""
    if len(words) > 1:
        raise UsageError("give one ID, not %d words; put a new plan in quotes" % len(words))
    if words:
        if words[0].isdigit():
            raise UsageError("a plan has an ID; `dayleaf plan step %s` ticks off a step" % words[0])
        found = store.find(words[0])
        if found.kind != "plan":
            raise UsageError("%s is a %s, not a plan" % (found.id, found.kind))
        return found
    active = activeplan.list_active(store.each(("plan",)))
    if not active:
        raise StoreError(_format_no_plan(call))
    return active[0]


def _format_no_plan(call: Call) -> str:
    return 'no plan is active in %s; `dayleaf plan "…"` makes one' % one_line(call.place.key)


OPTIONS = ("shared", "replace", "step", "append", "undo")
WORDS: dict[str, tuple[Callable[[Call, list[str]], int], tuple[str, ...]]] = {
    "list": (_list_plans, ()),
    "show": (_show_plan, ()),
    "update": (_update_plan, ("append",)),
    "step": (_tick_step, ("undo",)),
    "done": (lambda call, words: _end_named(call, words, "done"), ()),
    "drop": (lambda call, words: _end_named(call, words, "dropped"), ()),
}
