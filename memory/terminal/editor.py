"""A text in the person's own editor: $VISUAL or $EDITOR, on a copy that stays where something goes
wrong; and what `dayleaf record new` opens there, frontmatter with hints, one text for each kind
that people write.
"""

from __future__ import annotations

import sys

from memory.core import StoreError, UsageError, files, frontmatter, layout
from memory.core.records import Record
from memory.terminal.call import Call

_TEXTS = {
    "rule": """kind: rule
# What to do, or not to do, in one line.
{title}
# Required: the reason.  It tells the reader when the rule no longer applies.
rationale:
# Words in a prompt that should bring it up, such as [migrations, sql].
tags: []
# Below the second line of dashes: the rule itself, as short as possible.  It binds once you have \
approved it.
""",
    "learning": """kind: learning
# What holds, in one line.
{title}
# Such as [auth, jwt].
tags: []
# Versions it was seen with, such as [v2.1]; empty for every version.
versions: []
# low, medium or high
confidence: medium
# Below the second line of dashes: what happens and why; names, commands and error texts as they \
are.
""",
    "resource": """kind: resource
{title}
# doc or script
type: doc
# Required: where it is, relative to the project or absolute.
path:
# Such as [v2.1]; empty for every version.
versions: []
# Below the second line of dashes: what is in it, and when to use it.
""",
    "plan": """kind: plan
# What is to be done, in one line.
{title}
# Below the second line of dashes: the plan; its steps are lines `- [ ] what to do`, `- [x]` once \
done.
""",
}
KINDS = tuple(_TEXTS)


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


def template(kind: str, title: str) -> bytes:
    """Return the file to fill in.

    kind: one of KINDS. title: one line, or "" to be written there.
    """
    line = (
        frontmatter.compose({"title": title}, "").decode("utf-8").split("\n")[1]
        if title
        else "title:"
    )
    return ("---\n" + _TEXTS[kind].replace("{title}", line) + "---\n\n").encode("utf-8")
