"""Finds out which blocks did not reach the model: the host writes every one that it took into the session's transcript.

A receipt whose turn stands in the transcript, but whose block does not, was lost: the host gave the hook up, or dropped what it
said.  The receipts then get a line `lost`, which takes the block's records back, so that a later prompt may have them.
"""

from __future__ import annotations

from typing import Any, Dict, List

from memory.core import clock, files
from memory.core.layout import Place
from memory.hook import receipts

MOST = 64 << 20  # bytes of a transcript; a longer one is not looked through
_WRITES = (b'"hook_success"', b'"hook_additional_context"')  # of a host that writes down what hooks said


def settle(place: Place, session: str, path: str, now: float) -> List[Dict[str, Any]]:
    """Note the blocks of a session that did not arrive, each once, and return their receipts.

    path: what `transcript.trusted` returned.  now: seconds since the epoch.  Raises OSError.
    """
    rows = receipts.read(place.receipts(session))
    said = {row.get("tag") for row in rows if row.get("event") == "lost"}
    pushed = [row for row in rows if receipts.tag_of(row) and receipts.tag_of(row) not in said]
    if not pushed or files.posix.stat(path).st_size > MOST:
        return []
    data = files.read(path, MOST)
    if not any(mark in data for mark in _WRITES):
        return []  # a host that keeps no trace of hooks proves nothing
    turns = [at for at, row in enumerate(rows) if _is_turn(row, data)]
    missing = [row for row in pushed if receipts.tag_of(row).encode("ascii", "replace") not in data and (
        _is_turn(row, data) if row.get("event") == "prompt" else any(at > rows.index(row) for at in turns))]
    for row in missing:
        receipts.write(place.receipts(session), {"v": 1, "t": clock.iso(now), "event": "lost", "tag": receipts.tag_of(row),
                                                 "chosen": row.get("chosen") or []})
    return missing


def _is_turn(row: Dict[str, Any], data: bytes) -> bool:
    """Tell whether a receipt is of a prompt that the transcript has."""
    prompt = row.get("prompt")
    return (row.get("event") == "prompt" and isinstance(prompt, str) and prompt != ""
            and b'"%s"' % prompt.encode("utf-8", "replace") in data)
