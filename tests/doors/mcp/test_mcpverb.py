"""`dayleaf mcp`: what it refuses, and what it says without its packages."""

from __future__ import annotations

from harness.command import one_line_error

from memory.doors.mcp import mcpserver


def test_without_its_packages_one_line_says_what_adds_them(run, monkeypatch):
    def missing(*_):
        raise ModuleNotFoundError("No module named 'mcp'", name="mcp")

    monkeypatch.setattr(mcpserver, "serve", missing)
    assert "install.sh --mcp` adds them" in one_line_error(run("mcp"), 1)


def test_a_directory_that_is_none_is_named(run, tmp_path):
    assert "name the directory of a project" in one_line_error(
        run("mcp", str(tmp_path / "none")), 2
    )
