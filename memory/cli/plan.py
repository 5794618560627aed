"""The verb plan: what is to be done here, step by step."""

from __future__ import annotations

from typing import Any, Callable

from memory.core import StoreError, UsageError, clock, files, frontmatter, layout, records
from memory.core.plaintext import count, one_line, plain
from memory.core.records import Record
from memory.recall.hit import record_json
from memory.store import activeplan
from memory.store.store import Store
from memory.terminal import screen
from memory.terminal.call import (
    Call,
    author,
    first_clause,
    nearest,
    report_written,
    session_of,
    shown,
    unknown_word,
)

ENDED = 5  # plans that are listed below the active one
MARKS = {True: "x", False: " "}


def _plan_words(call: Call) -> list[str]:
    if call.options.args_from_stdin and call.words:  # a slash command gives them as one
        parted = call.words[0].split(None, 1)
        return parted if parted[0] in WORDS else call.words
    return call.words or ["list"]


def plan(call: Call) -> int:
    """Make a plan, or list, show, change or end one."""
    words = _plan_words(call)
    word = words[0]
    if word in WORDS:
        run, allowed = WORDS[word]
        _only(call, "plan " + word, allowed)
        return run(call, words[1:])
    _only(call, "a new plan", ("shared", "replace", "step"))
    if len(words) == 1 and word.isalpha() and nearest(word, WORDS, ""):
        raise unknown_word("plan", word, WORDS)
    title, body = split_title(
        call.stdin() if words == ["-"] else " ".join(words), call.options.step or ()
    )
    return report_written(
        call,
        make_plan(call, title, body, layout.SHARED if call.options.shared else layout.PRIVATE),
        "planned",
        title + body,
    )


def _only(call: Call, what: str, allowed: tuple[str, ...]) -> None:
    given = [name for name in OPTIONS if getattr(call.options, name) and name not in allowed]
    if given:
        raise UsageError(
            "%s takes no --%s; `dayleaf plan --help` lists what does" % (what, given[0])
        )


# ---- making


def split_title(said: str, steps: Any = ()) -> tuple[str, str]:
    """Return (title, body) of a plan's text.

    A short first line is the title alone. steps: more of them, added as task items. Raises
    UsageError for an empty text.
    """
    from memory.store.redactor import strip_private

    said = strip_private(said).strip()
    if not said:
        raise UsageError("the plan is empty; give its text as an argument or on stdin")
    title = first_clause(said)
    first, _, rest = said.partition("\n")
    body = rest.strip("\n") if one_line(first.lstrip("#")).rstrip(".;。 ") == title else said
    items = "\n".join("- [ ] " + one_line(step) for step in steps)
    whole = "\n\n".join(part for part in (body, items) if part)
    return title, whole + "\n" if whole else ""


def make_plan(call: Call, title: str, body: str, tier: str) -> Record:
    """Write a new plan as the active one.

    Raises StoreError where another one is active and --replace is not given.
    """
    store = call.store()
    with files.Lock(call.place.cache + "/plan.lock", wait=True):
        before = active_plans(call, store)
        kept = store.add(
            "plan",
            title,
            body,
            tier=tier,
            source=author(call),
            session=session_of(call),
            extra={"status": "active"},
        )
        for old in before:
            if old.name != kept.name:
                _end(call, store, old, "dropped", "replaced by " + kept.id)
    call.indexed()
    return kept


def active_plans(call: Call, store: Store) -> list[Record]:
    """Return the active plans; raise StoreError for one without --replace."""
    found = _active(store)
    if found and not call.options.replace:
        id = found[0].id
        raise StoreError(
            "the plan %s '%s' is active; finish it: `dayleaf plan done %s`, or drop it: `dayleaf "
            "plan drop %s`, or add --replace to drop it and start this one"
            % (id, shown(found[0].title), id, id)
        )
    for record in found:
        store.check(record.name)
    return found


def _active(store: Store) -> list[Record]:
    return activeplan.active(store.each(("plan",)))


# ---- showing


def _list(call: Call, words: list[str]) -> int:
    if words:
        raise UsageError("plan list takes no more words; put a new plan in quotes")
    every = list(call.store().each(("plan",)))
    found = activeplan.active(every)
    ended = sorted((r for r in every if not r.active), key=lambda r: (-r.updated, r.name))
    lines = [] if found else [_none(call)]
    for record in found:
        lines += [_line(record), *_step_lines(record)]
    if len(found) > 1:
        lines.append(
            "%d plans are active and %s is used; `dayleaf plan done ID` ends one"
            % (len(found), found[0].id)
        )
    lines += [""] * bool(ended) + [_line(record) for record in ended[:ENDED]]
    if len(ended) > ENDED:
        lines.append("and %d more; `dayleaf recall --kind plan` lists them" % (len(ended) - ENDED))
    return call.answer([_json(record) for record in [*found, *ended]], lines)


