"""What was put before the model is looked for in the session's transcript."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.health import worker
from memory.hook import receipts

ASKED = {
    "v": 1,
    "event": "prompt",
    "prompt": "p1",
    "tag": "a1b2c3",
    "chars": 90,
    "chosen": [["l-1", 1]],
    "turns": {"c-1": ["0a1b2c3d"]},
}
TURN = {"type": "user", "promptId": "p1"}
BLOCK = {
    "type": "attachment",
    "attachment": {"type": "hook_additional_context", "content": ["<dayleaf-memory a1b2c3>"]},
}
OTHER = {"type": "attachment", "attachment": {"type": "hook_success"}}


@pytest.mark.parametrize(
    ("rows", "lost"),
    [([TURN, BLOCK], []), ([TURN, OTHER], ["a1b2c3"]), ([OTHER], []), ([TURN], [])],
    ids=[
        "it stands there",
        "the turn does, the block does not",
        "no turn yet",
        "a host that notes no hooks",
    ],
)
def test_only_a_turn_without_its_block_lost_it(place, now, tmp_path, rows, lost):
    """Said once, with what was chosen, so that a later prompt may have it."""
    receipts.write(place.receipts("s1"), ASKED)
    path = tmp_path / "s1.jsonl"
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    assert [
        receipts.get_receipt_tag(row) for row in worker.note_unarrived(place, "s1", str(path), now)
    ] == lost
    assert worker.note_unarrived(place, "s1", str(path), now) == []
    noted = [row for row in receipts.read(place.receipts("s1")) if row["event"] == "lost"]
    assert [(row["tag"], row["chosen"], row["turns"]) for row in noted] == [
        (tag, ASKED["chosen"], ASKED["turns"]) for tag in lost
    ]


def test_a_long_transcript_is_not_looked_through(place, now, tmp_path):
    """Nothing is said of what was not read."""
    receipts.write(place.receipts("s1"), ASKED)
    path = Path(tmp_path, "s1.jsonl")
    path.write_text(json.dumps(TURN, separators=(",", ":")) + "\n" + json.dumps(OTHER) + "\n")
    with path.open("ab") as file:
        file.truncate(worker.TRANSCRIPT_BYTES + 1)
    assert worker.note_unarrived(place, "s1", str(path), now) == []
