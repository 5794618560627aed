"""Calls of the MCP server's tools within this process, as its thread makes them."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from memory.doors.mcp import mcpserver, mcptools
from memory.terminal.call import Call


def call_of(env: dict[str, str], now: float) -> Call:
    """Return the call that a tool is given."""
    return Call("mcp", argparse.Namespace(json=True, hook=False, session=""), [], env, now)


class Desk:
    """The tools of the MCP server in a project.

    desk("recall", query="x") -> what is in the fence; desk.text(…) -> the whole answer.
    """

    def __init__(self, env: dict[str, str], now: float, tools: Any = mcpserver.TOOLS):
        self.env, self.now, self.tools = {**env, mcpserver.AGENT_VARIABLE: "mcp"}, now, tools

    def text(self, tool: str, /, **given: Any) -> str:
        return mcpserver.run_tool(tool, given, self.tools, call_of(self.env, self.now)).text()

    def __call__(self, tool: str, /, **given: Any) -> dict[str, Any]:
        return json.loads(
            next(line for line in self.text(tool, **given).split("\n") if line.startswith("{"))
        )


def desk(env: dict[str, str], project: str, now: float, monkeypatch: Any) -> Desk:
    """Stand in a project, with nothing kept from another test's."""
    monkeypatch.chdir(project)
    mcptools.SHELVES.close()
    assert os.getcwd() == os.path.realpath(project)
    return Desk(env, now)
