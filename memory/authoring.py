"""The verb new: a record written in the person's own editor."""

from __future__ import annotations

from typing import Any

from memory import clock, files, paths, planning, terminal
from memory.call import Call, nearest, shown, tier_of
from memory.errors import StoreError, UsageError
from memory.templates import KINDS, template
from memory.writing import author, in_editor, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory.records import Record

_OWN = ("id", "kind", "title", "source")  # keys that are not taken over as they were written


def new(call: Call) -> int:
    """Open a template in $VISUAL or $EDITOR and keep what comes back; nothing where it is unchanged or empty."""
    kind = call.words[0] if call.words else ""
    if kind not in KINDS:
        raise UsageError("new wants a kind%s; %s" % (
            ", not '%s'" % shown(kind) if kind else "", nearest(kind, KINDS, "use one of " + ", ".join(KINDS))))
    tier = _tier(call, kind)
    if kind == "plan":
        planning.standing(call, call.store())
    before = template(kind, terminal.one_line(" ".join(call.words[1:])))
    copy, text = _opened(call, kind, before)
    after = in_editor(call, copy)
    if after is None or after == before or not _filled(after):
        if copy != call.options.from_file:
            files.remove(copy)
        return call.answer(None, ["nothing was written" + ("; %s stays" % copy if copy == call.options.from_file else "")])
    try:
        kept = _kept(call, kind, tier, copy, after)
    except (StoreError, UsageError) as error:
        raise StoreError("%s; your text is kept, `dayleaf new %s --from '%s'` opens it again" % (error, kind, copy)) from None
    call.indexed()
    if text is None or copy.startswith(call.place.cache + "/"):
        files.remove(copy)
    return written(call, kept, "kept")


def _tier(call: Call, kind: str) -> str:
    if call.options.tier_global and kind == "plan":
        raise UsageError("a plan belongs to one workspace; leave --global out")
    if call.options.replace and kind != "plan":
        raise UsageError("--replace is for a plan")
    return tier_of(call)


def _opened(call: Call, kind: str, before: bytes) -> tuple[str, bytes | None]:
    """Return (the file to be edited, what --from gave it or None); a kept text is edited where it is."""
    given = call.options.from_file
    try:
        text = files.read(given, 64 << 20) if given else None
    except OSError as error:
        why = (error.strerror or "unreadable").lower()
        raise UsageError("%s: %s; give the file that holds the text" % (given, why)) from None
    if given and given.startswith(call.place.cache + "/"):
        return given, text
    copy = "%s/new-%s-%s.md" % (call.place.cache, kind, clock.iso(call.now).replace(":", ""))
    files.replace(copy, before if text is None else text)
    return copy, text


def _filled(data: bytes) -> bool:
    """Tell whether a title or a text stands in a file."""
    from memory import frontmatter

    page = frontmatter.parse(data, full=True)
    return bool(page.body.strip() or str(page.meta.get("title") or "").strip())


def _kept(call: Call, kind: str, tier: str, copy: str, data: bytes) -> Record:
    """Check a text and write it as a record; raises StoreError, which names the line, where something is wrong."""
    from memory import checks, frontmatter, records

    store = call.store()
    name = "%s/%s/new.md" % (tier, paths.FOLDERS[kind])
    linked = checks.known(store, store.each())
    errors = [fault for fault in checks.one(name, data, copy, call.place, call.settings, linked, secrets=False) if fault.error]
    if errors:
        more = " (and %d more)" % (len(errors) - 1) if errors[1:] else ""
        raise StoreError("line %d: %s; %s%s" % (errors[0].line, errors[0].what, errors[0].remedy, more))
    found, meta = records.from_bytes(name, data, call.now), frontmatter.parse(data, full=True).meta
    extra: dict[str, Any] = {key: value for key, value in meta.items() if key not in _OWN and value}
    if found.kind == "plan":
        return planning.made(call, found.title, found.body, tier, extra)
    return store.add(found.kind, found.title, found.body, tier=tier, source=call.options.source or author(call), extra=extra)
