"""Many queries in one open index, as JSON Lines.

One JSON object a line: in {"id", "query", options by name, "now"}, out {"id", "hits": [{"id",
"score"}], "backend", "notes"}, or {"id", "error"} for a bad line; in the order of the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memory.core import StoreError, UsageError, clock, fastjson
from memory.core.config import Config
from memory.core.layout import Place
from memory.recall import timewords
from memory.recall.question import Query, query_from_options, read_text
from memory.recall.search import Searcher
from memory.recall.semantic import Semantic


def answer_lines(
    lines: Iterable[str],
    place: Place,
    settings: Config,
    now: float,
    offset: clock.Offset,
    base: Query | None = None,
    semantic: Semantic | None = None,
    dsn: str = "",
) -> Iterator[str]:
    """Answer queries in JSON Lines, one line each; blank lines are skipped.

    now: the instant for lines without their own. base: the command's own options; where it wants
        vectors, all lines are read first and embedded by one process. dsn: see search.recall.
    """
    if semantic and semantic.is_wanted(base.semantic if base else None):
        lines = list(lines)
        semantic.prepare(place, [text for text in map(_read_query_text, lines) if text], now)
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
                instant = _parse_now(given.pop("now", None), now, offset)
                result = searcher.answer(
                    query_from_options(given, instant, offset, base), instant, offset
                )
            except (UsageError, StoreError, ValueError) as error:
                yield fastjson.dump({"id": id_, "error": str(error)})
                continue
            yield fastjson.dump(
                {
                    "id": id_,
                    "hits": [{"id": hit.id, "score": round(hit.score, 6)} for hit in result.hits],
                    "backend": result.backend,
                    "notes": list(result.notes),
                }
            )


def _read_query_text(line: str) -> str:
    try:
        given = fastjson.parse(line)
    except ValueError:
        return ""
    text = given.get("query", given.get("text")) if isinstance(given, dict) else ""
    return text if isinstance(text, str) else ""


def _parse_now(value: Any, now: float, offset: clock.Offset) -> float:
    if value is None:
        return now
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return timewords.parse_instant(read_text("now", value), now, offset)
