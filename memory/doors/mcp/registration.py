"""The MCP server as Claude Code knows it: registered, removed, and checked by doctor."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from memory.core import DayleafError, config, fastjson, files, layout
from memory.core.plaintext import one_line
from memory.health import Finding, checkup, ok, warn
from memory.store import process

SERVER = "dayleaf"  # the server's name in the client
MOST_CLIENT = 64 << 20  # bytes of the client's own file, which grows with its projects
SECONDS, ANSWER = 60.0, 1 << 16  # that the client may take to write it down, bytes of what it says


def check(place: layout.Place, settings: config.Config, env: dict[str, str]) -> Iterator[Finding]:
    """Check that the client starts the MCP server if set up.

    Nothing where neither the setting nor the client has it.
    """
    command = registration(env)
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


def registration(env: dict[str, str]) -> str:
    """Return the program of the client's registered MCP server, or "".

    Registered for the user, in every project.
    """
    path = (
        env.get("CLAUDE_CONFIG_DIR") or env.get("HOME") or env.get("USERPROFILE") or ""
    ) + "/.claude.json"
    try:
        value: Any = fastjson.parse(files.read(path, MOST_CLIENT))
    except (FileNotFoundError, ValueError):
        return ""
    for key in ("mcpServers", SERVER, "command"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def command(env: dict[str, str]) -> str:
    """Return the command line's path for other programs to keep.

    The link made by the set-up, else the program behind it.
    """
    link = env.get("HOME", "") + "/.local/bin/dayleaf"
    return (
        link
        if files.is_link(link) and files.real_path(link) == files.real_path(checkup.program())
        else checkup.program()
    )


def _run_client(client: str, words: list[str], env: dict[str, str]) -> process.Finished:
    return process.run([client, *words[1:]], b"", SECONDS, env, "", ANSWER)


def _failed(words: list[str], done: process.Finished) -> DayleafError:
    said = (done.err.strip() or done.out.strip()).decode("utf-8", "replace")
    return DayleafError(
        "`%s` failed (%s), so nothing was changed; run it yourself, then try again"
        % (shlex.join(words), one_line(said)[:200])
    )


def _without_client(words: list[str], env: dict[str, str], on: bool) -> str:
    """Return the result where the client is missing.

    Raises DayleafError where something is to be changed.
    """
    if not on and not registration(env):
        return "Claude Code starts no `dayleaf mcp`"
    raise DayleafError(
        "Claude Code is not on PATH, so nothing was changed; run this where it is: %s%s"
        % (shlex.join(words), "; docs/mcp.md has what other agents need" if on else "")
    )


def register(env: dict[str, str], on: bool) -> str:
    """Register the server with Claude Code, or remove it.

    Returns the result in words. on: start it in each session. Raises DayleafError if the client is
    missing or fails.
    """
    name = SERVER
    remove = ["claude", "mcp", "remove", "--scope", "user", name]
    words = (
        ["claude", "mcp", "add", "--scope", "user", name, "--", command(env), "mcp"]
        if on
        else remove
    )
    client = process.which("claude", env)
    if not client:
        return _without_client(words, env, on)
    done = _run_client(client, words, env)
    if done.rc and on:  # it is there already, perhaps with another path
        _run_client(client, remove, env)
        done = _run_client(client, words, env)
    if done.rc and (on or registration(env)):
        raise _failed(words, done)
    return "Claude Code %s `dayleaf mcp` from its next session on" % (
        "starts" if on else "no longer starts"
    )
