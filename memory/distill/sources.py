"""Take sources apart into passages: the turns of conversations, other records whole."""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Sequence

from memory.core import clock
from memory.distill.digests import BODY_LIMIT, Source, clean
from memory.hook.fence import asked_and_answered
from memory.hook.windows import Passage

TURN_LIMIT = 12_000  # characters read of one turn

_HEADED = re.compile(r"## (?:(\d{4}-\d\d-\d\d) )?\d\d:\d\d ?")


class Read(NamedTuple):
    """A passage of a source.

    day: such as `2026-01-23`. request: of a turn, else "".
    """

    source: Source
    passage: Passage
    day: str
    request: str


def read(sources: Sequence[Source]) -> List[Read]:
    """Return the passages of sources.

    Without checkpoints whose conversation is here.
    """
    talks = {
        source.id: source for source in reversed(sources) if source.kind == "conversation"
    }  # each once
    found: List[Read] = []
    for source in sources:
        if source.kind == "conversation":
            found += _turns(source) if talks[source.id] is source else ()
        elif source.retold not in talks:
            passage = Passage(
                source.retold or source.id, clean(source.title), clean(source.body[:BODY_LIMIT])
            )
            found.append(Read(source, passage, clock.day(source.created), ""))
    return found


def _turns(source: Source) -> Iterator[Read]:
    day = clock.day(source.created)
    for text in source.turns or (source.body,):
        head = text.partition("\n")[0]
        headed = _HEADED.match(head)
        day = headed[1] or day if headed else day
        quoted, answer = asked_and_answered(text) if headed else ("", text)
        whole = " ".join(line.lstrip("> ") for line in quoted.split("\n")).strip()
        asked = clean(whole or (head[headed.end() :] if headed else source.title)).strip()
        yield Read(source, Passage(source.id, asked, clean(answer[:TURN_LIMIT])), day, asked)
