"""The verb `mcp`."""

from __future__ import annotations

import os

from memory.core import UsageError, plaintext
from memory.doors import registry
from memory.doors.mcp import mcpserver
from memory.terminal.call import Call


def mcp(call: Call) -> int:
    """Serve the memory of the current directory, or DIR, by MCP."""
    if call.words:
        folder = os.path.abspath(os.path.expanduser(call.single_word("directory")))
        try:
            os.chdir(folder)
        except OSError as error:
            raise UsageError(
                "mcp: %s: %s; name the directory of a project"
                % (plaintext.one_line(folder), (error.strerror or "no directory").lower())
            ) from None
    try:
        return mcpserver.serve(call.env, bool(call.options.read_only))
    except ImportError as error:
        raise registry.lacking("the MCP server", "mcp", error) from None
