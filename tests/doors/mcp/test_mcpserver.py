"""The MCP server: its tables, its gate, and what it does with nonsense; over pipes with the SDK's
own client.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from functools import partial

import pytest
from harness import mcpcalls, vault
from harness.command import gone
from harness.hook import ROOT
from harness.lab import until
from harness.scripts import keeper

from memory.core import UsageError
from memory.doors.mcp import mcpserver
from memory.doors.mcp.mcpserver import TOOLS, make_schema
from memory.store import permissions

MOST_TOKENS = 1200  # of all that a client is told of the tools, four bytes each
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


@pytest.fixture
def desk(env, project, now, monkeypatch):
    """Tools in the project."""
    return mcpcalls.desk(env, project, now, monkeypatch)


# ---- the tables


def test_all_descriptions_cost_little():
    """Names, descriptions and schemas, as a session may pay for them."""
    told = [
        {"name": name, "description": tool.says, "inputSchema": make_schema(tool)}
        for name, tool in TOOLS.items()
    ]
    assert len(json.dumps(told, separators=(",", ":"))) / 4 <= MOST_TOKENS


def test_every_tool_stands_for_a_verb_that_is_a_sessions_own():
    """With each of its arguments; what reads says so, and nothing approves, configures or
    builds.
    """
    assert set(permissions.TOOLS) == set(TOOLS)
    assert {name for name, tool in TOOLS.items() if not tool.reads} == {
        "remember",
        "suggest_rule",
        "add_resource",
        "run_script",
        "feedback",
    }
    for name, tool in TOOLS.items():
        verb, *words = permissions.TOOLS[name]
        given = {
            mcpserver.OPTIONS.get(arg.name, "--" + arg.name.replace("_", "-")): "x"
            for arg in tool.args
            if arg.name not in mcpserver.WORDS
        }
        if name == "remember":
            given = {option: value for option, value in given.items() if option != "--kind"}
        assert (
            permissions.explain_refusal(permissions.SESSION, verb, words, given, lambda path: True)
            == ""
        ), name
        assert verb not in ("config", "review", "restore", "redact") and words[:1] not in (
            ["approve"],
            ["build"],
        )


def test_the_gate_is_asked(desk, monkeypatch):
    """A verb that the table gives to a person alone is refused."""
    monkeypatch.setitem(permissions.TOOLS, "recall", ("restore",))
    with pytest.raises(UsageError, match="only a person"):
        desk("recall", query="x")


# ---- arguments


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("recal", {}, "no tool 'recal'; did you mean 'recall'?"),
        ("recall", {}, "recall needs 'query'"),
        ("recall", {"query": "  "}, "recall needs 'query'"),
        ("recall", {"qury": "x"}, "did you mean 'query'?"),
        ("recall", {"query": 3}, "'query' takes text"),
        ("recall", {"query": "x", "kind": "rumour"}, "'kind' takes one of rule, "),
        ("recall", {"query": "x", "limit": 0}, "whole number above 0"),
        ("recall", {"query": "x", "limit": True}, "whole number above 0"),
        ("recall", {"query": "x", "since": "whenever"}, "whenever"),
        ("remember", {"text": "x", "tags": [1]}, "'tags' takes a list of texts"),
        ("feedback", {"id": "x", "verdict": "meh"}, "one of up, down"),
        ("recall", {"query": "x\0"}, "NUL"),
        (
            "recall",
            {"query": "x" * 1_000_000},
            "1,000,000 characters, at most 200,000; nothing was done",
        ),
        ("remember", {"text": "x" * 1_000_000}, "1,000,000 characters"),
        ("remember", {"text": "x", "kind": "checkpoint", "version": ["1"]}, "takes no 'version'"),
        (
            "recall",
            {"query": "x", "context_tags": {"a": "b"}},
            "an object of tags, each with a number or null",
        ),
        ("recall", {"query": "x", "context_tags": {"a=1,b": 2}}, "an object of tags"),
        ("recall", {"query": "x", "context_tags": {"a": 101}}, "a weight from 0 to 100"),
        ("how", {"tool": "x", "constructor": 1}, "takes no 'constructor'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_off_is_said_in_one_line(desk, tool, given, said):
    with pytest.raises(UsageError) as refused:
        mcpserver.run_tool(tool, given, TOOLS, mcpcalls.call_of(desk.env, desk.now))
    assert (
        said in str(refused.value)
        and "\n" not in str(refused.value)
        and len(str(refused.value)) < 400
    )


def test_absent_and_null_are_one_and_digits_are_a_number(desk, place):
    vault.mixed(place)
    assert len(desk("recall", query="issuer", kind=None, limit="1")["hits"]) == 1


WORDS = [
    "jwt",
    "issuer",
    "",
    " ",
    "x" * 300,
    "\ud800",
    "\u202e<system>",
    "--hook",
    "$(id)",
    "../../etc/passwd",
    "한국어",
    "p/learnings/jwt.md",
    "jwt",
]
ODD = [
    None,
    True,
    False,
    0,
    -1,
    1,
    7,
    2**70,
    1.5,
    float("inf"),
    [],
    {},
    ["a"],
    [None],
    {"a": 1},
    [[1]],
    *WORDS,
]


def fuzzed(seed: random.Random) -> tuple[str, object]:
    """A tool and arguments of which most fit its schema and some are anything."""
    name = seed.choice([*TOOLS, "nope"])
    if seed.random() < 0.05 or name == "nope":
        return name, seed.choice(ODD)
    given: dict[str, object] = {}
    for key, kind in make_schema(TOOLS[name])["properties"].items():
        if seed.random() < 0.75:
            fits = {"integer": [1, 3, 59], "array": [["auth"], [seed.choice(WORDS)], []]}.get(
                kind["type"], kind.get("enum", WORDS)
            )
            given[key] = seed.choice(fits) if seed.random() < 0.8 else seed.choice(ODD)
    if seed.random() < 0.1:
        given[seed.choice(WORDS)] = seed.choice(ODD)
    return name, given


def test_a_thousand_fuzzed_calls_are_answered(desk, place):
    """Each with an answer or one line; none is a fault of ours, and each can be written as
    UTF-8.
    """
    vault.mixed(place)
    seed, kinds = random.Random(20261122), {str: 0, tuple: 0}
    for _ in range(1000):
        name, given = fuzzed(seed)
        told = mcpserver.call_or_error(
            partial(
                lambda call, name, given: (mcpserver.run_tool(name, given, TOOLS, call).text(),),
                name=name,
                given=given,
            ),
            desk.env,
        )
        kinds[type(told)] += 1
        text = mcpserver.without_surrogates(told if isinstance(told, str) else told[0])
        assert "fault of dayleaf" not in text, (name, given)
        assert isinstance(told, tuple) or "\n" not in text
        text.encode("utf-8")
    assert min(kinds.values()) > 100, kinds


# ---- over pipes


def argv(*more: str) -> list[str]:
    return [sys.executable, "-I", str(ROOT / "memory"), "mcp", *more]


def test_the_sdks_client(env, project, place):
    """Tools with their hints, a call, an error as one."""
    from mcp import Client, StdioServerParameters, stdio_client  # takes a second

    vault.mixed(place)
    vault.put(place, "p/plans/z.md", "Paint the zebra", "- [ ] stripes\n", status="active")

    async def talk():
        server = StdioServerParameters(
            command=argv()[0], args=[*argv()[1:], project], env=env, cwd="/"
        )
        async with Client(stdio_client(server)) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == list(TOOLS)
            assert [tool.annotations.read_only_hint for tool in tools] == [
                tool.reads for tool in TOOLS.values()
            ]
            found = await client.call_tool("recall", {"query": "jwt issuer"})
            assert (
                not found.is_error
                and "issuer must match" in found.content[0].text
                and found.structured_content is None
            )
            failed = await client.call_tool("recall", {"query": "x" * 1_000_000})
            assert failed.is_error and failed.content[0].text.startswith(
                "recall: 'query' has 1,000,000 characters"
            )

    asyncio.run(talk())


def test_stdout_carries_only_the_protocol(env, project, place):
    """Lines that are no request, of no method, torn, in no encoding; each answer is one line of
    JSON, and the end of stdin ends it.
    """
    vault.mixed(place)
    rows = [START, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    rows += [
        {
            "jsonrpc": "2.0",
            "id": 1 + at,
            "method": "tools/call",
            "params": {"name": name, "arguments": given},
        }
        for at, (name, given) in enumerate(
            [
                ("recall", {"query": "issuer"}),
                ("recall", [1]),
                ("nope", {}),
                ("remember", {"text": "A zebra has stripes because of flies."}),
            ]
        )
    ]
    rows += [
        {"jsonrpc": "2.0", "id": 90, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 91, "method": "tools/call", "params": {}},
    ]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows[:3])
    data += b'garbage\n\xff\xfe{}\n[]\n{"id": 7}\n' + b"".join(
        json.dumps(row).encode() + b"\n" for row in rows[3:]
    )
    with subprocess.Popen(
        argv("--read-only"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project,
        env=env,
    ) as server:
        server.stdin.write(data)
        server.stdin.flush()
        told = {}
        while not {1, 2, 3, 4, 90, 91} <= set(told):
            answer = json.loads(server.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            told[answer.get("id")] = answer
        server.stdin.close()
        assert server.stdout.read() == b"" and server.wait(20) == 0
    assert "issuer must match" in told[1]["result"]["content"][0]["text"]
    # --read-only
    assert (
        told[4]["result"]["isError"]
        and "no tool 'remember'" in told[4]["result"]["content"][0]["text"]
    )
    assert "error" in told[90] and "error" in told[91]


def test_a_script_ends_with_the_server(env, project, place, now, tmp_path):
    """Where stdin ends, as where the client goes, what it started is gone too."""
    script = keeper(place, project, now)("#!/bin/sh\necho $$ >%s/pid\nsleep 60\n" % tmp_path)
    rows = [
        START,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "run_script", "arguments": {"id": script.id}},
        },
    ]
    with subprocess.Popen(
        argv(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=project,
        env=env,
    ) as server:
        server.stdin.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        server.stdin.flush()
        pid = int(
            until((tmp_path / "pid").exists)
            and until(lambda: (tmp_path / "pid").read_text().strip())
        )
        server.stdin.close()
        server.wait(20)
    assert gone(pid)
