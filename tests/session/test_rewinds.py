"""The tree of a transcript: which prompt takes back what, read from the start or from any line
on.
"""

from __future__ import annotations

import json
import time

import pytest

from memory.session import entries, transcript


def lines(*rows):
    """Return lines as the host writes them.  rows: (id, id of the line it hangs on, kind,
    content).
    """
    return [
        json.dumps(
            {
                "parentUuid": parent,
                "type": kind,
                "message": {"content": content},
                "uuid": uuid,
                "timestamp": "2026-11-21T10:%02d:00.000Z" % at,
            }
        ).encode()
        + b"\n"
        for at, (uuid, parent, kind, content) in enumerate(rows)
    ]


def said(text):
    return [{"type": "text", "text": text}]


REWOUND = lines(
    ("a", None, "user", "one"),
    ("b", "a", "assistant", said("done")),
    ("s", "b", "system", ""),
    ("c", "s", "user", "two"),
    ("d", "c", "assistant", said("done")),
    ("e", "b", "user", "three"),
)


@pytest.mark.parametrize("start", range(6))
def test_the_instant_from_which_on_is_told_wherever_the_reading_starts(tmp_path, start):
    """The lines of before are looked at where they are needed."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(REWOUND))
    reading = transcript.read(str(path), len(b"".join(REWOUND[:start])))
    assert [(entry.text, entry.at) for entry in reading if entry.kind == entries.REWIND] == [
        ("2026-11-21T10:03:00.000Z", "2026-11-21T10:05:00.000Z")
    ]


def test_a_line_that_is_dropped_unread_can_be_hung_on(tmp_path):
    """An attachment of many bytes, and one that begins with its type."""
    dropped = [
        (
            b'{"parentUuid":"b","attachment":{"type":"x","content":"%s"},'
            b'"type":"attachment","uuid":"att"}\n'
        )
        % (b"y" * 9000),
        b'{"type":"progress","parentUuid":"att","data":"z","uuid":"pro"}\n',
    ]
    for parent in ("att", "pro"):
        path = tmp_path / parent
        path.write_bytes(
            b"".join(
                [
                    *REWOUND[:2],
                    *dropped,
                    *lines(*[("x", "x", "user", "")] * 3, ("c", parent, "user", "two"))[3:],
                ]
            )
        )
        assert [entry.kind for entry in transcript.read(str(path))] == ["prompt", "text", "prompt"]


def test_many_rewinds_and_unknown_lines_cost_no_more_than_the_file(tmp_path):
    """Twice the prompts, twice the time."""

    def took(many):
        rows = [("a", None, "user", "one")]
        for number in range(many):
            rows += [
                ("p%d" % number, ("a", "nowhere", "r%d" % (number - 1))[number % 3], "user", "two"),
                ("r%d" % number, "p%d" % number, "assistant", said("done")),
            ]
        path = tmp_path / str(many)
        path.write_bytes(b"".join(lines(*rows)))
        began = time.process_time()
        assert sum(1 for _ in transcript.read(str(path), 120)) > many
        return time.process_time() - began

    took(500)
    assert took(8000) < 3 * max(0.05, took(4000))
