"""The export of claude-mem: one JSON file of observations and of summaries of sessions.

A summary becomes a checkpoint; an observation a learning where it is a decision, a discovery or a
fix, else a checkpoint.  A model wrote each, so its source is `agent` and its confidence low.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Iterator

from memory.core import clock, files, plaintext
from memory.project.intake import Draft, Piece
from memory.project.otherfiles import Source

ENDING = ".json"
START_BYTES = 4096  # bytes in which an export names itself
_MARKS = (b'"exportedAt"', b'"totalObservations"')
_LEARNT = ("decision", "discovery", "bugfix")  # types of observations that are learnings
_PARTS = (
    ("request", "Request"),
    ("completed", "Done"),
    ("learned", "Learned"),
    ("investigated", "Looked at"),
    ("next_steps", "Next"),
    ("notes", "Notes"),
)


def is_export(path: str) -> bool:
    """Tell whether a file begins like an export of claude-mem."""
    try:
        start = files.read(path, START_BYTES)
    except OSError:
        return False
    return all(mark in start for mark in _MARKS)


def parse_export(source: Source, path: str, data: bytes, now: float) -> Iterator[Piece]:
    """Yield a piece for each observation and summary of an export.

    path: of the source, as records give it.  now: later dates count as now.
    """
    try:
        export = json.loads(data)
    except ValueError:
        return
    if not isinstance(export, dict):
        return
    for key, draft in (("observations", _draft_observation), ("summaries", _draft_summary)):
        rows = export.get(key)
        for number, row in enumerate(rows if isinstance(rows, list) else (), 1):
            if isinstance(row, dict):
                part = "%s %s" % (key, row.get("id") or number)
                checksum = files.sha256(json.dumps(row, sort_keys=True).encode())
                shown = source.name + " " + part
                yield Piece((path, part), shown, checksum, partial(draft, row, now))


def _draft_observation(row: dict[str, Any], now: float) -> Draft:
    kind = "learning" if row.get("type") in _LEARNT else "checkpoint"
    story = _get_text(row, "narrative") or _get_text(row, "text")
    facts = "\n".join("- " + fact for fact in _get_list(row, "facts"))
    body = "\n\n".join(filter(None, [_get_text(row, "subtitle"), story, facts]))
    tags = [_get_text(row, "type"), *_get_list(row, "concepts")]
    title = _get_text(row, "title") or plaintext.one_line(body, 80)
    return _make_draft(kind, title, body or title, tags, row, now)


def _draft_summary(row: dict[str, Any], now: float) -> Draft:
    parts = [(head, _get_text(row, key)) for key, head in _PARTS]
    body = "\n\n".join("## %s\n\n%s" % part for part in parts if part[1])
    title = _get_text(row, "request") or _get_text(row, "completed") or "A session"
    return _make_draft("checkpoint", plaintext.one_line(title, 80), body or title, [], row, now)


def _make_draft(
    kind: str, title: str, body: str, tags: list[str], row: dict[str, Any], now: float
) -> Draft:
    epoch = row.get("created_at_epoch")
    at = clock.parse(_get_text(row, "created_at"))
    if at is None:  # milliseconds
        at = epoch / 1000.0 if isinstance(epoch, (int, float)) else now
    extra: dict[str, Any] = {"created": min(at, now), "confidence": "low"}
    paths = [*_get_list(row, "files_modified"), *_get_list(row, "files_edited")]
    if paths:
        extra["files"] = list(dict.fromkeys(paths))
    return Draft(kind, title, body, _normalize_tags(tags), "agent", extra)


def _normalize_tags(tags: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys("-".join(tag.lower().split()) for tag in tags if tag.strip()))


def _get_text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    return value.strip() if isinstance(value, str) else ""


def _get_list(row: dict[str, Any], key: str) -> list[str]:
    """Return the texts of a row's list, or of a list's JSON."""
    value = row.get(key)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