def _line(record: Record) -> str:
    done, of = activeplan.progress(record)
    cells = [
        one_line(record.id),
        record.status,
        *(["%d of %s done" % (done, count(of, "step"))] if of else []),
        one_line(record.title),
    ]
    return "  ".join(cells)


def _steps(record: Record) -> list[tuple[int, str, str]]:
    return [
        (number, MARKS[ticked], one_line(text))
        for number, (_, ticked, text) in enumerate(records.steps(record.body), 1)
    ]


def _step_lines(record: Record) -> list[str]:
    return ["  %2d [%s] %s" % row for row in _steps(record)]


def _json(record: Record) -> dict[str, Any]:
    done, of = activeplan.progress(record)
    steps = [
        {"number": number, "done": mark == MARKS[True], "text": text}
        for number, mark, text in _steps(record)
    ]
    return {**record_json(record), "status": record.status, "done": done, "of": of, "steps": steps}


def _show(call: Call, words: list[str]) -> int:
    found = _one(call, call.store(), words)
    facts = [("status", found.status), ("file", call.place.path(found.name))]
    head = screen.record(found, call.now, call.style(), facts)
    return call.answer(
        {**_json(found), "path": call.place.path(found.name), "body": found.body},
        [*head, "", plain(found.body).rstrip("\n")],
    )


# ---- changing


def _update(call: Call, words: list[str]) -> int:
    from memory.store.redactor import strip_private

    said = strip_private(call.stdin() if words == ["-"] else " ".join(words)).strip()
    if not said:
        raise UsageError("the update is empty; give its text as an argument, or `-` for stdin")
    store = call.store()
    found = _one(call, store, [])
    before = store.raw(found.name)
    after = activeplan.replace_body(before, said, call.options.append, found.name)
    # the title stood in the text that was replaced
    if records.from_bytes(found.name, after, call.now).title != found.title:
        after = frontmatter.edit(after, {"title": found.title}, found.name)
    return _changed(call, store, found, before, after)


def _step(call: Call, words: list[str]) -> int:
    if len(words) != 1 or not words[0].strip().isdecimal():
        raise UsageError("plan step takes one number; `dayleaf plan` lists them")
    store = call.store()
    found = _one(call, store, [])
    before = store.raw(found.name)
    after = activeplan.ticked(before, int(words[0]), not call.options.undo)
    if after == before:
        return call.answer(
            _json(found),
            ["step %d is %s already" % (int(words[0]), "open" if call.options.undo else "done")],
        )
    return _changed(call, store, found, before, after)


def _changed(call: Call, store: Store, found: Record, before: bytes, after: bytes) -> int:
    if frontmatter.parse(after).meta:
        after = frontmatter.edit(after, {"updated": clock.iso(call.now)}, found.name)
    kept = store.replace(found.name, after, files.sha256(before))
    call.indexed()
    secret = (
        ["  a secret was removed from it"]
        if "[redacted:" in kept.body and "[redacted:" not in found.body
        else []
    )
    return call.answer(_json(kept), [_line(kept), *_step_lines(kept), *secret])


def _ended(call: Call, words: list[str], status: str) -> int:
    store = call.store()
    found = _one(call, store, words)
    if found.status == status:
        return call.answer(_json(found), ["%s is %s already" % (found.id, status)])
    kept = _end(call, store, found, status)
    call.indexed()
    done, of = activeplan.progress(kept)
    left = ["  %s still open" % count(of - done, "step")] if of > done else []
    return call.answer(_json(kept), ["%s %s  %s" % (status, kept.id, one_line(kept.title)), *left])


def _end(call: Call, store: Store, found: Record, status: str, reason: str = "") -> Record:
    changes = {"status": status, "updated": clock.iso(call.now), "reason": reason}
    return store.edit(found.name, {key: value for key, value in changes.items() if value})


def _one(call: Call, store: Store, words: list[str]) -> Record:
    """Return the plan of an id, by default the active one.

    Raises UsageError or StoreError where there is none.
    """
    if len(words) > 1:
        raise UsageError("give one ID, not %d words; put a new plan in quotes" % len(words))
    if words:
        found = store.find(words[0])
        if found.kind != "plan":
            raise UsageError("%s is a %s, not a plan" % (found.id, found.kind))
        return found
    every = _active(store)
    if not every:
        raise StoreError(_none(call))
    return every[0]


def _none(call: Call) -> str:
    return 'no plan is active in %s; `dayleaf plan "…"` makes one' % one_line(call.place.key)


OPTIONS = ("shared", "replace", "step", "append", "undo")
WORDS: dict[str, tuple[Callable[[Call, list[str]], int], tuple[str, ...]]] = {
    "list": (_list, ()),
    "show": (_show, ()),
    "update": (_update, ("append",)),
    "step": (_step, ("undo",)),
    "done": (lambda call, words: _ended(call, words, "done"), ()),
    "drop": (lambda call, words: _ended(call, words, "dropped"), ()),
}
