"""The export of claude-mem: one JSON file of observations and of summaries of sessions.

A summary becomes a checkpoint; an observation a learning where it is a decision, a discovery or a
mended fault, else a checkpoint.  A model wrote each, so it is an agent's and its confidence is low.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Iterator

from memory.core import clock, files, plaintext
from memory.project.intake import Draft, Piece
from memory.project.otherfiles import Source

ENDING = ".json"
START = 4096  # bytes in which an export names itself
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
    """Tell whether a file is an export, by its start."""
    try:
        start = files.read(path, START)
    except OSError:
        return False
    return all(mark in start for mark in _MARKS)


def pieces(source: Source, path: str, data: bytes, now: float) -> Iterator[Piece]:
    """Yield a note for each observation and summary of an export.

    path: how a record names the source.  now: seconds since the epoch; later dates count as now.
    """
    try:
        said = json.loads(data)
    except ValueError:
        return
    if not isinstance(said, dict):
        return
    for key, draft in (("observations", _observation), ("summaries", _summary)):
        rows = said.get(key)
        for number, row in enumerate(rows if isinstance(rows, list) else (), 1):
            if isinstance(row, dict):
                part = "%s %s" % (key, row.get("id") or number)
                checksum = files.sha256(json.dumps(row, sort_keys=True).encode())
                yield Piece(
                    (path, part), source.name + " " + part, checksum, partial(draft, row, now)
                )


def _observation(row: dict[str, Any], now: float) -> Draft:
    kind = "learning" if row.get("type") in _LEARNT else "checkpoint"
    told = [_text(row, "subtitle"), _text(row, "narrative") or _text(row, "text")]
    facts = ["- " + fact for fact in _listed(row, "facts")]
    body = "\n\n".join(filter(None, [*told, "\n".join(facts)]))
    tags = [_text(row, "type"), *_listed(row, "concepts")]
    title = _text(row, "title") or plaintext.one_line(body, 80)
    return _draft(kind, title, body or title, tags, row, now)


def _summary(row: dict[str, Any], now: float) -> Draft:
    parts = [(head, _text(row, key)) for key, head in _PARTS]
    body = "\n\n".join("## %s\n\n%s" % part for part in parts if part[1])
    title = _text(row, "request") or _text(row, "completed") or "A session"
    return _draft("checkpoint", plaintext.one_line(title, 80), body or title, [], row, now)


def _draft(
    kind: str, title: str, body: str, tags: list[str], row: dict[str, Any], now: float
) -> Draft:
    epoch = row.get("created_at_epoch")
    at = clock.parse(_text(row, "created_at"))
    if at is None:  # milliseconds
        at = epoch / 1000.0 if isinstance(epoch, (int, float)) else now
    extra: dict[str, Any] = {"created": min(at, now), "confidence": "low"}
    paths = list(dict.fromkeys([*_listed(row, "files_modified"), *_listed(row, "files_edited")]))
    if paths:
        extra["files"] = paths
    return Draft(kind, title, body, _tags(tags), "agent", extra)


def _tags(said: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys("-".join(tag.lower().split()) for tag in said if tag.strip()))


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    return value.strip() if isinstance(value, str) else ""


def _listed(row: dict[str, Any], key: str) -> list[str]:
    """Return a list, also one written as JSON text."""
    value = row.get(key)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
