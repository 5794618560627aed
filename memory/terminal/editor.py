"""A record in $VISUAL or $EDITOR: a copy, which stays where something goes wrong."""

from __future__ import annotations

import sys

from memory.core import StoreError, UsageError, files, layout
from memory.core.records import Record
from memory.terminal.call import Call


def edit_record(call: Call, found: Record) -> Record | None:
    """Let the person edit a record; return it, or None if unchanged.

    In $VISUAL or $EDITOR. Raises UsageError where the editor does not start, StoreError where the
    file has changed meanwhile.
    """
    store = call.store()
    before = store.raw(found.name)
    copy = "%s/edit-%s.md" % (call.place.cache, layout.slug(found.id))
    files.replace(copy, before)
    after = in_editor(call, copy)
    if after is None or after == before:
        files.remove(copy)
        return None
    try:
        found = store.replace(found.name, after, files.sha256(before))
    except StoreError as error:
        raise StoreError("%s (your text is still in %s)" % (error, copy)) from None
    files.remove(copy)
    return found


def in_editor(call: Call, path: str) -> bytes | None:
    """Open a file in $VISUAL or $EDITOR and return its new bytes.

    None where the editor reports a failure. Raises UsageError where it does not start.
    """
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
        done = subprocess.call([*argv, path])
    except OSError as error:
        raise UsageError(
            "the editor '%s' did not start (%s); set EDITOR to another one"
            % (argv[0], error.strerror)
        ) from None
    return None if done else files.read(path, 64 << 20)
