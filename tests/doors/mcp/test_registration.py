"""The MCP server as Claude Code knows it: registered, removed, and checked by doctor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.command import one_line_error

from memory.doors.mcp import registration


@pytest.fixture
def client(tmp_path, env):
    """A stand-in for the client that keeps what it was called with, and fails where a file says
    so.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text(
        '#!/bin/sh\necho "$@" >>"%s/said"\n[ "$2" != add ] || [ ! -e "%s/there" ] ||'
        ' { rm "%s/there"; echo already >&2; exit 1; }\n' % ((tmp_path,) * 3)
    )
    program.chmod(0o755)
    env["PATH"] = "%s:/usr/bin:/bin" % folder
    return tmp_path / "said"


def test_the_setting_registers_it_with_the_client_and_takes_it_away(ok, client, env, home):
    """By the client's own command, with a path that outlives an update where set-up made a link."""
    assert "Claude Code starts `dayleaf mcp` from its next session on" in ok(
        "config", "set", "mcp", "on"
    )
    link = Path(home, ".local/bin/dayleaf")
    link.parent.mkdir(parents=True)
    link.symlink_to(registration.find_command({}))
    (client.parent / "there").touch()
    assert json.loads(ok("config", "set", "mcp", "on", "--json"))["value"] is True
    assert "no longer starts" in ok("config", "unset", "mcp")
    program = registration.find_command({})
    assert client.read_text().splitlines() == [
        "mcp add --scope user dayleaf -- %s mcp" % program,
        "mcp add --scope user dayleaf -- %s mcp" % link,
        "mcp remove --scope user dayleaf",
        "mcp add --scope user dayleaf -- %s mcp" % link,
        "mcp remove --scope user dayleaf",
    ]


def test_a_setting_that_came_to_nothing_is_not_kept(ok, run, env, home, client):
    """Without the client, or where it fails, the line to run is said; doctor says where setting and
    client disagree.
    """
    program, path = client.parent / "bin/claude", env["PATH"]
    program.write_text("#!/bin/sh\necho no room >&2; exit 1\n")
    said = one_line_error(run("config", "set", "mcp", "on"), 1)
    assert "failed (no room), so nothing was changed" in said
    env["PATH"] = "/usr/bin:/bin"
    assert "run this where it is: claude mcp add --scope user dayleaf -- /" in one_line_error(
        run("config", "set", "mcp", "on"), 1
    )
    assert ok("config", "get", "mcp") == "false\n" and "[mcp]" not in run("doctor").stdout
    assert "starts no `dayleaf mcp`" in ok("config", "set", "mcp", "off")
    Path(home, ".dayleaf/config.json").write_text('{"mcp": true}')
    assert "mcp is on (user), but Claude Code knows no server `dayleaf`" in run("doctor").stdout
    known = Path(home, ".claude.json")
    known.write_text(
        json.dumps({"mcpServers": {"dayleaf": {"command": str(program), "args": ["mcp"]}}})
    )
    assert "Claude Code starts %s\n" % program in run("doctor").stdout
    env["PATH"] = path
    assert "failed (no room), so nothing was changed" in one_line_error(
        run("config", "set", "mcp", "off"), 1
    )
    program.unlink()
    assert "which is not there" in run("doctor").stdout and ok("config", "get", "mcp") == "true\n"
