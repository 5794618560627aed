"""Split sources into passages: conversations into turns, other records whole."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Sequence

from memory.core import clock
from memory.distill.digests import BODY_LIMIT, Source, clean
from memory.hook.fence import split_turn
from memory.hook.windows import Passage

TURN_LIMIT = 12_000  # characters read of one turn

_TURN_HEADING = re.compile(r"## (?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d) ?")


class SourcePassage(NamedTuple):
    """A passage of a source, with its day and its turn's request or ""."""

    source: Source
    passage: Passage
    day: str
    request: str


def split_sources(sources: Sequence[Source]) -> list[SourcePassage]:
    """Split sources into passages; skip checkpoints of conversations among them."""
    # each conversation once, at its best rank
    talks = {source.id: source for source in reversed(sources) if source.kind == "conversation"}
    found: list[SourcePassage] = []
    for source in sources:
        if source.kind == "conversation":
            found += _split_turns(source) if talks[source.id] is source else ()
        elif source.retold not in talks:
            passage = Passage(
                source.retold or source.id, clean(source.title), clean(source.body[:BODY_LIMIT])
            )
            found.append(SourcePassage(source, passage, clock.format_local_day(source.created), ""))
    return found


def _split_turns(source: Source) -> Iterator[SourcePassage]:
    day, shown = clock.day(source.created), clock.format_local_day(source.created)
    for text in source.turns or (source.body,):
        request, answer = source.title, text
        heading = _TURN_HEADING.match(text)
        if heading:
            day = heading[1] or day
            shown = clock.format_local_day(clock.parse("%sT%s" % (day, heading[2])) or 0.0)
            quoted, answer = split_turn(text)
            request = " ".join(line.lstrip("> ") for line in quoted.split("\n")).strip()
            request = request or text.partition("\n")[0][heading.end() :]
        request = clean(request).strip()
        passage = Passage(source.id, request, clean(answer[:TURN_LIMIT]))
        yield SourcePassage(source, passage, shown, request)
