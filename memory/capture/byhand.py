"""Checkpoints that a person writes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory.capture import gist
from memory.core import StoreError, UsageError, clock, files, layout
from memory.core.plaintext import one_line
from memory.core.records import Record
from memory.session import git, transcript
from memory.store import store


def note(keeper: store.Store, place: layout.Place, words: str, labels: Iterable[str], session: str, now: float,
         source: str = "human") -> Record:
    """Write a checkpoint by hand; its title is the first clause of the note.

    words: the note (markdown; <private> parts are left out).  labels: tags.  session: id of the running session, or "".
    now: seconds since the epoch.  source: human or agent.  Raises UsageError for an empty note, StoreError where it reads
    back wrong.
    """
    from memory.store import activeplan

    words = transcript.clean(words)
    if not words:
        raise UsageError("the checkpoint is empty; give the note as an argument or on stdin")
    head = git.head(place.git)
    first = re.split(r"(?<=[.!?;])\s|[。！？]|\n", words.lstrip("#-* "), maxsplit=1)[0].rstrip(".;")
    extra = {"created": clock.iso(now), "trigger": "manual", "branch": head.branch, "commit": head.commit,
             "plan": activeplan.served(keeper, now, now)}
    title = one_line(first, gist.TITLE)
    record = keeper.add("checkpoint", title, words + "\n", tags=tuple(labels), source=source,
                        session=layout.safe_id(session), extra={k: v for k, v in extra.items() if v})
    if files.sha256(files.read(place.path(record.name), 64 << 20)) != record.checksum:
        raise StoreError("%s: the checkpoint cannot be read back; run `dayleaf doctor`" % record.name)
    return record
