"""What a text names: tickets, files, identifiers, commits."""

from __future__ import annotations

import pytest

from memory.hook import handles


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "fix handleSessionStart() in hooks_handlers.go:412",
            ["handlesessionstart", "hooks_handlers.go"],
        ),
        ("set RETRY_LIMIT=5 and `session.BaseCommit`", ["retry_limit", "basecommit"]),
        ("see https://git.example.com/o/r/pull/102 and #317, PR 88", ["#102", "#317", "#88"]),
        ("OPS-109 was broken by 4f2ef08e, use --dry-run", ["ops-109", "4f2ef08e", "--dry-run"]),
        ("let's do #2, then 3.5 and/or the Readme of example.com", []),
        ("버튼을 눌러 줘", []),
    ],
)
def test_handles(text, names):
    """Identifiers of several words, files, options, tickets, pull requests, commits; no prose, no
    small numbers.
    """
    assert handles.extract_handles(text) == names
