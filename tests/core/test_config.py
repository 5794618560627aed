"""Settings: their order, and what is none."""

from __future__ import annotations

import json
import os

import pytest

from memory.core import config, files


@pytest.mark.parametrize("value", ["0.5", "2.5", "1e400", "NaN", "-1", "1e12"])
def test_a_whole_number_stays_one(home, value):
    """A fraction would pass as a limit that nothing ever equals; infinity and NaN compare as they
    like.
    """
    found = config.load(home, "", {"DAYLEAF_LOAD_TOP": value})
    assert found["load.top"] == config.DEFAULTS["load.top"] and len(found.problems) == 1


def test_the_environment_wins_over_the_user_and_the_project_only_narrows(home, project):
    """Order of precedence; a project cannot raise a limit, switch a push on, or name a command."""
    base = home + "/.dayleaf"
    files.replace(
        base + "/config.json",
        b'{"load": {"top": 4, "prompt": false}, "distill.maxTokens": 300, "nope": 1}',
    )
    os.makedirs(project + "/.dayleaf")
    with open(project + "/.dayleaf/config.json", "w") as file:
        json.dump(
            {
                "load.top": 9,
                "load.prompt": True,
                "distill.command": ["sh"],
                "redact.enabled": False,
                "distill.maxTokens": 100,
            },
            file,
        )
    found = config.load(
        base, project, {"DAYLEAF_LOAD_SESSION": "0", "CLAUDE_PLUGIN_OPTION_DISTILL_TIMEOUT": "7"}
    )
    assert (found["load.top"], found["load.prompt"], found["distill.maxTokens"]) == (4, False, 100)
    assert (found["distill.command"], found["redact.enabled"]) == ([], True)
    assert (found["load.session"], found["distill.timeout"]) == (False, 7)
    assert len(found.problems) == 3 and any("'nope'" in line for line in found.problems)


def test_a_setting_that_was_dropped_is_told_and_does_nothing(home):
    """The file loads, and one line names each."""
    files.replace(
        home + "/.dayleaf/config.json", b'{"load": {"top": 3, "recent": 2}, "recall.limit": 4}'
    )
    found = config.load(home + "/.dayleaf", "", {"DAYLEAF_RECALL_LIMIT": "5"})
    assert found["load.top"] == 3 and set(found.values) == set(config.DEFAULTS)
    assert [line.partition(": ")[2] for line in found.problems] == [
        "'load.recent' does nothing now; take it out",
        "'recall.limit' does nothing now; take it out",
    ]
    assert not config.DROPPED & set(config.DEFAULTS)


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b'{"load.top": "many"}', b'{"load.top": -1}', b"\xff\xfe"]
)
def test_a_broken_config_is_a_problem_and_not_an_error(home, data):
    """The defaults stand, and one line says what is wrong."""
    files.replace(home + "/.dayleaf/config.json", data)
    found = config.load(home + "/.dayleaf", "", {})
    assert found["load.top"] == config.DEFAULTS["load.top"] and len(found.problems) == 1


def test_what_a_user_said_of_one_project_is_a_switch_and_no_more(home, project):
    """Between their own settings and the repository's, which still only narrows."""
    base, private = home + "/.dayleaf", home + "/.dayleaf/workspaces/x-1"
    files.replace(
        private + "/config.json",
        b'{"capture.enabled": false, "load.top": 2, "redact.enabled": false}',
    )
    found = config.load(base, project, {}, private)
    assert (found["capture.enabled"], found["load.top"], found["redact.enabled"]) == (
        False,
        2,
        True,
    )
    assert found.sources["capture.enabled"] == "workspace" and len(found.problems) == 1


def test_listed_projects_alone_are_captured_where_the_user_wants_that(home, project):
    """A repository cannot list itself."""
    base, private = home + "/.dayleaf", home + "/.dayleaf/workspaces/x-1"
    files.replace(base + "/config.json", b'{"capture.projects": "listed"}')
    files.replace(project + "/.dayleaf/config.json", b'{"capture.enabled": true}')
    assert not config.load(base, project, {}, private)["capture.enabled"]
    files.replace(private + "/config.json", b'{"capture.enabled": true}')
    assert config.load(base, project, {}, private)["capture.enabled"]
