"""A record in $VISUAL or $EDITOR: the person edits a copy, which stays after a failure."""

from __future__ import annotations

import sys

from memory.core import StoreError, UsageError, files, layout, records
from memory.core.records import Record
from memory.store.store import Store
from memory.terminal.call import Call, ask_choice, warn

EDITS = "/edits"  # below home: copies that are being edited


def edit_record(call: Call, found: Record) -> Record | None:
    """Let the person edit a record; return it, or None if unchanged."""
    store = call.store()
    before = store.raw(found.name)
    copy = _write_copy(call, found.id, before)
    kept = None
    try:
        while True:
            done = run_editor(call, copy)
            text = files.read(copy, 64 << 20)
            if text == before:
                return None
            if not done:
                raise StoreError("the editor reported a failure, so nothing was saved")
            way = _choose_after_faults(call, store, found, before, text)
            if way == "save":
                kept = store.replace(found.name, text, files.sha256(before))
                return kept
            if way == "quit":
                raise StoreError("%s was not changed" % found.id)
    except StoreError as error:
        raise StoreError("%s (your text is still in %s)" % (error, copy)) from None
    finally:
        if kept or files.read(copy, 64 << 20) == before:
            files.remove(copy)


def _write_copy(call: Call, id: str, data: bytes) -> str:
    """Write the copy to edit and return its path.

    Not in the cache: it may hold the only text. Warns of copies from earlier edits.
    """
    files.make_folder(call.place.home + EDITS)
    for number in range(1, 1000):
        path = "%s%s/%s-%d.md" % (call.place.home, EDITS, layout.slug(id), number)
        try:
            files.create(path, data)
            return path
        except FileExistsError:
            warn("an earlier edit's text is still in %s; take what you need, then delete it" % path)
    raise StoreError("too many texts of earlier edits; delete those in %s" % path)


def _choose_after_faults(
    call: Call, store: Store, found: Record, before: bytes, text: bytes
) -> str:
    """Return `save`, or the person's choice if the text has new faults."""
    from memory.health import recordfaults

    known = recordfaults.collect_link_names(store, list(store.each()))
    path = call.place.path(found.name)
    old, new = (
        recordfaults.check_file(found.name, data, path, call.place, call.settings, known)
        for data in (before, text)
    )
    known_faults = {fault.what for fault in old}
    lines = [
        "line %d: %s; %s" % (fault.line, fault.what, fault.remedy)
        for fault in new
        if fault.is_error and fault.what not in known_faults
    ]
    new_id = records.from_bytes(found.name, text[: records.READ_LIMIT], 0.0).id
    if new_id != found.id:
        lines.append("its id is now %s; approvals and links go by %s" % (new_id, found.id))
    for line in lines:
        warn(line)
    if not lines:
        return "save"
    return ask_choice(("edit", "save", "quit")) if sys.stdin.isatty() else "quit"


def run_editor(call: Call, path: str) -> bool:
    """Open a file in $VISUAL or $EDITOR; return whether the editor succeeded."""
    import shlex
    import subprocess

    named = call.env.get("VISUAL") or call.env.get("EDITOR")
    if not named and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "there is no terminal to edit in; run this in a terminal, or set EDITOR to a "
            "program that needs none"
        )
    argv = shlex.split(named or "vi")
    try:
        return subprocess.call([*argv, path]) == 0
    except OSError as error:
        raise UsageError(
            "the editor '%s' did not start (%s); set EDITOR to another one"
            % (argv[0], error.strerror)
        ) from None
