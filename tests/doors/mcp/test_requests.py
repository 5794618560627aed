"""Half an emoji in a request: mended before the protocol's reader refuses the line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from harness.hook import ROOT

from memory.doors.mcp.requests import replace_surrogates

START = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'"\\ud83d"', "\ufffd"),
        (b'"\\uDE00 x"', "\ufffd x"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\\\ud83d"', "\\ud83d"),
        (b'"\\\\\\ud83d"', "\\\ufffd"),
        (b'"\\ud83d\\ud83d\\ude00"', "\ufffd\U0001f600"),
        (b'"\xed\xa0\xbd"', "\ufffd" * 3),
        (b'"\\u00fc \\n \xc3\xbc"', "ü \n ü"),
        (b'"\\ud83d\\n"', "\ufffd\n"),
    ],
)
def test_a_half_that_stands_alone_is_replaced(line, said):
    """Whole pairs, and backslashes that only look like an escape, stay."""
    assert json.loads(replace_surrogates(line)) == said


def test_the_server_answers_a_request_that_holds_half_an_emoji(env, project):
    """And the one after it."""
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "recall", "arguments": {"query": query}},
        }
        for number, query in ((1, "half \ud83d of it"), (2, "whole"))
    ]
    lines = [START, {"jsonrpc": "2.0", "method": "notifications/initialized"}, *calls]
    server = subprocess.Popen(
        [sys.executable, "-I", str(ROOT / "memory"), "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        cwd=project,
    )
    with server:
        server.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(3)]
        server.stdin.close()
        assert sorted(answer["id"] for answer in answers) == [0, 1, 2] and all(
            "result" in answer for answer in answers
        )
        assert server.wait(20) == 0
