"""Many queries through one open index, as JSON Lines.

Batch format, one JSON object a line: in {"id", "query", options of `options` by name, "now"}, out
{"id", "hits": [{"id", "score"}], "backend", "notes"}, the last two as a single recall says them, or
{"id", "error"} for a line that cannot be answered; its order is that of the input.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Optional

from memory.core import StoreError, UsageError, fastjson
from memory.core.config import Config
from memory.core.layout import Place
from memory.recall import timewords
from memory.recall.question import Query, option_text, query_from_options
from memory.recall.search import Searcher
from memory.recall.semantic import Semantic


def batch(
    lines: Iterable[str],
    place: Place,
    settings: Config,
    now: float,
    offset: float,
    base: Optional[Query] = None,
    semantic: Optional[Semantic] = None,
    dsn: str = "",
) -> Iterator[str]:
    """Yield the answers to queries in JSON Lines, through one index.

    Blank lines are skipped. now: the instant for lines without their own. base: the command's own
        options. semantic: provider of vectors; where the base wants vectors, all lines are read
        first and embedded by one process. dsn: see search.recall.
    """
    if semantic and semantic.is_wanted(base.semantic if base else None):
        lines = list(lines)
        semantic.prepare(place, [text for text in map(_text_of, lines) if text], now)
    with Searcher(place, settings, semantic, bare=True, dsn=dsn) as searcher:
        for line in lines:
            if not line.strip():
                continue
            id_: Any = None
            try:
                given = fastjson.parse(line)
                if not isinstance(given, dict):
                    raise UsageError("each line of a batch must be one JSON object")
                id_ = given.pop("id", None)
                instant = _instant(given.pop("now", None), now, offset)
                found = searcher.answer(
                    query_from_options(given, instant, offset, base), instant, offset
                )
            except (UsageError, StoreError, ValueError) as error:
                yield fastjson.dump({"id": id_, "error": str(error)})
                continue
            yield fastjson.dump(
                {
                    "id": id_,
                    "hits": [{"id": hit.id, "score": round(hit.score, 6)} for hit in found.hits],
                    "backend": found.backend,
                    "notes": list(found.notes),
                }
            )


def _text_of(line: str) -> str:
    try:
        given = fastjson.parse(line)
    except ValueError:
        return ""
    said = given.get("query", given.get("text")) if isinstance(given, dict) else ""
    return said if isinstance(said, str) else ""


def _instant(said: Any, now: float, offset: float) -> float:
    if said is None:
        return now
    if isinstance(said, (int, float)) and not isinstance(said, bool):
        return float(said)
    return timewords.instant(option_text("now", said), now, offset)
