"""The MCP server's registration with Claude Code: added, removed, checked by doctor."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from memory.core import DayleafError, config, fastjson, files, layout
from memory.core.plaintext import one_line
from memory.health import Finding, checkup, ok, warn
from memory.store import process

SERVER = "dayleaf"  # the server's name in the client
CONFIG_LIMIT = 64 << 20  # bytes of the client's file, which grows with its projects
# seconds that the client may take to write it down, bytes of what it says
TIMEOUT, OUTPUT_LIMIT = 60.0, 1 << 16


def check(place: layout.Place, settings: config.Config, env: dict[str, str]) -> Iterator[Finding]:
    """Check the registration against the setting; yield nothing where both are off."""
    command = read_registration(env)
    if settings["mcp"] and not command:
        yield warn(
            "mcp is on (%s), but Claude Code knows no server `%s`"
            % (settings.sources["mcp"], SERVER),
            "`dayleaf config set mcp on` registers it, `dayleaf config set mcp "
            "off` drops the setting",
        )
    elif command and not process.which(command, env):
        yield warn(
            "Claude Code starts %s, which is not there" % command, "`dayleaf config set mcp on`"
        )
    elif command:
        yield ok(
            "Claude Code starts %s%s" % (command, "" if settings["mcp"] else ", registered by hand")
        )


def read_registration(env: dict[str, str]) -> str:
    """Return the program registered with the client, "" for none."""
    folder = env.get("CLAUDE_CONFIG_DIR") or env.get("HOME") or env.get("USERPROFILE") or ""
    try:
        value: Any = fastjson.parse(files.read(folder + "/.claude.json", CONFIG_LIMIT))
    except (FileNotFoundError, ValueError):
        return ""
    for key in ("mcpServers", SERVER, "command"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def find_command(env: dict[str, str]) -> str:
    """Return the path of dayleaf's link, else of its program."""
    link, program = env.get("HOME", "") + "/.local/bin/dayleaf", checkup.program_path()
    is_ours = files.is_link(link) and files.real_path(link) == files.real_path(program)
    return link if is_ours else program


def _run_client(client: str, words: list[str], env: dict[str, str]) -> process.ProcessResult:
    return process.run([client, *words[1:]], b"", TIMEOUT, env, "", OUTPUT_LIMIT)


def _report_missing_client(words: list[str], env: dict[str, str], on: bool) -> str:
    """Raise DayleafError for a missing client, unless there is nothing to change."""
    if not on and not read_registration(env):
        return "Claude Code starts no `dayleaf mcp`"
    raise DayleafError(
        "Claude Code is not on PATH, so nothing was changed; run this where it is: %s%s"
        % (shlex.join(words), "; other agents start `dayleaf mcp` too" if on else "")
    )


def register(env: dict[str, str], on: bool) -> str:
    """Register the server with Claude Code (on), or remove it.

    Returns the result in words. Raises DayleafError if the client is missing or fails.
    """
    remove = ["claude", "mcp", "remove", "--scope", "user", SERVER]
    add = ["claude", "mcp", "add", "--scope", "user", SERVER, "--", find_command(env), "mcp"]
    words = add if on else remove
    client = process.which("claude", env)
    if not client:
        return _report_missing_client(words, env, on)
    done = _run_client(client, words, env)
    if done.rc and on:  # registered already, perhaps with another path
        _run_client(client, remove, env)
        done = _run_client(client, words, env)
    if done.rc and (on or read_registration(env)):
        why = (done.err.strip() or done.out.strip()).decode("utf-8", "replace")
        raise DayleafError(
            "`%s` failed (%s), so nothing was changed; run it yourself, then try again"
            % (shlex.join(words), one_line(why)[:200])
        )
    starts = "starts" if on else "no longer starts"
    return "Claude Code %s `dayleaf mcp` from its next session on" % starts
