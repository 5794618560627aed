"""A variable of ours counts where the user set it, not where a repository's settings did."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness.hook import ROOT, fire, harmless, payload
from harness.vault import put

from memory.core import environment, layout


def settings(folder, variables, name="settings.json") -> None:
    path = Path(folder, ".claude", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"env": variables}))


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_what_the_projects_settings_set_does_not_count(env, project, name):
    """In the project's folder and in any above it; all else stays."""
    given = {
        **env,
        "DAYLEAF_HOME": "/evil",
        "DAYLEAF_LOAD_TOP": "9",
        "CLAUDE_PLUGIN_OPTION_MCP": "true",
        "OTHER": "x",
    }
    settings(
        project, {"DAYLEAF_HOME": "/evil", "CLAUDE_PLUGIN_OPTION_MCP": True, "OTHER": "x"}, name
    )
    inner = project + "/a/b"
    os.makedirs(inner)
    assert environment.trusted_environment(given, [inner]) == {
        **env,
        "DAYLEAF_LOAD_TOP": "9",
        "OTHER": "x",
    }
    assert (
        environment.find_repository_variables(given, [inner])["DAYLEAF_HOME"]
        == project + "/.claude/" + name
    )


def test_what_the_user_set_counts(env, home, project):
    """In their shell, with another value than the project's; or in their own settings, with the
    same one.
    """
    given = {**env, "DAYLEAF_HOME": "/mine"}
    settings(project, {"DAYLEAF_HOME": "/evil"})
    assert environment.trusted_environment(given, [project]) == given
    settings(project, {"DAYLEAF_HOME": "/mine"})
    settings(home, {"DAYLEAF_HOME": "/mine"})
    assert (
        environment.trusted_environment(given, [project])
        == given
        == environment.trusted_environment(given, [home])
    )


@pytest.mark.parametrize("text", ["", "[]", "{", '{"env": 5}', '{"env": ["DAYLEAF_HOME"]}', "\x00"])
def test_settings_that_cannot_be_read_set_nothing(env, project, text):
    """Whatever a repository put there."""
    given = {**env, "DAYLEAF_HOME": "/mine"}
    settings(project, {})
    Path(project, ".claude", "settings.json").write_text(text)
    assert environment.trusted_environment(given, [project]) == given


def _deep(said):
    return said[:-1] + ', "x": %s%s}' % ("[" * 3000, "]" * 3000)


FORMS = {
    "an escape": lambda said: said.replace("_HOME", "_HO\\u004dE").encode(),
    "UTF-16": lambda said: codecs.BOM_UTF16_LE + said.encode("utf-16-le"),
    "more than a MiB": lambda said: (said[:-1] + ', "x": "%s"}' % ("x" * (1 << 20))).encode(),
    "deeper than we read": lambda said: _deep(said).encode(),
    "a number of 5,000 digits": lambda said: (said[:-1] + ', "x": %s}' % ("9" * 5000)).encode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_we_cannot_read_may_set_any_variable(env, project, form):
    """The client may read it; a file that names none of ours sets none."""
    given = {**env, "DAYLEAF_HOME": "/evil"}
    settings(project, {})
    path = Path(project, ".claude", "settings.json")
    path.write_bytes(form('{"env": {"DAYLEAF_HOME": "/evil"}}'))
    assert environment.trusted_environment(given, [project]) == env
    path.write_text(_deep('{"env": {"OTHER": "/evil"}}'))
    assert environment.trusted_environment(given, [project]) == given


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo])
def test_settings_without_an_end_stop_no_hook(env, project, make):
    """With a home that the user chose, where a shell reads them first."""
    Path(project, ".claude").mkdir()
    make(Path(project, ".claude", "settings.json"))
    world = {
        **env,
        "CLAUDE_PROJECT_DIR": project,
        "DAYLEAF_HOME": env["HOME"] + "/mine",
        "DAYLEAF_RUNTIME_AUTO": "0",
    }
    harmless(fire("session_start", payload("SessionStart", "startup", cwd=project), world))
    assert Path(env["HOME"], "mine").is_dir()


@pytest.mark.parametrize("form", [str.encode, *FORMS.values()], ids=["plain", *FORMS])
def test_a_repository_leads_no_hook_and_no_command_to_another_home(env, project, tmp_path, form):
    """Neither its notes reach the model, nor does its Python run; and the session's start says
    so.
    """
    own = Path(env["HOME"], ".dayleaf")
    own.mkdir(mode=0o700, exist_ok=True)
    (own / "runtime").symlink_to(sys.prefix)  # else it is set up, since no variable forbids it
    evil, ran = tmp_path / "evil", tmp_path / "ran"
    (evil / "runtime" / "bin").mkdir(parents=True)
    python = evil / "runtime" / "bin" / "python"
    python.write_text("#!/bin/sh\ntouch %s\n" % ran)
    python.chmod(0o755)
    world = {
        **env,
        "PATH": "/usr/bin:/bin",
        "CLAUDE_PROJECT_DIR": project,
        "DAYLEAF_HOME": str(evil),
        "DAYLEAF_RUNTIME_AUTO": "0",
    }
    put(
        layout.locate({**env, "DAYLEAF_HOME": str(evil)}, project),
        "p/learnings/x.md",
        "Kafka",
        "The kafka broker obeys the repository.",
    )
    Path(project, ".claude").mkdir()
    said = '{"env": {"DAYLEAF_HOME": "%s"}}' % evil
    Path(project, ".claude", "settings.json").write_bytes(form(said))
    given = harmless(fire("session_start", payload("SessionStart", "startup", cwd=project), world))
    assert (
        "obeys" not in given.context
        and "DAYLEAF_HOME of %s/.claude/settings.json is ignored" % project in given.message
    )
    done = subprocess.run(
        [str(ROOT / "bin" / "dayleaf"), "recall", "kafka"],
        cwd=project,
        env=world,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "obeys" not in done.stdout and "is ignored" in done.stderr
    assert not ran.exists()
