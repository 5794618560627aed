"""Every type of line that may carry words is listed in docs/transcripts.md, with what it is read
for.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from harness.hook import ROOT

from memory.session.entries import parse_entries

PAGE = (ROOT / "docs" / "transcripts.md").read_text("utf-8")
LISTED = {
    name for row in re.findall(r"(?m)^\| (`.*?) \|", PAGE) for name in re.findall(r"`([^`]+)`", row)
}
NOT_READ = {
    name
    for row in PAGE.split("\n")
    if "| not read" in row
    for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])
}
FIXTURES = sorted((ROOT / "tests" / "data" / "transcripts").rglob("*.jsonl"))


def kind_of(row: dict) -> str:
    """The type of a line as the page has it."""
    if row.get("type") == "system":
        return "system:%s" % row.get("subtype")
    if row.get("type") == "attachment":
        return "attachment:%s" % row["attachment"].get("type")
    return str(row.get("type"))


def carries_text(value: object) -> bool:
    """Whether a line holds words: a text of several, anywhere in it."""
    if isinstance(value, str):
        return len(value.split()) > 2
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(carries_text, inner))


def unknown(rows) -> set[str]:
    return {kind_of(row) for row in rows if kind_of(row) not in LISTED and carries_text(row)}


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_type_with_words_is_listed(path: Path):
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    assert unknown(row for row in rows if isinstance(row, dict)) == set()


def test_an_unknown_type_with_words_would_be_seen():
    """So that a newer client's line is not passed over in silence."""
    assert unknown(
        [{"type": "thought", "text": "a line of a newer client"}, {"type": "beat", "n": 5}]
    ) == {"thought"}


@pytest.mark.parametrize("kind", sorted(NOT_READ))
def test_what_is_not_read_says_nothing(kind):
    """Whatever stands in such a line."""
    name, _, inner = kind.partition(":")
    row = {
        "type": name,
        "subtype": inner,
        "attachment": {"type": inner, "content": "some words of it"},
        "content": "some words of it",
        "message": {"role": "user", "content": "some words of it"},
    }
    assert parse_entries(row) == []
